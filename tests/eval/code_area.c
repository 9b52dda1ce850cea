/*
 * Tests of areas under the curve: the numbers of all pairs, compared one by one, and a set that is
 * too large for that.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/code_priv.h"
#include "tests/support/expect.h"

enum { FEW = 90, GROUPS = 5, WEIGHTS = 21, MANY = 60000, SMALL = 10 };

static code_set make(int64_t n, int64_t groups)
{
    code_set s = {.item = hpc_alloc((size_t)n, sizeof *s.item), .n = n, .groups = hpc_map_create()};
    assert_non_null(s.item);
    assert_non_null(s.groups);
    for (int64_t g = 0; g < groups; g++) test_ok(hpc_map_put(s.groups, &g, sizeof g, (uint64_t)g));
    return s;
}

static void release(code_set *s)
{
    hpc_free(s->item);
    hpc_map_free(s->groups);
}

/* ---- all pairs ----------------------------------------------------------------------------- */

typedef struct pairs {
    double n[GROUPS], right[GROUPS][WEIGHTS];
} pairs;

static double deviation(const code_set *s, bool graph)
{
    double sum = 0, squares = 0, n = 0;
    for (int64_t k = 0; k < s->n; k++) {
        double v = graph ? s->item[k].graph_score : s->item[k].score;
        if (s->item[k].fold < 0 || isnan(v)) continue;
        n++, sum += v, squares += v * v;
    }
    return sqrt(squares / n - sum / n * (sum / n));
}

static pairs compare_all(const code_set *s)
{
    pairs p = {0};
    double by_score = deviation(s, false), by_graph = deviation(s, true);
    for (int64_t a = 0; a < s->n; a++)
        for (int64_t b = 0; b < s->n; b++) {
            const code_sample *x = &s->item[a], *y = &s->item[b];
            if (x->fold < 0 || y->fold < 0 || x->group != y->group || x->label <= y->label)
                continue;
            p.n[x->group]++;
            for (int w = 0; w < WEIGHTS; w++) {
                double share = (double)w / (WEIGHTS - 1);
                double ahead = (1 - share) * (x->score - y->score) / by_score;
                if (w > 0) ahead += share * (x->graph_score - y->graph_score) / by_graph;
                p.right[x->group][w] += ahead > 0 ? 1 : ahead < 0 ? 0 : 0.5;
            }
        }
    return p;
}

/* The area with the weight of the graph that is best in all groups but g. */
static double right_of_both(const pairs *p, int g)
{
    int best = 0;
    double most = -1;
    for (int w = 0; w < WEIGHTS; w++) {
        double right = 0;
        for (int other = 0; other < GROUPS; other++)
            if (other != g) right += p->right[other][w];
        if (right > most) best = w, most = right;
    }
    return p->right[g][best];
}

/* Scores and groups in no order, with ties, samples for training and some without a graph score. */
static void areas_are_those_of_all_pairs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        code_set s = make(FEW, GROUPS);
        hpc_eval_code_result out = {.has_score = true};
        double n = 0, right[HPC_EVAL_CODE_METHODS] = {0};
        for (int64_t k = 0; k < FEW; k++) {
            uint32_t bits = hpc_random_bits(seed, 0, 0, (uint64_t)k);
            s.item[k] = (code_sample){.group = bits % GROUPS,
                                      .fold = (int64_t)(bits >> 4 & 3) - 1,
                                      .label = bits >> 8 & 1,
                                      .score = bits >> 12 & 7,
                                      .graph_score = (bits >> 16 & 15) * 0.37};
            if (seed == 5 && k % 9 == 0) s.item[k].graph_score = NAN;
        }
        pairs p = compare_all(&s);
        for (int g = 0; g < GROUPS; g++) {
            n += p.n[g];
            right[HPC_EVAL_CODE_SCORE] += p.right[g][0];
            right[HPC_EVAL_CODE_GRAPH] += p.right[g][WEIGHTS - 1];
            right[HPC_EVAL_CODE_BOTH] += right_of_both(&p, g);
        }
        test_ok(code_check_groups(&s));
        test_ok(code_areas(&out, &s, 1));
        assert_int_equal(out.groups, GROUPS);
        for (int m = 0; m < HPC_EVAL_CODE_METHODS; m++)
            assert_true(out.auc[m].value == right[m] / n);
        release(&s);
    }
}

/* Half of the samples in one group, the others in small ones. */
static void many_samples_are_sorted(void **state)
{
    (void)state;
    code_set s = make(MANY, MANY / 2 / SMALL + 1);
    hpc_eval_code_result out = {.has_score = true};
    for (int64_t k = 0; k < MANY; k++)
        s.item[k] = (code_sample){.group = k % 2 ? 0 : 1 + k / 2 / SMALL,
                                  .label = k / 2 % 2,
                                  .score = (double)(k / 2 % 2) * (k % 2 ? 1 : -1),
                                  .graph_score = (double)(k / 2 % 2) + (double)(k % 1000) * 1e-4};
    test_ok(code_check_groups(&s));
    test_ok(code_areas(&out, &s, 1));
    double large = (double)MANY / 4 * MANY / 4;
    double small =
        (double)MANY / 2 / SMALL * (SMALL / 2) * (SMALL / 2); /* all in the wrong order */
    assert_int_equal(out.groups, MANY / 2 / SMALL + 1);
    assert_true(out.auc[HPC_EVAL_CODE_SCORE].value == large / (large + small));
    assert_true(out.auc[HPC_EVAL_CODE_GRAPH].value == 1);
    release(&s);
}

static void a_group_needs_both_labels(void **state)
{
    (void)state;
    code_set s = make(4, 2);
    for (int64_t k = 0; k < 4; k++) s.item[k] = (code_sample){.group = k / 2, .label = k / 2};
    test_fails(code_check_groups(&s), HPC_E_ARG, "no group has samples of both labels");
    s.item[0].label = 1;
    test_ok(code_check_groups(&s));
    s.item[0].fold = -1;
    test_fails(code_check_groups(&s), HPC_E_ARG, "in a fold from 0 on");
    release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(areas_are_those_of_all_pairs),
        cmocka_unit_test(many_samples_are_sorted),
        cmocka_unit_test(a_group_needs_both_labels),
    };
    return cmocka_run_group_tests_name("eval/code_area", tests, NULL, NULL);
}
