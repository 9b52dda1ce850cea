/*
 * llama.c: Llama blocks, emitted, differentiated, placed and run: equal results for any number of
 * workers, and on 1, 2 and 4 data-parallel ranks, dropout included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/train.h"
#include "tests/support/fault.h"
#include "tests/support/values.h"

enum { SEQUENCES = 4, LENGTH = 10, T = SEQUENCES * LENGTH, STEPS = 3, PARAMS_MAX = 40000 };

typedef struct job {
    const char *backend;
    int threads;
    hpc_dtype dtype;
    double dropout;
    double loss[STEPS][T];    /* of all ranks */
    double param[PARAMS_MAX]; /* of rank 0 after the last step */
    double spread;            /* largest difference of parameters between ranks */
    int64_t params;
    int64_t reduced; /* bytes of all-reduce on the data axis, by rank 0 */
} job;

static const hpc_model_config shape = {.vocab = 61,
                                       .hidden = 32,
                                       .layers = 2,
                                       .heads = 4,
                                       .kv_heads = 2,
                                       .ffn = 48,
                                       .positions = LENGTH,
                                       .norm_eps = 1e-5,
                                       .rope = {.theta = 10000, .share = 1},
                                       .act = HPC_SILU,
                                       .gated = true,
                                       .init_std = 0.02};

static void write_state(hpc_exec *e, const hpc_program *p, const hpc_step *io)
{
    float *data = hpc_alloc(PARAMS_MAX, sizeof *data);
    double *wide = hpc_alloc(PARAMS_MAX, sizeof *wide);
    hpc_model_tensor *list;
    int64_t n;
    double freq[8];
    float f[8];
    hpc_rope_frequencies(f, &shape);
    for (int k = 0; k < 4; k++) freq[k] = f[k];
    hpc_test_write(e, 0, io->model.freq, freq);
    test_ok(hpc_model_tensors(&list, &n, &shape));
    for (int64_t k = 0; k < n; k++) {
        hpc_value v = hpc_program_find(p, list[k].name);
        hpc_model_init(data, &list[k], 0, hpc_test_n(p, v), 5);
        for (int64_t i = 0; i < hpc_test_n(p, v); i++) wide[i] = data[i];
        hpc_test_write(e, 0, v, wide);
    }
    hpc_free(list);
    hpc_free(data);
    hpc_free(wide);
}

/* This rank's sequences of the global batch. */
static void write_batch(hpc_exec *e, const hpc_step *io, int step, int rank, int ranks)
{
    int32_t token[T], target[T], pos[T], start[SEQUENCES + 1];
    double weight[T];
    int n = T / ranks, sequences = SEQUENCES / ranks;
    for (int t = 0; t < n; t++) {
        int64_t g = rank * n + t;
        token[t] = (int32_t)(hpc_random_bits(3, 0, (uint32_t)step, (uint64_t)g) % 61);
        target[t] = g % 9 == 8 ? -1 : (int32_t)((token[t] * 7 + 1) % 61);
        pos[t] = t % LENGTH;
        weight[t] = 1.0 / T;
    }
    memset(start, 0, sizeof start);
    for (int s = 0; s <= sequences; s++) start[s] = s * LENGTH;
    hpc_test_write_i32(e, 0, io->model.tokens, token);
    hpc_test_write_i32(e, 0, io->model.targets, target);
    hpc_test_write_i32(e, 0, io->model.pos, pos);
    hpc_test_write_i32(e, 0, io->model.start, start);
    hpc_test_write(e, 0, io->weight, weight);
    hpc_test_write_scalar(e, 0, io->model.start_n, sequences + 1);
    hpc_test_write_scalar(e, 0, io->lr, 0.01);
    hpc_test_write_scalar(e, 0, io->limit, INFINITY);
    hpc_test_write_scalar(e, 0, io->model.step, step + 1);
    if (io->model.first >= 0) hpc_test_write_scalar(e, 0, io->model.first, 0);
}

static hpc_program *emit(hpc_step *io, const job *j, const hpc_grid_shape *grid, int rank)
{
    hpc_model_config c = shape;
    hpc_optimizer_config o = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    int coord[HPC_AXIS_N];
    hpc_program *p = hpc_program_create();
    c.dtype = j->dtype;
    c.dropout = j->dropout;
    test_ok(hpc_step_emit(io, p, &c, &o,
                          &(hpc_step_options){.model = {.tokens = T, .sequences = SEQUENCES}}));
    test_ok(hpc_program_check(p));
    hpc_grid_coords(coord, grid, rank);
    test_ok(hpc_shard(p, grid, coord, NULL));
    return p;
}

