/* State of the language server and its workers: private to infer/serve. */
#ifndef HPC_SERVE_LSP_PRIV_H
#define HPC_SERVE_LSP_PRIV_H

#include "infer/serve/document.h"
#include "infer/serve/lsp.h"
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
    hpc_json *message;  /* NULL: a notification */
    const hpc_json *id; /* of message */
    hpc_document document;
    int64_t due_ns; /* not begun before */
    int cancel;     /* atomic; 1: superseded, the answer is null; 2: cancelled by the client */
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
    void (*end)(lsp_server *s); /* in the worker, last */
} lsp_queue;

struct lsp_analyses;  /* lsp_pragma.c */
struct lsp_completer; /* lsp_complete.c */

struct lsp_server {
    const hpc_lsp_options *o;
    hpc_rpc rpc;
    hpc_documents documents; /* of the reading thread */
    hpc_position_unit unit;
    bool initialized, shutdown, exited;
    bool pulls; /* the client asks for diagnostics itself */
    bool guard;
    lsp_queue analysis, completion;
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
void lsp_job_free(lsp_job *j);

/* ---- answers (lsp_answer.c); errors of writing end the server at the next read ---- */
/* {"jsonrpc":"2.0","id":ID,"result": and then the caller's value, and lsp_answer_end. */
void lsp_answer_begin(hpc_json_out *w, hpc_buf *out, const hpc_json *id);
void lsp_answer_end(lsp_server *s, hpc_json_out *w);
void lsp_answer_null(lsp_server *s, const hpc_json *id);
void lsp_answer_error(lsp_server *s, const hpc_json *id, int code, const char *text);
/* The error record of this thread, cleared. */
void lsp_answer_failure(lsp_server *s, const hpc_json *id);
/* window/logMessage, or window/showMessage. type: 1 error, 2 warning, 3 info. */
void lsp_message(lsp_server *s, const char *method, int type, const char *text);
void lsp_put_null(hpc_json_out *w, const char *key);
void lsp_put_position(hpc_json_out *w, const char *key, hpc_text_position p);
void lsp_put_range(hpc_json_out *w, const char *key, const lsp_server *s, const hpc_buf *text,
                   size_t begin, size_t end);
const char *lsp_text(const hpc_json *v, const char *key); /* "" if there is none */
/* A position of an object; false: there is none. */
bool lsp_position(hpc_text_position *out, const hpc_json *v, const char *key);

/* ---- what the workers do ---- */
void lsp_analyse(lsp_server *s, lsp_job *j);
void lsp_analyses_free(lsp_server *s);
void lsp_complete(lsp_server *s, lsp_job *j);
void lsp_completer_free(lsp_server *s);

#endif
