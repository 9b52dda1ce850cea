/*
 * serve.c: the inference program: prompts and single tokens over a paged cache give the forward
 * program's logits, with the same bits in any batch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "model/serve.h"
#include "tests/support/model.h"

enum {
    VOCAB = 40,
    T = 20, /* tokens of all documents */
    DOCUMENTS = 3,
    LONGEST = 9,
    PAGE = 4,
    PAGES = 9,
    SEQUENCE_PAGES = 3
};
static const int32_t lengths[DOCUMENTS] = {6, 9, 5};
/* Pages of each document, in no order and with neighbours of others. */
static const int32_t pages[DOCUMENTS][SEQUENCE_PAGES] = {{7, 2, 0}, {1, 8, 3}, {4, 6, 5}};

static hpc_dtype matrices; /* their type */

static hpc_dtype type_of(const hpc_model_tensor *t, const void *user)
{
    (void)t;
    (void)user;
    return matrices;
}

static hpc_model_config llama(void)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    c.vocab = VOCAB, c.hidden = 64, c.ffn = 96, c.heads = 4, c.kv_heads = 2, c.positions = 16;
    return c;
}

static hpc_model_config other(void)
{
    hpc_model_config c = llama();
    c.norm = HPC_LAYER, c.position = HPC_LEARNED, c.gated = false, c.act = HPC_GELU_TANH;
    c.qkv_bias = c.out_bias = c.mlp_bias = c.tied = c.parallel = true;
    c.kv_heads = 4;
    return c;
}

static int32_t token_at(int document, int at)
{
    return (int32_t)(hpc_random_bits(3, 0, (uint32_t)document, (uint64_t)at) % VOCAB);
}

/* ---- the model and its reference ------------------------------------------------------------- */

typedef struct served {
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
    hpc_serve_io io;
} served;

static void write_floats(const served *s, hpc_value v, const double *x, int64_t n)
{
    const hpc_type *t = &s->p->value[v].type;
    float *narrow = hpc_alloc((size_t)n, sizeof *narrow);
    void *bytes = hpc_alloc_aligned(hpc_type_bytes(t), 1, HPC_ALIGN);
    for (int64_t i = 0; i < n; i++) narrow[i] = (float)x[i];
    test_ok(hpc_serve_pack(bytes, t, narrow));
    test_ok(hpc_exec_write(s->e, 0, v, bytes, hpc_type_bytes(t)));
    hpc_free(bytes);
    hpc_free(narrow);
}

/* The parameters of m, and the head of a tied one, as the program wants them. */
static void copy_parameters(const served *s, hpc_test_model *m)
{
    for (int64_t k = 0; k < m->list_n; k++) {
        const hpc_model_tensor *t = &m->list[k];
        int64_t n = hpc_test_model_tensor_n(t);
        double *x = hpc_alloc((size_t)n, sizeof *x);
        hpc_test_read(m->e, 0, hpc_program_find(m->p, t->name), x);
        write_floats(s, hpc_program_find(s->p, t->name), x, n);
        hpc_free(x);
    }
    if (s->io.freq < 0) return;
    double freq[16];
    float f[16];
    hpc_rope_frequencies(f, &m->c);
    for (int64_t k = 0; k < hpc_rope_frequencies_n(&m->c); k++) freq[k] = f[k];
    hpc_test_write(s->e, 0, s->io.freq, freq);
}

static hpc_serve_emission usual(void)
{
    return (hpc_serve_emission){.tokens = T,
                                .sequences = DOCUMENTS,
                                .outputs = T,
                                .pages = PAGES,
                                .page = PAGE,
                                .sequence_pages = SEQUENCE_PAGES,
                                .cache = HPC_F32,
                                .dtype = type_of};
}

static void open_served(served *s, hpc_test_model *m, const hpc_model_config *c, int threads)
{
    hpc_serve_emission e = usual();
    hpc_device_options o = {.threads = threads};
    s->p = hpc_program_create();
    test_ok(hpc_serve_emit(&s->io, s->p, c, &e));
    test_ok(hpc_program_check(s->p));
    test_ok(hpc_device_open(&s->d, &o));
    test_ok(hpc_exec_open(&s->e, s->p, s->d, NULL, NULL));
    copy_parameters(s, m);
}

static void close_served(served *s)
{
    hpc_exec_close(s->e);
    hpc_program_free(s->p);
    hpc_device_close(s->d);
}

/* Matrices as they come back from their type, so that all that differs is how they are multiplied.
 */
