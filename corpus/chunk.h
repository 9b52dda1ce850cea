/*
 * chunk.h: the format of a chunk file, for its writer and reader.
 *
 *   header:      HEADER bytes.
 *   blocks:      zstd frames of about 1 MiB of text, contiguous.
 *   block table: BLOCK bytes per block: compressed and original size, hash of the frame.
 *   records:     RECORD bytes each, in order.
 *   signatures:  SIGNATURE bytes for each record with a text, in order.
 *   strings:     NUL-terminated paths, licences and details; the first is empty.
 *
 * The hash at the end of the header covers the rest of the header and everything after the blocks.
 * With the block table it covers the whole file.
 */
#ifndef HPC_CORPUS_CHUNK_H
#define HPC_CORPUS_CHUNK_H

#include "runtime/base/bytes.h"
#include "corpus/priv.h"

enum {
    CHUNK_VERSION = 1,
    CHUNK_BLOCK_TEXT = 1 << 20, /* a block is closed at this size */

    CHUNK_HEADER = 80,
    CHUNK_AT_VERSION = 8, /* after the magic */
    CHUNK_AT_RECORDS = 12,
    CHUNK_AT_BLOCKS = 16,
    CHUNK_AT_SIGNATURES = 20,
    CHUNK_AT_STRINGS = 24, /* their bytes */
    CHUNK_AT_TABLE = 32,   /* offset of the block table */
    CHUNK_AT_KEY = 40,
    CHUNK_AT_RESERVED = 56, /* zero */
    CHUNK_AT_HASH = 64,

    CHUNK_BLOCK = 16,
    CHUNK_SIGNATURE = 4 + 2 * CORPUS_LANES,

    CHUNK_RECORD = 96,
    RECORD_AT_ID = 0,
    RECORD_AT_HASH = 20,
    RECORD_AT_BYTES = 36,
    RECORD_AT_PATH = 44, /* offsets of strings */
    RECORD_AT_LICENCE = 48,
    RECORD_AT_DETAIL = 52,
    RECORD_AT_STORED = 56,
    RECORD_AT_LINES = 60,
    RECORD_AT_TOKENS = 64,
    RECORD_AT_PARALLEL = 68,
    RECORD_AT_MASKED = 72,
    RECORD_AT_LANGUAGE = 76, /* one byte each: language, fixed, head, reason */
    RECORD_AT_BLOCK = 80,    /* CHUNK_NO_TEXT: no text */
    RECORD_AT_OFFSET = 84,   /* in the unpacked block */
    RECORD_AT_SIGNATURE = 88 /* number of its signature */
};
#define CHUNK_MAGIC   "HPCCHUNK"
#define CHUNK_NO_TEXT UINT32_MAX

/* Digest of a header, with its other fields set, and of everything after the blocks. */
static inline hpc_hash128 corpus_chunk_digest(const uint8_t *header, hpc_hash128 tables)
{
    uint8_t all[CHUNK_AT_HASH + 16];
    for (int k = 0; k < CHUNK_AT_HASH; k++) all[k] = header[k];
    hpc_put_hash(all + CHUNK_AT_HASH, tables);
    return hpc_hash_wide(all, sizeof all);
}
/* Reserves n bytes in a buffer for the caller to fill. */
int corpus_reserve(hpc_buf *b, size_t n);

#endif
