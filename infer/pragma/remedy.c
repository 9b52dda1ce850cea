/*
 * remedy.c: see remedy.h. A remedy is named only where nothing else prevents parallel execution.
 */
#include "infer/pragma/remedy.h"

#include <string.h>

#include "infer/pragma/cover.h"
#include "infer/pragma/scalar.h"
#include "infer/pragma/text.h"

enum { NAMES_MOST = 4 };

/* ---- conflicts ---- */

/* The child of the body that a node is part of; 0: it is the body itself. */
static int32_t statement_of(const walk *w, int32_t node)
{
    const int32_t body = w->loop->head.body;
    while (node > body && w->t->node[node].parent != body) node = w->t->node[node].parent;
    return node > body ? node : 0;
}

/* 1: the location that `a` accesses is that of `b` in a later iteration; -1: in an earlier one;
 * 0: not known. */
static int direction(walk *w, const access *a, const access *b)
{
    prover *pr = w->prover;
    for (int32_t k = 0; k < a->place.n && k < b->place.n; k++) {
        const poly *x = a->place.step[k].index, *y = b->place.step[k].index, *fx, *fy, *rx, *ry;
        int64_t by, factor;
        if (!x || !y || !poly_split(pr, x, w->loop->iteration, &fx, &rx) ||
            !poly_split(pr, y, w->loop->iteration, &fy, &ry))
            continue;
        if (!poly_is_number(fx, &factor) || factor == 0 || !poly_equal(fx, fy) ||
            !poly_differ_by(rx, ry, &by) || by == 0)
            continue;
        return (by > 0) == (factor > 0) ? 1 : -1;
    }
    return 0;
}

static void note_base(conflicts *c, int32_t base, int32_t other)
{
    for (int k = 0; k < c->bases_n; k++)
        if (c->base[k] == base && base == other) return;
    if (base < 0 || base != other || c->bases_n == CONFLICT_BASES)
        c->elsewhere = true;
    else
        c->base[c->bases_n++] = base;
}

void remedy_note(walk *w, const access *write, const access *other, bool sure, bool fresh)
{
    conflicts *c = &w->answer->conflicts;
    c->n += fresh;
    note_base(c, write->place.base, other->place.base);
    if (!sure && write->update && write->update == other->update)
        c->update = write->node;
    else
        c->plain = true;
    if (!sure || write->node == other->node || other->write) return;
    c->write = write->node;
    c->read = other->node;
    c->later = direction(w, write, other);
}

/* ---- split ---- */

/* True if a part of the body reads a variable that an earlier part assigns. */
static bool passes_value(const walk *w, int32_t from, int32_t to)
{
    for (int32_t i = from; i < to; i++) {
        const int32_t v = w->t->node[i].kind == HPC_TREE_NAME ? w->t->node[i].symbol : -1;
        if (v >= 0 && v != w->loop->head.symbol &&
            (slot_index(w->loop, v) >= 0 || is_inside(w->loop, v)))
            return true;
    }
    return false;
}

/* One part of the body passes values to another one that follows it: two loops are independent. */
static const char *split(walk *w)
{
    const conflicts *c = &w->answer->conflicts;
    const hpc_tree *t = w->t;
    if (c->n != 1 || c->update || !c->write || !c->later) return NULL;
    const int32_t write = statement_of(w, c->write), read = statement_of(w, c->read);
    const int32_t first = c->later > 0 ? write : read, second = c->later > 0 ? read : write;
    if (t->node[w->loop->head.body].kind != HPC_TREE_BLOCK || !first || first >= second)
        return NULL;
    const int32_t end = t->node[first].end;
    if (passes_value(w, end, t->node[w->loop->head.body].end)) return NULL;
    return hpc_arena_text(w->answer->p->out,
                          "split the loop after line %u: each of the two loops is parallel",
                          t->node[end - 1].line);
}

/* ---- scratch memory ---- */

/* "ue": an array or a record; "p->work": memory that a pointer leads to. False: it has no name. */
static bool put_base(hpc_buf *b, walk *w, int32_t base)
{
    const atom *x = &w->prover->atoms[base];
    if (x->varies || (x->kind != ATOM_OBJECT && x->kind != ATOM_SYMBOL && x->kind != ATOM_LOAD))
        return false;
    atom_text(b, w->prover, w->answer->p, base);
    return true;
}

/* A call, or an argument of one. */
static bool is_of_call(const hpc_tree *t, int32_t node)
{
    return t->node[node].kind == HPC_TREE_CALL ||
           t->node[t->node[node].parent].kind == HPC_TREE_CALL;
}

/* Some iteration reads it, and only the loop's own statements access it: a call that receives the
 * memory may assign only a part. */
static bool is_scratch(const walk *w, int32_t base)
{
    bool read = false;
    for (int64_t i = 0; i < w->loop->n; i++) {
        const access *a = &w->loop->item[i];
        if (a->place.base != base) continue;
        if (is_of_call(w->t, a->node)) return false;
        read |= !a->write;
    }
    return read && assigns_first(w->loop, w->prover, base);
}

static bool may_be_read_later(const walk *w, int32_t base)
{
    const atom *x = &w->prover->atoms[base];
    return x->kind != ATOM_OBJECT || is_live(w->loop, x->symbol);
}

