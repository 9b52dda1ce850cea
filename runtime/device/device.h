/*
 * device.h: tensors and devices, for code that runs programs. kernel/kernel.h is for authors of
 * backends.
 *
 * A device belongs to one thread, apart from the workers of its pool. The host may be unable to
 * access its memory: only hpc_device_copy transfers data, and the data have arrived after
 * hpc_device_fence, not before.
 */
#ifndef HPC_DEVICE_H
#define HPC_DEVICE_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- element types -------------------------------------------------------- */
typedef enum hpc_dtype {
    HPC_F32,
    HPC_BF16,
    HPC_F16,
    HPC_F64,
    HPC_I32,
    HPC_I64,
    HPC_I8,
    /* block formats, weights only: rows are whole blocks */
    HPC_Q8_0,
    HPC_Q4_0,
    HPC_Q4_K,
    HPC_Q5_K,
    HPC_Q6_K,
    HPC_Q4_1,
    HPC_Q5_0,
    HPC_Q5_1,
    HPC_Q2_K,
    HPC_Q3_K,
    HPC_IQ4_NL,
    HPC_IQ4_XS,
    /* formats of files: converted when weights are loaded, no op takes them */
    HPC_F8_E4M3, /* without the scales of its blocks */
    HPC_DTYPE_N
} hpc_dtype;

typedef struct hpc_dtype_info {
    const char *name; /* "f32" */
    int64_t block;    /* elements per block: 1, 32 or 256 */
    size_t block_bytes;
    bool real; /* not an integer type */
    bool quantised;
    hpc_dtype held; /* type that ops take for it: itself, except for a format of files */
} hpc_dtype_info;
const hpc_dtype_info *hpc_dtype_get(hpc_dtype d);
/* Finds a type that ops take. HPC_E_ARG names the known ones. */
int hpc_dtype_find(hpc_dtype *out, const char *name);

/* Conversions of n contiguous elements, a multiple of the block. Conversion to bf16 and f16 rounds
 * to nearest even, and NaN stays NaN. Conversion to integers truncates and saturates, and NaN gives
 * 0. Block formats have ggml's layout. */
void hpc_to_f32(float *dst, const void *src, hpc_dtype from, int64_t n);
void hpc_from_f32(void *dst, hpc_dtype to, const float *src, int64_t n); /* `to`: taken by ops */
/* Are the f16 factors of these blocks finite? They are not in a damaged file. */
bool hpc_blocks_finite(const void *src, hpc_dtype from, int64_t n);

/* ---- tensors -------------------------------------------------------------- */
#define HPC_RANK_MAX 4
#define HPC_ALIGN    64 /* of every value in memory, in bytes */

/* Contiguous, row-major; extents are maxima. When ragged >= 0, dimension
 * `ragged` has a run-time extent: `count` holds one i32, on the device, for each
 * index of the dimensions before it (one scalar when ragged == 0). Elements at
 * or beyond a count are undefined: never read for their value, free to be written. */
typedef struct hpc_tensor {
    void *data; /* device memory; NULL marks an absent optional operand */
    const int32_t *count;
    int64_t extent[HPC_RANK_MAX];
    int8_t rank;   /* 0: scalar, one element */
    int8_t ragged; /* -1: none */
    uint8_t pack;  /* physical layout, below */
    uint8_t dtype; /* hpc_dtype */
    bool adds;     /* an output that is added to, not overwritten */
    uint32_t id;   /* of the value it holds, for the mock's bookkeeping; 0: unchecked */
} hpc_tensor;

/* Physical layouts. PANEL16 holds a matrix [n,k] (or a batch of them) for products with its
 * transpose: rows in groups of 16, padded with zeros, each group stored as [k][16]. In block
 * formats, each block along k holds the 16-bit numbers of its 16 rows, followed by their 4-byte
 * pack units. PLANES holds block formats of any rank: one part of all blocks, in the order of rows,
 * after the other (kernel/planes.h). It has the bytes of plain rows, and quants are aligned. */
