! DO CONCURRENT, BLOCK and ASSOCIATE, internal procedures.
subroutine constructs(n, a, b, c)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n), b(n), c(n, n)
  integer :: i
  real(8) :: t
  ! safe
  do concurrent (i = 1:n)
    a(i) = b(i)
  end do
  t = 0
  ! unsafe
  do i = 2, n
    associate (here => a(i), before => a(i - 1))
      here = before
    end associate
  end do
  ! unsafe
  do i = 1, n
    t = t*0.5d0 + a(i)
    call keep()
  end do
  ! unsafe
  do i = 1, n
    block
      real(8) :: own
      own = a(i)
      a(n + 1 - i) = own
    end block
  end do
contains
  subroutine keep()
    b(1) = t
  end subroutine
end subroutine
