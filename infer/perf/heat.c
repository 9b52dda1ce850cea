/*
 * heat.c: how much of the time is in what a change touches.
 *
 * Functions are known by the last of their names: a profile has "ns::A::f(int)", a file "A::f".
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/perf/learn_priv.h"
#include "infer/perf/sums.h"

enum { CALLS_UP = 3 };

typedef struct hot {
    uint32_t hash; /* of the last name */
    double share;
} hot;
typedef struct heat {
    hot *item; /* by hash, each once */
    int64_t n;
} heat;

/* ---- names ---------------------------------------------------------------------------------- */

static bool is_name(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* Arguments, templates' and what the compiler appends are not of it. */
static uint32_t last_name(const char *text)
{
    size_t end = 0, from;
    int depth = 0;
    size_t best = 0, best_n = 0;
    for (from = 0; text[from] && !(depth == 0 && text[from] == '('); from = end) {
        end = from + 1;
        if (text[from] == '<') depth++;
        if (text[from] == '>' && depth > 0) depth--;
        if (text[from] == '.' || text[from] == '\'') break; /* f.part.0, f'2 */
        if (!is_name(text[from])) continue;
        while (is_name(text[end])) end++;
        if (depth == 0) best = from, best_n = end - from;
    }
    return hpc_token_hash(text + best, best_n);
}

static int by_hash(const void *a, const void *b)
{
    const hot *x = a, *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

static int open_heat(heat *h, const hpc_perf_hot *given, int64_t n)
{
    h->item = hpc_alloc((size_t)n + 1, sizeof *h->item);
    if (!h->item) return HPC_E_NOMEM;
    for (int64_t k = 0; k < n; k++) h->item[k] = (hot){last_name(given[k].name), given[k].share};
    qsort(h->item, (size_t)n, sizeof *h->item, by_hash);
    for (int64_t k = 0; k < n; k++) {
        if (h->n > 0 && h->item[h->n - 1].hash == h->item[k].hash)
            h->item[h->n - 1].share += h->item[k].share;
        else
            h->item[h->n++] = h->item[k];
    }
    return HPC_OK;
}

static double own_share(const heat *h, uint32_t hash)
{
    hot key = {.hash = hash};
    const hot *found = bsearch(&key, h->item, (size_t)h->n, sizeof key, by_hash);
    return found ? found->share : 0;
}

/* ---- functions of a file ----------------------------------------------------------------------
 */

static uint32_t name_of(const hpc_perf_source *s, int64_t function)
{
    const hpc_function *d = &s->f.item[function];
    uint32_t hash = 0;
    for (int64_t i = hpc_token_at(&s->t, d->name_at);
         i < s->t.n && s->t.item[i].at < d->name_at + d->name_n; i++)
        if (s->t.item[i].kind == HPC_TOKEN_NAME) hash = s->t.item[i].hash;
    return hash;
}

static bool calls(const hpc_perf_source *s, int64_t function, uint32_t name)
{
    const hpc_function *d = &s->f.item[function];
    for (int64_t i = hpc_token_at(&s->t, d->body_at); i < s->t.n && s->t.item[i].at < d->end; i++)
        if (s->t.item[i].hash == name && s->t.item[i].kind == HPC_TOKEN_NAME) return true;
    return false;
}

static double share_of_file(const heat *h, const hpc_perf_source *s)
{
    double sum = 0;
    for (int64_t k = 0; k < s->f.n; k++) sum += own_share(h, name_of(s, k));
    return fmin(sum, 1);
}

/* Its own, or its hottest caller's. */
static double share_of(const heat *h, const hpc_perf_source *s, int64_t function, int up)
{
    uint32_t name = name_of(s, function);
    double best = own_share(h, name);
    if (best > 0 || up == 0 || (up == CALLS_UP && share_of_file(h, s) == 0)) return best;
    for (int64_t k = 0; k < s->f.n; k++) {
        if (k == function || !calls(s, k, name)) continue;
        best = fmax(best, share_of(h, s, k, up - 1));
    }
    return best;
}

/* ---- what changed -----------------------------------------------------------------------------
 */

static bool is_header(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (dot[1] == 'h' || dot[1] == 'H');
}

enum { KNOWN, SHARE, AROUND, COST, HEATS };
static int feature_of(int which)
{
    static const char *const names[HEATS] = {"heat_known", "heat", "heat_around", "heat_cost"};
    return hpc_perf_feature_named(names[which]);
}

static void note(hpc_perf_vector *v, double share, double around, double cost)
{
    v->value[feature_of(KNOWN)] = 1;
    v->value[feature_of(SHARE)] = log2(1 + 1000 * fmin(share, 1));
    v->value[feature_of(AROUND)] = log2(1 + 1000 * fmin(around, 1));
    v->value[feature_of(COST)] = cost;
}

bool hpc_perf_heat_known(const hpc_perf_vector *x)
{
    return x->value[feature_of(KNOWN)] > 0;
}

void hpc_perf_heat_forget(hpc_perf_vector *x)
{
    for (int k = 0; k < HEATS; k++) x->value[feature_of(k)] = 0;
}

int hpc_perf_heat_find(hpc_perf_features *f, const hpc_perf_change *c, const hpc_perf_hot *given,
                       int64_t n)
{
    heat h = {0};
    double all = 0, all_around = 0, all_cost = 0;
    int rc = HPC_OK;
    hpc_perf_heat_forget(&f->commit);
    for (int64_t k = 0; k < f->n; k++) hpc_perf_heat_forget(&f->function[k]);
    if (!given) return rc;
    TRY(open_heat(&h, given, n));
    for (int64_t k = 0; k < f->n; k++) {
        const hpc_perf_function *p = &c->function[k];
        const hpc_perf_side *side = p->base.source ? &p->base : &p->head;
        const char *path = c->names.data + c->file[p->file].path;
        double share = 0, around = 0;
        if (!side->source || p->same_code) {
            note(&f->function[k], 0, 0, 0);
            continue;
        }
        if (side->function >= 0)
            share = share_of(&h, side->source, side->function, CALLS_UP);
        else
            around = is_header(path) ? 1 : share_of_file(&h, side->source);
        double cost = 10 * fmax(share, around) * perf_code_cost(&f->function[k]);
        note(&f->function[k], share, around, cost);
        all += share;
        all_around = fmax(all_around, around);
        all_cost += cost;
    }
    note(&f->commit, all, all_around, all_cost);
out:
    hpc_free(h.item);
    return rc;
}
