/*
 * engine_model.c: an engine on a mapped packed file gives the same results as on the original
 * model. Neither needs more memory than the file, and long texts need only their cache.
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
#include <unistd.h>

#include "infer/engine/engine.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"
#include "tests/support/sanitized.h"
#include "tests/support/expect.h"

enum { PROMPT = 40, MADE = 12, REPEATED = 1 << 16 };

/* The first numbers of a tensor again and again, in whole rows. */
static int drawn(float *out, const hpc_model_tensor *t, void *user)
{
    int64_t n = hpc_model_tensor_n(t);
    int64_t some = n < REPEATED ? n : REPEATED / t->extent[1] * t->extent[1];
    (void)user;
    hpc_model_init(out, t, 0, some, 5);
    for (int64_t k = 0; t->role == HPC_ROLE_MATRIX && k < some; k++) out[k] *= 6;
    for (int64_t at = some; at < n; at += some)
        memcpy(out + at, out, (size_t)(n - at < some ? n - at : some) * sizeof *out);
    return HPC_OK;
}

static hpc_model_config config_of(int64_t vocab, int64_t hidden, int64_t layers, int64_t ffn)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    c.vocab = vocab, c.hidden = hidden, c.layers = layers, c.ffn = ffn;
    c.heads = c.kv_heads = hidden / 64;
    c.positions = 512;
    return c;
}

static hpc_model_config experts_of(int64_t experts, int64_t top_k)
{
    hpc_model_config c = config_of(48, 256, 2, 256);
    snprintf(c.family, sizeof c.family, "qwen3_moe");
    c.qk_norm = HPC_QK_BY_HEAD;
    c.experts = experts, c.top_k = top_k, c.expert_ffn = 256, c.normalise = true;
    return c;
}

typedef struct paths {
    char gguf[PATH_MAX], packed[PATH_MAX];
} paths;

static void make_files(paths *p, void **state, const hpc_model_config *c)
{
    const hpc_gguf_options o = {.dtype = HPC_Q8_0, .read = drawn};
    const hpc_packed_options as_stored = {.dtype = HPC_DTYPE_N};
    hpc_model_config read;
    hpc_weights *w;
    test_ok(hpc_weights_save_gguf(hpc_test_path(p->gguf, *state, "model.gguf"), c, &o));
    test_ok(hpc_model_config_read(&read, p->gguf));
    test_ok(hpc_weights_open(&w, p->gguf, &read));
    test_ok(
        hpc_packed_save(hpc_test_path(p->packed, *state, "model.packed"), w, &read, &as_stored));
    hpc_weights_close(w);
}

/* ---- answers --------------------------------------------------------------------------------- */

typedef struct answer {
    int32_t token[MADE];
    float logprob[MADE];
    int n;
} answer;

static int hear(void *user, int32_t token, float logprob)
{
    answer *a = user;
    assert_in_range(a->n, 0, MADE - 1);
    a->token[a->n] = token;
    a->logprob[a->n++] = logprob;
    return 0;
}

static hpc_engine_options options_of(const char *model, const char *backend)
{
    return (hpc_engine_options){.model = model,
                                .backend = backend,
                                .threads = backend ? 1 : 2,
                                .weights = HPC_DTYPE_N,
                                .cache = HPC_BF16,
                                .cache_tokens = PROMPT + MADE,
                                .batch_tokens = PROMPT,
                                .requests = 1};
}

static int ask_long(answer *out, const hpc_engine_options *o, int32_t n)
{
    hpc_engine *e = NULL;
    hpc_request r = {
        .n = n, .most = MADE, .sampling = hpc_sampling_greedy(), .token_made = hear, .user = out};
    int32_t *text = hpc_alloc((size_t)n, sizeof *text);
    int64_t id;
    bool busy = true;
    int rc = text ? HPC_OK : HPC_E_NOMEM;
    *out = (answer){0};
    TRY(rc);
    for (int32_t k = 0; k < n; k++) text[k] = 1 + k % 1009 * (k % 1009) % 31;
    r.token = text;
    TRY(hpc_engine_open(&e, o));
    TRY(hpc_engine_submit(e, &r, &id));
    while (busy) TRY(hpc_engine_step(e, &busy));
out:
    hpc_engine_close(e);
    hpc_free(text);
    return rc;
}

