/*
 * parallel.c: detects which parallel programming models a file uses, by names that only their
 * interfaces have, by directives and by headers. Comments, strings, conditions of #if and the names
 * that #define creates do not count. What CUDA and HIP have in common counts for the one with other
 * evidence in the file.
 */
#include "runtime/source/priv.h"

static const char *const model_names[HPC_PARALLEL_N] = {
    "openmp", "mpi",  "cuda",     "hip", "openacc", "sycl",
    "kokkos", "raja", "pthreads", "std", "opencl",
};

const char *hpc_parallel_name(int bit)
{
    return bit >= 0 && bit < HPC_PARALLEL_N ? model_names[bit] : "none";
}

/* In addition to the public bits: found, but CUDA or HIP. */
enum { DEVICE = 1 << HPC_PARALLEL_N };

typedef enum tail {        /* the text of a name after the spelling of its rule */
                    EXACT, /* nothing */
                    ANY,
                    UPPER,  /* a capital */
                    MIXED,  /* a capital and a small letter, so "MPI_Send" but not "MPI_ENABLED" */
                    RUNTIME /* one of runtime_tails */
} tail;
/* What follows a name: anything, "(", "::", ".", "::par", ("omp ..."), ("acc ..."). */
typedef enum next { FREE, CALLED, SCOPE, MEMBER, POLICY, OMP_TEXT, ACC_TEXT } next;
typedef struct rule {
    const char *spelling; /* at least 3 bytes, no capital counts in Fortran */
    uint8_t tail, next;
    uint16_t says;
} rule;

