/*
 * peft.c: reads adapters in the format of the peft library.
 *
 * Matrices keep their own ranks and scales in the files. Here they have one rank, with zeros in the
 * remaining rows of A, and one scale, with the rest in B.
 */
#include "model/peft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/peft_priv.h"

struct hpc_peft {
    hpc_safetensors *file;
    hpc_json *config;
    hpc_model_config c;
    const model_family *f;
    double alpha;
    bool root; /* scales are alpha / sqrt(rank) */
    bool replaces;
    char dir[512]; /* for messages */
};

/* ---- names ------------------------------------------------------------------------------------
 */

int model_peft_module(char out[MODEL_PEFT_NAME], const model_family *f, const hpc_model_config *c,
                      const hpc_model_tensor *t)
{
    hpc_model_tensor whole;
    model_stored s;
    int rc = HPC_OK;
    hpc_assert(model_tensor_at(&whole, c, t->part, t->block, 0));
    whole.entry = t->entry;
    TRY(model_stored_of(&s, f, c, &whole));
    if (s.slots > 1 || s.transposed || s.paired)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "%s: a %s stores this matrix fused or transposed, which adapters in the "
                     "format of peft do not support here",
                     s.name, f->name));
    snprintf(out, MODEL_PEFT_NAME, MODEL_PEFT_PREFIX "%.*s",
             (int)(strlen(s.name) - strlen(".weight")), s.name);
out:
    return rc;
}

static const char *const tails[HPC_ADAPTER_KINDS] = {".weight", ".lora_A.weight", ".lora_B.weight",
                                                     ".token_adapter.trainable_tokens_delta"};

const char *model_peft_tail(int adapter)
{
    return tails[adapter];
}

/* The stored tensor of t; false: absent. */
static int find(bool *there, hpc_stored_tensor *out, const hpc_peft *p, const hpc_model_tensor *t)
{
    char module[MODEL_PEFT_NAME], name[MODEL_PEFT_NAME + 48];
    int rc;
    *there = false;
    TRY(model_peft_module(module, p->f, &p->c, t));
    snprintf(name, sizeof name, "%s%s", module, tails[t->adapter]);
    for (int64_t i = 0; i < hpc_safetensors_n(p->file) && !*there; i++)
        *there = strcmp(model_safetensors_name(p->file, i), name) == 0;
    if (*there) TRY(hpc_safetensors_find(out, p->file, name));
out:
    return rc;
}

static int read_all(float *out, const hpc_stored_tensor *x)
{
    const hpc_dtype_info *info = hpc_dtype_get(x->dtype);
    int64_t n = 1;
    for (int d = 0; d < x->rank; d++) n *= x->extent[d];
    void *aligned = hpc_alloc_aligned((size_t)n + 1, info->block_bytes, HPC_ALIGN);
    if (!aligned) return HPC_E_NOMEM;
    memcpy(aligned, x->data, x->bytes);
    hpc_to_f32(out, aligned, x->dtype, n);
    hpc_free(aligned);
    return HPC_OK;
}

/* ---- adapter_config.json ------------------------------------------------------------------------
 */

/* Settings that change the function; all others concern training. */
static int check_settings(const hpc_peft *p)
{
    static const struct {
        const char *key, *value; /* value NULL: must be false or null */
    } rules[] = {{"peft_type", "LORA"}, {"bias", "none"},         {"use_dora", NULL},
                 {"lora_bias", NULL},   {"fan_in_fan_out", NULL}, {"layer_replication", NULL},
                 {"use_qalora", NULL},  {"use_bdlora", NULL},     {"target_parameters", NULL}};
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        const hpc_json *v = hpc_json_get(p->config, rules[k].key);
        hpc_json_kind kind = v ? hpc_json_kind_of(v) : HPC_JSON_NULL;
        const char *text = "";
        bool on = true, fits = kind == HPC_JSON_NULL;
        if (kind == HPC_JSON_TEXT) hpc_json_text(&text, v, rules[k].key);
        if (kind == HPC_JSON_BOOL && hpc_json_bool(&on, v, rules[k].key) >= 0) fits = !on;
        if (rules[k].value) fits = strcmp(text, rules[k].value) == 0;
        if (!fits)
            return hpc_fail(HPC_E_UNSUPPORTED,
                            "%s/adapter_config.json: %s is set to a value that is not supported; "
                            "merge the adapter with peft",
                            p->dir, rules[k].key);
    }
    return HPC_OK;
}

