/*
 * `hpccoder perf train`: trains a predictor of performance changes.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/perf_train.h"

static int save(const hpc_perf_model *m, const hpc_perf_gathered *s, const char *folder)
{
    hpc_perf_examples learnt = s->all; /* borrowed */
    hpc_buf path = {0};
    int rc = HPC_OK;
    learnt.n = s->given_n;
    TRY(hpc_file_mkdir(folder));
    TRY(hpc_buf_printf(&path, "%s/examples.csv", folder));
    TRY(hpc_perf_examples_write(&learnt, path.data));
    path.n = 0;
    TRY(hpc_buf_printf(&path, "%s/model.json", folder));
    TRY(hpc_perf_model_write(m, path.data));
out:
    hpc_buf_release(&path);
    return rc;
}

/* Printed before training, which fails if the training data is too small. */
static int tell_set(const hpc_perf_gathered *s, const train_options *o)
{
    hpc_buf out = {0};
    if (o->json) return HPC_OK;
    train_print_set(&out, NULL, s);
    return hpc_cmd_print(&out);
}

static int tell(hpc_buf *out, const train_lesson *l, const hpc_perf_gathered *s,
                const hpc_perf_model *m, const train_options *o)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_out *json = o->json ? &w : NULL;
    hpc_perf_model_facts facts;
    int rc = HPC_OK;
    hpc_perf_model_describe(&facts, m);
    if (json) {
        hpc_json_open(json, NULL, '{');
        hpc_json_put_text(json, "metric", facts.metric);
        hpc_json_put_real(json, "alarm", facts.alarm);
        hpc_json_put_real(json, "miss", facts.miss);
        train_print_set(out, json, s);
    } else {
        hpc_buf_printf(
            out,
            "by %s; calls at most %g %% of the commits that are not slower \"slower\", and at most "
            "%g %% of the slower ones \"same\", if new commits are exchangeable with these\n",
            facts.metric, 100 * facts.alarm, 100 * facts.miss);
    }
    if (o->evaluate || o->judge_on.n > 0) TRY(train_lesson_evaluate(out, json, l, s, o));
    if (json) {
        hpc_json_close(json, '}');
        hpc_buf_text(out, "\n");
    }
out:
    return rc;
}

static int run(void *opaque, int argc, char **argv)
{
    const train_options *o = opaque;
    train_inputs in = {0};
    hpc_perf_gathered s = {0};
    train_lesson l = {0};
    hpc_perf_model *m = NULL;
    hpc_buf out = {0};
    int rc = HPC_OK;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    TRY(train_inputs_open(&in, o));
    if (!o->out) TRY(hpc_fail(HPC_E_ARG, "--out DIR is missing: the folder for the model"));
    TRY(hpc_perf_gather(&s, &in.gather));
    TRY(train_inputs_check_used(&in, &s));
    TRY(hpc_perf_gather_choose(&s, &in.gather));
    TRY(tell_set(&s, o));
    TRY(train_lesson_open(&l, &s, o));
    TRY(hpc_perf_learn(&m, l.e, s.learnt_n, &l.rule));
    TRY(save(m, &s, o->out));
    TRY(tell(&out, &l, &s, m, o));
    TRY(hpc_cmd_print_report(&out, "the model is in", o->out));
out:
    hpc_buf_release(&out);
    train_lesson_close(&l);
    hpc_perf_model_free(m);
    hpc_perf_gathered_release(&s);
    train_inputs_close(&in);
    return rc < 0 ? rc : EXIT_DONE;
}

