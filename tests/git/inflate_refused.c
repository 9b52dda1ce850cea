/*
 * Tests of runtime/git/inflate.c and inflate_table.c: rejection of invalid streams.
 */
/* tsan: left out, starts no thread. */
#include "tests/git/inflating.h"

static void wrong_kind(stream *s)
{
    block_begins(s, true, 3);
}

static void wrong_stored_length(stream *s)
{
    stored_block(s, true, 8);
    s->data[5] ^= 1;
}

static void length_without_meaning(stream *s)
{
    fixed_begins(s);
    put_symbol(s, 286);
    put_symbol(s, 288);
    put_symbol(s, 256);
}

static void distance_without_meaning(stream *s)
{
    fixed_begins(s);
    put_symbol(s, 257);
    put_symbol(s, 288 + 30);
    put_symbol(s, 256);
}

static void before_the_beginning(stream *s)
{
    fixed_begins(s);
    put_symbol(s, 257);
    put_symbol(s, 288 + 1);
    put_symbol(s, 256);
}

static void no_end(stream *s)
{
    memset(s->length, 0, sizeof s->length);
    s->length['a'] = s->length['b'] = 1;
    dynamic_begins(s, true, 257, 1);
    put_literal(s, 'a');
}

static void too_many_codes(stream *s)
{
    memset(s->length, 0, sizeof s->length);
    s->length['a'] = s->length['b'] = s->length[256] = 1;
    dynamic_begins(s, true, 257, 1);
    put_symbol(s, 256);
}

static void too_few_codes(stream *s)
{
    memset(s->length, 0, sizeof s->length);
    s->length['a'] = s->length[256] = 2;
    dynamic_begins(s, true, 257, 1);
    put_symbol(s, 256);
}

static void too_few_distances(stream *s)
{
    memset(s->length, 0, sizeof s->length);
    s->length['a'] = s->length[256] = 1;
    s->length[288] = 2;
    dynamic_begins(s, true, 257, 1);
    put_symbol(s, 256);
}

static void few_begin(stream *s, int distances)
{
    memset(s->length, 0, sizeof s->length);
    s->length['a'] = 1;
    s->length[256] = s->length[258] = 2;
    s->length[288] = (uint8_t)distances;
    dynamic_begins(s, true, 259, 1);
    put_literal(s, 'a');
}

static void unused_half(stream *s)
{
    few_begin(s, 1);
    put_symbol(s, 258);
    put_bits(s, 1, 1);
    put_symbol(s, 256);
}

static void no_distances(stream *s)
{
    few_begin(s, 0);
    put_symbol(s, 258);
    put_bits(s, 0, 1);
    put_symbol(s, 256);
}

static void too_many_symbols(stream *s)
{
    memset(s->length, 0, sizeof s->length);
    s->length['a'] = s->length[256] = 1;
    dynamic_begins(s, true, 287, 1);
    put_symbol(s, 256);
}

static void too_many_distances(stream *s)
{
    memset(s->length, 0, sizeof s->length);
    s->length['a'] = s->length[256] = 1;
    dynamic_begins(s, true, 257, 31);
    put_symbol(s, 256);
}

static void lengths_begin(stream *s, int symbol)
{
    block_begins(s, true, 2);
    put_bits(s, 0, 10);
    put_bits(s, 0, 4); /* 16, 17, 18 and 0 have codes */
    for (int k = 0; k < 4; k++) put_bits(s, 2, 3);
    static const int code[4] = {0, 1, 2, 3}; /* of 0, 16, 17, 18 */
    put_code(s, (unsigned)code[symbol], 2);
}

static void nothing_to_repeat(stream *s)
{
    lengths_begin(s, 1);
    put_bits(s, 0, 2);
    for (int k = 0; k < 40; k++) put_bits(s, 0, 8);
}

static void repeats_too_often(stream *s)
{
    lengths_begin(s, 3);
    put_bits(s, 127, 7);
    put_code(s, 3, 2);
    put_bits(s, 127, 7);
    for (int k = 0; k < 40; k++) put_bits(s, 0, 8);
}

static void what_is_not_allowed(void **state)
{
    stream *s = *state;
    static void (*const form[])(stream *) = {
        wrong_kind,
        wrong_stored_length,
        length_without_meaning,
        distance_without_meaning,
        before_the_beginning,
        no_end,
        too_many_codes,
        too_few_codes,
        too_few_distances,
        unused_half,
        no_distances,
        too_many_symbols,
        too_many_distances,
        nothing_to_repeat,
        repeats_too_often,
    };
    reader r = reader_opened();
    for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
        begin(s);
        form[k](s);
        finish(s);
        int rc = inflate(&r, s->data, s->n, 1000);
        if (rc != GIT_INFLATE_BROKEN) fail_msg("%zu: %d", k, rc);
    }
    /* But a single code of one bit is allowed. */
    begin(s);
    few_begin(s, 1);
    put_copy(s, 4, 1);
    put_symbol(s, 256);
    finish(s);
    assert_int_equal(inflate(&r, s->data, s->n, 5), GIT_INFLATED);
    assert_memory_equal(r.out, "aaaaa", 5);
    reader_closed(&r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, stream_setup, stream_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {TEST(what_is_not_allowed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
