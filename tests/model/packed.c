/*
 * packed.c: packed files contain, for every family, stored type and requested type, the bytes that
 * loading gives a program's state, with configuration and tokenizer; truncated, damaged or foreign
 * files are rejected.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "model/packed_priv.h"
#include "model/priv.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"
#include "tests/support/model.h"

#define SPM  "tests/fixtures/tokenizer/ours.model"
#define JSON "tests/fixtures/byte_level/llama3.json"

static int drawn(float *out, const hpc_model_tensor *t, void *user)
{
    int64_t n = hpc_model_tensor_n(t);
    (void)user;
    hpc_model_init(out, t, 0, n, 3);
    for (int64_t k = 0; k < n; k++) out[k] += 0.01f * (float)(k % 7); /* vectors differ too */
    return HPC_OK;
}

static hpc_model_config config_of(const char *family)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    snprintf(c.family, sizeof c.family, "%s", family);
    c.vocab = 77, c.hidden = 256, c.ffn = 352, c.heads = 4, c.kv_heads = 2, c.positions = 24;
    c.layers = 1;
    if (strcmp(family, "llama") == 0) return c;
    if (strcmp(family, "mixtral") == 0) {
        c.experts = 3, c.top_k = 2, c.normalise = true;
        return c;
    }
    c.norm = HPC_LAYER, c.gated = false, c.act = HPC_GELU_TANH, c.kv_heads = 4;
    c.qkv_bias = c.out_bias = c.mlp_bias = true;
    if (strcmp(family, "gpt2") == 0) c.position = HPC_LEARNED, c.tied = true;
    if (strcmp(family, "gpt_neox") == 0) c.parallel = true;
    return c;
}

static int pack(const char *to, const char *from, hpc_dtype d, const char *tokenizer)
{
    const hpc_packed_options o = {.dtype = d, .tokenizer = tokenizer};
    hpc_model_config c;
    hpc_weights *w = NULL;
    int rc;
    TRY(hpc_model_config_read(&c, from));
    TRY(hpc_weights_open(&w, from, &c));
    TRY(hpc_packed_save(to, w, &c, &o));
out:
    hpc_weights_close(w);
    return rc;
}

/* ---- numbers --------------------------------------------------------------------------------- */

typedef struct served {
    hpc_model_config c;
    hpc_dtype dtype;
    hpc_weights *w;
    hpc_packed *k;
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
} served;

static hpc_dtype type_of(const hpc_model_tensor *t, const void *user)
{
    const served *s = user;
    return s->k ? hpc_packed_dtype(s->k, t) : hpc_serve_choose(s->w, t, s->dtype);
}

/* From a packed file the state is lent, else it is loaded. */
static int open_served(served *s, const char *path, hpc_dtype d)
{
    const hpc_serve_emission e = {.tokens = 4,
                                  .sequences = 1,
                                  .outputs = 1,
                                  .pages = 1,
                                  .page = 4,
                                  .sequence_pages = 1,
                                  .dtype = type_of,
                                  .user = s};
    hpc_exec_options o = {0};
    hpc_lent *lent = NULL;
    hpc_serve_io io;
    int rc;
    *s = (served){.dtype = d};
    TRY(hpc_model_config_read(&s->c, path));
    if (hpc_is_packed(path))
        TRY(hpc_packed_open(&s->k, path));
    else
        TRY(hpc_weights_open(&s->w, path, &s->c));
    s->c.dtype = HPC_F32;
    s->p = hpc_program_create();
    if (!s->p) TRY(HPC_E_NOMEM);
    TRY(hpc_serve_emit(&io, s->p, &s->c, &e));
    TRY(hpc_device_open(&s->d, &(hpc_device_options){.threads = 2}));
    if (s->k) TRY(hpc_packed_lend(&lent, &o.lent_n, s->k, s->p));
    o.lent = lent;
    TRY(hpc_exec_open(&s->e, s->p, s->d, NULL, &o));
    if (s->w) TRY(hpc_serve_load(s->e, s->p, s->d, s->w, &s->c));
out:
    hpc_free(lent);
    return rc;
}

