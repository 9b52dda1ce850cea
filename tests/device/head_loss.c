/*
 * head_loss.c: the fused head and cross-entropy on every instruction set compared with logits in
 * double, and its gradient with central differences: ignored and invalid targets, large logits,
 * ragged rows, accumulation, bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "tests/support/launch.h"

static int select_loss(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->head_loss(p, workers, args);
}

static int select_grad(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->head_loss_grad(p, workers, args);
}

static int select_pack(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->pack(p, workers, args);
}

static const int worker_counts[] = {1, 2, 11};

typedef struct problem {
    int64_t rows, dim, vocab;
    hpc_dtype x, w, grad; /* grad: of dx, dw and dloss */
    double size;          /* of w; 0: 1 */
    int32_t live;         /* rows, or 0: all */
    bool adds, no_dx, no_dw;
} problem;

/* Every fifth row is ignored; the first and last words occur. */
static int32_t target_of(const problem *c, int64_t row)
{
    if (row % 5 == 3) return -100;
    return (int32_t)(row % 2 ? row * 31 % c->vocab : c->vocab - 1 - row * 7 % c->vocab);
}

static int64_t live_of(const problem *c)
{
    return c->live > 0 ? c->live : c->rows;
}

static hpc_head_loss_args args_of(hpc_test_heap *h, const problem *c)
{
    hpc_head_loss_args a = {.loss = hpc_test_tensor(h, HPC_F32, 1, c->rows, 0, 0, 0),
                            .lse = hpc_test_tensor(h, HPC_F32, 1, c->rows, 0, 0, 0),
                            .x = hpc_test_tensor(h, c->x, 2, c->rows, c->dim, 0, 0),
                            .w = hpc_test_tensor(h, c->w, 2, c->vocab, c->dim, 0, 0),
                            .target = hpc_test_tensor(h, HPC_I32, 1, c->rows, 0, 0, 0)};

    hpc_test_tensor_draw(&a.x, 1, 1);
    hpc_test_tensor_draw(&a.w, 2, c->size > 0 ? c->size : 1);
    for (int64_t r = 0; r < c->rows; r++)
        ((int32_t *)a.target.data)[r] = r < live_of(c) ? target_of(c, r) : INT32_MAX;
    if (c->live > 0) {
        a.loss.ragged = a.lse.ragged = a.x.ragged = a.target.ragged = 0;
        a.loss.count = a.lse.count = a.x.count = a.target.count = &c->live;
    }
    return a;
}

static double row_loss(double *lse, const problem *c, const double *x, const double *w, int64_t row)
{
    double most = -INFINITY, sum = 0, hit = 0;
    double logit[2048];
    int32_t target = target_of(c, row);

    for (int64_t v = 0; v < c->vocab; v++) {
        logit[v] = 0;
        for (int64_t d = 0; d < c->dim; d++) logit[v] += x[row * c->dim + d] * w[v * c->dim + d];
        if (logit[v] > most) most = logit[v];
        if (v == target) hit = logit[v];
    }
    for (int64_t v = 0; v < c->vocab; v++) sum += exp(logit[v] - most);
    *lse = most + log(sum);
    return target < 0 ? 0 : *lse - hit;
}

/* ---- forward -------------------------------------------------------------------------- */

