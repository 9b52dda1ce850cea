/*
 * gather.c: assumptions without a test, joined into few that a programmer can check: "x and the
 * rows of A->vals do not overlap y".
 */
#include <string.h>

#include "infer/pragma/answer.h"

enum { UNTESTED_MOST = 3, NAMES_MOST = 8, NAMES_STORED = 64 };

typedef struct names {
    const char *item[NAMES_STORED];
    int32_t n;
} names;

static bool has_name(const names *x, const char *name)
{
    for (int32_t k = 0; k < x->n; k++)
        if (strcmp(x->item[k], name) == 0) return true;
    return false;
}

static void names_add(names *x, const char *name)
{
    if (name && !has_name(x, name) && x->n < NAMES_STORED) x->item[x->n++] = name;
}

/* "a, b and c" */
static void names_text(hpc_buf *b, const names *x, const char *last)
{
    for (int32_t k = 0; k < x->n; k++)
        hpc_buf_printf(b, "%s%s", k == 0 ? "" : k + 1 == x->n ? last : ", ", x->item[k]);
}

typedef struct gathering {
    answer *a;
    premise *item; /* those of the answer that are not joined, then the joined ones */
    int64_t n;
    bool *done; /* by assumption of the answer: part of a joined one */
    int32_t groups, widest;
} gathering;

static bool is_open(const gathering *g, int64_t k, assume_form form)
{
    const premise *x = &g->a->assumption[k];
    return !g->done[k] && !x->check && x->form == form;
}

static void put(gathering *g, const hpc_buf *text, const premise *like, const char *code)
{
    premise x = *like;
    x.text = text->failed ? NULL : hpc_arena_text(g->a->p->out, "%s", text->data);
    x.code = code;
    if (!x.text) {
        answer_fail(g->a, HPC_E_NOMEM);
        return;
    }
    g->item[g->n++] = x;
    g->groups++;
}

/* Keeps an assumption unchanged. */
static void pass(gathering *g, int64_t k)
{
    g->done[k] = true;
    g->groups += !g->a->assumption[k].check;
    g->item[g->n++] = g->a->assumption[k];
}

/* ---- properties of one array ---- */

static void gather_single(gathering *g, assume_form form)
{
    static const char *const before[ASSUME_FORMS] = {[ASSUME_ROWS] = "the rows of each of ",
                                                     [ASSUME_DISTINCT] = "none of ",
                                                     [ASSUME_ELEMENTS] =
                                                         "different indices of each of "},
                             *const after[ASSUME_FORMS] = {
                                 [ASSUME_ROWS] = " do not overlap each other",
                                 [ASSUME_DISTINCT] = " has a repeated entry",
                                 [ASSUME_ELEMENTS] = " are different elements"};
    names all = {0};
    int64_t first = -1;
    for (int64_t k = 0; k < g->a->assumptions_n; k++) {
        if (!is_open(g, k, form)) continue;
        if (first < 0) first = k;
        names_add(&all, g->a->assumption[k].one);
    }
    if (first < 0) return;
    if (all.n > g->widest) g->widest = all.n;
    if (all.n == 1) {
        pass(g, first);
        return;
    }
    hpc_buf b = {0};
    hpc_buf_text(&b, before[form]);
    names_text(&b, &all, " and ");
    hpc_buf_text(&b, after[form]);
    put(g, &b, &g->a->assumption[first], NULL);
    for (int64_t k = 0; k < g->a->assumptions_n; k++)
        if (is_open(g, k, form)) g->done[k] = true;
    hpc_buf_release(&b);
}

/* ---- pairs of arrays ---- */

static bool is_side(const premise *x, const char *name)
{
    return strcmp(x->one, name) == 0 || strcmp(x->two, name) == 0;
}

static int64_t count_with(const gathering *g, assume_form form, const char *name)
{
    int64_t n = 0;
    for (int64_t k = 0; k < g->a->assumptions_n; k++)
        n += is_open(g, k, form) && is_side(&g->a->assumption[k], name);
    return n;
}

/* The array that most open pairs of a form name; NULL: there is no open pair. */
static const char *hub_of(const gathering *g, assume_form form)
{
    const char *best = NULL;
    int64_t most = 0;
    for (int64_t k = 0; k < g->a->assumptions_n; k++) {
        if (!is_open(g, k, form)) continue;
        const char *const side[] = {g->a->assumption[k].one, g->a->assumption[k].two};
        for (int i = 0; i < 2; i++) {
            int64_t n = count_with(g, form, side[i]);
            if (n > most) {
                most = n;
                best = side[i];
            }
        }
    }
    return best;
}

