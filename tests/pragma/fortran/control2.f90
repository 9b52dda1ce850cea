! Early exit, input and output, reductions, recurrences of scalars, scatter by index arrays.
module control_more
  implicit none
  integer :: state = 1
  real(8) :: last_seen
contains
  integer function draw()
    state = mod(state*16807, 2147483)
    draw = state
  end function
  subroutine safe_more(n, m, a, b, c, idx, hit, out)
    integer, intent(in) :: n, m, idx(n)
    real(8), intent(inout) :: a(n), b(n), c(n, m)
    logical, intent(inout) :: hit(n)
    real(8), intent(out) :: out(6)
    real(8) :: s, p, lo, hi, t, u, z
    complex(8) :: zs
    integer :: i, j, cnt, bits
    logical :: every, some
    s = 0; p = 1; lo = huge(lo); hi = -huge(hi); cnt = 0; bits = 0
    every = .true.; some = .false.; zs = 0; z = 0
    ! safe
    do i = 1, n
      s = s + a(i)
    end do
    ! safe
    do i = 1, n
      s = s - a(i)*b(i)
    end do
    ! safe
    do i = 1, n
      p = p*a(i)
    end do
    ! safe
    do i = 1, n
      lo = min(lo, a(i))
      hi = max(a(i), hi)
    end do
    ! safe
    do i = 1, n
      if (a(i) > hi) hi = a(i)
    end do
    ! safe
    do i = 1, n
      if (hit(i)) cnt = cnt + 1
    end do
    ! safe
    do i = 1, n
      every = every .and. hit(i)
      some = some .or. hit(i)
    end do
    ! safe
    do i = 1, n
      bits = ior(bits, idx(i))
    end do
    ! safe
    do i = 1, n
      zs = zs + cmplx(a(i), b(i), 8)
    end do
    ! safe
    do j = 1, m
      do i = 1, n
        s = s + c(i, j)
      end do
    end do
    ! safe
    do j = 1, m
      t = 0
      do i = 1, n
        t = t + c(i, j)
      end do
      c(1, j) = t
    end do
    ! safe
    do i = 1, n
      t = a(i)
      u = t*t
      b(i) = t + u
    end do
    ! safe
    do i = 1, n
      if (hit(i)) cycle
      a(i) = b(i)
    end do
    ! safe
    do j = 1, m
      do i = 1, n
        if (c(i, j) < 0) exit
        c(i, j) = 0
      end do
    end do
    ! safe
    outer: do j = 1, m
      do i = 1, n
        if (c(i, j) < 0) cycle outer
        c(i, j) = 1
      end do
    end do outer
    ! safe
    do i = 1, n
      a(i) = b(idx(i))
    end do
    ! safe
    do i = 1, n
      a(i) = a(i) + b(idx(i))*c(idx(i), 1)
    end do
    ! safe
    do i = 1, n
      hit(i) = a(i) > b(i)
    end do
    ! safe
    do i = 1, n
      a(i) = a(i)**2 + sqrt(abs(b(i))) + exp(-a(i))
    end do
    ! safe
    do i = 1, n
      a(i) = real(i, 8)/n + atan2(b(i), 2d0) + sign(1d0, b(i))
    end do
    ! safe
    do i = 1, n
      b(i) = real(nint(a(i)) + floor(b(i)) + iand(idx(i), 7), 8)
    end do
    ! safe
    do i = 1, n
      if (idx(i) > 0) then
        t = a(i)
      else
        t = b(i)
      end if
      a(i) = t
    end do
    ! safe
    do i = 1, n
      j = 2*i
      if (j <= n) b(i) = a(i) + j
    end do
    ! safe
    do i = 1, n
      do while (a(i) > 1)
        a(i) = a(i)/2
      end do
    end do
    out = [s, p, lo, hi, real(zs), real(cnt + bits, 8) + merge(1, 0, every .or. some) + z]
  end subroutine

  subroutine unsafe_more(n, m, a, b, c, idx, hit, unit, out)
    integer, intent(in) :: n, m, idx(n), unit
    real(8), intent(inout) :: a(n), b(n), c(n, m)
    logical, intent(inout) :: hit(n)
    real(8), intent(out) :: out
    real(8) :: s, t, prev, best
    integer :: i, j, at, where_best, k
    character(8) :: word
    s = 0; prev = 0; best = 0; at = 0; where_best = 0; k = 1; t = 0
    ! unsafe
    do i = 1, n
      s = s + a(i)
      b(i) = s
    end do
    ! unsafe
    do i = 1, n
      s = s*a(i) + b(i)
    end do
    ! unsafe
    do i = 1, n
      s = a(i) - s
    end do
    ! unsafe
    do i = 1, n
      s = s/a(i) + s
    end do
    ! unsafe
    do i = 1, n
      b(i) = prev
      prev = a(i)
    end do
    ! unsafe
    do i = 1, n
      if (hit(i)) prev = a(i)
      b(i) = prev
    end do
    ! unsafe
    do i = 1, n
      if (a(i) > best) then
        best = a(i)
        where_best = i
        k = where_best + k
      end if
    end do
    ! unsafe
    do i = 1, n
      if (hit(i)) then
        at = at + 1
        b(at) = a(i)
      end if
    end do
    ! unsafe
    do i = 1, n
      if (a(i) < 0) exit
      b(i) = a(i)
    end do
    ! unsafe
    do i = 1, n
      if (a(i) < 0) return
      b(i) = a(i)
    end do
    ! unsafe
    do i = 1, n
      if (a(i) < 0) stop 'negative'
      b(i) = a(i)
    end do
    ! unsafe
    do i = 1, n
      if (a(i) < 0) error stop
      b(i) = a(i)
    end do
    ! unsafe
    do i = 1, n
      if (a(i) < 0) goto 10
      b(i) = a(i)
    end do