static void check(const problem *c)
{
    hpc_test_heap h = {0};
    hpc_head_loss_args a = args_of(&h, c);
    double *loss = hpc_test_heap_doubles(&h, c->rows), *lse = hpc_test_heap_doubles(&h, c->rows);
    double tolerance = 1e-5 * (1 + c->size);
    size_t bytes = (size_t)live_of(c) * sizeof(float);

    for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
        hpc_head_loss_args first = a;
        double *x = hpc_test_tensor_doubles(&h, &a.x), *w = hpc_test_tensor_doubles(&h, &a.w);
        if (hpc_test_fixes(*isa) && c->x == HPC_BF16 && c->w == HPC_BF16) {
            hpc_test_fix(x, c->rows, c->dim, c->dim, false);
            hpc_test_fix(w, c->vocab, c->dim, c->dim, false);
        }
        for (int64_t r = 0; r < live_of(c); r++) loss[r] = row_loss(lse + r, c, x, w, r);
        for (int i = 0; i < 3; i++) {
            hpc_head_loss_args t = a;
            t.loss = hpc_test_twin(&h, &a.loss);
            t.lse = hpc_test_twin(&h, &a.lse);
            assert_int_equal(hpc_test_launch(select_loss, *isa, worker_counts[i], &t), 0);
            if (i == 0) {
                hpc_test_near(*isa, hpc_test_tensor_doubles(&h, &t.loss), loss, NULL, tolerance,
                              live_of(c));
                hpc_test_near(*isa, hpc_test_tensor_doubles(&h, &t.lse), lse, NULL, tolerance,
                              live_of(c));
                first = t;
            }
            assert_memory_equal(first.loss.data, t.loss.data, bytes);
            assert_memory_equal(first.lse.data, t.lse.data, bytes);
        }
    }
    hpc_test_heap_free(&h);
}

static void losses(void **state)
{
    (void)state;
    check(&(problem){.rows = 1, .dim = 1, .vocab = 1});
    check(&(problem){.rows = 3, .dim = 17, .vocab = 255});
    check(&(problem){.rows = 411, .dim = 24, .vocab = 777});
    check(&(problem){.rows = 50, .dim = 33, .vocab = 1024, .live = 29});
    check(&(problem){.rows = 50, .dim = 33, .vocab = 300, .x = HPC_BF16, .w = HPC_BF16});
    check(&(problem){.rows = 5, .dim = 256, .vocab = 520, .w = HPC_Q8_0, .size = 0.2});
    check(&(problem){.rows = 9, .dim = 512, .vocab = 100, .w = HPC_Q4_K, .size = 0.1});
    check(&(problem){.rows = 12, .dim = 20, .vocab = 300, .size = 1000});
}

/* A row's bits do not depend on its place or on the other rows. */
static void rows_alone(void **state)
{
    hpc_test_heap h = {0};
    problem c = {.rows = 230, .dim = 40, .vocab = 600};
    hpc_head_loss_args all = args_of(&h, &c), one = all;

    (void)state;
    assert_int_equal(hpc_test_launch(select_loss, NULL, 2, &all), 0);
    one.x.extent[0] = one.loss.extent[0] = one.lse.extent[0] = one.target.extent[0] = 1;
    one.loss = hpc_test_twin(&h, &one.loss);
    one.lse = hpc_test_twin(&h, &one.lse);
    for (int64_t r = 0; r < c.rows; r += 19) {
        one.x.data = (float *)all.x.data + r * c.dim;
        one.target.data = (int32_t *)all.target.data + r;
        assert_int_equal(hpc_test_launch(select_loss, NULL, 7, &one), 0);
        assert_memory_equal(one.loss.data, (float *)all.loss.data + r, sizeof(float));
        assert_memory_equal(one.lse.data, (float *)all.lse.data + r, sizeof(float));
    }
    hpc_test_heap_free(&h);
}

/* Packed weights give the bits that plain ones give (in f32: see gemm_fixed). */
static void packed_weights(void **state)
{
    hpc_test_heap h = {0};
    problem c = {.rows = 21, .dim = 40, .vocab = 599};
    hpc_head_loss_args plain = args_of(&h, &c), packed = plain;
    hpc_pack_args pack = {.y = plain.w, .x = plain.w};

    (void)state;
    pack.y.pack = HPC_PANEL16;
    pack.y.data = hpc_test_heap_alloc(&h, hpc_tensor_bytes(&pack.y));
    assert_int_equal(hpc_test_launch(select_pack, NULL, 7, &pack), 0);
    packed.w = pack.y;
    packed.loss = hpc_test_twin(&h, &plain.loss);
    assert_int_equal(hpc_test_launch(select_loss, NULL, 2, &plain), 0);
    assert_int_equal(hpc_test_launch(select_loss, NULL, 2, &packed), 0);
    assert_memory_equal(plain.loss.data, packed.loss.data, hpc_tensor_bytes(&plain.loss));
    hpc_test_heap_free(&h);
}

