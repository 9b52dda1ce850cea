/*
 * spm_parts.c: from texts to symbols, for asking about all beginnings and ends of a piece: their
 * hashes follow from one another, so that a question costs no walk over the text.
 *
 * Only while a model is opened; afterwards merges are what counts.
 */
#include <string.h>

#include "tokenizer/spm.h"

#define BASE 0x9E3779B97F4A7C15u /* odd */

typedef struct part {
    uint64_t hash;
    int32_t symbol; /* plus one; 0: free */
} part;

struct spm_parts {
    const spm_state *m;
    part *item;
    uint64_t mask;
    int64_t n;
    uint64_t power[SPM_PIECE_MOST + 1]; /* of BASE */
};

static uint64_t place_of(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= BASE;
    return hash >> 32;
}

static int resize(spm_parts *p, uint64_t places)
{
    part *old = p->item;
    uint64_t old_places = old ? p->mask + 1 : 0;
    part *item = hpc_alloc(places, sizeof *item);
    if (!item) return HPC_E_NOMEM;
    p->item = item;
    p->mask = places - 1;
    for (uint64_t i = 0; i < old_places; i++) {
        if (!old[i].symbol) continue;
        uint64_t at = place_of(old[i].hash) & p->mask;
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
    while (places < (uint64_t)m->pieces_n * 2) places *= 2;
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

void spm_parts_hash(uint64_t *hash, const char *text, size_t n)
{
    hash[0] = 0;
    for (size_t i = 0; i < n; i++) hash[i + 1] = hash[i] * BASE + (unsigned char)text[i] + 1;
}

static part *look(const spm_parts *p, uint64_t hash, const char *text, size_t n)
{
    uint64_t at = place_of(hash) & p->mask;
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
    return look(p, h, text + from, to - from)->symbol - 1;
}

int spm_parts_add(spm_parts *p, int32_t symbol)
{
    uint64_t hash[SPM_PIECE_MOST + 1];
    spm_text t = p->m->symbol[symbol];
    if ((uint64_t)(p->n + 1) * 2 > p->mask + 1) {
        int rc = resize(p, (p->mask + 1) * 2);
        if (rc < 0) return rc;
    }
    spm_parts_hash(hash, t.text, t.n);
    *look(p, hash[t.n], t.text, t.n) = (part){.hash = hash[t.n], .symbol = symbol + 1};
    p->n++;
    return HPC_OK;
}
