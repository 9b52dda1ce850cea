/*
 * `hpccoder perf predict`: predicts how commits change performance, and measures open cases.
 */
#include <string.h>

#include "cmd/predict.h"
#include "infer/pairs/pairs.h"

enum {
    MANY = 1000, /* results: a longer log is written without line breaks */
    MANY_COMMITS = 50
};

typedef struct prediction { /* state of a run of the command */
    hpc_perf_program program;
    const predict_options *o;
    hpc_git *git;
    hpc_perf_model *model;
    hpc_perf_language *language;
    hpc_history_db *db; /* NULL: none */
    hpc_history_profiles *profiles;
    hpc_buf acks;
    hpc_progress progress;
    hpc_perf_predict_options ask;
    hpc_perf_prediction p;
    predict_report report;
    asked asked;
    hpc_history_options history;
    hpc_perf_measured measured;
} prediction;

/* ---- inputs ---------------------------------------------------------------------------------- */

static int heat_of(const hpc_hot_line **hot, int64_t *n, void *from, const hpc_git_id *commit,
                   int64_t time)
{
    char id[HPC_HISTORY_ID];
    hpc_git_id_text(id, commit);
    return hpc_history_profiles_find(hot, n, from, id, time);
}

/* Line profiles of earlier commits, if the history exists. */
static int open_heat(prediction *x)
{
    const char *path = x->o->how.db;
    int rc = HPC_OK;
    if (!path || (x->o->measure && !hpc_file_exists(path))) return rc;
    rc = hpc_history_db_open(&x->db, path);
    TRY(rc == HPC_E_IO && !hpc_file_exists(path) ? HPC_E_ARG : rc);
    TRY(hpc_history_db_expect(x->db, x->git));
    TRY(hpc_history_profiles_open(&x->profiles, x->db));
    if (hpc_history_profiles_n(x->profiles) == 0 && !x->o->measure && !x->o->quiet)
        hpc_cmd_warn(
            "the history has no line profile: run perf collect -m cost with a build with -g",
            (void *)(uintptr_t) "perf predict");
    x->ask.heat = heat_of;
    x->ask.heat_from = x->profiles;
out:
    return rc;
}

static void close_heat(prediction *x)
{
    hpc_history_profiles_close(x->profiles);
    hpc_history_db_close(x->db);
    x->profiles = NULL;
    x->db = NULL;
}

static int open_all(prediction *x)
{
    const predict_options *o = x->o;
    int rc;
    TRY(predict_open_model(&x->model, o->model));
    if (o->language) TRY(hpc_pairs_open(&x->language, o->language, NULL, 0));
    x->ask.language = x->language;
    if (o->ack) TRY(hpc_cmd_read(&x->acks, o->ack));
    if (o->ack) TRY(hpc_buf_text(&x->acks, ""));
    rc = hpc_git_open(&x->git, o->repo);
    if (rc == HPC_E_IO) rc = HPC_E_ARG; /* bad usage */
    TRY(rc);
    TRY(open_heat(x));
    x->ask.acks = o->ack ? x->acks.data : NULL;
    x->ask.acks_name = o->ack;
    x->ask.all = o->all;
    x->ask.each = o->each;
    x->ask.warn = o->warn_on;
    if (!o->measure) x->ask.fail = o->fail_on; /* measurements overrule predictions */
out:
    return rc;
}

static void show(void *user, int64_t done, int64_t all)
{
    prediction *x = user;
    if (all < MANY_COMMITS) return; /* done at once */
    if (done == 1) hpc_progress_start(&x->progress, "commits", "commits", all);
    hpc_progress_update(&x->progress, done, NULL);
    if (done == all) hpc_progress_end(&x->progress, done);
}

/* ---- output ---------------------------------------------------------------------------------- */

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
    if (x->p.n == 0 && x->ask.file_n == 0 && !x->o->quiet)
        hpc_cmd_warn("the range has no commits", command);
}

static int measure(prediction *x)
{
    hpc_cmd_signals *signals = NULL;
    hpc_perf_measured *m = &x->measured;
    int rc;
    TRY(hpc_cmd_signals_start(&signals, "perf predict",
                              "measurements are kept, the same command continues"));
    x->history.stop = hpc_cmd_signals_stop(signals);
    TRY(hpc_perf_measure(m, &x->p, &x->history));
    if (m->points_n > 0 && m->measured == 0 && !m->stopped)
        TRY(hpc_fail(
            HPC_E_ARG,
            "none of %lld commits could be measured; their output is in table attempt of %s",
            (long long)m->failed, x->o->how.db));
    x->report.measured = m;
out:
    hpc_cmd_signals_end(signals);
    return rc;
}

