/*
 * scheduler_engine.c: the function table through which the scheduler uses the engine.
 */
#include "infer/serve/scheduler_priv.h"

static int open_engine(void **out, void *user, int threads)
{
    const hpc_scheduler *s = user;
    hpc_engine_options o = s->o.engine;
    hpc_engine *e = NULL;
    o.threads = threads;
    if (s->files) o.files = s->files;
    int rc = hpc_engine_open(&e, &o);
    *out = e;
    return rc;
}

static void close_engine(void *e)
{
    hpc_engine_close(e);
}

static int submit(void *e, const hpc_request *r, int64_t *id)
{
    return hpc_engine_submit(e, r, id);
}

static void cancel(void *e, int64_t id)
{
    hpc_engine_cancel(e, id);
}

static int step(void *e, const hpc_engine_step_options *o, bool *busy)
{
    return hpc_engine_step_with(e, o, busy);
}

static int64_t cached(const void *e, const int32_t *token, int64_t n)
{
    return hpc_engine_cached(e, token, n);
}

static hpc_engine_counts counts(const void *e)
{
    return hpc_engine_counts_of(e);
}

static int64_t now_ns(void *user)
{
    (void)user;
    return hpc_clock_ns();
}

static int cache_identity(hpc_hash128 *out, void *e)
{
    return hpc_engine_cache_identity(out, e);
}

static int cache_export(hpc_buf *out, void *e, const int32_t *token, int64_t n, int64_t from)
{
    return hpc_engine_cache_export(out, e, token, n, from);
}

static int cache_import(void *e, const int32_t *token, int64_t n, int64_t from, const void *data,
                        size_t bytes)
{
    return hpc_engine_cache_import(e, token, n, from, data, bytes);
}

static int64_t cache_text(int32_t *token, int64_t cap, const void *e, int64_t *at)
{
    return hpc_engine_cache_text(token, cap, e, at);
}

const hpc_scheduler_backend scheduler_engine_backend = {.open = open_engine,
                                                        .close = close_engine,
                                                        .submit = submit,
                                                        .cancel = cancel,
                                                        .step = step,
                                                        .cached = cached,
                                                        .counts = counts,
                                                        .now_ns = now_ns,
                                                        .cache_identity = cache_identity,
                                                        .cache_export = cache_export,
                                                        .cache_import = cache_import,
                                                        .cache_text = cache_text};
