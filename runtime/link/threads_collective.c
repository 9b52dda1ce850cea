/*
 * threads_collective.c: collectives between the ranks of a group.
 *
 * Collectives are matched by sequence number; ranks may run ahead. A meeting has
 * phases. First all ranks arrive. Then each rank does its share and reads the others'
 * buffers; for ALL_REDUCE it reduces its part and, after all ranks have, gathers the
 * other parts. The meeting is complete when all ranks have finished, because only then
 * may buffers be released. Each rank's own tests and waits do its share, outside of the
 * lock. A meeting completes for all ranks or fails for all; after a failure no rank
 * leaves while another accesses buffers.
 */
#include "runtime/link/priv.h"

#include <string.h>

static bool complete(const group *g, const meeting *m)
{
    return m->done[m->phase_n - 1] == g->size;
}

static void fail(group *g, meeting *m, const hpc_error *why)
{
    if (m->error.code != HPC_OK || complete(g, m)) return;
    m->error = *why;
    hpc_group_wake(g);
}

/* ---- arriving -------------------------------------------------------------- */
static meeting *meeting_make(group *g)
{
    size_t size = (size_t)g->size;
    meeting *m = hpc_alloc(1, sizeof *m + size * (sizeof(ticket *) + sizeof(hpc_comm *)));
    if (!m) return NULL;
    m->comm = (const hpc_comm **)(void *)(m->ticket + size);
    m->sibling = g->owned;
    g->owned = m;
    m->next = g->spare;
    g->spare = m;
    g->meeting_n++;
    return m;
}

/* A meeting stays until the last rank has left it, so there are at most as many as tickets. To
 * provide for that many as soon as any rank has more in flight than before makes allocation
 * depend on the program alone, not on which rank is ahead. */
static int reserve(group *g, int in_flight)
{
    while (!g->spare || g->meeting_n < (int64_t)in_flight * g->size)
        if (!meeting_make(g)) return HPC_E_NOMEM;
    return 0;
}

static meeting *meeting_find(group *g, int64_t seq, hpc_comm_kind kind)
{
    meeting **at = &g->active;
    while (*at && (*at)->seq != seq) at = &(*at)->next;
    if (*at) return *at;
    meeting *m = g->spare;
    g->spare = m->next;
    *m = (meeting){.sibling = m->sibling,
                   .comm = m->comm,
                   .seq = seq,
                   .phase_n = kind == HPC_ALL_REDUCE ? 2 : 1};
    for (int r = 0; r < g->size; r++) m->ticket[r] = NULL;
    *at = m;
    return m;
}

/* With everyone who is there already: a misfit need not wait for those who are late. */
static void compare_all(group *g, meeting *m, int rank)
{
    hpc_error why;
    for (int r = 0; r < g->size; r++) m->comm[r] = m->ticket[r] ? &m->ticket[r]->comm : NULL;
    if (hpc_comm_compare(&why, m->seq, m->comm, g->size, rank, g->member) < 0) fail(g, m, &why);
}

/* A rank that arrives late gets the error of the collective, not the news that others have since
 * left. */
static int refusal(hpc_error *why, const group *g, int64_t seq)
{
    int rc = hpc_group_refusal(why, g, -1);
    for (const meeting *m = g->active; rc < 0 && m; m = m->next) {
        if (m->seq != seq || m->error.code == HPC_OK) continue;
        *why = m->error;
        rc = why->code;
    }
    return rc;
}

int hpc_meeting_join(ticket *t)
{
    threads_link *l = t->link;
    group *g = l->group;
    hpc_error why;
    pthread_mutex_lock(&g->lock);
    int rc = refusal(&why, g, l->seq);
    if (rc < 0) hpc_error_adopt(&why);
    if (rc == 0) rc = reserve(g, l->used_n);
    if (rc == 0) {
        meeting *m = meeting_find(g, l->seq++, t->comm.kind);
        t->meeting = m;
        m->ticket[l->base.rank] = t;
        m->arrived++;
        compare_all(g, m, l->base.rank);
        if (m->arrived == g->size) hpc_group_wake(g);
    }
    pthread_mutex_unlock(&g->lock);
    return rc;
}

/* ---- a rank's share -------------------------------------------------------- */
static void copy(const hpc_comm *to, int64_t at, const hpc_comm *from, int64_t from_at, int64_t n)
{
    size_t bytes = hpc_comm_bytes(to->dtype, n);
    if (bytes == 0) return;
    memcpy((char *)to->recv + hpc_comm_bytes(to->dtype, at),
           (const char *)from->send + hpc_comm_bytes(to->dtype, from_at), bytes);
}

/* Elements [lo, hi) of everyone's send, reduced into own recv at `at`. */
static void reduce(const ticket *t, int64_t at, int64_t lo, int64_t hi)
{
    const hpc_comm *c = &t->comm;
    int size = t->link->base.size;
    if (lo == hi) return;
    for (int r = 0; r < size; r++)
        t->source[r] =
            (const char *)t->meeting->ticket[r]->comm.send + hpc_comm_bytes(c->dtype, lo);
    hpc_link_reduce((char *)c->recv + hpc_comm_bytes(c->dtype, at), t->source, size, c->dtype,
                    c->reduce, hi - lo);
}

