/*
 * gguf_config.c: converts between a configuration and the keys of a GGUF file.
 *
 * Some members follow from the tensors: vocab is the number of embedding rows; biases and a
 * separate head are present or absent. gguf_save.c reads keys back to find values that GGUF cannot
 * express.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/priv.h"

enum { VERSION = 1 }; /* version of our "hpccoder.*" keys */

/* ---- reading -------------------------------------------------------------------------------- */

typedef struct source {
    const hpc_gguf *g;
    const model_gguf_arch *a;
    char key[128];
} source;

/* A key that begins with a dot is one of the architecture. */
static const char *key_of(source *s, const char *key)
{
    if (key[0] != '.') return key;
    snprintf(s->key, sizeof s->key, "%s%s", s->a->name, key);
    return s->key;
}

static int read_int(int64_t *out, source *s, const char *key, int64_t fallback)
{
    return model_gguf_int(out, s->g, key_of(s, key), fallback);
}

static int read_real(double *out, source *s, const char *key, double fallback)
{
    return model_gguf_real(out, s->g, key_of(s, key), fallback);
}

static int unsupported(const hpc_gguf *g, const char *key, const char *text)
{
    return hpc_fail(HPC_E_UNSUPPORTED, "%s: key %s: %s is not supported", model_gguf_path(g), key,
                    text);
}

static int find_arch(source *s)
{
    char name[64], known[256];
    int64_t version, experts;
    int rc = HPC_OK;
    model_gguf_archs(known, sizeof known);
    TRY(model_gguf_text(name, sizeof name, s->g, "general.architecture"));
    snprintf(s->key, sizeof s->key, "%s.expert_count", name);
    TRY(model_gguf_int(&experts, s->g, s->key, 0));
    s->a = model_gguf_arch_find(name, experts > 0);
    if (!s->a && (model_gguf_arch_find(name, true) || model_gguf_arch_find(name, false)))
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%s: key %s: a %s with %lld experts is not supported",
                     model_gguf_path(s->g), s->key, name, (long long)experts));
    if (!s->a)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%s: general.architecture: unknown value '%s'; expected %s",
                     model_gguf_path(s->g), name, known));
    TRY(model_gguf_int(&version, s->g, "hpccoder.version", VERSION));
    if (version > VERSION)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "%s: hpccoder.version: %lld is newer than %d, the newest supported version",
                     model_gguf_path(s->g), (long long)version, VERSION));
out:
    return rc;
}

/* Rejects keys that would change the result, unless absent or neutral. */
static int check_keys(source *s)
{
    enum { ALWAYS, CAP, FACTOR, EXPERTS };
    static const struct {
        const char *key;
        double usual;
        int unless; /* read in architectures that have it */
    } refused[] = {{".expert_count", 0, EXPERTS},
                   {".expert_weights_scale", 1, ALWAYS},
                   {".expert_gating_func", 1, ALWAYS},
                   {".attn_logit_softcapping", 0, CAP},
                   {".final_logit_softcapping", 0, CAP},
                   {".logit_scale", 0, FACTOR},
                   {".embedding_scale", 0, FACTOR},
                   {".residual_scale", 0, FACTOR},
                   {".attention.scale", 0, FACTOR},
                   {".attention.clamp_kqv", 0, ALWAYS},
                   {".attention.max_alibi_bias", 0, ALWAYS},
                   {".rope.scale_linear", 1, ALWAYS}};
    int rc = HPC_OK;
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        double x;
        char text[32];
        int unless = refused[k].unless;
        if ((unless == CAP && s->a->caps) || (unless == FACTOR && s->a->factors) ||
            (unless == EXPERTS && s->a->experts))
            continue;
        TRY(read_real(&x, s, refused[k].key, refused[k].usual));
        snprintf(text, sizeof text, "%g", x);
        if (x != refused[k].usual && x != 0) TRY(unsupported(s->g, s->key, text));
    }
out:
    return rc;
}

