/*
 * complete.h: what goes at a place in a file.
 *
 * From the text before and behind the place, and parts of other files, to texts that
 * can be put there as they are: they end where a line, block or function ends, do not
 * repeat what follows, and are indented, spelled and ended as the file is. Nothing here
 * reads or writes files.
 */
#ifndef HPC_COMPLETE_H
#define HPC_COMPLETE_H

#include "infer/engine.h"
#include "infer/grammar.h"
#include "runtime/source/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a place ----------------------------------------------------------------------------- */
/* A file as models see it: UTF-8 with line feeds. What is no UTF-8 is taken for Latin-1. */
typedef struct hpc_spot {
    hpc_buf text;
    size_t at, raw_at;     /* the place: in `text`, and in the bytes given */
    hpc_language language; /* NONE: brackets are not looked at */
    bool fixed;            /* fixed-form Fortran */
    bool latin1, crlf;
    int64_t line, col; /* from 1; columns count characters */
} hpc_spot;
typedef struct hpc_position { /* line 0: the end of the file; col 0: the end of the line */
    int64_t line, col;
} hpc_position;
/* path: for the language and messages. HPC_E_ARG: a place that is not in the text; HPC_E_FORMAT: no
 * text at all (NUL bytes, UTF-16), or more than 64 MiB. */
int hpc_spot_open(hpc_spot *out, const char *path, const char *bytes, size_t n, hpc_position place);
void hpc_spot_close(hpc_spot *d);
/* Appends a text as the file would have it: its line ends, its encoding. HPC_E_UNSUPPORTED: a
 * character that the file's encoding does not have. */
int hpc_spot_spell(hpc_buf *out, const hpc_spot *d, const char *text, size_t n);

/* ---- completions ------------------------------------------------------------------------- */
typedef struct hpc_completer hpc_completer; /* one thread at a time */
int hpc_completer_open(hpc_completer **out, const hpc_engine_options *o);
/* Without an engine: each request names a port. `files` is borrowed; room: tokens of a text at
 * most; 0: what the model takes. */
int hpc_completer_open_detached(hpc_completer **out, const hpc_model_files *files, int64_t room);
void hpc_completer_close(hpc_completer *c);
hpc_engine_counts hpc_completer_counts(const hpc_completer *c);
const hpc_engine *hpc_completer_engine(const hpc_completer *c);
int64_t hpc_completer_room(const hpc_completer *c); /* tokens of a prompt and its answer */

typedef enum hpc_complete_stop {
    HPC_STOP_LINE,    /* at the end of the line */
    HPC_STOP_BLOCK,   /* of the block that it begins, or of the one around it */
    HPC_STOP_FUNCTION /* of the function around it, or of the one that it begins */
} hpc_complete_stop;

/* LINE where the line goes on after the cursor with more than closing marks; else `stop`. */
hpc_complete_stop hpc_complete_stop_at(const hpc_spot *d, hpc_complete_stop stop);

typedef struct hpc_snippet { /* of another file */
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
    int64_t (*prompt_tokens)(void *user, int64_t ns); /* read in that time; INT64_MAX: not known */
    void *user;
} hpc_complete_port;

typedef struct hpc_complete_request {
    const hpc_spot *spot;
    const char *path, *repository; /* as the model is to see them; NULL: none */
    const hpc_snippet *snippet;    /* the most telling one first */
    int64_t snippet_n;
    hpc_complete_stop stop;
    /* The text goes on as it is: no marks, no other files, no end but the model's own and `most`,
     * no token of it chosen anew, and nothing of what comes is changed. */
    bool raw;
    int64_t most;                 /* new tokens of an answer; raw: all of them, else as long as the
                                   * text is sound: it closes no bracket too many, and most of its
                                   * lines are distinct */
    bool close;                   /* close what does not end by itself: FORCED */
    int64_t until_ns;             /* of hpc_clock_ns: answers end there; 0: no limit */
    int64_t samples;              /* answers, at least 1 */
    int64_t prompt_tokens;        /* at most; 0: what the model takes */
    int64_t prompt_ns;            /* to read it, by a measured rate; 0: without limit */
    hpc_sampling sampling;        /* of answer k: with k as its sample */
    const hpc_grammar_rule *rule; /* what answers must follow; NULL: none */
    /* Of the first answer, lines of it as soon as they are sure: all pieces together are its text.
     * May be NULL. */
    void (*ready)(void *user, const char *text, size_t n);
    /* While the prompt is read, at the start and after each step: tokens done and of the whole.
     * May be NULL. */
    void (*reading)(void *user, int64_t done, int64_t total);
    void *user;
    const int *cancel;             /* not NULL and not 0: leave off; any thread may set it */
    const hpc_complete_port *port; /* NULL: the completer's engine. `ready` runs on its thread */
} hpc_complete_request;

