/*
 * Tests of runtime/source/bracket.c and bracket_fortran.c: pairs, kinds, and brackets open at the
 * end.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/source/bracket.h"
#include "tests/support/fault.h"

/* Per bracket a letter for its kind, upper case for a function, and the number of its pair; '-': no
 * partner. After '|', brackets open at the end, innermost first. */
static void show(char *out, size_t room, const hpc_brackets *b)
{
    size_t n = 0;
    for (int64_t k = 0; k < b->n; k++) {
        const hpc_bracket *x = &b->item[k];
        int pair = x->closes ? x->partner : (int)k;
        n +=
            (size_t)snprintf(out + n, room - n, "%c%c", "rslhFb"[x->kind], x -> closes ? '>' : '<');
        if (x->partner < 0 && x->closes)
            n += (size_t)snprintf(out + n, room - n, "- ");
        else
            n += (size_t)snprintf(out + n, room - n, "%d ", pair);
        if (x->partner >= 0) assert_int_equal(b->item[x->partner].partner, k);
        if (k > 0) assert_true(x->at >= b->item[k - 1].at);
    }
    n += (size_t)snprintf(out + n, room - n, "|");
    for (int32_t i = b->open; i >= 0; i = b->item[i].outer) {
        assert_true(!b->item[i].closes && b->item[i].partner == -1);
        n += (size_t)snprintf(out + n, room - n, " %d", i);
    }
}

typedef struct example {
    hpc_language language;
    const char *text, *expected;
} example;

static void check(const example *e)
{
    hpc_tokens t = {0};
    hpc_brackets b = {0};
    char got[1024];
    assert_int_equal(hpc_lex(&t, e->text, strlen(e->text), e->language, false), 0);
    assert_int_equal(hpc_brackets_find(&b, &t, e->text, e->language), 0);
    show(got, sizeof got, &b);
    if (strcmp(got, e->expected) != 0) print_error("%s\n", e->text);
    assert_string_equal(got, e->expected);
    hpc_brackets_release(&b);
    hpc_tokens_release(&t);
}

#define C   HPC_LANGUAGE_C
#define CPP HPC_LANGUAGE_CPP
#define FOR HPC_LANGUAGE_FORTRAN

static void test_c(void **state)
{
    (void)state;
    static const example all[] = {
        {C, "", "|"},
        {C, "int f(int a[3]) { return a[0]; }", "r<0 s<1 s>1 r>0 F<4 s<5 s>5 F>4 |"},
        {C, "void f(void)\n{\n  for (;;) {\n    if (x", "r<0 r>0 F<2 r<3 r>3 b<5 r<6 | 6 5 2"},
        {C, "struct s { int a; };\nstruct s x = {1, {2}};", "h<0 h>0 l<2 l<3 l>3 l>2 |"},
        {C, "struct s *f(void) { struct t { int b; } y; { } }",
         "r<0 r>0 F<2 h<3 h>3 b<5 b>5 F>2 |"},
        {C, "int f(a) int a; { }", "r<0 r>0 F<2 F>2 |"},
        {C, "enum { A, B };\nint g(void) { int v[] = {A}; do { } while (0); }",
         "h<0 h>0 r<2 r>2 F<4 s<5 s>5 l<7 l>7 b<9 b>9 r<11 r>11 F>4 |"},
        {C, "// ( {\n/* [ */ char *s = \"{\", c = '(';\n#define X {(\n", "|"},
        {C, "f(a[1)]; }", "r<0 s<1 r>0 s>- b>- |"},
        {C, "void f() { g(a; }", "r<0 r>0 F<2 r<3 F>2 |"},
        {C, "void f() {\n#if A\n if (a) {\n#else\n if (b) {\n#endif\n }\n}",
         "r<0 r>0 F<2 r<3 r>3 b<5 b>5 F>2 |"},
        {C, "void f() {\n#if 0\n {\n#endif\n}", "r<0 r>0 F<2 F>2 |"},
        {C, "#pragma omp parallel for\nvoid f() {\n#pragma omp for schedule(\nx",
         "r<0 r>0 F<2 | 2"},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) check(&all[k]);
}

