/*
 * shingle.c: code tokens, their shingles and MinHash signatures.
 */
#include <string.h>

#include "corpus/shingle.h"

/* ---- code ---------------------------------------------------------------------- */

int corpus_code_of(corpus_code *out, const hpc_tokens *t)
{
    if (out->cap < t->n || !out->hash) {
        int64_t cap = t->n + t->n / 2;
        corpus_code_release(out);
        uint32_t *hash = hpc_alloc((size_t)(cap + CORPUS_CODE_BEFORE), sizeof *hash);
        uint32_t *name = hpc_alloc((size_t)(cap + CORPUS_CODE_BEFORE), sizeof *name);
        if (!hash || !name) {
            hpc_free(hash);
            hpc_free(name);
            return HPC_E_NOMEM;
        }
        for (int i = 0; i < CORPUS_CODE_BEFORE; i++) name[i] = CORPUS_CODE_NAMES;
        *out = (corpus_code){hash + CORPUS_CODE_BEFORE, name + CORPUS_CODE_BEFORE, 0, cap};
    }
    int64_t n = 0;
    for (int64_t i = 0; i < t->n; i++) {
        const hpc_token *k = &t->item[i];
        uint32_t other = -(uint32_t)(k->kind != HPC_TOKEN_NAME); /* a branch would be a guess */
        out->hash[n] = k->hash;
        out->name[n] = (k->hash % CORPUS_CODE_NAMES & ~other) | (CORPUS_CODE_NAMES & other);
        n += corpus_is_code(k);
    }
    out->n = n;
    return HPC_OK;
}

void corpus_code_release(corpus_code *c)
{
    if (c->hash) hpc_free(c->hash - CORPUS_CODE_BEFORE);
    if (c->name) hpc_free(c->name - CORPUS_CODE_BEFORE);
    *c = (corpus_code){0};
}

/* ---- shingles ------------------------------------------------------------------ */

static uint64_t shingle(const uint32_t *last)
{
    const uint64_t b = HPC_ROLL_BASE;
    return hpc_mix(last[-4] * (b * b * b * b) + last[-3] * (b * b * b) + last[-2] * (b * b) +
                   last[-1] * b + last[0]);
}

#ifdef __x86_64__
/* Eight at a time, each on its own rather than one from the other. Returns how many. */
__attribute__((target("avx512f,avx512dq"))) static int64_t
shingles_avx512(uint64_t *out, const uint32_t *h, int64_t n)
{
    const uint64_t b = HPC_ROLL_BASE;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        corpus_vector t4 = CORPUS_WIDEN(h + i - 4);
        corpus_vector t3 = CORPUS_WIDEN(h + i - 3);
        corpus_vector t2 = CORPUS_WIDEN(h + i - 2);
        corpus_vector t1 = CORPUS_WIDEN(h + i - 1);
        corpus_vector sum = CORPUS_WIDEN(h + i);
        sum += t4 * (b * b * b * b) + t3 * (b * b * b) + t2 * (b * b) + t1 * b;
        sum = (sum ^ (sum >> 32)) * HPC_MIX;
        sum = (sum ^ (sum >> 32)) * HPC_MIX;
        sum ^= sum >> 32;
        memcpy(out + i, &sum, sizeof sum);
    }
    return i;
}
#endif

void corpus_shingles(uint64_t *out, const corpus_code *c, int64_t at, int64_t n)
{
    _Static_assert(CORPUS_SHINGLE == 5 && CORPUS_CODE_BEFORE >= 4, "shingle() is written for it");
    const uint32_t *h = c->hash + at;
    int64_t i = 0;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512dq")) i = shingles_avx512(out, h, n);
#endif
    for (; i < n; i++) out[i] = shingle(h + i);
}

/* ---- counting distinct hashes --------------------------------------------------- */

/* Linear counting (Whang 1990): from how many bits of a map stay zero follows how many different
 * hashes were drawn, within 0.3 % or so. A map that is nearly full says little: then one of a
 * sample counts, within 2 %. Both depend on the set alone, so that equal sets have equal counts. */
enum { MAP_LOG2 = 16, FEW_LOG2 = 14, SAMPLE_LOG2 = 6, FULL = 4 /* hashes for each bit */ };
typedef struct distinct {
    uint64_t map[1 << (MAP_LOG2 - 6)], few[1 << (FEW_LOG2 - 6)];
    uint32_t map_n, few_n; /* bits set */
} distinct;

