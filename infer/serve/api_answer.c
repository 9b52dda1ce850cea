/*
 * Answers as each protocol wants them: one object, server-sent events, or a JSON object per line.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "infer/serve/api_priv.h"

static const char EVENTS[] = "text/event-stream", LINES[] = "application/x-ndjson";

/* ---- common parts --------------------------------------------------------------------------- */

static double ms_of(int64_t ns)
{
    return (double)ns * 1e-6;
}

/* 0 where nothing was measured: clients compute with these. */
static double per(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static void put_timings(hpc_json_out *w, const api_result *r)
{
    const double prompt = ms_of(r->prompt_ns), made = ms_of(r->decode_ns);
    hpc_json_open(w, "timings", '{');
    hpc_json_put_int(w, "cache_n", r->reused_n);
    hpc_json_put_int(w, "prompt_n", r->computed_n);
    hpc_json_put_real(w, "prompt_ms", prompt);
    hpc_json_put_real(w, "prompt_per_token_ms", per(prompt, (double)r->computed_n));
    hpc_json_put_real(w, "prompt_per_second", per(1000 * (double)r->computed_n, prompt));
    hpc_json_put_int(w, "predicted_n", r->made_n);
    hpc_json_put_real(w, "predicted_ms", made);
    hpc_json_put_real(w, "predicted_per_token_ms", per(made, (double)r->made_n));
    hpc_json_put_real(w, "predicted_per_second", per(1000 * (double)r->made_n, made));
    hpc_json_close(w, '}');
}

static void put_usage(hpc_json_out *w, const api_job *j)
{
    int64_t made = 0;
    for (int64_t k = 0; k < j->result_n; k++) made += j->result[k].made_n;
    hpc_json_open(w, "usage", '{');
    hpc_json_put_int(w, "prompt_tokens", j->result[0].prompt_n);
    hpc_json_put_int(w, "completion_tokens", made);
    hpc_json_put_int(w, "total_tokens", j->result[0].prompt_n + made);
    hpc_json_close(w, '}');
}

static void put_tokens(hpc_json_out *w, const api_job *j, const api_result *r)
{
    hpc_json_open(w, "tokens", '[');
    for (int64_t k = 0; r && j->ask.tokens && k < r->token.n; k++)
        hpc_json_put_int(w, NULL, r->token.id[k]);
    hpc_json_close(w, ']');
}

static void put_time(hpc_json_out *w)
{
    char text[40];
    const time_t now = time(NULL);
    struct tm t;
    gmtime_r(&now, &t);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &t);
    hpc_json_put_text(w, "created_at", text);
}

/* ---- probabilities -------------------------------------------------------------------------- */

static void put_token(hpc_json_out *w, const api_job *j, int32_t id, float logprob)
{
    hpc_buf text = {0};
    hpc_tokenizer_decode(&text, j->a->tokenizer, &id, 1, false);
    hpc_buf_text(&text, "");
    hpc_json_put_int(w, "id", id);
    hpc_json_put_text(w, "token", text.data ? text.data : "");
    hpc_json_open(w, "bytes", '[');
    for (size_t k = 0; text.data && k < text.n; k++)
        hpc_json_put_int(w, NULL, (uint8_t)text.data[k]);
    hpc_json_close(w, ']');
    hpc_json_put_real(w, "logprob", logprob);
    hpc_buf_release(&text);
}

void api_put_probability(const api_job *j, api_result *r, const hpc_job_token *t)
{
    hpc_json_out w = {.buf = &r->probabilities};
    if (r->probabilities.n > 0) hpc_buf_text(&r->probabilities, ",");
    hpc_json_open(&w, NULL, '{');
    put_token(&w, j, t->token, t->logprob);
    hpc_json_open(&w, "top_logprobs", '[');
    for (int64_t k = 0; k < t->top_n; k++) {
        hpc_json_open(&w, NULL, '{');
        put_token(&w, j, t->top[k].token, t->top[k].logprob);
        hpc_json_close(&w, '}');
    }
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
}

/* Appends raw JSON: the writer has no value for a list that is already text. */
static void put_probabilities(hpc_json_out *w, const char *key, const api_result *r)
{
    hpc_buf list = {0};
    hpc_json *v = NULL;
    hpc_buf_printf(&list, "[%s]", r->probabilities.n > 0 ? r->probabilities.data : "");
    if (list.failed >= 0 && hpc_json_parse(&v, list.data, list.n, "probabilities") >= 0)
        hpc_json_put(w, key, v);
    hpc_error_clear();
    hpc_json_free(v);
    hpc_buf_release(&list);
}

/* ---- llama.cpp ------------------------------------------------------------------------------ */

