/*
 * Requests for completions as JSON: the keys of each protocol become one description of what is
 * asked for. Unknown keys are ignored, as clients expect.
 */
#include <math.h>
#include <string.h>

#include "infer/serve/api_priv.h"

enum { ANSWERS_MOST = 16, DEFAULT_TOKENS = 256, STOPS_MOST = 64 };

/* ---- values --------------------------------------------------------------------------------- */

const char *api_text(const hpc_json *o, const char *key)
{
    const hpc_json *v = o ? hpc_json_get(o, key) : NULL;
    const char *text = "";
    if (hpc_json_kind_of(v) == HPC_JSON_TEXT) hpc_json_text(&text, v, key);
    return text;
}

static double real_of(const hpc_json *o, const char *key, double fallback)
{
    const hpc_json *v = o ? hpc_json_get(o, key) : NULL;
    const hpc_json_kind kind = hpc_json_kind_of(v);
    double x = fallback;
    if (kind == HPC_JSON_INT || kind == HPC_JSON_REAL) hpc_json_real(&x, v, key);
    return x;
}

int64_t api_int(const hpc_json *o, const char *key, int64_t fallback)
{
    const double x = real_of(o, key, (double)fallback);
    return x >= -9e15 && x <= 9e15 ? (int64_t)x : fallback;
}

bool api_flag(const hpc_json *o, const char *key, bool fallback)
{
    const hpc_json *v = o ? hpc_json_get(o, key) : NULL;
    bool on = fallback;
    if (hpc_json_kind_of(v) == HPC_JSON_BOOL) hpc_json_bool(&on, v, key);
    return on;
}

static bool has(const hpc_json *o, const char *key)
{
    return hpc_json_kind_of(hpc_json_get(o, key)) != HPC_JSON_NULL;
}

static int check_kind(const hpc_json *o, const char *key, hpc_json_kind kind, const char *name)
{
    const hpc_json *v = hpc_json_get(o, key);
    if (!v || hpc_json_kind_of(v) == HPC_JSON_NULL || hpc_json_kind_of(v) == kind) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "\"%s\" must be %s", key, name);
}

/* ---- marks ---------------------------------------------------------------------------------- */

typedef struct marks {
    const char *prefix, *suffix, *middle;
} marks;

static const marks known_marks[] = {
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
    {"<\xef\xbd\x9c"
     "fim\xe2\x96\x81"
     "begin\xef\xbd\x9c>",
     "<\xef\xbd\x9c"
     "fim\xe2\x96\x81"
     "hole\xef\xbd\x9c>",
     "<\xef\xbd\x9c"
     "fim\xe2\x96\x81"
     "end\xef\xbd\x9c>"},
    {"<PRE> ", " <SUF>", " <MID>"},
    {"<|prefix|>", "<|suffix|>", "<|middle|>"},
    {"[PREFIX]", "[SUFFIX]", "[MIDDLE]"},
};

/* The text from a mark up to the next mark. */
static int take_part(hpc_buf *out, const char *text, const char *mark, const marks *m)
{
    const char *from = strstr(text, mark) + strlen(mark), *end = from + strlen(from);
    const char *const all[] = {m->prefix, m->suffix, m->middle};
    for (int k = 0; k < 3; k++) {
        const char *next = strstr(from, all[k]);
        if (next && next < end) end = next;
    }
    return hpc_buf_add(out, from, (size_t)(end - from));
}

/* Both orders: prefix, suffix, middle; and suffix, prefix, middle, where the text of the prefix may
 * also follow the mark of the middle. */
bool api_marks_split(api_ask *q)
{
    const char *text = q->prefix.data;
    hpc_buf prefix = {0}, suffix = {0};
    for (size_t k = 0; text && k < sizeof known_marks / sizeof *known_marks; k++) {
        const marks *m = &known_marks[k];
        if (!strstr(text, m->prefix) || !strstr(text, m->suffix) || !strstr(text, m->middle))
            continue;
        take_part(&prefix, text, m->prefix, m);
        take_part(&prefix, text, m->middle, m);
        take_part(&suffix, text, m->suffix, m);
        hpc_buf_release(&q->prefix);
        hpc_buf_release(&q->suffix);
        q->prefix = prefix;
        q->suffix = suffix;
        return true;
    }
    return false;
}

/* ---- prompts -------------------------------------------------------------------------------- */

static int add_ids(api_job *j, const char *text)
{
    api_worker *w = j->worker;
    int rc = HPC_OK;
    if (!w->scratch) TRY(hpc_tokenizer_scratch_create(&w->scratch, j->a->tokenizer));
    rc = hpc_tokenizer_encode(&j->ask.prompt, j->a->tokenizer, w->scratch, text, strlen(text),
                              HPC_ENCODE_SPECIALS | (j->ask.prompt.n > 0 ? HPC_ENCODE_INNER : 0));
out:
    return rc;
}

