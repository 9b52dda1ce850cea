/*
 * priv.h: declarations shared by metrics.c and metrics_read.c.
 */
#ifndef HPC_TRAIN_PRIV_H
#define HPC_TRAIN_PRIV_H

#include "train/metrics.h"

enum { METRICS_BYTES = 1 << 30 }; /* largest metrics.csv: over four million steps */

typedef struct metric_column {
    const char *name, *tag;
    bool whole, required; /* integers only; must be present */
} metric_column;
const metric_column *metric_column_of(hpc_metric m);

/* Reader state for the text of a metrics.csv (metrics_read.c). */
typedef struct metrics_reader {
    const char *path, *text;
    size_t n, at; /* size in bytes; offset after the last line read */
    int64_t line; /* number of the last line read, from 1 */
    double step;  /* of the last row */
    int columns;
    int column[64]; /* hpc_metric of each column; HPC_METRIC_N: unknown */
} metrics_reader;
/* Reads the header. */
int metrics_reader_begin(metrics_reader *r, const char *path, const char *text, size_t n);
/* Returns 1 with the next row, 0 at the end or before an incomplete last line. */
int metrics_reader_next(metrics_reader *r, hpc_metrics_row *row);

#endif
