/*
 * Tests of infer/complete/complete.c with the pilot model: streamed text equals the final text;
 * ranking, stopping, and the cost of an edit.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "infer/complete/priv.h"
#include "model/tokenizer.h"
#include "tests/complete/at.h"
#include "tests/support/fault.h"
#include "tests/support/expect.h"

#define PILOT "share/pilot.gguf"
#define FILE_                                                                                      \
    "#include <omp.h>\n\nvoid scale(int n, double a, double *x)\n{\n    @\n}\n\n"                  \
    "double dot(int n, const double *x, const double *y)\n{\n    double sum = 0.0;\n"              \
    "    #pragma omp parallel for reduction(+:sum)\n    for (int i = 0; i < n; i++)\n"             \
    "        sum += x[i] * y[i];\n    return sum;\n}\n"

static hpc_completer *opened(int64_t guess)
{
    hpc_completer *c;
    test_ok(hpc_completer_open(&c, &(hpc_engine_options){.model = PILOT,
                                                         .threads = 2,
                                                         .weights = HPC_DTYPE_N,
                                                         .cache_tokens = 4096,
                                                         .requests = 16,
                                                         .guess = guess}));
    return c;
}

/* For its tokenizer and for the engine. */
static void test_a_model_is_opened_once(void **state)
{
    (void)state;
    hpc_test_fault_reset();
    hpc_completer *c = opened(0);
    assert_int_equal(hpc_test_io_count(), 4); /* open, fstat, mmap, close */
    assert_int_equal(hpc_engine_facts_of(hpc_completer_engine(c)).threads, 2);
    hpc_completer_close(c);
}

static hpc_complete_request asked(const hpc_spot *d)
{
    return (hpc_complete_request){.spot = d,
                                  .path = "src/scale.c",
                                  .stop = HPC_STOP_FUNCTION,
                                  .most = 80,
                                  .samples = 1,
                                  .sampling = hpc_sampling_greedy()};
}

typedef struct told {
    hpc_buf text;
    int calls, leave_after;
    int cancel;
} told;

static void tell(void *user, const char *text, size_t n)
{
    told *t = user;
    assert_true(n > 0);
    test_ok(hpc_buf_add(&t->text, text, n));
    if (++t->calls == t->leave_after) t->cancel = 1;
}

static void test_what_is_told(void **state)
{
    hpc_completer *c = *state;
    hpc_spot d = place_in("scale.c", FILE_);
    hpc_complete_request r = asked(&d);
    told t = {0};
    hpc_completions out;
    r.ready = tell;
    r.user = &t;
    test_ok(hpc_complete(&out, c, &r));
    assert_int_equal(out.n, 1);
    const hpc_completion *x = &out.item[0];
    assert_true(x->text.n > 0 && x->tokens > 0 && x->logprob < 0 && x->times == 1);
    assert_string_equal(t.text.data, x->text.data);
    assert_true(t.calls > 1);
    assert_true(out.made >= x->tokens && out.prompt_tokens > 50);
    assert_int_equal(x->finish, HPC_COMPLETION_STOP);
    /* once more, and with guesses: the same */
    hpc_completer *guessing = opened(8);
    hpc_completions again;
    r.ready = NULL;
    test_ok(hpc_complete(&again, guessing, &r));
    assert_string_equal(again.item[0].text.data, x->text.data);
    assert_true(again.item[0].logprob == x->logprob);
    hpc_completions_release(&again);
    hpc_completer_close(guessing);
    hpc_completions_release(&out);
    hpc_buf_release(&t.text);
    hpc_spot_close(&d);
}

static void test_samples(void **state)
{
    hpc_completer *c = *state;
    hpc_spot d = place_in("scale.c", FILE_);
    hpc_complete_request r = asked(&d);
    hpc_completions out, again;
    int64_t times = 0;
    r.samples = 12;
    r.stop = HPC_STOP_LINE;
    r.sampling.temperature = 0.7;
    r.sampling.seed = 5;
    test_ok(hpc_complete(&out, c, &r));
    assert_in_range(out.n, 2, 12);
    for (int64_t k = 0; k < out.n; k++) {
        const hpc_completion *x = &out.item[k];
        times += x->times;
        assert_null(x->text.n ? strchr(x->text.data, '\n') : NULL);
        for (int64_t i = 0; i < k; i++)
            assert_false(x->text.n == out.item[i].text.n &&
                         memcmp(x->text.data ? x->text.data : "",
                                out.item[i].text.data ? out.item[i].text.data : "",
                                x->text.n) == 0);
        if (k == 0 || x->tokens == 0) continue;
        const hpc_completion *before = x - 1;
        assert_true(before->logprob / (double)before->tokens >= x->logprob / (double)x->tokens);
    }
    assert_int_equal(times, 12);
    test_ok(hpc_complete(&again, c, &r));
    assert_int_equal(again.n, out.n);
    for (int64_t k = 0; k < out.n; k++) {
        assert_int_equal(again.item[k].sample, out.item[k].sample);
        assert_true(again.item[k].logprob == out.item[k].logprob);
    }
    hpc_completions_release(&again);
    hpc_completions_release(&out);
    hpc_spot_close(&d);
}

