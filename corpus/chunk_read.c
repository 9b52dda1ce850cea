/*
 * chunk_read.c: reads an untrusted chunk (chunk.h).
 *
 * Opening verifies all tables, so records are plain memory accesses. A text is verified when its
 * block is decompressed.
 */
#include <string.h>
#include <zstd.h>

#include "corpus/chunk.h"

struct corpus_chunk {
    hpc_file_view file;
    hpc_buf path; /* for messages */
    const uint8_t *blocks, *records, *signatures;
    const char *strings;
    uint32_t blocks_n, records_n, signatures_n;
    uint64_t strings_bytes, table_at;
    uint64_t *block_at; /* where each block begins in the file */
    hpc_hash128 key, hash;
    ZSTD_DCtx *unpacker;
    hpc_buf text; /* of block `held`, or none */
    uint32_t held;
};

int corpus_reserve(hpc_buf *b, size_t n)
{
    if (n < b->cap) return HPC_OK;
    int64_t cap = (int64_t)b->cap;
    int rc = hpc_grow(&b->data, &cap, (int64_t)n + 1, 1);
    if (rc >= 0) b->cap = (size_t)cap;
    return rc;
}

static int damaged(const corpus_chunk *c, const char *what)
{
    return hpc_fail(HPC_E_FORMAT, "%s is damaged: %s; harvest again with --resume", c->path.data,
                    what);
}

/* Checks sizes first: they locate the tables and show missing or extra bytes. */
static int read_header(corpus_chunk *c)
{
    const uint8_t *h = c->file.data;
    if (c->file.bytes < CHUNK_HEADER || memcmp(h, CHUNK_MAGIC, 8) != 0)
        return hpc_fail(HPC_E_FORMAT, "%s is not a chunk of a corpus", c->path.data);
    uint32_t version = hpc_get32(h + CHUNK_AT_VERSION);
    if (version != CHUNK_VERSION)
        return hpc_fail(HPC_E_FORMAT, "%s has format version %u; this program knows version %d",
                        c->path.data, version, CHUNK_VERSION);
    c->records_n = hpc_get32(h + CHUNK_AT_RECORDS);
    c->blocks_n = hpc_get32(h + CHUNK_AT_BLOCKS);
    c->signatures_n = hpc_get32(h + CHUNK_AT_SIGNATURES);
    c->strings_bytes = hpc_get64(h + CHUNK_AT_STRINGS);
    c->table_at = hpc_get64(h + CHUNK_AT_TABLE);
    c->key = hpc_get_hash(h + CHUNK_AT_KEY);
    c->hash = hpc_get_hash(h + CHUNK_AT_HASH);
    uint64_t tables = (uint64_t)c->blocks_n * CHUNK_BLOCK + (uint64_t)c->records_n * CHUNK_RECORD +
                      (uint64_t)c->signatures_n * CHUNK_SIGNATURE;
    if (c->table_at < CHUNK_HEADER || c->table_at > c->file.bytes ||
        tables > c->file.bytes - c->table_at ||
        c->strings_bytes != c->file.bytes - c->table_at - tables || c->strings_bytes == 0)
        return damaged(c, "its size differs from the size in its header");
    c->blocks = h + c->table_at;
    c->records = c->blocks + (size_t)c->blocks_n * CHUNK_BLOCK;
    c->signatures = c->records + (size_t)c->records_n * CHUNK_RECORD;
    c->strings = (const char *)c->signatures + (size_t)c->signatures_n * CHUNK_SIGNATURE;
    hpc_hash128 all = hpc_hash_wide(c->blocks, c->file.bytes - c->table_at);
    if (!hpc_same_hash(corpus_chunk_digest(h, all), c->hash))
        return damaged(c, "its checksum is wrong");
    return HPC_OK;
}

