/*
 * Tests of train/metrics.c and metrics_read.c: round trips of rows, continuing after an
 * interruption, damaged files.
 */
/* tsan: left out, starts no thread. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/fault.h"
#include "tests/support/folder.h"
#include "train/metrics.h"

#define HEADER                                                                                     \
    "step,tokens,loss,lr,grad_norm,step_ms,tokens_per_s,tflops,mfu,peak_bytes,comm_bytes,"         \
    "validation_loss,skipped,save_ms,exposed_ms,experts,dropped,flops\n"
#define ROW1 "1,4096,10.5,0.0003,1.25,250,16384,0.5,0.125,1048576,2048,,0,4.5,12.5,2,0,3e+12\n"
#define ROW2 "2,8192,nan,0.0003,inf,250,16384,0.5,0.125,1048576,2048,7.5,1,4.5,12.5,2,0,3e+12\n"
#define ROW3 "3,12288,9.12345695,0.0003,1.25,250,16384,0.5,0.125,1048576,2048,,0,4.5,12.5,2,0,3e+12\n"

static hpc_metrics_row row(int step)
{
    static const double value[HPC_METRIC_N] = {0,     0,       10.5, 3e-4, 1.25, 250, 16384, 0.5,
                                               0.125, 1048576, 2048, 0,    0,    4.5, 12.5,  2,
                                               0,     3e12};
    hpc_metrics_row r = {.absent = {[HPC_METRIC_VALIDATION_LOSS] = step != 2}};
    memcpy(r.value, value, sizeof value);
    r.value[HPC_METRIC_STEP] = step;
    r.value[HPC_METRIC_TOKENS] = 4096.0 * step;
    if (step == 2) {
        r.value[HPC_METRIC_LOSS] = -NAN;
        r.value[HPC_METRIC_GRAD_NORM] = INFINITY;
        r.value[HPC_METRIC_VALIDATION_LOSS] = 7.5;
        r.value[HPC_METRIC_SKIPPED] = 1;
    }
    if (step == 3) r.value[HPC_METRIC_LOSS] = 9.123456789f;
    return r;
}

static void ok(int rc)
{
    if (rc < 0) fail_msg("%s", hpc_error_get()->text);
}

static void write_rows(const hpc_test_folder *f, int64_t resume, int first, int last)
{
    hpc_metrics *m;
    ok(hpc_metrics_open(&m, f->root, resume));
    for (int k = first; k <= last; k++) {
        hpc_metrics_row r = row(k);
        ok(hpc_metrics_add(m, &r));
    }
    hpc_metrics_close(m);
}

static void save(const hpc_test_folder *f, const char *text)
{
    char path[PATH_MAX];
    ok(hpc_file_save(hpc_test_path(path, f, "metrics.csv"), text, strlen(text)));
}

static void expect(const hpc_test_folder *f, const char *text)
{
    char path[PATH_MAX];
    hpc_buf b = {0};
    ok(hpc_file_read(&b, hpc_test_path(path, f, "metrics.csv"), 1 << 20));
    assert_string_equal(b.data, text);
    hpc_buf_release(&b);
}

static void rows_are_written_at_once(void **state)
{
    hpc_metrics *m;
    ok(hpc_metrics_open(&m, ((hpc_test_folder *)*state)->root, 0));
    expect(*state, HEADER);
    static const char *const text[] = {HEADER ROW1, HEADER ROW1 ROW2, HEADER ROW1 ROW2 ROW3};
    for (int k = 1; k <= 3; k++) {
        hpc_metrics_row r = row(k);
        ok(hpc_metrics_add(m, &r));
        expect(*state, text[k - 1]);
    }
    hpc_metrics_row r = row(3);
    assert_int_equal(hpc_metrics_add(m, &r), HPC_E_ARG);
    assert_string_equal(hpc_error_get()->text, "metrics: step 3 follows step 3");
    hpc_error_clear();
    hpc_metrics_close(m);
    hpc_metrics_close(NULL);
}

static void a_steady_row_allocates_nothing(void **state)
{
    hpc_metrics *m;
    ok(hpc_metrics_open(&m, ((hpc_test_folder *)*state)->root, 0));
    for (int k = 1; k <= 20; k++) {
        hpc_metrics_row r = row(k);
        if (k == 3) hpc_test_fault_reset();
        ok(hpc_metrics_add(m, &r));
    }
    assert_int_equal(hpc_test_alloc_count(), 0);
    hpc_metrics_close(m);
}

static void columns_are_read_back(void **state)
{
    char path[PATH_MAX];
    hpc_metrics_table t;
    write_rows(*state, 0, 1, 40);
    ok(hpc_metrics_read(&t, hpc_test_path(path, *state, "metrics.csv")));
    assert_int_equal(t.n, 40);
    for (int k = 0; k < 40; k++) {
        hpc_metrics_row want = row(k + 1);
        for (int m = 0; m < HPC_METRIC_N; m++) {
            double x = t.column[m][k], y = want.absent[m] ? (double)NAN : want.value[m];
            assert_true(isnan(y) ? isnan(x) : m == HPC_METRIC_LOSS ? (float)x == (float)y : x == y);
        }
    }
    hpc_metrics_release(&t);
}

/* Resuming gives the file of an uninterrupted run, whatever the interrupted one wrote after its
 * checkpoint. */
