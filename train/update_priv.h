/*
 * update_priv.h: what the files of train/ share: the emission of an update.
 */
#ifndef HPC_TRAIN_UPDATE_PRIV_H
#define HPC_TRAIN_UPDATE_PRIV_H

#include "train/train.h"

struct hpc_step_start {
    hpc_value state;
    double identity; /* each matrix of the batch is this multiple of I */
};

/* An update under emission. */
typedef struct update {
    hpc_program *p;
    const hpc_optimizer_config *o;
    hpc_step *io;
    hpc_value clip;               /* factor of all gradients, HPC_NONE: 1 */
    bool halves;                  /* of products emitted now: factors count rounded to bf16 */
    bool rounds;                  /* gradients are rounded to bf16 before ranks sum them */
    const hpc_parallel *parallel; /* NULL: one rank */
} update;

/* A parameter of it. */
typedef struct target {
    const char *name;
    hpc_value param; /* what is updated: f32 (f64) */
    hpc_value half;  /* its bf16 copy, which the model reads; HPC_NONE: it reads param */
    hpc_value sum;   /* where backward adds up its gradient */
    hpc_value grad;  /* what is read of that: sum, or that rounded */
    hpc_value index; /* of a pruned one, of which param, half and gradients are the picked elements;
                        HPC_NONE: they are of all */
    hpc_value whole; /* of a pruned one: what the model reads */
    int64_t m, n;    /* of a matrix */
    double decay;
} target;

/* State "PREFIX.NAME" of f32 (f64 where the parameter is). */
hpc_value update_state(update *u, const char *prefix, const target *t, int rank,
                       const int64_t *extent);
/* What `v` begins as. */
void update_start(update *u, hpc_value v, double identity);

/* ---- layouts (plan.c) ---------------------------------------------------------------- */
/* Of parameters, before anything is made of them; of their gradients, once these are there. */
void plan_parameters(hpc_program *p, const hpc_parallel *q, const hpc_model_config *c,
                     const hpc_model_tensor *tensor, int64_t n);
/* To how many the heads of keys are repeated; 0: they are not. */
int64_t plan_kv_heads(const hpc_parallel *q, const hpc_model_config *c);
void plan_gradients(hpc_program *p, const hpc_parallel *q);
/* Segments put together as overlapping wants them, of one rank's step as of any. */
int plan_splice(hpc_step *io, hpc_program *p);
void plan_rows(hpc_type *t); /* one for each row of a microbatch */
/* The residual stream, where it begins, and its gradient, where that does. */
void plan_stream(hpc_type *t, hpc_axes split, bool sequence);

/* ---- pruned parameters (sparse.c) ----------------------------------------------------- */
/* Their indices, once the model is there; the indices' layouts, once the parameters have theirs. */
void sparse_begin(hpc_program *p, const hpc_masks *m);
void sparse_lay_out(hpc_program *p, const hpc_masks *m, const hpc_parallel *q,
                    const int coord[HPC_AXIS_N]);
/* A picked gradient's layout, from that of one that is not. */
void sparse_gradient(hpc_value_info *g, const hpc_parallel *q);
/* Fills in what is the picked elements of parameter v. */
void sparse_target(update *u, target *t, hpc_value v);
/* The sum rounded, if that is wanted; or the sum. */
hpc_value update_rounded(update *u, const target *t);
/* x, dense, as the target's state is: picked, or as it is. */
hpc_value update_picked(update *u, const target *t, hpc_value x);
hpc_value update_dense(update *u, const target *t, hpc_value x); /* and back, a matrix */

/* ---- pieces of formulas (optimizer.c) ----------------------------------------------- */
/* alpha x^power + beta; 0 and what is not finite gives `other`. */
hpc_value map_guarded(update *u, hpc_value x, double alpha, double power, double beta,
                      double other);
hpc_value map_power(update *u, hpc_value x, double alpha, double power);
/* a x + b y, x and y alike; into state or HPC_NEW. */
hpc_value blend(update *u, hpc_value into, double a, hpc_value x, double b, hpc_value y);
hpc_value multiply(update *u, hpc_value a, bool trans_a, hpc_value b, bool trans_b);
/* The same where the product is symmetric: that of a matrix with its own transpose, of symmetric
 * matrices that commute, or A B A of symmetric ones. */
hpc_value multiply_symmetric(update *u, hpc_value a, bool trans_a, hpc_value b, bool trans_b);
/* The sum of squares: of everything, or of each matrix of a batch. */
hpc_value squares(update *u, hpc_value x);
hpc_value squares_each(update *u, hpc_value x);
hpc_value clipped(update *u, const target *t); /* the gradient, as a matrix in f32 at least */

/* ---- optimizers -------------------------------------------------------------------------- */
void update_adamw(update *u, const target *t);
void update_sgd(update *u, const target *t);
void update_muon(update *u, const target *t);
/* Muon's momentum with this gradient added, stored or not. */
hpc_value muon_momentum(update *u, const target *t, bool keep);
/* The rows of x [m,n], and then its columns, over the roots of moving averages of their sums of
 * squares. */
hpc_value evened(update *u, const target *t, hpc_value x);
/* param moves along `direction`, which gets the grafting optimizer's norm. */
void update_grafted(update *u, const target *t, hpc_value direction);
/* The moving average of x, by beta1. */
hpc_value momentum_of(update *u, const target *t, hpc_value x);
/* Shampoo's family (precondition.c): the refresh segment's part and the update's. */
void refresh_preconditioned(update *u, const target *t);
void update_preconditioned(update *u, const target *t);

/* A side of a preconditioned matrix: rows or columns. */
typedef struct side {
    const char *name; /* "l" or "r" */
    int64_t batch, b; /* blocks, and rows of each; b = 0: this side is left alone */
    hpc_value gram;   /* in a refresh: G G^T or G^T G of each block */
} side;
/* New root (or basis) of a side from its gram matrices (jorge.c, shampoo.c). */
void refresh_jorge(update *u, const target *t, const side *s);
void refresh_newton(update *u, const target *t, const side *s);
int jorge_newton_steps(const hpc_optimizer_config *o); /* in a refresh */
void refresh_shampoo(update *u, const target *t, const side *s);
/* SOAP's, and its second moments v [blocks,rows,cols] along. */
void refresh_basis(update *u, const target *t, const side *s, hpc_value v, bool left);
hpc_value side_state(update *u, const char *prefix, const target *t, const side *s);
/* A = S + ridge |S|_F I after S took in the gram matrices; *norm: |S|_F of each. */
hpc_value side_average(update *u, const target *t, const side *s, double ridge, hpc_value *norm);

#endif