/* A checksum shows that the file is unchanged, not who wrote it. */
static int check_blocks(corpus_chunk *c)
{
    uint64_t at = CHUNK_HEADER;
    c->block_at = hpc_alloc((size_t)c->blocks_n + 1, sizeof *c->block_at);
    if (!c->block_at) return HPC_E_NOMEM;
    for (uint32_t k = 0; k < c->blocks_n; k++) {
        const uint8_t *row = c->blocks + (size_t)k * CHUNK_BLOCK;
        c->block_at[k] = at;
        at += hpc_get32(row);
        if (hpc_get32(row + 4) > CHUNK_BLOCK_TEXT + (uint32_t)CORPUS_TEXT_MOST)
            return damaged(c, "a block is too large");
    }
    c->block_at[c->blocks_n] = at;
    return at == c->table_at ? HPC_OK : damaged(c, "its blocks do not fill the file");
}

static bool record_is_sound(const corpus_chunk *c, const uint8_t *row, uint32_t *signatures)
{
    uint32_t block = hpc_get32(row + RECORD_AT_BLOCK);
    uint8_t reason = row[RECORD_AT_LANGUAGE + 3];
    if (hpc_get32(row + RECORD_AT_PATH) >= c->strings_bytes ||
        hpc_get32(row + RECORD_AT_LICENCE) >= c->strings_bytes ||
        hpc_get32(row + RECORD_AT_DETAIL) >= c->strings_bytes)
        return false;
    if (row[RECORD_AT_LANGUAGE] >= HPC_LANGUAGE_N || reason >= HPC_REASON_N ||
        row[RECORD_AT_LANGUAGE + 1] > 1 || row[RECORD_AT_LANGUAGE + 2] > 1)
        return false;
    if ((block == CHUNK_NO_TEXT) != (reason != HPC_REASON_KEPT)) return false;
    if (block == CHUNK_NO_TEXT) return true;
    if (hpc_get32(row + RECORD_AT_SIGNATURE) != (*signatures)++) return false;
    uint64_t end = (uint64_t)hpc_get32(row + RECORD_AT_OFFSET) + hpc_get32(row + RECORD_AT_STORED);
    if (end == 0) return true; /* only an empty text may be in a missing block */
    return block < c->blocks_n && end <= hpc_get32(c->blocks + (size_t)block * CHUNK_BLOCK + 4);
}

static int check_records(const corpus_chunk *c)
{
    uint32_t signatures = 0;
    if (c->strings[0] != '\0' || c->strings[c->strings_bytes - 1] != '\0')
        return damaged(c, "its strings are not terminated");
    for (uint32_t k = 0; k < c->records_n; k++)
        if (!record_is_sound(c, c->records + (size_t)k * CHUNK_RECORD, &signatures))
            return damaged(c, "a record points outside the file");
    return signatures == c->signatures_n ? HPC_OK : damaged(c, "it has excess signatures");
}

int corpus_chunk_open(corpus_chunk **out, const char *path)
{
    int rc = HPC_OK;
    *out = NULL;
    corpus_chunk *c = hpc_alloc(1, sizeof *c);
    if (!c) return HPC_E_NOMEM;
    c->held = CHUNK_NO_TEXT;
    TRY(hpc_buf_text(&c->path, path));
    TRY(hpc_file_open(&c->file, path));
    TRY(read_header(c));
    TRY(check_blocks(c));
    TRY(check_records(c));
    *out = c;
    c = NULL;
out:
    corpus_chunk_close(c);
    return rc;
}

void corpus_chunk_close(corpus_chunk *c)
{
    if (!c) return;
    ZSTD_freeDCtx(c->unpacker);
    hpc_file_close(&c->file);
    hpc_buf_release(&c->path);
    hpc_buf_release(&c->text);
    hpc_free(c->block_at);
    hpc_free(c);
}

int64_t corpus_chunk_n(const corpus_chunk *c)
{
    return c->records_n;
}

hpc_hash128 corpus_chunk_key(const corpus_chunk *c)
{
    return c->key;
}

hpc_hash128 corpus_chunk_hash(const corpus_chunk *c)
{
    return c->hash;
}

static const uint8_t *find_record(const corpus_chunk *c, int64_t slot)
{
    if (slot < 0 || slot >= c->records_n) {
        hpc_fail(HPC_E_ARG, "%s has no slot %lld", c->path.data, (long long)slot);
        return NULL;
    }
    return c->records + (size_t)slot * CHUNK_RECORD;
}

static void read_signature(corpus_signature *out, const uint8_t *row)
{
    out->shingles = hpc_get32(row);
    for (int k = 0; k < CORPUS_LANES; k++)
        out->lane[k] = (uint16_t)(row[4 + 2 * k] | row[5 + 2 * k] << 8);
}

