/*
 * Performance hints of open documents: kept from one save to the next, and moved with the lines
 * that the user edits.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/serve/lsp_priv.h"

void lsp_hints_open(lsp_server *s)
{
    pthread_mutex_init(&s->hints.lock, NULL);
}

void lsp_hints_release(lsp_hints *h)
{
    for (int64_t k = 0; k < h->n; k++) {
        lsp_hint *x = &h->item[k];
        hpc_free(x->message);
        for (int i = 0; i < x->reasons_n; i++) hpc_free(x->reason[i].text);
    }
    hpc_free(h->item);
    hpc_free(h->uri);
    *h = (lsp_hints){0};
}

void lsp_hints_close(lsp_server *s)
{
    for (int64_t k = 0; k < s->hints.n; k++) lsp_hints_release(&s->hints.item[k]);
    hpc_free(s->hints.item);
    pthread_mutex_destroy(&s->hints.lock);
}

static lsp_hints *find(lsp_server *s, const char *uri)
{
    for (int64_t k = 0; k < s->hints.n; k++)
        if (strcmp(s->hints.item[k].uri, uri) == 0) return &s->hints.item[k];
    return NULL;
}

int lsp_hints_take(lsp_server *s, lsp_hints *h)
{
    int rc = HPC_OK;
    pthread_mutex_lock(&s->hints.lock);
    lsp_hints *to = find(s, h->uri);
    if (!to) {
        TRY(hpc_grow(&s->hints.item, &s->hints.cap, s->hints.n + 1, sizeof *s->hints.item));
        to = &s->hints.item[s->hints.n++];
        *to = (lsp_hints){0};
    }
    lsp_hints_release(to);
    *to = *h;
    *h = (lsp_hints){0};
out:
    pthread_mutex_unlock(&s->hints.lock);
    lsp_hints_release(h);
    return rc;
}

bool lsp_hints_drop(lsp_server *s, const char *uri)
{
    pthread_mutex_lock(&s->hints.lock);
    lsp_hints *h = find(s, uri);
    const bool had = h && h->n > 0;
    if (h) {
        lsp_hints_release(h);
        *h = s->hints.item[--s->hints.n];
    }
    pthread_mutex_unlock(&s->hints.lock);
    return had;
}

/* A line that begins where the edit ends moves with the text after it. */
static bool move(int64_t *line, hpc_text_position first, hpc_text_position last, int64_t by)
{
    const int64_t old = *line, from = first.line, to = last.line;
    const bool begins = old == to && first.character == 0 && last.character == 0;
    if (old > to || begins)
        *line += by;
    else if (old > from)
        *line = from; /* its line was replaced */
    return *line != old;
}

bool lsp_hints_edit(lsp_server *s, const char *uri, hpc_text_position from, hpc_text_position to,
                    const char *text)
{
    int64_t by = from.line - to.line;
    bool moved = false;
    for (const char *p = text; (p = strchr(p, '\n')); p++) by++;
    pthread_mutex_lock(&s->hints.lock);
    lsp_hints *h = find(s, uri);
    for (int64_t k = 0; h && k < h->n; k++) {
        lsp_hint *x = &h->item[k];
        moved = move(&x->line, from, to, by) || moved;
        for (int i = 0; i < x->reasons_n; i++)
            moved = move(&x->reason[i].line, from, to, by) || moved;
    }
    pthread_mutex_unlock(&s->hints.lock);
    return moved;
}

/* ---- as diagnostics ------------------------------------------------------------------------- */

/* From the line's beginning to the next line's. */
static void put_line(hpc_json_out *w, int64_t line)
{
    hpc_json_open(w, "range", '{');
    lsp_put_position(w, "start", (hpc_text_position){line, 0});
    lsp_put_position(w, "end", (hpc_text_position){line + 1, 0});
    hpc_json_close(w, '}');
}

static void put_hint(hpc_json_out *w, const char *uri, const lsp_hint *x)
{
    hpc_json_open(w, NULL, '{');
    put_line(w, x->line);
    hpc_json_put_int(w, "severity", x->slower ? 3 : 4);
    hpc_json_put_text(w, "code", x->slower ? "slower" : "faster");
    hpc_json_put_text(w, "source", "hpccoder");
    hpc_json_put_text(w, "message", x->message);
    hpc_json_open(w, "relatedInformation", '[');
    for (int i = 0; i < x->reasons_n; i++) {
        hpc_json_open(w, NULL, '{');
        hpc_json_open(w, "location", '{');
        hpc_json_put_text(w, "uri", uri);
        put_line(w, x->reason[i].line);
        hpc_json_close(w, '}');
        hpc_json_put_text(w, "message", x->reason[i].text);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}

void lsp_hints_put(hpc_json_out *w, lsp_server *s, const char *uri)
{
    pthread_mutex_lock(&s->hints.lock);
    const lsp_hints *h = find(s, uri);
    for (int64_t k = 0; h && k < h->n; k++) put_hint(w, uri, &h->item[k]);
    pthread_mutex_unlock(&s->hints.lock);
}

void lsp_hints_publish(lsp_server *s, const char *uri)
{
    hpc_buf out = {0};
    hpc_json_out w;
    lsp_request_begin(&w, &out, NULL, "textDocument/publishDiagnostics");
    hpc_json_open(&w, "params", '{');
    hpc_json_put_text(&w, "uri", uri);
    hpc_json_open(&w, "diagnostics", '[');
    lsp_hints_put(&w, s, uri);
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    lsp_answer_end(s, &w);
}
