/*
 * Tests of runtime/source/window.c: bit sets compared with their definition, for every byte and
 * near every end.
 */
/* tsan: left out, starts no thread. */
#include "tests/source/tokens.h"

#include "runtime/source/window.h"

/* What a window of the text must be, byte for byte. */
static void check(const uint8_t *text, size_t n)
{
    hpc_window w;
    hpc_window_open(&w, text, text + n);
    uint64_t breaks = 0, starts = 0;
    uint32_t next = (uint32_t)n;
    for (uint32_t i = 0; i < 64; i++) {
        bool name = i < n && hpc_byte_in_name(text[i]);
        bool goes_on = name && i > 0 && hpc_byte_in_name(text[i - 1]);
        if (!goes_on) breaks |= UINT64_C(1) << i;
        if (!goes_on && n >= 64) next = i;
    }
    for (uint32_t i = 0; i < next; i++)
        if ((breaks >> i & 1) && !hpc_byte_is_blank(text[i])) starts |= UINT64_C(1) << i;
    assert_ptr_equal(w.at, text);
    assert_int_equal(w.n, next);
    assert_true(w.breaks == breaks);
    assert_true(w.starts == starts);
    for (size_t i = 0; i < 80; i++) assert_int_equal(w.bytes[i], i < n ? text[i] : 0);
}

static void every_byte_everywhere(void **state)
{
    (void)state;
    static const uint8_t others[] = {' ', 'a', '+', 0x80};
    uint8_t text[100];
    for (size_t k = 0; k < sizeof others; k++) {
        for (int byte = 0; byte < 256; byte++) {
            for (size_t i = 0; i < 64; i++) {
                memset(text, others[k], sizeof text);
                text[i] = (uint8_t)byte;
                check(text, sizeof text);
            }
        }
    }
}

/* In memory that ends where the text does. */
static void every_length(void **state)
{
    (void)state;
    static const char bytes[] = "aZ09_$ \t\r\n\v\f+-*/.,;()'\"\\#\xc3\xa9\x7f\x01@`[{";
    for (uint32_t round = 0; round < 40; round++) {
        for (size_t n = 1; n < 130; n++) {
            uint8_t *text = malloc(n);
            assert_non_null(text);
            for (uint32_t i = 0; i < n; i++) {
                uint32_t r = hpc_random_bits(9, round, (uint32_t)n, i);
                bool any = round % 4 == 0 || r % 64 < round % 4;
                text[i] = any ? (uint8_t)bytes[(r >> 8) % (sizeof bytes - 1)] : 'x';
            }
            check(text, n);
            free(text);
        }
    }
}

static void from_the_middle_of_a_name(void **state)
{
    (void)state;
    hpc_window w;
    const uint8_t *text = (const uint8_t *)"1x + abc";
    hpc_window_open(&w, text, text + 8);
    assert_int_equal(w.starts, 0x29);
    assert_int_equal(hpc_window_from(&w, 0), 0x29);
    assert_int_equal(hpc_window_from(&w, 1), 0x2a);
    assert_int_equal(hpc_window_from(&w, 2), 0x28);
    assert_int_equal(hpc_window_from(&w, 7), 0x80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_everywhere),
        cmocka_unit_test(every_length),
        cmocka_unit_test(from_the_middle_of_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
