/*
 * Completion requests: opening a model, sampling answers, and ranking them.
 */
#include <math.h>
#include <string.h>

#include "infer/complete/answer.h"

/* ---- opening --------------------------------------------------------------------------------- */

static int open_text(hpc_completer *c, const hpc_model_files *files, int64_t room, const char *name)
{
    const hpc_model_config *m = hpc_model_files_config(files);
    int rc;
    if (!c->words.tokenizer) {
        TRY(hpc_model_files_tokenizer(&c->tokenizer, files));
        c->words.tokenizer = c->tokenizer;
    }
    TRY(complete_prompter_open(&c->prompter, c->words.tokenizer));
    c->config = m;
    c->room = room > 0 && room < m->positions ? room : m->positions;
    if (hpc_tokenizer_n(c->words.tokenizer) > m->vocab)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: the tokenizer has %lld tokens, the model %lld", name,
                     (long long)hpc_tokenizer_n(c->words.tokenizer), (long long)m->vocab));
    TRY(complete_prompter_stop_behind(&c->prompter, m->vocab));
out:
    return rc;
}

int hpc_completer_open_detached(hpc_completer **out, const hpc_model_files *files,
                                const hpc_completer_words *words, int64_t room)
{
    hpc_completer *c = hpc_alloc(1, sizeof *c);
    int rc;
    *out = NULL;
    if (!c) return HPC_E_NOMEM;
    if (words) c->words = *words;
    TRY(open_text(c, files, room, "the model"));
    *out = c;
    c = NULL;
out:
    hpc_completer_close(c);
    return rc;
}

int hpc_completer_open(hpc_completer **out, const hpc_engine_options *o)
{
    hpc_completer *c = hpc_alloc(1, sizeof *c);
    hpc_engine_options with = *o;
    int rc;
    *out = NULL;
    if (!c) return HPC_E_NOMEM;
    if (!o->files) TRY(hpc_model_files_open(&c->files, o->model));
    if (!o->files) with.files = c->files;
    TRY(open_text(c, with.files, o->cache_tokens, o->model));
    TRY(hpc_engine_open(&c->engine, &with));
    *out = c;
    c = NULL;
out:
    hpc_completer_close(c);
    return rc;
}

void hpc_completer_close(hpc_completer *c)
{
    if (!c) return;
    hpc_engine_close(c->engine);
    complete_prompter_close(&c->prompter);
    hpc_vocabulary_free(c->vocabulary);
    hpc_tokenizer_close(c->tokenizer);
    hpc_model_files_close(c->files);
    hpc_free(c->prompt.id);
    hpc_free(c);
}

hpc_engine_counts hpc_completer_counts(const hpc_completer *c)
{
    return hpc_engine_counts_of(c->engine);
}

const hpc_engine *hpc_completer_engine(const hpc_completer *c)
{
    return c->engine;
}

int64_t hpc_completer_room(const hpc_completer *c)
{
    return c->room;
}

/* ---- sampling -------------------------------------------------------------------------------- */

static int submit(complete_run *x, int64_t k)
{
    complete_answer *a = &x->answer[k];
    int rc;
    TRY(complete_answer_begin(a, x, k));
    TRY(complete_answer_submit(a));
    x->begun++;
out:
    return rc;
}

static void cancel_all(complete_run *x)
{
    bool busy = true;
    for (int64_t k = 0; k < x->begun; k++) complete_drive_cancel(x, x->answer[k].id);
    while (busy && complete_drive_step(x, &busy) >= 0) continue;
}

/* The engine takes no request from within its callbacks. */
static int continue_answers(bool *busy, complete_run *x)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < x->begun; k++) {
        if (!x->answer[k].resample) continue;
        TRY(complete_answer_resample(&x->answer[k]));
        *busy = true;
    }
out:
    return rc;
}

/* The step that makes the first tokens also computes the end of the prompt. Their number is not a
 * decoding rate, because drafts may be among them. */
static int step(complete_run *x, bool *busy)
{
    int64_t start = hpc_clock_ns(), made = x->made, before = complete_drive_counts(x).computed;
    bool reads = !x->begins;
    int rc = complete_drive_step(x, busy);
    int64_t ns = hpc_clock_ns() - start;
    const hpc_engine_counts now = complete_drive_counts(x);
    if (reads) {
        x->prompt_ns += ns;
        x->computed += now.computed - before;
        int64_t done = x->computed + now.reused - x->reused;
        if (done > x->c->prompt.n) done = x->c->prompt.n;
        if (x->r->reading && !x->begins) x->r->reading(x->r->user, done, x->c->prompt.n);
    } else {
        x->decode_ns += ns;
        x->decoded += x->made - made;
        if (x->r->writing) x->r->writing(x->r->user, x->made, x->r->samples * x->r->most);
    }
    return rc;
}

