/*
 * engine_logits.c: the engine's logits equal those of transformers: every family, from safetensors
 * and GGUF, in every type; scaled rotary positions up to 16,384 tokens.
 *
 * The fixtures are made by tests/fixtures/make_families.py and make_logits.py. Weights of the
 * latter are computed from tensor names by the same rule in both programs.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/engine/engine.h"
#include "tests/support/folder.h"
#include "tests/support/model.h"
#include "tests/support/stream.h"

#define LOGITS   "tests/fixtures/logits/"
#define FAMILIES "tests/fixtures/families/"
enum { VOCAB = 64, ROWS = 3, TENSORS = 64, MOST = 1 << 18 };
#if defined(__SANITIZE_ADDRESS__)
enum { LONGEST = 4096 }; /* the same instructions, in a sixteenth of the time */
#else
enum { LONGEST = 16384 };
#endif

/* Relative to the largest logit, all in f32: as in tests/model/families.c, and of a difference of
 * two sums. */
static const double BOUND = 2e-5;

/* With matrices of blocks, what products take is rounded to whole numbers up to 127 of the largest
 * of 32, with those of bf16 to bf16. What that moves logits by was computed in double with
 * transformers (rounding.json). Which way a number is rounded hangs on its last bits, so that two
 * programs which round alike are as far apart as each is from what does not round, and these
 * distances are draws of one size: over all families together they agree to a tenth or so, of one
 * family, in three texts, to half. */
static const double BOUND_ONE = 2, BOUND_ALL = 1.25;

/* ---- tensors by their names ------------------------------------------------------------------ */

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* Draws numbers that their type holds exactly; except for matrices, every type does. */
static void draw_numbers(void *out, hpc_test_stream s, const char *name, int rank, hpc_dtype d,
                         int64_t n)
{
    static float x[MOST];
    bool norm = strstr(name, "norm") && ends_in(name, "weight");
    bool matrix = rank > 1 && strncmp(name, "position", 8) != 0;
    assert_true(n <= MOST);
    for (int64_t i = 0; i < n; i++) {
        if (norm)
            x[i] = 1 + hpc_test_stream_whole(&s, 4) / 64;
        else if (matrix && d == HPC_F32)
            x[i] = hpc_test_stream_whole(&s, 16) / 0x1p18f;
        else if (matrix && d == HPC_F16)
            x[i] = hpc_test_stream_whole(&s, 11) / 0x1p13f;
        else
            x[i] = hpc_test_stream_whole(&s, 8) / 0x1p10f;
    }
    hpc_from_f32(out, d, x, n);
}

/* Where in a block factors of half precision lie, and the smallest of each: they are below twice
 * it. */
static const struct {
    size_t at[2];
    uint16_t least[2];
} factors[HPC_DTYPE_N] = {
    [HPC_Q8_0] = {{0}, {0x1400}},
    [HPC_Q4_0] = {{0}, {0x2400}},
    [HPC_Q4_K] = {{0, 2}, {0x1000, 0x1C00}},
    [HPC_Q5_K] = {{0, 2}, {0x0C00, 0x1C00}},
    [HPC_Q6_K] = {{208}, {0x0400}},
};

static void draw_blocks(uint8_t *out, hpc_test_stream s, hpc_dtype d, size_t bytes)
{
    size_t width = hpc_dtype_get(d)->block_bytes;
    for (size_t i = 0; i < bytes; i++) out[i] = hpc_test_stream_byte(&s);
    for (uint8_t *b = out; b < out + bytes; b += width)
        for (int k = 0; k < 2 && factors[d].least[k]; k++) {
            uint8_t *half = b + factors[d].at[k];
            half[1] = (uint8_t)((half[1] & 3) | factors[d].least[k] >> 8);
        }
}

typedef struct drawn {
    hpc_stored_tensor list[TENSORS];
    const void *kept[TENSORS]; /* tensors that are not drawn */
    const char *other;         /* this tensor is drawn by another name */
} drawn;

