/*
 * Tests of runtime/git/inflate.c, inflate_table.c and adler.c: streams with any
 * codes, cut and damaged; what no stream may say; the room that is given.
 */
#include "tests/git/deflating.h"

#include <stdlib.h>

#include "runtime/git/inflate.h"
#include "runtime/git/priv.h"

enum { GUARD = 64 };

typedef struct reader {
    git_inflater *f;
    uint8_t *out;
    size_t n;
} reader;

/* From memory that ends where the stream does, into memory that is guarded behind the slack. */
static int inflate(reader *r, const uint8_t *data, size_t data_n, size_t room)
{
    uint8_t *in = malloc(data_n + (data_n == 0));
    size_t whole = room + GIT_SLACK + GUARD;
    free(r->out);
    r->out = malloc(whole);
    assert_non_null(in);
    assert_non_null(r->out);
    memset(r->out, 0xa5, whole);
    if (data_n > 0) memcpy(in, data, data_n);
    r->n = room;
    int rc = git_inflate(r->out, &r->n, r->f, in, data_n);
    free(in);
    assert_true(r->n <= room);
    for (size_t k = room + GIT_SLACK; k < whole; k++) assert_int_equal(r->out[k], 0xa5);
    return rc;
}

static void assert_text(const reader *r, const stream *s, size_t n)
{
    assert_int_equal(r->n, n);
    assert_memory_equal(r->out, s->text, n);
}

static int setup(void **state)
{
    *state = calloc(1, sizeof(stream));
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static reader opened(void)
{
    reader r = {.f = git_inflater_create()};
    assert_non_null(r.f);
    return r;
}

static void closed(reader *r)
{
    git_inflater_free(r->f);
    free(r->out);
}

/* Several blocks of all kinds, with codes of all lengths. */
static void draw(stream *s, uint64_t seed)
{
    s->seed = seed;
    begin(s);
    unsigned blocks = 1 + drawn(s, 4);
    size_t most = drawn(s, 4) ? 300 : 50000;
    for (unsigned k = 0; k < blocks; k++) {
        bool last = k + 1 == blocks;
        size_t n = s->text_n + drawn(s, (unsigned)most);
        unsigned kind = drawn(s, 6);
        if (kind == 0) {
            stored_block(s, last, drawn(s, 3) ? drawn(s, 20) : drawn(s, 20000));
        } else if (kind == 1) {
            fixed_codes(s);
            block_begins(s, last, 1);
            put_random(s, n);
        } else {
            unsigned lean = drawn(s, 8);
            memset(s->length, 0, sizeof s->length);
            draw_code(s, s->length, LITERALS, kind == 2 ? 2 + (int)drawn(s, 285) : LITERALS, 256,
                      lean);
            draw_code(s, s->length + 288, DISTANCES, kind < 4 ? 2 + (int)drawn(s, 29) : DISTANCES,
                      (int)drawn(s, DISTANCES), lean);
            dynamic_begins(s, last, LITERALS, DISTANCES);
            put_random(s, n);
        }
    }
    finish(s);
}

static void any_codes(void **state)
{
    stream *s = *state;
    reader r = opened();
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        draw(s, seed);
        assert_int_equal(inflate(&r, s->data, s->n, s->text_n), GIT_INFLATED);
        assert_text(&r, s, s->text_n);
    }
    closed(&r);
}

static void room_is_all_that_is_filled(void **state)
{
    stream *s = *state;
    reader r = opened();
    for (uint64_t seed = 1; seed <= 300; seed++) {
        draw(s, seed);
        assert_int_equal(inflate(&r, s->data, s->n, s->text_n + 1), GIT_INFLATED);
        assert_text(&r, s, s->text_n);
        for (size_t less = 1; less <= s->text_n; less += 1 + less / 2) {
            assert_int_equal(inflate(&r, s->data, s->n, s->text_n - less), GIT_INFLATE_FULL);
            assert_text(&r, s, s->text_n - less);
        }
    }
    closed(&r);
}

static void what_follows_does_not_matter(void **state)
{
    stream *s = *state;
    reader r = opened();
    for (uint64_t seed = 1; seed <= 100; seed++) {
        draw(s, seed);
        for (size_t more = 1; more < 40; more += 3) {
            memset(s->data + s->n, (int)more, more);
            assert_int_equal(inflate(&r, s->data, s->n + more, s->text_n), GIT_INFLATED);
            assert_text(&r, s, s->text_n);
        }
    }
    closed(&r);
}

static void every_cut_is_told(void **state)
{
    stream *s = *state;
    reader r = opened();
    for (uint64_t seed = 1; seed <= 300; seed++) {
        draw(s, seed);
        size_t step = s->n < 400 ? 1 : s->n / 40;
        for (size_t n = 0; n < s->n; n += n + 40 < s->n ? step : 1) {
            assert_int_equal(inflate(&r, s->data, n, s->text_n + 1), GIT_INFLATE_BROKEN);
        }
    }
    closed(&r);
}

