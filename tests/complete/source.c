/*
 * source.c: attribution of completions that repeat known code, none for others, and the effect of
 * the text before the cursor.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "infer/complete/source.h"
#include "tests/complete/at.h"
#include "tests/support/fault.h"
#include "tests/support/expect.h"

enum { MOST = 4 };

/* 144 tokens of code, twelve a line. */
#define LINE(k) "a" #k "[i] = b" #k "[i] + c" #k ";\n"
#define KNOWN                                                                                      \
    LINE(1)                                                                                        \
    LINE(2) LINE(3) LINE(4) LINE(5) LINE(6) LINE(7) LINE(8) LINE(9) LINE(10) LINE(11) LINE(12)
#define OTHER                                                                                      \
    "for (int j = 0; j < m; j++) sum += x[j] * y[j];\nif (sum > most) most = sum;\n"               \
    "for (int k = m; k-- > 0;) work(k, &left[k], right + k);\nreturn most;\n"
static const char known[] = KNOWN, other[] = OTHER;

typedef struct bench {
    hpc_buf file;
    hpc_passages *p;
    hpc_completions c;
} bench;

static void learn(hpc_passage_maker *m, bool again, const char *text, const char *repository,
                  const char *licence)
{
    hpc_tokens t = {0};
    assert_int_equal(hpc_lex(&t, text, strlen(text), HPC_LANGUAGE_C, false), 0);
    assert_int_equal(again ? hpc_passage_maker_learn(m, repository, licence, &t)
                           : hpc_passage_maker_pick(m, &t),
                     0);
    hpc_tokens_release(&t);
}

/* a/one has the known text, b/two both. */
static int set_up(void **state)
{
    bench *b = hpc_alloc(1, sizeof *b);
    hpc_passage_maker *m = NULL;
    hpc_error_clear();
    hpc_test_fault_reset();
    assert_int_equal(hpc_passage_maker_create(&m), 0);
    for (int again = 0; again < 2; again++) {
        learn(m, again, KNOWN, "a/one", "MIT");
        learn(m, again, OTHER KNOWN, "b/two", "Apache-2.0");
    }
    assert_int_equal(hpc_passage_maker_finish(&b->file, m), 0);
    hpc_passage_maker_free(m);
    test_ok(hpc_passages_parse(&b->p, (const uint8_t *)b->file.data, b->file.n, "known"));
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    bench *b = *state;
    hpc_passages_close(b->p);
    hpc_buf_release(&b->file);
    hpc_free(b);
    return 0;
}

static void put(hpc_completions *c, const char *const *text)
{
    *c = (hpc_completions){.item = hpc_alloc(MOST, sizeof *c->item)};
    for (; text[c->n]; c->n++) {
        assert_int_equal(hpc_buf_text(&c->item[c->n].text, text[c->n]), 0);
        c->item[c->n].times = c->n + 1;
    }
}

static void source_is(const hpc_completion_source *s, const char *repository, const char *licence,
                      int64_t line, int64_t end_line)
{
    assert_string_equal(s->repository, repository);
    assert_string_equal(s->licence, licence);
    assert_int_equal(s->line, line);
    assert_int_equal(s->end_line, end_line);
}

static void who_has_it(void **state)
{
    static const char *const text[] = {"once();\nx = 1;\n" KNOWN "twice();", OTHER, "return 0;",
                                       NULL};
    bench *b = *state;
    hpc_spot d = place_in("a.c", "void f(void)\n{\n    @\n}\n");
    put(&b->c, text);
    test_ok(hpc_completions_find_sources(&b->c, &d, b->p));
    const hpc_completion *c = b->c.item;
    assert_int_equal(c[0].source_n, 2);
    source_is(&c[0].source[0], "a/one", "MIT", 5, 16);
    source_is(&c[0].source[1], "b/two", "Apache-2.0", 5, 16);
    assert_int_equal(c[0].source[0].tokens, c[0].source[1].tokens);
    assert_in_range(c[0].source[0].tokens, 141, 144);
    assert_int_equal(c[1].source_n, 1);
    source_is(&c[1].source[0], "b/two", "Apache-2.0", 3, 6);
    assert_int_equal(c[2].source_n, 0);
    /* once more: the same, and not twice as many */
    test_ok(hpc_completions_find_sources(&b->c, &d, b->p));
    assert_int_equal(c[0].source_n, 2);
    assert_int_equal(hpc_completions_leave_out(&b->c), 3);
    assert_int_equal(b->c.n, 1);
    assert_string_equal(b->c.item[0].text.data, "return 0;");
    assert_int_equal(hpc_completions_leave_out(&b->c), 0);
    hpc_completions_release(&b->c);
    hpc_spot_close(&d);
}

