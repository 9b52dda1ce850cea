/*
 * pages.c: a reused page contains what its user would have computed; shared pages are never
 * written; no page is lost or owned twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "infer/engine/pages.h"
#include "tests/support/expect.h"

enum { PAGE = 4, PAGES = 40, MOST = 64, SEQUENCES = 6, OPERATIONS = 30000 };

typedef struct sequence {
    hpc_past past;
    bool runs;
    int64_t n, done; /* tokens of its text, and of these computed */
    int32_t text[MOST];
} sequence;

typedef struct world {
    hpc_pages *p;
    uint64_t memory[PAGES][PAGE]; /* the computed contents: a hash of all tokens up to it */
    sequence s[SEQUENCES];
    uint32_t drawn;
    int64_t refused, reused;
} world;

static uint32_t any(world *w, uint32_t below)
{
    return hpc_random_bits(7, 1, 0, w->drawn++) % below;
}

static uint64_t truth(const sequence *s, int64_t at)
{
    return hpc_hash(s->text, (size_t)(at + 1) * sizeof *s->text, 0);
}

static int holders(const world *w, int32_t page)
{
    int n = 0;
    for (int k = 0; k < SEQUENCES; k++)
        for (int64_t i = 0; i < w->s[k].past.page_n; i++) n += w->s[k].past.page[i] == page;
    return n;
}

static void check_all(const world *w)
{
    hpc_pages_count c = hpc_pages_count_of(w->p);
    int64_t held = 0;
    for (int32_t page = 0; page < PAGES; page++) held += holders(w, page) > 0;
    assert_int_equal(c.held, held);
    assert_int_equal(c.held + c.idle + c.empty, PAGES);
    for (int k = 0; k < SEQUENCES; k++) {
        const sequence *s = &w->s[k];
        for (int64_t i = 0; i < s->done; i++)
            assert_true(w->memory[s->past.page[i / PAGE]][i % PAGE] == truth(s, i));
    }
}

static void begin(world *w, sequence *s)
{
    const sequence *other = &w->s[any(w, SEQUENCES)];
    s->n = 1 + any(w, MOST - 1);
    memcpy(s->text, other->text, sizeof s->text); /* whatever there is or was */
    for (int64_t i = any(w, MOST); i < MOST; i++) s->text[i] = (int32_t)any(w, 2);
    test_ok(hpc_pages_begin(w->p, &s->past, s->text, s->n - 1, &s->done));
    assert_true(s->done < s->n && s->done % PAGE == 0);
    w->reused += s->done;
    s->runs = true;
}

static void compute(world *w, sequence *s)
{
    int64_t to = s->done + 1 + any(w, 9), before = s->past.page_n;
    if (to > s->n) to = s->n;
    int rc = hpc_pages_reserve(w->p, &s->past, to);
    if (rc < 0) {
        assert_int_equal(rc, HPC_E_STATE);
        assert_int_equal(s->past.page_n, before);
        hpc_error_clear();
        w->refused++;
        return;
    }
    for (int64_t i = s->done; i < to; i++) {
        assert_int_equal(holders(w, s->past.page[i / PAGE]), 1);
        w->memory[s->past.page[i / PAGE]][i % PAGE] = truth(s, i);
    }
    s->done = to;
    if (any(w, 4)) hpc_pages_settle(w->p, &s->past, s->text, s->done);
}

static void edit(world *w, sequence *s)
{
    int64_t at = any(w, (uint32_t)s->done + 1);
    hpc_pages_cut(w->p, &s->past, at, &s->done);
    assert_true(s->done <= at && s->done > at - PAGE);
    for (int64_t i = at; i < MOST; i++) s->text[i] = (int32_t)any(w, 2);
}

static void end(world *w, sequence *s)
{
    hpc_pages_end(w->p, &s->past);
    assert_null(s->past.page);
    s->runs = false;
    s->done = 0;
}

static void many_texts_share_what_they_begin_with(void **state)
{
    static world w;
    (void)state;
    test_ok(hpc_pages_create(&w.p, PAGES, PAGE));
    for (int k = 0; k < OPERATIONS; k++) {
        sequence *s = &w.s[any(&w, SEQUENCES)];
        uint32_t what = any(&w, 10);
        if (!s->runs)
            begin(&w, s);
        else if (what == 0 || s->done == s->n)
            end(&w, s);
        else if (what == 1)
            edit(&w, s);
        else
            compute(&w, s);
        check_all(&w);
    }
    assert_true(w.refused > 100 && w.reused > 10000);
    for (int k = 0; k < SEQUENCES; k++) end(&w, &w.s[k]);
    assert_int_equal(hpc_pages_count_of(w.p).held, 0);
    hpc_pages_free(w.p);
}

