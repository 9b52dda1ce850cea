/*
 * Requests for completions as JSON: the keys of each protocol become one description of what is
 * asked for. Options are in api_option.c.
 */
#include <string.h>

#include "infer/serve/api_priv.h"

/* ---- values --------------------------------------------------------------------------------- */

const char *api_text(const hpc_json *o, const char *key)
{
    const hpc_json *v = o ? hpc_json_get(o, key) : NULL;
    const char *text = "";
    if (hpc_json_kind_of(v) == HPC_JSON_TEXT) hpc_json_text(&text, v, key);
    return text;
}

double api_real(const hpc_json *o, const char *key, double fallback)
{
    const hpc_json *v = o ? hpc_json_get(o, key) : NULL;
    const hpc_json_kind kind = hpc_json_kind_of(v);
    double x = fallback;
    if (kind == HPC_JSON_INT || kind == HPC_JSON_REAL) hpc_json_real(&x, v, key);
    return x;
}

int64_t api_int(const hpc_json *o, const char *key, int64_t fallback)
{
    const double x = api_real(o, key, (double)fallback);
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

/* Cuts literal marks out of q->prefix, and returns true if there were some. Both orders: prefix,
 * suffix, middle; and suffix, prefix, middle, where the text of the prefix may also follow the mark
 * of the middle. */
static bool split_marks(api_ask *q)
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

/* inner: the text continues a prompt. */
static int add_ids(api_job *j, const char *text, bool inner)
{
    api_worker *w = j->worker;
    int rc = HPC_OK;
    if (!w->scratch) TRY(hpc_tokenizer_scratch_create(&w->scratch, j->a->tokenizer));
    rc = hpc_tokenizer_encode(&j->ask.prompt, j->a->tokenizer, w->scratch, text, strlen(text),
                              HPC_ENCODE_SPECIALS | (inner ? HPC_ENCODE_INNER : 0));
out:
    return rc;
}

static int add_id(api_job *j, int64_t id)
{
    hpc_ids *p = &j->ask.prompt;
    int rc = hpc_grow(&p->id, &p->cap, p->n + 1, sizeof *p->id);
    if (rc >= 0) p->id[p->n++] = id >= 0 && id <= INT32_MAX ? (int32_t)id : -1;
    return rc;
}

static int add_text(api_job *j, const char *text)
{
    const hpc_tokenizer_special s = hpc_tokenizer_specials(j->a->tokenizer);
    int rc = HPC_OK;
    if (s.add_begin && s.begin >= 0) TRY(add_id(j, s.begin));
    TRY(add_ids(j, text, s.add_begin && s.begin >= 0));
out:
    return rc;
}

/* Numbers, or numbers and texts. */
static int add_mixed(api_job *j, const hpc_json *list)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        const hpc_json *v = hpc_json_at(list, k);
        const char *text;
        int64_t id;
        if (hpc_json_kind_of(v) == HPC_JSON_TEXT) {
            TRY(hpc_json_text(&text, v, "prompt"));
            TRY(add_ids(j, text, k > 0));
            continue;
        }
        TRY(hpc_json_int(&id, v, "\"prompt\""));
        TRY(add_id(j, id));
    }
out:
    return rc;
}

/* The text of {"prompt_string": TEXT}, or v. */
static const hpc_json *unwrap(const hpc_json *v)
{
    const hpc_json *text =
        hpc_json_kind_of(v) == HPC_JSON_OBJECT ? hpc_json_get(v, "prompt_string") : NULL;
    return text ? text : v;
}

static int add_prompt(api_job *j, const hpc_json *v)
{
    api_ask *q = &j->ask;
    const int64_t before = q->prompt.n;
    const char *text = NULL;
    int rc;
    if (hpc_json_kind_of(v) == HPC_JSON_OBJECT && has(v, "multimodal_data"))
        return hpc_fail(HPC_E_UNSUPPORTED, "\"multimodal_data\" is not supported");
    v = unwrap(v);
    if (hpc_json_kind_of(v) != HPC_JSON_TEXT && hpc_json_kind_of(v) != HPC_JSON_LIST)
        return hpc_fail(HPC_E_ARG,
                        "\"prompt\" must be a text, a list of tokens, or a list of both");
    if (hpc_json_kind_of(v) == HPC_JSON_TEXT) TRY(hpc_json_text(&text, v, "prompt"));
    TRY(text ? add_text(j, text) : add_mixed(j, v));
    if (q->prompt.n == before) TRY(hpc_fail(HPC_E_ARG, "\"prompt\" is empty"));
    TRY(hpc_grow(&q->prompt_end, &q->prompt_cap, q->prompt_n + 1, sizeof *q->prompt_end));
    q->prompt_end[q->prompt_n++] = q->prompt.n;
out:
    return rc;
}

/* A list with a number is one prompt; other lists have one prompt for each element. */
static bool is_one_prompt(const hpc_json *v)
{
    if (hpc_json_kind_of(v) != HPC_JSON_LIST) return true;
    for (int64_t k = 0; k < hpc_json_n(v); k++)
        if (hpc_json_kind_of(hpc_json_at(v, k)) == HPC_JSON_INT) return true;
    return hpc_json_n(v) == 0;
}

static int read_prompt(api_job *j)
{
    api_ask *q = &j->ask;
    const hpc_json *v = hpc_json_get(j->json, "prompt");
    const bool one = is_one_prompt(v);
    const hpc_json *text = unwrap(!one && hpc_json_n(v) == 1 ? hpc_json_at(v, 0) : v);
    const char *prefix = "";
    int rc = HPC_OK;
    if (hpc_json_kind_of(text) == HPC_JSON_TEXT) {
        TRY(hpc_json_text(&prefix, text, "prompt"));
        TRY(hpc_buf_text(&q->prefix, prefix));
        TRY(hpc_buf_text(&q->suffix, api_text(j->json, "suffix")));
        q->infill = q->infill || has(j->json, "suffix") || split_marks(q);
    } else if (q->infill || has(j->json, "suffix")) {
        return hpc_fail(HPC_E_ARG, "\"prompt\" must be a text where text follows the cursor");
    }
    if (q->infill) return HPC_OK;
    q->loads = q->format == API_OLLAMA && (hpc_json_kind_of(v) == HPC_JSON_NULL ||
                                           (hpc_json_kind_of(v) == HPC_JSON_TEXT && !*prefix));
    if (q->loads) return HPC_OK;
    if (one) return add_prompt(j, v);
    for (int64_t k = 0; k < hpc_json_n(v); k++) TRY(add_prompt(j, hpc_json_at(v, k)));
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

/* ---- together ------------------------------------------------------------------------------- */

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
    TRY(api_option_read(j));
out:
    return rc;
}

void api_ask_release(api_ask *q)
{
    hpc_buf_release(&q->prefix);
    hpc_buf_release(&q->suffix);
    hpc_free(q->prompt.id);
    hpc_free(q->prompt_end);
    hpc_free(q->snippet);
    hpc_free(q->stop);
    hpc_free(q->bias);
    hpc_gbnf_free(q->gbnf);
}
