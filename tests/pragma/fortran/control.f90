! Ways out of a loop, and what must happen in order.
subroutine safe_control(n, a, b, mask)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n), b(n)
  logical, intent(in) :: mask(n)
  integer :: i, j
  ! safe
  do i = 1, n
    if (.not. mask(i)) cycle
    a(i) = b(i)
  end do
  ! safe
  do i = 1, n
    do j = 1, 10
      if (b(i) > j) exit
    end do
    a(i) = b(i)
  end do
  ! safe
  outer: do i = 1, n
    if (a(i) < 0) cycle outer
    a(i) = sqrt(a(i))
  end do outer
end subroutine

subroutine unsafe_control(n, a, b, first, k)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n), b(n)
  integer, intent(out) :: first
  integer, intent(inout) :: k
  integer :: i, j
  first = 0
  ! unsafe
  do i = 1, n
    if (a(i) < 0) exit
    a(i) = b(i)
  end do
  ! unsafe
  do i = 1, n
    if (a(i) < 0) return
    a(i) = b(i)
  end do
  ! unsafe
  do i = 1, n
    write (*, *) a(i)
  end do
  ! unsafe
  do i = 1, n
    read (*, *) a(i)
  end do
  ! unsafe
  do i = 1, n
    if (a(i) < 0) stop 'negative'
    a(i) = b(i)
  end do
  ! unsafe
  do i = 1, n
    if (a(i) < 0) goto 10
    a(i) = b(i)
  end do
10 continue
  ! unsafe
  do i = 1, k
    if (a(i) > 0) k = k - 1
  end do
  ! unsafe
  all: do i = 1, n
    do j = 1, n
      if (b(j) > a(i)) exit all
    end do
    b(i) = 0
  end do all
  i = 1
  ! unsafe
  do while (i < n)
    a(i) = b(i)
    i = i + 1
  end do
  ! unsafe
  do
    k = k - 1
    if (k < 0) exit
  end do
  print *, first
end subroutine
