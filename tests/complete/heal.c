/*
 * Tests of infer/complete/heal.c: tokens removed before the cursor, for every tokenizer, and the
 * completions with the pilot model, greedy and sampled, with speculation and grammars.
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

static const char *const files[] = {
    PILOT,
    "tests/fixtures/tokenizer/llama.model",
    "tests/fixtures/tokenizer/ours.model",
    "tests/fixtures/byte_level/gpt2.json",
    "tests/fixtures/byte_level/qwen2.json",
    "tests/fixtures/byte_level/starcoder2.json",
    "tests/fixtures/byte_level/deepseek_coder.json",
};
enum { FILES = sizeof files / sizeof *files };

static const char code[] =
    "static int scale(int n, double *restrict value)\n{\n    double total = 0.0;\n"
    "    #pragma omp parallel for reduction(+ : total)\n"
    "    for (int index = 0; index < n; index++) {\n"
    "        total += value[index]; /* \u00e9t\u00e9 \u2192 */\n\tvalue[index] *= 2;\n    }\n"
    "    return total > 1e-6 && !isnan(total) ? n : -1;\n}\n";

typedef struct with {
    hpc_tokenizer *t;
    hpc_tokenizer_scratch *s;
    hpc_vocabulary *v;
} with;

static void begin(with *w, const char *file)
{
    test_ok(hpc_model_tokenizer(&w->t, file));
    test_ok(hpc_tokenizer_scratch_create(&w->s, w->t));
    test_ok(hpc_vocabulary_create(&w->v, w->t, 0));
}

static void end(with *w)
{
    hpc_vocabulary_free(w->v);
    hpc_tokenizer_scratch_free(w->s);
    hpc_tokenizer_close(w->t);
}

static size_t bytes_of(const with *w, const int32_t *id, int64_t n)
{
    size_t sum = 0, m;
    for (int64_t k = 0; k < n; k++) hpc_vocabulary_text(w->v, id[k], &m), sum += m;
    return sum;
}

/* Does a token of the whole text contain the cursor, and start on its line within the last three
 * tokens before it? */
static bool is_cut(const with *w, const hpc_ids *whole, const hpc_ids *before, size_t at)
{
    int64_t last = before->n < 3 ? before->n : 3;
    size_t from = at - bytes_of(w, before->id + before->n - last, last), sum = 0, m;
    size_t line = complete_line_begin(code, at);
    for (int64_t k = 0; k < whole->n && sum < at; k++, sum += m) {
        hpc_vocabulary_text(w->v, whole->id[k], &m);
        if (sum + m > at) return sum >= from && sum >= line;
    }
    return false;
}

static void test_what_is_taken_back(void **state)
{
    (void)state;
    int cuts = 0, untouched = 0;
    for (int f = 0; f < FILES; f++) {
        with w;
        hpc_ids whole = {0}, ids = {0};
        begin(&w, files[f]);
        test_ok(hpc_tokenizer_encode(&whole, w.t, w.s, code, sizeof code - 1, HPC_ENCODE_INNER));
        for (size_t at = 1; at < sizeof code - 1; at++) {
            size_t owed;
            if (((uint8_t)code[at] & 0xc0) == 0x80) continue;
            ids.n = 0;
            test_ok(hpc_tokenizer_encode(&ids, w.t, w.s, code, at, HPC_ENCODE_INNER));
            int64_t taken = complete_heal(&owed, w.v, code, at, ids.id, ids.n);
            assert_in_range(taken, 0, ids.n < 3 ? ids.n : 3);
            assert_int_equal(owed, bytes_of(&w, ids.id + ids.n - taken, taken));
            assert_true(taken == 0 || ((uint8_t)code[at - owed] & 0xc0) != 0x80);
            /* the token that is cut there is one of those that may come */
            bool cut = complete_heal_may(code, at) && is_cut(&w, &whole, &ids, at);
            if (cut && taken == 0) print_error("%s: byte %zu\n", files[f], at);
            if (cut) assert_true(taken > 0);
            cuts += cut;
            untouched += taken == 0;
            if (strchr("\n\t;{}", code[at - 1])) assert_int_equal(taken, 0);
        }
        hpc_free(whole.id);
        hpc_free(ids.id);
        end(&w);
    }
    assert_true(cuts > 300 && untouched > 300);
}

