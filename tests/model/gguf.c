/*
 * gguf.c: round trips of GGUF files, damage of every kind that the format allows, and failures of
 * memory and disk.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/priv.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

static const float matrix[6] = {1, 2, 3, -4, 5, 0.5f};
static const uint16_t halves[3] = {0x3F80, 0xC000, 0x0000};
static const uint8_t block[34] = {0x00, 0x3C, 1, 2, 3, 255};

static const hpc_stored_tensor list[] = {
    {"blk.0.attn_q.weight", HPC_F32, 2, {2, 3}, NULL, sizeof matrix},
    {"bias", HPC_BF16, 1, {3}, NULL, sizeof halves},
    {"nothing", HPC_F16, 2, {0, 7}, NULL, 0},
    {"packed", HPC_Q8_0, 2, {1, 32}, NULL, sizeof block},
};
enum { N = sizeof list / sizeof *list };

static int give(hpc_file_writer *w, int64_t i, void *user)
{
    (void)user;
    const void *data[] = {matrix, halves, "", block};
    return hpc_file_write(w, data[i], list[i].bytes);
}

static const int64_t minus = -7;
static const uint64_t most = UINT64_MAX;
static const float third = 1e-5f;
static const double pi = 3.25;
static const uint8_t yes = 1, bytes[3] = {1, 0, 255};
static const char texts[] = "\2\0\0\0\0\0\0\0hi\0\0\0\0\0\0\0\0";

static const hpc_gguf_value values[] = {
    {"general.architecture", HPC_GGUF_TEXT, 0, 0, "llama", 5},
    {"a.u8", HPC_GGUF_U8, 0, 0, &most, 1},
    {"a.i8", HPC_GGUF_I8, 0, 0, &minus, 1},
    {"a.u16", HPC_GGUF_U16, 0, 0, &most, 2},
    {"a.i16", HPC_GGUF_I16, 0, 0, &minus, 2},
    {"a.u32", HPC_GGUF_U32, 0, 0, &most, 4},
    {"a.i32", HPC_GGUF_I32, 0, 0, &minus, 4},
    {"a.u64", HPC_GGUF_U64, 0, 0, &most, 8},
    {"a.i64", HPC_GGUF_I64, 0, 0, &minus, 8},
    {"a.f32", HPC_GGUF_F32, 0, 0, &third, 4},
    {"a.f64", HPC_GGUF_F64, 0, 0, &pi, 8},
    {"a.bool", HPC_GGUF_BOOL, 0, 0, &yes, 1},
    {"a.texts", HPC_GGUF_LIST, HPC_GGUF_TEXT, 2, texts, 18},
    {"hpccoder.tokenizer.model", HPC_GGUF_LIST, HPC_GGUF_U8, 3, bytes, 3},
};
enum { VALUES = sizeof values / sizeof *values };

static void save(const char *path)
{
    test_ok(hpc_gguf_save(path, values, VALUES, list, N, give, NULL));
}

static void check_numbers(const hpc_gguf *g)
{
    static const struct {
        const char *key;
        int64_t is;
    } whole[] = {{"a.u8", 255}, {"a.i8", -7},          {"a.u16", 65535}, {"a.i16", -7},
                 {"a.i32", -7}, {"a.u32", UINT32_MAX}, {"a.i64", -7}};
    int64_t n;
    double x;
    bool is;
    char text[4];
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++) {
        test_ok(model_gguf_int(&n, g, whole[k].key, 0));
        assert_int_equal(n, whole[k].is);
        test_ok(model_gguf_real(&x, g, whole[k].key, 0));
        assert_true(x == (double)whole[k].is);
    }
    test_fails(model_gguf_int(&n, g, "a.u64", 0), HPC_E_FORMAT, "key a.u64: expected a 63-bit");
    test_fails(model_gguf_int(&n, g, "a.f32", 0), HPC_E_FORMAT, "key a.f32: expected an integer");
    test_ok(model_gguf_real(&x, g, "a.f32", 0));
    assert_true(x == 1e-5);
    test_ok(model_gguf_real(&x, g, "a.f64", 0));
    assert_true(x == pi);
    test_fails(model_gguf_real(&x, g, "a.texts", 0), HPC_E_FORMAT, "key a.texts: expected");
    test_ok(model_gguf_bool(&is, g, "a.bool", false));
    assert_true(is);
    test_fails(model_gguf_bool(&is, g, "a.u8", false), HPC_E_FORMAT, "key a.u8: expected true or");
    test_ok(model_gguf_text(text, sizeof text, g, "general.architecture"));
    assert_string_equal(text, "lla");
    test_fails(model_gguf_text(text, sizeof text, g, "a.u8"), HPC_E_FORMAT,
               "key a.u8: expected a text");
    test_ok(model_gguf_int(&n, g, "absent", 12));
    assert_int_equal(n, 12);
    test_fails(model_gguf_int(&n, g, "absent", MODEL_REQUIRED), HPC_E_FORMAT,
               "key absent is missing");
}

static void what_is_written_is_read(void **state)
{
    char path[PATH_MAX];
    hpc_gguf *g;
    hpc_stored_tensor t;
    const void *data[] = {matrix, halves, "", block};
    const char *name;
    hpc_buf tokenizer = {0};
    save(hpc_test_path(path, *state, "a.gguf"));
    test_ok(hpc_gguf_open(&g, path));
    assert_int_equal(hpc_gguf_n(g), N);
    for (int64_t i = 0; i < N; i++) {
        test_ok(hpc_gguf_find(&t, g, list[i].name));
        assert_int_equal(t.dtype, list[i].dtype);
        assert_int_equal(t.rank, list[i].rank);
        assert_int_equal(t.bytes, list[i].bytes);
        for (int k = 0; k < t.rank; k++) assert_int_equal(t.extent[k], list[i].extent[k]);
        assert_memory_equal(t.data, data[i], t.bytes);
        assert_int_equal((uintptr_t)t.data % 32, 0);
    }
    test_fails(hpc_gguf_find(&t, g, "other"), HPC_E_FORMAT, "there is no tensor other");
    for (int64_t i = 0; i < VALUES; i++) { /* after general.alignment */
        const hpc_gguf_value *v = hpc_gguf_value_at(g, i + 1);
        assert_string_equal(v->key, values[i].key);
        assert_int_equal(v->kind, values[i].kind);
        assert_int_equal(v->bytes, values[i].bytes);
        assert_memory_equal(v->data, values[i].data, v->bytes);
        assert_ptr_equal(hpc_gguf_get(g, v->key), v);
        if (v->kind == HPC_GGUF_LIST) assert_int_equal(v->n, values[i].n);
    }
    assert_null(hpc_gguf_value_at(g, VALUES + 1));
    assert_null(hpc_gguf_get(g, "other"));
    check_numbers(g);
    test_ok(hpc_gguf_tokenizer(&name, &tokenizer, g));
    assert_string_equal(name, "tokenizer.model");
    assert_int_equal(tokenizer.n, sizeof bytes);
    assert_memory_equal(tokenizer.data, bytes, sizeof bytes);
    hpc_buf_release(&tokenizer);
    hpc_gguf_close(g);
}

