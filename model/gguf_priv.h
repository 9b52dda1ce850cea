/*
 * gguf_priv.h: types of GGUF files, and an open file, for the files that read and write GGUF.
 */
#ifndef HPC_MODEL_GGUF_PRIV_H
#define HPC_MODEL_GGUF_PRIV_H

#include "model/priv.h"

enum { GGUF_RANK_MOST = 4 };

typedef struct model_gguf_type {
    uint32_t number;
    const char *name;
    int64_t block;
    size_t bytes; /* per block */
    int ours;     /* hpc_dtype, or -1 */
} model_gguf_type;
const model_gguf_type *model_gguf_type_of(hpc_dtype dtype); /* NULL: no such type */

typedef struct gguf_entry {
    const char *name;
    const model_gguf_type *type;
    int rank;
    int64_t extent[GGUF_RANK_MOST]; /* ours: the last one is contiguous */
    uint64_t from, bytes;           /* in the data of its file */
    const hpc_gguf *file;           /* that holds the data: a part of a split model */
} gguf_entry;

struct hpc_gguf {
    hpc_file_view view;
    hpc_arena *arena; /* names, and the two lists */
    hpc_map *keys, *names;
    hpc_gguf_value *value;
    gguf_entry *entry;
    int64_t values, n;
    const uint8_t *data;
    int64_t split_n, split_no; /* keys of a split model: number of files, and which one it is */
    hpc_gguf **part;           /* of a split model: the other files, from the second one on */
    int64_t part_n;
    char path[512]; /* for messages */
};

/* Opens one file, which may be a part of a split model. */
int model_gguf_open_file(hpc_gguf **out, const char *path);
/* If *g is a part of a split model, opens the other parts and makes *g the whole: the first part
 * with the tensors of all. Takes *g; it is NULL after an error. */
int model_gguf_join(hpc_gguf **g, const char *path);

#endif
