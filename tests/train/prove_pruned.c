/*
 * prove_pruned.c: proofs of a pruned model's steps on a grid, and faults in the picked elements
 * and their part.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include "tests/train/prove.h"

/* The state of what is picked, in f32 and rounded, shared out by ZeRO or not. */
static void pruned_steps_are_proven(void **state)
{
    (void)state;
    static const char *const grid[] = {"data=2",
                                       "depth=2",
                                       "row=2",
                                       "col=2",
                                       "data=2,row=2",
                                       "data=4,depth=2",
                                       "depth=4,row=2",
                                       "row=2,col=2",
                                       "data=2,depth=2,row=2",
                                       "data=2,depth=2,col=2",
                                       "data=2,depth=2,row=2,col=2"};
    for (size_t k = 0; k < sizeof grid / sizeof *grid; k++)
        for (int v = 0; v < 8; v++)
            holds((plan){.grid = grid[k],
                         .zero = v & 1,
                         .keep_depth = v >> 1 & 1,
                         .overlap = v >> 2 & 1,
                         .once = v >> 1 & 1,
                         .optimizer = HPC_OPT_ADAMW,
                         .dtype = (v + (int)k) % 2 ? HPC_F32 : HPC_BF16,
                         .prune = 0.83});
}

/* What else a step may be, besides pruned. */
static void every_pruned_step_is_proven(void **state)
{
    (void)state;
    plan x = {.optimizer = HPC_OPT_ADAMW, .prune = 0.5, .dropout = 0.1, .tied = true};
    for (int v = 0; v < 16; v++) {
        x.grid = v & 2 ? "data=2,depth=2,row=2" : "data=2,row=2,col=2";
        x.zero = v & 1;
        x.gpt = v >> 2 & 1;
        x.sequence = v >> 3 & 1;
        x.kv_heads = x.gpt ? 0 : 1 + v % 2;
        x.recompute = v % (HPC_RECOMPUTE_BLOCK + 1);
        x.dtype = v % 3 ? HPC_F32 : HPC_BF16;
        x.overlap = v % 5 == 0;
        holds(x);
    }
    x.grid = "data=4,depth=4,row=4"; /* of which 32 stand for all */
    holds(x);
    for (int kind = 0; kind < HPC_OPT_N; kind++)
        for (int zero = 0; zero <= 1 && kind != HPC_OPT_SOAP; zero++)
            holds((plan){.grid = "data=2,depth=2,row=2",
                         .zero = zero,
                         .optimizer = kind,
                         .dtype = zero ? HPC_BF16 : HPC_F32,
                         .prune = 0.8});
}

static lab *pruned_cube(int zero)
{
    return open_lab(&(plan){.grid = "data=2,depth=2,row=2",
                            .overlap = zero > 0,
                            .layers = 1,
                            .zero = zero,
                            .optimizer = HPC_OPT_ADAMW,
                            .dtype = zero ? HPC_BF16 : HPC_F32,
                            .prune = 0.8});
}

static void every_collective_of_a_pruned_step_is_needed(void **state)
{
    (void)state;
    for (int zero = 0; zero <= 1; zero++) every_collective_is_needed(pruned_cube, zero);
}

static hpc_value index_of(const lab *l, const char *tensor)
{
    char name[96];
    snprintf(name, sizeof name, "index.model.layers.0.self_attn.%s.weight", tensor);
    hpc_value v = hpc_program_find(l->serial, name);
    assert_true(v >= 0);
    return v;
}

static void elements_of_another_mask_are_found(void **state)
{
    (void)state;
    static const hpc_op *const op[] = {&hpc_op_pick, &hpc_op_spread};
    for (int k = 0; k < 2; k++) {
        lab *l = pruned_cube(k);
        place at = first_of(l, 0, op[k]);
        hpc_value q = index_of(l, "q_proj"), o = index_of(l, "o_proj");
        for (int r = 0; r < l->w.n; r++) {
            hpc_insn *i = insn_of(l, r, at);
            i->operand[2] = i->operand[2] == q ? o : q;
        }
        test_fails(prove(l), HPC_E_STATE, "operand index is index.model.layers.0.");
        close_lab(l);
        l = pruned_cube(k);
        is_found(l, l->io.update, &hpc_op_spread, remove_at,
                 "no rank does what one rank does in update[1] #");
    }
}

