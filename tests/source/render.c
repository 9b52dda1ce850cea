/*
 * render.c, render_loop.c: samples part by part, truncated contexts, and no directive of a loop in
 * its prompt.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/fault.h"
#include "tests/support/loops.h"

/* Marks by their text; a text that spells a mark would show as such, so tests avoid it. */
static void spell(hpc_buf *out, const hpc_sample *s)
{
    size_t at = 0;
    for (int64_t k = 0; k < s->n; k++) {
        assert_int_equal(s->part[k].at, at);
        assert_int_equal(s->part[k].n > 0, s->part[k].mark == HPC_MARK_NONE);
        if (s->part[k].mark) hpc_buf_text(out, hpc_mark_text(s->part[k].mark));
        hpc_buf_add(out, s->text.data + at, s->part[k].n);
        at += s->part[k].n;
    }
    assert_int_equal(at, s->text.n);
}

static void sample_is(hpc_sample *s, const char *expected)
{
    hpc_buf got = {0};
    spell(&got, s);
    assert_string_equal(got.data, expected);
    hpc_buf_release(&got);
    hpc_sample_clear(s);
}

static void marks(void **state)
{
    (void)state;
    assert_null(hpc_mark_text(HPC_MARK_NONE));
    assert_null(hpc_mark_text(HPC_MARK_N));
    for (int a = 1; a < HPC_MARK_N; a++) {
        assert_non_null(hpc_mark_text((hpc_mark)a));
        for (int b = 1; b < a; b++)
            assert_string_not_equal(hpc_mark_text((hpc_mark)a), hpc_mark_text((hpc_mark)b));
    }
}

static void files_and_changes(void **state)
{
    (void)state;
    hpc_sample s = {0};
    assert_int_equal(hpc_render_file(&s, "o/r", "a.c", "int a;\n", 7), 0);
    assert_int_equal(s.n, 5);
    sample_is(&s, "<repo_name>o/r\n<file_sep>a.c\nint a;\n<end>");
    assert_int_equal(hpc_render_file(&s, NULL, NULL, "x", 1), 0);
    sample_is(&s, "x<end>");
    assert_int_equal(hpc_render_file(&s, NULL, NULL, "", 0), 0);
    sample_is(&s, "<end>");
    assert_int_equal(hpc_render_change(&s, "a.c", "old", 3, "new", 3, "slower"), 0);
    sample_is(&s, "<file_sep>a.c\n<perf_base>old<perf_head>new<perf_label>slower<end>");
    assert_int_equal(hpc_render_change(&s, NULL, "old", 3, "new", 3, NULL), 0);
    sample_is(&s, "<perf_base>old<perf_head>new<perf_label>");
    hpc_sample_release(&s);
}

static void middles(void **state)
{
    (void)state;
    hpc_sample s = {0};
    assert_int_equal(hpc_render_fim(&s, "a.c", "abcdef", 6, 2, 4, false), 0);
    sample_is(&s, "<file_sep>a.c\n<fim_prefix>ab<fim_suffix>ef<fim_middle>cd<end>");
    assert_int_equal(hpc_render_fim(&s, NULL, "abcdef", 6, 2, 4, true), 0);
    sample_is(&s, "<fim_prefix><fim_suffix>ef<fim_middle>abcd<end>");
    assert_int_equal(hpc_render_fim(&s, NULL, "abcdef", 6, 0, 6, false), 0);
    sample_is(&s, "<fim_prefix><fim_suffix><fim_middle>abcdef<end>");
    assert_int_equal(hpc_render_fim(&s, NULL, "abcdef", 6, 4, 2, false), HPC_E_ARG);
    hpc_error_clear();
    assert_int_equal(hpc_render_fim(&s, NULL, "abcdef", 6, 4, 7, false), HPC_E_ARG);
    hpc_error_clear();
    hpc_sample_release(&s);
}

/* A mark that is spelled in a text stays text. */
static void spelled_marks_stay_text(void **state)
{
    (void)state;
    hpc_sample s = {0};
    assert_int_equal(hpc_render_file(&s, NULL, NULL, "a<fim_middle>b", 14), 0);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.part[0].mark, HPC_MARK_NONE);
    assert_int_equal(s.part[0].n, 14);
    hpc_sample_release(&s);
}

/* ---- loops ---------------------------------------------------------------------------------- */

static void loop_cut_is(const char *path, const char *text, int64_t loop, size_t before,
                        size_t loop_most, size_t after, const char *expected)
{
    hpc_test_source s;
    hpc_sample out = {0};
    hpc_render_options o = {.before = before, .after = after, .loop = loop_most};
    hpc_test_source_open(&s, path, text, strlen(text));
    assert_true(loop < s.l.n);
    assert_int_equal(hpc_render_loop(&out, &s.l, loop, &s.f, NULL, text, s.n, NULL, &o), 0);
    sample_is(&out, expected);
    hpc_sample_release(&out);
    hpc_test_source_close(&s);
}

