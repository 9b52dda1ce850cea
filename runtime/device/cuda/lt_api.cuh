/*
 * lt_api.cuh: the part of cuBLASLt's interface that lt.cu calls, as a table of functions.
 * lt_open.cu fills it from libcublasLt, and shim/lt.cc from a stub on the CPU. The numbers are
 * those of cublasLt.h, which lt_open.cu compares.
 */
#ifndef HPC_CUDA_LT_API_H
#define HPC_CUDA_LT_API_H

#include <stddef.h>
#include <stdint.h>

enum {
    LT_F32 = 0, /* cudaDataType_t */
    LT_I8 = 3,
    LT_I32 = 10,
    LT_BF16 = 14,
    LT_SUM_F32 = 68, /* cublasComputeType_t; no TF32 */
    LT_SUM_I32 = 72,
    LT_OK = 0, /* cublasStatus_t */
    LT_NO_MEMORY = 3,
    LT_INVALID = 7,
    LT_UNSUPPORTED = 15
};
enum { LT_DESC_TRANS_A = 3, LT_DESC_TRANS_B = 4, LT_DESC_EPILOGUE = 7 }; /* attributes */
enum { LT_DESC_BIAS = 8, LT_DESC_BIAS_STRIDE = 10, LT_DESC_BIAS_TYPE = 26 };
enum { LT_LAYOUT_BATCHES = 5, LT_LAYOUT_STRIDE = 6 };
enum {
    LT_PREFER_WORKSPACE = 1,
    LT_PREFER_REDUCTIONS = 3,
    LT_PREFER_ALIGN_A = 5
}; /* then B, C, D */
enum { LT_PREFER_IMPLEMENTATIONS = 12 };
enum { LT_CONFIG_SPLITK = 2, LT_CONFIG_REDUCTION = 3 };
enum { LT_EPILOGUE_NONE = 1, LT_EPILOGUE_BIAS = 4 };
enum { LT_REDUCE_NONE = 0, LT_REDUCE_IN_F32 = 2 }; /* bits of a mask */
/* Bits of implementations: sums in f16; operands as f16, bf16, TF32; complex products. */
#define LT_SUMS_F16   (1ull << 8)
#define LT_AS_F16     (1ull << 16)
#define LT_AS_BF16    (2ull << 16)
#define LT_AS_TF32    (4ull << 16)
#define LT_BY_COMPLEX (1ull << 32)

typedef struct lt_algorithm {
    uint64_t data[8]; /* valid for one version of the library */
} lt_algorithm;

typedef struct lt_candidate {
    lt_algorithm algorithm;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} lt_candidate;

/* Functions return a cublasStatus_t. Matrices are stored by columns. */
typedef struct hpc_lt_api {
    size_t (*version)(void);
    const char *(*status_text)(int status);
    int (*open)(void **handle);
    int (*close)(void *handle);
    int (*desc_create)(void **desc, int sum_type, int scale_type);
    int (*desc_free)(void *desc);
    int (*desc_set)(void *desc, int attribute, const void *value, size_t bytes);
    int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t cols, int64_t pitch);
    int (*layout_free)(void *layout);
    int (*layout_set)(void *layout, int attribute, const void *value, size_t bytes);
    int (*prefer_create)(void **prefer);
    int (*prefer_free)(void *prefer);
    int (*prefer_set)(void *prefer, int attribute, const void *value, size_t bytes);
    int (*find)(void *handle, void *desc, void *a, void *b, void *c, void *d, void *prefer,
                int most, lt_candidate *out, int *n);
    int (*check)(void *handle, void *desc, void *a, void *b, void *c, void *d,
                 const lt_algorithm *algorithm, lt_candidate *out);
    int (*config)(const lt_algorithm *algorithm, int attribute, void *value, size_t bytes,
                  size_t *written);
    int (*multiply)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
                    const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                    void *d, void *d_layout, const lt_algorithm *algorithm, void *workspace,
                    size_t workspace_bytes, void *stream);
} hpc_lt_api;

#endif
