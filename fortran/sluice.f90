!> sluice: arrays in files, larger than memory, from Fortran.
!>
!>     use sluice
!>     type(sluice_array) :: a
!>     real(real64) :: part(20, 500)
!>
!>     call a%open('field.npy')
!>     call a%read(part, [span(11, 30), span(1, 999, 2)])     ! field(11:30, 1:999:2)
!>     call a%close()
!>
!> Dimensions are Fortran's: the first varies fastest in the file, and indices start at 1. An array that create() makes is
!> column-major, and NumPy sees the same shape and indices. One that C or NumPy laid down row by row has its dimensions
!> in reverse here, as its elements lie in memory.
!>
!> A section is a span for each dimension, lower:upper:stride as in Fortran, without negative strides; sluice_whole is ':',
!> and without a section everything is meant. Any buffer will do whose type and shape fit the section: arrays of all ranks
!> and kinds, sections of them, scalars. What does not fit is an error, and nothing is moved.
!>
!> Every call has a last, optional argument `error`: 0, or a negative error, of which sluice_errmsg() then says in a
!> sentence what happened. Without it an error is printed and the program stops.
!>
!> With comm=MPI_COMM_WORLD (as an integer; %MPI_VAL of mpi_f08) all processes open an array together. Then read_all and
!> write_all are collective: each process names its own section, or an empty one, span(1, 0), and all get the same error.
!> open, create, sync, resize, redistribute and close are then collective, too.
module sluice
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64
    implicit none
    private
    public :: sluice_array, sluice_slabs, sluice_span, sluice_whole, span
    public :: sluice_errmsg, sluice_redistribute, sluice_version

    !> lower:upper:stride of one dimension; span() makes one.
    type, bind(C) :: sluice_span
        integer(c_int64_t) :: lower, upper, stride
    end type

    type(sluice_span), parameter :: sluice_whole = sluice_span(0, 0, 0)

    !> span(i), span(lower, upper) or span(lower, upper, stride).
    interface span
        module procedure span_int32, span_int64
    end interface

    type :: sluice_array
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: open => array_open
        procedure, private :: create_int32, create_int64
        generic :: create => create_int32, create_int64
        procedure :: read => array_read
        procedure :: write => array_write
        procedure :: read_all => array_read_all
        procedure :: write_all => array_write_all
        procedure :: sync => array_sync
        procedure :: resize => array_resize
        procedure :: close => array_close
        procedure :: extents => array_extents
        procedure :: type => array_type
        procedure :: layout => array_layout
    end type

    !> The loop over an array that is larger than memory:
    !>
    !>     real(real64), pointer :: p(:, :)
    !>     call s%open(a, overlap=[1, 1], memory=64_int64 * 1024**2)
    !>     do while (s%next())
    !>         call c_f_pointer(s%address, p, s%shape)
    !>         ! p(:, k) is index s%first + k - 1 of the last dimension; the slab itself is s%from to s%to
    !>     end do
    !>     call s%close()
    !>
    !> The next slab is read meanwhile; what two share is read once. p is good until the next turn.
    type :: sluice_slabs
        private
        type(c_ptr) :: handle = c_null_ptr
        integer :: dim = 0
        type(c_ptr), public :: address = c_null_ptr
        integer(int64), public :: first = 1, last = 0 !< indices in memory, with overlap
        integer(int64), public :: from = 1, to = 0    !< the slab itself
        integer(int64), allocatable, public :: shape(:)
    contains
        procedure :: open => slabs_open
        procedure :: next => slabs_next
        procedure :: close => slabs_close
    end type

    integer, parameter :: max_dims = 16

    type, bind(C) :: bridge_options
        integer(c_int64_t) :: memory = 0, checksum = 0, header = 0
        integer(c_int32_t) :: writable = 0, replace = 0, raw = 0, row_major = 0, together = 0, comm = 0
        type(c_ptr) :: type = c_null_ptr, layout = c_null_ptr, targets = c_null_ptr, bindings = c_null_ptr
    end type

    type, bind(C) :: bridge_slab
        type(c_ptr) :: address
        integer(c_int64_t) :: first, last, from, to
    end type

    ! bridge.h has the contracts.
    interface
        function bridge_open(out, path, n, extent, o) bind(C, name='sluice_fortran_open') result(error)
            import
            type(c_ptr), intent(out) :: out
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int), value :: n
            integer(c_int64_t), intent(in) :: extent(*)
            type(bridge_options), intent(in) :: o
            integer(c_int) :: error
        end function
        function bridge_create(out, path, n, extent, o) bind(C, name='sluice_fortran_create') result(error)
            import
            type(c_ptr), intent(out) :: out
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int), value :: n
            integer(c_int64_t), intent(in) :: extent(*)
            type(bridge_options), intent(in) :: o
            integer(c_int) :: error
        end function
        function bridge_read(b, buf, n, spans, together) bind(C, name='sluice_fortran_read') result(error)
            import
            type(c_ptr), value :: b
            type(*), dimension(..), contiguous, intent(inout) :: buf
            integer(c_int), value :: n, together
            type(sluice_span), intent(in) :: spans(*)
            integer(c_int) :: error
        end function
        function bridge_write(b, buf, n, spans, together) bind(C, name='sluice_fortran_write') result(error)
            import
            type(c_ptr), value :: b
            type(*), dimension(..), contiguous, intent(in) :: buf
            integer(c_int), value :: n, together
            type(sluice_span), intent(in) :: spans(*)
            integer(c_int) :: error
        end function
        function bridge_close(b) bind(C, name='sluice_fortran_close') result(error)
            import
            type(c_ptr), value :: b
            integer(c_int) :: error
        end function
        function bridge_sync(b) bind(C, name='sluice_fortran_sync') result(error)
            import
            type(c_ptr), value :: b
            integer(c_int) :: error
        end function
        function bridge_resize(b, extent) bind(C, name='sluice_fortran_resize') result(error)
            import
            type(c_ptr), value :: b
            integer(c_int64_t), value :: extent
            integer(c_int) :: error
        end function
        function bridge_redistribute(dst, src, memory) bind(C, name='sluice_fortran_redistribute') result(error)
            import
            type(c_ptr), value :: dst, src
            integer(c_int64_t), value :: memory
            integer(c_int) :: error
        end function
        function bridge_extents(b, extent) bind(C, name='sluice_fortran_extents') result(n)
            import
            type(c_ptr), value :: b
            integer(c_int64_t), intent(inout) :: extent(*)
            integer(c_int) :: n
        end function
        function bridge_type(b) bind(C, name='sluice_fortran_type') result(text)
            import
            type(c_ptr), value :: b
            type(c_ptr) :: text
        end function
        function bridge_layout(b) bind(C, name='sluice_fortran_layout') result(text)
            import
            type(c_ptr), value :: b
            type(c_ptr) :: text
        end function
        function bridge_slabs_open(out, b, dim, count, lower, upper, memory) &
            bind(C, name='sluice_fortran_slabs_open') result(error)
            import
            type(c_ptr), intent(out) :: out
            type(c_ptr), value :: b
            integer(c_int), value :: dim
            integer(c_int64_t), value :: count, lower, upper, memory
            integer(c_int) :: error
        end function
        function bridge_slabs_next(s, slab) bind(C, name='sluice_fortran_slabs_next') result(more)
            import
            type(c_ptr), value :: s
            type(bridge_slab), intent(inout) :: slab
            integer(c_int) :: more
        end function
        subroutine c_slabs_close(s) bind(C, name='sluice_slabs_close')
            import
            type(c_ptr), value :: s
        end subroutine
        function bridge_errmsg() bind(C, name='sluice_fortran_errmsg') result(text)
            import
            type(c_ptr) :: text
        end function
        function c_version() bind(C, name='sluice_version') result(text)
            import
            type(c_ptr) :: text
        end function
        function c_strlen(text) bind(C, name='strlen') result(n)
            import
            type(c_ptr), value :: text
            integer(c_size_t) :: n
        end function
    end interface

