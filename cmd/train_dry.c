/*
 * train_dry.c: `train --dry-run`: the memory and operations of a run with an estimate of its time,
 * and the least recomputation that fits a budget.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "runtime/device/probe.h"
#include "cmd/train.h"

static double bytes_of(const hpc_trainer_plan *p)
{
    return p->parameter_bytes + p->gradient_bytes + p->optimizer_bytes + p->activation_bytes;
}

/* ---- recomputation ------------------------------------------------------------------------- */

int hpc_cmd_train_recompute(hpc_trainer_options *t, const train_options *o)
{
    if (o->memory > 0 && o->recompute[0] != 'a' && !o->plan)
        return hpc_fail(
            HPC_E_ARG,
            "recompute=%s and memory=%g exclude each other: a memory budget needs recompute=auto",
            o->recompute, o->memory);
    t->step.recompute = HPC_RECOMPUTE_NONE;
    if (o->recompute[0] == 's') t->step.recompute = HPC_RECOMPUTE_SELECTIVE;
    if (o->recompute[0] == 'b') t->step.recompute = HPC_RECOMPUTE_BLOCK;
    return HPC_OK;
}

/* A plan decides recomputation and offloading: its memory is only compared with the budget. */
static int check_budget(hpc_trainer_options *t, const train_options *o)
{
    double bytes;
    int rc = hpc_trainer_bytes(&bytes, t);
    if (rc < 0 || bytes <= o->memory * 0x1p30) return rc;
    return hpc_fail(
        HPC_E_ARG,
        "the plan in %s needs %.3g GiB on a rank, memory allows %.3g: make another plan, "
        "or leave --plan out",
        o->plan, bytes / 0x1p30, o->memory);
}

int hpc_cmd_train_fit(hpc_trainer_options *t, const train_options *o)
{
    if (o->memory <= 0) return HPC_OK;
    return o->plan ? check_budget(t, o) : hpc_trainer_fit(t, o->memory * 0x1p30);
}

/* ---- pruning ------------------------------------------------------------------------------- */

int hpc_cmd_train_prune(hpc_prune_config *out, const train_options *o, const hpc_trainer_options *t)
{
    char *end = NULL;
    *out = (hpc_prune_config){.asked = o->pruned.prune != -1,
                              .sparsity = o->pruned.prune,
                              .each = strcmp(o->prune_over, "each") == 0,
                              .early_bird = strcmp(o->prune_after, "early-bird") == 0,
                              .every = o->prune_every,
                              .distance = o->prune_distance};
    if (!out->early_bird) {
        out->after = strtoll(o->prune_after, &end, 10);
        if (end == o->prune_after || *end || out->after < 0)
            return hpc_fail(HPC_E_ARG, "prune-after=%s: expected a number of steps or early-bird",
                            o->prune_after);
    }
    return hpc_prune_check(out, &t->optimizer, &t->model, &t->parallel);
}

/* Masks of as many elements as would stay: which ones does not matter for bytes. */
static int assume_masks(hpc_masks **out, const hpc_trainer_options *t, const train_options *o)
{
    hpc_prune_config c;
    int rc;
    *out = NULL;
    TRY(hpc_cmd_train_prune(&c, o, t));
    if (!c.asked) return HPC_OK;
    TRY(hpc_masks_assume(out, &t->model, &c));
out:
    return rc;
}

/* ---- time ---------------------------------------------------------------------------------- */

static int64_t at_most(int64_t n, int64_t limit)
{
    return n < limit ? n : limit;
}

/* The rate of a product of the model's MLP, or of a corner of it: no matrix here is larger than a
 * processor needs to be at its best. Twice at least, since the first run touches the memory. */
static int measure_product(double *rate, hpc_device *d, const hpc_trainer_options *t,
                           hpc_dtype dtype)
{
    enum { RUNS = 4, ROWS = 512, IN = 2048, OUT = 4096, NS = 200000000 };
    int64_t m = at_most(t->rows * t->length, ROWS), k = at_most(t->model.hidden, IN);
    hpc_program *p = hpc_program_create();
    hpc_exec *e = NULL;
    int rc = p ? HPC_OK : HPC_E_NOMEM;
    *rate = 0;
    if (rc < 0) return rc;
    int64_t w_shape[] = {at_most(t->model.ffn, OUT), k};
    hpc_value x = hpc_program_input(p, "x", hpc_type_of(dtype, 2, (int64_t[]){m, k}));
    hpc_value w = hpc_program_input(p, "w", hpc_type_of(dtype, 2, w_shape));
    int segment = hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_program_keep(p, hpc_linear(p, x, w, HPC_NONE, HPC_NONE));
    TRY(hpc_program_status(p));
    TRY(hpc_exec_open(&e, p, d, NULL, NULL));
    int64_t begin = hpc_clock_ns();
    for (int run = 0; run < RUNS && (run < 2 || hpc_clock_ns() - begin < NS); run++) {
        int64_t start = hpc_clock_ns();
        TRY(hpc_exec_run(e, segment, 0));
        double ns = (double)(hpc_clock_ns() - start);
        *rate = fmax(*rate, hpc_exec_stats_of(e, segment).flops / ns * 1e9);
    }
out:
    hpc_exec_close(e);
    hpc_program_free(p);
    return rc;
}

