/*
 * near_table.c: the hash tables of the bands.
 *
 * Buckets are bounded, so a hundred thousand files with a common band cost a few dozen comparisons
 * each; corpus_near_table_find states what is lost. Signatures are not compared here: two keys
 * with the same tag in one run of entries share a bucket, which costs an occasional comparison.
 */
#include <string.h>

#include "corpus/near.h"

uint64_t corpus_near_key(const near_lanes *s, int band)
{
    uint64_t key = 0;
    /* The bit for copied lanes is excluded: it depends on the size of the set. */
    for (int i = 0; i < NEAR_ROWS; i++) key = key << 7 | (s->lane[band * NEAR_ROWS + i] & 0x7f);
    return hpc_mix(key + (uint64_t)(band + 1) * HPC_ROLL_BASE);
}

int corpus_near_table_reserve(near_table *t, uint64_t size)
{
    corpus_near_table_release(t);
    t->tag = hpc_alloc(size, sizeof *t->tag);
    t->id = hpc_alloc(size, sizeof *t->id);
    t->size = size;
    return t->tag && t->id ? HPC_OK : HPC_E_NOMEM;
}

void corpus_near_table_release(near_table *t)
{
    hpc_free(t->tag);
    hpc_free(t->id);
    *t = (near_table){0};
}

bool corpus_near_table_full(const near_table *t)
{
    return t->n + 1 > t->size - t->size / 5;
}

static uint64_t place_of(const near_table *t, uint64_t key)
{
    return (uint64_t)(((unsigned __int128)key * t->size) >> 64);
}

void corpus_near_table_prefetch(const near_table *t, uint64_t key)
{
    uint64_t at = place_of(t, key);
    __builtin_prefetch(&t->tag[at]);
    __builtin_prefetch(&t->id[at]);
}

/* A full bucket keeps its NEAR_OLDEST first entries; a new entry replaces one of the others by
 * `chance`. So both old and new entries of a large group can be found. A replaced entry can still
 * be found by its other bands. */
void corpus_near_table_find(near_bucket *out, const near_table *t, uint64_t key, uint32_t chance)
{
    uint64_t at = place_of(t, key), victim = NEAR_OLDEST + chance % (NEAR_BUCKET - NEAR_OLDEST);
    out->tag = (uint8_t)key ? (uint8_t)key : 1;
    out->n = 0;
    uint64_t replaced = 0;
    for (; t->tag[at]; at = at + 1 < t->size ? at + 1 : 0) {
        if (t->tag[at] != out->tag) continue;
        if (out->n == victim) replaced = at;
        if (out->n == NEAR_BUCKET) break;
        out->id[out->n++] = t->id[at];
    }
    out->next = out->n < NEAR_BUCKET ? at : replaced;
}

void corpus_near_table_put(near_table *t, const near_bucket *b, uint32_t id)
{
    t->n += t->tag[b->next] == 0;
    t->tag[b->next] = b->tag;
    t->id[b->next] = id;
}
