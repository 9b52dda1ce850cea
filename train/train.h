/*
 * train.h: training on one machine: the step as a program, its optimizers, the
 * batches that go in, and the run around it.
 *
 * A step's segments are forward, backward (which adds gradients up), norm,
 * refresh (of preconditioners) and update: an optimizer is instructions over
 * the same ops as the model. Nothing here prints: a run reports through
 * callbacks. Metrics and event files: metrics.h.
 */
#ifndef HPC_TRAIN_H
#define HPC_TRAIN_H

#include "model/compare.h"
#include "model/emit.h"
#include "runtime/program/run/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- optimizers ----------------------------------------------------------------------- */
typedef enum hpc_optimizer_kind {
    HPC_OPT_SGD,     /* with momentum; decay is added to the gradient */
    HPC_OPT_ADAMW,   /* decoupled decay, as all below */
    HPC_OPT_MUON,    /* orthogonalised momentum, five Newton-Schulz steps */
    HPC_OPT_SHAMPOO, /* exact inverse fourth roots, by eigen-decomposition */
    HPC_OPT_SOAP,    /* Adam in Shampoo's eigenbasis */
    HPC_OPT_JORGE,   /* as published: a binomial series, not symmetric */
    HPC_OPT_JORGE_SYMMETRIC,
    HPC_OPT_JORGE_NEWTON,   /* a moving average, its root by coupled steps */
    HPC_OPT_JORGE_MOMENTUM, /* the same of MUON's momentum, on its shorter side alone: its inverse
                               square root is MUON's direction, as it was at the last refresh */
    HPC_OPT_N
} hpc_optimizer_kind;
extern const char *const hpc_optimizer_names[];      /* "sgd", ... by kind, NULL-terminated */
int hpc_optimizer_find(int *kind, const char *name); /* HPC_E_ARG tells the known ones */
typedef enum hpc_graft { HPC_GRAFT_SGD, HPC_GRAFT_ADAM } hpc_graft;
/* Which products of an optimizer round their factors to bf16: those of updates; those of refreshes
 * too, but of JORGE_NEWTON's and JORGE_MOMENTUM's roots the last step alone. All state stays f32.
 */
typedef enum hpc_halves { HPC_HALVES_NONE, HPC_HALVES_UPDATE, HPC_HALVES_ALL } hpc_halves;
/* "auto", then a name for each hpc_halves; NULL-terminated. */
extern const char *const hpc_round_bf16_names[];
/* The hpc_halves of such a name for an optimizer kind and the model's dtype. "auto" selects ALL if
 * the model is bf16 and rounding is known not to slow the optimizer's learning, otherwise NONE. */
int hpc_round_bf16_find(const char *name, int kind, hpc_dtype dtype);

/* Matrices within blocks are what MUON and all after it precondition. Embeddings, head, norms and
 * biases are treated by the grafting optimizer (MUON, SOAP: Adam), whose step's norm the
 * preconditioned step gets, for each tensor. Norms and biases do not decay. */
typedef struct hpc_optimizer_config {
    int kind;
    double beta1, beta2, eps; /* Adam's; beta1 is also the momentum of a preconditioned step */
    double momentum;          /* SGD's, MUON's and MOMENTUM's */
    double decay;
    int graft;
    int64_t block;    /* preconditioners of at most so many rows; see hpc_optimizer_block */
    int64_t interval; /* steps between refreshes, */
    int64_t burst;    /* but each of the first so many steps refreshes */
    double average;   /* SHAMPOO and all after it: S <- average S + (1 - average) G G^T */
    double ridge;     /* the same: A = S + ridge |S|_F I */
    int64_t newton;   /* steps of a refresh beyond those to within a factor of two */
    double start;     /* JORGE, SYMMETRIC: L0 = start^(-1/4) I */
    double floor;     /* the same: beta2 is at least this; 0: as published */
    double even;      /* MUON, MOMENTUM: of the averages that even a step; 0: it is not evened */
    int halves;       /* hpc_halves; UPDATE leaves out refreshes */
} hpc_optimizer_config;
#define HPC_OPTIMIZER_CONFIG_DEFAULTS                                                              \
    {                                                                                              \
        .kind = HPC_OPT_ADAMW, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .momentum = 0.9,          \
        .decay = 0.1, .graft = HPC_GRAFT_ADAM, .block = 256, .interval = 10, .burst = 10,          \
        .average = 0.95, .ridge = 1e-5, .newton = 2, .start = 1e-2                                 \
    }
