/*
 * corpus_harvest.c: `hpccoder corpus harvest`: builds a corpus from git repositories.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cmd/cmd.h"
#include "cmd/corpus_print.h"

enum { LIST_MOST = 1 << 26, CLUSTERS_LEAST = 3 };

typedef struct harvest_options {
    const char *out, *list, *licences, *held_out, *split;
    int64_t seed, max_bytes, threads;
    bool history, resume, json, quiet;
} harvest_options;

/* The repositories to harvest, from arguments and from --list; the arena holds the texts. */
typedef struct work_list {
    hpc_arena *arena;
    hpc_repository *item;
    int64_t n, cap;
} work_list;

static int add_repository(work_list *w, const char *text, size_t n)
{
    int rc = HPC_OK;
    TRY(hpc_grow(&w->item, &w->cap, w->n + 1, sizeof *w->item));
    char *copy = hpc_arena_text(w->arena, "%.*s", (int)n, text);
    if (!copy) TRY(HPC_E_NOMEM);
    hpc_repository *r = &w->item[w->n++];
    TRY(hpc_cmd_name_path(&r->name, &r->path, copy));
out:
    return rc;
}

static int read_list(work_list *w, const char *path)
{
    hpc_buf text = {0};
    int rc = HPC_OK;
    TRY(hpc_file_read(&text, path, LIST_MOST));
    const char *end = text.data + text.n;
    for (const char *p = text.data; p < end; p++) {
        p += strspn(p, " \t\r");
        size_t line = strcspn(p, "\n"), n = line;
        while (n > 0 && strchr(" \t\r", p[n - 1])) n--;
        if (n > 0 && *p != '#') TRY(add_repository(w, p, n));
        p += line;
    }
out:
    hpc_buf_release(&text);
    return rc;
}

static int parse_split(double *validation, double *test, const char *text)
{
    char *end = NULL, *last = NULL;
    *validation = strtod(text, &end);
    *test = *end == ',' ? strtod(end + 1, &last) : 0;
    if (end == text || !last || last == end + 1 || *last)
        return hpc_fail(HPC_E_ARG,
                        "--split %s: expected two shares for validation and test, as in 0.05,0.05",
                        text);
    return HPC_OK;
}

/* ---- results ------------------------------------------------------------------------------ */

static int64_t peak_bytes(void)
{
    struct rusage use;
    return getrusage(RUSAGE_SELF, &use) == 0 ? (int64_t)use.ru_maxrss * 1024 : 0;
}

/* Of few clusters none can have its share, so nothing is said. Shares are compared as printed. */
static void remark_on_splits(const hpc_harvest_result *r, const hpc_harvest_options *h)
{
    const double wanted[HPC_SPLIT_N] = {
        [HPC_SPLIT_VALIDATION] = h->validation, [HPC_SPLIT_TEST] = h->test};
    char line[256];
    if (r->complete && r->kept_n == 0)
        hpc_cmd_warn("no file was kept; the table counts the files by reason", h->user);
    if (r->kept_n > 0 && r->clusters_n < CLUSTERS_LEAST && h->validation > 0 &&
        r->split_n[HPC_SPLIT_VALIDATION] == 0)
    {
        snprintf(line, sizeof line,
                 "there is no validation split: the corpus has %lld cluster%s of repositories, and "
                 "a split needs %d or more; add repositories, or train without validation",
                 (long long)r->clusters_n, r->clusters_n == 1 ? "" : "s", CLUSTERS_LEAST);
        hpc_cmd_warn(line, h->user);
    }
    for (int s = HPC_SPLIT_VALIDATION; s < HPC_SPLIT_N && r->clusters_n >= CLUSTERS_LEAST; s++) {
        long want = lround(1000 * wanted[s]);
        long got = lround(1000 * (double)r->split_bytes[s] / (double)r->kept_bytes);
        if (want == 0 || (2 * got >= want && got <= 2 * want)) continue;
        snprintf(line, sizeof line,
                 "the %s split has %.1f %% of the bytes instead of %.1f %%: repositories that "
                 "share code stay together, and there are only %lld clusters",
                 hpc_split_name((hpc_split)s), (double)got / 10, (double)want / 10,
                 (long long)r->clusters_n);
        hpc_cmd_warn(line, h->user);
    }
}

static int report(const hpc_harvest_result *r, const harvest_options *o, const harvest_spent *s)
{
    hpc_buf text = {0};
    if (o->json)
        hpc_cmd_harvest_json(&text, r, s);
    else
        hpc_cmd_harvest_text(&text, r, s);
    int rc = hpc_cmd_print_report(
        &text, r->complete ? "the corpus is complete in" : "finished work is in", o->out);
    if (rc < 0) return rc;
    if (r->stopped)
        return hpc_fail(HPC_E_ABORTED, "stopped; finished work is in %s, --resume continues",
                        o->out);
    if (!r->complete && r->failed_n == 0)
        hpc_cmd_warn("other processes are still reading repositories; the last one to finish "
                     "writes corpus.db",
                     "corpus harvest");
    return r->failed_n > 0 ? EXIT_BAD_INPUT : EXIT_DONE;
}

