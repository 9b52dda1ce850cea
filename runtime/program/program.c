/*
 * program.c: construction of programs: values, segments and emission of instructions. It contains
 * no knowledge of ops: shapes come from the op table. It checks each emission alone; check.c
 * validates whole programs.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/program/offload.h"
#include "runtime/program/priv.h"

hpc_program *hpc_program_create(void)
{
    hpc_arena *a = hpc_arena_create(0);
    if (!a) return NULL;
    hpc_program *p = hpc_arena_alloc(a, 1, sizeof *p);
    if (!p) {
        hpc_arena_free(a);
        return NULL;
    }
    p->arena = a;
    p->current = -1;
    p->tags =
        (hpc_tags){.block = -1, .microbatch = -1, .group = -1, .origin = -1, .guard = HPC_NONE};
    return p;
}

void hpc_program_free(hpc_program *p)
{
    if (!p) return;
    for (int64_t s = 0; s < p->segment_n; s++) hpc_free(p->segment[s].insn);
    hpc_free(p->segment);
    hpc_free(p->value);
    hpc_arena_free(p->arena);
}

/* Remembers the first failure, so that a builder may check once at its end. */
static hpc_value fail_program(hpc_program *p)
{
    if (p->error.code == HPC_OK) p->error = *hpc_error_get();
    return HPC_NONE;
}

int hpc_program_status(const hpc_program *p)
{
    if (p->error.code == HPC_OK) return HPC_OK;
    hpc_error_clear();
    return hpc_error_adopt(&p->error);
}

static uint64_t hash_of(const char *name)
{
    return hpc_hash(name, strlen(name), 0);
}

hpc_value hpc_value_add(hpc_program *p, const char *name, hpc_value_kind kind, hpc_type type)
{
    char *copy = NULL;
    if (p->value_n >= INT32_MAX) {
        hpc_fail(HPC_E_UNSUPPORTED, "a program has at most %d values", INT32_MAX);
        return HPC_NONE;
    }
    if (name && !(copy = hpc_arena_text(p->arena, "%s", name))) return HPC_NONE;
    if (hpc_grow(&p->value, &p->value_cap, p->value_n + 1, sizeof *p->value) < 0) return HPC_NONE;
    p->value[p->value_n] = (hpc_value_info){.name = copy,
                                            .name_hash = copy ? hash_of(copy) : 0,
                                            .kind = kind,
                                            .type = type,
                                            .grad = HPC_NONE,
                                            .index = HPC_NONE,
                                            .whole = HPC_NONE,
                                            .master = HPC_NONE,
                                            .param = HPC_NONE,
                                            .base = HPC_NONE,
                                            .segment = -1,
                                            .insn = -1};
    return (hpc_value)p->value_n++;
}

static int check_type(const hpc_program *p, const char *name, const hpc_type *t)
{
    const hpc_dtype_info *d = hpc_dtype_get((hpc_dtype)t->dtype);
    if (t->rank < 0 || t->rank > HPC_RANK_MAX)
        return hpc_fail(HPC_E_SHAPE, "%s: rank %d is not 0 to %d", name, t->rank, HPC_RANK_MAX);
    for (int k = 0; k < t->rank; k++)
        if (t->extent[k] < 0)
            return hpc_fail(HPC_E_SHAPE, "%s: extent %d is negative (%lld)", name, k,
                            (long long)t->extent[k]);
    if (d->block > 1 && (t->rank < 1 || t->extent[t->rank - 1] % d->block != 0))
        return hpc_fail(HPC_E_SHAPE, "%s: rows of %s are whole blocks of %lld elements", name,
                        d->name, (long long)d->block);
    if (t->ragged >= t->rank)
        return hpc_fail(HPC_E_SHAPE, "%s: ragged dimension %d of rank %d", name, t->ragged,
                        t->rank);
    if (t->ragged >= 0 && (t->count < 0 || t->count >= p->value_n))
        return hpc_fail(HPC_E_SHAPE, "%s: a run-time extent needs its count value", name);
    return HPC_OK;
}

