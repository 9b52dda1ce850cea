/*
 * Tests of infer/perf/learn.c, estimate.c and model_file.c: planted rules are found, probabilities
 * are what they say, abstention keeps its promise, and files come back to equal bits.
 */
#include "tests/perf/examples.h"

#include <stdio.h>

#include "tests/support/folder.h"

static hpc_perf_model *learnt(const hpc_perf_example *e, int64_t n)
{
    hpc_perf_model *m;
    if (hpc_perf_learn(&m, e, n, NULL) < 0) fail_msg("%s", hpc_error_get()->text);
    return m;
}

static double area_under(const double *score, const bool *is, int n)
{
    double won = 0, pairs = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (is[i] && !is[j]) {
                won += score[i] > score[j] ? 1 : score[i] == score[j] ? 0.5 : 0;
                pairs++;
            }
    return won / pairs;
}

static void a_planted_rule_is_found(void **state)
{
    enum { N = 500, NEW = 500 };
    const planted rule = {.strength = 1, .changed = -3, .groups = 5};
    hpc_perf_example *e = planted_examples(&rule, 1, N), *other = planted_examples(&rule, 2, NEW);
    hpc_perf_model *m = learnt(e, N);
    double score[NEW], best[NEW];
    bool slower[NEW];
    (void)state;
    for (int k = 0; k < NEW; k++) {
        hpc_perf_estimate y;
        hpc_perf_estimate_find(&y, m, &other[k].x);
        score[k] = y.p[HPC_PERF_SLOWER];
        best[k] = planted_score(&other[k].x);
        slower[k] = other[k].label == HPC_PERF_SLOWER;
        assert_true(fabs(y.p[0] + y.p[1] + y.p[2] - 1) < 1e-12);
    }
    printf("area %.4f of %.4f\n", area_under(score, slower, NEW), area_under(best, slower, NEW));
    assert_true(area_under(score, slower, NEW) > area_under(best, slower, NEW) - 0.02);
    hpc_perf_model_free(m);
    free(e);
    free(other);
}

/* ---- files ------------------------------------------------------------------------------------
 */

static hpc_buf written(const hpc_perf_model *m, const char *path)
{
    hpc_buf text = {0};
    assert_int_equal(hpc_perf_model_write(m, path), 0);
    assert_int_equal(hpc_file_read(&text, path, 1 << 26), 0);
    return text;
}

static void a_file_comes_back_to_equal_bits(void **state)
{
    enum { N = 200 };
    const planted rule = {.strength = 2, .changed = -2, .groups = 2};
    hpc_perf_example *e = planted_examples(&rule, 3, N);
    hpc_perf_model *m = learnt(e, N), *again = learnt(e, N), *back;
    char path[4096];
    hpc_test_path(path, *state, "model.json");
    hpc_buf first = written(again, path), second = written(m, path);
    assert_int_equal(hpc_perf_model_read(&back, path), 0);
    hpc_buf third = written(back, path);
    assert_string_equal(first.data, second.data); /* learnt twice */
    assert_string_equal(first.data, third.data);
    for (int k = 0; k < N; k++) {
        hpc_perf_estimate x, y;
        hpc_perf_estimate_find(&x, m, &e[k].x);
        hpc_perf_estimate_find(&y, back, &e[k].x);
        assert_memory_equal(&x, &y, sizeof x);
    }
    hpc_buf_release(&first);
    hpc_buf_release(&second);
    hpc_buf_release(&third);
    hpc_perf_model_free(m);
    hpc_perf_model_free(again);
    hpc_perf_model_free(back);
    free(e);
}

int main(void)
{
#define FOLDER(name)                                                                               \
    cmocka_unit_test_setup_teardown(name, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_planted_rule_is_found),
        FOLDER(a_file_comes_back_to_equal_bits),
    };
    return cmocka_run_group_tests_name("perf/learn", tests, NULL, NULL);
}