static void close_served(served *s)
{
    hpc_exec_close(s->e);
    hpc_device_close(s->d);
    hpc_program_free(s->p);
    hpc_weights_close(s->w);
    hpc_packed_close(s->k);
}

static void check_alike(served *a, served *b)
{
    hpc_model_tensor *list;
    int64_t n;
    test_ok(hpc_model_tensors(&list, &n, &a->c));
    assert_true(n > 8);
    for (int64_t k = 0; k < n; k++) {
        hpc_value va = hpc_program_find(a->p, list[k].name),
                  vb = hpc_program_find(b->p, list[k].name);
        const hpc_type *ta = &a->p->value[va].type, *tb = &b->p->value[vb].type;
        assert_true(ta->dtype == tb->dtype && ta->pack == tb->pack);
        assert_memory_equal(hpc_exec_address(a->e, 0, va), hpc_exec_address(b->e, 0, vb),
                            hpc_type_bytes(ta));
    }
    hpc_free(list);
}

static void check_file(void **state, const char *from)
{
    static const hpc_dtype types[] = {HPC_DTYPE_N, HPC_F32,  HPC_BF16, HPC_F16,
                                      HPC_Q8_0,    HPC_Q4_0, HPC_Q4_K};
    char path[PATH_MAX];
    double a, b;
    hpc_test_path(path, *state, "model.packed");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        served loaded, lent;
        test_ok(pack(path, from, types[i], NULL));
        test_ok(open_served(&loaded, from, types[i]));
        test_ok(open_served(&lent, path, types[i]));
        test_ok(hpc_packed_verify(lent.k));
        assert_null(model_config_difference(&a, &b, &loaded.c, &lent.c));
        assert_true(hpc_exec_placement(lent.e)->bytes[HPC_SPACE_STATE] <
                    hpc_exec_placement(loaded.e)->bytes[HPC_SPACE_STATE] / 20);
        check_alike(&loaded, &lent);
        close_served(&loaded);
        close_served(&lent);
    }
}

static void of_every_family(void **state)
{
    static const char *const families[] = {"llama", "gpt2", "gpt_neox", "mixtral"};
    char path[PATH_MAX];
    for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
        hpc_model_config c = config_of(families[k]);
        hpc_weights_save_options o = {.dtype = k % 2 ? HPC_BF16 : HPC_F32, .read = drawn};
        test_ok(hpc_weights_save(hpc_test_path(path, *state, families[k]), &c, &o));
        check_file(state, path);
    }
}

static void of_every_stored_type(void **state)
{
    static const hpc_dtype types[] = {HPC_F16, HPC_Q8_0, HPC_Q4_0, HPC_Q4_K};
    char path[PATH_MAX];
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        hpc_model_config c = config_of("llama");
        hpc_gguf_options o = {.dtype = types[k], .read = drawn};
        c.tied = k % 2;
        test_ok(hpc_weights_save_gguf(hpc_test_path(path, *state, "model.gguf"), &c, &o));
        check_file(state, path);
    }
}

/* ---- tokenizer and metadata ------------------------------------------------------------------ */

static const char *make_source(char path[PATH_MAX], void **state)
{
    hpc_model_config c = config_of("llama");
    hpc_weights_save_options o = {.dtype = HPC_F32, .read = drawn};
    c.hidden = 32, c.ffn = 32, c.vocab = 40;
    test_ok(hpc_weights_save(hpc_test_path(path, *state, "src"), &c, &o));
    return path;
}

