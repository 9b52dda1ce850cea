/*
 * Verdicts on loops in the language server: diagnostics, code actions and hover. The newest
 * analyses are kept, so that a hover after the diagnostics costs nothing.
 */
#include <limits.h>
#include <string.h>

#include "infer/pragma/directives.h"
#include "infer/serve/lsp_priv.h"

enum { KEPT = 8, RELATED = 5 };

typedef struct analysis {
    hpc_document document; /* its text is that of `file` */
    hpc_directive_file file;
    bool guard;
    int64_t used; /* a clock */
} analysis;

struct lsp_analyses {
    analysis item[KEPT];
    int64_t n, clock;
};

static void release(analysis *a)
{
    hpc_directive_file_release(&a->file);
    hpc_free(a->document.uri);
    hpc_free(a->document.path);
    hpc_buf_release(&a->document.text);
    *a = (analysis){0};
}

void lsp_analyses_free(lsp_server *s)
{
    for (int64_t k = 0; s->analyses && k < s->analyses->n; k++) release(&s->analyses->item[k]);
    hpc_free(s->analyses);
    s->analyses = NULL;
}

/* ---- the analysis --------------------------------------------------------------------------- */

int lsp_flags_find(hpc_check_flags *out, const lsp_server *s, const char *path)
{
    char found[PATH_MAX];
    const char *database = s->o->database;
    if (!database) {
        hpc_check_database_find(found, path);
        database = found;
    }
    int rc = *database ? hpc_check_flags_find(out, database, path) : HPC_OK;
    if (rc >= 0 || rc == HPC_E_NOMEM) return rc;
    hpc_error_clear(); /* a database that cannot be read is as none */
    return HPC_OK;
}

static int judge(analysis *a, const lsp_server *s)
{
    hpc_check_flags flags = {0};
    hpc_directive_options o = {.loops = HPC_PRAGMA_DEFAULTS, .guard = a->guard, .flags = &flags};
    int rc;
    TRY(lsp_flags_find(&flags, s, a->file.path));
    rc = hpc_directives_find(&a->file, s->o->checker, &o);
out:
    hpc_check_flags_release(&flags);
    return rc;
}

/* An entry to fill: a free one, that of the same document, or the one used longest ago. */
static analysis *entry_for(struct lsp_analyses *all, const char *uri)
{
    analysis *oldest = &all->item[0];
    for (int64_t k = 0; k < all->n; k++) {
        analysis *a = &all->item[k];
        if (strcmp(a->document.uri, uri) == 0) return a;
        if (a->used < oldest->used) oldest = a;
    }
    return all->n < KEPT ? &all->item[all->n++] : oldest;
}

/* Takes the job's document, unless the same text was analysed already. */
static int find(analysis **out, lsp_server *s, lsp_job *j)
{
    const bool guard = j->settings.guard;
    int rc = HPC_OK;
    if (!s->analyses) s->analyses = hpc_alloc(1, sizeof *s->analyses);
    if (!s->analyses) return HPC_E_NOMEM;
    analysis *a = entry_for(s->analyses, j->document.uri);
    const hpc_buf *text = &j->document.text;
    a->used = ++s->analyses->clock;
    *out = a;
    if (a->document.uri && a->guard == guard && a->document.text.n == text->n &&
        memcmp(a->document.text.data, text->data, text->n) == 0)
        return HPC_OK;
    release(a);
    *a = (analysis){.document = j->document, .guard = guard, .used = s->analyses->clock};
    j->document = (hpc_document){0};
    a->file.path = a->document.path ? a->document.path : a->document.uri;
    a->file.text = a->document.text;
    a->file.language = hpc_language_of(a->file.path, a->file.text.data, a->file.text.n);
    if (a->file.language == HPC_LANGUAGE_NONE)
        a->file.language = (hpc_language)a->document.language;
    if (a->file.language != HPC_LANGUAGE_NONE) rc = judge(a, s);
    if (rc < 0) a->document.text.n = 0; /* not to be found again */
    return rc;
}

/* ---- diagnostics ---------------------------------------------------------------------------- */

enum { ERROR = 1, WARNING, INFORMATION, HINT };

/* Severity of a loop's diagnostic; 0: it has none. */
static int severity_of(const hpc_directive_file *f, int64_t k)
{
    const hpc_pragma_loop *l = &f->loops.item[k];
    if (hpc_directive_is_wrong(l)) return WARNING;
    if (l->existing || l->small || l->inside) return 0;
    return f->choice[k].put ? INFORMATION : HINT;
}

