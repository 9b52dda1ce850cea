/*
 * Facts about the server and its model, and text as tokens. Nothing here shows a prompt.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "infer/serve/api_priv.h"

void api_send_facts(hpc_http_request *r, hpc_json_out *w)
{
    hpc_json_close(w, '}');
    api_send_json(r, w->buf);
}

void api_begin_facts(hpc_json_out *w, hpc_buf *out)
{
    *w = (hpc_json_out){.buf = out};
    hpc_json_open(w, NULL, '{');
}

void api_health(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w;
    (void)a;
    api_begin_facts(&w, &out);
    hpc_json_put_text(&w, "status", "ok");
    api_send_facts(r, &w);
}

/* ---- models --------------------------------------------------------------------------------- */

static void put_names(hpc_json_out *w, const char *key, const char *names)
{
    hpc_json_open(w, key, '[');
    for (const char *at = names ? names : ""; *at;) {
        const size_t n = strcspn(at, ",");
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        if (n > 0) hpc_json_put_text(w, NULL, name);
        at += n + (at[n] == ',');
    }
    hpc_json_close(w, ']');
}

static int64_t bytes_of_model(const hpc_api *a)
{
    struct stat s;
    return stat(a->o.scheduler.engine.model, &s) == 0 && S_ISREG(s.st_mode) ? s.st_size : -1;
}

static void put_model(hpc_json_out *w, const hpc_api *a)
{
    const hpc_model_config *c = hpc_model_files_config(a->files);
    const int64_t bytes = bytes_of_model(a);
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "id", a->o.model_name);
    put_names(w, "aliases", a->o.aliases);
    put_names(w, "tags", a->o.tags);
    hpc_json_put_text(w, "object", "model");
    hpc_json_put_int(w, "created", a->started_s);
    hpc_json_put_text(w, "owned_by", "llamacpp"); /* editors look for this name */
    hpc_json_open(w, "meta", '{');
    hpc_json_put_int(w, "n_vocab", c->vocab);
    hpc_json_put_int(w, "n_ctx", a->capacity);
    hpc_json_put_int(w, "n_ctx_train", c->positions);
    hpc_json_put_int(w, "n_embd", c->hidden);
    hpc_json_put_int(w, "n_params", hpc_model_config_params(c));
    if (bytes >= 0) hpc_json_put_int(w, "size", bytes);
    hpc_json_close(w, '}');
    hpc_json_close(w, '}');
}

void api_models(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w;
    api_begin_facts(&w, &out);
    hpc_json_put_text(&w, "object", "list");
    hpc_json_open(&w, "data", '[');
    put_model(&w, a);
    hpc_json_close(&w, ']');
    api_send_facts(r, &w);
}

static bool is_name(const hpc_api *a, const char *name)
{
    const size_t n = strlen(name);
    if (strcmp(name, a->o.model_name) == 0) return true;
    for (const char *at = a->o.aliases ? a->o.aliases : ""; *at;) {
        const size_t k = strcspn(at, ",");
        if (k == n && n > 0 && strncmp(at, name, n) == 0) return true;
        at += k + (at[k] == ',');
    }
    return false;
}

void api_model(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w = {.buf = &out};
    if (!is_name(a, strrchr(hpc_http_path(r), '/') + 1)) {
        hpc_http_error(r, 404, "there is no model of this name");
        return;
    }
    put_model(&w, a);
    api_send_json(r, &out);
}

void api_props(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w;
    api_begin_facts(&w, &out);
    hpc_json_open(&w, "default_generation_settings", '{');
    hpc_json_put_int(&w, "n_ctx", a->capacity);
    hpc_json_close(&w, '}');
    hpc_json_put_int(&w, "total_slots", a->o.scheduler.engine.requests);
    hpc_json_put_text(&w, "model_alias", a->o.model_name);
    hpc_json_put_text(&w, "model_path", a->o.scheduler.engine.model);
    hpc_json_put_text(&w, "build_info", a->o.version);
    api_send_facts(r, &w);
}

/* ---- load ----------------------------------------------------------------------------------- */

static bool take_view(hpc_scheduler_view *v, hpc_api *a, hpc_http_request *r)
{
    if (hpc_scheduler_view_take(v, a->scheduler) >= 0) return true;
    hpc_error_clear();
    hpc_http_error(r, 503, "the server is out of memory");
    return false;
}

