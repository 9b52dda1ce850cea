/*
 * train.h: one training step as a program, optimizers, learning rates and batches.
 *
 * A step has the segments forward, backward (which accumulates gradients), norm, refresh (of
 * preconditioners) and update. Nothing here prints. Metrics are in metrics.h; runs in run.h.
 */
#ifndef HPC_TRAIN_H
#define HPC_TRAIN_H

#include "model/compare.h"
#include "model/emit.h"
#include "train/pipe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- optimizers ----------------------------------------------------------------------- */
typedef enum hpc_optimizer_kind {
    HPC_OPT_SGD,     /* with momentum; decay is added to the gradient */
    HPC_OPT_ADAMW,   /* decoupled decay, as for all below */
    HPC_OPT_MUON,    /* orthogonalised momentum, five Newton-Schulz steps */
    HPC_OPT_SHAMPOO, /* exact inverse fourth roots, by eigen-decomposition */
    HPC_OPT_SOAP,    /* Adam in Shampoo's eigenbasis */
    HPC_OPT_JORGE,   /* as published: binomial series, not symmetric */
    HPC_OPT_JORGE_SYMMETRIC,
    HPC_OPT_JORGE_NEWTON, /* moving average, root by coupled Newton steps */
    /* JORGE_NEWTON on MUON's momentum, along the shorter side only. Multiplying by the inverse
     * square root gives MUON's direction as of the last refresh. */
    HPC_OPT_JORGE_MOMENTUM,
    HPC_OPT_N
} hpc_optimizer_kind;
extern const char *const hpc_optimizer_names[];      /* "sgd", ... by kind, NULL-terminated */
int hpc_optimizer_find(int *kind, const char *name); /* HPC_E_ARG lists the known names */
typedef enum hpc_graft { HPC_GRAFT_SGD, HPC_GRAFT_ADAM } hpc_graft;
/* Which matrix products of an optimizer round their operands to bf16: none, those of updates, or
 * all. In the roots of JORGE_NEWTON and JORGE_MOMENTUM only the last step rounds. All state stays
 * f32. */
typedef enum hpc_halves { HPC_HALVES_NONE, HPC_HALVES_UPDATE, HPC_HALVES_ALL } hpc_halves;
/* "auto", then a name for each hpc_halves; NULL-terminated. */
extern const char *const hpc_round_bf16_names[];
/* The hpc_halves of such a name for an optimizer kind and the model's dtype. "auto" selects ALL if
 * the model is bf16 and rounding is known not to slow the optimizer's learning, otherwise NONE.
 * Unknown names also select NONE. */
int hpc_round_bf16_find(const char *name, int kind, hpc_dtype dtype);

/* MUON and all later kinds precondition the matrices of the blocks. The grafting optimizer (MUON,
 * SOAP: Adam) updates embeddings, head, norms and biases, and gives the norm of each preconditioned
 * step, tensor by tensor. Norms and biases do not decay. */
typedef struct hpc_optimizer_config {
    int kind;
    double beta1, beta2, eps; /* Adam's; beta1: also the momentum of a preconditioned step */
    double momentum;          /* of SGD, MUON and JORGE_MOMENTUM */
    double decay;
    int graft;
    int64_t block;    /* most rows of a preconditioner; see hpc_optimizer_block */
    int64_t interval; /* steps between refreshes */
    int64_t burst;    /* the first `burst` steps all refresh */
    double average;   /* SHAMPOO and later: S <- average S + (1 - average) G G^T */
    double ridge;     /* SHAMPOO and later: A = S + ridge |S|_F I */
    int64_t newton;   /* Newton steps per refresh in addition to those that reach a factor of two */
    double start;     /* JORGE, SYMMETRIC: L0 = start^(-1/4) I */
    double floor;     /* JORGE, SYMMETRIC: lower bound of beta2; 0: as published */
    double even; /* MUON, JORGE_MOMENTUM: decay rate of the averages that normalise rows and columns
                    of a step; 0: off */
    int halves;  /* hpc_halves */
} hpc_optimizer_config;
#define HPC_OPTIMIZER_CONFIG_DEFAULTS                                                              \
    {                                                                                              \
        .kind = HPC_OPT_ADAMW, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .momentum = 0.9,          \
        .decay = 0.1, .graft = HPC_GRAFT_ADAM, .block = 256, .interval = 10, .burst = 10,          \
        .average = 0.95, .ridge = 1e-5, .newton = 2, .start = 1e-2                                 \
    }
