/*
 * api_chat_model.c: the chat templates of a model, the tokens that end a turn, and rendered
 * conversations as tokens.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "infer/serve/api_chat_priv.h"
#include "model/chat.h"

enum { CONTROL = 3 };

/* ---- opening -------------------------------------------------------------------------------- */

static int by_first_byte(const void *a, const void *b)
{
    const api_chat_control *x = a, *y = b;
    const int first = (int)(uint8_t)x->text[0] - (int)(uint8_t)y->text[0];
    return first ? first : (x->n < y->n) - (x->n > y->n);
}

static int find_controls(struct api_chat *c)
{
    const int64_t n = hpc_tokenizer_n(c->tokenizer);
    int64_t cap = 0, at = 0;
    float score;
    int rc = HPC_OK;
    for (int32_t id = 0; id < n; id++) {
        size_t bytes;
        const char *text = hpc_tokenizer_piece(c->tokenizer, id, &bytes);
        if (hpc_tokenizer_piece_type(&score, c->tokenizer, id) != CONTROL || bytes == 0) continue;
        TRY(hpc_grow(&c->control, &cap, c->control_n + 1, sizeof *c->control));
        c->control[c->control_n++] = (api_chat_control){.text = text, .n = bytes, .id = id};
    }
    if (c->control_n > 0)
        qsort(c->control, (size_t)c->control_n, sizeof *c->control, by_first_byte);
    for (int byte = 0; byte <= 256; byte++) {
        while (at < c->control_n && (uint8_t)c->control[at].text[0] < byte) at++;
        c->first[byte] = at;
    }
out:
    return rc;
}

/* The longest control token at a position; NULL: none. */
static const api_chat_control *control_at(const struct api_chat *c, const char *text, size_t n,
                                          size_t at)
{
    const uint8_t byte = (uint8_t)text[at];
    for (int64_t k = c->first[byte]; k < c->first[byte + 1]; k++) {
        const api_chat_control *one = &c->control[k];
        if (one->n <= n - at && memcmp(one->text, text + at, one->n) == 0) return one;
    }
    return NULL;
}

static int parse_templates(struct api_chat *c, const char *given)
{
    const hpc_json *list = hpc_json_get(c->settings, "templates");
    const int64_t n = given ? 1 : hpc_json_n(list);
    int rc = HPC_OK;
    c->template = hpc_alloc(n > 0 ? (size_t)n : 1, sizeof *c->template);
    if (!c->template) return HPC_E_NOMEM;
    for (int64_t k = 0; k < n; k++) {
        api_chat_template *t = &c->template[c->template_n++];
        const hpc_json *v = NULL;
        const char *text = given;
        t->name = given ? "default" : hpc_json_key(list, k, &v);
        if (!given) TRY(hpc_json_text(&text, v, t->name));
        if (hpc_template_parse(&t->t, text, strlen(text)) >= 0) continue;
        t->error = *hpc_error_get();
        if (t->error.code == HPC_E_NOMEM) return t->error.code;
        hpc_error_clear();
    }
out:
    return rc;
}

/* ---- the end of a turn ---------------------------------------------------------------------- */

static void add_end(struct api_chat *c, int64_t id)
{
    for (int64_t k = 0; k < c->end_n; k++)
        if (c->end[k] == id) return;
    if (id >= 0 && id < hpc_tokenizer_n(c->tokenizer) && c->end_n < API_CHAT_ENDS)
        c->end[c->end_n++] = (int32_t)id;
}

/* The control token that the template writes after a message of the assistant. */
static int find_rendered_end(struct api_chat *c)
{
    static const char text[] = "[{\"role\":\"user\",\"content\":\"question\"},"
                               "{\"role\":\"assistant\",\"content\":\"the only answer\"}]",
                      answer[] = "the only answer";
    hpc_template_output out = {0};
    hpc_json *messages = NULL;
    int rc;
    TRY(hpc_json_parse(&messages, text, sizeof text - 1, "messages"));
    const api_chat_ask ask = {.messages = messages};
    TRY(api_chat_render(&out, c, &ask));
    const char *found =
        out.text.n > 0 ? memmem(out.text.data, out.text.n, answer, sizeof answer - 1) : NULL;
    if (!found) goto out;
    size_t at = (size_t)(found - out.text.data) + sizeof answer - 1;
    while (at < out.text.n && (out.text.data[at] == ' ' || out.text.data[at] == '\n')) at++;
    const api_chat_control *end =
        at < out.text.n ? control_at(c, out.text.data, out.text.n, at) : NULL;
    if (end) add_end(c, end->id);
out:
    hpc_template_output_release(&out);
    hpc_json_free(messages);
    return rc;
}

