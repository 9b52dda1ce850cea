/*
 * Completions in the language server: one at a time, in a worker that opens the model on its first
 * request. The scheduler runs the engine, and unloads it when the editor is idle. Copied code is
 * attributed before it can be accepted.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "infer/complete/source.h"
#include "infer/complete/verify.h"
#include "infer/serve/complete_port.h"
#include "infer/serve/lsp_priv.h"

enum { MORE = 4, LEAST_NS = 300000000, COMPILE_NS = 300000000, SLOW = 64 };
static const double DRAWN = 0.6; /* temperature of alternatives */
enum { UNLOAD_MS = 15 * 60 * 1000, SHOWN_AFTER_MS = 500 };

struct lsp_completer {
    hpc_model_files *files;
    hpc_scheduler *scheduler;
    hpc_scheduler_port *port;
    hpc_completer *completer; /* NULL: the model cannot be loaded */
    hpc_passages *passages;
    lsp_settings loaded; /* the settings that it was opened with */
    uint64_t slow[SLOW]; /* hashes of documents that take the compiler too long */
    int64_t slow_n;      /* of all time: the newest are kept */
};

void lsp_completer_free(lsp_server *s)
{
    if (!s->completer) return;
    hpc_completer_close(s->completer->completer);
    hpc_scheduler_port_close(s->completer->port);
    hpc_scheduler_close(s->completer->scheduler);
    hpc_model_files_close(s->completer->files);
    hpc_passages_close(s->completer->passages);
    hpc_free(s->completer);
    s->completer = NULL;
}

static int open_model(struct lsp_completer *c, const hpc_lsp_options *lsp)
{
    hpc_scheduler_options o = {.engine = lsp->engine,
                               .low_priority = true,
                               .unload_ms = UNLOAD_MS,
                               .kv_folder = lsp->cache_folder};
    hpc_engine_options *engine = &o.engine;
    int rc;
    engine->model = c->loaded.model;
    engine->threads = (int)c->loaded.threads;
    if (c->loaded.tokens > lsp->completion_tokens)
        engine->cache_tokens += engine->requests * (c->loaded.tokens - lsp->completion_tokens);
    TRY(hpc_model_files_open(&c->files, engine->model));
    engine->files = c->files;
    TRY(hpc_scheduler_open(&c->scheduler, &o));
    TRY(hpc_scheduler_load(c->scheduler));
    TRY(hpc_scheduler_port_open(&c->port, c->scheduler, &(hpc_job){.client = 1}));
    rc = hpc_completer_open_detached(&c->completer, c->files, NULL, engine->cache_tokens);
out:
    return rc;
}

/* The index of the model of the command line; for another one FILE.passages next to FILE.gguf. */
static void open_passages(lsp_server *s)
{
    const char *model = s->completer->loaded.model;
    char beside[PATH_MAX + 16];
    const char *dot = strrchr(model, '.'), *path = s->o->passages;
    if (!s->o->engine.model || strcmp(model, s->o->engine.model) != 0) {
        snprintf(beside, sizeof beside, "%.*s.passages", (int)(dot ? dot - model : 0), model);
        path = dot && hpc_file_exists(beside) ? beside : NULL;
    }
    if (!path || hpc_passages_open(&s->completer->passages, path) >= 0) return;
    lsp_message(s, "window/logMessage", 2, hpc_error_get()->text);
    hpc_error_clear();
}

static bool is_current(const lsp_settings *loaded, const lsp_settings *now)
{
    return strcmp(loaded->model, now->model) == 0 && loaded->threads == now->threads &&
           loaded->tokens >= now->tokens;
}

/* Once for each model and number of threads. A failure is shown once, and later requests are
 * answered with null. */
static int load(lsp_server *s, const lsp_settings *now)
{
    int64_t token = 0;
    int rc;
    if (s->completer && is_current(&s->completer->loaded, now)) return HPC_OK;
    lsp_completer_free(s);
    s->completer = hpc_alloc(1, sizeof *s->completer);
    if (!s->completer) return HPC_E_NOMEM;
    s->completer->loaded = *now;
    if (!now->model[0]) return HPC_OK; /* the client knows */
    token = lsp_progress_begin(s, "hpccoder: loading the model", false, NULL);
    TRY(open_model(s->completer, s->o));
    open_passages(s);
    lsp_progress_end(s, token);
    return HPC_OK;
out:
    lsp_progress_end(s, token);
    lsp_message(s, "window/showMessage", 1, hpc_error_get()->text);
    hpc_error_clear();
    return rc;
}

