/*
 * Continuation of a prompt as text: one job of the scheduler for each answer. Its callbacks run on
 * the engine thread, where tokens become text up to the first stop string.
 */
#include <string.h>

#include "infer/serve/api_priv.h"
#include "infer/engine/text.h"

typedef struct writing {
    api_job *j;
    api_result *r;
    int64_t k; /* of the answers to all prompts */
    hpc_text *text;
    hpc_grammar *grammar;        /* NULL: any text */
    hpc_buf ready;               /* text that is final but for its indentation */
    bool stopped, shallow, over; /* over: the grammar allows no more */
    int64_t begin_ns, first_ns;
    int failed;
} writing;

/* ---- the text ------------------------------------------------------------------------------- */

size_t api_indent_end(size_t *waits, const char *text, size_t n, int64_t least)
{
    size_t kept = 0; /* the end of the last line that is not blank */
    *waits = n;
    if (least <= 0) return n;
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t next = end ? (size_t)(end - text) : n, from = at;
        while (from < next && (text[from] == ' ' || text[from] == '\t')) from++;
        const bool blank = from == next;
        if (at > 0 && !blank && (int64_t)(from - at) < least) return *waits = kept;
        if (!blank || at == 0) kept = next;
        at = next + 1;
    }
    *waits = kept;
    return n;
}

/* Moves text to the answer, and its new part to the client. last: no more text follows. */
static int show(writing *x, bool last)
{
    api_job *j = x->j;
    api_result *r = x->r;
    size_t waits, from = r->text.n;
    const size_t end = api_indent_end(&waits, x->ready.data, x->ready.n, j->ask.indent);
    int rc = HPC_OK;
    x->shallow = end < x->ready.n;
    if (last && !x->shallow) waits = end;
    if (waits > from) rc = hpc_buf_add(&r->text, x->ready.data + from, waits - from);
    if (rc >= 0 && j->ask.stream)
        api_send_piece(j, x->k, waits > from ? r->text.data + from : "", r->text.n - from);
    return rc;
}

static int take_token(writing *x, const hpc_job_token *t)
{
    api_result *r = x->r;
    int rc;
    TRY(hpc_grow(&r->token.id, &r->token.cap, r->token.n + 1, sizeof *r->token.id));
    r->token.id[r->token.n++] = t->token;
    if (x->grammar) TRY(hpc_grammar_take(x->grammar, t->token));
    x->over = x->grammar && hpc_grammar_is_over(x->grammar);
    TRY(hpc_text_push(x->text, t->token, &x->ready, &x->stopped));
    if (t->top_n > 0) api_put_probability(x->j, r, t);
    r->slot = t->slot;
    r->made_n++;
    if (x->first_ns == 0) x->first_ns = hpc_clock_ns();
    r->prompt_ns = x->first_ns - x->begin_ns;
    r->decode_ns = hpc_clock_ns() - x->first_ns;
    TRY(show(x, false));
out:
    return rc;
}

static int token_made(void *user, const hpc_job_token *t)
{
    writing *x = user;
    if (x->failed >= 0) x->failed = take_token(x, t);
    return x->failed < 0 || x->stopped || x->shallow || x->over ||
           __atomic_load_n(&x->j->cancel, __ATOMIC_ACQUIRE);
}

static const uint32_t *allowed(void *user)
{
    const writing *x = user;
    return hpc_grammar_allowed(x->grammar);
}

/* First the tokens that are in the cache. */
static void progress(void *user, int64_t done, int64_t total)
{
    writing *x = user;
    api_result *r = x->r;
    if (x->begin_ns == 0) {
        x->begin_ns = hpc_clock_ns();
        r->reused_n = done;
    } else {
        r->prompt_ns = hpc_clock_ns() - x->begin_ns;
    }
    r->prompt_n = total;
    r->computed_n = done - r->reused_n;
    if (x->j->ask.progress) api_send_progress(x->j, x->k);
}

