/*
 * llama.c: training steps of a small Llama with the kernels of CUDA on the CPU: losses, gradients
 * and parameters agree with the CPU's, in bf16 as well as the CPU's bf16 agrees with f32, and have
 * the same bits in every schedule.
 */
/* tsan: left out, it knows nothing of the shim's stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "train/train.h"
#include "tests/support/cuda.h"
#include "tests/support/values.h"

enum { SEQUENCES = 3, LENGTH = 10, T = SEQUENCES * LENGTH, STEPS = 2, MOST = 30000 };

typedef struct outcome {
    double loss[STEPS * T], grad[MOST], param[MOST]; /* grad: of the first step */
    int64_t grads, params;
} outcome;

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
                                       .dropout = 0.1,
                                       .init_std = 0.1};

static void write_state(hpc_exec *e, const hpc_program *p, const hpc_step *io)
{
    float *data = hpc_alloc(MOST, sizeof *data), f[8];
    double *wide = hpc_alloc(MOST, sizeof *wide), freq[4];
    hpc_model_tensor *list;
    int64_t n;
    hpc_rope_frequencies(f, &shape);
    for (int k = 0; k < 4; k++) freq[k] = f[k];
    hpc_test_write(e, 0, io->model.freq, freq);
    test_ok(hpc_model_tensors(&list, &n, &shape));
    for (int64_t k = 0; k < n; k++) {
        hpc_value v = hpc_program_find(p, list[k].name);
        hpc_value master = p->value[v].master;
        hpc_model_init(data, &list[k], 0, hpc_test_n(p, v), 5);
        for (int64_t i = 0; i < hpc_test_n(p, v); i++) wide[i] = data[i];
        hpc_test_write(e, 0, v, wide);
        if (master >= 0) hpc_test_write(e, 0, master, wide);
    }
    hpc_free(list);
    hpc_free(data);
    hpc_free(wide);
}

static void write_batch(hpc_exec *e, const hpc_step *io, int step)
{
    int32_t token[T], target[T], pos[T], start[SEQUENCES + 1];
    double weight[T];
    for (int t = 0; t < T; t++) {
        token[t] = (int32_t)(hpc_random_bits(3, 0, (uint32_t)step, (uint64_t)t) % 61);
        target[t] = t % 9 == 8 ? -1 : (int32_t)((token[t] * 7 + 1) % 61);
        pos[t] = t % LENGTH;
        weight[t] = 1.0 / T;
    }
    for (int s = 0; s <= SEQUENCES; s++) start[s] = s * LENGTH;
    hpc_test_write_i32(e, 0, io->model.tokens, token);
    hpc_test_write_i32(e, 0, io->model.targets, target);
    hpc_test_write_i32(e, 0, io->model.pos, pos);
    hpc_test_write_i32(e, 0, io->model.start, start);
    hpc_test_write(e, 0, io->weight, weight);
    hpc_test_write_scalar(e, 0, io->model.start_n, SEQUENCES + 1);
    hpc_test_write_scalar(e, 0, io->lr, 0.01);
    hpc_test_write_scalar(e, 0, io->limit, INFINITY);
    hpc_test_write_scalar(e, 0, io->model.step, step + 1);
    if (io->model.first >= 0) hpc_test_write_scalar(e, 0, io->model.first, 0);
}

/* The trainable values, or their gradients; returns how many elements they have. */
static int64_t read_all(hpc_exec *e, const hpc_program *p, double *out, bool gradients)
{
    int64_t n = 0;
    for (hpc_value v = 0; v < p->value_n; v++) {
        hpc_value from = gradients ? p->value[v].grad : v;
        if (!p->value[v].trainable || from < 0) continue;
        assert_true(n + hpc_test_n(p, from) <= MOST);
        hpc_test_read(e, 0, from, out + n);
        n += hpc_test_n(p, from);
    }
    return n;
}

