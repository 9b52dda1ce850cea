/*
 * Options of requests for completions: their types and ranges, sampling, limits, stop strings and
 * biases. A known key with a wrong type, or with a value that would change the answer and is not
 * served, is an error that names it. Other keys are ignored, as clients expect.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "infer/serve/api_priv.h"

enum { ANSWERS_MOST = 16, STOPS_MOST = 64, BIASES_MOST = 1 << 16, MS_MOST = 24 * 3600 * 1000 };

/* ---- keys ----------------------------------------------------------------------------------- */

typedef enum key_kind { NUMBER, WHOLE, FLAG, TEXT, LIST, TEXT_OR_LIST, FLAG_OR_WHOLE } key_kind;

typedef struct key {
    const char *name;
    key_kind kind;
    double least; /* of a number */
} key;

static const char *const kind_names[] = {
    [NUMBER] = "a number",
    [WHOLE] = "a whole number",
    [FLAG] = "true or false",
    [TEXT] = "a text",
    [LIST] = "a list",
    [TEXT_OR_LIST] = "a text or a list",
    [FLAG_OR_WHOLE] = "true, false or a whole number",
};

static const key keys[] = {
    {"n_predict", WHOLE, -1},
    {"max_tokens", WHOLE, -1},
    {"max_completion_tokens", WHOLE, -1},
    {"num_predict", WHOLE, -2},
    {"n", WHOLE, 1},
    {"n_cmpl", WHOLE, 1},
    {"n_indent", WHOLE, 0},
    {"n_probs", WHOLE, 0},
    {"id_slot", WHOLE, -1},
    {"t_max_prompt_ms", WHOLE, -1},
    {"t_max_predict_ms", WHOLE, -1},
    {"temperature", NUMBER, -INFINITY},
    {"top_k", WHOLE, -1},
    {"top_p", NUMBER, 0},
    {"min_p", NUMBER, 0},
    {"repeat_penalty", NUMBER, 0},
    {"repeat_last_n", WHOLE, -1},
    {"seed", WHOLE, -1},
    {"random_seed", WHOLE, -1},
    {"stream", FLAG, 0},
    {"cache_prompt", FLAG, 0},
    {"return_tokens", FLAG, 0},
    {"return_progress", FLAG, 0},
    {"timings_per_token", FLAG, 0},
    {"ignore_eos", FLAG, 0},
    {"logprobs", FLAG_OR_WHOLE, 0},
    {"stop", TEXT_OR_LIST, 0},
    {"samplers", TEXT_OR_LIST, 0},
    {"response_fields", LIST, 0},
    {"document", TEXT, 0},
    {"suffix", TEXT, 0},
    {NULL, TEXT, 0},
};

static bool has_kind(const hpc_json *v, key_kind kind)
{
    const hpc_json_kind k = hpc_json_kind_of(v);
    double x = 0.5;
    if (k == HPC_JSON_REAL && kind != NUMBER) hpc_json_real(&x, v, "");
    const bool whole = k == HPC_JSON_INT || (k == HPC_JSON_REAL && floor(x) == x);
    switch (kind) {
    case NUMBER: return k == HPC_JSON_INT || k == HPC_JSON_REAL;
    case WHOLE: return whole;
    case FLAG: return k == HPC_JSON_BOOL;
    case TEXT: return k == HPC_JSON_TEXT;
    case LIST: return k == HPC_JSON_LIST;
    case TEXT_OR_LIST: return k == HPC_JSON_TEXT || k == HPC_JSON_LIST;
    case FLAG_OR_WHOLE: return whole || k == HPC_JSON_BOOL;
    }
    return false;
}

static int check_key(const hpc_json *o, const key *k)
{
    const hpc_json *v = hpc_json_get(o, k->name);
    double x = 0;
    if (hpc_json_kind_of(v) == HPC_JSON_NULL) return HPC_OK;
    if (!has_kind(v, k->kind))
        return hpc_fail(HPC_E_ARG, "\"%s\" must be %s", k->name, kind_names[k->kind]);
    if (k->kind != NUMBER && k->kind != WHOLE) return HPC_OK;
    int rc = hpc_json_real(&x, v, k->name);
    if (rc >= 0 && !(x >= k->least))
        return hpc_fail(HPC_E_ARG, "\"%s\" must be at least %g", k->name, k->least);
    return rc;
}

/* ---- keys that are not served ---------------------------------------------------------------- */

