/* grid.c: shapes, coordinates, links over sets of axes, traffic by axis. */
#include "tests/support/ranks.h"

enum {
    DATA = 1 << HPC_AXIS_DATA,
    PIPE = 1 << HPC_AXIS_PIPE,
    ROW = 1 << HPC_AXIS_ROW,
    COL = 1 << HPC_AXIS_COL,
    EXPERT = 1 << HPC_AXIS_EXPERT
};

/* ---- shapes -------------------------------------------------------------------- */
static void parses(void **state)
{
    (void)state;
    hpc_grid_shape s;
    assert_no_failure(hpc_grid_parse(&s, "row=4,data=2"));
    assert_int_equal(s.extent[HPC_AXIS_DATA], 2);
    assert_int_equal(s.extent[HPC_AXIS_ROW], 4);
    assert_int_equal(s.extent[HPC_AXIS_COL], 1);
    assert_int_equal(hpc_grid_size(&s), 8);
    assert_no_failure(hpc_grid_parse(&s, ""));
    assert_int_equal(hpc_grid_size(&s), 1);
    hpc_grid_shape zeros = {{0}};
    assert_int_equal(hpc_grid_size(&zeros), 1);
    assert_string_equal(hpc_axis_name(HPC_AXIS_EXPERT), "expert");
    assert_string_equal(hpc_axis_name(HPC_AXIS_N), "unknown");
}

static void refuses(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"rows=2", "unknown axis 'rows'; see --help for the axes"},
        {"row=0", "'row=0': the extent must be a number from 1"},
        {"row=-2", "'row=-2'"},
        {"row=2x", "'row=2x'"},
        {"row=", "'row='"},
        {"row", "'row' does not have the form axis=number"},
        {"row=2,row=3", "axis 'row' is given twice"},
        {"row=1,row=3", "axis 'row' is given twice"},
        {"data=2,,row=2", "'' does not have the form"},
        {"data=2,", "'' does not have the form"},
        {"=2", "unknown axis ''"},
        {"row=99999999999999999999", "the extent must be a number"},
        {"row=65536,col=65536", "more ranks than can be counted"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hpc_grid_shape s = {{7}};
        const char *const part[] = {bad[i][1], NULL};
        assert_no_failure(expect_failure(hpc_grid_parse(&s, bad[i][0]), HPC_E_ARG, part));
        assert_int_equal(s.extent[0], 7);
    }
}

static void coordinates(void **state)
{
    (void)state;
    hpc_grid_shape s;
    int c[HPC_AXIS_N];
    assert_no_failure(hpc_grid_parse(&s, "data=2,expert=3,pipe=2,depth=2,row=3,col=2"));
    for (int r = 0; r < hpc_grid_size(&s); r++) {
        hpc_grid_coords(c, &s, r);
        int by_hand = c[HPC_AXIS_DATA] * 3 + c[HPC_AXIS_EXPERT];
        by_hand = (by_hand * 2 + c[HPC_AXIS_PIPE]) * 2 + c[HPC_AXIS_DEPTH];
        by_hand = (by_hand * 3 + c[HPC_AXIS_ROW]) * 2 + c[HPC_AXIS_COL];
        assert_int_equal(by_hand, r);
        assert_int_equal(hpc_grid_rank(&s, c), r);
    }
    hpc_grid_coords(c, &s, 1);
    assert_int_equal(c[HPC_AXIS_COL], 1);
    hpc_grid_coords(c, &s, 143);
    assert_int_equal(c[HPC_AXIS_DATA], 1);
    assert_int_equal(c[HPC_AXIS_EXPERT], 2);
}

/* ---- links ---------------------------------------------------------------------- */
/* Asserts the world ranks of a link's members, in order. */
static int members_are(hpc_link *l, hpc_link *world, const int *expected, int n)
{
    int64_t mine = world->rank, all[16];
    hpc_comm c = {.kind = HPC_ALL_GATHER, .dtype = HPC_I64, .n = 1, .send = &mine, .recv = all};
    EXPECT(l->size == n);
    EXPECT(hpc_link_run(l, &c) == 0);
    for (int r = 0; r < n; r++) EXPECT(all[r] == expected[r]);
    return 0;
}

