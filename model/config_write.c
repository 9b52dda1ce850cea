/*
 * config_write.c: writes a configuration as config.json, for transformers and for config_read.c.
 *
 * It reads the result back. A member that changes is one that the family cannot express, and the
 * error names it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/priv.h"

/* ---- names of activations ------------------------------------------------------------------- */

static const struct {
    const char *name;
    int act;
} acts[] = {{"gelu", HPC_GELU_ERF},      {"gelu_pytorch_tanh", HPC_GELU_TANH},
            {"gelu_new", HPC_GELU_TANH}, {"gelu_fast", HPC_GELU_TANH},
            {"silu", HPC_SILU},          {"swish", HPC_SILU},
            {"relu", HPC_RELU},          {"relu2", HPC_RELU2}};
enum { ACTS = sizeof acts / sizeof *acts };

const char *model_act_name(int act)
{
    for (int k = 0; k < ACTS; k++)
        if (acts[k].act == act) return acts[k].name;
    return "none";
}

bool model_act_find(int *out, const char *name)
{
    for (int k = 0; k < ACTS; k++)
        if (strcmp(acts[k].name, name) == 0) {
            *out = acts[k].act;
            return true;
        }
    return false;
}

/* ---- writing -------------------------------------------------------------------------------- */

static void put_architecture(hpc_json_out *w, const model_family *f, const hpc_model_config *c)
{
    char name[64];
    const char *tail = c->head == HPC_HEAD_TOKENS    ? f->causal
                       : c->head == HPC_HEAD_CLASSES ? "ForSequenceClassification"
                                                     : "Model";
    snprintf(name, sizeof name, "%s%s", f->architecture, tail);
    hpc_json_open(w, "architectures", '[');
    hpc_json_put_text(w, NULL, name);
    hpc_json_close(w, ']');
    hpc_json_put_text(w, "model_type", f->name);
    if (c->head == HPC_HEAD_CLASSES) hpc_json_put_int(w, "num_labels", c->classes);
    if (c->head != HPC_HEAD_PAIRS) return;
    hpc_json_open(w, "hpccoder", '{');
    hpc_json_put_text(w, "head", "pairs");
    hpc_json_put_int(w, "classes", c->classes);
    hpc_json_close(w, '}');
}

/* An absent window, width of a head or token is null. */
static void put_int(hpc_json_out *w, const model_key *k, const hpc_model_config *c)
{
    int64_t value = *(const int64_t *)((const char *)c + k->offset);
    if (k->offset == offsetof(hpc_model_config, head_dim)) value = hpc_model_config_head_dim(c);
    if (k->offset == offsetof(hpc_model_config, window) && value == 0)
        hpc_json_put_text(w, k->name, NULL);
    else
        hpc_json_put_int(w, k->name, value);
}

/* A factor that is absent is 1; that of scores has a default of its own. */
static double real_of(const model_key *k, const hpc_model_config *c)
{
    double x = *(const double *)((const char *)c + k->offset);
    if (k->offset == offsetof(hpc_model_config, attention_scale) && x == 0)
        return 1 / sqrt((double)hpc_model_config_head_dim(c));
    bool factor = k->offset == offsetof(hpc_model_config, embed_scale) ||
                  k->offset == offsetof(hpc_model_config, residual_scale);
    return factor && x == 0 ? 1 : x;
}

static void put_cap(hpc_json_out *w, const char *name, double cap)
{
    if (cap > 0)
        hpc_json_put_real(w, name, cap);
    else
        hpc_json_put_text(w, name, NULL);
}

static double inverse(double x)
{
    return x == 0 ? 1 : 1 / x;
}

/* 1 / scale^2, as the whole number that it usually is. */
static void put_root(hpc_json_out *w, const char *name, const hpc_model_config *c)
{
    double s = c->attention_scale, x = s > 0 ? 1 / (s * s) : (double)hpc_model_config_head_dim(c);
    if (fabs(x - round(x)) < 1e-9 * x)
        hpc_json_put_int(w, name, (int64_t)round(x));
    else
        hpc_json_put_real(w, name, x);
}

