/*
 * complete.c: requests to the engine, and what their tokens become.
 */
#include "infer/complete/complete.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "infer/complete/priv.h"
#include "infer/text.h"

struct hpc_completer {
    hpc_model_files *files;
    hpc_engine *engine;
    hpc_tokenizer *tokenizer;
    complete_prompter prompter;
    hpc_vocabulary *vocabulary; /* once something has to be looked up in it */
    hpc_ids prompt;
    int64_t room;       /* tokens of a text */
    double ns_per_flop; /* of prompts; 0: not measured yet */
};

/* ---- opening --------------------------------------------------------------------------------- */

int hpc_completer_open(hpc_completer **out, const hpc_engine_options *o)
{
    hpc_completer *c = hpc_alloc(1, sizeof *c);
    hpc_engine_options with = *o;
    int rc;
    *out = NULL;
    if (!c) return HPC_E_NOMEM;
    if (!o->files) TRY(hpc_model_files_open(&c->files, o->model));
    if (!o->files) with.files = c->files;
    TRY(hpc_model_files_tokenizer(&c->tokenizer, with.files));
    TRY(complete_prompter_open(&c->prompter, c->tokenizer));
    TRY(hpc_engine_open(&c->engine, &with));
    const hpc_model_config *m = hpc_engine_config(c->engine);
    c->room = m->positions;
    if (o->cache_tokens > 0 && o->cache_tokens < c->room) c->room = o->cache_tokens;
    if (hpc_tokenizer_n(c->tokenizer) > m->vocab)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: the tokenizer has %lld tokens, the model %lld", o->model,
                     (long long)hpc_tokenizer_n(c->tokenizer), (long long)m->vocab));
    TRY(complete_prompter_stop_behind(&c->prompter, m->vocab));
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

/* ---- an answer ------------------------------------------------------------------------------- */

typedef struct run run;
typedef struct token {
    size_t at; /* where its text begins in `raw`, or later: some bytes wait for others */
    float logprob;
} token;
typedef struct answer {
    run *run;
    int64_t id;
    hpc_text *text;
    hpc_grammar *grammar; /* NULL: none */
    size_t owed;          /* bytes that come before `raw` begins */
    hpc_buf raw, shown;
    token *token;
    int64_t token_n, token_cap;
    size_t end;             /* of what is kept of `raw` */
    size_t told;            /* of `shown` */
    bool over, full, ended; /* full: as many tokens as were wanted */
    hpc_finish finish;
    int32_t stop_token; /* -1: none */
    complete_indent indent;
} answer;

struct run {
    hpc_completer *c;
    const hpc_complete_request *r;
    complete_stop stop;
    answer *answer;
    int64_t n, begun, ended;
    int64_t start_ns, first_ns, made;
    int64_t prompt_ns, computed, decoded, decode_ns; /* as in hpc_completions */
    int64_t reused;                                  /* by the engine, before this */
    bool begins;                                     /* a token has been made */
    int failed;
};

/* What is kept of the text so far. */
static int look(answer *a, bool last)
{
    run *x = a->run;
    bool over = false, circles = false, repeats = false;
    a->end = a->raw.n;
    if (x->r->raw) return HPC_OK;
    int rc = complete_stop_find(&a->end, &over, &x->stop, a->raw.data, a->raw.n, last || a->over);
    if (rc < 0) return rc;
    complete_circle_find(&a->end, &circles, a->raw.data, a->end, last || over);
    complete_repeat_find(&a->end, &repeats, x->r->spot, a->raw.data, a->end, last || over);
    a->over = a->over || over || circles || repeats;
    return HPC_OK;
}

/* Blank lines and blanks at the end may go when it is known what comes behind them. */
static size_t sure_end(const answer *a)
{
    size_t end = a->end;
    while (end > 0 && a->raw.data[end - 1] != '\n') end--;
    while (end > 0 && complete_is_blank(a->raw.data + end - 1, 1)) end--;
    return end;
}

static int show(answer *a, size_t end)
{
    run *x = a->run;
    int rc;
    a->shown.n = 0;
    rc = x->r->raw ? hpc_buf_add(&a->shown, a->raw.data, end)
                   : complete_indent_apply(&a->shown, &a->indent, &x->stop, a->raw.data, end);
    if (rc < 0) return rc;
    if (x->r->ready && a == x->answer && a->shown.n > a->told) {
        x->r->ready(x->r->user, a->shown.data + a->told, a->shown.n - a->told);
        a->told = a->shown.n;
    }
    return HPC_OK;
}