static int read_sizes(hpc_model_config *c, source *s)
{
    int64_t width;
    hpc_stored_tensor embed;
    int rc = HPC_OK;
    TRY(read_int(&c->hidden, s, ".embedding_length", MODEL_REQUIRED));
    TRY(read_int(&c->layers, s, ".block_count", MODEL_REQUIRED));
    TRY(read_int(&c->heads, s, ".attention.head_count", MODEL_REQUIRED));
    TRY(read_int(&c->kv_heads, s, ".attention.head_count_kv", c->heads));
    TRY(read_int(&c->ffn, s, ".feed_forward_length", MODEL_REQUIRED));
    TRY(read_int(&c->positions, s, ".context_length", MODEL_REQUIRED));
    TRY(read_int(&c->window, s, ".attention.sliding_window", 0));
    TRY(read_int(&c->head_dim, s, ".attention.key_length", 0));
    TRY(read_int(&width, s, ".attention.value_length", c->head_dim));
    if (width != c->head_dim) TRY(unsupported(s->g, s->key, "a width different from that of keys"));
    if (c->heads > 0 && c->hidden % c->heads == 0 && c->head_dim == c->hidden / c->heads)
        c->head_dim = 0; /* as usual */
    TRY(read_real(&c->norm_eps, s,
                  c->norm == HPC_RMS ? ".attention.layer_norm_rms_epsilon"
                                     : ".attention.layer_norm_epsilon",
                  MODEL_REQUIRED));
    TRY(hpc_gguf_find(&embed, s->g, s->a->names.part[HPC_PART_EMBED]));
    c->vocab = embed.extent[0];
out:
    return rc;
}

/* Does the file have this part, in the first block or outside the blocks? */
static bool has_part(const source *s, int part)
{
    char name[64];
    const char *of = s->a->names.part[part];
    if (!of) return false;
    snprintf(name, sizeof name, "%s%s", model_part_in_block(part) ? "blk.0." : "", of);
    return model_gguf_has(s->g, name);
}

/* Readers of an architecture normalise weights, or not. */
static int read_experts(hpc_model_config *c, source *s)
{
    bool shared = has_part(s, HPC_PART_SHARED_UP);
    int rc = HPC_OK;
    if (!s->a->experts) return HPC_OK;
    c->normalise = s->a->normalise;
    c->expert_every = 1;
    TRY(read_int(&c->experts, s, ".expert_count", MODEL_REQUIRED));
    TRY(read_int(&c->top_k, s, ".expert_used_count", MODEL_REQUIRED));
    TRY(read_int(&c->expert_ffn, s, ".expert_feed_forward_length", 0));
    if (shared) TRY(read_int(&c->shared_ffn, s, ".expert_shared_feed_forward_length", c->ffn));
out:
    return rc;
}

/* ---- layers that differ, factors and bounds ------------------------------------------------- */

/* A number, or a list in which true means that the layer has the window. */
static int read_window_period(hpc_model_config *c, source *s)
{
    const hpc_gguf_value *v = hpc_gguf_get(s->g, key_of(s, ".attention.sliding_window_pattern"));
    const uint8_t *local = v ? v->data : NULL;
    int64_t period = 0;
    c->window_period = s->a->window_period;
    if (c->window == 0) c->window_period = 0;
    if (!v || c->window == 0) return HPC_OK;
    if (v->kind != HPC_GGUF_LIST)
        return read_int(&c->window_period, s, ".attention.sliding_window_pattern", 0);
    if (v->item != HPC_GGUF_BOOL || v->n < c->layers)
        return unsupported(s->g, s->key, "a list that is not one of booleans for each layer");
    for (int64_t k = 0; k < c->layers; k++) {
        if (!local[k] && period == 0) period = k + 1;
        if (local[k] == (period > 0 && (k + 1) % period == 0))
            return unsupported(s->g, s->key, "a list in which not every n-th layer differs");
    }
    if (period == 1) c->window = 0;
    c->window_period = period == 1 ? 0 : period;
    return HPC_OK;
}

static int read_variants(hpc_model_config *c, source *s)
{
    double logits;
    int rc = HPC_OK;
    TRY(read_window_period(c, s));
    c->rope_period = s->a->rope_period;
    if (model_family_find(s->a->family)->scaled) c->embed_scale = sqrt((double)c->hidden);
    if (s->a->wide_layers > 0)
        c->attention_scale = c->layers == s->a->wide_layers && c->heads > 0
                                 ? 1 / sqrt((double)(c->hidden / c->heads))
                                 : 1 / sqrt((double)hpc_model_config_head_dim(c));
    if (s->a->caps) {
        bool both = s->a->local_theta == 0; /* gemma3 has no bound of scores */
        TRY(read_real(&c->attention_cap, s, ".attn_logit_softcapping", both ? 50 : 0));
        TRY(read_real(&c->logit_cap, s, ".final_logit_softcapping", both ? 30 : 0));
    }
    if (s->a->factors) {
        TRY(read_real(&c->embed_scale, s, ".embedding_scale", 1));
        TRY(read_real(&c->residual_scale, s, ".residual_scale", 1));
        TRY(read_real(&c->attention_scale, s, ".attention.scale", 0));
        TRY(read_real(&logits, s, ".logit_scale", 1));
        c->logit_scale = logits > 0 ? 1 / logits : 1;
    }
out:
    return rc;
}

