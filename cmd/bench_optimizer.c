/*
 * bench_optimizer.c: what each optimizer adds to a training step, measured and
 * by formula, beside AdamW in the same run.
 *
 * How well they learn is a matter of runs, not of this.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/bench_step.h"
#include "cmd/cmd.h"
#include "cmd/model_options.h"

typedef struct optimizer_options {
    model_options model;
    hpc_texts optimizer;
    int64_t block, interval, rounds, threads;
    const char *halves;
    const char *isa, *backend;
    bool json, quiet;
} optimizer_options;

enum { SAMPLES_MOST = 1000 };

typedef struct contestant {
    hpc_optimizer_config o;
    hpc_trainer *trainer;
    hpc_optimizer_cost cost; /* of all matrices of the blocks */
    double plain[SAMPLES_MOST], refreshed[SAMPLES_MOST];
    int64_t step, n, interval;  /* interval: between refreshes, for the mean */
    double step_ms, refresh_ms; /* medians */
} contestant;

typedef struct bench {
    const optimizer_options *o;
    contestant *c;
    int n;
    double model_flops; /* of a step: 6 a parameter of a product, and attention */
} bench;

/* ---- opening --------------------------------------------------------------------------------- */

static int sum_costs(contestant *c, const hpc_model_config *m)
{
    hpc_model_tensor *tensor = NULL;
    int64_t n = 0;
    int rc = hpc_model_tensors(&tensor, &n, m);
    for (int64_t k = 0; rc >= 0 && k < n; k++) {
        if (tensor[k].role != HPC_ROLE_MATRIX) continue;
        hpc_optimizer_cost x =
            hpc_optimizer_cost_of(&c->o, tensor[k].extent[0], tensor[k].extent[1]);
        c->cost.apply += x.apply;
        c->cost.refresh += x.refresh;
        c->cost.state_bytes += x.state_bytes;
    }
    hpc_free(tensor);
    return rc;
}

static int open_one(bench *b, contestant *c, int kind)
{
    const optimizer_options *o = b->o;
    hpc_device_options device = {.backend = o->backend, .isa = o->isa, .threads = (int)o->threads};
    c->o = (hpc_optimizer_config)HPC_OPTIMIZER_CONFIG_DEFAULTS;
    c->o.kind = kind;
    hpc_optimizer_usual(&c->o);
    c->interval = o->interval > 0 ? o->interval : c->o.interval;
    c->o.block = o->block;
    c->o.halves = optimizer_halves(o->halves, kind, compute_dtype(o->model.dtype));
    c->o.interval = 2; /* every other step, so that both are seen alike often */
    c->o.burst = 0;
    hpc_trainer_options t = hpc_bench_trainer(&o->model, &c->o, device);
    int rc;
    TRY(sum_costs(c, &t.model));
    TRY(hpc_trainer_open(&c->trainer, &t, false));
    b->model_flops = hpc_model_config_flops(&t.model, t.length) * (double)(t.rows * t.length);
out:
    return rc;
}

/* AdamW first, whatever was asked for. */
static int open_all(bench *b)
{
    int rc = HPC_OK;
    bool all = b->o->optimizer.n == 0;
    int64_t asked = all ? HPC_OPT_N : b->o->optimizer.n;
    b->c = hpc_alloc((size_t)asked + 1, sizeof *b->c);
    if (!b->c) return HPC_E_NOMEM;
    TRY(open_one(b, &b->c[b->n++], HPC_OPT_ADAMW));
    for (int64_t k = 0; k < asked; k++) {
        int kind = (int)k;
        if (!all) TRY(hpc_optimizer_find(&kind, b->o->optimizer.item[k]));
        if (kind != HPC_OPT_ADAMW) TRY(open_one(b, &b->c[b->n++], kind));
    }
out:
    return rc;
}

/* ---- measuring ------------------------------------------------------------------------------ */