static int write_drawn(hpc_file_writer *w, int64_t i, void *user)
{
    static uint8_t bytes[MOST * sizeof(float)];
    const drawn *f = user;
    const hpc_stored_tensor *t = &f->list[i];
    bool other = f->other && strcmp(f->other, t->name) == 0;
    assert_true(t->bytes <= sizeof bytes);
    if (f->kept[i]) return hpc_file_write(w, f->kept[i], t->bytes);
    if (hpc_dtype_get(t->dtype)->quantised)
        draw_blocks(bytes, hpc_test_stream_of(other ? "other" : t->name), t->dtype, t->bytes);
    else
        draw_numbers(bytes, hpc_test_stream_of(other ? "other" : t->name), t->name, t->rank,
                     t->dtype, (int64_t)(t->bytes / hpc_dtype_get(t->dtype)->block_bytes));
    return hpc_file_write(w, bytes, t->bytes);
}

static int nothing(float *out, const hpc_model_tensor *t, void *user)
{
    (void)user;
    memset(out, 0, (size_t)hpc_test_model_tensor_n(t) * sizeof *out);
    return HPC_OK;
}

/* The model of a fixture's configuration as a file whose matrices are of this type. */
static const char *make_file(char path[PATH_MAX], void **state, const char *name, hpc_dtype d,
                             const char *other)
{
    static drawn f;
    char from[PATH_MAX];
    hpc_gguf_value value[64];
    const hpc_gguf_options o = {.dtype = HPC_F32, .read = nothing};
    const hpc_dtype_info *info = hpc_dtype_get(d);
    hpc_model_config c;
    hpc_gguf *g;
    int64_t values = 0;
    f = (drawn){.other = other};
    snprintf(from, sizeof from, LOGITS "%s", name);
    test_ok(hpc_model_config_read(&c, from));
    test_ok(hpc_weights_save_gguf(hpc_test_path(from, *state, "keys.gguf"), &c, &o));
    test_ok(hpc_gguf_open(&g, from));
    for (const hpc_gguf_value *v; (v = hpc_gguf_value_at(g, values + 1)); values++)
        value[values] = *v; /* the first is the alignment, which is added again */
    assert_true(hpc_gguf_n(g) <= TENSORS);
    for (int64_t k = 0; k < hpc_gguf_n(g); k++) {
        hpc_stored_tensor *t = &f.list[k];
        test_ok(hpc_gguf_at(t, g, k));
        f.kept[k] = strcmp(t->name, "rope_freqs.weight") == 0 ? t->data : NULL;
        if (t->rank == 1 || strncmp(t->name, "position", 8) == 0) continue;
        t->dtype = d;
        t->bytes = (size_t)(t->extent[0] * t->extent[1] / info->block) * info->block_bytes;
    }
    test_ok(hpc_gguf_save(hpc_test_path(path, *state, "model.gguf"), value, values, f.list,
                          hpc_gguf_n(g), write_drawn, &f));
    hpc_gguf_close(g);
    return path;
}

/* ---- logits of an engine --------------------------------------------------------------------- */

typedef struct asked { /* for one token, by leaving no other */
    uint32_t only[VOCAB / 32];
    int32_t token;
    float logprob;
    int times;
} asked;

static const uint32_t *only_this(void *user)
{
    const asked *a = user;
    return a->only;
}

static int hear(void *user, int32_t token, float logprob)
{
    asked *a = user;
    assert_int_equal(token, a->token);
    a->logprob = logprob;
    a->times++;
    return 0;
}

