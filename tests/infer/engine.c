/*
 * engine.c: each result has the bits of the same request run alone, for any concurrent requests,
 * split into parts, and cache contents.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "infer/engine/engine.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"
#include "tests/support/model.h"

enum { VOCAB = 48, POSITIONS = 128, MOST = 40, ASKED = 16 };

static int first_values(float *out, const hpc_model_tensor *t, void *user)
{
    int64_t n = t->rank == 2 ? t->extent[0] * t->extent[1] : t->extent[0];
    (void)user;
    hpc_model_init(out, t, 0, n, 5);
    for (int64_t k = 0; t->role == HPC_ROLE_MATRIX && k < n; k++) out[k] *= 8; /* it has opinions */
    return HPC_OK;
}

static const char *model_in(char path[PATH_MAX], hpc_test_folder *f, bool tied)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    hpc_weights_save_options o = {.dtype = HPC_F32, .read = first_values};
    c.vocab = VOCAB, c.hidden = 64, c.ffn = 96, c.heads = 4, c.kv_heads = 2;
    c.positions = POSITIONS, c.tied = tied;
    hpc_test_path(path, f, tied ? "tied" : "model");
    test_ok(hpc_weights_save(path, &c, &o));
    return path;
}

static hpc_engine *guessing(const char *model, int threads, int64_t cache, int64_t batch,
                            int64_t requests, int64_t guess)
{
    hpc_engine *e;
    test_ok(hpc_engine_open(&e, &(hpc_engine_options){.model = model,
                                                      .threads = threads,
                                                      .weights = HPC_Q8_0,
                                                      .cache = HPC_BF16,
                                                      .cache_tokens = cache,
                                                      .batch_tokens = batch,
                                                      .requests = requests,
                                                      .guess = guess}));
    return e;
}

static hpc_engine *engine_of(const char *model, int threads, int64_t cache, int64_t batch,
                             int64_t requests)
{
    return guessing(model, threads, cache, batch, requests, 0);
}

/* ---- an answer --------------------------------------------------------------------------------
 */

typedef struct answer {
    int32_t stop; /* token */
    int32_t token[MOST];
    float logprob[MOST];
    int n, end_at; /* it asks for no more than so many; 0: all */
    int from;      /* of in_turn: what the prompt's length leaves */
    int ended, how;
} answer;

static int hear(void *user, int32_t token, float logprob)
{
    answer *a = user;
    assert_in_range(a->n, 0, MOST - 1);
    a->token[a->n] = token;
    a->logprob[a->n++] = logprob;
    return a->n == a->end_at;
}

static void end(void *user, hpc_finish how, int32_t token)
{
    answer *a = user;
    a->ended++;
    a->stop = token;
    a->how = (int)how;
}

/* Request k of many: texts that begin alike, of all lengths, drawn from and likeliest. */
static hpc_request request_of(int32_t *text, int k, answer *a)
{
    hpc_request r = {.token = text,
                     .n = 1 + k * 37 % 61,
                     .most = 3 + k * 11 % 30,
                     .sampling = {.temperature = k % 3 ? 1 : 0,
                                  .top_p = 0.9,
                                  .repeat = k % 2 ? 1 : 1.2,
                                  .repeat_last = 16,
                                  .seed = 3},
                     .sample = (uint32_t)k / 4,
                     .token_made = hear,
                     .ended = end,
                     .user = a};
    for (int64_t i = 0; i < r.n; i++)
        text[i] =
            (int32_t)(hpc_random_bits(1, 0, i < 20 ? 0 : (uint32_t)(k % 4), (uint64_t)i) % VOCAB);
    *a = (answer){0};
    return r;
}

static void ask(hpc_engine *e, const hpc_request *r)
{
    int64_t id;
    test_ok(hpc_engine_submit(e, r, &id));
}

static void run_all(hpc_engine *e)
{
    bool busy = true;
    for (int k = 0; busy; k++) {
        assert_true(k < 10000);
        test_ok(hpc_engine_step(e, &busy));
    }
}

