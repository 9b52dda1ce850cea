/*
 * `hpccoder perf report`: options and output of the report on performance histories
 * (corpus/history/report.h).
 */
#include "cmd/cmd.h"
#include "cmd/terminal.h"
#include "corpus/history/report.h"

typedef struct report_options {
    hpc_history_report_options report;
    const char *out;
    bool json;
} report_options;

static int save(const hpc_history_report *r, const char *folder)
{
    bool plots;
    int rc = hpc_history_report_save(&plots, r, folder);
    if (rc >= 0 && !plots)
        hpc_cmd_warn("the page has no separate plots: gnuplot is not installed (Debian package "
                     "gnuplot-nox)",
                     (void *)(uintptr_t) "perf report");
    return rc;
}

static int run(void *options, int argc, char **argv)
{
    const report_options *o = options;
    hpc_history_report r = {0};
    hpc_buf text = {0};
    int rc;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    if (o->report.db.n == 0)
        TRY(hpc_fail(HPC_E_ARG, "--db FILE is missing: a performance history from perf collect"));
    TRY(hpc_history_report_load(&r, &o->report));
    if (o->out) TRY(save(&r, o->out));
    if (o->json)
        TRY(hpc_history_report_json(&text, &r));
    else
        TRY(hpc_history_report_text(&text, &r, hpc_cmd_table_columns()));
    TRY(hpc_cmd_print(&text));
    rc = EXIT_DONE;
out:
    hpc_buf_release(&text);
    hpc_history_report_release(&r);
    return rc;
}

static const hpc_option options[] = {
    {.name = "db",
     .kind = HPC_TEXTS,
     .offset = offsetof(report_options, report.db),
     .argument = "FILE",
     .help = "Performance history from perf collect."},
    {.name = "repo",
     .kind = HPC_TEXT,
     .offset = offsetof(report_options, report.repo),
     .argument = "DIR",
     .help = "Git repository for authors, dates and messages of commits; only read."},
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(report_options, out),
     .argument = "DIR",
     .help = "Also write a page, DIR/index.html, and a plot of each series, DIR/1-time.png and so "
             "on (needs gnuplot)."},
    {.name = "metric",
     .letter = 'm',
     .kind = HPC_TEXTS,
     .offset = offsetof(report_options, report.metric),
     .argument = "METRIC",
     .help = "Report only series with this metric."},
    {.name = "series",
     .kind = HPC_TEXTS,
     .offset = offsetof(report_options, report.series),
     .argument = "TEXT",
     .help = "Report only series with TEXT in their command, build or machine."},
    {.name = "threshold",
     .kind = HPC_REAL,
     .offset = offsetof(report_options, report.threshold),
     .fallback = "0",
     .argument = "PERCENT",
     .least = 0,
     .most = 1000,
     .help = "Ignore smaller changes. 0: labels from 1 % for cost and instructions and from 5 % "
             "for other metrics; change points from 0.5 %."},
    HPC_CMD_JSON(report_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_perf_report = {
    .name = "perf report",
    .summary = "Report which commits made a program slower or faster.",
    .arguments = "",
    .description =
        "Reads measurements from perf collect. A series is a combination of command, build, metric "
        "and machine. For each series, the report lists the commits in parent order with the "
        "median and its 95 % confidence interval. It labels commits that are slower or faster than "
        "the previous measured commit. It also finds change points, where the level changes "
        "permanently. These use all commits before and after, so they are found even if no two "
        "neighbouring commits differ clearly. Each change point has a confidence interval and a "
        "list of commits at which it may have happened. The command prints the change points, "
        "largest first, and the labels.\n\n"
        "Every metric is a cost: +10 % is slower. The rate of false labels among all commits of a "
        "series is at most 5 %. The expected rate of false change points is one in 2,000 commits. "
        "A commit with a byte-identical build has the cost of the previous commit. Commits on "
        "branches have labels but do not take part in change points.\n\n"
        "The page contains a plot of each series that shows the commit under the pointer, the "
        "tables, and the end of the output of failed builds and runs. It needs no script and no "
        "network.",
    .examples = "hpccoder perf report --db perf.db --repo . --out report  # a page and plots\n"
                "hpccoder perf report --db perf.db -m cost --json  # for other programs",
    .options = options,
    .options_bytes = sizeof(report_options),
    .run = run};
