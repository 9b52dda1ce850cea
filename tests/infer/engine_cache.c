/*
 * Tests of what the scheduler asks of an engine: limits of steps, prefixes that prompts share, and
 * copies of the KV cache.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <string.h>

#include "infer/engine/engine.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"
#include "tests/support/tiny.h"

enum { POSITIONS = 256, MOST = 20 };

typedef struct answer {
    int32_t token[MOST];
    int n, ended, progress_n;
    hpc_finish how;
    int64_t reused, done;
} answer;

static int token_made(void *user, int32_t token, float logprob)
{
    answer *a = user;
    (void)logprob;
    assert_in_range(a->n, 0, MOST - 1);
    a->token[a->n++] = token;
    return 0;
}

static void ended(void *user, hpc_finish how, int32_t token)
{
    answer *a = user;
    (void)token;
    a->ended++;
    a->how = how;
}

static void progress(void *user, int64_t done)
{
    answer *a = user;
    if (a->progress_n++ == 0) a->reused = done;
    assert_true(done >= a->done);
    a->done = done;
}

static hpc_engine *open_engine(const char *model, int64_t cache_tokens)
{
    hpc_engine *e;
    test_ok(hpc_engine_open(&e, &(hpc_engine_options){.model = model,
                                                      .threads = 1,
                                                      .weights = HPC_Q8_0,
                                                      .cache = HPC_BF16,
                                                      .cache_tokens = cache_tokens,
                                                      .requests = 4}));
    return e;
}

static void fill(int32_t *text, int64_t n, uint32_t seed)
{
    for (int64_t k = 0; k < n; k++)
        text[k] = (int32_t)(hpc_random_bits(seed, 0, 0, (uint64_t)k) % HPC_TINY_VOCAB);
}

static int64_t ask(hpc_engine *e, answer *a, const int32_t *text, int64_t n, int64_t most)
{
    int64_t id;
    *a = (answer){0};
    test_ok(hpc_engine_submit(e,
                              &(hpc_request){.token = text,
                                             .n = n,
                                             .most = most,
                                             .sampling = hpc_sampling_greedy(),
                                             .token_made = token_made,
                                             .ended = ended,
                                             .progress = progress,
                                             .user = a},
                              &id));
    return id;
}

static void step(hpc_engine *e, int64_t prompt_tokens, int64_t first)
{
    bool busy;
    const hpc_engine_step_options o = {.prompt_tokens = prompt_tokens, .first = first};
    test_ok(hpc_engine_step_with(e, &o, &busy));
}

static void run(hpc_engine *e)
{
    bool busy = true;
    while (busy) test_ok(hpc_engine_step(e, &busy));
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void limit_bounds_prompts_and_not_decoders(void **state)
{
    char model[PATH_MAX];
    int32_t text[3][100];
    answer a, b, c;
    hpc_engine *e = open_engine(hpc_test_tiny(model, *state, POSITIONS), 1024);
    for (uint32_t k = 0; k < 3; k++) fill(text[k], 100, k + 1);
    ask(e, &a, text[0], 20, MOST);
    step(e, 0, 0);
    assert_int_equal(a.n, 1);
    ask(e, &b, text[1], 100, 1);
    int64_t last = ask(e, &c, text[2], 100, 1);
    step(e, 32, last);
    assert_int_equal(a.n, 2);
    assert_int_equal(b.done, 0);
    assert_int_equal(c.done, 32); /* it was asked for later, but goes first */
    step(e, 48, 0);
    assert_int_equal(a.n, 3);
    assert_int_equal(b.done, 48);
    assert_int_equal(c.done, 32);
    step(e, 64, last + 100); /* an id that is not there */
    assert_int_equal(b.done, 100);
    assert_int_equal(c.done, 44);
    run(e);
    assert_int_equal(a.n, MOST);
    assert_int_equal(c.ended, 1);
    hpc_engine_close(e);
}

/* ---- shared prefixes ------------------------------------------------------------------------- */

static void shared_prefix_is_computed_once(void **state)
{
    char model[PATH_MAX];
    int32_t text[100], other[100];
    answer a, b, c;
    hpc_engine *e = open_engine(hpc_test_tiny(model, *state, POSITIONS), 1024);
    fill(text, 100, 1);
    memcpy(other, text, sizeof other);
    other[50] = (other[50] + 1) % HPC_TINY_VOCAB;
    ask(e, &a, text, 100, 4);
    ask(e, &b, text, 100, 4);
    ask(e, &c, other, 100, 4);
    assert_int_equal(hpc_engine_cached(e, text, 100), 0);
    step(e, 40, 0);
    assert_int_equal(a.done, 40);
    assert_int_equal(b.progress_n + c.progress_n, 0); /* they wait */
    assert_int_equal(hpc_engine_cached(e, text, 100), 32);
    step(e, 16, 0);
    step(e, 16, 0);
    assert_int_equal(c.reused, 48); /* up to where they differ */
    assert_int_equal(b.progress_n, 0);
    run(e);
    assert_int_equal(b.reused, 96);
    assert_memory_equal(a.token, b.token, 4 * sizeof *a.token);
    assert_int_equal(hpc_engine_counts_of(e).computed, 100 + 4 + 52 + 3 * 3);
    hpc_engine_close(e);
}

