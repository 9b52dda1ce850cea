/*
 * Tests of `hpccoder pragma`: text and JSON output, changes to files, patches, and errors.
 */
/* tsan: left out, other tests start the same threads. */
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
#include "tests/source/check.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

static hpc_test_outcome o;

static const char *root_of(void **state)
{
    return ((const hpc_test_folder *)*state)->root;
}

static void write_text(void **state, const char *name, const char *text)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, name), text, strlen(text)));
}

static void holds(void **state, const char *name, const char *text)
{
    char path[PATH_MAX];
    hpc_buf b = {0};
    test_ok(hpc_file_read(&b, hpc_test_path(path, *state, name), 1 << 20));
    assert_string_equal(b.data, text);
    hpc_buf_release(&b);
}

static void run(void **state, int code, const char *words)
{
    hpc_test_command_in(&o, root_of(state), words);
    if (o.code != code) fail_msg("%s: exit code %d: %s", words, o.code, o.err);
}

/* One loop of each kind. */
#define HEAD "void axpy(int n, double a, const double *x, double *y)\n{\n"
#define AXPY "    for (int i = 0; i < n; i++) y[i] += a * x[i];\n}\n"
#define DOT                                                                                        \
    "double dot(int n, const double *x, const double *y)\n{\n    double s = 0;\n"                  \
    "    for (int i = 0; i < n; i++)\n        s += x[i] * y[i];\n    return s;\n}\n"
#define DOT_FIXED                                                                                  \
    "double dot(int n, const double *x, const double *y)\n{\n    double s = 0;\n"                  \
    "    #pragma omp parallel for reduction(+:s) if(n > 200000)\n"                                 \
    "    for (int i = 0; i < n; i++)\n        s += x[i] * y[i];\n    return s;\n}\n"
#define WAVE                                                                                       \
    "void wave(int n, double *y)\n{\n    for (int i = 1; i < n; i++) y[i] += y[i - 1];\n}\n"
#define CALL                                                                                       \
    "double g(double);\nvoid call(int n, double *y)\n{\n"                                          \
    "    for (int i = 0; i < n; i++) y[i] = g(y[i]);\n}\n"
#define SMALL "void few(double *y)\n{\n    for (int i = 0; i < 4; i++) y[i] = 0;\n}\n"
#define ALL   HEAD AXPY DOT WAVE CALL SMALL

/* ---- output ---------------------------------------------------------------------------------- */

static void test_text(void **state)
{
    NEED_LIBRARY;
    write_text(state, "a.c", ALL);
    run(state, 0, "pragma @a.c");
    assert_string_equal(o.err, "");
    hpc_test_says(o.out, "a.c:3: conditional\n     3 |     for (int i = 0; i < n; i++) y[i]");
    hpc_test_says(o.out, "\n       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~\n");
    hpc_test_says(o.out, "    assumes: x and y do not overlap, or are equal [x == y || "
                         "x + n <= y || y + n <= x]\n");
    hpc_test_says(o.out, "a.c:8: parallel\n");
    hpc_test_says(o.out, "    propose: #pragma omp parallel for reduction(+:s) if(n > 200000)\n");
    hpc_test_says(o.out, "    reduction: line 9: s is only updated with +");
    hpc_test_says(o.out, "a.c:14: unsafe\n");
    hpc_test_says(o.out, "the same location, 1 iteration apart\n");
    hpc_test_says(o.out, "a.c:19: unknown\n");
    hpc_test_says(o.out, "a.c:23: parallel\n");
    hpc_test_says(o.out, "    no directive: it is too small to pay\n");
    hpc_test_says(o.out, "\n5 loops: 2 parallel, 1 conditional, 1 unsafe, 1 unknown\n");
    run(state, 0, "pragma @a.c --at 15");
    assert_null(strstr(o.out, "loops: 2"));
    run(state, 0, "pragma @a.c --at 9 --quiet");
    hpc_test_says(o.out, "a.c:8: parallel\n");
    assert_null(strstr(o.out, "a.c:14"));
    assert_null(strstr(o.out, "loops:"));
}

static const hpc_json *key(const hpc_json *v, const char *name)
{
    const hpc_json *at = hpc_json_get(v, name);
    if (!at) fail_msg("no key %s", name);
    return at;
}

