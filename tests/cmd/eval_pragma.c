/*
 * Tests of `hpccoder eval pragma`, and of the arguments of `eval pareval` and `eval perf`.
 */
/* tsan: left out, libclang runs in another process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/command.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"

static hpc_test_outcome o;

static const char source[] = "void f(int n, float *restrict x, const float *restrict y)\n"
                             "{\n"
                             "    // loop copy: safe\n"
                             "    for (int i = 0; i < n; i++) x[i] = y[i];\n"
                             "    // loop scan: carried 1 1\n"
                             "    for (int i = 1; i < n; i++) x[i] += x[i - 1];\n"
                             "    // loop shift: carried 1 1 this label is wrong\n"
                             "    for (int i = 0; i < n; i++) x[i] = 2 * y[i];\n"
                             "}\n";

static void save(const hpc_test_folder *f, const char *name, const char *text)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, f, name), text, strlen(text)));
}

static void loops_are_scored_by_their_labels(void **state)
{
    char library[PATH_MAX];
    const hpc_test_folder *f = *state;
    if (access(hpc_test_built(library, "hpccoder-clang.so"), R_OK) != 0 &&
        access(hpc_test_built(library, "hpccoder-clang"), R_OK) != 0)
    {
        print_message("SKIP: this build has no libclang\n");
        skip();
    }
    save(f, "a.c", source);
    hpc_test_command_in(&o, f->root, "eval pragma @a.c -q --json");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "\"name\":\"all\",\"samples\":3,\"metrics\":{\"found\":{\"value\":1.0,");
    hpc_test_says(o.out, "\"wrong\":{\"value\":0.33333");
    hpc_test_says(o.out, "\"clauses\":{\"value\":1.0,");
    hpc_test_says(o.out, "\"refuted\":{\"value\":0.5,");
}

static void files_without_labels_are_rejected(void **state)
{
    const hpc_test_folder *f = *state;
    save(f, "a.c", "int a;\n");
    save(f, "b.c", "// loop without verdict\nint a;\n");
    hpc_test_refuses(&o, f->root, "eval pragma @a.c -q", "have no labels");
    hpc_test_refuses(&o, f->root, "eval pragma @b.c -q", "b.c:1: expected '// loop NAME: VERDICT'");
    hpc_test_refuses(&o, f->root, "eval pragma", "name files or folders");
}

static void other_suites_name_wrong_arguments(void **state)
{
    const hpc_test_folder *f = *state;
    hpc_test_refuses(&o, f->root, "eval pareval --samples-in a", "--checkout DIR");
    hpc_test_refuses(&o, f->root, "eval pareval --checkout @", "choose one of --model");
    hpc_test_refuses(&o, f->root, "eval pareval --checkout @ --samples-in a --models cuda",
                     "cuda prompts are not built");
    hpc_test_refuses(&o, f->root, "eval pareval --checkout @ --samples-in a",
                     "is not a checkout of ParEval");
    hpc_test_refuses(&o, f->root, "eval perf --examples @none.csv", "none.csv");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loops_are_scored_by_their_labels, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(files_without_labels_are_rejected, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(other_suites_name_wrong_arguments, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
