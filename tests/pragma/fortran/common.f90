! Common blocks that several units declare: with equal names, other names, or another layout.
real function before(i)
  real :: a, b, c
  integer :: i
  common /grid/ a(1000), b(1000), c
  before = a(i - 1)
end function
real function other_array(i)
  real :: a, b, c
  integer :: i
  common /grid/ a(1000), b(1000), c
  other_array = b(i)
end function
real function renamed_before(i)
  real :: x, y, z
  integer :: i
  common /grid/ x(1000), y(1000), z
  renamed_before = x(i - 1)
end function
real function renamed_array(i)
  real :: x, y, z
  integer :: i
  common /grid/ x(1000), y(1000), z
  renamed_array = y(i)
end function
real function swapped(i)
  real :: c, a, b
  integer :: i
  common /grid/ c, a(1000), b(1000)
  swapped = a(i)
end function
real function flat(i)
  real :: ab
  integer :: i
  common /grid/ ab(2000)
  flat = ab(i)
end function
real function scalar()
  real :: a, b, c
  common /grid/ a(1000), b(1000), c
  scalar = c
end function
real function work_sum()
  real :: w
  integer :: k
  common /scratch/ w(4)
  work_sum = 0
  do k = 1, 4
    work_sum = work_sum + w(k)
  end do
end function
real function only_first(i)
  real :: a
  integer :: i
  common /grid/ a(1000)
  only_first = a(i)
end function
subroutine put(i, v)
  real :: a, b, c, v
  integer :: i
  common /grid/ a(1000), b(1000), c
  a(i) = v
end subroutine
subroutine put_by(i, v)
  real :: v
  integer :: i
  call put(i, v)
end subroutine
subroutine fetch(i, v)
  real :: a, b, c, v
  integer :: i
  common /grid/ a(1000), b(1000), c
  v = a(i - 1)
end subroutine
subroutine put_ahead(i)
  real :: b, a, c
  integer :: i
  common /grid/ b(1000), a(1000), c
  b(i + 1) = 1
end subroutine
subroutine set_scalar
  real :: a, b, c
  common /grid/ a(1000), b(1000), c
  c = 5
end subroutine

subroutine safe_common(n, x)
  integer :: n, i
  real :: x(n), a, b, c, before, other_array, renamed_array, only_first
  common /grid/ a(1000), b(1000), c
  ! safe
  do i = 2, n
    x(i) = before(i)
  end do
  ! safe
  do i = 2, n
    a(i) = other_array(i)
  end do
  ! safe
  do i = 2, n
    a(i) = renamed_array(i)
  end do
  ! safe
  do i = 2, n
    b(i) = only_first(i)
  end do
  ! safe
  do i = 2, n
    call put(i, b(i))
  end do
  ! safe
  do i = 2, n
    call put_by(i, x(i))
  end do
end subroutine
subroutine safe_undeclared(n, x)
  integer :: n, i
  real :: x(n), other_array
  ! safe
  do i = 2, n
    call put(i, x(i))
    x(i) = other_array(i)
  end do
end subroutine
subroutine safe_flat(n, x)
  integer :: n, i
  real :: x(n), flat
  ! safe
  do i = 2, n
    x(i) = flat(i)
  end do
end subroutine

subroutine unsafe_common(n, x)
  integer :: n, i
  real :: x(n), a, b, c, before, renamed_before, swapped, flat, scalar
  common /grid/ a(1000), b(1000), c
  ! unsafe
  do i = 2, n
    a(i) = before(i)
  end do
  ! unsafe
  do i = 2, n
    a(i) = renamed_before(i)
  end do
  ! unsafe
  do i = 2, n
    a(i) = swapped(i)
  end do
  ! unsafe
  do i = 2, n
    b(i) = flat(i + 999)
  end do
  ! unsafe
  do i = 2, n
    call put(i, a(i - 1))
  end do
  ! unsafe
  do i = 2, n
    call put_by(i, x(i))
    x(i) = a(i - 1)
  end do
  ! unsafe
  do i = 2, n
    x(i) = a(i)
    call put_ahead(i)
  end do
  ! unsafe
  do i = 2, n
    c = i
    x(i) = scalar()
  end do
  ! unsafe
  do i = 2, n
    x(i) = c
    if (i == 7) call set_scalar
  end do
end subroutine
subroutine unsafe_undeclared(n, x)
  integer :: n, i
  real :: x(n), flat
  ! unsafe
  do i = 2, n
    call put(i, x(i))
    call fetch(i, x(i))
  end do
  ! unsafe
  do i = 2, n
    call put(i, x(i))
    x(i) = flat(i - 1)
  end do
end subroutine
subroutine unsafe_renamed(n, x)
  integer :: n, i
  real :: x(n), p, q, r, before
  common /grid/ p(1000), q(1000), r
  ! unsafe
  do i = 2, n
    p(i) = before(i)
  end do
  ! unsafe
  do i = 2, n
    call put(i, p(i - 1))
  end do
end subroutine
subroutine unsafe_scratch(n, x)
  integer :: n, i, k
  real :: x(n), w, work_sum
  common /scratch/ w(4)
  ! unsafe
  do i = 2, n
    do k = 1, 4
      w(k) = i*k
    end do
    x(i) = work_sum()
  end do
end subroutine
subroutine unsafe_host(n)
  integer :: n
  real :: a, b, c
  common /grid/ a(1000), b(1000), c
  call inner
contains
  subroutine inner
    integer :: i
    real :: p, q, r
    common /grid/ p(1000), q(1000), r
    ! unsafe
    do i = 2, n
      p(i) = a(i - 1)
    end do
  end subroutine
end subroutine
module holder
  real :: a, b, c
  common /grid/ a(1000), b(1000), c
end module
subroutine unsafe_used(n)
  use holder
  integer :: n, i
  real :: p, q, r, before
  common /grid/ p(1000), q(1000), r
  ! unsafe
  do i = 2, n
    p(i) = a(i - 1)
  end do
  ! unsafe
  do i = 2, n
    p(i) = before(i)
  end do
end subroutine
subroutine both_used(n, x)
  use holder, only: z => a, b
  integer :: n, i
  real :: x(n), before, other_array
  ! unsafe
  do i = 2, n
    z(i) = before(i)
  end do
  ! safe
  do i = 2, n
    z(i) = other_array(i)
  end do
end subroutine