static int take_step(double *ms, bench *b, contestant *c)
{
    hpc_trainer_result r;
    hpc_bench_text(hpc_trainer_batches(c->trainer)[0], b->o->model.vocab, c->step++);
    int64_t start = hpc_clock_ns();
    int rc = hpc_trainer_step(&r, c->trainer, c->step, 1e-4, INFINITY);
    *ms = (double)(hpc_clock_ns() - start) * 1e-6;
    return rc;
}

/* Contestants take turns, each with a step that refreshes and one that does not; the first round
 * warms up. */
static int measure(bench *b)
{
    hpc_progress progress;
    double ms;
    int rc = HPC_OK;
    hpc_cmd_progress(&progress, b->o->quiet);
    hpc_progress_start(&progress, "bench optimizer", "rounds", b->o->rounds);
    for (int64_t round = 0; round <= b->o->rounds; round++) {
        for (int k = 0; k < b->n; k++) {
            contestant *c = &b->c[k];
            double *plain = &c->plain[c->n], *refreshed = &c->refreshed[c->n];
            TRY(take_step(round ? plain : &ms, b, c));
            TRY(take_step(round ? refreshed : &ms, b, c));
            c->n += round > 0;
        }
        hpc_progress_update(&progress, round, NULL);
    }
    hpc_progress_end(&progress, b->o->rounds);
    for (int k = 0; k < b->n; k++) {
        contestant *c = &b->c[k];
        c->step_ms = hpc_cmd_median(c->plain, c->n);
        c->refresh_ms =
            c->o.kind > HPC_OPT_MUON ? fmax(hpc_cmd_median(c->refreshed, c->n) - c->step_ms, 0) : 0;
    }
out:
    return rc;
}

/* ---- reporting ------------------------------------------------------------------------------ */

typedef struct row {
    double step_ms, ratio, formula; /* a mean step, over AdamW's: measured, by operations */
} row;

static row row_of(const bench *b, const contestant *c)
{
    double k = (double)c->interval;
    row r = {.step_ms = c->step_ms + c->refresh_ms / k};
    r.ratio = r.step_ms / b->c[0].step_ms;
    r.formula = 1 + (c->cost.apply + c->cost.refresh / k) / b->model_flops;
    return r;
}