int hpc_optimizer_check(const hpc_optimizer_config *o);
/* Steps have the size of SGD's, and what is not preconditioned takes SGD's; else Adam's. */
bool hpc_optimizer_follows_sgd(const hpc_optimizer_config *o);
/* The beta1, momentum, decay, interval, average, ridge, newton and even that suit the kind and its
 * graft. */
void hpc_optimizer_usual(hpc_optimizer_config *o);
/* The peak rate that suits them, for a small model that begins with nothing: that at which such a
 * one learned most, with refreshes as often as each can bear; grafted on SGD, SGD's. */
double hpc_optimizer_usual_rate(const hpc_optimizer_config *o);
/* The published rule: from SGD's settings, the same rate and decay / (1 - momentum), grafted. */
void hpc_optimizer_from_sgd(hpc_optimizer_config *o);
/* Rows of a block for an extent n: its largest divisor up to `block`, and at least a quarter of
 * that; otherwise n itself up to 2048; 0: this side is left alone. */
int64_t hpc_optimizer_block(int64_t n, int64_t block);
/* By formula, for a matrix [m,n]: floating-point operations of an application (its products) and of
 * a refresh, and bytes of state. Tests hold the programs against it. */
typedef struct hpc_optimizer_cost {
    double apply, refresh, state_bytes;
} hpc_optimizer_cost;
hpc_optimizer_cost hpc_optimizer_cost_of(const hpc_optimizer_config *o, int64_t m, int64_t n);

/* ---- many ranks -------------------------------------------------------------------------------
 */
/* A step on a grid of ranks. Row and col split the blocks' matrices: of a pair of layers the first
 * (q, k, v; gate, up) has its outputs over row and its inputs over col, the second (o; down) the
 * reverse, so that each makes what the next one reads as it lies, and sums of products are all that
 * is sent: over the axis of the inputs forward, over that of the outputs backward. So heads and the
 * width of the MLP lie over row, the residual stream over col, along which attention is repeated
 * and norms are made of sums. Words of embedding and head lie over both. Heads of keys that row
 * does not divide are repeated until it does. What is sent in a step:
 * tests/train/volume.c. Data and depth split the rows of a microbatch. Depth also splits
 * matrices, which are gathered where they are used, and their gradients are summed into the parts.
 * What of state the data axis splits is ZeRO's stage: 1 what the optimizer keeps, 2 gradients too,
 * 3 parameters too. A tensor whose first extent the ranks do not divide stays whole. */
typedef struct hpc_parallel {
    hpc_grid_shape grid;
    int zero;        /* 0 to 3 */
    bool keep_depth; /* of what depth splits everybody keeps all between uses */
    bool overlap;    /* communication goes behind computing (hpc_overlap): the norm behind the last
                        backward of a step, and gathering behind the update */
    bool halves;     /* a rank's rows go through in two halves, so that one computes while the
                        other's sums are under way */
    bool sequence;   /* along row what lies between its sums is split by tokens: norms, residual
                        additions and dropout work on a share of them */
    int ahead;       /* with overlap, as hpc_overlap_options says; */
    size_t bucket_bytes; /* the same */
} hpc_parallel;
/* HPC_E_UNSUPPORTED for an axis that training does not use yet, HPC_E_SHAPE for rows (of all ranks,
 * in a microbatch, each of `length` tokens), words, heads or widths that do not divide, with the
 * nearest numbers that would. */
int hpc_parallel_check(const hpc_parallel *q, const hpc_model_config *c, int64_t rows,
                       int64_t length);
/* Which part of a microbatch's rows is this rank's, and of how many. */
int hpc_parallel_part(int *parts, const hpc_grid_shape *s, const int coord[HPC_AXIS_N]);

