/*
 * engine_draw.c: a device that the host cannot look into draws tokens itself: the same tokens as
 * the host from the same logits, with one fence for each step, and without copying logits.
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

#include "infer/engine/engine.h"
#include "tests/support/cuda.h"
#include "tests/support/expect.h"
#include "tests/support/model.h"
#include "tests/support/tiny.h"

enum { REQUESTS = 2, PROMPT = 5, NEW = 4 };

typedef struct answer {
    int32_t token[NEW];
    float logprob[NEW];
    int n, how;
} answer;

static int hear(void *user, int32_t token, float logprob)
{
    answer *a = user;
    assert_in_range(a->n, 0, NEW - 1);
    a->token[a->n] = token;
    a->logprob[a->n++] = logprob;
    return 0;
}

static void end(void *user, hpc_finish how, int32_t token)
{
    answer *a = user;
    (void)token;
    a->how = (int)how;
}

/* A request that looks at logits is drawn by the host. */
static void look(void *user, const float *logits, int64_t vocab)
{
    (void)user, (void)vocab;
    assert_true(isfinite(logits[0]));
}

static void submit(hpc_engine *e, answer *a, const hpc_sampling *how, int k, bool by_host)
{
    int32_t text[PROMPT];
    int64_t id;
    hpc_request r = {.token = text,
                     .n = PROMPT,
                     .most = NEW,
                     .sampling = *how,
                     .sample = (uint32_t)k,
                     .token_made = hear,
                     .ended = end,
                     .logits = by_host ? look : NULL,
                     .user = a};
    for (int i = 0; i < PROMPT; i++)
        text[i] = (int32_t)(hpc_random_bits(2, 0, (uint32_t)k, (uint64_t)i) % HPC_TINY_VOCAB);
    *a = (answer){0};
    test_ok(hpc_engine_submit(e, &r, &id));
}

/* Bytes that the device copied to the host for the requests. */
static size_t decode(answer a[REQUESTS], hpc_engine *e, const hpc_sampling *how, bool by_host)
{
    const size_t before = hpc_engine_facts_of(e).to_host;
    bool busy = true;
    for (int k = 0; k < REQUESTS; k++) submit(e, &a[k], how, k, by_host);
    while (busy) test_ok(hpc_engine_step(e, &busy));
    return hpc_engine_facts_of(e).to_host - before;
}

static void same(const answer *host, const answer *device)
{
    assert_int_equal(device->n, NEW);
    assert_memory_equal(device->token, host->token, sizeof host->token);
    for (int i = 0; i < NEW; i++)
        assert_true(fabsf(device->logprob[i] - host->logprob[i]) <= 1e-6f);
}

static const hpc_sampling samplings[] = {
    {.top_p = 1, .repeat = 1},
    {.temperature = 1, .top_p = 1, .repeat = 1, .seed = 1},
    {.temperature = 2, .top_k = 9, .top_p = 1, .repeat = 1, .seed = 2},
    {.temperature = 3, .top_p = 0.9, .repeat = 1, .seed = 3},
    {.temperature = 1.5, .top_p = 0.8, .top_k = 20, .min_p = 0.1, .repeat = 1, .seed = 4},
};
enum { SAMPLINGS = sizeof samplings / sizeof *samplings };

/* Samplings from `first` on. */
static void compare(const hpc_engine_options *o, int first)
{
    const size_t rows = REQUESTS * NEW, row = HPC_TINY_VOCAB * sizeof(float);
    const size_t drawn = sizeof(int32_t) + sizeof(float);
    hpc_engine *e;
    test_ok(hpc_engine_open(&e, o));
    const int64_t fences = hpc_engine_facts_of(e).fences;
    for (int k = first; k < SAMPLINGS; k++) {
        answer host[REQUESTS], device[REQUESTS];
        const size_t with = decode(host, e, &samplings[k], true);
        const size_t without = decode(device, e, &samplings[k], false);
        for (int i = 0; i < REQUESTS; i++) same(&host[i], &device[i]);
        if (o->guess > 0) continue;
        assert_int_equal(without, rows * drawn);
        assert_int_equal(with, rows * (drawn + row));
    }
    assert_int_equal(hpc_engine_facts_of(e).fences - fences, hpc_engine_counts_of(e).steps);
    hpc_engine_close(e);
}

static void a_device_draws_the_hosts_tokens_and_copies_no_logits(void **state)
{
    char model[PATH_MAX];
    hpc_test_cuda cuda[HPC_TEST_CUDA_MOST];
    const int n = hpc_test_cuda_list(cuda);
    hpc_test_tiny(model, *state, 64);
    hpc_engine_options o = {.model = model,
                            .backend = "mock",
                            .threads = 1,
                            .weights = HPC_F32,
                            .cache = HPC_F32,
                            .requests = REQUESTS};
    compare(&o, 0);
    o.guess = 2;
    compare(&o, 0);
    o.guess = 0;
    for (int i = 0; i < n; i++) {
        o.backend = cuda[i].backend;
        o.library = cuda[i].library;
        compare(&o, SAMPLINGS - 1); /* slow: tests/ops/sample.c has all cuts */
    }
}

/* Logits that are NaN. */
static int invalid_norm(float *out, const hpc_model_tensor *t, void *user)
{
    const int64_t n = t->rank == 2 ? t->extent[0] * t->extent[1] : t->extent[0];
    (void)user;
    hpc_model_init(out, t, 0, n, 5);
    if (t->part == HPC_PART_NORM) out[0] = NAN;
    return HPC_OK;
}

/* The host finds out why no token can be drawn, with the message that the CPU gives. */
static void rows_that_cannot_be_drawn_end_with_the_hosts_error(void **state)
{
    static const char *const devices[] = {"cpu", "mock"};
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    hpc_weights_save_options save = {.dtype = HPC_F32, .read = invalid_norm};
    char model[PATH_MAX];
    c.vocab = HPC_TINY_VOCAB, c.hidden = 32, c.ffn = 32, c.heads = 2, c.kv_heads = 2;
    hpc_test_path(model, *state, "invalid");
    test_ok(hpc_weights_save(model, &c, &save));
    for (int k = 0; k < 2; k++) {
        hpc_engine *e;
        bool busy;
        answer a;
        test_ok(hpc_engine_open(
            &e, &(hpc_engine_options){.model = model, .backend = devices[k], .weights = HPC_F32}));
        submit(e, &a, &samplings[0], 0, false);
        test_fails(hpc_engine_step(e, &busy), HPC_E_FORMAT, "the logit of token 0 is NaN");
        assert_int_equal(a.n, 0);
        assert_int_equal(a.how, HPC_FINISH_ERROR);
        hpc_engine_close(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_device_draws_the_hosts_tokens_and_copies_no_logits,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(rows_that_cannot_be_drawn_end_with_the_hosts_error,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests_name("infer/engine_draw", tests, NULL, NULL);
}