static const rule rules[] = {
    {"omp_get_", ANY, CALLED, HPC_PARALLEL_OPENMP},
    {"omp_set_", ANY, CALLED, HPC_PARALLEL_OPENMP},
    {"omp_init_", ANY, CALLED, HPC_PARALLEL_OPENMP},
    {"omp_destroy_", ANY, CALLED, HPC_PARALLEL_OPENMP},
    {"omp_unset_", ANY, CALLED, HPC_PARALLEL_OPENMP},
    {"omp_target_", ANY, CALLED, HPC_PARALLEL_OPENMP},
    {"omp_in_parallel", EXACT, CALLED, HPC_PARALLEL_OPENMP},
    {"omp_is_initial_device", EXACT, CALLED, HPC_PARALLEL_OPENMP},
    {"omp_lock_t", EXACT, FREE, HPC_PARALLEL_OPENMP},
    {"omp_nest_lock_t", EXACT, FREE, HPC_PARALLEL_OPENMP},

    {"MPI_", MIXED, FREE, HPC_PARALLEL_MPI},
    {"PMPI_", MIXED, FREE, HPC_PARALLEL_MPI},
    {"MPI_COMM_", ANY, FREE, HPC_PARALLEL_MPI},
    {"MPI_INT", EXACT, FREE, HPC_PARALLEL_MPI},
    {"MPI_INTEGER", ANY, FREE, HPC_PARALLEL_MPI},
    {"MPI_DOUBLE", ANY, FREE, HPC_PARALLEL_MPI},
    {"MPI_REAL", ANY, FREE, HPC_PARALLEL_MPI},
    {"MPI_FLOAT", EXACT, FREE, HPC_PARALLEL_MPI},
    {"MPI_BYTE", EXACT, FREE, HPC_PARALLEL_MPI},
    {"MPI_SUM", EXACT, FREE, HPC_PARALLEL_MPI},
    {"MPI_SUCCESS", EXACT, FREE, HPC_PARALLEL_MPI},
    {"MPI_STATUS", ANY, FREE, HPC_PARALLEL_MPI},
    {"MPI_REQUEST_NULL", EXACT, FREE, HPC_PARALLEL_MPI},
    {"MPI_PROC_NULL", EXACT, FREE, HPC_PARALLEL_MPI},
    {"MPI_ANY_", ANY, FREE, HPC_PARALLEL_MPI},
    {"MPI_IN_PLACE", EXACT, FREE, HPC_PARALLEL_MPI},

    {"__global__", EXACT, FREE, DEVICE},
    {"__device__", EXACT, FREE, DEVICE},
    {"__shared__", EXACT, FREE, DEVICE},
    {"__launch_bounds__", EXACT, FREE, DEVICE},
    {"__syncthreads", EXACT, CALLED, DEVICE},
    {"threadIdx", EXACT, MEMBER, DEVICE},
    {"blockIdx", EXACT, MEMBER, DEVICE},
    {"thrust", EXACT, SCOPE, DEVICE},
    {"cublas", UPPER, FREE, HPC_PARALLEL_CUDA},
    {"cusparse", UPPER, FREE, HPC_PARALLEL_CUDA},
    {"cusolver", UPPER, FREE, HPC_PARALLEL_CUDA},
    {"cufft", UPPER, FREE, HPC_PARALLEL_CUDA},
    {"curand", UPPER, FREE, HPC_PARALLEL_CUDA},
    {"cuLaunchKernel", EXACT, CALLED, HPC_PARALLEL_CUDA},
    {"cuMemAlloc", ANY, CALLED, HPC_PARALLEL_CUDA},
    {"cuMemcpy", ANY, CALLED, HPC_PARALLEL_CUDA},
    {"cuCtx", UPPER, CALLED, HPC_PARALLEL_CUDA},
    {"cuModuleLoad", ANY, CALLED, HPC_PARALLEL_CUDA},
    {"cuda", RUNTIME, FREE, HPC_PARALLEL_CUDA},
    {"hip", RUNTIME, FREE, HPC_PARALLEL_HIP},
    {"hipblas", UPPER, FREE, HPC_PARALLEL_HIP},
    {"hipsparse", UPPER, FREE, HPC_PARALLEL_HIP},
    {"hipfft", UPPER, FREE, HPC_PARALLEL_HIP},
    {"hiprand", UPPER, FREE, HPC_PARALLEL_HIP},
    {"rocblas_", ANY, FREE, HPC_PARALLEL_HIP},
    {"rocsparse_", ANY, FREE, HPC_PARALLEL_HIP},
    {"rocfft_", ANY, FREE, HPC_PARALLEL_HIP},
    {"hipThreadIdx_", ANY, FREE, HPC_PARALLEL_HIP},
    {"hipBlockIdx_", ANY, FREE, HPC_PARALLEL_HIP},

    {"acc_get_device", ANY, CALLED, HPC_PARALLEL_OPENACC},
    {"acc_get_num_devices", EXACT, CALLED, HPC_PARALLEL_OPENACC},
    {"acc_set_device", ANY, CALLED, HPC_PARALLEL_OPENACC},
    {"acc_init", EXACT, CALLED, HPC_PARALLEL_OPENACC},
    {"acc_copyin", EXACT, CALLED, HPC_PARALLEL_OPENACC},
    {"acc_copyout", EXACT, CALLED, HPC_PARALLEL_OPENACC},
    {"acc_create", EXACT, CALLED, HPC_PARALLEL_OPENACC},
    {"acc_malloc", EXACT, CALLED, HPC_PARALLEL_OPENACC},
    {"acc_update_", ANY, CALLED, HPC_PARALLEL_OPENACC},
    {"acc_is_present", EXACT, CALLED, HPC_PARALLEL_OPENACC},
    {"acc_deviceptr", EXACT, CALLED, HPC_PARALLEL_OPENACC},
    {"acc_wait", ANY, CALLED, HPC_PARALLEL_OPENACC},
    {"acc_on_device", EXACT, CALLED, HPC_PARALLEL_OPENACC},

    {"sycl", EXACT, SCOPE, HPC_PARALLEL_SYCL},
    {"Kokkos", EXACT, SCOPE, HPC_PARALLEL_KOKKOS},
    {"KOKKOS_", ANY, FREE, HPC_PARALLEL_KOKKOS},
    {"RAJA", EXACT, SCOPE, HPC_PARALLEL_RAJA},
    {"RAJA_", ANY, FREE, HPC_PARALLEL_RAJA},
    {"pthread_", ANY, CALLED, HPC_PARALLEL_PTHREADS},
    {"pthread_t", EXACT, FREE, HPC_PARALLEL_PTHREADS},
    {"pthread_attr_t", EXACT, FREE, HPC_PARALLEL_PTHREADS},
    {"pthread_mutex_t", EXACT, FREE, HPC_PARALLEL_PTHREADS},
    {"pthread_cond_t", EXACT, FREE, HPC_PARALLEL_PTHREADS},
    {"pthread_barrier_t", EXACT, FREE, HPC_PARALLEL_PTHREADS},

    {"__kernel", EXACT, FREE, HPC_PARALLEL_OPENCL},
    {"clCreate", UPPER, CALLED, HPC_PARALLEL_OPENCL},
    {"clEnqueue", UPPER, CALLED, HPC_PARALLEL_OPENCL},
    {"clBuildProgram", EXACT, CALLED, HPC_PARALLEL_OPENCL},
    {"clSetKernelArg", EXACT, CALLED, HPC_PARALLEL_OPENCL},
    {"clGetDeviceIDs", EXACT, CALLED, HPC_PARALLEL_OPENCL},
    {"clGetPlatformIDs", EXACT, CALLED, HPC_PARALLEL_OPENCL},
    {"cl_mem", EXACT, FREE, HPC_PARALLEL_OPENCL},
    {"cl_kernel", EXACT, FREE, HPC_PARALLEL_OPENCL},
    {"cl_context", EXACT, FREE, HPC_PARALLEL_OPENCL},
    {"cl_command_queue", EXACT, FREE, HPC_PARALLEL_OPENCL},
    {"cl_program", EXACT, FREE, HPC_PARALLEL_OPENCL},
    {"cl_device_id", EXACT, FREE, HPC_PARALLEL_OPENCL},

    {"execution", EXACT, POLICY, HPC_PARALLEL_STD},
    {"_Pragma", EXACT, OMP_TEXT, HPC_PARALLEL_OPENMP},
    {"_Pragma", EXACT, ACC_TEXT, HPC_PARALLEL_OPENACC},

    /* No rules, but to be looked at. */
    {"use", EXACT, FREE, 0},
    {"<<<", EXACT, FREE, 0},
};

