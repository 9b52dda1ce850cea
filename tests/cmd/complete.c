/*
 * Tests of `hpccoder complete`: printing, writing into files of all kinds without other changes,
 * and errors.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/base.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

static hpc_test_outcome o;

static const char *root_of(void **state)
{
    return ((const hpc_test_folder *)*state)->root;
}

static void write_text(void **state, const char *name, const char *text, size_t n)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, name), text, n));
}

static void read_text(void **state, hpc_buf *out, const char *name)
{
    char path[PATH_MAX];
    out->n = 0;
    test_ok(hpc_file_read(out, hpc_test_path(path, *state, name), 4 << 20));
}

/* A function without an end, after line 15. */
#define BEFORE                                                                                     \
    "#include <omp.h>\n\n/* y = a x + y */\n"                                                      \
    "void axpy(int n, double a, const double *x, double *y)\n{\n    #pragma omp parallel for\n"    \
    "    for (int i = 0; i < n; i++) {\n        y[i] += a * x[i];\n    }\n}\n\n"                   \
    "/* the inner product of x and y */\ndouble dot(int n, const double *x, const double *y)\n{\n" \
    "    double sum = 0.0;"
#define AFTER "\n\nint last(void);\n"
#define DOT   BEFORE AFTER

static void run(void **state, const char *words)
{
    hpc_test_command_in(&o, root_of(state), words);
    if (o.code != 0) print_error("%s\n", o.err);
    assert_int_equal(o.code, 0);
}

/* ---- what is printed ---------------------------------------------------------------------------
 */

static void test_it_prints(void **state)
{
    char first[HPC_TEST_OUT];
    write_text(state, "dot.c", DOT, strlen(DOT));
    run(state, "complete @dot.c --at 15 --stop function --check brackets");
    assert_string_equal(o.err, "");
    assert_true(strlen(o.out) > 5 && strstr(o.out, "for"));
    assert_int_equal(o.out[strlen(o.out) - 1], '\n');
    snprintf(first, sizeof first, "%s", o.out);
    run(state, "complete @dot.c --at 15:22 --stop function --threads 1 --draft-tokens 0 --seed 3");
    assert_string_equal(o.out, first);
    run(state, "complete @dot.c --at 15 --stop function --verbose");
    assert_string_equal(o.out, first);
    hpc_test_says(o.err, "ms; prompt of ");
    run(state, "complete @dot.c --at 15 --stop line");
    assert_memory_equal(o.out, first, strlen(o.out) - 1);
    const char *line = o.out + strspn(o.out, "\n");
    assert_string_equal(strchr(line, '\n'), "\n");
}

static const hpc_json *key(const hpc_json *v, const char *name)
{
    const hpc_json *at = hpc_json_get(v, name);
    if (!at) fail_msg("no key %s", name);
    return at;
}

static int64_t failed_checks(const hpc_json *completion)
{
    const hpc_json *checks = key(completion, "checks");
    int64_t failed = 0;
    for (int64_t i = 0; i < hpc_json_n(checks); i++) {
        bool ok;
        test_ok(hpc_json_bool(&ok, key(hpc_json_at(checks, i), "ok"), "ok"));
        failed += !ok;
    }
    return failed;
}

