/*
 * Tests of runtime/source/check_file.c and check_process.c with libclang: flags of a project,
 * files that cannot be checked, texts that crash libclang, and failing allocations.
 */
/* tsan: left out, starts no thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/source/check.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"
#include "tests/support/sanitized.h"

/* ---- flags ---------------------------------------------------------------------------------- */

static void put_project(const hpc_test_folder *t)
{
    static const char header[] = "typedef double real;\nreal norm(const real *x, int n);\n";
    char path[PATH_MAX];
    hpc_buf database = {0};
    OK(hpc_file_mkdir(hpc_test_path(path, t, "include")));
    OK(hpc_file_save(hpc_test_path(path, t, "include/ours.h"), header, strlen(header)));
    OK(hpc_buf_printf(&database,
                      "[{\"directory\":\"%s\",\"file\":\"src/a.c\",\"command\":"
                      "\"gcc -Iinclude -DWIDTH=4 -march=no-such-machine -fopt-info "
                      "-std=c++17 -o a.o -c src/a.c\"}]",
                      t->root));
    OK(hpc_file_save(hpc_test_path(path, t, "compile_commands.json"), database.data, database.n));
    hpc_buf_release(&database);
}

static void flags_of_a_project(void **state)
{
    const hpc_test_folder *t = *state;
    NEED_LIBRARY;
    static const char text[] = "#include \"ours.h\"\nreal f(real *x)\n{\n    @\n}\n";
    char path[PATH_MAX];
    hpc_check_flags flags;
    put_project(t);
    OK(hpc_check_flags_find(&flags, t->root, hpc_test_path(path, t, "src/b.c")));
    assert_false(flags.exact);
    hpc_checker *c = open_checker(0);
    hpc_check_file *f = open_flags(c, HPC_LANGUAGE_C, text, &flags);
    hpc_check_flags_release(&flags);
    assert_true(hpc_check_file_base(f)->strict);
    assert_string_equal(hpc_check_file_base(f)->missing, "");
    good(f, "return norm(x, WIDTH);");
    bad(f, "return norm(x, HEIGHT);", "undeclared identifier 'HEIGHT'");
    bad(f, "return norm(x);", "too few arguments");
    hpc_check_file_close(f);
    f = open_text(c, HPC_LANGUAGE_C, text); /* the same without them */
    assert_false(hpc_check_file_base(f)->strict);
    good(f, "return norm(x, HEIGHT);");
    hpc_check_file_close(f);
    hpc_checker_close(c);
}

static void openmp_only_with_its_flag(void **state)
{
    (void)state;
    NEED_LIBRARY;
    static const char text[] = "void f(int n, double *x)\n{\n@\n"
                               "    for (int i = 0; i < n; i++) x[i] = 0;\n}\n";
    hpc_checker *c = open_checker(0);
    hpc_check_flags flags;
    OK(hpc_check_flags_given(&flags, (const char *const[]){"-O2", NULL}, NULL));
    hpc_check_file *f = open_flags(c, HPC_LANGUAGE_C, text, &flags);
    good(f, "#pragma omp parallel for reduction(+:nothing)");
    hpc_check_file_close(f);
    hpc_check_flags_release(&flags);
    OK(hpc_check_flags_given(&flags, (const char *const[]){"-qopenmp", NULL}, NULL));
    f = open_flags(c, HPC_LANGUAGE_C, text, &flags);
    bad(f, "#pragma omp parallel for reduction(+:nothing)", "undeclared identifier 'nothing'");
    hpc_check_file_close(f);
    hpc_check_flags_release(&flags);
    hpc_checker_close(c);
}

/* ---- what cannot be checked -------------------------------------------------------------------
 */

static void unsupported(int rc, const char *text)
{
    assert_int_equal(rc, HPC_E_UNSUPPORTED);
    if (!strstr(hpc_error_get()->text, text))
        fail_msg("\"%s\" does not say: %s", hpc_error_get()->text, text);
    hpc_error_clear();
}