static void put_slot(hpc_json_out *w, const hpc_api *a, int64_t slot, const hpc_scheduler_view *v)
{
    static const char *const states[] = {"queued", "prompt", "decode"};
    const hpc_job_view *j = NULL;
    for (int64_t k = 0; k < v->running; k++)
        if (v->job[k].slot == slot) j = &v->job[k];
    hpc_json_open(w, NULL, '{');
    hpc_json_put_int(w, "id", slot);
    hpc_json_put_int(w, "n_ctx", a->capacity);
    hpc_json_put_bool(w, "is_processing", j != NULL);
    if (j) {
        hpc_json_put_int(w, "id_task", j->id);
        hpc_json_put_text(w, "state", states[j->state]);
        hpc_json_put_int(w, "n_prompt", j->prompt_n);
        hpc_json_put_int(w, "n_prompt_done", j->prompt_done);
        hpc_json_put_int(w, "n_decoded", j->made_n);
        hpc_json_put_real(w, "age_ms", (double)j->age_ns * 1e-6);
    }
    hpc_json_close(w, '}');
}

void api_slots(hpc_api *a, hpc_http_request *r)
{
    hpc_scheduler_view v = {0};
    hpc_buf out = {0};
    hpc_json_out w = {.buf = &out};
    if (a->o.no_slots) {
        hpc_http_error(r, 501, "this server does not show its slots");
        return;
    }
    if (!take_view(&v, a, r)) return;
    hpc_json_open(&w, NULL, '[');
    for (int64_t k = 0; k < v.slots; k++) put_slot(&w, a, k, &v);
    hpc_json_close(&w, ']');
    hpc_scheduler_view_release(&v);
    api_send_json(r, &out);
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

typedef struct metric {
    const char *name, *type, *help;
    double value;
} metric;

static void put_metric(hpc_buf *out, const metric *m)
{
    hpc_buf_printf(out, "# HELP llamacpp:%s %s\n# TYPE llamacpp:%s %s\nllamacpp:%s %.17g\n",
                   m->name, m->help, m->name, m->type, m->name, m->value);
}

/* The names are those of llama.cpp's server, so that its dashboards work. */
static void put_metrics(hpc_buf *out, const hpc_scheduler_view *v)
{
    const double prompt_s = (double)v->prompt_ns * 1e-9, decode_s = (double)v->decode_ns * 1e-9;
    const metric all[] = {
        {"prompt_tokens_total", "counter", "Tokens of prompts computed.",
         (double)v->prompt_computed},
        {"prompt_tokens_cached_total", "counter", "Tokens of prompts found in the cache.",
         (double)v->prompt_reused},
        {"prompt_seconds_total", "counter", "Time of steps with prompts.", prompt_s},
        {"tokens_predicted_total", "counter", "Tokens generated.", (double)v->made},
        {"tokens_predicted_seconds_total", "counter", "Time of the other steps.", decode_s},
        {"n_decode_total", "counter", "Steps of the engine.", (double)v->steps},
        {"n_tokens_max", "counter", "Tokens of the longest prompt with its answer.",
         (double)v->longest},
        {"spec_decode_num_drafts_total", "counter", "Drafts of speculative decoding.",
         (double)v->drafts},
        {"spec_decode_num_draft_tokens_total", "counter", "Tokens of drafts.",
         (double)v->draft_tokens},
        {"spec_decode_num_accepted_tokens_total", "counter", "Accepted tokens of drafts.",
         (double)v->draft_accepted},
        {"prompt_tokens_seconds", "gauge", "Tokens of prompts per second, lately.", v->prompt_rate},
        {"predicted_tokens_seconds", "gauge", "Generated tokens per second of decoding.",
         ratio((double)v->made, decode_s)},
        {"requests_processing", "gauge", "Requests that run.", (double)v->running},
        {"requests_deferred", "gauge", "Requests that wait.", (double)v->queued},
        {"requests_cancelled_total", "counter", "Requests cancelled or superseded.",
         (double)v->cancelled},
        {"n_busy_slots_per_decode", "gauge", "Requests that ran in a step, on average.",
         ratio((double)v->steps_running, (double)v->steps)},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) put_metric(out, &all[k]);
}

void api_metrics(hpc_api *a, hpc_http_request *r)
{
    hpc_scheduler_view v = {0};
    hpc_buf out = {0};
    char started[32];
    if (a->o.no_metrics) {
        hpc_http_error(r, 501, "this server does not show its metrics");
        return;
    }
    if (!take_view(&v, a, r)) return;
    put_metrics(&out, &v);
    hpc_scheduler_view_release(&v);
    snprintf(started, sizeof started, "%lld", (long long)a->started_s);
    hpc_http_header(r, "Process-Start-Time-Unix", started);
    hpc_http_answer(r, 200, "text/plain; version=0.0.4", &out);
    hpc_buf_release(&out);
}

/* ---- text and tokens ------------------------------------------------------------------------ */

/* Bytes of a character by its first one; 0: none begins with it. */
static size_t bytes_of_character(uint8_t first)
{
    if (first < 0x80) return first > 0;
    if (first < 0xc2 || first > 0xf4) return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Pieces are whole characters or parts of them. */
static bool has_whole_characters(const hpc_buf *piece)
{
    for (size_t at = 0; at < piece->n;) {
        const size_t n = bytes_of_character((uint8_t)piece->data[at]);
        if (n == 0 || n > piece->n - at) return false;
        for (size_t k = 1; k < n; k++)
            if (((uint8_t)piece->data[at + k] & 0xc0) != 0x80) return false;
        at += n;
    }
    return true;
}

/* A piece that is not UTF-8 by itself is a list of bytes, as llama.cpp's server has it. */
static int put_piece(hpc_json_out *w, const hpc_tokenizer *t, int32_t id)
{
    hpc_buf piece = {0};
    int rc;
    TRY(hpc_tokenizer_decode(&piece, t, &id, 1, false));
    TRY(hpc_buf_text(&piece, ""));
    hpc_json_open(w, NULL, '{');
    hpc_json_put_int(w, "id", id);
    if (has_whole_characters(&piece)) {
        hpc_json_put_text(w, "piece", piece.data);
    } else {
        hpc_json_open(w, "piece", '[');
        for (size_t k = 0; k < piece.n; k++) hpc_json_put_int(w, NULL, (uint8_t)piece.data[k]);
        hpc_json_close(w, ']');
    }
    hpc_json_close(w, '}');
out:
    hpc_buf_release(&piece);
    return rc;
}

int api_tokenize(api_job *j)
{
    const char *text = api_text(j->json, "content");
    const hpc_tokenizer_special marks = hpc_tokenizer_specials(j->a->tokenizer);
    const bool special = api_flag(j->json, "add_special", false) && marks.add_begin;
    const bool parse = api_flag(j->json, "parse_special", true);
    const bool pieces = api_flag(j->json, "with_pieces", false);
    const hpc_tokenizer *t = j->a->tokenizer;
    hpc_buf out = {0};
    hpc_json_out w = {.buf = &out};
    hpc_ids ids = {0};
    int rc = HPC_OK;
    if (!j->worker->scratch) TRY(hpc_tokenizer_scratch_create(&j->worker->scratch, t));
    TRY(hpc_tokenizer_encode(&ids, t, j->worker->scratch, text, strlen(text),
                             (parse ? HPC_ENCODE_SPECIALS : 0u) |
                                 (special ? HPC_ENCODE_BEGIN : 0u)));
    hpc_json_open(&w, NULL, '{');
    hpc_json_open(&w, "tokens", '[');
    for (int64_t k = 0; k < ids.n; k++) {
        if (!pieces) {
            hpc_json_put_int(&w, NULL, ids.id[k]);
            continue;
        }
        TRY(put_piece(&w, t, ids.id[k]));
    }
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    api_send_json(j->r, &out);
out:
    hpc_buf_release(&out);
    hpc_free(ids.id);
    return rc;
}

int api_detokenize(api_job *j)
{
    const hpc_json *list = hpc_json_get(j->json, "tokens");
    hpc_buf text = {0}, out = {0};
    hpc_json_out w = {.buf = &out};
    int rc = HPC_OK;
    if (hpc_json_kind_of(list) != HPC_JSON_LIST)
        return hpc_fail(HPC_E_ARG, "\"tokens\" must be a list of tokens");
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        int64_t id;
        TRY(hpc_json_int(&id, hpc_json_at(list, k), "tokens"));
        if (id < 0 || id >= hpc_tokenizer_n(j->a->tokenizer))
            TRY(hpc_fail(HPC_E_ARG, "the model has no token %lld", (long long)id));
        const int32_t token = (int32_t)id;
        TRY(hpc_tokenizer_decode(&text, j->a->tokenizer, &token, 1, false));
    }
    TRY(hpc_buf_text(&text, ""));
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "content", text.data);
    hpc_json_close(&w, '}');
    api_send_json(j->r, &out);
out:
    hpc_buf_release(&text);
    hpc_buf_release(&out);
    return rc;
}

/* ---- what is not served ---------------------------------------------------------------------- */

void api_embeddings(hpc_api *a, hpc_http_request *r)
{
    (void)a;
    hpc_http_error(r, 501,
                   "embeddings are not supported: the server completes text and computes only what "
                   "the next token needs");
}