static int read_settings(hpc_peft *p)
{
    const hpc_json *root = hpc_json_get(p->config, "use_rslora");
    int rc;
    TRY(check_settings(p));
    TRY(hpc_json_real(&p->alpha, hpc_json_get(p->config, "lora_alpha"), "lora_alpha"));
    if (root && hpc_json_kind_of(root) == HPC_JSON_BOOL)
        TRY(hpc_json_bool(&p->root, root, "use_rslora"));
out:
    return rc;
}

/* Does a key of a pattern name this module? peft matches the end of the name, after a dot. */
static bool is_named(const char *module, const char *key)
{
    size_t n = strlen(module), k = strlen(key);
    return n > k && module[n - k - 1] == '.' && strcmp(module + n - k, key) == 0;
}

static int alpha_of(double *out, const hpc_peft *p, const char *module)
{
    const hpc_json *patterns = hpc_json_get(p->config, "alpha_pattern"), *v;
    int rc = HPC_OK;
    *out = p->alpha;
    for (int64_t k = 0; k < hpc_json_n(patterns); k++) {
        const char *key = hpc_json_key(patterns, k, &v);
        if (strpbrk(key, "*+?[](){}|^$\\"))
            TRY(hpc_fail(HPC_E_UNSUPPORTED,
                         "%s/adapter_config.json: alpha_pattern '%.100s' is a regular expression; "
                         "merge the adapter with peft",
                         p->dir, key));
        if (!is_named(module, key)) continue;
        TRY(hpc_json_real(out, v, "alpha_pattern"));
        break;
    }
out:
    return rc;
}

/* ---- tensors ------------------------------------------------------------------------------------
 */

typedef int visit_fn(hpc_peft *p, const hpc_model_tensor *t, const hpc_stored_tensor *x,
                     void *user);

static int visit_if_there(hpc_peft *p, const hpc_model_tensor *t, visit_fn *visit, void *user)
{
    hpc_stored_tensor x;
    bool there;
    int rc = find(&there, &x, p, t);
    if (rc == HPC_E_UNSUPPORTED) { /* no such tensor can be in the file */
        hpc_error_clear();
        return HPC_OK;
    }
    return rc >= 0 && there ? visit(p, t, &x, user) : rc;
}

/* Each matrix of t, its adapters and rows that the file holds. */
static int for_each_of(hpc_peft *p, const hpc_model_tensor *t, visit_fn *visit, void *user)
{
    bool matrix = t->role == HPC_ROLE_MATRIX;
    bool table = t->role == HPC_ROLE_EMBEDDING || t->role == HPC_ROLE_HEAD;
    int rc = HPC_OK;
    for (int adapter = 0; adapter < HPC_ADAPTER_KINDS; adapter++) {
        if ((adapter == 3 && !table) || (adapter && adapter < 3 && !matrix)) continue;
        if (adapter == 0 && t->batch > 0) continue; /* single experts are not replaced */
        for (int64_t e = 0; e < model_tensor_entries(t); e++) {
            hpc_model_tensor one = model_tensor_entry(t, e);
            one.adapter = adapter;
            TRY(visit_if_there(p, &one, visit, user));
        }
    }
out:
    return rc;
}

static int for_each(hpc_peft *p, visit_fn *visit, void *user)
{
    hpc_model_tensor t;
    int rc = HPC_OK;
    for (int part = 0; part < HPC_PART_N; part++) {
        bool inside = model_part_in_block(part);
        for (int64_t b = 0; b < (inside ? p->c.layers : 1); b++)
            if (model_tensor_at(&t, &p->c, part, inside ? (int)b : -1, 0))
                TRY(for_each_of(p, &t, visit, user));
    }
out:
    return rc;
}

typedef struct survey {
    int64_t found, rows;
} survey;

static int refuse_shape(const hpc_peft *p, const hpc_stored_tensor *x)
{
    return hpc_fail(HPC_E_FORMAT, "%s: tensor %s does not fit the model", p->dir, x->name);
}

