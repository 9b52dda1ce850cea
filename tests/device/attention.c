/*
 * attention.c: attention on every instruction set compared with softmax in double, and its
 * gradient with central differences: several sequences, masks, grouped heads, pages; equal bits in
 * every way to compute a query.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/launch.h"

static int select_attention(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->attention(p, workers, args);
}

static int select_grad(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->attention_grad(p, workers, args);
}

/* ---- cases ------------------------------------------------------------------------ */

enum { SEQUENCES = 5, PAGES_MOST = 80 };

typedef struct problem {
    int64_t heads, key_heads, dim;
    int sequences;
    int32_t start[SEQUENCES + 1];
    int32_t len[SEQUENCES];
    int64_t page; /* 0: identity */
    bool causal;
    int64_t window;
    hpc_dtype query_type, key_type;
    double scale;
} problem;

/* Pages are handed out from the last to the first, so that nothing lies in order. */
static void lay_pages(int32_t *table, int64_t per_sequence, const problem *c)
{
    int32_t next = (int32_t)(per_sequence * c->sequences);

    for (int64_t i = 0; i < per_sequence * c->sequences; i++) table[i] = --next;
}

static int64_t pages_per_sequence(const problem *c)
{
    int64_t most = 1;

    for (int s = 0; s < c->sequences; s++) most = c->len[s] > most ? c->len[s] : most;
    return (most + c->page - 1) / c->page;
}

static hpc_attention_args args_of(hpc_test_heap *h, const problem *c)
{
    int64_t rows = c->start[c->sequences] + 3, pages; /* the last ones are in no sequence */
    hpc_attention_args a = {.len = hpc_test_absent(),
                            .pages = hpc_test_absent(),
                            .attr = {.scale = c->scale, .causal = c->causal, .window = c->window}};

    a.q = hpc_test_tensor(h, c->query_type, 3, rows, c->heads, c->dim, 0);
    a.o = hpc_test_tensor(h, c->query_type, 3, rows, c->heads, c->dim, 0);
    a.lse = hpc_test_tensor(h, HPC_F32, 2, rows, c->heads, 0, 0);
    a.start = hpc_test_tensor(h, HPC_I32, 1, c->sequences + 1, 0, 0, 0);
    memcpy(a.start.data, c->start, sizeof(int32_t) * (size_t)(c->sequences + 1));
    if (c->page > 0) {
        pages = pages_per_sequence(c);
        a.k =
            hpc_test_tensor(h, c->key_type, 4, pages * c->sequences, c->page, c->key_heads, c->dim);
        a.pages = hpc_test_tensor(h, HPC_I32, 2, c->sequences, pages, 0, 0);
        lay_pages(a.pages.data, pages, c);
        a.len = hpc_test_tensor(h, HPC_I32, 1, c->sequences, 0, 0, 0);
        memcpy(a.len.data, c->len, sizeof(int32_t) * (size_t)c->sequences);
    } else {
        a.k = hpc_test_tensor(h, c->key_type, 3, rows, c->key_heads, c->dim, 0);
    }
    a.v = hpc_test_twin(h, &a.k);
    hpc_test_tensor_draw(&a.q, 1, 1);
    hpc_test_tensor_draw(&a.k, 2, 1);
    hpc_test_tensor_draw(&a.v, 3, 1);
    return a;
}

/* ---- the reference ------------------------------------------------------------------ */

typedef struct dense {
    double *q, *k, *v, *o, *lse;
} dense;

static dense dense_of(hpc_test_heap *h, const hpc_attention_args *a)
{
    return (dense){hpc_test_tensor_doubles(h, &a->q), hpc_test_tensor_doubles(h, &a->k),
                   hpc_test_tensor_doubles(h, &a->v), hpc_test_tensor_doubles(h, &a->o),
                   hpc_test_tensor_doubles(h, &a->lse)};
}

static int64_t keys_of(const problem *c, int s)
{
    return c->page > 0 ? c->len[s] : c->start[s + 1] - c->start[s];
}

