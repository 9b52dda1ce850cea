/*
 * Facts about the server and its model, and text as tokens. Nothing here shows a prompt.
 */
#include <stdio.h>
#include <string.h>

#include "infer/serve/api_priv.h"

static void send(hpc_http_request *r, hpc_json_out *w)
{
    hpc_json_close(w, '}');
    api_send_json(r, w->buf);
}

static void begin(hpc_json_out *w, hpc_buf *out)
{
    *w = (hpc_json_out){.buf = out};
    hpc_json_open(w, NULL, '{');
}

void api_health(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w;
    (void)a;
    begin(&w, &out);
    hpc_json_put_text(&w, "status", "ok");
    send(r, &w);
}

/* ---- models --------------------------------------------------------------------------------- */

static void put_model(hpc_json_out *w, const hpc_api *a)
{
    const hpc_model_config *c = hpc_model_files_config(a->files);
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "id", a->o.model_name);
    hpc_json_put_text(w, "object", "model");
    hpc_json_put_int(w, "created", a->started_s);
    hpc_json_put_text(w, "owned_by", "llamacpp"); /* editors look for this name */
    hpc_json_open(w, "meta", '{');
    hpc_json_put_int(w, "n_vocab", c->vocab);
    hpc_json_put_int(w, "n_ctx", a->capacity);
    hpc_json_put_int(w, "n_ctx_train", c->positions);
    hpc_json_put_int(w, "n_embd", c->hidden);
    hpc_json_close(w, '}');
    hpc_json_close(w, '}');
}

void api_models(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w;
    begin(&w, &out);
    hpc_json_put_text(&w, "object", "list");
    hpc_json_open(&w, "data", '[');
    put_model(&w, a);
    hpc_json_close(&w, ']');
    send(r, &w);
}

void api_props(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w;
    begin(&w, &out);
    hpc_json_open(&w, "default_generation_settings", '{');
    hpc_json_put_int(&w, "n_ctx", a->capacity);
    hpc_json_close(&w, '}');
    hpc_json_put_int(&w, "total_slots", a->o.scheduler.engine.requests);
    hpc_json_put_text(&w, "model_alias", a->o.model_name);
    hpc_json_put_text(&w, "build_info", a->o.version);
    send(r, &w);
}

/* ---- load ----------------------------------------------------------------------------------- */

void api_slots(hpc_api *a, hpc_http_request *r)
{
    static const char *const states[] = {"queued", "prompt", "decode"};
    hpc_scheduler_view v = {0};
    hpc_buf out = {0};
    hpc_json_out w = {.buf = &out};
    if (hpc_scheduler_view_take(&v, a->scheduler) < 0) {
        hpc_error_clear();
        hpc_http_error(r, 503, "the server is out of memory");
        return;
    }
    hpc_json_open(&w, NULL, '[');
    for (int64_t k = 0; k < v.slots; k++) {
        const hpc_job_view *j = k < v.running ? &v.job[k] : NULL;
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_int(&w, "id", k);
        hpc_json_put_int(&w, "n_ctx", a->capacity);
        hpc_json_put_bool(&w, "is_processing", j != NULL);
        if (j) {
            hpc_json_put_text(&w, "state", states[j->state]);
            hpc_json_put_int(&w, "n_prompt", j->prompt_n);
            hpc_json_put_int(&w, "n_prompt_done", j->prompt_done);
            hpc_json_put_int(&w, "n_decoded", j->made_n);
            hpc_json_put_real(&w, "age_ms", (double)j->age_ns * 1e-6);
        }
        hpc_json_close(&w, '}');
    }
    hpc_json_close(&w, ']');
    hpc_scheduler_view_release(&v);
    api_send_json(r, &out);
}

static void put_metric(hpc_buf *out, const char *name, const char *type, const char *help,
                       double value)
{
    hpc_buf_printf(out, "# HELP llamacpp:%s %s\n# TYPE llamacpp:%s %s\nllamacpp:%s %.10g\n", name,
                   help, name, type, name, value);
}