static void cancelled_request_leaves_its_part_to_those_that_wait(void **state)
{
    char model[PATH_MAX];
    int32_t text[100];
    answer a, b;
    hpc_engine *e = open_engine(hpc_test_tiny(model, *state, POSITIONS), 1024);
    fill(text, 100, 1);
    int64_t id = ask(e, &a, text, 100, 4);
    ask(e, &b, text, 100, 4);
    step(e, 48, 0);
    hpc_engine_cancel(e, id);
    run(e);
    assert_int_equal(a.how, HPC_FINISH_CANCELLED);
    assert_int_equal(b.reused, 48);
    assert_int_equal(b.n, 4);
    hpc_engine_close(e);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void copy_of_the_cache_gives_the_same_answer(void **state)
{
    char model[PATH_MAX];
    int32_t text[100];
    answer a, b;
    hpc_buf first = {0}, second = {0};
    hpc_engine *e = open_engine(hpc_test_tiny(model, *state, POSITIONS), 1024);
    fill(text, 100, 1);
    ask(e, &a, text, 100, MOST);
    run(e);
    test_ok(hpc_engine_cache_export(&first, e, text, 48, 0));
    test_ok(hpc_engine_cache_export(&second, e, text, 96, 48));
    hpc_engine_close(e);

    e = open_engine(model, 512); /* a cache of another size */
    test_fails(hpc_engine_cache_import(e, text, 96, 48, second.data, second.n), HPC_E_STATE,
               "tokens before");
    test_fails(hpc_engine_cache_import(e, text, 48, 0, first.data, first.n - 1), HPC_E_FORMAT,
               "are not the KV cache of 48 tokens");
    test_ok(hpc_engine_cache_import(e, text, 48, 0, first.data, first.n));
    test_ok(hpc_engine_cache_import(e, text, 96, 48, second.data, second.n));
    assert_int_equal(hpc_engine_cached(e, text, 100), 96);
    ask(e, &b, text, 100, MOST);
    run(e);
    assert_int_equal(b.reused, 96);
    assert_memory_equal(a.token, b.token, sizeof a.token);
    hpc_buf_release(&first);
    hpc_buf_release(&second);
    hpc_engine_close(e);
}

static void export_of_unknown_text_fails(void **state)
{
    char model[PATH_MAX];
    int32_t text[64];
    hpc_buf out = {0};
    hpc_engine *e = open_engine(hpc_test_tiny(model, *state, POSITIONS), 512);
    fill(text, 64, 1);
    test_fails(hpc_engine_cache_export(&out, e, text, 64, 0), HPC_E_STATE, "no longer in");
    hpc_buf_release(&out);
    hpc_engine_close(e);
}

static void import_into_a_full_cache_fails(void **state)
{
    char model[PATH_MAX];
    int32_t text[100], other[200];
    answer a, b;
    hpc_buf out = {0};
    bool busy;
    hpc_engine *e = open_engine(hpc_test_tiny(model, *state, POSITIONS), 256);
    fill(text, 100, 1);
    fill(other, 200, 2);
    ask(e, &a, text, 100, 2);
    run(e);
    test_ok(hpc_engine_cache_export(&out, e, text, 96, 0));
    ask(e, &b, other, 200, MOST);
    test_ok(hpc_engine_step(e, &busy)); /* it holds 14 pages of 16 */
    assert_int_equal(hpc_engine_cached(e, text, 100), 32);
    test_fails(hpc_engine_cache_import(e, text, 96, 0, out.data, out.n), HPC_E_STATE, "pages left");
    run(e);
    assert_int_equal(b.n, MOST);
    hpc_buf_release(&out);
    hpc_engine_close(e);
}

static void texts_in_the_cache_are_listed_without_their_beginnings(void **state)
{
    char model[PATH_MAX];
    int32_t text[100], other[100], found[POSITIONS];
    answer a;
    int64_t at = 0, n, texts = 0, tokens = 0;
    hpc_engine *e = open_engine(hpc_test_tiny(model, *state, POSITIONS), 512);
    fill(text, 100, 1);
    fill(other, 100, 2);
    for (int k = 0; k < 3; k++) {
        ask(e, &a, k < 2 ? text : other, k == 0 ? 50 : 100, 1);
        run(e);
    }
    while ((n = hpc_engine_cache_text(found, POSITIONS, e, &at)) > 0) {
        const int32_t *expected = found[0] == text[0] && found[1] == text[1] ? text : other;
        assert_memory_equal(found, expected, (size_t)n * sizeof *found);
        texts++;
        tokens += n;
    }
    assert_int_equal(texts, 2);
    assert_int_equal(tokens, 2 * 96);
    hpc_engine_close(e);
}

static void identity_distinguishes_models_and_not_cache_sizes(void **state)
{
    char model[PATH_MAX];
    hpc_hash128 h[3];
    for (int k = 0; k < 3; k++) {
        hpc_engine *e =
            open_engine(hpc_test_tiny(model, *state, k < 2 ? POSITIONS : 128), k == 1 ? 512 : 128);
        test_ok(hpc_engine_cache_identity(&h[k], e));
        hpc_engine_close(e);
    }
    assert_memory_equal(&h[0], &h[1], sizeof h[0]);
    hpc_engine *e;
    test_ok(hpc_engine_open(&e, &(hpc_engine_options){.model = model, .weights = HPC_F32}));
    test_ok(hpc_engine_cache_identity(&h[2], e));
    assert_memory_not_equal(&h[0], &h[2], sizeof h[0]);
    hpc_engine_close(e);
}

int main(void)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        TEST(limit_bounds_prompts_and_not_decoders),
        TEST(shared_prefix_is_computed_once),
        TEST(cancelled_request_leaves_its_part_to_those_that_wait),
        TEST(copy_of_the_cache_gives_the_same_answer),
        TEST(export_of_unknown_text_fails),
        TEST(import_into_a_full_cache_fails),
        TEST(texts_in_the_cache_are_listed_without_their_beginnings),
        TEST(identity_distinguishes_models_and_not_cache_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