static int64_t key_row(const problem *c, int s, int64_t j)
{
    if (c->page == 0) return c->start[s] + j;
    int64_t pages = pages_per_sequence(c), all = pages * c->sequences;
    return (all - 1 - (s * pages + j / c->page)) * c->page + j % c->page;
}

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static void attend_one(const problem *c, const dense *x, int s, int64_t i, int64_t head)
{
    int64_t keys = keys_of(c, s), group = c->heads / c->key_heads;
    int64_t at = (c->start[s] + i) * c->heads + head;
    int64_t position = keys - (c->start[s + 1] - c->start[s]) + i, hi = keys, lo = 0;
    double weight[PAGES_MOST * 16], most = -INFINITY, sum = 0;

    if (c->causal && position + 1 < hi) hi = position + 1;
    if (c->window > 0 && hi - c->window > lo) lo = hi - c->window;
    for (int64_t j = lo; j < hi; j++) {
        int64_t row = (key_row(c, s, j) * c->key_heads + head / group) * c->dim;
        weight[j] = c->scale * dot(x->q + at * c->dim, x->k + row, c->dim);
        if (weight[j] > most) most = weight[j];
    }
    for (int64_t j = lo; j < hi; j++) sum += exp(weight[j] - most);
    x->lse[at] = hi > lo ? most + log(sum) : -INFINITY;
    for (int64_t d = 0; d < c->dim; d++) x->o[at * c->dim + d] = 0;
    for (int64_t j = lo; j < hi; j++) {
        int64_t row = (key_row(c, s, j) * c->key_heads + head / group) * c->dim;
        double p = exp(weight[j] - most) / sum;
        for (int64_t d = 0; d < c->dim; d++) x->o[at * c->dim + d] += p * x->v[row + d];
    }
}

static void attend(const problem *c, const dense *x)
{
    for (int s = 0; s < c->sequences; s++)
        for (int64_t i = 0; i < c->start[s + 1] - c->start[s]; i++)
            for (int64_t head = 0; head < c->heads; head++) attend_one(c, x, s, i, head);
}

/* ---- forward --------------------------------------------------------------------------- */

static size_t owned_bytes(const problem *c, const hpc_tensor *t)
{
    return hpc_tensor_bytes(t) / (size_t)t->extent[0] * (size_t)c->start[c->sequences];
}

static void check(const problem *c)
{
    static const int workers[] = {1, 2, 7};
    hpc_test_heap h = {0};
    hpc_attention_args a = args_of(&h, c);
    dense x = dense_of(&h, &a);
    int64_t from = c->start[0] * c->heads, n = c->start[c->sequences] * c->heads - from;

    attend(c, &x);
    for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
        hpc_attention_args first = a;
        for (int i = 0; i < 3; i++) {
            hpc_attention_args t = a;
            t.o = hpc_test_twin(&h, &a.o);
            t.lse = hpc_test_twin(&h, &a.lse);
            assert_int_equal(hpc_test_launch(select_attention, *isa, workers[i], &t), 0);
            if (i == 0) {
                double tolerance = c->query_type == HPC_BF16 ? 2e-2 : 5e-6;
                hpc_test_near(*isa, hpc_test_tensor_doubles(&h, &t.o) + from * c->dim,
                              x.o + from * c->dim, NULL, tolerance, n * c->dim);
                hpc_test_near("lse", hpc_test_tensor_doubles(&h, &t.lse) + from, x.lse + from, NULL,
                              2e-5, n);
                first = t;
            }
            assert_memory_equal(first.o.data, t.o.data, owned_bytes(c, &t.o));
            assert_memory_equal(first.lse.data, t.lse.data, owned_bytes(c, &t.lse));
        }
    }
    hpc_test_heap_free(&h);
}

static void identity(void **state)
{
    static const int64_t dims[] = {1, 7, 16, 40}, windows[] = {0, 1, 9, 70};

    (void)state;
    for (int i = 0; i < 32; i++)
        check(&(problem){.heads = i & 1 ? 6 : 2,
                         .key_heads = 2,
                         .dim = dims[i / 2 % 4],
                         .sequences = 5,
                         .start = {2, 67, 67, 68, 131, 271},
                         .causal = i & 8,
                         .window = windows[(i + i / 8) % 4],
                         .scale = 0.3,
                         .query_type = i & 16 ? HPC_BF16 : HPC_F32,
                         .key_type = i & 4 ? HPC_BF16 : HPC_F32});
    check(&(problem){.heads = 300,
                     .key_heads = 1,
                     .dim = 3,
                     .sequences = 1,
                     .start = {0, 5},
                     .causal = true,
                     .scale = 1});
}

