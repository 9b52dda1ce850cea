/*
 * tokenizer_train.c: `hpccoder tokenizer train`: trains a tokenizer on a corpus or on plain files,
 * and writes a folder that other programs can load.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "corpus/sample.h"
#include "model/tokenizer.h"

typedef struct train_options {
    const char *out;
    int64_t vocab, bytes, seed;
    bool json, quiet;
} train_options;

/* ---- what is written ------------------------------------------------------------------------ */

static bool ends_with(const char *text, const char *tail)
{
    size_t n = strlen(text), k = strlen(tail);
    return n >= k && strcmp(text + n - k, tail) == 0;
}

static int save_in(hpc_buf *path, const char *folder, const char *name, const hpc_buf *data)
{
    int rc = HPC_OK;
    path->n = 0;
    TRY(hpc_buf_printf(path, "%s/%s", folder, name));
    TRY(data->failed);
    TRY(hpc_file_save(path->data, data->data, data->n));
out:
    return rc;
}

/* For transformers, which reads the .json: there every special token is matched in text. */
static int write_configs(hpc_buf *path, const char *folder, const hpc_tokenizer *t)
{
    int rc = HPC_OK;
    hpc_buf out = {0};
    hpc_json_out w = {.buf = &out, .indent = 2};
    hpc_tokenizer_special s = hpc_tokenizer_specials(t);
    int32_t end;
    hpc_tokenizer_special_name(t, HPC_SPECIAL_END, &end); /* which ends a text in training */
    TRY(hpc_tokenizer_write_json(&out, t));
    TRY(save_in(path, folder, "tokenizer.json", &out));
    out.n = 0;
    const hpc_model_tokenizer_options options = {.end = end, .json = true};
    TRY(hpc_model_tokenizer_config(&out, t, &options));
    TRY(save_in(path, folder, "tokenizer_config.json", &out));
    out.n = 0;
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "bos_token", hpc_tokenizer_piece(t, s.begin, NULL));
    hpc_json_put_text(&w, "eos_token", hpc_tokenizer_piece(t, end, NULL));
    hpc_json_close(&w, '}');
    hpc_buf_text(&out, "\n");
    TRY(save_in(path, folder, "special_tokens_map.json", &out));
out:
    hpc_buf_release(&out);
    return rc;
}

static int write_all(hpc_tokenizer **t, const train_options *o, const hpc_buf *model)
{
    int rc = HPC_OK;
    hpc_buf path = {0};
    TRY(hpc_tokenizer_open_model(t, model->data, model->n, o->out));
    if (ends_with(o->out, ".model")) {
        TRY(hpc_file_save(o->out, model->data, model->n));
        goto out;
    }
    TRY(save_in(&path, o->out, "tokenizer.model", model));
    TRY(write_configs(&path, o->out, *t));
out:
    hpc_buf_release(&path);
    return rc;
}

static int report(const hpc_text_sample *from, const train_options *o, const hpc_tokenizer *t,
                  int64_t ns)
{
    hpc_buf out = {0};
    char size[32];
    hpc_hash128 h = hpc_tokenizer_hash(t);
    if (o->json) {
        char hash[40];
        hpc_json_out w = {.buf = &out, .indent = 2};
        snprintf(hash, sizeof hash, "%016llx%016llx", (unsigned long long)h.high,
                 (unsigned long long)h.low);
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_text(&w, "out", o->out);
        hpc_json_put_int(&w, "pieces", hpc_tokenizer_n(t));
        hpc_json_put_text(&w, "hash", hash);
        hpc_json_put_int(&w, "files", from->used_n);
        hpc_json_put_int(&w, "bytes", from->used);
        hpc_json_put_int(&w, "bytes_in_all", from->total);
        hpc_json_put_real(&w, "seconds", (double)ns * 1e-9);
        hpc_json_close(&w, '}');
        hpc_buf_text(&out, "\n");
    } else {
        hpc_buf_printf(&out, "%s: %lld pieces, from %lld files with %s, in %.1f s\n", o->out,
                       (long long)hpc_tokenizer_n(t), (long long)from->used_n,
                       hpc_cmd_bytes(size, (double)from->used), (double)ns * 1e-9);
    }
    return hpc_cmd_print_report(&out, "the tokenizer is in", o->out);
}

/* ---- the command ---------------------------------------------------------------------------- */

/* The library reports how many pieces it has learned as "... size=N ...". */
static void watch(const char *line, void *user)
{
    const char *size = strstr(line, " size=");
    if (size) hpc_progress_update(user, strtoll(size + 6, NULL, 10), NULL);
}

