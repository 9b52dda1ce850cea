! Pointers and targets may name the same memory; other variables do not.
module shared_data
  implicit none
  integer, parameter :: most = 1000
  real(8) :: grid(most), other(most)
  real(8), target :: field(most)
  real(8), pointer :: view(:)
  real(8), allocatable :: work(:)
  real(8) :: carry
  type cell
    real(8) :: x, v
    real(8), allocatable :: inner(:)
  end type
  type, extends(cell) :: heavy
    real(8) :: m
  end type
  type(cell) :: cells(most)
contains
  subroutine safe_objects(n, a, b)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(:), b(:)
    integer :: i
    ! safe
    do i = 1, n
      a(i) = b(i)
    end do
    ! safe
    do i = 1, n
      grid(i) = other(i)
    end do
    ! safe
    do i = 1, n
      work(i) = a(i)
    end do
    ! safe
    do i = 1, n
      cells(i)%x = cells(i)%x + cells(i)%v
    end do
    ! safe
    do i = 1, n
      cells(i)%inner(1) = a(i)
    end do
    ! safe
    do i = 1, n
      field(i) = grid(i)
    end do
  end subroutine

  subroutine unsafe_objects(n, p, q, a, t, h)
    integer, intent(in) :: n
    real(8), pointer, intent(in) :: p(:), q(:)
    real(8), intent(inout) :: a(:)
    real(8), target, intent(inout) :: t(:)
    type(heavy), intent(inout) :: h(:)
    integer :: i
    ! unsafe
    do i = 2, n
      p(i) = q(i - 1)
    end do
    ! unsafe
    do i = 2, n
      field(i) = view(i - 1)
    end do
    ! unsafe
    do i = 2, n
      t(i) = p(i - 1)
    end do
    ! unsafe
    do i = 1, n
      carry = carry*0.5d0 + a(i)
    end do
    ! unsafe
    do i = 2, n
      cells(i)%x = cells(i - 1)%x
    end do
    ! unsafe
    do i = 2, n
      h(i)%x = h(i - 1)%cell%x
    end do
    ! unsafe
    do i = 2, n
      cells(1)%inner(i) = cells(1)%inner(i - 1)
    end do
  end subroutine

  subroutine derived_pointers(n)
    integer, intent(in) :: n
    real(8), target :: memory(2*most)
    real(8), pointer :: low(:), high(:), shifted(:)
    integer :: i
    memory = 1
    low => memory(1:most)
    high => memory(2:most + 1)
    shifted(0:) => memory(1:most)
    ! unsafe
    do i = 1, n
      high(i) = low(i)
    end do
    ! unsafe
    do i = 1, n
      shifted(i) = low(i)
    end do
    print *, memory(1)
  end subroutine
end module