static void paged(void **state)
{
    static const int64_t pages[] = {1, 5, 16, 64, 100};

    (void)state;
    for (int i = 0; i < 20; i++)
        check(&(problem){.heads = 4,
                         .key_heads = i & 1 ? 1 : 4,
                         .dim = 9,
                         .sequences = 4,
                         .start = {0, 1, 1, 6, 70},
                         .len = {130, 3, 77, 64},
                         .page = pages[i % 5],
                         .causal = i & 2,
                         .window = i & 4 ? 33 : 0,
                         .scale = 0.5,
                         .key_type = i & 8 ? HPC_BF16 : HPC_F32});
}

/* Positions before the first key, and no keys at all. */
static void nothing_visible(void **state)
{
    (void)state;
    check(&(problem){.heads = 2,
                     .key_heads = 1,
                     .dim = 5,
                     .sequences = 2,
                     .start = {0, 4, 6},
                     .len = {2, 0},
                     .page = 4,
                     .causal = true,
                     .scale = 1});
    check(&(problem){.heads = 2,
                     .key_heads = 1,
                     .dim = 5,
                     .sequences = 2,
                     .start = {0, 4, 6},
                     .len = {0, 1},
                     .page = 4,
                     .scale = 1});
}

static void large_scores(void **state)
{
    hpc_test_heap h = {0};
    problem c = {.heads = 1,
                 .key_heads = 1,
                 .dim = 4,
                 .sequences = 1,
                 .start = {0, 150},
                 .scale = 1e4,
                 .causal = true};
    hpc_attention_args a = args_of(&h, &c);

    (void)state;
    assert_int_equal(hpc_test_launch(select_attention, NULL, 2, &a), 0);
    const float *o = a.o.data;
    for (int64_t i = 0; i < 150 * 4; i++) assert_true(isfinite(o[i]));
    hpc_test_heap_free(&h);
}

/* ---- bits -------------------------------------------------------------------------------- */

/* Row `row` of `all` and row `mine` of `one` are the same. */
static void same_row(const problem *c, const hpc_attention_args *all, int64_t row,
                     const hpc_attention_args *one, int64_t mine)
{
    size_t n = (size_t)(c->heads * c->dim), heads = (size_t)c->heads;

    assert_memory_equal((float *)all->o.data + (size_t)row * n,
                        (float *)one->o.data + (size_t)mine * n, n * sizeof(float));
    assert_memory_equal((float *)all->lse.data + (size_t)row * heads,
                        (float *)one->lse.data + (size_t)mine * heads, heads * sizeof(float));
}

/* A whole prompt, its last query alone over pages, and the latter with another sequence in the run:
 * the same bits. */
static void decode_and_prompt(const problem *of, const char *isa)
{
    hpc_test_heap h = {0};
    problem c = *of, d = c, two = c;
    int32_t n = c.start[1];
    hpc_attention_args all = args_of(&h, &c), one, pair;

    assert_int_equal(hpc_test_launch(select_attention, isa, 2, &all), 0);
    d.start[1] = 1, d.len[0] = n, d.page = 7;
    one = args_of(&h, &d);
    size_t key = (size_t)(c.key_heads * c.dim) * hpc_dtype_get(c.key_type)->block_bytes;
    size_t query = (size_t)(c.heads * c.dim);
    for (int32_t j = 0; j < n; j++) {
        size_t to = (size_t)key_row(&d, 0, j) * key, from = (size_t)j * key;
        memcpy((char *)one.k.data + to, (char *)all.k.data + from, key);
        memcpy((char *)one.v.data + to, (char *)all.v.data + from, key);
    }
    memcpy(one.q.data, (float *)all.q.data + (size_t)(n - 1) * query, query * 4);
    assert_int_equal(hpc_test_launch(select_attention, isa, 1, &one), 0);
    same_row(&c, &all, n - 1, &one, 0);
    two.sequences = 2, two.start[2] = n + 90;
    pair = args_of(&h, &two);
    memcpy(pair.q.data, all.q.data, hpc_tensor_bytes(&all.q));
    memcpy(pair.k.data, all.k.data, hpc_tensor_bytes(&all.k));
    memcpy(pair.v.data, all.v.data, hpc_tensor_bytes(&all.v));
    assert_int_equal(hpc_test_launch(select_attention, isa, 7, &pair), 0);
    for (int32_t i = 0; i < n; i++) same_row(&c, &all, i, &pair, i);
    hpc_test_heap_free(&h);
}

