/*
 * stages.c: proofs of a pipeline's stages, and faults that they find; balance of stages.
 */
/* tsan: left out, one thread. */
#include "tests/train/prove.h"

#include "train/update_priv.h"

enum { RANKS = 2 };

typedef struct cut { /* stages of a step, as hpc_step_prove_stages has them */
    lab *l;
    hpc_program *whole[RANKS], *stage[RANKS]; /* before and after the cut */
    int moved[HPC_STEP_SEGMENTS];
    hpc_step io; /* of the last stage */
} cut;

static cut *open_cut(const plan *x)
{
    cut *c = hpc_alloc(1, sizeof *c);
    assert_non_null(c);
    c->l = open_lab(x);
    for (int k = 0; k < RANKS; k++) {
        int coord[HPC_AXIS_N] = {[HPC_AXIS_PIPE] = k};
        c->io = c->l->io;
        c->whole[k] = hpc_program_copy(c->l->serial);
        assert_non_null(c->whole[k]);
        test_ok(hpc_step_shard_whole(&c->io, c->whole[k], &c->l->parallel, coord, true));
        c->stage[k] = hpc_program_copy(c->whole[k]);
        assert_non_null(c->stage[k]);
        test_ok(hpc_step_cut(&c->io, c->stage[k], k, c->moved));
    }
    return c;
}

static void close_cut(cut *c)
{
    for (int k = 0; k < RANKS; k++) {
        hpc_program_free(c->whole[k]);
        hpc_program_free(c->stage[k]);
    }
    close_lab(c->l);
    hpc_free(c);
}

static int prove_cut(const cut *c)
{
    hpc_proof proof;
    return hpc_prove_stages_of(&proof,
                               &(hpc_prove_stages){.whole = (const hpc_program *const *)c->whole,
                                                   .program = (const hpc_program *const *)c->stage,
                                                   .ranks = RANKS,
                                                   .chunks = c->io.stage.chunks,
                                                   .interlaced = c->io.stage.interlaced,
                                                   .forward = c->l->io.model.forward,
                                                   .backward = c->l->io.backward,
                                                   .moved = c->moved});
}

static cut *plain(void)
{
    return open_cut(&(plan){.grid = "pipe=2", .layers = 4, .optimizer = HPC_OPT_ADAMW});
}

static void stages_of_every_step_are_proven(void **state)
{
    static const char *const grid[] = {"pipe=2", "data=2,pipe=2", "pipe=2,row=2", "pipe=2,depth=2"};
    (void)state;
    for (size_t k = 0; k < 2 * sizeof grid / sizeof *grid; k++)
        for (int tied = 0; tied < 2; tied++) {
            plan x = {.grid = grid[k % 4],
                      .zero = (int)k % 4,
                      .tied = tied,
                      .interlaced = k >= 4,
                      .dropout = 0.1,
                      .recompute = tied ? HPC_RECOMPUTE_BLOCK : HPC_RECOMPUTE_NONE,
                      .optimizer = tied ? HPC_OPT_ADAMW : HPC_OPT_JORGE_NEWTON};
            cut *c = open_cut(&x);
            hpc_proof proof;
            test_ok(prove_cut(c));
            test_ok(hpc_prove_order(&proof, &c->l->w));
            test_ok(hpc_prove_layouts(&proof, &c->l->w));
            assert_true(proof.instructions > 0);
            close_cut(c);
        }
}

/* The first instruction with the op in a stage's segment. */
static hpc_insn *find(const cut *c, int stage, int segment, const hpc_op *op)
{
    hpc_segment *s = &c->stage[stage]->segment[segment];
    for (int64_t k = 0; k < s->insn_n; k++)
        if (s->insn[k].op == op) return &s->insn[k];
    fail();
    return NULL;
}

static void leave_out(const cut *c, int stage, int segment, const hpc_insn *i)
{
    hpc_segment *s = &c->stage[stage]->segment[segment];
    int64_t k = i - s->insn;
    memmove(s->insn + k, s->insn + k + 1, (size_t)(s->insn_n - k - 1) * sizeof *s->insn);
    s->insn_n--;
}