static int measure(hpc_trainer_rates *out, const hpc_trainer_options *t)
{
    hpc_device *d = NULL;
    hpc_probe *probe = NULL;
    hpc_limits limits;
    int rc;
    TRY(hpc_device_open(&d, &t->device));
    TRY(measure_product(&out->full, d, t, HPC_F32));
    TRY(measure_product(&out->halves, d, t, HPC_BF16));
    TRY(hpc_probe_open(&probe, d, 0.1));
    TRY(hpc_probe_limits(&limits, probe));
    out->read = limits.read;
out:
    hpc_probe_close(probe);
    hpc_device_close(d);
    return rc;
}

/* ---- printing ------------------------------------------------------------------------------ */

typedef struct estimate {
    hpc_trainer_plan plan;
    double step_s, refresh_s, tokens;
} estimate;

static void put_json(hpc_buf *out, const estimate *e)
{
    const hpc_trainer_plan *p = &e->plan;
    hpc_json_out w = {.buf = out};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_int(&w, "parameters", p->params);
    hpc_json_put_int(&w, "trained", p->trained);
    hpc_json_put_real(&w, "flops_per_token", p->model_flops);
    hpc_json_put_real(&w, "step_flops", p->step_flops);
    hpc_json_put_real(&w, "refresh_flops", p->refresh_flops);
    hpc_json_put_real(&w, "parameter_bytes", p->parameter_bytes);
    hpc_json_put_real(&w, "gradient_bytes", p->gradient_bytes);
    hpc_json_put_real(&w, "optimizer_bytes", p->optimizer_bytes);
    hpc_json_put_real(&w, "activation_bytes", p->activation_bytes);
    hpc_json_put_real(&w, "peak_bytes", bytes_of(p));
    hpc_json_put_real(&w, "offloaded_bytes", p->outside_bytes);
    hpc_json_put_real(&w, "moved_bytes", p->moved_bytes);
    hpc_json_put_real(&w, "tokens_per_step", e->tokens);
    hpc_json_put_real(&w, "step_s", e->step_s);
    hpc_json_put_real(&w, "refresh_s", e->refresh_s);
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void put_text(hpc_buf *out, const estimate *e)
{
    const hpc_trainer_plan *p = &e->plan;
    char text[32];
    const struct {
        const char *name;
        double bytes;
    } part[] = {{"parameters", p->parameter_bytes},
                {"gradients", p->gradient_bytes},
                {"optimizer", p->optimizer_bytes},
                {"activations", p->activation_bytes},
                {"peak", bytes_of(p)}};
    hpc_buf_printf(out, "parameters      %lld", (long long)p->params);
    if (p->trained != p->params) hpc_buf_printf(out, ", %lld trainable", (long long)p->trained);
    hpc_buf_printf(out, "\nflops a token   %.3g\nflops a step    %.3g", p->model_flops,
                   p->step_flops);
    if (p->refresh_flops > 0) hpc_buf_printf(out, ", and %.3g of a refresh", p->refresh_flops);
    hpc_buf_printf(out, "\ntokens a step   %.0f\n\n", e->tokens);
    for (size_t k = 0; k < sizeof part / sizeof *part; k++)
        hpc_buf_printf(out, "%-14s  %s\n", part[k].name, hpc_cmd_bytes(text, part[k].bytes));
    if (p->outside_bytes > 0) {
        hpc_buf_printf(out, "%-14s  %s\n", "offloaded", hpc_cmd_bytes(text, p->outside_bytes));
        hpc_buf_printf(out, "%-14s  %s\n", "moved a step", hpc_cmd_bytes(text, p->moved_bytes));
    }
    hpc_buf_printf(out, "\nestimated time  %.3g s a step, %.0f tokens/s\n", e->step_s,
                   e->tokens / e->step_s);
    if (e->refresh_s > 0) hpc_buf_printf(out, "                %.3g s a refresh\n", e->refresh_s);
}

/* Rejects a grid of several ranks: a dry run plans for one. */
static int check_alone(const hpc_trainer_options *t, const train_options *o)
{
    hpc_parallel q = t->parallel;
    int rc;
    TRY(hpc_grid_parse(&q.grid, o->ranks.grid));
    if (hpc_grid_size(&q.grid) == 1) goto out;
    TRY(hpc_parallel_check(&q, &t->model, t->rows, t->length));
    TRY(hpc_fail(HPC_E_UNSUPPORTED,
                 "dry-run plans for one rank, but grid=%s has %d: `hpccoder plan check` prints the "
                 "memory of a rank, `plan simulate` communication and time",
                 o->ranks.grid, hpc_grid_size(&q.grid)));
out:
    return rc;
}

int hpc_cmd_train_dry(hpc_trainer_options *t, const train_options *o)
{
    estimate e = {.tokens = (double)(t->rows * t->length * t->accumulate)};
    hpc_trainer_options pruned;
    hpc_masks *masks = NULL;
    hpc_trainer *trainer = NULL;
    hpc_buf out = {0};
    hpc_trainer_rates r;
    int rc;
    TRY(check_alone(t, o));
    TRY(hpc_cmd_train_fit(t, o));
    TRY(assume_masks(&masks, t, o));
    pruned = *t;
    pruned.masks = masks;
    TRY(hpc_trainer_open(&trainer, &pruned, true));
    TRY(measure(&r, t));
    e.plan = hpc_trainer_about(trainer);
    hpc_trainer_estimate(&e.step_s, &e.refresh_s, trainer, &r);
    o->json ? put_json(&out, &e) : put_text(&out, &e);
    TRY(hpc_cmd_print(&out));
    rc = EXIT_DONE;
out:
    hpc_trainer_close(trainer);
    hpc_masks_free(masks);
    return rc;
}
