#include <omp.h>

/* y = a x + y, in double precision */
void daxpy(int n, double a, const double *x, double *y)
{
    #pragma omp parallel for
    for (int i = 0; i < n; i++) {
        y[i] += a * x[i];
    }
}

/* y = a x + y, in single precision */
void saxpy(int n, float a, const float *x, float *y)
{