static void loop_is(const char *path, const char *text, int64_t loop, size_t before, size_t after,
                    const char *expected)
{
    loop_cut_is(path, text, loop, before, SIZE_MAX, after, expected);
}

static void loops_in_context(void **state)
{
    (void)state;
    const char *text = "int g;\nvoid f(int n)\n{\n    int i;\n    #pragma omp parallel for\n"
                       "    for (i = 0; i < n; i++)\n        x(i);\n    y();\n}\nint h;\n";
    loop_is("a.c", text, 0, 2048, 512,
            "void f(int n)\n{\n    int i;\n    <loop>for (i = 0; i < n; i++)\n        x(i);\n"
            "    y();\n}<pragma>");
    loop_is("a.c", text, 0, 2048, 8,
            "void f(int n)\n{\n    int i;\n    <loop>for (i = 0; i < n; "
            "i++)\n        x(i);\n<pragma>");
    loop_is("a.c", text, 0, 0, 0, "<loop>for (i = 0; i < n; i++)\n        x(i);<pragma>");
    loop_is("a.c", "for (;;) x;\n", 0, 100, 100, "<loop>for (;;) x;\n<pragma>");
    /* One that is too long ends with a line, or where it must, and nothing follows it. */
    loop_cut_is("a.c", text, 0, 0, 37, 100,
                "<loop>for (i = 0; i < n; i++)\n        x(i);\n    y();\n}<pragma>");
    loop_cut_is("a.c", text, 0, 0, 36, 100, "<loop>for (i = 0; i < n; i++)\n<pragma>");
    loop_cut_is("a.c", text, 0, 0, 9, 100, "<loop>for (i = <pragma>");
}

static void answers(void **state)
{
    (void)state;
    const char *text = "for (;;) x;";
    hpc_test_source s;
    hpc_sample out = {0};
    hpc_test_source_open(&s, "a.c", text, strlen(text));
    assert_int_equal(
        hpc_render_loop(&out, &s.l, 0, &s.f, "a.c", text, s.n, "#pragma omp for", NULL), 0);
    sample_is(&out, "<file_sep>a.c\n<loop>for (;;) x;<pragma>#pragma omp for<end>");
    assert_int_equal(hpc_render_loop(&out, &s.l, 0, &s.f, NULL, text, s.n, "", NULL), 0);
    sample_is(&out, "<loop>for (;;) x;<pragma><end>");
    hpc_sample_release(&out);
    hpc_test_source_close(&s);
}

/* The header of the function stays, and of the rest the whole lines nearest to the loop. */
static void cut_contexts(void **state)
{
    (void)state;
    const char *text = "void f(int n)\n{\n    first();\n    second();\n    third();\n"
                       "#pragma omp for\n    for (;;) x();\n}\n";
    loop_is("a.c", text, 0, 50, 0,
            "void f(int n)\n{\n    second();\n    third();\n    "
            "<loop>for (;;) x();<pragma>");
    loop_is("a.c", text, 0, 40, 0,
            "void f(int n)\n{\n    third();\n    <loop>for (;;) x();<pragma>");
    /* A header of more than half leaves no room for what is near. */
    loop_is("a.c", text, 0, 30, 0, "    third();\n    <loop>for (;;) x();<pragma>");
    loop_is("a.c", "a();\nb();\nfor (;;) x();\n", 0, 6, 0, "b();\n<loop>for (;;) x();<pragma>");
}

static void directives_go(void **state)
{
    (void)state;
    loop_is("a.c",
            "a();\n#ifdef _OPENMP\n#pragma omp parallel for \\\n  private(i) // all\n#endif\n"
            "#pragma ivdep\nfor (;;) x();\n",
            0, 999, 99, "a();\n#pragma ivdep\n<loop>for (;;) x();\n<pragma>");
    loop_is("a.c",
            "a();\n#if A\n// for the GPU\n#pragma omp target\n#pragma omp loop\n#else\n#pragma omp "
            "for\n"
            "#endif\n#if B\nb();\n#endif\nfor (;;) x();\n",
            0, 999, 99,
            "a();\n#if A\n// for the GPU\n#pragma omp target\n#pragma omp loop\n#else\n"
            "#pragma omp for\n#endif\n#if B\nb();\n#endif\n<loop>for (;;) x();\n<pragma>");
    loop_is("a.c",
            "a();\n#if A\n// for the GPU\n#pragma omp target\n#pragma omp loop\n#else\n#pragma omp "
            "for\n"
            "#endif\nfor (;;) x();\n",
            0, 999, 99, "a();\n<loop>for (;;) x();\n<pragma>");
    loop_is("a.c", "a();\n#if A\n#if B\n#pragma omp for\n#endif\n#endif\nfor (;;) x();\n", 0, 999,
            99, "a();\n<loop>for (;;) x();\n<pragma>");
    loop_is("a.cpp", "a();\n _Pragma(\"omp for\") for (;;) x();\n", 0, 999, 99,
            "a();\n <loop>for (;;) x();\n<pragma>");
    loop_is("a.cpp",
            "a();\n[[omp::sequence(directive(parallel), directive(for))]]\nfor (;;) x();\n", 0, 999,
            99, "a();\n<loop>for (;;) x();\n<pragma>");
    loop_is("a.c", "#pragma omp parallel\n#pragma omp for\r\nfor (;;) x();\r\n", 0, 999, 99,
            "<loop>for (;;) x();\r\n<pragma>");
}

