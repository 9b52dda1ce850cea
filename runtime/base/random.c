/*
 * random.c: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", 2011) and the two distributions drawn from it.
 *
 * Normals use only +, -, *, / and sqrt on doubles, each correctly rounded by
 * IEEE 754, so every compiler, CPU and backend that does not contract them gives
 * the same bits. Work goes through short arrays, one lane of each per loop, so
 * that plain loops become vector code. There is no state to save or to seed.
 */
#include "runtime/base/base.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__FAST_MATH__)
#error "random.c needs exact IEEE arithmetic; build it without -ffast-math"
#endif
_Static_assert(FLT_EVAL_METHOD == 0, "random.c needs doubles without excess precision");

enum { ROUNDS = 10, LANES = 4, GROUP = 16 /* blocks drawn at once */ };

/* Element j of all four words is one block; its counter comes in and its bits go out. A
 * constant n lets the inner loop unroll and vectorise. */
__attribute__((always_inline)) static inline void philox(uint32_t word[LANES][GROUP], int n,
                                                         uint64_t seed)
{
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < ROUNDS; round++) {
        for (int j = 0; j < n; j++) {
            uint64_t a = (uint64_t)word[0][j] * 0xd2511f53u;
            uint64_t b = (uint64_t)word[2][j] * 0xcd9e8d57u;
            word[0][j] = (uint32_t)(b >> 32) ^ word[1][j] ^ key0;
            word[1][j] = (uint32_t)b;
            word[2][j] = (uint32_t)(a >> 32) ^ word[3][j] ^ key1;
            word[3][j] = (uint32_t)a;
        }
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
}

typedef struct stream {
    uint64_t seed;
    uint32_t tensor, step;
} stream;

__attribute__((always_inline)) static inline void draw(uint32_t word[LANES][GROUP], int n,
                                                       const stream *s, uint64_t block)
{
    for (int j = 0; j < n; j++) {
        word[0][j] = (uint32_t)(block + (uint64_t)j);
        word[1][j] = (uint32_t)((block + (uint64_t)j) >> 32);
        word[2][j] = s->tensor;
        word[3][j] = s->step;
    }
    philox(word, n, s->seed);
}

void hpc_random_block(uint32_t out[4], uint64_t seed, uint32_t tensor, uint32_t step,
                      uint64_t block)
{
    uint32_t word[LANES][GROUP];
    draw(word, 1, &(stream){seed, tensor, step}, block);
    for (int lane = 0; lane < LANES; lane++) out[lane] = word[lane][0];
}

uint32_t hpc_random_bits(uint64_t seed, uint32_t tensor, uint32_t step, uint64_t index)
{
    uint32_t out[LANES];
    hpc_random_block(out, seed, tensor, step, index / LANES);
    return out[index % LANES];
}

float hpc_random_uniform(uint32_t bits)
{
    return (float)(bits >> 8) * 0x1p-24f;
}

/* ---- normals --------------------------------------------------------------- */

/* The natural logarithm of a normal positive x, to about 2 ulp: x = m 2^e with m in
 * [sqrt(1/2), sqrt(2)), log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172. */
static double log_of(double x)
{
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcdu, one = 0x3ff0000000000000u;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int e = (int)((bits - sqrt_half + one) >> 52) - 1023;
    bits -= (uint64_t)(int64_t)e << 52;
    double m;
    memcpy(&m, &bits, sizeof m);

    double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = 1.0 / 21.0;
    p = p * z + 1.0 / 19.0;
    p = p * z + 1.0 / 17.0;
    p = p * z + 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z + 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z + 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z + 1.0 / 3.0;
    return (double)e * 0x1.62e42fefa39efp-1 + (2.0 * s + 2.0 * s * (z * p));
}

/* Cosine and sine of 2 pi (bits + 1/2) / 2^32: the quadrant is split off exactly, as an
 * integer, and Taylor's polynomials serve the rest, which is within pi/4 of zero. */
