/*
 * Completions at a position: text before and after it, and parts of other files, go through the
 * completion rules, and the scheduler computes them.
 */
#include <stdio.h>
#include <string.h>

#include "infer/serve/api_priv.h"

enum { UNLIMITED_MS = 30000 };

/* ---- the position --------------------------------------------------------------------------- */

static hpc_position position_after(const hpc_buf *prefix)
{
    hpc_position p = {.line = 1, .col = 1};
    for (size_t k = 0; k < prefix->n; k++) {
        const uint8_t c = (uint8_t)prefix->data[k];
        p.col = c == '\n' ? 1 : p.col + ((c & 0xc0) != 0x80);
        p.line += c == '\n';
    }
    return p;
}

/* A request without a path is of the language of the chunk that comes first, or C. */
static const char *path_of(const api_ask *q)
{
    const char *path = q->path && *q->path ? q->path : NULL;
    if (!path && q->snippet_n > 0 && strchr(q->snippet[0].path, '.')) path = q->snippet[0].path;
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "file.c";
}

static int open_spot(hpc_spot *out, const api_ask *q)
{
    hpc_buf text = {0}, prefix = {0};
    int rc;
    for (size_t k = 0; k < q->prefix.n; k++)
        if (q->prefix.data[k] != '\r') TRY(hpc_buf_add(&prefix, q->prefix.data + k, 1));
    TRY(hpc_buf_add(&text, prefix.data, prefix.n));
    for (size_t k = 0; k < q->suffix.n; k++)
        if (q->suffix.data[k] != '\r') TRY(hpc_buf_add(&text, q->suffix.data + k, 1));
    TRY(hpc_buf_text(&text, ""));
    rc =
        hpc_spot_open(out, path_of(q), text.data ? text.data : "", text.n, position_after(&prefix));
out:
    hpc_buf_release(&text);
    hpc_buf_release(&prefix);
    return rc;
}

/* ---- the text ------------------------------------------------------------------------------- */

/* Up to the first stop string; blank text before the first line is not one's end. */
static void cut_at_stop(api_result *r, const api_ask *q)
{
    size_t end = r->text.n;
    for (int64_t k = 0; k < q->stop_n; k++) {
        const char *at =
            r->text.n > 0 ? memmem(r->text.data, end, q->stop[k], strlen(q->stop[k])) : NULL;
        if (!at) continue;
        end = (size_t)(at - r->text.data);
        r->word = q->stop[k];
        r->kind = "word";
    }
    if (r->text.n > end) r->text.data[end] = '\0';
    r->text.n = end;
}

static void attribute(char *out, size_t size, const hpc_completion *c)
{
    out[0] = '\0';
    if (c->source_n == 0) return;
    snprintf(out, size, "repeats %lld tokens of %s (%s)", (long long)c->source[0].tokens,
             c->source[0].repository, c->source[0].licence ? c->source[0].licence : "no licence");
}

/* Up to the first new line with too little indentation. */
static void cut_at_indent(api_result *r, const api_ask *q)
{
    size_t waits, end = api_indent_end(&waits, r->text.data, r->text.n, q->indent);
    if (end == r->text.n) return;
    r->text.data[end] = '\0';
    r->text.n = end;
    r->kind = "limit";
    r->finish = "length";
}

/* Tokens that spell the text: the rules may have changed what the model wrote. */
static int take_tokens(api_job *j, api_result *r, const char *text, size_t n)
{
    api_worker *w = j->worker;
    int rc = HPC_OK;
    if (!j->ask.tokens) return HPC_OK;
    if (!w->scratch) TRY(hpc_tokenizer_scratch_create(&w->scratch, j->a->tokenizer));
    TRY(hpc_tokenizer_encode(&r->token, j->a->tokenizer, w->scratch, text, n, HPC_ENCODE_INNER));
out:
    return rc;
}

static bool is_cut(hpc_completion_finish f)
{
    return f == HPC_COMPLETION_LENGTH || f == HPC_COMPLETION_TIME;
}