/* ---- damage --------------------------------------------------------------------------------- */

typedef struct made {
    uint8_t data[4096];
    size_t n;
} made;

static void add(made *m, const void *data, size_t n)
{
    assert_true(m->n + n <= sizeof m->data);
    memcpy(m->data + m->n, data, n);
    m->n += n;
}

static void add_number(made *m, uint64_t x, size_t n)
{
    add(m, &x, n);
}

static void add_name(made *m, const char *name)
{
    add_number(m, strlen(name), 8);
    add(m, name, strlen(name));
}

static made begin(uint32_t version, uint64_t tensors, uint64_t keys)
{
    made m = {.n = 0};
    add(&m, "GGUF", 4);
    add_number(&m, version, 4);
    add_number(&m, tensors, 8);
    add_number(&m, keys, 8);
    return m;
}

static void add_tensor(made *m, const char *name, uint64_t extent, uint32_t type, uint64_t at)
{
    add_name(m, name);
    add_number(m, 1, 4);
    add_number(m, extent, 8);
    add_number(m, type, 4);
    add_number(m, at, 8);
}

/* Parses a header with aligned data of this size, in a copy, so that reads past its end are
 * detected. */
static int parse(made m, size_t data)
{
    static const uint8_t zeros[2048];
    hpc_gguf *g = NULL;
    add(&m, zeros, (32 - m.n % 32) % 32 + data);
    uint8_t *copy = malloc(m.n);
    memcpy(copy, m.data, m.n);
    int rc = model_gguf_parse(&g, copy, m.n, m.n, "FILE");
    hpc_gguf_close(g);
    free(copy);
    return rc;
}