/* Those of the loop around it and of loops before it stay: they are context. */
static void directives_of_others_stay(void **state)
{
    (void)state;
    const char *text = "#pragma omp for\nfor (;;) a();\n#pragma omp parallel\n{\n#pragma omp for\n"
                       "for (;;)\n#pragma omp simd\nfor (;;) b();\n#pragma omp barrier\n}\n";
    loop_is("a.c", text, 1, 999, 999,
            "#pragma omp for\nfor (;;) a();\n#pragma omp parallel\n{\n<loop>for (;;)\n"
            "#pragma omp simd\nfor (;;) b();\n#pragma omp barrier\n}\n<pragma>");
    loop_is("a.c", text, 2, 999, 0,
            "#pragma omp for\nfor (;;) a();\n#pragma omp parallel\n{\n#pragma omp for\nfor (;;)\n"
            "<loop>for (;;) b();<pragma>");
}

static void fortran_closers_go(void **state)
{
    (void)state;
    const char *text = "x = 0\n!$omp parallel do &\n!$omp private(j)\ndo i = 1, n\n y = 1\nend do\n"
                       "! done\n!$omp end parallel do\nz = 1\n!$omp parallel\n!$omp do\n"
                       "do i = 1, n\nend do\n!$omp end do\n!$omp end parallel\n";
    loop_is("a.f90", text, 0, 999, 16,
            "x = 0\n<loop>do i = 1, n\n y = 1\nend do\n! done\nz = 1\n<pragma>");
    loop_is("a.f90", text, 1, 32, 99,
            "z = 1\n!$omp parallel\n<loop>do i = 1, n\nend do\n!$omp end parallel\n<pragma>");
}

/* ---- nothing leaks -------------------------------------------------------------------------- */

static const char leaky_c[] =
    "#include <omp.h>\n"
    "static double sum(const double *a, int n)\n{\n    double s = 0;\n"
    "#ifdef _OPENMP\n#pragma omp parallel for \\\n        reduction(+ : s) \\\n        if(n > "
    "100)\n#endif\n"
    "    for (int i = 0; i < n; i++) s += a[i];\n"
    "#pragma omp parallel // all of them\n    {\n#pragma omp for nowait\n#pragma unroll\n"
    "        for (int i = 0; i < n; i++)\n#pragma omp simd\n            for (int j = 0; j < n; "
    "j++) x(i, j);\n"
    "    }\n"
    "#if USE_ACC\n    #pragma acc parallel loop\n#elif USE_OMP\n    #pragma omp target teams "
    "loop\n#endif\n"
    "    for (int i = 0; i < n; i++) {\n        y(i);\n    }\n"
    "    _Pragma(\"omp parallel\") _Pragma(\"omp for\") for (int i = 0; i < n; i++) z(i);\n"
    "    if (n) for (;;) break;\n"
    "#pragma omp taskloop /* tasks\n of many */ grainsize(4)\n"
    "#if LONG\n    for (long i = 0; i < n; i++)\n#else\n    for (int i = 0; i < n; i++)\n#endif\n  "
    "      w(i);\n"
    "    return s;\n}\n";
static const char leaky_fortran[] =
    "subroutine s(a, n)\n  integer :: i, n\n!$omp parallel do private(i) &\n!$omp& reduction(+:x)\n"
    "  do i = 1, n\n    x = x + a(i)\n  end do\n!$omp end parallel do\n"
    "!$acc parallel loop\n#ifdef GPU\n!$omp target teams distribute\n#endif\n  do 10 i = 1, n\n"
    "!$omp simd\n  do 10 j = 1, n\n10 a(i) = j\n"
    "#ifdef GPU\n!$omp end target teams distribute\n#endif\n!$acc end parallel loop\n"
    "!$OMP PARALLELDO\n  do concurrent (i = 1:n)\n  end do\n!$OMP ENDPARALLELDO\nend subroutine\n";

