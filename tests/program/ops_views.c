/*
 * ops_views.c: rules of updates, views and collectives: accepted operands, results, and errors that
 * name both shapes.
 */
#include "tests/program/rules.h"

static void update_rules(void **s)
{
    (void)s;
    hpc_adamw_attr adam = {.beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
    hpc_program *p = begin();
    hpc_value w = STATE(p, 3, 4), m = STATE(p, 3, 4), v = STATE(p, 3, 4);
    hpc_value half = state(p, HPC_BF16, EXTENTS(3, 4)), g = BF16(p, 3, 4);
    hpc_value lr = SCALAR(p, HPC_F32), step = SCALAR(p, HPC_I32);
    hpc_sgd(p, w, m, g, lr, (hpc_sgd_attr){.momentum = 0.9});
    hpc_adamw(p, w, m, v, half, g, lr, step, HPC_NONE, adam);
    assert_int_equal(p->segment[0].insn_n, 2);
    hpc_sgd(p, w, m, REAL(p, 4, 3), lr, (hpc_sgd_attr){0});
    refuses(p, HPC_E_SHAPE,
            "grad is f32[4,3] and param is f32[3,4]: they must have the same shape");
    p = begin();
    w = STATE(p, 3), m = STATE(p, 3), v = STATE(p, 3);
    hpc_adamw(p, w, m, v, HPC_NONE, REAL(p, 3), SCALAR(p, HPC_F32), SCALAR(p, HPC_F32), HPC_NONE,
              adam);
    refuses(p, HPC_E_SHAPE, "step is f32[]: expected plain i32");
    p = begin();
    w = STATE(p, 3), m = STATE(p, 3), v = STATE(p, 3);
    adam.beta2 = 1;
    hpc_adamw(p, w, m, v, HPC_NONE, REAL(p, 3), SCALAR(p, HPC_F32), SCALAR(p, HPC_I32), HPC_NONE,
              adam);
    refuses(p, HPC_E_ARG, "beta1 is 0.9 and beta2 1; both must be at least 0 and below 1");
}

static void view_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value n = SCALAR(p, HPC_I32), x = REAL(p, 6, 8), r = ragged(p, REAL(p, 6, 8), 0, n);
    makes(p, hpc_view(p, x, 3, (int64_t[]){6, 2, 4}), "f32[6,2,4]");
    makes(p, hpc_view(p, x, 1, (int64_t[]){48}), "f32[48]");
    makes(p, hpc_view(p, r, 3, (int64_t[]){6, 2, 4}), "f32[%0<=6,2,4]");
    makes(p, hpc_slice(p, x, 2, 3), "f32[3,8]");
    makes(p, hpc_view_ragged(p, x, 0, n), "f32[%0<=6,8]");
    hpc_view(p, r, 1, (int64_t[]){48});
    refuses(p, HPC_E_SHAPE, "x is f32[%0<=6,8]: a view keeps a run-time extent where it is");
    p = begin();
    hpc_view(p, REAL(p, 6, 8), 2, (int64_t[]){5, 9});
    refuses(p, HPC_E_SHAPE, "x is f32[6,8]: f32[5,9] from row 0 is neither all of it nor rows");
    p = begin();
    hpc_slice(p, REAL(p, 6, 8), 4, 3);
    refuses(p, HPC_E_SHAPE, "x is f32[6,8]: f32[3,8] from row 4 is neither all of it nor rows");
    p = begin();
    hpc_value each = INDEX(p, 2);
    hpc_view_ragged(p, REAL(p, 6, 8), 1, each);
    refuses(p, HPC_E_SHAPE, "x is f32[6,8]: a run-time extent 1 needs 6 counts, not i32[2]");
    p = begin();
    hpc_view(p, REAL(p, 6, 8), 7, (int64_t[]){6, 8, 1, 1, 1, 1, 1});
    refuses(p, HPC_E_ARG, "rank 7 is not 0 to 4");
}

static void collective_rules(void **s)
{
    (void)s;
    const hpc_axes data = 1u << HPC_AXIS_DATA;
    hpc_program *p = begin();
    hpc_value n = SCALAR(p, HPC_I32), x = BF16(p, 6, 4);
    makes(p, hpc_all_reduce(p, x, data, HPC_COMM_SUM), "bf16[6,4]");
    makes(p, hpc_all_gather(p, x, data, 3), "bf16[18,4]");
    makes(p, hpc_reduce_scatter(p, x, data, 3), "bf16[2,4]");
    makes(p, hpc_all_to_all(p, x, data), "bf16[6,4]");
    makes(p, hpc_broadcast(p, x, data, 1), "bf16[6,4]");
    hpc_send(p, x, data, 1, 0);
    makes(p, hpc_recv(p, hpc_type_of(HPC_F32, 2, (int64_t[]){6, 4}), data, 1, 0), "f32[6,4]");
    hpc_reduce_scatter(p, x, data, 4);
    refuses(p, HPC_E_SHAPE, "x is bf16[6,4]: 4 ranks do not divide its first extent");
    p = begin();
    n = SCALAR(p, HPC_I32);
    hpc_all_gather(p, ragged(p, REAL(p, 6, 4), 0, n), data, 2);
    refuses(p, HPC_E_SHAPE, "x is f32[%0<=6,4]: parts must have extents that all ranks know");
    p = begin();
    hpc_all_reduce(p, REAL(p, 6), 1u << HPC_AXIS_N, HPC_COMM_SUM);
    refuses(p, HPC_E_ARG, "axes 64 name an axis that no grid has");
    p = begin();
    hpc_send(p, REAL(p, 6), data, -1, 0);
    refuses(p, HPC_E_ARG, "peer -1 is no rank");
    p = begin();
    hpc_all_gather(p, REAL(p, 6), data, 0);
    refuses(p, HPC_E_ARG, "ranks is 0; it must be at least 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(update_rules),
        cmocka_unit_test(view_rules),
        cmocka_unit_test(collective_rules),
    };
    return cmocka_run_group_tests_name("program/ops_views", tests, NULL, NULL);
}
