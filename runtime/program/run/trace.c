/*
 * trace.c: a record of what worker 0 and the transfers of an executor did and when, kept in memory
 * allocated at opening, and written in Chrome's trace format.
 */
#include <stdio.h>

#include "runtime/program/run/priv.h"

/* Events that are neither exposed nor recorded take no time stamp, so the fast path costs
 * nothing. */
int64_t hpc_event_note(hpc_exec *e, hpc_event_kind kind, int32_t segment, int32_t insn,
                       int64_t begin)
{
    bool exposed = kind == HPC_EVENT_START || kind == HPC_EVENT_PROGRESS || kind == HPC_EVENT_WAIT;
    bool idle = kind == HPC_EVENT_IDLE;
    if (!exposed && !idle && e->event_n >= e->event_cap) return begin;
    int64_t now = hpc_clock_ns();
    if (idle) e->idle_ns[e->p->segment[segment].phase] += now - begin;
    if (exposed) e->exposed_ns += now - begin;
    if (e->event_n < e->event_cap)
        e->event[e->event_n++] = (hpc_event){begin, now, segment, insn, (uint8_t)kind};
    return now;
}

int64_t hpc_exec_events(const hpc_event **out, const hpc_exec *e)
{
    *out = e->event;
    return e->event_n;
}

void hpc_exec_note_step(hpc_exec *e, int64_t number, int64_t begin)
{
    hpc_event_note(e, HPC_EVENT_STEP, HPC_NONE, (int32_t)number, begin);
}

void hpc_exec_events_clear(hpc_exec *e)
{
    e->event_n = 0;
}

void hpc_exec_events_end(hpc_exec *e)
{
    e->event_cap = e->event_n;
}

int64_t hpc_exec_exposed(const hpc_exec *e)
{
    return e->exposed_ns;
}

int64_t hpc_exec_idle(const hpc_exec *e, hpc_phase phase)
{
    return e->idle_ns[phase];
}

/* ---- writing ------------------------------------------------------------------- */

enum { LANE_STEPS, LANE_COMPUTE, LANE_COMM }; /* LANE_COMM + axes */

static void axes_text(char out[64], hpc_axes axes)
{
    size_t n = 0;
    out[0] = '\0';
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (axes >> a & 1)
            n +=
                (size_t)snprintf(out + n, 64 - n, "%s%s", n ? "," : "", hpc_axis_name((hpc_axis)a));
}

static const transfer_plan *transfer_of(const hpc_exec *e, const hpc_event *v)
{
    for (int64_t k = 0; k < e->transfer_n; k++)
        if (e->transfer[k].segment == v->segment && e->transfer[k].insn == v->insn)
            return &e->transfer[k];
    return NULL;
}

static hpc_axes axes_of(const hpc_exec *e, const hpc_event *v)
{
    const hpc_comm_attr *a = e->p->segment[v->segment].insn[v->insn].attr;
    return (hpc_axes)a->axes;
}

/* "process_name" or "thread_name", as the format calls what it shows as names. */
static void put_name(hpc_buf *out, const char *what, int rank, int lane, const char *name)
{
    hpc_json_out w = {.buf = out};
    if (out->n) hpc_buf_text(out, ",\n");
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "name", what);
    hpc_json_put_text(&w, "ph", "M");
    hpc_json_put_int(&w, "pid", rank);
    hpc_json_put_int(&w, "tid", lane);
    hpc_json_open(&w, "args", '{');
    hpc_json_put_text(&w, "name", name);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
}

static void name_of(char out[96], const hpc_exec *e, const hpc_event *v)
{
    static const char *const before[] = {[HPC_EVENT_START] = "start ",
                                         [HPC_EVENT_PROGRESS] = "progress ",
                                         [HPC_EVENT_WAIT] = "wait "};
    if (v->kind == HPC_EVENT_STEP)
        snprintf(out, 96, "step %d", v->insn);
    else if (v->kind == HPC_EVENT_SEGMENT)
        snprintf(out, 96, "%s", e->p->segment[v->segment].name);
    else if (v->kind == HPC_EVENT_IDLE)
        snprintf(out, 96, "bubble before %s", e->p->segment[v->segment].name);
    else
        snprintf(out, 96, "%s%s",
                 v->kind == HPC_EVENT_KERNEL || v->kind == HPC_EVENT_TRANSFER ? ""
                                                                              : before[v->kind],
                 e->p->segment[v->segment].insn[v->insn].op->sig.name);
}

