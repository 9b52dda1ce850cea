/*
 * corpus_passages.c: `hpccoder corpus passages`: builds the passage index of a model's training
 * corpus, which attributes copied code in completions. It made share/pilot.passages.
 */
#include "cmd/cmd.h"
#include "corpus/corpus.h"
#include "runtime/source/passage.h"

typedef struct passages_options {
    const char *out;
    bool json, quiet;
} passages_options;

static void put_json(hpc_buf *out, const hpc_passages *p, const hpc_passages_facts *f,
                     int64_t files)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_int(&w, "bytes", f->bytes);
    hpc_json_put_int(&w, "files", files);
    hpc_json_put_int(&w, "tokens", f->tokens_n);
    hpc_json_put_int(&w, "windows", f->windows_n);
    hpc_json_put_int(&w, "common", f->common_n);
    hpc_json_open(&w, "sources", '[');
    for (int64_t k = 0; k < f->sources_n; k++) {
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_text(&w, "repository", hpc_passages_source(p, k)->repository);
        hpc_json_put_text(&w, "license", hpc_passages_source(p, k)->licence);
        hpc_json_close(&w, '}');
    }
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void put_text(hpc_buf *out, const hpc_passages_facts *f, int64_t files, const char *path)
{
    char bytes[32];
    hpc_buf_printf(out,
                   "%s: %s: %lld files of %lld sources, %lld tokens; %lld windows, %lld of them "
                   "common\n",
                   path, hpc_cmd_bytes(bytes, (double)f->bytes), (long long)files,
                   (long long)f->sources_n, (long long)f->tokens_n, (long long)f->windows_n,
                   (long long)f->common_n);
}

static int run(void *options, int argc, char **argv)
{
    const passages_options *o = options;
    hpc_passages *made = NULL;
    hpc_passages_facts facts;
    hpc_progress progress;
    hpc_buf out = {0};
    int64_t files;
    int rc;
    if (argc != 1 || !o->out)
        return hpc_fail(HPC_E_ARG, "name one corpus, and the output with --out FILE");
    hpc_cmd_progress(&progress, o->quiet);
    TRY(hpc_corpus_passages(&files, o->out, argv[0], &progress));
    TRY(hpc_passages_open(&made, o->out));
    hpc_passages_describe(&facts, made);
    if (o->json)
        put_json(&out, made, &facts, files);
    else
        put_text(&out, &facts, files, o->out);
    TRY(hpc_cmd_print_report(&out, "the passage index is in", o->out));
out:
    hpc_buf_release(&out);
    hpc_passages_close(made);
    return rc;
}

static const hpc_option options[] = {
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(passages_options, out),
     .argument = "FILE",
     .help = "File for the passage index: MODEL.passages next to MODEL.gguf."},
    HPC_CMD_JSON(passages_options),
    HPC_CMD_QUIET(passages_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_corpus_passages = {
    .name = "corpus passages",
    .summary = "Build a passage index, to attribute completions that repeat a corpus.",
    .arguments = "CORPUS",
    .description = "Writes hashes of the training code of a corpus, with the names and licences of "
                   "its repositories. `hpccoder complete` uses this index to report that a "
                   "completion repeats 40 or more tokens of the training data, and from which "
                   "repository. The index contains no code. It takes about one byte per five "
                   "tokens of the lexer. The same corpus gives the same bytes.\n\n"
                   "Code found in three or more repositories is treated as common. Comments and "
                   "white space do not count. Renaming every identifier evades the index.",
    .examples = "hpccoder corpus passages corpus --out model.passages",
    .options = options,
    .options_bytes = sizeof(passages_options),
    .run = run,
};
