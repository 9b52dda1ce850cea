/* histogram.c: a histogram with a race, for the documentation of `hpccoder pragma --check`. */
#include <stdio.h>

enum { N = 100000, BINS = 16 };
static int value[N], bin[BINS];

int main(void)
{
    for (int i = 0; i < N; i++) {
        value[i] = i % BINS;
    }
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        bin[value[i]]++;
    }
    for (int i = 0; i < BINS; i++) {
        printf("%d\n", bin[i]);
    }
    return 0;
}
