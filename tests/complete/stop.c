/*
 * Tests of infer/complete/stop.c: where lines, blocks and functions end.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/complete/priv.h"
#include "tests/complete/at.h"
#include "tests/support/fault.h"
#include "tests/support/expect.h"

/* '~' is where the text that comes ends; without one all of it belongs to the place. */
typedef struct example {
    const char *path, *file;
    hpc_complete_stop stop;
    const char *text;
} example;

#define LINE     HPC_STOP_LINE
#define BLOCK    HPC_STOP_BLOCK
#define FUNCTION HPC_STOP_FUNCTION

static const example examples[] = {
    /* lines */
    {"a.c", "int a = @;\n", LINE, "f(b)~\nint c"},
    {"a.c", "@\n", LINE, "\n\nint a;~\nint b;"},
    {"a.c", "x = f(@);\n", LINE, "a, (b)~);\ny"},
    {"a.c", "x = f(@", LINE, "a, (b));~\ny"},
    {"a.c", "x = v[@];\n", LINE, "i~] + 1"},
    {"a.txt", "words @", LINE, "and {~\nmore"},
    {"a.txt", "words @", BLOCK, "and }\nmore~\n\nothers"},
    /* blocks by indentation */
    {"a.py", "def f(x):\n    y = x@", BLOCK, " + 1\n\n    return y~\n\ndef g():\n    pass\n"},
    {"a.py", "def f(x):@", BLOCK, "\n    if x:\n        return 1\n\n    return 2~\nf(3)\n"},
    {"a.py", "def f(x):\n    if x:@", BLOCK, "\n        y = 1\n        z = 2~\n    return y\n"},
    {"a.py", "def f(x):\n    if x:@", FUNCTION, "\n        y = 1\n    return y~\n\nf(1)\n"},
    {"a.py", "class A:\n    def f(self):\n        return 1@", BLOCK, "~\n\n    def g(self):\n"},
    {"a.py", "@", BLOCK, "def f(\n    a,\n):\n    return a~\n\nx = 1\n"},
    {"a.py", "    @", BLOCK, "x = [\n        1\n    ]\n    y = 2~\nz = 3\n"},
    {"a.js", "function f() {@", BLOCK, "\n  g();\n}~\nfunction g() {\n}\n"},
    {"Makefile", "all: a b@", BLOCK, "\n\tld a b~\n\na: a.c\n\tcc a.c\n"},
    {"Makefile", "CC = gcc\n@", BLOCK, "CFLAGS = -O2\nLDFLAGS =~\n\nall: a b\n"},
    {"R.md", "# Title\n\n@", BLOCK, "A sentence.\nAnother one.~\n\nA paragraph.\n"},
    /* blocks: the one that is begun, */
    {"a.c", "void f() {\n@\n}\n", BLOCK, "  a = 1;\n  for (;;) {\n    b();\n  }~\n  c();\n"},
    {"a.c", "void f() {\n@\n}\n", BLOCK, "  if (a) {\n  } else {\n  }~\n  c();\n"},
    {"a.c", "void f() {\n@\n}\n", BLOCK, "  do {\n  } while (x);\n  {\n }~\n  c();\n"},
    {"a.c", "void f() {\n@\n}\n", BLOCK, "  int v[] = {1, 2};\n  g(v);\n~}\n"},
    {"a.c", "void f() {\n@\n}\n", BLOCK, "  struct s { int a; };~\n  g(v);\n"},
    {"a.c", "@", BLOCK, "#include <x.h>\nint main(void)\n{\n}~\nint g()"},
    {"a.cpp", "void f() {\n@\n}\n", BLOCK,
     "  run(n, [=](int i) { a[i] = 0; });\n  if (x) { }~\n  y"},
    /* or the one around it, which what follows may have closed */
    {"a.c", "void f() {\n  for (;;) {\n@", BLOCK, "    a();\n  }~\n}\n"},
    {"a.c", "void f() {\n  for (;;) {\n@\n  }\n}\n", BLOCK, "    a();\n  ~}\n}\n"},
    {"a.c", "void f() {\n  for (;;) {@\n}\n\nvoid g() { }\n", BLOCK, "\n    a();\n  }~\n}\n"},
    {"a.c", "void f() {\n  for (;;) {\n    if (x) {@\n  }\n}\n", BLOCK, "\n y();\n    }~\n  }\n"},
    {"a.c", "void f() {\n  g(a, {@});\n}\n", BLOCK, "1, {2}~});\n"},
    {"a.c", "int v[] = {@", BLOCK, "1, 2};~\nint w"},
    {"a.c", "struct s {\n@", BLOCK, "  int a;\n};~\nint w"},
    {"a.c", "@", BLOCK, "int a;\n~}\n"},
    {"a.c", "int f(@", BLOCK, "int a) {\n  return a;\n}~\nint g"},
    {"a.c", "int f(int a@)\n{\n  return 0;\n}\n", BLOCK, ", int b~)\n{\n"},
    /* functions */
    {"a.c", "void f() {\n  for (;;) {\n@", FUNCTION, "    a();\n  }\n  if (x) { }\n}~\nvoid g()"},
    {"a.c", "void f() {\n@\n}\n", FUNCTION, "    a();\n  if (x) { }\n  b();\n~}\nvoid g()"},
    {"a.c", "int a;\n@\nint b;\n", FUNCTION,
     "int f(void)\n{\n  if (x) {\n  }\n  return 1;\n}~\nint g"},
    {"a.cpp", "namespace n {\nclass c {\n@\n};\n}\n", FUNCTION,
     "  int f() const { return 1; }~\n  int"},
    {"a.cpp", "namespace n {\nvoid f() {\n@", FUNCTION, "  a();\n}~\nvoid g() {}"},
    /* too few brackets after the cursor close the outer blocks */
    {"a.cpp", "namespace n {\nvoid f()\n{\n@\n\n} // namespace n\n", FUNCTION,
     "  if (x) { }\n  a();\n}~\nvoid g() {}"},
    {"a.c", "void f()\n{\n@\n\n#else\nvoid f()\n{\n}\n#endif\n", FUNCTION, "  a();\n}~\nvoid"},
    {"a.cpp", "class c {\n  void f() {\n@\n  int a;\n};\n", FUNCTION, "    a();\n  }~\n  void g()"},
    {"a.c", "void f() {\n  if (x) {\n    for (;;) {\n@\n  }\n}\n", BLOCK, "a();\n    }~\n    b();"},
    {"a.c", "void f() {\n  for (;;) {\n    if (x) {\n@\n    }\n}\n", FUNCTION,
     "      a();\n    ~}\n  }\n"},
    /* statements that end within their brackets */
    {"a.c", "void f() {\n@", FUNCTION, "  a[b[i] = 0~;\n}\nint"},
    {"a.c", "void f() {\n@", FUNCTION, "  g(a, h(b)~;\n  c();\n}\nint"},
    {"a.cpp", "void f() {\n@", BLOCK, "  for (a = 0; b[c] < 1; a++) { }~\n  d();"},
    {"a.cpp", "void f() {\n@", FUNCTION, "  run([] { a(); b(); });\n}~\nint"},
    {"a.c", "x = f(g(@);\n", LINE, "a)~);\ny"},
    /* comments, strings, directives */
    {"a.c", "void f() {\n  /* a { @\n", BLOCK, "} */\n  if (x) { }~\n  y"},
    {"a.c", "void f() {\n  /* a {\n   * @\n", BLOCK, "} */\n  if (x) { }~\n  y"},
    {"a.c", "void f() {\n  // a@\n", BLOCK, " { }\n  if (x) { }~\n  y"},
    {"a.c", "void f() {\n  g(\"@", BLOCK, "{ } )\");\n  if (x) { }~\n  y"},
    {"a.c", "void f() {\n#pragma omp parallel for \\\n  @\n", BLOCK,
     "schedule(static)\n  for (;;) { }~\n  y"},
    {"a.c", "#define X \\\n  @", BLOCK, "do { } while (0)\nint f() { }~\nint"},
    {"a.c", "void f() {\n  g(\"a (b;\n@\n}\n", BLOCK, "  if (x) { }~\n  y"},
    {"a.cpp", "auto s = u8R\"x(\n\"{ @", BLOCK, "} )\" )x\";\nvoid f() { }~\nint"},
    {"a.cpp", "auto s = R\"(\n{ @", BLOCK, "} \" )\";\nvoid f() { }~\nint"},
    {"a.c", "#if A\nvoid f() {\n#else\nvoid f(int b) {\n#endif\n@", FUNCTION, " a();\n}~\nint"},
    {"a.cpp", "extern \"C\" int f(int a)\n{@\nint b;\n", FUNCTION,
     "\n  if (a) { return 0; }\n  return 1;\n}~\nint"},
    /* the branch of an #if that holds the cursor */
    {"a.c", "void f() {\n#if 0\n  if (a) {@\n#endif\n}\n", BLOCK, "\n    b();\n  }~\n  c();\n"},
    {"a.c", "void f() {\n#if 0\n  if (a) {@\n  }\n#endif\n}\n", BLOCK, "\n    b();\n  ~}\n"},
    {"a.c", "void f() {\n#if A\n  {\n  }\n#else\n  if (a) {@\n#endif\n}\n", BLOCK,
     "\n    b();\n  }~\n"},
    {"a.c", "void f() {\n#if A\n  for (;;) {@\n#else\n  while (a) {\n#endif\n  }\n}\n", BLOCK,
     "\n    b();\n  ~}\n"},
    {"a.c", "void f() {\n#if A\n  a();\n}\n#else@\n  b();\n}\n#endif\n", BLOCK, "\n  c();\n~}\n"},
    {"a.c", "void f() {\n#if A\n#elif B@\n  b();\n}\n#else\n#endif\n", BLOCK, "\n  c();\n~}\n"},
    {"a.F90", "subroutine s\n#ifdef A\n  a = 1\nend\n#else@\n  a = 2\nend\n#endif\n", BLOCK,
     "\n  b = 1\n~end\n"},
    /* text after the cursor on its line */
    {"a.c", "typedef struct a {@ a_type;\n", BLOCK, "\n  int x;\n}~;\nint"},
    {"a.cpp", "class a {@;//class a\n", BLOCK, "\n  int x;\n}~;\nint"},
    {"a.c", "void f() {\n  if (a) {@ else {\n  }\n}\n", BLOCK, "\n    b();\n  }~ else"},
    {"a.c", "void f() {\n  if (a) {@ // why\n  }\n}\n", BLOCK, " b();~\n  c();\n"},
    {"a.c", "void f() {\n  g(@a);\n", BLOCK, "b, ~\n"},
    /* Fortran */
    {"a.f90", "subroutine s(n)\n  do i = 1, n\n@", BLOCK, "    a(i) = 0\n  end do~\nend"},
    {"a.f90", "subroutine s(n)\n  do i = 1, n\n@\n  end do\nend subroutine\n", BLOCK,
     "    a(i) = 0\n  ~end do\nend"},
    {"a.f90", "subroutine s(n)\n@", BLOCK, "  if (a) then\n  b = 1\n  else\n  endif~\n  c = 2\n"},
    {"a.f90", "subroutine s(n)\n  do i = 1, n\n@", FUNCTION,
     "    a(i) = 0\n  end do\nend subroutine s~\nsubroutine t"},
    {"a.f90", "module m\ncontains\n@\nend module\n", FUNCTION,
     "subroutine s\n  a = 1\nend subroutine~\nsubroutine t"},
    {"a.f90", "subroutine s(n)\n  if (x@", BLOCK, " > 0) then\n  y = 1\n  end if~\n z = 2\n"},
    {"a.f90", "subroutine s\n  end@\nend subroutine\n", BLOCK, "~ do\n  a = 1\n"},
    {"a.f90", "x = f(@)\n", LINE, "a(1)~)\ny"},
};
enum { N = sizeof examples / sizeof *examples };

