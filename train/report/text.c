/*
 * The summary of a training report as text that fits the width of a terminal.
 */
#include "runtime/base/table.h"
#include "train/report/report.h"

static int put_table(hpc_buf *out, const report_table *t, int width)
{
    hpc_column *column = hpc_alloc((size_t)t->columns, sizeof *column);
    hpc_table w = {.column = column, .columns = (int)t->columns};
    int rc = HPC_E_NOMEM;
    if (!column) goto out;
    for (int c = 0; c < w.columns; c++)
        column[c] = (hpc_column){.title = t->head[c], .right = t->number[c]};
    for (int64_t k = 0; k < t->rows * t->columns; k++) hpc_table_cell(&w, "%s", t->cell[k]);
    hpc_buf_text(out, "\n");
    rc = hpc_table_print(out, &w, width);
out:
    hpc_free(column);
    return rc;
}

int hpc_report_text(hpc_buf *out, const hpc_report_summary *s, int width)
{
    int rc;
    for (int64_t k = 0; k < s->sentence.n; k++) hpc_text_fill(out, s->sentence.item[k], 2, width);
    TRY(put_table(out, &s->results, width));
    if (s->differences.columns > 1) TRY(put_table(out, &s->differences, width));
    if (s->bubbles.rows > 0) TRY(put_table(out, &s->bubbles, width));
    rc = out->failed;
out:
    return rc;
}
