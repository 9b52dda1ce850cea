/*
 * Tests of `hpccoder eval perplexity`.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <string.h>

#include "tests/support/chain.h"
#include "tests/support/command.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"

static hpc_test_outcome o, second;

static const hpc_test_phrase phrases[] = {{.text = "f(x);\n", .next = {1, 2}},
                                          {.text = "##", .next = {1}}};

static void make(const hpc_test_folder *f)
{
    static const char c[] = "f(x);\nf(x);\nf(x);\nf(x);\n";
    static const char mpi[] = "f(x);\nMPI_Init(0, 0);\n";
    char path[PATH_MAX];
    hpc_test_chain(hpc_test_path(path, f, "model"), phrases, 2);
    test_ok(hpc_file_mkdir(hpc_test_path(path, f, "src/deep")));
    test_ok(hpc_file_save(hpc_test_path(path, f, "src/a.c"), c, sizeof c - 1));
    test_ok(hpc_file_save(hpc_test_path(path, f, "src/deep/b.cpp"), mpi, sizeof mpi - 1));
    test_ok(hpc_file_save(hpc_test_path(path, f, "src/notes.txt"), c, sizeof c - 1));
}

static void files_are_grouped_and_resumed(void **state)
{
    const hpc_test_folder *f = *state;
    make(f);
    hpc_test_command_in(&o, f->root, "eval perplexity @model @src -q --out @r --html @r.html");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "language c");
    hpc_test_says(o.out, "language c++");
    hpc_test_says(o.out, "parallel mpi");
    hpc_test_says(o.out, "parallel serial");
    hpc_test_command_in(&second, f->root, "eval perplexity @model @src -q --out @r");
    assert_string_equal(o.out, second.out);
    hpc_test_command_in(&o, f->root, "eval perplexity @model @src/a.c -q --compare @r");
    hpc_test_says(o.out, "1 only there");
    hpc_test_refuses(&o, f->root, "eval perplexity @model @src -q --out @r --context 8",
                     "holds results with context 1024, not 8");
}

static void wrong_arguments_are_named(void **state)
{
    const hpc_test_folder *f = *state;
    make(f);
    hpc_test_refuses(&o, f->root, "eval perplexity @model", "name a model, and the files");
    hpc_test_refuses(&o, f->root, "eval perplexity @model @none", "no such file or folder");
    hpc_test_refuses(&o, f->root, "eval perplexity @none @src", "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_are_grouped_and_resumed, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(wrong_arguments_are_named, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
