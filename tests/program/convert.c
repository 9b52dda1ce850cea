/*
 * convert.c: conversions between all layouts of grids of 4 and 8 ranks: the search finds the
 * cheapest path, no dearer than the order gather, split, sum; all give the elements and the bits of
 * that order; ranks send the bytes of the closed form, and the proof accepts the programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "runtime/program/convert.h"
#include "runtime/program/prove/prove.h"
#include "runtime/program/shard_priv.h"
#include "tests/support/values.h"

enum { M = 16, K = 24, N = M * K, LAYOUTS = 4, STATES = 64, RANKS = 8 };
static const int8_t layouts[LAYOUTS] = {HPC_REPLICATED, HPC_SPLIT(0), HPC_SPLIT(1), HPC_PARTIAL};

typedef struct grid {
    hpc_axis axis[3];
    int extent[3], n; /* axes, in order of nesting */
} grid;
static const grid grids[] = {
    {{HPC_AXIS_ROW}, {4}, 1},
    {{HPC_AXIS_ROW, HPC_AXIS_DATA}, {2, 2}, 2},
    {{HPC_AXIS_COL}, {8}, 1},
    {{HPC_AXIS_ROW, HPC_AXIS_COL}, {4, 2}, 2},
    {{HPC_AXIS_ROW, HPC_AXIS_DEPTH, HPC_AXIS_DATA}, {2, 2, 2}, 3},
};

static hpc_grid_shape shape_of(const grid *g)
{
    hpc_grid_shape s = {.extent = {0}};
    for (int k = 0; k < g->n; k++) s.extent[g->axis[k]] = g->extent[k];
    return s;
}

static int states_of(const grid *g)
{
    int n = 1;
    for (int k = 0; k < g->n; k++) n *= LAYOUTS;
    return n;
}

/* State `state` of the grid, as the type of a rank's part. */
static hpc_type type_of(const grid *g, int state)
{
    hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){M, K});
    for (int k = 0; k < g->n; k++, state /= LAYOUTS) {
        int8_t l = layouts[state % LAYOUTS];
        t.layout[g->axis[k]] = l;
        if (l > 0) t.extent[hpc_layout_dim(l)] /= g->extent[k];
    }
    return t;
}

/* Whole values do not become partial. */
static bool is_possible(const grid *g, int from, int to)
{
    for (int k = 0; k < g->n; k++, from /= LAYOUTS, to /= LAYOUTS)
        if (layouts[to % LAYOUTS] < 0 && layouts[from % LAYOUTS] >= 0) return false;
    return true;
}

/* ---- costs ------------------------------------------------------------------------ */

static int state_of(const grid *g, const hpc_type *t)
{
    int state = 0;
    for (int k = g->n - 1; k >= 0; k--) {
        int l = 0;
        while (layouts[l] != t->layout[g->axis[k]]) l++;
        state = state * LAYOUTS + l;
    }
    return state;
}

static int64_t price_of(const hpc_type *t, const hpc_grid_shape *s, hpc_layout_move m)
{
    hpc_layout_cost c = hpc_layout_cost_of(t, s, m);
    return hpc_layout_price(&c);
}

/* The moves that the search may make: sums in their order, and no detour of an axis that ends
 * whole or partial and was not split. */
static bool may_move(const grid *g, const hpc_type *t, const hpc_type *from, const hpc_type *to,
                     int k, int8_t next)
{
    int a = g->axis[k];
    if (t->layout[a] < 0 && to->layout[a] < 0) return false;
    if (next > 0 && from->layout[a] <= 0 && to->layout[a] <= 0) return false;
    for (int b = 0; b < g->n && t->layout[a] < 0; b++) {
        int other = g->axis[b];
        if (t->layout[other] >= 0 || to->layout[other] < 0 || b == k) continue;
        bool splits = to->layout[a] > 0, theirs = to->layout[other] > 0;
        bool before = theirs != splits ? theirs : theirs ? b < k : other < a;
        if (before) return false;
    }
    return true;
}

