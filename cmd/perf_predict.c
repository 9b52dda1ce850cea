/*
 * perf_predict.c: `hpccoder perf predict`: what commits do to performance, without running them.
 */
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/predict.h"

#define SHIPPED "models/perf/model.json"
enum {
    MANY = 1000, /* results of a log that nobody reads */
    MANY_COMMITS = 50
};

typedef struct prediction { /* all that a run of the command holds */
    hpc_perf_program program;
    const predict_options *o;
    hpc_git *git;
    hpc_perf_model *model;
    hpc_perf_language *language;
    perf_db *db; /* NULL: there is none */
    perf_profiles *profiles;
    hpc_buf acks;
    char *range; /* cut in two */
    hpc_progress progress;
    hpc_perf_predict_options ask;
    hpc_perf_prediction p;
    predict_report report;
    asked asked;
    history_options history;
    predict_measured measured;
} prediction;

/* ---- what is asked --------------------------------------------------------------------------- */

static int parse_range(hpc_perf_predict_options *ask, char *range)
{
    char *dots = strstr(range, "..");
    if (strstr(range, "..."))
        return hpc_fail(HPC_E_ARG, "%.100s: two dots, as in origin/main..HEAD", range);
    ask->head = dots ? dots + 2 : range;
    if (!*ask->head) ask->head = "HEAD";
    ask->base = dots && dots > range ? range : NULL;
    if (dots) *dots = '\0';
    return HPC_OK;
}

/* A folder with a model.json, or the file. */
static int open_model(hpc_perf_model **out, const char *named)
{
    char path[PATH_MAX];
    struct stat st;
    int rc = HPC_OK;
    if (!named) {
        TRY(hpc_cmd_find(path, SHIPPED));
        if (!*path)
            TRY(hpc_fail(HPC_E_ARG,
                         "%s does not lie where this program looks for it: name the "
                         "folder of a model with --model",
                         SHIPPED));
    } else {
        bool folder = stat(named, &st) == 0 && S_ISDIR(st.st_mode);
        if (snprintf(path, sizeof path, "%s%s", named, folder ? "/model.json" : "") >= PATH_MAX)
            TRY(hpc_fail(HPC_E_ARG, "--model: too long a path"));
    }
    TRY(hpc_perf_model_read(out, path));
out:
    return rc;
}

/* What --measure is given, as perf collect takes it. */
static int ask_history(prediction *x)
{
    const predict_options *o = x->o;
    history_options *h = &x->history;
    asked *a = &x->asked;
    const asked_measure *m = &o->how;
    bool given = m->build || m->run || m->work || m->cpus || m->machine || m->metric.n > 0 ||
                 m->env.n > 0 || m->memory_mib > 0 || m->again;
    int rc = HPC_OK;
    if (!o->measure)
        return given ? hpc_fail(HPC_E_ARG, "nothing is built or run without --measure") : rc;
    if (o->all) TRY(hpc_fail(HPC_E_ARG, "--measure goes by first parents, without --all"));
    if (!o->json && strcmp(o->format, "text") != 0 && strcmp(o->format, "json") != 0)
        TRY(hpc_fail(HPC_E_ARG, "--measure is told as text or JSON, not --format %s", o->format));
    *h = (history_options)HISTORY_DEFAULTS;
    a->quiet = o->quiet;
    a->command = "perf predict";
    TRY(asked_history(h, a, m));
    h->repository = o->repo;
    h->tell = asked_say;
    h->user = a;
out:
    return rc;
}

static int heat_of(const hpc_hot_line **hot, int64_t *n, void *from, const hpc_git_id *commit,
                   int64_t time)
{
    char id[PERF_ID];
    hpc_git_id_text(id, commit);
    return perf_profiles_find(hot, n, from, id, time);
}

/* Where the cost is, by a history of earlier commits; one that is to be made knows nothing yet. */
static int open_heat(prediction *x)
{
    const char *path = x->o->how.db;
    int rc = HPC_OK;
    if (!path || (x->o->measure && !hpc_file_exists(path))) return rc;
    rc = perf_db_open(&x->db, path);
    TRY(rc == HPC_E_IO && !hpc_file_exists(path) ? HPC_E_ARG : rc);
    TRY(perf_db_expect(x->db, x->git));
    TRY(perf_profiles_open(&x->profiles, x->db));
    if (perf_profiles_n(x->profiles) == 0 && !x->o->measure && !x->o->quiet)
        hpc_cmd_warn(
            "the history does not tell in which lines the cost is: perf collect -m cost of "
            "a build with -g does",
            (void *)(uintptr_t) "perf predict");
    x->ask.heat = heat_of;
    x->ask.heat_from = x->profiles;
out:
    return rc;
}

