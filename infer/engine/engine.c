/*
 * engine.c: requests, and the tokens that each step computes for them.
 *
 * A request that has begun holds pages for its longest possible text, so it is never evicted. The
 * logits of the last token are always computed, so the last page of a known prompt does not come
 * from the cache.
 */
#include "infer/engine/priv.h"

#include <string.h>

/* ---- opening --------------------------------------------------------------------------------- */

int hpc_engine_open(hpc_engine **out, const hpc_engine_options *o)
{
    hpc_engine *e = hpc_alloc(1, sizeof *e);
    int rc;

    *out = NULL;
    if (!e) return HPC_E_NOMEM;
    TRY(engine_model_open(&e->m, o));
    TRY(engine_batch_create(&e->batch, &e->m));
    TRY(hpc_pages_create(&e->pages, e->m.shape.pages, ENGINE_PAGE));
    TRY(hpc_sampler_create(&e->sampler, e->m.c.vocab));
    e->guess = o->guess;
    *out = e;
    return HPC_OK;
out:
    hpc_engine_close(e);
    return rc;
}

static void release(hpc_engine *e, running *x)
{
    if (x->begun) hpc_pages_end(e->pages, &x->past);
    hpc_free(x->text);
    *x = (running){0};
}

void hpc_engine_close(hpc_engine *e)
{
    if (!e) return;
    for (int64_t k = 0; k < e->n; k++) release(e, &e->list[k]);
    hpc_free(e->list);
    hpc_sampler_free(e->sampler);
    hpc_pages_free(e->pages);
    engine_batch_free(&e->batch, &e->m);
    engine_model_close(&e->m);
    hpc_free(e);
}

const hpc_model_config *hpc_engine_config(const hpc_engine *e)
{
    return &e->m.c;
}

int64_t hpc_engine_cached(const hpc_engine *e, const int32_t *token, int64_t n)
{
    return hpc_pages_known(e->pages, token, n - 1);
}

hpc_engine_counts hpc_engine_counts_of(const hpc_engine *e)
{
    hpc_engine_counts c = e->counts;

    for (int64_t k = 0; k < e->n; k++) (*(e->list[k].begun ? &c.running : &c.waiting))++;
    return c;
}