/* Bellman and Ford over all states. */
static int64_t least_price(const grid *g, int from, int to)
{
    const hpc_grid_shape s = shape_of(g);
    const hpc_type first = type_of(g, from), last = type_of(g, to);
    int64_t price[STATES];
    for (int k = 0; k < STATES; k++) price[k] = k == from ? 0 : INT64_MAX;
    for (bool changed = true; changed;) {
        changed = false;
        for (int x = 0; x < states_of(g); x++) {
            const hpc_type t = type_of(g, x);
            for (int k = 0; k < g->n * LAYOUTS && price[x] < INT64_MAX; k++) {
                hpc_layout_move m = {g->axis[k / LAYOUTS], layouts[k % LAYOUTS]};
                if (!may_move(g, &t, &first, &last, k / LAYOUTS, m.to)) continue;
                if (!hpc_layout_can_move(&t, &s, m)) continue;
                hpc_type y = hpc_layout_moved(&t, &s, m);
                int64_t sum = price[x] + price_of(&t, &s, m);
                int64_t *old = &price[state_of(g, &y)];
                if (sum >= *old) continue;
                *old = sum;
                changed = true;
            }
        }
    }
    return price[to];
}

/* Gathers, the finest parts first; then splits; then sums. */
static int64_t former_price(const grid *g, int from, int to)
{
    const hpc_grid_shape s = shape_of(g);
    const hpc_type want = type_of(g, to);
    hpc_type t = type_of(g, from);
    int64_t price = 0;
    for (int pass = 0; pass < 3; pass++)
        for (int k = 0; k < g->n; k++) {
            int at = pass == 0 ? g->n - 1 - k : k, a = g->axis[at];
            bool changes = t.layout[a] != want.layout[a];
            for (int c = 0; pass == 0 && c < at; c++) { /* coarser parts of the same dimension */
                int8_t is = t.layout[g->axis[c]], end = want.layout[g->axis[c]];
                if (is != end && (is == t.layout[a] || end == t.layout[a])) changes = true;
            }
            hpc_layout_move m = {a, pass == 0 ? HPC_REPLICATED : want.layout[a]};
            if (!changes || (pass == 0 && t.layout[a] <= 0) || (pass == 1 && m.to <= 0)) continue;
            price += price_of(&t, &s, m);
            t = hpc_layout_moved(&t, &s, m);
        }
    assert_int_equal(state_of(g, &t), to);
    return price;
}

static void each_path_is_the_cheapest(void **state)
{
    (void)state;
    int cheaper = 0, all = 0;
    for (size_t n = 0; n < sizeof grids / sizeof *grids; n++) {
        const grid *g = &grids[n];
        const hpc_grid_shape s = shape_of(g);
        for (int from = 0; from < states_of(g); from++)
            for (int to = 0; to < states_of(g); to++) {
                hpc_type t = type_of(g, from), want = type_of(g, to);
                hpc_layout_path path;
                if (!is_possible(g, from, to)) continue;
                hpc_layout_question q = {.type = &t, .want = want.layout, .shape = &s};
                test_ok(hpc_layout_search(&path, &q));
                int64_t price = hpc_layout_price(&path.cost), former = former_price(g, from, to);
                assert_true(price == least_price(g, from, to));
                assert_true(price <= former);
                cheaper += price < former;
                all++;
            }
    }
    assert_true(cheaper > 0 && cheaper < all);
}

static void impossible_conversions_are_named(void **state)
{
    (void)state;
    const hpc_grid_shape s = shape_of(&grids[0]);
    hpc_type t = type_of(&grids[0], 0);
    int8_t want[HPC_AXIS_N] = {[HPC_AXIS_ROW] = HPC_PARTIAL};
    hpc_layout_path path;
    hpc_layout_question q = {.value = 7, .type = &t, .want = want, .shape = &s};
    test_fails(hpc_layout_search(&path, &q), HPC_E_UNSUPPORTED,
               "no conversion of %7, f32[16,24], to layout -1 on axis row");
    t.extent[0] = 3;
    want[HPC_AXIS_ROW] = HPC_SPLIT(0);
    test_fails(hpc_layout_search(&path, &q), HPC_E_UNSUPPORTED, "to layout 1 on axis row");
}