/* ---- one completion ------------------------------------------------------------------------- */

typedef struct completing {
    lsp_server *s;
    lsp_job *j;
    size_t at; /* the cursor, in the document's text */
    hpc_spot spot;
    hpc_check_flags flags;
    hpc_completions_checker *checker; /* NULL: no checks */
    bool compiles;                    /* it asks the compiler */
    hpc_completions made;
    size_t n;      /* bytes of the first completion that are offered */
    bool answered; /* the request may be cancelled after that, too */
    int64_t began_ns, progress;
} completing;

/* Prompts that take long have a report of progress. */
static void show_reading(void *user, int64_t done, int64_t total)
{
    completing *x = user;
    const int slow_ms = x->s->o->slow_ms;
    struct timespec t = {slow_ms / 1000, slow_ms % 1000 * 1000000L};
    const bool is_late =
        hpc_clock_ns() - x->began_ns > (SHOWN_AFTER_MS - slow_ms) * (int64_t)1000000;
    if (is_late && x->progress == 0 && done < total)
        x->progress = lsp_progress_begin(x->s, "hpccoder: reading the prompt", true, &x->j->cancel);
    lsp_progress_report(x->s, x->progress, done, total);
    if (slow_ms > 0) nanosleep(&t, NULL);
}

/* The cursor as a line and a column that counts characters, both from 1. */
static int open_spot(completing *x, hpc_text_position p)
{
    const hpc_document *d = &x->j->document;
    const hpc_buf *text = &d->text;
    x->at = hpc_text_offset(text, p, x->s->unit);
    hpc_position place = {.line = 1, .col = 1};
    for (size_t k = 0; k < x->at; k++) {
        const uint8_t c = (uint8_t)text->data[k];
        place.col = c == '\n' ? 1 : place.col + ((c & 0xc0) != 0x80);
        place.line += c == '\n';
    }
    return hpc_spot_open(&x->spot, d->path ? d->path : d->uri, text->data, text->n, place);
}

/* A document with headers that take long is not compiled again: completions would come too late. */
static int check(completing *x, hpc_completions *c)
{
    struct lsp_completer *own = x->s->completer;
    const int64_t began = hpc_clock_ns();
    const bool is_first = hpc_completions_checker_base(x->checker) == NULL;
    int rc = hpc_completions_check(c, x->checker);
    if (is_first && x->compiles && hpc_clock_ns() - began > COMPILE_NS)
        own->slow[own->slow_n++ % SLOW] = hpc_hash(x->j->uri, strlen(x->j->uri), 0);
    return rc;
}

static bool is_slow(const completing *x)
{
    const struct lsp_completer *own = x->s->completer;
    const uint64_t hash = hpc_hash(x->j->uri, strlen(x->j->uri), 0);
    for (int64_t k = 0; k < own->slow_n && k < SLOW; k++)
        if (own->slow[k] == hash) return true;
    return false;
}

/* Draws alternatives to a completion that fails a check, for as long as it took. */
static int draw_more(completing *x, hpc_complete_request *r)
{
    const int64_t now = hpc_clock_ns(), took = now - x->began_ns;
    const int64_t until = now + (took > LEAST_NS ? took : LEAST_NS);
    hpc_completions more = {0};
    int rc;
    r->samples = MORE;
    r->reading = NULL; /* the prompt is in the cache */
    r->sampling.temperature = DRAWN;
    if (until < r->until_ns) r->until_ns = until;
    TRY(hpc_complete(&more, x->s->completer->completer, r));
    TRY(check(x, &more));
    TRY(hpc_completions_merge(&x->made, &more));
    hpc_completions_rank(&x->made);
out:
    hpc_completions_release(&more);
    return rc;
}

static bool is_cancelled(const completing *x)
{
    return __atomic_load_n(&x->j->cancel, __ATOMIC_RELAXED) != 0;
}

