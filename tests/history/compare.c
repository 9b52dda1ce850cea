/*
 * Tests of pairs of commits by the samples of a history, over several metrics.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <limits.h>
#include <string.h>

#include "corpus/history/compare.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"

enum { COMMITS = 5 };

typedef struct fixture {
    char path[PATH_MAX];
    hpc_history_metric metric[2];
    hpc_history_options o;
    hpc_git_id id[COMMITS];
} fixture;

static void ok(int rc)
{
    if (rc < 0) fail_msg("%s", hpc_error_get()->text);
}

static void add(hpc_history_db *d, const fixture *f, int commit, const char *metric,
                const char *machine, double value)
{
    char hex[41];
    hpc_git_id_text(hex, &f->id[commit]);
    for (int k = 0; k < 2; k++)
        ok(hpc_history_db_add(d, &(perf_way){"make", "run", machine}, metric, hex, value));
}

/* Commit 0: 100 and 10. 1: the cost is more. 2: both, to opposite sides. 3: cost alone. 4: other.
 */
static void begin(fixture *f, hpc_test_folder *folder)
{
    static const double cost[COMMITS] = {100, 103, 103, 103, 100.5};
    static const double count[COMMITS] = {10, 10, 9, 0, 10};
    hpc_history_db *d;
    *f = (fixture){.o = HPC_HISTORY_DEFAULTS};
    ok(hpc_history_db_create(&d, hpc_test_path(f->path, folder, "h.db")));
    ok(hpc_history_metric_parse(&f->metric[0], "cost"));
    ok(hpc_history_metric_parse(&f->metric[1], "count=count (.*)"));
    for (int k = 0; k < COMMITS; k++) {
        char hex[41];
        f->id[k].byte[0] = (uint8_t)(k + 1);
        hpc_git_id_text(hex, &f->id[k]);
        ok(hpc_history_db_add_commit(d, hex, NULL, k));
        add(d, f, k, "cost", "here", cost[k]);
        add(d, f, k, "cost", "there", 1000 * (k + 1));
        if (count[k] > 0) add(d, f, k, "count", "here", count[k]);
    }
    ok(hpc_history_db_commit(d));
    hpc_history_db_close(d);
    f->o.database = f->path;
    f->o.machine = "here";
    f->o.build = "make";
    f->o.run = "run";
    f->o.metric = f->metric;
    f->o.metrics = 2;
}

static void end(fixture *f)
{
    for (int k = 0; k < 2; k++) hpc_history_metric_release(&f->metric[k]);
}

static void test_metrics_are_joined(void **state)
{
    static const hpc_history_label wanted[COMMITS] = {HPC_HISTORY_SAME, HPC_HISTORY_SLOWER,
                                                      HPC_HISTORY_UNDECIDED, HPC_HISTORY_UNDECIDED,
                                                      HPC_HISTORY_SAME};
    fixture f;
    hpc_history_comparison pair[COMMITS];
    bool has[COMMITS];
    begin(&f, *state);
    for (int k = 0; k < COMMITS; k++)
        pair[k] = (hpc_history_comparison){.base = f.id[0], .head = f.id[k]};
    ok(hpc_history_compare(pair, COMMITS, &f.o));
    for (int k = 0; k < COMMITS; k++) {
        assert_int_equal(pair[k].label, wanted[k]);
        assert_int_equal(pair[k].measured, k != 3);
        assert_int_equal(pair[k].metric == NULL, wanted[k] == HPC_HISTORY_UNDECIDED);
    }
    assert_string_equal(pair[1].metric, "cost");
    assert_true(pair[1].change > 0.0299 && pair[1].change < 0.0301);
    assert_true(pair[2].change == 0);
    ok(hpc_history_has(has, f.id, COMMITS, &f.o));
    for (int k = 0; k < COMMITS; k++) assert_int_equal(has[k], k != 3);
    /* one metric alone, and the other way about */
    f.o.metrics = 1;
    pair[0] = (hpc_history_comparison){.base = f.id[3], .head = f.id[0]};
    ok(hpc_history_compare(pair, 1, &f.o));
    assert_int_equal(pair[0].label, HPC_HISTORY_FASTER);
    f.o.machine = "nowhere";
    ok(hpc_history_compare(pair, 1, &f.o));
    assert_int_equal(pair[0].label, HPC_HISTORY_UNDECIDED);
    assert_false(pair[0].measured);
    end(&f);
}

static int compare_all(void *user)
{
    fixture *f = user;
    bool has[COMMITS];
    hpc_history_comparison pair = {.base = f->id[0], .head = f->id[1]};
    int rc = hpc_history_compare(&pair, 1, &f->o);
    return rc < 0 ? rc : hpc_history_has(has, f->id, COMMITS, &f->o);
}

static void test_memory(void **state)
{
    fixture f;
    begin(&f, *state);
    assert_true(hpc_test_each_alloc(compare_all, &f) > 10);
    end(&f);
}

int main(void)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {TEST(test_metrics_are_joined), TEST(test_memory)};
    return cmocka_run_group_tests_name("history/compare", tests, NULL, NULL);
}
