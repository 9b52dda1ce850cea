/*
 * attention.c: attention and attention_grad on every backend compared with the reference:
 * documents, windows, grouped queries, run-time numbers of rows and sequences, paged caches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "tests/support/ops.h"

static const hpc_dtype width[] = {HPC_F32, HPC_BF16};

/* Weights are factors of the values' type, unless something is f32. */
static hpc_test_bound bound_of(hpc_dtype q, hpc_dtype kv)
{
    return q == HPC_BF16 && kv == HPC_BF16 ? HPC_TEST_HALVED : HPC_TEST_CURVED;
}

enum { T = 150, D = 24, HQ_MOST = 4 };

/* Four documents, the last of them the rest; one is empty and one a single token. */
static const int32_t starts[] = {0, 70, 70, 71, T};
enum { SEQUENCES = sizeof starts / sizeof *starts - 1 };

typedef struct shape {
    int hq, hkv;
    bool causal;
    int64_t window;
    double scale; /* 0: the usual */
    double cap;
    bool ragged; /* 137 rows are live, and 3 of 4 sequences */
} shape;

static const shape shapes[] = {
    {.hq = 2, .hkv = 2, .causal = true},
    {.hq = 4, .hkv = 2, .causal = true, .window = 9},
    {.hq = 4, .hkv = 1, .causal = false, .scale = 0.3},
    {.hq = 2, .hkv = 2, .causal = true, .ragged = true},
    {.hq = 4, .hkv = 2, .causal = false, .window = 33, .ragged = true},
    {.hq = 4, .hkv = 2, .causal = true, .window = 9, .cap = 2},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct operands {
    hpc_type q, k, lse;
    hpc_value start;
    hpc_attention_attr attr;
} operands;

static operands operands_of(hpc_test_case *c, const shape *s, hpc_dtype d)
{
    static const int32_t part[] = {0, 70, 70, 137, INT32_MAX};
    operands o = {
        .q = test_type(d, T, s->hq, D),
        .k = test_type(d, T, s->hkv, D),
        .lse = test_type(HPC_F32, T, s->hq),
        .attr = {.causal = s->causal, .window = s->window, .scale = s->scale, .cap = s->cap}};
    hpc_type start = test_type(HPC_I32, SEQUENCES + 1);
    if (s->ragged) {
        hpc_value rows = hpc_test_indices(c, hpc_type_of(HPC_I32, 0, NULL), (int32_t[]){137});
        hpc_value n = hpc_test_indices(c, hpc_type_of(HPC_I32, 0, NULL), (int32_t[]){4});
        o.q = hpc_type_ragged(o.q, 0, rows);
        o.k = hpc_type_ragged(o.k, 0, rows);
        o.lse = hpc_type_ragged(o.lse, 0, rows);
        start = hpc_type_ragged(start, 0, n);
    }
    o.start = hpc_test_indices(c, start, s->ragged ? part : starts);
    return o;
}

static hpc_value emit_forward(hpc_test_case *c, const operands *o)
{
    hpc_value q = hpc_test_input(c, o->q, 1), k = hpc_test_input(c, o->k, 1);
    hpc_value v = hpc_test_input(c, o->k, 1);
    return hpc_attention(c->p, q, k, v, o->start, HPC_NONE, HPC_NONE, o->attr);
}

/* Of the one instruction that makes o. */
static hpc_value lse_of(const hpc_test_case *c)
{
    const hpc_segment *s = &c->p->segment[0];
    return s->insn[s->insn_n - 1].operand[1];
}

static void forward(void **state)
{
    for (int s = 0; s < SHAPES; s++)
        for (int w = 0; w < 2; w++) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "attention shape %d, type %d", s, width[w]);
            operands o = operands_of(&c, &shapes[s], width[w]);
            hpc_value y = emit_forward(&c, &o);
            c.terms = T + D;
            c.exponent = 8;
            hpc_test_want(&c, y, bound_of(width[w], width[w]));
            hpc_test_want(&c, lse_of(&c), HPC_TEST_CURVED);
            hpc_test_case_check(&c);
        }
}

