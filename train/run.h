/*
 * run.h: a trainer, which runs single steps; checkpoints; and a run, which runs all steps,
 * validates, saves, stops on request and resumes.
 *
 * Folder of a run: config.json (the resolved configuration), metrics.csv, event files,
 * checkpoints/, model/ (the final parameters as a model directory) and best/ (those with the
 * lowest validation loss).
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
/* Optimizer state that only element-wise updates use (moments, masters) in a mapped file, a
 * nameless one for each rank. AUTO: only if hpc_trainer_fit finds no other way. */
typedef enum hpc_offload_policy {
    HPC_OFFLOAD_AUTO,
    HPC_OFFLOAD_NONE,
    HPC_OFFLOAD_OPTIMIZER
} hpc_offload_policy;
extern const char *const hpc_offload_names[]; /* "auto", ... by kind, NULL-terminated */
typedef struct hpc_trainer_offload {
    int policy;         /* hpc_offload_policy */
    int64_t bucket;     /* elements of a buffer; 0: 2^20 */
    const char *folder; /* of the file */
} hpc_trainer_offload;
typedef struct hpc_trainer_options {
    hpc_model_config model;
    hpc_optimizer_config optimizer;
    hpc_step_options step; /* step.model is set from the numbers below */
    const char *init;     /* model directory with initial parameters, or the base model of adapters;
                             NULL: random, by seed */
    const char *adapter;  /* directory with the first values of the adapters, in the format of
                             peft; NULL: random */
    bool dense;           /* with adapters: frozen matrices in the model's type. Otherwise in the
                             type of the file, where that is smaller and exact */
    int objective;        /* hpc_objective */
    int64_t length, rows; /* of a microbatch, over all ranks */
    int64_t documents;    /* most documents per row */
    int64_t accumulate;   /* microbatches per step */
    uint64_t seed;
    hpc_device_options device;
    bool profile;           /* record for hpc_trainer_profile */
    int64_t traced;         /* number of first steps that hpc_trainer_trace records */
    size_t part_bytes;      /* unit of a checkpoint that is hashed and read; 0: 4 MiB */
    hpc_grid *grid;         /* borrowed, of shape parallel.grid; NULL: one rank */
    const hpc_masks *masks; /* borrowed: fixed pruning masks; NULL: not pruned */
    hpc_parallel parallel;
    const hpc_train_plan *plan; /* borrowed: replaces parallel, step.recompute and accumulate; NULL:
                             the trainer makes a plan from these */
    hpc_anneal_config anneal;   /* with step.model.experts.gating HPC_GATING_ANNEAL */
    const hpc_model_config *single; /* borrowed while it opens: the configuration of `init`, of
                                   whose MLP or only expert all experts start as copies; NULL: that
                                   of `model` */
    double zeros;                   /* with `single`: share of a copy's elements that start as 0 */
    const hpc_buf *products; /* borrowed: text of hpc_trainer_products, for the same algorithms;
                                NULL or empty: none */
    hpc_trainer_offload offload;
} hpc_trainer_options;

typedef struct hpc_trainer hpc_trainer;
/* Memory and cost of a step, computed before anything is allocated. */
typedef struct hpc_trainer_plan {
    int64_t params, trained;
    double parameter_bytes, gradient_bytes, optimizer_bytes, activation_bytes; /* with workspace */
    double step_flops, refresh_flops; /* of a step and of a refresh, all ops */
    double model_flops;               /* per token, by formula */
    int64_t refreshes_in_100;         /* refreshes per 100 steps after the burst */
    char unproven[160]; /* text of hpc_step_prove on the first of many ranks; else "" */
    double outside_bytes, moved_bytes; /* offload: in the file; to and from it, in a step */
} hpc_trainer_plan;
/* Opens a trainer. Collective over the grid, as are all functions below; all ranks pass the same
 * options and batches. dry: emits and places the program but allocates nothing; then the trainer
 * cannot step. */
