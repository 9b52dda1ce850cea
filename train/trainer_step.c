/*
 * trainer_step.c: feeds and runs the tasks of a step, and of a validation.
 */
#include <math.h>

#include "train/plan.h"
#include "train/run_priv.h"

/* All of v. */
static int write_all(hpc_trainer *t, int slot, hpc_value v, const int32_t *data)
{
    return hpc_exec_write(t->exec, slot, v, data, hpc_type_bytes(&t->p->value[v].type));
}

static int write_i32(hpc_trainer *t, int slot, hpc_value v, const int32_t *data, int64_t n)
{
    return v < 0 ? HPC_OK : hpc_exec_write(t->exec, slot, v, data, (size_t)n * sizeof *data);
}

static int write_scalar(hpc_trainer *t, int slot, hpc_value v, double x)
{
    float real = (float)x;
    switch (t->p->value[v].type.dtype) {
    case HPC_I32: return hpc_exec_write(t->exec, slot, v, &(int32_t){(int32_t)x}, sizeof(int32_t));
    case HPC_F64: return hpc_exec_write(t->exec, slot, v, &x, sizeof x);
    default: return hpc_exec_write(t->exec, slot, v, &real, sizeof real);
    }
}

static void put_real(hpc_trainer *t, int64_t i, double x)
{
    if (t->wide)
        ((double *)t->real)[i] = x;
    else
        ((float *)t->real)[i] = (float)x;
}

static double get_real(const hpc_trainer *t, int64_t i)
{
    return t->wide ? ((const double *)t->real)[i] : (double)((const float *)t->real)[i];
}

/* Where the sequences of tokens [from, end) begin, counted from there. */
static int write_starts(hpc_trainer *t, int slot, const hpc_model_io *m, const hpc_batch *b,
                        int64_t from, int64_t end)
{
    int32_t n = 0;
    for (int32_t k = 0; k < b->start_n; k++)
        if (b->start[k] >= from && b->start[k] < end) t->start[n++] = b->start[k] - (int32_t)from;
    t->start[n++] = (int32_t)(end - from);
    int rc = write_i32(t, slot, m->start, t->start, t->p->value[m->start].type.extent[0]);
    return rc < 0 ? rc : write_i32(t, slot, m->start_n, &n, 1);
}

/* Writes the model's inputs for n tokens of microbatch k, from `from` on. first: offset of a
 * token's number in the step relative to the program. */
static int write_rows(hpc_trainer *t, int slot, const hpc_model_io *m, const hpc_batch *b,
                      int64_t from, int64_t n, int64_t first)
{
    int rc;
    if (m->first >= 0) TRY(hpc_exec_write(t->exec, slot, m->first, &first, sizeof first));
    TRY(write_i32(t, slot, m->tokens, b->tokens + from, n));
    if (m->targets >= 0) TRY(write_i32(t, slot, m->targets, b->targets + from, n));
    TRY(write_i32(t, slot, m->pos, b->pos + from, n));
    TRY(write_starts(t, slot, m, b, from, from + n));
    if (m->pooled >= 0) TRY(write_all(t, slot, m->pooled, b->pooled));
    if (m->classes >= 0) TRY(write_all(t, slot, m->classes, b->classes));
out:
    return rc;
}

static int write_weights(hpc_trainer *t, int slot, hpc_value v, double weight)
{
    const hpc_type *type = &t->p->value[v].type;
    for (int64_t i = 0; i < type->extent[0]; i++) put_real(t, i, weight);
    return hpc_exec_write(t->exec, slot, v, t->real, hpc_type_bytes(type));
}

/* adama: moments decay as the first gradient of a step is added. */
static int write_keep(hpc_trainer *t, int slot, int64_t k)
{
    const hpc_optimizer_config *o = &t->o.optimizer;
    hpc_value v = t->io.moments_keep;
    if (v < 0) return HPC_OK;
    put_real(t, 0, k == 0 ? o->beta1 : 1);
    put_real(t, 1, k == 0 ? o->beta2 : 1);
    return hpc_exec_write(t->exec, slot, v, t->real, hpc_type_bytes(&t->p->value[v].type));
}

