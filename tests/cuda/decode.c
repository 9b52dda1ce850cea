/*
 * decode.c: answers of an engine with the kernels of CUDA on the CPU, and on a GPU if there is one:
 * the tokens that the CPU's kernels give with activations of the same type, with one fence for each
 * step. Graphs do not change a bit.
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
#include "tests/support/tiny.h"

enum { REQUESTS = 3, PROMPT = 9, NEW = 5 };

typedef struct answer {
    int32_t token[NEW];
    float logprob[NEW];
    int n;
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
    (void)user, (void)token;
    assert_int_equal(how, HPC_FINISH_LENGTH);
}

/* Prompts of several lengths, in steps of a few tokens. */
static void decode(answer *a, const hpc_engine_options *o)
{
    int32_t text[REQUESTS][PROMPT];
    bool busy = true;
    hpc_engine *e;
    test_ok(hpc_engine_open(&e, o));
    for (int k = 0; k < REQUESTS; k++) {
        hpc_request r = {.token = text[k],
                         .n = PROMPT - 3 * k,
                         .most = NEW,
                         .sampling = {.top_p = 1, .repeat = 1},
                         .token_made = hear,
                         .ended = end,
                         .user = &a[k]};
        int64_t id;
        for (int i = 0; i < PROMPT; i++)
            text[k][i] =
                (int32_t)(hpc_random_bits(2, 0, (uint32_t)k, (uint64_t)i) % HPC_TINY_VOCAB);
        a[k] = (answer){0};
        test_ok(hpc_engine_submit(e, &r, &id));
    }
    while (busy) test_ok(hpc_engine_step(e, &busy));
    if (o->library) assert_int_equal(hpc_engine_facts_of(e).fences, hpc_engine_counts_of(e).steps);
    hpc_engine_close(e);
}

static void compare(const hpc_engine_options *on_cpu, const hpc_test_cuda *cuda)
{
    answer cpu[REQUESTS], graphs[REQUESTS], plain[REQUESTS];
    hpc_engine_options o = *on_cpu;
    decode(cpu, on_cpu);
    o.backend = cuda->backend;
    o.library = cuda->library;
    decode(graphs, &o);
    o.isa = "graphs=off";
    if (o.weights == HPC_F32) decode(plain, &o);
    for (int r = 0; r < REQUESTS; r++) {
        assert_int_equal(graphs[r].n, NEW);
        assert_memory_equal(graphs[r].token, cpu[r].token, sizeof cpu[r].token);
        if (o.weights == HPC_F32)
            assert_memory_equal(plain[r].logprob, graphs[r].logprob, sizeof graphs[r].logprob);
        for (int i = 0; i < NEW; i++)
            assert_true(fabsf(graphs[r].logprob[i] - cpu[r].logprob[i]) < 0.05f);
    }
}

static void tokens_are_those_of_the_cpus_kernels(void **state)
{
    static const hpc_dtype types[] = {HPC_F32, HPC_BF16};
    char model[PATH_MAX];
    hpc_test_cuda cuda[HPC_TEST_CUDA_MOST];
    const int n = hpc_test_cuda_list(cuda);
    hpc_test_tiny(model, *state, 64);
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        const hpc_engine_options o = {.model = model,
                                      .backend = "mock:1",
                                      .threads = 1,
                                      .weights = types[k],
                                      .cache = types[k],
                                      .batch_tokens = 8,
                                      .requests = REQUESTS};
        for (int i = 0; i < n; i++) compare(&o, &cuda[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tokens_are_those_of_the_cpus_kernels, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests_name("cuda/decode", tests, NULL, NULL);
}
