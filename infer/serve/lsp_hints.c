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
    pthread_mutex_init(&s->publishing, NULL);
}

static void release_items(lsp_hints *h)
{
    for (int64_t k = 0; k < h->n; k++) {
        lsp_hint *x = &h->item[k];
        hpc_free(x->message);
        for (int i = 0; i < x->reasons_n; i++) hpc_free(x->reason[i].text);
    }
    hpc_free(h->item);
    h->item = NULL;
    h->n = h->cap = 0;
}

static void forget_edits(lsp_hints *h)
{
    hpc_free(h->edit);
    h->edit = NULL;
    h->edit_n = h->edit_cap = 0;
    h->awaited = 0;
}

void lsp_hints_release(lsp_hints *h)
{
    release_items(h);
    forget_edits(h);
    hpc_free(h->uri);
    *h = (lsp_hints){0};
}

void lsp_hints_close(lsp_server *s)
{
    for (int64_t k = 0; k < s->hints.n; k++) lsp_hints_release(&s->hints.item[k]);
    hpc_free(s->hints.item);
    pthread_mutex_destroy(&s->hints.lock);
    pthread_mutex_destroy(&s->publishing);
}

static lsp_hints *find(lsp_server *s, const char *uri)
{
    for (int64_t k = 0; k < s->hints.n; k++)
        if (strcmp(s->hints.item[k].uri, uri) == 0) return &s->hints.item[k];
    return NULL;
}

static lsp_hints *find_or_add(lsp_server *s, const char *uri)
{
    lsp_hints *h = find(s, uri);
    const size_t n = strlen(uri) + 1;
    if (h || hpc_grow(&s->hints.item, &s->hints.cap, s->hints.n + 1, sizeof *s->hints.item) < 0)
        return h;
    h = &s->hints.item[s->hints.n];
    *h = (lsp_hints){.uri = hpc_alloc(n, 1)};
    if (!h->uri) return NULL;
    memcpy(h->uri, uri, n);
    s->hints.n++;
    return h;
}

int64_t lsp_hints_expect(lsp_server *s, const char *uri)
{
    pthread_mutex_lock(&s->hints.lock);
    lsp_hints *h = find_or_add(s, uri);
    const int64_t number = h ? ++s->hints.last : 0;
    if (h) {
        forget_edits(h);
        h->awaited = number;
    }
    pthread_mutex_unlock(&s->hints.lock);
    if (!h) hpc_error_clear();
    return number;
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

static bool move_all(lsp_hints *h, const lsp_edit *e)
{
    bool moved = false;
    for (int64_t k = 0; k < h->n; k++) {
        lsp_hint *x = &h->item[k];
        moved = move(&x->line, e->from, e->to, e->by) || moved;
        for (int i = 0; i < x->reasons_n; i++)
            moved = move(&x->reason[i].line, e->from, e->to, e->by) || moved;
    }
    return moved;
}

/* Without memory, the hints that are expected are given up. */
static void note_edit(lsp_hints *h, const lsp_edit *e)
{
    if (h->awaited == 0) return;
    if (hpc_grow(&h->edit, &h->edit_cap, h->edit_n + 1, sizeof *h->edit) >= 0) {
        h->edit[h->edit_n++] = *e;
        return;
    }
    hpc_error_clear();
    forget_edits(h);
}

bool lsp_hints_edit(lsp_server *s, const char *uri, hpc_text_position from, hpc_text_position to,
                    const char *text)
{
    lsp_edit e = {.from = from, .to = to, .by = from.line - to.line};
    for (const char *p = text; (p = strchr(p, '\n')); p++) e.by++;
    pthread_mutex_lock(&s->hints.lock);
    lsp_hints *h = find(s, uri);
    const bool moved = h && move_all(h, &e);
    if (h) note_edit(h, &e);
    pthread_mutex_unlock(&s->hints.lock);
    return moved;
}

bool lsp_hints_take(lsp_server *s, const char *uri, int64_t number, lsp_hints *made)
{
    pthread_mutex_lock(&s->hints.lock);
    lsp_hints *h = find(s, uri);
    const bool awaited = h && number != 0 && h->awaited == number;
    if (awaited && made) {
        release_items(h);
        h->item = made->item, h->n = made->n, h->cap = made->cap;
        made->item = NULL, made->n = made->cap = 0;
        for (int64_t k = 0; k < h->edit_n; k++) move_all(h, &h->edit[k]);
    }
    if (awaited) forget_edits(h);
    pthread_mutex_unlock(&s->hints.lock);
    if (made) lsp_hints_release(made);
    return awaited && made;
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