static void tokenizers_come_along(void **state)
{
    static const char text[] = "for (int i = 0; i < 10; i++)\n\ta[i] += 'x';";
    static const char *const from[] = {SPM, JSON, "share/pilot.gguf"};
    char path[PATH_MAX], source[PATH_MAX];
    make_source(source, state);
    hpc_test_path(path, *state, "a.packed");
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
        hpc_tokenizer *t[2];
        hpc_tokenizer_scratch *s[2];
        hpc_ids ids[2] = {{0}};
        test_ok(pack(path, source, HPC_DTYPE_N, from[k]));
        for (int i = 0; i < 2; i++) {
            test_ok(hpc_model_tokenizer(&t[i], i ? path : from[k]));
            test_ok(hpc_tokenizer_scratch_create(&s[i], t[i]));
            test_ok(hpc_tokenizer_encode(&ids[i], t[i], s[i], text, sizeof text - 1,
                                         HPC_ENCODE_BEGIN | HPC_ENCODE_END));
        }
        hpc_hash128 ha = hpc_tokenizer_hash(t[0]), hb = hpc_tokenizer_hash(t[1]);
        assert_true(ha.low == hb.low && ha.high == hb.high);
        hpc_tokenizer_special a = hpc_tokenizer_specials(t[0]), b = hpc_tokenizer_specials(t[1]);
        assert_true(a.begin == b.begin && a.end == b.end && a.pad == b.pad &&
                    a.unknown == b.unknown && a.add_begin == b.add_begin && a.add_end == b.add_end);
        assert_true(ids[0].n > 5 && ids[0].n == ids[1].n);
        assert_memory_equal(ids[0].id, ids[1].id, (size_t)ids[0].n * sizeof *ids[0].id);
        for (int i = 0; i < 2; i++) {
            hpc_free(ids[i].id);
            hpc_tokenizer_scratch_free(s[i]);
            hpc_tokenizer_close(t[i]);
        }
    }
}

/* Settings stored with a tokenizer are packed, and restored in a directory. */
static void what_is_beside_them_too(void **state)
{
    static const char config[] = "{\"add_bos_token\": true, \"add_eos_token\": true}";
    char path[PATH_MAX], source[PATH_MAX], dir[PATH_MAX], at[PATH_MAX];
    hpc_tokenizer *t;
    make_source(source, state);
    test_ok(hpc_model_tokenizer_copy(source, SPM));
    test_ok(hpc_file_save(hpc_test_path(at, *state, "src/tokenizer_config.json"), config,
                          sizeof config - 1));
    test_ok(pack(hpc_test_path(path, *state, "a.packed"), source, HPC_DTYPE_N, source));
    test_ok(hpc_file_mkdir(hpc_test_path(dir, *state, "dir")));
    test_ok(hpc_model_tokenizer_copy(dir, path));
    const char *const from[] = {source, path, dir};
    for (int k = 0; k < 3; k++) {
        test_ok(hpc_model_tokenizer(&t, from[k]));
        hpc_tokenizer_special s = hpc_tokenizer_specials(t);
        assert_true(s.add_begin && s.add_end && s.begin == 1 && s.end == 2);
        hpc_tokenizer_close(t);
    }
}

static void it_is_there_to_be_run(void **state)
{
    char path[PATH_MAX], source[PATH_MAX];
    hpc_model_config c;
    hpc_weights *w;
    hpc_tokenizer *t;
    make_source(source, state);
    hpc_test_path(path, *state, "a.packed");
    test_ok(pack(path, source, HPC_Q8_0, NULL));
    test_ok(hpc_model_config_read(&c, path));
    test_fails(hpc_weights_open(&w, path, &c), HPC_E_UNSUPPORTED,
               "a.packed: a packed model can only be run");
    test_fails(hpc_model_tokenizer(&t, path), HPC_E_ARG, "a.packed: it has no tokenizer");
    assert_true(hpc_is_packed("x.packed") && !hpc_is_packed(".packed") && !hpc_is_packed("packed"));
}

/* ---- mistakes -------------------------------------------------------------------------------- */

typedef struct file { /* aligned bytes that are not a byte too many */
    uint8_t *data;
    size_t n;
    model_packed_head *h;
    model_packed_entry *e;
} file;

static file read_file(const char *path)
{
    hpc_file_view v;
    file f;
    test_ok(hpc_file_open(&v, path));
    f.n = v.bytes;
    f.data = hpc_alloc_aligned(f.n, 1, HPC_ALIGN);
    assert_non_null(f.data);
    memcpy(f.data, v.data, f.n);
    f.h = (model_packed_head *)f.data;
    f.e = (model_packed_entry *)(f.data + sizeof *f.h);
    hpc_file_close(&v);
    return f;
}

