/*
 * eval_perf.c: the command `eval perf`.
 */
#include "cmd/perf_train.h"

typedef struct perf_options {
    hpc_texts db, examples, judge_on, metric;
    double threshold, alarm, miss;
    int64_t seed;
    bool json;
} perf_options;

static int print(const train_options *o, const train_lesson *l, const hpc_perf_gathered *s)
{
    hpc_buf out = {0};
    hpc_json_out w = {.buf = &out, .indent = 2};
    hpc_json_out *json = o->json ? &w : NULL;
    int rc;
    if (json) hpc_json_open(json, NULL, '{');
    if (json) hpc_json_put_text(json, "suite", "perf");
    train_print_set(&out, json, s);
    TRY(train_lesson_evaluate(&out, json, l, s, o));
    if (json) hpc_json_close(json, '}');
    if (json) hpc_buf_text(&out, "\n");
    TRY(hpc_cmd_print(&out));
out:
    hpc_buf_release(&out);
    return rc;
}

/* Without histories and examples: the installed examples. */
static int run(void *opaque, int argc, char **argv)
{
    const perf_options *p = opaque;
    train_options o = {.db = p->db,
                       .examples = p->examples,
                       .judge_on = p->judge_on,
                       .metric = p->metric,
                       .threshold = p->threshold,
                       .alarm = p->alarm,
                       .miss = p->miss,
                       .seed = p->seed,
                       .evaluate = true,
                       .json = p->json};
    train_inputs in = {0};
    hpc_perf_gathered s = {0};
    train_lesson l = {0};
    char installed[PATH_MAX];
    const char *item = installed;
    int rc = HPC_OK;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    if (o.db.n + o.examples.n == 0) {
        if (hpc_cmd_find(installed, "models/perf/real.csv.zst") < 0 || !installed[0])
            return hpc_fail(HPC_E_ARG, "no examples are installed; name some: --examples FILE.csv");
        o.examples = (hpc_texts){.item = &item, .n = 1};
    }
    TRY(train_inputs_open(&in, &o));
    TRY(hpc_perf_gather(&s, &in.gather));
    TRY(hpc_perf_gather_choose(&s, &in.gather));
    TRY(train_lesson_open(&l, &s, &o));
    TRY(print(&o, &l, &s));
out:
    train_lesson_close(&l);
    hpc_perf_gathered_release(&s);
    train_inputs_close(&in);
    return rc < 0 ? rc : EXIT_DONE;
}

#define TEXTS(field, option, operand, what)                                                        \
    {                                                                                              \
        .name = option, .kind = HPC_TEXTS, .offset = offsetof(perf_options, field),                \
        .argument = operand, .help = what                                                          \
    }
#define PERCENT(field, option, value, low, what)                                                   \
    {                                                                                              \
        .name = option, .kind = HPC_REAL, .offset = offsetof(perf_options, field),                 \
        .fallback = value, .argument = "PERCENT", .least = low, .most = 100, .help = what          \
    }

static const hpc_option options[] = {
    TEXTS(examples, "examples", "FILE.csv",
          "Examples from perf train, plain or compressed with zstd. Default: the installed ones."),
    TEXTS(db, "db", "FILE", "Performance history from perf collect, whose repository is present."),
    TEXTS(judge_on, "judge-on", "FILE.csv",
          "Train on all other examples and test on these, instead of leaving parts out."),
    TEXTS(metric, "metric", "METRIC", "Use only labels of this metric."),
    PERCENT(
        threshold, "threshold", "0", 0,
        "Smallest change that counts as slower or faster; 0: 1 for cost and instructions, 5 for "
        "measured times and memory."),
    PERCENT(alarm, "alarm", "5", 0.01,
            "Maximum share of commits that are not slower (not faster) but are called so."),
    PERCENT(miss, "miss", "10", 0.01, "Maximum share of slower commits that are called the same."),
    {.name = "seed",
     .kind = HPC_INT,
     .offset = offsetof(perf_options, seed),
     .fallback = "1",
     .argument = "N",
     .help = "Seed of the bootstrap intervals."},
    HPC_CMD_JSON(perf_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_eval_perf = {
    .name = "eval perf",
    .summary = "Score predictions of performance changes on held-out commits.",
    .arguments = "",
    .description =
        "Trains the predictor of `perf predict` on labelled commits and tests it on commits that "
        "it has not seen: it leaves out each repository in turn, and then the last 30 % of each "
        "history. Reports accuracy, F1, areas under the ROC curve, calibration and abstentions "
        "next to simpler baselines, with 95 % bootstrap intervals over commits. Nothing is "
        "written.\n\n"
        "Without --examples and --db it uses the installed examples from public repositories.",
    .examples = "hpccoder eval perf  # the installed examples\n"
                "hpccoder eval perf --examples model/examples.csv --json\n"
                "hpccoder eval perf --examples a.csv --judge-on b.csv",
    .options = options,
    .options_bytes = sizeof(perf_options),
    .run = run,
};
