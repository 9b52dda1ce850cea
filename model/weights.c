/*
 * weights.c: opens the tensors of a model directory or a GGUF file under the family's names.
 * weights_read.c reads their data.
 *
 * Files are mapped. A tensor that the configuration does not use would mean another model, so it
 * is an error. Known buffers and unused heads are the exception.
 */
#include <stdio.h>
#include <string.h>

#include "model/priv.h"

struct hpc_weights {
    hpc_model_config c;
    const model_family *f;
    hpc_gguf *own;         /* opened for it alone */
    hpc_gguf *own_delta;   /* likewise */
    const hpc_gguf *gguf;  /* or NULL: a directory, of */
    const hpc_gguf *delta; /* differences from gguf, or NULL */
    hpc_safetensors **file;
    int64_t file_n, file_cap;
    hpc_map *where; /* stored name to file */
    hpc_map *known; /* stored names that belong to c */
    char dir[512];  /* for messages */
};

/* ---- files ---------------------------------------------------------------------------------- */

static int open_file(hpc_weights *w, const char *dir, const char *name)
{
    hpc_buf path = {0};
    int rc = HPC_OK;
    TRY(hpc_grow(&w->file, &w->file_cap, w->file_n + 1, sizeof *w->file));
    TRY(hpc_buf_printf(&path, "%s/%s", dir, name));
    TRY(hpc_safetensors_open(&w->file[w->file_n], path.data));
    const hpc_safetensors *s = w->file[w->file_n++];
    for (int64_t i = 0; i < hpc_safetensors_n(s); i++) {
        const char *stored = model_safetensors_name(s, i);
        if (hpc_map_get(w->where, stored, strlen(stored), NULL))
            TRY(hpc_fail(HPC_E_FORMAT, "%s: tensor %.200s is also in another file of the directory",
                         path.data, stored));
        TRY(hpc_map_put(w->where, stored, strlen(stored), (uint64_t)w->file_n - 1));
    }
out:
    hpc_buf_release(&path);
    return rc;
}

/* The files that an index names; each entry must be true. */
static int open_parts(hpc_weights *w, const char *dir, const char *path)
{
    hpc_json *root = NULL;
    hpc_map *opened = hpc_map_create();
    const char *file, *tensor;
    uint64_t at = 0, real = 0;
    int rc = opened ? hpc_json_read(&root, path) : HPC_E_NOMEM;
    if (rc < 0) goto out;
    const hpc_json *map = hpc_json_get(root, "weight_map"), *v;
    for (int64_t k = 0; k < hpc_json_n(map); k++) {
        tensor = hpc_json_key(map, k, &v);
        TRY(tensor ? hpc_json_text(&file, v, tensor)
                   : hpc_fail(HPC_E_FORMAT, "%s: weight_map is not an object", path));
        if (strchr(file, '/')) /* only files inside the directory */
            TRY(hpc_fail(HPC_E_FORMAT, "%s: '%.200s' is not a file of this directory", path, file));
        if (!hpc_map_get(opened, file, strlen(file), &at)) {
            at = (uint64_t)w->file_n;
            TRY(open_file(w, dir, file));
            TRY(hpc_map_put(opened, file, strlen(file), at));
        }
        if (!hpc_map_get(w->where, tensor, strlen(tensor), &real) || real != at)
            TRY(hpc_fail(HPC_E_FORMAT, "%s: tensor %.150s is not in %.150s", path, tensor, file));
    }
    if (w->file_n == 0) TRY(hpc_fail(HPC_E_FORMAT, "%s: weight_map names no file", path));
out:
    hpc_map_free(opened);
    hpc_json_free(root);
    return rc;
}

