/*
 * tensor.c: the table of tensors: which tensors each kind of configuration has, that emission
 * makes exactly these, initial values, splits, and errors that name contradictions.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "model/emit.h"
#include "tests/support/values.h"

static hpc_model_config small(void)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    c.vocab = 61, c.hidden = 32, c.ffn = 48, c.positions = 64;
    return c;
}

/* One of each kind of thing that a configuration can say. */
enum { KINDS = 8 };
static hpc_model_config kind_at(int i)
{
    hpc_model_config c = small();
    if (i == 1) c.norm = HPC_LAYER, c.qkv_bias = c.out_bias = c.mlp_bias = true;
    if (i == 2) c.norm = HPC_LAYER, c.gated = false, c.mlp_bias = true, c.tied = true;
    if (i == 3) c.position = HPC_LEARNED, c.gated = false, c.parallel = true;
    if (i == 4) c.head_dim = 16, c.window = 5, c.qkv_bias = true;
    if (i == 5) c.head = HPC_HEAD_CLASSES, c.classes = 3;
    if (i == 6) c.head = HPC_HEAD_PAIRS, c.classes = 2, c.tied = true;
    if (i == 7)
        c.adapter = (hpc_adapter_config){.rank = 4,
                                         .alpha = 8,
                                         .targets = 1u << HPC_PART_Q | 1u << HPC_PART_O |
                                                    1u << HPC_PART_DOWN};
    return c;
}

static int64_t n_of(const hpc_model_tensor *t)
{
    return t->rank == 2 ? t->extent[0] * t->extent[1] : t->extent[0];
}

/* A program with its table; the caller frees both. */
static hpc_program *emit(hpc_model_tensor **list, int64_t *n, const hpc_model_config *c)
{
    hpc_model_io io;
    hpc_program *p = hpc_program_create();
    test_ok(hpc_model_emit(&io, p, c, &(hpc_model_emission){.tokens = 16, .sequences = 4}));
    test_ok(hpc_program_check(p));
    test_ok(hpc_model_tensors(list, n, c));
    return p;
}

static void emission_makes_the_table(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        hpc_model_config c = kind_at(i);
        hpc_model_tensor *list;
        int64_t n, params = 0, states = 0;
        hpc_program *p = emit(&list, &n, &c);
        for (int64_t k = 0; k < n; k++) {
            hpc_value v = hpc_program_find(p, list[k].name);
            assert_true(v >= 0);
            assert_int_equal(p->value[v].type.rank, list[k].rank);
            assert_int_equal(hpc_test_n(p, v), n_of(&list[k]));
            assert_int_equal(p->value[v].type.extent[0], list[k].extent[0]);
            assert_int_equal(p->value[v].trainable, list[k].trainable);
            params += n_of(&list[k]);
        }
        for (hpc_value v = 0; v < p->value_n; v++)
            states += p->value[v].kind == HPC_VALUE_STATE && strcmp(p->value[v].name, "rope.freq");
        assert_int_equal(states, n);
        assert_int_equal(hpc_model_config_params(&c), params);
        hpc_free(list);
        hpc_program_free(p);
    }
}

static void llama_is_in_the_order_of_the_forward_pass(void **state)
{
    static const char *const want[] = {"model.embed_tokens.weight",
                                       "model.layers.0.input_layernorm.weight",
                                       "model.layers.0.self_attn.q_proj.weight",
                                       "model.layers.0.self_attn.k_proj.weight",
                                       "model.layers.0.self_attn.v_proj.weight",
                                       "model.layers.0.self_attn.o_proj.weight",
                                       "model.layers.0.post_attention_layernorm.weight",
                                       "model.layers.0.mlp.gate_proj.weight",
                                       "model.layers.0.mlp.up_proj.weight",
                                       "model.layers.0.mlp.down_proj.weight",
                                       "model.norm.weight",
                                       "lm_head.weight"};
    (void)state;
    hpc_model_config c = small();
    hpc_model_tensor *list;
    int64_t n;
    c.layers = 1;
    test_ok(hpc_model_tensors(&list, &n, &c));
    assert_int_equal(n, sizeof want / sizeof *want);
    for (int64_t k = 0; k < n; k++) {
        assert_string_equal(list[k].name, want[k]);
        assert_int_equal(list[k].block, k > 0 && k < 10 ? 0 : -1);
        assert_int_equal(list[k].decay, list[k].rank == 2);
    }
    /* embedding and head, two products of attention, two narrow ones, three of the MLP, norms */
    assert_int_equal(hpc_model_config_params(&c),
                     2 * 61 * 32 + 2 * 32 * 32 + 2 * 16 * 32 + 3 * 48 * 32 + 3 * 32);
    hpc_free(list);
}

