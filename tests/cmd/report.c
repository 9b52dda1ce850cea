/*
 * Tests of `hpccoder report`: summary, JSON, pages, pictures and errors.
 */
/* tsan: left out, other tests start the same threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The cells of a run's row, in the tables of the terminal, under the header `head`. */
static void cell_is(const char *text, const char *run, const char *head, const char *cell)
{
    char table[HPC_TEST_OUT], name[64], value[64];
    snprintf(table, sizeof table, "%s", text);
    bool wanted = false;
    int64_t at = -1;
    for (char *save = NULL, *line = strtok_r(table, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
    {
        const char *found = strncmp(line, "run ", 4) == 0 ? strstr(line, head) : NULL;
        if (strncmp(line, "run ", 4) == 0) wanted = found != NULL;
        if (found) at = found - line + (int64_t)strlen(head);
        if (!wanted || sscanf(line, "%63s", name) != 1 || strcmp(name, run) != 0) continue;
        int64_t from = at;
        while (from > 0 && line[from - 1] != ' ') from--;
        snprintf(value, sizeof value, "%.*s", (int)(at - from), line + from);
        assert_string_equal(value, cell);
        return;
    }
    fail_msg("no '%s' of '%s' in:\n%s", head, run, text);
}

static void labels_tell_runs_apart(void **state)
{
    fixture *f = *state;
    make_run(f, "x/run", 20);
    make_run(f, "y/run", 30);
    make_run(f, "other", 5);
    run(f, "report @x/run @y/run/ @other");
    hpc_test_says(f->o.out, "3 runs.\n");
    cell_is(f->o.out, "x/run", "steps", "20");
    cell_is(f->o.out, "y/run", "steps", "30");
    cell_is(f->o.out, "other", "tokens", "3000");
    cell_is(f->o.out, "other", "loss", "98.7500");
    cell_is(f->o.out, "other", "validation", "-");
    run(f, "report @other");
    hpc_test_says(f->o.out, "other: 5 steps, 3000 tokens, 5 s.\n");
    hpc_test_says(f->o.out, "Training loss at the end: 98.7500; no validation.\n");
    /* Columns without a value are left out. */
    hpc_test_says(f->o.out, "\nrun       loss  steps  tokens  time  tokens/s\n"
                            "other  98.7500      5    3000   5 s       600\n");
    make_run(f, "first", 1);
    run(f, "report @first");
    hpc_test_says(f->o.out, "first: 1 step, 600 tokens, 1 s.\n");
}

/* ---- the summary ----------------------------------------------------------------- */

static void make_config(const fixture *f, const char *run, const char *text)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/config.json", run);
    save(f, name, text);
}

/* The expected values come from make_run's formulas, which wrote metrics.csv. */
static void summary_equals_the_metrics(void **state)
{
    fixture *f = *state;
    make_run(f, "a", 200);
    make_run(f, "b", 100);
    make_config(f, "a", "{\"steps\": 200, \"lr\": 0.01, \"optimizer\": \"sgd\", \"out\": \"a\"}");
    make_config(f, "b", "{\"steps\": 300, \"lr\": 0.01, \"optimizer\": \"adamw\", \"out\": \"b\"}");
    run(f, "report @a @b");
    cell_is(f->o.out, "b", "loss", "-"); /* the last step was skipped: not enough to diverge */
    hpc_test_says(f->o.out, "2 runs: 1 finished, 1 unfinished.\n");
    run(f, "report @a @b --smooth 11");
    hpc_test_says(f->o.out, "2 runs: 1 finished, 1 unfinished.\n"
                            "Lowest validation loss: 3.2500 (a, step 100).\n"
                            "Lowest training loss at the end: 51.3750 (a).\n"
                            "Highest throughput: 600 tokens/s (a).\n"
                            "The configurations differ in steps, optimizer.\n"
                            "Common settings: lr 0.01.\n\nrun  state ");
    cell_is(f->o.out, "a", "loss", "51.3750"); /* the mean of steps 190 to 199 */
    cell_is(f->o.out, "a", "validation", "3.2500");
    cell_is(f->o.out, "a", "at step", "100");
    cell_is(f->o.out, "a", "tokens/s", "600");
    cell_is(f->o.out, "a", "skipped", "4");
    cell_is(f->o.out, "b", "tokens", "60000");
    hpc_test_says(f->o.out, "step 100 of 300");
    hpc_test_says(f->o.out, "run  steps  optimizer\na    200    sgd\nb    300    adamw\n");
}

static void single_run_shows_its_settings(void **state)
{
    fixture *f = *state;
    make_run(f, "a", 199);
    make_config(f, "a", "{\"steps\": 400, \"lr\": 0.01, \"hidden\": 32, \"data\": [\"x\"]}");
    run(f, "report @a");
    hpc_test_says(f->o.out, "a: step 199 of 400; 199 steps, 119400 tokens, 3.95 min.\n");
    hpc_test_says(f->o.out, "lowest validation loss: 3.2500 at step 100.\nThroughput: 600 tokens/s."
                            "\nSettings: hidden 32, lr 0.01, steps 400.\n");
    assert_null(strstr(f->o.out, "differ"));
}

static void damaged_config_is_a_warning(void **state)
{
    fixture *f = *state;
    make_run(f, "a", 5);
    make_run(f, "b", 5);
    make_config(f, "a", "{\"lr\": ");
    make_config(f, "b", "{\"lr\": 0.5}");
    hpc_test_command_in(&f->o, f->folder->root, "report @a @b");
    assert_int_equal(f->o.code, 0);
    hpc_test_says(f->o.err, "a/config.json");
    hpc_test_says(f->o.err, "the report leaves its settings out");
    hpc_test_says(f->o.out, "The settings of 1 run are unknown (no readable config.json).\n");
    run(f, "report @a @b --json"); /* JSON needs no settings: no warning */
    make_config(f, "a", "[1]");
    hpc_test_command_in(&f->o, f->folder->root, "report @a @b");
    hpc_test_says(f->o.err, "is not a JSON object");
}

static int longest_line(const char *text)
{
    int most = 0, n = 0;
    for (; *text; text++) {
        n = *text == '\n' ? 0 : n + ((*text & 0xc0) != 0x80);
        if (n > most) most = n;
    }
    return most;
}

/* Columns that do not fit follow in a table below; nothing is lost. */
static void text_fits_the_terminal(void **state)
{
    fixture *f = *state;
    make_run(f, "a-run-with-a-name-that-is-longer-than-most-names-of-folders", 200);
    make_run(f, "b", 200);
    make_config(f, "b", "{\"steps\": 200, \"optimizer\": \"jorge-newton\", \"hidden\": 256}");
    make_config(f, "a-run-with-a-name-that-is-longer-than-most-names-of-folders",
                "{\"steps\": 300, \"optimizer\": \"adamw\", \"hidden\": 512}");
    for (int width = 60; width <= 120; width += 20) {
        char columns[16];
        snprintf(columns, sizeof columns, "%d", width);
        setenv("COLUMNS", columns, 1);
        run(f, "report @b @a-run-with-a-name-that-is-longer-than-most-names-of-folders");
        unsetenv("COLUMNS");
        assert_in_range(longest_line(f->o.out), 40, width - 1);
        cell_is(f->o.out, "b", "skipped", "4");
        cell_is(f->o.out, "b", "tokens/s", "600");
        hpc_test_says(f->o.out, "...");
        hpc_test_says(f->o.out, "jorge-newton");
    }
}

/* ---- pages ------------------------------------------------------------------------ */

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

static void page_begins_with_the_summary(void **state)
{
    fixture *f = *state;
    hpc_buf page = {0};
    make_run(f, "a", 199);
    make_run(f, "<b>", 40);
    make_config(f, "a", "{\"steps\": 199, \"optimizer\": \"sgd\", \"lr\": 0.25}");
    make_config(f, "<b>", "{\"steps\": 40, \"optimizer\": \"<script>\", \"lr\": 0.25}");
    read_page(f, &page, "report @a @<b> --out @r.html");
    const char *order[] = {"2 runs: 2 finished.",
                           "Lowest validation loss: 3.2500 (a, step 100).",
                           "<h2>Results</h2>",
                           "<td class=\"n best\">3.2500</td>",
                           "<h2>Differences in configuration</h2>",
                           "&lt;script&gt;",
                           "<h2>Training loss against tokens</h2>",
                           "<h2>Training loss against time</h2>",
                           "<h2>Validation loss</h2>",
                           "<h2>Learning rate</h2>",
                           "<h2>Gradient norm</h2>",
                           "<h2>Throughput</h2>",
                           "Numbers of a</summary>",
                           "Numbers of &lt;b&gt;</summary>",
                           "All settings</summary>"};
    const char *at = page.data;
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        const char *next = strstr(at, order[k]);
        if (!next) fail_msg("'%s' is not on the page, or too early", order[k]);
        at = next;
    }
    assert_int_equal(times(page.data, "<table>"), 5);
    assert_int_equal(times(page.data, "<details>"), 3);
    assert_int_equal(times(page.data, "<svg class=\"plot\""), 2 * 6); /* wide and narrow */
    assert_null(strstr(page.data, "<script"));
    assert_null(strstr(page.data, "http-equiv=\"refresh"));
    assert_null(strstr(page.data, "src="));
    assert_null(strstr(page.data, "<b>"));
    hpc_buf_release(&page);
}