static void whole(const example *e, size_t *end, char *text, size_t room)
{
    const char *mark = strchr(e->text, '~');
    *end = mark ? (size_t)(mark - e->text) : strlen(e->text);
    snprintf(text, room, "%.*s%s%s", (int)*end, e->text, mark ? mark + 1 : "", mark ? "\n" : "");
}

static void test_where_it_ends(void **state)
{
    (void)state;
    for (int k = 0; k < N; k++) {
        hpc_spot d = place_in(examples[k].path, examples[k].file);
        complete_stop s;
        char text[512];
        size_t expected, end;
        bool over;
        whole(&examples[k], &expected, text, sizeof text);
        test_ok(complete_stop_create(&s, &d, examples[k].stop));
        test_ok(complete_stop_find(&end, &over, &s, text, strlen(text), false));
        if (end != expected || over != (expected < strlen(text)))
            print_error("%s\n%s\n", examples[k].file, examples[k].text);
        assert_int_equal(end, expected);
        assert_int_equal(over, expected < strlen(text));
        complete_stop_release(&s);
        hpc_spot_close(&d);
    }
}

/* Byte by byte: once ended, the end stays in the same place, and lines that were accepted are never
 * withdrawn. The end of input is also an end. */
static void test_byte_by_byte(void **state)
{
    (void)state;
    for (int k = 0; k < N; k++) {
        hpc_spot d = place_in(examples[k].path, examples[k].file);
        complete_stop s;
        char text[512];
        size_t expected, end = 0, sure = 0;
        bool over = false;
        whole(&examples[k], &expected, text, sizeof text);
        test_ok(complete_stop_create(&s, &d, examples[k].stop));
        for (size_t n = 0; n <= strlen(text); n++) {
            bool was = over;
            test_ok(complete_stop_find(&end, &over, &s, text, n, false));
            assert_true(end <= n);
            assert_true(over || !was);
            if (over) assert_int_equal(end, expected);
            assert_true(end >= sure);
            for (size_t at = sure; at < end; at++)
                if (text[at] == '\n' && text[at - (at > 0)] != '\n') sure = at;
        }
        test_ok(complete_stop_find(&end, &over, &s, text, expected, true));
        assert_int_equal(end, expected);
        complete_stop_release(&s);
        hpc_spot_close(&d);
    }
}

