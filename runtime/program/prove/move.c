/*
 * move.c: proof rules for instructions that only move elements: views, tiles and collectives.
 */
#include "runtime/program/priv.h"
#include "runtime/program/prove/priv.h"

bool prove_moves(const hpc_insn *i)
{
    return i->op == &hpc_op_view || i->op == &hpc_op_tile || (i->op->comm >= 0 && !i->op->exchange);
}

static int refuse(const char *what)
{
    return hpc_fail(HPC_E_STATE, "%s holds its elements in an order in which they cannot be %s",
                    "operand x", what);
}

/* ---- views and tiles ----------------------------------------------------------------------- */

static int64_t elements(const hpc_type *t, int from)
{
    int64_t n = 1;
    for (int d = from; d < t->rank; d++) n *= t->extent[d];
    return n;
}

static int move_tile(map *m, const hpc_program *p, const hpc_insn *i)
{
    const hpc_tile_attr *at = i->attr;
    const hpc_type *x = &p->value[i->operand[1]].type;
    int64_t rows = at->inverse ? x->extent[1] : at->rows;
    int64_t cols = at->inverse ? x->extent[2] : at->cols;
    int64_t across = (at->inverse ? at->n : x->extent[x->rank - 1]) / cols;
    bool fits = at->inverse ? map_trade(m, across, rows, cols) : map_trade(m, rows, across, cols);
    return fits ? HPC_OK : refuse("tiled");
}

/* All of x, or rows of it from `row` on. */
static int move_view(map *m, const hpc_program *p, const hpc_insn *i, int64_t row)
{
    const hpc_type *x = &p->value[i->operand[1]].type, *y = &p->value[i->operand[0]].type;
    int64_t n = elements(y, 0);
    if (row == 0 && n == elements(x, 0)) return HPC_OK;
    if (y->rank < 1) return refuse("cut");
    return map_rows(m, row, y->extent[0], elements(x, 1)) ? HPC_OK : refuse("cut");
}

int prove_move_serial(map *out, const hpc_program *g, const hpc_insn *i, const map *x)
{
    *out = *x;
    if (i->op == &hpc_op_view) return move_view(out, g, i, ((const hpc_view_attr *)i->attr)->row);
    return hpc_fail(HPC_E_UNSUPPORTED, "%s: the serial program has collectives already",
                    i->op->sig.name);
}

static int64_t row_of(const prover *w, int r)
{
    const hpc_insn *i = &w->w->program[r]->segment[w->segment].insn[w->at[r]];
    return ((const hpc_view_attr *)i->attr)->row;
}

static void coords(int *out, const prover *w, int r)
{
    hpc_grid_coords(out, w->w->shape, w->w->rank[r]);
}

/* By how many rows the next rank along an axis is further on: from the one that is second along it
 * alone. */
static int64_t step_of(const prover *w, int axis)
{
    for (int r = 0; r < w->w->n; r++) {
        int c[HPC_AXIS_N], others = 0;
        coords(c, w, r);
        for (int a = 0; a < HPC_AXIS_N; a++) others += a == axis ? 0 : c[a];
        if (c[axis] == 1 && others == 0) return row_of(w, r) - row_of(w, 0);
    }
    return 0;
}

/* Ranks cut different rows: those that their places say, of what they hold alike. */
static int cut(prover *w, map *m, const hpc_insn *i)
{
    int64_t step[HPC_AXIS_N] = {0};
    value_text text;
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (prove_extent(w->w, a) > 1) step[a] = step_of(w, a);
    for (int r = 0; r < w->w->n; r++) {
        int c[HPC_AXIS_N];
        int64_t want = row_of(w, 0);
        coords(c, w, r);
        for (int a = 0; a < HPC_AXIS_N; a++) want += c[a] * step[a];
        if (want != row_of(w, r))
            return hpc_fail(HPC_E_STATE, "rank %d cuts %s from row %lld on; its place is row %lld",
                            w->w->rank[r], prove_value(text, w, i->operand[1]),
                            (long long)row_of(w, r), (long long)want);
    }
    const hpc_type *x = &w->p->value[i->operand[1]].type;
    int64_t row_n = elements(x, 1);
    map whole = *m;
    for (int a = 0; a < HPC_AXIS_N; a++) {
        if (step[a] == 0) continue;
        if (whole.by[a] != 0 || whole.partial[a])
            return hpc_fail(HPC_E_STATE,
                            "ranks along %s cut different rows of %s, of which they "
                            "hold different parts already",
                            hpc_axis_name((hpc_axis)a), prove_value(text, w, i->operand[1]));
        m->by[a] = map_at(&whole, step[a] * row_n);
    }
    return move_view(m, w->p, i, row_of(w, 0));
}

/* ---- collectives --------------------------------------------------------------------------- */

static const char *along(int axis)
{
    return hpc_axis_name((hpc_axis)axis);
}

static int want_partial(const prover *w, const map *m, int a, hpc_value x)
{
    value_text text;
    if (hpc_layout_own(m->partial[a]))
        return hpc_fail(HPC_E_STATE, "ranks along %s have their own rows of %s, which have no sum",
                        along(a), prove_value(text, w, x));
    if (m->partial[a] == HPC_LOGARITHM && (m->joins != PROVE_EXPONENTIALS || m->along != a))
        return hpc_fail(HPC_E_STATE, "%s is of logarithms along %s: their sum is no logarithm",
                        prove_value(text, w, x), along(a));
    if (m->partial[a]) return HPC_OK;
    if (m->by[a] != 0)
        return hpc_fail(HPC_E_STATE,
                        "ranks along %s hold different parts of %s: their sum is "
                        "nothing of the serial program",
                        along(a), prove_value(text, w, x));
    return hpc_fail(HPC_E_STATE, "ranks along %s hold the same of %s: their sum counts it %d times",
                    along(a), prove_value(text, w, x), prove_extent(w->w, a));
}

