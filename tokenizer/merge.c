/*
 * merge.c: byte pair encoding of one word: the table of pairs, and merging.
 *
 * Short words are searched for the best pair after each merge; long ones use a heap. Both merge
 * the pair of lowest rank, leftmost first, so they give the same symbols. Word boundaries and the
 * meaning of symbols are the caller's.
 */
#include <string.h>

#include "tokenizer/priv.h"

/* Up to so many symbols a scan is faster than a heap. */
enum { SHORT_MOST = 32, HUGE_PAGE = 2 << 20 };

typedef struct pair {
    int32_t left, right; /* left < 0: free */
    int32_t rank, merged;
} pair;

struct tokenizer_merges {
    pair *item;
    uint64_t mask;
    int64_t n;
};

static const pair no_pair = {.left = -1, .right = -1, .rank = INT32_MAX, .merged = -1};

static uint64_t place_of(int32_t left, int32_t right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    key *= 0x9E3779B97F4A7C15u;
    return key >> 32 ^ key >> 17;
}

static int resize(tokenizer_merges *m, uint64_t places)
{
    /* Lookups are random, and the table is written completely now. */
    size_t align = places * sizeof *m->item < HUGE_PAGE ? 64 : HUGE_PAGE;
    pair *item = hpc_alloc_aligned(places, sizeof *item, align);
    if (!item) return HPC_E_NOMEM;
    for (uint64_t i = 0; i < places; i++) item[i] = no_pair;
    for (uint64_t i = 0; m->item && i <= m->mask; i++) {
        if (m->item[i].left < 0) continue;
        uint64_t at = place_of(m->item[i].left, m->item[i].right) & (places - 1);
        while (item[at].left >= 0) at = (at + 1) & (places - 1);
        item[at] = m->item[i];
    }
    hpc_free(m->item);
    m->item = item;
    m->mask = places - 1;
    return HPC_OK;
}

int tokenizer_merges_create(tokenizer_merges **out, int64_t expected)
{
    int rc = HPC_OK;
    uint64_t places = 16;
    tokenizer_merges *m = hpc_alloc(1, sizeof *m);
    *out = NULL;
    if (!m) return HPC_E_NOMEM;
    while (expected > 0 && places < (uint64_t)expected * 2 && places < (uint64_t)1 << 40)
        places *= 2;
    TRY(resize(m, places));
    *out = m;
    m = NULL;
out:
    tokenizer_merges_free(m);
    return rc;
}

void tokenizer_merges_free(tokenizer_merges *m)
{
    if (!m) return;
    hpc_free(m->item);
    hpc_free(m);
}

static pair *find(const tokenizer_merges *m, int32_t left, int32_t right)
{
    uint64_t at = place_of(left, right) & m->mask;
    while (m->item[at].left >= 0 && (m->item[at].left != left || m->item[at].right != right))
        at = (at + 1) & m->mask;
    return &m->item[at];
}

int tokenizer_merges_add(tokenizer_merges *m, int32_t left, int32_t right, int32_t rank,
                         int32_t merged)
{
    hpc_assert(left >= 0 && right >= 0 && rank >= 0 && merged >= 0);
    if ((uint64_t)(m->n + 1) * 2 > m->mask + 1) {
        int rc = resize(m, (m->mask + 1) * 2);
        if (rc < 0) return rc;
    }
    pair *p = find(m, left, right);
    bool taken = p->left >= 0;
    if (taken && p->rank <= rank) return HPC_OK;
    if (!taken) m->n++;
    *p = (pair){left, right, rank, merged};
    return HPC_OK;
}

int64_t tokenizer_merges_n(const tokenizer_merges *m)
{
    return m->n;
}

/* no_pair when the two do not merge. */
static const pair *pair_of(const tokenizer_merges *m, int32_t left, int32_t right)
{
    return left < 0 || right < 0 ? &no_pair : find(m, left, right);
}

/* ---- short words ----------------------------------------------------------------- */

static void merge_short(int32_t *symbol, int64_t *n, const tokenizer_merges *m)
{
    int32_t rank[SHORT_MOST], merged[SHORT_MOST];
    int64_t count = *n;
    for (int64_t i = 0; i + 1 < count; i++) {
        const pair *p = pair_of(m, symbol[i], symbol[i + 1]);
        rank[i] = p->rank;
        merged[i] = p->merged;
    }
    while (count > 1) {
        int64_t best = 0;
        for (int64_t i = 1; i + 1 < count; i++)
            if (rank[i] < rank[best]) best = i;
        if (rank[best] == INT32_MAX) break;
        symbol[best] = merged[best];
        count--;
        for (int64_t i = best + 1; i < count; i++) {
            symbol[i] = symbol[i + 1];
            rank[i - 1] = rank[i];
            merged[i - 1] = merged[i];
        }
        for (int64_t i = best > 0 ? best - 1 : 0; i <= best && i + 1 < count; i++) {
            const pair *p = pair_of(m, symbol[i], symbol[i + 1]);
            rank[i] = p->rank;
            merged[i] = p->merged;
        }
    }
    *n = count;
}

