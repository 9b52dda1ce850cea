/*
 * The KV cache on disk: restored before a job starts, saved while no job runs.
 */
#include "infer/serve/scheduler_priv.h"

static const int64_t DAY_S = 86400;

static bool is_wanted(const hpc_scheduler *s)
{
    return s->o.kv_folder && s->backend.cache_identity && s->backend.cache_import;
}

/* Without a store the scheduler works as well, only slower after a restart. */
static void give_up(hpc_scheduler *s)
{
    if (s->o.failed) s->o.failed(s->o.user, hpc_error_get());
    hpc_error_clear();
    hpc_kv_store_close(s->store);
    s->store = NULL;
}

void scheduler_kv_open(hpc_scheduler *s)
{
    hpc_kv_store_options o = {.folder = s->o.kv_folder,
                              .bytes = s->o.kv_bytes,
                              .expire_s = s->o.kv_days * DAY_S,
                              .segment = s->o.kv_segment};
    if (!is_wanted(s) || s->store) return;
    if (s->backend.cache_identity(&o.identity, s->engine) < 0 ||
        hpc_kv_store_open(&s->store, &o) < 0)
        give_up(s);
}

static void note_files(hpc_scheduler *s, int64_t saved, int64_t restored)
{
    pthread_mutex_lock(&s->lock);
    s->total.kv_files = hpc_kv_store_files(s->store);
    s->total.kv_file_bytes = hpc_kv_store_bytes(s->store);
    s->total.kv_saved += saved;
    s->total.kv_restored += restored;
    pthread_mutex_unlock(&s->lock);
}

void scheduler_kv_restore(hpc_scheduler *s, const int32_t *token, int64_t n)
{
    const int64_t segment = s->o.kv_segment;
    if (!s->store) return;
    int64_t cached = s->backend.cached(s->engine, token, n);
    for (int64_t from = cached / segment * segment; from + segment < n; from += segment) {
        bool found;
        s->restores = hpc_kv_store_has(s->store, token, from + segment) &&
                      scheduler_now(s) >= s->restore_until;
        if (s->restores) return;
        if (hpc_kv_store_get(&s->kv, &found, s->store, token, from + segment) < 0 || !found ||
            s->backend.cache_import(s->engine, token, from + segment, from, s->kv.data, s->kv.n) <
                0)
            break;
        note_files(s, 0, segment);
    }
    hpc_error_clear();
}

static bool is_interrupted(hpc_scheduler *s)
{
    pthread_mutex_lock(&s->lock);
    bool busy = s->alive_n > 0 || s->closing;
    pthread_mutex_unlock(&s->lock);
    return busy;
}

static int save_segment(hpc_scheduler *s, const int32_t *token, int64_t n)
{
    const int64_t segment = s->o.kv_segment;
    int rc = HPC_OK;
    if (hpc_kv_store_has(s->store, token, n)) return HPC_OK;
    s->kv.n = 0;
    TRY(s->backend.cache_export(&s->kv, s->engine, token, n, n - segment));
    TRY(hpc_kv_store_put(s->store, token, n, s->kv.data, s->kv.n));
    note_files(s, segment, 0);
out:
    return rc;
}

/* *left: it stopped before the end. */
static int save(hpc_scheduler *s, int32_t *token, bool all, bool *left)
{
    int64_t at = 0, n;
    int rc = HPC_OK;
    while ((n = s->backend.cache_text(token, s->capacity, s->engine, &at)) > 0)
        for (int64_t end = s->o.kv_segment; end <= n && n <= s->capacity; end += s->o.kv_segment) {
            *left = !all && is_interrupted(s);
            if (*left) return HPC_OK;
            TRY(save_segment(s, token, end));
        }
out:
    return rc;
}

void scheduler_kv_save(hpc_scheduler *s, bool all)
{
    bool left = false;
    if (s->saved || !s->engine || !s->store) return;
    int32_t *token = hpc_alloc((size_t)s->capacity, sizeof *token);
    if (!token || save(s, token, all, &left) < 0) give_up(s);
    hpc_free(token);
    s->saved = !left;
}