static int take(api_job *j, hpc_completions *made, int64_t slot)
{
    const api_ask *q = &j->ask;
    int rc = HPC_OK;
    for (int64_t k = 0; k < q->answers; k++) {
        hpc_completion *c = made->n > 0 ? &made->item[k < made->n ? k : made->n - 1] : NULL;
        api_result *r = &j->result[k];
        r->finish = c && is_cut(c->finish) ? "length" : "stop";
        r->kind = c && is_cut(c->finish) ? "limit" : "eos";
        r->word = "";
        r->slot = slot;
        r->prompt_n = made->prompt_tokens;
        r->computed_n = made->prompt_computed;
        r->reused_n = made->prompt_tokens - made->prompt_computed;
        r->dropped_n = made->prompt_wanted - made->prompt_tokens;
        r->made_n = c ? c->tokens : 0;
        r->prompt_ns = made->first_token_ns;
        r->decode_ns = made->end_ns - made->first_token_ns;
        if (!c || q->most == 0) continue;
        TRY(hpc_buf_add(&r->text, c->text.data, c->text.n));
        TRY(hpc_buf_text(&r->text, ""));
        attribute(r->source, sizeof r->source, c);
        cut_at_stop(r, q);
        cut_at_indent(r, q);
        if (!q->stream) TRY(take_tokens(j, r, r->text.data, r->text.n));
    }
out:
    return rc;
}

/* ---- streams -------------------------------------------------------------------------------- */

/* Lines of the first answer that are final, as far as neither a stop string nor the indentation may
 * cut them. */
typedef struct streaming {
    api_job *j;
    hpc_buf text;
    size_t sent; /* of the answer */
    bool over;
} streaming;

/* Bytes before the first stop string, or before an end of the text that may begin one. */
static size_t sure_end(const streaming *x)
{
    const api_ask *q = &x->j->ask;
    size_t end = x->text.n, waits;
    for (int64_t k = 0; k < q->stop_n; k++) {
        const size_t n = strlen(q->stop[k]);
        const char *at = memmem(x->text.data, end, q->stop[k], n);
        if (at) {
            end = (size_t)(at - x->text.data);
            continue;
        }
        for (size_t tail = n - 1; tail > 0; tail--)
            if (tail <= end && memcmp(x->text.data + end - tail, q->stop[k], tail) == 0) {
                end -= tail;
                break;
            }
    }
    api_indent_end(&waits, x->text.data, end, q->indent);
    return waits < end ? waits : end;
}

static int send_part(streaming *x, int64_t k, const char *text, size_t n)
{
    const int rc = n > 0 ? take_tokens(x->j, &x->j->result[k], text, n) : HPC_OK;
    if (rc >= 0 && n > 0) api_send_piece(x->j, k, text, n);
    return rc;
}

/* On the engine's thread, while the worker waits for it. Without memory the end is sent whole. */
static void ready(void *user, const char *text, size_t n)
{
    streaming *x = user;
    if (x->over) return;
    x->over = hpc_buf_add(&x->text, text, n) < 0;
    const size_t end = x->over ? 0 : sure_end(x);
    if (end > x->sent) {
        x->over = send_part(x, 0, x->text.data + x->sent, end - x->sent) < 0;
        x->sent = end;
    }
    hpc_error_clear();
}

/* The rest. */
static int send_rest(streaming *x)
{
    api_job *j = x->j;
    int rc = HPC_OK;
    for (int64_t k = 0; j->ask.stream && k < j->ask.answers; k++) {
        const hpc_buf *all = &j->result[k].text;
        const size_t from = k == 0 && x->sent < all->n ? x->sent : k == 0 ? all->n : 0;
        TRY(send_part(x, k, all->data + from, all->n - from));
    }
out:
    return rc;
}

/* ---- the completion ------------------------------------------------------------------------- */

static int open_tools(api_job *j, hpc_scheduler_port **port)
{
    hpc_api *a = j->a;
    const hpc_job like = api_job_like(j);
    int rc = HPC_OK;
    if (!j->worker->completer) {
        hpc_completer_words words = {.tokenizer = a->tokenizer};
        TRY(api_vocabulary(&words.vocabulary, a));
        TRY(hpc_completer_open_detached(&j->worker->completer, a->files, &words, a->capacity));
    }
    TRY(hpc_scheduler_port_open(port, a->scheduler, &like));
    pthread_mutex_lock(&j->lock);
    j->port = *port;
    pthread_mutex_unlock(&j->lock);
out:
    return rc;
}