int hpc_trainer_open(hpc_trainer **out, const hpc_trainer_options *o, bool dry);
void hpc_trainer_close(hpc_trainer *t);
hpc_trainer_plan hpc_trainer_about(const hpc_trainer *t);
/* Sets step.recompute and step.recompute_blocks to the least recomputation with which every rank
 * fits in `budget` bytes. Where recomputing every block does not suffice, AUTO becomes OPTIMIZER in
 * offload.policy. All ranks get the same result; HPC_E_ARG on all of them: nothing suffices. */
int hpc_trainer_fit(hpc_trainer_options *o, double budget);
/* Bytes of the rank that needs most with these options, the same on all ranks. */
int hpc_trainer_bytes(double *bytes, hpc_trainer_options *o);
/* Estimates the seconds of a step without refresh, and of a refresh. An instruction takes the
 * longer of its compute time, at the rate of its operand type, and its memory time. */
typedef struct hpc_trainer_rates {
    double full, halves; /* operations per second: f32 (or f64); bf16 */
    double read;         /* bytes per second */
} hpc_trainer_rates;
void hpc_trainer_estimate(double *step, double *refresh, const hpc_trainer *t,
                          const hpc_trainer_rates *r);
/* Profile of all steps so far by phase and op, longest first. The caller frees *out. Empty unless
 * the option `profile` was set. */
typedef struct hpc_profile_row {
    hpc_phase phase;
    const char *op;
    int64_t instructions;         /* in the program */
    double seconds, flops, bytes; /* flops and bytes of one execution */
} hpc_profile_row;
int hpc_trainer_profile(hpc_profile_row **out, int *n, const hpc_trainer *t);
size_t hpc_trainer_peak(const hpc_trainer *t); /* peak device memory in bytes */
/* The algorithms that this rank's products got when the trainer was opened, as JSON; appends
 * nothing if the device has no choice. One rank has the fastest, measured; of many, each has the
 * first that the library proposes. */
int hpc_trainer_products(hpc_buf *out, const hpc_trainer *t);
/* Appends a trace of all ranks' traced steps in Chrome's trace format, on the first rank; nothing
 * on the others. Time 0 is when all ranks had opened their trainers. Ends recording. */
int hpc_trainer_trace(hpc_buf *out, hpc_trainer *t);
/* Writes RUN/bubbles.csv for a pipeline: for each rank the milliseconds of a step, mean since
 * opening, in which it had no task until activations or gradients came, and exposed communication.
 * Collective. */
int hpc_trainer_save_bubbles(const hpc_trainer *t, const char *run);

typedef struct hpc_trainer_result {
    double loss, grad_norm;
    bool skipped; /* the norm was not finite or above the limit; parameters and optimizer state are
                     unchanged */
    int64_t tokens;  /* tokens read, without padding */
    int64_t counted; /* targets that count */
    int64_t sent;    /* bytes sent by this rank */
    double exposed;  /* seconds of communication that computation did not hide (hpc_exec_exposed) */
    double active;   /* experts per token, the mean of layers that have any; 0: none has */
    double dropped;  /* choices of experts that found no capacity, over all layers */
    double flops;    /* by formula, with the experts that tokens reached */
} hpc_trainer_result;
/* The `accumulate` batches of a step, to be filled by the caller or by hpc_trainer_load. */
hpc_batch **hpc_trainer_batches(const hpc_trainer *t);
int hpc_trainer_load(hpc_trainer *t, hpc_loader *l);
/* Runs step `step` (from 1) on these batches. A gradient norm above `limit` skips the update;
 * INFINITY: no limit. */
int hpc_trainer_step(hpc_trainer_result *out, hpc_trainer *t, int64_t step, double lr,
                     double limit);
/* False after a step that failed in its update: a checkpoint would mix two steps. */
bool hpc_trainer_is_whole(const hpc_trainer *t);
/* Mean loss over the next `rows` rows of a loader; NAN if no target counts. Calls
 * `enough` before each batch. If that returns 1, on all ranks alike, validation stops
 * and returns 1 without a loss. */
