/*
 * The protocols of the server: llama.cpp's, OpenAI's, Mistral's, Ollama's and Tabby's requests for
 * completions, as answers of one scheduler.
 *
 * A request with text after the cursor, or with literal fill-in-the-middle marks, is a completion
 * at a position: it gets the completion rules of infer/complete. Other prompts are continued as
 * text.
 */
#ifndef HPC_SERVE_API_H
#define HPC_SERVE_API_H

#include "infer/serve/http.h"
#include "infer/serve/scheduler.h"
#include "infer/serve/tool.h"

typedef struct hpc_api hpc_api;

typedef struct hpc_api_options {
    const char *version, *model_name;
    const char *aliases, *tags;      /* of the model, separated by commas; NULL: none */
    hpc_scheduler_options scheduler; /* with the model's path in engine.model */
    const char *passages;            /* passage index of the model; NULL: none */
    hpc_tool_options tool;           /* of `pragma` and `perf predict`; program NULL: not served */
    const char *chat_template;       /* instead of the model's; NULL: the model's */
    int64_t most;                    /* tokens of an answer, whatever a request says */
    int64_t predict;                 /* tokens of an answer, if a request does not say */
    int64_t context;                 /* tokens of a prompt and its answer; 0: the cache's */
    bool no_slots, no_metrics;       /* not served: 501 */
    int64_t workers, queue;          /* requests in progress, and those that wait */
    bool log_prompts;
    void (*log)(void *user, const char *line); /* of prompts; NULL: none */
    void *user;
} hpc_api_options;
#define HPC_API_DEFAULTS                                                                           \
    {                                                                                              \
        .most = 4096, .predict = 256, .workers = 24, .queue = 64                                   \
    }

/* Loads the model, so that its error is the caller's. */
int hpc_api_open(hpc_api **out, const hpc_api_options *o);
/* After the HTTP server has ended. */
void hpc_api_close(hpc_api *a);
/* For hpc_http_options. */
void hpc_api_handle(void *api, hpc_http_request *r);
void hpc_api_gone(void *api, hpc_http_request *r);

#endif
