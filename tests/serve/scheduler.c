/*
 * Tests of the scheduler's policy: order, cancellation, and limits, on an engine whose steps the
 * test allows one by one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/serve/scheduled.h"

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

/* An older request draws another answer after a newer request came. */
static void late_job_of_an_older_group_is_superseded(void **state)
{
    static const uint64_t group[] = {7, 8, 7};
    world *w = *state;
    w->o.engine.requests = 1;
    open_scheduler(w);
    for (int k = 0; k < 3; k++) {
        hpc_job j = job_of(w, k, 1, 10 + k, 1, 5);
        j.document = "a.c";
        j.supersede = true;
        j.group = group[k];
        submit(w, k, &j);
        if (k == 0) fake_await_gate(&w->f);
    }
    fake_permit(&w->f, -1);
    await_ends(w, 3);
    assert_int_equal(w->c[0].r.finish, HPC_JOB_SUPERSEDED);
    assert_answer(&w->c[1], 11, 5);
    assert_int_equal(w->c[2].r.finish, HPC_JOB_SUPERSEDED);
    assert_int_equal(w->c[2].r.computed_n, 0);
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(answers_one_job_and_reports_counts),
        TEST(clients_take_turns),
        TEST(newest_job_of_a_document_comes_first),
        TEST(newer_job_supersedes_in_every_state),
        TEST(jobs_of_a_group_do_not_supersede_each_other),
        TEST(late_job_of_an_older_group_is_superseded),
        TEST(cancel_takes_one_step_in_every_state),
        TEST(cancelling_an_ended_job_is_harmless),
        TEST(full_queue_rejects_and_recovers),
        TEST(superseding_job_finds_a_place_in_a_full_queue),
        TEST(queued_tokens_are_bounded),
        TEST(rejects_invalid_jobs),
        TEST(model_that_cannot_be_loaded_is_reported_once),
        TEST(device_failure_ends_running_jobs_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
