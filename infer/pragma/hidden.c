/*
 * hidden.c: writes of a loop that a called function may read without an argument that leads there:
 * __attribute__((pure)) only promises that the function changes nothing.
 */
#include <string.h>

#include "infer/pragma/memory.h"
#include "infer/pragma/spell.h"

typedef struct reader { /* a call, and what its function may read */
    int32_t call, type; /* type: -1: any */
} reader;

static const char *name_of(const walk *w, const reader *r)
{
    return symbol_name(w->t, w->t->node[r->call].symbol);
}

/* A variable of the program, or one that a pointer may lead to. */
static bool is_reachable(const walk *w, int32_t v)
{
    const hpc_symbol *x = &w->t->symbol[v];
    const bool local = (x->flags & HPC_SYMBOL_LOCAL) && !(x->flags & HPC_SYMBOL_STATIC);
    return !local || w->loop->p->use[v].addressed || kind_of(w->t, x->type) == HPC_TYPE_REFERENCE;
}

/* True if a place may be one that a variable of the program leads to. */
static bool may_be_read(walk *w, const reader *r, const place *p)
{
    const atom *a = &w->prover->atoms[p->base];
    if (r->type < 0 && a->kind == ATOM_OBJECT && is_reachable(w, a->symbol)) return true;
    const place any = {.base = atom_opaque(w->prover, r->call), .type = r->type};
    return relate(w->loop->p, w->prover, p, &any) != RELATION_APART;
}

static void judge_variables(walk *w, const reader *r)
{
    for (int32_t k = 0; k < w->loop->slots_n; k++) {
        const slot *x = &w->loop->slots[k];
        if (x->inside || !is_reachable(w, x->symbol)) continue;
        const place mine = {.base = atom_object(w->prover, x->symbol),
                            .type = bare_type(w->t, w->t->symbol[x->symbol].type)};
        if (may_be_read(w, r, &mine))
            answer_unknown(w->answer, "call", r->call, "%s may read %s, which the loop assigns",
                           name_of(w, r), symbol_name(w->t, x->symbol));
    }
}

enum { UNREAD_MOST = 8 };
typedef struct unread { /* what the loop writes and the function must not read */
    const char *name[UNREAD_MOST];
    int n; /* UNREAD_MOST + 1: more */
} unread;

static void add_unread(unread *x, walk *w, const access *a)
{
    hpc_buf of = {0};
    owner_text(&of, w, &a->place);
    const char *name = of.data && !of.failed ? hpc_arena_text(w->loop->p->out, "%s", of.data) : "";
    if (!name) answer_fail(w->answer, HPC_E_NOMEM);
    hpc_buf_release(&of);
    for (int k = 0; name && k < x->n && k < UNREAD_MOST; k++)
        if (strcmp(x->name[k], name) == 0) return;
    if (name && x->n < UNREAD_MOST) x->name[x->n] = name;
    if (x->n <= UNREAD_MOST) x->n++;
}

/* "f does not read a, b and c" */
static void assume_unread(walk *w, const reader *r, const unread *x)
{
    hpc_buf text = {0};
    hpc_buf_printf(&text, "%s does not read ", name_of(w, r));
    for (int k = 0; k < x->n; k++)
        hpc_buf_printf(&text, "%s%s", k == 0 ? "" : k + 1 == x->n ? " and " : ", ", x->name[k]);
    if (text.data && !text.failed)
        answer_assume_form(w->answer, &(premise){.text = text.data, .limited = true});
    hpc_buf_release(&text);
}

static void judge_reader(walk *w, const reader *r)
{
    unread x = {0};
    judge_variables(w, r);
    for (int64_t i = 0; i < w->loop->n; i++) {
        const access *a = &w->loop->item[i];
        if (!a->write || a->place.base < 0) continue; /* an unknown place has evidence of its own */
        prover_mark mark = prover_here(w->prover);
        const bool may = may_be_read(w, r, &a->place);
        prover_rewind(w->prover, mark);
        if (may) add_unread(&x, w, a);
    }
    if (x.n > UNREAD_MOST)
        answer_unknown(w->answer, "call", r->call, "%s may read what the loop writes",
                       name_of(w, r));
    else if (x.n > 0)
        assume_unread(w, r, &x);
}

void hidden_judge(walk *w)
{
    const loop_facts *l = w->loop;
    for (int32_t k = 0; k < l->hidden_n && k < HIDDEN_MOST; k++) {
        const int32_t call = l->hidden[k];
        judge_reader(w, &(reader){call, effect_of(l->p, w->t->node[call].symbol)->hidden_type});
    }
    if (l->hidden_n > HIDDEN_MOST)
        answer_unknown(w->answer, "call", l->hidden[0],
                       "more than %d functions may read what the loop writes", HIDDEN_MOST);
}
