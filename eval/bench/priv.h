/*
 * priv.h: shared data of the op benchmark (cases, their programs, results), and the
 * parts of it that the step benchmark uses.
 */
#ifndef HPC_BENCH_PRIV_H
#define HPC_BENCH_PRIV_H

#include "eval/bench/bench.h"
#include "runtime/device/peer/peer.h"
#include "runtime/program/op/op.h"
#include "runtime/program/run/run.h"

enum {
    BENCH_EXTENTS = 5, /* at most, in a shape */
    BENCH_READY = 2,   /* values that a preparation hands over */
    BENCH_PEERS = 4,
    BENCH_ATTR = 64, /* bytes of the largest attribute struct; checked where it is used */
    BENCH_TEXT = 96
};

/* ---- cases -------------------------------------------------------------------------------- */

typedef struct hpc_bench_emitter hpc_bench_emitter;

/* A row of the table. Inputs are made by name, so that each emission finds those of the last. */
typedef struct hpc_bench_case {
    const hpc_op *op;
    const char *extents;          /* "M,K,N" */
    int64_t shape[BENCH_EXTENTS]; /* as a training step of 124 M parameters has it */
    unsigned shrinks;             /* extents (bit 1 << index) that the comparison may cut down */
    const void *base;             /* attributes to begin with; NULL: zeros */
    const char *attr;             /* set in addition: "trans_b act=silu" */
    bool weighs;                  /* takes weights of any type */
    bool packed;                  /* weights in panels, also if their type is not a block format */
    bool extra;                   /* only where no elements are asked for: it has its own */
    hpc_dtype dtype, weights;
    /* What has to be computed before; NULL: nothing. Sets e->ready. */
    void (*prepare)(hpc_bench_emitter *e);
    void (*emit)(hpc_bench_emitter *e); /* the instruction that is measured, once */
} hpc_bench_case;

extern const hpc_bench_case hpc_bench_cases[]; /* ends with op NULL */

/* A case with its extents, elements and attributes chosen. */
typedef struct hpc_bench_job {
    const hpc_bench_case *c;
    int64_t shape[BENCH_EXTENTS];
    int extent_n;
    hpc_dtype dtype, weights;
    bool packed; /* weights, beforehand */
    _Alignas(16) uint8_t attr[BENCH_ATTR];
    char attr_text[BENCH_TEXT];
} hpc_bench_job;

int hpc_bench_extent_n(const hpc_bench_case *c);
/* Overlays "NAME=VALUE" or, for flags, "NAME": an unknown name or value is an error that lists the
 * known ones. hpc_bench_attr_texts does so for words separated by spaces. */
int hpc_bench_attr_set(void *attr, const hpc_op *op, const char *text);
int hpc_bench_attr_texts(void *attr, const hpc_op *op, const char *words);

/* ---- programs ------------------------------------------------------------------------------ */

typedef enum hpc_fill_kind {
    HPC_FILL_NORMAL,   /* mean 0, deviation `by` */
    HPC_FILL_POSITIVE, /* the absolute values of those */
    HPC_FILL_SAME,     /* by */
    HPC_FILL_EVEN,     /* 0, by, 2 by, ... */
    HPC_FILL_POWERS,   /* 1, by, by^2, ... */
    HPC_FILL_INDEX,    /* any integer below `by` */
    HPC_FILL_SHUFFLE   /* integers below `by`, each at most once */
} hpc_fill_kind;
typedef struct hpc_bench_fill {
    hpc_value value, like; /* like: the first copy of this input, which has the same content */
    hpc_fill_kind kind;
    double by;
} hpc_bench_fill;

struct hpc_bench_emitter {
    hpc_program *p;
    const hpc_bench_job *job;
    const int64_t *n; /* = job->shape */
    const void *attr; /* of job */
    int copy;         /* of the inputs: 0 unless each repetition has its own */
    hpc_value *ready; /* [BENCH_READY] of this copy */
    hpc_bench_fill *fill;
    int64_t fill_n, fill_cap;
};

/* For emitters: an input or state, found by its name or made. HPC_NONE after a failure. */
hpc_value hpc_bench_input(hpc_bench_emitter *e, const char *name, hpc_dtype dtype,
                          hpc_bench_fill fill, int rank, const int64_t *extent);
hpc_value hpc_bench_state(hpc_bench_emitter *e, const char *name, hpc_dtype dtype,
                          hpc_bench_fill fill, int rank, const int64_t *extent);

/* Emitters of ops on graphs (op_case_graph.c). */
void hpc_bench_emit_graph_attend(hpc_bench_emitter *e);
void hpc_bench_emit_graph_attend_source(hpc_bench_emitter *e);
void hpc_bench_emit_graph_attend_target(hpc_bench_emitter *e);
void hpc_bench_emit_graph_edge(hpc_bench_emitter *e);
void hpc_bench_emit_graph_merge(hpc_bench_emitter *e);
void hpc_bench_emit_graph_reduce(hpc_bench_emitter *e);
void hpc_bench_emit_graph_scale(hpc_bench_emitter *e);
void hpc_bench_emit_graph_softmax(hpc_bench_emitter *e);
void hpc_bench_emit_graph_softmax_grad(hpc_bench_emitter *e);

enum { BENCH_PREPARE, BENCH_MEASURED }; /* segments */

typedef struct hpc_bench_program {
    hpc_bench_emitter e;
    hpc_program *p;
    hpc_exec *exec;
    int repeats; /* instructions in the measured segment */
} hpc_bench_program;

