/*
 * tensor.c: the table of a model's tensors: names, roles, extents, initial values, sharding.
 *
 * family.c has the names of other projects.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/priv.h"

/* Extents as symbols, so that a row holds for every configuration. */
typedef enum symbol {
    NONE,
    HIDDEN,
    WIDTH,
    KV,
    FFN,
    VOCAB,
    POSITIONS,
    CLASSES,
    POOLED,
    Q_NORMED, /* what a norm of q covers */
    K_NORMED,
    EXPERTS,
    EXPERT_FFN,
    SHARED_FFN,
    ONE
} symbol;

static int64_t extent_of(const hpc_model_config *c, symbol s)
{
    int64_t d = hpc_model_config_head_dim(c);
    bool whole = c->qk_norm == HPC_QK_WHOLE;
    switch (s) {
    case HIDDEN: return c->hidden;
    case WIDTH: return c->heads * d;
    case KV: return c->kv_heads * d;
    case FFN: return c->ffn;
    case VOCAB: return c->vocab;
    case POSITIONS: return c->positions;
    case CLASSES: return c->classes;
    case POOLED: return c->head == HPC_HEAD_PAIRS ? 2 * c->hidden : c->hidden;
    case Q_NORMED: return whole ? c->heads * d : d;
    case K_NORMED: return whole ? c->kv_heads * d : d;
    case EXPERTS: return c->experts;
    case EXPERT_FFN: return c->expert_ffn > 0 ? c->expert_ffn : c->ffn;
    case SHARED_FFN: return c->shared_ffn;
    case ONE: return 1;
    case NONE: break;
    }
    return 0;
}

static bool always(const hpc_model_config *c)
{
    return c != NULL;
}
static bool learned(const hpc_model_config *c)
{
    return c->position == HPC_LEARNED;
}
static bool before(const hpc_model_config *c)
{
    return c->norm_place != HPC_NORM_AFTER;
}
static bool after(const hpc_model_config *c)
{
    return c->norm_place != HPC_NORM_BEFORE;
}
static bool qk_norm(const hpc_model_config *c)
{
    return c->qk_norm != HPC_QK_PLAIN;
}
static bool layer_norm(const hpc_model_config *c)
{
    return c->norm == HPC_LAYER;
}
static bool qkv_bias(const hpc_model_config *c)
{
    return c->qkv_bias;
}
static bool out_bias(const hpc_model_config *c)
{
    return c->out_bias;
}
static bool gated(const hpc_model_config *c)
{
    return c->gated;
}
static bool gate_bias(const hpc_model_config *c)
{
    return c->gated && c->mlp_bias;
}
static bool mlp_bias(const hpc_model_config *c)
{
    return c->mlp_bias;
}
static bool experts(const hpc_model_config *c)
{
    return c->experts > 0;
}
static bool shared(const hpc_model_config *c)
{
    return c->experts > 0 && c->shared_ffn > 0;
}
static bool own_head(const hpc_model_config *c)
{
    return c->head == HPC_HEAD_TOKENS && !c->tied;
}
static bool class_head(const hpc_model_config *c)
{
    return c->head != HPC_HEAD_TOKENS;
}

/* How a tensor is split. Over columns: the residual stream and vectors added to it or scaling it.
 * Over rows: activations between two products. Over both, in one extent: the vocabulary. */
typedef enum split { WHOLE, STREAM, NORMAL, TRANSPOSED, TABLE, WORDS } split;

typedef struct row {
    const char *name; /* without the block */
    bool block;
    int role;
    symbol extent[2];
    bool (*present)(const hpc_model_config *c);
    int init;
    split split; /* TRANSPOSED: also biases added to the residual stream */
} row;