10  continue
    ! unsafe
    outer: do j = 1, m
      do i = 1, n
        if (c(i, j) < 0) exit outer
        c(i, j) = 1
      end do
    end do outer
    ! unsafe
    do i = 1, n
      print *, a(i)
    end do
    ! unsafe
    do i = 1, n
      write (unit, *) a(i)
    end do
    ! unsafe
    do i = 1, n
      read (unit, *) a(i)
    end do
    ! unsafe
    do i = 1, n
      read (unit, *, end=20) a(i)
    end do
20  continue
    ! unsafe
    do i = 1, n
      write (word, '(i8)') i
      if (word(1:1) == '1') a(i) = 0
    end do
    ! unsafe
    do i = 1, n
      a(idx(i)) = b(i)
    end do
    ! unsafe
    do i = 1, n
      a(idx(i)) = a(idx(i)) + b(i)*a(idx(i))
    end do
    ! unsafe
    do i = 1, n
      a(i) = a(idx(i))
    end do
    ! unsafe
    do i = 1, n
      c(idx(i), 1) = c(i, 1)
    end do
    ! unsafe
    do i = 1, n
      a(draw()) = b(i)
    end do
    ! unsafe
    do i = 1, n
      a(i) = draw()
    end do
    ! unsafe
    do i = 1, n
      call random_number(a(i))
    end do
    ! unsafe
    do i = 1, n
      last_seen = last_seen*0.5d0 + a(i)
    end do
    ! unsafe
    do i = 1, n
      k = mod(k*5, 64) + 1
      a(i) = k
    end do
    ! unsafe
    do i = 1, n
      a(k) = b(i)
      k = k + idx(i)
    end do
    ! unsafe
    do i = 1, n
      if (i > 1) a(i) = a(i) + t
      t = b(i)
    end do
    ! unsafe
    do i = 1, n
      t = max(t, a(i))
      b(i) = t
    end do
    ! unsafe
    do i = 1, n
      hit(1) = hit(1) .neqv. hit(i)
    end do
    ! unsafe
    do while (k < n)
      k = 2*k
      a(k) = k
    end do
    ! unsafe
    do
      k = k - 1
      if (k < 1) exit
      a(k) = a(k + 1)
    end do
    out = s + t + prev + best + at + where_best + k
  end subroutine
end module