/* The longest run comes first, where it stands does not matter. */
static void longest_first(void **state)
{
    static const char *const text[] = {LINE(1) LINE(2) LINE(3) LINE(4) "between();\n" OTHER, NULL};
    bench *b = *state;
    hpc_spot d = place_in("a.c", "@;\n");
    put(&b->c, text);
    test_ok(hpc_completions_find_sources(&b->c, &d, b->p));
    assert_int_equal(b->c.item[0].source_n, 3);
    source_is(&b->c.item[0].source[0], "b/two", "Apache-2.0", 6, 9);
    source_is(&b->c.item[0].source[1], "a/one", "MIT", 1, 4);
    source_is(&b->c.item[0].source[2], "b/two", "Apache-2.0", 1, 4);
    assert_true(b->c.item[0].source[0].tokens > b->c.item[0].source[1].tokens);
    assert_in_range(b->c.item[0].source[1].tokens, 45, 48);
    hpc_completions_release(&b->c);
    hpc_spot_close(&d);
}

/* The known text, cut by token `cut`, with the place there: n tokens of it are the completion. */
static int64_t sources_of(bench *b, int64_t cut, int64_t n, const char *name)
{
    hpc_tokens t = {0};
    hpc_buf text = {0};
    assert_int_equal(hpc_lex(&t, known, sizeof known - 1, HPC_LANGUAGE_C, false), 0);
    assert_in_range(cut + n, 0, t.n - 1);
    size_t at = t.item[cut].at, end = t.item[cut + n].at;
    hpc_buf_add(&text, known, at);
    hpc_buf_text(&text, "@\n");
    hpc_buf_add(&text, known + end, sizeof known - 1 - end); /* what follows does not count */
    hpc_spot d = place_in(name, text.data);
    char *completion = strndup(known + at, end - at);
    put(&b->c, (const char *const[]){completion, NULL});
    test_ok(hpc_completions_find_sources(&b->c, &d, b->p));
    n = b->c.item[0].source_n;
    hpc_completions_release(&b->c);
    hpc_spot_close(&d);
    free(completion);
    hpc_buf_release(&text);
    hpc_tokens_release(&t);
    return n;
}

/* At every place of the known text: 20 tokens are named with the 20 before them, 16 never are;
 * where nothing stands before, 40 are needed. */
static void what_stands_before(void **state)
{
    bench *b = *state;
    for (int64_t cut = 20; cut < 100; cut++) {
        assert_int_equal(sources_of(b, cut, 20, "a.c"), 2);
        assert_int_equal(sources_of(b, cut, 16, "a.c"), 0);
    }
    for (int64_t cut = 0; cut < 20; cut++) assert_int_equal(sources_of(b, cut, 40 - cut, "a.c"), 2);
    for (int64_t cut = 0; cut < 12; cut++) assert_int_equal(sources_of(b, cut, 24 - cut, "a.c"), 0);
    assert_int_equal(sources_of(b, 30, 20, "notes.txt"), 2);
}

/* Within a name: it is the completion's, whole. */
static void within_a_token(void **state)
{
    bench *b = *state;
    hpc_spot d = place_in("a.c", "a@");
    put(&b->c, (const char *const[]){known + 1, NULL});
    test_ok(hpc_completions_find_sources(&b->c, &d, b->p));
    assert_int_equal(b->c.item[0].source_n, 2);
    assert_int_equal(b->c.item[0].source[0].line, 1);
    hpc_completions_release(&b->c);
    hpc_spot_close(&d);
}

/* Comments are not code. */
static void in_a_comment(void **state)
{
    bench *b = *state;
    hpc_spot d = place_in("a.c", "/* @ */");
    put(&b->c, (const char *const[]){known, other, "", NULL});
    test_ok(hpc_completions_find_sources(&b->c, &d, b->p));
    for (int k = 0; k < 3; k++) assert_int_equal(b->c.item[k].source_n, 0);
    hpc_completions_release(&b->c);
    hpc_spot_close(&d);
}

static int find(void *user)
{
    bench *b = user;
    hpc_spot d = {.text = {.data = (char *)"", .n = 0}, .language = HPC_LANGUAGE_C};
    return hpc_completions_find_sources(&b->c, &d, b->p);
}

static void out_of_memory(void **state)
{
    bench *b = *state;
    put(&b->c, (const char *const[]){KNOWN OTHER, OTHER, NULL});
    assert_true(hpc_test_each_alloc(find, b) >= 5);
    assert_int_equal(b->c.item[0].source_n, 3);
    assert_int_equal(b->c.item[1].source_n, 1);
    hpc_completions_release(&b->c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(who_has_it),         TEST(longest_first),
                                       TEST(what_stands_before), TEST(within_a_token),
                                       TEST(in_a_comment),       TEST(out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
