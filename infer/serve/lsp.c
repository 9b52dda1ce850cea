/*
 * The language server: life cycle, document synchronization, and requests handed to the workers.
 */
#include "infer/serve/lsp.h"

#include <stdio.h>
#include <string.h>

#include "infer/serve/lsp_priv.h"
#include "runtime/source/source.h"

enum { PUSH_DELAY_MS = 300 };

/* ---- life cycle ----------------------------------------------------------------------------- */

static const hpc_json *get(const hpc_json *v, const char *a, const char *b)
{
    const hpc_json *x = v ? hpc_json_get(v, a) : NULL;
    return x && b ? hpc_json_get(x, b) : x;
}

static bool offers_utf8(const hpc_json *capabilities)
{
    const hpc_json *list = get(capabilities, "general", "positionEncodings");
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        const char *name;
        const hpc_json *v = hpc_json_at(list, k);
        if (hpc_json_kind_of(v) == HPC_JSON_TEXT && hpc_json_text(&name, v, "") >= 0 &&
            strcmp(name, "utf-8") == 0)
            return true;
    }
    return false;
}

static void put_sync(hpc_json_out *w)
{
    hpc_json_open(w, "textDocumentSync", '{');
    hpc_json_put_bool(w, "openClose", true);
    hpc_json_put_int(w, "change", 2);
    hpc_json_put_bool(w, "save", true);
    hpc_json_close(w, '}');
}

static void put_actions(hpc_json_out *w)
{
    hpc_json_open(w, "codeActionProvider", '{');
    hpc_json_open(w, "codeActionKinds", '[');
    hpc_json_put_text(w, NULL, "quickfix");
    hpc_json_put_text(w, NULL, "source.fixAll.hpccoder");
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}

static void put_pull(hpc_json_out *w)
{
    hpc_json_open(w, "diagnosticProvider", '{');
    hpc_json_put_text(w, "identifier", "hpccoder");
    hpc_json_put_bool(w, "interFileDependencies", true);
    hpc_json_put_bool(w, "workspaceDiagnostics", false);
    hpc_json_close(w, '}');
}

static void answer_initialize(lsp_server *s, const hpc_json *id)
{
    hpc_buf out = {0};
    hpc_json_out w;
    lsp_answer_begin(&w, &out, id);
    hpc_json_open(&w, "result", '{');
    hpc_json_open(&w, "capabilities", '{');
    hpc_json_put_text(&w, "positionEncoding", s->unit == HPC_UNIT_UTF8 ? "utf-8" : "utf-16");
    put_sync(&w);
    if (s->o->checker) {
        put_actions(&w);
        hpc_json_put_bool(&w, "hoverProvider", true);
        if (s->can.pulls) put_pull(&w);
    }
    if (s->o->completes) {
        hpc_json_put_bool(&w, "inlineCompletionProvider", true);
        hpc_json_open(&w, "completionProvider", '{');
        hpc_json_close(&w, '}');
    }
    hpc_json_close(&w, '}');
    hpc_json_open(&w, "serverInfo", '{');
    hpc_json_put_text(&w, "name", "hpccoder");
    hpc_json_put_text(&w, "version", s->o->version);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    lsp_answer_end(s, &w);
}

static bool is_on(const hpc_json *v)
{
    bool on = false;
    return hpc_json_kind_of(v) == HPC_JSON_BOOL && hpc_json_bool(&on, v, "") >= 0 && on;
}

static void read_abilities(lsp_abilities *out, const hpc_json *can)
{
    const hpc_json *workspace = get(can, "workspace", NULL);
    out->pulls = get(can, "textDocument", "diagnostic") != NULL;
    out->refresh = is_on(get(get(workspace, "diagnostics", NULL), "refreshSupport", NULL));
    out->progress = is_on(get(can, "window", "workDoneProgress"));
    out->configuration = is_on(get(workspace, "configuration", NULL));
    out->register_configuration =
        is_on(get(workspace, "didChangeConfiguration", "dynamicRegistration"));
}

