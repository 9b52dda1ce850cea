/*
 * metrics.h: what a run says of itself, step by step: RUN/metrics.csv, and
 * TensorBoard event files beside it.
 *
 * The CSV is the record and is read back; the event files are a copy for
 * TensorBoard that nothing of ours reads.
 */
#ifndef HPC_TRAIN_METRICS_H
#define HPC_TRAIN_METRICS_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns of metrics.csv, in its order. */
typedef enum hpc_metric {
    HPC_METRIC_STEP,   /* from 1 on, growing */
    HPC_METRIC_TOKENS, /* seen so far */
    HPC_METRIC_LOSS,   /* mean over the step's tokens; NaN is a result */
    HPC_METRIC_LR,
    HPC_METRIC_GRAD_NORM, /* before clipping */
    HPC_METRIC_STEP_MS,
    HPC_METRIC_TOKENS_PER_S,
    HPC_METRIC_TFLOPS, /* of all ranks */
    HPC_METRIC_MFU,    /* 0 to 1: TFLOPS over the limit of the hardware */
    HPC_METRIC_PEAK_BYTES,
    HPC_METRIC_COMM_BYTES,
    HPC_METRIC_VALIDATION_LOSS, /* where there was a validation */
    HPC_METRIC_SKIPPED,         /* 1: the update was left out, for a loss or gradient not finite */
    HPC_METRIC_SAVE_MS,         /* for which saving held up training, since the row before */
    HPC_METRIC_EXPOSED_MS,      /* of a step: the first rank's communication that nothing hid */
    HPC_METRIC_N
} hpc_metric;
const char *hpc_metric_name(hpc_metric m); /* the column's: "grad_norm" */
const char *hpc_metric_tag(hpc_metric m);  /* TensorBoard's: "train/grad_norm"; NULL: none */

/* A row: a number for each column, those of counts whole. */
typedef struct hpc_metrics_row {
    double value[HPC_METRIC_N];
    bool absent[HPC_METRIC_N]; /* an empty cell; step and tokens never are */
} hpc_metrics_row;

/* ---- writing ----------------------------------------------------------------
 * Goes on behind step `step` of the run in folder RUN, which exists: later rows and a torn last
 * line are dropped first, atomically; 0: begins anew. Columns that an older version did not have
 * are added, empty. Refused: a metrics.csv with other columns, and a damaged line before that step.
 * Event files are added, never changed; a new one tells TensorBoard to forget later steps. */
typedef struct hpc_metrics hpc_metrics;
int hpc_metrics_open(hpc_metrics **out, const char *run, int64_t step);
/* Both files have the row, in one piece, on return. Steps must grow. */
int hpc_metrics_add(hpc_metrics *m, const hpc_metrics_row *row);
void hpc_metrics_close(hpc_metrics *m);

/* ---- reading: an untrusted file ------------------------------------------------
 * Errors name file, line and column. Columns are found by name, in any order; unknown ones are
 * passed over, missing ones absent, except step, tokens, loss and step_ms. A last line without its
 * end is still being written, and is not read. */
typedef struct hpc_metrics_table {
    int64_t n;                    /* rows, by growing step */
    double *column[HPC_METRIC_N]; /* n each; NaN where absent */
} hpc_metrics_table;
int hpc_metrics_read(hpc_metrics_table *out, const char *path);
void hpc_metrics_release(hpc_metrics_table *t);

/* ---- TensorBoard --------------------------------------------------------------
 * RUN/events.out.tfevents.TIME.HOST, TIME in seconds since 1970; host NULL: this machine's name.
 * The run goes on behind `step`, or begins at 0. */
typedef struct hpc_events hpc_events;
typedef struct hpc_event_scalar {
    const char *tag;
    float value;
} hpc_event_scalar;
int hpc_events_open(hpc_events **out, const char *run, int64_t step, double time, const char *host);
/* One event at `time`, in one piece. */
int hpc_events_add(hpc_events *e, int64_t step, double time, const hpc_event_scalar *scalar, int n);
void hpc_events_close(hpc_events *e);
double hpc_events_time(void); /* now, in seconds since 1970 */

#ifdef __cplusplus
}
#endif
#endif
