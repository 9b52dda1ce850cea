/*
 * file_unpack.c: reads text files, plain or compressed by zstd.
 */
#include <string.h>
#include <zstd.h>

#include "runtime/base/base.h"

static const unsigned char frame[4] = {0x28, 0xb5, 0x2f, 0xfd};

/* Appends the contents of all frames of `packed` to out. */
static int unpack(hpc_buf *out, const hpc_buf *packed, size_t limit)
{
    char piece[1 << 16];
    ZSTD_inBuffer in = {packed->data, packed->n, 0};
    ZSTD_DCtx *unpacker = ZSTD_createDCtx();
    size_t left = 1;
    int rc = HPC_OK;
    if (!unpacker) TRY(hpc_fail(HPC_E_NOMEM, "out of memory for a decompressor"));
    while (in.pos < in.size) {
        ZSTD_outBuffer part = {piece, sizeof piece, 0};
        left = ZSTD_decompressStream(unpacker, &part, &in);
        if (ZSTD_isError(left)) TRY(hpc_fail(HPC_E_FORMAT, "it cannot be decompressed"));
        if (out->n + part.pos > limit)
            TRY(hpc_fail(HPC_E_FORMAT, "it decompresses to more than %zu bytes", limit));
        TRY(hpc_buf_add(out, piece, part.pos));
    }
    if (left != 0) TRY(hpc_fail(HPC_E_FORMAT, "it ends inside the compressed data"));
out:
    ZSTD_freeDCtx(unpacker);
    return rc;
}

int hpc_file_read_text(hpc_buf *out, const char *path, size_t limit)
{
    hpc_buf packed = {0};
    int rc = HPC_OK;
    TRY(hpc_file_read(out, path, limit));
    if (out->n < sizeof frame || memcmp(out->data, frame, sizeof frame) != 0) goto out;
    packed = *out;
    *out = (hpc_buf){0};
    rc = unpack(out, &packed, limit);
    if (rc < 0) rc = hpc_error_where("%.300s", path);
out:
    hpc_buf_release(&packed);
    return rc;
}
