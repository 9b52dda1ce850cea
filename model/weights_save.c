/*
 * weights_save.c: a model directory written for transformers: tensors under the
 * family's names, fused and transposed as it stores them, adapters merged.
 *
 * One stored tensor is in memory at a time. config.json comes last: a directory
 * without it is no model.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/priv.h"

static const size_t PART_BYTES = (size_t)5 << 30;

/* A stored tensor and those of ours that make it up: one, or three that are fused. */
typedef struct piece {
    model_stored s; /* of the first */
    hpc_model_tensor t[3];
    int part; /* file */
} piece;

typedef struct saver {
    const hpc_model_config *c;
    const hpc_weights_save_options *o;
    const model_family *f;
    piece *piece;
    hpc_stored_tensor *list;
    int64_t n, first; /* first: of the file being written */
    int parts;
    hpc_buf path;
} saver;

/* ---- what there is to write
 * ---------------------------------------------------------------------- */

static int add_piece(saver *v, const hpc_model_tensor *t)
{
    model_stored s;
    int rc = model_stored_of(&s, v->f, v->c, t);
    if (rc < 0) return rc;
    for (int64_t k = v->n; k-- > 0 && s.slots > 1;)
        if (strcmp(v->piece[k].s.name, s.name) == 0) {
            v->piece[k].t[s.slot] = *t;
            return HPC_OK;
        }
    v->piece[v->n].s = s;
    v->piece[v->n++].t[s.slot] = *t;
    return HPC_OK;
}

/* Cuts the list into files; one tensor may be larger than a file should be. */
static void divide(saver *v)
{
    size_t most = v->o->part_bytes ? v->o->part_bytes : PART_BYTES, used = 0;
    v->parts = 1;
    for (int64_t k = 0; k < v->n; k++) {
        if (used > 0 && used + v->list[k].bytes > most) {
            v->parts++;
            used = 0;
        }
        used += v->list[k].bytes;
        v->piece[k].part = v->parts - 1;
    }
}

static int plan(saver *v)
{
    hpc_model_tensor *all = NULL;
    int64_t all_n = 0;
    size_t width = hpc_dtype_get(v->o->dtype)->block_bytes;
    int rc = HPC_OK;
    TRY(hpc_model_tensors(&all, &all_n, v->c));
    v->piece = hpc_alloc((size_t)all_n, sizeof *v->piece);
    v->list = hpc_alloc((size_t)all_n, sizeof *v->list);
    if (!v->piece || !v->list) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < all_n; k++)
        if (!all[k].adapter) TRY(add_piece(v, &all[k]));
    for (int64_t k = 0; k < v->n; k++) {
        const model_stored *s = &v->piece[k].s;
        hpc_stored_tensor *l = &v->list[k];
        *l = (hpc_stored_tensor){.name = s->name, .dtype = v->o->dtype, .rank = s->rank};
        l->bytes = width;
        for (int i = 0; i < s->rank; i++) {
            l->extent[i] = s->extent[i];
            l->bytes *= (size_t)s->extent[i];
        }
    }
    divide(v);
out:
    hpc_free(all);
    return rc;
}

/* ---- numbers
 * ---------------------------------------------------------------------------------------- */

/* w += (alpha / rank) B A. */
static int merge(float *w, const saver *v, const hpc_model_tensor *t)
{
    hpc_model_tensor ta, tb;
    if (!model_tensor_at(&ta, v->c, t->part, t->block, 1) ||
        !model_tensor_at(&tb, v->c, t->part, t->block, 2))
        return HPC_OK;
    int64_t rank = ta.extent[0], rows = t->extent[0], cols = t->extent[1];
    float scale = (float)(v->c->adapter.alpha / (double)rank);
    float *a = hpc_alloc((size_t)model_tensor_n(&ta), sizeof *a);
    float *b = hpc_alloc((size_t)model_tensor_n(&tb), sizeof *b);
    int rc = a && b ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0) goto out;
    TRY(v->o->read(a, &ta, v->o->user));
    TRY(v->o->read(b, &tb, v->o->user));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < rank; i++) {
            float by = scale * b[r * rank + i];
            for (int64_t k = 0; k < cols; k++) w[r * cols + k] += by * a[i * cols + k];
        }