hpc_engine_facts hpc_engine_facts_of(const hpc_engine *e)
{
    const hpc_device_info d = hpc_device_about(e->m.d);

    return (hpc_engine_facts){.mapped = e->m.packed && d.host_memory,
                              .backend = d.backend,
                              .isa = d.isa,
                              .threads = d.threads,
                              .bytes = d.alloc_bytes,
                              .note = e->m.note.n > 0 ? e->m.note.data : NULL,
                              .fences = d.fence_n,
                              .to_host = d.to_host_bytes};
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Tokens that a text may have: of the model's positions, and of the cache. */
static int64_t room(const hpc_engine *e)
{
    int64_t cache = e->m.shape.sequence_pages * ENGINE_PAGE;

    return cache < e->m.c.positions ? cache : e->m.c.positions;
}

static int check_request(const hpc_engine *e, const hpc_request *r)
{
    if (r->n < 1 || r->most < 1)
        return hpc_fail(HPC_E_ARG, "a request needs at least one prompt token and one new token");
    if (r->n > room(e))
        return hpc_fail(HPC_E_ARG, "a text of %lld tokens: model and cache allow %lld",
                        (long long)r->n, (long long)room(e));
    for (int64_t k = 0; k < r->n; k++)
        if (r->token[k] < 0 || r->token[k] >= e->m.c.vocab)
            return hpc_fail(HPC_E_ARG, "token %d: the vocabulary of the model has %lld",
                            r->token[k], (long long)e->m.c.vocab);
    int rc = hpc_bias_check(r->bias, r->bias_n, e->m.c.vocab);
    return rc < 0 ? rc : hpc_sampling_check(&r->sampling);
}

int hpc_engine_submit(hpc_engine *e, const hpc_request *r, int64_t *id)
{
    int64_t most = room(e) - r->n + 1; /* the last token that is made need not be computed */
    int rc;

    TRY(check_request(e, r));
    TRY(hpc_grow(&e->list, &e->cap, e->n + 1, sizeof *e->list));
    running x = {.r = *r, .id = ++e->next_id, .n = r->n};
    if (x.r.most > most) x.r.most = most;
    x.text = hpc_alloc((size_t)(r->n + x.r.most), sizeof *x.text);
    if (!x.text) TRY(HPC_E_NOMEM);
    memcpy(x.text, r->token, (size_t)r->n * sizeof *x.text);
    e->list[e->n++] = x;
    *id = x.id;
out:
    return rc;
}

void hpc_engine_cancel(hpc_engine *e, int64_t id)
{
    for (int64_t k = 0; k < e->n; k++)
        if (e->list[k].id == id) e->list[k].cancelled = true;
}

static void finish(hpc_engine *e, running *x, hpc_finish how, int32_t token)
{
    hpc_request r = x->r;

    if (x->begun) hpc_pages_settle(e->pages, &x->past, x->text, x->done);
    release(e, x);
    x->over = true;
    if (r.ended) r.ended(r.user, how, token);
}

static void drop_finished(hpc_engine *e)
{
    int64_t n = 0;

    for (int64_t k = 0; k < e->n; k++) {
        if (e->list[k].cancelled && !e->list[k].over)
            finish(e, &e->list[k], HPC_FINISH_CANCELLED, -1);
        if (!e->list[k].over) e->list[n++] = e->list[k];
    }
    e->n = n;
}

/* ---- a step: who, and of each how much --------------------------------------------------------
 */

/* Tokens of whole pages that two texts begin with. */
static int64_t shared(const running *x, const running *y)
{
    int64_t most = x->n - 1 < y->n ? x->n - 1 : y->n, n = 0;

    while (n < most && x->text[n] == y->text[n]) n++;
    return n / ENGINE_PAGE * ENGINE_PAGE;
}

/* A running request computes pages that x begins with: x waits, and takes them from the cache. */
static bool is_computed_by_another(const hpc_engine *e, const running *x)
{
    int64_t known = hpc_pages_known(e->pages, x->text, x->n - 1);

    for (int64_t k = 0; k < e->n; k++) {
        const running *y = &e->list[k];
        if (y->begun && y->done < y->n && shared(x, y) > known) return true;
    }
    return false;
}

/* Those that wait begin, in their order, while there are places and pages. */
static int begin_waiting(hpc_engine *e)
{
    int64_t places = e->m.shape.sequences;

    for (int64_t k = 0; k < e->n && places > 0; k++, places--) {
        running *x = &e->list[k];
        int64_t found;
        if (x->begun || is_computed_by_another(e, x)) continue;
        int rc = hpc_pages_begin(e->pages, &x->past, x->text, x->n - 1, &found);
        if (rc < 0) return rc;
        rc = hpc_pages_reserve(e->pages, &x->past, x->n + x->r.most - 1);
        x->begun = rc >= 0;
        if (!x->begun) hpc_pages_end(e->pages, &x->past);
        if (rc == HPC_E_STATE) { /* others have to end first */
            hpc_error_clear();
            return HPC_OK;
        }
        if (rc < 0) return rc;
        x->done = found;
        e->counts.reused += found;
        if (x->r.progress) x->r.progress(x->r.user, found);
    }
    return HPC_OK;
}

/* Least number of matching tokens for a draft, and a number above which more matches add no
 * evidence. */
enum { ALIKE = 1, ALIKE_MOST = 32 };

/* Number of tokens before this position that equal the last tokens of the text. */
static int64_t alike_before(const running *x, int64_t at)
{
    int64_t n = 0;

    while (n < at && n < ALIKE_MOST && x->text[at - 1 - n] == x->text[x->n - 1 - n]) n++;
    return n;
}

/* Appends a draft: the tokens after the longest earlier match of the last tokens (the latest of
 * equal length), as many as match. Returns the number of drafted tokens. */
static int64_t guess_ahead(running *x, int64_t most)
{
    int64_t left = x->r.most - x->made - 1, found = 0, alike = ALIKE - 1;

    if (most > left) most = left;
    for (int64_t at = x->n - 1; at >= ALIKE && most > 0 && alike < ALIKE_MOST; at--) {
        int64_t n = alike_before(x, at);
        if (n > alike) alike = n, found = at;
    }
    if (found == 0) return 0;
    if (most > alike) most = alike;
    for (int64_t k = 0; k < most; k++) x->text[x->n + k] = x->text[found + k];
    return most > 0 ? most : 0;
}

/* Each returns the tokens that the step has left. */
static int64_t share_single_tokens(hpc_engine *e, int64_t left)
{
    for (int64_t k = 0; k < e->n; k++) {
        running *x = &e->list[k];
        x->take = x->wants = x->guessed = 0;
        if (!x->begun || x->n - x->done > 1 || left == 0) continue;
        x->take = x->wants = 1;
        left--;
    }
    return left;
}

static int64_t share_prompts(hpc_engine *e, int64_t left, const hpc_engine_step_options *o)
{
    bool limited = o->prompt_tokens > 0 && o->prompt_tokens < left;
    int64_t first = 0, most = limited ? o->prompt_tokens : left, rest = most;

    for (int64_t k = 0; k < e->n; k++)
        if (e->list[k].id == o->first) first = k;
    for (int64_t k = 0; k < e->n; k++) {
        running *x = &e->list[(first + k) % e->n];
        int64_t missing = x->n - x->done;
        if (!x->begun || missing <= 1) continue;
        x->take = missing < rest ? missing : rest;
        x->wants = x->take == missing;
        rest -= x->take;
    }
    return left - (most - rest);
}

/* Decoding comes first, then prompts; guessed tokens get the rest. Guesses per text shrink as the
 * number of texts grows, because wrong ones cost more then. */
static void share_out(hpc_engine *e, const hpc_engine_step_options *o)
{
    int64_t left = share_single_tokens(e, e->m.shape.tokens), texts = 0;

    left = share_prompts(e, left, o);
    for (int64_t k = 0; k < e->n; k++) texts += e->list[k].wants > 0;
    for (int64_t k = 0; k < e->n; k++) {
        running *x = &e->list[k];
        if (x->wants == 0) continue;
        int64_t most = e->guess / texts;
        x->guessed = guess_ahead(x, most < left ? most : left);
        x->take += x->guessed;
        x->wants += x->guessed;
        left -= x->guessed;
    }
}

/* Rows of a request that needs no earlier tokens, no state and no logits are drawn by the device,
 * if it draws. */
static bool is_drawn_by_device(const hpc_engine *e, const hpc_request *r)
{
    return e->batch.how && !r->allowed && !r->logits && r->bias_n == 0 && r->sampling.repeat == 1;
}

/* Asks for the logits after the last `wants` tokens of the batch. */
static void add_outputs(hpc_engine *e, const running *x)
{
    engine_batch *b = &e->batch;
    const bool draws = is_drawn_by_device(e, &x->r);

    for (int64_t k = 0; k < x->wants; k++, b->output_n++) {
        b->output[b->output_n] = (int32_t)(b->token_n - x->wants + k);
        b->reads[b->output_n] = !draws;
        if (!b->how) continue;
        b->how[b->output_n] = (hpc_sample_how){0};
        if (draws)
            b->how[b->output_n] = sample_how(&x->r.sampling, x->r.sample, (uint32_t)(x->n + k));
    }
}

static void add_to_batch(hpc_engine *e, const running *x)
{
    engine_batch *b = &e->batch;
    int64_t row = b->sequence_n * e->m.shape.sequence_pages;

    for (int64_t i = x->done; i < x->done + x->take; i++, b->token_n++) {
        b->token[b->token_n] = x->text[i];
        b->pos[b->token_n] = (int32_t)i;
        b->slot[b->token_n] =
            (int32_t)(x->past.page[i / ENGINE_PAGE] * ENGINE_PAGE + i % ENGINE_PAGE);
    }
    memcpy(b->page + row, x->past.page, (size_t)x->past.page_n * sizeof *b->page);
    b->len[b->sequence_n++] = (int32_t)(x->done + x->take);
    b->start[b->sequence_n] = (int32_t)b->token_n;
    add_outputs(e, x);
}

static void fill_batch(hpc_engine *e)
{
    engine_batch *b = &e->batch;

    b->token_n = b->sequence_n = b->output_n = 0;
    for (int64_t k = 0; k < e->n; k++)
        if (e->list[k].take > 0) add_to_batch(e, &e->list[k]);
}

/* ---- what comes of it ------------------------------------------------------------------------ */

static bool stops(const hpc_request *r, int32_t token)
{
    for (int64_t k = 0; k < r->stop_n; k++)
        if (r->stop[k] == token) return true;
    return false;
}

static int draw_on_host(hpc_engine *e, const running *x, int64_t row, int32_t *token,
                        float *logprob)
{
    const hpc_request *r = &x->r;
    hpc_choice c = {.logits = e->batch.logits + row * e->m.c.vocab,
                    .allowed = r->allowed ? r->allowed(r->user) : NULL,
                    .bias = r->bias,
                    .bias_n = r->bias_n,
                    .past = x->text,
                    .past_n = x->n,
                    .sample = r->sample,
                    .position = (uint32_t)x->n};
    return hpc_sampler_draw(e->sampler, &r->sampling, &c, token, logprob);
}

/* The token of a row. Where the device found none, the host finds out why. */
static int draw(hpc_engine *e, const running *x, int64_t row, int32_t *token, float *logprob)
{
    engine_batch *b = &e->batch;

    if (!b->reads[row] && b->drawn[row] >= 0) {
        *token = b->drawn[row];
        *logprob = b->logprob[row];
        return HPC_OK;
    }
    int rc = b->reads[row] ? HPC_OK : engine_model_read(&e->m, b, row);
    return rc < 0 ? rc : draw_on_host(e, x, row, token, logprob);
}

/* Takes the next token, from a row of the batch. */
static int go_on(hpc_engine *e, running *x, int64_t row)
{
    const hpc_request *r = &x->r;
    float logprob;
    int32_t token;
    int rc = draw(e, x, row, &token, &logprob);

    if (rc < 0) {
        finish(e, x, HPC_FINISH_ERROR, -1);
        return rc;
    }
    if (stops(r, token)) {
        finish(e, x, HPC_FINISH_STOP, token);
        return HPC_OK;
    }
    x->text[x->n++] = token;
    x->made++;
    if (r->logits) r->logits(r->user, e->batch.logits + row * e->m.c.vocab, e->m.c.vocab);
    if (r->token_made(r->user, token, logprob))
        finish(e, x, HPC_FINISH_CALLER, -1);
    else if (x->made == r->most)
        finish(e, x, HPC_FINISH_LENGTH, -1);
    return HPC_OK;
}

/* From each row a token, as long as drafted tokens equal the drawn ones. */
static int tell(hpc_engine *e, running *x, int64_t row)
{
    int64_t wants = x->wants;

    x->done += x->take - x->guessed;
    e->counts.guessed += x->guessed;
    e->counts.drafts += x->guessed > 0;
    if (x->made == 0 && x->r.progress) x->r.progress(x->r.user, x->done);
    for (int64_t k = 0; k < wants; k++) {
        int32_t guess = x->text[x->n];
        int rc = go_on(e, x, row + k);
        if (rc < 0 || x->over) return rc;
        if (k + 1 == wants || x->text[x->n - 1] != guess) break;
        x->done++;
        e->counts.right++;
    }
    hpc_pages_settle(e->pages, &x->past, x->text, x->done);
    return HPC_OK;
}

/* Passes the results to all requests, even if one fails. */
static int tell_all(hpc_engine *e)
{
    int64_t row = 0;
    int failed = HPC_OK;

    for (int64_t k = 0; k < e->n; k++) {
        int64_t wants = e->list[k].wants;
        if (e->list[k].take == 0) continue;
        int rc = tell(e, &e->list[k], row);
        if (failed == HPC_OK) failed = rc;
        row += wants;
    }
    return failed;
}

int hpc_engine_step(hpc_engine *e, bool *busy)
{
    return hpc_engine_step_with(e, &(hpc_engine_step_options){0}, busy);
}

int hpc_engine_step_with(hpc_engine *e, const hpc_engine_step_options *o, bool *busy)
{
    int rc;

    drop_finished(e);
    *busy = e->n > 0;
    TRY(begin_waiting(e));
    share_out(e, o);
    fill_batch(e);
    if (e->batch.token_n > 0) {
        TRY(engine_model_run(&e->m, &e->batch));
        e->counts.steps++;
        e->counts.computed += e->batch.token_n;
        rc = tell_all(e);
    }
    drop_finished(e);
    *busy = e->n > 0;
out:
    return rc;
}