/* Numbers that change the answer, unless they have this value or less. */
typedef struct neutral {
    const char *name;
    double value;
    bool below; /* lower values do nothing, too */
} neutral;

static const neutral numbers[] = {
    {"presence_penalty", 0, false}, {"frequency_penalty", 0, false},
    {"typical_p", 1, false},        {"tfs_z", 1, false},
    {"mirostat", 0, false},         {"dynatemp_range", 0, true},
    {"xtc_probability", 0, true},   {"dry_multiplier", 0, true},
    {"top_n_sigma", 0, true},       {"adaptive_target", -1, true},
    {"min_tokens", 0, true},        {"min_keep", 0, true},
    {"best_of", 1, true},           {NULL, 0, false},
};

static int check_neutral(const hpc_json *o, const neutral *x)
{
    const hpc_json *v = hpc_json_get(o, x->name);
    double value = 0;
    if (hpc_json_kind_of(v) == HPC_JSON_NULL) return HPC_OK;
    if (!has_kind(v, NUMBER)) return hpc_fail(HPC_E_ARG, "\"%s\" must be a number", x->name);
    int rc = hpc_json_real(&value, v, x->name);
    const bool same = fabs(value - x->value) < 1e-12;
    if (rc < 0 || same || (x->below && value < x->value)) return rc;
    return hpc_fail(HPC_E_ARG, "\"%s\" is not supported: leave it out or send %g", x->name,
                    x->value);
}

/* Empty values ask for nothing. */
static bool is_empty(const hpc_json *v)
{
    const char *text = "";
    bool on = false;
    switch (hpc_json_kind_of(v)) {
    case HPC_JSON_NULL: return true;
    case HPC_JSON_BOOL: hpc_json_bool(&on, v, ""); return !on;
    case HPC_JSON_TEXT: hpc_json_text(&text, v, ""); return !*text;
    case HPC_JSON_LIST: return hpc_json_n(v) == 0;
    default: return false;
    }
}

static int check_empty(const hpc_json *o, const char *const *name)
{
    for (; *name; name++)
        if (!is_empty(hpc_json_get(o, *name)))
            return hpc_fail(HPC_E_UNSUPPORTED, "\"%s\" is not supported", *name);
    return HPC_OK;
}

/* HPC_E_ARG or HPC_E_UNSUPPORTED: a key has the wrong type, or a value that is not served. */
static int check(const hpc_json *o)
{
    static const char *const absent[] = {"lora", "echo", "post_sampling_probs", NULL};
    int rc = HPC_OK;
    for (const key *k = keys; k->name; k++) TRY(check_key(o, k));
    for (const neutral *x = numbers; x->name; x++) TRY(check_neutral(o, x));
    TRY(check_empty(o, absent));
out:
    return rc;
}

/* Ollama's, and options that only the continuation of a text has. */
static int check_format(const api_job *j)
{
    static const char *const ollama[] = {"images", "system", "template", "context", NULL};
    const api_ask *q = &j->ask;
    const int rc = q->format == API_OLLAMA ? check_empty(j->json, ollama) : HPC_OK;
    if (rc < 0 || !q->infill) return rc;
    if (q->bias_n > 0)
        return hpc_fail(HPC_E_UNSUPPORTED, "\"logit_bias\" is not supported at a position");
    if (q->top_n > 0)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "probabilities (\"n_probs\", \"logprobs\") are not supported at a "
                        "position");
    if (q->ignore_end)
        return hpc_fail(HPC_E_UNSUPPORTED, "\"ignore_eos\" is not supported at a position");
    return HPC_OK;
}

/* ---- stop strings and biases ----------------------------------------------------------------- */

static int read_stops(api_ask *q, const hpc_json *o)
{
    const hpc_json *v = hpc_json_get(o, "stop");
    const bool list = hpc_json_kind_of(v) == HPC_JSON_LIST;
    const int64_t n = list ? hpc_json_n(v) : hpc_json_kind_of(v) == HPC_JSON_TEXT;
    int rc = HPC_OK;
    if (n > STOPS_MOST) return hpc_fail(HPC_E_ARG, "\"stop\" has more than %d texts", STOPS_MOST);
    for (int64_t k = 0; k < n; k++) {
        const hpc_json *one = list ? hpc_json_at(v, k) : v;
        const char *text;
        if (hpc_json_kind_of(one) != HPC_JSON_TEXT)
            TRY(hpc_fail(HPC_E_ARG, "\"stop\" must be a text or a list of texts"));
        TRY(hpc_json_text(&text, one, "stop"));
        if (!*text) continue;
        TRY(hpc_grow(&q->stop, &q->stop_cap, q->stop_n + 2, sizeof *q->stop));
        q->stop[q->stop_n++] = text;
        q->stop[q->stop_n] = NULL;
    }
out:
    return rc;
}

