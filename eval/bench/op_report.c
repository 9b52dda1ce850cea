/*
 * op_report.c: results of the op benchmark as a table or as JSON.
 */
#include <stdio.h>
#include <string.h>

#include "eval/bench/priv.h"
#include "runtime/base/table.h"

/* ---- text of a result ----------------------------------------------------------------------- */

static const char *types_text(char out[BENCH_TEXT], const hpc_bench_job *j)
{
    const char *own = hpc_dtype_get(j->dtype)->name, *weights = hpc_dtype_get(j->weights)->name;
    snprintf(out, BENCH_TEXT, j->dtype == j->weights ? "%s" : "%s*%s", own, weights);
    return out;
}

static const char *shape_text(char out[BENCH_TEXT], const int64_t *shape, int n)
{
    size_t used = 0;
    out[0] = '\0';
    for (int k = 0; k < n && used < BENCH_TEXT; k++)
        used += (size_t)snprintf(out + used, BENCH_TEXT - used, "%s%lld", k ? "," : "",
                                 (long long)shape[k]);
    return out;
}

static const char *time_text(char out[BENCH_TEXT], double ns)
{
    static const char *const unit[] = {"ns", "us", "ms", "s"};
    size_t k = 0;
    for (; ns >= 1000 && k + 1 < sizeof unit / sizeof *unit; k++) ns /= 1000;
    snprintf(out, BENCH_TEXT, "%.*f %s", ns < 10 ? 2 : ns < 100 ? 1 : 0, ns, unit[k]);
    return out;
}

/* Per nanosecond is giga per second. */
static double gflops(const hpc_bench_result *r, const hpc_bench_time *t)
{
    return r->cost.flops / t->median_ns;
}

/* ---- the table ------------------------------------------------------------------------------ */

enum {
    COL_OP,
    COL_SHAPE,
    COL_ATTR,
    COL_TYPES,
    COL_KERNEL,
    COL_TIME,
    COL_LEAST,
    COL_GFLOPS,
    COL_GBS,
    COL_LIMIT,
    COL_ERROR,
    COL_NMSE,
    COL_PEER,
    COL_N = COL_PEER + BENCH_PEERS
};
static const char *const titles[COL_N] = {"op",     "shape",    "attributes", "types",
                                          "kernel", "time",     "best",       "GFLOP/s",
                                          "GB/s",   "of limit", "error",      "NMSE"};

typedef struct row {
    char cell[COL_N][BENCH_TEXT];
} row;

/* What rounding to 8 bits of fraction does not explain: the peer computes something else. */
static bool differs(const hpc_bench_result *r, int peer)
{
    return !(r->peer[peer].distance <= 0.05);
}

/* A column for each peer, titled at its first result; not every peer does every product. */
static void fill_peers(row *w, row *title, const hpc_bench_result *r)
{
    for (int k = 0; k < r->peer_n; k++) {
        int c = COL_PEER;
        while (title->cell[c][0] && strcmp(title->cell[c], r->peer[k].name) != 0) c++;
        snprintf(title->cell[c], BENCH_TEXT, "%s", r->peer[k].name);
        snprintf(w->cell[c], BENCH_TEXT, "%.1f (%.2f%s)", gflops(r, &r->peer[k].time),
                 r->peer[k].time.median_ns / r->time.median_ns, differs(r, k) ? ", wrong" : "");
    }
}

static void fill_row(row *w, row *title, const hpc_bench *b, const hpc_bench_result *r)
{
    const char *bound;
    snprintf(w->cell[COL_OP], BENCH_TEXT, "%s", r->job.c->op->sig.name);
    snprintf(w->cell[COL_ATTR], BENCH_TEXT, "%s", r->job.attr_text);
    shape_text(w->cell[COL_SHAPE], r->job.shape, r->job.extent_n);
    if (r->job.extent_n > 0) types_text(w->cell[COL_TYPES], &r->job);
    if (r->skipped[0]) {
        snprintf(w->cell[COL_KERNEL], BENCH_TEXT, "skipped");
        return;
    }
    snprintf(w->cell[COL_KERNEL], BENCH_TEXT, "%s", r->kernel ? r->kernel : "");
    time_text(w->cell[COL_TIME], r->time.median_ns);
    time_text(w->cell[COL_LEAST], r->time.least_ns);
    if (r->cost.flops > 0) snprintf(w->cell[COL_GFLOPS], BENCH_TEXT, "%.1f", gflops(r, &r->time));
    if (r->cost.bytes > 0)
        snprintf(w->cell[COL_GBS], BENCH_TEXT, "%.1f", r->cost.bytes / r->time.median_ns);
    double floor_ns = hpc_bench_floor_ns(b, r, &bound);
    snprintf(w->cell[COL_LIMIT], BENCH_TEXT, "%.0f %% %s", 100 * floor_ns / r->time.median_ns,
             bound);
    if (r->checked) {
        snprintf(w->cell[COL_ERROR], BENCH_TEXT, "%.1e", r->error);
        snprintf(w->cell[COL_NMSE], BENCH_TEXT, "%.1e", r->nmse);
    }
    fill_peers(w, title, r);
}

