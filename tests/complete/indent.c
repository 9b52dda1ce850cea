/*
 * Tests of infer/complete/indent.c: completions adopt the file's tabs, indentation width and
 * margin, and are not changed if the file shows none.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "infer/complete/priv.h"
#include "tests/complete/at.h"
#include "tests/support/fault.h"
#include "tests/support/expect.h"

#define FOUR "void f(void)\n{\n    int a;\n    for (;;) {\n        a++;\n        b();\n    }\n}\n"
#define TWO  "void f(void)\n{\n  int a;\n  for (;;) {\n    a++;\n    b();\n  }\n}\n"
#define TABS "void f(void)\n{\n\tint a;\n\tfor (;;) {\n\t\ta++;\n\t\tb();\n\t}\n}\n"
#define GNU  "void f(void)\n{\n  int a;\n  for (;;)\n    {\n      a++;\n      b();\n    }\n}\n"
#define WILD "void f(void)\n{\nint a;\n for (;;) {\n       a++;\n b();\n  }\n}\n"

typedef struct example {
    const char *path, *file, *text, *expected; /* NULL: as it came */
} example;

static const example examples[] = {
    {"a.c", FOUR "void g(void)\n{\n@\n}\n", "    x();\n    if (a) {\n        y();\n    }", NULL},
    /* levels */
    {"a.c", FOUR "void g(void)\n{\n@\n}\n", "  x();\n  if (a) {\n    y();\n  }\n",
     "    x();\n    if (a) {\n        y();\n    }\n"},
    {"a.c", TWO "void g(void)\n{\n@\n}\n", "    x();\n    if (a) {\n        y();\n    }\n",
     "  x();\n  if (a) {\n    y();\n  }\n"},
    {"a.c", FOUR "void g(void)\n{\n    for (;;) {@\n",
     "\n      x();\n      if (a) {\n        y();\n      }\n    }",
     "\n        x();\n        if (a) {\n            y();\n        }\n    }"},
    /* margin */
    {"a.c", FOUR "void g(void)\n{\n    for (;;) {@\n",
     "\n    x();\n    if (a) {\n        y();\n    }\n}",
     "\n        x();\n        if (a) {\n            y();\n        }\n    }"},
    {"a.c", FOUR "void g(void)\n{\n    for (;;) {@\n", "\nx();\n#if 1\n    z();\n#endif",
     "\n        x();\n#if 1\n            z();\n#endif"},
    /* tabs */
    {"a.c", TABS "void g(void)\n{\n@\n}\n", "    x();\n    if (a) {\n        y();\n    }\n",
     "\tx();\n\tif (a) {\n\t\ty();\n\t}\n"},
    {"a.c", TABS "void g(void)\n{\n@\n}\n", "\tx();\n\tif (a) {\n\t\ty();\n\t}\n", NULL},
    {"a.c", FOUR "void g(void)\n{\n@\n}\n", "\tx();\n\tif (a) {\n\t\ty();\n\t}\n",
     "    x();\n    if (a) {\n        y();\n    }\n"},
    /* nothing is known */
    {"a.c", WILD "void g(void)\n{\n@\n}\n", "  x();\n  y();\n", NULL},
    {"a.c", GNU "void g(void)\n{\n@\n}\n", "  x();\n  if (a)\n    {\n      y();\n    }\n", NULL},
    {"a.c", "@", "int f(void)\n{\n   x();\n}\n", NULL},
    {"a.c", FOUR "void g(void)\n{\n@\n}\n", "    x(a,\n      b);\n    y();\n", NULL},
    {"a.c", FOUR "void g(void)\n{\n    x(@\n}\n", "a,\n      b);\n    y();\n", NULL},
    {"a.txt", "  a\n    b\n@", " c\n d", NULL},
    {"a.f", "      do 10 i = 1, n\n@", "      a(i) = 0\n 10   continue", NULL},
    {"a.f90", "subroutine s\n  do i = 1, n\n    a = 1\n    b = 2\n  end do\n@",
     "      do j = 1, n\n        a = 1\n      end do", "  do j = 1, n\n    a = 1\n  end do"},
};
enum { N = sizeof examples / sizeof *examples };

static void apply(hpc_buf *out, complete_indent *i, complete_stop *s, const char *text, size_t n)
{
    size_t end;
    bool over;
    out->n = 0;
    test_ok(complete_stop_find(&end, &over, s, text, n, false));
    test_ok(complete_indent_apply(out, i, s, text, n));
    test_ok(hpc_buf_add(out, "", 0));
}

static void test_as_the_file(void **state)
{
    (void)state;
    for (int k = 0; k < N; k++) {
        const example *e = &examples[k];
        hpc_spot d = place_in(e->path, e->file);
        complete_stop s;
        complete_indent i;
        hpc_buf out = {0};
        test_ok(complete_stop_create(&s, &d, HPC_STOP_FUNCTION));
        test_ok(complete_indent_create(&i, &d));
        apply(&out, &i, &s, e->text, strlen(e->text));
        if (strcmp(out.data, e->expected ? e->expected : e->text) != 0)
            print_error("%s\n%s\n", e->file, out.data);
        assert_string_equal(out.data, e->expected ? e->expected : e->text);
        complete_stop_release(&s);
        hpc_buf_release(&out);
        hpc_spot_close(&d);
    }
}

/* Complete lines that were emitted never change. */
static void test_line_by_line(void **state)
{
    (void)state;
    for (int k = 0; k < N; k++) {
        const example *e = &examples[k];
        hpc_spot d = place_in(e->path, e->file);
        complete_stop s;
        complete_indent i;
        hpc_buf out = {0}, told = {0};
        test_ok(complete_stop_create(&s, &d, HPC_STOP_FUNCTION));
        test_ok(complete_indent_create(&i, &d));
        for (size_t n = 1; n <= strlen(e->text); n++) {
            if (e->text[n - 1] != '\n' && n < strlen(e->text)) continue;
            apply(&out, &i, &s, e->text, n);
            assert_true(out.n >= told.n);
            if (told.n > 0) assert_memory_equal(out.data, told.data, told.n);
            told.n = 0;
            test_ok(hpc_buf_add(&told, out.data, out.n));
        }
        assert_string_equal(told.data, e->expected ? e->expected : e->text);
        complete_stop_release(&s);
        hpc_buf_release(&out);
        hpc_buf_release(&told);
        hpc_spot_close(&d);
    }
}

static int learn(void *user)
{
    complete_indent i;
    return complete_indent_create(&i, user);
}

static void test_each_allocation_fails(void **state)
{
    (void)state;
    hpc_spot d = place_in("a.c", FOUR "@");
    assert_true(hpc_test_each_alloc(learn, &d) >= 2);
    hpc_spot_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_the_file),
        cmocka_unit_test(test_line_by_line),
        cmocka_unit_test(test_each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
