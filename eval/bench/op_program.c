/*
 * op_program.c: a case as a program of two segments, the preparation and the measured part, with
 * random inputs. Every output is kept, so that repetitions neither share memory nor wait for each
 * other, and everything can be read afterwards.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/bench/priv.h"

enum {
    CHUNK = 1 << 16, /* elements drawn at a time: whole blocks of every format */
    EXACT = 1 << 24, /* integers up to it are exact in f32 */
    ARGS = HPC_OPERAND_MAX * sizeof(hpc_tensor) + BENCH_ATTR
};
static const double elements_most = 0x1p33; /* of an input */

/* ---- emission ---------------------------------------------------------------------------- */

static hpc_type input_type(hpc_dtype dtype, int rank, const int64_t *extent)
{
    double n = 1;
    for (int d = 0; d < rank; d++) n *= (double)extent[d];
    if (n > elements_most)
        hpc_fail(HPC_E_SHAPE, "an input of %g elements is too large to measure", n);
    return hpc_type_of(dtype, n > elements_most ? -1 : rank, extent);
}

typedef hpc_value make_value(hpc_program *p, const char *name, hpc_type t);

static hpc_value make_state(hpc_program *p, const char *name, hpc_type t)
{
    return hpc_program_state(p, name, t, false);
}

static hpc_value find_or_make(hpc_bench_emitter *e, make_value *make, const char *name,
                              hpc_type type, hpc_bench_fill fill)
{
    char text[48];
    snprintf(text, sizeof text, e->copy ? "%s.%d" : "%s", name, e->copy);
    if (type.rank < 0) return HPC_NONE;
    hpc_value v = hpc_program_find(e->p, text);
    if (v >= 0) return v;
    if (hpc_grow(&e->fill, &e->fill_cap, e->fill_n + 1, sizeof *e->fill) < 0) return HPC_NONE;
    v = make(e->p, text, type);
    if (v < 0) return v;
    fill.value = v;
    fill.like = e->copy ? hpc_program_find(e->p, name) : v;
    e->fill[e->fill_n++] = fill;
    return v;
}

hpc_value hpc_bench_input(hpc_bench_emitter *e, const char *name, hpc_dtype dtype,
                          hpc_bench_fill fill, int rank, const int64_t *extent)
{
    return find_or_make(e, hpc_program_input, name, input_type(dtype, rank, extent), fill);
}

hpc_value hpc_bench_state(hpc_bench_emitter *e, const char *name, hpc_dtype dtype,
                          hpc_bench_fill fill, int rank, const int64_t *extent)
{
    return find_or_make(e, make_state, name, input_type(dtype, rank, extent), fill);
}

static void emit_all(hpc_bench_emitter *e, hpc_value *ready, int repeats, bool cold)
{
    const hpc_bench_case *c = e->job->c;
    for (int measured = 0; measured < 2; measured++) {
        int n = measured ? repeats : !c->prepare ? 0 : cold ? repeats : 1;
        hpc_program_segment(e->p, HPC_FORWARD, measured);
        for (int k = 0; k < n; k++) {
            e->copy = cold ? k : 0;
            e->ready = ready ? ready + (size_t)e->copy * BENCH_READY : NULL;
            if (measured)
                c->emit(e);
            else
                c->prepare(e);
        }
    }
}

int hpc_bench_emit(hpc_bench_program *out, const hpc_bench_job *job, int repeats, bool cold)
{
    int rc = HPC_E_NOMEM;
    hpc_value *ready = NULL;
    *out = (hpc_bench_program){.repeats = repeats};
    out->p = hpc_program_create();
    if (!out->p) goto out;
    out->e = (hpc_bench_emitter){.p = out->p, .job = job, .n = job->shape, .attr = job->attr};
    if (job->c->prepare) {
        ready = hpc_arena_alloc(out->p->arena, (size_t)repeats * BENCH_READY, sizeof *ready);
        if (!ready) goto out;
    }
    emit_all(&out->e, ready, repeats, cold);
    TRY(hpc_program_status(out->p));
    for (hpc_value v = 0; v < out->p->value_n; v++)
        if (out->p->value[v].kind == HPC_VALUE_TEMP) hpc_program_keep(out->p, v);
out:
    return rc;
}