/* Finds a directory's weights: the first existing file in transformers' search order. */
static int find_weights(const char **name, hpc_buf *path, const char *dir)
{
    static const char *const names[] = {"model.safetensors", "model.safetensors.index.json",
                                        "pytorch_model.bin", "pytorch_model.bin.index.json"};
    int rc = HPC_OK;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        path->n = 0;
        TRY(hpc_buf_printf(path, "%s/%s", dir, names[k]));
        *name = names[k];
        if (hpc_file_exists(path->data)) return HPC_OK;
    }
    rc = hpc_fail(HPC_E_FORMAT, "%s has no model.safetensors", dir);
out:
    return rc;
}

static int take_gguf(hpc_weights *w)
{
    const model_gguf_arch *a = model_gguf_arch_of(w->c.family);
    char arch[64];
    int rc = HPC_OK;
    TRY(model_gguf_text(arch, sizeof arch, w->gguf, "general.architecture"));
    if (!a || strcmp(a->name, arch) != 0)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: general.architecture is '%s', a %s has %s", w->dir, arch,
                     w->c.family, a ? a->name : "unknown"));
    w->f = &a->names;
    for (int64_t i = 0; i < hpc_gguf_n(w->gguf); i++) {
        const char *stored = model_gguf_name(w->gguf, i);
        TRY(hpc_map_put(w->where, stored, strlen(stored), 0));
    }
out:
    return rc;
}

static int open_files(hpc_weights *w, const model_file *f)
{
    const char *dir = f->path, *name;
    hpc_buf path = {0};
    int rc = HPC_OK;
    w->gguf = f->gguf;
    w->delta = f->delta;
    if (w->gguf) return take_gguf(w);
    if (f->packed)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "%s: a packed model can only be run; use the model that it was made from",
                        dir);
    TRY(find_weights(&name, &path, dir));
    if (strcmp(name, "model.safetensors.index.json") == 0)
        TRY(open_parts(w, dir, path.data));
    else if (strcmp(name, "model.safetensors") == 0)
        TRY(open_file(w, dir, name));
    else
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "%s has only pickled weights, which can run code; convert it to safetensors "
                     "with save_pretrained of transformers",
                     dir));
out:
    hpc_buf_release(&path);
    return rc;
}

/* ---- tensors -------------------------------------------------------------------------------- */

/* The stored tensor, under its name or without the family's prefix. */
static int find(hpc_stored_tensor *out, const hpc_weights *w, const model_stored *s)
{
    uint64_t file = 0;
    for (int k = 0; k < 2; k++) {
        const char *name = s->name + (k ? s->prefix_n : 0);
        if (!hpc_map_get(w->where, name, strlen(name), &file)) continue;
        return w->gguf ? hpc_gguf_find(out, w->gguf, name)
                       : hpc_safetensors_find(out, w->file[file], name);
    }
    return hpc_fail(HPC_E_FORMAT, "%s: tensor %s is missing", w->dir, s->name);
}

/* The scales of a matrix in f8_e4m3, one for each block, in the tensor NAME_scale_inv. */
static int find_scale(hpc_stored_tensor *out, const hpc_weights *w, const hpc_stored_tensor *t)
{
    char name[192];
    uint64_t file = 0;
    int rc = HPC_OK;
    *out = (hpc_stored_tensor){0};
    if (t->dtype != HPC_F8_E4M3) return HPC_OK;
    snprintf(name, sizeof name, "%.150s_scale_inv", t->name);
    if (!hpc_map_get(w->where, name, strlen(name), &file))
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "%s: tensor %s is in F8_E4M3, and its scales %s are missing; convert the "
                     "model to bf16",
                     w->dir, t->name, name));
    TRY(hpc_safetensors_find(out, w->file[file], name));
    const hpc_dtype_info *info = hpc_dtype_get(out->dtype);
    if (out->rank != 2 || !info->real || info->block_bytes < 2)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: tensor %s: expected a matrix of f32, f16 or bf16", w->dir,
                     name));
out:
    return rc;
}

/* The extent of a block of which n give `blocks`: a power of two; 0: no such block. */
static int64_t scale_block(int64_t n, int64_t blocks)
{
    for (int64_t b = 1; b <= 1 << 20; b *= 2)
        if ((n + b - 1) / b == blocks) return b;
    return 0;
}

