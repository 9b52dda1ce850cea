/*
 * step.c: the step benchmark: training steps on generated text, with loss, time, operations
 * and limits. Bytes are the tokens; nothing is saved.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/bench/priv.h"

enum { FLOORS = 64 }; /* the summary covers the last steps, at most so many */

struct hpc_bench_step {
    const hpc_bench_step_options *o;
    hpc_optimizer_config optimizer;
    hpc_trainer *trainer;
    hpc_trainer_plan plan;
    int64_t step;
    hpc_step_ruler *ruler; /* NULL: limits are not measured */
    hpc_step_limits limits;
    double registers[FLOORS], peer[FLOORS]; /* fractions of a step that the limits explain */
    int64_t floors;
};

/* Line `n` of an endless program of small loops, so that there is something to learn. */
static int loop_line(char *out, size_t size, uint64_t n)
{
    static const char *const body[] = {
        "for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];\n",
        "#pragma omp parallel for reduction(+:s)\nfor (int i = 0; i < n; i++) s += x[i] * y[i];\n",
        "for (int j = 0; j < m; j++) c[i * m + j] += a[i * k + l] * b[l * m + j];\n",
        "MPI_Allreduce(MPI_IN_PLACE, &s, 1, MPI_DOUBLE, MPI_SUM, comm);\n",
    };
    uint32_t pick = hpc_random_bits(7, 0, 0, n);
    return snprintf(out, size, "%s", body[pick % (sizeof body / sizeof *body)]);
}

void hpc_bench_text(hpc_batch *b, int64_t vocab, int64_t step)
{
    char line[160];
    int used = 0, n = 0;
    int64_t tokens = b->rows * b->length;
    uint64_t at = (uint64_t)step * 100000;
    b->start_n = 0;
    for (int64_t k = 0; k <= tokens; k++) {
        if (used == n) {
            n = loop_line(line, sizeof line, at++);
            used = 0;
        }
        int32_t token = (int32_t)((unsigned char)line[used++] % vocab);
        if (k > 0) b->targets[k - 1] = token;
        if (k % b->length == 0) b->start[b->start_n++] = (int32_t)k;
        if (k == tokens) break;
        b->tokens[k] = token;
        b->pos[k] = (int32_t)(k % b->length);
    }
    b->counted = b->tokens_n = tokens;
}

hpc_trainer_options hpc_bench_trainer(const hpc_bench_model *m, const hpc_optimizer_config *o,
                                      hpc_device_options device)
{
    hpc_trainer_options t = {.model = m->config,
                             .optimizer = *o,
                             .step = {.clip = 1},
                             .length = m->length,
                             .rows = m->rows,
                             .documents = 1,
                             .accumulate = 1,
                             .seed = 1,
                             .device = device};
    t.model.positions = m->length;
    return t;
}

int hpc_bench_step_open(hpc_bench_step **out, const hpc_bench_step_options *o)
{
    int rc = HPC_E_NOMEM;
    *out = NULL;
    hpc_bench_step *b = hpc_alloc(1, sizeof *b);
    if (!b) goto out;
    b->o = o;
    b->optimizer = (hpc_optimizer_config)HPC_OPTIMIZER_CONFIG_DEFAULTS;
    TRY(hpc_optimizer_find(&b->optimizer.kind, o->optimizer));
    hpc_optimizer_usual(&b->optimizer);
    if (o->floor) TRY(hpc_step_ruler_open(&b->ruler, &o->model, &o->device));
    hpc_trainer_options t = hpc_bench_trainer(&o->model, &b->optimizer, o->device);
    t.profile = o->profile;
    TRY(hpc_trainer_open(&b->trainer, &t, false));
    b->plan = hpc_trainer_about(b->trainer);
    *out = b;
    b = NULL;
out:
    hpc_bench_step_close(b);
    return rc;
}

void hpc_bench_step_close(hpc_bench_step *b)
{
    if (!b) return;
    hpc_step_ruler_close(b->ruler);
    hpc_trainer_close(b->trainer);
    hpc_free(b);
}

int hpc_bench_step_optimizer(const hpc_bench_step *b)
{
    return b->optimizer.kind;
}

/* Seconds of the operations at that rate and of the bytes of the update: parameters and optimizer
 * state are read and written, gradients read. */
static double floor_of(const hpc_bench_step *b, double flops, double rate)
{
    double bytes = 2 * (b->plan.parameter_bytes + b->plan.optimizer_bytes) + b->plan.gradient_bytes;
    return rate > 0 ? flops / rate + bytes / b->limits.machine.read : 0;
}

/* The rate of the unit that multiplies the model's elements. */
static double register_rate(const hpc_bench_step *b)
{
    const hpc_limits *l = &b->limits.machine;
    return b->o->model.config.dtype == HPC_BF16 && l->bf16 > 0 ? l->bf16 : l->f32;
}

static void compare_limits(hpc_bench_step_result *r, const hpc_bench_step *b)
{
    r->limit_rate = register_rate(b);
    r->read = b->limits.machine.read;
    r->of_limits = floor_of(b, r->flops, r->limit_rate) / r->seconds;
    r->peer = b->limits.peer;
    r->peer_rate = b->limits.peer_rate;
    r->of_peer = floor_of(b, r->flops, r->peer_rate) / r->seconds;
}

/* The first step touches its memory for the first time, so it does not count. */
static void note_floor(hpc_bench_step *b, const hpc_bench_step_result *r)
{
    int64_t at = b->floors % FLOORS;
    if (r->step == 0 && b->o->steps > 1) return;
    b->registers[at] = r->of_limits;
    b->peer[at] = r->of_peer;
    b->floors++;
}

int hpc_bench_step_run(hpc_bench_step_result *out, hpc_bench_step *b)
{
    hpc_trainer_result r;
    int rc;
    int64_t start = hpc_clock_ns(), step = b->step;
    hpc_bench_text(hpc_trainer_batches(b->trainer)[0], b->o->model.config.vocab, step);
    TRY(hpc_trainer_step(&r, b->trainer, step + 1, b->o->lr, INFINITY));
    *out = (hpc_bench_step_result){.step = step, .loss = r.loss, .flops = b->plan.step_flops};
    out->seconds = (double)(hpc_clock_ns() - start) * 1e-9;
    if (hpc_step_refreshes(&b->optimizer, step + 1)) out->flops += b->plan.refresh_flops;
    if (b->ruler) {
        TRY(hpc_step_ruler_measure(&b->limits, b->ruler));
        compare_limits(out, b);
        note_floor(b, out);
    }
    b->step++;
out:
    return rc;
}

int64_t hpc_bench_step_floor(double *of_limits, double *of_peer, hpc_bench_step *b)
{
    int64_t n = b->floors < FLOORS ? b->floors : FLOORS;
    *of_limits = n > 0 ? hpc_bench_median(b->registers, n) : 0;
    *of_peer = n > 0 ? hpc_bench_median(b->peer, n) : 0;
    return n;
}

int hpc_bench_step_profile(hpc_profile_row **out, int *n, const hpc_bench_step *b)
{
    return hpc_trainer_profile(out, n, b->trainer);
}
