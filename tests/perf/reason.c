/*
 * Tests of infer/perf/reason.c: sentences, their lines, and their order.
 */
/* tsan: left out, starts no thread. */
#include "infer/perf/feature_priv.h"
#include "tests/perf/history.h"

static const struct {
    const char *path, *base, *head;
    const char *first;   /* the reason of the largest score */
    const char *feature; /* that alone has a weight; NULL: as usual */
    uint32_t line;
    bool gone;
} cases[] = {
    {"a.c",
     "void f(int n)\n{\n    double *t = malloc(8);\n    for (int i = 0; i < n; i++)\n"
     "        for (int j = 0; j < n; j++)\n            g(t);\n}\n",
     "void f(int n)\n{\n    for (int i = 0; i < n; i++)\n        for (int j = 0; j < n; j++) {\n"
     "            double *t = malloc(8);\n            g(t);\n        }\n}\n",
     "allocation 'malloc' moved into an inner loop", NULL, 5, false},
    {"a.c", "void f(int n)\n{\n    for (int i = 0; i < n; i++)\n        g(i / n);\n}\n",
     "void f(int n)\n{\n    int k = 1 / n;\n    for (int i = 0; i < n; i++)\n        g(i * "
     "k);\n}\n",
     "division moved out of a loop", "divisions_work", 3, false},
    {"a.c",
     "void f(int n)\n{\n    for (int i = 0; i < n; i++) {\n        g(i);\n"
     "        printf(\"x\");\n    }\n}\n",
     "void f(int n)\n{\n    for (int i = 0; i < n; i++) {\n        g(i);\n    }\n}\n",
     "input or output 'printf' removed from a loop", "io_work", 5, true},
    {"a.c", "void f(int n)\n{\n    g(n);\n}\n",
     "void f(int n)\n{\n    g(n);\n    exp(1);\n    exp(2);\n}\n",
     "costly function 'exp' added, and 1 more", "math", 4, false},
    {"a.c", "void f(int n)\n{\n    for (;;) g(n, 64);\n}\n",
     "void f(int n)\n{\n    for (;;) g(n, 256);\n}\n", "constant 64 became 256 in a loop", NULL, 3,
     false},
    {"a.c", "void f(int n)\n{\n    for (;;) g(n, 64);\n}\n",
     "void f(int n)\n{\n    for (;;) g(n + 1, 64);\n}\n", "code in a loop changed", "changed_depth",
     3, false},
    {"a.c", "void f(int n)\n{\n    g(n); /* a */\n}\n", "void f(int n)\n{\n    g(n); /* b */\n}\n",
     "only comments and white space changed", NULL, 0, false},
    {"a.c", "void f(int n)\n{\n    g(n);\n}\n", "void f(int m)\n{\n    g(m);\n}\n",
     "only local names changed", NULL, 0, false},
    {"Makefile", "F = -O2\n", "F = -O0\n", "flag '-O0' added", "flag_o0", 1, false},
    {"a.f90",
     "subroutine s(a, n)\n  do j = 1, n\n    do i = 1, n\n      a(i, j) = 0\n    end do\n"
     "  end do\nend subroutine\n",
     "subroutine s(a, n)\n  do i = 1, n\n    do j = 1, n\n      a(i, j) = 0\n    end do\n"
     "  end do\nend subroutine\n",
     "access that strides through array 'a' added in an inner loop", "strided_work", 4, false},
};

static void test_sentences(void **state)
{
    enum { N = sizeof cases / sizeof *cases };
    history h = {.p = *state};
    for (int k = 0; k < N; k++) {
        commit_from(&h, 0);
        with(&h, cases[k].path, cases[k].base);
        commit_from(&h, 0);
        with(&h, cases[k].path, cases[k].head);
    }
    history_open(&h, NULL);
    for (int k = 0; k < N; k++) {
        double weight[HPC_PERF_FEATURES] = {0};
        if (cases[k].feature) weight[hpc_perf_feature_named(cases[k].feature)] = 1;
        look(&h, 2 * k + 1, 2 * k + 2);
        assert_int_equal(hpc_perf_reasons_find(&h.reasons, &h.features, -1,
                                               cases[k].feature ? weight : NULL, 10),
                         0);
        assert_true(h.reasons.n > 0);
        const hpc_perf_reason *r = &h.reasons.item[0];
        assert_string_equal(h.reasons.text.data + r->text, cases[k].first);
        assert_int_equal(r->line, cases[k].line);
        assert_int_equal(r->base, cases[k].gone);
        assert_true(r->function >= 0);
    }
    history_close(&h);
}