/* The contract that scripts rely on. */
static void test_json(void **state)
{
    hpc_json *root = NULL;
    const char *text;
    int64_t n;
    double before = 0;
    bool good_before = true;
    write_text(state, "dot.c", DOT, strlen(DOT));
    run(state, "complete @dot.c --at 15 --json --samples 5 --temperature 0.9 --seed 1");
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "out"));
    test_ok(hpc_json_text(&text, key(root, "file"), "file"));
    hpc_test_says(text, "dot.c");
    test_ok(hpc_json_int(&n, key(root, "line"), "line"));
    assert_int_equal(n, 15);
    test_ok(hpc_json_int(&n, key(root, "col"), "col"));
    assert_int_equal(n, 22);
    test_ok(hpc_json_text(&text, key(root, "model"), "model"));
    hpc_test_says(text, "pilot.gguf");
    const hpc_json *list = key(root, "completions"), *timing = key(root, "timing");
    assert_in_range(hpc_json_n(list), 2, 5);
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        const hpc_json *c = hpc_json_at(list, k);
        double logprob;
        test_ok(hpc_json_text(&text, key(c, "text"), "text"));
        test_ok(hpc_json_int(&n, key(c, "tokens"), "tokens"));
        test_ok(hpc_json_real(&logprob, key(c, "logprob"), "logprob"));
        assert_true(logprob <= 0 && (n > 0) == (strlen(text) > 0));
        bool good = failed_checks(c) == 0;
        assert_true(good_before || !good); /* those that fail come last */
        if (k > 0 && n > 0 && good) assert_true(logprob / (double)n <= before);
        if (n > 0) before = logprob / (double)n;
        good_before = good;
        test_ok(hpc_json_text(&text, key(c, "finish"), "finish"));
        assert_true(strcmp(text, "stop") == 0 || strcmp(text, "forced") == 0);
        assert_int_equal(hpc_json_kind_of(key(c, "checks")), HPC_JSON_LIST);
    }
    static const char *const times[] = {"load_ms", "prompt_ms", "first_token_ms",
                                        "decode_tokens_per_s"};
    for (int k = 0; k < 4; k++) {
        double t;
        test_ok(hpc_json_real(&t, key(timing, times[k]), times[k]));
        assert_true(t > 0);
    }
    hpc_json_free(root);
}

static bool has_libclang(void)
{
    char path[PATH_MAX];
    return hpc_file_exists(hpc_test_built(path, "hpccoder-clang"));
}

/* Number of completions in --json with a failed check of this kind. */
static int64_t failing(const char *kind, bool *first_is_good)
{
    hpc_json *root = NULL;
    int64_t n = 0;
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "out"));
    const hpc_json *list = key(root, "completions");
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        const hpc_json *checks = key(hpc_json_at(list, k), "checks");
        for (int64_t i = 0; i < hpc_json_n(checks); i++) {
            const char *is, *text;
            bool ok;
            test_ok(hpc_json_text(&is, key(hpc_json_at(checks, i), "kind"), "kind"));
            test_ok(hpc_json_bool(&ok, key(hpc_json_at(checks, i), "ok"), "ok"));
            test_ok(hpc_json_text(&text, key(hpc_json_at(checks, i), "text"), "text"));
            assert_int_equal(ok, text[0] == '\0');
            if (strcmp(is, kind) != 0) continue;
            if (k == 0) *first_is_good = ok;
            n += !ok;
        }
    }
    hpc_json_free(root);
    return n;
}

/* The pilot's likeliest idea assigns to what is const: it sinks. */
static void test_checks(void **state)
{
    static const char text[] =
        "#include <math.h>\n#include <omp.h>\n\n/* x = a x */\nvoid scale(int n, double a, double "
        "*x)\n"
        "{\n    #pragma omp parallel for\n    for (int i = 0; i < n; i++) {\n        x[i] *= a;\n  "
        "  }\n}\n\n"
        "/* y = a x + y */\nvoid axpy(int n, double a, const double *x, double *y)\n{\n";
    bool good = false;
    write_text(state, "v.c", text, strlen(text));
    run(state, "complete @v.c --stop function --samples 16 --json --check brackets");
    assert_int_equal(failing("compile", &good), 0);
    failing("brackets", &good);
    assert_true(good);
    run(state, "complete @v.c --stop function --samples 16 --json --check none");
    hpc_test_says(o.out, "\"checks\": []");
    if (!has_libclang()) {
        print_message("SKIP: hpccoder-clang was not built (libclang-19-dev)\n");
        skip();
    }
    good = false;
    run(state, "complete @v.c --stop function --samples 16 --json -- -fopenmp -O2");
    assert_true(failing("compile", &good) > 0);
    assert_true(good);
    static const char database[] =
        "[{\"directory\": \"/tmp\", \"file\": \"v.c\", \"command\": \"cc -fopenmp -c v.c\"}]";
    write_text(state, "compile_commands.json", database, strlen(database));
    good = false;
    run(state, "complete @v.c --stop function --samples 16 --json -p @compile_commands.json");
    assert_true(failing("compile", &good) > 0);
    assert_true(good);
}

