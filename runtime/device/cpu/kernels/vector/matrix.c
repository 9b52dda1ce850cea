/*
 * matrix.c: linear combinations of matrices and the identity, element-wise functions, and matrices
 * as batches of blocks. One pass over memory each.
 */
#include <math.h>

#include "runtime/device/cpu/kernels/priv.h"

enum {
    LINE = 64, /* elements: whole cache lines of every dtype */
    SIDE = 32  /* of the squares that are transposed: 4 KiB, so two fit into any L1 */
};

/* ---- combine -------------------------------------------------------------------------------- */

typedef struct coefficients {
    float c0, c1, c2; /* of I, x1, x2 */
} coefficients;

static float coefficient(const hpc_tensor *s, double a, int64_t matrix)
{
    float buffer[1];

    if (!s->data) return (float)a;
    return (float)(a * (double)*load(buffer, s, s->rank > 0 ? matrix : 0, 1));
}

static coefficients coefficients_of(const hpc_combine_args *a, int64_t matrix)
{
    return (coefficients){.c0 = coefficient(&a->s0, a->attr.a0, matrix),
                          .c1 = coefficient(&a->s1, a->attr.a1, matrix),
                          .c2 = coefficient(&a->s2, a->attr.a2, matrix)};
}

/* y = c1 x1 + c2 x2 of n elements; y may be x1. NULL: no such term. */
static void add_terms(float *y, const float *x1, const float *x2, int64_t n, coefficients c)
{
    if (x1 && x2)
#pragma omp simd
        for (int64_t i = 0; i < n; i++) y[i] = c.c1 * x1[i] + c.c2 * x2[i];
    else if (x1)
#pragma omp simd
        for (int64_t i = 0; i < n; i++) y[i] = c.c1 * x1[i];
    else if (x2)
#pragma omp simd
        for (int64_t i = 0; i < n; i++) y[i] = c.c2 * x2[i];
    else
        for (int64_t i = 0; i < n; i++) y[i] = 0;
}

/* Elements lie alike in y and its terms: chunks of a matrix, and what of its diagonal is there. */
static int combine_alike(const hpc_launch *l, const void *args)
{
    const hpc_combine_args *a = args;
    int64_t cols = hpc_tensor_cols(&a->y), lo, hi;
    int64_t size = a->y.rank == 3 ? a->y.extent[1] * cols : hpc_tensor_n(&a->y);
    float out[CHUNK], first[CHUNK], second[CHUNK];

    hpc_share(&lo, &hi, hpc_tensor_n(&a->y), LINE, l->worker, l->workers);
    for (int64_t n; lo < hi; lo += n) {
        int64_t matrix = lo / size, at = lo % size;
        coefficients c = coefficients_of(a, matrix);
        n = least(least(CHUNK, hi - lo), size - at);
        float *y = place(out, &a->y, lo);
        add_terms(y, a->x1.data ? load(first, &a->x1, lo, n) : NULL,
                  a->x2.data ? load(second, &a->x2, lo, n) : NULL, n, c);
        if (a->attr.a0 != 0)
            for (int64_t d = (at + cols) / (cols + 1) * (cols + 1); d < at + n; d += cols + 1)
                y[d - at] += c.c0;
        store(&a->y, lo, y, n);
    }
    return 0;
}

/* A square of y at row r and column c, cut off at the edge. */
static void combine_square(const hpc_combine_args *a, int64_t matrix, int64_t r, int64_t c)
{
    int64_t m = a->y.extent[a->y.rank - 2], n = hpc_tensor_cols(&a->y);
    int64_t rows = least(SIDE, m - r), cols = least(SIDE, n - c), base = matrix * m * n;
    float turned[SIDE][SIDE], line[SIDE], first[SIDE];
    coefficients k = coefficients_of(a, matrix);

    for (int64_t j = 0; j < cols; j++) {
        const float *x2 = load(line, &a->x2, base + (c + j) * m + r, rows);
        for (int64_t i = 0; i < rows; i++) turned[i][j] = x2[i];
    }
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = base + (r + i) * n + c, d = r + i - c;
        float *y = place(line, &a->y, at);
        add_terms(y, a->x1.data ? load(first, &a->x1, at, cols) : NULL, turned[i], cols, k);
        if (a->attr.a0 != 0 && d >= 0 && d < cols) y[d] += k.c0;
        store(&a->y, at, y, cols);
    }
}