/* clang-format off */
static const row rows[HPC_PART_N] = {
    [HPC_PART_EMBED] = {"model.embed_tokens.weight", false, HPC_ROLE_EMBEDDING, {VOCAB, HIDDEN},
                        always, HPC_INIT_NORMAL, WORDS},
    [HPC_PART_POSITIONS] = {"model.embed_positions.weight", false, HPC_ROLE_EMBEDDING,
                            {POSITIONS, HIDDEN}, learned, HPC_INIT_NORMAL, TABLE},
    [HPC_PART_NORM1] = {"input_layernorm.weight", true, HPC_ROLE_NORM, {HIDDEN, NONE},
                        before, HPC_INIT_ONE, STREAM},
    [HPC_PART_NORM1_BIAS] = {"input_layernorm.bias", true, HPC_ROLE_BIAS, {HIDDEN, NONE},
                             layer_norm, HPC_INIT_ZERO, STREAM},
    [HPC_PART_Q] = {"self_attn.q_proj.weight", true, HPC_ROLE_MATRIX, {WIDTH, HIDDEN},
                    always, HPC_INIT_NORMAL, NORMAL},
    [HPC_PART_Q_BIAS] = {"self_attn.q_proj.bias", true, HPC_ROLE_BIAS, {WIDTH, NONE},
                         qkv_bias, HPC_INIT_ZERO, NORMAL},
    [HPC_PART_K] = {"self_attn.k_proj.weight", true, HPC_ROLE_MATRIX, {KV, HIDDEN},
                    always, HPC_INIT_NORMAL, NORMAL},
    [HPC_PART_K_BIAS] = {"self_attn.k_proj.bias", true, HPC_ROLE_BIAS, {KV, NONE},
                         qkv_bias, HPC_INIT_ZERO, NORMAL},
    [HPC_PART_V] = {"self_attn.v_proj.weight", true, HPC_ROLE_MATRIX, {KV, HIDDEN},
                    always, HPC_INIT_NORMAL, NORMAL},
    [HPC_PART_V_BIAS] = {"self_attn.v_proj.bias", true, HPC_ROLE_BIAS, {KV, NONE},
                         qkv_bias, HPC_INIT_ZERO, NORMAL},
    [HPC_PART_O] = {"self_attn.o_proj.weight", true, HPC_ROLE_MATRIX, {HIDDEN, WIDTH},
                    always, HPC_INIT_NORMAL, TRANSPOSED},
    [HPC_PART_O_BIAS] = {"self_attn.o_proj.bias", true, HPC_ROLE_BIAS, {HIDDEN, NONE},
                         out_bias, HPC_INIT_ZERO, TRANSPOSED},
    [HPC_PART_NORM2] = {"post_attention_layernorm.weight", true, HPC_ROLE_NORM, {HIDDEN, NONE},
                        before, HPC_INIT_ONE, STREAM},
    [HPC_PART_NORM2_BIAS] = {"post_attention_layernorm.bias", true, HPC_ROLE_BIAS, {HIDDEN, NONE},
                             layer_norm, HPC_INIT_ZERO, STREAM},
    [HPC_PART_GATE] = {"mlp.gate_proj.weight", true, HPC_ROLE_MATRIX, {FFN, HIDDEN},
                       gated, HPC_INIT_NORMAL, NORMAL},
    [HPC_PART_GATE_BIAS] = {"mlp.gate_proj.bias", true, HPC_ROLE_BIAS, {FFN, NONE},
                            gate_bias, HPC_INIT_ZERO, NORMAL},
    [HPC_PART_UP] = {"mlp.up_proj.weight", true, HPC_ROLE_MATRIX, {FFN, HIDDEN},
                     always, HPC_INIT_NORMAL, NORMAL},
    [HPC_PART_UP_BIAS] = {"mlp.up_proj.bias", true, HPC_ROLE_BIAS, {FFN, NONE},
                          mlp_bias, HPC_INIT_ZERO, NORMAL},
    [HPC_PART_DOWN] = {"mlp.down_proj.weight", true, HPC_ROLE_MATRIX, {HIDDEN, FFN},
                       always, HPC_INIT_NORMAL, TRANSPOSED},
    [HPC_PART_DOWN_BIAS] = {"mlp.down_proj.bias", true, HPC_ROLE_BIAS, {HIDDEN, NONE},
                            mlp_bias, HPC_INIT_ZERO, TRANSPOSED},
    [HPC_PART_NORM] = {"model.norm.weight", false, HPC_ROLE_NORM, {HIDDEN, NONE},
                       always, HPC_INIT_ONE, STREAM},
    [HPC_PART_NORM_BIAS] = {"model.norm.bias", false, HPC_ROLE_BIAS, {HIDDEN, NONE},
                            layer_norm, HPC_INIT_ZERO, STREAM},
    [HPC_PART_HEAD] = {"lm_head.weight", false, HPC_ROLE_HEAD, {VOCAB, HIDDEN},
                       own_head, HPC_INIT_NORMAL, WORDS},
    [HPC_PART_CLASSES] = {"score.weight", false, HPC_ROLE_HEAD, {CLASSES, POOLED},
                          class_head, HPC_INIT_NORMAL, WHOLE},
    [HPC_PART_Q_NORM] = {"self_attn.q_norm.weight", true, HPC_ROLE_NORM, {Q_NORMED, NONE},
                         qk_norm, HPC_INIT_ONE, NORMAL},
    [HPC_PART_K_NORM] = {"self_attn.k_norm.weight", true, HPC_ROLE_NORM, {K_NORMED, NONE},
                         qk_norm, HPC_INIT_ONE, NORMAL},
    [HPC_PART_NORM1_AFTER] = {"self_attn.after_norm.weight", true, HPC_ROLE_NORM, {HIDDEN, NONE},
                              after, HPC_INIT_ONE, STREAM},
    [HPC_PART_NORM2_AFTER] = {"mlp.after_norm.weight", true, HPC_ROLE_NORM, {HIDDEN, NONE},
                              after, HPC_INIT_ONE, STREAM},
    [HPC_PART_EXPERT_GATE] = {"mlp.experts.gate_proj.weight", true, HPC_ROLE_MATRIX,
                              {EXPERT_FFN, HIDDEN}, experts, HPC_INIT_NORMAL, NORMAL},
    [HPC_PART_EXPERT_UP] = {"mlp.experts.up_proj.weight", true, HPC_ROLE_MATRIX,
                            {EXPERT_FFN, HIDDEN}, experts, HPC_INIT_NORMAL, NORMAL},
    [HPC_PART_EXPERT_DOWN] = {"mlp.experts.down_proj.weight", true, HPC_ROLE_MATRIX,
                              {HIDDEN, EXPERT_FFN}, experts, HPC_INIT_NORMAL, TRANSPOSED},
    [HPC_PART_ROUTER] = {"mlp.gate.weight", true, HPC_ROLE_MATRIX, {EXPERTS, HIDDEN},
                         experts, HPC_INIT_NORMAL, TABLE},
    [HPC_PART_SHARED_GATE] = {"mlp.shared_expert.gate_proj.weight", true, HPC_ROLE_MATRIX,
                              {SHARED_FFN, HIDDEN}, shared, HPC_INIT_NORMAL, NORMAL},
    [HPC_PART_SHARED_UP] = {"mlp.shared_expert.up_proj.weight", true, HPC_ROLE_MATRIX,
                            {SHARED_FFN, HIDDEN}, shared, HPC_INIT_NORMAL, NORMAL},
    [HPC_PART_SHARED_DOWN] = {"mlp.shared_expert.down_proj.weight", true, HPC_ROLE_MATRIX,
                              {HIDDEN, SHARED_FFN}, shared, HPC_INIT_NORMAL, TRANSPOSED},
    [HPC_PART_SHARED_SCALE] = {"mlp.shared_expert_gate.weight", true, HPC_ROLE_MATRIX,
                               {ONE, HIDDEN}, shared, HPC_INIT_NORMAL, TABLE},
};
/* clang-format on */

