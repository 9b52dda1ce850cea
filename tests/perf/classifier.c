/*
 * Tests of infer/perf/language.c with a classifier of the test: interface calls, scores and errors.
 */
/* tsan: left out, starts no thread. */
#include "tests/perf/history.h"

#include <math.h>

#include "infer/perf/language.h"

#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) < 0) fail_msg("%s: %s", #call, hpc_error_get()->text);                          \
    } while (0)

/* Encodes the lengths of both texts; its logit of slower is the growth. */
typedef struct fake {
    int encoded, classified, closed;
    int fails_at; /* fails the call with this number, from 1; 0: none */
    int64_t most; /* of the last call */
} fake;

static int encode(int64_t *base_n, int64_t *n, int32_t *id, void *self, const hpc_perf_texts *t,
                  int64_t most)
{
    fake *f = self;
    f->most = most;
    if (++f->encoded == f->fails_at) return hpc_fail(HPC_E_UNSUPPORTED, "encode failed");
    assert_string_equal(t->path, "a.c");
    id[0] = (int32_t)t->base_n;
    id[1] = (int32_t)t->head_n;
    *base_n = 1;
    *n = 2;
    return HPC_OK;
}

static int classify(float (*logits)[3], void *self, const hpc_perf_pair *pair, int64_t n)
{
    fake *f = self;
    f->classified += (int)n;
    for (int64_t k = 0; k < n; k++) {
        assert_true(pair[k].base_n == 1 && pair[k].n == 2);
        logits[k][0] = (float)(pair[k].id[1] - pair[k].id[0]);
        logits[k][1] = logits[k][2] = 0;
    }
    return HPC_OK;
}

static void close_fake(void *self)
{
    fake *f = self;
    f->closed++;
}

static hpc_perf_language *opened_as(fake *f, const hpc_perf_language_limits *limits)
{
    const hpc_perf_classifier c = {
        .self = f, .length = 300, .encode = encode, .classify = classify, .close = close_fake};
    hpc_perf_language *l;
    OK(hpc_perf_language_open(&l, &c, limits));
    return l;
}

static void build(history *h, void **state)
{
    *h = (history){.p = *state};
    commit_from(h, 0);
    with(h, "a.c", "int f(void)\n{\n    return 1;\n}\n\nint g(void)\n{\n    return 1;\n}\n");
    commit_from(h, 1);
    with(h, "a.c", "int f(void)\n{\n    return 123;\n}\n\nint g(void)\n{\n    return 1;\n}\n");
    commit_from(h, 1);
    with(h, "a.c", "int f(void)\n{\n    return 12;\n}\n\nint g(void)\n{\n    return 1234;\n}\n");
    history_open(h, NULL);
}

static void reads_changed_functions_only(void **state)
{
    fake f = {0};
    history h;
    hpc_perf_language_result s;
    build(&h, state);
    hpc_perf_language *l = opened_as(&f, NULL);
    look(&h, 1, 2);
    OK(hpc_perf_language_add(l, &h.change));
    assert_int_equal(f.most, 300); /* the classifier's length is below the default of 512 */
    look(&h, 1, 3);
    OK(hpc_perf_language_add(l, &h.change));
    OK(hpc_perf_language_run(l));
    assert_true(f.encoded == 3 && f.classified == 3);
    hpc_perf_language_result_of(&s, l, 0);
    assert_true(s.known && s.n == 1 && s.left_out == 0);
    assert_true(fabs(s.logp[0] - s.logp[1] - 2) < 1e-6); /* "1" -> "123" */
    hpc_perf_language_result_of(&s, l, 1);
    assert_true(s.known && s.n == 2);
    assert_true(fabs(s.logp[0] - s.logp[1] - 2) < 1e-6); /* mean of 1 and 3 */
    hpc_perf_language_close(l);
    assert_int_equal(f.closed, 1);
    history_close(&h);
}

static void failed_commit_leaves_no_functions(void **state)
{
    fake f = {.fails_at = 2};
    history h;
    hpc_perf_language_result s;
    build(&h, state);
    hpc_perf_language *l = opened_as(&f, NULL);
    look(&h, 1, 3);
    assert_int_equal(hpc_perf_language_add(l, &h.change), HPC_E_UNSUPPORTED);
    hpc_error_clear();
    look(&h, 1, 2);
    OK(hpc_perf_language_add(l, &h.change));
    OK(hpc_perf_language_run(l));
    assert_int_equal(f.classified, 1);
    hpc_perf_language_result_of(&s, l, 0);
    assert_true(s.known && s.n == 1);
    hpc_perf_language_close(l);
    history_close(&h);
}

static void limit_of_range_leaves_functions_out(void **state)
{
    hpc_perf_language_limits limits = HPC_PERF_LANGUAGE_LIMITS_DEFAULTS;
    fake f = {0};
    history h;
    hpc_perf_language_result s;
    build(&h, state);
    limits.range = 2; /* tokens: one pair */
    hpc_perf_language *l = opened_as(&f, &limits);
    look(&h, 1, 3);
    OK(hpc_perf_language_add(l, &h.change));
    OK(hpc_perf_language_run(l));
    assert_int_equal(f.classified, 1);
    hpc_perf_language_result_of(&s, l, 0);
    assert_true(s.known && s.n == 2 && s.left_out == 1);
    hpc_perf_language_close(l);
    history_close(&h);
}

int main(void)
{
#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {
        IN_PLACE(reads_changed_functions_only),
        IN_PLACE(failed_commit_leaves_no_functions),
        IN_PLACE(limit_of_range_leaves_functions_out),
    };
    return cmocka_run_group_tests_name("perf/classifier", tests, NULL, NULL);
}
