/*
 * Tests of corpus/pack_fim.c and pack_encode.c: fractions of FIM documents, positions of cuts, and
 * marks in our tokenizer and in other models' tokenizers.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/pack.h"
#include "tests/support/tokenizer.h"

#define OURS "tests/fixtures/tokenizer/ours.model"

/* ---- the draws ---- */

/* Within four standard deviations of what was asked for, and exact at the ends. */
static void test_shares(void **state)
{
    (void)state;
    enum { N = 200000 };
    const double rates[] = {0, 0.1, 0.5, 0.9, 1};
    for (int r = 0; r < 5; r++)
        for (int s = 0; s < 5; s++) {
            double n[3] = {0};
            for (int64_t id = 1; id <= N; id++) n[pack_fim_kind(7, id, rates[r], rates[s])]++;
            double fim = n[1] + n[2];
            assert_true(fabs(fim - N * rates[r]) <= 4 * sqrt(N * rates[r] * (1 - rates[r])));
            assert_true(fabs(n[2] - fim * rates[s]) <= 4 * sqrt(fim * rates[s] * (1 - rates[s])));
        }
}

static void test_draws_depend_on_seed_and_file(void **state)
{
    (void)state;
    int same_seed = 0, same_id = 0;
    for (int64_t id = 0; id < 1000; id++) {
        int kind = pack_fim_kind(1, id, 0.5, 0.5);
        assert_int_equal(kind, pack_fim_kind(1, id, 0.5, 0.5));
        same_seed += kind == pack_fim_kind(2, id, 0.5, 0.5);
        same_id += kind == pack_fim_kind(1, id + 1, 0.5, 0.5);
        /* a document that is cut at a rate is cut at any higher one */
        if (kind != PACK_FIM_NONE) assert_int_equal(kind, pack_fim_kind(1, id, 0.75, 0.5));
    }
    assert_true(same_seed > 300 && same_seed < 450 && same_id > 300 && same_id < 450); /* 3/8 */
}

/* Every place between characters is as likely as any other, none is inside of one. */
static void test_cuts(void **state)
{
    (void)state;
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
    const size_t places[] = {0, 1, 3, 6, 10, 11};
    enum { N = 60000 };
    int hits[12] = {0};
    for (int64_t id = 0; id < N; id++) {
        size_t lo, hi;
        pack_fim_cut(&lo, &hi, 3, id, text, sizeof text - 1);
        assert_true(lo <= hi && hi <= sizeof text - 1);
        hits[lo]++;
        hits[hi]++;
    }
    int all = 0;
    for (int k = 0; k < 6; k++) {
        assert_true(abs(hits[places[k]] - N / 3) < 600);
        all += hits[places[k]];
    }
    assert_int_equal(all, 2 * N);
    size_t lo, hi;
    pack_fim_cut(&lo, &hi, 3, 1, NULL, 0);
    assert_true(lo == 0 && hi == 0);
}

/* ---- marks ---- */

enum {
    FIM = 1 << HPC_MARK_FIM_PREFIX | 1 << HPC_MARK_FIM_SUFFIX | 1 << HPC_MARK_FIM_MIDDLE,
    CODE = FIM | 1 << HPC_MARK_FILE | 1 << HPC_MARK_REPOSITORY | 1 << HPC_MARK_END
};

static void has_marks(hpc_tokenizer *t, const char *const expected[HPC_MARK_N])
{
    pack_encoder e;
    if (pack_encoder_open(&e, t, CODE, "it") < 0) fail_msg("%s", hpc_error_get()->text);
    for (int m = 1; m < HPC_MARK_N; m++) {
        if (!expected[m]) continue;
        int32_t id = hpc_tokenizer_find(t, expected[m]);
        assert_true(id >= 0);
        assert_int_equal(e.mark[m].n, 1);
        assert_int_equal(e.mark[m].id[0], id);
        assert_string_equal(e.spelling[m], expected[m]);
    }
    pack_encoder_release(&e);
    hpc_tokenizer_close(t);
}

