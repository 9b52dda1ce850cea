/*
 * run.h: a trainer, which takes steps; its checkpoints; and a run, which takes
 * all of them, validates, saves, stops when asked and goes on where it was.
 *
 * A run's folder: config.json (the resolved configuration), metrics.csv, event
 * files, checkpoints/, model/ (the last parameters, as a model directory) and
 * best/ (those of the least validation loss).
 */
#ifndef HPC_TRAIN_RUN_H
#define HPC_TRAIN_RUN_H

#include "tokenizer/tokenizer.h"
#include "train/metrics.h"
#include "train/prune.h"
#include "train/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a trainer ---------------------------------------------------------------------------- */
typedef struct hpc_trainer_options {
    hpc_model_config model;
    hpc_optimizer_config optimizer;
    hpc_step_options step; /* step.model is filled in from the numbers below */
    const char *init;      /* model directory that parameters come from; NULL: drawn from seed;
                              with adapters it is the base model */
    int objective;         /* hpc_objective */
    int64_t length, rows;  /* of a microbatch, on all ranks together */
    int64_t documents;     /* at most so many in a row */
    int64_t accumulate;    /* microbatches in a step */
    uint64_t seed;
    hpc_device_options device;
    bool profile;           /* see hpc_trainer_profile */
    int64_t traced;         /* steps, the first of it, that hpc_trainer_trace tells of */
    size_t part_bytes;      /* of a checkpoint, hashed and read together; 0: 4 MiB */
    hpc_grid *grid;         /* borrowed, of parallel.grid; NULL: one rank */
    const hpc_masks *masks; /* borrowed: what is pruned, and for good; NULL: nothing */
    hpc_parallel parallel;
} hpc_trainer_options;

typedef struct hpc_trainer hpc_trainer;
/* Bytes that a step needs, by what they are for, and what it costs: known before any of them is
 * allocated. */
typedef struct hpc_trainer_plan {
    int64_t params, trained;
    double parameter_bytes, gradient_bytes, optimizer_bytes, activation_bytes; /* and workspace */
    double step_flops, refresh_flops; /* products and all else, of a step and of a refresh */
    double model_flops;               /* of a token, by formula */
    int64_t refreshes_in_100;         /* steps of 100, behind the burst */
    char unproven[160];               /* on the first of many ranks: hpc_step_prove's; else "" */
} hpc_trainer_plan;
/* Collective over the grid, as is all that follows; each rank gives the same options and batches.
 * dry: everything is emitted, selected and placed, nothing allocated; it cannot step then. */
int hpc_trainer_open(hpc_trainer **out, const hpc_trainer_options *o, bool dry);
void hpc_trainer_close(hpc_trainer *t);
hpc_trainer_plan hpc_trainer_about(const hpc_trainer *t);
/* step.recompute and its blocks: the least that leaves each rank within so many bytes, the same on
 * all of a grid. HPC_E_ARG on all: every block is not enough. */
int hpc_trainer_fit(hpc_trainer_options *o, double budget);
/* Seconds of a step without its refresh, and of a refresh: for each instruction the longer of its
 * operations, at the rate of what it multiplies, and of its bytes. */
typedef struct hpc_trainer_rates {
    double full, halves; /* operations a second of f32 (or f64), of bf16 or factors rounded to it */
    double read;         /* bytes a second */
} hpc_trainer_rates;
void hpc_trainer_estimate(double *step, double *refresh, const hpc_trainer *t,
                          const hpc_trainer_rates *r);
/* Where the time of all steps so far went, longest first, by phase and op; *out is the caller's to
 * free. Nothing unless asked for at opening. */
typedef struct hpc_profile_row {
    hpc_phase phase;
    const char *op;
    int64_t instructions;         /* in the program */
    double seconds, flops, bytes; /* flops and bytes of one run */
} hpc_profile_row;
int hpc_trainer_profile(hpc_profile_row **out, int *n, const hpc_trainer *t);
size_t hpc_trainer_peak(const hpc_trainer *t); /* of the device, bytes */
/* What all ranks did in the traced steps so far, as a file in Chrome's trace format: on the first
 * rank, empty on others; times since opening was done on all of them. Nothing more is noted. */
int hpc_trainer_trace(hpc_buf *out, hpc_trainer *t);