/* ---- long words -------------------------------------------------------------------- */

/* Of the symbol at one place and the next that is still there. */
typedef struct link {
    int32_t before, after; /* -1: none */
    int32_t rank;          /* of the pair with `after`; INT32_MAX: none */
    int32_t merged;
} link;

/* Candidates as rank << 32 | place: the least is the pair to merge. Some are out of date. */
typedef struct heap {
    uint64_t *item;
    int64_t n;
    tokenizer_pair *last; /* see tokenizer_merge_tracked */
} heap;

static void heap_push(heap *h, uint64_t x)
{
    int64_t i = h->n++;
    while (i > 0 && h->item[(i - 1) / 2] > x) {
        h->item[i] = h->item[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->item[i] = x;
}

static uint64_t heap_pop(heap *h)
{
    uint64_t top = h->item[0], x = h->item[--h->n];
    int64_t i = 0;
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= h->n) break;
        if (child + 1 < h->n && h->item[child + 1] < h->item[child]) child++;
        if (h->item[child] >= x) break;
        h->item[i] = h->item[child];
        i = child;
    }
    h->item[i] = x;
    return top;
}

/* Looks at the pair that begins at place i again. */
static void look(heap *h, link *l, const int32_t *symbol, int64_t i, const tokenizer_merges *m)
{
    const pair *p = l[i].after < 0 ? &no_pair : pair_of(m, symbol[i], symbol[l[i].after]);
    l[i].rank = p->rank;
    l[i].merged = p->merged;
    if (p->rank == INT32_MAX) return;
    heap_push(h, (uint64_t)(uint32_t)p->rank << 32 | (uint64_t)i);
    if (h->last) h->last[p->merged] = (tokenizer_pair){p->left, p->right};
}

/* Memory for n symbols: at most n - 1 candidates to begin with, and each merge takes one place
 * away and adds two candidates. */
static int reserve(link **l, heap *h, int64_t n, hpc_buf *memory)
{
    size_t each = sizeof(link) + 3 * sizeof(uint64_t);
    int64_t cap = (int64_t)memory->cap;
    int rc = hpc_grow(&memory->data, &cap, n * (int64_t)each, 1);
    memory->cap = (size_t)cap;
    if (rc < 0) return rc;
    h->item = (uint64_t *)(void *)memory->data;
    h->n = 0;
    *l = (link *)(void *)(h->item + 3 * n);
    return HPC_OK;
}

static void merge_all(int32_t *symbol, link *l, heap *h, const tokenizer_merges *m)
{
    while (h->n > 0) {
        uint64_t top = heap_pop(h);
        int32_t i = (int32_t)(uint32_t)top, rank = (int32_t)(top >> 32);
        if (l[i].rank != rank) continue; /* merged or changed since */
        int32_t gone = l[i].after, next = l[gone].after;
        symbol[i] = l[i].merged;
        l[i].after = next;
        if (next >= 0) l[next].before = i;
        l[gone].rank = INT32_MAX;
        if (l[i].before >= 0) look(h, l, symbol, l[i].before, m);
        look(h, l, symbol, i, m);
    }
}

static int merge_long(int32_t *symbol, int64_t *n, const tokenizer_merges *m, hpc_buf *memory,
                      tokenizer_pair *last)
{
    link *l;
    heap h = {.last = last};
    int64_t count = 0;
    if (*n < 2) return HPC_OK;
    if (*n > INT32_MAX)
        return hpc_fail(HPC_E_UNSUPPORTED, "a word of more than 2 GiB cannot be encoded");
    int rc = reserve(&l, &h, *n, memory);
    if (rc < 0) return rc;
    for (int64_t i = 0; i < *n; i++) {
        l[i].before = (int32_t)(i - 1);
        l[i].after = i + 1 < *n ? (int32_t)(i + 1) : -1;
    }
    for (int64_t i = 0; i < *n; i++) look(&h, l, symbol, i, m);
    merge_all(symbol, l, &h, m);
    for (int64_t i = 0; i >= 0; i = l[i].after) symbol[count++] = symbol[i];
    *n = count;
    return HPC_OK;
}

int tokenizer_merge(int32_t *symbol, int64_t *n, const tokenizer_merges *m,
                    hpc_tokenizer_scratch *s)
{
    if (*n > SHORT_MOST) return merge_long(symbol, n, m, &s->heap, NULL);
    merge_short(symbol, n, m);
    return HPC_OK;
}

int tokenizer_merge_tracked(int32_t *symbol, int64_t *n, const tokenizer_merges *m,
                            hpc_tokenizer_scratch *s, tokenizer_pair *last)
{
    return merge_long(symbol, n, m, &s->heap, last);
}