/* Finds rank and targets, and checks shapes. */
static int look_at(hpc_peft *p, const hpc_model_tensor *t, const hpc_stored_tensor *x, void *user)
{
    survey *s = user;
    int64_t out = t->extent[0], in = t->rank == 2 ? t->extent[1] : 1;
    bool fits = x->rank == t->rank && hpc_dtype_get(x->dtype)->real;
    s->found++;
    if (t->adapter == 0) fits = fits && x->extent[0] == out && (t->rank == 1 || x->extent[1] == in);
    if (t->adapter == 1) fits = fits && x->extent[1] == in;
    if (t->adapter == 2) fits = fits && x->extent[0] == out;
    if (t->adapter == 3) fits = fits && x->extent[1] == in;
    if (!fits) return refuse_shape(p, x);
    if (t->adapter == 0) p->replaces = true;
    if (t->adapter == 1 && x->extent[0] > p->c.adapter.rank) p->c.adapter.rank = x->extent[0];
    if (t->adapter == 2) p->c.adapter.targets |= 1u << t->part;
    if (t->adapter == 3 && s->rows > 0 && s->rows != x->extent[0]) return refuse_shape(p, x);
    if (t->adapter == 3) s->rows = x->extent[0];
    return HPC_OK;
}

/* A list of ids, or an object with the list of a module, which must be the same for all. */
static int read_tokens(hpc_peft *p, int64_t rows)
{
    const hpc_json *list = hpc_json_get(p->config, "trainable_token_indices");
    hpc_adapter_config *a = &p->c.adapter;
    int64_t id = 0;
    int rc = HPC_OK;
    if (rows == 0) return HPC_OK;
    if (hpc_json_kind_of(list) == HPC_JSON_OBJECT) hpc_json_key(list, 0, &list);
    if (hpc_json_n(list) != rows || rows > HPC_ADAPTER_TOKENS)
        TRY(hpc_fail(HPC_E_FORMAT,
                     "%s/adapter_config.json: trainable_token_indices has %lld ids, and there are "
                     "rows of %lld; at most %d are supported",
                     p->dir, (long long)hpc_json_n(list), (long long)rows, HPC_ADAPTER_TOKENS));
    for (a->token_n = 0; a->token_n < rows; a->token_n++) {
        TRY(hpc_json_int(&id, hpc_json_at(list, a->token_n), "trainable_token_indices"));
        a->token[a->token_n] = (int32_t)id;
    }
out:
    return rc;
}

static double scale_of(const hpc_peft *p, double alpha, int64_t rank)
{
    return alpha / (p->root ? sqrt((double)rank) : (double)rank);
}

static int survey_all(hpc_peft *p)
{
    survey s = {0};
    int rc;
    p->c.adapter = (hpc_adapter_config){0};
    TRY(for_each(p, look_at, &s));
    if (s.found != hpc_safetensors_n(p->file))
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "%s/adapter_model.safetensors: %lld of %lld tensors do not belong to this %s "
                     "or are not supported; merge the adapter with peft",
                     p->dir, (long long)(hpc_safetensors_n(p->file) - s.found),
                     (long long)hpc_safetensors_n(p->file), p->f->name));
    if (p->c.adapter.rank == 0)
        TRY(hpc_fail(HPC_E_FORMAT, "%s/adapter_model.safetensors: there are no adapters", p->dir));
    p->c.adapter.alpha = scale_of(p, p->alpha, p->c.adapter.rank) * (double)p->c.adapter.rank;
    TRY(read_tokens(p, s.rows));
    TRY(hpc_model_config_check(&p->c));
out:
    return rc;
}

int hpc_peft_open(hpc_peft **out, const char *dir, hpc_model_config *c)
{
    hpc_peft *p = hpc_alloc(1, sizeof *p);
    hpc_buf path = {0};
    int rc = p ? HPC_OK : HPC_E_NOMEM;
    *out = NULL;
    TRY(rc);
    p->c = *c;
    p->f = model_family_find(c->family);
    snprintf(p->dir, sizeof p->dir, "%.500s", dir);
    if (!p->f) TRY(hpc_fail(HPC_E_ARG, "unknown family=%s", c->family));
    TRY(hpc_buf_printf(&path, "%s/adapter_config.json", dir));
    TRY(hpc_json_read(&p->config, path.data));
    path.n = 0;
    TRY(hpc_buf_printf(&path, "%s/adapter_model.safetensors", dir));
    TRY(hpc_safetensors_open(&p->file, path.data));
    TRY(read_settings(p));
    TRY(survey_all(p));
    c->adapter = p->c.adapter;
    *out = p;
    p = NULL;
out:
    hpc_buf_release(&path);
    hpc_peft_close(p);
    return rc;
}