/* Prefixes, after "cuda" and "hip", of the names that these interfaces share. A variable may be
 * called cudaEnabled. */
static const char *const runtime_tails[] = {
    "Malloc",  "Free",      "Memcpy",  "Memset", "Mem",    "Stream",  "Event",   "DeviceS",
    "DeviceG", "DeviceR",   "DeviceP", "Get",    "Set",    "Error",   "Success", "Host",
    "Launch",  "Occupancy", "Graph",   "Func",   "Peek",   "Pointer", "Create",  "Destroy",
    "Bind",    "Unbind",    "Array",   "Module", "Texture"};

/* Prefix of the path of an #include; for entries that are not folders, also any suffix of the path
 * after a '/'. */
static const struct {
    const char *start;
    uint32_t says;
} headers[] = {
    {"omp.h", HPC_PARALLEL_OPENMP},
    {"omp_lib.h", HPC_PARALLEL_OPENMP},
    {"mpi.h", HPC_PARALLEL_MPI},
    {"mpif.h", HPC_PARALLEL_MPI},
    {"cuda.h", HPC_PARALLEL_CUDA},
    {"cuda_runtime", HPC_PARALLEL_CUDA},
    {"cublas", HPC_PARALLEL_CUDA},
    {"cufft", HPC_PARALLEL_CUDA},
    {"curand", HPC_PARALLEL_CUDA},
    {"cusparse", HPC_PARALLEL_CUDA},
    {"cub/", HPC_PARALLEL_CUDA},
    {"hip/", HPC_PARALLEL_HIP},
    {"hipblas", HPC_PARALLEL_HIP},
    {"hipcub/", HPC_PARALLEL_HIP},
    {"rocblas", HPC_PARALLEL_HIP},
    {"rocsparse", HPC_PARALLEL_HIP},
    {"thrust/", DEVICE},
    {"openacc.h", HPC_PARALLEL_OPENACC},
    {"openacc_lib.h", HPC_PARALLEL_OPENACC},
    {"CL/sycl.hpp", HPC_PARALLEL_SYCL},
    {"sycl/", HPC_PARALLEL_SYCL},
    {"Kokkos_", HPC_PARALLEL_KOKKOS},
    {"RAJA/", HPC_PARALLEL_RAJA},
    {"pthread.h", HPC_PARALLEL_PTHREADS},
    {"CL/cl", HPC_PARALLEL_OPENCL},
    {"CL/opencl", HPC_PARALLEL_OPENCL},
    {"OpenCL/", HPC_PARALLEL_OPENCL},
};

/* Fortran modules, after "use". */
static const struct {
    const char *name;
    uint32_t says;
} modules[] = {
    {"omp_lib", HPC_PARALLEL_OPENMP},      {"mpi", HPC_PARALLEL_MPI},
    {"mpi_f08", HPC_PARALLEL_MPI},         {"openacc", HPC_PARALLEL_OPENACC},
    {"cudafor", HPC_PARALLEL_CUDA},        {"cublas", HPC_PARALLEL_CUDA},
    {"hipfort", HPC_PARALLEL_HIP},         {"opencl", HPC_PARALLEL_OPENCL},
    {"openacc_lib", HPC_PARALLEL_OPENACC},
};

enum { RULES_N = sizeof rules / sizeof *rules, SLOTS_N = 4096 };