/* ---- backward --------------------------------------------------------------------------- */

typedef struct dense {
    double *x, *w, *dloss;
} dense;

static double total(const problem *c, const dense *m)
{
    double sum = 0, lse;

    for (int64_t r = 0; r < live_of(c); r++) sum += m->dloss[r] * row_loss(&lse, c, m->x, m->w, r);
    return sum;
}

/* of: m->x or m->w; before: what a gradient that adds has been given, or NULL. */
static void check_slopes(hpc_test_heap *h, const problem *c, const dense *m, double *of,
                         const hpc_tensor *gradient, const double *before, int64_t n)
{
    const double step = 1e-5, *got = hpc_test_tensor_doubles(h, gradient);
    double tolerance = c->grad == HPC_BF16 || c->x == HPC_BF16 ? 2e-2 : 2e-5;

    for (int64_t i = 0; i < n; i += 1 + n / 40) {
        double kept = of[i];
        of[i] = kept + step;
        double up = total(c, m);
        of[i] = kept - step;
        double wanted = (up - total(c, m)) / (2 * step) + (before ? before[i] : 0);
        of[i] = kept;
        hpc_test_near("gradient", got + i, &wanted, NULL, tolerance * (1 + fabs(wanted)), 1);
    }
}

static hpc_head_loss_grad_args grad_args_of(hpc_test_heap *h, const problem *c)
{
    hpc_head_loss_args f = args_of(h, c);
    hpc_head_loss_grad_args a = {.loss = hpc_test_absent(),
                                 .dx = hpc_test_absent(),
                                 .dw = hpc_test_absent(),
                                 .lse = f.lse,
                                 .x = f.x,
                                 .w = f.w,
                                 .target = f.target};

    assert_int_equal(hpc_test_launch(select_loss, NULL, 2, &f), 0);
    a.dloss = hpc_test_tensor(h, c->grad, 1, c->rows, 0, 0, 0);
    hpc_test_tensor_draw(&a.dloss, 3, 1);
    if (!c->no_dx) a.dx = hpc_test_tensor(h, c->grad, 2, c->rows, c->dim, 0, 0);
    if (!c->no_dw) {
        a.dw = hpc_test_tensor(h, c->grad, 2, c->vocab, c->dim, 0, 0);
        if (c->adds) hpc_test_tensor_draw(&a.dw, 4, 1);
        a.dw.adds = c->adds;
    }
    return a;
}

static void check_grad(const problem *c)
{
    hpc_test_heap h = {0};
    hpc_head_loss_grad_args a = grad_args_of(&h, c);
    dense m = {hpc_test_tensor_doubles(&h, &a.x), hpc_test_tensor_doubles(&h, &a.w),
               hpc_test_tensor_doubles(&h, &a.dloss)};
    const double *before = c->adds ? hpc_test_tensor_doubles(&h, &a.dw) : NULL;

    for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
        hpc_head_loss_grad_args first = a;
        for (int i = 0; i < 3; i++) {
            hpc_head_loss_grad_args t = a;
            t.dx = hpc_test_twin(&h, &a.dx);
            t.dw = hpc_test_twin(&h, &a.dw);
            assert_int_equal(hpc_test_launch(select_grad, *isa, worker_counts[i], &t), 0);
            if (i == 0) {
                first = t;
                if (t.dx.data) check_slopes(&h, c, &m, m.x, &t.dx, NULL, live_of(c) * c->dim);
                if (t.dw.data) check_slopes(&h, c, &m, m.w, &t.dw, before, c->vocab * c->dim);
            }
            if (t.dx.data)
                assert_memory_equal(first.dx.data, t.dx.data,
                                    hpc_tensor_bytes(&t.dx) / (size_t)c->rows * (size_t)live_of(c));
            if (t.dw.data) assert_memory_equal(first.dw.data, t.dw.data, hpc_tensor_bytes(&t.dw));
        }
    }
    hpc_test_heap_free(&h);
}

