/*
 * config_read.c: reads a Hugging Face config.json into a configuration.
 *
 * Absent keys have the defaults of transformers. An unsupported value is an error that names its
 * key. Keys that do not change results are ignored.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/priv.h"

static bool given(const hpc_json *v)
{
    return hpc_json_kind_of(v) != HPC_JSON_NULL;
}

/* ---- the architecture ------------------------------------------------------------------------ */

static const char *skip(const char *text, const char *head)
{
    size_t n = strlen(head);
    return strncmp(text, head, n) == 0 ? text + n : NULL;
}

/* Head kind from an architecture's name; -1: it does not belong to this family. */
static int head_of(const model_family *f, const char *architecture)
{
    const char *tail = skip(architecture, f->architecture);
    if (!tail) return -1;
    if (strcmp(tail, f->causal) == 0 || strcmp(tail, "Model") == 0) return HPC_HEAD_TOKENS;
    return strcmp(tail, "ForSequenceClassification") == 0 ? HPC_HEAD_CLASSES : -1;
}

static void unknown(const char *key, const char *name)
{
    char known[256] = "";
    for (const model_family *const *f = model_families; *f; f++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", known[0] ? ", " : "",
                 (*f)->name);
    hpc_fail(HPC_E_UNSUPPORTED, "%s: unknown family %.80s; expected one of %s", key, name, known);
}

/* Finds the family by the first of `architectures`, or by model_type if that is absent. */
static int read_family(const model_family **f, hpc_model_config *c, const hpc_json *o)
{
    const hpc_json *first = hpc_json_at(hpc_json_get(o, "architectures"), 0);
    const char *key = given(first) ? "architectures" : "model_type", *name;
    int rc = HPC_OK;
    TRY(hpc_json_text(&name, given(first) ? first : hpc_json_get(o, "model_type"), key));
    *f = given(first) ? NULL : model_family_find(name);
    for (const model_family *const *k = model_families; *k && given(first); k++)
        if (head_of(*k, name) >= 0) *f = *k;
    if (!*f) {
        unknown(key, name);
        return HPC_E_UNSUPPORTED;
    }
    *c = (*f)->preset;
    snprintf(c->family, sizeof c->family, "%s", (*f)->name);
    c->head = given(first) ? head_of(*f, name) : HPC_HEAD_TOKENS;
    c->rope.share = c->rope.factor = 1;
out:
    return rc;
}

/* A list of the layers that rotate q and k. Is it a key of this family? */
#define ROPE_LIST "no_rope_layers"
static bool rope_list(const model_family *f, const char *name)
{
    bool periodic = false;
    for (const model_key *k = f->key; k->name; k++)
        periodic |=
            k->offset == offsetof(hpc_model_config, rope_period) && k->kind < MODEL_KEY_ALIAS;
    return periodic && strcmp(name, ROPE_LIST) == 0;
}

/* ---- what we cannot do ---------------------------------------------------------------------- */

static bool says(const hpc_json *v, bool neutral)
{
    bool yes = neutral;
    if (!given(v)) return false;
    return hpc_json_kind_of(v) != HPC_JSON_BOOL || hpc_json_bool(&yes, v, "") < 0 || yes != neutral;
}

static bool word_is(const hpc_json *o, const char *key, const char *wanted, bool absent)
{
    const hpc_json *v = hpc_json_get(o, key);
    const char *word;
    if (!given(v)) return absent;
    return hpc_json_kind_of(v) == HPC_JSON_TEXT && hpc_json_text(&word, v, key) >= 0 &&
           strcmp(word, wanted) == 0;
}

/* f8_e4m3 with scales of blocks, as DeepSeek and Qwen publish it; activations keep their type. */
static int check_quantization(const hpc_json *q)
{
    if (!given(q) || (word_is(q, "quant_method", "fp8", false) && word_is(q, "fmt", "e4m3", true) &&
                      hpc_json_kind_of(hpc_json_get(q, "weight_block_size")) == HPC_JSON_LIST))
        return HPC_OK;
    return hpc_fail(HPC_E_UNSUPPORTED,
                    "quantization_config: models with it are not supported; only quant_method fp8 "
                    "with fmt e4m3 and weight_block_size is read, and GGUF files are");
}