static void close_port(api_job *j, hpc_scheduler_port *port)
{
    pthread_mutex_lock(&j->lock);
    j->port = NULL;
    pthread_mutex_unlock(&j->lock);
    hpc_scheduler_port_close(port);
}

/* Several answers are compared with each other, so a stream has each of them in one piece. */
static int infill(api_job *j)
{
    const api_ask *q = &j->ask;
    const int64_t limit_ms = q->predict_ms > 0 ? q->prompt_ms + q->predict_ms : UNLIMITED_MS;
    const int64_t half = j->a->capacity / 2, wanted = q->most > 0 ? q->most : 1;
    const int64_t most = wanted < half ? wanted : half; /* the prompt needs the rest */
    hpc_scheduler_port *port = NULL;
    hpc_completions made = {0};
    hpc_spot spot = {0};
    streaming stream = {.j = j};
    int rc;
    TRY(open_spot(&spot, q));
    TRY(open_tools(j, &port));
    const hpc_complete_request r = {
        .spot = &spot,
        .path = q->path && *q->path ? path_of(q) : NULL,
        .snippet = q->snippet,
        .snippet_n = q->snippet_n,
        .stop = HPC_STOP_BLOCK,
        .most = most,
        .close = q->most > 0,
        /* Time in the queue counts: a late suggestion is useless. */
        .until_ns = q->predict_ms > 0 ? hpc_clock_ns() + (limit_ms + UNLIMITED_MS) * 1000000 : 0,
        .samples = q->answers,
        .prompt_ns = q->most > 0 ? q->prompt_ms * 1000000 : 0,
        .sampling = q->sampling,
        .ready = q->stream && q->answers == 1 && q->most > 0 ? ready : NULL,
        .user = &stream,
        .cancel = &j->cancel,
        .port = hpc_scheduler_port_get(port)};
    TRY(hpc_complete(&made, j->worker->completer, &r));
    if (j->a->passages) TRY(hpc_completions_find_sources(&made, &spot, j->a->passages));
    j->superseded = hpc_scheduler_port_superseded(port);
    TRY(take(j, &made, hpc_scheduler_port_slot(port)));
    TRY(send_rest(&stream));
out:
    if (port) close_port(j, port);
    hpc_buf_release(&stream.text);
    hpc_completions_release(&made);
    hpc_spot_close(&spot);
    return rc;
}

static void log_prompt(const api_job *j)
{
    hpc_buf line = {0};
    hpc_json_out w = {.buf = &line};
    if (!j->a->o.log_prompts || !j->a->o.log || !j->ask.prefix.data) return;
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "prefix", j->ask.prefix.data);
    hpc_json_put_text(&w, "suffix", j->ask.suffix.data);
    hpc_json_close(&w, '}');
    if (line.failed >= 0) j->a->o.log(j->a->o.user, line.data);
    hpc_buf_release(&line);
}

int api_generate(api_job *j)
{
    int rc;
    TRY(api_ask_read(j));
    log_prompt(j);
    j->result_n = j->ask.answers * (j->ask.prompt_n > 0 ? j->ask.prompt_n : 1);
    j->result = hpc_alloc((size_t)j->result_n, sizeof *j->result);
    if (!j->result) {
        j->result_n = 0;
        TRY(HPC_E_NOMEM);
    }
    for (int64_t k = 0; k < j->result_n; k++) j->result[k].slot = -1;
    if (j->ask.loads) {
        j->result[0].finish = "load";
        TRY(hpc_scheduler_load(j->a->scheduler));
    } else {
        TRY(j->ask.infill ? infill(j) : api_continue(j));
    }
    if (j->superseded)
        hpc_http_error(j->r, 409, "a newer request for the same document replaced this one");
    else if (!__atomic_load_n(&j->cancel, __ATOMIC_ACQUIRE))
        api_send_result(j);
out:
    return rc;
}