typedef struct finder {
    const hpc_tokens *t;
    const char *text;
    bool fortran;
    uint32_t found;
    uint8_t first[SLOTS_N], next[RULES_N]; /* 1 + index of a rule, by three bytes of its name */
    uint8_t kind[HPC_TOKEN_LABEL + 1];     /* 1: tokens of this kind are all looked at */
} finder;

/* Of the first three of four bytes, letters without their case: a filter that one token in a
 * hundred passes. */
static inline unsigned slot(const char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = x >> 8 << 8;
#else
    x <<= 8;
#endif
    return (x | 0x20202020u) * 0x9e3779b1u >> 20;
}

/* Where no fourth byte may be read. */
static unsigned slot_of_three(const char *p)
{
    char four[4] = {p[0], p[1], p[2], 0};
    return slot(four);
}

static bool same(const finder *x, const char *p, const char *spelling, size_t n)
{
    if (!x->fortran) return memcmp(p, spelling, n) == 0;
    for (size_t i = 0; i < n; i++)
        if (hpc_byte_lower((uint8_t)p[i]) != hpc_byte_lower((uint8_t)spelling[i])) return false;
    return true;
}

static bool spelled(const finder *x, int64_t i, const char *spelling, size_t n)
{
    return i < x->t->n && x->t->item[i].n == n && same(x, x->text + x->t->item[i].at, spelling, n);
}

static inline bool token_is(const finder *x, int64_t i, const char *spelling)
{
    return spelled(x, i, spelling, strlen(spelling));
}

/* "cudaMalloc", "hipMalloc": the runtimes. */
static bool of_runtime(const char *p, size_t n)
{
    for (size_t k = 0; k < sizeof runtime_tails / sizeof *runtime_tails; k++) {
        size_t m = strlen(runtime_tails[k]);
        if (n >= m && memcmp(p, runtime_tails[k], m) == 0) return true;
    }
    return false;
}

static bool tail_fits(const finder *x, const rule *r, const char *p, size_t n)
{
    bool capital = n > 0 && p[0] >= 'A' && p[0] <= 'Z';
    switch ((tail)r->tail) {
    case EXACT: return n == 0;
    case UPPER: return capital;
    case RUNTIME: return !x->fortran && of_runtime(p, n);
    /* Without case, a call tells a name of an interface from others of its prefix. */
    case MIXED: return x->fortran ? n > 0 : capital && n > 1 && p[1] >= 'a' && p[1] <= 'z';
    default: return true;
    }
}

/* True if the string of a _Pragma at i begins with the word. */
static bool pragma_text(const finder *x, int64_t i, const char *word)
{
    if (x->fortran || i + 2 >= x->t->n || x->t->item[i + 2].kind != HPC_TOKEN_STRING) return false;
    const hpc_token *s = &x->t->item[i + 2];
    const char *p = x->text + s->at + 1, *end = x->text + s->at + s->n;
    while (p < end && *p == ' ') p++;
    return end - p > 4 && memcmp(p, word, 4) == 0;
}

static bool next_fits(const finder *x, const rule *r, int64_t i)
{
    switch ((next)r->next) {
    case CALLED: return token_is(x, i + 1, "(");
    case SCOPE: return token_is(x, i + 1, "::") || (i > 0 && token_is(x, i - 1, "namespace"));
    case MEMBER: return token_is(x, i + 1, ".");
    case POLICY:
        return !x->fortran && token_is(x, i + 1, "::") &&
               (token_is(x, i + 2, "par") || token_is(x, i + 2, "par_unseq"));
    case OMP_TEXT: return pragma_text(x, i, "omp ");
    case ACC_TEXT: return pragma_text(x, i, "acc ");
    default: return true;
    }
}

static bool rule_fits(const finder *x, const rule *r, int64_t i)
{
    const hpc_token *t = &x->t->item[i];
    size_t n = strlen(r->spelling);
    const char *p = x->text + t->at;
    if (t->n < n || !same(x, p, r->spelling, n) || !tail_fits(x, r, p + n, t->n - n)) return false;
    if (x->fortran && r->tail == MIXED && !(i > 0 && token_is(x, i - 1, "call")) &&
        !token_is(x, i + 1, "("))
        return false;
    return next_fits(x, r, i);
}

/* Of the module that a "use" at i names. */
static uint32_t module_says(const finder *x, int64_t i)
{
    int64_t k = i + 1;
    if (token_is(x, k, ",")) k += 2; /* use, intrinsic :: */
    k += token_is(x, k, "::");
    for (size_t m = 0; m < sizeof modules / sizeof *modules; m++)
        if (token_is(x, k, modules[m].name)) return modules[m].says;
    return 0;
}