static void test_cpp(void **state)
{
    (void)state;
    static const example all[] = {
        {CPP, "namespace a::b { class C : D { int f() const { return 1; } }; }",
         "h<0 h<1 r<2 r>2 F<4 F>4 h>1 h>0 |"},
        {CPP, "extern \"C\" { void f() { } }", "h<0 r<1 r>1 F<3 F>3 h>0 |"},
        {CPP, "extern \"C\" int f(int a) { return a; }", "r<0 r>0 F<2 F>2 |"},
        {CPP, "extern \"C\" struct a f(void) {", "r<0 r>0 F<2 | 2"},
        {CPP, "extern \"C\" struct a { int b; };", "h<0 h>0 |"},
        {CPP, "template <class T, struct U> auto f() -> V<T> { }", "r<0 r>0 F<2 F>2 |"},
        {CPP, "template <typename T> struct S { T x{1}; };", "h<0 l<1 l>1 h>0 |"},
        {CPP, "void f() { std::vector<int> v{1, 2}; dim3 g{1}; if (a) { } else { } try { } }",
         "r<0 r>0 F<2 l<3 l>3 l<5 l>5 r<7 r>7 b<9 b>9 b<11 b>11 b<13 b>13 F>2 |"},
        {CPP, "void f() { g(n, [=](int i) { y[i] = x[i]; }",
         "r<0 r>0 F<2 r<3 s<4 s>4 r<6 r>6 b<8 s<9 s>9 s<11 s>11 b>8 | 3 2"},
        {CPP, "enum class E : int { A }; using namespace std; void f() { }",
         "h<0 h>0 r<2 r>2 F<4 F>4 |"},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) check(&all[k]);
}

/* The brackets that are open before a cursor, or closed after it, in the branch of the cursor. */
static void check_branch(const example *e, bool before)
{
    hpc_tokens t = {0};
    hpc_brackets b = {0};
    char got[1024];
    assert_int_equal(hpc_lex(&t, e->text, strlen(e->text), e->language, false), 0);
    if (before)
        assert_int_equal(hpc_tokens_keep_last_branch(&t, e->text), 0);
    else
        hpc_tokens_keep_first_branch(&t, e->text, 0);
    assert_int_equal(hpc_brackets_find(&b, &t, e->text, e->language), 0);
    show(got, sizeof got, &b);
    if (strcmp(got, e->expected) != 0) print_error("%s\n", e->text);
    assert_string_equal(got, e->expected);
    hpc_brackets_release(&b);
    hpc_tokens_release(&t);
}

static void test_branch_of_cursor(void **state)
{
    (void)state;
    static const example before[] = {
        {C, "#ifndef A_H\n(\n", "r<0 | 0"},
        {C, "#if 0\n(\n#if 0\n[\n#endif\n{", "r<0 l<1 | 1 0"},
        {C, "{\n#if A\n(\n#elif B\n[\n#if C\n[\n#else\n{", "F<0 s<1 l<2 | 2 1 0"},
        {C, "{\n#if A\n(\n#else\n(\n#endif\n[\n#endif\n#if", "F<0 r<1 s<2 | 2 1 0"},
    };
    static const example after[] = {
        {C, "}\n#endif\n}", "b>- b>- |"},
        {C, "}\n#else\n}\n#if D\n}\n#endif\n}\n#endif\n)", "b>- r>- |"},
        {C, "}\n#elif A\n}\n#else\n}\n#endif\n#if E\n)\n#endif\n#endif\n]", "b>- r>- s>- |"},
        {C, "}\n#else\n}", "b>- |"},
    };
    for (size_t k = 0; k < sizeof before / sizeof *before; k++) check_branch(&before[k], true);
    for (size_t k = 0; k < sizeof after / sizeof *after; k++) check_branch(&after[k], false);
}

