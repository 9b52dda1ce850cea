/*
 * layers.c: products, norms, activations, embedding, losses and rotary positions, with their
 * gradients, compared with PyTorch and transformers.
 *
 * Bounds in f32 are relative to a tensor's largest number: 1e-6 is eight ulp, for sums of at most
 * 37 products without much cancellation. The gradient of GELU by tanh has a dozen roundings and
 * one cancellation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/torch.h"

static hpc_value input(hpc_test_torch *t, const char *name)
{
    return hpc_test_torch_input(t, name);
}
static hpc_value param(hpc_test_torch *t, const char *name)
{
    return hpc_test_torch_param(t, name);
}

static hpc_value linear(hpc_test_torch *t)
{
    return hpc_linear(t->p, input(t, "x"), param(t, "w"), param(t, "b"), HPC_NONE);
}
static hpc_value linear_residual(hpc_test_torch *t)
{
    return hpc_linear(t->p, input(t, "x"), param(t, "w"), param(t, "b"), input(t, "residual"));
}

static hpc_value layer_norm(hpc_test_torch *t)
{
    hpc_norm_attr a = {.kind = HPC_LAYER, .eps = hpc_test_torch_attr(t->item, "eps", 0)};
    return hpc_norm(t->p, input(t, "x"), param(t, "w"), param(t, "b"), a);
}
static hpc_value rms_norm(hpc_test_torch *t)
{
    hpc_norm_attr a = {.kind = HPC_RMS, .eps = hpc_test_torch_attr(t->item, "eps", 0)};
    return hpc_norm(t->p, input(t, "x"), param(t, "w"), HPC_NONE, a);
}

static hpc_value gelu_tanh(hpc_test_torch *t)
{
    return hpc_activate(t->p, input(t, "x"), HPC_GELU_TANH);
}
static hpc_value gelu_erf(hpc_test_torch *t)
{
    return hpc_activate(t->p, input(t, "x"), HPC_GELU_ERF);
}
static hpc_value silu(hpc_test_torch *t)
{
    return hpc_activate(t->p, input(t, "x"), HPC_SILU);
}
static hpc_value relu(hpc_test_torch *t)
{
    return hpc_activate(t->p, input(t, "x"), HPC_RELU);
}
static hpc_value relu_squared(hpc_test_torch *t)
{
    return hpc_activate(t->p, input(t, "x"), HPC_RELU2);
}
static hpc_value swiglu(hpc_test_torch *t)
{
    return hpc_glu(t->p, input(t, "gate"), input(t, "up"), HPC_SILU);
}

static hpc_value embedding(hpc_test_torch *t)
{
    return hpc_gather(t->p, param(t, "w"), input(t, "tokens"));
}
static hpc_value loss(hpc_test_torch *t)
{
    return hpc_head_loss(t->p, input(t, "x"), param(t, "w"), input(t, "target"));
}

static hpc_value rope(hpc_test_torch *t)
{
    hpc_rope_attr a = {.interleaved = hpc_test_torch_attr(t->item, "interleaved", 0) != 0,
                       .scale = hpc_test_torch_attr(t->item, "scale", 1)};
    return hpc_rope(t->p, input(t, "x"), input(t, "pos"), input(t, "freq"), a);
}

static const hpc_test_torch_case cases[] = {
    {"linear", linear, 1e-6},
    {"linear_residual", linear_residual, 1e-6},
    {"layer_norm", layer_norm, 1e-6},
    {"rms_norm", rms_norm, 1e-6},
    {"gelu_tanh", gelu_tanh, 2e-6},
    {"gelu_erf", gelu_erf, 1e-6},
    {"silu", silu, 1e-6},
    {"relu", relu, 1e-6},
    {"relu_squared", relu_squared, 1e-6},
    {"swiglu", swiglu, 1e-6},
    {"embedding", embedding, 1e-6},
    {"loss_mean", loss, 1e-6},
    {"loss_weighted", loss, 1e-6},
    {"rope_half", rope, 1e-6},
    {"rope_interleaved", rope, 1e-6},
    {"rope_partial", rope, 1e-6},
    {"rope_scaled", rope, 1e-6},
};
enum { CASES = sizeof cases / sizeof *cases };

static void case_is_torchs(void **state)
{
    hpc_test_torch_check("layers", *state);
}

static void every_case_is_checked(void **state)
{
    (void)state;
    hpc_test_torch_covers("layers", cases, CASES);
}

int main(void)
{
    struct CMUnitTest tests[CASES + 1] = {cmocka_unit_test(every_case_is_checked)};
    for (int i = 0; i < CASES; i++)
        tests[i + 1] = (struct CMUnitTest){
            .name = cases[i].name, .test_func = case_is_torchs, .initial_state = (void *)&cases[i]};
    return cmocka_run_group_tests_name("torch/layers", tests, NULL, NULL);
}
