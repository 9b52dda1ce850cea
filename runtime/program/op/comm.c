/*
 * comm.c: op table entries of collectives and messages, which the executor runs over links. They
 * name axes, never ranks. Sharding inserts most of them, and other callers emit them with local
 * extents, so there are no layout rules.
 */
#include "runtime/program/op/priv.h"

static const char *const reduce_names[] = {[HPC_COMM_SUM] = "sum", [HPC_COMM_MAX] = "max", NULL};

static const hpc_field comm_field[] = {
    {"axes", HPC_FIELD_I64, offsetof(hpc_comm_attr, axes), NULL, true},
    {"ranks", HPC_FIELD_I64, offsetof(hpc_comm_attr, ranks), NULL, false},
    {"reduce", HPC_FIELD_NAME, offsetof(hpc_comm_attr, reduce), reduce_names, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static const hpc_field message_field[] = {
    {"axes", HPC_FIELD_I64, offsetof(hpc_comm_attr, axes), NULL, true},
    {"peer", HPC_FIELD_I64, offsetof(hpc_comm_attr, peer), NULL, true},
    {"edge", HPC_FIELD_I64, offsetof(hpc_comm_attr, tag), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

enum { COMM_Y, COMM_X, COMM_N };

/* ---- shape ----------------------------------------------------------------- */

static int check_attr(const hpc_comm_attr *at)
{
    if (at->axes < 0 || at->axes >= (int64_t)1 << HPC_AXIS_N)
        return hpc_fail(HPC_E_ARG, "axes %lld name an axis that no grid has", (long long)at->axes);
    if (at->reduce != HPC_COMM_SUM && at->reduce != HPC_COMM_MAX)
        return hpc_fail(HPC_E_ARG, "reduce %d is neither sum nor max", at->reduce);
    if (at->peer < 0) return hpc_fail(HPC_E_ARG, "peer %lld is no rank", (long long)at->peer);
    return HPC_OK;
}

/* y is as x: all_reduce and broadcast. */
static int alike_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *x = &type[COMM_X];
    int rc;
    TRY(check_attr(i->attr));
    TRY(hpc_op_expect(i, type, COMM_X, HPC_OP_ANY, 0, HPC_RANK_MAX));
    TRY(hpc_op_output(i, type, COMM_Y, hpc_op_like(x, (hpc_dtype)x->dtype)));
out:
    return rc;
}

/* Operands that are taken apart, or put together, along their first dimension. */
static int check_parts(const hpc_insn *i, const hpc_type *type)
{
    int rc;
    TRY(check_attr(i->attr));
    TRY(hpc_op_expect(i, type, COMM_X, HPC_OP_ANY, 1, HPC_RANK_MAX));
    if (type[COMM_X].ragged >= 0)
        return hpc_misfit(i, type, COMM_X, -1, "parts must have extents that all ranks know");
out:
    return rc;
}

static int check_ranks(const hpc_comm_attr *at)
{
    if (at->ranks >= 1) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "ranks is %lld; it must be at least 1", (long long)at->ranks);
}

static int all_gather_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_comm_attr *at = i->attr;
    int rc;
    TRY(check_parts(i, type));
    TRY(check_ranks(at));
    hpc_type y = hpc_op_like(&type[COMM_X], (hpc_dtype)type[COMM_X].dtype);
    y.extent[0] *= at->ranks;
    TRY(hpc_op_output(i, type, COMM_Y, y));
out:
    return rc;
}

static int reduce_scatter_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_comm_attr *at = i->attr;
    int rc;
    TRY(check_parts(i, type));
    TRY(check_ranks(at));
    hpc_type y = hpc_op_like(&type[COMM_X], (hpc_dtype)type[COMM_X].dtype);
    if (y.extent[0] % at->ranks != 0)
        return hpc_misfit(i, type, COMM_X, -1, "%lld ranks do not divide its first extent",
                          (long long)at->ranks);
    y.extent[0] /= at->ranks;
    TRY(hpc_op_output(i, type, COMM_Y, y));
out:
    return rc;
}

static int all_to_all_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    int rc = check_parts(i, type);
    return rc < 0 ? rc : alike_shape(p, i, type);
}

