/*
 * Tests of runtime/source/check*.c with libclang: good and bad candidates in C, C++ and CUDA, with
 * and without headers, in complete and broken context.
 */
/* tsan: left out, starts no thread. */
#include "tests/source/check.h"

/* A text, with good and bad fillings of its gap. */
typedef struct sample {
    const char *candidate, *message; /* message NULL: good */
} sample;

static void all_of(hpc_language l, const char *text, bool strict, const sample *list, size_t n)
{
    hpc_checker *c = open_checker(0);
    hpc_check_file *f = open_text(c, l, text);
    assert_int_equal(hpc_check_file_base(f)->strict, strict);
    for (size_t k = 0; k < n; k++) {
        if (list[k].message)
            bad(f, list[k].candidate, list[k].message);
        else
            good(f, list[k].candidate);
    }
    hpc_check_file_close(f);
    hpc_checker_close(c);
}
#define ALL_OF(l, text, strict, list) all_of(l, text, strict, list, sizeof(list) / sizeof *(list))

/* ---- whole files ---------------------------------------------------------------------------- */

static void c_with_all_headers(void **state)
{
    (void)state;
    NEED_LIBRARY;
    static const sample list[] = {
        {"", NULL},
        {"y[i] += a * x[i];", NULL},
        {"y[i] += a * x[i]", "expected ';' after expression"},
        {"y[i] += a * z[i];", "use of undeclared identifier 'z'"},
        {"y[i] += a * (x[i];", "expected ')'"},
        {"if (x[i] > 0) { y[i] = sqrt(x[i]); }", NULL},
        {"if (x[i] > 0) { y[i] = sqrt(x[i]);", "function definition is not allowed here"},
        {"}", "extraneous closing brace"},
        {"y[i] = malloc(8);", "assigning to 'double' from incompatible type 'void *'"},
        {"no_such_function(y);", "call to undeclared function 'no_such_function'"},
        {"const char *s = \"open;", "expected expression"},
        {"int x;", NULL}, /* hides the parameter */
        {"goto nowhere;", "use of undeclared label 'nowhere'"},
    };
    ALL_OF(HPC_LANGUAGE_C,
           "#include <math.h>\n#include <stdlib.h>\n"
           "void f(int n, double a, const double *x, double *y)\n{\n"
           "    for (int i = 0; i < n; i++) {\n        @\n    }\n}\n"
           "int main(void) { f(0, 0, NULL, NULL); return 0; }\n",
           true, list);
}

static void places_and_counts(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_check_file *f = open_text(c, HPC_LANGUAGE_C, "int f(int x)\n{\n    @\n}\nint g;\n");
    hpc_check r = bad(f, "x = 1;\n    return y + z;", "undeclared identifier 'y'");
    assert_int_equal(r.parse, 0);
    assert_int_equal(r.semantic, 2);
    assert_false(r.of_parser);
    assert_int_equal(r.line, 4);
    assert_int_equal(r.column, 12);
    r = bad(f, "return x +;", "expected expression");
    assert_int_equal(r.parse, 1);
    assert_int_equal(r.semantic, 0);
    assert_true(r.of_parser);
    assert_int_equal(r.line, 3);
    assert_int_equal(r.column, 15);
    /* after the gap, on a line that has moved */
    r = bad(f, "\n\nreturn x; }\nint g() { return 1;", "redefinition of 'g' as different kind");
    assert_int_equal(r.line, 8);
    hpc_check_file_close(f);
    hpc_checker_close(c);
}

