/*
 * prove.h: programs of a grid to prove, and faults to plant in them.
 */
#ifndef HPC_TESTS_TRAIN_PROVE_H
#define HPC_TESTS_TRAIN_PROVE_H

#include "tests/train/data.h"

#include "runtime/program/priv.h"
#include "train/proof.h"
#include "train/prune.h"

enum { MOST = 32 };

typedef struct lab { /* the programs of a grid */
    hpc_step io;
    hpc_parallel parallel;
    hpc_program *serial; /* as emitted */
    hpc_step_ranks r;
    hpc_program **program;
    hpc_prove w;
    hpc_masks *masks;
} lab;

typedef struct plan {
    const char *grid;
    int zero;
    bool keep_depth, tied, once, overlap;
    double dropout;
    int layers, kv_heads, optimizer, recompute, block;
    hpc_dtype dtype;
    bool gpt; /* layer norms, biases, no gate */
    bool sequence, unclipped, interlaced;
    int classes;  /* of a class head; 0: token head */
    bool adapted; /* adapters on two matrices of each block */
    double prune; /* fraction of zeros; 0: not pruned */
} plan;

static inline hpc_model_config model_of(const plan *x)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    c.vocab = 64;
    c.hidden = 32;
    c.layers = x->layers ? x->layers : 2;
    c.heads = 8;
    c.kv_heads = x->kv_heads ? x->kv_heads : 4;
    c.ffn = 48;
    c.positions = 16;
    c.tied = x->tied;
    c.dropout = x->dropout;
    c.dtype = x->dtype ? x->dtype : HPC_F32;
    if (x->classes) c.head = HPC_HEAD_CLASSES, c.classes = x->classes;
    if (x->adapted)
        c.adapter = (hpc_adapter_config){.rank = 2,
                                         .alpha = 4,
                                         .targets = 1u << HPC_PART_Q | 1u << HPC_PART_DOWN,
                                         .token_n = 3,
                                         .token = {3, 40, 41}};
    if (!x->gpt) return c;
    c.norm = HPC_LAYER, c.position = HPC_LEARNED, c.act = HPC_GELU_TANH, c.gated = false;
    c.kv_heads = c.heads, c.qkv_bias = c.out_bias = c.mlp_bias = true;
    return c;
}

static inline lab *open_lab(const plan *x)
{
    lab *l = hpc_alloc(1, sizeof *l);
    hpc_model_config c = model_of(x);
    hpc_optimizer_config o = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    assert_non_null(l);
    l->parallel.zero = x->zero;
    l->parallel.keep_depth = x->keep_depth;
    l->parallel.overlap = x->overlap;
    l->parallel.sequence = x->sequence;
    l->parallel.halves = x->overlap && !strstr(x->grid, "=4") && !x->classes;
    l->parallel.ahead = 1;
    l->parallel.bucket_bytes = 16 << 10;
    l->parallel.pipe.vocab = x->interlaced;
    test_ok(hpc_grid_parse(&l->parallel.grid, x->grid));
    test_ok(hpc_parallel_check(&l->parallel, &c, 16, 16));
    o.kind = x->optimizer;
    hpc_optimizer_usual(&o);
    if (x->block) o.block = x->block;
    hpc_step_options s = {.model = {.tokens = 256, .sequences = 16},
                          .clip = x->unclipped ? 0 : 1,
                          .once = x->once,
                          .recompute = x->recompute,
                          .parallel = &l->parallel};
    if (x->prune > 0) {
        hpc_prune_config prune = {.sparsity = x->prune, .asked = true};
        test_ok(hpc_masks_assume(&l->masks, &c, &prune));
        s.masks = l->masks;
    }
    l->serial = hpc_program_create();
    test_ok(hpc_step_emit(&l->io, l->serial, &c, &o, &s));
    test_ok(hpc_step_ranks_init(&l->r, l->serial, &l->io, &l->parallel, MOST));
    l->program = l->r.program;
    l->io = l->r.io;
    l->w = hpc_step_ranks_prove(&l->r);
    return l;
}

static inline void close_lab(lab *l)
{
    hpc_program_free(l->serial);
    hpc_step_ranks_release(&l->r);
    hpc_masks_free(l->masks);
    hpc_free(l);
}

static inline void holds(plan x)
{
    lab *l = open_lab(&x);
    hpc_proof order, proof;
    test_ok(hpc_prove_order(&order, &l->w));
    test_ok(hpc_prove_layouts(&proof, &l->w));
    assert_true(proof.instructions > 0);
    assert_int_equal(proof.collectives, order.collectives);
    close_lab(l);
}

/* ---- faults ------------------------------------------------------------------------------- */

typedef struct place { /* an instruction at the same place on all ranks */
    int segment;
    int64_t insn;
} place;

static inline hpc_insn *insn_of(const lab *l, int r, place at)
{
    return &l->program[r]->segment[at.segment].insn[at.insn];
}

