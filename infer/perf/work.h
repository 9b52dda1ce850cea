/*
 * work.h: about how much longer the files of a change take than before, by their text.
 */
#ifndef HPC_PERF_WORK_H
#define HPC_PERF_WORK_H

#include "infer/perf/scan.h"

typedef struct perf_work perf_work; /* one version of what differs; memory is used again */
int perf_work_create(perf_work **out, const perf_words *words); /* words are borrowed */
void perf_work_free(perf_work *w);
/* Reads all functions of the files of c, as they were or as they are now. The sources must stay. */
int perf_work_read(perf_work *w, const hpc_perf_change *c, bool head);

/* change: log2(1 + n) of n percent more, or less if it is below 0. share: log2(1 + n) of n
 * thousandths of the work that are in functions that differ, where that is more. */
int perf_work_compare(double *change, double *share, perf_work *base, perf_work *head,
                      const hpc_perf_change *c);
/* The change of one function by itself, with what it calls; behind perf_work_compare. */
double perf_work_change_of(perf_work *base, perf_work *head, const hpc_perf_function *f);

#endif
