/*
 * pairs.c: each pair of values of a plan, and in the long test every grid of up to eight ranks
 * with every ZeRO stage, with and without overdecomposition and pruning: the steps of one rank, or
 * an error with a reason.
 */
/* tsan: left out, other tests start the same threads. */
#include <math.h>
#include <stdlib.h>

#include "runtime/program/priv.h"
#include "tests/support/launch.h"
#include "tests/train/pairs.h"

/* ---- pairs ---------------------------------------------------------------------------------- */

/* A pruned model's gradients and parameters are not shared out: prune.c. */
static bool may_be(int a, int x, int b, int y)
{
    return !(a == ZERO && b == PRUNED && x > 1 && y == 1);
}

static bool is_planned(int a, int x, int b, int y)
{
    for (int k = 0; k < PAIR_PLANS; k++)
        if (pair_plans[k].of[a] == x && pair_plans[k].of[b] == y) return true;
    return false;
}

static void each_pair_is_in_a_plan(void **state)
{
    int pairs = 0, refused = 0;
    (void)state;
    for (int a = 0; a < FACTORS; a++)
        for (int b = a + 1; b < FACTORS; b++)
            for (int i = 0; i < factor_values[a]; i++)
                for (int k = 0; k < factor_values[b]; k++) {
                    int x = factor_first[a] + i, y = factor_first[b] + k;
                    bool may = may_be(a, x, b, y);
                    if (is_planned(a, x, b, y) != may)
                        fail_msg("factor %d = %d with factor %d = %d", a, x, b, y);
                    pairs += may;
                    refused += !may;
                }
    assert_int_equal(pairs, 358); /* 66 x 4 + 12 x 8 - 2 */
    assert_int_equal(refused, 2);
    for (int k = 0; k < PAIR_PLANS; k++) assert_true(pair_ranks(&pair_plans[k]) <= 8);
}

static void on_its_grid(void **state, const pair_plan *p, hpc_dtype dtype, double bound)
{
    hpc_masks *m;
    job *one = by_one(*state, p, dtype, &m), *many = by_all(one, p);
    run_job(many);
    same(many, one, bound);
    hpc_masks_free(m);
    hpc_free(one);
    hpc_free(many);
}

static void pairs_in_double(void **state)
{
    for (int k = 0; k < PAIR_PLANS; k++) on_its_grid(state, &pair_plans[k], HPC_F64, 1e-12);
}

static void pairs_in_single(void **state)
{
    for (int k = 0; k < PAIR_PLANS; k++) on_its_grid(state, &pair_plans[k], HPC_F32, 1e-5);
}

/* The furthest that a run's losses and norms are from another's, as a share of them. */
static double distance(const job *a, const job *b)
{
    double most = fabs(a->validation - b->validation) / b->validation;
    for (int64_t s = 0; s < FEW; s++) {
        most = fmax(most, fabs(a->loss[s] - b->loss[s]) / b->loss[s]);
        most = fmax(most, fabs(a->norm[s] - b->norm[s]) / b->norm[s]);
    }
    return most;
}

/* How far apart two runs' parameters are. */
static double apart(const job *a, const job *b)
{
    double sum = 0;
    assert_int_equal(a->n, b->n);
    for (int64_t k = 0; k < a->n; k++) sum += pow(a->param[k] - b->param[k], 2);
    return sqrt(sum);
}

/* How many values in bf16 are made in a step of one rank. */
static double roundings(const job *one)
{
    hpc_trainer_options o = one->o;
    hpc_trainer *t;
    int n = 0;
    test_ok(hpc_trainer_open(&t, &o, false));
    for (int s = 0; s < t->p->segment_n; s++)
        for (int64_t k = 0; k < t->p->segment[s].insn_n; k++) {
            const hpc_insn *i = &t->p->segment[s].insn[k];
            for (int v = 0; v < i->op->sig.operand_n && !i->op->view; v++)
                n += i->operand[v] >= 0 && hpc_insn_role(t->p, i, v) != HPC_IN &&
                     t->p->value[i->operand[v]].type.dtype == HPC_BF16;
        }
    hpc_trainer_close(t);
    assert_true(n > 0);
    return n;
}

/* Roundings to eight bits, by at most a 512th, are off by 1/sqrt(8 ln 2) of it in the mean square;
 * their squares add, so that n of them move a step by sqrt(n) as much. Where row or col sums
 * products, parts are rounded, whose squares are together as large as the sum's, and then the sum,
 * which one rank rounds as well: twice the squares at most, whatever the plan, were there nothing
 * but sums. Along data and depth gradients alone are summed, which are in single; where bf16 is
 * multiplied in blocks of 32 rows, ranks have others than one, each exact to 2^-14 of its largest:
 * 1.2e-5 of losses and norms, 2.2e-4 of the way (measured; a quarter of what is allowed). */
