/*
 * offload.c: keeps state in an outside memory: rewrites the element-wise instructions that use it
 * as loops over buckets, which fetch a part of it into buffers, compute, and stow the result. It
 * does not decide where that memory is.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/program/offload.h"
#include "runtime/program/priv.h"

enum {
    BUFFERS = 4,
    PARTS_MOST = 1 << 17 /* each has instructions and values of its own, about 4 KB */
};

typedef struct offloader {
    hpc_program *p;
    hpc_offload_options *o;
    int64_t bucket;            /* elements: no more than the largest state outside has */
    hpc_value buffer[BUFFERS]; /* state, flat; HPC_NONE: not needed yet */
} offloader;

static int64_t elements(const hpc_program *p, hpc_value v)
{
    const hpc_type *t = &p->value[v].type;
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++) n *= t->extent[d];
    return n;
}

static bool is_outside(const hpc_program *p, hpc_value v)
{
    hpc_value root = hpc_value_root(p, v);
    return root >= 0 && p->value[root].outside;
}

static bool uses_outside(const hpc_program *p, const hpc_insn *i)
{
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (is_outside(p, i->operand[k])) return true;
    return false;
}

/* ---- parts ----------------------------------------------------------------------------------- */

typedef struct part { /* elements of a bucket */
    int64_t first, n;
} part;

static hpc_type flat(const hpc_program *p, hpc_value like, int64_t n)
{
    return hpc_type_of((hpc_dtype)p->value[like].type.dtype, 1, &n);
}

static hpc_value state_part(offloader *w, hpc_value state, part x)
{
    return hpc_program_state_part(w->p, state, x.first, flat(w->p, state, x.n));
}

static hpc_value read_part(offloader *w, hpc_value v, part x)
{
    int64_t all = elements(w->p, v);
    hpc_value line = hpc_view(w->p, v, 1, &all);
    return line < 0 ? line : hpc_slice(w->p, line, x.first, x.n);
}

/* Buffer j, for values of the dtype of `like`. */
static hpc_value buffer_part(offloader *w, int j, hpc_value like, int64_t n)
{
    char name[24];
    snprintf(name, sizeof name, "offload.%d", j);
    if (w->buffer[j] == HPC_NONE) {
        hpc_type t = flat(w->p, like, w->bucket);
        w->buffer[j] = hpc_program_state(w->p, name, t, false);
        if (w->buffer[j] < 0) return HPC_NONE;
        w->p->value[w->buffer[j]].buffer = true;
        w->o->buffer_bytes += hpc_type_bytes(&t);
    }
    if (w->p->value[w->buffer[j]].type.dtype == w->p->value[like].type.dtype)
        return state_part(w, w->buffer[j], (part){0, n});
    hpc_fail(HPC_E_UNSUPPORTED, "offload: %s and others that it is updated with differ in dtype",
             w->p->value[like].name);
    return HPC_NONE;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* Does it compute each element of state from those at the same position? *n: the elements of all
 * operands but scalars. */
static bool is_element_wise(int64_t *n, const hpc_program *p, const hpc_insn *i)
{
    hpc_dims dims = {0};
    const char *label = NULL;
    bool alike = i->op->layout && i->op->layout(p, i, &dims) >= 0;
    *n = 1;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = i->operand[k];
        if (v < 0) continue;
        int64_t own = elements(p, v);
        if (own != 1 && label && strcmp(label, dims.label[k]) != 0) alike = false;
        if (own != 1) *n = own, label = dims.label[k];
        bool made = hpc_insn_role(p, i, k) & HPC_OUT && p->value[v].kind == HPC_VALUE_TEMP;
        if (made) alike = false;
    }
    return alike;
}

static int check_insn(int64_t *n, const offloader *w, const hpc_insn *i)
{
    if (is_element_wise(n, w->p, i)) return HPC_OK;
    return hpc_fail(
        HPC_E_UNSUPPORTED,
        "offload: %s uses state that is outside, and is not computed element by element",
        i->op->sig.name);
}

typedef struct moved { /* an operand that is outside */
    hpc_value there, here;
    bool back;
} moved;

static void count(offloader *w, hpc_value there)
{
    w->o->moved_bytes += (int64_t)hpc_type_bytes(&w->p->value[there].type);
}

static int emit_part(offloader *w, const hpc_insn *i, part x)
{
    hpc_program *p = w->p;
    hpc_value operand[HPC_OPERAND_MAX];
    moved m[BUFFERS];
    int m_n = 0, n = i->op->sig.operand_n, rc = HPC_OK;
    for (int k = 0; k < n; k++) {
        hpc_value v = operand[k] = i->operand[k];
        if (v < 0 || elements(p, v) == 1) continue;
        int role = hpc_insn_role(p, i, k);
        if (!is_outside(p, v)) {
            operand[k] = role & HPC_OUT ? state_part(w, v, x) : read_part(w, v, x);
            continue;
        }
        hpc_assert(m_n < BUFFERS);
        m[m_n] = (moved){state_part(w, v, x), buffer_part(w, m_n, v, x.n), role & HPC_OUT};
        operand[k] = m[m_n].here;
        if (m[m_n].here < 0 || m[m_n].there < 0)
            TRY(hpc_error_get()->code < 0 ? hpc_error_get()->code : HPC_E_NOMEM);
        if (role & HPC_IN) hpc_move(p, &hpc_op_fetch, m[m_n].here, m[m_n].there);
        if (role & HPC_IN) count(w, m[m_n].there);
        m_n++;
    }
    hpc_emit(p, i->op, operand, i->attr);
    for (int k = 0; k < m_n; k++) {
        if (!m[k].back) continue;
        hpc_move(p, &hpc_op_stow, m[k].there, m[k].here);
        count(w, m[k].there);
    }
    TRY(hpc_program_status(p));
out:
    return rc;
}

