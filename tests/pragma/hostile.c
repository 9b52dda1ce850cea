/*
 * hostile.c: broken, unusual, huge or deeply nested files get a verdict for each loop, or a
 * reason.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "infer/pragma/pragma.h"
#include "tests/source/check.h"

/* What holds for any answer. */
static void check_answer(const hpc_pragma_loops *l, size_t n)
{
    for (int64_t i = 0; i < l->n; i++) {
        const hpc_pragma_loop *x = &l->item[i];
        assert_true(x->at < x->end && x->end <= n && x->line >= 1 && x->column >= 1);
        assert_true(x->end_line >= x->line && x->outer < i && x->outer >= -1);
        if (x->outer >= 0) assert_true(l->item[x->outer].at <= x->at);
        assert_true(i == 0 || l->item[i - 1].at <= x->at);
        assert_true((x->pragma != NULL) == (x->verdict >= HPC_VERDICT_CONDITIONAL));
        assert_true((x->existing != NULL) == (x->existing_is != HPC_EXISTING_NONE));
        assert_true((x->assumptions_n > 0) == (x->verdict == HPC_VERDICT_CONDITIONAL));
        assert_true(x->evidence_n > 0 && x->evidence[0].text[0] && x->confidence > 0);
        if (x->verdict == HPC_VERDICT_UNSAFE)
            assert_int_equal(x->evidence[0].alone, HPC_VERDICT_UNSAFE);
    }
}

typedef struct studied {
    hpc_tree_source *source;
    hpc_tree tree;
    hpc_pragma_loops loops;
} studied;

static void study(studied *s, hpc_checker *c, const char *path, const char *text, size_t n)
{
    static const hpc_pragma_options options = HPC_PRAGMA_DEFAULTS;
    hpc_language l = hpc_language_of_path(path);
    *s = (studied){0};
    OK(hpc_tree_open(&s->source, c,
                     &(hpc_tree_file){.path = path, .text = text, .n = n, .language = l}));
    OK(hpc_tree_get(&s->tree, s->source));
    OK(hpc_pragma_find(&s->loops, &s->tree, text, n, l, &options));
    check_answer(&s->loops, n);
}

static void done(studied *s)
{
    hpc_pragma_loops_release(&s->loops);
    hpc_tree_release(&s->tree);
    hpc_tree_close(s->source);
}

static const struct {
    const char *path, *text;
    int64_t loops;
    hpc_verdict most; /* of any loop */
} broken[] = {
    {"a.c", "", 0, HPC_VERDICT_UNKNOWN},
    {"a.c", "\n", 0, HPC_VERDICT_UNKNOWN},
    {"a.c", "for (;;", -1, HPC_VERDICT_UNKNOWN},
    {"a.c", "void f(void) { for (;;); }", 1, HPC_VERDICT_UNKNOWN},
    {"a.c", "void f(int n) { for (int i = 0; i < n; i++ }", -1, HPC_VERDICT_UNKNOWN},
    {"a.c", "void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = }", -1,
     HPC_VERDICT_UNKNOWN},
    {"a.c", "void f(int n, int *a) { for (int i = 0; i < n; i++) { a[i] = 0;", -1,
     HPC_VERDICT_UNKNOWN},
    {"a.c", "void f(int n, real *a) { for (int i = 0; i < n; i++) a[i] = 0; }", -1,
     HPC_VERDICT_PARALLEL}, /* whatever that is */
    {"a.c",
     "#include \"none.h\"\nvoid f(int n, grid *g) { for (int i = 0; i < n; i++) g->a[i] = 0; }", -1,
     HPC_VERDICT_UNKNOWN},
    {"a.c", "void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = none(i); }", 1,
     HPC_VERDICT_UNKNOWN},
    {"a.c",
     "void f(int n, int *a)\n{\n#pragma omp parallel for private(\nfor (int i = 0; i < n; i++) "
     "a[i] = 0; }",
     1, HPC_VERDICT_PARALLEL},
    {"a.c",
     "void f(int n, int *a)\n{\n#pragma omp parallel for reduction(+ reduction(+:\n"
     "for (int i = 0; i < n; i++) a[i] = 0; }",
     1, HPC_VERDICT_PARALLEL},
    {"a.c", "f(n, a) int n; double *a; { int i; for (i = 0; i < n; i++) a[i] = 0; }", 1,
     HPC_VERDICT_PARALLEL},
    {"a.c", "<?php for ($i = 0; $i < 3; $i++) echo $i; ?>", -1, HPC_VERDICT_UNKNOWN},
    {"a.cpp", "template <class T> void f(T &t) { for (auto &x : t) x = 0; }", 1,
     HPC_VERDICT_UNKNOWN},
    {"a.cpp", "void f() { auto g = [](int n) { for (int i = 0; i < n; i++) for (;;) }; }", -1,
     HPC_VERDICT_UNKNOWN},
};