/* The next instruction at or after `at` with that op in the first rank's program; false: none. */
static inline bool next_of(place *at, const lab *l, const hpc_op *op)
{
    const hpc_program *p = l->program[0];
    for (; at->segment < p->segment_n; at->segment++, at->insn = 0)
        for (; at->insn < p->segment[at->segment].insn_n; at->insn++)
            if (op ? insn_of(l, 0, *at)->op == op : insn_of(l, 0, *at)->op->comm >= 0) return true;
    return false;
}

static inline place first_of(const lab *l, int segment, const hpc_op *op)
{
    place at = {.segment = segment};
    assert_true(next_of(&at, l, op));
    return at;
}

/* Redirects readers of `from` after `at` to `to`. */
static inline void reroute(hpc_program *p, place at, hpc_value from, hpc_value to)
{
    for (int s = at.segment; s < p->segment_n; s++)
        for (int64_t k = s == at.segment ? at.insn + 1 : 0; k < p->segment[s].insn_n; k++) {
            hpc_insn *i = &p->segment[s].insn[k];
            for (int o = 0; o < i->op->sig.operand_n; o++)
                if (i->operand[o] == from && hpc_insn_role(p, i, o) == HPC_IN) i->operand[o] = to;
        }
}

static inline void remove_at(hpc_program *p, place at)
{
    hpc_segment *s = &p->segment[at.segment];
    memmove(&s->insn[at.insn], &s->insn[at.insn + 1],
            (size_t)(--s->insn_n - at.insn) * sizeof *s->insn);
}

static inline void drop(hpc_program *p, place at)
{
    const hpc_insn *i = &p->segment[at.segment].insn[at.insn];
    reroute(p, at, i->operand[0], i->operand[1]);
    remove_at(p, at);
}

/* Repeats the instruction on its output. */
static inline void repeat(hpc_program *p, place at)
{
    hpc_segment *s = &p->segment[at.segment];
    assert_int_equal(hpc_grow(&s->insn, &s->insn_cap, s->insn_n + 1, sizeof *s->insn), 0);
    hpc_insn i = s->insn[at.insn];
    hpc_value y = i.operand[0];
    hpc_value again = hpc_value_add(p, NULL, HPC_VALUE_TEMP, p->value[y].type);
    reroute(p, at, y, again);
    memmove(&s->insn[at.insn + 2], &s->insn[at.insn + 1],
            (size_t)(s->insn_n++ - at.insn - 1) * sizeof i);
    i.operand[0] = again;
    i.operand[1] = y;
    s->insn[at.insn + 1] = i;
}

static inline void turn(hpc_program *p, place at)
{
    hpc_comm_attr *c = p->segment[at.segment].insn[at.insn].attr;
    c->axes = c->axes == 1u << HPC_AXIS_ROW ? 1u << HPC_AXIS_DATA : 1u << HPC_AXIS_ROW;
}

/* Place of the first rank's instruction in another rank's program, which may lack earlier ones. */
static inline place there(const lab *l, int r, place at)
{
    const hpc_insn *i = insn_of(l, 0, at), *j;
    int64_t n = l->program[r]->segment[at.segment].insn_n;
    if (at.insn >= n) at.insn = n - 1;
    do {
        j = insn_of(l, r, at);
        if (j->op == i->op && memcmp(j->operand, i->operand, sizeof i->operand) == 0) return at;
    } while (at.insn-- > 0);
    fail_msg("rank %d has no such instruction", r);
    return at;
}

static inline void everywhere(lab *l, place at, void (*plant)(hpc_program *p, place at))
{
    for (int r = l->w.n - 1; r >= 0; r--) plant(l->program[r], there(l, r, at));
}

/* Runs the proofs like `plan check`; returns the first error. */
static inline int prove(const lab *l)
{
    hpc_proof proof;
    int rc = hpc_prove_order(&proof, &l->w);
    return rc < 0 ? rc : hpc_prove_layouts(&proof, &l->w);
}

/* Asserts that a fault planted in the first `op` of the segment, on all ranks, is found and
 * reported. */
static inline void is_found(lab *l, int segment, const hpc_op *op,
                            void (*plant)(hpc_program *p, place at), const char *says)
{
    everywhere(l, first_of(l, segment, op), plant);
    test_fails(prove(l), HPC_E_STATE, says);
    close_lab(l);
}

/* Asserts for each collective that the proof needs it. */
static inline void every_collective_is_needed(lab *(*make)(int zero), int zero)
{
    void (*const plant[])(hpc_program *, place) = {drop, repeat, turn};
    for (size_t f = 0; f < sizeof plant / sizeof *plant; f++) {
        int64_t n = 0, found = 0;
        for (place at = {0};; at.insn++) {
            lab *l = make(zero);
            bool more = next_of(&at, l, NULL);
            bool whole =
                more && l->program[0]->value[insn_of(l, 0, at)->operand[0]].kind == HPC_VALUE_STATE;
            if (more && (!whole || plant[f] == turn)) {
                everywhere(l, at, plant[f]);
                n++;
                found += prove(l) < 0;
                hpc_error_clear();
            }
            close_lab(l);
            if (!more) break;
        }
        assert_true(n > 30);
        assert_int_equal(found, n);
    }
}

#endif