static void headers_are_checked(void **state)
{
    (void)state;
    made m = {.n = 3};
    test_fails(parse((made){.data = "GGU", .n = 3}, 0), HPC_E_FORMAT, "FILE: not a GGUF file");
    test_fails(parse(begin(1, 0, 0), 0), HPC_E_UNSUPPORTED, "GGUF version 1 is older than 2");
    test_fails(parse(begin(4, 0, 0), 0), HPC_E_UNSUPPORTED, "GGUF version 4 is newer than 3");
    test_fails(parse(begin(3 << 24, 0, 0), 0), HPC_E_UNSUPPORTED, "big-endian files");
    test_fails(parse(begin(3, 1 << 20, 0), 0), HPC_E_FORMAT, "1048576 tensors do not fit into 32");
    test_fails(parse(begin(3, UINT64_MAX, 0), 0), HPC_E_FORMAT, "do not fit");
    test_fails(parse(begin(3, 0, UINT64_MAX), 0), HPC_E_FORMAT, "18446744073709551615 keys");
    test_ok(parse(begin(3, 0, 0), 0));
    test_ok(parse(begin(2, 0, 0), 0));
    m = begin(3, 0, 1);
    add_name(&m, "general.alignment");
    add_number(&m, HPC_GGUF_U32, 4);
    made align = m;
    add_number(&m, 24, 4);
    test_fails(parse(m, 0), HPC_E_FORMAT, "key general.alignment: 24 is not a power of two from 8");
    add_number(&align, 0, 4);
    test_fails(parse(align, 0), HPC_E_FORMAT, "key general.alignment: 0 is not a power of two");
}

static void keys_are_checked(void **state)
{
    (void)state;
    made m = begin(3, 0, 1);
    add_name(&m, "a b");
    test_fails(parse(m, 64), HPC_E_FORMAT, "the keys: a name has bytes that are not printable");
    m = begin(3, 0, 1);
    add_name(&m, "");
    test_fails(parse(m, 64), HPC_E_FORMAT, "the length of a name is out of range");
    m = begin(3, 0, 1);
    add_number(&m, UINT64_MAX, 8);
    test_fails(parse(m, 64), HPC_E_FORMAT, "the length of a name is out of range");
    made key = begin(3, 0, 1);
    add_name(&key, "k");
    m = key;
    add_number(&m, 13, 4);
    test_fails(parse(m, 64), HPC_E_FORMAT, "key k: its value has an unknown type");
    m = key;
    add_number(&m, HPC_GGUF_BOOL, 4);
    add_number(&m, 2, 1);
    test_fails(parse(m, 64), HPC_E_FORMAT, "key k: it is neither true nor false");
    m = key;
    add_number(&m, HPC_GGUF_TEXT, 4);
    add_number(&m, 1 << 20, 8);
    test_fails(parse(m, 64), HPC_E_FORMAT, "key k: the file is truncated");
    made many = key;
    add_number(&many, HPC_GGUF_LIST, 4);
    m = many;
    add_number(&m, HPC_GGUF_LIST, 4);
    add_number(&m, 1, 8);
    test_fails(parse(m, 64), HPC_E_UNSUPPORTED, "key k: lists of lists are not supported");
    m = many;
    add_number(&m, 99, 4);
    add_number(&m, 1, 8);
    test_fails(parse(m, 64), HPC_E_FORMAT, "key k: its items have an unknown type");
    m = many;
    add_number(&m, HPC_GGUF_F64, 4);
    add_number(&m, (uint64_t)1 << 61, 8);
    test_fails(parse(m, 64), HPC_E_FORMAT, "key k: it has more items than fit into the file");
    m = begin(3, 0, 2);
    for (int k = 0; k < 2; k++) add_name(&m, "k"), add_number(&m, HPC_GGUF_U8, 4), add(&m, "x", 1);
    test_fails(parse(m, 64), HPC_E_FORMAT, "key k: it occurs twice");
    m = begin(3, 0, 1);
    add_name(&m, "split.count");
    add_number(&m, HPC_GGUF_U16, 4);
    add_number(&m, 3, 2);
    test_fails(parse(m, 0), HPC_E_UNSUPPORTED, "key split.count: the file is one of 3 parts");
}

