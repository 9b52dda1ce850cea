/*
 * emit.c: emission beyond next-token models: class heads, adapters, dropout, tags. families.c
 * tests the families of transformers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "tests/support/model.h"

enum { VOCAB = 13, HIDDEN = 16, T = 20, DOCUMENTS = 4 };
static const int32_t lengths[DOCUMENTS] = {6, 3, 7, 4};
static const int32_t last[DOCUMENTS] = {5, 8, 15, 19};

static hpc_model_config small(void)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    c.vocab = VOCAB, c.hidden = HIDDEN, c.ffn = 24, c.heads = 4, c.kv_heads = 2;
    c.dtype = HPC_F64;
    return c;
}

static void feed(hpc_test_model *m)
{
    int32_t token[T];
    for (int i = 0; i < T; i++) token[i] = (int32_t)(hpc_random_bits(3, 0, 0, (uint64_t)i) % VOCAB);
    hpc_test_model_feed(m, token, lengths, DOCUMENTS);
}

static void set(hpc_test_model *m, const char *name, const double *x)
{
    hpc_value v = hpc_program_find(m->p, name);
    assert_true(v >= 0);
    hpc_test_write(m->e, 0, v, x);
}

static void get(hpc_test_model *m, const char *name, double *x)
{
    hpc_value v = hpc_program_find(m->p, name);
    assert_true(v >= 0);
    hpc_test_read(m->e, 0, v, x);
}

/* The logits of a head of tokens whose matrix is `head`. */
static void token_logits(double out[T][VOCAB], const double *head)
{
    hpc_test_model m;
    hpc_model_config c = small();
    hpc_test_model_open(&m, &c, T, DOCUMENTS, HPC_TEST_LOGITS);
    assert_true(m.io.targets < 0 && m.io.loss < 0 && m.io.classes < 0 && m.io.pooled < 0);
    hpc_test_model_draw(&m, 7, 0.3);
    set(&m, "lm_head.weight", head);
    feed(&m);
    hpc_test_model_step(&m, 1, 0);
    hpc_test_read(m.e, 0, m.io.logits, out[0]);
    hpc_test_model_close(&m);
}

static void a_class_is_told_by_the_last_token(void **state)
{
    (void)state;
    double head[VOCAB * HIDDEN], tokens[T][VOCAB], classes[DOCUMENTS][VOCAB], loss[DOCUMENTS];
    const int32_t want[DOCUMENTS] = {2, -1, 12, 0};
    hpc_test_model m;
    hpc_model_config c = small();
    hpc_test_draw(head, VOCAB * HIDDEN, 99, 0.3);
    token_logits(tokens, head);
    c.head = HPC_HEAD_CLASSES, c.classes = VOCAB;
    for (int logits = 0; logits < 2; logits++) {
        hpc_test_model_open(&m, &c, T, DOCUMENTS, logits ? HPC_TEST_LOGITS : HPC_TEST_LOSS);
        assert_true(m.io.targets < 0 && (m.io.classes < 0) == (logits == 1));
        hpc_test_model_draw(&m, 7, 0.3);
        set(&m, "score.weight", head);
        feed(&m);
        hpc_test_write_i32(m.e, 0, m.io.pooled, last);
        if (!logits) hpc_test_write_i32(m.e, 0, m.io.classes, want);
        hpc_test_model_step(&m, 1, 0);
        if (logits) hpc_test_read(m.e, 0, m.io.logits, classes[0]);
        if (!logits) hpc_test_read(m.e, 0, m.io.loss, loss);
        hpc_test_model_close(&m);
    }
    for (int s = 0; s < DOCUMENTS; s++) {
        double sum = 0;
        for (int k = 0; k < VOCAB; k++) {
            assert_true(fabs(classes[s][k] - tokens[last[s]][k]) < 1e-12);
            sum += exp(classes[s][k]);
        }
        double expected = want[s] < 0 ? 0 : log(sum) - classes[s][want[s]];
        assert_true(fabs(loss[s] - expected) < 1e-12);
    }
}

