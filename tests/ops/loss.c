/*
 * loss.c: head_loss, head_loss_grad and soft on every backend compared with the reference: ignored
 * rows, run-time rows, absent and tied gradients, parts of the vocabulary.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "tests/support/ops.h"

static const struct {
    hpc_dtype a, b;
} widths[] = {{HPC_F32, HPC_F32}, {HPC_BF16, HPC_BF16}, {HPC_F32, HPC_BF16}, {HPC_BF16, HPC_F32}};
enum { WIDTHS = sizeof widths / sizeof *widths };

enum { T = 61, H = 45, V = 530 };

static void make_targets(int32_t *target)
{
    for (int t = 0; t < T; t++) target[t] = t % 7 == 3 ? -1 - t : (t * 97 + 11) % V;
    target[T - 1] = V - 1;
    target[0] = 0;
}

typedef struct operands {
    hpc_value rows, target; /* rows: HPC_NONE when all are live */
} operands;

static hpc_type by_rows(hpc_type t, const operands *o)
{
    return o->rows >= 0 ? hpc_type_ragged(t, 0, o->rows) : t;
}

static operands operands_of(hpc_test_case *c, bool ragged)
{
    int32_t target[T];
    operands o = {.rows = HPC_NONE};
    make_targets(target);
    if (ragged) o.rows = hpc_test_indices(c, hpc_type_of(HPC_I32, 0, NULL), (int32_t[]){T - 9});
    o.target = hpc_test_indices(c, by_rows(test_type(HPC_I32, T), &o), target);
    return o;
}

static void want_losses(hpc_test_case *c, hpc_value x, hpc_value w, const operands *o, double cap)
{
    hpc_value operand[] = {HPC_NEW, HPC_NEW, x, w, o->target};
    hpc_emit(c->p, &hpc_op_head_loss, operand, &(hpc_head_attr){.cap = cap});
    c->terms = 600;
    c->exponent = 9;
    hpc_test_want(c, operand[0], HPC_TEST_CURVED);
    hpc_test_want(c, operand[1], HPC_TEST_CURVED);
}

static void losses(void **state)
{
    for (int ragged = 0; ragged < 2; ragged++)
        for (int w = 0; w < WIDTHS; w++) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "head_loss types %d ragged %d", w, ragged);
            operands o = operands_of(&c, ragged);
            hpc_value x = hpc_test_input(&c, by_rows(test_type(widths[w].a, T, H), &o), 1);
            c.fixes = widths[w].a == HPC_BF16 && widths[w].b == HPC_BF16;
            want_losses(&c, x, hpc_test_input(&c, test_type(widths[w].b, V, H), 0.3), &o,
                        ragged ? 1.5 : 0);
            hpc_test_case_check(&c);
        }
}

enum { DX = 1, DW = 2, TIED = 4, HALF = 8, LOSS = 16, CAPPED = 64 };

/* The same x and w as of the losses, by their numbers; lse comes from the reference, or is found
 * with the losses. */
static void grad_case(void **state, int parts, int w, bool ragged)
{
    double lse[T], cap = parts & CAPPED ? 1.5 : 0;
    hpc_test_case c;
    hpc_type tx, tw = test_type(widths[w].b, V, H);
    hpc_test_case_begin(&c, state, "head_loss, for its gradient");
    operands o = operands_of(&c, ragged);
    tx = by_rows(test_type(widths[w].a, T, H), &o);
    hpc_value x = hpc_test_input(&c, tx, 1);
    want_losses(&c, x, hpc_test_input(&c, tw, 0.3), &o, cap);
    hpc_test_case_solve(&c);
    memcpy(lse, c.wanted[1].correct, sizeof lse);
    hpc_test_case_free(&c);

    hpc_test_case_begin(&c, state, "head_loss_grad parts %d types %d ragged %d", parts, w, ragged);
    o = operands_of(&c, ragged);
    x = hpc_test_input(&c, tx, 1);
    hpc_value weight = hpc_test_input(&c, tw, 0.3);
    hpc_type tl = by_rows(test_type(HPC_F32, T), &o);
    hpc_value operand[] = {parts & LOSS ? HPC_NEW : HPC_NONE,
                           parts & DX ? HPC_NEW : HPC_NONE,
                           parts & DW ? HPC_NEW : HPC_NONE,
                           hpc_test_input(&c, tl, 1),
                           parts & LOSS ? HPC_NONE : hpc_test_input_of(&c, tl, lse),
                           x,
                           weight,
                           o.target};
    hpc_type sum = test_type(parts & HALF ? HPC_BF16 : HPC_F32, V, H);
    if (parts & TIED) operand[2] = hpc_test_state(&c, sum, 1, false);
    hpc_emit(c.p, &hpc_op_head_loss_grad, operand, &(hpc_head_attr){.cap = cap});
    c.terms = 600;
    c.fixes = widths[w].a == HPC_BF16 && widths[w].b == HPC_BF16;
    c.exponent = 18; /* times a difference, in which digits cancel */
    /* The logits' gradients are factors, and rounded where x and w are bf16. */
    if (parts & LOSS) hpc_test_want(&c, operand[0], HPC_TEST_CURVED);
    for (int k = 1; k < 3; k++)
        if (operand[k] >= 0)
            hpc_test_want(&c, operand[k], c.fixes ? HPC_TEST_HALVED : HPC_TEST_CURVED);
    hpc_test_case_check(&c);
}

