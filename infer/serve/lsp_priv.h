/* State of the language server and its workers: private to infer/serve. */
#ifndef HPC_SERVE_LSP_PRIV_H
#define HPC_SERVE_LSP_PRIV_H

#include "infer/serve/document.h"
#include "infer/serve/lsp.h"
#include "infer/serve/lsp_settings.h"
#include "infer/serve/rpc.h"

/* JSON-RPC and LSP error codes */
enum {
    LSP_PARSE_ERROR = -32700,
    LSP_INVALID_REQUEST = -32600,
    LSP_UNKNOWN_METHOD = -32601,
    LSP_INVALID_PARAMS = -32602,
    LSP_INTERNAL_ERROR = -32603,
    LSP_NOT_INITIALIZED = -32002,
    LSP_CANCELLED = -32800
};

typedef enum lsp_kind {
    LSP_PUSH_DIAGNOSTICS, /* a notification: no id */
    LSP_PUSH_AGAIN,       /* the same, with the newest analysis of the document */
    LSP_PERF,             /* performance hints of a saved file */
    LSP_PULL_DIAGNOSTICS,
    LSP_ACTIONS,
    LSP_HOVER,
    LSP_INLINE_COMPLETION,
    LSP_COMPLETION
} lsp_kind;

/* A request with the text that it was made for. */
typedef struct lsp_job {
    struct lsp_job *next;
    lsp_kind kind;
    hpc_json *message;     /* NULL: a notification */
    const hpc_json *id;    /* of message */
    char *uri;             /* of the document: queues compare it while a worker has the job */
    hpc_document document; /* the worker's; its language is as the client names it */
    lsp_settings settings; /* of the time when it was made */
    int64_t number;        /* LSP_PERF: of the hints that it makes; see lsp_hints_expect */
    int64_t due_ns;        /* not begun before */
    int cancel; /* atomic; 1: superseded, the answer is null; 2: cancelled by the client */
} lsp_job;

typedef struct lsp_server lsp_server;
/* Jobs of one worker thread. */
typedef struct lsp_queue {
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    lsp_job *first, *running;
    bool closed;
    lsp_server *server;
    void (*work)(lsp_server *s, lsp_job *j);
    void (*end)(lsp_server *s); /* in the worker, last; may be NULL */
} lsp_queue;

/* Capabilities of the client. */
typedef struct lsp_abilities {
    bool pulls;   /* it asks for diagnostics itself */
    bool refresh; /* it repeats the request on workspace/diagnostic/refresh */
    bool progress, configuration, register_configuration;
} lsp_abilities;

enum { LSP_PROGRESSES = 8, LSP_REASONS = 3 };

/* A report of progress; token 0: free. */
typedef struct lsp_progress {
    int64_t token;
    const char *title;
    bool counted; /* it has a percentage */
    bool begun;   /* the client has accepted its token */
    int percent;
    int *cancel; /* atomic; NULL: it cannot be cancelled */
} lsp_progress;

typedef struct lsp_reason {
    int64_t line; /* from 0 */
    char *text;
} lsp_reason;
typedef struct lsp_hint { /* about a changed function */
    int64_t line;         /* from 0 */
    bool slower;
    char *message;
    lsp_reason reason[LSP_REASONS];
    int reasons_n;
} lsp_hint;
typedef struct lsp_edit { /* the text between the positions became one with `by` more lines */
    hpc_text_position from, to;
    int64_t by;
} lsp_edit;
typedef struct lsp_hints { /* of a document */
    char *uri;
    lsp_hint *item;
    int64_t n, cap;
    int64_t awaited; /* the number of hints that are being made; 0: none are */
    lsp_edit *edit;  /* since the save that they are made for */
    int64_t edit_n, edit_cap;
} lsp_hints;

struct lsp_analyses;  /* lsp_pragma.c */
struct lsp_completer; /* lsp_complete.c */

struct lsp_server {
    const hpc_lsp_options *o;
    hpc_rpc rpc;
    hpc_documents documents; /* of the reading thread */
    hpc_position_unit unit;
    bool initialized, shutdown, exited;
    lsp_abilities can;
    lsp_settings settings; /* of the reading thread */
    hpc_buf reported;      /* settings that were reported, each followed by a NUL */
    lsp_queue analysis, completion, perf;
    struct {
        pthread_mutex_t lock;
        int64_t last;
        lsp_progress item[LSP_PROGRESSES];
    } progress;
    struct {
        pthread_mutex_t lock;
        lsp_hints *item;
        int64_t n, cap;
        int64_t last; /* number of hints that were expected */
    } hints;
    /* Held from the look at a document's state until its diagnostics are sent: none are sent for a
     * document that was closed, and newer ones are never followed by older ones. */
    pthread_mutex_t publishing;
    struct lsp_analyses *analyses;   /* of the analysis thread */
    struct lsp_completer *completer; /* of the completion thread */
};