static void look_at_name(finder *x, int64_t i)
{
    const hpc_token *t = &x->t->item[i];
    if (t->n < 3) return;
    for (int k = x->first[slot_of_three(x->text + t->at)]; k > 0; k = x->next[k - 1])
        if ((rules[k - 1].says & ~x->found) && rule_fits(x, &rules[k - 1], i))
            x->found |= rules[k - 1].says;
    if (x->fortran && token_is(x, i, "use")) x->found |= module_says(x, i);
}

/* Evidence from the STRING after an include. */
static void look_at_header(finder *x, const hpc_token *t)
{
    const char *path = x->text + t->at + 1, *end = x->text + t->at + t->n;
    for (const char *p = path; p < end; p++) {
        if (p > path && p[-1] != '/') continue;
        for (size_t k = 0; k < sizeof headers / sizeof *headers; k++) {
            size_t n = strlen(headers[k].start);
            bool folder = headers[k].start[n - 1] == '/';
            if ((p == path || !folder) && (size_t)(end - p) > n &&
                memcmp(p, headers[k].start, n) == 0)
                x->found |= headers[k].says;
        }
    }
}

/* From the sentinel at i; returns the last token of the directive that is done with. */
static int64_t look_at_directive(finder *x, int64_t i)
{
    const hpc_token *t = &x->t->item[i];
    const char *p = x->text + t->at;
    if (t->n == 5) {
        x->found |= (p[2] | 0x20) == 'o' ? HPC_PARALLEL_OPENMP : HPC_PARALLEL_OPENACC;
        return i;
    }
    if (t->n == 2) return i; /* "!$": its code speaks for itself */
    if (token_is(x, i + 1, "pragma")) {
        if (token_is(x, i + 2, "omp")) x->found |= HPC_PARALLEL_OPENMP;
        if (token_is(x, i + 2, "acc")) x->found |= HPC_PARALLEL_OPENACC;
        return i + 1;
    }
    if (token_is(x, i + 1, "define")) return i + 2;
    bool include = token_is(x, i + 1, "include");
    for (i++; i < x->t->n && x->t->item[i].kind != HPC_TOKEN_END_DIRECTIVE; i++)
        if (include && x->t->item[i].kind == HPC_TOKEN_STRING) look_at_header(x, &x->t->item[i]);
    return i;
}

/* Returns the last token that is done with. */
static const hpc_token *look_at(finder *x, const hpc_token *k)
{
    int64_t i = k - x->t->item;
    if (k->kind == HPC_TOKEN_NAME) look_at_name(x, i);
    if (k->kind == HPC_TOKEN_SENTINEL) return x->t->item + look_at_directive(x, i);
    if (k->kind == HPC_TOKEN_PUNCT && k->n == 3 && memcmp(x->text + k->at, "<<<", 3) == 0)
        x->found |= DEVICE;
    if (x->fortran && k->kind == HPC_TOKEN_STRING && i > 0 && token_is(x, i - 1, "include"))
        look_at_header(x, k);
    return k;
}

/* Marks of CUDA and HIP alike. */
static uint32_t whose(uint32_t found, hpc_language l)
{
    const uint32_t both = HPC_PARALLEL_CUDA | HPC_PARALLEL_HIP;
    if ((found & DEVICE) && !(found & both))
        found |= l == HPC_LANGUAGE_HIP ? HPC_PARALLEL_HIP : HPC_PARALLEL_CUDA;
    return found & ~(uint32_t)DEVICE;
}

uint32_t hpc_parallel_of(const hpc_tokens *t, const char *text, hpc_language l)
{
    finder x = {.t = t, .text = text, .fortran = l == HPC_LANGUAGE_FORTRAN};
    if (l == HPC_LANGUAGE_OPENCL) x.found = HPC_PARALLEL_OPENCL;
    for (int k = RULES_N - 1; k >= 0; k--) {
        uint8_t *first = &x.first[slot_of_three(rules[k].spelling)];
        x.next[k] = *first;
        *first = (uint8_t)(k + 1);
    }
    x.kind[HPC_TOKEN_SENTINEL] = 1;
    x.kind[HPC_TOKEN_STRING] = x.fortran;
    if (t->n == 0) return whose(x.found, l);
    const hpc_token *k = t->item, *end = k + t->n;
    const hpc_token *quick = end; /* before it, four bytes may be read from any token on */
    while (quick > k && (size_t)quick[-1].at + 4 > (size_t)end[-1].at + end[-1].n) quick--;
    for (; k < quick; k++)
        if (x.first[slot(text + k->at)] | x.kind[k->kind]) k = look_at(&x, k);
    for (; k < end; k++) k = look_at(&x, k);
    return whose(x.found, l);
}
