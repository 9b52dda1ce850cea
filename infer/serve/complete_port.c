/*
 * Completions whose answers are jobs of a scheduler: callbacks run on the engine thread under the
 * port's lock, which hpc_complete gives up only while it waits.
 */
#include "infer/serve/complete_port.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { LOOK_MS = 20 }; /* the caller's `cancel` is looked at this often */

typedef struct port_request {
    struct port_request *next;
    hpc_scheduler_port *p;
    hpc_request r;
    int64_t done; /* tokens of its prompt */
    bool begun, ended;
} port_request;

struct hpc_scheduler_port {
    hpc_complete_port port;
    hpc_scheduler *s;
    hpc_job like;
    char *document;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool event; /* since the last step */
    port_request *first;
    int64_t alive;
    hpc_engine_counts counts;
    hpc_error error; /* of a job */
    bool superseded;
    int64_t slot; /* of the last job that ended */
};

/* ---- callbacks of the scheduler ---------------------------------------------------------------
 */

static void note_event(hpc_scheduler_port *p)
{
    p->event = true;
    pthread_cond_broadcast(&p->changed);
}

static int token_made(void *user, const hpc_job_token *t)
{
    port_request *q = user;
    pthread_mutex_lock(&q->p->lock);
    int rc = q->r.token_made(q->r.user, t->token, t->logprob);
    note_event(q->p);
    pthread_mutex_unlock(&q->p->lock);
    return rc;
}

static void progress(void *user, int64_t done, int64_t total)
{
    port_request *q = user;
    hpc_engine_counts *c = &q->p->counts;
    (void)total;
    pthread_mutex_lock(&q->p->lock);
    *(q->begun ? &c->computed : &c->reused) += done - q->done;
    q->begun = true;
    q->done = done;
    note_event(q->p);
    pthread_mutex_unlock(&q->p->lock);
}

static const uint32_t *allowed(void *user)
{
    port_request *q = user;
    pthread_mutex_lock(&q->p->lock);
    const uint32_t *mask = q->r.allowed(q->r.user);
    pthread_mutex_unlock(&q->p->lock);
    return mask;
}

static hpc_finish finish_of(hpc_job_finish f)
{
    static const hpc_finish all[] = {
        [HPC_JOB_LENGTH] = HPC_FINISH_LENGTH,       [HPC_JOB_STOP] = HPC_FINISH_STOP,
        [HPC_JOB_CALLER] = HPC_FINISH_CALLER,       [HPC_JOB_TIME] = HPC_FINISH_CALLER,
        [HPC_JOB_CANCELLED] = HPC_FINISH_CANCELLED, [HPC_JOB_SUPERSEDED] = HPC_FINISH_CANCELLED,
        [HPC_JOB_ERROR] = HPC_FINISH_ERROR};
    return all[f];
}

static void ended(void *user, int64_t id, const hpc_job_result *r)
{
    port_request *q = user;
    hpc_scheduler_port *p = q->p;
    (void)id;
    pthread_mutex_lock(&p->lock);
    if (r->error && p->error.code == 0) p->error = *r->error;
    p->superseded = p->superseded || r->finish == HPC_JOB_SUPERSEDED;
    p->slot = r->slot;
    q->ended = true;
    p->alive--;
    if (q->r.ended) q->r.ended(q->r.user, finish_of(r->finish), r->stop_token);
    note_event(p);
    pthread_mutex_unlock(&p->lock);
}

/* ---- the port's functions ---------------------------------------------------------------------
 */

static void enter(void *user)
{
    hpc_scheduler_port *p = user;
    pthread_mutex_lock(&p->lock);
    p->error = (hpc_error){0};
}

static void free_requests(hpc_scheduler_port *p)
{
    for (port_request *q = p->first, *next; q; q = next) {
        next = q->next;
        hpc_free(q);
    }
    p->first = NULL;
}

/* All requests have ended: no callback follows. */
static void leave(void *user)
{
    hpc_scheduler_port *p = user;
    while (p->alive > 0) pthread_cond_wait(&p->changed, &p->lock);
    free_requests(p);
    pthread_mutex_unlock(&p->lock);
}

