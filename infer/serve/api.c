/*
 * Routes of the server, and the workers that answer requests which take time. Workers wait for the
 * scheduler; they do not compute.
 */
#include "infer/serve/api.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "infer/serve/api_priv.h"
#include "infer/serve/rpc.h"

/* ---- routes --------------------------------------------------------------------------------- */

/* Ends with a path of NULL. */
static const api_route api_routes[] = {
    {"GET", "/health", .now = api_health},
    {"GET", "/v1/health", .now = api_tabby_health},
    {"POST", "/v1/health", .now = api_tabby_health},
    {"GET", "/v1beta/server_setting", .now = api_tabby_setting},
    {"POST", "/v1/events", .now = api_tabby_event},
    {"GET", "/models", .now = api_models},
    {"GET", "/v1/models", .now = api_models},
    {"GET", "/v1/models/", .now = api_model},
    {"GET", "/props", .now = api_props},
    {"GET", "/slots", .now = api_slots},
    {"GET", "/metrics", .now = api_metrics},
    {"GET", "/api/tags", .now = api_ollama_tags},
    {"POST", "/api/show", .now = api_ollama_show},
    {"GET", "/api/version", .now = api_ollama_version},
    {"POST", "/embedding", .now = api_embeddings},
    {"POST", "/embeddings", .now = api_embeddings},
    {"POST", "/v1/embeddings", .now = api_embeddings},
    {"POST", "/api/embed", .now = api_embeddings},
    {"POST", "/tokenize", .work = api_tokenize},
    {"POST", "/detokenize", .work = api_detokenize},
    {"POST", "/infill", .work = api_generate, .format = API_LLAMA, .infill = true},
    {"POST", "/completion", .work = api_generate, .format = API_LLAMA},
    {"POST", "/completions", .work = api_generate, .format = API_LLAMA},
    {"POST", "/v1/completions", .work = api_generate, .format = API_OPENAI},
    {"POST", "/v1/chat/completions", .work = api_generate, .format = API_OPENAI, .chat = true},
    {"POST", "/chat/completions", .work = api_generate, .format = API_OPENAI, .chat = true},
    {"POST", "/v1/chat/completions/input_tokens", .work = api_count_tokens, .chat = true},
    {"POST", "/chat/completions/input_tokens", .work = api_count_tokens, .chat = true},
    {"POST", "/apply-template", .work = api_apply_template},
    {"POST", "/fim/completions", .work = api_generate, .format = API_FIM, .infill = true},
    {"POST", "/v1/fim/completions", .work = api_generate, .format = API_FIM, .infill = true},
    {"POST", "/api/generate", .work = api_generate, .format = API_OLLAMA},
    {"POST", "/v1/pragma", .work = api_pragma},
    {"POST", "/v1/perf", .work = api_perf},
    {.path = NULL}};

/* A route that ends with a slash is for all paths that begin with it. */
static bool is_for(const api_route *k, const char *path)
{
    const size_t n = strlen(k->path);
    return n > 1 && k->path[n - 1] == '/' ? strncmp(path, k->path, n) == 0
                                          : strcmp(path, k->path) == 0;
}

/* *served: a method that serves the path; NULL: none does. */
static const api_route *find_route(const hpc_http_request *r, const char **served)
{
    const char *method = hpc_http_method(r);
    if (strcmp(method, "HEAD") == 0) method = "GET";
    *served = NULL;
    for (const api_route *k = api_routes; k->path; k++) {
        if (!is_for(k, hpc_http_path(r))) continue;
        *served = k->method;
        if (strcmp(k->method, method) == 0) return k;
    }
    return NULL;
}