static void cpp_with_all_headers(void **state)
{
    (void)state;
    NEED_LIBRARY;
    static const sample list[] = {
        {"return std::accumulate(v.begin(), v.end(), 0.0);", NULL},
        {"std::sort(v.begin(), v.end(), [](double a, double b) { return a > b; });", NULL},
        {"std::sort(v.begin(), v.end(), [](double a, double b) { return a > b; ;", "expected ')'"},
        {"for (const auto &x : v) s.insert(x);", NULL},
        {"for (const auto &x : v s.insert(x);", "expected ')'"},
        {"return v.length();", "no member named 'length'"},
        {"std::sort(s.begin(), s.end());",
         "invalid operands to binary expression"}, /* in a header */
        {"auto f = [&](auto x) { return x + v[0]; }; return f(1);", NULL},
        {"template <class T> void g();", "expected expression"},
    };
    ALL_OF(HPC_LANGUAGE_CPP,
           "#include <algorithm>\n#include <numeric>\n#include <set>\n#include <vector>\n"
           "double f(std::vector<double> &v, std::set<double> &s)\n{\n    @\n    return 0;\n}\n",
           true, list);
}

static void an_error_in_a_header_has_a_place(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_check_file *f = open_text(c, HPC_LANGUAGE_CPP,
                                  "#include <algorithm>\n#include <list>\n"
                                  "void f(std::list<int> &l)\n{\n    @\n}\n");
    hpc_check r = bad(f, "\n    std::sort(l.begin(), l.end());", "invalid operands");
    assert_int_equal(r.line, 6);
    assert_int_equal(r.column, 10);
    hpc_check_file_close(f);
    hpc_checker_close(c);
}

static void openmp(void **state)
{
    (void)state;
    NEED_LIBRARY;
    static const sample list[] = {
        {"#pragma omp parallel for reduction(+:s)\n", NULL},
        {"#pragma omp parallel for reduction(+:t)\n", "undeclared identifier 't'"},
        {"#pragma omp parallel for reduction(+:s\n", "expected ')'"},
        {"#pragma omp parallel for scheduel(static)\n", NULL}, /* a warning */
        {"#pragma omp parallel for schedule(sometimes)\n", "expected 'static'"},
        {"#pragma omp target teams distribute parallel for simd reduction(+:s)\n", NULL},
        {"#pragma omp parallel for\n{ }\n", "statement after '#pragma omp parallel for' must be"},
        {"omp_set_num_threads(omp_get_num_procs());\n", NULL},
        {"omp_lock_t l; omp_init_lock(l);\n", "incompatible type"},
    };
    ALL_OF(HPC_LANGUAGE_C,
           "#include <omp.h>\ndouble f(int n, double *x)\n{\n    double s = 0;\n@"
           "    for (int i = 0; i < n; i++) s += x[i];\n    return s;\n}\n",
           true, list);
}

/* ---- CUDA ----------------------------------------------------------------------------------- */

static void cuda(void **state)
{
    (void)state;
    NEED_LIBRARY;
    static const sample list[] = {
        {"int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] += a * x[i];", NULL},
        {"int i = blockIdx.x * blockDim.x + threadIdx.x\n    if (i < n) y[i] = 0;", "expected ';'"},
        {"__shared__ double s[256]; __syncthreads(); s[0] = __ldg(x);", NULL},
        {"extern __shared__ double s[];", NULL},
        {"for (int i = 0; i < n; i++ { y[i] = 0; }", "expected"},
        {"if (threadIdx.x == 0) { atomicAdd(y, 1.0);", "expected '}'"},
        {"} __global__ void __launch_bounds__(128, 2) k(float4 *v, dim3 d) {", NULL},
        {"} void g() { f<<<dim3(1, 2), 256, 0, stream>>>(1, 2.0, p, q);", NULL},
        {"} void g(double *p) { f<<<1, 256>>(1, 2.0, p, p);", "expected '>>>'"},
        {"} void g(cudaStream_t s) { f<<<1, 256, 0, s>>>(1, 2.0, 0, 0) }", "expected ';'"},
    };
    static const char text[] = "#include <cuda_runtime.h>\n#include <no_such_library.h>\n"
                               "__device__ __forceinline__ double g(double x) { return x; }\n"
                               "__global__ void f(int n, double a, const double *__restrict__ x, "
                               "double *y)\n{\n    @\n}\n";
    ALL_OF(HPC_LANGUAGE_CUDA, text, false, list);
    static const sample hip[] = {
        {"y[0] = hipThreadIdx_x;", NULL},
        {"} void g() { hipLaunchKernelGGL(f, dim3(1), dim3(64), 0, 0, 1, 2.0, p, q);", NULL},
        {"} void g() { hipLaunchKernelGGL(f, dim3(1), dim3(64), 0, 0, 1, 2.0, p, q;",
         "unterminated function-like"},
    };
    ALL_OF(
        HPC_LANGUAGE_HIP,
        "#include <hip/hip_runtime.h>\n__global__ void f(int n, double a, double *x, double *y)\n"
        "{\n    @\n}\n",
        false, hip);
}

