/*
 * eval_pareval.c: the command `eval pareval`.
 */
#include <string.h>

#include "cmd/eval.h"
#include "eval/pareval.h"

typedef struct pareval_options {
    eval_common c;
    const char *checkout, *model, *server, *samples_in, *models, *device;
    int64_t samples, problems, shrink, resources, max_tokens, threads;
    double temperature, top_p, build_seconds, run_seconds;
    bool unsafe_run;
} pareval_options;

static int check(const pareval_options *o, int argc, char **argv)
{
    int sources = (o->model != NULL) + (o->server != NULL) + (o->samples_in != NULL);
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    if (!o->checkout)
        return hpc_fail(HPC_E_ARG, "name a checkout of ParEval: --checkout DIR; see --help");
    if (sources != 1)
        return hpc_fail(HPC_E_ARG, "choose one of --model, --server and --samples-in");
    return HPC_OK;
}

static void warn_unmatched(int64_t n)
{
    char line[160];
    if (n == 0) return;
    snprintf(line, sizeof line,
             "%lld entries of --samples-in have no task with their signature in --models",
             (long long)n);
    hpc_cmd_warn(line, (void *)(uintptr_t) "eval pareval");
}

static int judge(const pareval_options *o, hpc_eval_log *log, const char *model)
{
    hpc_cmd_signals *signals = NULL;
    hpc_progress progress;
    int64_t unmatched;
    int resources = hpc_cmd_threads(o->resources);
    hpc_eval_pareval_options x = {.checkout = o->checkout,
                                  .models = o->models,
                                  .samples_in = o->samples_in,
                                  .asker = {.model = model,
                                            .server = o->server,
                                            .api = HPC_EVAL_COMPLETIONS,
                                            .device = o->device,
                                            .threads = hpc_cmd_threads(o->threads),
                                            .max_tokens = o->max_tokens,
                                            .samples = o->samples},
                                  .samples = o->samples,
                                  .limit = o->problems,
                                  .shrink = o->shrink,
                                  .resources = resources,
                                  .temperature = o->temperature >= 0 ? o->temperature
                                                 : o->samples > 1    ? 0.2
                                                                     : 0,
                                  .top_p = o->top_p,
                                  .build_seconds = o->build_seconds,
                                  .run_seconds = o->run_seconds,
                                  .seed = (uint64_t)o->c.seed,
                                  .tmp = hpc_cmd_scratch(),
                                  .is_unsafe = o->unsafe_run,
                                  .progress = &progress};
    int rc;
    TRY(hpc_cmd_signals_start(&signals, "eval pareval", "reporting the tasks judged so far"));
    x.stop = hpc_cmd_signals_stop(signals);
    hpc_cmd_progress(&progress, o->c.quiet);
    TRY(hpc_eval_pareval(log, &unmatched, &x));
    if (!o->c.quiet) warn_unmatched(unmatched);
out:
    hpc_cmd_signals_end(signals);
    return rc;
}

static int run(void *options, int argc, char **argv)
{
    const pareval_options *o = options;
    hpc_eval_log *log = NULL;
    char model[PATH_MAX] = "";
    int rc;
    TRY(check(o, argc, argv));
    if (o->model) TRY(hpc_cmd_find_model(model, o->model, HPC_CMD_PILOT));
    TRY(hpc_cmd_eval_open(&log, &hpc_cmd_eval_pareval, o, &o->c, NULL, 0));
    TRY(judge(o, log, o->model ? model : NULL));
    TRY(hpc_cmd_eval_report(&hpc_eval_suite_pareval, log, &o->c));
out:
    hpc_eval_log_close(log);
    return rc;
}

#define TEXT(field, option, value, operand, what)                                                  \
    {                                                                                              \
        .name = option, .kind = HPC_TEXT, .offset = offsetof(pareval_options, field),              \
        .fallback = value, .argument = operand, .help = what                                       \
    }
#define NUMBER(field, option, value, low, high, what)                                              \
    {                                                                                              \
        .name = option, .kind = HPC_INT, .offset = offsetof(pareval_options, field),               \
        .fallback = value, .argument = "N", .least = low, .most = high, .help = what               \
    }