static void round_matrices(hpc_test_model *m)
{
    for (int64_t k = 0; k < m->list_n; k++) {
        const hpc_model_tensor *t = &m->list[k];
        if (t->rank < 2) continue;
        int64_t n = hpc_test_model_tensor_n(t);
        hpc_value v = hpc_program_find(m->p, t->name);
        double *x = hpc_alloc((size_t)n, sizeof *x);
        float *narrow = hpc_alloc((size_t)n, sizeof *narrow);
        void *bytes = hpc_alloc((size_t)n, sizeof(float));
        hpc_test_read(m->e, 0, v, x);
        for (int64_t i = 0; i < n; i++) narrow[i] = (float)x[i];
        hpc_from_f32(bytes, matrices, narrow, n);
        hpc_to_f32(narrow, bytes, matrices, n);
        for (int64_t i = 0; i < n; i++) x[i] = narrow[i];
        hpc_test_write(m->e, 0, v, x);
        hpc_free(bytes);
        hpc_free(narrow);
        hpc_free(x);
    }
}

/* The forward program, in double. */
static void forward(hpc_test_model *m, const hpc_model_config *c, double logits[T][VOCAB])
{
    hpc_model_config wide = *c;
    int32_t token[T];
    int n = 0;
    for (int s = 0; s < DOCUMENTS; s++)
        for (int i = 0; i < lengths[s]; i++) token[n++] = token_at(s, i);
    wide.dtype = HPC_F64;
    hpc_test_model_open(m, &wide, T, DOCUMENTS, HPC_TEST_LOGITS);
    hpc_test_model_draw(m, 7, 0.1);
    round_matrices(m);
    hpc_test_model_feed(m, token, lengths, DOCUMENTS);
    hpc_test_model_step(m, 1, 0);
    hpc_test_read(m->e, 0, m->io.logits, logits[0]);
}

/* ---- runs ----------------------------------------------------------------------------------- */

typedef struct piece { /* tokens first .. first+n-1 of a document */
    int document, first, n;
} piece;

static int row_of(int document, int at)
{
    for (int s = 0; s < document; s++) at += lengths[s];
    return at;
}

/* One run over the pieces; their logits go to the documents' rows. */
static void run(const served *s, const piece *part, int parts, float logits[T][VOCAB])
{
    int32_t token[T] = {0}, pos[T] = {0}, slot[T] = {0}, output[T] = {0};
    int32_t start[DOCUMENTS + 1] = {0}, len[DOCUMENTS] = {0}, n = 0, row[T];
    int32_t table[DOCUMENTS][SEQUENCE_PAGES] = {{0}};
    float out[T][VOCAB];
    for (int k = 0; k < parts; k++) {
        const piece *p = &part[k];
        for (int i = p->first; i < p->first + p->n; i++, n++) {
            token[n] = token_at(p->document, i);
            pos[n] = i;
            slot[n] = pages[p->document][i / PAGE] * PAGE + i % PAGE;
            output[n] = n;
            row[n] = row_of(p->document, i);
        }
        start[k + 1] = n;
        len[k] = p->first + p->n;
        memcpy(table[k], pages[p->document], sizeof table[k]);
    }
    hpc_test_write_i32(s->e, 0, s->io.tokens, token);
    hpc_test_write_i32(s->e, 0, s->io.pos, pos);
    hpc_test_write_i32(s->e, 0, s->io.slot, slot);
    hpc_test_write_i32(s->e, 0, s->io.start, start);
    hpc_test_write_i32(s->e, 0, s->io.len, len);
    hpc_test_write_i32(s->e, 0, s->io.pages, table[0]);
    hpc_test_write_i32(s->e, 0, s->io.output, output);
    hpc_test_write_scalar(s->e, 0, s->io.tokens_n, n);
    hpc_test_write_scalar(s->e, 0, s->io.output_n, n);
    hpc_test_write_scalar(s->e, 0, s->io.start_n, parts + 1);
    test_ok(hpc_exec_run(s->e, s->io.decode, 0));
    test_ok(hpc_exec_read(s->e, 0, s->io.logits, out, sizeof out));
    for (int i = 0; i < n; i++) memcpy(logits[row[i]], out[i], sizeof out[i]);
}

/* All documents at once; token by token, each alone; and in pieces, in changing company. */
static void three_ways(hpc_test_model *m, const hpc_model_config *c, float logits[3][T][VOCAB])
{
    served s;
    memset(logits, 0xff, 3 * sizeof *logits);
    open_served(&s, m, c, 2);
    run(&s, (piece[]){{0, 0, 6}, {1, 0, 9}, {2, 0, 5}}, 3, logits[0]);
    close_served(&s);
    open_served(&s, m, c, 1);
    for (int d = 0; d < DOCUMENTS; d++)
        for (int i = 0; i < lengths[d]; i++) run(&s, (piece[]){{d, i, 1}}, 1, logits[1]);
    close_served(&s);
    open_served(&s, m, c, 3);
    run(&s, (piece[]){{1, 0, 7}, {0, 0, 1}}, 2, logits[2]);
    run(&s, (piece[]){{0, 1, 4}, {2, 0, 3}, {1, 7, 1}}, 3, logits[2]);
    run(&s, (piece[]){{2, 3, 2}, {1, 8, 1}, {0, 5, 1}}, 3, logits[2]);
    close_served(&s);
}

