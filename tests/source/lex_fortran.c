/*
 * Tests of runtime/source/lex_fortran.c and fortran_line.c: exact tokens of free and fixed form,
 * continuations, directives, preprocessor lines. lex.c tests hostile input.
 */
/* tsan: left out, starts no thread. */
#include <stdio.h>

#include "tests/source/tokens.h"

static void free_form(const char *text, const char *expected)
{
    test_tokens(text, HPC_LANGUAGE_FORTRAN, false, expected);
}

static void fixed_form(const char *text, const char *expected)
{
    test_tokens(text, HPC_LANGUAGE_FORTRAN, true, expected);
}

static void statements(void **state)
{
    (void)state;
    free_form("\n  x = 1 ! c\n\n! d\ny=2;z=3\n",
              "^N<x> P<=> I<1> /<! c> ;<~> ^/<! d> ^N<y> P<=> I<2> "
              ";<;> N<z> P<=> I<3> ;<~>");
    free_form("end", "^N<end> ;<>");
    free_form("10 continue\r\n 20 x = 30\r\n",
              "^L<10> N<continue> ;<~> ^L<20> N<x> P<=> I<30> ;<~>");
    free_form(";", "^;<;>");
}

static void operators_and_numbers(void **state)
{
    (void)state;
    free_form("a**b//c/=d==e<=f=>g::h%i", "^N<a> P<**> N<b> P<//> N<c> P</=> N<d> P<==> N<e> P<<=> "
                                          "N<f> P<=>> N<g> P<::> N<h> P<%> N<i> ;<>");
    free_form("a.eq.1.and..not.b .op. c",
              "^N<a> P<.eq.> I<1> P<.and.> P<.not.> N<b> P<.op.> N<c> ;<>");
    free_form("x=1.e5+1.d0.lt.2._dp*.5E-3-1.",
              "^N<x> P<=> I<1.e5> P<+> I<1.d0> P<.lt.> I<2._dp> P<*> "
              "I<.5E-3> P<-> I<1.> ;<>");
    free_form("(/1,2/)", "^P<(> P</> I<1> P<,> I<2> P</> P<)> ;<>");
}

static void strings(void **state)
{
    (void)state;
    free_form("s='it''s'//\"a\"\"b!\"//k_'x'//z'ff'",
              "^N<s> P<=> S<'it''s'> P<//> S<\"a\"\"b!\"> P<//> "
              "S<k_'x'> P<//> S<z'ff'> ;<>");
    free_form("s = 'ab&\n  ! note\n  &cd' ! e\n", "^N<s> P<=> S<'ab&~  ! note~  &cd'> /<! e> ;<~>");
    free_form("s = 'ab\nt", "^N<s> P<=> !S<'ab> ;<~> ^N<t> ;<>");
    fixed_form("      s = 'ab\n     &cd'\n", "^N<s> P<=> S<'ab~     &cd'> ;<~>");
    fixed_form("      s = 'ab\n      t\n", "^N<s> P<=> !S<'ab> ;<~> ^N<t> ;<~>");
}

static void continuations(void **state)
{
    (void)state;
    free_form("call f(a, & ! why\n  ! more\n\n  & b, &\n  c)\nend\n",
              "^N<call> N<f> P<(> N<a> P<,> /<! why> ^/<! more> N<b> P<,> N<c> P<)> ;<~> ^N<end> "
              ";<~>");
    free_form("x = a & b\n", "^N<x> P<=> N<a> P<&> N<b> ;<~>");
    fixed_form("      call f(a,\nC more\n\n     1   b,\n     &c)\n      end\n",
               "^N<call> N<f> P<(> N<a> P<,> ^/<C more> N<b> P<,> N<c> P<)> ;<~> ^N<end> ;<~>");
    fixed_form("\tx = 1\n\t1+2\n\ty\n", "^N<x> P<=> I<1> P<+> I<2> ;<~> ^N<y> ;<~>");
    fixed_form("     0x = 1\n     !+2\n", "^N<x> P<=> I<1> P<+> I<2> ;<~>");
}

static void comments(void **state)
{
    (void)state;
    fixed_form("C a\nc b\n* d\n!e\n  ! f\nd g\n      x\n",
               "^/<C a> ^/<c b> ^/<* d> ^/<!e> ^/<! f> ^/<d g> ^N<x> ;<~>");
    free_form("!dir$ ivdep\n!$foo\n!$ompx\n", "^/<!dir$ ivdep> ^/<!$foo> ^/<!$ompx>");
}

