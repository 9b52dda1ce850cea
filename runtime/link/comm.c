/*
 * comm.c: operations as every kind of link sees them: names, checks of
 * arguments, dispatch, and the count of bytes.
 *
 * Moves no data. What other ranks do is the business of each kind of link.
 */
#include "runtime/link/priv.h"

#include <sched.h>
#include <stdio.h>

static const char *const kind_name[HPC_COMM_KIND_N] = {
    [HPC_ALL_REDUCE] = "all_reduce",
    [HPC_ALL_GATHER] = "all_gather",
    [HPC_REDUCE_SCATTER] = "reduce_scatter",
    [HPC_ALL_TO_ALL] = "all_to_all",
    [HPC_BROADCAST] = "broadcast",
    [HPC_SEND] = "send",
    [HPC_RECV] = "recv",
};

const char *hpc_comm_name(hpc_comm_kind k)
{
    return (unsigned)k < HPC_COMM_KIND_N ? kind_name[k] : "unknown";
}

size_t hpc_comm_bytes(hpc_dtype dtype, int64_t n)
{
    const hpc_dtype_info *d = hpc_dtype_get(dtype);
    return (size_t)(n / d->block) * d->block_bytes;
}

static bool reduces(hpc_comm_kind k)
{
    return k == HPC_ALL_REDUCE || k == HPC_REDUCE_SCATTER;
}

const char *hpc_comm_text(char out[96], const hpc_comm *c)
{
    const char *how = !reduces(c->kind) ? "" : c->reduce == HPC_COMM_MAX ? "(max)" : "(sum)";
    const char *dtype = hpc_dtype_get(c->dtype)->name;
    if (c->send_n)
        snprintf(out, 96, "%s %s by counts", hpc_comm_name(c->kind), dtype);
    else
        snprintf(out, 96, "%s%s %s[%lld]", hpc_comm_name(c->kind), how, dtype, (long long)c->n);
    return out;
}

int hpc_error_note(hpc_error *out, int code, const char *format, ...)
{
    va_list args;
    *out = (hpc_error){.code = code, .file = __FILE__, .line = __LINE__};
    va_start(args, format);
    vsnprintf(out->text, sizeof out->text, format, args);
    va_end(args);
    return code;
}

/* ---- checks ---------------------------------------------------------------- */
static int check_form(const hpc_link *l, const hpc_comm *c)
{
    if ((unsigned)c->kind >= HPC_COMM_KIND_N)
        return hpc_fail(HPC_E_ARG, "link: %d is not a kind of operation", (int)c->kind);
    const char *name = hpc_comm_name(c->kind);
    if ((unsigned)c->dtype >= HPC_DTYPE_N)
        return hpc_fail(HPC_E_ARG, "%s: %d is not a dtype", name, (int)c->dtype);
    if (reduces(c->kind) && hpc_dtype_get(c->dtype)->quantised)
        return hpc_fail(HPC_E_UNSUPPORTED, "%s: %s cannot be reduced; convert it to f32 first",
                        name, hpc_dtype_get(c->dtype)->name);
    if (reduces(c->kind) && c->reduce != HPC_COMM_SUM && c->reduce != HPC_COMM_MAX)
        return hpc_fail(HPC_E_ARG, "%s: %d is not a reduction", name, (int)c->reduce);
    bool names_peer = c->kind == HPC_BROADCAST || c->kind == HPC_SEND || c->kind == HPC_RECV;
    if (names_peer && (c->peer < 0 || c->peer >= l->size))
        return hpc_fail(HPC_E_ARG, "%s: %s %d, but ranks of this link are 0 to %d", name,
                        c->kind == HPC_BROADCAST ? "root" : "peer", c->peer, l->size - 1);
    if (!c->send_n != !c->recv_n || (c->send_n && c->kind != HPC_ALL_TO_ALL))
        return hpc_fail(HPC_E_ARG, "%s: counts come in pairs, and for all_to_all alone", name);
    if (c->stream && !l->ops->device_memory)
        return hpc_fail(HPC_E_ARG, "%s: a link of kind %s takes host memory only", name,
                        l->ops->name);
    return 0;
}