static void page_tables_equal_the_metrics(void **state)
{
    fixture *f = *state;
    hpc_buf page = {0};
    make_run(f, "first", 60);
    read_page(f, &page, "report @first --out @r.html --smooth 5 --x step");
    hpc_test_says(page.data, "Training loss against steps");
    hpc_test_says(page.data, "first, means of 5 steps");
    /* Step, tokens, time, loss, mean, validation, rate, norm and throughput. */
    hpc_test_says(page.data,
                  "<tr><td class=\"n\">20</td><td class=\"n\">12000</td><td class=\"n\">24 s</td>"
                  "<td class=\"n\">95</td><td class=\"n\">95</td><td class=\"n\">24</td>"
                  "<td class=\"n\">0.001</td><td class=\"n\">0</td><td class=\"n\">200</td>");
    /* The mean leaves out the skipped step 50. */
    hpc_test_says(page.data, "<td class=\"n\">87.75</td><td class=\"n\">87.8125</td>");
    hpc_test_says(page.data, "<td>skipped</td>");
    assert_int_equal(times(page.data, "<td class=\"n\">600</td>"), 60 - 6 + 1 + 1); /* tokens/s */
    read_page(f, &page, "report @first --out @r.html --x time");
    assert_true(strstr(page.data, "against time") < strstr(page.data, "against tokens"));
    hpc_buf_release(&page);
    run(f, "report @first --out @r.png");
    run(f, "report @first --out @r.svg");
}

