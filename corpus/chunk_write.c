/*
 * chunk_write.c: writes a chunk (chunk.h). Texts are written block by block; tables stay in memory
 * until the end, a few hundred bytes per file.
 *
 * The bytes depend only on the records: compressor and parameters are fixed.
 */
#include <string.h>
#include <zstd.h>

#include "corpus/chunk.h"

/* The fastest level with a window of a whole block: adjacent texts are often versions
 * of one file. */
enum { LEVEL = 1, WINDOW_LOG = 21 };

struct corpus_chunk_writer {
    hpc_file_writer *file;
    ZSTD_CCtx *packer;
    hpc_hash128 key;
    hpc_buf text, packed;                         /* of the block under way */
    hpc_buf blocks, records, signatures, strings; /* tables */
    uint32_t blocks_n, records_n, signatures_n;
    uint32_t path, licence, detail; /* strings of the last record: neighbours share them */
};

static int make_packer(ZSTD_CCtx **out)
{
    *out = ZSTD_createCCtx();
    if (!*out) return hpc_fail(HPC_E_NOMEM, "out of memory for a compressor");
    size_t n = ZSTD_CCtx_setParameter(*out, ZSTD_c_compressionLevel, LEVEL);
    if (!ZSTD_isError(n)) n = ZSTD_CCtx_setParameter(*out, ZSTD_c_windowLog, WINDOW_LOG);
    if (ZSTD_isError(n)) return hpc_fail(HPC_E_UNSUPPORTED, "zstd: %s", ZSTD_getErrorName(n));
    return HPC_OK;
}

int corpus_chunk_create(corpus_chunk_writer **out, const char *path, hpc_hash128 key)
{
    static const uint8_t header[CHUNK_HEADER];
    int rc = HPC_OK;
    *out = NULL;
    corpus_chunk_writer *w = hpc_alloc(1, sizeof *w);
    if (!w) return HPC_E_NOMEM;
    w->key = key;
    TRY(make_packer(&w->packer));
    TRY(hpc_buf_add(&w->strings, "", 1));
    TRY(hpc_file_create(&w->file, path));
    TRY(hpc_file_write(w->file, header, sizeof header)); /* filled in at the end */
    *out = w;
    w = NULL;
out:
    corpus_chunk_free(w);
    return rc;
}

void corpus_chunk_free(corpus_chunk_writer *w)
{
    if (!w) return;
    hpc_file_close_writer(w->file);
    ZSTD_freeCCtx(w->packer);
    hpc_buf *all[] = {&w->text, &w->packed, &w->blocks, &w->records, &w->signatures, &w->strings};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) hpc_buf_release(all[k]);
    hpc_free(w);
}

static int close_block(corpus_chunk_writer *w)
{
    uint8_t row[CHUNK_BLOCK];
    int rc = HPC_OK;
    if (w->text.n == 0) return HPC_OK;
    TRY(corpus_reserve(&w->packed, ZSTD_compressBound(w->text.n)));
    size_t n = ZSTD_compress2(w->packer, w->packed.data, w->packed.cap, w->text.data, w->text.n);
    if (ZSTD_isError(n)) TRY(hpc_fail(HPC_E_NOMEM, "zstd: %s", ZSTD_getErrorName(n)));
    TRY(hpc_file_write(w->file, w->packed.data, n));
    hpc_put32(row, (uint32_t)n);
    hpc_put32(row + 4, (uint32_t)w->text.n);
    hpc_put64(row + 8, hpc_hash(w->packed.data, n, 0));
    TRY(hpc_buf_add(&w->blocks, row, sizeof row));
    w->blocks_n++;
    w->text.n = 0;
out:
    return rc;
}

/* *at: where the last record has its string; it stays when the new one is the same. */
static int add_string(uint32_t *at, corpus_chunk_writer *w, const char *text)
{
    if (!text || !*text) {
        *at = 0;
        return HPC_OK;
    }
    if (strcmp(w->strings.data + *at, text) == 0) return HPC_OK;
    size_t n = strlen(text) + 1;
    if (n > UINT32_MAX - w->strings.n)
        return hpc_fail(HPC_E_UNSUPPORTED, "the paths of one chunk take more than 4 GiB");
    *at = (uint32_t)w->strings.n;
    return hpc_buf_add(&w->strings, text, n);
}

static int add_signature(corpus_chunk_writer *w, const corpus_signature *s)
{
    uint8_t row[CHUNK_SIGNATURE];
    hpc_put32(row, s->shingles);
    for (int k = 0; k < CORPUS_LANES; k++) {
        row[4 + 2 * k] = (uint8_t)s->lane[k];
        row[5 + 2 * k] = (uint8_t)(s->lane[k] >> 8);
    }
    w->signatures_n++;
    return hpc_buf_add(&w->signatures, row, sizeof row);
}

