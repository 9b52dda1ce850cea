/*
 * loop.c: loops of all languages and shapes, their directives, #if, damaged texts.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fuzz/loops_check.h"
#include "tests/support/fault.h"
#include "tests/support/loops.h"

#define is hpc_test_source_is

static void c_bodies(void **state)
{
    (void)state;
    is("a.c", "void f(void)\n{\n for (;;) x();\n for (;;) { x(); }\n for (;;)\n  ;\n}\n",
       "3-3 0\n4-4 0 b\n5-6 0\n");
    is("a.c", "void f(void) {\nfor (;;) for (;;)\nfor (;;) x;\ny;\n}\n", "2-3 0\n2-3 1\n3-3 2\n");
    is("a.c", "void f(void) {\nfor (;;) if (a) for (;;) x; else if (b) y;\nelse\nz;\nw;\n}\n",
       "2-4 0\n2-2 1\n");
    is("a.c", "void f(void) {\nfor (;;) do { for (;;) x; } while (\na);\nw;\n}\n",
       "2-3 0\n2-2 1\n");
    is("a.c", "void f(void) {\nfor (;;) switch (a) { case 1: for (;;) x; break;\n}\nw;\n}\n",
       "2-3 0\n2-2 1\n");
    is("a.c", "void f(void) {\nfor (;;) while (a)\nif (b) { x; }\nw;\n}\n", "2-3 0\n");
    is("a.c", "void f(void) {\nl: for (;;) { goto l; }\n case_: for (;;) x;\n}\n",
       "2-2 0 b\n3-3 0\n");
    is("a.c", "void f(void) {\nfor (;;) a[i] = (struct s){1, {2}}.x;\nfor (;;) y;\n}\n",
       "2-2 0\n3-3 0\n");
    is("a.c", "void f(void) {\nfor (int i = 0; i < n; i++, g((int[]){1, 2})) { x; }\n}\n",
       "2-2 0 b\n");
    is("a.c", "#define LOOP(n) for (int i = 0; i < n; i++)\nint forty, for_, x = 1;\n", "");
    is("a.c", "/* for (;;) x; */\nchar *s = \"for (;;) x;\";\n// for (;;) x;\n", "");
    is("a.c", "void f(void) {\nfor /* every */ (;;) x;\nfor = 3;\n}\n", "2-2 0\n");
    is("a.c",
       "void f(void) {\nFOO(for (;;) x)\nMACRO for (;;) { }\nFOREACH(i) { for (;;) x; }\n}\n",
       "2-2 0\n3-3 0 b\n4-4 0\n");
}

static void cpp_bodies(void **state)
{
    (void)state;
    is("a.cpp", "void f() {\nfor (auto &x : v) { y(); }\nfor (auto [a, b] : m)\n y();\n}\n",
       "2-2 0 b\n3-4 0\n");
    is("a.cpp",
       "void f() {\nfor (;;) try { x(); } catch (int) { y(); }\ncatch (...) { }\nz();\n}\n",
       "2-3 0\n");
    is("a.cpp",
       "void f() {\nrun(n, [=](int i) {\n for (;;) x();\n});\nauto g = [&] { for (;;) x(); };\n"
       "for (;;) h([] { for (;;) x(); });\n}\n",
       "3-3 0\n5-5 0\n6-6 0\n6-6 1\n");
    is("a.cpp",
       "void f() {\nfor (;;) a = T{1} + T{2};\nfor (;;) if constexpr (c) x(); else y();\n}\n",
       "2-2 0\n3-3 0\n");
    is("a.cpp", "struct S {\n S() : a{1} { for (;;) x(); }\n int a;\n};\nvoid g() { for (;;) ; }\n",
       "2-2 0\n5-5 0\n");
    is("a.cu",
       "__global__ void k(int n) {\nfor (;;) x();\n}\nvoid f() { for (;;) k<<<1, 2>>>(n); }\n",
       "2-2 0\n4-4 0\n");
}

