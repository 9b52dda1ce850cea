/*
 * The MCP server: initialization, the list of tools, and calls.
 */
#include "infer/serve/mcp.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "infer/serve/rpc.h"

enum {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    UNKNOWN_METHOD = -32601,
    INVALID_PARAMS = -32602
};

typedef struct mcp_server {
    const hpc_mcp_options *o;
    hpc_buf in;
    size_t at; /* bytes of it that have been read */
} mcp_server;

/* ---- lines ---------------------------------------------------------------------------------- */

static int fill(mcp_server *s)
{
    char block[1 << 16];
    ssize_t n;
    if (s->at > 0 && s->in.data) {
        memmove(s->in.data, s->in.data + s->at, s->in.n - s->at);
        s->in.n -= s->at;
        s->at = 0;
    }
    if (s->in.n > HPC_RPC_BODY_MOST)
        return hpc_fail(HPC_E_FORMAT, "a message exceeds %d bytes", HPC_RPC_BODY_MOST);
    do n = read(s->o->in, block, sizeof block);
    while (n < 0 && errno == EINTR);
    if (n < 0) return hpc_fail_os(HPC_E_IO, "cannot read a message");
    if (n == 0) return 0;
    int rc = hpc_buf_add(&s->in, block, (size_t)n);
    return rc < 0 ? rc : 1;
}

/* 1: a line without its end; 0: the end of input, where an incomplete line is dropped. */
static int read_line(hpc_buf *line, mcp_server *s)
{
    int rc;
    line->n = 0;
    for (;;) {
        const size_t n = s->in.n - s->at;
        const char *from = n > 0 ? s->in.data + s->at : NULL;
        const char *end = from ? memchr(from, '\n', n) : NULL;
        if (end) {
            s->at += (size_t)(end - from) + 1;
            rc = hpc_buf_add(line, from, (size_t)(end - from));
            return rc < 0 ? rc : 1;
        }
        rc = fill(s);
        if (rc <= 0) return rc;
    }
}

static int write_line(const mcp_server *s, hpc_buf *line)
{
    const char *p;
    size_t n;
    int rc;
    TRY(hpc_buf_text(line, "\n"));
    for (p = line->data, n = line->n; n > 0;) {
        ssize_t k = write(s->o->out, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) TRY(hpc_fail_os(HPC_E_IO, "cannot write a message"));
        p += k;
        n -= (size_t)k;
    }
out:
    hpc_buf_release(line);
    return rc;
}

/* ---- answers -------------------------------------------------------------------------------- */

static void begin(hpc_json_out *w, hpc_buf *out, const hpc_json *id)
{
    *w = (hpc_json_out){.buf = out};
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "jsonrpc", "2.0");
    if (id)
        hpc_json_put(w, "id", id);
    else
        hpc_json_put_text(w, "id", NULL);
}

static int answer_error(const mcp_server *s, const hpc_json *id, int code, const char *text)
{
    hpc_buf out = {0};
    hpc_json_out w;
    begin(&w, &out, id);
    hpc_json_open(&w, "error", '{');
    hpc_json_put_int(&w, "code", code);
    hpc_json_put_text(&w, "message", text);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    return write_line(s, &out);
}

static const char *text_in(const hpc_json *o, const char *key)
{
    const hpc_json *v = hpc_json_kind_of(o) == HPC_JSON_OBJECT ? hpc_json_get(o, key) : NULL;
    const char *text = "";
    if (hpc_json_kind_of(v) == HPC_JSON_TEXT) hpc_json_text(&text, v, key);
    return text;
}

/* The client's revision if it is known, else the newest. */
static int initialize(const mcp_server *s, const hpc_json *id, const hpc_json *params)
{
    static const char newest[] = "2025-11-25", older[] = "2025-06-18";
    const char *asked = text_in(params, "protocolVersion");
    hpc_buf out = {0};
    hpc_json_out w;
    begin(&w, &out, id);
    hpc_json_open(&w, "result", '{');
    hpc_json_put_text(&w, "protocolVersion", strcmp(asked, older) == 0 ? older : newest);
    hpc_json_open(&w, "capabilities", '{');
    hpc_json_open(&w, "tools", '{');
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    hpc_json_open(&w, "serverInfo", '{');
    hpc_json_put_text(&w, "name", "hpccoder");
    hpc_json_put_text(&w, "version", s->o->version);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    return write_line(s, &out);
}

