/*
 * Tests of the scheduler's time budgets, of its idle work, and of its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>

#include "infer/serve/kv_store.h"
#include "tests/serve/scheduled.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"

/* ---- budgets -------------------------------------------------------------------------------- */

static void prompt_beside_decoder_is_read_in_chunks_of_the_budget(void **state)
{
    world *w = *state;
    open_scheduler(w);
    put(w, 0, 1, 3, 64, 60);
    fake_await_gate(&w->f);
    fake_steps(&w->f, 5); /* it decodes: rates are known */
    int begin = w->f.steps;
    put(w, 1, 2, 4, 1000, 2);
    fake_steps(&w->f, 30);
    int64_t prompt = 0;
    for (int k = begin; k < w->f.steps; k++) {
        const fake_step *t = &w->f.step[k];
        assert_true(t->made >= 1); /* the decoder gets a token in each step */
        assert_true(t->prompt * w->f.token_ns <= 40 * 1000000);
        if (k < begin + 20 && k > begin) assert_true(t->prompt * w->f.token_ns >= 24 * 1000000);
        prompt += t->prompt;
    }
    assert_true(prompt > 600);
    fake_permit(&w->f, -1);
    await_ends(w, 2);
    assert_answer(&w->c[0], 3, 60);
    assert_answer(&w->c[1], 4, 2);
}

static void prompts_of_clients_share_chunks_in_turns(void **state)
{
    world *w = *state;
    open_scheduler(w);
    put(w, 0, 1, 3, 2000, 1);
    fake_await_gate(&w->f);
    fake_steps(&w->f, 3);
    put(w, 1, 2, 4, 2000, 1);
    fake_steps(&w->f, 1); /* it was planned before */
    int begin = w->f.steps;
    fake_steps(&w->f, 8);
    for (int k = begin; k + 1 < w->f.steps; k++)
        assert_int_not_equal(w->f.step[k].first, w->f.step[k + 1].first);
    hpc_scheduler_cancel_client(w->s, 1);
    hpc_scheduler_cancel_client(w->s, 2);
    fake_permit(&w->f, -1);
    await_ends(w, 2);
}

static void drops_ranges_to_keep_the_prompt_time(void **state)
{
    static const hpc_job_range drop[] = {{10, 500}, {500, 900}, {1200, 1500}};
    world *w = *state;
    open_scheduler(w);
    fake_permit(&w->f, -1);
    put(w, 0, 1, 3, 512, 3); /* the rate: about 1 ms a token */
    await_ends(w, 1);
    for (int k = 1; k <= 3; k++) {
        hpc_job j = job_of(w, k, 1, 7, 1500, 2);
        for (int i = 0; i < 1500; i++) w->c[k].prompt[i] = i % FAKE_VOCAB;
        j.drop = drop, j.drop_n = 3;
        j.prompt_ms = k == 1 ? 5000 : k == 2 ? 1200 : 1;
        submit(w, k, &j);
        await_ends(w, k + 1);
    }
    assert_int_equal(w->c[1].r.dropped_n, 0);
    assert_int_equal(w->c[2].r.dropped_n, 490);
    assert_int_equal(w->c[2].r.prompt_n, 1010);
    assert_int_equal(w->c[3].r.dropped_n, 490 + 400 + 300);
    assert_int_equal(w->c[3].r.computed_n, 310);
}

static void measures_the_rate_before_the_first_limited_prompt(void **state)
{
    static const hpc_job_range drop[] = {{300, 1500}};
    world *w = *state;
    open_scheduler(w);
    fake_permit(&w->f, -1);
    hpc_job j = job_of(w, 0, 1, 7, 1500, 2);
    j.drop = drop, j.drop_n = 1, j.prompt_ms = 600;
    submit(w, 0, &j);
    await_ends(w, 1);
    assert_int_equal(w->c[0].r.dropped_n, 1200);
    assert_answer(&w->c[0], 7, 2);
}