enum { HPC_PLAIN = 0, HPC_PANEL16 = 1, HPC_PLANES = 2 };
enum { HPC_PANEL = 16 }; /* rows of a panel */
/* Packs plain rows, on the host. */
void hpc_panel16(void *panels, const void *rows, hpc_dtype d, int64_t n, int64_t k);
/* Unpacks elements first .. first + n - 1 of a row, in whole blocks. */
void hpc_panel16_row(void *out, const void *panels, hpc_dtype d, int64_t k, int64_t row,
                     int64_t first, int64_t n);

/* Packs n plain rows of k elements as rows first ... of PLANES with `rows` rows, on the host. */
void hpc_planes(void *planes, int64_t rows, int64_t first, const void *plain, hpc_dtype d,
                int64_t n, int64_t k);
/* Part `part` of rows first .. first + n - 1: where it begins and ends, in bytes. False: the format
 * has no such part. */
bool hpc_planes_part(size_t *from, size_t *bytes, hpc_dtype d, int part, int64_t rows,
                     int64_t first, int64_t n, int64_t k);

int64_t hpc_tensor_n(const hpc_tensor *t);    /* elements, by maxima */
size_t hpc_tensor_bytes(const hpc_tensor *t); /* as laid out, padding included */
int64_t hpc_tensor_cols(const hpc_tensor *t); /* last extent; 1 for a scalar */
int64_t hpc_tensor_rows(const hpc_tensor *t); /* n / cols */
/* Run-time extent of the ragged dimension at leading index `lead`, clamped to its maximum; without
 * one, the first extent (1 for a scalar). */
int64_t hpc_tensor_live(const hpc_tensor *t, int64_t lead);
/* True if row r (over all leading dimensions; the last one is not ragged) is live. */
bool hpc_tensor_row_live(const hpc_tensor *t, int64_t r);
/* "f32[256,768]" */
const char *hpc_tensor_text(char out[96], const hpc_tensor *t);

/* ---- devices -------------------------------------------------------------- */
typedef enum hpc_queue { HPC_COMPUTE, HPC_COMM, HPC_COPY, HPC_QUEUE_N } hpc_queue;
typedef enum hpc_direction { HPC_TO_DEVICE, HPC_TO_HOST, HPC_ON_DEVICE } hpc_direction;

typedef struct hpc_device_options {
    const char *backend; /* "cpu" (default), "mock"; "cuda" where built. May have ":INDEX" */
    const char *isa;     /* cpu: "base", "avx2", "avx512", "avx512vnni", ...; NULL: best. cuda,
                            cuda-shim: settings, as "graphs=off" (cuda/settings.c) */
    int threads;         /* workers; 0: one per core that this process may use */
    int index;           /* of several devices of the backend, from 0 */
    const char *library; /* cuda, cuda-shim: the file of their kernels, which opens them */
} hpc_device_options;

/* The order of the sums of products, on a device whose library has several algorithms. */
typedef enum hpc_products {
    HPC_PRODUCTS_FIXED,    /* independent of the number of rows: inference */
    HPC_PRODUCTS_BY_SHAPE, /* the library's first choice for each shape: training */
    HPC_PRODUCTS_MEASURED  /* the fastest for each shape, measured when a program is opened, unless
                              hpc_device_products_set names it */
} hpc_products;

typedef struct hpc_device hpc_device;
struct hpc_backend;
struct hpc_kernels;

typedef struct hpc_device_info {
    const char *backend, *isa;
    int threads;
    bool host_memory;   /* the host may access its memory, and kernels run on the pool */
    size_t alloc_bytes; /* currently allocated */
    size_t peak_bytes;
    int64_t alloc_n;                  /* allocations so far */
    const struct hpc_cpu_traits *cpu; /* of the host, for its kernels; valid while it is open */
    int index;
    int64_t fence_n;       /* fences so far */
    size_t memory_bytes;   /* of the device in all; 0: unknown */
    hpc_dtype activations; /* type of the activations of inference */
    bool graphs;           /* commands of repeated runs are recorded once and replayed */
    size_t to_host_bytes;  /* copied to the host so far */
} hpc_device_info;