static void same(const answer *a, const answer *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->ended, 1);
    assert_int_equal(b->ended, 1);
    assert_int_equal(a->how, b->how);
    assert_memory_equal(a->token, b->token, (size_t)a->n * sizeof *a->token);
    assert_memory_equal(a->logprob, b->logprob, (size_t)a->n * sizeof *a->logprob);
}

static void alone(answer *a, const char *model)
{
    int32_t text[POSITIONS];
    bool came[VOCAB] = {false};
    int kinds = 0;

    for (int k = 0; k < ASKED; k++) {
        hpc_engine *e = engine_of(model, 1, 0, 200, 1);
        hpc_request r = request_of(text, k, &a[k]);
        ask(e, &r);
        run_all(e);
        assert_int_equal(a[k].n, r.most);
        for (int i = 0; i < a[k].n; i++) came[a[k].token[i]] = true;
        hpc_engine_close(e);
    }
    for (int t = 0; t < VOCAB; t++) kinds += came[t];
    assert_true(kinds > VOCAB / 2); /* or the answers would say little */
}

/* ---- tests -------------------------------------------------------------------------------------
 */

static void in_company_as_alone(void **state)
{
    static answer one[ASKED], all[ASKED];
    static const struct {
        int threads;
        int64_t cache, batch, requests, guess;
    } with[] = {{1, 2048, 512, 16, 0}, {3, 2048, 7, 16, 0},  {2, 160, 64, 16, 0},
                {2, 2048, 33, 3, 0},   {2, 2048, 64, 16, 5}, {1, 160, 9, 4, 3}};
    char model[PATH_MAX];
    int32_t text[POSITIONS];

    alone(one, model_in(model, *state, false));
    for (size_t w = 0; w < sizeof with / sizeof with[0]; w++) {
        hpc_engine *e = guessing(model, with[w].threads, with[w].cache, with[w].batch,
                                 with[w].requests, with[w].guess);
        for (int turn = 0; turn < 2; turn++) { /* the second time much is known */
            for (int k = 0; k < ASKED; k++) {
                hpc_request r = request_of(text, k, &all[k]);
                ask(e, &r);
            }
            assert_int_equal(hpc_engine_counts_of(e).waiting, ASKED);
            run_all(e);
            for (int k = 0; k < ASKED; k++) same(&one[k], &all[k]);
        }
        assert_true(hpc_engine_counts_of(e).reused > 0);
        assert_int_equal(hpc_engine_counts_of(e).running, 0);
        hpc_engine_close(e);
    }
}

/* Logits of a text, by the program that is trained. */
static void forward(double *logits, const char *model, const int32_t *text, int32_t n)
{
    hpc_test_model m;
    hpc_model_config c;
    test_ok(hpc_model_config_read(&c, model));
    hpc_test_model_open(&m, &c, n, 1, HPC_TEST_LOGITS);
    for (int64_t k = 0; k < m.list_n; k++) {
        int64_t size = hpc_test_model_tensor_n(&m.list[k]);
        float *x = hpc_alloc((size_t)size, sizeof *x);
        double *wide = hpc_alloc((size_t)size, sizeof *wide);
        test_ok(first_values(x, &m.list[k], NULL));
        for (int64_t i = 0; i < size; i++) wide[i] = (double)x[i];
        hpc_test_write(m.e, 0, hpc_program_find(m.p, m.list[k].name), wide);
        hpc_free(x);
        hpc_free(wide);
    }
    hpc_test_model_feed(&m, text, &n, 1);
    hpc_test_model_step(&m, 0, 0);
    hpc_test_read(m.e, 0, m.io.logits, logits);
    hpc_test_model_close(&m);
}

