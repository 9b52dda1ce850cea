/*
 * Options of `hpccoder perf predict`: their table, the model, and how commits are measured.
 */
#include <string.h>
#include <sys/stat.h>

#include "cmd/predict.h"

#define SHIPPED "models/perf/model.json"

static const char *const formats[] = {"text", "json", "sarif", "markdown", "github", NULL};
const hpc_option predict_option_table[] = {
    {.name = "repo",
     .kind = HPC_TEXT,
     .offset = offsetof(predict_options, repo),
     .fallback = ".",
     .argument = "DIR",
     .help = "Git repository; only read."},
    {.name = "all",
     .kind = HPC_FLAG,
     .offset = offsetof(predict_options, all),
     .help = "Include all commits of merged branches, not only first parents."},
    {.name = "format",
     .kind = HPC_CHOICE,
     .offset = offsetof(predict_options, format),
     .fallback = "text",
     .argument = "FORMAT",
     .choices = formats,
     .help = "Output format: text, JSON, SARIF 2.1.0 (at most 25,000 results and 10 MB), Markdown "
             "for a pull request (at most 60,000 characters), or GitHub workflow commands."},
    {.name = "warn-on",
     .kind = HPC_REAL,
     .offset = offsetof(predict_options, warn_on),
     .fallback = "0.5",
     .argument = "PROB",
     .most = 2,
     .help = "Warn if the probability of slower reaches this value and the verdict is not unknown; "
             "above 1: never."},
    {.name = "fail-on",
     .kind = HPC_REAL,
     .offset = offsetof(predict_options, fail_on),
     .fallback = "2",
     .argument = "PROB",
     .most = 2,
     .help = "Exit with status 1 if the probability of slower reaches this value and the verdict "
             "is not unknown; above 1: never."},
    {.name = "each",
     .kind = HPC_FLAG,
     .offset = offsetof(predict_options, each),
     .help = "Apply --fail-on to each commit instead of the range as a whole."},
    {.name = "program",
     .kind = HPC_TEXTS,
     .offset = offsetof(predict_options, program),
     .argument = "PATH",
     .help = "File or folder that belongs to the measured program, although its name suggests "
             "tests, documentation or examples, or although it is not built."},
    {.name = "database",
     .letter = 'p',
     .kind = HPC_TEXT,
     .offset = offsetof(predict_options, database),
     .argument = "FILE",
     .help = "compile_commands.json of the program's build. Sources that it does not compile do "
             "not count."},
    {.name = "model",
     .kind = HPC_TEXT,
     .offset = offsetof(predict_options, model),
     .argument = "DIR",
     .help = "Model to use: a folder from `perf train`, or its model.json. Default: the model that "
             "comes with the program."},
    {.name = "language",
     .kind = HPC_TEXT,
     .offset = offsetof(predict_options, language),
     .argument = "MODEL",
     .help = "Language model to ask, if the model was trained with `perf train --language`: the "
             "same one, or a similar one; a folder or FILE.gguf."},
    {.name = "ack",
     .kind = HPC_TEXT,
     .offset = offsetof(predict_options, ack),
     .argument = "FILE",
     .help =
         "File with acknowledged slow-downs. Default: .perf-ack in HEAD; - reads standard input."},
    {.name = "measure",
     .kind = HPC_FLAG,
     .offset = offsetof(predict_options, measure),
     .help = "Build and run the commits that the prediction leaves open, with the options below, "
             "and find the commits that changed performance."},
    ASKED_OPTIONS(offsetof(predict_options, how)),
    HPC_CMD_JSON(predict_options),
    {.name = "verbose",
     .letter = 'v',
     .kind = HPC_FLAG,
     .offset = offsetof(predict_options, verbose),
     .help = "Also print all probabilities, all reasons, the functions that differ, and the error "
             "rates of the model."},
    HPC_CMD_QUIET(predict_options),
    {.name = NULL},
};

int predict_open_model(hpc_perf_model **out, const char *named)
{
    char path[PATH_MAX];
    struct stat st;
    int rc = HPC_OK;
    if (!named) {
        TRY(hpc_cmd_find(path, SHIPPED));
        if (!*path)
            TRY(hpc_fail(HPC_E_ARG,
                         "cannot find %s in the folders of this program: name the folder of a "
                         "model with --model",
                         SHIPPED));
    } else {
        bool folder = stat(named, &st) == 0 && S_ISDIR(st.st_mode);
        if (snprintf(path, sizeof path, "%s%s", named, folder ? "/model.json" : "") >= PATH_MAX)
            TRY(hpc_fail(HPC_E_ARG, "--model: the path is too long"));
    }
    TRY(hpc_perf_model_read(out, path));
out:
    return rc;
}

int predict_measure_options(hpc_history_options *h, asked *a, const predict_options *o)
{
    const asked_measure *m = &o->how;
    bool given = m->build || m->run || m->work || m->cpus || m->machine || m->metric.n > 0 ||
                 m->env.n > 0 || m->memory_mib > 0 || m->again;
    int rc = HPC_OK;
    if (!o->measure)
        return given ? hpc_fail(HPC_E_ARG, "nothing is built or run without --measure") : rc;
    if (o->all) TRY(hpc_fail(HPC_E_ARG, "--measure follows first parents and excludes --all"));
    if (!o->json && strcmp(o->format, "text") != 0 && strcmp(o->format, "json") != 0)
        TRY(hpc_fail(HPC_E_ARG, "--measure prints text or JSON, not --format %s", o->format));
    *h = (hpc_history_options)HPC_HISTORY_DEFAULTS;
    a->quiet = o->quiet;
    a->command = "perf predict";
    TRY(asked_history(h, a, m));
    h->repository = o->repo;
    h->tell = asked_say;
    h->user = a;
out:
    return rc;
}