/* ---- pruning ----------------------------------------------------------------------------------
 */
typedef struct hpc_masks hpc_masks; /* train/prune.h */
/* What ranks sum of gradients: rounded to bf16 they send half as much, and the update reads just
 * that, on one rank as on many. AUTO: of a pruned model in bf16. */
typedef enum hpc_gradients {
    HPC_GRADIENTS_AUTO,
    HPC_GRADIENTS_FULL,
    HPC_GRADIENTS_BF16
} hpc_gradients;
extern const char *const hpc_gradients_names[]; /* "auto", "f32", "bf16" */

/* ---- the step as a program --------------------------------------------------------------- */
typedef struct hpc_step_options {
    hpc_model_emission model; /* of a microbatch */
    double clip;              /* of the global norm of gradients; 0: none */
    int recompute;            /* hpc_recompute_policy */
    int recompute_blocks;     /* the first so many; 0: all */
    bool once;                /* each update follows one run of backward, which begins gradients */
    const hpc_parallel *parallel; /* layouts for hpc_step_shard; NULL: one rank */
    const hpc_masks *masks; /* of what learns; the rest is zero, and has no state; NULL: all */
    int coord[HPC_AXIS_N];  /* of the rank whose part of the masks it is */
    int gradients;          /* hpc_gradients */
} hpc_step_options;
typedef struct hpc_step_half { /* the second half of the rows */
    hpc_model_io model;
    hpc_value loss, weight, last_loss; /* as the step's */
} hpc_step_half;
typedef struct hpc_step_start hpc_step_start; /* state that does not begin as zeros */
typedef struct hpc_step {
    hpc_model_io model;
    int backward, norm, refresh, update; /* segments; refresh is -1 where there is none */
    int gather;   /* segment to be run when parameters were written, on many ranks; -1: none */
    int last;     /* backward of a step's last microbatch, with the norm if they overlap */
    bool gathers; /* update gathers what it writes */
    bool halves;  /* the rows are in two: */
    hpc_step_half second;
    hpc_value loss;        /* as model.loss, which is forward_head's: backward's */
    hpc_value last_loss;   /* and last's */
    hpc_value weight;      /* f32 like the loss: the gradient of the sum by each */
    hpc_value lr;          /* f32 */
    hpc_value limit;       /* f32: a norm above it, or a NaN, skips the update; inf: NaN alone */
    hpc_value grad_norm;   /* f32, kept; before clipping */
    hpc_value ok;          /* i32, kept: 0 when refresh and update are skipped */
    hpc_step_start *start; /* the program's, start_n of them */
    int64_t start_n;
} hpc_step;
int hpc_step_emit(hpc_step *io, hpc_program *p, const hpc_model_config *c,
                  const hpc_optimizer_config *o, const hpc_step_options *s);
/* The program becomes that of the rank at `coord`. */
int hpc_step_shard(hpc_step *io, hpc_program *p, const hpc_parallel *q,
                   const int coord[HPC_AXIS_N]);
/* Whether step `step` (from 1) runs the refresh segment. */
bool hpc_step_refreshes(const hpc_optimizer_config *o, int64_t step);
/* What state v, of all ranks together of type t, holds before the first step where it is no
 * parameter: rotary frequencies, preconditioners' multiples of I, else zeros. out: its elements, as
 * f32. */
void hpc_step_initial(float *out, const hpc_step *io, hpc_value v, const hpc_type *t,
                      const hpc_model_config *c);

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
    double peak, least; /* the last rate as a share of the peak: COSINE, LINEAR, WSD */
    int64_t warmup;     /* steps, linear from 0 */
    double factor;      /* STEP: at a third and two thirds of what is behind the warmup */
    double decay;       /* WSD: the last share of it, falling as 1 - sqrt */
} hpc_lr_config;
/* Of step 1..steps. */
double hpc_lr_at(const hpc_lr_config *c, int64_t step, int64_t steps);