static void damage_stays_inside(void **state)
{
    stream *s = *state;
    reader r = opened();
    int64_t told = 0, tries = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        draw(s, seed);
        for (size_t k = 0; k < 60; k++, tries++) {
            /* Mostly where codes are described. */
            size_t at = drawn(s, 2) && s->n > 150 ? drawn(s, 150) : drawn(s, (unsigned)s->n);
            uint8_t change = (uint8_t)(1 + drawn(s, 255));
            s->data[at] ^= change;
            if (inflate(&r, s->data, s->n, s->text_n) == GIT_INFLATED)
                assert_text(&r, s, s->text_n); /* a code that nothing uses, and the like */
            else
                told++;
            s->data[at] ^= change;
        }
    }
    assert_true(told > tries * 9 / 10);
    closed(&r);
}

/* ---- what no stream may say ------------------------------------------------------- */

static void wrong_kind(stream *s)
{
    block_begins(s, true, 3);
}

static void wrong_stored_length(stream *s)
{
    stored_block(s, true, 8);
    s->data[5] ^= 1;
}

static void fixed_begins(stream *s)
{
    fixed_codes(s);
    block_begins(s, true, 1);
    put_literal(s, 'a');
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

static void one_distance(stream *s)
{
    memset(s->length, 0, sizeof s->length);
    s->length['a'] = 1;
    s->length[256] = s->length[258] = 2;
    s->length[288] = 1;
    dynamic_begins(s, true, 259, 1);
    put_literal(s, 'a');
}

static void unused_half(stream *s)
{
    one_distance(s);
    put_symbol(s, 258);
    put_bits(s, 1, 1);
    put_symbol(s, 256);
}

static void no_distances(stream *s)
{
    one_distance(s); /* a block that is not finished, left out below */
    begin(s);
    s->length[288] = 0;
    dynamic_begins(s, true, 259, 1);
    put_literal(s, 'a');
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
    reader r = opened();
    for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
        begin(s);
        form[k](s);
        finish(s);
        int rc = inflate(&r, s->data, s->n, 1000);
        if (rc != GIT_INFLATE_BROKEN) fail_msg("%zu: %d", k, rc);
    }
    /* But a single code of one bit is allowed. */
    begin(s);
    one_distance(s);
    put_copy(s, 4, 1);
    put_symbol(s, 256);
    finish(s);
    assert_int_equal(inflate(&r, s->data, s->n, 5), GIT_INFLATED);
    assert_memory_equal(r.out, "aaaaa", 5);
    closed(&r);
}

static void headers_and_checksums(void **state)
{
    stream *s = *state;
    reader r = opened();
    static const uint8_t good[][2] = {{0x78, 0x01}, {0x78, 0x9c}, {0x78, 0xda}, {0x18, 0x19}};
    static const uint8_t bad[][2] = {{0x78, 0x02}, {0x79, 0x18}, {0x88, 0x1c}, {0x78, 0x20}};
    begin(s);
    fixed_begins(s);
    put_symbol(s, 256);
    finish(s);
    for (int k = 0; k < 4; k++) {
        memcpy(s->data, good[k], 2);
        assert_int_equal(inflate(&r, s->data, s->n, 1), GIT_INFLATED);
        memcpy(s->data, bad[k], 2);
        assert_int_equal(inflate(&r, s->data, s->n, 1), GIT_INFLATE_BROKEN);
        assert_int_equal(r.n, 0);
    }
    memcpy(s->data, good[0], 2);
    for (size_t k = s->n - 4; k < s->n; k++) {
        s->data[k] ^= 1;
        assert_int_equal(inflate(&r, s->data, s->n, 1), GIT_INFLATE_BROKEN);
        s->data[k] ^= 1;
    }
    closed(&r);
}

static void checksums_are_those_of_the_definition(void **state)
{
    (void)state;
    enum { N = 20000 };
    uint8_t *p = malloc(N);
    assert_non_null(p);
    for (int pattern = 0; pattern < 2; pattern++) {
        for (size_t k = 0; k < N; k++) p[k] = (uint8_t)(pattern ? 255 : k * 7 ^ k >> 5);
        uint32_t a = 1, b = 0;
        for (size_t n = 0; n <= N; n++) {
            if (n < 700 || n % 97 == 0) assert_int_equal(git_adler(p, n), b << 16 | a);
            if (n < 200) assert_int_equal(git_adler(p + n, 0), 1);
            if (n == N) break;
            a = (a + p[n]) % 65521;
            b = (b + a) % 65521;
        }
    }
    free(p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(any_codes),
        TEST(room_is_all_that_is_filled),
        TEST(what_follows_does_not_matter),
        TEST(every_cut_is_told),
        TEST(damage_stays_inside),
        TEST(what_is_not_allowed),
        TEST(headers_and_checksums),
        TEST(checksums_are_those_of_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
