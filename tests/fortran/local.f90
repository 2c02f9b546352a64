! local.f90: the Fortran module in one process: sections of all ranks and kinds against arrays in memory, orders, slabs,
! layouts, and every refusal.
program local
    use, intrinsic :: iso_c_binding, only: c_bool, c_f_pointer
    use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
    use sluice
    implicit none
    integer :: failures = 0

    call ranks()
    call kinds()
    call random_sections()
    call orders()
    call slabs()
    call layouts()
    call errors()
    if (failures > 0) then
        print '(i0, a)', failures, ' failures'
        error stop 1
    end if

contains

    subroutine check(good, what)
        logical, intent(in) :: good
        character(len=*), intent(in) :: what
        if (good) return
        failures = failures + 1
        print '(2a)', 'FAILED: ', what
    end subroutine

    subroutine ranks()
        type(sluice_array) :: a
        real(real64) :: one(30), two(5, 6), three(5, 3, 2), four(5, 3, 2, 4), back(5, 6), part(2, 3), scalar
        real(real64) :: got3(3, 1, 2), got4(5, 2, 1, 4)
        integer :: i
        one = [(real(i, real64), i=1, 30)]
        two = reshape(one, [5, 6])
        back = 0
        call a%create('ranks.npy', [5, 6], 'float64', replace=.true.)
        call check(all(a%extents() == [5, 6]) .and. a%type() == 'float64' .and. a%layout() == '', 'what it is')
        call a%write(two)
        call a%read(part, [span(2, 5, 3), span(1, 6, 2)])
        call check(all(part == two(2:5:3, 1:6:2)), 'a section')
        call a%read(back(5:1:-2, ::3), [span(1, 3), span(5, 6)]) ! into a section of the buffer
        call check(all(back(5:1:-2, ::3) == two(1:3, 5:6)), 'a buffer with gaps')
        call a%read(scalar, [span(3), span(4)])
        call check(scalar == two(3, 4), 'a scalar')
        call a%read(one(1:6), [span(5), sluice_whole]) ! another rank, as many elements
        call check(all(one(1:6) == two(5, :)), 'a row')
        call a%write([-1._real64, -2._real64], [span(1, 2), span(6)]) ! an expression
        two(1:2, 6) = [-1, -2]
        call a%read(back)
        call check(all(back == two), 'a write of a part')
        call a%resize(7_int64)
        call check(all(a%extents() == [5, 7]), 'resize')
        call a%sync()
        call a%close()
        call a%close() ! of what is not open

        call random_number(three)
        call a%create('ranks.npy', [5, 3, 2], 'float64', replace=.true.)
        call a%write(three)
        call a%read(got3, [span(1, 5, 2), span(2), sluice_whole])
        call check(all(got3 == three(::2, 2:2, :)), 'rank 3')
        call a%close()
        call random_number(four)
        call a%create('ranks.npy', [5_int64, 3_int64, 2_int64, 4_int64], 'float64', replace=.true.)
        call a%write(four)
        call a%read(got4, [sluice_whole, span(1, 3, 2), span(2), span(1, 4)])
        call check(all(got4 == four(:, ::2, 2:2, :)), 'rank 4')
        call a%close()
    end subroutine

    subroutine kinds()
        type(sluice_array) :: a
        real(real32) :: r(4) = [1., 2., 3., 4.], r2(4) = 0
        integer(int8) :: i1(4) = [1_int8, 2_int8, 3_int8, 4_int8], i12(4) = 0
        integer(int16) :: i2(4) = [1_int16, 2_int16, 3_int16, 4_int16], i22(4) = 0
        integer(int32) :: i4(4) = [1, 2, 3, 4], i42(4) = 0
        integer(int64) :: i8(4) = [1_int64, 2_int64, 3_int64, 2_int64**62], i82(4) = 0
        complex(real32) :: c(4) = [(1., 2.), (3., 4.), (5., 6.), (7., 8.)], c2(4) = 0
        complex(real64) :: z(4) = [(1., 2.), (3., 4.), (5., 6.), (7., 8.)], z2(4) = 0
        logical(c_bool) :: l(4) = [.true._c_bool, .false._c_bool, .true._c_bool, .true._c_bool], l2(4) = .false.
        call a%create('kinds.npy', [4], 'float32', replace=.true.)
        call a%write(r); call a%read(r2); call check(all(r == r2), 'real32'); call a%close()
        call a%create('kinds.npy', [4], 'int8', replace=.true.)
        call a%write(i1); call a%read(i12); call check(all(i1 == i12), 'int8'); call a%close()
        call a%create('kinds.npy', [4], 'uint16', replace=.true.)
        call a%write(i2); call a%read(i22); call check(all(i2 == i22), 'int16'); call a%close()
        call a%create('kinds.npy', [4], 'int32', replace=.true.)
        call a%write(i4); call a%read(i42); call check(all(i4 == i42), 'int32'); call a%close()
        call a%create('kinds.npy', [4], 'int64', replace=.true.)
        call a%write(i8); call a%read(i82); call check(all(i8 == i82), 'int64'); call a%close()
        call a%create('kinds.npy', [4], 'complex64', replace=.true.)
        call a%write(c); call a%read(c2); call check(all(c == c2), 'complex of real32'); call a%close()
        call a%create('kinds.npy', [4], 'complex128', replace=.true.)
        call a%write(z); call a%read(z2); call check(all(z == z2), 'complex of real64'); call a%close()
        call a%create('kinds.npy', [4], 'bool', replace=.true.)
        call a%write(l); call a%read(l2); call check(logical(all(l .eqv. l2)), 'logical'); call a%close()
    end subroutine

    !> A number from low to high.
    integer function chance(low, high)
        integer, intent(in) :: low, high
        real :: x
        call random_number(x)
        chance = low + int(x * real(high - low + 1))
    end function

    subroutine random_sections()
        integer, parameter :: n = 11, m = 13
        type(sluice_array) :: a
        integer(int32) :: whole(n, m), value(n, m)
        integer(int32), allocatable :: part(:, :)
        integer, allocatable :: seed(:)
        integer :: case, l(2), u(2), s(2), size_of_seed
        call random_init(repeatable=.false., image_distinct=.false.)
        call random_seed(size=size_of_seed)
        allocate (seed(size_of_seed))
        call random_seed(get=seed)
        print '(a, *(1x, i0))', 'seed', seed
        whole = 0
        call a%create('random.npy', [n, m], 'int32', replace=.true.)
        do case = 1, 300
            l = [chance(1, n), chance(1, m)]
            u = [chance(l(1) - 1, n), chance(l(2) - 1, m)] ! may be empty
            s = [chance(1, 4), chance(1, 4)]
            value = case
            if (mod(case, 2) == 0) then
                whole(l(1):u(1):s(1), l(2):u(2):s(2)) = value(l(1):u(1):s(1), l(2):u(2):s(2))
                call a%write(value(l(1):u(1):s(1), l(2):u(2):s(2)), [span(l(1), u(1), s(1)), span(l(2), u(2), s(2))])
            else
                part = whole(l(1):u(1):s(1), l(2):u(2):s(2))
                part = -1
                call a%read(part, [span(l(1), u(1), s(1)), span(l(2), u(2), s(2))])
                call check(all(part == whole(l(1):u(1):s(1), l(2):u(2):s(2))), 'a random section')
            end if
        end do
        call a%read(value)
        call check(all(value == whole), 'all of it in the end')
        call a%close()
    end subroutine

    !> Row-major files have their dimensions in reverse.
    subroutine orders()
        type(sluice_array) :: a
        integer(int32) :: values(3, 2) = reshape([1, 2, 3, 4, 5, 6], [3, 2]), back(3, 2), bytes(6), two(2)
        integer :: unit
        call a%create('rows.bin', [3, 2], 'int32', raw=.true., header=8_int64, row_major=.true., replace=.true.)
        call a%write(values)
        call a%read(two, [span(2), sluice_whole])
        call check(all(two == values(2, :)), 'a section of a row-major file')
        call a%close()
        open (newunit=unit, file='rows.bin', access='stream', form='unformatted')
        read (unit, pos=9) bytes
        close (unit)
        call check(all(bytes == [1, 2, 3, 4, 5, 6]), 'the first dimension varies fastest in the file')
        call a%open('rows.bin', shape=[3_int64, 2_int64], type='int32', header=8_int64, row_major=.true.)
        call a%read(back)
        call check(all(back == values), 'a raw file')
        call a%close()
    end subroutine

    subroutine slabs()
        type(sluice_array) :: a
        type(sluice_slabs) :: s
        real(real64) :: field(20, 30)
        real(real64), pointer :: p(:, :)
        integer :: error, turns
        integer(int64) :: at
        call random_number(field)
        call a%create('slabs.npy', shape(field), 'float64', replace=.true.)
        call a%write(field)
        at = 1
        call s%open(a, count=7_int64, overlap=[1, 2])
        do while (s%next())
            call c_f_pointer(s%address, p, s%shape)
            call check(s%from == at .and. s%first == max(at - 1, 1_int64) .and. s%last == min(s%to + 2, 30_int64), 'bounds')
            call check(all(shape(p) == [20_int64, s%last - s%first + 1]), 'the shape of a slab')
            call check(all(p == field(:, s%first:s%last)), 'columns')
            at = s%to + 1
        end do
        call check(at == 31, 'all slabs')
        call s%close()
        turns = 0
        call s%open(a, dim=1, memory=8000_int64)
        do while (s%next(error))
            call c_f_pointer(s%address, p, s%shape)
            call check(all(p == field(s%first:s%last, :)), 'rows')
            turns = turns + 1
        end do
        call check(error == 0 .and. turns > 1, 'rows in little memory')
        call s%close()
        call s%open(a, memory=100_int64, error=error)
        call check(error < 0 .and. index(sluice_errmsg(), 'do not fit twice') > 0, 'too little memory')
        call s%open(a, dim=3, error=error)
        call check(error < 0 .and. index(sluice_errmsg(), 'dimension 3 of 2') > 0, 'no such dimension')
        call a%close()
    end subroutine

    subroutine layouts()
        type(sluice_array) :: a, b
        integer(int64) :: values(40, 30), back(40, 30)
        integer :: i
        values = reshape([(int(i, int64), i=1, 1200)], [40, 30])
        call a%create('from.npy', [40, 30], 'int64', replace=.true.)
        call a%write(values)
        call b%create('to.sluice', [40, 30], 'int64', layout='tiles:8x16:3', checksum=4096_int64)
        call check(index(b%layout(), 'tiles') == 1, 'a layout')
        call sluice_redistribute(b, a, memory=1048576_int64)
        call b%close()
        call b%open('to.sluice')
        call b%read(back)
        call check(all(back == values), 'redistributed')
        call a%close()
        call b%close()
    end subroutine

    subroutine refused(error, text)
        integer, intent(in) :: error
        character(len=*), intent(in) :: text
        call check(error < 0 .and. index(sluice_errmsg(), text) > 0, 'should say: '//text//'; says: '//sluice_errmsg())
    end subroutine

    subroutine errors()
        type(sluice_array) :: a, none
        real(real64) :: x(5, 6)
        real(real32) :: y(5, 6)
        integer(int64) :: i(5, 6)
        integer :: e, n
        call a%open('nothing.npy', error=e); call refused(e, 'open nothing.npy')
        call a%create('ranks.npy', [3], 'float64', error=e); call refused(e, 'create ranks.npy')
        call a%create('x.npy', [integer ::], 'float64', error=e); call refused(e, '1 to 16 dimensions, not 0')
        call a%create('x.npy', [3], 'float65', error=e); call refused(e, 'float65')
        call a%create('x.npy', [3], repeat('long', 20), error=e); call refused(e, 'no type')
        call none%read(x, error=e); call refused(e, 'not open')
        call none%write(x, error=e); call refused(e, 'not open')
        call none%sync(e); call refused(e, 'not open')
        call none%resize(3_int64, e); call refused(e, 'not open')
        call sluice_redistribute(none, a, error=e); call refused(e, 'not open')
        call check(size(none%extents()) == 0 .and. none%type() == '' .and. none%layout() == '', 'of what is not open')
        call a%create('errors.npy', [5, 6], 'float64', replace=.true.)
        call a%read(y, error=e); call refused(e, 'elements of 4 bytes, the array (float64) of 8')
        call a%read(i, error=e); call refused(e, 'another type than the array, which is float64')
        call a%read(x(:, 1:5), error=e); call refused(e, 'dimension 2: the buffer has 5 elements, the section 6')
        call a%read(x(:, 1), error=e); call refused(e, 'the buffer has 5 elements, the section 30')
        call a%read(x, [span(1, 5)], error=e); call refused(e, 'a section of 1 dimensions, of an array of 2')
        call a%read(x, [(sluice_whole, n=1, 40)], error=e); call refused(e, 'of an array of 2')
        call a%read(x, [span(0, 4), sluice_whole], error=e); call refused(e, 'dimension 1: 0:4 is not within 1:5')
        call a%read(x, [span(1, 5), span(2, 7)], error=e); call refused(e, 'dimension 2: 2:7 is not within 1:6')
        call a%read(x, [span(5, 1, -1), sluice_whole], error=e); call refused(e, 'must be positive')
        call a%read(x, [span(1, 5, 0), sluice_whole], error=e); call refused(e, 'must be positive')
        call assumed(a, x)
        call a%close()
        call a%open('errors.npy')
        call a%write(x, error=e); call refused(e, 'opened for reading only')
        call a%close()
    end subroutine

    subroutine assumed(a, x)
        type(sluice_array), intent(in) :: a
        real(real64), intent(inout) :: x(5, *)
        integer :: e
        call a%read(x(:, 1:6), error=e)
        call check(e == 0, 'a part of an array of assumed size')
    end subroutine
end program