/* ---- rotary positions ----------------------------------------------------------------------- */

/* Divisors of frequencies: Llama 3's scaling as a tensor. */
void model_gguf_divisors(float *out, const hpc_model_config *c)
{
    int64_t n = hpc_rope_frequencies_n(c);
    for (int64_t i = 0; i < n; i++) {
        double f = pow(c->rope.theta, -(double)i / (double)n);
        out[i] = (float)(f / model_rope_llama3(&c->rope, f));
    }
}

/* Scaling parameters from our keys, else those of Llama 3.1 to 3.3; the tensor must match them. */
static int read_llama3(hpc_model_config *c, source *s, const hpc_stored_tensor *t)
{
    hpc_rope_config *r = &c->rope;
    int64_t n = hpc_rope_frequencies_n(c);
    const float *stored = t->data;
    float *made = NULL;
    bool same = t->dtype == HPC_F32 && t->rank == 1 && t->extent[0] == n && n > 0, plain = same;
    int rc = HPC_OK;
    for (int64_t i = 0; i < n && same; i++) plain = plain && stored[i] == 1;
    if (plain) return HPC_OK;
    r->scaling = HPC_ROPE_LLAMA3;
    TRY(read_real(&r->factor, s, "hpccoder.rope.factor", same ? (double)stored[n - 1] : 1));
    TRY(read_real(&r->low, s, "hpccoder.rope.low", 1));
    TRY(read_real(&r->high, s, "hpccoder.rope.high", 4));
    TRY(read_int(&r->original, s, "hpccoder.rope.original", 8192));
    TRY(hpc_model_config_check(c));
    made = hpc_alloc((size_t)n + 1, sizeof *made);
    if (!made) TRY(HPC_E_NOMEM);
    model_gguf_divisors(made, c);
    for (int64_t i = 0; i < n && same; i++)
        same = fabsf(stored[i] - made[i]) <= 1e-4f * fabsf(made[i]);
    if (!same)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "%s: tensor %s: only the frequencies of Llama 3 are supported",
                     model_gguf_path(s->g), t->name));
out:
    hpc_free(made);
    return rc;
}

static int read_scaling(hpc_model_config *c, source *s)
{
    hpc_rope_config *r = &c->rope;
    char type[32];
    int rc = HPC_OK;
    TRY(model_gguf_text(type, sizeof type, s->g, key_of(s, ".rope.scaling.type")));
    if (strcmp(type, "none") == 0) return HPC_OK;
    if (type[0] == '\0') { /* linear, where there is a factor */
        TRY(read_real(&r->factor, s, ".rope.scaling.factor", 1));
        if (r->factor == 0) r->factor = 1;
        r->scaling = r->factor == 1 ? HPC_ROPE_PLAIN : HPC_ROPE_LINEAR;
        return HPC_OK;
    }
    if (strcmp(type, "linear") != 0 && strcmp(type, "yarn") != 0)
        TRY(unsupported(s->g, s->key, type));
    r->scaling = strcmp(type, "linear") == 0 ? HPC_ROPE_LINEAR : HPC_ROPE_YARN;
    TRY(read_real(&r->factor, s, ".rope.scaling.factor", MODEL_REQUIRED));
    if (r->scaling == HPC_ROPE_LINEAR) return HPC_OK;
    TRY(read_int(&r->original, s, ".rope.scaling.original_context_length", c->positions));
    TRY(read_real(&r->high, s, ".rope.scaling.yarn_beta_fast", 32));
    TRY(read_real(&r->low, s, ".rope.scaling.yarn_beta_slow", 1));
    static const char *const others[] = {
        ".rope.scaling.attn_factor", ".rope.scaling.yarn_attn_factor",
        ".rope.scaling.yarn_ext_factor", ".rope.scaling.yarn_log_multiplier"};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        double x;
        TRY(read_real(&x, s, others[k], 1));
        if (x != 1) TRY(unsupported(s->g, s->key, "a number other than 1"));
    }
