/*
 * prove.c: proofs of sharded steps, and faults that they find: each report names instruction,
 * tensor, rank and defect.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include "tests/train/prove.h"

#include "tests/support/sanitized.h"

/* In stages from `first` on; two of them under the address sanitizer, to which they are alike. */
static void in_stages(plan x, int first)
{
    for (x.zero = first; x.zero <= 3; x.zero += HPC_TEST_ASAN ? 2 : 1) holds(x);
}

static void every_grid_is_proven(void **state)
{
    (void)state;
    static const char *const grid[] = {"data=2",
                                       "depth=2",
                                       "row=2",
                                       "data=2,row=2",
                                       "data=2,depth=2",
                                       "depth=2,row=2",
                                       "data=2,depth=2,row=2",
                                       "data=4,row=4",
                                       "depth=4",
                                       "col=2",
                                       "row=2,col=2",
                                       "data=2,depth=2,col=2"};
    for (size_t k = 0; k < sizeof grid / sizeof *grid; k++)
        for (int zero = 0; zero <= 3; zero += HPC_TEST_ASAN ? 3 : 1)
            holds((plan){
                .grid = grid[k], .zero = zero, .keep_depth = zero % 2, .optimizer = HPC_OPT_ADAMW});
}

/* What row sums split by tokens, inside what data and depth split of them. */
static void sequences_are_proven(void **state)
{
    (void)state;
    static const char *const grid[] = {"row=2", "row=4", "row=2,col=2", "data=2,depth=2,row=2"};
    for (size_t k = 0; k < sizeof grid / sizeof *grid; k++)
        for (int gpt = 0; gpt < 2; gpt++)
            holds((plan){.grid = grid[k],
                         .zero = (int)k % 4,
                         .sequence = true,
                         .overlap = k % 2 == 0,
                         .dropout = gpt ? 0.1 : 0,
                         .recompute = gpt ? HPC_RECOMPUTE_BLOCK : HPC_RECOMPUTE_NONE,
                         .kv_heads = gpt ? 0 : 1 + (int)k % 2,
                         .optimizer = HPC_OPT_ADAMW,
                         .gpt = gpt,
                         .dtype = k % 2 ? HPC_BF16 : HPC_F32});
}

/* Without clipping, gradients are read directly by refreshes, which not every step has, and by
 * updates. */
static void steps_without_refreshes_are_proven(void **state)
{
    (void)state;
    plan x = {.unclipped = true, .block = 8};
    for (x.optimizer = HPC_OPT_SHAMPOO; x.optimizer < HPC_OPT_N; x.optimizer++) {
        x.kv_heads = 1 + x.optimizer % 2;
        x.grid = x.kv_heads == 1 ? "data=2,row=2" : "data=2";
        in_stages(x, 0);
    }
}

/* All that a step may be, on a grid of all axes. */
static void every_step_is_proven(void **state)
{
    (void)state;
    plan x = {.grid = "data=2,depth=2,row=2"};
    for (int kind = 0; kind < HPC_OPT_N; kind++) {
        x.optimizer = kind;
        in_stages(x, 0);
        x.overlap = true; /* both sides of a gradient are multiplied as it comes */
        in_stages(x, 1);
        x.overlap = false;
    }
    /* Of 48 rows in blocks of 16 a rank's half is no blocks. */
    x.block = 16;
    for (x.optimizer = HPC_OPT_JORGE_NEWTON; x.optimizer <= HPC_OPT_JORGE_MOMENTUM; x.optimizer++)
        in_stages(x, 0);
    /* Blocks of two ranks' rows along row, which data splits further. */
    x.grid = "data=2,row=4";
    x.optimizer = HPC_OPT_JORGE_MOMENTUM;
    in_stages(x, 0);
    /* Of 48 rows in blocks of 24 each of two ranks has one, and SOAP's moments are whole on both.
     */
    x.block = 24;
    x.optimizer = HPC_OPT_SOAP;
    for (int g = 0; g < 3; g++) {
        x.grid = (const char *const[]){"data=2", "depth=2", "row=2"}[g];
        in_stages(x, 0);
    }
    x = (plan){.grid = "data=2,depth=2,row=2",
               .dropout = 0.1,
               .tied = true,
               .once = true,
               .dtype = HPC_BF16};
    in_stages(x, 0);
    x.zero = 1;
    for (x.recompute = 0; x.recompute <= HPC_RECOMPUTE_BLOCK; x.recompute++) holds(x);
    x.recompute = HPC_RECOMPUTE_BLOCK;
    x.gpt = true;
    in_stages(x, 0);
    x.gpt = false;
    x.zero = 1;
    x.kv_heads = 1;
    holds(x);
}