/* ---- batches --------------------------------------------------------------------------------- */
/* Rows of `length` tokens out of several data sets of shards. Task code: each data set is one
 * stream of tokens, cut into rows that come in an order drawn anew for each pass. Other tasks: a
 * row is a document, of which the end is kept if it is longer. Documents of a row do not see each
 * other, positions begin at 0 in each. */
typedef enum hpc_objective {
    HPC_OBJECTIVE_TOKENS,  /* every next token within a document */
    HPC_OBJECTIVE_ANSWER,  /* only those from the column "answer" on */
    HPC_OBJECTIVE_CLASSES, /* the column "label", from what is before "answer" if that is there */
    HPC_OBJECTIVE_PAIRS    /* the column "label", from both sides of a change (model/compare.h): a
                              row is two sequences, shortened to `length` tokens together */
} hpc_objective;
typedef struct hpc_loader_source {
    const char *path;
    double weight; /* share of the rows, by sum of weights; 0, of all: by rows in a pass */
} hpc_loader_source;
typedef struct hpc_loader_options {
    const hpc_loader_source *source;
    int64_t source_n;
    const hpc_hash128 *tokenizer; /* NULL: that of the first source, which all must share */
    int objective;
    hpc_compare_marks marks; /* PAIRS: by which a document is cut */
    int64_t classes;         /* CLASSES, PAIRS: labels are below; 0: any */
    int64_t length;          /* of a row */
    int64_t documents; /* at most so many in a row, one behind the other; more share the last */
    uint64_t seed;
    bool ordered; /* as it stands, without drawing: validation */
} hpc_loader_options;
typedef struct hpc_loader hpc_loader;
enum { HPC_LOADER_SOURCES = 64 };
typedef struct hpc_loader_state {      /* all there is to resuming */
    int64_t rows;                      /* given so far */
    int64_t taken[HPC_LOADER_SOURCES]; /* of each source */
} hpc_loader_state;
int hpc_loader_open(hpc_loader **out, const hpc_loader_options *o);
void hpc_loader_close(hpc_loader *l);
int64_t hpc_loader_vocabulary(const hpc_loader *l);
hpc_hash128 hpc_loader_tokenizer(const hpc_loader *l);
int64_t hpc_loader_rows(const hpc_loader *l); /* of one pass over all sources */
int64_t hpc_loader_tokens(const hpc_loader *l);
uint64_t hpc_loader_hash(const hpc_loader *l); /* of all that is in the sources */
hpc_loader_state hpc_loader_tell(const hpc_loader *l);
int hpc_loader_seek(hpc_loader *l, const hpc_loader_state *s);
/* A microbatch: arrays are the caller's, as the model's inputs want them. */
typedef struct hpc_batch {
    int64_t rows, length, documents; /* documents: as hpc_loader_documents */
    int64_t parts;                   /* of the rows, one for each of many ranks: none shares a
                                        sequence with another */
    int64_t sequences;               /* room: hpc_loader_sequences */
    int32_t *tokens, *targets, *pos; /* rows * length */
    int32_t *start, start_n;         /* sequences + 1 */
    int32_t *pooled, *classes;       /* CLASSES: of each sequence, -1: none; PAIRS: two of pooled
                                        for each of classes; else NULL */
    int64_t counted;                 /* targets (or classes) that count */
    int64_t tokens_n;                /* that are not padding */
} hpc_batch;
/* Sequences of a row: `documents`, but below the length; two of a pair. */
int64_t hpc_loader_documents(const hpc_loader_options *o);
/* Room for those of rows in so many parts: in each part is padding too, one sequence of it, or two
 * where sequences are pairs. */
int64_t hpc_loader_sequences(const hpc_loader_options *o, int64_t rows, int64_t parts);
/* parts must divide rows. */
int hpc_batch_create(hpc_batch **out, const hpc_loader_options *o, int64_t rows, int64_t parts);
void hpc_batch_free(hpc_batch *b);
/* The next `rows` rows, at most the batch's; the others are padding. */
int hpc_loader_next(hpc_batch *b, hpc_loader *l, int64_t rows);

#ifdef __cplusplus
}
#endif
#endif