static const char *text_of(const hpc_json *v, const char *name)
{
    const char *text;
    test_ok(hpc_json_text(&text, key(v, name), name));
    return text;
}

static int64_t int_of(const hpc_json *v, const char *name)
{
    int64_t n;
    test_ok(hpc_json_int(&n, key(v, name), name));
    return n;
}

/* The contract that scripts rely on. */
static void test_json(void **state)
{
    static const char *const verdicts[] = {"conditional", "parallel", "unsafe", "unknown",
                                           "parallel"};
    static const int64_t lines[] = {3, 8, 14, 19, 23}, ends[] = {3, 9, 14, 19, 23};
    hpc_json *root = NULL;
    NEED_LIBRARY;
    write_text(state, "a.c", ALL);
    run(state, 0, "pragma @a.c --json");
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "out"));
    assert_int_equal(hpc_json_n(root), 1);
    const hpc_json *file = hpc_json_at(root, 0), *loops = key(file, "loops");
    hpc_test_says(text_of(file, "file"), "/a.c");
    assert_int_equal(hpc_json_n(loops), 5);
    for (int64_t i = 0; i < 5; i++) {
        const hpc_json *l = hpc_json_at(loops, i);
        double confidence;
        assert_string_equal(text_of(l, "verdict"), verdicts[i]);
        assert_int_equal(int_of(l, "line"), lines[i]);
        assert_int_equal(int_of(l, "end_line"), ends[i]);
        assert_int_equal(hpc_json_kind_of(key(l, "pragma")), i < 2 ? HPC_JSON_TEXT : HPC_JSON_NULL);
        assert_int_equal(hpc_json_kind_of(key(l, "existing")), HPC_JSON_NULL);
        test_ok(hpc_json_real(&confidence, key(l, "confidence"), "confidence"));
        assert_true(confidence > 0 && confidence <= 1);
        const hpc_json *assumed = key(l, "assumptions"), *evidence = key(l, "evidence");
        assert_int_equal(hpc_json_n(assumed), i == 0);
        if (i == 0) {
            assert_string_equal(text_of(hpc_json_at(assumed, 0), "text"),
                                "x and y do not overlap, or are equal");
            assert_string_equal(text_of(hpc_json_at(assumed, 0), "check"),
                                "x == y || x + n <= y || y + n <= x");
        }
        assert_true(hpc_json_n(evidence) >= 1);
        text_of(hpc_json_at(evidence, 0), "kind");
        text_of(hpc_json_at(evidence, 0), "text");
        assert_in_range(int_of(hpc_json_at(evidence, 0), "line"), lines[i], ends[i]);
    }
    hpc_json_free(root);
}

/* ---- what is put in ----------------------------------------------------------------------------
 */

static void fixed(void **state, const char *options, const char *before, const char *after)
{
    char words[256];
    write_text(state, "f.cpp", before);
    snprintf(words, sizeof words, "pragma --fix @f.cpp%s", options);
    run(state, 0, words);
    assert_string_equal(o.err, "");
    holds(state, "f.cpp", after);
    run(state, 0, words); /* again, it changes nothing */
    holds(state, "f.cpp", after);
    hpc_test_says(o.out, "0 directives inserted\n");
}