/* Layers that differ from others. */
static void put_layers(hpc_json_out *w, const model_family *f, const hpc_model_config *c)
{
    if (f->layered && c->window > 0) {
        hpc_json_open(w, "layer_types", '[');
        for (int64_t k = 0; k < c->layers; k++)
            hpc_json_put_text(
                w, NULL, hpc_model_config_window(c, k) ? "sliding_attention" : "full_attention");
        hpc_json_close(w, ']');
    }
    if (c->rope_period == 0) return;
    hpc_json_open(w, "no_rope_layers", '[');
    for (int64_t k = 0; k < c->layers; k++)
        hpc_json_put_int(w, NULL, hpc_model_config_rotates(c, k));
    hpc_json_close(w, ']');
}

static void put_key(hpc_json_out *w, const model_key *k, const hpc_model_config *c)
{
    const void *at = (const char *)c + k->offset;
    switch (k->kind) {
    case MODEL_KEY_INT:
    case MODEL_KEY_ALIAS: put_int(w, k, c); break;
    case MODEL_KEY_REAL: hpc_json_put_real(w, k->name, real_of(k, c)); break;
    case MODEL_KEY_CAP: put_cap(w, k->name, *(const double *)at); break;
    case MODEL_KEY_INVERSE: hpc_json_put_real(w, k->name, inverse(*(const double *)at)); break;
    case MODEL_KEY_ROOT: put_root(w, k->name, c); break;
    case MODEL_KEY_BOOL: hpc_json_put_bool(w, k->name, *(const bool *)at); break;
    case MODEL_KEY_ACT: hpc_json_put_text(w, k->name, model_act_name(*(const int *)at)); break;
    case MODEL_KEY_ZERO: hpc_json_put_real(w, k->name, 0); break;
    case MODEL_KEY_OTHER:
    case MODEL_KEY_EMPTY: break;
    }
}

/* Versions of transformers interpret original_max_position_embeddings differently. It is omitted
 * when it equals their default. */
static void put_original(hpc_json_out *w, const hpc_model_config *c)
{
    if (c->rope.scaling == HPC_ROPE_LLAMA3 || c->rope.original != c->positions)
        hpc_json_put_int(w, "original_max_position_embeddings", c->rope.original);
}

static void put_scaling(hpc_json_out *w, const hpc_model_config *c)
{
    const hpc_rope_config *r = &c->rope;
    if (c->position != HPC_ROTARY || r->scaling == HPC_ROPE_PLAIN) return;
    hpc_json_open(w, "rope_scaling", '{');
    hpc_json_put_text(w, "rope_type",
                      r->scaling == HPC_ROPE_LINEAR   ? "linear"
                      : r->scaling == HPC_ROPE_LLAMA3 ? "llama3"
                                                      : "yarn");
    if (r->scaling == HPC_ROPE_LINEAR) /* versions before rope_type know it by this key */
        hpc_json_put_text(w, "type", "linear");
    hpc_json_put_real(w, "factor", r->factor);
    if (r->scaling == HPC_ROPE_LLAMA3) {
        hpc_json_put_real(w, "low_freq_factor", r->low);
        hpc_json_put_real(w, "high_freq_factor", r->high);
        put_original(w, c);
    }
    if (r->scaling == HPC_ROPE_YARN) {
        hpc_json_put_real(w, "beta_slow", r->low);
        hpc_json_put_real(w, "beta_fast", r->high);
        if (r->attention > 0) hpc_json_put_real(w, "attention_factor", r->attention);
        put_original(w, c);
    }
    hpc_json_close(w, '}');
}

static void put_token(hpc_json_out *w, const char *key, int64_t token)
{
    if (token >= 0)
        hpc_json_put_int(w, key, token);
    else
        hpc_json_put_text(w, key, NULL);
}