static void tensors_are_checked(void **state)
{
    (void)state;
    const struct {
        const char *name; /* of the second; the first is a: 8 floats at 0 */
        uint64_t extent;
        uint32_t type;
        uint64_t at;
        size_t data;
        int code;
        const char *says;
    } bad[] = {
        {"a", 8, 0, 32, 64, HPC_E_FORMAT, "tensor a: it occurs twice"},
        {"b", 8, 4, 32, 64, HPC_E_UNSUPPORTED, "tensor b has the unknown type 4"},
        {"b", 8, 0, 33, 64, HPC_E_FORMAT, "tensor b: its offset is not aligned"},
        {"b", 8, 0, 0, 64, HPC_E_FORMAT, "tensor b: it overlaps the previous one"},
        {"b", 8, 0, 64, 96, HPC_E_FORMAT, "tensor b: there is a gap before it"},
        {"b", 8, 0, 32, 63, HPC_E_FORMAT, "tensor b: bytes 32 to 64 of 63: the file is truncated"},
        {"b", 8, 0, 32, 96, HPC_E_FORMAT, "FILE: 32 bytes after the last tensor"},
        {"b", 33, 8, 32, 96, HPC_E_FORMAT, "tensor b: its rows are not multiples of a block"},
        {"b", (uint64_t)1 << 63, 0, 32, 64, HPC_E_FORMAT, "tensor b: its extents are out of range"},
        {"b", (uint64_t)1 << 61, 28, 32, 64, HPC_E_FORMAT, "tensor b: its extents are out of"},
        {"b", (uint64_t)1 << 59, 28, 32, 64, HPC_E_FORMAT, "tensor b: bytes 32 to 46116860184273"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        made m = begin(3, 2, 0);
        add_tensor(&m, "a", 8, 0, 0);
        add_tensor(&m, bad[k].name, bad[k].extent, bad[k].type, bad[k].at);
        test_fails(parse(m, bad[k].data), bad[k].code, bad[k].says);
    }
    made m = begin(3, 1, 0);
    add_name(&m, "z"); /* nothing in all, but not by whom multiplies the others first */
    add_number(&m, 3, 4);
    for (int i = 0; i < 3; i++) add_number(&m, i == 0 ? 0 : (uint64_t)1 << 40, 8);
    test_fails(parse(m, 64), HPC_E_FORMAT, "tensor z: its extents are out of range");
    m = begin(3, 1, 0);
    add_name(&m, "c");
    add_number(&m, 5, 4);
    test_fails(parse(m, 64), HPC_E_FORMAT, "tensor c: it has more than 4 extents");
    char name[129];
    memset(name, 'x', sizeof name - 1);
    name[128] = '\0';
    m = begin(3, 1, 0);
    add_tensor(&m, name, 1, 0, 0);
    test_fails(parse(m, 64), HPC_E_FORMAT, "the list of tensors: the length of a name is out");
}

static void other_types_are_refused_when_asked_for(void **state)
{
    (void)state;
    hpc_gguf *g;
    hpc_stored_tensor t;
    made m = begin(3, 2, 0);
    add_tensor(&m, "a", 256, 16, 0);
    add_tensor(&m, "b", 32, 2, 96);
    m.n = (m.n + 31) / 32 * 32 + 128;
    test_ok(model_gguf_parse(&g, m.data, m.n, m.n, "FILE"));
    test_fails(hpc_gguf_find(&t, g, "a"), HPC_E_UNSUPPORTED,
               "FILE: tensor a has type IQ2_XXS, which is not read; F32, F16, Q4_0, Q4_1");
    test_ok(hpc_gguf_find(&t, g, "b"));
    assert_int_equal(t.dtype, HPC_Q4_0);
    hpc_gguf_close(g);
}

static void what_gguf_does_not_have_is_not_written(void **state)
{
    char path[PATH_MAX], name[80];
    hpc_test_path(path, *state, "a.gguf");
    hpc_stored_tensor t = {"x", HPC_Q4_K, 2, {2, 32}, NULL, 36};
    test_fails(hpc_gguf_save(path, NULL, 0, &t, 1, give, NULL), HPC_E_SHAPE,
               "a.gguf: tensor x: rows of 32 are not a multiple of the block of Q4_K (256)");
    memset(name, 'x', sizeof name - 1);
    name[79] = '\0';
    t = (hpc_stored_tensor){name, HPC_F32, 1, {2}, NULL, 8};
    test_fails(hpc_gguf_save(path, NULL, 0, &t, 1, give, NULL), HPC_E_UNSUPPORTED,
               "GGUF has names of at most 63 bytes");
    assert_false(hpc_file_exists(path));
}

/* ---- files cut and changed everywhere ------------------------------------------------------- */

/* Opens a copy as long as the input, and reads all of what passes. Refusals have a message. */
static bool passes(const uint8_t *data, size_t n)
{
    hpc_gguf *g = NULL;
    uint8_t *copy = malloc(n ? n : 1);
    unsigned sum = 0;
    memcpy(copy, data, n);
    int rc = model_gguf_parse(&g, copy, n, n, "FILE");
    assert_true(rc >= 0 || (strncmp(hpc_error_get()->text, "FILE: ", 6) == 0 &&
                            !strchr(hpc_error_get()->text, '\n')));
    for (int64_t i = 0; rc >= 0 && i < hpc_gguf_n(g); i++) {
        hpc_stored_tensor t;
        hpc_gguf_at(&t, g, i);
        for (size_t k = 0; k < t.bytes; k++) sum += ((const uint8_t *)t.data)[k];
    }
    const hpc_gguf_value *v;
    for (int64_t i = 0; rc >= 0 && (v = hpc_gguf_value_at(g, i)); i++)
        for (size_t k = 0; k < v->bytes; k++) sum += ((const uint8_t *)v->data)[k];
    __asm__ volatile("" : : "r"(sum));
    hpc_error_clear();
    hpc_gguf_close(g);
    free(copy);
    return rc >= 0;
}

static void no_cut_and_no_byte_breaks_it(void **state)
{
    char path[PATH_MAX];
    hpc_buf whole = {0};
    int64_t refused = 0;
    save(hpc_test_path(path, *state, "a.gguf"));
    test_ok(hpc_file_read(&whole, path, 1 << 16));
    assert_true(passes((const uint8_t *)whole.data, whole.n));
    size_t last = whole.n - 30; /* the padding after 34 bytes may be missing */
    for (size_t n = 0; n < whole.n; n++)
        assert_int_equal(passes((const uint8_t *)whole.data, n), n >= last);
    size_t header = whole.n - 32 - 32 - 64;
    for (size_t at = 0; at < header; at++) {
        char was = whole.data[at];
        for (int x = 0; x < 256; x++) {
            whole.data[at] = (char)x;
            refused += !passes((const uint8_t *)whole.data, whole.n);
        }
        whole.data[at] = was;
    }
    assert_true(refused > (int64_t)header * 100);
    hpc_buf_release(&whole);
}

/* ---- failures ------------------------------------------------------------------------------- */

static int read_back(void *user)
{
    hpc_gguf *g = NULL;
    int rc = hpc_gguf_open(&g, user);
    hpc_gguf_close(g);
    return rc;
}

static int write_one(void *user)
{
    return hpc_gguf_save(user, values, VALUES, list, N, give, NULL);
}

static void failures_leave_nothing(void **state)
{
    const hpc_test_folder *f = *state;
    char path[PATH_MAX], other[PATH_MAX];
    save(hpc_test_path(path, f, "a.gguf"));
    hpc_test_path(other, f, "b.gguf");
    assert_true(hpc_test_each_alloc(read_back, path) > 3);
    hpc_test_fail_io(1);
    test_fails(read_back(path), HPC_E_IO, "cannot open");
    assert_true(hpc_test_each_alloc(write_one, other) > 1);
    test_ok(hpc_file_remove(other));
    int64_t failed = hpc_test_whole_or_none(write_one, read_back, other, f->root, 1);
    assert_true(failed > N + 3); /* open, the header, the data, fsync, rename */
}

#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(what_is_written_is_read),
        cmocka_unit_test(headers_are_checked),
        cmocka_unit_test(keys_are_checked),
        cmocka_unit_test(tensors_are_checked),
        cmocka_unit_test(other_types_are_refused_when_asked_for),
        IN_FOLDER(what_gguf_does_not_have_is_not_written),
        IN_FOLDER(no_cut_and_no_byte_breaks_it),
        IN_FOLDER(failures_leave_nothing),
    };
    return cmocka_run_group_tests_name("model/gguf", tests, NULL, NULL);
}