/* ---- the end -------------------------------------------------------------------------------- */

/* The stop string of the request, which outlives the text. */
static const char *word_of(const writing *x)
{
    const api_ask *q = &x->j->ask;
    const char *found = hpc_text_stop(x->text);
    for (int64_t k = 0; found && k < q->stop_n; k++)
        if (strcmp(q->stop[k], found) == 0) return q->stop[k];
    return "";
}

static void describe(writing *x, const hpc_job_result *r)
{
    api_result *out = x->r;
    const bool length = r->finish == HPC_JOB_LENGTH || r->finish == HPC_JOB_TIME || x->shallow;
    out->finish = length ? "length" : "stop";
    out->kind = length ? "limit" : x->stopped ? "word" : "eos";
    out->word = word_of(x);
    out->slot = r->slot;
    out->prompt_n = r->prompt_n;
    out->reused_n = r->reused_n;
    out->computed_n = r->computed_n;
    out->made_n = r->made_n;
    out->dropped_n = r->dropped_n;
    out->prompt_ns = r->prompt_ns;
    out->decode_ns = r->decode_ns;
}

static void note_error(api_job *j, const hpc_job_result *r)
{
    if (r->finish == HPC_JOB_SUPERSEDED) j->superseded = true;
    if (j->error.code != HPC_OK || r->finish != HPC_JOB_ERROR || !r->error) return;
    j->error = *r->error;
    /* No token of the vocabulary continues the grammar's text: trying again does not help. */
    if (j->ask.gbnf && j->error.code == HPC_E_STATE) j->error.code = HPC_E_ARG;
}

static void ended(void *user, int64_t id, const hpc_job_result *r)
{
    writing *x = user;
    api_job *j = x->j;
    (void)id;
    describe(x, r);
    if (x->failed >= 0) x->failed = hpc_text_end(x->text, &x->ready);
    if (x->failed >= 0) x->failed = show(x, true);
    pthread_mutex_lock(&j->lock);
    note_error(j, r);
    if (j->error.code == HPC_OK && x->failed < 0) j->error = *hpc_error_get();
    if (x->failed < 0) hpc_error_clear();
    j->ended++;
    pthread_cond_signal(&j->change);
    pthread_mutex_unlock(&j->lock);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

/* Requests that name the same document come from one editor, over several connections. */
hpc_job api_job_like(const api_job *j)
{
    const char *document = j->ask.document;
    hpc_job like = {.client = hpc_http_client(j->r), .predict_ms = j->ask.predict_ms};
    if (!document || !*document) return like;
    like.client = hpc_hash(document, strlen(document), 0) | UINT64_C(1) << 63;
    like.document = document;
    like.supersede = true;
    like.group = j->number;
    return like;
}

static int submit(writing *x, const int32_t *stop, int64_t stop_n)
{
    api_job *j = x->j;
    const api_ask *q = &j->ask;
    const int64_t p = x->k / q->answers, from = p > 0 ? q->prompt_end[p - 1] : 0;
    hpc_job job = api_job_like(j);
    int64_t id;
    job.token = q->prompt.id + from;
    job.n = (q->prompt_n > 0 ? q->prompt_end[p] : q->prompt.n) - from;
    job.most = q->most < j->a->capacity - job.n ? q->most : j->a->capacity - job.n;
    job.prompt_ms = q->prompt_ms;
    job.sampling = q->sampling;
    job.sample = (uint32_t)(x->k % q->answers);
    job.stop = stop;
    job.stop_n = stop_n;
    job.bias = q->bias;
    job.bias_n = q->bias_n;
    job.top_n = q->top_n;
    job.token_made = token_made;
    job.progress = progress;
    job.ended = ended;
    job.allowed = x->grammar ? allowed : NULL;
    job.user = x;
    int rc = hpc_scheduler_submit(&id, j->a->scheduler, &job);
    if (rc < 0) return rc;
    pthread_mutex_lock(&j->lock);
    j->id[j->id_n++] = id;
    pthread_mutex_unlock(&j->lock);
    return rc;
}

static void wait_for(api_job *j, int64_t n)
{
    pthread_mutex_lock(&j->lock);
    while (j->ended < n) pthread_cond_wait(&j->change, &j->lock);
    pthread_mutex_unlock(&j->lock);
}

int64_t api_ends(int32_t end[API_ENDS], const api_job *j)
{
    const int32_t *turn;
    const int64_t turns = j->route->chat ? api_chat_ends(&turn, j->a) : 0;
    static const hpc_special marks[] = {HPC_SPECIAL_END, HPC_SPECIAL_FIM_END, HPC_SPECIAL_FIM_PAD,
                                        HPC_SPECIAL_FILE, HPC_SPECIAL_REPOSITORY};
    const hpc_tokenizer *t = j->a->tokenizer;
    int64_t n = 0;
    const int32_t own = hpc_tokenizer_specials(t).end;
    if (own >= 0) end[n++] = own;
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
        hpc_tokenizer_special_name(t, marks[k], &end[n]);
        bool known = end[n] < 0;
        for (int64_t i = 0; i < n && !known; i++) known = end[i] == end[n];
        n += !known;
    }
    for (int64_t k = 0; k < turns; k++) end[n++] = turn[k];
    return n;
}