static void resuming_equals_not_stopping(void **state)
{
    static const char *const left[] = {HEADER ROW1 ROW2, HEADER ROW1 ROW2 ROW3,
                                       HEADER ROW1 ROW2 "3,12288,9.12", HEADER ROW1 ROW2 ROW3 "4"};
    for (int k = 0; k < 4; k++) {
        save(*state, left[k]);
        write_rows(*state, 2, 3, 3);
        expect(*state, HEADER ROW1 ROW2 ROW3);
    }
    write_rows(*state, 0, 1, 1); /* starts again */
    expect(*state, HEADER ROW1);
    char path[PATH_MAX];
    ok(hpc_file_remove(hpc_test_path(path, *state, "metrics.csv")));
    write_rows(*state, 2, 3, 3); /* as if somebody had removed it */
    expect(*state, HEADER ROW3);
}

/* As versions before save_ms and exposed_ms wrote it. */
static void older_files_get_the_columns(void **state)
{
    save(*state, "step,tokens,loss,lr,grad_norm,step_ms,tokens_per_s,tflops,mfu,peak_bytes,"
                 "comm_bytes,validation_loss,skipped\n"
                 "1,4096,10.5,0.0003,1.25,250,16384,0.5,0.125,1048576,2048,,0\n"
                 "2,8192,1,1,1,1,1,1,1,1,1,1,1\n");
    write_rows(*state, 1, 2, 2);
    expect(*state, HEADER "1,4096,10.5,0.0003,1.25,250,16384,0.5,0.125,1048576,2048,,0,,,,,\n" ROW2);
}

static void what_is_not_understood_is_kept(void **state)
{
    static const char *const text[] = {"step,tokens,loss,step_ms\n1,2,3,4\n", HEADER ROW1 "2,x\n"};
    static const char *const says[] = {"its columns differ from those of this version",
                                       "metrics.csv:3:3: tokens 'x' is not an integer"};
    hpc_metrics *m;
    for (int k = 0; k < 2; k++) {
        save(*state, text[k]);
        assert_int_equal(hpc_metrics_open(&m, ((hpc_test_folder *)*state)->root, 2), HPC_E_FORMAT);
        assert_null(m);
        assert_non_null(strstr(hpc_error_get()->text, says[k]));
        hpc_error_clear();
        expect(*state, text[k]);
    }
}

static void refuses(const hpc_test_folder *f, const char *text, const char *says)
{
    char path[PATH_MAX];
    hpc_metrics_table t;
    save(f, text);
    assert_int_equal(hpc_metrics_read(&t, hpc_test_path(path, f, "metrics.csv")), HPC_E_FORMAT);
    assert_int_equal(t.n, 0);
    if (!strstr(hpc_error_get()->text, says)) fail_msg("'%s' in %s", says, hpc_error_get()->text);
    hpc_error_clear();
}