/* By the tokens of the model that ships. */
static void test_places(void **state)
{
    (void)state;
    static const struct {
        const char *text, *owed;
    } places[] = {{"for (i = 0; i < n; i+", " i+"},
                  {"x = ", " "},
                  {"    x", "    x"}, /* three blanks, and one of the name's */
                  {"    ", ""},
                  {"f();", ""},
                  {"{", ""},
                  {"\n", ""},
                  {"", ""}};
    with w;
    hpc_ids ids = {0};
    begin(&w, PILOT);
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        const char *text = places[k].text;
        size_t owed, n = strlen(text), m = strlen(places[k].owed);
        ids.n = 0;
        test_ok(hpc_tokenizer_encode(&ids, w.t, w.s, text, n, HPC_ENCODE_INNER));
        int64_t taken = complete_heal(&owed, w.v, text, n, ids.id, ids.n);
        assert_int_equal(owed, m);
        assert_int_equal(taken > 0, m > 0);
        assert_memory_equal(text + n - owed, places[k].owed, m);
    }
    hpc_free(ids.id);
    end(&w);
}

/* ---- completions ------------------------------------------------------------------------- */

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

static hpc_complete_request asked(const hpc_spot *d)
{
    return (hpc_complete_request){.spot = d,
                                  .path = "a.c",
                                  .stop = HPC_STOP_LINE,
                                  .most = 24,
                                  .samples = 1,
                                  .sampling = hpc_sampling_greedy()};
}

#define LOOPS                                                                                      \
    "void zero(int n, double *x)\n{\n    for (int i = 0; i < n; i++)\n        x[i] = 0;\n}\n\n"    \
    "void one(int n, double *x)\n{\n"

static void completes(hpc_completer *c, const char *file, const char *expected)
{
    hpc_spot d = place_in("a.c", file);
    hpc_complete_request r = asked(&d);
    hpc_completions out;
    test_ok(hpc_complete(&out, c, &r));
    assert_int_equal(out.n, 1);
    assert_string_equal(out.item[0].text.data, expected);
    assert_true(out.item[0].tokens > 0 && out.item[0].logprob < 0);
    hpc_completions_release(&out);
    hpc_spot_close(&d);
}

/* A loop as the one above it, whatever of it is there: with what follows it and without. */
static void test_the_rest_of_a_line(void **state)
{
    static const char line[] = "    for (int i = 0; i < n; i++)";
    const size_t from = strlen("    for (int i = 0; i < n"), n = strlen(line);
    for (size_t at = from; at < n; at++)
        for (int fills = 0; fills < 2; fills++) {
            char text[512];
            if (line[at - 1] == ';' || line[at - 1] == ')') continue;
            snprintf(text, sizeof text, LOOPS "%.*s@%s", (int)at, line,
                     fills ? "\n        x[i] = 1;\n}\n" : "");
            completes(*state, text, line + at);
        }
}

/* The requested number of tokens, not counting tokens of required text only. */
static void test_as_many_as_wanted(void **state)
{
    hpc_spot d = place_in("a.c", LOOPS "    for (int i = 0; i < n; i+@\n        x[i] = 1;\n}\n");
    hpc_complete_request r = asked(&d);
    hpc_completions out;
    r.most = 1;
    test_ok(hpc_complete(&out, *state, &r));
    assert_int_equal(out.item[0].tokens, 1);
    assert_int_equal(out.made, 1);
    assert_string_equal(out.item[0].text.data, "+)");
    assert_int_equal(out.item[0].finish, HPC_COMPLETION_LENGTH);
    hpc_completions_release(&out);
    hpc_spot_close(&d);
}

static void are_the_same(const hpc_completions *a, const hpc_completions *b)
{
    assert_int_equal(a->n, b->n);
    for (int64_t k = 0; k < a->n; k++) {
        const hpc_completion *x = &a->item[k], *y = &b->item[k];
        assert_int_equal(x->text.n, y->text.n);
        assert_memory_equal(x->text.data ? x->text.data : "", y->text.data ? y->text.data : "",
                            x->text.n);
        assert_true(x->logprob == y->logprob);
        assert_int_equal(x->sample, y->sample);
    }
}