/* Log-probabilities of all tokens after text[0..n-1]. */
static void ask(double *out, hpc_engine *e, const int32_t *text, int64_t n)
{
    static asked all[VOCAB];
    int64_t vocab = hpc_engine_config(e)->vocab, id;
    bool busy = true;
    assert_true(vocab <= VOCAB);
    for (int32_t t = 0; t < vocab; t++) {
        hpc_request r = {.token = text,
                         .n = n,
                         .most = 1,
                         .sampling = hpc_sampling_greedy(),
                         .token_made = hear,
                         .allowed = only_this,
                         .user = &all[t]};
        all[t] = (asked){.token = t};
        all[t].only[t / 32] = 1u << t % 32;
        test_ok(hpc_engine_submit(e, &r, &id));
    }
    while (busy) test_ok(hpc_engine_step(e, &busy));
    for (int64_t t = 0; t < vocab; t++) {
        assert_int_equal(all[t].times, 1);
        out[t] = (double)all[t].logprob;
    }
}

static hpc_engine *engine_of(const char *model, int64_t tokens)
{
    hpc_engine *e;
    test_ok(hpc_engine_open(&e, &(hpc_engine_options){.model = model,
                                                      .threads = 2,
                                                      .weights = HPC_DTYPE_N,
                                                      .cache = HPC_F32,
                                                      .cache_tokens = tokens + VOCAB * 16,
                                                      .requests = VOCAB}));
    return e;
}

/* A tensor of a file as doubles. */
static int64_t expected(double *out, int64_t room, const char *path, const char *tensor)
{
    hpc_safetensors *s;
    hpc_stored_tensor t;
    float x[4096];
    test_ok(hpc_safetensors_open(&s, path));
    test_ok(hpc_safetensors_find(&t, s, tensor));
    int64_t n = (int64_t)(t.bytes / hpc_dtype_get(t.dtype)->block_bytes);
    assert_true(n <= room && n <= 4096);
    hpc_to_f32(x, t.data, t.dtype, n);
    for (int64_t i = 0; i < n; i++) out[i] = (double)x[i];
    hpc_safetensors_close(s);
    return n;
}

/* Logits as logarithms of probabilities, in place; the largest of them before that. */
static double normalise(double *x, int64_t n)
{
    double most = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp(x[i]), most = fmax(most, fabs(x[i]));
    for (int64_t i = 0; i < n; i++) x[i] -= log(sum);
    return most;
}

typedef struct apart {
    double most,
        root; /* of the largest logit; root mean squares, of that of all about their mean */
} apart;

static apart compare(const double *got, const double *want, int64_t n, double largest)
{
    apart a = {0};
    double mean = 0, all = 0;
    for (int64_t i = 0; i < n; i++) mean += want[i] / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(got[i] - want[i]) / largest;
        assert_true(isfinite(d));
        a.most = fmax(a.most, d);
        a.root += (got[i] - want[i]) * (got[i] - want[i]);
        all += (want[i] - mean) * (want[i] - mean);
    }
    a.root = sqrt(a.root / all);
    return a;
}

/* ---- families from safetensors --------------------------------------------------------------- */

static apart family_apart(const char *name)
{
    double token[32], length[4], want[32 * VOCAB], got[32 * VOCAB] = {0};
    char path[PATH_MAX];
    int32_t text[32];
    double largest = 0;
    int64_t at = 0;
    snprintf(path, sizeof path, FAMILIES "%s/expected.safetensors", name);
    int64_t n = expected(token, 32, path, "tokens"), d = expected(length, 4, path, "lengths");
    int64_t all = expected(want, 32 * VOCAB, path, "logits"), vocab = all / n;
    snprintf(path, sizeof path, FAMILIES "%s", name);
    hpc_engine *e = engine_of(path, 32);
    for (int64_t i = 0; i < n; i++) text[i] = (int32_t)token[i];
    for (int64_t k = 0; k < d; k++)
        for (int64_t i = 1, first = at; i <= (int64_t)length[k]; i++, at++) {
            ask(got + at * vocab, e, text + first, i);
            largest = fmax(largest, normalise(want + at * vocab, vocab));
        }
    assert_int_equal(at, n);
    hpc_engine_close(e);
    return compare(got, want, all, largest);
}

