/*
 * pipe.c: a pipeline on a grid of thread ranks has the losses, norms and parameters of one rank, and
 * every schedule and order of arrival has the same bits.
 */
#include "tests/train/ranks.h"

#include "train/plan.h"

enum { SCHEDULES = 4 };

typedef struct shape {
    int pipe, chunks, data, depth, row, col, zero;
    bool sequence;
} shape;

static job *pipeline(hpc_test_folder *f, int layers, int microbatches)
{
    job *j = start(f, HPC_OPT_SGD, NULL);
    j->o.model.dtype = HPC_F64;
    j->o.model.layers = layers;
    j->o.accumulate = microbatches;
    j->steps = FEW;
    return j;
}

static job *copy_of(const job *from, const shape *s, int schedule)
{
    job *j = hpc_alloc(1, sizeof *j);
    assert_non_null(j);
    j->o = from->o;
    j->source = from->source;
    j->steps = from->steps;
    put_grid(j, &(grid){s->data ? s->data : 1, s->depth ? s->depth : 1, s->row ? s->row : 1,
                        s->col ? s->col : 1, s->zero, false});
    j->shape.extent[HPC_AXIS_PIPE] = s->pipe;
    j->o.parallel.sequence = s->sequence;
    j->o.parallel.overlap = true;
    j->o.parallel.pipe = (hpc_pipe){.schedule = schedule, .chunks = s->chunks};
    return j;
}

static void as_one_rank(job *serial, const shape *s, int schedule, double bound)
{
    job *many = copy_of(serial, s, schedule);
    run_job(many);
    same(many, serial, bound);
    hpc_free(many);
}

static void two_and_four_stages(void **state)
{
    static const shape shapes[] = {{.pipe = 2}, {.pipe = 4}};
    for (int tied = 0; tied < 2; tied++) {
        job *serial = pipeline(*state, 4, 4);
        serial->o.model.tied = tied;
        run_job(serial);
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
            for (int s = HPC_PIPE_GPIPE; s <= HPC_PIPE_ARRIVAL; s++)
                if (s != HPC_PIPE_INTERLEAVED || shapes[k].pipe == 2)
                    as_one_rank(serial, &shapes[k], s, 1e-12);
        hpc_free(serial);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_and_four_stages)};
    return cmocka_run_group_tests_name("train/pipe", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
