/*
 * gguf_write.c: writes GGUF files, version 3, atomically.
 *
 * Only the header is held in memory; tensor data is streamed.
 */
#include <string.h>

#include "model/gguf_priv.h"

enum { VERSION = 3, NAME_MOST = 63, RANK_MOST = 4 }; /* limits of other readers */

static size_t aligned(size_t n)
{
    return (n + MODEL_GGUF_ALIGN - 1) / MODEL_GGUF_ALIGN * MODEL_GGUF_ALIGN;
}

static void put_u32(hpc_buf *out, uint32_t x)
{
    hpc_buf_add(out, &x, sizeof x);
}

static void put_u64(hpc_buf *out, uint64_t x)
{
    hpc_buf_add(out, &x, sizeof x);
}

static void put_text(hpc_buf *out, const char *text)
{
    size_t n = strlen(text);
    put_u64(out, n);
    hpc_buf_add(out, text, n);
}

static void put_value(hpc_buf *out, const hpc_gguf_value *v)
{
    put_text(out, v->key);
    put_u32(out, (uint32_t)v->kind);
    if (v->kind == HPC_GGUF_TEXT) put_u64(out, v->bytes);
    if (v->kind == HPC_GGUF_LIST) {
        put_u32(out, (uint32_t)v->item);
        put_u64(out, (uint64_t)v->n);
    }
    if (v->bytes > 0) hpc_buf_add(out, v->data, v->bytes);
}

static void put_tensor(hpc_buf *out, const hpc_stored_tensor *t, size_t at)
{
    put_text(out, t->name);
    put_u32(out, (uint32_t)t->rank);
    for (int k = t->rank; k-- > 0;) put_u64(out, (uint64_t)t->extent[k]);
    put_u32(out, model_gguf_type_of(t->dtype)->number);
    put_u64(out, at);
}

static int check_tensor(const hpc_stored_tensor *t, const char *path)
{
    const model_gguf_type *type = model_gguf_type_of(t->dtype);
    int64_t n = 1, row = t->rank > 0 ? t->extent[t->rank - 1] : 1;
    if (!type)
        return hpc_fail(HPC_E_UNSUPPORTED, "%s: tensor %s: GGUF has no type %s", path, t->name,
                        hpc_dtype_get(t->dtype)->name);
    if (t->rank > RANK_MOST || strlen(t->name) > NAME_MOST)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "%s: tensor %s: GGUF has names of at most %d bytes and at most %d extents",
                        path, t->name, NAME_MOST, RANK_MOST);
    if (row % type->block != 0)
        return hpc_fail(HPC_E_SHAPE,
                        "%s: tensor %s: rows of %lld are not a multiple of the block of %s (%lld)",
                        path, t->name, (long long)row, type->name, (long long)type->block);
    for (int k = 0; k < t->rank; k++) n *= t->extent[k];
    hpc_assert((size_t)(n / type->block) * type->bytes == t->bytes);
    return HPC_OK;
}

int model_gguf_header(hpc_buf *out, size_t *file_bytes, const char *path,
                      const hpc_gguf_value *value, int64_t values, const hpc_stored_tensor *list,
                      int64_t n)
{
    static const char zeros[MODEL_GGUF_ALIGN];
    const uint32_t align = MODEL_GGUF_ALIGN;
    size_t at = 0;
    int rc = HPC_OK;
    for (int64_t k = 0; k < n; k++) TRY(check_tensor(&list[k], path));
    hpc_buf_add(out, "GGUF", 4);
    put_u32(out, VERSION);
    put_u64(out, (uint64_t)n);
    put_u64(out, (uint64_t)values + 1);
    put_value(out, &(hpc_gguf_value){.key = "general.alignment",
                                     .kind = HPC_GGUF_U32,
                                     .data = &align,
                                     .bytes = sizeof align});
    for (int64_t k = 0; k < values; k++) put_value(out, &value[k]);
    for (int64_t k = 0; k < n; k++) {
        put_tensor(out, &list[k], at);
        at = aligned(at + list[k].bytes);
    }
    hpc_buf_add(out, zeros, aligned(out->n) - out->n);
    *file_bytes = out->n + at;
    rc = out->failed;
out:
    return rc;
}

int hpc_gguf_save(const char *path, const hpc_gguf_value *value, int64_t values,
                  const hpc_stored_tensor *list, int64_t n,
                  int (*data)(hpc_file_writer *w, int64_t i, void *user), void *user)
{
    static const char zeros[MODEL_GGUF_ALIGN];
    hpc_buf header = {0};
    hpc_file_writer *w = NULL;
    size_t all = 0;
    int rc = HPC_OK;
    TRY(model_gguf_header(&header, &all, path, value, values, list, n));
    TRY(hpc_file_create(&w, path));
    TRY(hpc_file_write(w, header.data, header.n));
    for (int64_t i = 0; i < n; i++) {
        size_t before = hpc_file_written(w);
        TRY(data(w, i, user));
        hpc_assert(hpc_file_written(w) - before == list[i].bytes);
        TRY(hpc_file_write(w, zeros, aligned(list[i].bytes) - list[i].bytes));
    }
    hpc_assert(hpc_file_written(w) == all);
    TRY(hpc_file_commit(w));
out:
    hpc_file_close_writer(w);
    hpc_buf_release(&header);
    return rc;
}
