! Variables of a simple type.
subroutine safe_scalars(n, a, b, s, top, found)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n), b(n), s, top
  logical, intent(inout) :: found
  real(8) :: t, low
  integer :: i, count
  ! safe
  do i = 1, n
    t = a(i)
    a(i) = b(i)
    b(i) = t
  end do
  s = 0
  ! safe
  do i = 1, n
    s = s + a(i)*b(i)
  end do
  ! safe
  do i = 1, n
    s = s - a(i)
  end do
  ! safe
  do i = 1, n
    top = max(top, a(i))
  end do
  low = huge(low)
  ! safe
  do i = 1, n
    low = min(low, b(i))
  end do
  ! safe
  do i = 1, n
    if (a(i) > top) top = a(i)
  end do
  ! safe
  do i = 1, n
    found = found .or. a(i) > 1
  end do
  count = 0
  ! safe
  do i = 1, n
    if (a(i) > low) count = count + 1
  end do
  s = s*count
  ! safe
  do i = 1, n
    t = b(i) + 1
    if (t > 0) then
      a(i) = t
    else
      a(i) = -t
    end if
  end do
  ! safe
  do i = 1, n
    select case (i)
    case (1)
      a(i) = 0
    case default
      a(i) = b(i)
    end select
  end do
end subroutine

subroutine unsafe_scalars(n, a, b, s, k)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n), b(n), s
  integer, intent(inout) :: k
  real(8) :: t
  integer :: i
  t = 0
  ! unsafe
  do i = 1, n
    a(i) = t
    t = b(i)
  end do
  ! unsafe
  do i = 1, n
    s = s*0.5d0 + a(i)
  end do
  ! unsafe
  do i = 1, n
    if (b(i) > 0) then
      k = k + 1
      a(k) = b(i)
    end if
  end do
  ! unsafe
  do i = 1, n
    s = s + a(i)
    b(i) = s
  end do
  ! unsafe
  do i = 1, n
    s = a(i) - s
  end do
  ! unsafe
  do i = 1, n
    s = s + a(i)
    s = max(s, b(i))
  end do
  ! unsafe
  do i = 1, n
    if (a(i) > 0) t = a(i)
    b(i) = t
  end do
  print *, t
end subroutine

real(8) function total(n, a)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: a(n)
  integer :: i
  total = 0
  ! safe
  do i = 1, n
    total = total + a(i)
  end do
end function
