/*
 * api_chat.c: requests with messages: OpenAI's chat completions and llama.cpp's /apply-template.
 * The model's template turns messages into a prompt, which is continued as text.
 *
 * Not here: calls of tools. Messages and definitions of tools are rendered by /apply-template, but
 * answers are text.
 */
#include <stdio.h>
#include <string.h>

#include "infer/serve/api_chat_priv.h"

/* ---- messages ------------------------------------------------------------------------------- */

static const char *text_or_null(const hpc_json *o, const char *key)
{
    const hpc_json *v = hpc_json_get(o, key);
    const char *text = NULL;
    if (hpc_json_kind_of(v) == HPC_JSON_TEXT) hpc_json_text(&text, v, key);
    return text;
}

/* Parts of text become one text, line by line; templates of text models know no parts. */
static int put_parts(hpc_json_out *w, const hpc_json *list, int64_t message)
{
    hpc_buf text = {0};
    int rc = HPC_OK;
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        const hpc_json *part = hpc_json_at(list, k);
        const bool object = hpc_json_kind_of(part) == HPC_JSON_OBJECT;
        const char *type = object ? text_or_null(part, "type") : NULL;
        const char *one = object ? text_or_null(part, "text") : NULL;
        if (!one || !type || strcmp(type, "text") != 0)
            TRY(hpc_fail(HPC_E_ARG,
                         "message %lld: part %lld is not text, and other parts are not "
                         "supported",
                         (long long)message, (long long)k));
        if (k > 0) TRY(hpc_buf_text(&text, "\n"));
        TRY(hpc_buf_text(&text, one));
    }
    TRY(hpc_buf_text(&text, ""));
    hpc_json_put_text(w, "content", text.data);
out:
    hpc_buf_release(&text);
    return rc;
}

/* OpenAI's arguments of a call are JSON in a string; templates expect the object. */
static int put_function(hpc_json_out *w, const hpc_json *function)
{
    hpc_json_open(w, "function", '{');
    for (int64_t k = 0; k < hpc_json_n(function); k++) {
        const hpc_json *v;
        const char *key = hpc_json_key(function, k, &v), *text = text_or_null(function, key);
        hpc_json *object = NULL;
        const bool arguments = strcmp(key, "arguments") == 0 && text;
        if (arguments && hpc_json_parse(&object, text, strlen(text), key) < 0) hpc_error_clear();
        hpc_json_put(w, key, hpc_json_kind_of(object) == HPC_JSON_OBJECT ? object : v);
        hpc_json_free(object);
    }
    hpc_json_close(w, '}');
    return w->buf->failed;
}

static int put_calls(hpc_json_out *w, const hpc_json *list, int64_t message)
{
    int rc = HPC_OK;
    hpc_json_open(w, "tool_calls", '[');
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        const hpc_json *call = hpc_json_at(list, k);
        if (hpc_json_kind_of(call) != HPC_JSON_OBJECT)
            TRY(hpc_fail(HPC_E_ARG, "message %lld: a tool call is not an object",
                         (long long)message));
        hpc_json_open(w, NULL, '{');
        for (int64_t i = 0; i < hpc_json_n(call); i++) {
            const hpc_json *v;
            const char *key = hpc_json_key(call, i, &v);
            if (strcmp(key, "function") == 0 && hpc_json_kind_of(v) == HPC_JSON_OBJECT)
                TRY(put_function(w, v));
            else
                hpc_json_put(w, key, v);
        }
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
out:
    return rc;
}

static int put_message(hpc_json_out *w, const hpc_json *m, int64_t at)
{
    int rc = HPC_OK;
    if (hpc_json_kind_of(m) != HPC_JSON_OBJECT || !text_or_null(m, "role"))
        return hpc_fail(HPC_E_ARG, "message %lld is not an object with a \"role\"", (long long)at);
    const hpc_json *content = hpc_json_get(m, "content");
    const hpc_json_kind kind = hpc_json_kind_of(content);
    if (kind != HPC_JSON_TEXT && kind != HPC_JSON_LIST && kind != HPC_JSON_NULL)
        return hpc_fail(HPC_E_ARG, "message %lld: \"content\" must be a text or a list of parts",
                        (long long)at);
    if (kind == HPC_JSON_NULL && hpc_json_kind_of(hpc_json_get(m, "tool_calls")) != HPC_JSON_LIST)
        return hpc_fail(HPC_E_ARG, "message %lld has no \"content\"", (long long)at);
    hpc_json_open(w, NULL, '{');
    for (int64_t k = 0; k < hpc_json_n(m); k++) {
        const hpc_json *v;
        const char *key = hpc_json_key(m, k, &v);
        if (strcmp(key, "content") == 0 && kind == HPC_JSON_LIST)
            TRY(put_parts(w, v, at));
        else if (strcmp(key, "tool_calls") == 0 && hpc_json_kind_of(v) == HPC_JSON_LIST)
            TRY(put_calls(w, v, at));
        else
            hpc_json_put(w, key, v);
    }
    hpc_json_close(w, '}');
out:
    return rc;
}

