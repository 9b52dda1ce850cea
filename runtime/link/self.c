/*
 * self.c: the link of one rank, so that serial programs are not a special case.
 *
 * Collectives are copies that complete at once. A message to itself is copied when the
 * second of its two ends is started, as on any other link; until then the first is
 * queued. No traffic is counted, and no call blocks.
 */
#include "runtime/link/priv.h"

#include <stdio.h>
#include <string.h>

typedef struct self_message {
    struct self_message *next; /* in posted or spare */
    struct self_message *sibling;
    hpc_comm comm;
    bool moved;
    hpc_error error;
} self_message;

typedef struct self_link {
    hpc_link base;
    self_message *posted, *spare, *owned;
    bool aborted;
    hpc_error why;
} self_link;

static void move(const hpc_comm *to, const hpc_comm *from)
{
    size_t bytes = hpc_comm_bytes(from->dtype, from->n);
    if (bytes > 0) memcpy(to->recv, from->send, bytes);
}

static self_message *take_spare(self_link *l)
{
    self_message *m = l->spare;
    if (m) {
        l->spare = m->next;
    } else {
        m = hpc_alloc(1, sizeof *m);
        if (!m) return NULL;
        m->sibling = l->owned;
        l->owned = m;
    }
    return m;
}

static void join(self_message *a, self_message *b)
{
    const hpc_comm *send = a->comm.kind == HPC_SEND ? &a->comm : &b->comm;
    const hpc_comm *recv = a->comm.kind == HPC_SEND ? &b->comm : &a->comm;
    if (send->dtype == recv->dtype && send->n == recv->n) {
        move(recv, send);
    } else {
        char s[96], r[96];
        hpc_error_note(&a->error, HPC_E_SHAPE, "rank 0: %s does not match %s of rank 0 with tag %d",
                       hpc_comm_text(s, send), hpc_comm_text(r, recv), send->tag);
        b->error = a->error;
    }
    a->moved = b->moved = true;
}

static int start_message(self_link *l, hpc_handle *h, const hpc_comm *c)
{
    self_message *m = take_spare(l);
    if (!m) return HPC_E_NOMEM;
    m->next = NULL;
    m->comm = *c;
    m->moved = false;
    m->error.code = HPC_OK;
    h->priv = m;
    self_message **at = &l->posted;
    while (*at && ((*at)->comm.kind == c->kind || (*at)->comm.tag != c->tag)) at = &(*at)->next;
    self_message *mate = *at;
    if (mate) {
        *at = mate->next;
        join(m, mate);
    } else {
        *at = m;
    }
    return 0;
}

static int copy_counted(const hpc_comm *c)
{
    if (c->send_n[0] != c->recv_n[0])
        return hpc_fail(HPC_E_SHAPE,
                        "all_to_all: rank 0 sends %lld %s to rank 0, which expects "
                        "%lld",
                        (long long)c->send_n[0], hpc_dtype_get(c->dtype)->name,
                        (long long)c->recv_n[0]);
    hpc_comm whole = *c;
    whole.n = c->send_n[0];
    move(&whole, &whole);
    return 0;
}

static int self_start(hpc_link *l, hpc_handle *h, const hpc_comm *c)
{
    self_link *s = (self_link *)l;
    h->priv = NULL;
    if (s->aborted) {
        hpc_error_adopt(&s->why);
        return HPC_E_ABORTED;
    }
    if (c->kind == HPC_SEND || c->kind == HPC_RECV) return start_message(s, h, c);
    if (c->send_n) return copy_counted(c);
    if (c->recv) move(c, c); /* the root of a broadcast need not receive */
    return 0;
}

static void unpost(self_link *l, const self_message *m)
{
    self_message **at = &l->posted;
    while (*at != m) at = &(*at)->next;
    *at = m->next;
}

static int self_test(hpc_handle *h, bool *done)
{
    self_link *l = (self_link *)h->link;
    self_message *m = h->priv;
    *done = true;
    if (!m) return 0;
    *done = m->moved || l->aborted;
    if (!*done) return 0;
    if (!m->moved) {
        unpost(l, m);
        m->error = l->why;
    }
    m->next = l->spare;
    l->spare = m;
    if (m->error.code < 0) hpc_error_adopt(&m->error);
    return m->error.code;
}

static int self_wait(hpc_handle *h)
{
    self_link *l = (self_link *)h->link;
    bool done;
    int rc = self_test(h, &done);
    if (rc < 0 || done) return rc;
    self_message *m = h->priv;
    unpost(l, m);
    m->next = l->spare;
    l->spare = m;
    return hpc_message_alone(&m->comm, 0);
}

static void self_abort(hpc_link *l, const char *why)
{
    self_link *s = (self_link *)l;
    if (s->aborted) return;
    hpc_error_note(&s->why, HPC_E_ABORTED, "rank 0 failed: %s", why);
    s->aborted = true;
}

static int self_split(hpc_link **out, hpc_link *l, int color, int key)
{
    self_link *s = (self_link *)l;
    (void)key;
    if (s->aborted) {
        hpc_error_adopt(&s->why);
        return HPC_E_ABORTED;
    }
    return color < 0 ? 0 : hpc_link_self(out);
}

static void self_close(hpc_link *l)
{
    self_link *s = (self_link *)l;
    for (self_message *m = s->owned, *next; m; m = next) {
        next = m->sibling;
        hpc_free(m);
    }
    hpc_free(s);
}

static const hpc_link_ops self_ops = {
    .name = "self",
    .start = self_start,
    .test = self_test,
    .wait = self_wait,
    .abort = self_abort,
    .split = self_split,
    .close = self_close,
};

int hpc_link_self(hpc_link **out)
{
    *out = NULL;
    self_link *s = hpc_alloc(1, sizeof *s);
    if (!s) return HPC_E_NOMEM;
    s->base = (hpc_link){.ops = &self_ops, .rank = 0, .size = 1};
    *out = &s->base;
    return 0;
}
