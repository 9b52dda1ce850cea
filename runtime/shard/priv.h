/*
 * priv.h: the layout of a shard file, and what the files of this folder share.
 *
 * A file is a header, the tokens, the offsets of the documents (one more than there are
 * documents) and one section for each column; each begins at a multiple of 64 bytes, the bytes
 * between are zero. Sizes and places follow from the counts in the header; a file that says
 * otherwise is damaged. The bytes of a file are used where they lie.
 */
#ifndef HPC_SHARD_PRIV_H
#define HPC_SHARD_PRIV_H

#include "runtime/shard/shard.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "shards are read where they lie");

enum {
    SHARD_ALIGN = 64,
    SHARD_BLOCK = 1 << 18,     /* hashed at a time; stays in the second-level cache */
    SHARD_DOCUMENTS = 1 << 24, /* a shard is also closed when it holds so many */
    SHARD_SECTIONS = 2 + HPC_SHARD_COLUMNS
};
enum { SHARD_TOKENS, SHARD_OFFSETS, SHARD_COLUMN }; /* sections; columns from SHARD_COLUMN on */
#define SHARD_MAGIC     "hpcshard"
#define SHARD_MOST      ((int64_t)1 << 44) /* tokens or documents, far above any disk */
#define SHARD_TOKENS_N  ((int64_t)1 << 26) /* tokens in a shard by default */
#define SHARD_INDEX     "index.json"
#define SHARD_FORMAT    "hpccoder token shards"
#define SHARD_EXACT_I64 ((double)(1ll << 53)) /* beyond it a double skips integers */

typedef struct shard_header { /* as in the file, little-endian */
    char magic[8];
    uint32_t version, header_bytes;
    uint64_t bytes; /* of the file */
    int64_t number, first, documents, tokens, shard_tokens;
    int64_t vocabulary, seed;
    uint64_t tokenizer[2];
    char task[16];
    uint32_t width, columns_n;
    struct {
        char name[32];
        uint32_t type, unused;
    } column[HPC_SHARD_COLUMNS];
    struct {
        uint64_t at, bytes, hash;
    } section[SHARD_SECTIONS];
    uint64_t unused[2];
    uint64_t hash; /* of everything above it, and so of the whole file */
} shard_header;
_Static_assert(sizeof(shard_header) == 19 * SHARD_ALIGN, "a header has no holes");

typedef struct shard_image { /* a whole shard in memory, proven right */
    shard_header header;
    const void *token;
    const uint64_t *offset;
    const void *column[HPC_SHARD_COLUMNS];
} shard_image;

/* The entry of one shard in index.json. */
typedef struct shard_entry {
    int64_t documents, tokens, bytes;
    uint64_t hash;
} shard_entry;
typedef struct shard_index {
    hpc_shard_spec spec;
    int64_t shard_tokens;
    shard_entry *entry;
    int64_t n, cap;
} shard_index;

/* ---- format.c ---- */
int shard_spec_check(int code, const hpc_shard_spec *s); /* fails with `code` */
/* HPC_E_ARG that names what differs between the data set at `name` and what is asked for. */
int shard_spec_same(const hpc_shard_spec *has, const hpc_shard_spec *asked, const char *name);
int shard_tokenizer_same(hpc_hash128 has, hpc_hash128 asked, const char *name);
size_t shard_type_bytes(hpc_shard_type t);
const char *shard_type_name(hpc_shard_type t);
int shard_type_named(hpc_shard_type *out, const char *name); /* HPC_E_FORMAT */
/* From documents, tokens and the specification: width, bytes and every section but its hash. */
void shard_header_fill(shard_header *h, const hpc_shard_spec *s);
void shard_header_spec(hpc_shard_spec *out, const shard_header *h);
uint64_t shard_header_hash(const shard_header *h);
/* True if a shard with these counts is complete. */
bool shard_is_full(int64_t documents, int64_t tokens, int64_t shard_tokens);
/* One block after the other, each seeded with the hash so far; the hash of nothing is 0. */
uint64_t shard_hash(const void *data, size_t bytes);
int shard_path(hpc_buf *out, const char *folder, int64_t number); /* replaces */

/* ---- image.c ---- */
/* Proves everything about the bytes, which are aligned to 8 and outlive the image. `name` is for
 * messages. */
int shard_check(shard_image *out, const uint8_t *data, size_t bytes, const char *name);

/* ---- index.c ---- */
int shard_index_add(shard_index *x, const shard_header *h);
int shard_index_save(const shard_index *x, const char *folder, const char *facts);
int shard_index_read(shard_index *out, const char *folder);
void shard_index_release(shard_index *x);
/* HPC_E_FORMAT when a shard is not what entry `number` says. */
int shard_index_match(const shard_index *x, int64_t number, const shard_header *h,
                      const char *name);

#endif