static bool has_key(const model_family *f, const char *name)
{
    for (const model_key *k = f->key; k->name; k++)
        if (strcmp(k->name, name) == 0) return true;
    return false;
}

/* Rejects keys that would change the result, unless the family has them, or they are absent, null
 * or neutral. */
static int check_keys(const model_family *f, const hpc_json *o)
{
    static const struct {
        const char *key;
        bool neutral;
    } refused[] = {{"num_local_experts", false},
                   {"num_experts", false},
                   {"n_routed_experts", false},
                   {"attn_logit_softcapping", false},
                   {"final_logit_softcapping", false},
                   {"query_pre_attn_scalar", false},
                   {"attention_multiplier", false},
                   {"embedding_multiplier", false},
                   {"residual_multiplier", false},
                   {"logits_scaling", false},
                   {"clip_qkv", false},
                   {"use_qk_norm", false},
                   {"no_rope_layers", false},
                   {"use_bidirectional_attention", false},
                   {"add_cross_attention", false},
                   {"is_encoder_decoder", false},
                   {"scale_attn_by_inverse_layer_idx", false},
                   {"scale_attn_weights", true}};
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
        if (!has_key(f, refused[k].key) && !rope_list(f, refused[k].key) &&
            says(hpc_json_get(o, refused[k].key), refused[k].neutral))
            return hpc_fail(HPC_E_UNSUPPORTED, "%s: models with it are not supported",
                            refused[k].key);
    return check_quantization(hpc_json_get(o, "quantization_config"));
}

/* ---- keys ----------------------------------------------------------------------------------- */

static int read_act(int *out, const hpc_json *v, const char *key)
{
    const char *name;
    int rc = hpc_json_text(&name, v, key);
    if (rc < 0 || model_act_find(out, name)) return rc;
    return hpc_fail(HPC_E_UNSUPPORTED, "%s: unknown activation %.40s", key, name);
}

/* Reads x, of which the member is a function. */
static int read_function(double *out, const model_key *k, const hpc_json *v)
{
    double x = k->fallback;
    int rc = given(v) ? hpc_json_real(&x, v, k->name) : HPC_OK;
    if (rc < 0) return rc;
    if (!(x > 0 && isfinite(x))) return hpc_fail(HPC_E_FORMAT, "%s: %g is not above 0", k->name, x);
    *out = k->kind == MODEL_KEY_ROOT ? 1 / sqrt(x) : 1 / x;
    return HPC_OK;
}

static int read_key(hpc_model_config *c, const model_key *k, const hpc_json *o)
{
    const hpc_json *v = hpc_json_get(o, k->name);
    void *at = (char *)c + k->offset;
    bool absent = k->kind == MODEL_KEY_INT ? !v : !given(v);
    if (absent && k->fallback == MODEL_REQUIRED)
        return hpc_fail(HPC_E_FORMAT, "%s: the key is missing", k->name);
    switch (k->kind) {
    case MODEL_KEY_INT:
        *(int64_t *)at = absent ? (int64_t)k->fallback : 0;
        return given(v) ? hpc_json_int(at, v, k->name) : HPC_OK;
    case MODEL_KEY_REAL:
        *(double *)at = k->fallback;
        return absent ? HPC_OK : hpc_json_real(at, v, k->name);
    case MODEL_KEY_CAP:
        *(double *)at = v ? 0 : k->fallback;
        return given(v) ? hpc_json_real(at, v, k->name) : HPC_OK;
    case MODEL_KEY_INVERSE:
    case MODEL_KEY_ROOT: return read_function(at, k, v);
    case MODEL_KEY_BOOL:
        *(bool *)at = k->fallback != 0;
        return absent ? HPC_OK : hpc_json_bool(at, v, k->name);
    case MODEL_KEY_ACT:
        *(int *)at = (int)k->fallback;
        return absent ? HPC_OK : read_act(at, v, k->name);
    case MODEL_KEY_OTHER: return given(v) ? hpc_json_int(at, v, k->name) : HPC_OK;
    case MODEL_KEY_EMPTY:
        if (!given(v) || (hpc_json_kind_of(v) == HPC_JSON_LIST && hpc_json_n(v) == 0)) break;
        return hpc_fail(HPC_E_UNSUPPORTED, "%s: only an empty list is supported", k->name);
    case MODEL_KEY_ALIAS:
    case MODEL_KEY_ZERO: break;
    }
    return HPC_OK;
}

