/*
 * Tests of the scheduler's policy on an engine whose steps the test allows one by one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>

#include "infer/serve/kv_store.h"
#include "tests/serve/fake_engine.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"

enum { MOST = 64, LONG = 3000 };

typedef struct listener {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int ended; /* jobs */
} listener;

typedef struct client {
    listener *l;
    int64_t id, ended_id;
    int32_t prompt[LONG];
    int32_t token[MOST];
    int n, end_after; /* the callback ends it after so many; 0: never */
    int64_t progress;
    int ended, order; /* order: of the ends of all */
    hpc_job_result r;
    char error[128];
} client;

typedef struct world {
    fake_engine f;
    hpc_scheduler_backend backend;
    hpc_scheduler_options o;
    hpc_scheduler *s;
    listener l;
    client c[8];
    int failures, idles;
} world;

static int token_made(void *user, const hpc_job_token *t)
{
    client *c = user;
    assert_in_range(c->n, 0, MOST - 1);
    c->token[c->n++] = t->token;
    return c->n == c->end_after;
}

static void progress(void *user, int64_t done, int64_t total)
{
    client *c = user;
    assert_in_range(done, 0, total);
    c->progress = done;
}

static void ended(void *user, int64_t id, const hpc_job_result *r)
{
    client *c = user;
    pthread_mutex_lock(&c->l->lock);
    c->ended++;
    c->ended_id = id;
    c->r = *r;
    c->r.error = NULL;
    if (r->error) memcpy(c->error, r->error->text, sizeof c->error - 1);
    c->order = ++c->l->ended;
    pthread_cond_broadcast(&c->l->changed);
    pthread_mutex_unlock(&c->l->lock);
}

static void await_ends(world *w, int n)
{
    pthread_mutex_lock(&w->l.lock);
    while (w->l.ended < n) pthread_cond_wait(&w->l.changed, &w->l.lock);
    pthread_mutex_unlock(&w->l.lock);
}

static void failed(void *user, const hpc_error *e)
{
    world *w = user;
    (void)e;
    __atomic_add_fetch(&w->failures, 1, __ATOMIC_SEQ_CST);
}

static void idle(void *user)
{
    world *w = user;
    pthread_mutex_lock(&w->l.lock);
    w->idles++;
    pthread_cond_broadcast(&w->l.changed);
    pthread_mutex_unlock(&w->l.lock);
}

static int setup(void **state)
{
    world *w = hpc_alloc(1, sizeof *w);
    fake_init(&w->f);
    w->backend = fake_backend(&w->f);
    w->o = (hpc_scheduler_options){.engine = {.requests = 4, .threads = 1},
                                   .backend = &w->backend,
                                   .vocab = FAKE_VOCAB,
                                   .capacity = FAKE_PROMPT,
                                   .failed = failed,
                                   .user = w};
    pthread_mutex_init(&w->l.lock, NULL);
    pthread_cond_init(&w->l.changed, NULL);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world *w = *state;
    fake_permit(&w->f, -1);
    hpc_scheduler_close(w->s);
    hpc_free(w);
    hpc_error_clear();
    return 0;
}

static void open_scheduler(world *w)
{
    test_ok(hpc_scheduler_open(&w->s, &w->o));
}

/* A job of client `who` with a prompt of n tokens that all are `word`. */
static hpc_job job_of(world *w, int k, uint64_t who, int32_t word, int64_t n, int64_t most)
{
    client *c = &w->c[k];
    *c = (client){.l = &w->l};
    for (int64_t i = 0; i < n; i++) c->prompt[i] = word;
    return (hpc_job){.client = who,
                     .token = c->prompt,
                     .n = n,
                     .most = most,
                     .sampling = hpc_sampling_greedy(),
                     .token_made = token_made,
                     .progress = progress,
                     .ended = ended,
                     .user = c};
}

static void submit(world *w, int k, const hpc_job *j)
{
    int64_t id;
    test_ok(hpc_scheduler_submit(&id, w->s, j));
    w->c[k].id = id;
}

static void put(world *w, int k, uint64_t who, int32_t word, int64_t n, int64_t most)
{
    const hpc_job j = job_of(w, k, who, word, n, most);
    submit(w, k, &j);
}

static void assert_answer(const client *c, int32_t word, int n)
{
    assert_int_equal(c->n, n);
    for (int k = 0; k < n; k++) assert_int_equal(c->token[k], fake_token(word, k));
}

static hpc_scheduler_view view(world *w)
{
    hpc_scheduler_view v;
    test_ok(hpc_scheduler_view_take(&v, w->s));
    return v;
}

