program drive
  implicit none
  integer, parameter :: n = 400000
  real(8) :: a(n), b(n), s, top, total
  logical :: found
  integer :: i
  external total
  do i = 1, n
    a(i) = mod(i*7, 1000)
    b(i) = mod(i*13, 500) - 250
  end do
  s = 0
  top = 0
  found = .false.
  call safe_scalars(n, a, b, s, top, found)
  print '(3es16.8, l2)', s, top, sum(a), found
  print '(es16.8)', total(n, a)
  call drive_affine(n)
  call drive_fill(n)
end program
subroutine drive_affine(n)
  integer, intent(in) :: n
  real(8), allocatable :: a(:), b(:), c(:,:), x(:), y(:)
  integer :: i
  allocate (a(n), b(n), c(n, 8), x(2*n), y(n))
  do i = 1, n
    a(i) = i; b(i) = n - i; y(i) = mod(i, 9)
  end do
  c = 1
  x = [(mod(i, 11), i = 1, 2*n)]
  call safe_affine(n, 8, a, b, c, x, y)
  print '(3es20.12)', sum(a), sum(c), sum(x)
end subroutine
subroutine drive_fill(n)
  use fill, only: safe_fill
  integer, intent(in) :: n
  real(8), allocatable :: a(:,:), w(:,:), v(:,:,:)
  allocate (a(5, n), w(5, n), v(8, 2, n))
  a = 1
  w = 2
  v = 3
  call safe_fill(n, a, w, v)
  print '(3es20.12)', sum(a), sum(w), sum(v)
end subroutine