/* ---- programs --------------------------------------------------------------------- */

/* Conversions of one state to all that it can become. */
typedef struct job {
    const grid *g;
    int from;
} job;

typedef struct converted_all {
    hpc_program *p;
    hpc_value x, y[STATES];
} converted_all;

static void convert_all(converted_all *out, const job *j, const int *coord)
{
    const hpc_grid_shape s = shape_of(j->g);
    sharder w = {.shape = &s, .coord = coord};
    out->p = w.p = hpc_program_create();
    assert_non_null(w.p);
    out->x = hpc_program_input(w.p, "x", type_of(j->g, j->from));
    hpc_program_segment(w.p, HPC_FORWARD, 0);
    for (int to = 0; to < states_of(j->g); to++) {
        const hpc_type want = type_of(j->g, to);
        out->y[to] = out->x;
        if (!is_possible(j->g, j->from, to)) continue;
        test_ok(shard_convert(&w, &out->y[to], want.layout));
        const hpc_type *t = &w.p->value[out->y[to]].type;
        assert_memory_equal(t->layout, want.layout, sizeof want.layout);
        assert_memory_equal(t->extent, want.extent, 2 * sizeof *t->extent);
        if (out->y[to] != out->x) hpc_program_keep(w.p, out->y[to]);
    }
    test_ok(hpc_program_check(w.p));
    hpc_free(w.done);
}

/* The addend of the ranks at these coordinates of the axes in `summed`. */
static float addend(int64_t i, const int *coord, hpc_axes summed)
{
    uint32_t seed = (uint32_t)i * 2654435761u;
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (summed >> a & 1) seed = (seed ^ (uint32_t)(coord[a] + 3 * a + 1)) * 2246822519u;
    return (float)(seed >> 8) * 0x1p-20f - 7.3f;
}

/* The axes of partial sums in the order in which conversions to `to` sum them. */
static int sums_of(int *axis, const grid *g, const hpc_type *from, const hpc_type *to)
{
    int n = 0;
    for (int k = 0; k < g->n; k++)
        if (from->layout[g->axis[k]] < 0 && to->layout[g->axis[k]] > 0) axis[n++] = g->axis[k];
    for (int a = 0; a < HPC_AXIS_N; a++)
        for (int k = 0; k < g->n; k++)
            if ((int)g->axis[k] == a && from->layout[a] < 0 && to->layout[a] == HPC_REPLICATED)
                axis[n++] = a;
    return n;
}

/* The sum along the last axes first to be summed: ranks' addends in rank order, as collectives add
 * them. */
static float sum_up(int64_t i, int *coord, const int *axis, int n, hpc_axes summed,
                    const hpc_grid_shape *s)
{
    if (n == 0) return addend(i, coord, summed);
    int a = axis[n - 1], kept = coord[a];
    float sum = 0;
    for (int r = 0; r < s->extent[a]; r++) {
        coord[a] = r;
        float x = sum_up(i, coord, axis, n - 1, summed, s);
        sum = r == 0 ? x : sum + x;
    }
    coord[a] = kept;
    return sum;
}

static void check_one(hpc_exec *e, const converted_all *c, const job *j, int to, int *coord)
{
    double x[N];
    int axis[HPC_AXIS_N];
    const hpc_grid_shape s = shape_of(j->g);
    const hpc_type from = type_of(j->g, j->from), t = c->p->value[c->y[to]].type;
    hpc_axes summed = 0;
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (from.layout[a] < 0) summed |= 1u << a;
    int n = sums_of(axis, j->g, &from, &t);
    hpc_test_read(e, 0, c->y[to], x);
    for (int64_t r = 0; r < t.extent[0]; r++)
        for (int64_t k = 0; k < t.extent[1]; k++) {
            int64_t i =
                (hpc_type_first(&t, 0, &s, coord) + r) * K + hpc_type_first(&t, 1, &s, coord) + k;
            float want = sum_up(i, coord, axis, n, summed, &s);
            assert_true((float)x[r * t.extent[1] + k] == want);
        }
}

