/*
 * Tests of infer/complete/verify.c: completions that are ranked lower, with their reasons.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "infer/complete/verify.h"
#include "tests/complete/at.h"
#include "tests/source/check.h"
#include "tests/support/fault.h"

enum { MOST = 8 };

/* In the order of their likelihood. */
static void make(hpc_completions *c, const char *const *text)
{
    *c = (hpc_completions){.item = hpc_alloc(MOST, sizeof *c->item)};
    for (; text[c->n]; c->n++) {
        assert_int_equal(hpc_buf_text(&c->item[c->n].text, text[c->n]), 0);
        c->item[c->n].sample = c->n;
    }
}

static int verify_all(hpc_completions *c, const hpc_spot *d,
                      const hpc_completions_verify_options *o)
{
    hpc_completions_checker *v = NULL;
    int rc;
    TRY(hpc_completions_checker_open(&v, d, o));
    TRY(hpc_completions_check(c, v));
out:
    hpc_completions_checker_close(v);
    return rc;
}

static const hpc_completion_check *check_of(const hpc_completion *c, const char *kind)
{
    for (int64_t k = 0; k < c->check_n; k++)
        if (strcmp(c->check[k].kind, kind) == 0) return &c->check[k];
    return NULL;
}

/* says: NULL if it passes, else a part of its text */
static void check_is(const hpc_completion *c, const char *kind, const char *says)
{
    const hpc_completion_check *k = check_of(c, kind);
    assert_non_null(k);
    assert_int_equal(k->ok, says == NULL);
    if (!says) says = "";
    if (!strstr(k->text, says)) print_error("%s\n", k->text);
    assert_non_null(strstr(k->text, says));
    if (!*says) assert_string_equal(k->text, "");
}

static void test_brackets(void **state)
{
    (void)state;
    static const char *const text[] = {"a(b;", "if (x) {\n",   "",  "a(b);",
                                       "}",    "/* { */ b();", NULL};
    static const int order[] = {1, 3, 5, 0, 4, 2};
    hpc_spot d = place_in("a.c", "void f(void)\n{\n    @\n}\nint g;\n");
    hpc_completions c;
    make(&c, text);
    assert_int_equal(verify_all(&c, &d, &(hpc_completions_verify_options){.path = "a.c"}), 0);
    for (int k = 0; k < 6; k++) assert_int_equal(c.item[k].sample, order[k]);
    check_is(&c.item[0], "brackets", NULL);
    check_is(&c.item[1], "brackets", NULL);
    check_is(&c.item[2], "brackets", NULL); /* a line may open a block */
    check_is(&c.item[3], "brackets", "line 3: \"(\" is not closed");
    check_is(&c.item[4], "brackets", "line 4: \"}\" closes nothing");
    for (int k = 0; k < 6; k++) assert_int_equal(c.item[k].check_n, 2);
    hpc_completions_release(&c);
    hpc_spot_close(&d);
}

/* Existing gaps of the file do not count against completions, and may be filled. */
static void test_unfinished_files(void **state)
{
    (void)state;
    static const char *const text[] = {"a();\n", "a();\n}\n", "a(;\n", NULL};
    static const int order[] = {0, 1, 2};
    hpc_spot d = place_in("a.c", "void f(void)\n{\n    @");
    hpc_completions c;
    make(&c, text);
    assert_int_equal(verify_all(&c, &d, &(hpc_completions_verify_options){.path = "a.c"}), 0);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(c.item[k].sample, order[k]);
        assert_int_equal(check_of(&c.item[k], "brackets")->ok, k < 2);
        assert_true((hpc_completion_incomplete(&c.item[k], HPC_STOP_BLOCK) != NULL) == (k == 2));
    }
    hpc_completions_release(&c);
    hpc_spot_close(&d);
}

static void test_fortran(void **state)
{
    (void)state;
    static const char *const text[] = {"a(i) = 0\nend do\nend do", "do i = 1, n\na(i) = 0\nend do",
                                       "do i = 1, n", NULL};
    static const int order[] = {1, 0, 2};
    hpc_spot d = place_in("a.f90", "subroutine s(n)\n@\nend subroutine\n");
    hpc_completions c;
    make(&c, text);
    assert_int_equal(verify_all(&c, &d, &(hpc_completions_verify_options){.path = "a.f90"}), 0);
    for (int k = 0; k < 3; k++) assert_int_equal(c.item[k].sample, order[k]);
    check_is(&c.item[1], "brackets", "\"end do\" closes nothing");
    hpc_completions_release(&c);
    hpc_spot_close(&d);
}

static void test_words(void **state)
{
    (void)state;
    static const char *const text[] = {"and {", "more", NULL};
    hpc_spot d = place_in("a.txt", "words @");
    hpc_completions c;
    make(&c, text);
    assert_int_equal(verify_all(&c, &d, &(hpc_completions_verify_options){.path = "a.txt"}), 0);
    assert_int_equal(c.item[0].sample, 0);
    assert_int_equal(c.item[0].check_n, 0);
    hpc_completions_release(&c);
    hpc_spot_close(&d);
}

/* ---- by libclang -------------------------------------------------------------------------------
 */

