/*
 * stream_ring.c: one layer over a graph in chunks, on ranks in a ring: each holds one interval, and
 * rows of sources move on by one rank in each of size - 1 steps, while the chunk of the
 * resident ones is summed.
 */
#include "model/graph/stream_priv.h"

#include <string.h>

typedef struct ring {
    hpc_saga_stream *s;
    hpc_link *link;
    int rank, size;
    stream_rows hand, next; /* of interval (rank - step) modulo size */
    hpc_handle send[STREAM_ENDS], recv[STREAM_ENDS];
} ring;

static hpc_comm message(const ring *r, int k, int64_t part, hpc_comm_kind kind)
{
    const hpc_net_chunks *c = r->s->chunks;
    hpc_value v = k == 0 ? r->s->given.row : r->s->given.source;
    const hpc_type *t = &r->s->p->value[v].type;
    int64_t rows = c->first[part + 1] - c->first[part];
    return (hpc_comm){.kind = kind,
                      .dtype = (hpc_dtype)t->dtype,
                      .peer = (r->rank + (kind == HPC_SEND ? 1 : r->size - 1)) % r->size,
                      .tag = k,
                      .n = rows * t->extent[1],
                      .send = kind == HPC_SEND ? r->hand.data[k] : NULL,
                      .recv = kind == HPC_RECV ? r->next.data[k] : NULL};
}

/* Passes the rows in hand on, and starts to take the next ones. */
static int start_step(ring *r, int64_t part)
{
    int64_t other = (part + r->size - 1) % r->size;
    int ends = r->s->given.source >= 0 ? 2 : 1, rc = HPC_OK;
    for (int k = 0; k < ends; k++) {
        hpc_comm send = message(r, k, part, HPC_SEND), recv = message(r, k, other, HPC_RECV);
        TRY(hpc_link_start(r->link, &r->recv[k], &recv));
        TRY(hpc_link_start(r->link, &r->send[k], &send));
    }
    r->s->traffic.ring_steps++;
out:
    return rc;
}

static int end_step(ring *r)
{
    int ends = r->s->given.source >= 0 ? 2 : 1, rc = HPC_OK;
    for (int k = 0; k < ends; k++) {
        TRY(hpc_link_wait(&r->recv[k]));
        TRY(hpc_link_wait(&r->send[k]));
    }
    stream_rows swap = r->hand;
    r->hand = r->next;
    r->next = swap;
out:
    return rc;
}

static int go_round(ring *r)
{
    int rc = HPC_OK;
    for (int step = 0; step < r->size; step++) {
        int64_t part = (r->rank - step + r->size) % r->size;
        bool moves = step + 1 < r->size;
        if (moves) TRY(start_step(r, part));
        TRY(stream_chunk(r->s, r->rank, part, &r->hand));
        if (moves) TRY(end_step(r));
    }
out:
    return rc;
}

int hpc_saga_stream_ring(hpc_saga_stream *s, hpc_link *link, void *y, const void *x)
{
    ring r = {.s = s, .link = link, .rank = hpc_link_rank(link), .size = hpc_link_size(link)};
    const hpc_net_chunks *c = s->chunks;
    stream_rows own = {{NULL}};
    int rc;
    if (c->parts != r.size)
        return hpc_fail(HPC_E_ARG, "a graph in %lld parts needs as many ranks, not %d",
                        (long long)c->parts, r.size);
    int64_t rows = c->first[r.rank + 1] - c->first[r.rank];
    stream_count_from_zero(s);
    TRY(stream_rows_alloc(&own, s, c->rows));
    TRY(stream_rows_alloc(&r.hand, s, c->rows));
    TRY(stream_rows_alloc(&r.next, s, c->rows));
    if (s->made.row == s->x)
        memcpy(own.data[0], x, (size_t)rows * stream_row_bytes(s, s->x));
    else
        TRY(stream_scatter(s, r.rank, x, &own));
    for (int k = 0; k < 2; k++)
        if (own.data[k])
            memcpy(r.hand.data[k], own.data[k],
                   (size_t)rows * stream_row_bytes(s, k ? s->given.source : s->given.row));
    TRY(stream_begin(s, rows, own.data[2]));
    TRY(go_round(&r));
    TRY(stream_end(s, r.rank, y, x));
out:
    stream_rows_free(&own);
    stream_rows_free(&r.hand);
    stream_rows_free(&r.next);
    return rc;
}