static void gradients(void **state)
{
    for (int ragged = 0; ragged < 2; ragged++)
        for (int w = 0; w < WIDTHS; w++) {
            grad_case(state, DX, w, ragged);
            grad_case(state, DW, w, ragged);
            grad_case(state, DX | DW, w, ragged);
            grad_case(state, DX | DW | CAPPED, w, ragged);
            grad_case(state, DX | DW | TIED, w, ragged);
            grad_case(state, DW | TIED | HALF, w, ragged);
            grad_case(state, LOSS | DX | DW, w, ragged);
            grad_case(state, LOSS | DW | TIED | HALF, w, ragged);
        }
}

/* The last words of the vocabulary, others' targets among them. */
static void parts_of_words(void **state)
{
    enum { HERE = 265 };
    for (int w = 0; w < WIDTHS; w++) {
        double lse[T];
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "head_loss of a part, types %d", w);
        operands o = operands_of(&c, false);
        hpc_value x = hpc_test_input(&c, test_type(widths[w].a, T, H), 1);
        hpc_value words = hpc_test_input(&c, test_type(widths[w].b, HERE, H), 0.3);
        hpc_head_attr attr = {.first = V - HERE, .rows = V, .part = true};
        hpc_value operand[] = {HPC_NEW, HPC_NEW, x, words, o.target};
        hpc_emit(c.p, &hpc_op_head_loss, operand, &attr);
        c.terms = 600;
        c.exponent = 9;
        c.fixes = widths[w].a == HPC_BF16 && widths[w].b == HPC_BF16;
        hpc_test_want(&c, operand[0], HPC_TEST_CURVED);
        hpc_test_want(&c, operand[1], HPC_TEST_CURVED);
        hpc_value dloss = hpc_test_input(&c, test_type(HPC_F32, T), 1);
        for (int t = 0; t < T; t++) lse[t] = 7 + 0.01 * t;
        hpc_value all = hpc_test_input_of(&c, test_type(HPC_F32, T), lse);
        hpc_value grad[] = {HPC_NONE, HPC_NEW, HPC_NEW, dloss, all, x, words, o.target};
        attr.part = false;
        hpc_emit(c.p, &hpc_op_head_loss_grad, grad, &attr);
        hpc_test_want(&c, grad[1], c.fixes ? HPC_TEST_HALVED : HPC_TEST_CURVED);
        hpc_test_want(&c, grad[2], c.fixes ? HPC_TEST_HALVED : HPC_TEST_CURVED);
        hpc_test_case_check(&c);
    }
}

/* More rows than a device keeps logits of at once; the last chunk is partly live. */
static void many_rows(void **state)
{
    enum { ROWS = 2100, LIVE = 2060, WIDE = 8, WORDS = 24 };
    static int32_t target[ROWS];
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "head_loss_grad of many rows");
    operands o = {.rows = hpc_test_indices(&c, hpc_type_of(HPC_I32, 0, NULL), (int32_t[]){LIVE})};
    for (int t = 0; t < ROWS; t++) target[t] = t % 7 == 3 ? -1 : t * 5 % WORDS;
    o.target = hpc_test_indices(&c, by_rows(test_type(HPC_I32, ROWS), &o), target);
    hpc_value x = hpc_test_input(&c, by_rows(test_type(HPC_F32, ROWS, WIDE), &o), 1);
    hpc_value w = hpc_test_input(&c, test_type(HPC_F32, WORDS, WIDE), 0.3);
    hpc_value dloss = hpc_test_input(&c, by_rows(test_type(HPC_F32, ROWS), &o), 1);
    hpc_value operand[] = {HPC_NEW, HPC_NEW, HPC_NEW, dloss, HPC_NONE, x, w, o.target};
    hpc_emit(c.p, &hpc_op_head_loss_grad, operand, &(hpc_head_attr){0});
    c.terms = ROWS;
    c.exponent = 18;
    for (int k = 0; k < 3; k++) hpc_test_want(&c, operand[k], HPC_TEST_CURVED);
    hpc_test_case_check(&c);
}

static void pieces_of_softmax(void **state)
{
    for (int kind = HPC_SOFT_EXP; kind <= HPC_SOFT_LESS; kind++)
        for (int ragged = 0; ragged < 2; ragged++) {
            double a[T], b[T];
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "soft %d ragged %d", kind, ragged);
            operands o = operands_of(&c, ragged);
            for (int t = 0; t < T; t++) a[t] = 0.125 * t, b[t] = 3 - 0.25 * t;
            if (kind == HPC_SOFT_EXP) b[5] = -INFINITY;
            hpc_type type = by_rows(test_type(HPC_F32, T), &o);
            hpc_value va = hpc_test_input_of(&c, type, a), vb = hpc_test_input_of(&c, type, b);
            c.exponent = 20;
            hpc_test_want(&c, hpc_soft_of(c.p, kind, va, vb, HPC_NONE), HPC_TEST_CURVED);
            hpc_test_want(&c, hpc_soft_of(c.p, kind, va, vb, o.target), HPC_TEST_CURVED);
            hpc_test_case_check(&c);
        }
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "loss");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses),
        cmocka_unit_test(gradients),
        cmocka_unit_test(parts_of_words),
        cmocka_unit_test(many_rows),
        cmocka_unit_test(pieces_of_softmax),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/loss", tests, open_bench, hpc_test_bench_close);
}
