/*
 * Progress reports of the language server: window/workDoneProgress and $/progress. A report begins
 * when the client has accepted its token; one that ends before that is not shown.
 */
#include <stdio.h>
#include <string.h>

#include "infer/serve/lsp_priv.h"

#define TOKEN "hpccoder-progress-"

void lsp_progress_open(lsp_server *s)
{
    pthread_mutex_init(&s->progress.lock, NULL);
}

void lsp_progress_close(lsp_server *s)
{
    pthread_mutex_destroy(&s->progress.lock);
}

static lsp_progress *find(lsp_server *s, int64_t token)
{
    for (int k = 0; k < LSP_PROGRESSES && token > 0; k++)
        if (s->progress.item[k].token == token) return &s->progress.item[k];
    return NULL;
}

static void name_of(char out[48], int64_t token)
{
    snprintf(out, 48, TOKEN "%lld", (long long)token);
}

/* $/progress up to its value, which the caller closes with end_value. */
static void begin_value(hpc_json_out *w, hpc_buf *out, const lsp_progress *p, const char *kind)
{
    char name[48];
    name_of(name, p->token);
    lsp_request_begin(w, out, NULL, "$/progress");
    hpc_json_open(w, "params", '{');
    hpc_json_put_text(w, "token", name);
    hpc_json_open(w, "value", '{');
    hpc_json_put_text(w, "kind", kind);
}

static void end_value(lsp_server *s, hpc_json_out *w)
{
    hpc_json_close(w, '}');
    hpc_json_close(w, '}');
    lsp_answer_end(s, w);
}

int64_t lsp_progress_begin(lsp_server *s, const char *title, bool counted, int *cancel)
{
    hpc_buf out = {0};
    hpc_json_out w;
    char name[48];
    int k = 0;
    if (!s->can.progress) return 0;
    pthread_mutex_lock(&s->progress.lock);
    while (k < LSP_PROGRESSES && s->progress.item[k].token > 0) k++;
    const int64_t token = k < LSP_PROGRESSES ? ++s->progress.last : 0;
    if (token > 0)
        s->progress.item[k] =
            (lsp_progress){.token = token, .title = title, .counted = counted, .cancel = cancel};
    pthread_mutex_unlock(&s->progress.lock);
    if (token == 0) return 0;
    name_of(name, token);
    lsp_request_begin(&w, &out, name, "window/workDoneProgress/create");
    hpc_json_open(&w, "params", '{');
    hpc_json_put_text(&w, "token", name);
    hpc_json_close(&w, '}');
    lsp_answer_end(s, &w);
    return token;
}

void lsp_progress_report(lsp_server *s, int64_t token, int64_t done, int64_t total)
{
    hpc_buf out = {0};
    hpc_json_out w;
    pthread_mutex_lock(&s->progress.lock);
    lsp_progress *p = find(s, token);
    const int percent = total > 0 ? (int)(100 * done / total) : 0;
    if (p && p->begun && percent > p->percent) {
        p->percent = percent;
        begin_value(&w, &out, p, "report");
        hpc_json_put_int(&w, "percentage", percent);
        end_value(s, &w);
    }
    pthread_mutex_unlock(&s->progress.lock);
}

void lsp_progress_end(lsp_server *s, int64_t token)
{
    hpc_buf out = {0};
    hpc_json_out w;
    pthread_mutex_lock(&s->progress.lock);
    lsp_progress *p = find(s, token);
    if (p && p->begun) {
        begin_value(&w, &out, p, "end");
        end_value(s, &w);
    }
    if (p) *p = (lsp_progress){0};
    pthread_mutex_unlock(&s->progress.lock);
}

/* ---- messages of the client ----------------------------------------------------------------- */

static int64_t token_of(const char *name)
{
    long long token = 0;
    int n = 0;
    if (sscanf(name, TOKEN "%lld%n", &token, &n) != 1 || name[n] != '\0') return 0;
    return token;
}

void lsp_progress_created(lsp_server *s, const char *id, bool accepted)
{
    hpc_buf out = {0};
    hpc_json_out w;
    pthread_mutex_lock(&s->progress.lock);
    lsp_progress *p = find(s, token_of(id));
    if (p && accepted) {
        p->begun = true;
        begin_value(&w, &out, p, "begin");
        hpc_json_put_text(&w, "title", p->title);
        hpc_json_put_bool(&w, "cancellable", p->cancel != NULL);
        if (p->counted) hpc_json_put_int(&w, "percentage", 0);
        end_value(s, &w);
    } else if (p) {
        *p = (lsp_progress){0};
    }
    pthread_mutex_unlock(&s->progress.lock);
}

void lsp_progress_cancel(lsp_server *s, const hpc_json *params)
{
    pthread_mutex_lock(&s->progress.lock);
    lsp_progress *p = find(s, token_of(lsp_text(params, "token")));
    if (p && p->cancel) __atomic_store_n(p->cancel, 2, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&s->progress.lock);
}
