/*
 * exchange.c: runs the ops exchange_plan and exchange over links: counts are agreed, rows go to the
 * ranks of their experts, and ranks along row give each other the rows that they alone have sent.
 *
 * A plan is counts: of the rows that this rank has for each expert; then, for each rank along row
 * and each rank along expert, of the rows of own experts that this rank has sent. Rows that arrive
 * are sorted by expert, and within one by those ranks. An exchange ends before other steps start.
 */
#include <string.h>

#include "runtime/program/run/priv.h"

typedef struct exchange {
    const hpc_exchange_attr *at;
    hpc_link *experts, *rows; /* rows: NULL without dropping */
    int64_t own;              /* experts of this rank */
    const int32_t *sent, *arrived;
    size_t row_bytes;
    int64_t row_n; /* elements */
    hpc_dtype dtype;
} exchange;

static int links_of(exchange *x, hpc_exec *e)
{
    int rc = HPC_OK;
    x->experts = e->self;
    if (!e->grid) return rc;
    TRY(hpc_grid_link(&x->experts, e->grid, (hpc_axes)x->at->comm.axes));
    if (x->at->rows > 1) TRY(hpc_grid_link(&x->rows, e->grid, 1u << HPC_AXIS_ROW));
out:
    return rc;
}

int hpc_exchange_open(hpc_exec *e, const hpc_insn *i)
{
    const hpc_exchange_attr *at = i->attr;
    exchange x = {.at = at};
    int rc;
    if (i->op == &hpc_op_admit) return hpc_admit_open(e, i);
    if (!e->host)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "rows of experts are exchanged in the host's memory, which backend %s does "
                        "not compute in",
                        hpc_device_about(e->device).backend);
    TRY(links_of(&x, e));
    if (hpc_link_size(x.experts) != at->comm.ranks || (x.rows && hpc_link_size(x.rows) != at->rows))
        TRY(hpc_fail(HPC_E_SHAPE, "is for %lld ranks by %lld, and the grid has others",
                     (long long)at->comm.ranks, (long long)at->rows));
    for (int k = 0; k < 2; k++) { /* the rows of either side */
        size_t bytes = hpc_type_bytes(&e->p->value[i->operand[k]].type);
        if (i->op == &hpc_op_exchange && bytes > e->exchange_bytes) e->exchange_bytes = bytes;
    }
out:
    return rc;
}

int hpc_exchange_room(hpc_exec *e)
{
    if (e->exchange_bytes == 0) return HPC_OK;
    for (int k = 0; k < 3; k++) {
        e->exchange_room[k] = hpc_arena_alloc(e->arena, e->exchange_bytes, 1);
        if (!e->exchange_room[k]) return HPC_E_NOMEM;
    }
    return HPC_OK;
}

static int make_plan(hpc_exec *e, int slot, const hpc_insn *i, exchange *x)
{
    int32_t *plan = hpc_exec_data(e, slot, i->operand[0]);
    int32_t *own = hpc_exec_data(e, slot, i->operand[1]);
    int32_t *rows = hpc_exec_data(e, slot, i->operand[2]);
    const int32_t *start = hpc_exec_data(e, slot, i->operand[3]);
    int64_t all = x->at->experts, ranks = x->at->comm.ranks;
    int32_t *arrived = plan + all, *mine = arrived;
    int rc;
    for (int64_t k = 0; k < all; k++) plan[k] = start[k + 1] - start[k];
    if (x->rows) mine += hpc_link_rank(x->rows) * all;
    TRY(hpc_link_run(
        x->experts,
        &(hpc_comm){
            .kind = HPC_ALL_TO_ALL, .dtype = HPC_I32, .n = x->own, .send = plan, .recv = mine}));
    if (x->rows) {
        memcpy(e->exchange_counts, mine, (size_t)all * sizeof *mine);
        TRY(hpc_link_run(x->rows, &(hpc_comm){.kind = HPC_ALL_GATHER,
                                              .dtype = HPC_I32,
                                              .n = all,
                                              .send = e->exchange_counts,
                                              .recv = arrived}));
    }
    memset(own, 0, (size_t)(all + 1) * sizeof *own);
    for (int64_t k = 0; k < x->at->rows * ranks * x->own; k++) own[k % x->own + 1] += arrived[k];
    for (int64_t k = 0; k < all; k++) own[k + 1] += own[k];
    *rows = own[x->own];
out:
    return rc;
}

/* Elements of the rows of n counts. */
static int64_t elements(const exchange *x, const int32_t *count, int64_t n)
{
    int64_t rows = 0;
    for (int64_t k = 0; k < n; k++) rows += count[k];
    return rows * x->row_n;
}

