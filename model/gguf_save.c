/*
 * gguf_save.c: saves a model as one GGUF file: checks, tensor types, keys and data.
 *
 * It reads the header back before writing the file. A value that changes is one that GGUF cannot
 * express, and the error names it.
 */
#include <stdio.h>
#include <string.h>

#include "model/priv.h"

typedef struct saver {
    model_pieces all;
    const model_gguf_arch *a;
    const hpc_model_config *c;
    const hpc_gguf_options *o;
    hpc_stored_tensor *list; /* tensors of `all`, after the divisors if there are any */
    int64_t n, first;        /* first: 1 with divisors */
    float *divisor;
    int64_t fallen[HPC_DTYPE_N]; /* number of tensors that fell back to each type */
    const char *example;         /* name of one of them */
} saver;

/* ---- limits of readers ----------------------------------------------------------------------- */

static int refuse(const saver *v, const char *key, const char *why)
{
    return hpc_fail(HPC_E_UNSUPPORTED, "%s: GGUF's %s %s", key, v->a->name, why);
}

static int check_support(const saver *v)
{
    static const hpc_dtype known[] = {HPC_F32,  HPC_F16,  HPC_BF16, HPC_Q8_0,
                                      HPC_Q6_K, HPC_Q4_0, HPC_Q4_K};
    const hpc_model_config *c = v->c;
    model_bias b = v->a->biases;
    bool is = false, rest = b == MODEL_BIAS_ALL;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) is |= v->o->dtype == known[k];
    if (!is)
        return hpc_fail(HPC_E_ARG,
                        "dtype=%s: GGUF files need f32, f16, bf16, q8_0, q6_K, q4_0 or q4_K",
                        hpc_dtype_get(v->o->dtype)->name);
    if (c->act != v->a->act && (!v->a->act_too || c->act != v->a->act_too))
        return refuse(v, "act", "has another activation");
    if (c->position == HPC_ROTARY && c->rope.scaling == HPC_ROPE_LLAMA3 && !v->a->names.paired)
        return refuse(v, "rope scaling=llama3", "has none of that kind");
    if (v->a->square && c->heads * hpc_model_config_head_dim(c) != c->hidden)
        return refuse(v, "head-dim", "has heads that together are as wide as the model");
    if (v->a->own_head && c->tied) return refuse(v, "tied", "has a head of its own");
    if (v->a->tied && !c->tied) return refuse(v, "tied", "has the embedding as its head");
    if (b != MODEL_BIAS_ANY && c->qkv_bias == (b == MODEL_BIAS_NONE))
        return refuse(v, "qkv-bias", c->qkv_bias ? "has none" : "has biases of q, k and v");
    if (b != MODEL_BIAS_ANY && c->out_bias != rest)
        return refuse(v, "out-bias", rest ? "has them" : "has none");
    if (b != MODEL_BIAS_ANY && c->mlp_bias != rest)
        return refuse(v, "mlp-bias", rest ? "has them" : "has none");
    return HPC_OK;
}

/* ---- types ---------------------------------------------------------------------------------- */

/* Type of a tensor before the check for whole blocks. */
static hpc_dtype wanted(const saver *v, const hpc_model_tensor *t)
{
    if (t->rank == 1 || t->part == HPC_PART_POSITIONS) return HPC_F32;
    return hpc_serve_dtype(t, v->o->dtype);
}

static void choose(saver *v, int64_t i)
{
    const hpc_stored_tensor *l = &v->all.list[i];
    hpc_dtype want = wanted(v, &v->all.piece[i].t[0]), d = want;
    int64_t row = l->extent[l->rank - 1];
    if ((d == HPC_Q4_K || d == HPC_Q6_K) && row % hpc_dtype_get(d)->block != 0) d = HPC_Q8_0;
    if (row % hpc_dtype_get(d)->block != 0) d = HPC_F16;
    if (d != want) {
        v->fallen[d]++;
        v->example = l->name;
    }
    model_pieces_type(&v->all, i, d);
}

/* llama.cpp ignores the window, except where it alternates, so its results are right only up to its
 * length. */
static void tell_of_window(const saver *v)
{
    char line[160];
    if (v->c->window == 0 || v->c->window >= v->c->positions || !v->o->remark) return;
    if (v->a->window_period > 0) return;
    snprintf(line, sizeof line,
             "llama.cpp ignores the attention window: its results differ beyond %lld tokens",
             (long long)v->c->window);
    v->o->remark(line, v->o->user);
}

/* One remark about all fallbacks. */
static void tell(const saver *v)
{
    char line[320];
    int64_t wide = v->fallen[HPC_F16], eight = v->fallen[HPC_Q8_0];
    if (wide + eight == 0 || !v->o->remark) return;
    int n = 0;
    if (eight)
        n = snprintf(line, sizeof line,
                     "tensors in q8_0 instead of %s, because their rows are not multiples of 256: "
                     "%lld",
                     hpc_dtype_get(v->o->dtype)->name, (long long)eight);
    if (wide)
        n += snprintf(
            line + n, sizeof line - (size_t)n,
            "%stensors in f16 instead of %s, because their rows are not multiples of 32: %lld",
            n ? "; " : "", hpc_dtype_get(v->o->dtype)->name, (long long)wide);
    snprintf(line + n, sizeof line - (size_t)n, " (%s, ...)", v->example);
    v->o->remark(line, v->o->user);
}