static bool is_expert_part(int part)
{
    return part >= HPC_PART_EXPERT_GATE && part <= HPC_PART_SHARED_SCALE;
}

static bool is_batch(int part)
{
    return part >= HPC_PART_EXPERT_GATE && part <= HPC_PART_EXPERT_DOWN;
}

/* Does the block have this part of an MLP? It has experts, or one MLP. */
static bool fits_block(const hpc_model_config *c, int part, int block)
{
    bool sparse = hpc_model_config_has_experts(c, block);
    if (is_expert_part(part)) return sparse;
    return !sparse || part < HPC_PART_GATE || part > HPC_PART_DOWN_BIAS;
}

hpc_type model_tensor_type(const hpc_model_tensor *t, hpc_dtype dtype)
{
    int64_t extent[3];
    int rank = hpc_model_tensor_extents(extent, t);
    return hpc_type_of(dtype, rank, extent);
}

hpc_model_tensor model_tensor_entry(const hpc_model_tensor *t, int64_t e)
{
    hpc_model_tensor out = *t;
    if (t->batch > 0 && !t->entry) out.entry = 1 + e;
    return out;
}

bool model_part_in_block(int part)
{
    return rows[part].block;
}

const char *model_part_name(int part)
{
    return rows[part].name;
}

static void set_name(hpc_model_tensor *t, const row *r)
{
    static const char *const tail[HPC_ADAPTER_KINDS] = {"", ".lora_A.weight", ".lora_B.weight",
                                                        ".lora_rows.weight"};
    char block[32] = "";
    size_t n = strlen(r->name);
    if (t->adapter) n -= strlen(".weight");
    if (r->block) snprintf(block, sizeof block, "model.layers.%d.", t->block);
    snprintf(t->name, sizeof t->name, "%s%.*s%s", block, (int)n, r->name, tail[t->adapter]);
}

