/*
 * plan.c: task lists of schedules, their time by discrete events, and plans as files.
 */
#include "tests/train/data.h"

#include <stdlib.h>

#include "train/plan.h"

enum { P = 8, M = 16 };

static void make_lists(hpc_plan_list *l, const hpc_pipe *q, int ranks, int microbatches)
{
    for (int r = 0; r < ranks; r++) test_ok(hpc_plan_tasks(&l[r], q, ranks, r, microbatches));
}

static void free_lists(hpc_plan_list *l, int ranks)
{
    for (int r = 0; r < ranks; r++) hpc_free(l[r].task);
}

/* A forward takes 1, a backward 2, a shared task `shared`, a message nothing. */
static hpc_plan_span span_with(const hpc_plan_list *l, int ranks, int chunks,
                               hpc_plan_policy policy, double shared)
{
    double forward[HPC_STAGES], backward[HPC_STAGES];
    hpc_plan_times t = {
        .forward = forward, .backward = backward, .shared = {shared, shared, shared}};
    hpc_plan_span s;
    for (int k = 0; k < HPC_STAGES; k++) forward[k] = 1.0 / chunks, backward[k] = 2.0 / chunks;
    test_ok(hpc_plan_simulate_tasks(&s, l, ranks, chunks, policy, &t));
    return s;
}

static hpc_plan_span span_of(const hpc_plan_list *l, int ranks, int chunks, hpc_plan_policy policy)
{
    return span_with(l, ranks, chunks, policy, 0);
}

static double makespan(int limit, hpc_plan_policy policy)
{
    hpc_plan_list l[P];
    hpc_pipe q = {.schedule = HPC_PIPE_ARRIVAL, .limit = limit};
    make_lists(l, &q, P, M);
    hpc_plan_span s = span_of(l, P, 1, policy);
    for (int r = 0; r < P; r++) assert_true(s.in_flight[r] <= limit && l[r].slots == limit);
    free_lists(l, P);
    return s.seconds;
}

static void arrival_depends_on_preference_and_limit(void **state)
{
    (void)state;
    assert_true(makespan(P, HPC_PLAN_FIFO) == 75);
    assert_true(makespan(P, HPC_PLAN_PREFERRED) == 72);
    assert_true(makespan(P + 1, HPC_PLAN_PREFERRED) == 69);
}

static void bubbles_are_those_of_the_closed_form(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= P; ranks *= 2)
        for (int kind = HPC_PIPE_GPIPE; kind <= HPC_PIPE_1F1B; kind++) {
            hpc_plan_list l[P];
            make_lists(l, &(hpc_pipe){.schedule = kind}, ranks, M);
            hpc_plan_span s = span_of(l, ranks, 1, HPC_PLAN_IN_ORDER);
            assert_true(s.seconds == 3 * (M + ranks - 1));
            for (int r = 0; r < ranks; r++) {
                int flight = kind == HPC_PIPE_GPIPE ? M : ranks - r;
                assert_true(s.idle[r] == 3 * (ranks - 1));
                assert_int_equal(s.in_flight[r], flight);
                assert_int_equal(l[r].slots, flight);
            }
            free_lists(l, ranks);
        }
}

/* Each of v stages on a rank takes 1/v of the time, and so does the bubble. */
static void interleaving_divides_the_bubble(void **state)
{
    (void)state;
    for (int chunks = 2; chunks <= 4; chunks *= 2) {
        hpc_plan_list l[4];
        make_lists(l, &(hpc_pipe){.schedule = HPC_PIPE_INTERLEAVED, .chunks = chunks}, 4, M);
        hpc_plan_span s = span_of(l, 4, chunks, HPC_PLAN_IN_ORDER);
        assert_true(fabs(s.seconds - 3 * (M + 3.0 / chunks)) < 1e-9);
        free_lists(l, 4);
    }
}

/* Shared tasks add their own time and no bubble; the price is twice as many microbatches in flight.
 * One more slot is for shared tasks that keep nothing. */
