/*
 * Tests of runtime/source/parallel.c: each programming model by each of its signs, and similar
 * text without a model.
 */
/* tsan: left out, starts no thread. */
#include "tests/source/tokens.h"

enum {
    OPENMP = HPC_PARALLEL_OPENMP,
    MPI = HPC_PARALLEL_MPI,
    CUDA = HPC_PARALLEL_CUDA,
    HIP = HPC_PARALLEL_HIP,
    ACC = HPC_PARALLEL_OPENACC,
    SYCL = HPC_PARALLEL_SYCL,
    KOKKOS = HPC_PARALLEL_KOKKOS,
    RAJA = HPC_PARALLEL_RAJA,
    PTHREADS = HPC_PARALLEL_PTHREADS,
    STD = HPC_PARALLEL_STD,
    OPENCL = HPC_PARALLEL_OPENCL
};

typedef struct sign {
    const char *text;
    uint32_t expected;
} sign;

static void all(const sign *cases, size_t n, hpc_language l, bool fixed)
{
    for (size_t i = 0; i < n; i++) {
        hpc_tokens t = test_lex(cases[i].text, strlen(cases[i].text), l, fixed);
        uint32_t found = hpc_parallel_of(&t, cases[i].text, l);
        if (found != cases[i].expected)
            fail_msg("%s: found %x, not %x", cases[i].text, found, cases[i].expected);
        hpc_tokens_release(&t);
    }
}
#define ALL(cases, l, fixed) all(cases, sizeof(cases) / sizeof *(cases), l, fixed)

static void names(void **state)
{
    (void)state;
    static const char *const expected[HPC_PARALLEL_N] = {"openmp",   "mpi",  "cuda",   "hip",
                                                         "openacc",  "sycl", "kokkos", "raja",
                                                         "pthreads", "std",  "opencl"};
    for (int b = 0; b < HPC_PARALLEL_N; b++) assert_string_equal(hpc_parallel_name(b), expected[b]);
    assert_string_equal(hpc_parallel_name(-1), "none");
    assert_string_equal(hpc_parallel_name(HPC_PARALLEL_N), "none");
}

static void signs(void **state)
{
    (void)state;
    static const sign cases[] = {
        {"#pragma omp parallel for\n", OPENMP},
        {"#  pragma omp \\\n simd\n", OPENMP},
        {"_Pragma(\"omp parallel\")", OPENMP},
        {"#define P _Pragma(\"omp for\")\n", OPENMP},
        {"#include <omp.h>\n", OPENMP},
        {"n = omp_get_num_threads();", OPENMP},
        {"#include <mpi.h>\n", MPI},
        {"#include \"openmpi/mpi.h\"\n", MPI},
        {"MPI_Send(a);", MPI},
        {"f(MPI_COMM_WORLD);", MPI},
        {"#define SEND MPI_Send\n", MPI},
        {"#include <cuda_runtime.h>\n", CUDA},
        {"cudaMalloc(&a, n);", CUDA},
        {"cudaStream_t s;", CUDA},
        {"cublasHandle_t h;", CUDA},
        {"__global__ void k();", CUDA},
        {"i = threadIdx.x;", CUDA},
        {"thrust::sort(a, b);", CUDA},
        {"#include <hip/hip_runtime.h>\n__global__ void k();", HIP},
        {"hipMemcpy(a, b, n);", HIP},
        {"hipLaunchKernelGGL(k); i = blockIdx.x;", HIP},
        {"rocblas_handle h;", HIP},
        {"#pragma acc parallel loop\n", ACC},
        {"#include <openacc.h>\n", ACC},
        {"acc_get_num_devices(1);", ACC},
        {"_Pragma(\"acc loop\")", ACC},
        {"sycl::queue q;", SYCL},
        {"cl::sycl::queue q;", SYCL},
        {"using namespace sycl;", SYCL},
        {"#include <CL/sycl.hpp>\n", SYCL},
        {"Kokkos::View<int *> v;", KOKKOS},
        {"KOKKOS_INLINE_FUNCTION void f();", KOKKOS},
        {"#include <Kokkos_Core.hpp>\n", KOKKOS},
        {"RAJA::forall<P>(r, [=](int i) {});", RAJA},
        {"RAJA_DEVICE int f();", RAJA},
        {"#include \"RAJA/RAJA.hpp\"\n", RAJA},
        {"pthread_create(&t, 0, f, 0);", PTHREADS},
        {"pthread_t t;", PTHREADS},
        {"#include <pthread.h>\n", PTHREADS},
        {"std::for_each(std::execution::par, a, b, f);", STD},
        {"std::sort(std::execution::par_unseq, a, b);", STD},
        {"std::sort(execution::par", STD},
        {"__kernel void k();", OPENCL},
        {"clCreateBuffer(c);", OPENCL},
        {"cl_mem m;", OPENCL},
        {"x = cl_mem", OPENCL},
        {"hipSetDevice", HIP},
        {"#include <CL/cl.h>\n", OPENCL},
        {"#pragma omp for\nMPI_Send();\ncudaFree(a);", OPENMP | MPI | CUDA},
    };
    ALL(cases, HPC_LANGUAGE_CPP, false);
    static const sign launch[] = {{"k<<<1, 2>>>(a);", CUDA}, {"k<<<", CUDA}};
    ALL(launch, HPC_LANGUAGE_CUDA, false);
    static const sign hip[] = {{"__global__ void k() {}", HIP}, {"k<<<1, 2>>>(a);", HIP}};
    ALL(hip, HPC_LANGUAGE_HIP, false);
    static const sign kernels[] = {{"kernel void k() {}", OPENCL}, {"", OPENCL}};
    ALL(kernels, HPC_LANGUAGE_OPENCL, false);
}

