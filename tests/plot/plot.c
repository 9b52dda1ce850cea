/*
 * Tests of runtime/plot: pictures, pages of plots, hostile texts, errors.
 */
/* tsan: left out, starts no thread. */
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
#include "tests/support/picture.h"

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

/* Quotes before, after, and several in a row. */
static void test_quotes(void **state)
{
    static const char *const texts[] = {
        "'", "''", "'a'", "a'' ; system('touch owned') ; ''", "'''; !touch owned", "x''''y"};
    char path[PATH_MAX];
    hpc_plot plots[3];
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        hpc_buf svg = {0};
        hpc_figure f = figure(plots);
        plots[2].title = plots[2].x_label = f.title = texts[k];
        f.plot = &plots[2];
        f.n = 1;
        if (hpc_plot_save(hpc_test_path(path, *state, "a.svg"), &f) < 0)
            fail_msg("%s: %s", texts[k], hpc_error_get()->text);
        assert_int_equal(hpc_file_read(&svg, path, 1 << 24), 0);
        assert_non_null(strstr(svg.data, "\xe2\x80\x99"));
        assert_false(hpc_file_exists("owned"));
        hpc_buf_release(&svg);
    }
}

static int times(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) n++;
    return n;
}

/* Steps of a run with their mean in front, in one colour; the page's table has the mean only. */
static void test_faint_lines(void **state)
{
    static const double noisy[] = {7, 77, 777, 1007}, low[] = {5, 5, 5, 5};
    static const hpc_plot_series series[] = {
        {.x = x, .y = noisy, .n = 4, .colour = 2, .faint = true},
        {.name = "mean", .x = x, .y = low, .n = 4, .colour = 2, .mark = HPC_PLOT_MARK_DOT}};
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

/* What belongs to a series of costs: intervals, a level with its band, marks, a strip. */
typedef struct costs {
    double x[5], y[5], low[5], high[5];
    hpc_plot_series series[3];
    hpc_plot_strip strip;
    hpc_plot_hint hint[5];
    hpc_plot plot;
} costs;

static void make_costs(costs *c)
{
    static const double level_x[] = {0.6, 5.4}, level[] = {2.5, 2.5}, lows[] = {2.4, 2.4};
    static const double highs[] = {2.6, 2.6}, up_x[] = {5}, up[] = {3};
    *c = (costs){.strip = {2.5, 3.5}};
    for (int k = 0; k < 5; k++) {
        c->x[k] = k + 1;
        c->y[k] = k == 2 ? NAN : 2 + 0.25 * k;
        c->low[k] = c->y[k] - 0.2;
        c->high[k] = k == 1 ? NAN : c->y[k] + 0.2;
        c->hint[k] = (hpc_plot_hint){k + 1, k == 3 ? "<script>\"'&" : k == 4 ? NULL : "plain"};
    }
    c->series[0] = (hpc_plot_series){.name = "costs",
                                     .x = c->x,
                                     .y = c->y,
                                     .n = 5,
                                     .colour = 1,
                                     .thin = true,
                                     .mark = HPC_PLOT_MARK_DOT,
                                     .low = c->low,
                                     .high = c->high};
    c->series[1] = (hpc_plot_series){.name = "level",
                                     .x = level_x,
                                     .y = level,
                                     .n = 2,
                                     .colour = 2,
                                     .low = lows,
                                     .high = highs,
                                     .band = true};
    c->series[2] = (hpc_plot_series){.name = "slower",
                                     .x = up_x,
                                     .y = up,
                                     .n = 1,
                                     .colour = 4,
                                     .apart = true,
                                     .mark = HPC_PLOT_MARK_UP};
    c->plot = (hpc_plot){.kind = HPC_PLOT_LINES,
                         .title = HOSTILE,
                         .x_label = "commits",
                         .y_label = "time",
                         .series = c->series,
                         .series_n = 3,
                         .y_from = 1.5,
                         .y_to = 3.5,
                         .strip = &c->strip,
                         .strips_n = 1,
                         .hint = c->hint,
                         .hints_n = 5};
}

static void test_intervals_in_a_picture(void **state)
{
    char path[PATH_MAX];
    hpc_buf png = {0};
    hpc_test_picture p;
    costs c;
    make_costs(&c);
    hpc_figure f = {.plot = &c.plot, .n = 1, .width = 600, .height = 300};
    if (hpc_plot_save(hpc_test_path(path, *state, "a.png"), &f) < 0)
        fail_msg("%s", hpc_error_get()->text);
    assert_int_equal(hpc_file_read(&png, path, 1 << 24), 0);
    hpc_test_picture_read(&p, png.data, png.n);
    assert_int_equal(p.width, 600);
    assert_int_equal(p.height, 300);
    assert_true(hpc_test_picture_count(&p, 0xffffff, 0) > 90000);
    assert_in_range(hpc_test_picture_count(&p, 0xf3d9c8, 0), 10000, 30000); /* the strip */
    assert_true(hpc_test_picture_count(&p, 0xe69f00, 8) > 400);             /* the level */
    assert_true(hpc_test_picture_count(&p, 0xf6dca1, 2) > 4000);            /* its band */
    assert_true(hpc_test_picture_count(&p, 0xd55e00, 8) > 20);              /* the mark */
    hpc_free(p.rgb);
    hpc_buf_release(&png);
}

static void test_plots_within_a_page(void **state)
{
    hpc_buf svg = {0}, style = {0};
    costs c;
    (void)state;
    make_costs(&c);
    assert_int_equal(hpc_plot_inline(&svg, &c.plot, 600, 300), 0);
    assert_int_equal(times(svg.data, "<svg"), 1);
    assert_int_equal(times(svg.data, "class=\"strip\""), 1);
    assert_int_equal(times(svg.data, "<title>"), 4);
    assert_int_equal(times(svg.data, "<title>plain</title>"), 3);
    assert_int_equal(times(svg.data, "<title>&lt;script&gt;&quot;&#39;&amp;</title>"), 1);
    assert_non_null(strstr(svg.data, "&lt;b&gt;"));
    assert_null(strstr(svg.data, "<b>"));
    assert_null(strstr(svg.data, "<script"));
    assert_null(strstr(svg.data, "nan"));
    assert_null(strstr(svg.data, "inf"));
    /* Where nothing is known the line ends, and begins again. */
    const char *line = strstr(svg.data, "<path class=\"c1 line\"");
    assert_non_null(line);
    hpc_buf path = {0};
    hpc_buf_add(&path, line, strcspn(line, ">"));
    assert_int_equal(times(path.data, "M"), 2);
    assert_int_equal(times(path.data, "L"), 2);
    assert_int_equal(hpc_plot_inline_style(&style), 0);
    assert_non_null(strstr(style.data, "prefers-color-scheme:dark"));
    hpc_buf_release(&path);
    hpc_buf_release(&svg);
    hpc_buf_release(&style);
}

/* 4 to 4,000 has ticks at 5, 10, 20, ..., 2000, or at 1000, 2000, 3000; a single value also has a
 * range. */
static void test_axes_within_a_page(void **state)
{
    static const double along[] = {1, 2, 3}, wide[] = {4, 100, 4000}, one[] = {7};
    hpc_plot_series s = {.x = along, .y = wide, .n = 3};
    hpc_plot p = {.kind = HPC_PLOT_LINES, .series = &s, .series_n = 1, .log_y = true};
    hpc_buf svg = {0};
    (void)state;
    assert_int_equal(hpc_plot_inline(&svg, &p, 600, 300), 0);
    assert_non_null(strstr(svg.data, ">1000</text>"));
    assert_null(strstr(svg.data, ">3000</text>"));
    p.log_y = false;
    svg.n = 0;
    assert_int_equal(hpc_plot_inline(&svg, &p, 600, 300), 0);
    assert_non_null(strstr(svg.data, ">3000</text>"));
    s = (hpc_plot_series){.x = along, .y = one, .n = 1, .mark = HPC_PLOT_MARK_CROSS};
    svg.n = 0;
    assert_int_equal(hpc_plot_inline(&svg, &p, 600, 300), 0);
    assert_non_null(strstr(svg.data, ">7</text>"));
    assert_null(strstr(svg.data, "nan"));
    s = (hpc_plot_series){.y = one, .n = 1};
    static const char *const label[] = {"a"};
    p = (hpc_plot){.kind = HPC_PLOT_BARS, .series = &s, .series_n = 1, .label = label};
    assert_int_equal(hpc_plot_inline(&svg, &p, 600, 300), HPC_E_ARG);
    hpc_error_clear();
    hpc_buf_release(&svg);
}

/* Ten names do not fit next to the y axis's name: the legend has rows, and the plot begins below
 * them. The ninth line repeats the first colour, so it is dashed. */
static void test_key_of_many_lines_has_rows(void **state)
{
    hpc_plot_series s[10];
    hpc_buf svg = {0};
    (void)state;
    for (int k = 0; k < 10; k++)
        s[k] = (hpc_plot_series){.name = "a run of ours", .x = x, .y = y, .n = 4, .colour = k + 1};
    hpc_plot p = {.kind = HPC_PLOT_LINES, .y_label = "loss", .series = s, .series_n = 3};
    assert_int_equal(hpc_plot_inline(&svg, &p, 400, 300), 0);
    assert_int_equal(times(svg.data, "y=\"14.0\""), 1); /* the axis's name alone */
    assert_int_equal(times(svg.data, " y=\"32.0\" text-anchor=\"start\">a run of ours"), 2);
    assert_int_equal(times(svg.data, " y=\"50.0\" text-anchor=\"start\">a run of ours"), 1);
    assert_int_equal(times(svg.data, "y1=\"66.0\""), 1); /* the y axis */
    p.series_n = 10;
    svg.n = 0;
    assert_int_equal(hpc_plot_inline(&svg, &p, 1160, 420), 0);
    assert_int_equal(times(svg.data, " dash"), 4); /* two lines and their entries in the key */
    assert_null(strstr(svg.data, "x=\"-"));
    svg.n = 0;
    p.series_n = 3;
    assert_int_equal(hpc_plot_inline(&svg, &p, 1160, 420), 0);
    assert_int_equal(times(svg.data, "y=\"14.0\""), 4);
    hpc_buf_release(&svg);
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
    const struct CMUnitTest tests[] = {TEST(test_pictures),
                                       TEST(test_quotes),
                                       TEST(test_faint_lines),
                                       TEST(test_intervals_in_a_picture),
                                       TEST(test_plots_within_a_page),
                                       TEST(test_axes_within_a_page),
                                       TEST(test_key_of_many_lines_has_rows),
                                       TEST(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