/* With the hash that belongs to it. */
static void refuses(file *f, int code, const char *part)
{
    const size_t at = offsetof(model_packed_head, file_bytes);
    hpc_packed *k;
    if (f->h->data_at > at && f->h->data_at <= f->n)
        f->h->hash = hpc_hash(f->data + at, (size_t)f->h->data_at - at, 0);
    test_fails(model_packed_parse(&k, f->data, f->n, "FILE"), code, part);
    assert_null(k);
}

#define BAD(member, value, code, part)                                                             \
    do {                                                                                           \
        file f = read_file(path);                                                                  \
        f.member = (value);                                                                        \
        refuses(&f, (code), (part));                                                               \
        hpc_free(f.data);                                                                          \
    } while (0)

static void what_is_from_elsewhere_says_so(void **state)
{
    char path[PATH_MAX], source[PATH_MAX];
    make_source(source, state);
    test_ok(pack(hpc_test_path(path, *state, "a.packed"), source, HPC_Q8_0, SPM));
    BAD(h->magic[0], 'h', HPC_E_FORMAT, "FILE: not a packed model");
    BAD(h->order, 0x04030201, HPC_E_UNSUPPORTED,
        "its byte order is not supported; rebuild it with hpccoder");
    BAD(h->version, 1, HPC_E_UNSUPPORTED,
        "of version 1 are not supported, only version 3; rebuild it");
    BAD(h->version, 4, HPC_E_UNSUPPORTED, "of version 4 are not supported");
    BAD(h->layout[5], '3', HPC_E_UNSUPPORTED,
        "FILE: its data layout is panel36/64, this program needs panel16/64; rebuild it with "
        "hpccoder export MODEL --to packed --out FILE.packed");
    file f = read_file(path);
    memset(f.h->layout, 'x', sizeof f.h->layout);
    refuses(&f, HPC_E_UNSUPPORTED, "layout is xxxxxxxxxxxxxxxxxxxxxxxx, this");
    hpc_free(f.data);
}

