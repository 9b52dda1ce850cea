/*
 * Continuation of a prompt as text: one job of the scheduler for each answer. Its callbacks run on
 * the engine thread, where tokens become text up to the first stop string.
 */
#include <string.h>

#include "infer/serve/api_priv.h"
#include "infer/engine/text.h"

enum { STOPS = 8 + API_CHAT_ENDS };

typedef struct writing {
    api_job *j;
    api_result *r;
    int64_t k;
    hpc_text *text;
    bool stopped;
    int failed;
} writing;

static void flush(writing *x, size_t from)
{
    if (x->j->ask.stream && x->r->text.n > from)
        api_send_piece(x->j, x->k, x->r->text.data + from, x->r->text.n - from);
}

static int take_token(writing *x, const hpc_job_token *t)
{
    api_result *r = x->r;
    const size_t from = r->text.n;
    int rc;
    TRY(hpc_grow(&r->token.id, &r->token.cap, r->token.n + 1, sizeof *r->token.id));
    r->token.id[r->token.n++] = t->token;
    TRY(hpc_text_push(x->text, t->token, &r->text, &x->stopped));
    if (t->top_n > 0) api_put_probability(x->j, r, t);
    flush(x, from);
out:
    return rc;
}

static int token_made(void *user, const hpc_job_token *t)
{
    writing *x = user;
    if (x->failed >= 0) x->failed = take_token(x, t);
    return x->failed < 0 || x->stopped || __atomic_load_n(&x->j->cancel, __ATOMIC_ACQUIRE);
}

static void describe(writing *x, const hpc_job_result *r)
{
    api_result *out = x->r;
    const bool length = r->finish == HPC_JOB_LENGTH || r->finish == HPC_JOB_TIME;
    out->finish = length ? "length" : "stop";
    out->kind = length ? "limit" : x->stopped ? "word" : "eos";
    out->word = "";
    out->prompt_n = r->prompt_n;
    out->reused_n = r->reused_n;
    out->computed_n = r->computed_n;
    out->made_n = r->made_n;
    out->dropped_n = r->dropped_n;
    out->prompt_ns = r->prompt_ns;
    out->decode_ns = r->decode_ns;
    /* The text that ends with a stop string has lost it: only one string needs no search. */
    if (x->stopped && x->j->ask.stop_n == 1) out->word = x->j->ask.stop[0];
}

static void ended(void *user, int64_t id, const hpc_job_result *r)
{
    writing *x = user;
    api_job *j = x->j;
    const size_t from = x->r->text.n;
    (void)id;
    describe(x, r);
    if (x->failed >= 0) x->failed = hpc_text_end(x->text, &x->r->text);
    flush(x, from);
    pthread_mutex_lock(&j->lock);
    if (j->error.code == HPC_OK && r->finish == HPC_JOB_ERROR && r->error) j->error = *r->error;
    if (j->error.code == HPC_OK && x->failed < 0) j->error = *hpc_error_get();
    if (x->failed < 0) hpc_error_clear();
    j->ended++;
    pthread_cond_signal(&j->change);
    pthread_mutex_unlock(&j->lock);
}

static int submit(writing *x, const int32_t *stop, int64_t stop_n)
{
    api_job *j = x->j;
    const api_ask *q = &j->ask;
    int64_t id;
    const hpc_job job = {.client = hpc_http_client(j->r),
                         .token = q->prompt.id,
                         .n = q->prompt.n,
                         .most = q->most,
                         .prompt_ms = q->prompt_ms,
                         .predict_ms = q->predict_ms,
                         .sampling = q->sampling,
                         .sample = (uint32_t)x->k,
                         .stop = stop,
                         .stop_n = stop_n,
                         .bias = q->bias,
                         .bias_n = q->bias_n,
                         .top_n = q->top_n,
                         .token_made = token_made,
                         .ended = ended,
                         .user = x};
    return hpc_scheduler_submit(&id, j->a->scheduler, &job);
}

static void wait_for(api_job *j, int64_t n)
{
    pthread_mutex_lock(&j->lock);
    while (j->ended < n) pthread_cond_wait(&j->change, &j->lock);
    pthread_mutex_unlock(&j->lock);
}

/* Tokens that end a text, or a turn of a chat. */
static int64_t find_stops(int32_t stop[STOPS], const api_job *j)
{
    const hpc_tokenizer *t = j->a->tokenizer;
    const int32_t *turn;
    const int64_t turns = j->route->chat ? api_chat_ends(&turn, j->a) : 0;
    static const hpc_special marks[] = {HPC_SPECIAL_END, HPC_SPECIAL_FIM_END, HPC_SPECIAL_FIM_PAD,
                                        HPC_SPECIAL_FILE, HPC_SPECIAL_REPOSITORY};
    int64_t n = 0;
    const int32_t end = hpc_tokenizer_specials(t).end;
    if (end >= 0) stop[n++] = end;
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
        hpc_tokenizer_special_name(t, marks[k], &stop[n]);
        n += stop[n] >= 0;
    }
    for (int64_t k = 0; k < turns; k++) stop[n++] = turn[k];
    return n;
}

static int check_length(const api_job *j)
{
    if (j->ask.prompt.n < j->a->capacity) return HPC_OK;
    return hpc_fail(HPC_E_ARG,
                    "the prompt has %lld tokens, and the context of the server %lld (exceeds "
                    "the available context size)",
                    (long long)j->ask.prompt.n, (long long)j->a->capacity);
}

int api_continue(api_job *j)
{
    api_ask *q = &j->ask;
    writing *x = hpc_alloc((size_t)q->answers, sizeof *x);
    int32_t stop[STOPS];
    const int64_t stop_n = q->ignore_end ? 0 : find_stops(stop, j);
    int64_t begun = 0;
    int rc;
    if (!x) return HPC_E_NOMEM;
    TRY(check_length(j));
    if (q->most > j->a->capacity - q->prompt.n) q->most = j->a->capacity - q->prompt.n;
    for (int64_t k = 0; k < q->answers; k++) {
        x[k] = (writing){.j = j, .r = &j->result[k], .k = k};
        TRY(hpc_text_create(&x[k].text, j->a->tokenizer, q->stop, j->route->chat));
    }
    for (; begun < q->answers; begun++) TRY(submit(&x[begun], stop, stop_n));
out:
    /* A client may have left before its job was submitted. */
    if (rc < 0 || __atomic_load_n(&j->cancel, __ATOMIC_ACQUIRE))
        hpc_scheduler_cancel_client(j->a->scheduler, hpc_http_client(j->r));
    wait_for(j, begun);
    for (int64_t k = 0; k < q->answers; k++) hpc_text_free(x[k].text);
    hpc_free(x);
    if (rc >= 0 && j->error.code != HPC_OK) rc = hpc_error_adopt(&j->error);
    return rc;
}
