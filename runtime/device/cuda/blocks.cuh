/*
 * blocks.cuh: block formats in kernels: the unit of 32 elements that every format has, as signed or
 * unsigned bytes with factors. Element e of half h (16 elements) of a unit is
 *
 *     scale half[h] q - min half_min[h]
 *
 * where half and half_min are 1 in formats without them. The parts of a block lie in planes or, in
 * plain rows, together; kernels read both.
 */
#ifndef HPC_CUDA_BLOCKS_H
#define HPC_CUDA_BLOCKS_H

#include "runtime/device/cuda/tensor.cuh"
#include "runtime/device/kernel/planes.h"

enum { UNIT = 32, UNIT_WORDS = UNIT / 4, UNITS = 8 /* of a block of 256 elements */ };

/* Which factors a format has beside `scale`. */
enum block_form { FORM_PLAIN, FORM_MIN, FORM_HALF, FORM_HALF_MIN };

struct block_view {
    const uint8_t *part[HPC_PARTS_MOST];
    int stride[HPC_PARTS_MOST]; /* between blocks */
    int dtype, block;
    int64_t across; /* blocks of a row */
};

struct block_unit {
    uint32_t q[UNIT_WORDS]; /* four bytes each */
    float scale, min;
    int half[2], half_min[2];
};

SIMT_BOTH bool is_block_format(int dtype)
{
    return dtype >= HPC_Q8_0 && dtype <= HPC_IQ4_XS;
}

/* On the host. */
inline block_view block_view_of(const hpc_tensor &t)
{
    const hpc_block_parts of = hpc_block_parts_of(t.dtype);
    block_view v = {};
    if (of.block == 0) return v;
    const int64_t blocks = extents(t, 0, t.rank) / of.block;
    int64_t before = 0;
    for (int p = 0; p < HPC_PARTS_MOST; p++) {
        const bool planes = t.pack == HPC_PLANES;
        v.part[p] = (const uint8_t *)t.data + (planes ? blocks * before : of.part[p].at);
        v.stride[p] = planes ? of.part[p].bytes : of.block_bytes;
        before += of.part[p].bytes;
    }
    v.dtype = t.dtype;
    v.block = of.block;
    v.across = cols_of(t) / of.block;
    return v;
}

/* ---- bits -------------------------------------------------------------------------------------
 */

SIMT_DEVICE uint16_t load_2(const uint8_t *p)
{
    return *(const uint16_t *)p;
}

/* Plain blocks are only aligned to 2 bytes. */
SIMT_DEVICE uint32_t load_4(const uint8_t *p)
{
    if ((uintptr_t)p % 4 == 0) return *(const uint32_t *)p;
    return (uint32_t)load_2(p) | (uint32_t)load_2(p + 2) << 16;
}

SIMT_DEVICE void load_16(uint32_t w[4], const uint8_t *p)
{
    if ((uintptr_t)p % 16 == 0) {
        const simt_16 bits = *(const simt_16 *)p;
        for (int k = 0; k < 4; k++) w[k] = bits.word[k];
        return;
    }
    for (int k = 0; k < 4; k++) w[k] = load_4(p + 4 * k);
}

/* Bytes below 128, less an offset of at most 128. */
SIMT_DEVICE uint32_t less(uint32_t bytes, uint32_t offset)
{
    return ((bytes | 0x80808080u) - offset * 0x01010101u) ^ 0x80808080u;
}

/* Bits i to i + 3, one in each byte. */
SIMT_DEVICE uint32_t spread_bits(uint32_t bits, int i)
{
    return (bits >> i & 15) * 0x00204081u & 0x01010101u;
}

SIMT_DEVICE int byte_of(uint32_t word, int k)
{
    return (int)(word >> 8 * k & 255);
}

/* Byte k of three words, without an address: an index into registers would spill them. */
SIMT_DEVICE int byte_of(const uint32_t w[3], int k)
{
    return byte_of(k < 4 ? w[0] : k < 8 ? w[1] : w[2], k & 3);
}

/* hpc_iq4_levels of the low nibble of each byte. */
SIMT_DEVICE uint32_t levels_of(const simt &t, uint32_t nibbles)
{
    const uint32_t select = (nibbles & 15) | (nibbles >> 4 & 0xf0) | (nibbles >> 8 & 0xf00) |
                            (nibbles >> 12 & 0xf000);
    const uint32_t low = t.permute(0xbfad9881u, 0xf6eaddcfu, select & 0x7777),
                   high = t.permute(0x26190d01u, 0x71594535u, select & 0x7777),
                   mask = (nibbles >> 3 & 0x01010101u) * 255;
    return (high & mask) | (low & ~mask);
}

