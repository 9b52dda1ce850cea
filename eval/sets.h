/*
 * sets.h: the suites: what each scores, its options, and the baselines of perplexity.
 */
#ifndef HPC_EVAL_SETS_H
#define HPC_EVAL_SETS_H

#include "eval/eval.h"
#include "model/files.h"
#include "runtime/source/source.h"
#include "tokenizer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const hpc_eval_suite hpc_eval_suite_perplexity;

/* ---- source files ---------------------------------------------------------------------------- */
typedef struct hpc_eval_file {
    const char *path; /* as given, or below the given folder; also the id of samples */
    hpc_buf text;     /* without NUL bytes */
    hpc_language language;
    uint32_t parallel; /* bits HPC_PARALLEL_... */
} hpc_eval_file;
typedef struct hpc_eval_files {
    hpc_arena *arena;
    hpc_eval_file *item;
    int64_t n, cap;
} hpc_eval_files;
typedef struct hpc_eval_files_options {
    const char *const *path; /* [path_n]: files and folders; hidden folders are skipped */
    int64_t path_n;
    int64_t most; /* files, chosen by the seed; 0: all */
    int64_t
        bytes; /* read of each file, cut after a line; 0: all. Longer files are skipped if whole */
    bool whole;
    uint64_t seed;
} hpc_eval_files_options;
/* Reads source files of known languages, in order of their paths. HPC_E_ARG: no file was found. */
int hpc_eval_files_read(hpc_eval_files *out, const hpc_eval_files_options *o);
void hpc_eval_files_release(hpc_eval_files *f);
/* Opens the "group" of a sample: language, and parallel models or "serial". */
void hpc_eval_put_groups(hpc_json_out *w, const hpc_eval_file *f);

/* ---- likelihoods, in bits of each token -------------------------------------------------------
 */
/* Every function fills bits[0..n). `first` is the token before the text. */
typedef struct hpc_likelihood hpc_likelihood; /* of a model, teacher-forced */
typedef struct hpc_likelihood_options {
    int threads;
    const char *device; /* NULL: the CPU */
    int64_t context;    /* tokens of a window; 0: 1024. A window begins half a window after the last
                         * one; each token is scored in the first window that has it */
} hpc_likelihood_options;
int hpc_likelihood_open(hpc_likelihood **out, const hpc_model_files *files,
                        const hpc_likelihood_options *o);
void hpc_likelihood_close(hpc_likelihood *l);
int64_t hpc_likelihood_context(const hpc_likelihood *l);
int hpc_likelihood_text(double *bits, hpc_likelihood *l, const int32_t *token, int64_t n,
                        int32_t first);

/* Interpolated Kneser-Ney of order 5, with one discount per order from its counts of counts. */
typedef struct hpc_ngram hpc_ngram;
int hpc_ngram_create(hpc_ngram **out, int64_t vocab);
void hpc_ngram_free(hpc_ngram *g);
int hpc_ngram_add(hpc_ngram *g, const int32_t *token, int64_t n, int32_t first);
/* Reverses hpc_ngram_add of the same text exactly. */
void hpc_ngram_remove(hpc_ngram *g, const int32_t *token, int64_t n, int32_t first);
double hpc_ngram_probability(const hpc_ngram *g, const int32_t context[4], int32_t token);
void hpc_ngram_text(double *bits, const hpc_ngram *g, const int32_t *token, int64_t n,
                    int32_t first);

/* Copies the token after the longest earlier match (at most 32 tokens) within `context` tokens,
 * with the success rate of that length so far in this text; else the text's own unigrams with a
 * uniform escape. Sums to 1 over the vocabulary. */
int hpc_copy_text(double *bits, const int32_t *token, int64_t n, int64_t vocab, int64_t context);

/* ---- perplexity ------------------------------------------------------------------------------ */
typedef struct hpc_eval_perplexity_options {
    hpc_eval_files_options files;
    const char *ngram_train; /* folder or file; NULL: all other files of the set */
    hpc_likelihood_options model;
    hpc_progress *progress; /* NULL: none */
    const int *stop;        /* not 0: return after the current file; NULL: never */
} hpc_eval_perplexity_options;
/* Adds a sample for each file that the log does not have. */
int hpc_eval_perplexity(hpc_eval_log *log, const char *model, const hpc_eval_perplexity_options *o);

#ifdef __cplusplus
}
#endif
#endif
