/*
 * measure.h: measures the commits that a prediction leaves open, and bisects to those that changed
 * performance.
 *
 * Points are the commits of the range and the commit before it. Both sides of each change that is
 * not predicted to be the same are measured, and both ends of each stretch that is. A stretch with
 * different ends is bisected.
 */
#ifndef HPC_PERF_MEASURE_H
#define HPC_PERF_MEASURE_H

#include "corpus/history/history.h"
#include "infer/perf/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_perf_culprit { /* a measured change */
    int64_t from, to;             /* points: it came after `from`, and with `to` at the latest */
    hpc_history_label label;      /* slower or faster */
    double change;
    const char *metric; /* borrowed from the options */
    bool bisected;      /* its stretch was predicted to be the same */
} hpc_perf_culprit;
typedef enum hpc_perf_point_state {
    HPC_PERF_POINT_LEFT, /* not measured */
    HPC_PERF_POINT_MEASURED,
    HPC_PERF_POINT_FAILED /* it does not build or run */
} hpc_perf_point_state;
typedef struct hpc_perf_measured {
    hpc_git_id *point;
    hpc_perf_point_state *state; /* by point */
    int64_t points_n;
    int64_t first; /* point of the first commit of the range: 0 or 1 */
    hpc_perf_culprit *item;
    int64_t n, cap;
    int64_t undecided;              /* pairs of points with undecided samples */
    int64_t left, failed, measured; /* points by state */
    int64_t now;                    /* commits that this call measured, in `seconds` */
    double seconds;
    bool stopped;
} hpc_perf_measured; /* zero to begin with */
/* Collects into the history of h, which has all options but the range and the commits. The caller
 * releases *out, also after an error. */
int hpc_perf_measure(hpc_perf_measured *out, const hpc_perf_prediction *p,
                     const hpc_history_options *h);
void hpc_perf_measured_release(hpc_perf_measured *m);
/* The commit of point k; NULL: it precedes the range. */
const hpc_perf_change_prediction *hpc_perf_measured_commit(const hpc_perf_measured *m,
                                                           const hpc_perf_prediction *p, int64_t k);
/* True for a measured slow-down if a commit that may have caused it is not acknowledged. */
bool hpc_perf_measured_slower(const hpc_perf_measured *m, const hpc_perf_prediction *p);
/* Estimated seconds that points without a measurement saved; NAN: this call measured nothing. */
double hpc_perf_seconds_saved(const hpc_perf_measured *m);

#ifdef __cplusplus
}
#endif
#endif