/* ---- formats: unit `s` of block b, of which factors are set -----------------------------------
 */

SIMT_DEVICE const uint8_t *block_part(const block_view &v, int p, int64_t b)
{
    return v.part[p] + b * v.stride[p];
}

SIMT_DEVICE float factor_of(const uint8_t *p)
{
    return hpc_f16_to_f32(load_2(p));
}

SIMT_DEVICE void load_nibbles(uint32_t q[UNIT_WORDS], const uint8_t *p)
{
    uint32_t w[4];
    load_16(w, p);
    for (int k = 0; k < 4; k++) {
        q[k] = w[k] & 0x0f0f0f0fu;
        q[k + 4] = w[k] >> 4 & 0x0f0f0f0fu;
    }
}

SIMT_DEVICE void add_fifths(uint32_t q[UNIT_WORDS], uint32_t bits)
{
    for (int k = 0; k < UNIT_WORDS; k++) q[k] |= spread_bits(bits, 4 * k) << 4;
}

/* 6-bit scale and minimum: see scale_get of quant.c. */
SIMT_DEVICE void load_scale_min(block_unit &u, const uint8_t *scales, const uint8_t *factors, int s)
{
    const uint32_t a = load_4(scales), b = load_4(scales + 4), c = load_4(scales + 8);
    const int k = s & 3, low = byte_of(a, k), middle = byte_of(b, k), top = byte_of(c, k);
    const int scale = s < 4 ? low & 63 : (top & 15) | low >> 6 << 4;
    const int min = s < 4 ? middle & 63 : top >> 4 | middle >> 6 << 4;
    u.scale = factor_of(factors) * (float)scale;
    u.min = factor_of(factors + 2) * (float)min;
}

template <int dtype> struct block_format;

template <> struct block_format<HPC_Q8_0> {
    enum { form = FORM_PLAIN };
    static SIMT_DEVICE void load(const simt &, block_unit &u, const block_view &v, int64_t b, int)
    {
        load_16(u.q, block_part(v, 0, b));
        load_16(u.q + 4, block_part(v, 0, b) + 16);
        u.scale = factor_of(block_part(v, 1, b));
    }
};

template <> struct block_format<HPC_Q4_0> {
    enum { form = FORM_PLAIN };
    static SIMT_DEVICE void load(const simt &, block_unit &u, const block_view &v, int64_t b, int)
    {
        load_nibbles(u.q, block_part(v, 0, b));
        for (int k = 0; k < UNIT_WORDS; k++) u.q[k] = less(u.q[k], 8);
        u.scale = factor_of(block_part(v, 1, b));
    }
};

template <> struct block_format<HPC_Q4_1> {
    enum { form = FORM_MIN };
    static SIMT_DEVICE void load(const simt &, block_unit &u, const block_view &v, int64_t b, int)
    {
        load_nibbles(u.q, block_part(v, 0, b));
        u.scale = factor_of(block_part(v, 1, b));
        u.min = -factor_of(block_part(v, 1, b) + 2);
    }
};

template <> struct block_format<HPC_Q5_0> {
    enum { form = FORM_PLAIN };
    static SIMT_DEVICE void load(const simt &, block_unit &u, const block_view &v, int64_t b, int)
    {
        load_nibbles(u.q, block_part(v, 0, b));
        add_fifths(u.q, load_4(block_part(v, 1, b)));
        for (int k = 0; k < UNIT_WORDS; k++) u.q[k] = less(u.q[k], 16);
        u.scale = factor_of(block_part(v, 2, b));
    }
};

template <> struct block_format<HPC_Q5_1> {
    enum { form = FORM_MIN };
    static SIMT_DEVICE void load(const simt &, block_unit &u, const block_view &v, int64_t b, int)
    {
        load_nibbles(u.q, block_part(v, 0, b));
        add_fifths(u.q, load_4(block_part(v, 1, b)));
        u.scale = factor_of(block_part(v, 2, b));
        u.min = -factor_of(block_part(v, 2, b) + 2);
    }
};

/* 32 bytes for two units: low nibbles, then high. */
SIMT_DEVICE void load_nibbles_of_pair(uint32_t q[UNIT_WORDS], const uint8_t *p, int s)
{
    load_16(q, p + s / 2 * UNIT);
    load_16(q + 4, p + s / 2 * UNIT + 16);
    for (int k = 0; k < UNIT_WORDS; k++) q[k] = q[k] >> s % 2 * 4 & 0x0f0f0f0fu;
}

