/*
 * Tests of completions whose answers are jobs of a scheduler.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "infer/serve/complete_port.h"
#include "tests/complete/at.h"
#include "tests/support/chain.h"
#include "tests/support/expect.h"
#include "tests/support/fake_engine.h"
#include "tests/support/folder.h"

#define PILOT "share/pilot.gguf"

enum { WRITERS = 5, SAMPLES = 3 };

static const hpc_test_phrase phrases[] = {{"    a += 1;\n", {2, 3, 1}},
                                          {"    a *= 2;\n", {3, 4, 1}},
                                          {"    a -= 3;\n", {1, 4, 5}},
                                          {"    return a;\n", {5}},
                                          {"}\n", {HPC_CHAIN_END}}};

static const char *const files[WRITERS] = {
    "int f(int a)\n{\n@", "int g(int a)\n{\n@", "int f(int a)\n{\n    a = 4;\n@",
    "int f(int a)\n{\n    a = 5;\n@\n}\n", "long h(int a)\n{\n    // longer\n@"};

typedef struct writer {
    hpc_model_files *files;
    hpc_scheduler *s;
    int number, rc;
    hpc_completions out;
} writer;

static hpc_complete_request request_of(const hpc_spot *d, int number)
{
    return (hpc_complete_request){
        .spot = d,
        .stop = HPC_STOP_FUNCTION,
        .most = 60,
        .samples = SAMPLES,
        .close = true,
        .sampling = {.temperature = 1, .top_p = 1, .repeat = 1, .seed = (uint64_t)number}};
}

static int write_one(writer *w)
{
    hpc_completer *c = NULL;
    hpc_scheduler_port *p = NULL;
    hpc_spot d = place_in("a.c", files[w->number]);
    hpc_complete_request r = request_of(&d, w->number);
    int rc;
    TRY(hpc_completer_open_detached(&c, w->files, NULL, 0));
    TRY(hpc_scheduler_port_open(&p, w->s, &(hpc_job){.client = (uint64_t)w->number}));
    r.port = hpc_scheduler_port_get(p);
    for (int turn = 0; turn < 3; turn++) {
        hpc_completions_release(&w->out);
        TRY(hpc_complete(&w->out, c, &r));
    }
out:
    hpc_completer_close(c);
    hpc_scheduler_port_close(p);
    hpc_spot_close(&d);
    return rc;
}

static void *run_writer(void *user)
{
    writer *w = user;
    w->rc = write_one(w);
    hpc_error_clear();
    return NULL;
}

static void assert_equals_own_engine(const writer *w, const char *model)
{
    hpc_completer *c;
    hpc_completions out;
    hpc_spot d = place_in("a.c", files[w->number]);
    const hpc_complete_request r = request_of(&d, w->number);
    test_ok(hpc_completer_open(
        &c, &(hpc_engine_options){.model = model, .threads = 1, .weights = HPC_DTYPE_N}));
    test_ok(hpc_complete(&out, c, &r));
    assert_int_equal(w->rc, HPC_OK);
    assert_int_equal(out.n, w->out.n);
    for (int64_t k = 0; k < out.n; k++) {
        assert_string_equal(out.item[k].text.data, w->out.item[k].text.data);
        assert_true(out.item[k].logprob == w->out.item[k].logprob);
        assert_int_equal(out.item[k].finish, w->out.item[k].finish);
    }
    assert_int_equal(out.prompt_tokens, w->out.prompt_tokens);
    hpc_completions_release(&out);
    hpc_completer_close(c);
    hpc_spot_close(&d);
}

static void completions_of_many_threads_equal_those_of_own_engines(void **state)
{
    char model[PATH_MAX];
    hpc_model_files *f;
    hpc_scheduler *s;
    pthread_t thread[WRITERS];
    writer w[WRITERS];
    hpc_test_chain(hpc_test_path(model, *state, "model"), phrases, 5);
    test_ok(hpc_model_files_open(&f, model));
    test_ok(hpc_scheduler_open(&s, &(hpc_scheduler_options){.engine = {.model = model,
                                                                       .files = f,
                                                                       .threads = 1,
                                                                       .weights = HPC_DTYPE_N,
                                                                       .cache_tokens = 4096,
                                                                       .requests = 4,
                                                                       .guess = 3}}));
    for (int k = 0; k < WRITERS; k++) {
        w[k] = (writer){.files = f, .s = s, .number = k};
        assert_int_equal(pthread_create(&thread[k], NULL, run_writer, &w[k]), 0);
    }
    for (int k = 0; k < WRITERS; k++) pthread_join(thread[k], NULL);
    for (int k = 0; k < WRITERS; k++) {
        assert_equals_own_engine(&w[k], model);
        hpc_completions_release(&w[k].out);
    }
    hpc_scheduler_close(s);
    hpc_model_files_close(f);
}

/* A file of which the port reads the beginning first. */
static void prompt_time_shortens_the_first_prompt(void **state)
{
    hpc_buf text = {0};
    (void)state;
    fake_engine *f = hpc_alloc(1, sizeof *f);
    hpc_model_files *files_of;
    hpc_scheduler *s;
    hpc_completer *c;
    hpc_scheduler_port *p;
    hpc_completions out;
    fake_init(f);
    fake_permit(f, -1);
    const hpc_scheduler_backend backend = fake_backend(f);
    for (int k = 0; k < 1200; k++) hpc_buf_printf(&text, "int a%d = %d;\n", k, k);
    hpc_buf_text(&text, "int f(int a)\n{\n@");
    hpc_spot d = place_in("a.c", text.data);
    test_ok(hpc_model_files_open(&files_of, PILOT));
    const hpc_model_config *m = hpc_model_files_config(files_of);
    f->vocab = (int32_t)m->vocab;
    test_ok(hpc_scheduler_open(&s, &(hpc_scheduler_options){.backend = &backend,
                                                            .vocab = m->vocab,
                                                            .capacity = m->positions}));
    test_ok(hpc_completer_open_detached(&c, files_of, NULL, 0));
    test_ok(hpc_scheduler_port_open(&p, s, &(hpc_job){.client = 1}));
    hpc_complete_request r = request_of(&d, 0);
    r.samples = 1;
    r.port = hpc_scheduler_port_get(p);
    r.prompt_ns = 700 * (int64_t)1000000; /* a token takes 1 ms, and a chunk 10 ms more */
    test_ok(hpc_complete(&out, c, &r));
    assert_true(out.prompt_wanted > 800);
    assert_in_range(out.prompt_tokens, 512, 656); /* whole lines are left out */
    hpc_completions_release(&out);
    hpc_completer_close(c);
    hpc_scheduler_port_close(p);
    hpc_scheduler_close(s);
    hpc_model_files_close(files_of);
    hpc_spot_close(&d);
    hpc_buf_release(&text);
    hpc_free(f);
}

