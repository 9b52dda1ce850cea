/*
 * Tests of infer/perf/example.c and example_file.c: sets of examples, bit-exact files, and invalid
 * files.
 */
/* tsan: left out, starts no thread. */
#include "tests/perf/examples.h"

#include <stdio.h>

#include "infer/perf/example.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"

static hpc_git_id id(int k)
{
    return (hpc_git_id){{(uint8_t)k, 1, (uint8_t)(k >> 8)}};
}

static int fill(hpc_perf_examples *x)
{
    const planted rule = {.strength = 1, .changed = 0, .groups = 1};
    static const char *const repositories[] = {"a", "b, \"the\" second"};
    int rc = HPC_OK;
    for (int k = 0; k < 12; k++) {
        hpc_perf_example e = planted_example(&rule, 1, k);
        hpc_git_id head = id(k), base = id(k - 1);
        e.change = 1.0 / (k - 3.5);
        e.x.value[k] = 1.0 / 3 + k * 1e-17;
        TRY(hpc_perf_examples_add(x, &e, repositories[k % 2], k < 10 ? "cost" : "time", &base,
                                  &head));
        if (rc != 1) return HPC_E_STATE;
    }
out:
    return rc < 0 ? rc : HPC_OK;
}

static void a_commit_is_there_once_for_each_metric(void **state)
{
    hpc_perf_examples x = {0};
    hpc_git_id one = id(1), two = id(2);
    hpc_perf_example e = {0};
    (void)state;
    assert_int_equal(hpc_perf_examples_add(&x, &e, "a", "cost", &one, &two), 1);
    assert_int_equal(hpc_perf_examples_add(&x, &e, "a", "cost", &one, &two), 0);
    assert_int_equal(hpc_perf_examples_add(&x, &e, "a", "time", &one, &two), 1);
    assert_int_equal(hpc_perf_examples_add(&x, &e, "b", "cost", &one, &two), 1);
    assert_int_equal(hpc_perf_examples_add(&x, &e, "a", "cost", &two, &one), 1);
    assert_int_equal(x.n, 4);
    assert_int_equal(x.again_n, 1);
    assert_int_equal(x.groups, 2);
    assert_int_equal(x.item[2].group, 1);
    assert_int_equal(x.item[3].group, 0);
    assert_string_equal(hpc_perf_examples_name(&x, x.repository[1]), "b");
    hpc_perf_examples_release(&x);
}

static void a_file_comes_back_to_equal_bits(void **state)
{
    hpc_perf_examples x = {0}, y = {0};
    hpc_buf first = {0}, second = {0};
    char path[4096];
    hpc_test_path(path, *state, "e.csv");
    assert_int_equal(fill(&x), 0);
    assert_int_equal(hpc_perf_examples_write(&x, path), 0);
    assert_int_equal(hpc_file_read(&first, path, 1 << 20), 0);
    assert_int_equal(hpc_perf_examples_read(&y, path), 0);
    assert_int_equal(y.n, x.n);
    assert_int_equal(y.groups, 2);
    assert_memory_equal(y.item, x.item, (size_t)x.n * sizeof *x.item);
    assert_memory_equal(&y.from[11].base, &x.from[11].base, sizeof(hpc_git_id));
    assert_int_equal(hpc_perf_examples_read(&y, path), 0); /* again: all are there */
    assert_int_equal(y.n, x.n);
    assert_int_equal(y.again_n, x.n);
    assert_int_equal(hpc_perf_examples_write(&y, path), 0);
    assert_int_equal(hpc_file_read(&second, path, 1 << 20), 0);
    assert_int_equal(second.n, first.n);
    assert_memory_equal(second.data, first.data, first.n);
    hpc_buf_release(&first);
    hpc_buf_release(&second);
    hpc_perf_examples_release(&x);
    hpc_perf_examples_release(&y);
}

/* A file of a version with fewer features: the location of the cost is unknown; the others must be
 * recomputed. */
static void lacks(void **state, int columns, const char *feature)
{
    hpc_perf_examples x = {0};
    char path[4096];
    hpc_test_path(path, *state, "old.csv");
    assert_int_equal(fill(&x), 0);
    assert_int_equal(hpc_perf_examples_write(&x, path), 0);
    hpc_perf_examples_release(&x);
    hpc_buf text = {0}, old = {0};
    assert_int_equal(hpc_file_read(&text, path, 1 << 20), 0);
    for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n")) {
        for (int k = 0; k < columns; k++) *strrchr(line, ',') = '\0';
        hpc_buf_printf(&old, "%s\n", line);
    }
    assert_int_equal(hpc_file_save(path, old.data, old.n), 0);
    assert_int_equal(hpc_perf_examples_read(&x, path), 0);
    assert_int_equal(x.n, 12);
    if (feature)
        assert_string_equal(x.lacks, feature);
    else
        assert_null(x.lacks);
    assert_true(x.item[3].x.value[3] != 0);
    hpc_perf_examples_release(&x);
    hpc_buf_release(&text);
    hpc_buf_release(&old);
}

