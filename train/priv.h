/*
 * priv.h: what the files of this folder share and nobody else may use.
 */
#ifndef HPC_TRAIN_PRIV_H
#define HPC_TRAIN_PRIV_H

#include "train/metrics.h"

enum { METRICS_BYTES = 1 << 30 }; /* of a metrics.csv: more than four million steps */

typedef struct metric_column {
    const char *name, *tag;
    bool whole, required; /* a count; a file without it is none of a run */
} metric_column;
const metric_column *metric_column_of(hpc_metric m);

/* A pass over the text of a metrics.csv (metrics_read.c). */
typedef struct metrics_reader {
    const char *path, *text;
    size_t n, at; /* bytes; behind the last line read */
    int64_t line; /* the last line read, from 1 */
    double step;  /* of the last row */
    int columns;
    int column[64]; /* what each is; HPC_METRIC_N: unknown */
} metrics_reader;
/* Reads the header. */
int metrics_reader_begin(metrics_reader *r, const char *path, const char *text, size_t n);
/* 1 with the next row, 0 at the end or before a line without its end. */
int metrics_reader_next(metrics_reader *r, hpc_metrics_row *row);

#endif