enum { HPC_COMPLETION_CHECKS = 8 };
typedef struct hpc_completion_check { /* verify.h makes them */
    const char *kind;
    bool ok;
    char text[256]; /* where and what; "" when ok */
} hpc_completion_check;

typedef struct hpc_completion_source { /* source.h finds them */
    const char *repository, *licence;  /* live as long as the passages that have them */
    int64_t tokens;                    /* of code, that it has as well */
    int64_t line, end_line;            /* of the file with the completion in it */
} hpc_completion_source;

typedef enum hpc_completion_finish {
    HPC_COMPLETION_STOP,       /* its line, block or function ends there, or the model ended it */
    HPC_COMPLETION_LENGTH,     /* as many tokens as allowed, or as the model takes */
    HPC_COMPLETION_REPETITION, /* the model repeats itself, also after it was sampled again */
    HPC_COMPLETION_UNBALANCED, /* likewise, it closes a bracket that is not open */
    HPC_COMPLETION_TIME,       /* the request's time is over */
    HPC_COMPLETION_FORCED,     /* one of the above, cut after a statement and closed by brackets */
    HPC_COMPLETION_CANCELLED,
    HPC_COMPLETION_ERROR /* no token could be chosen */
} hpc_completion_finish;

typedef struct hpc_completion {
    hpc_buf text; /* UTF-8 with line feeds; may be empty */
    int64_t tokens;
    double logprob; /* of these tokens together, natural */
    hpc_completion_finish finish;
    char stop_token[48]; /* the token by which the model ended it, as the tokenizer spells it; "" */
    int64_t open;        /* brackets of its line, block or function that it leaves open */
    int64_t retries;     /* times that it was sampled again after a repetition */
    int64_t sample;      /* the first that gave this text */
    int64_t times;       /* how many gave it */
    hpc_completion_check check[HPC_COMPLETION_CHECKS];
    int64_t check_n;
    hpc_completion_source *source; /* who has most of it first */
    int64_t source_n;
} hpc_completion;
typedef struct hpc_completions {
    hpc_completion *item; /* the likeliest token by token first */
    int64_t n;
    int64_t prompt_tokens, prompt_wanted; /* the second: without a limit of time */
    int64_t prompt_computed;              /* of prompt_tokens; the others were in the cache */
    int64_t prompt_ns;                    /* in which they were computed */
    int64_t first_token_ns, end_ns;       /* since the request */
    int64_t made;                         /* tokens, of all answers, */
    int64_t decoded, decode_ns;           /* those of steps after the first that made any */
    int64_t drawn;                        /* answers */
} hpc_completions;
/* Tokens per second; NAN where too few tokens were computed for one. */
double hpc_completions_prompt_rate(const hpc_completions *c);
double hpc_completions_decode_rate(const hpc_completions *c);
/* Cancelled: 0, and fragments with HPC_COMPLETION_CANCELLED, which rank last. */
int hpc_complete(hpc_completions *out, hpc_completer *c, const hpc_complete_request *r);
/* Moves the completions of `more`, drawn for the same request, to `out`; equal texts are merged,
 * and the likeliest comes first again. Releases `more`. */
int hpc_completions_merge(hpc_completions *out, hpc_completions *more);
void hpc_completions_release(hpc_completions *c);

#ifdef __cplusplus
}
#endif
#endif
