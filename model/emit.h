/*
 * emit.h: a configuration's forward program: what it is emitted from, and where
 * numbers go in and come out.
 */
#ifndef HPC_MODEL_EMIT_H
#define HPC_MODEL_EMIT_H

#include "model/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where numbers go in and come out. T tokens in up to S sequences. */
typedef struct hpc_model_io {
    int forward, forward_head; /* segments; -1: the head is in forward */
    hpc_value tokens, pos;     /* i32[T]; position within its sequence */
    hpc_value targets;         /* i32[T]; a negative one is not counted; NONE: logits, class head */
    hpc_value start, start_n;  /* i32[S+1] ragged, and its count (sequences + 1), i32 */
    hpc_value pooled;   /* i32[S] or [S/2,2]: rows that a class head reads, -1: none; else NONE */
    hpc_value classes;  /* i32[S] or [S/2]: targets of a class head, -1: not counted; else NONE */
    hpc_value freq;     /* rotary frequencies, state; NONE with learned positions */
    hpc_value step;     /* i32: keys dropout; an update counts with it too */
    hpc_value first;    /* i64: the tokens of the step before these, for dropout; else NONE */
    hpc_value kv_rows;  /* i32, of repeated keys and values: hpc_model_kv_rows; else NONE */
    hpc_value embedded; /* [T, hidden], of tokens alone */
    hpc_value hidden, head; /* the head's factors */
    hpc_value loss;         /* f32[T], [S] or [S/2], kept */
    hpc_value logits;       /* [rows of loss, vocab or classes], kept; NONE unless asked for */
} hpc_model_io;
typedef struct hpc_model_emission {
    int64_t tokens, sequences, seed; /* seed: of dropout */
    bool logits;                     /* instead of the loss, which is then NONE */
    bool apart;                      /* the head in a segment of its own, forward[1] */
    int64_t kv_heads; /* a multiple of the model's: each is repeated, to so many in all, so that row
                         splits them; 0: as they are */
    hpc_axes split; /* of row and col, those over which ranks will sum products first: what is added
                       to these is added by itself, to those that lead back to the residual stream
                       (row) or away from it (col); with col, norms are made of moments; with either
                       one, losses of parts of the vocabulary */
    bool sequence;  /* those over row, to each rank's share of the tokens */
    const hpc_model_io *behind; /* it, with other rows ("tokens.1") and no classes; else NULL */
} hpc_model_emission;
/* forward[0] on p, parameters as trainable state (frozen ones not trainable) under their names;
 * the tokens' values are split over data and depth. Those of sequences (pooled, classes, their
 * loss) are not: every rank has those of all, and rows count over the tokens of all ranks. */
int hpc_model_emit(hpc_model_io *io, hpc_program *p, const hpc_model_config *c,
                   const hpc_model_emission *e);
/* Rows [first, first + n) of the keys' projection where its heads are repeated to `heads`: which of
 * its own each is. */
void hpc_model_kv_rows(int32_t *out, const hpc_model_config *c, int64_t heads, int64_t first,
                       int64_t n);

#ifdef __cplusplus
}
#endif
#endif
