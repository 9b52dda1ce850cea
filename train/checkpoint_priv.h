/*
 * checkpoint_priv.h: what the files of a checkpoint share: which rank writes
 * which part, the index of a sharded one, and reading out of either kind.
 */
#ifndef HPC_TRAIN_CHECKPOINT_PRIV_H
#define HPC_TRAIN_CHECKPOINT_PRIV_H

#include "train/run_priv.h"

enum {
    CHECKPOINT_PATH = 4096,
    CHECKPOINT_NAME = 64, /* of a file in the folder */
    CHECKPOINT_SAVE = 9,  /* of one saving: eight digits */
    CHECKPOINT_HASH = 33  /* its text */
};

/* FOLDER/NAME. */
int checkpoint_path(char out[CHECKPOINT_PATH], const char *folder, const char *name);
/* "step-00000120.ENDING" */
void checkpoint_name(char out[CHECKPOINT_NAME], int64_t step, const char *ending);
void checkpoint_hash_text(char out[CHECKPOINT_HASH], hpc_hash128 h);
int checkpoint_hash_file(char out[CHECKPOINT_HASH], const char *path);
int checkpoint_hash_read(hpc_hash128 *out, const char *text);

/* ---- the record (checkpoint.c) ----------------------------------------------------------------
 */
/* index: the name of its file; NULL: all is in one. */
int checkpoint_record_put(hpc_buf *out, const hpc_checkpoint *c, const hpc_trainer *t,
                          const char *hash, const char *index);
int checkpoint_record_read(hpc_json **root, hpc_checkpoint *c, const char *folder, int64_t step);
/* Steps of the folder's files step-N.ENDING, ascending. */
int checkpoint_steps(int64_t **out, int64_t *n, const char *folder, const char *ending);

/* ---- the base model (checkpoint_base.c) -------------------------------------------------------
 */
typedef struct checkpoint_base {
    const char *path; /* the record's; NULL: the checkpoint needs none */
    hpc_hash128 hash;
} checkpoint_base;
bool checkpoint_needs_base(const hpc_trainer *t);
/* Writes nothing if t's checkpoints need no base. */
void checkpoint_base_put(hpc_json_out *w, const hpc_trainer *t);
int checkpoint_base_read(checkpoint_base *out, const hpc_json *record);
/* HPC_E_ARG: the weights at `path` have another hash than base b. option: to name a copy with. */
int checkpoint_base_compare(const checkpoint_base *b, const char *path, hpc_hash128 found,
                            const char *option);
/* Opens base b at `path`, or at the recorded one (NULL), and compares. */
int checkpoint_base_open(hpc_weights **out, const checkpoint_base *b, const char *path,
                         const hpc_model_config *c, const char *option);

/* ---- parts (checkpoint_part.c) ---------------------------------------------------------------
 */
/* Rows of a tensor's tile, which are hashed together; where in the whole it lies. */
typedef struct checkpoint_part {
    int64_t tensor; /* its number */
    int file;       /* by the rank that writes it */
    int rank;       /* of the tensor */
    int64_t first[HPC_RANK_MAX], extent[HPC_RANK_MAX];
    uint64_t at; /* in the file; of a list of parts, in the data of its rank */
    size_t bytes;
    hpc_hash128 hash;
} checkpoint_part;

/* What rank `rank` of the grid writes, in the order of its file; tensor: the value, or behind all
 * values the mask (masks: NULL: there are none). Ranks that hold the same rows share them out, each
 * part having one writer. */
int checkpoint_parts(checkpoint_part **out, int64_t *n, const hpc_trainer *t,
                     const hpc_masks *masks, int rank);
int64_t checkpoint_part_elements(const checkpoint_part *p);
/* Where part p, of its `tensor` a value of t, begins in this rank's tile of it, in bytes. */
size_t checkpoint_part_place(const hpc_trainer *t, const checkpoint_part *p);

/* ---- the index (checkpoint_index.c) ----------------------------------------------------------
 */
typedef struct checkpoint_file {
    char name[CHECKPOINT_NAME];
    uint64_t bytes;
} checkpoint_file;
typedef struct checkpoint_tensor {
    const char *name;
    hpc_dtype dtype;
    int rank;
    int64_t extent[HPC_RANK_MAX];
    int64_t part, part_n; /* from and how many, in the index's list */
} checkpoint_tensor;
typedef struct checkpoint_index {
    int64_t step;
    uint64_t run;
    char save[CHECKPOINT_SAVE];
    checkpoint_file *file;
    checkpoint_tensor *tensor;
    checkpoint_part *part; /* tensor by tensor */
    int64_t file_n, tensor_n, part_n;
    hpc_map *by_name;
    hpc_json *root; /* names are its */
} checkpoint_index;
int checkpoint_index_put(hpc_buf *out, const checkpoint_index *x);
int checkpoint_index_read(checkpoint_index *x, const char *path);
void checkpoint_index_release(checkpoint_index *x);

/* ---- reading (checkpoint_read.c) --------------------------------------------------------------
 */
/* All state of a checkpoint, in one file or in many, by name. */
typedef struct checkpoint_state checkpoint_state;
/* `record`: the parsed step-N.json. */
int checkpoint_state_open(checkpoint_state **out, const char *folder, int64_t step,
                          const hpc_json *record);
void checkpoint_state_close(checkpoint_state *s);
int64_t checkpoint_state_n(const checkpoint_state *s);
/* Its name, dtype and shape; false: it is not there. */
bool checkpoint_state_find(hpc_stored_tensor *out, const checkpoint_state *s, const char *name);
/* How many of them are masks: lists of the elements that stay, named by checkpoint_mask_name. */
enum { CHECKPOINT_MASK = HPC_TENSOR_NAME + 16 };
void checkpoint_mask_name(char out[CHECKPOINT_MASK], const hpc_mask *m);
int64_t checkpoint_state_masks(const checkpoint_state *s);
/* Reads and checks all of it. */
int checkpoint_state_check(checkpoint_state *s);
/* The box at `first` of `extent` of a tensor that is there, its rows back to back. Reads and checks
 * what touches it alone. */
int checkpoint_state_read(void *out, checkpoint_state *s, const char *name, const int64_t *first,
                          const int64_t *extent);

#endif