/* Any beginning of this file as the file, any other part as what comes: nothing is read outside. */
static void test_any_place(void **state)
{
    (void)state;
    hpc_buf text = {0};
    test_ok(hpc_file_read(&text, "runtime/source/bracket.c", 1 << 20));
    for (size_t at = 0; at < 4000; at += 37) {
        hpc_spot d;
        complete_stop s;
        size_t end;
        bool over;
        test_ok(hpc_spot_open(&d, "a.cpp", text.data, 4000, (hpc_position){0}));
        d.at = at;
        for (int stop = LINE; stop <= (int)FUNCTION; stop++) {
            test_ok(complete_stop_create(&s, &d, (hpc_complete_stop)stop));
            test_ok(complete_stop_find(&end, &over, &s, text.data + at, 600, true));
            assert_true(end <= 600);
            complete_stop_release(&s);
        }
        hpc_spot_close(&d);
    }
    hpc_buf_release(&text);
}

/* Brackets, strings and comments that a completion leaves open. */
static void test_what_stays_open(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text;
        int64_t open;
    } all[] = {
        {"void f() {@", "\n  g(\"a\");\n}", 0},          {"void f() {@", "\n  g(\"a);\n}", 2},
        {"void f() {@", "\n  g(); /* a\n}", 2},          {"void f() {@", "\n  g(); // a '\n}", 0},
        {"void f() {@", "\n#error don't\n}", 0},         {"void f() {\n  g(\"@\");\n}\n", "a", 0},
        {"void f() {\n  g(\"@\");\n}\n", "a\", \"b", 0}, {"void f() {\n  g(@);\n}\n", "1, \"a", 1},
        {"void f() {\n  /* @ */\n}\n", "it's", 0},       {"void f() {\n@\n}\n", "  g('a);", 2},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        hpc_spot d = place_in("a.c", all[k].file);
        complete_stop s;
        int64_t open;
        test_ok(complete_stop_create(&s, &d, BLOCK));
        test_ok(complete_open_count(&open, &s, all[k].text, strlen(all[k].text)));
        if (open != all[k].open) print_error("%s\n%s\n", all[k].file, all[k].text);
        assert_int_equal(open, all[k].open);
        complete_stop_release(&s);
        hpc_spot_close(&d);
    }
}