static uint32_t set_bit(uint64_t *map, uint64_t at)
{
    uint64_t bit = UINT64_C(1) << (at & 63), old = map[at >> 6];
    map[at >> 6] = old | bit;
    return (old & bit) == 0;
}

static void distinct_add(distinct *d, uint64_t h)
{
    d->map_n += set_bit(d->map, h & ((1u << MAP_LOG2) - 1));
    h >>= MAP_LOG2;
    if ((h & ((1u << SAMPLE_LOG2) - 1)) != 0) return;
    d->few_n += set_bit(d->few, h >> SAMPLE_LOG2 & ((1u << FEW_LOG2) - 1));
}

/* The natural logarithm, of at least 1, by sums and products alone: the same on every machine. */
static double logarithm(double x)
{
    double powers = 0, sum = 0;
    while (x > 1.5) {
        x /= 2;
        powers++;
    }
    double y = (x - 1) / (x + 1), term = y;
    for (int k = 1; k < 40; k += 2, term *= y * y) sum += 2 * term / k;
    return sum + powers * 0.69314718055994530942;
}

static double drawn(uint32_t set, uint32_t bits)
{
    double zero = set < bits ? bits - set : 0.5;
    return bits * logarithm(bits / zero);
}

static uint32_t distinct_count(const distinct *d)
{
    double n = drawn(d->map_n, 1u << MAP_LOG2);
    if (n > (double)FULL * (1u << MAP_LOG2))
        n = drawn(d->few_n, 1u << FEW_LOG2) * (1u << SAMPLE_LOG2);
    return (uint32_t)(n + 0.5);
}

/* ---- signatures ---------------------------------------------------------------- */

/* The seven upper bits of a shingle's hash select its lane. The lane takes the smallest whole hash
 * and keeps its low bits, which are independent of the order. */
enum { LANE_SHIFT = 57 };

/* An empty lane copies one that is not, each by a sequence of its own: the optimal densification
 * of Shrivastava (2017), so that bands of few shingles are as selective as those of many. Bit 0
 * tells copies, which count for finding candidates and not for estimating. */
static void densify(corpus_signature *out, const uint64_t least[CORPUS_LANES])
{
    for (uint32_t i = 0; i < CORPUS_LANES; i++) {
        uint32_t from = i;
        for (uint64_t k = 1; least[from] == UINT64_MAX; k++)
            from = (uint32_t)(hpc_mix((uint64_t)(i + 1) << 32 | k) >> LANE_SHIFT);
        out->lane[i] = (uint16_t)((least[from] & 0xfffe) | (from != i));
    }
}

static void sign_shingles(uint64_t least[CORPUS_LANES], distinct *d, uint64_t *h, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        h[i] -= h[i] == UINT64_MAX; /* which marks an empty lane */
        uint64_t *lane = &least[h[i] >> LANE_SHIFT];
        *lane = h[i] < *lane ? h[i] : *lane;
    }
    for (int64_t i = 0; i < n; i++) distinct_add(d, h[i]);
}

/* The first token that a shingle ends in; of fewer tokens than that, all are one. */
static int64_t first_end(const corpus_code *c)
{
    return c->n < CORPUS_SHINGLE ? c->n - 1 : CORPUS_SHINGLE - 1;
}

/* In batches, each loop with little to do: several times faster than token by token. */
void corpus_sign(corpus_signature *out, const corpus_code *c)
{
    enum { BATCH = 256 };
    uint64_t least[CORPUS_LANES], h[BATCH];
    distinct d;
    memset(out, 0, sizeof *out);
    if (c->n == 0) return;
    memset(least, 0xff, sizeof least);
    memset(&d, 0, sizeof d);
    for (int64_t at = first_end(c); at < c->n; at += BATCH) {
        int64_t n = c->n - at < BATCH ? c->n - at : BATCH;
        corpus_shingles(h, c, at, n);
        sign_shingles(least, &d, h, n);
    }
    out->shingles = distinct_count(&d);
    densify(out, least);
}

double corpus_similarity(const corpus_signature *a, const corpus_signature *b)
{
    int either = 0, same = 0;
    if (a->shingles == 0 || b->shingles == 0) return a->shingles == b->shingles;
    for (int i = 0; i < CORPUS_LANES; i++) {
        either += !(a->lane[i] & b->lane[i] & 1);
        same += a->lane[i] == b->lane[i] && !(a->lane[i] & 1);
    }
    return either > 0 ? (double)same / either : 0;
}
