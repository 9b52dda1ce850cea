/*
 * lt_open.cu: cuBLASLt's functions from libcublasLt, which is opened at run time: a machine without
 * it runs our own kernels. The numbers of lt_api.cuh are compared with its header here.
 */
#include <cublasLt.h>
#include <dlfcn.h>
#include <stdio.h>

#include "runtime/device/cuda/lt_open.cuh"

#define SAME(ours, theirs) static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(LT_F32, CUDA_R_32F);
SAME(LT_I8, CUDA_R_8I);
SAME(LT_I32, CUDA_R_32I);
SAME(LT_BF16, CUDA_R_16BF);
SAME(LT_SUM_F32, CUBLAS_COMPUTE_32F);
SAME(LT_SUM_I32, CUBLAS_COMPUTE_32I);
SAME(LT_OK, CUBLAS_STATUS_SUCCESS);
SAME(LT_NO_MEMORY, CUBLAS_STATUS_ALLOC_FAILED);
SAME(LT_INVALID, CUBLAS_STATUS_INVALID_VALUE);
SAME(LT_UNSUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(LT_DESC_TRANS_A, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(LT_DESC_TRANS_B, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(LT_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(LT_DESC_BIAS, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(LT_DESC_BIAS_STRIDE, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
SAME(LT_DESC_BIAS_TYPE, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
SAME(LT_LAYOUT_BATCHES, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(LT_LAYOUT_STRIDE, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(LT_PREFER_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(LT_PREFER_REDUCTIONS, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(LT_PREFER_ALIGN_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(LT_PREFER_ALIGN_A + 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(LT_PREFER_IMPLEMENTATIONS, CUBLASLT_MATMUL_PREF_IMPL_MASK);
SAME(LT_CONFIG_SPLITK, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
SAME(LT_CONFIG_REDUCTION, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
SAME(LT_EPILOGUE_NONE, CUBLASLT_EPILOGUE_DEFAULT);
SAME(LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS);
SAME(LT_REDUCE_NONE, CUBLASLT_REDUCTION_SCHEME_NONE);
SAME(LT_REDUCE_IN_F32, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
static_assert(LT_SUMS_F16 == CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F, "sums in f16");
static_assert(LT_AS_F16 == CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F, "f16");
static_assert(LT_AS_BF16 == CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF, "bf16");
static_assert(LT_AS_TF32 == CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32, "TF32");
static_assert(LT_BY_COMPLEX == CUBLASLT_NUMERICAL_IMPL_FLAGS_GAUSSIAN, "complex products");
static_assert(sizeof(lt_algorithm) == sizeof(cublasLtMatmulAlgo_t), "an algorithm");
static_assert(sizeof(lt_candidate) == sizeof(cublasLtMatmulHeuristicResult_t), "a candidate");
static_assert(offsetof(lt_candidate, waves) ==
                  offsetof(cublasLtMatmulHeuristicResult_t, wavesCount),
              "a candidate");

namespace {

/* The file of CUDA 13; its number is that of cuBLAS. */
const char FILE_NAME[] = "libcublasLt.so.13";

struct symbol {
    const char *name;
    size_t at;
};

#define SYMBOL(member, name)                                                                       \
    {                                                                                              \
        name, offsetof(hpc_lt_api, member)                                                         \
    }
const symbol symbols[] = {
    SYMBOL(version, "cublasLtGetVersion"),
    SYMBOL(status_text, "cublasLtGetStatusString"),
    SYMBOL(open, "cublasLtCreate"),
    SYMBOL(close, "cublasLtDestroy"),
    SYMBOL(desc_create, "cublasLtMatmulDescCreate"),
    SYMBOL(desc_free, "cublasLtMatmulDescDestroy"),
    SYMBOL(desc_set, "cublasLtMatmulDescSetAttribute"),
    SYMBOL(layout_create, "cublasLtMatrixLayoutCreate"),
    SYMBOL(layout_free, "cublasLtMatrixLayoutDestroy"),
    SYMBOL(layout_set, "cublasLtMatrixLayoutSetAttribute"),
    SYMBOL(prefer_create, "cublasLtMatmulPreferenceCreate"),
    SYMBOL(prefer_free, "cublasLtMatmulPreferenceDestroy"),
    SYMBOL(prefer_set, "cublasLtMatmulPreferenceSetAttribute"),
    SYMBOL(find, "cublasLtMatmulAlgoGetHeuristic"),
    SYMBOL(check, "cublasLtMatmulAlgoCheck"),
    SYMBOL(config, "cublasLtMatmulAlgoConfigGetAttribute"),
    SYMBOL(multiply, "cublasLtMatmul"),
};
static_assert(sizeof symbols / sizeof *symbols == sizeof(hpc_lt_api) / sizeof(void *),
              "a symbol for each function");

} // namespace

int hpc_lt_load(hpc_lt_api *out, char text[HPC_LT_TEXT])
{
    void *object = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!object) {
        snprintf(text, HPC_LT_TEXT, "own kernels: %s is missing, install libcublas-13", FILE_NAME);
        (void)dlerror();
        return 1;
    }
    for (const symbol &s : symbols) {
        void *function = dlsym(object, s.name);
        if (!function) {
            snprintf(text, HPC_LT_TEXT, "own kernels: %s lacks %.24s", FILE_NAME, s.name + 8);
            return 1;
        }
        *(void **)((char *)out + s.at) = function;
    }
    const size_t version = out->version();
    snprintf(text, HPC_LT_TEXT, "cuBLASLt %d.%d.%d", (int)(version / 10000),
             (int)(version / 100 % 100), (int)(version % 100));
    return 0;
}