static void page_of_a_long_run_is_small(void **state)
{
    fixture *f = *state;
    hpc_buf page = {0}, csv = {0};
    hpc_buf_text(&csv, "step,tokens,loss,step_ms\n");
    for (int k = 1; k <= 100001; k++)
        hpc_buf_printf(&csv, "%d,%d,%.4f,100\n", k, 100 * k, k == 77777 ? 9.0 : 2 + k % 7 / 100.0);
    char path[PATH_MAX];
    ok(hpc_file_mkdir(hpc_test_path(path, f->folder, "long")));
    save(f, "long/metrics.csv", csv.data);
    read_page(f, &page, "report @long --out @r.html --smooth 1");
    assert_true(page.n < 100000);
    assert_in_range(times(page.data, "<tr>"), 90, 110);
    hpc_test_says(page.data, "<tr><td class=\"n\">100001</td>");
    assert_int_equal(times(page.data, "<h2>Learning rate"), 0); /* no column: no plot */
    hpc_test_says(page.data, "million tokens");
    hpc_test_says(page.data, "the largest is 9."); /* a spike of one step stays */
    hpc_buf_release(&page);
    hpc_buf_release(&csv);
}

/* Losses of a run that diverges without skipping, at the end NaN. */
static void make_diverging(const fixture *f, const char *name)
{
    char path[PATH_MAX];
    hpc_buf csv = {0};
    hpc_buf_text(&csv, "step,tokens,loss,step_ms,lr,validation_loss\n");
    for (int k = 1; k <= 100; k++) {
        const char *validation = k == 40 ? "1e30" : k == 20 ? "3.5" : "";
        if (k < 60)
            hpc_buf_printf(&csv, "%d,%d,%g,100,10,%s\n", k, k, k < 30 ? 4 : 1e20 * k, validation);
        else
            hpc_buf_printf(&csv, "%d,%d,nan,100,10,%s\n", k, k, k == 80 ? "nan" : "");
    }
    ok(hpc_file_mkdir(hpc_test_path(path, f->folder, name)));
    snprintf(path, sizeof path, "%s/metrics.csv", name);
    save(f, path, csv.data);
    hpc_buf_release(&csv);
}