static bool is_cancelled(const complete_run *x)
{
    const int *cancel = x->r->cancel;
    return x->cancelled || (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED));
}

/* The first answer goes ahead until its prompt is in the cache, from where the others take it. */
static int go(complete_run *x)
{
    bool busy = true;
    int rc;
    if (x->r->port) x->r->port->enter(x->r->port->user);
    x->reused = complete_drive_counts(x).reused;
    TRY(submit(x, 0));
    if (x->r->reading) x->r->reading(x->r->user, 0, x->c->prompt.n);
    while (busy) {
        if (is_cancelled(x)) {
            cancel_all(x);
            break;
        }
        TRY(step(x, &busy));
        TRY(x->failed);
        if (is_cancelled(x)) continue;
        TRY(continue_answers(&busy, x));
        bool all = x->begins || x->ended > 0;
        for (int64_t k = x->begun; all && k < x->n; k++, busy = true) TRY(submit(x, k));
    }
    rc = x->failed;
out:
    if (rc < 0 && x->begun > x->ended) cancel_all(x);
    if (x->r->port) x->r->port->leave(x->r->port->user);
    return rc;
}

/* ---- what comes of it ------------------------------------------------------------------------ */

static hpc_completion *find_text(const hpc_completions *out, const hpc_buf *text)
{
    for (int64_t k = 0; k < out->n; k++) {
        const hpc_buf *b = &out->item[k].text;
        if (b->n == text->n && (b->n == 0 || memcmp(b->data, text->data, b->n) == 0))
            return &out->item[k];
    }
    return NULL;
}

/* An answer without tokens has no likelihood and ranks last. */
static double likelihood(const hpc_completion *c)
{
    return c->tokens > 0 ? c->logprob / (double)c->tokens : -1e9;
}

static bool is_better(const hpc_completion *a, const hpc_completion *b)
{
    bool a_whole = a->finish != HPC_COMPLETION_CANCELLED;
    bool b_whole = b->finish != HPC_COMPLETION_CANCELLED;
    return a_whole != b_whole ? a_whole : likelihood(a) > likelihood(b);
}

static void rank(hpc_completions *out)
{
    for (int64_t k = 1; k < out->n; k++) {
        hpc_completion c = out->item[k];
        int64_t i = k;
        for (; i > 0 && is_better(&c, &out->item[i - 1]); i--) out->item[i] = out->item[i - 1];
        out->item[i] = c;
    }
}

static int add_answer(hpc_completions *out, complete_answer *a)
{
    hpc_completion *same = find_text(out, &a->shown);
    if (same) {
        same->times++;
        return HPC_OK;
    }
    hpc_completion *c = &out->item[out->n++];
    *c = (hpc_completion){.sample = a->sample, .times = 1};
    return complete_answer_take(c, a);
}

static int gather(hpc_completions *out, complete_run *x)
{
    int rc = HPC_OK;
    out->item = hpc_alloc((size_t)x->n, sizeof *out->item);
    if (!out->item) return HPC_E_NOMEM;
    for (int64_t k = 0; k < x->begun; k++)
        if (x->answer[k].ended) TRY(add_answer(out, &x->answer[k]));
    rank(out);
    out->made = x->made;
    out->drawn = x->begun;
    out->first_token_ns = x->first_ns ? x->first_ns - x->start_ns : 0;
    out->end_ns = hpc_clock_ns() - x->start_ns;
    out->prompt_computed = x->computed < x->c->prompt.n ? x->computed : x->c->prompt.n;
    out->prompt_ns = x->prompt_ns;
    out->decoded = x->decoded;
    out->decode_ns = x->decode_ns;
out:
    return rc;
}

static double rate(int64_t tokens, int64_t ns)
{
    return tokens >= 16 && ns > 0 ? (double)tokens / ((double)ns * 1e-9) : NAN;
}

double hpc_completions_prompt_rate(const hpc_completions *c)
{
    return rate(c->prompt_computed, c->prompt_ns);
}

double hpc_completions_decode_rate(const hpc_completions *c)
{
    return rate(c->decoded, c->decode_ns);
}

int hpc_completions_merge(hpc_completions *out, hpc_completions *more)
{
    hpc_completion *item = hpc_alloc((size_t)(out->n + more->n), sizeof *item);
    if (!item) return HPC_E_NOMEM;
    if (out->n > 0) memcpy(item, out->item, (size_t)out->n * sizeof *item);
    hpc_free(out->item);
    out->item = item;
    for (int64_t k = 0; k < more->n; k++) {
        hpc_completion *c = &more->item[k], *same = find_text(out, &c->text);
        if (same) {
            same->times += c->times;
            continue;
        }
        out->item[out->n++] = *c;
        *c = (hpc_completion){0};
    }
    rank(out);
    out->made += more->made;
    out->drawn += more->drawn;
    out->decoded += more->decoded;
    out->decode_ns += more->decode_ns;
    out->end_ns += more->end_ns;
    hpc_completions_release(more);
    return HPC_OK;
}