static const uint32_t *allowed(void *user)
{
    const answer *a = user;
    bool free = !a->run->r->rule && hpc_grammar_owes(a->grammar) == 0;
    return free ? NULL : hpc_grammar_allowed(a->grammar);
}

/* What is owed stands in the file; a token that is no more than that is none of the answer. */
static bool is_owed(const answer *a, int32_t id)
{
    size_t n, owed = a->grammar ? hpc_grammar_owes(a->grammar) : 0;
    if (owed == 0) return false;
    hpc_vocabulary_text(a->run->c->vocabulary, id, &n);
    return n <= owed;
}

static int push_token(answer *a, int32_t id, float logprob)
{
    size_t before = a->raw.n, owed;
    run *x = a->run;
    bool stopped;
    int rc = HPC_OK;
    if (!is_owed(a, id)) {
        if (x->made++ == 0) x->first_ns = hpc_clock_ns();
        TRY(hpc_grow(&a->token, &a->token_cap, a->token_n + 1, sizeof *a->token));
        a->token[a->token_n++] = (token){.at = before, .logprob = logprob};
        a->full = a->token_n == x->r->most;
    }
    TRY(hpc_text_push(a->text, id, &a->raw, &stopped));
    owed = a->owed < a->raw.n ? a->owed : a->raw.n;
    if (owed > 0) memmove(a->raw.data, a->raw.data + owed, a->raw.n -= owed);
    a->owed -= owed;
out:
    return rc;
}

static int take_token(answer *a, int32_t id, float logprob)
{
    size_t before = a->raw.n;
    int rc = HPC_OK;
    TRY(push_token(a, id, logprob));
    if (a->grammar) TRY(hpc_grammar_take(a->grammar, id));
    if (a->run->r->rule) a->over = hpc_grammar_is_over(a->grammar);
    if (a->raw.n == before) return HPC_OK;
    TRY(look(a, false));
    TRY(show(a, a->run->r->raw ? a->end : sure_end(a)));
out:
    return rc;
}

static int token_made(void *user, int32_t id, float logprob)
{
    answer *a = user;
    run *x = a->run;
    x->begins = true;
    if (x->failed >= 0) x->failed = take_token(a, id, logprob);
    return x->failed < 0 || a->over || a->full;
}

/* White space before the end of a line is nothing that anybody wants. */
static size_t trim(const answer *a)
{
    const hpc_spot *d = a->run->r->spot;
    const char *suffix = d->text.data + d->at;
    size_t rest = complete_line_end(suffix, d->text.n - d->at, 0), end = a->end;
    if (a->run->r->raw) return end;
    if (!complete_is_blank(suffix, rest) && !complete_is_blank(a->raw.data, end)) return end;
    while (end > 0 && complete_is_blank(a->raw.data + end - 1, 1)) end--;
    return end;
}

static int finish(answer *a)
{
    int rc;
    TRY(hpc_text_end(a->text, &a->raw));
    TRY(look(a, true));
    a->end = trim(a);
    TRY(show(a, a->end));
out:
    return rc;
}

