! Fortran 2003 to 2018: do concurrent, associate, block, type-bound procedures, nested components,
! allocatable scalars, complex parts, assumed shape with lower bounds, and loops that call them.
module modern
  implicit none
  integer, parameter :: wp = kind(1d0), ip = selected_int_kind(9)
  type state
    real(wp) :: u = 0, v = 0
    integer(ip) :: tag = 0
  end type
  type cloud
    type(state), allocatable :: part(:)
    real(wp), allocatable :: weight(:)
    integer :: n = 0
  contains
    procedure :: push
  end type
  type box
    type(cloud) :: inner(4)
    real(wp) :: edge(3)
  end type
  type(box) :: boxes(100)
contains
  subroutine push(self, k)
    class(cloud), intent(inout) :: self
    integer, intent(in) :: k
    self%n = self%n + k
  end subroutine
  subroutine safe_modern(n, a, b, c, z, cl, bx)
    integer(ip), intent(in) :: n
    real(wp), intent(inout) :: a(0:), b(-1:), c(:, :)
    complex(wp), intent(inout) :: z(:)
    type(cloud), intent(inout) :: cl
    type(box), intent(inout) :: bx
    integer(ip) :: i, j
    real(wp) :: t
    ! safe
    do concurrent (i = 1:n)
      a(i) = b(i)
    end do
    ! safe
    do concurrent (i = 1:n, j = 1:4)
      c(i, j) = i + j
    end do
    ! safe
    do i = 0, n - 1
      a(i) = b(i - 1)
    end do
    ! safe
    do i = 1, cl%n
      cl%part(i)%u = cl%part(i)%v*cl%weight(i)
    end do
    ! safe
    do i = 1, 4
      bx%inner(i)%n = i
    end do
    ! safe
    do i = 1, 100
      boxes(i)%edge(1) = boxes(i)%edge(2) + boxes(i)%edge(3)
    end do
    ! safe
    do i = 1, 100
      boxes(i)%inner(2)%n = boxes(i)%inner(1)%n
    end do
    ! safe
    do i = 1, n
      cl%part(i) = state(a(i), b(i), i)
    end do
    ! safe
    do i = 1, n
      z(i) = conjg(z(i))*cmplx(a(i), b(i), wp)
    end do
    ! safe
    do i = 1, n
      a(i) = abs(z(i)) + aimag(z(i))
    end do
    ! safe
    do i = 2, n
      cl%part(i)%u = cl%part(i - 1)%v
    end do
    ! safe
    do i = 2, n
      cl%part(i)%u = cl%weight(i - 1)
    end do
    ! safe
    do j = 1, size(c, 2)
      do i = 1, size(c, 1)
        c(i, j) = c(i, j) + a(i)*b(j)
      end do
    end do
    ! safe
    do j = 1, size(c, 2)
      t = norm2(c(:, j))
      if (t > 0) c(:, j) = c(:, j)/t
    end do
    ! safe
    do i = 1, n
      a(i) = real(i, wp)
      if (a(i) > 10) a(i) = 10
    end do
    ! safe
    do i = lbound(a, 1), ubound(a, 1)
      a(i) = 0
    end do
  end subroutine

  subroutine unsafe_modern(n, k, a, b, c, z, cl, bx)
    integer(ip), intent(in) :: n, k
    real(wp), intent(inout) :: a(0:), b(-1:), c(:, :)
    complex(wp), intent(inout) :: z(:)
    type(cloud), intent(inout) :: cl
    type(box), intent(inout) :: bx
    real(wp), allocatable :: grow(:)
    integer(ip) :: i, j
    allocate (grow(0))
    ! unsafe
    do i = 1, n
      a(i) = a(i - 1)
    end do
    ! unsafe
    do i = 0, n - 1
      b(i) = b(i - 1)
    end do
    ! unsafe
    do i = 2, cl%n
      cl%part(i)%u = cl%part(i - 1)%u
    end do
    ! unsafe
    do i = 2, n
      cl%part(i) = cl%part(i - 1)
    end do
    ! unsafe
    do i = 2, n
      cl%part(i)%v = cl%part(i - 1)%v + cl%weight(i)
    end do
    ! unsafe
    do i = 1, 4
      bx%inner(1)%n = bx%inner(1)%n*2 + i
    end do
    ! unsafe
    do i = 2, 100
      boxes(i)%edge = boxes(i - 1)%edge
    end do
    ! unsafe
    do i = 2, 100
      boxes(i) = boxes(i - 1)
    end do
    ! unsafe
    do i = 1, 3
      bx%inner(i)%part(1)%tag = bx%inner(i + 1)%part(1)%tag
    end do
    ! unsafe
    do i = 2, n
      z(i) = z(i)*z(i - 1)
    end do
    ! unsafe
    do i = 1, n
      call cl%push(int(i))
    end do
    ! unsafe
    do i = 1, n
      grow = [grow, a(i)]
    end do
    ! unsafe
    do i = 1, n
      associate (first => a(1))
        first = first*2 + b(i)
      end associate
    end do
    ! unsafe
    do i = 2, n
      associate (prev => a(i - 1))
        a(i) = prev
      end associate
    end do
    ! unsafe
    do i = 1, n
      block
        real(wp), save :: kept = 0
        a(i) = kept
        kept = b(i)
      end block
    end do
    ! unsafe
    do i = 1, n
      block
        integer :: m
        m = 1
        a(m) = b(i)
      end block
    end do
    ! unsafe
    do j = 2, size(c, 2)
      c(:, j) = c(:, j) + c(:, j - 1)
    end do
    ! unsafe
    do j = 1, size(c, 2) - 1
      c(:, j + 1) = norm2(c(:, j))
    end do
    ! unsafe
    do i = 1, n
      a(:i) = a(:i) + b(i)*a(0)
    end do
    ! unsafe
    do i = 1, n
      a(i:) = b(i)
    end do
    ! unsafe
    do i = 1, n
      cl%n = cl%n + i*cl%n
    end do
    ! unsafe
    do i = 1, n
      if (allocated(grow)) deallocate (grow)
      allocate (grow(i))
      grow(i) = a(i)
    end do
    ! unsafe
    do i = 1, n
      cl%weight(cl%part(i)%tag) = a(i)
    end do
    ! safe
    do i = 1, n
      c(i, k) = c(k, i)
    end do
    ! unsafe
    do i = 1, n
      c(i, k) = c(k, n - i + 1)
    end do
    ! unsafe
    do i = 0, n
      a(ieor(int(i), 1)) = a(i)
    end do
    ! unsafe
    do i = 0, n
      a(shiftr(i, 1)) = b(i)
    end do
    ! unsafe
    do i = 1, n
      a(i) = b(i)
      !$omp flush
      b(1) = a(i)
    end do
  end subroutine
end module
