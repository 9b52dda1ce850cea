/*
 * device.c: loops with what is proposed for each where a device is asked for ("target:"). Labels:
 * README.md.
 */
#include <math.h>

void doubled(int n, double *restrict y, const double *restrict x)
{
    // loop doubled: safe
    // target: target teams distribute parallel for map(to: x[0:n])
    // + map(from: y[0:n]) if(target: n > 0)
    for (int i = 0; i < n; i++) {
        y[i] = 2.0 * x[i];
    }
}

void added(unsigned n, float *restrict y, const float *restrict x, float a)
{
    // loop added: safe
    // target: target teams distribute parallel for map(to: x[0:n])
    // + map(tofrom: y[0:n]) if(target: n > 0)
    for (unsigned i = 0; i < n; i++) {
        y[i] += a * x[i];
    }
}

double dot_of(int n, const double *x, const double *y)
{
    double s = 0.0;
    // loop dot_of: safe reduction(+:s)
    // target: target teams distribute parallel for reduction(+:s) map(to: x[0:n], y[0:n])
    // + map(tofrom: s) if(target: n > 0)
    for (int i = 0; i < n; i++) {
        s += x[i] * y[i];
    }
    return s;
}

double dot_apart(int n, const double *restrict x, const double *restrict y)
{
    double s = 0.0;
    // loop dot_apart: safe reduction(+:s)
    // target: target teams distribute parallel for reduction(+:s) map(to: x[0:n], y[0:n])
    // + map(tofrom: s) if(target: n > 0)
    for (int i = 0; i < n; i++) {
        s += x[i] * y[i];
    }
    return s;
}

void known(double y[restrict 5000], const double x[restrict 5000])
{
    // loop known: safe
    // target: target teams distribute parallel for map(to: x[0:5000]) map(from: y[0:5000])
    for (int i = 0; i < 5000; i++) {
        y[i] = sqrt(x[i]);
    }
}

void stencil(int n, double *restrict v, const double *restrict u)
{
    // loop stencil: safe
    // target: target teams distribute parallel for map(to: u[0:n])
    // + map(from: v[1:n - 2]) if(target: n > 2)
    for (int i = 1; i < n - 1; i++) {
        v[i] = 0.5 * (u[i - 1] + u[i + 1]);
    }
}

void plane(int n, int m, double *restrict b, const double *restrict a)
{
    // loop plane.i: safe ; collapse(2)
    // target: target teams distribute parallel for collapse(2) map(to: a[0:n*m])
    // + map(tofrom: b[0:n*m]) if(target: n > 0 && m > 0)
    for (int i = 0; i < n; i++) {
        // loop plane.j: safe
        for (int j = 0; j < m; j++) {
            b[i * m + j] = a[i * m + j] + 1.0;
        }
    }
}

static double table[100][100];
void whole_array(void)
{
    // loop whole_array.i: safe ; collapse(2)
    // target: target teams distribute parallel for collapse(2) map(tofrom: table)
    for (int i = 0; i < 100; i++) {
        // loop whole_array.j: safe
        for (int j = 0; j < 100; j++) {
            table[i][j] *= 2.0;
        }
    }
}

void by_index(int n, double *restrict y, const double *restrict x, const int *restrict at)
{
    // loop by_index: safe
    // target: parallel for
    for (int i = 0; i < n; i++) {
        y[i] = x[at[i]];
    }
}

void rows_of_pointers(int n, int m, double **restrict y)
{
    // loop rows_of_pointers.i: if distinct(y[i], y[k]) ; types
    // target: parallel for
    for (int i = 0; i < n; i++) {
        // loop rows_of_pointers.j: safe
        for (int j = 0; j < m; j++) {
            y[i][j] = 1.0;
        }
    }
}

void sometimes(int n, double *restrict y, const double *restrict x, int skip)
{
    // loop sometimes: safe
    // target: parallel for
    for (int i = 0; i < n; i++) {
        if (skip) continue;
        y[i] = x[i];
    }
}

void sometimes_again(int n, double *restrict y, const double *restrict x)
{
    // loop sometimes_again: safe
    // target: target teams distribute parallel for map(to: x[0:n])
    // + map(tofrom: y[0:n]) if(target: n > 0)
    for (int i = 0; i < n; i++) {
        y[i] += 1.0;
        if (x[i] > 0.0) y[i] = x[i];
    }
}

struct grid {
    int n;
    double *v;
};
void through_struct(struct grid *g)
{
    // loop through_struct: safe ; types
    // target: parallel for
    for (int i = 0; i < g->n; i++) {
        g->v[i] *= 2.0;
    }
}

double helper(double x);
double helper(double x)
{
    return x + 1.0;
}
void calls_helper(int n, double *restrict y)
{
    // loop calls_helper: safe
    // target: parallel for
    for (int i = 0; i < n; i++) {
        y[i] = helper(y[i]);
    }
}

void every_other(int n, double *restrict y)
{
    // loop every_other: safe
    // target: parallel for
    for (int i = 0; i < n; i += 2) {
        y[i] = 1.0;
    }
}

void triangle_of(int n, double *restrict a)
{
    // loop triangle_of.i: safe
    // target: parallel for schedule(dynamic)
    for (int i = 0; i < n; i++) {
        // loop triangle_of.j: safe
        for (int j = 0; j < i; j++) {
            a[i * n + j] = 1.0;
        }
    }
}

void small_one(double y[restrict 16])
{
    // loop small_one: safe ; small
    // target: parallel for
    for (int i = 0; i < 16; i++) {
        y[i] = 1.0;
    }
}