static hpc_value add_named(hpc_program *p, const char *name, hpc_value_kind kind, hpc_type t)
{
    if (p->error.code) return HPC_NONE;
    hpc_value v = HPC_NONE;
    if (hpc_program_find(p, name) != HPC_NONE)
        hpc_fail(HPC_E_ARG, "%s: the program has a value of this name already", name);
    else if (check_type(p, name, &t) == HPC_OK)
        v = hpc_value_add(p, name, kind, t);
    return v >= 0 ? v : fail_program(p);
}

hpc_value hpc_program_input(hpc_program *p, const char *name, hpc_type t)
{
    return add_named(p, name, HPC_VALUE_INPUT, t);
}

hpc_value hpc_program_state(hpc_program *p, const char *name, hpc_type t, bool trainable)
{
    hpc_value v = add_named(p, name, HPC_VALUE_STATE, t);
    if (v >= 0) p->value[v].trainable = trainable;
    return v;
}

hpc_value hpc_program_state_part(hpc_program *p, hpc_value base, int64_t element, hpc_type t)
{
    hpc_value root = hpc_value_root(p, base), v = hpc_value_add(p, NULL, HPC_VALUE_STATE, t);
    if (v < 0) return fail_program(p);
    p->value[v].base = root;
    p->value[v].base_element = p->value[base].base_element + element;
    return v;
}

void hpc_program_keep(hpc_program *p, hpc_value v)
{
    if (v >= 0) p->value[hpc_value_root(p, v)].kept = true;
}

hpc_value hpc_program_find(const hpc_program *p, const char *name)
{
    uint64_t hash = hash_of(name);
    for (int64_t v = 0; v < p->value_n; v++) {
        const hpc_value_info *i = &p->value[v];
        if (i->name_hash == hash && i->name && strcmp(i->name, name) == 0) return (hpc_value)v;
    }
    return HPC_NONE;
}

int hpc_program_segment(hpc_program *p, hpc_phase phase, int index)
{
    if (p->error.code) return p->error.code;
    if (hpc_grow(&p->segment, &p->segment_cap, p->segment_n + 1, sizeof *p->segment) < 0) {
        fail_program(p);
        return p->error.code;
    }
    hpc_segment *s = &p->segment[p->segment_n];
    *s = (hpc_segment){.phase = phase, .index = index};
    snprintf(s->name, sizeof s->name, "%s[%d]", hpc_phase_name(phase), index);
    p->current = (int)p->segment_n++;
    p->tags = (hpc_tags){.phase = phase,
                         .block = -1,
                         .microbatch = -1,
                         .group = -1,
                         .origin = -1,
                         .guard = HPC_NONE};
    return p->current;
}

int hpc_insn_role(const hpc_program *p, const hpc_insn *i, int k)
{
    hpc_value v = i->operand[k];
    if (v < 0) return 0;
    int flags = i->op->sig.operand[k].flags;
    if ((flags & HPC_ACC) == HPC_ACC)
        return p->value[v].kind == HPC_VALUE_STATE && !i->tags.anew ? HPC_INOUT : HPC_OUT;
    return flags & HPC_INOUT;
}

hpc_value hpc_value_root(const hpc_program *p, hpc_value v)
{
    while (v >= 0 && p->value[v].base >= 0) v = p->value[v].base;
    return v;
}

static int check_operand(const hpc_program *p, const hpc_op *op, int k, hpc_value v)
{
    const char *name = op->sig.operand[k].name;
    int flags = op->sig.operand[k].flags;
    if (v == HPC_NONE)
        return flags & HPC_OPTIONAL ? HPC_OK : hpc_fail(HPC_E_ARG, "operand %s is required", name);
    if (v == HPC_NEW || v == HPC_NEW_WIDE)
        return flags & HPC_OUT && !(flags & HPC_IN)
                   ? HPC_OK
                   : hpc_fail(HPC_E_ARG, "operand %s is not an output to be made", name);
    if (v < 0 || v >= p->value_n)
        return hpc_fail(HPC_E_ARG, "operand %s: there is no value %d", name, v);
    if (flags & HPC_OUT && p->value[v].kind != HPC_VALUE_STATE)
        return hpc_fail(HPC_E_ARG,
                        "operand %s: %%%d is assigned already; only state is written again", name,
                        v);
    return HPC_OK;
}

/* An instruction may read state that its operand k writes only if its kernel can work in place of
 * an input, and then only all of the state. */
