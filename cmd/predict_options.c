/*
 * Options of `hpccoder perf predict`: their table, the model, and how commits are measured.
 */
#include <string.h>
#include <sys/stat.h>

#include "cmd/predict.h"

enum { FILE_BYTES = 64 << 20 };

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
    {.name = "file",
     .kind = HPC_TEXTS,
     .offset = offsetof(predict_options, file),
     .argument = "PATH",
     .help = "Instead of a range, compare this file of the working tree with HEAD; may be given "
             "several times. The path starts at the root of the repository."},
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

static int parse_range(hpc_perf_predict_options *ask, char *range)
{
    char *dots = strstr(range, "..");
    if (strstr(range, "..."))
        return hpc_fail(HPC_E_ARG, "%.100s: expected two dots, as in origin/main..HEAD", range);
    ask->head = dots ? dots + 2 : range;
    if (!*ask->head) ask->head = "HEAD";
    ask->base = dots && dots > range ? range : NULL;
    if (dots) *dots = '\0';
    return HPC_OK;
}

/* The path as git spells it: without "./" and repeated slashes. */
static int plain_path(const char **out, hpc_arena *a, const char *path)
{
    char *plain = hpc_arena_alloc(a, strlen(path) + 1, 1);
    size_t n = 0;
    if (!plain) return HPC_E_NOMEM;
    for (const char *part = path; *part;) {
        size_t length = strcspn(part, "/");
        if ((length == 0 && part == path) || (length == 2 && memcmp(part, "..", 2) == 0))
            return hpc_fail(HPC_E_ARG,
                            "--file %.300s: expected a path from the root of the repository, "
                            "without '..'",
                            path);
        if (length > 0 && !(length == 1 && *part == '.')) {
            if (n > 0) plain[n++] = '/';
            memcpy(plain + n, part, length);
            n += length;
        }
        part += length + (part[length] == '/');
    }
    plain[n] = '\0';
    *out = plain;
    return HPC_OK;
}

static bool is_listed(const hpc_perf_text *file, int64_t n, const char *path)
{
    for (int64_t k = 0; k < n; k++)
        if (strcmp(file[k].path, path) == 0) return true;
    return false;
}

/* Reads the files of --file, each once, below the repository into the arena. A file that does not
 * exist has no text. */
static int read_files(hpc_perf_text **out, int64_t *n, hpc_arena *a, const predict_options *o)
{
    hpc_buf text = {0};
    int rc = HPC_OK;
    *n = 0;
    *out = hpc_arena_alloc(a, (size_t)o->file.n + 1, sizeof **out);
    if (!*out) return HPC_E_NOMEM;
    for (int64_t k = 0; k < o->file.n; k++) {
        hpc_perf_text *f = &(*out)[*n];
        TRY(plain_path(&f->path, a, o->file.item[k]));
        if (is_listed(*out, *n, f->path)) continue;
        const char *path = hpc_arena_text(a, "%s/%s", o->repo, f->path);
        TRY(path ? HPC_OK : HPC_E_NOMEM);
        ++*n;
        if (!hpc_file_exists(path)) continue;
        text.n = 0;
        rc = hpc_file_read(&text, path, FILE_BYTES);
        TRY(rc == HPC_E_IO ? HPC_E_ARG : rc);
        char *copy = hpc_arena_alloc(a, text.n + 1, 1);
        TRY(copy ? HPC_OK : HPC_E_NOMEM);
        if (text.n > 0) memcpy(copy, text.data, text.n);
        f->text = copy;
        f->n = text.n;
    }
out:
    hpc_buf_release(&text);
    return rc;
}

int predict_read_request(hpc_perf_predict_options *ask, const char **label, hpc_arena *a,
                         const predict_options *o, int argc, char **argv)
{
    hpc_perf_text *file;
    int rc = HPC_OK;
    if (o->file.n > 0) {
        if (argc > 0) return hpc_fail(HPC_E_ARG, "--file and a range exclude each other");
        TRY(read_files(&file, &ask->file_n, a, o));
        ask->file = file;
        *label = "working tree";
        return HPC_OK;
    }
    if (argc != 1)
        return argc > 1 ? hpc_fail(HPC_E_ARG, "unexpected argument '%.100s'", argv[1])
                        : hpc_fail(HPC_E_ARG,
                                   "name the commits as BASE..HEAD, for example origin/main..HEAD");
    *label = hpc_arena_text(a, "%s", argv[0]);
    if (!*label) return HPC_E_NOMEM;
    return parse_range(ask, argv[0]);
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
    if (o->file.n > 0) TRY(hpc_fail(HPC_E_ARG, "--measure and --file exclude each other"));
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