static const hpc_option options[] = {
    {.name = "db",
     .kind = HPC_TEXTS,
     .offset = offsetof(train_options, db),
     .argument = "FILE",
     .help = "Performance history from perf collect."},
    {.name = "repo",
     .kind = HPC_TEXTS,
     .offset = offsetof(train_options, repo),
     .argument = "[NAME=]DIR",
     .help =
         "Repository of a history, recognised by its commits. Default: the path that the history "
         "records. NAME=DIR also recomputes the features of the examples of repository NAME."},
    {.name = "examples",
     .kind = HPC_TEXTS,
     .offset = offsetof(train_options, examples),
     .argument = "FILE.csv",
     .help = "Examples from an earlier perf train, plain or compressed with zstd."},
    {.name = "line-profile",
     .former = "heat",
     .kind = HPC_TEXTS,
     .offset = offsetof(train_options, heat),
     .argument = "NAME=FILE",
     .help =
         "History with a line profile of repository NAME (perf collect -m cost of builds with -g), "
         "if the history with its labels has none, and for examples with recomputed features."},
    {.name = "language",
     .kind = HPC_TEXTS,
     .offset = offsetof(train_options, language),
     .argument = "[NAME=]MODEL",
     .help = "Language model from train --objective pairs: its scores for the commits of "
             "repository NAME, or of repositories without their own model, become features. It "
             "must not have been trained on these commits."},
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(train_options, out),
     .argument = "DIR",
     .help = "Folder for model.json and examples.csv; created if missing."},
    {.name = "metric",
     .letter = 'm',
     .kind = HPC_TEXTS,
     .offset = offsetof(train_options, metric),
     .argument = "METRIC",
     .help = "Use only labels of this metric. If several are given, each commit uses the first one "
             "that it has. Default order: cost, instructions, time, user, memory, any other."},
    {.name = "threshold",
     .kind = HPC_REAL,
     .offset = offsetof(train_options, threshold),
     .fallback = "0",
     .argument = "PERCENT",
     .least = 0,
     .most = 100,
     .help = "Smallest change that counts as slower or faster; 0: 1 for cost and instructions, 5 "
             "for measured times and memory."},
    {.name = "alarm",
     .kind = HPC_REAL,
     .offset = offsetof(train_options, alarm),
     .fallback = "5",
     .argument = "PERCENT",
     .least = 0.01,
     .most = 50,
     .help = "Maximum share of commits that are not slower (not faster) but are called so."},
    {.name = "miss",
     .kind = HPC_REAL,
     .offset = offsetof(train_options, miss),
     .fallback = "10",
     .argument = "PERCENT",
     .least = 0.01,
     .most = 50,
     .help = "Maximum share of slower commits that are called the same."},
    {.name = "evaluate",
     .kind = HPC_FLAG,
     .offset = offsetof(train_options, evaluate),
     .help = "Report the accuracy on held-out commits, next to simpler baselines."},
    {.name = "judge-on",
     .kind = HPC_TEXTS,
     .offset = offsetof(train_options, judge_on),
     .argument = "FILE.csv",
     .help = "Test examples: report the accuracy on these instead of the commits that --evaluate "
             "leaves out. Nothing is trained on them."},
    {.name = "seed",
     .kind = HPC_INT,
     .offset = offsetof(train_options, seed),
     .fallback = "1",
     .argument = "N",
     .help = "Seed of the bootstrap intervals of --evaluate. The model does not depend on it."},
    HPC_CMD_JSON(train_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_perf_train = {
    .name = "perf train",
    .summary = "Train a predictor of performance changes on performance histories.",
    .arguments = "",
    .description =
        "Reads performance histories and their repositories and extracts features of each commit "
        "(loops, calls, allocations, memory accesses, flags and so on) without building or running "
        "anything. Trains a classifier with the classes slower, same and faster. Writes "
        "DIR/model.json and DIR/examples.csv, which has features and labels with names of "
        "repositories and ids of commits. --examples trains from such a file without the "
        "repositories, also in combination with your own histories. The training data must contain "
        "at least 10 slower, 20 same and 5 faster commits that change code.\n\n"
        "Each commit is compared with the nearest earlier commit that was measured. Undecided "
        "pairs are left out. Probabilities and abstentions are calibrated on examples that the "
        "classifier was not trained on: by repository if there are at least four, otherwise by "
        "periods of time. The model calls at most about --alarm of the commits that are not slower "
        "\"slower\", and at most about --miss of the slower commits \"same\". The method is "
        "cross-conformal prediction; the proven bound is twice as large. It assumes that new "
        "commits are exchangeable with the examples. It fails for other kinds of code, machines or "
        "metrics.\n\n"
        "--evaluate leaves out each repository in turn, and then the last 30 % of each "
        "repository's history, and reports the accuracy on these. Baselines are the class "
        "frequencies, logistic regression on the size of the diff, and logistic regression on the "
        "tokens of added and removed lines. Every figure has a 95 % confidence interval from a "
        "bootstrap over commits. DIR/evaluated.csv gets the probabilities of commits whose "
        "repository was left out, or of --judge-on.",
    .examples = "hpccoder perf train --db perf.db --out model\n"
                "hpccoder perf train --db a.db --db b.db --metric cost --evaluate --out model\n"
                "hpccoder perf train --db perf.db --examples model/examples.csv --out both  # with "
                "examples from others",
    .options = options,
    .options_bytes = sizeof(train_options),
    .run = run,
};
