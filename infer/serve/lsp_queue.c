/*
 * Queues of the language server: one worker thread each, in order of arrival, with jobs that later
 * ones supersede.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "infer/serve/lsp_priv.h"

void lsp_job_free(lsp_job *j)
{
    if (!j) return;
    hpc_json_free(j->message);
    hpc_free(j->uri);
    hpc_free(j->document.uri);
    hpc_free(j->document.path);
    hpc_buf_release(&j->document.text);
    hpc_free(j);
}

static void wait_until(lsp_queue *q, int64_t ns)
{
    struct timespec t;
    int64_t left = ns - hpc_clock_ns();
    if (left <= 0) return;
    clock_gettime(CLOCK_REALTIME, &t);
    left += t.tv_nsec;
    t.tv_sec += left / 1000000000;
    t.tv_nsec = left % 1000000000;
    pthread_cond_timedwait(&q->changed, &q->lock, &t);
}

/* The first job that is due. NULL: *next is the time of the earliest one; 0: the queue is empty. */
static lsp_job *take_due(lsp_queue *q, int64_t *next)
{
    const int64_t now = hpc_clock_ns();
    *next = 0;
    for (lsp_job **at = &q->first; *at; at = &(*at)->next) {
        lsp_job *j = *at;
        if (j->due_ns <= now) {
            *at = j->next;
            return j;
        }
        if (*next == 0 || j->due_ns < *next) *next = j->due_ns;
    }
    return NULL;
}

/* Waits until a job is due; NULL: the queue is closed. Called with the lock. */
static lsp_job *take(lsp_queue *q)
{
    int64_t next;
    while (!q->closed) {
        q->running = take_due(q, &next);
        if (q->running) return q->running;
        if (next == 0)
            pthread_cond_wait(&q->changed, &q->lock);
        else
            wait_until(q, next);
    }
    return NULL;
}

static void *run(void *user)
{
    lsp_queue *q = user;
    lsp_job *j;
    pthread_mutex_lock(&q->lock);
    while ((j = take(q))) {
        pthread_mutex_unlock(&q->lock);
        q->work(q->server, j);
        pthread_mutex_lock(&q->lock);
        q->running = NULL;
        lsp_job_free(j);
    }
    pthread_mutex_unlock(&q->lock);
    if (q->end) q->end(q->server);
    return NULL;
}

int lsp_queue_open(lsp_queue *q, lsp_server *s, void (*work)(lsp_server *, lsp_job *),
                   void (*end)(lsp_server *))
{
    *q = (lsp_queue){.server = s, .work = work, .end = end};
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
    if (pthread_create(&q->thread, NULL, run, q) != 0)
        return hpc_fail_os(HPC_E_IO, "cannot start a thread of the language server");
    q->started = true;
    return HPC_OK;
}

void lsp_queue_close(lsp_queue *q)
{
    if (!q->started) return;
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    if (q->running) __atomic_store_n(&q->running->cancel, 1, __ATOMIC_RELAXED);
    pthread_cond_signal(&q->changed);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->thread, NULL);
    for (lsp_job *j = q->first, *next; j; j = next) {
        next = j->next;
        lsp_job_free(j);
    }
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->changed);
    q->started = false;
}

/* Completions, pushed diagnostics and hints are for the newest text alone. */
static bool supersedes(const lsp_job *j, const lsp_job *earlier)
{
    bool kind = j->kind == LSP_INLINE_COMPLETION || j->kind == LSP_COMPLETION ||
                j->kind == LSP_PUSH_DIAGNOSTICS || j->kind == LSP_PUSH_AGAIN || j->kind == LSP_PERF;
    return kind && earlier->kind == j->kind && strcmp(j->uri, earlier->uri) == 0;
}

void lsp_queue_put(lsp_queue *q, lsp_job *j)
{
    lsp_job *dropped = NULL;
    pthread_mutex_lock(&q->lock);
    if (q->running && supersedes(j, q->running))
        __atomic_store_n(&q->running->cancel, 1, __ATOMIC_RELAXED);
    lsp_job **at = &q->first;
    while (*at) {
        lsp_job *x = *at;
        if (supersedes(j, x)) {
            *at = x->next;
            x->next = dropped;
            dropped = x;
        } else {
            at = &x->next;
        }
    }
    *at = j;
    pthread_cond_signal(&q->changed);
    pthread_mutex_unlock(&q->lock);
    for (lsp_job *next; dropped; dropped = next) {
        next = dropped->next;
        if (dropped->id) lsp_answer_null(q->server, dropped->id);
        lsp_job_free(dropped);
    }
}

static bool same_id(const hpc_json *a, const hpc_json *b)
{
    int64_t x, y;
    const char *s, *t;
    if (hpc_json_kind_of(a) != hpc_json_kind_of(b)) return false;
    if (hpc_json_kind_of(a) == HPC_JSON_INT)
        return hpc_json_int(&x, a, "id") >= 0 && hpc_json_int(&y, b, "id") >= 0 && x == y;
    return hpc_json_kind_of(a) == HPC_JSON_TEXT && hpc_json_text(&s, a, "id") >= 0 &&
           hpc_json_text(&t, b, "id") >= 0 && strcmp(s, t) == 0;
}

bool lsp_queue_cancel(lsp_queue *q, const hpc_json *id)
{
    lsp_job *found = NULL;
    bool known = false;
    pthread_mutex_lock(&q->lock);
    if (q->running && q->running->id && same_id(q->running->id, id)) {
        __atomic_store_n(&q->running->cancel, 2, __ATOMIC_RELAXED);
        known = true;
    }
    for (lsp_job **at = &q->first; *at && !found; at = &(*at)->next) {
        if (!(*at)->id || !same_id((*at)->id, id)) continue;
        found = *at;
        *at = found->next;
        if (!*at) break;
    }
    pthread_mutex_unlock(&q->lock);
    if (found) lsp_answer_error(q->server, found->id, LSP_CANCELLED, "cancelled");
    lsp_job_free(found);
    return known || found;
}

void lsp_queue_drop(lsp_queue *q, const char *uri)
{
    pthread_mutex_lock(&q->lock);
    if (q->running && !q->running->id && strcmp(q->running->uri, uri) == 0)
        __atomic_store_n(&q->running->cancel, 1, __ATOMIC_RELAXED);
    for (lsp_job **at = &q->first; *at;) {
        lsp_job *x = *at;
        if (x->id || strcmp(x->uri, uri) != 0) {
            at = &x->next;
            continue;
        }
        *at = x->next;
        lsp_job_free(x);
    }
    pthread_mutex_unlock(&q->lock);
}
