/*
 * run.c: running segments and moving values in and out.
 */
#include "runtime/program/run/priv.h"

static int check_run(const hpc_exec *e, int segment, int slot)
{
    if (segment < 0 || segment >= e->p->segment_n)
        return hpc_fail(HPC_E_ARG, "there is no segment %d (the program has %lld)", segment,
                        (long long)e->p->segment_n);
    if (slot < 0 || slot >= e->slots)
        return hpc_fail(HPC_E_ARG, "there is no slot %d (the executor has %d)", slot, e->slots);
    return HPC_OK;
}

int hpc_run_begin(hpc_run *r, hpc_exec *e, int segment, int slot)
{
    int rc = check_run(e, segment, slot);
    *r = (hpc_run){.exec = e, .segment = segment, .slot = slot, .at = -1};
    return rc;
}

/* Peers would wait for what this rank will never send: they learn why at once. */
int hpc_exec_fail(const hpc_exec *e, int rc)
{
    if (e->grid) hpc_link_abort(hpc_grid_world(e->grid), hpc_error_get()->text);
    return rc;
}

/* What the run had in flight is given up, so that a later one may start it again. */
static int fail_run(const hpc_run *r, int rc)
{
    hpc_exec_fail(r->exec, rc);
    hpc_transfers_end(r->exec, r->slot);
    return rc;
}

/* at == -1: what this slot sent before must have left its memory. */
static int advance(hpc_run *r, bool block)
{
    hpc_exec *e = r->exec;
    if (r->at < 0) {
        bool done = true;
        int rc = hpc_transfers_settle(e, r->slot, block, &done);
        if (rc < 0) return fail_run(r, rc);
        if (!done) return HPC_RUN_YIELD;
        r->at = 0;
    }
    int rc = e->host ? hpc_walk(r, block) : hpc_enqueue(r, block);
    return rc < 0 ? fail_run(r, rc) : rc;
}

int hpc_run_step(hpc_run *r)
{
    return advance(r, false);
}

int hpc_exec_fence(hpc_exec *e)
{
    int rc = hpc_transfers_fence(e);
    if (rc >= 0) rc = hpc_profile_fence(e);
    return rc < 0 ? hpc_exec_fail(e, rc) : rc;
}

static int run_segment(hpc_exec *e, int segment, int slot, bool fenced)
{
    int64_t begin = e->event_n < e->event_cap ? hpc_clock_ns() : 0;
    hpc_run r;
    int rc = HPC_OK;
    TRY(hpc_run_begin(&r, e, segment, slot));
    TRY(advance(&r, true));
    if (fenced) TRY(hpc_exec_fence(e));
    hpc_event_note(e, HPC_EVENT_SEGMENT, segment, HPC_NONE, begin);
out:
    return rc;
}

int hpc_exec_run(hpc_exec *e, int segment, int slot)
{
    return run_segment(e, segment, slot, true);
}

int hpc_exec_enqueue(hpc_exec *e, int segment, int slot)
{
    return run_segment(e, segment, slot, false);
}

void hpc_exec_microbatch(hpc_exec *e, int slot, int microbatch)
{
    hpc_assert(slot >= 0 && slot < e->slots);
    e->microbatch[slot] = microbatch;
}

static const char *value_name(const hpc_exec *e, hpc_value v)
{
    return e->p->value[v].name ? e->p->value[v].name : "temporary";
}

static int check_place(const hpc_exec *e, int slot, hpc_value v)
{
    if (v < 0 || v >= e->p->value_n) return hpc_fail(HPC_E_ARG, "there is no value %d", v);
    if (slot < 0 || slot >= e->slots)
        return hpc_fail(HPC_E_ARG, "%%%d (%s): there is no slot %d (the executor has %d)", v,
                        value_name(e, v), slot, e->slots);
    return HPC_OK;
}

static int check_value(const hpc_exec *e, int slot, hpc_value v, size_t bytes)
{
    int rc = check_place(e, slot, v);
    if (rc < 0) return rc;
    size_t want = hpc_type_bytes(&e->p->value[v].type);
    char text[128];
    if (bytes != want)
        return hpc_fail(HPC_E_SHAPE, "%%%d (%s) is %s, %zu bytes; %zu were given", v,
                        value_name(e, v), hpc_type_text(text, &e->p->value[v].type), want, bytes);
    return HPC_OK;
}

static int check_writable(const hpc_exec *e, hpc_value v)
{
    if (e->p->value[v].kind == HPC_VALUE_TEMP)
        return hpc_fail(HPC_E_ARG, "%%%d is computed; only inputs and state are written", v);
    if (e->p->value[v].absent)
        return hpc_fail(HPC_E_ARG, "%%%d (%s) is state of another stage", v, value_name(e, v));
    if (e->lent && e->lent[v] && !e->writable[v])
        return hpc_fail(HPC_E_ARG, "%%%d (%s) is lent: it is only read", v, value_name(e, v));
    return HPC_OK;
}

int hpc_exec_write(hpc_exec *e, int slot, hpc_value v, const void *data, size_t bytes)
{
    int rc = HPC_OK;
    TRY(check_value(e, slot, v, bytes));
    TRY(check_writable(e, v));
    TRY(hpc_stage_put(e, v, hpc_exec_data(e, slot, v), data, bytes));
out:
    return rc;
}