/* A template may not render without a tool or a system message: then the names decide. */
static int find_ends(struct api_chat *c)
{
    static const char *const names[] = {"<|im_end|>",      "<|eot_id|>",    "<|eom_id|>",
                                        "<|end|>",         "<end_of_turn>", "<|endoftext|>",
                                        "<|end_of_text|>", "<|EOT|>",       "<EOT>",
                                        "<|end_of_turn|>", "<turn|>"};
    const hpc_json *list = hpc_json_get(c->settings, "end");
    float score;
    int64_t id;
    int rc = HPC_OK;
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        TRY(hpc_json_int(&id, hpc_json_at(list, k), "end"));
        add_end(c, id);
    }
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const int32_t token = hpc_tokenizer_find(c->tokenizer, names[k]);
        if (token >= 0 && hpc_tokenizer_piece_type(&score, c->tokenizer, token) == CONTROL)
            add_end(c, token);
    }
    rc = find_rendered_end(c);
    if (rc < 0 && rc != HPC_E_NOMEM) hpc_error_clear(), rc = HPC_OK;
out:
    return rc;
}

/* Files that state nothing usable about chats do not stop a server of completions. */
static int read_settings(struct api_chat *c, const char *model)
{
    int rc = hpc_model_chat_read(&c->settings, model, c->tokenizer);
    if (rc >= 0 || rc == HPC_E_NOMEM) return rc;
    c->error = *hpc_error_get();
    hpc_error_clear();
    return hpc_json_parse(&c->settings, "{}", 2, "chat settings");
}

int api_chat_open(struct api_chat **out, hpc_api *a)
{
    struct api_chat *c = hpc_alloc(1, sizeof *c);
    int rc;
    *out = NULL;
    if (!c) return HPC_E_NOMEM;
    c->tokenizer = a->tokenizer;
    c->model = a->o.model_name;
    TRY(read_settings(c, a->o.scheduler.engine.model));
    TRY(find_controls(c));
    TRY(parse_templates(c, a->o.chat_template));
    TRY(find_ends(c));
    *out = c;
    c = NULL;
out:
    api_chat_close(c);
    return rc;
}

void api_chat_close(struct api_chat *c)
{
    if (!c) return;
    for (int64_t k = 0; k < c->template_n; k++) hpc_template_free(c->template[k].t);
    hpc_free(c->template);
    hpc_free(c->control);
    hpc_json_free(c->settings);
    hpc_free(c);
}

int64_t api_chat_ends(const int32_t **end, const hpc_api *a)
{
    *end = a->chat->end;
    return a->chat->end_n;
}

/* ---- rendering ------------------------------------------------------------------------------ */

/* As transformers chooses: "tool_use" for requests with tools, else "default". */
static int choose(const hpc_template **out, const struct api_chat *c, bool tools)
{
    const api_chat_template *found = NULL;
    for (int64_t k = 0; k < c->template_n; k++) {
        const api_chat_template *t = &c->template[k];
        if (tools && strcmp(t->name, "tool_use") == 0) found = t;
        if (!found && strcmp(t->name, "default") == 0) found = t;
    }
    if (!found && c->error.code != HPC_OK) return hpc_error_adopt(&c->error);
    if (!found)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "%s has no %schat template; serve a model that has one, or use "
                        "/v1/completions",
                        c->model, c->template_n > 0 ? "default " : "");
    *out = found->t;
    return found->t ? HPC_OK : hpc_error_adopt(&found->error);
}

static bool is_own(const char *name)
{
    static const char *const own[] = {
        "messages",  "tools",     "documents", "add_generation_prompt", "bos_token", "eos_token",
        "unk_token", "pad_token", NULL};
    for (const char *const *k = own; *k; k++)
        if (strcmp(*k, name) == 0) return true;
    return false;
}