static void answers_are_the_models(void **state)
{
    enum { PROMPT = 21, MADE = 12 };
    static double logits[(PROMPT + MADE) * VOCAB];
    char model[PATH_MAX];
    int32_t text[POSITIONS];

    for (int tied = 0; tied < 2; tied++) {
        answer a;
        hpc_engine *e;
        hpc_request r = request_of(text, 0, &a);
        test_ok(hpc_engine_open(&e, &(hpc_engine_options){.model = model_in(model, *state, tied),
                                                          .weights = HPC_F32,
                                                          .cache = HPC_F32,
                                                          .batch_tokens = 8}));
        r.n = PROMPT, r.most = MADE, r.sampling = hpc_sampling_greedy();
        for (int i = 0; i < PROMPT; i++) text[i] = i * i % VOCAB;
        ask(e, &r);
        run_all(e);
        memcpy(text + PROMPT, a.token, MADE * sizeof *text);
        forward(logits, model, text, PROMPT + MADE);
        for (int i = 0; i < MADE; i++) {
            const double *x = logits + (PROMPT - 1 + i) * VOCAB;
            double sum = 0, most = x[0];
            for (int t = 0; t < VOCAB; t++) sum += exp(x[t]), most = fmax(most, x[t]);
            assert_true(x[a.token[i]] >= most - 1e-4);
            assert_float_equal(a.logprob[i], x[a.token[i]] - log(sum), 1e-4);
        }
        hpc_engine_close(e);
    }
}

/* An edit costs the text after it, rounded to pages; generated tokens count as text. */
static void what_is_known_is_not_computed(void **state)
{
    char model[PATH_MAX];
    int32_t text[POSITIONS];
    answer a, b;
    hpc_engine *e = engine_of(model_in(model, *state, true), 2, 512, 64, 2);
    hpc_request r = request_of(text, 0, &a);

    r.sampling = hpc_sampling_greedy();
    for (int i = 0; i < 80; i++) text[i] = i % VOCAB;
    r.n = 80, r.most = 20;
    ask(e, &r);
    run_all(e);
    hpc_engine_counts before = hpc_engine_counts_of(e);
    assert_int_equal(before.computed, 80 + 19);
    assert_int_equal(before.reused, 0);
    text[50]++; /* in the fourth page */
    a.ended = a.n = 0;
    ask(e, &r);
    run_all(e);
    hpc_engine_counts after = hpc_engine_counts_of(e);
    assert_int_equal(after.reused - before.reused, 48);
    assert_int_equal(after.computed - before.computed, 80 - 48 + 19);
    /* The answer as part of the next question. */
    memcpy(text + 80, a.token, 20 * sizeof *text);
    r.n = 100, r.user = &b, b = (answer){0};
    ask(e, &r);
    run_all(e);
    assert_int_equal(hpc_engine_counts_of(e).reused - after.reused, 96);
    assert_int_equal(b.n, 20);
    hpc_engine_close(e);
}

/* What repeats itself is guessed: fewer steps, the same answer. */
static void guesses_save_steps(void **state)
{
    char model[PATH_MAX];
    int32_t text[POSITIONS];
    answer one, two;
    hpc_engine_counts plain, ahead;

    model_in(model, *state, false);
    for (int guess = 0; guess < 9; guess += 8) {
        hpc_engine *e = guessing(model, 1, 512, 64, 1, guess);
        hpc_request r = request_of(text, 0, guess ? &two : &one);
        for (int i = 0; i < 60; i++) text[i] = i % 3;
        r.n = 60, r.most = MOST, r.sampling = hpc_sampling_greedy();
        ask(e, &r);
        run_all(e);
        *(guess ? &ahead : &plain) = hpc_engine_counts_of(e);
        hpc_engine_close(e);
    }
    same(&one, &two);
    assert_int_equal(plain.steps, MOST);
    assert_int_equal(plain.guessed, 0);
    assert_true(ahead.right > 0 && ahead.right <= ahead.guessed);
    assert_int_equal(ahead.steps, MOST - ahead.right);
    assert_int_equal(ahead.computed, 60 + MOST - 1 + ahead.guessed - ahead.right);
}