/* Reads a token, or the first of a list; null: none. */
static int read_token(int64_t *out, const hpc_model_config *c, const hpc_json *o, const char *key,
                      int64_t fallback)
{
    const hpc_json *v = hpc_json_get(o, key);
    *out = !v && fallback < c->vocab ? fallback : -1;
    if (hpc_json_kind_of(v) == HPC_JSON_LIST) v = hpc_json_at(v, 0);
    int rc = given(v) ? hpc_json_int(out, v, key) : HPC_OK;
    if (*out >= c->vocab) *out = -1; /* no token of this vocabulary */
    return rc;
}

static int read_dtype(hpc_dtype *out, const hpc_json *o)
{
    static const struct {
        const char *name;
        hpc_dtype dtype;
    } names[] = {
        {"float32", HPC_F32}, {"bfloat16", HPC_BF16}, {"float16", HPC_F16}, {"float64", HPC_F64}};
    const char *key = given(hpc_json_get(o, "dtype")) ? "dtype" : "torch_dtype", *name = "float32";
    const hpc_json *v = hpc_json_get(o, key);
    int rc = given(v) ? hpc_json_text(&name, v, key) : HPC_OK;
    if (rc < 0) return rc;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(names[k].name, name) == 0) {
            *out = names[k].dtype;
            return HPC_OK;
        }
    return hpc_fail(HPC_E_UNSUPPORTED, "%s: unknown value %.40s", key, name);
}

/* ---- rotary positions ----------------------------------------------------------------------- */

static int read_real(double *out, const hpc_json *o, const char *key, double fallback)
{
    const hpc_json *v = hpc_json_get(o, key);
    *out = fallback;
    return given(v) ? hpc_json_real(out, v, key) : HPC_OK;
}

static int read_original(hpc_model_config *c, const hpc_json *o)
{
    static const char key[] = "original_max_position_embeddings";
    const hpc_json *v = hpc_json_get(o, key);
    c->rope.original = c->positions;
    return given(v) ? hpc_json_int(&c->rope.original, v, key) : HPC_OK;
}

static int read_yarn(hpc_model_config *c, const hpc_json *o)
{
    hpc_rope_config *r = &c->rope;
    int rc = HPC_OK;
    r->scaling = HPC_ROPE_YARN;
    if (given(hpc_json_get(o, "mscale")) || given(hpc_json_get(o, "mscale_all_dim")))
        return hpc_fail(HPC_E_UNSUPPORTED, "rope_scaling: mscale is not supported");
    if (says(hpc_json_get(o, "truncate"), true))
        return hpc_fail(HPC_E_UNSUPPORTED, "rope_scaling: truncate=false is not supported");
    TRY(read_real(&r->low, o, "beta_slow", 1));
    TRY(read_real(&r->high, o, "beta_fast", 32));
    TRY(read_real(&r->attention, o, "attention_factor", 0));
    TRY(read_original(c, o));
out:
    return rc;
}

static int read_scaling(hpc_model_config *c, const hpc_json *o)
{
    hpc_rope_config *r = &c->rope;
    const hpc_json *v = hpc_json_get(o, "rope_type"), *inner;
    const char *type = "default";
    int rc = HPC_OK;
    for (int64_t k = 0; hpc_json_key(o, k, &inner); k++)
        if (hpc_json_kind_of(inner) == HPC_JSON_OBJECT)
            TRY(hpc_fail(
                HPC_E_UNSUPPORTED,
                "rope_parameters: separate values for each kind of layer (%.40s) are not supported",
                hpc_json_key(o, k, NULL)));
    if (!given(v)) v = hpc_json_get(o, "type");
    if (given(v) || given(hpc_json_get(o, "factor")))
        TRY(hpc_json_text(&type, v, "rope_scaling: rope_type"));
    if (strcmp(type, "default") == 0) return HPC_OK;
    if (strcmp(type, "linear") != 0 && strcmp(type, "llama3") != 0 && strcmp(type, "yarn") != 0)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "rope_scaling: type %.40s is not supported", type));
    TRY(read_real(&r->factor, o, "factor", NAN));
    if (isnan(r->factor)) TRY(hpc_fail(HPC_E_FORMAT, "rope_scaling: factor is missing"));
    if (strcmp(type, "linear") == 0) {
        r->scaling = HPC_ROPE_LINEAR;
    } else if (strcmp(type, "llama3") == 0) {
        r->scaling = HPC_ROPE_LLAMA3;
        TRY(read_real(&r->low, o, "low_freq_factor", 1));
        TRY(read_real(&r->high, o, "high_freq_factor", 4));
        TRY(read_original(c, o));
    } else {
        TRY(read_yarn(c, o));
    }
