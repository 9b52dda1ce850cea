/*
 * pragma.c: words of directives, and directives in our spelling, which parse to the same.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/loops.h"

/* ---- what is taught ----------------------------------------------------------------------- */

static void plain_is(const char *directive, const char *expected)
{
    hpc_buf b = {0};
    assert_int_equal(hpc_pragma_plain(&b, directive), 0);
    assert_string_equal(b.data, expected);
    hpc_buf_release(&b);
}

static void plain(void **state)
{
    (void)state;
    plain_is("", "");
    plain_is("#pragma omp parallel for num_threads(f(a, b)) private(i, j) reduction(+:sum) nowait",
             "#pragma omp parallel for private(i, j) reduction(+:sum)");
    plain_is("#pragma omp parallel for default(none) shared(a, b) if(n>10) schedule(static)",
             "#pragma omp parallel for");
    plain_is("#pragma omp for simd collapse(2) schedule(static, 1) SMP_SCHEDULE safelen(4)",
             "#pragma omp for simd collapse(2) schedule(static, 1)");
    plain_is("#pragma omp target map(to:a[0:n])\n#pragma omp teams distribute thread_limit(64)",
             "#pragma omp target\n#pragma omp teams distribute");
    plain_is("!$omp parallel do default(shared) private(i) schedule(dynamic)",
             "!$omp parallel do private(i) schedule(dynamic)");
    plain_is("#pragma omp for if((a", "#pragma omp for"); /* unclosed parentheses */
}

/* ---- what is written ---------------------------------------------------------------------- */

static void text_of(hpc_buf *out, const char *path, const char *line)
{
    hpc_test_source s;
    hpc_test_source_open(&s, path, line, strlen(line));
    assert_true(s.l.pragma_n > 0);
    assert_int_equal(hpc_pragma_text(out, &s.l, 0, &s.t, line, s.language), 0);
    hpc_test_source_close(&s);
}

static void writes(const char *path, const char *line, const char *expected)
{
    hpc_buf once = {0}, again = {0};
    text_of(&once, path, line);
    assert_string_equal(once.data, expected);
    text_of(&again, path, once.data);
    assert_string_equal(again.data, expected);
    hpc_buf_release(&once);
    hpc_buf_release(&again);
}

static void c(const char *line, const char *expected)
{
    writes("a.cpp", line, expected);
}

static void fortran(const char *line, const char *expected)
{
    writes("a.f90", line, expected);
}

static void c_spacing(void **state)
{
    (void)state;
    c("#  pragma\tomp   parallel for\n", "#pragma omp parallel for");
    c("#pragma omp parallel for private( i,j , k ) reduction ( + : sum )",
      "#pragma omp parallel for private(i, j, k) reduction(+:sum)");
    c("#pragma omp target map( to : a[ 0 : n ],b [:] )", "#pragma omp target map(to:a[0:n], b[:])");
    c("#pragma omp for schedule(dynamic,n+ 1)  , nowait",
      "#pragma omp for schedule(dynamic, n+1) nowait");
    c("#pragma omp parallel for \\\n   if( n > 10 ) \\\r\n num_threads ( sizeof ( unsigned long ) "
      ")",
      "#pragma omp parallel for if(n>10) num_threads(sizeof(unsigned long))");
    c("#pragma omp for // why\n", "#pragma omp for");
    c("#pragma omp /* a */ for /* b\n c */ nowait", "#pragma omp for nowait");
    c("#pragma acc parallel loop gang,vector tile( 4,4 )",
      "#pragma acc parallel loop gang vector tile(4, 4)");
    c("#pragma omp critical (name)", "#pragma omp critical(name)");
    c("#pragma omp parallel for private(i) HYPRE_SMP_SCHEDULE",
      "#pragma omp parallel for private(i) HYPRE_SMP_SCHEDULE");
    c("#pragma omp par\\\nallel for", "#pragma omp parallel for");
    c("#pragma omp", "#pragma omp");
}

/* Tokens that would become one, or a comment, are kept apart. */
static void c_tokens_stay_apart(void **state)
{
    (void)state;
    c("#pragma omp for if(a - -b)", "#pragma omp for if(a- -b)");
    c("#pragma omp for if(a + ++b && !c)", "#pragma omp for if(a+ ++b&&!c)");
    c("#pragma omp for if(a / *b)", "#pragma omp for if(a/ *b)");
    c("#pragma omp for if(a < ::b)", "#pragma omp for if(a< ::b)");
    c("#pragma omp for if(a & &b)", "#pragma omp for if(a& &b)");
    c("#pragma omp for if(1 .x)", "#pragma omp for if(1 .x)");
    c("#pragma omp for if(0xe +1)", "#pragma omp for if(0xe +1)");
    c("#pragma omp for if(L 'a' + \"b c\" \"d\")", "#pragma omp for if(L 'a'+\"b c\" \"d\")");
    c("#pragma omp metadirective when( user = { condition ( x ) } : parallel for )",
      "#pragma omp metadirective when(user={condition(x)}:parallel for)");
}

static void c_other_forms(void **state)
{
    (void)state;
    c("_Pragma(\"omp parallel for private( i )\")", "#pragma omp parallel for private(i)");
    c("_Pragma(\"omp for \" u8\"if(\\\"a\\\\\\\\b\\\")\")", "#pragma omp for if(\"a\\\\b\")");
    c("_Pragma(R\"x(omp simd)x\")", "#pragma omp simd");
    c("__pragma(acc loop seq)", "#pragma acc loop seq");
    c("[[omp::directive(parallel for, reduction(+ : a))]] ;",
      "#pragma omp parallel for reduction(+:a)");
}

