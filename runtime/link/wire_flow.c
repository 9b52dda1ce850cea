/*
 * wire_flow.c: long data to or from one rank, in pieces, so that received pieces are
 * reduced and forwarded while the rest is in transit.
 *
 * Both ends derive the pieces from the number of bytes; all receives are posted at
 * once.
 */
#include "runtime/link/wire_priv.h"

#include <string.h>

enum { PIECE_LEAST = 256 << 10 };

void hpc_flow_open(flow *f, bool send, const void *data, size_t bytes, int peer, int tag)
{
    size_t piece = (bytes / PIECES + 64) / 64 * 64; /* whole elements of every dtype */
    if (piece < PIECE_LEAST) piece = PIECE_LEAST;
    f->data = (char *)(uintptr_t)data;
    f->bytes = bytes;
    f->piece = piece;
    f->peer = peer;
    f->tag = tag;
    f->n = (int16_t)((bytes + piece - 1) / piece);
    f->begun = f->done = 0;
    f->send = send;
    f->cancelled = false;
}

static size_t end_of(const flow *f, int pieces)
{
    return pieces == f->n ? f->bytes : (size_t)pieces * f->piece;
}

void hpc_flow_begin(office *o, flow *f, size_t ready)
{
    while (f->begun < f->n && end_of(f, f->begun + 1) <= ready) {
        size_t at = end_of(f, f->begun), n = end_of(f, f->begun + 1) - at;
        hpc_wire_request *q = &f->request[f->begun];
        int code = f->send ? o->wire->send(o->self, q, f->data + at, n, f->peer, f->tag)
                           : o->wire->recv(o->self, q, f->data + at, n, f->peer, f->tag);
        hpc_office_check(o, code);
        if (code != 0) return;
        f->begun++;
    }
}

bool hpc_flow_advance(office *o, flow *f)
{
    bool moved = false;
    while (f->done < f->begun) {
        bool done = false;
        int code = o->wire->test(o->self, &f->request[f->done], &done);
        hpc_office_check(o, code);
        if (!done || code != 0) break;
        f->done++;
        moved = true;
    }
    return moved;
}

size_t hpc_flow_moved(const flow *f)
{
    return end_of(f, f->done);
}

bool hpc_flow_finished(const flow *f)
{
    return f->done == f->n;
}

bool hpc_flow_quiet(office *o, flow *f, bool cancel)
{
    if (!f->send && cancel && !f->cancelled) {
        for (int i = f->done; i < f->begun; i++)
            hpc_office_check(o, o->wire->cancel(o->self, &f->request[i]));
        f->cancelled = true;
    }
    hpc_flow_advance(o, f);
    return f->done == f->begun;
}
