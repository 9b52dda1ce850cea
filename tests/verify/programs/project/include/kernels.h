/*
 * kernels.h: functions that main.c calls.
 */
#ifndef PROJECT_KERNELS_H
#define PROJECT_KERNELS_H
double dot(int n, const double *x, const double *y);
void prefix(int n, double *x);
void axpy(int n, double a, const double *x, double *y);
#endif