/* ---- without headers ------------------------------------------------------------------------ */

/* The functions of the toolkits and of the C library, on the host and on the device. */
static void cuda_functions_are_declared(void **state)
{
    (void)state;
    NEED_LIBRARY;
    static const char *const texts[] = {
        "#include <cuda.h>\n#include <vector>\n"
        "__device__ float f(float x)\n{\n"
        "    return sqrtf(x) + fminf(x, 1) + max(1, 2) + pow(x, 2.0) + std::sqrt(x) + "
        "__expf(x);\n}\n"
        "__global__ void k(float *p, half *h, unsigned long long *c)\n{\n"
        "    __shared__ float s[32];\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    s[i] = f(p[i]) + __half2float(h[i]);\n    __syncthreads();\n"
        "    s[i] += __shfl_down_sync(~0u, s[i], 16) + __ldg(&p[i]);\n"
        "    atomicAdd(&p[0], s[i]);\n    atomicMax(c, 1ull);\n    h[i] = h[i] * 2.0f;\n"
        "    half2 a = make_half2(h[0], h[1]), b(1.0f, 2.0f);\n    a += a * b - h2exp(b);\n"
        "    h[i] *= 2;\n    h[i] += a.x;\n    s[i] += exp10f(s[0]) + nanf(\"\") + j0(1.0);\n"
        "    if (i == 0) printf(\"%f\\n\", s[0]);\n}\n"
        "void g(std::vector<float> &v, cudaStream_t s)\n{\n"
        "    float *p;\n    cudaEvent_t e;\n    cudaDeviceProp d;\n"
        "    cudaGetDeviceProperties(&d, 0);\n    cudaMalloc(&p, v.size() * sizeof *p);\n"
        "    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);\n"
        "    cudaMemcpyAsync(p, v.data(), 4, cudaMemcpyHostToDevice, s);\n"
        "    k<<<dim3(1, d.maxGridSize[0]), 32, 0, s>>>(p, nullptr, nullptr);\n"
        "    cudaPointerAttributes a;\n    if (a.type == cudaMemoryTypeDevice) return;\n"
        "    if (cudaGetLastError() == cudaErrorIllegalAddress) return;\n"
        "    if (cudaGetLastError() != cudaSuccess) puts(cudaGetErrorString(cudaGetLastError()));\n"
        "    v[0] = std::min(v[1], 2.0f) + std::abs(-1) + exp(1) + make_float3(1, 2, 3).y;\n"
        "    @\n}\n",
        "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n"
        "void g(void *p)\n{\n    hipMalloc(&p, 8);\n    hipMemset(p, 0, 8);\n"
        "    hipDeviceSynchronize();\n    @\n}\n",
    };
    hpc_checker *c = open_checker(0);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        hpc_check_file *f = open_text(c, k == 0 ? HPC_LANGUAGE_CUDA : HPC_LANGUAGE_HIP, texts[k]);
        const hpc_check_base *base = hpc_check_file_base(f);
        if (base->error[0]) print_error("%s\n", base->error);
        assert_int_equal(base->parse, 0);
        assert_int_equal(base->semantic, 0);
        hpc_check_file_close(f);
    }
    hpc_checker_close(c);
}

