/*
 * pragma_compiles.c: what `hpccoder pragma --fix` makes of the labelled loops compiles, with all
 * warnings, wherever the file did before, and a second run changes nothing.
 *
 * By gcc and with if clauses; with HPC_TEST_LONG=1 by clang too, and with every other way of
 * putting directives in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/source/source.h"
#include "tests/source/check.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/values.h"

static hpc_test_outcome o;

static const char *const compilers[2][2] = {{"gcc -std=c11", "g++ -std=c++17"},
                                            {"clang -std=c11", "clang++ -std=c++17"}};

static bool compiles(int compiler, const char *root, const char *name)
{
    char words[PATH_MAX];
    bool cpp = hpc_language_of_path(name) == HPC_LANGUAGE_CPP;
    snprintf(words, sizeof words, "cd %s && %s -fopenmp -O1 -Wall -Werror -c -o out.o %s >log 2>&1",
             root, compilers[compiler][cpp], name);
    return system(words) == 0;
}

static int64_t fix(const char *root, const char *name, const char *options)
{
    char words[512];
    int64_t n = -1;
    snprintf(words, sizeof words, "pragma -p none --fix%s @%s", options, name);
    hpc_test_command_in(&o, root, words);
    if (o.code != 0) fail_msg("%s: %s", name, o.err);
    for (const char *p = o.out; p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
        if (strstr(p, " put in")) n = strtoll(p, NULL, 10);
    return n;
}

static int64_t one_file(const char *root, const char *name, const char *options, bool clang)
{
    char from[PATH_MAX], to[PATH_MAX];
    hpc_buf text = {0};
    snprintf(from, sizeof from, "tests/pragma/loops/%s", name);
    snprintf(to, sizeof to, "%s/%s", root, name);
    test_ok(hpc_file_read(&text, from, 1 << 20));
    test_ok(hpc_file_save(to, text.data, text.n));
    hpc_buf_release(&text);
    bool before[2] = {compiles(0, root, name), clang && compiles(1, root, name)};
    int64_t n = fix(root, name, options);
    for (int k = 0; k < 2; k++)
        if (before[k] && !compiles(k, root, name))
            fail_msg("%s with%s: %s does not compile it any more", name, options, compilers[k][0]);
    assert_true(before[0] || strcmp(name, "existing.c") == 0); /* it warns of a wrong directive */
    assert_int_equal(fix(root, name, options), 0);
    return n;
}

static void fixed_files_compile(void **state)
{
    static const char *const options[] = {" --guard", "", " --conditional", " --default-none",
                                          " --default-none --guard"};
    const char *root = ((const hpc_test_folder *)*state)->root;
    hpc_buf names = {0};
    int64_t n, put = 0;
    NEED_LIBRARY;
    bool all = getenv("HPC_TEST_LONG"), clang = all && system("clang --version >/dev/null") == 0;
    test_ok(hpc_file_list(&names, &n, "tests/pragma/loops"));
    for (size_t k = 0; k < (all ? sizeof options / sizeof *options : 1); k++) {
        const char *name = names.data;
        for (int64_t i = 0; i < n; i++, name += strlen(name) + 1)
            if (hpc_language_of_path(name) != HPC_LANGUAGE_NONE)
                put += one_file(root, name, options[k], clang);
    }
    print_message("%lld directives\n", (long long)put);
    assert_true(put > 300);
    hpc_buf_release(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        fixed_files_compile, hpc_test_folder_setup, hpc_test_folder_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
