/*
 * update_priv.h: emission of an optimizer update, shared by the files of train/.
 */
#ifndef HPC_TRAIN_UPDATE_PRIV_H
#define HPC_TRAIN_UPDATE_PRIV_H

#include "train/train.h"

struct hpc_step_start {
    hpc_value state;
    double identity; /* each matrix of the batch is this multiple of I */
};

/* State while emitting an update. */
typedef struct update {
    hpc_program *p;
    const hpc_optimizer_config *o;
    hpc_step *io;
    hpc_value clip;               /* factor of all gradients; HPC_NONE: 1 */
    bool halves;                  /* round operands of the products being emitted to bf16 */
    bool rounds;                  /* round gradients to bf16 before ranks sum them */
    const hpc_parallel *parallel; /* NULL: one rank */
    bool adama;                   /* gradients are added to the moments in backward */
    hpc_value clip_before;        /* adama: state with the factor by the norm of the previous step;
                                     HPC_NONE: 1 */
    const hpc_model_tensor *tensor; /* [tensor_n]: the model's */
    int64_t tensor_n;
} update;

/* A parameter to update. */
typedef struct target {
    const char *name;
    hpc_value param; /* updated value: f32 (f64) */
    hpc_value half;  /* its bf16 copy, which the model reads; HPC_NONE: the model reads param */
    hpc_value sum;   /* accumulated gradient of backward */
    hpc_value grad;  /* gradient that the update reads: sum, or sum rounded */
    hpc_value index; /* indices of the picked elements in param, half and gradients; HPC_NONE: not
                        pruned */
    hpc_value whole; /* if pruned: the dense parameter that the model reads */
    int64_t batch;   /* matrices of a batch; 0: one alone */
    int64_t m, n;    /* shape of a matrix */
    double decay;
} target;

/* State "PREFIX.NAME" of f32 (f64 if the parameter is). */
hpc_value update_state(update *u, const char *prefix, const target *t, int rank,
                       const int64_t *extent);
/* The same with the shape and layout of the parameter. */
hpc_value update_like(update *u, const char *prefix, const target *t);
/* State for the sum of squares of all gradients, of which each rank has a part. */
hpc_value update_squares(update *u, const hpc_step_options *s, hpc_dtype real);
/* Sets the initial value of v: a scalar, or matrices that are this multiple of I. */
void update_start(update *u, hpc_value v, double identity);

/* ---- layouts (plan.c) ---------------------------------------------------------------- */
/* plan_parameters sets layouts of parameters before other values are derived from them;
 * plan_gradients those of existing gradients. */
void plan_parameters(hpc_program *p, const hpc_parallel *q, const hpc_model_config *c,
                     const hpc_model_tensor *tensor, int64_t n);
/* Number of key/value heads after repetition; 0: not repeated. */
int64_t plan_kv_heads(const hpc_parallel *q, const hpc_model_config *c);
void plan_gradients(hpc_program *p, const hpc_parallel *q);
/* Layout of the gradient of a table that embedding and head share. */
void plan_tied(hpc_program *p, const hpc_parallel *q, hpc_value table);
/* Ranks along pipe each have a part of the vocabulary. */
bool plan_is_interlaced(const hpc_parallel *q);
/* The parts of hpc_step_shard for a pipeline: the program of all stages, and one of its stages.
 * cut: hpc_step_cut follows. moved: as from hpc_stage. */
enum { HPC_STEP_SEGMENTS = 16 };
int hpc_step_cut(hpc_step *io, hpc_program *p, int stage, int moved[HPC_STEP_SEGMENTS]);
int hpc_step_shard_whole(hpc_step *io, hpc_program *p, const hpc_parallel *q,
                         const int coord[HPC_AXIS_N], bool cut);
/* Splices segments for overlap; the same for one rank's step and for every rank's. */
int plan_splice(hpc_step *io, hpc_program *p);
/* Layout of the start of the residual stream, and of the start of its gradient. */
void plan_stream(hpc_type *t, hpc_axes split, bool sequence);

/* ---- pruned parameters (sparse.c) ----------------------------------------------------- */
/* sparse_begin adds index state, after the model was emitted; sparse_lay_out sets its layouts,
 * after those of the parameters. */
void sparse_begin(hpc_program *p, const hpc_masks *m);
void sparse_lay_out(hpc_program *p, const hpc_masks *m, const hpc_parallel *q,
                    const int coord[HPC_AXIS_N]);
