/*
 * work.h: estimate of the run time of the changed files, before and after.
 */
#ifndef HPC_PERF_WORK_H
#define HPC_PERF_WORK_H

#include "infer/perf/scan.h"

typedef struct perf_work perf_work; /* one version of the changed files; reusable */
int perf_work_create(perf_work **out, const perf_words *words); /* words are borrowed */
void perf_work_free(perf_work *w);
/* Reads all functions of the files of c, before or after the change. The sources must stay valid.
 */
int perf_work_read(perf_work *w, const hpc_perf_change *c, bool head);

/* change: signed log2(1 + n) for n percent more or less. share: log2(1 + n) for n thousandths of
 * the work in changed functions, in the version where it is larger. */
int perf_work_compare(double *change, double *share, perf_work *base, perf_work *head,
                      const hpc_perf_change *c);
/* The change of one function with its callees; after perf_work_compare. */
double perf_work_change_of(perf_work *base, perf_work *head, const hpc_perf_function *f);

#endif