static int ask(answer *out, const hpc_engine_options *o)
{
    return ask_long(out, o, PROMPT);
}

static void answers_are_those_of_the_model(void **state)
{
    static const char *const backends[] = {NULL, "mock"};
    paths p;
    const hpc_model_config c = config_of(48, 128, 2, 160);
    make_files(&p, state, &c);
    for (int b = 0; b < 2; b++) {
        answer stored, packed;
        const hpc_engine_options a = options_of(p.gguf, backends[b]),
                                 o = options_of(p.packed, backends[b]);
        test_ok(ask(&stored, &a));
        test_ok(ask(&packed, &o));
        assert_int_equal(stored.n, MADE);
        assert_int_equal(packed.n, MADE);
        assert_memory_equal(stored.token, packed.token, sizeof stored.token);
        assert_memory_equal(stored.logprob, packed.logprob, sizeof stored.logprob);
    }
}

/* Experts in the mapped file, in panels, and copied give the same bits. */
static void experts_are_read_where_they_lie(void **state)
{
    static const char *const backends[] = {NULL, NULL, "mock"};
    paths p;
    answer a[3];
    const hpc_model_config c = experts_of(8, 3);
    make_files(&p, state, &c);
    for (int k = 0; k < 3; k++) {
        const hpc_engine_options o = options_of(k == 1 ? p.packed : p.gguf, backends[k]);
        test_ok(ask(&a[k], &o));
        assert_int_equal(a[k].n, MADE);
        assert_memory_equal(a[0].token, a[k].token, sizeof a->token);
        assert_memory_equal(a[0].logprob, a[k].logprob, sizeof a->logprob);
    }
}

/* mock:1 has plain weights, which are not multiplied as integers, and activations in bf16. */
static void a_backend_chooses_layouts_and_activations(void **state)
{
    paths p;
    answer cpu, gpu;
    hpc_engine *e;
    const hpc_model_config c = config_of(48, 128, 2, 160);
    make_files(&p, state, &c);
    const hpc_engine_options on_cpu = options_of(p.gguf, NULL),
                             on_gpu = options_of(p.gguf, "mock:1"),
                             packed = options_of(p.packed, "mock:1");
    test_ok(ask(&cpu, &on_cpu));
    test_ok(ask(&gpu, &on_gpu));
    assert_int_equal(gpu.n, MADE);
    assert_true(gpu.logprob[0] != cpu.logprob[0]);
    assert_true(fabsf(gpu.logprob[0] - cpu.logprob[0]) < 0.05f);
    test_fails(hpc_engine_open(&e, &packed), HPC_E_UNSUPPORTED,
               "packed files are for the CPU; on device mock, use the model");
}

static void a_model_that_does_not_fit_is_answered_with_what_would(void **state)
{
    paths p;
    hpc_engine *e;
    const hpc_model_config c = config_of(48, 512, 32, 32);
    make_files(&p, state, &c);
    hpc_engine_options o = options_of(p.gguf, NULL);
    o.cache_tokens = 1LL << 31; /* 256 TiB, more than there are addresses */
    o.cache = HPC_F32;
    test_fails(hpc_engine_open(&e, &o), HPC_E_NOMEM,
               "device cpu cannot hold weights of 36 MiB (19 MiB with --weights q4_K) and a "
               "key-value cache of 268435456 MiB");
}

static hpc_engine_facts facts_of(const char *model, const char *backend)
{
    const hpc_engine_options o = options_of(model, backend);
    hpc_engine *e;
    test_ok(hpc_engine_open(&e, &o));
    hpc_engine_facts f = hpc_engine_facts_of(e);
    hpc_engine_close(e); /* device names are static */
    return f;
}

