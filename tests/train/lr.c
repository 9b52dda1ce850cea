/*
 * lr.c: learning rates at points where their formulas give known values.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "train/train.h"

static void near(double x, double want)
{
    assert_true(fabs(x - want) < 1e-12);
}

static const hpc_lr_config base = {
    .peak = 2, .least = 0.1, .warmup = 10, .factor = 0.1, .decay = 0.25};

static void warms_up(void **state)
{
    (void)state;
    for (int kind = 0; hpc_lr_names[kind]; kind++) {
        hpc_lr_config c = base;
        c.kind = kind;
        near(hpc_lr_at(&c, 1, 100), 0.2);
        near(hpc_lr_at(&c, 10, 100), 2);
        c.warmup = 0;
        assert_true(hpc_lr_at(&c, 1, 100) <= 2 && hpc_lr_at(&c, 1, 100) > 1.9);
    }
}

static void falls(void **state)
{
    hpc_lr_config c = base;
    (void)state;
    c.kind = HPC_LR_CONSTANT;
    near(hpc_lr_at(&c, 110, 110), 2);
    c.kind = HPC_LR_COSINE;
    near(hpc_lr_at(&c, 60, 110), 2 * (0.1 + 0.9 * 0.5));
    near(hpc_lr_at(&c, 110, 110), 0.2);
    c.kind = HPC_LR_LINEAR;
    near(hpc_lr_at(&c, 35, 110), 2 * (0.1 + 0.9 * 0.75));
    near(hpc_lr_at(&c, 110, 110), 0.2);
    c.kind = HPC_LR_WSD;
    near(hpc_lr_at(&c, 85, 110), 2);
    near(hpc_lr_at(&c, 110, 110), 0.2);
    assert_true(hpc_lr_at(&c, 86, 110) < 2);
}

static void steps_down(void **state)
{
    hpc_lr_config c = base;
    (void)state;
    c.kind = HPC_LR_STEP;
    c.warmup = 0;
    near(hpc_lr_at(&c, 29, 90), 2);
    near(hpc_lr_at(&c, 30, 90), 0.2);
    near(hpc_lr_at(&c, 60, 90), 0.02);
    near(hpc_lr_at(&c, 90, 90), 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warms_up),
        cmocka_unit_test(falls),
        cmocka_unit_test(steps_down),
    };
    return cmocka_run_group_tests_name("train/lr", tests, NULL, NULL);
}
