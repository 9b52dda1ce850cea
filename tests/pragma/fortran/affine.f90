! Subscripts that are linear in the loop variable.
subroutine safe_affine(n, m, a, b, c, x, y)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(inout) :: a(n), b(n), c(n, m), x(2*n), y(n)
  integer :: i, j
  ! safe
  do i = 1, n
    a(i) = b(i) + 1
  end do
  ! safe
  do i = 1, n
    a(i) = a(i)*2 + y(i)
  end do
  ! safe
  do i = 1, n
    x(2*i) = x(2*i - 1)
  end do
  ! safe
  do i = n, 1, -1
    a(i) = b(n + 1 - i)
  end do
  ! safe
  do i = 1, n, 3
    a(i) = sqrt(abs(b(i)))
  end do
  ! safe
  do j = 1, m
    ! safe
    do i = 1, n
      c(i, j) = a(i)*j
    end do
  end do
  ! safe
  do j = 1, m
    do i = 2, n
      c(i, j) = c(i - 1, j) + 1
    end do
  end do
  ! safe
  do i = 1, n
    do j = 2, m
      c(i, j) = c(i, j - 1) + 1
    end do
  end do
  ! safe
  do j = 2, m, 2
    do i = 1, n
      c(i, j) = c(i, j - 1)
    end do
  end do
  ! safe
  do i = 1, n
    x(i) = x(i + n)
  end do
end subroutine

subroutine unsafe_affine(n, m, k, a, b, c, x)
  implicit none
  integer, intent(in) :: n, m, k
  real(8), intent(inout) :: a(n), b(n), c(n, m), x(2*n)
  integer :: i, j
  ! unsafe
  do i = 2, n
    a(i) = a(i - 1) + b(i)
  end do
  ! unsafe
  do i = 1, n - 1
    a(i) = a(i + 1)
  end do
  ! unsafe
  do i = n - 1, 1, -1
    a(i) = a(i + 1)*0.5d0
  end do
  ! unsafe
  do i = 1, n
    a(1) = a(1)*0.5d0 + b(i)
  end do
  ! unsafe
  do i = 1, n
    x(i) = x(2*i)
  end do
  ! unsafe
  do i = 1, n
    a(i) = a(n + 1 - i)
  end do
  ! unsafe
  do j = 2, m
    do i = 1, n
      c(i, j) = c(i, j - 1)
    end do
  end do
  ! unsafe
  do j = 1, m
    do i = 1, n
      c(i, 1) = c(i, j)*0.5d0
    end do
  end do
  ! unsafe
  do i = 1, n - k
    a(i) = a(i + k)
  end do
  ! unsafe
  do i = 1, n
    a(mod(i, 7) + 1) = b(i)
  end do
  ! unsafe
  do j = 2, m
    ! unsafe
    do i = 2, n
      c(i, j) = c(i - 1, j) + c(i, j - 1)
    end do
  end do
end subroutine