/* DeepSpeed-TED's example: 16 ranks, tensor parallel 2, experts 4. */
static int ted(hpc_link *world, void *user)
{
    (void)user;
    hpc_grid *g;
    hpc_grid_shape s;
    hpc_link *l;
    int rank = world->rank, tensor[2], data[8], expert[4], expert_data[2];
    for (int i = 0; i < 2; i++) tensor[i] = rank / 2 * 2 + i;                /* {0,1}, {2,3}, ... */
    for (int i = 0; i < 8; i++) data[i] = rank % 2 + 2 * i;                  /* evens, odds */
    for (int i = 0; i < 4; i++) expert[i] = rank / 8 * 8 + rank % 2 + 2 * i; /* {0,2,4,6}, ... */
    for (int i = 0; i < 2; i++) expert_data[i] = rank % 8 + 8 * i; /* {0,8}, {2,10}, ... */
    EXPECT(hpc_grid_parse(&s, "row=2,expert=4,data=2") == 0);
    EXPECT(hpc_grid_open(&g, world, &s) == 0);
    EXPECT(hpc_grid_link(&l, g, ROW) == 0 && members_are(l, world, tensor, 2) == 0);
    EXPECT(hpc_grid_link(&l, g, DATA | EXPERT) == 0 && members_are(l, world, data, 8) == 0);
    EXPECT(hpc_grid_link(&l, g, EXPERT) == 0 && members_are(l, world, expert, 4) == 0);
    EXPECT(hpc_grid_link(&l, g, DATA) == 0 && members_are(l, world, expert_data, 2) == 0);
    hpc_grid_close(g);
    return 0;
}

static void ted_groups(void **state)
{
    (void)state;
    run_ranks(16, ted, NULL);
}

static int small_grid(hpc_link *world, void *user)
{
    hpc_grid *g;
    hpc_grid_shape s;
    hpc_link *row, *col, *both, *again, *none, *pipe;
    EXPECT(hpc_grid_parse(&s, user) == 0);
    EXPECT(hpc_grid_open(&g, world, &s) == 0);
    EXPECT(hpc_grid_world(g) == world && hpc_grid_shape_of(g)->extent[HPC_AXIS_PIPE] == 1);
    int r = hpc_grid_coord(g, HPC_AXIS_ROW), c = hpc_grid_coord(g, HPC_AXIS_COL);
    int rows = s.extent[HPC_AXIS_ROW], cols = s.extent[HPC_AXIS_COL], expected[8];
    EXPECT(world->rank == r * cols + c);
    EXPECT(hpc_grid_link(&row, g, ROW) == 0 && hpc_grid_link(&col, g, COL) == 0);
    EXPECT(row->rank == r && col->rank == c);
    for (int i = 0; i < rows; i++) expected[i] = i * cols + c;
    EXPECT(members_are(row, world, expected, rows) == 0);
    for (int i = 0; i < cols; i++) expected[i] = r * cols + i;
    EXPECT(members_are(col, world, expected, cols) == 0);
    EXPECT(hpc_grid_link(&both, g, ROW | COL) == 0);
    EXPECT(both != world && both->size == world->size && both->rank == world->rank);
    EXPECT(hpc_grid_link(&again, g, ROW | PIPE) == 0 && again == row);
    EXPECT(hpc_grid_link(&none, g, 0) == 0 && none->size == 1);
    EXPECT(hpc_grid_link(&pipe, g, PIPE) == 0 && pipe == none);
    EXPECT_FAILURE(hpc_grid_link(&none, g, 1 << HPC_AXIS_N), HPC_E_ARG, "set 0x40");
    hpc_grid_close(g);
    return 0;
}

static void links_over_axes(void **state)
{
    (void)state;
    char square[] = "row=2,col=2", oblong[] = "row=2,col=3";
    run_ranks(4, small_grid, square);
    run_ranks(6, small_grid, oblong);
}

/* Both axes in flight at once, waited for in opposite orders by neighbours. */
static int overlapping(hpc_link *world, void *user)
{
    (void)user;
    hpc_grid *g;
    hpc_grid_shape s = {{[HPC_AXIS_ROW] = 2, [HPC_AXIS_COL] = 3}};
    hpc_link *l[2];
    EXPECT(hpc_grid_open(&g, world, &s) == 0);
    EXPECT(hpc_grid_link(&l[0], g, ROW) == 0 && hpc_grid_link(&l[1], g, COL) == 0);
    for (int round = 0; round < 50; round++) {
        int32_t x[2][40], y[2][40];
        hpc_handle h[2] = {{0}};
        for (int i = 0; i < 80; i++) x[i / 40][i % 40] = world->rank + i + round;
        for (int a = 0; a < 2; a++) {
            hpc_comm c = {
                .kind = HPC_ALL_REDUCE, .dtype = HPC_I32, .n = 40, .send = x[a], .recv = y[a]};
            EXPECT(hpc_link_start(l[a], &h[a], &c) == 0);
        }
        int first = (world->rank + round) % 2, r = world->rank / 3, c = world->rank % 3;
        EXPECT(hpc_link_wait(&h[first]) == 0 && hpc_link_wait(&h[1 - first]) == 0);
        for (int i = 0; i < 40; i++) {
            EXPECT(y[0][i] == 2 * (c + i + round) + 3);
            EXPECT(y[1][i] == 3 * (3 * r + 40 + i + round) + 3);
        }
    }
    hpc_grid_close(g);
    return 0;
}

static void axes_overlap(void **state)
{
    (void)state;
    run_ranks(6, overlapping, NULL);
}