static const hpc_model_tensor *find(const hpc_model_tensor *list, int64_t n, int part, int block,
                                    int adapter)
{
    for (int64_t k = 0; k < n; k++)
        if (list[k].part == part && list[k].block == block && list[k].adapter == adapter)
            return &list[k];
    return NULL;
}

static void adapters_stand_beside_what_they_freeze(void **state)
{
    (void)state;
    hpc_model_config c = kind_at(7);
    hpc_model_tensor *list;
    int64_t n;
    test_ok(hpc_model_tensors(&list, &n, &c));
    const hpc_model_tensor *w = find(list, n, HPC_PART_DOWN, 1, 0), *a = w + 1, *b = w + 2;
    assert_string_equal(w->name, "model.layers.1.mlp.down_proj.weight");
    assert_string_equal(a->name, "model.layers.1.mlp.down_proj.lora_A.weight");
    assert_string_equal(b->name, "model.layers.1.mlp.down_proj.lora_B.weight");
    assert_true(a->extent[0] == 4 && a->extent[1] == 48 && a->init == HPC_INIT_NORMAL);
    assert_true(fabs(a->std - 1 / sqrt(3 * 48.0)) < 1e-12);
    assert_true(b->extent[0] == 32 && b->extent[1] == 4 && b->init == HPC_INIT_ZERO);
    assert_true(a->row == 1 && a->col == -1 && b->row == -1 && b->col == 0);
    assert_true(!w->trainable && a->trainable && b->trainable);
    assert_null(find(list, n, HPC_PART_K, 0, 1));
    assert_null(find(list, n, HPC_PART_EMBED, -1, 3));
    assert_false(find(list, n, HPC_PART_NORM, -1, 0)->trainable);
    hpc_free(list);
    c.head = HPC_HEAD_CLASSES, c.classes = 2;
    test_ok(hpc_model_tensors(&list, &n, &c));
    assert_true(find(list, n, HPC_PART_CLASSES, -1, 0)->trainable);
    hpc_free(list);
}

static void rows_of_tokens_are_trained_in_both_tables(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        hpc_model_config c = kind_at(7);
        hpc_model_tensor *list;
        int64_t n;
        c.tied = tied;
        c.adapter.token_n = 3;
        c.adapter.token[1] = 4, c.adapter.token[2] = 60;
        test_ok(hpc_model_tensors(&list, &n, &c));
        const hpc_model_tensor *rows = find(list, n, HPC_PART_EMBED, -1, 3);
        assert_string_equal(rows->name, "model.embed_tokens.lora_rows.weight");
        assert_true(rows->extent[0] == 3 && rows->extent[1] == 32 && rows->trainable);
        assert_true(rows->init == HPC_INIT_ZERO && !rows->decay && rows->row == -1);
        assert_false(find(list, n, HPC_PART_EMBED, -1, 0)->trainable);
        assert_int_equal(find(list, n, HPC_PART_HEAD, -1, 3) != NULL, !tied);
        hpc_free(list);
    }
}