static void close_heat(prediction *x)
{
    perf_profiles_close(x->profiles);
    perf_db_close(x->db);
    x->profiles = NULL;
    x->db = NULL;
}

static int open_all(prediction *x)
{
    const predict_options *o = x->o;
    int rc;
    TRY(open_model(&x->model, o->model));
    if (o->language) TRY(hpc_perf_language_open(&x->language, o->language, NULL, 0));
    x->ask.language = x->language;
    if (o->ack) TRY(hpc_cmd_read(&x->acks, o->ack));
    if (o->ack) TRY(hpc_buf_text(&x->acks, ""));
    rc = hpc_git_open(&x->git, o->repo);
    if (rc == HPC_E_IO) rc = HPC_E_ARG; /* asked wrongly: there is none */
    TRY(rc);
    TRY(open_heat(x));
    x->ask.acks = o->ack ? x->acks.data : NULL;
    x->ask.acks_name = o->ack;
    x->ask.all = o->all;
    x->ask.each = o->each;
    x->ask.warn = o->warn_on;
    x->ask.fail = o->fail_on;
out:
    return rc;
}

static void show(void *user, int64_t done, int64_t all)
{
    prediction *x = user;
    if (all < MANY_COMMITS) return; /* told at once */
    if (done == 1) hpc_progress_start(&x->progress, "commits", "commits", all);
    hpc_progress_update(&x->progress, done, NULL);
    if (done == all) hpc_progress_end(&x->progress, done);
}

/* ---- what is told ---------------------------------------------------------------------------- */

static int put(hpc_buf *out, const predict_report *r, const char *format)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    if (strcmp(format, "text") == 0) return predict_put_text(out, r);
    if (strcmp(format, "markdown") == 0) return predict_put_markdown(out, r);
    if (strcmp(format, "github") == 0) return predict_put_github(out, r);
    if (strcmp(format, "sarif") == 0) w.indent = r->findings_n > MANY ? 0 : 1;
    if (strcmp(format, "sarif") == 0)
        predict_put_sarif(&w, r);
    else
        predict_put_json(&w, r);
    return hpc_buf_text(out, "\n");
}

static void remark(const prediction *x)
{
    void *command = (void *)(uintptr_t) "perf predict";
    for (int64_t k = 0; k < x->p.remarks_n && !x->o->quiet; k++)
        hpc_cmd_warn(x->p.remark[k], command);
    if (x->p.n == 0 && !x->o->quiet) hpc_cmd_warn("the range has no commits", command);
}

static int measure(prediction *x)
{
    hpc_cmd_signals *signals = NULL;
    predict_measured *m = &x->measured;
    int rc;
    TRY(hpc_cmd_signals_start(&signals, "perf predict",
                              "measurements are kept, the same command continues"));
    x->history.stop = hpc_cmd_signals_stop(signals);
    TRY(predict_measure(m, &x->p, &x->history));
    if (m->points_n > 0 && m->measured == 0 && !m->stopped)
        TRY(hpc_fail(HPC_E_ARG,
                     "none of %lld commits could be measured; what they printed is in table "
                     "attempt of %s",
                     (long long)m->failed, x->o->how.db));
    x->report.measured = m;
out:
    hpc_cmd_signals_end(signals);
    return rc;
}

/* What was measured counts more than what was predicted. */
static bool is_failure(const prediction *x)
{
    if (!x->o->measure) return x->p.level == HPC_PERF_FAIL;
    return x->o->fail_on <= 1 && predict_is_slower(&x->measured, &x->p);
}

static int predict(prediction *x, const char *range)
{
    const predict_options *o = x->o;
    hpc_buf out = {0};
    int rc;
    hpc_cmd_progress(&x->progress, o->quiet);
    x->ask.progress = show;
    x->ask.user = x;
    TRY(hpc_perf_predict(&x->p, x->git, x->model, &x->ask));
    close_heat(x); /* it may be written now */
    remark(x);
    x->report = (predict_report){.p = &x->p, .range = range, .warn = o->warn_on};
    x->report.fail = o->fail_on;
    x->report.verbose = o->verbose;
    hpc_perf_model_describe(&x->report.facts, x->model);
    TRY(predict_find(&x->report));
    if (x->o->measure) TRY(measure(x));
    TRY(put(&out, &x->report, o->json ? "json" : o->format));
    TRY(hpc_cmd_print(&out));
    rc = is_failure(x) ? EXIT_FINDINGS : EXIT_DONE;
    if (x->measured.stopped)
        TRY(hpc_fail(HPC_E_ABORTED,
                     "stopped; what was measured is in %s, and the same command "
                     "goes on",
                     o->how.db));
out:
    hpc_buf_release(&out);
    return rc;
}

