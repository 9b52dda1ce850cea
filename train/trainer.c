/*
 * trainer.c: opens, feeds and steps a trainer: a model, its step and a device.
 *
 * run.c decides which steps follow and what happens with their results.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/plan.h"
#include "train/proof.h"
#include "train/run_priv.h"

/* ---- opening ------------------------------------------------------------------------------- */

/* What the shape of a batch follows from. */
static hpc_loader_options batches_of(const hpc_trainer_options *o)
{
    return (hpc_loader_options){
        .objective = o->objective, .length = o->length, .documents = o->documents};
}

static int make_batches(hpc_trainer *t)
{
    hpc_loader_options l = batches_of(&t->o);
    int rc = HPC_OK;
    t->batch = hpc_alloc((size_t)t->o.accumulate, sizeof *t->batch);
    /* also scalars and pairs */
    TRY(hpc_device_host_alloc(&t->real, t->device, (size_t)(t->losses + 2) * sizeof(double)));
    t->start = hpc_alloc((size_t)t->o.step.model.sequences + 1, sizeof *t->start);
    if (!t->batch || !t->start) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < t->o.accumulate; k++)
        TRY(hpc_batch_create(&t->batch[k], &l, t->o.rows, t->parts * (1 + t->o.parallel.halves)));
out:
    return rc;
}

/* ---- what it needs -------------------------------------------------------------------------- */

/* Is it a copy of a parameter that is kept gathered? */
static bool is_gathered(const hpc_trainer *t, hpc_value v)
{
    for (hpc_value k = 0; k < v; k++)
        if (t->p->value[k].whole == v) return true;
    return false;
}

int64_t trainer_times(const hpc_trainer *t, int s)
{
    return hpc_step_times(&t->io, s, t->o.accumulate);
}

static bool is_gradient(const hpc_trainer *t, hpc_value v)
{
    for (hpc_value k = 0; k < t->p->value_n; k++)
        if (t->p->value[k].grad == v) return true;
    return false;
}

static void add_state(hpc_trainer_plan *out, const hpc_trainer *t, const hpc_model_tensor *tensor,
                      int64_t n, hpc_value v)
{
    const hpc_value_info *info = &t->p->value[v];
    double bytes = (double)hpc_type_bytes(&info->type);
    if (info->outside) return; /* counted by trainer_offload */
    if (is_gradient(t, v))
        out->gradient_bytes += bytes;
    else if (is_gathered(t, v))
        out->parameter_bytes += bytes;
    else if (trainer_tensor_of(tensor, n, t->p, v) || v == t->io.model.freq ||
             v == t->io.model.local_freq)
        out->parameter_bytes += bytes;
    else
        out->optimizer_bytes += bytes;
}

static int make_plan(hpc_trainer *t)
{
    const hpc_placement *place = hpc_exec_placement(t->exec);
    const hpc_model_config *c = &t->o.model;
    hpc_trainer_plan out = t->plan;
    out.params = hpc_model_config_params(c);
    out.model_flops = hpc_model_config_flops(c, t->o.length);
    hpc_model_tensor *tensor = NULL;
    int64_t n = 0;
    int rc = hpc_model_tensors(&tensor, &n, c);
    if (rc < 0) return rc;
    for (int64_t k = 0; k < n; k++)
        if (tensor[k].trainable) out.trained += hpc_model_tensor_n(&tensor[k]);
    for (hpc_value v = 0; v < t->p->value_n; v++)
        if (t->p->value[v].kind == HPC_VALUE_STATE && t->p->value[v].base < 0 &&
            !t->p->value[v].absent)
            add_state(&out, t, tensor, n, v);
    hpc_free(tensor);
    out.activation_bytes =
        (double)(place->bytes[HPC_SPACE_SLOT] * (size_t)t->value->list[trainer_stage(t)].slots +
                 place->bytes[HPC_SPACE_LOCAL]);
    for (int s = 0; s < t->p->segment_n; s++) {
        double flops = hpc_exec_stats_of(t->exec, s).flops;
        if (s == t->io.refresh)
            out.refresh_flops = flops;
        else
            out.step_flops += flops * (double)trainer_times(t, s);
    }
    if (t->io.refresh >= 0) out.refreshes_in_100 = 100 / t->o.optimizer.interval;
    t->plan = out;
    return HPC_OK;
}

hpc_trainer_plan hpc_trainer_about(const hpc_trainer *t)
{
    return t->plan;
}