static void broken_files(void **state)
{
    studied s;
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    for (size_t k = 0; k < sizeof broken / sizeof *broken; k++) {
        study(&s, c, broken[k].path, broken[k].text, strlen(broken[k].text));
        if (broken[k].loops >= 0 && s.loops.n != broken[k].loops)
            fail_msg("%s: %lld loops", broken[k].text, (long long)s.loops.n);
        for (int64_t i = 0; i < s.loops.n; i++)
            if (s.loops.item[i].verdict > broken[k].most)
                fail_msg("%s: %s", broken[k].text, hpc_verdict_name(s.loops.item[i].verdict));
        done(&s);
    }
    hpc_checker_close(c);
}

/* A truncated file gets verdicts; missing text makes no serial loop parallel. */
static void cut_files(void **state)
{
    static const char text[] =
        "#include <math.h>\nstruct v { double x[3]; };\n"
        "static double g(const double *p, int k) { return p[k] * 2; }\n"
        "void f(int n, double *restrict a, struct v *restrict b)\n{\n    double s = 0;\n"
        "#pragma omp parallel for \\\n    reduction(+:s) private(t)\n"
        "    for (int i = 1; i < n; i++) {\n        double t = sqrt(a[i]);\n"
        "        s += t;\n        a[i] += a[i - 1] + g(b[i].x, 2);\n    }\n"
        "    for (int i = 0; i < n; i++) for (int j = 0; j < 3; j++) b[i].x[j] = s;\n}\n";
    studied s;
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    for (size_t n = 0; n < sizeof text; n += 7) {
        study(&s, c, "a.c", text, n);
        if (s.loops.n > 0 && s.loops.item[0].line == 9)
            assert_true(s.loops.item[0].verdict <= HPC_VERDICT_UNSAFE);
        done(&s);
    }
    hpc_checker_close(c);
}

static void deep_nests(void **state)
{
    studied s;
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    for (int depth = 1; depth <= 48; depth += depth < 12 ? 11 : 36) {
        hpc_buf b = {0};
        hpc_buf_text(&b, "void f(int n, double *a)\n{\n");
        for (int k = 0; k < depth; k++)
            hpc_buf_printf(&b, "for (int i%d = 0; i%d < n; i%d++)\n", k, k, k);
        hpc_buf_text(&b, "a[i0] += 1;\n}\n");
        study(&s, c, "a.c", b.data, b.n);
        assert_int_equal(s.loops.n, depth);
        assert_int_equal(s.loops.item[0].verdict, HPC_VERDICT_PARALLEL);
        for (int k = 1; k < depth; k++) {
            assert_int_equal(s.loops.item[k].outer, k - 1);
            if (s.loops.item[k].pragma) hpc_test_says(s.loops.item[k].pragma, "reduction(+:a[");
        }
        done(&s);
        hpc_buf_release(&b);
    }
    hpc_checker_close(c);
}

/* Each level is analysed once, because it executes once. */
static void deep_assignments(void **state)
{
    hpc_buf b = {0};
    studied s;
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_buf_text(&b, "void f(int n, int *a)\n{\n    for (int i = 0; i < n; i++)\n        ");
    for (int k = 0; k < 60; k++) hpc_buf_text(&b, "a[");
    hpc_buf_text(&b, "i");
    for (int k = 0; k < 60; k++) hpc_buf_text(&b, "] += 1");
    hpc_buf_text(&b, ";\n}\n");
    study(&s, c, "a.c", b.data, b.n);
    assert_int_equal(s.loops.n, 1);
    assert_true(s.loops.item[0].verdict <= HPC_VERDICT_UNSAFE);
    for (int64_t k = 0; k < s.loops.item[0].evidence_n; k++)
        assert_null(strstr(s.loops.item[0].evidence[k].text, "too large"));
    done(&s);
    hpc_buf_release(&b);
    hpc_checker_close(c);
}