static void other_heads_and_adapters_are_proven(void **state)
{
    static const char *const grid[] = {"data=2", "depth=2", "data=2,depth=2",
                                       "row=2",  "col=2",   "data=2,depth=2,row=2"};
    (void)state;
    for (size_t k = 0; k < sizeof grid / sizeof *grid; k++)
        for (int v = 0; v < 8; v++) {
            plan x = {.grid = grid[k],
                      .zero = v & 3,
                      .once = v >> 2,
                      .overlap = k % 2,
                      .dtype = v % 2 ? HPC_F32 : HPC_BF16,
                      .optimizer = HPC_OPT_ADAMW};
            x.classes = 3;
            holds(x);
            x.classes = 0, x.adapted = true;
            if (k < 3) holds(x);
        }
}

/* ---- faults ------------------------------------------------------------------------------- */

static lab *cube_of(int zero, bool overlap, bool sequence)
{
    return open_lab(&(plan){.grid = "data=2,depth=2,row=2",
                            .overlap = overlap,
                            .layers = 1,
                            .zero = zero,
                            .sequence = sequence,
                            .dropout = 0.1,
                            .optimizer = HPC_OPT_ADAMW});
}

static lab *cube(int zero)
{
    return cube_of(zero, false, false);
}

static void a_sum_that_is_dropped_repeated_or_turned_is_found(void **state)
{
    static const struct {
        void (*plant)(hpc_program *, place);
        const char *says;
    } fault[] = {{drop, "is a partial sum along row and must be reduced first"},
                 {drop, "forward[0] #"},
                 {repeat, "ranks along row hold the same of"},
                 {repeat, "their sum counts it 2 times"},
                 {turn, "ranks along data hold different parts of"}};
    (void)state;
    for (size_t k = 0; k < sizeof fault / sizeof *fault; k++)
        is_found(cube(0), 0, &hpc_op_all_reduce, fault[k].plant, fault[k].says);
}

/* Overlapped and split by tokens in some of the stages. */
static lab *cube_in_stage(int zero)
{
    return cube_of(zero, zero > 0, zero % 2 == 0);
}

static void every_collective_is_needed_as_it_is(void **state)
{
    (void)state;
    for (int zero = 0; zero <= 3; zero++) every_collective_is_needed(cube_in_stage, zero);
}

static void another_order_on_one_rank_is_found(void **state)
{
    (void)state;
    lab *l = cube(0);
    hpc_segment *s = &l->program[5]->segment[l->io.backward];
    place at = {.segment = l->io.backward}, next;
    hpc_comm_attr *a, *b;
    do { /* two neighbours that differ */
        assert_true(next_of(&at, l, NULL));
        next = (place){at.segment, at.insn + 1};
        assert_true(next_of(&next, l, NULL) && next.segment == at.segment);
        a = insn_of(l, 0, at)->attr, b = insn_of(l, 0, next)->attr;
        if (a->axes == b->axes) at.insn++;
    } while (a->axes == b->axes);
    hpc_insn i = s->insn[at.insn];
    s->insn[at.insn] = s->insn[next.insn];
    s->insn[next.insn] = i;
    test_fails(prove(l), HPC_E_STATE, "rank 5 starts backward[0] #");
    test_fails(prove(l), HPC_E_STATE, "; neither ends");
    close_lab(l);
}