void api_send_json(hpc_http_request *r, hpc_buf *body)
{
    if (body->failed < 0)
        hpc_http_error(r, 503, "the server is out of memory");
    else
        hpc_http_answer(r, 200, HPC_HTTP_JSON, body);
    hpc_buf_release(body);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static void job_free(api_job *j)
{
    for (int64_t k = 0; k < j->result_n; k++) {
        hpc_buf_release(&j->result[k].text);
        hpc_buf_release(&j->result[k].probabilities);
        hpc_free(j->result[k].token.id);
    }
    hpc_free(j->result);
    hpc_free(j->id);
    api_ask_release(&j->ask);
    hpc_json_free(j->json);
    pthread_mutex_destroy(&j->lock);
    pthread_cond_destroy(&j->change);
    hpc_free(j);
}

/* With the lock of the server. False: the queue is full. */
static bool put(hpc_api *a, api_job *j)
{
    if (a->closing || (a->free_n == 0 && a->queued >= a->o.queue)) return false;
    if (a->last)
        a->last->next = j;
    else
        a->first = j;
    a->last = j;
    a->queued++;
    pthread_cond_signal(&a->work);
    return true;
}

static void enqueue(hpc_api *a, hpc_http_request *r, const api_route *route)
{
    api_job *j = hpc_alloc(1, sizeof *j);
    if (!j) {
        hpc_error_clear();
        hpc_http_error(r, 503, "the server is out of memory");
        return;
    }
    *j = (api_job){.a = a, .r = r, .route = route, .start_ns = hpc_clock_ns()};
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->change, NULL);
    hpc_http_keep(r);
    pthread_mutex_lock(&a->lock);
    j->number = ++a->jobs;
    const bool taken = put(a, j);
    /* With the lock: hpc_api_gone never finds a job that is freed below, and a client that left
     * before it is found here. */
    if (taken) hpc_http_set_user(r, j);
    if (taken && hpc_http_is_gone(r)) __atomic_store_n(&j->cancel, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&a->lock);
    if (taken) return;
    hpc_http_error(r, 503, "too many requests wait");
    hpc_http_release(r);
    job_free(j);
}

void hpc_api_handle(void *api, hpc_http_request *r)
{
    hpc_api *a = api;
    char why[64] = "unknown path; docs/serving.md lists the paths";
    const char *served;
    const api_route *route = find_route(r, &served);
    if (!route) {
        if (served) snprintf(why, sizeof why, "this path needs the method %s", served);
        hpc_http_error(r, served ? 405 : 404, why);
        return;
    }
    hpc_http_label(r, route->path);
    if (route->now)
        route->now(a, r);
    else
        enqueue(a, r, route);
}

/* By number: other connections may have jobs of the same document. */
void api_job_cancel(api_job *j)
{
    pthread_mutex_lock(&j->lock);
    if (j->port) hpc_scheduler_port_wake(j->port);
    for (int64_t k = 0; k < j->id_n; k++) hpc_scheduler_cancel(j->a->scheduler, j->id[k]);
    pthread_mutex_unlock(&j->lock);
}

/* With the lock of the server. False: a worker has the job. */
static bool remove_waiting(hpc_api *a, api_job *j)
{
    api_job *before = NULL, *at = a->first;
    for (; at && at != j; at = at->next) before = at;
    if (!at) return false;
    if (before)
        before->next = j->next;
    else
        a->first = j->next;
    if (a->last == j) a->last = before;
    a->queued--;
    return true;
}

/* The job is alive: a worker clears the request's pointer with the lock before it frees the job.
 * One that waits frees its place for others. */
void hpc_api_gone(void *api, hpc_http_request *r)
{
    hpc_api *a = api;
    pthread_mutex_lock(&a->lock);
    api_job *j = hpc_http_user(r);
    const bool waits = j && remove_waiting(a, j);
    if (waits) {
        hpc_http_set_user(r, NULL);
    } else if (j) {
        __atomic_store_n(&j->cancel, 1, __ATOMIC_RELEASE);
        api_job_cancel(j);
    }
    pthread_mutex_unlock(&a->lock);
    if (!waits) return;
    hpc_http_end(r);
    hpc_http_release(r);
    job_free(j);
}

/* ---- workers -------------------------------------------------------------------------------- */

static api_job *take(hpc_api *a)
{
    pthread_mutex_lock(&a->lock);
    a->free_n++;
    while (!a->first && !a->closing) pthread_cond_wait(&a->work, &a->lock);
    api_job *j = a->first;
    if (j) {
        a->first = j->next;
        if (!a->first) a->last = NULL;
        a->queued--;
    }
    a->free_n--;
    pthread_mutex_unlock(&a->lock);
    return j;
}

static int status_of(int rc)
{
    switch (rc) {
    case HPC_E_ARG:
    case HPC_E_FORMAT:
    case HPC_E_SHAPE: return 400;
    case HPC_E_UNSUPPORTED: return 501;
    case HPC_E_NOMEM:
    case HPC_E_STATE: return 503;
    default: return 500;
    }
}