static void fortran_loops(void **state)
{
    (void)state;
    is("a.f90", "subroutine s\ndo i = 1, n\n a(i) = 1\nend do\ndo j = 1, 2; b = 1; enddo\nend\n",
       "2-4 0\n5-5 0\n");
    is("a.f90",
       "program p\nouter: do i = 1, n\n inner: do j = 1, n\n  if (a) cycle outer\n enddo inner\n"
       "end do outer\nend program\n",
       "2-6 0\n3-5 1\n");
    is("a.f90",
       "subroutine s\ndo while (a)\n do\n  do i = 1, 2\n  end do\n  exit\n end do\nend do\n"
       "dowhile(b)\nenddo\ndo i = 1, 3\nend do\nend\n",
       "4-5 0\n11-12 0\n");
    is("a.f90", "subroutine s\ndo concurrent (i = 1:n)\n a(i) = 0\nend do\nend\n", "2-4 0 c\n");
    is("a.f90", "subroutine s\ndo = 3\ndo(i) = 4\nenddo = 5\nend do = 6\nx = do\nend\n", "");
    is("a.f90", "subroutine s\ndo i = 1, &\n   n\n x = 1\nend do\nend\n", "2-5 0\n");
}

static void fortran_labels(void **state)
{
    (void)state;
    const char *shared = "      subroutine s\n"
                         "      do 10 i = 1, n\n"
                         "      do 10 j = 1, n\n"
                         "      do 20 k = 1, 3\n"
                         "   20 x = 1\n"
                         "   10 continue\n"
                         "      DO 30, I=1,N\n"
                         "   30 END DO\n"
                         "      do40 i = 1, n\n"
                         "   40 y = 2\n"
                         "      do 50 while (x)\n"
                         "   50 continue\n"
                         "      end\n";
    is("a.f", shared, "2-6 0\n3-6 1\n4-5 2\n7-8 0\n9-10 0\n");
    /* The inner loop never ends: the label of the outer one does it. */
    is("a.f",
       "      subroutine s\n      do 10 i = 1, n\n      do 20 j = 1, n\n      x = 1\n"
       "   10 continue\n      end\n",
       "2-5 0\n3-6 1 !\n");
    is("a.f90", "subroutine s\nlab: do i = 1, 2\n 7 continue\nend do lab\nend\n", "2-4 0\n");
}

static void where_loops_are(void **state)
{
    (void)state;
    hpc_test_source s;
    const char *text = "int a;\nvoid f(void)\n{\n  for (;;)\n  {\n    b();\n  }\n}\nvoid g(void)\n"
                       "{ for (;;) if (a) c(); }\n";
    hpc_test_source_open(&s, "a.c", text, strlen(text));
    assert_int_equal(s.l.n, 2);
    assert_int_equal(s.l.item[0].function, 0);
    assert_int_equal(s.l.item[1].function, 1);
    assert_int_equal(s.l.item[0].at, strstr(text, "for") - text);
    assert_int_equal(s.l.item[0].body_at, strstr(text, "{\n    b") - text);
    assert_int_equal(s.l.item[0].end, strstr(text, "  }\n}") + 3 - text);
    assert_int_equal(s.l.item[1].body_at, strstr(text, "if (a)") - text);
    assert_int_equal(s.l.item[1].end, strstr(text, "c();") + 4 - text);
    hpc_test_source_close(&s);
    text = "subroutine s\n 5 lab: do 7 i = 1, 3\n  x = 1\n 7 y = 2 ! done\nend\n";
    hpc_test_source_open(&s, "a.f90", text, strlen(text));
    assert_int_equal(s.l.n, 1);
    assert_int_equal(s.l.item[0].at, strstr(text, "5 lab") - text);
    assert_int_equal(s.l.item[0].body_at, strstr(text, "x = 1") - text);
    assert_int_equal(s.l.item[0].end, strstr(text, " ! done") - text);
    hpc_test_source_close(&s);
}

/* ---- directives ------------------------------------------------------------------------- */