static void turn(double *cosine, double *sine, uint32_t bits)
{
    uint32_t quadrant = (bits + 0x20000000u) >> 30;
    double part = (double)(int32_t)(bits - (quadrant << 30)) + 0.5;
    double t = part * 0x1.921fb54442d18p-30, z = t * t;

    double s = -1.0 / 1307674368000.0;
    s = s * z + 1.0 / 6227020800.0;
    s = s * z - 1.0 / 39916800.0;
    s = s * z + 1.0 / 362880.0;
    s = s * z - 1.0 / 5040.0;
    s = s * z + 1.0 / 120.0;
    s = s * z - 1.0 / 6.0;
    s = t + t * (z * s);
    double c = 1.0 / 20922789888000.0;
    c = c * z - 1.0 / 87178291200.0;
    c = c * z + 1.0 / 479001600.0;
    c = c * z - 1.0 / 3628800.0;
    c = c * z + 1.0 / 40320.0;
    c = c * z - 1.0 / 720.0;
    c = c * z + 1.0 / 24.0;
    c = c * z - 0.5;
    c = 1.0 + z * c;

    double x = quadrant & 1 ? -s : c, y = quadrant & 1 ? c : s;
    *cosine = quadrant & 2 ? -x : x;
    *sine = quadrant & 2 ? -y : y;
}

/* Box and Muller: lanes 2k and 2k + 1 of a block make its elements 2k and 2k + 1. The half
 * added to each keeps the logarithm finite and the angles symmetric. */
static void normals(float *even, float *odd, uint32_t radius_bits, uint32_t angle_bits)
{
    double r = sqrt(-2.0 * log_of(((double)radius_bits + 0.5) * 0x1p-32));
    double cosine, sine;
    turn(&cosine, &sine, angle_bits);
    *even = (float)(r * cosine);
    *odd = (float)(r * sine);
}

/* ---- fills ----------------------------------------------------------------- */

static void group_uniform(float out[GROUP * LANES], const stream *s, uint64_t block)
{
    uint32_t word[LANES][GROUP];
    draw(word, GROUP, s, block);
    for (int j = 0; j < GROUP; j++)
        for (int lane = 0; lane < LANES; lane++)
            out[j * LANES + lane] = hpc_random_uniform(word[lane][j]);
}

static void group_normal(float out[GROUP * LANES], const stream *s, uint64_t block)
{
    uint32_t word[LANES][GROUP];
    draw(word, GROUP, s, block);
    for (int j = 0; j < GROUP; j++)
        for (int lane = 0; lane < LANES; lane += 2)
            normals(&out[j * LANES + lane], &out[j * LANES + lane + 1], word[lane][j],
                    word[lane + 1][j]);
}

/* Groups begin at the block of `first`; at both ends only a part of one may be wanted. */
static void fill(float *out, int64_t n, const stream *s, uint64_t first,
                 void (*group)(float *out, const stream *s, uint64_t block))
{
    hpc_assert(n >= 0 && (n == 0 || first <= UINT64_MAX - (uint64_t)(n - 1)));
    uint64_t block = first / LANES;
    int64_t skip = (int64_t)(first % LANES);
    for (int64_t done = 0; done < n; block += GROUP) {
        int64_t left = n - done, here = GROUP * LANES - skip;
        if (here > left) here = left;
        if (here == GROUP * LANES) {
            group(out + done, s, block);
        } else {
            float part[GROUP * LANES];
            group(part, s, block);
            memcpy(out + done, part + skip, (size_t)here * sizeof *part);
        }
        done += here;
        skip = 0;
    }
}

void hpc_random_fill_uniform(float *out, int64_t n, uint64_t seed, uint32_t tensor, uint32_t step,
                             uint64_t first)
{
    fill(out, n, &(stream){seed, tensor, step}, first, group_uniform);
}

void hpc_random_fill_normal(float *out, int64_t n, uint64_t seed, uint32_t tensor, uint32_t step,
                            uint64_t first)
{
    fill(out, n, &(stream){seed, tensor, step}, first, group_normal);
}
