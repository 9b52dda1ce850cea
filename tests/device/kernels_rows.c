/*
 * kernels_rows.c: the CPU kernels on whole rows: norms, their gradients, and rotary positions.
 */
#include "tests/device/kernels.h"

static int select_norm(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->norm(p, workers, args);
}

static int select_norm_grad(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->norm_grad(p, workers, args);
}

static int select_rope(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->rope(p, workers, args);
}

static const int32_t counts[] = {4, 0, 2};
static const int32_t one_count[] = {5};

typedef struct form {
    int rank;
    int64_t extent[3];
    int ragged;
    const int32_t *count;
} form;

static const form forms[] = {
    {2, {9, 64}, -1, NULL},        {2, {3, 1021}, -1, NULL},    {2, {40, 1}, -1, NULL},
    {1, {77}, -1, NULL},           {2, {11, 19}, 0, one_count}, {3, {3, 4, 300}, 1, counts},
    {3, {8, 2, 33}, 0, one_count}, {2, {0, 16}, -1, NULL},      {3, {3, 14, 300}, 1, counts}};
enum { FORM_N = sizeof forms / sizeof forms[0] };

static hpc_tensor shaped(hpc_test_heap *h, const form *f, hpc_dtype d, uint32_t seed, double scale)
{
    const int64_t *e = f->extent;
    hpc_tensor t = ragged(hpc_test_tensor(h, d, f->rank, e[0], e[1], e[2], 0), f->ragged, f->count);

    if (seed) hpc_test_tensor_draw(&t, seed, scale);
    return t;
}

/* ---- norms ---------------------------------------------------------------------------- */

typedef struct norm_case {
    const form *form;
    int kind;
    hpc_dtype x, y;
    bool w, b, adds;
    double offset; /* added to x: variance must survive a large mean */
} norm_case;

typedef struct rows { /* of a norm, in double */
    double *x, *normal, *stats;
    int64_t rows, cols;
} rows;

static const double eps = 1e-5;

static rows rows_of(hpc_test_heap *h, const hpc_tensor *x, int kind)
{
    int64_t n = hpc_tensor_n(x), cols = hpc_tensor_cols(x), count = hpc_tensor_rows(x);
    rows t = {hpc_test_tensor_doubles(h, x), hpc_test_heap_doubles(h, n),
              hpc_test_heap_doubles(h, 2 * count), count, cols};

    for (int64_t r = 0; r < count; r++) {
        double mean = 0, square = 0;
        for (int64_t c = 0; c < cols; c++) mean += t.x[r * cols + c] / (double)cols;
        if (kind == HPC_RMS) mean = 0;
        for (int64_t c = 0; c < cols; c++)
            square += (t.x[r * cols + c] - mean) * (t.x[r * cols + c] - mean) / (double)cols;
        t.stats[2 * r] = mean;
        t.stats[2 * r + 1] = 1 / sqrt(square + eps);
        for (int64_t c = 0; c < cols; c++)
            t.normal[r * cols + c] = (t.x[r * cols + c] - mean) * t.stats[2 * r + 1];
    }
    return t;
}

static void shift(hpc_test_heap *h, const hpc_tensor *t, double offset)
{
    double *x = hpc_test_tensor_doubles(h, t);

    for (int64_t i = 0; i < hpc_tensor_n(t); i++) x[i] += offset;
    hpc_test_tensor_set(t, x);
}

static hpc_norm_args norm_args(hpc_test_heap *h, const norm_case *c)
{
    hpc_norm_args a = {.w = hpc_test_absent(), .b = hpc_test_absent(), .attr = {c->kind, eps}};

    a.x = shaped(h, c->form, c->x, 1, 2);
    shift(h, &a.x, c->offset);
    a.y = shaped(h, c->form, c->y, 0, 0);
    a.stats = hpc_test_tensor(h, HPC_F32, 2, hpc_tensor_rows(&a.x), 2, 0, 0);
    if (c->w) a.w = drawn(h, c->x, 1, hpc_tensor_cols(&a.x), 0, 0, 2, 1);
    if (c->b) a.b = drawn(h, HPC_BF16, 1, hpc_tensor_cols(&a.x), 0, 0, 3, 1);
    return a;
}

