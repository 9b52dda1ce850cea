/*
 * checkpoint_priv.h: shared by the checkpoint files: the record, the base model, assignment of
 * parts to ranks, the index, and reading of single-file and sharded checkpoints.
 */
#ifndef HPC_TRAIN_CHECKPOINT_PRIV_H
#define HPC_TRAIN_CHECKPOINT_PRIV_H

#include "train/run_priv.h"

enum {
    CHECKPOINT_PATH = 4096,
    CHECKPOINT_NAME = 64, /* size of a file name in the folder */
    CHECKPOINT_SAVE = 9,  /* size of a saving's identifier, eight digits */
    CHECKPOINT_HASH = 33  /* size of a hash as text */
};

/* FOLDER/NAME. */
int checkpoint_path(char out[CHECKPOINT_PATH], const char *folder, const char *name);
/* "step-00000120.ENDING" */
void checkpoint_name(char out[CHECKPOINT_NAME], int64_t step, const char *ending);
void checkpoint_hash_text(char out[CHECKPOINT_HASH], hpc_hash128 h);
int checkpoint_hash_file(char out[CHECKPOINT_HASH], const char *path);
int checkpoint_hash_read(hpc_hash128 *out, const char *text);

/* ---- the record (checkpoint.c) --------------------------------------------------------------- */
/* index: file name of the index; NULL: single-file checkpoint. */
int checkpoint_record_put(hpc_buf *out, const hpc_checkpoint *c, const hpc_trainer *t,
                          const char *hash, const char *index);
int checkpoint_record_read(hpc_json **root, hpc_checkpoint *c, const char *folder, int64_t step);
/* Steps of the folder's files step-N.ENDING, ascending. */
int checkpoint_steps(int64_t **out, int64_t *n, const char *folder, const char *ending);

/* ---- the base model (checkpoint_base.c) ------------------------------------------------------ */
typedef struct checkpoint_base {
    const char *path; /* from the record; NULL: no base needed */
    hpc_hash128 hash;
} checkpoint_base;
bool checkpoint_needs_base(const hpc_trainer *t);
/* Writes nothing if t's checkpoints need no base. */
void checkpoint_base_put(hpc_json_out *w, const hpc_trainer *t);
int checkpoint_base_read(checkpoint_base *out, const hpc_json *record);
/* HPC_E_ARG if `found`, the hash of the weights at `path`, differs from base b's. option: the
 * option to name in the message. */
int checkpoint_base_compare(const checkpoint_base *b, const char *path, hpc_hash128 found,
                            const char *option);
/* Opens base b at `path`, or at the recorded path (NULL), and checks its hash. */
int checkpoint_base_open(hpc_weights **out, const checkpoint_base *b, const char *path,
                         const hpc_model_config *c, const char *option);

/* ---- parts (checkpoint_part.c) --------------------------------------------------------------- */
/* A box of a tensor: rows of one rank's tile that are hashed together. */
typedef struct checkpoint_part {
    int64_t tensor; /* number of the tensor */
    int file;       /* number of the file: the rank that writes it */
    int rank;       /* dimensions of the tensor */
    int64_t first[HPC_RANK_MAX], extent[HPC_RANK_MAX];
    uint64_t at; /* offset in the file; in a list of parts, in the rank's data */
    size_t bytes;
    hpc_hash128 hash;
} checkpoint_part;

/* Lists the parts that rank `rank` writes, in file order. `tensor` numbers the values, then the
 * masks (masks NULL: none). Ranks that hold the same rows divide them; each part has one writer. */
int checkpoint_parts(checkpoint_part **out, int64_t *n, const hpc_trainer *t,
                     const hpc_masks *masks, int rank);
int64_t checkpoint_part_elements(const checkpoint_part *p);
/* Byte offset of part p in this rank's tile of value p->tensor. */
size_t checkpoint_part_place(const hpc_trainer *t, const checkpoint_part *p);

/* ---- the index (checkpoint_index.c) ---------------------------------------------------------- */
typedef struct checkpoint_file {
    char name[CHECKPOINT_NAME];
    uint64_t bytes;
} checkpoint_file;
typedef struct checkpoint_tensor {
    const char *name;
    hpc_dtype dtype;
    int rank;
    int64_t extent[HPC_RANK_MAX];
    int64_t part, part_n; /* first part and number of parts in the index's list */
} checkpoint_tensor;
typedef struct checkpoint_index {
    int64_t step;
    uint64_t run;
    char save[CHECKPOINT_SAVE];
    checkpoint_file *file;
    checkpoint_tensor *tensor;
    checkpoint_part *part; /* sorted by tensor */
    int64_t file_n, tensor_n, part_n;
    hpc_map *by_name;
    hpc_json *root; /* owns the names */
} checkpoint_index;
int checkpoint_index_put(hpc_buf *out, const checkpoint_index *x);
int checkpoint_index_read(checkpoint_index *x, const char *path);
void checkpoint_index_release(checkpoint_index *x);

/* ---- reading (checkpoint_read.c) ------------------------------------------------------------- */
/* The state of a checkpoint by name, single-file or sharded. */
typedef struct checkpoint_state checkpoint_state;
/* `record`: the parsed step-N.json. */
int checkpoint_state_open(checkpoint_state **out, const char *folder, int64_t step,
                          const hpc_json *record);
void checkpoint_state_close(checkpoint_state *s);
int64_t checkpoint_state_n(const checkpoint_state *s);
/* Gives name, dtype and shape; false: no such state. */
bool checkpoint_state_find(hpc_stored_tensor *out, const checkpoint_state *s, const char *name);
/* Number of masks: lists of the elements that stay, named by checkpoint_mask_name. */
enum { CHECKPOINT_MASK = HPC_TENSOR_NAME + 16 };
void checkpoint_mask_name(char out[CHECKPOINT_MASK], const hpc_mask *m);
int64_t checkpoint_state_masks(const checkpoint_state *s);
/* Reads everything and checks all hashes. */
int checkpoint_state_check(checkpoint_state *s);
/* Reads the box at `first` of `extent` of an existing tensor, rows contiguous. Reads and checks
 * only parts that intersect the box. */
int checkpoint_state_read(void *out, checkpoint_state *s, const char *name, const int64_t *first,
                          const int64_t *extent);

#endif
