/*
 * threads.c: the `threads` link: a rank's endpoint of a group, its tickets for
 * operations in flight, and splitting.
 *
 * Collectives are in threads_collective.c, messages in threads_message.c.
 */
#include "runtime/link/priv.h"

#include <sched.h>

/* ---- groups ---------------------------------------------------------------- */
int hpc_group_create(group **out, threads_world *w, const int *member, int size)
{
    *out = NULL;
    group *g = hpc_alloc(1, sizeof *g);
    if (!g) return HPC_E_NOMEM;
    pthread_mutex_init(&g->lock, NULL);
    g->world = w;
    g->size = g->open = size;
    g->member = hpc_alloc((size_t)size, sizeof *g->member);
    g->gone = hpc_alloc((size_t)size, sizeof *g->gone);
    g->box = hpc_alloc((size_t)size, sizeof *g->box);
    if (!g->member || !g->gone || !g->box) {
        hpc_group_free(g);
        return HPC_E_NOMEM;
    }
    for (int r = 0; r < size; r++) g->member[r] = member[r];
    *out = g;
    return 0;
}

void hpc_group_free(group *g)
{
    if (!g) return;
    for (meeting *m = g->owned, *next; m; m = next) {
        next = m->sibling;
        hpc_free(m);
    }
    hpc_free(g->member);
    hpc_free(g->gone);
    hpc_free(g->box);
    pthread_mutex_destroy(&g->lock);
    hpc_free(g);
}

void hpc_group_wake(group *g)
{
    for (int r = 0; r < g->size; r++) hpc_seat_wake(&g->world->seat[g->member[r]]);
}

int hpc_group_refusal(hpc_error *out, const group *g, int peer)
{
    if (hpc_world_aborted(g->world)) {
        *out = g->world->why;
        return out->code;
    }
    for (int r = 0; r < g->size; r++)
        if (g->gone[r] && (peer < 0 || peer == r))
            return hpc_error_note(out, HPC_E_STATE,
                                  "rank %d has closed its link and cannot take part any more",
                                  g->member[r]);
    return 0;
}

/* ---- tickets --------------------------------------------------------------- */
static ticket *ticket_make(threads_link *l)
{
    size_t size = (size_t)l->base.size;
    ticket *t = hpc_alloc(1, sizeof *t + 2 * size * sizeof(int64_t) + size * sizeof(void *));
    if (!t) return NULL;
    t->source = (const void **)(void *)(t->count + 2 * size);
    t->link = l;
    t->sibling = l->owned;
    l->owned = t;
    return t;
}

static void copy_counts(ticket *t, const hpc_comm *c, int size)
{
    for (int r = 0; r < size; r++) {
        t->count[r] = c->send_n ? c->send_n[r] : c->n;
        t->count[size + r] = c->recv_n ? c->recv_n[r] : c->n;
    }
    t->comm.send_n = t->count;
    t->comm.recv_n = t->count + size;
}

static ticket *ticket_take(threads_link *l, const hpc_comm *c)
{
    ticket *t = l->spare;
    if (t)
        l->spare = t->next;
    else
        t = ticket_make(l);
    if (!t) return NULL;
    t->next = NULL;
    t->comm = *c;
    t->meeting = NULL;
    t->phase = t->hidden = 0;
    t->error.code = HPC_OK;
    if (c->kind == HPC_ALL_TO_ALL) copy_counts(t, c, l->base.size);
    t->used = true;
    l->used_n++;
    return t;
}

static void ticket_return(ticket *t)
{
    threads_link *l = t->link;
    t->used = false;
    l->used_n--;
    t->next = l->spare;
    l->spare = t;
}

static bool is_message(const ticket *t)
{
    return t->comm.kind == HPC_SEND || t->comm.kind == HPC_RECV;
}

static void live_add(ticket *t)
{
    seat *s = t->link->seat;
    t->live_next = s->live;
    t->live_link = &s->live;
    if (s->live) s->live->live_link = &t->live_next;
    s->live = t;
}

static void live_remove(ticket *t)
{
    *t->live_link = t->live_next;
    if (t->live_next) t->live_next->live_link = t->live_link;
}

/* ---- the operations of a link ---------------------------------------------- */
static int threads_start(hpc_link *l, hpc_handle *h, const hpc_comm *c)
{
    ticket *t = ticket_take((threads_link *)l, c);
    if (!t) return HPC_E_NOMEM;
    int rc = is_message(t) ? hpc_message_post(t) : hpc_meeting_join(t);
    if (rc < 0) {
        ticket_return(t);
        return rc;
    }
    if (!is_message(t)) live_add(t);
    h->priv = t;
    return 0;
}

/* Another rank may need this one's part of any collective before it can join the one that is
 * asked for here: so all of them move on. */
static int poll(ticket *t)
{
    for (ticket *each = t->link->seat->live; each; each = each->live_next)
        hpc_meeting_advance(each);
    int rc = is_message(t) ? hpc_message_settle(t) : hpc_meeting_settle(t);
    if (rc == DONE || rc < 0) {
        if (!is_message(t)) live_remove(t);
        ticket_return(t);
    }
    return rc;
}

static int threads_test(hpc_handle *h, bool *done)
{
    int rc = poll(h->priv);
    *done = rc == DONE || rc < 0;
    return rc < 0 ? rc : 0;
}

static int refuse_own_message(ticket *t)
{
    hpc_message_abandon(t);
    ticket_return(t);
    return hpc_message_alone(&t->comm, t->link->group->member[t->comm.peer]);
}