static void norm_check(const norm_case *c)
{
    hpc_test_heap h = {0};
    hpc_norm_args a = norm_args(&h, c);
    rows t = rows_of(&h, &a.x, c->kind);
    const double *w = c->w ? hpc_test_tensor_doubles(&h, &a.w) : NULL;
    const double *b = c->b ? hpc_test_tensor_doubles(&h, &a.b) : NULL;
    double *y = hpc_test_heap_doubles(&h, t.rows * t.cols);

    for (int64_t i = 0; i < t.rows * t.cols; i++) {
        int64_t r = i / t.cols;
        y[i] = t.normal[i] * (w ? w[i % t.cols] : 1) + (b ? b[i % t.cols] : 0);
        if (!live_at(&a.x, i)) y[i] = t.stats[2 * r] = t.stats[2 * r + 1] = UNTOUCHED;
    }
    double near = c->offset != 0 ? 2e-4 : 2e-6;
    check(&(kernel_case){"norm", select_norm, &a, 2, near, {y, t.stats}});
    if (c->x != c->y) goto out;
    for (int64_t i = 0; i < t.rows * t.cols; i++)
        if (!live_at(&a.x, i)) y[i] = NAN;
    a.y = a.x;
    check(&(kernel_case){"norm in place", select_norm, &a, 2, near, {y, t.stats}});
out:
    hpc_test_heap_free(&h);
}

static void norms(void **state)
{
    (void)state;
    for (int f = 0; f < FORM_N; f++)
        for (int i = 0; i < 8; i++)
            norm_check(&(norm_case){.form = forms + f,
                                    .kind = i & 1 ? HPC_LAYER : HPC_RMS,
                                    .x = i & 2 ? HPC_BF16 : HPC_F32,
                                    .y = i & 4 ? HPC_BF16 : HPC_F32,
                                    .w = i != 2,
                                    .b = i % 3 == 1});
    norm_check(&(norm_case){.form = forms + 1, .kind = HPC_LAYER, .offset = 1000, .w = true});
}

static hpc_norm_grad_args grad_args(hpc_test_heap *h, const norm_case *c, rows *t)
{
    hpc_norm_args f = norm_args(h, c);
    hpc_norm_grad_args a = {.dx = shaped(h, c->form, c->y, 0, 0),
                            .dw = hpc_test_absent(),
                            .db = hpc_test_absent(),
                            .dy = shaped(h, c->form, c->y, 4, 1),
                            .x = f.x,
                            .stats = f.stats,
                            .w = f.w,
                            .attr = f.attr};
    int64_t cols = hpc_tensor_cols(&f.x);

    *t = rows_of(h, &f.x, c->kind);
    hpc_test_tensor_set(&a.stats, t->stats);
    if (c->w) a.dw = drawn(h, c->adds ? HPC_F32 : c->x, 1, cols, 0, 0, 5, 1);
    if (c->b) a.db = drawn(h, HPC_F32, 1, cols, 0, 0, 6, 1);
    a.dw.adds = a.db.adds = c->adds;
    return a;
}