static int submit(void *user, const hpc_request *r, int64_t *id)
{
    hpc_scheduler_port *p = user;
    port_request *q = hpc_alloc(1, sizeof *q);
    hpc_job job = p->like;
    if (!q) return HPC_E_NOMEM;
    *q = (port_request){.next = p->first, .p = p, .r = *r};
    job.token = r->token, job.n = r->n, job.most = r->most;
    job.sampling = r->sampling, job.sample = r->sample;
    job.stop = r->stop, job.stop_n = r->stop_n;
    job.drop = NULL, job.drop_n = 0, job.prompt_ms = 0;
    job.token_made = token_made, job.progress = progress, job.ended = ended;
    job.allowed = r->allowed ? allowed : NULL;
    job.user = q;
    int rc = hpc_scheduler_submit(id, p->s, &job); /* the callbacks wait for the lock */
    if (rc < 0) {
        hpc_free(q);
        return rc;
    }
    p->first = q;
    p->alive++;
    return HPC_OK;
}

static void cancel(void *user, int64_t id)
{
    hpc_scheduler_port *p = user;
    hpc_scheduler_cancel(p->s, id);
}

static int step(void *user, bool *busy)
{
    hpc_scheduler_port *p = user;
    int64_t until = hpc_clock_ns() + LOOK_MS * 1000000;
    const struct timespec t = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    int timeout = 0;
    while (!p->event && p->alive > 0 && timeout == 0)
        timeout = pthread_cond_timedwait(&p->changed, &p->lock, &t);
    p->event = false;
    *busy = p->alive > 0;
    return p->error.code < 0 ? hpc_error_adopt(&p->error) : HPC_OK;
}

static hpc_engine_counts counts(void *user)
{
    const hpc_scheduler_port *p = user;
    return p->counts;
}

static int64_t prompt_tokens(void *user, int64_t ns)
{
    const hpc_scheduler_port *p = user;
    hpc_scheduler_view v;
    double tokens = 0;
    if (hpc_scheduler_view_take(&v, p->s) < 0)
        hpc_error_clear();
    else
        tokens = v.prompt_rate * (double)ns * 1e-9;
    hpc_scheduler_view_release(&v);
    return tokens > 0 && tokens < (double)INT64_MAX / 2 ? (int64_t)tokens : INT64_MAX;
}

/* ---- opening ----------------------------------------------------------------------------------
 */

int hpc_scheduler_port_open(hpc_scheduler_port **out, hpc_scheduler *s, const hpc_job *like)
{
    hpc_scheduler_port *p = hpc_alloc(1, sizeof *p);
    pthread_condattr_t a;
    *out = NULL;
    if (!p) return HPC_E_NOMEM;
    p->s = s;
    p->slot = -1;
    p->like = *like;
    p->port = (hpc_complete_port){.enter = enter,
                                  .leave = leave,
                                  .submit = submit,
                                  .cancel = cancel,
                                  .step = step,
                                  .counts = counts,
                                  .prompt_tokens = prompt_tokens,
                                  .user = p};
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, &a);
    pthread_condattr_destroy(&a);
    if (like->document) {
        size_t n = strlen(like->document) + 1;
        p->document = hpc_alloc(n, 1);
        if (!p->document) {
            hpc_scheduler_port_close(p);
            return HPC_E_NOMEM;
        }
        memcpy(p->document, like->document, n);
    }
    p->like.document = p->document;
    *out = p;
    return HPC_OK;
}

void hpc_scheduler_port_close(hpc_scheduler_port *p)
{
    if (!p) return;
    hpc_assert(p->alive == 0);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->changed);
    hpc_free(p->document);
    hpc_free(p);
}

const hpc_complete_port *hpc_scheduler_port_get(const hpc_scheduler_port *p)
{
    return &p->port;
}

bool hpc_scheduler_port_superseded(hpc_scheduler_port *p)
{
    pthread_mutex_lock(&p->lock);
    bool superseded = p->superseded;
    pthread_mutex_unlock(&p->lock);
    return superseded;
}

int64_t hpc_scheduler_port_slot(hpc_scheduler_port *p)
{
    pthread_mutex_lock(&p->lock);
    int64_t slot = p->slot;
    pthread_mutex_unlock(&p->lock);
    return slot;
}

void hpc_scheduler_port_wake(hpc_scheduler_port *p)
{
    pthread_mutex_lock(&p->lock);
    note_event(p);
    pthread_mutex_unlock(&p->lock);
}
