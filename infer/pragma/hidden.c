/*
 * hidden.c: writes of a loop that a called function may read without an argument that leads there:
 * __attribute__((pure)) only promises that the function changes nothing.
 */
#include "infer/pragma/memory.h"
#include "infer/pragma/spell.h"

static const char *name_of(const walk *w)
{
    return symbol_name(w->t, w->t->node[w->loop->hidden].symbol);
}

/* A variable of the program, or one that a pointer may lead to. */
static bool is_reachable(const walk *w, int32_t v)
{
    const hpc_symbol *x = &w->t->symbol[v];
    const bool local = (x->flags & HPC_SYMBOL_LOCAL) && !(x->flags & HPC_SYMBOL_STATIC);
    return !local || w->loop->p->use[v].addressed || kind_of(w->t, x->type) == HPC_TYPE_REFERENCE;
}

/* True if a place may be one that a variable of the program leads to. */
static bool may_be_read(walk *w, const place *p)
{
    const atom *a = &w->prover->atoms[p->base];
    if (a->kind == ATOM_OBJECT && is_reachable(w, a->symbol)) return true;
    const place any = {.base = atom_opaque(w->prover, w->loop->hidden), .type = -1};
    return relate(w->loop->p, w->prover, p, &any) != RELATION_APART;
}

static void judge_variables(walk *w)
{
    for (int32_t k = 0; k < w->loop->slots_n; k++) {
        const slot *x = &w->loop->slots[k];
        if (!x->inside && is_reachable(w, x->symbol))
            answer_unknown(w->answer, "call", w->loop->hidden,
                           "%s may read %s, which the loop assigns", name_of(w),
                           symbol_name(w->t, x->symbol));
    }
}

static void assume_unread(walk *w, const access *a)
{
    hpc_buf of = {0}, text = {0};
    owner_text(&of, w, &a->place);
    if (of.data && !of.failed) hpc_buf_printf(&text, "%s does not read %s", name_of(w), of.data);
    if (text.data && !text.failed)
        answer_assume_form(w->answer, &(premise){.text = text.data, .limited = true});
    hpc_buf_release(&of);
    hpc_buf_release(&text);
}

void hidden_judge(walk *w)
{
    if (!w->loop->hidden) return;
    judge_variables(w);
    for (int64_t i = 0; i < w->loop->n; i++) {
        const access *a = &w->loop->item[i];
        if (!a->write || a->place.base < 0) continue; /* an unknown place has evidence of its own */
        prover_mark mark = prover_here(w->prover);
        if (may_be_read(w, &a->place)) assume_unread(w, a);
        prover_rewind(w->prover, mark);
    }
}