static void interlaced_tables_have_the_same_bubble(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= P; ranks *= 2)
        for (int kind = HPC_PIPE_GPIPE; kind <= HPC_PIPE_1F1B; kind++) {
            hpc_plan_list l[P];
            make_lists(l, &(hpc_pipe){.schedule = kind, .vocab = HPC_VOCAB_INTERLACED}, ranks, M);
            hpc_plan_span s = span_with(l, ranks, 1, HPC_PLAN_IN_ORDER, 0.5);
            assert_true(s.seconds == 3 * (M + ranks - 1) + 3 * M * 0.5);
            for (int r = 0; r < ranks; r++) {
                int flight = kind == HPC_PIPE_GPIPE ? M : 2 * (ranks - r) - (r > 0);
                assert_true(s.idle[r] == 3 * (ranks - 1));
                assert_int_equal(l[r].slots, (flight < M ? flight : M) + 1);
            }
            free_lists(l, ranks);
        }
}

/* Tasks without time, messages of 1, as many microbatches as ranks: after ranks - 1 messages up,
 * each head and each table waits for ranks - 1 messages of one rank. */
static void shared_tasks_wait_for_all_messages(void **state)
{
    static const double none[HPC_STAGES];
    (void)state;
    for (int ranks = 2; ranks <= P; ranks *= 2) {
        hpc_plan_list l[P];
        hpc_plan_span s;
        hpc_pipe q = {.schedule = HPC_PIPE_GPIPE, .vocab = HPC_VOCAB_INTERLACED};
        make_lists(l, &q, ranks, ranks);
        test_ok(hpc_plan_simulate_tasks(
            &s, l, ranks, 1, HPC_PLAN_IN_ORDER,
            &(hpc_plan_times){.forward = none, .backward = none, .message = 1}));
        assert_true(s.seconds == (ranks - 1) * (2 * ranks + 1));
        free_lists(l, ranks);
    }
}

static void schedules_name_what_does_not_fit(void **state)
{
    (void)state;
    hpc_plan_list l;
    test_fails(hpc_plan_tasks(&l, &(hpc_pipe){0}, 4, 0, 3), HPC_E_ARG,
               "pipe=4: a step needs at least 4 microbatches");
    hpc_pipe turns = {.schedule = HPC_PIPE_INTERLEAVED};
    test_fails(hpc_plan_tasks(&l, &turns, 4, 0, 6), HPC_E_ARG, "use a multiple of it");
    hpc_pipe one = {.schedule = HPC_PIPE_1F1B, .chunks = 2};
    test_fails(hpc_plan_tasks(&l, &one, 2, 0, 4), HPC_E_ARG, "use interleaved");
}

/* ---- plans ---------------------------------------------------------------------------------- */

static hpc_model_config model_of(int layers)
{
    hpc_model_config c = tiny_trainer(HPC_OPT_ADAMW).model;
    c.layers = layers;
    return c;
}

static hpc_train_plan *plan_with(int schedule, int vocab)
{
    hpc_model_config c = model_of(4);
    hpc_optimizer_config o = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    hpc_parallel q = {.grid = {.extent = {[HPC_AXIS_DATA] = 2, [HPC_AXIS_PIPE] = 2}},
                      .zero = 1,
                      .pipe = {.schedule = schedule, .vocab = vocab}};
    hpc_step_options s = {.model = {.tokens = 64, .sequences = 4}, .parallel = &q};
    hpc_program *p = hpc_program_create();
    hpc_train_plan *plan;
    hpc_step io;
    test_ok(hpc_step_emit(&io, p, &c, &o, &s));
    test_ok(hpc_plan_make(&plan, p, &io, &c, &s, 4));
    hpc_program_free(p);
    return plan;
}

static hpc_train_plan *plan_of(int schedule)
{
    return plan_with(schedule, HPC_VOCAB_ENDS);
}

static void write_plan(hpc_buf *out, const hpc_train_plan *plan)
{
    hpc_json_out w = {.buf = out};
    out->n = 0;
    hpc_plan_put(&w, NULL, plan);
}

static int read_plan(hpc_train_plan **out, const char *text)
{
    hpc_json *root;
    test_ok(hpc_json_parse(&root, text, strlen(text), "plan"));
    int rc = hpc_plan_get(out, root);
    hpc_json_free(root);
    return rc;
}

