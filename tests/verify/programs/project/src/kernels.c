/*
 * kernels.c: loops in a library, of a project with a Makefile.
 */
#include "../include/kernels.h"

double dot(int n, const double *x, const double *y)
{
    double s = 0;
    // CLEAN reduction(+:s)
    for (int i = 0; i < n; i++) {
        s += x[i] * y[i];
    }
    return s;
}

void prefix(int n, double *x)
{
    // WITNESS iteration i = 1 writes x[1] at line @1, iteration i = 2 reads it at line @1
    for (int i = 1; i < n; i++) {
        x[i] += x[i - 1];
    }
}

void axpy(int n, double a, const double *x, double *y)
{
    // WITNESS iteration i = 0 writes y[0] at line @1, iteration i = 1 reads it at line @1
    // UNSAFE
    for (int i = 0; i < n; i++) {
        y[i] += a * x[i];
    }
}
