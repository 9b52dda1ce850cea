/*
 * metrics.c: writes RUN/metrics.csv and continues it after an interruption. metrics_read.c reads
 * it.
 *
 * It measures nothing: the run provides complete rows.
 */
#include <math.h>
#include <string.h>

#include "train/priv.h"

struct hpc_metrics {
    hpc_file_writer *csv;
    hpc_events *events;
    hpc_buf line; /* kept from row to row */
    int64_t step; /* of the last row */
};

static const metric_column columns[HPC_METRIC_N] = {
    [HPC_METRIC_STEP] = {"step", NULL, true, true},
    [HPC_METRIC_TOKENS] = {"tokens", "train/tokens", true, true},
    [HPC_METRIC_LOSS] = {"loss", "train/loss", false, true},
    [HPC_METRIC_LR] = {"lr", "train/lr", false, false},
    [HPC_METRIC_GRAD_NORM] = {"grad_norm", "train/grad_norm", false, false},
    [HPC_METRIC_STEP_MS] = {"step_ms", "speed/step_ms", false, true},
    [HPC_METRIC_TOKENS_PER_S] = {"tokens_per_s", "speed/tokens_per_s", false, false},
    [HPC_METRIC_TFLOPS] = {"tflops", "speed/tflops", false, false},
    [HPC_METRIC_MFU] = {"mfu", "speed/mfu", false, false},
    [HPC_METRIC_PEAK_BYTES] = {"peak_bytes", "memory/peak_bytes", true, false},
    [HPC_METRIC_COMM_BYTES] = {"comm_bytes", "memory/comm_bytes", true, false},
    [HPC_METRIC_VALIDATION_LOSS] = {"validation_loss", "validation/loss", false, false},
    [HPC_METRIC_SKIPPED] = {"skipped", "train/skipped", true, false},
    [HPC_METRIC_SAVE_MS] = {"save_ms", "speed/save_ms", false, false},
    [HPC_METRIC_EXPOSED_MS] = {"exposed_ms", "speed/exposed_ms", false, false},
    [HPC_METRIC_EXPERTS] = {"experts", "experts/active", false, false},
    [HPC_METRIC_DROPPED] = {"dropped", "experts/dropped", false, false},
    [HPC_METRIC_FLOPS] = {"flops", "train/flops", false, false},
};

const metric_column *metric_column_of(hpc_metric m)
{
    return &columns[m];
}

const char *hpc_metric_name(hpc_metric m)
{
    return columns[m].name;
}

const char *hpc_metric_tag(hpc_metric m)
{
    return columns[m].tag;
}

/* ---- continuing ------------------------------------------------------------------------------ */

enum { OLDEST = HPC_METRIC_SKIPPED + 1 }; /* columns of the first version */

static void put_header(hpc_buf *out, int columns_n)
{
    out->n = 0;
    for (int m = 0; m < columns_n; m++) hpc_buf_printf(out, "%s%s", m ? "," : "", columns[m].name);
    hpc_buf_text(out, "\n");
}

/* How many of our columns it has, the first ones; `header`: their line. */
static int find_columns(int *n, hpc_buf *header, const hpc_buf *text, const char *path)
{
    for (*n = HPC_METRIC_N; *n >= OLDEST; --*n) {
        put_header(header, *n);
        if (header->failed) return header->failed;
        if (text->n >= header->n && memcmp(text->data, header->data, header->n) == 0) return HPC_OK;
    }
    return hpc_fail(HPC_E_FORMAT,
                    "%.300s: its columns differ from those of this version; start a new run", path);
}

/* Bytes of `text` to be kept: its header and the rows up to `step`. */
static int find_kept(size_t *kept, const hpc_buf *text, size_t header, const char *path,
                     int64_t step)
{
    metrics_reader r;
    hpc_metrics_row row;
    int rc = HPC_OK;
    TRY(metrics_reader_begin(&r, path, text->data, text->n));
    for (*kept = header; (rc = metrics_reader_next(&r, &row)) == 1; *kept = r.at)
        if (row.value[HPC_METRIC_STEP] > (double)step) return HPC_OK;
out:
    return rc;
}

