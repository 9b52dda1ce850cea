/*
 * trainer.c: opens, feeds and steps a trainer: a model, its step and a device.
 *
 * run.c decides which steps follow and what happens with their results.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    TRY(hpc_device_host_alloc(&t->real, t->device, (size_t)t->losses * sizeof(double)));
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

/* How often a step runs a segment, refresh aside; of the loss alone it has none. */
int64_t trainer_times(const hpc_trainer *t, int s)
{
    bool apart = t->io.last != t->io.backward;
    if (s == t->io.model.forward_head || (s == t->io.gather && t->io.gathers)) return 0;
    if (s == t->io.model.forward) return t->o.accumulate;
    return s == t->io.backward ? t->o.accumulate - apart : 1;
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
        if (tensor[k].trainable)
            out.trained += tensor[k].extent[0] * (tensor[k].rank > 1 ? tensor[k].extent[1] : 1);
    for (hpc_value v = 0; v < t->p->value_n; v++)
        if (t->p->value[v].kind == HPC_VALUE_STATE && t->p->value[v].base < 0)
            add_state(&out, t, tensor, n, v);
    hpc_free(tensor);
    out.activation_bytes = (double)(place->bytes[HPC_SPACE_SLOT] + place->bytes[HPC_SPACE_LOCAL]);
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
    if (trainer_leads(t) && hpc_step_prove(t->plan.unproven, t->p, &t->io, &t->o.parallel) < 0)
        return HPC_E_STATE;
    for (int a = 0; a < HPC_AXIS_N; a++) coord[a] = hpc_grid_coord(t->o.grid, (hpc_axis)a);
    return hpc_step_shard(&t->io, t->p, &t->o.parallel, coord);
}