static void a_pair_is_told_by_both_last_tokens(void **state)
{
    (void)state;
    double a[VOCAB * HIDDEN], b[VOCAB * HIDDEN], both[VOCAB][2 * HIDDEN];
    double by_a[T][VOCAB], by_b[T][VOCAB], pairs[DOCUMENTS / 2][VOCAB];
    hpc_test_model m;
    hpc_model_config c = small();
    hpc_test_draw(a, VOCAB * HIDDEN, 98, 0.3);
    hpc_test_draw(b, VOCAB * HIDDEN, 97, 0.3);
    for (int k = 0; k < VOCAB; k++) {
        memcpy(both[k], a + k * HIDDEN, HIDDEN * sizeof *a);
        memcpy(both[k] + HIDDEN, b + k * HIDDEN, HIDDEN * sizeof *b);
    }
    token_logits(by_a, a);
    token_logits(by_b, b);
    c.head = HPC_HEAD_PAIRS, c.classes = VOCAB;
    hpc_test_model_open(&m, &c, T, DOCUMENTS, HPC_TEST_LOGITS);
    hpc_test_model_draw(&m, 7, 0.3);
    set(&m, "score.weight", both[0]);
    feed(&m);
    hpc_test_write_i32(m.e, 0, m.io.pooled, last);
    hpc_test_model_step(&m, 1, 0);
    hpc_test_read(m.e, 0, m.io.logits, pairs[0]);
    hpc_test_model_close(&m);
    for (int s = 0; s < DOCUMENTS / 2; s++)
        for (int k = 0; k < VOCAB; k++)
            assert_true(fabs(pairs[s][k] - by_a[last[2 * s]][k] - by_b[last[2 * s + 1]][k]) <
                        1e-12);
}

/* ---- adapters -------------------------------------------------------------------------------- */

static hpc_model_config adapted(void)
{
    hpc_model_config c = small();
    c.qkv_bias = c.out_bias = c.mlp_bias = true;
    c.adapter.rank = 3;
    c.adapter.alpha = 5;
    for (int part = HPC_PART_Q; part <= HPC_PART_DOWN; part++)
        if (part == HPC_PART_Q || part == HPC_PART_V || part == HPC_PART_O ||
            part == HPC_PART_GATE || part == HPC_PART_DOWN)
            c.adapter.targets |= 1u << part;
    return c;
}

/* w += (alpha / rank) B A, by hand. */
static void merge(hpc_test_model *plain, hpc_test_model *m, const hpc_model_tensor *t)
{
    double w[32 * 32], a[3 * 32], b[32 * 3];
    get(m, t[0].name, w);
    get(m, t[1].name, a);
    get(m, t[2].name, b);
    for (int64_t r = 0; r < t->extent[0]; r++)
        for (int64_t k = 0; k < t->extent[1]; k++)
            for (int64_t i = 0; i < 3; i++)
                w[r * t->extent[1] + k] += 5.0 / 3 * b[r * 3 + i] * a[i * t->extent[1] + k];
    set(plain, t->name, w);
}

static void adapters_add_their_product(void **state)
{
    (void)state;
    double with[T][VOCAB], merged[T][VOCAB], wide[VOCAB * HIDDEN * 2];
    hpc_test_model m, plain;
    hpc_model_config c = adapted();
    hpc_test_model_open(&m, &c, T, DOCUMENTS, HPC_TEST_LOGITS);
    c.adapter = (hpc_adapter_config){0};
    hpc_test_model_open(&plain, &c, T, DOCUMENTS, HPC_TEST_LOGITS);
    hpc_test_model_draw(&m, 7, 0.3);
    int merges = 0;
    for (int64_t k = 0; k < m.list_n; k++) {
        const hpc_model_tensor *t = &m.list[k];
        if (t->adapter) continue;
        bool targeted = k + 1 < m.list_n && t[1].adapter;
        merges += targeted;
        if (targeted) merge(&plain, &m, t);
        if (targeted) continue;
        get(&m, t->name, wide);
        set(&plain, t->name, wide);
    }
    assert_int_equal(merges, 5 * c.layers);
    feed(&m);
    feed(&plain);
    hpc_test_model_step(&m, 1, 0);
    hpc_test_model_step(&plain, 1, 0);
    hpc_test_read(m.e, 0, m.io.logits, with[0]);
    hpc_test_read(plain.e, 0, plain.io.logits, merged[0]);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < VOCAB; i++) assert_true(fabs(with[t][i] - merged[t][i]) < 1e-11);
    hpc_test_model_close(&m);
    hpc_test_model_close(&plain);
}

