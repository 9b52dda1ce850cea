C Fixed form: common, equivalence, data, entry, statement functions, labels, goto, implied save.
      subroutine safecm(n)
      integer n, i, j, k
      real*8 u, v, w, s, t
      integer list
      common /fields/ u(100, 100), v(100, 100), w(100), list(100)
      real*8 f, x
      f(x) = x*x + 1
      s = 0
C     safe
      do 10 j = 1, n
        do 10 i = 1, n
          u(i, j) = v(i, j)
   10 continue
C     safe
      do 20 j = 1, n
        u(1, j) = v(j, 1)
   20 continue
C     safe
      do 30 i = 1, n
   30 w(i) = w(i)*2
C     safe
      do 40 i = 1, n
        s = s + w(i)
   40 continue
C     safe
      do 50 i = 1, n
        t = u(i, 1)
        if (t .lt. 0) go to 50
        w(i) = sqrt(t)
   50 continue
C     safe
      do i = 1, n
        w(i) = v(list(i), 1)
      end do
C     safe
      do i = 2, n
        u(i, 1) = u(i, 2)
     &          + v(i - 1, 1)
      end do
C     safe
      do 60 k = n, 1, -1
        w(k) = k
   60 continue
C     safe
      do 70 j = 1, n
        do 65 i = 1, n
          u(i, j) = amax1(1.0, real(i)) + dble(j)
   65   continue
   70 continue
      w(1) = f(s)
      end

      subroutine unsacm(n, a, b)
      integer n, i, j, k
      real*8 a(n), b(n)
      real*8 u, v, w, s, t
      integer list
      common /fields/ u(100, 100), v(100, 100), w(100), list(100)
      real*8 e1(100), e2(100), e3(50)
      equivalence (e1(1), e2(2))
      equivalence (e1(51), e3(1))
      real*8 f, x
      f(x) = x + t
      s = 0
      t = 0
      k = 0
C     unsafe
      do 10 i = 2, n
        w(i) = w(i - 1)
   10 continue
C     unsafe
      do 20 i = 1, n
        e1(i) = e2(i)
   20 continue
C     unsafe
      do 30 i = 1, 50
        e1(i) = e3(i) + 1
   30 continue
C     unsafe
      do 40 i = 1, n
        w(list(i)) = i
   40 continue
C     unsafe
      do 50 j = 2, n
        do 50 i = 1, n
          u(i, j) = u(i, j - 1)
   50 continue
C     unsafe
      do 60 i = 1, n
        s = s*w(i) + 1
   60 continue
C     unsafe
      do 70 i = 1, n
        if (w(i) .lt. 0) go to 80
        a(i) = w(i)
   70 continue
   80 continue
C     unsafe
      do 90 i = 1, n
        w(i) = f(w(i))
        t = w(i)
   90 continue
C     unsafe
      do 100 i = 1, n
        k = k + 1
        if (mod(k, 3) .eq. 0) k = k + 1
        a(k) = i
  100 continue
C     unsafe
      do 110 i = 1, n
        if (k) 101, 102, 103
  101   a(1) = i
        go to 110
  102   a(2) = i
        go to 110
  103   a(3) = i
  110 continue
C     unsafe
      do 120 i = 2, n
  120 a(i) = a(i - 1) + b(i)
C     unsafe
      do 130 i = 1, n
        write (6, *) a(i)
  130 continue
C     unsafe
      do 140 i = 1, n
        call keeps(a(i))
  140 continue
C     unsafe
      do 150 i = 1, n
        call outer(a(i))
  150 continue
C     unsafe
      do 160 i = 1, n
        call shared(i)
  160 continue
C     unsafe
      do 170 i = 1, n - 1
        call reach(a(i), 2)
  170 continue
C     unsafe
      do 180 i = 1, n
        call unknwn(a(i))
  180 continue
C     unsafe
      do 190 i = 2, n
        call plain(a(i), a(i - 1))
  190 continue
C     unsafe
      do 200 i = 1, n
        call viaent(a(i))
  200 continue
      b(1) = s + t + k
      end

      subroutine keeps(x)
      real*8 x, last
      data last /0d0/
      x = x + last
      last = x
      end
      subroutine outer(x)
      real*8 x, y
      common /seen/ y
      y = x
      end
      subroutine shared(i)
      integer i, list
      real*8 u, v, w
      common /fields/ u(100, 100), v(100, 100), w(100), list(100)
      w(i) = w(i + 1)
      end
      subroutine reach(x, m)
      integer m, k
      real*8 x(m)
      do 10 k = 1, m
   10 x(k) = x(k) + 1
      end
      subroutine plain(x, y)
      real*8 x, y
      x = y
      end
      subroutine twoway(x)
      real*8 x, kept
      save kept
      kept = x
      return
      entry viaent(x)
      x = kept
      kept = x + 1
      end

      subroutine safecl(n, a, b)
      integer n, i
      real*8 a(n), b(n), c(4, 100), h
      real*8 u, v, w
      integer list
      common /fields/ u(100, 100), v(100, 100), w(100), list(100)
C     safe
      do 10 i = 1, n
        call plain(a(i), b(i))
   10 continue
C     safe
      do 20 i = 1, n
        call plain(h, b(i))
        a(i) = h
   20 continue
C     safe
      do 30 i = 1, n
        call column(i)
   30 continue
C     safe
      do 40 i = 1, n
        call plain(c(1, i), b(i))
        call plain(c(2, i), b(i))
   40 continue
C     safe
      do 50 i = 1, n
        a(i) = norm(b(i), i)
   50 continue
      a(1) = c(1, 1)
      contains
      real*8 function norm(x, m)
      real*8 x
      integer m
      norm = x*x + m
      end function
      end

      subroutine column(j)
      integer i, j, list
      real*8 u, v, w
      common /fields/ u(100, 100), v(100, 100), w(100), list(100)
      do 10 i = 1, 100
   10 u(i, j) = v(i, j) + 1
      end