/* Writes microbatch k of a step: this rank's rows, or both parts of them. */
static int write_batch(hpc_trainer *t, int slot, int64_t k, double weight)
{
    const hpc_batch *b = t->batch[k];
    int64_t all = b->rows * b->length, n = all / t->parts / (1 + t->io.halves);
    int64_t before = t->part * n, from = before * (1 + t->io.halves), first = k * all;
    int rc;
    if (t->io.halves) first += before;
    TRY(write_rows(t, slot, &t->io.model, b, from, n, first));
    TRY(write_weights(t, slot, t->io.weight, weight));
    TRY(write_keep(t, slot, k));
    if (!t->io.halves) goto out;
    TRY(write_rows(t, slot, &t->io.second.model, b, from + n, n, first + n));
    TRY(write_weights(t, slot, t->io.second.weight, weight));
out:
    return rc;
}

/* This rank's part of the sum of a microbatch's losses; those without a target are 0. Losses that
 * all ranks have are the first's. */
static int read_loss(double *sum, hpc_trainer *t, int slot, hpc_value loss)
{
    const hpc_type *type = &t->p->value[loss].type;
    bool own = t->part == 0 || type->extent[0] < t->losses;
    int rc = hpc_exec_read(t->exec, slot, loss, t->real, hpc_type_bytes(type));
    for (int64_t k = 0; rc >= 0 && own && k < type->extent[0]; k++) *sum += get_real(t, k);
    return rc;
}

/* Temperature and threshold of gates, for all slots. */
static int write_anneal(hpc_trainer *t, int64_t step)
{
    hpc_value v = t->io.model.anneal;
    double x[2];
    int rc = HPC_OK;
    if (v < 0) return HPC_OK;
    hpc_anneal_at(x, &t->o.anneal, step);
    for (int64_t i = 0; i < 2; i++) put_real(t, i, x[i]);
    for (int slot = 0; slot < t->value->list[trainer_stage(t)].slots; slot++)
        TRY(hpc_exec_write(t->exec, slot, v, t->real, hpc_type_bytes(&t->p->value[v].type)));
out:
    return rc;
}

/* Adds what the forward pass of m counted about experts: sums over all ranks, which the first of
 * them takes. */
static int read_experts(hpc_trainer_result *out, hpc_trainer *t, int slot, const hpc_model_io *m)
{
    double layers = (double)hpc_model_config_expert_layers(&t->o.model);
    double passes = (double)(t->o.accumulate * (1 + t->io.halves));
    size_t bytes = t->wide ? sizeof(double) : sizeof(float);
    int rc = HPC_OK;
    if (m->active < 0 || t->part > 0) return HPC_OK;
    TRY(hpc_exec_read(t->exec, slot, m->active, t->real, bytes));
    out->active += get_real(t, 0) / layers / passes;
    TRY(hpc_exec_read(t->exec, slot, m->dropped, t->real, bytes));
    out->dropped += get_real(t, 0);
out:
    return rc;
}

/* Tokens use more or fewer experts than top_k while a gate anneals, or without capacity. */
static double flops_of(const hpc_trainer *t, const hpc_trainer_result *r)
{
    const hpc_model_config *c = &t->o.model;
    double flops = t->plan.model_flops;
    if (c->experts > 0) {
        double slots = (double)(t->o.rows * t->o.length * t->o.accumulate) *
                       (double)hpc_model_config_expert_layers(c);
        double reached = r->active - r->dropped / slots;
        flops += (reached - (double)c->top_k) * hpc_model_config_expert_flops(c);
    }
    return flops * (double)r->tokens;
}

/* A step, or a validation, under way. */
typedef struct running {
    hpc_trainer *t;
    double weight;           /* of each loss in the objective */
    double loss;             /* this rank's sum */
    hpc_trainer_result *out; /* of a step */
} running;

static bool has_loss(const hpc_trainer *t)
{
    return t->io.stage.chunks == 0 || t->io.stage.rank == t->io.stage.ranks - 1;
}

/* Does a microbatch begin with this segment on this rank, or does the segment run alone, in a slot
 * of its own? */
static bool begins(const hpc_trainer *t, int segment)
{
    const hpc_stage_options *o = &t->io.stage;
    const int shared[] = {hpc_stage_embed(o), hpc_stage_head(o), hpc_stage_table(o)};
    if (!o->interlaced) return segment == t->io.model.forward;
    for (int k = 0; k < 3; k++)
        if (segment == shared[k] && hpc_plan_task_is_alone(HPC_PLAN_EMBED + k, o->rank, o->ranks))
            return true;
    return segment == (o->rank == 0 ? hpc_stage_embed(o) : t->io.model.forward);
}

