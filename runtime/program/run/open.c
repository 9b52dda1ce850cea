/*
 * open.c: opens a program on a device: selects kernels, places values and resolves addresses, once.
 */
#include <string.h>

#include "runtime/program/run/priv.h"

void *hpc_exec_data(const hpc_exec *e, int slot, hpc_value v)
{
    hpc_space s = (hpc_space)e->place.space[v];
    if (e->lent && e->lent[v]) return (uint8_t *)e->lent[v] + e->place.offset[v];
    size_t base = s == HPC_SPACE_SLOT ? (size_t)slot * e->place.bytes[s] : 0;
    return e->memory[s] + base + (size_t)e->place.offset[v];
}

uint32_t hpc_exec_id(const hpc_exec *e, hpc_value v)
{
    return (uint32_t)hpc_value_root(e->p, v) + 1;
}

hpc_tensor hpc_exec_tensor(const hpc_exec *e, int slot, const hpc_insn *i, int k)
{
    hpc_value v = i->operand[k];
    hpc_tensor t = {.rank = -1, .ragged = -1};
    if (v < 0) return t;
    const hpc_type *type = &e->p->value[v].type;
    t.rank = type->rank;
    t.ragged = type->ragged;
    t.pack = type->pack;
    t.dtype = type->dtype;
    t.adds = hpc_insn_role(e->p, i, k) == HPC_INOUT &&
             (i->op->sig.operand[k].flags & HPC_ACC) == HPC_ACC;
    t.id = hpc_exec_id(e, v);
    memcpy(t.extent, type->extent, sizeof t.extent);
    if (slot < 0) return t;
    t.data = hpc_exec_data(e, slot, v);
    if (type->ragged >= 0) t.count = hpc_exec_data(e, slot, type->count);
    return t;
}

static bool is_kernel(const hpc_insn *i)
{
    return !i->op->view && i->op->comm < 0;
}

/* Arguments are the tensors, then the attributes. */
static size_t args_size(const hpc_insn *i)
{
    size_t n = (size_t)i->op->sig.operand_n * sizeof(hpc_tensor) + i->op->sig.attr_bytes;
    return (n + HPC_ALIGN - 1) / HPC_ALIGN * HPC_ALIGN;
}

static void fill_args(const hpc_exec *e, int slot, const hpc_insn *i, void *args)
{
    int n = i->op->sig.operand_n;
    for (int k = 0; k < n; k++) {
        hpc_tensor t = hpc_exec_tensor(e, slot, i, k);
        memcpy(hpc_args_operand(args, k), &t, sizeof t);
    }
    if (i->op->sig.attr_bytes) memcpy(hpc_args_operand(args, n), i->attr, i->op->sig.attr_bytes);
}

static bool is_double(const hpc_program *p, const hpc_insn *i)
{
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (i->operand[k] >= 0 && p->value[i->operand[k]].type.dtype == HPC_F64) return true;
    return false;
}

static int select_kernel(hpc_exec *e, hpc_plan *plan, const hpc_insn *i)
{
    _Alignas(16) uint8_t args[HPC_OPERAND_MAX * sizeof(hpc_tensor) + 256];
    hpc_assert(args_size(i) <= sizeof args);
    fill_args(e, -1, i, args);
    bool f64 = is_double(e->p, i);
    const hpc_kernels *k = hpc_device_kernels(e->device, f64);
    const char *backend = hpc_device_about(e->device).backend;
    if (!k)
        return hpc_fail(HPC_E_UNSUPPORTED, "backend %s has no %s kernels", backend,
                        f64 ? "f64" : "");
    plan->cpu.traits = hpc_device_about(e->device).cpu;
    int rc = i->op->select(plan, k, e->workers, args);
    return rc < 0 ? hpc_error_where("backend %s", backend) : rc;
}

static int select_segment(hpc_exec *e, int s, size_t **workspace)
{
    const hpc_segment *g = &e->p->segment[s];
    plan_segment *out = &e->segment[s];
    size_t n = (size_t)g->insn_n + 1;
    out->plan = hpc_arena_alloc(e->arena, n, sizeof *out->plan);
    workspace[s] = hpc_arena_alloc(e->arena, n, sizeof **workspace);
    if (!out->plan || !workspace[s]) return HPC_E_NOMEM;
    for (int64_t k = 0; k < g->insn_n; k++) {
        if (!is_kernel(&g->insn[k])) continue;
        if (select_kernel(e, &out->plan[k], &g->insn[k]) < 0) {
            char where[96];
            return hpc_error_where("%s", hpc_insn_where(where, e->p, s, k));
        }
        workspace[s][k] = out->plan[k].workspace;
        const hpc_cpu_plan *c = &out->plan[k].cpu;
        size_t worker = (c->worker_bytes + HPC_ALIGN - 1) / HPC_ALIGN * HPC_ALIGN;
        size_t coop = (c->coop_bytes + HPC_ALIGN - 1) / HPC_ALIGN * HPC_ALIGN;
        if (e->host && worker > e->worker_bytes) e->worker_bytes = worker;
        if (e->host && coop > e->coop_bytes) e->coop_bytes = coop;
    }
    return HPC_OK;
}

