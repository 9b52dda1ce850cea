/*
 * Tests of corpus/history/line.c: the order of the commits of a history, the base of each
 * comparison, and the treatment by pairs.c of commits whose builds have equal bytes.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "corpus/history/line.h"
#include "tests/history/made.h"
#include "tests/support/fault.h"

static int place_of(const perf_line *l, int commit)
{
    char id[HPC_HISTORY_ID];
    return (int)perf_line_find(l, id_of(id, commit));
}

static void expect_order(const perf_line *l, const int *commit, int n)
{
    assert_int_equal(l->n, n);
    for (int k = 0; k < n; k++)
        if (place_of(l, commit[k]) != k) fail_msg("%d is at %d", commit[k], place_of(l, commit[k]));
}

/* ---- order ----------------------------------------------------------------------------------- */

/* 9 - 2 - 7 - 5, with wrong clocks, and a branch 4 from 2; 3 - 8 is another history; 10 and 11 are
 * each other's parents, and 12 descends from them. */
static void parents_come_first(void **state)
{
    static const int order[] = {3, 8, 9, 2, 4, 7, 5};
    char path[PATH_MAX];
    perf_line l;
    hpc_history_db *d = create(path, state);
    add(d, 9, 0, 100);
    add(d, 2, 9, 50);
    add(d, 7, 2, 200);
    add(d, 5, 7, 40);
    add(d, 4, 2, 150);
    add(d, 3, 77, 10);
    add(d, 8, 3, 1000);
    add(d, 10, 11, 1);
    add(d, 11, 10, 1);
    add(d, 12, 11, 1);
    d = reopen(d, path);
    assert_int_equal(perf_line_load(&l, d), 0);
    hpc_history_db_close(d);
    expect_order(&l, order, 7);
    for (int k = 0; k < 7; k++) assert_int_equal(l.item[k].main, order[k] != 4);
    assert_int_equal(l.item[0].parent, -1);
    assert_int_equal(l.item[place_of(&l, 7)].parent, place_of(&l, 2));
    assert_int_equal(l.item[place_of(&l, 4)].parent, place_of(&l, 2));
    assert_int_equal(place_of(&l, 10), -1);
    assert_int_equal(place_of(&l, 77), -1);
    perf_line_release(&l);
}

static void a_long_history_is_ordered(void **state)
{
    enum { LONG = 20000 };
    char path[PATH_MAX];
    perf_line l;
    hpc_history_db *d = create(path, state);
    for (int k = 1; k <= LONG; k++) add(d, LONG + 1 - k, k > 1 ? LONG + 2 - k : 0, 7);
    d = reopen(d, path);
    assert_int_equal(perf_line_load(&l, d), 0);
    hpc_history_db_close(d);
    assert_int_equal(l.n, LONG);
    for (int k = 0; k < LONG; k++) {
        assert_int_equal(place_of(&l, LONG - k), k);
        assert_int_equal(l.item[k].parent, k - 1);
        assert_true(l.item[k].main);
    }
    perf_line_release(&l);
}

static void an_empty_history_has_none(void **state)
{
    char path[PATH_MAX];
    perf_line l;
    hpc_history_db *d = create(path, state);
    d = reopen(d, path);
    assert_int_equal(perf_line_load(&l, d), 0);
    assert_int_equal(l.n, 0);
    perf_line_release(&l);
    hpc_history_db_close(d);
}

/* ---- baselines of commits -------------------------------------------------------------------- */

/* 1 was measured; 2 and 3 are the same bytes; 4 failed; 5 was measured; 6 equals 5 by one command
 * and not by another; 7 equals 6, which has no measurement. */