static void layers_are_split_crosswise(void **state)
{
    (void)state;
    hpc_model_config c = kind_at(1);
    hpc_model_tensor *list;
    int64_t n;
    test_ok(hpc_model_tensors(&list, &n, &c));
    const struct {
        int part, block, row, col;
    } want[] = {{HPC_PART_EMBED, -1, 0, 0},     {HPC_PART_HEAD, -1, 0, 0},
                {HPC_PART_NORM1, 0, -1, 0},     {HPC_PART_Q, 0, 0, 1},
                {HPC_PART_K_BIAS, 0, 0, -1},    {HPC_PART_O, 0, 1, 0},
                {HPC_PART_O_BIAS, 0, -1, 0},    {HPC_PART_GATE, 0, 0, 1},
                {HPC_PART_GATE_BIAS, 0, 0, -1}, {HPC_PART_DOWN, 0, 1, 0}};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        const hpc_model_tensor *t = find(list, n, want[k].part, want[k].block, 0);
        assert_int_equal(t->row, want[k].row);
        assert_int_equal(t->col, want[k].col);
    }
    hpc_free(list);
}

static void first_values_are_those_of_any_piece(void **state)
{
    (void)state;
    hpc_model_config c = kind_at(1);
    hpc_model_tensor *list;
    int64_t n;
    float whole[61 * 32], other[61 * 32], piece[100];
    c.init_std = 0.5;
    test_ok(hpc_model_tensors(&list, &n, &c));
    hpc_model_init(whole, &list[0], 0, 61 * 32, 9);
    hpc_model_init(piece, &list[0], 777, 100, 9);
    assert_memory_equal(piece, whole + 777, sizeof piece);
    double sum = 0;
    for (int k = 0; k < 61 * 32; k++) sum += (double)whole[k] * whole[k];
    /* 1952 draws: the variance is within six of its standard deviations, sqrt(2 / 1952) */
    assert_true(fabs(sum / (61 * 32) - 0.25) < 0.25 * 6 * 0.032);
    hpc_model_init(other, &list[0], 0, 61 * 32, 10);
    assert_true(memcmp(whole, other, sizeof whole) != 0);
    const hpc_model_tensor *q0 = find(list, n, HPC_PART_Q, 0, 0),
                           *q1 = find(list, n, HPC_PART_Q, 1, 0);
    hpc_model_init(whole, q0, 0, 32 * 32, 9);
    hpc_model_init(other, q1, 0, 32 * 32, 9);
    assert_true(memcmp(whole, other, 32 * 32 * sizeof *whole) != 0);
    assert_true(fabs(find(list, n, HPC_PART_O, 0, 0)->std - 0.25) < 1e-12); /* two layers */
    hpc_model_init(piece, find(list, n, HPC_PART_NORM1, 0, 0), 0, 32, 9);
    hpc_model_init(other, find(list, n, HPC_PART_NORM1_BIAS, 0, 0), 0, 32, 9);
    for (int k = 0; k < 32; k++) assert_true(piece[k] == 1 && other[k] == 0);
    hpc_free(list);
}

static void operations_are_counted(void **state)
{
    (void)state;
    hpc_model_config c = small();
    double products = 2 * (2 * 32 * 32 + 2 * 16 * 32 + 3 * 48 * 32) + 61 * 32;
    assert_true(hpc_model_config_flops(&c, 10) == 6 * products + 12 * 2 * 32 * 5);
    c.tied = true; /* the product is still there */
    assert_true(hpc_model_config_flops(&c, 10) == 6 * products + 12 * 2 * 32 * 5);
    c.window = 4; /* 4 - 16 / 20 keys on average */
    assert_true(fabs(hpc_model_config_flops(&c, 10) - (6 * products + 12 * 2 * 32 * 3.2)) < 1e-6);
    c = kind_at(7); /* of A and B 6, of all others 4 */
    double adapters = 2 * 4 * (32 + 32 + 32 + 32 + 48 + 32);
    assert_true(hpc_model_config_flops(&c, 10) == 4 * products + 6 * adapters + 12 * 2 * 32 * 5);
}

