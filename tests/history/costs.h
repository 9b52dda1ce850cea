/*
 * costs.h: series of samples with known levels and noise of several shapes.
 */
#ifndef HPC_TESTS_CORPUS_COSTS_H
#define HPC_TESTS_CORPUS_COSTS_H

#include <math.h>
#include <stdlib.h>

#include "corpus/history/label.h"

/* Noise with the requested standard deviation. SPIKES: in 1 of 20 samples the deviation is 8 times
 * as large. */
typedef enum shape { NORMAL, STUDENT_4, SPIKES, SHAPES_N } shape;
static const char *const shape_name[] = {"normal", "student-4", "spikes"};

typedef struct dice {
    uint64_t seed, used;
    float normal[256];
} dice;

static double roll(dice *d)
{
    if (d->used % 256 == 0)
        hpc_random_fill_normal(d->normal, 256, d->seed, 7, (uint32_t)(d->used / 256), 0);
    return (double)d->normal[d->used++ % 256];
}

static double roll_shape(dice *d, shape s)
{
    double x = roll(d);
    if (s == STUDENT_4) {
        double chi = 0;
        for (int k = 0; k < 4; k++) {
            double z = roll(d);
            chi += z * z;
        }
        return x / sqrt(chi / 4) / 1.4142135623730951; /* its variance is 2 */
    }
    return s == SPIKES && fabs(roll(d)) > 1.96 ? 8 * x : x;
}

/* `runs` samples for each of n commits: level[k] (NULL: 1) times exp(noise). The caller frees
 * *value. */
static void make_costs(perf_samples *out, double **value, int64_t n, int64_t runs,
                       const double *level, double sd, shape s, dice *d)
{
    *value = malloc((size_t)(n * runs) * sizeof **value);
    hpc_assert(*value != NULL);
    for (int64_t k = 0; k < n; k++) {
        out[k] = (perf_samples){*value + k * runs, runs};
        for (int64_t r = 0; r < runs; r++)
            (*value)[k * runs + r] = (level ? level[k] : 1) * exp(sd * roll_shape(d, s));
    }
}

#endif
