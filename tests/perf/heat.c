/*
 * Tests of infer/perf/heat.c: how much of the time is in what a change touches.
 */
#include <math.h>

#include "tests/perf/history.h"

#define TINY   "static double tiny(double x) { return x * %s; }\n"
#define MIDDLE "static double middle(double x) { return tiny(x) + 1; }\n"
#define KERNEL                                                                                     \
    "void kernel(double *a, int n) { for (int i = 0; i < n; i++) a[i] = middle(a[i])%s; }\n"
#define COLD "void usage(void) { puts(\"%s\"); }\n"

static const hpc_perf_hot profile[] = {{"ns::A::kernel(double*, int).part.0", 0.75},
                                       {"kernel'2", 0.125},
                                       {"memcpy", 0.1},
                                       {"table<kernel, 3>::walk(int)", 0.025}};
enum { PROFILE = sizeof profile / sizeof *profile };

static void save(history *h, int from, const char *tiny, const char *kernel, const char *cold,
                 const char *header)
{
    char text[1024];
    commit_from(h, from);
    snprintf(text, sizeof text, "static int table[] = {1};\n" TINY MIDDLE KERNEL COLD, tiny, kernel,
             cold);
    with(h, "a.c", text);
    with(h, "a.h", header);
    with(h, "cold.c", "int unused(int x)\n{\n    return x + 1;\n}\n");
}

static double heat(history *h, int to, const char *feature)
{
    look(h, 1, to);
    assert_int_equal(hpc_perf_heat_find(&h->features, &h->change, profile, PROFILE), 0);
    assert_true(hpc_perf_heat_known(&h->features.commit));
    return value_of(&h->features.commit, feature);
}

static bool is_share(double value, double share)
{
    return fabs(value - log2(1 + 1000 * share)) < 1e-9;
}

static void test_shares(void **state)
{
    history h = {.p = *state};
    save(&h, 0, "2", "", "u", "#define N 1\n");
    save(&h, 1, "2", " * 3", "u", "#define N 1\n"); /* the hot function itself */
    save(&h, 1, "3", "", "u", "#define N 1\n");     /* what it calls, two calls down */
    save(&h, 1, "2", "", "w", "#define N 1\n");     /* nothing that runs */
    save(&h, 1, "2", "", "u", "#define N 2\n");     /* a header: anything */
    history_open(&h, NULL);
    assert_true(is_share(heat(&h, 2, "heat"), 0.875));
    assert_true(heat(&h, 2, "heat_cost") > 0);
    assert_true(heat(&h, 2, "heat_around") == 0);
    assert_true(is_share(heat(&h, 3, "heat"), 0.875));
    assert_true(heat(&h, 4, "heat") == 0);
    assert_true(heat(&h, 5, "heat") == 0);
    assert_true(is_share(heat(&h, 5, "heat_around"), 1));
    history_close(&h);
}

static void test_unknown(void **state)
{
    history h = {.p = *state};
    save(&h, 0, "2", "", "u", "");
    save(&h, 1, "2", " * 3", "u", "");
    history_open(&h, NULL);
    assert_true(heat(&h, 2, "heat") > 0);
    hpc_perf_vector known = h.features.commit;
    assert_int_equal(hpc_perf_heat_find(&h.features, &h.change, NULL, 0), 0);
    assert_false(hpc_perf_heat_known(&h.features.commit));
    hpc_perf_heat_forget(&known);
    assert_memory_equal(&known, &h.features.commit, sizeof known);
    assert_int_equal(hpc_perf_heat_find(&h.features, &h.change, profile, 0), 0); /* of nothing */
    assert_true(hpc_perf_heat_known(&h.features.commit));
    assert_true(value_of(&h.features.commit, "heat") == 0);
    history_close(&h);
}

/* A file that runs hot outside of functions; reasons say how hot. */
static void test_reasons(void **state)
{
    history h = {.p = *state};
    double weight[HPC_PERF_FEATURES] = {0};
    save(&h, 0, "2", "", "u", "");
    save(&h, 1, "2", " * 3", "u", "");
    commit_from(&h, 1);
    with(&h, "a.c", "static int table[] = {1, 2};\n" KERNEL);
    history_open(&h, NULL);
    heat(&h, 2, "heat");
    weight[hpc_perf_feature_named("heat")] = 1;
    assert_int_equal(hpc_perf_reasons_find(&h.reasons, &h.features, -1, weight, 3), 0);
    assert_int_equal(h.reasons.n, 1);
    assert_string_equal(h.reasons.text.data + h.reasons.item[0].text,
                        "87.5 % of the time is there, by what was measured before");
    assert_true(is_share(heat(&h, 3, "heat_around"), 0.875));
    history_close(&h);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {TEST(test_shares), TEST(test_unknown), TEST(test_reasons)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
