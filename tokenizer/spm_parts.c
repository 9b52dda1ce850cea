/*
 * spm_parts.c: looks up symbols by text. Hashes of all prefixes and suffixes of a piece follow
 * from each other, so a lookup needs no pass over the text.
 */
#include <string.h>

#include "tokenizer/spm.h"

#define BASE 0x9E3779B97F4A7C15u /* odd */

/* Small, because most lookups fail. */
typedef struct part {
    uint32_t hash;
    int32_t symbol; /* plus one; 0: free */
} part;

struct spm_parts {
    const spm_state *m;
    part *item;
    uint32_t mask;
    int64_t n;
    uint64_t power[SPM_PIECE_MOST + 1]; /* of BASE */
};

static uint32_t mixed(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= BASE;
    return (uint32_t)(hash >> 32);
}

static int resize(spm_parts *p, uint64_t places)
{
    part *old = p->item;
    uint64_t old_places = old ? (uint64_t)p->mask + 1 : 0;
    part *item = hpc_alloc(places, sizeof *item);
    if (!item) return HPC_E_NOMEM;
    p->item = item;
    p->mask = (uint32_t)(places - 1);
    for (uint64_t i = 0; i < old_places; i++) {
        if (!old[i].symbol) continue;
        uint32_t at = old[i].hash & p->mask;
        while (item[at].symbol) at = (at + 1) & p->mask;
        item[at] = old[i];
    }
    hpc_free(old);
    return HPC_OK;
}

int spm_parts_create(spm_parts **out, const spm_state *m)
{
    int rc = HPC_OK;
    uint64_t places = 64;
    spm_parts *p = hpc_alloc(1, sizeof *p);
    *out = NULL;
    if (!p) return HPC_E_NOMEM;
    p->m = m;
    p->power[0] = 1;
    for (size_t i = 1; i <= SPM_PIECE_MOST; i++) p->power[i] = p->power[i - 1] * BASE;
    while (places < (uint64_t)m->pieces_n * 3) places *= 2;
    TRY(resize(p, places));
    *out = p;
    p = NULL;
out:
    spm_parts_free(p);
    return rc;
}

void spm_parts_free(spm_parts *p)
{
    if (!p) return;
    hpc_free(p->item);
    hpc_free(p);
}

static uint64_t next_hash(uint64_t hash, char c)
{
    return hash * BASE + (unsigned char)c + 1;
}

void spm_parts_hash(uint64_t *hash, const char *text, size_t n)
{
    hash[0] = 0;
    for (size_t i = 0; i < n; i++) hash[i + 1] = next_hash(hash[i], text[i]);
}

static part *look(const spm_parts *p, uint32_t hash, const char *text, size_t n)
{
    uint32_t at = hash & p->mask;
    for (; p->item[at].symbol; at = (at + 1) & p->mask) {
        if (p->item[at].hash != hash) continue;
        spm_text t = p->m->symbol[p->item[at].symbol - 1];
        if (t.n == n && memcmp(t.text, text, n) == 0) break;
    }
    return &p->item[at];
}

int32_t spm_parts_find(const spm_parts *p, const uint64_t *hash, const char *text, size_t from,
                       size_t to)
{
    uint64_t h = hash[to] - hash[from] * p->power[to - from];
    return look(p, mixed(h), text + from, to - from)->symbol - 1;
}

static uint64_t hash_of(const char *text, size_t n)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < n; i++) hash = next_hash(hash, text[i]);
    return hash;
}

int32_t spm_parts_get(const spm_parts *p, const char *text, size_t n)
{
    return look(p, mixed(hash_of(text, n)), text, n)->symbol - 1;
}

int spm_parts_add(int32_t *there, spm_parts *p, int32_t symbol)
{
    spm_text t = p->m->symbol[symbol];
    uint32_t hash = mixed(hash_of(t.text, t.n));
    if ((uint64_t)(p->n + 1) * 2 > (uint64_t)p->mask + 1) {
        int rc = resize(p, ((uint64_t)p->mask + 1) * 2);
        if (rc < 0) return rc;
    }
    part *at = look(p, hash, t.text, t.n);
    p->n += !at->symbol;
    if (!at->symbol) *at = (part){.hash = hash, .symbol = symbol + 1};
    *there = at->symbol - 1;
    return HPC_OK;
}