/* Features of a file with a column `aside` included tests. */
static void features_with_tests_are_found_again(void **state)
{
    hpc_perf_examples x = {0};
    char path[4096];
    hpc_test_path(path, *state, "old.csv");
    assert_int_equal(fill(&x), 0);
    assert_int_equal(hpc_perf_examples_write(&x, path), 0);
    hpc_perf_examples_release(&x);
    hpc_buf text = {0}, old = {0};
    assert_int_equal(hpc_file_read(&text, path, 1 << 20), 0);
    const char *end = strchr(text.data, '\n');
    hpc_buf_printf(&old, "%.*s,aside", (int)(end - text.data), text.data);
    for (const char *line = end + 1; *line; line = end + 1) {
        end = strchr(line, '\n');
        hpc_buf_printf(&old, "\n%.*s,0.5", (int)(end - line), line);
    }
    hpc_buf_text(&old, "\n");
    assert_int_equal(hpc_file_save(path, old.data, old.n), 0);
    assert_int_equal(hpc_perf_examples_read(&x, path), 0);
    assert_int_equal(x.n, 12);
    assert_string_equal(x.lacks, "features of the measured program alone");
    hpc_perf_examples_release(&x);
    hpc_buf_release(&text);
    hpc_buf_release(&old);
}

static void features_that_are_lacking_are_named(void **state)
{
    lacks(state, 6, NULL);
    lacks(state, 8, "estimate_change");
}

static void what_are_no_examples_is_refused(void **state)
{
    static const struct {
        const char *from, *to, *why;
    } cases[] = {{"repository,", "repo,", "e.csv:1: column 1 is 'repo', not 'repository'"},
                 {"lines_added", "lines_more", "e.csv:1: column 8, 'lines_more', is not a feature"},
                 {"lines_added", "lines_removed", "repeated"},
                 {"lines_added,", "", "e.csv:2: it has more columns than the first line (173)"},
                 {"\na,", "\na,x,", "e.csv:2: it has more columns than the first line (174)"},
                 {"\na,", "\n,", "e.csv:2: repository: it has no name"},
                 {"\na,", "\n\"a,", "e.csv:2: "},
                 {"\"b, ", "b, ", "e.csv:3: it has more columns than"},
                 {"second\"", "second\"x", "e.csv:3: text follows a quoted field"},
                 {",000100", ",zz0100", "is not a commit id"},
                 {",1700000000,", ",17e8,", "time: '17e8' is not a number of seconds"},
                 {",1700000000,", ",99999999999999999999,", "is not a number of seconds"},
                 {",same,", ",unknown,", "label: 'unknown' must be"},
                 {",same,", ",same,x", "change: 'x"},
                 {",same,", ",same,nan", "change: 'nan"},
                 {",same,", ",same,1e300", "change: '1e300"}};
    hpc_perf_examples x = {0};
    hpc_buf text = {0};
    char path[4096];
    hpc_test_path(path, *state, "e.csv");
    assert_int_equal(fill(&x), 0);
    assert_int_equal(hpc_perf_examples_write(&x, path), 0);
    hpc_perf_examples_release(&x);
    assert_int_equal(hpc_file_read(&text, path, 1 << 20), 0);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hpc_buf other = {0};
        const char *at = strstr(text.data, cases[k].from);
        if (!at) fail_msg("there is no %s", cases[k].from);
        hpc_buf_add(&other, text.data, (size_t)(at - text.data));
        hpc_buf_text(&other, cases[k].to);
        hpc_buf_text(&other, at + strlen(cases[k].from));
        assert_int_equal(hpc_file_save(path, other.data, other.n), 0);
        int rc = hpc_perf_examples_read(&x, path);
        if (rc != HPC_E_FORMAT || !strstr(hpc_error_get()->text, cases[k].why))
            fail_msg("%s for %s: %d: '%s' has no '%s'", cases[k].to, cases[k].from, rc,
                     hpc_error_get()->text, cases[k].why);
        hpc_error_clear();
        hpc_perf_examples_release(&x);
        hpc_buf_release(&other);
    }
    assert_int_equal(hpc_file_save(path, "", 0), 0);
    assert_int_equal(hpc_perf_examples_read(&x, path), HPC_E_FORMAT);
    hpc_error_clear();
    assert_int_equal(hpc_file_save(path, "a\0b", 3), 0);
    assert_int_equal(hpc_perf_examples_read(&x, path), HPC_E_FORMAT);
    hpc_error_clear();
    hpc_buf_release(&text);
    hpc_perf_examples_release(&x);
}

static int keep(void *path)
{
    hpc_perf_examples x = {0}, y = {0};
    int rc = HPC_OK;
    TRY(fill(&x));
    TRY(hpc_perf_examples_write(&x, path));
    TRY(hpc_perf_examples_read(&y, path));
out:
    hpc_perf_examples_release(&x);
    hpc_perf_examples_release(&y);
    return rc;
}

static void every_allocation_fails(void **state)
{
    char path[4096];
    hpc_test_path(path, *state, "e.csv");
    assert_true(hpc_test_each_alloc(keep, path) > 20);
}

int main(void)
{
#define FOLDER(name)                                                                               \
    cmocka_unit_test_setup_teardown(name, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_is_there_once_for_each_metric),
        FOLDER(a_file_comes_back_to_equal_bits),
        FOLDER(features_that_are_lacking_are_named),
        FOLDER(features_with_tests_are_found_again),
        FOLDER(what_are_no_examples_is_refused),
        FOLDER(every_allocation_fails),
    };
    return cmocka_run_group_tests_name("perf/example", tests, NULL, NULL);
}