/* From the equations: dx = rstd (g - mean(g) - n mean(g n)), g = dy w. */
static void norm_grad_check(const norm_case *c)
{
    hpc_test_heap h = {0};
    rows t;
    hpc_norm_grad_args a = grad_args(&h, c, &t);
    int64_t n = t.rows * t.cols;
    const double *w = c->w ? hpc_test_tensor_doubles(&h, &a.w) : NULL;
    const double *dy = hpc_test_tensor_doubles(&h, &a.dy);
    double *dx = hpc_test_heap_doubles(&h, n), *dw = NULL, *db = NULL;

    if (c->w) dw = hpc_test_tensor_doubles(&h, &a.dw);
    if (c->b) db = hpc_test_tensor_doubles(&h, &a.db);
    for (int64_t i = 0; i < t.cols && !c->adds; i++) {
        if (dw) dw[i] = 0;
        if (db) db[i] = 0;
    }
    for (int64_t r = 0; r < t.rows; r++) {
        double along = 0, mean = 0;
        for (int64_t i = r * t.cols; i < (r + 1) * t.cols; i++) {
            double g = dy[i] * (w ? w[i % t.cols] : 1);
            along += g * t.normal[i] / (double)t.cols;
            if (c->kind == HPC_LAYER) mean += g / (double)t.cols;
        }
        for (int64_t i = r * t.cols; i < (r + 1) * t.cols; i++) {
            double g = dy[i] * (w ? w[i % t.cols] : 1);
            bool live = live_at(&a.x, i);
            dx[i] = live ? t.stats[2 * r + 1] * (g - mean - t.normal[i] * along) : UNTOUCHED;
            if (live && dw) dw[i % t.cols] += dy[i] * t.normal[i];
            if (live && db) db[i % t.cols] += dy[i];
        }
    }
    kernel_case k = {"norm_grad", select_norm_grad, &a, 3, 5e-6, {dx, dw, db}};
    if (t.cols == 1) k.tolerance = 2e-3; /* rstd is large, and all digits cancel */
    check(&k);
    a.dx = hpc_test_absent();
    check(&k);
    hpc_test_heap_free(&h);
}

static void norm_grads(void **state)
{
    (void)state;
    for (int f = 0; f < FORM_N; f++)
        for (int i = 0; i < 8; i++)
            norm_grad_check(&(norm_case){.form = forms + f,
                                         .kind = i & 1 ? HPC_LAYER : HPC_RMS,
                                         .x = i & 2 ? HPC_BF16 : HPC_F32,
                                         .y = i & 4 ? HPC_BF16 : HPC_F32,
                                         .w = i != 2,
                                         .b = i % 3 == 1,
                                         .adds = i > 3});
}

/* ---- rotary positions --------------------------------------------------------------------- */

typedef struct turn_case {
    int64_t tokens, heads, dim, pairs;
    hpc_rope_attr attr;
    hpc_dtype x, y;
    const int32_t *count;
} turn_case;

static void turned(double *y, const double *x, const turn_case *c, double position,
                   const double *freq)
{
    for (int64_t i = 0; i < c->dim; i++) y[i] = x[i];
    for (int64_t i = 0; i < c->pairs; i++) {
        int64_t p = c->attr.interleaved ? 2 * i : i, q = c->attr.interleaved ? p + 1 : i + c->pairs;
        double angle = (double)(float)(position * freq[i]) * (c->attr.inverse ? -1 : 1);
        double cosine = c->attr.scale * cos(angle), sine = c->attr.scale * sin(angle);
        y[p] = x[p] * cosine - x[q] * sine;
        y[q] = x[q] * cosine + x[p] * sine;
    }
}

