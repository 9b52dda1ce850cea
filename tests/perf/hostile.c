/*
 * hostile.c: features of broken, unusual, huge or deeply nested texts in linear time; slower code
 * would exceed the test's time limit.
 */
/* tsan: left out, starts no thread. */
#include "tests/perf/answer.h"
#include "tests/perf/history.h"

static void study(history *h, int from, int to)
{
    look(h, from, to);
    assert_int_equal(hpc_perf_reasons_find(&h->reasons, &h->features, -1, NULL, 20), 0);
    check_answer(&h->change, &h->features, &h->reasons, 20);
}

static const struct {
    const char *path, *before, *again, *other;
} huge[] = {
    {"a.c", "", "(", ")"},
    {"a.c", "void f(int n) {", "(", "{"},
    {"a.c", "void f(int n) {", "{", "}"},
    {"a.c", "void f(int n) {", "for (", ")"},
    {"a.c", "void f(int n) {", "for (;;)", "while (1)"},
    {"a.c", "void f(int n) {", "for (;;) {", "for (i"},
    {"a.c", "void f(int n) {", "while (1) ", ";"},
    {"a.c", "void f(int n) {", "while (", "))"},
    {"a.c", "void f(int n) {", "do {", "} while (x)"},
    {"a.c", "void f(int n) {", "do while (x)", ";"},
    {"a.c", "void f(int n) { for (int i = 0; i < n; i++) ", "a[", "i]"},
    {"a.c", "void f(int n) { for (int i = 0; i < n; i++) ", "a[(", "i)"},
    {"a.c", "void f(int n) { for (int i = 0; i < n; i++) ", "a[i*", "i]"},
    {"a.c", "void f(int n) {", "switch (x) {", "break;"},
    {"a.c", "void f(int n) {", "return ", ";"},
    {"a.c", "void f(int n) {", "x + ", "y;"},
    {"a.c", "void f(int n) {", "g(", "h)"},
    {"a.c", "void f(int n) {", "1,", "2;"},
    {"a.c", "", "int x; ", "long y;"},
    {"a.c", "", "void f() {}", "int g() {}"},
    {"a.c", "", "\"", "'"},
    {"a.c", "", "/*", "*/"},
    {"a.c", "", "#define x ", "#if 1\n"},
    {"a.c", "void f(int n) {\n", "#pragma omp parallel for\n", "#pragma omp simd\n"},
    {"a.c", "void f(int n) {\n", "#if 1\n{\n", "#else\n{\n#endif\n"},
    {"a.cpp", "void f(int n) {", "forall(", "[]{"},
    {"a.cpp", "void f(int n) {", "for_each(x, [&](auto y) {", "})"},
    {"a.cpp", "void f(int n) {", "vector<", ">"},
    {"a.cpp", "void f(int n) {", "for (auto x : y) ", ";"},
    {"a.cpp", "void f(", "vector<int> x, ", ") {}"},
    {"a.cpp", "void f(", "A<", ">"},
    {"a.cpp", "", "template <class T> void f(T x) { }\n", "A::"},
    {"a.f90", "subroutine s(n)\n", "do i = 1, n\n", "end do\n"},
    {"a.f90", "subroutine s(n)\n", "do i = 1, n; ", "end do;"},
    {"a.f90", "subroutine s(n)\n", "do while (x)\n", "end do\n"},
    {"a.f90", "subroutine s(n)\ndo i = 1, n\nx = ", "a(i, ", ")"},
    {"a.f90", "subroutine s(n)\n", "if (x) then\n", "end if\n"},
    {"a.f90", "", "subroutine s\ncontains\n", "end subroutine\n"},
    {"a.f90", "", "real(8) :: x\n", "&\n"},
    {"a.f", "      subroutine s\n", "      do 10 i = 1, n\n", "10    continue\n"},
    {"Makefile", "", "-O0 ", "-O2"},
    {"Makefile", "", "a=", "#"},
    {"CMakeLists.txt", "", "set(CMAKE_BUILD_TYPE ", "Debug)"},
};

static size_t bytes_of_one(void)
{
    const char *all = getenv("HPC_TEST_LONG");
    return all && *all ? 2000000 : 200000;
}

