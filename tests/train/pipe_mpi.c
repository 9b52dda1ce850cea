/*
 * pipe_mpi.c: pipelines on processes of mpirun have the bits of the same pipelines on threads.
 * Without arguments it starts itself on 2, 4 and 8 ranks, which run the shapes for that number.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include <stdlib.h>

#include "tests/support/command.h"
#include "tests/support/processes.h"
#include "tests/train/pipe.h"

static const struct {
    shape s;
    int schedule;
} each[] = {{{.pipe = 2}, HPC_PIPE_GPIPE},
            {{.pipe = 2}, HPC_PIPE_INTERLEAVED},
            {{.pipe = 2}, HPC_PIPE_ARRIVAL},
            {{.pipe = 4}, HPC_PIPE_1F1B},
            {{.pipe = 4}, HPC_PIPE_ARRIVAL},
            {{.pipe = 2, .data = 2, .zero = 1}, HPC_PIPE_1F1B},
            {{.pipe = 2, .row = 2}, HPC_PIPE_ARRIVAL},
            {{.pipe = 4, .data = 2}, HPC_PIPE_ARRIVAL},
            {{.pipe = 4, .row = 2}, HPC_PIPE_1F1B},
            {{.pipe = 2, .interlaced = true}, HPC_PIPE_GPIPE},
            {{.pipe = 4, .interlaced = true}, HPC_PIPE_1F1B},
            {{.pipe = 2, .data = 2, .zero = 1, .interlaced = true}, HPC_PIPE_1F1B},
            {{.pipe = 4, .row = 2, .interlaced = true}, HPC_PIPE_1F1B}};
enum { SHAPES = sizeof each / sizeof *each };

static job *from_here(hpc_test_folder *f)
{
    job *j = pipeline(f, 4, 4);
    j->o.model.dtype = HPC_F32;
    j->o.model.tied = true;
    return j;
}

static int rank_main(const char *folder)
{
    hpc_test_folder f;
    hpc_link *world;
    char path[PATH_MAX];
    int taken = 0;
    snprintf(f.root, sizeof f.root, "%s", folder);
    test_ok(hpc_mpi_open(&world, hpc_test_built(path, "hpccoder-mpi.so")));
    job *from = from_here(&f);
    for (int k = 0; k < SHAPES; k++) {
        job *many = copy_of(from, &each[k].s, each[k].schedule);
        job *threads = copy_of(from, &each[k].s, each[k].schedule);
        if (hpc_grid_size(&many->shape) == hpc_link_size(world)) {
            test_ok(run_rank(world, many));
            if (hpc_link_rank(world) == 0) {
                run_job(threads);
                same_bits(many, threads);
            }
            taken++;
        }
        hpc_free(many);
        hpc_free(threads);
    }
    hpc_free(from);
    hpc_link_close(world);
    return taken == 0;
}

static void processes_have_the_bits_of_threads(void **state)
{
    hpc_test_folder *f = *state;
    hpc_test_need_mpi();
    hpc_free(start(f, HPC_OPT_SGD, NULL)); /* the data, before ranks look for it */
    for (int ranks = 2; ranks <= 8; ranks *= 2)
        assert_int_equal(hpc_test_processes(ranks, "--rank '%s'", f->root), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(processes_have_the_bits_of_threads)};
    if (argc == 3 && strcmp(argv[1], "--rank") == 0) return rank_main(argv[2]);
    return cmocka_run_group_tests_name("train/pipe_mpi", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