static void another_size_kind_or_type_on_one_rank_is_found(void **state)
{
    (void)state;
    lab *l = cube(0);
    place at = first_of(l, 0, &hpc_op_all_reduce);
    hpc_type *t = &l->program[3]->value[insn_of(l, 3, at)->operand[1]].type;
    t->extent[0] /= 2;
    test_fails(prove(l), HPC_E_STATE, "rank 3 starts forward[0] #");
    test_fails(prove(l), HPC_E_STATE, "another size");
    t->extent[0] *= 2;
    t->dtype = HPC_BF16;
    test_fails(prove(l), HPC_E_STATE, "another type");
    t->dtype = HPC_F32;
    ((hpc_comm_attr *)insn_of(l, 3, at)->attr)->reduce = HPC_COMM_MAX;
    test_fails(prove(l), HPC_E_STATE, "another reduction");
    ((hpc_comm_attr *)insn_of(l, 3, at)->attr)->reduce = HPC_COMM_SUM;
    insn_of(l, 3, at)->op = &hpc_op_broadcast;
    test_fails(prove(l), HPC_E_STATE, "another operation");
    remove_at(l->program[3], at);
    test_fails(prove(l), HPC_E_STATE, "rank 3 starts ");
    close_lab(l);
}

/* A cut that begins where another rank's does. */
static void a_part_twice_is_found(void **state)
{
    (void)state;
    lab *l = open_lab(&(plan){.grid = "data=2", .zero = 1, .optimizer = HPC_OPT_MUON});
    for (place at = {0};; at.insn++) {
        assert_true(next_of(&at, l, &hpc_op_view));
        hpc_view_attr *a = insn_of(l, 1, at)->attr;
        if (a->row == 0) continue;
        a->row = 0;
        break;
    }
    test_fails(prove(l), HPC_E_STATE, "hold the same of it");
    close_lab(l);
    l = open_lab(&(plan){.grid = "data=4", .zero = 1, .optimizer = HPC_OPT_MUON});
    for (place at = {0};; at.insn++) {
        assert_true(next_of(&at, l, &hpc_op_view));
        hpc_view_attr *a = insn_of(l, 3, at)->attr;
        if (a->row == 0) continue;
        a->row = 0;
        break;
    }
    test_fails(prove(l), HPC_E_STATE, "rank 3 cuts ");
    close_lab(l);
}

static void a_tensor_that_is_not_covered_is_found(void **state)
{
    (void)state;
    lab *l = cube(0);
    hpc_value v = hpc_program_find(l->serial, "model.layers.0.self_attn.q_proj.weight");
    assert_true(v >= 0);
    for (int r = 0; r < l->w.n; r++) l->program[r]->value[v].type.extent[0] /= 2;
    test_fails(prove(l), HPC_E_STATE,
               "model.layers.0.self_attn.q_proj.weight: its parts, each f32[4,32]");
    close_lab(l);
    l = cube(0);
    v = hpc_program_find(l->serial, "tokens");
    for (int r = 0; r < l->w.n; r++) {
        int8_t *layout = l->program[r]->value[v].type.layout;
        layout[HPC_AXIS_ROW] = layout[HPC_AXIS_DATA];
        layout[HPC_AXIS_DATA] = HPC_REPLICATED;
    }
    test_fails(prove(l), HPC_E_STATE, "tokens is fed as i32[256]{data:0,depth:0,expert:0}");
    close_lab(l);
}

/* The first sum of squares that the rank leaves to another, or does itself. */
static hpc_insn *square_of(const lab *l, int r, bool idle)
{
    place at = {.segment = l->io.norm};
    while (insn_of(l, r, at)->op != &hpc_op_reduce || insn_of(l, r, at)->tags.idle != idle)
        at.insn++;
    return insn_of(l, r, at);
}

static void what_one_rank_adds_for_all_is_added_once(void **state)
{
    (void)state;
    lab *l = cube(0);
    square_of(l, 6, true)->tags.idle = false;
    test_fails(prove(l), HPC_E_STATE,
               "rank 6 adds to norm.squares, which another rank has added for it");
    close_lab(l);
    l = cube(0);
    square_of(l, 1, false)->tags.idle = true;
    test_fails(prove(l), HPC_E_STATE, "rank 1 does not add to norm.squares, which needs its part");
    close_lab(l);
}

static void shared_random_numbers_are_found(void **state)
{
    (void)state;
    lab *l = cube(0);
    place at = first_of(l, 0, &hpc_op_dropout);
    ((hpc_dropout_attr *)insn_of(l, 4, at)->attr)->row0 = 0; /* the second along data */
    test_fails(prove(l), HPC_E_STATE, "row0 is 0 on rank 4, where 64 is its part");
    close_lab(l);
}