/* A file that passes no check, and a single sample. */
static void rejected_samples_are_reported(void **state)
{
    static const char text[] = "/* Sums x with MPI. */\nint sum(struct unknown *x, int n)\n{\n";
    static const char *const words = "complete @r.c --stop function --check brackets";
    char more[128];
    write_text(state, "r.c", text, sizeof text - 1);
    run(state, words);
    hpc_test_says(o.err, "r.c:4: none of 8 samples passes the checks (failed: ");
    hpc_test_says(o.err, " intent"); /* after their number */
    hpc_test_says(o.err, "); the best fails intent: MPI is requested but not used");
    hpc_test_says(o.err, "; try more --samples, or a larger --model\n");
    snprintf(more, sizeof more, "%s --samples 1", words);
    run(state, more);
    hpc_test_says(o.err, "r.c:4: the completion fails the check intent: MPI is requested but not "
                         "used; --samples 8 draws more and prints the best\n");
    snprintf(more, sizeof more, "%s --check none", words);
    run(state, more);
    assert_null(strstr(o.err, "fails"));
    snprintf(more, sizeof more, "%s --quiet", words);
    run(state, more);
    assert_string_equal(o.err, "");
}

/* What `make demo` shows. */
static void test_the_demo(void **state)
{
    run(state, "complete pilot/demo.c --stop function");
    hpc_test_says(o.out, "    #pragma omp parallel for\n    for (int i = 0; i < n; i++) {\n");
    hpc_test_says(o.out, "        y[i] += a * x[i];\n    }\n}\n");
}

/* ---- what is written ---------------------------------------------------------------------- */

/* Asserts that bytes around the cursor are unchanged; returns the inserted text. */
static void written(void **state, hpc_buf *between, const char *name, const char *bytes,
                    const char *at, const char *words)
{
    hpc_buf now = {0};
    size_t n = strlen(bytes), before = (size_t)(strstr(bytes, at) + strlen(at) - bytes);
    write_text(state, name, bytes, n);
    run(state, words);
    assert_string_equal(o.out, "");
    read_text(state, &now, name);
    assert_true(now.n > n);
    assert_memory_equal(now.data, bytes, before);
    assert_memory_equal(now.data + now.n - (n - before), bytes + before, n - before);
    between->n = 0;
    test_ok(hpc_buf_add(between, now.data + before, now.n - n));
    hpc_buf_release(&now);
}

static void test_it_writes(void **state)
{
    hpc_buf text = {0};
    written(state, &text, "dot.c", DOT, "sum = 0.0;",
            "complete @dot.c --at 15 --write --stop function");
    assert_true(text.n > 5);
    /* line ends */
    hpc_buf crlf = {0}, tabs = {0};
    for (const char *p = DOT; *p; p++) hpc_buf_printf(&crlf, "%s%c", *p == '\n' ? "\r" : "", *p);
    written(state, &text, "crlf.c", crlf.data, "sum = 0.0;",
            "complete @crlf.c --at 15 --write --stop function");
    hpc_test_says(text.data, "\r\n    ");
    for (size_t k = 0; k < text.n; k++)
        assert_true(text.data[k] != '\n' || (k > 0 && text.data[k - 1] == '\r'));
    /* tabs, Latin-1 */
    hpc_buf_text(&tabs, "/* \xe9 */\n");
    for (const char *p = DOT; *p; p++) {
        bool tab = strncmp(p, "    ", 4) == 0;
        hpc_buf_printf(&tabs, "%c", tab ? '\t' : *p);
        if (tab) p += 3;
    }
    written(state, &text, "tabs.c", tabs.data, "sum = 0.0;",
            "complete @tabs.c --at 16 --write --stop function");
    hpc_test_says(text.data, "\n\t");
    /* no final line feed: what ends the file ends its line */
    written(state, &text, "end.c", BEFORE, "sum = 0.0;", "complete @end.c --write --stop function");
    assert_int_equal(text.data[text.n - 1], '\n');
    hpc_buf_release(&crlf);
    hpc_buf_release(&tabs);
    hpc_buf_release(&text);
}

