/*
 * Answers and messages of the language server, and the values that they share.
 */
#include <string.h>

#include "infer/serve/lsp_priv.h"

void lsp_answer_begin(hpc_json_out *w, hpc_buf *out, const hpc_json *id)
{
    *w = (hpc_json_out){.buf = out};
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "jsonrpc", "2.0");
    if (id)
        hpc_json_put(w, "id", id);
    else
        hpc_json_put_text(w, "id", NULL);
}

void lsp_request_begin(hpc_json_out *w, hpc_buf *out, const char *id, const char *method)
{
    *w = (hpc_json_out){.buf = out};
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "jsonrpc", "2.0");
    if (id) hpc_json_put_text(w, "id", id);
    hpc_json_put_text(w, "method", method);
}

/* Closes the message and sends it. A failure to write means that the client is gone, which the
 * reader also sees. */
void lsp_answer_end(lsp_server *s, hpc_json_out *w)
{
    hpc_json_close(w, '}');
    if (w->buf->failed >= 0 && hpc_rpc_write(&s->rpc, w->buf) < 0) hpc_error_clear();
    hpc_buf_release(w->buf);
}

void lsp_answer_null(lsp_server *s, const hpc_json *id)
{
    hpc_buf out = {0};
    hpc_json_out w;
    lsp_answer_begin(&w, &out, id);
    hpc_json_put_text(&w, "result", NULL);
    lsp_answer_end(s, &w);
}

void lsp_answer_error(lsp_server *s, const hpc_json *id, int code, const char *text)
{
    hpc_buf out = {0};
    hpc_json_out w;
    lsp_answer_begin(&w, &out, id);
    hpc_json_open(&w, "error", '{');
    hpc_json_put_int(&w, "code", code);
    hpc_json_put_text(&w, "message", text);
    hpc_json_close(&w, '}');
    lsp_answer_end(s, &w);
}

void lsp_answer_failure(lsp_server *s, const hpc_json *id)
{
    lsp_answer_error(s, id, LSP_INTERNAL_ERROR, hpc_error_get()->text);
    hpc_error_clear();
}

void lsp_message(lsp_server *s, const char *method, int type, const char *text)
{
    hpc_buf out = {0};
    hpc_json_out w;
    lsp_request_begin(&w, &out, NULL, method);
    hpc_json_open(&w, "params", '{');
    hpc_json_put_int(&w, "type", type);
    hpc_json_put_text(&w, "message", text);
    hpc_json_close(&w, '}');
    lsp_answer_end(s, &w);
}

void lsp_put_position(hpc_json_out *w, const char *key, hpc_text_position p)
{
    hpc_json_open(w, key, '{');
    hpc_json_put_int(w, "line", p.line);
    hpc_json_put_int(w, "character", p.character);
    hpc_json_close(w, '}');
}

void lsp_put_range(hpc_json_out *w, const char *key, const lsp_server *s, const hpc_buf *text,
                   size_t begin, size_t end)
{
    hpc_json_open(w, key, '{');
    lsp_put_position(w, "start", hpc_text_position_of(text, begin, s->unit));
    lsp_put_position(w, "end", hpc_text_position_of(text, end, s->unit));
    hpc_json_close(w, '}');
}

const char *lsp_text(const hpc_json *v, const char *key)
{
    const char *text;
    const hpc_json *x = v ? hpc_json_get(v, key) : NULL;
    if (hpc_json_kind_of(x) != HPC_JSON_TEXT || hpc_json_text(&text, x, key) < 0) return "";
    return text;
}

static bool whole(int64_t *out, const hpc_json *v, const char *key)
{
    const hpc_json *x = v ? hpc_json_get(v, key) : NULL;
    return hpc_json_kind_of(x) == HPC_JSON_INT && hpc_json_int(out, x, key) >= 0 && *out >= 0;
}

bool lsp_position(hpc_text_position *out, const hpc_json *v, const char *key)
{
    const hpc_json *p = v ? hpc_json_get(v, key) : NULL;
    return hpc_json_kind_of(p) == HPC_JSON_OBJECT && whole(&out->line, p, "line") &&
           whole(&out->character, p, "character");
}