/* A text, of which the last tokens come thrice: as five once, and later as three, but otherwise. */
static const int32_t known[] = {1, 2,  3,  4, 5, 10, 11, 12, 13, 14, 9,  3,  4,
                                5, 20, 21, 1, 2, 3,  4,  5,  10, 11, 12, 13, 14};
enum { KNOWN = sizeof known / sizeof *known, ASKED_AT = 21 };

static const uint32_t *as_known(void *user)
{
    static uint32_t bits[VOCAB / 32 + 1];
    const answer *a = user;
    bits[0] = 1u << known[ASKED_AT + a->n];
    return bits;
}

/* Guesses use the longest match, not the latest: one step accepts all. */
static void guesses_go_by_what_is_most_alike(void **state)
{
    char model[PATH_MAX];
    int32_t text[POSITIONS];
    answer a;
    hpc_engine *e = guessing(model_in(model, *state, false), 1, 512, 64, 1, 8);
    hpc_request r = request_of(text, 0, &a);

    r.token = known, r.n = ASKED_AT, r.most = KNOWN - ASKED_AT;
    r.sampling = hpc_sampling_greedy(), r.allowed = as_known;
    ask(e, &r);
    run_all(e);
    assert_int_equal(a.n, KNOWN - ASKED_AT);
    assert_memory_equal(a.token, known + ASKED_AT, sizeof known - ASKED_AT * sizeof *known);
    assert_int_equal(hpc_engine_counts_of(e).guessed, KNOWN - ASKED_AT - 1);
    assert_int_equal(hpc_engine_counts_of(e).right, KNOWN - ASKED_AT - 1);
    assert_int_equal(hpc_engine_counts_of(e).steps, 1);
    hpc_engine_close(e);
}

/* Tokens 0, 1, 2 in alternation: every guess is right. */
static const uint32_t *in_turn(void *user)
{
    static uint32_t bits[VOCAB / 32 + 1];
    const answer *a = user;
    bits[0] = 1u << (a->from + a->n) % 3;
    return bits;
}

/* However much is guessed for one, each gets its token in each step. */
static void guesses_wait_for_the_others(void **state)
{
    enum { FOUR = 4 };
    char model[PATH_MAX];
    int32_t text[FOUR][POSITIONS];
    answer a[FOUR];
    bool busy = true;
    hpc_engine *e = guessing(model_in(model, *state, false), 1, 2048, 16, FOUR, 8);

    for (int k = 0; k < FOUR; k++) {
        hpc_request r = request_of(text[k], k, &a[k]);
        for (int i = 0; i < 60 + k; i++) text[k][i] = i % 3;
        r.n = 60 + k, r.most = MOST, r.sampling = hpc_sampling_greedy();
        r.allowed = in_turn, a[k].from = (int)r.n;
        ask(e, &r);
    }
    while (a[0].n == 0 || a[1].n == 0 || a[2].n == 0 || a[3].n == 0)
        test_ok(hpc_engine_step(e, &busy));
    assert_int_equal(a[0].ended, 0); /* a prompt does not wait for guesses either */
    for (int step = 0; step < 3; step++) {
        int before[FOUR];
        for (int k = 0; k < FOUR; k++) before[k] = a[k].n;
        test_ok(hpc_engine_step(e, &busy));
        for (int k = 0; k < FOUR; k++) assert_true(a[k].ended || a[k].n > before[k]);
    }
    assert_int_equal(hpc_engine_counts_of(e).right, hpc_engine_counts_of(e).guessed);
    hpc_engine_close(e);
}

