! hello.f90: an array in a file: write a part of it, read another.
program hello
    use, intrinsic :: iso_fortran_env, only: real64
    use sluice
    implicit none
    type(sluice_array) :: a
    real(real64) :: values(4, 3), back(8, 5)
    integer :: i

    ! 200 000 x 100 000 doubles, 160 GB of zeros that take no room on the disk yet; NumPy can open it, too.
    call a%create('hello_f90.npy', [200000, 100000], 'float64', replace=.true.)

    ! Columns 70 001 to 70 003; of these, every 50 000th row.
    values = reshape([(real(i, real64), i=1, 12)], [4, 3])
    call a%write(values, [span(1, 200000, 50000), span(70001, 70003)])
    call a%close()

    ! A larger part that has some of them: every 25 000th row of columns 70 000 to 70 004.
    call a%open('hello_f90.npy')
    call a%read(back, [span(1, 200000, 25000), span(70000, 70004)])
    call a%close()
    print '(8f4.0)', back
    open (newunit=i, file='hello_f90.npy', status='old')
    close (i, status='delete')
    if (any(back(1::2, 2:4) /= values) .or. sum(back) /= 78) error stop 1
end program
