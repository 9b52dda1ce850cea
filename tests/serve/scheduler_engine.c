/*
 * Tests of the scheduler on a real engine: answers equal those alone bit for bit, prompts that are
 * shared are computed once, and the KV cache on disk saves computing after a restart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "infer/serve/scheduler.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"
#include "tests/support/tiny.h"

enum { POSITIONS = 256, MOST = 24, JOBS = 12, PROMPT = 100, SEGMENT = 32 };

static hpc_scheduler_options options_of(const char *model)
{
    return (hpc_scheduler_options){.engine = {.model = model,
                                              .threads = 2,
                                              .weights = HPC_Q8_0,
                                              .cache = HPC_BF16,
                                              .cache_tokens = 4096,
                                              .requests = 4}};
}

/* ---- answers --------------------------------------------------------------------------------- */

typedef struct board {
    pthread_mutex_t lock;
    pthread_cond_t changed;
} board;

typedef struct answer {
    board *b;
    int32_t token[MOST];
    float logprob[MOST];
    int n, ended;
    hpc_job_result r;
} answer;

static int token_made(void *user, const hpc_job_token *t)
{
    answer *a = user;
    pthread_mutex_lock(&a->b->lock);
    assert_in_range(a->n, 0, MOST - 1);
    a->token[a->n] = t->token;
    a->logprob[a->n++] = t->logprob;
    pthread_cond_broadcast(&a->b->changed);
    pthread_mutex_unlock(&a->b->lock);
    return 0;
}

static void ended(void *user, int64_t id, const hpc_job_result *r)
{
    answer *a = user;
    (void)id;
    pthread_mutex_lock(&a->b->lock);
    a->ended++;
    a->r = *r;
    pthread_cond_broadcast(&a->b->changed);
    pthread_mutex_unlock(&a->b->lock);
}

static void await_end(answer *a)
{
    pthread_mutex_lock(&a->b->lock);
    while (!a->ended) pthread_cond_wait(&a->b->changed, &a->b->lock);
    pthread_mutex_unlock(&a->b->lock);
}

static void await_token(answer *a)
{
    pthread_mutex_lock(&a->b->lock);
    while (a->n == 0 && !a->ended) pthread_cond_wait(&a->b->changed, &a->b->lock);
    pthread_mutex_unlock(&a->b->lock);
}

static board new_board(void)
{
    board b;
    pthread_mutex_init(&b.lock, NULL);
    pthread_cond_init(&b.changed, NULL);
    return b;
}

/* Job k of many: prompts of all lengths that begin alike. */
static int64_t put(hpc_scheduler *s, board *b, answer *a, int k)
{
    int32_t text[PROMPT];
    int64_t id;
    for (int i = 0; i < PROMPT; i++)
        text[i] = (int32_t)(hpc_random_bits(1, 0, i < 40 ? 0 : (uint32_t)(k % 5), (uint64_t)i) %
                            HPC_TINY_VOCAB);
    *a = (answer){.b = b};
    test_ok(hpc_scheduler_submit(
        &id, s,
        &(hpc_job){.client = (uint64_t)k % 3,
                   .token = text,
                   .n = PROMPT - k * 7 % 60,
                   .most = MOST - k % 4,
                   .sampling = {.temperature = k % 2 ? 1 : 0, .top_p = 0.9, .repeat = 1, .seed = 3},
                   .sample = (uint32_t)k / 5,
                   .token_made = token_made,
                   .ended = ended,
                   .user = a}));
    return id;
}

static void assert_same(const answer *a, const answer *b)
{
    assert_int_equal(a->r.finish, HPC_JOB_LENGTH);
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->token, b->token, (size_t)a->n * sizeof *a->token);
    assert_memory_equal(a->logprob, b->logprob, (size_t)a->n * sizeof *a->logprob);
}

