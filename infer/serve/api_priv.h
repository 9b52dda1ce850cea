/* Requests for completions, and how they are answered: private to infer/serve/api*.c. */
#ifndef HPC_SERVE_API_PRIV_H
#define HPC_SERVE_API_PRIV_H

#include <pthread.h>

#include "infer/complete/source.h"
#include "infer/engine/grammar.h"
#include "infer/serve/api.h"
#include "infer/serve/complete_port.h"
#include "model/files.h"

typedef enum api_format {
    API_LLAMA,  /* /completion and /infill: `content` */
    API_OPENAI, /* /v1/completions: `choices[].text` */
    API_FIM,    /* /fim/completions: `choices[].message` and `delta` */
    API_OLLAMA, /* /api/generate: `response` */
    API_TABBY   /* /v1/completions with `segments` */
} api_format;

typedef enum api_sampler {
    API_PENALTIES,
    API_TOP_K,
    API_TOP_P,
    API_MIN_P,
    API_TEMPERATURE,
    API_SAMPLER_N
} api_sampler;

typedef struct api_job api_job;
typedef struct api_route {
    const char *method, *path;
    /* One of the two: at once, in the server's thread; or in a worker. */
    void (*now)(hpc_api *a, hpc_http_request *r);
    int (*work)(api_job *j); /* an error without an answer is reported as 400 or 500 */
    api_format format;
    bool infill;
    bool chat; /* messages instead of a prompt */
} api_route;

/* Options of a request. Texts are borrowed from `json`. */
typedef struct api_ask {
    api_format format;
    bool infill, stream, usage, tokens; /* tokens: of the answer, as numbers */
    hpc_buf prefix, suffix;             /* of infill; else prefix is the prompt */
    hpc_ids prompt;                     /* tokens of text, and of all prompts of a list */
    int64_t *prompt_end; /* [prompt_n]: where each of several ends; NULL: there is one */
    int64_t prompt_n, prompt_cap;
    const char *path;
    const char *document; /* what the client edits; "": not named */
    hpc_snippet *snippet;
    int64_t snippet_n, snippet_cap;
    int64_t most, answers, prompt_ms, predict_ms, top_n, indent;
    uint32_t samplers;      /* set of 1 << api_sampler */
    bool progress, timings; /* in events of a stream */
    bool loads;             /* Ollama's request without a prompt: it wants the model loaded */
    hpc_sampling sampling;
    const char **stop; /* NULL-terminated */
    int64_t stop_n, stop_cap;
    bool ignore_end;
    hpc_bias *bias;
    int64_t bias_n, bias_cap;
    const hpc_json *fields; /* response_fields; NULL: all */
    hpc_gbnf *gbnf;         /* of the answers; NULL: any text */
} api_ask;

typedef struct api_result {
    hpc_buf text;
    hpc_ids token;
    hpc_buf probabilities; /* the elements of a JSON list */
    int64_t token_sent;    /* by earlier events of a stream */
    size_t probabilities_sent;
    const char *finish; /* "stop", "length", "cancelled" */
    const char *kind;   /* llama.cpp's stop_type */
    const char *word;   /* the stop string that came; "" */
    int64_t slot;       /* -1: it never ran */
    int64_t prompt_n, reused_n, computed_n, made_n, dropped_n;
    int64_t prompt_ns, decode_ns;
    bool named;       /* the role of a chat's message was sent */
    bool reads;       /* this event is about the prompt: computed_n tokens of it are done */
    char source[300]; /* attribution; "" */
} api_result;

struct api_job {
    api_job *next;
    hpc_api *a;
    hpc_http_request *r;
    const api_route *route;
    struct api_worker *worker;
    int cancel; /* atomic */
    hpc_json *json;
    api_ask ask;
    api_result *result; /* [ask.answers] */
    int64_t result_n;
    int64_t start_ns;
    uint64_t number;
    pthread_mutex_t lock;
    pthread_cond_t change;
    hpc_scheduler_port *port; /* while it is used; with the lock */
    int64_t *id;              /* [id_n]: of the scheduler; with the lock */
    int64_t id_n;
    bool superseded;     /* by a newer request for its document; with the lock */
    int64_t exceeding_n; /* tokens of a prompt that exceeds the context; 0: none does */
    int64_t ended;       /* answers; with the lock */
    hpc_error error;     /* of an answer; with the lock */
    bool answered;
};

typedef struct api_worker {
    hpc_api *a;
    pthread_t thread;
    hpc_completer *completer; /* opened by the first completion */
    hpc_tokenizer_scratch *scratch;
} api_worker;