static void c_without_headers(void **state)
{
    (void)state;
    NEED_LIBRARY;
    static const sample list[] = {
        {"HYPRE_Int i, j; HYPRE_Real *y = (HYPRE_Real *) malloc(n), z;", NULL},
        {"HYPRE_Int i, j; HYPRE_Real *y = (HYPRE_Real *) malloc(n, z;", "expected"},
        {"hypre_Vector *w = hypre_CTAlloc(hypre_Vector, n, HYPRE_MEMORY_HOST);", NULL},
        {"hypre_Vector *v = hypre_CTAlloc(hypre_Vector, n, HYPRE_MEMORY_HOST);",
         "redefinition of 'v'"},
        {"hypre_Vector **w = hypre_TAlloc(hypre_Vector *, n, HYPRE_MEMORY_HOST);", NULL},
        {"for (HYPRE_Int k = 0; k < n; k++) { x[k] = (HYPRE_Complex) k * 2; }", NULL},
        {"for (HYPRE_Int k = 0; k < n, k++) { x[k] = 0; }", "expected ';' in 'for'"},
        {"hypre_BoxLoop1Begin(n, k) { x[k] = 0; } hypre_BoxLoop1End(k);", NULL},
        {"MPI_Comm comm = MPI_COMM_WORLD; MPI_Allreduce(x, x, 1, MPI_INT, MPI_SUM, comm);", NULL},
        {"MPI_Comm comm = MPI_COMM_WORLD MPI_Barrier(comm);", "expected ';'"},
        {"hypre_printf(\"%d\\n\", n)\n    n = 0;", "expected ';'"},
        {"hypre_printf(\"%d\\n\", n;", "expected"},
        {"if (hypre_error_flag) { return 1;", "expected"},
        {"return hypre_error_flag;", NULL},
        {"x->data = hypre_X(x)->y[3].z;", NULL},
        {"x->data = = 3;", "expected expression"},
        {"#include \"another.h\"\n", NULL},
    };
    ALL_OF(HPC_LANGUAGE_C,
           "#include <mpi.h>\n#include \"hypre.h\"\n"
           "static INLINE HYPRE_Int before(void) { return hypre_error_flag; }\n"
           "HYPRE_Int f(HYPRE_Int n, HYPRE_Complex *x, hypre_ParVector *v)\n{\n    @\n"
           "    return before();\n}\n",
           false, list);
}

static void cpp_without_headers(void **state)
{
    (void)state;
    NEED_LIBRARY;
    static const sample list[] = {
        {"Kokkos::parallel_for(\"f\", n, KOKKOS_LAMBDA(const int i) { a(i) = 0; });", NULL},
        {"amrex::ParallelFor(b, [=] AMREX_GPU_DEVICE (int i, int j, int k) noexcept "
         "{ u(i, j, k) = 0; });",
         NULL},
        {"IntVect low(AMREX_D_DECL(0, 0, 0)); low[0] = 1;", NULL}, /* a type, as above */
        {"AMREX_D_TERM(Box const x = m.box(0);, Box const y = m.box(1);)", NULL},
        {"for (MFIter m(u); m.isValid(); ++m) { const Box &b = m.tilebox(); f(b, b); }", NULL},
        {"for (MFIter m(u); m.isValid(); ++m) { const Box &b = m.tilebox(); f(b, b);",
         "expected '}'"},
        {"std::vector<Real> v(3); v.push_back(2) v.pop_back();", "expected ';'"},
        {"RAJA::forall<RAJA::omp_parallel_for_exec>(r, [=](int i) { y[i] = i; });", NULL},
        {"RAJA::forall<RAJA::omp_parallel_for_exec>(r, [=](int i) { y[i] = i; );", ""},
    };
    ALL_OF(
        HPC_LANGUAGE_CPP,
        "#include <vector>\n#include <AMReX.H>\n#include <Kokkos_Core.hpp>\n"
        "void g(Vector<IntVect> &r);\nvoid f(Box const &a, Real x)\n{\n    int n = 3;\n    @\n}\n",
        false, list);
}

