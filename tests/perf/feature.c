/*
 * Tests of infer/perf/feature.c and its basis: small changes of known kind with the features that
 * they must have, and harmless ones without features.
 */
/* tsan: left out, starts no thread. */
#include "tests/perf/history.h"

/* "name+ name- name=": features that must be above, below or at 0; "quiet": so must all be that
 * count events, and constants. Of the whole change. */
typedef struct planted {
    const char *what, *path, *base, *head, *expected;
} planted;

#define MATRIX(body)                                                                               \
    "void f(double a[N][N], double b[N][N], int n)\n{\n    for (int i = 0; i < n; i++)\n"          \
    "        for (int j = 0; j < n; j++)\n            " body "\n}\n"
#define VECTOR(body)                                                                               \
    "double f(double *x, const double *y, int n, double d)\n{\n    double s = 0;\n"                \
    "    for (int i = 0; i < n; i++) {\n        " body "\n    }\n    return s;\n}\n"
#define PLAIN(before, inside)                                                                      \
    "#include <stdlib.h>\ndouble f(double *x, int n)\n{\n    double s = 0;\n    " before "\n"      \
    "    for (int i = 0; i < n; i++) {\n        " inside "\n    }\n    return s;\n}\n"
#define LIST(head, body)                                                                           \
    "#include <vector>\n" head "\n{\n    double s = 0;\n    " body "\n    return s;\n}\n"
#define FORTRAN(body)                                                                              \
    "subroutine s(a, b, n)\n  integer :: n, i, j\n  real(8) :: a(n, n), b(n, n)\n" body            \
    "end subroutine s\n"