static int draw(completing *x)
{
    const lsp_settings *o = &x->j->settings;
    const int64_t second = 1000000000;
    int rc;
    hpc_complete_request r = {.spot = &x->spot,
                              .path = x->j->document.path ? strrchr(x->j->document.path, '/') + 1
                                                          : NULL,
                              .stop = HPC_STOP_BLOCK,
                              .most = o->tokens,
                              .close = true,
                              .until_ns = hpc_clock_ns() + (int64_t)(o->seconds * (double)second),
                              .samples = 1,
                              .prompt_ns = (int64_t)(o->prompt_seconds * (double)second),
                              .sampling = hpc_sampling_greedy(),
                              .reading = show_reading,
                              .user = x,
                              .cancel = &x->j->cancel,
                              .port = hpc_scheduler_port_get(x->s->completer->port)};
    TRY(hpc_complete(&x->made, x->s->completer->completer, &r));
    if (!x->checker || is_cancelled(x)) goto out;
    TRY(check(x, &x->made));
    if (x->made.n == 0 || !hpc_completion_is_good(&x->made.item[0])) TRY(draw_more(x, &r));
out:
    return rc;
}

static void log_give_up(void *user, const char *message)
{
    const completing *x = user;
    lsp_message(x->s, "window/logMessage", 4, message);
}

/* Where the compiler cannot process the file, the other checks remain. */
static int open_checker(completing *x)
{
    const char *path = x->j->document.path;
    hpc_checker *compiler = x->s->o->completion_checker;
    int rc;
    if (!compiler) return HPC_OK;
    if (!path || !hpc_check_knows(x->spot.language) || is_slow(x)) compiler = NULL;
    x->compiles = compiler != NULL;
    if (compiler) TRY(lsp_flags_find(&x->flags, x->s, path));
    const hpc_completions_verify_options o = {.stop = HPC_STOP_BLOCK,
                                              .checker = compiler,
                                              .path = path,
                                              .flags = x->flags.n > 0 ? &x->flags : NULL,
                                              .give_up = log_give_up,
                                              .user = x};
    rc = hpc_completions_checker_open(&x->checker, &x->spot, &o);
out:
    return rc;
}

/* All of it, or, where it leaves its block open, the first line. */
static void choose(completing *x)
{
    const hpc_completion *c = x->made.n > 0 ? x->made.item : NULL;
    x->n = c ? c->text.n : 0;
    if (!c || c->open == 0) return;
    const char *first = c->text.data;
    while (first < c->text.data + c->text.n && *first == '\n') first++;
    const char *end = memchr(first, '\n', c->text.n - (size_t)(first - c->text.data));
    if (end) x->n = (size_t)(end - c->text.data);
}

/* "repeats 53 tokens of OWNER/NAME (MIT)"; "" if it repeats nothing. */
static void attribute(char *out, size_t size, const completing *x)
{
    const hpc_completion *c = x->made.n > 0 ? x->made.item : NULL;
    out[0] = '\0';
    if (!c || c->source_n == 0) return;
    snprintf(out, size, "repeats %lld tokens of %s (%s)", (long long)c->source[0].tokens,
             c->source[0].repository, c->source[0].licence ? c->source[0].licence : "no licence");
}

/* ---- answers -------------------------------------------------------------------------------- */

static void answer_inline(const completing *x, const char *text)
{
    char source[300], line[340];
    hpc_buf out = {0};
    hpc_json_out w;
    attribute(source, sizeof source, x);
    if (source[0]) {
        snprintf(line, sizeof line, "the suggestion %s", source);
        lsp_message(x->s, "window/showMessage", 3, line);
    }
    lsp_answer_begin(&w, &out, x->j->id);
    hpc_json_open(&w, "result", '{');
    hpc_json_open(&w, "items", '[');
    if (*text) {
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_text(&w, "insertText", text);
        lsp_put_range(&w, "range", x->s, &x->j->document.text, x->at, x->at);
        if (source[0]) hpc_json_put_text(&w, "attribution", source); /* ours; others ignore it */
        hpc_json_close(&w, '}');
    }
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    lsp_answer_end(x->s, &w);
}