/* The largest difference, relative to the largest logit. */
static double distance(const float a[T][VOCAB], double b[T][VOCAB])
{
    double worst = 0, most = 0;
    for (int i = 0; i < T; i++)
        for (int k = 0; k < VOCAB; k++) {
            assert_true(isfinite(a[i][k]));
            worst = fmax(worst, fabs(a[i][k] - b[i][k]));
            most = fmax(most, fabs(b[i][k]));
        }
    return worst / most;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void logits_are_those_of_the_forward_program(void **state)
{
    static const struct {
        hpc_dtype dtype;
        double most;
    } how[] = {
        /* with bf16, activations count rounded to it, by 2^-9 at most; with blocks, to bytes */
        {HPC_F32, 2e-6},
        {HPC_BF16, 1e-2},
        {HPC_F16, 2e-6},
        {HPC_Q8_0, 2e-2},
        {HPC_Q4_0, 2e-2}};
    static float logits[3][T][VOCAB];
    static double want[T][VOCAB];
    (void)state;
    for (size_t k = 0; k < 2 * sizeof how / sizeof *how; k++) {
        hpc_model_config c = k % 2 ? other() : llama();
        hpc_test_model m;
        matrices = how[k / 2].dtype;
        forward(&m, &c, want);
        three_ways(&m, &c, logits);
        hpc_test_model_close(&m);
        double off = distance(logits[0], want);
        if (off > how[k / 2].most) fail_msg("%s: off by %g", hpc_dtype_get(matrices)->name, off);
        assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
        assert_memory_equal(logits[0], logits[2], sizeof logits[0]);
    }
}

/* The embedding of a tied model is held once. */
static void a_tied_head_is_the_embedding(void **state)
{
    hpc_model_config c = llama();
    (void)state;
    matrices = HPC_Q8_0;
    for (int tied = 0; tied < 2; tied++) {
        hpc_serve_emission e = usual();
        hpc_serve_io io;
        hpc_program *p = hpc_program_create();
        c.tied = tied;
        test_ok(hpc_serve_emit(&io, p, &c, &e));
        hpc_value embed = hpc_program_find(p, "model.embed_tokens.weight");
        assert_true(embed >= 0);
        assert_int_equal(p->value[embed].type.pack, tied ? HPC_PANEL16 : HPC_PLAIN);
        assert_int_equal(hpc_program_find(p, "lm_head.weight") >= 0, !tied);
        hpc_program_free(p);
    }
}

/* Pages of other sequences are neither read nor written. */
static void a_run_leaves_other_pages_alone(void **state)
{
    static float first[T][VOCAB], again[T][VOCAB];
    static double want[T][VOCAB];
    hpc_model_config c = llama();
    hpc_test_model m;
    served s;
    (void)state;
    matrices = HPC_F32;
    forward(&m, &c, want);
    open_served(&s, &m, &c, 2);
    run(&s, (piece[]){{0, 0, 6}}, 1, first);
    run(&s, (piece[]){{1, 0, 9}, {2, 0, 5}}, 2, first);
    memcpy(again, first, sizeof again);
    run(&s, (piece[]){{0, 5, 1}}, 1, again);
    assert_memory_equal(first, again, sizeof again);
    hpc_test_model_close(&m);
    close_served(&s);
}

static void refused(const hpc_model_config *c, hpc_serve_emission e, int code, const char *part)
{
    hpc_serve_io io;
    hpc_program *p = hpc_program_create();
    test_fails(hpc_serve_emit(&io, p, c, &e), code, part);
    hpc_program_free(p);
}

static void what_cannot_answer_is_refused(void **state)
{
    hpc_model_config c = llama();
    hpc_serve_emission e = usual();
    (void)state;
    matrices = HPC_Q4_K;
    refused(&c, e, HPC_E_SHAPE,
            "model.embed_tokens.weight: rows of 64 are not a multiple of the block of q4_K");
    matrices = HPC_F32;
    c.adapter.rank = 2, c.adapter.alpha = 1, c.adapter.targets = 1u << HPC_PART_Q;
    refused(&c, e, HPC_E_UNSUPPORTED, "export the model, which merges them");
    c = llama();
    c.head = HPC_HEAD_CLASSES, c.classes = 2;
    refused(&c, e, HPC_E_UNSUPPORTED, "does not predict tokens");
    c = llama();
    e.pages = 0;
    refused(&c, e, HPC_E_SHAPE, "must be at least 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_those_of_the_forward_program),
        cmocka_unit_test(a_tied_head_is_the_embedding),
        cmocka_unit_test(a_run_leaves_other_pages_alone),
        cmocka_unit_test(what_cannot_answer_is_refused),
    };
    return cmocka_run_group_tests_name("model/serve", tests, NULL, NULL);
}
