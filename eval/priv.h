/*
 * priv.h: shared by the files of this folder: statistics and readers of samples.
 */
#ifndef HPC_EVAL_PRIV_H
#define HPC_EVAL_PRIV_H

#include "eval/eval.h"

/* ---- score.c --------------------------------------------------------------------------------- */
double eval_scaled(const hpc_eval_metric *m, double sum, double weight); /* NAN: no weight */
/* False if the sample lacks a number of the metric. */
bool eval_numbers(double *sum, double *weight, const hpc_eval_metric *m, const hpc_json *s);
const char *eval_cluster(const hpc_json *sample);
/* A number below n for the position `index` of a round of resampling. */
int64_t eval_draw(uint64_t seed, uint32_t round, int64_t index, int64_t n);
/* The 95 % interval of n values, which it reorders; NANs do not count. */
void eval_interval(hpc_eval_value *out, double *all, int64_t n);

static inline bool eval_stopped(const int *stop)
{
    return stop && __atomic_load_n(stop, __ATOMIC_RELAXED) != 0;
}

#endif