static int check_length(api_job *j)
{
    const api_ask *q = &j->ask;
    int64_t from = 0;
    for (int64_t p = 0; p < (q->prompt_n > 0 ? q->prompt_n : 1); p++) {
        const int64_t to = q->prompt_n > 0 ? q->prompt_end[p] : q->prompt.n;
        if (to - from >= j->a->capacity) {
            j->exceeding_n = to - from;
            return hpc_fail(HPC_E_ARG,
                            "the request (%lld tokens) exceeds the available context size (%lld "
                            "tokens)",
                            (long long)(to - from), (long long)j->a->capacity);
        }
        from = to;
    }
    return HPC_OK;
}

static int begin(writing *x, api_job *j, const int32_t *stop, int64_t stop_n)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < j->result_n; k++) {
        x[k] = (writing){.j = j, .r = &j->result[k], .k = k};
        TRY(hpc_text_create(&x[k].text, j->a->tokenizer, j->ask.stop, j->route->chat));
        TRY(api_grammar_create(&x[k].grammar, j, stop, stop_n));
    }
out:
    return rc;
}

static void release(writing *x, int64_t n)
{
    for (int64_t k = 0; x && k < n; k++) {
        hpc_text_free(x[k].text);
        hpc_grammar_free(x[k].grammar);
        hpc_buf_release(&x[k].ready);
    }
    hpc_free(x);
}

int api_continue(api_job *j)
{
    const api_ask *q = &j->ask;
    const int64_t n = j->result_n;
    writing *x = hpc_alloc((size_t)n, sizeof *x);
    int32_t stop[API_ENDS];
    const int64_t stop_n = q->ignore_end ? 0 : api_ends(stop, j);
    int64_t begun = 0;
    int rc;
    if (!x) return HPC_E_NOMEM;
    TRY(check_length(j));
    j->id = hpc_alloc((size_t)n, sizeof *j->id);
    if (!j->id) TRY(HPC_E_NOMEM);
    TRY(begin(x, j, stop, stop_n));
    for (; begun < n; begun++) TRY(submit(&x[begun], stop, stop_n));
out:
    /* A client may have left before its job was submitted. */
    if (rc < 0 || __atomic_load_n(&j->cancel, __ATOMIC_ACQUIRE)) api_job_cancel(j);
    wait_for(j, begun);
    release(x, n);
    if (rc >= 0 && j->error.code != HPC_OK) rc = hpc_error_adopt(&j->error);
    return rc;
}