static void directives_attach(void **state)
{
    (void)state;
    is("a.c", "void f(void) {\n#pragma omp parallel for\n\n// why\n/* how */ for (;;) x;\n}\n",
       "5-5 0 {#pragma omp parallel for}\n");
    is("a.c", "void f(void) {\n#pragma omp for \\\n  private(a)  \\\n  nowait\nfor (;;) x;\n}\n",
       "5-5 0 {#pragma omp for private(a) nowait}\n");
    is("a.c",
       "void f(void) {\n#pragma omp parallel\n#pragma ivdep\n#pragma omp for\n#pragma GCC unroll "
       "4\n"
       "for (;;) x;\n}\n",
       "6-6 0 p {#pragma omp parallel} {#pragma omp for}\n");
    is("a.c", "void f(void) {\n#pragma omp parallel for\nUNROLL(4)\nfor (;;) x;\n}\n",
       "4-4 0 {#pragma omp parallel for}\n");
    is("a.c",
       "void f(void) {\n#pragma acc data copy(a)\n#pragma acc parallel loop gang\nfor (;;) x;\n}\n",
       "4-4 0 {#pragma acc parallel loop gang}\n");
    is("a.c", "void f(void) {\n#pragma omp parallel for collapse(2)\nfor (;;)\n for (;;) x;\n}\n",
       "3-4 0 {#pragma omp parallel for collapse(2)}\n4-4 1 p\n");
    is("a.c",
       "void f(void) {\n#pragma omp tile sizes(4)\nfor (;;) x;\n#pragma omp unroll\nfor (;;) "
       "x;\n}\n",
       "3-3 0 {#pragma omp tile sizes(4)}\n5-5 0 {#pragma omp unroll}\n");
    is("a.c", "void f(void) {\nfor (;;)\n#pragma omp simd\n for (;;) x;\ny;\n}\n",
       "2-4 0\n4-4 1 {#pragma omp simd}\n");
}

static void directives_of_other_statements(void **state)
{
    (void)state;
    is("a.c", "void f(void) {\n#pragma omp parallel for\nx = 1;\nfor (;;) x;\n}\n", "4-4 0\n");
    is("a.c", "void f(void) {\n#pragma omp parallel for\nif (a) for (;;) x;\n}\n", "3-3 0 p\n");
    is("a.c", "void f(void) {\n#pragma omp parallel\n{\nfor (;;) x;\n}\nfor (;;) x;\n}\n",
       "4-4 0 p\n6-6 0\n");
    is("a.c", "void f(void) {\n#pragma omp parallel\n#pragma omp single\nfor (;;) x;\n}\n",
       "4-4 0 p\n");
    is("a.c", "void f(void) {\n#pragma omp single\n#pragma omp simd\nfor (;;) x;\n}\n",
       "4-4 0 p {#pragma omp simd}\n");
    is("a.c", "void f(void) {\n#pragma omp target data map(a)\n{\nfor (;;) x;\n}\n}\n", "4-4 0\n");
    is("a.c",
       "#pragma omp declare simd\nvoid f(void) {\n#pragma omp barrier\nfor (;;) x;\n"
       "#pragma omp cancel for\nfor (;;) x;\n#pragma omp target update to(a)\nfor (;;) x;\n"
       "#pragma omp ordered depend(sink: i)\nfor (;;) x;\n}\n",
       "4-4 0\n6-6 0\n8-8 0\n10-10 0\n");
    is("a.c", "void f(void) {\n#pragma omp for\n}\nvoid g(void) { for (;;) x; }\n", "4-4 0\n");
    is("a.c", "void f(void) {\n#pragma omp parallel\ng(n, ^{ for (;;) x; });\nfor (;;) x;\n}\n",
       "3-3 0 p\n4-4 0\n");
}