/* All conflicts are in memory that each iteration assigns before it reads it. */
static const char *privatised(walk *w)
{
    const conflicts *c = &w->answer->conflicts;
    hpc_buf b = {0};
    bool later = false, ok = c->bases_n > 0 && !c->elsewhere;
    hpc_buf_text(&b, "privatise ");
    for (int k = 0; k < c->bases_n && ok; k++) {
        hpc_buf_text(&b, k == 0 ? "" : k + 1 == c->bases_n ? " and " : ", ");
        ok = put_base(&b, w, c->base[k]) && is_scratch(w, c->base[k]);
        later |= ok && may_be_read_later(w, c->base[k]);
    }
    hpc_buf_printf(&b, ": each iteration assigns %s before it reads %s%s",
                   c->bases_n == 1 ? "it" : "them", c->bases_n == 1 ? "it" : "them",
                   later ? ", unless the values are needed after the loop" : "");
    const char *out = ok && !b.failed ? hpc_arena_text(w->answer->p->out, "%s", b.data) : NULL;
    hpc_buf_release(&b);
    return out;
}

/* ---- updates through an index from memory ---- */

static const char *atomic(walk *w)
{
    const conflicts *c = &w->answer->conflicts;
    const bool fortran = w->answer->p->language == HPC_LANGUAGE_FORTRAN;
    if (!c->update || c->plain) return NULL;
    return hpc_arena_text(w->answer->p->out,
                          "put %s omp atomic before the update in line %u: then only the order of "
                          "the sums differs",
                          fortran ? "!$" : "#pragma", w->t->node[c->update].line);
}

/* ---- aliases ---- */

typedef struct names {
    const char *item[NAMES_MOST];
    int n;
    bool full, members; /* a name is a part of an object */
} names;

static void add_name(names *x, const char *name)
{
    for (int k = 0; k < x->n; k++)
        if (strcmp(x->item[k], name) == 0) return;
    x->full |= x->n == NAMES_MOST;
    x->members |= strpbrk(name, ".-[*(%") != NULL;
    if (x->n < NAMES_MOST) x->item[x->n++] = name;
}

static void put_names(hpc_buf *b, const names *x)
{
    for (int k = 0; k < x->n; k++)
        hpc_buf_printf(b, "%s%s", k == 0 ? "" : k + 1 == x->n ? " and " : ", ", x->item[k]);
}

/* All assumptions say that two arrays do not overlap. */
static bool find_names(names *x, const answer *a)
{
    for (int64_t k = 0; k < a->assumptions_n; k++) {
        const premise *p = &a->assumption[k];
        const bool apart = p->form == ASSUME_APART || p->form == ASSUME_APART_OR_EQUAL;
        if (!apart || !p->one || !p->two) return false;
        add_name(x, p->one);
        add_name(x, p->two);
    }
    return x->n > 1 && !x->full;
}

static const char *restricted(walk *w)
{
    names x = {0};
    hpc_buf b = {0};
    if (w->answer->unknown || !find_names(&x, w->answer)) return NULL;
    if (w->answer->p->language == HPC_LANGUAGE_FORTRAN)
        hpc_buf_text(&b, "without POINTER and TARGET, Fortran excludes an overlap of ");
    else if (x.members)
        hpc_buf_text(&b, "load into local pointers with restrict before the loop: ");
    else
        hpc_buf_text(&b, "restrict in the declarations excludes an overlap of ");
    put_names(&b, &x);
    const char *out = b.failed ? NULL : hpc_arena_text(w->answer->p->out, "%s", b.data);
    hpc_buf_release(&b);
    return out;
}

/* ---- bounds ---- */

static const char *hoisted(walk *w)
{
    const char *reason = w->loop->head.reason;
    if (!reason || strcmp(reason, HEAD_BOUND_CHANGES) != 0 || !w->loop->head.limit) return NULL;
    return hpc_arena_text(w->answer->p->out,
                          "copy %s to a local variable before the loop, if it does not change",
                          node_text(w->answer->p, w->loop->head.limit));
}

/* ---- output ---- */

/* The only reasons are calls that write: at the line of the first. */
static const char *printed(walk *w)
{
    const answer *a = w->answer;
    uint32_t line = 0;
    for (int64_t k = 0; k < a->evidence_n; k++) {
        const hpc_evidence *e = &a->evidence[k];
        if (e->alone == HPC_VERDICT_PARALLEL) continue;
        if (e->alone == HPC_VERDICT_UNKNOWN || !strstr(e->text, ANSWER_IN_ORDER)) return NULL;
        if (line == 0) line = e->line;
    }
    if (line == 0) return NULL;
    return hpc_arena_text(a->p->out, "move the input or output of line %u into a loop of its own",
                          line);
}

/* Reasons against parallel execution. */
static int64_t obstacles(const answer *a)
{
    int64_t n = 0;
    for (int64_t k = 0; k < a->evidence_n; k++) n += a->evidence[k].alone != HPC_VERDICT_PARALLEL;
    return n;
}

/* The conflicts of accesses are the only obstacles, and all are known. */
static bool is_only_conflicts(const answer *a)
{
    return a->conflicts.n > 0 && !a->conflicts.cut && obstacles(a) == a->conflicts.n;
}

const char *remedy_of(walk *w)
{
    const answer *a = w->answer;
    const char *out = NULL;
    if (is_only_conflicts(a)) out = privatised(w);
    if (out) return out;
    if (!a->unsafe) return a->unknown ? hoisted(w) : restricted(w);
    if (is_only_conflicts(a) && a->assumptions_n == 0 && !a->unknown) {
        out = split(w);
        if (!out) out = atomic(w);
    }
    return out ? out : printed(w);
}
