/*
 * device_link.c: see device_link.h. A group is one command of the queue: it starts its operations
 * on the host link and waits for all of them.
 */
#include "tests/support/device_link.h"

#include "runtime/device/mock/priv.h"

enum { GROUP_MOST = 64, REGISTERED_MOST = 64 };

typedef struct range {
    const uint8_t *from; /* NULL: free */
    size_t bytes;
} range;

typedef struct op {
    hpc_comm c;
    hpc_link *host;
    mock *device;
    struct op *next;  /* of its group */
    struct op *older; /* of its link */
    size_t send_bytes, recv_bytes;
    bool ended;
} op;

typedef struct device_link {
    hpc_link base;
    bool owns_host;
    op *newest;        /* all, until the link is closed */
    op *first, **last; /* messages that wait for a flush */
    int n;
    range registered[REGISTERED_MOST];
    bool registers; /* something was: then operations use nothing else */
} device_link;

static const hpc_link_ops ops;

/* ---- groups ---------------------------------------------------------------------------------- */

static int start_one(hpc_handle *h, const op *o)
{
    hpc_comm c = o->c;
    c.stream = NULL;
    c.send = hpc_mock_host(o->device, c.send);
    c.recv = hpc_mock_host(o->device, c.recv);
    return hpc_link_start(o->host, h, &c);
}

static int run_group(void *user)
{
    hpc_handle h[GROUP_MOST] = {{0}};
    op *first = user;
    int n = 0, rc = HPC_OK;
    for (const op *o = first; o && rc >= 0; o = o->next) rc = start_one(&h[n++], o);
    for (int k = 0; k < n; k++) {
        const int one = hpc_link_wait(&h[k]);
        if (rc >= 0) rc = one;
    }
    for (op *o = first; o; o = o->next) o->ended = true;
    return rc;
}

static int issue(op *first)
{
    mock_transfer list[GROUP_MOST];
    int n = 0;
    for (const op *o = first; o; o = o->next)
        list[n++] = (mock_transfer){o->c.send, o->c.recv, o->send_bytes, o->recv_bytes};
    return hpc_mock_transfer(first->c.stream, list, n, run_group, first);
}

static int flush(hpc_link *base)
{
    device_link *l = (device_link *)base;
    op *first = l->first;
    l->first = NULL;
    l->last = &l->first;
    l->n = 0;
    return first ? issue(first) : HPC_OK;
}

/* ---- operations ------------------------------------------------------------------------------ */

static size_t bytes(const hpc_comm *c, int64_t n)
{
    const hpc_dtype_info *d = hpc_dtype_get(c->dtype);
    return (size_t)(n / d->block) * d->block_bytes;
}

static void measure(op *o, int rank, int size)
{
    const hpc_comm *c = &o->c;
    const bool root = c->peer == rank;
    o->send_bytes = o->recv_bytes = bytes(c, c->n);
    switch (c->kind) {
    case HPC_ALL_GATHER: o->recv_bytes *= (size_t)size; break;
    case HPC_REDUCE_SCATTER: o->send_bytes *= (size_t)size; break;
    case HPC_ALL_TO_ALL:
        o->send_bytes *= (size_t)size;
        o->recv_bytes *= (size_t)size;
        break;
    case HPC_BROADCAST:
        if (!root) o->send_bytes = 0;
        if (root && !c->recv) o->recv_bytes = 0;
        break;
    case HPC_SEND: o->recv_bytes = 0; break;
    case HPC_RECV: o->send_bytes = 0; break;
    default: break;
    }
}

/* ---- registered memory ----------------------------------------------------------------------- */

static int register_memory(hpc_link *base, void **handle, void *memory, size_t bytes_n)
{
    device_link *l = (device_link *)base;
    int k = 0;
    while (k < REGISTERED_MOST && l->registered[k].from) k++;
    if (k == REGISTERED_MOST) return hpc_fail(HPC_E_ARG, "too much is registered");
    l->registered[k] = (range){memory, bytes_n};
    l->registers = true;
    *handle = &l->registered[k];
    return HPC_OK;
}