static void test_marks_of_other_models(void **state)
{
    (void)state;
    const char *const none[] = {NULL};
    has_marks(hpc_test_tokenizer("starcoder2.json", none),
              (const char *const[HPC_MARK_N]){[HPC_MARK_FIM_PREFIX] = "<fim_prefix>",
                                              [HPC_MARK_FIM_SUFFIX] = "<fim_suffix>",
                                              [HPC_MARK_FIM_MIDDLE] = "<fim_middle>",
                                              [HPC_MARK_FILE] = "<file_sep>",
                                              [HPC_MARK_REPOSITORY] = "<repo_name>",
                                              [HPC_MARK_END] = "<|endoftext|>"});
    const char *const qwen[] = {"<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", NULL};
    has_marks(hpc_test_tokenizer("qwen2.json", qwen),
              (const char *const[HPC_MARK_N]){[HPC_MARK_FIM_PREFIX] = "<|fim_prefix|>",
                                              [HPC_MARK_FIM_SUFFIX] = "<|fim_suffix|>",
                                              [HPC_MARK_FIM_MIDDLE] = "<|fim_middle|>",
                                              [HPC_MARK_FILE] = "<|file_sep|>",
                                              [HPC_MARK_REPOSITORY] = "<|repo_name|>",
                                              [HPC_MARK_END] = "<|endoftext|>"});
    const char *const deepseek[] = {"<\uff5cfim\u2581begin\uff5c>", "<\uff5cfim\u2581end\uff5c>",
                                    NULL};
    has_marks(hpc_test_tokenizer("deepseek_coder.json", deepseek),
              (const char *const[HPC_MARK_N]){
                  [HPC_MARK_FIM_PREFIX] = "<\uff5cfim\u2581begin\uff5c>",
                  [HPC_MARK_FIM_SUFFIX] = "<\uff5cfim\u2581hole\uff5c>",
                  [HPC_MARK_FIM_MIDDLE] = "<\uff5cfim\u2581end\uff5c>",
                  [HPC_MARK_END] = "<\uff5cend\u2581of\u2581sentence\uff5c>"});
}

/* What DeepSeek has no piece for is text, and the text's own tokens. */
static void test_marks_as_text(void **state)
{
    (void)state;
    const char *const none[] = {NULL};
    hpc_tokenizer *t = hpc_test_tokenizer("deepseek_coder.json", none);
    pack_encoder e;
    hpc_buf back = {0};
    assert_int_equal(pack_encoder_open(&e, t, 1 << HPC_MARK_FILE | 1 << HPC_MARK_PRAGMA, "it"), 0);
    assert_true(e.mark[HPC_MARK_FILE].n > 1);
    assert_int_equal(
        hpc_tokenizer_decode(&back, t, e.mark[HPC_MARK_FILE].id, e.mark[HPC_MARK_FILE].n, false),
        0);
    assert_string_equal(back.data, "<file_sep>");
    assert_null(e.spelling[HPC_MARK_LOOP]);
    pack_encoder_release(&e);
    hpc_buf_release(&back);
    hpc_tokenizer_close(t);
}

static void test_marks_that_are_needed(void **state)
{
    (void)state;
    const char *const none[] = {NULL};
    hpc_tokenizer *t = hpc_test_tokenizer("gpt2.json", none);
    pack_encoder e;
    assert_int_equal(pack_encoder_open(&e, t, CODE, "gpt2.json"), HPC_E_ARG);
    assert_string_equal(hpc_error_get()->text,
                        "gpt2.json has no token for <fim_prefix>: pack with --fim-rate 0, or train "
                        "a tokenizer with `hpccoder tokenizer train`");
    hpc_error_clear();
    assert_int_equal(pack_encoder_open(&e, t, CODE & ~FIM, "gpt2.json"), 0);
    pack_encoder_release(&e);
    hpc_tokenizer_close(t);
}

/* ---- samples ---- */

typedef struct bench {
    hpc_tokenizer *t;
    pack_encoder e;
    hpc_tokenizer_scratch *s;
    hpc_sample sample;
    hpc_ids ids;
    hpc_buf back;
} bench;

static void open_bench(bench *b, const char *path, unsigned marks)
{
    *b = (bench){0};
    assert_int_equal(hpc_tokenizer_open(&b->t, path), 0);
    assert_int_equal(pack_encoder_open(&b->e, b->t, marks, path), 0);
    assert_int_equal(hpc_tokenizer_scratch_create(&b->s, b->t), 0);
}

static void close_bench(bench *b)
{
    hpc_tokenizer_scratch_free(b->s);
    pack_encoder_release(&b->e);
    hpc_tokenizer_close(b->t);
    hpc_sample_release(&b->sample);
    hpc_free(b->ids.id);
    hpc_buf_release(&b->back);
}

/* The ids as text, from the k-th on. */
static const char *decoded(bench *b, int64_t from)
{
    b->back.n = 0;
    assert_int_equal(hpc_tokenizer_decode(&b->back, b->t, b->ids.id + from, b->ids.n - from, false),
                     0);
    return b->back.data;
}