/* References that lead to themselves. */
static void circles_of_references(void **state)
{
    static const char *const text[] = {
        "void f(int n, int *a)\n{\n    for (int i = 0; i < n; i++) {\n        int &r = r;\n"
        "        r += 1;\n        a[i] = r;\n    }\n}\n",
        "void f(int n, int *a)\n{\n    for (int i = 0; i < n; i++)\n        "
        "for (int &r : r) a[r] = r;\n}\n"};
    studied s;
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
        study(&s, c, "a.cpp", text[k], strlen(text[k]));
        assert_true(s.loops.n > 0);
        assert_int_not_equal(s.loops.item[0].verdict, HPC_VERDICT_PARALLEL);
        done(&s);
    }
    hpc_checker_close(c);
}

static void long_files(void **state)
{
    hpc_buf b = {0};
    studied s;
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    for (int k = 0; k < 1000; k++) {
        hpc_buf_printf(&b, "void f%d(int n, double *a)\n{\n    for (int i = 0; i < n; i++)\n", k);
        hpc_buf_text(&b, "        a[i] = i;\n");
        for (int i = 0; i < 95; i++) hpc_buf_printf(&b, "    a[%d] = n;\n", i);
        hpc_buf_text(&b, "}\n");
    }
    study(&s, c, "a.c", b.data, b.n);
    assert_int_equal(s.loops.n, 1000);
    assert_int_equal(s.loops.item[999].line, 999 * 100 + 3);
    for (int k = 0; k < 1000; k++) assert_int_equal(s.loops.item[k].verdict, HPC_VERDICT_PARALLEL);
    done(&s);
    hpc_buf_release(&b);
    hpc_checker_close(c);
}

/* Loops of languages without a tree. */
static void listed_files(void **state)
{
    static const char text[] = "subroutine f(n, a)\n  integer :: n, i, j\n  real :: a(n, n)\n"
                               "  !$omp parallel do\n  do i = 1, n\n    do j = 1, n\n"
                               "      a(j, i) = 0\n    end do\n  end do\nend subroutine\n";
    hpc_pragma_options options = HPC_PRAGMA_DEFAULTS;
    hpc_pragma_loops l;
    (void)state;
    OK(hpc_pragma_list(&l, text, strlen(text), HPC_LANGUAGE_FORTRAN, false, "no tree", &options));
    check_answer(&l, strlen(text));
    assert_int_equal(l.n, 2);
    assert_int_equal(l.item[0].line, 5);
    assert_int_equal(l.item[0].column, 3);
    assert_int_equal(l.item[0].end_line, 9);
    assert_string_equal(l.item[0].existing, "!$omp parallel do");
    assert_string_equal(l.item[0].function, "f");
    assert_string_equal(l.item[0].evidence[0].text, "no tree");
    assert_int_equal(l.item[0].existing_is, HPC_EXISTING_UNPROVEN);
    assert_true(l.item[1].outer == 0 && l.item[1].inside && !l.item[1].existing);
    hpc_pragma_loops_release(&l);
    options.line = 8;
    OK(hpc_pragma_list(&l, text, strlen(text), HPC_LANGUAGE_FORTRAN, false, "no tree", &options));
    assert_true(l.n == 2 && l.item[1].outer == 0);
    hpc_pragma_loops_release(&l);
    options.line = 9;
    OK(hpc_pragma_list(&l, text, strlen(text), HPC_LANGUAGE_FORTRAN, false, "no tree", &options));
    assert_int_equal(l.n, 1);
    hpc_pragma_loops_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(broken_files),
                                       cmocka_unit_test(cut_files),
                                       cmocka_unit_test(deep_nests),
                                       cmocka_unit_test(deep_assignments),
                                       cmocka_unit_test(circles_of_references),
                                       cmocka_unit_test(long_files),
                                       cmocka_unit_test(listed_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