static outcome *train(hpc_dtype dtype, const hpc_device_options *where)
{
    outcome *r = hpc_alloc(1, sizeof *r);
    hpc_model_config c = shape;
    hpc_optimizer_config o = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    hpc_program *p = hpc_program_create();
    hpc_step io;
    hpc_device *d;
    hpc_exec *e;
    c.dtype = dtype;
    test_ok(hpc_step_emit(&io, p, &c, &o,
                          &(hpc_step_options){.model = {.tokens = T, .sequences = SEQUENCES}}));
    test_ok(hpc_device_open(&d, where));
    test_ok(hpc_exec_open(&e, p, d, NULL, &(hpc_exec_options){.poison = 1}));
    write_state(e, p, &io);
    for (int s = 0; s < STEPS; s++) {
        write_batch(e, &io, s);
        test_ok(hpc_exec_run(e, io.model.forward, 0));
        test_ok(hpc_exec_run(e, io.backward, 0));
        if (s == 0) r->grads = read_all(e, p, r->grad, true);
        test_ok(hpc_exec_run(e, io.norm, 0));
        test_ok(hpc_exec_run(e, io.update, 0));
        hpc_test_read(e, 0, io.loss, &r->loss[s * T]);
    }
    r->params = read_all(e, p, r->param, false);
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
    return r;
}

static outcome *on_cpu(hpc_dtype dtype)
{
    return train(dtype, &(hpc_device_options){.threads = 1});
}

static outcome *on_cuda(hpc_dtype dtype, const hpc_test_cuda *cuda, const char *settings)
{
    return train(dtype, &(hpc_device_options){
                            .backend = cuda->backend, .isa = settings, .library = cuda->library});
}

static void compare_f32(const hpc_test_cuda *cuda)
{
    outcome *cpu = on_cpu(HPC_F32), *shim = on_cuda(HPC_F32, cuda, NULL);
    assert_true(cpu->grads > 0 && cpu->params > 0);
    assert_true(hpc_test_error(shim->loss, cpu->loss, STEPS * T) < 1e-5);
    assert_true(hpc_test_error(shim->grad, cpu->grad, cpu->grads) < 1e-5);
    assert_true(hpc_test_error(shim->param, cpu->param, cpu->params) < 1e-4);
    hpc_free(cpu);
    hpc_free(shim);
}

static void f32_agrees_with_the_cpu(void **state)
{
    hpc_test_cuda cuda[HPC_TEST_CUDA_MOST];
    (void)state;
    for (int k = hpc_test_cuda_list(cuda) - 1; k >= 0; k--) compare_f32(&cuda[k]);
}

/* How much farther from f32 the bf16 of the kernels may be than the CPU's. */
static void check_ratio(const double *shim, const double *cpu, const double *f32, int64_t n)
{
    double mine = hpc_test_error(shim, f32, n), other = hpc_test_error(cpu, f32, n);
    if (mine > 1.5 * other) fail_msg("error %.3g, the CPU's %.3g", mine, other);
}

/* Also without graphs, in another order of the shim's threads. */
static void compare_bf16(const hpc_test_cuda *cuda)
{
    const char *settings =
        strcmp(cuda->backend, "cuda-shim") == 0 ? "permuted graphs=off" : "graphs=off";
    outcome *f32 = on_cpu(HPC_F32), *cpu = on_cpu(HPC_BF16);
    outcome *shim = on_cuda(HPC_BF16, cuda, NULL), *other = on_cuda(HPC_BF16, cuda, settings);
    check_ratio(shim->loss, cpu->loss, f32->loss, STEPS * T);
    check_ratio(shim->grad, cpu->grad, f32->grad, f32->grads);
    assert_memory_equal(shim, other, sizeof *shim);
    hpc_free(f32);
    hpc_free(cpu);
    hpc_free(shim);
    hpc_free(other);
}

static void bf16_is_as_close_to_f32_as_the_cpus(void **state)
{
    hpc_test_cuda cuda[HPC_TEST_CUDA_MOST];
    (void)state;
    for (int k = hpc_test_cuda_list(cuda) - 1; k >= 0; k--) compare_bf16(&cuda[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_agrees_with_the_cpu),
        cmocka_unit_test(bf16_is_as_close_to_f32_as_the_cpus),
    };
    return cmocka_run_group_tests_name("cuda/llama", tests, NULL, NULL);
}