int hpc_optimizer_check(const hpc_optimizer_config *o);
/* True if steps have SGD's size and SGD updates what is not preconditioned; else Adam's. */
bool hpc_optimizer_follows_sgd(const hpc_optimizer_config *o);
/* Sets beta1, momentum, decay, interval, average, ridge, newton and even to the defaults of the
 * kind and its graft. */
void hpc_optimizer_usual(hpc_optimizer_config *o);
/* Default peak learning rate for training a small model from scratch: the best measured, with each
 * kind's shortest affordable refresh interval. Kinds grafted on SGD get SGD's rate. */
double hpc_optimizer_usual_rate(const hpc_optimizer_config *o);
/* Derives settings from SGD's by the published rule: grafting on SGD, the same rate, decay / (1 -
 * momentum). */
void hpc_optimizer_from_sgd(hpc_optimizer_config *o);
/* Rows per preconditioner block for an extent n: the largest divisor of n up to `block` if that is
 * at least block / 4; otherwise n if at most 2048; otherwise 0, and this side is not
 * preconditioned. */
int64_t hpc_optimizer_block(int64_t n, int64_t block);
/* Cost by formula for a matrix [m,n]: floating-point operations of an update's products and of a
 * refresh, and bytes of state. Tests compare it with the programs. */
typedef struct hpc_optimizer_cost {
    double apply, refresh, state_bytes;
} hpc_optimizer_cost;
hpc_optimizer_cost hpc_optimizer_cost_of(const hpc_optimizer_config *o, int64_t m, int64_t n);

/* ---- many ranks ------------------------------------------------------------------------------ */
/* A step on a grid of ranks. Row and col split the matrices of the blocks. The first layer of a
 * pair (q, k, v; gate, up) has its outputs over row and its inputs over col; the second (o; down)
 * has the reverse. So a layer's output needs no redistribution for the next one, and only sums of
 * products are communicated: over the input axis forward, over the output axis backward. Heads and
 * the MLP width are split over row. The residual stream is split over col, where attention is
 * replicated and norms are computed from sums. Embedding and head split the vocabulary over both.
 * Key/value heads are repeated until row divides them. tests/train/volume.c counts the bytes of a
 * step.
 *
 * Data, depth and expert split the rows of a microbatch. Expert also splits experts, to which
 * tokens go and from which they return (hpc_exchange). Depth also splits matrices: they are
 * gathered for use, and their gradients are reduced and scattered. ZeRO's stage selects what data
 * splits: 1 optimizer state, 2 also gradients, 3 also parameters. If the ranks do not divide
 * the rows, they split the columns of a matrix; other tensors stay whole (hpc_plan_whole). */
typedef struct hpc_parallel {
    hpc_grid_shape grid;
    int zero;        /* 0 to 3 */
    bool keep_depth; /* ranks keep matrices split by depth gathered between uses */
    bool overlap; /* overlaps communication with computation (hpc_overlap): the norm with the last
                     backward of a step, gathering with the update */
    bool halves; /* overdecomposition: each rank splits its rows in two, and computes one part while
                    the sums of the other are communicated */
    bool sequence; /* sequence parallelism along row: norms, residual additions and dropout work on
                      a share of the tokens */
    int ahead;     /* with overlap: as in hpc_overlap_options */
    size_t bucket_bytes; /* as in hpc_overlap_options */
    hpc_pipe pipe;       /* with ranks along pipe */
} hpc_parallel;
/* HPC_E_UNSUPPORTED: adapters with row or col; a class head
 * with `halves` or `sequence`. HPC_E_ARG: an unknown stage of ZeRO. HPC_E_SHAPE: rows, vocabulary,
 * heads or widths that the grid does not divide; the message gives the nearest numbers that work.
 * rows: of a microbatch over all ranks, each of `length` tokens. */
int hpc_parallel_check(const hpc_parallel *q, const hpc_model_config *c, int64_t rows,
                       int64_t length);
/* Index of this rank's part of a microbatch's rows; *parts is the number of parts. */
int hpc_parallel_part(int *parts, const hpc_grid_shape *s, const int coord[HPC_AXIS_N]);

/* ---- pruning --------------------------------------------------------------------------------- */
typedef struct hpc_masks hpc_masks; /* train/prune.h */
/* Type in which ranks sum gradients. bf16 halves the bytes sent; the update reads the rounded
 * values, on one rank as on many. AUTO: bf16 for a pruned bf16 model, else full precision. */
