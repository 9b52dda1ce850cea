/*
 * kv_store.h: segments of KV caches in files, found by the hash of all tokens up to their end.
 *
 * A segment holds the cache of `segment` tokens that follow a prefix. Texts that begin alike share
 * segments. Files are written atomically with mode 0600 and carry checksums; a damaged file is
 * removed. The least recently used segments go first when the quota is reached. Several processes
 * may share a folder: each keeps the quota for the files that it knows.
 *
 * One thread at a time.
 */
#ifndef HPC_KV_STORE_H
#define HPC_KV_STORE_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_kv_store hpc_kv_store;

typedef struct hpc_kv_store_options {
    const char *folder;   /* created for its owner alone if it does not exist */
    hpc_hash128 identity; /* of the model: segments of others are not found */
    int64_t bytes;        /* quota */
    int64_t expire_s;     /* segments that were not used for so long are removed at opening */
    int64_t segment;      /* tokens of a segment */
} hpc_kv_store_options;

/* Removes expired files and what exceeds the quota. Files of other kinds are left alone. */
int hpc_kv_store_open(hpc_kv_store **out, const hpc_kv_store_options *o);
void hpc_kv_store_close(hpc_kv_store *s);

/* The segment token[n-segment..n-1] after token[0..n-segment-1]; n is a multiple of `segment`. */
bool hpc_kv_store_has(const hpc_kv_store *s, const int32_t *token, int64_t n);
/* Replaces *out. *found false: it is not stored, or its file was damaged and is
 * removed. */
int hpc_kv_store_get(hpc_buf *out, bool *found, hpc_kv_store *s, const int32_t *token, int64_t n);
/* Removes others to keep the quota. A segment that exceeds the quota alone is not stored. */
int hpc_kv_store_put(hpc_kv_store *s, const int32_t *token, int64_t n, const void *data,
                     size_t bytes);

int64_t hpc_kv_store_files(const hpc_kv_store *s);
int64_t hpc_kv_store_bytes(const hpc_kv_store *s); /* of the files */

#ifdef __cplusplus
}
#endif
#endif
