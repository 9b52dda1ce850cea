/*
 * match.c: matches fixed words in text: special tokens and pieces that are never merged. A trie
 * with its edges in one table, and a filter on the first two bytes.
 *
 * It returns the longest word at a position; the caller resolves overlaps.
 */
#include <string.h>

#include "tokenizer/priv.h"

typedef struct edge {
    uint64_t key; /* node << 8 | byte; 0: free, because the root has number 1 */
    int32_t node; /* where it leads */
    int32_t id;   /* of the word that ends there, or -1 */
} edge;

struct tokenizer_matcher {
    edge *item;
    uint64_t mask;
    int64_t n, words, nodes; /* edges, words, nodes */
    size_t longest;
    /* Bits of how words begin: of the first two bytes (of words of one byte: with all seconds),
     * the same of words of less than four bytes, and of a hash of the first four. */
    uint64_t two[65536 / 64], few[65536 / 64], four[65536 / 64];
    bool single[256]; /* a word of this one byte */
};

static uint64_t place_of(uint64_t key)
{
    key *= 0x9E3779B97F4A7C15u;
    return key >> 32;
}

static edge *find(const tokenizer_matcher *m, uint64_t key)
{
    uint64_t at = place_of(key) & m->mask;
    while (m->item[at].key && m->item[at].key != key) at = (at + 1) & m->mask;
    return &m->item[at];
}

static int resize(tokenizer_matcher *m, uint64_t places)
{
    edge *old = m->item;
    uint64_t old_places = old ? m->mask + 1 : 0;
    edge *item = hpc_alloc(places, sizeof *item);
    if (!item) return HPC_E_NOMEM;
    m->item = item;
    m->mask = places - 1;
    for (uint64_t i = 0; i < old_places; i++)
        if (old[i].key) *find(m, old[i].key) = old[i];
    hpc_free(old);
    return HPC_OK;
}

int tokenizer_matcher_create(tokenizer_matcher **out)
{
    int rc = HPC_OK;
    tokenizer_matcher *m = hpc_alloc(1, sizeof *m);
    *out = NULL;
    if (!m) return HPC_E_NOMEM;
    m->nodes = 1;
    TRY(resize(m, 64));
    *out = m;
    m = NULL;
out:
    tokenizer_matcher_free(m);
    return rc;
}

void tokenizer_matcher_free(tokenizer_matcher *m)
{
    if (!m) return;
    hpc_free(m->item);
    hpc_free(m);
}

static void set(uint64_t *bits, unsigned bit)
{
    bits[bit / 64] |= (uint64_t)1 << bit % 64;
}

static bool is_set(const uint64_t *bits, unsigned bit)
{
    return bits[bit / 64] >> bit % 64 & 1;
}

static unsigned hash_of_four(const unsigned char *s)
{
    uint32_t x;
    memcpy(&x, s, sizeof x);
    return x * 0x9E3779B1u >> 16;
}

static void filter_add(tokenizer_matcher *m, const unsigned char *word, size_t n)
{
    unsigned from = n > 1 ? word[1] : 0, to = n > 1 ? word[1] : 255;
    for (unsigned second = from; second <= to; second++) {
        set(m->two, (unsigned)word[0] << 8 | second);
        if (n < 4) set(m->few, (unsigned)word[0] << 8 | second);
    }
    if (n == 1) m->single[word[0]] = true;
    if (n >= 4) set(m->four, hash_of_four(word));
}

int tokenizer_matcher_add(tokenizer_matcher *m, const char *word, size_t n, int32_t id)
{
    const unsigned char *s = (const unsigned char *)word;
    uint64_t node = 1;
    edge *e = NULL;
    hpc_assert(n > 0 && id >= 0);
    while ((uint64_t)(m->n + (int64_t)n) * 2 > m->mask + 1) {
        int rc = resize(m, (m->mask + 1) * 2);
        if (rc < 0) return rc;
    }
    for (size_t i = 0; i < n; i++) {
        e = find(m, node << 8 | s[i]);
        if (!e->key) {
            *e = (edge){.key = node << 8 | s[i], .node = (int32_t)++m->nodes, .id = -1};
            m->n++;
        }
        node = (uint64_t)e->node;
    }
    if (e->id < 0) m->words++;
    e->id = id;
    if (n > m->longest) m->longest = n;
    filter_add(m, s, n);
    return HPC_OK;
}

size_t tokenizer_matcher_longest(const tokenizer_matcher *m)
{
    return m->longest;
}

static bool may_begin(const tokenizer_matcher *m, const unsigned char *s, size_t n, size_t at)
{
    if (at + 1 >= n) return m->single[s[at]];
    unsigned two = (unsigned)s[at] << 8 | s[at + 1];
    if (!is_set(m->two, two)) return false;
    return is_set(m->few, two) || (n - at >= 4 && is_set(m->four, hash_of_four(s + at)));
}

size_t tokenizer_matcher_at(int32_t *id, const tokenizer_matcher *m, const char *text, size_t n,
                            size_t at)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t longest = 0;
    uint64_t node = 1;
    if (at >= n || !may_begin(m, s, n, at)) return 0;
    for (size_t i = at; i < n; i++) {
        const edge *e = find(m, node << 8 | s[i]);
        if (!e->key) break;
        node = (uint64_t)e->node;
        if (e->id < 0) continue;
        longest = i + 1 - at;
        *id = e->id;
    }
    return longest;
}

size_t tokenizer_matcher_find(const tokenizer_matcher *m, const char *text, size_t n, size_t at)
{
    int32_t id;
    if (m->words == 0) return n;
    while (at < n && tokenizer_matcher_at(&id, m, text, n, at) == 0) at++;
    return at;
}

bool tokenizer_matcher_spans(const tokenizer_matcher *m, const char *text, size_t n, size_t p)
{
    int32_t id;
    for (size_t back = 1; back < m->longest && back <= p; back++)
        if (tokenizer_matcher_at(&id, m, text, n, p - back) > back) return true;
    return false;
}