static void answers_end(void **state)
{
    char model[PATH_MAX];
    int32_t text[POSITIONS], stop;
    answer a, b, c;
    int64_t id;
    bool busy;
    hpc_engine *e = engine_of(model_in(model, *state, false), 1, 512, 64, 2);
    hpc_request r = request_of(text, 3, &a), other, third;
    int32_t others[POSITIONS];

    r.sampling = hpc_sampling_greedy(), r.most = 10;
    ask(e, &r);
    run_all(e);
    assert_int_equal(a.how, HPC_FINISH_LENGTH);
    assert_int_equal(a.stop, -1);
    assert_int_equal(a.n, 10);
    int first = 0;
    while (a.token[first] != a.token[6]) first++;
    stop = a.token[6];
    r.stop = &stop, r.stop_n = 1, r.user = &b, b = (answer){0};
    ask(e, &r);
    run_all(e);
    assert_int_equal(b.how, HPC_FINISH_STOP);
    assert_int_equal(b.stop, stop);
    assert_int_equal(b.n, first);
    r.stop_n = 0, b = (answer){.end_at = 2};
    ask(e, &r);
    run_all(e);
    assert_int_equal(b.how, HPC_FINISH_CALLER);
    assert_int_equal(b.n, 2);
    /* Of three, of which two run, the one that waits and one that runs are cancelled. */
    b = (answer){0};
    ask(e, &r);
    other = request_of(others, 5, &a);
    test_ok(hpc_engine_submit(e, &other, &id));
    third = request_of(others, 6, &c);
    ask(e, &third);
    test_ok(hpc_engine_step(e, &busy));
    hpc_engine_cancel(e, id);
    hpc_engine_cancel(e, id + 1);
    hpc_engine_cancel(e, 12345);
    test_ok(hpc_engine_step(e, &busy));
    assert_true(a.how == HPC_FINISH_CANCELLED && a.ended == 1 && c.ended == 1 && c.n == 0);
    run_all(e);
    assert_true(b.n == 10 && b.how == HPC_FINISH_LENGTH);
    /* Up to the end of the model. */
    r.n = POSITIONS, r.most = 30, b = (answer){0};
    for (int i = 0; i < POSITIONS; i++) text[i] = i % 7;
    ask(e, &r);
    run_all(e);
    assert_true(b.n == 1 && b.how == HPC_FINISH_LENGTH);
    hpc_engine_close(e);
}

static const uint32_t *none(void *user)
{
    static const uint32_t bits[VOCAB / 32 + 1] = {0};
    (void)user;
    return bits;
}

/* A request at a dead end fails alone; the others are reported before its error. */
static void one_fails_alone(void **state)
{
    char model[PATH_MAX];
    int32_t text[POSITIONS], others[POSITIONS];
    answer a, b;
    bool busy;
    hpc_engine *e = engine_of(model_in(model, *state, false), 1, 512, 128, 4);
    hpc_request bad = request_of(text, 2, &a), good = request_of(others, 4, &b);

    bad.allowed = none;
    ask(e, &bad);
    ask(e, &good);
    test_fails(hpc_engine_step(e, &busy), HPC_E_STATE, "no token is left");
    assert_true(a.ended == 1 && a.how == HPC_FINISH_ERROR && b.n == 1);
    run_all(e);
    assert_int_equal(b.n, good.most);
    hpc_engine_close(e);
}

/* Stored blocks are used unchanged: results equal those of numbers rounded to the same blocks when
 * loaded. */
static void weights_as_they_are_stored(void **state)
{
    static const hpc_dtype types[] = {HPC_F32, HPC_F16, HPC_BF16, HPC_Q8_0, HPC_Q4_0, HPC_Q4_K};
    char model[PATH_MAX], file[PATH_MAX];
    int32_t text[POSITIONS];
    hpc_model_config c;

    for (size_t k = 0; k < 2 * sizeof types / sizeof types[0]; k++) {
        answer loaded, stored;
        hpc_engine *e = NULL;
        hpc_gguf_options o = {.dtype = types[k / 2], .read = first_values};
        if (k < 2) model_in(model, *state, k % 2);
        hpc_test_path(model, *state, k % 2 ? "tied" : "model");
        test_ok(hpc_model_config_read(&c, model));
        hpc_test_path(file, *state, "model.gguf");
        test_ok(hpc_weights_save_gguf(file, &c, &o));
        for (int as_stored = 0; as_stored < 2; as_stored++) {
            hpc_request r = request_of(text, 4, as_stored ? &stored : &loaded);
            test_ok(hpc_engine_open(
                &e, &(hpc_engine_options){.model = as_stored ? file : model,
                                          .weights = as_stored ? HPC_DTYPE_N : types[k / 2],
                                          .cache = HPC_F32}));
            ask(e, &r);
            run_all(e);
            hpc_engine_close(e);
        }
        same(&loaded, &stored);
    }
}