/* Shards the program for this rank, after the first rank has proved all ranks' programs consistent;
 * keeps the unsharded types. */
static int shard(hpc_trainer *t)
{
    int coord[HPC_AXIS_N];
    int64_t n = t->p->value_n;
    t->whole = hpc_alloc((size_t)n + 1, sizeof *t->whole);
    if (!t->whole) return HPC_E_NOMEM;
    for (hpc_value v = 0; v < n; v++) {
        hpc_value dense = trainer_dense_of(t, v);
        t->whole[v] = t->p->value[dense >= 0 ? dense : v].type;
        t->whole[v].dtype = t->p->value[v].type.dtype;
    }
    if (!t->o.grid) return HPC_OK;
    if (trainer_leads(t) && (hpc_step_prove(t->plan.unproven, t->p, &t->io, &t->o.parallel) < 0 ||
                             hpc_plan_check_tasks(t->value) < 0))
        return HPC_E_STATE;
    for (int a = 0; a < HPC_AXIS_N; a++) coord[a] = hpc_grid_coord(t->o.grid, (hpc_axis)a);
    return hpc_step_shard(&t->io, t->p, &t->o.parallel, coord);
}

/* The numbers of a microbatch, of which each rank has its rows. */
static int set_rows(hpc_trainer *t)
{
    const hpc_trainer_options *o = &t->o;
    hpc_step_options *s = &t->o.step;
    int rc = HPC_OK;
    t->parts = 1;
    if (o->grid) {
        t->o.parallel.grid = *hpc_grid_shape_of(o->grid);
        TRY(hpc_parallel_check(&t->o.parallel, &o->model, o->rows, o->length));
        trainer_coord(s->coord, t);
        t->part = hpc_parallel_part(&t->parts, &t->o.parallel.grid, s->coord);
        s->parallel = &t->o.parallel;
    }
    s->model.frozen = o->model.adapter.rank > 0 && !o->dense ? trainer_frozen_type : NULL;
    s->model.user = t;
    s->once = o->accumulate == 1;
    s->masks = o->masks;
    s->model.tokens = o->rows * o->length;
    if (!o->grid) t->o.parallel.halves = false;
    hpc_loader_options l = batches_of(o);
    t->o.documents = hpc_loader_documents(&l);
    s->model.sequences = hpc_loader_sequences(&l, o->rows, t->parts * (1 + t->o.parallel.halves));
    s->model.seed = (int64_t)o->seed;
out:
    return rc;
}

/* A given plan replaces the options that it is made of; an older one leaves offload to them. */
static int take_plan(hpc_trainer *t, const hpc_train_plan *plan)
{
    int rc = hpc_plan_check(plan, &t->o.model);
    if (rc < 0) return rc;
    t->o.parallel = plan->parallel;
    t->o.step.recompute = plan->recompute;
    t->o.step.recompute_blocks = plan->recompute_blocks;
    t->o.accumulate = plan->microbatches;
    if (plan->offload < 0) return HPC_OK;
    t->o.offload.policy = plan->offload > 0 ? HPC_OFFLOAD_OPTIMIZER : HPC_OFFLOAD_NONE;
    t->o.offload.bucket = plan->offload;
    return HPC_OK;
}

/* The segment of a planned task. */
static int segment_of(const hpc_trainer *t, const hpc_plan_task *k)
{
    switch (k->run) {
    case HPC_PLAN_FORWARD:
        return t->io.stage.chunks ? hpc_stage_forward(&t->io.stage, k->chunk) : t->io.model.forward;
    case HPC_PLAN_BACKWARD:
        if (t->io.stage.chunks) return hpc_stage_backward(&t->io.stage, k->chunk);
        return k->microbatch == t->o.accumulate - 1 ? t->io.last : t->io.backward;
    case HPC_PLAN_EMBED: return hpc_stage_embed(&t->io.stage);
    case HPC_PLAN_HEAD: return hpc_stage_head(&t->io.stage);
    case HPC_PLAN_TABLE: return hpc_stage_table(&t->io.stage);
    case HPC_PLAN_NORM: return t->io.norm;
    case HPC_PLAN_REFRESH: return t->io.refresh;
    case HPC_PLAN_UPDATE: return t->io.update;
    default: return t->io.gathers ? -1 : t->io.gather;
    }
}