static void read_parameters(hpc_exec *e, const hpc_program *p, double *out, int64_t *n)
{
    *n = 0;
    for (hpc_value v = 0; v < p->value_n; v++) {
        if (!p->value[v].trainable) continue;
        assert_true(*n + hpc_test_n(p, v) <= PARAMS_MAX);
        hpc_test_read(e, 0, v, out + *n);
        *n += hpc_test_n(p, v);
    }
}

static int run_rank(hpc_link *world, void *user)
{
    job *j = user;
    int ranks = hpc_link_size(world), rank = hpc_link_rank(world);
    hpc_grid_shape axes = {.extent = {[HPC_AXIS_DATA] = ranks}};
    hpc_step io;
    hpc_grid *grid;
    hpc_device *d;
    hpc_exec *e;
    hpc_program *p = emit(&io, j, &axes, rank);
    test_ok(hpc_grid_open(&grid, world, &axes));
    test_ok(
        hpc_device_open(&d, &(hpc_device_options){.backend = j->backend, .threads = j->threads}));
    test_ok(hpc_exec_open(&e, p, d, grid, &(hpc_exec_options){.poison = 1}));
    write_state(e, p, &io);
    for (int s = 0; s < STEPS; s++) {
        write_batch(e, &io, s, rank, ranks);
        test_ok(hpc_exec_run(e, io.model.forward, 0));
        test_ok(hpc_exec_run(e, io.backward, 0));
        test_ok(hpc_exec_run(e, io.norm, 0));
        test_ok(hpc_exec_run(e, io.update, 0));
        hpc_test_read(e, 0, io.loss, &j->loss[s][rank * (T / ranks)]);
    }
    if (rank == 0) {
        read_parameters(e, p, j->param, &j->params);
        j->reduced = hpc_grid_traffic(grid, 1u << HPC_AXIS_DATA).bytes[HPC_ALL_REDUCE];
    }
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_grid_close(grid);
    hpc_program_free(p);
    return HPC_OK;
}

static job *run_job(const char *backend, int threads, int ranks, hpc_dtype dtype, double dropout)
{
    job *j = hpc_alloc(1, sizeof *j);
    assert_non_null(j);
    j->backend = backend;
    j->threads = threads;
    j->dtype = dtype;
    j->dropout = dropout;
    test_ok(hpc_threads_run(ranks, run_rank, j));
    return j;
}

static void equals_serial(const char *backend, hpc_dtype dtype, double dropout, double bound)
{
    job *serial = run_job(backend, 1, 1, dtype, dropout);
    assert_true(serial->loss[0][0] > 0 && serial->loss[0][8] == 0);
    for (int ranks = 1; ranks <= 4; ranks *= 2) {
        job *j = run_job(backend, 1, ranks, dtype, dropout);
        assert_true(hpc_test_error(j->loss[0], serial->loss[0], STEPS * T) < bound);
        assert_true(hpc_test_error(j->param, serial->param, serial->params) < bound);
        /* A ring's share of every gradient, each step. */
        int64_t width = dtype == HPC_F64 ? 8 : 4;
        int64_t want = 2 * (ranks - 1) * STEPS * serial->params * width / ranks;
        assert_int_equal(j->reduced, want);
        hpc_free(j);
    }
    hpc_free(serial);
}

static void ranks_equal_serial_f64(void **state)
{
    (void)state, equals_serial("cpu", HPC_F64, 0, 1e-12);
}
static void ranks_equal_serial_f32(void **state)
{
    (void)state, equals_serial("cpu", HPC_F32, 0, 1e-5);
}
static void ranks_equal_serial_on_mock(void **state)
{
    (void)state, equals_serial("mock", HPC_F32, 0, 1e-5);
}
static void dropout_is_the_same_on_any_ranks(void **state)
{
    (void)state, equals_serial("cpu", HPC_F64, 0.2, 1e-12);
}