template <> struct block_format<HPC_Q4_K> {
    enum { form = FORM_MIN };
    static SIMT_DEVICE void load(const simt &, block_unit &u, const block_view &v, int64_t b, int s)
    {
        load_nibbles_of_pair(u.q, block_part(v, 0, b), s);
        load_scale_min(u, block_part(v, 1, b), block_part(v, 2, b), s);
    }
};

/* Bit s of each of 32 bytes, moved to bit `to`. */
SIMT_DEVICE void add_bit(uint32_t q[UNIT_WORDS], const uint8_t *p, int s, int to)
{
    uint32_t high[UNIT_WORDS];
    load_16(high, p);
    load_16(high + 4, p + 16);
    for (int k = 0; k < UNIT_WORDS; k++) q[k] |= (high[k] >> s & 0x01010101u) << to;
}

template <> struct block_format<HPC_Q5_K> {
    enum { form = FORM_MIN };
    static SIMT_DEVICE void load(const simt &, block_unit &u, const block_view &v, int64_t b, int s)
    {
        load_nibbles_of_pair(u.q, block_part(v, 0, b), s);
        add_bit(u.q, block_part(v, 1, b), s, 4);
        load_scale_min(u, block_part(v, 2, b), block_part(v, 3, b), s);
    }
};

/* Two bits of elements l, l + 32, l + 64, l + 96 of a half in each of 32 bytes. */
SIMT_DEVICE void load_two_bits(uint32_t q[UNIT_WORDS], const uint8_t *p, int s)
{
    load_16(q, p + s / 4 * UNIT);
    load_16(q + 4, p + s / 4 * UNIT + 16);
    for (int k = 0; k < UNIT_WORDS; k++) q[k] = q[k] >> s % 4 * 2 & 0x03030303u;
}

template <> struct block_format<HPC_Q6_K> {
    enum { form = FORM_HALF };
    static SIMT_DEVICE void load(const simt &, block_unit &u, const block_view &v, int64_t b, int s)
    {
        uint32_t high[UNIT_WORDS];
        const uint8_t *low = block_part(v, 0, b) + s / 4 * 2 * UNIT + s % 2 * UNIT;
        load_16(u.q, low);
        load_16(u.q + 4, low + 16);
        load_two_bits(high, block_part(v, 1, b), s);
        for (int k = 0; k < UNIT_WORDS; k++)
            u.q[k] = less((u.q[k] >> s % 4 / 2 * 4 & 0x0f0f0f0fu) | high[k] << 4, 32);
        const uint16_t scales = load_2(block_part(v, 2, b) + 2 * s);
        u.half[0] = (int8_t)scales;
        u.half[1] = (int8_t)(scales >> 8);
        u.scale = factor_of(block_part(v, 3, b));
    }
};

template <> struct block_format<HPC_Q2_K> {
    enum { form = FORM_HALF_MIN };
    static SIMT_DEVICE void load(const simt &, block_unit &u, const block_view &v, int64_t b, int s)
    {
        load_two_bits(u.q, block_part(v, 0, b), s);
        const uint16_t scales = load_2(block_part(v, 1, b) + 2 * s);
        for (int h = 0; h < 2; h++) {
            u.half[h] = scales >> 8 * h & 15;
            u.half_min[h] = scales >> (8 * h + 4) & 15;
        }
        u.scale = factor_of(block_part(v, 2, b));
        u.min = factor_of(block_part(v, 2, b) + 2);
    }
};

template <> struct block_format<HPC_Q3_K> {
    enum { form = FORM_HALF };
    static SIMT_DEVICE void load(const simt &, block_unit &u, const block_view &v, int64_t b, int s)
    {
        load_two_bits(u.q, block_part(v, 0, b), s);
        add_bit(u.q, block_part(v, 1, b), s, 2);
        for (int k = 0; k < UNIT_WORDS; k++) u.q[k] = less(u.q[k], 4);
        const uint8_t *p = block_part(v, 2, b);
        const uint32_t w[3] = {load_4(p), load_4(p + 4), load_4(p + 8)};
        for (int h = 0; h < 2; h++) { /* q3_k_scale of quant_file.c */
            const int k = 2 * s + h, low = byte_of(w, k % 8) >> k / 8 * 4 & 15;
            u.half[h] = (low | (byte_of(w, 8 + k % 4) >> k / 4 * 2 & 3) << 4) - 32;
        }
        u.scale = factor_of(block_part(v, 3, b));
    }
};

