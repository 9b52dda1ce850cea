/*
 * review_scope.c: which variables the threads of a reviewed loop share, and how errors are
 * reported.
 */
#include "infer/pragma/review.h"

#include <string.h>

void review_wrong(review *r, hpc_existing what, int32_t node, const char *text, const char *name)
{
    if (r->synced || r->clauses.odd || r->clauses.threads == 1) {
        r->unproven = true;
        return;
    }
    if (r->wrong != HPC_EXISTING_NONE) return;
    r->wrong = what;
    r->why_line = node > 0 ? r->p->t->node[node].line : r->l->line;
    hpc_buf_printf(&r->why, text, name);
}

bool review_lists(const clause_list *l, const char *name)
{
    for (int k = 0; k < CLAUSE_KIND_N; k++)
        if (k != CLAUSE_SHARED && clause_of(l, k, name)) return true;
    return false;
}

/* "#pragma omp threadprivate(x)" anywhere in the file. */
static bool is_threadprivate(const review *r, const char *name)
{
    const hpc_token *t = r->d->tokens.item;
    size_t n = strlen(name);
    for (int64_t k = 0; k < r->d->loops.pragma_n; k++) {
        const hpc_pragma *p = &r->d->loops.pragma[k];
        bool is = false;
        if (p->words != HPC_OMP_OTHER) continue;
        for (uint32_t i = p->first; i < p->last; i++) {
            const char *word = r->d->text + t[i].at;
            is |= t[i].n == 13 && memcmp(word, "threadprivate", 13) == 0;
            if (is && t[i].n == n && memcmp(word, name, n) == 0) return true;
        }
    }
    return false;
}

/* Fortran: the variable of a loop within the region is private without a clause. */
static bool is_loop_variable(const review *r, int32_t symbol)
{
    const hpc_tree *t = r->p->t;
    const int32_t from = r->region > 0 ? r->region : r->l->node;
    for (int32_t i = from; i < t->node[from].end; i++) {
        if (t->node[i].kind != HPC_TREE_FOR) continue;
        const int32_t first = hpc_tree_first(t, i);
        if (first && t->node[first].kind == HPC_TREE_ASSIGN &&
            t->node[hpc_tree_first(t, first)].symbol == symbol)
            return true;
    }
    return false;
}

bool review_shares(const review *r, int32_t symbol)
{
    const hpc_symbol *v = &r->p->t->symbol[symbol];
    const char *name = r->p->t->name + v->name;
    bool local = (v->flags & HPC_SYMBOL_LOCAL) && !(v->flags & HPC_SYMBOL_STATIC);
    if (r->clauses.privates || is_threadprivate(r, name)) return false;
    const bool fortran = r->p->language == HPC_LANGUAGE_FORTRAN;
    if (fortran && is_loop_variable(r, symbol)) return false;
    if (r->binds) return true;
    /* Without a region in sight, an argument may be a variable of the thread that calls. */
    if (r->region == 0) return fortran ? (v->flags & HPC_SYMBOL_STATIC) != 0 : !local;
    if (local && v->node > r->region && v->node < r->p->t->node[r->region].end) return false;
    return !r->around.privates && !r->around.odd && !review_lists(&r->around, name);
}

bool review_under_condition(const review *r, int32_t node, bool rare)
{
    const hpc_tree *t = r->p->t;
    for (int32_t c = node, up = t->node[c].parent; up > r->l->node; c = up, up = t->node[up].parent)
    {
        uint8_t k = t->node[up].kind, op = t->node[up].op;
        bool under = (k == HPC_TREE_IF || k == HPC_TREE_CHOOSE || k == HPC_TREE_SWITCH ||
                      (k == HPC_TREE_BINARY && (op == HPC_OP_AND || op == HPC_OP_OR))) &&
                     hpc_tree_first(t, up) != c;
        if (!under) continue;
        if (!rare || k == HPC_TREE_SWITCH) return true;
        int32_t condition = hpc_tree_first(t, up);
        for (int32_t i = condition; i < t->node[condition].end; i++)
            if (t->node[i].op == HPC_OP_EQUAL || t->node[i].op == '!' ||
                t->node[i].kind == HPC_TREE_CALL)
                return true;
    }
    return false;
}

bool review_ops_differ(uint8_t a, uint8_t b)
{
    static const char numeric[] = {'+', '*', OP_MIN, OP_MAX};
    return a != b && memchr(numeric, a, sizeof numeric) && memchr(numeric, b, sizeof numeric);
}

bool review_is_head(const review *r, int32_t symbol)
{
    const hpc_tree *t = r->p->t;
    for (int k = 0; k < r->heads_n; k++)
        for (int32_t i = r->head[k] + 1; i < t->node[r->head[k]].end; i++) {
            bool assigns =
                t->node[i].kind == HPC_TREE_ASSIGN || t->node[i].kind == HPC_TREE_VARIABLE;
            if (!assigns) continue;
            int32_t c = hpc_tree_first(t, i);
            int32_t v = t->node[i].kind == HPC_TREE_VARIABLE ? t->node[i].symbol
                        : c                                  ? t->node[c].symbol
                                                             : -1;
            if (v == symbol) return true;
            break;
        }
    return false;
}
