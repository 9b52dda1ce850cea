/*
 * check.c: the memory rules of the mock device: for every few bytes, a record of their contents and
 * their last accesses. Accesses are ordered by the joins of queues, not by the times of execution,
 * so every race is found in every run.
 */
#include "runtime/device/mock/priv.h"

static void range(const block *b, const void *p, size_t bytes, size_t *first, size_t *end)
{
    size_t at = (size_t)((const uint8_t *)p - b->device);
    *first = at / GRANULE;
    *end = (at + bytes + GRANULE - 1) / GRANULE;
}

static int find(mock *m, const void *p, size_t bytes, const char *what, block **out)
{
    *out = hpc_mock_block(m, p, bytes);
    if (*out) return HPC_OK;
    return hpc_fail(HPC_E_FAULT, "%s: %zu bytes at %p are not memory of this device", what, bytes,
                    p);
}

static bool behind(const mock *m, hpc_queue q, int other, int64_t number)
{
    return other == (int)q || number <= m->queue[q].clock[other];
}

int hpc_mock_check_read(mock *m, hpc_queue q, const void *p, size_t bytes, uint32_t id,
                        const char *what)
{
    block *b;
    size_t first, end;
    if (bytes == 0) return HPC_OK;
    int rc = find(m, p, bytes, what, &b);
    if (rc < 0) return rc;
    range(b, p, bytes, &first, &end);
    for (size_t k = first; k < end; k++) {
        granule *g = &b->granule[k];
        if (!g->written)
            return hpc_fail(HPC_E_FAULT, "%s is read at byte %zu, where nothing was written", what,
                            (k - first) * GRANULE);
        if (id != ANY_VALUE && g->id != ANY_VALUE && g->id != id)
            return hpc_fail(HPC_E_FAULT, "%s is value %%%u, but its memory holds %%%u by now", what,
                            id - 1, g->id - 1);
        if (!behind(m, q, g->writer, g->write))
            return hpc_fail(HPC_E_FAULT,
                            "%s is read on queue %d while queue %d may still write it "
                            "(a fence or join is missing)",
                            what, (int)q, g->writer);
        g->read[q] = m->queue[q].number;
    }
    return HPC_OK;
}

int hpc_mock_check_write(mock *m, hpc_queue q, void *p, size_t bytes, uint32_t id, const char *what)
{
    block *b;
    size_t first, end;
    if (bytes == 0) return HPC_OK;
    int rc = find(m, p, bytes, what, &b);
    if (rc < 0) return rc;
    range(b, p, bytes, &first, &end);
    for (size_t k = first; k < end; k++) {
        granule *g = &b->granule[k];
        int rival = behind(m, q, g->writer, g->write) ? -1 : g->writer;
        for (int o = 0; o < HPC_QUEUE_N && rival < 0; o++)
            if (!behind(m, q, o, g->read[o])) rival = o;
        if (rival >= 0)
            return hpc_fail(HPC_E_FAULT,
                            "%s is written on queue %d while queue %d may still use it "
                            "(a fence or join is missing)",
                            what, (int)q, rival);
        *g =
            (granule){.id = id, .written = true, .writer = (uint8_t)q, .write = m->queue[q].number};
    }
    return HPC_OK;
}

void hpc_mock_forget_order(mock *m)
{
    for (int q = 0; q < HPC_QUEUE_N; q++)
        for (int o = 0; o < HPC_QUEUE_N; o++) m->queue[q].clock[o] = m->queue[o].number;
}

/* ---- one launch ------------------------------------------------------------------ */

static int role_of(const hpc_signature *s, int k, const hpc_tensor *t)
{
    int flags = s->operand[k].flags;
    return (flags & HPC_INOUT) | (t->adds ? HPC_IN : 0);
}

static bool overlap(const void *a, size_t an, const void *b, size_t bn)
{
    const uint8_t *x = a, *y = b;
    return x < y + bn && y < x + an;
}

/* An output lies over no other operand, unless it may take over an input's memory whole. */
static int check_alias(const hpc_signature *s, const hpc_tensor *t, int out)
{
    size_t bytes = hpc_tensor_bytes(&t[out]);
    for (int k = 0; k < s->operand_n; k++) {
        if (k == out || !t[k].data ||
            !overlap(t[out].data, bytes, t[k].data, hpc_tensor_bytes(&t[k])))
            continue;
        if (out == 0 && s->operand[k].flags & HPC_INPLACE && t[k].data == t[out].data) continue;
        return hpc_fail(HPC_E_FAULT, "output %s lies over operand %s", s->operand[out].name,
                        s->operand[k].name);
    }
    return HPC_OK;
}

/* Counts are read, of outputs too, but for those that this launch makes itself. */
static int check_count(mock *m, hpc_queue q, const hpc_signature *s, const hpc_tensor *t, int of)
{
    size_t bytes = sizeof(int32_t);
    if (t[of].ragged < 0) return HPC_OK;
    for (int k = 0; k < s->operand_n; k++)
        if (t[k].data == t[of].count && role_of(s, k, &t[k]) == HPC_OUT) return HPC_OK;
    for (int d = 0; d < t[of].ragged; d++) bytes *= (size_t)t[of].extent[d];
    return hpc_mock_check_read(m, q, t[of].count, bytes, ANY_VALUE, "a count");
}

static int check_inputs(mock *m, hpc_queue q, const hpc_signature *s, const hpc_tensor *t)
{
    int rc = HPC_OK;
    for (int k = 0; k < s->operand_n; k++) {
        if (!t[k].data) continue;
        TRY(check_count(m, q, s, t, k));
        if (!(role_of(s, k, &t[k]) & HPC_IN)) continue;
        TRY(hpc_mock_check_read(m, q, t[k].data, hpc_tensor_bytes(&t[k]), t[k].id,
                                s->operand[k].name));
    }
out:
    return rc;
}

/* A guarded launch may leave its outputs as they were: they count as written all the same. */
static int check_outputs(mock *m, hpc_queue q, const hpc_signature *s, const hpc_tensor *t)
{
    int rc = HPC_OK;
    for (int k = 0; k < s->operand_n; k++) {
        if (!t[k].data || !(role_of(s, k, &t[k]) & HPC_OUT)) continue;
        TRY(check_alias(s, t, k));
        TRY(hpc_mock_check_write(m, q, t[k].data, hpc_tensor_bytes(&t[k]), t[k].id,
                                 s->operand[k].name));
    }
out:
    return rc;
}

int hpc_mock_check_launch(mock *m, hpc_queue q, const hpc_plan *p, const hpc_signature *s,
                          const void *args, const void *workspace, const int32_t *guard)
{
    int rc = HPC_OK;
    const hpc_tensor *t = args;
    if (guard) TRY(hpc_mock_check_read(m, q, guard, sizeof *guard, ANY_VALUE, "the guard"));
    for (int k = 0; p->workspace && k < s->operand_n; k++)
        if (t[k].data && overlap(workspace, p->workspace, t[k].data, hpc_tensor_bytes(&t[k])))
            TRY(hpc_fail(HPC_E_FAULT, "the workspace lies over operand %s", s->operand[k].name));
    TRY(check_inputs(m, q, s, t));
    if (p->workspace)
        TRY(hpc_mock_check_write(m, q, (void *)(uintptr_t)workspace, p->workspace, UINT32_MAX,
                                 "the workspace"));
    TRY(check_outputs(m, q, s, t));
out:
    return rc;
}
