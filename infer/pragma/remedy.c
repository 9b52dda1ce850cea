/*
 * remedy.c: see remedy.h. A remedy is named only where nothing else prevents parallel execution.
 */
#include "infer/pragma/remedy.h"

#include <string.h>

#include "infer/pragma/cover.h"
#include "infer/pragma/disjoint.h"
#include "infer/pragma/own.h"
#include "infer/pragma/scalar.h"
#include "infer/pragma/split.h"
#include "infer/pragma/text.h"

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

/* ---- bounds ---- */

static const char *hoisted(walk *w)
{
    const char *reason = w->loop->head.reason;
    if (!reason || strcmp(reason, HEAD_BOUND_CHANGES) != 0 || !w->loop->head.limit) return NULL;
    return hpc_arena_text(w->answer->p->out,
                          "copy %s to a local variable before the loop, if it does not change",
                          node_text(w->answer->p, w->loop->head.limit));
}

/* ---- all ---- */

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
    const bool only = is_only_conflicts(a);
    if (!a->unsafe && !a->unknown) return disjoint_of(w);
    const char *out = own_of(w);
    if (out) return out;
    const split_edits e = split_of(w);
    out = e.hoist;
    if (!out && only) out = privatised(w);
    if (!out && !a->unsafe) return hoisted(w);
    if (!out && only && a->assumptions_n == 0 && !a->unknown) out = atomic(w);
    return out ? out : e.split;
}
