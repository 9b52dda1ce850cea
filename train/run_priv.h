/*
 * run_priv.h: a trainer's inside, for its checkpoints.
 */
#ifndef HPC_TRAIN_RUN_PRIV_H
#define HPC_TRAIN_RUN_PRIV_H

#include "train/run.h"

struct hpc_trainer {
    hpc_trainer_options o;
    hpc_program *p;
    hpc_device *device;
    hpc_exec *exec;
    hpc_step io;
    hpc_batch **batch; /* of a step */
    void *real;        /* weights, and losses read back: of wide or f32 */
    bool wide;         /* the model computes in f64 */
    int32_t *start;    /* of the sequences in this rank's rows */
    int64_t losses;    /* of a microbatch, on all ranks */
    bool dry;
    hpc_trainer_plan plan;
    bool *keeps;           /* by value: state between steps */
    bool *from_base;       /* by value: a frozen parameter that was read from o.init */
    bool stores_base;      /* checkpoints hold those, as the one does that was loaded */
    hpc_hash128 base_hash; /* of those: trainer_base_hash */
    hpc_type *whole;       /* by value: its type on all ranks together */
    int part, parts;       /* of a microbatch's rows, this rank's and how many */
    uint64_t begun;        /* a hash of what all state began as, on all ranks together */
    int64_t zero;          /* hpc_clock_ns when all ranks had opened theirs */
};

enum { RUN_PATH = 4096 };

/* ---- pruning of a run (run_prune.c) ------------------------------------------------------------
 */
typedef struct run_prune {
    const hpc_prune_config *o;
    hpc_masks *masks; /* the last that were drawn; NULL: none */
    double sparsity;  /* of those, where they come from a checkpoint */
    int64_t agreed;
    bool frozen;
    int64_t drawn; /* the step behind which they were, in this process; -1: in none */
} run_prune;
/* Before the trainer is opened: what a run that goes on has done of it. */
int run_prune_open(run_prune *p, const hpc_training_options *o, const char *checkpoints);
void run_prune_close(run_prune *p);
/* Before step `step` + 1: 1 when masks were drawn that are to be frozen. say: a line for a person,
 * "" for none. */
int run_prune_draw(run_prune *p, char say[160], const hpc_trainer *t, int64_t step);
/* At the end of a run: why nothing was pruned, or NULL. */
const char *run_prune_missed(const run_prune *p);
/* What a checkpoint holds of it. */
void run_prune_tell(hpc_checkpoint *c, const run_prune *p);

/* Whether options fit together and suit the model's head (trainer_check.c). */
int trainer_check(const hpc_trainer_options *o);

/* The tokenizer's files into a model directory, under the names that they have in one. */
int run_tokens_copy(const hpc_run_tokens *k, const char *dir);

/* ---- on many ranks (ranks.c) ------------------------------------------------------------------
 */
/* This rank's tile of v, as it is stored: of picked state the parameter's, zeros and all. */
hpc_type trainer_tile(const hpc_trainer *t, hpc_value v);
/* Where that tile begins in the whole. */
void trainer_first(int64_t first[HPC_RANK_MAX], const hpc_trainer *t, hpc_value v);
/* Into v: of a pruned parameter what is not picked becomes zero, also in `tile`, and of one that is
 * its own master, that is written too. */
int trainer_put_tile(hpc_trainer *t, hpc_value v, uint8_t *tile);
/* The same out of all of it. */
int trainer_put(hpc_trainer *t, hpc_value v, const void *all);
/* Out of v; collective where trainer_shares says so. */
int trainer_get_tile(uint8_t *tile, const hpc_trainer *t, hpc_value v);
bool trainer_shares(const hpc_trainer *t, hpc_value v);
const hpc_grid_shape *trainer_shape(const hpc_trainer *t);
void trainer_coord(int coord[HPC_AXIS_N], const hpc_trainer *t);

/* ---- pruned parameters (picked.c) ------------------------------------------------------------
 */
/* The parameter whose elements state v is, picked, or HPC_NONE; indices are of none. */
hpc_value trainer_dense_of(const hpc_trainer *t, hpc_value v);
/* Fills in keeps: all state but gradients, rounded or not, of which nothing is needed between
 * steps, copies, and indices, which masks are. */
int trainer_find_kept(hpc_trainer *t);
bool trainer_derives(const hpc_trainer *t, hpc_value v); /* such state that no checkpoint needs */
/* A parameter's part between dense and picked, of elements of `element` bytes. */
int trainer_write_picked(hpc_trainer *t, hpc_value v, const uint8_t *tile, size_t element);
int trainer_read_picked(uint8_t *tile, const hpc_trainer *t, hpc_value v);
/* Zeros where nothing is picked. */
int trainer_zero_others(const hpc_trainer *t, hpc_value param, uint8_t *tile, size_t element);
int trainer_write_indices(hpc_trainer *t);
/* All of v, as it is stored. On the first rank, while the others attend. */
int trainer_fetch(void *out, const hpc_trainer *t, hpc_value v);
/* The same on all ranks at once, which name the same v. */
int trainer_gather(void *out, const hpc_trainer *t, hpc_value v);
/* What the first rank says to all. */
int trainer_tell(const hpc_trainer *t, int64_t *word);
/* Each of n <= 4 numbers becomes the largest that a rank has there. */
int trainer_any(const hpc_trainer *t, int64_t *word, int n);
/* What the others do until the first dismisses them; and that. */
int trainer_attend(const hpc_trainer *t);
int trainer_dismiss(const hpc_trainer *t);
bool trainer_leads(const hpc_trainer *t); /* it is the first rank, or the only one */
/* Parameters were written: what is kept gathered of them is gathered. */
int trainer_written(const hpc_trainer *t);
/* Whether all ranks can go on: what the first that cannot says, on all (hpc_link_agree). */
int trainer_agree(const hpc_trainer *t, int rc);
/* Which rows of the keys' projection are this rank's, where they are repeated: never written again.
 */
int trainer_write_kv_rows(hpc_trainer *t);
/* Bytes that this rank has sent. */
int64_t trainer_sent(const hpc_trainer *t);
int64_t trainer_times(const hpc_trainer *t, int segment); /* that a step runs it */
/* trace.c: room for the events of `steps` steps; and the time that all agree to begin at. */
int64_t trainer_events(const hpc_trainer *t, int64_t steps);
int trainer_begin(hpc_trainer *t);
/* The sum over those that share the rows. */
int trainer_sum(double *x, const hpc_trainer *t);

static inline bool trainer_keeps(const hpc_trainer *t, hpc_value v)
{
    return t->keeps[v];
}

/* State that goes into a checkpoint. */
static inline bool trainer_stores(const hpc_trainer *t, hpc_value v)
{
    return t->keeps[v] && (t->stores_base || !t->from_base[v]);
}

/* ---- the base model of adapters (checkpoint_base.c) -------------------------------------------
 */
/* Whether checkpoints leave tensor `row` to the base model w. */
bool trainer_is_base(const hpc_weights *w, const hpc_model_tensor *row);
/* The hash of a base: of its tensors' hashes in the table's order, zeros where it has none. */
hpc_hash128 trainer_base_hash(const hpc_hash128 *tensor, int64_t n);

#endif
