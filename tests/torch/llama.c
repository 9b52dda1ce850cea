/*
 * llama.c: training of a two-layer Llama: the loss of every token, the gradient of every parameter
 * and the losses of ten AdamW steps, compared with PyTorch's for LlamaForCausalLM of transformers.
 *
 * Four documents of different length share a row. tests/model/llama.c tests independence of ranks
 * and workers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "train/train.h"
#include "tests/support/torch.h"

/* Of losses, and of a parameter's gradient relative to its largest number. Roundings of about
 * twenty instructions one after the other, each 1e-7 or less of its result, and of as many back. */
static const double BOUND_F32 = 5e-6;

typedef struct training {
    hpc_test_torch_run run;
    hpc_step io;
    hpc_test_numbers tokens, targets; /* of two batches, taken in turn */
    hpc_test_numbers pos, start, weight;
} training;

static double attr(const training *t, const char *name)
{
    double x = hpc_test_torch_attr(t->run.item, name, -1);
    assert_true(x >= 0);
    return x;
}

static hpc_model_config config_of(const training *t)
{
    return (hpc_model_config){.vocab = (int64_t)attr(t, "vocab"),
                              .hidden = (int64_t)attr(t, "hidden"),
                              .layers = (int64_t)attr(t, "layers"),
                              .heads = (int64_t)attr(t, "heads"),
                              .kv_heads = (int64_t)attr(t, "kv_heads"),
                              .ffn = (int64_t)attr(t, "ffn"),
                              .norm_eps = attr(t, "norm_eps"),
                              .positions = t->pos.n,
                              .rope = {.theta = attr(t, "rope_theta"), .share = 1},
                              .act = HPC_SILU,
                              .gated = true,
                              .dtype = t->run.way.dtype};
}

static void emit(training *t)
{
    hpc_model_config c = config_of(t);
    hpc_optimizer_config o = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    hpc_step_options s = {.model = {.tokens = t->pos.n, .sequences = t->start.n - 1}};
    o.beta1 = attr(t, "beta1"), o.beta2 = attr(t, "beta2");
    o.eps = attr(t, "eps"), o.decay = attr(t, "decay");
    t->run.p = hpc_program_create();
    test_ok(hpc_step_emit(&t->io, t->run.p, &c, &o, &s));
}

static void read_batches(training *t)
{
    const hpc_json *item = t->run.item;
    t->tokens = hpc_test_torch_read(item, "index", "tokens");
    t->targets = hpc_test_torch_read(item, "index", "targets");
    t->pos = hpc_test_torch_read(item, "index", "pos");
    t->start = hpc_test_torch_read(item, "index", "start");
    t->weight = hpc_test_torch_read(item, "seed", NULL);
    assert_int_equal(t->tokens.n, 2 * t->pos.n);
}

static void free_batches(training *t)
{
    hpc_free(t->tokens.data);
    hpc_free(t->targets.data);
    hpc_free(t->pos.data);
    hpc_free(t->start.data);
    hpc_free(t->weight.data);
}

/* Every parameter by its name, and there is no other in the fixture. */
static void write_parameters(const training *t)
{
    const hpc_program *p = t->run.p;
    int64_t n = 1; /* the frequencies */
    for (hpc_value v = 0; v < p->value_n; v++) {
        if (!p->value[v].trainable) continue;
        hpc_test_numbers x = hpc_test_torch_read(t->run.item, "given", p->value[v].name);
        assert_int_equal(x.rank, p->value[v].type.rank);
        for (int k = 0; k < x.rank; k++) assert_int_equal(x.extent[k], p->value[v].type.extent[k]);
        hpc_test_write(t->run.e, 0, v, x.data);
        hpc_free(x.data);
        n++;
    }
    assert_int_equal(n, hpc_json_n(hpc_json_get(t->run.item, "given")));
}

static void write_frequencies(const training *t)
{
    hpc_test_numbers want = hpc_test_torch_read(t->run.item, "given", "freq");
    float freq[64];
    assert_true(want.n <= 64);
    hpc_model_config c = config_of(t);
    assert_int_equal(hpc_rope_frequencies_n(&c), want.n);
    hpc_rope_frequencies(freq, &c);
    for (int64_t i = 0; i < want.n; i++) assert_true(freq[i] == (float)want.data[i]);
    hpc_test_write(t->run.e, 0, t->io.model.freq, want.data);
    hpc_free(want.data);
}

