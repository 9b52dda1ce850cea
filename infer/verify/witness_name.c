/*
 * witness_name.c: finds the program's name of the memory that two iterations access, and whether a
 * directive guards the lines that access it.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "infer/verify/witness_priv.h"

enum { CRITICAL_LINES = 12 };

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Where a line of our file begins, from 1; *stop: where it ends. */
static const char *line_at(const witness_state *z, uint32_t line, const char **stop)
{
    const char *at = z->f->text, *end = at + z->f->n;
    for (uint32_t k = 1; k < line && at < end; k++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next ? next + 1 : end;
    }
    *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : end;
    if (!*stop) *stop = end;
    return at;
}

bool witness_guarded(const witness_state *z, const witness_place *p)
{
    if (p->file) return false;
    for (uint32_t back = 1; back <= CRITICAL_LINES && back < p->line; back++) {
        const char *stop, *at = line_at(z, p->line - back, &stop);
        size_t n = (size_t)(stop - at);
        if (back <= 2 && memmem(at, n, "omp atomic", 10)) return true;
        if (memmem(at, n, "omp critical", 12)) return true;
        if (n && at[0] == '}') return false; /* another function */
    }
    return false;
}

static bool line_names(const witness_state *z, const witness_place *p, const char *name)
{
    if (p->file || p->line == 0) return false;
    const char *end = z->f->text + z->f->n, *stop, *at = line_at(z, p->line, &stop);
    size_t n = strlen(name);
    const bool any_case = z->f->language == HPC_LANGUAGE_FORTRAN;
    for (; (size_t)(stop - at) >= n && at < stop; at++)
        if ((any_case ? strncasecmp : strncmp)(at, name, n) == 0 &&
            (at == z->f->text || !is_word(at[-1])) && (at + n == end || !is_word(at[n])))
            return true;
    return false;
}

/* How well a name fits an address; 0: not at all. */
static int fitness(const witness_state *z, const witness_finding *f, const witness_candidate *c)
{
    const witness_name *n = &z->w.item[f->loop].name[c->name];
    bool named = line_names(z, &f->place[0], n->text) || line_names(z, &f->place[1], n->text);
    bool whole = c->element == 0, inside = c->offset >= 0;
    if (whole) return named ? 6 : 4;
    if (named) return inside ? 5 : 3;
    return inside && c->offset < 1 << 26 ? 2 : 0;
}

/* "a[3]", "m[2][5]", "s": from the type of what begins there. */
static const char *element_of(witness_state *z, const witness_finding *f,
                              const witness_candidate *c)
{
    const witness_name *n = &z->w.item[f->loop].name[c->name];
    const hpc_tree *t = z->f->tree;
    const char *text = n->text;
    if (c->subscripts) return hpc_arena_text(z->s.arena, "%s(%s)", text, c->subscripts);
    long long rest = c->offset;
    int32_t type = n->type;
    if (c->element > 0) {
        long long k = rest >= 0 ? rest / c->element : -((c->element - 1 - rest) / c->element);
        text = hpc_arena_text(z->s.arena, "%s[%lld]", text, k);
        rest -= k * c->element;
    }
    while (text && type >= 0 && t->type[type].kind == HPC_TYPE_ARRAY && t->type[type].to >= 0) {
        long long each = t->type[t->type[type].to].bytes;
        if (each <= 0) break;
        text = hpc_arena_text(z->s.arena, "%s[%lld]", text, rest / each);
        rest %= each;
        type = t->type[type].to;
    }
    return text ? text : "memory";
}

static bool is_callee(const hpc_tree *t, int32_t i)
{
    return t->node[t->node[i].parent].kind == HPC_TREE_CALL && t->node[i].parent == i - 1;
}

static bool in_head(const hpc_tree *t, int32_t i)
{
    int32_t in = i;
    for (int32_t p = t->node[i].parent; p > 0; in = p, p = t->node[p].parent)
        if (t->node[p].kind == HPC_TREE_FOR) return in != hpc_tree_child(t, p, 3);
    return false;
}

/* What stands on the line: the left side of an assignment, or an element that is read. */
static const char *expression_on(witness_state *z, const witness_finding *f)
{
    const hpc_tree *t = z->f->tree;
    for (int p = 0; p < 2; p++) {
        bool writes = f->kind == 'o' || (f->kind == 'f') == (p == 0);
        if (f->place[p].file) continue;
        for (int32_t i = 1; i < t->n; i++) {
            const hpc_tree_node *d = &t->node[i];
            bool element = d->kind == HPC_TREE_INDEX ||
                           (d->kind == HPC_TREE_MEMBER && !is_callee(t, i)) ||
                           (d->kind == HPC_TREE_UNARY && d->op == '*') ||
                           (d->kind == HPC_TREE_CALL && (d->flags & HPC_TREE_OPERATOR) &&
                            d->to > d->at && z->f->text[d->to - 1] == ']');
            if (in_head(t, i) || d->line != f->place[p].line || !element || d->to <= d->at ||
                d->to - d->at > 60)
                continue;
            bool left = t->node[d->parent].kind == HPC_TREE_ASSIGN && d->parent == i - 1;
            if (left == writes)
                return hpc_arena_text(z->s.arena, "%.*s", (int)(d->to - d->at), z->f->text + d->at);
        }
    }
    return "the same memory";
}

const witness_candidate *witness_name_of(const witness_state *z, const witness_finding *f)
{
    const witness_candidate *best = NULL;
    int fits = 0;
    for (int k = 0; k < f->names_n; k++) {
        const witness_candidate *c = &f->name[k];
        int how = fitness(z, f, c);
        bool nearer = best && how == fits && llabs(c->offset) < llabs(best->offset);
        if (how > fits || nearer) {
            best = c;
            fits = how;
        }
    }
    return best;
}

const char *witness_object(witness_state *z, const witness_finding *f, bool *scalar)
{
    const witness_candidate *best = witness_name_of(z, f);
    *scalar = false;
    if (!best) return expression_on(z, f);
    int32_t type = z->w.item[f->loop].name[best->name].type;
    *scalar = best->element == 0 && (type < 0 || z->f->tree->type[type].kind != HPC_TYPE_ARRAY);
    if (z->f->language == HPC_LANGUAGE_FORTRAN && best->element > 0 && !best->subscripts)
        return expression_on(z, f);
    return element_of(z, f, best);
}