/* The plan's tasks as the executor runs them; segment -1: this step has none. */
static int make_tasks(hpc_trainer *t)
{
    const hpc_plan_list *l = &t->value->list[trainer_stage(t)];
    t->task = hpc_alloc((size_t)l->task_n + 1, sizeof *t->task);
    if (!t->task) return HPC_E_NOMEM;
    for (int k = 0; k < l->task_n; k++)
        t->task[k] = (hpc_task){.segment = segment_of(t, &l->task[k]),
                                .slot = l->task[k].slot,
                                .microbatch = l->task[k].microbatch,
                                .after = {l->task[k].after[0], l->task[k].after[1]},
                                .rank = l->task[k].rank};
    return HPC_OK;
}

static bool writes_kept(const hpc_trainer *t, const hpc_insn *i)
{
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = i->operand[k];
        while (v >= 0 && t->p->value[v].base >= 0) v = t->p->value[v].base;
        if (v >= 0 && t->keeps[v] && i->op->sig.operand[k].flags & HPC_OUT) return true;
    }
    return false;
}

/* Do the tasks that compute gradients write state that checkpoints store? */
static bool writes_early(const hpc_trainer *t)
{
    const hpc_plan_list *l = &t->value->list[trainer_stage(t)];
    for (int k = 0; k < l->gradient_n; k++) {
        const hpc_segment *g = &t->p->segment[t->task[k].segment];
        for (int64_t i = 0; t->task[k].segment >= 0 && i < g->insn_n; i++)
            if (writes_kept(t, &g->insn[i])) return true;
    }
    return false;
}

/* Those of another device do not fit, and are chosen again. */
static int use_products(hpc_trainer *t)
{
    const hpc_buf *record = t->o.products;
    bool taken;
    t->o.products = NULL; /* borrowed while the trainer opens */
    if (!record || record->n == 0) return HPC_OK;
    return hpc_device_products_set(&taken, t->device, record->data, record->n, "products.json");
}

int hpc_trainer_products(hpc_buf *out, const hpc_trainer *t)
{
    return hpc_device_products(out, t->device);
}

int hpc_trainer_open(hpc_trainer **out, const hpc_trainer_options *o, bool dry)
{
    int rc = trainer_check(o);
    *out = NULL;
    if (rc >= 0 && o->masks)
        rc = hpc_prune_check(&(hpc_prune_config){.asked = true}, &o->optimizer, &o->model,
                             &o->parallel);
    if (rc < 0) return rc;
    hpc_trainer *t = hpc_alloc(1, sizeof *t);
    if (!t) return HPC_E_NOMEM;
    t->o = *o;
    t->dry = dry;
    if (o->plan) TRY(take_plan(t, o->plan));
    if (o->init) TRY(hpc_weights_open(&t->base, o->init, o->single ? o->single : &t->o.model));
    TRY(set_rows(t));
    t->p = hpc_program_create();
    if (!t->p) TRY(HPC_E_NOMEM);
    TRY(hpc_step_emit(&t->io, t->p, &t->o.model, &t->o.optimizer, &t->o.step));
    TRY(hpc_plan_make(&t->value, t->p, &t->io, &t->o.model, &t->o.step, t->o.accumulate));
    if (o->plan) TRY(hpc_plan_follow(t->value, o->plan));
    t->value->offload = trainer_offload_bucket(&t->o);
    TRY(shard(t));
    TRY(trainer_offload(t));
    TRY(make_tasks(t));
    TRY(trainer_find_kept(t));
    t->writes_early = writes_early(t);
    t->copy = hpc_alloc(1, sizeof *t->copy);
    if (!t->copy) TRY(HPC_E_NOMEM);
    t->wide = o->model.dtype == HPC_F64;
    t->losses = t->whole[t->io.model.loss].extent[0];
    TRY(hpc_device_open(&t->device, &t->o.device));
    hpc_exec_options e = {.slots = t->value->list[trainer_stage(t)].slots,
                          .dry = dry,
                          .profile = o->profile,
                          .events = trainer_events(t, o->traced),
                          .products = o->grid ? HPC_PRODUCTS_BY_SHAPE : HPC_PRODUCTS_MEASURED};
    TRY(trainer_offload_open(t));
    if (t->outside && !dry) e.lent = t->outside->lent, e.lent_n = t->outside->lent_n;
    TRY(use_products(t));
    TRY(hpc_exec_open(&t->exec, t->p, t->device, o->grid, &e));
    TRY(make_plan(t));
    if (!dry) TRY(make_batches(t));
    if (!dry) TRY(trainer_write_state(t));
    if (!dry) TRY(trainer_write_row_indices(t));
    if (!dry) TRY(trainer_begin(t));
    hpc_weights_close(t->base);
    t->base = NULL;
    t->o.single = NULL;
    *out = t;
    t = NULL;
out:
    hpc_trainer_close(t);
    return rc;
}