static void gradients(void **state)
{
    (void)state;
    check_grad(&(problem){.rows = 1, .dim = 1, .vocab = 2});
    check_grad(&(problem){.rows = 13, .dim = 19, .vocab = 270});
    check_grad(&(problem){.rows = 13, .dim = 19, .vocab = 270, .adds = true, .no_dx = true});
    check_grad(&(problem){.rows = 13, .dim = 19, .vocab = 270, .no_dw = true, .live = 6});
    check_grad(&(problem){.rows = 13, .dim = 19, .vocab = 270, .grad = HPC_BF16, .adds = true});
    check_grad(&(problem){.rows = 13, .dim = 9, .vocab = 30, .x = HPC_BF16, .w = HPC_BF16});
    check_grad(&(problem){.rows = 600, .dim = 5, .vocab = 40, .live = 590});
    check_grad(&(problem){.rows = 600, .dim = 5, .vocab = 40, .grad = HPC_BF16});
    check_grad(&(problem){.rows = 600, .dim = 5, .vocab = 40, .grad = HPC_BF16, .adds = true});
}

static void same_live_bytes(const hpc_tensor *a, const hpc_tensor *b, const problem *c)
{
    size_t bytes = hpc_tensor_bytes(a) / (size_t)c->rows * (size_t)live_of(c);
    assert_memory_equal(a->data, b->data, bytes);
}

/* Within a few roundings of the largest number; those of factors, where they are bf16. */
static void nearly(hpc_test_heap *h, const hpc_tensor *a, const hpc_tensor *b, const problem *c,
                   int64_t n)
{
    const double *x = hpc_test_tensor_doubles(h, a), *y = hpc_test_tensor_doubles(h, b);
    double most = 0, bound = c->x == HPC_BF16 ? 4e-3 : 2e-6;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(y[i]));
    for (int64_t i = 0; i < n; i++) assert_true(fabs(x[i] - y[i]) <= bound * most);
}

/* Without lse: the bits of head_loss, and nearly the gradients that its lse gives, to the same bits
 * by any number of workers. */
static void check_both(const problem *c)
{
    hpc_test_heap h = {0};
    hpc_head_loss_args f = args_of(&h, c);
    hpc_head_loss_grad_args a = grad_args_of(&h, c);

    for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
        hpc_head_loss_grad_args b = a, first = a;
        assert_int_equal(hpc_test_launch(select_loss, *isa, 2, &f), 0);
        a.lse = f.lse;
        assert_int_equal(hpc_test_launch(select_grad, *isa, 2, &a), 0);
        for (int i = 0; i < 3; i++) {
            b.lse = hpc_test_absent();
            b.loss = hpc_test_twin(&h, &f.loss);
            b.dx = hpc_test_twin(&h, &a.dx);
            b.dw = hpc_test_twin(&h, &a.dw);
            assert_int_equal(hpc_test_launch(select_grad, *isa, worker_counts[i], &b), 0);
            same_live_bytes(&b.loss, &f.loss, c);
            if (i == 0) {
                first = b;
                nearly(&h, &b.dx, &a.dx, c, live_of(c) * c->dim);
                nearly(&h, &b.dw, &a.dw, c, c->vocab * c->dim);
            }
            same_live_bytes(&b.dx, &first.dx, c);
            assert_memory_equal(b.dw.data, first.dw.data, hpc_tensor_bytes(&a.dw));
        }
    }
    hpc_test_heap_free(&h);
}

