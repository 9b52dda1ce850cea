/*
 * Answers as llama.cpp's server gives them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "infer/serve/api_priv.h"

/* ---- settings ------------------------------------------------------------------------------- */

static void put_bias(hpc_json_out *w, const api_ask *q)
{
    hpc_json_open(w, "logit_bias", '[');
    for (int64_t k = 0; k < q->bias_n; k++) {
        hpc_json_open(w, NULL, '{');
        hpc_json_put_real(w, "bias", (double)q->bias[k].add);
        hpc_json_put_int(w, "token", q->bias[k].token);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
}

/* The steps that run, in their order. */
static void put_samplers(hpc_json_out *w, const api_ask *q)
{
    static const api_sampler order[] = {API_PENALTIES, API_TEMPERATURE, API_TOP_K, API_TOP_P,
                                        API_MIN_P};
    hpc_json_open(w, "samplers", '[');
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        if (q->samplers >> order[k] & 1) hpc_json_put_text(w, NULL, api_sampler_name(order[k]));
    hpc_json_close(w, ']');
}

static void put_settings(hpc_json_out *w, const api_ask *q)
{
    const hpc_sampling *s = &q->sampling;
    hpc_json_open(w, "generation_settings", '{');
    if (s->seed <= INT64_MAX)
        hpc_json_put_int(w, "seed", (int64_t)s->seed);
    else
        hpc_json_put_real(w, "seed", (double)s->seed);
    hpc_json_put_real(w, "temperature", s->temperature);
    hpc_json_put_int(w, "top_k", s->top_k);
    hpc_json_put_real(w, "top_p", s->top_p);
    hpc_json_put_real(w, "min_p", s->min_p);
    hpc_json_put_real(w, "repeat_penalty", s->repeat);
    hpc_json_put_int(w, "repeat_last_n", s->repeat_last);
    put_samplers(w, q);
    hpc_json_put_int(w, "n_predict", q->most);
    hpc_json_put_int(w, "max_tokens", q->most);
    hpc_json_put_int(w, "n_indent", q->indent);
    hpc_json_put_int(w, "n_probs", q->top_n);
    hpc_json_put_bool(w, "ignore_eos", q->ignore_end);
    hpc_json_put_bool(w, "stream", q->stream);
    put_bias(w, q);
    hpc_json_open(w, "stop", '[');
    for (int64_t k = 0; k < q->stop_n; k++) hpc_json_put_text(w, NULL, q->stop[k]);
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}

/* ---- one answer ------------------------------------------------------------------------------ */

/* Events of a stream have their tokens; whole answers, if the request asks for them. */
static void put_tokens(hpc_json_out *w, const api_job *j, const api_result *r, bool last)
{
    const bool all = last && j->ask.tokens && !j->ask.stream;
    hpc_json_open(w, "tokens", '[');
    for (int64_t k = last ? 0 : r->token_sent; (!last || all) && k < r->token.n; k++)
        hpc_json_put_int(w, NULL, r->token.id[k]);
    hpc_json_close(w, ']');
}

/* The prompt as the model reads it. Completion rules make that of a position, so it has none. */
static void put_prompt(hpc_json_out *w, const api_job *j, int64_t k)
{
    const api_ask *q = &j->ask;
    const int64_t p = k / q->answers, from = p > 0 ? q->prompt_end[p - 1] : 0;
    const int64_t to = q->prompt_n > 0 ? q->prompt_end[p] : q->prompt.n;
    hpc_buf text = {0};
    if (q->infill || to <= from) return;
    if (hpc_tokenizer_decode(&text, j->a->tokenizer, q->prompt.id + from, to - from, false) >= 0)
        hpc_buf_text(&text, "");
    if (text.failed >= 0 && text.data) hpc_json_put_text(w, "prompt", text.data);
    hpc_error_clear();
    hpc_buf_release(&text);
}

static void put_end(hpc_json_out *w, const api_job *j, int64_t k)
{
    const api_result *r = &j->result[k];
    hpc_json_put_text(w, "model", j->a->o.model_name);
    put_settings(w, &j->ask);
    put_prompt(w, j, k);
    hpc_json_put_bool(w, "has_new_line",
                      r->text.data && memchr(r->text.data, '\n', r->text.n) != NULL);
    hpc_json_put_bool(w, "truncated", r->dropped_n > 0);
    hpc_json_put_text(w, "stop_type", r->kind);
    hpc_json_put_text(w, "stopping_word", r->word);
    hpc_json_put_int(w, "tokens_cached", r->prompt_n + r->made_n);
    if (r->source[0]) hpc_json_put_text(w, "attribution", r->source);
}

void api_put_llama(hpc_json_out *w, const api_job *j, int64_t k, const char *text, bool last)
{
    const api_result *r = &j->result[k];
    hpc_json_open(w, NULL, '{');
    hpc_json_put_int(w, "index", k);
    hpc_json_put_text(w, "content", text);
    put_tokens(w, j, r, last);
    if (r->slot >= 0) hpc_json_put_int(w, "id_slot", r->slot);
    hpc_json_put_bool(w, "stop", last);
    hpc_json_put_int(w, "tokens_predicted", r->made_n);
    hpc_json_put_int(w, "tokens_evaluated", r->prompt_n);
    if (last) put_end(w, j, k);
    if (r->reads) api_put_progress(w, r);
    if (last || j->ask.timings) api_put_timings(w, r);
    if (j->ask.top_n > 0 && !r->reads && last != j->ask.stream)
        api_put_probabilities(w, "completion_probabilities", r, r->probabilities_sent);
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

void api_send_llama(api_job *j)
{
    hpc_buf all = {0};
    if (j->result_n > 1) hpc_buf_text(&all, "[");
    for (int64_t k = 0; k < j->result_n; k++) {
        hpc_buf one = {0};
        hpc_json_out w = {.buf = &one};
        api_put_llama(&w, j, k, j->result[k].text.data ? j->result[k].text.data : "", true);
        if (j->ask.fields && choose_fields(&one, j->ask.fields) < 0) hpc_error_clear();
        hpc_buf_printf(&all, "%s%s", k > 0 ? "," : "", one.data ? one.data : "{}");
        hpc_buf_release(&one);
    }
    if (j->result_n > 1) hpc_buf_text(&all, "]");
    api_send_json(j->r, &all);
}

/* llama.cpp's clients read the numbers of this error. */
void api_send_exceeding(api_job *j)
{
    hpc_buf out = {0};
    hpc_json_out w = {.buf = &out};
    hpc_json_open(&w, NULL, '{');
    hpc_json_open(&w, "error", '{');
    hpc_json_put_int(&w, "code", 400);
    hpc_json_put_text(&w, "message", hpc_error_get()->text);
    hpc_json_put_text(&w, "type", "exceed_context_size_error");
    hpc_json_put_int(&w, "n_prompt_tokens", j->exceeding_n);
    hpc_json_put_int(&w, "n_ctx", j->a->capacity);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    hpc_http_answer(j->r, 400, HPC_HTTP_JSON, &out);
    hpc_buf_release(&out);
}