static int threads_wait(hpc_handle *h)
{
    ticket *t = h->priv;
    threads_link *l = t->link;
    for (;;) {
        unsigned seen = atomic_load_explicit(&l->seat->epoch, memory_order_acquire);
        int rc = poll(t);
        if (rc == DONE || rc < 0) return rc < 0 ? rc : 0;
        if (rc == HIDDEN)
            sched_yield();
        else if (is_message(t) && t->comm.peer == l->base.rank)
            return refuse_own_message(t);
        else
            hpc_seat_sleep(l->seat, seen);
    }
}

/* A delayed message becomes visible by polls, without a change of the epoch. */
static void threads_pause(hpc_link *link, unsigned *seen)
{
    const threads_link *l = (const threads_link *)link;
    if (l->group->world->delay)
        sched_yield();
    else if (*seen)
        hpc_seat_sleep(l->seat, *seen - 1);
    *seen = atomic_load_explicit(&l->seat->epoch, memory_order_acquire) + 1;
}

static void threads_abort(hpc_link *l, const char *why)
{
    group *g = ((threads_link *)l)->group;
    hpc_world_abort(g->world, g->member[l->rank], why);
}

static const hpc_link_ops threads_ops = {
    .name = "threads",
    .start = threads_start,
    .test = threads_test,
    .wait = threads_wait,
    .pause = threads_pause,
    .abort = threads_abort,
    .split = hpc_threads_split,
    .close = hpc_threads_close,
};

/* ---- opening and closing --------------------------------------------------- */
int hpc_threads_link_create(threads_link **out)
{
    *out = hpc_alloc(1, sizeof **out);
    return *out ? 0 : HPC_E_NOMEM;
}

void hpc_threads_link_enter(threads_link *l, group *g, int rank)
{
    l->base = (hpc_link){.ops = &threads_ops, .rank = rank, .size = g->size};
    l->group = g;
    l->seat = &g->world->seat[g->member[rank]];
}

/* Whatever is still in flight ends here: peers learn of it, and none touches the buffers after. */
static void abandon_all(threads_link *l)
{
    for (ticket *t = l->owned; t; t = t->sibling) {
        if (!t->used) continue;
        for (;;) {
            unsigned seen = atomic_load_explicit(&l->seat->epoch, memory_order_acquire);
            if (is_message(t) ? hpc_message_abandon(t) : hpc_meeting_abandon(t)) break;
            hpc_seat_sleep(l->seat, seen);
        }
        if (!is_message(t)) live_remove(t);
    }
}

void hpc_threads_close(hpc_link *link)
{
    threads_link *l = (threads_link *)link;
    group *g = l->group;
    if (g) { /* a link that never entered its group has none */
        abandon_all(l);
        pthread_mutex_lock(&g->lock);
        g->gone[link->rank] = true;
        hpc_meeting_forsake(l);
        hpc_message_forsake(l);
        bool last = --g->open == 0;
        pthread_mutex_unlock(&g->lock);
        if (last) hpc_group_free(g);
    }
    for (ticket *t = l->owned, *next; t; t = next) {
        next = t->sibling;
        hpc_free(t);
    }
    hpc_free(l);
}

/* ---- splitting ------------------------------------------------------------- */
enum { GROUP, CODE, OFFER_N }; /* what each rank brings: a group if it leads one, or its failure */

/* The member of `rank`'s new link that comes first: it makes the group for all. */
static int leader(const int64_t *choice, int size, int rank)
{
    for (int r = 0; r < size; r++)
        if (choice[HPC_CHOICE_N * r + HPC_COLOR] == choice[HPC_CHOICE_N * rank + HPC_COLOR] &&
            hpc_split_position(choice, size, r) == 0)
            return r;
    return rank;
}

static int lead(group **out, const group *parent, const int64_t *choice, int rank)
{
    int *member = hpc_alloc((size_t)parent->size, sizeof *member);
    if (!member) return HPC_E_NOMEM;
    int n = hpc_split_members(member, choice, parent->member, parent->size, rank);
    int rc = hpc_group_create(out, parent->world, member, n);
    hpc_free(member);
    return rc;
}

int hpc_threads_split(hpc_link **out, hpc_link *l, int color, int key)
{
    int rc = 0;
    group *parent = ((threads_link *)l)->group, *led = NULL;
    threads_link *made = NULL;
    int64_t wish[HPC_CHOICE_N] = {[HPC_COLOR] = color < 0 ? -1 : color, [HPC_KEY] = key};
    int64_t brought[OFFER_N] = {0};
    int64_t *choice = hpc_alloc((size_t)l->size, sizeof(int64_t) * HPC_CHOICE_N);
    int64_t *offer = hpc_alloc((size_t)l->size, sizeof(int64_t) * OFFER_N);
    if (!choice || !offer) {
        rc = HPC_E_NOMEM;
        goto out;
    }
    TRY(hpc_link_exchange(l, choice, wish, HPC_CHOICE_N));
    if (color >= 0) {
        int code = hpc_threads_link_create(&made);
        if (code == 0 && leader(choice, l->size, l->rank) == l->rank)
            code = lead(&led, parent, choice, l->rank);
        brought[GROUP] = (int64_t)(intptr_t)led;
        brought[CODE] = code;
    }
    TRY(hpc_link_exchange(l, offer, brought, OFFER_N));
    TRY(hpc_split_agree(offer + CODE, OFFER_N, parent->member, parent->size));
    if (color >= 0) {
        int64_t shared = offer[OFFER_N * leader(choice, l->size, l->rank) + GROUP];
        hpc_threads_link_enter(made, (group *)(intptr_t)shared,
                               hpc_split_position(choice, l->size, l->rank));
        *out = &made->base;
        made = NULL;
        led = NULL; /* its members own it now */
    }
out:
    hpc_group_free(led);
    hpc_free(made);
    hpc_free(choice);
    hpc_free(offer);
    return rc;
}