static void a_damaged_head_is_refused(void **state)
{
    char path[PATH_MAX], source[PATH_MAX];
    const uint64_t huge = UINT64_MAX;
    make_source(source, state);
    test_ok(pack(hpc_test_path(path, *state, "a.packed"), source, HPC_Q8_0, SPM));
    BAD(h->file_bytes, f.n + 64, HPC_E_FORMAT, "truncated or damaged");
    BAD(h->data_at, f.h->data_at + 4096, HPC_E_FORMAT, "the parts are inconsistent");
    BAD(h->data_at, 0, HPC_E_FORMAT, "are inconsistent");
    BAD(h->data_at, huge, HPC_E_FORMAT, "are inconsistent");
    BAD(h->tensors, huge, HPC_E_FORMAT, "are inconsistent");
    BAD(h->tensors, huge / 152 + 2, HPC_E_FORMAT, "are inconsistent");
    BAD(h->config_bytes, huge - 100, HPC_E_FORMAT, "are inconsistent");
    BAD(h->tokenizer_bytes, huge - 100, HPC_E_FORMAT, "are inconsistent");
    BAD(h->metadata_bytes, huge, HPC_E_FORMAT, "are inconsistent");
    BAD(h->prepared_bytes, huge - 100, HPC_E_FORMAT, "are inconsistent");
    BAD(h->config_bytes, f.h->config_bytes - 9, HPC_E_FORMAT, "FILE: its configuration");
    BAD(h->tensors, f.h->tensors - 1, HPC_E_FORMAT, "FILE: ");
    BAD(e[0].name[0], '\n', HPC_E_FORMAT, "the name of a tensor or of its type is damaged");
    BAD(e[0].name[0], '\0', HPC_E_FORMAT, "the name of a tensor");
    BAD(e[1].name[0], 'n', HPC_E_FORMAT, "is missing");
    BAD(e[2], f.e[1], HPC_E_FORMAT, "it occurs twice");
    BAD(e[1].dtype[1], '9', HPC_E_ARG, "FILE: tensor model.layers.0.input_layernorm.weight: ");
    BAD(e[1].rank, 0, HPC_E_FORMAT, "neither a vector nor a matrix");
    BAD(e[1].rank, 3, HPC_E_FORMAT, "neither a vector nor a matrix");
    BAD(e[1].pack, HPC_PANEL16, HPC_E_FORMAT, "its layout is unknown");
    BAD(e[0].pack, 7, HPC_E_FORMAT, "its layout is unknown");
    BAD(e[0].extent[0], 0, HPC_E_FORMAT, "out of range");
    BAD(e[0].extent[0], -1, HPC_E_FORMAT, "out of range");
    BAD(e[0].extent[0], INT64_MAX, HPC_E_FORMAT, "out of range");
    BAD(e[0].extent[1], (int64_t)1 << 41, HPC_E_FORMAT, "out of range");
    BAD(e[0].extent[1], 33, HPC_E_FORMAT, "not multiples of a block");
    BAD(e[0].extent[0], 41, HPC_E_FORMAT, "does not match its shape");
    BAD(e[0].bytes, huge, HPC_E_FORMAT, "does not match its shape");
    BAD(e[1].at, f.e[1].at - 64, HPC_E_FORMAT, "does not follow the previous one");
    BAD(e[1].at, f.e[1].at + 1, HPC_E_FORMAT, "does not follow");
    BAD(e[1].at, huge, HPC_E_FORMAT, "does not follow");
    file f = read_file(path);
    f.data[f.n - 1] ^= 1; /* of a number: opened, and found when it is looked for */
    hpc_packed *k;
    test_ok(model_packed_parse(&k, f.data, f.n, "FILE"));
    test_fails(hpc_packed_verify(k), HPC_E_FORMAT, "FILE: tensor lm_head.weight: it is damaged");
    hpc_packed_close(k);
    f.data[f.h->data_at - 1] ^= 1;
    test_fails(model_packed_parse(&k, f.data, f.n, "FILE"), HPC_E_FORMAT, "the hash is wrong");
    hpc_free(f.data);
}

/* Of the two forms of a tokenizer the prepared one is opened; that they are alike is found when it
 * is looked for. */
static void a_damaged_tokenizer_is_found(void **state)
{
    static const char *const says[] = {"a.packed:",
                                       "a.packed: its prepared tokenizer does not match"};
    char path[PATH_MAX], source[PATH_MAX];
    hpc_packed *k;
    hpc_tokenizer *t;
    make_source(source, state);
    test_ok(pack(hpc_test_path(path, *state, "a.packed"), source, HPC_Q8_0, JSON));
    test_ok(hpc_packed_open(&k, path));
    test_ok(hpc_packed_verify(k));
    hpc_packed_close(k);
    for (int prepared = 0; prepared < 2; prepared++) {
        file f = read_file(path);
        uint8_t *json = (uint8_t *)&f.e[f.h->tensors] + f.h->config_bytes;
        json[prepared ? f.h->tokenizer_bytes : 0] ^= 1;
        const size_t at = offsetof(model_packed_head, file_bytes);
        f.h->hash = hpc_hash(f.data + at, (size_t)f.h->data_at - at, 0);
        test_ok(hpc_file_save(hpc_test_path(source, *state, "ba.packed"), f.data, f.n));
        test_ok(hpc_packed_open(&k, source));
        test_fails(hpc_packed_verify(k), HPC_E_FORMAT, says[prepared]);
        hpc_packed_close(k);
        if (prepared)
            test_fails(hpc_model_tokenizer(&t, source), HPC_E_FORMAT,
                       "a.packed: the prepared tokenizer is damaged: its header is wrong");
        hpc_free(f.data);
    }
}

