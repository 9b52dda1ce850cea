/*
 * packed_priv.h: format of FILE.packed: a header, one entry per tensor, config.json, the tokenizer
 * file, the prepared form of a tokenizer.json (hpc_tokenizer_prepare), metadata (metadata.h), and,
 * from a page boundary, the parameters.
 */
#ifndef HPC_MODEL_PACKED_PRIV_H
#define HPC_MODEL_PACKED_PRIV_H

#include "model/packed.h"
#include "tokenizer/tokenizer.h"

enum { MODEL_PACKED_VERSION = 3, MODEL_PACKED_PAGE = 4096 /* alignment of the first parameter */ };
#define MODEL_PACKED_ORDER 0x01020304u
/* Parameter layout: panels of 16 rows, each tensor aligned to 64 bytes. */
#define MODEL_PACKED_LAYOUT "panel16/64"
#define MODEL_PACKED_MAGIC  "HPCPACK"
typedef struct model_packed_head { /* numbers are little-endian */
    char magic[8];
    uint32_t order, version; /* order: MODEL_PACKED_ORDER */
    char layout[24];
    uint64_t hash; /* of all bytes between this header and data_at */
    uint64_t file_bytes, data_at, tensors, config_bytes, tokenizer_bytes, prepared_bytes,
        metadata_bytes;
    char tokenizer[24]; /* file name; "": none */
    int32_t begin, end, pad;
    uint8_t add_begin, add_end, zero[2];
} model_packed_head;
typedef struct model_packed_entry { /* one per tensor, after the header */
    char name[HPC_TENSOR_NAME], dtype[8];
    int64_t extent[2];
    uint64_t at, bytes, hash; /* at: offset in the file */
    uint16_t rank, batch;     /* batch > 0: so many matrices, each padded to whole panels */
    uint32_t pack;
} model_packed_entry; /* then the texts, contiguous, and zeros up to data_at */
_Static_assert(sizeof(model_packed_head) == 144 && sizeof(model_packed_entry) == 152, "no gaps");
static inline uint64_t model_packed_round(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}
/* Like model_safetensors_parse; `data` is aligned to HPC_ALIGN. */
int model_packed_parse(hpc_packed **out, const void *data, size_t bytes, const char *name);
typedef struct model_packed_tokenizer {
    const char *name;
    const void *data, *prepared; /* NULL: not a tokenizer.json */
    size_t bytes, prepared_bytes;
    hpc_tokenizer_special special; /* for hpc_tokenizer_set_specials */
} model_packed_tokenizer;
const char *model_packed_metadata(size_t *n, const hpc_packed *k); /* JSON, not NUL-terminated */
int model_packed_tokenizer_of(model_packed_tokenizer *out, const hpc_packed *k);

#endif