static void families_are_those_of_transformers(void **state)
{
    static const char *const names[] = {
        "llama", "llama_grouped", "llama_yarn", "llama_linear",        "mistral",
        "qwen2", "starcoder2",    "gpt_neox",   "gpt_neox_sequential", "gpt2"};
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        apart a = family_apart(names[k]);
        print_message("%-20s %.1e\n", names[k], a.most);
        assert_true(a.most <= BOUND);
    }
}

/* ---- families in every type ------------------------------------------------------------------ */

static const char *const models[] = {"codellama",  "deepseek_coder", "llama3", "qwen2",
                                     "starcoder2", "gpt_neox",       "gpt2"};
enum { MODELS = sizeof models / sizeof *models };
static const hpc_dtype types[] = {HPC_F32,  HPC_F16,  HPC_BF16, HPC_Q8_0,
                                  HPC_Q4_0, HPC_Q4_K, HPC_Q5_K, HPC_Q6_K};
enum { TYPES = sizeof types / sizeof *types };

/* After that many tokens of the fixtures' text, at most LONGEST. */
static apart model_apart(const char *model, const char *name, hpc_dtype d, const int after[ROWS])
{
    static int32_t text[LONGEST];
    double want[ROWS * VOCAB], got[ROWS * VOCAB], largest = 0;
    char tensor[64];
    int rows = after[ROWS - 1] > LONGEST ? ROWS - 1 : ROWS;
    hpc_engine *e = engine_of(model, after[rows - 1]);
    snprintf(tensor, sizeof tensor, "%s.%s", name, hpc_dtype_get(d)->name);
    assert_int_equal(expected(want, ROWS * VOCAB, LOGITS "expected.safetensors", tensor),
                     ROWS * VOCAB);
    for (int64_t i = 0; i < after[rows - 1]; i++)
        text[i] = (int32_t)((7 * i * i + 3 * i + 5) % 61 + 3);
    for (int k = 0; k < rows; k++) {
        ask(got + (ptrdiff_t)k * VOCAB, e, text, after[k]);
        largest = fmax(largest, normalise(want + (ptrdiff_t)k * VOCAB, VOCAB));
    }
    hpc_engine_close(e);
    return compare(got, want, rows * VOCAB, largest);
}

static const int short_texts[ROWS] = {1, 17, 40}, long_texts[ROWS] = {16, 4096, 16384};

/* What rounding moves this model by; 0: nothing is rounded. */
static double rounding(const char *name, hpc_dtype d)
{
    hpc_json *root;
    char key[64];
    double out = 0;
    if (!hpc_dtype_get(d)->quantised && d != HPC_BF16) return 0;
    snprintf(key, sizeof key, "%s.%s", name, hpc_dtype_get(d)->name);
    test_ok(hpc_json_read(&root, LOGITS "rounding.json"));
    test_ok(hpc_json_real(&out, hpc_json_get(root, key), key));
    hpc_json_free(root);
    assert_true(out > 0.0005 && out < 0.1);
    return out;
}

static bool within(const apart *a, double rounded)
{
    return rounded > 0 ? a->root <= BOUND_ONE * rounded : a->most <= BOUND;
}

static int read_from(float *out, const hpc_model_tensor *t, void *user)
{
    return hpc_weights_read(out, user, t);
}

/* The same model as a directory. */
static const char *make_folder(char path[PATH_MAX], void **state, const char *file, hpc_dtype d)
{
    hpc_model_config c;
    hpc_weights *w;
    hpc_weights_save_options o = {.dtype = d, .read = read_from};
    test_ok(hpc_model_config_read(&c, file));
    test_ok(hpc_weights_open(&w, file, &c));
    o.user = w;
    test_ok(hpc_weights_save(hpc_test_path(path, *state, "model"), &c, &o));
    hpc_weights_close(w);
    return path;
}

