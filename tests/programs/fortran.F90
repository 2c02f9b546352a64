! fortran.F90: write|read FILE: a matrix by columns of a darray view, a block by explicit offsets without waiting, and
! lines in the order of ranks. Compiled with one of WITH_MPIF, WITH_MPI and WITH_F08.
#ifdef WITH_F08
#define HANDLE(t) type(t)
#else
#define HANDLE(t) integer
#endif
program fortran
#ifdef WITH_MPI
    use mpi
#endif
#ifdef WITH_F08
    use mpi_f08
#endif
    implicit none
#ifdef WITH_MPIF
    include 'mpif.h'
#endif
    integer, parameter :: rows = 30, columns = 24
    HANDLE(MPI_File) :: f
    HANDLE(MPI_Datatype) :: view
    HANDLE(MPI_Request) :: request
#ifdef WITH_F08
    type(MPI_Status) :: s
#else
    integer :: s(MPI_STATUS_SIZE)
#endif
    integer :: rank, nranks, ierr, wrong, total, n, i, got, amode
    integer(kind=MPI_OFFSET_KIND) :: disp, behind
    double precision :: a(rows * columns), b(rows * columns)
    integer :: line(1), block(4)
    character(len=200) :: mode, path
    logical :: writes
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
    call get_command_argument(1, mode)
    call get_command_argument(2, path)
    writes = mode == 'write'
    wrong = 0
    amode = MPI_MODE_RDONLY
    if (writes) amode = MPI_MODE_CREATE + MPI_MODE_RDWR
    call MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, f, ierr)
    if (ierr /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)

    ! Columns dealt out.
    call MPI_Type_create_darray(nranks, rank, 2, [rows, columns], [MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC], &
                                [MPI_DISTRIBUTE_DFLT_DARG, 1], [1, nranks], MPI_ORDER_FORTRAN, &
                                MPI_DOUBLE_PRECISION, view, ierr)
    call MPI_Type_commit(view, ierr)
    call MPI_Type_size(view, n, ierr)
    n = n / 8
    disp = 0
    call MPI_File_set_view(f, disp, MPI_DOUBLE_PRECISION, view, 'native', MPI_INFO_NULL, ierr)
    if (ierr /= MPI_SUCCESS) wrong = wrong + 1
    a = [(rank * 1000.0d0 + i, i = 1, rows * columns)]
    b = 0
    if (writes) then
        call MPI_File_write_all(f, a, n, MPI_DOUBLE_PRECISION, s, ierr)
    else
        call MPI_File_read_all(f, b, n, MPI_DOUBLE_PRECISION, s, ierr)
        if (any(a(1:n) /= b(1:n))) wrong = wrong + 1
    end if
    call MPI_Get_count(s, MPI_DOUBLE_PRECISION, got, ierr)
    if (got /= n) wrong = wrong + 1

    ! Behind it, four integers each, without waiting.
    behind = rows * columns * 8
    call MPI_File_set_view(f, behind, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr)
    block = [(rank * 4 + i, i = 1, 4)]
    disp = 4 * rank
    if (writes) then
        call MPI_File_iwrite_at(f, disp, block, 4, MPI_INTEGER, request, ierr)
    else
        block = 0
        call MPI_File_iread_at(f, disp, block, 4, MPI_INTEGER, request, ierr)
    end if
    call MPI_Wait(request, s, ierr)
    if (any(block /= [(rank * 4 + i, i = 1, 4)])) wrong = wrong + 1

    ! And one each, in the order of ranks.
    disp = 4 * nranks
    call MPI_File_seek_shared(f, disp, MPI_SEEK_SET, ierr)
    line = rank + 7
    if (writes) then
        call MPI_File_write_ordered(f, line, 1, MPI_INTEGER, s, ierr)
    else
        call MPI_File_read_ordered(f, line, 1, MPI_INTEGER, s, ierr)
    end if
    if (line(1) /= rank + 7) wrong = wrong + 1
    call MPI_File_get_byte_offset(f, disp, behind, ierr)
    if (behind /= rows * columns * 8 + 16 * nranks) wrong = wrong + 1
    call MPI_File_close(f, ierr)
    if (ierr /= MPI_SUCCESS) wrong = wrong + 1
    call MPI_Type_free(view, ierr)
    call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call MPI_Finalize(ierr)
    if (total /= 0) stop 1
end program