/* Of a gradient G the preconditioners have G G^T and G^T G, which differ by attributes alone. */
static void a_product_of_the_other_side_is_found(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        lab *l = open_lab(&(plan){.grid = "data=2",
                                  .zero = !swapped,
                                  .overlap = true,
                                  .optimizer = HPC_OPT_JORGE_NEWTON});
        place at = first_of(l, l->io.refresh, &hpc_op_matmul);
        assert_int_equal(at.segment, l->io.refresh);
        for (int r = 0; r < l->w.n && swapped; r++) {
            hpc_matmul_attr *a = insn_of(l, r, at)->attr;
            a->trans_a = !a->trans_a;
            a->trans_b = !a->trans_b;
        }
        if (swapped)
            test_fails(prove(l), HPC_E_STATE, "combine (block 0): operand x2 is %");
        else
            test_ok(prove(l));
        close_lab(l);
    }
}

static void what_is_left_out_is_found(void **state)
{
    (void)state;
    lab *l = cube(1);
    is_found(l, l->io.update, &hpc_op_adamw, remove_at,
             "no rank does what one rank does in update[1] #");
    l = cube(1); /* whole parameters are kept in addition to their parts */
    int last = (int)l->program[0]->segment_n - 1;
    for (int r = 0; r < l->w.n; r++) l->program[r]->segment[last].insn_n = 0;
    test_fails(prove(l), HPC_E_STATE, "what is kept whole of it is not gathered again");
    close_lab(l);
    l = cube(0);
    insn_of(l, 2, first_of(l, 0, &hpc_op_matmul))->operand[2] = 0;
    test_fails(prove(l), HPC_E_STATE, "rank 2 runs forward[0] #");
    close_lab(l);
}

/* Of the loss alone, which a step leaves out, nothing is read elsewhere. */
static void what_another_segment_made_must_have_been_run(void **state)
{
    (void)state;
    lab *l = cube(3);
    place at = first_of(l, l->io.model.forward_head, &hpc_op_all_gather);
    place other = first_of(l, l->io.backward, &hpc_op_all_gather);
    for (int r = 0; r < l->w.n; r++) {
        hpc_value head = insn_of(l, r, at)->operand[0], again = insn_of(l, r, other)->operand[0];
        assert_int_equal(insn_of(l, r, at)->operand[1], insn_of(l, r, other)->operand[1]);
        reroute(l->program[r], other, again, head);
    }
    test_fails(prove(l), HPC_E_STATE, "is made in forward[1], which need not have been run");
    close_lab(l);
}

static void ranks_of_a_large_grid_stand_for_all(void **state)
{
    (void)state;
    hpc_grid_shape g;
    int rank[MOST];
    test_ok(hpc_grid_parse(&g, "data=64,depth=4,row=8"));
    int n = hpc_prove_ranks(rank, MOST, &g);
    assert_int_equal(n, 1 + 3 + 3 + 3 + 1);
    assert_int_equal(rank[n - 1], 64 * 4 * 8 - 1);
    holds((plan){.grid = "data=4,depth=4,row=4", .zero = 3, .optimizer = HPC_OPT_ADAMW});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_grid_is_proven),
        cmocka_unit_test(sequences_are_proven),
        cmocka_unit_test(steps_without_refreshes_are_proven),
        cmocka_unit_test(every_step_is_proven),
        cmocka_unit_test(a_sum_that_is_dropped_repeated_or_turned_is_found),
        cmocka_unit_test(other_heads_and_adapters_are_proven),
        cmocka_unit_test(every_collective_is_needed_as_it_is),
        cmocka_unit_test(another_order_on_one_rank_is_found),
        cmocka_unit_test(another_size_kind_or_type_on_one_rank_is_found),
        cmocka_unit_test(a_part_twice_is_found),
        cmocka_unit_test(a_tensor_that_is_not_covered_is_found),
        cmocka_unit_test(what_one_rank_adds_for_all_is_added_once),
        cmocka_unit_test(shared_random_numbers_are_found),
        cmocka_unit_test(a_product_of_the_other_side_is_found),
        cmocka_unit_test(what_is_left_out_is_found),
        cmocka_unit_test(what_another_segment_made_must_have_been_run),
        cmocka_unit_test(ranks_of_a_large_grid_stand_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