int corpus_chunk_record(corpus_record *out, const corpus_chunk *c, int64_t slot)
{
    const uint8_t *row = find_record(c, slot);
    if (!row) return HPC_E_ARG;
    *out = (corpus_record){
        .hash = hpc_get_hash(row + RECORD_AT_HASH),
        .bytes = hpc_get64(row + RECORD_AT_BYTES),
        .path = c->strings + hpc_get32(row + RECORD_AT_PATH),
        .licence = c->strings + hpc_get32(row + RECORD_AT_LICENCE),
        .detail = c->strings + hpc_get32(row + RECORD_AT_DETAIL),
        .stored_bytes = hpc_get32(row + RECORD_AT_STORED),
        .lines = hpc_get32(row + RECORD_AT_LINES),
        .tokens = hpc_get32(row + RECORD_AT_TOKENS),
        .parallel = hpc_get32(row + RECORD_AT_PARALLEL),
        .masked = hpc_get32(row + RECORD_AT_MASKED),
        .language = row[RECORD_AT_LANGUAGE],
        .fixed = row[RECORD_AT_LANGUAGE + 1],
        .head = row[RECORD_AT_LANGUAGE + 2],
        .reason = row[RECORD_AT_LANGUAGE + 3],
    };
    memcpy(out->id.byte, row + RECORD_AT_ID, sizeof out->id.byte);
    if (out->reason == HPC_REASON_KEPT)
        read_signature(&out->signature, c->signatures + (size_t)CHUNK_SIGNATURE *
                                                            hpc_get32(row + RECORD_AT_SIGNATURE));
    return HPC_OK;
}

static int check_block(const corpus_chunk *c, uint32_t block)
{
    const uint8_t *row = c->blocks + (size_t)block * CHUNK_BLOCK;
    if (hpc_hash(c->file.data + c->block_at[block], hpc_get32(row), 0) != hpc_get64(row + 8))
        return damaged(c, "the checksum of a block is wrong");
    return HPC_OK;
}

int corpus_chunk_verify(const corpus_chunk *c)
{
    int rc = HPC_OK;
    for (uint32_t k = 0; k < c->blocks_n && rc == HPC_OK; k++) rc = check_block(c, k);
    return rc;
}

static int unpack(corpus_chunk *c, uint32_t block)
{
    const uint8_t *row = c->blocks + (size_t)block * CHUNK_BLOCK;
    const uint8_t *packed = c->file.data + c->block_at[block];
    uint32_t packed_bytes = hpc_get32(row), bytes = hpc_get32(row + 4);
    int rc = HPC_OK;
    c->held = CHUNK_NO_TEXT;
    TRY(check_block(c, block));
    if (!c->unpacker && !(c->unpacker = ZSTD_createDCtx()))
        TRY(hpc_fail(HPC_E_NOMEM, "out of memory for a decompressor"));
    TRY(corpus_reserve(&c->text, bytes));
    size_t n = ZSTD_decompressDCtx(c->unpacker, c->text.data, bytes, packed, packed_bytes);
    if (ZSTD_isError(n) || n != bytes) TRY(damaged(c, "a block cannot be decompressed"));
    c->text.n = bytes;
    c->held = block;
out:
    return rc;
}

int corpus_chunk_text(hpc_buf *out, corpus_chunk *c, int64_t slot)
{
    const uint8_t *row = find_record(c, slot);
    int rc = HPC_OK;
    if (!row) return HPC_E_ARG;
    out->n = 0;
    uint32_t block = hpc_get32(row + RECORD_AT_BLOCK), n = hpc_get32(row + RECORD_AT_STORED);
    if (block == CHUNK_NO_TEXT)
        return hpc_fail(HPC_E_ARG, "%s: the file of slot %lld was dropped, its text is not stored",
                        c->path.data, (long long)slot);
    if (n == 0) return hpc_buf_add(out, "", 0);
    if (block != c->held) TRY(unpack(c, block));
    TRY(hpc_buf_add(out, c->text.data + hpc_get32(row + RECORD_AT_OFFSET), n));
out:
    return rc;
}