static void no_signs(void **state)
{
    (void)state;
    static const sign cases[] = {
        {"// #pragma omp parallel, MPI_Send, cudaMalloc()\n", 0},
        {"/* #include <mpi.h>\n#pragma omp for\n*/", 0},
        {"s = \"#pragma omp for MPI_Send(x) Kokkos::View omp_get_wtime()\";", 0},
        {"#include <mpi_helpers.h>\n#include \"my_omp.h\"\n", 0},
        {"bool cuda, hip, mpi, cudaEnabled, hipster; int cudaX = 1;", 0},
        {"#ifdef MPI_VERSION\n#endif\n#if defined(KOKKOS_ENABLE_CUDA)\n#endif\n", 0},
        {"#ifndef MPI_H\n#define MPI_Init_H\n#endif\n", 0},
        {"USE_MPI = MPI_ENABLED;", 0},
        {"int omp = omp_threads + acc_x(1);", 0},
        {"int sycl, Kokkos, RAJA, threadIdx, execution; execution::seq;", 0},
        {"#pragma once\n#pragma ompx for\n#pragma GCC ivdep\n", 0},
        {"#error MPI_Send\n", 0},
        {"a << b << c;", 0},
        {"_Pragma(\"GCC ivdep\")", 0},
        {"pthread_count = 1;", 0},
        {"_Pragma(omp) _Pragma(\"ompx\") execution::parx", 0},
        {"hip hipX cudaGe cud cuda", 0},
    };
    ALL(cases, HPC_LANGUAGE_CPP, false);
}

static void fortran(void **state)
{
    (void)state;
    static const sign cases[] = {
        {"!$OMP parallel do\n", OPENMP},
        {"!$acc loop\n", ACC},
        {"use omp_lib\n", OPENMP},
        {"use, intrinsic :: omp_lib\n", OPENMP},
        {"!$ n = omp_get_max_threads()\n", OPENMP},
        {"use MPI\n", MPI},
        {"use mpi_f08, only: x\n", MPI},
        {"include 'mpif.h'\n", MPI},
        {"#include \"mpif.h\"\n", MPI},
        {"call mpi_send(a)\nCALL MPI_RECV(b)\n", MPI},
        {"x = mpi_comm_world\n", MPI},
        {"t = mpi_wtime()\n", MPI},
        {"use cudafor\n", CUDA},
        {"use openacc\n", ACC},
        {"! call mpi_send, !$omp do\nprint *, 'use mpi call mpi_send(x)'\n", 0},
        {"integer mpi, mpi_count, omp_threads, cuda\n", 0},
        {"!$ x = 1\n", 0},
        {"call cudaMalloc(a)\nx = execution::par\nuse mpix\nuse\n", 0},
        {"x = 1\nUSE :: MPI", MPI},
    };
    ALL(cases, HPC_LANGUAGE_FORTRAN, false);
    static const sign fixed[] = {{"c$omp parallel do\n", OPENMP}, {"c omp parallel do\n", 0}};
    ALL(fixed, HPC_LANGUAGE_FORTRAN, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(signs),
        cmocka_unit_test(no_signs),
        cmocka_unit_test(fortran),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
