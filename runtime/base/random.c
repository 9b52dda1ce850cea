/*
 * random.c: Philox random numbers (philox.h), uniform and normal.
 *
 * Normals use only +, -, *, / and sqrt on doubles, which IEEE 754 rounds correctly.
 * Every compiler, CPU and backend that does not contract them therefore gives the same
 * bits. There is no generator state.
 */
#include "runtime/base/philox.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__FAST_MATH__)
#error "random.c needs exact IEEE arithmetic; build it without -ffast-math"
#endif
_Static_assert(FLT_EVAL_METHOD == 0, "random.c needs doubles without excess precision");

void hpc_random_block(uint32_t out[4], uint64_t seed, uint32_t tensor, uint32_t step,
                      uint64_t block)
{
    uint32_t word[PHILOX_LANES][PHILOX_GROUP];
    philox_draw(word, 1, &(philox_stream){seed, tensor, step}, block);
    for (int lane = 0; lane < PHILOX_LANES; lane++) out[lane] = word[lane][0];
}

uint32_t hpc_random_bits(uint64_t seed, uint32_t tensor, uint32_t step, uint64_t index)
{
    uint32_t out[PHILOX_LANES];
    hpc_random_block(out, seed, tensor, step, index / PHILOX_LANES);
    return out[index % PHILOX_LANES];
}

uint32_t hpc_random_share(double p)
{
    return (uint32_t)(p * 65536 + 0.5);
}

uint32_t hpc_random_half(uint64_t seed, uint32_t tensor, uint32_t step, uint64_t index)
{
    return hpc_random_bits(seed, tensor, step, index / 2) >> (index % 2 * 16) & 0xffff;
}

float hpc_random_uniform(uint32_t bits)
{
    return philox_unit(bits);
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

/* Numbers are handed on as the words that hold them. */
static void group_uniform(uint32_t out[PHILOX_WORDS], const philox_stream *s, uint64_t block)
{
    float unit[PHILOX_WORDS];
    philox_words(out, s, block);
    for (int k = 0; k < PHILOX_WORDS; k++) unit[k] = philox_unit(out[k]);
    memcpy(out, unit, sizeof unit);
}

static void group_normal(uint32_t out[PHILOX_WORDS], const philox_stream *s, uint64_t block)
{
    uint32_t word[PHILOX_LANES][PHILOX_GROUP];
    float normal[PHILOX_WORDS];
    philox_draw(word, PHILOX_GROUP, s, block);
    for (int j = 0; j < PHILOX_GROUP; j++)
        for (int lane = 0; lane < PHILOX_LANES; lane += 2)
            normals(&normal[j * PHILOX_LANES + lane], &normal[j * PHILOX_LANES + lane + 1],
                    word[lane][j], word[lane + 1][j]);
    memcpy(out, normal, sizeof normal);
}

void hpc_random_fill_uniform(float *out, int64_t n, uint64_t seed, uint32_t tensor, uint32_t step,
                             uint64_t first)
{
    philox_fill(out, n, sizeof *out, &(philox_stream){seed, tensor, step}, first, group_uniform);
}

void hpc_random_fill_normal(float *out, int64_t n, uint64_t seed, uint32_t tensor, uint32_t step,
                            uint64_t first)
{
    philox_fill(out, n, sizeof *out, &(philox_stream){seed, tensor, step}, first, group_normal);
}
