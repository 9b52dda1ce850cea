/*
 * splice.c: joining segments: moving or copying one to the end of another.
 *
 * It does not check that results stay the same; the caller knows which segments follow
 * each other.
 */
#include <string.h>

#include "runtime/program/priv.h"

void hpc_versions_count(hpc_program *p)
{
    for (int64_t v = 0; v < p->value_n; v++) p->value[v].version = 0;
    for (int64_t s = 0; s < p->segment_n; s++)
        for (int64_t k = 0; k < p->segment[s].insn_n; k++) {
            hpc_insn *i = &p->segment[s].insn[k];
            for (int a = 0; a < i->op->sig.operand_n; a++)
                if (i->operand[a] >= 0)
                    i->version[a] = p->value[hpc_value_root(p, i->operand[a])].version;
            for (int a = 0; a < i->op->sig.operand_n; a++)
                if (hpc_insn_role(p, i, a) & HPC_OUT &&
                    p->value[i->operand[a]].kind == HPC_VALUE_STATE)
                    p->value[hpc_value_root(p, i->operand[a])].version++;
        }
}

static int check_segments(const hpc_program *p, int into, int from)
{
    if (into >= 0 && from >= 0 && into < p->segment_n && from < p->segment_n && into != from)
        return HPC_OK;
    return hpc_fail(HPC_E_ARG, "segments %d and %d are not two of the program's %lld", into, from,
                    (long long)p->segment_n);
}

static int make_room(hpc_program *p, int into, int from)
{
    hpc_segment *s = &p->segment[into];
    return hpc_grow(&s->insn, &s->insn_cap, s->insn_n + p->segment[from].insn_n, sizeof *s->insn);
}

/* Records the new position as the origin of the instruction's results. */
static void note_made(hpc_program *p, const hpc_insn *i, int segment, int64_t k)
{
    for (int a = 0; a < i->op->sig.operand_n; a++) {
        if (!(hpc_insn_role(p, i, a) & HPC_OUT)) continue;
        hpc_value_info *v = &p->value[i->operand[a]];
        if (v->kind != HPC_VALUE_TEMP) continue;
        v->segment = segment;
        v->insn = (int32_t)k;
    }
}

int hpc_program_move(hpc_program *p, int into, int from)
{
    int rc;
    TRY(check_segments(p, into, from));
    TRY(make_room(p, into, from));
    hpc_segment *s = &p->segment[into], *g = &p->segment[from];
    for (int64_t k = 0; k < g->insn_n; k++) {
        note_made(p, &g->insn[k], into, s->insn_n);
        s->insn[s->insn_n++] = g->insn[k];
    }
    g->insn_n = 0;
    hpc_versions_count(p);
    TRY(hpc_program_check(p));
out:
    return rc;
}

/* ---- copies ----------------------------------------------------------------------- */

static hpc_value renamed(const hpc_value *to, hpc_value v)
{
    return v >= 0 && to[v] >= 0 ? to[v] : v;
}

/* A temporary's twin, of the same type and, for a view, of its base's twin. */
static int make_twin(hpc_program *p, hpc_value *to, hpc_value v)
{
    hpc_type t = p->value[v].type;
    if (t.ragged >= 0) t.count = renamed(to, t.count);
    to[v] = hpc_value_add(p, NULL, HPC_VALUE_TEMP, t);
    if (to[v] < 0) return HPC_E_NOMEM;
    p->value[to[v]].kept = p->value[v].kept;
    p->value[to[v]].base = renamed(to, p->value[v].base);
    p->value[to[v]].base_element = p->value[v].base_element;
    return HPC_OK;
}

static int copy_insn(hpc_program *p, hpc_value *to, int64_t known, int into, const hpc_insn *from)
{
    hpc_segment *s = &p->segment[into];
    hpc_insn i = *from;
    size_t bytes = i.op->sig.attr_bytes;
    int rc = HPC_OK;
    for (int a = 0; a < i.op->sig.operand_n; a++) {
        hpc_value v = i.operand[a];
        if (v >= 0 && v < known && hpc_insn_role(p, &i, a) & HPC_OUT &&
            p->value[v].kind == HPC_VALUE_TEMP)
            TRY(make_twin(p, to, v));
    }
    for (int a = 0; a < i.op->sig.operand_n; a++) i.operand[a] = renamed(to, i.operand[a]);
    i.tags.guard = renamed(to, i.tags.guard);
    if (bytes) {
        i.attr = hpc_arena_alloc(p->arena, 1, bytes);
        if (!i.attr) TRY(HPC_E_NOMEM);
        memcpy(i.attr, from->attr, bytes);
    }
    note_made(p, &i, into, s->insn_n);
    s->insn[s->insn_n++] = i;
out:
    return rc;
}

int hpc_program_append(hpc_program *p, int into, int from)
{
    int64_t known = p->value_n;
    hpc_value *to = NULL;
    int rc;
    TRY(check_segments(p, into, from));
    TRY(make_room(p, into, from));
    to = hpc_alloc((size_t)known + 1, sizeof *to);
    if (!to) TRY(HPC_E_NOMEM);
    for (int64_t v = 0; v < known; v++) to[v] = HPC_NONE;
    for (int64_t k = 0; k < p->segment[from].insn_n; k++)
        TRY(copy_insn(p, to, known, into, &p->segment[from].insn[k]));
    hpc_versions_count(p);
    TRY(hpc_program_check(p));
out:
    hpc_free(to);
    return rc;
}
