/*
 * metrics.h: metrics of a run by step: RUN/metrics.csv, and TensorBoard event files next to it.
 *
 * The CSV is the record and is read back. The event files are a copy for TensorBoard only.
 */
#ifndef HPC_TRAIN_METRICS_H
#define HPC_TRAIN_METRICS_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns of metrics.csv, in its order. */
typedef enum hpc_metric {
    HPC_METRIC_STEP,   /* from 1, increasing */
    HPC_METRIC_TOKENS, /* total so far */
    HPC_METRIC_LOSS,   /* mean over the step's tokens; may be NaN */
    HPC_METRIC_LR,
    HPC_METRIC_GRAD_NORM, /* before clipping */
    HPC_METRIC_STEP_MS,
    HPC_METRIC_TOKENS_PER_S,
    HPC_METRIC_TFLOPS, /* over all ranks */
    HPC_METRIC_MFU,    /* 0 to 1: TFLOPS relative to the hardware's peak */
    HPC_METRIC_PEAK_BYTES,
    HPC_METRIC_COMM_BYTES,
    HPC_METRIC_VALIDATION_LOSS, /* if validated in this step */
    HPC_METRIC_SKIPPED,         /* 1: the update was skipped */
    HPC_METRIC_SAVE_MS,         /* delay by saving since the previous row */
    HPC_METRIC_EXPOSED_MS,      /* exposed communication of the first rank in a step */
    HPC_METRIC_EXPERTS,         /* experts per token; 0: the model has none */
    HPC_METRIC_DROPPED,         /* choices of experts that found no capacity */
    HPC_METRIC_FLOPS,           /* of the step by formula, with the experts that tokens reached */
    HPC_METRIC_N
} hpc_metric;
const char *hpc_metric_name(hpc_metric m); /* column name: "grad_norm" */
const char *hpc_metric_tag(hpc_metric m);  /* TensorBoard tag: "train/grad_norm"; NULL: none */

/* A row: one number per column; counts are integers. */
typedef struct hpc_metrics_row {
    double value[HPC_METRIC_N];
    bool absent[HPC_METRIC_N]; /* empty cell; never step or tokens */
} hpc_metrics_row;

/* ---- writing --------------------------------------------------------------------------------- */
/* Opens the metrics of the run in the existing folder RUN, to continue after step `step` (0: from
 * the start). Later rows and an incomplete last line are first removed, atomically. Columns missing
 * in files of older versions are added, empty. A metrics.csv with unknown columns or a damaged line
 * before `step` is an error. Event files are only added; a new one makes TensorBoard discard later
 * steps. */
typedef struct hpc_metrics hpc_metrics;
int hpc_metrics_open(hpc_metrics **out, const char *run, int64_t step);
/* Appends the row to both files, each with one write. Steps must increase. */
int hpc_metrics_add(hpc_metrics *m, const hpc_metrics_row *row);
void hpc_metrics_close(hpc_metrics *m);

/* ---- reading --------------------------------------------------------------------------------- */
/* The file is untrusted. Errors name file, line and column. Columns are found by name, in any
 * order. Unknown ones are skipped; missing ones are absent, but step, tokens, loss and step_ms are
 * required. An incomplete last line is not read. */
typedef struct hpc_metrics_table {
    int64_t n;                    /* rows, by increasing step */
    double *column[HPC_METRIC_N]; /* n values each; NaN: absent */
} hpc_metrics_table;
int hpc_metrics_read(hpc_metrics_table *out, const char *path);
void hpc_metrics_release(hpc_metrics_table *t);

/* ---- TensorBoard ----------------------------------------------------------------------------- */
/* Writes RUN/events.out.tfevents.TIME.HOST; TIME: seconds since 1970; host NULL: this machine's
 * name. The run continues after `step`, or starts at 0. */
typedef struct hpc_events hpc_events;
typedef struct hpc_event_scalar {
    const char *tag;
    float value;
} hpc_event_scalar;
int hpc_events_open(hpc_events **out, const char *run, int64_t step, double time, const char *host);
/* Appends one event at `time` with one write. */
int hpc_events_add(hpc_events *e, int64_t step, double time, const hpc_event_scalar *scalar, int n);
void hpc_events_close(hpc_events *e);
double hpc_events_time(void); /* now, in seconds since 1970 */

#ifdef __cplusplus
}
#endif
#endif
