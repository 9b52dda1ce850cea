/*
 * serve.h: the program that answers: new tokens of many sequences, whose past
 * lies in the pages of a cache.
 *
 * One segment does both what a prompt and what a single token needs: how many
 * tokens, sequences and rows of logits there are is said at run time. A token's
 * bits do not depend on what else is in the run.
 */
#ifndef HPC_SERVE_H
#define HPC_SERVE_H

#include "model/model.h"
#include "runtime/program/run/run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_serve_emission {
    int64_t tokens, sequences, outputs; /* at most, in a run */
    int64_t pages, page;                /* of the cache: so many pages of so many tokens */
    int64_t sequence_pages;             /* of a sequence at most */
    hpc_dtype cache;                    /* f32 or bf16 */
    /* Activations are of the configuration's type, as norms and biases are.
     * In which type a matrix is held: f32, bf16, f16 or a block format, whose blocks fit its rows.
     * Those of products lie in panels; what only rows are taken from, plainly. */
    hpc_dtype (*dtype)(const hpc_model_tensor *t, const void *user);
    const void *user;
} hpc_serve_emission;

/* Where numbers go in and come out. */
typedef struct hpc_serve_io {
    int decode;                      /* the segment */
    hpc_value tokens, pos, tokens_n; /* i32[T]: what is new; position within its sequence */
    hpc_value slot;                  /* i32[T]: page * rows of a page + row, to be written */
    hpc_value start, start_n;        /* i32[S+1]: where sequences begin; sequences + 1 */
    hpc_value len, pages;            /* i32[S], [S,pages]: tokens in all, and where they lie */
    hpc_value output, output_n;      /* i32[R]: tokens that want logits */
    hpc_value freq;                  /* rotary frequencies, state; NONE with learned ones */
    hpc_value logits;                /* [R,vocab], kept */
} hpc_serve_io;

/* decode[0] on p. Parameters are state under their names; a tied head is the embedding's. Heads for
 * classes and adapters are refused: they are no generators, and merged when a run is exported. */
int hpc_serve_emit(hpc_serve_io *io, hpc_program *p, const hpc_model_config *c,
                   const hpc_serve_emission *e);
/* In which type a matrix usually is where others are of type d: embedding and heads are q8_0 where
 * that has 4 bits, as in the GGUF files that we write. */
hpc_dtype hpc_serve_dtype(const hpc_model_tensor *t, hpc_dtype d);
/* A parameter's bytes as its state's type wants them, from plain f32; hpc_type_bytes of them. */
int hpc_serve_pack(void *bytes, const hpc_type *type, const float *from);
/* In which type a file has a matrix, if its rows can be taken as they are; else f32. */
hpc_dtype hpc_serve_stored(const hpc_weights *w, const hpc_model_tensor *t);
/* In which type a matrix of w is held where d is asked for: as hpc_serve_dtype has it, or of
 * HPC_DTYPE_N as the file does; where its rows are no whole blocks of that q8_0, or else f16. */
hpc_dtype hpc_serve_choose(const hpc_weights *w, const hpc_model_tensor *t, hpc_dtype d);
/* As hpc_serve_pack, from a file: bit by bit where types agree. */
int hpc_serve_read(void *bytes, const hpc_type *type, const hpc_weights *w,
                   const hpc_model_tensor *t);
/* Rotary frequencies of c into the state of e, which runs p; none with learned positions. */
int hpc_serve_frequencies(hpc_exec *e, const hpc_program *p, const hpc_model_config *c);
/* All parameters of a program of c's into the state of e, which runs it, and the rotary
 * frequencies. On a device whose memory is the host's they are written where they belong, by all of
 * its workers; on others one at a time is in memory. What has been read of the file is dropped. */
int hpc_serve_load(hpc_exec *e, const hpc_program *p, const hpc_device *d, const hpc_weights *w,
                   const hpc_model_config *c);

#ifdef __cplusplus
}
#endif
#endif