int hpc_exec_write_part(hpc_exec *e, int slot, hpc_value v, size_t at, const void *data,
                        size_t bytes)
{
    int rc = HPC_OK;
    TRY(check_place(e, slot, v));
    TRY(check_writable(e, v));
    size_t all = hpc_type_bytes(&e->p->value[v].type);
    if (at > all || bytes > all - at)
        TRY(hpc_fail(HPC_E_SHAPE, "%%%d (%s) has %zu bytes; %zu at %zu were given", v,
                     value_name(e, v), all, bytes, at));
    TRY(hpc_stage_put(e, v, (uint8_t *)hpc_exec_data(e, slot, v) + at, data, bytes));
out:
    return rc;
}

/* Bytes at, at + 1, ... of a value. */
static int fetch(hpc_exec *e, int slot, hpc_value v, void *data, size_t at, size_t bytes)
{
    int rc = HPC_OK;
    hpc_value root = hpc_value_root(e->p, v);
    if (e->p->value[root].kind == HPC_VALUE_TEMP && !e->p->value[root].kept)
        return hpc_fail(HPC_E_STATE, "%%%d is not kept: its memory may hold another value by now",
                        v);
    if (e->p->value[root].absent)
        return hpc_fail(HPC_E_ARG, "%%%d (%s) is state of another stage", v, value_name(e, root));
    TRY(hpc_transfers_flush(e));
    TRY(hpc_device_copy(e->device, HPC_COMPUTE, data, (uint8_t *)hpc_exec_data(e, slot, v) + at,
                        bytes, hpc_lent_way(e, v, HPC_TO_HOST)));
out:
    return rc;
}

int hpc_exec_fetch(hpc_exec *e, int slot, hpc_value v, void *data, size_t bytes)
{
    int rc = check_value(e, slot, v, bytes);
    return rc < 0 ? rc : fetch(e, slot, v, data, 0, bytes);
}

int hpc_exec_fetch_rows(hpc_exec *e, int slot, hpc_value v, void *data, int64_t first, int64_t rows)
{
    int rc = HPC_OK;
    TRY(check_place(e, slot, v));
    const hpc_type *t = &e->p->value[v].type;
    char text[128];
    if (t->rank < 1 || t->pack != HPC_PLAIN || first < 0 || rows < 0 || first + rows > t->extent[0])
        TRY(hpc_fail(HPC_E_SHAPE, "%%%d (%s) is %s, which does not have %lld rows", v,
                     value_name(e, v), hpc_type_text(text, t), (long long)(first + rows)));
    const size_t row = hpc_type_bytes(t) / (size_t)t->extent[0];
    if (rows > 0) TRY(fetch(e, slot, v, data, row * (size_t)first, row * (size_t)rows));
out:
    return rc;
}

int hpc_exec_snapshot_begin(hpc_exec *e)
{
    int rc = HPC_OK;
    if (e->host) return HPC_OK;
    TRY(hpc_queue_join(e, HPC_COPY, HPC_COMPUTE));
    TRY(hpc_queue_join(e, HPC_COPY, HPC_COMM));
out:
    return rc;
}

int hpc_exec_snapshot_fetch(hpc_exec *e, hpc_value v, void *data, size_t bytes)
{
    int rc = HPC_OK;
    TRY(check_value(e, 0, v, bytes));
    if (e->p->value[hpc_value_root(e->p, v)].kind != HPC_VALUE_STATE)
        TRY(hpc_fail(HPC_E_ARG, "%%%d is not state: later runs may write over it", v));
    TRY(hpc_device_copy(e->device, HPC_COPY, data, hpc_exec_data(e, 0, v), bytes,
                        hpc_lent_way(e, v, HPC_TO_HOST)));
out:
    return rc;
}

int hpc_exec_snapshot_end(hpc_exec *e)
{
    int rc = HPC_OK;
    if (e->host) return HPC_OK;
    TRY(hpc_queue_join(e, HPC_COMPUTE, HPC_COPY));
    TRY(hpc_queue_join(e, HPC_COMM, HPC_COPY));
out:
    return rc;
}

int hpc_exec_read(hpc_exec *e, int slot, hpc_value v, void *data, size_t bytes)
{
    int rc = HPC_OK;
    TRY(hpc_exec_fetch(e, slot, v, data, bytes));
    TRY(hpc_exec_fence(e));
out:
    return rc;
}

int hpc_exec_read_rows(hpc_exec *e, int slot, hpc_value v, void *data, int64_t rows)
{
    int rc = HPC_OK;
    TRY(hpc_exec_fetch_rows(e, slot, v, data, 0, rows));
    TRY(hpc_exec_fence(e));
out:
    return rc;
}

void *hpc_exec_address(hpc_exec *e, int slot, hpc_value v)
{
    return e->host ? hpc_exec_data(e, slot, v) : NULL;
}

const int64_t *hpc_exec_profile(const hpc_exec *e, int segment)
{
    return e->segment[segment].ns;
}

hpc_exec_stats hpc_exec_stats_of(const hpc_exec *e, int segment)
{
    return e->segment[segment].stats;
}

const hpc_placement *hpc_exec_placement(const hpc_exec *e)
{
    return &e->place;
}