/* *total += n, for an extent n that must be whole blocks and stay addressable. */
static int add_extent(int64_t *total, const hpc_comm *c, int64_t n)
{
    const hpc_dtype_info *d = hpc_dtype_get(c->dtype);
    int64_t bytes;
    if (n < 0)
        return hpc_fail(HPC_E_ARG, "%s: %lld elements; a count cannot be negative",
                        hpc_comm_name(c->kind), (long long)n);
    if (n % d->block != 0)
        return hpc_fail(HPC_E_SHAPE, "%s: %lld elements of %s are not whole blocks of %lld",
                        hpc_comm_name(c->kind), (long long)n, d->name, (long long)d->block);
    if (__builtin_add_overflow(*total, n, total) ||
        __builtin_mul_overflow(*total, (int64_t)d->block_bytes, &bytes))
        return hpc_fail(HPC_E_ARG, "%s: more elements than memory can hold",
                        hpc_comm_name(c->kind));
    return 0;
}

/* Number of elements of c->send and c->recv. */
static int measure(int64_t *send, int64_t *recv, const hpc_link *l, const hpc_comm *c)
{
    bool root = c->kind == HPC_BROADCAST && c->peer == l->rank;
    bool sends_one =
        c->kind == HPC_ALL_REDUCE || c->kind == HPC_ALL_GATHER || c->kind == HPC_SEND || root;
    bool recvs_one = c->kind == HPC_ALL_REDUCE || c->kind == HPC_REDUCE_SCATTER ||
                     c->kind == HPC_RECV || (c->kind == HPC_BROADCAST && (!root || c->recv));
    bool sends_all = c->kind == HPC_REDUCE_SCATTER || c->kind == HPC_ALL_TO_ALL;
    bool recvs_all = c->kind == HPC_ALL_GATHER || c->kind == HPC_ALL_TO_ALL;
    int sends = sends_all ? l->size : sends_one, recvs = recvs_all ? l->size : recvs_one;
    int rc = 0;
    *send = *recv = 0;
    for (int r = 0; r < sends; r++) TRY(add_extent(send, c, c->send_n ? c->send_n[r] : c->n));
    for (int r = 0; r < recvs; r++) TRY(add_extent(recv, c, c->recv_n ? c->recv_n[r] : c->n));
out:
    return rc;
}

static int check(const hpc_link *l, const hpc_comm *c)
{
    int64_t send_n = 0, recv_n = 0;
    int rc = check_form(l, c);
    if (rc == 0) rc = measure(&send_n, &recv_n, l, c);
    if (rc < 0) return rc;
    if ((send_n > 0 && !c->send) || (recv_n > 0 && !c->recv))
        return hpc_fail(HPC_E_ARG, "%s: the %s buffer is missing", hpc_comm_name(c->kind),
                        send_n > 0 && !c->send ? "send" : "recv");
    uintptr_t send = (uintptr_t)c->send, recv = (uintptr_t)c->recv;
    if (send_n > 0 && recv_n > 0 && send < recv + hpc_comm_bytes(c->dtype, recv_n) &&
        recv < send + hpc_comm_bytes(c->dtype, send_n))
        return hpc_fail(HPC_E_ARG, "%s: send and recv overlap; give it two buffers",
                        hpc_comm_name(c->kind));
    return 0;
}

/* ---- traffic --------------------------------------------------------------- */
/* A ring reduces in N-1 steps, in which a rank passes on every part but its own, then gathers in
 * N-1 steps, in which it passes on every part but its right neighbour's. */
static int64_t ring_elements(const hpc_link *l, int64_t n)
{
    int64_t lo, hi, sent = 2 * n;
    hpc_share(&lo, &hi, n, 1, l->rank, l->size);
    sent -= hi - lo;
    hpc_share(&lo, &hi, n, 1, (l->rank + 1) % l->size, l->size);
    return sent - (hi - lo);
}