out:
    return rc;
}

static const model_key *key_of(const model_family *f, size_t offset)
{
    for (const model_key *k = f->key; k->name; k++)
        if (k->offset == offset && k->kind < MODEL_KEY_ALIAS) return k;
    return NULL;
}

/* Rotated fraction of a head, in either of two places; 1 for most families. */
static int read_share(hpc_model_config *c, const model_family *f, const hpc_json *in)
{
    double share;
    int rc = read_real(&share, in, "partial_rotary_factor", c->rope.share);
    if (rc < 0 || share == c->rope.share) return rc;
    if (!key_of(f, offsetof(hpc_model_config, rope.share)))
        return hpc_fail(HPC_E_UNSUPPORTED, "partial_rotary_factor: %g is not supported in a %s",
                        share, c->family);
    c->rope.share = share;
    return HPC_OK;
}

/* rope_parameters may have an object for each kind of layer: returns that of layers without a
 * window, and reads the base of the others, which may not be scaled. */
static int by_layers(const hpc_json **all, hpc_model_config *c, const model_family *f)
{
    const hpc_json *local = hpc_json_get(*all, "sliding_attention");
    hpc_model_config other = *c;
    int rc = HPC_OK;
    if (!given(local) || !key_of(f, offsetof(hpc_model_config, rope.local_theta))) return HPC_OK;
    TRY(read_real(&c->rope.local_theta, local, "rope_theta", c->rope.local_theta));
    TRY(read_scaling(&other, local));
    if (other.rope.scaling != HPC_ROPE_PLAIN)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "rope_parameters: scaled positions of sliding_attention are not supported"));
    *all = hpc_json_get(*all, "full_attention");
out:
    return rc;
}

/* Newer files have rope_parameters, older ones rope_scaling and separate keys. Readers differ if a
 * file has both. */
static int read_rope(hpc_model_config *c, const model_family *f, const hpc_json *o)
{
    const hpc_json *all = hpc_json_get(o, "rope_parameters"),
                   *old = hpc_json_get(o, "rope_scaling");
    hpc_model_config plain = *c;
    double theta;
    int rc = HPC_OK;
    if (c->position != HPC_ROTARY) return HPC_OK;
    if (given(all) && hpc_json_kind_of(all) != HPC_JSON_OBJECT)
        TRY(hpc_fail(HPC_E_FORMAT, "rope_parameters: expected an object"));
    if (given(old) && hpc_json_kind_of(old) != HPC_JSON_OBJECT)
        TRY(hpc_fail(HPC_E_FORMAT, "rope_scaling: expected an object"));
    TRY(read_share(c, f, o));
    if (given(old)) {
        TRY(read_real(&theta, old, "rope_theta", c->rope.theta));
        if (theta != c->rope.theta || given(hpc_json_get(old, "partial_rotary_factor")))
            TRY(hpc_fail(HPC_E_UNSUPPORTED,
                         "rope_scaling: only scaling keys are supported here; put other values "
                         "into separate keys or into rope_parameters"));
        TRY(read_scaling(given(all) ? &plain : c, old));
    }
    TRY(by_layers(&all, c, f));
    if (!given(all)) goto out;
    if (plain.rope.scaling != HPC_ROPE_PLAIN)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "rope_scaling and rope_parameters exclude each other: remove one"));
    TRY(read_real(&c->rope.theta, all, "rope_theta", c->rope.theta));
    TRY(read_share(c, f, all));
    TRY(read_scaling(c, all));
out:
    return rc;
}

/* ---- the window, and heads ------------------------------------------------------------------ */