static void deregister_memory(hpc_link *base, void *handle)
{
    (void)base;
    ((range *)handle)->from = NULL;
}

static bool is_registered(const device_link *l, const void *p, size_t bytes_n)
{
    const uint8_t *at = p;
    for (int k = 0; k < REGISTERED_MOST; k++) {
        const range *r = &l->registered[k];
        if (r->from && at >= r->from && at + bytes_n <= r->from + r->bytes) return true;
    }
    return !p || bytes_n == 0;
}

static int check_registered(const device_link *l, const op *o)
{
    if (!l->registers) return HPC_OK;
    if (is_registered(l, o->c.send, o->send_bytes) && is_registered(l, o->c.recv, o->recv_bytes))
        return HPC_OK;
    return hpc_fail(HPC_E_FAULT, "a transfer uses memory that is not registered with its link");
}

static int start(hpc_link *base, hpc_handle *h, const hpc_comm *c)
{
    device_link *l = (device_link *)base;
    const bool message = c->kind == HPC_SEND || c->kind == HPC_RECV;
    int rc = HPC_OK;
    if (!message || l->n == GROUP_MOST) TRY(flush(base));
    op *o = hpc_alloc(1, sizeof *o);
    if (!o) return HPC_E_NOMEM;
    o->older = l->newest;
    l->newest = o;
    o->c = *c;
    o->host = base->host;
    o->device = ((mock_stream *)c->stream)->m;
    measure(o, base->rank, base->size);
    TRY(check_registered(l, o));
    if (message) {
        *l->last = o;
        l->last = &o->next;
        l->n++;
    } else {
        TRY(issue(o));
    }
    h->priv = o;
out:
    return rc;
}

static int test(hpc_handle *h, bool *done)
{
    const int rc = flush(h->link);
    *done = ((const op *)h->priv)->ended;
    return rc;
}

/* Commands run at a fence; after a fault some never do. */
static int wait(hpc_handle *h)
{
    const op *o = h->priv;
    const int rc = flush(h->link);
    return rc >= 0 && !o->ended ? hpc_device_fence(&o->device->base) : rc;
}

static void abort_host(hpc_link *base, const char *why)
{
    hpc_link_abort(base->host, why);
}

static int split(hpc_link **out, hpc_link *base, int color, int key)
{
    hpc_link *host = NULL;
    int rc = HPC_OK;
    TRY(hpc_link_split(&host, base->host, color, key));
    if (!host) return HPC_OK;
    TRY(hpc_test_device_link(out, host));
    ((device_link *)*out)->owns_host = true;
out:
    return rc;
}

static void close_link(hpc_link *base)
{
    device_link *l = (device_link *)base;
    for (int k = 0; k < REGISTERED_MOST; k++) hpc_assert(!l->registered[k].from);
    for (op *o = l->newest, *older; o; o = older) {
        older = o->older;
        hpc_free(o);
    }
    if (l->owns_host) hpc_link_close(base->host);
    hpc_free(l);
}

static const hpc_link_ops ops = {.name = "mock",
                                 .device_memory = true,
                                 .start = start,
                                 .test = test,
                                 .wait = wait,
                                 .flush = flush,
                                 .abort = abort_host,
                                 .split = split,
                                 .close = close_link,
                                 .register_memory = register_memory,
                                 .deregister_memory = deregister_memory};

int hpc_test_device_link(hpc_link **out, hpc_link *host)
{
    device_link *l = hpc_alloc(1, sizeof *l);
    *out = NULL;
    if (!l) return HPC_E_NOMEM;
    l->base = (hpc_link){.ops = &ops,
                         .rank = host->rank,
                         .size = host->size,
                         .timeout_s = HPC_LINK_TIMEOUT_S,
                         .host = host};
    l->last = &l->first;
    *out = &l->base;
    return HPC_OK;
}