static void other_forms(void **state)
{
    (void)state;
    is("a.c", "void f(void) {\n_Pragma(\"omp parallel for\") for (;;) x;\n}\n",
       "2-2 0 {#pragma omp parallel for}\n");
    is("a.c",
       "void f(void) {\n_Pragma(\"omp for \" \"schedule(static)\")\n_Pragma(\"unroll\")\nfor (;;) "
       "x;\n}\n",
       "4-4 0 {#pragma omp for schedule(static)}\n");
    is("a.cpp",
       "void f() {\n_Pragma(R\"-(omp simd)-\") for (;;) x;\n_Pragma(L\"omp loop\") for (;;) "
       "x;\n}\n",
       "2-2 0 {#pragma omp simd}\n3-3 0 {#pragma omp loop}\n");
    is("a.c", "void f(void) {\n__pragma(omp parallel for schedule(static))\nfor (;;) x;\n}\n",
       "3-3 0 {#pragma omp parallel for schedule(static)}\n");
    is("a.cpp", "void f() {\n[[omp::directive(parallel for, private(a))]]\nfor (;;) x;\n}\n",
       "3-3 0 {#pragma omp parallel for private(a)}\n");
    is("a.cpp", "void f() {\n[[using omp: directive(simd)]] for (;;) x;\n}\n",
       "2-2 0 {#pragma omp simd}\n");
    is("a.cpp",
       "void f() {\n[[omp::sequence(directive(parallel), omp::directive(for))]] for (;;) x;\n}\n",
       "2-2 0 p {#pragma omp parallel} {#pragma omp for}\n");
    is("a.cpp", "void f() {\n[[likely]] for (;;) x;\nfor (;;) a[[] { return 1; }()] = 1;\n}\n",
       "2-2 0\n3-3 0\n");
    is("a.c", "#define P _Pragma(\"omp for\") for (;;)\nvoid f(void) {\nfor (;;) x;\n}\n",
       "3-3 0\n");
}

static void fortran_directives(void **state)
{
    (void)state;
    is("a.f90",
       "subroutine s\n!$omp parallel do &\n!$omp & private(j)\ndo i = 1, n\n x = 1\nend do\n"
       "!$omp end parallel do\ndo i = 1, n\nend do\nend\n",
       "4-6 0 {!$omp parallel do private(j)}\n8-9 0\n");
    is("a.f90",
       "subroutine s\n!$OMP PARALLEL\n!$OMP DO\ndo i = 1, n\nend do\n!$OMP END DO NOWAIT\n"
       "do i = 1, n\nend do\n!$OMP END PARALLEL\ndo i = 1, n\nend do\nend\n",
       "4-5 0 p {!$omp do}\n7-8 0 p\n10-11 0\n");
    is("a.f90", "subroutine s\n!$omp do\nx = 1\ndo i = 1, n\nend do\nend\n", "4-5 0\n");
    is("a.f90",
       "subroutine s\n!$omp paralleldo\ndo i = 1, 2\nend do\n!$omp endparalleldo\n"
       "!$acc kernels loop\ndo i = 1, 2\nend do\n!$acc data copy(a)\ndo i = 1, 2\nend do\n"
       "!$acc end data\n!$acc kernels\ndo i = 1, 2\nend do\n!$acc end kernels\nend\n",
       "3-4 0 {!$omp parallel do}\n7-8 0 {!$acc kernels loop}\n10-11 0\n14-15 0 p\n");
    is("a.f",
       "      subroutine s\nC$OMP PARALLEL DO\nc$omp+ SHARED(A)\n      do 10 i = 1, n\n"
       "   10 continue\n*$omp end parallel do\n      end\n",
       "4-5 0 {!$omp parallel do shared(a)}\n");
    is("a.f90", "subroutine s\n!$omp parallel\nend\nsubroutine t\ndo i = 1, 2\nend do\nend\n",
       "5-6 0\n");
}

static void closers(void **state)
{
    (void)state;
    hpc_test_source s;
    const char *text = "subroutine s\n"
                       "!$omp parallel do\ndo 10 i = 1, n\ndo 10 j = 1, n\n10 continue\n"
                       "!$omp end parallel do\n"
                       "!$omp parallel\n!$omp do\ndo i = 1, n\nend do\n!$omp end do\n"
                       "!$omp end parallel\n"
                       "!$omp do\ndo i = 1, n\nend do\nx = 1\n!$omp end do\nend\n";
    static const int32_t loop[] = {0, 0, -1, 2, 2, -1, 3, -1};
    static const bool closes[] = {false, true, false, false, true, true, false, true};
    hpc_test_source_open(&s, "a.f90", text, strlen(text));
    assert_int_equal(s.l.pragma_n, 8);
    for (int k = 0; k < 8; k++) {
        assert_int_equal(s.l.pragma[k].loop, loop[k]);
        assert_int_equal(s.l.pragma[k].closes, closes[k]);
    }
    hpc_test_source_close(&s);
}