/* By weight times value, whatever the sign; no more than were asked for; those of one function. */
static void test_order(void **state)
{
    history h = {.p = *state};
    double weight[HPC_PERF_FEATURES] = {0};
    commit_from(&h, 0);
    with(&h, "a.c", "void f(void) { }\nvoid k(void) { exp(1); }\n");
    commit_from(&h, 1);
    with(&h, "a.c", "void f(void) { malloc(1); malloc(2); sort(x); }\nvoid k(void) { }\n");
    with(&h, "notes.txt", "1");
    history_open(&h, NULL);
    look(&h, 1, 2);
    weight[hpc_perf_feature_named("allocations")] = 1;
    weight[hpc_perf_feature_named("allocations_work")] = 0.1;
    weight[hpc_perf_feature_named("sorts")] = -5;
    weight[hpc_perf_feature_named("math")] = 3;
    weight[hpc_perf_feature_named("other_files")] = 0.5;
    assert_int_equal(hpc_perf_reasons_find(&h.reasons, &h.features, -1, weight, 10), 0);
    const hpc_perf_reason *r = h.reasons.item;
    assert_int_equal(h.reasons.n, 4);
    assert_int_equal(r[0].feature, hpc_perf_feature_named("sorts"));
    assert_true(r[0].score == -5 && r[0].value == 1);
    assert_int_equal(r[1].feature, hpc_perf_feature_named("math"));
    assert_true(r[1].score == -3 && r[1].value == -1);
    assert_int_equal(r[1].function, function_named(&h, "k"));
    assert_int_equal(r[2].feature, hpc_perf_feature_named("allocations"));
    assert_true(r[2].score == 2);
    assert_int_equal(r[3].feature, hpc_perf_feature_named("other_files"));
    assert_int_equal(r[3].function, -1);
    assert_int_equal(hpc_perf_reasons_find(&h.reasons, &h.features, -1, weight, 2), 0);
    assert_int_equal(h.reasons.n, 2);
    int64_t k = function_named(&h, "k");
    assert_int_equal(hpc_perf_reasons_find(&h.reasons, &h.features, k, weight, 10), 0);
    assert_int_equal(h.reasons.n, 1);
    assert_int_equal(h.reasons.item[0].function, k);
    history_close(&h);
}

static void phrases_state_amounts_in_words(void **state)
{
    static const struct {
        const char *feature;
        double value;
        const char *phrase;
    } of[] = {
        {"estimate_change", -9.48, "less than 1 % of the work, by a rough count of operations"},
        {"estimate_change", 6.443, "about 2 times the work, by a rough count of operations"},
        {"estimate_change", 3.4, "about 10 % more work, by a rough count of operations"},
        {"estimate_change", -0.1, "slightly less work, by a rough count of operations"},
        {"estimate_change", 12, "more than 100 times the work, by a rough count of operations"},
        {"headers", 0.25, "25 % of the change is in headers"},
        {"headers", 1, "all of the change is in headers"},
        {"other_files", 1, "1 file that is not source code changed"},
        {"other_files", 2, "3 files that are not source code changed"},
        {"nesting", -1, "the deepest loop nest is 1 less deep"},
        {"calls_in_loops", 3, "more calls of other functions in loops (+3)"},
        {"calls_work", -2, "calls of other functions: done less often, by a factor of about 4"},
        {"tokens_before", 10, "the changed functions and files have 1023 tokens of code"},
    };
    hpc_buf text = {0};
    (void)state;
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        text.n = 0;
        int feature = hpc_perf_feature_named(of[k].feature);
        assert_int_equal(perf_feature_put(&text, feature, of[k].value), 0);
        assert_string_equal(text.data, of[k].phrase);
    }
    hpc_buf_release(&text);
}

static void expected_effects_have_a_side(void **state)
{
    (void)state;
    assert_int_equal(perf_expected_effect(hpc_perf_feature_named("allocations"), 2), 1);
    assert_int_equal(perf_expected_effect(hpc_perf_feature_named("allocations"), -2), -1);
    assert_int_equal(perf_expected_effect(hpc_perf_feature_named("simd"), 1), -1);
    assert_int_equal(perf_expected_effect(hpc_perf_feature_named("estimate_change"), -3), -1);
    assert_int_equal(perf_expected_effect(hpc_perf_feature_named("constants"), 3), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sentences, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_order, place_setup, place_teardown),
        cmocka_unit_test(phrases_state_amounts_in_words),
        cmocka_unit_test(expected_effects_have_a_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
