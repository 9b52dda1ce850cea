! watched.f90: loops of Fortran with and without conflicts between iterations. A comment above each
! loop gives the witness's evidence, or CLEAN, and the verdict where it matters.
module state
    implicit none
    integer, parameter :: n = 40
    real(8) :: total
    real(8) :: grid(0:7, n)
    type particle
        real(8) :: x(3)
        real(8), allocatable :: seen(:)
    end type
    type(particle) :: swarm(n)
contains
    subroutine flow(a)
        real(8), intent(inout) :: a(:)
        integer :: i
        ! WITNESS iteration i = 2 writes a(2) at line @1, iteration i = 3 reads it at line @1
        do i = 2, size(a)
            a(i) = 0.5d0 * a(i - 1)
        end do
    end subroutine

    subroutine lower_bounds(m)
        integer, intent(in) :: m
        integer :: i, j
        ! WITNESS iteration i = 2 writes grid(0,2) at line @2, iteration i = 3 reads it at line @2
        outer: do i = 2, m
            grid(0, i) = grid(0, &
                i - 1) + 1
        end do outer
        ! CLEAN
        do i = 1, m
            ! CLEAN
            do j = 0, 7
                grid(j, i) = i + j
            end do
        end do
    end subroutine

    subroutine scalars(a, b)
        real(8), intent(inout) :: a(n), b(*)
        real(8) :: t, last, s
        integer :: i, j
        last = 0
        s = 0
        ! CLEAN private(t)
        do i = 1, n
            t = a(i) * 2
            b(i) = t
        end do
        ! WITNESS iteration i = 1 writes last at line @2, iteration i = 2 reads it at line @1
        do i = 1, n
            b(i) = last
            last = a(i)
        end do
        ! CLEAN reduction(+:s)
        do i = 1, n
            s = s + a(i)
        end do
        ! CLEAN reduction(+:total)
        do i = 1, n
            total = total + a(i)
        end do
        ! AS !$omp parallel do
        ! WITNESS iteration i = 1 writes b(41) at line @1, iteration i = 2 reads it at line @1
        ! UNSAFE
        do i = 1, n
            b(i + n) = b(i + n - 1) + s
        end do
        ! AS !$omp parallel do private(j) collapse(2)
        ! CLEAN
        do i = 1, n
            ! CLEAN
            do j = 0, 7
                grid(j, i) = i * j
            end do
        end do
    end subroutine

    pure subroutine pure_loop(a, map)
        real(8), intent(inout) :: a(-3:)
        integer, intent(in) :: map(:)
        integer :: i
        ! AS !$omp parallel do
        ! WITNESS iteration i = 1 writes a(5) at line @1, iteration i = 2 writes it at line @1
        ! UNSAFE
        do i = 1, size(map)
            a(map(i)) = i
        end do
    end subroutine

    subroutine absent(a, more)
        real(8), intent(inout) :: a(:)
        real(8), intent(in), optional :: more(:)
        integer :: i
        ! CLEAN
        do i = 1, size(a)
            if (present(more)) a(i) = a(i) + more(i)
            a(i) = 2 * a(i)
        end do
    end subroutine

    subroutine pointers(m)
        integer, intent(in) :: m
        real(8), target :: room(m)
        real(8), pointer :: p(:), q(:)
        integer :: i
        room = 1
        p => room(1:m - 1)
        q => room(2:m)
        ! AS !$omp parallel do
        ! WITNESS iteration i = 1 writes q(i) at line @1, iteration i = 2 reads it at line @1
        ! UNSAFE
        do i = 1, m - 1
            q(i) = p(i) + 1
        end do
        total = total + room(m)
    end subroutine

    subroutine fields()
        real(8) :: scratch(3)
        integer :: i
        ! CLEAN
        do i = 1, n
            swarm(i)%x = i
        end do
        ! AS !$omp parallel do
        ! WITNESS iteration i = 2 writes scratch(1) at line @1, iteration i = 3 writes it at line @1
        ! UNSAFE
        do i = 2, n
            scratch = swarm(i - 1)%x
            swarm(i)%x = scratch + 1
        end do
        ! AS !$omp parallel do private(scratch)
        ! CLEAN private(scratch)
        do i = 2, n
            scratch = i
            swarm(i)%x = scratch + 1
        end do
    end subroutine

    subroutine region(a)
        real(8), intent(inout) :: a(n)
        real(8) :: t(3)
        integer :: i
        !$omp parallel private(t)
        ! CLEAN private(t)
        !$omp do
        do i = 1, n
            t = a(i)
            a(i) = sum(t)
        end do
        !$omp end do
        !$omp end parallel
        ! CLEAN
        do concurrent (i = 1:n)
            a(i) = 2 * a(i)
        end do
        ! WITNESS not recorded: it had no iteration in this run
        do i = 1, -int(a(1))
            a(i) = 0
        end do
    end subroutine
end module

program watched
    use state
    implicit none
    real(8) :: a(n), b(2 * n)
    integer :: i, k, map(3)
    integer(8) :: long
    map = [5, 5, 6]
    a = 1
    b = 1
    ! CLEAN
    do i = 1, n
        ! CLEAN
        do k = 1, 2
            b(n * (k - 1) + i) = k
        end do
    end do
    ! WITNESS iteration long = 7 reads b(6) at line @1, iteration long = 6 writes it at line @1
    do long = 7, 2, -1
        b(long) = b(long - 1)
    end do
    call flow(a)
    call lower_bounds(n)
    call scalars(a, b)
    call pure_loop(b, map)
    call absent(a)
    call pointers(n)
    call fields()
    call region(a)
    print *, total
end program