typedef enum hpc_gradients {
    HPC_GRADIENTS_AUTO,
    HPC_GRADIENTS_FULL,
    HPC_GRADIENTS_BF16
} hpc_gradients;
extern const char *const hpc_gradients_names[]; /* "auto", "f32", "bf16" */
/* ---- the step as a program --------------------------------------------------------------- */
typedef struct hpc_step_options {
    hpc_model_emission model; /* of one microbatch */
    double clip;              /* limit of the global gradient norm; 0: none */
    int recompute;            /* hpc_recompute_policy */
    int recompute_blocks;     /* recompute only the first so many blocks; 0: all */
    bool once;                /* each update follows one backward, which overwrites the gradients */
    const hpc_parallel *parallel; /* layouts for hpc_step_shard; NULL: one rank */
    const hpc_masks *masks; /* elements to train; the others stay zero, without state; NULL: all */
    int coord[HPC_AXIS_N];  /* coordinate of the rank, for its part of the masks */
    int gradients;          /* hpc_gradients */
    bool repeat_joined;     /* recomputation repeats collectives (hpc_recompute_options) */
    bool adama;             /* ADAMW: add each gradient to the moments at once (train/adama.c) */
} hpc_step_options;
typedef struct hpc_step_half { /* second part of overdecomposed rows */
    hpc_model_io model;
    hpc_value loss, weight, last_loss; /* as in hpc_step */
} hpc_step_half;
typedef struct hpc_step_start hpc_step_start; /* state with nonzero initial values */
typedef struct hpc_step {
    hpc_model_io model;
    int backward, norm, refresh, update; /* segments; refresh -1: none */
    int gather;   /* segment to run after writing parameters, on many ranks; -1: none */
    int last;     /* backward of the last microbatch, with the norm if overlapped */
    bool gathers; /* update gathers the parameters that it writes */
    bool halves;  /* overdecomposition: `second` is in use */
    hpc_step_half second;
    hpc_value loss;      /* loss computed by backward; model.loss is computed by forward_head */
    hpc_value last_loss; /* loss computed by `last` */
    hpc_value weight;    /* shaped like the loss: gradient of the objective by each element */
    hpc_value lr;        /* f32 */
    hpc_value limit;     /* f32: skip the update if the norm is above it or NaN; inf: only if NaN */
    hpc_value grad_norm; /* f32, kept; before clipping */
    hpc_value ok;        /* i32, kept; 0: refresh and update are skipped */
    hpc_step_start *start; /* start_n of them, in the program's arena */
    int64_t start_n;
    hpc_value moments_keep; /* adama: [2], factors of m and v as a gradient is added; or HPC_NONE */
    hpc_stage_options stage; /* of a pipeline; chunks 0: none */
    int first[HPC_STAGES];   /* blocks of its stages */
} hpc_step;
int hpc_step_emit(hpc_step *io, hpc_program *p, const hpc_model_config *c,
                  const hpc_optimizer_config *o, const hpc_step_options *s);
/* Turns the program into that of the rank at `coord`. */
int hpc_step_shard(hpc_step *io, hpc_program *p, const hpc_parallel *q,
                   const int coord[HPC_AXIS_N]);
/* Does step `step` (from 1) run the refresh segment? */
bool hpc_step_refreshes(const hpc_optimizer_config *o, int64_t step);
/* Initial value of state v that is not a parameter: rotary frequencies, a multiple of I for
 * preconditioners, else zeros. t: type of v over all ranks. out: its elements as f32. */
void hpc_step_initial(float *out, const hpc_step *io, hpc_value v, const hpc_type *t,
                      const hpc_model_config *c);

/* ---- temperature of gates -------------------------------------------------------------------- */
/* From dense to sparse: the temperature falls from `from` to `to` over `steps` steps. A token goes
 * to all experts with a score above `threshold`; from step `hard` on (0: never), and in validation,
 * to the best one alone. */
typedef struct hpc_anneal_config {
    double from, to, threshold;
    bool linear; /* else exponential */
    int64_t steps, hard;
} hpc_anneal_config;
/* HPC_E_ARG names the value that is wrong. */
int hpc_anneal_check(const hpc_anneal_config *c);
/* Temperature and threshold of a step (from 1); of validation, for a step below 0. */
void hpc_anneal_at(double out[2], const hpc_anneal_config *c, int64_t step);

/* ---- learning rates ------------------------------------------------------------------------ */
typedef enum hpc_lr_kind {
    HPC_LR_CONSTANT,
    HPC_LR_COSINE,
    HPC_LR_LINEAR,
    HPC_LR_STEP,
    HPC_LR_WSD
} hpc_lr_kind;
extern const char *const hpc_lr_names[]; /* "constant", "cosine", "linear", "step", "wsd" */
typedef struct hpc_lr_config {
    int kind;
    double peak, least; /* least: final rate as a share of the peak, for COSINE, LINEAR, WSD */
    int64_t warmup;     /* steps, linear from 0 */
    double factor;      /* STEP: applied at one and two thirds of the steps after warmup */
    double decay;       /* WSD: final share of the steps, decaying as 1 - sqrt */
} hpc_lr_config;
/* Rate of a step in 1..steps. */
double hpc_lr_at(const hpc_lr_config *c, int64_t step, int64_t steps);