static void test_huge(void **state)
{
    enum { N = sizeof huge / sizeof *huge };
    history h = {.p = *state};
    hpc_buf text = {0};
    size_t bytes = bytes_of_one();
    for (int k = 0; k < N; k++) {
        for (int head = 0; head < 2; head++) {
            text.n = 0;
            hpc_buf_text(&text, huge[k].before);
            for (int part = 0; part < 3; part++) {
                if (head && part) hpc_buf_text(&text, huge[k].other);
                while (text.n < bytes * (size_t)(part + 1) / 3) hpc_buf_text(&text, huge[k].again);
            }
            for (int i = 0; head && i < 1000; i++) hpc_buf_text(&text, huge[k].other);
            commit_from(&h, 0);
            with_bytes(&h, huge[k].path, text.data, text.n);
        }
    }
    history_open(&h, NULL);
    for (int k = 0; k < N; k++) {
        int64_t start = hpc_clock_ns();
        study(&h, 2 * k + 1, 2 * k + 2);
        study(&h, 2 * k + 2, 2 * k + 1);
        if (getenv("HPC_TEST_SHOW"))
            printf("%5.0f ms: %s %s%s\n", (double)(hpc_clock_ns() - start) / 1e6, huge[k].path,
                   huge[k].before, huge[k].again);
        assert_true(h.change.n > 0);
    }
    history_close(&h);
    hpc_buf_release(&text);
}

static const char *const programs[][2] = {
    {"a.cpp",
     "#include <vector>\n#define N 100 // size\ntemplate <class T> class A {\n  T get(int i) const "
     "{ return v[i][2 * i]; }\n  std::vector<T> v;\n};\nstatic void f(std::vector<double> x, int "
     "n)\n{\n#pragma omp parallel for reduction(+ : s)\n  for (int i = 0; i < n; i++) {\n    while "
     "(x[i] > 0) x[i] = sqrt(x[i]) / 2;\n    do { x.push_back(1); } while (n--);\n    switch (n) { "
     "case 1: break; default: return; }\n  }\n  Kokkos::parallel_for(n, [=](int i) { a[b[i]] += "
     "1; });\n  for (auto c : x) s += c; k<<<1, 2>>>(x);\n}\n"},
    {"a.f90",
     "module m\ncontains\nsubroutine s(a, n)\n  real(8) :: a(n, n)\n!$omp parallel do\n  do i = 1, "
     "n\n    do while (a(i, 1) > 0)\n      a(i, 1) = a(i, j) / 2 ** 3\n      if (x) exit\n    end "
     "do\n  end do\n  call MPI_Send(a, n)\n  do concurrent (i = 1:n)\n  end do\ncontains\n  "
     "function g(x)\n  end function\nend subroutine\nend module\n"},
    {"Makefile",
     "CFLAGS = -O2 -g # flags\nall:\n\tcc -DCMAKE_BUILD_TYPE=Debug \"-march=native\"\n"},
};

/* Cut off anywhere, and with any byte of it another. */
static void test_unfinished(void **state)
{
    history h = {.p = *state};
    int whole[3], first[3], last[3];
    for (int k = 0; k < 3; k++) {
        const char *path = programs[k][0], *text = programs[k][1];
        size_t n = strlen(text);
        char cut[2048];
        whole[k] = commit_from(&h, 0);
        with(&h, path, text);
        first[k] = whole[k] + 1;
        for (size_t i = 0; i < n; i += 2) {
            commit_from(&h, 0);
            with_bytes(&h, path, text, i);
            memcpy(cut, text, n);
            cut[i] = (char)("({[<>]})\"'/*#\n;\\&! \xff"[hpc_random_bits(3, 0, 0, i) % 20]);
            last[k] = commit_from(&h, 0);
            with_bytes(&h, path, cut, n);
        }
    }
    history_open(&h, NULL);
    for (int k = 0; k < 3; k++)
        for (int to = first[k]; to <= last[k]; to++) {
            study(&h, whole[k], to);
            study(&h, to, whole[k]);
        }
    assert_true(h.commits_n > 500 && last[2] == h.commits_n);
    history_close(&h);
}

static void test_noise(void **state)
{
    static const char *const paths[] = {"a.c", "a.cpp", "a.cu", "a.f90", "a.f", "Makefile"};
    enum { ROUNDS = 60, BYTES = 3000 };
    history h = {.p = *state};
    char text[BYTES];
    for (uint32_t k = 0; k < ROUNDS; k++) {
        for (uint32_t i = 0; i < BYTES; i++) {
            uint32_t r = hpc_random_bits(4, k / 6, 0, i);
            text[i] = (char)("(){}[]<>;:,=+-*/%!&|^~?.#\"'\\ \n\tforwhiledoifx1"[r % 45]);
        }
        commit_from(&h, 0);
        with_bytes(&h, paths[k % 6], text, BYTES - k % 7);
    }
    history_open(&h, NULL);
    for (int k = 1; k + 6 <= ROUNDS; k++) study(&h, k, k + 6);
    history_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_huge, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_unfinished, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_noise, place_setup, place_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