static int put_bias(api_job *j, int64_t token, double add)
{
    api_ask *q = &j->ask;
    if (token < 0 || token >= hpc_tokenizer_n(j->a->tokenizer)) return HPC_OK;
    if (q->bias_n == BIASES_MOST)
        return hpc_fail(HPC_E_ARG, "\"logit_bias\" has more than %d tokens", BIASES_MOST);
    int rc = hpc_grow(&q->bias, &q->bias_cap, q->bias_n + 1, sizeof *q->bias);
    if (rc >= 0) q->bias[q->bias_n++] = (hpc_bias){.token = (int32_t)token, .add = (float)add};
    return rc;
}

/* The tokens of a text. */
static int put_text_bias(api_job *j, const char *text, double add)
{
    api_worker *w = j->worker;
    hpc_ids ids = {0};
    int rc = HPC_OK;
    if (!w->scratch) TRY(hpc_tokenizer_scratch_create(&w->scratch, j->a->tokenizer));
    TRY(hpc_tokenizer_encode(&ids, j->a->tokenizer, w->scratch, text, strlen(text),
                             HPC_ENCODE_SPECIALS));
    for (int64_t k = 0; k < ids.n; k++) TRY(put_bias(j, ids.id[k], add));
out:
    hpc_free(ids.id);
    return rc;
}

/* false excludes; true does nothing. */
static int read_addend(double *add, bool *none, const hpc_json *v)
{
    bool on = false;
    *add = -INFINITY;
    *none = false;
    if (hpc_json_kind_of(v) != HPC_JSON_BOOL) return hpc_json_real(add, v, "logit_bias");
    hpc_json_bool(&on, v, "logit_bias");
    *none = on;
    return HPC_OK;
}

static bool read_number(int64_t *out, const char *text)
{
    int64_t x = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && x < INT32_MAX; at++) x = 10 * x + (*at - '0');
    *out = x;
    return at > text && *at == '\0';
}

static int read_one_bias(api_job *j, const hpc_json *list, int64_t k)
{
    const hpc_json *value = NULL, *first = NULL;
    const char *text = NULL;
    double add;
    bool none;
    int64_t token = -1;
    int rc = HPC_OK;
    if (hpc_json_kind_of(list) == HPC_JSON_OBJECT) {
        text = hpc_json_key(list, k, &value);
        if (read_number(&token, text)) text = NULL;
    } else {
        first = hpc_json_at(hpc_json_at(list, k), 0);
        value = hpc_json_at(hpc_json_at(list, k), 1);
        if (hpc_json_kind_of(first) == HPC_JSON_TEXT) TRY(hpc_json_text(&text, first, ""));
        if (!text) TRY(hpc_json_int(&token, first, "\"logit_bias\""));
    }
    TRY(read_addend(&add, &none, value));
    if (none) return HPC_OK;
    TRY(text ? put_text_bias(j, text, add) : put_bias(j, token, add));
out:
    return rc;
}

/* [[TOKEN or TEXT, NUMBER or false], ...] or {"TOKEN or TEXT": NUMBER}; ignore_eos excludes the
 * tokens that end a text. */
static int read_bias(api_job *j)
{
    const hpc_json *list = hpc_json_get(j->json, "logit_bias");
    const hpc_json_kind kind = hpc_json_kind_of(list);
    int32_t end[API_ENDS];
    const int64_t ends = j->ask.ignore_end ? api_ends(end, j) : 0;
    int rc = HPC_OK;
    if (kind != HPC_JSON_NULL && kind != HPC_JSON_LIST && kind != HPC_JSON_OBJECT)
        return hpc_fail(HPC_E_ARG, "\"logit_bias\" must be a list of pairs or an object");
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        const hpc_json *pair = hpc_json_at(list, k);
        if (kind == HPC_JSON_LIST &&
            (hpc_json_kind_of(pair) != HPC_JSON_LIST || hpc_json_n(pair) != 2))
            TRY(hpc_fail(HPC_E_ARG, "\"logit_bias\" must be a list of pairs or an object"));
        TRY(read_one_bias(j, list, k));
    }
    for (int64_t k = 0; k < ends; k++) TRY(put_bias(j, end[k], -INFINITY));