out:
    return rc;
}

static int read_rope(hpc_model_config *c, source *s)
{
    int64_t width = hpc_model_config_head_dim(c), turned;
    hpc_stored_tensor t;
    int rc = HPC_OK;
    c->rope = (hpc_rope_config){.share = 1, .factor = 1, .theta = 10000};
    if (c->position != HPC_ROTARY) return HPC_OK;
    TRY(read_real(&c->rope.theta, s, ".rope.freq_base", 10000));
    TRY(read_int(&turned, s, ".rope.dimension_count", width));
    if (width > 0) c->rope.share = (double)turned / (double)width;
    if (c->window > 0)
        TRY(read_real(&c->rope.local_theta, s, ".rope.freq_base_swa", s->a->local_theta));
    if (turned != width && s->a->names.paired)
        TRY(unsupported(s->g, s->key, "partially rotated heads"));
    TRY(read_scaling(c, s));
    if (!model_gguf_has(s->g, MODEL_GGUF_DIVISORS)) return HPC_OK;
    if (c->rope.scaling != HPC_ROPE_PLAIN)
        TRY(unsupported(s->g, s->key, "scaling in addition to " MODEL_GGUF_DIVISORS));
    TRY(hpc_model_config_check(c)); /* so that there is a width, and a base */
    TRY(hpc_gguf_find(&t, s->g, MODEL_GGUF_DIVISORS));
    TRY(read_llama3(c, s, &t));
out:
    return rc;
}

/* ---- the rest ------------------------------------------------------------------------------- */

/* f16 or bf16 if all matrices of the blocks have that type, else f32. */
static int read_dtype(hpc_dtype *out, const hpc_gguf *g)
{
    int64_t seen[HPC_DTYPE_N] = {0}, n = 0;
    hpc_stored_tensor t;
    int rc = HPC_OK;
    for (int64_t i = 0; i < hpc_gguf_n(g); i++) {
        if (strncmp(model_gguf_name(g, i), "blk.", 4) != 0) continue;
        TRY(hpc_gguf_at(&t, g, i));
        if (t.rank != 2) continue;
        seen[t.dtype]++;
        n++;
    }
    *out = n > 0 && seen[HPC_F16] == n    ? HPC_F16
           : n > 0 && seen[HPC_BF16] == n ? HPC_BF16
                                          : HPC_F32;
out:
    return rc;
}

/* Members that follow from the file's tensors. */
static int look_at_tensors(hpc_model_config *c, const source *s)
{
    c->qkv_bias = has_part(s, HPC_PART_Q_BIAS);
    c->out_bias = has_part(s, HPC_PART_O_BIAS);
    c->mlp_bias = has_part(s, HPC_PART_UP_BIAS);
    c->tied = !has_part(s, HPC_PART_HEAD);
    return read_dtype(&c->dtype, s->g);
}

static int read_head(hpc_model_config *c, source *s)
{
    char head[16];
    int rc = HPC_OK;
    TRY(model_gguf_text(head, sizeof head, s->g, "hpccoder.head"));
    if (head[0] == '\0') return HPC_OK;
    if (strcmp(head, "classes") != 0 && strcmp(head, "pairs") != 0)
        TRY(unsupported(s->g, "hpccoder.head", head));
    c->head = strcmp(head, "pairs") == 0 ? HPC_HEAD_PAIRS : HPC_HEAD_CLASSES;
    TRY(read_int(&c->classes, s, "hpccoder.classes", MODEL_REQUIRED));
    TRY(model_gguf_bool(&c->tied, s->g, "hpccoder.tied", false)); /* no head shows it */
out:
    return rc;
}

