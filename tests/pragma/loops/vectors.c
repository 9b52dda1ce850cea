/*
 * vectors.c: innermost loops, with what is proposed for each where vectors are asked for ("simd:").
 * Labels: README.md.
 */
#include <math.h>

void scaled(int n, double *restrict y, const double *restrict x)
{
    // loop scaled: safe ; simd
    // simd: parallel for simd
    for (int i = 0; i < n; i++) {
        y[i] = 2.0 * x[i];
    }
}

double dot(int n, const double *x, const double *y)
{
    double s = 0.0;
    // loop dot: safe reduction(+:s) ; simd
    // simd: parallel for simd reduction(+:s)
    for (int i = 0; i < n; i++) {
        s += x[i] * y[i];
    }
    return s;
}

double last_one(int n, double *restrict y, const double *restrict x)
{
    double t = 0.0;
    // loop last_one: safe lastprivate(t) ; simd
    // simd: parallel for simd lastprivate(t)
    for (int i = 0; i < n; i++) {
        t = x[i] * x[i];
        y[i] = t + 1.0;
    }
    return t;
}

void roots(int n, double *restrict y, const double *restrict x)
{
    // loop roots: safe ; simd
    // simd: parallel for simd
    for (int i = 0; i < n; i++) {
        y[i] = sqrt(fabs(x[i]));
    }
}

void few_of_them(double y[restrict 64], const double x[restrict 64])
{
    // loop few_of_them: safe ; simd, small
    // simd: simd
    for (int i = 0; i < 64; i++) {
        y[i] = 2.0 * x[i];
    }
}

float sum_of_few(const float x[64])
{
    float s = 0, t;
    // loop sum_of_few: safe private(t) reduction(+:s) ; simd, small
    // simd: simd private(t) reduction(+:s)
    for (int i = 0; i < 64; i++) {
        t = x[i] + 1;
        s += t * t;
    }
    return s;
}

void too_few(double y[restrict 4], const double x[restrict 4])
{
    // loop too_few: safe ; simd, small
    // simd: parallel for
    for (int i = 0; i < 4; i++) {
        y[i] = 2.0 * x[i];
    }
}

double outside(double x);
double outside(double x)
{
    double y = x * x;
    if (y > 1.0) y = 1.0;
    return y;
}

void calls_outside(int n, double *restrict y, const double *restrict x)
{
    // loop calls_outside: safe
    // simd: parallel for
    for (int i = 0; i < n; i++) {
        y[i] = outside(x[i]);
    }
}

void strided(int n, int m, double *restrict y, const double *restrict x)
{
    // loop strided: safe
    // simd: parallel for
    for (int i = 0; i < n; i++) {
        y[i] = x[i * m];
    }
}

void every_eighth(int n, double *restrict y)
{
    // loop every_eighth: safe
    // simd: parallel for
    for (int i = 0; i < n; i += 8) {
        y[i] = 1.0;
    }
}

void gathered(int n, double *restrict y, const double *restrict x, const int *restrict at)
{
    // loop gathered: safe
    // simd: parallel for
    for (int i = 0; i < n; i++) {
        y[i] = x[at[i]];
    }
}

void rows_of_them(int n, int m, double *restrict y, const double *restrict x)
{
    // loop rows_of_them.i: safe ; collapse(2)
    // simd: parallel for
    for (int i = 0; i < n; i++) {
        // loop rows_of_them.j: safe ; simd
        // simd: parallel for simd
        for (int j = 0; j < m; j++) {
            y[i * m + j] = 2.0 * x[i * m + j];
        }
    }
}

void steps_of_time(int steps, double u[restrict 200], double v[restrict 200])
{
    // loop steps_of_time.t: carried +4 +10
    for (int t = 0; t < steps; t++) {
        // loop steps_of_time.u: safe ; simd, small
        // simd: simd
        for (int i = 1; i < 199; i++) {
            v[i] = 0.5 * (u[i - 1] + u[i + 1]);
        }
        // loop steps_of_time.v: safe ; simd, small
        // simd: simd
        for (int i = 1; i < 199; i++) {
            u[i] = v[i];
        }
    }
}

void may_overlap(int n, double *y, const double *x)
{
    // loop may_overlap: if distinct(x, y) ; simd
    // simd: parallel for simd
    for (int i = 0; i < n; i++) {
        y[i] = 2.0 * x[i];
    }
}

void two_ways(int n, double *restrict y, const double *restrict x)
{
    // loop two_ways: safe ; simd
    // simd: parallel for simd
    for (int i = 0; i < n; i++) {
        if (x[i] > 0.0)
            y[i] = x[i];
        else
            y[i] = -x[i];
    }
}

int switched(int n, const int *x)
{
    int s = 0;
    // loop switched: safe reduction(+:s)
    // simd: parallel for reduction(+:s)
    for (int i = 0; i < n; i++) {
        switch (x[i]) {
        case 1: s += 3; break;
        case 2: s += 5; break;
        default: break;
        }
    }
    return s;
}