#define F      "void f(int n, double *y)\n{\n"
#define OMP(x) "#pragma omp parallel for if(n > " #x "00000)\n"
static void test_fix_keeps_the_style(void **state)
{
    NEED_LIBRARY;
    fixed(state, "", F "\tfor (int i = 0; i < n; i++)\n\t\ty[i] = 0;\n}",
          F "\t" OMP(5) "\tfor (int i = 0; i < n; i++)\n\t\ty[i] = 0;\n}");
    fixed(state, "",
          "void f(int n, double *y) {\r\n  for (int i = 0; i < n; i++) y[i] = 0;\r\n}\r\n",
          "void f(int n, double *y) {\r\n  #pragma omp parallel for if(n > 500000)\r\n"
          "  for (int i = 0; i < n; i++) y[i] = 0;\r\n}\r\n");
    fixed(state, "", F "    if (n) for (int i = 0; i < n; i++) y[i] = 0;\n}\n",
          F "    if (n)\n        #pragma omp parallel for if(n > 500000)\n"
            "        for (int i = 0; i < n; i++) y[i] = 0;\n}\n");
    fixed(state, "", F "    if (n) \\\n    for (int i = 0; i < n; i++) y[i] = 0;\n}\n",
          F "    if (n) \\\n\n    #pragma omp parallel for if(n > 500000)\n"
            "    for (int i = 0; i < n; i++) y[i] = 0;\n}\n");
    fixed(state, "", "void f(int n, double *y) { for (int i = 0; i < n; i++) y[i] = 0; }",
          "void f(int n, double *y) {\n    #pragma omp parallel for if(n > 500000)\n"
          "    for (int i = 0; i < n; i++) y[i] = 0; }");
    fixed(state, "",
          F " for (int i = 0; i < n; i++) y[i] = 0; for (int i = 0; i < n; i++) y[i] += 1;\n}\n",
          F " " OMP(5) " for (int i = 0; i < n; i++) y[i] = 0;\n"
                       "     " OMP(3) "     for (int i = 0; i < n; i++) y[i] += 1;\n}\n");
}

/* Only the outermost loop of a nest gets a directive; a loop inside an unsafe one gets none. */
static void test_fix_of_nests(void **state)
{
    NEED_LIBRARY;
    fixed(state, "",
          F "    for (int i = 0; i < n; i++)\n        for (int j = 0; j < n; j++)\n"
            "            y[i * n + j] = 0;\n"
            "    for (int i = 0; i < n; i++) {\n        for (int j = 0; j < n; j++)\n"
            "            y[j] = y[j] / 2 + i;\n    }\n}\n",
          F "    #pragma omp parallel for if((long long)n*n > 400000)\n"
            "    for (int i = 0; i < n; i++)\n        for (int j = 0; j < n; j++)\n"
            "            y[i * n + j] = 0;\n"
            "    for (int i = 0; i < n; i++) {\n        for (int j = 0; j < n; j++)\n            "
            "y[j] = y[j] / 2 + i;\n    }\n}\n");
}

static void fix_refuses_read_only_files(void **state)
{
    char path[PATH_MAX];
    const char *text = F "    for (int i = 0; i < n; i++) y[i] = 0;\n}\n";
    NEED_LIBRARY;
    write_text(state, "locked.c", text);
    write_text(state, "open.c", text);
    assert_int_equal(chmod(hpc_test_path(path, *state, "locked.c"), 0444), 0);
    run(state, 2, "pragma --fix @locked.c @open.c");
    hpc_test_says(o.err, "locked.c: it is read-only (mode 0444); --force changes it");
    hpc_test_says(o.out, "1 directive inserted\n");
    holds(state, "locked.c", text);
    run(state, 0, "pragma --fix --force @locked.c @open.c");
    hpc_test_says(o.out, "1 directive inserted\n");
}

static void stays(void **state, const char *name, const char *text, const char *because)
{
    char words[256];
    write_text(state, name, text);
    snprintf(words, sizeof words, "pragma --fix --conditional @%s", name);
    run(state, 0, words);
    hpc_test_says(o.out, "0 directives inserted\n");
    holds(state, name, text);
    snprintf(words, sizeof words, "pragma @%s", name);
    run(state, 0, words);
    if (because) hpc_test_says(o.out, because);
}

#define LOOP "for (int i = 0; i < n; i++) y[i] = 0;"

