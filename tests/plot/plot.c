/*
 * Tests of runtime/plot: pictures and pages of figures, hostile texts, errors.
 */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/plot/plot.h"
#include "tests/support/folder.h"

/* Would run a command, set a variable or break out, if a text were ever taken for one. */
#define HOSTILE "it's `touch owned` $(touch owned)\nsystem('touch owned') <b>&\"@x_1^2"

static const char *const labels[] = {"c++", HOSTILE, "fortran"};
static const double lengths[] = {123456, 789, NAN}, more[] = {1, 2, 3};
static const double x[] = {1, 2, 3, 4}, y[] = {3, NAN, 2, 1.5};
static const hpc_plot_series bars[] = {{.name = "kept", .y = lengths, .n = 3},
                                       {.name = HOSTILE, .y = more, .n = 3}};
static const hpc_plot_series lines[] = {{.x = x, .y = y, .n = 4}};

static hpc_figure figure(hpc_plot plots[3])
{
    plots[0] = (hpc_plot){.kind = HPC_PLOT_BARS,
                          .title = HOSTILE,
                          .x_label = "bytes",
                          .label = labels,
                          .series = bars,
                          .series_n = 2};
    plots[1] = plots[0];
    plots[1].log_x = true;
    plots[2] = (hpc_plot){.kind = HPC_PLOT_LINES,
                          .title = "loss",
                          .x_label = "step",
                          .y_label = "loss",
                          .series = lines,
                          .series_n = 1,
                          .log_y = true};
    return (hpc_figure){.title = "A figure", .plot = plots, .n = 3};
}

static void save_and_read(hpc_buf *out, const char *path)
{
    hpc_plot plots[3];
    hpc_figure f = figure(plots);
    if (hpc_plot_save(path, &f) < 0) fail_msg("%s", hpc_error_get()->text);
    out->n = 0;
    assert_int_equal(hpc_file_read(out, path, 1 << 24), 0);
}

static void test_pictures(void **state)
{
    char path[PATH_MAX];
    hpc_buf once = {0}, twice = {0};
    save_and_read(&once, hpc_test_path(path, *state, "a.png"));
    save_and_read(&twice, hpc_test_path(path, *state, "b.png"));
    assert_memory_equal(once.data, "\x89PNG\r\n\x1a\n", 8);
    assert_int_equal(once.n, twice.n);
    assert_memory_equal(once.data, twice.data, once.n);
    save_and_read(&once, hpc_test_path(path, *state, "a.svg"));
    assert_non_null(strstr(once.data, "<svg"));
    assert_non_null(strstr(once.data, "fortran"));
    assert_null(strstr(once.data, "<b>"));
    save_and_read(&once, hpc_test_path(path, *state, "a.html"));
    assert_non_null(strstr(once.data, "<svg"));
    assert_non_null(strstr(once.data, "<td>123456</td>"));
    assert_null(strstr(once.data, "<b>"));
    /* Four files and nothing that a text made. */
    assert_int_equal(hpc_test_entries(((hpc_test_folder *)*state)->root), 4);
    assert_false(hpc_file_exists("owned"));
    hpc_buf_release(&once);
    hpc_buf_release(&twice);
}

static int times(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) n++;
    return n;
}

/* The steps of a run behind their mean, in one colour; the page's table has the mean alone. */
static void test_faint_lines(void **state)
{
    static const double noisy[] = {7, 77, 777, 1007}, low[] = {5, 5, 5, 5};
    static const hpc_plot_series series[] = {
        {.x = x, .y = noisy, .n = 4, .colour = 2, .faint = true},
        {.name = "mean", .x = x, .y = low, .n = 4, .colour = 2, .marks = true}};
    char path[PATH_MAX];
    hpc_buf page = {0};
    hpc_plot plot = {.kind = HPC_PLOT_LINES, .series = series, .series_n = 2, .from_zero = true};
    hpc_figure f = {.plot = &plot, .n = 1};
    assert_int_equal(hpc_plot_save(hpc_test_path(path, *state, "a.html"), &f), 0);
    assert_int_equal(hpc_file_read(&page, path, 1 << 24), 0);
    assert_non_null(strstr(page.data, "230, 159,   0")); /* the second colour */
    assert_int_equal(times(page.data, "opacity='0.25'"), 1);
    assert_int_equal(times(page.data, "<td>5</td>"), 4);
    assert_int_equal(times(page.data, "<td>777</td>"), 0);
    assert_int_equal(times(page.data, "<th>"), 2);
    hpc_buf_release(&page);
}

static void expect_refused(const char *path, const hpc_figure *f, int code, const char *words)
{
    assert_int_equal(hpc_plot_save(path, f), code);
    if (!strstr(hpc_error_get()->text, words)) fail_msg("%s", hpc_error_get()->text);
    hpc_error_clear();
}

static void test_refused(void **state)
{
    char path[PATH_MAX];
    hpc_plot plots[3];
    hpc_figure f = figure(plots);
    expect_refused("a.jpg", &f, HPC_E_ARG, ".png, .svg or .html");
    expect_refused(".png", &f, HPC_E_ARG, ".png, .svg or .html");
    hpc_test_path(path, *state, "none/a.svg");
    expect_refused(path, &f, HPC_E_IO, "none/");
    hpc_test_path(path, *state, "a.svg");
    f.n = 0;
    expect_refused(path, &f, HPC_E_ARG, "1 to 64");
    f.n = 1;
    plots[0].label = NULL;
    expect_refused(path, &f, HPC_E_ARG, "without labels");
    plots[0].series_n = 0;
    expect_refused(path, &f, HPC_E_ARG, "no series");
    assert_int_equal(hpc_test_entries(((hpc_test_folder *)*state)->root), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_pictures), TEST(test_faint_lines),
                                       TEST(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
