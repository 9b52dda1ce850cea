/*
 * model.h: a configuration as a program on the CPU, with its gradients and an
 * optimizer where asked for, fed with documents.
 */
#ifndef HPC_TEST_MODEL_H
#define HPC_TEST_MODEL_H

#include "model/emit.h"
#include "tests/support/values.h"

typedef enum hpc_test_steps {
    HPC_TEST_LOGITS,
    HPC_TEST_LOSS,
    HPC_TEST_GRADIENT, /* of the sum of losses by `weight` */
    HPC_TEST_SGD,      /* momentum 0.9, decay 0.01 of all */
    HPC_TEST_ADAMW     /* 0.9, 0.95, 1e-8, decay 0.1 of what decays */
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

/* Frequencies are written; parameters are zeros. Closed by hpc_test_model_close. */
void hpc_test_model_open(hpc_test_model *m, const hpc_model_config *c, int64_t tokens,
                         int64_t sequences, hpc_test_steps steps);
/* The same in two parts, with whatever is done to the program between them. */
void hpc_test_model_emit(hpc_test_model *m, const hpc_model_config *c, int64_t tokens,
                         int64_t sequences, hpc_test_steps steps);
void hpc_test_model_begin(hpc_test_model *m, hpc_grid *grid); /* NULL: serial */
void hpc_test_model_close(hpc_test_model *m);
/* All parameters: normals times scale, norms about 1. */
void hpc_test_model_draw(hpc_test_model *m, uint32_t seed, double scale);
/* Tokens of documents one after the other, which fill the program's; each targets the next of its
 * document. Losses count 1 / (tokens that have a target), where there is a class head 1 / their
 * number. Returns the number of tokens that have a target. */
int64_t hpc_test_model_feed(hpc_test_model *m, const int32_t *token, const int32_t *length,
                            int documents);
/* All segments once; the weighted sum of the losses, or 0 of logits. */
double hpc_test_model_step(hpc_test_model *m, int step, double lr);
int64_t hpc_test_model_tensor_n(const hpc_model_tensor *t);

#endif
