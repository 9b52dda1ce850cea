/*
 * stage.c: data moved into device memory without a fence: writes are copied to a ring of the
 * executor, in memory that the backend pins, and leave it in a queue's order.
 *
 * Small writes go through the compute queue, large ones through the copy queue, which overlaps the
 * host's next piece. A piece of the ring is free again after a fence or after its event.
 */
#include <string.h>

#include "runtime/program/run/priv.h"

enum { SMALL_PIECE = 64 << 10, LARGE_PIECE = 1 << 20 };

int hpc_stage_open(hpc_exec *e)
{
    e->stage[0] = (stage){.queue = HPC_COMPUTE, .piece_bytes = SMALL_PIECE};
    e->stage[1] = (stage){.queue = HPC_COPY, .piece_bytes = LARGE_PIECE};
    return e->host ? HPC_OK
                   : hpc_device_host_alloc(&e->stage[0].memory, e->device,
                                           STAGE_PIECES * e->stage[0].piece_bytes);
}

void hpc_stage_close(hpc_exec *e)
{
    for (int k = 0; k < STAGE_N; k++) hpc_device_host_free(e->device, e->stage[k].memory);
}

/* Moves on to the next piece, and waits until its last data have left it. */
static int turn(hpc_exec *e, stage *s)
{
    const hpc_backend *b = hpc_device_backend(e->device);
    int rc = HPC_OK;
    TRY(b->record(e->device, s->queue, &s->event[s->piece]));
    s->busy[s->piece] = true;
    s->piece = (s->piece + 1) % STAGE_PIECES;
    s->used = 0;
    if (s->busy[s->piece]) TRY(b->sync(e->device, s->event[s->piece]));
    s->busy[s->piece] = false;
out:
    return rc;
}

/* After a fence all data have left. */
static void forget(stage *s, int64_t fence_n)
{
    if (s->fence_n == fence_n) return;
    s->fence_n = fence_n;
    s->piece = 0;
    s->used = 0;
    memset(s->busy, 0, sizeof s->busy);
}

static int put(hpc_exec *e, stage *s, uint8_t *to, const uint8_t *data, size_t bytes,
               hpc_direction way)
{
    int rc = HPC_OK;
    forget(s, hpc_device_about(e->device).fence_n);
    for (size_t n; bytes > 0; to += n, data += n, bytes -= n) {
        if (s->used == s->piece_bytes) TRY(turn(e, s));
        n = s->piece_bytes - s->used < bytes ? s->piece_bytes - s->used : bytes;
        uint8_t *piece = (uint8_t *)s->memory + (size_t)s->piece * s->piece_bytes + s->used;
        memcpy(piece, data, n);
        TRY(hpc_device_copy(e->device, s->queue, to, piece, n, way));
        s->used += n;
    }
out:
    return rc;
}

int hpc_stage_put(hpc_exec *e, hpc_value v, void *to, const void *data, size_t bytes)
{
    const hpc_backend *b = hpc_device_backend(e->device);
    int rc = HPC_OK;
    if (e->host) return hpc_device_copy(e->device, HPC_COMPUTE, to, data, bytes, HPC_TO_DEVICE);
    stage *s = &e->stage[bytes > SMALL_PIECE];
    bool apart = s->queue != HPC_COMPUTE;
    if (!s->memory)
        TRY(hpc_device_host_alloc(&s->memory, e->device, STAGE_PIECES * s->piece_bytes));
    if (apart) TRY(hpc_queue_join(e, s->queue, HPC_COMPUTE));
    TRY(put(e, s, to, data, bytes, hpc_lent_way(e, v, HPC_TO_DEVICE)));
    if (b->wrote) TRY(b->wrote(e->device, s->queue, to, bytes, hpc_exec_id(e, v)));
    if (apart) TRY(hpc_queue_join(e, HPC_COMPUTE, s->queue));
out:
    return rc;
}