static void in_half(const pair_plan *p, const job *exact, const job *one, const job *many,
                    const job *before)
{
    double moved = apart(exact, before), one_off = apart(one, exact), many_off = apart(many, exact);
    assert_true(one_off > 0 && one_off < sqrt(roundings(one) / (8 * log(2))) / 512 * moved);
    assert_true(many_off < sqrt(2) * one_off);
    if (p->of[ROW] * p->of[COL] > 1) return;
    bool blocks = hpc_test_fixes(hpc_test_isas()[0]);
    assert_true(distance(many, one) < (blocks ? 0x1p-14 : 1e-6));
    assert_true(apart(many, one) < (blocks ? 0x1p-10 : 1e-5) * moved);
}

/* Losses and norms are single numbers, which may be close by luck: each is held to the furthest of
 * one rank's. */
static void pairs_in_half(void **state)
{
    double one_off = 0, many_off = 0;
    for (int k = 0; k < PAIR_PLANS; k++) {
        const pair_plan *p = &pair_plans[k];
        hpc_masks *m[3];
        job *exact = by_one(*state, p, HPC_F32, &m[0]), *one = by_one(*state, p, HPC_BF16, &m[1]);
        job *before = for_one(*state, p, HPC_F32, &m[2]), *many = by_all(one, p);
        before->steps = 0;
        run_job(before);
        run_job(many);
        in_half(p, exact, one, many, before);
        one_off = fmax(one_off, distance(one, exact));
        many_off = fmax(many_off, distance(many, exact));
        for (int i = 0; i < 3; i++) hpc_masks_free(m[i]);
        hpc_free(before);
        hpc_free(exact);
        hpc_free(one);
        hpc_free(many);
    }
    assert_true(one_off > 0 && one_off < 1.0 / 512);
    assert_true(many_off < sqrt(2) * one_off);
}

/* ---- every grid -------------------------------------------------------------------------------
 */

typedef struct tally {
    int run, refused, grids;
    int stride; /* of those that may, every so many are run */
} tally;

/* Rows, heads, widths and vocabulary divisible by 1, 2, 3, 4, 6 and 8. Rejected: 5 and 7 along any
 * axis, overdecomposition if data times depth is 8, and ZeRO stages 2 and 3 of a pruned model. */
static job *divisible(hpc_test_folder *f)
{
    job *j = start(f, HPC_OPT_ADAMW, NULL);
    hpc_model_config *c = &j->o.model;
    c->dtype = HPC_F64, c->layers = 1, c->vocab = 72, c->hidden = 48;
    c->heads = 24, c->kv_heads = 2, c->head_dim = 4;
    c->dropout = 0.2;
    j->o.rows = 24, j->o.length = 12;
    j->steps = FEW;
    return j;
}

static void on_grid(tally *n, job *const one[2], const hpc_masks *masks, const grid *g)
{
    for (int k = 0; k < 16; k++) {
        bool pruned = k & 1, halves = k & 2;
        job *many = hpc_alloc(1, sizeof *many);
        grid with = *g;
        assert_non_null(many);
        with.zero = k / 4;
        many->o = one[pruned]->o;
        many->source = one[pruned]->source;
        many->steps = FEW;
        put_grid(many, &with);
        many->o.parallel.halves = halves;
        many->o.parallel.overlap = (n->run + n->refused) % 3 == 0;
        many->o.parallel.sequence = (n->run + n->refused) % 5 < 2;
        many->o.step.recompute = (n->run + n->refused) % 7 % 3;
        assert_true((many->o.masks != NULL) == (pruned && masks));
        if (!may_start(many, pruned)) {
            n->refused++;
        } else if (n->run++ % n->stride == 0) {
            run_job(many);
            same(many, one[pruned], 1e-12);
        }
        hpc_free(many);
    }
    n->grids++;
}

static void every_grid(void **state)
{
    job *one[2] = {divisible(*state), divisible(*state)};
    hpc_masks *m = mask(&one[1]->o.model);
    tally n = {.stride = getenv("HPC_TEST_LONG") ? 1 : 178};
    one[1]->o.masks = m;
    for (int k = 0; k < 2; k++) run_job(one[k]);
    for (int data = 1; data <= 8; data++)
        for (int depth = 1; data * depth <= 8; depth++)
            for (int row = 1; data * depth * row <= 8; row++)
                for (int col = 1; data * depth * row * col <= 8; col++)
                    if (data * depth * row * col > 1)
                        on_grid(&n, one, m, &(grid){data, depth, row, col, 0, false});
    assert_int_equal(n.grids, 62);
    assert_int_equal(n.run, 624);
    assert_int_equal(n.refused, 368);
    hpc_masks_free(m);
    hpc_free(one[0]);
    hpc_free(one[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pair_is_in_a_plan), cmocka_unit_test(pairs_in_double),
        cmocka_unit_test(pairs_in_single), cmocka_unit_test(pairs_in_half),
        cmocka_unit_test(every_grid)};
    return cmocka_run_group_tests_name("train/pairs", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