#define REAL(field, option, value, operand, low, high, what)                                       \
    {                                                                                              \
        .name = option, .kind = HPC_REAL, .offset = offsetof(pareval_options, field),              \
        .fallback = value, .argument = operand, .least = low, .most = high, .help = what           \
    }

static const hpc_option options[] = {
    TEXT(checkout, "checkout", NULL, "DIR", "A clone of github.com/parallelcodefoundry/ParEval."),
    TEXT(model, "model", NULL, "MODEL", "Model that completes the prompts."),
    TEXT(server, "server", NULL, "URL",
         "Server that completes the prompts by OpenAI's /v1/completions, such as "
         "http://127.0.0.1:8080. Answers are cut at the end of the function."),
    TEXT(samples_in, "samples-in", NULL, "FILE",
         "Judge these outputs, in ParEval's JSON format, instead. They are matched with the "
         "prompts by their signature, because the numbers of problems have changed."),
    TEXT(models, "models", "serial,omp,mpi,mpi+omp", "LIST",
         "Models of parallelism, separated by commas; also kokkos."),
    NUMBER(samples, "samples", "1", 1, 1000,
           "Candidates of each prompt. k of build@k is 1, 5, 10 and 20, up to this number."),
    REAL(temperature, "temperature", "-1", "T", -1, 100,
         "Sampling temperature; -1: 0 for one candidate, else 0.2."),
    REAL(top_p, "top-p", "0.95", "P", 0.01, 1,
         "Sample from the most probable tokens that have this probability together."),
    NUMBER(max_tokens, "max-tokens", "512", 1, 65536, "Token limit of a candidate."),
    NUMBER(problems, "problems", "0", 0, 1000,
           "Judge N of the problems, chosen by the seed, in all chosen models; 0: all."),
    NUMBER(resources, "resources", "0", 0, 1024,
           "Threads or ranks of a parallel run, n of speedup_n; mpi+omp has two ranks. 0: one for "
           "each CPU."),
    NUMBER(
        shrink, "shrink", "0", 0, 30,
        "Divide problem sizes by 2^N. Quicker; build and pass stay comparable, speedups do not."),
    REAL(build_seconds, "build-seconds", "60", "S", 1, 3600, "Time limit of a build."),
    REAL(run_seconds, "run-seconds", "180", "S", 1, 3600, "Time limit of a run."),
    {.name = "unsafe-run",
     .kind = HPC_FLAG,
     .offset = offsetof(pareval_options, unsafe_run),
     .help = "Build and run generated code without the sandbox, as the current user."},
    EVAL_OPTIONS(offsetof(pareval_options, c)),
    HPC_CMD_DEVICE(pareval_options, NULL),
    HPC_CMD_THREADS(pareval_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_eval_pareval = {
    .name = "eval pareval",
    .summary = "Score a model by ParEval's prompts for parallel functions.",
    .arguments = "--checkout DIR (--model MODEL | --server URL | --samples-in FILE)",
    .description =
        "Completes ParEval's prompts to the end of the function, builds each candidate with "
        "ParEval's own driver, and runs it on --resources threads or ranks. A candidate passes if "
        "the driver validates its results and the text uses the requested model of parallelism. "
        "Reports unbiased estimates of build@k, pass@k, speedup_n@k and efficiency_n@k. Prompts "
        "for kokkos need Kokkos in tpl/kokkos/build of the checkout, where ParEval's README "
        "installs it. Prompts for cuda and hip are not built.\n\n"
        "Generated code is built and run only in a sandbox (bubblewrap): without network, without "
        "home folders, as an unprivileged user, with limits of time, memory, processes and disk "
        "space. If no sandbox can be created, the command fails, unless --unsafe-run is given.\n\n"
        "The error of each candidate is in DIR/samples.jsonl of --out.",
    .examples =
        "hpccoder eval pareval --checkout ParEval --model pilot.gguf --models omp --shrink 8\n"
        "hpccoder eval pareval --checkout ParEval --server http://127.0.0.1:8080 --samples 20\n"
        "hpccoder eval pareval --checkout ParEval --samples-in outputs.json --out results/outputs",
    .options = options,
    .options_bytes = sizeof(pareval_options),
    .run = run,
};
