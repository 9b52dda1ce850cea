/*
 * model.h: a configuration as a program on the CPU, optionally with gradients and an optimizer,
 * fed with documents.
 */
#ifndef HPC_TEST_MODEL_H
#define HPC_TEST_MODEL_H

#include "model/emit.h"
#include "tests/support/values.h"

typedef enum hpc_test_steps {
    HPC_TEST_LOGITS,
    HPC_TEST_LOSS,
    HPC_TEST_GRADIENT, /* gradient of the sum of losses times `weight` */
    HPC_TEST_SGD,      /* momentum 0.9, decay 0.01 for all */
    HPC_TEST_ADAMW     /* 0.9, 0.95, 1e-8, decay 0.1 for parameters that decay */
} hpc_test_steps;

typedef struct hpc_test_model {
    hpc_model_config c;
    hpc_model_io io;
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
    hpc_model_tensor *list;
    int64_t list_n;
    int backward, update; /* segments, or -1 */
    hpc_value weight, lr;
} hpc_test_model;

/* Opens a model with rotary frequencies and zero parameters. Close with hpc_test_model_close. */
void hpc_test_model_open(hpc_test_model *m, const hpc_model_config *c, int64_t tokens,
                         int64_t sequences, hpc_test_steps steps);
/* The same in two steps, so that the test can change the program in between. */
void hpc_test_model_emit(hpc_test_model *m, const hpc_model_config *c, int64_t tokens,
                         int64_t sequences, hpc_test_steps steps);
void hpc_test_model_begin(hpc_test_model *m, hpc_grid *grid); /* NULL: serial */
void hpc_test_model_close(hpc_test_model *m);
/* Draws all parameters: normals times scale; norms about 1. */
void hpc_test_model_draw(hpc_test_model *m, uint32_t seed, double scale);
/* Feeds contiguous documents that fill the program's tokens; each token's target is the next of its
 * document. Losses have weight 1 / (number of targets); with a class head 1 / (number of
 * documents). Returns the number of targets. */
int64_t hpc_test_model_feed(hpc_test_model *m, const int32_t *token, const int32_t *length,
                            int documents);
/* Runs all segments once; returns the weighted sum of the losses, or 0 for logits. */
double hpc_test_model_step(hpc_test_model *m, int step, double lr);
int64_t hpc_test_model_tensor_n(const hpc_model_tensor *t);

#endif