/* The numbers of a microbatch, of which each rank has its rows. */
static int set_rows(hpc_trainer *t, const hpc_trainer_options *o)
{
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
    if (o->init) TRY(hpc_weights_open(&t->base, o->init, &t->o.model));
    TRY(set_rows(t, o));
    t->p = hpc_program_create();
    if (!t->p) TRY(HPC_E_NOMEM);
    TRY(hpc_step_emit(&t->io, t->p, &t->o.model, &t->o.optimizer, &t->o.step));
    TRY(shard(t));
    TRY(trainer_find_kept(t));
    t->wide = o->model.dtype == HPC_F64;
    t->losses = t->whole[t->io.model.loss].extent[0];
    TRY(hpc_device_open(&t->device, &t->o.device));
    hpc_exec_options e = {
        .dry = dry, .profile = o->profile, .events = trainer_events(t, o->traced)};
    TRY(hpc_exec_open(&t->exec, t->p, t->device, o->grid, &e));
    TRY(make_plan(t));
    if (!dry) TRY(make_batches(t));
    if (!dry) TRY(trainer_write_state(t));
    if (!dry) TRY(trainer_write_row_indices(t));
    if (!dry) TRY(trainer_begin(t));
    hpc_weights_close(t->base);
    t->base = NULL;
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
    hpc_device_host_free(t->device, t->real);
    hpc_device_close(t->device);
    hpc_program_free(t->p);
    for (int64_t k = 0; t->batch && k < t->o.accumulate; k++) hpc_batch_free(t->batch[k]);
    hpc_free(t->batch);
    hpc_free(t->keeps);
    hpc_free(t->from_base);
    hpc_free(t->whole);
    hpc_free(t->start);
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

/* ---- steps ---------------------------------------------------------------------------------- */

/* All of v. */
static int write_all(hpc_trainer *t, hpc_value v, const int32_t *data)
{
    return hpc_exec_write(t->exec, 0, v, data, hpc_type_bytes(&t->p->value[v].type));
}

static int write_i32(hpc_trainer *t, hpc_value v, const int32_t *data, int64_t n)
{
    return v < 0 ? HPC_OK : hpc_exec_write(t->exec, 0, v, data, (size_t)n * sizeof *data);
}

static int write_scalar(hpc_trainer *t, hpc_value v, double x)
{
    float real = (float)x;
    switch (t->p->value[v].type.dtype) {
    case HPC_I32: return hpc_exec_write(t->exec, 0, v, &(int32_t){(int32_t)x}, sizeof(int32_t));
    case HPC_F64: return hpc_exec_write(t->exec, 0, v, &x, sizeof x);
    default: return hpc_exec_write(t->exec, 0, v, &real, sizeof real);
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
static int write_starts(hpc_trainer *t, const hpc_model_io *m, const hpc_batch *b, int64_t from,
                        int64_t end)
{
    int32_t n = 0;
    for (int32_t k = 0; k < b->start_n; k++)
        if (b->start[k] >= from && b->start[k] < end) t->start[n++] = b->start[k] - (int32_t)from;
    t->start[n++] = (int32_t)(end - from);
    int rc = write_i32(t, m->start, t->start, t->p->value[m->start].type.extent[0]);
    return rc < 0 ? rc : write_i32(t, m->start_n, &n, 1);
}

/* Writes the model's inputs for n tokens of microbatch k, from `from` on. first: offset of a
 * token's number in the step relative to the program. */
static int write_rows(hpc_trainer *t, const hpc_model_io *m, const hpc_batch *b, int64_t from,
                      int64_t n, int64_t first)
{
    int rc;
    if (m->first >= 0) TRY(hpc_exec_write(t->exec, 0, m->first, &first, sizeof first));
    TRY(write_i32(t, m->tokens, b->tokens + from, n));
    if (m->targets >= 0) TRY(write_i32(t, m->targets, b->targets + from, n));
    TRY(write_i32(t, m->pos, b->pos + from, n));
    TRY(write_starts(t, m, b, from, from + n));
    if (m->pooled >= 0) TRY(write_all(t, m->pooled, b->pooled));
    if (m->classes >= 0) TRY(write_all(t, m->classes, b->classes));
out:
    return rc;
}

static int write_weights(hpc_trainer *t, hpc_value v, double weight)
{
    const hpc_type *type = &t->p->value[v].type;
    for (int64_t i = 0; i < type->extent[0]; i++) put_real(t, i, weight);
    return hpc_exec_write(t->exec, 0, v, t->real, hpc_type_bytes(type));
}

/* Writes microbatch k of a step: this rank's rows, or both parts of them. */
static int write_batch(hpc_trainer *t, int64_t k, double weight)
{
    const hpc_batch *b = t->batch[k];
    int64_t all = b->rows * b->length, n = all / t->parts / (1 + t->io.halves);
    int64_t before = t->part * n, from = before * (1 + t->io.halves), first = k * all;
    int rc;
    if (t->io.halves) first += before;
    TRY(write_rows(t, &t->io.model, b, from, n, first));
    TRY(write_weights(t, t->io.weight, weight));
    if (!t->io.halves) goto out;
    TRY(write_rows(t, &t->io.second.model, b, from + n, n, first + n));
    TRY(write_weights(t, t->io.second.weight, weight));
out:
    return rc;
}

/* This rank's part of the sum of a microbatch's losses; those without a target are 0. Losses that
 * all ranks have are the first's. */
static int read_loss(double *sum, hpc_trainer *t, hpc_value loss)
{
    const hpc_type *type = &t->p->value[loss].type;
    bool own = t->part == 0 || type->extent[0] < t->losses;
    int rc = hpc_exec_read(t->exec, 0, loss, t->real, hpc_type_bytes(type));
    for (int64_t k = 0; rc >= 0 && own && k < type->extent[0]; k++) *sum += get_real(t, k);
    return rc;
}

/* One fence for each part of the batch: that of reading its losses. */
static int add_gradients(hpc_trainer_result *out, hpc_trainer *t, int64_t k)
{
    int rc;
    TRY(write_batch(t, k, 1 / (double)out->counted));
    TRY(hpc_exec_enqueue(t->exec, t->io.model.forward, 0));
    bool last = k == t->o.accumulate - 1;
    TRY(hpc_exec_enqueue(t->exec, last ? t->io.last : t->io.backward, 0));
    TRY(read_loss(&out->loss, t, last ? t->io.last_loss : t->io.loss));
    if (t->io.halves)
        TRY(read_loss(&out->loss, t, last ? t->io.second.last_loss : t->io.second.loss));
out:
    return rc;
}

static int apply_gradients(hpc_trainer_result *out, hpc_trainer *t, int64_t step)
{
    int32_t ok;
    int rc;
    TRY(hpc_exec_enqueue(t->exec, t->io.norm, 0));
    if (hpc_step_refreshes(&t->o.optimizer, step)) TRY(hpc_exec_enqueue(t->exec, t->io.refresh, 0));
    TRY(hpc_exec_enqueue(t->exec, t->io.update, 0));
    if (!t->io.gathers) TRY(trainer_written(t));
    TRY(hpc_exec_fetch(t->exec, 0, t->io.grad_norm, t->real,
                       t->wide ? sizeof(double) : sizeof(float)));
    TRY(hpc_exec_read(t->exec, 0, t->io.ok, &ok, sizeof ok));
    out->grad_norm = get_real(t, 0);
    out->skipped = ok == 0;
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
    TRY(write_scalar(t, t->io.lr, lr));
    TRY(write_scalar(t, t->io.limit, limit));
    TRY(write_scalar(t, t->io.model.step, (double)step));
    for (int64_t k = 0; k < t->o.accumulate; k++) TRY(add_gradients(out, t, k));
    TRY(trainer_sum(&out->loss, t));
    out->loss /= (double)out->counted;
    TRY(apply_gradients(out, t, step));
    out->sent += trainer_sent(t);
    out->exposed = (double)(hpc_exec_exposed(t->exec) - exposed) * 1e-9;
    hpc_exec_note_step(t->exec, step, begin);
out:
    return rc;
}

int hpc_trainer_validate(double *loss, hpc_trainer *t, hpc_loader *l, int64_t rows,
                         int (*enough)(void *user), void *user)
{
    double sum = 0;
    int64_t counted = 0, most = t->o.rows;
    int rc = HPC_OK;
    TRY(write_scalar(t, t->io.model.step, -1)); /* nothing is dropped */
    *loss = NAN;
    for (; rows > 0; rows -= most) {
        rc = enough(user);
        if (rc != 0) return rc;
        TRY(hpc_loader_next(t->batch[0], l, rows < most ? rows : most));
        TRY(write_batch(t, 0, 0));
        TRY(hpc_exec_enqueue(t->exec, t->io.model.forward, 0));
        TRY(hpc_exec_enqueue(t->exec, t->io.model.forward_head, 0));
        TRY(read_loss(&sum, t, t->io.model.loss));
        if (t->io.halves) TRY(read_loss(&sum, t, t->io.second.model.loss));
        counted += t->batch[0]->counted;
    }
    TRY(trainer_sum(&sum, t));
    if (counted) *loss = sum / (double)counted;
out:
    return rc;
}
