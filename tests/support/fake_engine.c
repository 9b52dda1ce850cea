/*
 * fake_engine.c: an engine whose steps a test allows one by one.
 */
#include "tests/support/fake_engine.h"

#include <string.h>

/* ---- the clock and the gate -------------------------------------------------------------------
 */

int64_t fake_now(void *user)
{
    fake_engine *f = user;
    return __atomic_load_n(&f->clock_ns, __ATOMIC_SEQ_CST);
}

void fake_permit(fake_engine *f, int64_t steps)
{
    pthread_mutex_lock(&f->lock);
    f->permits = steps < 0 ? -1 : f->permits + steps;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

/* Until the engine thread is at the gate and has used all permits. */
void fake_await_gate(fake_engine *f)
{
    pthread_mutex_lock(&f->lock);
    while (!f->waits || f->permits != 0) pthread_cond_wait(&f->changed, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

void fake_steps(fake_engine *f, int64_t steps)
{
    fake_permit(f, steps);
    fake_await_gate(f);
}

static void fake_pass_gate(fake_engine *f)
{
    pthread_mutex_lock(&f->lock);
    f->waits = true;
    pthread_cond_broadcast(&f->changed);
    while (f->permits == 0) pthread_cond_wait(&f->changed, &f->lock);
    if (f->permits > 0) f->permits--;
    f->waits = false;
    pthread_mutex_unlock(&f->lock);
}

/* ---- the functions of the scheduler's table ---------------------------------------------------
 */

static int fake_open(void **e, void *user, int threads)
{
    fake_engine *f = user;
    pthread_mutex_lock(&f->lock);
    int error = f->open_error;
    f->opened++;
    f->threads = threads;
    f->is_open = error == 0;
    f->n = 0;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    *e = f;
    return error ? hpc_fail(error, "no such model (%d threads)", threads) : HPC_OK;
}

static void fake_close(void *e)
{
    fake_engine *f = e;
    pthread_mutex_lock(&f->lock);
    f->closed++;
    f->is_open = false;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static int fake_submit(void *e, const hpc_request *r, int64_t *id)
{
    fake_engine *f = e;
    if (r->n > FAKE_PROMPT || f->n == FAKE_REQUESTS) return hpc_fail(HPC_E_ARG, "too large");
    fake_request *x = &f->list[f->n++];
    *x = (fake_request){.r = *r, .id = ++f->next_id};
    memcpy(x->text, r->token, (size_t)r->n * sizeof *r->token);
    *id = x->id;
    return HPC_OK;
}

static void fake_cancel(void *e, int64_t id)
{
    fake_engine *f = e;
    for (int k = 0; k < f->n; k++)
        if (f->list[k].id == id) f->list[k].cancelled = true;
}

static void fake_remove(fake_engine *f, int64_t id, hpc_finish how)
{
    for (int k = 0; k < f->n; k++) {
        if (f->list[k].id != id) continue;
        const hpc_request r = f->list[k].r;
        f->list[k] = f->list[--f->n];
        r.ended(r.user, how, -1);
        return;
    }
}

static int64_t fake_by_id(const fake_engine *f, int64_t from)
{
    int64_t best = INT64_MAX;
    for (int k = 0; k < f->n; k++)
        if (f->list[k].id >= from && f->list[k].id < best) best = f->list[k].id;
    return best;
}

static fake_request *fake_find(fake_engine *f, int64_t id)
{
    for (int k = 0; k < f->n; k++)
        if (f->list[k].id == id) return &f->list[k];
    return NULL;
}

/* Token k of an answer: a function of the first token of the prompt. */
int32_t fake_token(int32_t first, int64_t k)
{
    return (int32_t)((first * 31 + k * 7) % FAKE_VOCAB);
}

static void fake_make(fake_engine *f, fake_request *x)
{
    int64_t id = x->id;
    int32_t token = fake_token(x->text[0], x->made++) % f->vocab;
    f->step[f->steps].made++;
    if (x->r.token_made(x->r.user, token, -1))
        fake_remove(f, id, HPC_FINISH_CALLER);
    else if (x->made == x->r.most)
        fake_remove(f, id, HPC_FINISH_LENGTH);
}

static void fake_read(fake_engine *f, fake_request *x, int64_t *left)
{
    fake_step *t = &f->step[f->steps];
    int64_t n = x->r.n - x->done < *left ? x->r.n - x->done : *left;
    if (n == 0) return;
    if (t->prompt == 0) t->first = x->text[0];
    t->prompt += n;
    x->done += n;
    *left -= n;
    x->r.progress(x->r.user, x->done);
}

/* Those that decode, then prompts from `first` on. */
static void fake_compute(fake_engine *f, const hpc_engine_step_options *o)
{
    int64_t left = o->prompt_tokens, last = f->next_id;
    bool decodes[FAKE_REQUESTS + 1] = {false};
    f->step[f->steps] = (fake_step){.limit = o->prompt_tokens, .first = -1};
    for (int64_t id = fake_by_id(f, 0), k = 0; id <= last && k < FAKE_REQUESTS;
         id = fake_by_id(f, id + 1), k++)
        decodes[k] = fake_find(f, id)->done == fake_find(f, id)->r.n;
    int64_t ids[FAKE_REQUESTS], n = 0;
    for (int64_t id = fake_by_id(f, 0); id <= last; id = fake_by_id(f, id + 1)) ids[n++] = id;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t k = 0; k < n; k++) {
            fake_request *x = fake_find(f, ids[k]);
            if (x && !decodes[k] && (pass == 0) == (ids[k] >= o->first)) fake_read(f, x, &left);
        }
    const fake_step *t = &f->step[f->steps];
    __atomic_add_fetch(&f->clock_ns, f->step_ns + t->prompt * f->token_ns, __ATOMIC_SEQ_CST);
    for (int64_t k = 0; k < n; k++) {
        fake_request *x = fake_find(f, ids[k]);
        if (x && x->done == x->r.n) fake_make(f, x);
    }
}

static int64_t fake_cached(const void *e, const int32_t *token, int64_t n)
{
    const fake_engine *f = e;
    return token[0] == f->known_first && f->known < n ? f->known : 0;
}

static int fake_identity(hpc_hash128 *out, void *e)
{
    (void)e;
    *out = (hpc_hash128){.low = 1};
    return HPC_OK;
}

static int fake_export(hpc_buf *out, void *e, const int32_t *token, int64_t n, int64_t from)
{
    (void)e, (void)token, (void)n, (void)from;
    return hpc_buf_text(out, "cache");
}

static int fake_import(void *e, const int32_t *token, int64_t n, int64_t from, const void *data,
                       size_t bytes)
{
    fake_engine *f = e;
    (void)from;
    hpc_assert(bytes == 5 && memcmp(data, "cache", 5) == 0);
    f->known_first = token[0];
    f->known = n;
    f->import_step[f->imports++ % 16] = f->steps;
    __atomic_add_fetch(&f->clock_ns, f->import_ns, __ATOMIC_SEQ_CST);
    return HPC_OK;
}

static int64_t fake_text(int32_t *token, int64_t cap, const void *e, int64_t *at)
{
    (void)token, (void)cap, (void)e, (void)at;
    return 0;
}

static int fake_step_run(void *e, const hpc_engine_step_options *o, bool *busy)
{
    fake_engine *f = e;
    fake_pass_gate(f);
    if (f->step_error) {
        int error = f->step_error;
        f->step_error = 0;
        return hpc_fail(error, "the device broke");
    }
    for (int k = f->n; k-- > 0;)
        if (f->list[k].cancelled) fake_remove(f, f->list[k].id, HPC_FINISH_CANCELLED);
    for (int k = 0; k < f->n; k++) {
        fake_request *x = &f->list[k];
        if (x->begun) continue;
        x->begun = true;
        x->done = fake_cached(f, x->text, x->r.n);
        x->r.progress(x->r.user, x->done);
    }
    fake_compute(f, o);
    hpc_assert(++f->steps < FAKE_STEPS);
    *busy = f->n > 0;
    return HPC_OK;
}

static int fake_cores(void *user)
{
    fake_engine *f = user;
    return __atomic_load_n(&f->cores, __ATOMIC_SEQ_CST);
}

hpc_scheduler_backend fake_backend(fake_engine *f)
{
    return (hpc_scheduler_backend){.open = fake_open,
                                   .close = fake_close,
                                   .submit = fake_submit,
                                   .cancel = fake_cancel,
                                   .step = fake_step_run,
                                   .cached = fake_cached,
                                   .cache_identity = fake_identity,
                                   .cache_export = fake_export,
                                   .cache_import = fake_import,
                                   .cache_text = fake_text,
                                   .now_ns = fake_now,
                                   .cores = fake_cores,
                                   .user = f};
}

void fake_init(fake_engine *f)
{
    memset(f, 0, sizeof *f);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    f->step_ns = 10000000;
    f->token_ns = 1000000;
    f->clock_ns = 1;
    f->cores = 4;
    f->vocab = FAKE_VOCAB;
}