static hpc_job_view view_of(world *w, int64_t id)
{
    hpc_scheduler_view v = view(w);
    hpc_job_view found = {0};
    for (int64_t k = 0; k < v.job_n; k++)
        if (v.job[k].id == id) found = v.job[k];
    hpc_scheduler_view_release(&v);
    return found;
}

/* ---- order ---------------------------------------------------------------------------------- */

static void answers_one_job_and_reports_counts(void **state)
{
    world *w = *state;
    open_scheduler(w);
    fake_permit(&w->f, -1);
    put(w, 0, 1, 5, 100, 7);
    await_ends(w, 1);
    const client *c = &w->c[0];
    assert_answer(c, 5, 7);
    assert_int_equal(c->ended, 1);
    assert_int_equal(c->ended_id, c->id);
    assert_int_equal(c->progress, 100);
    assert_int_equal(c->r.finish, HPC_JOB_LENGTH);
    assert_int_equal(c->r.prompt_n, 100);
    assert_int_equal(c->r.computed_n, 100);
    assert_int_equal(c->r.made_n, 7);
    assert_int_equal(c->r.prompt_ns, 2 * w->f.step_ns + 100 * w->f.token_ns);
    assert_int_equal(c->r.decode_ns, 6 * w->f.step_ns);
}

/* A job that holds the only slot while others are submitted. */
static void hold_slot(world *w)
{
    w->o.engine.requests = 1;
    open_scheduler(w);
    put(w, 0, 99, 1, 1, 3);
    fake_await_gate(&w->f);
}

static void clients_take_turns(void **state)
{
    world *w = *state;
    hold_slot(w);
    put(w, 1, 1, 2, 1, 1);
    put(w, 2, 1, 3, 1, 1);
    put(w, 3, 1, 4, 1, 1);
    put(w, 4, 2, 5, 1, 1);
    put(w, 5, 2, 6, 1, 1);
    put(w, 6, 3, 7, 1, 1);
    fake_permit(&w->f, -1);
    await_ends(w, 7);
    const int expected[] = {0, 1, 4, 6, 2, 5, 3};
    for (int k = 0; k < 7; k++) assert_int_equal(w->c[expected[k]].order, k + 1);
}

static void newest_job_of_a_document_comes_first(void **state)
{
    world *w = *state;
    hold_slot(w);
    for (int k = 1; k <= 4; k++) {
        hpc_job j = job_of(w, k, 1, 10 + k, 1, 1);
        j.document = k < 4 ? "a.c" : "b.c";
        submit(w, k, &j);
    }
    fake_permit(&w->f, -1);
    await_ends(w, 5);
    const int expected[] = {0, 3, 4, 2, 1}; /* the documents of the client take turns */
    for (int k = 0; k < 5; k++) assert_int_equal(w->c[expected[k]].order, k + 1);
}

static void newer_job_supersedes_in_every_state(void **state)
{
    world *w = *state;
    w->o.engine.requests = 1;
    open_scheduler(w);
    for (int k = 0; k < 3; k++) {
        hpc_job j = job_of(w, k, 1, 10 + k, 1, 5);
        j.document = "a.c";
        j.supersede = true;
        submit(w, k, &j);
        if (k == 0) fake_await_gate(&w->f); /* it runs; the next one waits */
    }
    hpc_job other = job_of(w, 3, 2, 20, 1, 5);
    other.document = "a.c"; /* of another client */
    other.supersede = true;
    submit(w, 3, &other);
    fake_permit(&w->f, -1);
    await_ends(w, 4);
    assert_int_equal(w->c[0].r.finish, HPC_JOB_SUPERSEDED);
    assert_int_equal(w->c[1].r.finish, HPC_JOB_SUPERSEDED);
    assert_int_equal(w->c[1].r.computed_n, 0);
    assert_answer(&w->c[2], 12, 5);
    assert_answer(&w->c[3], 20, 5);
}

static void jobs_of_a_group_do_not_supersede_each_other(void **state)
{
    world *w = *state;
    open_scheduler(w);
    for (int k = 0; k < 3; k++) {
        hpc_job j = job_of(w, k, 1, 10, 1, 5);
        j.document = "a.c";
        j.supersede = true;
        j.group = 7;
        j.sample = (uint32_t)k;
        submit(w, k, &j);
    }
    fake_permit(&w->f, -1);
    await_ends(w, 3);
    for (int k = 0; k < 3; k++) assert_answer(&w->c[k], 10, 5);
}

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