void hpc_peft_close(hpc_peft *p)
{
    if (!p) return;
    hpc_safetensors_close(p->file);
    hpc_json_free(p->config);
    hpc_free(p);
}

bool hpc_peft_replaces_any(const hpc_peft *p)
{
    return p->replaces;
}

bool hpc_peft_replaces(const hpc_peft *p, const hpc_model_tensor *t)
{
    hpc_stored_tensor x;
    bool there = false;
    if (!p->replaces || t->adapter) return false;
    if (find(&there, &x, p, t) < 0) hpc_error_clear();
    return there;
}

/* ---- numbers ------------------------------------------------------------------------------------
 */

/* B [out,r] into [out,R], with the rest of the scale. */
static int spread(float *out, const hpc_peft *p, const hpc_model_tensor *t, const float *b,
                  int64_t rank)
{
    const hpc_adapter_config *a = &p->c.adapter;
    char module[MODEL_PEFT_NAME];
    double alpha;
    int rc;
    TRY(model_peft_module(module, p->f, &p->c, t));
    TRY(alpha_of(&alpha, p, module));
    double by = scale_of(p, alpha, rank) / (a->alpha / (double)a->rank);
    if (fabs(by - 1) < 1e-12) by = 1; /* the same bits */
    for (int64_t r = 0; r < t->extent[0]; r++)
        for (int64_t k = 0; k < rank; k++)
            out[r * a->rank + k] = (float)(by * (double)b[r * rank + k]);
out:
    return rc;
}

/* Rows in the file are whole; here they are changes of the base's. */
static int subtract_base(float *x, const hpc_peft *p, const hpc_weights *base,
                         const hpc_model_tensor *t)
{
    hpc_model_tensor whole;
    float *table = NULL;
    int rc = HPC_OK;
    hpc_assert(model_tensor_at(&whole, &p->c, t->part, t->block, 0));
    table = hpc_alloc((size_t)model_tensor_n(&whole), sizeof *table);
    if (!table) TRY(HPC_E_NOMEM);
    TRY(hpc_weights_read(table, base, &whole));
    for (int64_t r = 0; r < t->extent[0]; r++)
        for (int64_t k = 0; k < t->extent[1]; k++)
            x[r * t->extent[1] + k] -= table[p->c.adapter.token[r] * t->extent[1] + k];
out:
    hpc_free(table);
    return rc;
}

/* One matrix: t itself, or one of a batch. */
static int read_one(float *out, const hpc_peft *p, const hpc_weights *base,
                    const hpc_model_tensor *t)
{
    hpc_stored_tensor x = {0};
    float *stored = NULL;
    bool there;
    int rc;
    TRY(find(&there, &x, p, t));
    memset(out, 0, (size_t)model_tensor_n(t) * sizeof *out);
    if (!there) goto out;                        /* no adapter in this block */
    if (t->adapter != 2) TRY(read_all(out, &x)); /* A: the other rows stay zero */
    if (t->adapter == 3) TRY(subtract_base(out, p, base, t));
    if (t->adapter != 2) goto out;
    stored = hpc_alloc((size_t)(x.extent[0] * x.extent[1]) + 1, sizeof *stored);
    if (!stored) TRY(HPC_E_NOMEM);
    TRY(read_all(stored, &x));
    TRY(spread(out, p, t, stored, x.extent[1]));
out:
    hpc_free(stored);
    return rc;
}

int hpc_peft_read(float *out, const hpc_peft *p, const hpc_weights *base, const hpc_model_tensor *t)
{
    int rc = HPC_OK;
    for (int64_t e = 0; e < model_tensor_entries(t); e++) {
        hpc_model_tensor one = model_tensor_entry(t, e);
        TRY(read_one(out + e * model_tensor_n(&one), p, base, &one));
    }
out:
    return rc;
}