static int combine_turned(const hpc_launch *l, const void *args)
{
    const hpc_combine_args *a = args;
    int64_t m = a->y.extent[a->y.rank - 2], n = hpc_tensor_cols(&a->y), lo, hi;
    int64_t stripes = (m + SIDE - 1) / SIDE, batch = a->y.rank == 3 ? a->y.extent[0] : 1;

    hpc_share(&lo, &hi, batch * stripes, 1, l->worker, l->workers);
    for (int64_t s = lo; s < hi; s++)
        for (int64_t c = 0; c < n; c += SIDE) combine_square(a, s / stripes, s % stripes * SIDE, c);
    return 0;
}

int HPC_WIDTH(cpu_combine)(hpc_plan *p, int workers, const hpc_combine_args *a)
{
    bool turned = a->attr.trans && a->x2.rank >= 0;

    (void)workers;
    return accept(
        p,
        (hpc_plan){.run = turned ? combine_turned : combine_alike, .name = "combine_" HPC_ISA_TEXT},
        (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                {"x1", &a->x1, TAKES_REAL},
                                {"x2", &a->x2, TAKES_REAL},
                                {"s0", &a->s0, TAKES_F32},
                                {"s1", &a->s1, TAKES_F32},
                                {"s2", &a->s2, TAKES_F32},
                                {0}});
}

/* ---- map ------------------------------------------------------------------------------------ */

static float mapped(const hpc_map_attr *t, float x)
{
    if (t->guarded && (x == 0 || !isfinite(x))) return (float)t->other;
    double y = t->alpha * pow((double)x, t->power) + t->beta;
    if (t->lo == 0 && t->hi == 0) return (float)y;
    return (float)(y < t->lo ? t->lo : y > t->hi ? t->hi : y);
}

static int map_run(const hpc_launch *l, const void *args)
{
    const hpc_map_args *a = args;
    float in[CHUNK], out[CHUNK];
    int64_t lo, hi;

    hpc_share(&lo, &hi, hpc_tensor_n(&a->x), LINE, l->worker, l->workers);
    for (int64_t n; lo < hi; lo += n) {
        n = least(CHUNK, hi - lo);
        const float *x = load(in, &a->x, lo, n);
        float *y = place(out, &a->y, lo);
        for (int64_t i = 0; i < n; i++) y[i] = mapped(&a->attr, x[i]);
        store(&a->y, lo, y, n);
    }
    return 0;
}

int HPC_WIDTH(cpu_map)(hpc_plan *p, int workers, const hpc_map_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = map_run, .name = "map_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL}, {"x", &a->x, TAKES_REAL}, {0}});
}

/* ---- tile ----------------------------------------------------------------------------------- */

static void move(const hpc_tensor *y, int64_t to, const hpc_tensor *x, int64_t from, int64_t n)
{
    float buffer[CHUNK];

    for (int64_t i = 0, now; i < n; i += now) {
        now = least(CHUNK, n - i);
        store(y, to + i, load(buffer, x, from + i, now), now);
    }
}

/* Rows of blocks are shared out, whichever way they go. */
static int tile_run(const hpc_launch *l, const void *args)
{
    const hpc_tile_args *a = args;
    const hpc_tensor *blocks = a->attr.inverse ? &a->x : &a->y;
    int64_t n = hpc_tensor_cols(a->attr.inverse ? &a->y : &a->x), lo, hi;
    int64_t rows = blocks->extent[1], cols = blocks->extent[2], across = n / cols;

    hpc_share(&lo, &hi, hpc_tensor_rows(blocks), 1, l->worker, l->workers);
    for (int64_t r = lo; r < hi; r++) {
        int64_t block = r / rows, row = block / across * rows + r % rows;
        int64_t in_block = r * cols, in_whole = row * n + block % across * cols;
        if (a->attr.inverse)
            move(&a->y, in_whole, &a->x, in_block, cols);
        else
            move(&a->y, in_block, &a->x, in_whole, cols);
    }
    return 0;
}

int HPC_WIDTH(cpu_tile)(hpc_plan *p, int workers, const hpc_tile_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = tile_run, .name = "tile_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL}, {"x", &a->x, TAKES_REAL}, {0}});
}
