/*
 * packed_priv.h: what a FILE.packed looks like: a head, an entry for each tensor, its
 * config.json, its tokenizer's file as it is, of a tokenizer.json the form that opens at once
 * (hpc_tokenizer_prepare), its metadata (metadata.h), and from a page's begin on the numbers.
 */
#ifndef HPC_MODEL_PACKED_PRIV_H
#define HPC_MODEL_PACKED_PRIV_H

#include "model/packed.h"
#include "tokenizer/tokenizer.h"

enum { MODEL_PACKED_VERSION = 3, MODEL_PACKED_PAGE = 4096 /* of the first number */ };
#define MODEL_PACKED_ORDER 0x01020304u
/* How parameters lie: in panels of 16 rows, and each aligned to so many bytes. */
#define MODEL_PACKED_LAYOUT "panel16/64"
#define MODEL_PACKED_MAGIC  "HPCPACK"
typedef struct model_packed_head { /* numbers are little-endian */
    char magic[8];
    uint32_t order, version; /* order: MODEL_PACKED_ORDER */
    char layout[24];
    uint64_t hash; /* of all that is between it and data_at */
    uint64_t file_bytes, data_at, tensors, config_bytes, tokenizer_bytes, prepared_bytes,
        metadata_bytes;
    char tokenizer[24]; /* its file's name, "": there is none */
    int32_t begin, end, pad;
    uint8_t add_begin, add_end, zero[2];
} model_packed_head;
typedef struct model_packed_entry { /* of a tensor; they follow the head */
    char name[HPC_TENSOR_NAME], dtype[8];
    int64_t extent[2];
    uint64_t at, bytes, hash; /* at: from the file's begin */
    uint32_t rank, pack;
} model_packed_entry; /* then the texts, one behind the other, and zeros up to data_at */
_Static_assert(sizeof(model_packed_head) == 144 && sizeof(model_packed_entry) == 152, "no gaps");
static inline uint64_t model_packed_round(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}
/* As model_safetensors_parse; data is aligned to HPC_ALIGN. */
int model_packed_parse(hpc_packed **out, const void *data, size_t bytes, const char *name);
typedef struct model_packed_tokenizer {
    const char *name;
    const void *data, *prepared; /* NULL: none, it is no tokenizer.json */
    size_t bytes, prepared_bytes;
    hpc_tokenizer_special special; /* those that hpc_tokenizer_set_specials takes */
} model_packed_tokenizer;
const char *model_packed_metadata(size_t *n, const hpc_packed *k); /* JSON, not ended by NUL */
int model_packed_tokenizer_of(model_packed_tokenizer *out, const hpc_packed *k);

#endif
