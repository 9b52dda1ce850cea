C     Fixed form: labels, common blocks and equivalence.
      SUBROUTINE SAFEFX(N, A, B, X)
      INTEGER N, I, J
      DOUBLE PRECISION A(N), B(N), X(N,N), T
      DOUBLE PRECISION G(1000), H(1000)
      COMMON /BLK/ G, H
C     safe
      DO 10 I = 1, N
         A(I) = B(I)
   10 CONTINUE
C     safe
      DO 20 I = 1, N
         G(I) = H(I) +
     &          A(I)
   20 CONTINUE
C     safe
      DO 40 J = 1, N
         DO 30 I = 1, N
            X(I,J) = 0.0D0
   30    CONTINUE
   40 CONTINUE
C     safe
      DO 50 J = 1, N
      DO 50 I = 1, N
   50 X(I,J) = X(I,J) + 1.0D0
C     safe
      DO 60 I = 1, N
         T = A(I)
         A(I) = T*T
   60 CONTINUE
      END

      SUBROUTINE UNSFX(N, A, B, X)
      INTEGER N, I, J
      DOUBLE PRECISION A(N), B(N), X(N,N)
      DOUBLE PRECISION P(1000), Q(1000), T
      EQUIVALENCE (P(1), Q(2))
C     unsafe
      DO 10 I = 2, N
         A(I) = A(I-1)
   10 CONTINUE
C     unsafe
      DO 20 I = 1, N
         P(I) = Q(I)
   20 CONTINUE
C     unsafe
      DO 30 I = 1, N
         IF (A(I) .LT. 0.0D0) GO TO 40
         A(I) = B(I)
   30 CONTINUE
   40 CONTINUE
      T = 0.0D0
C     unsafe
      DO 50 I = 1, N
         A(I) = T
         T = B(I)
   50 CONTINUE
C     unsafe
      DO 60 J = 2, N
      DO 60 I = 1, N
   60 X(I,J) = X(I,J-1)
      PRINT *, P(1), T
      END

C     The value of T after the first loop is used when control goes back.
      SUBROUTINE BACK(N, A, B)
      INTEGER N, I, K
      DOUBLE PRECISION A(N), B(N), T
      K = 0
      T = 1.0D0
   10 CONTINUE
      A(1) = T
C     safe
      DO 20 I = 1, N
         T = B(I)
         A(I) = T
   20 CONTINUE
      K = K + 1
      IF (K .LT. 3) GO TO 10
      END