static int64_t sent_elements(const hpc_link *l, const hpc_comm *c)
{
    int64_t n = 0;
    switch (c->kind) {
    case HPC_ALL_REDUCE: return ring_elements(l, c->n);
    case HPC_ALL_GATHER:
    case HPC_REDUCE_SCATTER: return (l->size - 1) * c->n;
    case HPC_ALL_TO_ALL:
        for (int r = 0; r < l->size; r++)
            if (r != l->rank) n += c->send_n ? c->send_n[r] : c->n;
        return n;
    case HPC_BROADCAST: return c->peer == l->rank ? c->n : 0;
    case HPC_SEND: return c->peer == l->rank ? 0 : c->n;
    default: return 0;
    }
}

/* Reduced types have blocks of one element, so ring_elements need not count whole blocks. */
int64_t hpc_link_sends(const hpc_link *l, const hpc_comm *c)
{
    return l->size == 1 ? 0 : (int64_t)hpc_comm_bytes(c->dtype, sent_elements(l, c));
}

static void count(hpc_link *l, const hpc_comm *c)
{
    if (l->size == 1) return;
    l->traffic.messages[c->kind]++;
    l->traffic.bytes[c->kind] += hpc_link_sends(l, c);
}

/* ---- dispatch -------------------------------------------------------------- */
int hpc_link_rank(const hpc_link *l)
{
    return l->rank;
}

int hpc_link_size(const hpc_link *l)
{
    return l->size;
}

/* Host data of a device's link goes through its host link. */
static int begin(hpc_link *l, hpc_handle *h, const hpc_comm *c)
{
    if (!c->stream && l->host) l = l->host;
    int rc = l->ops->start(l, h, c);
    if (rc == 0) h->link = l;
    return rc;
}

int hpc_link_start(hpc_link *l, hpc_handle *h, const hpc_comm *c)
{
    if (h->link)
        return hpc_fail(HPC_E_STATE,
                        "%s: the handle still has an operation in flight; wait for it first",
                        hpc_comm_name(c->kind));
    int rc = check(l, c);
    if (rc == 0) rc = begin(l, h, c);
    if (rc == 0) count(l, c);
    return rc;
}

int hpc_link_test(hpc_handle *h, bool *done)
{
    *done = true;
    if (!h->link) return 0;
    *done = false;
    int rc = h->link->ops->test(h, done);
    if (rc < 0) *done = true;
    if (*done) *h = (hpc_handle){0};
    return rc;
}

int hpc_link_wait(hpc_handle *h)
{
    if (!h->link) return 0;
    int rc = h->link->ops->wait(h);
    *h = (hpc_handle){0};
    return rc;
}

int hpc_link_run(hpc_link *l, const hpc_comm *c)
{
    hpc_handle h = {0};
    int rc = hpc_link_start(l, &h, c);
    return rc < 0 ? rc : hpc_link_wait(&h);
}

void hpc_link_pause(hpc_link *l, unsigned *seen)
{
    if (!l->ops->pause && l->host) l = l->host;
    if (l->ops->pause)
        l->ops->pause(l, seen);
    else
        sched_yield();
}

int hpc_link_flush(hpc_link *l)
{
    return l->ops->flush ? l->ops->flush(l) : HPC_OK;
}

int hpc_link_exchange(hpc_link *l, int64_t *recv, const int64_t *send, int64_t n)
{
    hpc_comm c = {.kind = HPC_ALL_GATHER, .dtype = HPC_I64, .n = n, .send = send, .recv = recv};
    hpc_handle h = {0};
    int rc = begin(l, &h, &c);
    return rc < 0 ? rc : hpc_link_wait(&h);
}

void hpc_link_abort(hpc_link *l, const char *why)
{
    l->ops->abort(l, why ? why : "no reason given");
}

int hpc_link_split(hpc_link **out, hpc_link *l, int color, int key)
{
    *out = NULL;
    return l->ops->split(out, l, color, key);
}

void hpc_link_name(hpc_link *l, const char *name)
{
    snprintf(l->name, sizeof l->name, "%s", name);
}

void hpc_link_timeout(hpc_link *l, double seconds)
{
    l->timeout_s = seconds;
}

void hpc_link_close(hpc_link *l)
{
    if (l) l->ops->close(l);
}