/* Measurements overrule predictions. */
static bool is_failure(const prediction *x)
{
    if (!x->o->measure) return x->p.level == HPC_PERF_FAIL;
    return x->o->fail_on <= 1 && hpc_perf_measured_slower(&x->measured, &x->p);
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
    close_heat(x); /* measuring writes to it */
    remark(x);
    x->report = (predict_report){.p = &x->p, .range = range, .warn = o->warn_on};
    x->report.fail = o->fail_on;
    x->report.verbose = o->verbose;
    x->report.files = o->file.n > 0;
    hpc_perf_model_describe(&x->report.facts, x->model);
    TRY(predict_find(&x->report));
    if (x->o->measure) TRY(measure(x));
    TRY(put(&out, &x->report, o->json ? "json" : o->format));
    TRY(hpc_cmd_print(&out));
    rc = is_failure(x) ? EXIT_FINDINGS : EXIT_DONE;
    if (x->measured.stopped)
        TRY(hpc_fail(HPC_E_ABORTED,
                     "stopped; measurements are kept in %s, and the same command continues",
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
    const char *range = NULL;
    if (o->json && strcmp(o->format, "text") != 0 && strcmp(o->format, "json") != 0)
        TRY(hpc_fail(HPC_E_ARG, "--json and --format %s exclude each other", o->format));
    TRY(predict_read_request(&x.ask, &range, a, o, argc, argv));
    TRY(predict_measure_options(&x.history, &x.asked, o));
    x.program = (hpc_perf_program){.part = o->program.item, .part_n = o->program.n};
    if (o->database) rc = hpc_perf_program_read_built(&x.program, o->database, a);
    TRY(rc == HPC_E_IO ? HPC_E_ARG : rc);
    x.ask.program = &x.program;
    TRY(open_all(&x));
    TRY(predict(&x, range));
out:
    hpc_free(x.report.finding);
    hpc_perf_measured_release(&x.measured);
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
    .summary = "Predict how commits change performance, without running them.",
    .arguments = "[BASE..HEAD]",
    .description =
        "Compares each commit after BASE and up to HEAD with its parent, function by function. "
        "Predicts whether the program became slower, stayed the same or became faster, with a "
        "probability and the lines that are the reason. The model was trained on measured commits. "
        "Nothing is built or run, and the repository is only read. The range as a whole is judged "
        "like one commit, against the merge base of HEAD and BASE. With "
        "--file, uncommitted changes of files are judged instead of commits.\n\n"
        "Tests, documentation and examples do not count. They are recognised by the names of "
        "folders and files. Benchmarks among the tests do count. --program adds files that belong "
        "to the measured program. -p names a compile_commands.json with the sources of its "
        "build.\n\n"
        "The verdict is \"unknown\" if its probability is below 45 %, if the model is not certain, "
        "or if the change is unlike its training data. The model bounds two error rates: the share "
        "of changes that are not slower "
        "but called slower (5 % by default), and the share of slower changes that are called the "
        "same (10 %). The proven bound is twice these rates. --verbose prints the rates of the "
        "model. They "
        "apply to changes like the training data, not to other kinds of code, machines or metrics. "
        "Functions are judged as if they were commits.\n\n"
        "If the model was trained with a language model (perf train --language), --language names "
        "that language model. It reads at most eight functions and 2,048 tokens per commit, those "
        "with the most changed lines first.\n\n"
        "If the model was trained with line profiles, --db names a history of earlier commits, "
        "from perf collect -m cost and builds with -g. Changed lines count by their share of the "
        "cost there.\n\n"
        "The result is advisory without --fail-on. With it, the exit status is 1 if the range as a "
        "whole is slower with that probability and the verdict is not unknown. Single commits "
        "decide if no verdict exists for the range, or with --each. A range without commits "
        "because HEAD is an ancestor of BASE is rejected. Acknowledged slow-downs do not "
        "count: commits with a line \"Perf-Ack: REASON\" in their message, and entries of the file "
        ".perf-ack in HEAD, which are lines \"ID REASON\", \"PATH REASON\" or \"PATH:FUNCTION "
        "REASON\".\n\n"
        "With --measure, commits that the prediction leaves open are built and run as by perf "
        "collect, into the same kind of history. These are the commits on both sides of each "
        "change that is not predicted to be the same, and both ends of each stretch that is. A "
        "stretch that changed is bisected to the commit. The summary counts the commits that were "
        "not run and the time saved. A slow-down is missed if it is predicted to be the same, "
        "which happens to about one in ten, and if another change in its stretch compensates for "
        "it. --fail-on then fails on a measured slow-down, whatever its predicted probability.",
    .examples =
        "hpccoder perf predict origin/main..HEAD  # effect of a branch\n"
        "hpccoder perf predict HEAD~1.. --fail-on 0.9  # exit status 1 if it is probably slower\n"
        "hpccoder perf predict origin/main..HEAD --format markdown >comment.md\n"
        "hpccoder perf predict --file src/solver.c  # uncommitted changes of a file\n"
        "hpccoder perf predict v1..v2 --format sarif >perf.sarif\n"
        "hpccoder perf predict v1..v2 --measure --build make --run ./bench -m cost --db perf.db  # "
        "also measure the open cases",
    .options = predict_option_table,
    .options_bytes = sizeof(predict_options),
    .run = run,
};
