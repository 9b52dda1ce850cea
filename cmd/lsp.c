/*
 * lsp.c: `hpccoder lsp`: the language server on standard input and output.
 */
#include <stdlib.h>
#include <unistd.h>

#include "cmd/compiler.h"
#include "infer/serve/lsp.h"

typedef struct lsp_options {
    const char *model, *passages, *database, *cache, *device;
    bool no_complete, no_pragma, guard, perf, unchecked;
    int64_t tokens, threads;
    double seconds, prompt_seconds;
} lsp_options;

enum {
    PROMPT_TOKENS = 4096,
    ANSWERS = 4 /* to one prompt, that are generated at once */
};
static const double COMPILE_SECONDS = 2; /* for the first check of a completion in a file */

static const hpc_option option_table[] = {
    {.name = "model",
     .letter = 'm',
     .kind = HPC_TEXT,
     .offset = offsetof(lsp_options, model),
     .argument = "DIR|FILE.gguf|FILE.packed",
     .help = "Model for completions. Default: $HPCCODER_MODEL, then the model that is installed."},
    {.name = "passages",
     .kind = HPC_TEXT,
     .offset = offsetof(lsp_options, passages),
     .argument = "FILE|none",
     .help =
         "Passage index that attributes copied code. Default: FILE.passages next to FILE.gguf."},
    {.name = "database",
     .letter = 'p',
     .kind = HPC_TEXT,
     .offset = offsetof(lsp_options, database),
     .argument = "DIR|FILE",
     .help = "compile_commands.json with the flags of all files. Default: the nearest one in the "
             "folders above each file, or in a build folder there."},
    {.name = "guard",
     .kind = HPC_FLAG,
     .offset = offsetof(lsp_options, guard),
     .help = "Fixes test the assumptions of conditional loops, as `hpccoder pragma --guard` does."},
    {.name = "no-complete",
     .kind = HPC_FLAG,
     .offset = offsetof(lsp_options, no_complete),
     .help = "No completions: no model is loaded."},
    {.name = "no-pragma",
     .kind = HPC_FLAG,
     .offset = offsetof(lsp_options, no_pragma),
     .help = "No diagnostics, fixes or hover for loops."},
    {.name = "no-check",
     .kind = HPC_FLAG,
     .offset = offsetof(lsp_options, unchecked),
     .help = "Offer the first completion without checks. Default: if it fails a check of "
             "`hpccoder complete`, draw four others and offer the best."},
    {.name = "perf",
     .kind = HPC_FLAG,
     .offset = offsetof(lsp_options, perf),
     .help = "Predict on save how the changes of a file since HEAD affect performance, as "
             "`hpccoder perf predict --file` does."},
    {.name = "cache-dir",
     .kind = HPC_TEXT,
     .offset = offsetof(lsp_options, cache),
     .argument = "DIR",
     .help = "Keep the key-value cache in DIR, up to 2 GiB and for a week, so that a new session "
             "starts with it. Its files depend on the text of prompts."},
    {.name = "max-tokens",
     .letter = 'n',
     .kind = HPC_INT,
     .offset = offsetof(lsp_options, tokens),
     .fallback = "128",
     .argument = "N",
     .least = 1,
     .most = 4096,
     .help = "Token limit of a completion."},
    {.name = "seconds",
     .kind = HPC_REAL,
     .offset = offsetof(lsp_options, seconds),
     .fallback = "5",
     .argument = "S",
     .least = 0.01,
     .most = 600,
     .help = "Time limit of a completion."},
    {.name = "prompt-seconds",
     .kind = HPC_REAL,
     .offset = offsetof(lsp_options, prompt_seconds),
     .fallback = "1",
     .argument = "S",
     .least = 0,
     .most = 600,
     .help = "Shorten prompts that take longer to read, but not below 512 tokens. 0: no limit."},
    HPC_CMD_DEVICE(lsp_options, NULL),
    HPC_CMD_THREADS(lsp_options),
    {.name = NULL}};