static void ended(void *user, hpc_finish how, int32_t id)
{
    answer *a = user;
    a->stop_token = id;
    a->finish = a->full ? HPC_FINISH_LENGTH : how;
    a->ended = true;
    a->run->ended++;
    if (a->run->failed >= 0) a->run->failed = finish(a);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int begin_grammar(answer *a, hpc_completer *c, const hpc_complete_request *r)
{
    const hpc_grammar_rule any = {.kind = HPC_GRAMMAR_ANY};
    const hpc_grammar_options o = {.rule = r->rule ? *r->rule : any,
                                   .owed = c->prompter.owed,
                                   .masks = r->rule ? 0 : 1,
                                   .prefix = r->spot->text.data,
                                   .prefix_n = r->spot->at,
                                   .end = c->prompter.stop,
                                   .end_n = c->prompter.stop_n};
    a->owed = o.owed;
    return hpc_grammar_create(&a->grammar, c->vocabulary, &o);
}

static int submit(run *x, int64_t k)
{
    answer *a = &x->answer[k];
    hpc_completer *c = x->c;
    const bool binds = x->r->rule || c->prompter.owed > 0;
    const hpc_request q = {.token = c->prompt.id,
                           .n = c->prompt.n,
                           .most = x->r->most + (int64_t)c->prompter.owed,
                           .sampling = x->r->sampling,
                           .sample = (uint32_t)k,
                           .stop = c->prompter.stop,
                           .stop_n = c->prompter.stop_n,
                           .token_made = token_made,
                           .ended = ended,
                           .allowed = binds ? allowed : NULL,
                           .user = a};
    int rc = HPC_OK;
    a->run = x;
    if (binds) TRY(begin_grammar(a, c, x->r));
    TRY(complete_indent_create(&a->indent, x->r->spot));
    TRY(hpc_text_create(&a->text, c->tokenizer, NULL, false));
    TRY(hpc_engine_submit(c->engine, &q, &a->id));
    x->begun++;
out:
    return rc;
}

static void cancel_all(run *x)
{
    bool busy = true;
    for (int64_t k = 0; k < x->begun; k++) hpc_engine_cancel(x->c->engine, x->answer[k].id);
    while (busy && hpc_engine_step(x->c->engine, &busy) >= 0) continue;
}

/* The step that makes the first tokens computes the end of the prompt: their number says nothing
 * of a rate, because guessed tokens may be among them. */
static int step(run *x, bool *busy)
{
    const hpc_engine *e = x->c->engine;
    int64_t start = hpc_clock_ns(), made = x->made, before = hpc_engine_counts_of(e).computed;
    bool reads = !x->begins;
    int rc = hpc_engine_step(x->c->engine, busy);
    int64_t ns = hpc_clock_ns() - start;
    const hpc_engine_counts now = hpc_engine_counts_of(e);
    if (reads) {
        x->prompt_ns += ns;
        x->computed += now.computed - before;
        int64_t done = x->computed + now.reused - x->reused;
        if (done > x->c->prompt.n) done = x->c->prompt.n;
        if (x->r->reading && !x->begins) x->r->reading(x->r->user, done, x->c->prompt.n);
    } else {
        x->decode_ns += ns;
        x->decoded += x->made - made;
    }
    return rc;
}

/* The first answer goes ahead until its prompt is in the cache, from where the others take it. */
static int go(run *x)
{
    bool busy = true;
    int rc;
    x->reused = hpc_engine_counts_of(x->c->engine).reused;
    TRY(submit(x, 0));
    if (x->r->reading) x->r->reading(x->r->user, 0, x->c->prompt.n);
    while (busy) {
        if (x->r->cancel && __atomic_load_n(x->r->cancel, __ATOMIC_RELAXED)) {
            cancel_all(x);
            break;
        }
        TRY(step(x, &busy));
        TRY(x->failed);
        bool all = x->begins || x->ended > 0;
        for (int64_t k = x->begun; all && k < x->n; k++, busy = true) TRY(submit(x, k));
    }
    rc = x->failed;
out:
    if (rc < 0 && x->begun > x->ended) cancel_all(x);
    return rc;
}

/* ---- what comes of it ------------------------------------------------------------------------ */

static void count(hpc_completion *to, const answer *a)
{
    for (to->tokens = 0; to->tokens < a->token_n && a->token[to->tokens].at < a->end; to->tokens++)
        to->logprob += a->token[to->tokens].logprob;
    bool cut = a->end < a->raw.n && a->finish != HPC_FINISH_CANCELLED;
    to->finish = a->over || cut ? HPC_FINISH_CALLER : a->finish;
    if (to->finish != HPC_FINISH_STOP) return;
    size_t n = 0;
    const char *piece = hpc_tokenizer_piece(a->run->c->tokenizer, a->stop_token, &n);
    snprintf(to->stop_token, sizeof to->stop_token, "%.*s", (int)n, piece ? piece : "");
}

static hpc_completion *find_text(hpc_completions *out, const hpc_buf *text)
{
    for (int64_t k = 0; k < out->n; k++) {
        const hpc_buf *b = &out->item[k].text;
        if (b->n == text->n && (b->n == 0 || memcmp(b->data, text->data, b->n) == 0))
            return &out->item[k];
    }
    return NULL;
}

/* Of nothing at all, nobody knows how likely it is: it comes last. */
static double likelihood(const hpc_completion *c)
{
    return c->tokens > 0 ? c->logprob / (double)c->tokens : -1e9;
}

static bool is_better(const hpc_completion *a, const hpc_completion *b)
{
    bool a_whole = a->finish != HPC_FINISH_CANCELLED, b_whole = b->finish != HPC_FINISH_CANCELLED;
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

static int gather(hpc_completions *out, run *x)
{
    out->item = hpc_alloc((size_t)x->n, sizeof *out->item);
    if (!out->item) return HPC_E_NOMEM;
    for (int64_t k = 0; k < x->begun; k++) {
        answer *a = &x->answer[k];
        hpc_completion *same = find_text(out, &a->shown);
        if (!a->ended) continue;
        if (same) {
            same->times++;
            continue;
        }
        hpc_completion *c = &out->item[out->n++];
        *c = (hpc_completion){.text = a->shown, .sample = k, .times = 1};
        a->shown = (hpc_buf){0};
        count(c, a);
    }
    rank(out);
    out->made = x->made;
    out->first_token_ns = x->first_ns ? x->first_ns - x->start_ns : 0;
    out->end_ns = hpc_clock_ns() - x->start_ns;
    out->prompt_computed = x->computed < x->c->prompt.n ? x->computed : x->c->prompt.n;
    out->prompt_ns = x->prompt_ns;
    out->decoded = x->decoded;
    out->decode_ns = x->decode_ns;
    return HPC_OK;
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

static void release(run *x)
{
    for (int64_t k = 0; x->answer && k < x->n; k++) {
        answer *a = &x->answer[k];
        hpc_text_free(a->text);
        hpc_grammar_free(a->grammar);
        hpc_buf_release(&a->raw);
        hpc_buf_release(&a->shown);
        hpc_free(a->token);
    }
    hpc_free(x->answer);
    complete_stop_release(&x->stop);
}

static int check(const hpc_completer *c, const hpc_complete_request *r)
{
    if (r->samples < 1 || r->most < 1)
        return hpc_fail(HPC_E_ARG, "a completion has one answer and one token at least");
    if (r->most >= c->room)
        return hpc_fail(HPC_E_ARG, "%lld new tokens: model and cache take %lld with the prompt",
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
    if ((heals || r->rule) && !c->vocabulary)
        TRY(hpc_vocabulary_create(&c->vocabulary, c->tokenizer,
                                  hpc_engine_config(c->engine)->vocab));
    c->prompter.vocabulary = heals ? c->vocabulary : NULL;
    TRY(complete_prompt(&c->prompt, &c->prompter, r, most));
    if (c->prompt.n > 0) return rc;
    if (end < 0) return hpc_fail(HPC_E_UNSUPPORTED, "the model needs a text to begin with");
    TRY(hpc_grow(&c->prompt.id, &c->prompt.cap, 1, sizeof end));
    c->prompt.id[c->prompt.n++] = end;
out:
    return rc;
}

/* A prompt that takes too long to read is made again, shorter. */
static int limit_prompt(hpc_completer *c, const hpc_complete_request *r)
{
    int64_t start = hpc_clock_ns();
    int rc = HPC_OK;
    if (r->prompt_ns <= 0 || c->prompt.n <= COMPLETE_BUDGET_LEAST) return HPC_OK;
    if (c->ns_per_flop <= 0) TRY(complete_budget_measure(&c->ns_per_flop, c->engine, &c->prompt));
    int64_t left = r->prompt_ns - (hpc_clock_ns() - start);
    int64_t most = complete_budget_tokens(hpc_engine_config(c->engine), c->ns_per_flop, left);
    if (most < c->prompt.n) TRY(make_prompt(c, r, most));
out:
    return rc;
}

/* Within a line with more than closing marks behind the place, no more than that line is wanted. */
static hpc_complete_stop stop_of(const hpc_complete_request *r)
{
    const hpc_spot *d = r->spot;
    size_t end = complete_line_end(d->text.data, d->text.n, d->at);
    for (size_t k = d->at; k < end; k++)
        if (!strchr(" \t)]};,", d->text.data[k])) return HPC_STOP_LINE;
    return r->stop;
}

int hpc_complete(hpc_completions *out, hpc_completer *c, const hpc_complete_request *r)
{
    run x = {.c = c, .r = r, .n = r->samples, .start_ns = hpc_clock_ns()};
    int rc;
    *out = (hpc_completions){0};
    TRY(check(c, r));
    TRY(make_prompt(c, r, c->room));
    const int64_t wanted = c->prompt.n;
    TRY(limit_prompt(c, r));
    TRY(complete_stop_create(&x.stop, r->spot, stop_of(r)));
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