static void test_fix_leaves_alone(void **state)
{
    NEED_LIBRARY;
    stays(state, "m.c",
          "#define EACH(i, n) for (int i = 0; i < n; i++)\n" F "    EACH(i, n) y[i] = 0;\n}\n",
          "it is expanded from a macro");
    stays(state, "b.c", "#define ZERO " LOOP "\n" F "    ZERO\n}\n", NULL);
    stays(state, "h.h", "static inline " F "    " LOOP "\n}\n", "is a header");
    stays(state, "l.c", "# 1 \"y.in\"\n" F "    " LOOP "\n}\n", "from another one (line 1)");
    stays(state, "k.c", F "    " LOOP "\n}\n#line 7 \"y.in\"\n",
          "generated from another one (line 5)");
    stays(state, "p.c", F "#pragma GCC ivdep\n    " LOOP "\n}\n", "the pragma on line 3 precedes");
    stays(state, "a.c", F "#pragma acc loop\n    // y\n    " LOOP "\n}\n", "the pragma on line 3");
    stays(state, "q.c", F "    _Pragma(\"GCC ivdep\") " LOOP "\n}\n", "the pragma on line 3");
    stays(state, "o.c", F "#pragma omp parallel for\n    " LOOP "\n}\n", "has: #pragma omp par");
    stays(state, "i.c", F "#pragma omp parallel\n    {\n    " LOOP "\n    }\n}\n",
          "it runs inside a parallel region already");
    stays(state, "s.c", SMALL, "too small");
    stays(state, "e.cpp",
          "constexpr int f(int n)\n{\n    int s = 0;\n"
          "    for (int i = 0; i < n; i++) s += i;\n    return s;\n}\n",
          "its function is constexpr");
}

#define HELD                                                                                       \
    "#include <vector>\nstruct held {\n    std::vector<float> v;\n    void f(int n)\n    {\n"      \
    "        float *q = v.data();\n"                                                               \
    "        for (int i = 0; i < n; i++) v[i] = q[i + 1];\n    }\n};\n"

static void test_conditional(void **state)
{
    NEED_LIBRARY;
    fixed(state, "", HEAD AXPY, HEAD AXPY);
    fixed(state, " --guard", HEAD AXPY,
          HEAD "    #pragma omp parallel for if((n > 200000) && (x == y || x + n <= y || y + n <= "
               "x))\n" AXPY);
    fixed(state, " --conditional", HEAD AXPY, HEAD "    " OMP(2) AXPY);
    fixed(state, " --guard", HELD, HELD); /* no test of *this shows where q points */
}

/* ---- patches ------------------------------------------------------------------------------------
 */

static bool shell(const char *root, const char *command)
{
    char all[5 * PATH_MAX];
    snprintf(all, sizeof all, "cd %s && %s", root, command);
    return system(all) == 0;
}

/* Applied by git, it is what --fix makes. */
static void patched(void **state, const char *name, const char *text)
{
    char program[PATH_MAX], words[3 * PATH_MAX];
    hpc_test_built(program, "hpccoder");
    write_text(state, name, text);
    snprintf(words, sizeof words,
             "cp '%s' whole.c && '%s' pragma --fix --guard -q whole.c >out && "
             "'%s' pragma --diff --guard '%s' >patch && git apply patch && cmp whole.c '%s'",
             name, program, program, name, name);
    if (!shell(root_of(state), words)) fail_msg("%s: the patch is not what --fix does", name);
}

static void test_diff(void **state)
{
    hpc_buf far = {0};
    NEED_LIBRARY;
    if (system("git --version >/dev/null 2>&1") != 0) {
        print_message("SKIP: git is not installed\n");
        skip();
    }
    patched(state, "a.c", ALL);
    patched(state, "two words.c", ALL);
    patched(state, "crlf.c", "void f(int n, double *y)\r\n{\r\n  " LOOP "\r\n}\r\n");
    patched(state, "end.c", F "    " LOOP " " LOOP "}");
    patched(state, "last.c", F "    " LOOP "\n}\nvoid g(int n, double *y) { " LOOP " }");
    for (int k = 0; k < 12; k++) { /* hunks that touch, and hunks that do not */
        hpc_buf_printf(&far, "void f%d(int n, double *y)\n{\n    %s\n}\n", k, LOOP);
        for (int i = 0; i < k; i++) hpc_buf_text(&far, "\n");
    }
    patched(state, "far.c", far.data);
    hpc_buf_release(&far);
    write_text(state, "a.c", WAVE);
    run(state, 0, "pragma --diff @a.c");
    assert_string_equal(o.out, "");
}

/* ---- directives that are there -----------------------------------------------------------------
 */

#define RACY                                                                                       \
    "void w(int n, double *y)\n{\n#pragma omp parallel for\n    for (int i = 1; i < n; i++) y[i] " \
    "+= y[i - 1];\n}\n"
#define LOST                                                                                       \
    "double d(int n, double *y)\n{\n    double s = 0;\n#pragma omp parallel for\n    for (int i "  \
    "= 1; i < n; i++) s += y[i];\n    return s;\n}\n"
