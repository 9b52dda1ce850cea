/*
 * heat.c: heat conduction on a square plate by Jacobi iterations, without OpenMP directives.
 * The examples of the documentation use it. Usage: heat [STEPS]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 400 };
typedef double plate[N][N];

static plate old, new;

/* One Jacobi step: each inner point becomes the mean of its four neighbours. */
static void step(void)
{
    for (int i = 1; i < N - 1; i++) {
        for (int j = 1; j < N - 1; j++) {
            new[i][j] = 0.25 * (old[i - 1][j] + old[i + 1][j] + old[i][j - 1] + old[i][j + 1]);
        }
    }
}

/* Largest change of any point in the last step. */
static double largest_change(void)
{
    double largest = 0;
    for (int i = 1; i < N - 1; i++) {
        for (int j = 1; j < N - 1; j++) {
            largest = fmax(largest, fabs(new[i][j] - old[i][j]));
        }
    }
    return largest;
}

/* y = factor x */
static void scale(int n, double factor, const double *x, double *y)
{
    for (int i = 0; i < n; i++) {
        y[i] = factor * x[i];
    }
}

/* sum[i] = heat[0] + ... + heat[i] */
static void running_sum(int n, const double *heat, double *sum)
{
    sum[0] = heat[0];
    for (int i = 1; i < n; i++) {
        sum[i] = sum[i - 1] + heat[i];
    }
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 20;
    static double kelvin[N * N], sum[N];
    for (int j = 0; j < N; j++) {
        old[0][j] = new[0][j] = 100;
    }
    double change = 0;
    for (int s = 0; s < steps; s++) {
        step();
        change = largest_change();
        memcpy(old, new, sizeof old);
    }
    scale(N * N, 1.8, &old[0][0], kelvin);
    running_sum(N, kelvin + N, sum);
    printf("%d steps: last change %.6f, heat of row 1 %.3f\n", steps, change, sum[N - 1]);
    return 0;
}