static void fortran_spacing(void **state)
{
    (void)state;
    fortran("!$OMP  PARALLEL DO PRIVATE( I,J )\n", "!$omp parallel do private(i, j)");
    fortran("!$omp parallel do & ! first\n!$omp   reduction(+ : s) &\n\n!$omp& nowait\n",
            "!$omp parallel do reduction(+:s) nowait");
    fortran("!$omp paralleldosimd", "!$omp parallel do simd");
    fortran("!$omp endparalleldo", "!$omp end parallel do");
    fortran("!$omp end do nowait", "!$omp end do nowait");
    fortran("!$omp parallel if(n.gt.10.and..not.a)", "!$omp parallel if(n .gt. 10 .and. .not. a)");
    fortran("!$acc loop collapse(2) , private (A)", "!$acc loop collapse(2) private(a)");
    fortran("!$omp critical (Name)", "!$omp critical(name)");
    fortran("!$omp parallel do if(x == 'A B')", "!$omp parallel do if(x=='A B')");
    writes("a.f", "c$omp parallel do\nc$omp+shared(a)\n", "!$omp parallel do shared(a)");
    writes("a.f", "c$OMP PARALLEL DO PRIVATE(a,\nc$OMP$ b)\n", "!$omp parallel do private(a, b)");
}

/* ---- what is understood --------------------------------------------------------------------- */

static void words_are(const char *line, uint32_t words)
{
    hpc_test_source s;
    hpc_test_source_open(&s, *line == '!' ? "a.f90" : "a.c", line, strlen(line));
    assert_int_equal(s.l.pragma_n, 1);
    if (s.l.pragma[0].words != words) print_error("%s: %x\n", line, s.l.pragma[0].words);
    assert_int_equal(s.l.pragma[0].words, words);
    hpc_test_source_close(&s);
}

static void words(void **state)
{
    (void)state;
    const uint32_t parallel_for = HPC_OMP_PARALLEL | HPC_OMP_FOR;
    words_are("#pragma omp parallel for", parallel_for);
    words_are("!$omp parallel do", parallel_for);
    words_are("!$omp paralleldo", parallel_for);
    words_are("#pragma omp target teams distribute parallel for simd map(to:a)",
              parallel_for | HPC_OMP_TARGET | HPC_OMP_TEAMS | HPC_OMP_DISTRIBUTE | HPC_OMP_SIMD);
    words_are("#pragma omp parallel masked taskloop",
              HPC_OMP_PARALLEL | HPC_OMP_MASKED | HPC_OMP_TASKLOOP);
    words_are("#pragma omp parallel sections", HPC_OMP_PARALLEL | HPC_OMP_SECTIONS);
    words_are("#pragma acc kernels loop", HPC_ACC_KERNELS | HPC_OMP_LOOP);
    words_are("#pragma acc loop tile(4)", HPC_OMP_LOOP); /* a clause there */
    words_are("#pragma omp tile sizes(4)", HPC_OMP_TILE_UNROLL);
    words_are("#pragma omp barrier", HPC_OMP_OTHER);
    words_are("#pragma omp target enter data map(to:a)", HPC_OMP_TARGET | HPC_OMP_OTHER);
    words_are("#pragma omp declare simd", HPC_OMP_SIMD | HPC_OMP_OTHER);
    words_are("!$omp end parallel do", parallel_for | HPC_OMP_OTHER);
    words_are("#pragma acc parallel wait(1)", HPC_OMP_PARALLEL);
    words_are("#pragma omp whatever for", HPC_OMP_OTHER);
    words_are("#pragma omp", HPC_OMP_OTHER);
}

static void not_ours(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "#pragma unroll\n",   "#pragma GCC ivdep\n", "#pragma ompx a\n",     "#pragma\n",
        "#include \"omp\"\n", "_Pragma(\"once\")\n", "// #pragma omp for\n", "_Pragma(omp)\n",
        "[[omp]] int a;\n"};
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        hpc_test_source s;
        hpc_test_source_open(&s, "a.cpp", lines[k], strlen(lines[k]));
        assert_int_equal(s.l.pragma_n, 0);
        hpc_test_source_close(&s);
    }
}

static void places(void **state)
{
    (void)state;
    hpc_test_source s;
    const char *text =
        "int a;\n  #pragma omp for \\\n    nowait // all  \nx;\n_Pragma ( \"omp simd\" ) y;\n";
    hpc_test_source_open(&s, "a.c", text, strlen(text));
    assert_int_equal(s.l.pragma_n, 2);
    assert_int_equal(s.l.pragma[0].at, strstr(text, "#pragma") - text);
    assert_int_equal(s.l.pragma[0].line, 2);
    /* With the comment after it. */
    assert_true(s.l.pragma[0].end >= (size_t)(strstr(text, "all") + 3 - text));
    assert_true(s.l.pragma[0].end <= (size_t)(strstr(text, "\nx;") - text));
    assert_int_equal(s.l.pragma[1].at, strstr(text, "_Pragma") - text);
    assert_int_equal(s.l.pragma[1].end, strstr(text, " y;") - text);
    hpc_test_source_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c_spacing),     cmocka_unit_test(c_tokens_stay_apart),
        cmocka_unit_test(c_other_forms), cmocka_unit_test(fortran_spacing),
        cmocka_unit_test(words),         cmocka_unit_test(not_ours),
        cmocka_unit_test(places),        cmocka_unit_test(plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