static void put_args(hpc_json_out *w, const hpc_exec *e, const hpc_event *v)
{
    const hpc_insn *i = &e->p->segment[v->segment].insn[v->insn];
    hpc_json_open(w, "args", '{');
    hpc_json_put_text(w, "segment", e->p->segment[v->segment].name);
    hpc_json_put_int(w, "instruction", v->insn);
    if (i->tags.block >= 0) hpc_json_put_int(w, "block", i->tags.block);
    if (v->kind == HPC_EVENT_KERNEL) {
        hpc_json_put_int(w, "bytes", (int64_t)hpc_insn_cost(e->p, i).bytes);
    } else {
        const transfer_plan *t = transfer_of(e, v);
        char axes[64];
        axes_text(axes, axes_of(e, v));
        hpc_json_put_int(w, "bytes", t ? hpc_link_sends(t->link, &t->comm) : 0);
        hpc_json_put_text(w, "axis", axes);
    }
    if (v->kind == HPC_EVENT_TRANSFER)
        hpc_json_put_real(w, "in_flight_us", (double)(v->end - v->begin) * 1e-3);
    hpc_json_close(w, '}');
}

/* Names the cause of a bubble. */
static void put_cause(hpc_json_out *w, const hpc_exec *e, const hpc_event *v)
{
    bool forward = e->p->segment[v->segment].phase == HPC_FORWARD;
    hpc_json_open(w, "args", '{');
    hpc_json_put_text(w, "cause",
                      forward ? "activations of another stage" : "gradients of another stage");
    hpc_json_close(w, '}');
}

static int lane_of(const hpc_exec *e, const hpc_event *v)
{
    if (v->kind <= HPC_EVENT_SEGMENT) return LANE_STEPS;
    return v->kind == HPC_EVENT_TRANSFER ? LANE_COMM + (int)axes_of(e, v) : LANE_COMPUTE;
}

static void put_event(hpc_buf *out, const hpc_exec *e, const hpc_event *v, int rank, int64_t zero,
                      int64_t begin)
{
    hpc_json_out w = {.buf = out};
    char name[96];
    name_of(name, e, v);
    hpc_buf_text(out, ",\n");
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "name", name);
    hpc_json_put_text(&w, "ph", "X");
    hpc_json_put_int(&w, "pid", rank);
    hpc_json_put_int(&w, "tid", lane_of(e, v));
    hpc_json_put_real(&w, "ts", (double)(begin - zero) * 1e-3);
    hpc_json_put_real(&w, "dur", (double)(v->end - begin) * 1e-3);
    if (v->insn >= 0 && v->kind > HPC_EVENT_SEGMENT) put_args(&w, e, v);
    if (v->kind == HPC_EVENT_IDLE) put_cause(&w, e, v);
    hpc_json_close(&w, '}');
}

static void put_lanes(hpc_buf *out, const hpc_exec *e, int rank)
{
    char name[96], axes[64];
    uint64_t named = 0;
    snprintf(name, sizeof name, "rank %d", rank);
    put_name(out, "process_name", rank, LANE_STEPS, name);
    put_name(out, "thread_name", rank, LANE_STEPS, "steps");
    put_name(out, "thread_name", rank, LANE_COMPUTE, "compute");
    for (int64_t k = 0; k < e->event_n; k++) {
        const hpc_event *v = &e->event[k];
        if (v->kind != HPC_EVENT_TRANSFER || named >> axes_of(e, v) & 1) continue;
        named |= (uint64_t)1 << axes_of(e, v);
        axes_text(axes, axes_of(e, v));
        snprintf(name, sizeof name, "communication %s", axes);
        put_name(out, "thread_name", rank, lane_of(e, v), name);
    }
}

int hpc_exec_trace(hpc_buf *out, const hpc_exec *e, int rank, int64_t zero)
{
    int64_t last[1 << HPC_AXIS_N] = {0}; /* end, by axes */
    put_lanes(out, e, rank);
    for (int64_t k = 0; k < e->event_n; k++) {
        const hpc_event *v = &e->event[k];
        int64_t begin = v->begin;
        if (v->kind == HPC_EVENT_TRANSFER) {
            int64_t *end = &last[axes_of(e, v)];
            if (begin < *end) begin = *end;
            *end = v->end;
        }
        put_event(out, e, v, rank, zero, begin);
    }
    return out->failed ? HPC_E_NOMEM : HPC_OK;
}