/* ---- #if --------------------------------------------------------------------------------- */

static void branches(void **state)
{
    (void)state;
    is("a.c", "void f(void) {\n#ifdef _OPENMP\n#pragma omp parallel for\n#endif\nfor (;;) x;\n}\n",
       "5-5 0 {#pragma omp parallel for}\n");
    is("a.c",
       "void f(void) {\n#if A\n#pragma omp for\n#elif B\n#pragma omp simd\n#else\n"
       "#pragma omp loop\n#endif\nfor (;;) x;\n}\n",
       "9-9 0 {#pragma omp for} or {#pragma omp simd} or {#pragma omp loop}\n");
    is("a.c",
       "void f(void) {\n#if A\nfor (;;) {\n#else\nfor (;1;) {\n#endif\n x;\n}\nfor (;;) y;\n}\n",
       "3-8 0 b\n5-8 0 b\n9-9 0\n");
    is("a.c",
       "void f(void) {\n#pragma omp for\n#if A\nfor (;;)\n#else\nfor (;1;)\n#endif\n{\n x;\n}\n}\n",
       "4-10 0 b {#pragma omp for}\n6-10 0 b {#pragma omp for}\n");
    is("a.c", "void f(void) {\n#if A\nint k = 0;\n#else\nfor (;;)\n#endif\n{\n x;\n}\n}\n",
       "5-9 0 b\n");
    is("a.c",
       "void f(void) {\n#if A\nfor (;;) x;\n#else\nfor (;;) if (a) x; else if (b) { y; "
       "}\n#endif\nz;\n}\n",
       "3-3 0\n5-5 0\n");
    is("a.c",
       "void f(void) {\n#if 0\nfor (;;) { it's\n#else\nfor (;;) x;\n#endif\n#if 1\nfor (;;) "
       "y;\n#else\n"
       "for (;;) {\n#endif\n}\n",
       "5-5 0\n8-8 0\n");
    is("a.c",
       "void f(void) {\n#if 0\n#if A\nfor (;;) x;\n#else\n#endif\n#elif B\nfor (;;) "
       "y;\n#endif\n}\n",
       "8-8 0\n");
    is("a.c",
       "void f(void) {\n#ifdef A\n#pragma omp parallel\n{\n#endif\nfor (;;) x;\n#ifdef "
       "A\n}\n#endif\nfor (;;) y;\n}\n",
       "6-6 0 p\n10-10 0\n");
    is("a.F90",
       "subroutine s\n#ifdef A\ndo i = 1, n\n#else\ndo i = 1, m\n#endif\n x = 1\nend do\nend\n",
       "3-8 0\n5-8 0\n");
    is("a.F90",
       "subroutine s\ndo i = 1, &\n#ifdef A\n  n\n#else\n  m\n#endif\n x = 1\nend do\nend\n",
       "2-9 0\n");
}

static void damaged_texts(void **state)
{
    (void)state;
    is("a.c", "void f(void) {\nfor (;;) {\n x;\n", "2-3 0 b !\n");
    is("a.c", "void f(void)\n{\nfor (;;) {\n x;\n}\nvoid g(void)\n{\nfor (;;) y;\n}\n",
       "3-5 0 b\n8-8 0\n");
    is("a.c", "for (;;) x;\n} } for (;;) ) ] y; else z;\n", "1-1 0\n2-2 0\n");
    is("a.c", "for (", "1-1 0 !\n");
    is("a.c", "for (;;", "1-1 0 !\n");
    is("a.f90", "end do\ndo i = 1, 2", "2-2 0 !\n");
    is("a.c", "#else\n#endif\n#pragma omp\nfor (;;) x;\n#if\n#pragma omp for", "4-4 0\n");
}

/* ---- hash --------------------------------------------------------------------------------- */