typedef struct hpc_trainer_result {
    double loss, grad_norm;
    bool skipped;    /* the norm was not finite, or above the limit: nothing was changed */
    int64_t tokens;  /* that were read, padding aside */
    int64_t counted; /* targets */
    int64_t sent;    /* bytes, by this rank to others */
    double exposed;  /* seconds of communication that no computing hid (hpc_exec_exposed) */
} hpc_trainer_result;
/* The batches of a step, `accumulate` of them, to be filled by hand or by a loader. */
hpc_batch **hpc_trainer_batches(const hpc_trainer *t);
int hpc_trainer_load(hpc_trainer *t, hpc_loader *l);
/* Step `step`, from 1, on them. limit: of the gradients' norm, INFINITY: none. */
int hpc_trainer_step(hpc_trainer_result *out, hpc_trainer *t, int64_t step, double lr,
                     double limit);
/* Mean loss over the next `rows` rows of a loader; NAN if nothing of them counts. 1: `enough`,
 * asked before each batch, cut it short (1; all ranks must say the same), and there is none. */
int hpc_trainer_validate(double *loss, hpc_trainer *t, hpc_loader *l, int64_t rows,
                         int (*enough)(void *user), void *user);
/* A model directory of the parameters, adapters merged. */
int hpc_trainer_export(const hpc_trainer *t, const char *dir);

/* ---- checkpoints ----------------------------------------------------------------------------- */
/* One rank writes all state, by logical name, into FOLDER/step-00000120.safetensors. Of many each
 * writes the rows that it owns, all at once, into step-00000120.SAVE.R-of-N.safetensors (SAVE: of
 * this saving), and step-00000120.SAVE.index says which rows of which tensor lie where, with their
 * hashes. step-00000120.json is written last, with a hash of the one file or of the index, the
 * model's configuration, and where the run stood: without it there is no checkpoint. Either is
 * loaded on any grid.
 *
 * Beside adapters a checkpoint leaves out the frozen parameters that trainer_options.init has. Its
 * record then names that base model, with a hash of these parameters' values. A trainer that loads
 * it has read them from its own init: HPC_E_ARG if the hashes differ. A checkpoint with the frozen
 * parameters inside, from an older version, loads as well, and the run continues to store them. */
typedef struct hpc_checkpoint {
    uint64_t run; /* its number, drawn when it began; 0 in those that were saved before there was
                     one */
    int64_t step, tokens;
    hpc_loader_state loader;
    double norm_average; /* of the spike guard */
    double best;         /* validation loss so far; INFINITY: none */
    int64_t best_step;
    double seconds; /* of training so far */
    bool owed;      /* its validation was cut short: it comes first, and then its row of metrics */
    hpc_metrics_row row;
    const hpc_masks *masks; /* borrowed, of its pruning so far; NULL: there is none */
    double sparsity;        /* of those */
    int64_t agreed;         /* so many of them on end: see hpc_prune_config */
    bool frozen;            /* the trainer is pruned by them */
} hpc_checkpoint;
/* Collective, as all that follows. It is there on return. */
int hpc_checkpoint_save(const hpc_trainer *t, const char *folder, const hpc_checkpoint *c);
/* The same in the background. On return from start a copy of what this rank owns has been taken,
 * and the trainer may step; a thread writes. One at a time. poll carries it forward: *done once it
 * is there; `wait` waits for that. What the writing failed of is poll's failure, and leaves what
 * was there before. end waits for the thread, and gives up what is not done; NULL is fine. */
typedef struct hpc_saving hpc_saving;
int hpc_saving_start(hpc_saving **out, const hpc_trainer *t, const char *folder,
                     const hpc_checkpoint *c);
int hpc_saving_poll(hpc_saving *s, bool wait, bool *done);
void hpc_saving_end(hpc_saving *s);
/* Of the newest that is there, whole or not; *step: -1 when there is none. */
int hpc_checkpoint_newest(int64_t *step, const char *folder);
/* The newest whole one; one of which any rank finds a part damaged, or missing, is told (`say`, on
 * the first rank) and the one before is taken. *found: false when there is none at all. HPC_E_SHAPE
 * when it is of another model or optimizer. What fails, fails on all ranks alike. */
int hpc_checkpoint_load(hpc_checkpoint *c, bool *found, hpc_trainer *t, const char *folder,
                        void (*say)(const char *line, void *user), void *user);
/* The one of that step, or none. */
int hpc_checkpoint_load_step(hpc_checkpoint *c, hpc_trainer *t, const char *folder, int64_t step);
/* What hpc_checkpoint_load would find of pruning, before there is a trainer: *c has it and the
 * step; *masks are the caller's, or NULL. Nothing is said of what is damaged. grid: the ranks that
 * ask together; NULL: one. */
