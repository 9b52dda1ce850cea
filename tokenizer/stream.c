/*
 * stream.c: encodes one long text on many workers: any worker reads, cuts, encodes and formats
 * parts; the calling thread writes them in order.
 *
 * The text is cut where the ids of the parts are those of the whole, so the result does not depend
 * on scheduling. Finished parts wait in a fixed number of slots; workers wait for a free slot, so
 * memory does not grow with the text.
 */
#include <pthread.h>
#include <string.h>

#include "tokenizer/priv.h"

/* A part with its ids and formatted output fits in a core's L2 cache. A cut is usually found soon
 * after the minimum length. */
enum { PART_BYTES = 128 << 10, AHEAD_BYTES = 4 << 10, PLACES = 4 /* for each worker */ };

typedef enum part_state { PART_FREE, PART_TAKEN, PART_DONE } part_state;
typedef struct part {
    part_state state;
    int64_t number;
    bool last;
    char *text;
    int64_t n, cap;
    hpc_ids ids;
    hpc_buf made;
} part;

typedef struct streaming {
    const hpc_tokenizer *t;
    const hpc_tokenizer_stream *io;
    unsigned flags;
    part *place;
    int64_t places;
    hpc_buf rest; /* text after the last cut; owned by the reading worker */
    pthread_mutex_t lock;
    pthread_cond_t moved;
    /* Under the lock: */
    int64_t read, written; /* parts */
    bool reading, ended, failed;
} streaming;

/* ---- a part ------------------------------------------------------------------------------- */

/* family->cut of a part's text, with special tokens in mind. */
static bool cut_at(size_t *at, const streaming *s, const hpc_tokenizer_scratch *scratch,
                   const part *p, size_t lo)
{
    const hpc_tokenizer *t = s->t;
    bool by_family = t->family->encode_marked || !(s->flags & HPC_ENCODE_SPECIALS);
    size_t n = (size_t)p->n;
    for (*at = lo; t->family->cut(at, t, p->text, n, *at); ++*at) {
        if (by_family) return true;
        if (tokenizer_matcher_longest(scratch->controls) > n - *at) return false;
        if (!tokenizer_matcher_spans(scratch->controls, p->text, n, *at)) return true;
    }
    return false;
}

/* Reads until the text has `wanted` bytes or ends. */
static int read_until(const streaming *s, part *p, int64_t wanted)
{
    size_t n = 0;
    int rc = HPC_OK;
    TRY(hpc_grow(&p->text, &p->cap, wanted, 1));
    TRY(s->io->read(&n, p->text + p->n, (size_t)(wanted - p->n), s->io->user));
    p->n += (int64_t)n;
    p->last = p->n < wanted;
out:
    return rc;
}

/* Starts with the text after the last cut, and reads until the next cut. */
static int fill(streaming *s, part *p, const hpc_tokenizer_scratch *scratch)
{
    int rc = HPC_OK;
    size_t at = PART_BYTES, wanted = PART_BYTES + AHEAD_BYTES;
    p->n = (int64_t)s->rest.n;
    TRY(hpc_grow(&p->text, &p->cap, p->n, 1));
    if (p->n > 0) memcpy(p->text, s->rest.data, s->rest.n);
    s->rest.n = 0;
    while (wanted < (size_t)p->n) wanted *= 2;
    TRY(read_until(s, p, (int64_t)wanted));
    while (!p->last && !cut_at(&at, s, scratch, p, at)) {
        wanted *= 2;
        TRY(read_until(s, p, (int64_t)wanted));
    }
    if (p->last) goto out;
    TRY(hpc_buf_add(&s->rest, p->text + at, (size_t)p->n - at));
    p->n = (int64_t)at;
out:
    return rc;
}

static int encode_part(const streaming *s, part *p, hpc_tokenizer_scratch *scratch)
{
    unsigned flags = s->flags;
    if (p->number > 0) flags = (flags & ~(unsigned)HPC_ENCODE_BEGIN) | HPC_ENCODE_INNER;
    if (!p->last) flags &= ~(unsigned)HPC_ENCODE_END;
    p->ids.n = 0;
    p->made.n = 0;
    int rc = hpc_tokenizer_encode(&p->ids, s->t, scratch, p->text, (size_t)p->n, flags);
    if (rc < 0 || !s->io->format) return rc;
    return s->io->format(&p->made, p->ids.id, p->ids.n, s->io->user);
}

