C     watched.f: loops of Fortran 77, in fixed form.
      subroutine sweep(a, n)
      integer n, i, j, it
      real a(n, n), s
      common /work/ tmp(100), last
      real tmp
      integer last
! WITNESS iteration i = 1 writes tmp(1) at line @4, iteration i = 2 writes it
      DO 20 i = 1, n
! CLEAN
         do 10 j = 1, n
            TMP(j) = a(j, i) +
     &               1
   10    continue
! CLEAN
         do 15 j = 1, n
            a(j, i) = tmp(j)
   15    continue
   20 continue
! WITNESS iteration i = 2 writes a(2,1) at line @1, iteration i = 3 reads it at line @1
      do i = 2, n
         a(i, 1) = a(i - 1, 1)                                          MARK
      end do
! WITNESS not recorded: the loop ends at the statement of another loop
      do 30 i = 1, n
! WITNESS not recorded: the loop ends at the statement of another loop
      do 30 j = 1, n
   30 a(j, i) = i
      last = n
      end

      program main
      real a(40, 40)
      integer i
! WITNESS iteration i = 2 writes a(2,1) at line @1, iteration i = 3 reads it at line @1
      do 40 i = 2, 40
   40 a(i, 1) = a(i - 1, 1) + 1
      call sweep(a, 40)
      print *, a(3, 3)
      end