#define FINE                                                                                       \
    "void z(int n, double *y)\n{\n#pragma omp parallel for\n    for (int i = 1; i < n; i++) y[i] " \
    "= 0;\n}\n"

static void test_check(void **state)
{
    hpc_json *root = NULL;
    NEED_LIBRARY;
    write_text(state, "bad.c", RACY LOST FINE);
    write_text(state, "good.c", FINE WAVE DOT);
    run(state, 0, "pragma --check @good.c");
    assert_string_equal(o.out, "0 wrong directives\n");
    run(state, 1, "pragma --check @good.c @bad.c");
    hpc_test_says(o.out, "bad.c:4: unsafe\n");
    hpc_test_says(o.out, "    which is wrong: iterations depend on each other\n");
    hpc_test_says(o.out, "    better: remove the directive\n");
    hpc_test_says(o.out, "bad.c:10: parallel\n");
    hpc_test_says(o.out, "wrong: a reduction clause is missing or has the wrong operator\n");
    hpc_test_says(o.out, "    better: #pragma omp parallel for reduction(+:s)\n");
    assert_null(strstr(o.out, "bad.c:16"));
    hpc_test_says(o.out, "\n2 wrong directives\n");
    run(state, 1, "pragma --check @bad.c --json");
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "out"));
    static const char *const is[] = {"racy", "reduction", "right"};
    for (int k = 0; k < 3; k++) {
        const hpc_json *l = hpc_json_at(key(hpc_json_at(root, 0), "loops"), k);
        assert_string_equal(text_of(l, "existing"), "#pragma omp parallel for");
        assert_string_equal(text_of(l, "existing_is"), is[k]);
        assert_int_equal(hpc_json_kind_of(key(l, "pragma")), HPC_JSON_NULL);
    }
    hpc_json_free(root);
    run(state, 0, "pragma @bad.c"); /* reported without being requested */
    hpc_test_says(o.out, "\n2 existing directives are wrong: --check shows them\n");
    run(state, 0, "pragma @good.c");
    assert_null(strstr(o.out, "existing"));
    run(state, 0, "pragma --fix @bad.c");
    holds(state, "bad.c", RACY LOST FINE);
    run(state, 2, "pragma --check @none.c @bad.c");
}

/* ---- other formats and languages ---------------------------------------------------------------
 */

static const hpc_json *at(const hpc_json *list, int64_t i)
{
    const hpc_json *v = hpc_json_at(list, i);
    if (!v) fail_msg("no element %lld", (long long)i);
    return v;
}

/* The parts of SARIF 2.1.0 that readers of it insist on. */
static void test_sarif(void **state)
{
    static const char *const rules[] = {"conditional", "parallel", "racy", "reduction"};
    static const char *const levels[] = {"note", "note", "error", "error"};
    static const int64_t lines[] = {3, 8, 28, 34};
    hpc_json *root = NULL;
    NEED_LIBRARY;
    write_text(state, "a.c", ALL RACY LOST);
    run(state, 2, "pragma --format sarif @a.c @none.c");
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "out"));
    assert_string_equal(text_of(root, "version"), "2.1.0");
    const hpc_json *log = at(key(root, "runs"), 0), *driver = key(key(log, "tool"), "driver"),
                   *results = key(log, "results"), *invocation = at(key(log, "invocations"), 0);
    assert_string_equal(text_of(driver, "name"), "hpccoder pragma");
    assert_int_equal(hpc_json_n(key(invocation, "toolExecutionNotifications")), 1);
    assert_int_equal(hpc_json_n(results), 4);
    for (int64_t i = 0; i < 4; i++) {
        const hpc_json *r = at(results, i);
        assert_string_equal(text_of(r, "ruleId"), rules[i]);
        assert_string_equal(text_of(r, "level"), levels[i]);
        assert_string_equal(text_of(at(key(driver, "rules"), int_of(r, "ruleIndex")), "id"),
                            rules[i]);
        assert_true(strlen(text_of(key(r, "message"), "text")) > 10);
        const hpc_json *place = key(at(key(r, "locations"), 0), "physicalLocation");
        hpc_test_says(text_of(key(place, "artifactLocation"), "uri"), "file:///");
        assert_int_equal(int_of(key(place, "region"), "startLine"), lines[i]);
        assert_int_equal(int_of(key(place, "region"), "startColumn"), 5);
        assert_int_equal(hpc_json_get(r, "fixes") != NULL, i == 1);
    }
    const hpc_json *change = at(key(at(key(at(results, 1), "fixes"), 0), "artifactChanges"), 0),
                   *replacement = at(key(change, "replacements"), 0);
    assert_string_equal(text_of(key(replacement, "insertedContent"), "text"),
                        "    #pragma omp parallel for reduction(+:s) if(n > 200000)\n"
                        "    for (int i = 0; i < n; i++)\n");
    assert_int_equal(int_of(key(replacement, "deletedRegion"), "byteLength"), 32);
    hpc_json_free(root);
}