static void labels_and_columns(void **state)
{
    (void)state;
    fixed_form("  10  x = 1\n 100  format(i5)\n",
               "^L<10> N<x> P<=> I<1> ;<~> ^L<100> N<format> P<(> "
               "N<i5> P<)> ;<~>");
    fixed_form("x = 1\nC\nc\n*c\n!c\nc", "^N<x> P<=> I<1> ;<~> ^/<C> ^/<c> ^/<*c> ^/<!c> ^/<c>");
    /* Column 73: what stood on punched cards. */
    fixed_form("      x = 1                                                             MAIN0010\n",
               "^N<x> P<=> I<1> /<MAIN0010> ;<~>");
    fixed_form("      x = 1                                                            MAIN0010\n",
               "^N<x> P<=> I<1> N<MAIN0010> ;<~>");
}

static void directives(void **state)
{
    (void)state;
    free_form("  !$omp parallel do & ! c\n  ! d\n!$OMP& private(i) &\n!$omp   shared(x)\ndo i\n",
              "^@#<!$omp> @N<parallel> @N<do> @/<! c> ^@/<! d> @N<private> @P<(> @N<i> @P<)> "
              "@N<shared> @P<(> @N<x> @P<)> @E<> ^N<do> N<i> ;<~>");
    fixed_form("c$omp parallel do\nC$OMP+private(i)\n*$acc loop\n!$omp end do\n",
               "^@#<c$omp> @N<parallel> @N<do> @N<private> @P<(> @N<i> @P<)> @E<> ^@#<*$acc> "
               "@N<loop> @E<> ^@#<!$omp> @N<end> @N<do> @E<>");
    fixed_form("c$OMP do\nc$OMP$ nowait\n!$OMP$x\n", "^@#<c$OMP> @N<do> @N<nowait> @N<x> @E<>");
    free_form("!$omp$ do\n!$omp do\n", "^/<!$omp$ do> ^@#<!$omp> @N<do> @E<>");
    free_form("!$acc loop\n!$omp do", "^@#<!$acc> @N<loop> @E<> ^@#<!$omp> @N<do> @E<>");
    free_form("!$omp do &\n!$acc loop\n", "^@#<!$omp> @N<do> @E<> ^@#<!$acc> @N<loop> @E<>");
    free_form("!$omp do &\nx\n", "^@#<!$omp> @N<do> @E<> ^N<x> ;<~>");
    free_form("!$omp do; x\n", "^@#<!$omp> @N<do> @P<;> @N<x> @E<>");
}

static void code_for_openmp(void **state)
{
    (void)state;
    free_form("!$ call f(a, &\n!$   b)\nx\n",
              "^@#<!$> @N<call> @N<f> @P<(> @N<a> @P<,> @N<b> @P<)> "
              "@E<> ^N<x> ;<~>");
    free_form("x = a + &\n!$ b + &\n c\n",
              "^N<x> P<=> N<a> P<+> ^@#<!$> @N<b> @P<+> @E<> N<c> ;<~>");
    fixed_form("      x = a\nc$   & + b\n      y\n",
               "^N<x> P<=> N<a> ^@#<c$> @P<+> @N<b> @E<> ;<~> ^N<y> ;<~>");
}

static void preprocessor_lines(void **state)
{
    (void)state;
    free_form("#include <a.h>\n#if !defined(X) && \\\n Y /* z\n*/\n",
              "^@#<#> @N<include> @S<<a.h>> @E<> ^@#<#> @N<if> @P<!> @N<defined> @P<(> @N<X> @P<)> "
              "@P<&&> @N<Y> @/</* z~*/> @E<>");
    free_form("call f(a &\n#ifdef X\n  , b &\n#endif\n  )\n",
              "^N<call> N<f> P<(> N<a> ^@#<#> @N<ifdef> @N<X> @E<> P<,> N<b> ^@#<#> @N<endif> @E<> "
              "P<)> ;<~>");
    fixed_form("      x = a\n#ifdef X\n     & + b\n#endif\n",
               "^N<x> P<=> N<a> ^@#<#> @N<ifdef> @N<X> @E<> P<+> N<b> ;<~> ^@#<#> @N<endif> @E<>");
}

static void anywhere(void **state)
{
    (void)state;
    const char *free_text =
        "10 a_long_name_of_fifty_bytes_or_so_and_then_some_more_and_more = b**2//'c&\n"
        "  &d' ! e\n  x=1.e5_dp*.5E-3.lt.z'ff'=>y::w; 20 z=(/1,2/)/=3 & ! f\n"
        "  ! g\n  & +1x2\n!$omp do &\n!$omp& h\n";
    test_anywhere(free_text, HPC_LANGUAGE_FORTRAN, false, "! ");
    const char *fixed_text =
        "c d\n  100 format(1x,2i10,3habc)\r\n      x = 'a\n     1b'\n     &+ a_long_"
        "name_of_fifty_bytes_or_so_and_then_s SEQ00010\r\nc$omp do\nc$omp&e\n";
    test_anywhere(fixed_text, HPC_LANGUAGE_FORTRAN, true, "! ");
    test_anywhere(fixed_text, HPC_LANGUAGE_FORTRAN, true, "c ");
}