static const planted cases[] = {
    {"loop interchange", "f.c", MATRIX("a[i][j] += b[i][j];"), MATRIX("a[j][i] += b[j][i];"),
     "strided+ strided_work+ strided_innermost+ loops= loads= stores= changed_depth+"},
    {"loop interchange undone", "f.c", MATRIX("a[j][i] = b[j][i];"), MATRIX("a[i][j] = b[i][j];"),
     "strided- strided_work-"},
    {"the loops themselves change places", "f.c",
     "void f(double (*a)[N], int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) "
     "a[i][j] = 0; }\n",
     "void f(double (*a)[N], int n) { for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) "
     "a[i][j] = 0; }\n",
     "strided+ only_order+ loops= stores="},
    {"flat index, multiplied by the fast variable", "f.c",
     "void f(double *a, int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) "
     "a[i * n + j] = 1; }\n",
     "void f(double *a, int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) "
     "a[j * n + i] = 1; }\n",
     "strided+"},
    {"interchange in Fortran", "f.f90",
     FORTRAN("  do j = 1, n\n    do i = 1, n\n      a(i, j) = b(i, j)\n    end do\n  end do\n"),
     FORTRAN("  do i = 1, n\n    do j = 1, n\n      a(i, j) = b(i, j)\n    end do\n  end do\n"),
     "strided+ strided_work+ loops= stores="},
    {"division hoisted", "f.c", VECTOR("s += y[i] / d;"),
     "double f(double *x, const double *y, int n, double d)\n{\n    double s = 0;\n"
     "    double r = 1 / d;\n    for (int i = 0; i < n; i++) {\n        s += y[i] * r;\n    }\n"
     "    return s;\n}\n",
     "divisions_work- divisions_innermost- divisions= arithmetic_work+ loops="},
    {"hoisting broken", "f.c", PLAIN("double e = exp(x[0]);", "s += x[i] * e;"),
     PLAIN("", "s += x[i] * exp(x[0]);"), "math= math_work+ math_innermost+ loads_work+"},
    {"allocation moved into a loop", "f.c", PLAIN("double *t = malloc(n);", "t[i] = x[i];"),
     PLAIN("", "double *t = malloc(n); t[i] = x[i];"),
     "allocations= allocations_in_loops+ allocations_work+"},
    {"allocation moved out of a loop", "f.c", PLAIN("", "double *t = malloc(n); t[i] = x[i];"),
     PLAIN("double *t = malloc(n);", "t[i] = x[i];"), "allocations= allocations_in_loops-"},
    {"a container made in a loop", "f.cpp",
     LIST("double f(const std::vector<double> &x)",
          "std::vector<double> t(x.size()); for (size_t i = 0; i < x.size(); i++) t[i] = x[i];"),
     LIST("double f(const std::vector<double> &x)",
          "for (size_t i = 0; i < x.size(); i++) { std::vector<double> t(x.size()); t[i] = x[i]; "
          "}"),
     "allocations_in_loops+ allocations="},
    {"an array that is declared is not read", "f.cpp", "void f(int n) { g(n); }\n",
     "void f(int n) { double a[8]; g(n); auto *b = new T[n]; }\n",
     "loads= stores= allocations+ doubles+"},
    {"new in a loop", "f.cpp",
     "void f(int n) { auto *p = new double[n]; for (int i = 0; i < n; i++) g(p); delete[] p; }\n",
     "void f(int n) { for (int i = 0; i < n; i++) { auto *p = new double[n]; g(p); delete[] p; } "
     "}\n",
     "allocations_in_loops+ frees_in_loops+ allocations= frees="},
    {"strlen in the condition of a loop", "f.c",
     "int f(const char *s) { int c = 0; size_t n = strlen(s); for (size_t i = 0; i < n; i++) c += "
     "s[i] == 'a'; return c; }\n",
     "int f(const char *s) { int c = 0; for (size_t i = 0; i < strlen(s); i++) c += s[i] == 'a'; "
     "return c; }\n",
     "scans_in_loops+ scans_work+ scans="},
    {"what a loop begins with is done once", "f.c",
     "int f(const char *s) { int c = 0; int i = strlen(s); for (; i > 0; i--) c += s[i]; return c; "
     "}\n",
     "int f(const char *s) { int c = 0; for (int i = strlen(s); i > 0; i--) c += s[i]; return c; "
     "}\n",
     "scans_in_loops= scans= scans_work= loops="},
    {"erase in a loop", "f.cpp",
     LIST("double f(std::vector<int> &v)", "for (size_t i = 0; i < v.size(); i++) v[i] = 0;"),
     LIST("double f(std::vector<int> &v)", "while (!v.empty()) v.erase(v.begin());"),
     "scans_in_loops+ scans_work+ stores-"},
    {"a loop over the same bound in a loop", "f.c", PLAIN("", "s += x[i];"),
     PLAIN("", "for (int j = 0; j < n; j++) if (x[j] == x[i]) s += 1;"),
     "loops+ loops_work+ same_bounds+ nesting+ branches+"},
    {"find in a list, in a loop", "f.cpp",
     LIST("double f(const std::vector<int> &v, const std::set<int> &w)",
          "for (int x : v) if (w.count(x)) s++;"),
     LIST("double f(const std::vector<int> &v, const std::vector<int> &w)",
          "for (int x : v) if (std::find(w.begin(), w.end(), x) != w.end()) s++;"),
     "scans_in_loops+ lookups-"},
    {"a copy instead of a reference", "f.cpp",
     LIST("double f(const std::vector<double> &x)", "s += x[0];"),
     LIST("double f(std::vector<double> x)", "s += x[0];"), "by_value+ references- loads="},
    {"elements copied in a loop", "f.cpp",
     LIST("double f(const std::vector<Cell> &x)", "for (const auto &c : x) s += c.v;"),
     LIST("double f(const std::vector<Cell> &x)", "for (auto c : x) s += c.v;"),
     "by_value_in_loops+ references- loops="},
    {"numbers by value are no copies", "f.cpp", "double f(double x) { return x; }\n",
     "double f(double x, size_t n, int k) { return x; }\n", "by_value= references="},
    {"vectors lost by a branch", "f.c", VECTOR("s += x[i] * y[i];"),
     VECTOR("if (y[i] == d) break; s += x[i] * y[i];"),
     "branches_innermost+ exits_in_loops+ exits+"},
    {"vectors lost by a call", "f.c", VECTOR("s += x[i] * y[i];"), VECTOR("s += g(x[i], y[i]);"),
     "calls_in_loops+ calls_work+ arithmetic_innermost-"},
    {"a directive for vectors goes", "f.c",
     "void f(double *x, int n)\n{\n#pragma omp simd\n    for (int i = 0; i < n; i++) x[i] = "
     "0;\n}\n",
     "void f(double *x, int n)\n{\n    for (int i = 0; i < n; i++) x[i] = 0;\n}\n",
     "simd- loops= stores="},
    {"restrict goes", "f.c", "void f(double *restrict x, const double *restrict y) { *x = *y; }\n",
     "void f(double *x, double *y) { *x = *y; }\n", "restrict- const-"},
    {"noinline comes", "f.c", "static inline int f(int x) { return x; }\n",
     "static __attribute__((noinline)) int f(int x) { return x; }\n", "noinline+ inline-"},
    {"float becomes double", "f.c",
     "void f(float *x, int n) { for (int i = 0; i < n; i++) x[i] *= 2.0f; }\n",
     "void f(double *x, int n) { for (int i = 0; i < n; i++) x[i] *= 2.0f; }\n",
     "doubles+ singles- stores="},
    {"int becomes 64 bits", "f.c", "int f(int n) { int s = n; return s; }\n",
     "int f(int n) { int64_t s = n; return s; }\n", "wide+ integers-"},
    {"output in a loop", "f.c", PLAIN("", "s += x[i];"),
     PLAIN("", "s += x[i]; printf(\"%g\\n\", s);"), "io_in_loops+ io+ io_work+"},
    {"a lock in a loop", "f.c", PLAIN("pthread_mutex_lock(&m);", "s += x[i];"),
     PLAIN("", "pthread_mutex_lock(&m); s += x[i];"), "locks_in_loops+ locks= locks_work+"},
    {"an atomic in a parallel loop", "f.c",
     "void f(double *s, int n)\n{\n#pragma omp parallel for reduction(+:s)\n    for (int i = 0; i "
     "< n; i++) *s += i;\n}\n",
     "void f(double *s, int n)\n{\n#pragma omp parallel for\n    for (int i = 0; i < n; i++)\n"
     "#pragma omp atomic\n        *s += i;\n}\n",
     "atomics_in_loops+ reductions- parallel= workshares="},
    {"critical", "f.c",
     "void f(double *s, int n)\n{\n#pragma omp parallel for\n    for (int i = 0; i < n; i++) "
     "g(i);\n}\n",
     "void f(double *s, int n)\n{\n#pragma omp parallel for\n    for (int i = 0; i < n; i++)\n"
     "#pragma omp critical\n        g(i);\n}\n",
     "serial_in_loops+ serial_work+ calls="},
    {"a schedule", "f.c",
     "void f(int n)\n{\n#pragma omp parallel for schedule(static)\n    for (int i = 0; i < n; i++) "
     "g(i);\n}\n",
     "void f(int n)\n{\n#pragma omp parallel for schedule(dynamic, 1)\n    for (int i = 0; i < n; "
     "i++) g(i);\n}\n",
     "dynamic+ static- parallel="},
    {"parallel no more", "f.f90",
     FORTRAN("!$omp parallel do private(i)\n  do j = 1, n\n    do i = 1, n\n      a(i, j) = 0\n"
             "    end do\n  end do\n!$omp end parallel do\n"),
     FORTRAN("  do j = 1, n\n    do i = 1, n\n      a(i, j) = 0\n    end do\n  end do\n"),
     "parallel- workshares- loops= stores="},
    {"false sharing", "f.c",
     "void f(double *x, int n)\n{\n    int tid = omp_get_thread_num();\n    double s = 0;\n"
     "    for (int i = 0; i < n; i++) s += x[i];\n    sum[tid] = s;\n}\n",
     "void f(double *x, int n)\n{\n    int tid = omp_get_thread_num();\n"
     "    for (int i = 0; i < n; i++) sum[tid] += x[i];\n}\n",
     "thread_indexed= thread_indexed_work+"},
    {"a power instead of a product", "f.c", VECTOR("s += x[i] * x[i];"),
     VECTOR("s += pow(x[i], 2);"), "math+ math_innermost+ math_work+ loads-"},
    {"an indirect index", "f.c", VECTOR("s += x[i];"), VECTOR("s += x[idx[i]];"),
     "gathered+ gathered_work+ loads+"},
    {"a sort in a loop", "f.cpp",
     LIST("double f(std::vector<int> &v, int n)",
          "std::sort(v.begin(), v.end()); for (int i = 0; i < n; i++) s += v[0];"),
     LIST("double f(std::vector<int> &v, int n)",
          "for (int i = 0; i < n; i++) { std::sort(v.begin(), v.end()); s += v[0]; }"),
     "sorts_in_loops+ sorts= sorts_work+"},
    {"push_back instead of an index", "f.cpp",
     LIST("double f(std::vector<int> &v, int n)", "for (int i = 0; i < n; i++) v[i] = i;"),
     LIST("double f(std::vector<int> &v, int n)", "for (int i = 0; i < n; i++) v.push_back(i);"),
     "inserts_in_loops+ inserts+ stores-"},
    {"a message for each element", "f.c",
     "void f(double *x, int n) { MPI_Send(x, n, MPI_DOUBLE, 1, 0, c); }\n",
     "void f(double *x, int n) { for (int i = 0; i < n; i++) MPI_Send(x + i, 1, MPI_DOUBLE, 1, 0, "
     "c); }\n",
     "messages_in_loops+ messages= messages_work+"},
    {"a collective", "f.f90", FORTRAN("  a = b\n"),
     FORTRAN("  a = b\n  call MPI_Allreduce(a, b, n, t, o, c, e)\n"), "collectives+ calls="},
    {"a block size", "f.c", "enum { BLOCK = 64 };\nint f(void) { return BLOCK; }\n",
     "enum { BLOCK = 512 };\nint f(void) { return BLOCK; }\n",
     "constants+ constants_growth+ functions_modified= outside+"},
    {"fewer iterations", "f.c", "#define ITERATIONS 1000\nint f(void) { return ITERATIONS; }\n",
     "#define ITERATIONS 10\nint f(void) { return ITERATIONS; }\n",
     "constants+ constants_growth- outside+"},
    {"a macro does more", "f.c", "#define SQUARE(x) ((x) * (x))\nint f(void) { return 0; }\n",
     "#define SQUARE(x) (pow((x), 2) / 1)\nint f(void) { return 0; }\n",
     "math+ divisions+ outside+ functions_modified="},
    {"debugging flags", "CMakeLists.txt",
     "set(CMAKE_BUILD_TYPE Release)\nset(F \"-O3 -DNDEBUG\")\n",
     "set(CMAKE_BUILD_TYPE Debug)\nset(F \"-O0 -g -fsanitize=address\")\n",
     "flag_o0+ flag_o3- flag_debug+ flag_release- flag_sanitize+ flag_symbols+ flag_ndebug- "
     "build_files+"},
    {"flags of a Makefile", "Makefile", "CFLAGS=-O2 -march=native -ffast-math\nall: x\n",
     "CFLAGS=-O1 # -O3 was too much\nall: x\n",
     "flag_o2- flag_o1+ flag_machine- flag_fast_math- flag_o3="},
    {"options of mkdir", "Makefile", "x:\n\tmkdir d\n", "x:\n\tmkdir -p d\n",
     "flag_profile= build_files+"},
    {"options of other tools", "Makefile", "x:\n\t@echo\n",
     "x:\n\t@wget -O f u\n\t@$(INSTALL) -g root \\\n\t-O f && curl -O u\n",
     "flag_o1= flag_symbols= build_files+"},
    {"a compiler after another tool", "Makefile", "x:\n\t@mkdir d && cc f.c\n\tcc g.c\n",
     "x:\n\t@mkdir d && cc -O f.c\n\tcc -g g.c\n", "flag_o1+ flag_symbols+"},
    {"flags for a target named as a tool", "Makefile", "x:\n\t$(MAKE) install\n",
     "x:\n\t$(MAKE) install CFLAGS=-O3\n", "flag_o3+"},
    {"recursion", "f.c", "int fib(int n) { return n; }\n",
     "int fib(int n) { if (n < 2) return n; return fib(n - 1) + fib(n - 2); }\n",
     "recursion+ branches+ calls="},
    {"a kernel launched in a loop", "f.cu",
     "void f(double *x, int n) { k<<<n, 256>>>(x); cudaDeviceSynchronize(); }\n",
     "void f(double *x, int n) { for (int i = 0; i < n; i++) { k<<<1, 256>>>(x); "
     "cudaDeviceSynchronize(); } }\n",
     "launches_in_loops+ launches= synchronisations_in_loops+"},
    {"parallel_for runs its body again and again", "f.cpp",
     "void f(View x, int n) { Kokkos::parallel_for(n, KOKKOS_LAMBDA(int i) { x[i] = 1; }); }\n",
     "void f(View x, int n) { Kokkos::parallel_for(n, KOKKOS_LAMBDA(int i) { x[i] = exp(1.0); }); "
     "}\n",
     "math+ math_innermost+ math_work+ launches="},
    {"do while", "f.c", "void f(int n) { g(n); }\n",
     "void f(int n) { do { g(n); } while (n--); }\n", "loops+ calls_in_loops+ calls="},
    {"a macro's do while is no loop", "f.c", "void f(int n) { g(n); }\n",
     "void f(int n) { do { g(n); } while (0); }\n", "loops= calls_in_loops= calls="},
    {"a method in a header", "f.hpp",
     "template <class T> class A {\npublic:\n    T get(int i) const { return v[i]; }\n};\n",
     "template <class T> class A {\npublic:\n    T get(int i) const { return v.at(i); }\n};\n",
     "lookups+ headers+ functions_modified+"},
    {"virtual", "f.hpp", "class A {\npublic:\n    double v();\n};\n",
     "class A {\npublic:\n    virtual double v();\n};\n", "indirect+ outside+"},
    {"allocation in a loop of Fortran", "f.f90",
     FORTRAN("  allocate(t(n))\n  do i = 1, n\n    a(i, 1) = t(i)\n  end do\n"),
     FORTRAN("  do i = 1, n\n    allocate(t(n))\n    a(i, 1) = t(i)\n  end do\n"),
     "allocations= allocations_in_loops+ loads= stores="},
    {"output and an exit in a loop of Fortran", "f.f90",
     FORTRAN("  do i = 1, n\n    a(i, 1) = 0\n  end do\n"),
     FORTRAN("  do i = 1, n\n    a(i, 1) = 0\n    write(*, *) a(i, 1)\n    if (a(i, 1) > 1) exit\n"
             "  end do\n"),
     "io_in_loops+ exits_in_loops+ branches_innermost+ stores= loads+"},
    {"do while of Fortran", "f.f90", FORTRAN("  a(1, 1) = sqrt(b(1, 1))\n"),
     FORTRAN("  do while (a(1, 1) > 1)\n    a(1, 1) = sqrt(b(1, 1))\n  end do\n"),
     "loops+ math= math_work+ math_innermost+"},
    {"precision in Fortran", "f.f90", "subroutine s(x)\n  real(4) :: x\n  x = 0\nend subroutine\n",
     "subroutine s(x)\n  real(8) :: x\n  x = 0\nend subroutine\n", "doubles+ singles-"},
    {"comments of Fortran", "f.f90", FORTRAN("  a = b ! all\n"),
     FORTRAN("  ! all of it\n  A = B\n"), "quiet no_effect+"},
    {"an early return", "f.c", "int f(int n) { g(n); return 1; }\n",
     "int f(int n) { if (n == 0) return 0; g(n); return 1; }\n", "exits+ branches+ calls="},
    {"nothing, in comments", "f.c", VECTOR("s += y[i]; /* sum */"), VECTOR("s += y[i]; // it"),
     "quiet no_effect+ functions_modified="},
    {"nothing, in white space", "f.c", PLAIN("", "s += x[i] / 2;"),
     "#include <stdlib.h>\n\ndouble f(double *x, int n) {\n  double s = 0;\n\n  for (int i = 0; i "
     "< n; i++)\n  {\n    s += x[i]\n       / 2;\n  }\n  return s;\n}\n",
     "quiet no_effect+ lines_added+"},
    {"a local renamed", "f.c", PLAIN("", "s += x[i] / 2;"),
     "#include <stdlib.h>\ndouble f(double *x, int n)\n{\n    double sum = 0;\n    \n    for (int "
     "k = 0; k < n; k++) {\n        sum += x[k] / 2;\n    }\n    return sum;\n}\n",
     "quiet only_names+ no_effect="},
    {"what is called is no local name", "f.c", PLAIN("", "s += g(x[i]);"),
     PLAIN("", "s += h(x[i]);"), "quiet only_names= no_effect="},
    {"two names for one", "f.c", "int f(int a, int b) { return a + b; }\n",
     "int f(int a, int b) { return a + a; }\n", "quiet only_names= no_effect="},
    {"a type is no local name", "f.c", "void f(float a) { g(a); }\n",
     "void f(double a) { g(a); }\n", "only_names= doubles+ singles-"},
    {"a message in other words", "f.c", "void f(void) { puts(\"slow\"); }\n",
     "void f(void) { puts(\"slower\"); }\n", "quiet only_strings+"},
    {"declarations in another order", "f.c",
     "int f(int n) { int a = 0; double b = 1; for (; a < n; a++) b *= 2; return b; }\n",
     "int f(int n) { double b = 1; int a = 0; for (; a < n; a++) b *= 2; return b; }\n",
     "quiet only_order+"},
    {"a function taken out", "f.c",
     "static void f(double *x, int n)\n{\n    for (int i = 0; i < n; i++) {\n        x[i] = x[i] / "
     "2 + exp(x[i]);\n        if (x[i] > 1) x[i] = 1;\n    }\n}\n",
     "static void one(double *x, int i)\n{\n    x[i] = x[i] / 2 + exp(x[i]);\n    if (x[i] > 1) "
     "x[i] = 1;\n}\nstatic void f(double *x, int n)\n{\n    for (int i = 0; i < n; i++) {\n"
     "        one(x, i);\n    }\n}\n",
     "divisions_work= math_work= loads_work= stores_work= branches_work= loops= calls+ "
     "functions_added+"},
    {"a function put in again", "f.c",
     "static void one(double *x, int i) { x[i] = x[i] / 2; }\nvoid f(double *x, int n) { for (int "
     "i = 0; i < n; i++) one(x, i); }\n",
     "void f(double *x, int n) { for (int i = 0; i < n; i++) x[i] = x[i] / 2; }\n",
     "divisions_work= stores_work= loops= calls- functions_removed+"},
    {"a licence", "f.c", "/* (c) 2020 */\nint f(void) { return 1; }\n",
     "/* (c) 2021 */\nint f(void) { return 1; }\n", "quiet no_effect+"},
    {"words in a Makefile's comments", "Makefile", "# fast\nall: x\n",
     "# -O0 would be slow\nall: x\n", "quiet no_effect+"},
    {"braces", "f.c", VECTOR("if (d > 0) s += y[i];"), VECTOR("if (d > 0) { s += y[i]; }"),
     "quiet"},
    {"i++ and ++i", "f.c", "void f(int n) { for (int i = 0; i < n; i++) g(i); }\n",
     "void f(int n) { for (int i = 0; i < n; ++i) g(i); }\n", "quiet"},
    {"1 and 1.0", "f.c", "double f(void) { return 1; }\n", "double f(void) { return 1.0; }\n",
     "quiet constants="},
};