static void damage_is_named(void **state)
{
    const hpc_test_folder *f = *state;
    refuses(f, "", "metrics.csv:1:1: no header line");
    refuses(f, "step,tokens", "metrics.csv:1:1: no header line");
    refuses(f, "a,b\n1,2\n", "metrics.csv:1:1: no column 'step'");
    refuses(f, "step,tokens,step\n", "metrics.csv:1:13: column 'step' occurs twice");
    const char *const rows[][2] = {
        {"1,2,3,4\n5", "no"},
        {"1,2,3\n", ":2:5: 3 cells, the header has 4"},
        {"1,2,3,4,5\n", ":2:9: cell '5' has no column"},
        {"1,2,3,4\n\n", ":3:1: step '' must not be empty"},
        {"1,,3,4\n", ":2:3: tokens '' must not be empty"},
        {"1,2,3,4\n1,2,3,4\n", ":3:1: step '1' does not follow"},
        {"0,2,3,4\n", ":2:1: step '0' does not follow"},
        {"1,2.5,3,4\n", ":2:3: tokens '2.5' is not an integer"},
        {"1,-2,3,4\n", ":2:3: tokens '-2' is not an integer"},
        {"1,9007199254740993000,3,4\n", "is not an integer"},
        {"1,2,0x3,4\n", ":2:5: loss '0x3' is not a number"},
        {"1,2,3.4.5,4\n", ":2:5: loss '3.4.5' is not a number"},
        {"1,2,infinity,4\n", ":2:5: loss 'infinity' is not a number"},
        {"1,2, 3,4\n", ":2:5: loss ' 3' is not a number"},
        {"1,2,000000000000000000000000000000000000000000000000000000000000000000000,4\n",
         ":2:5: loss '0000000000000000000000000000000000000000' is not a number"},
    };
    for (size_t k = 1; k < sizeof rows / sizeof *rows; k++) {
        char text[256];
        snprintf(text, sizeof text, "step,tokens,loss,step_ms\n%s", rows[k][0]);
        refuses(f, text, rows[k][1]);
    }
    char many[1024] = "step,tokens,loss,step_ms";
    for (int k = 0; k < 61; k++) strcat(many, ",more");
    strcat(many, "\n");
    refuses(f, many, "column 'more' exceeds the limit");
}

static void other_columns_and_torn_lines_are_passed_over(void **state)
{
    char path[PATH_MAX];
    hpc_metrics_table t;
    save(*state, "loss,extra,step_ms,tokens,step\n-inf,x y,1e-3,20,10\n,,,30,11\n4,5");
    ok(hpc_metrics_read(&t, hpc_test_path(path, *state, "metrics.csv")));
    assert_int_equal(t.n, 2);
    assert_true(t.column[HPC_METRIC_STEP][1] == 11 && t.column[HPC_METRIC_TOKENS][0] == 20);
    assert_true(t.column[HPC_METRIC_LOSS][0] == -INFINITY && isnan(t.column[HPC_METRIC_LOSS][1]));
    assert_true(t.column[HPC_METRIC_STEP_MS][0] == 1e-3 && isnan(t.column[HPC_METRIC_LR][0]));
    hpc_metrics_release(&t);
}

static int write_and_read(void *user)
{
    char path[PATH_MAX];
    hpc_metrics *m = NULL;
    hpc_metrics_table t = {0};
    hpc_metrics_row r = row(3);
    int rc;
    TRY(hpc_metrics_open(&m, ((hpc_test_folder *)user)->root, 2));
    TRY(hpc_metrics_add(m, &r));
    TRY(hpc_metrics_read(&t, hpc_test_path(path, user, "metrics.csv")));
    assert_int_equal(t.n, 3);
out:
    hpc_metrics_close(m);
    hpc_metrics_release(&t);
    return rc;
}

static void each_allocation_may_fail(void **state)
{
    save(*state, HEADER ROW1 ROW2 ROW3 "4,");
    assert_true(hpc_test_each_alloc(write_and_read, *state) > 5);
    expect(*state, HEADER ROW1 ROW2 ROW3);
}

/* Whatever fails, rows before the resumed step are there; only closing may fail unheard. */
static void each_call_may_fail(void **state)
{
    char path[PATH_MAX];
    int64_t heard = 0;
    for (int64_t n = 1;; n++) {
        hpc_buf b = {0};
        save(*state, HEADER ROW1 ROW2 ROW3 "4,");
        hpc_test_fail_io(n);
        int rc = write_and_read(*state);
        bool failed = hpc_test_io_failed();
        hpc_test_fault_reset();
        assert_true(rc == 0 || (failed && rc == HPC_E_IO));
        hpc_error_clear();
        ok(hpc_file_read(&b, hpc_test_path(path, *state, "metrics.csv"), 1 << 20));
        assert_int_equal(strncmp(b.data, HEADER ROW1 ROW2, strlen(HEADER ROW1 ROW2)), 0);
        hpc_buf_release(&b);
        if (!failed) break;
        heard += rc < 0;
    }
    assert_true(heard > 12);
    expect(*state, HEADER ROW1 ROW2 ROW3);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_are_written_at_once),
        TEST(a_steady_row_allocates_nothing),
        TEST(columns_are_read_back),
        TEST(resuming_equals_not_stopping),
        TEST(older_files_get_the_columns),
        TEST(what_is_not_understood_is_kept),
        TEST(damage_is_named),
        TEST(other_columns_and_torn_lines_are_passed_over),
        TEST(each_allocation_may_fail),
        TEST(each_call_may_fail),
    };
    return cmocka_run_group_tests_name("train/metrics", tests, NULL, NULL);
}