static void ends_when_the_predict_time_has_passed(void **state)
{
    world *w = *state;
    open_scheduler(w);
    fake_permit(&w->f, -1);
    hpc_job j = job_of(w, 0, 1, 3, 10, 60);
    j.predict_ms = 100; /* of steps of 10 ms */
    submit(w, 0, &j);
    await_ends(w, 1);
    assert_int_equal(w->c[0].r.finish, HPC_JOB_TIME);
    assert_answer(&w->c[0], 3, 11);
}

static void warm_up_computes_the_prompt_and_makes_nothing(void **state)
{
    world *w = *state;
    open_scheduler(w);
    fake_permit(&w->f, -1);
    put(w, 0, 1, 3, 100, 0);
    await_ends(w, 1);
    assert_int_equal(w->c[0].n, 0);
    assert_int_equal(w->c[0].r.made_n, 0);
    assert_int_equal(w->c[0].r.computed_n, 100);
    assert_int_equal(w->c[0].r.finish, HPC_JOB_LENGTH);
}

static void callback_ends_a_job(void **state)
{
    world *w = *state;
    open_scheduler(w);
    hpc_job j = job_of(w, 0, 1, 3, 10, 60);
    w->c[0].end_after = 4;
    submit(w, 0, &j);
    fake_permit(&w->f, -1);
    await_ends(w, 1);
    assert_int_equal(w->c[0].r.finish, HPC_JOB_CALLER);
    assert_answer(&w->c[0], 3, 4);
}

static void decoders_go_on_while_a_cache_is_restored(void **state)
{
    enum { SEGMENTS = 5 };
    world *w = *state;
    void *root = NULL;
    char path[PATH_MAX];
    hpc_kv_store *store;
    hpc_test_folder_setup(&root);
    w->o.kv_folder = hpc_test_path(path, root, "kv");
    const hpc_job j = job_of(w, 1, 2, 4, SEGMENTS * 256 + 10, 2);
    test_ok(hpc_kv_store_open(&store, &(hpc_kv_store_options){.folder = path,
                                                              .identity = {.low = 1},
                                                              .bytes = 1 << 20,
                                                              .expire_s = 1000,
                                                              .segment = 256}));
    for (int k = 1; k <= SEGMENTS; k++)
        test_ok(hpc_kv_store_put(store, j.token, k * 256, "cache", 5));
    hpc_kv_store_close(store);
    w->f.import_ns = 25000000; /* two reach the budget of a chunk */
    open_scheduler(w);
    put(w, 0, 1, 3, 10, 20);
    fake_await_gate(&w->f);
    fake_steps(&w->f, 2);
    submit(w, 1, &j);
    fake_permit(&w->f, -1);
    await_ends(w, 2);
    assert_answer(&w->c[0], 3, 20);
    assert_answer(&w->c[1], 4, 2);
    assert_int_equal(w->c[1].r.reused_n, SEGMENTS * 256);
    assert_int_equal(w->f.imports, SEGMENTS);
    for (int k = 2; k < SEGMENTS; k += 2)
        assert_int_equal(w->f.import_step[k], w->f.import_step[k - 1] + 1);
    hpc_scheduler_close(w->s);
    w->s = NULL;
    hpc_test_folder_teardown(&root);
}

/* ---- idle and the end ----------------------------------------------------------------------- */

static void idle_model_is_unloaded_and_loaded_again(void **state)
{
    world *w = *state;
    w->o.unload_ms = 1;
    w->o.exit_ms = 2;
    w->o.idle = idle;
    open_scheduler(w);
    fake_permit(&w->f, -1);
    for (int turn = 0; turn < 2; turn++) {
        put(w, turn, 1, 3, 10, 2);
        await_ends(w, turn + 1);
        pthread_mutex_lock(&w->f.lock);
        while (w->f.closed <= turn) pthread_cond_wait(&w->f.changed, &w->f.lock);
        pthread_mutex_unlock(&w->f.lock);
        assert_answer(&w->c[turn], 3, 2);
    }
    assert_int_equal(w->f.opened, 2);
    pthread_mutex_lock(&w->l.lock);
    while (w->idles == 0) pthread_cond_wait(&w->l.changed, &w->l.lock);
    pthread_mutex_unlock(&w->l.lock);
}