static void test_the_compiler(void **state)
{
    (void)state;
    NEED_LIBRARY;
    static const char *const text[] = {"x[i] = a;", "y[i] += a * x[i]", "y[i] += a * x[i];", NULL};
    static const int order[] = {2, 0, 1};
    hpc_checker *checker = open_checker(0);
    hpc_spot d = place_in("a.c", "void f(int n, double a, const double *x, double *y)\n{\n"
                                 "    for (int i = 0; i < n; i++) {\n        @\n    }\n}\n");
    hpc_completions c;
    make(&c, text);
    assert_int_equal(
        verify_all(&c, &d, &(hpc_completions_verify_options){.checker = checker, .path = "a.c"}),
        0);
    for (int k = 0; k < 3; k++) assert_int_equal(c.item[k].sample, order[k]);
    check_is(&c.item[0], "compile", NULL);
    check_is(&c.item[1], "compile", "line 4: read-only variable is not assignable");
    check_is(&c.item[1], "parse", NULL);
    assert_null(hpc_completion_incomplete(&c.item[1], HPC_STOP_BLOCK));
    check_is(&c.item[2], "parse", "line 4: expected ';' after expression");
    assert_null(check_of(&c.item[2], "compile"));
    assert_null(hpc_completion_incomplete(&c.item[2], HPC_STOP_LINE));
    assert_non_null(hpc_completion_incomplete(&c.item[2], HPC_STOP_BLOCK));
    hpc_completions_release(&c);
    /* a header is missing: names that it may declare are excused, syntax errors are not */
    hpc_spot_close(&d);
    d = place_in("a.c", "#include \"missing.h\"\nvoid f(int n)\n{\n    @\n}\n");
    static const char *const loose[] = {"x = (n;", "x = thing(n);", NULL};
    make(&c, loose);
    assert_int_equal(
        verify_all(&c, &d, &(hpc_completions_verify_options){.checker = checker, .path = "a.c"}),
        0);
    assert_int_equal(c.item[0].sample, 1);
    check_is(&c.item[0], "parse", NULL);
    check_is(&c.item[1], "parse", "line 4: ");
    hpc_completions_release(&c);
    hpc_spot_close(&d);
    hpc_checker_close(checker);
}

/* Loops under directives: racy ones sink, and it is said why. */
static void test_openmp(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *checker = open_checker(0);
    hpc_spot d = place_in("a.c", "void f(double *a, int n)\n{\n    double t;\n    @\n}\n");
    hpc_completions c;
    static const char *const text[] = {
        "#pragma omp parallel for\n    for (int i = 1; i < n; i++) a[i] += a[i - 1];",
        "#pragma omp parallel for\n    for (int i = 0; i < n; i++) { t = a[i]; a[i] = t * t; }",
        "#pragma omp parallel for private(t)\n"
        "    for (int i = 0; i < n; i++) { t = a[i]; a[i] = t * t; }",
        "for (int i = 1; i < n; i++) a[i] += a[i - 1];", NULL};
    static const int order[] = {2, 3, 0, 1};
    const hpc_completions_verify_options o = {.checker = checker, .path = "a.c"};
    make(&c, text);
    assert_int_equal(verify_all(&c, &d, &o), 0);
    for (int k = 0; k < 4; k++) assert_int_equal(c.item[k].sample, order[k]);
    check_is(&c.item[0], "openmp", NULL);
    assert_null(check_of(&c.item[1], "openmp")); /* it has no directive */
    check_is(&c.item[2], "openmp", "line 5: iterations depend on each other: a[i] is written");
    check_is(&c.item[3], "openmp", "line 5: a private, lastprivate or linear clause is missing");
    hpc_completions_release(&c);
    hpc_spot_close(&d);
    /* the directive stands before the place */
    d = place_in("a.c", "void f(double *a, int n)\n{\n#pragma omp parallel for\n"
                        "    for (int i = 1; i < n; i++)\n        @\n}\n");
    static const char *const bodies[] = {"a[i] = a[i - 1];", "a[i] = i;", NULL};
    make(&c, bodies);
    assert_int_equal(verify_all(&c, &d, &o), 0);
    assert_int_equal(c.item[0].sample, 1);
    check_is(&c.item[0], "openmp", NULL);
    check_is(&c.item[1], "openmp", "line 4: iterations depend on each other");
    hpc_completions_release(&c);
    hpc_spot_close(&d);
    hpc_checker_close(checker);
}

/* Results from before a failed allocation are complete. */
typedef struct verified {
    hpc_spot spot;
    hpc_completions c;
} verified;

static int verify(void *user)
{
    verified *v = user;
    for (int64_t k = 0; k < v->c.n; k++) v->c.item[k].check_n = 0;
    return verify_all(&v->c, &v->spot, &(hpc_completions_verify_options){.path = "a.c"});
}

static void test_each_allocation_fails(void **state)
{
    (void)state;
    static const char *const text[] = {"a(b;", "a(b);", NULL};
    verified v = {.spot = place_in("a.c", "void f(void)\n{\n    @\n}\n")};
    make(&v.c, text);
    assert_true(hpc_test_each_alloc(verify, &v) >= 3);
    assert_int_equal(v.c.item[0].sample, 1);
    hpc_completions_release(&v.c);
    hpc_spot_close(&v.spot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_brackets),
        cmocka_unit_test(test_unfinished_files),
        cmocka_unit_test(test_fortran),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_the_compiler),
        cmocka_unit_test(test_openmp),
        cmocka_unit_test(test_each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