SIMT_DEVICE void load_levels(const simt &t, uint32_t q[UNIT_WORDS], const uint8_t *p)
{
    load_nibbles(q, p);
    for (int k = 0; k < UNIT_WORDS; k++) q[k] = levels_of(t, q[k]);
}

template <> struct block_format<HPC_IQ4_NL> {
    enum { form = FORM_PLAIN };
    static SIMT_DEVICE void load(const simt &t, block_unit &u, const block_view &v, int64_t b, int)
    {
        load_levels(t, u.q, block_part(v, 0, b));
        u.scale = factor_of(block_part(v, 1, b));
    }
};

template <> struct block_format<HPC_IQ4_XS> {
    enum { form = FORM_PLAIN };
    static SIMT_DEVICE void load(const simt &t, block_unit &u, const block_view &v, int64_t b,
                                 int s)
    {
        load_levels(t, u.q, block_part(v, 0, b) + 16 * s);
        const uint8_t *p = block_part(v, 1, b);
        const int low = (int)(load_4(p + 4) >> 4 * s & 15), high = load_2(p + 2) >> 2 * s & 3;
        u.scale = factor_of(p) * (float)((low | high << 4) - 32);
    }
};

/* ---- any format ------------------------------------------------------------------------------
 */

/* Unit `at` of row `row`, counted from the row's first. Factors that the format lacks are 1, and
 * min is 0. */
template <int dtype>
SIMT_DEVICE void load_unit_of(const simt &t, block_unit &u, const block_view &v, int64_t row,
                              int64_t at)
{
    const int per_block = v.block / UNIT;
    const int64_t b = row * v.across + at / per_block;
    u.min = 0;
    for (int h = 0; h < 2; h++) u.half[h] = u.half_min[h] = 1;
    block_format<dtype>::load(t, u, v, b, (int)(at % per_block));
}

SIMT_DEVICE void load_unit(const simt &t, block_unit &u, const block_view &v, int64_t row,
                           int64_t at)
{
    switch (v.dtype) {
    case HPC_Q8_0: load_unit_of<HPC_Q8_0>(t, u, v, row, at); break;
    case HPC_Q4_0: load_unit_of<HPC_Q4_0>(t, u, v, row, at); break;
    case HPC_Q4_K: load_unit_of<HPC_Q4_K>(t, u, v, row, at); break;
    case HPC_Q5_K: load_unit_of<HPC_Q5_K>(t, u, v, row, at); break;
    case HPC_Q6_K: load_unit_of<HPC_Q6_K>(t, u, v, row, at); break;
    case HPC_Q4_1: load_unit_of<HPC_Q4_1>(t, u, v, row, at); break;
    case HPC_Q5_0: load_unit_of<HPC_Q5_0>(t, u, v, row, at); break;
    case HPC_Q5_1: load_unit_of<HPC_Q5_1>(t, u, v, row, at); break;
    case HPC_Q2_K: load_unit_of<HPC_Q2_K>(t, u, v, row, at); break;
    case HPC_Q3_K: load_unit_of<HPC_Q3_K>(t, u, v, row, at); break;
    case HPC_IQ4_NL: load_unit_of<HPC_IQ4_NL>(t, u, v, row, at); break;
    default: load_unit_of<HPC_IQ4_XS>(t, u, v, row, at); break;
    }
}

/* Four elements of a unit, from element 4 w on: the bits of hpc_to_f32. */
SIMT_DEVICE quad unit_quad(const simt &t, const block_unit &u, int w)
{
    uint32_t word = 0;
    for (int k = 0; k < UNIT_WORDS; k++) word = k == w ? u.q[k] : word; /* not by index: registers */
    const bool second = w >= UNIT_WORDS / 2;
    const float scale = u.scale * (float)(second ? u.half[1] : u.half[0]);
    const float min = u.min * (float)(second ? u.half_min[1] : u.half_min[0]);
    quad x;
    for (int k = 0; k < 4; k++) x.v[k] = t.times(scale, (float)(int8_t)(word >> 8 * k)) - min;
    return x;
}

/* n <= 4 elements of a row of x, a whole multiple of 4 in: of a block format, if blocks has one. */
SIMT_DEVICE quad load_real(const simt &t, const hpc_tensor &x, const block_view &blocks,
                           int64_t row, int64_t col, int n)
{
    block_unit u;
    if (blocks.block == 0) return load4(x, row * cols_of(x) + col, n);
    load_unit(t, u, blocks, row, col / UNIT);
    return unit_quad(t, u, (int)(col % UNIT) / 4);
}

#endif