/* Along one drawn direction of everything that is trained, by central differences. */
static void gradients_are_slopes(hpc_test_model *m)
{
    double x[64 * 32], dx[64 * 32], grad[64 * 32], slope = 0, at[2];
    const double h = 1e-5;
    hpc_test_model_step(m, 1, 0);
    for (int64_t k = 0; k < m->list_n; k++) {
        hpc_value v = hpc_program_find(m->p, m->list[k].name);
        assert_int_equal(m->p->value[v].grad >= 0, m->list[k].trainable);
        if (!m->list[k].trainable) continue;
        hpc_test_read(m->e, 0, m->p->value[v].grad, grad);
        hpc_test_draw(dx, hpc_test_n(m->p, v), 500 + (uint32_t)k, 1);
        for (int64_t i = 0; i < hpc_test_n(m->p, v); i++) slope += dx[i] * grad[i];
    }
    for (int way = 0; way < 2; way++) {
        double by = way ? -2 * h : h;
        for (int64_t k = 0; k < m->list_n; k++) {
            hpc_value v = hpc_program_find(m->p, m->list[k].name);
            if (!m->list[k].trainable) continue;
            hpc_test_read(m->e, 0, v, x);
            hpc_test_draw(dx, hpc_test_n(m->p, v), 500 + (uint32_t)k, 1);
            for (int64_t i = 0; i < hpc_test_n(m->p, v); i++) x[i] += by * dx[i];
            hpc_test_write(m->e, 0, v, x);
        }
        at[way] = hpc_test_model_step(m, 1, 0);
    }
    /* h^2 times a third derivative that is below 1e3 here, and rounding / h */
    assert_true(fabs((at[0] - at[1]) / (2 * h) - slope) < 1e-6 * (1 + fabs(slope)));
    assert_true(fabs(slope) > 1e-3);
}

static void what_an_adapter_trains_has_its_gradient(void **state)
{
    (void)state;
    hpc_test_model m;
    hpc_model_config c = adapted();
    hpc_test_model_open(&m, &c, T, DOCUMENTS, HPC_TEST_GRADIENT);
    hpc_test_model_draw(&m, 7, 0.3);
    feed(&m);
    gradients_are_slopes(&m);
    hpc_test_model_close(&m);
}

/* Changes of the rows of some tokens, in the embedding and in a head of its own or the same. */
static void trained_rows_have_their_gradient(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        const int32_t tokens[] = {1, 2, VOCAB - 1};
        hpc_test_model m;
        hpc_model_config c = adapted();
        c.tied = tied;
        c.adapter.token_n = 3;
        memcpy(c.adapter.token, tokens, sizeof tokens);
        hpc_test_model_open(&m, &c, T, DOCUMENTS, HPC_TEST_GRADIENT);
        hpc_test_model_draw(&m, 7, 0.3);
        feed(&m);
        hpc_test_write_i32(m.e, 0, m.io.token_rows, tokens);
        gradients_are_slopes(&m);
        hpc_test_model_close(&m);
    }
}

/* A row with its change is the row of the same model whose table has the sum. */
static void changes_of_rows_are_added(void **state)
{
    (void)state;
    const int32_t tokens[] = {1, VOCAB - 1};
    double with[T][VOCAB], merged[T][VOCAB], wide[VOCAB * HIDDEN * 2], rows[2][HIDDEN];
    hpc_test_model m, plain;
    hpc_model_config c = adapted();
    c.tied = true;
    hpc_test_model_open(&plain, &c, T, DOCUMENTS, HPC_TEST_LOGITS);
    c.adapter.token_n = 2;
    memcpy(c.adapter.token, tokens, sizeof tokens);
    hpc_test_model_open(&m, &c, T, DOCUMENTS, HPC_TEST_LOGITS);
    hpc_test_model_draw(&m, 7, 0.3);
    for (int64_t k = 0; k < m.list_n; k++) {
        if (m.list[k].adapter == 3) continue;
        get(&m, m.list[k].name, wide);
        set(&plain, m.list[k].name, wide);
    }
    get(&m, "model.embed_tokens.lora_rows.weight", rows[0]);
    get(&m, "model.embed_tokens.weight", wide);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < HIDDEN; i++) wide[tokens[k] * HIDDEN + i] += rows[k][i];
    set(&plain, "model.embed_tokens.weight", wide);
    feed(&m);
    feed(&plain);
    hpc_test_write_i32(m.e, 0, m.io.token_rows, tokens);
    hpc_test_model_step(&m, 1, 0);
    hpc_test_model_step(&plain, 1, 0);
    hpc_test_read(m.e, 0, m.io.logits, with[0]);
    hpc_test_read(plain.e, 0, plain.io.logits, merged[0]);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < VOCAB; i++) assert_true(fabs(with[t][i] - merged[t][i]) < 1e-11);
    hpc_test_model_close(&m);
    hpc_test_model_close(&plain);
}

static void class_heads_have_their_gradient(void **state)
{
    (void)state;
    for (int kind = HPC_HEAD_CLASSES; kind <= HPC_HEAD_PAIRS; kind++)
        for (int adapters = 0; adapters < 2; adapters++) {
            const int32_t want[DOCUMENTS] = {2, 0, 1, 1};
            hpc_test_model m;
            hpc_model_config c = adapters ? adapted() : small();
            c.head = kind, c.classes = 3;
            hpc_test_model_open(&m, &c, T, DOCUMENTS, HPC_TEST_GRADIENT);
            hpc_test_model_draw(&m, 7, 0.3);
            feed(&m);
            hpc_test_write_i32(m.e, 0, m.io.pooled, last);
            hpc_test_write_i32(m.e, 0, m.io.classes, want);
            gradients_are_slopes(&m);
            hpc_test_model_close(&m);
        }
}