static int rewrite_insn(offloader *w, const hpc_insn *i)
{
    int64_t n;
    int rc = check_insn(&n, w, i);
    w->p->tags = i->tags;
    for (int64_t at = 0; rc >= 0 && at < n; at += w->bucket) {
        int64_t left = n - at;
        rc = emit_part(w, i, (part){at, left < w->bucket ? left : w->bucket});
    }
    return rc;
}

static int keep_insn(offloader *w, int s, const hpc_insn *i)
{
    hpc_segment *g = &w->p->segment[s];
    int rc = hpc_grow(&g->insn, &g->insn_cap, g->insn_n + 1, sizeof *g->insn);
    if (rc < 0) return rc;
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (hpc_insn_role(w->p, i, k) & HPC_OUT &&
            w->p->value[i->operand[k]].kind == HPC_VALUE_TEMP)
            w->p->value[i->operand[k]].insn = (int32_t)g->insn_n;
    g->insn[g->insn_n++] = *i;
    return HPC_OK;
}

static int rewrite_segment(offloader *w, int s)
{
    hpc_segment *g = &w->p->segment[s];
    hpc_insn *old = g->insn;
    int64_t n = g->insn_n;
    bool needed = false;
    int rc = HPC_OK;
    for (int64_t k = 0; k < n; k++) needed = needed || uses_outside(w->p, &old[k]);
    if (!needed) return HPC_OK;
    g->insn = NULL;
    g->insn_n = g->insn_cap = 0;
    w->p->current = s;
    for (int64_t k = 0; k < n; k++)
        TRY(uses_outside(w->p, &old[k]) ? rewrite_insn(w, &old[k]) : keep_insn(w, s, &old[k]));
out:
    hpc_free(old);
    return rc;
}

/* Checks all instructions before the first is replaced. */
static int check_parts(const offloader *w)
{
    int64_t elements_all = 0, insns = 0, parts = 0, n;
    for (int s = 0; s < w->p->segment_n; s++)
        for (int64_t k = 0; k < w->p->segment[s].insn_n; k++) {
            const hpc_insn *i = &w->p->segment[s].insn[k];
            if (!uses_outside(w->p, i)) continue;
            int rc = check_insn(&n, w, i);
            if (rc < 0) return rc;
            insns++;
            elements_all += n;
            parts += (n + w->bucket - 1) / w->bucket;
        }
    if (parts <= PARTS_MOST) return HPC_OK;
    int64_t full = insns < PARTS_MOST ? PARTS_MOST - insns : 1; /* the others may be partial */
    return hpc_fail(HPC_E_SHAPE,
                    "offload: buckets of %lld elements divide the state into %lld parts, more than "
                    "%d: use buckets of at least %lld elements",
                    (long long)w->bucket, (long long)parts, PARTS_MOST,
                    (long long)((elements_all + full - 1) / full));
}

static int64_t largest_outside(const hpc_program *p)
{
    int64_t n = 1;
    for (hpc_value v = 0; v < p->value_n; v++)
        if (p->value[v].outside && elements(p, v) > n) n = elements(p, v);
    return n;
}

int hpc_offload(hpc_program *p, hpc_offload_options *o)
{
    offloader w = {.p = p, .o = o};
    int current = p->current, rc = HPC_OK;
    hpc_tags tags = p->tags;
    o->moved_bytes = 0;
    o->buffer_bytes = 0;
    for (int j = 0; j < BUFFERS; j++) w.buffer[j] = HPC_NONE;
    if (o->bucket < 1) TRY(hpc_fail(HPC_E_ARG, "offload: a bucket has at least one element"));
    w.bucket = largest_outside(p);
    if (o->bucket < w.bucket) w.bucket = o->bucket;
    TRY(check_parts(&w));
    for (int s = 0; s < p->segment_n; s++) TRY(rewrite_segment(&w, s));
    hpc_versions_count(p);
    TRY(hpc_program_check(p));
out:
    p->current = current;
    p->tags = tags;
    return rc;
}

/* ---- choosing -------------------------------------------------------------------------------- */

typedef enum use { UNUSED, ELEMENT_WISE, OTHERWISE } use;

static void note_uses(uint8_t *how, const hpc_program *p, const hpc_insn *i, bool here)
{
    int64_t n;
    use own = here && is_element_wise(&n, p, i) ? ELEMENT_WISE : OTHERWISE;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = i->operand[k], root = v < 0 ? v : hpc_value_root(p, v);
        if (root < 0 || how[root] == OTHERWISE) continue;
        how[root] = (uint8_t)(v == root ? own : OTHERWISE);
    }
}

int64_t hpc_offload_choose(hpc_program *p, int segment)
{
    int64_t bytes = 0;
    uint8_t *how = hpc_alloc((size_t)p->value_n + 1, sizeof *how);
    if (!how) return HPC_E_NOMEM;
    for (int s = 0; s < p->segment_n; s++)
        for (int64_t k = 0; k < p->segment[s].insn_n; k++)
            note_uses(how, p, &p->segment[s].insn[k], s == segment);
    for (hpc_value v = 0; v < p->value_n; v++) {
        hpc_value_info *info = &p->value[v];
        if (info->kind != HPC_VALUE_STATE || info->base >= 0 || how[v] != ELEMENT_WISE ||
            elements(p, v) == 1)
            continue;
        info->outside = true;
        bytes += (int64_t)hpc_type_bytes(&info->type);
    }
    hpc_free(how);
    return bytes;
}