static void diverged_run_does_not_set_the_scale(void **state)
{
    fixture *f = *state;
    hpc_buf page = {0};
    make_diverging(f, "lost");
    make_run(f, "fine", 199);
    read_page(f, &page, "report @lost @fine --out @r.html");
    hpc_test_says(f->o.out, "1 diverged, 1 with an unknown number of steps.\n");
    hpc_test_says(f->o.out, "diverged at step 60");
    hpc_test_says(f->o.out, "Lowest training loss at the end: 50.3750 (fine).\n");
    cell_is(f->o.out, "lost", "loss", "-");
    hpc_test_says(page.data, "Losses above 110 lie on the upper edge; the largest is 5.9e+21.");
    hpc_test_says(page.data, "A cross marks the last finite loss of a run that diverged.");
    hpc_test_says(page.data,
                  ">80</text>"); /* a tick of losses, of which the other run has 50 to 100 */
    assert_null(strstr(page.data, ">nan<"));
    assert_null(strstr(page.data, "e+21</text>"));
    assert_null(strstr(page.data, "inf"));
    read_page(f, &page, "report @lost --out @r.html --smooth 1");
    hpc_test_says(f->o.out, "lost: diverged at step 60; 100 steps");
    hpc_test_says(f->o.out, "No loss at the end; lowest validation loss: 3.5000 at step 20.\n");
    run(f, "report @lost @fine --out @r.png");
    hpc_buf_release(&page);
}

static void page_of_ten_runs_names_all(void **state)
{
    fixture *f = *state;
    hpc_buf page = {0}, words = {0};
    hpc_buf_text(&words, "report --out @r.html");
    for (int k = 0; k < 10; k++) {
        char name[16];
        snprintf(name, sizeof name, "run-%d", k);
        make_run(f, name, k == 3 ? 1 : 60 + k);
        hpc_buf_printf(&words, " @run-%d", k);
    }
    read_page(f, &page, words.data);
    assert_int_equal(times(page.data, "class=\"plot swatch\""), 10);
    for (int k = 0; k < 10; k++) {
        char label[64];
        snprintf(label, sizeof label, "start\">run-%d</text>", k);
        /* In the key of six plots, but run 3, which has no validation, of five; twice each. */
        assert_int_equal(times(page.data, label), k == 3 ? 10 : 12);
    }
    assert_null(strstr(page.data, "x=\"-"));
    hpc_buf_release(&words);
    hpc_buf_release(&page);
}

/* ---- errors ------------------------------------------------------------------------ */

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
        TEST(numbers_are_right),
        TEST(labels_tell_runs_apart),
        TEST(summary_equals_the_metrics),
        TEST(single_run_shows_its_settings),
        TEST(damaged_config_is_a_warning),
        TEST(text_fits_the_terminal),
        TEST(page_begins_with_the_summary),
        TEST(page_tables_equal_the_metrics),
        TEST(page_of_a_long_run_is_small),
        TEST(diverged_run_does_not_set_the_scale),
        TEST(page_of_ten_runs_names_all),
        TEST(refuses),
    };
    return cmocka_run_group_tests_name("cmd/report", tests, NULL, NULL);
}
