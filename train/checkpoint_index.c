/*
 * checkpoint_index.c: writes and reads the index of a sharded checkpoint. The index is untrusted.
 *
 * checkpoint_read.c checks whether the parts cover a tensor.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/checkpoint_priv.h"

enum { VERSION = 1 };

/* ---- writing ----------------------------------------------------------------------------------
 */

static void put_extents(hpc_json_out *w, const char *key, const int64_t *extent, int n)
{
    hpc_json_open(w, key, '[');
    for (int d = 0; d < n; d++) hpc_json_put_int(w, NULL, extent[d]);
    hpc_json_close(w, ']');
}

/* [file, at, [first...], [extent...], "hash"] */
static void put_part(hpc_json_out *w, const checkpoint_part *p)
{
    char hash[CHECKPOINT_HASH];
    checkpoint_hash_text(hash, p->hash);
    hpc_json_open(w, NULL, '[');
    hpc_json_put_int(w, NULL, p->file);
    hpc_json_put_int(w, NULL, (int64_t)p->at);
    put_extents(w, NULL, p->first, p->rank);
    put_extents(w, NULL, p->extent, p->rank);
    hpc_json_put_text(w, NULL, hash);
    hpc_json_close(w, ']');
}

static void put_tensor(hpc_json_out *w, const checkpoint_index *x, const checkpoint_tensor *t)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "name", t->name);
    hpc_json_put_text(w, "dtype", hpc_dtype_get(t->dtype)->name);
    put_extents(w, "shape", t->extent, t->rank);
    hpc_json_open(w, "parts", '[');
    for (int64_t k = 0; k < t->part_n; k++) put_part(w, &x->part[t->part + k]);
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}

int checkpoint_index_put(hpc_buf *out, const checkpoint_index *x)
{
    hpc_json_out w = {.buf = out};
    char run[20];
    snprintf(run, sizeof run, "%016" PRIx64, x->run);
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "format", "hpccoder-checkpoint-index");
    hpc_json_put_int(&w, "version", VERSION);
    hpc_json_put_int(&w, "step", x->step);
    hpc_json_put_text(&w, "run", run);
    hpc_json_put_text(&w, "save", x->save);
    hpc_json_open(&w, "files", '[');
    for (int64_t k = 0; k < x->file_n; k++) {
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_text(&w, "name", x->file[k].name);
        hpc_json_put_int(&w, "bytes", (int64_t)x->file[k].bytes);
        hpc_json_close(&w, '}');
    }
    hpc_json_close(&w, ']');
    hpc_json_open(&w, "tensors", '[');
    for (int64_t k = 0; k < x->tensor_n; k++) put_tensor(&w, x, &x->tensor[k]);
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
    return out->failed;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static int bad(const char *name, const char *why)
{
    return hpc_fail(HPC_E_FORMAT, "%.100s: %s", name, why);
}

static int get_extents(int64_t *out, int *n, const hpc_json *list, const char *name)
{
    int rc = HPC_OK;
    if (hpc_json_kind_of(list) != HPC_JSON_LIST || hpc_json_n(list) > HPC_RANK_MAX)
        return bad(name, "expected a list of at most four numbers");
    *n = (int)hpc_json_n(list);
    for (int d = 0; d < *n; d++) {
        TRY(hpc_json_int(&out[d], hpc_json_at(list, d), name));
        if (out[d] < 0) TRY(bad(name, "a number below 0"));
    }
out:
    return rc;
}

static bool fits(const checkpoint_part *p, const checkpoint_tensor *t, const checkpoint_index *x)
{
    const size_t element = hpc_dtype_get(t->dtype)->block_bytes;
    size_t bytes = element;
    if (p->rank != t->rank || p->file < 0 || p->file >= x->file_n) return false;
    for (int d = 0; d < p->rank; d++) {
        if (p->extent[d] > t->extent[d] || p->first[d] > t->extent[d] - p->extent[d]) return false;
        if (__builtin_mul_overflow(bytes, (size_t)p->extent[d], &bytes)) return false;
    }
    uint64_t all = x->file[p->file].bytes;
    return bytes <= all && p->at <= all - bytes;
}

static int get_part(checkpoint_part *p, const hpc_json *v, const checkpoint_tensor *t,
                    const checkpoint_index *x)
{
    const char *hash;
    int64_t file = 0, at = 0;
    int dims = 0, rc;
    TRY(hpc_json_int(&file, hpc_json_at(v, 0), "file"));
    TRY(hpc_json_int(&at, hpc_json_at(v, 1), "at"));
    TRY(get_extents(p->first, &dims, hpc_json_at(v, 2), t->name));
    TRY(get_extents(p->extent, &p->rank, hpc_json_at(v, 3), t->name));
    TRY(hpc_json_text(&hash, hpc_json_at(v, 4), "hash"));
    TRY(checkpoint_hash_read(&p->hash, hash));
    p->file = file >= 0 && file < x->file_n ? (int)file : -1;
    p->at = (uint64_t)at;
    if (dims != p->rank || at < 0 || !fits(p, t, x))
        TRY(bad(t->name, "a part lies outside its tensor or file"));
    p->bytes = (size_t)checkpoint_part_elements(p) * hpc_dtype_get(t->dtype)->block_bytes;
out:
    return rc;
}