static void set_split(hpc_model_tensor *t, split s)
{
    t->row = t->col = -1;
    if (s == TABLE) t->col = 1;
    if (s == WORDS) t->row = t->col = 0;
    if (s == NORMAL) t->row = 0;
    if (s == TRANSPOSED || s == STREAM) t->col = 0;
    if (s == NORMAL && t->rank == 2) t->col = 1;
    if (s == TRANSPOSED && t->rank == 2) t->row = 1;
}

/* The changes of some rows start as 0 and do not decay. */
static void adapt_rows(hpc_model_tensor *t, const hpc_model_config *c)
{
    t->extent[0] = c->adapter.token_n;
    t->init = HPC_INIT_ZERO;
    t->std = 0;
    t->decay = false;
    t->row = t->col = -1;
}

static bool has_adapter(const hpc_model_config *c, int part, int adapter)
{
    const hpc_adapter_config *a = &c->adapter;
    if (a->rank == 0) return false;
    if (adapter == 3) return a->token_n > 0 && rows[part].split == WORDS;
    if (part == HPC_PART_ROUTER || part >= 32) return false; /* 32: bits of a set of targets */
    return rows[part].role == HPC_ROLE_MATRIX && a->targets >> part & 1;
}

/* A is [rank,in], B [out,rank]; of a batch, each matrix has its own. B starts as 0, so the adapted model starts as its base. A has the
 * variance of peft's initial values, uniform in +-1/sqrt(in). */
static void adapt(hpc_model_tensor *t, const hpc_model_config *c)
{
    bool a = t->adapter == 1;
    int64_t in = t->extent[1];
    t->init = a ? HPC_INIT_NORMAL : HPC_INIT_ZERO;
    t->std = a ? 1 / sqrt(3.0 * (double)in) : 0;
    t->extent[a ? 0 : 1] = c->adapter.rank;
    if (t->row == (a ? 0 : 1)) t->row = -1;
    if (t->col == (a ? 0 : 1)) t->col = -1;
}

bool model_tensor_at(hpc_model_tensor *out, const hpc_model_config *c, int part, int block,
                     int adapter)
{
    const row *r = &rows[part];
    bool adapters = c->adapter.rank > 0;
    if (!r->present(c) || !fits_block(c, part, block)) return false;
    if (adapter && !has_adapter(c, part, adapter)) return false;
    *out = (hpc_model_tensor){.part = part,
                              .block = block,
                              .adapter = adapter,
                              .role = r->role,
                              .rank = r->extent[1] == NONE ? 1 : 2,
                              .init = r->init};
    for (int k = 0; k < out->rank; k++) out->extent[k] = extent_of(c, r->extent[k]);
    if (is_batch(part)) out->batch = c->experts;
    if (out->init == HPC_INIT_NORMAL) out->std = c->init_std;
    if (out->init == HPC_INIT_NORMAL && r->split == TRANSPOSED)
        out->std /= sqrt(2.0 * (double)c->layers);
    out->decay = out->rank == 2;
    out->trainable = !adapters || adapter || part == HPC_PART_CLASSES;
    bool of_heads = c->qk_norm == HPC_QK_BY_HEAD &&
                    (part == HPC_PART_Q_NORM || part == HPC_PART_K_NORM); /* all share it */
    set_split(out, of_heads ? WHOLE : r->split);
    set_name(out, r);
    if (adapter == 3)
        adapt_rows(out, c);
    else if (adapter)
        adapt(out, c);
    return true;
}

