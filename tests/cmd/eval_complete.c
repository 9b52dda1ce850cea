/*
 * Tests of `hpccoder eval complete`: a model that gives the removed lines, and one that does not.
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

/* The file has one line that can be removed. */
static const hpc_test_phrase right[] = {{.text = "a = a + 1;", .next = {2}},
                                        {.text = "\n}\n", .next = {HPC_CHAIN_END}}};
static const hpc_test_phrase wrong[] = {{.text = "a = b + 1;", .next = {2}},
                                        {.text = "\n}\n", .next = {HPC_CHAIN_END}}};

static void make(const hpc_test_folder *f)
{
    static const char c[] = "int f(int a)\n{\n    a = a + 1;\n}\n";
    char path[PATH_MAX];
    hpc_test_chain(hpc_test_path(path, f, "right"), right, 2);
    hpc_test_chain(hpc_test_path(path, f, "wrong"), wrong, 2);
    test_ok(hpc_file_mkdir(hpc_test_path(path, f, "src")));
    test_ok(hpc_file_save(hpc_test_path(path, f, "src/a.c"), c, sizeof c - 1));
}

#define METRIC(name, value) "\"" name "\":{\"value\":" value

static void right_lines_score_one(void **state)
{
    const hpc_test_folder *f = *state;
    make(f);
    hpc_test_command_in(&o, f->root,
                        "eval complete @right @src -q --holes 1 --no-compiler --json --out @r");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, METRIC("exact", "1.0"));
    hpc_test_says(o.out, METRIC("similarity", "1.0"));
    hpc_test_says(o.out, METRIC("names", "1.0"));
    hpc_test_says(o.out, METRIC("ends", "1.0"));
    hpc_test_command_in(&second, f->root,
                        "eval complete @right @src -q --holes 1 --no-compiler --json --out @r");
    assert_string_equal(o.out, second.out);
    hpc_test_command_in(&o, f->root,
                        "eval complete @wrong @src -q --holes 1 --no-compiler --json --compare @r");
    hpc_test_says(o.out, METRIC("exact", "0.0"));
    hpc_test_says(o.out, METRIC("similarity", "0.9"));
    hpc_test_says(o.out, "\"better\":0,\"worse\":1");
}

static void wrong_arguments_are_named(void **state)
{
    const hpc_test_folder *f = *state;
    make(f);
    hpc_test_refuses(&o, f->root, "eval complete @right", "name a model, and the files");
    hpc_test_refuses(&o, f->root, "eval complete --server http://127.0.0.1:9",
                     "name the files or folders");
    hpc_test_refuses(&o, f->root, "eval complete --server ftp://x @src --no-compiler -q",
                     "expected a URL such as");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(right_lines_score_one, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(wrong_arguments_are_named, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
