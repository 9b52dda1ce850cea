/*
 * run_priv.h: the trainer's state and helpers, shared by trainer, run and checkpoint files.
 */
#ifndef HPC_TRAIN_RUN_PRIV_H
#define HPC_TRAIN_RUN_PRIV_H

#include "train/run.h"

/* A copy of state in host memory that the device's queues fill during later steps. */
typedef struct trainer_copy {
    void *data; /* of hpc_device_host_alloc, kept for the next checkpoint */
    size_t bytes;
    bool reading; /* a step must not write state before hpc_exec_snapshot_end */
} trainer_copy;

/* Offloaded state, in a mapped file, or in pinned memory of a device that reads it. */
typedef struct trainer_outside {
    void *data;
    bool pinned;
    size_t bytes;
    hpc_lent *lent; /* [lent_n] */
    int64_t lent_n;
} trainer_outside;

struct hpc_trainer {
    hpc_trainer_options o;
    hpc_program *p;
    hpc_device *device;
    hpc_exec *exec;
    hpc_step io;
    hpc_batch **batch; /* the batches of a step */
    void *real;        /* buffer for weights and losses: f64 if `wide`, else f32 */
    bool wide;         /* the model computes in f64 */
    int32_t *start;    /* starts of the sequences in this rank's rows */
    int64_t losses;    /* number of losses in a microbatch, over all ranks */
    bool dry;
    hpc_trainer_plan plan;
    bool *keeps;                 /* by value: must persist between steps */
    bool *from_base;             /* by value: a frozen parameter read from o.init */
    hpc_weights *base;           /* of o.init while the trainer opens, or NULL */
    bool stores_base;            /* checkpoints include those, like the checkpoint loaded */
    hpc_hash128 base_hash;       /* their trainer_base_hash */
    hpc_type *whole;             /* by value: its type over all ranks */
    hpc_train_plan *value;       /* the plan, as checkpoints record it */
    hpc_task *task;              /* this rank's list of it, with segments of p */
    int part, parts;             /* this rank's part of a microbatch's rows, and their number */
    uint64_t begun;              /* hash of the initial state over all ranks */
    int64_t zero;                /* hpc_clock_ns when all ranks had opened theirs */
    int64_t stepped, stepped_ns; /* steps since opening, and their time */
    bool writes_early;           /* gradients are added to state that checkpoints store */
    bool torn;                   /* an update has begun and not ended: state is of no step */
    trainer_copy *copy;          /* of state, for checkpoints */
    trainer_outside *outside;    /* offloaded state; NULL: none */
};

enum { RUN_PATH = 4096 };

/* ---- products of a run (run_products.c) ------------------------------------------------------ */
/* Opens the trainer with the algorithms of FOLDER/products.json, if it exists; the first rank
 * writes the file. */
int run_products_open(hpc_trainer **out, hpc_trainer_options *o, const char *folder, bool leads);

/* ---- pruning of a run (run_prune.c) ---------------------------------------------------------- */
typedef struct run_prune {
    const hpc_prune_config *o;
    hpc_masks *masks; /* the newest masks; NULL: none */
    double sparsity;  /* of masks from a checkpoint */
    int64_t agreed;
    bool frozen;
    int64_t drawn; /* step after which this process selected them; -1: none */
} run_prune;
/* Before the trainer is opened: restores the pruning state of a resumed run. */
int run_prune_open(run_prune *p, const hpc_training_options *o, const char *checkpoints);
void run_prune_close(run_prune *p);
/* Call before step `step` + 1. Selects masks if they are due. Returns 1 if they are final: the
 * trainer must then be reopened with them. say: a message for the user, or "". */
int run_prune_draw(run_prune *p, char say[160], const hpc_trainer *t, int64_t step);
/* At the end of a run: the reason that nothing was pruned, or NULL. */
const char *run_prune_missed(const run_prune *p);
/* Sets the pruning members of a checkpoint. */
void run_prune_tell(hpc_checkpoint *c, const run_prune *p);

/* The data and the trainers of all ranks are the same (run_same.c). */
int run_same_data(const hpc_loader *data, const hpc_loader *validation, hpc_grid *grid);
int run_same_trainer(const hpc_trainer *t);

/* Checks that options are consistent and suit the model's head (trainer_check.c). */
int trainer_check(const hpc_trainer_options *o);

/* Copies the tokenizer's files into a model directory under their standard names. */
int run_tokens_copy(const hpc_run_tokens *k, const char *dir);

/* ---- offload (offload.c) --------------------------------------------------------------------- */
/* The last pass over the program, and the state that it keeps outside. */
int trainer_offload(hpc_trainer *t);
int64_t trainer_offload_bucket(const hpc_trainer_options *o); /* elements; 0: no offload */
/* Makes the file, to be lent to the executor. */
int trainer_offload_open(hpc_trainer *t);
void trainer_offload_close(hpc_trainer *t);

/* ---- many ranks (ranks.c) -------------------------------------------------------------------- */
/* Type of this rank's tile of v in a checkpoint; for picked state, that of the dense parameter. */
hpc_type trainer_tile(const hpc_trainer *t, hpc_value v);
/* Position of that tile in the whole tensor. */
void trainer_first(int64_t first[HPC_RANK_MAX], const hpc_trainer *t, hpc_value v);
/* Writes a tile to v. For a pruned parameter, elements that are not picked become zero, in `tile`
 * also. A master of the same type is then written with it. */