static int want_parts(const prover *w, const map *m, int a, hpc_value x)
{
    value_text text;
    if (m->partial[a])
        return hpc_fail(HPC_E_STATE, "%s is a partial sum along %s: it is gathered and not summed",
                        prove_value(text, w, x), along(a));
    if (m->by[a] == 0)
        return hpc_fail(HPC_E_STATE,
                        "ranks along %s hold the same of %s: gathered, it is there %d times",
                        along(a), prove_value(text, w, x), prove_extent(w->w, a));
    return HPC_OK;
}

static int check_ranks(const prover *w, const hpc_comm_attr *at)
{
    int64_t n = 1;
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (at->axes >> a & 1) n *= prove_extent(w->w, a);
    if (n == at->ranks) return HPC_OK;
    return hpc_fail(HPC_E_STATE, "is for %lld ranks, and its axes have %lld", (long long)at->ranks,
                    (long long)n);
}

static int communicate_axis(const prover *w, map *m, const hpc_insn *i, int a)
{
    int rc, n = prove_extent(w->w, a);
    switch (i->op->comm) {
    case HPC_ALL_REDUCE:
        TRY(want_partial(w, m, a, i->operand[1]));
        if (m->joins && m->along == a)
            m->joins = PROVE_SUM;
        else
            m->partial[a] = 0;
        break;
    case HPC_ALL_GATHER:
        TRY(want_parts(w, m, a, i->operand[1]));
        if (!map_gather(m, a, n)) return refuse("gathered");
        break;
    case HPC_ALL_TO_ALL:
        TRY(want_parts(w, m, a, i->operand[1]));
        if (!map_exchange(m, a, n)) return refuse("exchanged");
        break;
    default:
        TRY(want_partial(w, m, a, i->operand[1]));
        if (m->joins) return refuse("scattered while they are joined");
        m->partial[a] = 0;
        if (!map_scatter(m, a, n)) return refuse("scattered");
        break;
    }
out:
    return rc;
}

/* The largest of the logarithms that ranks along one axis have. */
static int largest(const prover *w, map *m, const hpc_insn *i)
{
    const hpc_comm_attr *at = i->attr;
    value_text text;
    for (int a = 0; a < HPC_AXIS_N; a++) {
        if (at->axes != 1u << a || m->joins || m->partial[a] != HPC_LOGARITHM) continue;
        m->joins = PROVE_MOST;
        m->along = (int8_t)a;
        return HPC_OK;
    }
    return hpc_fail(HPC_E_STATE,
                    "%s is not of logarithms along the axis of which the largest is taken",
                    prove_value(text, w, i->operand[1]));
}

static int axes_of(const prover *w, const hpc_comm_attr *at)
{
    int n = 0;
    for (int a = 0; a < HPC_AXIS_N; a++) n += at->axes >> a & 1 && prove_extent(w->w, a) > 1;
    return n;
}

/* Ranks of several axes are ordered as in the world: data slowest, col fastest. A gather begins
 * with the fastest axis, so that the slowest becomes the outermost digit. A scatter splits from the
 * outside. */
int prove_communicate(const prover *w, map *m, const hpc_insn *i)
{
    static const uint8_t slowest_first[HPC_AXIS_N] = {
        HPC_AXIS_DATA, HPC_AXIS_EXPERT, HPC_AXIS_PIPE, HPC_AXIS_DEPTH, HPC_AXIS_ROW, HPC_AXIS_COL};
    const hpc_comm_attr *at = i->attr;
    bool trades = i->op->comm == HPC_ALL_TO_ALL && axes_of(w, at) == 1;
    bool known = i->op->comm == HPC_ALL_REDUCE || i->op->comm == HPC_ALL_GATHER ||
                 i->op->comm == HPC_REDUCE_SCATTER || trades;
    if (i->op->comm == HPC_ALL_REDUCE && at->reduce == HPC_COMM_MAX) return largest(w, m, i);
    if (!known || at->reduce != HPC_COMM_SUM)
        return hpc_fail(HPC_E_UNSUPPORTED, "%s%s has no rule by which it could be proven",
                        i->op->sig.name, at->reduce == HPC_COMM_SUM ? "" : " of maxima");
    int rc = i->op->comm == HPC_ALL_REDUCE || trades ? HPC_OK : check_ranks(w, at);
    bool gathers = i->op->comm == HPC_ALL_GATHER;
    for (int k = 0; k < HPC_AXIS_N && rc >= 0; k++) {
        int a = slowest_first[gathers ? HPC_AXIS_N - 1 - k : k];
        if (at->axes >> a & 1 && prove_extent(w->w, a) > 1) rc = communicate_axis(w, m, i, a);
    }
    return rc;
}

int prove_move(prover *w, const hpc_insn *i)
{
    map m;
    int rc;
    if (i->op->comm == HPC_SEND || i->op->comm == HPC_RECV)
        return hpc_fail(HPC_E_UNSUPPORTED, "messages have no rule by which they could be proven");
    TRY(prove_read(&m, w, i->operand[1]));
    if (i->op == &hpc_op_tile)
        TRY(move_tile(&m, w->p, i));
    else if (i->op == &hpc_op_view)
        TRY(cut(w, &m, i));
    else
        TRY(prove_communicate(w, &m, i));
    TRY(prove_hold(w, i->operand[0], &m));
out:
    return rc;
}