static void put_message(hpc_buf *out, const hpc_directive_file *f, int64_t k)
{
    const hpc_pragma_loop *l = &f->loops.item[k];
    const hpc_directive_choice *c = &f->choice[k];
    hpc_brief b;
    hpc_pragma_brief(&b, l);
    const char *evidence = b.n > 0 ? b.item[0].text : NULL;
    if (hpc_directive_is_wrong(l)) {
        if (l->evidence_n > 0) evidence = l->evidence[0].text;
        const char *advice = hpc_directive_advice(l);
        hpc_buf_printf(out, "wrong OpenMP directive: %s", evidence ? evidence : "");
        if (advice) hpc_buf_printf(out, "; better: %s", advice);
    } else if (c->put) {
        hpc_buf_printf(out, "this loop can run in parallel: %s", c->directive);
    } else {
        hpc_buf_printf(out, "%s", hpc_loop_verdict_name(l));
        if (c->because)
            hpc_buf_printf(out, ": %s", c->because);
        else if (evidence)
            hpc_buf_printf(out, ": %s", evidence);
    }
}

static void put_related(hpc_json_out *w, const lsp_server *s, const analysis *a,
                        const hpc_pragma_loop *l)
{
    hpc_brief b;
    hpc_pragma_brief(&b, l);
    hpc_json_open(w, "relatedInformation", '[');
    for (int k = 0; k < b.n; k++) {
        const hpc_brief_line *e = &b.item[k];
        const uint32_t line = e->line > 0 ? e->line : l->line;
        const hpc_buf *text = &a->document.text;
        size_t begin = hpc_text_offset(text, (hpc_text_position){line - 1, 0}, HPC_UNIT_UTF8);
        hpc_json_open(w, NULL, '{');
        hpc_json_open(w, "location", '{');
        hpc_json_put_text(w, "uri", a->document.uri);
        lsp_put_range(w, "range", s, text, begin, hpc_line_end(text, begin));
        hpc_json_close(w, '}');
        hpc_json_put_text(w, "message", e->text);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
}

static void put_diagnostic(hpc_json_out *w, const lsp_server *s, const analysis *a, int64_t k)
{
    const hpc_pragma_loop *l = &a->file.loops.item[k];
    const hpc_buf *text = &a->document.text;
    hpc_buf message = {0};
    put_message(&message, &a->file, k);
    hpc_json_open(w, NULL, '{');
    lsp_put_range(w, "range", s, text, l->at, hpc_line_end(text, l->at));
    hpc_json_put_int(w, "severity", severity_of(&a->file, k));
    hpc_json_put_text(w, "code",
                      hpc_directive_is_wrong(l) ? hpc_existing_name(l->existing_is)
                                                : hpc_loop_verdict_name(l));
    hpc_json_put_text(w, "source", "hpccoder");
    hpc_json_put_text(w, "message", message.n > 0 ? message.data : "");
    put_related(w, s, a, l);
    hpc_json_close(w, '}');
    hpc_buf_release(&message);
}

static void put_diagnostics(hpc_json_out *w, const lsp_server *s, const analysis *a)
{
    for (int64_t k = 0; k < a->file.loops.n; k++)
        if (severity_of(&a->file, k) > 0) put_diagnostic(w, s, a, k);
}

/* With `publishing`. */
static void publish(lsp_server *s, const analysis *a)
{
    hpc_buf out = {0};
    hpc_json_out w;
    lsp_request_begin(&w, &out, NULL, "textDocument/publishDiagnostics");
    hpc_json_open(&w, "params", '{');
    hpc_json_put_text(&w, "uri", a->document.uri);
    hpc_json_put_int(&w, "version", a->document.version);
    hpc_json_open(&w, "diagnostics", '[');
    put_diagnostics(&w, s, a);
    lsp_hints_put(&w, s, a->document.uri);
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    lsp_answer_end(s, &w);
}

/* The analysis, or NULL: the hints alone. Nothing, if the document was closed meanwhile. */
static void push(lsp_server *s, const lsp_job *j, const analysis *a)
{
    pthread_mutex_lock(&s->publishing);
    const bool wanted = __atomic_load_n(&j->cancel, __ATOMIC_RELAXED) == 0;
    if (wanted && a) publish(s, a);
    if (wanted && !a) lsp_hints_publish(s, j->uri);
    pthread_mutex_unlock(&s->publishing);
}

static void answer_pull(lsp_server *s, const hpc_json *id, const analysis *a)
{
    hpc_buf out = {0};
    hpc_json_out w;
    lsp_answer_begin(&w, &out, id);
    hpc_json_open(&w, "result", '{');
    hpc_json_put_text(&w, "kind", "full");
    hpc_json_open(&w, "items", '[');
    put_diagnostics(&w, s, a);
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    lsp_answer_end(s, &w);
}

/* Nothing is analysed where the user does not want it. */
static bool push_nothing(lsp_server *s, const lsp_job *j)
{
    const bool wanted = j->settings.pragma[j->document.language];
    hpc_buf out = {0};
    hpc_json_out w;
    if (wanted) return false;
    if (j->kind == LSP_PUSH_DIAGNOSTICS || j->kind == LSP_PUSH_AGAIN) push(s, j, NULL);
    if (j->kind == LSP_ACTIONS || j->kind == LSP_HOVER) lsp_answer_null(s, j->id);
    if (j->kind != LSP_PULL_DIAGNOSTICS) return true;
    lsp_answer_begin(&w, &out, j->id);
    hpc_json_open(&w, "result", '{');
    hpc_json_put_text(&w, "kind", "full");
    hpc_json_open(&w, "items", '[');
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    lsp_answer_end(s, &w);
    return true;
}

/* NULL: the document has none. */
static const analysis *newest(const lsp_server *s, const char *uri)
{
    for (int64_t k = 0; s->analyses && k < s->analyses->n; k++) {
        const analysis *a = &s->analyses->item[k];
        if (a->document.text.n > 0 && strcmp(a->document.uri, uri) == 0) return a;
    }
    return NULL;
}

/* ---- code actions --------------------------------------------------------------------------- */

/* An edit that keeps the line is an insertion above it. */
static void put_edit(hpc_json_out *w, const lsp_server *s, const hpc_buf *text,
                     const hpc_directive_edits *c, const hpc_directive_edit *e)
{
    const size_t old = e->end - e->at;
    const char *to = c->text.data + e->to;
    bool above = e->to_n > old && memcmp(to + e->to_n - old, text->data + e->at, old) == 0;
    hpc_buf now = {0};
    hpc_buf_add(&now, to, above ? e->to_n - old : e->to_n);
    hpc_buf_text(&now, "");
    hpc_json_open(w, NULL, '{');
    lsp_put_range(w, "range", s, text, e->at, above ? e->at : e->end);
    hpc_json_put_text(w, "newText", now.data);
    hpc_json_close(w, '}');
    hpc_buf_release(&now);
}

/* only: the loop; -1: all of the file. Nothing if there is no edit. */
static int put_action(hpc_json_out *w, const lsp_server *s, const analysis *a, int64_t only)
{
    hpc_directive_edits c = {0};
    hpc_buf title = {0};
    int rc;
    TRY(hpc_directive_edits_find(&c, &a->file, only));
    if (c.n == 0) goto out;
    if (only >= 0)
        hpc_buf_printf(&title, "Insert %s", a->file.choice[only].directive);
    else
        hpc_buf_printf(&title, "Insert %lld OpenMP directive%s", (long long)c.directives_n,
                       c.directives_n == 1 ? "" : "s");
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "title", title.data);
    hpc_json_put_text(w, "kind", only >= 0 ? "quickfix" : "source.fixAll.hpccoder");
    if (only >= 0) {
        hpc_json_put_bool(w, "isPreferred",
                          a->file.loops.item[only].verdict == HPC_VERDICT_PARALLEL);
        hpc_json_open(w, "diagnostics", '[');
        put_diagnostic(w, s, a, only);
        hpc_json_close(w, ']');
    }
    hpc_json_open(w, "edit", '{');
    hpc_json_open(w, "changes", '{');
    hpc_json_open(w, a->document.uri, '[');
    for (int64_t k = 0; k < c.n; k++) put_edit(w, s, &a->document.text, &c, &c.item[k]);
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
    hpc_json_close(w, '}');
    hpc_json_close(w, '}');
out:
    hpc_directive_edits_release(&c);
    hpc_buf_release(&title);
    return rc;
}

