/*
 * Where ranks of a pipeline waited: RUN/bubbles.csv of each run as a table. A damaged file is left
 * out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/report/report.h"

enum { RANK, STEPS, STEP_MS, ACTIVATIONS, GRADIENTS, EXPOSED, NUMBERS };
enum { BYTES = 1 << 22, ROWS = 1 << 16 };
static const char header[] = "rank,steps,step_ms,activations_ms,gradients_ms,exposed_ms\n";

typedef struct bubble {
    const char *run;
    double of[NUMBERS];
} bubble;

typedef struct bubbles {
    bubble *row;
    int64_t n, cap;
} bubbles;

static bool read_line(double of[NUMBERS], const char **at)
{
    for (int k = 0; k < NUMBERS; k++) {
        char *end;
        of[k] = strtod(*at, &end);
        if (end == *at || *end != (k + 1 < NUMBERS ? ',' : '\n')) return false;
        *at = end + 1;
    }
    return of[STEP_MS] > 0;
}

static int read_file(bubbles *b, const hpc_report_run *r, const hpc_buf *text)
{
    const char *at = text->data + sizeof header - 1;
    int64_t n = b->n;
    if (strncmp(text->data, header, sizeof header - 1) != 0) return HPC_OK;
    while (*at && n < ROWS) {
        int rc = hpc_grow(&b->row, &b->cap, n + 1, sizeof *b->row);
        if (rc < 0) return rc;
        b->row[n] = (bubble){.run = r->label};
        if (!read_line(b->row[n++].of, &at)) return HPC_OK;
    }
    b->n = n;
    return HPC_OK;
}

static int read_run(bubbles *b, const hpc_report_run *r, hpc_arena *a)
{
    const char *path = hpc_arena_text(a, "%s/bubbles.csv", r->path);
    hpc_buf text = {0};
    int rc = path ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0 || !hpc_file_exists(path)) return rc;
    TRY(hpc_file_read(&text, path, BYTES));
    TRY(hpc_buf_add(&text, "", 1));
    TRY(read_file(b, r, &text));
out:
    hpc_buf_release(&text);
    return rc;
}

static const char *part(hpc_arena *a, const bubble *b, int of)
{
    return hpc_arena_text(a, "%.1f %%", 100 * b->of[of] / b->of[STEP_MS]);
}

static int put_row(const char **cell, const bubble *b, hpc_arena *a)
{
    int k = 0;
    cell[k++] = b->run;
    cell[k++] = hpc_arena_text(a, "%.0f", b->of[RANK]);
    cell[k++] = hpc_arena_text(a, "%.1f", b->of[STEP_MS]);
    cell[k++] = part(a, b, ACTIVATIONS);
    cell[k++] = part(a, b, GRADIENTS);
    cell[k++] = part(a, b, EXPOSED);
    while (k > 0)
        if (!cell[--k]) return HPC_E_NOMEM;
    return HPC_OK;
}

int report_bubbles(report_table *out, const hpc_report_run *run, int64_t n, hpc_arena *a)
{
    static const char *const head[] = {"run",         "rank",      "step ms",
                                       "activations", "gradients", "other communication"};
    enum { COLUMNS = sizeof head / sizeof *head };
    bubbles b = {0};
    int rc = HPC_OK;
    for (int64_t k = 0; k < n; k++) TRY(read_run(&b, &run[k], a));
    if (b.n == 0) goto out;
    TRY(report_table_make(out, a, b.n, COLUMNS));
    for (int c = 0; c < COLUMNS; c++) out->head[c] = head[c], out->number[c] = c > 0;
    for (int64_t k = 0; k < b.n; k++) TRY(put_row(&out->cell[k * COLUMNS], &b.row[k], a));
out:
    hpc_free(b.row);
    return rc;
}
