/*
 * bench.h: benchmarks of single ops, training steps, optimizers, decoding and
 * communication. Each one measures a baseline or a hardware limit in the same run.
 *
 * Nothing here prints: results are structs, and the report of the op benchmark is text in a buffer.
 * Functions that return int return 0 or a negative code with the error recorded.
 */
#ifndef HPC_BENCH_H
#define HPC_BENCH_H

#include "runtime/base/options.h"
#include "runtime/device/probe.h"
#include "runtime/link/link.h"
#include "train/run.h"

/* The median of n > 0 numbers; sorts x. */
double hpc_bench_median(double *x, int64_t n);

/* ---- single ops --------------------------------------------------------------------------- */

typedef struct hpc_bench_op_options {
    hpc_texts op, attr;          /* names, "NAME=VALUE"; none: all ops, with default attributes */
    const char *shape;           /* "M,K,N"; NULL: the default shape of each case */
    const char *dtype, *weights; /* NULL: the default types of each case */
    const char *isa, *device;
    int64_t threads;
    double seconds; /* measuring time of each contestant */
    bool peer, cold, json;
} hpc_bench_op_options;

/* Types of activations and of weights that the options accept; end with NULL. */
extern const char *const hpc_bench_dtypes[], *const hpc_bench_weight_dtypes[];

/* Measures all cases that the options select, and appends a table for a terminal of that width (0:
 * unlimited), or JSON if o->json. Progress is
 * reported when there are two or more cases. HPC_E_ARG: an unknown op or attribute; HPC_E_SHAPE: a
 * shape that does not fit the op. */
int hpc_bench_op(hpc_buf *out, const hpc_bench_op_options *o, int width, hpc_progress *progress);

/* ---- training steps ----------------------------------------------------------------------- */

/* A model and the batch of a step. */
typedef struct hpc_bench_model {
    hpc_model_config config;
    int64_t rows, length;
} hpc_bench_model;

typedef struct hpc_bench_step_options {
    hpc_bench_model model;
    const char *optimizer; /* a name of hpc_optimizer_names */
    hpc_device_options device;
    int64_t steps; /* the total number; the first of several is left out of the summary */
    double lr;
    bool profile; /* collect the time by phase and op */
    bool floor;   /* measure the limits of the machine after each step */
} hpc_bench_step_options;

/* One step. The fields from limit_rate on are 0 and NULL unless `floor` was set. */
typedef struct hpc_bench_step_result {
    int64_t step;
    double loss, seconds, flops;
    double limit_rate, read;   /* multiply-adds in registers, bytes a second */
    double of_limits;          /* fraction of the step that these limits explain */
    const char *peer;          /* the faster peer; NULL: no peer supports the type */
    double peer_rate, of_peer; /* the same with the rate of the peer's products */
} hpc_bench_step_result;

typedef struct hpc_bench_step hpc_bench_step;
/* Keeps o, which must outlive *out. Open it before anything else starts OpenMP: the peers read
 * their number of threads from the environment. */
int hpc_bench_step_open(hpc_bench_step **out, const hpc_bench_step_options *o);
void hpc_bench_step_close(hpc_bench_step *b); /* NULL: nothing */
/* Runs the next step on generated text, and measures the limits after it. */
int hpc_bench_step_run(hpc_bench_step_result *out, hpc_bench_step *b);
/* The kind of the optimizer, an hpc_optimizer_kind. */
int hpc_bench_step_optimizer(const hpc_bench_step *b);
/* Medians of of_limits and of_peer over the last steps. Returns the number of steps that count. */
int64_t hpc_bench_step_floor(double *of_limits, double *of_peer, hpc_bench_step *b);
/* The time of all steps so far by phase and op, longest first; the caller frees *out. */
int hpc_bench_step_profile(hpc_profile_row **out, int *n, const hpc_bench_step *b);

/* ---- optimizers --------------------------------------------------------------------------- */

enum { HPC_BENCH_ROUNDS = 999 }; /* at most, of an optimizer benchmark */

