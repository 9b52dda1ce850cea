/*
 * shard.h: token shards: memory-mapped files of documents with label columns.
 *
 * A data set is a folder of shards ("00000.shard", ...) and an index.json that is
 * written last. A shard is written atomically and records which documents of the data
 * set it holds. An interrupted writer therefore resumes after the last complete shard
 * and writes the same bytes as an uninterrupted one. Files are untrusted: opening
 * verifies every offset and checksum, so that reading tokens later is a plain memory
 * access. Little-endian on every machine.
 */
#ifndef HPC_SHARD_H
#define HPC_SHARD_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HPC_SHARD_VERSION = 1, HPC_SHARD_COLUMNS = 16 };
typedef enum hpc_shard_type { HPC_SHARD_I32, HPC_SHARD_I64, HPC_SHARD_F32 } hpc_shard_type;
typedef struct hpc_shard_column { /* one value per document: a label, a length, a source */
    char name[32];
    hpc_shard_type type;
} hpc_shard_column;
typedef struct hpc_shard_spec { /* common to all shards of a data set */
    int64_t vocabulary;         /* every token is below it; up to 65536: two bytes per token */
    hpc_hash128 tokenizer;      /* hash of the tokenizer */
    char task[16];              /* "code", "pragma", "perf" */
    int64_t seed;
    int64_t columns_n;
    hpc_shard_column column[HPC_SHARD_COLUMNS];
} hpc_shard_spec;

/* ---- writing ------------------------------------------------------------------- */
typedef struct hpc_shard_writer hpc_shard_writer;
/* resume: validates and keeps existing shards of the same spec; *documents is the number of
 * documents in them. Everything from the first damaged or missing shard on is written again. An
 * existing data set is an error without `resume`, with another spec or of a newer version; the
 * error names the difference. shard_tokens: tokens after which a shard is closed (0: 2^26). */
int hpc_shard_create(hpc_shard_writer **out, int64_t *documents, const char *folder,
                     const hpc_shard_spec *spec, int64_t shard_tokens, bool resume);
/* The damaged or missing part that is written again, as one line; NULL: none. */
const char *hpc_shard_damage(const hpc_shard_writer *w);
/* value: columns_n values, each as a double that its type can hold exactly. */
int hpc_shard_add(hpc_shard_writer *w, const int32_t *token, int64_t n, const double *value);
/* Closes the last shard and writes index.json; `facts` (an object, or NULL) goes into it. */
int hpc_shard_finish(hpc_shard_writer *w, const char *facts);
typedef struct hpc_shard_counts {
    int64_t documents, tokens, shards, bytes; /* of whole shards, kept ones included */
} hpc_shard_counts;
hpc_shard_counts hpc_shard_written(const hpc_shard_writer *w);
void hpc_shard_discard(hpc_shard_writer *w); /* always call it last; discards an incomplete shard */

/* ---- reading ------------------------------------------------------------------- */
typedef struct hpc_shards hpc_shards;
typedef struct hpc_document {
    const void *token; /* uint16_t or uint32_t, aligned */
    int width;         /* 2 or 4 */
    int64_t n;
    int64_t shard;
} hpc_document;
/* Opens a folder with an index, or a single shard. Errors: a newer version (HPC_E_UNSUPPORTED),
 * a truncated or damaged section, a token beyond the vocabulary, and, unless `tokenizer` is
 * NULL, another tokenizer. A mapped shard must not be truncated while it is open. */
int hpc_shards_open(hpc_shards **out, const char *path, const hpc_hash128 *tokenizer);
void hpc_shards_close(hpc_shards *s);
const hpc_shard_spec *hpc_shards_spec(const hpc_shards *s);
int64_t hpc_shards_n(const hpc_shards *s);        /* documents */
int64_t hpc_shards_tokens_n(const hpc_shards *s); /* total number of tokens */
uint64_t hpc_shards_hash(const hpc_shards *s);    /* of the contents */
/* i must be in 0 .. n-1. */
hpc_document hpc_shards_document(const hpc_shards *s, int64_t i);
int32_t hpc_document_token(const hpc_document *d, int64_t k);
double hpc_shards_value(const hpc_shards *s, int64_t column, int64_t i);
int64_t hpc_shards_column(const hpc_shards *s, const char *name); /* -1: no such column */
/* The document with token t of the data set, 0 <= t < tokens_n; *begin: its first token. */
int64_t hpc_shards_find(int64_t *begin, const hpc_shards *s, int64_t t);

#ifdef __cplusplus
}
#endif
#endif