/* Bytes that the collectives of a rank send, by closed form. */
static int64_t bytes_of(const hpc_program *p, const hpc_grid_shape *s)
{
    int64_t sent = 0;
    const hpc_segment *g = &p->segment[0];
    for (int64_t k = 0; k < g->insn_n; k++) {
        const hpc_insn *i = &g->insn[k];
        if (i->op->comm < 0) continue;
        int64_t n = 1, x = (int64_t)hpc_type_bytes(&p->value[i->operand[1]].type);
        for (int a = 0; a < HPC_AXIS_N; a++)
            if (((const hpc_comm_attr *)i->attr)->axes >> a & 1) n *= s->extent[a];
        sent += i->op->comm == HPC_ALL_GATHER   ? (n - 1) * x
                : i->op->comm == HPC_ALL_REDUCE ? 2 * (n - 1) * x / n
                                                : (n - 1) * x / n;
    }
    return sent;
}

/* The values that a rank holds at first. */
static void fill(double *x, const job *j, const int *coord)
{
    const hpc_grid_shape s = shape_of(j->g);
    const hpc_type t = type_of(j->g, j->from);
    hpc_axes summed = 0;
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (t.layout[a] < 0) summed |= 1u << a;
    for (int64_t r = 0; r < t.extent[0]; r++)
        for (int64_t k = 0; k < t.extent[1]; k++) {
            int64_t row = hpc_type_first(&t, 0, &s, coord) + r;
            x[r * t.extent[1] + k] =
                addend(row * K + hpc_type_first(&t, 1, &s, coord) + k, coord, summed);
        }
}

static int run_rank(hpc_link *world, void *user)
{
    const job *j = user;
    const hpc_grid_shape s = shape_of(j->g);
    int coord[HPC_AXIS_N];
    double x[N];
    converted_all c;
    hpc_device *d;
    hpc_grid *g;
    hpc_exec *e;
    hpc_grid_coords(coord, &s, hpc_link_rank(world));
    convert_all(&c, j, coord);
    fill(x, j, coord);
    test_ok(hpc_grid_open(&g, world, &s));
    test_ok(hpc_device_open(&d, &(hpc_device_options){.threads = 1}));
    test_ok(hpc_exec_open(&e, c.p, d, g, &(hpc_exec_options){.poison = 1}));
    hpc_test_write(e, 0, c.x, x);
    test_ok(hpc_exec_run(e, 0, 0));
    for (int to = 0; to < states_of(j->g); to++)
        if (is_possible(j->g, j->from, to)) check_one(e, &c, j, to, coord);
    int64_t sent = 0;
    for (int k = 0; k < j->g->n; k++) {
        hpc_traffic t = hpc_grid_traffic(g, 1u << j->g->axis[k]);
        for (int n = 0; n < HPC_COMM_KIND_N; n++) sent += t.bytes[n];
    }
    assert_int_equal(sent, bytes_of(c.p, &s));
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_grid_close(g);
    hpc_program_free(c.p);
    return HPC_OK;
}

static void each_conversion_has_the_bits_of_sums_in_rank_order(void **state)
{
    (void)state;
    for (size_t n = 0; n < 4; n++)
        for (int from = 0; from < states_of(&grids[n]); from++) {
            job j = {.g = &grids[n], .from = from};
            int ranks = 1;
            for (int k = 0; k < j.g->n; k++) ranks *= j.g->extent[k];
            test_ok(hpc_threads_run(ranks, run_rank, &j));
        }
}

/* From parts of rows to parts of columns: (n - 1) / n of a part, where a gather sends n - 1. */
static void exchanged_parts_are_sent_once(void **state)
{
    (void)state;
    for (int n = 2; n <= 8; n *= 2) {
        const grid g = {{HPC_AXIS_ROW}, {n}, 1};
        const hpc_grid_shape s = shape_of(&g);
        hpc_type t = type_of(&g, 1);
        const hpc_type want = type_of(&g, 2);
        hpc_layout_path path;
        hpc_layout_question q = {.type = &t, .want = want.layout, .shape = &s};
        test_ok(hpc_layout_search(&path, &q));
        assert_int_equal(path.n, 1);
        assert_int_equal(path.cost.sent, (n - 1) * 4 * N / n / n);
    }
}