void hpc_trainer_close(hpc_trainer *t)
{
    if (!t) return;
    hpc_weights_close(t->base);
    hpc_exec_close(t->exec);
    trainer_offload_close(t);
    hpc_device_host_free(t->device, t->real);
    if (t->copy) hpc_device_host_free(t->device, t->copy->data);
    hpc_free(t->copy);
    hpc_device_close(t->device);
    hpc_program_free(t->p);
    for (int64_t k = 0; t->batch && k < t->o.accumulate; k++) hpc_batch_free(t->batch[k]);
    hpc_free(t->batch);
    hpc_free(t->keeps);
    hpc_free(t->from_base);
    hpc_free(t->whole);
    hpc_free(t->start);
    hpc_free(t->task);
    hpc_plan_free(t->value);
    hpc_free(t);
}

/* ---- times and costs ------------------------------------------------------------------------- */

static bool multiplies_halves(const hpc_program *p, const hpc_insn *i)
{
    if (i->op == &hpc_op_matmul && ((const hpc_matmul_attr *)i->attr)->halves) return true;
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (i->operand[k] >= 0 && p->value[i->operand[k]].type.dtype == HPC_BF16) return true;
    return false;
}

static double seconds_of(const hpc_trainer *t, int s, const hpc_trainer_rates *r)
{
    double sum = 0;
    for (int64_t k = 0; k < t->p->segment[s].insn_n; k++) {
        const hpc_insn *i = &t->p->segment[s].insn[k];
        hpc_cost c = hpc_insn_cost(t->p, i);
        double rate = multiplies_halves(t->p, i) ? r->halves : r->full;
        sum += fmax(c.flops / rate, c.bytes / r->read);
    }
    return sum;
}

void hpc_trainer_estimate(double *step, double *refresh, const hpc_trainer *t,
                          const hpc_trainer_rates *r)
{
    *step = *refresh = 0;
    for (int s = 0; s < t->p->segment_n; s++) {
        double seconds = seconds_of(t, s, r);
        if (s == t->io.refresh)
            *refresh = seconds;
        else
            *step += seconds * (double)trainer_times(t, s);
    }
}

static int longest(const void *a, const void *b)
{
    double x = ((const hpc_profile_row *)a)->seconds, y = ((const hpc_profile_row *)b)->seconds;
    return (x < y) - (x > y);
}

static hpc_profile_row *row_of(hpc_profile_row *row, int *n, hpc_phase phase, const char *op)
{
    int k = 0;
    while (k < *n && (row[k].phase != phase || strcmp(row[k].op, op) != 0)) k++;
    if (k == *n) row[(*n)++] = (hpc_profile_row){.phase = phase, .op = op};
    return &row[k];
}

int hpc_trainer_profile(hpc_profile_row **out, int *n, const hpc_trainer *t)
{
    int ops = 0;
    *n = 0;
    while (hpc_op_table[ops]) ops++;
    *out = hpc_alloc((size_t)ops * HPC_PHASE_N, sizeof **out);
    if (!*out) return HPC_E_NOMEM;
    for (int s = 0; s < t->p->segment_n; s++) {
        if (s == t->io.model.forward_head) continue;
        const int64_t *ns = hpc_exec_profile(t->exec, s);
        for (int64_t k = 0; ns && k < t->p->segment[s].insn_n; k++) {
            const hpc_insn *i = &t->p->segment[s].insn[k];
            if (i->op->view) continue;
            hpc_cost c = hpc_insn_cost(t->p, i);
            hpc_profile_row *row = row_of(*out, n, i->tags.phase, i->op->sig.name);
            row->instructions++;
            row->seconds += (double)ns[k] * 1e-9;
            row->flops += c.flops;
            row->bytes += c.bytes;
        }
    }
    qsort(*out, (size_t)*n, sizeof **out, longest);
    return HPC_OK;
}

size_t hpc_trainer_peak(const hpc_trainer *t)
{
    return hpc_device_about(t->device).peak_bytes;
}
