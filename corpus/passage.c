/*
 * passage.c: windows of 50 code tokens that identify a text, and which of them count.
 *
 * A window counts if it has at least LEAST distinct names. Others do not identify a source: tables
 * of numbers, initialisers, lists of includes, closing braces, switches over consecutive cases.
 * The same rule applies when a sketch is made and when a text is checked; both exclude such
 * windows from their counts.
 */
#include <string.h>

#include "corpus/sketch.h"

enum { LEAST = 5, WIDTH = CORPUS_HELD_OUT_SHINGLE };

/* ---- one after the other ---------------------------------------------------------------- */

void corpus_passage_start(corpus_passage *p, const corpus_code *c)
{
    _Static_assert((int)WIDTH <= (int)CORPUS_CODE_BEFORE,
                   "the first windows reach before the text");
    p->code = c;
    p->at = p->distinct = 0;
    p->sum = 0;
    for (int i = 0; i <= CORPUS_CODE_NAMES; i++) p->last[i] = -WIDTH - 1;
}

static uint64_t top_power(void)
{
    uint64_t top = 1;
    for (int i = 0; i < WIDTH; i++) top *= HPC_ROLL_BASE;
    return top;
}

/* Names that share a number pass for one; the same ones do in every text. A name is counted as long
 * as the last of its kind is in the window, so that a token costs the same in every text. */
int corpus_passage_next(uint64_t key[CORPUS_PASSAGE_MOST], corpus_passage *p)
{
    int64_t at = p->at, end = p->code->n, distinct = p->distinct;
    const uint32_t *hash = p->code->hash;
    const uint32_t *name = p->code->name;
    uint64_t sum = p->sum, top = top_power();
    int keys = 0;
    if (at == end) return -1;
    if (end - at > CORPUS_PASSAGE_MOST) end = at + CORPUS_PASSAGE_MOST;
    for (; at < end; at++) {
        uint32_t in = name[at], out = name[at - WIDTH];
        distinct -= (out != CORPUS_CODE_NAMES) & (p->last[out] == at - WIDTH);
        distinct += (in != CORPUS_CODE_NAMES) & (p->last[in] <= at - WIDTH);
        p->last[in] = at;
        sum = sum * HPC_ROLL_BASE + hash[at] - hash[at - WIDTH] * top;
        key[keys] = sum;
        keys += (at >= WIDTH - 1) & (distinct >= LEAST);
    }
    for (int k = 0; k < keys; k++) key[k] = hpc_mix(key[k]);
    p->at = at;
    p->sum = sum;
    p->distinct = distinct;
    return keys;
}

uint64_t corpus_passage_stream(const corpus_code *c)
{
    uint64_t stream = 0;
    for (int64_t i = 0; i < c->n; i++) stream = hpc_stream_add(stream, c->hash[i]);
    return hpc_stream_end(stream, c->n);
}

/* ---- a few of them ------------------------------------------------------------------------ */

/* Powers by which the tokens of a window are multiplied, the first token's first; followed by
 * zeros, so that a window can be read in groups of eight. */
enum { EIGHTS = (WIDTH + 7) / 8 };
typedef struct powers {
    uint64_t of[8 * EIGHTS];
} powers;

static void find_powers(powers *p)
{
    memset(p, 0, sizeof *p);
    p->of[WIDTH - 1] = 1;
    for (int i = WIDTH - 1; i > 0; i--) p->of[i - 1] = p->of[i] * HPC_ROLL_BASE;
}

static uint64_t sum_of(const uint32_t *h, const powers *p)
{
    uint64_t sum = 0;
    for (int i = 0; i < WIDTH; i++) sum += h[i] * p->of[i];
    return sum;
}

#ifdef __x86_64__
/* Reads up to 8 * EIGHTS tokens. */
__attribute__((target("avx512f,avx512dq"))) static uint64_t sum_avx512(const uint32_t *h,
                                                                       const powers *p)
{
    corpus_vector sum = {0}, power;
    for (int i = 0; i < 8 * EIGHTS; i += 8) {
        memcpy(&power, p->of + i, sizeof power);
        sum += CORPUS_WIDEN(h + i) * power;
    }
    uint64_t all = 0;
    for (int i = 0; i < 8; i++) all += sum[i];
    return all;
}
#endif

/* The sum of the window that begins with token `at`. */
static uint64_t window_sum(const corpus_code *c, int64_t at, const powers *p, bool wide)
{
#ifdef __x86_64__
    if (wide && at + 8 * EIGHTS <= c->n) return sum_avx512(c->hash + at, p);
#else
    (void)wide;
#endif
    return sum_of(c->hash + at, p);
}

/* Names by the lower bits of their numbers: at most as many as there are. */
static uint64_t name_bits(const uint32_t *name, int n)
{
    uint64_t bits = 0;
    for (int i = 0; i < n; i++) bits |= (uint64_t)(name[i] != CORPUS_CODE_NAMES) << (name[i] & 63);
    return bits;
}

#ifdef __x86_64__
__attribute__((target("avx512f,avx512dq"))) static uint64_t name_bits_avx512(const uint32_t *name)
{
    corpus_vector bits = {0}, one = bits + 1;
    int i = 0;
    for (; i + 8 <= WIDTH; i += 8) {
        corpus_vector number = CORPUS_WIDEN(name + i);
        bits |= (one << (number & 63)) & (corpus_vector)(number != CORPUS_CODE_NAMES);
    }
    uint64_t all = name_bits(name + i, WIDTH - i);
    for (int k = 0; k < 8; k++) all |= bits[k];
    return all;
}
#endif

/* Does a window have LEAST distinct names? Usually the bits decide. */
static bool counts(const uint32_t *name, bool wide)
{
    uint32_t seen[LEAST];
    int n = 0;
#ifdef __x86_64__
    uint64_t bits = wide ? name_bits_avx512(name) : name_bits(name, WIDTH);
#else
    uint64_t bits = name_bits(name, WIDTH);
    (void)wide;
#endif
    int least = 0;
    for (; bits && least < LEAST; bits &= bits - 1) least++;
    if (least == LEAST) return true;
    for (int i = 0; i < WIDTH && n < LEAST; i++) {
        bool is_new = name[i] != CORPUS_CODE_NAMES;
        for (int k = 0; k < n; k++) is_new &= seen[k] != name[i];
        if (is_new) seen[n++] = name[i];
    }
    return n == LEAST;
}

int64_t corpus_passage_sample(uint64_t *key, const corpus_code *c, int64_t n)
{
    int64_t pairs = c->n - WIDTH, kept = 0;
    bool wide = false;
    powers p;
    find_powers(&p);
#ifdef __x86_64__
    wide = __builtin_cpu_supports("avx512dq");
#endif
    hpc_assert(n > 0 && pairs >= n);
    for (int64_t k = 0; k < n; k++) {
        int64_t lo = pairs * k / n, hi = pairs * (k + 1) / n;
        int64_t at = lo + (int64_t)(hpc_mix((uint64_t)k + 1) % (uint64_t)(hi - lo));
        if (!counts(c->name + at, wide) || !counts(c->name + at + 1, wide)) continue;
        uint64_t sum = window_sum(c, at, &p, wide);
        key[kept++] = hpc_mix(sum);
        key[kept++] = hpc_mix((sum - c->hash[at] * p.of[0]) * HPC_ROLL_BASE + c->hash[at + WIDTH]);
    }
    return kept / 2;
}