static int read_rest(hpc_model_config *c, source *s)
{
    char act[32];
    int rc = HPC_OK;
    TRY(model_gguf_bool(&c->parallel, s->g, key_of(s, ".use_parallel_residual"),
                        s->a->own_head)); /* GPT-NeoX models are parallel by default */
    c->act = s->a->act;
    TRY(model_gguf_text(act, sizeof act, s->g, "hpccoder.hidden_act"));
    if (act[0] &&
        (!model_act_find(&c->act, act) || (c->act != s->a->act && c->act != s->a->act_too)))
        TRY(unsupported(s->g, "hpccoder.hidden_act", act));
    TRY(read_int(&c->begin, s, "tokenizer.ggml.bos_token_id", -1));
    TRY(read_int(&c->end, s, "tokenizer.ggml.eos_token_id", -1));
    TRY(read_int(&c->pad, s, "tokenizer.ggml.padding_token_id", -1));
    TRY(read_head(c, s));
out:
    return rc;
}

int model_gguf_config_read(hpc_model_config *out, const hpc_gguf *g)
{
    source s = {.g = g};
    int rc = HPC_OK;
    TRY(find_arch(&s));
    *out = model_family_find(s.a->family)->preset;
    out->init_std = 0.02;
    TRY(check_keys(&s));
    TRY(read_sizes(out, &s));
    TRY(read_experts(out, &s));
    const char *family = out->window > 0 && s.a->windowed ? s.a->windowed : s.a->family;
    snprintf(out->family, sizeof out->family, "%s", family);
    TRY(look_at_tensors(out, &s));
    TRY(read_variants(out, &s));
    TRY(read_rest(out, &s));
    TRY(read_rope(out, &s));
    rc = hpc_model_config_check(out);
    if (rc < 0) hpc_error_where("%s", model_gguf_path(g));
out:
    return rc;
}

/* ---- writing: a list of values -------------------------------------------------------------- */

void model_gguf_put(model_gguf_list *l, const char *key, int kind, const void *data, size_t bytes)
{
    hpc_gguf_value *v;
    if (l->failed < 0) return;
    l->failed = hpc_grow(&l->value, &l->cap, l->n + 1, sizeof *l->value);
    if (l->failed < 0) return;
    v = &l->value[l->n];
    *v = (hpc_gguf_value){.kind = kind, .bytes = bytes};
    void *copy = hpc_arena_alloc(l->arena, bytes + 1, 1);
    v->key = hpc_arena_text(l->arena, "%s%s", key[0] == '.' ? l->arch : "", key);
    l->failed = copy && v->key ? HPC_OK : HPC_E_NOMEM;
    if (l->failed < 0) return;
    if (bytes > 0) memcpy(copy, data, bytes);
    v->data = copy;
    l->n++;
}

void model_gguf_put_list(model_gguf_list *l, const char *key, int item, int64_t n, const void *data,
                         size_t bytes)
{
    model_gguf_put(l, key, HPC_GGUF_LIST, data, bytes);
    if (l->failed < 0) return;
    l->value[l->n - 1].item = item;
    l->value[l->n - 1].n = n;
}

void model_gguf_put_text(model_gguf_list *l, const char *key, const char *text)
{
    model_gguf_put(l, key, HPC_GGUF_TEXT, text, strlen(text));
}

void model_gguf_put_int(model_gguf_list *l, const char *key, int64_t value)
{
    uint32_t x = (uint32_t)value; /* checked sizes, and tokens */
    model_gguf_put(l, key, HPC_GGUF_U32, &x, sizeof x);
}

static void put_real(model_gguf_list *l, const char *key, double value)
{
    float x = (float)value;
    model_gguf_put(l, key, HPC_GGUF_F32, &x, sizeof x);
}

void model_gguf_put_bool(model_gguf_list *l, const char *key, bool value)
{
    uint8_t x = value;
    model_gguf_put(l, key, HPC_GGUF_BOOL, &x, sizeof x);
}

/* ---- writing: a configuration --------------------------------------------------------------- */

static void put_rope(model_gguf_list *l, const hpc_model_config *c)
{
    const hpc_rope_config *r = &c->rope;
    if (c->position != HPC_ROTARY) return;
    model_gguf_put_int(l, ".rope.dimension_count", 2 * hpc_rope_frequencies_n(c));
    put_real(l, ".rope.freq_base", r->theta);
    if (r->scaling == HPC_ROPE_LINEAR || r->scaling == HPC_ROPE_YARN) {
        bool linear = r->scaling == HPC_ROPE_LINEAR;
        model_gguf_put_text(l, ".rope.scaling.type", linear ? "linear" : "yarn");
        put_real(l, ".rope.scaling.factor", r->factor);
    }
    if (r->scaling == HPC_ROPE_YARN) {
        model_gguf_put_int(l, ".rope.scaling.original_context_length", r->original);
        if (r->high != 32) put_real(l, ".rope.scaling.yarn_beta_fast", r->high);
        if (r->low != 1) put_real(l, ".rope.scaling.yarn_beta_slow", r->low);
    }
    if (r->scaling == HPC_ROPE_LLAMA3) {
        put_real(l, "hpccoder.rope.factor", r->factor);
        put_real(l, "hpccoder.rope.low", r->low);
        put_real(l, "hpccoder.rope.high", r->high);
        model_gguf_put_int(l, "hpccoder.rope.original", r->original);
    }
}

