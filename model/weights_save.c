/*
 * weights_save.c: saves a model directory for transformers: file order and the distribution of
 * tensors over files.
 *
 * pieces.c converts tensors. config.json is written last: a directory without it is not a valid
 * model.
 */
#include <stdio.h>
#include <string.h>

#include "model/priv.h"

static const size_t PART_BYTES = (size_t)5 << 30;

/* A directory that is being written. */
typedef struct saver {
    model_pieces all;
    const hpc_model_config *c;
    const hpc_weights_save_options *o;
    int *part;     /* of each stored tensor, its file */
    int64_t first; /* of the file being written */
    int parts;
    hpc_buf path;
} saver;

/* Cuts the list into files; one tensor may be larger than a file should be. */
static int divide(saver *v)
{
    size_t most = v->o->part_bytes ? v->o->part_bytes : PART_BYTES, used = 0;
    v->part = hpc_alloc((size_t)v->all.n, sizeof *v->part);
    if (!v->part) return HPC_E_NOMEM;
    v->parts = 1;
    for (int64_t k = 0; k < v->all.n; k++) {
        size_t bytes = v->all.list[k].bytes;
        if (used > 0 && used + bytes > most) {
            v->parts++;
            used = 0;
        }
        used += bytes;
        v->part[k] = v->parts - 1;
    }
    return HPC_OK;
}

/* ---- files ---------------------------------------------------------------------------------- */

static void part_name(char out[48], const saver *v, int part)
{
    if (v->parts == 1)
        snprintf(out, 48, "model.safetensors");
    else
        snprintf(out, 48, "model-%05d-of-%05d.safetensors", part + 1, v->parts);
}

static int write_tensor(hpc_file_writer *w, int64_t i, void *user)
{
    saver *v = user;
    return model_pieces_write(w, &v->all, v->first + i);
}

static int save_part(saver *v, const char *dir, int part)
{
    static const char *const metadata[] = {"format", "pt", NULL}; /* transformers asks for it */
    char name[48];
    int64_t n = 0;
    int rc = HPC_OK;
    for (v->first = 0; v->part[v->first] < part;) v->first++;
    while (v->first + n < v->all.n && v->part[v->first + n] == part) n++;
    part_name(name, v, part);
    v->path.n = 0;
    TRY(hpc_buf_printf(&v->path, "%s/%s", dir, name));
    TRY(hpc_safetensors_save(v->path.data, v->all.list + v->first, n, metadata, write_tensor, v));
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
    for (int64_t k = 0; k < v->all.n; k++) total += v->all.list[k].bytes;
    hpc_json_open(&w, NULL, '{');
    hpc_json_open(&w, "metadata", '{');
    hpc_json_put_int(&w, "total_size", (int64_t)total);
    hpc_json_close(&w, '}');
    hpc_json_open(&w, "weight_map", '{');
    for (int64_t k = 0; k < v->all.n; k++) {
        part_name(name, v, v->part[k]);
        hpc_json_put_text(&w, v->all.list[k].name, name);
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
    saver v = {.c = c, .o = o};
    int rc = HPC_OK;
    stored.dtype = o->dtype;
    stored.dropout = 0;
    stored.adapter = (hpc_adapter_config){0};
    TRY(hpc_model_config_write(&config, &stored)); /* before anything is written */
    v.all =
        (model_pieces){.c = c, .f = model_family_find(c->family), .read = o->read, .user = o->user};
    TRY(model_pieces_plan(&v.all, o->dtype));
    TRY(divide(&v));
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
    hpc_free(v.part);
    model_pieces_release(&v.all);
    return rc;
}
