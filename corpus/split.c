/*
 * split.c: assigns repositories to train, validation and test so that similar content is in one
 * split.
 *
 * Repositories that share much (forks, vendored parts, a renamed successor) form a cluster, which
 * is never divided. Single files that are similar across splits are removed from all splits but
 * one. Pure functions: no files, no texts.
 */
#include <stdlib.h>
#include <string.h>

#include "corpus/harvest.h"

/* Repositories belong together when they have at least so many groups of near-duplicates in common,
 * and these are at least this share of the groups of the smaller one. Two or three common helpers
 * do not bind projects; a copied library does. */
enum { SHARED_LEAST = 3 };
static const double shared_share = 0.02;
/* A group in more repositories than this is boilerplate and does not connect them. */
enum { BOILERPLATE = 64 };
/* A cluster may exceed the remainder of a split by this factor. */
static const double overshoot = 1.25;

typedef struct bundle { /* a cluster */
    int32_t first;      /* its least repository */
    int64_t bytes;      /* kept */
    uint64_t order;
} bundle;

typedef struct splitter {
    const corpus_split_options *options;
    corpus_item *item;
    int64_t n;
    int32_t *parent; /* of repositories */
    int64_t *groups; /* components that each repository has a part in */
    hpc_map *shared; /* pairs of repositories: components in common */
    uint64_t *pair;  /* component << 32 | repository, sorted */
    int64_t pairs_n;
    bundle *cluster;
    int64_t clusters_n;
    hpc_split *split;
} splitter;

/* Does it have a usable text, or is it a copy of one? */
static bool counts(const corpus_item *i)
{
    return i->reason == HPC_REASON_KEPT || i->reason == HPC_REASON_DUPLICATE ||
           i->reason == HPC_REASON_NEAR_DUPLICATE;
}

/* ---- clusters ------------------------------------------------------------------------------- */

static int32_t find_root(int32_t *parent, int32_t at)
{
    for (; parent[at] != at; at = parent[at]) parent[at] = parent[parent[at]];
    return at;
}