/* ---- ends of jobs, on an engine whose steps the test allows -----------------------------------
 */

typedef struct held {
    fake_engine f;
    hpc_scheduler_backend backend;
    hpc_model_files *files;
    hpc_scheduler *s;
    hpc_completer *c;
    hpc_scheduler_port *p;
    hpc_spot d;
    hpc_completions out;
    int cancel, rc;
    pthread_t thread;
} held;

static void open_held(held *h, void **state, int open_error)
{
    char model[PATH_MAX];
    fake_init(&h->f);
    h->f.open_error = open_error;
    h->backend = fake_backend(&h->f);
    hpc_test_chain(hpc_test_path(model, *state, "model"), phrases, 5);
    test_ok(hpc_model_files_open(&h->files, model));
    h->f.vocab = (int32_t)hpc_model_files_config(h->files)->vocab;
    test_ok(hpc_scheduler_open(&h->s, &(hpc_scheduler_options){.engine = {.requests = 1},
                                                               .backend = &h->backend,
                                                               .queue_jobs = 1,
                                                               .vocab = FAKE_VOCAB,
                                                               .capacity = 512}));
    test_ok(hpc_completer_open_detached(&h->c, h->files, NULL, 0));
    test_ok(hpc_scheduler_port_open(
        &h->p, h->s, &(hpc_job){.client = 1, .document = "a.c", .supersede = true, .group = 1}));
    h->d = place_in("a.c", files[0]);
    h->out = (hpc_completions){0};
    h->cancel = 0;
}

