/*
 * `hpccoder perf collect`: measures the cost of the commits of a repository.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/asked.h"
#include "cmd/terminal.h"

typedef struct collect_options {
    const char *repo, *range, *product;
    hpc_texts path;
    asked_measure measure;
    bool all, json, quiet;
} collect_options;

static int parse_range(hpc_history_options *h, asked *a, const char *range)
{
    const char *dots = strstr(range, "..");
    size_t n = dots ? (size_t)(dots - range) : 0;
    if (strstr(range, "..."))
        return hpc_fail(HPC_E_ARG, "--range %.100s: expected two dots, as in v1..HEAD", range);
    h->head = dots ? dots + 2 : range;
    if (!*h->head) h->head = "HEAD";
    if (n == 0) return HPC_OK;
    h->base = hpc_arena_text(a->arena, "%.*s", (int)n, range);
    return h->base ? HPC_OK : HPC_E_NOMEM;
}

static int parse_paths(hpc_history_options *h, asked *a, const hpc_texts *given)
{
    if (given->n == 0) return HPC_OK;
    const char **path = hpc_arena_alloc(a->arena, (size_t)given->n + 1, sizeof *path);
    if (!path) return HPC_E_NOMEM;
    for (int64_t k = 0; k < given->n; k++) path[k] = given->item[k];
    h->paths = path;
    return HPC_OK;
}

static int understand(hpc_history_options *h, asked *a, const collect_options *o)
{
    int rc = HPC_OK;
    a->quiet = o->quiet;
    a->command = "perf collect";
    TRY(parse_range(h, a, o->range));
    TRY(parse_paths(h, a, &o->path));
    TRY(asked_history(h, a, &o->measure));
    h->repository = o->repo;
    h->all = o->all;
    h->product = o->product;
out:
    return rc;
}

/* ---- results -------------------------------------------------------------------------------- */

typedef struct row {
    const char *key, *name;
    int64_t n;
} row;
enum { ROWS = 7 };

static void rows_of(row out[ROWS], const hpc_history_result *r)
{
    const row all[ROWS] = {{"commits", "commits", r->commits},
                           {"there", "  measured before", r->there},
                           {"measured", "  measured now", r->measured},
                           {"same", "  with the same product as their parents", r->same},
                           {"unbuilt", "  that do not build", r->unbuilt},
                           {"unrun", "  that do not run", r->unrun},
                           {"samples", "samples added", r->samples}};
    memcpy(out, all, sizeof all);
}

static int report(const hpc_history_result *r, const collect_options *o)
{
    hpc_buf text = {0};
    row rows[ROWS];
    rows_of(rows, r);
    if (o->json) {
        hpc_json_out w = {.buf = &text, .indent = 2};
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_bool(&w, "complete", !r->stopped);
        for (int k = 0; k < ROWS; k++) hpc_json_put_int(&w, rows[k].key, rows[k].n);
        hpc_json_put_real(&w, "build_seconds", r->build_s);
        hpc_json_put_real(&w, "run_seconds", r->run_s);
        hpc_json_close(&w, '}');
        hpc_buf_text(&text, "\n");
    } else {
        static const hpc_column columns[] = {{.title = NULL}, {.right = true}};
        hpc_table t = {.column = columns, .columns = 2};
        for (int k = 0; k < ROWS; k++) {
            hpc_table_cell(&t, "%s", rows[k].name);
            hpc_table_cell(&t, "%lld", (long long)rows[k].n);
        }
        hpc_table_print(&text, &t, hpc_cmd_table_columns());
        hpc_buf_printf(&text, "%.0f s of builds, %.0f s of runs\n", r->build_s, r->run_s);
    }
    int rc = hpc_cmd_print_report(&text, "the measurements are in", o->measure.db);
    if (rc < 0) return rc;
    if (r->stopped)
        return hpc_fail(HPC_E_ABORTED,
                        "stopped; measurements are kept in %s, and the same command continues",
                        o->measure.db);
    if (r->there + r->measured + r->same == 0)
        return hpc_fail(HPC_E_ARG,
                        "none of %lld commits could be measured: %lld do not build, %lld do not "
                        "run; their output is in table attempt of %s",
                        (long long)r->commits, (long long)r->unbuilt, (long long)r->unrun,
                        o->measure.db);
    return EXIT_DONE;
}

