/*
 * Tests of runtime/base/path.c: paths that end with others, and the lines of a file.
 */
/* tsan: left out, starts no thread. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/path.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"

static void path_ends_with_whole_names_only(void **state)
{
    (void)state;
    assert_true(hpc_path_ends("project/src/a.c", "src/a.c"));
    assert_true(hpc_path_ends("src/a.c", "src/a.c"));
    assert_true(hpc_path_ends("/src/a.c", "src/a.c"));
    assert_false(hpc_path_ends("src/a.c", "project/src/a.c"));
    assert_false(hpc_path_ends("src/data.c", "a.c"));
    assert_false(hpc_path_ends("src/a.c", "src/b.c"));
}

static void paths_meet_in_either_order_and_without_dots(void **state)
{
    (void)state;
    assert_true(hpc_path_meets("./src/a.c", "project/src/a.c"));
    assert_true(hpc_path_meets("project/src/a.c", "././src/a.c"));
    assert_true(hpc_path_meets("./a.c", "a.c"));
    assert_false(hpc_path_meets("src/a.c", "lib/a.c"));
    assert_false(hpc_path_meets("../src/a.c", "src/b.c"));
}

typedef struct reading {
    const char *path;
    char **line;
    int64_t n;
    hpc_arena *arena;
} reading;

static int read_lines(void *user)
{
    reading *r = user;
    hpc_arena_free(r->arena);
    r->arena = hpc_arena_create(0);
    if (!r->arena) return HPC_E_NOMEM;
    return hpc_path_lines(&r->line, &r->n, r->arena, r->path, 64);
}

static void lines_are_those_between_line_ends(void **state)
{
    static const struct {
        const char *text, *line[3];
        int64_t n;
    } file[] = {{.text = "", .n = 0},
                {.text = "\n", .line = {""}, .n = 1},
                {.text = "a", .line = {"a"}, .n = 1},
                {.text = "a\n", .line = {"a"}, .n = 1},
                {.text = "a\n\nb c\n", .line = {"a", "", "b c"}, .n = 3},
                {.text = "a\r\nb", .line = {"a\r", "b"}, .n = 2}};
    char path[PATH_MAX];
    reading r = {.path = path};
    hpc_test_path(path, *state, "lines");
    for (size_t f = 0; f < sizeof file / sizeof *file; f++) {
        assert_int_equal(hpc_file_save(path, file[f].text, strlen(file[f].text)), 0);
        assert_int_equal(read_lines(&r), 0);
        assert_int_equal(r.n, file[f].n);
        for (int64_t k = 0; k < r.n; k++) assert_string_equal(r.line[k], file[f].line[k]);
    }
    hpc_arena_free(r.arena);
}

static void lines_of_a_file_that_is_too_large_are_refused(void **state)
{
    char path[PATH_MAX], text[65];
    reading r = {.path = path};
    hpc_test_path(path, *state, "large");
    memset(text, 'x', sizeof text);
    assert_int_equal(hpc_file_save(path, text, sizeof text), 0);
    assert_true(read_lines(&r) < 0);
    assert_non_null(strstr(hpc_error_get()->text, path));
    assert_int_equal(r.n, 0);
    hpc_arena_free(r.arena);
    hpc_error_clear();
}

static void lines_report_lack_of_memory(void **state)
{
    char path[PATH_MAX];
    reading r = {.path = path};
    hpc_test_path(path, *state, "lines");
    assert_int_equal(hpc_file_save(path, "a\nb\n", 4), 0);
    assert_in_range(hpc_test_each_alloc(read_lines, &r), 2, 10);
    assert_int_equal(r.n, 2);
    hpc_arena_free(r.arena);
}

#define CASE(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_ends_with_whole_names_only),
        cmocka_unit_test(paths_meet_in_either_order_and_without_dots),
        CASE(lines_are_those_between_line_ends),
        CASE(lines_of_a_file_that_is_too_large_are_refused),
        CASE(lines_report_lack_of_memory),
    };
    return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