static void *run_held(void *user)
{
    held *h = user;
    hpc_complete_request r = request_of(&h->d, 0);
    r.port = hpc_scheduler_port_get(h->p);
    r.cancel = &h->cancel;
    h->rc = hpc_complete(&h->out, h->c, &r);
    hpc_error_clear();
    return NULL;
}

static void start_held(held *h)
{
    assert_int_equal(pthread_create(&h->thread, NULL, run_held, h), 0);
}

static void close_held(held *h)
{
    hpc_completions_release(&h->out);
    fake_permit(&h->f, -1);
    hpc_completer_close(h->c);
    hpc_scheduler_port_close(h->p);
    hpc_scheduler_close(h->s);
    hpc_model_files_close(h->files);
    hpc_spot_close(&h->d);
}

static void cancel_ends_a_completion(void **state)
{
    static held h;
    open_held(&h, state, 0);
    start_held(&h);
    fake_await_gate(&h.f);
    __atomic_store_n(&h.cancel, 1, __ATOMIC_RELAXED);
    hpc_scheduler_port_wake(h.p);
    fake_permit(&h.f, -1);
    pthread_join(h.thread, NULL);
    assert_int_equal(h.rc, HPC_OK);
    assert_false(hpc_scheduler_port_superseded(h.p));
    for (int64_t k = 0; k < h.out.n; k++)
        assert_int_equal(h.out.item[k].finish, HPC_COMPLETION_CANCELLED);
    close_held(&h);
}

static void newer_job_supersedes_a_completion(void **state)
{
    static const int32_t token[] = {1};
    static held h;
    int64_t id;
    open_held(&h, state, 0);
    start_held(&h);
    fake_await_gate(&h.f);
    test_ok(hpc_scheduler_submit(&id, h.s,
                                 &(hpc_job){.client = 1,
                                            .document = "a.c",
                                            .supersede = true,
                                            .token = token,
                                            .n = 1,
                                            .most = 1,
                                            .sampling = hpc_sampling_greedy()}));
    fake_permit(&h.f, -1);
    pthread_join(h.thread, NULL);
    assert_int_equal(h.rc, HPC_OK);
    assert_true(hpc_scheduler_port_superseded(h.p));
    close_held(&h);
}

static void full_queue_is_an_error_of_the_completion(void **state)
{
    static const int32_t token[] = {1};
    static held h;
    int64_t id;
    open_held(&h, state, 0);
    const hpc_job other = {
        .client = 2, .token = token, .n = 1, .most = 9, .sampling = hpc_sampling_greedy()};
    test_ok(hpc_scheduler_submit(&id, h.s, &other));
    fake_await_gate(&h.f);
    test_ok(hpc_scheduler_submit(&id, h.s, &other)); /* it waits, and fills the queue */
    start_held(&h);
    pthread_join(h.thread, NULL);
    assert_int_equal(h.rc, HPC_E_STATE);
    close_held(&h);
}

static void model_that_cannot_be_loaded_is_an_error_of_the_completion(void **state)
{
    static held h;
    open_held(&h, state, HPC_E_FORMAT);
    start_held(&h);
    pthread_join(h.thread, NULL);
    assert_int_equal(h.rc, HPC_E_FORMAT);
    close_held(&h);
}

int main(void)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        TEST(completions_of_many_threads_equal_those_of_own_engines),
        TEST(prompt_time_shortens_the_first_prompt),
        TEST(cancel_ends_a_completion),
        TEST(newer_job_supersedes_a_completion),
        TEST(full_queue_is_an_error_of_the_completion),
        TEST(model_that_cannot_be_loaded_is_an_error_of_the_completion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
