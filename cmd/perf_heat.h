/*
 * perf_heat.h: where the time of a commit is, by a performance history, as infer/perf asks it.
 */
#ifndef HPC_CMD_PERF_HEAT_H
#define HPC_CMD_PERF_HEAT_H

#include "corpus/perf.h"
#include "infer/perf/feature.h"

typedef struct perf_heat {
    perf_profiles *profiles;
    hpc_perf_hot *hot; /* of the last commit that was asked of */
    int64_t cap;
} perf_heat; /* zero to begin with */
int perf_heat_open(perf_heat *h, perf_db *d);
void perf_heat_close(perf_heat *h);
/* Of the commit, or of the nearest that it is known of. *hot is borrowed until the next call; NULL:
 * it is known of none. */
int perf_heat_of(const hpc_perf_hot **hot, int64_t *n, perf_heat *h, const char *commit,
                 int64_t time);

#endif