out:
    hpc_free(a);
    hpc_free(b);
    return rc;
}

/* Puts one of ours where the stored tensor has it. */
static void put(float *stored, const model_stored *s, int slot, const float *ours, int64_t rows,
                int64_t cols)
{
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = r / s->run * s->run * s->slots + slot * s->run + r % s->run;
        for (int64_t k = 0; k < cols; k++)
            stored[s->transposed ? k * rows * s->slots + at : at * cols + k] = ours[r * cols + k];
    }
}

static int fill(float *stored, const saver *v, const piece *p)
{
    bool as_it_is = p->s.slots == 1 && !p->s.transposed;
    float *ours = as_it_is ? stored : hpc_alloc((size_t)model_tensor_n(&p->t[0]), sizeof *ours);
    int rc = ours ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0) return rc;
    for (int slot = 0; slot < p->s.slots; slot++) {
        const hpc_model_tensor *t = &p->t[slot];
        TRY(v->o->read(ours, t, v->o->user));
        TRY(merge(ours, v, t));
        if (!as_it_is)
            put(stored, &p->s, slot, ours, t->extent[0], t->rank == 2 ? t->extent[1] : 1);
    }
out:
    if (!as_it_is) hpc_free(ours);
    return rc;
}

/* What is finite must not become infinite without a word: the least that is rounded there. */
static int check_range(const float *x, int64_t n, hpc_dtype dtype, const char *name)
{
    float most = dtype == HPC_F16 ? 65520 : dtype == HPC_BF16 ? 0x1.ffp127f : INFINITY;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i]) && fabsf(x[i]) >= most)
            return hpc_fail(HPC_E_ARG, "tensor %s: %g is more than %s can hold", name, (double)x[i],
                            hpc_dtype_get(dtype)->name);
    return HPC_OK;
}

static int write_numbers(hpc_file_writer *w, const float *x, int64_t n, hpc_dtype dtype)
{
    enum { SOME = 1 << 16 };
    size_t width = hpc_dtype_get(dtype)->block_bytes;
    int rc = HPC_OK;
    if (dtype == HPC_F32) return hpc_file_write(w, x, (size_t)n * sizeof *x);
    void *some = hpc_alloc(SOME, width);
    if (!some) return HPC_E_NOMEM;
    for (int64_t i = 0; i < n; i += SOME) {
        int64_t m = n - i < SOME ? n - i : SOME;
        hpc_from_f32(some, dtype, x + i, m);
        TRY(hpc_file_write(w, some, (size_t)m * width));
    }
out:
    hpc_free(some);
    return rc;
}

static int write_piece(hpc_file_writer *w, int64_t i, void *user)
{
    const saver *v = user;
    const hpc_stored_tensor *l = &v->list[v->first + i];
    int64_t n = (int64_t)(l->bytes / hpc_dtype_get(l->dtype)->block_bytes);
    float *stored = hpc_alloc((size_t)n, sizeof *stored);
    int rc = stored ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0) return rc;
    TRY(fill(stored, v, &v->piece[v->first + i]));
    TRY(check_range(stored, n, l->dtype, l->name));
    TRY(write_numbers(w, stored, n, l->dtype));
out:
    hpc_free(stored);
    return rc;
}

/* ---- files
 * --------------------------------------------------------------------------------------------- */

static void part_name(char out[48], const saver *v, int part)
{
    if (v->parts == 1)
        snprintf(out, 48, "model.safetensors");
    else
        snprintf(out, 48, "model-%05d-of-%05d.safetensors", part + 1, v->parts);
}

