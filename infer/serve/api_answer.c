/*
 * Answers as each protocol wants them: one object, server-sent events, or a JSON object per line.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "infer/serve/api_priv.h"

static const char LINES[] = "application/x-ndjson";

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

void api_put_timings(hpc_json_out *w, const api_result *r)
{
    const double prompt = ms_of(r->prompt_ns), made = ms_of(r->decode_ns);
    /* The first token comes with the prompt. */
    const double steps = r->made_n > 1 ? (double)(r->made_n - 1) : 0;
    hpc_json_open(w, "timings", '{');
    hpc_json_put_int(w, "cache_n", r->reused_n);
    hpc_json_put_int(w, "prompt_n", r->computed_n);
    hpc_json_put_real(w, "prompt_ms", prompt);
    hpc_json_put_real(w, "prompt_per_token_ms", per(prompt, (double)r->computed_n));
    hpc_json_put_real(w, "prompt_per_second", per(1000 * (double)r->computed_n, prompt));
    hpc_json_put_int(w, "predicted_n", r->made_n);
    hpc_json_put_real(w, "predicted_ms", made);
    hpc_json_put_real(w, "predicted_per_token_ms", per(made, steps));
    hpc_json_put_real(w, "predicted_per_second", per(1000 * steps, made));
    hpc_json_close(w, '}');
}

static void put_usage(hpc_json_out *w, const api_job *j)
{
    int64_t made = 0, read = 0, reused = 0;
    for (int64_t k = 0; k < j->result_n; k++) {
        made += j->result[k].made_n;
        if (k % j->ask.answers != 0) continue; /* several answers to one prompt */
        read += j->result[k].prompt_n;
        reused += j->result[k].reused_n;
    }
    hpc_json_open(w, "usage", '{');
    hpc_json_put_int(w, "prompt_tokens", read);
    hpc_json_put_int(w, "completion_tokens", made);
    hpc_json_put_int(w, "total_tokens", read + made);
    hpc_json_open(w, "prompt_tokens_details", '{');
    hpc_json_put_int(w, "cached_tokens", reused);
    hpc_json_close(w, '}');
    hpc_json_close(w, '}');
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

/* Appends raw JSON: the writer has no value for a list that is already text. from: where its new
 * part begins. */
void api_put_probabilities(hpc_json_out *w, const char *key, const api_result *r, size_t from)
{
    hpc_buf list = {0};
    hpc_json *v = NULL;
    const char *text = r->probabilities.n > from ? r->probabilities.data + from : "";
    hpc_buf_printf(&list, "[%s]", *text == ',' ? text + 1 : text);
    if (list.failed >= 0 && hpc_json_parse(&v, list.data, list.n, "probabilities") >= 0)
        hpc_json_put(w, key, v);
    hpc_error_clear();
    hpc_json_free(v);
    hpc_buf_release(&list);
}

void api_put_progress(hpc_json_out *w, const api_result *r)
{
    hpc_json_open(w, "prompt_progress", '{');
    hpc_json_put_int(w, "total", r->prompt_n);
    hpc_json_put_int(w, "cache", r->reused_n);
    hpc_json_put_int(w, "processed", r->reused_n + r->computed_n);
    hpc_json_put_int(w, "time_ms", (int64_t)ms_of(r->prompt_ns));
    hpc_json_close(w, '}');
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
    hpc_json_put_text(w, "system_fingerprint", j->a->o.version);
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
    if (j->ask.top_n > 0 && (finish != NULL) != j->ask.stream) {
        hpc_json_open(w, "logprobs", '{');
        api_put_probabilities(w, "content", r, r->probabilities_sent);
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
    api_put_timings(&w, &j->result[0]);
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
    case API_LLAMA: api_put_llama(w, j, k, text, last); return;
    case API_OLLAMA: put_ollama(w, j, text, last); return;
    default: break;
    }
    begin_openai(w, j, j->ask.format == API_FIM ? "chat.completion.chunk" : "text_completion");
    hpc_json_open(w, "choices", '[');
    put_choice(w, j, k, text, last ? j->result[k].finish : NULL);
    hpc_json_close(w, ']');
    if (j->result[k].reads) api_put_progress(w, &j->result[k]);
    if (last || j->ask.timings) api_put_timings(w, &j->result[k]);
    hpc_json_close(w, '}');
}

static void send_event(api_job *j, const hpc_buf *json)
{
    hpc_buf out = {0};
    const bool lines = j->ask.format == API_OLLAMA;
    hpc_buf_printf(&out, lines ? "%s%s\n" : "%s%s\n\n", lines ? "" : "data: ", json->data);
    hpc_http_begin(j->r, lines ? LINES : HPC_HTTP_EVENTS);
    if (out.failed >= 0) hpc_http_add(j->r, out.data, out.n);
    if (hpc_http_is_gone(j->r)) /* also a client that does not read: its connection stays open */
        __atomic_store_n(&j->cancel, 1, __ATOMIC_RELEASE);
    hpc_buf_release(&out);
}

/* The first event of a chat has the role alone: clients take it from there. */
static void name_role(api_job *j, int64_t k)
{
    hpc_buf json = {0};
    hpc_json_out w = {.buf = &json};
    if (!j->route->chat || j->result[k].named) return;
    j->result[k].named = true;
    begin_openai(&w, j, "");
    hpc_json_open(&w, "choices", '[');
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_int(&w, "index", k);
    hpc_json_open(&w, "delta", '{');
    hpc_json_put_text(&w, "role", "assistant");
    hpc_json_put_text(&w, "content", NULL);
    hpc_json_close(&w, '}');
    hpc_json_put_text(&w, "finish_reason", NULL);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    if (json.failed >= 0) send_event(j, &json);
    hpc_buf_release(&json);
}

static void send_piece(api_job *j, int64_t k, const char *text, size_t n)
{
    hpc_buf piece = {0}, json = {0};
    hpc_json_out w = {.buf = &json};
    name_role(j, k);
    hpc_buf_add(&piece, text, n);
    hpc_buf_text(&piece, "");
    if (piece.failed >= 0) put_piece(&w, j, k, piece.data, false);
    if (json.failed >= 0 && json.n > 0) send_event(j, &json);
    hpc_buf_release(&piece);
    hpc_buf_release(&json);
    hpc_error_clear();
}

/* Probabilities are sent with their token, also where its text has to wait. */
void api_send_piece(api_job *j, int64_t k, const char *text, size_t n)
{
    api_result *r = &j->result[k];
    if (n == 0 && r->probabilities.n == r->probabilities_sent) return;
    send_piece(j, k, text, n);
    r->token_sent = r->token.n;
    r->probabilities_sent = r->probabilities.n;
}

void api_send_progress(api_job *j, int64_t k)
{
    j->result[k].reads = true;
    if (j->ask.format != API_OLLAMA) send_piece(j, k, "", 0);
    j->result[k].reads = false;
}

static void end_stream(api_job *j)
{
    static const char done[] = "data: [DONE]\n\n";
    hpc_buf json = {0};
    hpc_json_out w = {.buf = &json};
    for (int64_t k = 0; k < j->result_n; k++) {
        json.n = 0;
        w = (hpc_json_out){.buf = &json};
        name_role(j, k);
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
        api_put_timings(&w, &j->result[0]);
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
        api_send_llama(j);
    } else {
        send_openai(j);
    }
}
