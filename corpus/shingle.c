/*
 * shingle.c: shingles of code tokens, their MinHash signatures, and the exact similarity that the
 * signatures estimate.
 *
 * It finds no candidates (near.c does) and knows nothing about what is held out (sketch.c does).
 */
#include <string.h>

#include "corpus/shingle.h"

/* ---- windows ------------------------------------------------------------------- */

void corpus_roll_start(corpus_roll *r, int width)
{
    hpc_assert(width > 0 && width <= CORPUS_ROLL);
    r->sum = 0;
    r->n = 0;
    r->width = width;
    r->top = 1;
    for (int i = 0; i < width; i++) r->top *= CORPUS_ROLL_BASE;
}

int corpus_shingles(hpc_buf *out, const hpc_tokens *t, int width)
{
    uint64_t batch[256];
    size_t n = 0;
    int rc = HPC_OK;
    corpus_roll roll;
    corpus_roll_start(&roll, width);
    for (int64_t i = 0; i < t->n; i++) {
        if (!hpc_token_is_code(&t->item[i]) || !corpus_roll_push(&roll, t->item[i].hash)) continue;
        batch[n++] = corpus_mix(roll.sum);
        if (n < sizeof batch / sizeof *batch) continue;
        TRY(hpc_buf_add(out, batch, sizeof batch));
        n = 0;
    }
    if (n > 0) TRY(hpc_buf_add(out, batch, n * sizeof *batch));
out:
    return rc;
}

/* ---- sorting ------------------------------------------------------------------- */

/* Two digits at a time would be faster on large arrays and slower on the small ones of a file. */
void corpus_sort(uint64_t *a, uint64_t *scratch, int64_t n)
{
    uint64_t *from = a, *to = scratch;
    for (int shift = 0; shift < 64; shift += 8) {
        int64_t start[257] = {0};
        for (int64_t i = 0; i < n; i++) start[(from[i] >> shift & 255) + 1]++;
        for (int d = 0; d < 256; d++) start[d + 1] += start[d];
        for (int64_t i = 0; i < n; i++) to[start[from[i] >> shift & 255]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
}

int64_t corpus_unique(uint64_t *a, int64_t n)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || a[i] != a[i - 1]) a[kept++] = a[i];
    return kept;
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

/* The seven upper bits of a shingle's hash choose its lane, the whole hash is what the lane takes
 * the least of, and the low bits, which say nothing about the order, are what it keeps. */
enum { LANE_SHIFT = 57 };

/* An empty lane copies one that is not, each by a sequence of its own: the optimal densification
 * of Shrivastava (2017), so that bands of few shingles are as selective as those of many. Bit 0
 * tells copies, which count for finding candidates and not for estimating. */
static void densify(corpus_signature *out, const uint64_t least[CORPUS_LANES])
{
    for (uint32_t i = 0; i < CORPUS_LANES; i++) {
        uint32_t from = i;
        for (uint64_t k = 1; least[from] == UINT64_MAX; k++)
            from = (uint32_t)(corpus_mix((uint64_t)(i + 1) << 32 | k) >> LANE_SHIFT);
        out->lane[i] = (uint16_t)((least[from] & 0xfffe) | (from != i));
    }
}

static void sign_shingles(uint64_t least[CORPUS_LANES], distinct *d, uint64_t *h, int n)
{
    for (int i = 0; i < n; i++) {
        h[i] -= h[i] == UINT64_MAX; /* which marks an empty lane */
        uint64_t *lane = &least[h[i] >> LANE_SHIFT];
        *lane = h[i] < *lane ? h[i] : *lane;
    }
    for (int i = 0; i < n; i++) distinct_add(d, h[i]);
}

/* In batches, each loop with little to do: several times faster than token by token. */
void corpus_sign(corpus_signature *out, const hpc_tokens *t)
{
    enum { BATCH = 256 };
    uint64_t least[CORPUS_LANES], h[BATCH];
    uint32_t token[CORPUS_SHINGLE + BATCH] = {0};
    distinct d;
    corpus_roll roll;
    int64_t tokens_n = 0;
    memset(out, 0, sizeof *out);
    memset(least, 0xff, sizeof least);
    memset(&d, 0, sizeof d);
    corpus_roll_start(&roll, CORPUS_SHINGLE);
    uint64_t sum = 0, top = roll.top;
    for (int64_t i = 0; i < t->n;) {
        int n = 0;
        for (; i < t->n && n < BATCH; i++) {
            token[CORPUS_SHINGLE + n] = t->item[i].hash;
            n += corpus_is_code(&t->item[i]);
        }
        for (int k = 0; k < n; k++) {
            sum = sum * CORPUS_ROLL_BASE + token[CORPUS_SHINGLE + k] - token[k] * top;
            h[k] = corpus_mix(sum);
        }
        int early = tokens_n < CORPUS_SHINGLE - 1 ? (int)(CORPUS_SHINGLE - 1 - tokens_n) : 0;
        if (early < n) sign_shingles(least, &d, h + early, n - early);
        tokens_n += n;
        memmove(token, token + n, CORPUS_SHINGLE * sizeof *token);
    }
    if (tokens_n == 0) return;
    if (tokens_n < CORPUS_SHINGLE) { /* all of them are one */
        h[0] = corpus_mix(sum);
        sign_shingles(least, &d, h, 1);
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

/* ---- exactly --------------------------------------------------------------------- */

/* The set of a text as corpus_sign sees it, sorted. */
static int shingle_set(hpc_buf *out, int64_t *n, const hpc_tokens *t)
{
    int rc;
    uint64_t *scratch = NULL;
    TRY(corpus_shingles(out, t, CORPUS_SHINGLE));
    if (out->n == 0) { /* fewer tokens than a shingle has: all of them are one */
        corpus_roll roll;
        corpus_roll_start(&roll, CORPUS_SHINGLE);
        for (int64_t i = 0; i < t->n; i++)
            if (hpc_token_is_code(&t->item[i])) corpus_roll_push(&roll, t->item[i].hash);
        uint64_t h = corpus_mix(roll.sum);
        if (roll.n > 0) TRY(hpc_buf_add(out, &h, sizeof h));
    }
    *n = (int64_t)(out->n / sizeof(uint64_t));
    if (*n == 0) goto out;
    scratch = hpc_alloc((size_t)*n, sizeof *scratch);
    if (!scratch) {
        rc = HPC_E_NOMEM;
        goto out;
    }
    corpus_sort((uint64_t *)(void *)out->data, scratch, *n);
    *n = corpus_unique((uint64_t *)(void *)out->data, *n);
out:
    hpc_free(scratch);
    return rc;
}

int corpus_jaccard(double *out, const hpc_tokens *a, const hpc_tokens *b)
{
    int rc;
    hpc_buf sets[2] = {{0}, {0}};
    int64_t n[2] = {0}, both = 0;
    TRY(shingle_set(&sets[0], &n[0], a));
    TRY(shingle_set(&sets[1], &n[1], b));
    const uint64_t *x = (const void *)sets[0].data, *y = (const void *)sets[1].data;
    for (int64_t i = 0, j = 0; i < n[0] && j < n[1];) {
        both += x[i] == y[j];
        bool step_x = x[i] <= y[j], step_y = y[j] <= x[i];
        i += step_x;
        j += step_y;
    }
    int64_t all = n[0] + n[1] - both;
    *out = all > 0 ? (double)both / (double)all : 1;
out:
    hpc_buf_release(&sets[0]);
    hpc_buf_release(&sets[1]);
    return rc;
}
