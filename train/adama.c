/*
 * adama.c: Adam by accumulation (AdamA): backward adds each complete gradient to the moments, and
 * keeps no sum of gradients. The second moment is a sum of squares over microbatches, not the
 * square of their sum.
 *
 * Ranks along data count as separate microbatches: each keeps sums of its own, which the update
 * adds up. Ranks that split the moments, or rows within a microbatch, add up gradients first. Of a
 * pipeline with a tied table, the last stage sends the head's gradient to the first, which has the
 * moments of the table; the update sends these to all.
 */
#include <stdio.h>
#include <string.h>

#include "train/update_priv.h"

static hpc_dtype real_of(const update *u, hpc_value v)
{
    return u->p->value[v].type.dtype == HPC_F64 ? HPC_F64 : HPC_F32;
}

/* Partial sums along data, except where ZeRO splits them. */
static hpc_value moment_of(update *u, const char *prefix, const target *t)
{
    hpc_value v = update_like(u, prefix, t);
    if (v >= 0 && u->parallel && u->parallel->zero == 0)
        u->p->value[v].type.layout[HPC_AXIS_DATA] = HPC_PARTIAL;
    return v;
}

void adama_gradients(hpc_program *p, const hpc_parallel *q)
{
    for (hpc_value v = 0; v < p->value_n && q->zero == 0; v++)
        if (p->value[v].trainable && p->value[v].grad >= 0)
            p->value[p->value[v].grad].settled[HPC_AXIS_DATA] = HPC_PARTIAL;
}

static hpc_value clip_state(update *u, hpc_dtype real)
{
    hpc_value v = hpc_program_find(u->p, "adama.clip");
    if (v >= 0) return v;
    v = hpc_program_state(u->p, "adama.clip", hpc_type_of(real, 0, NULL), false);
    update_start(u, v, 1);
    return v;
}

void adama_begin(update *u, const hpc_step_options *s, hpc_dtype real)
{
    u->io->moments_keep =
        hpc_program_input(u->p, "moments.keep", hpc_type_of(real, 1, (int64_t[]){2}));
    update_squares(u, s, real);
    if (s->clip > 0) u->clip_before = clip_state(u, real);
}

void adama_add(update *u, const target *t, hpc_value gradient)
{
    hpc_value m = moment_of(u, "adam.m", t), v = moment_of(u, "adam.v", t);
    hpc_value squares = hpc_program_find(u->p, "norm.squares");
    hpc_adam_add_attr at = {.beta1 = u->o->beta1, .beta2 = u->o->beta2};
    hpc_value y = hpc_adam_add(u->p, m, v, gradient, u->io->moments_keep, u->clip_before, at);
    hpc_reduce(u->p, squares, y, HPC_SUM, HPC_OVER_ALL);
}

void adama_norm(update *u, const hpc_step_options *s)
{
    hpc_program *p = u->p;
    hpc_fill(p, hpc_program_find(p, "norm.squares"), 0);
    if (s->clip == 0) return;
    hpc_map_attr a = {.alpha = s->clip, .power = -1, .lo = 0, .hi = 1, .other = 1, .guarded = true};
    hpc_value factor = hpc_map_each(p, u->io->grad_norm, a);
    p->tags.anew = true;
    hpc_scale(p, u->clip_before, factor, HPC_NONE, 1);
    p->tags.anew = false;
}

static bool is_partial(const update *u, hpc_value v)
{
    return u->parallel && u->parallel->grid.extent[HPC_AXIS_DATA] > 1 &&
           u->p->value[v].type.layout[HPC_AXIS_DATA] == HPC_PARTIAL;
}

/* The first rank along data continues with the whole sum, the others with zeros, so that a
 * checkpoint takes the sum from one rank. */
static void settle(update *u, hpc_value moment, hpc_value sum)
{
    hpc_fill(u->p, moment, 0);
    hpc_scale(u->p, moment, sum, HPC_NONE, 1);
}

/* Is it the table of a pipeline's first and last stage? */
static bool is_tied(const update *u, const target *t)
{
    return u->parallel && u->parallel->grid.extent[HPC_AXIS_PIPE] > 1 &&
           t->whole == u->io->model.table && t->whole == u->io->model.head;
}

/* A moment of the first stage, on all ranks: others add nothing to the sum. */
static hpc_value of_first_stage(update *u, const target *t, hpc_value moment)
{
    hpc_program *p = u->p;
    hpc_value sum = update_like(u, "adama.sum", t);
    if (sum < 0) return sum;
    memcpy(p->value[sum].type.layout, p->value[moment].type.layout, sizeof(int8_t[HPC_AXIS_N]));
    p->value[sum].type.layout[HPC_AXIS_PIPE] = HPC_PARTIAL;
    p->value[sum].buffer = true;
    settle(u, sum, moment);
    return hpc_copy(p, sum, real_of(u, moment));
}

bool adama_has(const update *u, const char *name)
{
    char moment[HPC_TENSOR_NAME + 32];
    snprintf(moment, sizeof moment, "adam.m.%s", name);
    return hpc_program_find(u->p, moment) >= 0;
}

void adama_step(update *u, const target *t)
{
    hpc_program *p = u->p;
    hpc_value m = moment_of(u, "adam.m", t), v = moment_of(u, "adam.v", t), sum[2] = {m, v};
    hpc_adamw_attr at = {u->o->beta1, u->o->beta2, u->o->eps, t->decay};
    bool partial = m >= 0 && is_partial(u, m);
    for (int k = 0; m >= 0 && k < 2; k++) {
        if (is_tied(u, t))
            sum[k] = of_first_stage(u, t, sum[k]);
        else if (partial)
            sum[k] = hpc_copy(p, sum[k], real_of(u, m));
    }
    hpc_adam_step(p, t->param, t->half, sum[0], sum[1], u->io->lr, u->io->model.step, at);
    if (partial) settle(u, m, sum[0]);
    if (partial) settle(u, v, sum[1]);
}
