! together.f90: collective calls from Fortran: sections of all processes, empty ones, and mistakes of one that all hear of.
program together
    use mpi
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use sluice
    implicit none
    integer, parameter :: n = 12, m = 10
    integer :: rank, size, ierr, failures = 0, all_failures, i, j
    type(sluice_array) :: a, b
    real(real64) :: whole(n, m), back(n, m)
    real(real64), allocatable :: mine(:, :)

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
    do j = 1, m
        do i = 1, n
            whole(i, j) = 100 * i + j
        end do
    end do

    ! Rows dealt in turn; then blocks of columns; the last process wants nothing.
    call a%create('together.npy', [n, m], 'float64', comm=MPI_COMM_WORLD, replace=.true.)
    call a%write_all(whole(rank + 1::size, :), [span(rank + 1, n, size), sluice_whole])
    call a%read_all(back)
    call check(all(back == whole), 'everything')
    allocate (mine(n, merge(0, 2, rank == size - 1)))
    call a%read_all(mine, [sluice_whole, span(1, ubound(mine, 2))])
    call check(all(mine == whole(:, :ubound(mine, 2))), 'columns, or nothing')

    ! A mistake of the last process is the same error on all, and they go on.
    if (rank == size - 1) then
        call a%read_all(back, [span(1, n + 1), sluice_whole], error=i)
    else
        call a%read_all(back, error=i)
    end if
    call same(i, 'dimension 1: 1:13 is not within 1:12', size - 1)
    if (rank == 0) then
        call a%write_all(1.0, [span(1), span(1)], error=i)
    else
        call a%write_all(whole(1, 1), [span(1), span(1)], error=i)
    end if
    call same(i, 'elements of 4 bytes', 0)
    back = 0
    call a%read_all(back)
    call check(all(back == whole), 'everything again')

    call b%create('together.sluice', [n, m], 'float64', comm=MPI_COMM_WORLD, layout='tiles:5x5:2')
    call sluice_redistribute(b, a)
    call b%sync()
    back = 0
    if (rank == 0) call b%read(back) ! alone
    call check(rank > 0 .or. all(back == whole), 'redistributed')
    call a%close()
    call b%close()
    call a%open('nothing.npy', comm=MPI_COMM_WORLD, error=i)
    call check(i < 0 .and. index(sluice_errmsg(), 'nothing.npy') > 0, 'a file that is not there')
    call a%create('x.npy', [n, m], merge('float64'//repeat(' ', 41), repeat('nonsense', 6), rank > 0), &
                  comm=MPI_COMM_WORLD, error=i)
    call same(i, 'no type', 0)

    call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call MPI_Finalize(ierr)
    if (all_failures > 0) error stop 1

contains

    subroutine check(good, what)
        logical, intent(in) :: good
        character(len=*), intent(in) :: what
        if (good) return
        failures = failures + 1
        print '(a, i0, 3a)', 'rank ', rank, ': ', what, ' FAILED'
    end subroutine

    !> All have an error, and the sentence of that rank.
    subroutine same(error, text, of)
        integer, intent(in) :: error, of
        character(len=*), intent(in) :: text
        character(len=20) :: who
        write (who, '(a, i0, a)') 'rank ', of, ': '
        call check(error < 0 .and. index(sluice_errmsg(), trim(who)) == 1 .and. index(sluice_errmsg(), text) > 0, &
                   text//': '//sluice_errmsg())
    end subroutine
end program