static hpc_template_variable variable(const char *name, const hpc_json *v, bool foreign)
{
    return (hpc_template_variable){.name = name, .value = v, .foreign = foreign};
}

int api_chat_render(hpc_template_output *out, const struct api_chat *c, const api_chat_ask *q)
{
    static const char *const tokens[] = {"bos_token", "eos_token", "unk_token", "pad_token"},
                             *const roles[] = {"system",  "user",        "assistant",
                                               "tool",    "developer",   "function",
                                               "ipython", "observation", "environment",
                                               "context", "model",       NULL};
    static const char flags[] = "[false,true]";
    hpc_template_variable v[64];
    hpc_template_input in = {.variable = v, .known = roles, .now = (int64_t)time(NULL)};
    const hpc_template *t;
    hpc_json *flag = NULL;
    int rc;
    TRY(choose(&t, c, q->tools != NULL));
    TRY(hpc_json_parse(&flag, flags, sizeof flags - 1, "flags"));
    v[in.n++] = variable("messages", q->messages, true);
    v[in.n++] = variable("tools", q->tools, true);
    v[in.n++] = variable("documents", NULL, true);
    v[in.n++] = variable("add_generation_prompt", hpc_json_at(flag, q->prompt), false);
    for (size_t k = 0; k < sizeof tokens / sizeof *tokens; k++) {
        const hpc_json *text = hpc_json_get(c->settings, tokens[k]);
        if (text) v[in.n++] = variable(tokens[k], text, false);
    }
    for (int64_t k = 0; k < hpc_json_n(q->more); k++) {
        const hpc_json *value;
        const char *name = hpc_json_key(q->more, k, &value);
        if (in.n == sizeof v / sizeof *v)
            TRY(hpc_fail(HPC_E_ARG, "\"chat_template_kwargs\" has too many members"));
        if (!is_own(name)) v[in.n++] = variable(name, value, true);
    }
    TRY(hpc_template_render(out, t, &in));
    TRY(hpc_buf_text(&out->text, ""));
out:
    hpc_json_free(flag);
    return rc;
}

/* ---- tokens --------------------------------------------------------------------------------- */

/* The next control token from *at that the template spells, or NULL and *at == n. *foreign: text
 * of the request spells one before it. */
static const api_chat_control *next_control(bool *foreign, size_t *at, const struct api_chat *c,
                                            const hpc_template_output *text)
{
    const size_t n = text->text.n;
    for (; *at < n; (*at)++) {
        const api_chat_control *one = control_at(c, text->text.data, n, *at);
        if (!one) continue;
        if (!memchr(text->foreign.data + *at, 1, one->n)) return one;
        *foreign = true;
    }
    return NULL;
}

static bool spells_controls(const struct api_chat *c, const hpc_template_output *text)
{
    bool foreign = false;
    size_t at = 0;
    for (const api_chat_control *one; (one = next_control(&foreign, &at, c, text));) at += one->n;
    return foreign;
}

int api_chat_encode(hpc_ids *ids, const struct api_chat *c, hpc_tokenizer_scratch *scratch,
                    const hpc_template_output *text)
{
    const char *data = text->text.data;
    bool foreign = false;
    int rc = HPC_OK;
    if (text->text.n == 0) return rc;
    if (!spells_controls(c, text))
        return hpc_tokenizer_encode(ids, c->tokenizer, scratch, data, text->text.n,
                                    HPC_ENCODE_SPECIALS);
    for (size_t from = 0, at = 0; from < text->text.n; from = at) {
        const api_chat_control *one = next_control(&foreign, &at, c, text);
        if (at > from)
            TRY(hpc_tokenizer_encode(ids, c->tokenizer, scratch, data + from, at - from,
                                     from > 0 ? HPC_ENCODE_INNER : 0));
        if (!one) break;
        TRY(hpc_grow(&ids->id, &ids->cap, ids->n + 1, sizeof *ids->id));
        ids->id[ids->n++] = one->id;
        at += one->n;
    }
out:
    return rc;
}