static void workers_do_not_change_a_bit(void **state)
{
    (void)state;
    job *one = run_job("cpu", 1, 1, HPC_F32, 0.1);
    for (int threads = 2; threads <= 7; threads += 5) {
        job *many = run_job("cpu", threads, 1, HPC_F32, 0.1);
        assert_memory_equal(one->param, many->param, sizeof one->param);
        assert_memory_equal(one->loss, many->loss, sizeof one->loss);
        hpc_free(many);
    }
    hpc_free(one);
}

static void mock_computes_the_same(void **state)
{
    (void)state;
    job *cpu = run_job("cpu", 1, 1, HPC_F32, 0.1), *mock = run_job("mock", 1, 1, HPC_F32, 0.1);
    assert_memory_equal(cpu->param, mock->param, sizeof cpu->param);
    hpc_free(cpu);
    hpc_free(mock);
}

typedef struct opened {
    hpc_step io;
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
} opened;

static opened open_serial(const char *backend, int slots)
{
    opened o;
    const job j = {.dtype = HPC_F32, .dropout = 0.1};
    o.p = emit(&o.io, &j, &(hpc_grid_shape){{0}}, 0);
    test_ok(hpc_device_open(&o.d, &(hpc_device_options){.backend = backend, .threads = 2}));
    test_ok(hpc_exec_open(&o.e, o.p, o.d, NULL, &(hpc_exec_options){.slots = slots}));
    return o;
}

static void close_all(opened *o)
{
    hpc_exec_close(o->e);
    hpc_device_close(o->d);
    hpc_program_free(o->p);
}

static void a_steady_step_allocates_nothing(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        opened o = open_serial(b ? "mock" : "cpu", 1);
        write_state(o.e, o.p, &o.io);
        int64_t device = 0;
        for (int s = 0; s < 4; s++) {
            write_batch(o.e, &o.io, s, 0, 1);
            if (s == 2) hpc_test_fault_reset(); /* two steps to warm up */
            if (s == 2) device = hpc_device_about(o.d).alloc_n;
            int64_t before = hpc_test_alloc_count();
            test_ok(hpc_exec_run(o.e, o.io.model.forward, 0));
            test_ok(hpc_exec_run(o.e, o.io.backward, 0));
            test_ok(hpc_exec_run(o.e, o.io.norm, 0));
            test_ok(hpc_exec_run(o.e, o.io.update, 0));
            if (s >= 2) assert_int_equal(hpc_test_alloc_count() - before, 0);
        }
        assert_int_equal(hpc_device_about(o.d).alloc_n, device);
        close_all(&o);
    }
}

static void placement_is_tight(void **state)
{
    (void)state;
    for (int slots = 1; slots <= 3; slots += 2) {
        opened o = open_serial("cpu", slots);
        const hpc_placement *pl = hpc_exec_placement(o.e);
        for (int s = 0; s < HPC_SPACE_N; s++) {
            assert_true(pl->bytes[s] >= pl->live[s]);
            assert_true((double)pl->bytes[s] <= 1.05 * (double)pl->live[s]);
        }
        close_all(&o);
    }
}

static void barriers_are_counted_and_printed(void **state)
{
    (void)state;
    opened o = open_serial("cpu", 1);
    hpc_buf text = {0};
    hpc_exec_stats forward = hpc_exec_stats_of(o.e, o.io.model.forward);
    assert_true(forward.instructions > 20 && forward.barriers > 4);
    assert_true(forward.barriers < forward.instructions);
    test_ok(hpc_exec_print(&text, o.e));
    assert_non_null(strstr(text.data, "| barrier"));
    assert_non_null(strstr(text.data, "= norm("));
    char line[64];
    snprintf(line, sizeof line, "%5lld instructions  %4lld barriers",
             (long long)forward.instructions, (long long)forward.barriers);
    assert_non_null(strstr(text.data, line));
    hpc_buf_release(&text);
    close_all(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_equal_serial_f64),
        cmocka_unit_test(ranks_equal_serial_f32),
        cmocka_unit_test(ranks_equal_serial_on_mock),
        cmocka_unit_test(dropout_is_the_same_on_any_ranks),
        cmocka_unit_test(workers_do_not_change_a_bit),
        cmocka_unit_test(mock_computes_the_same),
        cmocka_unit_test(a_steady_step_allocates_nothing),
        cmocka_unit_test(placement_is_tight),
        cmocka_unit_test(barriers_are_counted_and_printed),
    };
    return cmocka_run_group_tests_name("model/llama", tests, NULL, NULL);
}