static int add_begin(api_job *j)
{
    const hpc_tokenizer_special s = hpc_tokenizer_specials(j->a->tokenizer);
    hpc_ids *p = &j->ask.prompt;
    if (!s.add_begin || s.begin < 0) return HPC_OK;
    int rc = hpc_grow(&p->id, &p->cap, p->n + 1, sizeof *p->id);
    if (rc >= 0) p->id[p->n++] = s.begin;
    return rc;
}

/* Numbers, or numbers and texts. */
static int read_mixed(api_job *j, const hpc_json *list)
{
    hpc_ids *p = &j->ask.prompt;
    int rc = HPC_OK;
    if (hpc_json_n(list) == 0) TRY(hpc_fail(HPC_E_ARG, "\"prompt\" is empty"));
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        const hpc_json *v = hpc_json_at(list, k);
        const char *text;
        int64_t id;
        if (hpc_json_kind_of(v) == HPC_JSON_TEXT) {
            TRY(hpc_json_text(&text, v, "prompt"));
            TRY(add_ids(j, text));
            continue;
        }
        TRY(hpc_json_int(&id, v, "prompt"));
        TRY(hpc_grow(&p->id, &p->cap, p->n + 1, sizeof *p->id));
        p->id[p->n++] = id >= 0 && id <= INT32_MAX ? (int32_t)id : -1;
    }
out:
    return rc;
}

static int read_prompt(api_job *j)
{
    api_ask *q = &j->ask;
    const hpc_json *v = hpc_json_get(j->json, "prompt");
    const hpc_json_kind kind = hpc_json_kind_of(v);
    const hpc_json *one = kind == HPC_JSON_LIST && hpc_json_n(v) == 1 ? hpc_json_at(v, 0) : v;
    const char *text = "";
    int rc;
    if (hpc_json_kind_of(one) == HPC_JSON_LIST || hpc_json_kind_of(one) == HPC_JSON_INT)
        return read_mixed(j, hpc_json_kind_of(one) == HPC_JSON_INT ? v : one);
    if (kind == HPC_JSON_LIST && hpc_json_n(v) > 1) return read_mixed(j, v);
    if (hpc_json_kind_of(one) != HPC_JSON_TEXT)
        return hpc_fail(HPC_E_ARG, "\"prompt\" must be a text or a list of tokens");
    TRY(hpc_json_text(&text, one, "prompt"));
    TRY(hpc_buf_text(&q->prefix, text));
    TRY(hpc_buf_text(&q->suffix, api_text(j->json, "suffix")));
    q->infill = q->infill || has(j->json, "suffix") || api_marks_split(q);
    if (q->infill) return HPC_OK;
    TRY(add_begin(j));
    TRY(add_ids(j, text));
    if (q->prompt.n == 0) TRY(hpc_fail(HPC_E_ARG, "\"prompt\" is empty"));
out:
    return rc;
}

/* ---- infill --------------------------------------------------------------------------------- */

static int add_snippet(api_ask *q, const char *path, const char *text)
{
    int rc = hpc_grow(&q->snippet, &q->snippet_cap, q->snippet_n + 1, sizeof *q->snippet);
    if (rc < 0) return rc;
    q->snippet[q->snippet_n++] = (hpc_snippet){.path = path, .text = text, .n = strlen(text)};
    return HPC_OK;
}

/* Chunks come in the order of the prompt: the last one is the most relevant. */
static int read_extra(api_ask *q, const hpc_json *json)
{
    const hpc_json *list = hpc_json_get(json, "input_extra");
    int rc = HPC_OK;
    if (has(json, "input_extra") && hpc_json_kind_of(list) != HPC_JSON_LIST)
        return hpc_fail(HPC_E_ARG, "\"input_extra\" must be a list of objects with a text");
    for (int64_t k = hpc_json_n(list) - 1; k >= 0; k--) {
        const hpc_json *v = hpc_json_at(list, k);
        if (hpc_json_kind_of(v) != HPC_JSON_OBJECT ||
            hpc_json_kind_of(hpc_json_get(v, "text")) != HPC_JSON_TEXT)
            TRY(hpc_fail(HPC_E_ARG,
                         "\"input_extra\" element %lld has no \"text\": expected an object with a "
                         "text",
                         (long long)k));
        if (has(v, "filename") && hpc_json_kind_of(hpc_json_get(v, "filename")) != HPC_JSON_TEXT)
            TRY(hpc_fail(HPC_E_ARG, "\"input_extra\" element %lld: \"filename\" must be a text",
                         (long long)k));
        const char *path = api_text(v, "filename");
        if (*api_text(v, "text")) TRY(add_snippet(q, *path ? path : "other", api_text(v, "text")));
    }
out:
    return rc;
}

