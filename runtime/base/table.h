/*
 * table.h: tables and paragraphs that fit the width of a terminal.
 */
#ifndef HPC_BASE_TABLE_H
#define HPC_BASE_TABLE_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hpc_fit {                /* what happens to a cell that is longer than its column */
                       HPC_FIT_WHOLE, /* it is never longer: the column keeps its width */
                       HPC_FIT_CUT,   /* "a long na..." */
                       HPC_FIT_CUT_FRONT, /* "...er/file.c:12" */
                       HPC_FIT_WRAP /* it continues on further lines; only in the last column */
} hpc_fit;

typedef struct hpc_column {
    const char *title; /* NULL in the first column: no header */
    bool right;        /* aligned to the right, as numbers are */
    hpc_fit fit;
    int least; /* width at least, unless HPC_FIT_WHOLE */
} hpc_column;

#define HPC_COLUMN_TEXT(name)                                                                      \
    {                                                                                              \
        .title = (name)                                                                            \
    }
#define HPC_COLUMN_NUMBER(name)                                                                    \
    {                                                                                              \
        .title = (name), .right = true                                                             \
    }

/* Initialize with columns alone. Cells are added row by row, from left to right. */
typedef struct hpc_table {
    const hpc_column *column;
    int columns;
    int keys;   /* columns that a further table repeats: the first ones, at least 1 */
    int indent; /* blanks before each line */
    hpc_buf text;
    int64_t cells;
} hpc_table;
void hpc_table_cell(hpc_table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hpc_table_end_row(hpc_table *t); /* fills the row with empty cells */

/* Appends the table to `out` and releases its cells. Columns without text are omitted, and a row
 * without text is an empty line. If the rows are longer than `width`, columns first become narrower
 * as their `fit` allows; columns that still do not fit follow in a further table that repeats the
 * keys. width 0: unlimited. Returns 0 or HPC_E_NOMEM. */
int hpc_table_print(hpc_buf *out, hpc_table *t, int width);

/* Appends the lines of a text, wrapped at blanks; further lines of a line are indented. The last
 * one needs no newline. width 0: unlimited. */
void hpc_text_fill(hpc_buf *out, const char *text, int indent, int width);
/* The same for a buffer, which it releases. */
void hpc_text_fill_take(hpc_buf *out, hpc_buf *text, int indent, int width);

int hpc_text_columns(const char *text, size_t n); /* characters of UTF-8; each counts as one */

#ifdef __cplusplus
}
#endif
#endif
