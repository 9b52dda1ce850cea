/*
 * corpus_sketch.c: `hpccoder corpus sketch`: builds the sketch that recognises held-out content. It
 * made share/held-out.sketch.
 */
#include <string.h>

#include "cmd/cmd.h"
#include "corpus/corpus.h"

typedef struct sketch_options {
    const char *list, *out;
    int64_t threads;
    bool history, json;
} sketch_options;

static void put_json(hpc_buf *out, const hpc_sketch_facts *f)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_int(&w, "bytes", f->bytes);
    hpc_json_put_int(&w, "names", f->names_n);
    hpc_json_put_int(&w, "patterns", f->patterns_n);
    hpc_json_put_bool(&w, "history", f->history);
    hpc_json_put_int(&w, "files", f->files_n);
    hpc_json_put_int(&w, "foreign", f->foreign_n);
    hpc_json_put_int(&w, "unread", f->unread_n);
    hpc_json_put_int(&w, "streams", f->streams_n);
    hpc_json_put_int(&w, "shingles", f->shingles_n);
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void put_text(hpc_buf *out, const hpc_sketch_facts *f, const char *path)
{
    char bytes[32];
    hpc_buf_printf(
        out,
        "%s: %s: %lld names, %lld patterns; %lld distinct files of %s (without %lld foreign and "
        "%lld unreadable ones), %lld distinct streams of tokens, %lld distinct shingles\n",
        path, hpc_cmd_bytes(bytes, (double)f->bytes), (long long)f->names_n,
        (long long)f->patterns_n, (long long)f->files_n, f->history ? "all history" : "HEAD",
        (long long)f->foreign_n, (long long)f->unread_n, (long long)f->streams_n,
        (long long)f->shingles_n);
}

static int run(void *options, int argc, char **argv)
{
    int rc = HPC_E_NOMEM;
    const sketch_options *o = options;
    hpc_sketch *made = NULL;
    hpc_sketch_facts facts;
    hpc_buf out = {0};
    if (!o->list || !o->out)
        return hpc_fail(
            HPC_E_ARG,
            "--list FILE and --out FILE are required: the list of held-out content and the sketch");
    hpc_repository *repository = hpc_alloc((size_t)argc + 1, sizeof *repository);
    if (!repository) goto out;
    for (int i = 0; i < argc; i++)
        TRY(hpc_cmd_name_path(&repository[i].name, &repository[i].path, argv[i]));
    hpc_sketch_options how = {.list = o->list,
                              .repository = repository,
                              .repositories_n = argc,
                              .history = o->history,
                              .threads = hpc_cmd_threads(o->threads),
                              .warn = hpc_cmd_warn,
                              .user = "corpus sketch"};
    TRY(hpc_sketch_make(o->out, &how));
    TRY(hpc_sketch_open(&made, o->out));
    hpc_sketch_describe(&facts, made);
    if (o->json)
        put_json(&out, &facts);
    else
        put_text(&out, &facts, o->out);
    TRY(hpc_cmd_print_report(&out, "the sketch is in", o->out));
out:
    hpc_buf_release(&out);
    hpc_sketch_close(made);
    hpc_free(repository);
    return rc;
}

static const hpc_option options[] = {
    {.name = "list",
     .kind = HPC_TEXT,
     .offset = offsetof(sketch_options, list),
     .argument = "FILE",
     .help = "List of held-out content, with lines owner/name, path:owner/name:GLOB or "
             "foreign:owner/name:GLOB."},
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(sketch_options, out),
     .argument = "FILE",
     .help = "File for the sketch."},
    {.name = "history",
     .kind = HPC_FLAG,
     .offset = offsetof(sketch_options, history),
     .help = "Include every file content reachable from any commit, not only HEAD."},
    HPC_CMD_THREADS(sketch_options),
    HPC_CMD_JSON(sketch_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_corpus_sketch = {
    .name = "corpus sketch",
    .summary = "Build a sketch that identifies content held out for evaluation.",
    .arguments = "REPOSITORY...",
    .description =
        "Reads local copies of the evaluation repositories and writes what `corpus harvest` and "
        "`corpus check` need to identify them: names, path patterns, git ids, and hashes of their "
        "code. The sketch contains no source text.\n\n"
        "REPOSITORY is a folder with a git repository, bare or not, or NAME=FOLDER if the address "
        "of its origin does not contain the name. If the list names a repository only in path "
        "patterns, only matching files are included. Vendored folders, and paths that the list "
        "marks as foreign, contain code of other projects and are left out. A name without a local "
        "copy is matched by name only. The file does not depend on the number of threads.",
    .examples = "hpccoder corpus sketch --history --list held-out.txt --out held-out.sketch */.git",
    .options = options,
    .options_bytes = sizeof(sketch_options),
    .run = run,
};