static int add_record(corpus_chunk_writer *w, const corpus_record *r)
{
    uint8_t row[CHUNK_RECORD] = {0};
    bool stored = r->reason == HPC_REASON_KEPT;
    memcpy(row + RECORD_AT_ID, r->id.byte, sizeof r->id.byte);
    hpc_put_hash(row + RECORD_AT_HASH, r->hash);
    hpc_put64(row + RECORD_AT_BYTES, r->bytes);
    hpc_put32(row + RECORD_AT_PATH, w->path);
    hpc_put32(row + RECORD_AT_LICENCE, w->licence);
    hpc_put32(row + RECORD_AT_DETAIL, w->detail);
    hpc_put32(row + RECORD_AT_STORED, stored ? r->stored_bytes : 0);
    hpc_put32(row + RECORD_AT_LINES, r->lines);
    hpc_put32(row + RECORD_AT_TOKENS, r->tokens);
    hpc_put32(row + RECORD_AT_PARALLEL, r->parallel);
    hpc_put32(row + RECORD_AT_MASKED, r->masked);
    row[RECORD_AT_LANGUAGE] = r->language;
    row[RECORD_AT_LANGUAGE + 1] = r->fixed;
    row[RECORD_AT_LANGUAGE + 2] = r->head;
    row[RECORD_AT_LANGUAGE + 3] = r->reason;
    hpc_put32(row + RECORD_AT_BLOCK, stored ? w->blocks_n : CHUNK_NO_TEXT);
    hpc_put32(row + RECORD_AT_OFFSET, stored ? (uint32_t)w->text.n : 0);
    hpc_put32(row + RECORD_AT_SIGNATURE, stored ? w->signatures_n : CHUNK_NO_TEXT);
    w->records_n++;
    return hpc_buf_add(&w->records, row, sizeof row);
}

int corpus_chunk_add(corpus_chunk_writer *w, const corpus_record *r, const char *text, size_t n)
{
    int rc = HPC_OK;
    bool stored = r->reason == HPC_REASON_KEPT;
    hpc_assert(!stored || (n == r->stored_bytes && n <= CORPUS_TEXT_MOST));
    TRY(add_string(&w->path, w, r->path));
    TRY(add_string(&w->licence, w, r->licence));
    TRY(add_string(&w->detail, w, r->detail));
    TRY(add_record(w, r));
    if (!stored) return HPC_OK;
    TRY(add_signature(w, &r->signature));
    /* An empty text still belongs to a block. */
    TRY(hpc_buf_add(&w->text, text, n));
    if (w->text.n >= CHUNK_BLOCK_TEXT) TRY(close_block(w));
out:
    return rc;
}

static int write_tables(corpus_chunk_writer *w, uint8_t header[CHUNK_HEADER])
{
    hpc_buf all = {0};
    int rc = HPC_OK;
    const hpc_buf *parts[] = {&w->blocks, &w->records, &w->signatures, &w->strings};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        TRY(hpc_buf_add(&all, parts[k]->data, parts[k]->n));
    memcpy(header, CHUNK_MAGIC, 8);
    hpc_put32(header + CHUNK_AT_VERSION, CHUNK_VERSION);
    hpc_put32(header + CHUNK_AT_RECORDS, w->records_n);
    hpc_put32(header + CHUNK_AT_BLOCKS, w->blocks_n);
    hpc_put32(header + CHUNK_AT_SIGNATURES, w->signatures_n);
    hpc_put64(header + CHUNK_AT_STRINGS, w->strings.n);
    hpc_put64(header + CHUNK_AT_TABLE, hpc_file_written(w->file));
    hpc_put_hash(header + CHUNK_AT_KEY, w->key);
    hpc_put_hash(header + CHUNK_AT_HASH,
                 corpus_chunk_digest(header, hpc_hash_wide(all.data, all.n)));
    TRY(hpc_file_write(w->file, all.data, all.n));
out:
    hpc_buf_release(&all);
    return rc;
}

int corpus_chunk_commit(corpus_chunk_writer *w)
{
    uint8_t header[CHUNK_HEADER] = {0};
    int rc = HPC_OK;
    TRY(close_block(w));
    TRY(write_tables(w, header));
    TRY(hpc_file_write_at(w->file, 0, header, sizeof header));
    TRY(hpc_file_commit(w->file));
out:
    return rc;
}