/* ---- cancel --------------------------------------------------------------------------------- */

static void cancel_takes_one_step_in_every_state(void **state)
{
    world *w = *state;
    w->o.engine.requests = 3;
    open_scheduler(w);
    put(w, 0, 1, 3, 1, 40); /* the neighbour */
    put(w, 1, 2, 4, 1, 60); /* decodes */
    fake_await_gate(&w->f);
    fake_steps(&w->f, 3);
    put(w, 2, 3, 5, 2000, 1); /* its prompt is read */
    fake_steps(&w->f, 3);
    put(w, 3, 4, 6, 1, 1); /* waits */
    put(w, 4, 5, 7, 1, 5); /* waits */
    fake_steps(&w->f, 1);
    assert_int_equal(view_of(w, w->c[1].id).state, HPC_JOB_DECODE);
    assert_int_equal(view_of(w, w->c[2].id).state, HPC_JOB_PREFILL);
    assert_int_equal(view_of(w, w->c[3].id).state, HPC_JOB_QUEUED);
    int made = w->c[1].n;
    for (int k = 1; k <= 3; k++) hpc_scheduler_cancel(w->s, w->c[k].id);
    fake_steps(&w->f, 2); /* one was at the gate when they were cancelled */
    await_ends(w, 3);
    for (int k = 1; k <= 3; k++) assert_int_equal(w->c[k].r.finish, HPC_JOB_CANCELLED);
    assert_true(w->c[1].n <= made + 1);
    assert_int_equal(w->c[3].r.computed_n, 0);
    assert_int_equal(view_of(w, w->c[4].id).state, HPC_JOB_DECODE); /* in a slot that is free */
    fake_permit(&w->f, -1);
    await_ends(w, 5);
    assert_answer(&w->c[0], 3, 40);
    assert_answer(&w->c[4], 7, 5);
    for (int k = 0; k < 5; k++) assert_int_equal(w->c[k].ended, 1);
}

static void cancelling_an_ended_job_is_harmless(void **state)
{
    world *w = *state;
    open_scheduler(w);
    fake_permit(&w->f, -1);
    put(w, 0, 1, 3, 10, 2);
    await_ends(w, 1);
    hpc_scheduler_cancel(w->s, w->c[0].id);
    hpc_scheduler_cancel(w->s, 12345);
    put(w, 1, 1, 3, 10, 2);
    await_ends(w, 2);
    assert_answer(&w->c[1], 3, 2);
    assert_int_equal(w->c[0].ended, 1);
}

/* ---- limits and failures -------------------------------------------------------------------- */

static void full_queue_rejects_and_recovers(void **state)
{
    world *w = *state;
    int64_t id;
    w->o.queue_jobs = 2;
    hold_slot(w);
    put(w, 1, 1, 3, 10, 1);
    put(w, 2, 1, 3, 10, 1);
    hpc_job j = job_of(w, 3, 1, 3, 10, 1);
    test_fails(hpc_scheduler_submit(&id, w->s, &j), HPC_E_STATE, "the queue is full");
    assert_in_range(hpc_scheduler_retry_s(w->s), 1, 60);
    hpc_scheduler_cancel(w->s, w->c[1].id); /* its place is free at once */
    submit(w, 3, &j);
    fake_permit(&w->f, -1);
    await_ends(w, 4);
    assert_answer(&w->c[3], 3, 1);
    hpc_scheduler_view v = view(w);
    assert_int_equal(v.rejected, 1);
    assert_int_equal(v.accepted, 4);
    assert_int_equal(v.finished, 3);
    assert_int_equal(v.cancelled, 1);
    hpc_scheduler_view_release(&v);
}

static void superseding_job_finds_a_place_in_a_full_queue(void **state)
{
    world *w = *state;
    w->o.queue_jobs = 1;
    hold_slot(w);
    for (int k = 1; k <= 3; k++) {
        hpc_job j = job_of(w, k, 1, k, 10, 1);
        j.document = "a.c", j.supersede = true;
        submit(w, k, &j);
    }
    fake_permit(&w->f, -1);
    await_ends(w, 4);
    assert_int_equal(w->c[2].r.finish, HPC_JOB_SUPERSEDED);
    assert_answer(&w->c[3], 3, 1);
}

static void queued_tokens_are_bounded(void **state)
{
    world *w = *state;
    int64_t id;
    w->o.queue_tokens = 1000;
    hold_slot(w);
    put(w, 1, 1, 3, 900, 1);
    hpc_job j = job_of(w, 2, 1, 3, 200, 1);
    test_fails(hpc_scheduler_submit(&id, w->s, &j), HPC_E_STATE, "with 900 tokens");
}