static void types_are_those_of_transformers(void **state)
{
    char file[PATH_MAX], folder[PATH_MAX];
    for (int t = 0; t < TYPES; t++) {
        const char *type = hpc_dtype_get(types[t])->name;
        double most = 0, got = 0, want = 0;
        for (int k = 0; k < MODELS; k++) {
            double r = rounding(models[k], types[t]);
            make_file(file, state, models[k], types[t], NULL);
            apart a = model_apart(file, models[k], types[t], short_texts);
            if (!within(&a, r))
                fail_msg("%s, %s: %.3g, %.3g for %.3g", models[k], type, a.most, a.root, r);
            most = fmax(most, a.most), got += a.root * a.root, want += r * r;
            if (hpc_dtype_get(types[t])->quantised) continue;
            make_folder(folder, state, file, types[t]);
            a = model_apart(folder, models[k], types[t], short_texts);
            assert_true(within(&a, r));
        }
        print_message("%-4s %.1e of the largest logit; of their size %.1e", type, most,
                      sqrt(got / MODELS));
        print_message(want > 0 ? ", and %.1e by rounding\n" : "\n", sqrt(want / MODELS));
        assert_true(want == 0 || got <= BOUND_ALL * BOUND_ALL * want);
    }
}

/* What the bounds are worth: one matrix is another. */
static void another_matrix_is_found(void **state)
{
    char file[PATH_MAX];
    for (int t = 0; t < TYPES; t++) {
        make_file(file, state, "codellama", types[t], "blk.0.attn_k.weight");
        apart a = model_apart(file, "codellama", types[t], short_texts);
        assert_false(within(&a, rounding("codellama", types[t])));
    }
}

/* ---- positions ------------------------------------------------------------------------------- */

/* Of models that people use, in f32: powers and quotients are a few roundings of 6e-8 there. */
static void frequencies_are_those_of_transformers(void **state)
{
    hpc_json *root;
    const hpc_json *v;
    const char *name;
    float got[128];
    (void)state;
    test_ok(hpc_json_read(&root, LOGITS "frequencies.json"));
    assert_true(hpc_json_n(root) >= 6);
    for (int64_t k = 0; (name = hpc_json_key(root, k, &v)); k++) {
        const hpc_json *list = hpc_json_get(v, "frequency");
        hpc_model_config c;
        double want;
        test_ok(hpc_model_config_load(&c, hpc_json_get(v, "config")));
        assert_int_equal(hpc_rope_frequencies_n(&c), hpc_json_n(list));
        hpc_rope_frequencies(got, &c);
        for (int64_t i = 0; i < hpc_json_n(list); i++) {
            test_ok(hpc_json_real(&want, hpc_json_at(list, i), name));
            if (!(fabs((double)got[i] - want) <= 4e-7 * want))
                fail_msg("%s: frequency %d is %.9g, not %.9g", name, (int)i, (double)got[i], want);
        }
        test_ok(hpc_json_real(&want, hpc_json_get(v, "factor"), name));
        assert_true(fabs(hpc_rope_factor(&c) - want) <= 1e-7);
    }
    hpc_json_free(root);
}

/* Angles are products in f32, here and there: of position 16,383 and a frequency that is a rounding
 * of 6e-8 off, they are 2^-10 apart, and so may a logit be, of the largest. */
static void long_texts_are_those_of_transformers(void **state)
{
    static const char *const names[] = {"long_linear", "long_llama3", "long_yarn"};
    char file[PATH_MAX];
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        make_file(file, state, names[k], HPC_F32, NULL);
        apart a = model_apart(file, names[k], HPC_F32, long_texts);
        print_message("%s: %.1e\n", names[k], a.most);
        assert_true(a.most <= 0x1p-10);
    }
}

#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_are_those_of_transformers),
        IN_FOLDER(types_are_those_of_transformers),
        IN_FOLDER(another_matrix_is_found),
        cmocka_unit_test(frequencies_are_those_of_transformers),
        IN_FOLDER(long_texts_are_those_of_transformers),
    };
    return cmocka_run_group_tests_name("infer/engine_logits", tests, NULL, NULL);
}
