/*
 * serve.h: the inference program: decodes new tokens of many sequences over a paged key/value
 * cache.
 *
 * One segment serves prompts and single tokens. The numbers of tokens, sequences and logit rows
 * are set at run time. The bits of a token's result do not depend on other sequences in the batch.
 */
#ifndef HPC_SERVE_H
#define HPC_SERVE_H

#include "model/model.h"
#include "runtime/program/run/run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_serve_emission {
    int64_t tokens, sequences, outputs; /* capacity of one run */
    int64_t pages, page;                /* cache: number of pages, tokens per page */
    int64_t sequence_pages;             /* most pages per sequence */
    hpc_dtype cache;                    /* f32 or bf16 */
    /* Type of a matrix: f32, bf16, f16 or a block format; rows must be whole blocks. The device
     * chooses the layouts of matrices of products and of tables that are only gathered from.
     * Activations, norms and biases have the configuration's type. */
    hpc_dtype (*dtype)(const hpc_model_tensor *t, const void *user);
    /* True: the matrices of experts are plain rows, as in a file; NULL: all are in panels. */
    bool (*plain)(const hpc_model_tensor *t, const void *user);
    const void *user;
    const hpc_device *device; /* NULL: layouts of the CPU */
    bool samples;             /* the program also draws a token from each row of logits */
} hpc_serve_emission;

/* Inputs and outputs of the program. */
typedef struct hpc_serve_io {
    int decode;                      /* the segment */
    hpc_value tokens, pos, tokens_n; /* i32[T]: new tokens; position within the sequence */
    hpc_value slot;                  /* i32[T]: cache row to write, page * page size + row */
    hpc_value start, start_n;        /* i32[S+1]: first token of each sequence; sequences + 1 */
    hpc_value len, pages;            /* i32[S], [S,pages]: total tokens, and their pages */
    hpc_value output, output_n;      /* i32[R]: tokens to compute logits for */
    hpc_value freq;                  /* rotary frequencies, state; NONE with learned ones */
    hpc_value local_freq;            /* the same as in emit.h */
    hpc_value logits;                /* [R,vocab], kept; f32 if activations are bf16 */
    /* If the program samples: records of hpc_sample_how, i64[R,HPC_SAMPLE_WORDS]; and, kept, i32[R]
     * and f32[R], the tokens and their log-probabilities. Otherwise NONE. */
    hpc_value how, drawn, logprob;
} hpc_serve_io;

/* Emits decode[0] on p. Parameters are state under their names; a tied head uses the embedding.
 * Class heads and adapters are HPC_E_UNSUPPORTED: export the model, which merges adapters. */
int hpc_serve_emit(hpc_serve_io *io, hpc_program *p, const hpc_model_config *c,
                   const hpc_serve_emission *e);
/* Default type of a matrix when `d` is requested: embedding and heads are q8_0 if `d` has 4 bits,
 * as in the GGUF files that we write. */
hpc_dtype hpc_serve_dtype(const hpc_model_tensor *t, hpc_dtype d);
/* Converts and packs plain f32 into a parameter's state; `bytes` has hpc_type_bytes(type). */
int hpc_serve_pack(void *bytes, const hpc_type *type, const float *from);
/* Stored type of a matrix if its rows can be used unchanged; the type that holds it if ops do not
 * take the stored one; f32 if it is transposed. A quantised matrix with a delta is q8_0. */
hpc_dtype hpc_serve_stored(const hpc_weights *w, const hpc_model_tensor *t);
/* Type to hold a matrix of w in when `d` is requested: hpc_serve_dtype, or the stored type for
 * HPC_DTYPE_N. If rows are not whole blocks of that type, q8_0; if not of q8_0, f16. */
hpc_dtype hpc_serve_choose(const hpc_weights *w, const hpc_model_tensor *t, hpc_dtype d);
/* The type in which training can keep a frozen matrix instead of in `model`: that of its file, or
 * the one that holds it, if that is smaller and has the same values; otherwise `model`. */
hpc_dtype hpc_serve_frozen(const hpc_weights *w, const hpc_model_tensor *t, hpc_dtype model);
/* Like hpc_serve_pack, from a file; copies bytes unchanged if the types agree. HPC_E_FORMAT: the
 * scale of a block is not finite. */
int hpc_serve_read(void *bytes, const hpc_type *type, const hpc_weights *w,
                   const hpc_model_tensor *t);
/* The matrices of all experts, if the file has them in this type, one after the other: then they
 * can be lent to a program as plain rows. NULL otherwise. */
const void *hpc_serve_mapped(const hpc_weights *w, const hpc_model_tensor *t, hpc_dtype dtype);
/* Lends to p the matrices of experts that it takes as plain rows: those that hpc_serve_mapped finds
 * for its types. The caller frees *out. */
int hpc_serve_lend(hpc_lent **out, int64_t *n, const hpc_program *p, const hpc_weights *w,
                   const hpc_model_config *c);
/* Writes c's rotary frequencies to the state of e, which runs p; does nothing with learned
 * positions. */
int hpc_serve_frequencies(hpc_exec *e, const hpc_program *p, const hpc_model_config *c);
/* Writes all parameters and the rotary frequencies to the state of e, which runs p. If the device
 * shares the host's memory, all its workers write in place; otherwise parameters are copied one at
 * a time. Drops file pages that have been read. Skips lent state. */
int hpc_serve_load(hpc_exec *e, const hpc_program *p, const hpc_device *d, const hpc_weights *w,
                   const hpc_model_config *c);

#ifdef __cplusplus
}
#endif
#endif