/* A copy, which the caller frees. */
static int read_messages(hpc_json **out, const hpc_json *request)
{
    const hpc_json *list = hpc_json_get(request, "messages");
    hpc_buf text = {0};
    hpc_json_out w = {.buf = &text};
    int rc = HPC_OK;
    *out = NULL;
    if (hpc_json_kind_of(list) != HPC_JSON_LIST || hpc_json_n(list) == 0)
        return hpc_fail(HPC_E_ARG, "\"messages\" must be a list of messages");
    hpc_json_open(&w, NULL, '[');
    for (int64_t k = 0; k < hpc_json_n(list); k++) TRY(put_message(&w, hpc_json_at(list, k), k));
    hpc_json_close(&w, ']');
    TRY(text.failed);
    TRY(hpc_json_parse(out, text.data, text.n, "messages"));
out:
    hpc_buf_release(&text);
    return rc;
}

/* ---- prompts -------------------------------------------------------------------------------- */

/* A list with elements; NULL: absent, or tools are not to be used. */
static const hpc_json *tools_of(const hpc_json *request)
{
    const hpc_json *list = hpc_json_get(request, "tools");
    const char *choice = text_or_null(request, "tool_choice");
    if (choice && strcmp(choice, "none") == 0) return NULL;
    return hpc_json_kind_of(list) == HPC_JSON_LIST && hpc_json_n(list) > 0 ? list : NULL;
}

static int render(hpc_template_output *out, const api_job *j)
{
    hpc_json *messages = NULL;
    const hpc_json *more = hpc_json_get(j->json, "chat_template_kwargs");
    int rc;
    TRY(read_messages(&messages, j->json));
    if (hpc_json_kind_of(more) != HPC_JSON_OBJECT && hpc_json_kind_of(more) != HPC_JSON_NULL)
        TRY(hpc_fail(HPC_E_ARG, "\"chat_template_kwargs\" must be an object"));
    const api_chat_ask ask = {.messages = messages,
                              .tools = tools_of(j->json),
                              .more = more,
                              .prompt = api_flag(j->json, "add_generation_prompt", true)};
    TRY(api_chat_render(out, j->a->chat, &ask));
out:
    hpc_json_free(messages);
    return rc;
}

static int encode(hpc_ids *ids, api_job *j, const hpc_template_output *text)
{
    api_worker *w = j->worker;
    int rc = HPC_OK;
    if (!w->scratch) TRY(hpc_tokenizer_scratch_create(&w->scratch, j->a->tokenizer));
    TRY(api_chat_encode(ids, j->a->chat, w->scratch, text));
out:
    return rc;
}

/* Options that would change the answer, and that this server does not have. */
static int check_options(const api_job *j)
{
    static const char *const calls[] = {"functions", "function_call", "audio", NULL};
    const hpc_json *messages = hpc_json_get(j->json, "messages");
    const int64_t n = hpc_json_n(messages);
    int answers = 0;
    if (tools_of(j->json))
        return hpc_fail(HPC_E_UNSUPPORTED, "\"tools\" are not supported: answers have no tool "
                                           "calls; set \"tool_choice\" to \"none\"");
    if (api_flag(j->json, "continue_final_message", false))
        return hpc_fail(HPC_E_UNSUPPORTED, "\"continue_final_message\" is not supported");
    for (const char *const *key = calls; *key; key++)
        if (hpc_json_kind_of(hpc_json_get(j->json, *key)) != HPC_JSON_NULL)
            return hpc_fail(HPC_E_UNSUPPORTED, "\"%s\" is not supported", *key);
    for (int64_t k = n - 1; k >= 0 && k >= n - 2; k--) {
        const hpc_json *m = hpc_json_at(messages, k);
        const char *role = hpc_json_kind_of(m) == HPC_JSON_OBJECT ? text_or_null(m, "role") : NULL;
        answers += role && strcmp(role, "assistant") == 0;
    }
    if (answers < 2) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "\"messages\" end with two messages of the assistant");
}

int api_chat_read(api_job *j)
{
    hpc_template_output text = {0};
    int rc;
    TRY(check_options(j));
    TRY(render(&text, j));
    TRY(encode(&j->ask.prompt, j, &text));
    if (j->ask.prompt.n == 0) TRY(hpc_fail(HPC_E_ARG, "the chat template rendered no text"));
    j->ask.prefix = text.text; /* for the log */
    text.text = (hpc_buf){0};
out:
    hpc_template_output_release(&text);
    return rc;
}

int api_apply_template(api_job *j)
{
    hpc_template_output text = {0};
    hpc_ids ids = {0};
    hpc_buf out = {0};
    hpc_json_out w = {.buf = &out};
    int rc;
    TRY(render(&text, j));
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "prompt", text.text.data);
    if (api_flag(j->json, "return_tokens", false)) {
        TRY(encode(&ids, j, &text));
        hpc_json_open(&w, "tokens", '[');
        for (int64_t k = 0; k < ids.n; k++) hpc_json_put_int(&w, NULL, ids.id[k]);
        hpc_json_close(&w, ']');
    }
    hpc_json_close(&w, '}');
    api_send_json(j->r, &out);
out:
    hpc_buf_release(&out);
    hpc_free(ids.id);
    hpc_template_output_release(&text);
    return rc;
}

int api_count_tokens(api_job *j)
{
    hpc_template_output text = {0};
    hpc_ids ids = {0};
    hpc_buf out = {0};
    hpc_json_out w = {.buf = &out};
    int rc;
    TRY(render(&text, j));
    TRY(encode(&ids, j, &text));
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_int(&w, "input_tokens", ids.n);
    hpc_json_close(&w, '}');
    api_send_json(j->r, &out);
out:
    hpc_free(ids.id);
    hpc_template_output_release(&text);
    return rc;
}