static bool is_quiet(const char *name, int event)
{
    return event >= 0 || strcmp(name, "constants") == 0;
}

static void check_quiet(const planted *c, const hpc_perf_vector *v)
{
    for (int i = 0; i < HPC_PERF_FEATURES; i++) {
        const hpc_perf_feature *f = hpc_perf_feature_at(i);
        if (is_quiet(f->name, f->event) && v->value[i] != 0)
            fail_msg("%s: %s is %g", c->what, f->name, v->value[i]);
    }
}

static void check(const planted *c, const hpc_perf_vector *v)
{
    char words[512], *rest = NULL;
    snprintf(words, sizeof words, "%s", c->expected);
    for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        if (strcmp(w, "quiet") == 0) {
            check_quiet(c, v);
            continue;
        }
        char sign = w[strlen(w) - 1];
        w[strlen(w) - 1] = '\0';
        double value = value_of(v, w);
        bool right = sign == '+' ? value > 0 : sign == '-' ? value < 0 : value == 0;
        if (!right) fail_msg("%s: %s is %g, not %c", c->what, w, value, sign);
    }
}

static void test_planted(void **state)
{
    enum { N = sizeof cases / sizeof *cases };
    history h = {.p = *state};
    assert_true(N >= 40);
    for (int k = 0; k < N; k++) {
        commit_from(&h, 0);
        with(&h, cases[k].path, cases[k].base);
        commit_from(&h, 2 * k + 1);
        with(&h, cases[k].path, cases[k].head);
    }
    history_open(&h, NULL);
    for (int k = 0; k < N; k++) {
        look(&h, 2 * k + 1, 2 * k + 2);
        check(&cases[k], &h.features.commit);
    }
    history_close(&h);
}

