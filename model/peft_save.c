/*
 * peft_save.c: writes adapters in the format of the peft library, and the names of trained tokens.
 */
#include <string.h>

#include "model/peft.h"
#include "model/peft_priv.h"

typedef struct saver {
    const hpc_model_config *c;
    const hpc_peft_options *o;
    hpc_model_tensor *tensor; /* of the adapters; each matrix of a batch is one */
    hpc_stored_tensor *list;
    char (*name)[MODEL_PEFT_NAME + 48];
    int64_t n;
    model_batch batch;
} saver;

/* ---- tensors ------------------------------------------------------------------------------------
 */

static int add_tensor(saver *v, const model_family *f, const hpc_model_tensor *t)
{
    char module[MODEL_PEFT_NAME];
    int rc = model_peft_module(module, f, v->c, t);
    if (rc < 0) return rc;
    snprintf(v->name[v->n], sizeof *v->name, "%s%s", module, model_peft_tail(t->adapter));
    v->list[v->n] =
        (hpc_stored_tensor){.name = v->name[v->n],
                            .dtype = v->o->dtype,
                            .rank = 2,
                            .extent = {t->extent[0], t->extent[1]},
                            .bytes = (size_t)model_tensor_n(t) *
                                     hpc_dtype_get(v->o->dtype)->block_bytes};
    v->tensor[v->n++] = *t;
    return HPC_OK;
}

static int plan(saver *v)
{
    const model_family *f = model_family_find(v->c->family);
    hpc_model_tensor *all = NULL;
    int64_t n = 0, most = 0;
    int rc;
    TRY(hpc_model_tensors(&all, &n, v->c));
    for (int64_t k = 0; k < n; k++) most += model_tensor_entries(&all[k]);
    v->tensor = hpc_alloc((size_t)most, sizeof *v->tensor);
    v->list = hpc_alloc((size_t)most, sizeof *v->list);
    v->name = hpc_alloc((size_t)most, sizeof *v->name);
    if (!v->tensor || !v->list || !v->name) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < n; k++)
        for (int64_t e = 0; all[k].adapter && e < model_tensor_entries(&all[k]); e++) {
            hpc_model_tensor one = model_tensor_entry(&all[k], e);
            TRY(add_tensor(v, f, &one));
        }
out:
    hpc_free(all);
    return rc;
}

/* Rows in the file are those of the base with their changes. */
static int add_base(float *x, const saver *v, const hpc_model_tensor *t)
{
    hpc_model_tensor whole;
    float *table = NULL;
    int rc = HPC_OK;
    hpc_assert(model_tensor_at(&whole, v->c, t->part, t->block, 0));
    table = hpc_alloc((size_t)model_tensor_n(&whole), sizeof *table);
    if (!table) TRY(HPC_E_NOMEM);
    TRY(v->o->read(table, &whole, v->o->user));
    for (int64_t r = 0; r < t->extent[0]; r++)
        for (int64_t k = 0; k < t->extent[1]; k++)
            x[r * t->extent[1] + k] += table[v->c->adapter.token[r] * t->extent[1] + k];
out:
    hpc_free(table);
    return rc;
}

static int write_tensor(hpc_file_writer *w, int64_t i, void *user)
{
    saver *v = user;
    const hpc_model_tensor *t = &v->tensor[i];
    int64_t n = model_tensor_n(t);
    float *x = hpc_alloc((size_t)n, sizeof *x);
    void *narrow = hpc_alloc((size_t)n, sizeof *x);
    int rc = x && narrow ? HPC_OK : HPC_E_NOMEM;
    TRY(rc);
    TRY(model_batch_read(x, &v->batch, t, v->o->read, v->o->user));
    if (t->adapter == 3) TRY(add_base(x, v, t));
    hpc_from_f32(narrow, v->o->dtype, x, n);
    TRY(hpc_file_write(w, narrow, v->list[i].bytes));
out:
    hpc_free(x);
    hpc_free(narrow);
    return rc;
}