static void decode_equals_prompt(void **state)
{
    static const struct {
        int64_t heads, key_heads, dim;
        hpc_dtype key_type;
    } shape[] = {{6, 2, 20, HPC_F32},
                 {2, 2, 64, HPC_F32},
                 {2, 2, 75, HPC_BF16},
                 {4, 1, 64, HPC_BF16},
                 {7, 1, 44, HPC_BF16}};

    (void)state;
    for (const char *const *isa = hpc_test_isas(); *isa; isa++)
        for (size_t k = 0; k < sizeof shape / sizeof shape[0]; k++)
            for (int32_t n = 1; n < 200; n += 33)
                decode_and_prompt(&(problem){.heads = shape[k].heads,
                                             .key_heads = shape[k].key_heads,
                                             .dim = shape[k].dim,
                                             .key_type = shape[k].key_type,
                                             .sequences = 1,
                                             .start = {0, n},
                                             .causal = true,
                                             .window = n % 2 ? 50 : 0,
                                             .scale = 0.2},
                                  *isa);
}

/* Fewer sequences than capacity: entries after the count are not read. */
static void ragged_start(void **state)
{
    static const int32_t count[] = {2};
    hpc_test_heap h = {0};
    problem c = {
        .heads = 1, .key_heads = 1, .dim = 2, .sequences = 3, .start = {0, 3, 5, 8}, .scale = 1};
    hpc_attention_args a = args_of(&h, &c);

    (void)state;
    a.start.ragged = 0;
    a.start.count = count;
    ((int32_t *)a.start.data)[2] = -7;
    assert_int_equal(hpc_test_launch(select_attention, NULL, 2, &a), 0);
    dense x = dense_of(&h, &a);
    c.sequences = 1;
    double *got = hpc_test_tensor_doubles(&h, &a.o);
    attend(&c, &x);
    hpc_test_near("ragged", got, x.o, NULL, 5e-6, 6);
    assert_true(isnan(got[6]));
    hpc_test_heap_free(&h);
}

static void refusals(void **state)
{
    hpc_test_heap h = {0};
    problem c = {.heads = 1,
                 .key_heads = 1,
                 .dim = 2,
                 .sequences = 2,
                 .start = {0, 3, 5},
                 .len = {9, 5},
                 .page = 4,
                 .scale = 1};
    hpc_attention_args a = args_of(&h, &c), t = a;
    int32_t *start = a.start.data, *table = a.pages.data, *len = a.len.data;

    (void)state;
    table[1] = 6;
    assert_int_equal(hpc_test_launch(select_attention, NULL, 2, &a), HPC_E_SHAPE);
    assert_string_equal(hpc_error_get()->text, "attention: page 1 of sequence 0 is 6, of 6");
    hpc_error_clear();
    table[1] = 4, len[1] = 13;
    assert_int_equal(hpc_test_launch(select_attention, NULL, 2, &a), HPC_E_SHAPE);
    assert_string_equal(hpc_error_get()->text,
                        "attention: sequence 1 has 13 keys, its pages hold 12");
    hpc_error_clear();
    start[2] = 9;
    assert_int_equal(hpc_test_launch(select_attention, NULL, 2, &a), HPC_E_SHAPE);
    assert_string_equal(hpc_error_get()->text, "attention: sequence 1 has rows 3 to 9 of 8");
    hpc_error_clear();
    t.len = hpc_test_absent();
    assert_int_equal(hpc_test_launch(select_attention, "base", 1, &t), HPC_E_UNSUPPORTED);
    assert_string_equal(hpc_error_get()->text,
                        "attention_base takes len and pages together, or neither");
    hpc_error_clear();
    t = a;
    t.v.dtype = HPC_F16;
    assert_int_equal(hpc_test_launch(select_attention, "base", 1, &t), HPC_E_UNSUPPORTED);
    assert_non_null(strstr(hpc_error_get()->text, "as its operand v"));
    hpc_error_clear();
    hpc_test_heap_free(&h);
}

/* ---- backward ------------------------------------------------------------------------------ */

/* d(sum of dout o) / dx[i], by central differences in double. */
static double slope(const problem *c, const dense *x, double *of, int64_t i, const double *dout)
{
    const double step = 1e-5, kept = of[i];
    int64_t n = c->start[c->sequences] * c->heads * c->dim, first = c->start[0] * c->heads * c->dim;
    double up, down;

    of[i] = kept + step;
    attend(c, x);
    up = dot(x->o + first, dout + first, n - first);
    of[i] = kept - step;
    attend(c, x);
    down = dot(x->o + first, dout + first, n - first);
    of[i] = kept;
    return (up - down) / (2 * step);
}