static int check_scale(hpc_weights *w, const model_stored *s, const hpc_stored_tensor *t)
{
    hpc_stored_tensor scale;
    int rc = HPC_OK;
    TRY(find_scale(&scale, w, t));
    if (!scale.data) return HPC_OK;
    if (s->transposed)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "%s: tensor %s: F8_E4M3 is not supported in a %s, which stores matrices "
                     "transposed; convert the model to bf16",
                     w->dir, t->name, w->c.family));
    if (!scale_block(t->extent[0], scale.extent[0]) || !scale_block(t->extent[1], scale.extent[1]))
        TRY(hpc_fail(HPC_E_FORMAT, "%s: tensor %s is [%lld,%lld], which does not fit [%lld,%lld]",
                     w->dir, scale.name, (long long)scale.extent[0], (long long)scale.extent[1],
                     (long long)t->extent[0], (long long)t->extent[1]));
    TRY(hpc_map_put(w->known, scale.name, strlen(scale.name), 0));
out:
    return rc;
}

static int check_shape(const hpc_weights *w, const model_stored *s, const hpc_stored_tensor *t)
{
    int lead = s->rank - t->rank; /* a matrix of one row may be stored as a vector */
    bool same = lead == 0 || (lead == 1 && s->extent[0] == 1);
    char shape[128] = "";
    for (int k = lead; k < s->rank && same; k++) same = t->extent[k - lead] == s->extent[k];
    if (same && s->rank == 1 && (hpc_dtype_get(t->dtype)->quantised || t->dtype == HPC_F8_E4M3))
        return hpc_fail(HPC_E_UNSUPPORTED, "%s: tensor %s: vectors of %s are not supported", w->dir,
                        t->name, hpc_dtype_get(t->dtype)->name);
    if (same && hpc_dtype_get(t->dtype)->real) return HPC_OK;
    if (same)
        return hpc_fail(HPC_E_FORMAT, "%s: tensor %s has integer elements (%s)", w->dir, t->name,
                        hpc_dtype_get(t->dtype)->name);
    for (int k = 0; k < t->rank; k++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%lld", k ? "," : "",
                 (long long)t->extent[k]);
    if (s->rank == 3)
        return hpc_fail(HPC_E_FORMAT,
                        "%s: tensor %s is [%s], the configuration needs %lld experts "
                        "of [%lld,%lld]",
                        w->dir, t->name, shape, (long long)s->extent[0], (long long)s->extent[1],
                        (long long)s->extent[2]);
    return hpc_fail(HPC_E_FORMAT,
                    s->rank == 2 ? "%s: tensor %s is [%s], the configuration needs [%lld,%lld]"
                                 : "%s: tensor %s is [%s], the configuration needs [%lld]",
                    w->dir, t->name, shape, (long long)s->extent[0], (long long)s->extent[1]);
}

static int check_one(hpc_weights *w, const hpc_model_tensor *t)
{
    model_stored s;
    hpc_stored_tensor stored;
    int rc = HPC_OK;
    if (t->adapter) return HPC_OK;
    TRY(model_stored_of(&s, w->f, &w->c, t));
    if (t->part == HPC_PART_CLASSES && !hpc_weights_has(w, t)) return HPC_OK;
    TRY(find(&stored, w, &s));
    TRY(check_shape(w, &s, &stored));
    TRY(check_scale(w, &s, &stored));
    TRY(hpc_map_put(w->known, stored.name, strlen(stored.name), 0));
    const uint8_t *delta;
    if (w->delta) TRY(model_delta_find(&delta, w->delta, t));
out:
    return rc;
}

/* A batch is stored as one tensor, or as a tensor for each matrix. */
static int check_tensor(hpc_weights *w, const hpc_model_tensor *t)
{
    int rc = HPC_OK;
    for (int64_t e = 0; e < model_tensor_entries(t); e++) {
        hpc_model_tensor one = model_tensor_entry(t, e);
        TRY(check_one(w, &one));
    }
out:
    return rc;
}