/* Loops of a language without a parser are listed. */
static void test_languages(void **state)
{
    write_text(state, "c.cl",
               "kernel void f(global float *a, int n)\n{\n"
               "    for (int i = 0; i < n; i++) a[i] = 0;\n}\n");
    run(state, 0, "pragma --fix @c.cl");
    hpc_test_says(o.out, "0 directives inserted\n");
    run(state, 0, "pragma @c.cl");
    hpc_test_says(o.out, "    form: OpenCL is not analysed");
    hpc_test_says(o.out, "\n1 loop: 0 parallel, 0 conditional, 0 unsafe, 1 unknown\n");
    assert_string_equal(o.err, "");
}

static void file_that_does_not_compile_exits_2_and_names_the_first_error(void **state)
{
    NEED_LIBRARY;
    write_text(state, "h.c", "#include \"none.h\"\nvoid f(int n, grid *g) { " LOOP " }\n");
    run(state, 2, "pragma -q @h.c");
    hpc_test_says(o.err, "h.c:1: 'none.h' file not found");
    hpc_test_says(o.err, "; name the header's folder with -p or -- -I\n");
    hpc_test_says(o.out, "h.c:2: unknown\n");
    write_text(state, "e.c", F LOOP "\n}\nvoid g(int n, double *y)\n{\n    " LOOP "\n    (;\n}\n");
    run(state, 2, "pragma @e.c");
    hpc_test_says(o.err, "e.c:8: expected expression");
    hpc_test_says(o.err, "; give the compiler's flags with -p or after --\n");
    hpc_test_says(o.out, "e.c:3: parallel\n");
}

/* As with LULESH, which says in a header what it lacks. */
static void error_in_a_header_is_shown_with_the_headers_line(void **state)
{
    NEED_LIBRARY;
    write_text(state, "m.h", "#ifndef USE_MPI\n#error \"say -DUSE_MPI=0 or 1\"\n#endif\n");
    write_text(state, "m.c", "#include \"m.h\"\n" F LOOP "\n}\n");
    run(state, 2, "pragma @m.c");
    hpc_test_says(o.err, "m.c: m.h:2: \"say -DUSE_MPI=0 or 1\"; give the compiler's flags");
    run(state, 2, "pragma --json @m.c");
    hpc_test_says(o.out, "m.c: m.h:2: \\\"say -DUSE_MPI=0 or 1\\\"\"");
    run(state, 0, "pragma @m.c -- -DUSE_MPI=0");
    assert_string_equal(o.err, "");
}

/* ---- flags -------------------------------------------------------------------------------------
 */

#define NEEDS_FLAG                                                                                 \
    "#ifdef WANTED\nvoid f(int n, double *y)\n{\n    for (int i = 0; i < n; i++) y[i] = 0;\n}\n"   \
    "#endif\nint g;\n"