static void all_reduce(const ticket *t)
{
    const hpc_comm *c = &t->comm;
    int rank = t->link->base.rank, size = t->link->base.size;
    int64_t lo, hi;
    if (t->phase == 0) {
        hpc_share(&lo, &hi, c->n, 1, rank, size);
        reduce(t, lo, lo, hi);
        return;
    }
    for (int r = 0; r < size; r++) {
        if (r == rank) continue;
        hpc_share(&lo, &hi, c->n, 1, r, size);
        size_t at = hpc_comm_bytes(c->dtype, lo), bytes = hpc_comm_bytes(c->dtype, hi - lo);
        const char *from = t->meeting->ticket[r]->comm.recv;
        if (bytes > 0) memcpy((char *)c->recv + at, from + at, bytes);
    }
}

static void all_to_all(const ticket *t)
{
    int rank = t->link->base.rank, size = t->link->base.size;
    int64_t at = 0;
    for (int r = 0; r < size; r++) {
        const hpc_comm *from = &t->meeting->ticket[r]->comm;
        int64_t from_at = 0;
        for (int before = 0; before < rank; before++) from_at += from->send_n[before];
        copy(&t->comm, at, from, from_at, t->comm.recv_n[r]);
        at += t->comm.recv_n[r];
    }
}

static void do_share(const ticket *t)
{
    const hpc_comm *c = &t->comm;
    const meeting *m = t->meeting;
    int rank = t->link->base.rank, size = t->link->base.size;
    switch (c->kind) {
    case HPC_ALL_REDUCE: all_reduce(t); break;
    case HPC_REDUCE_SCATTER: reduce(t, 0, rank * c->n, (rank + 1) * c->n); break;
    case HPC_ALL_TO_ALL: all_to_all(t); break;
    case HPC_ALL_GATHER:
        for (int r = 0; r < size; r++) copy(c, r * c->n, &m->ticket[r]->comm, 0, c->n);
        break;
    case HPC_BROADCAST:
        if (c->recv) copy(c, 0, &m->ticket[c->peer]->comm, 0, c->n);
        break;
    default: hpc_assert(!"a collective");
    }
}

/* ---- moving on ------------------------------------------------------------- */
static bool can_go_on(const group *g, const ticket *t)
{
    const meeting *m = t->meeting;
    if (m->error.code != HPC_OK || t->phase == m->phase_n) return false;
    return (t->phase == 0 ? m->arrived : m->done[t->phase - 1]) == g->size;
}

void hpc_meeting_advance(ticket *t)
{
    group *g = t->link->group;
    meeting *m = t->meeting;
    pthread_mutex_lock(&g->lock);
    while (can_go_on(g, t)) {
        m->busy++;
        pthread_mutex_unlock(&g->lock);
        do_share(t);
        pthread_mutex_lock(&g->lock);
        m->busy--;
        bool all = ++m->done[t->phase++] == g->size;
        if (all || (m->error.code != HPC_OK && m->busy == 0)) hpc_group_wake(g);
    }
    pthread_mutex_unlock(&g->lock);
}

static void leave(group *g, ticket *t)
{
    meeting *m = t->meeting;
    m->ticket[t->link->base.rank] = NULL;
    t->meeting = NULL;
    if (++m->left < g->size) return;
    meeting **at = &g->active;
    while (*at != m) at = &(*at)->next;
    *at = m->next;
    m->next = g->spare;
    g->spare = m;
}

int hpc_meeting_settle(ticket *t)
{
    group *g = t->link->group;
    meeting *m = t->meeting;
    int rc = PENDING;
    pthread_mutex_lock(&g->lock);
    if (hpc_world_aborted(g->world)) fail(g, m, &g->world->why);
    if (complete(g, m)) {
        leave(g, t);
        rc = DONE;
    } else if (m->error.code != HPC_OK && m->busy == 0) {
        rc = m->error.code;
        hpc_error_adopt(&m->error);
        leave(g, t);
    }
    pthread_mutex_unlock(&g->lock);
    return rc;
}

/* ---- giving up ------------------------------------------------------------- */
static void deserted(hpc_error *why, const threads_link *l, const meeting *m, const char *when)
{
    const group *g = l->group;
    if (hpc_world_aborted(g->world))
        *why = g->world->why;
    else
        hpc_error_note(why, HPC_E_STATE, "rank %d closed its link %s collective %lld of it",
                       g->member[l->base.rank], when, (long long)m->seq);
}

bool hpc_meeting_abandon(ticket *t)
{
    group *g = t->link->group;
    meeting *m = t->meeting;
    hpc_error why;
    pthread_mutex_lock(&g->lock);
    deserted(&why, t->link, m, "amid");
    fail(g, m, &why);
    bool out = m->busy == 0;
    if (out) leave(g, t);
    pthread_mutex_unlock(&g->lock);
    return out;
}

void hpc_meeting_forsake(threads_link *l)
{
    hpc_error why;
    for (meeting *m = l->group->active; m; m = m->next) {
        if (m->seq < l->seq) continue;
        deserted(&why, l, m, "before");
        fail(l->group, m, &why);
    }
}
