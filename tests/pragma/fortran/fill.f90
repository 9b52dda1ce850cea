! Scratch arrays that an assignment or a called procedure fills, and columns as arguments.
module fill
  implicit none
  type pair
    real(8) :: x(3), y(3)
  end type
contains
  subroutine five(k, x)
    integer, intent(in) :: k
    real(8), intent(out) :: x(5)
    integer :: m
    do m = 1, 5
      x(m) = k + m
    end do
  end subroutine
  subroutine four(k, x)
    integer, intent(in) :: k
    real(8), intent(inout) :: x(5)
    integer :: m
    do m = 1, 4
      x(m) = k + m
    end do
  end subroutine
  subroutine each(k, x)
    integer, intent(in) :: k
    real(8), intent(inout) :: x(3)
    x(1) = k
    x(3) = 3 * k
    x(2) = x(1) + x(3)
  end subroutine
  subroutine square(k, x)
    integer, intent(in) :: k
    real(8), intent(inout) :: x(3, 3)
    integer :: i, j
    do j = 1, 3
      do i = 1, 3
        x(i, j) = k + i * j
      end do
    end do
  end subroutine
  subroutine diagonal(k, x)
    integer, intent(in) :: k
    real(8), intent(inout) :: x(3, 3)
    integer :: i
    do i = 1, 3
      x(i, i) = k
    end do
  end subroutine
  subroutine maybe(k, x)
    integer, intent(in) :: k
    real(8), intent(inout) :: x(5)
    integer :: m
    if (k > 3) then
      do m = 1, 5
        x(m) = k
      end do
    end if
  end subroutine
  subroutine early(k, x)
    integer, intent(in) :: k
    real(8), intent(inout) :: x(5)
    integer :: m
    do m = 1, 5
      x(m) = k
      if (k + m > 7) exit
    end do
  end subroutine
  subroutine cycles(k, x)
    integer, intent(in) :: k
    real(8), intent(inout) :: x(5)
    integer :: m
    do m = 1, 5
      if (k + m == 7) cycle
      x(m) = k
    end do
  end subroutine
  subroutine leaves(k, x)
    integer, intent(in) :: k
    real(8), intent(inout) :: x(5)
    integer :: m
    if (k == 7) return
    do m = 1, 5
      x(m) = k
    end do
  end subroutine
  subroutine some(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(5)
    integer :: m
    do m = 1, min(n, 5)
      x(m) = n
    end do
  end subroutine
  subroutine reads_first(k, x)
    integer, intent(in) :: k
    real(8), intent(inout) :: x(5)
    real(8) :: old
    integer :: m
    old = x(5)
    do m = 1, 5
      x(m) = old + k
    end do
  end subroutine
  subroutine steps(k, x)
    integer, intent(in) :: k
    real(8), intent(inout) :: x(5)
    integer :: m
    do m = 1, 5, 2
      x(m) = k
    end do
  end subroutine
  subroutine sized(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(n)
    integer :: m
    do m = 1, n
      x(m) = 2 * x(m)
    end do
  end subroutine
  subroutine old_style(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(1)
    integer :: m
    do m = 1, n
      x(m) = 2 * x(m)
    end do
  end subroutine
  subroutine shaped(x)
    real(8), intent(inout) :: x(:)
    x = 1
    x(2) = x(1) + 1
  end subroutine

  subroutine safe_fill(n, a, w, v)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(5, n), w(5, n), v(8, 2, n)
    real(8) :: t(5), c(3), s(3, 3), s2(3, 3), u(2:6)
    type(pair) :: p
    integer :: i, m
    ! safe
    do i = 1, n
      t = i
      do m = 1, 5
        a(m, i) = t(m)
      end do
    end do
    ! safe
    do i = 1, n
      c(:) = a(1:3, i)
      a(4, i) = sum(c)
    end do
    ! safe
    do i = 1, n
      call five(i, t)
      a(1, i) = t(1) + t(5)
    end do
    ! safe
    do i = 1, n
      call five(i, u)
      a(1, i) = u(2) + u(6)
    end do
    ! safe
    do i = 1, n
      call each(i, c)
      a(1, i) = c(1) + c(2) * c(3)
    end do
    ! safe
    do i = 1, n
      call square(i, s)
      a(1, i) = s(1, 1) + s(3, 3)
    end do
    ! safe
    do i = 1, n
      call shaped(c)
      a(1, i) = c(1) + c(3)
    end do
    ! safe
    do i = 1, n
      call shaped(s2(:, 1))
      call shaped(s2(:, 2))
      a(1, i) = s2(1, 1) + s2(3, 2)
    end do
    ! safe
    do i = 1, n
      c(1:3) = a(1:3, i)
      s2(1:3, :) = i
      a(4, i) = sum(c) + c(2) + s2(3, 1)
    end do
    ! safe
    do i = 1, n
      u(2:6) = i
      c(:3) = u(3:5)
      a(4, i) = u(2) + c(2)
    end do
    ! safe
    do i = 1, n
      p%x = i
      a(1, i) = p%x(1) + p%x(3)
    end do
    ! safe
    do i = 1, n
      call five(i, w(1, i))
    end do
    ! safe
    do i = 1, n
      call sized(5, w(1, i))
    end do
    ! safe
    do i = 1, n
      call sized(4, w(2, i))
    end do
    ! safe
    do i = 1, n
      call sized(8, v(1, 2, i))
    end do
    ! safe
    do i = 1, n
      call sized(16, v(1, 1, i))
    end do
  end subroutine

  subroutine unsafe_assigned(n, a, b, t0)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(5, n), b(n), t0
    real(8) :: t(5), c(4), s(3, 3), last(5), u(2:6)
    type(pair) :: p
    integer :: i, m
    t = 0
    u = 0
    m = mod(n, 4)
    c = 0
    s = 0
    p%y = 0
    ! unsafe
    do i = 1, n
      if (b(i) > 0) t = i
      a(1, i) = t(1)
    end do
    ! unsafe
    do i = 1, n
      where (a(:, i) > 0) t = i
      a(1, i) = t(1)
    end do
    ! unsafe
    do i = 1, n
      where (a(:, i) > 0)
        t = i
      elsewhere
        t = t + 1
      end where
      a(1, i) = t(1)
    end do
    ! unsafe
    do i = 1, n
      a(1, i) = t(1)
      t = i
    end do
    ! unsafe
    do i = 1, n
      t = t + i
      a(1, i) = t(1)
    end do
    ! unsafe
    do i = 1, n
      c(1:3) = i
      a(1, i) = c(4)
      c(4) = i
    end do
    ! unsafe
    do i = 1, n
      u(2:5) = i
      a(1, i) = u(6)
      u(6) = i
    end do
    ! unsafe
    do i = 1, n
      u(3:) = i
      a(1, i) = u(2)
      u(2) = i
    end do
    ! unsafe
    do i = 1, n
      c(::3) = i
      a(1, i) = c(2)
      c(2) = i
    end do
    ! unsafe
    do i = 1, n
      c(1:m) = i
      a(1, i) = c(4)
      c(4) = i
    end do
    ! unsafe
    do i = 1, n
      c(1:4:2) = i
      a(1, i) = c(2)
      c(2) = i
    end do
    ! unsafe
    do i = 1, n
      s(:, 1) = i
      a(1, i) = s(1, 2)
      s(1, 2) = i
    end do
    ! unsafe
    do i = 1, n
      p%x = i
      a(1, i) = p%x(1) + p%y(1)
      p%y = i
    end do
    ! unsafe
    do i = 1, n
      do m = 1, mod(i, 3)
        t = i
      end do
      a(1, i) = t(1)
    end do
    ! unsafe
    do i = 1, n
      last = i
    end do
    t0 = last(5)
  end subroutine

  subroutine unsafe_called(n, a)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(5, n)
    real(8) :: t(5), t6(6), s(3, 3)
    integer :: i
    t = 0
    t6 = 0
    s = 0
    ! unsafe
    do i = 1, n
      call four(i, t)
      a(1, i) = t(5)
      t(5) = i
    end do
    ! unsafe
    do i = 1, n
      call five(i, t6)
      a(1, i) = t6(6)
      t6(6) = i
    end do
    ! unsafe
    do i = 1, n
      call five(i, t6(2))
      a(1, i) = t6(1)
      t6(1) = i
    end do
    ! unsafe
    do i = 1, n
      call diagonal(i, s)
      a(1, i) = s(1, 2)
      s(1, 2) = i
    end do
    ! unsafe
    do i = 1, n
      call maybe(i, t)
      a(1, i) = t(1)
    end do
    ! unsafe
    do i = 1, n
      call early(i, t)
      a(1, i) = t(5)
    end do
    ! unsafe
    do i = 1, n
      call cycles(i, t)
      a(1, i) = t(5)
    end do
    ! unsafe
    do i = 1, n
      call leaves(i, t)
      a(1, i) = t(5)
    end do
    ! unsafe
    do i = 1, n
      call some(i, t)
      a(1, i) = t(5)
    end do
    ! unsafe
    do i = 1, n
      call steps(i, t)
      a(1, i) = t(2)
      t(2) = i
    end do
    ! unsafe
    do i = 1, n
      call reads_first(i, t)
      a(1, i) = t(5)
    end do
    ! unsafe
    do i = 1, n
      if (a(2, i) > 0) call five(i, t)
      a(1, i) = t(5)
    end do
    ! unsafe
    do i = 1, n
      call shaped(t(1:4))
      a(1, i) = t(5)
      t(5) = i
    end do
    ! unsafe
    do i = 1, n
      call shaped(s(:, 1))
      a(1, i) = s(1, 2)
      s(1, 2) = i
    end do
  end subroutine

  subroutine unsafe_columns(n, w, v, d, last)
    integer, intent(in) :: n
    real(8), intent(inout) :: w(4, n), v(5, n), d(1, n), last
    real(8) :: t(5)
    integer :: i
    ! unsafe
    do i = 1, n - 1
      call five(i, w(1, i))
    end do
    ! unsafe
    do i = 1, n - 1
      call five(i, v(2, i))
    end do
    ! unsafe
    do i = 1, n - 1
      call sized(6, v(1, i))
    end do
    ! unsafe
    do i = 1, n - 4
      call old_style(4, d(1, i))
    end do
    ! unsafe
    do i = 1, n
      call five(i, v(1, n - i + 1))
      v(2, i) = v(1, i)
    end do
    ! unsafe
    do i = 1, n
      call five(i, t)
      v(1, i) = t(1)
    end do
    call four(n, t)
    last = t(5)
  end subroutine

  ! No clause copies an array of unknown extent.
  subroutine unsafe_unsized(n, k, x, a)
    integer, intent(in) :: n, k
    real(8), intent(inout) :: x(*), a(n)
    integer :: i
    ! unsafe
    do i = 1, n
      x(k) = x(k) + a(i)
    end do
  end subroutine
  subroutine safe_sized(n, k, x, a)
    integer, intent(in) :: n, k
    real(8), intent(inout) :: x(9), a(n)
    integer :: i
    ! safe
    do i = 1, n
      x(k) = x(k) + a(i)
    end do
  end subroutine
end module
