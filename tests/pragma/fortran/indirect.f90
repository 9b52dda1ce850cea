! Subscripts that are read from memory.
subroutine safe_indirect(n, index, a, b, start, sums)
  implicit none
  integer, intent(in) :: n, index(n), start(n + 1)
  real(8), intent(inout) :: a(n), b(n), sums(n)
  integer :: i, k
  ! safe
  do i = 1, n
    a(i) = b(index(i))
  end do
  ! safe
  do i = 1, n
    sums(i) = 0
    do k = start(i), start(i + 1) - 1
      sums(i) = sums(i) + a(k)*b(index(k))
    end do
  end do
end subroutine

subroutine unsafe_indirect(n, index, a, b, h)
  implicit none
  integer, intent(in) :: n, index(n)
  real(8), intent(inout) :: a(n), b(n)
  integer, intent(inout) :: h(10)
  integer :: i
  ! unsafe
  do i = 1, n
    a(index(i)) = b(i)
  end do
  ! unsafe
  do i = 1, n
    a(i) = a(index(i))
  end do
  ! unsafe
  do i = 1, n
    h(index(i)) = h(index(i))*2 + 1
  end do
  ! unsafe
  do i = 1, n
    a(index(i)) = a(index(i) + 1)
  end do
end subroutine