static void write_batch(const training *t, int64_t step)
{
    hpc_exec *e = t->run.e;
    int64_t first = step % 2 * t->pos.n;
    hpc_test_write(e, 0, t->io.model.tokens, t->tokens.data + first);
    hpc_test_write(e, 0, t->io.model.targets, t->targets.data + first);
    hpc_test_write(e, 0, t->io.model.pos, t->pos.data);
    hpc_test_write(e, 0, t->io.model.start, t->start.data);
    hpc_test_write(e, 0, t->io.weight, t->weight.data);
    hpc_test_write_scalar(e, 0, t->io.model.start_n, (double)t->start.n);
    hpc_test_write_scalar(e, 0, t->io.lr, attr(t, "lr"));
    hpc_test_write_scalar(e, 0, t->io.limit, INFINITY);
    hpc_test_write_scalar(e, 0, t->io.model.step, (double)(step + 1));
}

static void gradients_are_torchs(const training *t)
{
    const hpc_program *p = t->run.p;
    for (hpc_value v = 0; v < p->value_n; v++) {
        if (!p->value[v].trainable) continue;
        assert_true(p->value[v].grad >= 0);
        hpc_test_torch_value_near(&t->run, p->value[v].grad, "grad", p->value[v].name, 0);
    }
}

static double mean_loss(const training *t)
{
    double *loss = hpc_alloc((size_t)t->pos.n, sizeof *loss), mean = 0;
    hpc_test_read(t->run.e, 0, t->io.loss, loss);
    for (int64_t i = 0; i < t->pos.n; i++) mean += t->weight.data[i] * loss[i];
    hpc_free(loss);
    return mean;
}

static void train(const training *t)
{
    hpc_test_numbers want = hpc_test_torch_read(t->run.item, "wanted", "losses");
    assert_int_equal(want.n, (int64_t)attr(t, "steps"));
    for (int64_t step = 0; step < want.n; step++) {
        write_batch(t, step);
        test_ok(hpc_exec_run(t->run.e, t->io.model.forward, 0));
        test_ok(hpc_exec_run(t->run.e, t->io.backward, 0));
        if (step == 0) {
            hpc_test_torch_value_near(&t->run, t->io.loss, "wanted", "y", 0);
            gradients_are_torchs(t);
        }
        double mean = mean_loss(t);
        hpc_test_torch_near(&t->run, &mean, 1, "wanted", "losses", step);
        test_ok(hpc_exec_run(t->run.e, t->io.norm, 0));
        test_ok(hpc_exec_run(t->run.e, t->io.update, 0));
    }
    hpc_free(want.data);
}

static void trains_as_torch(int way)
{
    hpc_json *root = hpc_test_torch_file("llama");
    training t = {.run = {.item = hpc_test_torch_find(root, "train"),
                          .way = hpc_test_way_at(way),
                          .bound = BOUND_F32}};
    read_batches(&t);
    emit(&t);
    hpc_test_torch_open(&t.run);
    write_parameters(&t);
    write_frequencies(&t);
    train(&t);
    hpc_test_torch_close(&t.run);
    free_batches(&t);
    hpc_json_free(root);
}

static void trains_as_torch_in_f32(void **state)
{
    (void)state, trains_as_torch(0);
}
static void trains_as_torch_on_the_plainest_cpu(void **state)
{
    (void)state, trains_as_torch(1);
}
static void trains_as_torch_in_f64(void **state)
{
    (void)state, trains_as_torch(2);
}
static void trains_as_torch_on_mock(void **state)
{
    (void)state, trains_as_torch(3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trains_as_torch_in_f32),
        cmocka_unit_test(trains_as_torch_on_the_plainest_cpu),
        cmocka_unit_test(trains_as_torch_in_f64),
        cmocka_unit_test(trains_as_torch_on_mock),
    };
    return cmocka_run_group_tests_name("torch/llama", tests, NULL, NULL);
}