/* Layers below max_window_layers have full attention: supported only for all layers or none. */
static int read_window(hpc_model_config *c, const model_family *f, const hpc_json *o)
{
    const hpc_json *use = hpc_json_get(o, "use_sliding_window"),
                   *from = hpc_json_get(o, "max_window_layers");
    int64_t full = 28;
    bool used = false;
    int rc = HPC_OK;
    if (!f->windowed) return HPC_OK;
    if (given(use)) TRY(hpc_json_bool(&used, use, "use_sliding_window"));
    if (given(from)) TRY(hpc_json_int(&full, from, "max_window_layers"));
    if (used && full > 0 && full < c->layers && c->window > 0)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "max_window_layers: a window in some layers only (%lld of %lld) is not "
                     "supported",
                     (long long)(c->layers - full), (long long)c->layers));
    if (!used || full >= c->layers) c->window = 0;
out:
    return rc;
}

/* The period of a list in which the last of every so many layers differs from the others: the
 * number of the first layer for which `is_last` holds, counted from 1; 0: no such layer. */
static int read_period(int64_t *out, const hpc_json *list, const char *key, int64_t layers,
                       int (*is_last)(bool *out, const hpc_json *v, const char *key))
{
    bool last = false;
    int rc = HPC_OK;
    if (hpc_json_n(list) != layers)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: %lld entries for %lld layers", key,
                     (long long)hpc_json_n(list), (long long)layers));
    *out = 0;
    for (int64_t k = 0; k < layers; k++) {
        TRY(is_last(&last, hpc_json_at(list, k), key));
        if (last && *out == 0) *out = k + 1;
        if (last != (*out > 0 && (k + 1) % *out == 0))
            TRY(hpc_fail(HPC_E_UNSUPPORTED,
                         "%s: layer %lld: only lists in which every n-th layer differs are "
                         "supported",
                         key, (long long)k));
    }
out:
    return rc;
}

static int is_full(bool *out, const hpc_json *v, const char *key)
{
    const char *type;
    int rc = hpc_json_text(&type, v, key);
    if (rc < 0) return rc;
    *out = strcmp(type, "full_attention") == 0;
    if (*out || strcmp(type, "sliding_attention") == 0) return HPC_OK;
    return hpc_fail(HPC_E_UNSUPPORTED, "%s: %.40s is not supported", key, type);
}

/* An entry of no_rope_layers, where 1 means that the layer rotates. */
static int is_unrotated(bool *out, const hpc_json *v, const char *key)
{
    int64_t x;
    int rc = hpc_json_int(&x, v, key);
    if (rc >= 0) *out = x == 0;
    return rc;
}

/* Reads layer_types and no_rope_layers. A family whose layers are all alike must have the same type
 * in each, consistent with the window. */
static int read_layers(hpc_model_config *c, const model_family *f, const hpc_json *o)
{
    const hpc_json *types = hpc_json_get(o, "layer_types"), *rope = hpc_json_get(o, ROPE_LIST);
    int64_t period;
    int rc = HPC_OK;
    if (given(rope) && rope_list(f, ROPE_LIST))
        TRY(read_period(&c->rope_period, rope, ROPE_LIST, c->layers, is_unrotated));
    if (c->window == 0) c->window_period = 0;
    if (!given(types)) goto out;
    TRY(read_period(&period, types, "layer_types", c->layers, is_full));
    if (period == 1)
        c->window = c->window_period = 0;
    else if (period > 1 && c->window > 0 && f->layered)
        c->window_period = period;
    else if (period > 1 || c->window == 0)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "layer_types: sliding_attention is not supported in %s",
                     period > 1 ? "some layers only" : "models without a window"));
    else
        c->window_period = 0;
out:
    return rc;
}

/* transformers gives the number of classes as a list of labels; our own key gives it for pairs. */
static int read_head(hpc_model_config *c, const hpc_json *o)
{
    const hpc_json *ours = hpc_json_get(o, "hpccoder"), *labels = hpc_json_get(o, "id2label"),
                   *count = hpc_json_get(o, "num_labels");
    const char *head;
    int rc = HPC_OK;
    if (c->head == HPC_HEAD_CLASSES) {
        c->classes = given(labels) ? hpc_json_n(labels) : 2;
        if (!given(labels) && given(count)) TRY(hpc_json_int(&c->classes, count, "num_labels"));
    }
    if (!given(ours)) return HPC_OK;
    TRY(hpc_json_text(&head, hpc_json_get(ours, "head"), "hpccoder: head"));
    if (strcmp(head, "pairs") != 0)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "hpccoder: unknown head %.40s; the file may come from a newer version", head));
    c->head = HPC_HEAD_PAIRS;
    TRY(hpc_json_int(&c->classes, hpc_json_get(ours, "classes"), "hpccoder: classes"));