/* Reads what is shown as a text again: the loop in it has no directive. */
static void shows_nothing(const hpc_test_source *s, int64_t loop, const hpc_render_options *o)
{
    hpc_sample out = {0};
    hpc_test_source again;
    assert_int_equal(hpc_render_loop(&out, &s->l, loop, &s->f, NULL, s->text, s->n, NULL, o), 0);
    size_t at = out.part[0].mark == HPC_MARK_LOOP ? 0 : out.part[0].n;
    int64_t found = -1;
    hpc_test_source_open(&again, s->path, out.text.data, out.text.n);
    for (int64_t k = 0; k < again.l.n; k++)
        if (again.l.item[k].at == at) found = k;
    assert_true(found >= 0);
    if (again.l.item[found].pragmas_n != 0) print_error("%s\n", out.text.data);
    assert_int_equal(again.l.item[found].pragmas_n, 0);
    /* Nor an "end" that belongs to no directive any more; a region's own may have lost its begin.
     */
    for (int64_t k = 0; k < again.l.pragma_n; k++)
        assert_int_not_equal(again.l.pragma[k].loop, found);
    hpc_test_source_close(&again);
    hpc_sample_release(&out);
}

static void nothing_leaks(void **state)
{
    (void)state;
    static const struct {
        const char *path, *text;
        int64_t loops_n, annotated_n;
    } from[] = {{"a.c", leaky_c, 8, 7}, {"a.F90", leaky_fortran, 4, 4}};
    for (int k = 0; k < 2; k++) {
        hpc_test_source s;
        int64_t annotated = 0;
        hpc_test_source_open(&s, from[k].path, from[k].text, strlen(from[k].text));
        assert_int_equal(s.l.n, from[k].loops_n);
        for (int64_t i = 0; i < s.l.n; i++) {
            annotated += s.l.item[i].pragmas_n > 0;
            for (size_t before = 0; before < 1200; before += 7) {
                const hpc_render_options o = {.before = before, .after = before, .loop = SIZE_MAX};
                shows_nothing(&s, i, &o);
            }
        }
        assert_int_equal(annotated, from[k].annotated_n);
        hpc_test_source_close(&s);
    }
}

static void contexts_fit(void **state)
{
    (void)state;
    hpc_test_source s;
    hpc_test_source_open(&s, "a.c", leaky_c, strlen(leaky_c));
    for (int64_t i = 0; i < s.l.n; i++) {
        for (size_t most = 0; most < 1000; most++) {
            const hpc_render_options o = {.before = most, .after = most, .loop = SIZE_MAX};
            hpc_sample out = {0};
            size_t loop_n = s.l.item[i].end - s.l.item[i].at, before = 0;
            assert_int_equal(hpc_render_loop(&out, &s.l, i, &s.f, NULL, leaky_c, s.n, NULL, &o), 0);
            if (out.part[0].mark == HPC_MARK_NONE) before = out.part[0].n;
            assert_true(before <= most && out.text.n - before - loop_n <= most);
            hpc_sample_release(&out);
        }
    }
    hpc_test_source_close(&s);
}

static int render_all(void *user)
{
    hpc_test_source *s = user;
    hpc_sample out = {0};
    int rc = HPC_OK;
    for (int64_t k = 0; k < s->l.n; k++)
        TRY(hpc_render_loop(&out, &s->l, k, &s->f, "a.c", s->text, s->n, "x", NULL));
    TRY(hpc_render_file(&out, "o/r", "a.c", s->text, s->n));
    TRY(hpc_render_fim(&out, "a.c", s->text, s->n, 3, 9, true));
    TRY(hpc_render_change(&out, "a.c", s->text, s->n, "b", 1, "same"));
out:
    hpc_sample_release(&out);
    return rc;
}

static void failing_allocations(void **state)
{
    (void)state;
    hpc_test_source s;
    hpc_test_source_open(&s, "a.c", leaky_c, strlen(leaky_c));
    assert_true(hpc_test_each_alloc(render_all, &s) > 5);
    hpc_test_source_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks),
        cmocka_unit_test(files_and_changes),
        cmocka_unit_test(middles),
        cmocka_unit_test(spelled_marks_stay_text),
        cmocka_unit_test(loops_in_context),
        cmocka_unit_test(answers),
        cmocka_unit_test(cut_contexts),
        cmocka_unit_test(directives_go),
        cmocka_unit_test(directives_of_others_stay),
        cmocka_unit_test(fortran_closers_go),
        cmocka_unit_test(nothing_leaks),
        cmocka_unit_test(contexts_fit),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