static void put_variants(model_gguf_list *l, const model_gguf_arch *a, const hpc_model_config *c)
{
    if (c->window > 0 && c->window_period != a->window_period && a->window_period > 0)
        model_gguf_put_int(l, ".attention.sliding_window_pattern", c->window_period);
    if (c->window > 0 && c->rope.local_theta != a->local_theta)
        put_real(l, ".rope.freq_base_swa", c->rope.local_theta);
    if (a->caps) put_real(l, ".final_logit_softcapping", c->logit_cap);
    if (a->caps && (c->attention_cap > 0 || a->local_theta == 0))
        put_real(l, ".attn_logit_softcapping", c->attention_cap);
    if (!a->factors) return;
    double score = c->attention_scale;
    put_real(l, ".embedding_scale", c->embed_scale > 0 ? c->embed_scale : 1);
    put_real(l, ".residual_scale", c->residual_scale > 0 ? c->residual_scale : 1);
    put_real(l, ".attention.scale",
             score > 0 ? score : 1 / sqrt((double)hpc_model_config_head_dim(c)));
    put_real(l, ".logit_scale", c->logit_scale > 0 ? 1 / c->logit_scale : 1);
}

static void put_experts(model_gguf_list *l, const hpc_model_config *c)
{
    if (c->experts == 0) return;
    model_gguf_put_int(l, ".expert_count", c->experts);
    model_gguf_put_int(l, ".expert_used_count", c->top_k);
    if (c->expert_ffn > 0) model_gguf_put_int(l, ".expert_feed_forward_length", c->expert_ffn);
    if (c->shared_ffn > 0)
        model_gguf_put_int(l, ".expert_shared_feed_forward_length", c->shared_ffn);
}

void model_gguf_put_config(model_gguf_list *l, const model_gguf_arch *a, const hpc_model_config *c)
{
    int64_t width = hpc_model_config_head_dim(c);
    l->arch = a->name;
    model_gguf_put_text(l, "general.architecture", a->name);
    model_gguf_put_text(l, "general.type", "model");
    model_gguf_put_int(l, "hpccoder.version", VERSION);
    model_gguf_put_int(l, ".vocab_size", c->vocab);
    model_gguf_put_int(l, ".context_length", c->positions);
    model_gguf_put_int(l, ".embedding_length", c->hidden);
    model_gguf_put_int(l, ".block_count", c->layers);
    model_gguf_put_int(l, ".feed_forward_length", c->ffn);
    model_gguf_put_int(l, ".attention.head_count", c->heads);
    model_gguf_put_int(l, ".attention.head_count_kv", c->kv_heads);
    model_gguf_put_int(l, ".attention.key_length", width);
    model_gguf_put_int(l, ".attention.value_length", width);
    if (c->window > 0) model_gguf_put_int(l, ".attention.sliding_window", c->window);
    put_experts(l, c);
    put_variants(l, a, c);
    put_real(l,
             c->norm == HPC_RMS ? ".attention.layer_norm_rms_epsilon"
                                : ".attention.layer_norm_epsilon",
             c->norm_eps);
    put_rope(l, c);
    if (a->own_head) model_gguf_put_bool(l, ".use_parallel_residual", c->parallel);
    if (a->act_too) model_gguf_put_text(l, "hpccoder.hidden_act", model_act_name(c->act));
    if (c->head == HPC_HEAD_TOKENS) return;
    model_gguf_put_text(l, "hpccoder.head", c->head == HPC_HEAD_PAIRS ? "pairs" : "classes");
    model_gguf_put_int(l, "hpccoder.classes", c->classes);
    model_gguf_put_bool(l, "hpccoder.tied", c->tied);
}