static int run(void *options, int argc, char **argv)
{
    const harvest_options *o = options;
    hpc_harvest_options h = HPC_HARVEST_DEFAULTS;
    hpc_harvest_result result;
    hpc_progress progress;
    hpc_cmd_signals *signals = NULL;
    work_list w = {0};
    char sketch[PATH_MAX];
    int64_t start = hpc_clock_ns();
    int rc = HPC_OK;
    w.arena = hpc_arena_create(0);
    if (!w.arena) TRY(HPC_E_NOMEM);
    if (!o->out) TRY(hpc_fail(HPC_E_ARG, "--out DIR is missing: the folder for the corpus"));
    for (int k = 0; k < argc; k++) TRY(add_repository(&w, argv[k], strlen(argv[k])));
    if (o->list) TRY(read_list(&w, o->list));
    if (w.n == 0) TRY(hpc_fail(HPC_E_ARG, "no repository: name one as an argument or in --list"));
    TRY(parse_split(&h.validation, &h.test, o->split));
    TRY(hpc_cmd_find_sketch(&h.held_out, sketch, o->held_out));
    hpc_cmd_progress(&progress, o->quiet);
    TRY(hpc_cmd_signals_start(&signals, "corpus harvest",
                              "finished work is kept, --resume continues"));
    h.repository = w.item;
    h.repositories_n = w.n;
    h.folder = o->out;
    h.history = o->history;
    h.resume = o->resume;
    h.licences = o->licences;
    h.threads = hpc_cmd_threads(o->threads);
    h.seed = o->seed;
    h.file_bytes = o->max_bytes;
    h.progress = &progress;
    h.warn = hpc_cmd_warn;
    h.stop = hpc_cmd_signals_stop(signals);
    h.user = (void *)"corpus harvest";
    TRY(hpc_corpus_harvest(&result, &h));
    harvest_spent s = {(double)(hpc_clock_ns() - start) * 1e-9, peak_bytes()};
    TRY(report(&result, o, &s));
    if (result.complete && !o->quiet) remark_on_splits(&result, &h);
out:
    hpc_cmd_signals_end(signals);
    hpc_free(w.item);
    hpc_arena_free(w.arena);
    return rc;
}

static const hpc_option options[] = {
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(harvest_options, out),
     .argument = "DIR",
     .help = "Folder for the corpus; created if missing."},
    {.name = "list",
     .kind = HPC_TEXT,
     .offset = offsetof(harvest_options, list),
     .argument = "FILE",
     .help = "File that lists more repositories, one PATH or NAME=PATH per line; lines with # are "
             "comments."},
    {.name = "history",
     .kind = HPC_FLAG,
     .offset = offsetof(harvest_options, history),
     .help = "Include every version of every file reachable from a branch or tag, not only HEAD."},
    {.name = "licenses",
     .kind = HPC_TEXT,
     .offset = offsetof(harvest_options, licences),
     .fallback = "permissive",
     .argument = "permissive|all|LIST",
     .help = "Licences to keep. LIST: SPDX names separated by commas."},
    {.name = "held-out",
     .kind = HPC_TEXT,
     .offset = offsetof(harvest_options, held_out),
     .argument = "FILE|none",
     .help =
         "Sketch of content to exclude. Default: held-out.sketch, which comes with the program."},
    {.name = "split",
     .kind = HPC_TEXT,
     .offset = offsetof(harvest_options, split),
     .fallback = "0.05,0.05",
     .argument = "V,T",
     .help = "Shares of the bytes for validation and test."},
    {.name = "seed",
     .kind = HPC_INT,
     .offset = offsetof(harvest_options, seed),
     .fallback = "0",
     .argument = "N",
     .help = "Seed that assigns clusters of repositories to validation and test."},
    {.name = "max-bytes",
     .kind = HPC_INT,
     .offset = offsetof(harvest_options, max_bytes),
     .fallback = "1000000",
     .argument = "N",
     .least = 1,
     .most = 268435456,
     .help = "Drop files larger than N bytes."},
    HPC_CMD_THREADS(harvest_options),
    HPC_CMD_RESUME(harvest_options),
    HPC_CMD_JSON(harvest_options),
    HPC_CMD_QUIET(harvest_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_corpus_harvest = {
    .name = "corpus harvest",
    .summary = "Build a corpus of source code from git repositories.",
    .arguments = "REPO...",
    .description =
        "Reads local git repositories, bare or not, and keeps C, C++, CUDA, HIP, Fortran and "
        "OpenCL files under accepted licences. It drops generated, vendored and held-out files, "
        "files with secrets, and duplicates. REPO is PATH or NAME=PATH. The default name is "
        "owner/name of the origin, or the name of the folder.\n\n"
        "DIR holds harvest.json (the settings), corpus.db (SQLite, one row per file; rows of "
        "dropped files give the reason) and content/ (compressed texts). Repositories that share "
        "much code form a cluster, and all files of a cluster go into the same split: training, "
        "validation or test.\n\n"
        "The result is the same, byte for byte, for any number of threads and processes and after "
        "any number of interruptions. Ctrl-C and TERM keep the finished work in DIR (exit status "
        "3), and --resume continues, also after a kill or a full disk. Several processes may run "
        "the same command with --resume, on one machine or on several that share DIR. Each takes "
        "the next free repository, and the last one writes corpus.db.\n\n"
        "A repository that cannot be opened is reported and skipped; the exit status is then 2, "
        "and --resume tries it again. If none can be opened, nothing is written. --resume also "
        "checks a complete corpus and restores damaged or missing files to the same bytes.",
    .examples =
        "hpccoder corpus harvest ~/src/hypre ~/src/RAJAPerf --out corpus  # two repositories, "
        "HEAD\n"
        "hpccoder corpus harvest --list repos.txt --history --out corpus  # every version of every "
        "file\n"
        "mpirun -n 8 hpccoder corpus harvest --resume --list repos.txt --out corpus  # 8 processes",
    .options = options,
    .options_bytes = sizeof(harvest_options),
    .run = run,
};
