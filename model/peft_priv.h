/*
 * peft_priv.h: shared by the files that read and write adapters in the format of peft.
 */
#ifndef HPC_MODEL_PEFT_PRIV_H
#define HPC_MODEL_PEFT_PRIV_H

#include <stdio.h>

#include "model/priv.h"

#define MODEL_PEFT_PREFIX "base_model.model."
enum { MODEL_PEFT_NAME = HPC_TENSOR_NAME + 64 };
/* The module of t in a file: the family's name of the tensor, with peft's prefix and without
 * ".weight". HPC_E_UNSUPPORTED: the family fuses or transposes it. */
int model_peft_module(char out[MODEL_PEFT_NAME], const model_family *f, const hpc_model_config *c,
                      const hpc_model_tensor *t);
const char *model_peft_tail(int adapter); /* of a tensor's name, by hpc_model_tensor.adapter */

#endif