/* ---- JSON
 * ----------------------------------------------------------------------------------------- */

/* "q_proj" of "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight". */
static void last_name(char out[MODEL_PEFT_NAME], const char *name, const char *tail)
{
    size_t n = strlen(name) - strlen(tail), from = n;
    while (from > 0 && name[from - 1] != '.') from--;
    snprintf(out, MODEL_PEFT_NAME, "%.*s", (int)(n - from), name + from);
}

/* An MLP and the experts of other blocks have matrices of one name. */
static bool is_named_before(const saver *v, int64_t k, const char *name)
{
    char other[MODEL_PEFT_NAME];
    for (int64_t i = 0; i < k; i++) {
        if (v->tensor[i].adapter != 1) continue;
        last_name(other, v->name[i], model_peft_tail(1));
        if (strcmp(other, name) == 0) return true;
    }
    return false;
}

static void put_targets(hpc_json_out *w, const saver *v)
{
    uint32_t done = 0;
    hpc_json_open(w, "target_modules", '[');
    for (int64_t k = 0; k < v->n; k++) {
        char name[MODEL_PEFT_NAME];
        if (v->tensor[k].adapter != 1 || done >> v->tensor[k].part & 1) continue;
        done |= 1u << v->tensor[k].part;
        last_name(name, v->name[k], model_peft_tail(1));
        if (!is_named_before(v, k, name)) hpc_json_put_text(w, NULL, name);
    }
    hpc_json_close(w, ']');
}

static void put_tokens(hpc_json_out *w, const saver *v)
{
    const hpc_adapter_config *a = &v->c->adapter;
    if (a->token_n == 0) return;
    hpc_json_open(w, "trainable_token_indices", '{');
    for (int64_t k = 0; k < v->n; k++) {
        char name[MODEL_PEFT_NAME];
        if (v->tensor[k].adapter != 3) continue;
        last_name(name, v->name[k], model_peft_tail(3));
        hpc_json_open(w, name, '[');
        for (int64_t i = 0; i < a->token_n; i++) hpc_json_put_int(w, NULL, a->token[i]);
        hpc_json_close(w, ']');
    }
    hpc_json_close(w, '}');
}

static int save_text(const char *dir, const char *name, hpc_buf *text)
{
    hpc_buf path = {0};
    int rc = text->failed;
    TRY(rc);
    TRY(hpc_buf_printf(&path, "%s/%s", dir, name));
    TRY(hpc_file_save(path.data, text->data, text->n));
out:
    hpc_buf_release(&path);
    hpc_buf_release(text);
    return rc;
}

static int save_config(const char *dir, const saver *v)
{
    hpc_buf text = {0};
    hpc_json_out w = {.buf = &text, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "base_model_name_or_path", v->o->base);
    hpc_json_put_text(&w, "bias", "none");
    hpc_json_put_bool(&w, "fan_in_fan_out", false);
    hpc_json_put_bool(&w, "inference_mode", true);
    hpc_json_put_real(&w, "lora_alpha", v->c->adapter.alpha);
    hpc_json_put_real(&w, "lora_dropout", 0);
    hpc_json_put_text(&w, "modules_to_save", NULL);
    hpc_json_put_text(&w, "peft_type", "LORA");
    hpc_json_put_int(&w, "r", v->c->adapter.rank);
    put_targets(&w, v);
    hpc_json_put_text(&w, "task_type", "CAUSAL_LM");
    put_tokens(&w, v);
    hpc_json_put_bool(&w, "use_dora", false);
    hpc_json_put_bool(&w, "use_rslora", false);
    hpc_json_close(&w, '}');
    hpc_buf_text(&text, "\n");
    return save_text(dir, "adapter_config.json", &text);
}