/* The client asks for actions of this kind: "source" asks for all kinds below it. */
static bool is_wanted(const hpc_json *params, const char *kind)
{
    const hpc_json *context = hpc_json_get(params, "context");
    const hpc_json *only = context ? hpc_json_get(context, "only") : NULL;
    if (hpc_json_kind_of(only) != HPC_JSON_LIST) return true;
    for (int64_t k = 0; k < hpc_json_n(only); k++) {
        const char *asked;
        const hpc_json *v = hpc_json_at(only, k);
        if (hpc_json_kind_of(v) != HPC_JSON_TEXT || hpc_json_text(&asked, v, "only") < 0) continue;
        size_t n = strlen(asked);
        if (strncmp(kind, asked, n) == 0 && (kind[n] == '\0' || kind[n] == '.' || n == 0))
            return true;
    }
    return false;
}

static int answer_actions(lsp_server *s, const lsp_job *j, const analysis *a)
{
    const hpc_json *params = hpc_json_get(j->message, "params");
    const hpc_json *range = params ? hpc_json_get(params, "range") : NULL;
    hpc_text_position from, to;
    hpc_buf out = {0};
    hpc_json_out w;
    int rc = HPC_OK;
    if (!lsp_position(&from, range, "start") || !lsp_position(&to, range, "end")) {
        lsp_answer_error(s, j->id, LSP_INVALID_PARAMS, "codeAction needs a range");
        return HPC_OK;
    }
    lsp_answer_begin(&w, &out, j->id);
    hpc_json_open(&w, "result", '[');
    for (int64_t k = 0; k < a->file.loops.n && is_wanted(params, "quickfix"); k++) {
        const int64_t line = (int64_t)a->file.loops.item[k].line - 1;
        if (!a->file.choice[k].put || line < from.line || line > to.line) continue;
        TRY(put_action(&w, s, a, k));
    }
    if (is_wanted(params, "source.fixAll.hpccoder")) TRY(put_action(&w, s, a, -1));
    hpc_json_close(&w, ']');
    lsp_answer_end(s, &w);
out:
    hpc_buf_release(&out);
    return rc;
}