static void a_dropped_message_is_found(void **state)
{
    (void)state;
    cut *c = plain();
    leave_out(c, 0, c->io.model.forward, find(c, 0, c->io.model.forward, &hpc_op_send));
    test_fails(prove_cut(c), HPC_E_STATE, "which no stage has sent by then");
    close_cut(c);
    c = plain();
    leave_out(c, 1, c->io.model.forward, find(c, 1, c->io.model.forward, &hpc_op_recv));
    test_fails(prove_cut(c), HPC_E_STATE, "which it neither computes nor receives");
    close_cut(c);
}

static void a_crossed_message_is_found(void **state)
{
    (void)state;
    cut *c = plain();
    hpc_insn *send = find(c, 0, c->io.model.forward, &hpc_op_send);
    send->operand[0] = send[-1].operand[2]; /* an input of what makes the stream */
    test_fails(prove_cut(c), HPC_E_STATE, "stage 1 receives %");
    close_cut(c);
}

static void a_doubled_message_is_found(void **state)
{
    (void)state;
    cut *c = plain();
    hpc_segment *back = &c->stage[1]->segment[c->io.backward];
    hpc_insn send = *find(c, 1, c->io.backward, &hpc_op_send);
    assert_int_equal(hpc_grow(&back->insn, &back->insn_cap, back->insn_n + 1, sizeof send), HPC_OK);
    back->insn[back->insn_n++] = send;
    test_fails(prove_cut(c), HPC_E_STATE, "as it has sent");
    close_cut(c);
    c = plain();
    hpc_insn *recv = find(c, 0, c->io.backward, &hpc_op_recv);
    recv[1] = *recv;
    test_fails(prove_cut(c), HPC_E_STATE, "receives edge 0 of stage 1 twice");
    close_cut(c);
}

static void work_that_is_missing_or_twice_is_found(void **state)
{
    (void)state;
    cut *c = plain();
    leave_out(c, 1, c->io.update, &c->stage[1]->segment[c->io.update].insn[0]);
    test_fails(prove_cut(c), HPC_E_STATE, "stage ");
    close_cut(c);
    c = open_cut(&(plan){.grid = "pipe=2", .tied = true, .optimizer = HPC_OPT_ADAMW});
    hpc_segment *norm = &c->stage[1]->segment[c->io.norm];
    const hpc_segment *first = &c->stage[0]->segment[c->io.norm];
    for (int64_t k = 0; k < first->insn_n; k++) /* the tied table's squares, on both stages */
        if (first->insn[k].op == &hpc_op_reduce) {
            norm->insn[norm->insn_n - 1] = first->insn[k];
            break;
        }
    test_fails(prove_cut(c), HPC_E_STATE, "stage 1");
    close_cut(c);
}

/* ---- a vocabulary with parts on all ranks ---------------------------------------------------- */

static cut *interlaced(bool tied)
{
    return open_cut(&(plan){.grid = "pipe=2",
                            .layers = 4,
                            .tied = tied,
                            .interlaced = true,
                            .optimizer = HPC_OPT_ADAMW});
}

/* Learned positions, a class head, which is whole on the last stage, and two axes more. */
static void shared_segments_of_other_models_are_proven(void **state)
{
    static const plan each[] = {
        {.grid = "pipe=2,row=2", .gpt = true, .tied = true, .sequence = true, .interlaced = true},
        {.grid = "pipe=2", .classes = 3, .interlaced = true},
        {.grid = "data=2,pipe=2,row=2", .zero = 3, .overlap = true, .interlaced = true},
        {.grid = "depth=2,pipe=2,col=2", .dropout = 0.1, .interlaced = true},
        {.grid = "pipe=2", .prune = 0.5, .interlaced = true}};
    (void)state;
    for (size_t k = 0; k < sizeof each / sizeof *each; k++) {
        plan x = each[k];
        x.optimizer = HPC_OPT_ADAMW;
        x.layers = 4;
        cut *c = open_cut(&x);
        hpc_proof proof;
        test_ok(prove_cut(c));
        test_ok(hpc_prove_order(&proof, &c->l->w));
        test_ok(hpc_prove_layouts(&proof, &c->l->w));
        close_cut(c);
    }
}