/* A text is computed and given up. */
static void pass(hpc_pages *p, const int32_t *text, int64_t n)
{
    hpc_past past = {0};
    int64_t found;
    test_ok(hpc_pages_begin(p, &past, text, n, &found));
    test_ok(hpc_pages_reserve(p, &past, n));
    hpc_pages_settle(p, &past, text, n);
    hpc_pages_end(p, &past);
}

static int64_t found_of(hpc_pages *p, const int32_t *text, int64_t n)
{
    hpc_past past = {0};
    int64_t found;
    test_ok(hpc_pages_begin(p, &past, text, n, &found));
    hpc_pages_end(p, &past);
    return found;
}

static void the_longest_unused_goes_first_from_its_end(void **state)
{
    static const int32_t a[12] = {1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}, b[12] = {9, 9, 9, 9, 8};
    static const int32_t c[16] = {5}, d[8] = {6};
    hpc_pages *p;

    (void)state;
    test_ok(hpc_pages_create(&p, 8, PAGE));
    pass(p, a, 12);
    pass(p, b, 12);
    assert_int_equal(found_of(p, a, 12), 12); /* and so b is the older one */
    pass(p, c, 16);                           /* two that are empty, and b's last two */
    assert_int_equal(hpc_pages_count_of(p).idle, 8);
    assert_int_equal(found_of(p, a, 12), 12);
    assert_int_equal(found_of(p, b, 12), 4); /* and now it is the newest */
    pass(p, d, 8);                           /* c's last two */
    assert_int_equal(found_of(p, b, 12), 4);
    assert_int_equal(found_of(p, c, 16), 8);
    assert_int_equal(found_of(p, a, 12), 12);
    hpc_pages_free(p);
}

/* Two compute the same at once: in the end they hold the same pages. */
static void what_was_computed_twice_is_held_once(void **state)
{
    static const int32_t text[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    hpc_past one = {0}, two = {0};
    hpc_pages *p;
    int64_t found;

    (void)state;
    test_ok(hpc_pages_create(&p, 6, PAGE));
    test_ok(hpc_pages_begin(p, &one, text, 9, &found));
    test_ok(hpc_pages_begin(p, &two, text, 9, &found));
    assert_int_equal(found, 0);
    test_ok(hpc_pages_reserve(p, &one, 10));
    test_ok(hpc_pages_reserve(p, &two, 10));
    hpc_pages_settle(p, &one, text, 10);
    assert_int_equal(hpc_pages_count_of(p).held, 6);
    hpc_pages_settle(p, &two, text, 10);
    assert_int_equal(hpc_pages_count_of(p).held, 4);
    assert_int_equal(one.known_n, 2);
    assert_memory_equal(one.page, two.page, 2 * sizeof *one.page);
    assert_int_not_equal(one.page[2], two.page[2]);
    hpc_pages_end(p, &one);
    hpc_pages_end(p, &two);
    hpc_pages_free(p);
}

static void what_does_not_fit_is_refused(void **state)
{
    static const int32_t text[32] = {0};
    hpc_past one = {0}, two = {0};
    hpc_pages *p;
    int64_t found, left;

    (void)state;
    test_fails(hpc_pages_create(&p, 0, PAGE), HPC_E_ARG, "0 pages");
    assert_null(p);
    test_fails(hpc_pages_create(&p, 8, -1), HPC_E_ARG, "of -1 tokens");
    test_ok(hpc_pages_create(&p, 4, PAGE));
    test_ok(hpc_pages_begin(p, &one, text, 10, &found));
    test_ok(hpc_pages_reserve(p, &one, 9));
    test_ok(hpc_pages_begin(p, &two, text, 10, &found));
    test_fails(hpc_pages_reserve(p, &two, 5), HPC_E_STATE, "1 of 4 pages left, 2 are needed");
    assert_int_equal(two.page_n, 0);
    hpc_pages_cut(p, &one, 3, &left);
    assert_int_equal(left, 3);
    test_ok(hpc_pages_reserve(p, &two, 12));
    hpc_pages_end(p, &one);
    hpc_pages_end(p, &two);
    hpc_pages_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_texts_share_what_they_begin_with),
        cmocka_unit_test(the_longest_unused_goes_first_from_its_end),
        cmocka_unit_test(what_was_computed_twice_is_held_once),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