/* Counts of rows that `rank` along row has received, by rank along expert and own expert. */
static const int32_t *arrived_at(const exchange *x, int64_t rank)
{
    return x->arrived + rank * x->at->experts;
}

static int64_t rank_of(const exchange *x)
{
    return x->rows ? hpc_link_rank(x->rows) : 0;
}

static int over_experts(const exchange *x, void *to, const void *from, bool back)
{
    int64_t there[HPC_EXPERTS_MOST], here[HPC_EXPERTS_MOST];
    const int32_t *mine = arrived_at(x, rank_of(x));
    for (int64_t r = 0; r < x->at->comm.ranks; r++) {
        there[r] = elements(x, x->sent + r * x->own, x->own);
        here[r] = elements(x, mine + r * x->own, x->own);
    }
    return hpc_link_run(x->experts, &(hpc_comm){.kind = HPC_ALL_TO_ALL,
                                                .dtype = x->dtype,
                                                .send = from,
                                                .recv = to,
                                                .send_n = back ? here : there,
                                                .recv_n = back ? there : here});
}

/* Each rank along row gives its rows to all: as many copies as there are ranks. */
static int over_rows(const exchange *x, void *to, void *copies, const void *from)
{
    int64_t send[HPC_EXPERTS_MOST], recv[HPC_EXPERTS_MOST];
    int64_t n = elements(x, arrived_at(x, rank_of(x)), x->at->experts);
    size_t bytes = (size_t)n * hpc_dtype_get(x->dtype)->block_bytes;
    for (int64_t r = 0; r < x->at->rows; r++) {
        memcpy((uint8_t *)copies + (size_t)r * bytes, from, bytes);
        send[r] = n;
        recv[r] = elements(x, arrived_at(x, r), x->at->experts);
    }
    return hpc_link_run(x->rows, &(hpc_comm){.kind = HPC_ALL_TO_ALL,
                                             .dtype = x->dtype,
                                             .send = copies,
                                             .recv = to,
                                             .send_n = send,
                                             .recv_n = recv});
}

/* Between rows by expert and rows by the ranks along row and expert that sent them. `first` to
 * `end`: the ranks along row of the latter. */
static void sort_rows(const exchange *x, uint8_t *by_expert, uint8_t *by_rank, int64_t first,
                      int64_t end, bool back)
{
    int64_t at[HPC_EXPERTS_MOST] = {0}, next = 0;
    for (int64_t e = 0; e < x->own; e++) {
        at[e] = next;
        for (int64_t k = 0; k < x->at->rows * x->at->comm.ranks; k++)
            next += x->arrived[k * x->own + e];
    }
    for (int64_t r = 0; r < x->at->rows; r++)
        for (int64_t k = 0; k < x->at->experts; k++) {
            int64_t e = k % x->own, n = arrived_at(x, r)[k];
            size_t bytes = (size_t)n * x->row_bytes;
            uint8_t *sorted = by_expert + (size_t)at[e] * x->row_bytes;
            at[e] += n;
            if (r < first || r >= end) continue;
            memcpy(back ? by_rank : sorted, back ? sorted : by_rank, bytes);
            by_rank += bytes;
        }
}

static int move_rows(hpc_exec *e, int slot, const hpc_insn *i, exchange *x)
{
    void *y = hpc_exec_data(e, slot, i->operand[0]), **room = e->exchange_room;
    void *from = hpc_exec_data(e, slot, i->operand[1]);
    const hpc_type *t = &e->p->value[i->operand[1]].type;
    int64_t rank = rank_of(x);
    int rc;
    x->sent = hpc_exec_data(e, slot, i->operand[2]);
    x->arrived = x->sent + x->at->experts;
    x->dtype = (hpc_dtype)t->dtype;
    x->row_n = t->extent[1];
    x->row_bytes = (size_t)x->row_n * hpc_dtype_get(x->dtype)->block_bytes;
    if (x->at->back) {
        sort_rows(x, from, room[0], rank, rank + 1, true);
        return over_experts(x, y, room[0], true);
    }
    TRY(over_experts(x, room[0], from, false));
    if (x->rows) TRY(over_rows(x, room[1], room[2], room[0]));
    sort_rows(x, y, room[x->rows ? 1 : 0], 0, x->at->rows, false);
out:
    return rc;
}

int hpc_exchange_run(hpc_exec *e, int slot, const hpc_insn *i)
{
    if (i->op == &hpc_op_admit) return hpc_admit_run(e, slot, i);
    exchange x = {.at = i->attr};
    int rc = links_of(&x, e);
    if (rc < 0) return rc;
    x.own = x.at->experts / x.at->comm.ranks;
    return i->op == &hpc_op_exchange ? move_rows(e, slot, i, &x) : make_plan(e, slot, i, &x);
}
