/*
 * Opinion of a language model about commits: selection of changed functions, token budgets, and
 * the weighted mean over the functions of a commit. classifier.h is the interface to the model.
 */
#include "infer/perf/language.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_TOKENS = 64 }; /* a longer function cut to fewer tokens is not worth reading */

typedef struct token_range { /* both sequences of a function, in the pool */
    int64_t at, base_n, n;   /* n: tokens of both */
    uint64_t hash;
} token_range;
typedef struct commit_range {
    int64_t first, n; /* opinions */
    int64_t left_out; /* functions beyond the limits of the commit */
} commit_range;
typedef struct candidate {
    int64_t function, weight;
} candidate;

struct hpc_perf_language {
    hpc_perf_language_limits limits;
    hpc_perf_classifier classifier;
    commit_range *commit;
    int64_t commits_n, commits_cap;
    hpc_perf_language_opinion *opinion;
    token_range *tokens; /* of each opinion */
    int64_t opinions_n, opinions_cap, tokens_cap;
    int32_t *pool;
    int64_t pool_n, pool_cap;
};

int hpc_perf_language_open(hpc_perf_language **out, const hpc_perf_classifier *classifier,
                           const hpc_perf_language_limits *limits)
{
    static const hpc_perf_language_limits defaults = HPC_PERF_LANGUAGE_LIMITS_DEFAULTS;
    hpc_perf_language *l = hpc_alloc(1, sizeof *l);
    *out = l;
    if (!l) return HPC_E_NOMEM;
    l->classifier = *classifier;
    l->limits = limits ? *limits : defaults;
    if (l->limits.length > classifier->length) l->limits.length = classifier->length;
    if (l->limits.length < 2) l->limits.length = 2;
    return HPC_OK;
}

void hpc_perf_language_close(hpc_perf_language *l)
{
    if (!l) return;
    l->classifier.close(l->classifier.self);
    hpc_free(l->commit);
    hpc_free(l->opinion);
    hpc_free(l->tokens);
    hpc_free(l->pool);
    hpc_free(l);
}

void hpc_perf_language_clear(hpc_perf_language *l)
{
    l->commits_n = l->opinions_n = l->pool_n = 0;
}

/* ---- functions of a commit ------------------------------------------------------------------- */

static bool differs(const hpc_perf_change *c, const hpc_perf_function *f)
{
    bool inside =
        (f->base.source && f->base.function >= 0) || (f->head.source && f->head.function >= 0);
    return inside && !f->same_code && c->file[f->file].kind == HPC_PERF_SOURCE;
}

static int compare_weights(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return (x->function > y->function) - (x->function < y->function);
}

/* Sorted by falling weight; the caller frees *out. */
static int find_candidates(candidate **out, int64_t *n, const hpc_perf_change *c)
{
    *n = 0;
    *out = hpc_alloc((size_t)c->n + 1, sizeof **out);
    if (!*out) return HPC_E_NOMEM;
    for (int64_t k = 0; k < c->n; k++) {
        const hpc_perf_function *f = &c->function[k];
        int64_t lines = f->lines_added + f->lines_removed;
        if (differs(c, f))
            (*out)[(*n)++] = (candidate){.function = k, .weight = lines > 0 ? lines : 1};
    }
    if (*n > 1) qsort(*out, (size_t)*n, sizeof **out, compare_weights);
    return HPC_OK;
}

static const char *text_of(size_t *n, const hpc_perf_side *s)
{
    *n = s->source ? s->end - s->at : 0;
    return s->source ? s->source->text.data + s->at : "";
}

/* Encodes the function in at most `most` tokens, as the next opinion. */
static int add_function(hpc_perf_language *l, const hpc_perf_change *c, const candidate *from,
                        int64_t most)
{
    const hpc_perf_function *f = &c->function[from->function];
    const hpc_perf_classifier *m = &l->classifier;
    hpc_perf_texts text = {.path = c->names.data + c->file[f->file].path};
    token_range t = {.at = l->pool_n};
    int rc = HPC_OK;
    text.base = text_of(&text.base_n, &f->base);
    text.head = text_of(&text.head_n, &f->head);
    TRY(hpc_grow(&l->pool, &l->pool_cap, l->pool_n + most, sizeof *l->pool));
    TRY(hpc_grow(&l->opinion, &l->opinions_cap, l->opinions_n + 1, sizeof *l->opinion));
    TRY(hpc_grow(&l->tokens, &l->tokens_cap, l->opinions_n + 1, sizeof *l->tokens));
    TRY(m->encode(&t.base_n, &t.n, l->pool + t.at, m->self, &text, most));
    t.hash = hpc_hash(l->pool + t.at, (size_t)t.n * sizeof *l->pool, (uint64_t)t.base_n);
    l->tokens[l->opinions_n] = t;
    l->opinion[l->opinions_n++] =
        (hpc_perf_language_opinion){.function = from->function, .weight = from->weight};
    l->pool_n += t.n;
out:
    return rc;
}