static void fewer_cores_open_the_model_with_fewer_threads(void **state)
{
    world *w = *state;
    w->o.engine.threads = 0;
    w->f.step_ns = 100000000;
    open_scheduler(w);
    put(w, 0, 1, 3, 10, 30);
    fake_await_gate(&w->f);
    assert_int_equal(w->f.threads, 4);
    __atomic_store_n(&w->f.cores, 2, __ATOMIC_SEQ_CST);
    fake_steps(&w->f, 15);
    put(w, 1, 1, 4, 10, 30);
    fake_permit(&w->f, -1);
    await_ends(w, 2);
    assert_answer(&w->c[0], 3, 30); /* it ran to its end first */
    assert_answer(&w->c[1], 4, 30);
    assert_int_equal(w->f.opened, 2);
    assert_int_equal(w->f.threads, 2);
    assert_int_equal(w->f.closed, 1);
}

static void threads_are_at_most_those_asked_for(void **state)
{
    world *w = *state;
    w->o.engine.threads = 3;
    open_scheduler(w);
    test_ok(hpc_scheduler_load(w->s));
    assert_int_equal(w->f.threads, 3);
}

static void drain_waits_for_running_jobs_and_rejects_new_ones(void **state)
{
    world *w = *state;
    int64_t id;
    open_scheduler(w);
    put(w, 0, 1, 3, 10, 5);
    fake_await_gate(&w->f);
    assert_false(hpc_scheduler_drain(w->s, 0));
    hpc_job j = job_of(w, 1, 1, 3, 10, 1);
    test_fails(hpc_scheduler_submit(&id, w->s, &j), HPC_E_STATE, "shutting down");
    fake_permit(&w->f, -1);
    assert_true(hpc_scheduler_drain(w->s, 60000));
    assert_answer(&w->c[0], 3, 5);
}

static void close_ends_all_jobs(void **state)
{
    world *w = *state;
    w->o.engine.requests = 2;
    open_scheduler(w);
    for (int k = 0; k < 4; k++) put(w, k, 1, 3, 1000, 5);
    fake_await_gate(&w->f);
    fake_permit(&w->f, 1);
    hpc_scheduler_cancel(w->s, w->c[3].id);
    fake_permit(&w->f, -1);
    hpc_scheduler_close(w->s);
    w->s = NULL;
    for (int k = 0; k < 4; k++) assert_int_equal(w->c[k].ended, 1);
}

static int run_one(void *user)
{
    world *w = user;
    int64_t id;
    int rc;
    const hpc_job j = job_of(w, 0, 1, 3, 10, 2);
    w->s = NULL;
    w->l.ended = 0;
    TRY(hpc_scheduler_open(&w->s, &w->o));
    TRY(hpc_scheduler_submit(&id, w->s, &j));
    await_ends(w, 1);
    assert_answer(&w->c[0], 3, 2);
out:
    hpc_scheduler_close(w->s);
    w->s = NULL;
    return rc;
}

static void memory_may_be_short_anywhere(void **state)
{
    world *w = *state;
    hpc_test_fault_reset();
    fake_permit(&w->f, -1);
    assert_true(hpc_test_each_alloc(run_one, w) >= 6);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(prompt_beside_decoder_is_read_in_chunks_of_the_budget),
        TEST(prompts_of_clients_share_chunks_in_turns),
        TEST(drops_ranges_to_keep_the_prompt_time),
        TEST(measures_the_rate_before_the_first_limited_prompt),
        TEST(ends_when_the_predict_time_has_passed),
        TEST(warm_up_computes_the_prompt_and_makes_nothing),
        TEST(callback_ends_a_job),
        TEST(decoders_go_on_while_a_cache_is_restored),
        TEST(idle_model_is_unloaded_and_loaded_again),
        TEST(fewer_cores_open_the_model_with_fewer_threads),
        TEST(threads_are_at_most_those_asked_for),
        TEST(drain_waits_for_running_jobs_and_rejects_new_ones),
        TEST(close_ends_all_jobs),
        TEST(memory_may_be_short_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