int hpc_trainer_validate(double *loss, hpc_trainer *t, hpc_loader *l, int64_t rows,
                         int (*enough)(void *user), void *user);
/* Saves the parameters as a model directory, adapters merged. */
int hpc_trainer_export(const hpc_trainer *t, const char *dir);

/* ---- checkpoints ----------------------------------------------------------------------------- */
/* A single rank writes all state, by logical name, to FOLDER/step-00000120.safetensors. Many ranks
 * write the rows that they own, concurrently, to step-00000120.SAVE.R-of-N.safetensors, where SAVE
 * identifies the saving. step-00000120.SAVE.index maps rows of tensors to files, with hashes.
 * step-00000120.json is written last and makes the checkpoint valid. It has the hash of the single
 * file or of the index, the model's configuration and the state of the run. Either form loads on
 * any grid.
 *
 * With adapters a checkpoint omits the frozen parameters that come from trainer_options.init. Its
 * record names that base model, with a hash of these parameters. A trainer that loads it has read
 * them from its own init; HPC_E_ARG if the hashes differ. A checkpoint from an older version that
 * contains frozen parameters loads, and the run continues to store them. */
typedef struct hpc_checkpoint {
    uint64_t run; /* run number, drawn at the start; 0 in checkpoints of old versions */
    int64_t step, tokens;
    hpc_loader_state loader;
    double norm_average; /* of the spike guard */
    double best;         /* lowest validation loss so far; INFINITY: none */
    int64_t best_step;
    double seconds; /* of training so far */
    bool owed;      /* its validation was interrupted: resuming validates, then writes `row` */
    hpc_metrics_row row;
    const hpc_masks *masks; /* borrowed; last pruning masks; NULL: none */
    double sparsity;        /* of the masks */
    int64_t agreed;         /* number of successive masks that agree: see hpc_prune_config */
    bool frozen;            /* the trainer uses these masks */
} hpc_checkpoint;
/* Saves a checkpoint, complete on return. Collective, as are the functions below. */
int hpc_checkpoint_save(const hpc_trainer *t, const char *folder, const hpc_checkpoint *c);
/* Saves in the background. When start returns, the trainer may step: this rank's state has been
 * copied, or the device's copy queue reads it before a step writes it, into pinned memory that the
 * trainer keeps. Then a thread writes the copy. Only one saving at a time. The caller must poll:
 * *done is true once the checkpoint is complete; `wait` blocks until then. poll returns errors of
 * the writer; existing checkpoints stay intact. end joins the thread and discards an incomplete
 * saving; NULL is allowed. */
typedef struct hpc_saving hpc_saving;
int hpc_saving_start(hpc_saving **out, const hpc_trainer *t, const char *folder,
                     const hpc_checkpoint *c);
int hpc_saving_poll(hpc_saving *s, bool wait, bool *done);
void hpc_saving_end(hpc_saving *s);
/* Step of the newest checkpoint, intact or not; -1: none. */
int hpc_checkpoint_newest(int64_t *step, const char *folder);
/* Loads the newest intact checkpoint. If any rank finds a part damaged or missing, the first rank
 * reports it through `say` and the previous checkpoint is tried. *found is false if there is no
 * checkpoint. HPC_E_SHAPE: it belongs to another model or optimizer. Errors are the same on all
 * ranks. */
int hpc_checkpoint_load(hpc_checkpoint *c, bool *found, hpc_trainer *t, const char *folder,
                        void (*say)(const char *line, void *user), void *user);
/* Loads the checkpoint of that step only. */
int hpc_checkpoint_load_step(hpc_checkpoint *c, hpc_trainer *t, const char *folder, int64_t step);
/* Reads the pruning state that hpc_checkpoint_load would find, before a trainer exists: sets *c's
 * step and pruning members, and *masks, which the caller frees (NULL: none). Does not report
 * damaged checkpoints. grid: the calling ranks; NULL: one. */
