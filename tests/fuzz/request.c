/*
 * Fuzz target: any bytes as the body of a request for a completion. The first byte is the route.
 * Options that were read are within their limits.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/serve/api_priv.h"
#include "infer/serve/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const api_route routes[] = {{.format = API_LLAMA, .infill = true},
                                   {.format = API_LLAMA},
                                   {.format = API_OPENAI},
                                   {.format = API_OPENAI, .chat = true},
                                   {.format = API_FIM, .infill = true},
                                   {.format = API_OLLAMA}};
enum { ROUTES = sizeof routes / sizeof *routes, MOST = 4096 };

static hpc_api *open_api(void)
{
    static const char template[] =
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}";
    hpc_api *a = calloc(1, sizeof *a);
    if (!a) abort();
    a->o = (hpc_api_options)HPC_API_DEFAULTS;
    a->o.scheduler.engine.model = "share/pilot.gguf";
    a->o.model_name = "pilot";
    a->o.chat_template = template;
    a->o.most = MOST;
    a->o.predict = 16;
    a->capacity = 1024;
    if (hpc_model_files_open(&a->files, a->o.scheduler.engine.model) < 0 ||
        hpc_model_files_tokenizer(&a->tokenizer, a->files) < 0 || api_chat_open(&a->chat, a) < 0)
        abort();
    return a;
}

static void check(const api_ask *q)
{
    if (q->most < 0 || q->most > MOST || q->answers < 1 || q->answers > 16) abort();
    if (q->prompt_ms < 0 || q->predict_ms < 0 || q->top_n < 0 || q->top_n > HPC_JOB_TOP_MOST)
        abort();
    if (!(q->sampling.temperature >= 0) || (q->stop_n > 0 && q->stop[q->stop_n])) abort();
    for (int64_t k = 0, from = 0; k < q->prompt_n; from = q->prompt_end[k++])
        if (q->prompt_end[k] <= from || q->prompt_end[k] > q->prompt.n) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static hpc_api *a;
    static api_worker worker;
    hpc_buf body = {0};
    if (size < 1) return 0;
    if (!a) a = open_api();
    worker.a = a;
    api_job j = {.a = a, .worker = &worker, .route = &routes[data[0] % ROUTES]};
    if (hpc_buf_add(&body, (const char *)data + 1, size - 1) < 0) abort();
    if (hpc_rpc_parse(&j.json, &body) >= 0 && hpc_json_kind_of(j.json) == HPC_JSON_OBJECT &&
        api_ask_read(&j) >= 0)
        check(&j.ask);
    hpc_error_clear();
    api_ask_release(&j.ask);
    hpc_json_free(j.json);
    hpc_buf_release(&body);
    return 0;
}
