/*
 * Tests of `hpccoder pragma --rank`: proposals in the order of experts' preference, unchanged
 * verdicts, guesses that are marked and never applied, and errors.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/base.h"
#include "tests/source/check.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

static hpc_test_outcome o;

static const char text[] =
    "double g(double);\n"
    "void names(int n, int *restrict at)\n{\n    for (int i = 0; i < n; i++) at[i] = -1;\n}\n"
    "void relax(int n, int m, double (*restrict a)[m], double (*restrict b)[m])\n{\n"
    "    for (int i = 1; i < n - 1; i++)\n"
    "        for (int j = 1; j < m - 1; j++)\n"
    "            b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);\n"
    "}\n"
    "void call(int n, double *y)\n{\n    for (int i = 0; i < n; i++) y[i] = g(y[i]);\n}\n"
    "void wave(int n, double *y)\n{\n    for (int i = 1; i < n; i++) y[i] += y[i - 1];\n}\n";
enum { LOOPS = 5 };

static void run(void **state, int code, const char *words)
{
    char path[PATH_MAX];
    const hpc_test_folder *f = *state;
    test_ok(hpc_file_save(hpc_test_path(path, *state, "a.c"), text, strlen(text)));
    hpc_test_command_in(&o, f->root, words);
    if (o.code != code) fail_msg("%s: exit code %d: %s", words, o.code, o.err);
}

static const hpc_json *loops_of(hpc_json **root)
{
    test_ok(hpc_json_parse(root, o.out, strlen(o.out), "out"));
    const hpc_json *loops = hpc_json_get(hpc_json_at(*root, 0), "loops");
    assert_int_equal(hpc_json_n(loops), LOOPS);
    return loops;
}

static double real_of(const hpc_json *l, const char *name)
{
    double x;
    test_ok(hpc_json_real(&x, hpc_json_get(l, name), name));
    return x;
}

static void test_json(void **state)
{
    NEED_LIBRARY;
    hpc_json *plain = NULL, *ranked = NULL;
    bool met[LOOPS + 1] = {false};
    int64_t proposed = 0;
    run(state, 0, "pragma @a.c --json");
    const hpc_json *before = loops_of(&plain);
    run(state, 0, "pragma @a.c --json --rank -j 1");
    const hpc_json *after = loops_of(&ranked);
    for (int k = 0; k < LOOPS; k++) {
        const hpc_json *b = hpc_json_at(before, k), *a = hpc_json_at(after, k);
        const char *was, *is;
        test_ok(hpc_json_text(&was, hpc_json_get(b, "verdict"), "verdict"));
        test_ok(hpc_json_text(&is, hpc_json_get(a, "verdict"), "verdict"));
        assert_string_equal(is, was);
        assert_null(hpc_json_get(b, "likely"));
        assert_in_range((int64_t)(1e6 * real_of(a, "likely")), 0, 1000000);
        bool guessed = hpc_json_kind_of(hpc_json_get(a, "guess")) == HPC_JSON_TEXT;
        assert_true(!guessed || strcmp(is, "unknown") == 0);
        int64_t rank = (int64_t)real_of(a, "rank");
        bool proposes = hpc_json_kind_of(hpc_json_get(a, "pragma")) == HPC_JSON_TEXT;
        assert_int_equal(rank > 0, proposes);
        assert_false(rank > 0 && met[rank]);
        met[rank] = true;
        proposed += proposes;
    }
    assert_int_equal(proposed, 2);
    assert_true(met[1] && met[2]);
    hpc_json_free(plain);
    hpc_json_free(ranked);
}

/* Proposals come first, by rank; the rest keeps its order. */
static void test_text(void **state)
{
    NEED_LIBRARY;
    hpc_json *root = NULL;
    run(state, 0, "pragma @a.c --json --rank");
    const hpc_json *loops = loops_of(&root);
    bool stencil_first = real_of(hpc_json_at(loops, 1), "rank") == 1;
    run(state, 0, "pragma @a.c --rank");
    const char *fill = strstr(o.out, "a.c:4: "), *stencil = strstr(o.out, "a.c:8: "),
               *call = strstr(o.out, "a.c:14: "), *wave = strstr(o.out, "a.c:18: ");
    assert_true(fill && stencil && call && wave);
    assert_int_equal(stencil < fill, stencil_first);
    assert_true(fill < call && stencil < call && call < wave);
    hpc_test_says(o.out, "    likely: the model expects experts to annotate ");
    hpc_test_says(o.out, "    guess: #pragma omp ");
    hpc_test_says(o.out, " (not proven)\n");
    hpc_json_free(root);
}

static void test_fix(void **state)
{
    NEED_LIBRARY;
    char path[PATH_MAX];
    hpc_buf b = {0};
    run(state, 0, "pragma --fix --rank @a.c");
    hpc_test_says(o.out, "2 directives inserted\n");
    test_ok(hpc_file_read(&b, hpc_test_path(path, *state, "a.c"), 1 << 20));
    const char *call = strstr(b.data, "void call(");
    assert_non_null(call);
    assert_null(strstr(call, "#pragma")); /* a guess is no proof */
    hpc_buf_release(&b);
}

static void test_mistakes(void **state)
{
    run(state, 2, "pragma @a.c --model @a.c");
    hpc_test_says(o.err, "neither a model directory nor a FILE.gguf");
    run(state, 2, "pragma @a.c --model @nowhere.gguf");
    hpc_test_says(o.err, "nowhere.gguf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_json, hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_text, hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_fix, hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_mistakes, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
