! Array syntax, where, sections, nests, steps, and subscripts that are not affine.
module arrays
  implicit none
  integer, parameter :: wide = 64
  real(8) :: tab(wide, wide), vec(wide)
contains
  subroutine safe_arrays(n, m, k, a, b, c, d, mask)
    integer, intent(in) :: n, m, k
    real(8), intent(inout) :: a(n), b(n), c(n, m), d(n, m, 4)
    logical, intent(in) :: mask(n)
    real(8) :: w(4)
    integer :: i, j, l
    ! safe
    do j = 1, m
      c(:, j) = 0
    end do
    ! safe
    do j = 1, m
      c(:, j) = c(:, j)*2 + a(:)
    end do
    ! safe
    do j = 1, m
      c(1:n - 1, j) = c(2:n, j)
    end do
    ! safe
    do j = 1, m
      where (mask) c(:, j) = a
    end do
    ! safe
    do j = 1, m
      where (a > 0)
        c(:, j) = a
      elsewhere (b > 0)
        c(:, j) = b
      elsewhere
        c(:, j) = 0
      end where
    end do
    ! safe
    do j = 1, m
      d(:, j, 1) = d(:, j, 2)
    end do
    ! safe
    do i = 1, n
      a(i) = sum(c(i, :))
    end do
    ! safe
    do i = 1, n
      a(i) = maxval(c(i, :)) - minval(c(i, 1:k))
    end do
    ! safe
    do j = 1, m
      b(j) = dot_product(a, c(:, j))
    end do
    ! safe
    do i = 1, n
      if (any(c(i, :) > 1)) a(i) = 1
    end do
    ! safe
    do i = 1, n
      a(i) = count(c(i, :) > 0) + merge(1, 0, mask(i))
    end do
    ! safe
    do i = 1, n, 2
      a(i) = i
    end do
    ! safe
    do i = n, 1, -1
      a(i) = b(n - i + 1)
    end do
    ! safe
    do i = 1, n/2
      a(2*i) = a(2*i - 1)
    end do
    ! safe
    do i = 1, n/2
      a(i) = a(n/2 + i)
    end do
    ! safe
    do j = 1, m
      do i = j, n
        c(i, j) = a(i)
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
        c(i, j) = c(i, j - 1)
      end do
    end do
    ! safe
    do l = 1, 4
      do j = 1, m
        do i = 1, n
          d(i, j, l) = d(i, j, l) + c(i, j)
        end do
      end do
    end do
    ! safe
    do i = 1, n
      w(1) = a(i)
      w(2) = b(i)
      a(i) = w(1)*w(2)
    end do
    ! safe
    do i = 1, n
      do l = 1, 4
        w(l) = d(i, 1, l)
      end do
      a(i) = w(1) + w(2) + w(3) + w(4)
    end do
    ! safe
    do i = 2, n
      a(i) = a(1) + b(i)
    end do
    ! safe
    do i = k + 1, n
      a(i) = a(k)
    end do
    ! safe
    do i = 1, wide
      tab(i, i) = 1
    end do
    ! safe
    do i = 1, wide - 1
      tab(i, i + 1) = tab(i, wide)*0 + vec(i)
    end do
    ! safe
    do j = 1, m
      do i = 1, min(n, j)
        c(i, j) = i + j
      end do
    end do
    ! safe
    do i = 1, n
      a(i) = mod(i, 3)*b(mod(i, n) + 1)
    end do
    ! safe
    do i = 1, n
      b(i) = a(ceiling(i/2.0))
    end do
    ! safe
    do j = 1, m
      c(lbound(c, 1), j) = c(ubound(c, 1), j)
    end do
    ! safe
    do i = 1, n
      select case (k)
      case (1)
        a(i) = b(i)
      case (2:5)
        a(i) = -b(i)
      case default
        a(i) = 0
      end select
    end do
  end subroutine

  subroutine unsafe_arrays(n, m, k, a, b, c, d, mask)
    integer, intent(in) :: n, m, k
    real(8), intent(inout) :: a(n), b(n), c(n, m), d(n, m, 4)
    logical, intent(inout) :: mask(n)
    real(8) :: w(4)
    integer :: i, j, l
    ! unsafe
    do j = 2, m
      c(:, j) = c(:, j - 1)
    end do
    ! unsafe
    do j = 1, m
      a(:) = c(:, j)
    end do
    ! unsafe
    do j = 1, m
      a = a + c(:, j)*a
    end do
    ! unsafe
    do i = 2, n
      c(i, :) = c(i - 1, :)
    end do
    ! unsafe
    do i = 2, n
      where (mask) a = a(i - 1)
    end do
    ! unsafe
    do j = 1, m
      where (c(:, j) > 0)
        a = c(:, j)
      elsewhere
        b = c(:, j)
      end where
    end do
    ! unsafe
    do i = 2, n
      a(i) = sum(a(1:i - 1))
    end do
    ! unsafe
    do i = 2, n
      a(i) = maxval(a)
    end do
    ! unsafe
    do j = 2, m
      c(1, j) = dot_product(a, c(:, j - 1))
    end do
    ! unsafe
    do i = 1, n - 1
      mask(i) = any(mask(i + 1:))
    end do
    ! unsafe
    do i = 3, n, 2
      a(i) = a(i - 2)
    end do
    ! unsafe
    do i = n - 1, 1, -1
      a(i) = a(i + 1)
    end do
    ! unsafe
    do i = 1, n/2
      a(2*i) = a(i)
    end do
    ! unsafe
    do i = 1, n
      a(n - i + 1) = a(i)
    end do
    ! unsafe
    do i = 1, n - k
      a(i + k) = a(i)
    end do
    ! unsafe
    do i = 1, n
      a(mod(i, k) + 1) = b(i)
    end do
    ! unsafe
    do i = 1, n
      a(i/2 + 1) = b(i)
    end do
    ! unsafe
    do i = 1, n
      a(i*i - i + 1) = a(i + 1)
    end do
    ! unsafe
    do j = 2, m
      do i = 1, n
        c(i, j) = c(i, j - 1)
      end do
    end do
    ! unsafe
    do j = 2, m
      do i = 2, n
        c(i, j) = c(i - 1, j - 1)
      end do
    end do
    ! unsafe
    do j = 1, m - 1
      do i = 1, n
        c(i, j) = c(n - i + 1, j + 1)
      end do
    end do
    ! unsafe
    do j = 1, m
      do i = 1, n
        c(j, i) = c(i, j)
      end do
    end do
    ! unsafe
    do j = 1, m
      do i = 1, n
        a(i) = a(i) + c(i, j)*a(i)
      end do
    end do
    ! unsafe
    do l = 2, 4
      d(:, :, l) = d(:, :, l - 1)
    end do
    w = 0
    ! unsafe
    do i = 1, n
      a(i) = w(1)
      w(1) = b(i)
    end do
    ! unsafe
    do i = 1, n
      if (mask(i)) w(2) = b(i)
      a(i) = w(2)
    end do
    ! unsafe
    do i = 1, n
      a(i) = a(k) + b(i)
    end do
    ! unsafe
    do i = 1, wide - 1
      tab(i, 2) = tab(i + 1, 2)
    end do
    ! unsafe
    do i = 1, n
      a(max(i, k)) = b(i)
    end do
    ! unsafe
    do i = 1, n
      a(abs(i - k) + 1) = b(i)
    end do
    ! unsafe
    do i = 2, n
      select case (k)
      case (1)
        a(i) = a(i - 1)
      case default
        a(i) = 0
      end select
    end do
    forall (i=1:1) a(i) = 0
    ! unsafe
    do i = 2, n
      a(i:i) = a(i - 1:i - 1)
    end do
  end subroutine
end module
