/*
 * train_adapter.c: the options of `train` that describe adapters.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/train.h"
#include "model/peft.h"

/* Matrices of an MLP are those of the experts in blocks that have experts. */
static uint32_t parts_in(const hpc_model_config *c, int part, int of_experts)
{
    uint32_t own = 1u << part, experts = of_experts ? 1u << of_experts : 0;
    if (c->experts == 0 || !experts) return own;
    return c->expert_every > 1 ? own | experts : experts;
}

static int find_targets(uint32_t *out, const hpc_model_config *c, const train_options *o)
{
    static const struct {
        const char *name;
        int part, of_experts;
    } part[] = {{"q", HPC_PART_Q, 0},
                {"k", HPC_PART_K, 0},
                {"v", HPC_PART_V, 0},
                {"o", HPC_PART_O, 0},
                {"gate", HPC_PART_GATE, HPC_PART_EXPERT_GATE},
                {"up", HPC_PART_UP, HPC_PART_EXPERT_UP},
                {"down", HPC_PART_DOWN, HPC_PART_EXPERT_DOWN}};
    const char *at = o->lora_targets;
    while (*at) {
        size_t n = strcspn(at, ","), k = 0, all = sizeof part / sizeof *part;
        while (k < all && (strlen(part[k].name) != n || strncmp(part[k].name, at, n) != 0)) k++;
        if (k == all)
            return hpc_fail(HPC_E_ARG,
                            "lora-targets: '%.*s' is not one of q, k, v, o, gate, up, down", (int)n,
                            at);
        *out |= parts_in(c, part[k].part, part[k].of_experts);
        at += n + (at[n] == ',');
    }
    return HPC_OK;
}

static int in_order(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int find_token(int32_t *id, const hpc_tokenizer *t, const char *name, size_t n,
                      const char *path)
{
    char text[256];
    snprintf(text, sizeof text, "%.*s", n < sizeof text ? (int)n : 0, name);
    *id = hpc_tokenizer_find(t, text);
    if (*id >= 0) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "lora-tokens: the tokenizer %s has no token '%.*s'", path, (int)n,
                    name);
}

/* The ids of the named tokens, ascending. */
static int find_tokens(hpc_adapter_config *out, const char *at, const char *path)
{
    hpc_run_tokens *tokens = NULL;
    int rc = HPC_OK;
    if (!path)
        TRY(hpc_fail(HPC_E_ARG, "lora-tokens: there is no tokenizer: name it with --tokenizer"));
    TRY(hpc_run_tokens_open(&tokens, path));
    while (*at) {
        size_t n = strcspn(at, ",");
        if (out->token_n == HPC_ADAPTER_TOKENS)
            TRY(hpc_fail(HPC_E_ARG, "lora-tokens: name at most %d tokens", HPC_ADAPTER_TOKENS));
        TRY(find_token(&out->token[out->token_n++], hpc_run_tokens_of(tokens), at, n, path));
        at += n + (at[n] == ',');
    }
    qsort(out->token, (size_t)out->token_n, sizeof *out->token, in_order);
out:
    hpc_run_tokens_close(tokens);
    return rc;
}

static int read_peft(hpc_model_config *c, const char *dir)
{
    hpc_peft *p = NULL;
    int rc = hpc_peft_open(&p, dir, c);
    hpc_peft_close(p);
    return rc;
}

int hpc_cmd_train_lora_init(train_options *o)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    int rc = HPC_OK;
    if (!o->lora_init) return HPC_OK;
    if (!o->init) TRY(hpc_fail(HPC_E_ARG, "lora-init: name the base model with --init"));
    TRY(hpc_model_config_read(&c, o->init));
    TRY(read_peft(&c, o->lora_init));
    o->lora_rank = c.adapter.rank;
out:
    return rc;
}

int hpc_cmd_train_adapter(hpc_model_config *c, const train_options *o, const char *tokenizer)
{
    hpc_adapter_config *out = &c->adapter;
    int rc = HPC_OK;
    if (o->lora_init) return read_peft(c, o->lora_init);
    *out = (hpc_adapter_config){.rank = o->lora_rank, .alpha = o->lora_alpha};
    if (o->lora_rank) TRY(find_targets(&out->targets, c, o));
    if (o->lora_tokens && *o->lora_tokens) {
        if (!o->lora_rank)
            TRY(hpc_fail(HPC_E_ARG, "lora-tokens: without --lora-rank, all rows are trained"));
        TRY(find_tokens(out, o->lora_tokens, tokenizer));
    }
out:
    return rc;
}