static const char *dtype_name(hpc_dtype dtype)
{
    switch (dtype) {
    case HPC_BF16: return "bfloat16";
    case HPC_F16: return "float16";
    case HPC_F64: return "float64";
    default: return "float32";
    }
}

static void put_all(hpc_json_out *w, const model_family *f, const hpc_model_config *c)
{
    hpc_json_open(w, NULL, '{');
    put_architecture(w, f, c);
    for (const model_key *k = f->key; k->name; k++) {
        bool again = false; /* several members may share a key */
        for (const model_key *b = f->key; b < k; b++) again |= strcmp(b->name, k->name) == 0;
        if (!again) put_key(w, k, c);
    }
    put_scaling(w, c);
    put_layers(w, f, c);
    if (f->windowed) {
        hpc_json_put_bool(w, "use_sliding_window", c->window > 0);
        hpc_json_put_int(w, "max_window_layers", c->window > 0 ? 0 : c->layers);
    }
    put_token(w, "bos_token_id", c->begin);
    put_token(w, "eos_token_id", c->end);
    put_token(w, "pad_token_id", c->pad);
    hpc_json_put_text(w, "torch_dtype", dtype_name(c->dtype));
    hpc_json_close(w, '}');
}

/* ---- what comes back ------------------------------------------------------------------------ */

#define INT(name, member)                                                                          \
    {                                                                                              \
        name, MODEL_KEY_INT, offsetof(hpc_model_config, member), 0                                 \
    }
#define REAL(name, member)                                                                         \
    {                                                                                              \
        name, MODEL_KEY_REAL, offsetof(hpc_model_config, member), 0                                \
    }
#define BOOL(name, member)                                                                         \
    {                                                                                              \
        name, MODEL_KEY_BOOL, offsetof(hpc_model_config, member), 0                                \
    }
#define ENUM(name, member)                                                                         \
    {                                                                                              \
        name, MODEL_KEY_ACT, offsetof(hpc_model_config, member), 0                                 \
    }
static const model_key members[] = {
    INT("vocab", vocab),
    INT("hidden", hidden),
    INT("layers", layers),
    INT("heads", heads),
    INT("kv-heads", kv_heads),
    INT("head-dim", head_dim),
    INT("ffn", ffn),
    INT("positions", positions),
    ENUM("norm", norm),
    REAL("norm-eps", norm_eps),
    ENUM("position", position),
    REAL("rope theta", rope.theta),
    REAL("rope share", rope.share),
    REAL("rope local-theta", rope.local_theta),
    ENUM("rope scaling", rope.scaling),
    REAL("rope factor", rope.factor),
    REAL("rope low", rope.low),
    REAL("rope high", rope.high),
    INT("rope original", rope.original),
    REAL("rope attention", rope.attention),
    INT("window", window),
    INT("window-period", window_period),
    INT("rope-period", rope_period),
    ENUM("norm-place", norm_place),
    ENUM("qk-norm", qk_norm),
    REAL("embed-scale", embed_scale),
    REAL("attention-scale", attention_scale),
    REAL("residual-scale", residual_scale),
    REAL("logit-scale", logit_scale),
    REAL("attention-cap", attention_cap),
    REAL("logit-cap", logit_cap),
    ENUM("act", act),
    BOOL("gated", gated),
    BOOL("qkv-bias", qkv_bias),
    BOOL("out-bias", out_bias),
    BOOL("mlp-bias", mlp_bias),
    BOOL("parallel", parallel),
    BOOL("tied", tied),
    INT("experts", experts),
    INT("top-k", top_k),
    INT("expert-ffn", expert_ffn),
    INT("shared-ffn", shared_ffn),
    INT("expert-every", expert_every),
    BOOL("normalise", normalise),
    REAL("init-std", init_std),
    ENUM("head", head),
    INT("classes", classes),
    INT("begin", begin),
    INT("end", end),
    INT("pad", pad),
    {NULL, MODEL_KEY_INT, 0, 0},
};

