/*
 * encoder.h: graph network over graphs of code (runtime/source/code_graph.h): a classifier of loops
 * or of changed functions.
 *
 * A node begins as the sum of two rows, for the hash of its label and for its kind. Each layer adds
 * the means of its neighbours over each type of edge, in both directions, with a matrix each. The
 * mean and the maximum of the nodes give the logits. Graphs run in batches of fixed capacity. The
 * same samples, seed and options give the same parameters, bit for bit, for any number of threads.
 */
#ifndef HPC_CODE_ENCODER_H
#define HPC_CODE_ENCODER_H

#include "runtime/source/code_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_encoder_options {
    int64_t width, layers; /* columns of a node; at most HPC_ENCODER_LAYERS */
    int64_t labels;        /* rows of the table of labels; hashes share them */
    int64_t epochs;
    double rate, decay; /* of AdamW; the rate falls to 0 linearly */
    uint64_t seed;
    int threads; /* 0: one for each core */
} hpc_encoder_options;
#define HPC_ENCODER_DEFAULTS                                                                       \
    {                                                                                              \
        .width = 32, .layers = 2, .labels = 2048, .epochs = 4, .rate = 3e-3, .decay = 1e-2,        \
        .seed = 1                                                                                  \
    }
enum { HPC_ENCODER_LAYERS = 8 };

/* A sample of a set. The encoder copies no graph. */
typedef struct hpc_encoder_sample {
    const hpc_code_graph *graph;
    int32_t label; /* 0 or 1; not read by hpc_encoder_score */
} hpc_encoder_sample;

typedef struct hpc_encoder hpc_encoder; /* one thread uses it at a time */
int hpc_encoder_open(hpc_encoder **out, const hpc_encoder_options *o);
void hpc_encoder_close(hpc_encoder *e);
/* Begins with new parameters. *loss: mean of the last epoch, in nats. HPC_E_ARG: no samples. */
int hpc_encoder_train(double *loss, hpc_encoder *e, const hpc_encoder_sample *s, int64_t n);
/* out[k]: logit of label 1 against label 0. */
int hpc_encoder_score(double *out, hpc_encoder *e, const hpc_encoder_sample *s, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