static int select_and_place(hpc_exec *e)
{
    int rc = HPC_OK;
    size_t n = (size_t)e->p->segment_n + 1;
    e->segment = hpc_arena_alloc(e->arena, n, sizeof *e->segment);
    size_t **workspace = hpc_arena_alloc(e->arena, n, sizeof *workspace);
    if (!e->segment || !workspace) return HPC_E_NOMEM;
    for (int s = 0; s < e->p->segment_n; s++) TRY(select_segment(e, s, workspace));
    TRY(hpc_place(&e->place, e->arena, e->p, e->lent, (const size_t *const *)workspace,
                  2 * e->coop_bytes + (size_t)e->workers * e->worker_bytes, e->slots));
out:
    return rc;
}

int hpc_exec_place(hpc_placement *out, hpc_arena *a, const hpc_program *p, hpc_device *d, int slots)
{
    bool host = hpc_device_about(d).host_memory;
    hpc_exec e = {.p = p,
                  .device = d,
                  .arena = a,
                  .host = host,
                  .workers = host ? hpc_pool_n(hpc_device_pool(d)) : 1,
                  .slots = slots};
    int rc = select_and_place(&e);
    if (rc >= 0) *out = e.place;
    return rc;
}

static int tell_written(hpc_exec *e, hpc_value v, int slot)
{
    const hpc_backend *b = hpc_device_backend(e->device);
    if (!b->wrote) return HPC_OK;
    return b->wrote(e->device, HPC_COMPUTE, hpc_exec_data(e, slot, v),
                    hpc_type_bytes(&e->p->value[v].type), hpc_exec_id(e, v));
}

/* State starts as zeros. If requested, other memory starts as NaNs, to expose reads of undefined
 * values. */
static int allocate(hpc_exec *e, const hpc_exec_options *o)
{
    static const char *const names[HPC_SPACE_N] = {[HPC_SPACE_STATE] = "parameters and other state",
                                                   [HPC_SPACE_SLOT] =
                                                       "values of microbatches or requests",
                                                   [HPC_SPACE_LOCAL] = "temporary values"};
    const hpc_backend *b = hpc_device_backend(e->device);
    int rc = HPC_OK;
    for (int s = 0; s < HPC_SPACE_N; s++) {
        size_t bytes = e->place.bytes[s] * (s == HPC_SPACE_SLOT ? (size_t)e->slots : 1);
        void *memory = NULL;
        if (hpc_device_alloc(&memory, e->device, bytes ? bytes : HPC_ALIGN) < 0)
            return hpc_error_where("memory for %s", names[s]);
        e->memory[s] = memory;
        bool state = s == HPC_SPACE_STATE;
        if (state && !b->zeroed) TRY(hpc_device_fill(e->device, HPC_COMPUTE, memory, 0, bytes));
        if (!state && o->poison && !b->poisoned)
            TRY(hpc_device_fill(e->device, HPC_COMPUTE, memory, 0xff, bytes));
    }
    for (int64_t v = 0; v < e->p->value_n; v++)
        if (e->p->value[v].kind == HPC_VALUE_STATE) TRY(tell_written(e, (hpc_value)v, 0));
out:
    return rc;
}

static int resolve(hpc_exec *e)
{
    for (int s = 0; s < e->p->segment_n; s++)
        for (int64_t k = 0; k < e->segment[s].step_n; k++) {
            step *t = &e->segment[s].step[k];
            if (t->kind != STEP_KERNEL) continue;
            t->args = e->args_bytes;
            e->args_bytes += args_size(&e->p->segment[s].insn[t->insn]);
        }
    e->args = hpc_alloc_aligned((size_t)e->slots, e->args_bytes ? e->args_bytes : 1, HPC_ALIGN);
    if (!e->args) return HPC_E_NOMEM;
    for (int slot = 0; slot < e->slots; slot++)
        for (int s = 0; s < e->p->segment_n; s++)
            for (int64_t k = 0; k < e->segment[s].step_n; k++) {
                const step *t = &e->segment[s].step[k];
                if (t->kind == STEP_KERNEL)
                    fill_args(e, slot, &e->p->segment[s].insn[t->insn],
                              e->args + (size_t)slot * e->args_bytes + t->args);
            }
    return HPC_OK;
}

