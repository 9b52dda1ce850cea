/*
 * family.c: finds families, and describes how a family stores a tensor.
 *
 * family_table.c has the table.
 */
#include <stdio.h>
#include <string.h>

#include "model/priv.h"

const model_family *model_family_find(const char *name)
{
    for (const model_family *const *f = model_families; *f; f++)
        if (strcmp((*f)->name, name) == 0) return *f;
    return NULL;
}

/* ---- storage of a tensor --------------------------------------------------------------------- */

/* Parts that a family may store as one tensor, in this order. */
enum { FUSED_GROUPS = 3, FUSED_MOST = 3 };
static const int fused[FUSED_GROUPS][FUSED_MOST] = {
    {HPC_PART_Q, HPC_PART_K, HPC_PART_V},
    {HPC_PART_Q_BIAS, HPC_PART_K_BIAS, HPC_PART_V_BIAS},
    {HPC_PART_GATE, HPC_PART_UP, -1}};

static bool rotates(int part)
{
    return part == HPC_PART_Q || part == HPC_PART_K || part == HPC_PART_Q_BIAS ||
           part == HPC_PART_K_BIAS;
}

/* The group of a part that is stored with others; NULL: it is stored alone. */
static const int *group_of(const model_family *f, int part)
{
    for (int g = 0; g < FUSED_GROUPS && f->fusion != MODEL_APART; g++) {
        const char *first = f->part[fused[g][0]];
        for (int k = 0; k < FUSED_MOST; k++)
            if (fused[g][k] == part && first && strcmp(first, f->part[fused[g][1]]) == 0)
                return fused[g];
    }
    return NULL;
}

/* Where the rows of t begin among those of its group, and how many these are. */
static void place_in_group(model_stored *out, const model_family *f, const hpc_model_config *c,
                           const hpc_model_tensor *t)
{
    const int *group = group_of(f, t->part);
    hpc_model_tensor other;
    if (!group) return;
    out->slots = out->total = 0;
    for (int k = 0; k < FUSED_MOST && group[k] >= 0; k++, out->slots++) {
        bool known = model_tensor_at(&other, c, group[k], t->block, 0);
        if (group[k] == t->part) out->slot = k, out->base = out->total;
        out->total += known ? other.extent[0] : 0;
    }
    if (f->fusion != MODEL_INTERLEAVED) return;
    out->run = hpc_model_config_head_dim(c);
    out->stride = out->run * out->slots;
    out->base = out->slot * out->run;
}

/* The matrices of all experts are one tensor, of which t is all or one. */
static void stack_experts(model_stored *out, const hpc_model_tensor *t)
{
    out->rank = 3;
    for (int k = 2; k > 0; k--) out->extent[k] = out->extent[k - 1];
    out->extent[0] = t->batch;
    out->total = t->batch * t->extent[0];
    if (!t->entry) {
        out->run = out->total;
        return;
    }
    out->slots = t->batch;
    out->slot = t->entry - 1;
    out->base = out->slot * t->extent[0];
}

int model_stored_of(model_stored *out, const model_family *f, const hpc_model_config *c,
                    const hpc_model_tensor *t)
{
    char block[32] = "", part[HPC_TENSOR_NAME];
    bool head = t->part == HPC_PART_HEAD || t->part == HPC_PART_CLASSES;
    if (!f->part[t->part] || t->adapter)
        return hpc_fail(HPC_E_UNSUPPORTED, "%s: files of a %s cannot store it", t->name, f->name);
    *out = (model_stored){.rank = t->rank, .slots = 1, .total = t->extent[0], .run = t->extent[0]};
    out->prefix_n = head ? 0 : strlen(f->prefix);
    if (t->block >= 0) snprintf(block, sizeof block, "%s%d.", f->block, t->block);
    snprintf(part, sizeof part, f->part[t->part], (int)t->entry - 1);
    snprintf(out->name, sizeof out->name, "%s%s%s", head ? "" : f->prefix, block, part);
    place_in_group(out, f, c, t);
    if (f->paired && rotates(t->part)) out->paired = hpc_model_config_head_dim(c);
    if (f->shifted && t->role == HPC_ROLE_NORM) out->shift = 1;
    out->transposed = f->transposed && t->role == HPC_ROLE_MATRIX;
    out->extent[out->transposed ? 1 : 0] = out->total;
    if (t->rank == 2) out->extent[out->transposed ? 0 : 1] = t->extent[1];
    if (t->batch > 0 && !strchr(f->part[t->part], '%')) stack_experts(out, t);
    return HPC_OK;
}

bool model_is_buffer(const char *name)
{
    static const char *const tails[] = {".rotary_emb.inv_freq",   ".attn.bias",
                                        ".attn.masked_bias",      ".attention.bias",
                                        ".attention.masked_bias", ".embed_positions.inv_freq",
                                        "rope_freqs.weight"};
    size_t n = strlen(name);
    for (size_t k = 0; k < sizeof tails / sizeof *tails; k++) {
        size_t tail = strlen(tails[k]);
        if (n >= tail && strcmp(name + n - tail, tails[k]) == 0) return true;
    }
    return false;
}