static void work(api_job *j)
{
    const hpc_buf *body = hpc_http_body(j->r);
    int rc = hpc_rpc_parse(&j->json, body);
    if (rc >= 0 && hpc_json_kind_of(j->json) != HPC_JSON_OBJECT)
        rc = hpc_fail(HPC_E_FORMAT, "the body is not a JSON object");
    if (rc >= 0 && !__atomic_load_n(&j->cancel, __ATOMIC_ACQUIRE)) rc = j->route->work(j);
    if (rc < 0 && j->exceeding_n > 0)
        api_send_exceeding(j);
    else if (rc < 0)
        hpc_http_error(j->r, status_of(rc), hpc_error_get()->text);
    hpc_error_clear();
    hpc_http_end(j->r);
}

static void *run(void *user)
{
    api_worker *w = user;
    hpc_api *a = w->a;
    api_job *j;
    while ((j = take(a))) {
        j->worker = w;
        work(j);
        pthread_mutex_lock(&a->lock);
        hpc_http_set_user(j->r, NULL);
        pthread_mutex_unlock(&a->lock);
        hpc_http_release(j->r);
        job_free(j);
    }
    return NULL;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int start_workers(hpc_api *a)
{
    a->worker = hpc_alloc((size_t)a->o.workers, sizeof *a->worker);
    if (!a->worker) return HPC_E_NOMEM;
    for (int64_t k = 0; k < a->o.workers; k++) {
        api_worker *w = &a->worker[k];
        w->a = a;
        if (pthread_create(&w->thread, NULL, run, w) != 0)
            return hpc_fail(HPC_E_NOMEM, "cannot start a thread of the server");
        a->worker_n++;
    }
    return HPC_OK;
}

static int open_model(hpc_api *a)
{
    hpc_scheduler_options *o = &a->o.scheduler;
    int rc;
    TRY(hpc_model_files_open(&a->files, o->engine.model));
    TRY(hpc_model_files_tokenizer(&a->tokenizer, a->files));
    TRY(hpc_tokenizer_scratch_create(&a->scratch, a->tokenizer));
    const int64_t positions = hpc_model_files_config(a->files)->positions;
    a->capacity = positions;
    if (o->engine.cache_tokens > 0 && o->engine.cache_tokens < positions)
        a->capacity = o->engine.cache_tokens;
    if (a->o.context > 0 && a->o.context < a->capacity) a->capacity = a->o.context;
    o->engine.files = a->files;
    TRY(hpc_scheduler_open(&a->scheduler, o));
    TRY(hpc_scheduler_load(a->scheduler));
    if (a->o.passages) TRY(hpc_passages_open(&a->passages, a->o.passages));
    TRY(api_chat_open(&a->chat, a));
out:
    return rc;
}

int hpc_api_open(hpc_api **out, const hpc_api_options *o)
{
    hpc_api *a = hpc_alloc(1, sizeof *a);
    int rc;
    *out = NULL;
    if (!a) return HPC_E_NOMEM;
    a->o = *o;
    a->started_s = (int64_t)time(NULL);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->work, NULL);
    TRY(open_model(a));
    TRY(start_workers(a));
    *out = a;
    return HPC_OK;
out:
    hpc_api_close(a);
    return rc;
}

void hpc_api_close(hpc_api *a)
{
    if (!a) return;
    pthread_mutex_lock(&a->lock);
    a->closing = true;
    pthread_cond_broadcast(&a->work);
    pthread_mutex_unlock(&a->lock);
    for (int64_t k = 0; k < a->worker_n; k++) {
        pthread_join(a->worker[k].thread, NULL);
        hpc_completer_close(a->worker[k].completer);
        hpc_tokenizer_scratch_free(a->worker[k].scratch);
    }
    hpc_free(a->worker);
    hpc_scheduler_close(a->scheduler);
    hpc_passages_close(a->passages);
    api_chat_close(a->chat);
    hpc_vocabulary_free(a->vocabulary);
    hpc_tokenizer_scratch_free(a->scratch);
    hpc_tokenizer_close(a->tokenizer);
    hpc_model_files_close(a->files);
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->work);
    hpc_free(a);
}