/* Back is the opposite of there, of all that counts events. */
static void test_signs(void **state)
{
    enum { N = sizeof cases / sizeof *cases };
    history h = {.p = *state};
    int moved = 0;
    for (int k = 0; k < N; k++) {
        commit_from(&h, 0);
        with(&h, cases[k].path, cases[k].base);
        commit_from(&h, 0);
        with(&h, cases[k].path, cases[k].head);
    }
    history_open(&h, NULL);
    for (int k = 0; k < N; k++) {
        look(&h, 2 * k + 1, 2 * k + 2);
        hpc_perf_vector there = h.features.commit;
        look(&h, 2 * k + 2, 2 * k + 1);
        for (int i = 0; i < HPC_PERF_FEATURES; i++) {
            if (hpc_perf_feature_at(i)->event < 0) continue;
            if (there.value[i] != -h.features.commit.value[i])
                fail_msg("%s: %s is %g there and %g back", cases[k].what,
                         hpc_perf_feature_at(i)->name, there.value[i], h.features.commit.value[i]);
            moved += there.value[i] != 0;
        }
    }
    assert_true(moved > 200);
    history_close(&h);
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < HPC_PERF_FEATURES; i++) {
        const hpc_perf_feature *f = hpc_perf_feature_at(i);
        assert_int_equal(hpc_perf_feature_named(f->name), i);
        assert_true(strlen(f->meaning) > 2);
        assert_int_equal(strspn(f->name, "abcdefghijklmnopqrstuvwxyz_0123456789"), strlen(f->name));
    }
    assert_int_equal(hpc_perf_feature_named("none"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_planted, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_signs, place_setup, place_teardown),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
