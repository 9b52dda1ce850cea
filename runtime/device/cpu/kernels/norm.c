/*
 * norm.c: RMSNorm and LayerNorm over the last extent, and their gradients.
 *
 * Variance is of differences from the mean, in a second pass. Gradients of w and b go by slabs of
 * columns, each summed by one worker over all rows in their order, so that no
 * bit depends on the number of workers.
 */
#include <math.h>

#include "runtime/device/cpu/kernels/priv.h"

typedef struct moments {
    float mean, rstd;
} moments;

/* ---- forward ------------------------------------------------------------------------ */

/* Sum of x over the row that begins at `at`, or of (x - mean)^2. */
static double row_sum(const hpc_tensor *x, int64_t at, int64_t cols)
{
    float buffer[CHUNK];
    double sum = 0;

    for (int64_t c = 0; c < cols; c += CHUNK) {
        int64_t n = least(CHUNK, cols - c);
        sum += (double)HPC_ISA(cpu_sum)(load(buffer, x, at + c, n), n);
    }
    return sum;
}

static double row_square_sum(const hpc_tensor *x, int64_t at, int64_t cols, float mean)
{
    float buffer[CHUNK], square[CHUNK];
    double sum = 0;

    for (int64_t c = 0; c < cols; c += CHUNK) {
        int64_t n = least(CHUNK, cols - c);
        const float *v = load(buffer, x, at + c, n);
#pragma omp simd
        for (int64_t i = 0; i < n; i++) square[i] = (v[i] - mean) * (v[i] - mean);
        sum += (double)HPC_ISA(cpu_sum)(square, n);
    }
    return sum;
}

static moments row_moments(const hpc_norm_args *a, int64_t at, int64_t cols)
{
    moments m = {0};

    if (a->attr.kind == HPC_LAYER) m.mean = (float)(row_sum(&a->x, at, cols) / (double)cols);
    double variance = row_square_sum(&a->x, at, cols, m.mean) / (double)cols;
    m.rstd = (float)(1 / sqrt(variance + a->attr.eps));
    return m;
}

static void norm_row(const hpc_norm_args *a, int64_t at, int64_t cols, moments m)
{
    float x_buffer[CHUNK], w_buffer[CHUNK], b_buffer[CHUNK], y_buffer[CHUNK];

    for (int64_t c = 0; c < cols; c += CHUNK) {
        int64_t n = least(CHUNK, cols - c);
        const float *x = load(x_buffer, &a->x, at + c, n);
        float *y = place(y_buffer, &a->y, at + c);
#pragma omp simd
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m.mean) * m.rstd;
        if (a->w.data) {
            const float *w = load(w_buffer, &a->w, c, n);
#pragma omp simd
            for (int64_t i = 0; i < n; i++) y[i] *= w[i];
        }
        if (a->b.data) {
            const float *b = load(b_buffer, &a->b, c, n);
#pragma omp simd
            for (int64_t i = 0; i < n; i++) y[i] += b[i];
        }
        put(&a->y, at + c, y, n);
    }
}

static int norm_run(const hpc_launch *l, const void *args)
{
    const hpc_norm_args *a = args;
    int64_t cols = hpc_tensor_cols(&a->x), lo, hi;

    share_rows(&lo, &hi, &a->x, l);
    for (stretch s; (s = live_from(&a->x, lo, hi)).n > 0; lo = s.at + s.n) {
        for (int64_t at = s.at; at < s.at + s.n; at += cols) {
            moments m = row_moments(a, at, cols);
            norm_row(a, at, cols, m);
            if (a->stats.data) store(&a->stats, at / cols * 2, (const float[]){m.mean, m.rstd}, 2);
        }
    }
    return 0;
}

static int refuse_ragged_cols(const hpc_tensor *x, const char *kernel)
{
    char text[96];

    if (x->ragged < 0 || x->ragged != x->rank - 1) return 0;
    return hpc_fail(HPC_E_UNSUPPORTED, "%s takes whole rows, its operand x is %s", kernel,
                    hpc_tensor_text(text, x));
}

int HPC_ISA(cpu_norm)(hpc_plan *p, int workers, const hpc_norm_args *a)
{
    const char *name = "norm_" HPC_ISA_TEXT;
    int rc;

    (void)workers;
    TRY(refuse_ragged_cols(&a->x, name));
    TRY(accept(p, (hpc_plan){.run = norm_run, .name = name},
               (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                       {"stats", &a->stats, TAKES_F32},
                                       {"x", &a->x, TAKES_REAL},
                                       {"w", &a->w, TAKES_REAL},
                                       {"b", &a->b, TAKES_REAL},
                                       {0}}));
out:
    return rc;
}

/* ---- gradient ------------------------------------------------------------------------ */

static moments stats_of(const hpc_norm_grad_args *a, int64_t r)
{
    const float *s = (const float *)a->stats.data + r * 2;

    return (moments){s[0], s[1]};
}

/* With n = (x - mean) rstd and g = dy w: dx = rstd (g - mean(g) - n mean(g n)); RMSNorm has no
 * mean(g). This fills n and g for `count` columns from c on. */
