/*
 * threads_message.c: messages between two ranks of a group.
 *
 * A SEND and a RECV are matched by (sender, receiver, tag), oldest first. The
 * second of the two to be posted copies straight from buffer to buffer, so
 * there is no buffering, and neither end has to be polled for the other to
 * complete. A delay holds back only the news from the receiver, not the data.
 */
#include "runtime/link/priv.h"

#include <string.h>

static bool is_send(const ticket *t)
{
    return t->comm.kind == HPC_SEND;
}

static int sender(const ticket *t)
{
    return is_send(t) ? t->link->base.rank : t->comm.peer;
}

static int receiver(const ticket *t)
{
    return is_send(t) ? t->comm.peer : t->link->base.rank;
}

/* The list in which messages of t's kind wait for their other end. */
static ticket **queue_of(group *g, const ticket *t, bool send)
{
    mailbox *b = &g->box[receiver(t)];
    return send ? &b->sends : &b->recvs;
}

static ticket *take_mate(group *g, const ticket *t)
{
    ticket **at = queue_of(g, t, !is_send(t));
    while (*at && (sender(*at) != sender(t) || (*at)->comm.tag != t->comm.tag)) at = &(*at)->next;
    ticket *mate = *at;
    if (mate) *at = mate->next;
    return mate;
}

static void post(group *g, ticket *t)
{
    ticket **at = queue_of(g, t, is_send(t));
    while (*at) at = &(*at)->next;
    t->next = NULL;
    t->state = POSTED;
    *at = t;
}

static void unpost(group *g, const ticket *t)
{
    ticket **at = queue_of(g, t, is_send(t));
    while (*at != t) at = &(*at)->next;
    *at = t->next;
}

/* Under the lock, which is released while data move. */
static void deliver(group *g, ticket *send, ticket *recv)
{
    bool fits = hpc_message_compare(&send->error, &send->comm, g->member[sender(send)], &recv->comm,
                                    g->member[receiver(send)]) == 0;
    if (fits) {
        size_t bytes = hpc_comm_bytes(send->comm.dtype, send->comm.n);
        send->state = recv->state = MOVING;
        pthread_mutex_unlock(&g->lock);
        if (bytes > 0) memcpy(recv->comm.recv, send->comm.send, bytes);
        pthread_mutex_lock(&g->lock);
        recv->hidden = send->hidden;
    } else {
        recv->error = send->error;
    }
    send->hidden = 0;
    send->state = recv->state = fits ? MOVED : FAILED;
    hpc_seat_wake(send->link->seat);
    hpc_seat_wake(recv->link->seat);
}

int hpc_message_post(ticket *t)
{
    group *g = t->link->group;
    hpc_error why;
    if (is_send(t) && g->world->delay)
        t->hidden = g->world->delay(g->world->user, g->member[sender(t)], g->member[receiver(t)],
                                    t->comm.tag);
    pthread_mutex_lock(&g->lock);
    int rc = hpc_group_refusal(&why, g, t->comm.peer);
    if (rc < 0) {
        hpc_error_adopt(&why);
    } else {
        ticket *mate = take_mate(g, t);
        if (mate)
            deliver(g, is_send(t) ? t : mate, is_send(t) ? mate : t);
        else
            post(g, t);
    }
    pthread_mutex_unlock(&g->lock);
    return rc;
}

int hpc_message_settle(ticket *t)
{
    group *g = t->link->group;
    int rc = PENDING;
    pthread_mutex_lock(&g->lock);
    if (t->state == POSTED && hpc_world_aborted(g->world)) {
        unpost(g, t);
        t->error = g->world->why;
        t->state = FAILED;
    }
    if (t->state == FAILED) {
        rc = t->error.code;
        hpc_error_adopt(&t->error);
    } else if (t->state == MOVED && t->hidden > 0) {
        t->hidden--;
        rc = HIDDEN;
    } else if (t->state == MOVED) {
        rc = DONE;
    }
    pthread_mutex_unlock(&g->lock);
    return rc;
}

bool hpc_message_abandon(ticket *t)
{
    group *g = t->link->group;
    pthread_mutex_lock(&g->lock);
    if (t->state == POSTED) {
        unpost(g, t);
        t->state = FAILED;
    }
    bool out = t->state != MOVING;
    pthread_mutex_unlock(&g->lock);
    return out;
}

static void desert(group *g, ticket **queue, int rank)
{
    for (ticket **at = queue; *at;) {
        ticket *t = *at;
        if (t->comm.peer != rank) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        t->state = FAILED;
        hpc_group_refusal(&t->error, g, rank);
        hpc_seat_wake(t->link->seat);
    }
}

void hpc_message_forsake(threads_link *l)
{
    group *g = l->group;
    int rank = l->base.rank;
    desert(g, &g->box[rank].sends, rank);
    for (int r = 0; r < g->size; r++) desert(g, &g->box[r].recvs, rank);
}