static void test_large_files(void **state)
{
    hpc_buf text = {0}, now = {0};
    for (int k = 0; text.n < (1 << 20); k++)
        hpc_buf_printf(&text, "static int f%d(int a)\n{\n    return a + %d;\n}\n\n", k, k);
    write_text(state, "large.c", text.data, text.n);
    run(state, "complete @large.c --at 40005 --stop line --write");
    read_text(state, &now, "large.c");
    assert_true(now.n > text.n && now.n < text.n + 200);
    hpc_buf_release(&text);
    hpc_buf_release(&now);
}

static double timing_of(const hpc_json *root, const char *name)
{
    double t;
    const hpc_json *v = key(key(root, "timing"), name);
    if (hpc_json_kind_of(v) == HPC_JSON_NULL) return -1;
    test_ok(hpc_json_real(&t, v, name));
    return t;
}

/* 4 tokens give no rate; a prompt is not shortened below 512 tokens. */
static void prompt_keeps_to_its_time_and_rates_are_measured(void **state)
{
    hpc_buf text = {0};
    hpc_json *root = NULL;
    for (int k = 0; k < 200; k++)
        hpc_buf_printf(&text, "static int f%d(int a)\n{\n    return a + %d;\n}\n\n", k, k);
    write_text(state, "long.c", text.data, text.n);
    run(state, "complete @long.c --json --prompt-seconds 1e-6 -n 4 --stop line --partial");
    hpc_test_says(o.err, "hpccoder complete: shortened the prompt from ");
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "out"));
    assert_in_range(timing_of(root, "prompt_tokens"), 512, 656);
    assert_true(timing_of(root, "prompt_tokens_without_limit") > 656);
    assert_true(timing_of(root, "prompt_tokens_per_s") > 0);
    assert_true(timing_of(root, "decode_tokens_per_s") == -1);
    hpc_json_free(root);
    run(state, "complete @long.c --json --prompt-seconds 0 -n 4 --stop line --quiet --partial");
    assert_string_equal(o.err, "");
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "out"));
    assert_true(timing_of(root, "prompt_tokens") == timing_of(root, "prompt_tokens_without_limit"));
    hpc_json_free(root);
    hpc_buf_release(&text);
}

/* --raw prints the text up to the model's special token, and names it. */
static void raw_names_the_special_token_that_ended_it(void **state)
{
    char words[128];
    int stopped = 0;
    write_text(state, "start.c", "/* end of file */\n#endif\n", 24);
    for (int seed = 0; seed < 12 && !stopped; seed++) {
        hpc_json *root = NULL;
        const char *finish, *token = NULL;
        snprintf(words, sizeof words,
                 "complete @start.c --raw -n 400 --temperature 1 --seed %d --json", seed);
        run(state, words);
        test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "out"));
        const hpc_json *c = hpc_json_at(key(root, "completions"), 0);
        test_ok(hpc_json_text(&finish, key(c, "finish"), "finish"));
        stopped = strcmp(finish, "stop") == 0;
        if (stopped) {
            test_ok(hpc_json_text(&token, key(c, "stop_token"), "stop_token"));
            hpc_test_says(o.err, "--raw ended at the model's special token ");
            hpc_test_says(o.err, token);
        } else {
            assert_null(strstr(o.err, "special token"));
        }
        hpc_json_free(root);
    }
    assert_true(stopped);
}

