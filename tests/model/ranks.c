/*
 * ranks.c: models of every kind train on two and four data-parallel ranks as on one: the loss of
 * each step, and the final parameters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/model.h"

enum { DOCUMENTS = 8, LENGTH = 5, T = DOCUMENTS * LENGTH, STEPS = 3, PARAMS = 1 << 14, KINDS = 5 };

typedef struct job {
    hpc_model_config c;
    double loss[STEPS]; /* of all ranks */
    double part[4][STEPS];
    double param[PARAMS]; /* of rank 0 after the last step */
    int64_t n;
} job;

static hpc_model_config kind_at(int i)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    c.vocab = 13, c.hidden = 16, c.ffn = 24, c.positions = 16, c.dtype = HPC_F64;
    if (i == 0) c.norm = HPC_LAYER, c.qkv_bias = c.out_bias = c.mlp_bias = c.tied = true;
    if (i == 1) c.position = HPC_LEARNED, c.gated = false, c.parallel = true, c.window = 2;
    if (i >= 2) c.head = HPC_HEAD_CLASSES, c.classes = 3;
    if (i >= 3) c.head = HPC_HEAD_PAIRS;
    if (i == 1 || i == 4)
        c.adapter = (hpc_adapter_config){
            .rank = 2, .alpha = 4, .targets = 1u << HPC_PART_Q | 1u << HPC_PART_DOWN};
    c.dropout = 0.2;
    return c;
}

/* Its own documents, and the classes of all. */
static void feed(hpc_test_model *m, int step, int rank, int ranks)
{
    static const int32_t lengths[DOCUMENTS] = {LENGTH, LENGTH, LENGTH, LENGTH,
                                               LENGTH, LENGTH, LENGTH, LENGTH};
    int32_t token[T], last[DOCUMENTS], classes[DOCUMENTS];
    for (int t = 0; t < T; t++)
        token[t] = (int32_t)(hpc_random_bits(3, 0, (uint32_t)step, (uint64_t)t) % 13);
    for (int d = 0; d < DOCUMENTS; d++) {
        last[d] = (d + 1) * LENGTH - 1;
        classes[d] = (d * 5 + step) % 3;
    }
    hpc_test_model_feed(m, token + rank * (T / ranks), lengths, DOCUMENTS / ranks);
    if (m->io.targets >= 0) { /* of all ranks' tokens */
        double weight[T];
        for (int t = 0; t < T; t++) weight[t] = t % LENGTH == LENGTH - 1 ? 0 : 1.0 / T;
        hpc_test_write(m->e, 0, m->weight, weight);
    } else {
        hpc_test_write_i32(m->e, 0, m->io.pooled, last);
        hpc_test_write_i32(m->e, 0, m->io.classes, classes);
    }
}

static void read_parameters(job *j, hpc_test_model *m)
{
    j->n = 0;
    for (int64_t k = 0; k < m->list_n; k++) {
        hpc_value v = hpc_program_find(m->p, m->list[k].name);
        assert_true(j->n + hpc_test_n(m->p, v) <= PARAMS);
        hpc_test_read(m->e, 0, v, j->param + j->n);
        j->n += hpc_test_n(m->p, v);
    }
}

static int run_rank(hpc_link *world, void *user)
{
    job *j = user;
    int ranks = hpc_link_size(world), rank = hpc_link_rank(world), coord[HPC_AXIS_N];
    hpc_grid_shape shape = {.extent = {[HPC_AXIS_DATA] = ranks}};
    hpc_grid *grid;
    hpc_test_model m;
    hpc_test_model_emit(&m, &j->c, T, DOCUMENTS, HPC_TEST_ADAMW);
    hpc_grid_coords(coord, &shape, rank);
    test_ok(hpc_shard(m.p, &shape, coord, NULL));
    test_ok(hpc_program_check(m.p));
    test_ok(hpc_grid_open(&grid, world, &shape));
    hpc_test_model_begin(&m, grid);
    hpc_test_model_draw(&m, 7, 0.3);
    for (int s = 0; s < STEPS; s++) {
        feed(&m, s, rank, ranks);
        j->part[rank][s] = hpc_test_model_step(&m, s + 1, 0.01);
    }
    if (rank == 0) read_parameters(j, &m);
    hpc_test_model_close(&m);
    hpc_grid_close(grid);
    return HPC_OK;
}

static job *run_job(const hpc_model_config *c, int ranks)
{
    job *j = hpc_alloc(1, sizeof *j);
    j->c = *c;
    test_ok(hpc_threads_run(ranks, run_rank, j));
    /* the loss of tokens is each rank's own, that of sequences is of all */
    for (int s = 0; s < STEPS; s++)
        for (int r = 0; r < (c->head == HPC_HEAD_TOKENS ? ranks : 1); r++)
            j->loss[s] += j->part[r][s];
    return j;
}

static void ranks_train_as_one(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        hpc_model_config c = kind_at(kind);
        job *serial = run_job(&c, 1);
        assert_true(serial->loss[0] > 0.1 && serial->n == hpc_model_config_params(&c));
        for (int ranks = 2; ranks <= 4; ranks *= 2) {
            job *j = run_job(&c, ranks);
            assert_true(hpc_test_error(j->loss, serial->loss, STEPS) < 1e-12);
            assert_true(hpc_test_error(j->param, serial->param, serial->n) < 1e-11);
            hpc_free(j);
        }
        hpc_free(serial);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_train_as_one)};
    return cmocka_run_group_tests_name("model/ranks", tests, NULL, NULL);
}