contains

    ! ---- Strings and errors

    function from_c(text) result(string)
        type(c_ptr), intent(in) :: text
        character(len=:), allocatable :: string
        character(kind=c_char), pointer :: c(:)
        integer :: i
        call c_f_pointer(text, c, [c_strlen(text)])
        allocate (character(len=size(c)) :: string)
        do i = 1, size(c)
            string(i:i) = c(i)
        end do
    end function

    !> A string as C has it; not allocated if there is none.
    subroutine to_c(string, c, at)
        character(len=*), intent(in), optional :: string
        character(len=:), allocatable, target, intent(out) :: c
        type(c_ptr), intent(out) :: at
        at = c_null_ptr
        if (.not. present(string)) return
        c = trim(string)//c_null_char
        at = c_loc(c)
    end subroutine

    !> The sentence for the last error.
    function sluice_errmsg() result(text)
        character(len=:), allocatable :: text
        text = from_c(bridge_errmsg())
    end function

    !> The version of the library, as in '0.1.0'.
    function sluice_version() result(text)
        character(len=:), allocatable :: text
        text = from_c(c_version())
    end function

    !> Tells the caller of an error, or stops.
    subroutine conclude(code, error)
        integer(c_int), intent(in) :: code
        integer, intent(out), optional :: error
        if (present(error)) then
            error = code
        else if (code < 0) then
            write (error_unit, '(2a)') 'sluice: ', sluice_errmsg()
            error stop 1
        end if
    end subroutine

    integer(c_int32_t) function flag(given)
        logical, intent(in), optional :: given
        flag = 0
        if (present(given)) flag = merge(1, 0, given)
    end function

    integer(c_int64_t) function number(given)
        integer(int64), intent(in), optional :: given
        number = 0
        if (present(given)) number = given
    end function

    ! ---- Spans

    pure type(sluice_span) function span_int64(lower, upper, stride) result(s)
        integer(int64), intent(in) :: lower
        integer(int64), intent(in), optional :: upper, stride
        s = sluice_span(lower, lower, 1)
        if (present(upper)) s%upper = upper
        if (present(stride)) s%stride = merge(-1_int64, stride, stride == 0)
    end function

    pure type(sluice_span) function span_int32(lower, upper, stride) result(s)
        integer(int32), intent(in) :: lower
        integer(int32), intent(in), optional :: upper, stride
        s = sluice_span(lower, lower, 1)
        if (present(upper)) s%upper = upper
        if (present(stride)) s%stride = merge(-1, stride, stride == 0)
    end function

    ! ---- Arrays

    !> Opens a .npy file or a container; or a raw file of the given shape and type, after `header` bytes. memory: bytes for
    !> all buffers of the library; 64 MiB.
    subroutine array_open(self, path, write, comm, memory, bindings, shape, type, header, row_major, error)
        class(sluice_array), intent(inout) :: self
        character(len=*), intent(in) :: path
        logical, intent(in), optional :: write, row_major
        integer, intent(in), optional :: comm
        integer(int64), intent(in), optional :: memory, shape(:), header
        character(len=*), intent(in), optional :: bindings, type
        integer, intent(out), optional :: error
        type(bridge_options) :: o
        character(len=:), allocatable, target :: place, kind
        integer(int64) :: extent(max_dims + 1)
        integer :: n
        o%memory = number(memory)
        o%header = number(header)
        o%writable = flag(write)
        o%row_major = flag(row_major)
        o%raw = 1
        o%together = flag(present(comm))
        if (present(comm)) o%comm = comm
        call to_c(bindings, place, o%bindings)
        kind = c_null_char
        if (present(type)) kind = trim(type)//c_null_char
        o%type = c_loc(kind)
        n = 0
        if (present(shape)) then
            n = min(size(shape), size(extent))
            extent(:n) = shape(:n)
        end if
        call conclude(bridge_open(self%handle, trim(path)//c_null_char, n, extent, o), error)
    end subroutine

    !> Makes an array of zeros of a type ('float64', 'int32', 'complex64', ...) and opens it for reading and writing. A path
    !> that exists is refused unless replace is true. layout, targets, bindings and checksum: a container (sluice_create()).
    subroutine create_int64(self, path, shape, type, comm, memory, replace, layout, targets, bindings, checksum, raw, &
                            header, row_major, error)
        class(sluice_array), intent(inout) :: self
        character(len=*), intent(in) :: path, type
        integer(int64), intent(in) :: shape(:)
        integer, intent(in), optional :: comm
        integer(int64), intent(in), optional :: memory, checksum, header
        logical, intent(in), optional :: replace, raw, row_major
        character(len=*), intent(in), optional :: layout, targets, bindings
        integer, intent(out), optional :: error
        type(bridge_options) :: o
        character(len=:), allocatable, target :: kind, how, where, place
        o%memory = number(memory)
        o%checksum = number(checksum)
        o%header = number(header)
        o%replace = flag(replace)
        o%raw = flag(raw)
        o%row_major = flag(row_major)
        o%together = flag(present(comm))
        if (present(comm)) o%comm = comm
        call to_c(type, kind, o%type)
        call to_c(layout, how, o%layout)
        call to_c(targets, where, o%targets)
        call to_c(bindings, place, o%bindings)
        call conclude(bridge_create(self%handle, trim(path)//c_null_char, size(shape), shape, o), error)
    end subroutine

    subroutine create_int32(self, path, shape, type, comm, memory, replace, layout, targets, bindings, checksum, raw, &
                            header, row_major, error)
        class(sluice_array), intent(inout) :: self
        character(len=*), intent(in) :: path, type
        integer(int32), intent(in) :: shape(:)
        integer, intent(in), optional :: comm
        integer(int64), intent(in), optional :: memory, checksum, header
        logical, intent(in), optional :: replace, raw, row_major
        character(len=*), intent(in), optional :: layout, targets, bindings
        integer, intent(out), optional :: error
        call create_int64(self, path, int(shape, int64), type, comm, memory, replace, layout, targets, bindings, &
                          checksum, raw, header, row_major, error)
    end subroutine

    !> The spans as C takes them: n = 0 if there is no section.
    subroutine prepare(section, spans, n)
        type(sluice_span), intent(in), optional :: section(:)
        type(sluice_span), intent(out) :: spans(max_dims + 1)
        integer(c_int), intent(out) :: n
        n = 0
        if (.not. present(section)) return
        n = min(size(section), size(spans))
        spans(:n) = section(:n)
    end subroutine

    !> Reads a section into buf; without one, everything.
    subroutine array_read(self, buf, section, error)
        class(sluice_array), intent(in) :: self
        type(*), dimension(..), contiguous, intent(inout) :: buf
        type(sluice_span), intent(in), optional :: section(:)
        integer, intent(out), optional :: error
        type(sluice_span) :: spans(max_dims + 1)
        integer(c_int) :: n
        call prepare(section, spans, n)
        call conclude(bridge_read(self%handle, buf, n, spans, 0), error)
    end subroutine

    !> Writes buf to a section; nothing else of the file changes.
    subroutine array_write(self, buf, section, error)
        class(sluice_array), intent(in) :: self
        type(*), dimension(..), contiguous, intent(in) :: buf
        type(sluice_span), intent(in), optional :: section(:)
        integer, intent(out), optional :: error
        type(sluice_span) :: spans(max_dims + 1)
        integer(c_int) :: n
        call prepare(section, spans, n)
        call conclude(bridge_write(self%handle, buf, n, spans, 0), error)
    end subroutine

    !> Collective: the same by all processes, each with its own section.
    subroutine array_read_all(self, buf, section, error)
        class(sluice_array), intent(in) :: self
        type(*), dimension(..), contiguous, intent(inout) :: buf
        type(sluice_span), intent(in), optional :: section(:)
        integer, intent(out), optional :: error
        type(sluice_span) :: spans(max_dims + 1)
        integer(c_int) :: n
        call prepare(section, spans, n)
        call conclude(bridge_read(self%handle, buf, n, spans, 1), error)
    end subroutine

    !> Collective. Where processes write the same element, that of the highest rank stays.
    subroutine array_write_all(self, buf, section, error)
        class(sluice_array), intent(in) :: self
        type(*), dimension(..), contiguous, intent(in) :: buf
        type(sluice_span), intent(in), optional :: section(:)
        integer, intent(out), optional :: error
        type(sluice_span) :: spans(max_dims + 1)
        integer(c_int) :: n
        call prepare(section, spans, n)
        call conclude(bridge_write(self%handle, buf, n, spans, 1), error)
    end subroutine

    !> What was written survives a crash of the machine.
    subroutine array_sync(self, error)
        class(sluice_array), intent(in) :: self
        integer, intent(out), optional :: error
        call conclude(bridge_sync(self%handle), error)
    end subroutine

    !> A new extent of the last dimension; new elements are 0.
    subroutine array_resize(self, extent, error)
        class(sluice_array), intent(in) :: self
        integer(int64), intent(in) :: extent
        integer, intent(out), optional :: error
        call conclude(bridge_resize(self%handle, extent), error)
    end subroutine

    !> Closes; an array that is not open is left alone.
    subroutine array_close(self, error)
        class(sluice_array), intent(inout) :: self
        integer, intent(out), optional :: error
        type(c_ptr) :: handle
        handle = self%handle
        self%handle = c_null_ptr
        call conclude(bridge_close(handle), error)
    end subroutine

    function array_extents(self) result(extents)
        class(sluice_array), intent(in) :: self
        integer(int64), allocatable :: extents(:)
        integer(int64) :: all(max_dims)
        integer :: n
        n = bridge_extents(self%handle, all)
        extents = all(:n)
    end function

    function array_type(self) result(text)
        class(sluice_array), intent(in) :: self
        character(len=:), allocatable :: text
        text = from_c(bridge_type(self%handle))
    end function

    !> How a container is divided, 'rows:4'; '' for one file.
    function array_layout(self) result(text)
        class(sluice_array), intent(in) :: self
        character(len=:), allocatable :: text
        text = from_c(bridge_layout(self%handle))
    end function

    !> Copies src to dst, an array of the same type and shape, from any layout and order to any other, in `memory` bytes
    !> (64 MiB) for each process. Collective if dst is of a group.
    subroutine sluice_redistribute(dst, src, memory, error)
        type(sluice_array), intent(in) :: dst, src
        integer(int64), intent(in), optional :: memory
        integer, intent(out), optional :: error
        call conclude(bridge_redistribute(dst%handle, src%handle, number(memory)), error)
    end subroutine

    ! ---- Slabs

    !> Begins a loop along dimension `dim` (the last), `count` indices at a time (as many as fit into `memory`, 64 MiB), with
    !> overlap(1) more before and overlap(2) after.
    subroutine slabs_open(self, array, dim, count, overlap, memory, error)
        class(sluice_slabs), intent(inout) :: self
        type(sluice_array), intent(in) :: array
        integer, intent(in), optional :: dim, overlap(2)
        integer(int64), intent(in), optional :: count, memory
        integer, intent(out), optional :: error
        integer(int64) :: around(2)
        around = 0
        if (present(overlap)) around = overlap
        self%shape = array%extents()
        self%dim = size(self%shape)
        if (present(dim)) self%dim = dim
        call conclude(bridge_slabs_open(self%handle, array%handle, self%dim, number(count), around(1), around(2), &
                                        number(memory)), error)
    end subroutine

    !> Whether there is a next slab, which then is at self%address.
    logical function slabs_next(self, error)
        class(sluice_slabs), intent(inout) :: self
        integer, intent(out), optional :: error
        type(bridge_slab) :: slab
        integer(c_int) :: more
        more = bridge_slabs_next(self%handle, slab)
        slabs_next = more > 0
        call conclude(min(more, 0), error)
        if (.not. slabs_next) return
        self%address = slab%address
        self%first = slab%first
        self%last = slab%last
        self%from = slab%from
        self%to = slab%to
        self%shape(self%dim) = slab%last - slab%first + 1
    end function

    !> Ends the loop, before the array is closed.
    subroutine slabs_close(self)
        class(sluice_slabs), intent(inout) :: self
        call c_slabs_close(self%handle)
        self%handle = c_null_ptr
    end subroutine
end module
