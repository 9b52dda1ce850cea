/*
 * Tests of runtime/source/function_fortran.c: program units by name, lines, body and nesting.
 */
/* tsan: left out, starts no thread. */
#include "tests/source/tokens.h"

/* "name line-end_line outer; ..." of all that is found. */
static void found(const char *text, bool fixed, const char *expected)
{
    hpc_tokens t = test_lex(text, strlen(text), HPC_LANGUAGE_FORTRAN, fixed);
    hpc_functions f = {0};
    hpc_buf b = {0};
    assert_int_equal(hpc_functions_find(&f, &t, text, HPC_LANGUAGE_FORTRAN), 0);
    hpc_buf_text(&b, "");
    for (int64_t i = 0; i < f.n; i++) {
        const hpc_function *d = &f.item[i];
        hpc_buf_printf(&b, "%s%.*s %u-%u %d", i > 0 ? "; " : "", (int)d->name_n, text + d->name_at,
                       d->line, d->end_line, d->outer);
    }
    if (strcmp(b.data, expected) != 0)
        fail_msg("found \"%s\", not \"%s\", in:\n%s", b.data, expected, text);
    hpc_buf_release(&b);
    hpc_functions_release(&f);
    hpc_tokens_release(&t);
}

static const char realistic[] = "module m\n"
                                "  use mpi\n"
                                "  type :: t\n"
                                "    integer :: function, subroutine\n"
                                "  contains\n"
                                "    procedure :: f\n"
                                "  end type t\n"
                                "  interface\n"
                                "    subroutine declared(a)\n"
                                "      integer a\n"
                                "    end subroutine\n"
                                "    module procedure x\n"
                                "  end interface\n"
                                "contains\n"
                                "  pure elemental real(kind=8) function f(a, &\n"
                                "      b) result(c) ! why\n"
                                "    if (a) then\n"
                                "    end if\n"
                                "  end function f\n"
                                "  Recursive Subroutine s ; call t; end Subroutine\n"
                                "  type(t) function g()\n"
                                "    block\n"
                                "    end block\n"
                                "  contains\n"
                                "    integer*8 function h()\n"
                                "    endfunction\n"
                                "    subroutine k\n"
                                "    end\n"
                                "  end function\n"
                                "end module m\n"
                                "program p\n"
                                "  x = 1\n"
                                "contains\n"
                                "  subroutine q\n"
                                "  end subroutine q\n"
                                "end program\n";

static void a_module_and_a_program(void **state)
{
    (void)state;
    found(realistic, false,
          "f 15-19 -1; s 20-20 -1; g 21-29 -1; h 25-26 2; k 27-28 2; p 31-36 -1; q 34-35 5");
    hpc_tokens t = test_lex(realistic, sizeof realistic - 1, HPC_LANGUAGE_FORTRAN, false);
    hpc_functions f = {0};
    assert_int_equal(hpc_functions_find(&f, &t, realistic, HPC_LANGUAGE_FORTRAN), 0);
    assert_memory_equal(realistic + f.item[0].at, "pure elemental", 14);
    assert_memory_equal(realistic + f.item[0].body_at, "    if (a) then", 15);
    assert_memory_equal(realistic + f.item[0].end - 14, "end function f\n", 15);
    assert_memory_equal(realistic + f.item[1].body_at, " call t;", 8);
    hpc_functions_release(&f);
    hpc_tokens_release(&t);
}

static void fixed_form(void **state)
{
    (void)state;
    found("      integer a\n      a = 1\n      end\n"
          "      subroutine s(a,\n     &  b)\n 10   continue\n      END\n"
          "      double precision function f(x)\n      end\n"
          "      character*(*) function g(x)\n      end\n"
          "      block data\n      end\n      function h()\n      end\n",
          true, " 1-3 -1; s 4-7 -1; f 8-9 -1; g 10-11 -1; h 14-15 -1");
}

static void main_programs_without_a_name(void **state)
{
    (void)state;
    found("x = 1\ncontains\nsubroutine s\nend subroutine\nend program\n", false,
          " 1-5 -1; s 3-4 0");
    found("x = 1\ny = 2\n", false, ""); /* an include file */
    found("MACRO\nsubroutine s\nend\n", false, "s 2-3 -1");
    found("interface\nsubroutine d\nend\nend interface\nx = 1\nend\n", false, " 1-6 -1");
    found("interface\nsubroutine d\nend\nend interface\n", false, "");
}

static void submodules_and_prefixes(void **state)
{
    (void)state;
    found("submodule (a) b\ncontains\nmodule procedure f\nend procedure\n"
          "module subroutine g\nend subroutine\nend submodule\n"
          "attributes(global) subroutine k(a)\nend subroutine\n"
          "impure real*8 function r()\nend function\n"
          "class(t) pure function u()\nend\n",
          false, "f 3-4 -1; g 5-6 -1; k 8-9 -1; r 10-11 -1; u 12-13 -1");
}

static void ends_that_are_none(void **state)
{
    (void)state;
    found("subroutine s\nend = 1\nend(1) = 2\nendif\nend do\nend where\nend select\nend type\n"
          "end associate\nend subroutine s\nsubroutine t\nend\n",
          false, "s 1-10 -1; t 11-12 -1");
    found("program p\ncontains\nsubroutine s\nend program\nsubroutine t\nend\n", false,
          "p 1-4 -1; s 3-3 0; t 5-6 -1");
    found("end\nend module\nend subroutine\nsubroutine s\nx = 1\n", false, "s 4-5 -1");
}

static void conditions(void **state)
{
    (void)state;
    found("#ifdef A\nsubroutine s(a)\n#else\nsubroutine s(a, b)\n#endif\nend subroutine\n"
          "subroutine t\nend\n",
          false, "s 2-6 -1; t 7-8 -1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_and_a_program),       cmocka_unit_test(fixed_form),
        cmocka_unit_test(main_programs_without_a_name), cmocka_unit_test(submodules_and_prefixes),
        cmocka_unit_test(ends_that_are_none),           cmocka_unit_test(conditions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