/* Memory that the host cannot look at, and commands that run later: one fence for each step. */
static void on_a_device_with_queues(void **state)
{
    char model[PATH_MAX];
    int32_t text[POSITIONS];
    answer host, queue;

    model_in(model, *state, true);
    for (int k = 0; k < 2; k++) {
        hpc_engine *e;
        hpc_request r = request_of(text, 4, k ? &queue : &host);
        test_ok(hpc_engine_open(&e, &(hpc_engine_options){.model = model,
                                                          .backend = k ? "mock" : "cpu",
                                                          .weights = HPC_Q8_0,
                                                          .cache = HPC_F32,
                                                          .batch_tokens = 16,
                                                          .guess = 3}));
        const int64_t before = hpc_engine_facts_of(e).fences;
        ask(e, &r);
        run_all(e);
        const int64_t fences = hpc_engine_facts_of(e).fences - before;
        assert_int_equal(fences,
                         k * hpc_engine_counts_of(e).steps); /* the host's memory needs none */
        hpc_engine_close(e);
    }
    same(&host, &queue);
}

static int whole_life(void *user)
{
    hpc_engine *e = NULL;
    int32_t text[POSITIONS], others[POSITIONS];
    answer a, b;
    hpc_request one = request_of(text, 2, &a), two = request_of(others, 7, &b);
    int64_t id;
    bool busy = true;
    int rc = hpc_engine_open(&e, &(hpc_engine_options){.model = user,
                                                       .threads = 2,
                                                       .weights = HPC_Q4_0,
                                                       .cache = HPC_F32,
                                                       .requests = 2,
                                                       .guess = 2});
    if (rc >= 0) rc = hpc_engine_submit(e, &one, &id);
    if (rc >= 0) rc = hpc_engine_submit(e, &two, &id);
    while (rc >= 0 && busy) rc = hpc_engine_step(e, &busy);
    hpc_engine_close(e);
    return rc;
}

static void memory_may_be_short_anywhere(void **state)
{
    char model[PATH_MAX];
    model_in(model, *state, true);
    assert_true(hpc_test_each_alloc(whole_life, model) > 50);
}

static void what_cannot_be_is_refused(void **state)
{
    char model[PATH_MAX];
    int32_t text[POSITIONS + 1] = {0};
    answer a;
    int64_t id;
    hpc_engine *e;
    hpc_request r = request_of(text, 1, &a);

    test_fails(hpc_engine_open(&e, &(hpc_engine_options){.model = "/nowhere"}), HPC_E_IO,
               "/nowhere");
    assert_null(e);
    e = engine_of(model_in(model, *state, false), 1, 64, 32, 1);
    r.n = 65;
    test_fails(hpc_engine_submit(e, &r, &id), HPC_E_ARG, "65 tokens: model and cache allow 64");
    r.n = 0;
    test_fails(hpc_engine_submit(e, &r, &id), HPC_E_ARG, "at least one prompt token");
    r.n = 5, text[3] = VOCAB;
    test_fails(hpc_engine_submit(e, &r, &id), HPC_E_ARG,
               "token 48: the vocabulary of the model has 48");
    text[3] = 0, r.sampling.top_p = 7;
    test_fails(hpc_engine_submit(e, &r, &id), HPC_E_ARG, "top-p 7");
    hpc_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(in_company_as_alone, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(answers_are_the_models, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(what_is_known_is_not_computed, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(guesses_save_steps, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(guesses_go_by_what_is_most_alike, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(guesses_wait_for_the_others, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(answers_end, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(one_fails_alone, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(weights_as_they_are_stored, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(on_a_device_with_queues, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(memory_may_be_short_anywhere, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_is_refused, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
