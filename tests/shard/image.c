/*
 * Tests of runtime/shard/image.c and index.c: any changed byte, truncation or extension is
 * detected; offsets, tokens and positions are checked even with valid checksums.
 */
/* tsan: left out, starts no thread. */
#include "tests/shard/data.h"

static void load(hpc_buf *out, const place *p, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", p->whole, name);
    out->n = 0;
    assert_int_equal(hpc_file_read(out, path, SIZE_MAX), 0);
}

static int check(const void *data, size_t bytes)
{
    shard_image image;
    return shard_check(&image, data, bytes, "it");
}

static void test_every_flip_is_found(void **state)
{
    hpc_buf b = {0};
    load(&b, *state, "00000.shard");
    assert_int_equal(check(b.data, b.n), 0);
    for (size_t k = 0; k < b.n; k++)
        for (int bit = 0; bit < 8; bit++) {
            b.data[k] = (char)(b.data[k] ^ 1 << bit);
            bool newer = ((const shard_header *)(const void *)b.data)->version > HPC_SHARD_VERSION;
            assert_error(check(b.data, b.n), newer ? HPC_E_UNSUPPORTED : HPC_E_FORMAT, "it");
            b.data[k] = (char)(b.data[k] ^ 1 << bit);
        }
    assert_int_equal(check(b.data, b.n), 0);
    hpc_buf_release(&b);
}

/* In a block of exact size, so that the address sanitizer detects reads past the end. */
static void test_every_length_is_found(void **state)
{
    hpc_buf b = {0};
    load(&b, *state, "00000.shard");
    for (size_t n = 0; n < b.n; n++) {
        void *cut = malloc(n ? n : 1);
        memcpy(cut, b.data, n);
        assert_error(check(cut, n), HPC_E_FORMAT,
                     n < 8                      ? "is not a token shard"
                     : n < sizeof(shard_header) ? "truncated in its header"
                                                : "is truncated");
        free(cut);
    }
    assert_int_equal(hpc_buf_add(&b, "", 1), 0);
    assert_error(check(b.data, b.n), HPC_E_FORMAT, "it has 1 bytes after its end");
    hpc_buf_release(&b);
}

static void test_the_section_is_named(void **state)
{
    const char *const part[] = {"its tokens are damaged", "its offsets are damaged",
                                "its column 'label' is damaged", "its column 'loop' is damaged",
                                "its column 'change' is damaged"};
    hpc_buf b = {0};
    load(&b, *state, "00000.shard");
    const shard_header *h = (const void *)b.data;
    for (int k = 0; k < 5; k++) {
        b.data[h->section[k].at] ^= 1;
        assert_error(check(b.data, b.n), HPC_E_FORMAT, part[k]);
        b.data[h->section[k].at] ^= 1;
        size_t end = h->section[k].at + h->section[k].bytes;
        if (end % SHARD_ALIGN == 0) continue;
        b.data[end] ^= 1;
        assert_error(check(b.data, b.n), HPC_E_FORMAT, "between its sections");
        b.data[end] ^= 1;
    }
    b.data[sizeof *h - 1] ^= 1;
    assert_error(check(b.data, b.n), HPC_E_FORMAT, "its header is damaged");
    hpc_buf_release(&b);
}

/* ---- lies with the right checksums ------------------------------------------------ */

static void seal(hpc_buf *b)
{
    shard_header *h = (void *)b->data;
    for (int k = 0; k < SHARD_SECTIONS; k++)
        if (h->section[k].at + h->section[k].bytes <= b->n)
            h->section[k].hash = shard_hash(b->data + h->section[k].at, h->section[k].bytes);
    h->hash = shard_header_hash(h);
}

static void test_lies_are_found(void **state)
{
    hpc_buf b = {0};
    load(&b, *state, "00000.shard");
    shard_header *h = (void *)b.data;
    const shard_header was = *h;
    const size_t n = b.n;
    int64_t *const field[] = {&h->documents, &h->tokens, &h->number, &h->first, &h->shard_tokens};
    const int64_t value[] = {-1, INT64_MIN, INT64_MAX, SHARD_MOST, SHARD_MOST + 1, was.tokens + 1};
    for (size_t f = 0; f < 2; f++)
        for (size_t k = 0; k < sizeof value / sizeof *value; k++) {
            *field[f] = value[k];
            seal(&b);
            assert_error(check(b.data, n), HPC_E_FORMAT, "its header");
            *h = was;
        }
    for (size_t f = 2; f < 5; f++) {
        *field[f] = -1;
        seal(&b);
        assert_error(check(b.data, n), HPC_E_FORMAT, "the counts in its header");
        *h = was;
    }
    for (int k = 0; k < SHARD_SECTIONS; k++) {
        h->section[k].at += SHARD_ALIGN;
        h->hash = shard_header_hash(h);
        assert_error(check(b.data, n), HPC_E_FORMAT, "the offsets in its header are wrong");
        *h = was;
        h->section[k].bytes = UINT64_MAX - 8;
        h->hash = shard_header_hash(h);
        assert_error(check(b.data, n), HPC_E_FORMAT, "the offsets in its header are wrong");
        *h = was;
    }
    h->columns_n = HPC_SHARD_COLUMNS + 1;
    h->hash = shard_header_hash(h);
    assert_error(check(b.data, n), HPC_E_FORMAT, "the counts in its header");
    *h = was;
    h->column[1].type = 3;
    h->hash = shard_header_hash(h);
    assert_error(check(b.data, n), HPC_E_FORMAT, "has an unknown type");
    *h = was;
    memset(h->column[0].name, 'x', sizeof h->column[0].name);
    h->hash = shard_header_hash(h);
    assert_error(check(b.data, n), HPC_E_FORMAT, "no proper name");
    *h = was;
    h->version = 0;
    h->hash = shard_header_hash(h);
    assert_error(check(b.data, n), HPC_E_FORMAT, "its header is damaged");
    *h = was;
    h->version = 2;
    assert_error(check(b.data, n), HPC_E_UNSUPPORTED,
                 "it has shard format version 2 from a newer hpccoder");
    assert_error(check(b.data, 100), HPC_E_UNSUPPORTED, "version 2");
    hpc_buf_release(&b);
}

