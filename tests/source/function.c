/*
 * Tests of runtime/source/function.c and branch.c: definitions in C-family languages, by name,
 * lines and body. function_fortran.c tests Fortran, lex.c hostile input.
 */
/* tsan: left out, starts no thread. */
#include "tests/source/tokens.h"

/* "name line-end_line; ..." of all that is found; every body begins with a brace. */
static void found(const char *text, hpc_language l, const char *expected)
{
    hpc_tokens t = test_lex(text, strlen(text), l, false);
    hpc_functions f = {0};
    hpc_buf b = {0};
    assert_int_equal(hpc_functions_find(&f, &t, text, l), 0);
    hpc_buf_text(&b, "");
    for (int64_t i = 0; i < f.n; i++) {
        const hpc_function *d = &f.item[i];
        assert_int_equal(text[d->body_at], '{');
        assert_int_equal(d->outer, -1);
        hpc_buf_printf(&b, "%s%.*s %u-%u", i > 0 ? "; " : "", (int)d->name_n, text + d->name_at,
                       d->line, d->end_line);
    }
    if (strcmp(b.data, expected) != 0)
        fail_msg("found \"%s\", not \"%s\", in:\n%s", b.data, expected, text);
    hpc_buf_release(&b);
    hpc_functions_release(&f);
    hpc_tokens_release(&t);
}

static void c(const char *text, const char *expected)
{
    found(text, HPC_LANGUAGE_C, expected);
}

static void cpp(const char *text, const char *expected)
{
    found(text, HPC_LANGUAGE_CPP, expected);
}

static const char realistic[] =
    "#include <x.h>\n"
    "/* void no(void) {} */\n"
    "struct point { double x, y; };\n"
    "enum { A = 1, B };\n"
    "static const int table[] = { 1, 2, (3) };\n"
    "int declared(int a);\n"
    "static inline double *first(const struct point *p,\n"
    "                            int (*f)(int), double a[static 3])\n"
    "{\n"
    "    if (p) { for (;;) { while (f(1)) { } } }\n"
    "    struct point q = { 1, 2 };\n"
    "    return (double[]){ q.x };\n"
    "}\n"
    "#define SKIP(x) void x(void) {\n"
    "struct point second(void) { return (struct point){ 0 }; } int third() {}\n"
    "int main(argc, argv)\n"
    "    int argc; /* old */\n"
    "    char **argv, *env;\n"
    "{\n"
    "}\n"
    "typedef struct { int a; } t;\n"
    "void last(void) __attribute__((noreturn));\n"
    "__attribute__((noreturn)) void last(void)\n"
    "{ }\n";

static void plain_c(void **state)
{
    (void)state;
    c(realistic, "first 7-13; second 15-15; third 15-15; main 16-20; last 23-24");
    hpc_tokens t = test_lex(realistic, sizeof realistic - 1, HPC_LANGUAGE_C, false);
    hpc_functions f = {0};
    assert_int_equal(hpc_functions_find(&f, &t, realistic, HPC_LANGUAGE_C), 0);
    assert_memory_equal(realistic + f.item[0].at, "static inline double", 20);
    assert_int_equal(realistic[f.item[0].end - 1], '}');
    assert_memory_equal(realistic + f.item[3].at, "int main(argc", 13);
    assert_memory_equal(realistic + f.item[4].at, "__attribute__((noreturn)) void", 30);
    hpc_functions_release(&f);
    hpc_tokens_release(&t);
}

static void macros_before_and_behind(void **state)
{
    (void)state;
    c("F77_NAME(dgemm, DGEMM)(int *a) { }", "dgemm 1-1");
    c("EXPORT(int) f(int a) { }", "f 1-1");
    c("int f(int a) NOTHROW { }\nint g(int a) LOCKS(x) HOLDS(y) { }", "f 1-1; g 2-2");
    c("DECLARE(x)\nDECLARE(y)\nint f(void)\n{ }", "f 3-4");
    c("declare_it(float, a)\ndeclare_it(double, b)\nstruct s { int (*f)(int); };\nint g() { }",
      "g 4-4");
    c("MAKE_LIST(s)\nint x;\nint y;\nvoid f(a) int a; { }", "f 4-4");
    c("int f(int) WEAK;\nextern int g(x) WEAK(y);\nint h() { }", "h 3-3");
    cpp("TEST(Suite, Name) { EXPECT(1); }", "TEST 1-1");
    cpp("NAMESPACE_BEGIN {\nvoid f() { }\n}", "f 2-2");
    cpp("class EXPORT(1) A : public B { void f() { } };", "f 1-1");
    found(
        "KOKKOS_INLINE_FUNCTION void f() { }\nextern \"C\" __global__ void\n"
        "__launch_bounds__(256, 2) k(int *a) { }\n__device__ __forceinline__ int d() { return 1; }",
        HPC_LANGUAGE_CUDA, "f 1-1; k 2-3; d 4-4");
    found("__kernel __attribute__((reqd_work_group_size(1, 1, 1)))\nvoid k(__global int *a) { }",
          HPC_LANGUAGE_OPENCL, "k 1-2");
}

