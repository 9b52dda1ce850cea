/*
 * nccl.c: the link over NCCL, for GPU memory. Operations become NCCL groups in the
 * streams that they name, and are complete when the stream has passed their mark.
 *
 * A host link of the same ranks (threads or MPI) sets NCCL up, carries small and host
 * data, and propagates failures: a pending receive from the rank itself, which is sent
 * only on close, fails when any rank aborts. NCCL itself is in a shared object (nccl/).
 */
#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "runtime/link/nccl/rail.h"
#include "runtime/link/priv.h"

enum { QUEUE_MOST = 64, POLL_US = 20, TAG_NEWS = INT_MAX };

typedef struct nccl_op {
    struct nccl_op *next, *sibling; /* spare; all */
    void *mark;
    bool queued; /* not given to NCCL yet */
    int64_t since_ns;
    hpc_rail_call call;
    int64_t *count; /* ALL_TO_ALL: to each rank, then from each */
} nccl_op;

typedef struct nccl_link {
    hpc_link base;
    const hpc_rail *rail;
    void *self; /* of rail */
    int device;
    bool owns_host;
    nccl_op *owned, *spare;
    nccl_op *queue[QUEUE_MOST]; /* messages that go as one group */
    int queue_n;
    hpc_handle news;
    bool failed; /* once true, `why` does not change */
    hpc_error why;
} nccl_link;

static const hpc_link_ops nccl_ops;

/* ---- failures ---------------------------------------------------------------------- */
static int broken(nccl_link *l)
{
    hpc_error_adopt(&l->why);
    return l->why.code;
}

static void end_all(nccl_link *l)
{
    l->failed = true;
    l->rail->abort(l->self);
}

/* This rank fails, by what NCCL says. */
static int fail_here(nccl_link *l, const char *what, const char *why)
{
    if (l->failed) return broken(l);
    hpc_error_note(&l->why, HPC_E_IO, "nccl: %s: %s", what, why);
    end_all(l);
    hpc_link_abort(l->base.host, l->why.text);
    return broken(l);
}

/* Checks for a failure of another rank. */
static void hear(nccl_link *l)
{
    bool done;
    if (l->failed || !l->news.link || hpc_link_test(&l->news, &done) >= 0) return;
    l->why = *hpc_error_get();
    end_all(l);
}

/* ---- operations ---------------------------------------------------------------------- */
static nccl_op *op_take(nccl_link *l, const hpc_comm *c)
{
    char why[HPC_RAIL_TEXT];
    size_t size = (size_t)l->base.size;
    nccl_op *op = l->spare;
    if (op) {
        l->spare = op->next;
    } else {
        op = hpc_alloc(1, sizeof *op);
        if (!op) return NULL;
        op->sibling = l->owned;
        l->owned = op;
        op->count = hpc_alloc(2 * size, sizeof *op->count);
        if (!op->count) return NULL;
        if (l->rail->mark(l->self, &op->mark, why) != 0) {
            fail_here(l, "event", why);
            return NULL;
        }
    }
    op->since_ns = 0;
    op->call = (hpc_rail_call){.c = *c, .info = hpc_dtype_get(c->dtype), .mark = op->mark};
    if (!c->send_n) return op;
    memcpy(op->count, c->send_n, size * sizeof *op->count);
    memcpy(op->count + size, c->recv_n, size * sizeof *op->count);
    op->call.c.send_n = op->count;
    op->call.c.recv_n = op->count + size;
    return op;
}

static void op_return(nccl_link *l, nccl_op *op)
{
    op->next = l->spare;
    l->spare = op;
}

/* Messages wait here for others, because a pair that sends and receives at once must do so in one
 * group: whoever looks at any of them, or starts a collective, sends them off. */
static int flush(nccl_link *l)
{
    hpc_rail_call list[QUEUE_MOST];
    char why[HPC_RAIL_TEXT];
    int n = l->queue_n;
    for (int k = 0; k < n; k++) {
        list[k] = l->queue[k]->call;
        l->queue[k]->queued = false;
    }
    l->queue_n = 0;
    if (n == 0 || l->rail->start(l->self, list, n, why) == 0) return 0;
    return fail_here(l, hpc_comm_name(list[0].c.kind), why);
}

static int nccl_flush(hpc_link *base)
{
    return flush((nccl_link *)base);
}

