/*
 * rope.c: rotary position embedding. A worker computes the angles of a token once for all of its
 * heads.
 */
#include "runtime/device/cpu/kernels/priv.h"
#include "runtime/device/cpu/kernels/vecmath.h"

enum { PAIRS = CHUNK / 2 };

typedef struct turns { /* of `n` pairs from pair `first` on */
    float sine[PAIRS], cosine[PAIRS];
    int64_t first, n;
} turns;

static void find_turns(turns *t, const hpc_rope_args *a, int64_t token)
{
    float buffer[PAIRS];
    const float *freq = load(buffer, &a->freq, t->first, t->n);
    float position = (float)((const int32_t *)a->pos.data)[token], scale = (float)a->attr.scale;
    float way = a->attr.inverse ? -scale : scale;

#pragma omp simd
    for (int64_t i = 0; i < t->n; i++) {
        float s, c;
        vec_sincos(&s, &c, position * freq[i]);
        t->sine[i] = s * way;
        t->cosine[i] = c * scale;
    }
}

/* Pairs (i, i + len) of the head that begins at `at`. */
static void turn_halves(const hpc_rope_args *a, int64_t at, int64_t len, const turns *t)
{
    float lo_buffer[PAIRS], hi_buffer[PAIRS], y_lo_buffer[PAIRS], y_hi_buffer[PAIRS];
    int64_t lo_at = at + t->first, hi_at = lo_at + len;
    const float *lo = load(lo_buffer, &a->x, lo_at, t->n);
    const float *hi = load(hi_buffer, &a->x, hi_at, t->n);
    float *y_lo = place(y_lo_buffer, &a->y, lo_at), *y_hi = place(y_hi_buffer, &a->y, hi_at);

#pragma omp simd
    for (int64_t i = 0; i < t->n; i++) {
        float p = lo[i], q = hi[i];
        y_lo[i] = p * t->cosine[i] - q * t->sine[i];
        y_hi[i] = q * t->cosine[i] + p * t->sine[i];
    }
    put(&a->y, lo_at, y_lo, t->n);
    put(&a->y, hi_at, y_hi, t->n);
}

/* Pairs (2i, 2i + 1). */
static void turn_neighbours(const hpc_rope_args *a, int64_t at, const turns *t)
{
    float x_buffer[CHUNK], y_buffer[CHUNK];
    int64_t from = at + 2 * t->first;
    const float *x = load(x_buffer, &a->x, from, 2 * t->n);
    float *y = place(y_buffer, &a->y, from);

#pragma omp simd
    for (int64_t i = 0; i < t->n; i++) {
        float p = x[2 * i], q = x[2 * i + 1];
        y[2 * i] = p * t->cosine[i] - q * t->sine[i];
        y[2 * i + 1] = q * t->cosine[i] + p * t->sine[i];
    }
    put(&a->y, from, y, 2 * t->n);
}

/* Copies the elements that partial rotation leaves unchanged. */
static void copy_rest(const hpc_rope_args *a, int64_t at, int64_t n)
{
    float buffer[CHUNK], y_buffer[CHUNK];

    if (a->y.data == a->x.data) return;
    for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t part = least(CHUNK, n - i);
        const float *x = load(buffer, &a->x, at + i, part);
        float *y = place(y_buffer, &a->y, at + i);
        memcpy(y, x, (size_t)part * sizeof *y);
        put(&a->y, at + i, y, part);
    }
}

/* Heads lo..hi-1 of a token; heads are rows of x. */
static void turn_token(const hpc_rope_args *a, int64_t token, int64_t lo, int64_t hi)
{
    int64_t dim = hpc_tensor_cols(&a->x), len = hpc_tensor_n(&a->freq);
    turns t;

    for (t.first = 0; t.first < len; t.first += PAIRS) {
        t.n = least(PAIRS, len - t.first);
        find_turns(&t, a, token);
        for (int64_t head = lo; head < hi; head++) {
            if (a->attr.interleaved)
                turn_neighbours(a, head * dim, &t);
            else
                turn_halves(a, head * dim, len, &t);
        }
    }
    for (int64_t head = lo; head < hi && 2 * len < dim; head++)
        copy_rest(a, head * dim + 2 * len, dim - 2 * len);
}

static int rope_run(const hpc_launch *l, const void *args)
{
    const hpc_rope_args *a = args;
    int64_t dim = hpc_tensor_cols(&a->x), heads = a->x.extent[1], lo, hi;

    share_rows(&lo, &hi, &a->x, l);
    for (stretch s; (s = live_from(&a->x, lo, hi)).n > 0; lo = s.at + s.n) {
        int64_t row = s.at / dim, end = row + s.n / dim;
        while (row < end) {
            int64_t token = row / heads, next = least(end, (token + 1) * heads);
            turn_token(a, token, row, next);
            row = next;
        }
    }
    return 0;
}

int HPC_WIDTH(cpu_rope)(hpc_plan *p, int workers, const hpc_rope_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = rope_run, .name = "rope_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                          {"x", &a->x, TAKES_REAL},
                                          {"pos", &a->pos, TAKES_I32},
                                          {"freq", &a->freq, TAKES_REAL},
                                          {0}});
}