/* Row 0 has the titles. */
static void put_rows(hpc_buf *out, const row *w, int64_t n, int width)
{
    hpc_column column[COL_N];
    hpc_table t = {.column = column, .columns = COL_N, .keys = COL_SHAPE + 1};
    for (int c = 0; c < COL_N; c++) {
        bool text = c == COL_ATTR || c == COL_KERNEL;
        column[c] = (hpc_column){.title = w[0].cell[c],
                                 .right = c >= COL_TIME,
                                 .fit = text ? HPC_FIT_CUT : HPC_FIT_WHOLE,
                                 .least = 16};
    }
    for (int64_t k = 1; k < n; k++)
        for (int c = 0; c < COL_N; c++) hpc_table_cell(&t, "%s", w[k].cell[c]);
    hpc_table_print(out, &t, width);
}

static int put_table(hpc_buf *out, const hpc_bench *b, int width)
{
    row *w = hpc_alloc((size_t)b->result_n + 1, sizeof *w);
    hpc_buf skipped = {0};
    if (!w) return HPC_E_NOMEM;
    for (int c = 0; c < COL_PEER; c++) snprintf(w->cell[c], BENCH_TEXT, "%s", titles[c]);
    for (int64_t k = 0; k < b->result_n; k++) fill_row(&w[k + 1], w, b, &b->result[k]);
    put_rows(out, w, b->result_n + 1, width);
    for (int64_t k = 0; k < b->result_n; k++)
        if (b->result[k].skipped[0])
            hpc_buf_printf(&skipped, "skipped %s: %s\n", b->result[k].job.c->op->sig.name,
                           b->result[k].skipped);
    hpc_text_fill_take(out, &skipped, 2, width);
    hpc_free(w);
    return HPC_OK;
}

