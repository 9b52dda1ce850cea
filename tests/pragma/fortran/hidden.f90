! A pure function that reads what the loop writes.
module hidden
  implicit none
  real(8) :: table(1000)
contains
  pure real(8) function at(k)
    integer, intent(in) :: k
    at = table(k)
  end function
  subroutine unsafe_hidden(n)
    integer, intent(in) :: n
    integer :: i
    ! unsafe
    do i = 2, n
      table(i) = at(i - 1)
    end do
  end subroutine
end module