static int run(void *options, int argc, char **argv)
{
    const collect_options *o = options;
    hpc_history_options h = HPC_HISTORY_DEFAULTS;
    hpc_history_result result;
    hpc_cmd_signals *signals = NULL;
    asked a = {0};
    int rc = HPC_OK;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    a.arena = hpc_arena_create(0);
    if (!a.arena) return HPC_E_NOMEM;
    TRY(understand(&h, &a, o));
    TRY(hpc_cmd_signals_start(&signals, "perf collect",
                              "measurements are kept, the same command continues"));
    h.stop = hpc_cmd_signals_stop(signals);
    h.tell = asked_say;
    h.user = &a;
    TRY(hpc_history_collect(&result, &h));
    TRY(report(&result, o));
out:
    hpc_cmd_signals_end(signals);
    asked_release(&a);
    hpc_arena_free(a.arena);
    return rc;
}

static const hpc_option options[] = {
    {.name = "repo",
     .kind = HPC_TEXT,
     .offset = offsetof(collect_options, repo),
     .fallback = ".",
     .argument = "DIR",
     .help = "Git repository; only read."},
    {.name = "range",
     .kind = HPC_TEXT,
     .offset = offsetof(collect_options, range),
     .fallback = "HEAD",
     .argument = "A..B",
     .help = "Commits to measure: A, and those reachable from B but not from A. With B alone: all "
             "that are reachable from B."},
    {.name = "all",
     .kind = HPC_FLAG,
     .offset = offsetof(collect_options, all),
     .help = "Include all commits of merged branches, not only first parents."},
    {.name = "path",
     .kind = HPC_TEXTS,
     .offset = offsetof(collect_options, path),
     .argument = "PATH",
     .help = "Measure only commits that change this path."},
    {.name = "product",
     .kind = HPC_TEXT,
     .offset = offsetof(collect_options, product),
     .argument = "FILE",
     .help = "File that the build produces. If it is identical to the parent's, nothing is run."},
    ASKED_OPTIONS(offsetof(collect_options, measure)),
    HPC_CMD_JSON(collect_options),
    HPC_CMD_QUIET(collect_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_perf_collect = {
    .name = "perf collect",
    .summary = "Build and run the commits of a repository, and record their cost.",
    .arguments = "",
    .description =
        "Checks out each commit of a range into its own folder, builds it, runs it several times, "
        "and stores every sample in a performance history. The repository, its index and its work "
        "tree are only read. Commands run in the folder of the commit, without its .git, under "
        "your account and with limits on time and memory. Processes that they leave running are "
        "terminated.\n\n"
        "Metrics are costs: less is better. time is wall-clock time, user is CPU time, and memory "
        "is the peak of the largest process. instructions are counted by the processor "
        "(instructions-hardware) if its counters are accessible, otherwise by valgrind "
        "(instructions-valgrind). Counts from valgrind are the same on a noisy machine. cost is "
        "instructions + 10 per miss of a first-level cache + 100 per miss of the last level, in "
        "simulated caches. It reflects memory traffic, but neither vector width nor threads. "
        "NAME=PATTERN reads a number from the output of the run: the first group ( ) of the last "
        "match of a POSIX extended regular expression, with \\d for a digit. NAME/s=PATTERN reads "
        "a rate, for which more is better, and stores its inverse 1/NAME.\n\n"
        "Counts from valgrind are also stored per source line if the build has line numbers (-g, "
        "which does not change the code of -O2 or -O3). perf train and perf predict --db use this "
        "line profile to see whether changed lines run at all, and their share of the cost.\n\n"
        "Neighbouring commits run in alternation and in random order, so that disturbances on the "
        "machine affect all of them. Runs repeat until the median is known to --precision.\n\n"
        "Each sample is written to FILE at once. After a kill or Ctrl-C, the same command "
        "continues and measures only what is missing. With another --build, --run or --machine, "
        "all commits are measured again, and earlier samples are kept. Commits that fail to build "
        "or run are recorded with the end of their output, and not tried again without --retry. "
        "Submodules are taken from the clones in .git/modules; missing ones stay empty.",
    .examples =
        "hpccoder perf collect --range v1.0..HEAD --build 'make -j4' --run './bench' --db perf.db\n"
        "hpccoder perf collect --range HEAD~50..HEAD --build make --run './bench small' -m cost "
        "--db perf.db  # on a noisy machine\n"
        "hpccoder perf collect --build 'cmake -B b && cmake --build b' --run 'b/stream' -m "
        "'triad/s=Triad: *(\\d+[.]\\d+)' --db perf.db  # a rate from the output",
    .options = options,
    .options_bytes = sizeof(collect_options),
    .run = run,
};