static void same_bytes_are_known(void **state)
{
    static const int64_t bases[] = {-1, 0, 1, 2, 2, 4, 4}, sources[] = {0, 0, 0, -1, 4, -1, -1};
    static const int built[] = {1, 1, 1, 0, 2, 2, 3};
    const bool measured[] = {true, false, false, false, true, false, false};
    int64_t base[7], source[7];
    char path[PATH_MAX];
    perf_line l;
    hpc_history_db *d = create(path, state);
    for (int k = 1; k <= 7; k++) {
        add(d, k, k - 1, k);
        add_build(d, k, "make", "m", built[k - 1]);
    }
    add_build(d, 5, "make fast", "m", 10);
    add_build(d, 6, "make fast", "m", 11);
    add_build(d, 7, "make fast", "m", 11);
    d = reopen(d, path);
    assert_int_equal(perf_line_load(&l, d), 0);
    hpc_history_db_close(d);
    perf_line_bases(base, source, &l, measured);
    for (int k = 0; k < 7; k++) {
        assert_int_equal(base[k], bases[k]);
        assert_int_equal(source[k], sources[k]);
    }
    assert_true(perf_line_same(&l, 0, 2));
    assert_false(perf_line_same(&l, 3, 3)); /* failed: nothing is known */
    assert_false(perf_line_same(&l, 4, 5));
    assert_false(perf_line_same(&l, 5, 6));
    perf_line_release(&l);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static void assert_pair(const hpc_history_pair *p, int base, int head, hpc_history_label label,
                        double change)
{
    char id[HPC_HISTORY_ID];
    assert_string_equal(p->base, id_of(id, base));
    assert_string_equal(p->head, id_of(id, head));
    assert_int_equal(p->label, label);
    if (label == HPC_HISTORY_SAME)
        assert_true(p->change == change);
    else
        assert_true(fabs(p->change - change) < 0.01);
}

/* 2 and 3 are 1's bytes and were not run; 4 is slower than 3; 5 is 4's bytes, and the machine was
 * disturbed when it was run; 6 is not built to anything known, nor run. */
static int fill(hpc_history_db *d)
{
    static const int built[] = {1, 1, 1, 2, 2, 0};
    for (int k = 1; k <= 6; k++) {
        add(d, k, k - 1, k);
        if (built[k - 1]) add_build(d, k, "make", "m", built[k - 1]);
    }
    add_runs(d, "a", "time", 1, 10, 5);
    add_runs(d, "a", "time", 4, 15, 5);
    add_runs(d, "a", "time", 5, 25, 5);
    return hpc_history_db_commit(d);
}

static void same_bytes_cost_the_same(void **state)
{
    char path[PATH_MAX];
    hpc_history_pairs pairs;
    hpc_history_db *d = create(path, state);
    assert_int_equal(fill(d), 0);
    d = reopen(d, path);
    assert_int_equal(hpc_history_pairs_load(&pairs, d, NULL), 0);
    hpc_history_db_close(d);
    assert_int_equal(pairs.n, 4);
    assert_int_equal(pairs.undecided_n, 0);
    assert_pair(&pairs.item[0], 1, 2, HPC_HISTORY_SAME, 0);
    assert_pair(&pairs.item[1], 2, 3, HPC_HISTORY_SAME, 0);
    assert_pair(&pairs.item[2], 3, 4, HPC_HISTORY_SLOWER, 0.5);
    assert_pair(&pairs.item[3], 4, 5, HPC_HISTORY_SAME, 0);
    hpc_history_pairs_release(&pairs);
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static void damaged_products_are_told(void **state)
{
    char path[PATH_MAX];
    perf_line l;
    hpc_history_db *d = create(path, state);
    assert_int_equal(fill(d), 0);
    d = reopen(d, path);
    hpc_history_db_close(d);
    change(path, "UPDATE attempt SET product = 'short' WHERE product LIKE '%2'");
    assert_int_equal(hpc_history_db_open(&d, path), 0);
    assert_int_equal(perf_line_load(&l, d), HPC_E_FORMAT);
    assert_non_null(strstr(hpc_error_get()->text, "is damaged: the hash of a product is invalid"));
    hpc_error_clear();
    hpc_history_db_close(d);
}

/* A history of version 1 has no products. */
static void older_histories_have_none(void **state)
{
    char path[PATH_MAX];
    perf_line l;
    hpc_history_db *d = create(path, state);
    assert_int_equal(fill(d), 0);
    d = reopen(d, path);
    hpc_history_db_close(d);
    change(path, "DROP TABLE attempt; DROP TABLE session; PRAGMA user_version = 1");
    assert_int_equal(hpc_history_db_open(&d, path), 0);
    assert_int_equal(perf_line_load(&l, d), 0);
    assert_int_equal(l.n, 6);
    assert_int_equal(l.products_n, 0);
    perf_line_release(&l);
    hpc_history_db_close(d);
}

static int load_body(void *user)
{
    hpc_history_db *d = NULL;
    perf_line l = {0};
    int rc = HPC_OK;
    TRY(hpc_history_db_open(&d, user));
    TRY(perf_line_load(&l, d));
    perf_line_release(&l);
out:
    hpc_history_db_close(d);
    return rc;
}

static void every_allocation_fails(void **state)
{
    char path[PATH_MAX];
    hpc_history_db *d = create(path, state);
    assert_int_equal(fill(d), 0);
    hpc_history_db_close(d);
    assert_true(hpc_test_each_alloc(load_body, path) >= 5);
}

#define IN_A_FOLDER(test)                                                                          \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(parents_come_first),        IN_A_FOLDER(a_long_history_is_ordered),
        IN_A_FOLDER(an_empty_history_has_none), IN_A_FOLDER(same_bytes_are_known),
        IN_A_FOLDER(same_bytes_cost_the_same),  IN_A_FOLDER(damaged_products_are_told),
        IN_A_FOLDER(older_histories_have_none), IN_A_FOLDER(every_allocation_fails),
    };
    return cmocka_run_group_tests_name("history/line", tests, NULL, NULL);
}
