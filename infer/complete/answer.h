/*
 * One answer of the model while it is sampled: its tokens, the text kept of them, and how it ends.
 */
#ifndef HPC_COMPLETE_ANSWER_H
#define HPC_COMPLETE_ANSWER_H

#include "infer/complete/priv.h"
#include "infer/text.h"

struct hpc_completer {
    hpc_model_files *files;
    hpc_engine *engine; /* NULL: detached */
    const hpc_model_config *config;
    hpc_tokenizer *tokenizer;
    complete_prompter prompter;
    hpc_vocabulary *vocabulary; /* NULL until something has to be looked up in it */
    hpc_ids prompt;
    int64_t room;       /* tokens of a text */
    double ns_per_flop; /* of prompts; 0: not measured yet */
};

typedef struct complete_token {
    size_t at; /* where its text begins in `raw`, or later: some bytes wait for others */
    float logprob;
} complete_token;

typedef struct complete_run complete_run;
typedef struct complete_answer {
    complete_run *run;
    int64_t id, sample;
    hpc_text *text;
    hpc_grammar *grammar; /* NULL: none */
    size_t owed;          /* bytes that come before `raw` begins */
    hpc_buf raw, shown;
    complete_token *token;
    int64_t token_n, token_cap;
    hpc_buf best; /* the longest text of complete statements of an attempt that was given up */
    complete_token *best_token;
    int64_t best_token_n, best_token_cap;
    size_t end;      /* of what is kept of `raw` */
    size_t told;     /* of `shown` */
    size_t told_raw; /* what of `raw` that is */
    int64_t budget;  /* tokens after which the text has to be sound to get more */
    int64_t retries; /* after an end that leaves brackets open */
    int64_t made;    /* tokens, with those that retries dropped */
    bool over, repeats, full, late, ended, resample;
    hpc_completion_finish finish;
    int32_t stop_token; /* -1: none */
    complete_indent indent;
} complete_answer;

struct complete_run {
    hpc_completer *c;
    const hpc_complete_request *r;
    complete_stop stop;
    complete_answer *answer;
    int64_t n, begun, ended;
    int64_t start_ns, first_ns, made;
    int64_t prompt_ns, computed, decoded, decode_ns; /* as in hpc_completions */
    int64_t reused;                                  /* by the engine, before this */
    bool begins;                                     /* a token has been made */
    bool cancelled;                                  /* an answer was, by its port */
    int failed;
};

/* ---- the engine: the completer's own, or through a port (drive.c) -----------------------------
 */
int complete_drive_submit(const complete_run *x, const hpc_request *q, int64_t *id);
void complete_drive_cancel(const complete_run *x, int64_t id);
int complete_drive_step(const complete_run *x, bool *busy);
hpc_engine_counts complete_drive_counts(const complete_run *x);

/* ---- one answer (answer.c) ------------------------------------------------------------------ */
int complete_answer_begin(complete_answer *a, complete_run *x, int64_t k);
int complete_answer_submit(complete_answer *a);
/* Continues an answer that repeats itself from its last complete statement, at a higher
 * temperature. Not from within a callback of the engine. */
int complete_answer_resample(complete_answer *a);
/* Moves the text to c and fills what is counted of it. */
int complete_answer_take(hpc_completion *c, complete_answer *a);
void complete_answer_release(complete_answer *a);

#endif