static int plan(saver *v)
{
    int64_t divisors = 0;
    int rc = HPC_OK;
    v->all = (model_pieces){.c = v->c, .f = &v->a->names, .read = v->o->read, .user = v->o->user};
    TRY(model_pieces_plan(&v->all, HPC_F32));
    for (int64_t i = 0; i < v->all.n; i++) choose(v, i);
    if (v->c->position == HPC_ROTARY && v->c->rope.scaling == HPC_ROPE_LLAMA3)
        divisors = hpc_rope_frequencies_n(v->c);
    v->first = divisors > 0;
    v->n = v->all.n + v->first;
    v->list = hpc_alloc((size_t)v->n, sizeof *v->list);
    v->divisor = hpc_alloc((size_t)divisors + 1, sizeof *v->divisor);
    if (!v->list || !v->divisor) TRY(HPC_E_NOMEM);
    memcpy(v->list + v->first, v->all.list, (size_t)v->all.n * sizeof *v->list);
    if (!divisors) goto out;
    model_gguf_divisors(v->divisor, v->c);
    v->list[0] = (hpc_stored_tensor){.name = MODEL_GGUF_DIVISORS,
                                     .dtype = HPC_F32,
                                     .rank = 1,
                                     .extent = {divisors},
                                     .bytes = (size_t)divisors * sizeof *v->divisor};
out:
    return rc;
}

static int write_tensor(hpc_file_writer *w, int64_t i, void *user)
{
    saver *v = user;
    if (i < v->first) return hpc_file_write(w, v->divisor, v->list[i].bytes);
    return model_pieces_write(w, &v->all, i - v->first);
}

/* ---- keys ----------------------------------------------------------------------------------- */

/* llama.cpp's number for the predominant type. */
static int64_t file_type(hpc_dtype dtype)
{
    switch (dtype) {
    case HPC_F16: return 1;
    case HPC_Q4_0: return 2;
    case HPC_Q8_0: return 7;
    case HPC_Q4_K: return 14;
    case HPC_Q6_K: return 18;
    case HPC_BF16: return 32;
    default: return 0;
    }
}

static int put_keys(model_gguf_list *l, const saver *v)
{
    model_gguf_put_config(l, v->a, v->c);
    bool named = hpc_json_get(v->o->metadata, "general.name") != NULL;
    if (v->o->name && !named) model_gguf_put_text(l, "general.name", v->o->name);
    model_gguf_put_int(l, "general.file_type", file_type(v->o->dtype));
    if (hpc_dtype_get(v->o->dtype)->quantised)
        model_gguf_put_int(l, "general.quantization_version", 2);
    int rc = v->o->metadata ? model_gguf_put_metadata(l, v->o->metadata) : HPC_OK;
    return rc < 0 ? rc : model_gguf_put_tokenizer(l, v->c, v->o);
}

/* Removes differences that are expected: reals are f32 in the file; init_std is not stored; the
 * tokenizer may add ids. */
static void make_alike(hpc_model_config *a, hpc_model_config *b)
{
    hpc_model_config *both[] = {a, b};
    for (int k = 0; k < 2; k++) {
        double *reals[] = {
            &both[k]->norm_eps,         &both[k]->rope.theta,    &both[k]->rope.share,
            &both[k]->rope.factor,      &both[k]->rope.low,      &both[k]->rope.high,
            &both[k]->rope.local_theta, &both[k]->attention_cap, &both[k]->logit_cap};
        for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) *reals[i] = (float)*reals[i];
    }
    b->init_std = a->init_std;
    if (a->begin < 0) b->begin = a->begin;
    if (a->end < 0) b->end = a->end;
    if (a->pad < 0) b->pad = a->pad;
}

static int check_read_back(const char *path, const saver *v, const model_gguf_list *l)
{
    hpc_buf header = {0};
    hpc_gguf *g = NULL;
    hpc_model_config wrote = *v->c, read;
    size_t bytes = 0;
    double is, was;
    int rc = HPC_OK;
    TRY(model_gguf_header(&header, &bytes, path, l->value, l->n, v->list, v->n));
    if (v->first) TRY(hpc_buf_add(&header, v->divisor, v->list[0].bytes)); /* checked */
    TRY(model_gguf_parse(&g, header.data, header.n, bytes, path));
    TRY(model_gguf_config_read(&read, g));
    make_alike(&wrote, &read);
    const char *key = model_config_difference(&was, &is, &wrote, &read);
    if (key)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "%s=%.9g: GGUF's %s cannot express this value, readers would use %.9g", key,
                     was, v->a->name, is));
out:
    hpc_gguf_close(g);
    hpc_buf_release(&header);
    return rc;
}

int hpc_weights_save_gguf(const char *path, const hpc_model_config *c, const hpc_gguf_options *o)
{
    saver v = {.c = c, .o = o, .a = model_gguf_arch_of(c->family)};
    model_gguf_list l = {.arena = hpc_arena_create(0)};
    int rc = HPC_OK;
    if (!l.arena) TRY(HPC_E_NOMEM);
    if (!v.a) TRY(hpc_fail(HPC_E_ARG, "family=%s cannot be written as GGUF", c->family));
    TRY(hpc_model_config_check(c));
    TRY(check_support(&v));
    TRY(plan(&v));
    TRY(put_keys(&l, &v));
    TRY(check_read_back(path, &v, &l));
    tell(&v);
    tell_of_window(&v);
    TRY(hpc_gguf_save(path, l.value, l.n, v.list, v.n, write_tensor, &v));
out:
    model_pieces_release(&v.all);
    hpc_free(v.list);
    hpc_free(v.divisor);
    hpc_free(l.value);
    hpc_arena_free(l.arena);
    return rc;
}
