/*
 * complete.h: completes code at a place in a file.
 *
 * Inputs are the text before and after the place and parts of other files. Results are texts that
 * can be inserted unchanged: they end with a line, block or function, do not repeat the text that
 * follows, and have the indentation, encoding and line ends of the file. These functions neither
 * read nor write files.
 */
#ifndef HPC_COMPLETE_H
#define HPC_COMPLETE_H

#include "infer/engine/engine.h"
#include "infer/engine/grammar.h"
#include "runtime/source/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a place ----------------------------------------------------------------------------- */
/* A file as UTF-8 with line feeds. Text that is not UTF-8 is read as Latin-1. */
typedef struct hpc_spot {
    hpc_buf text;
    size_t at, raw_at;     /* the place in `text`, and in the original bytes */
    hpc_language language; /* NONE: brackets are ignored */
    bool fixed;            /* fixed-form Fortran */
    bool latin1, crlf;
    int64_t line, col; /* from 1; columns count characters */
} hpc_spot;
typedef struct hpc_position { /* line 0: the end of the file; col 0: the end of the line */
    int64_t line, col;
} hpc_position;
/* path: for the language and messages. HPC_E_ARG: the place is outside the text; HPC_E_FORMAT: NUL
 * bytes, UTF-16, or more than 64 MiB. */
int hpc_spot_open(hpc_spot *out, const char *path, const char *bytes, size_t n, hpc_position place);
void hpc_spot_close(hpc_spot *d);
/* Appends a text in the file's encoding and with its line ends. HPC_E_UNSUPPORTED: the encoding
 * lacks a character. */
int hpc_spot_spell(hpc_buf *out, const hpc_spot *d, const char *text, size_t n);

/* ---- completions ------------------------------------------------------------------------- */
typedef struct hpc_completer hpc_completer; /* one thread at a time */
int hpc_completer_open(hpc_completer **out, const hpc_engine_options *o);
/* Without an engine: each request names a port. `files` must outlive the completer. room: tokens of
 * a text at most; 0: the limit of the model. */
int hpc_completer_open_detached(hpc_completer **out, const hpc_model_files *files, int64_t room);
void hpc_completer_close(hpc_completer *c);
hpc_engine_counts hpc_completer_counts(const hpc_completer *c);
const hpc_engine *hpc_completer_engine(const hpc_completer *c);
int64_t hpc_completer_room(const hpc_completer *c); /* tokens of a prompt and its answer */

typedef enum hpc_complete_stop {
    HPC_STOP_LINE,    /* the end of the line */
    HPC_STOP_BLOCK,   /* the end of the block that it begins, or of the enclosing block */
    HPC_STOP_FUNCTION /* the end of the enclosing function, or of the one that it begins */
} hpc_complete_stop;

/* LINE if the line has more than closing marks after the cursor; else `stop`. */
hpc_complete_stop hpc_complete_stop_at(const hpc_spot *d, hpc_complete_stop stop);

typedef struct hpc_snippet { /* part of another file */
    const char *path, *text;
    size_t n;
} hpc_snippet;

/* An engine that another thread runs. hpc_complete calls `enter` first and `leave` last; between
 * them callbacks of its requests run only while it is in `step`. */
typedef struct hpc_complete_port {
    void (*enter)(void *user);
    void (*leave)(void *user);
    int (*submit)(void *user, const hpc_request *r, int64_t *id);
    void (*cancel)(void *user, int64_t id);
    /* Waits for a callback, or a moment. *busy: a request has not ended. */
    int (*step)(void *user, bool *busy);
    hpc_engine_counts (*counts)(
        void *user); /* prompt tokens computed and reused for its requests */
    int64_t (*prompt_tokens)(void *user,
                             int64_t ns); /* that it reads in that time; INT64_MAX: unknown */
    void *user;
} hpc_complete_port;