static int feed(hpc_exec *e, const hpc_task *k, void *user)
{
    running *r = user;
    (void)e;
    return begins(r->t, k->segment) ? write_batch(r->t, k->slot, k->microbatch, r->weight) : HPC_OK;
}

static int take_loss(hpc_exec *e, const hpc_task *k, void *user)
{
    running *r = user;
    hpc_trainer *t = r->t;
    bool last = k->segment == t->io.last && k->microbatch == t->o.accumulate - 1;
    int chunks = t->io.stage.chunks, rc = HPC_OK;
    int from = chunks ? hpc_stage_backward(&t->io.stage, chunks - 1) : t->io.backward;
    (void)e;
    if (!has_loss(t) || !(chunks ? k->segment == from : last || k->segment == from)) goto out;
    TRY(read_experts(r->out, t, k->slot, &t->io.model));
    if (t->io.halves) TRY(read_experts(r->out, t, k->slot, &t->io.second.model));
    TRY(read_loss(&r->loss, t, k->slot, last ? t->io.last_loss : t->io.loss));
    if (t->io.halves)
        TRY(read_loss(&r->loss, t, k->slot, last ? t->io.second.last_loss : t->io.second.loss));
out:
    return rc;
}

/* Axes along which ranks of one stage meet in forward and backward. */
static hpc_axes together(const hpc_trainer *t)
{
    hpc_axes axes = 0;
    for (int a = 0; t->o.grid && a < HPC_AXIS_N; a++)
        if (a != HPC_AXIS_PIPE && (a != HPC_AXIS_DATA || t->o.parallel.zero > 1) &&
            t->o.parallel.grid.extent[a] > 1)
            axes |= 1u << a;
    return axes;
}

static int add_gradients(hpc_trainer_result *out, hpc_trainer *t)
{
    bool arrival = t->value->parallel.pipe.schedule == HPC_PIPE_ARRIVAL;
    running r = {.t = t, .weight = 1 / (double)out->counted, .out = out};
    hpc_schedule s = {.kind = arrival ? HPC_ON_ARRIVAL : HPC_IN_ORDER,
                      .task = t->task,
                      .task_n = t->value->list[trainer_stage(t)].gradient_n,
                      .together = together(t),
                      .before = feed,
                      .after = take_loss,
                      .user = &r};
    int rc = hpc_schedule_run(t->exec, &s);
    out->loss = r.loss;
    return rc;
}

/* The plan's tasks after the gradients, apart from those that this step does not have. */
static int apply_gradients(hpc_trainer_result *out, hpc_trainer *t, int64_t step)
{
    const hpc_plan_list *l = &t->value->list[trainer_stage(t)];
    hpc_task task[HPC_PLAN_RUN_N];
    int n = 0, rc;
    int32_t ok;
    for (int k = l->gradient_n; k < l->task_n; k++) {
        bool due = l->task[k].run != HPC_PLAN_REFRESH || hpc_step_refreshes(&t->o.optimizer, step);
        if (!due || t->task[k].segment < 0) continue;
        task[n++] = (hpc_task){.segment = t->task[k].segment, .after = {-1, -1}};
    }
    TRY(hpc_schedule_run(t->exec, &(hpc_schedule){.task = task, .task_n = n}));
    TRY(hpc_exec_fetch(t->exec, 0, t->io.grad_norm, t->real,
                       t->wide ? sizeof(double) : sizeof(float)));
    TRY(hpc_exec_read(t->exec, 0, t->io.ok, &ok, sizeof ok));
    out->grad_norm = get_real(t, 0);
    out->skipped = ok == 0;
    if (out->skipped && t->o.step.adama)
        TRY(hpc_fail(
            HPC_E_STATE,
            "step %lld: a gradient is not finite, and adama has added it to the moments; "
            "resume from the checkpoint before (--resume) with a lower learning rate (--lr)",
            (long long)step));
out:
    return rc;
}

/* All slots: dropout reads the step's number. */
static int write_step(hpc_trainer *t, double step)
{
    int rc = HPC_OK;
    for (int slot = 0; slot < t->value->list[trainer_stage(t)].slots; slot++)
        TRY(write_scalar(t, slot, t->io.model.step, step));
out:
    return rc;
}

hpc_batch **hpc_trainer_batches(const hpc_trainer *t)
{
    return t->batch;
}

