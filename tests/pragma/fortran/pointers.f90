! Pointers, targets and components: what may name one object, and what cannot.
module pointers
  implicit none
  type node
    real(8), pointer :: data(:)
    real(8), allocatable :: own(:)
    real(8) :: value
    type(node), pointer :: next => null()
  end type
  type grid
    real(8), allocatable :: u(:, :), v(:, :)
    integer :: nx, ny
  end type
  real(8), target :: pool(1000)
  real(8), pointer :: left(:), right(:)
  real(8), allocatable :: heap(:), heap2(:)
contains
  subroutine safe_pointers(n, a, b, g, nodes, t, p)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n), b(n)
    type(grid), intent(inout) :: g
    type(node), intent(inout) :: nodes(n)
    real(8), target, intent(inout) :: t(n)
    real(8), pointer, intent(in) :: p(:)
    integer :: i, j
    ! safe
    do i = 1, n
      p(i) = p(i) + 1
    end do
    ! safe
    do i = 1, n
      t(i) = a(i)
    end do
    ! safe
    do i = 1, n
      a(i) = p(i)
    end do
    ! safe
    do i = 1, n
      a(i) = p(i) + t(i) + pool(i)
    end do
    ! safe
    do i = 1, n
      heap(i) = heap2(i)
    end do
    ! safe
    do i = 1, n
      heap(i) = p(i)
    end do
    ! safe
    do i = 1, n
      p(i) = heap(i) + b(i)
    end do
    ! safe
    do j = 1, g%ny
      do i = 1, g%nx
        g%u(i, j) = g%v(i, j)
      end do
    end do
    ! safe
    do i = 1, n
      nodes(i)%value = nodes(i)%value + a(i)
    end do
    ! safe
    do i = 1, n
      nodes(i)%own(1) = a(i)
      nodes(i)%own(2) = b(i)
    end do
    ! safe
    do i = 1, n
      a(i) = nodes(i)%data(1)
    end do
    ! safe
    do i = 1, n
      b(i) = nodes(1)%own(i)
    end do
    ! safe
    do i = 1, n
      left(i) = a(i)
    end do
    ! safe
    do i = 2, n
      pool(i) = heap(i - 1)
    end do
    ! safe
    do j = 2, g%ny
      g%u(1, j) = g%v(1, j - 1)
    end do
    ! safe
    do i = 1, n
      if (associated(nodes(i)%next)) a(i) = 1
    end do
  end subroutine

  subroutine unsafe_pointers(n, a, b, g, nodes, t, s, p, q, head)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n), b(n)
    type(grid), intent(inout) :: g
    type(node), target, intent(inout) :: nodes(n)
    real(8), target, intent(inout) :: t(n), s(n)
    real(8), pointer, intent(in) :: p(:), q(:)
    type(node), pointer :: head, walk
    real(8), pointer :: r(:)
    integer :: i, j
    ! unsafe
    do i = 2, n
      p(i) = q(i - 1) + 1
    end do
    ! unsafe
    do i = 2, n
      p(i) = p(i - 1)
    end do
    ! unsafe
    do i = 1, n - 1
      p(i) = t(i + 1)
    end do
    ! unsafe
    do i = 2, n
      t(i) = s(i - 1)
    end do
    ! unsafe
    do i = 2, n
      left(i) = right(i - 1)
    end do
    ! unsafe
    do i = 2, n
      left(i) = pool(i - 1)
    end do
    ! unsafe
    do i = 2, n
      pool(i) = p(i - 1)
    end do
    ! unsafe
    do i = 1, n
      nodes(i)%data(1) = a(i)
    end do
    ! unsafe
    do i = 1, n
      nodes(1)%data(i) = nodes(2)%data(n - i + 1)
    end do
    ! unsafe
    do i = 2, n
      nodes(i)%data(1) = p(i)
    end do
    ! unsafe
    do i = 1, n
      head%data(i) = p(n - i + 1)
    end do
    ! unsafe
    do j = 2, g%ny
      g%u(1, j) = g%u(1, j - 1)
    end do
    walk => head
    ! unsafe
    do i = 1, n
      walk%value = i
      walk => walk%next
    end do
    ! unsafe
    do i = 1, n
      nodes(i)%next%value = a(i)
    end do
    ! unsafe
    do i = 2, n
      nodes(i)%value = nodes(i - 1)%value
    end do
    ! unsafe
    do i = 1, n
      nodes(mod(i, 3) + 1)%value = a(i)
    end do
    r => t(2:)
    ! unsafe
    do i = 1, n - 1
      r(i) = t(i)
    end do
    ! unsafe
    do i = 1, n - 1
      t(i) = r(i)*2
    end do
    left => pool(1:500)
    right => pool(1:999:2)
    ! unsafe
    do i = 1, 400
      left(i) = right(i)
    end do
    ! unsafe
    do i = 1, n
      head%value = head%value + a(i)*head%value
    end do
    ! unsafe
    do i = 1, n
      r => t(i:)
      if (i < n) r(2) = a(i)
      b(i) = t(i)
    end do
    ! unsafe
    do i = 1, n
      head => nodes(1)
      head%value = a(i)
      b(i) = nodes(1)%value
    end do
    ! unsafe
    do i = 1, n
      allocate (walk)
      walk%next => head
      head => walk
    end do
    ! unsafe
    do i = 1, n
      nodes(i)%own(1) = nodes(n - i + 1)%own(1)
    end do
  end subroutine
end module
