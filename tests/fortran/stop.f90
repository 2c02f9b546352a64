! stop.f90: without an argument for the error, the program stops.
program stop
    use sluice
    implicit none
    type(sluice_array) :: a
    call a%open('nothing.npy')
end program
