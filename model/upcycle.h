/*
 * upcycle.h: mixtures of experts whose experts start as copies of one MLP.
 */
#ifndef HPC_MODEL_UPCYCLE_H
#define HPC_MODEL_UPCYCLE_H

#include "model/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A mixture of experts that starts from one MLP, or from a mixture of one expert (`one`): each
 * expert is a copy of it with other zeros (EvoMoE's diversified start). HPC_E_UNSUPPORTED: no
 * family stores it. Routers have no first values here. */
typedef struct hpc_upcycle_options {
    int64_t experts, top_k, every; /* every: as expert_every, for a model without experts */
    bool normalise;                /* as in hpc_model_config; Mixtral always does */
    double zeros;                  /* share of a copy's elements that are set to 0 */
    uint64_t seed;
} hpc_upcycle_options;
int hpc_model_config_upcycle(hpc_model_config *out, const hpc_model_config *one,
                             const hpc_upcycle_options *o);
/* Reads all matrices of batch t of the mixture from w, which has the configuration `one`. */
int hpc_weights_read_copies(float *out, const hpc_weights *w, const hpc_model_config *one,
                            const hpc_model_tensor *t, const hpc_upcycle_options *o);

#ifdef __cplusplus
}
#endif
#endif
