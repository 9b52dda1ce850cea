/*
 * cache.c: cache of the ids of words: tables of fixed size, one per range of word lengths, two-way
 * set-associative; the entry not used last is evicted.
 *
 * Nothing is allocated after creation. Words that are too long, or have many ids for their length,
 * are not cached.
 */
#include <string.h>

#include "tokenizer/priv.h"

/* An entry: this, then the word, then its ids; whole cache lines, the word in the first. */
typedef struct entry {
    uint64_t hash;
    uint16_t bytes, n; /* of the word, 0: free; of its ids */
} entry;
enum { HEAD = 12, WAYS = 2, TABLES = 3, LINE = 64 };

typedef struct shape {
    size_t entry, word, sets; /* bytes; most bytes of a word */
} shape;

/* In real code 94 % of words are found, most in the first table. */
static const shape shapes[TABLES] = {
    {.entry = 64, .word = 20, .sets = 1 << 14},
    {.entry = 128, .word = 48, .sets = 1 << 13},
    {.entry = 512, .word = 244, .sets = 1 << 10},
};

typedef struct table {
    char *memory;   /* not touched before it is used, which for a short text is little; */
    char *item;     /* in it, at a cache line: WAYS for each set */
    uint8_t *newer; /* by set: the way asked for last */
} table;

struct tokenizer_cache {
    table table[TABLES];
};

int tokenizer_cache_create(tokenizer_cache **out)
{
    int rc = HPC_OK;
    tokenizer_cache *c = hpc_alloc(1, sizeof *c);
    *out = NULL;
    if (!c) return HPC_E_NOMEM;
    for (int k = 0; k < TABLES; k++) {
        table *t = &c->table[k];
        t->memory = hpc_alloc(WAYS * shapes[k].sets * shapes[k].entry + LINE, 1);
        t->newer = hpc_alloc(shapes[k].sets, 1);
        if (!t->memory || !t->newer) TRY(HPC_E_NOMEM);
        t->item = t->memory + (LINE - (uintptr_t)t->memory % LINE);
    }
    *out = c;
    c = NULL;
out:
    tokenizer_cache_free(c);
    return rc;
}

void tokenizer_cache_free(tokenizer_cache *c)
{
    if (!c) return;
    for (int k = 0; k < TABLES; k++) {
        hpc_free(c->table[k].memory);
        hpc_free(c->table[k].newer);
    }
    hpc_free(c);
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

/* Eight bytes at a time; equal hashes cost a comparison, so speed counts for more than spread. */
static uint64_t hash_of(const char *word, size_t bytes)
{
    uint64_t h = bytes, x;
    for (; bytes >= 8; bytes -= 8, word += 8) {
        memcpy(&x, word, 8);
        h = mix(h, x);
    }
    x = 0;
    for (size_t i = 0; i < bytes; i++) x |= (uint64_t)(unsigned char)word[i] << 8 * i;
    return mix(h, x);
}

/* TABLES: in none. */
static int table_of(size_t bytes)
{
    int k = 0;
    while (k < TABLES && bytes > shapes[k].word) k++;
    return bytes > 0 ? k : TABLES;
}

static entry *entry_at(const table *t, const shape *s, uint64_t set, uint64_t way)
{
    return (entry *)(void *)(t->item + (set * WAYS + way) * s->entry);
}

static char *word_of(entry *e)
{
    return (char *)e + HEAD;
}

static int32_t *ids_of(entry *e, const shape *s)
{
    return (int32_t *)(void *)((char *)e + HEAD + s->word);
}

const int32_t *tokenizer_cache_get(int64_t *n, tokenizer_cache *c, const char *word, size_t bytes)
{
    int k = table_of(bytes);
    if (k == TABLES) return NULL;
    const shape *s = &shapes[k];
    uint64_t h = hash_of(word, bytes), set = h % s->sets;
    for (uint64_t way = 0; way < WAYS; way++) {
        entry *e = entry_at(&c->table[k], s, set, way);
        if (e->hash != h || e->bytes != bytes || memcmp(word_of(e), word, bytes) != 0) continue;
        c->table[k].newer[set] = (uint8_t)way;
        *n = e->n;
        return ids_of(e, s);
    }
    return NULL;
}

void tokenizer_cache_put(tokenizer_cache *c, const char *word, size_t bytes, const int32_t *id,
                         int64_t n)
{
    int k = table_of(bytes);
    if (k == TABLES) return;
    const shape *s = &shapes[k];
    if ((size_t)n * sizeof *id > s->entry - HEAD - s->word) return;
    uint64_t h = hash_of(word, bytes), set = h % s->sets;
    uint64_t way = 1u - c->table[k].newer[set];
    entry *e = entry_at(&c->table[k], s, set, way);
    *e = (entry){.hash = h, .bytes = (uint16_t)bytes, .n = (uint16_t)n};
    memcpy(word_of(e), word, bytes);
    if (n > 0) memcpy(ids_of(e, s), id, (size_t)n * sizeof *id);
    c->table[k].newer[set] = (uint8_t)way;
}