static void test_leaving_off(void **state)
{
    hpc_completer *c = *state;
    hpc_spot d = place_in("scale.c", FILE_);
    hpc_complete_request r = asked(&d);
    told t = {.leave_after = 1};
    hpc_completions out;
    r.ready = tell;
    r.user = &t;
    r.cancel = &t.cancel;
    test_ok(hpc_complete(&out, c, &r));
    assert_int_equal(out.n, 1);
    assert_string_equal(t.text.data, out.item[0].text.data);
    assert_int_equal(out.item[0].finish, HPC_COMPLETION_CANCELLED);
    assert_int_equal(hpc_completer_counts(c).running, 0);
    assert_int_equal(hpc_completer_counts(c).waiting, 0);
    hpc_completions_release(&out);
    t.cancel = 1; /* before anything has begun */
    r.ready = NULL;
    test_ok(hpc_complete(&out, c, &r));
    assert_true(out.n == 1 && out.item[0].text.n == 0 && out.made == 0);
    hpc_completions_release(&out);
    hpc_buf_release(&t.text);
    hpc_spot_close(&d);
}

/* A line in the middle of what stands before the place is edited: what follows the place, and what
 * stands before that line, are not computed again. */
static void test_what_an_edit_costs(void **state)
{
    enum { LINES = 100, EDITED = 70 };
    hpc_completer *c = *state;
    hpc_buf text = {0};
    hpc_completions out;
    int64_t behind = 0;
    for (int k = 0; k < LINES; k++) hpc_buf_printf(&text, "static int a%d(int x);\n", k);
    size_t edited = 0;
    for (int k = 0; k < EDITED; k++) edited = complete_line_end(text.data, text.n, edited) + 1;
    hpc_buf_text(&text, "@\nint last(void);\nint very_last(void);\n");
    hpc_spot d = place_in("a.c", text.data);
    hpc_complete_request r = asked(&d);
    r.most = 1;
    test_ok(hpc_complete(&out, c, &r));
    const int64_t prompt = out.prompt_tokens, before = hpc_completer_counts(c).computed;
    hpc_completions_release(&out);
    d.text.data[edited + 7] = 'I'; /* "static Int" */
    test_ok(hpc_complete(&out, c, &r));
    const int64_t computed = hpc_completer_counts(c).computed - before;
    hpc_tokenizer *t = NULL;
    hpc_tokenizer_scratch *s = NULL;
    hpc_ids ids = {0};
    test_ok(hpc_model_tokenizer(&t, PILOT));
    test_ok(hpc_tokenizer_scratch_create(&s, t));
    test_ok(
        hpc_tokenizer_encode(&ids, t, s, d.text.data + edited, d.at - edited, HPC_ENCODE_INNER));
    behind = ids.n;
    assert_true(prompt > 500 && behind < prompt / 2);
    assert_in_range(computed, behind - 8, behind + 16 + 8); /* a page's tokens go as one */
    hpc_free(ids.id);
    hpc_tokenizer_scratch_free(s);
    hpc_tokenizer_close(t);
    hpc_completions_release(&out);
    hpc_spot_close(&d);
    hpc_buf_release(&text);
}

static void refused(hpc_completer *c, const hpc_complete_request *r, const char *part)
{
    hpc_completions out;
    test_fails(hpc_complete(&out, c, r), HPC_E_ARG, part);
    assert_int_equal(out.n, 0);
    assert_int_equal(hpc_completer_counts(c).waiting, 0);
}

static void test_mistakes(void **state)
{
    hpc_completer *c = *state;
    hpc_spot d = place_in("scale.c", FILE_);
    hpc_complete_request r = asked(&d);
    r.samples = 0;
    refused(c, &r, "at least one sample and one token");
    r = asked(&d);
    r.most = 0;
    refused(c, &r, "at least one sample and one token");
    r = asked(&d);
    r.most = 1024;
    refused(c, &r, "1024 new tokens: model and cache allow 1024 including the prompt");
    r = asked(&d);
    r.sampling.temperature = -1;
    refused(c, &r, "temperature");
    hpc_completer *none;
    test_fails(hpc_completer_open(&none, &(hpc_engine_options){.model = "no/such"}), HPC_E_IO,
               "no/such");
    assert_null(none);
    hpc_spot_close(&d);
}

static int complete(void *user)
{
    hpc_completer *c = user;
    hpc_spot d = {.text = {.data = (char *)"int f(void) {\n\n}\n", .n = 17},
                  .at = 14,
                  .language = HPC_LANGUAGE_C};
    hpc_complete_request r = asked(&d);
    hpc_completions out;
    r.most = 3;
    r.samples = 2;
    int rc = hpc_complete(&out, c, &r);
    hpc_completions_release(&out);
    return rc;
}

static void test_each_allocation_fails(void **state)
{
    assert_true(hpc_test_each_alloc(complete, *state) >= 10);
    assert_int_equal(hpc_completer_counts(*state).running, 0);
}

static int set_up(void **state)
{
    *state = opened(0);
    return 0;
}

static int tear_down(void **state)
{
    hpc_completer_close(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_told),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_leaving_off),
        cmocka_unit_test(test_what_an_edit_costs),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_each_allocation_fails),
        cmocka_unit_test(test_a_model_is_opened_once),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