static void turn_check(const turn_case *c)
{
    hpc_test_heap h = {0};
    hpc_rope_args a = {.y = hpc_test_tensor(&h, c->y, 3, c->tokens, c->heads, c->dim, 0),
                       .x = drawn(&h, c->x, 3, c->tokens, c->heads, c->dim, 1, 1),
                       .pos = hpc_test_tensor(&h, HPC_I32, 1, c->tokens, 0, 0, 0),
                       .freq = hpc_test_tensor(&h, HPC_F32, 1, c->pairs, 0, 0, 0),
                       .attr = c->attr};
    int64_t n = hpc_tensor_n(&a.x);
    const double *x = hpc_test_tensor_doubles(&h, &a.x);
    double *y = hpc_test_heap_doubles(&h, n);

    for (int64_t i = 0; i < c->pairs; i++)
        ((float *)a.freq.data)[i] = powf(10000, -(float)i / (float)c->pairs);
    for (int64_t t = 0; t < c->tokens; t++) ((int32_t *)a.pos.data)[t] = (int32_t)(t * t * 997);
    if (c->count) a.x = ragged(a.x, 0, c->count), a.y = ragged(a.y, 0, c->count);
    const double *freq = hpc_test_tensor_doubles(&h, &a.freq);
    for (int64_t r = 0; r < c->tokens * c->heads; r++) {
        double position = ((const int32_t *)a.pos.data)[r / c->heads];
        turned(y + r * c->dim, x + r * c->dim, c, position, freq);
        for (int64_t i = r * c->dim; i < (r + 1) * c->dim; i++)
            if (!live_at(&a.x, i)) y[i] = UNTOUCHED;
    }
    check(&(kernel_case){"rope", select_rope, &a, 1, 5e-7, {y}});
    if (c->x == c->y) {
        for (int64_t i = 0; i < n; i++)
            if (!live_at(&a.x, i)) y[i] = NAN;
        a.y = a.x;
        check(&(kernel_case){"rope in place", select_rope, &a, 1, 5e-7, {y}});
    }
    hpc_test_heap_free(&h);
}

static void turns(void **state)
{
    (void)state;
    for (int i = 0; i < 16; i++) {
        hpc_rope_attr attr = {i & 1, i & 2, i & 4 ? 1.25 : 1};
        hpc_dtype x = i & 8 ? HPC_BF16 : HPC_F32, y = i & 4 ? HPC_BF16 : HPC_F32;
        turn_check(&(turn_case){7, 3, 64, 32, attr, x, y, NULL});
        turn_check(&(turn_case){9, 5, 50, 11, attr, x, y, one_count}); /* partial */
        turn_check(&(turn_case){2, 1, 600, 150, attr, x, y, NULL});    /* wide */
        turn_check(&(turn_case){3, 2, 6, 0, attr, x, y, NULL});
        turn_check(&(turn_case){0, 2, 8, 4, attr, x, y, NULL});
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refusals(void **state)
{
    hpc_test_heap h = {0};
    hpc_tensor x = hpc_test_tensor(&h, HPC_F32, 3, 2, 3, 4, 0), absent = hpc_test_absent();
    hpc_tensor f64 = hpc_test_tensor(&h, HPC_F64, 1, 4, 0, 0, 0);
    hpc_tensor stats = hpc_test_tensor(&h, HPC_F32, 2, 6, 2, 0, 0);
    hpc_tensor pos = hpc_test_tensor(&h, HPC_I32, 1, 2, 0, 0, 0);
    int code = HPC_E_UNSUPPORTED;

    (void)state;
    check_fails(select_norm, &(hpc_norm_args){x, stats, x, f64, absent, {HPC_RMS, 0}}, code,
                "norm_%s does not take f64[4] as its operand w");
    check_fails(select_norm,
                &(hpc_norm_args){x, stats, ragged(x, 2, counts), absent, absent, {HPC_RMS, 0}},
                code, "norm_%s takes whole rows, its operand x is f32[2,3,<=4]");
    check_fails(select_norm_grad,
                &(hpc_norm_grad_args){absent, f64, absent, x, x, stats, absent, {HPC_RMS, 0}}, code,
                "norm_grad_%s does not take f64[4] as its operand dw");
    check_fails(select_rope, &(hpc_rope_args){x, x, stats, f64, {false, false, 1}}, code,
                "rope_%s does not take f32[6,2] as its operand pos");
    check_fails(select_rope, &(hpc_rope_args){x, x, pos, f64, {false, false, 1}}, code,
                "rope_%s does not take f64[4] as its operand freq");
    hpc_test_heap_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(norms), cmocka_unit_test(norm_grads),
                                       cmocka_unit_test(turns), cmocka_unit_test(refusals)};

    return cmocka_run_group_tests_name("kernels_rows", tests, NULL, NULL);
}