/* Every two signs side by side, against the list of the operators. */
static void operators(void **state)
{
    (void)state;
    static const char list[] = "** // /= == => <= >= ::", signs[] = "*/=<>:+-(),%[]{}?|^~@#`";
    for (const char *a = signs; *a; a++)
        for (const char *b = signs; *b; b++) {
            char text[] = {'x', ' ', *a, *b, 'x', 0}, both[] = {*a, *b, 0};
            hpc_tokens t = test_lex(text, 5, HPC_LANGUAGE_FORTRAN, false);
            bool one = strstr(list, both) != NULL;
            assert_int_equal(t.n, one ? 4 : 5);
            assert_int_equal(t.item[1].n, 1 + one);
            assert_int_equal(t.item[1].hash, hpc_token_hash(both, 1 + (size_t)one));
            hpc_tokens_release(&t);
        }
}

/* Numbers end where words begin; sequence numbers, that begin in column 73, are comments. */
static void where_tokens_are_cut(void **state)
{
    (void)state;
    fixed_form("   10 format(1X,2i10,10hello,5.)\n",
               "^L<10> N<format> P<(> I<1> N<X> P<,> I<2> N<i10> P<,> I<10> N<hello> P<,> I<5.> "
               "P<)> ;<~>");
    free_form("a1b=2c3;4d=5e6f", "^N<a1b> P<=> I<2> N<c3> ;<;> L<4> N<d> P<=> I<5e6> N<f> ;<>");
    char card[128], expected[128];
    snprintf(card, sizeof card, "%-72sA0001  \r\n      z\n", "      x = y");
    fixed_form(card, "^N<x> P<=> N<y> /<A0001  > ;<~> ^N<z> ;<~>");
    snprintf(card, sizeof card, "%-72sA0001' SEQ\n", "      x = 'y");
    snprintf(expected, sizeof expected, "^N<x> P<=> S<%-62sA0001'> N<SEQ> ;<~>", "'y");
    fixed_form(card, expected);
    snprintf(card, sizeof card, "%-73s0001\n", "      x = y");
    fixed_form(card, "^N<x> P<=> N<y> I<0001> ;<~>");
}

/* Names, operators and sentinels hash without their case; strings and comments with it. */
static void hashes(void **state)
{
    (void)state;
    const char *text = "Call A_Name_Of_More_Than_16_Bytes(1.D0 .AND. Z'Aa') ! Cc";
    static const char *const lower[] = {
        "call", "a_name_of_more_than_16_bytes", "(", "1.d0", ".and.", "Z'Aa'", ")", "! Cc", ""};
    hpc_tokens t = test_lex(text, strlen(text), HPC_LANGUAGE_FORTRAN, false);
    assert_int_equal(t.n, sizeof lower / sizeof *lower);
    for (int64_t i = 0; i < t.n; i++)
        assert_int_equal(t.item[i].hash, hpc_token_hash(lower[i], strlen(lower[i])));
    hpc_tokens_release(&t);
    t = test_lex("!$OMP", 5, HPC_LANGUAGE_FORTRAN, false);
    assert_int_equal(t.item[0].hash, hpc_token_hash("!$omp", 5));
    hpc_tokens_release(&t);
}

static void lines(void **state)
{
    (void)state;
    const char *text = "a &\n\n! c\n  b\n's&\n&t' d\n#if \\\n x\n!$omp do &\n!$omp& e\nf";
    hpc_tokens t = test_lex(text, strlen(text), HPC_LANGUAGE_FORTRAN, false);
    static const uint32_t expected[] = {1, 3, 4, 4, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11};
    assert_int_equal(t.n, sizeof expected / sizeof *expected);
    for (int64_t i = 0; i < t.n; i++) assert_int_equal(t.item[i].line, expected[i]);
    test_whole(&t, text, strlen(text), HPC_LANGUAGE_FORTRAN);
    hpc_tokens_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements),
        cmocka_unit_test(operators_and_numbers),
        cmocka_unit_test(strings),
        cmocka_unit_test(continuations),
        cmocka_unit_test(comments),
        cmocka_unit_test(labels_and_columns),
        cmocka_unit_test(directives),
        cmocka_unit_test(code_for_openmp),
        cmocka_unit_test(preprocessor_lines),
        cmocka_unit_test(anywhere),
        cmocka_unit_test(operators),
        cmocka_unit_test(where_tokens_are_cut),
        cmocka_unit_test(hashes),
        cmocka_unit_test(lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