int hpc_checkpoint_masks(hpc_checkpoint *c, hpc_masks **masks, const char *folder,
                         const hpc_model_config *model, hpc_grid *grid);
/* Removes all but the newest `keep` checkpoints up to step `newest` (0: removes none), parts of
 * incomplete checkpoints, and all temporary files: no save may be in progress in the folder. Later
 * checkpoints were skipped by this run and stay. */
int hpc_checkpoint_prune(const char *folder, int64_t keep, int64_t newest);

/* Finds the base model that the newest checkpoint in `folder` needs, before a trainer exists:
 * `init` if it can be opened, else the recorded path; HPC_E_ARG if neither can. "": there is no
 * checkpoint, or it needs no base. */
enum { HPC_BASE_PATH = 4096 };
int hpc_checkpoint_base(char out[HPC_BASE_PATH], const char *folder, const char *init);

/* Opens the model in a checkpoint of the run in folder RUN, without a trainer. step -1: the newest.
 * base: the base model if the checkpoint needs one; NULL: the recorded path. */
typedef struct hpc_saved hpc_saved;
int hpc_saved_open(hpc_saved **out, const char *run, int64_t step, const char *base);
void hpc_saved_close(hpc_saved *s);
const hpc_model_config *hpc_saved_config(const hpc_saved *s);
int64_t hpc_saved_step(const hpc_saved *s);
int hpc_saved_read(float *out, const hpc_model_tensor *t,
                   void *saved); /* a `read` callback for hpc_weights_save */

/* ---- a run ---------------------------------------------------------------------------------- */
/* A run's tokenizer: a tokenizer.model or tokenizer.json of any name, a folder that contains one,
 * or a GGUF file that embeds one. */
typedef struct hpc_run_tokens hpc_run_tokens;
bool hpc_run_tokens_there(const char *path); /* does a folder or GGUF have one? */
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
    const char *tokenizer;   /* its hash must match the shards; copied to the model directory. NULL:
                                no check, no copy */
    hpc_compare_marks marks; /* PAIRS: mark tokens of a change */
    int64_t steps;
    double spike; /* skip steps with a norm above this multiple of its average; 0: never */
    int64_t validate_every, validate_batches, save_every, keep; /* 0: end, all, end, keep all */
    double seconds; /* stop cleanly after this time in this process; 0: no limit */
    bool resume;
    const char *trace;  /* file for hpc_trainer_trace, written after trainer.traced steps or at the
                           end; NULL: none */
    double peak_flops;  /* of this machine, for MFU; 0: unknown */
    const char *config; /* contents of config.json */
    void (*row)(const hpc_metrics_row *r, void *user); /* called after each step */
    void (*say)(const char *line, void *user);         /* messages for the user */
    const int *stop;                                   /* nonzero: save and stop; read atomically */
    int *save;                                         /* nonzero: save and continue; reset to 0 */
    void *user;
} hpc_training_options;
typedef struct hpc_training_result {
    int64_t step, tokens, skipped;
    double loss, validation, best;
    int64_t best_step;
    double held;   /* seconds that saving delayed training */
    bool told;     /* the error occurred on all ranks: only the first need report it */
    bool finished; /* all steps are done */
} hpc_training_result;
/* Trains until all steps are done, or `stop` or the time limit. HPC_E_STATE: another process trains
 * this run. Collective over trainer.grid: all ranks pass the same options and read the same files.
 * `stop` and `save` work on any rank. Only the first rank checks the time, writes metrics and calls
 * row and say. */
int hpc_training_run(hpc_training_result *out, const hpc_training_options *o);
/* Fails if the run in `out`, at step `step`, has already exceeded `steps`. */
int hpc_training_steps_left(const char *out, int64_t step, int64_t steps);

#ifdef __cplusplus
}
#endif
#endif