static void an_engine_says_what_it_is(void **state)
{
    paths p;
    const hpc_model_config c = config_of(48, 128, 2, 160);
    make_files(&p, state, &c);
    hpc_engine_facts f = facts_of(p.gguf, NULL), mapped = facts_of(p.packed, NULL),
                     copied = facts_of(p.packed, "mock");
    assert_true(!f.mapped && mapped.mapped && !copied.mapped);
    assert_true(f.threads == 2 && mapped.threads == 2 && copied.threads == 1);
    assert_string_equal(f.backend, "cpu");
    assert_string_equal(f.isa, mapped.isa);
    assert_string_equal(copied.backend, "mock");
    double matrices = (double)hpc_model_config_params(&c) * 34 / 32; /* of q8_0 */
    assert_true((double)f.bytes - (double)mapped.bytes >= matrices);
}

/* Files that are open are not opened again. */
static void open_files_are_taken(void **state)
{
    paths p;
    const hpc_model_config c = config_of(48, 128, 2, 160);
    make_files(&p, state, &c);
    const char *const path[] = {p.gguf, p.packed};
    for (int k = 0; k < 2; k++) {
        answer before, after;
        hpc_engine_options o = options_of(path[k], NULL);
        hpc_model_files *files;
        test_ok(ask(&before, &o));
        test_ok(hpc_model_files_open(&files, path[k]));
        o.files = files;
        assert_int_equal(unlink(path[k]), 0);
        test_ok(ask(&after, &o));
        hpc_model_files_close(files);
        assert_int_equal(after.n, MADE);
        assert_memory_equal(before.token, after.token, sizeof after.token);
    }
}

static void another_type_is_refused(void **state)
{
    paths p;
    answer a;
    const hpc_model_config c = config_of(48, 128, 2, 160);
    make_files(&p, state, &c);
    hpc_engine_options o = options_of(p.packed, NULL);
    o.weights = HPC_Q4_0;
    test_fails(ask(&a, &o), HPC_E_ARG,
               "model.packed: the types of a packed model are fixed; for q4_0, use the model");
}

static int ask_packed(void *user)
{
    const paths *p = user;
    answer a;
    const hpc_engine_options o = options_of(p->packed, NULL);
    return ask(&a, &o);
}

static void memory_may_be_short_anywhere(void **state)
{
    paths p;
    const hpc_model_config c = config_of(48, 128, 2, 160);
    make_files(&p, state, &c);
    assert_true(hpc_test_each_alloc(ask_packed, &p) > 50);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Bytes of a line of /proc/self/status. */
static double status_of(const char *key)
{
    char line[256];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0) sscanf(line + strlen(key), ": %ld", &kib);
    fclose(f);
    assert_true(kib > 0);
    return (double)kib * 1024;
}

/* The most that an engine has in memory at once for a text of n tokens, a mapped file included. */
static double most_of(const hpc_engine_options *o, int32_t n)
{
    answer a;
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f || fputs("5", f) < 0 || fclose(f) != 0) return -1; /* the most so far is forgotten */
    double before = status_of("VmRSS");
    test_ok(ask_long(&a, o, n));
    assert_int_equal(a.n, MADE);
    return status_of("VmHWM") - before;
}

/* What cannot be measured here is skipped. */
static void need_measures(double most)
{
    if (HPC_TEST_ASAN || HPC_TEST_TSAN) {
        print_message("SKIP: the sanitizer has memory of its own\n");
        skip();
    }
    if (most < 0) {
        print_message("SKIP: this system does not forget how much memory a process had\n");
        skip();
    }
}

static double bytes_of(const char *path)
{
    hpc_file_view v;
    test_ok(hpc_file_open(&v, path));
    double bytes = (double)v.bytes;
    hpc_file_close(&v);
    return bytes;
}

static void check_memory(void **state, const hpc_model_config *c)
{
    paths p;
    double pages = (PROMPT + MADE + 15) / 16;
    double cache = 2 * 2 * pages * 16 * (double)(c->layers * c->hidden); /* in bf16 */
    need_measures(0);
    make_files(&p, state, c);
    const char *const files[] = {p.gguf, p.packed};
    for (int k = 0; k < 2; k++) {
        const hpc_engine_options o = options_of(files[k], NULL);
        double most = most_of(&o, PROMPT), file = bytes_of(files[k]);
        need_measures(most);
        print_message("%s: %.1f MiB for a file of %.1f and a cache of %.1f\n",
                      strrchr(files[k], '.'), most / 0x1p20, file / 0x1p20, cache / 0x1p20);
        assert_true(most >= 0.6 * file); /* of an embedding only rows are read */
        assert_true(most <= 1.2 * file + cache);
    }
}