static int nccl_start(hpc_link *base, hpc_handle *h, const hpc_comm *c)
{
    nccl_link *l = (nccl_link *)base;
    bool message = c->kind == HPC_SEND || c->kind == HPC_RECV;
    char why[HPC_RAIL_TEXT];
    int rc = 0;
    hear(l);
    if (l->failed) return broken(l);
    if (!message || l->queue_n == QUEUE_MOST) rc = flush(l);
    if (rc < 0) return rc;
    nccl_op *op = op_take(l, c);
    if (!op) return hpc_error_get()->code < 0 ? hpc_error_get()->code : HPC_E_NOMEM;
    op->queued = message;
    if (message)
        l->queue[l->queue_n++] = op;
    else if (l->rail->start(l->self, &op->call, 1, why) != 0)
        rc = fail_here(l, hpc_comm_name(c->kind), why);
    if (rc < 0) {
        op_return(l, op);
        return rc;
    }
    h->priv = op;
    return 0;
}

/* ---- waiting --------------------------------------------------------------------------- */
static int expire(nccl_link *l, const nccl_op *op)
{
    char what[96];
    if (l->failed) return broken(l);
    hpc_error_note(&l->why, HPC_E_ABORTED,
                   "%s on %s: gave up after %g s; NCCL does not report the missing rank",
                   hpc_comm_text(what, &op->call.c), *l->base.name ? l->base.name : "a link",
                   l->base.timeout_s);
    end_all(l);
    hpc_link_abort(l->base.host, l->why.text);
    return broken(l);
}

/* 1: done; 0: not yet. */
static int look(nccl_link *l, nccl_op *op)
{
    char why[HPC_RAIL_TEXT], what[96];
    bool done = false;
    int rc = flush(l);
    hear(l);
    if (l->failed) return broken(l);
    if (rc < 0) return rc;
    if (l->rail->test(l->self, op->mark, &done, why) != 0)
        return fail_here(l, hpc_comm_text(what, &op->call.c), why);
    if (done) return 1;
    int64_t now = hpc_clock_ns();
    if (op->since_ns == 0) op->since_ns = now;
    bool late = (double)(now - op->since_ns) > l->base.timeout_s * 1e9;
    return l->base.timeout_s > 0 && late ? expire(l, op) : 0;
}

static int nccl_test(hpc_handle *h, bool *done)
{
    nccl_link *l = (nccl_link *)h->link;
    nccl_op *op = h->priv;
    int rc = look(l, op);
    *done = rc != 0;
    if (*done) op_return(l, op);
    return rc < 0 ? rc : 0;
}

static int nccl_wait(hpc_handle *h)
{
    nccl_link *l = (nccl_link *)h->link;
    nccl_op *op = h->priv;
    int rc = 0;
    op->since_ns = 0;
    while ((rc = look(l, op)) == 0) nanosleep(&(struct timespec){.tv_nsec = 1000L * POLL_US}, NULL);
    op_return(l, op);
    return rc < 0 ? rc : 0;
}

static void nccl_abort(hpc_link *base, const char *why)
{
    nccl_link *l = (nccl_link *)base;
    hpc_link_abort(base->host, why);
    hear(l);
    if (!l->failed) end_all(l);
}

/* ---- opening and closing ----------------------------------------------------------------- */
static void nccl_close(hpc_link *base)
{
    nccl_link *l = (nccl_link *)base;
    hpc_comm answer = {.kind = HPC_SEND, .dtype = HPC_I32, .peer = base->rank, .tag = TAG_NEWS};
    if (l->news.link && hpc_link_run(base->host, &answer) >= 0) hpc_link_wait(&l->news);
    if (l->news.link) hpc_link_wait(&l->news);
    for (nccl_op *op = l->owned, *next; op; op = next) {
        next = op->sibling;
        if (op->mark) l->rail->unmark(l->self, op->mark);
        hpc_free(op->count);
        hpc_free(op);
    }
    if (l->self) l->rail->close(l->self);
    if (l->owns_host) hpc_link_close(base->host);
    hpc_free(l);
}

/* All ranks come as far, or all stop with the first reason. */
static int agree(hpc_link *host, int rc)
{
    int64_t mine = rc, *all = hpc_alloc((size_t)host->size, sizeof *all);
    if (!all) return HPC_E_NOMEM;
    int told = hpc_link_exchange(host, all, &mine, 1);
    for (int r = 0; r < host->size && rc >= 0 && told >= 0; r++)
        if (all[r] < 0)
            told = hpc_fail((int)all[r], "nccl: rank %d: %s", r, hpc_error_name((int)all[r]));
    hpc_free(all);
    return rc < 0 ? rc : told;
}

