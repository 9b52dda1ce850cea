/*
 * Interpolated Kneser-Ney model of order 5 over tokens, from which a text can be removed again.
 *
 * Order 5 has counts of 5-grams; each lower order counts the distinct continuations: a gram counts
 * once in the order below for each of its extensions to the left. Adding or removing a gram reaches
 * the order below only when its count becomes or ceases to be positive.
 */
#include <math.h>
#include <string.h>

#include "eval/sets.h"

enum { ORDER = 5, FIRST_SLOTS = 1 << 16 };

typedef struct slot { /* of a gram: `a` is its count. Of a context: `a` the sum, `b` the types */
    uint64_t key;     /* 0: free */
    uint32_t a, b;
} slot;

struct hpc_ngram {
    int64_t vocab;
    slot *item;
    size_t slots, used;                        /* slots: a power of two */
    int64_t once[ORDER + 1], twice[ORDER + 1]; /* grams of an order with these counts */
};

/* ---- the table ------------------------------------------------------------------------------- */

static uint64_t key_of(const int32_t *token, int n, int kind)
{
    uint64_t key = hpc_hash(token, (size_t)n * sizeof(*token), (uint64_t)(2 * n + kind));
    return key ? key : 1;
}

static slot *find(const hpc_ngram *g, uint64_t key)
{
    size_t at = key & (g->slots - 1);

    while (g->item[at].key && g->item[at].key != key) at = (at + 1) & (g->slots - 1);
    return &g->item[at];
}

static int grow(hpc_ngram *g)
{
    slot *old = g->item;
    size_t n = g->slots;

    slot *item = hpc_alloc(2 * n, sizeof(*item));
    if (!item) return HPC_E_NOMEM;
    g->item = item;
    g->slots = 2 * n;
    for (size_t k = 0; k < n; k++)
        if (old[k].key) *find(g, old[k].key) = old[k];
    hpc_free(old);
    return HPC_OK;
}

static slot *take(hpc_ngram *g, uint64_t key)
{
    slot *s = find(g, key);

    if (!s->key) {
        s->key = key;
        g->used++;
    }
    return s;
}

int hpc_ngram_create(hpc_ngram **out, int64_t vocab)
{
    hpc_ngram *g = hpc_alloc(1, sizeof(*g));

    if (!g) return HPC_E_NOMEM;
    *g = (hpc_ngram){.vocab = vocab, .slots = FIRST_SLOTS};
    g->item = hpc_alloc(g->slots, sizeof(*g->item));
    if (!g->item) {
        hpc_free(g);
        return HPC_E_NOMEM;
    }
    *out = g;
    return HPC_OK;
}

void hpc_ngram_free(hpc_ngram *g)
{
    if (!g) return;
    hpc_free(g->item);
    hpc_free(g);
}

/* ---- counts ---------------------------------------------------------------------------------- */

static void count_of_counts(hpc_ngram *g, int order, uint32_t count, int change)
{
    if (count == 1) g->once[order] += change;
    if (count == 2) g->twice[order] += change;
}

/* gram: `order` tokens, the last one predicted. change: 1 or -1. */
static void change_gram(hpc_ngram *g, const int32_t *gram, int order, int change)
{
    for (; order >= 1; order--, gram++) {
        slot *c = take(g, key_of(gram, order, 0));
        uint32_t before = c->a;
        c->a = (uint32_t)((int64_t)before + change);
        count_of_counts(g, order, before, -1);
        count_of_counts(g, order, c->a, 1);
        bool is_border = (before == 0) != (c->a == 0);
        slot *h = take(g, key_of(gram, order - 1, 1));
        h->a = (uint32_t)((int64_t)h->a + change);
        if (!is_border) return;
        h->b = (uint32_t)((int64_t)h->b + change);
    }
}

/* The context of token k: the four tokens before it; `first` before the text. */
static void context_of(int32_t *out, const int32_t *token, int64_t k, int32_t first)
{
    for (int i = 0; i < ORDER - 1; i++) {
        int64_t at = k - (ORDER - 1) + i;
        out[i] = at >= 0 ? token[at] : first;
    }
}

int hpc_ngram_add(hpc_ngram *g, const int32_t *token, int64_t n, int32_t first)
{
    int32_t gram[ORDER];

    for (int64_t k = 0; k < n; k++) {
        while (2 * (g->used + 2 * ORDER) > g->slots)
            if (grow(g) < 0) return HPC_E_NOMEM;
        context_of(gram, token, k, first);
        gram[ORDER - 1] = token[k];
        change_gram(g, gram, ORDER, 1);
    }
    return HPC_OK;
}

void hpc_ngram_remove(hpc_ngram *g, const int32_t *token, int64_t n, int32_t first)
{
    int32_t gram[ORDER];

    for (int64_t k = 0; k < n; k++) {
        context_of(gram, token, k, first);
        gram[ORDER - 1] = token[k];
        change_gram(g, gram, ORDER, -1);
    }
}

/* ---- probabilities --------------------------------------------------------------------------- */

static double discount_of(const hpc_ngram *g, int order)
{
    double once = (double)g->once[order], twice = (double)g->twice[order];
    return once > 0 ? once / (once + 2 * twice) * (twice > 0 ? 1 : 0.75) : 0.75;
}

double hpc_ngram_probability(const hpc_ngram *g, const int32_t context[4], int32_t token)
{
    double p = 1 / (double)g->vocab;
    int32_t gram[ORDER];

    memcpy(gram, context, (ORDER - 1) * sizeof(*gram));
    gram[ORDER - 1] = token;
    for (int order = 1; order <= ORDER; order++) {
        const int32_t *from = gram + ORDER - order;
        const slot *h = find(g, key_of(from, order - 1, 1));
        const slot *c = find(g, key_of(from, order, 0));
        if (h->a == 0) continue; /* nothing followed this context */
        double d = discount_of(g, order), own = (double)c->a - d;
        p = ((own > 0 ? own : 0) + d * (double)h->b * p) / (double)h->a;
    }
    return p;
}

void hpc_ngram_text(double *bits, const hpc_ngram *g, const int32_t *token, int64_t n,
                    int32_t first)
{
    int32_t context[ORDER - 1];

    for (int64_t k = 0; k < n; k++) {
        context_of(context, token, k, first);
        bits[k] = -log2(hpc_ngram_probability(g, context, token[k]));
    }
}