/* ---- the list ------------------------------------------------------------------------------ */

typedef struct list {
    hpc_model_tensor *item; /* NULL: only count */
    int64_t n;
    const hpc_model_config *c;
} list;

static void add_part(list *l, int part, int block)
{
    hpc_model_tensor t;
    for (int adapter = 0; adapter < HPC_ADAPTER_KINDS; adapter++) {
        if (!model_tensor_at(&t, l->c, part, block, adapter)) continue;
        if (l->item) l->item[l->n] = t;
        l->n++;
    }
}

/* Parts of a block in the order of the forward pass. */
static const int8_t in_block[] = {HPC_PART_NORM1,
                                  HPC_PART_NORM1_BIAS,
                                  HPC_PART_Q,
                                  HPC_PART_Q_BIAS,
                                  HPC_PART_K,
                                  HPC_PART_K_BIAS,
                                  HPC_PART_V,
                                  HPC_PART_V_BIAS,
                                  HPC_PART_Q_NORM,
                                  HPC_PART_K_NORM,
                                  HPC_PART_O,
                                  HPC_PART_O_BIAS,
                                  HPC_PART_NORM1_AFTER,
                                  HPC_PART_NORM2,
                                  HPC_PART_NORM2_BIAS,
                                  HPC_PART_GATE,
                                  HPC_PART_GATE_BIAS,
                                  HPC_PART_UP,
                                  HPC_PART_UP_BIAS,
                                  HPC_PART_DOWN,
                                  HPC_PART_DOWN_BIAS,
                                  HPC_PART_ROUTER,
                                  HPC_PART_EXPERT_GATE,
                                  HPC_PART_EXPERT_UP,
                                  HPC_PART_EXPERT_DOWN,
                                  HPC_PART_SHARED_GATE,
                                  HPC_PART_SHARED_UP,
                                  HPC_PART_SHARED_DOWN,
                                  HPC_PART_SHARED_SCALE,
                                  HPC_PART_NORM2_AFTER};

static void add_all(list *l)
{
    l->n = 0;
    for (int part = 0; part < HPC_PART_NORM1; part++) add_part(l, part, -1);
    for (int64_t b = 0; b < l->c->layers; b++)
        for (size_t k = 0; k < sizeof in_block; k++) add_part(l, in_block[k], (int)b);
    for (int part = HPC_PART_NORM; part <= HPC_PART_CLASSES; part++) add_part(l, part, -1);
}

int hpc_model_tensors(hpc_model_tensor **out, int64_t *n, const hpc_model_config *c)
{
    list l = {.c = c};
    *out = NULL;
    *n = 0;
    int rc = hpc_model_config_check(c);
    if (rc < 0) return rc;
    add_all(&l);
    l.item = hpc_alloc((size_t)l.n, sizeof *l.item);
    if (!l.item) return HPC_E_NOMEM;
    add_all(&l);
    *out = l.item;
    *n = l.n;
    return HPC_OK;
}

/* ---- first values ---------------------------------------------------------------------------- */

void hpc_model_init(float *out, const hpc_model_tensor *t, int64_t first, int64_t n, uint64_t seed)
{
    uint32_t key = (uint32_t)(t->part * 3 + t->adapter) << 16 | (uint32_t)(t->block + 1);
    float std = (float)t->std;
    if (t->init != HPC_INIT_NORMAL) {
        for (int64_t i = 0; i < n; i++) out[i] = t->init == HPC_INIT_ONE ? 1 : 0;
        return;
    }
    hpc_random_fill_normal(out, n, seed, key, 0, (uint64_t)first);
    for (int64_t i = 0; i < n; i++) out[i] *= std;
}
