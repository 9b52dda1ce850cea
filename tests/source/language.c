/*
 * Tests of runtime/source/language.c and language_fortran.c: languages by name and content, fixed
 * and free form.
 */
/* tsan: left out, starts no thread. */
#include "tests/source/tokens.h"

static void names(void **state)
{
    (void)state;
    static const char *const expected[HPC_LANGUAGE_N] = {"none", "c",       "c++",   "cuda",
                                                         "hip",  "fortran", "opencl"};
    for (int l = 0; l < HPC_LANGUAGE_N; l++) {
        assert_string_equal(hpc_language_name((hpc_language)l), expected[l]);
        assert_int_equal(hpc_language_named(expected[l]), l);
    }
    assert_int_equal(hpc_language_named("C"), HPC_LANGUAGE_NONE);
    assert_string_equal(hpc_language_name((hpc_language)99), "none");
    assert_string_equal(hpc_language_name((hpc_language)-1), "none");
}

static void by_path(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        hpc_language language;
    } cases[] = {
        {"a.c", HPC_LANGUAGE_C},         {"src/a.h", HPC_LANGUAGE_C},
        {"a.C", HPC_LANGUAGE_CPP},       {"a.cc", HPC_LANGUAGE_CPP},
        {"a.cpp", HPC_LANGUAGE_CPP},     {"a.cxx", HPC_LANGUAGE_CPP},
        {"a.hh", HPC_LANGUAGE_CPP},      {"a.hpp", HPC_LANGUAGE_CPP},
        {"a.H", HPC_LANGUAGE_CPP},       {"a.hxx", HPC_LANGUAGE_CPP},
        {"a.Hxx", HPC_LANGUAGE_CPP},     {"a.HXX", HPC_LANGUAGE_CPP},
        {"a.HPP", HPC_LANGUAGE_CPP},     {"a.inl", HPC_LANGUAGE_CPP},
        {"a.ipp", HPC_LANGUAGE_CPP},     {"a.tpp", HPC_LANGUAGE_CPP},
        {"a.txx", HPC_LANGUAGE_CPP},     {"a.cu", HPC_LANGUAGE_CUDA},
        {"a.cuh", HPC_LANGUAGE_CUDA},    {"a.cu.h", HPC_LANGUAGE_CUDA},
        {"a.hip", HPC_LANGUAGE_HIP},     {"a.hip.cpp", HPC_LANGUAGE_HIP},
        {"a.cl", HPC_LANGUAGE_OPENCL},   {"a.f", HPC_LANGUAGE_FORTRAN},
        {"a.F", HPC_LANGUAGE_FORTRAN},   {"a.for", HPC_LANGUAGE_FORTRAN},
        {"a.f77", HPC_LANGUAGE_FORTRAN}, {"a.ftn", HPC_LANGUAGE_FORTRAN},
        {"a.F90", HPC_LANGUAGE_FORTRAN}, {"a.f08", HPC_LANGUAGE_FORTRAN},
        {"a.py", HPC_LANGUAGE_NONE},     {"c", HPC_LANGUAGE_NONE},
        {".c", HPC_LANGUAGE_NONE},       {"dir.c/Makefile", HPC_LANGUAGE_NONE},
        {"a.", HPC_LANGUAGE_NONE},       {"", HPC_LANGUAGE_NONE},
        {"a.h.in", HPC_LANGUAGE_NONE},   {"a.tar.c", HPC_LANGUAGE_C},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (hpc_language_of_path(cases[i].path) != cases[i].language)
            fail_msg("%s: %s", cases[i].path,
                     hpc_language_name(hpc_language_of_path(cases[i].path)));
}

static void of(const char *path, const char *text, hpc_language expected)
{
    hpc_language l = hpc_language_of(path, text, strlen(text));
    if (l != expected) fail_msg("%s is %s: %s", path, hpc_language_name(l), text);
}

static void headers(void **state)
{
    (void)state;
    of("a.h", "int f(int class, int template);\nstruct s { int x; } namespace;\n", HPC_LANGUAGE_C);
    of("a.h", "/* class a { */ const char *s = \"namespace x {\"; // std::\n", HPC_LANGUAGE_C);
    of("a.h", "#define X std::y\n", HPC_LANGUAGE_C);
    of("a.h",
       "#ifdef __cplusplus\nextern \"C\" {\nnamespace a { class b; }\n#endif\nint f(void);\n",
       HPC_LANGUAGE_C);
    of("a.h", "#ifdef __cplusplus\n#if X\n#endif\n#else\n#endif\nclass b {};\n", HPC_LANGUAGE_CPP);
    of("a.h", "#ifndef __cplusplus\n#else\nclass b {};\n#endif\n", HPC_LANGUAGE_C);
    of("a.h", "class a : b {\n", HPC_LANGUAGE_CPP);
    of("a.h", "template <int N> int f();", HPC_LANGUAGE_CPP);
    of("a.h", "namespace\n{\n", HPC_LANGUAGE_CPP);
    of("a.h", "struct a { public: int b; };", HPC_LANGUAGE_CPP);
    of("a.h", "void f(std::vector<int> &a);", HPC_LANGUAGE_CPP);
    of("a.h", "#include <vector>\n", HPC_LANGUAGE_CPP);
    of("a.h", "#include <stdio.h>\n#include \"sys/types.h\"\n", HPC_LANGUAGE_C);
    of("a.h", "#include \"b.hpp\"\n", HPC_LANGUAGE_CPP);
    of("a.c", "class a;", HPC_LANGUAGE_C);
    of("a.h", "", HPC_LANGUAGE_C);
}