/* Copies a file of the first n columns, adding the missing columns. */
static int widen(hpc_buf *out, const char *text, size_t bytes, int n)
{
    put_header(out, HPC_METRIC_N);
    for (size_t at = strcspn(text, "\n") + 1; at < bytes; at++) {
        if (text[at] == '\n')
            for (int m = n; m < HPC_METRIC_N; m++) hpc_buf_text(out, ",");
        hpc_buf_add(out, text + at, 1);
    }
    return out->failed;
}

static int prepare(const char *path, int64_t step)
{
    hpc_buf text = {0}, header = {0};
    size_t kept = 0;
    int n, rc = HPC_OK;
    if (step > 0 && hpc_file_exists(path)) {
        TRY(hpc_file_read(&text, path, METRICS_BYTES));
        TRY(find_columns(&n, &header, &text, path));
        TRY(find_kept(&kept, &text, header.n, path, step));
        if (n < HPC_METRIC_N) {
            TRY(widen(&header, text.data, kept, n));
            TRY(hpc_file_save(path, header.data, header.n));
        } else if (kept < text.n) {
            TRY(hpc_file_save(path, text.data, kept));
        }
    } else {
        put_header(&header, HPC_METRIC_N);
        TRY(header.failed);
        TRY(hpc_file_save(path, header.data, header.n));
    }
out:
    hpc_buf_release(&text);
    hpc_buf_release(&header);
    return rc;
}

int hpc_metrics_open(hpc_metrics **out, const char *run, int64_t step)
{
    hpc_buf path = {0};
    int rc = HPC_E_NOMEM;
    *out = NULL;
    hpc_metrics *m = hpc_alloc(1, sizeof *m);
    if (!m) goto out;
    m->step = step;
    TRY(hpc_buf_printf(&path, "%s/metrics.csv", run));
    TRY(prepare(path.data, step));
    TRY(hpc_file_append(&m->csv, path.data));
    TRY(hpc_events_open(&m->events, run, step, hpc_events_time(), NULL));
    *out = m;
    m = NULL;
out:
    hpc_metrics_close(m);
    hpc_buf_release(&path);
    return rc;
}

void hpc_metrics_close(hpc_metrics *m)
{
    if (!m) return;
    hpc_file_close_writer(m->csv);
    hpc_events_close(m->events);
    hpc_buf_release(&m->line);
    hpc_free(m);
}

/* ---- rows ------------------------------------------------------------------------ */

/* Nine digits give back any float. */
static void put_row(hpc_buf *out, const hpc_metrics_row *row)
{
    out->n = 0;
    for (int m = 0; m < HPC_METRIC_N; m++) {
        if (m) hpc_buf_text(out, ",");
        if (row->absent[m]) continue;
        if (columns[m].whole)
            hpc_buf_printf(out, "%.0f", row->value[m]);
        else if (isnan(row->value[m]))
            hpc_buf_text(out, "nan"); /* of either sign */
        else
            hpc_buf_printf(out, "%.9g", row->value[m]);
    }
    hpc_buf_text(out, "\n");
}

static int add_event(hpc_metrics *m, const hpc_metrics_row *row)
{
    hpc_event_scalar scalar[HPC_METRIC_N];
    int n = 0;
    for (int c = 0; c < HPC_METRIC_N; c++)
        if (columns[c].tag && !row->absent[c])
            scalar[n++] = (hpc_event_scalar){columns[c].tag, (float)row->value[c]};
    return hpc_events_add(m->events, m->step, hpc_events_time(), scalar, n);
}

int hpc_metrics_add(hpc_metrics *m, const hpc_metrics_row *row)
{
    int64_t step = (int64_t)row->value[HPC_METRIC_STEP];
    int rc = HPC_OK;
    if (step <= m->step)
        return hpc_fail(HPC_E_ARG, "metrics: step %lld follows step %lld", (long long)step,
                        (long long)m->step);
    put_row(&m->line, row);
    TRY(m->line.failed);
    TRY(hpc_file_write(m->csv, m->line.data, m->line.n));
    m->step = step;
    TRY(add_event(m, row));
out:
    return rc;
}
