/*
 * eval_complete.c: the command `eval complete`.
 */
#include <string.h>

#include "cmd/compiler.h"
#include "cmd/eval.h"
#include "eval/complete.h"

typedef struct complete_options {
    eval_common c;
    const char *server, *api, *device;
    int64_t holes, files, max_tokens, prompt_tokens, threads;
    double temperature;
    bool no_compiler;
} complete_options;

static const char *const apis[] = {
    [HPC_EVAL_INFILL] = "infill", [HPC_EVAL_COMPLETIONS] = "completions", NULL};

/* argv: the model, unless a server is asked, then files and folders. */
static int fill(const complete_options *o, hpc_eval_log *log, const char *model, int argc,
                char **argv, const char *const *given)
{
    hpc_check_flags flags = {0};
    hpc_cmd_signals *signals = NULL;
    hpc_checker *checker = NULL;
    hpc_progress progress;
    hpc_eval_complete_options x = {
        .files = {.path = (const char *const *)argv,
                  .path_n = argc,
                  .most = o->files,
                  .bytes = 1 << 18,
                  .whole = true,
                  .seed = (uint64_t)o->c.seed},
        .asker = {.model = model,
                  .server = o->server,
                  .api = strcmp(o->api, "infill") == 0 ? HPC_EVAL_INFILL : HPC_EVAL_COMPLETIONS,
                  .device = o->device,
                  .threads = hpc_cmd_threads(o->threads),
                  .prompt_tokens = o->prompt_tokens,
                  .max_tokens = o->max_tokens},
        .holes = o->holes,
        .temperature = o->temperature,
        .progress = &progress};
    int rc;
    if (!o->no_compiler) TRY(hpc_cmd_open_checker(&checker));
    x.checker = checker;
    if (given) TRY(hpc_check_flags_given(&flags, given, NULL));
    if (given) x.flags = &flags;
    TRY(hpc_cmd_signals_start(&signals, "eval complete", "reporting the holes filled so far"));
    x.stop = hpc_cmd_signals_stop(signals);
    hpc_cmd_progress(&progress, o->c.quiet);
    TRY(hpc_eval_complete(log, &x));
out:
    hpc_cmd_signals_end(signals);
    hpc_checker_close(checker);
    hpc_check_flags_release(&flags);
    return rc;
}

/* With the flags, which decide what compiles. */
static int open_log(hpc_eval_log **log, const complete_options *o, int argc, char **argv,
                    const char *const *given)
{
    int flags = 0, rc;
    while (given && given[flags]) flags++;
    const char **all = hpc_alloc((size_t)argc + (size_t)flags, sizeof *all);
    if (!all) return HPC_E_NOMEM;
    for (int k = 0; k < argc + flags; k++) all[k] = k < argc ? argv[k] : given[k - argc];
    rc = hpc_cmd_eval_open(log, &hpc_cmd_eval_complete, o, &o->c, all, argc + flags);
    hpc_free(all);
    return rc;
}

static int run(void *options, int argc, char **argv)
{
    const char *const *given = hpc_cmd_take_flags(&argc, argv);
    const complete_options *o = options;
    int first = o->server ? 0 : 1;
    hpc_eval_log *log = NULL;
    char model[PATH_MAX] = "";
    int rc;
    if (argc <= first)
        return hpc_fail(HPC_E_ARG, "name %sthe files or folders with held-out code; see --help",
                        o->server ? "" : "a model, and ");
    if (!o->server) TRY(hpc_cmd_find_model(model, argv[0], HPC_CMD_PILOT));
    TRY(open_log(&log, o, argc, argv, given));
    TRY(fill(o, log, o->server ? NULL : model, argc - first, argv + first, given));
    TRY(hpc_cmd_eval_report(&hpc_eval_suite_complete, log, &o->c));
out:
    hpc_eval_log_close(log);
    return rc;
}

static const hpc_option options[] = {
    EVAL_OPTIONS(offsetof(complete_options, c)),
    {.name = "server",
     .kind = HPC_TEXT,
     .offset = offsetof(complete_options, server),
     .argument = "URL",
     .help = "Ask a server instead of a model, such as http://127.0.0.1:8080. No TLS."},
    {.name = "api",
     .kind = HPC_CHOICE,
     .offset = offsetof(complete_options, api),
     .fallback = "infill",
     .argument = "NAME",
     .choices = apis,
     .help = "API of the server: /infill of llama-server, or OpenAI's /v1/completions with a "
             "suffix. Answers are cut at the end of the line, block or function."},
    {.name = "holes",
     .kind = HPC_INT,
     .offset = offsetof(complete_options, holes),
     .fallback = "150",
     .argument = "N",
     .least = 1,
     .most = 1e6,
     .help = "Number of holes: lines, blocks and functions in alternation."},
    {.name = "files",
     .kind = HPC_INT,
     .offset = offsetof(complete_options, files),
     .fallback = "0",
     .argument = "N",
     .most = 1e9,
     .help = "Use at most N files, chosen by the seed; 0: all. Files above 256 KiB are left out."},
    {.name = "temperature",
     .kind = HPC_REAL,
     .offset = offsetof(complete_options, temperature),
     .fallback = "0",
     .argument = "T",
     .most = 100,
     .help = "Sampling temperature; 0: always the most probable token."},
    {.name = "max-tokens",
     .letter = 'n',
     .kind = HPC_INT,
     .offset = offsetof(complete_options, max_tokens),
     .fallback = "256",
     .argument = "N",
     .least = 1,
     .most = 65536,
     .help = "Token limit of an answer."},
    {.name = "prompt-tokens",
     .kind = HPC_INT,
     .offset = offsetof(complete_options, prompt_tokens),
     .fallback = "1024",
     .argument = "N",
     .least = 16,
     .most = 1 << 20,
     .help = "Token limit of a model's prompt. A server chooses its own."},
    {.name = "no-compiler",
     .kind = HPC_FLAG,
     .offset = offsetof(complete_options, no_compiler),
     .help = "Do not parse and compile the completed files with libclang."},
    HPC_CMD_DEVICE(complete_options, NULL),
    HPC_CMD_THREADS(complete_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_eval_complete = {
    .name = "eval complete",
    .summary = "Score a model or a server by holes in source files.",
    .arguments = "[MODEL] FILE|DIR... [-- COMPILER FLAGS]",
    .description =
        "Removes lines, blocks and function bodies from held-out source files, one at a time, "
        "lets the model fill each hole, and compares the result with the removed text: exact "
        "match, edit similarity, common identifiers, and whether the file still parses and "
        "compiles with libclang, with the flags after --. The seed chooses the holes. Lines have "
        "at least three tokens and "
        "are in functions. A removed block or body includes its closing brace. Fortran has "
        "holes of lines only.\n\n"
        "The prompt has the text before and after the hole and no other files. With --server, the "
        "same holes are filled by a server, so that two programs are scored alike.\n\n"
        "Use files that the model was not trained on. `hpccoder corpus check` finds copies.",
    .examples = "hpccoder eval complete pilot.gguf held-out --holes 300 --out results/pilot\n"
                "hpccoder eval complete --server http://127.0.0.1:8080 held-out --holes 300 "
                "--compare results/pilot",
    .options = options,
    .options_bytes = sizeof(complete_options),
    .flags = true,
    .run = run,
};