static void shared_work_that_a_rank_omits_is_found(void **state)
{
    (void)state;
    cut *c = interlaced(true);
    int embed = hpc_stage_embed(&c->io.stage), head = hpc_stage_head(&c->io.stage);
    leave_out(c, 1, embed, find(c, 1, embed, &hpc_op_all_reduce));
    test_fails(prove_cut(c), HPC_E_STATE, "stage 1 does not start it, and others wait for it");
    close_cut(c);
    c = interlaced(true);
    leave_out(c, 0, head, find(c, 0, head, &hpc_op_recv));
    test_fails(prove_cut(c), HPC_E_STATE, "which it neither computes nor receives");
    close_cut(c);
    c = interlaced(false);
    int table = hpc_stage_table(&c->io.stage);
    hpc_segment *s = &c->stage[1]->segment[table];
    leave_out(c, 1, table, &s->insn[s->insn_n - 1]);
    test_fails(prove_cut(c), HPC_E_STATE, "stage 1 holds grad.");
    close_cut(c);
}

static void a_crossed_collective_is_found(void **state)
{
    (void)state;
    cut *c = interlaced(true);
    int head = hpc_stage_head(&c->io.stage);
    hpc_segment *s = &c->stage[1]->segment[head];
    int64_t a = find(c, 1, head, &hpc_op_all_reduce) - s->insn, b = a + 1;
    while (s->insn[b].op != &hpc_op_all_reduce) b++;
    hpc_insn first = s->insn[a];
    s->insn[a] = s->insn[b];
    s->insn[b] = first;
    test_fails(prove_cut(c), HPC_E_STATE, "head #");
    close_cut(c);
}

/* Ranks other than the first run "embed" in a slot of its own, so nothing of it is left. */
static void a_value_of_another_slot_is_found(void **state)
{
    (void)state;
    cut *c = interlaced(true);
    const hpc_insn *sum = find(c, 1, hpc_stage_embed(&c->io.stage), &hpc_op_all_reduce);
    hpc_insn *recv = find(c, 1, c->io.stage.forward, &hpc_op_recv);
    recv[1].operand[2] = sum->operand[0];
    test_fails(prove_cut(c), HPC_E_STATE, "which it neither computes nor receives");
    close_cut(c);
}

static void blocks_are_balanced_by_cost(void **state)
{
    (void)state;
    cut *c = plain();
    int first[3];
    test_ok(hpc_stage_balance(first, 2, c->l->serial, c->l->io.model.forward, c->l->io.backward));
    assert_true(first[0] == 0 && first[1] == 2);
    test_ok(hpc_stage_balance(first, 3, c->l->serial, c->l->io.model.forward, c->l->io.backward));
    assert_true(first[0] == 0 && first[1] > 0 && first[2] > first[1] && first[2] < 4);
    close_cut(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stages_of_every_step_are_proven),
                                       cmocka_unit_test(a_dropped_message_is_found),
                                       cmocka_unit_test(a_crossed_message_is_found),
                                       cmocka_unit_test(a_doubled_message_is_found),
                                       cmocka_unit_test(work_that_is_missing_or_twice_is_found),
                                       cmocka_unit_test(shared_segments_of_other_models_are_proven),
                                       cmocka_unit_test(shared_work_that_a_rank_omits_is_found),
                                       cmocka_unit_test(a_crossed_collective_is_found),
                                       cmocka_unit_test(a_value_of_another_slot_is_found),
                                       cmocka_unit_test(blocks_are_balanced_by_cost)};
    return cmocka_run_group_tests_name("train/stages", tests, NULL, NULL);
}