static int save_part(saver *v, const char *dir, int part)
{
    static const char *const metadata[] = {"format", "pt", NULL}; /* transformers asks for it */
    char name[48];
    int64_t n = 0;
    int rc = HPC_OK;
    for (v->first = 0; v->piece[v->first].part < part;) v->first++;
    while (v->first + n < v->n && v->piece[v->first + n].part == part) n++;
    part_name(name, v, part);
    v->path.n = 0;
    TRY(hpc_buf_printf(&v->path, "%s/%s", dir, name));
    TRY(hpc_safetensors_save(v->path.data, v->list + v->first, n, metadata, write_piece, v));
out:
    return rc;
}

static int save_text(saver *v, const char *dir, const char *name, const hpc_buf *text)
{
    int rc = text->failed;
    v->path.n = 0;
    if (rc >= 0) rc = hpc_buf_printf(&v->path, "%s/%s", dir, name);
    return rc < 0 ? rc : hpc_file_save(v->path.data, text->data, text->n);
}

static int save_index(saver *v, const char *dir)
{
    hpc_buf text = {0};
    hpc_json_out w = {.buf = &text, .indent = 2};
    size_t total = 0;
    char name[48];
    for (int64_t k = 0; k < v->n; k++) total += v->list[k].bytes;
    hpc_json_open(&w, NULL, '{');
    hpc_json_open(&w, "metadata", '{');
    hpc_json_put_int(&w, "total_size", (int64_t)total);
    hpc_json_close(&w, '}');
    hpc_json_open(&w, "weight_map", '{');
    for (int64_t k = 0; k < v->n; k++) {
        part_name(name, v, v->piece[k].part);
        hpc_json_put_text(&w, v->list[k].name, name);
    }
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    hpc_buf_text(&text, "\n");
    int rc = save_text(v, dir, "model.safetensors.index.json", &text);
    hpc_buf_release(&text);
    return rc;
}

static int save_generation(saver *v, const char *dir)
{
    hpc_buf text = {0};
    hpc_json_out w = {.buf = &text, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    if (v->c->begin >= 0) hpc_json_put_int(&w, "bos_token_id", v->c->begin);
    if (v->c->end >= 0) hpc_json_put_int(&w, "eos_token_id", v->c->end);
    if (v->c->pad >= 0) hpc_json_put_int(&w, "pad_token_id", v->c->pad);
    hpc_json_close(&w, '}');
    hpc_buf_text(&text, "\n");
    int rc = save_text(v, dir, "generation_config.json", &text);
    hpc_buf_release(&text);
    return rc;
}

/* What an earlier model in the directory leaves: config.json, so that a save that fails leaves
 * none, and the list of its parts, or the file that would be read before ours. */
static int remove_old(saver *v, const char *dir)
{
    const char *const names[] = {"config.json", v->parts > 1 ? "model.safetensors"
                                                             : "model.safetensors.index.json"};
    int rc = HPC_OK;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        v->path.n = 0;
        TRY(hpc_buf_printf(&v->path, "%s/%s", dir, names[k]));
        TRY(hpc_file_remove(v->path.data));
    }
out:
    return rc;
}

int hpc_weights_save(const char *dir, const hpc_model_config *c, const hpc_weights_save_options *o)
{
    hpc_model_config stored = *c;
    hpc_buf config = {0};
    saver v = {.c = c, .o = o, .f = model_family_find(c->family)};
    int rc = HPC_OK;
    stored.dtype = o->dtype;
    stored.dropout = 0;
    stored.adapter = (hpc_adapter_config){0};
    TRY(hpc_model_config_write(&config, &stored)); /* before anything is written */
    TRY(plan(&v));
    TRY(hpc_file_mkdir(dir));
    TRY(hpc_file_sweep(dir));
    TRY(remove_old(&v, dir));
    for (int part = 0; part < v.parts; part++) TRY(save_part(&v, dir, part));
    if (v.parts > 1) TRY(save_index(&v, dir));
    TRY(save_generation(&v, dir));
    TRY(save_text(&v, dir, "config.json", &config));
out:
    hpc_buf_release(&v.path);
    hpc_buf_release(&config);
    hpc_free(v.piece);
    hpc_free(v.list);
    return rc;
}
