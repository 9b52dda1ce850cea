/*
 * predict_options.c: the option table of `hpccoder perf predict`.
 */
#include "cmd/predict.h"

static const char *const formats[] = {"text", "json", "sarif", "markdown", "github", NULL};
const hpc_option predict_option_table[] = {
    {.name = "repo",
     .kind = HPC_TEXT,
     .offset = offsetof(predict_options, repo),
     .fallback = ".",
     .argument = "DIR",
     .help = "The git repository; it is only read."},
    {.name = "all",
     .kind = HPC_FLAG,
     .offset = offsetof(predict_options, all),
     .help = "What merges brought too, not first parents alone."},
    {.name = "format",
     .kind = HPC_CHOICE,
     .offset = offsetof(predict_options, format),
     .fallback = "text",
     .argument = "FORMAT",
     .choices = formats,
     .help = "How it is told: as text, JSON, SARIF 2.1.0 (at most 25,000 results and 10 MB), "
             "Markdown for a pull request (at most 60,000 characters), or commands of a workflow "
             "on GitHub."},
    {.name = "warn-on",
     .kind = HPC_REAL,
     .offset = offsetof(predict_options, warn_on),
     .fallback = "0.5",
     .argument = "PROB",
     .most = 2,
     .help = "Warn from this probability of slower on, if the verdict is not unknown; above 1: "
             "never."},
    {.name = "fail-on",
     .kind = HPC_REAL,
     .offset = offsetof(predict_options, fail_on),
     .fallback = "2",
     .argument = "PROB",
     .most = 2,
     .help = "End with exit status 1 from this probability of slower on, if the verdict is not "
             "unknown; above 1: never."},
    {.name = "each",
     .kind = HPC_FLAG,
     .offset = offsetof(predict_options, each),
     .help = "Commits decide whether it fails, not the range as a whole."},
    {.name = "program",
     .kind = HPC_TEXTS,
     .offset = offsetof(predict_options, program),
     .argument = "PATH",
     .help = "A file or folder of the repository that belongs to the measured program, although it "
             "is named like tests, documents or examples, or is not built."},
    {.name = "database",
     .letter = 'p',
     .kind = HPC_TEXT,
     .offset = offsetof(predict_options, database),
     .argument = "FILE",
     .help = "The compile_commands.json of the program's build: sources that it does not compile "
             "do not count."},
    {.name = "model",
     .kind = HPC_TEXT,
     .offset = offsetof(predict_options, model),
     .argument = "DIR",
     .help = "A folder that `perf train` wrote, or its model.json; the one that comes with the "
             "program, if not given."},
    {.name = "language",
     .kind = HPC_TEXT,
     .offset = offsetof(predict_options, language),
     .argument = "MODEL",
     .help = "The language model that `perf train --language` told the model of, or one like it: a "
             "folder or FILE.gguf."},
    {.name = "ack",
     .kind = HPC_TEXT,
     .offset = offsetof(predict_options, ack),
     .argument = "FILE",
     .help = "What is acknowledged, in place of .perf-ack as it is in HEAD; - reads standard "
             "input."},
    {.name = "measure",
     .kind = HPC_FLAG,
     .offset = offsetof(predict_options, measure),
     .help = "Measure what the prediction leaves open, as what follows says, and find the commits "
             "that changed it."},
    ASKED_OPTIONS(offsetof(predict_options, how)),
    HPC_CMD_JSON(predict_options),
    {.name = "verbose",
     .letter = 'v',
     .kind = HPC_FLAG,
     .offset = offsetof(predict_options, verbose),
     .help = "Also print all probabilities, all reasons, the functions that differ, and what the "
             "model's verdicts promise."},
    HPC_CMD_QUIET(predict_options),
    {.name = NULL},
};
