/*
 * eval_perplexity.c: the command `eval perplexity`.
 */
#include "cmd/eval.h"
#include "eval/sets.h"

typedef struct perplexity_options {
    eval_common c;
    const char *ngram_train, *device;
    int64_t context, file_bytes, files, threads;
} perplexity_options;

static int score(const perplexity_options *o, hpc_eval_log *log, const char *model, int argc,
                 char **argv)
{
    hpc_cmd_signals *signals = NULL;
    hpc_progress progress;
    hpc_eval_perplexity_options x = {.files = {.path = (const char *const *)argv,
                                               .path_n = argc,
                                               .most = o->files,
                                               .bytes = o->file_bytes,
                                               .seed = (uint64_t)o->c.seed},
                                     .ngram_train = o->ngram_train,
                                     .model = {.device = o->device,
                                               .threads = hpc_cmd_threads(o->threads),
                                               .context = o->context},
                                     .progress = &progress};
    int rc;
    TRY(hpc_cmd_signals_start(&signals, "eval perplexity", "reporting the files scored so far"));
    x.stop = hpc_cmd_signals_stop(signals);
    hpc_cmd_progress(&progress, o->c.quiet);
    TRY(hpc_eval_perplexity(log, model, &x));
out:
    hpc_cmd_signals_end(signals);
    return rc;
}

static int run(void *options, int argc, char **argv)
{
    const perplexity_options *o = options;
    hpc_eval_log *log = NULL;
    char model[PATH_MAX];
    int rc;
    if (argc < 2)
        return hpc_fail(HPC_E_ARG, "name a model, and the files or folders to score; see --help");
    TRY(hpc_cmd_find_model(model, argv[0], HPC_CMD_PILOT));
    TRY(hpc_cmd_eval_open(&log, &hpc_cmd_eval_perplexity, o, &o->c, (const char *const *)argv,
                          argc));
    TRY(score(o, log, model, argc - 1, argv + 1));
    TRY(hpc_cmd_eval_report(&hpc_eval_suite_perplexity, log, &o->c));
out:
    hpc_eval_log_close(log);
    return rc;
}

static const hpc_option options[] = {
    EVAL_OPTIONS(offsetof(perplexity_options, c)),
    {.name = "ngram-train",
     .kind = HPC_TEXT,
     .offset = offsetof(perplexity_options, ngram_train),
     .argument = "DIR",
     .help = "Train the 5-gram baseline on the source files of DIR, except copies of scored files. "
             "Default: for each file, on all other files of the set."},
    {.name = "context",
     .kind = HPC_INT,
     .offset = offsetof(perplexity_options, context),
     .fallback = "1024",
     .argument = "N",
     .least = 2,
     .most = 1 << 20,
     .help = "Tokens of a window; at most the model's limit. Windows begin half a window after the "
             "last one, so every token after the first window has at least N/2 tokens of context."},
    {.name = "file-bytes",
     .kind = HPC_INT,
     .offset = offsetof(perplexity_options, file_bytes),
     .fallback = "32768",
     .argument = "N",
     .most = 1 << 30,
     .help = "Bytes scored of each file, cut after a line; 0: all."},
    {.name = "files",
     .kind = HPC_INT,
     .offset = offsetof(perplexity_options, files),
     .fallback = "0",
     .argument = "N",
     .most = 1e9,
     .help = "Score at most N files, chosen by the seed; 0: all."},
    HPC_CMD_DEVICE(perplexity_options, NULL),
    HPC_CMD_THREADS(perplexity_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_eval_perplexity = {
    .name = "eval perplexity",
    .summary = "Measure how well a model predicts source files.",
    .arguments = "MODEL FILE|DIR...",
    .description =
        "Computes the likelihood of source files under a model: bits per byte, and perplexity per "
        "token and per byte, for all files, by language and by parallel programming model. Bits "
        "per byte compare models with different tokenizers. The model is a directory or a GGUF "
        "file, because servers of completions do not give the likelihood of a prompt.\n\n"
        "Two baselines predict the same tokens: an interpolated Kneser-Ney model of order 5, and "
        "one that copies the token after the longest earlier match in the file. A model that "
        "barely improves on them has learned little.\n\n"
        "Intervals are bootstrap intervals of 95 % over files.",
    .examples = "hpccoder eval perplexity pilot.gguf src  # all source files below src\n"
                "hpccoder eval perplexity model src --out results/model --html model.html\n"
                "hpccoder eval perplexity other.gguf src --out results/other --compare "
                "results/model",
    .options = options,
    .options_bytes = sizeof(perplexity_options),
    .run = run,
};