out:
    return rc;
}

/* Fails for a headless architecture, unless the embedding is the head. */
static int check_tokens_head(const hpc_model_config *c, const model_family *f, const hpc_json *o)
{
    const hpc_json *first = hpc_json_at(hpc_json_get(o, "architectures"), 0);
    const char *name;
    int rc = HPC_OK;
    if (!given(first) || c->head != HPC_HEAD_TOKENS || c->tied) return HPC_OK;
    TRY(hpc_json_text(&name, first, "architectures"));
    if (strcmp(skip(name, f->architecture), "Model") == 0)
        rc = hpc_fail(
            HPC_E_UNSUPPORTED,
            "architectures: a %s has neither a language-model head nor a classification head",
            name);
out:
    return rc;
}

int hpc_model_config_load(hpc_model_config *out, const hpc_json *object)
{
    const model_family *f = NULL;
    int rc = HPC_OK;
    if (hpc_json_kind_of(object) != HPC_JSON_OBJECT)
        TRY(hpc_fail(HPC_E_FORMAT, "expected an object"));
    TRY(read_family(&f, out, object));
    TRY(check_keys(f, object));
    for (const model_key *k = f->key; k->name; k++) TRY(read_key(out, k, object));
    if (out->kv_heads == 0) out->kv_heads = out->heads;
    bool may_lack = key_of(f, offsetof(hpc_model_config, ffn))->fallback == 0;
    if (out->ffn == 0 && may_lack && out->hidden > 0 && out->hidden < INT64_MAX / 4)
        out->ffn = 4 * out->hidden;
    TRY(read_token(&out->begin, out, object, "bos_token_id", f->preset.begin));
    TRY(read_token(&out->end, out, object, "eos_token_id", f->preset.end));
    TRY(read_token(&out->pad, out, object, "pad_token_id", -1));
    TRY(read_dtype(&out->dtype, object));
    TRY(read_rope(out, f, object));
    TRY(read_window(out, f, object));
    TRY(read_layers(out, f, object));
    if (f->scaled) out->embed_scale = sqrt((double)out->hidden);
    TRY(read_head(out, object));
    TRY(check_tokens_head(out, f, object));
    TRY(hpc_model_config_check(out));
out:
    return rc;
}

/* Returns rc; if `dir` is a run's folder, an error that names its model directory. */
static int or_where_it_is(int rc, const char *dir)
{
    hpc_buf path = {0};
    if (hpc_buf_printf(&path, "%s/model/config.json", dir) >= 0 && hpc_file_exists(path.data)) {
        hpc_error_clear();
        rc = hpc_fail(HPC_E_ARG, "%s is the folder of a run: use its model, %s/model", dir, dir);
    }
    hpc_buf_release(&path);
    return rc;
}

static int read_folder(hpc_model_config *out, const char *dir)
{
    const char *ending = strrchr(dir, '.');
    bool itself = ending && strcmp(ending, ".json") == 0;
    hpc_buf path = {0};
    hpc_json *root = NULL;
    int rc = HPC_OK;
    TRY(hpc_buf_printf(&path, itself ? "%s" : "%s/config.json", dir));
    TRY(hpc_json_read(&root, path.data));
    rc = hpc_model_config_load(out, root);
    if (rc < 0) hpc_error_where("%s", path.data);
out:
    hpc_json_free(root);
    hpc_buf_release(&path);
    return rc < 0 ? or_where_it_is(rc, dir) : rc;
}

int model_file_config(hpc_model_config *out, const model_file *f)
{
    if (f->gguf) return model_gguf_config_read(out, f->gguf);
    if (!f->packed) return read_folder(out, f->path);
    *out = *hpc_packed_config(f->packed);
    return HPC_OK;
}

int hpc_model_config_read(hpc_model_config *out, const char *dir)
{
    model_file f;
    int rc;
    TRY(model_file_open(&f, dir));
    TRY(model_file_config(out, &f));
out:
    model_file_close(&f);
    return rc;
}
