/*
 * optimizer.c: the optimizer benchmark: the cost that each optimizer adds to a training step,
 * measured and by counted operations, relative to AdamW in the same run.
 *
 * It does not measure how well they learn.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/bench/priv.h"

enum { SAMPLES_MOST = HPC_BENCH_ROUNDS + 1 };

typedef struct contestant {
    hpc_optimizer_config o;
    hpc_trainer *trainer;
    hpc_optimizer_cost cost; /* of all matrices of the blocks */
    double plain[SAMPLES_MOST], refreshed[SAMPLES_MOST];
    int64_t step, n, interval;  /* interval: between refreshes, for the mean */
    double step_ms, refresh_ms; /* medians */
} contestant;

typedef struct bench {
    const hpc_bench_optimizer_options *o;
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
    const hpc_bench_optimizer_options *o = b->o;
    c->o = (hpc_optimizer_config)HPC_OPTIMIZER_CONFIG_DEFAULTS;
    c->o.kind = kind;
    hpc_optimizer_usual(&c->o);
    c->interval = o->interval > 0 ? o->interval : c->o.interval;
    c->o.block = o->block;
    c->o.halves = hpc_round_bf16_find(o->round_bf16, kind, o->model.config.dtype);
    c->o.interval = 2; /* every other step, so that both are seen alike often */
    c->o.burst = 0;
    hpc_trainer_options t = hpc_bench_trainer(&o->model, &c->o, o->device);
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
    hpc_bench_text(hpc_trainer_batches(c->trainer)[0], b->o->model.config.vocab, c->step++);
    int64_t start = hpc_clock_ns();
    int rc = hpc_trainer_step(&r, c->trainer, c->step, 1e-4, INFINITY);
    *ms = (double)(hpc_clock_ns() - start) * 1e-6;
    return rc;
}

/* Contestants take turns, each with a step that refreshes and one that does not; the first round
 * warms up. */
static int measure(bench *b, hpc_progress *progress)
{
    double ms;
    int rc = HPC_OK;
    hpc_progress_start(progress, "bench optimizer", "rounds", b->o->rounds);
    for (int64_t round = 0; round <= b->o->rounds; round++) {
        for (int k = 0; k < b->n; k++) {
            contestant *c = &b->c[k];
            double *plain = &c->plain[c->n], *refreshed = &c->refreshed[c->n];
            TRY(take_step(round ? plain : &ms, b, c));
            TRY(take_step(round ? refreshed : &ms, b, c));
            c->n += round > 0;
        }
        hpc_progress_update(progress, round, NULL);
    }
    hpc_progress_end(progress, b->o->rounds);
    for (int k = 0; k < b->n; k++) {
        contestant *c = &b->c[k];
        c->step_ms = hpc_bench_median(c->plain, c->n);
        c->refresh_ms = c->o.kind > HPC_OPT_MUON
                            ? fmax(hpc_bench_median(c->refreshed, c->n) - c->step_ms, 0)
                            : 0;
    }
out:
    return rc;
}

/* ---- entry ---------------------------------------------------------------------------------- */

static hpc_bench_optimizer_result result_of(const bench *b, const contestant *c)
{
    double k = (double)c->interval;
    hpc_bench_optimizer_result r = {.kind = c->o.kind,
                                    .interval = c->interval,
                                    .cost = c->cost,
                                    .plain_ms = c->step_ms,
                                    .refresh_ms = c->refresh_ms,
                                    .step_ms = c->step_ms + c->refresh_ms / k};
    r.by_formula = 1 + (c->cost.apply + c->cost.refresh / k) / b->model_flops;
    return r;
}

int hpc_bench_optimizer(hpc_bench_optimizer_result **out, int *n, double *model_flops,
                        const hpc_bench_optimizer_options *o, hpc_progress *progress)
{
    bench b = {.o = o};
    int rc;
    *out = NULL;
    TRY(open_all(&b));
    TRY(measure(&b, progress));
    *out = hpc_alloc((size_t)b.n, sizeof **out);
    if (!*out) TRY(HPC_E_NOMEM);
    for (int k = 0; k < b.n; k++) {
        (*out)[k] = result_of(&b, &b.c[k]);
        (*out)[k].of_adamw = (*out)[k].step_ms / (*out)[0].step_ms;
    }
    *n = b.n;
    *model_flops = b.model_flops;
out:
    for (int k = 0; b.c && k < b.n; k++) hpc_trainer_close(b.c[k].trainer);
    hpc_free(b.c);
    return rc;
}