static void rejects_invalid_jobs(void **state)
{
    static const hpc_job_range whole = {0, 10}, twice[] = {{0, 4}, {3, 5}};
    world *w = *state;
    int64_t id;
    open_scheduler(w);
    hpc_job j = job_of(w, 0, 1, 3, 10, 2), k = j;
    k.n = 0;
    test_fails(hpc_scheduler_submit(&id, w->s, &k), HPC_E_ARG, "at least one prompt token");
    k.n = FAKE_PROMPT + 1;
    test_fails(hpc_scheduler_submit(&id, w->s, &k), HPC_E_ARG, "model and cache allow 4096");
    k = j;
    k.drop = &whole, k.drop_n = 1;
    test_fails(hpc_scheduler_submit(&id, w->s, &k), HPC_E_ARG, "leave no token");
    k.drop = twice, k.drop_n = 2;
    test_fails(hpc_scheduler_submit(&id, w->s, &k), HPC_E_ARG, "overlaps another");
    w->c[0].prompt[3] = FAKE_VOCAB;
    test_fails(hpc_scheduler_submit(&id, w->s, &j), HPC_E_ARG, "token 1000");
    assert_int_equal(w->c[0].ended, 0);
}

static void model_that_cannot_be_loaded_is_reported_once(void **state)
{
    world *w = *state;
    w->f.open_error = HPC_E_FORMAT;
    open_scheduler(w);
    for (int k = 0; k < 3; k++) put(w, k, 1, 3, 10, 2);
    await_ends(w, 3);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(w->c[k].r.finish, HPC_JOB_ERROR);
        assert_non_null(strstr(w->c[k].error, "no such model"));
    }
    assert_int_equal(w->failures, 1);
    assert_int_equal(w->f.opened, 1);
    test_fails(hpc_scheduler_load(w->s), HPC_E_FORMAT, "no such model");
    w->f.open_error = 0;
    test_ok(hpc_scheduler_load(w->s));
    fake_permit(&w->f, -1);
    put(w, 3, 1, 3, 10, 2);
    await_ends(w, 4);
    assert_answer(&w->c[3], 3, 2);
}

static void device_failure_ends_running_jobs_alone(void **state)
{
    world *w = *state;
    w->o.engine.requests = 1;
    open_scheduler(w);
    put(w, 0, 1, 3, 10, 5);
    put(w, 1, 1, 4, 10, 5);
    fake_await_gate(&w->f);
    w->f.step_error = HPC_E_FAULT;
    fake_permit(&w->f, -1);
    await_ends(w, 2);
    assert_int_equal(w->c[0].r.finish, HPC_JOB_ERROR);
    assert_non_null(strstr(w->c[0].error, "the device broke"));
    assert_answer(&w->c[1], 4, 5);
    assert_int_equal(w->failures, 1);
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(answers_one_job_and_reports_counts),
        TEST(clients_take_turns),
        TEST(newest_job_of_a_document_comes_first),
        TEST(newer_job_supersedes_in_every_state),
        TEST(jobs_of_a_group_do_not_supersede_each_other),
        TEST(prompt_beside_decoder_is_read_in_chunks_of_the_budget),
        TEST(prompts_of_clients_share_chunks_in_turns),
        TEST(drops_ranges_to_keep_the_prompt_time),
        TEST(measures_the_rate_before_the_first_limited_prompt),
        TEST(ends_when_the_predict_time_has_passed),
        TEST(warm_up_computes_the_prompt_and_makes_nothing),
        TEST(callback_ends_a_job),
        TEST(decoders_go_on_while_a_cache_is_restored),
        TEST(cancel_takes_one_step_in_every_state),
        TEST(cancelling_an_ended_job_is_harmless),
        TEST(full_queue_rejects_and_recovers),
        TEST(superseding_job_finds_a_place_in_a_full_queue),
        TEST(queued_tokens_are_bounded),
        TEST(rejects_invalid_jobs),
        TEST(model_that_cannot_be_loaded_is_reported_once),
        TEST(device_failure_ends_running_jobs_alone),
        TEST(idle_model_is_unloaded_and_loaded_again),
        TEST(fewer_cores_open_the_model_with_fewer_threads),
        TEST(threads_are_at_most_those_asked_for),
        TEST(drain_waits_for_running_jobs_and_rejects_new_ones),
        TEST(close_ends_all_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