/* Every `stride`-th element of a gradient. */
static void check_slopes(hpc_test_heap *h, const problem *c, const dense *x, double *of,
                         const hpc_tensor *gradient, const double *dout, int64_t stride,
                         double tolerance)
{
    const double *got = hpc_test_tensor_doubles(h, gradient);
    int64_t row = hpc_tensor_n(gradient) / gradient->extent[0];

    for (int64_t i = c->start[0] * row; i < c->start[c->sequences] * row; i += stride) {
        double wanted = slope(c, x, of, i, dout);
        hpc_test_near("gradient", got + i, &wanted, NULL, tolerance * (1 + fabs(wanted)), 1);
    }
}

static void check_grad(const problem *c, int64_t stride)
{
    static const int workers[] = {1, 2, 7};
    hpc_test_heap h = {0};
    hpc_attention_args f = args_of(&h, c);
    hpc_attention_grad_args a = {
        .q = f.q, .k = f.k, .v = f.v, .o = f.o, .lse = f.lse, .start = f.start, .attr = f.attr};

    assert_int_equal(hpc_test_launch(select_attention, NULL, 2, &f), 0);
    a.dout = hpc_test_twin(&h, &f.q);
    hpc_test_tensor_draw(&a.dout, 4, 1);
    dense x = dense_of(&h, &f);
    const double *dout = hpc_test_tensor_doubles(&h, &a.dout);
    double tolerance = c->query_type == HPC_BF16 || c->key_type == HPC_BF16 ? 3e-2 : 3e-5;
    for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
        hpc_attention_grad_args first = a;
        for (int i = 0; i < 3; i++) {
            hpc_attention_grad_args t = a;
            t.dq = hpc_test_tensor(&h, c->key_type, 3, f.q.extent[0], c->heads, c->dim, 0);
            t.dk = hpc_test_tensor(&h, c->key_type, 3, f.q.extent[0], c->key_heads, c->dim, 0);
            t.dv = hpc_test_tensor(&h, HPC_F32, 3, f.q.extent[0], c->key_heads, c->dim, 0);
            assert_int_equal(hpc_test_launch(select_grad, *isa, workers[i], &t), 0);
            if (i == 0) {
                check_slopes(&h, c, &x, x.q, &t.dq, dout, stride, tolerance);
                check_slopes(&h, c, &x, x.k, &t.dk, dout, stride, tolerance);
                check_slopes(&h, c, &x, x.v, &t.dv, dout, stride, tolerance);
                first = t;
            }
            assert_memory_equal(first.dq.data, t.dq.data, owned_bytes(c, &t.dq));
            assert_memory_equal(first.dk.data, t.dk.data, owned_bytes(c, &t.dk));
            assert_memory_equal(first.dv.data, t.dv.data, owned_bytes(c, &t.dv));
        }
    }
    hpc_test_heap_free(&h);
}

static void gradients(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        check_grad(&(problem){.heads = 4,
                              .key_heads = i & 1 ? 2 : 4,
                              .dim = 5,
                              .sequences = 3,
                              .start = {0, 6, 6, 13},
                              .causal = i & 2,
                              .window = i & 4 ? 3 : 0,
                              .scale = 0.6,
                              .query_type = i == 7 ? HPC_BF16 : HPC_F32,
                              .key_type = i > 5 ? HPC_BF16 : HPC_F32},
                   3);
}

static void gradients_of_many_blocks(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        check_grad(&(problem){.heads = 2,
                              .key_heads = 1,
                              .dim = 3,
                              .sequences = 2,
                              .start = {0, 70, 270},
                              .causal = i & 1,
                              .window = i & 2 ? 75 : 0,
                              .scale = 0.6},
                   97);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity),
        cmocka_unit_test(paged),
        cmocka_unit_test(nothing_visible),
        cmocka_unit_test(large_scores),
        cmocka_unit_test(decode_equals_prompt),
        cmocka_unit_test(ragged_start),
        cmocka_unit_test(refusals),
        cmocka_unit_test(gradients),
        cmocka_unit_test(gradients_of_many_blocks),
    };

    return cmocka_run_group_tests_name("device/attention", tests, NULL, NULL);
}
