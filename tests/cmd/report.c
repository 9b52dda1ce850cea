/*
 * Tests of `hpccoder report` as a user runs it: the numbers of a table, of JSON
 * and of pages; what is no run.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "train/metrics.h"

typedef struct fixture {
    hpc_test_folder *folder;
    hpc_test_outcome o;
} fixture;

static int setup(void **state)
{
    fixture *f = hpc_alloc(1, sizeof *f);
    assert_non_null(f);
    void *folder = NULL;
    hpc_test_folder_setup(&folder);
    f->folder = folder;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    void *folder = f->folder;
    hpc_free(f);
    return hpc_test_folder_teardown(&folder);
}

static void ok(int rc)
{
    if (rc < 0) fail_msg("%s", hpc_error_get()->text);
}

/* Step k takes 1 s, every tenth 3 s; 600 tokens; loss 100 - k / 4, which skipped steps miss. A
 * validation every 20 steps, best at 100. */
static void make_run(const fixture *f, const char *name, int steps)
{
    char path[PATH_MAX];
    hpc_metrics *m;
    ok(hpc_file_mkdir(hpc_test_path(path, f->folder, name)));
    ok(hpc_metrics_open(&m, path, 0));
    for (int k = 1; k <= steps; k++) {
        bool skipped = k % 50 == 0;
        hpc_metrics_row r = {.absent = {[HPC_METRIC_VALIDATION_LOSS] = k % 20 != 0}};
        r.value[HPC_METRIC_STEP] = k;
        r.value[HPC_METRIC_TOKENS] = 600.0 * k;
        r.value[HPC_METRIC_LOSS] = skipped ? 1e9 : 100 - k / 4.0;
        r.value[HPC_METRIC_LR] = 0.001;
        r.value[HPC_METRIC_STEP_MS] = k % 10 ? 1000 : 3000;
        r.value[HPC_METRIC_TOKENS_PER_S] = 1; /* not asked */
        r.value[HPC_METRIC_VALIDATION_LOSS] = k == 100 ? 3.25 : 4 + k;
        r.value[HPC_METRIC_SKIPPED] = skipped;
        ok(hpc_metrics_add(m, &r));
    }
    hpc_metrics_close(m);
}

static void save(const fixture *f, const char *name, const char *text)
{
    char path[PATH_MAX];
    ok(hpc_file_save(hpc_test_path(path, f->folder, name), text, strlen(text)));
}

static void run(fixture *f, const char *words)
{
    hpc_test_command_in(&f->o, f->folder->root, words);
    if (f->o.code != 0) fail_msg("%s: %s", words, f->o.err);
    assert_string_equal(f->o.err, "");
}

static double number(const hpc_json *object, const char *key)
{
    double v;
    ok(hpc_json_real(&v, hpc_json_get(object, key), key));
    return v;
}

static void numbers_are_right(void **state)
{
    fixture *f = *state;
    hpc_json *root = NULL;
    make_run(f, "a", 200);
    make_run(f, "b", 1);
    for (int smooth = 0; smooth < 2; smooth++) {
        run(f, smooth ? "report @a @b/ --json --smooth 11" : "report @a @b/ --json");
        ok(hpc_json_parse(&root, f->o.out, strlen(f->o.out), "report"));
        const hpc_json *runs = hpc_json_get(root, "runs"), *a = hpc_json_at(runs, 0);
        const char *name;
        assert_int_equal(hpc_json_n(runs), 2);
        ok(hpc_json_text(&name, hpc_json_get(hpc_json_at(runs, 1), "name"), "name"));
        assert_string_equal(name, "b");
        assert_true(number(a, "steps") == 200 && number(a, "tokens") == 120000);
        /* Steps 199 and 200, of which 200 was skipped; with --smooth 190 to 199. */
        assert_true(number(a, "loss") == (smooth ? 100 - 194.5 / 4 : 100 - 199 / 4.0));
        assert_true(number(a, "loss_steps") == (smooth ? 11 : 2));
        assert_true(number(a, "validation_loss") == 3.25 && number(a, "validation_step") == 100);
        assert_true(fabs(number(a, "hours") - (200 + 2 * 20) / 3600.0) < 1e-12);
        assert_true(number(a, "tokens_per_s") == 600 && number(a, "skipped") == 4);
        a = hpc_json_at(runs, 1);
        assert_true(number(a, "loss") == 99.75 && number(a, "loss_steps") == 1);
        assert_int_equal(hpc_json_kind_of(hpc_json_get(a, "validation_loss")), HPC_JSON_NULL);
        assert_null(hpc_json_get(a, "validation_step"));
        hpc_json_free(root);
    }
}

static void tables_name_runs(void **state)
{
    fixture *f = *state;
    char path[PATH_MAX], line[2 * PATH_MAX];
    make_run(f, "x/run", 20);
    make_run(f, "y/run", 30);
    make_run(f, "other", 5);
    run(f, "report @x/run @y/run/ @other");
    snprintf(line, sizeof line, "\n%s            20", hpc_test_path(path, f->folder, "x/run "));
    hpc_test_says(f->o.out, line);
    snprintf(line, sizeof line, "\n%s           30", hpc_test_path(path, f->folder, "y/run/ "));
    hpc_test_says(f->o.out, line);
    hpc_test_says(f->o.out, "\nother ");
    hpc_test_says(f->o.out, "      3000       98.7500             -             -         0.001 ");
    run(f, "report @other");
    hpc_test_says(f->o.out, "\nother             5          3000 ");
}