/* ---- narrow numbers ------------------------------------------------------------------------- */

/* About sixty roundings of 2^-9 one after the other, those of the parameters included, of numbers
 * that are at most as large as what they are compared with. */
static void bf16_is_near(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        double wide[T][VOCAB], narrow[T][VOCAB], most = 0, apart = 0;
        hpc_model_config c = kind ? adapted() : small();
        if (kind) c.norm = HPC_LAYER, c.position = HPC_LEARNED, c.positions = 8;
        for (int k = 0; k < 2; k++) {
            hpc_test_model m;
            c.dtype = k ? HPC_BF16 : HPC_F64;
            hpc_test_model_open(&m, &c, T, DOCUMENTS, HPC_TEST_LOGITS);
            assert_int_equal(m.p->value[m.io.logits].type.dtype, c.dtype);
            hpc_test_model_draw(&m, 7, 0.3);
            feed(&m);
            hpc_test_model_step(&m, 1, 0);
            hpc_test_read(m.e, 0, m.io.logits, k ? narrow[0] : wide[0]);
            hpc_test_model_close(&m);
        }
        for (int t = 0; t < T; t++)
            for (int i = 0; i < VOCAB; i++) {
                apart = fmax(apart, fabs(narrow[t][i] - wide[t][i]));
                most = fmax(most, fabs(wide[t][i]));
            }
        assert_true(apart > 0 && apart < 60 * 0x1p-9 * most);
    }
}

/* ---- dropout and tags ----------------------------------------------------------------------- */

static void dropout_has_its_places(void **state)
{
    (void)state;
    hpc_model_io io;
    hpc_model_config c = small();
    hpc_program *p = hpc_program_create();
    bool seen[8] = {0};
    int n = 0;
    c.dropout = 0.25;
    c.layers = 3;
    test_ok(
        hpc_model_emit(&io, p, &c, &(hpc_model_emission){.tokens = T, .sequences = 2, .seed = 9}));
    const hpc_segment *s = &p->segment[io.forward];
    for (int64_t k = 0; k < s->insn_n; k++) {
        if (s->insn[k].op != &hpc_op_dropout) continue;
        const hpc_dropout_attr *a = s->insn[k].attr;
        assert_int_equal(a->seed, 9);
        assert_true(a->p == 0.25 && a->tensor >= 0 && a->tensor < 7 && !seen[a->tensor]);
        assert_int_equal(s->insn[k].tags.block, a->tensor == 0 ? -1 : (a->tensor - 1) / 2);
        seen[a->tensor] = true;
        n++;
    }
    assert_int_equal(n, 1 + 2 * 3);
    hpc_program_free(p);
}

static void instructions_know_their_block(void **state)
{
    (void)state;
    hpc_model_io io;
    hpc_model_config c = small();
    hpc_program *p = hpc_program_create();
    int64_t in[4] = {0};
    int at = 0; /* 0: before the blocks, 1 and 2: in one, 3: after them */
    test_ok(hpc_model_emit(&io, p, &c, &(hpc_model_emission){.tokens = T, .sequences = 2}));
    const hpc_segment *s = &p->segment[io.forward];
    for (int64_t k = 0; k < s->insn_n; k++) {
        int block = s->insn[k].tags.block;
        int now = block >= 0 ? block + 1 : at == 0 ? 0 : 3;
        assert_true(now == at || now == at + 1);
        at = now;
        in[at]++;
    }
    assert_int_equal(in[0], 1); /* gather */
    assert_int_equal(in[1], in[2]);
    assert_int_equal(in[3], 2); /* norm, loss */
    hpc_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_is_told_by_the_last_token),
        cmocka_unit_test(a_pair_is_told_by_both_last_tokens),
        cmocka_unit_test(adapters_add_their_product),
        cmocka_unit_test(what_an_adapter_trains_has_its_gradient),
        cmocka_unit_test(trained_rows_have_their_gradient),
        cmocka_unit_test(changes_of_rows_are_added),
        cmocka_unit_test(class_heads_have_their_gradient),
        cmocka_unit_test(bf16_is_near),
        cmocka_unit_test(dropout_has_its_places),
        cmocka_unit_test(instructions_know_their_block),
    };
    return cmocka_run_group_tests_name("model/emit", tests, NULL, NULL);
}