static void other_languages_are_named_and_end_by_indentation(void **state)
{
    static const char *const part =
        "the file name is not one of C, C++, CUDA, HIP, OpenCL or Fortran";
    hpc_json *root = NULL;
    write_text(state, "a.py", "def f(x):\n    if x:", 19);
    run(state, "complete @a.py --json -n 30");
    hpc_test_says(o.err, part);
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "out"));
    assert_int_equal(hpc_json_kind_of(key(root, "language")), HPC_JSON_NULL);
    hpc_json_free(root);
    run(state, "complete @a.py --quiet -n 30");
    assert_string_equal(o.err, "");
    run(state, "complete @a.py --raw -n 4");
    assert_null(strstr(o.err, part));
    write_text(state, "dot.c", DOT, strlen(DOT));
    run(state, "complete @dot.c --at 15 --stop line");
    assert_null(strstr(o.err, part));
}

/* An empty completion leaves the file unchanged and is reported. */
static void test_nothing_to_add(void **state)
{
    hpc_buf now = {0};
    write_text(state, "full.json", "{\"a\": 1}", 8);
    run(state, "complete @full.json --grammar json --write");
    assert_string_equal(o.out, "");
    hpc_test_says(o.err, "full.json:1:9: nothing to add");
    read_text(state, &now, "full.json");
    assert_string_equal(now.data, "{\"a\": 1}");
    run(state, "complete @full.json --grammar json --quiet");
    assert_string_equal(o.out, "");
    assert_string_equal(o.err, "");
    hpc_buf_release(&now);
}

/* ---- mistakes ----------------------------------------------------------------------------- */

static void refuses(void **state, const char *words, const char *part)
{
    hpc_test_refuses(&o, root_of(state), words, part);
}

static void test_mistakes(void **state)
{
    write_text(state, "dot.c", DOT, strlen(DOT));
    write_text(state, "nul.c", "int\0a;\n", 7);
    write_text(state, "wide.c", "\xff\xfei\0", 4);
    refuses(state, "complete", "name one file");
    refuses(state, "complete @dot.c @dot.c", "name one file");
    refuses(state, "complete @none.c", "none.c");
    refuses(state, "complete @", "Is a directory");
    refuses(state, "complete @nul.c", "byte 3 is NUL");
    refuses(state, "complete @wide.c", "UTF-16");
    refuses(state, "complete @dot.c --at 99", "dot.c:99: the file has only 17 lines");
    refuses(state, "complete @dot.c --at 15:23", "dot.c:15:23: the line has only 22 columns");
    refuses(state, "complete @dot.c --at 0", "--at 0: expected LINE or LINE:COLUMN, from 1");
    refuses(state, "complete @dot.c --at 5:", "--at 5:: expected LINE or LINE:COLUMN");
    refuses(state, "complete @dot.c --at five", "--at five: expected");
    refuses(state, "complete @dot.c --stop never", "never");
    refuses(state, "complete @dot.c --samples 0", "samples");
    refuses(state, "complete @dot.c --max-tokens 60000", "60000 new tokens");
    refuses(state, "complete @dot.c --model @none", "none");
    refuses(state, "complete @dot.c --model @dot.c", "dot.c: neither a model directory nor");
    refuses(state, "complete @dot.c --device cuda:900 --model @none", "device cuda:900: ");
    refuses(state, "complete @dot.c --device gpu --model @none",
            "unknown device 'gpu'; this build has cpu, mock, cuda");
    refuses(state, "complete @dot.c --cache q8_0", "q8_0");
    refuses(state, "complete @dot.c --weights f99", "f99");
    refuses(state, "complete @dot.c -p @none", "none");
    refuses(state, "complete @dot.c -p @dot.c", "dot.c");
    refuses(state, "complete -- @dot.c", "name one file");
    refuses(state, "complete - --write", "--write needs a file");
    refuses(state, "complete -", "--name");
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_it_prints),
        TEST(test_json),
        TEST(test_checks),
        TEST(rejected_samples_are_reported),
        TEST(test_the_demo),
        TEST(test_it_writes),
        TEST(test_large_files),
        TEST(test_nothing_to_add),
        TEST(prompt_keeps_to_its_time_and_rates_are_measured),
        TEST(raw_names_the_special_token_that_ended_it),
        TEST(other_languages_are_named_and_end_by_indentation),
        TEST(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
