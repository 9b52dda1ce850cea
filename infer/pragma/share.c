/*
 * share.c: for default(none): the variables of a loop that no other clause names, which all threads
 * share. Static members are none of them: OpenMP lets no clause name these.
 */
#include <string.h>

#include "infer/pragma/existing.h"

/* Whether a list like "a, b:2, h[:n]" has a variable. */
static bool is_listed(const hpc_buf *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = names->data; p && names->n > 0;) {
        if (strncmp(p, name, n) == 0 && (p[n] == '\0' || strchr(",:[", p[n])) &&
            !(p[n] == ':' && p[n + 1] == ':'))
            return true;
        p = strstr(p, ", ");
        if (p) p += 2;
    }
    return false;
}

static bool is_named(const clauses *c, const char *name)
{
    const hpc_buf *lists[] = {&c->privates, &c->last, &c->conditional, &c->linear};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        if (is_listed(lists[k], name)) return true;
    for (int k = 0; k < c->n; k++)
        if (is_listed(&c->reduction[k].names, name)) return true;
    return false;
}

void share_rest(study *s)
{
    clauses *c = &s->answer->clauses;
    const hpc_tree *t = s->t;
    for (int32_t i = s->loop; i < t->node[s->loop].end; i++) {
        int32_t v = t->node[i].kind == HPC_TREE_NAME ? t->node[i].symbol : -1;
        if (v < 0 || v == s->head.symbol || is_inside(s, v)) continue;
        const hpc_symbol *x = &t->symbol[v];
        if (x->kind != HPC_SYMBOL_VARIABLE && x->kind != HPC_SYMBOL_PARAMETER) continue;
        if (x->node > s->loop && x->node < t->node[s->loop].end) continue;
        bool member = (x->flags & HPC_SYMBOL_STATIC) && t->name[x->scope] != '\0';
        if (member || (x->flags & HPC_SYMBOL_THREAD)) continue;
        const char *name = name_in_clause(s, v);
        if (!is_named(c, name)) clauses_add(&c->shared, name);
    }
}