/* ---- traffic ---------------------------------------------------------------------- */
static int traffic(hpc_link *world, void *user)
{
    (void)user;
    hpc_grid *g;
    hpc_grid_shape s = {{[HPC_AXIS_ROW] = 2, [HPC_AXIS_DATA] = 2}};
    hpc_link *row;
    float x[8] = {0}, y[8];
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .n = 8, .send = x, .recv = y};
    EXPECT(hpc_grid_open(&g, world, &s) == 0);
    EXPECT(hpc_grid_traffic(g, ROW).messages[HPC_ALL_REDUCE] == 0);
    EXPECT(hpc_grid_link(&row, g, ROW) == 0);
    EXPECT(hpc_link_run(row, &c) == 0 && hpc_link_run(row, &c) == 0);
    EXPECT(hpc_grid_traffic(g, ROW).messages[HPC_ALL_REDUCE] == 2);
    EXPECT(hpc_grid_traffic(g, ROW).bytes[HPC_ALL_REDUCE] == 2 * 8 * 4);
    EXPECT(hpc_grid_traffic(g, ROW | PIPE).bytes[HPC_ALL_REDUCE] == 2 * 8 * 4);
    EXPECT(hpc_grid_traffic(g, DATA).bytes[HPC_ALL_REDUCE] == 0);
    EXPECT(hpc_grid_traffic(g, 0).messages[HPC_ALL_REDUCE] == 0);
    EXPECT(world->traffic.messages[HPC_ALL_GATHER] == 0);
    hpc_grid_traffic_clear(g);
    EXPECT(hpc_grid_traffic(g, ROW).messages[HPC_ALL_REDUCE] == 0);
    hpc_grid_close(g);
    return 0;
}

static void traffic_by_axis(void **state)
{
    (void)state;
    run_ranks(4, traffic, NULL);
}

/* ---- errors ------------------------------------------------------------------------ */
static int misshapen(hpc_link *world, void *user)
{
    (void)user;
    hpc_grid *g;
    hpc_grid_shape s = {{[HPC_AXIS_ROW] = 2, [HPC_AXIS_COL] = 2}};
    EXPECT_FAILURE(hpc_grid_open(&g, world, &s), HPC_E_SHAPE,
                   "row=2,col=2 needs 4 ranks, but there are 3");
    EXPECT(g == NULL);
    hpc_grid_shape odd = {
        {[HPC_AXIS_ROW] = world->rank == 2 ? 1 : 3, [HPC_AXIS_COL] = world->rank == 2 ? 3 : 1}};
    EXPECT_FAILURE(hpc_grid_open(&g, world, &odd), HPC_E_SHAPE,
                   "row is 3 on rank 0, but 1 on rank 2");
    hpc_grid_shape negative = {{[HPC_AXIS_ROW] = -3, [HPC_AXIS_COL] = -1}};
    EXPECT_FAILURE(hpc_grid_open(&g, world, &negative), HPC_E_SHAPE, "row=-3");
    hpc_grid_close(NULL);
    return 0;
}

static void shapes_that_do_not_fit(void **state)
{
    (void)state;
    run_ranks(3, misshapen, NULL);
}

static void serial(void **state)
{
    (void)state;
    hpc_link *world, *l;
    hpc_grid *g;
    hpc_grid_shape s = {{0}};
    assert_no_failure(hpc_link_self(&world));
    assert_no_failure(hpc_grid_open(&g, world, &s));
    assert_no_failure(hpc_grid_link(&l, g, DATA | ROW | COL));
    assert_int_equal(hpc_link_size(l), 1);
    hpc_grid_close(g);
    hpc_link_close(world);
}

static int life_of_a_grid(hpc_link *world, void *user)
{
    (void)user;
    int rc = 0;
    hpc_grid *g = NULL;
    hpc_link *l;
    hpc_grid_shape s = {{[HPC_AXIS_ROW] = 2}};
    TRY(hpc_grid_open(&g, world, &s));
    TRY(hpc_grid_link(&l, g, ROW));
out:
    hpc_grid_close(g);
    return rc;
}

static int run_life(void *user)
{
    return hpc_threads_run(2, life_of_a_grid, user);
}

static void failing_allocations(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(run_life, NULL) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(parses, start_over),
        cmocka_unit_test_setup(refuses, start_over),
        cmocka_unit_test_setup(coordinates, start_over),
        cmocka_unit_test_setup(ted_groups, start_over),
        cmocka_unit_test_setup(links_over_axes, start_over),
        cmocka_unit_test_setup(axes_overlap, start_over),
        cmocka_unit_test_setup(traffic_by_axis, start_over),
        cmocka_unit_test_setup(shapes_that_do_not_fit, start_over),
        cmocka_unit_test_setup(serial, start_over),
        cmocka_unit_test_setup(failing_allocations, start_over),
    };
    return cmocka_run_group_tests_name("link/grid", tests, NULL, NULL);
}
