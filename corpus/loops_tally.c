/*
 * loops_tally.c: deduplicates loops: counts pairs of loop and directive, and assigns loops to
 * splits.
 *
 * Test takes precedence over validation, and validation over train, so no measured loop was
 * trained on. Texts are not stored.
 */
#include <string.h>

#include "corpus/loops.h"

enum { PARALLEL_FOR = 1 << LOOPS_KIND_N, SPLIT = LOOPS_KIND_N + 1 /* two bits from here */ };

typedef struct pair_key {
    uint8_t byte[34];
} pair_key;

static pair_key key_of(const loops_record *r, hpc_split split)
{
    pair_key k;
    memcpy(k.byte, &r->hash, 16);
    memcpy(k.byte + 16, &r->directive_hash, 16);
    k.byte[32] = r->kind;
    k.byte[33] = (uint8_t)split;
    return k;
}

int loops_tally_init(loops_tally *t)
{
    t->loops = hpc_map_create();
    t->pairs = hpc_map_create();
    return t->loops && t->pairs ? HPC_OK : HPC_E_NOMEM;
}

void loops_tally_release(loops_tally *t)
{
    hpc_map_free(t->loops);
    hpc_map_free(t->pairs);
    *t = (loops_tally){0};
}

int loops_tally_add(loops_tally *t, const loops_record *r, bool *fresh)
{
    const uint32_t both = HPC_OMP_PARALLEL | HPC_OMP_FOR;
    pair_key key = key_of(r, (hpc_split)r->split);
    uint64_t bits = 0, seen = 0;
    int rc = HPC_OK;
    hpc_map_get(t->loops, &r->hash, sizeof r->hash, &bits);
    uint64_t split = bits >> SPLIT > r->split ? bits >> SPLIT : r->split;
    bits = (bits & ((UINT64_C(1) << SPLIT) - 1)) | split << SPLIT | UINT64_C(1) << r->kind;
    if (r->kind == LOOPS_ANNOTATED && (r->words & both) == both) bits |= PARALLEL_FOR;
    *fresh = !hpc_map_get(t->pairs, &key, sizeof key, &seen);
    TRY(hpc_map_put(t->loops, &r->hash, sizeof r->hash, bits));
    TRY(hpc_map_put(t->pairs, &key, sizeof key, seen + 1));
out:
    return rc;
}

static uint64_t bits_of(const loops_tally *t, const loops_record *r)
{
    uint64_t bits = 0;
    hpc_map_get(t->loops, &r->hash, sizeof r->hash, &bits);
    return bits;
}

static bool has_directive(uint64_t bits)
{
    return bits >> LOOPS_ANNOTATED & 1 || bits >> LOOPS_ACC & 1;
}

loops_kind loops_tally_kind(const loops_tally *t, const loops_record *r)
{
    bool disputed = r->kind == LOOPS_PRESUMED && has_directive(bits_of(t, r));
    return disputed ? LOOPS_DISPUTED : (loops_kind)r->kind;
}

bool loops_tally_straddles(const loops_tally *t, const loops_record *r)
{
    return bits_of(t, r) >> SPLIT != r->split;
}

int64_t loops_tally_occurrences(const loops_tally *t, const loops_record *r)
{
    uint64_t all = 0, n = 0;
    for (int s = 0; s < HPC_SPLIT_N; s++) {
        pair_key key = key_of(r, (hpc_split)s);
        if (hpc_map_get(t->pairs, &key, sizeof key, &n)) all += n;
    }
    return (int64_t)all;
}

/* Does the same pair have an entry for an earlier split? */
static bool counted_before(const loops_tally *t, pair_key key)
{
    for (uint8_t split = key.byte[33]; split > 0;) {
        key.byte[33] = --split;
        if (hpc_map_get(t->pairs, &key, sizeof key, NULL)) return true;
    }
    return false;
}

void loops_tally_counts(hpc_loops_result *out, const loops_tally *t)
{
    uint64_t bits = 0;
    out->distinct_n = hpc_map_n(t->loops);
    for (int64_t k = 0; hpc_map_at(t->loops, k, NULL, &bits); k++) {
        out->annotated_n += bits >> LOOPS_ANNOTATED & 1;
        out->acc_n += bits >> LOOPS_ACC & 1;
        out->presumed_n += (bits >> LOOPS_PRESUMED & 1) && !has_directive(bits);
        out->parallel_for_n += (bits & PARALLEL_FOR) != 0;
    }
    const void *key;
    for (int64_t k = 0; (key = hpc_map_at(t->pairs, k, NULL, NULL)); k++) {
        pair_key copy;
        memcpy(&copy, key, sizeof copy);
        out->distinct_pairs_n += copy.byte[32] == LOOPS_ANNOTATED && !counted_before(t, copy);
    }
}