/* Pairing takes memory for the product of those before the cursor and after it. */
static void test_deep_nesting(void **state)
{
    (void)state;
    enum { DEPTH = 5000 };
    char file[2 * DEPTH + 2];
    complete_stop s;
    size_t end;
    bool over;
    memset(file, '(', DEPTH);
    file[DEPTH] = '@';
    memset(file + DEPTH + 1, ')', DEPTH);
    file[sizeof file - 1] = '\0';
    hpc_spot d = place_in("a.c", file);
    test_ok(complete_stop_create(&s, &d, BLOCK));
    assert_int_equal(s.open_n, COMPLETE_OPEN_MOST);
    for (int64_t k = 0; k < s.open_n; k++) assert_true(s.open[k].closed);
    test_ok(complete_stop_find(&end, &over, &s, "a)", 2, false));
    assert_int_equal(end, 1);
    complete_stop_release(&s);
    hpc_spot_close(&d);
}

static int use(void *user)
{
    const hpc_spot *d = user;
    complete_stop s;
    size_t end;
    bool over;
    int rc = complete_stop_create(&s, d, BLOCK);
    if (rc >= 0) rc = complete_stop_find(&end, &over, &s, "a(b[c]); }\n", 11, true);
    complete_stop_release(&s);
    return rc;
}

static void test_each_allocation_fails(void **state)
{
    (void)state;
    hpc_spot d = place_in("a.c", "void f() {\n /* a */ for (;;) {\n @\n }\n}\n");
    assert_true(hpc_test_each_alloc(use, &d) >= 5);
    hpc_spot_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_it_ends), cmocka_unit_test(test_byte_by_byte),
        cmocka_unit_test(test_any_place),     cmocka_unit_test(test_what_stays_open),
        cmocka_unit_test(test_deep_nesting),  cmocka_unit_test(test_each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