typedef struct hpc_bench_optimizer_options {
    hpc_bench_model model;
    hpc_texts optimizer;    /* names; none: all */
    int64_t block;          /* rows of a preconditioner at most */
    int64_t interval;       /* steps between refreshes, for the mean; 0: the optimizer's default */
    int64_t rounds;         /* measured steps of each kind, 1 to HPC_BENCH_ROUNDS */
    const char *round_bf16; /* a name of hpc_round_bf16_names */
    hpc_device_options device;
} hpc_bench_optimizer_options;

typedef struct hpc_bench_optimizer_result {
    int kind;
    int64_t interval;
    hpc_optimizer_cost cost;     /* of all matrices of the blocks */
    double plain_ms;             /* median of a step without a refresh */
    double refresh_ms;           /* median of what a refresh adds */
    double step_ms;              /* mean step at that interval */
    double of_adamw, by_formula; /* mean step over AdamW's: measured, and by counted operations */
} hpc_bench_optimizer_result;

/* Measures AdamW first, then the other optimizers in the order of the options. The caller frees
 * *out. *model_flops: operations of a step without its update. */
int hpc_bench_optimizer(hpc_bench_optimizer_result **out, int *n, double *model_flops,
                        const hpc_bench_optimizer_options *o, hpc_progress *progress);

/* ---- decoding ----------------------------------------------------------------------------- */

typedef struct hpc_bench_decode_options {
    const char *shape, *weights, *cache; /* names of the lists below */
    const char *isa, *save;              /* save: writes the model to this GGUF file; NULL: no */
    int64_t prompt, tokens, turns, threads;
    const char *device; /* NULL: the CPU */
} hpc_bench_decode_options;

/* Names that the options accept; end with NULL. */
extern const char *const hpc_bench_shapes[], *const hpc_bench_decode_weights[],
                                                 *const hpc_bench_caches[];

typedef struct hpc_bench_decode_result {
    const char *isa; /* static */
    int threads;
    int64_t parameters;
    double matrix_bytes;       /* of packed weights, read for each token */
    double prompt_s, tokens_s; /* medians: of the prompt, of all tokens after it */
    double prompt_floor_s;     /* of the prompt, at limit_rate */
    double token_bytes;        /* that a token reads: matrices, keys and values */
    double limit_rate, read;   /* operations and bytes a second, as measured */
    double cache_bytes;        /* of the CPU's last level */
    bool cached;               /* caches may hold half of token_bytes or more */
} hpc_bench_decode_result;

int hpc_bench_decode(hpc_bench_decode_result *out, const hpc_bench_decode_options *o,
                     hpc_progress *progress);

/* ---- communication ------------------------------------------------------------------------ */

enum { HPC_BENCH_LINK_ROUNDS = 100, HPC_BENCH_LINK_ROWS = 128 };

typedef struct hpc_bench_link_options {
    bool mpi;              /* ranks are MPI processes; otherwise threads of this process */
    const char *operation; /* a name of hpc_bench_link_operations */
    int64_t ranks;         /* threads; over MPI, mpirun sets the number */
    int64_t least, most;   /* bytes; each size is four times the one before it */
    int64_t rounds;        /* samples per median, 1 to HPC_BENCH_LINK_ROUNDS */
} hpc_bench_link_options;

extern const char *const hpc_bench_link_operations[]; /* "all", ...; ends with NULL */

typedef struct hpc_bench_link_row {
    hpc_comm_kind kind;
    int64_t bytes;
    double us;             /* of the slowest rank; of a send, half of a round trip */
    double copy_us;        /* of a copy of as many bytes */
    double peer_us;        /* of MPI's own collective; 0: not measured */
    double gb_s, bus_gb_s; /* bandwidth, and bandwidth per connection as nccl-tests defines it */
} hpc_bench_link_row;

typedef struct hpc_bench_link_result {
    char library[256]; /* version of the MPI library; "" without MPI */
    int ranks, rank;   /* rank: this process's; only rank 0 has rows */
    hpc_bench_link_row row[HPC_BENCH_LINK_ROWS];
    int n;
} hpc_bench_link_result;

/* Checks the result of each operation: HPC_E_FAULT if an element is wrong. HPC_E_ARG: MPI was asked
 * for and mpirun did not start this process. */
int hpc_bench_link(hpc_bench_link_result *out, const hpc_bench_link_options *o,
                   hpc_progress *progress);

#endif