static void put_llama(hpc_json_out *w, const api_job *j, int64_t k, const char *text, bool last)
{
    const api_result *r = &j->result[k];
    hpc_json_open(w, NULL, '{');
    hpc_json_put_int(w, "index", k);
    hpc_json_put_text(w, "content", text);
    put_tokens(w, j, last ? r : NULL);
    hpc_json_put_int(w, "id_slot", 0);
    hpc_json_put_bool(w, "stop", last);
    if (last) {
        hpc_json_put_text(w, "model", j->a->o.model_name);
        hpc_json_put_int(w, "tokens_predicted", r->made_n);
        hpc_json_put_int(w, "tokens_evaluated", r->prompt_n);
        hpc_json_put_bool(w, "has_new_line", strchr(text, '\n') != NULL);
        hpc_json_put_bool(w, "truncated", r->dropped_n > 0);
        hpc_json_put_text(w, "stop_type", r->kind);
        hpc_json_put_text(w, "stopping_word", r->word);
        hpc_json_put_int(w, "tokens_cached", r->prompt_n + r->made_n);
        put_timings(w, r);
        if (j->ask.top_n > 0) put_probabilities(w, "completion_probabilities", r);
        if (r->source[0]) hpc_json_put_text(w, "attribution", r->source);
    }
    hpc_json_close(w, '}');
}

/* A key "a/b" of response_fields is member b of object a, and keeps that name. */
static const hpc_json *find_field(const hpc_json *o, const char *key)
{
    char part[64];
    for (const char *slash; o && (slash = strchr(key, '/')); key = slash + 1) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - key), key);
        o = hpc_json_kind_of(o) == HPC_JSON_OBJECT ? hpc_json_get(o, part) : NULL;
    }
    return hpc_json_kind_of(o) == HPC_JSON_OBJECT ? hpc_json_get(o, key) : NULL;
}

static int choose_fields(hpc_buf *out, const hpc_json *fields)
{
    hpc_buf chosen = {0};
    hpc_json_out w = {.buf = &chosen};
    hpc_json *all = NULL;
    int rc;
    TRY(hpc_json_parse(&all, out->data, out->n, "answer"));
    hpc_json_open(&w, NULL, '{');
    for (int64_t k = 0; k < hpc_json_n(fields); k++) {
        const char *key = "";
        if (hpc_json_kind_of(hpc_json_at(fields, k)) == HPC_JSON_TEXT)
            hpc_json_text(&key, hpc_json_at(fields, k), "response_fields");
        const hpc_json *v = *key ? find_field(all, key) : NULL;
        if (v) hpc_json_put(&w, key, v);
    }
    hpc_json_close(&w, '}');
    TRY(chosen.failed);
    hpc_buf_release(out);
    *out = chosen;
    chosen = (hpc_buf){0};
out:
    hpc_buf_release(&chosen);
    hpc_json_free(all);
    return rc;
}

static void send_llama(api_job *j)
{
    hpc_buf all = {0};
    if (j->result_n > 1) hpc_buf_text(&all, "[");
    for (int64_t k = 0; k < j->result_n; k++) {
        hpc_buf one = {0};
        hpc_json_out w = {.buf = &one};
        put_llama(&w, j, k, j->result[k].text.data ? j->result[k].text.data : "", true);
        if (j->ask.fields && choose_fields(&one, j->ask.fields) < 0) hpc_error_clear();
        hpc_buf_printf(&all, "%s%s", k > 0 ? "," : "", one.data ? one.data : "{}");
        hpc_buf_release(&one);
    }
    if (j->result_n > 1) hpc_buf_text(&all, "]");
    api_send_json(j->r, &all);
}

/* ---- OpenAI, Mistral, Tabby ------------------------------------------------------------------ */

static void begin_openai(hpc_json_out *w, const api_job *j, const char *object)
{
    char id[40];
    snprintf(id, sizeof id, "%scmpl-%llu", j->route->chat ? "chat" : "",
             (unsigned long long)j->number);
    if (j->route->chat) object = j->ask.stream ? "chat.completion.chunk" : "chat.completion";
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "id", id);
    hpc_json_put_text(w, "object", object);
    hpc_json_put_int(w, "created", (int64_t)time(NULL));
    hpc_json_put_text(w, "model", j->a->o.model_name);
}

/* finish NULL: more follows. */
static void put_choice(hpc_json_out *w, const api_job *j, int64_t k, const char *text,
                       const char *finish)
{
    api_result *r = &j->result[k];
    const bool chat = j->ask.format == API_FIM || j->route->chat;
    /* Clients join the parts of a message: the role comes once. */
    const bool first = !j->route->chat || !r->named;
    r->named = true;
    hpc_json_open(w, NULL, '{');
    hpc_json_put_int(w, "index", k);
    if (chat) {
        hpc_json_open(w, j->ask.stream ? "delta" : "message", '{');
        if (first) hpc_json_put_text(w, "role", "assistant");
        hpc_json_put_text(w, "content", text);
        hpc_json_close(w, '}');
    } else {
        hpc_json_put_text(w, "text", text);
    }
    if (j->ask.top_n > 0 && finish && !j->ask.stream) {
        hpc_json_open(w, "logprobs", '{');
        put_probabilities(w, "content", r);
        hpc_json_close(w, '}');
    } else if (!chat) {
        hpc_json_put_text(w, "logprobs", NULL);
    }
    hpc_json_put_text(w, "finish_reason", finish);
    if (finish && r->source[0]) hpc_json_put_text(w, "attribution", r->source);
    hpc_json_close(w, '}');
}