static void without_the_library(void **state)
{
    (void)state;
    hpc_checker_options o = HPC_CHECKER_DEFAULTS;
    hpc_checker *c;
    o.program = "/no/such/program";
    unsupported(hpc_checker_open(&c, &o), "libclang-19-dev");
    assert_null(c);
    hpc_checker_close(NULL);
    hpc_check_file_close(NULL);
}

/* Scripts in place of the program. */
static void programs_that_do_not_answer(void **state)
{
    static const struct {
        const char *script, *says;
    } cases[] = {
        {"exit 127", "libclang is missing; install libclang1-19"},
        {"exit 0", "the process of libclang ended"},
        {"kill -9 $$", "libclang was killed by signal 9"},
        /* a message of eight bytes: version 1 */
        {"printf '\\010\\0\\0\\0\\0\\0\\0\\0\\001\\0\\0\\0\\0\\0\\0\\0' >&3",
         "has another version; rebuild it"},
    };
    hpc_checker_options o = HPC_CHECKER_DEFAULTS;
    hpc_checker *c;
    char path[PATH_MAX], script[256];
    o.program = hpc_test_path(path, *state, "program");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        snprintf(script, sizeof script, "#!/bin/sh\n%s\n", cases[k].script);
        OK(hpc_file_save(path, script, strlen(script)));
        assert_int_equal(chmod(path, 0700), 0);
        unsupported(hpc_checker_open(&c, &o), cases[k].says);
        assert_null(c);
    }
}

static void other_languages(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_check_file *f;
    assert_false(hpc_check_knows(HPC_LANGUAGE_FORTRAN));
    assert_false(hpc_check_knows(HPC_LANGUAGE_OPENCL));
    assert_false(hpc_check_knows(HPC_LANGUAGE_NONE));
    assert_true(hpc_check_knows(HPC_LANGUAGE_C));
    const hpc_check_source s = {.path = "x.f90", .text = "", .language = HPC_LANGUAGE_FORTRAN};
    unsupported(hpc_check_file_open(&f, c, &s), "x.f90: there is no check for fortran");
    assert_null(f);
    hpc_checker_close(c);
}

/* ---- what libclang does not survive ---------------------------------------------------------- */

static void lost(hpc_check_file *f, const char *candidate, const char *why)
{
    hpc_check r = check(f, candidate);
    assert_int_equal(r.verdict, HPC_CHECK_LOST);
    if (!strstr(r.text, why)) fail_msg("\"%s\" does not say: %s", r.text, why);
    assert_int_equal(r.parse, 0);
}

static void a_crash(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_check_file *f = open_text(c, HPC_LANGUAGE_C, "int f(int x)\n{\n    @\n}\n");
    hpc_check_file *g = open_text(c, HPC_LANGUAGE_CPP, "int g(int x)\n{\n    @\n}\n");
    good(f, "return x;");
    lost(f, "\n#pragma clang __debug crash\n", "libclang was killed by signal ");
    good(g, "return x;"); /* reopened on demand */
    bad(g, "return x", "expected ';'");
    good(f, "return x;");
    lost(f, "\n#pragma clang __debug llvm_fatal_error\n", "libclang");
    hpc_check_file_close(g); /* while there is no process */
    bad(f, "return y;", "'y'");
    hpc_check_file_close(f);
    hpc_checker_close(c);
}

static void *allocate(void *user)
{
    const int *ended = user;
    while (!__atomic_load_n(ended, __ATOMIC_ACQUIRE)) free(malloc(100));
    return NULL;
}

/* The new process must not inherit a lock that a thread holds. */
static void a_restart_beside_threads_that_allocate(void **state)
{
    enum { THREADS = 3, TIMES = 20 };
    pthread_t thread[THREADS];
    int ended = 0;
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_check_file *f = open_text(c, HPC_LANGUAGE_C, "int f(int x)\n{\n    @\n}\n");
    for (int k = 0; k < THREADS; k++)
        assert_int_equal(pthread_create(&thread[k], NULL, allocate, &ended), 0);
    for (int k = 0; k < TIMES; k++) {
        lost(f, "\n#pragma clang __debug crash\n", "libclang was killed by signal ");
        good(f, "return x;");
    }
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    for (int k = 0; k < THREADS; k++) pthread_join(thread[k], NULL);
    hpc_check_file_close(f);
    hpc_checker_close(c);
}