static int list_tools(const mcp_server *s, const hpc_json *id)
{
    hpc_buf out = {0};
    hpc_json_out w;
    int rc = HPC_OK;
    begin(&w, &out, id);
    hpc_json_open(&w, "result", '{');
    hpc_json_open(&w, "tools", '[');
    for (const hpc_tool *t = hpc_tools; rc >= 0 && t->name; t++) {
        hpc_json *schema = NULL;
        rc = hpc_json_parse(&schema, t->schema, strlen(t->schema), "schema");
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_text(&w, "name", t->name);
        hpc_json_put_text(&w, "title", t->title);
        hpc_json_put_text(&w, "description", t->description);
        hpc_json_put(&w, "inputSchema", schema);
        hpc_json_open(&w, "annotations", '{');
        hpc_json_put_bool(&w, "readOnlyHint", true);
        hpc_json_close(&w, '}');
        hpc_json_close(&w, '}');
        hpc_json_free(schema);
    }
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    return write_line(s, &out);
}

/* A failure of a tool is a result with isError, so that the model reads the message. */
static int call_tool(const mcp_server *s, const hpc_json *id, const hpc_json *params)
{
    const char *name = text_in(params, "name");
    const hpc_json *given = hpc_json_get(params, "arguments");
    hpc_buf made = {0}, out = {0};
    hpc_json *value = NULL;
    hpc_json_out w;
    int failed = hpc_tool_run(&made, &s->o->tool, name, given);
    if (failed >= 0) failed = hpc_buf_text(&made, "");
    if (failed >= 0) failed = hpc_json_parse(&value, made.data, made.n, name);
    begin(&w, &out, id);
    hpc_json_open(&w, "result", '{');
    hpc_json_open(&w, "content", '[');
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "type", "text");
    hpc_json_put_text(&w, "text", failed < 0 ? hpc_error_get()->text : made.data);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, ']');
    if (hpc_json_kind_of(value) == HPC_JSON_OBJECT) hpc_json_put(&w, "structuredContent", value);
    hpc_json_put_bool(&w, "isError", failed < 0);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    hpc_error_clear();
    hpc_json_free(value);
    hpc_buf_release(&made);
    return write_line(s, &out);
}

static const hpc_tool *find_tool(const char *name)
{
    for (const hpc_tool *t = hpc_tools; t->name; t++)
        if (strcmp(t->name, name) == 0) return t;
    return NULL;
}

static int check_and_call(const mcp_server *s, const hpc_json *id, const hpc_json *params)
{
    const hpc_tool *t = find_tool(text_in(params, "name"));
    if (!t) return answer_error(s, id, INVALID_PARAMS, "unknown tool; tools/list names the tools");
    if (hpc_tool_check(t, hpc_json_get(params, "arguments")) >= 0) return call_tool(s, id, params);
    const hpc_error e = *hpc_error_get();
    hpc_error_clear();
    return answer_error(s, id, INVALID_PARAMS, e.text);
}

static int ping(const mcp_server *s, const hpc_json *id)
{
    hpc_buf out = {0};
    hpc_json_out w;
    begin(&w, &out, id);
    hpc_json_open(&w, "result", '{');
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    return write_line(s, &out);
}

static int dispatch(const mcp_server *s, const hpc_json *message)
{
    if (hpc_json_kind_of(message) != HPC_JSON_OBJECT)
        return answer_error(s, NULL, INVALID_REQUEST, "a message is not a JSON object");
    const hpc_json *id = hpc_json_get(message, "id"), *params = hpc_json_get(message, "params");
    const hpc_json_kind kind = hpc_json_kind_of(id);
    const char *method = text_in(message, "method");
    if (kind != HPC_JSON_INT && kind != HPC_JSON_TEXT) return HPC_OK; /* a notification */
    if (!*method) return HPC_OK; /* an answer: the server asks for nothing */
    if (strcmp(method, "initialize") == 0) return initialize(s, id, params);
    if (strcmp(method, "ping") == 0) return ping(s, id);
    if (strcmp(method, "tools/list") == 0) return list_tools(s, id);
    if (strcmp(method, "tools/call") == 0) return check_and_call(s, id, params);
    return answer_error(s, id, UNKNOWN_METHOD, "unknown method");
}

int hpc_mcp_serve(const hpc_mcp_options *o)
{
    mcp_server s = {.o = o};
    hpc_buf line = {0};
    int rc;
    while ((rc = read_line(&line, &s)) > 0) {
        hpc_json *message = NULL;
        if (line.n > 0 && line.data[line.n - 1] == '\r') line.n--;
        if (line.n == 0) continue;
        if (hpc_rpc_parse(&message, &line) >= 0) {
            rc = dispatch(&s, message);
        } else {
            rc = answer_error(&s, NULL, PARSE_ERROR, hpc_error_get()->text);
            hpc_error_clear();
        }
        hpc_json_free(message);
        if (rc < 0) break;
    }
    hpc_buf_release(&line);
    hpc_buf_release(&s.in);
    return rc;
}