/* A head that this configuration does not use: the token head with a class head or a tied
 * embedding, or the reverse. */
static bool is_unused_head(const hpc_weights *w, const char *name)
{
    return strcmp(name, w->f->part[HPC_PART_HEAD]) == 0 ||
           strcmp(name, w->f->part[HPC_PART_CLASSES]) == 0;
}

/* A stored token head must equal the embedding if the two are tied. */
static int check_tied(const hpc_weights *w, const char *name)
{
    hpc_model_tensor embed = {
        .part = HPC_PART_EMBED, .block = -1, .rank = 2, .extent = {w->c.vocab, w->c.hidden}};
    model_stored s;
    hpc_stored_tensor a, b;
    uint64_t file = 0;
    int rc;
    if (!w->c.tied || w->c.head != HPC_HEAD_TOKENS || w->gguf) return HPC_OK;
    if (strcmp(name, w->f->part[HPC_PART_HEAD]) != 0) return HPC_OK;
    TRY(model_stored_of(&s, w->f, &w->c, &embed));
    TRY(find(&a, w, &s));
    hpc_map_get(w->where, name, strlen(name), &file);
    TRY(hpc_safetensors_find(&b, w->file[file], name));
    if (a.dtype != b.dtype || a.bytes != b.bytes || memcmp(a.data, b.data, a.bytes) != 0)
        rc = hpc_fail(HPC_E_UNSUPPORTED,
                      "%s: tensor %s differs from the embedding, but tie_word_embeddings is set: "
                      "set it to false, or remove the tensor",
                      w->dir, name);
out:
    return rc;
}

static int check_rest(const hpc_weights *w)
{
    int rc = HPC_OK;
    for (int64_t i = 0; i < hpc_map_n(w->where); i++) {
        size_t n;
        uint64_t file;
        char name[256];
        const void *key = hpc_map_at(w->where, i, &n, &file);
        if (hpc_map_get(w->known, key, n, NULL)) continue;
        snprintf(name, sizeof name, "%.*s", (int)n, (const char *)key);
        TRY(check_tied(w, name));
        if (model_is_buffer(name) || is_unused_head(w, name)) continue;
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "%s: tensor %s does not belong to this %s: %s another model, or one that is "
                     "not supported",
                     w->gguf ? w->dir : model_safetensors_path(w->file[file]), name, w->c.family,
                     w->gguf ? "its keys describe" : "config.json describes"));
    }
out:
    return rc;
}

static int open_all(hpc_weights *w, const model_file *f)
{
    hpc_model_tensor *list = NULL;
    int64_t n = 0;
    int rc = HPC_OK;
    w->where = hpc_map_create();
    w->known = hpc_map_create();
    if (!w->where || !w->known) TRY(HPC_E_NOMEM);
    if (!w->f) TRY(hpc_fail(HPC_E_ARG, "unknown family=%s", w->c.family));
    TRY(open_files(w, f));
    if (w->c.layers > hpc_map_n(w->where))
        TRY(hpc_fail(HPC_E_FORMAT, "%s: %lld layers, and %lld tensors", w->dir,
                     (long long)w->c.layers, (long long)hpc_map_n(w->where)));
    TRY(hpc_model_tensors(&list, &n, &w->c));
    for (int64_t k = 0; k < n; k++) TRY(check_tensor(w, &list[k]));
    TRY(check_rest(w));
out:
    hpc_free(list);
    return rc;
}

int model_file_weights(hpc_weights **out, const model_file *f, const hpc_model_config *c)
{
    hpc_weights *w = hpc_alloc(1, sizeof *w);
    *out = NULL;
    if (!w) return HPC_E_NOMEM;
    w->c = *c;
    w->f = model_family_find(c->family);
    snprintf(w->dir, sizeof w->dir, "%.300s", f->path);
    int rc = open_all(w, f);
    if (rc < 0)
        hpc_weights_close(w);
    else
        *out = w;
    return rc;
}