static int get_tensor(checkpoint_index *x, int64_t *cap, const hpc_json *v)
{
    checkpoint_tensor *t = &x->tensor[x->tensor_n];
    const hpc_json *parts = hpc_json_get(v, "parts");
    const char *dtype;
    int rc;
    TRY(hpc_json_text(&t->name, hpc_json_get(v, "name"), "name"));
    TRY(hpc_json_text(&dtype, hpc_json_get(v, "dtype"), "dtype"));
    TRY(hpc_dtype_find(&t->dtype, dtype));
    TRY(get_extents(t->extent, &t->rank, hpc_json_get(v, "shape"), t->name));
    t->part = x->part_n;
    t->part_n = hpc_json_n(parts);
    TRY(hpc_grow(&x->part, cap, x->part_n + t->part_n, sizeof *x->part));
    for (int64_t k = 0; k < t->part_n; k++) {
        x->part[x->part_n].tensor = x->tensor_n;
        TRY(get_part(&x->part[x->part_n++], hpc_json_at(parts, k), t, x));
    }
    TRY(hpc_map_put(x->by_name, t->name, strlen(t->name), (uint64_t)x->tensor_n));
    x->tensor_n++;
out:
    return rc;
}

/* A name alone: a path could lead out of the folder. */
static int get_file(checkpoint_file *f, const hpc_json *v)
{
    const char *name;
    int64_t bytes = 0;
    int rc;
    TRY(hpc_json_text(&name, hpc_json_get(v, "name"), "name"));
    TRY(hpc_json_int(&bytes, hpc_json_get(v, "bytes"), "bytes"));
    if (strchr(name, '/') || strlen(name) >= sizeof f->name || bytes < 0)
        TRY(bad("files", "expected the name of a file in the folder"));
    snprintf(f->name, sizeof f->name, "%s", name);
    f->bytes = (uint64_t)bytes;
out:
    return rc;
}

static int get_head(checkpoint_index *x)
{
    const char *run, *save;
    int64_t version = 0;
    int rc;
    TRY(hpc_json_int(&version, hpc_json_get(x->root, "version"), "version"));
    if (version > VERSION)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "version %lld; this program knows up to %d: use a newer one",
                     (long long)version, VERSION));
    TRY(hpc_json_int(&x->step, hpc_json_get(x->root, "step"), "step"));
    TRY(hpc_json_text(&run, hpc_json_get(x->root, "run"), "run"));
    TRY(hpc_json_text(&save, hpc_json_get(x->root, "save"), "save"));
    x->run = strtoull(run, NULL, 16);
    snprintf(x->save, sizeof x->save, "%s", save);
out:
    return rc;
}

static int get_all(checkpoint_index *x)
{
    const hpc_json *files = hpc_json_get(x->root, "files");
    const hpc_json *tensors = hpc_json_get(x->root, "tensors");
    int64_t cap = 0, n = hpc_json_n(tensors);
    int rc;
    TRY(get_head(x));
    x->file = hpc_alloc((size_t)hpc_json_n(files) + 1, sizeof *x->file);
    x->tensor = hpc_alloc((size_t)n + 1, sizeof *x->tensor);
    x->by_name = hpc_map_create();
    if (!x->file || !x->tensor || !x->by_name) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < hpc_json_n(files); k++)
        TRY(get_file(&x->file[x->file_n++], hpc_json_at(files, k)));
    for (int64_t k = 0; k < n; k++) TRY(get_tensor(x, &cap, hpc_json_at(tensors, k)));
out:
    return rc;
}

int checkpoint_index_read(checkpoint_index *x, const char *path)
{
    int rc;
    *x = (checkpoint_index){0};
    TRY(hpc_json_read(&x->root, path));
    rc = get_all(x);
    if (rc < 0) hpc_error_where("%s", path);
out:
    if (rc < 0) checkpoint_index_release(x);
    return rc;
}

void checkpoint_index_release(checkpoint_index *x)
{
    hpc_free(x->file);
    hpc_free(x->tensor);
    hpc_free(x->part);
    hpc_map_free(x->by_name);
    hpc_json_free(x->root);
    *x = (checkpoint_index){0};
}
