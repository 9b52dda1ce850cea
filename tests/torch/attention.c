/*
 * attention.c: attention and its gradients compared with PyTorch's scaled_dot_product_attention:
 * causal or not, grouped queries, several documents in one row, a sliding window.
 *
 * The bound in f32 is relative to a tensor's largest number: one ulp of scores up to 8 is 5e-7,
 * and exp turns that into the relative error of a weight.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/torch.h"

static hpc_value attention(hpc_test_torch *t)
{
    hpc_attention_attr a = {.causal = hpc_test_torch_attr(t->item, "causal", 0) != 0,
                            .window = (int64_t)hpc_test_torch_attr(t->item, "window", 0)};
    hpc_value q = hpc_test_torch_input(t, "q"), k = hpc_test_torch_input(t, "k");
    hpc_value v = hpc_test_torch_input(t, "v"), start = hpc_test_torch_input(t, "start");
    return hpc_attention(t->p, q, k, v, start, HPC_NONE, HPC_NONE, a);
}

static const hpc_test_torch_case cases[] = {
    {"full", attention, 2e-6},
    {"causal", attention, 2e-6},
    {"grouped", attention, 2e-6},
    {"documents", attention, 2e-6},
    {"documents_full", attention, 2e-6},
    {"window", attention, 2e-6},
    {"window_documents", attention, 2e-6},
};
enum { CASES = sizeof cases / sizeof *cases };

static void case_is_torchs(void **state)
{
    hpc_test_torch_check("attention", *state);
}

static void every_case_is_checked(void **state)
{
    (void)state;
    hpc_test_torch_covers("attention", cases, CASES);
}

int main(void)
{
    struct CMUnitTest tests[CASES + 1] = {cmocka_unit_test(every_case_is_checked)};
    for (int i = 0; i < CASES; i++)
        tests[i + 1] = (struct CMUnitTest){
            .name = cases[i].name, .test_func = case_is_torchs, .initial_state = (void *)&cases[i]};
    return cmocka_run_group_tests_name("torch/attention", tests, NULL, NULL);
}