struct hpc_api {
    hpc_api_options o;
    hpc_model_files *files;
    hpc_tokenizer *tokenizer;
    hpc_passages *passages;
    struct api_chat *chat;
    hpc_vocabulary *vocabulary; /* NULL: no request needed it; with the lock */
    hpc_scheduler *scheduler;
    int64_t capacity; /* tokens of a prompt and its answer */
    int64_t started_s;
    hpc_tokenizer_scratch *scratch; /* of the server's thread */
    pthread_mutex_t lock;
    pthread_cond_t work;
    api_worker *worker;
    int64_t worker_n, free_n;
    api_job *first, *last;
    int64_t queued;
    uint64_t jobs;
    bool closing;
};

/* ---- reading (api_ask.c) ---- */
int api_ask_read(api_job *j);
void api_ask_release(api_ask *q);
/* "" if the key is absent */
const char *api_text(const hpc_json *o, const char *key);
int64_t api_int(const hpc_json *o, const char *key, int64_t fallback);
double api_real(const hpc_json *o, const char *key, double fallback);
bool api_flag(const hpc_json *o, const char *key, bool fallback);

/* ---- options (api_option.c) ---- */
int api_option_read(api_job *j);
const char *api_sampler_name(api_sampler s);

/* ---- grammars (api_grammar.c) ---- */
/* Made once, by the first request that needs it. */
int api_vocabulary(const hpc_vocabulary **out, hpc_api *a);
int api_grammar_read(api_job *j);
/* Creates the grammar of one answer; NULL: any text. end: tokens that only end it. */
int api_grammar_create(hpc_grammar **out, const api_job *j, const int32_t *end, int64_t end_n);

/* ---- work (api_infill.c, api_text.c) ---- */
int api_generate(api_job *j);
/* Tokens that end a text. */
enum { API_CHAT_ENDS = 24, API_ENDS = 8 + API_CHAT_ENDS };
int64_t api_ends(int32_t end[API_ENDS], const api_job *j);
/* Ends the jobs of the scheduler. */
void api_job_cancel(api_job *j);
/* The scheduler's client, and the document of the request. */
hpc_job api_job_like(const api_job *j);
/* Where the first new line with fewer than `least` blanks begins, or n; blank lines before it are
 * cut with it. *waits: from where more text decides. */
size_t api_indent_end(size_t *waits, const char *text, size_t n, int64_t least);
int api_continue(api_job *j);

/* ---- answers (api_answer.c, api_llama.c) ---- */
/* A piece of the text of an answer, with its tokens, of a stream. Any thread. */
void api_send_piece(api_job *j, int64_t k, const char *text, size_t n);
/* An event about the prompt of an answer. */
void api_send_progress(api_job *j, int64_t k);
/* The whole answer, or the end of a stream. */
void api_send_result(api_job *j);
void api_put_probability(const api_job *j, api_result *r, const hpc_job_token *t);
void api_put_probabilities(hpc_json_out *w, const char *key, const api_result *r, size_t from);
void api_put_timings(hpc_json_out *w, const api_result *r);
void api_put_progress(hpc_json_out *w, const api_result *r);
void api_put_llama(hpc_json_out *w, const api_job *j, int64_t k, const char *text, bool last);
void api_send_llama(api_job *j);
void api_send_exceeding(api_job *j);

/* ---- facts (api_info.c) ---- */
void api_health(hpc_api *a, hpc_http_request *r);
void api_models(hpc_api *a, hpc_http_request *r);
void api_model(hpc_api *a, hpc_http_request *r); /* the one that the path names */
void api_props(hpc_api *a, hpc_http_request *r);
void api_slots(hpc_api *a, hpc_http_request *r);
void api_metrics(hpc_api *a, hpc_http_request *r);
void api_ollama_tags(hpc_api *a, hpc_http_request *r);
void api_ollama_show(hpc_api *a, hpc_http_request *r);
void api_ollama_version(hpc_api *a, hpc_http_request *r);
void api_tabby_health(hpc_api *a, hpc_http_request *r);
void api_tabby_setting(hpc_api *a, hpc_http_request *r);
void api_tabby_event(hpc_api *a, hpc_http_request *r);
void api_embeddings(hpc_api *a, hpc_http_request *r); /* 501 */
/* An object of facts, and its end as an answer. */
void api_begin_facts(hpc_json_out *w, hpc_buf *out);
void api_send_facts(hpc_http_request *r, hpc_json_out *w);
int api_tokenize(api_job *j);
int api_detokenize(api_job *j);
/* ---- chats (api_chat.c, api_chat_model.c) ---- */
int api_chat_open(struct api_chat **out, hpc_api *a);
void api_chat_close(struct api_chat *c);
int api_chat_read(api_job *j);
/* Tokens that end a turn, API_CHAT_ENDS at most. */
int64_t api_chat_ends(const int32_t **end, const hpc_api *a);
int api_apply_template(api_job *j);
int api_count_tokens(api_job *j); /* of the rendered messages */
/* ---- our own (api_own.c) ---- */
int api_pragma(api_job *j);
int api_perf(api_job *j);

void api_send_json(hpc_http_request *r, hpc_buf *body); /* releases it */

#endif