int hpc_weights_open(hpc_weights **out, const char *dir, const hpc_model_config *c)
{
    model_file f;
    int rc;
    *out = NULL;
    TRY(model_file_open(&f, dir));
    TRY(model_file_weights(out, &f, c));
    (*out)->own = f.gguf;
    (*out)->own_delta = f.delta;
    return rc;
out:
    model_file_close(&f);
    return rc;
}

void hpc_weights_close(hpc_weights *w)
{
    if (!w) return;
    for (int64_t k = 0; k < w->file_n; k++) hpc_safetensors_close(w->file[k]);
    hpc_gguf_close(w->own);
    hpc_gguf_close(w->own_delta);
    hpc_map_free(w->where);
    hpc_map_free(w->known);
    hpc_free(w->file);
    hpc_free(w);
}

bool hpc_weights_has(const hpc_weights *w, const hpc_model_tensor *t)
{
    const char *name = w->f->part[t->part];
    if (t->adapter || !name) return false;
    return t->part != HPC_PART_CLASSES || hpc_map_get(w->where, name, strlen(name), NULL);
}

/* ---- finding a tensor ------------------------------------------------------------------------ */

int model_source_of(model_source *out, const hpc_weights *w, const hpc_model_tensor *t)
{
    uint64_t file = 0;
    int rc = HPC_OK;
    *out = (model_source){0};
    TRY(model_stored_of(&out->s, w->f, &w->c, t));
    TRY(find(&out->t, w, &out->s));
    hpc_map_get(w->where, out->t.name, strlen(out->t.name), &file);
    out->view =
        w->gguf ? model_gguf_view_of(w->gguf, out->t.name) : model_safetensors_view(w->file[file]);
    TRY(find_scale(&out->scale, w, &out->t));
    for (int k = 0; k < 2 && out->scale.data; k++)
        out->scale_block[k] = scale_block(out->t.extent[k], out->scale.extent[k]);
    out->rows = t->extent[0];
    out->cols = t->rank == 2 ? t->extent[1] : 1;
    out->vector = t->rank == 1;
    if (w->delta) TRY(model_delta_find(&out->delta, w->delta, t));
out:
    return rc;
}

int hpc_weights_note(hpc_buf *out, const hpc_weights *w)
{
    hpc_model_tensor *list = NULL;
    model_source s;
    int64_t n = 0, seen[HPC_DTYPE_N] = {0};
    int rc = HPC_OK;
    TRY(hpc_model_tensors(&list, &n, &w->c));
    for (int64_t k = 0; k < n; k++) {
        if (list[k].rank != 2 || list[k].adapter || !hpc_weights_has(w, &list[k])) continue;
        hpc_model_tensor one = model_tensor_entry(&list[k], 0);
        TRY(model_source_of(&s, w, &one));
        seen[s.t.dtype]++;
    }
    for (int d = 0; d < HPC_DTYPE_N; d++) {
        const hpc_dtype_info *info = hpc_dtype_get((hpc_dtype)d);
        if (seen[d] == 0 || info->held == (hpc_dtype)d) continue;
        TRY(hpc_buf_printf(out, "%s%lld matrices of %s are held as %s (nearest values)",
                           out->n ? ", " : "", (long long)seen[d], info->name,
                           hpc_dtype_get(info->held)->name));
    }
out:
    hpc_free(list);
    return rc;
}

int hpc_weights_read(float *out, const hpc_weights *w, const hpc_model_tensor *t)
{
    model_source s;
    int rc = HPC_OK;
    for (int64_t e = 0; e < model_tensor_entries(t); e++) {
        hpc_model_tensor one = model_tensor_entry(t, e);
        TRY(model_source_of(&s, w, &one));
        TRY(model_source_check(&s, 0, s.rows));
        model_source_read(out + e * model_tensor_n(&one), &s, 0, s.rows);
    }
out:
    return rc;
}