static void test_flags(void **state)
{
    char json[2 * PATH_MAX], path[PATH_MAX];
    NEED_LIBRARY;
    OK(hpc_file_mkdir(hpc_test_path(path, *state, "src/deep")));
    OK(hpc_file_mkdir(hpc_test_path(path, *state, "build")));
    write_text(state, "src/deep/n.c", NEEDS_FLAG);
    run(state, 0, "pragma @src/deep/n.c");
    hpc_test_says(o.out, "0 loops");
    run(state, 0, "pragma @src/deep/n.c -- -DWANTED");
    hpc_test_says(o.out, "1 loop: 1 parallel");
    snprintf(json, sizeof json,
             "[{\"directory\": \"%s\", \"file\": \"src/deep/n.c\", \"command\": \"cc -DWANTED -c "
             "src/deep/n.c\"}]",
             root_of(state));
    write_text(state, "build/compile_commands.json", json);
    run(state, 0, "pragma @src/deep/n.c");
    hpc_test_says(o.out, "1 loop: 1 parallel");
    run(state, 0, "pragma @src/deep/n.c -p @build");
    hpc_test_says(o.out, "1 loop: 1 parallel");
    run(state, 0, "pragma @src/deep/n.c -p none");
    hpc_test_says(o.out, "0 loops");
    write_text(state, "compile_commands.json", "[7]"); /* nearer, and broken: as none */
    run(state, 0, "pragma @src/deep/n.c");
    hpc_test_says(o.err, "entry 1: is not an object");
    hpc_test_says(o.out, "0 loops");
    hpc_test_refuses(&o, root_of(state), "pragma @src/deep/n.c -p @.", "entry 1: is not an object");
}

/* ---- mistakes ----------------------------------------------------------------------------------
 */

static void test_mistakes(void **state)
{
    char path[PATH_MAX];
    const char *root = root_of(state);
    write_text(state, "a.c", DOT);
    write_text(state, "notes.txt", DOT);
    hpc_test_refuses(&o, root, "pragma", "name source files");
    hpc_test_refuses(&o, root, "pragma @a.c --fix --diff", "exclude each other");
    hpc_test_refuses(&o, root, "pragma @a.c --guard --conditional", "exclude each other");
    hpc_test_refuses(&o, root, "pragma @a.c --guard --target", "exclude each other");
    hpc_test_refuses(&o, root, "pragma @a.c --fix --json", "have no JSON");
    hpc_test_refuses(&o, root, "pragma @a.c --json --format sarif", "exclude each other");
    hpc_test_refuses(&o, root, "pragma @a.c --format yaml", "yaml");
    hpc_test_refuses(&o, root, "pragma @a.c --at 0x", "0x");
    hpc_test_refuses(&o, root, "pragma @none.c", "none.c");
    hpc_test_refuses(&o, root, "pragma @", " is a folder; name source files");
    hpc_test_refuses(&o, root, "pragma @notes.txt", "the file name is not one of");
    test_ok(hpc_file_save(hpc_test_path(path, *state, "z.c"), "int a;\0int b;\n", 14));
    hpc_test_refuses(&o, root, "pragma @z.c", "is not text: byte 6 is NUL");
}

/* Unusable files are named; the others are processed. */
static void test_several(void **state)
{
    hpc_json *root = NULL;
    NEED_LIBRARY;
    write_text(state, "a.c", DOT);
    write_text(state, "empty.c", "");
    run(state, 2, "pragma @a.c @none.c @empty.c @a.c");
    hpc_test_says(o.err, "none.c");
    hpc_test_says(o.out, "\n2 loops: 2 parallel");
    run(state, 0, "pragma @empty.c");
    hpc_test_says(o.out, "0 loops");
    run(state, 2, "pragma --json @none.c @a.c");
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "out"));
    assert_int_equal(hpc_json_n(root), 2);
    hpc_test_says(text_of(hpc_json_at(root, 0), "failed"), "none.c");
    assert_int_equal(hpc_json_n(key(hpc_json_at(root, 1), "loops")), 1);
    hpc_json_free(root);
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_text),
        TEST(test_json),
        TEST(test_fix_keeps_the_style),
        TEST(test_fix_of_nests),
        TEST(fix_refuses_read_only_files),
        TEST(test_fix_leaves_alone),
        TEST(test_conditional),
        TEST(test_check),
        TEST(test_diff),
        TEST(test_sarif),
        TEST(test_languages),
        cmocka_unit_test_setup_teardown(
            file_that_does_not_compile_exits_2_and_names_the_first_error, hpc_test_folder_setup,
            hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(error_in_a_header_is_shown_with_the_headers_line,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        TEST(test_flags),
        TEST(test_mistakes),
        TEST(test_several)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