static void answer_alone(answer one[JOBS], const char *model, board *b)
{
    for (int k = 0; k < JOBS; k++) {
        hpc_scheduler *s;
        hpc_scheduler_options o = options_of(model);
        o.engine.threads = 1;
        test_ok(hpc_scheduler_open(&s, &o));
        put(s, b, &one[k], k);
        await_end(&one[k]);
        assert_int_equal(one[k].r.made_n, MOST - k % 4);
        hpc_scheduler_close(s);
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void answers_equal_those_alone_beside_cancelled_jobs(void **state)
{
    answer one[JOBS], all[JOBS], gone[JOBS];
    int64_t id[JOBS], cancelled = 0;
    char model[PATH_MAX];
    board b = new_board();
    hpc_scheduler *s;
    answer_alone(one, hpc_test_tiny(model, *state, POSITIONS), &b);
    const hpc_scheduler_options o = options_of(model);
    test_ok(hpc_scheduler_open(&s, &o));
    for (int k = 0; k < JOBS; k++) {
        id[k] = put(s, &b, &gone[k], JOBS - 1 - k);
        put(s, &b, &all[k], k);
        if (k % 3 == 0) hpc_scheduler_cancel(s, id[k]); /* queued */
    }
    await_token(&gone[1]);
    for (int k = 1; k < JOBS; k++) hpc_scheduler_cancel(s, id[k]); /* in any state */
    for (int k = 0; k < JOBS; k++) {
        await_end(&all[k]);
        await_end(&gone[k]);
        assert_same(&all[k], &one[k]);
        assert_int_equal(all[k].ended, 1);
        assert_int_equal(gone[k].ended, 1);
        if (gone[k].r.finish == HPC_JOB_CANCELLED)
            cancelled++;
        else
            assert_same(&gone[k], &one[JOBS - 1 - k]);
    }
    assert_true(cancelled > 0);
    hpc_scheduler_close(s);
}

static void identical_prompts_are_computed_once(void **state)
{
    enum { SAME = 3 };
    answer a[SAME];
    char model[PATH_MAX];
    int64_t computed = 0, reused = 0;
    board b = new_board();
    hpc_scheduler *s;
    const hpc_scheduler_options o = options_of(hpc_test_tiny(model, *state, POSITIONS));
    test_ok(hpc_scheduler_open(&s, &o));
    for (int k = 0; k < SAME; k++) put(s, &b, &a[k], 0);
    for (int k = 0; k < SAME; k++) {
        await_end(&a[k]);
        computed += a[k].r.computed_n;
        reused += a[k].r.reused_n;
        assert_same(&a[k], &a[0]);
    }
    /* 100 tokens are 6 pages and 4 tokens, which each of them computes. */
    assert_int_equal(computed, 96 + SAME * 4);
    assert_int_equal(reused, 96 * (SAME - 1));
    hpc_scheduler_close(s);
}

static hpc_scheduler *open_with_store(const char *model, const char *folder, int64_t segment)
{
    hpc_scheduler *s;
    hpc_scheduler_options o = options_of(model);
    o.kv_folder = folder;
    o.kv_segment = segment;
    test_ok(hpc_scheduler_open(&s, &o));
    return s;
}

static void cache_is_restored_after_a_restart(void **state)
{
    answer before[5], after[5];
    char model[PATH_MAX], folder[PATH_MAX];
    board b = new_board();
    hpc_scheduler_view v;
    hpc_test_path(folder, *state, "kv");
    hpc_scheduler *s = open_with_store(hpc_test_tiny(model, *state, POSITIONS), folder, SEGMENT);
    for (int k = 0; k < 5; k++) put(s, &b, &before[k], k);
    for (int k = 0; k < 5; k++) await_end(&before[k]);
    hpc_scheduler_close(s);
    s = open_with_store(model, folder, SEGMENT);
    for (int k = 0; k < 5; k++) {
        put(s, &b, &after[k], k);
        await_end(&after[k]);
        assert_same(&after[k], &before[k]);
        int64_t n = after[k].r.prompt_n;
        assert_true(after[k].r.reused_n >= (n - 1) / SEGMENT * SEGMENT);
        assert_int_equal(after[k].r.computed_n, n - after[k].r.reused_n);
    }
    test_ok(hpc_scheduler_view_take(&v, s));
    assert_true(v.kv_restored >= 96);
    assert_int_equal(v.kv_saved, 0);
    hpc_scheduler_view_release(&v);
    hpc_scheduler_close(s);
}

static void cache_of_another_model_is_not_used(void **state)
{
    answer a, c;
    char model[PATH_MAX], folder[PATH_MAX];
    board b = new_board();
    hpc_test_path(folder, *state, "kv");
    hpc_scheduler *s = open_with_store(hpc_test_tiny(model, *state, POSITIONS), folder, SEGMENT);
    put(s, &b, &a, 0);
    await_end(&a);
    hpc_scheduler_close(s);
    hpc_scheduler_options o = options_of(model);
    o.kv_folder = folder, o.kv_segment = SEGMENT;
    o.engine.weights = HPC_F32;
    test_ok(hpc_scheduler_open(&s, &o));
    put(s, &b, &c, 0);
    await_end(&c);
    assert_int_equal(c.r.reused_n, 0);
    hpc_scheduler_close(s);
}

static void damaged_cache_is_computed_again(void **state)
{
    answer before, after;
    char model[PATH_MAX], folder[PATH_MAX], path[PATH_MAX];
    board b = new_board();
    hpc_buf names = {0}, file = {0};
    int64_t n;
    hpc_test_path(folder, *state, "kv");
    hpc_scheduler *s = open_with_store(hpc_test_tiny(model, *state, POSITIONS), folder, SEGMENT);
    put(s, &b, &before, 0);
    await_end(&before);
    hpc_scheduler_close(s);
    test_ok(hpc_file_list(&names, &n, folder));
    assert_true(n >= 3);
    const char *name = names.data;
    for (int64_t k = 0; k < n; k++, name += strlen(name) + 1) {
        snprintf(path, sizeof path, "%.2000s/%.200s", folder, name);
        file.n = 0;
        test_ok(hpc_file_read(&file, path, 1 << 24));
        file.data[file.n / 2] ^= 1;
        test_ok(hpc_file_save(path, file.data, file.n));
    }
    s = open_with_store(model, folder, SEGMENT);
    put(s, &b, &after, 0);
    await_end(&after);
    assert_int_equal(after.r.reused_n, 0);
    assert_same(&after, &before);
    hpc_scheduler_close(s);
    hpc_buf_release(&names);
    hpc_buf_release(&file);
}

/* The cache is saved when the model is unloaded, and the next job loads both again. */
static void unloaded_model_continues_from_its_cache(void **state)
{
    answer a, c;
    char model[PATH_MAX], folder[PATH_MAX];
    board b = new_board();
    hpc_scheduler *s;
    bool loaded = true;
    hpc_scheduler_options o = options_of(hpc_test_tiny(model, *state, POSITIONS));
    o.kv_folder = hpc_test_path(folder, *state, "kv");
    o.kv_segment = SEGMENT;
    o.unload_ms = 1;
    test_ok(hpc_scheduler_open(&s, &o));
    put(s, &b, &a, 0);
    await_end(&a);
    while (loaded) {
        hpc_scheduler_view v;
        sched_yield();
        test_ok(hpc_scheduler_view_take(&v, s));
        loaded = v.loaded;
        hpc_scheduler_view_release(&v);
    }
    put(s, &b, &c, 0);
    await_end(&c);
    assert_int_equal(c.r.reused_n, 96);
    assert_same(&c, &a);
    hpc_scheduler_close(s);
}

typedef struct listed {
    answer a; /* first */
    int64_t top_n;
    bool likeliest, sorted;
} listed;

static int list_token(void *user, const hpc_job_token *t)
{
    listed *l = user;
    l->top_n = t->top_n;
    l->likeliest = l->likeliest && t->top[0].token == t->token && t->top[0].logprob == t->logprob;
    for (int64_t k = 1; k < t->top_n; k++)
        l->sorted = l->sorted && t->top[k - 1].logprob >= t->top[k].logprob;
    return token_made(&l->a, t);
}

/* A greedy answer; then one in which its first token is excluded, then one where it is all. */
static void biases_and_alternatives_of_tokens(void **state)
{
    static const int32_t text[] = {3, 1, 4, 1, 5};
    char model[PATH_MAX];
    board b = new_board();
    hpc_scheduler *s;
    listed l[3];
    int64_t id;
    const hpc_scheduler_options o = options_of(hpc_test_tiny(model, *state, POSITIONS));
    test_ok(hpc_scheduler_open(&s, &o));
    for (int k = 0; k < 3; k++) {
        const hpc_bias bias = {.token = k > 0 ? l[0].a.token[0] : 0,
                               .add = k == 1 ? -INFINITY : 1000};
        l[k] = (listed){.a = {.b = &b}, .likeliest = true, .sorted = true};
        test_ok(hpc_scheduler_submit(&id, s,
                                     &(hpc_job){.token = text,
                                                .n = 5,
                                                .most = MOST,
                                                .sampling = hpc_sampling_greedy(),
                                                .bias = k > 0 ? &bias : NULL,
                                                .bias_n = k > 0,
                                                .top_n = k == 0 ? 5 : 1,
                                                .token_made = list_token,
                                                .ended = ended,
                                                .user = &l[k]}));
        await_end(&l[k].a);
    }
    assert_int_equal(l[0].top_n, 5);
    assert_true(l[0].likeliest && l[0].sorted);
    for (int k = 0; k < MOST; k++) {
        assert_int_not_equal(l[1].a.token[k], l[0].a.token[0]);
        assert_int_equal(l[2].a.token[k], l[0].a.token[0]);
    }
    hpc_scheduler_close(s);
}

int main(void)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        TEST(answers_equal_those_alone_beside_cancelled_jobs),
        TEST(identical_prompts_are_computed_once),
        TEST(cache_is_restored_after_a_restart),
        TEST(cache_of_another_model_is_not_used),
        TEST(damaged_cache_is_computed_again),
        TEST(biases_and_alternatives_of_tokens),
        TEST(unloaded_model_continues_from_its_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
