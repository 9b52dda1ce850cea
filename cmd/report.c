/*
 * report.c: `hpccoder report`: what runs came to, from their metrics.csv: a table
 * or JSON. report_plot.c draws.
 */
#include "cmd/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct report_options {
    const char *out, *x;
    int64_t smooth;
    bool json;
} report_options;

static const char *const axes[] = {
    [REPORT_TOKENS] = "tokens", [REPORT_TIME] = "time", [REPORT_STEP] = "step", NULL};

static const hpc_option options[] = {
    HPC_CMD_JSON(report_options),
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(report_options, out),
     .argument = "FILE",
     .help = "Also draw the runs, to a .png, .svg or .html file (needs gnuplot)."},
    {.name = "x",
     .kind = HPC_CHOICE,
     .offset = offsetof(report_options, x),
     .fallback = "tokens",
     .argument = "AXIS",
     .choices = axes,
     .help = "Horizontal axis of the plots."},
    {.name = "smooth",
     .kind = HPC_INT,
     .offset = offsetof(report_options, smooth),
     .fallback = "0",
     .argument = "N",
     .most = 1e9,
     .help = "Draw means over N steps, with the single steps faintly in the background; 1: only "
             "the single steps; 0: a hundredth of each run."},
    {0}};

/* ---- one run --------------------------------------------------------------------- */

