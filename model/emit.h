/*
 * emit.h: emits the forward program of a configuration for training.
 */
#ifndef HPC_MODEL_EMIT_H
#define HPC_MODEL_EMIT_H

#include "model/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Axes over which ranks split the rows of a microbatch. */
enum { HPC_ROW_AXES = 1u << HPC_AXIS_DATA | 1u << HPC_AXIS_DEPTH | 1u << HPC_AXIS_EXPERT };
void hpc_split_rows(hpc_type *t); /* layout of a value with an element, or more, for each row */

/* How training chooses experts, and what it adds to the loss. Inference takes the top_k of the
 * configuration. Auxiliary losses are summed over layers, and weighted by token like the loss. */
typedef enum hpc_gating {
    HPC_GATING_TOPK,   /* the top_k of the configuration */
    HPC_GATING_SWITCH, /* the same, with a capacity: later tokens of a full expert skip it */
    HPC_GATING_ANNEAL  /* dense to sparse: all experts whose noisy score exceeds a threshold */
} hpc_gating;
typedef struct hpc_expert_emission {
    int gating;
    double capacity; /* SWITCH: rows of an expert, as a multiple of the mean */
    double balance;  /* factor of E sum(share of tokens * mean probability), over experts */
    double z;        /* factor of the mean of lse^2 */
    bool noisy;      /* ANNEAL: rows are weighted by noisy scores, not by probabilities */
    /* > 0: rows go to the ranks along the expert axis that own their experts, and so many ranks
     * along row have other rows each (1, or with `sequence` all of them). 0: experts are here. */
    int64_t row_ranks;
    bool spread; /* ranks have other tokens each: a capacity is counted over all of them */
} hpc_expert_emission;

/* Inputs and outputs of the program: T tokens in at most S sequences. */
typedef struct hpc_model_io {
    int forward, forward_head; /* segments; forward_head -1: the head is in `forward` */
    hpc_value tokens, pos;     /* i32[T]; pos: position within the sequence */
    hpc_value targets; /* i32[T]; negative: not counted; NONE with `logits` or a class head */
    hpc_value start, start_n; /* i32[S+1] ragged, and its length (sequences + 1), i32 */
    hpc_value pooled;  /* i32[S] or [S/2,2]: rows that a class head reads, -1: unused; else NONE */
    hpc_value classes; /* i32[S] or [S/2]: targets of a class head, -1: not counted; else NONE */
    hpc_value freq;    /* rotary frequencies, state; NONE with learned positions */
    hpc_value
        local_freq;    /* those of layers with a window; NONE if they have no base of their own */
    hpc_value step;    /* i32: step number, read by dropout and by the optimizer update */
    hpc_value first;   /* i64: index of the first token within the step, for dropout; else NONE */
    hpc_value kv_rows; /* i32: rows of repeated keys and values (hpc_model_kv_rows); else NONE */
    hpc_value token_rows; /* i32: ids of the tokens whose rows are trained; NONE: no such tokens */
    hpc_value table;      /* the embedding, with the changes of its trained rows */
    hpc_value embedded;   /* [T, hidden]: token embeddings without positions */
    hpc_value hidden, head; /* operands of the head's product */
    double logit_cap;       /* bound of the logits; 0: none */
    hpc_value loss;         /* f32[T], [S] or [S/2], kept; NONE with `logits` */
    hpc_value logits;       /* [rows of loss, vocab or classes], kept; NONE unless requested */
    hpc_value anneal;       /* f32[2]: temperature and threshold of ANNEAL; else NONE */
    hpc_value aux;     /* [T,1]: auxiliary losses; NONE: without experts, or with factors of 0 */
    hpc_value active;  /* scalar, kept: experts per token, summed over layers; NONE: no experts */
    hpc_value dropped; /* scalar, kept: slots without capacity, summed over layers; or NONE */
} hpc_model_io;
typedef struct hpc_model_emission {
    int64_t tokens, sequences, seed; /* seed: for dropout */
    bool logits;                     /* emit logits instead of the loss */
    bool apart;                      /* put the head into a segment of its own, forward[1] */
    int64_t kv_heads; /* total heads after repeating each key/value head, so that the row axis
                         divides them; a multiple of the model's. 0: no repetition */
    hpc_axes split; /* axes of row and col over which ranks sum partial products. Bias and residual
                       are then added in separate ops after the sum: for row, of o and down; for
                       col, of the other layers. With col, norms are computed from moments; with
                       either, the loss from parts of the vocabulary */
    bool parts;     /* the loss from parts of the vocabulary, also without split; the hidden state
                       is then read through a view of it where the loss alone is computed, so that
                       a pipeline can send both */
    bool sequence;  /* sums over row are scattered to each rank's share of the tokens */
    /* Emits the program again, for other rows: reuses the parameters and segments
     * of this emission, with inputs of its own ("tokens.1"). Not for class heads.
     * NULL: a new program. */
    const hpc_model_io *behind;
    /* Type in which a frozen matrix of a block is kept; its products convert it to the model's type
     * each time. NULL: all in the model's type. */
    hpc_dtype (*frozen)(const hpc_model_tensor *t, void *user);
    void *user;
    hpc_expert_emission experts;
} hpc_model_emission;
/* Emits forward[0] on p. Parameters are trainable state under their names; frozen ones are not
 * trainable. Token inputs are split over data, depth and expert. Sequence inputs (pooled, classes,
 * their loss) are not split: every rank has all of them, and their row indices count the tokens of
 * all ranks. */
int hpc_model_emit(hpc_model_io *io, hpc_program *p, const hpc_model_config *c,
                   const hpc_model_emission *e);
/* Rows [first, first + n) of the key projection repeated to `heads` heads: out[i] is the original
 * row of row first + i. */
void hpc_model_kv_rows(int32_t *out, const hpc_model_config *c, int64_t heads, int64_t first,
                       int64_t n);

#ifdef __cplusplus
}
#endif
#endif
