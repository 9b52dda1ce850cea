/*
 * Tests of cmd/terminal.c through the program: colours appear on terminals only, and only if the
 * user has not turned them off.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/base.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/terminal.h"

#define RED    "\x1b[31m"
#define GREEN  "\x1b[32m"
#define YELLOW "\x1b[33m"
#define END    "\x1b[0m"

typedef struct fixture {
    hpc_test_folder *folder;
    hpc_test_outcome o;
    char shown[HPC_TEST_OUT];
} fixture;

static void by_default(void)
{
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
}

static int setup(void **state)
{
    fixture *f = hpc_alloc(1, sizeof *f);
    void *folder = NULL;
    assert_non_null(f);
    hpc_test_folder_setup(&folder);
    f->folder = folder;
    by_default();
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

static void write_file(const fixture *f, const char *name, const char *text)
{
    char path[PATH_MAX];
    assert_int_equal(hpc_file_save(hpc_test_path(path, f->folder, name), text, strlen(text)), 0);
}

static const char *on_terminal(fixture *f, int code, int columns, const char *words)
{
    int got = hpc_test_terminal(f->shown, sizeof f->shown, columns, f->folder->root, words);
    if (got != code) fail_msg("%s: exit code %d: %s", words, got, f->shown);
    return f->shown;
}

/* ---- colours -------------------------------------------------------------------------------- */

static const char loops[] = "void scale(int n, double *y)\n"
                            "{\n"
                            "    for (int i = 0; i < n; i++) y[i] *= 2;\n"
                            "    for (int i = 1; i < n; i++) y[i] += y[i - 1];\n"
                            "}\n";

static void verdicts_and_added_lines_have_colours(void **state)
{
    fixture *f = *state;
    write_file(f, "a.c", loops);
    hpc_test_says(on_terminal(f, 0, 80, "pragma @a.c"), "a.c:3: " GREEN "parallel" END "\n");
    hpc_test_says(f->shown, "a.c:4: " RED "unsafe" END "\n");
    hpc_test_says(on_terminal(f, 0, 80, "pragma @a.c --diff"),
                  "\n" GREEN "+    #pragma omp parallel for if(");
    hpc_test_says(f->shown, ")" END "\n     for (int i = 0");
}

static void errors_and_warnings_have_colours(void **state)
{
    fixture *f = *state;
    hpc_test_says(on_terminal(f, 2, 80, "nonsense"), RED "hpccoder:" END " unknown command");
    write_file(f, "a.c", "#include <none.h>\n");
    hpc_test_says(on_terminal(f, 2, 80, "pragma @a.c"), YELLOW "hpccoder pragma:" END " ");
}

static void no_colours(fixture *f, int code, const char *words)
{
    hpc_test_command_in(&f->o, f->folder->root, words);
    assert_int_equal(f->o.code, code);
    assert_null(strchr(f->o.out, '\x1b'));
    assert_null(strchr(f->o.err, '\x1b'));
    static const char *const off[][2] = {{"NO_COLOR", "1"}, {"TERM", "dumb"}, {"TERM", ""}};
    for (size_t k = 0; k < sizeof off / sizeof *off; k++) {
        setenv(off[k][0], off[k][1], 1);
        assert_null(strchr(on_terminal(f, code, 80, words), '\x1b'));
        by_default();
    }
}

static void pipes_and_dumb_terminals_have_no_colours(void **state)
{
    fixture *f = *state;
    write_file(f, "a.c", loops);
    no_colours(f, 0, "pragma @a.c");
    no_colours(f, 0, "pragma @a.c --diff");
    no_colours(f, 2, "nonsense");
}

static void empty_no_color_does_not_count(void **state)
{
    fixture *f = *state;
    setenv("NO_COLOR", "", 1);
    hpc_test_says(on_terminal(f, 2, 80, "nonsense"), RED);
}

static void json_has_no_colours(void **state)
{
    fixture *f = *state;
    write_file(f, "a.c", loops);
    assert_null(strchr(on_terminal(f, 0, 80, "pragma @a.c --format json"), '\x1b'));
    assert_null(strchr(on_terminal(f, 0, 80, "pragma @a.c --format sarif"), '\x1b'));
    assert_null(strchr(on_terminal(f, 0, 80, "info --json"), '\x1b'));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(verdicts_and_added_lines_have_colours),
        TEST(errors_and_warnings_have_colours),
        TEST(pipes_and_dumb_terminals_have_no_colours),
        TEST(empty_no_color_does_not_count),
        TEST(json_has_no_colours),
    };
    return cmocka_run_group_tests_name("cmd/terminal", tests, NULL, NULL);
}