static void test_fortran(void **state)
{
    (void)state;
    static const example all[] = {
        {FOR, "subroutine s(n)\n do i = 1, n\n  a(i) = 0\n end do\nend subroutine\n",
         "F<0 r<1 r>1 b<3 r<4 r>4 b>3 F>0 |"},
        {FOR, "subroutine s\n do i = 1, n\n  if (a > b) then\n   a(i",
         "F<0 b<1 b<2 r<3 r>3 r<5 | 5 2 1 0"},
        {FOR,
         "module m\n type, public :: t\n  integer :: i\n end type t\n type(t) :: x\ncontains\n"
         " function f() result(y)\n end function\nend module m\n",
         "h<0 h<1 h>1 r<3 r>3 F<5 r<6 r>6 r<8 r>8 F>5 h>0 |"},
        {FOR, "program p\n do 10 i = 1, n\n do 10 j = 1, n\n10 continue\nend\n",
         "F<0 b<1 b<2 b>2 b>1 F>0 |"},
        {FOR, "interface\n subroutine s(a)\n end subroutine\nend interface\n",
         "h<0 F<1 r<2 r>2 F>1 h>0 |"},
        {FOR,
         "if (a) b = 1\nwhere (m) c = 2\nwhere (m)\nend where\nselect case (k)\ncase (1)\n"
         "endselect\n",
         "r<0 r>0 r<2 r>2 b<4 r<5 r>5 b>4 b<8 r<9 r>9 r<11 r>11 b>8 |"},
        {FOR, "outer: do while (x)\n if (y) then\nend do outer\nend = 3\n",
         "b<0 r<1 r>1 b<3 r<4 r>4 b>0 |"},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) check(&all[k]);
}

/* Every text of a few brackets: nothing is lost, and pairs are pairs (show asserts it). */
static void test_all_short_texts(void **state)
{
    (void)state;
    const char letter[] = "()[]{};";
    hpc_tokens t = {0};
    hpc_brackets b = {0};
    char text[8] = {0}, got[256];
    for (int64_t code = 0; code < 7 * 7 * 7 * 7 * 7 * 7; code++) {
        int64_t brackets = 0, rest = code;
        for (int k = 0; k < 6; k++, rest /= 7) {
            text[k] = letter[rest % 7];
            brackets += text[k] != ';';
        }
        assert_int_equal(hpc_lex(&t, text, 6, C, false), 0);
        assert_int_equal(hpc_brackets_find(&b, &t, text, C), 0);
        assert_int_equal(b.n, brackets);
        show(got, sizeof got, &b);
    }
    hpc_brackets_release(&b);
    hpc_tokens_release(&t);
}

static int find_both(void *user)
{
    static const example all[] = {
        {C, "void f() {\n#if A\n{ ( [ ] ) }\n#endif\n}\n", NULL},
        {FOR, "subroutine s\n#if A\n do i = 1, n\n a(i) = 0\n end do\n#endif\nend\n", NULL},
    };
    int rc = HPC_OK;
    (void)user;
    for (int k = 0; k < 2; k++) {
        hpc_tokens t = {0};
        hpc_brackets b = {0};
        if (rc >= 0) rc = hpc_lex(&t, all[k].text, strlen(all[k].text), all[k].language, false);
        if (rc >= 0) rc = hpc_brackets_find(&b, &t, all[k].text, all[k].language);
        hpc_brackets_release(&b);
        hpc_tokens_release(&t);
    }
    return rc;
}

static void test_each_allocation_fails(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(find_both, NULL) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c),
        cmocka_unit_test(test_cpp),
        cmocka_unit_test(test_branch_of_cursor),
        cmocka_unit_test(test_fortran),
        cmocka_unit_test(test_all_short_texts),
        cmocka_unit_test(test_each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
