/*
 * fit.c: the least recomputation for a memory budget on many ranks: all ranks choose the same, no
 * more than the largest rank needs.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/train/data.h"

enum { RANKS = 4 };

typedef struct job {
    hpc_grid_shape shape;
    hpc_trainer_options o;
    double budget; /* 0: what o asks for is taken */
    int rc[RANKS], policy[RANKS], blocks[RANKS];
    double bytes[RANKS]; /* of a rank */
} job;

/* Ranks have workers of their own, whose workspace counts. */
static int choose(hpc_link *world, void *user)
{
    job *j = user;
    int rank = hpc_link_rank(world);
    hpc_trainer_options o = j->o;
    hpc_trainer *t;
    o.device.threads = 1 + rank % 2;
    test_ok(hpc_grid_open(&o.grid, world, &j->shape));
    j->rc[rank] = j->budget > 0 ? hpc_trainer_fit(&o, j->budget) : HPC_OK;
    if (j->rc[rank] < 0) {
        test_fails(j->rc[rank], HPC_E_ARG, "a rank needs ");
    } else {
        test_ok(hpc_trainer_open(&t, &o, true));
        hpc_trainer_plan p = hpc_trainer_about(t);
        j->policy[rank] = o.step.recompute, j->blocks[rank] = o.step.recompute_blocks;
        j->bytes[rank] =
            p.parameter_bytes + p.gradient_bytes + p.optimizer_bytes + p.activation_bytes;
        hpc_trainer_close(t);
    }
    hpc_grid_close(o.grid);
    return HPC_OK;
}

static double most(const job *j)
{
    double bytes = 0;
    for (int r = 0; r < hpc_grid_size(&j->shape); r++) bytes = fmax(bytes, j->bytes[r]);
    return bytes;
}

/* What a policy takes, of the rank that needs most. */
static double taken(job j, int policy, int blocks)
{
    j.budget = 0;
    j.o.step.recompute = policy, j.o.step.recompute_blocks = blocks;
    test_ok(hpc_threads_run(hpc_grid_size(&j.shape), choose, &j));
    return most(&j);
}

/* The choice is the same on all, fits on all, and the one that saves less does not. */
static void check(job *j, double bytes)
{
    j->budget = bytes;
    test_ok(hpc_threads_run(hpc_grid_size(&j->shape), choose, j));
    for (int r = 0; r < hpc_grid_size(&j->shape); r++) {
        test_ok(j->rc[r]);
        assert_int_equal(j->policy[r], j->policy[0]);
        assert_int_equal(j->blocks[r], j->blocks[0]);
    }
    assert_true(most(j) <= bytes);
    if (j->policy[0] == HPC_RECOMPUTE_SELECTIVE)
        assert_true(taken(*j, HPC_RECOMPUTE_NONE, 0) > bytes);
    if (j->policy[0] == HPC_RECOMPUTE_BLOCK)
        assert_true((j->blocks[0] > 1 ? taken(*j, HPC_RECOMPUTE_BLOCK, j->blocks[0] - 1)
                                      : taken(*j, HPC_RECOMPUTE_SELECTIVE, 0)) > bytes);
}

static void all_ranks_choose_what_the_largest_needs(void **state)
{
    static const char *const grid[] = {"data=2", "row=2", "data=2,row=2", "depth=2,col=2"};
    (void)state;
    for (int g = 0; g < 4; g++) {
        job j = {.o = tiny_trainer(HPC_OPT_ADAMW)};
        int seen = 0;
        j.o.rows = 8;
        j.o.model.layers = 6;
        j.o.parallel = (hpc_parallel){.overlap = true,
                                      .ahead = 1,
                                      .bucket_bytes = 1 << 14,
                                      .sequence = g == 2,
                                      .zero = g % 2};
        test_ok(hpc_grid_parse(&j.shape, grid[g]));
        double all = taken(j, HPC_RECOMPUTE_NONE, 0), few = taken(j, HPC_RECOMPUTE_BLOCK, 0);
        assert_true(few < all);
        for (int k = 0; k <= 4; k++) {
            check(&j, few + (all - few) * k / 4);
            seen |= 1 << j.policy[0];
        }
        assert_int_equal(seen, 7); /* each of them, for one budget or another */
        j.budget = few / 2;
        test_ok(hpc_threads_run(hpc_grid_size(&j.shape), choose, &j));
        for (int r = 0; r < hpc_grid_size(&j.shape); r++) assert_int_equal(j.rc[r], HPC_E_ARG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_ranks_choose_what_the_largest_needs)};
    return cmocka_run_group_tests_name("train/fit", tests, NULL, NULL);
}