/* Products of a device with several algorithms get theirs. */
static int choose_products(hpc_exec *e, int products)
{
    const hpc_backend *b = hpc_device_backend(e->device);
    int rc = HPC_OK;
    if (!b->prepare || products == HPC_PRODUCTS_FIXED) return HPC_OK;
    for (int s = 0; s < e->p->segment_n; s++)
        for (int64_t k = 0; k < e->segment[s].step_n; k++) {
            const step *t = &e->segment[s].step[k];
            if (t->kind != STEP_KERNEL || !e->segment[s].plan[t->insn].multiplies) continue;
            hpc_plan *plan = &e->segment[s].plan[t->insn];
            plan->products = products;
            if (t->guard >= 0) continue;
            TRY(b->prepare(e->device, plan, &e->p->segment[s].insn[t->insn].op->sig,
                           e->args + t->args,
                           e->memory[e->place.workspace_space[s]] + t->workspace));
        }
out:
    return rc;
}

static void count(hpc_exec *e, int s)
{
    hpc_exec_stats *st = &e->segment[s].stats;
    for (int64_t k = 0; k < e->segment[s].step_n; k++) {
        int kind = e->segment[s].step[k].kind;
        st->instructions += kind == STEP_KERNEL || kind == STEP_START;
        st->barriers += kind == STEP_BARRIER || kind == STEP_JOIN || kind == STEP_WAIT;
        st->yields += kind == STEP_WAIT;
    }
    for (int64_t k = 0; k < e->p->segment[s].insn_n; k++) {
        hpc_cost c = hpc_insn_cost(e->p, &e->p->segment[s].insn[k]);
        st->flops += c.flops;
        st->bytes += c.bytes;
    }
}

static int open_events(hpc_exec *e, int64_t n)
{
    e->event = hpc_arena_alloc(e->arena, (size_t)n + 1, sizeof *e->event);
    if (!e->event) return HPC_E_NOMEM;
    e->event_cap = n;
    return HPC_OK;
}

static int build(hpc_exec *e, const hpc_exec_options *o)
{
    int rc = HPC_OK;
    TRY(hpc_program_check(e->p));
    if (!e->grid) TRY(hpc_link_self(&e->self));
    if (o->lent_n > 0) TRY(hpc_lent_take(e, o->lent, o->lent_n));
    if (!o->dry) TRY(hpc_lent_check(e));
    TRY(select_and_place(e));
    TRY(hpc_transfers_open(e));
    for (int s = 0; s < e->p->segment_n; s++) {
        TRY(hpc_steps_make(e, s));
        count(e, s);
    }
    if (o->profile) TRY(hpc_profile_open(e));
    if (o->dry) goto out;
    if (o->events > 0) TRY(open_events(e, o->events));
    TRY(hpc_stage_open(e));
    TRY(allocate(e, o));
    TRY(hpc_transfers_register(e));
    TRY(resolve(e));
    TRY(choose_products(e, o->products));
    TRY(hpc_graphs_open(e));
out:
    return rc;
}

int hpc_exec_open(hpc_exec **out, const hpc_program *p, hpc_device *d, hpc_grid *grid,
                  const hpc_exec_options *options)
{
    hpc_exec_options o = options ? *options : (hpc_exec_options){0};
    *out = NULL;
    hpc_exec *e = hpc_alloc(1, sizeof *e);
    if (!e) return HPC_E_NOMEM;
    hpc_device_info about = hpc_device_about(d);
    e->p = p;
    e->device = d;
    e->grid = grid;
    e->host = about.host_memory;
    e->workers = e->host ? hpc_pool_n(hpc_device_pool(d)) : 1;
    e->slots = o.slots > 0 ? o.slots : 1;
    hpc_barrier_init(&e->barrier, e->workers);
    int rc = HPC_E_NOMEM;
    e->arena = hpc_arena_create(0);
    e->microbatch = hpc_alloc((size_t)e->slots, sizeof *e->microbatch);
    if (e->arena && e->microbatch) {
        for (int s = 0; s < e->slots; s++) e->microbatch[s] = s;
        rc = build(e, &o);
    }
    if (rc < 0) {
        hpc_exec_close(e);
        return rc;
    }
    *out = e;
    return HPC_OK;
}

/* Waits for everything that may still run in memory that is about to be freed, and keeps an error
 * recorded before. */
static void quiesce(hpc_exec *e)
{
    hpc_error before = *hpc_error_get();
    for (int slot = 0; slot < e->slots; slot++) hpc_transfers_end(e, slot);
    hpc_device_fence(e->device);
    hpc_error_clear();
    hpc_error_adopt(&before);
}

void hpc_exec_close(hpc_exec *e)
{
    if (!e) return;
    quiesce(e);
    hpc_transfers_deregister(e);
    hpc_graphs_close(e);
    for (int s = 0; s < HPC_SPACE_N; s++)
        if (e->memory[s]) hpc_device_free(e->device, e->memory[s]);
    for (int s = 0; e->segment && s < e->p->segment_n; s++) hpc_free(e->segment[s].step);
    hpc_stage_close(e);
    if (e->self) hpc_link_close(e->self);
    hpc_free(e->args);
    hpc_free(e->microbatch);
    hpc_arena_free(e->arena);
    hpc_free(e);
}
