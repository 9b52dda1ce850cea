/*
 * lend.c: state in the caller's memory, which may be a read-only mapping: checks what is lent, and
 * finds the values in it.
 */
#include "runtime/program/run/priv.h"

static const char *name_of(const hpc_exec *e, hpc_value v)
{
    return e->p->value[v].name ? e->p->value[v].name : "temporary";
}

static int check_one(const hpc_exec *e, const hpc_lent *l)
{
    char text[128];
    if (l->state < 0 || l->state >= e->p->value_n)
        return hpc_fail(HPC_E_ARG, "there is no value %d to be lent", l->state);
    const hpc_value_info *v = &e->p->value[l->state];
    const char *name = name_of(e, l->state);
    if (v->kind != HPC_VALUE_STATE || v->base >= 0)
        return hpc_fail(HPC_E_ARG, "%%%d (%s): only state can be lent", l->state, name);
    if (l->bytes != hpc_type_bytes(&v->type))
        return hpc_fail(HPC_E_SHAPE, "%%%d (%s) is %s, %zu bytes; %zu were lent", l->state, name,
                        hpc_type_text(text, &v->type), hpc_type_bytes(&v->type), l->bytes);
    int align = v->type.pack == HPC_PLAIN ? 32 : HPC_ALIGN; /* GGUF aligns to 32 */
    if (!l->data || (uintptr_t)l->data % (uintptr_t)align)
        return hpc_fail(HPC_E_ARG, "%%%d (%s): the lent memory is not aligned to %d bytes",
                        l->state, name, align);
    if (e->lent[l->state]) return hpc_fail(HPC_E_ARG, "%%%d (%s) is lent twice", l->state, name);
    return HPC_OK;
}

static int check_segment(const hpc_exec *e, int s)
{
    const hpc_segment *g = &e->p->segment[s];
    for (int64_t k = 0; k < g->insn_n; k++) {
        if (g->insn[k].op->view) continue;
        for (int a = 0; a < g->insn[k].op->sig.operand_n; a++) {
            hpc_value v = g->insn[k].operand[a];
            char where[96];
            if (v < 0 || !e->lent[v] || e->writable[v] ||
                !(hpc_insn_role(e->p, &g->insn[k], a) & HPC_OUT))
                continue;
            return hpc_fail(HPC_E_ARG, "%s writes %%%d (%s), which is lent and only read",
                            hpc_insn_where(where, e->p, s, k), v, name_of(e, v));
        }
    }
    return HPC_OK;
}

bool hpc_exec_lends(const hpc_device *d)
{
    return hpc_device_about(d).host_memory || hpc_device_backend(d)->host_alloc;
}

hpc_direction hpc_lent_way(const hpc_exec *e, hpc_value v, hpc_direction way)
{
    return e->lent && e->lent[v] && !e->host ? HPC_ON_DEVICE : way;
}

int hpc_lent_check(const hpc_exec *e)
{
    for (hpc_value v = 0; v < e->p->value_n; v++) {
        const hpc_value_info *info = &e->p->value[v];
        if (!info->outside || info->base >= 0 || info->absent || (e->lent && e->lent[v])) continue;
        return hpc_fail(HPC_E_ARG, "%%%d (%s) is outside: lend memory for it", v, name_of(e, v));
    }
    return HPC_OK;
}

int hpc_lent_take(hpc_exec *e, const hpc_lent *lent, int64_t n)
{
    int rc = HPC_OK;
    if (!hpc_exec_lends(e->device))
        return hpc_fail(HPC_E_UNSUPPORTED, "backend %s does not read the host's memory",
                        hpc_device_about(e->device).backend);
    e->lent = hpc_arena_alloc(e->arena, (size_t)e->p->value_n + 1, sizeof *e->lent);
    e->writable = hpc_arena_alloc(e->arena, (size_t)e->p->value_n + 1, sizeof *e->writable);
    if (!e->lent || !e->writable) return HPC_E_NOMEM;
    for (int64_t k = 0; k < n; k++) {
        TRY(check_one(e, &lent[k]));
        e->lent[lent[k].state] = lent[k].data;
        e->writable[lent[k].state] = lent[k].writable;
    }
    for (int64_t v = 0; v < e->p->value_n; v++) {
        hpc_value root = hpc_value_root(e->p, (hpc_value)v);
        e->lent[v] = e->lent[root];
        e->writable[v] = e->writable[root];
    }
    for (int s = 0; s < e->p->segment_n; s++) TRY(check_segment(e, s));
out:
    return rc;
}