static void test_offsets_are_checked(void **state)
{
    hpc_buf b = {0};
    load(&b, *state, "00000.shard");
    const shard_header *h = (const void *)b.data;
    uint64_t *offset = (void *)(b.data + h->section[SHARD_OFFSETS].at);
    for (int64_t k = 0; k <= h->documents; k++) {
        const uint64_t was = offset[k], lies[] = {UINT64_MAX, (uint64_t)h->tokens + 1};
        for (int lie = 0; lie < 2; lie++) {
            offset[k] = lies[lie];
            seal(&b);
            assert_error(check(b.data, b.n), HPC_E_FORMAT, "its offsets do not fit");
        }
        offset[k] = was;
    }
    hpc_buf_release(&b);
}

static uint8_t *image_of(size_t *bytes, const int32_t *token, int64_t n, int64_t vocabulary)
{
    hpc_shard_spec spec = small_spec(vocabulary);
    shard_header h = {.documents = 1, .tokens = n, .shard_tokens = 1};
    spec.columns_n = 0;
    shard_header_fill(&h, &spec);
    hpc_buf b = {.data = calloc(1, h.bytes), .n = h.bytes, .cap = h.bytes};
    memcpy(b.data, &h, sizeof h);
    for (int64_t k = 0; k < n; k++)
        memcpy(b.data + h.section[SHARD_TOKENS].at + (uint64_t)k * h.width, &token[k], h.width);
    ((uint64_t *)(void *)(b.data + h.section[SHARD_OFFSETS].at))[1] = (uint64_t)n;
    seal(&b);
    *bytes = b.n;
    return (uint8_t *)b.data;
}

/* One token too large at every place of vectors, remainders and blocks. */
static void test_tokens_are_checked(void **state)
{
    (void)state;
    enum { MOST = 200 };
    int32_t token[MOST];
    const int64_t vocabularies[] = {300, 65535, 100000, INT32_MAX};
    for (size_t v = 0; v < 4; v++)
        for (int64_t n = 1; n < MOST; n += v % 2 ? 7 : 3)
            for (int64_t bad = -1; bad < n; bad += n < 70 ? 1 : 11) {
                size_t bytes;
                for (int64_t k = 0; k < n; k++) token[k] = (int32_t)(vocabularies[v] - 1);
                if (bad >= 0)
                    token[bad] = vocabularies[v] == 300 && bad % 2 ? 65535
                                 : vocabularies[v] == 100000 && bad % 2
                                     ? -1
                                     : (int32_t)(uint32_t)vocabularies[v];
                uint8_t *data = image_of(&bytes, token, n, vocabularies[v]);
                if (bad < 0)
                    assert_int_equal(check(data, bytes), 0);
                else
                    assert_error(check(data, bytes), HPC_E_FORMAT, "a token beyond its vocabulary");
                free(data);
            }
}

/* The first and the last token of the first, second and last block. */
static void test_blocks_are_checked(void **state)
{
    (void)state;
    enum { BLOCK = SHARD_BLOCK / 2, N = 2 * BLOCK + 77 };
    const int64_t at[] = {0, BLOCK - 1, BLOCK, 2 * BLOCK - 1, 2 * BLOCK, N - 1};
    int32_t *token = calloc(N, sizeof *token);
    for (int k = 0; k < 6; k++) {
        size_t bytes;
        token[at[k]] = 500;
        uint8_t *data = image_of(&bytes, token, N, 500);
        assert_error(check(data, bytes), HPC_E_FORMAT, "a token beyond");
        free(data);
        token[at[k]] = 0;
    }
    free(token);
}

#define IN_A_PLACE(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_PLACE(test_every_flip_is_found),      IN_A_PLACE(test_every_length_is_found),
        IN_A_PLACE(test_the_section_is_named),     IN_A_PLACE(test_lies_are_found),
        IN_A_PLACE(test_offsets_are_checked),      cmocka_unit_test(test_tokens_are_checked),
        cmocka_unit_test(test_blocks_are_checked),
    };
    return cmocka_run_group_tests_name("shard/image", tests, NULL, NULL);
}