static int run(void *options, int argc, char **argv)
{
    const predict_options *o = options;
    hpc_arena *a = hpc_arena_create(0);
    prediction x = {.o = o, .ask = HPC_PERF_PREDICT_DEFAULTS, .asked = {.arena = a}};
    int rc = HPC_E_NOMEM;
    if (!a) goto out;
    if (argc != 1)
        TRY(argc > 1 ? hpc_fail(HPC_E_ARG, "unexpected argument '%.100s'", argv[1])
                     : hpc_fail(HPC_E_ARG, "which commits? Give BASE..HEAD, as origin/main..HEAD"));
    if (o->json && strcmp(o->format, "text") != 0 && strcmp(o->format, "json") != 0)
        TRY(hpc_fail(HPC_E_ARG, "--json and --format %s are two formats", o->format));
    const char *range = hpc_arena_text(a, "%s", argv[0]);
    if (!range) goto out;
    TRY(parse_range(&x.ask, argv[0]));
    TRY(ask_history(&x));
    TRY(predict_find_program(&x.program, o, a));
    x.ask.program = &x.program;
    TRY(open_all(&x));
    TRY(predict(&x, range));
out:
    hpc_free(x.report.finding);
    predict_measured_release(&x.measured);
    asked_release(&x.asked);
    hpc_perf_prediction_release(&x.p);
    hpc_perf_language_close(x.language);
    close_heat(&x);
    hpc_perf_model_free(x.model);
    hpc_buf_release(&x.acks);
    hpc_git_close(x.git);
    hpc_arena_free(a);
    return rc;
}

const hpc_command hpc_cmd_perf_predict = {
    .name = "perf predict",
    .summary = "Predict what commits do to performance, without running them.",
    .arguments = "BASE..HEAD",
    .description =
        "Reads what each commit after BASE and up to HEAD changes, function by function, and "
        "predicts whether the program became slower, stayed the same or became faster, with a "
        "probability and the lines that are the reason. The model learned from commits that were "
        "measured. Nothing is built or run, and the repository is only read. The range as a whole "
        "is judged as if it were one commit, against the commit at which HEAD and BASE parted.\n\n"
        "Tests, documents and examples do not count, by the names of their folders and files: the "
        "measured program does not contain them. Benchmarks among the tests do count. --program "
        "names other files that it contains, -p a compile_commands.json that lists the sources of "
        "its build.\n\n"
        "A verdict is \"unknown\" where the model is not sure, its probability is below 45 %, or "
        "the change is unlike all that the model learned from. At most a stated share of the "
        "changes that are not slower is called slower "
        "(5 % unless the model says otherwise), and at most a share of the slower ones is called "
        "the same (10 %); twice these shares are proven. --verbose prints the shares of the model. "
        "They hold for changes like those that the model learned from, not for code, machines or "
        "metrics of another kind. Functions are judged as if they were commits.\n\n"
        "Where the model learnt from what a language model says of changes (perf train "
        "--language), --language names that, and it is asked: of each commit eight functions and "
        "2,048 tokens at most, those with most changed lines.\n\n"
        "Where the model learnt from in which lines the cost of a program is, --db names a "
        "history of commits before these, made by perf collect with -m cost of builds with -g: "
        "what did not run there hardly matters, and what took half of the time does.\n\n"
        "It is advisory unless --fail-on is given: then the exit status is 1 if the range as a "
        "whole is slower with that probability and not unknown; if nothing can be said of the "
        "whole, or with --each, if a commit is. What is known and accepted does not count: a "
        "commit with a line \"Perf-Ack: REASON\" in its message, and what the file .perf-ack of "
        "HEAD names, in lines \"ID REASON\", \"PATH REASON\" or \"PATH:FUNCTION REASON\".\n\n"
        "With --measure, what the prediction leaves open is built and run, as perf collect does "
        "it and into such a history: the commits on both sides of each change that is not "
        "predicted to be the same, and the ends of each stretch that is. Where a stretch changed "
        "it is bisected to the commit. It is told how many commits were left alone and what time "
        "that saved. A slow-down is missed where it is predicted to be the same, as about one in "
        "ten is, and another change in its stretch makes up for it. Then --fail-on, whatever the "
        "probability, fails on a slow-down that was measured.",
    .examples =
        "hpccoder perf predict origin/main..HEAD  # what a branch does\n"
        "hpccoder perf predict HEAD~1.. --fail-on 0.9  # exit status 1 if it is probably slower\n"
        "hpccoder perf predict origin/main..HEAD --format markdown >comment.md\n"
        "hpccoder perf predict v1..v2 --format sarif >perf.sarif\n"
        "hpccoder perf predict v1..v2 --measure --build make --run ./bench -m cost --db perf.db  # "
        "and measure what that leaves open",
    .options = predict_option_table,
    .options_bytes = sizeof(predict_options),
    .run = run,
};