static void a_text_that_takes_forever(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0.5);
    hpc_buf text = {0};
    hpc_check_file *f = open_text(c, HPC_LANGUAGE_C, "int f(int x)\n{\n    @\n}\n");
    for (int k = 0; k < 40; k++) /* 2^40 words */
        OK(hpc_buf_printf(&text, "\n#define A%d A%d A%d\n", k, k + 1, k + 1));
    OK(hpc_buf_text(&text, "\nA0\n"));
    lost(f, text.data, "libclang did not finish within 0.5 s");
    hpc_buf_release(&text);
    hpc_check_file_close(f);
    hpc_checker_close(c);
}

static void a_base_line_that_cannot_be_had(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_check_file *f;
    static const char text[] = "#pragma clang __debug crash\nint x;\n";
    const hpc_check_source s = {
        .path = "x.c", .text = text, .n = strlen(text), .language = HPC_LANGUAGE_C};
    unsupported(hpc_check_file_open(&f, c, &s), "x.c cannot be checked: libclang was killed by");
    assert_null(f);
    f = open_text(c, HPC_LANGUAGE_C, "int f(int x) { @ }\n");
    good(f, "return x;");
    hpc_check_file_close(f);
    hpc_checker_close(c);
}

static void too_much_memory(void **state)
{
    (void)state;
    NEED_LIBRARY;
    char program[PATH_MAX];
    hpc_checker_options o = HPC_CHECKER_DEFAULTS;
    hpc_checker *c;
    hpc_buf text = {0};
    if (HPC_TEST_ASAN) {
        print_message("SKIP: the address sanitizer needs more memory than this\n");
        skip();
    }
    o.program = hpc_test_built(program, "hpccoder-clang");
    o.memory_bytes = (size_t)300 << 20;
    OK(hpc_checker_open(&c, &o));
    hpc_check_file *f = open_text(c, HPC_LANGUAGE_C, "int f(int x)\n{\n    @\n}\n");
    for (int k = 0; k < 26; k++)
        OK(hpc_buf_printf(&text, "\n#define A%d A%d, A%d\n", k, k + 1, k + 1));
    OK(hpc_buf_text(&text, "\n#define A26 x\nint a[] = {A0};\n"));
    lost(f, text.data, "libclang was killed by signal ");
    good(f, "return x;");
    hpc_buf_release(&text);
    hpc_check_file_close(f);
    hpc_checker_close(c);
}

/* Deep nesting, nothing at all, bytes that are no text. */
static void strange_texts(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_buf deep = {0};
    hpc_check r;
    hpc_check_file *f = open_text(c, HPC_LANGUAGE_C, "int f(int x)\n{\n    return @x;\n}\n");
    for (int k = 0; k < 100000; k++) OK(hpc_buf_text(&deep, "("));
    OK(hpc_check_text(&r, f, deep.data, deep.n));
    assert_int_equal(r.verdict, HPC_CHECK_BAD);
    OK(hpc_check_text(&r, f, "\0\xff\xfe\0", 4));
    assert_int_equal(r.verdict, HPC_CHECK_BAD);
    OK(hpc_check_text(&r, f, NULL, 0));
    assert_int_equal(r.verdict, HPC_CHECK_GOOD);
    hpc_buf_release(&deep);
    hpc_check_file_close(f);
    f = open_text(c, HPC_LANGUAGE_CPP, "@");
    good(f, "");
    good(f, "int x;");
    bad(f, "int x", "expected ';'");
    hpc_check_file_close(f);
    hpc_checker_close(c);
}

