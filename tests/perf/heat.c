/*
 * Tests of infer/perf/heat.c: the fraction of the cost in the lines that a change touches.
 */
/* tsan: left out, starts no thread. */
#include <math.h>

#include "tests/perf/history.h"

/* %s: in the loop, after it, outside functions. */
#define FILE                                                                                       \
    "static int table[] = {1%s};\n"                                                                \
    "void kernel(double *a, int n)\n"                                                              \
    "{\n"                                                                                          \
    "    for (int i = 0; i < n; i++)\n"                                                            \
    "        a[i] = a[i] * 2%s;\n"                                                                 \
    "    table[0] = n;\n"                                                                          \
    "    if (n < 0) {\n"                                                                           \
    "        n = 0;\n"                                                                             \
    "        n = 1;\n"                                                                             \
    "        n = 2;\n"                                                                             \
    "        n = 3;\n"                                                                             \
    "        n = 4%s;\n"                                                                           \
    "    }\n"                                                                                      \
    "}\n"                                                                                          \
    "void usage(void)\n"                                                                           \
    "{\n"                                                                                          \
    "    puts(\"usage\");\n"                                                                       \
    "    puts(\"%s\");\n"                                                                          \
    "}\n"

static void save(history *h, int from, const char *outside, const char *loop, const char *behind,
                 const char *words, const char *header)
{
    char text[1024];
    commit_from(h, from);
    snprintf(text, sizeof text, FILE, outside, loop, behind, words);
    with(h, "a.c", text);
    with(h, "a.h", header);
}

enum { LINES = 3 };
static int by_key(const void *a, const void *b)
{
    const hpc_hot_line *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* Lines 4, 5 and 6 of the first commit. */
static void measure(hpc_hot_line hot[LINES])
{
    static const float share[LINES] = {0.125f, 0.75f, 0.0001f};
    char text[1024];
    uint32_t line[64] = {0}, n = 0;
    snprintf(text, sizeof text, FILE, "", "", "", "u");
    for (const char *at = text; *at; at++)
        if (*at == '\n') line[++n] = (uint32_t)(at - text) + 1;
    for (uint32_t k = 0; k < LINES; k++)
        hot[k] = (hpc_hot_line){hpc_line_key(text, line, n, k + 4), share[k]};
    qsort(hot, LINES, sizeof *hot, by_key);
}

static double heat(history *h, int to, const char *feature)
{
    hpc_hot_line hot[LINES];
    measure(hot);
    look(h, 1, to);
    hpc_perf_heat_find(&h->features, &h->change, hot, LINES);
    assert_true(value_of(&h->features.commit, "heat_known") == 1);
    return value_of(&h->features.commit, feature);
}

static bool is_part(double value, double share, double parts)
{
    return fabs(value - log2(1 + parts * share)) < 1e-4;
}

static void test_shares(void **state)
{
    history h = {.p = *state};
    save(&h, 0, "", "", "", "u", "#define N 1\n");
    save(&h, 1, "", " * 3", "", "u", "#define N 1\n"); /* the hot line */
    save(&h, 1, "", "", " + 1", "u", "#define N 1\n"); /* too far from it */
    save(&h, 1, "", "", "", "w", "#define N 1\n");     /* what does not run */
    save(&h, 1, ", 2", "", "", "u", "#define N 1\n");  /* outside of functions */
    save(&h, 1, "", "", "", "u", "#define N 2\n");     /* a header: anything */
    history_open(&h, NULL);
    assert_true(is_part(heat(&h, 2, "heat"), 0.75, 1000));
    assert_true(is_part(heat(&h, 2, "heat_near"), 0.75, 10000));
    assert_true(heat(&h, 2, "heat_cost") > 0);
    assert_true(heat(&h, 2, "cold") == 0);
    for (int k = 3; k <= 4; k++) {
        assert_true(heat(&h, k, "cold") == 1);
        assert_true(heat(&h, k, "heat_near") == 0);
        assert_true(heat(&h, k, "heat_cost") == 0);
    }
    assert_true(is_part(heat(&h, 5, "heat_around"), 0.8751, 1000));
    assert_true(heat(&h, 5, "cold") == 1);
    assert_true(is_part(heat(&h, 6, "heat_around"), 1, 1000));
    history_close(&h);
}

/* An insertion lies between two lines; a removed line has its old place. Both are found in another
 * version, where they have moved. */
static void test_places(void **state)
{
    hpc_hot_line hot[LINES];
    history h = {.p = *state};
    save(&h, 0, "", "", "", "u", "");
    save(&h, 1, "", ";\n        a[i] += 1", "", "u", "");
    save(&h, 1, "};\nstatic int more[] = {3", "", "", "u", "");
    save(&h, 3, "};\nstatic int more[] = {3", " + 1", "", "u", "");
    commit_from(&h, 1);
    without(&h, "a.c");
    history_open(&h, NULL);
    assert_true(is_part(heat(&h, 2, "heat"), 0.7501, 1000)); /* the lines before and after it */
    measure(hot);
    look(&h, 3, 4);
    hpc_perf_heat_find(&h.features, &h.change, hot, LINES);
    assert_true(is_part(value_of(&h.features.commit, "heat"), 0.75, 1000));
    assert_true(is_part(heat(&h, 5, "heat"), 0.8751, 1000)); /* all of it is gone */
    history_close(&h);
}

static void test_unknown(void **state)
{
    hpc_hot_line none = {1, 0.5f};
    history h = {.p = *state};
    save(&h, 0, "", "", "", "u", "");
    save(&h, 1, "", " * 3", "", "u", "");
    history_open(&h, NULL);
    assert_true(heat(&h, 2, "heat") > 0);
    hpc_perf_vector known = h.features.commit;
    hpc_perf_heat_find(&h.features, &h.change, NULL, 0);
    assert_true(value_of(&h.features.commit, "heat_known") == 0);
    hpc_perf_heat_forget(&known);
    assert_memory_equal(&known, &h.features.commit, sizeof known);
    hpc_perf_heat_find(&h.features, &h.change, &none, 1);
    assert_true(value_of(&h.features.commit, "cold") == 1);
    history_close(&h);
}

static const char *first_reason(history *h, const char *feature)
{
    double weight[HPC_PERF_FEATURES] = {0};
    weight[hpc_perf_feature_named(feature)] = 1;
    assert_int_equal(hpc_perf_reasons_find(&h->reasons, &h->features, -1, weight, 3), 0);
    assert_int_equal(h->reasons.n, 1);
    return h->reasons.text.data + h->reasons.item[0].text;
}

static void test_reasons(void **state)
{
    history h = {.p = *state};
    save(&h, 0, "", "", "", "u", "");
    save(&h, 1, "", " * 3", "", "u", "");
    save(&h, 1, "", "", "", "w", "");
    history_open(&h, NULL);
    heat(&h, 2, "heat");
    assert_string_equal(first_reason(&h, "heat"),
                        "75 % of the cost measured before is in these lines");
    assert_string_equal(first_reason(&h, "heat_near"),
                        "75 % of the cost measured before is in one of these lines");
    heat(&h, 3, "cold");
    assert_string_equal(first_reason(&h, "cold"),
                        "none of the changed lines ran in earlier measurements");
    history_close(&h);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {TEST(test_shares), TEST(test_places), TEST(test_unknown),
                                       TEST(test_reasons)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