static void test_a_sample_comes_back(void **state)
{
    (void)state;
    static const char text[] = "int f(void)\n{\n\treturn <fim_middle>; // \xc3\xa9\r\n}";
    bench b;
    int64_t answer = 0;
    open_bench(&b, OURS, CODE);
    assert_int_equal(hpc_render_fim(&b.sample, "a/f.c", text, sizeof text - 1, 4, 9, false), 0);
    assert_int_equal(pack_encode(&b.ids, &answer, &b.e, b.s, &b.sample), 0);
    assert_int_equal(answer, -1);
    assert_string_equal(decoded(&b, 0),
                        "<file_sep>a/f.c\n<fim_prefix>int <fim_suffix>d)\n{\n\treturn "
                        "<fim_middle>; // \xc3\xa9\r\n}<fim_middle>f(voi</s>");
    int middles = 0; /* what the source spells is text */
    for (int64_t k = 0; k < b.ids.n; k++)
        middles += b.ids.id[k] == hpc_tokenizer_find(b.t, "<fim_middle>");
    assert_int_equal(middles, 1);
    close_bench(&b);
}

static void test_the_answer_is_found(void **state)
{
    (void)state;
    bench b;
    int64_t answer = 0;
    open_bench(&b, OURS,
               1 << HPC_MARK_FILE | 1 << HPC_MARK_END | 1 << HPC_MARK_PERF_BASE |
                   1 << HPC_MARK_PERF_HEAD | 1 << HPC_MARK_PERF_LABEL);
    for (int round = 0; round < 2; round++) { /* it is counted from the document's own start */
        int64_t first = b.ids.n;
        hpc_sample_clear(&b.sample);
        assert_int_equal(hpc_render_change(&b.sample, "f.c", "a", 1, "bc", 2, "slower"), 0);
        assert_int_equal(pack_encode(&b.ids, &answer, &b.e, b.s, &b.sample), 0);
        assert_string_equal(decoded(&b, first + answer), "slower</s>");
    }
    close_bench(&b);
}

/* Llama adds a blank at the start of a document and before the prefix, not after other marks; the
 * begin token comes first. */
static void test_blanks_of_llama(void **state)
{
    (void)state;
    const char *const llama = "tests/fixtures/tokenizer/llama.model";
    bench b;
    int64_t answer;
    hpc_ids with = {0}, without = {0};
    open_bench(&b, llama, 1 << HPC_MARK_FILE | 1 << HPC_MARK_END);
    const hpc_ids marks[] = {b.e.mark[HPC_MARK_FILE], b.e.mark[HPC_MARK_END]};
    for (int m = 0; m < 3; m++) { /* as CodeLlama has them */
        int32_t id = 10 + m;
        hpc_ids *mark = &b.e.mark[HPC_MARK_FIM_PREFIX + m];
        assert_int_equal(hpc_grow(&mark->id, &mark->cap, 1, sizeof id), 0);
        mark->id[mark->n++] = id;
    }
    hpc_tokenizer_encode(&with, b.t, b.s, "abc", 3, 0);
    hpc_tokenizer_encode(&without, b.t, b.s, "abc", 3, HPC_ENCODE_INNER);
    assert_true(with.n != without.n || with.id[0] != without.id[0]);
    for (int suffix_first = 0; suffix_first < 2; suffix_first++) {
        hpc_ids want = {0};
        int32_t *at = malloc(64 * sizeof *at);
        want.id = at;
#define PUT(from) memcpy(at + want.n, (from).id, (size_t)(from).n * sizeof *at), want.n += (from).n
        if (b.e.begin >= 0) at[want.n++] = b.e.begin;
        PUT(b.e.mark[HPC_MARK_FIM_PREFIX]);
        if (!suffix_first) PUT(with);
        PUT(b.e.mark[HPC_MARK_FIM_SUFFIX]);
        PUT(without);
        PUT(b.e.mark[HPC_MARK_FIM_MIDDLE]);
        if (suffix_first) {
            hpc_ids joined = {0}; /* prefix and middle are one text */
            hpc_tokenizer_encode(&joined, b.t, b.s, "abcabc", 6, 0);
            PUT(joined);
            hpc_free(joined.id);
        } else {
            PUT(without);
        }
        PUT(marks[1]);
        hpc_sample_clear(&b.sample);
        b.ids.n = 0;
        assert_int_equal(hpc_render_fim(&b.sample, NULL, "abcabcabc", 9, 3, 6, suffix_first != 0),
                         0);
        assert_int_equal(pack_encode(&b.ids, &answer, &b.e, b.s, &b.sample), 0);
        assert_int_equal(b.ids.n, want.n);
        assert_memory_equal(b.ids.id, at, (size_t)want.n * sizeof *at);
        free(at);
    }
    hpc_free(with.id);
    hpc_free(without.id);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_draws_depend_on_seed_and_file),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_marks_of_other_models),
        cmocka_unit_test(test_marks_as_text),
        cmocka_unit_test(test_marks_that_are_needed),
        cmocka_unit_test(test_a_sample_comes_back),
        cmocka_unit_test(test_the_answer_is_found),
        cmocka_unit_test(test_blanks_of_llama),
    };
    return cmocka_run_group_tests_name("corpus/pack_encode", tests, NULL, NULL);
}
