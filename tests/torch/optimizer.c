/*
 * optimizer.c: five steps of SGD and AdamW at changing rates compared with torch.optim: the
 * parameter after each step, the moments after the last.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/torch.h"

/* Relative to the largest number: a handful of roundings in each of five steps. */
static const double BOUND_F32 = 1e-6;

typedef struct optimizer {
    hpc_test_torch_run run;
    hpc_value param, grad, lr;
    hpc_value step, clip;        /* HPC_NONE in SGD */
    hpc_value moment[2];         /* after the last step */
    const char *moment_names[2]; /* in the fixture; NULL: none */
} optimizer;

static double attr(const optimizer *o, const char *name)
{
    return hpc_test_torch_attr(o->run.item, name, 0);
}

static void emit_sgd(optimizer *o, hpc_type t)
{
    hpc_sgd_attr a = {.momentum = attr(o, "momentum"),
                      .decay = attr(o, "decay"),
                      .nesterov = attr(o, "nesterov") != 0};
    o->moment_names[0] = "mom";
    o->moment[0] = hpc_program_state(o->run.p, "mom", t, false);
    hpc_sgd(o->run.p, o->param, o->moment[0], o->grad, o->lr, a);
}

static void emit_adamw(optimizer *o, hpc_type t)
{
    hpc_program *p = o->run.p;
    hpc_adamw_attr a = {attr(o, "beta1"), attr(o, "beta2"), attr(o, "eps"), attr(o, "decay")};
    o->moment_names[0] = "m", o->moment_names[1] = "v";
    for (int k = 0; k < 2; k++) o->moment[k] = hpc_program_state(p, o->moment_names[k], t, false);
    o->step = hpc_program_input(p, "step", hpc_type_of(HPC_I32, 0, NULL));
    if (attr(o, "clip") > 0)
        o->clip = hpc_program_input(p, "clip", hpc_type_of((hpc_dtype)t.dtype, 0, NULL));
    hpc_adamw(p, o->param, o->moment[0], o->moment[1], HPC_NONE, o->grad, o->lr, o->step, o->clip,
              a);
}

static void emit(optimizer *o, const hpc_test_numbers *param)
{
    hpc_dtype dtype = o->run.way.dtype;
    hpc_type t = hpc_type_of(dtype, param->rank, param->extent);
    hpc_program *p = hpc_program_create();
    o->run.p = p;
    o->step = o->clip = HPC_NONE;
    o->param = hpc_program_state(p, "param", t, true);
    o->grad = hpc_program_input(p, "grad", t);
    o->lr = hpc_program_input(p, "lr", hpc_type_of(dtype, 0, NULL));
    hpc_program_segment(p, HPC_UPDATE, 0);
    if (hpc_test_torch_has(o->run.item, "wanted", "mom"))
        emit_sgd(o, t);
    else
        emit_adamw(o, t);
}

static void take_steps(optimizer *o)
{
    hpc_exec *e = o->run.e;
    hpc_test_numbers grad = hpc_test_torch_read(o->run.item, "given", "grad");
    hpc_test_numbers lr = hpc_test_torch_read(o->run.item, "given", "lr");
    int64_t n = hpc_test_n(o->run.p, o->param);
    assert_int_equal(grad.n, lr.n * n);
    for (int64_t s = 0; s < lr.n; s++) {
        hpc_test_write(e, 0, o->grad, grad.data + s * n);
        hpc_test_write_scalar(e, 0, o->lr, lr.data[s]);
        if (o->step >= 0) hpc_test_write_scalar(e, 0, o->step, (double)(s + 1));
        if (o->clip >= 0) hpc_test_write_scalar(e, 0, o->clip, attr(o, "clip"));
        test_ok(hpc_exec_run(e, 0, 0));
        hpc_test_torch_value_near(&o->run, o->param, "wanted", "param", s * n);
    }
    hpc_free(grad.data);
    hpc_free(lr.data);
}

static void check(const char *name)
{
    hpc_json *root = hpc_test_torch_file("optimizer");
    for (int i = 0; i < HPC_TEST_WAY_N; i++) {
        optimizer o = {.run = {.item = hpc_test_torch_find(root, name),
                               .way = hpc_test_way_at(i),
                               .bound = BOUND_F32}};
        hpc_test_numbers param = hpc_test_torch_read(o.run.item, "given", "param");
        emit(&o, &param);
        hpc_test_torch_open(&o.run);
        hpc_test_write(o.run.e, 0, o.param, param.data);
        hpc_free(param.data);
        take_steps(&o);
        for (int k = 0; k < 2 && o.moment_names[k]; k++)
            hpc_test_torch_value_near(&o.run, o.moment[k], "wanted", o.moment_names[k], 0);
        hpc_test_torch_close(&o.run);
    }
    hpc_json_free(root);
}

static void sgd_with_momentum_and_decay(void **state)
{
    (void)state, check("sgd");
}
static void sgd_of_nesterov(void **state)
{
    (void)state, check("sgd_nesterov");
}
static void adamw_with_decay(void **state)
{
    (void)state, check("adamw");
}
static void adam_without_decay(void **state)
{
    (void)state, check("adam");
}
static void adamw_of_clipped_gradients(void **state)
{
    (void)state, check("adamw_clipped");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sgd_with_momentum_and_decay),
        cmocka_unit_test(sgd_of_nesterov),
        cmocka_unit_test(adamw_with_decay),
        cmocka_unit_test(adam_without_decay),
        cmocka_unit_test(adamw_of_clipped_gradients),
    };
    return cmocka_run_group_tests_name("torch/optimizer", tests, NULL, NULL);
}
