/*
 * complete.h: code completion at a cursor in a file.
 *
 * The prompt has the text before and after the cursor, and parts of other files. Completions end
 * with a line, block or function, do not repeat the text after the cursor, and use the
 * indentation of the file. Source files are neither read nor written here.
 */
#ifndef HPC_COMPLETE_H
#define HPC_COMPLETE_H

#include "infer/engine/engine.h"
#include "infer/engine/grammar.h"
#include "runtime/source/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- cursor ------------------------------------------------------------------------------ */
/* A file as UTF-8 text with line feeds, and a cursor. Input that is not UTF-8 is read as Latin-1.
 */
typedef struct hpc_spot {
    hpc_buf text;
    size_t at, raw_at;     /* offset of the cursor in `text`, and in the input */
    hpc_language language; /* NONE: brackets are ignored */
    bool fixed;            /* fixed-form Fortran */
    bool latin1, crlf;
    int64_t line, col; /* from 1; columns count characters */
} hpc_spot;
typedef struct hpc_position { /* line 0: the end of the file; col 0: the end of the line */
    int64_t line, col;
} hpc_position;
/* path: for the language and messages. HPC_E_ARG: the position is outside the text. HPC_E_FORMAT:
 * the input has NUL bytes, is UTF-16, or exceeds 64 MiB. */
int hpc_spot_open(hpc_spot *out, const char *path, const char *bytes, size_t n, hpc_position place);
void hpc_spot_close(hpc_spot *d);
/* Appends text with the file's line ends and encoding. HPC_E_UNSUPPORTED: the encoding lacks a
 * character. */
int hpc_spot_spell(hpc_buf *out, const hpc_spot *d, const char *text, size_t n);

/* ---- completions ------------------------------------------------------------------------- */
typedef struct hpc_completer hpc_completer; /* one thread at a time */
int hpc_completer_open(hpc_completer **out, const hpc_engine_options *o);
/* Parts of a model that any number of completers can borrow; reading them takes long. */
typedef struct hpc_completer_words {
    const hpc_tokenizer *tokenizer;
    const hpc_vocabulary *vocabulary;
} hpc_completer_words;
/* Without an engine: each request must have a port. `files` and what `words` names are borrowed
 * until hpc_completer_close. words NULL: it reads its own. room: most tokens of prompt and answer;
 * 0: the model's limit. */
int hpc_completer_open_detached(hpc_completer **out, const hpc_model_files *files,
                                const hpc_completer_words *words, int64_t room);
void hpc_completer_close(hpc_completer *c);
/* Not for a detached completer. */
hpc_engine_counts hpc_completer_counts(const hpc_completer *c);
/* NULL for a detached completer. */
const hpc_engine *hpc_completer_engine(const hpc_completer *c);
int64_t hpc_completer_room(const hpc_completer *c); /* most tokens of prompt and answer */

typedef enum hpc_complete_stop {
    HPC_STOP_LINE,    /* at the end of the line */
    HPC_STOP_BLOCK,   /* of the block that it begins, or of the one around it */
    HPC_STOP_FUNCTION /* of the function around it, or of the one that it begins */
} hpc_complete_stop;

/* *out: LINE if text other than closing punctuation follows the cursor on its line, unless the
 * cursor directly follows the brace of a block that the file does not close; else `stop`. */
int hpc_complete_stop_at(hpc_complete_stop *out, const hpc_spot *d, hpc_complete_stop stop);

typedef struct hpc_snippet { /* part of another file */
    const char *path, *text;
    size_t n;
} hpc_snippet;

/* An engine that another thread runs. hpc_complete calls `enter` before its other calls and `leave`
 * after them, except prompt_tokens. Callbacks of its requests run only during `step`. */
typedef struct hpc_complete_port {
    void (*enter)(void *user);
    void (*leave)(void *user);
    int (*submit)(void *user, const hpc_request *r, int64_t *id);
    void (*cancel)(void *user, int64_t id);
    /* Waits briefly for a callback. *busy: a request has not ended. */
    int (*step)(void *user, bool *busy);
    hpc_engine_counts (*counts)(
        void *user); /* prompt tokens computed and reused for its requests */
    int64_t (*prompt_tokens)(void *user, int64_t ns); /* that the engine computes in ns */
    void *user;
} hpc_complete_port;

