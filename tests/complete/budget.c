/*
 * Tests of infer/complete/budget.c: the prompt length that fits time limit and rate.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "infer/complete/priv.h"
#include "model/model.h"

static hpc_model_config config(void)
{
    return (hpc_model_config){.vocab = 1000,
                              .hidden = 64,
                              .layers = 2,
                              .heads = 4,
                              .kv_heads = 4,
                              .ffn = 128,
                              .positions = 8192};
}

static void longer_time_allows_longer_prompts(void **state)
{
    const hpc_model_config m = config();
    int64_t before = 0;
    (void)state;
    assert_int_equal(complete_budget_tokens(&m, 1, -5), COMPLETE_BUDGET_LEAST);
    assert_int_equal(complete_budget_tokens(&m, 1, 0), COMPLETE_BUDGET_LEAST);
    assert_int_equal(complete_budget_tokens(&m, 1e-9, INT64_MAX), 8080);
    for (int64_t ns = 1000; ns < INT64_C(1) << 40; ns *= 4) {
        int64_t n = complete_budget_tokens(&m, 1e-3, ns);
        assert_true(n >= before && (n - COMPLETE_BUDGET_LEAST) % 256 == 0);
        before = n;
    }
    assert_true(before > COMPLETE_BUDGET_LEAST);
}

/* Attention makes twice as many tokens take more than twice as long. */
static void twice_the_time_allows_fewer_than_twice_the_tokens(void **state)
{
    hpc_model_config m = config();
    (void)state;
    m.positions = 1 << 20;
    int64_t ns = INT64_C(40000000000);
    int64_t once = complete_budget_tokens(&m, 1e-2, ns);
    int64_t twice = complete_budget_tokens(&m, 1e-2, 2 * ns);
    assert_true(once > 4 * COMPLETE_BUDGET_LEAST);
    assert_true(twice > once && twice < 2 * once);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longer_time_allows_longer_prompts),
        cmocka_unit_test(twice_the_time_allows_fewer_than_twice_the_tokens),
    };
    return cmocka_run_group_tests_name("complete/budget", tests, NULL, NULL);
}