static hpc_hash128 hash_of(const char *path, const char *text)
{
    hpc_test_source s;
    hpc_test_source_open(&s, path, text, strlen(text));
    assert_true(s.l.n > 0);
    hpc_hash128 h = hpc_loop_hash(&s.l.item[0], &s.l, &s.t, text);
    hpc_test_source_close(&s);
    return h;
}

static bool alike(const char *path, const char *a, const char *b)
{
    hpc_hash128 x = hash_of(path, a), y = hash_of(path, b);
    return x.low == y.low && x.high == y.high;
}

static void hashes(void **state)
{
    (void)state;
    const char *plain = "void f(void) { for (i = 0; i < n; i++) a[i] = b; }";
    assert_true(alike("a.c", plain,
                      "void g(void) {\n#pragma omp parallel for\nfor(i=0;i<n;i++) /* ! */\n\n"
                      "  a[ i ]=b ; // done\n}"));
    assert_false(alike("a.c", plain, "void f(void) { for (i = 0; i < n; i++) a[i] = c; }"));
    assert_false(alike("a.c", plain, "void f(void) { for (i = 0; i < n; i++) { a[i] = b; } }"));
    assert_true(
        alike("a.f90", "subroutine s\nDO I = 1, N\nA(I) = 1\nEND DO\nend\n",
              "subroutine s\n!$omp do\ndo i = 1,n ! all\n\n  a(i)=1\nend do\n!$omp end do\nend\n"));
    /* The directive of an inner loop is part of the outer one. */
    assert_false(alike("a.c", "void f(void) { for (;;)\nfor (;;) x; }",
                       "void f(void) { for (;;)\n#pragma omp simd\nfor (;;) x; }"));
}

static void long_loops_hash_all(void **state)
{
    (void)state;
    hpc_buf a = {0}, b = {0};
    hpc_buf_text(&a, "void f(void) { for (;;) {");
    for (int k = 0; k < 4000; k++) hpc_buf_printf(&a, "x%d;", k);
    hpc_buf_text(&a, "} }");
    hpc_buf_add(&b, a.data, a.n);
    assert_true(alike("a.c", a.data, b.data));
    for (size_t at = 30; at < a.n - 8; at += a.n / 7) { /* every block counts */
        char *p = strchr(b.data + at, 'x');
        *p = 'y';
        assert_false(alike("a.c", a.data, b.data));
        *p = 'x';
    }
    hpc_buf_release(&a);
    hpc_buf_release(&b);
}

/* ---- any input ------------------------------------------------------------------------------ */

static const char sample_c[] =
    "void f(int n) {\n#ifdef _OPENMP\n#pragma omp parallel for \\\n  private(i)\n#endif\n"
    "for (i = 0; i < n; i++) { if (a) x(); else for (;;) do y(); while (b); }\n"
    "_Pragma(\"omp simd\") for (auto x : v) z({1, 2}, [] { for (;;) ; });\n"
    "#if A\nfor (;;) {\n#else\n[[omp::directive(for)]] for (;;) {\n#endif\ntry { } catch (...) { } "
    "}\n"
    "switch (n) { case 1: for (;;) break; default: ; }\n}\n";
static const char sample_fortran[] =
    "subroutine s(a, n)\n!$omp parallel do private(i) &\n!$omp reduction(+:x)\ndo i = 1, n\n"
    "  do 10 j = 1, n\n10 x = x + a(i, j)\nend do\n!$omp end parallel do\n#ifdef A\n"
    "l: do concurrent (i = 1:n)\n#else\nl: do i = 1, n\n#endif\n a(i) = '!$omp'\nend do l\n"
    "contains\nfunction g()\n!$acc kernels\ndo while (g)\nend do\n!$acc end kernels\nend\nend\n";