typedef struct hpc_complete_request {
    const hpc_spot *spot;
    const char *path, *repository; /* in the prompt; NULL: none */
    const hpc_snippet *snippet;    /* most relevant first */
    int64_t snippet_n;
    hpc_complete_stop stop;
    /* Plain continuation of the text: no marks, no other files, no stop but the model's own and
     * `most`, no resampling, and no changes to the output. */
    bool raw;
    int64_t most;          /* new tokens of an answer. Unless raw, an answer ends earlier as a
                            * repetition when it has an unmatched closing bracket or few
                            * distinct lines */
    bool close;            /* close open brackets of an answer cut short: FORCED */
    int64_t until_ns;      /* deadline by hpc_clock_ns; 0: none */
    int64_t samples;       /* answers, at least 1 */
    int64_t prompt_tokens; /* most of the prompt; 0: the model's limit */
    int64_t prompt_ns;     /* shortens the prompt to this time; 0: no limit */
    hpc_sampling sampling; /* answer k has `sample` k */
    const hpc_grammar_rule *rule; /* grammar of answers; NULL: none */
    /* Streams the first answer: receives lines once they are final. The concatenated pieces are its
     * text. May be NULL. */
    void (*ready)(void *user, const char *text, size_t n);
    /* Progress of the prompt, at the start and after each step, in tokens. May be NULL. */
    void (*reading)(void *user, int64_t done, int64_t total);
    /* Progress of the answers, after each step, in tokens of at most `total`. May be NULL. */
    void (*writing)(void *user, int64_t done, int64_t total);
    void *user;
    const int *cancel;             /* nonzero: cancel; any thread may set it; or NULL */
    const hpc_complete_port *port; /* NULL: the completer's engine. `ready` runs on its thread */
} hpc_complete_request;

enum { HPC_COMPLETION_CHECKS = 8 };
typedef struct hpc_completion_check { /* result of verify.h */
    const char *kind;
    bool ok;
    char text[256]; /* line and error; "" if ok */
} hpc_completion_check;

typedef struct hpc_completion_source { /* result of source.h */
    const char *repository, *licence;  /* owned by the passage index */
    int64_t tokens;                    /* of code that match */
    int64_t line, end_line;            /* in the file with the completion */
} hpc_completion_source;

typedef enum hpc_completion_finish {
    HPC_COMPLETION_STOP,       /* end of line, block or function, or a stop token */
    HPC_COMPLETION_LENGTH,     /* limit of the request or the model */
    HPC_COMPLETION_REPETITION, /* the model repeats itself, after resampling */
    HPC_COMPLETION_UNBALANCED, /* it closes a bracket that is not open, after resampling */
    HPC_COMPLETION_TIME,       /* the deadline passed */
    HPC_COMPLETION_FORCED,     /* cut after a statement, with closing brackets added */
    HPC_COMPLETION_CANCELLED,
    HPC_COMPLETION_ERROR /* sampling failed */
} hpc_completion_finish;

typedef struct hpc_completion {
    hpc_buf text; /* UTF-8 with line feeds; may be empty */
    int64_t tokens;
    double logprob; /* natural; sum over the tokens */
    hpc_completion_finish finish;
    char stop_token[48]; /* vocabulary entry of the stop token; "": none */
    int64_t open;        /* unclosed brackets of its line, block or function */
    int64_t retries;     /* times that it was resampled */
    int64_t sample;      /* the first with this text */
    int64_t times;       /* samples with this text */
    hpc_completion_check check[HPC_COMPLETION_CHECKS];
    int64_t check_n;
    hpc_completion_source *source; /* longest match first */
    int64_t source_n;
} hpc_completion;
typedef struct hpc_completions {
    hpc_completion *item; /* highest mean log probability per token first */
    int64_t n;
    int64_t prompt_tokens, prompt_wanted; /* prompt_wanted: without prompt_ns */
    int64_t prompt_computed;              /* of prompt_tokens; the cache had the others */
    int64_t prompt_ns;                    /* time of their computation */
    int64_t first_token_ns, end_ns;       /* since the request */
    int64_t made;                         /* tokens of all answers */
    int64_t decoded, decode_ns;           /* tokens after the first decoding step, and their time */
    int64_t drawn;                        /* answers sampled */
    hpc_complete_stop stop;               /* where they end: see hpc_complete_stop_at */
} hpc_completions;
/* Tokens per second; NAN for fewer than 16 tokens. */
double hpc_completions_prompt_rate(const hpc_completions *c);
double hpc_completions_decode_rate(const hpc_completions *c);
/* Returns 0 if cancelled; fragments have HPC_COMPLETION_CANCELLED and rank last. The caller
 * releases `out`, even after an error. */
int hpc_complete(hpc_completions *out, hpc_completer *c, const hpc_complete_request *r);
/* Moves the completions of `more`, sampled for the same request, to `out`, merges equal texts and
 * sorts by likelihood. Releases `more`, except after HPC_E_NOMEM. */
int hpc_completions_merge(hpc_completions *out, hpc_completions *more);
void hpc_completions_release(hpc_completions *c);

#ifdef __cplusplus
}
#endif
#endif
