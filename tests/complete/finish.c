/*
 * Tests of infer/complete/answer.c: how completions finish, with models of chosen output.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "infer/complete/verify.h"
#include "tests/complete/at.h"
#include "tests/support/chain.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

#define OPEN_FUNCTION "int f(int a)\n{\n@"

typedef struct finished {
    hpc_completer *c;
    hpc_spot d;
    hpc_complete_request r;
    hpc_completions out;
    int cancel;
} finished;

static void begin(finished *x, void **state, const hpc_test_phrase *phrase, int n, const char *file)
{
    char dir[PATH_MAX];
    hpc_test_chain(hpc_test_path(dir, *state, "model"), phrase, n);
    *x = (finished){.d = place_in("a.c", file)};
    test_ok(hpc_completer_open(
        &x->c, &(hpc_engine_options){
                   .model = dir, .threads = 1, .weights = HPC_DTYPE_N, .cache_tokens = 2048}));
    x->r = (hpc_complete_request){.spot = &x->d,
                                  .stop = HPC_STOP_FUNCTION,
                                  .most = 300,
                                  .samples = 1,
                                  .close = true,
                                  .sampling = hpc_sampling_greedy()};
}

static const hpc_completion *complete(finished *x)
{
    hpc_completions_release(&x->out);
    test_ok(hpc_complete(&x->out, x->c, &x->r));
    assert_int_equal(x->out.n, 1);
    return &x->out.item[0];
}

static void end(finished *x)
{
    hpc_completions_release(&x->out);
    hpc_completer_close(x->c);
    hpc_spot_close(&x->d);
}

static void is(const hpc_completion *c, hpc_completion_finish finish, int64_t open,
               const char *text)
{
    assert_int_equal(c->finish, finish);
    assert_int_equal(c->open, open);
    assert_string_equal(c->text.n > 0 ? c->text.data : "", text);
}

static void a_function_that_closes_stops(void **state)
{
    static const hpc_test_phrase phrase[] = {
        {"    a += 1;\n", {2}}, {"    return a;\n", {3}}, {"}\n", {4}}, {"\nint g", {4}}};
    finished x;
    begin(&x, state, phrase, 4, OPEN_FUNCTION);
    is(complete(&x), HPC_COMPLETION_STOP, 0, "    a += 1;\n    return a;\n}");
    assert_int_equal(x.out.item[0].retries, 0);
    end(&x);
}

static void a_model_that_ends_at_once_adds_nothing(void **state)
{
    static const hpc_test_phrase phrase[] = {{"\n\n", {HPC_CHAIN_END}}};
    finished x;
    begin(&x, state, phrase, 1, "int f(int a)\n{\n    return a;\n}\n@");
    is(complete(&x), HPC_COMPLETION_STOP, 0, "");
    end(&x);
}

/* A different line every time, as far as the chain goes, then the first again. */
static void the_token_limit_is_length(void **state)
{
    static const hpc_test_phrase phrase[] = {
        {"    a += 1;\n", {2}}, {"    a *= 2;\n", {3}}, {"    a -= 3;\n", {1}}};
    finished x;
    begin(&x, state, phrase, 3, OPEN_FUNCTION);
    x.r.most = 2;
    x.r.close = false;
    is(complete(&x), HPC_COMPLETION_LENGTH, 1, "    a += 1;\n    a *= 2;");
    x.r.close = true;
    is(complete(&x), HPC_COMPLETION_FORCED, 0, "    a += 1;\n    a *= 2;\n}");
    end(&x);
}

static void forced_closing_drops_an_unfinished_statement(void **state)
{
    static const hpc_test_phrase phrase[] = {
        {"    if (a) {\n", {2}}, {"        a += 1;\n", {3}}, {"        a = f(a,", {3}}};
    finished x;
    begin(&x, state, phrase, 3, OPEN_FUNCTION);
    x.r.most = 3;
    is(complete(&x), HPC_COMPLETION_FORCED, 0, "    if (a) {\n        a += 1;\n    }\n}");
    end(&x);
}

static void a_repetition_is_sampled_again(void **state)
{
    /* Greedy it says one line for ever; sampled it leaves that line in one of two cases. */
    static const hpc_test_phrase phrase[] = {
        {"    a += 1;\n", {1, 2}}, {"    return a;\n", {3}}, {"}\n", {HPC_CHAIN_END}}};
    finished x;
    begin(&x, state, phrase, 3, OPEN_FUNCTION);
    const hpc_completion *c = complete(&x);
    assert_int_equal(c->finish, HPC_COMPLETION_STOP);
    assert_true(c->retries >= 1);
    assert_int_equal(c->open, 0);
    assert_non_null(strstr(c->text.data, "    return a;\n}"));
    end(&x);
}

static void a_model_that_only_repeats_is_told(void **state)
{
    static const hpc_test_phrase phrase[] = {{"\n    sum += a;", {1}}};
    finished x;
    begin(&x, state, phrase, 1, "int f(int a)\n{@");
    x.r.close = false;
    const hpc_completion *c = complete(&x);
    is(c, HPC_COMPLETION_REPETITION, 1, "\n    sum += a;");
    assert_int_equal(c->retries, 3);
    x.r.close = true;
    is(complete(&x), HPC_COMPLETION_FORCED, 0, "\n    sum += a;\n}");
    end(&x);
}