static void put_head(hpc_buf *out, const hpc_bench *b)
{
    hpc_buf_printf(out, "%s, %s, %d thread%s, %s\n", b->about.backend, b->about.isa,
                   b->about.threads, b->about.threads > 1 ? "s" : "",
                   b->o->cold ? "memory cold" : "memory warm: above 100 % means data from caches");
    hpc_buf_printf(out, "limits: f32 %.0f GFLOP/s", b->rate[HPC_RATE_F32] * 1e-9);
    if (b->limits.bf16 > 0)
        hpc_buf_printf(out, ", bf16 %.0f GFLOP/s", b->rate[HPC_RATE_BF16] * 1e-9);
    if (b->limits.i8 > 0) hpc_buf_printf(out, ", i8 %.0f GOP/s", b->rate[HPC_RATE_I8] * 1e-9);
    hpc_buf_printf(out, ", read %.1f GB/s", b->limits.read * 1e-9);
    if (b->call_ns > 0) hpc_buf_printf(out, ", call %.2f ns", b->call_ns);
    if (b->handoff_ns > 0) hpc_buf_printf(out, ", handing over %.0f ns", b->handoff_ns);
    hpc_buf_text(out, "\n");
    if (b->peer_note[0]) hpc_buf_printf(out, "peers: %s\n", b->peer_note);
    bool peers = false, wrong = false;
    for (int64_t k = 0; k < b->result_n; k++)
        for (int i = 0; i < b->result[k].peer_n; i++) {
            peers = true;
            wrong = wrong || differs(&b->result[k], i);
        }
    if (peers)
        hpc_buf_printf(out, "peers: their GFLOP/s (our rate over theirs%s)\n",
                       wrong ? "; wrong: results exceed the rounding bound" : "");
    hpc_buf_text(out, "\n");
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_shape(hpc_json_out *w, const char *key, const int64_t *shape, int n)
{
    hpc_json_open(w, key, '[');
    for (int k = 0; k < n; k++) hpc_json_put_int(w, NULL, shape[k]);
    hpc_json_close(w, ']');
}

static void put_limits(hpc_json_out *w, const hpc_bench *b)
{
    hpc_json_open(w, "limits", '{');
    hpc_json_put_text(w, "backend", b->about.backend);
    hpc_json_put_text(w, "isa", b->about.isa);
    hpc_json_put_int(w, "threads", b->about.threads);
    hpc_json_put_bool(w, "cold", b->o->cold);
    hpc_json_put_real(w, "f32_gflops", b->rate[HPC_RATE_F32] * 1e-9);
    hpc_json_put_real(w, "bf16_gflops", b->rate[HPC_RATE_BF16] * 1e-9);
    hpc_json_put_real(w, "i8_gops", b->rate[HPC_RATE_I8] * 1e-9);
    hpc_json_put_real(w, "probe_f32_gflops", b->limits.f32 * 1e-9);
    hpc_json_put_real(w, "probe_bf16_gflops", b->limits.bf16 * 1e-9);
    hpc_json_put_real(w, "probe_i8_gops", b->limits.i8 * 1e-9);
    hpc_json_put_real(w, "read_gbs", b->limits.read * 1e-9);
    if (b->call_ns > 0) hpc_json_put_real(w, "call_ns", b->call_ns);
    if (b->handoff_ns > 0) hpc_json_put_real(w, "handoff_ns", b->handoff_ns);
    hpc_json_close(w, '}');
}

static void put_error(hpc_json_out *w, const hpc_bench_result *r)
{
    hpc_json_open(w, "error", '{');
    hpc_json_put_real(w, "max", r->error);
    hpc_json_put_real(w, "nmse", r->nmse);
    put_shape(w, "shape", r->checked_shape, r->job.extent_n);
    hpc_json_close(w, '}');
}

static void put_peers(hpc_json_out *w, const hpc_bench_result *r)
{
    hpc_json_open(w, "peers", '[');
    for (int k = 0; k < r->peer_n; k++) {
        hpc_json_open(w, NULL, '{');
        hpc_json_put_text(w, "name", r->peer[k].name);
        hpc_json_put_text(w, "version", r->peer[k].version);
        hpc_json_put_real(w, "time_ns", r->peer[k].time.median_ns);
        hpc_json_put_real(w, "min_ns", r->peer[k].time.least_ns);
        hpc_json_put_real(w, "gflops", gflops(r, &r->peer[k].time));
        hpc_json_put_real(w, "ratio", r->peer[k].time.median_ns / r->time.median_ns);
        hpc_json_put_real(w, "distance", r->peer[k].distance);
        hpc_json_put_bool(w, "wrong", differs(r, k));
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
}

static void put_measured(hpc_json_out *w, const hpc_bench *b, const hpc_bench_result *r)
{
    const char *bound;
    double floor_ns = hpc_bench_floor_ns(b, r, &bound);
    hpc_json_put_text(w, "kernel", r->kernel);
    hpc_json_put_int(w, "repeats", r->repeats);
    hpc_json_put_int(w, "samples", r->time.samples);
    hpc_json_put_real(w, "time_ns", r->time.median_ns);
    hpc_json_put_real(w, "min_ns", r->time.least_ns);
    hpc_json_put_real(w, "flops", r->cost.flops);
    hpc_json_put_real(w, "bytes", r->cost.bytes);
    hpc_json_put_real(w, "gflops", gflops(r, &r->time));
    hpc_json_put_real(w, "gbs", r->cost.bytes / r->time.median_ns);
    hpc_json_put_real(w, "read_gbs", r->read * 1e-9);
    hpc_json_put_real(w, "floor_ns", floor_ns);
    hpc_json_put_real(w, "fraction", floor_ns / r->time.median_ns);
    hpc_json_put_text(w, "bound", bound);
    if (r->checked) put_error(w, r);
    put_peers(w, r);
}

static void put_result(hpc_json_out *w, const hpc_bench *b, const hpc_bench_result *r)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "op", r->job.c->op->sig.name);
    hpc_json_put_text(w, "attributes", r->job.attr_text);
    hpc_json_put_text(w, "extents", r->job.c->extents);
    put_shape(w, "shape", r->job.shape, r->job.extent_n);
    hpc_json_put_text(w, "dtype", hpc_dtype_get(r->job.dtype)->name);
    hpc_json_put_text(w, "weights", hpc_dtype_get(r->job.weights)->name);
    hpc_json_put_text(w, "isa", b->about.isa);
    hpc_json_put_text(w, "backend", b->about.backend);
    hpc_json_put_int(w, "threads", b->about.threads);
    if (r->skipped[0])
        hpc_json_put_text(w, "skipped", r->skipped);
    else
        put_measured(w, b, r);
    hpc_json_close(w, '}');
}

static void put_json(hpc_buf *out, const hpc_bench *b)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    put_limits(&w, b);
    if (b->peer_note[0]) hpc_json_put_text(&w, "peer_note", b->peer_note);
    hpc_json_open(&w, "ops", '[');
    for (int64_t k = 0; k < b->result_n; k++) put_result(&w, b, &b->result[k]);
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

int hpc_bench_report(hpc_buf *out, const hpc_bench *b, bool json, int width)
{
    hpc_buf head = {0};
    if (json) {
        put_json(out, b);
        return HPC_OK;
    }
    put_head(&head, b);
    hpc_text_fill_take(out, &head, 2, width);
    return put_table(out, b, width);
}
