/*
 * corpus_check.c: `hpccoder corpus check`: finds held-out content in a corpus or in files.
 *
 * It changes nothing; removing the content is up to the owner of the corpus.
 */
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "corpus/corpus.h"

typedef struct check_options {
    const char *held_out;
    double share;
    int64_t threads;
    bool json, quiet;
} check_options;

typedef struct report {
    hpc_buf text;
    hpc_json_out json;
    bool as_json;
} report;

static int put_finding(const hpc_finding *f, void *user)
{
    report *r = user;
    if (r->as_json) {
        hpc_json_open(&r->json, NULL, '{');
        hpc_json_put_text(&r->json, "where", f->where);
        hpc_json_put_text(&r->json, "reason", hpc_reason_name(f->reason));
        hpc_json_put_real(&r->json, "share", f->share);
        hpc_json_put_text(&r->json, "detail", f->detail);
        hpc_json_close(&r->json, '}');
    } else if (f->reason == HPC_REASON_HELD_OUT_SHINGLES) {
        hpc_buf_printf(&r->text, "%s: %s: %.1f %%: %s\n", f->where, hpc_reason_name(f->reason),
                       100 * f->share, f->detail);
    } else {
        hpc_buf_printf(&r->text, "%s: %s: %s\n", f->where, hpc_reason_name(f->reason), f->detail);
    }
    return r->text.failed;
}

static void put_summary(report *r, const hpc_check_result *found)
{
    if (r->as_json) {
        hpc_json_close(&r->json, ']');
        hpc_json_put_int(&r->json, "files", found->files_n);
        hpc_json_put_real(&r->json, "worst_share", found->worst_share);
        hpc_json_put_text(&r->json, "worst", found->worst_share > 0 ? found->worst : NULL);
        hpc_json_close(&r->json, '}');
        hpc_buf_text(&r->text, "\n");
        return;
    }
    hpc_buf_printf(&r->text, "%lld files checked, %lld found", (long long)found->files_n,
                   (long long)found->findings_n);
    if (found->worst_share > 0)
        hpc_buf_printf(&r->text, "; closest of the others, with %.2f %% held out: %s",
                       100 * found->worst_share, found->worst);
    hpc_buf_text(&r->text, "\n");
}

static int open_sketch(hpc_sketch **out, const char *asked)
{
    char room[PATH_MAX];
    const char *path = NULL;
    int rc = hpc_cmd_find_sketch(&path, room, asked);
    if (rc < 0) return rc;
    return path ? hpc_sketch_open(out, path)
                : hpc_fail(HPC_E_ARG, "--held-out none: a check needs a sketch");
}

static int check_file(hpc_check_result *out, const char *path, const hpc_sketch *sketch,
                      const hpc_check_options *how)
{
    hpc_buf text = {0};
    int rc = hpc_cmd_read(&text, path);
    if (rc >= 0)
        rc = hpc_corpus_check_text(out, path, text.data ? text.data : "", text.n, sketch, how);
    hpc_buf_release(&text);
    return rc;
}

static bool is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* One bad argument does not keep the others from being checked. *bad: its error code. */
static int check_all(hpc_check_result *out, int *bad, int argc, char **argv,
                     const hpc_sketch *sketch, const hpc_check_options *how)
{
    for (int i = 0; i < argc; i++) {
        int rc = is_folder(argv[i]) ? hpc_corpus_check(out, argv[i], sketch, how)
                                    : check_file(out, argv[i], sketch, how);
        if (rc == HPC_E_NOMEM) return rc;
        if (rc >= 0) continue;
        hpc_cmd_warn(hpc_error_get()->text, "corpus check");
        hpc_error_clear();
        *bad = rc;
    }
    return HPC_OK;
}

static int run(void *options, int argc, char **argv)
{
    int rc = HPC_OK, bad = HPC_OK;
    const check_options *o = options;
    hpc_sketch *sketch = NULL;
    hpc_progress progress;
    hpc_check_result found = {0};
    report r = {.as_json = o->json};
    hpc_check_options how = {.share = o->share,
                             .threads = hpc_cmd_threads(o->threads),
                             .progress = &progress,
                             .found = put_finding,
                             .user = &r};
    if (argc == 0) return hpc_fail(HPC_E_ARG, "name a corpus or files to check");
    r.json = (hpc_json_out){.buf = &r.text, .indent = 2};
    hpc_cmd_progress(&progress, o->quiet);
    TRY(open_sketch(&sketch, o->held_out));
    if (o->json) hpc_json_open(&r.json, NULL, '{');
    if (o->json) hpc_json_open(&r.json, "findings", '[');
    TRY(check_all(&found, &bad, argc, argv, sketch, &how));
    put_summary(&r, &found);
    TRY(hpc_cmd_print(&r.text));
    rc = found.findings_n > 0 ? EXIT_FINDINGS : EXIT_DONE;
    if (bad < 0) rc = bad == HPC_E_IO ? EXIT_BAD_INPUT : hpc_cmd_exit_code(bad);
out:
    hpc_buf_release(&r.text);
    hpc_sketch_close(sketch);
    return rc;
}

static const hpc_option options[] = {
    {.name = "held-out",
     .kind = HPC_TEXT,
     .offset = offsetof(check_options, held_out),
     .argument = "SKETCH",
     .help = "Sketch to check against. Default: the sketch that comes with the program."},
    {.name = "share",
     .kind = HPC_REAL,
     .offset = offsetof(check_options, share),
     .fallback = "0.05",
     .argument = "SHARE",
     .help = "Report a file if more than this share of its 50-token shingles is held out.",
     .least = 0,
     .most = 1},
    HPC_CMD_THREADS(check_options),
    HPC_CMD_JSON(check_options),
    HPC_CMD_QUIET(check_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_corpus_check = {
    .name = "corpus check",
    .summary = "Check a corpus or files for content held out for evaluation.",
    .arguments = "CORPUS|FILE...",
    .description =
        "Compares the training files of a corpus, or single files, with a sketch of the content "
        "that is held out for evaluation. It compares the name of the repository, the path, the "
        "git id, the hash of all code, and the share of 50-token shingles. Comments, including "
        "licence headers, are removed first. Shingles with fewer than five distinct names, such as "
        "tables of numbers, do not count.\n\n"
        "Each finding is one line: the file, the rule and the match. The last line counts the "
        "files and names the one closest to the limit.\n\n"
        "Exit status: 0: nothing found. 1: held-out content found. 2: a file could not be read, "
        "whatever else was found.",
    .examples = "hpccoder corpus check corpus/  # the training files of a corpus\n"
                "hpccoder corpus check --share 0.01 src/*.c  # single files, with a stricter limit",
    .options = options,
    .options_bytes = sizeof(check_options),
    .run = run,
};