static void classes(void **state)
{
    (void)state;
    cpp("namespace a { namespace b::c { class A final : public B<int(int)>, C {\n"
        "public:\n"
        "  A() : B<int>{1}, x(2), y{3} { }\n"
        "  explicit A(int z) try : x(z) { } catch (...) { }\n"
        "  A(const A &) = default;\n"
        "  virtual ~A() override { }\n"
        "  int get() const noexcept(true) { return x; }\n"
        "  int x = 1, y{2}, w : 3; int v[2] = { 1, 2 };\n"
        "  enum class E : int { P, Q };\n"
        "  struct { int s() { return 1; } } inner;\n"
        "  std::function<void(int)> f = [](int) { };\n"
        "}; } }\n"
        "extern \"C\" { void g() { } }\nextern \"C\" void h() { }",
        "A 3-3; A 4-4; ~A 6-6; get 7-7; s 10-10; g 13-13; h 14-14");
}

static void operators(void **state)
{
    (void)state;
    cpp("struct A {\n"
        "bool operator()(int i) const { }\nA &operator=(const A &) { }\nA operator+(A) && { }\n"
        "bool operator<(A) { }\nA &operator<<(A) { }\nint &operator[](int) { }\n"
        "operator bool() const { }\nvoid *operator new(size_t) { }\nA *operator->() { }\n"
        "operator std::vector<int>() { } auto operator<=>(A) const = default;\n};\n"
        "A A::operator-(int) { }\nA operator\"\"_k(long x) { }",
        "operator() 2-2; operator= 3-3; operator+ 4-4; operator< 5-5; operator<< 6-6; "
        "operator[] 7-7; operator bool 8-8; operator new 9-9; operator-> 10-10; "
        "operator std::vector<int> 11-11; A::operator- 13-13; operator\"\"_k 14-14");
}

static void templates(void **state)
{
    (void)state;
    cpp("template <class T, int N = (1 > 2)>\nstd::enable_if_t<(N < 3), T> f(T a)\n{ }\n"
        "template <> int f<int>(int a) { }\n"
        "template <typename T> A<T>::A() : x(1) { }\n"
        "template <typename T> void A<T>::B<int>::f() { }\n"
        "template <template <class> class C> auto g(C<int> &&c) -> decltype(c.x()) { }\n"
        "template <class... A> void h(A &&...a) requires X<A...> { }\n"
        "std::map<int, std::vector<int>> i() { }\n"
        "::a::b c::d() { }\nint A::~A() { }",
        "f 1-3; f<int> 4-4; A<T>::A 5-5; A<T>::B<int>::f 6-6; g 7-7; h 8-8; i 9-9; c::d 10-10; "
        "A::~A 11-11");
}

static void no_functions(void **state)
{
    (void)state;
    cpp("int a = f(1); auto b = [](int x) { return x; };\n"
        "int c[] = { g(1), h(2) }; A d{1}; A e(1);\n"
        "struct s { int x; } t = { 1 }; union { int a; }; enum e2 { Q = f(1) };\n"
        "static_assert(sizeof(int) == 4, \"\"); using F = void(int);\n"
        "void p(int) = delete; class k; template class A<int>;\n"
        "if (x) { } for (;;) { } MACRO({ int y; })\n",
        "");
    cpp("int f() { struct A { void g() { } }; auto l = [] { }; return 0; }", "f 1-1");
    c("", "");
}

static void conditions(void **state)
{
    (void)state;
    c("#if A\nint f(int a) {\n#else\nint f(int a, int b) {\n#endif\n}\nint g() { }",
      "f 2-6; g 7-7");
    c("int f() {\n#ifdef A\n if (a) {\n#elif B\n if (b) {\n#else\n {\n#endif\n }\n}\nint g() { }",
      "f 1-10; g 11-11");
    c("void f(\n#if A\n int a)\n#else\n int a, int b)\n#endif\n{ }\nint g() { }", "f 1-7; g 8-8");
    c("#if 0\nvoid f() {\n#endif\nint g() { }\n#if 0\n#else\nint h() { }\n#endif", "g 4-4; h 7-7");
    c("#if A\nint f() { }\n#else\nint g() { }\n#endif", "f 2-2; g 4-4");
    c("#if A\nint f(int a)\n#else\nint f(int a, int b)\n#endif\n{ }", "f 2-6");
    cpp("#ifdef __cplusplus\nextern \"C\" {\n#endif\nvoid f() { }\n#ifdef __cplusplus\n}\n#endif\n"
        "void g() { }",
        "f 4-4; g 8-8");
    c("#if A\nvoid f() {\n#if B\n{\n#else\n{\n#endif\n}\n#else\nvoid f(int a) "
      "{\n#endif\n}\n#endif\n"
      "void g() { }",
      "f 2-12; g 14-14");
}

/* Braces that do not match: '}' in the first column ends a function. */
static void unbalanced(void **state)
{
    (void)state;
    c("int f()\n{\n  BEGIN {\n}\nint g()\n{\n}\n", "f 1-4; g 5-7");
    c("int f() { }\n}\n}\nint g() { }", "f 1-1; g 4-4");
    c("int f() { if (x) {", "f 1-1");
    c("int f(((\nint g() { }", "");
    c("int f(((;\nint g() { }", "g 2-2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_c),    cmocka_unit_test(macros_before_and_behind),
        cmocka_unit_test(classes),    cmocka_unit_test(operators),
        cmocka_unit_test(templates),  cmocka_unit_test(no_functions),
        cmocka_unit_test(conditions), cmocka_unit_test(unbalanced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