/* Emits, keeps every output, but opens nothing yet. cold: each repetition has its own inputs. */
int hpc_bench_emit(hpc_bench_program *out, const hpc_bench_job *job, int repeats, bool cold);
/* Opens it on d, writes the inputs and runs the preparation. */
int hpc_bench_open(hpc_bench_program *b, hpc_device *d);
void hpc_bench_close(hpc_bench_program *b);
/* The encoded content of what fill f describes; *data is the caller's to free. */
int hpc_bench_content(void **data, const hpc_program *p, const hpc_bench_fill *f);
/* The name of the kernel that d selects for the measured instruction. */
int hpc_bench_kernel(const char **name, const hpc_program *p, hpc_device *d);

/* ---- what was measured ----------------------------------------------------------------------- */

typedef struct hpc_bench_time {
    double median_ns, least_ns; /* of one call */
    int64_t samples;
} hpc_bench_time;

typedef enum hpc_bench_rate {
    HPC_RATE_F32,
    HPC_RATE_F64,
    HPC_RATE_BF16,
    HPC_RATE_I8,
    HPC_RATE_N
} hpc_bench_rate;

typedef struct hpc_bench_result {
    hpc_bench_job job;
    const char *kernel;
    int repeats;
    hpc_bench_time time;
    hpc_cost cost; /* of one call */
    hpc_bench_rate rate;
    double read;     /* bytes a second, measured just before */
    double floor_ns; /* of ops that are neither arithmetic nor bytes; 0: by cost */
    bool checked;
    double error, nmse;
    int64_t checked_shape[BENCH_EXTENTS];
    struct {
        const char *name, *version;
        hpc_bench_time time;
        double distance; /* largest |ours - theirs| / (1 + |theirs|) */
    } peer[BENCH_PEERS];
    int peer_n;
    char skipped[512]; /* why nothing was measured; "": it was */
} hpc_bench_result;

typedef struct hpc_bench_peers hpc_bench_peers;

typedef struct hpc_bench {
    const hpc_bench_op_options *o;
    hpc_device *device;
    hpc_device_info about;
    hpc_probe *probe;
    hpc_bench_peers *peers;     /* NULL: none */
    char peer_note[BENCH_TEXT]; /* reason for missing peers; "" otherwise */
    hpc_limits limits;          /* the best of all measurements */
    double rate[HPC_RATE_N]; /* of products: the probe's, or the best kernel's where that is more */
    double call_ns, handoff_ns;
    hpc_bench_result *result;
    int64_t result_n, result_cap;
} hpc_bench;

/* Fills r->kernel, repeats, time, cost, rate, read and peers. */
int hpc_bench_measure(hpc_bench *b, hpc_bench_result *r);
/* Fills r->error, nmse and checked_shape. */
int hpc_bench_check(hpc_bench *b, hpc_bench_result *r);
/* Appends what an instruction and a barrier cost, as results of case c. */
int hpc_bench_nop(hpc_bench *b, const hpc_bench_case *c);
/* Measures the limits again; *read is what was read this time, for what is measured next. */
int hpc_bench_limits(hpc_bench *b, double *read);
/* Contestants take turns, each after one that is not counted, for `seconds` each and at least three
 * times; a turn makes `calls` calls. time: by contestant. */
typedef struct hpc_bench_contestant {
    int (*turn)(void *user);
    void *user;
} hpc_bench_contestant;
int hpc_bench_alternate(hpc_bench_time *time, const hpc_bench_contestant *c, int n, int calls,
                        double seconds);

/* Opens the peers' shared object in the executable's folder or ../lib/hpccoder. If it is missing,
 * *out is NULL and note gives the reason. Sets the instruction set and the number of threads of the
 * peers in the environment, so call it before their libraries start. */
int hpc_bench_peers_open(hpc_bench_peers **out, char note[BENCH_TEXT], const char *isa,
                         int threads);
void hpc_bench_peers_close(hpc_bench_peers *p);
const hpc_peer *const *hpc_bench_peers_list(const hpc_bench_peers *p); /* ends with NULL */
/* True if the job is a product that peers support. */
bool hpc_bench_product(hpc_peer_product *out, const hpc_bench_job *job, int threads);

/* Time that the limits allow for a call, and which of them: "compute", "memory", "latency". */
double hpc_bench_floor_ns(const hpc_bench *b, const hpc_bench_result *r, const char **bound);
/* A table of that width, 0: unlimited; or JSON. */
int hpc_bench_report(hpc_buf *out, const hpc_bench *b, bool json, int width);

/* ---- training steps ----------------------------------------------------------------------------
 */

/* Options of a trainer of that model, with gradient clipping and whole rows. */
hpc_trainer_options hpc_bench_trainer(const hpc_bench_model *m, const hpc_optimizer_config *o,
                                      hpc_device_options device);
/* Fills b with generated loops, bytes as tokens (modulo vocab); each target is the next token. */
void hpc_bench_text(hpc_batch *b, int64_t vocab, int64_t step);

typedef struct hpc_step_limits {
    hpc_limits machine;
    double peer_rate; /* operations a second of the fastest peer's products of the step's shapes */
    const char *peer; /* NULL: no peer supports such elements */
} hpc_step_limits;
typedef struct hpc_step_ruler hpc_step_ruler;
/* Call it before anything else starts OpenMP: it sets the number of threads of the peers. */
int hpc_step_ruler_open(hpc_step_ruler **out, const hpc_bench_model *m,
                        const hpc_device_options *device);
int hpc_step_ruler_measure(hpc_step_limits *out, hpc_step_ruler *r);
void hpc_step_ruler_close(hpc_step_ruler *r);

#endif