static int check_alias(const hpc_program *p, const hpc_insn *i, int k)
{
    const hpc_signature *sig = &i->op->sig;
    hpc_value y = i->operand[k];
    if (y < 0 || !(hpc_insn_role(p, i, k) & HPC_OUT)) return HPC_OK;
    for (int a = 0; a < sig->operand_n; a++) {
        hpc_value x = i->operand[a];
        if (a == k || hpc_value_root(p, x) != y) continue;
        const hpc_type *t = &p->value[x].type;
        bool whole = hpc_type_bytes(t) == hpc_type_bytes(&p->value[y].type);
        bool overwritten = k == 0 && !(hpc_insn_role(p, i, k) & HPC_IN);
        if (overwritten && sig->operand[a].flags & HPC_INPLACE && whole) continue;
        return hpc_fail(HPC_E_ARG, "operand %s lies in %s, which %s overwrites: give a copy of it",
                        sig->operand[a].name, p->value[y].name, sig->operand[k].name);
    }
    return HPC_OK;
}

void hpc_view_bind(hpc_program *p, const hpc_insn *i)
{
    hpc_value_info *y = &p->value[i->operand[0]];
    const hpc_value_info *x = &p->value[i->operand[1]];
    const hpc_view_attr *at = i->attr;
    int64_t row = 1;
    for (int k = 1; k < x->type.rank; k++) row *= x->type.extent[k];
    y->base = hpc_value_root(p, i->operand[1]);
    y->base_element = x->base_element + at->row * row;
}

static int make_values(hpc_program *p, hpc_insn *i, const hpc_type *type)
{
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] != HPC_NEW) continue;
        hpc_value v = hpc_value_add(p, NULL, HPC_VALUE_TEMP, type[k]);
        if (v < 0) return HPC_E_NOMEM;
        p->value[v].segment = p->current;
        p->value[v].insn = (int32_t)p->segment[p->current].insn_n;
        i->operand[k] = v;
    }
    return HPC_OK;
}

/* A count may be an output of the same instruction. */
static int bind_counts(hpc_program *p, const hpc_insn *i)
{
    int rc = HPC_OK;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (!(hpc_insn_role(p, i, k) & HPC_OUT)) continue;
        hpc_type *t = &p->value[i->operand[k]].type;
        if (t->ragged >= 0 && t->count <= HPC_COUNT_OF(0))
            t->count = i->operand[HPC_COUNT_OF(0) - t->count];
        TRY(check_type(p, i->op->sig.operand[k].name, t));
    }
out:
    return rc;
}

static int make_outputs(hpc_program *p, hpc_insn *i, const hpc_type *type)
{
    int rc = HPC_OK;
    TRY(make_values(p, i, type));
    TRY(bind_counts(p, i));
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value root = hpc_value_root(p, i->operand[k]);
        if (root >= 0) i->version[k] = p->value[root].version;
    }
    for (int k = 0; k < i->op->sig.operand_n; k++) /* after all were read */
        if (hpc_insn_role(p, i, k) & HPC_OUT && p->value[i->operand[k]].kind == HPC_VALUE_STATE)
            p->value[hpc_value_root(p, i->operand[k])].version++;
    if (i->op->view) hpc_view_bind(p, i);
out:
    return rc;
}

/* Makes HPC_NEW of the outputs HPC_NEW_WIDE; returns their set. */
static unsigned take_wide(hpc_insn *i)
{
    unsigned set = 0;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] != HPC_NEW_WIDE) continue;
        i->operand[k] = HPC_NEW;
        set |= 1u << k;
    }
    return set;
}

