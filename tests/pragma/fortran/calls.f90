! Procedures, intrinsic and pure ones.
module procedures
  implicit none
  real(8) :: scale = 2, state
contains
  pure real(8) function twice(x)
    real(8), intent(in) :: x
    twice = 2*x
  end function
  pure real(8) function row_sum(x)
    real(8), intent(in) :: x(:)
    row_sum = sum(x)
  end function
  elemental real(8) function cube(x)
    real(8), intent(in) :: x
    cube = x**3
  end function
  subroutine step(x)
    real(8), intent(inout) :: x
    state = state + x
    x = state
  end subroutine
  subroutine safe_calls(n, m, a, c)
    integer, intent(in) :: n, m
    real(8), intent(inout) :: a(n), c(m, n)
    integer :: i
    ! safe
    do i = 1, n
      a(i) = twice(a(i))
    end do
    ! safe
    do i = 1, n
      a(i) = row_sum(c(:, i))
    end do
    ! safe
    do i = 1, n
      a(i) = cube(a(i)) + sin(a(i))
    end do
    ! safe
    do i = 1, n
      a(i) = sum(c(:, i))
    end do
    ! safe
    do i = 1, n
      c(:, i) = c(:, i)*2
    end do
    ! safe
    do i = 1, n
      where (c(:, i) > 0) c(:, i) = sqrt(c(:, i))
    end do
    ! safe
    do i = 1, n
      c(:, i) = a(i)
    end do
  end subroutine
  subroutine unsafe_calls(n, m, a, c)
    integer, intent(in) :: n, m
    real(8), intent(inout) :: a(n), c(m, n)
    real(8) :: r
    integer :: i
    ! unsafe
    do i = 1, n
      call step(a(i))
    end do
    ! unsafe
    do i = 1, n
      call random_number(a(i))
    end do
    ! unsafe
    do i = 1, n
      a(i) = row_sum(a)
    end do
    ! unsafe
    do i = 1, n
      a(i) = sum(a)
    end do
    ! unsafe
    do i = 2, n
      c(:, i) = c(:, i - 1)
    end do
    ! unsafe
    do i = 1, m
      c(i, :) = c(m + 1 - i, :)
    end do
    ! unsafe
    do i = 1, n
      c(:, 1) = c(:, 1)*0.5d0 + c(:, i)
    end do
    ! unsafe
    do i = 2, n
      where (c(:, i) > 0) c(:, i) = c(:, i - 1)
    end do
    ! unsafe
    do i = 1, n
      call random_number(r)
      a(i) = r
    end do
  end subroutine
end module