/* Layout of a picked gradient, from that of the dense one. */
void sparse_gradient(hpc_value_info *g, const hpc_parallel *q);
/* The master of parameter v, added to the program with this type by the first call. Checkpoints
 * know it as master.NAME. (step.c) */
hpc_value update_master(update *u, hpc_value v, hpc_type type);
/* Sets the target members for the picked elements of parameter v. */
void sparse_target(update *u, target *t, hpc_value v);
/* The gradient sum, rounded if u->rounds. */
hpc_value update_rounded(update *u, const target *t);
/* Picks elements of dense x if the target is pruned; else x. */
hpc_value update_picked(update *u, const target *t, hpc_value x);
hpc_value update_dense(update *u, const target *t, hpc_value x); /* the inverse; a matrix */

/* ---- pieces of formulas (optimizer.c) ----------------------------------------------- */
/* alpha x^power + beta; gives `other` where x is 0 or not finite. */
hpc_value map_guarded(update *u, hpc_value x, double alpha, double power, double beta,
                      double other);
hpc_value map_power(update *u, hpc_value x, double alpha, double power);
/* a x + b y for values of equal type; into state, or HPC_NEW. */
hpc_value blend(update *u, hpc_value into, double a, hpc_value x, double b, hpc_value y);
hpc_value multiply(update *u, hpc_value a, bool trans_a, hpc_value b, bool trans_b);
/* Like multiply for a symmetric result: a matrix times its own transpose, symmetric matrices that
 * commute, or A B A of symmetric matrices. */
hpc_value multiply_symmetric(update *u, hpc_value a, bool trans_a, hpc_value b, bool trans_b);
/* Sum of squares of the whole value, or of each matrix of a batch. */
hpc_value squares(update *u, hpc_value x);
hpc_value squares_each(update *u, hpc_value x);
hpc_value clipped(update *u, const target *t); /* clipped gradient as a matrix, at least f32 */

/* ---- Adam by accumulation (adama.c) --------------------------------------------------- */
void adama_begin(update *u, const hpc_step_options *s, hpc_dtype real);
/* Adds a gradient to the moments of t, and its squares to the norm. */
void adama_add(update *u, const target *t, hpc_value gradient);
/* Layouts in which accumulators are added to moments. */
void adama_gradients(hpc_program *p, const hpc_parallel *q);
/* After the norm: prepares the sum of squares and the clipping factor of the next step. */
void adama_norm(update *u, const hpc_step_options *s);
/* Has backward added a gradient of this parameter? */
bool adama_has(const update *u, const char *name);
void adama_step(update *u, const target *t);

/* ---- optimizers -------------------------------------------------------------------------- */
void update_adamw(update *u, const target *t);
void update_sgd(update *u, const target *t);
void update_muon(update *u, const target *t);
/* Muon's momentum including this gradient; keep: store it. */
hpc_value muon_momentum(update *u, const target *t, bool keep);
/* Divides the rows, then the columns, of each matrix of x by the roots of moving averages of their
 * sums of squares. */
hpc_value evened(update *u, const target *t, hpc_value x);
/* Updates param along `direction`, scaled to the norm of the grafting optimizer's step. */
void update_grafted(update *u, const target *t, hpc_value direction);
/* Moving average of x with beta1. */
hpc_value momentum_of(update *u, const target *t, hpc_value x);
/* Shampoo's family (precondition.c): refresh and update. */
void refresh_preconditioned(update *u, const target *t);
void update_preconditioned(update *u, const target *t);

/* One side of a preconditioned matrix: rows or columns. */
typedef struct side {
    const char *name; /* "l" or "r" */
    int64_t batch, b; /* number of blocks, rows per block; b = 0: not preconditioned */
    hpc_value gram;   /* in a refresh: G G^T or G^T G of each block */
} side;
/* Compute a side's new root (or basis) from its gram matrices (jorge.c, shampoo.c). */
void refresh_jorge(update *u, const target *t, const side *s);
void refresh_newton(update *u, const target *t, const side *s);
int jorge_newton_steps(const hpc_optimizer_config *o); /* in a refresh */
void refresh_shampoo(update *u, const target *t, const side *s);
/* SOAP's basis; also transforms its second moments v [blocks,rows,cols]. */
void refresh_basis(update *u, const target *t, const side *s, hpc_value v, bool left);
hpc_value side_state(update *u, const char *prefix, const target *t, const side *s);
/* Updates S with the gram matrices and returns A = S + ridge |S|_F I; *norm: |S|_F of
 * each block. */
hpc_value side_average(update *u, const target *t, const side *s, double ridge, hpc_value *norm);

#endif