static void join(int32_t *parent, int32_t a, int32_t b)
{
    a = find_root(parent, a);
    b = find_root(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int list_pairs(splitter *s)
{
    s->pair = hpc_alloc((size_t)s->n + 1, sizeof *s->pair);
    if (!s->pair) return HPC_E_NOMEM;
    for (int64_t k = 0; k < s->n; k++)
        if (counts(&s->item[k]))
            s->pair[s->pairs_n++] = (uint64_t)s->item[k].component << 32 | s->item[k].source;
    qsort(s->pair, (size_t)s->pairs_n, sizeof *s->pair, by_value);
    int64_t distinct = 0;
    for (int64_t k = 0; k < s->pairs_n; k++)
        if (k == 0 || s->pair[k] != s->pair[k - 1]) s->pair[distinct++] = s->pair[k];
    s->pairs_n = distinct;
    return HPC_OK;
}

static int count_shared(splitter *s, uint32_t a, uint32_t b)
{
    uint64_t n = 0;
    uint32_t key[2] = {a, b};
    hpc_map_get(s->shared, key, sizeof key, &n);
    return hpc_map_put(s->shared, key, sizeof key, n + 1);
}

/* The repositories of one component are pair[lo..hi), sorted. */
static int count_component(splitter *s, int64_t lo, int64_t hi)
{
    int rc = HPC_OK;
    for (int64_t a = lo; a < hi; a++) {
        s->groups[(uint32_t)s->pair[a]]++;
        for (int64_t b = a + 1; b < hi && hi - lo <= BOILERPLATE; b++)
            TRY(count_shared(s, (uint32_t)s->pair[a], (uint32_t)s->pair[b]));
    }
out:
    return rc;
}

static int find_clusters(splitter *s)
{
    int rc = HPC_OK;
    TRY(list_pairs(s));
    for (int64_t lo = 0, hi; lo < s->pairs_n; lo = hi) {
        for (hi = lo + 1; hi < s->pairs_n && s->pair[hi] >> 32 == s->pair[lo] >> 32;) hi++;
        TRY(count_component(s, lo, hi));
    }
    for (int64_t k = 0; k < s->options->sources_n; k++) s->parent[k] = (int32_t)k;
    for (int64_t k = 0; k < hpc_map_n(s->shared); k++) {
        uint64_t n = 0;
        size_t bytes = 0;
        uint32_t key[2];
        memcpy(key, hpc_map_at(s->shared, k, &bytes, &n), sizeof key);
        int64_t a = s->groups[key[0]], b = s->groups[key[1]];
        if (n >= SHARED_LEAST && (double)n >= shared_share * (double)(a < b ? a : b))
            join(s->parent, (int32_t)key[0], (int32_t)key[1]);
    }
out:
    return rc;
}

/* ---- shares --------------------------------------------------------------------------------- */

static int by_order(const void *a, const void *b)
{
    const bundle *x = a, *y = b;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Lists clusters in an order that depends only on the seed and each cluster's name. */
static int list_clusters(splitter *s)
{
    int64_t n = s->options->sources_n;
    s->cluster = hpc_alloc((size_t)n, sizeof *s->cluster);
    int64_t *bytes = hpc_alloc((size_t)n, sizeof *bytes);
    if (!s->cluster || !bytes) {
        hpc_free(bytes);
        return HPC_E_NOMEM;
    }
    for (int64_t k = 0; k < s->n; k++)
        if (s->item[k].reason == HPC_REASON_KEPT)
            bytes[find_root(s->parent, (int32_t)s->item[k].source)] += s->item[k].stored_bytes;
    for (int32_t k = 0; k < n; k++) {
        const char *name = s->options->source[k].name;
        if (find_root(s->parent, k) == k)
            s->cluster[s->clusters_n++] =
                (bundle){k, bytes[k], hpc_hash(name, strlen(name), (uint64_t)s->options->seed)};
    }
    qsort(s->cluster, (size_t)s->clusters_n, sizeof *s->cluster, by_order);
    hpc_free(bytes);
    return HPC_OK;
}

static int64_t largest(const splitter *s)
{
    int64_t at = 0;
    for (int64_t k = 1; k < s->clusters_n; k++)
        if (s->cluster[k].bytes > s->cluster[at].bytes) at = k;
    return at;
}

/* The smallest nonempty cluster in train, other than `spared`; -1: none. */
static int64_t smallest(const splitter *s, int64_t spared)
{
    int64_t at = -1;
    for (int64_t k = 0; k < s->clusters_n; k++) {
        const bundle *c = &s->cluster[k];
        if (k == spared || c->bytes == 0 || s->split[c->first] != HPC_SPLIT_TRAIN) continue;
        if (at < 0 || c->bytes < s->cluster[at].bytes) at = k;
    }
    return at;
}

/* Takes clusters in order while they fit. If they make less than half of the requested size, also
 * takes the smallest remaining one, up to four times that size: too large a split is better than a
 * useless one. */
static void fill(splitter *s, hpc_split split, double share)
{
    double total = 0, got = 0;
    int64_t spared = s->clusters_n > 0 ? largest(s) : 0;
    for (int64_t k = 0; k < s->clusters_n; k++) total += (double)s->cluster[k].bytes;
    double wanted = share * total;
    for (int64_t k = 0; k < s->clusters_n && got < wanted; k++) {
        const bundle *c = &s->cluster[k];
        if (k == spared || c->bytes == 0 || s->split[c->first] != HPC_SPLIT_TRAIN) continue;
        if ((double)c->bytes > overshoot * (wanted - got)) continue;
        s->split[c->first] = split;
        got += (double)c->bytes;
    }
    int64_t least = smallest(s, spared);
    if (got < 0.5 * wanted && least >= 0 && (double)s->cluster[least].bytes <= 4 * wanted)
        s->split[s->cluster[least].first] = split;
}

/* ---- what straddles ------------------------------------------------------------------------- */

/* The split that keeps a component, of those that its items are in. */
static uint8_t *find_keepers(const splitter *s)
{
    uint8_t *keeper = hpc_alloc((size_t)s->n + 1, 1);
    for (int64_t k = 0; keeper && k < s->n; k++) {
        const corpus_item *i = &s->item[k];
        if (counts(i) && i->split > keeper[i->component]) keeper[i->component] = i->split;
    }
    return keeper;
}

/* heir: the item that replaced an original, as item + 1, negative if similar and not a copy; 0:
 * none. An item whose original went to another split becomes the original, unless an earlier one
 * did. The caller handles originals first. */
static void inherit(corpus_item *item, int32_t *heir, int32_t k)
{
    corpus_item *i = &item[k];
    int32_t o = i->original;
    if (item[o].reason == HPC_REASON_STRADDLES && item[o].original >= 0) {
        o = i->original = item[o].original; /* a copy of an item similar to it is also similar */
        i->reason = HPC_REASON_NEAR_DUPLICATE;
    }
    if (item[o].reason != HPC_REASON_STRADDLES) return;
    bool copy = i->reason == HPC_REASON_DUPLICATE;
    if (heir[o] == 0) {
        heir[o] = copy ? k + 1 : -(k + 1);
        i->reason = HPC_REASON_KEPT;
        i->original = -1;
        return;
    }
    if (heir[o] < 0) i->reason = HPC_REASON_NEAR_DUPLICATE;
    i->original = abs(heir[o]) - 1;
}

static int take_out(splitter *s, int64_t *straddles)
{
    int rc = HPC_OK;
    uint8_t *keeper = find_keepers(s);
    int32_t *heir = hpc_alloc((size_t)s->n + 1, sizeof *heir);
    if (!keeper || !heir) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < s->n; k++) {
        corpus_item *i = &s->item[k];
        bool used = i->reason == HPC_REASON_KEPT || i->reason == HPC_REASON_NEAR_DUPLICATE;
        if (!used || i->split == keeper[i->component]) continue;
        i->reason = HPC_REASON_STRADDLES;
        ++*straddles;
    }
    for (int head = 1; head >= 0; head--)
        for (int32_t k = 0; k < s->n; k++) {
            const corpus_item *i = &s->item[k];
            bool follows =
                i->reason == HPC_REASON_DUPLICATE || i->reason == HPC_REASON_NEAR_DUPLICATE;
            if (i->head == head && follows && i->split == keeper[i->component])
                inherit(s->item, heir, k);
        }
out:
    hpc_free(keeper);
    hpc_free(heir);
    return rc;
}

int corpus_split(corpus_split_result *out, hpc_split *split, int32_t *cluster, corpus_item *item,
                 int64_t n, const corpus_split_options *options)
{
    splitter s = {.options = options, .item = item, .n = n, .split = split};
    int rc = HPC_OK;
    *out = (corpus_split_result){0};
    s.parent = hpc_alloc((size_t)options->sources_n + 1, sizeof *s.parent);
    s.groups = hpc_alloc((size_t)options->sources_n + 1, sizeof *s.groups);
    s.shared = hpc_map_create();
    if (!s.parent || !s.groups || !s.shared) TRY(HPC_E_NOMEM);
    TRY(find_clusters(&s));
    TRY(list_clusters(&s));
    for (int64_t k = 0; k < options->sources_n; k++) split[k] = HPC_SPLIT_TRAIN;
    fill(&s, HPC_SPLIT_TEST, options->test);
    fill(&s, HPC_SPLIT_VALIDATION, options->validation);
    for (int32_t k = 0; k < options->sources_n; k++) {
        cluster[k] = find_root(s.parent, k);
        split[k] = split[cluster[k]];
    }
    for (int64_t k = 0; k < n; k++) {
        item[k].split = (uint8_t)split[item[k].source];
        if (item[k].reason == HPC_REASON_KEPT) out->bytes[item[k].split] += item[k].stored_bytes;
    }
    out->clusters_n = s.clusters_n;
    TRY(take_out(&s, &out->straddles_n));
out:
    hpc_free(s.parent);
    hpc_free(s.groups);
    hpc_map_free(s.shared);
    hpc_free(s.pair);
    hpc_free(s.cluster);
    return rc;
}