/* Types that a program does not have there. */
static void another_layout_is_not_lent(void **state)
{
    char path[PATH_MAX], source[PATH_MAX];
    served s;
    make_source(source, state);
    test_ok(pack(hpc_test_path(path, *state, "a.packed"), source, HPC_BF16, NULL));
    file f = read_file(path);
    assert_int_equal(f.e[0].pack, HPC_PLAIN); /* rows are taken of an embedding */
    f.e[0].pack = HPC_PANEL16;                /* 8 rows more, to whole panels */
    f.e[0].bytes = 48 * 32 * 2;
    uint64_t more = 8 * 32 * 2;
    f.h->file_bytes += more;
    for (uint64_t k = 1; k < f.h->tensors; k++) f.e[k].at += more;
    const size_t at = offsetof(model_packed_head, file_bytes);
    f.h->hash = hpc_hash(f.data + at, (size_t)f.h->data_at - at, 0);
    hpc_buf all = {0};
    static const char zeros[8 * 32 * 2];
    test_ok(hpc_buf_add(&all, f.data, f.n));
    test_ok(hpc_buf_add(&all, zeros, (size_t)more));
    test_ok(hpc_file_save(path, all.data, all.n));
    test_fails(open_served(&s, path, HPC_DTYPE_N), HPC_E_UNSUPPORTED,
               "model.embed_tokens.weight is bf16[40,32]/panel16, this program needs bf16[40,32]; "
               "rebuild it");
    close_served(&s);
    hpc_buf_release(&all);
    hpc_free(f.data);
}

static void every_cut_is_refused(void **state)
{
    char path[PATH_MAX], source[PATH_MAX];
    make_source(source, state);
    test_ok(pack(hpc_test_path(path, *state, "a.packed"), source, HPC_Q8_0, NULL));
    file f = read_file(path);
    for (size_t n = 0; n < f.n; n += n < 400 ? 1 : 131) {
        uint8_t *cut = hpc_alloc_aligned(n ? n : 1, 1, HPC_ALIGN);
        hpc_packed *k;
        memcpy(cut, f.data, n);
        test_fails(model_packed_parse(&k, cut, n, "FILE"), HPC_E_FORMAT, "FILE: ");
        hpc_free(cut);
    }
    hpc_free(f.data);
}

/* ---- faults ---------------------------------------------------------------------------------- */

typedef struct paths {
    char from[PATH_MAX], to[PATH_MAX];
} paths;

static int whole_life(void *user)
{
    const paths *p = user;
    served s = {0};
    int rc = pack(p->to, p->from, HPC_Q8_0, SPM);
    if (rc < 0) return rc;
    rc = open_served(&s, p->to, HPC_DTYPE_N);
    close_served(&s);
    return rc;
}

static void memory_may_be_short_anywhere(void **state)
{
    paths p;
    make_source(p.from, state);
    hpc_test_path(p.to, *state, "a.packed");
    assert_true(hpc_test_each_alloc(whole_life, &p) > 50);
}

static char source_of[PATH_MAX];

static int write_it(void *path)
{
    return pack(path, source_of, HPC_Q8_0, NULL);
}

static int read_it(void *path)
{
    hpc_packed *k;
    int rc = hpc_packed_open(&k, path);
    if (rc >= 0) rc = hpc_packed_verify(k);
    hpc_packed_close(k);
    return rc;
}

static void it_is_whole_or_not_there(void **state)
{
    char path[PATH_MAX];
    make_source(source_of, state);
    hpc_test_path(path, *state, "a.packed");
    assert_true(hpc_test_whole_or_none(write_it, read_it, path,
                                       ((const hpc_test_folder *)*state)->root, 1) > 5);
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(of_every_family),           TEST(of_every_stored_type),
        TEST(tokenizers_come_along),     TEST(what_is_beside_them_too),
        TEST(it_is_there_to_be_run),     TEST(what_is_from_elsewhere_says_so),
        TEST(a_damaged_head_is_refused), TEST(another_layout_is_not_lent),
        TEST(every_cut_is_refused),      TEST(memory_may_be_short_anywhere),
        TEST(it_is_whole_or_not_there),  TEST(a_damaged_tokenizer_is_found),
    };
    return cmocka_run_group_tests_name("model/packed", tests, NULL, NULL);
}
