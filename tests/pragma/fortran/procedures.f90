! Calls of procedures with bodies: intents, elements, sections, module variables, saved locals.
module counters
  implicit none
  integer :: calls = 0, limit = 5
  real(8) :: table(1000), log_of(1000), scale = 2
end module
module procedures
  use counters
  implicit none
  type point
    real(8) :: x(3), mass
    integer :: id
  end type
  interface combine
    module procedure combine_real, combine_int
  end interface
contains
  subroutine set(x, v)
    real(8), intent(out) :: x
    real(8), intent(in) :: v
    x = 2*v
  end subroutine
  subroutine bump(x)
    real(8), intent(inout) :: x
    x = x + 1
  end subroutine
  subroutine fill(n, x, v)
    integer, intent(in) :: n
    real(8), intent(out) :: x(n)
    real(8), intent(in) :: v
    integer :: k
    do k = 1, n
      x(k) = v
    end do
  end subroutine
  subroutine split(v, lo, hi)
    real(8), intent(in) :: v
    real(8), intent(out) :: lo, hi
    lo = min(v, 0d0)
    hi = max(v, 0d0)
  end subroutine
  subroutine maybe(v, x)
    real(8), intent(in) :: v
    real(8), intent(inout) :: x
    if (v > 0) x = v
  end subroutine
  subroutine count_up(x)
    real(8), intent(inout) :: x
    calls = calls + 1
    x = calls
  end subroutine
  subroutine note(i, v)
    integer, intent(in) :: i
    real(8), intent(in) :: v
    log_of(i) = v
  end subroutine
  subroutine note_next(i, v)
    integer, intent(in) :: i
    real(8), intent(in) :: v
    log_of(i + 1) = log_of(i) + v
  end subroutine
  subroutine note_first(v)
    real(8), intent(in) :: v
    log_of(1) = v
  end subroutine
  subroutine note_moved(i, v)
    integer, intent(in) :: i
    real(8), intent(in) :: v
    integer :: k
    k = mod(i, 10) + 1
    log_of(k) = v
  end subroutine
  subroutine once(x)
    real(8), intent(inout) :: x
    logical, save :: first = .true.
    if (first) x = 0
    first = .false.
  end subroutine
  subroutine implied_save(x)
    real(8), intent(out) :: x
    integer :: n = 0
    n = n + 1
    x = n
  end subroutine
  subroutine saved_table(i, x)
    integer, intent(in) :: i
    real(8), intent(out) :: x
    real(8), save :: memo(1000)
    memo(i) = i
    x = memo(1)
  end subroutine
  subroutine says(x)
    real(8), intent(in) :: x
    print *, x
  end subroutine
  subroutine ends(x)
    real(8), intent(in) :: x
    if (x < 0) stop
  end subroutine
  recursive subroutine deep(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x
    if (n > 0) call deep(n - 1, x)
    x = x + 1
  end subroutine
  subroutine move(p)
    type(point), intent(inout) :: p
    p%x(1) = p%x(1) + p%mass
  end subroutine
  subroutine chain(a, b)
    real(8), intent(inout) :: a
    real(8), intent(in) :: b
    call bump(a)
    a = a + b
  end subroutine
  subroutine tail(n, x)
    integer, intent(in) :: n
    real(8), intent(inout) :: x(*)
    integer :: k
    do k = 1, n
      x(k) = x(k) + 1
    end do
  end subroutine
  subroutine optional_out(v, x, y)
    real(8), intent(in) :: v
    real(8), intent(out) :: x
    real(8), intent(out), optional :: y
    x = v
    if (present(y)) y = v
  end subroutine
  subroutine no_intent(a, b, c)
    real(8) :: a, b, c
    c = a + b
  end subroutine
  subroutine combine_real(x, y)
    real(8), intent(inout) :: x
    real(8), intent(in) :: y
    x = x + y
  end subroutine
  subroutine combine_int(x, y)
    integer, intent(inout) :: x
    integer, intent(in) :: y
    x = x + y
  end subroutine
  subroutine early(x, v)
    real(8), intent(inout) :: x
    real(8), intent(in) :: v
    if (v < 0) return
    x = v
  end subroutine
  function twice(x) result(y)
    real(8), intent(in) :: x
    real(8) :: y
    y = 2*x
  end function
  function total(x) result(y)
    real(8), intent(in) :: x(:)
    real(8) :: y
    integer :: k
    y = 0
    do k = 1, size(x)
      y = y + x(k)
    end do
  end function
  function scaled(x) result(y)
    real(8), intent(in) :: x
    real(8) :: y
    y = scale*x
  end function
  function ticket() result(n)
    integer :: n
    calls = calls + 1
    n = calls
  end function
  function looked_up(i) result(y)
    integer, intent(in) :: i
    real(8) :: y
    y = table(i)
  end function
  function sneaky(x) result(y)
    real(8), intent(inout) :: x
    real(8) :: y
    x = x + 1
    y = x
  end function
  elemental function square(x) result(y)
    real(8), intent(in) :: x
    real(8) :: y
    y = x*x
  end function
  elemental subroutine halve(x)
    real(8), intent(inout) :: x
    x = x/2
  end subroutine
  pure subroutine pure_set(x, v)
    real(8), intent(out) :: x
    real(8), intent(in) :: v
    x = v*v
  end subroutine

  subroutine safe_calls(n, a, b, c, p)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n), b(n), c(8, n)
    type(point), intent(inout) :: p(n)
    real(8) :: lo, hi, t
    integer :: i, j, k
    ! safe
    do i = 1, n
      call set(a(i), b(i))
    end do
    ! safe
    do i = 1, n
      call bump(a(i))
    end do
    ! safe
    do i = 1, n
      call fill(8, c(:, i), b(i))
    end do
    ! safe
    do i = 1, n
      call split(b(i), lo, hi)
      a(i) = hi - lo
    end do
    ! safe
    do i = 1, n
      t = 0
      call maybe(b(i), t)
      a(i) = t
    end do
    ! safe
    do i = 1, n
      call note(i, b(i))
    end do
    ! safe
    do i = 1, n
      call move(p(i))
    end do
    ! safe
    do i = 1, n
      call chain(a(i), b(i))
    end do
    ! safe
    do i = 1, n
      call optional_out(b(i), a(i))
    end do
    ! safe
    do i = 1, n
      call optional_out(y=a(i), v=b(i), x=t)
    end do
    ! safe
    do i = 1, n
      call no_intent(a(i), b(i), t)
      a(i) = t
    end do
    ! safe
    do i = 1, n
      call combine(a(i), b(i))
    end do
    ! safe
    do i = 1, n
      call early(a(i), b(i))
    end do
    ! safe
    do i = 1, n
      a(i) = twice(b(i)) + scaled(b(i))
    end do
    ! safe
    do i = 1, n
      a(i) = total(c(:, i))
    end do
    ! safe
    do i = 1, n
      a(i) = looked_up(i)
    end do
    ! safe
    do i = 1, n
      a(i) = square(b(i))
    end do
    ! safe
    do i = 1, n
      call halve(c(:, i))
    end do
    ! safe
    do i = 1, n
      call pure_set(a(i), b(i))
    end do
    ! safe
    do j = 1, n
      do i = 1, 8
        call set(c(i, j), a(j))
      end do
    end do
    ! safe
    do i = 1, n
      call set(t, b(i))
      do k = 1, 8
        c(k, i) = t*k
      end do
    end do
    t = 0
    ! safe
    do i = 1, n
      call bump(b(i))
      t = t + b(i)
    end do
    print *, t
  end subroutine

  subroutine unsafe_calls(n, a, b, c, p)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n), b(n), c(8, n)
    type(point), intent(inout) :: p(n)
    real(8) :: lo, hi, t
    integer :: i
    ! unsafe
    do i = 2, n
      call set(a(i), a(i - 1))
    end do
    ! unsafe
    do i = 1, n
      call bump(a(1))
    end do
    ! unsafe
    do i = 2, n
      call fill(8, c(:, i), c(1, i - 1))
    end do
    lo = 0
    ! unsafe
    do i = 1, n
      a(i) = lo
      call split(b(i), lo, hi)
    end do
    t = 0
    ! unsafe
    do i = 1, n
      call maybe(b(i), t)
      a(i) = t
    end do
    ! unsafe
    do i = 1, n
      call count_up(a(i))
    end do
    ! unsafe
    do i = 1, n - 1
      call note_next(i, b(i))
    end do
    ! unsafe
    do i = 1, n
      call note_first(b(i))
    end do
    ! unsafe
    do i = 1, n
      call note_moved(i, b(i))
    end do
    ! unsafe
    do i = 1, n
      call note(i/2 + 1, b(i))
    end do
    ! unsafe
    do i = 2, n
      call note(i, b(i))
      a(i) = log_of(i - 1)
    end do
    ! unsafe
    do i = 1, n
      call once(a(i))
    end do
    ! unsafe
    do i = 1, n
      call implied_save(a(i))
    end do
    ! unsafe
    do i = 1, n
      call saved_table(i, a(i))
    end do
    ! unsafe
    do i = 1, n
      call says(a(i))
    end do
    ! unsafe
    do i = 1, n
      call ends(a(i))
    end do
    ! unsafe
    do i = 1, n
      call deep(3, a(1))
    end do
    ! unsafe
    do i = 1, n
      call move(p(1))
    end do
    ! unsafe
    do i = 2, n
      call chain(a(i), a(i - 1))
    end do
    ! unsafe
    do i = 1, n - 4
      call tail(4, a(i))
    end do
    ! unsafe
    do i = 1, n
      call optional_out(b(i), t, a(1))
    end do
    ! unsafe
    do i = 2, n
      call no_intent(a(i - 1), b(i), a(i))
    end do
    ! unsafe
    do i = 2, n
      call combine(a(i), a(i - 1))
    end do
    ! unsafe
    do i = 1, n
      call early(t, b(i))
      a(i) = t
    end do
    ! unsafe
    do i = 2, n
      a(i) = twice(a(i - 1))
    end do
    ! unsafe
    do i = 2, n
      a(i) = total(a(:i - 1))
    end do
    ! unsafe
    do i = 1, n
      a(ticket()) = b(i)
    end do
    ! unsafe
    do i = 2, n
      table(i) = looked_up(i - 1)
    end do
    ! unsafe
    do i = 1, n
      scale = b(i)
      a(i) = scaled(b(i))
    end do
    ! unsafe
    do i = 1, n
      a(i) = sneaky(t)
    end do
    ! unsafe
    do i = 2, n
      a(i) = square(a(i - 1))
    end do
    ! unsafe
    do i = 1, n - 1
      call halve(a(i:i + 1))
    end do
    ! unsafe
    do i = 2, n
      call pure_set(a(i), a(i - 1))
    end do
    ! unsafe
    do limit = 1, n
      call note_limit(a(limit))
    end do
  contains
    subroutine note_limit(x)
      real(8), intent(inout) :: x
      log_of(3) = x + hi
      hi = x
    end subroutine
  end subroutine
end module