static int send_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    int rc = check_attr(i->attr);
    return rc < 0 ? rc : hpc_op_expect(i, type, 0, HPC_OP_ANY, 0, HPC_RANK_MAX);
}

static int recv_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_comm_attr *at = i->attr;
    int rc;
    TRY(check_attr(at));
    TRY(hpc_op_output(i, type, 0, hpc_op_like(&at->type, (hpc_dtype)at->type.dtype)));
    TRY(hpc_op_expect(i, type, 0, HPC_OP_ANY, 0, HPC_RANK_MAX));
out:
    return rc;
}

/* ---- backward -------------------------------------------------------------- */

/* Each rank's part of a sum has the sum's gradient, which all ranks hold. */
static int all_reduce_backward(hpc_diff *d, const hpc_insn *i)
{
    const hpc_comm_attr *at = i->attr;
    if (at->reduce != HPC_COMM_SUM)
        return hpc_fail(HPC_E_UNSUPPORTED, "no gradient passes through a maximum over ranks");
    hpc_op_give(d, i->operand[COMM_X], hpc_diff_of(d, i->operand[COMM_Y]));
    return HPC_OK;
}

/* What a rank gave is used by all: each has a part of its gradient. */
static int all_gather_backward(hpc_diff *d, const hpc_insn *i)
{
    const hpc_comm_attr *at = i->attr;
    hpc_value dy = hpc_diff_of(d, i->operand[COMM_Y]);
    hpc_op_give(d, i->operand[COMM_X],
                hpc_reduce_scatter(hpc_diff_program(d), dy, (hpc_axes)at->axes, (int)at->ranks));
    return HPC_OK;
}

static int reduce_scatter_backward(hpc_diff *d, const hpc_insn *i)
{
    const hpc_comm_attr *at = i->attr;
    hpc_value dy = hpc_diff_of(d, i->operand[COMM_Y]);
    hpc_op_give(d, i->operand[COMM_X],
                hpc_all_gather(hpc_diff_program(d), dy, (hpc_axes)at->axes, (int)at->ranks));
    return HPC_OK;
}

/* An exchange of equal parts is its own inverse. */
static int all_to_all_backward(hpc_diff *d, const hpc_insn *i)
{
    const hpc_comm_attr *at = i->attr;
    hpc_value dy = hpc_diff_of(d, i->operand[COMM_Y]);
    hpc_op_give(d, i->operand[COMM_X], hpc_all_to_all(hpc_diff_program(d), dy, (hpc_axes)at->axes));
    return HPC_OK;
}

static int broadcast_backward(hpc_diff *d, const hpc_insn *i)
{
    (void)d, (void)i;
    return hpc_fail(HPC_E_UNSUPPORTED,
                    "no gradient passes through broadcast: all_reduce what the root holds");
}

/* The gradient of what left for the peer comes back from there, and the other way round. */
static int send_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_program *p = hpc_diff_program(d);
    const hpc_comm_attr *at = i->attr;
    hpc_value x = i->operand[0];
    if (hpc_diff_wants(d, x))
        hpc_op_give(d, x,
                    hpc_recv(p, p->value[x].type, (hpc_axes)at->axes, (int)at->peer, (int)at->tag));
    return HPC_OK;
}

static int recv_backward(hpc_diff *d, const hpc_insn *i)
{
    const hpc_comm_attr *at = i->attr;
    hpc_send(hpc_diff_program(d), hpc_diff_of(d, i->operand[0]), (hpc_axes)at->axes, (int)at->peer,
             (int)at->tag);
    return HPC_OK;
}

/* ---- rows ------------------------------------------------------------------ */

const hpc_op hpc_op_all_reduce = {
    .sig = {.name = "all_reduce",
            .operand_n = COMM_N,
            .attr_bytes = sizeof(hpc_comm_attr),
            .operand = {{"y", HPC_OUT}, {"x", HPC_IN}}},
    .field = comm_field,
    .comm = HPC_ALL_REDUCE,
    .shape = alike_shape,
    .backward = all_reduce_backward,
};

const hpc_op hpc_op_all_gather = {
    .sig = {.name = "all_gather",
            .operand_n = COMM_N,
            .attr_bytes = sizeof(hpc_comm_attr),
            .operand = {{"y", HPC_OUT}, {"x", HPC_IN}}},
    .field = comm_field,
    .comm = HPC_ALL_GATHER,
    .shape = all_gather_shape,
    .backward = all_gather_backward,
};