static double member(const hpc_model_config *c, const model_key *k)
{
    const void *at = (const char *)c + k->offset;
    switch (k->kind) {
    case MODEL_KEY_INT: return (double)*(const int64_t *)at;
    case MODEL_KEY_REAL: return *(const double *)at;
    case MODEL_KEY_BOOL: return *(const bool *)at;
    default: return *(const int *)at;
    }
}

/* Sets members without effect to 0, and members with 0 for a default to that default. */
static hpc_model_config plain(const hpc_model_config *c)
{
    hpc_model_config out = *c;
    hpc_rope_config *r = &out.rope;
    out.head_dim = hpc_model_config_head_dim(c);
    if (c->position != HPC_ROTARY) *r = (hpc_rope_config){0};
    if (r->scaling == HPC_ROPE_PLAIN) r->factor = 0;
    if (r->scaling != HPC_ROPE_LLAMA3 && r->scaling != HPC_ROPE_YARN)
        r->low = r->high = 0, r->original = 0;
    if (r->scaling != HPC_ROPE_YARN) r->attention = 0;
    if (c->experts == 0) out.top_k = out.expert_ffn = out.shared_ffn = out.expert_every = 0;
    if (c->experts == 0) out.normalise = false;
    if (c->experts > 0 && c->expert_ffn == 0) out.expert_ffn = c->ffn;
    if (c->experts > 0 && c->expert_every == 0) out.expert_every = 1;
    if (c->head == HPC_HEAD_TOKENS) out.classes = 0;
    if (c->window == 0 || c->window_period > c->layers) out.window_period = 0;
    if (c->rope_period > c->layers) out.rope_period = 0;
    if (c->window == 0) r->local_theta = 0;
    /* config.json stores 1 / x of some: compare them as f32. */
    out.attention_scale =
        (float)(c->attention_scale > 0 ? c->attention_scale : 1 / sqrt((double)out.head_dim));
    double *scale[] = {&out.embed_scale, &out.residual_scale, &out.logit_scale};
    for (size_t k = 0; k < sizeof scale / sizeof *scale; k++)
        *scale[k] = *scale[k] == 0 ? 1 : (float)*scale[k];
    if (c->begin < 0) out.begin = -1;
    if (c->end < 0) out.end = -1;
    if (c->pad < 0) out.pad = -1;
    return out;
}

const char *model_config_difference(double *in_a, double *in_b, const hpc_model_config *a,
                                    const hpc_model_config *b)
{
    hpc_model_config pa = plain(a), pb = plain(b);
    for (const model_key *k = members; k->name; k++) {
        *in_a = member(&pa, k);
        *in_b = member(&pb, k);
        if (*in_a != *in_b) return k->name;
    }
    return NULL;
}

static int check_read_back(const hpc_buf *text, const hpc_model_config *c)
{
    hpc_json *root = NULL;
    hpc_model_config back;
    double wrote, read;
    int rc = HPC_OK;
    TRY(hpc_json_parse(&root, text->data, text->n, "config.json"));
    TRY(hpc_model_config_load(&back, root));
    const char *key = model_config_difference(&wrote, &read, c, &back);
    if (key)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "%s=%.9g: a %s directory cannot express this value, readers would use %.9g",
                     key, wrote, c->family, read));
out:
    hpc_json_free(root);
    return rc;
}

int hpc_model_config_write(hpc_buf *out, const hpc_model_config *c)
{
    const model_family *f = model_family_find(c->family);
    hpc_buf text = {0};
    hpc_json_out w = {.buf = &text, .indent = 2};
    int rc = HPC_OK;
    if (!f) TRY(hpc_fail(HPC_E_ARG, "unknown family=%s", c->family));
    TRY(hpc_model_config_check(c));
    put_all(&w, f, c);
    TRY(hpc_buf_text(&text, "\n"));
    TRY(check_read_back(&text, c));
    TRY(hpc_buf_add(out, text.data, text.n));
out:
    hpc_buf_release(&text);
    return rc;
}
