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
    bool *keeps;     /* by value: state that goes into a checkpoint */
    hpc_type *whole; /* by value: its type on all ranks together */
    int part, parts; /* of a microbatch's rows, this rank's and how many */
    uint64_t begun;  /* a hash of what all state began as, on all ranks together */
    int64_t zero;    /* hpc_clock_ns when all ranks had opened theirs */
};

enum { RUN_PATH = 4096 };

/* The tokenizer's files into a model directory, under the names that they have in one. */
int run_tokens_copy(const hpc_run_tokens *k, const char *dir);

/* ---- on many ranks (ranks.c) ------------------------------------------------------------------
 */
/* This rank's tile of v out of all of it, elements of `element` bytes. */
void trainer_cut(void *tile, const hpc_trainer *t, hpc_value v, const void *all, size_t element);
/* Where that tile begins in it. */
void trainer_first(int64_t first[HPC_RANK_MAX], const hpc_trainer *t, hpc_value v);
/* All of v, as it is stored. On the first rank, while the others attend. */
int trainer_fetch(void *out, const hpc_trainer *t, hpc_value v);
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

#endif
