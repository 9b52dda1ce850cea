/*
 * Tests of runtime/base/progress.c. The tests set the times of start and last display, so they
 * neither wait nor depend on the speed of the machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/base.h"

#define SECOND INT64_C(1000000000)

static void write_text(void *user, const char *text, size_t n)
{
    hpc_buf_add(user, text, n);
}

typedef struct fixture {
    hpc_buf out;
    hpc_progress p;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->p = (hpc_progress){.write = write_text, .user = &f->out};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    hpc_buf_release(&f->out);
    free(f);
    return 0;
}

/* As if so many seconds had gone by. */
static void pass(fixture *f, int64_t seconds)
{
    f->p.start_ns -= seconds * SECOND;
    f->p.shown_ns -= seconds * SECOND;
}

static void clear(fixture *f)
{
    hpc_buf_release(&f->out);
}

static const char *output(const fixture *f)
{
    return f->out.n > 0 ? f->out.data : "";
}

static void test_bar(void **state)
{
    fixture *f = *state;
    f->p.terminal = true;
    hpc_progress_start(&f->p, "packing", "files", 1000000);
    hpc_progress_update(&f->p, 0, NULL); /* at once */
    assert_string_equal(output(f), "\r\x1b[Kpacking [............]   0% 0/1.00M files");
    clear(f);
    pass(f, 100000);
    hpc_progress_update(&f->p, 250000, "a.c");
    assert_string_equal(output(f), "\r\x1b[Kpacking [###.........]  25% 250k/1.00M files, "
                                   "2.50 files/s, 3d11h left, a.c");
    clear(f);
    pass(f, 1);
    hpc_progress_update(&f->p, 1000000, NULL);
    assert_non_null(strstr(output(f), "[############] 100% 1.00M/1.00M files, 10.0 files/s"));
    assert_null(strstr(output(f), "left"));
}

static void test_bar_is_redrawn_ten_times_a_second(void **state)
{
    fixture *f = *state;
    f->p.terminal = true;
    hpc_progress_start(&f->p, "x", "u", 10);
    hpc_progress_update(&f->p, 1, NULL);
    clear(f);
    f->p.shown_ns += 3600 * SECOND; /* shown just now, however slow this machine is */
    hpc_progress_update(&f->p, 2, NULL);
    assert_string_equal(output(f), "");
    f->p.shown_ns = hpc_clock_ns() - SECOND / 10;
    hpc_progress_update(&f->p, 3, NULL);
    assert_non_null(strstr(output(f), "30%"));
}

static void test_lines_elsewhere(void **state)
{
    fixture *f = *state;
    hpc_progress_start(&f->p, "packing", "files", 1000000);
    hpc_progress_update(&f->p, 1, NULL); /* nothing before it takes long */
    assert_string_equal(output(f), "");
    f->p.shown_ns = hpc_clock_ns() - 5 * SECOND;
    hpc_progress_update(&f->p, 2, NULL);
    assert_string_equal(output(f), "");
    f->p.start_ns = hpc_clock_ns() - 100000 * SECOND;
    f->p.shown_ns = f->p.start_ns;
    hpc_progress_update(&f->p, 250000, NULL);
    assert_string_equal(output(f), "packing:  25% 250k/1.00M files, 2.50 files/s, 3d11h left\n");
    clear(f);
    hpc_progress_update(&f->p, 250001, NULL);
    assert_string_equal(output(f), "");
}

static void deadline_bounds_the_time_left(void **state)
{
    fixture *f = *state;
    hpc_progress_start(&f->p, "completing", "tokens", 1000);
    f->p.start_ns = hpc_clock_ns() - 100 * SECOND;
    f->p.shown_ns = f->p.start_ns;
    f->p.until_ns = hpc_clock_ns() + 20 * SECOND + SECOND / 4;
    hpc_progress_update(&f->p, 100, NULL); /* 900 s at this rate */
    assert_string_equal(output(f), "completing:  10% 100/1.00k tokens, 1.00 tokens/s, 20s left\n");
    clear(f);
    f->p.shown_ns -= 100 * SECOND;
    f->p.until_ns = hpc_clock_ns() - SECOND;
    hpc_progress_update(&f->p, 100, NULL);
    assert_non_null(strstr(output(f), ", 0s left\n"));
    clear(f);
    f->p.shown_ns -= 100 * SECOND;
    f->p.until_ns = hpc_clock_ns() + 5000 * SECOND;
    hpc_progress_update(&f->p, 100, NULL);
    assert_non_null(strstr(output(f), ", 15m"));
}

static void test_unknown_total(void **state)
{
    fixture *f = *state;
    hpc_progress_start(&f->p, "reading", "B", 0);
    pass(f, 1000);
    hpc_progress_update(&f->p, 12345678, NULL);
    assert_string_equal(output(f), "reading: 12.3M B, 12.3k B/s\n");
    clear(f);
    f->p.terminal = true;
    pass(f, 1);
    hpc_progress_update(&f->p, 12345678, NULL);
    assert_string_equal(output(f), "\r\x1b[Kreading: 12.3M B, 12.3k B/s");
}