static void release(complete_run *x)
{
    for (int64_t k = 0; x->answer && k < x->n; k++) complete_answer_release(&x->answer[k]);
    hpc_free(x->answer);
    complete_stop_release(&x->stop);
}

static int check(const hpc_completer *c, const hpc_complete_request *r)
{
    hpc_assert(c->engine || r->port);
    if (r->samples < 1 || r->most < 1)
        return hpc_fail(HPC_E_ARG, "a completion needs at least one sample and one token");
    if (r->most >= c->room)
        return hpc_fail(HPC_E_ARG,
                        "%lld new tokens: model and cache allow %lld including the prompt",
                        (long long)r->most, (long long)c->room);
    return hpc_sampling_check(&r->sampling);
}

/* limit: tokens at most. */
static int make_prompt(hpc_completer *c, const hpc_complete_request *r, int64_t limit)
{
    bool heals = !r->raw && complete_heal_may(r->spot->text.data, r->spot->at);
    int64_t most = c->room - r->most;
    int32_t end = c->prompter.special[HPC_SPECIAL_END];
    int rc;
    if (r->prompt_tokens > 0 && r->prompt_tokens < most) most = r->prompt_tokens;
    if (limit < most) most = limit;
    if ((heals || r->rule) && !c->words.vocabulary) {
        TRY(hpc_vocabulary_create(&c->vocabulary, c->words.tokenizer, c->config->vocab));
        c->words.vocabulary = c->vocabulary;
    }
    c->prompter.vocabulary = heals ? c->words.vocabulary : NULL;
    TRY(complete_prompt(&c->prompt, &c->prompter, r, most));
    if (c->prompt.n > 0) return rc;
    if (end < 0) return hpc_fail(HPC_E_UNSUPPORTED, "the prompt is empty");
    TRY(hpc_grow(&c->prompt.id, &c->prompt.cap, 1, sizeof end));
    c->prompt.id[c->prompt.n++] = end;
out:
    return rc;
}

/* Shortens a prompt that would take too long to read. */
static int limit_prompt(hpc_completer *c, const hpc_complete_request *r)
{
    int64_t start = hpc_clock_ns();
    int rc = HPC_OK;
    if (r->prompt_ns <= 0 || c->prompt.n <= COMPLETE_BUDGET_LEAST) return HPC_OK;
    if (r->port) {
        int64_t most = r->port->prompt_tokens(r->port->user, r->prompt_ns);
        if (most == INT64_MAX) TRY(complete_budget_read(r, &c->prompt));
        most = r->port->prompt_tokens(r->port->user, r->prompt_ns);
        if (most < COMPLETE_BUDGET_LEAST) most = COMPLETE_BUDGET_LEAST;
        return most < c->prompt.n ? make_prompt(c, r, most) : HPC_OK;
    }
    if (c->ns_per_flop <= 0) TRY(complete_budget_measure(&c->ns_per_flop, c->engine, &c->prompt));
    int64_t left = r->prompt_ns - (hpc_clock_ns() - start);
    int64_t most = complete_budget_tokens(c->config, c->ns_per_flop, left);
    if (most < c->prompt.n) TRY(make_prompt(c, r, most));
out:
    return rc;
}

int hpc_complete(hpc_completions *out, hpc_completer *c, const hpc_complete_request *r)
{
    complete_run x = {.c = c, .r = r, .n = r->samples, .start_ns = hpc_clock_ns()};
    int rc;
    *out = (hpc_completions){0};
    TRY(check(c, r));
    TRY(make_prompt(c, r, c->room));
    const int64_t wanted = c->prompt.n;
    TRY(limit_prompt(c, r));
    TRY(complete_stop_create(&x.stop, r->spot, r->stop));
    out->stop = x.stop.kind;
    x.answer = hpc_alloc((size_t)x.n, sizeof *x.answer);
    if (!x.answer) TRY(HPC_E_NOMEM);
    TRY(go(&x));
    TRY(gather(out, &x));
    out->prompt_tokens = c->prompt.n;
    out->prompt_wanted = wanted;
out:
    release(&x);
    return rc;
}

void hpc_completions_release(hpc_completions *c)
{
    for (int64_t k = 0; k < c->n; k++) {
        hpc_buf_release(&c->item[k].text);
        hpc_free(c->item[k].source);
    }
    hpc_free(c->item);
    *c = (hpc_completions){0};
}