static int read_infill(api_job *j)
{
    api_ask *q = &j->ask;
    const hpc_json *o = j->json;
    int rc;
    TRY(check_kind(o, "input_prefix", HPC_JSON_TEXT, "a text"));
    TRY(check_kind(o, "input_suffix", HPC_JSON_TEXT, "a text"));
    TRY(check_kind(o, "prompt", HPC_JSON_TEXT, "a text"));
    TRY(hpc_buf_text(&q->prefix, api_text(o, "input_prefix")));
    TRY(hpc_buf_text(&q->prefix, api_text(o, "prompt")));
    TRY(hpc_buf_text(&q->suffix, api_text(o, "input_suffix")));
    TRY(read_extra(q, o));
    q->path = api_text(o, "filename");
out:
    return rc;
}

/* Tabby: {language, segments{prefix, suffix, filepath, ...}}. */
static int read_segments(api_job *j, const hpc_json *s)
{
    api_ask *q = &j->ask;
    int rc;
    q->format = API_TABBY;
    q->infill = true;
    q->path = api_text(s, "filepath");
    TRY(hpc_buf_text(&q->prefix, api_text(s, "prefix")));
    TRY(hpc_buf_text(&q->suffix, api_text(s, "suffix")));
out:
    return rc;
}

/* ---- options -------------------------------------------------------------------------------- */

static int read_stops(api_ask *q, const hpc_json *o)
{
    const hpc_json *v = hpc_json_get(o, "stop");
    const int64_t n = hpc_json_kind_of(v) == HPC_JSON_LIST ? hpc_json_n(v) : v ? 1 : 0;
    int rc = HPC_OK;
    for (int64_t k = 0; k < n && q->stop_n < STOPS_MOST; k++) {
        const hpc_json *one = hpc_json_kind_of(v) == HPC_JSON_LIST ? hpc_json_at(v, k) : v;
        const char *text = "";
        if (hpc_json_kind_of(one) == HPC_JSON_TEXT) TRY(hpc_json_text(&text, one, "stop"));
        if (!*text) continue;
        TRY(hpc_grow(&q->stop, &q->stop_cap, q->stop_n + 2, sizeof *q->stop));
        q->stop[q->stop_n++] = text;
        q->stop[q->stop_n] = NULL;
    }
out:
    return rc;
}

static int add_bias(api_job *j, int64_t token, const hpc_json *v)
{
    api_ask *q = &j->ask;
    bool on = true;
    double add = -INFINITY;
    int rc = HPC_OK;
    if (hpc_json_kind_of(v) == HPC_JSON_BOOL)
        TRY(hpc_json_bool(&on, v, "logit_bias"));
    else
        TRY(hpc_json_real(&add, v, "logit_bias"));
    if (on && hpc_json_kind_of(v) == HPC_JSON_BOOL) return HPC_OK;
    if (token < 0 || token >= hpc_tokenizer_n(j->a->tokenizer)) return HPC_OK;
    TRY(hpc_grow(&q->bias, &q->bias_cap, q->bias_n + 1, sizeof *q->bias));
    q->bias[q->bias_n++] = (hpc_bias){.token = (int32_t)token, .add = (float)add};
out:
    return rc;
}

/* [[TOKEN or TEXT, NUMBER or false], ...] or {"TOKEN": NUMBER}. */
static int read_bias(api_job *j)
{
    const hpc_json *list = hpc_json_get(j->json, "logit_bias");
    const bool object = hpc_json_kind_of(list) == HPC_JSON_OBJECT;
    int rc = HPC_OK;
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        const hpc_json *pair = object ? NULL : hpc_json_at(list, k), *value = NULL;
        hpc_ids kept = j->ask.prompt;
        if (object) {
            const char *key = hpc_json_key(list, k, &value);
            int64_t token = 0;
            for (; *key >= '0' && *key <= '9' && token < INT32_MAX; key++)
                token = 10 * token + (*key - '0');
            if (*key == '\0') TRY(add_bias(j, token, value));
            continue;
        }
        value = hpc_json_at(pair, 1);
        if (hpc_json_kind_of(hpc_json_at(pair, 0)) == HPC_JSON_INT) {
            int64_t token;
            TRY(hpc_json_int(&token, hpc_json_at(pair, 0), "logit_bias"));
            TRY(add_bias(j, token, value));
        } else if (hpc_json_kind_of(hpc_json_at(pair, 0)) == HPC_JSON_TEXT) {
            const char *text;
            TRY(hpc_json_text(&text, hpc_json_at(pair, 0), "logit_bias"));
            j->ask.prompt = (hpc_ids){0};
            rc = add_ids(j, text);
            for (int64_t i = 0; rc >= 0 && i < j->ask.prompt.n; i++)
                rc = add_bias(j, j->ask.prompt.id[i], value);
            hpc_free(j->ask.prompt.id);
            j->ask.prompt = kept;
            TRY(rc);
        }
    }