static int save_names(const char *dir, const saver *v)
{
    const hpc_adapter_config *a = &v->c->adapter;
    hpc_buf text = {0}, name = {0};
    hpc_json_out w = {.buf = &text, .indent = 2};
    int rc = HPC_OK;
    hpc_json_open(&w, NULL, '{');
    for (int64_t k = 0; k < a->token_n; k++) {
        size_t n = 0;
        const char *piece = hpc_tokenizer_piece(v->o->tokenizer, a->token[k], &n);
        name.n = 0;
        if (!piece) continue;
        TRY(hpc_buf_printf(&name, "%.*s", (int)n, piece));
        hpc_json_put_int(&w, name.data, a->token[k]);
    }
    hpc_json_close(&w, '}');
    hpc_buf_text(&text, "\n");
    TRY(save_text(dir, "added_tokens.json", &text));
out:
    hpc_buf_release(&name);
    hpc_buf_release(&text);
    return rc;
}

int hpc_peft_save(const char *dir, const hpc_model_config *c, const hpc_peft_options *o)
{
    static const char *const metadata[] = {"format", "pt", NULL};
    saver v = {.c = c, .o = o};
    hpc_buf path = {0};
    int rc = HPC_OK;
    if (c->adapter.rank == 0)
        TRY(hpc_fail(HPC_E_ARG, "the model has no adapters: train them with --lora-rank"));
    TRY(plan(&v));
    TRY(hpc_file_mkdir(dir));
    TRY(hpc_buf_printf(&path, "%s/adapter_model.safetensors", dir));
    TRY(hpc_safetensors_save(path.data, v.list, v.n, metadata, write_tensor, &v));
    if (c->adapter.token_n > 0 && o->tokenizer) TRY(save_names(dir, &v));
    TRY(save_config(dir, &v)); /* last: with it, the directory is whole */
out:
    hpc_buf_release(&path);
    hpc_free(v.batch.data);
    hpc_free(v.tensor);
    hpc_free(v.list);
    hpc_free(v.name);
    return rc;
}

/* ---- names of tokens
 * ------------------------------------------------------------------------------ */

static int add_pair(char ***pairs, int64_t *n, const hpc_tokenizer *t, const char *name, int64_t id)
{
    size_t bytes = 0, room = strlen(name) + 2;
    const char *old =
        id >= 0 && id <= INT32_MAX ? hpc_tokenizer_piece(t, (int32_t)id, &bytes) : NULL;
    int64_t cap = *n;
    if (!old)
        return hpc_fail(HPC_E_FORMAT,
                        "added_tokens.json: '%.100s' has id %lld, which the model's "
                        "tokenizer lacks",
                        name, (long long)id);
    if (bytes == strlen(name) && memcmp(old, name, bytes) == 0) return HPC_OK;
    int rc = hpc_grow(pairs, &cap, *n + 1, sizeof **pairs);
    if (rc < 0) return rc;
    char *pair = (*pairs)[*n] = hpc_alloc(bytes + room, 1);
    if (!pair) return HPC_E_NOMEM;
    snprintf(pair, bytes + room, "%.*s=%s", (int)bytes, old, name);
    (*n)++;
    return HPC_OK;
}

int hpc_peft_names(char ***pairs, int64_t *n, const char *dir, const hpc_tokenizer *t)
{
    hpc_buf path = {0};
    hpc_json *root = NULL;
    const hpc_json *v;
    int64_t id = 0;
    int rc;
    *pairs = NULL;
    *n = 0;
    TRY(hpc_buf_printf(&path, "%s/added_tokens.json", dir));
    if (!hpc_file_exists(path.data)) goto out;
    TRY(hpc_json_read(&root, path.data));
    for (int64_t k = 0; k < hpc_json_n(root); k++) {
        const char *name = hpc_json_key(root, k, &v);
        TRY(hpc_json_int(&id, v, name));
        TRY(add_pair(pairs, n, t, name, id));
    }
out:
    hpc_json_free(root);
    hpc_buf_release(&path);
    return rc;
}