static void names_of_a_header_do_not_hide_errors(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_check_file *f =
        open_text(c, HPC_LANGUAGE_C, "#include \"no.h\"\nReal f(Real *x)\n{\n    @\n}\n");
    const hpc_check_base *base = hpc_check_file_base(f);
    assert_string_equal(base->missing, "no.h");
    assert_int_equal(base->parse, 1);
    assert_int_equal(base->semantic, 2);
    good(f, "Other *o = get(x); return *x;"); /* a type that only the candidate has */
    bad(f, "Other *o = get(x) return *x;", "expected ';'");
    hpc_check r = check(f, "return y;"); /* counted, and no reason */
    assert_int_equal(r.verdict, HPC_CHECK_GOOD);
    assert_int_equal(r.semantic, 1);
    hpc_check_file_close(f);
    hpc_checker_close(c);
}

static void headers_that_a_fragment_needs_are_included(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_check_file *f =
        open_text(c, HPC_LANGUAGE_CPP,
                  "double norm(std::vector<double> const& x) {\n    @\n}\nint main() {}\n");
    const hpc_check_base *base = hpc_check_file_base(f);
    assert_true(base->strict);
    assert_string_equal(base->headers, "<vector>");
    assert_non_null(strstr(base->error, "undeclared identifier 'std'"));
    assert_int_equal(base->line, 1);
    good(f, "double s = 0; for (double v : x) s += v * v; return std::sqrt(s);");
    good(f, "return std::accumulate(x.begin(), x.end(), 0.0);");
    bad(f, "return x.length();", "no member named 'length'");
    bad(f, "return squared(x);", "use of undeclared identifier 'squared'");
    hpc_check_file_close(f);
    f = open_text(c, HPC_LANGUAGE_C, "double norm(double x)\n{\n    @\n}\n");
    assert_string_equal(hpc_check_file_base(f)->headers, "");
    bad(f, "return sqrt(x);",
        "undeclared library function 'sqrt'"); /* no fragment: its own fault */
    hpc_check_file_close(f);
    hpc_checker_close(c);
}

static void bodies_after_an_unknown_type_are_judged(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_check_file *f =
        open_text(c, HPC_LANGUAGE_CPP, "int count(Grid const& g, int n) {\n    @\n}\n");
    assert_false(hpc_check_file_base(f)->strict);
    good(f, "int k = g.cells(); return k + n;");
    bad(f, "int n = 0; return n;", "redefinition of 'n'");
    bad(f, "return g.cells() + total;", "use of undeclared identifier 'total'");
    hpc_check_file_close(f);
    hpc_checker_close(c);
}

static void a_function_that_lacks_its_return_is_refused(void **state)
{
    (void)state;
    NEED_LIBRARY;
    hpc_checker *c = open_checker(0);
    hpc_check_file *f = open_text(c, HPC_LANGUAGE_C, "int f(int n)\n{@\n");
    good(f, "\n    return n;\n}");
    bad(f, "\n    n++;\n}", "does not return a value");
    bad(f, "\n    if (n) return 1;\n}", "does not return a value in all control paths");
    hpc_check_file_close(f);
    f = open_text(c, HPC_LANGUAGE_C, "int f(int n)\n{\n    @\n}\n");
    good(f, "n++;"); /* the rest of the function is still to come */
    hpc_check_file_close(f);
    hpc_checker_close(c);
}

/* ---- broken surroundings -------------------------------------------------------------------- */

static void a_body_that_is_missing(void **state)
{
    (void)state;
    NEED_LIBRARY;
    static const sample list[] = {
        {"{ return x; }", NULL},
        {"{\n    if (x) return 1;\n    return 0;\n}\n", NULL},
        {"{ return x }", "expected ';'"},
        {"{ return x;", "function definition is not allowed here"},
        {"{ return q; }", "undeclared identifier 'q'"},
    };
    ALL_OF(HPC_LANGUAGE_C,
           "int f(int x)\n@\n\nint g(int x)\n{\n    return f(x) + 1;\n}\nint h = 3;\n", true, list);
}