/* A value that was gathered before is cut: nothing is sent again. */
static void earlier_conversions_are_used(void **state)
{
    (void)state;
    const grid *g = &grids[0];
    const hpc_grid_shape s = shape_of(g);
    const int coord[HPC_AXIS_N] = {0};
    sharder w = {.p = hpc_program_create(), .shape = &s, .coord = coord};
    hpc_value x = hpc_program_input(w.p, "x", type_of(g, 1)), whole = x, cols = x;
    const hpc_type all = type_of(g, 0), want = type_of(g, 2);
    hpc_program_segment(w.p, HPC_FORWARD, 0);
    test_ok(shard_convert(&w, &whole, all.layout));
    test_ok(shard_convert(&w, &cols, want.layout));
    int collectives = 0;
    for (int64_t k = 0; k < w.p->segment[0].insn_n; k++)
        collectives += w.p->segment[0].insn[k].op->comm >= 0;
    assert_int_equal(collectives, 1);
    hpc_program_free(w.p);
    hpc_free(w.done);
}

/* ---- the proof -------------------------------------------------------------------- */

/* The program of a rank; -1: the serial one. Rows of x are split; columns of the result are. */
static hpc_program *rows_to_columns(const hpc_grid_shape *s, int rank)
{
    const int axis = HPC_AXIS_ROW;
    int coord[HPC_AXIS_N];
    hpc_program *p = hpc_program_create();
    hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){M, K});
    assert_non_null(p);
    t.layout[axis] = HPC_SPLIT(0);
    hpc_value x = hpc_program_input(p, "x", t);
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_value y = hpc_activate(p, x, HPC_SILU);
    p->value[y].type.layout[axis] = HPC_SPLIT(1);
    hpc_program_keep(p, hpc_activate(p, y, HPC_SILU));
    if (rank < 0) return p;
    hpc_grid_coords(coord, s, rank);
    test_ok(hpc_shard(p, s, coord, NULL));
    return p;
}

static hpc_insn *find_exchange(hpc_program *p)
{
    for (int64_t k = 0; k < p->segment[0].insn_n; k++)
        if (p->segment[0].insn[k].op == &hpc_op_all_to_all) return &p->segment[0].insn[k];
    fail();
    return NULL;
}

/* Without the tile before it, an exchange sends other elements. */
static void exchanges_are_proven(void **state)
{
    (void)state;
    const hpc_grid_shape s = {.extent = {[HPC_AXIS_ROW] = 4}};
    hpc_program *p[4], *serial = rows_to_columns(&s, -1);
    int rank[4] = {0, 1, 2, 3};
    hpc_proof proof;
    for (int r = 0; r < 4; r++) p[r] = rows_to_columns(&s, r);
    const hpc_prove q = {.serial = serial,
                         .shape = &s,
                         .program = (const hpc_program *const *)p,
                         .rank = rank,
                         .n = 4};
    test_ok(hpc_prove_order(&proof, &q));
    test_ok(hpc_prove_layouts(&proof, &q));
    assert_int_equal(proof.collectives, 1);
    for (int r = 0; r < 4; r++) {
        hpc_insn *i = find_exchange(p[r]);
        i->operand[1] = (i - 1)->operand[1];
    }
    test_fails(hpc_prove_layouts(&proof, &q), HPC_E_STATE,
               "ranks along row hold different parts of it, and its type f32[16,6]{row:1} says");
    for (int r = 0; r < 4; r++) hpc_program_free(p[r]);
    hpc_program_free(serial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_path_is_the_cheapest),
        cmocka_unit_test(impossible_conversions_are_named),
        cmocka_unit_test(each_conversion_has_the_bits_of_sums_in_rank_order),
        cmocka_unit_test(exchanged_parts_are_sent_once),
        cmocka_unit_test(earlier_conversions_are_used),
        cmocka_unit_test(exchanges_are_proven),
    };
    return cmocka_run_group_tests_name("program/convert", tests, NULL, NULL);
}
