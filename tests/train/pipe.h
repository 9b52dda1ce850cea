/*
 * pipe.h: jobs on a grid with stages of a pipeline.
 */
#ifndef HPC_TESTS_TRAIN_PIPE_H
#define HPC_TESTS_TRAIN_PIPE_H

#include "tests/train/ranks.h"

typedef struct shape {
    int pipe, chunks, data, depth, row, col, zero;
    bool sequence, interlaced;
} shape;

static inline job *pipeline(hpc_test_folder *f, int layers, int microbatches)
{
    job *j = start(f, HPC_OPT_SGD, NULL);
    j->o.model.dtype = HPC_F64;
    j->o.model.layers = layers;
    j->o.accumulate = microbatches;
    j->steps = FEW;
    return j;
}

static inline job *copy_of(const job *from, const shape *s, int schedule)
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
    j->o.parallel.pipe =
        (hpc_pipe){.schedule = schedule, .chunks = s->chunks, .vocab = s->interlaced};
    return j;
}

static inline int delay(void *user, int from, int to, int tag)
{
    const job *j = user;
    return (int)(hpc_random_bits(j->o.seed, (uint32_t)from, (uint32_t)to, (uint64_t)tag) % 40);
}

/* Delays change neither data nor dropout here: the seed is not read by the model. */
static inline job *delayed(const job *from, const shape *s, int schedule, uint64_t seed)
{
    job *j = copy_of(from, s, schedule);
    if (seed == 0) {
        run_job(j);
        return j;
    }
    hpc_delay_fn *late = delay;
    test_ok(hpc_threads_run_delayed(hpc_grid_size(&j->shape), run_rank, j, late));
    return j;
}

/* Runs the first steps of `whole` on each shape and the others on the next shape, from a
 * checkpoint: losses and norms are those of `whole`. */
static inline void resume_on_next(const job *whole, const shape *shapes, size_t n,
                                  hpc_test_folder *f)
{
    char folder[PATH_MAX], name[32];
    for (size_t k = 0; k < n; k++) {
        snprintf(name, sizeof name, "shape-%zu", k);
        job *first = copy_of(whole, &shapes[k], HPC_PIPE_AUTO);
        first->folder = hpc_test_path(folder, f, name);
        first->steps = FEW;
        run_job(first);
        job *then = copy_of(whole, &shapes[(k + 1) % n], HPC_PIPE_AUTO);
        then->folder = folder;
        then->from = FEW;
        run_job(then);
        memcpy(then->loss, first->loss, FEW * sizeof *then->loss);
        memcpy(then->norm, first->norm, FEW * sizeof *then->norm);
        same(then, whole, 1e-12);
        hpc_free(first);
        hpc_free(then);
    }
}

#endif
