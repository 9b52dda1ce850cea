/*
 * Tests of a language model in the learner: its features, learning from them where they are
 * informative, and its reason text.
 */
/* tsan: left out, other tests start the same threads. */
#include "infer/perf/language.h"
#include "tests/perf/examples.h"

static double value_of(const hpc_perf_vector *x, const char *feature)
{
    return x->value[hpc_perf_feature_named(feature)];
}

static void what_is_put(void **state)
{
    (void)state;
    hpc_perf_vector x = {{0}};
    hpc_perf_language_put(&x, (double[]){log(0.5), log(0.25), log(0.25)});
    assert_true(fabs(value_of(&x, "language_changed") - 2) < 1e-12);
    assert_true(fabs(value_of(&x, "language_slower") - 1) < 1e-12);
    hpc_perf_language_put(&x, (double[]){-1000, 0, -1});
    assert_true(value_of(&x, "language_changed") == 0 && value_of(&x, "language_slower") == -20);
    hpc_perf_language_put(&x, (double[]){0, -1000, -1000});
    assert_true(value_of(&x, "language_changed") == 20 && value_of(&x, "language_slower") == 20);
    hpc_perf_language_put(&x, NULL);
    for (int k = 0; k < HPC_PERF_FEATURES; k++) assert_true(x.value[k] == 0);
}

/* It is right more often than not, and has no opinion on one in five. */
static void hear(hpc_perf_example *e, int64_t k)
{
    static const double sure[] = {0.6, 0.3, 0.1}, no[] = {0.1, 0.3, 0.6}, same[] = {0.1, 0.8, 0.1};
    hpc_perf_verdict says = e->label;
    double logp[3];
    if (drawn(77, (uint64_t)k) < 0.2) return;
    if (drawn(78, (uint64_t)k) < 0.2)
        says = (hpc_perf_verdict)(drawn(79, (uint64_t)k) * HPC_PERF_UNKNOWN);
    for (int v = 0; v < 3; v++)
        logp[v] = log(says == HPC_PERF_SLOWER ? sure[v] : says == HPC_PERF_SAME ? same[v] : no[v]);
    hpc_perf_language_put(&e->x, logp);
}

/* The share of pairs of a slower one and another that are in that order. */
static double area(const hpc_perf_model *m, const hpc_perf_example *e, int64_t n)
{
    double *p = calloc((size_t)n, sizeof *p), right = 0, pairs = 0;
    assert_non_null(p);
    for (int64_t k = 0; k < n; k++) {
        hpc_perf_estimate x;
        hpc_perf_estimate_find(&x, m, &e[k].x);
        p[k] = x.p[HPC_PERF_SLOWER];
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n && e[i].label == HPC_PERF_SLOWER; k++) {
            if (e[k].label == HPC_PERF_SLOWER) continue;
            right += p[i] > p[k] ? 1 : p[i] == p[k] ? 0.5 : 0;
            pairs++;
        }
    free(p);
    return right / pairs;
}

/* Nothing else of these commits tells anything. */
static void it_is_learnt_from(void **state)
{
    enum { TRAIN = 400, ALL = 1000 };
    (void)state;
    const planted rule = {.strength = 0, .changed = -0.5, .groups = 4};
    hpc_perf_example *e = planted_examples(&rule, 9, ALL);
    double areas[2];
    for (int heard = 0; heard < 2; heard++) {
        hpc_perf_model *m;
        hpc_perf_model_facts facts;
        int64_t outside = 0;
        for (int64_t k = 0; heard && k < ALL; k++) hear(&e[k], k);
        assert_int_equal(hpc_perf_learn(&m, e, TRAIN, NULL), 0);
        hpc_perf_model_describe(&facts, m);
        assert_int_equal(facts.language, heard);
        areas[heard] = area(m, e + TRAIN, ALL - TRAIN);
        for (int64_t k = TRAIN; k < ALL; k++) {
            hpc_perf_estimate x;
            hpc_perf_estimate_find(&x, m, &e[k].x);
            outside += x.outside;
        }
        assert_true(outside < (ALL - TRAIN) / 10);
        hpc_perf_model_free(m);
    }
    assert_true(areas[0] < 0.6 && areas[1] > 0.8);
    free(e);
}

static void it_is_a_reason(void **state)
{
    (void)state;
    hpc_perf_vector x = {{0}};
    double weight[HPC_PERF_FEATURES] = {0};
    hpc_perf_features f = {.function = &x, .n = 1};
    hpc_perf_reasons r = {0};
    hpc_perf_language_put(&x, (double[]){log(0.6), log(0.25), log(0.15)});
    weight[hpc_perf_feature_named("language_slower")] = 1;
    assert_int_equal(hpc_perf_reasons_find(&r, &f, 0, weight, 3), 0);
    assert_int_equal(r.n, 1);
    assert_string_equal(r.text.data + r.item[0].text,
                        "a language model considers slower 4 times as probable as faster");
    weight[hpc_perf_feature_named("language_changed")] = 2;
    assert_int_equal(hpc_perf_reasons_find(&r, &f, 0, weight, 3), 0);
    assert_int_equal(r.n, 1);
    assert_string_equal(r.text.data + r.item[0].text,
                        "a language model gives a change of the cost a probability of 0.75");
    hpc_perf_language_put(&x, (double[]){log(0.15), log(0.25), log(0.6)});
    weight[hpc_perf_feature_named("language_changed")] = 0;
    assert_int_equal(hpc_perf_reasons_find(&r, &f, 0, weight, 3), 0);
    assert_string_equal(r.text.data + r.item[0].text,
                        "a language model considers faster 4 times as probable as slower");
    assert_int_equal(hpc_perf_reasons_find(&r, &f, 0, NULL, 3), 0); /* it needs a weight */
    assert_int_equal(r.n, 0);
    hpc_perf_reasons_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put),
        cmocka_unit_test(it_is_learnt_from),
        cmocka_unit_test(it_is_a_reason),
    };
    return cmocka_run_group_tests_name("perf/language_learn", tests, NULL, NULL);
}