int hpc_trainer_load(hpc_trainer *t, hpc_loader *l)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < t->o.accumulate; k++) TRY(hpc_loader_next(t->batch[k], l, t->o.rows));
out:
    return rc;
}

/* A checkpoint reads the state before a step writes it. */
static int end_copy(const hpc_trainer *t)
{
    if (!t->copy->reading) return HPC_OK;
    t->copy->reading = false;
    return hpc_exec_snapshot_end(t->exec);
}

bool hpc_trainer_is_whole(const hpc_trainer *t)
{
    return !t->torn;
}

/* From here on, state is written. */
static int begin_update(hpc_trainer *t)
{
    t->torn = true;
    return end_copy(t);
}

/* Sums what each rank has taken. */
static int sum_results(hpc_trainer_result *out, hpc_trainer *t)
{
    double x[] = {out->loss, out->active, out->dropped};
    int rc = trainer_sum(x, t->o.model.experts > 0 ? 3 : 1, t);
    out->loss = x[0] / (double)out->counted;
    out->active = x[1];
    out->dropped = x[2];
    return rc;
}

int hpc_trainer_step(hpc_trainer_result *out, hpc_trainer *t, int64_t step, double lr, double limit)
{
    int64_t begin = hpc_clock_ns(), exposed = hpc_exec_exposed(t->exec);
    int rc;
    *out = (hpc_trainer_result){.sent = -trainer_sent(t)};
    for (int64_t k = 0; k < t->o.accumulate; k++) {
        out->tokens += t->batch[k]->tokens_n;
        out->counted += t->batch[k]->counted;
    }
    if (out->counted == 0)
        TRY(hpc_fail(HPC_E_FORMAT, "step %lld: no token counts", (long long)step));
    if (t->writes_early) TRY(begin_update(t));
    TRY(write_scalar(t, 0, t->io.lr, lr));
    TRY(write_scalar(t, 0, t->io.limit, limit));
    TRY(write_anneal(t, step));
    TRY(write_step(t, (double)step));
    TRY(add_gradients(out, t));
    TRY(sum_results(out, t));
    out->flops = flops_of(t, out);
    TRY(begin_update(t));
    TRY(apply_gradients(out, t, step));
    t->torn = false;
    out->sent += trainer_sent(t);
    out->exposed = (double)(hpc_exec_exposed(t->exec) - exposed) * 1e-9;
    t->stepped++;
    t->stepped_ns += hpc_clock_ns() - begin;
    hpc_exec_note_step(t->exec, step, begin);
out:
    return rc;
}

/* Forward alone of the first batch. */
static int compute_losses(double *sum, hpc_trainer *t)
{
    hpc_task task[HPC_STAGES + 2];
    int n = 0, chunks = t->io.stage.chunks ? t->io.stage.chunks : 1, rc;
    running r = {.t = t};
    if (t->io.stage.interlaced)
        task[n++] = (hpc_task){.segment = hpc_stage_embed(&t->io.stage), .after = {-1, -1}};
    for (int c = 0; c < chunks; c++)
        task[n++] = (hpc_task){.segment = t->io.model.forward + c, .after = {-1, -1}};
    task[n++] = (hpc_task){.segment = t->io.model.forward_head, .after = {-1, -1}};
    TRY(hpc_schedule_run(t->exec,
                         &(hpc_schedule){.task = task, .task_n = n, .before = feed, .user = &r}));
    if (!has_loss(t)) goto out;
    TRY(read_loss(sum, t, 0, t->io.model.loss));
    if (t->io.halves) TRY(read_loss(sum, t, 0, t->io.second.model.loss));
out:
    return rc;
}

int hpc_trainer_validate(double *loss, hpc_trainer *t, hpc_loader *l, int64_t rows,
                         int (*enough)(void *user), void *user)
{
    double sum = 0;
    int64_t counted = 0, most = t->o.rows;
    int rc = HPC_OK;
    TRY(write_step(t, -1)); /* nothing is dropped */
    TRY(write_anneal(t, -1));
    *loss = NAN;
    for (; rows > 0; rows -= most) {
        rc = enough(user);
        if (rc != 0) return rc;
        TRY(hpc_loader_next(t->batch[0], l, rows < most ? rows : most));
        TRY(compute_losses(&sum, t));
        counted += t->batch[0]->counted;
    }
    TRY(trainer_sum(&sum, 1, t));
    if (counted) *loss = sum / (double)counted;
out:
    return rc;
}
