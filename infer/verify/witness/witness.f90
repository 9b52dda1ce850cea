! witness.f90: the interface of witness.h for Fortran. The calls are inserted on lines of their own:
!
!     call hpc_witness_enter(0_4)
!     call hpc_witness_object(0_4,1_4,hpc_witness_shared,a,lbound(a,kind=8))
!     do i = 1, n
!     call hpc_witness_iteration(0_4,i)
!         ...
!     end do
!     call hpc_witness_leave(0_4)
!
! All procedures are pure, so that pure procedures and do concurrent may call them. An object is a
! target, because the compiler records only accesses of variables that have their address taken.
module hpc_witness
    implicit none
    integer(4), parameter :: hpc_witness_shared = 0, hpc_witness_private = 1, &
        hpc_witness_ignored = 2

    interface
        pure subroutine hpc_witness_enter(loop) bind(c, name='hpc_witness_enter_fortran')
            integer(4), value, intent(in) :: loop
        end subroutine
        pure subroutine hpc_witness_leave(loop) bind(c, name='hpc_witness_leave_fortran')
            integer(4), value, intent(in) :: loop
        end subroutine
        ! lower: the lower bounds of an array, if the report may have its subscripts.
        pure subroutine hpc_witness_object(loop, name, kind, x, lower) &
            bind(c, name='hpc_witness_object_fortran')
            integer(4), value, intent(in) :: loop, name, kind
            type(*), dimension(..), target, optional, intent(in) :: x
            integer(8), optional, intent(in) :: lower(*)
        end subroutine
    end interface

    interface hpc_witness_iteration
        pure subroutine hpc_witness_iteration_1(loop, i) bind(c)
            integer(4), value, intent(in) :: loop
            integer(1), value, intent(in) :: i
        end subroutine
        pure subroutine hpc_witness_iteration_2(loop, i) bind(c)
            integer(4), value, intent(in) :: loop
            integer(2), value, intent(in) :: i
        end subroutine
        pure subroutine hpc_witness_iteration_4(loop, i) bind(c)
            integer(4), value, intent(in) :: loop, i
        end subroutine
        pure subroutine hpc_witness_iteration_8(loop, i) bind(c)
            integer(4), value, intent(in) :: loop
            integer(8), value, intent(in) :: i
        end subroutine
    end interface
end module