int trainer_put_tile(hpc_trainer *t, hpc_value v, uint8_t *tile);
/* Writes this rank's tile of v from the whole tensor. */
int trainer_put(hpc_trainer *t, hpc_value v, const void *all);
/* Reads this rank's tile of v; collective if trainer_shares(t, v). */
int trainer_get_tile(uint8_t *tile, const hpc_trainer *t, hpc_value v);
bool trainer_shares(const hpc_trainer *t, hpc_value v);
const hpc_grid_shape *trainer_shape(const hpc_trainer *t);
void trainer_coord(int coord[HPC_AXIS_N], const hpc_trainer *t);

/* ---- pruned parameters (picked.c) ------------------------------------------------------------ */
/* The parameter that picked state v belongs to; HPC_NONE for other state and for indices. */
hpc_value trainer_dense_of(const hpc_trainer *t, hpc_value v);
/* Sets t->keeps: all state except gradients, copies and indices, which can be recomputed. */
int trainer_find_kept(hpc_trainer *t);
/* Is v picked state that is derived from its parameter, so no checkpoint needs it? */
bool trainer_derives(const hpc_trainer *t, hpc_value v);
/* Convert a parameter's tile between dense and picked form; elements of `element` bytes. */
int trainer_write_picked(hpc_trainer *t, hpc_value v, const uint8_t *tile, size_t element);
int trainer_read_picked(uint8_t *tile, const hpc_trainer *t, hpc_value v);
/* Sets elements that are not picked to zero. */
int trainer_zero_others(const hpc_trainer *t, hpc_value param, uint8_t *tile, size_t element);
int trainer_write_indices(hpc_trainer *t);
/* Reads all of v on the first rank, while the others are in trainer_attend. */
int trainer_fetch(void *out, const hpc_trainer *t, hpc_value v);
/* Reads all of v on every rank; collective, with the same v. */
int trainer_gather(void *out, const hpc_trainer *t, hpc_value v);
/* Broadcasts a number from the first rank. */
int trainer_tell(const hpc_trainer *t, int64_t *word);
/* Replaces each of n <= 4 numbers with its maximum over ranks. */
int trainer_any(const hpc_trainer *t, int64_t *word, int n);
/* trainer_attend serves trainer_fetch on other ranks until the first rank calls trainer_dismiss. */
int trainer_attend(const hpc_trainer *t);
int trainer_dismiss(const hpc_trainer *t);
bool trainer_leads(const hpc_trainer *t); /* first rank, or the only one */
/* After writing parameters: gathers those that are kept gathered. */
int trainer_written(const hpc_trainer *t);
/* Returns the error of the first rank that has one, on all ranks (hpc_link_agree). */
int trainer_agree(const hpc_trainer *t, int rc);
/* Writes the row indices of repeated keys on this rank; needed once. */
int trainer_write_row_indices(hpc_trainer *t);
/* Bytes that this rank has sent. */
int64_t trainer_sent(const hpc_trainer *t);
/* Number of times that a step runs a segment. */
int64_t trainer_times(const hpc_trainer *t, int segment);
/* trace.c: event capacity for `steps` steps, and a common start time for all ranks. */
int64_t trainer_events(const hpc_trainer *t, int64_t steps);
int trainer_begin(hpc_trainer *t);
/* Sums n numbers, at most TRAINER_SUMS, over the ranks that split the rows. */
enum { TRAINER_SUMS = 3 };
int trainer_sum(double *x, int n, const hpc_trainer *t);

/* Coordinate on the pipe axis. */
static inline int trainer_stage(const hpc_trainer *t)
{
    return t->o.grid ? hpc_grid_coord(t->o.grid, HPC_AXIS_PIPE) : 0;
}

static inline bool trainer_keeps(const hpc_trainer *t, hpc_value v)
{
    return t->keeps[v];
}

/* State to store in a checkpoint. */
static inline bool trainer_stores(const hpc_trainer *t, hpc_value v)
{
    return t->keeps[v] && (t->stores_base || !t->from_base[v]);
}

/* ---- initial state and export (trainer_state.c) ---------------------------------------------- */
/* The table's row of a parameter or of its master; NULL for other state. */
const hpc_model_tensor *trainer_tensor_of(const hpc_model_tensor *tensor, int64_t n,
                                          const hpc_program *p, hpc_value v);
/* The type in which a frozen matrix is kept: that of its file, if it is whole on this rank. user:
 * the trainer. */
hpc_dtype trainer_frozen_type(const hpc_model_tensor *row, void *user);
int trainer_write_state(hpc_trainer *t);

/* ---- the base model of adapters (checkpoint_base.c) ------------------------------------------ */
/* Is tensor `row` left to the base model w by checkpoints? */
bool trainer_is_base(const hpc_weights *w, const hpc_model_tensor *row);
/* Hash of a base: over the hashes of its tensors in table order; absent tensors have zeros. */
hpc_hash128 trainer_base_hash(const hpc_hash128 *tensor, int64_t n);

#endif