int hpc_perf_language_add(hpc_perf_language *l, const hpc_perf_change *c)
{
    commit_range commit = {.first = l->opinions_n};
    candidate *list = NULL;
    int64_t n, left = l->limits.tokens, first = l->opinions_n, pool = l->pool_n;
    int rc;
    TRY(find_candidates(&list, &n, c));
    TRY(hpc_grow(&l->commit, &l->commits_cap, l->commits_n + 1, sizeof *l->commit));
    for (int64_t k = 0; k < n && commit.n < l->limits.functions && left >= LEAST_TOKENS; k++) {
        TRY(add_function(l, c, &list[k], left < l->limits.length ? left : l->limits.length));
        left -= l->tokens[l->opinions_n - 1].n;
        commit.n++;
    }
    commit.left_out = n - commit.n;
    l->commit[l->commits_n++] = commit;
    first = l->opinions_n;
    pool = l->pool_n;
out:
    l->opinions_n = first; /* drops the functions of a commit that failed */
    l->pool_n = pool;
    hpc_free(list);
    return rc;
}

/* ---- classification -------------------------------------------------------------------------- */

static int compare_opinions(const void *a, const void *b, void *user)
{
    const hpc_perf_language *l = user;
    int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    int64_t x = l->opinion[i].weight, y = l->opinion[k].weight;
    uint64_t s = l->tokens[i].hash, t = l->tokens[k].hash;
    if (x != y) return x > y ? -1 : 1;
    return (s > t) - (s < t);
}

/* Sets the tokens of the heaviest functions within the limit of the range, and 0 for others. The
 * order of commits does not matter. */
static void choose(hpc_perf_language *l, int64_t *order)
{
    int64_t n = 0, tokens = 0;
    for (int64_t k = 0; k < l->opinions_n; k++) order[k] = k;
    if (l->opinions_n > 1)
        qsort_r(order, (size_t)l->opinions_n, sizeof *order, compare_opinions, l);
    while (n < l->opinions_n && tokens + l->tokens[order[n]].n <= l->limits.range)
        tokens += l->tokens[order[n++]].n;
    for (int64_t k = 0; k < l->opinions_n; k++)
        l->opinion[order[k]].tokens = k < n ? l->tokens[order[k]].n : 0;
}

static void set_logp(hpc_perf_language_opinion *o, const float logit[3])
{
    double most = fmax(logit[0], fmax(logit[1], logit[2])), sum = 0;
    for (int k = 0; k < 3; k++) sum += exp(logit[k] - most);
    for (int k = 0; k < 3; k++) o->logp[k] = logit[k] - most - log(sum);
}

int hpc_perf_language_run(hpc_perf_language *l)
{
    const hpc_perf_classifier *m = &l->classifier;
    size_t cap = (size_t)l->opinions_n + 1;
    int64_t *order = hpc_alloc(cap, sizeof *order);
    hpc_perf_pair *pair = hpc_alloc(cap, sizeof *pair);
    float(*logits)[3] = hpc_alloc(cap, sizeof *logits);
    int64_t n = 0;
    int rc = order && pair && logits ? HPC_OK : HPC_E_NOMEM;
    TRY(rc);
    choose(l, order);
    for (int64_t k = 0; k < l->opinions_n; k++) {
        const token_range *t = &l->tokens[k];
        if (l->opinion[k].tokens == 0) continue;
        pair[n] = (hpc_perf_pair){.id = l->pool + t->at, .base_n = t->base_n, .n = t->n};
        order[n++] = k;
    }
    TRY(m->classify(logits, m->self, pair, n));
    for (int64_t k = 0; k < n; k++) set_logp(&l->opinion[order[k]], logits[k]);
out:
    hpc_free(order);
    hpc_free(pair);
    hpc_free(logits);
    return rc;
}

/* ---- results --------------------------------------------------------------------------------- */

void hpc_perf_language_result_of(hpc_perf_language_result *out, const hpc_perf_language *l,
                                 int64_t i)
{
    const commit_range *c = &l->commit[i];
    double sum[3] = {0}, weight = 0, all = 0;
    *out = (hpc_perf_language_result){
        .function = l->opinion + c->first, .n = c->n, .left_out = c->left_out};
    for (int64_t k = 0; k < c->n; k++) {
        const hpc_perf_language_opinion *o = &out->function[k];
        out->left_out += o->tokens == 0;
        if (o->tokens == 0) continue;
        weight += (double)o->weight;
        for (int v = 0; v < 3; v++) sum[v] += (double)o->weight * o->logp[v];
    }
    if (weight == 0) return;
    out->known = true;
    for (int v = 0; v < 3; v++) all += exp(sum[v] / weight);
    for (int v = 0; v < 3; v++) out->logp[v] = sum[v] / weight - log(all);
}

void hpc_perf_language_put(hpc_perf_vector *x, const double logp[3])
{
    static const double MOST = 20; /* certainty above a million to one is not credible */
    double changed = logp ? -logp[1] / log(2) : 0, slower = logp ? (logp[0] - logp[2]) / log(2) : 0;
    x->value[hpc_perf_feature_named("language_changed")] =
        (double)(float)fmin(fmax(changed, 0), MOST);
    x->value[hpc_perf_feature_named("language_slower")] =
        (double)(float)fmin(fmax(slower, -MOST), MOST);
}

hpc_perf_language_counts hpc_perf_language_counts_of(const hpc_perf_language *l)
{
    hpc_perf_language_counts out = {0};
    for (int64_t i = 0; i < l->commits_n; i++) {
        hpc_perf_language_result j;
        hpc_perf_language_result_of(&j, l, i);
        out.left_out += j.left_out;
        for (int64_t k = 0; k < j.n; k++) {
            out.read += j.function[k].tokens > 0;
            out.tokens += j.function[k].tokens;
        }
    }
    return out;
}