void hpc_bench_close(hpc_bench_program *b)
{
    hpc_exec_close(b->exec);
    hpc_program_free(b->p);
    hpc_free(b->e.fill);
    *b = (hpc_bench_program){0};
}

/* ---- inputs --------------------------------------------------------------------------------- */

/* Integers below n in random order. */
static int draw_order(int32_t **out, int64_t n, uint32_t seed)
{
    int32_t *order = *out = hpc_alloc((size_t)n + 1, sizeof *order);
    if (!order) return HPC_E_NOMEM;
    for (int64_t k = 0; k < n; k++) order[k] = (int32_t)k;
    for (int64_t k = n - 1; k > 0; k--) {
        int64_t other = hpc_random_bits(2, seed, 0, (uint64_t)k) % (uint64_t)(k + 1);
        int32_t swap = order[k];
        order[k] = order[other];
        order[other] = swap;
    }
    return HPC_OK;
}

/* Elements first .. first+n-1. Normals repeat from chunk to chunk: drawing is slow. */
static void draw(float *x, int64_t n, int64_t first, const hpc_bench_fill *f, const int32_t *order)
{
    uint32_t seed = (uint32_t)f->value;
    bool normals = f->kind == HPC_FILL_NORMAL || f->kind == HPC_FILL_POSITIVE;
    if (normals && first > 0) return;
    if (normals) hpc_random_fill_normal(x, n, 1, seed, 0, 0);
    for (int64_t k = 0; k < n; k++) {
        int64_t at = first + k;
        switch (f->kind) {
        case HPC_FILL_NORMAL: x[k] *= (float)f->by; break;
        case HPC_FILL_POSITIVE: x[k] = fabsf(x[k]) * (float)f->by; break;
        case HPC_FILL_SAME: x[k] = (float)f->by; break;
        case HPC_FILL_EVEN: x[k] = (float)(f->by * (double)at); break;
        case HPC_FILL_POWERS: x[k] = (float)pow(f->by, (double)at); break;
        case HPC_FILL_INDEX:
            x[k] = (float)(hpc_random_bits(3, seed, 0, (uint64_t)at) % (uint64_t)f->by);
            break;
        case HPC_FILL_SHUFFLE: x[k] = (float)order[at]; break;
        }
    }
}

static int64_t elements_of(const hpc_type *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++) n *= t->extent[d];
    return n;
}

static int check_fill(const char *name, int64_t n, const hpc_bench_fill *f)
{
    bool drawn = f->kind == HPC_FILL_INDEX || f->kind == HPC_FILL_SHUFFLE;
    if (!drawn) return HPC_OK;
    if (f->by < 1 || f->by > EXACT)
        return hpc_fail(HPC_E_SHAPE,
                        "%s: cannot draw indices below %.0f; the limit must be 1 to %d", name,
                        f->by, EXACT);
    if (f->kind == HPC_FILL_SHUFFLE && (double)n > f->by)
        return hpc_fail(HPC_E_SHAPE, "%s: cannot draw %lld different rows of %.0f", name,
                        (long long)n, f->by);
    return HPC_OK;
}

