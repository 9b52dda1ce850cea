/*
 * Tests of runtime/source/check_folders.c: folders of missing headers, found in the tree around a
 * file.
 */
/* tsan: left out, starts no thread. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/source/check.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"

enum { PATIENCE_SECONDS = 60 };

static void write_text(void **state, const char *name, const char *text)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, name), text, strlen(text)));
}

static void make_folder(void **state, const char *name)
{
    char path[PATH_MAX];
    test_ok(hpc_file_mkdir(hpc_test_path(path, *state, name)));
}

/* The folders that a text at tree/src/a.c needs: the ends of their names, each after a blank. */
static void folders_are(void **state, const char *text, const char *expected)
{
    const hpc_check_flags none = {0};
    char path[PATH_MAX], root[PATH_MAX];
    hpc_check_flags found;
    hpc_buf all = {0};
    write_text(state, "tree/src/a.c", text);
    assert_non_null(realpath(hpc_test_path(path, *state, "tree"), root));
    hpc_test_path(path, *state, "tree/src/a.c");
    test_ok(hpc_check_flags_search(&found, &none, path, text));
    test_ok(hpc_buf_text(&all, ""));
    for (int64_t k = 0; k < found.n; k++) {
        assert_memory_equal(found.item[k], "-idirafter", strlen("-idirafter"));
        const char *folder = found.item[k] + strlen("-idirafter");
        assert_memory_equal(folder, root, strlen(root));
        test_ok(hpc_buf_printf(&all, " %s", folder + strlen(root) + 1));
    }
    assert_string_equal(all.data, expected);
    hpc_buf_release(&all);
    hpc_check_flags_release(&found);
}

static int open_tree(void **state)
{
    if (hpc_test_folder_setup(state) < 0) return -1;
    make_folder(state, "tree/src");
    make_folder(state, "tree/inc");
    make_folder(state, "tree/deep");
    write_text(state, "tree/Makefile", "");
    write_text(state, "tree/inc/one.h", "#include \"two.h\"\n");
    write_text(state, "tree/deep/two.h", "");
    return 0;
}

static void follows_the_includes_of_headers(void **state)
{
    folders_are(state, "#include \"one.h\"\n", " inc deep");
    folders_are(state, "#include <two.h>\n#include <none.h>\n", " deep");
    folders_are(state, "#include \"../inc/one.h\"\n", " deep");
}

/* Only a compiler with the user's flags may leave the tree. */
static void paths_out_of_the_tree_are_not_followed(void **state)
{
    write_text(state, "out.h", "#include \"two.h\"\n");
    folders_are(state, "#include \"../../out.h\"\n", "");
    folders_are(state, "#include \"./../inc/../../out.h\"\n", "");
}

static void pipes_among_the_headers_are_not_opened(void **state)
{
    char path[PATH_MAX];
    assert_int_equal(mkfifo(hpc_test_path(path, *state, "tree/inc/pipe.h"), 0600), 0);
    alarm(PATIENCE_SECONDS); /* a blocked open would wait for ever */
    folders_are(state, "#include \"pipe.h\"\n#include \"two.h\"\n", " inc deep");
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(follows_the_includes_of_headers, open_tree,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(paths_out_of_the_tree_are_not_followed, open_tree,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(pipes_among_the_headers_are_not_opened, open_tree,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