static void send_openai(api_job *j)
{
    hpc_buf out = {0};
    hpc_json_out w = {.buf = &out};
    begin_openai(&w, j, j->ask.format == API_FIM ? "chat.completion" : "text_completion");
    hpc_json_open(&w, "choices", '[');
    for (int64_t k = 0; k < j->result_n; k++)
        put_choice(&w, j, k, j->result[k].text.data ? j->result[k].text.data : "",
                   j->result[k].finish);
    hpc_json_close(&w, ']');
    put_usage(&w, j);
    put_timings(&w, &j->result[0]);
    hpc_json_close(&w, '}');
    api_send_json(j->r, &out);
}

/* ---- Ollama --------------------------------------------------------------------------------- */

static void put_ollama(hpc_json_out *w, const api_job *j, const char *text, bool last)
{
    const api_result *r = &j->result[0];
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "model", j->a->o.model_name);
    put_time(w);
    hpc_json_put_text(w, "response", text);
    hpc_json_put_bool(w, "done", last);
    if (last) {
        hpc_json_put_text(w, "done_reason", r->finish);
        hpc_json_put_int(w, "total_duration", hpc_clock_ns() - j->start_ns);
        hpc_json_put_int(w, "load_duration", 0);
        hpc_json_put_int(w, "prompt_eval_count", r->prompt_n);
        hpc_json_put_int(w, "prompt_eval_duration", r->prompt_ns);
        hpc_json_put_int(w, "eval_count", r->made_n);
        hpc_json_put_int(w, "eval_duration", r->decode_ns);
    }
    hpc_json_close(w, '}');
}

/* ---- streams -------------------------------------------------------------------------------- */

static void put_piece(hpc_json_out *w, const api_job *j, int64_t k, const char *text, bool last)
{
    switch (j->ask.format) {
    case API_LLAMA: put_llama(w, j, k, text, last); return;
    case API_OLLAMA: put_ollama(w, j, text, last); return;
    default: break;
    }
    begin_openai(w, j, j->ask.format == API_FIM ? "chat.completion.chunk" : "text_completion");
    hpc_json_open(w, "choices", '[');
    put_choice(w, j, k, text, last ? j->result[k].finish : NULL);
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}

static void send_event(api_job *j, const hpc_buf *json)
{
    hpc_buf out = {0};
    const bool lines = j->ask.format == API_OLLAMA;
    hpc_buf_printf(&out, lines ? "%s%s\n" : "%s%s\n\n", lines ? "" : "data: ", json->data);
    hpc_http_begin(j->r, lines ? LINES : EVENTS);
    if (out.failed >= 0) hpc_http_add(j->r, out.data, out.n);
    hpc_buf_release(&out);
}

void api_send_piece(api_job *j, int64_t k, const char *text, size_t n)
{
    hpc_buf piece = {0}, json = {0};
    hpc_json_out w = {.buf = &json};
    hpc_buf_add(&piece, text, n);
    hpc_buf_text(&piece, "");
    if (piece.failed >= 0 && n > 0) put_piece(&w, j, k, piece.data, false);
    if (json.failed >= 0 && json.n > 0) send_event(j, &json);
    hpc_buf_release(&piece);
    hpc_buf_release(&json);
    hpc_error_clear();
}

static void end_stream(api_job *j)
{
    static const char done[] = "data: [DONE]\n\n";
    hpc_buf json = {0};
    hpc_json_out w = {.buf = &json};
    for (int64_t k = 0; k < j->result_n; k++) {
        json.n = 0;
        w = (hpc_json_out){.buf = &json};
        put_piece(&w, j, k, "", true);
        if (json.failed >= 0) send_event(j, &json);
    }
    if (j->ask.usage && j->ask.format == API_OPENAI) {
        json.n = 0;
        w = (hpc_json_out){.buf = &json};
        begin_openai(&w, j, "text_completion");
        hpc_json_open(&w, "choices", '[');
        hpc_json_close(&w, ']');
        put_usage(&w, j);
        hpc_json_close(&w, '}');
        if (json.failed >= 0) send_event(j, &json);
    }
    if (j->ask.format == API_OPENAI || j->ask.format == API_FIM)
        hpc_http_add(j->r, done, sizeof done - 1);
    hpc_buf_release(&json);
    hpc_http_end(j->r);
}

void api_send_result(api_job *j)
{
    if (j->ask.stream && j->ask.format != API_TABBY) {
        end_stream(j);
    } else if (j->ask.format == API_OLLAMA) {
        hpc_buf out = {0};
        hpc_json_out w = {.buf = &out};
        put_ollama(&w, j, j->result[0].text.data ? j->result[0].text.data : "", true);
        api_send_json(j->r, &out);
    } else if (j->ask.format == API_LLAMA) {
        send_llama(j);
    } else {
        send_openai(j);
    }
}