static void a_plan_is_read_as_written(void **state)
{
    (void)state;
    for (int k = HPC_PIPE_GPIPE; k <= HPC_PIPE_ARRIVAL + 2; k++) {
        bool parts = k > HPC_PIPE_ARRIVAL; /* of the vocabulary; with gpipe and 1f1b */
        hpc_train_plan *plan = plan_with(parts ? k - HPC_PIPE_ARRIVAL : k, parts), *again;
        hpc_buf first = {0}, second = {0};
        write_plan(&first, plan);
        assert_non_null(strstr(first.data, parts ? "\"version\":2" : "\"version\":1"));
        test_ok(read_plan(&again, first.data));
        write_plan(&second, again);
        assert_string_equal(first.data, second.data);
        test_ok(hpc_plan_follow(plan, again));
        hpc_plan_free(again);
        hpc_plan_free(plan);
        hpc_buf_release(&first);
        hpc_buf_release(&second);
    }
}

/* `text` with the first `from` replaced. */
static char *changed(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    char *out = malloc(strlen(text) + strlen(to) + 1);
    assert_non_null(at);
    assert_non_null(out);
    sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

static void faults_in_a_plan_are_named(void **state)
{
    static const struct {
        const char *from, *to;
        int code;
        const char *says;
    } fault[] = {
        {"\"version\":1", "\"version\":3", HPC_E_UNSUPPORTED, "version 3"},
        {"hpccoder-plan", "plan", HPC_E_FORMAT, "not hpccoder-plan"},
        {"\"schedule\":\"1f1b\"", "\"schedule\":\"2f\"", HPC_E_FORMAT,
         "schedule: unknown name '2f'"},
        {"\"first\":[0,2]", "\"first\":[0]", HPC_E_FORMAT, "first has 1 stages"},
        {"\"microbatch\":1", "\"microbatch\":0", HPC_E_STATE,
         "both run the forward of microbatch 0"},
        {"\"microbatch\":1,\"slot\":1", "\"microbatch\":1,\"slot\":0", HPC_E_STATE, "slot"},
        {"\"run\":\"forward\"", "\"run\":\"backward\"", HPC_E_STATE, "microbatch 0"},
        {"\"slots\":2", "\"slots\":1", HPC_E_FORMAT, "slot is 1; expected 0 to 0"},
        {"\"after\":[1,", "\"after\":[99,", HPC_E_FORMAT, "names task 99"},
        {"\"run\":\"gather\"", "\"run\":\"norm\"", HPC_E_STATE, "task 11 must run gather"},
        {",{\"run\":\"gather\",\"after\":[10]}", "", HPC_E_STATE, "task 11 must run gather"},
        {"{\"run\":\"norm\"", "{\"run\":\"norm\",\"after\":[]},{\"run\":\"norm\"", HPC_E_STATE,
         "task 9 must run refresh"},
        {"{\"run\":\"gather\"", "{\"run\":\"gather\",\"after\":[]},{\"run\":\"gather\"",
         HPC_E_STATE, "task 12 comes after the last, gather"},
    };
    hpc_train_plan *plan = plan_of(HPC_PIPE_1F1B), *bad;
    hpc_buf text = {0};
    (void)state;
    write_plan(&text, plan);
    for (size_t k = 0; k < sizeof fault / sizeof *fault; k++) {
        char *broken = changed(text.data, fault[k].from, fault[k].to);
        test_fails(read_plan(&bad, broken), fault[k].code, fault[k].says);
        free(broken);
    }
    hpc_model_config other = model_of(3);
    test_fails(hpc_plan_check(plan, &other), HPC_E_SHAPE, "layers=4, and this one has 3");
    hpc_plan_free(plan);
    plan = plan_with(HPC_PIPE_1F1B, HPC_VOCAB_INTERLACED);
    write_plan(&text, plan);
    char *arrival = changed(text.data, "\"schedule\":\"1f1b\"", "\"schedule\":\"arrival\"");
    test_fails(read_plan(&bad, arrival), HPC_E_ARG, "and arrival has none; use gpipe or 1f1b");
    free(arrival);
    hpc_buf_release(&text);
    hpc_plan_free(plan);
}

/* Rank 0 runs the backward of its only microbatch first in flight before rank 1 can send it. */
static void tasks_that_wait_for_each_other_are_found(void **state)
{
    (void)state;
    hpc_train_plan *plan = plan_of(HPC_PIPE_GPIPE);
    hpc_plan_list *l = &plan->list[0];
    test_ok(hpc_plan_check_tasks(plan));
    hpc_plan_task *t = plan->list[1].task, first = t[0];
    t[0].microbatch = t[0].slot = 3;
    t[3] = first;
    test_ok(hpc_plan_check_tasks(plan)); /* forwards in another order */
    plan->list[1].task[0].after[0] = 4;  /* the forward of 3 after a backward */
    test_fails(hpc_plan_check_tasks(plan), HPC_E_STATE, "waits for ever");
    l->task[l->gradient_n - 1].run = HPC_PLAN_FORWARD;
    test_fails(hpc_plan_check_tasks(plan), HPC_E_STATE, "rank 0 along pipe: ");
    hpc_plan_free(plan);
}

static void exchange(hpc_plan_list *l, int a, int b)
{
    hpc_plan_task t = l->task[a];
    l->task[a] = l->task[b];
    l->task[b] = t;
}

static int find_task(const hpc_plan_list *l, int run, int microbatch)
{
    int k = 0;
    while (l->task[k].run != run || l->task[k].microbatch != microbatch) k++;
    return k;
}

static void faults_in_shared_tasks_are_found(void **state)
{
    (void)state;
    hpc_train_plan *plan = plan_with(HPC_PIPE_1F1B, HPC_VOCAB_INTERLACED);
    hpc_plan_list *first = &plan->list[0], *last = &plan->list[1];
    test_ok(hpc_plan_check_tasks(plan));
    int table = find_task(last, HPC_PLAN_TABLE, 0), head = find_task(last, HPC_PLAN_HEAD, 2);
    exchange(last, table, head);
    test_fails(hpc_plan_check_tasks(plan), HPC_E_STATE, "waits for ever");
    exchange(last, table, head);
    int heads[] = {find_task(first, HPC_PLAN_HEAD, 0), find_task(first, HPC_PLAN_HEAD, 1)};
    exchange(first, heads[0], heads[1]);
    test_fails(hpc_plan_check_tasks(plan), HPC_E_STATE,
               "runs a head before that of the microbatch");
    exchange(first, heads[0], heads[1]);
    first->task[heads[0]].slot = first->task[heads[0] - 1].slot;
    test_fails(hpc_plan_check_tasks(plan), HPC_E_STATE, "which holds microbatch");
    first->task[heads[0]].slot = first->slots - 1;
    int forward = find_task(last, HPC_PLAN_FORWARD, 0), own = find_task(last, HPC_PLAN_HEAD, 0);
    exchange(last, forward, own);
    test_fails(hpc_plan_check_tasks(plan), HPC_E_STATE, "runs a head before its forward");
    exchange(last, forward, own);
    plan->parallel.pipe.vocab = HPC_VOCAB_ENDS;
    test_fails(hpc_plan_check_tasks(plan), HPC_E_STATE, "runs embed, and pipe-vocab is ends");
    hpc_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(arrival_depends_on_preference_and_limit),
                                       cmocka_unit_test(bubbles_are_those_of_the_closed_form),
                                       cmocka_unit_test(interleaving_divides_the_bubble),
                                       cmocka_unit_test(interlaced_tables_have_the_same_bubble),
                                       cmocka_unit_test(shared_tasks_wait_for_all_messages),
                                       cmocka_unit_test(schedules_name_what_does_not_fit),
                                       cmocka_unit_test(a_plan_is_read_as_written),
                                       cmocka_unit_test(faults_in_a_plan_are_named),
                                       cmocka_unit_test(tasks_that_wait_for_each_other_are_found),
                                       cmocka_unit_test(faults_in_shared_tasks_are_found)};
    return cmocka_run_group_tests_name("train/plan", tests, NULL, NULL);
}
