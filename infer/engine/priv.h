/*
 * priv.h: state of an engine: the model as a program (engine_model.c,
 * engine_memory.c), the requests (engine.c), and
 * copies of the KV cache (engine_cache.c).
 */
#ifndef HPC_INFER_PRIV_H
#define HPC_INFER_PRIV_H

#include "infer/engine/engine.h"
#include "infer/engine/pages.h"
#include "runtime/device/kernel/sample.h"
#include "runtime/program/run/run.h"

enum { ENGINE_PAGE = HPC_ENGINE_PAGE };

typedef struct engine_model {
    hpc_model_config c;
    hpc_dtype weights;
    hpc_model_files *own;         /* opened for this engine alone, or NULL */
    const hpc_model_files *files; /* `own` or the caller's; read in place if packed */
    const hpc_packed *packed;     /* NULL: `files` is not a packed file */
    hpc_weights *from; /* of other files, while the model is opened or its weights are mapped */
    bool maps;         /* experts are read from the mapped file */
    hpc_serve_emission shape;
    hpc_serve_io io;
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
    hpc_buf note; /* of hpc_weights_note; empty: matrices have the stored types */
} engine_model;

int engine_model_open(engine_model *m, const hpc_engine_options *o);
void engine_model_close(engine_model *m);
/* engine_memory.c: prepends what the model needs, and what would fit, to an error of lacking
 * memory; returns rc. */
int engine_memory_explain(const engine_model *m, int rc);

/* Input and output of a run; the model's shape gives the lengths of the arrays. */
typedef struct engine_batch {
    int32_t *token, *pos, *slot; /* [tokens] */
    int32_t *start;              /* [sequences + 1] */
    int32_t *len, *page;         /* [sequences], [sequences, sequence_pages] */
    int32_t *output;             /* [outputs]: tokens whose logits are computed */
    /* [outputs]: how the device draws a token from the row; NULL: it draws none. */
    hpc_sample_how *how;
    bool *reads; /* [outputs]: the host needs the row, also if the device draws */
    int64_t token_n, sequence_n, output_n;
    /* Results: [outputs, vocab], rows that the host needs, or all if the device draws none; and
     * [outputs]: tokens, -1 if none can be drawn, and their log-probabilities. */
    float *logits;
    int32_t *drawn;
    float *logprob;
} engine_batch;

int engine_batch_create(engine_batch *b, const engine_model *m);
void engine_batch_free(engine_batch *b, const engine_model *m);
int engine_model_run(engine_model *m, engine_batch *b);
/* Reads a row of logits of the last run. */
int engine_model_read(engine_model *m, engine_batch *b, int64_t row);

/* The sampling of one token, without what needs earlier tokens: the repetition penalty. */
hpc_sample_how sample_how(const hpc_sampling *s, uint32_t sample, uint32_t position);

typedef struct running {
    hpc_request r;
    int64_t id;
    int32_t *text; /* the prompt, then generated tokens, then guessed ones */
    int64_t n;     /* tokens of the prompt and generated ones */
    int64_t made;
    int64_t done;    /* tokens in the cache */
    int64_t take;    /* tokens computed in this step, guessed ones included */
    int64_t guessed; /* number of guessed tokens among `take` */
    int64_t wants;   /* rows of logits to compute */
    bool begun, cancelled, over;
    hpc_past past;
} running;

struct hpc_engine {
    engine_model m;
    engine_batch batch;
    hpc_pages *pages;
    hpc_sampler *sampler;
    running *list; /* in order of arrival */
    int64_t n, cap, next_id;
    int64_t guess;
    hpc_engine_counts counts;
};

#endif