static void a_bracket_that_closes_nothing_is_unbalanced(void **state)
{
    static const hpc_test_phrase phrase[] = {{"    a += 1;\n    a = a);\n", {1}}};
    finished x;
    begin(&x, state, phrase, 1, OPEN_FUNCTION);
    x.r.close = false;
    const hpc_completion *c = complete(&x);
    assert_int_equal(c->finish, HPC_COMPLETION_UNBALANCED);
    assert_int_equal(c->open, 1);
    x.r.close = true;
    is(complete(&x), HPC_COMPLETION_FORCED, 0, "    a += 1;\n}");
    end(&x);
}

static void a_model_that_ends_early_is_closed(void **state)
{
    static const hpc_test_phrase phrase[] = {{"    a += 1;\n", {HPC_CHAIN_END}}};
    finished x;
    begin(&x, state, phrase, 1, OPEN_FUNCTION);
    x.r.close = false;
    is(complete(&x), HPC_COMPLETION_STOP, 1, "    a += 1;");
    x.r.close = true;
    is(complete(&x), HPC_COMPLETION_FORCED, 0, "    a += 1;\n}");
    end(&x);
}

/* Greedy it writes three statements; sampled it ends in one that never closes. */
static void the_best_attempt_is_kept(void **state)
{
    static const hpc_test_phrase phrase[] = {
        {"    ", {2, 3}},
        {"a += 1;\n    a *= 2;\n    a -= 3;\n    a = a);", {1}},
        {"a = (b + ", {3}}};
    finished x;
    begin(&x, state, phrase, 3, OPEN_FUNCTION);
    for (uint64_t seed = 0; seed < 8; seed++) {
        x.r.sampling.seed = seed;
        const hpc_completion *c = complete(&x);
        assert_int_equal(c->finish, HPC_COMPLETION_FORCED);
        assert_non_null(strstr(c->text.data, "    a += 1;\n    a *= 2;\n    a -= 3;\n"));
        assert_true(c->tokens > 0);
    }
    end(&x);
}

static void the_time_limit_is_time(void **state)
{
    static const hpc_test_phrase phrase[] = {
        {"    a += 1;\n", {2}}, {"    a *= 2;\n", {3}}, {"    a -= 3;\n", {1}}};
    finished x;
    begin(&x, state, phrase, 3, OPEN_FUNCTION);
    x.r.close = false;
    x.r.until_ns = 1;
    is(complete(&x), HPC_COMPLETION_TIME, 1, "    a += 1;");
    end(&x);
}

static void a_cancelled_one_says_so(void **state)
{
    static const hpc_test_phrase phrase[] = {{"    a += 1;\n", {1}}};
    finished x;
    begin(&x, state, phrase, 1, OPEN_FUNCTION);
    x.cancel = 1;
    x.r.cancel = &x.cancel;
    is(complete(&x), HPC_COMPLETION_CANCELLED, 1, "");
    end(&x);
}

/* New text may exceed the token budget until the function closes. */
static void a_long_text_gets_more_tokens(void **state)
{
    enum { LINES = 280 };
    static hpc_test_phrase phrase[LINES + 1];
    static char text[LINES][32];
    finished x;
    for (int k = 0; k < LINES; k++) {
        snprintf(text[k], sizeof text[k], "    a += %d;\n", k);
        phrase[k] = (hpc_test_phrase){text[k], {k + 2}};
    }
    phrase[LINES] = (hpc_test_phrase){"}\n", {HPC_CHAIN_END}};
    begin(&x, state, phrase, LINES + 1, OPEN_FUNCTION);
    const hpc_completion *c = complete(&x);
    assert_int_equal(c->finish, HPC_COMPLETION_STOP);
    assert_int_equal(c->tokens, LINES + 1);
    assert_int_equal(c->open, 0);
    end(&x);
}

/* ---- drawing until one is good ----------------------------------------------------------------
 */

/* Greedy it does no work, which no other continuation mends. */
static void draws_until_one_is_good(void **state)
{
    static const hpc_test_phrase phrase[] = {{"\n\n", {2, 4}},
                                             {"    return 0;\n", {3}},
                                             {"}\n", {HPC_CHAIN_END}},
                                             {"    return a + 1;\n", {3}}};
    hpc_completions_checker *v;
    finished x;
    begin(&x, state, phrase, 4, "int f(int a)\n{@");
    x.r.samples = 8;
    test_ok(hpc_completions_checker_open(
        &v, &x.d, &(hpc_completions_verify_options){.stop = HPC_STOP_FUNCTION, .path = "a.c"}));
    test_ok(hpc_complete_until_good(&x.out, x.c, &x.r, v));
    assert_in_range(x.out.drawn, 2, 8);
    assert_int_equal(x.out.n, 2);
    assert_true(hpc_completion_is_good(&x.out.item[0]));
    is(&x.out.item[0], HPC_COMPLETION_STOP, 0, "\n\n    return a + 1;\n}");
    assert_true(hpc_completion_has_failed(&x.out.item[1], "body"));
    hpc_completions_checker_close(v);
    end(&x);
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_function_that_closes_stops),
        TEST(a_model_that_ends_at_once_adds_nothing),
        TEST(the_token_limit_is_length),
        TEST(forced_closing_drops_an_unfinished_statement),
        TEST(a_repetition_is_sampled_again),
        TEST(a_model_that_only_repeats_is_told),
        TEST(a_bracket_that_closes_nothing_is_unbalanced),
        TEST(a_model_that_ends_early_is_closed),
        TEST(the_best_attempt_is_kept),
        TEST(the_time_limit_is_time),
        TEST(a_cancelled_one_says_so),
        TEST(a_long_text_gets_more_tokens),
        TEST(draws_until_one_is_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
