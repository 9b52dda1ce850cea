/*
 * norm.c: RMSNorm and LayerNorm over the last extent, and their gradients.
 *
 * A second pass computes the variance from differences to the mean. Gradients of w and
 * b are summed over a few rows while these are in cache and, after a barrier, over all
 * of them in row order, by columns: no bit depends on the number of workers.
 */
#include <math.h>

#include "runtime/device/cpu/kernels/lanes.h"
#include "runtime/device/cpu/kernels/priv.h"

typedef struct moments {
    float mean, rstd;
} moments;

/* ---- forward ------------------------------------------------------------------------ */

enum { SUMS = 4, PART = SUMS * LANES }; /* vectors of sums, and what they take at a time */

static inline vec vec_at(const float *x)
{
    return *(const vec_any *)x;
}

static double total(const vec sum[SUMS])
{
    vec all = (sum[0] + sum[2]) + (sum[1] + sum[3]);
    float lane[LANES];

    memcpy(lane, &all, sizeof lane);
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++) lane[i] += lane[i + width];
    return (double)lane[0];
}

static double sum_of(const float *x, int64_t n)
{
    vec sum[SUMS] = {{0}};
    double rest = 0;
    int64_t i = 0;

    for (; i + PART <= n; i += PART)
        for (int v = 0; v < SUMS; v++) sum[v] += vec_at(x + i + v * LANES);
    for (; i < n; i++) rest += (double)x[i];
    return total(sum) + rest;
}

/* Sum of x over the row that begins at `at`, or of (x - mean)^2. */
static double row_sum(const hpc_tensor *x, int64_t at, int64_t cols)
{
    float buffer[CHUNK];
    double sum = 0;

    for (int64_t c = 0; c < cols; c += CHUNK) {
        int64_t n = least(CHUNK, cols - c);
        sum += sum_of(load(buffer, x, at + c, n), n);
    }
    return sum;
}

static double square_sum(const float *x, int64_t n, float mean)
{
    vec sum[SUMS] = {{0}};
    double rest = 0;
    int64_t i = 0;

    for (; i + PART <= n; i += PART)
        for (int v = 0; v < SUMS; v++) {
            vec off = vec_at(x + i + v * LANES) - mean;
            sum[v] += off * off;
        }
    for (; i < n; i++) rest += (double)((x[i] - mean) * (x[i] - mean));
    return total(sum) + rest;
}

static double row_square_sum(const hpc_tensor *x, int64_t at, int64_t cols, float mean)
{
    float buffer[CHUNK];
    double sum = 0;

    for (int64_t c = 0; c < cols; c += CHUNK) {
        int64_t n = least(CHUNK, cols - c);
        sum += square_sum(load(buffer, x, at + c, n), n, mean);
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
        const float *w = a->w.data ? load(w_buffer, &a->w, c, n) : NULL;
        const float *b = a->b.data ? load(b_buffer, &a->b, c, n) : NULL;
        float *y = place(y_buffer, &a->y, at + c);
        if (w && b) {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m.mean) * m.rstd * w[i] + b[i];
        } else if (w) {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m.mean) * m.rstd * w[i];
        } else {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m.mean) * m.rstd + (b ? b[i] : 0);
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

int HPC_WIDTH(cpu_norm)(hpc_plan *p, int workers, const hpc_norm_args *a)
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

/* Inputs of a row's gradient, a piece at a time: weights of 1 if w is absent. */
typedef struct piece {
    float x_buffer[CHUNK], dy_buffer[CHUNK], w_buffer[CHUNK];
    const float *x, *dy, *w;
    int64_t n;
} piece;

static void load_piece(piece *p, const hpc_norm_grad_args *a, int64_t at, int64_t c, int64_t cols)
{
    p->n = least(CHUNK, cols - c);
    p->x = load(p->x_buffer, &a->x, at + c, p->n);
    p->dy = load(p->dy_buffer, &a->dy, at + c, p->n);
    p->w = p->w_buffer;
    if (a->w.data)
        p->w = load(p->w_buffer, &a->w, c, p->n);
    else
        for (int64_t i = 0; i < p->n; i++) p->w_buffer[i] = 1;
}

/* Adds sums of g n and of g: see grad_row. */
static void piece_sums(const piece *p, moments m, double *along, double *mean)
{
    vec product[SUMS] = {{0}}, inner[SUMS] = {{0}};
    int64_t i = 0;

    for (; i + PART <= p->n; i += PART)
        for (int v = 0; v < SUMS; v++) {
            int64_t at = i + v * LANES;
            vec g = vec_at(p->dy + at) * vec_at(p->w + at);
            product[v] += g * ((vec_at(p->x + at) - m.mean) * m.rstd);
            inner[v] += g;
        }
    *along += total(product);
    *mean += total(inner);
    for (; i < p->n; i++) {
        float g = p->dy[i] * p->w[i];
        *along += (double)(g * ((p->x[i] - m.mean) * m.rstd));
        *mean += (double)g;
    }
}

enum { ROWS_TOGETHER = 16 }; /* rows summed in f32 before their sum is added in f64 */

/* Sums of a group of rows: dw, then db, each only if requested. */
typedef struct sums {
    float *w, *b;
} sums;

static int64_t group_floats(const hpc_norm_grad_args *a)
{
    return hpc_tensor_cols(&a->x) * ((a->dw.rank >= 0) + (a->db.rank >= 0));
}

static int64_t group_rows(const hpc_norm_grad_args *a)
{
    return group_floats(a) > 0 ? ROWS_TOGETHER : 1;
}