const hpc_op hpc_op_reduce_scatter = {
    .sig = {.name = "reduce_scatter",
            .operand_n = COMM_N,
            .attr_bytes = sizeof(hpc_comm_attr),
            .operand = {{"y", HPC_OUT}, {"x", HPC_IN}}},
    .field = comm_field,
    .comm = HPC_REDUCE_SCATTER,
    .shape = reduce_scatter_shape,
    .backward = reduce_scatter_backward,
};

const hpc_op hpc_op_all_to_all = {
    .sig = {.name = "all_to_all",
            .operand_n = COMM_N,
            .attr_bytes = sizeof(hpc_comm_attr),
            .operand = {{"y", HPC_OUT}, {"x", HPC_IN}}},
    .field = comm_field,
    .comm = HPC_ALL_TO_ALL,
    .shape = all_to_all_shape,
    .backward = all_to_all_backward,
};

const hpc_op hpc_op_broadcast = {
    .sig = {.name = "broadcast",
            .operand_n = COMM_N,
            .attr_bytes = sizeof(hpc_comm_attr),
            .operand = {{"y", HPC_OUT}, {"x", HPC_IN}}},
    .field = message_field,
    .comm = HPC_BROADCAST,
    .shape = alike_shape,
    .backward = broadcast_backward,
};

const hpc_op hpc_op_send = {
    .sig = {.name = "send",
            .operand_n = 1,
            .attr_bytes = sizeof(hpc_comm_attr),
            .operand = {{"x", HPC_IN}}},
    .field = message_field,
    .comm = HPC_SEND,
    .shape = send_shape,
    .backward = send_backward,
};

const hpc_op hpc_op_recv = {
    .sig = {.name = "recv",
            .operand_n = 1,
            .attr_bytes = sizeof(hpc_comm_attr),
            .operand = {{"y", HPC_OUT}}},
    .field = message_field,
    .comm = HPC_RECV,
    .shape = recv_shape,
    .backward = recv_backward,
};

/* ---- emission -------------------------------------------------------------- */

static hpc_value emit(hpc_program *p, const hpc_op *op, hpc_value x, hpc_comm_attr attr)
{
    hpc_value operand[COMM_N] = {HPC_NEW, x};
    return hpc_emit(p, op, operand, &attr);
}

hpc_value hpc_all_reduce(hpc_program *p, hpc_value x, hpc_axes axes, hpc_comm_reduce reduce)
{
    return emit(p, &hpc_op_all_reduce, x, (hpc_comm_attr){.axes = axes, .reduce = (int)reduce});
}

hpc_value hpc_all_gather(hpc_program *p, hpc_value x, hpc_axes axes, int ranks)
{
    return emit(p, &hpc_op_all_gather, x, (hpc_comm_attr){.axes = axes, .ranks = ranks});
}

hpc_value hpc_reduce_scatter(hpc_program *p, hpc_value x, hpc_axes axes, int ranks)
{
    return emit(p, &hpc_op_reduce_scatter, x, (hpc_comm_attr){.axes = axes, .ranks = ranks});
}

hpc_value hpc_all_to_all(hpc_program *p, hpc_value x, hpc_axes axes)
{
    return emit(p, &hpc_op_all_to_all, x, (hpc_comm_attr){.axes = axes});
}

hpc_value hpc_broadcast(hpc_program *p, hpc_value x, hpc_axes axes, int root)
{
    return emit(p, &hpc_op_broadcast, x, (hpc_comm_attr){.axes = axes, .peer = root});
}

void hpc_send(hpc_program *p, hpc_value x, hpc_axes axes, int peer, int edge)
{
    hpc_value operand[1] = {x};
    hpc_comm_attr attr = {.axes = axes, .peer = peer, .tag = edge};
    hpc_emit(p, &hpc_op_send, operand, &attr);
}

hpc_value hpc_recv(hpc_program *p, hpc_type t, hpc_axes axes, int peer, int edge)
{
    hpc_value operand[1] = {HPC_NEW};
    hpc_comm_attr attr = {.axes = axes, .peer = peer, .tag = edge, .type = t};
    return hpc_emit(p, &hpc_op_recv, operand, &attr);
}