/* How a backend stores a weight of inference. */
typedef enum hpc_weight_role {
    HPC_WEIGHT_PRODUCT, /* b of products with trans_b; rows may also be gathered from it */
    HPC_WEIGHT_TABLE    /* rows that are only gathered */
} hpc_weight_role;
typedef struct hpc_layout {
    uint8_t pack;
    bool int8; /* products with it are computed in integers: hpc_matmul_attr */
} hpc_layout;

/* HPC_E_UNSUPPORTED: the backend or instruction set is unknown or not available; no other one is
 * used instead. The other errors of hpc_device_choose. */
int hpc_device_open(hpc_device **out, const hpc_device_options *options); /* NULL: defaults */
void hpc_device_close(hpc_device *d); /* free all its allocations before */
hpc_device_info hpc_device_about(const hpc_device *d);
const struct hpc_backend *hpc_device_backend(const hpc_device *d);
/* The table of the f64 reference, or of fast kernels. NULL: the backend has none. */
const struct hpc_kernels *hpc_device_kernels(const hpc_device *d, bool f64);
hpc_pool *hpc_device_pool(const hpc_device *d); /* NULL if kernels do not run on the host */

/* d NULL: the layout of the CPU. */
hpc_layout hpc_device_layout(const hpc_device *d, hpc_weight_role role, hpc_dtype t);

/* Instruction sets that this build contains and this CPU supports, best first; NULL-terminated. */
const char *const *hpc_device_isas(void);
const char *const *hpc_device_backends(void); /* built in, NULL-terminated */

/* Reads a device as users write it, BACKEND or BACKEND:INDEX, into backend and index. HPC_E_ARG:
 * INDEX is no number. HPC_E_UNSUPPORTED: the name is unknown, or this build or this machine lacks
 * what it needs; the message names what to install. */
int hpc_device_choose(hpc_device_options *out, const char *text);
typedef struct hpc_device_entry {
    char name[24]; /* as hpc_device_choose reads it */
    bool usable;
    char about[232]; /* its facts, or why it is not usable */
} hpc_device_entry;
/* The devices of all backends, at most `most`; returns their number. */
int hpc_device_list(hpc_device_entry *out, int most);

/* Bytes that can be allocated now; 0: unknown. */
size_t hpc_device_available(hpc_device *d);
/* Aligned to HPC_ALIGN; content undefined. */
int hpc_device_alloc(void **out, hpc_device *d, size_t bytes);
void hpc_device_free(hpc_device *d, void *p);
/* Host memory that copies reach fastest: pinned where the backend pins. */
int hpc_device_host_alloc(void **out, hpc_device *d, size_t bytes);
void hpc_device_host_free(hpc_device *d, void *p);
/* Sets every byte of device memory; ordered within its queue. */
int hpc_device_fill(hpc_device *d, hpc_queue q, void *p, int byte, size_t bytes);
/* Ordered within its queue. The host buffer must stay valid and unchanged until a fence. */
int hpc_device_copy(hpc_device *d, hpc_queue q, void *dst, const void *src, size_t bytes,
                    hpc_direction way);
/* Waits for all queues; the first failure in any of them is returned and recorded here. */
int hpc_device_fence(hpc_device *d);

/* The algorithms that products got by HPC_PRODUCTS_BY_SHAPE or _MEASURED so far, as JSON with the
 * device and the version of its library. Appends nothing if no product has one. */
int hpc_device_products(hpc_buf *out, hpc_device *d);
/* Takes those of such a text for programs that are opened later, if the device and the version are
 * the same; *taken is false otherwise. HPC_E_FORMAT names what is wrong in `source`. */
int hpc_device_products_set(bool *taken, hpc_device *d, const char *text, size_t bytes,
                            const char *source);

#ifdef __cplusplus
}
#endif
#endif