static void test_last_line_always(void **state)
{
    fixture *f = *state;
    hpc_progress_start(&f->p, "packing", "files", 10);
    f->p.start_ns = hpc_clock_ns() - 7500 * SECOND;
    hpc_progress_end(&f->p, 7500000);
    assert_string_equal(output(f), "packing: 7.50M files in 2h05m, 1.00k files/s\n");
    clear(f);
    f->p.terminal = true;
    f->p.start_ns = hpc_clock_ns() - 5000 * SECOND;
    hpc_progress_end(&f->p, 0);
    assert_string_equal(output(f), "\r\x1b[Kpacking: 0 files in 1h23m\n");
}

static void test_resumed_work_does_not_count(void **state)
{
    fixture *f = *state;
    hpc_progress_start(&f->p, "training", "steps", 200000);
    f->p.start_done = 100000;
    pass(f, 100000);
    hpc_progress_update(&f->p, 150000, NULL);
    assert_string_equal(output(f), "training:  75% 150k/200k steps, 0.50 steps/s, 1d03h left\n");
}

static void test_long_times(void **state)
{
    fixture *f = *state;
    hpc_progress_start(&f->p, "x", "u", INT64_MAX);
    pass(f, 86400);
    hpc_progress_update(&f->p, 86400, NULL);
    assert_non_null(strstr(output(f), "/9.22E u, 1.00 u/s, 11574d01h left"));
    clear(f);
    f->p.total = 2 * 86400 + 3600 * 5;
    pass(f, 20);
    hpc_progress_update(&f->p, 86400, NULL);
    assert_non_null(strstr(output(f), "1.00 u/s, 1d05h left"));
}

static void test_short_times(void **state)
{
    fixture *f = *state;
    hpc_progress_start(&f->p, "x", "u", 1);
    pass(f, 42);
    hpc_progress_end(&f->p, 0);
    assert_non_null(strstr(output(f), "x: 0 u in 4")); /* "42s", or a little more */
    clear(f);
    pass(f, 185 - 42);
    hpc_progress_end(&f->p, 0);
    assert_non_null(strstr(output(f), "x: 0 u in 3m0")); /* "3m05s" */
}

/* Counts above the total or below the previous one are shown, within the bar. */
static void test_strange_counts(void **state)
{
    fixture *f = *state;
    f->p.terminal = true;
    hpc_progress_start(&f->p, "x", "u", 10);
    pass(f, 100);
    hpc_progress_update(&f->p, 25, NULL);
    assert_string_equal(output(f), "\r\x1b[Kx [############] 100% 25/10 u, 0.25 u/s");
    clear(f);
    pass(f, 1);
    hpc_progress_update(&f->p, -5, NULL);
    assert_string_equal(output(f), "\r\x1b[Kx [............]   0% -5/10 u");
}

static void test_never_wider_than_the_terminal(void **state)
{
    fixture *f = *state;
    char extra[400];
    memset(extra, 0, sizeof extra);
    for (int i = 0; i < 150; i++) strcat(extra, i == 3 ? "\n" : "\xC3\xA9");
    f->p.terminal = true;
    hpc_progress_start(&f->p, "a label", "units", 10);
    hpc_progress_update(&f->p, 1, extra);
    const char *text = output(f) + strlen("\r\x1b[K");
    int columns = 0;
    for (const char *p = text; *p; p++) columns += ((unsigned char)*p & 0xC0) != 0x80;
    assert_int_equal(columns, 79);
    assert_null(strchr(text, '\n'));
    assert_memory_equal(text + strlen(text) - 2, "\xC3\xA9", 2); /* no half character */
}

static void clear_erases_a_terminal_line(void **state)
{
    fixture *f = *state;
    hpc_progress_start(&f->p, "reading", "tokens", 100);
    hpc_progress_clear(&f->p);
    assert_string_equal(output(f), "");
    f->p.terminal = true;
    hpc_progress_clear(&f->p);
    assert_string_equal(output(f), "\r\x1b[K");
}

static void line_is_narrower_than_terminal(void **state)
{
    static const char erase[] = "\r\x1b[K";
    fixture *f = *state;
    f->p.terminal = true;
    for (f->p.columns = 20; f->p.columns <= 120; f->p.columns += 20) {
        clear(f);
        hpc_progress_start(&f->p, "train", "steps", 1000);
        pass(f, 100);
        hpc_progress_update(&f->p, 500,
                            "a note that is much longer than the line of any terminal, "
                            "so that the line must be cut at its width");
        size_t n = strlen(output(f)) - strlen(erase), most = f->p.columns < 80 ? f->p.columns : 80;
        assert_int_equal(n, most - 1);
    }
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_bar),
        CASE(test_bar_is_redrawn_ten_times_a_second),
        CASE(test_lines_elsewhere),
        CASE(deadline_bounds_the_time_left),
        CASE(test_unknown_total),
        CASE(test_last_line_always),
        CASE(test_resumed_work_does_not_count),
        CASE(test_long_times),
        CASE(test_short_times),
        CASE(test_strange_counts),
        CASE(test_never_wider_than_the_terminal),
        CASE(clear_erases_a_terminal_line),
        CASE(line_is_narrower_than_terminal),
    };
    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