/* ---- hover ---------------------------------------------------------------------------------- */

static void put_explanation(hpc_buf *out, const hpc_directive_file *f, int64_t k)
{
    const hpc_pragma_loop *l = &f->loops.item[k];
    const hpc_directive_choice *c = &f->choice[k];
    hpc_brief b;
    hpc_buf_printf(out, "**hpccoder: %s**\n", hpc_loop_verdict_name(l));
    if (c->directive) hpc_buf_printf(out, "\n```c\n%s\n```\n", c->directive);
    if (c->because) hpc_buf_printf(out, "\n%s\n", c->because);
    for (int64_t i = 0; i < l->assumptions_n && i < RELATED; i++)
        hpc_buf_printf(out, "\n- assumes: %s", l->assumption[i].text);
    hpc_pragma_brief(&b, l);
    for (int i = 0; i < b.n; i++) {
        const hpc_brief_line *e = &b.item[i];
        hpc_buf_printf(out, "\n- %s: ", e->kind);
        if (e->line > 0) hpc_buf_printf(out, "line %u: ", e->line);
        hpc_buf_text(out, e->text);
    }
}

/* The verdict of the loop that begins on the position's line. */
static void answer_hover(lsp_server *s, const lsp_job *j, const analysis *a)
{
    const hpc_json *params = hpc_json_get(j->message, "params");
    hpc_text_position p;
    int64_t k = 0;
    hpc_buf out = {0}, text = {0};
    hpc_json_out w;
    bool known = lsp_position(&p, params, "position");
    while (known && k < a->file.loops.n && (int64_t)a->file.loops.item[k].line - 1 != p.line) k++;
    if (!known || k == a->file.loops.n) {
        lsp_answer_null(s, j->id);
        return;
    }
    put_explanation(&text, &a->file, k);
    lsp_answer_begin(&w, &out, j->id);
    hpc_json_open(&w, "result", '{');
    hpc_json_open(&w, "contents", '{');
    hpc_json_put_text(&w, "kind", "markdown");
    hpc_json_put_text(&w, "value", text.data);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    lsp_answer_end(s, &w);
    hpc_buf_release(&text);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

void lsp_analyse(lsp_server *s, lsp_job *j)
{
    analysis *a = NULL;
    if (push_nothing(s, j)) return;
    if (j->kind == LSP_PUSH_AGAIN) {
        push(s, j, newest(s, j->uri));
        return;
    }
    int rc = find(&a, s, j);
    const int cancelled = __atomic_load_n(&j->cancel, __ATOMIC_RELAXED);
    if (rc >= 0 && !cancelled) {
        if (j->kind == LSP_PUSH_DIAGNOSTICS) push(s, j, a);
        if (j->kind == LSP_PULL_DIAGNOSTICS) answer_pull(s, j->id, a);
        if (j->kind == LSP_ACTIONS) rc = answer_actions(s, j, a);
        if (j->kind == LSP_HOVER) answer_hover(s, j, a);
    } else if (rc >= 0 && j->id) {
        lsp_answer_error(s, j->id, LSP_CANCELLED, "cancelled");
    }
    if (rc < 0 && j->id) lsp_answer_failure(s, j->id);
    if (rc < 0 && !j->id) {
        lsp_message(s, "window/logMessage", 1, hpc_error_get()->text);
        hpc_error_clear();
    }
}
