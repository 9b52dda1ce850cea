/*
 * cuda.h: the CUDA device and its kernels as C function tables. Two shared objects implement them:
 * hpccoder-cuda.so on the CUDA runtime, and hpccoder-cuda-shim.so, which runs the same kernels on
 * the CPU to test them. Neither calls a function of hpccoder; backend.c and select.c do the rest.
 *
 * Functions return 0, or an hpc_cuda_failure with the reason in `why` (HPC_CUDA_TEXT bytes).
 */
#ifndef HPC_CUDA_H
#define HPC_CUDA_H

#include "runtime/device/kernel/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HPC_CUDA_VERSION = 4, HPC_CUDA_TEXT = 256 };
typedef enum hpc_cuda_failure {
    HPC_CUDA_FAILED = 1,
    HPC_CUDA_NO_MEMORY, /* of the device */
    HPC_CUDA_LOST       /* nothing runs on the device any more */
} hpc_cuda_failure;
enum { HPC_CUDA_HEAD_MOST = 256 }; /* elements of a head of attention */

struct hpc_cuda_library;

/* A queue as launchers see it. */
typedef struct hpc_cuda_stream {
    const struct hpc_cuda_library *library;
    void *self;           /* of the library */
    int queue;            /* hpc_queue */
    hpc_origin at;        /* of the launch, noted by kernels that find a fault */
    const int32_t *guard; /* device scalar: kernels do nothing where it is 0; NULL: none */
    char *why;
    const void *device; /* of backend.c */
    int products;       /* hpc_products: how algorithms of products are chosen */
    bool choosing;      /* launchers choose the algorithms of their products, and launch nothing */
} hpc_cuda_stream;

/* Enqueues the kernels of an op; args are its arguments of kernel.h. */
typedef int hpc_cuda_launcher(const hpc_cuda_stream *s, const void *args, void *workspace);

typedef struct hpc_cuda_launchers {
    hpc_cuda_launcher *act, *act_grad, *glu, *glu_grad, *binary, *scale, *copy, *fill, *dropout,
        *soft;
    hpc_cuda_launcher *norm, *norm_grad, *rope, *gather, *scatter, *route, *pick, *spread, *reduce;
    hpc_cuda_launcher *sample;
    hpc_cuda_launcher *sgd, *adamw, *adam, *apply, *below, *combine, *map, *tile, *bundle;
    hpc_cuda_launcher *adam_add, *adam_step;
    hpc_cuda_launcher *matmul, *matmul_mma, *matmul_i8, *matmul_bytes, *pack;
    hpc_cuda_launcher *grouped, *grouped_mma, *grouped_bytes, *gate, *gate_grad, *dispatch, *eigh;
    hpc_cuda_launcher *graph_reduce, *graph_edge, *graph_softmax, *graph_softmax_grad, *graph_scale,
        *graph_merge, *graph_attend, *graph_attend_source, *graph_attend_target;
    hpc_cuda_launcher *attention, *attention_mma, *attention_grad, *attention_grad_mma;
    hpc_cuda_launcher *head_loss, *head_loss_grad;
} hpc_cuda_launchers;

typedef struct hpc_cuda_about {
    char architecture[32]; /* "sm_90"; of the shim, its schedule */
    size_t memory_bytes;   /* of the device, or 0 */
    char name[64];         /* as its vendor calls it */
    int driver;            /* CUDA version that the driver supports, as 13000 */
    char products[64];     /* "cuBLASLt 13.0.2", or why products have our own kernels */
} hpc_cuda_about;