/* ---- batches --------------------------------------------------------------------------------- */
/* Batches rows of `length` tokens from several data sets of shards. With HPC_OBJECTIVE_TOKENS, a
 * data set is one stream of tokens, cut into rows and shuffled for each pass. With the other
 * objectives, a row is one document; of a longer document the end is kept. Documents in a row do
 * not attend to each other, and positions start at 0 in each. */
typedef enum hpc_objective {
    HPC_OBJECTIVE_TOKENS,  /* every next token within a document */
    HPC_OBJECTIVE_ANSWER,  /* only tokens from the column "answer" on */
    HPC_OBJECTIVE_CLASSES, /* the column "label", from the tokens before "answer" if that column
                              exists */
    HPC_OBJECTIVE_PAIRS /* the column "label", from both sides of a change (model/compare.h); a row
                           is two sequences of together at most `length` tokens */
} hpc_objective;
typedef struct hpc_loader_source {
    const char *path;
    double weight; /* share of the rows, relative to the sum of weights; all 0: in proportion to
                      their rows */
} hpc_loader_source;
typedef struct hpc_loader_options {
    const hpc_loader_source *source;
    int64_t source_n;
    const hpc_hash128 *tokenizer; /* hash that all sources must have; NULL: that of the first */
    int objective;
    hpc_compare_marks marks; /* PAIRS: marks that divide a document */
    int64_t classes;         /* CLASSES, PAIRS: labels must be below; 0: no limit */
    int64_t length;          /* of a row */
    int64_t documents; /* most documents per row; the last sequence takes the remaining ones */
    uint64_t seed;
    bool ordered; /* in file order, not shuffled: for validation */
} hpc_loader_options;
typedef struct hpc_loader hpc_loader;
enum { HPC_LOADER_SOURCES = 64 };
typedef struct hpc_loader_state {      /* complete state for resuming */
    int64_t rows;                      /* rows returned so far */
    int64_t taken[HPC_LOADER_SOURCES]; /* rows taken from each source */
} hpc_loader_state;
int hpc_loader_open(hpc_loader **out, const hpc_loader_options *o);
void hpc_loader_close(hpc_loader *l);
int64_t hpc_loader_vocabulary(const hpc_loader *l);
hpc_hash128 hpc_loader_tokenizer(const hpc_loader *l);
int64_t hpc_loader_rows(const hpc_loader *l); /* rows of one pass over all sources */
int64_t hpc_loader_tokens(const hpc_loader *l);
uint64_t hpc_loader_hash(const hpc_loader *l); /* hash of the contents of all sources */
hpc_loader_state hpc_loader_tell(const hpc_loader *l);
int hpc_loader_seek(hpc_loader *l, const hpc_loader_state *s);
/* A microbatch. hpc_batch_create allocates the arrays in the form of the model's inputs. */
typedef struct hpc_batch {
    int64_t rows, length, documents; /* documents: hpc_loader_documents */
    int64_t parts;     /* parts of the rows, one per rank; no sequence crosses a part */
    int64_t sequences; /* capacity: hpc_loader_sequences */
    int32_t *tokens, *targets, *pos; /* rows * length */
    int32_t *start, start_n;         /* sequences + 1 */
    int32_t *pooled, *classes;       /* CLASSES: one per sequence, -1: unused. PAIRS: two entries of
                                        pooled per entry of classes. Else NULL */
    int64_t counted;                 /* targets (or classes) that count in the loss */
    int64_t tokens_n;                /* tokens that are not padding */
} hpc_batch;
/* Most sequences per row: `documents`, but fewer than `length`; 2 for pairs. */
int64_t hpc_loader_documents(const hpc_loader_options *o);
/* Most sequences of `rows` rows in `parts` parts. A part needs 1 more, or 2 with pairs. */
int64_t hpc_loader_sequences(const hpc_loader_options *o, int64_t rows, int64_t parts);
/* parts must divide rows. */
int hpc_batch_create(hpc_batch **out, const hpc_loader_options *o, int64_t rows, int64_t parts);
void hpc_batch_free(hpc_batch *b);
/* Fills the batch with the next `rows` rows, at most b->rows; the others are padding. */
int hpc_loader_next(hpc_batch *b, hpc_loader *l, int64_t rows);

#ifdef __cplusplus
}
#endif
#endif
