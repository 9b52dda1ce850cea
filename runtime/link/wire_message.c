/*
 * wire_message.c: messages between two ranks over a wire.
 *
 * Each end sends a description of the operation it has started: a SEND with its short
 * data, a RECV after posting its receives. Each end matches the other's descriptions
 * with its own operations, oldest first by (peer, tag). Both therefore see the same
 * pairs, and a mismatch fails at both.
 */
#include "runtime/link/wire_priv.h"

#include <string.h>

static size_t bytes_of(const wire_op *op)
{
    return hpc_comm_bytes(op->comm.dtype, op->comm.n);
}

static bool is_short(const wire_op *op)
{
    return bytes_of(op) <= LETTER_SHORT;
}

static bool is_send(const wire_op *op)
{
    return op->comm.kind == HPC_SEND;
}

/* ---- a pair -------------------------------------------------------------------- */
static void send_data(wire_op *op, int tag)
{
    wire_link *l = op->link;
    op->state = is_short(op) ? OP_DONE : OP_MOVING;
    if (op->state == OP_DONE) return;
    hpc_flow_open(op->flow, true, op->comm.send, bytes_of(op), l->member[op->comm.peer], tag);
    hpc_flow_begin(l->office, op->flow, op->flow->bytes);
}

static void take_data(wire_op *op, const letter *m)
{
    size_t bytes = bytes_of(op);
    op->state = is_short(op) ? OP_DONE : OP_MOVING;
    if (op->state == OP_DONE && bytes > 0) memcpy(op->comm.recv, m->data, bytes);
}

/* Takes the letter. */
static void match(wire_op *op, letter *m)
{
    const letter_head *h = &m->head;
    wire_link *l = op->link;
    int rank = l->member[l->base.rank], peer = l->member[op->comm.peer];
    hpc_comm other = {
        .kind = (hpc_comm_kind)h->kind, .dtype = (hpc_dtype)h->dtype, .tag = h->tag, .n = h->n};
    hpc_error why;
    int rc = is_send(op) ? hpc_message_compare(&why, &op->comm, rank, &other, peer)
                         : hpc_message_compare(&why, &other, peer, &op->comm, rank);
    if (rc < 0) {
        op->misfit = true;
        hpc_wire_fail(op, &why);
    } else if (is_send(op)) {
        send_data(op, h->data_tag);
    } else {
        take_data(op, m);
    }
    hpc_letter_return(l->office, m);
}

static bool fits(const wire_op *op, const letter *m)
{
    return m->head.type == (is_send(op) ? LETTER_WANT : LETTER_OFFER) &&
           m->head.from == op->comm.peer && m->head.tag == op->comm.tag;
}

bool hpc_wire_message_deliver(wire_link *l, letter *m)
{
    for (wire_op *op = l->live; op; op = op->next) {
        if (op->wide || op->state != OP_JOINING || !fits(op, m)) continue;
        match(op, m);
        return true;
    }
    return false;
}

/* ---- both ends here ------------------------------------------------------------- */
static void match_own(wire_op *op)
{
    wire_link *l = op->link;
    wire_op *mate = l->live;
    int rank = l->member[l->base.rank];
    while (mate && (mate->wide || mate->state != OP_JOINING || mate->comm.peer != l->base.rank ||
                    mate->comm.tag != op->comm.tag || is_send(mate) == is_send(op)))
        mate = mate->next;
    if (!mate) return;
    wire_op *from = is_send(op) ? op : mate, *to = is_send(op) ? mate : op;
    hpc_error why;
    if (hpc_message_compare(&why, &from->comm, rank, &to->comm, rank) < 0) {
        hpc_wire_fail(from, &why);
        hpc_wire_fail(to, &why);
        return;
    }
    if (bytes_of(op) > 0) memcpy(to->comm.recv, from->comm.send, bytes_of(op));
    from->state = to->state = OP_DONE;
}

/* ---- starting --------------------------------------------------------------------- */
static void announce(wire_op *op)
{
    wire_link *l = op->link;
    int peer = l->member[op->comm.peer];
    if (!is_send(op) && !is_short(op)) {
        op->tag = hpc_office_tag(l->office);
        hpc_flow_open(op->flow, false, op->comm.recv, bytes_of(op), peer, op->tag);
        hpc_flow_begin(l->office, op->flow, op->flow->bytes);
    }
    letter *m = hpc_wire_letter(op, is_send(op) ? LETTER_OFFER : LETTER_WANT);
    if (!m) return;
    if (is_send(op) && is_short(op) && bytes_of(op) > 0) {
        m->head.bytes = (uint32_t)bytes_of(op);
        memcpy(m->data, op->comm.send, m->head.bytes);
    }
    hpc_letter_send(l->office, m, peer);
}

void hpc_wire_message_start(wire_op *op)
{
    wire_link *l = op->link;
    op->misfit = false;
    memset(op->flow, 0, sizeof *op->flow);
    if (op->comm.peer == l->base.rank) {
        match_own(op);
        return;
    }
    announce(op);
    for (letter **at = &l->early; *at; at = &(*at)->next) {
        letter *m = *at;
        if (!fits(op, m)) continue;
        *at = m->next;
        match(op, m);
        return;
    }
}

bool hpc_wire_message_advance(wire_op *op)
{
    if (op->state != OP_MOVING) return false;
    bool moved = hpc_flow_advance(op->link->office, op->flow);
    if (hpc_flow_finished(op->flow)) op->state = OP_DONE;
    return moved;
}