/* Guesses change no bit, of the likeliest and of those drawn. */
static void test_guesses(void **state)
{
    hpc_completer *guessing = opened(8);
    int64_t right = 0;
    for (int drawn = 0; drawn < 2; drawn++) {
        hpc_spot d = place_in("a.c", LOOPS "    for (int i@\n        x[i] = 1;\n}\n");
        hpc_complete_request r = asked(&d);
        hpc_completions plain, guessed;
        if (drawn) r.samples = 8, r.sampling.temperature = 1, r.sampling.seed = 3;
        test_ok(hpc_complete(&plain, *state, &r));
        test_ok(hpc_complete(&guessed, guessing, &r));
        are_the_same(&plain, &guessed);
        assert_true(drawn ? plain.n > 1 : plain.item[0].text.n > 0);
        right += hpc_completer_counts(guessing).right;
        hpc_completions_release(&plain);
        hpc_completions_release(&guessed);
        hpc_spot_close(&d);
    }
    assert_true(right > 0);
    hpc_completer_close(guessing);
}

/* A rule applies after the cursor; required text comes before that. */
static void test_rules(void **state)
{
    hpc_spot d = place_in("a.c", LOOPS "    #pragma omp paral@");
    hpc_grammar_rule rule = HPC_GRAMMAR_RULE_DEFAULTS;
    hpc_complete_request r = asked(&d);
    hpc_completions out;
    bool complete;
    int lel = 0; /* or the line continues after a backslash */
    rule.kind = HPC_GRAMMAR_DIRECTIVE;
    rule.bare = true;
    r.rule = &rule;
    r.samples = 8;
    r.sampling.temperature = 1.5;
    test_ok(hpc_complete(&out, *state, &r));
    for (int64_t k = 0; k < out.n; k++) {
        const hpc_buf *text = &out.item[k].text;
        lel += text->n >= 3 && memcmp(text->data, "lel", 3) == 0;
        assert_true(hpc_grammar_accepts(&rule, d.text.data, d.at, text->data, text->n, &complete));
    }
    assert_true(lel >= 2);
    hpc_completions_release(&out);
    hpc_spot_close(&d);
}

/* Without required text, and for texts to be continued unchanged, prompts are unchanged. */
static void test_what_stays(void **state)
{
    static const struct {
        const char *text;
        bool raw, owes;
    } places[] = {{LOOPS "    @", false, false},
                  {LOOPS "    f();@", false, false},
                  {LOOPS "    for (int i = 0; i < n; i+@", true, false},
                  {LOOPS "    for (int i = 0; i < n; i+@", false, true}};
    with w;
    complete_prompter p;
    (void)state;
    begin(&w, PILOT);
    test_ok(complete_prompter_open(&p, w.t));
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        hpc_spot d = place_in("a.c", places[k].text);
        hpc_complete_request r = asked(&d);
        hpc_ids was = {0}, is = {0};
        r.raw = places[k].raw;
        p.vocabulary = NULL;
        test_ok(complete_prompt(&was, &p, &r, 512));
        assert_int_equal(p.owed, 0);
        p.vocabulary = w.v;
        test_ok(complete_prompt(&is, &p, &r, 512));
        assert_int_equal(p.owed > 0, places[k].owes);
        assert_int_equal(is.n < was.n, places[k].owes);
        assert_memory_equal(is.id, was.id, (size_t)is.n * sizeof *is.id);
        hpc_free(was.id);
        hpc_free(is.id);
        hpc_spot_close(&d);
    }
    complete_prompter_close(&p);
    end(&w);
}

static int complete(void *user)
{
    hpc_completer *c = user;
    hpc_spot d = {.text = {.data = (char *)"int f(void) { retu\n}\n", .n = 21},
                  .at = 18,
                  .language = HPC_LANGUAGE_C};
    hpc_complete_request r = asked(&d);
    hpc_completions out;
    r.most = 3;
    r.samples = 2;
    int rc = hpc_complete(&out, c, &r);
    if (rc >= 0) assert_true(out.item[0].text.n > 2 && memcmp(out.item[0].text.data, "rn", 2) == 0);
    hpc_completions_release(&out);
    return rc;
}

static void test_each_allocation_fails(void **state)
{
    assert_true(hpc_test_each_alloc(complete, *state) >= 20);
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
        cmocka_unit_test(test_what_is_taken_back),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_each_allocation_fails),
        cmocka_unit_test(test_the_rest_of_a_line),
        cmocka_unit_test(test_as_many_as_wanted),
        cmocka_unit_test(test_guesses),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_what_stays),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