static int build(hpc_program *p, hpc_insn *i, const void *attr)
{
    const hpc_signature *sig = &i->op->sig;
    hpc_type type[HPC_OPERAND_MAX];
    unsigned wide = take_wide(i);
    int rc = HPC_OK;
    for (int k = 0; k < sig->operand_n; k++) TRY(check_operand(p, i->op, k, i->operand[k]));
    for (int k = 0; k < sig->operand_n; k++) TRY(check_alias(p, i, k));
    if (sig->attr_bytes) {
        i->attr = hpc_arena_alloc(p->arena, 1, sig->attr_bytes);
        if (!i->attr) return HPC_E_NOMEM;
        if (attr) memcpy(i->attr, attr, sig->attr_bytes);
    }
    for (int k = 0; k < sig->operand_n; k++)
        if (i->operand[k] >= 0)
            type[k] = p->value[i->operand[k]].type;
        else
            type[k] = (hpc_type){.rank = -1, .ragged = -1, .count = HPC_NONE};
    TRY(i->op->shape(p, i, type));
    for (int k = 0; k < sig->operand_n; k++)
        if (wide >> k & 1 && type[k].dtype == HPC_BF16) type[k].dtype = HPC_F32;
    TRY(make_outputs(p, i, type));
out:
    return rc;
}

hpc_value hpc_emit(hpc_program *p, const hpc_op *op, hpc_value *operand, const void *attr)
{
    if (p->error.code) return HPC_NONE;
    hpc_insn insn = {.op = op, .tags = p->tags};
    int n = op->sig.operand_n;
    for (int k = 0; k < HPC_OPERAND_MAX; k++) insn.operand[k] = k < n ? operand[k] : HPC_NONE;
    if (p->current < 0) {
        hpc_fail(HPC_E_STATE, "%s: the program has no segment yet", op->sig.name);
        return fail_program(p);
    }
    hpc_segment *s = &p->segment[p->current];
    if (hpc_grow(&s->insn, &s->insn_cap, s->insn_n + 1, sizeof *s->insn) < 0)
        return fail_program(p);
    if (build(p, &insn, attr) < 0) {
        hpc_error_where("%s #%lld %s (block %d)", s->name, (long long)s->insn_n, op->sig.name,
                        insn.tags.block);
        return fail_program(p);
    }
    s->insn[s->insn_n++] = insn;
    for (int k = 0; k < n; k++) operand[k] = insn.operand[k];
    return n > 0 && op->sig.operand[0].flags & HPC_OUT ? operand[0] : HPC_NONE;
}

const char *hpc_insn_where(char out[96], const hpc_program *p, int segment, int64_t insn)
{
    const hpc_segment *s = &p->segment[segment];
    snprintf(out, 96, "%s #%lld %s (block %d)", s->name, (long long)insn,
             s->insn[insn].op->sig.name, s->insn[insn].tags.block);
    return out;
}

static int copy_segment(hpc_program *c, hpc_segment *to, const hpc_segment *from)
{
    *to = *from;
    to->insn = NULL;
    to->insn_cap = to->insn_n = 0;
    if (hpc_grow(&to->insn, &to->insn_cap, from->insn_n, sizeof *to->insn) < 0) return HPC_E_NOMEM;
    for (int64_t k = 0; k < from->insn_n; k++) {
        to->insn[k] = from->insn[k];
        to->insn_n = k + 1;
        size_t bytes = from->insn[k].op->sig.attr_bytes;
        if (!bytes) continue;
        to->insn[k].attr = hpc_arena_alloc(c->arena, 1, bytes);
        if (!to->insn[k].attr) return HPC_E_NOMEM;
        memcpy(to->insn[k].attr, from->insn[k].attr, bytes);
    }
    return HPC_OK;
}

hpc_program *hpc_program_copy(const hpc_program *p)
{
    int rc = HPC_OK;
    hpc_program *c = hpc_program_create();
    if (!c) return NULL;
    TRY(hpc_grow(&c->value, &c->value_cap, p->value_n, sizeof *c->value));
    for (int64_t v = 0; v < p->value_n; v++) {
        c->value[v] = p->value[v];
        c->value_n = v + 1;
        if (!p->value[v].name) continue;
        char *name = hpc_arena_text(c->arena, "%s", p->value[v].name);
        if (!name) TRY(HPC_E_NOMEM);
        c->value[v].name = name;
    }
    TRY(hpc_grow(&c->segment, &c->segment_cap, p->segment_n, sizeof *c->segment));
    for (int64_t s = 0; s < p->segment_n; s++) {
        c->segment_n = s + 1;
        TRY(copy_segment(c, &c->segment[s], &p->segment[s]));
    }
    c->current = p->current;
    c->tags = p->tags;
    c->error = p->error;
out:
    if (rc < 0) {
        hpc_program_free(c);
        return NULL;
    }
    return c;
}