out:
    return rc;
}

/* ---- sampling -------------------------------------------------------------------------------- */

typedef struct sampler {
    const char *name, *other; /* other: a second name */
    char letter;
    int step; /* api_sampler; -1: it is off unless a key that is not served turns it on */
} sampler;

static const sampler samplers[] = {
    {"penalties", NULL, 'e', API_PENALTIES},
    {"top_k", "top-k", 'k', API_TOP_K},
    {"top_p", "top-p", 'p', API_TOP_P},
    {"min_p", "min-p", 'm', API_MIN_P},
    {"temperature", "temp", 't', API_TEMPERATURE},
    {"dry", NULL, 'd', -1},
    {"top_n_sigma", "top-n-sigma", 's', -1},
    {"typ_p", "typical_p", 'y', -1},
    {"xtc", NULL, 'x', -1},
    {"infill", NULL, 'i', -1},
    {"adaptive_p", "adaptive-p", 'a', -1},
    {NULL, NULL, 0, 0},
};

const char *api_sampler_name(api_sampler s)
{
    for (const sampler *x = samplers; x->name; x++)
        if (x->step == (int)s) return x->name;
    return "";
}

/* name NULL: by its letter. */
static bool is_sampler(const sampler *x, const char *name, char letter)
{
    if (!name) return x->letter == letter;
    return strcmp(x->name, name) == 0 || (x->other && strcmp(x->other, name) == 0);
}

static int add_sampler(uint32_t *set, const char *name, char letter)
{
    const sampler *x = samplers;
    while (x->name && !is_sampler(x, name, letter)) x++;
    if (!x->name && name) return hpc_fail(HPC_E_ARG, "\"samplers\": unknown sampler '%s'", name);
    if (!x->name) return hpc_fail(HPC_E_ARG, "\"samplers\": unknown sampler '%c'", letter);
    if (x->step >= 0) *set |= 1u << x->step;
    return HPC_OK;
}

/* Steps that the list does not name are off. Their order is the engine's. */
static int read_samplers(api_ask *q, const hpc_json *o)
{
    const hpc_json *v = hpc_json_get(o, "samplers");
    const char *text = "";
    int rc = HPC_OK;
    q->samplers = (1u << API_SAMPLER_N) - 1;
    if (hpc_json_kind_of(v) == HPC_JSON_NULL) return HPC_OK;
    q->samplers = 0;
    if (hpc_json_kind_of(v) == HPC_JSON_TEXT) {
        TRY(hpc_json_text(&text, v, "samplers"));
        for (; *text; text++) TRY(add_sampler(&q->samplers, NULL, *text));
        return HPC_OK;
    }
    for (int64_t k = 0; k < hpc_json_n(v); k++) {
        if (hpc_json_kind_of(hpc_json_at(v, k)) != HPC_JSON_TEXT)
            TRY(hpc_fail(HPC_E_ARG, "\"samplers\" must be a list of texts"));
        TRY(hpc_json_text(&text, hpc_json_at(v, k), "samplers"));
        TRY(add_sampler(&q->samplers, text, 0));
    }
out:
    return rc;
}

static bool samples_with(const api_ask *q, api_sampler s)
{
    return (q->samplers >> s & 1) != 0;
}

/* -1 asks for any seed; without the key it is 0. */
static uint64_t read_seed(const hpc_json *o)
{
    const hpc_json *v = hpc_json_get(o, "seed");
    int64_t seed = 0;
    double x = 0;
    if (hpc_json_kind_of(v) == HPC_JSON_NULL) v = hpc_json_get(o, "random_seed");
    if (hpc_json_kind_of(v) == HPC_JSON_INT) {
        hpc_json_int(&seed, v, "seed");
        return seed < 0 ? (uint64_t)hpc_clock_ns() : (uint64_t)seed;
    }
    if (hpc_json_kind_of(v) != HPC_JSON_REAL) return 0;
    hpc_json_real(&x, v, "seed"); /* beyond 64 bits with a sign: the nearest number */
    return x < 0 ? (uint64_t)hpc_clock_ns() : x < 18446744073709549568.0 ? (uint64_t)x : UINT64_MAX;
}

/* At a position the likeliest text is the default: clients there list samplers without a
 * temperature. */