static void read_page(fixture *f, hpc_buf *page, const char *words)
{
    char path[PATH_MAX];
    run(f, words);
    page->n = 0;
    ok(hpc_file_read(page, hpc_test_path(path, f->folder, "r.html"), 1 << 24));
}

static int times(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) n++;
    return n;
}

static void pages_have_the_numbers(void **state)
{
    fixture *f = *state;
    hpc_buf page = {0};
    make_run(f, "first", 200);
    make_run(f, "second", 40);
    read_page(f, &page, "report @first @second --out @r.html --smooth 1");
    hpc_test_says(page.data, "<svg");
    hpc_test_says(page.data, "<caption>Training loss against tokens</caption>");
    hpc_test_says(page.data, "<caption>Training loss against time</caption>");
    hpc_test_says(page.data, "<th>tokens</th><th>first</th><th>second</th>");
    hpc_test_says(page.data, "<td>600</td><td>99.75</td><td></td>"); /* step 1 */
    hpc_test_says(page.data, "<td>600</td><td></td><td>99.75</td>");
    hpc_test_says(page.data, "<th>minutes</th>");
    hpc_test_says(page.data, "<td>0.15</td><td>97.75</td><td></td>"); /* after 9 s */
    read_page(f, &page, "report @first --out @r.html --x step --smooth 5");
    hpc_test_says(page.data, "<caption>Training loss against steps</caption>");
    hpc_test_says(page.data, "first, means of 5 steps");
    hpc_test_says(page.data, "<th>steps</th><th>first</th></tr>\n<tr><td>1</td><td>99.75</td>");
    hpc_test_says(page.data, "<td>49</td><td>87.8125</td>"); /* the mean without the skipped 50 */
    assert_null(strstr(page.data, "<td>1000000000</td>"));
    assert_int_equal(times(page.data, "<caption>"), 6);
    read_page(f, &page, "report @first --out @r.html --x time");
    assert_true(strstr(page.data, "against time") < strstr(page.data, "against tokens"));
    hpc_buf_release(&page);
    run(f, "report @first --out @r.png");
    run(f, "report @first --out @r.svg");
}

/* Long runs are thinned; the last step stays. */
static void long_runs_are_thinned(void **state)
{
    fixture *f = *state;
    hpc_buf page = {0}, csv = {0};
    hpc_buf_text(&csv, "step,tokens,loss,step_ms\n");
    for (int k = 1; k <= 10001; k++) hpc_buf_printf(&csv, "%d,%d,2,100\n", k, k);
    char path[PATH_MAX];
    ok(hpc_file_mkdir(hpc_test_path(path, f->folder, "long")));
    save(f, "long/metrics.csv", csv.data);
    read_page(f, &page, "report @long --out @r.html");
    int rows = times(page.data, "<td>2</td>");
    assert_in_range(rows, 2 * 190, 2 * 200); /* in two tables */
    assert_int_equal(times(page.data, "<td>10001</td><td>2</td>"), 1);
    assert_int_equal(times(page.data, "<caption>"), 3); /* no column: no plot */
    hpc_buf_release(&page);
    hpc_buf_release(&csv);
}

static void refuses(void **state)
{
    fixture *f = *state;
    char path[PATH_MAX];
    const char *const root = f->folder->root;
    make_run(f, "a", 3);
    make_run(f, "new", 0);
    ok(hpc_file_mkdir(hpc_test_path(path, f->folder, "bad")));
    ok(hpc_file_mkdir(hpc_test_path(path, f->folder, "empty")));
    save(f, "bad/metrics.csv", "step,tokens,loss,step_ms\n1,2,3,4\n2,x,3,4\n");
    hpc_test_refuses(&f->o, root, "report", "name the folder of a run");
    hpc_test_refuses(&f->o, root, "report @a @empty", "empty is not the folder of a run: ");
    hpc_test_refuses(&f->o, root, "report @a @none", "none is not the folder of a run");
    hpc_test_refuses(&f->o, root, "report @a @bad",
                     "bad/metrics.csv:3:3: tokens 'x' is not an integer");
    hpc_test_refuses(&f->o, root, "report @new", "new/metrics.csv has no steps yet");
    hpc_test_refuses(&f->o, root, "report @a --x hours", "tokens, time, step");
    hpc_test_refuses(&f->o, root, "report @a --out @r.pdf", ".png, .svg or .html");
    assert_int_equal(f->o.code, 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_are_right),     TEST(tables_name_runs), TEST(pages_have_the_numbers),
        TEST(long_runs_are_thinned), TEST(refuses),
    };
    return cmocka_run_group_tests_name("cmd/report", tests, NULL, NULL);
}