static void grad_terms(float *normal, float *inner, const hpc_norm_grad_args *a, int64_t at,
                       int64_t c, int64_t count, moments m)
{
    float x_buffer[CHUNK], dy_buffer[CHUNK], w_buffer[CHUNK];
    const float *x = load(x_buffer, &a->x, at + c, count);
    const float *dy = load(dy_buffer, &a->dy, at + c, count);

#pragma omp simd
    for (int64_t i = 0; i < count; i++) normal[i] = (x[i] - m.mean) * m.rstd;
    if (!a->w.data) {
        memcpy(inner, dy, (size_t)count * sizeof *inner);
        return;
    }
    const float *w = load(w_buffer, &a->w, c, count);
#pragma omp simd
    for (int64_t i = 0; i < count; i++) inner[i] = dy[i] * w[i];
}

static void grad_row(const hpc_norm_grad_args *a, int64_t at, int64_t cols)
{
    float normal[CHUNK], inner[CHUNK], product[CHUNK], dx_buffer[CHUNK];
    moments m = stats_of(a, at / cols);
    double along = 0, mean = 0;

    for (int64_t c = 0; c < cols; c += CHUNK) {
        int64_t n = least(CHUNK, cols - c);
        grad_terms(normal, inner, a, at, c, n, m);
#pragma omp simd
        for (int64_t i = 0; i < n; i++) product[i] = inner[i] * normal[i];
        along += (double)HPC_ISA(cpu_sum)(product, n);
        if (a->attr.kind == HPC_LAYER) mean += (double)HPC_ISA(cpu_sum)(inner, n);
    }
    float slope = (float)(along / (double)cols), shift = (float)(mean / (double)cols);
    for (int64_t c = 0; c < cols; c += CHUNK) {
        int64_t n = least(CHUNK, cols - c);
        float *dx = place(dx_buffer, &a->dx, at + c);
        grad_terms(normal, inner, a, at, c, n, m);
#pragma omp simd
        for (int64_t i = 0; i < n; i++) dx[i] = m.rstd * (inner[i] - shift - normal[i] * slope);
        put(&a->dx, at + c, dx, n);
    }
}

static void put_sums(const hpc_tensor *t, int64_t c, const double *sum, int64_t n)
{
    float buffer[CHUNK], *y = place(buffer, t, c);

#pragma omp simd
    for (int64_t i = 0; i < n; i++) y[i] = (float)sum[i];
    put(t, c, y, n);
}

/* dw and db of columns c .. c+n-1. */
static void grad_slab(const hpc_norm_grad_args *a, int64_t c, int64_t n)
{
    int64_t cols = hpc_tensor_cols(&a->x), from = 0, end = hpc_tensor_n(&a->x);
    float x_buffer[CHUNK], dy_buffer[CHUNK];
    double dw[CHUNK] = {0}, db[CHUNK] = {0};

    for (stretch s; (s = live_from(&a->x, from, end)).n > 0; from = s.at + s.n) {
        for (int64_t at = s.at; at < s.at + s.n; at += cols) {
            moments m = stats_of(a, at / cols);
            const float *dy = load(dy_buffer, &a->dy, at + c, n);
            if (a->dw.data) {
                const float *x = load(x_buffer, &a->x, at + c, n);
#pragma omp simd
                for (int64_t i = 0; i < n; i++)
                    dw[i] += (double)(dy[i] * ((x[i] - m.mean) * m.rstd));
            }
            if (a->db.data) {
#pragma omp simd
                for (int64_t i = 0; i < n; i++) db[i] += (double)dy[i];
            }
        }
    }
    if (a->dw.data) put_sums(&a->dw, c, dw, n);
    if (a->db.data) put_sums(&a->db, c, db, n);
}

static int norm_grad_run(const hpc_launch *l, const void *args)
{
    const hpc_norm_grad_args *a = args;
    int64_t cols = hpc_tensor_cols(&a->x), lo, hi;

    if (a->dx.data) {
        share_rows(&lo, &hi, &a->x, l);
        for (stretch s; (s = live_from(&a->x, lo, hi)).n > 0; lo = s.at + s.n) {
            for (int64_t at = s.at; at < s.at + s.n; at += cols) grad_row(a, at, cols);
        }
    }
    if (a->dw.data || a->db.data) {
        hpc_share(&lo, &hi, cols, SLAB, l->worker, l->workers);
        for (; lo < hi; lo += CHUNK) grad_slab(a, lo, least(CHUNK, hi - lo));
    }
    return 0;
}

int HPC_ISA(cpu_norm_grad)(hpc_plan *p, int workers, const hpc_norm_grad_args *a)
{
    const char *name = "norm_grad_" HPC_ISA_TEXT;
    int rc;

    (void)workers;
    TRY(refuse_ragged_cols(&a->x, name));
    TRY(accept(p, (hpc_plan){.run = norm_grad_run, .name = name},
               (const operand_check[]){{"dx", &a->dx, TAKES_REAL},
                                       {"dw", &a->dw, TAKES_REAL},
                                       {"db", &a->db, TAKES_REAL},
                                       {"dy", &a->dy, TAKES_REAL},
                                       {"x", &a->x, TAKES_REAL},
                                       {"stats", &a->stats, TAKES_F32},
                                       {"w", &a->w, TAKES_REAL},
                                       {0}}));
out:
    return rc;
}
