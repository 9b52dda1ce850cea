/*
 * peft.h: low-rank adapters in the format of the peft library: adapter_config.json and
 * adapter_model.safetensors.
 */
#ifndef HPC_MODEL_PEFT_H
#define HPC_MODEL_PEFT_H

#include "model/model.h"
#include "tokenizer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_peft hpc_peft;
/* Opens the LoRA adapters in `dir` for the model that c describes, and sets c->adapter. The rank is
 * the largest of all matrices. rsLoRA's scale and patterns of ranks and alphas are converted.
 * HPC_E_UNSUPPORTED names a setting or a tensor that this program
 * cannot apply. */
int hpc_peft_open(hpc_peft **out, const char *dir, hpc_model_config *c);
void hpc_peft_close(hpc_peft *p);
/* Is t a tensor of the model that the directory replaces (modules_to_save)? */
bool hpc_peft_replaces(const hpc_peft *p, const hpc_model_tensor *t);
bool hpc_peft_replaces_any(const hpc_peft *p);
/* Reads t, an adapter's tensor or one that is replaced. base: weights of the model, from which rows
 * of tokens are subtracted. */
int hpc_peft_read(float *out, const hpc_peft *p, const hpc_weights *base,
                  const hpc_model_tensor *t);
/* Appends "OLD=NEW" for each token that added_tokens.json names differently than t, the tokenizer
 * of the model; the caller frees the texts and the list. */
int hpc_peft_names(char ***pairs, int64_t *n, const char *dir, const hpc_tokenizer *t);

typedef struct hpc_peft_options {
    hpc_dtype dtype;                /* f32, f16 or bf16 */
    const char *base;               /* path of the base model, or NULL */
    const hpc_tokenizer *tokenizer; /* for the names of trained tokens; NULL: none */
    /* Gives adapters and, for rows of tokens, the tables of the base. */
    int (*read)(float *out, const hpc_model_tensor *t, void *user);
    void *user;
} hpc_peft_options;
/* Writes the adapters of c into the folder `dir`; with trained tokens also added_tokens.json. */
int hpc_peft_save(const char *dir, const hpc_model_config *c, const hpc_peft_options *o);

#ifdef __cplusplus
}
#endif
#endif
