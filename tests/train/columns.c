/*
 * columns.c: a trainer on grids with the axis col, alone and with all others, takes the steps of
 * one rank.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include <stdlib.h>

#include "tests/train/ranks.h"

/* Each pair of two axes' extents, and of an axis and a stage, is among the first. */
static const grid grids[] = {
    {1, 1, 1, 2, 0, false}, {1, 1, 2, 2, 0, false}, {2, 1, 1, 2, 1, false}, {2, 1, 2, 2, 3, false},
    {1, 2, 2, 2, 0, true},  {2, 2, 1, 2, 2, false}, {1, 1, 2, 4, 0, false}, {1, 1, 1, 4, 0, false},
    {1, 1, 4, 2, 0, false}, {1, 2, 1, 4, 0, false}, {2, 1, 1, 4, 2, false}, {4, 1, 1, 2, 3, false},
    {2, 2, 1, 2, 3, true},  {2, 1, 2, 2, 1, false}, {2, 1, 2, 2, 2, false}, {1, 2, 2, 2, 0, false},
    {2, 2, 1, 2, 0, false}, {1, 1, 1, 8, 0, false}};
enum { QUICK = 6 };

static size_t grids_n(void)
{
    return getenv("HPC_TEST_LONG") ? sizeof grids / sizeof *grids : QUICK;
}

/* On every `stride`th of the first, or on all. */
static void as_on_one(job *serial, hpc_dtype dtype, double bound, size_t stride)
{
    if (getenv("HPC_TEST_LONG"))
        stride = 1;
    else
        serial->steps = FEW;
    serial->o.model.dtype = dtype;
    run_job(serial);
    for (size_t g = stride - 1; g < grids_n(); g += stride) as_serial(serial, &grids[g], bound);
    hpc_free(serial);
}

/* Learned positions, biases, LayerNorm, GELU, the head tied to the embedding. */
static job *gpt(hpc_test_folder *f, int optimizer)
{
    job *j = start(f, optimizer, NULL);
    hpc_model_config *c = &j->o.model;
    c->kv_heads = c->heads, c->ffn = 64;
    c->norm = HPC_LAYER, c->position = HPC_LEARNED, c->act = HPC_GELU_TANH;
    c->gated = false, c->tied = true;
    c->qkv_bias = c->out_bias = c->mlp_bias = true;
    return j;
}

/* RMSNorm, SwiGLU, rotary positions, grouped queries, a head of its own. */
static job *llama(hpc_test_folder *f, int optimizer)
{
    job *j = start(f, optimizer, NULL);
    j->o.model.tied = false;
    return j;
}

static void gpt_in_double(void **state)
{
    job *j = gpt(*state, HPC_OPT_ADAMW);
    j->o.model.dropout = 0.2;
    as_on_one(j, HPC_F64, 1e-12, 1);
}

static void llama_in_double(void **state)
{
    job *j = llama(*state, HPC_OPT_ADAMW);
    j->o.accumulate = 2;
    as_on_one(j, HPC_F64, 1e-12, 1);
}

/* Norms of heads and around layers, alternating windows with a rotary base of their own, factors.
 */
static void alternating_in_double(void **state)
{
    job *j = llama(*state, HPC_OPT_ADAMW);
    hpc_model_config *c = &j->o.model;
    c->qk_norm = HPC_QK_BY_HEAD, c->norm_place = HPC_NORM_AROUND;
    c->window = 5, c->window_period = 2, c->rope.local_theta = 100;
    c->embed_scale = 4, c->residual_scale = 0.5, c->attention_scale = 0.3, c->logit_scale = 0.5;
    c->attention_cap = 2;
    as_on_one(j, HPC_F64, 1e-12, 1);
}

/* Norms of all of q and k, and after layers alone; layers without positions. */
static void normed_after_in_double(void **state)
{
    for (int kv = 1; kv <= 3; kv += 2) {
        job *j = llama(*state, HPC_OPT_ADAMW);
        hpc_model_config *c = &j->o.model;
        c->qk_norm = HPC_QK_WHOLE, c->norm_place = HPC_NORM_AFTER, c->rope_period = 2;
        c->heads = kv == 1 ? 4 : 12, c->kv_heads = kv, c->head_dim = 8;
        as_on_one(j, HPC_F64, 1e-12, 1);
    }
}

/* Heads of keys that row does not divide, biases among them: one for all, and three for two. */
static void repeated_keys(void **state)
{
    static const grid rows[] = {{1, 1, 2, 1, 0, false}, {2, 1, 2, 2, 3, false},
                                {1, 2, 2, 2, 0, true},  {1, 1, 4, 2, 0, false},
                                {2, 1, 4, 1, 2, false}, {2, 2, 2, 1, 1, false}};
    for (int kv = 1; kv <= 3; kv += 2) {
        job *j = llama(*state, HPC_OPT_SGD);
        j->o.model.heads = kv == 1 ? 4 : 12, j->o.model.kv_heads = kv;
        j->o.model.head_dim = 8, j->o.model.qkv_bias = true;
        j->o.model.dtype = HPC_F64;
        j->steps = FEW;
        run_job(j);
        size_t n = getenv("HPC_TEST_LONG") ? sizeof rows / sizeof *rows : 4;
        for (size_t g = kv / 2; g < n; g += 2) as_serial(j, &rows[g], 1e-12);
        hpc_free(j);
    }
}

/* Not by Adam, whose first steps are as long where a gradient is rounding alone. */
static void both_in_single(void **state)
{
    job *j = gpt(*state, HPC_OPT_SGD);
    j->o.model.dropout = 0.2;
    as_on_one(j, HPC_F32, 1e-5, 3);
    as_on_one(llama(*state, HPC_OPT_SGD), HPC_F32, 1e-5, 3);
}

static void recomputed(void **state)
{
    job *j = llama(*state, HPC_OPT_ADAMW);
    j->o.model.dropout = 0.2;
    j->o.step.recompute = HPC_RECOMPUTE_BLOCK;
    as_on_one(j, HPC_F64, 1e-12, 2);
}

static void classes(void **state)
{
    job *j = start(*state, HPC_OPT_ADAMW, "label");
    j->o.objective = HPC_OBJECTIVE_CLASSES;
    j->o.model.head = HPC_HEAD_CLASSES;
    j->o.model.classes = 3;
    as_on_one(j, HPC_F64, 1e-12, 3);
}

static void preconditioned(void **state)
{
    as_on_one(start(*state, HPC_OPT_MUON, NULL), HPC_F64, 1e-12, 2);
    as_on_one(start(*state, HPC_OPT_JORGE_NEWTON, NULL), HPC_F64, 1e-10, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gpt_in_double),
                                       cmocka_unit_test(llama_in_double),
                                       cmocka_unit_test(alternating_in_double),
                                       cmocka_unit_test(normed_after_in_double),
                                       cmocka_unit_test(repeated_keys),
                                       cmocka_unit_test(both_in_single),
                                       cmocka_unit_test(recomputed),
                                       cmocka_unit_test(classes),
                                       cmocka_unit_test(preconditioned)};
    return cmocka_run_group_tests_name("train/columns", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
