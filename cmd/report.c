/*
 * `hpccoder report`: options and output of the comparison of training runs (train/report).
 */
#include <math.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/terminal.h"
#include "train/report/report.h"

typedef struct report_options {
    const char *out, *x;
    int64_t smooth;
    bool json;
} report_options;

static const char *const axes[] = {
    [HPC_REPORT_TOKENS] = "tokens", [HPC_REPORT_TIME] = "time", [HPC_REPORT_STEP] = "step", NULL};

static const hpc_option options[] = {
    HPC_CMD_JSON(report_options),
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(report_options, out),
     .argument = "FILE",
     .help = "Also write an HTML page (.html) or draw a picture (.png, .svg; needs gnuplot)."},
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
     .help = "Draw means of N steps; 1: the steps themselves; 0: means of a hundredth of each "
             "run. Up to four runs also show their steps, faintly."},
    {0}};

static void print_json(hpc_buf *out, const hpc_report_run *run, int64_t n)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_open(&w, "runs", '[');
    for (int64_t k = 0; k < n; k++) {
        const hpc_report_run *r = &run[k];
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_text(&w, "name", r->name);
        hpc_json_put_text(&w, "path", r->path);
        hpc_json_put_int(&w, "steps", (int64_t)hpc_report_last(r, HPC_METRIC_STEP));
        hpc_json_put_int(&w, "tokens", (int64_t)hpc_report_last(r, HPC_METRIC_TOKENS));
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

static bool is_page(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".html") == 0;
}

static int save_page(hpc_arena *a, const char *path, const hpc_report_run *run, int64_t n,
                     hpc_report_x x)
{
    hpc_buf page = {0};
    int rc;
    TRY(hpc_report_page(&page, a, run, n, x));
    TRY(hpc_file_save(path, page.data, page.n));
out:
    hpc_buf_release(&page);
    return rc;
}

static int put_summary(hpc_buf *out, hpc_arena *a, const hpc_report_run *run, int64_t n)
{
    hpc_report_summary s;
    int rc = hpc_report_summarise(&s, run, n, a);
    return rc < 0 ? rc : hpc_report_text(out, &s, hpc_cmd_table_columns());
}

static int run_report(void *opaque, int argc, char **argv)
{
    const report_options *o = opaque;
    bool page = o->out && is_page(o->out);
    hpc_arena *a = NULL;
    hpc_buf text = {0};
    hpc_report_run *run = NULL;
    int x = 0, rc = HPC_E_NOMEM;
    if (argc < 1) return hpc_fail(HPC_E_ARG, "name the folder of a run: hpccoder report RUN...");
    run = hpc_alloc((size_t)argc, sizeof *run);
    a = hpc_arena_create(0);
    if (!run || !a) goto out;
    for (int k = 0; axes[k]; k++)
        if (strcmp(axes[k], o->x) == 0) x = k;
    for (int k = 0; k < argc; k++) TRY(hpc_report_read(&run[k], a, argv[k], o->smooth));
    for (int k = 0; k < argc && (page || !o->json); k++) {
        TRY(hpc_report_read_config(&run[k], a));
        if (run[k].warning) hpc_cmd_warn(run[k].warning, (void *)(uintptr_t) "report");
    }
    TRY(hpc_report_name(run, argc, a));
    if (page)
        TRY(save_page(a, o->out, run, argc, (hpc_report_x)x));
    else if (o->out)
        TRY(hpc_report_draw(o->out, run, argc, (hpc_report_x)x));
    if (o->json)
        print_json(&text, run, argc);
    else
        TRY(put_summary(&text, a, run, argc));
    TRY(hpc_cmd_print(&text));
out:
    for (int k = 0; run && k < argc; k++) hpc_report_release(&run[k]);
    hpc_buf_release(&text);
    hpc_arena_free(a);
    hpc_free(run);
    return rc < 0 ? rc : EXIT_DONE;
}

const hpc_command hpc_cmd_report = {
    .name = "report",
    .summary = "Compare training runs, as text and as plots.",
    .arguments = "RUN...",
    .description =
        "Summarizes and compares training runs, finished or not, from RUN/metrics.csv and "
        "RUN/config.json. Prints how many finished or diverged, the best ones, the settings in "
        "which they differ, and a table of results.\n\n"
        "The loss is the mean of the last hundredth of the steps, or of the last N with "
        "--smooth N, without skipped steps. Tokens per second are a median. Time and throughput "
        "count steps only: no pauses, validations or checkpoints. A run has diverged if its last "
        "five steps have no finite loss or were skipped.\n\n"
        "--out FILE.html writes one page with the same summary, plots, and folded tables. Plots "
        "show training loss against tokens and against time, validation loss, learning rate, "
        "gradient norm and throughput. The page needs no script and no other file. Where two "
        "folders have the same name, more of their paths is shown.",
    .examples = "hpccoder report runs/a runs/b  # a summary\n"
                "hpccoder report runs/* --out runs.html  # the same as a page with plots\n"
                "hpccoder report runs/* --out loss.png --x time  # a picture, along time\n",
    .options = options,
    .options_bytes = sizeof(report_options),
    .run = run_report};