/* Deletes, doubles and swaps pieces of the samples; what must hold, holds. */
static void mutated_texts(void **state)
{
    (void)state;
    static const hpc_language languages[] = {HPC_LANGUAGE_CPP, HPC_LANGUAGE_C, HPC_LANGUAGE_FORTRAN,
                                             HPC_LANGUAGE_FORTRAN};
    for (uint32_t k = 0; k < 6000; k++) {
        const char *text = k & 2 ? sample_fortran : sample_c;
        size_t n = k & 2 ? sizeof sample_fortran - 1 : sizeof sample_c - 1;
        hpc_buf b = {0};
        for (uint32_t cut = 0; cut < 4; cut++) {
            uint32_t r[4];
            hpc_random_block(r, 11, cut, k, 0);
            size_t lo = r[0] % n, hi = lo + r[1] % (n - lo) + 1;
            hpc_buf_add(&b, text + lo, hi - lo);
            if (r[2] % 4 == 0) hpc_buf_add(&b, text + r[3] % n, 1);
        }
        loops_check_all(b.data, b.n, languages[k & 3], (k & 3) == 3);
        hpc_buf_release(&b);
    }
}

/* Shapes that would take quadratic time or deep recursion, if anything did. */
static void large_texts(void **state)
{
    (void)state;
    static const char *const piece[] = {
        "for(;;)",
        "for(;;){",
        "(",
        "}",
        "if(a)",
        "#if A\n",
        "#if A\n#else\n",
        "#pragma omp for\n",
        "_Pragma(\"omp for\")",
        "[[omp::",
        "for",
        "#pragma omp parallel for\n#if A\nfor(;;)\n#else\n",
        "do ",
        "try{",
        "else ",
    };
    static const char *const line[] = {"do i = 1, 2\n",     "do 10 i = 1, 2\n", "end do\n",
                                       "10 continue\n",     "!$omp parallel\n", "!$omp end task\n",
                                       "!$omp do\n#if A\n", "20 x = 1\n"};
    hpc_functions none = {0};
    for (size_t k = 0; k < sizeof piece / sizeof *piece + sizeof line / sizeof *line; k++) {
        bool fortran = k >= sizeof piece / sizeof *piece;
        const char *part = fortran ? line[k - sizeof piece / sizeof *piece] : piece[k];
        hpc_language language = fortran ? HPC_LANGUAGE_FORTRAN : HPC_LANGUAGE_CPP;
        hpc_buf b = {0};
        hpc_tokens t = {0};
        hpc_loops l = {0};
        while (b.n < 300000) hpc_buf_text(&b, part);
        assert_int_equal(hpc_lex(&t, b.data, b.n, language, false), 0);
        assert_int_equal(hpc_loops_find(&l, &t, b.data, language, &none), 0);
        hpc_loops_release(&l);
        hpc_tokens_release(&t);
        hpc_buf_release(&b);
    }
}

static int find_all(void *user)
{
    hpc_language language = user ? HPC_LANGUAGE_FORTRAN : HPC_LANGUAGE_CPP;
    const char *text = user ? sample_fortran : sample_c;
    hpc_tokens t = {0};
    hpc_functions f = {0};
    hpc_loops l = {0};
    hpc_buf directive = {0};
    int rc = HPC_OK;
    TRY(hpc_lex(&t, text, strlen(text), language, false));
    TRY(hpc_functions_find(&f, &t, text, language));
    TRY(hpc_loops_find(&l, &t, text, language, &f));
    for (int64_t k = 0; k < l.pragma_n; k++)
        TRY(hpc_pragma_text(&directive, &l, k, &t, text, language));
out:
    hpc_tokens_release(&t);
    hpc_functions_release(&f);
    hpc_loops_release(&l);
    hpc_buf_release(&directive);
    return rc;
}

static void failing_allocations(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(find_all, NULL) > 5);
    assert_true(hpc_test_each_alloc(find_all, (void *)1) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c_bodies),
        cmocka_unit_test(cpp_bodies),
        cmocka_unit_test(fortran_loops),
        cmocka_unit_test(fortran_labels),
        cmocka_unit_test(where_loops_are),
        cmocka_unit_test(directives_attach),
        cmocka_unit_test(directives_of_other_statements),
        cmocka_unit_test(other_forms),
        cmocka_unit_test(fortran_directives),
        cmocka_unit_test(closers),
        cmocka_unit_test(branches),
        cmocka_unit_test(damaged_texts),
        cmocka_unit_test(hashes),
        cmocka_unit_test(long_loops_hash_all),
        cmocka_unit_test(mutated_texts),
        cmocka_unit_test(large_texts),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
