/*
 * main.c: calls axpy with arrays that do not overlap, and with some that do.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

int main(void)
{
    int n = 200;
    double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    if (!x || !y) return 1;
    for (int i = 0; i < n; i++) x[i] = y[i] = i % 5;
    axpy(n, 2, x, y);
    axpy(n - 1, 1, x, x + 1);
    prefix(n, x);
    printf("%.10g\n", dot(n, x, y));
    free(x);
    free(y);
    return 0;
}
