/*
 * pairs_mpi.c: the plans of pairs.h on processes of mpirun. Without arguments it starts itself on
 * 2, 4 and 8 ranks, which run the plans for that number in f64, f32 and bf16.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include <stdlib.h>

#include "tests/support/command.h"
#include "tests/support/processes.h"
#include "tests/train/pairs.h"

/* One rank's part of a plan; the first also runs it alone, and compares. */
static void take_part(hpc_link *world, hpc_test_folder *f, const pair_plan *p, hpc_dtype dtype,
                      double bound)
{
    hpc_masks *m;
    job *one = for_one(f, p, dtype, &m), *many = by_all(one, p);
    test_ok(run_rank(world, many));
    if (hpc_link_rank(world) == 0) {
        run_alone(one);
        same(many, one, bound);
    }
    hpc_masks_free(m);
    hpc_free(one);
    hpc_free(many);
}

/* In bf16 to the bits of thread ranks, whose distance from single pairs.c knows. */
static void as_threads(hpc_link *world, hpc_test_folder *f, const pair_plan *p)
{
    hpc_masks *m;
    job *one = for_one(f, p, HPC_BF16, &m), *many = by_all(one, p), *threads = by_all(one, p);
    test_ok(run_rank(world, many));
    if (hpc_link_rank(world) == 0) {
        run_job(threads);
        same_bits(many, threads);
    }
    hpc_masks_free(m);
    hpc_free(one);
    hpc_free(many);
    hpc_free(threads);
}

static int rank_main(const char *folder)
{
    hpc_test_folder f;
    hpc_link *world;
    char path[PATH_MAX];
    int taken = 0;
    snprintf(f.root, sizeof f.root, "%s", folder);
    test_ok(hpc_mpi_open(&world, hpc_test_built(path, "hpccoder-mpi.so")));
    for (int k = 0; k < PAIR_PLANS; k++) {
        if (pair_ranks(&pair_plans[k]) != hpc_link_size(world)) continue;
        take_part(world, &f, &pair_plans[k], HPC_F64, 1e-12);
        take_part(world, &f, &pair_plans[k], HPC_F32, 1e-5);
        as_threads(world, &f, &pair_plans[k]);
        taken++;
    }
    hpc_link_close(world);
    return taken == 0;
}

static void pairs_on_processes(void **state)
{
    hpc_test_folder *f = *state;
    hpc_test_need_mpi();
    hpc_free(start(f, HPC_OPT_SGD, NULL)); /* the data, before ranks look for it */
    for (int ranks = 2; ranks <= 8; ranks *= 2)
        assert_int_equal(hpc_test_processes(ranks, "--rank '%s'", f->root), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_on_processes)};
    if (argc == 3 && strcmp(argv[1], "--rank") == 0) return rank_main(argv[2]);
    return cmocka_run_group_tests_name("train/pairs_mpi", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
