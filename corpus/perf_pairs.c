/*
 * perf_pairs.c: which commits made a program slower or faster than what was measured before them,
 * over all series of a history.
 *
 * It knows nothing of what the commits changed; when a change is one is perf_label.c's business.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/perf.h"

typedef struct commit {
    char id[PERF_ID], parent[PERF_ID]; /* "" for none */
    char base[PERF_ID];                /* of its pair */
    int64_t time;
    int64_t first, n; /* its samples in the series at hand */
    int64_t decided[PERF_UNDECIDED];
    int64_t seen; /* series that it and its base have */
    double change[PERF_UNDECIDED];
} commit;
typedef struct history {
    commit *item; /* by id */
    int64_t n, cap;
    double *value; /* of the series at hand */
    int64_t values_n, values_cap;
    int64_t *touched; /* commits that have some of them */
    int64_t touched_n, touched_cap;
    perf_samples *side[2]; /* of its pairs: base, head; before that, [0] of all its commits */
    int64_t side_cap[2];
    perf_effect *effect;
    int64_t effect_cap;
    int64_t *paired; /* the commit of each */
    int64_t paired_cap;
} history;

static commit *find(const history *h, const char *id)
{
    int64_t lo = 0, hi = h->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (strcmp(h->item[mid].id, id) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < h->n && strcmp(h->item[lo].id, id) == 0 ? &h->item[lo] : NULL;
}

static perf_samples samples_of(const history *h, const commit *c)
{
    return (perf_samples){h->value + c->first, c->n};
}

static int measure_noise(perf_noise *out, history *h)
{
    int rc = HPC_OK;
    TRY(hpc_grow(&h->side[0], &h->side_cap[0], h->touched_n, sizeof *h->side[0]));
    for (int64_t k = 0; k < h->touched_n; k++)
        h->side[0][k] = samples_of(h, &h->item[h->touched[k]]);
    TRY(perf_noise_measure(out, h->side[0], h->touched_n));
out:
    return rc;
}

/* The nearest before it that has samples: what did not build, or came to its parent's product, lies
 * between. NULL: there is none. */
static const commit *base_of(const history *h, const commit *c)
{
    enum { FAR = 64 };
    const commit *at = c;
    for (int steps = 0; steps < FAR && at && at->parent[0]; steps++) {
        at = find(h, at->parent);
        if (at == c) return NULL;
        if (at && at->n > 0) return at;
    }
    return NULL;
}

/* All series of a commit speak of the same pair: of the first one's. */
static int find_pairs(int64_t *n, history *h)
{
    int rc = HPC_OK;
    *n = 0;
    for (int side = 0; side < 2; side++)
        TRY(hpc_grow(&h->side[side], &h->side_cap[side], h->touched_n, sizeof *h->side[0]));
    TRY(hpc_grow(&h->effect, &h->effect_cap, h->touched_n, sizeof *h->effect));
    TRY(hpc_grow(&h->paired, &h->paired_cap, h->touched_n, sizeof *h->paired));
    for (int64_t k = 0; k < h->touched_n; k++) {
        commit *c = &h->item[h->touched[k]];
        const commit *base = base_of(h, c);
        if (!base || (c->seen > 0 && strcmp(c->base, base->id) != 0)) continue;
        memcpy(c->base, base->id, PERF_ID);
        h->side[0][*n] = samples_of(h, base);
        h->side[1][*n] = samples_of(h, c);
        h->paired[(*n)++] = h->touched[k];
    }
out:
    return rc;
}

static int judge_series(history *h)
{
    const perf_rule rule = PERF_RULE_DEFAULTS;
    perf_noise noise;
    int64_t n = 0;
    int rc = HPC_OK;
    TRY(measure_noise(&noise, h));
    TRY(find_pairs(&n, h));
    TRY(perf_effects(h->effect, h->side[0], h->side[1], n, &noise, &rule));
    for (int64_t k = 0; k < n; k++) {
        commit *c = &h->item[h->paired[k]];
        perf_label l = h->effect[k].label;
        double change = h->effect[k].change;
        c->seen++;
        if (l == PERF_UNDECIDED) continue;
        if (c->decided[l]++ == 0 || fabs(change) > fabs(c->change[l])) c->change[l] = change;
    }
    for (int64_t k = 0; k < h->touched_n; k++) h->item[h->touched[k]].n = 0;
    h->touched_n = h->values_n = 0;
out:
    return rc;
}

static int load_commits(history *h, perf_db *d)
{
    const char *id, *parent;
    int64_t time;
    int rc = HPC_OK;
    for (;;) {
        TRY(perf_next_commit(&id, &parent, &time, d));
        if (rc == 0) break;
        TRY(hpc_grow(&h->item, &h->cap, h->n + 1, sizeof *h->item));
        commit *c = &h->item[h->n++];
        *c = (commit){.time = time};
        memcpy(c->id, id, PERF_ID);
        if (parent) memcpy(c->parent, parent, PERF_ID);
    }
out:
    return rc;
}

static int add_sample(history *h, const char *id, double value)
{
    commit *c = find(h, id);
    int rc = HPC_OK;
    if (!c) return HPC_OK; /* of a commit that nobody told of: it has no parent either */
    if (c->n >= PERF_RUNS_MOST) return HPC_OK;
    if (c->n == 0) {
        TRY(hpc_grow(&h->touched, &h->touched_cap, h->touched_n + 1, sizeof *h->touched));
        h->touched[h->touched_n++] = c - h->item;
        c->first = h->values_n;
    }
    TRY(hpc_grow(&h->value, &h->values_cap, h->values_n + 1, sizeof *h->value));
    h->value[h->values_n++] = value;
    c->n++;
out:
    return rc;
}

static int load_samples(history *h, perf_db *d)
{
    int64_t series = 0, last = 0;
    const char *id;
    double value;
    int rc = HPC_OK;
    for (bool first = true, more = true;; first = false) {
        TRY(perf_next_sample(&series, &id, &value, d));
        more = rc == 1;
        if (!first && (!more || series != last)) TRY(judge_series(h));
        if (!more) break;
        last = series;
        TRY(add_sample(h, id, value));
    }
out:
    return rc;
}

static perf_label label_of(const commit *c)
{
    const int64_t *n = c->decided;
    if (n[PERF_SLOWER] && !n[PERF_FASTER]) return PERF_SLOWER;
    if (n[PERF_FASTER] && !n[PERF_SLOWER]) return PERF_FASTER;
    return n[PERF_SAME] && !n[PERF_SLOWER] ? PERF_SAME : PERF_UNDECIDED;
}

static int compare_pairs(const void *a, const void *b)
{
    const perf_pair *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return strcmp(x->head, y->head);
}

static int collect(perf_pairs *out, const history *h)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < h->n; k++) {
        const commit *c = &h->item[k];
        perf_label l = label_of(c);
        if (c->seen == 0) continue;
        out->undecided_n += l == PERF_UNDECIDED;
        if (l == PERF_UNDECIDED) continue;
        TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
        perf_pair *p = &out->item[out->n++];
        *p = (perf_pair){.time = c->time, .label = l, .change = c->change[l]};
        memcpy(p->base, c->base, PERF_ID);
        memcpy(p->head, c->id, PERF_ID);
    }
    if (out->n > 1) qsort(out->item, (size_t)out->n, sizeof *out->item, compare_pairs);
out:
    return rc;
}

int perf_pairs_load(perf_pairs *out, perf_db *d)
{
    history h = {0};
    int rc = HPC_OK;
    *out = (perf_pairs){0};
    TRY(load_commits(&h, d));
    TRY(load_samples(&h, d));
    TRY(collect(out, &h));
out:
    hpc_free(h.item);
    hpc_free(h.value);
    hpc_free(h.touched);
    hpc_free(h.side[0]);
    hpc_free(h.side[1]);
    hpc_free(h.effect);
    hpc_free(h.paired);
    if (rc < 0) perf_pairs_release(out);
    return rc;
}

void perf_pairs_release(perf_pairs *p)
{
    hpc_free(p->item);
    *p = (perf_pairs){0};
}

hpc_split perf_split(int64_t k, int64_t n)
{
    int64_t train = n - n / 10, validation = n - n / 20;
    return k < train ? HPC_SPLIT_TRAIN : k < validation ? HPC_SPLIT_VALIDATION : HPC_SPLIT_TEST;
}