typedef struct hpc_complete_request {
    const hpc_spot *spot;
    const char *path, *repository; /* as shown to the model; NULL: none */
    const hpc_snippet *snippet;    /* the most relevant one first */
    int64_t snippet_n;
    hpc_complete_stop stop;
    /* Plain continuation of the text: no marks, no other files, no token healing, and no change to
     * the answer. It ends with the model's own end token or after `most` tokens. */
    bool raw;
    int64_t most;                 /* limit of new tokens. Without `raw` it grows while the text is
                                   * sound: no unmatched closer, and mostly distinct lines */
    bool close;                   /* close the brackets of an unfinished answer: FORCED */
    int64_t until_ns;             /* deadline by hpc_clock_ns; 0: none */
    int64_t samples;              /* answers, at least 1 */
    int64_t prompt_tokens;        /* at most; 0: the limit of the model */
    int64_t prompt_ns;            /* to read it, by a measured rate; 0: no limit */
    hpc_sampling sampling;        /* answer k uses k as its sample */
    const hpc_grammar_rule *rule; /* a rule for answers; NULL: none */
    /* Receives lines of the first answer once they cannot change; the pieces together are its
     * text. May be NULL. */
    void (*ready)(void *user, const char *text, size_t n);
    /* Progress of the prompt, at the start and after each step, in tokens. May be NULL. */
    void (*reading)(void *user, int64_t done, int64_t total);
    void *user;
    const int *cancel;             /* cancels when not 0; any thread may set it; may be NULL */
    const hpc_complete_port *port; /* NULL: the completer's engine. `ready` runs on its thread */
} hpc_complete_request;

enum { HPC_COMPLETION_CHECKS = 8 };
typedef struct hpc_completion_check { /* made by verify.h */
    const char *kind;
    bool ok;
    char text[256]; /* place and finding; "" if ok */
} hpc_completion_check;

typedef struct hpc_completion_source { /* found by source.h */
    const char *repository, *licence;  /* valid as long as the passages */
    int64_t tokens;                    /* code tokens that both have */
    int64_t line, end_line;            /* in the file with the completion */
} hpc_completion_source;

typedef enum hpc_completion_finish {
    HPC_COMPLETION_STOP,       /* the end of its line, block or function, or the end token */
    HPC_COMPLETION_LENGTH,     /* the token limit of the request or of the model */
    HPC_COMPLETION_REPETITION, /* a repetition, also after resampling */
    HPC_COMPLETION_UNBALANCED, /* an unmatched closer, also after resampling */
    HPC_COMPLETION_TIME,       /* the deadline of the request */
    HPC_COMPLETION_FORCED,     /* one of the above, cut after a statement and closed by brackets */
    HPC_COMPLETION_CANCELLED,
    HPC_COMPLETION_ERROR /* no token could be chosen */
} hpc_completion_finish;

typedef struct hpc_completion {
    hpc_buf text; /* UTF-8 with line feeds; may be empty */
    int64_t tokens;
    double logprob; /* natural logarithm of the probability of all tokens */
    hpc_completion_finish finish;
    char stop_token[48]; /* spelling of the end token that the model chose; "": none */
    int64_t open;        /* brackets that it leaves open */
    int64_t retries;     /* resamplings after a repetition */
    int64_t sample;      /* the first answer with this text */
    int64_t times;       /* number of answers with this text */
    hpc_completion_check check[HPC_COMPLETION_CHECKS];
    int64_t check_n;
    hpc_completion_source *source; /* the one with most common tokens first */
    int64_t source_n;
} hpc_completion;
typedef struct hpc_completions {
    hpc_completion *item; /* by mean log-probability of a token, highest first */
    int64_t n;
    int64_t prompt_tokens, prompt_wanted; /* prompt_wanted: without prompt_ns */
    int64_t prompt_computed;              /* of prompt_tokens; the rest was cached */
    int64_t prompt_ns;                    /* time to compute them */
    int64_t first_token_ns, end_ns;       /* since the request */
    int64_t made;                         /* tokens of all answers */
    int64_t decoded, decode_ns;           /* tokens after the first step with any, and their time */
    int64_t drawn;                        /* answers */
} hpc_completions;
/* Tokens per second; NAN: too few tokens for a rate. */
double hpc_completions_prompt_rate(const hpc_completions *c);
double hpc_completions_decode_rate(const hpc_completions *c);
/* Returns 0 if cancelled, with fragments of HPC_COMPLETION_CANCELLED, which rank last. */
int hpc_complete(hpc_completions *out, hpc_completer *c, const hpc_complete_request *r);
/* Moves the completions of `more`, drawn for the same request, to `out`; equal texts are merged,
 * and the likeliest comes first again. Releases `more`. */
int hpc_completions_merge(hpc_completions *out, hpc_completions *more);
void hpc_completions_release(hpc_completions *c);

#ifdef __cplusplus
}
#endif
#endif