static void nothing_is_written(void **state)
{
    const hpc_test_folder *t = *state;
    NEED_LIBRARY;
    char before[PATH_MAX];
    const char *was = getenv("TMPDIR");
    snprintf(before, sizeof before, "%s", was ? was : "");
    assert_int_equal(setenv("TMPDIR", t->root, 1), 0);
    hpc_checker *c = open_checker(0);
    hpc_check_file *f =
        open_text(c, HPC_LANGUAGE_CPP, "#include <vector>\nstd::vector<int> v;\n@\n");
    good(f, "int x = v[0];");
    assert_int_equal(hpc_test_entries(t->root), 0);
    lost(f, "\n#pragma clang __debug crash\n", "signal");
    assert_int_equal(hpc_test_entries(t->root), 0);
    hpc_check_file_close(f);
    hpc_checker_close(c);
    assert_int_equal(was ? setenv("TMPDIR", before, 1) : unsetenv("TMPDIR"), 0);
}

/* ---- failing allocations ----------------------------------------------------------------------
 */

static int check_once(hpc_checker *c)
{
    static const char text[] = "#include \"no.h\"\nReal f(Real *x)\n{\n    @\n";
    const size_t lo = (size_t)(strchr(text, '@') - text);
    const hpc_check_source s = {.path = "a.c",
                                .text = text,
                                .n = strlen(text),
                                .lo = lo,
                                .hi = lo + 1,
                                .language = HPC_LANGUAGE_C};
    hpc_check_file *f;
    hpc_check r;
    int rc = hpc_check_file_open(&f, c, &s);
    if (rc == HPC_OK) rc = hpc_check_text(&r, f, "Other *y = g(x) h(y); (", 23);
    if (rc == HPC_OK) assert_int_equal(r.verdict, HPC_CHECK_BAD);
    if (rc == HPC_OK) rc = hpc_check_text(&r, f, "Other *z = g(x); return *x; }", 29);
    if (rc == HPC_OK) assert_int_equal(r.verdict, HPC_CHECK_GOOD);
    hpc_check_file_close(f);
    return rc;
}

/* The process was started before, so that only our side fails. */
static void each_allocation_of_a_check(void **state)
{
    (void)state;
    NEED_LIBRARY;
    int64_t n = 0;
    for (bool failed = true; failed; n++) {
        hpc_checker *c = open_checker(0);
        hpc_test_fail_alloc(n + 1);
        int rc = check_once(c);
        failed = hpc_test_alloc_failed();
        hpc_test_fail_alloc(0);
        assert_int_equal(rc, failed ? HPC_E_NOMEM : HPC_OK);
        assert_int_equal(hpc_error_get()->code, rc);
        hpc_error_clear();
        hpc_checker_close(c);
    }
    assert_true(n > 40);
}

static int open_once(void *user)
{
    hpc_checker *c;
    int rc = hpc_checker_open(&c, user);
    hpc_checker_close(c);
    return rc;
}

static void each_allocation_of_a_checker(void **state)
{
    (void)state;
    NEED_LIBRARY;
    char program[PATH_MAX];
    hpc_checker_options o = HPC_CHECKER_DEFAULTS;
    o.program = hpc_test_built(program, "hpccoder-clang");
    assert_true(hpc_test_each_alloc(open_once, &o) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(flags_of_a_project, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test(openmp_only_with_its_flag),
        cmocka_unit_test(without_the_library),
        cmocka_unit_test_setup_teardown(programs_that_do_not_answer, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test(other_languages),
        cmocka_unit_test(a_crash),
        cmocka_unit_test(a_restart_beside_threads_that_allocate),
        cmocka_unit_test(a_text_that_takes_forever),
        cmocka_unit_test(a_base_line_that_cannot_be_had),
        cmocka_unit_test(too_much_memory),
        cmocka_unit_test(strange_texts),
        cmocka_unit_test_setup_teardown(nothing_is_written, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test(each_allocation_of_a_checker),
        cmocka_unit_test(each_allocation_of_a_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
