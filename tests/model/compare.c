/*
 * compare.c: a change as two sequences: division at marks, and shortening.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "model/compare.h"

enum { BASE = 300, HEAD, LABEL, FILE_MARK, MOST = 400 };
static const hpc_compare_marks marks = {BASE, HEAD, LABEL};

/* A document out of texts of letters. */
static int64_t document(int32_t *out, const char *lead, const char *base, const char *head)
{
    const char *text[3] = {lead, base, head};
    int64_t n = 0;
    for (int k = 0; k < 3; k++) {
        if (k > 0) out[n++] = k == 1 ? BASE : HEAD;
        for (const char *c = text[k]; *c; c++) out[n++] = *c;
    }
    out[n++] = LABEL;
    out[n++] = 'X';
    return n;
}

static void side_is(const hpc_compare *c, const int32_t *token, int k, const char *expected)
{
    int32_t written[MOST];
    int64_t n = hpc_compare_write(written, c, token, k);
    assert_int_equal(n, strlen(expected));
    for (int64_t i = 0; i < n; i++) assert_int_equal(written[i], expected[i]);
}

static void fits(const char *lead, const char *base, const char *head, int64_t room,
                 const char *first, const char *second)
{
    for (int swapped = 0; swapped < 2; swapped++) {
        int32_t token[MOST];
        hpc_compare c;
        int64_t n = document(token, lead, swapped ? head : base, swapped ? base : head);
        assert_true(hpc_compare_find(&c, token, n, &marks));
        hpc_compare_fit(&c, token, room);
        side_is(&c, token, swapped, first);
        side_is(&c, token, !swapped, second);
    }
}

static void cut_at_the_marks(void **state)
{
    (void)state;
    fits("f.c", "abc", "abxc", 100, "f.cabc", "f.cabxc");
    fits("f.c", "", "abc", 100, "f.c", "f.cabc");
    fits("f.c", "abc", "abc", 12, "f.cabc", "f.cabc"); /* just room enough */
}

static void what_is_no_change(void **state)
{
    (void)state;
    int32_t token[MOST];
    hpc_compare c;
    int64_t n = document(token, "f", "a", "b");
    assert_true(hpc_compare_find(&c, token, n, &marks));
    assert_true(hpc_compare_find(&c, token, n - 1, &marks));
    assert_false(hpc_compare_find(&c, token, n - 2, &marks)); /* no label */
    assert_false(hpc_compare_find(&c, token, 0, &marks));
    n = document(token, "", "a", "b"); /* no lead */
    assert_false(hpc_compare_find(&c, token, n, &marks));
    n = document(token, "f", "a", "b");
    token[1] = HEAD, token[3] = BASE;
    assert_false(hpc_compare_find(&c, token, n, &marks));
}

static void what_is_far_is_left_out(void **state)
{
    (void)state;
    /* After the leads, 22 tokens remain: one that differs and 10 around it, on each side. */
    fits("p", "0123456789x9876543210", "0123456789y9876543210", 24, "p56789x98765", "p56789y98765");
    /* near the beginning, and near the end: the other side of it has what is left */
    fits("p", "1x0123456789abcdefghi", "1y0123456789abcdefghi", 24, "p1x012345678", "p1y012345678");
    fits("p", "0123456789abcdefghix1", "0123456789abcdefghiy1", 24, "pabcdefghix1", "pabcdefghiy1");
    /* an insertion is on one side only */
    fits("p", "0123456789987654321", "0123456789xyz987654321", 21, "p67899876", "p6789xyz9876");
}

static void what_differs_is_cut_too(void **state)
{
    (void)state;
    fits("p", "0abcdefghij9", "0klmnopqrst9", 14, "pabcdef", "pklmnop");
    fits("p", "0abcdefghij9", "0k9", 10, "pabcdefg", "pk");
}

static void the_end_of_a_lead(void **state)
{
    (void)state;
    /* one part in eight of 32 for each side */
    fits("a/very/long/path.c", "0123456789abcdefghijABCDEF", "0123456789abcdefghijABCDxF", 64,
         "th.c0123456789abcdefghijABCDEF", "th.c0123456789abcdefghijABCDxF");
}

/* Any texts into any room: never longer, never empty, and all of it where there is room. */
static void any_room(void **state)
{
    (void)state;
    for (uint32_t trial = 0; trial < 4000; trial++) {
        int32_t token[MOST], written[MOST];
        int64_t n = 0, size[2], most[2], room;
        for (int64_t k = hpc_random_bits(1, 0, trial, 0) % 6; k >= 0; k--) token[n++] = FILE_MARK;
        int64_t lead = n;
        for (int side = 0; side < 2; side++) {
            token[n++] = side ? HEAD : BASE;
            size[side] = hpc_random_bits(1, 1, trial, (uint64_t)side) % 40;
            for (int64_t k = 0; k < size[side]; k++)
                token[n++] = (int32_t)(hpc_random_bits(1, 2 + (trial % 2 ? 0 : (uint32_t)side),
                                                       trial, (uint64_t)k) %
                                       3);
        }
        token[n++] = LABEL;
        hpc_compare c;
        assert_true(hpc_compare_find(&c, token, n, &marks));
        room = 2 + hpc_random_bits(1, 4, trial, 0) % 100;
        hpc_compare_fit(&c, token, room);
        for (int side = 0; side < 2; side++)
            most[side] = hpc_compare_write(written, &c, token, side);
        assert_true(most[0] >= 1 && most[1] >= 1 && most[0] + most[1] <= room);
        int64_t all = 2 * lead + size[0] + size[1];
        if (all <= room) assert_int_equal(most[0] + most[1], all);
        if (all > room) assert_true(most[0] + most[1] >= room - 1 || c.lead.n < lead);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_at_the_marks),        cmocka_unit_test(what_is_no_change),
        cmocka_unit_test(what_is_far_is_left_out), cmocka_unit_test(what_differs_is_cut_too),
        cmocka_unit_test(the_end_of_a_lead),       cmocka_unit_test(any_room)};
    return cmocka_run_group_tests_name("model/compare", tests, NULL, NULL);
}