out:
    return rc;
}

/* Ollama has its options in an object of their own. */
static void read_sampling(api_ask *q, const hpc_json *o)
{
    static const double plain[] = {0.8, 1, 1, 0.8, 0};
    hpc_sampling *s = &q->sampling;
    *s = hpc_sampling_greedy();
    s->temperature = real_of(o, "temperature", q->infill ? 0 : plain[q->format]);
    if (s->temperature < 0) s->temperature = 0;
    s->top_k = api_int(o, "top_k", q->format == API_LLAMA && !q->infill ? 40 : 0);
    if (s->top_k < 0) s->top_k = 0;
    s->top_p = real_of(o, "top_p", q->format == API_LLAMA && !q->infill ? 0.95 : 1);
    s->min_p = real_of(o, "min_p", q->format == API_LLAMA && !q->infill ? 0.05 : 0);
    s->repeat = real_of(o, "repeat_penalty", 1);
    s->repeat_last = api_int(o, "repeat_last_n", 64);
    const int64_t seed = api_int(o, "seed", 0);
    s->seed = seed < 0 ? (uint64_t)hpc_clock_ns() : (uint64_t)seed;
}

static void read_limits(api_job *j, const hpc_json *o)
{
    static const char *const keys[] = {"n_predict", "max_tokens", "num_predict",
                                       "max_completion_tokens"};
    api_ask *q = &j->ask;
    q->most = DEFAULT_TOKENS;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) q->most = api_int(o, keys[k], q->most);
    if (q->most < 0 || q->most > j->a->o.most) q->most = j->a->o.most;
    q->answers = api_int(o, "n_cmpl", api_int(o, "n", 1));
    if (q->answers < 1) q->answers = 1;
    q->prompt_ms = api_int(o, "t_max_prompt_ms", 0);
    q->predict_ms = api_int(o, "t_max_predict_ms", 0);
    q->top_n = api_int(o, "n_probs", 0);
    if (hpc_json_kind_of(hpc_json_get(o, "logprobs")) == HPC_JSON_INT)
        q->top_n = api_int(o, "logprobs", 0);
    if (q->top_n < 0) q->top_n = 0;
    if (q->top_n > HPC_JOB_TOP_MOST) q->top_n = HPC_JOB_TOP_MOST;
}

static int read_options(api_job *j)
{
    api_ask *q = &j->ask;
    const hpc_json *options = hpc_json_get(j->json, "options");
    const hpc_json *o = hpc_json_kind_of(options) == HPC_JSON_OBJECT ? options : j->json;
    int rc;
    read_sampling(q, o);
    read_limits(j, o);
    if (q->answers > ANSWERS_MOST)
        TRY(hpc_fail(HPC_E_ARG, "%lld answers: at most %d", (long long)q->answers, ANSWERS_MOST));
    TRY(read_stops(q, o));
    TRY(read_bias(j));
    q->stream = api_flag(j->json, "stream", q->format == API_OLLAMA);
    q->usage = api_flag(hpc_json_get(j->json, "stream_options"), "include_usage", false);
    q->tokens = api_flag(j->json, "return_tokens", false);
    q->ignore_end = api_flag(j->json, "ignore_eos", false);
    q->fields = hpc_json_get(j->json, "response_fields");
    if (hpc_json_kind_of(q->fields) != HPC_JSON_LIST || hpc_json_n(q->fields) == 0)
        q->fields = NULL;
out:
    return rc;
}

int api_ask_read(api_job *j)
{
    api_ask *q = &j->ask;
    const hpc_json *segments = hpc_json_get(j->json, "segments");
    int rc;
    q->format = j->route->format;
    q->infill = j->route->infill;
    if (hpc_json_kind_of(segments) == HPC_JSON_OBJECT)
        TRY(read_segments(j, segments));
    else if (q->format == API_LLAMA && q->infill)
        TRY(read_infill(j));
    else if (j->route->chat)
        TRY(api_chat_read(j));
    else
        TRY(read_prompt(j));
    TRY(hpc_buf_text(&q->prefix, ""));
    TRY(hpc_buf_text(&q->suffix, ""));
    TRY(read_options(j));
out:
    return rc;
}

void api_ask_release(api_ask *q)
{
    hpc_buf_release(&q->prefix);
    hpc_buf_release(&q->suffix);
    hpc_free(q->prompt.id);
    hpc_free(q->snippet);
    hpc_free(q->stop);
    hpc_free(q->bias);
}