static void read_sampling(api_ask *q, const hpc_json *o)
{
    static const double plain[] = {0.8, 1, 1, 0.8, 0};
    const bool llama = q->format == API_LLAMA && !q->infill;
    hpc_sampling *s = &q->sampling;
    *s = hpc_sampling_greedy();
    s->temperature = api_real(o, "temperature", q->infill ? 0 : plain[q->format]);
    if (s->temperature < 0) s->temperature = 0;
    if (!q->infill && !samples_with(q, API_TEMPERATURE)) s->temperature = 1;
    if (samples_with(q, API_TOP_K)) s->top_k = api_int(o, "top_k", llama ? 40 : 0);
    if (s->top_k < 0) s->top_k = 0;
    if (samples_with(q, API_TOP_P)) s->top_p = api_real(o, "top_p", llama ? 0.95 : 1);
    if (samples_with(q, API_MIN_P)) s->min_p = api_real(o, "min_p", llama ? 0.05 : 0);
    if (samples_with(q, API_PENALTIES)) s->repeat = api_real(o, "repeat_penalty", 1);
    s->repeat_last = api_int(o, "repeat_last_n", 64);
    s->seed = read_seed(o);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* 0: no limit. More than a day is a day: nanoseconds and sums of it stay within 64 bits. */
static int64_t milliseconds(const hpc_json *o, const char *name)
{
    const double x = api_real(o, name, 0);
    return x <= 0 ? 0 : x < MS_MOST ? (int64_t)x : MS_MOST;
}

static int read_limits(api_job *j, const hpc_json *o)
{
    static const char *const most[] = {"n_predict", "max_tokens", "num_predict",
                                       "max_completion_tokens"};
    api_ask *q = &j->ask;
    q->most = j->a->o.predict;
    for (size_t k = 0; k < sizeof most / sizeof *most; k++) q->most = api_int(o, most[k], q->most);
    if (q->most < 0 || q->most > j->a->o.most) q->most = j->a->o.most;
    q->answers = api_int(o, "n_cmpl", api_int(o, "n", 1));
    const int64_t prompts = q->prompt_n > 0 ? q->prompt_n : 1;
    if (q->answers > ANSWERS_MOST || q->answers * prompts > ANSWERS_MOST)
        return hpc_fail(HPC_E_ARG, "%lld answers to %lld prompts: at most %d answers",
                        (long long)q->answers, (long long)prompts, ANSWERS_MOST);
    q->prompt_ms = milliseconds(o, "t_max_prompt_ms");
    q->predict_ms = milliseconds(o, "t_max_predict_ms");
    q->indent = api_int(o, "n_indent", 0);
    q->top_n = api_int(o, "n_probs", api_int(o, "logprobs", 0));
    if (api_flag(o, "logprobs", false)) q->top_n = api_int(o, "top_logprobs", 1);
    if (q->top_n < 0) q->top_n = 0;
    if (q->top_n > HPC_JOB_TOP_MOST) q->top_n = HPC_JOB_TOP_MOST;
    return HPC_OK;
}

/* Ollama has its options in an object of their own. */
int api_option_read(api_job *j)
{
    api_ask *q = &j->ask;
    const hpc_json *options = hpc_json_get(j->json, "options"), *fields;
    const hpc_json *o = hpc_json_kind_of(options) == HPC_JSON_OBJECT ? options : j->json;
    int rc;
    TRY(check(j->json));
    if (o != j->json) TRY(check(o));
    TRY(read_samplers(q, o));
    read_sampling(q, o);
    TRY(read_limits(j, o));
    TRY(read_stops(q, o));
    q->ignore_end = api_flag(j->json, "ignore_eos", false);
    TRY(read_bias(j));
    q->stream = api_flag(j->json, "stream", q->format == API_OLLAMA);
    q->usage = api_flag(hpc_json_get(j->json, "stream_options"), "include_usage", false);
    q->tokens = api_flag(j->json, "return_tokens", false);
    q->progress = q->stream && api_flag(j->json, "return_progress", false);
    q->timings = q->stream && api_flag(j->json, "timings_per_token", false);
    q->document = api_text(j->json, "document");
    fields = hpc_json_get(j->json, "response_fields");
    q->fields = hpc_json_kind_of(fields) == HPC_JSON_LIST && hpc_json_n(fields) > 0 ? fields : NULL;
    TRY(check_format(j));
    TRY(api_grammar_read(j));
out:
    return rc;
}