int hpc_bench_content(void **data, const hpc_program *p, const hpc_bench_fill *f)
{
    const hpc_value_info *info = &p->value[f->value];
    const hpc_dtype_info *d = hpc_dtype_get((hpc_dtype)info->type.dtype);
    int64_t n = elements_of(&info->type);
    int32_t *order = NULL;
    float *chunk = NULL;
    int rc = HPC_E_NOMEM;
    uint8_t *bytes = hpc_alloc_aligned(hpc_type_bytes(&info->type) + 1, 1, HPC_ALIGN);
    if (!bytes) goto out;
    TRY(check_fill(info->name, n, f));
    if (f->kind == HPC_FILL_SHUFFLE) TRY(draw_order(&order, (int64_t)f->by, (uint32_t)f->value));
    chunk = hpc_alloc(CHUNK, sizeof *chunk);
    if (!chunk) TRY(HPC_E_NOMEM);
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t now = n - at < CHUNK ? n - at : CHUNK;
        draw(chunk, now, at, f, order);
        hpc_from_f32(bytes + (size_t)(at / d->block) * d->block_bytes, (hpc_dtype)info->type.dtype,
                     chunk, now);
    }
    *data = bytes;
    bytes = NULL;
out:
    hpc_free(bytes);
    hpc_free(chunk);
    hpc_free(order);
    return rc;
}

/* Drawn and encoded once for all copies: quantising takes long. */
static int write_copies(hpc_bench_program *b, const hpc_bench_fill *first)
{
    void *data = NULL;
    int rc;
    TRY(hpc_bench_content(&data, b->p, first));
    for (const hpc_bench_fill *f = first; f < b->e.fill + b->e.fill_n; f++)
        if (f->like == first->value)
            TRY(hpc_exec_write(b->exec, 0, f->value, data,
                               hpc_type_bytes(&b->p->value[f->value].type)));
out:
    hpc_free(data);
    return rc;
}

int hpc_bench_open(hpc_bench_program *b, hpc_device *d)
{
    int rc;
    TRY(hpc_exec_open(&b->exec, b->p, d, NULL, NULL));
    for (int64_t k = 0; k < b->e.fill_n; k++)
        if (b->e.fill[k].like == b->e.fill[k].value) TRY(write_copies(b, &b->e.fill[k]));
    if (b->p->segment[BENCH_PREPARE].insn_n > 0) TRY(hpc_exec_run(b->exec, BENCH_PREPARE, 0));
out:
    return rc;
}

/* ---- the kernel ----------------------------------------------------------------------------- */

static hpc_tensor bare_tensor(const hpc_program *p, const hpc_insn *i, int k)
{
    hpc_tensor t = {.rank = -1, .ragged = -1};
    if (i->operand[k] < 0) return t;
    const hpc_value_info *info = &p->value[i->operand[k]];
    t.rank = info->type.rank;
    t.ragged = info->type.ragged;
    t.pack = info->type.pack;
    t.dtype = info->type.dtype;
    t.adds = (i->op->sig.operand[k].flags & HPC_ACC) == HPC_ACC && info->kind == HPC_VALUE_STATE;
    memcpy(t.extent, info->type.extent, sizeof t.extent);
    return t;
}

int hpc_bench_kernel(const char **name, const hpc_program *p, hpc_device *d)
{
    const hpc_insn *i = &p->segment[BENCH_MEASURED].insn[0];
    _Alignas(16) uint8_t args[ARGS];
    hpc_plan plan = {0};
    bool f64 = false;
    int n = i->op->sig.operand_n;
    hpc_device_info about = hpc_device_about(d);
    hpc_assert(i->op->sig.attr_bytes <= BENCH_ATTR);
    for (int k = 0; k < n; k++) {
        hpc_tensor t = bare_tensor(p, i, k);
        f64 = f64 || (t.rank >= 0 && t.dtype == HPC_F64);
        memcpy(hpc_args_operand(args, k), &t, sizeof t);
    }
    if (i->op->sig.attr_bytes) memcpy(hpc_args_operand(args, n), i->attr, i->op->sig.attr_bytes);
    const hpc_kernels *kernels = hpc_device_kernels(d, f64);
    if (!kernels) return hpc_fail(HPC_E_UNSUPPORTED, "backend %s has no kernels", about.backend);
    plan.cpu.traits = about.cpu;
    int rc = i->op->select(&plan, kernels, about.host_memory ? about.threads : 1, args);
    *name = plan.name;
    return rc;
}