static void contradictions_are_named(void **state)
{
    (void)state;
    hpc_model_config c = small();
#define REFUSED(change, code, text)                                                                \
    do {                                                                                           \
        c = small();                                                                               \
        change;                                                                                    \
        test_fails(hpc_model_config_check(&c), code, text);                                        \
    } while (0)
    REFUSED(c.layers = 0, HPC_E_ARG, "layers=0 is not between 1 and 32767");
    REFUSED(c.vocab = INT64_MAX, HPC_E_ARG, "vocab=9223372036854775807 is not between");
    REFUSED(c.hidden = 30, HPC_E_SHAPE, "hidden=30 is not a multiple of heads=4");
    REFUSED(c.kv_heads = 3, HPC_E_SHAPE, "heads=4 is not a multiple of kv-heads=3");
    REFUSED(c.head_dim = 1 << 21, HPC_E_SHAPE, "heads=4 times head-dim=2097152 exceeds");
    REFUSED(c.head_dim = 7, HPC_E_SHAPE, "head-dim=7 times rope share=1: 7 rotated elements");
    REFUSED(c.rope.share = 0.1, HPC_E_SHAPE, "head-dim=8 times rope share=0.1: 0 rotated elements");
    REFUSED(c.rope.theta = 0, HPC_E_ARG, "theta=0");
    REFUSED(c.rope.scaling = HPC_ROPE_LINEAR; c.rope.factor = 0, HPC_E_ARG, "factor=0");
    REFUSED(c.rope.scaling = HPC_ROPE_YARN, HPC_E_ARG, "rope original=0");
    REFUSED(c.rope.scaling = HPC_ROPE_LLAMA3; c.rope.original = 8; c.rope.low = 4;
            c.rope.high = 1, HPC_E_ARG, "low=4 must be between 0 and high=1");
    REFUSED(c.window = -1, HPC_E_ARG, "window=-1");
    REFUSED(c.act = HPC_ACT_NONE, HPC_E_ARG, "activation 0");
    REFUSED(c.norm_eps = NAN, HPC_E_ARG, "norm-eps=nan");
    REFUSED(c.dropout = 1, HPC_E_ARG, "dropout=1 must be in [0, 1)");
    REFUSED(c.dtype = HPC_I32, HPC_E_ARG, "dtype=i32");
    REFUSED(c.head = HPC_HEAD_PAIRS, HPC_E_ARG, "classes=0");
    REFUSED(c.adapter.rank = 2; c.adapter.alpha = 1, HPC_E_ARG, "rank 2 has no targets");
    REFUSED(c.gated = false;
            c.adapter =
                ((hpc_adapter_config){.rank = 2, .alpha = 1, .targets = 1u << HPC_PART_GATE}),
            HPC_E_ARG, "mlp.gate_proj.weight: this model has no such matrix");
    REFUSED(c.adapter.token_n = 1, HPC_E_ARG, "tokens to train need adapters");
    REFUSED(c.adapter = ((hpc_adapter_config){
                .rank = 2, .alpha = 1, .targets = 1u << HPC_PART_Q, .token_n = 2, .token = {5, 5}}),
            HPC_E_ARG, "token 5 to train: ids must ascend");
#undef REFUSED
    hpc_model_io io;
    hpc_program *p = hpc_program_create();
    c = small();
    c.head = HPC_HEAD_PAIRS, c.classes = 2;
    test_fails(hpc_model_emit(&io, p, &c, &(hpc_model_emission){.tokens = 9, .sequences = 3}),
               HPC_E_SHAPE, "3 sequences cannot form pairs");
    c.dtype = HPC_F16;
    test_fails(hpc_model_emit(&io, p, &c, &(hpc_model_emission){.tokens = 9, .sequences = 2}),
               HPC_E_UNSUPPORTED, "dtype=f16");
    hpc_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emission_makes_the_table),
        cmocka_unit_test(llama_is_in_the_order_of_the_forward_pass),
        cmocka_unit_test(adapters_stand_beside_what_they_freeze),
        cmocka_unit_test(rows_of_tokens_are_trained_in_both_tables),
        cmocka_unit_test(layers_are_split_crosswise),
        cmocka_unit_test(first_values_are_those_of_any_piece),
        cmocka_unit_test(operations_are_counted),
        cmocka_unit_test(contradictions_are_named),
    };
    return cmocka_run_group_tests_name("model/tensor", tests, NULL, NULL);
}