static void put_json(hpc_buf *out, const bench *b)
{
    hpc_json_out w = {.buf = out};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_int(&w, "block", b->o->block);
    hpc_json_put_int(&w, "tokens", b->o->model.sequences * b->o->model.length);
    hpc_json_put_real(&w, "model_flops", b->model_flops);
    hpc_json_open(&w, "optimizers", '[');
    for (int k = 0; k < b->n; k++) {
        const contestant *c = &b->c[k];
        row r = row_of(b, c);
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_text(&w, "name", hpc_optimizer_names[c->o.kind]);
        hpc_json_put_int(&w, "interval", c->interval);
        hpc_json_put_real(&w, "apply_flops", c->cost.apply);
        hpc_json_put_real(&w, "refresh_flops", c->cost.refresh);
        hpc_json_put_real(&w, "state_bytes", c->cost.state_bytes);
        hpc_json_put_real(&w, "plain_ms", c->step_ms);
        hpc_json_put_real(&w, "refresh_ms", c->refresh_ms);
        hpc_json_put_real(&w, "step_ms", r.step_ms);
        hpc_json_put_real(&w, "over_adamw", r.ratio);
        hpc_json_put_real(&w, "over_adamw_by_formula", r.formula);
        hpc_json_close(&w, '}');
    }
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void put_table(hpc_buf *out, const bench *b)
{
    int64_t tokens = b->o->model.sequences * b->o->model.length;
    hpc_buf_printf(out,
                   "blocks of %lld, %lld tokens per step, %.3g operations of the model\n\n"
                   "%-16s  %9s  %9s  %9s  %9s  %9s  %9s  %9s  %9s\n",
                   (long long)b->o->block, (long long)tokens, b->model_flops, "optimizer", "apply",
                   "refresh", "every", "plain ms", "refresh", "mean ms", "of adamw", "formula");
    for (int k = 0; k < b->n; k++) {
        const contestant *c = &b->c[k];
        row r = row_of(b, c);
        hpc_buf_printf(out, "%-16s  %9.3g  %9.3g  %9lld  %9.1f  %9.1f  %9.1f  %9.3f  %9.3f\n",
                       hpc_optimizer_names[c->o.kind], c->cost.apply, c->cost.refresh,
                       (long long)(c->cost.refresh > 0 ? c->interval : 0), c->step_ms,
                       c->refresh_ms, r.step_ms, r.ratio, r.formula);
    }
}

static int run(void *options, int argc, char **argv)
{
    bench b = {.o = options};
    hpc_buf out = {0};
    int rc = HPC_OK;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    TRY(open_all(&b));
    TRY(measure(&b));
    b.o->json ? put_json(&out, &b) : put_table(&out, &b);
    TRY(hpc_cmd_print(&out));
    rc = EXIT_DONE;
out:
    for (int k = 0; b.c && k < b.n; k++) hpc_trainer_close(b.c[k].trainer);
    hpc_free(b.c);
    return rc;
}

static const hpc_option options[] = {
    {.name = "optimizer",
     .kind = HPC_TEXTS,
     .offset = offsetof(optimizer_options, optimizer),
     .argument = "NAME",
     .help = "Optimizer to measure, as in hpccoder train. Default: all."},
    {.name = "block",
     .kind = HPC_INT,
     .offset = offsetof(optimizer_options, block),
     .fallback = "256",
     .argument = "N",
     .least = 1,
     .most = 65536,
     .help = "Maximum number of rows of a preconditioner."},
    {.name = "round-bf16",
     .former = "halves",
     .kind = HPC_CHOICE,
     .offset = offsetof(optimizer_options, halves),
     .fallback = "auto",
     .choices = optimizer_halves_names,
     .help = "Products of the optimizer with operands rounded to bf16; see train."},
    {.name = "interval",
     .kind = HPC_INT,
     .offset = offsetof(optimizer_options, interval),
     .fallback = "0",
     .argument = "N",
     .least = 0,
     .most = 1e9,
     .help = "Steps between refreshes, for the average; 0: the default of the optimizer."},
    {.name = "rounds",
     .kind = HPC_INT,
     .offset = offsetof(optimizer_options, rounds),
     .fallback = "5",
     .argument = "N",
     .least = 1,
     .most = SAMPLES_MOST - 1,
     .help = "Measured steps of each kind per optimizer, after one warm-up step."},
    MODEL_OPTIONS(offsetof(optimizer_options, model)),
    HPC_CMD_THREADS(optimizer_options),
    {.name = "backend",
     .kind = HPC_TEXT,
     .offset = offsetof(optimizer_options, backend),
     .fallback = "cpu",
     .argument = "NAME",
     .help = "Device backend; `hpccoder info` lists them."},
    {.name = "isa",
     .kind = HPC_TEXT,
     .offset = offsetof(optimizer_options, isa),
     .argument = "NAME",
     .help = "Instruction set. Default: the best that this CPU supports."},
    HPC_CMD_JSON(optimizer_options),
    HPC_CMD_QUIET(optimizer_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_bench_optimizer = {
    .name = "bench optimizer",
    .summary = "Benchmark the cost of optimizers in a training step.",
    .arguments = "",
    .description =
        "Runs training steps of one model with each optimizer on generated text. Reports the "
        "median time of a step without a refresh of preconditioners, of a refresh, and of an "
        "average step at --interval, relative to AdamW in the same run. Also reports the "
        "operations of update and refresh, from formulas, relative to those of the model.",
    .examples = "hpccoder bench optimizer --hidden 256 --layers 6 --heads 8 --kv-heads 8 --ffn 704 "
                "--length 256  # a model with seven million parameters\n"
                "hpccoder bench optimizer --optimizer jorge-newton --optimizer shampoo --json  # "
                "two optimizers",
    .options = options,
    .options_bytes = sizeof(optimizer_options),
    .run = run,
};
