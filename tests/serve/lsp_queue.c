/*
 * Tests of the queues of the language server, and of hints that come late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "infer/serve/lsp_priv.h"
#include "tests/support/expect.h"

static const int64_t MINUTE_NS = 60 * (int64_t)1000000000;

static char *copy(const char *text)
{
    char *to = hpc_alloc(strlen(text) + 1, 1);
    assert_non_null(to);
    return strcpy(to, text);
}

typedef struct seen {
    pthread_mutex_t lock;
    pthread_cond_t change;
    char uri[4][32];
    int n;
} seen;

/* The queue's server is never looked at: it carries the record of what ran. */
static void note(lsp_server *s, lsp_job *j)
{
    seen *to = (seen *)s->completer;
    pthread_mutex_lock(&to->lock);
    if (to->n < 4) snprintf(to->uri[to->n++], sizeof to->uri[0], "%s", j->uri);
    pthread_cond_signal(&to->change);
    pthread_mutex_unlock(&to->lock);
}

static void put(lsp_queue *q, const char *uri, int64_t due_ns)
{
    lsp_job *j = hpc_alloc(1, sizeof *j);
    assert_non_null(j);
    *j = (lsp_job){.kind = LSP_PUSH_DIAGNOSTICS, .uri = copy(uri), .due_ns = due_ns};
    lsp_queue_put(q, j);
}

static void job_that_is_due_does_not_wait_for_one_that_is_not(void **state)
{
    seen s = {.n = 0};
    lsp_server server = {.completer = (struct lsp_completer *)&s};
    lsp_queue q;
    (void)state;
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.change, NULL);
    test_ok(lsp_queue_open(&q, &server, note, NULL));
    put(&q, "later", hpc_clock_ns() + MINUTE_NS);
    put(&q, "soon", hpc_clock_ns() + 50 * (int64_t)1000000);
    put(&q, "now", 0);
    pthread_mutex_lock(&s.lock);
    while (s.n < 2) pthread_cond_wait(&s.change, &s.lock);
    assert_string_equal(s.uri[0], "now");
    assert_string_equal(s.uri[1], "soon");
    pthread_mutex_unlock(&s.lock);
    lsp_queue_close(&q);
    assert_int_equal(s.n, 2);
    pthread_mutex_destroy(&s.lock);
    pthread_cond_destroy(&s.change);
}

/* ---- hints ---------------------------------------------------------------------------------- */

static lsp_hints one_hint(int64_t line)
{
    lsp_hints made = {0};
    test_ok(hpc_grow(&made.item, &made.cap, 1, sizeof *made.item));
    made.item[made.n++] = (lsp_hint){.line = line, .message = copy("slower")};
    return made;
}

static bool take(lsp_server *s, int64_t number, int64_t line)
{
    lsp_hints made = one_hint(line);
    return lsp_hints_take(s, "a", number, &made);
}

static void hints_of_a_closed_document_are_not_shown(void **state)
{
    lsp_server s = {.initialized = true};
    (void)state;
    lsp_hints_open(&s);
    const int64_t number = lsp_hints_expect(&s, "a");
    assert_false(lsp_hints_drop(&s, "a")); /* closed as the analysis ends */
    assert_false(take(&s, number, 3));
    assert_false(lsp_hints_drop(&s, "a"));
    lsp_hints_close(&s);
}

static void hints_of_an_earlier_save_are_not_shown(void **state)
{
    lsp_server s = {.initialized = true};
    (void)state;
    lsp_hints_open(&s);
    const int64_t first = lsp_hints_expect(&s, "a"), second = lsp_hints_expect(&s, "a");
    assert_false(take(&s, first, 3));
    assert_true(take(&s, second, 3));
    assert_false(take(&s, second, 3));
    assert_true(lsp_hints_drop(&s, "a"));
    lsp_hints_close(&s);
}

static void hints_move_with_edits_since_their_save(void **state)
{
    const hpc_text_position top = {0, 0}, next = {1, 0};
    lsp_server s = {.initialized = true};
    (void)state;
    lsp_hints_open(&s);
    lsp_hints_edit(&s, "a", top, top, "\n\n"); /* before the save */
    const int64_t number = lsp_hints_expect(&s, "a");
    assert_false(lsp_hints_edit(&s, "a", top, top, "\n\n\n"));
    assert_false(lsp_hints_edit(&s, "a", top, next, ""));
    assert_true(take(&s, number, 5));
    assert_int_equal(s.hints.item[0].item[0].line, 7);
    assert_true(lsp_hints_edit(&s, "a", top, top, "\n"));
    assert_int_equal(s.hints.item[0].item[0].line, 8);
    lsp_hints_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_that_is_due_does_not_wait_for_one_that_is_not),
        cmocka_unit_test(hints_of_a_closed_document_are_not_shown),
        cmocka_unit_test(hints_of_an_earlier_save_are_not_shown),
        cmocka_unit_test(hints_move_with_edits_since_their_save),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