/* ---- queues (lsp_queue.c) ---- */
int lsp_queue_open(lsp_queue *q, lsp_server *s, void (*work)(lsp_server *, lsp_job *),
                   void (*end)(lsp_server *));
/* Waits for the running job; the others are dropped. */
void lsp_queue_close(lsp_queue *q);
/* Takes the job. Supersedes earlier ones of its kind for its document where that makes sense. */
void lsp_queue_put(lsp_queue *q, lsp_job *j);
/* Cancels what the client cancels; false: there is no such request. */
bool lsp_queue_cancel(lsp_queue *q, const hpc_json *id);
/* Drops jobs without a request: pushed diagnostics and hints of a document that was closed. */
void lsp_queue_drop(lsp_queue *q, const char *uri);
void lsp_job_free(lsp_job *j);

/* ---- answers (lsp_answer.c); errors of writing end the server at the next read ---- */
/* {"jsonrpc":"2.0","id":ID,"result": and then the caller's value, and lsp_answer_end. */
void lsp_answer_begin(hpc_json_out *w, hpc_buf *out, const hpc_json *id);
void lsp_answer_end(lsp_server *s, hpc_json_out *w);
void lsp_answer_null(lsp_server *s, const hpc_json *id);
void lsp_answer_error(lsp_server *s, const hpc_json *id, int code, const char *text);
/* A request to the client, or, with id NULL, a notification, up to its params. lsp_answer_end
 * sends it. */
void lsp_request_begin(hpc_json_out *w, hpc_buf *out, const char *id, const char *method);
/* The error record of this thread, cleared. */
void lsp_answer_failure(lsp_server *s, const hpc_json *id);
/* window/logMessage, or window/showMessage. type: 1 error, 2 warning, 3 info. */
void lsp_message(lsp_server *s, const char *method, int type, const char *text);
void lsp_put_position(hpc_json_out *w, const char *key, hpc_text_position p);
void lsp_put_range(hpc_json_out *w, const char *key, const lsp_server *s, const hpc_buf *text,
                   size_t begin, size_t end);
const char *lsp_text(const hpc_json *v, const char *key); /* "" if it is missing */
/* A position of an object; false: it is missing. */
bool lsp_position(hpc_text_position *out, const hpc_json *v, const char *key);

/* ---- settings (lsp_settings.c); of the reading thread ---- */
void lsp_configure(lsp_server *s, const hpc_json *given);
/* Requests, where the client supports them. */
void lsp_ask_configuration(lsp_server *s);
void lsp_register_configuration(lsp_server *s);

/* ---- progress (lsp_progress.c) ---- */
void lsp_progress_open(lsp_server *s);
void lsp_progress_close(lsp_server *s);
/* The title is borrowed. The client's cancellation sets *cancel, until the end. 0: nothing is
 * shown, which the other calls take. */
int64_t lsp_progress_begin(lsp_server *s, const char *title, bool counted, int *cancel);
void lsp_progress_report(lsp_server *s, int64_t token, int64_t done, int64_t total);
void lsp_progress_end(lsp_server *s, int64_t token);
void lsp_progress_created(lsp_server *s, const char *id, bool accepted);
void lsp_progress_cancel(lsp_server *s, const hpc_json *params);

/* ---- performance hints (lsp_hints.c) ---- */
void lsp_hints_open(lsp_server *s);
void lsp_hints_close(lsp_server *s);
void lsp_hints_release(lsp_hints *h);
/* Hints are made for the text of now; their number. 0: out of memory. */
int64_t lsp_hints_expect(lsp_server *s, const char *uri);
/* The hints with that number replace those of the document, moved with the edits since. made NULL:
 * the prediction failed. Takes them. False: the document was closed, replaced, or saved again. */
bool lsp_hints_take(lsp_server *s, const char *uri, int64_t number, lsp_hints *made);
/* Those that are expected, too. True: some were shown. */
bool lsp_hints_drop(lsp_server *s, const char *uri);
/* The range became the text. True: hints moved. */
bool lsp_hints_edit(lsp_server *s, const char *uri, hpc_text_position from, hpc_text_position to,
                    const char *text);
void lsp_hints_put(hpc_json_out *w, lsp_server *s, const char *uri); /* as diagnostics */
/* Alone. With `publishing`. */
void lsp_hints_publish(lsp_server *s, const char *uri);
/* With `publishing`. Publishes them; where the client does not ask for the verdicts on loops, with
 * these, on the analysis thread. (lsp.c) */
void lsp_hints_changed(lsp_server *s, const hpc_document *d, const lsp_settings *settings);

/* ---- what the workers do ---- */
void lsp_analyse(lsp_server *s, lsp_job *j);
void lsp_analyses_free(lsp_server *s);
/* Compiler flags of a file; none if no database knows it. The caller releases them. */
int lsp_flags_find(hpc_check_flags *out, const lsp_server *s, const char *path);
void lsp_predict(lsp_server *s, lsp_job *j);
void lsp_complete(lsp_server *s, lsp_job *j);
void lsp_completer_free(lsp_server *s);

#endif