/* "x and z do not overlap y" */
static void gather_hub(gathering *g, assume_form form, const char *hub)
{
    names others = {0};
    int64_t first = -1;
    for (int64_t k = 0; k < g->a->assumptions_n; k++) {
        const premise *x = &g->a->assumption[k];
        if (!is_open(g, k, form) || !is_side(x, hub)) continue;
        if (first < 0) first = k;
        names_add(&others, strcmp(x->one, hub) == 0 ? x->two : x->one);
        g->done[k] = true;
    }
    if (others.n + 1 > g->widest) g->widest = others.n + 1;
    if (others.n == 1) {
        pass(g, first);
        return;
    }
    hpc_buf b = {0};
    names_text(&b, &others, " and ");
    hpc_buf_printf(
        &b, form == ASSUME_APART ? " do not overlap %s" : " do not overlap %s, or are equal", hub);
    put(g, &b, &g->a->assumption[first], NULL);
    hpc_buf_release(&b);
}

static int32_t count_hubs(gathering *g, assume_form form)
{
    int32_t n = 0;
    gathering trial = *g;
    bool *done = hpc_alloc((size_t)g->a->assumptions_n + 1, sizeof *done);
    if (!done) {
        answer_fail(g->a, HPC_E_NOMEM);
        return 0;
    }
    memcpy(done, g->done, (size_t)g->a->assumptions_n * sizeof *done);
    trial.done = done;
    for (const char *hub; (hub = hub_of(&trial, form)) != NULL; n++)
        for (int64_t k = 0; k < g->a->assumptions_n; k++)
            if (is_open(&trial, k, form) && is_side(&g->a->assumption[k], hub)) done[k] = true;
    hpc_free(done);
    return n;
}

/* "no two of x, y and z overlap" */
static void gather_all_pairs(gathering *g)
{
    names all = {0};
    int64_t first = -1;
    for (int64_t k = 0; k < g->a->assumptions_n; k++) {
        const premise *x = &g->a->assumption[k];
        if (!is_open(g, k, ASSUME_APART) && !is_open(g, k, ASSUME_APART_OR_EQUAL)) continue;
        if (first < 0) first = k;
        names_add(&all, x->one);
        names_add(&all, x->two);
        g->done[k] = true;
    }
    hpc_buf b = {0};
    if (all.n > g->widest) g->widest = all.n;
    hpc_buf_text(&b, "no two of ");
    names_text(&b, &all, " and ");
    hpc_buf_text(&b, " overlap");
    put(g, &b, &g->a->assumption[first], NULL);
    hpc_buf_release(&b);
}

static void gather_pairs(gathering *g)
{
    static const assume_form forms[] = {ASSUME_APART, ASSUME_APART_OR_EQUAL};
    int32_t hubs = count_hubs(g, ASSUME_APART) + count_hubs(g, ASSUME_APART_OR_EQUAL);
    if (hubs > 1 && g->groups + hubs > UNTESTED_MOST) {
        gather_all_pairs(g);
        return;
    }
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (const char *hub; (hub = hub_of(g, forms[f])) != NULL;) gather_hub(g, forms[f], hub);
}

void answer_gather(answer *a, int32_t loop)
{
    gathering g = {.a = a};
    bool limited = false;
    if (a->assumptions_n == 0) return;
    g.item = hpc_alloc((size_t)a->assumptions_n, sizeof *g.item);
    g.done = hpc_alloc((size_t)a->assumptions_n, sizeof *g.done);
    if (!g.item || !g.done) {
        answer_fail(a, HPC_E_NOMEM);
        goto out;
    }
    for (int64_t k = 0; k < a->assumptions_n; k++) {
        limited |= a->assumption[k].limited;
        if (a->assumption[k].check || a->assumption[k].form == ASSUME_OTHER) pass(&g, k);
    }
    gather_single(&g, ASSUME_ROWS);
    gather_single(&g, ASSUME_DISTINCT);
    gather_single(&g, ASSUME_ELEMENTS);
    gather_pairs(&g);
    if (limited && (g.groups > UNTESTED_MOST || g.widest > NAMES_MOST))
        answer_unknown(a, "alias", loop, "it depends on too many assumptions that have no test");
    memcpy(a->assumption, g.item, (size_t)g.n * sizeof *g.item);
    a->assumptions_n = g.n;
out:
    hpc_free(g.item);
    hpc_free(g.done);
}