static void initialize(lsp_server *s, const hpc_json *id, const hpc_json *params)
{
    const hpc_json *can = get(params, "capabilities", NULL);
    if (s->initialized) {
        lsp_answer_error(s, id, LSP_INVALID_REQUEST, "initialize was sent twice");
        return;
    }
    s->unit = offers_utf8(can) ? HPC_UNIT_UTF8 : HPC_UNIT_UTF16;
    read_abilities(&s->can, can);
    lsp_configure(s, get(params, "initializationOptions", NULL));
    s->initialized = true;
    answer_initialize(s, id);
}

static void initialized(lsp_server *s)
{
    if (!s->o->checker && s->o->no_checker)
        lsp_message(s, "window/logMessage", 2, s->o->no_checker);
    if (!s->settings.model[0] && s->o->no_model)
        lsp_message(s, "window/showMessage", 1, s->o->no_model);
    lsp_register_configuration(s);
    lsp_ask_configuration(s);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static char *copy(const char *text)
{
    size_t n = text ? strlen(text) + 1 : 0;
    char *to = n > 0 ? hpc_alloc(n, 1) : NULL;
    return to ? memcpy(to, text, n) : NULL;
}

/* Takes the message. NULL: out of memory. */
static lsp_job *make_job(lsp_kind kind, const lsp_settings *settings, hpc_json *message,
                         const hpc_document *d)
{
    lsp_job *j = hpc_alloc(1, sizeof *j);
    if (!j) {
        hpc_json_free(message);
        return NULL;
    }
    j->kind = kind;
    j->message = message;
    j->id = message ? hpc_json_get(message, "id") : NULL;
    j->settings = *settings;
    j->uri = copy(d->uri);
    j->document = (hpc_document){
        .uri = copy(d->uri), .path = copy(d->path), .version = d->version, .language = d->language};
    hpc_buf_add(&j->document.text, d->text.data, d->text.n);
    hpc_buf_text(&j->document.text, "");
    if (j->uri && j->document.uri && j->document.text.failed >= 0) return j;
    lsp_job_free(j);
    return NULL;
}

/* Where the client does not ask for diagnostics: after a pause in the typing. */
static void push_diagnostics(lsp_server *s, const hpc_document *d, int64_t delay_ms)
{
    if (s->can.pulls || !s->o->checker) return;
    lsp_job *j = make_job(LSP_PUSH_DIAGNOSTICS, &s->settings, NULL, d);
    if (!j) return;
    j->due_ns = hpc_clock_ns() + delay_ms * 1000000;
    lsp_queue_put(&s->analysis, j);
}

void lsp_hints_changed(lsp_server *s, const hpc_document *d, const lsp_settings *settings)
{
    if (s->can.pulls || !s->o->checker) {
        lsp_hints_publish(s, d->uri);
        return;
    }
    lsp_job *j = make_job(LSP_PUSH_AGAIN, settings, NULL, d);
    if (j) lsp_queue_put(&s->analysis, j);
}

static void predict(lsp_server *s, const hpc_document *d)
{
    if (!s->o->program || !d->path || !s->settings.perf[d->language]) return;
    lsp_job *j = make_job(LSP_PERF, &s->settings, NULL, d);
    if (!j) return;
    j->number = lsp_hints_expect(s, d->uri);
    lsp_queue_put(&s->perf, j);
}

static void drop_hints(lsp_server *s, const hpc_document *d)
{
    pthread_mutex_lock(&s->publishing);
    if (lsp_hints_drop(s, d->uri)) lsp_hints_changed(s, d, &s->settings);
    pthread_mutex_unlock(&s->publishing);
}

/* New settings: the diagnostics of open documents may be others. */
static void refresh(lsp_server *s)
{
    hpc_buf out = {0};
    hpc_json_out w;
    for (int64_t k = 0; k < s->documents.n; k++) {
        const hpc_document *d = &s->documents.item[k];
        if (!s->settings.perf[d->language]) drop_hints(s, d);
        push_diagnostics(s, d, 0);
    }
    if (!s->can.pulls || !s->can.refresh || s->documents.n == 0) return;
    lsp_request_begin(&w, &out, "refresh", "workspace/diagnostic/refresh");
    lsp_answer_end(s, &w);
}

/* Clients that answer workspace/configuration may send a change without its settings. */
static void did_change_configuration(lsp_server *s, const hpc_json *settings)
{
    if (hpc_json_n(settings) == 0) {
        lsp_ask_configuration(s);
        return;
    }
    lsp_configure(s, settings);
    refresh(s);
}

/* ---- documents ------------------------------------------------------------------------------ */

static hpc_document *document_of(lsp_server *s, const hpc_json *params)
{
    return hpc_documents_find(&s->documents, lsp_text(get(params, "textDocument", NULL), "uri"));
}

static int64_t version_of(const hpc_json *params)
{
    const hpc_json *v = get(params, "textDocument", "version");
    int64_t n = 0;
    if (hpc_json_kind_of(v) == HPC_JSON_INT) hpc_json_int(&n, v, "version");
    return n;
}

static void did_open(lsp_server *s, const hpc_json *params)
{
    const hpc_json *d = get(params, "textDocument", NULL);
    const char *uri = lsp_text(d, "uri"), *text = lsp_text(d, "text");
    if (!*uri) return;
    if (hpc_documents_put(&s->documents, uri, version_of(params), text, strlen(text)) < 0)
        hpc_error_clear();
    hpc_document *made = hpc_documents_find(&s->documents, uri);
    if (!made) return;
    made->language = (int)lsp_language_of_id(lsp_text(d, "languageId"));
    if (made->language == HPC_LANGUAGE_NONE)
        made->language = (int)hpc_language_of(made->path ? made->path : uri, text, strlen(text));
    push_diagnostics(s, made, 0);
}

static int change(lsp_server *s, hpc_document *d, const hpc_json *edit, bool *moved)
{
    const hpc_json *range = get(edit, "range", NULL);
    const char *text = lsp_text(edit, "text");
    hpc_text_position from, to;
    if (hpc_json_kind_of(range) != HPC_JSON_OBJECT) {
        drop_hints(s, d);
        return hpc_document_edit(d, 0, d->text.n, text, strlen(text));
    }
    if (!lsp_position(&from, range, "start") || !lsp_position(&to, range, "end"))
        return hpc_fail(HPC_E_ARG, "%s: a change has no valid range", d->uri);
    *moved = lsp_hints_edit(s, d->uri, from, to, text) || *moved;
    return hpc_document_edit(d, hpc_text_offset(&d->text, from, s->unit),
                             hpc_text_offset(&d->text, to, s->unit), text, strlen(text));
}

/* A change that cannot be made leaves a text that differs from the editor's: it is closed, so that
 * nothing is answered from it. */
static void did_change(lsp_server *s, const hpc_json *params)
{
    hpc_document *d = document_of(s, params);
    const hpc_json *edits = get(params, "contentChanges", NULL);
    bool moved = false;
    if (!d) return;
    for (int64_t k = 0; k < hpc_json_n(edits); k++) {
        if (change(s, d, hpc_json_at(edits, k), &moved) >= 0) continue;
        lsp_message(s, "window/logMessage", 1, hpc_error_get()->text);
        hpc_error_clear();
        hpc_documents_close(&s->documents, d->uri);
        return;
    }
    d->version = version_of(params);
    if (moved && (s->can.pulls || !s->o->checker)) {
        pthread_mutex_lock(&s->publishing);
        lsp_hints_publish(s, d->uri);
        pthread_mutex_unlock(&s->publishing);
    }
    push_diagnostics(s, d, PUSH_DELAY_MS);
}

static void did_save(lsp_server *s, const hpc_json *params)
{
    const hpc_document *d = document_of(s, params);
    if (!d) return;
    push_diagnostics(s, d, 0);
    predict(s, d);
}

static void did_close(lsp_server *s, const hpc_json *params)
{
    const char *uri = lsp_text(get(params, "textDocument", NULL), "uri");
    pthread_mutex_lock(&s->publishing);
    lsp_queue_drop(&s->perf, uri); /* their diagnostics would stay in the editor */
    lsp_queue_drop(&s->analysis, uri);
    const bool had_hints = lsp_hints_drop(s, uri);
    if (hpc_documents_find(&s->documents, uri) && (had_hints || (!s->can.pulls && s->o->checker)))
        lsp_hints_publish(s, uri);
    pthread_mutex_unlock(&s->publishing);
    hpc_documents_close(&s->documents, uri);
}

/* ---- messages ------------------------------------------------------------------------------- */

typedef struct method {
    const char *name;
    lsp_kind kind;
    bool completes; /* for the completion worker */
} method;

static const method requests[] = {{"textDocument/diagnostic", LSP_PULL_DIAGNOSTICS, false},
                                  {"textDocument/codeAction", LSP_ACTIONS, false},
                                  {"textDocument/hover", LSP_HOVER, false},
                                  {"textDocument/inlineCompletion", LSP_INLINE_COMPLETION, true},
                                  {"textDocument/completion", LSP_COMPLETION, true}};

/* Takes the message. */
static void request_of_document(lsp_server *s, const method *m, hpc_json *message)
{
    const hpc_json *id = hpc_json_get(message, "id");
    const hpc_document *d = document_of(s, hpc_json_get(message, "params"));
    bool served = m->completes ? s->o->completes : s->o->checker != NULL;
    if (d && served)
        served = (m->completes ? s->settings.completion : s->settings.pragma)[d->language] ||
                 m->kind == LSP_PULL_DIAGNOSTICS;
    lsp_job *j = d && served ? make_job(m->kind, &s->settings, message, d) : NULL;
    if (j) {
        lsp_queue_put(m->completes ? &s->completion : &s->analysis, j);
    } else if (!d) {
        lsp_answer_error(s, id, LSP_INVALID_PARAMS, "the document is not open");
        hpc_json_free(message);
    } else if (!served) {
        lsp_answer_null(s, id);
        hpc_json_free(message);
    } /* else: out of memory, and the message is gone with the job */
}

static void cancel(lsp_server *s, const hpc_json *params)
{
    const hpc_json *id = get(params, "id", NULL);
    if (id && !lsp_queue_cancel(&s->completion, id)) lsp_queue_cancel(&s->analysis, id);
}

static void notification(lsp_server *s, const char *name, const hpc_json *params)
{
    if (strcmp(name, "exit") == 0) s->exited = true;
    if (!s->initialized || s->shutdown) return;
    if (strcmp(name, "initialized") == 0) initialized(s);
    if (strcmp(name, "textDocument/didOpen") == 0) did_open(s, params);
    if (strcmp(name, "textDocument/didChange") == 0) did_change(s, params);
    if (strcmp(name, "textDocument/didSave") == 0) did_save(s, params);
    if (strcmp(name, "textDocument/didClose") == 0) did_close(s, params);
    if (strcmp(name, "$/cancelRequest") == 0) cancel(s, params);
    if (strcmp(name, "workspace/didChangeConfiguration") == 0)
        did_change_configuration(s, get(params, "settings", NULL));
    if (strcmp(name, "window/workDoneProgress/cancel") == 0) lsp_progress_cancel(s, params);
}

/* The client's answer to a request of ours. */
static void answered(lsp_server *s, const hpc_json *message)
{
    const char *id = lsp_text(message, "id");
    const hpc_json *result = hpc_json_get(message, "result");
    if (strcmp(id, "configuration") == 0 && hpc_json_kind_of(result) == HPC_JSON_LIST) {
        lsp_configure(s, hpc_json_at(result, 0));
        refresh(s);
    } else {
        lsp_progress_created(s, id, !hpc_json_get(message, "error"));
    }
}

/* Takes the message. */
static void request(lsp_server *s, const char *name, hpc_json *message)
{
    const hpc_json *id = hpc_json_get(message, "id");
    char text[160];
    if (strcmp(name, "initialize") == 0) {
        initialize(s, id, hpc_json_get(message, "params"));
    } else if (!s->initialized) {
        lsp_answer_error(s, id, LSP_NOT_INITIALIZED, "the server is not initialized");
    } else if (s->shutdown) {
        lsp_answer_error(s, id, LSP_INVALID_REQUEST, "the server is shutting down");
    } else if (strcmp(name, "shutdown") == 0) {
        s->shutdown = true;
        lsp_answer_null(s, id);
    } else {
        for (size_t k = 0; k < sizeof requests / sizeof *requests; k++) {
            if (strcmp(name, requests[k].name) != 0) continue;
            request_of_document(s, &requests[k], message);
            return;
        }
        snprintf(text, sizeof text, "unknown method %.100s", name);
        lsp_answer_error(s, id, LSP_UNKNOWN_METHOD, text);
    }
    hpc_json_free(message);
}

/* Takes the message. */
static void dispatch(lsp_server *s, hpc_json *message)
{
    const char *name = lsp_text(message, "method");
    const hpc_json *id = hpc_json_get(message, "id");
    hpc_json_kind kind = hpc_json_kind_of(id);
    if (hpc_json_kind_of(message) != HPC_JSON_OBJECT) {
        lsp_answer_error(s, NULL, LSP_INVALID_REQUEST, "a message is no JSON object");
    } else if (*name && (kind == HPC_JSON_INT || kind == HPC_JSON_TEXT)) {
        request(s, name, message);
        return;
    } else if (*name) {
        notification(s, name, hpc_json_get(message, "params"));
    } else if (s->initialized && !s->shutdown) {
        answered(s, message);
    }
    hpc_json_free(message);
}

static int read_messages(lsp_server *s)
{
    hpc_buf body = {0};
    int rc = HPC_OK;
    while (!s->exited && (rc = hpc_rpc_read(&body, &s->rpc)) > 0) {
        hpc_json *message;
        rc = hpc_rpc_parse(&message, &body);
        if (rc >= 0) {
            dispatch(s, message);
        } else {
            lsp_answer_error(s, NULL, LSP_PARSE_ERROR, hpc_error_get()->text);
            hpc_error_clear();
        }
    }
    hpc_buf_release(&body);
    return s->exited ? HPC_OK : rc;
}

int hpc_lsp_serve(const hpc_lsp_options *o)
{
    lsp_server s = {.o = o};
    int rc;
    lsp_settings_init(&s.settings, o);
    hpc_rpc_open(&s.rpc, o->in, o->out);
    lsp_progress_open(&s);
    lsp_hints_open(&s);
    TRY(lsp_queue_open(&s.analysis, &s, lsp_analyse, lsp_analyses_free));
    TRY(lsp_queue_open(&s.completion, &s, lsp_complete, lsp_completer_free));
    TRY(lsp_queue_open(&s.perf, &s, lsp_predict, NULL));
    rc = read_messages(&s);
out:
    lsp_queue_close(&s.perf);
    lsp_queue_close(&s.completion);
    lsp_queue_close(&s.analysis);
    lsp_hints_close(&s);
    lsp_progress_close(&s);
    hpc_documents_release(&s.documents);
    hpc_buf_release(&s.reported);
    hpc_rpc_close(&s.rpc);
    return rc < 0 ? rc : s.shutdown ? 0 : 1;
}