static int64_t groups_of(const hpc_norm_grad_args *a)
{
    return (hpc_tensor_rows(&a->x) + group_rows(a) - 1) / group_rows(a);
}

static sums sums_of(const hpc_norm_grad_args *a, void *workspace, int64_t group)
{
    float *at = (float *)workspace + group * group_floats(a);

    return (sums){.w = a->dw.rank >= 0 ? at : NULL,
                  .b = a->db.rank >= 0 ? at + group_floats(a) - hpc_tensor_cols(&a->x) : NULL};
}

/* A piece's share of dw and db, from column c on. */
static void add_sums(const sums *to, const piece *p, moments m, int64_t c)
{
    const float *x = p->x, *dy = p->dy;

    if (to->w) {
        float *w = to->w + c;
#pragma omp simd
        for (int64_t i = 0; i < p->n; i++) w[i] += dy[i] * ((x[i] - m.mean) * m.rstd);
    }
    if (to->b) {
        float *b = to->b + c;
#pragma omp simd
        for (int64_t i = 0; i < p->n; i++) b[i] += dy[i];
    }
}

/* With n = (x - mean) rstd and g = dy w: dx = rstd (g - mean(g) - n mean(g n)); RMSNorm has no
 * mean(g). */
static void grad_row(const hpc_norm_grad_args *a, int64_t at, int64_t cols, const sums *to)
{
    float dx_buffer[CHUNK];
    moments m = stats_of(a, at / cols);
    double along = 0, mean = 0;
    piece p;

    for (int64_t c = 0; c < cols; c += CHUNK) {
        load_piece(&p, a, at, c, cols);
        if (a->dx.data) piece_sums(&p, m, &along, &mean);
        add_sums(to, &p, m, c);
    }
    if (!a->dx.data) return;
    float slope = (float)(along / (double)cols), shift = (float)(mean / (double)cols);
    if (a->attr.kind != HPC_LAYER) shift = 0;
    for (int64_t c = 0; c < cols; c += CHUNK) {
        float *dx = place(dx_buffer, &a->dx, at + c);
        if (cols > CHUNK) load_piece(&p, a, at, c, cols);
        const float *x = p.x, *dy = p.dy, *w = p.w;
#pragma omp simd
        for (int64_t i = 0; i < p.n; i++)
            dx[i] = m.rstd * (dy[i] * w[i] - shift - (x[i] - m.mean) * m.rstd * slope);
        put(&a->dx, at + c, dx, p.n);
    }
}

static void grad_group(const hpc_norm_grad_args *a, int64_t group, const sums *to)
{
    int64_t cols = hpc_tensor_cols(&a->x), n = group_rows(a) * cols, lo = group * n;
    int64_t hi = least(lo + n, hpc_tensor_n(&a->x));

    if (to->w) memset(to->w, 0, (size_t)cols * sizeof *to->w);
    if (to->b) memset(to->b, 0, (size_t)cols * sizeof *to->b);
    for (stretch s; (s = live_from(&a->x, lo, hi)).n > 0; lo = s.at + s.n) {
        for (int64_t at = s.at; at < s.at + s.n; at += cols) grad_row(a, at, cols, to);
    }
}

static void join(double *all, const float *part, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) all[i] += (double)part[i];
}

static void put_sums(const hpc_tensor *t, int64_t c, const double *sum, int64_t n)
{
    float buffer[CHUNK], *y = place(buffer, t, c);

#pragma omp simd
    for (int64_t i = 0; i < n; i++) y[i] = (float)sum[i];
    put(t, c, y, n);
}

/* dw and db of columns c .. c+n-1. */
static void grad_slab(const hpc_norm_grad_args *a, void *workspace, int64_t c, int64_t n)
{
    double dw[CHUNK] = {0}, db[CHUNK] = {0};

    for (int64_t g = 0; g < groups_of(a); g++) {
        sums from = sums_of(a, workspace, g);
        if (from.w) join(dw, from.w + c, n);
        if (from.b) join(db, from.b + c, n);
    }
    if (a->dw.data) put_sums(&a->dw, c, dw, n);
    if (a->db.data) put_sums(&a->db, c, db, n);
}

/* dw and db, the second and third operand, are touched when all have met. */
enum { LATE = 1 << 1 | 1 << 2 };

static int norm_grad_run(const hpc_launch *l, const void *args)
{
    const hpc_norm_grad_args *a = args;
    int64_t cols = hpc_tensor_cols(&a->x), lo, hi;

    hpc_share(&lo, &hi, groups_of(a), 1, l->worker, l->workers);
    for (; lo < hi; lo++) {
        sums to = sums_of(a, l->workspace, lo);
        grad_group(a, lo, &to);
    }
    if (group_floats(a) == 0) return 0;
    hpc_barrier_wait(l->barrier);
    hpc_share(&lo, &hi, cols, SLAB, l->worker, l->workers);
    for (; lo < hi; lo += CHUNK) grad_slab(a, l->workspace, lo, least(CHUNK, hi - lo));
    return 0;
}

int HPC_WIDTH(cpu_norm_grad)(hpc_plan *p, int workers, const hpc_norm_grad_args *a)
{
    const char *name = "norm_grad_" HPC_ISA_TEXT;
    hpc_plan plan = {.run = norm_grad_run, .name = name};
    int rc;

    (void)workers;
    TRY(refuse_ragged_cols(&a->x, name));
    plan.workspace = (size_t)(groups_of(a) * group_floats(a)) * sizeof(float);
    plan.cpu.after_barrier = group_floats(a) > 0 ? LATE : 0;
    TRY(accept(p, plan,
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