static void devices(void **state)
{
    (void)state;
    of("a.cpp", "#include <hip/hip_runtime.h>\nint main() {}\n", HPC_LANGUAGE_HIP);
    of("a.cpp", "void f() { hipLaunchKernelGGL(k, 1, 2); }", HPC_LANGUAGE_HIP);
    of("a.cu", "#include \"hip/hip_runtime.h\"\n", HPC_LANGUAGE_HIP);
    of("a.cpp", "__global__ void k() {}\n", HPC_LANGUAGE_CUDA);
    of("a.cpp", "#define K __global__\n", HPC_LANGUAGE_CPP);
    of("a.hpp", "void f() { k<<<1, 2>>>(); }", HPC_LANGUAGE_CUDA);
    of("a.h", "__global__ void k(int *a);\n", HPC_LANGUAGE_CUDA);
    of("a.cpp", "#include <cuda_runtime.h>\nint main() {}\n", HPC_LANGUAGE_CPP);
    of("a.h",
       "#ifndef A_H\n#define A_H\n#ifdef HIP\n#include <hip/hip_runtime.h>\n#endif\n#endif\n",
       HPC_LANGUAGE_C); /* portable */
    of("a.h", "#ifndef A_H\n#define A_H\n#include <hip/hip_runtime.h>\n#endif\n", HPC_LANGUAGE_HIP);
    of("a.h", "__kernel void k(__global int *a) {}\n", HPC_LANGUAGE_OPENCL);
    of("a.cl", "kernel void k() {}", HPC_LANGUAGE_OPENCL);
    of("a.cl", ";; lisp\n(defun f ())", HPC_LANGUAGE_NONE);
}

static void fortran_includes(void **state)
{
    (void)state;
    of("mpif.h", "! comment\n      integer a, b\n      parameter (a = 1)\n", HPC_LANGUAGE_FORTRAN);
    of("a.inc", "      common /blk/ x\n      double precision x\n", HPC_LANGUAGE_FORTRAN);
    of("a.inc", "static int f(void)\n{\n  return 1;\n}\n", HPC_LANGUAGE_C);
    of("a.inc", "std::vector<int> x;\n", HPC_LANGUAGE_CPP);
    of("a.inc", "<?php echo 1; ?>\n", HPC_LANGUAGE_NONE);
    of("a.inc", "mov rax, rbx\nret\n", HPC_LANGUAGE_NONE);
    of("a.h", "double x;\nreal y;\ninteger z;\n", HPC_LANGUAGE_C);
}

static bool fixed(const char *path, const char *text)
{
    return hpc_language_fixed_form(path, text, strlen(text));
}

static void forms(void **state)
{
    (void)state;
    assert_true(fixed("a.f", "      program x\n      end\n"));
    assert_true(fixed("a.F", "C comment\n      program x\n     &  y\n"));
    assert_true(fixed("a.for", ""));
    assert_true(fixed("a.f", "\tprogram x\n"));
    assert_true(fixed("a.f", "c$omp parallel do\n      do 10 i = 1, n\n 10   continue\n"));
    assert_false(fixed("a.f", "program x\n  call f(a, &\n    b)\nend program\n"));
    assert_false(fixed("a.f", "module m\ncontains\nsubroutine f\nend subroutine\nend module\n"));
    assert_false(fixed("a.f90", "C comment\n      program x\n"));
    assert_false(fixed("a.F90", ""));
    assert_true(fixed("a.inc", "c comment\n      integer x\n"));
    assert_false(fixed("a.inc", "! comment\n      integer x\n"));
    assert_false(fixed("a.cpp", "c comment\n"));
}

/* Four hundred lines count, one as much as another, in whatever order they come. */
static bool fixed_mixed(const char *first, int first_n, const char *then, int then_n)
{
    hpc_buf b = {0};
    for (int i = 0; i < first_n; i++) hpc_buf_text(&b, first);
    for (int i = 0; i < then_n; i++) hpc_buf_text(&b, then);
    assert_int_equal(b.failed, 0);
    bool is = hpc_language_fixed_form("a.f", b.data, b.n);
    hpc_buf_release(&b);
    return is;
}

static void forms_by_majority(void **state)
{
    (void)state;
    const char *fixed_line = "c x\n", *free_line = " x\n", *either = "! x\n";
    assert_false(fixed_mixed(fixed_line, 199, free_line, 201));
    assert_true(fixed_mixed(fixed_line, 200, free_line, 200));
    assert_true(fixed_mixed(free_line, 200, fixed_line, 200));
    assert_false(fixed_mixed(free_line, 201, fixed_line, 300));
    assert_true(fixed_mixed(either, 400, free_line, 1));
    assert_false(fixed_mixed(either, 399, free_line, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(by_path),
        cmocka_unit_test(headers),
        cmocka_unit_test(devices),
        cmocka_unit_test(fortran_includes),
        cmocka_unit_test(forms),
        cmocka_unit_test(forms_by_majority),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