/* The names are those of llama.cpp's server, so that its dashboards work. */
void api_metrics(hpc_api *a, hpc_http_request *r)
{
    hpc_scheduler_view v = {0};
    hpc_buf out = {0};
    if (hpc_scheduler_view_take(&v, a->scheduler) < 0) {
        hpc_error_clear();
        hpc_http_error(r, 503, "the server is out of memory");
        return;
    }
    const double prompt_s = (double)v.prompt_ns * 1e-9, decode_s = (double)v.decode_ns * 1e-9;
    put_metric(&out, "prompt_tokens_total", "counter", "Tokens of prompts computed.",
               (double)v.prompt_computed);
    put_metric(&out, "prompt_tokens_reused_total", "counter",
               "Tokens of prompts found in the cache.", (double)v.prompt_reused);
    put_metric(&out, "prompt_seconds_total", "counter", "Time of steps with prompts.", prompt_s);
    put_metric(&out, "tokens_predicted_total", "counter", "Tokens generated.", (double)v.made);
    put_metric(&out, "tokens_predicted_seconds_total", "counter", "Time of the other steps.",
               decode_s);
    put_metric(&out, "prompt_tokens_seconds", "gauge", "Tokens of prompts per second, lately.",
               v.prompt_rate);
    put_metric(&out, "predicted_tokens_seconds", "gauge",
               "Generated tokens per second of decoding.",
               decode_s > 0 ? (double)v.made / decode_s : 0);
    put_metric(&out, "requests_processing", "gauge", "Requests that run.", (double)v.running);
    put_metric(&out, "requests_deferred", "gauge", "Requests that wait.", (double)v.queued);
    put_metric(&out, "requests_cancelled_total", "counter", "Requests cancelled or superseded.",
               (double)v.cancelled);
    hpc_scheduler_view_release(&v);
    hpc_http_answer(r, 200, "text/plain; version=0.0.4", &out);
    hpc_buf_release(&out);
}

/* ---- Ollama and Tabby ----------------------------------------------------------------------- */

static void put_details(hpc_json_out *w, const hpc_api *a)
{
    (void)a;
    hpc_json_open(w, "details", '{');
    hpc_json_put_text(w, "format", "gguf");
    hpc_json_put_text(w, "family", "hpccoder");
    hpc_json_open(w, "families", '[');
    hpc_json_close(w, ']');
    hpc_json_put_text(w, "parameter_size", "");
    hpc_json_put_text(w, "quantization_level", "");
    hpc_json_close(w, '}');
}

void api_ollama_tags(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w;
    begin(&w, &out);
    hpc_json_open(&w, "models", '[');
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "name", a->o.model_name);
    hpc_json_put_text(&w, "model", a->o.model_name);
    hpc_json_put_int(&w, "size", 0);
    hpc_json_put_text(&w, "digest", "");
    put_details(&w, a);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, ']');
    send(r, &w);
}

/* Clients look for .Suffix in the template to learn that the model fills in the middle. */
void api_ollama_show(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w;
    begin(&w, &out);
    hpc_json_put_text(&w, "modelfile", "");
    hpc_json_put_text(&w, "parameters", "");
    hpc_json_put_text(&w, "template", "{{ .Prompt }}{{ .Suffix }}");
    put_details(&w, a);
    hpc_json_open(&w, "model_info", '{');
    hpc_json_put_int(&w, "hpccoder.context_length", a->capacity);
    hpc_json_close(&w, '}');
    hpc_json_open(&w, "capabilities", '[');
    hpc_json_put_text(&w, NULL, "completion");
    hpc_json_put_text(&w, NULL, "insert");
    hpc_json_close(&w, ']');
    send(r, &w);
}

void api_ollama_version(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w;
    begin(&w, &out);
    hpc_json_put_text(&w, "version", a->o.version);
    send(r, &w);
}

void api_tabby_health(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w;
    begin(&w, &out);
    hpc_json_put_text(&w, "model", a->o.model_name);
    hpc_json_put_text(&w, "device", "cpu");
    hpc_json_put_text(&w, "arch", "");
    hpc_json_put_text(&w, "cpu_info", "");
    hpc_json_put_int(&w, "cpu_count", a->o.scheduler.engine.threads);
    hpc_json_open(&w, "cuda_devices", '[');
    hpc_json_close(&w, ']');
    hpc_json_open(&w, "version", '{');
    hpc_json_put_text(&w, "build_date", "");
    hpc_json_put_text(&w, "build_timestamp", "");
    hpc_json_put_text(&w, "git_sha", "");
    hpc_json_put_text(&w, "git_describe", "v0.21.0");
    hpc_json_close(&w, '}');
    send(r, &w);
}

void api_tabby_setting(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w;
    (void)a;
    begin(&w, &out);
    hpc_json_put_bool(&w, "disable_client_side_telemetry", true);
    send(r, &w);
}

/* Accepted and dropped: nothing is recorded about users. */
void api_tabby_event(hpc_api *a, hpc_http_request *r)
{
    hpc_buf out = {0};
    hpc_json_out w;
    (void)a;
    begin(&w, &out);
    send(r, &w);
}

/* ---- text and tokens ------------------------------------------------------------------------ */

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
        hpc_buf piece = {0};
        if (!pieces) {
            hpc_json_put_int(&w, NULL, ids.id[k]);
            continue;
        }
        TRY(hpc_tokenizer_decode(&piece, t, &ids.id[k], 1, false));
        TRY(hpc_buf_text(&piece, ""));
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_int(&w, "id", ids.id[k]);
        hpc_json_put_text(&w, "piece", piece.data);
        hpc_json_close(&w, '}');
        hpc_buf_release(&piece);
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
