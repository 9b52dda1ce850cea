/*
 * Tests of runtime/git/inflate.c, inflate_decode.c, inflate_table.c and adler.c: streams with any
 * codes, truncated and damaged; output capacity; checksums.
 */
/* tsan: left out, starts no thread. */
#include "tests/git/inflating.h"

#include "runtime/git/inflate.h"

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
    reader r = reader_opened();
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        draw(s, seed);
        assert_int_equal(inflate(&r, s->data, s->n, s->text_n), GIT_INFLATED);
        assert_text(&r, s, s->text_n);
    }
    reader_closed(&r);
}

static void room_is_all_that_is_filled(void **state)
{
    stream *s = *state;
    reader r = reader_opened();
    for (uint64_t seed = 1; seed <= 300; seed++) {
        draw(s, seed);
        assert_int_equal(inflate(&r, s->data, s->n, s->text_n + 1), GIT_INFLATED);
        assert_text(&r, s, s->text_n);
        for (size_t less = 1; less <= s->text_n; less += 1 + less / 2) {
            assert_int_equal(inflate(&r, s->data, s->n, s->text_n - less), GIT_INFLATE_FULL);
            assert_text(&r, s, s->text_n - less);
        }
    }
    reader_closed(&r);
}

static void what_follows_does_not_matter(void **state)
{
    stream *s = *state;
    reader r = reader_opened();
    for (uint64_t seed = 1; seed <= 100; seed++) {
        draw(s, seed);
        for (size_t more = 1; more < 40; more += 3) {
            memset(s->data + s->n, (int)more, more);
            assert_int_equal(inflate(&r, s->data, s->n + more, s->text_n), GIT_INFLATED);
            assert_text(&r, s, s->text_n);
        }
    }
    reader_closed(&r);
}

static void every_cut_is_told(void **state)
{
    stream *s = *state;
    reader r = reader_opened();
    for (uint64_t seed = 1; seed <= 300; seed++) {
        draw(s, seed);
        size_t step = s->n < 400 ? 1 : s->n / 40;
        for (size_t n = 0; n < s->n; n += n + 40 < s->n ? step : 1) {
            assert_int_equal(inflate(&r, s->data, n, s->text_n + 1), GIT_INFLATE_BROKEN);
        }
    }
    reader_closed(&r);
}

static void damage_stays_inside(void **state)
{
    stream *s = *state;
    reader r = reader_opened();
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
    reader_closed(&r);
}

static void headers_and_checksums(void **state)
{
    stream *s = *state;
    reader r = reader_opened();
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
    reader_closed(&r);
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, stream_setup, stream_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(any_codes),
        TEST(room_is_all_that_is_filled),
        TEST(what_follows_does_not_matter),
        TEST(every_cut_is_told),
        TEST(damage_stays_inside),
        TEST(headers_and_checksums),
        TEST(checksums_are_those_of_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