int hpc_checkpoint_masks(hpc_checkpoint *c, hpc_masks **masks, const char *folder,
                         const hpc_model_config *model, hpc_grid *grid);
/* Of those up to step `newest` all but the newest `keep` go (0: none), and what a killed process
 * left half written. Later ones are not this run's, which passed them over. */
int hpc_checkpoint_prune(const char *folder, int64_t keep, int64_t newest);

/* The base model of the run that the newest checkpoint in `folder` is of, before there is a
 * trainer: `init` if that can be opened, else the recorded path. HPC_E_ARG if neither can. "":
 * `folder` has no checkpoint, or the newest needs no base. */
enum { HPC_BASE_PATH = 4096 };
int hpc_checkpoint_base(char out[HPC_BASE_PATH], const char *folder, const char *init);

/* The model in a checkpoint of the run in folder RUN, without its trainer; step -1: the newest.
 * base: the base model that the checkpoint needs; NULL: the recorded one. */
typedef struct hpc_saved hpc_saved;
int hpc_saved_open(hpc_saved **out, const char *run, int64_t step, const char *base);
void hpc_saved_close(hpc_saved *s);
const hpc_model_config *hpc_saved_config(const hpc_saved *s);
int64_t hpc_saved_step(const hpc_saved *s);
int hpc_saved_read(float *out, const hpc_model_tensor *t,
                   void *saved); /* as when weights are saved */

/* ---- a run ---------------------------------------------------------------------------------- */
/* Its tokenizer: a tokenizer.model or tokenizer.json, whatever the file is called, a folder with
 * one, or a GGUF with one inside. */
typedef struct hpc_run_tokens hpc_run_tokens;
bool hpc_run_tokens_there(const char *path); /* in a folder or a GGUF */
int hpc_run_tokens_open(hpc_run_tokens **out, const char *path);
/* The ids of n texts that the pairs objective needs. HPC_E_ARG: the tokenizer at path lacks one. */
int hpc_run_tokens_find(int32_t *id, const char *path, const char *const *text, int n);
void hpc_run_tokens_close(hpc_run_tokens *k);
const hpc_tokenizer *hpc_run_tokens_of(const hpc_run_tokens *k);

typedef struct hpc_training_options {
    hpc_trainer_options trainer;
    hpc_lr_config lr;
    hpc_prune_config prune;
    const char *out;
    const hpc_loader_source *data, *validation;
    int64_t data_n, validation_n;
    const char *tokenizer; /* its hash must be the shards', and it is copied to the model directory;
                              NULL: neither */
    hpc_compare_marks marks; /* PAIRS: of a change, in the shards' tokens */
    int64_t steps;
    double spike; /* a norm above so many times its average skips the step; 0: never */
    int64_t validate_every, validate_batches, save_every, keep; /* 0: at the end; never prune */
    double seconds; /* stop cleanly after so long in this process; 0: no limit */
    bool resume;
    const char *trace;  /* file for hpc_trainer_trace, once trainer.traced steps are done, or at the
                           end; NULL: none */
    double peak_flops;  /* of this machine, for utilisation; 0: not known */
    const char *config; /* text of config.json */
    void (*row)(const hpc_metrics_row *r, void *user); /* each step */
    void (*say)(const char *line, void *user);         /* what a person should know */
    const int *stop;                                   /* not 0: save and stop; read atomically */
    int *save;                                         /* not 0: save and go on, and clear it */
    void *user;
} hpc_training_options;
typedef struct hpc_training_result {
    int64_t step, tokens, skipped;
    double loss, validation, best;
    int64_t best_step;
    double held;   /* seconds for which saving held up training */
    bool told;     /* what failed has failed on all ranks: the first alone need tell it */
    bool finished; /* all steps are done */
} hpc_training_result;
/* HPC_E_STATE while another process is at it. With trainer.grid collective over it: all ranks give
 * the same options and read the same files; any hears stop and save; the first hears the time,
 * writes the record, and alone calls row and say. */
int hpc_training_run(hpc_training_result *out, const hpc_training_options *o);
/* Fails where a run in `out`, which stands at `step`, is past its `steps`. */
int hpc_training_steps_left(const char *out, int64_t step, int64_t steps);

#ifdef __cplusplus
}
#endif
#endif