/* The index speaks of a part, and is itself no part of a part. */
static void an_index_of_other_parts_is_found(void **state)
{
    (void)state;
    lab *l = pruned_cube(0);
    hpc_value q = index_of(l, "q_proj");
    for (int r = 0; r < l->w.n; r++)
        l->program[r]->value[q].type.layout[HPC_AXIS_ROW] = HPC_REPLICATED;
    test_fails(prove(l), HPC_E_STATE, "q_proj.weight: its parts, each ");
    for (int r = 0; r < l->w.n; r++) {
        l->program[r]->value[q].type.layout[HPC_AXIS_ROW] = HPC_SPLIT(0);
        l->program[r]->value[q].type.layout[HPC_AXIS_DATA] = HPC_SPLIT(0);
    }
    test_fails(prove(l), HPC_E_STATE, "q_proj.weight: its parts, each ");
    close_lab(l);
}

/* A parameter that lies otherwise than the gradient of which its mask picks elements. */
static void a_mask_of_another_part_is_found(void **state)
{
    (void)state;
    lab *l = pruned_cube(0);
    place at = first_of(l, 0, &hpc_op_pick);
    const hpc_segment *s = &l->r.serial->segment[at.segment];
    for (int64_t k = 0; k < s->insn_n; k++)
        if (s->insn[k].op == &hpc_op_pick)
            ((hpc_pick_attr *)s->insn[k].attr)->layout[HPC_AXIS_ROW] = HPC_REPLICATED;
    test_fails(prove(l), HPC_E_STATE, "along row index.model.layers.0.");
    close_lab(l);
}

/* Elements that go together by place alone. */
static void elements_picked_otherwise_have_no_rule(void **state)
{
    (void)state;
    lab *l = pruned_cube(0);
    hpc_value v = hpc_program_find(l->serial, "master.model.layers.0.self_attn.k_proj.weight");
    assert_true(v >= 0);
    l->r.serial->value[v].type.picked = 1 + index_of(l, "v_proj");
    for (int r = 0; r < l->w.n; r++)
        l->program[r]->value[v].type.picked = 1 + index_of(l, "v_proj");
    test_fails(prove(l), HPC_E_UNSUPPORTED, "have no rule where others are picked otherwise");
    for (int64_t k = 0; k < l->r.serial->value_n; k++) l->r.serial->value[k].index = HPC_NONE;
    test_fails(prove(l), HPC_E_UNSUPPORTED, "have no rule where no tensor has it for its mask");
    close_lab(l);
}

/* An op without a rule is reported before a run and is not an error. Emitted steps have no such op,
 * so one is made here. Nothing is reported about ops with rules. */
static void what_has_no_rule_is_said(void **state)
{
    char unproven[160];
    (void)state;
    lab *l = pruned_cube(0);
    test_ok(hpc_step_prove(unproven, l->serial, &l->io, &l->parallel));
    assert_string_equal(unproven, "");
    hpc_value v = hpc_program_find(l->serial, "master.model.layers.0.self_attn.k_proj.weight");
    l->serial->value[v].type.picked = 1 + index_of(l, "v_proj");
    test_ok(hpc_step_prove(unproven, l->serial, &l->io, &l->parallel));
    assert_non_null(strstr(unproven, "elements picked by index.model.layers.0.self_attn."));
    assert_non_null(strstr(unproven, "have no rule where others are picked otherwise"));
    close_lab(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pruned_steps_are_proven),
        cmocka_unit_test(every_pruned_step_is_proven),
        cmocka_unit_test(every_collective_of_a_pruned_step_is_needed),
        cmocka_unit_test(elements_of_another_mask_are_found),
        cmocka_unit_test(an_index_of_other_parts_is_found),
        cmocka_unit_test(a_mask_of_another_part_is_found),
        cmocka_unit_test(elements_picked_otherwise_have_no_rule),
        cmocka_unit_test(what_has_no_rule_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