static int run_training(hpc_buf *model, hpc_text_sample *from, const train_options *o)
{
    const char *marks[HPC_MARK_N] = {0};
    char library[PATH_MAX];
    hpc_progress progress;
    hpc_tokenizer_text text = {.next = hpc_text_sample_next, .user = from};
    hpc_tokenizer_train_options options = HPC_TOKENIZER_TRAIN_DEFAULTS;
    int rc = HPC_OK;
    for (int m = 1; m < HPC_MARK_N; m++) marks[m - 1] = hpc_mark_text((hpc_mark)m);
    TRY(hpc_cmd_find(library, "hpccoder-spm.so"));
    if (!*library)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "this build cannot train a tokenizer: hpccoder-spm.so is "
                                        "missing; install libsentencepiece-dev and rebuild"));
    *strrchr(library, '/') = '\0';
    hpc_cmd_progress(&progress, o->quiet);
    hpc_progress_start(&progress, "tokenizer train", "pieces", o->vocab);
    options.vocabulary = o->vocab;
    options.marks = marks;
    options.library = library;
    options.progress = watch;
    options.user = &progress;
    TRY(hpc_tokenizer_train(model, &text, &options));
    hpc_progress_end(&progress, o->vocab);
out:
    return rc;
}

static int run(void *options, int argc, char **argv)
{
    const train_options *o = options;
    hpc_text_sample from = {.path = argv, .paths_n = argc, .bytes = o->bytes, .seed = o->seed};
    hpc_buf model = {0};
    hpc_tokenizer *t = NULL;
    int64_t start = hpc_clock_ns();
    int rc = HPC_OK;
    if (argc < 1) TRY(hpc_fail(HPC_E_ARG, "name a corpus or files to train on; see --help"));
    if (!o->out) TRY(hpc_fail(HPC_E_ARG, "--out is missing: a folder, or a file NAME.model"));
    TRY(hpc_text_sample_measure(&from));
    if (!ends_with(o->out, ".model")) { /* now, not after an hour of training */
        TRY(hpc_file_mkdir(o->out));
        TRY(hpc_file_sweep(o->out));
    }
    TRY(run_training(&model, &from, o));
    TRY(write_all(&t, o, &model));
    if (hpc_tokenizer_n(t) < o->vocab && !o->quiet)
        hpc_cmd_warn("the text is too small for this vocabulary; the result is smaller",
                     "tokenizer train");
    TRY(report(&from, o, t, hpc_clock_ns() - start));
out:
    hpc_tokenizer_close(t);
    hpc_buf_release(&model);
    hpc_text_sample_release(&from);
    return rc;
}

static const hpc_option options[] = {
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(train_options, out),
     .argument = "PATH",
     .help = "Folder to write; only the model if the name ends in .model."},
    {.name = "vocab",
     .kind = HPC_INT,
     .offset = offsetof(train_options, vocab),
     .fallback = "32768",
     .argument = "N",
     .least = 1,
     .most = 1048576,
     .help = "Size of the vocabulary; 8192 suits small models."},
    {.name = "bytes",
     .kind = HPC_INT,
     .offset = offsetof(train_options, bytes),
     .fallback = "0",
     .argument = "N",
     .most = 1e15,
     .help = "Train on about this many bytes, sampled as blocks of lines from all of the text; 0: "
             "on all."},
    {.name = "seed",
     .kind = HPC_INT,
     .offset = offsetof(train_options, seed),
     .fallback = "0",
     .argument = "N",
     .most = 9e15,
     .help = "Seed for the choice of blocks."},
    HPC_CMD_JSON(train_options),
    HPC_CMD_QUIET(train_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_tokenizer_train = {
    .name = "tokenizer train",
    .summary = "Train a tokenizer on a corpus or files.",
    .arguments = "CORPUS|FILE...",
    .description =
        "Trains a SentencePiece BPE model with byte fallback on the training split of a corpus "
        "from `hpccoder corpus harvest`, or on plain files. Text is not normalised, so every UTF-8 "
        "text round-trips exactly. Line ends, indentation of up to 32 spaces or 8 tabs, and common "
        "words of HPC code are single tokens. Digits are split, and the marks of samples are "
        "special tokens.\n\n"
        "The folder contains tokenizer.model for the SentencePiece library. It also contains "
        "tokenizer.json, tokenizer_config.json and special_tokens_map.json for transformers, which "
        "produces the same ids, also for special tokens in the text.\n\n"
        "The same files, options and version of the library give the same bytes.",
    .examples = "hpccoder tokenizer train corpus --out model  # 32,768 tokens\n"
                "hpccoder tokenizer train corpus --out small.model --vocab 8192 --bytes 50000000\n"
                "hpccoder tokenizer train src/*.c --out mine --vocab 2048  # on a few files",
    .options = options,
    .options_bytes = sizeof(train_options),
    .run = run,
};