static void a_file_is_in_memory_once(void **state)
{
    const hpc_model_config c = config_of(16000, 768, 6, 2048);
    check_memory(state, &c);
}

static void so_is_one_of_134_million(void **state)
{
    const hpc_model_config c = config_of(32000, 768, 12, 2048);
    if (!getenv("HPC_TEST_LONG")) {
        print_message("SKIP: set HPC_TEST_LONG=1\n");
        skip();
    }
    check_memory(state, &c);
}

/* Besides the cache, a token of the longest text needs only a table entry: no memory is quadratic
 * in the text or holds anything large per token. */
static void long_texts_take_their_cache(void **state)
{
    enum { LENGTHS = 3, TABLE = 4 };
    static const int32_t length[LENGTHS] = {4096, 8192, 16384};
    double bytes[LENGTHS], most[LENGTHS];
    paths p;
    hpc_model_config c = config_of(48, 128, 2, 160);
    const double token = 2 * 2 * (double)(c.layers * c.hidden); /* keys and values in bf16 */
    c.positions = length[LENGTHS - 1] + MADE;
    make_files(&p, state, &c);
    for (int k = 0; k < LENGTHS; k++) {
        hpc_engine_options o = options_of(p.gguf, NULL);
        hpc_engine *e;
        o.cache_tokens = length[k] + MADE, o.batch_tokens = 512;
        test_ok(hpc_engine_open(&e, &o));
        bytes[k] = (double)hpc_engine_facts_of(e).bytes;
        hpc_engine_close(e);
        most[k] = most_of(&o, length[k]);
        print_message("%d tokens: %.2f MiB of the device's memory, %.2f in all\n", length[k],
                      bytes[k] / 0x1p20, most[k] / 0x1p20);
    }
    for (int k = 1; k < LENGTHS; k++) {
        double more = length[k] - length[k - 1];
        assert_in_range((int64_t)(bytes[k] - bytes[k - 1]), (int64_t)(token * more),
                        (int64_t)((token + TABLE) * more) + 4096);
    }
    need_measures(most[0]);
    for (int k = 1; k < LENGTHS; k++) { /* with the text itself, and a page table of the system's */
        double more = length[k] - length[k - 1];
        assert_true(most[k] - most[k - 1] <= (token + 64) * more + 0x1p20);
    }
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

/* Four tokens and twelve answers reach at most 15 of 64 experts of each block. Not of a packed
 * file: a system may map files of few large writes in pages of 2 MiB. */
static void experts_that_no_token_needs_take_no_memory(void **state)
{
    paths p;
    const hpc_model_config c = experts_of(64, 1);
    make_files(&p, state, &c);
    const hpc_engine_options o = options_of(p.gguf, NULL);
    double most = most_of(&o, 4), file = bytes_of(p.gguf);
    need_measures(most);
    print_message("%.1f MB of a file of %.1f MB\n", most * 1e-6, file * 1e-6);
    assert_true(most < 0.5 * file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_in_memory_once),
        TEST(so_is_one_of_134_million),
        TEST(answers_are_those_of_the_model),
        TEST(another_type_is_refused),
        TEST(a_backend_chooses_layouts_and_activations),
        TEST(a_model_that_does_not_fit_is_answered_with_what_would),
        TEST(open_files_are_taken),
        TEST(an_engine_says_what_it_is),
        TEST(experts_are_read_where_they_lie),
        TEST(experts_that_no_token_needs_take_no_memory),
        TEST(long_texts_take_their_cache),
        TEST(memory_may_be_short_anywhere),
    };
    return cmocka_run_group_tests_name("infer/engine_model", tests, NULL, NULL);
}