static bool is_of_name(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Clients filter items by the name before the cursor: the edit contains it. */
static void put_item(hpc_json_out *w, const completing *x, const char *text)
{
    const hpc_buf *d = &x->j->document.text;
    size_t begin = x->at;
    char source[300];
    hpc_buf now = {0}, label = {0};
    while (begin > 0 && is_of_name(d->data[begin - 1])) begin--;
    hpc_buf_add(&now, d->data + begin, x->at - begin);
    hpc_buf_text(&now, text);
    const char *first = now.data + strspn(now.data, " \t\n");
    hpc_buf_printf(&label, "%.*s", (int)strcspn(first, "\n"), first);
    attribute(source, sizeof source, x);
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "label", label.data);
    hpc_json_put_int(w, "kind", 15);
    hpc_json_put_text(w, "detail", source[0] ? source : "hpccoder");
    hpc_json_open(w, "documentation", '{');
    hpc_json_put_text(w, "kind", "plaintext");
    hpc_json_put_text(w, "value", now.data);
    hpc_json_close(w, '}');
    hpc_json_put_text(w, "filterText", now.data);
    hpc_json_put_int(w, "insertTextFormat", 1);
    hpc_json_put_int(w, "insertTextMode", 1);
    hpc_json_open(w, "textEdit", '{');
    lsp_put_range(w, "range", x->s, d, begin, x->at);
    hpc_json_put_text(w, "newText", now.data);
    hpc_json_close(w, '}');
    hpc_json_close(w, '}');
    hpc_buf_release(&now);
    hpc_buf_release(&label);
}

static void answer_list(const completing *x, const char *text)
{
    hpc_buf out = {0};
    hpc_json_out w;
    lsp_answer_begin(&w, &out, x->j->id);
    hpc_json_open(&w, "result", '{');
    hpc_json_put_bool(&w, "isIncomplete", true);
    hpc_json_open(&w, "items", '[');
    if (*text) put_item(&w, x, text);
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    lsp_answer_end(x->s, &w);
}

static int complete(completing *x, hpc_text_position p)
{
    hpc_buf text = {0};
    int rc;
    x->began_ns = hpc_clock_ns();
    TRY(open_spot(x, p));
    TRY(open_checker(x));
    rc = draw(x);
    lsp_progress_end(x->s, x->progress);
    TRY(rc);
    if (is_cancelled(x)) goto out;
    choose(x);
    if (x->s->completer->passages)
        TRY(hpc_completions_find_sources(&x->made, &x->spot, x->s->completer->passages));
    TRY(hpc_buf_add(&text, x->made.n > 0 ? x->made.item[0].text.data : "", x->n));
    TRY(hpc_buf_text(&text, ""));
    x->answered = true;
    if (x->j->kind == LSP_INLINE_COMPLETION)
        answer_inline(x, text.data);
    else
        answer_list(x, text.data);
out:
    hpc_buf_release(&text);
    hpc_completions_release(&x->made);
    hpc_completions_checker_close(x->checker);
    hpc_check_flags_release(&x->flags);
    hpc_spot_close(&x->spot);
    return rc;
}

void lsp_complete(lsp_server *s, lsp_job *j)
{
    completing x = {.s = s, .j = j};
    hpc_text_position p;
    int rc = HPC_OK;
    if (!lsp_position(&p, hpc_json_get(j->message, "params"), "position")) {
        lsp_answer_error(s, j->id, LSP_INVALID_PARAMS, "a completion needs a position");
        return;
    }
    if (load(s, &j->settings) < 0 || !s->completer->completer) {
        lsp_answer_null(s, j->id);
        return;
    }
    if (!__atomic_load_n(&j->cancel, __ATOMIC_RELAXED)) rc = complete(&x, p);
    const int cancelled = __atomic_load_n(&j->cancel, __ATOMIC_RELAXED);
    if (x.answered) return;
    if (rc < 0 && !cancelled)
        lsp_answer_failure(s, j->id);
    else if (cancelled == 1)
        lsp_answer_null(s, j->id);
    else if (cancelled)
        lsp_answer_error(s, j->id, LSP_CANCELLED, "cancelled");
}