/* What steps alone took; and by them the throughput, where the step before is known. */
static int derive(report_run *r)
{
    const hpc_metrics_table *t = &r->t;
    double *speed = t->column[HPC_METRIC_TOKENS_PER_S], seconds = 0;
    r->seconds = hpc_alloc((size_t)t->n, sizeof *r->seconds);
    if (!r->seconds) return HPC_E_NOMEM;
    for (int64_t k = 0; k < t->n; k++) {
        double own = t->column[HPC_METRIC_STEP_MS][k] / 1e3, before = 0, last = 0;
        if (k > 0) last = t->column[HPC_METRIC_STEP][k - 1];
        if (k > 0) before = t->column[HPC_METRIC_TOKENS][k - 1];
        bool known = t->column[HPC_METRIC_STEP][k] == last + 1 && own > 0;
        speed[k] = known ? (t->column[HPC_METRIC_TOKENS][k] - before) / own : (double)NAN;
        if (own > 0 && isfinite(own)) seconds += own;
        r->seconds[k] = seconds;
    }
    return HPC_OK;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int median(double *out, const double *y, int64_t n)
{
    double *sorted = hpc_alloc((size_t)n, sizeof *sorted);
    int64_t m = 0;
    if (!sorted) return HPC_E_NOMEM;
    for (int64_t k = 0; k < n; k++)
        if (isfinite(y[k])) sorted[m++] = y[k];
    qsort(sorted, (size_t)m, sizeof *sorted, ascending);
    *out = m ? (sorted[(m - 1) / 2] + sorted[m / 2]) / 2 : (double)NAN;
    hpc_free(sorted);
    return HPC_OK;
}

static int summarise(report_run *r)
{
    const hpc_metrics_table *t = &r->t;
    const double *validation = t->column[HPC_METRIC_VALIDATION_LOSS];
    int64_t last = t->n < r->window ? t->n : r->window, from = t->n - last;
    double *mean = hpc_alloc((size_t)last, sizeof *mean);
    int rc = HPC_E_NOMEM;
    if (!mean) goto out;
    /* The mean of twice the window around the last row is that of the last window. */
    TRY(report_smooth(mean, t->column[HPC_METRIC_LOSS] + from, t->column[HPC_METRIC_SKIPPED] + from,
                      last, 2 * last));
    r->loss = mean[last - 1];
    r->best = NAN;
    for (int64_t k = 0; k < t->n; k++) {
        r->skipped += t->column[HPC_METRIC_SKIPPED][k] > 0;
        if (isnan(validation[k]) || validation[k] >= r->best) continue;
        r->best = validation[k];
        r->best_row = k;
    }
    TRY(median(&r->tokens_per_s, t->column[HPC_METRIC_TOKENS_PER_S], t->n));
out:
    hpc_free(mean);
    return rc;
}

static int read_run(report_run *r, hpc_arena *a, const char *path, int64_t smooth)
{
    const char *file = hpc_arena_text(a, "%s/metrics.csv", path);
    int rc = HPC_OK;
    if (!file) return HPC_E_NOMEM;
    r->path = path;
    if (!hpc_file_exists(file))
        return hpc_fail(HPC_E_ARG, "%.300s is not the folder of a run: metrics.csv is missing",
                        path);
    TRY(hpc_metrics_read(&r->t, file));
    if (r->t.n == 0) return hpc_fail(HPC_E_FORMAT, "%.300s has no steps yet", file);
    r->window = smooth > 0 ? smooth : (r->t.n + 99) / 100;
    TRY(derive(r));
    TRY(summarise(r));
out:
    return rc;
}

/* ---- several --------------------------------------------------------------------- */

static const char *last_part(hpc_arena *a, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    size_t from = n;
    while (from > 0 && path[from - 1] != '/') from--;
    const char *name = hpc_arena_text(a, "%.*s", (int)(n - from), path + from);
    return !name || (name[0] && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) ? name : path;
}

/* The folders' names, and the whole paths of those that are not the only ones of their name. */
static int name_runs(report_run *run, int64_t n, hpc_arena *a)
{
    for (int64_t k = 0; k < n; k++)
        if (!(run[k].name = last_part(a, run[k].path))) return HPC_E_NOMEM;
    for (int64_t k = 0; k < n; k++) {
        const char *name = last_part(a, run[k].path);
        if (!name) return HPC_E_NOMEM;
        for (int64_t b = 0; b < n; b++)
            if (b != k && strcmp(name, last_part(a, run[b].path)) == 0) run[k].name = run[k].path;
    }
    return HPC_OK;
}

static double last_of(const report_run *r, hpc_metric m)
{
    return r->t.column[m][r->t.n - 1];
}

static void put_number(hpc_buf *out, const char *format, double x)
{
    char text[48];
    snprintf(text, sizeof text, format, x);
    hpc_buf_printf(out, "  %12s", isnan(x) ? "-" : text);
}

static void print_table(hpc_buf *out, const report_run *run, int64_t n)
{
    int width = 3;
    for (int64_t k = 0; k < n; k++)
        if ((int)strlen(run[k].name) > width) width = (int)strlen(run[k].name);
    hpc_buf_printf(out, "%-*s  %12s  %12s  %12s  %12s  %12s  %12s  %12s  %12s\n", width, "run",
                   "steps", "tokens", "loss", "validation", "of step", "hours", "tokens/s",
                   "skipped");
    for (int64_t k = 0; k < n; k++) {
        const report_run *r = &run[k];
        hpc_buf_printf(out, "%-*s", width, r->name);
        put_number(out, "%.0f", last_of(r, HPC_METRIC_STEP));
        put_number(out, "%.0f", last_of(r, HPC_METRIC_TOKENS));
        put_number(out, "%.4f", r->loss);
        put_number(out, "%.4f", r->best);
        put_number(out, "%.0f",
                   isnan(r->best) ? (double)NAN : r->t.column[HPC_METRIC_STEP][r->best_row]);
        put_number(out, "%.3f", r->seconds[r->t.n - 1] / 3600);
        put_number(out, "%.0f", r->tokens_per_s);
        put_number(out, "%.0f", (double)r->skipped);
        hpc_buf_text(out, "\n");
    }
}

static void print_json(hpc_buf *out, const report_run *run, int64_t n)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_open(&w, "runs", '[');
    for (int64_t k = 0; k < n; k++) {
        const report_run *r = &run[k];
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_text(&w, "name", r->name);
        hpc_json_put_text(&w, "path", r->path);
        hpc_json_put_int(&w, "steps", (int64_t)last_of(r, HPC_METRIC_STEP));
        hpc_json_put_int(&w, "tokens", (int64_t)last_of(r, HPC_METRIC_TOKENS));
        hpc_json_put_real(&w, "loss", r->loss);
        hpc_json_put_int(&w, "loss_steps", r->t.n < r->window ? r->t.n : r->window);
        hpc_json_put_real(&w, "validation_loss", r->best);
        if (!isnan(r->best))
            hpc_json_put_int(&w, "validation_step",
                             (int64_t)r->t.column[HPC_METRIC_STEP][r->best_row]);
        hpc_json_put_real(&w, "hours", r->seconds[r->t.n - 1] / 3600);
        hpc_json_put_real(&w, "tokens_per_s", r->tokens_per_s);
        hpc_json_put_int(&w, "skipped", r->skipped);
        hpc_json_close(&w, '}');
    }
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static int run_report(void *opaque, int argc, char **argv)
{
    const report_options *o = opaque;
    hpc_arena *a = NULL;
    hpc_buf text = {0};
    report_run *run = NULL;
    int x = 0, rc = HPC_E_NOMEM;
    if (argc < 1) return hpc_fail(HPC_E_ARG, "name the folder of a run: hpccoder report RUN...");
    run = hpc_alloc((size_t)argc, sizeof *run);
    a = hpc_arena_create(0);
    if (!run || !a) goto out;
    for (int k = 0; axes[k]; k++)
        if (strcmp(axes[k], o->x) == 0) x = k;
    for (int k = 0; k < argc; k++) TRY(read_run(&run[k], a, argv[k], o->smooth));
    TRY(name_runs(run, argc, a));
    if (o->out) TRY(report_draw(o->out, run, argc, (report_x)x));
    if (o->json)
        print_json(&text, run, argc);
    else
        print_table(&text, run, argc);
    TRY(hpc_cmd_print(&text));
out:
    for (int k = 0; run && k < argc; k++) {
        hpc_metrics_release(&run[k].t);
        hpc_free(run[k].seconds);
    }
    hpc_buf_release(&text);
    hpc_arena_free(a);
    hpc_free(run);
    return rc < 0 ? rc : EXIT_DONE;
}

const hpc_command hpc_cmd_report = {
    .name = "report",
    .summary = "Summarize training runs in a table and plots.",
    .arguments = "RUN...",
    .description =
        "Reads RUN/metrics.csv of one or more runs, finished or not, and prints for each: steps, "
        "tokens, the loss, the best validation loss and its step, hours, the median number of "
        "tokens per second, and the number of skipped updates. The loss is the mean of the last "
        "hundredth of the steps, or of --smooth steps, without skipped ones. Hours and throughput "
        "come from the duration of the steps, without pauses, validations and checkpoints.\n\n"
        "With --out, draws the loss against tokens and time, the validation loss, the learning "
        "rate, the gradient norm and the throughput. An HTML page also has the numbers as tables. "
        "Runs are named after their folders, with the whole path if two names are equal.",
    .examples = "hpccoder report runs/a runs/b  # a table\n"
                "hpccoder report runs/* --out loss.png --x time  # a plot over hours",
    .options = options,
    .options_bytes = sizeof(report_options),
    .run = run_report};