/* ---- who does what --------------------------------------------------------------------------- */

typedef enum task { TASK_READ, TASK_WRITE, TASK_NONE } task;

/* NULL: none. */
static part *part_of(const streaming *s, part_state state, int64_t number)
{
    for (int64_t i = 0; i < s->places; i++) {
        part *p = &s->place[i];
        if (p->state == state && (state == PART_FREE || p->number == number)) return p;
    }
    return NULL;
}

/* Waits for something to do; under the lock. */
static task next_task(part **out, streaming *s, bool writes)
{
    for (;;) {
        if (s->failed) return TASK_NONE;
        *out = writes ? part_of(s, PART_DONE, s->written) : NULL;
        if (*out) return TASK_WRITE;
        if (s->ended && (!writes || s->written == s->read)) return TASK_NONE;
        *out = s->ended || s->reading ? NULL : part_of(s, PART_FREE, 0);
        if (*out) return TASK_READ;
        pthread_cond_wait(&s->moved, &s->lock);
    }
}

static void move(streaming *s, part *p, part_state to)
{
    pthread_mutex_lock(&s->lock);
    p->state = to;
    s->written += to == PART_FREE;
    pthread_cond_broadcast(&s->moved);
    pthread_mutex_unlock(&s->lock);
}

/* After an error no worker reads. */
static int read_and_encode(streaming *s, part *p, hpc_tokenizer_scratch *scratch)
{
    int rc = fill(s, p, scratch);
    if (rc < 0) return rc;
    pthread_mutex_lock(&s->lock);
    s->reading = false;
    s->ended = p->last;
    pthread_cond_broadcast(&s->moved);
    pthread_mutex_unlock(&s->lock);
    rc = encode_part(s, p, scratch);
    if (rc >= 0) move(s, p, PART_DONE);
    return rc;
}

static int write_part(streaming *s, part *p)
{
    int rc = s->io->write(&p->ids, &p->made, s->io->user);
    if (rc >= 0) move(s, p, PART_FREE);
    return rc;
}

static task take(part **out, streaming *s, bool writes)
{
    pthread_mutex_lock(&s->lock);
    task next = next_task(out, s, writes);
    if (next != TASK_NONE) (*out)->state = PART_TAKEN;
    if (next == TASK_READ) {
        (*out)->number = s->read++;
        s->reading = true;
    }
    pthread_mutex_unlock(&s->lock);
    return next;
}

static int work(int worker, int workers, void *user)
{
    streaming *s = user;
    hpc_tokenizer_scratch *scratch;
    part *p;
    (void)workers;
    int rc = hpc_tokenizer_scratch_create(&scratch, s->t);
    for (task next; rc >= 0 && (next = take(&p, s, worker == 0)) != TASK_NONE;)
        rc = next == TASK_READ ? read_and_encode(s, p, scratch) : write_part(s, p);
    hpc_tokenizer_scratch_free(scratch);
    if (rc >= 0) return HPC_OK;
    pthread_mutex_lock(&s->lock);
    s->failed = true;
    pthread_cond_broadcast(&s->moved);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int hpc_tokenizer_encode_stream(const hpc_tokenizer *t, hpc_pool *pool, unsigned flags,
                                const hpc_tokenizer_stream *stream)
{
    int rc = HPC_OK;
    streaming s = {.t = t,
                   .io = stream,
                   .flags = flags,
                   .places = (int64_t)hpc_pool_n(pool) * PLACES,
                   .lock = PTHREAD_MUTEX_INITIALIZER,
                   .moved = PTHREAD_COND_INITIALIZER};
    TRY(tokenizer_check_flags(flags));
    s.place = hpc_alloc((size_t)s.places, sizeof *s.place);
    if (!s.place) TRY(HPC_E_NOMEM);
    TRY(hpc_pool_run(pool, work, &s));
out:
    for (int64_t i = 0; s.place && i < s.places; i++) {
        hpc_free(s.place[i].text);
        hpc_free(s.place[i].ids.id);
        hpc_buf_release(&s.place[i].made);
    }
    hpc_free(s.place);
    hpc_buf_release(&s.rest);
    pthread_cond_destroy(&s.moved);
    pthread_mutex_destroy(&s.lock);
    return rc;
}