/* The algorithm of the products of one shape (lt.cuh). */
enum { HPC_CUDA_SHAPE = 10, HPC_CUDA_ALGORITHM = 8 };
typedef struct hpc_cuda_choice {
    int64_t shape[HPC_CUDA_SHAPE]; /* m, n, k, batch and the form of operands */
    uint64_t algorithm[HPC_CUDA_ALGORITHM];
    int64_t workspace_bytes, ns; /* ns: as measured, or 0 */
} hpc_cuda_choice;
/* Settings of a device, from the text hpc_device_options.isa (settings.c). */
typedef struct hpc_cuda_settings {
    bool graphs;
    int schedule; /* of the shim, in the order of hpc_cuda_schedules */
    /* The answers of the shim's driver, for tests: CUDA version as 13000 (0: no driver), devices,
     * architecture as 90, bytes of memory (0: no limit) and how many of them others hold. */
    int driver, devices, architecture;
    size_t memory, others;
    bool lt; /* with the stub of cuBLASLt */
    int full_at,
        lost_at; /* the fence that finds no memory; the one from which the device is lost */
} hpc_cuda_settings;
extern const char *const hpc_cuda_schedules[]; /* NULL-terminated */
/* text: words separated by blanks; NULL: defaults. shim: the settings of the shim, too. Returns 0,
 * or nonzero with the reason in `why`. */
int hpc_cuda_settings_read(hpc_cuda_settings *out, const char *text, bool shim, char *why);

typedef struct hpc_cuda_library {
    int version;
    /* Can a device be opened? Starts nothing. */
    int (*describe)(hpc_cuda_about *about, int device, const hpc_cuda_settings *s, char *why);
    /* device: its number. */
    int (*open)(void **self, int device, const hpc_cuda_settings *s, hpc_cuda_about *about,
                char *why);
    void (*close)(void *self);
    int (*alloc)(void *self, void **out, size_t bytes, char *why);
    void (*release)(void *self, void *p);
    int (*copy)(void *self, int queue, void *dst, const void *src, size_t bytes, hpc_direction way,
                char *why);
    int (*record)(void *self, int queue, int *event, char *why);
    int (*wait)(void *self, int queue, int event, char *why);
    int (*sync)(void *self, int event, char *why);
    int (*elapsed)(void *self, int from, int to, int64_t *ns, char *why);
    int (*fill)(void *self, int queue, void *p, int byte, size_t bytes, char *why);
    int (*host_alloc)(void *self, void **out, size_t bytes, char *why);
    void (*host_release)(void *self, void *p);
    /* Waits for all queues, recycles events and returns the fault that kernels noted. */
    int (*fence)(void *self, hpc_fault *fault, char *why);
    void *(*stream)(void *self, int queue); /* cudaStream_t */
    /* Algorithms of products per shape: those chosen so far, at most `most`; and those of a record
     * with the same `products` and `name` of hpc_cuda_about. */
    int64_t (*choices)(void *self, hpc_cuda_choice *out, int64_t most);
    int (*choose)(void *self, const hpc_cuda_choice *choice, int64_t n, char *why);
    /* Opens the library of products, without a device; text (64 bytes): its name and version, or
     * what is missing. */
    int (*find_products)(char *text);
    int (*available)(void *self, size_t *bytes, char *why);
    /* As in hpc_backend. */
    int (*capture)(void *self, char *why);
    int (*branch)(void *self, const int32_t *guard, char *why);
    int (*captured)(void *self, void **graph, char *why);
    int (*replay)(void *self, void *graph, char *why);
    void (*discard)(void *self, void *graph);
    hpc_cuda_launchers launch;
} hpc_cuda_library;

/* Reductions of n rows or elements go by chunks of this length, so that at most this many chunks
 * are added up in order, by kernels that workspaces of select.c are for. */
enum { HPC_CUDA_CHUNKS = 1024, HPC_CUDA_CHUNK_LEAST = 64 };
static inline int64_t hpc_cuda_chunk(int64_t n)
{
    const int64_t length = (n + HPC_CUDA_CHUNKS - 1) / HPC_CUDA_CHUNKS;
    return length < HPC_CUDA_CHUNK_LEAST ? (int64_t)HPC_CUDA_CHUNK_LEAST : length;
}

/* Bytes of n elements rounded to 8 bits, with a scale and a sum for each 32. */
static inline size_t hpc_cuda_rounded(int64_t n)
{
    return (size_t)n + (size_t)(n / 32) * (sizeof(float) + sizeof(int32_t));
}

