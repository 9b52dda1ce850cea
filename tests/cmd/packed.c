/*
 * Tests of packed models: made by `import` and `export`, `complete` gives the same text as with
 * the original model; damaged, foreign or misplaced files are errors.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/base.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

#define PILOT "share/pilot.gguf"
#define LLAMA "tests/fixtures/families/llama"

static const char SOURCE[] = "void scale(int n, double a, double *x)\n{\n    for (int i = 0;\n";

static hpc_test_outcome o;

static const char *root_of(void **state)
{
    return ((const hpc_test_folder *)*state)->root;
}

static void run(void **state, const char *words)
{
    hpc_test_command_in(&o, root_of(state), words);
    if (o.code != 0) print_error("%s\n", o.err);
    assert_int_equal(o.code, 0);
}

static void refuses(void **state, const char *words, const char *part)
{
    hpc_test_refuses(&o, root_of(state), words, part);
    assert_int_equal(o.code, 2);
}

static void make_source(void **state)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, "a.c"), SOURCE, sizeof SOURCE - 1));
}

static void it_completes_as_its_model(void **state)
{
    char text[HPC_TEST_OUT];
    make_source(state);
    run(state, "import " PILOT " --packed --out @p.packed -q");
    hpc_test_says(o.out, "/p.packed: llama, 6769920 parameters in the types stored (");
    hpc_test_says(o.out, "a tokenizer of 8192");
    run(state, "complete @a.c --at 3 --stop function --model " PILOT);
    snprintf(text, sizeof text, "%s", o.out);
    assert_true(strlen(text) > 5);
    run(state, "complete @a.c --at 3 --stop function --model @p.packed");
    assert_string_equal(o.out, text);
    assert_string_equal(o.err, "");
    run(state, "complete @a.c --at 3 --stop function --model " PILOT " -v --threads 2");
    hpc_test_says(o.err, "complete: llama with 6769920 parameters, loaded; cpu ");
    run(state, "complete @a.c --at 3 --stop function --model @p.packed -v --threads 1");
    hpc_test_says(o.err, "complete: llama with 6769920 parameters, mapped; cpu ");
    hpc_test_says(o.err, ", 1 thread, up to ");
    run(state, "export " PILOT " --to packed --dtype q4_0 --out @q.packed -q");
    hpc_test_says(o.out, " parameters in q4_0 (");
    run(state, "complete @a.c --at 3 --stop function --weights q4_0 --model " PILOT);
    snprintf(text, sizeof text, "%s", o.out);
    run(state, "complete @a.c --at 3 --stop function --model @q.packed");
    assert_string_equal(o.out, text);
    refuses(state, "complete @a.c --model @p.packed --weights q4_0",
            "p.packed: the types of a packed model are fixed; for q4_0, use the model");
}

static void the_report_has_the_files_size(void **state)
{
    char path[PATH_MAX];
    hpc_json *root;
    hpc_file_view v;
    const char *text;
    int64_t n;
    run(state, "export " LLAMA " --to packed --out @a.packed --json -q");
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "report"));
    test_ok(hpc_json_int(&n, hpc_json_get(root, "bytes"), "bytes"));
    test_ok(hpc_json_text(&text, hpc_json_get(root, "dtype"), "dtype"));
    assert_string_equal(text, "stored");
    test_ok(hpc_file_open(&v, hpc_test_path(path, *state, "a.packed")));
    assert_int_equal(n, v.bytes);
    hpc_file_close(&v);
    hpc_json_free(root);
    run(state, "export " LLAMA " --to packed --out @b.packed");
    hpc_test_says(o.err, "there is no tokenizer next to the model");
}

static void mistakes_are_named(void **state)
{
    make_source(state);
    run(state, "export " LLAMA " --to packed --dtype q8_0 --out @a.packed -q");
    refuses(state, "export " LLAMA " --to packed",
            "--out is missing: the file to write, FILE.packed");
    refuses(state, "export " LLAMA " --to packed --out @a.gguf",
            "/a.gguf: the file name must end in .packed");
    refuses(state, "export " LLAMA " --to packed --out @a.packed", "/a.packed: the file exists");
    refuses(state, "import " LLAMA " --packed --out @out", "the file name must end in .packed");
    refuses(state, "import " LLAMA " --out @out --dtype q8_0",
            "--dtype q8_0: only files support it");
    refuses(state, "import @a.packed --out @out -q", "a.packed: a packed model can only be run");
    refuses(state, "export @a.packed --to gguf --out @b.gguf -q", "a packed model can only be run");
    refuses(state, "complete @a.c --model @a.packed", "a.packed: it has no tokenizer");
    refuses(state, "complete @a.c --model @none.packed", "none.packed: No such file");
}

static void damaged_files_are_named(void **state)
{
    char path[PATH_MAX];
    hpc_file_view v;
    hpc_buf all = {0};
    make_source(state);
    run(state, "import " PILOT " --packed --out @p.packed -q");
    test_ok(hpc_file_open(&v, hpc_test_path(path, *state, "p.packed")));
    test_ok(hpc_buf_add(&all, v.data, v.bytes));
    hpc_file_close(&v);
    hpc_test_path(path, *state, "bad.packed");
    const size_t cuts[] = {0, 7, 127, 128, 4096, all.n / 2, all.n - 1};
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        test_ok(hpc_file_save(path, all.data, cuts[k]));
        refuses(state, "complete @a.c --model @bad.packed", "bad.packed: ");
    }
    all.data[200] ^= 1;
    test_ok(hpc_file_save(path, all.data, all.n));
    refuses(state, "complete @a.c --model @bad.packed", "its header is damaged: the hash is wrong");
    all.data[200] ^= 1;
    memcpy(all.data + 16, "panel32/64", sizeof "panel32/64");
    test_ok(hpc_file_save(path, all.data, all.n));
    refuses(state, "complete @a.c --model @bad.packed",
            "its data layout is panel32/64, this program needs panel16/64; rebuild it with "
            "hpccoder export MODEL --to packed --out FILE.packed");
    hpc_buf_release(&all);
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_completes_as_its_model),
        TEST(the_report_has_the_files_size),
        TEST(mistakes_are_named),
        TEST(damaged_files_are_named),
    };
    return cmocka_run_group_tests_name("cmd/packed", tests, NULL, NULL);
}