/* What forward gives, kept by the caller: gradients are tested on their own. */
static void solve_forward(void **state, const shape *s, hpc_dtype d, double *y, double *lse)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "attention, for its gradient");
    operands o = operands_of(&c, s, d);
    hpc_test_want(&c, emit_forward(&c, &o), HPC_TEST_CURVED);
    hpc_test_want(&c, lse_of(&c), HPC_TEST_CURVED);
    hpc_test_case_solve(&c);
    memcpy(y, c.wanted[0].correct, (size_t)c.wanted[0].n * sizeof *y);
    memcpy(lse, c.wanted[1].correct, (size_t)c.wanted[1].n * sizeof *lse);
    hpc_test_case_free(&c);
}

/* The same draws as forward's: inputs are drawn by their number. */
static void backward(void **state)
{
    for (int s = 0; s < SHAPES; s++)
        for (int w = 0; w < 2; w++) {
            double *y = hpc_alloc(T * HQ_MOST * D, sizeof *y);
            double *lse = hpc_alloc(T * HQ_MOST, sizeof *lse);
            hpc_test_case c;
            solve_forward(state, &shapes[s], width[w], y, lse);
            hpc_test_case_begin(&c, state, "attention_grad shape %d, type %d", s, width[w]);
            operands o = operands_of(&c, &shapes[s], width[w]);
            hpc_value q = hpc_test_input(&c, o.q, 1), k = hpc_test_input(&c, o.k, 1);
            hpc_value v = hpc_test_input(&c, o.k, 1);
            hpc_value operand[] = {HPC_NEW,
                                   HPC_NEW,
                                   HPC_NEW,
                                   hpc_test_input(&c, o.q, 1),
                                   q,
                                   k,
                                   v,
                                   hpc_test_input_of(&c, o.q, y),
                                   hpc_test_input_of(&c, o.lse, lse),
                                   o.start};
            o.attr.scale = o.attr.scale != 0 ? o.attr.scale : 1 / sqrt(D);
            hpc_emit(c.p, &hpc_op_attention_grad, operand, &o.attr);
            c.terms = 2 * (T + D);
            c.exponent = 16; /* times a difference, in which digits cancel */
            for (int out = 0; out < 3; out++)
                hpc_test_want(&c, operand[out], bound_of(width[w], width[w]));
            hpc_test_case_check(&c);
            hpc_free(y);
            hpc_free(lse);
        }
}

/* Two sequences decode, one takes in its prompt; pages are shared, scattered and half full. */
static void paged(void **state)
{
    enum { S = 3, PAGES = 20, PAGE = 8, PER = 9, ROWS = 30 };
    static const int32_t start[] = {0, 1, 29, 30}, len[] = {67, 28, 1};
    static const int32_t page[S * PER] = {
        3,  7,         11,        2,         19,        0,         5,         8,         12,
        3,  7,         1,         4,         INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX,
        17, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX};
    for (int s = 0; s < 4; s++)
        for (int w = 0; w < 2; w++)
            for (int cache = 0; cache < 2; cache++) {
                hpc_test_case c;
                hpc_test_case_begin(&c, state, "paged shape %d, types %d,%d", s, w, cache);
                hpc_type kv = test_type(width[cache], PAGES, PAGE, shapes[s].hkv, D);
                hpc_value q = hpc_test_input(&c, test_type(width[w], ROWS, shapes[s].hq, D), 1);
                hpc_value k = hpc_test_state(&c, kv, 1, false);
                hpc_value v = hpc_test_state(&c, kv, 1, false);
                hpc_attention_attr attr = {.causal = shapes[s].causal, .window = shapes[s].window};
                if (s == 3) attr.cap = 0.5; /* a shape is causal and has no window */
                hpc_value y = hpc_attention(
                    c.p, q, k, v, hpc_test_indices(&c, test_type(HPC_I32, S + 1), start),
                    hpc_test_indices(&c, test_type(HPC_I32, S), len),
                    hpc_test_indices(&c, test_type(HPC_I32, S, PER), page), attr);
                c.terms = T + D;
                c.exponent = 8;
                hpc_test_want(&c, y, bound_of(width[w], width[cache]));
                hpc_test_want(&c, lse_of(&c), HPC_TEST_CURVED);
                hpc_test_case_check(&c);
            }
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "attention");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward),
        cmocka_unit_test(backward),
        cmocka_unit_test(paged),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/attention", tests, open_bench, hpc_test_bench_close);
}