static void both_at_once(void **state)
{
    (void)state;
    check_both(&(problem){.rows = 1, .dim = 1, .vocab = 1});
    check_both(&(problem){.rows = 611, .dim = 24, .vocab = 777, .live = 603});
    check_both(&(problem){.rows = 50, .dim = 33, .vocab = 300, .x = HPC_BF16, .w = HPC_BF16});
    /* Products by all workers together, but for the last chunk's or for so many workers. */
    check_both(&(problem){.rows = 620, .dim = 260, .vocab = 1100, .live = 540});
    check_both(&(problem){.rows = 512, .dim = 300, .vocab = 256});
    check_both(&(problem){.rows = 101, .dim = 520, .vocab = 700});
    check_both(&(problem){.rows = 512, .dim = 260, .vocab = 300, .x = HPC_BF16, .w = HPC_BF16});
    check_both(&(problem){.rows = 512, .dim = 1280, .vocab = 600, .x = HPC_BF16, .w = HPC_BF16});
    /* Blocks so far apart that all of most is nothing. */
    check_both(&(problem){.rows = 40, .dim = 9, .vocab = 777, .size = 1000});
}

/* Ignored rows have zeros, and nothing of them reaches dw; no row at all clears dw. */
static void ignored(void **state)
{
    static const int32_t none[] = {0};
    hpc_test_heap h = {0};
    problem c = {.rows = 7, .dim = 3, .vocab = 20};
    hpc_head_loss_grad_args a = grad_args_of(&h, &c);

    (void)state;
    for (int64_t r = 0; r < c.rows; r++) ((int32_t *)a.target.data)[r] = -1;
    assert_int_equal(hpc_test_launch(select_grad, NULL, 2, &a), 0);
    for (int64_t i = 0; i < c.rows * c.dim; i++) assert_true(((float *)a.dx.data)[i] == 0);
    for (int64_t i = 0; i < c.vocab * c.dim; i++) assert_true(((float *)a.dw.data)[i] == 0);
    memset(a.dw.data, 0xff, hpc_tensor_bytes(&a.dw));
    a.x.ragged = 0, a.x.count = none;
    assert_int_equal(hpc_test_launch(select_grad, NULL, 2, &a), 0);
    for (int64_t i = 0; i < c.vocab * c.dim; i++) assert_true(((float *)a.dw.data)[i] == 0);
    a.dw.adds = true, ((float *)a.dw.data)[4] = 5;
    assert_int_equal(hpc_test_launch(select_grad, NULL, 2, &a), 0);
    assert_true(((float *)a.dw.data)[4] == 5);
    hpc_test_heap_free(&h);
}

static void refusals(void **state)
{
    hpc_test_heap h = {0};
    problem c = {.rows = 7, .dim = 32, .vocab = 20};
    hpc_head_loss_args a = args_of(&h, &c);
    hpc_head_loss_grad_args g = grad_args_of(&h, &c);
    const char *wanted = "head_loss: target of row 5 is 20, of a vocabulary of 20";

    (void)state;
    ((int32_t *)a.target.data)[5] = ((int32_t *)g.target.data)[5] = 20;
    assert_int_equal(hpc_test_launch(select_loss, NULL, 7, &a), HPC_E_ARG);
    assert_string_equal(hpc_error_get()->text, wanted);
    hpc_error_clear();
    assert_int_equal(hpc_test_launch(select_grad, NULL, 7, &g), HPC_E_ARG);
    assert_string_equal(hpc_error_get()->text, wanted);
    hpc_error_clear();
    g.w = hpc_test_tensor(&h, HPC_Q8_0, 2, 20, 32, 0, 0);
    assert_int_equal(hpc_test_launch(select_grad, "base", 1, &g), HPC_E_UNSUPPORTED);
    assert_string_equal(hpc_error_get()->text,
                        "head_loss_grad_base does not take q8_0[20,32] as its operand w");
    hpc_error_clear();
    a.loss.dtype = HPC_BF16;
    assert_int_equal(hpc_test_launch(select_loss, "base", 1, &a), HPC_E_UNSUPPORTED);
    assert_non_null(strstr(hpc_error_get()->text, "as its operand loss"));
    hpc_error_clear();
    hpc_test_heap_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses),         cmocka_unit_test(rows_alone),
        cmocka_unit_test(packed_weights), cmocka_unit_test(gradients),
        cmocka_unit_test(both_at_once),   cmocka_unit_test(ignored),
        cmocka_unit_test(refusals),
    };

    return cmocka_run_group_tests_name("device/head_loss", tests, NULL, NULL);
}
