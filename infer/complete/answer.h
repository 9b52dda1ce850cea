/*
 * State of a completion request and of the answers that it samples.
 */
#ifndef HPC_COMPLETE_ANSWER_H
#define HPC_COMPLETE_ANSWER_H

#include "infer/complete/priv.h"
#include "infer/engine/text.h"

struct hpc_completer {
    hpc_model_files *files;
    hpc_engine *engine; /* NULL: detached */
    const hpc_model_config *config;
    hpc_completer_words words; /* vocabulary: NULL until the first use */
    hpc_tokenizer *tokenizer;  /* NULL: borrowed */
    hpc_vocabulary *vocabulary;
    complete_prompter prompter;
    hpc_ids prompt;
    int64_t room;       /* most tokens of prompt and answer */
    double ns_per_flop; /* of prompts; 0: not measured yet */
};

typedef struct complete_token {
    size_t at; /* length of `raw` when it came; its text may begin later */
    float logprob;
} complete_token;

typedef struct complete_run complete_run;
typedef struct complete_answer {
    complete_run *run;
    int64_t id, sample;
    hpc_text *text;
    hpc_grammar *grammar; /* NULL: none */
    size_t owed;          /* bytes before the cursor that its tokens still repeat */
    hpc_buf raw, shown;
    complete_token *token;
    int64_t token_n, token_cap;
    hpc_buf best; /* longest text of complete statements among abandoned attempts */
    complete_token *best_token;
    int64_t best_token_n, best_token_cap;
    size_t end;      /* end of the part of `raw` that is kept */
    size_t told;     /* bytes of `shown` that `ready` received */
    size_t told_raw; /* the same, in `raw` */
    int64_t budget;  /* tokens after which the text must be sound to continue */
    int64_t retries; /* after repetitions and ends with open brackets */
    int64_t made;    /* tokens, including those that retries dropped */
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
    int64_t reused;                                  /* by the engine, before this request */
    bool begins;                                     /* a token has been made */
    bool cancelled;                                  /* an answer was cancelled */
    int failed;
};

/* ---- the engine: the completer's own, or that of a port (drive.c) ---------------------------- */
int complete_drive_submit(const complete_run *x, const hpc_request *q, int64_t *id);
void complete_drive_cancel(const complete_run *x, int64_t id);
int complete_drive_step(const complete_run *x, bool *busy);
hpc_engine_counts complete_drive_counts(const complete_run *x);

/* ---- one answer (answer.c) ------------------------------------------------------------------ */
int complete_answer_begin(complete_answer *a, complete_run *x, int64_t k);
int complete_answer_submit(complete_answer *a);
/* Resamples an answer from an earlier complete statement, at a temperature of at least 0.5. Not
 * from within a callback of the engine. */
int complete_answer_resample(complete_answer *a);
/* Moves the text to c and sets its counts. */
int complete_answer_take(hpc_completion *c, complete_answer *a);
void complete_answer_release(complete_answer *a);

#endif