static void the_end_that_is_missing(void **state)
{
    (void)state;
    NEED_LIBRARY;
    static const sample list[] = {
        {"return x; }", NULL},
        {"return x;", NULL},
        {"if (x) { return x; }", NULL},
        {"return x", "expected ';'"},
        {"return (x; }", "expected ')'"},
        {"} }", "extraneous"},
    };
    ALL_OF(HPC_LANGUAGE_C, "int f(int x)\n{\n    @", true, list);
}

static void the_middle_of_an_expression(void **state)
{
    (void)state;
    NEED_LIBRARY;
    static const sample list[] = {
        {"a, b", NULL},
        {"a, b + g(1, 2)", NULL},
        {"a, b)", "extraneous ')'"},
        {"a b", "expected ')'"},
        {"a, c", "undeclared identifier 'c'"},
    };
    ALL_OF(HPC_LANGUAGE_C,
           "int g(int x, int y);\nint f(int a, int b)\n{\n    int s = g(@);\n    return s;\n}\n",
           true, list);
    static const sample heads[] = {
        {"i < n; i++) {", NULL}, {"i < n; i++ {", "expected"}, {"i < m; i++) {", "identifier 'm'"}};
    ALL_OF(HPC_LANGUAGE_C,
           "int f(int n)\n{\n    int s = 0;\n    for (int i = 0; @\n        s += i;\n    }\n"
           "    return s;\n}\n",
           true, heads);
}

static void errors_that_were_there(void **state)
{
    (void)state;
    NEED_LIBRARY;
    static const sample list[] = {
        {"x = 1;", NULL},
        {"\n\n\nx = 1;\n\n", NULL}, /* everything after it moves */
        {"x = other;", "undeclared identifier 'other'"},
        {"x = 1", "expected ';'"},
        {"unknown(2);", NULL}, /* reported here instead of below */
    };
    hpc_checker *c = open_checker(0);
    hpc_check_flags flags;
    OK(hpc_check_flags_given(&flags, (const char *const[]){"-DN=1", NULL}, NULL));
    hpc_check_file *f = open_flags(c, HPC_LANGUAGE_C,
                                   "int g(int a) { return a +; }\nint h(void) { return missing; }\n"
                                   "void f(int x)\n{\n    @\n    unknown(x);\n    x = N;\n}\n"
                                   "int k(void) { return 1 1; }\n",
                                   &flags);
    const hpc_check_base *base = hpc_check_file_base(f);
    assert_true(base->strict);
    assert_int_equal(base->parse, 2);
    assert_int_equal(base->semantic, 2);
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        if (list[k].message)
            bad(f, list[k].candidate, list[k].message);
        else
            good(f, list[k].candidate);
    }
    hpc_check_file_close(f);
    hpc_check_flags_release(&flags);
    hpc_checker_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c_with_all_headers),
        cmocka_unit_test(places_and_counts),
        cmocka_unit_test(cpp_with_all_headers),
        cmocka_unit_test(an_error_in_a_header_has_a_place),
        cmocka_unit_test(openmp),
        cmocka_unit_test(cuda),
        cmocka_unit_test(cuda_functions_are_declared),
        cmocka_unit_test(c_without_headers),
        cmocka_unit_test(cpp_without_headers),
        cmocka_unit_test(names_of_a_header_do_not_hide_errors),
        cmocka_unit_test(headers_that_a_fragment_needs_are_included),
        cmocka_unit_test(bodies_after_an_unknown_type_are_judged),
        cmocka_unit_test(a_function_that_lacks_its_return_is_refused),
        cmocka_unit_test(a_body_that_is_missing),
        cmocka_unit_test(the_end_that_is_missing),
        cmocka_unit_test(the_middle_of_an_expression),
        cmocka_unit_test(errors_that_were_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
