/*
 * ask.h: completions of code from a model or from a server, for suites that score them.
 */
#ifndef HPC_EVAL_ASK_H
#define HPC_EVAL_ASK_H

#include "infer/complete/complete.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hpc_eval_api {
    HPC_EVAL_INFILL,     /* POST /infill of llama-server */
    HPC_EVAL_COMPLETIONS /* POST /v1/completions of OpenAI, with `suffix` */
} hpc_eval_api;
typedef struct hpc_eval_asker_options {
    const char *model;  /* a model file or directory; NULL: use the server */
    const char *server; /* "http://127.0.0.1:8080" */
    hpc_eval_api api;
    int threads;
    const char *device;    /* of the model; NULL: the CPU */
    int64_t prompt_tokens; /* most of a prompt of the model; 0: 2048 */
    int64_t max_tokens;    /* of an answer; 0: 512 */
    int64_t samples;       /* most at once */
} hpc_eval_asker_options;
typedef struct hpc_eval_asker hpc_eval_asker; /* one thread at a time */
int hpc_eval_asker_open(hpc_eval_asker **out, const hpc_eval_asker_options *o);
void hpc_eval_asker_close(hpc_eval_asker *a);

typedef struct hpc_eval_question {
    const char *path; /* for the language, and in the prompt */
    const char *prefix, *suffix;
    size_t prefix_n, suffix_n;
    hpc_complete_stop stop;
    double temperature, top_p;
    uint64_t seed;
    int64_t samples;
    const int *stopped; /* cancels; NULL: never */
} hpc_eval_question;
typedef struct hpc_eval_answer {
    hpc_buf text;
    bool ended; /* it ended with its line, block or function */
} hpc_eval_answer;
/* Fills answer[0..samples). A server's answers are cut at the end of the line, block or function;
 * the model's end there. The caller releases the texts, even after an error. */
int hpc_eval_ask(hpc_eval_answer *answer, hpc_eval_asker *a, const hpc_eval_question *q);

/* Length of the answer up to the end of its line, or of the block or function in which it begins.
 * *ended: it has that end. */
int hpc_eval_cut(size_t *n, bool *ended, const char *text, size_t length, hpc_complete_stop stop,
                 hpc_language l);

/* One request of HTTP/1.1 over TCP, without TLS. url: "http://HOST[:PORT][/PREFIX]". Appends the
 * body of an answer with status 200. HPC_E_ARG: the URL is not valid; HPC_E_IO: there is no answer,
 * or one with another status, which the message has. */
int hpc_eval_post(hpc_buf *out, const char *url, const char *path, const hpc_buf *body);

#ifdef __cplusplus
}
#endif
#endif