/* The workspace of head_loss and its gradient: f32 logits of a chunk of rows, their gradient in
 * bf16 (0 bytes: in place of the logits), and the live rows of every chunk. */
typedef struct hpc_cuda_head {
    int64_t chunk, chunks;           /* rows of a chunk; how many */
    size_t grad_at, count_at, bytes; /* offsets; the size */
} hpc_cuda_head;
enum { HPC_CUDA_HEAD_ROWS = 2048, HPC_CUDA_HEAD_ALIGN = 256 };
#define HPC_CUDA_HEAD_BYTES ((int64_t)256 << 20) /* of logits, unless 128 rows have more */

static inline hpc_cuda_head hpc_cuda_head_of(int64_t rows, int64_t vocabulary, bool bf16_grad)
{
    const int64_t least = 128, fit = HPC_CUDA_HEAD_BYTES / 4 / (vocabulary > 0 ? vocabulary : 1);
    const size_t mask = HPC_CUDA_HEAD_ALIGN - 1;
    hpc_cuda_head h;
    h.chunk = fit / least * least;
    h.chunk = h.chunk < least ? least : h.chunk;
    h.chunk = h.chunk > HPC_CUDA_HEAD_ROWS ? (int64_t)HPC_CUDA_HEAD_ROWS : h.chunk;
    h.chunk = h.chunk > rows ? rows : h.chunk;
    h.chunks = h.chunk > 0 ? (rows + h.chunk - 1) / h.chunk : 0;
    const size_t logits = (size_t)(h.chunk * vocabulary);
    h.grad_at = bf16_grad ? (logits * 4 + mask) & ~mask : 0;
    h.count_at = (h.grad_at + logits * (bf16_grad ? 2 : 4) + mask) & ~mask;
    h.bytes = h.count_at + (size_t)h.chunks * 4;
    return h;
}

/* Attention over pages goes by parts of `length` keys of a sequence, which blocks share out if few
 * rows are live, and which are combined in order. The workspace: the sums of the parts so far for
 * each row, f32 [rows, heads, dim], then the states of all parts of the few rows, f32 [few, heads,
 * parts, dim + 2]. The length depends on the capacity of the pages, never on the batch. */
typedef struct hpc_cuda_parts {
    int length, parts; /* parts 1: no workspace */
    size_t part_at, bytes;
} hpc_cuda_parts;
enum { HPC_CUDA_PART_LEAST = 512, HPC_CUDA_PARTS = 32, HPC_CUDA_FEW = 64 };

static inline hpc_cuda_parts hpc_cuda_parts_of(const hpc_attention_args *a)
{
    hpc_cuda_parts p = {0, 1, 0, 0};
    if (a->pages.rank < 0) return p;
    const int64_t keys = a->k.extent[1] * a->pages.extent[1], rows = a->q.extent[0],
                  few = rows < HPC_CUDA_FEW ? rows : (int64_t)HPC_CUDA_FEW;
    const int64_t heads = a->q.extent[1], dim = a->q.extent[2];
    const int64_t each = (keys + HPC_CUDA_PARTS - 1) / HPC_CUDA_PARTS;
    p.length = (int)((each + HPC_CUDA_PART_LEAST - 1) / HPC_CUDA_PART_LEAST * HPC_CUDA_PART_LEAST);
    p.parts = p.length > 0 ? (int)((keys + p.length - 1) / p.length) : 1;
    if (p.parts < 2) return p;
    p.part_at = (size_t)(rows * heads * dim) * sizeof(float);
    p.bytes = p.part_at + (size_t)(few * heads * p.parts * (dim + 2)) * sizeof(float);
    return p;
}

#define HPC_CUDA_SYMBOL "hpc_cuda_library_table"

/* plan.run of every op calls this. */
int hpc_cuda_run(const hpc_launch *l, hpc_cuda_launcher *launcher, const void *args);
extern const hpc_kernels hpc_cuda_kernels; /* select.c */

#ifdef __cplusplus
}
#endif
#endif