static int spread_id(char id[HPC_RAIL_ID], const hpc_rail *rail, hpc_link *host)
{
    char why[HPC_RAIL_TEXT] = "", got[HPC_RAIL_ID];
    int rc = 0;
    hpc_assert(rail);
    if (host->rank == 0 && rail->id(id, why) != 0) rc = hpc_fail(HPC_E_IO, "nccl: %s", why);
    rc = agree(host, rc);
    if (rc < 0) return rc;
    hpc_comm c = {
        .kind = HPC_BROADCAST, .dtype = HPC_I64, .n = HPC_RAIL_ID / 8, .send = id, .recv = got};
    rc = hpc_link_run(host, &c);
    memcpy(id, got, sizeof got);
    return rc;
}

static int find_rail(const hpc_rail **out, int device, const char *library)
{
    void *object = NULL;
    char why[HPC_RAIL_TEXT] = "";
    int n = 0, rc;
    TRY(hpc_library_open(&object, library, "hpccoder-nccl.so", "CUDA and libnccl-dev"));
    const hpc_rail *rail = dlsym(object, HPC_RAIL_SYMBOL);
    if (!rail || rail->version != HPC_RAIL_VERSION)
        return hpc_fail(HPC_E_UNSUPPORTED, "hpccoder-nccl.so has another version; rebuild it");
    if (rail->devices(&n, why) != 0 || n == 0)
        return hpc_fail(HPC_E_UNSUPPORTED, "nccl: no CUDA device here%s%s", *why ? ": " : "", why);
    if (device < 0 || device >= n)
        return hpc_fail(HPC_E_ARG, "nccl: device %d of %d; devices are 0 to %d", device, n, n - 1);
    *out = rail;
out:
    return rc;
}

static int open_over(hpc_link **out, hpc_link *host, const hpc_rail *rail, int device)
{
    char id[HPC_RAIL_ID] = {0}, why[HPC_RAIL_TEXT] = "";
    int rc = 0;
    hpc_assert(rail);
    nccl_link *l = hpc_alloc(1, sizeof *l);
    TRY(agree(host, l ? 0 : HPC_E_NOMEM));
    l->base = (hpc_link){.ops = &nccl_ops,
                         .rank = host->rank,
                         .size = host->size,
                         .timeout_s = HPC_LINK_TIMEOUT_S,
                         .host = host};
    l->rail = rail;
    l->device = device;
    TRY(spread_id(id, rail, host));
    if (rail->open(&l->self, device, id, host->rank, host->size, why) != 0)
        rc = hpc_fail(HPC_E_IO, "nccl: %s", why);
    TRY(agree(host, rc));
    TRY(hpc_link_start(
        host, &l->news,
        &(hpc_comm){.kind = HPC_RECV, .dtype = HPC_I32, .peer = host->rank, .tag = TAG_NEWS}));
    *out = &l->base;
    l = NULL;
out:
    if (l) nccl_close(&l->base);
    return rc;
}

int hpc_nccl_open(hpc_link **out, hpc_link *host, int device, const char *library)
{
    const hpc_rail *rail = NULL;
    int rc;
    *out = NULL;
    TRY(agree(host, find_rail(&rail, device, library)));
    rc = open_over(out, host, rail, device);
out:
    return rc;
}

static int nccl_split(hpc_link **out, hpc_link *base, int color, int key)
{
    nccl_link *l = (nccl_link *)base;
    hpc_link *host = NULL;
    int rc;
    TRY(hpc_link_split(&host, base->host, color, key));
    if (!host) return 0;
    TRY(open_over(out, host, l->rail, l->device));
    ((nccl_link *)*out)->owns_host = true;
    (*out)->timeout_s = base->timeout_s;
    host = NULL;
out:
    hpc_link_close(host);
    return rc;
}

static int nccl_register(hpc_link *base, void **handle, void *memory, size_t bytes)
{
    nccl_link *l = (nccl_link *)base;
    char why[HPC_RAIL_TEXT] = "";
    *handle = NULL;
    if (l->failed) return broken(l);
    if (l->rail->register_memory(l->self, handle, memory, bytes, why) == 0) return 0;
    return fail_here(l, "registering memory", why);
}

static void nccl_deregister(hpc_link *base, void *handle)
{
    nccl_link *l = (nccl_link *)base;
    l->rail->deregister_memory(l->self, handle);
}

static const hpc_link_ops nccl_ops = {
    .name = "nccl",
    .device_memory = true,
    .start = nccl_start,
    .test = nccl_test,
    .wait = nccl_wait,
    .flush = nccl_flush,
    .abort = nccl_abort,
    .split = nccl_split,
    .close = nccl_close,
    .register_memory = nccl_register,
    .deregister_memory = nccl_deregister,
};
