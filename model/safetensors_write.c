/*
 * safetensors_write.c: writes safetensors files atomically.
 *
 * Only the header is held in memory; tensor data is streamed.
 */
#include <string.h>

#include "model/priv.h"

static int put_header(hpc_buf *out, const hpc_stored_tensor *list, int64_t n,
                      const char *const *metadata)
{
    hpc_json_out w = {.buf = out};
    size_t at = 0;
    hpc_json_open(&w, NULL, '{');
    if (metadata && metadata[0]) {
        hpc_json_open(&w, "__metadata__", '{');
        for (int k = 0; metadata[k]; k += 2) hpc_json_put_text(&w, metadata[k], metadata[k + 1]);
        hpc_json_close(&w, '}');
    }
    for (int64_t i = 0; i < n; i++) {
        hpc_json_open(&w, list[i].name, '{');
        hpc_json_put_text(&w, "dtype", model_safetensors_dtype(list[i].dtype));
        hpc_json_open(&w, "shape", '[');
        for (int k = 0; k < list[i].rank; k++) hpc_json_put_int(&w, NULL, list[i].extent[k]);
        hpc_json_close(&w, ']');
        hpc_json_open(&w, "data_offsets", '[');
        hpc_json_put_int(&w, NULL, (int64_t)at);
        hpc_json_put_int(&w, NULL, (int64_t)(at += list[i].bytes));
        hpc_json_close(&w, ']');
        hpc_json_close(&w, '}');
    }
    hpc_json_close(&w, '}');
    while (out->n % 8 && !out->failed) hpc_buf_text(out, " "); /* data begins aligned */
    return out->failed;
}

static int check_list(const hpc_stored_tensor *list, int64_t n, const char *path)
{
    for (int64_t i = 0; i < n; i++) {
        size_t bytes = 1;
        for (int k = 0; k < list[i].rank; k++) bytes *= (size_t)list[i].extent[k];
        if (!model_safetensors_dtype(list[i].dtype))
            return hpc_fail(HPC_E_UNSUPPORTED, "%s: tensor %s: safetensors has no dtype %s", path,
                            list[i].name, hpc_dtype_get(list[i].dtype)->name);
        hpc_assert(bytes * hpc_dtype_get(list[i].dtype)->block_bytes == list[i].bytes);
    }
    return HPC_OK;
}

int hpc_safetensors_save(const char *path, const hpc_stored_tensor *list, int64_t n,
                         const char *const *metadata,
                         int (*data)(hpc_file_writer *w, int64_t i, void *user), void *user)
{
    hpc_buf header = {0};
    hpc_file_writer *w = NULL;
    int rc = HPC_OK;
    TRY(check_list(list, n, path));
    TRY(put_header(&header, list, n, metadata));
    uint64_t length = header.n;
    TRY(hpc_file_create(&w, path));
    TRY(hpc_file_write(w, &length, sizeof length));
    TRY(hpc_file_write(w, header.data, header.n));
    for (int64_t i = 0; i < n; i++) {
        size_t before = hpc_file_written(w);
        TRY(data(w, i, user));
        hpc_assert(hpc_file_written(w) - before == list[i].bytes);
    }
    TRY(hpc_file_commit(w));
out:
    hpc_file_close_writer(w);
    hpc_buf_release(&header);
    return rc;
}