/* The editor gets one message for a part that cannot start; the other parts work. */
static const char *why_not(char *out, size_t n, const char *part)
{
    snprintf(out, n, "hpccoder: no %s: %s", part, hpc_error_get()->text);
    hpc_error_clear();
    return out;
}

static int run(void *options, int argc, char **argv)
{
    const lsp_options *o = options;
    char model[PATH_MAX], passages[PATH_MAX], no_model[1200], no_checker[1200];
    hpc_lsp_options s = {.in = STDIN_FILENO,
                         .out = STDOUT_FILENO,
                         .version = HPC_VERSION,
                         .database = o->database,
                         .completion_tokens = o->tokens,
                         .completion_seconds = o->seconds,
                         .prompt_seconds = o->prompt_seconds,
                         .completes = !o->no_complete,
                         .program = "/proc/self/exe",
                         .cache_folder = o->cache,
                         .guard = o->guard,
                         .perf = o->perf};
    hpc_checker *checker = NULL, *completion_checker = NULL;
    int rc = HPC_OK;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "%s: lsp takes no arguments", argv[0]);
    TRY(hpc_device_choose(&(hpc_device_options){0}, o->device));
    const int64_t answers = o->no_complete || o->unchecked ? 1 : ANSWERS;
    s.engine = (hpc_engine_options){.backend = o->device,
                                    .threads = hpc_cmd_threads(o->threads),
                                    .weights = HPC_DTYPE_N,
                                    .cache_tokens = PROMPT_TOKENS + answers * o->tokens,
                                    .requests = answers,
                                    .guess = 11};
    if (!o->no_pragma && hpc_cmd_open_checker(&checker) < 0)
        s.no_checker = why_not(no_checker, sizeof no_checker, "verdicts on loops");
    s.checker = checker;
    if (!o->no_complete && !o->unchecked &&
        hpc_cmd_open_checker_within(&completion_checker, COMPILE_SECONDS) < 0)
        hpc_error_clear(); /* `checker` says why, or completions are not checked */
    s.completion_checker = completion_checker;
    if (!o->no_complete) {
        const char *asked = o->model ? o->model : getenv("HPCCODER_MODEL");
        if (hpc_cmd_find_model(model, asked, HPC_CMD_PILOT) < 0)
            s.no_model = why_not(no_model, sizeof no_model, "completions");
        else
            s.engine.model = model;
    }
    if (s.engine.model) {
        TRY(hpc_cmd_find_passages(passages, o->passages, model));
        if (passages[0]) s.passages = passages;
    }
    rc = hpc_lsp_serve(&s);
out:
    hpc_checker_close(completion_checker);
    hpc_checker_close(checker);
    return rc;
}

const hpc_command hpc_cmd_lsp = {
    .name = "lsp",
    .summary = "Serve completions and OpenMP directives to an editor.",
    .description =
        "A language server (LSP 3.17) on standard input and output. An editor starts it for C, "
        "C++, CUDA and Fortran files. docs/editors.md describes the set-up of Neovim, Vim, Emacs "
        "and VS Code, and the settings that an editor may send.\n\n"
        "The server offers completions at the cursor, inline and as completion items. It reports "
        "a verdict on each loop as a diagnostic, and hover explains it. Fixes insert OpenMP "
        "directives for one loop (quickfix) or the file (source.fixAll.hpccoder), as `hpccoder "
        "pragma --fix` does. With --perf, or the setting `perf`, diagnostics on changed functions "
        "state a probable effect on performance after each save.\n\n"
        "A new inline completion supersedes the earlier ones of its document, which are answered "
        "with null. The model is loaded on the first completion, and unloaded after 15 minutes "
        "without one. It runs at low priority on the cores that the affinity mask and the CPU "
        "quota of the control group allow. Completions are checked as by `hpccoder complete`. "
        "Code that repeats training data is attributed before you accept it.\n\n"
        "Exit status: 0: the client ended the session. 1: the input ended without `shutdown`. 2: "
        "bad usage or input. 3: the connection failed.",
    .examples = "hpccoder lsp --no-complete  # verdicts and fixes only",
    .options = option_table,
    .options_bytes = sizeof(lsp_options),
    .run = run,
};
