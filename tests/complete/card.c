/*
 * Tests of infer/complete/card.c: completions of fixed-form Fortran keep to columns 1 to 72.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "infer/complete/priv.h"
#include "tests/complete/at.h"
#include "tests/support/fault.h"
#include "tests/support/expect.h"

#define SUB "      subroutine s(n, a)\n      real a(n)\n"
#define ABC "alpha(i) + beta(i) + "

typedef struct example {
    const char *file, *text, *expected; /* NULL: as it came */
} example;

static const example examples[] = {
    /* short enough */
    {SUB "@", "      a(i) = 0\n 10   continue\n     &  , b\nc remark\n#ifdef X\n", NULL},
    {SUB "@", "\n\n      end", NULL},
    {SUB "@", "\ta(i) = 0\n", NULL},
    /* columns 1 to 6 */
    {SUB "@", "  a(i) = 0\nb = 1\n     do i = 1, n\n",
     "      a(i) = 0\n      b = 1\n      do i = 1, n\n"},
    {SUB "@", "10 continue\n 200 a = 1\n", "10    continue\n 200  a = 1\n"},
    {SUB "@", "      a = b + &\n          c\n", "      a = b +\n     &    c\n"},
    {SUB "@", "      a = b + &\n  & c\n", "      a = b +\n     & c\n"},
    {SUB "      x =@", " b + & ! why\n        c\n", " b +   ! why\n     &  c\n"},
    /* column 72 */
    {SUB "      x = @", ABC ABC ABC "gamma(i)", ABC ABC "alpha(i) + beta(i) +\n     & gamma(i)"},
    {SUB "@",
     "      write(*,*) 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cc', x",
     "      write(*,*) 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbb\n"
     "     &bbbbbbbbb cc', x"},
    {SUB "@", "      y = 1                                             ! a remark that may be long",
     NULL},
    {SUB "@", "c     " ABC ABC ABC "delta", "c     " ABC ABC "alpha(i) + beta(i) +\nc delta"},
    {SUB "@", "!$omp parallel do private(i, j, k) shared(alpha, beta, gamma) reduction(+:total)\n",
     "!$omp parallel do private(i, j, k) shared(alpha, beta, gamma)\n!$omp& reduction(+:total)\n"},
    /* what stands after the cursor needs columns */
    {SUB "      call t(@, last_argument_of_this_call)\n", "aaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbb, c",
     "aaaaaaaaaaaaaa,\n     & bbbbbbbbbbbbbbbbbb, c"},
};

static void layout_keeps_to_the_columns(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof examples / sizeof *examples; k++) {
        const example *e = &examples[k];
        hpc_spot d = place_in("a.f", e->file);
        hpc_buf out = {0};
        assert_true(d.fixed);
        test_ok(complete_card_put(&out, &d, e->text, strlen(e->text)));
        const char *expected = e->expected ? e->expected : e->text;
        if (!out.data || strcmp(out.data, expected) != 0)
            fail_msg("example %zu:\n%s\ninstead of\n%s", k, out.n ? out.data : "", expected);
        hpc_buf_release(&out);
        hpc_spot_close(&d);
    }
}

/* Whole lines of a text are laid out the same, whatever comes after them. */
static void layout_of_lines_is_final(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof examples / sizeof *examples; k++) {
        const example *e = &examples[k];
        hpc_spot d = place_in("a.f", e->file);
        hpc_buf whole = {0}, part = {0};
        test_ok(complete_card_put(&whole, &d, e->text, strlen(e->text)));
        for (size_t n = 1; n < strlen(e->text); n++) {
            if (e->text[n - 1] != '\n') continue;
            part.n = 0;
            test_ok(complete_card_put(&part, &d, e->text, n));
            assert_true(part.n <= whole.n);
            assert_memory_equal(part.data, whole.data, part.n);
        }
        hpc_buf_release(&whole);
        hpc_buf_release(&part);
        hpc_spot_close(&d);
    }
}

static void no_line_passes_column_72(void **state)
{
    (void)state;
    hpc_spot d = place_in("a.f", SUB "@");
    for (size_t words = 1; words < 400; words += 7) {
        hpc_buf text = {0}, out = {0};
        hpc_buf_text(&text, "      x = a");
        for (size_t w = 0; w < words; w++)
            hpc_buf_text(&text, w % 9 == 4 ? "//'it''s a string'" : w % 5 ? "+b(i)*c" : " , d** 2");
        test_ok(complete_card_put(&out, &d, text.data, text.n));
        for (const char *p = out.data; *p; p += strcspn(p, "\n") + (strchr(p, '\n') != NULL))
            assert_true(strcspn(p, "\n") <= 72);
        hpc_buf_release(&text);
        hpc_buf_release(&out);
    }
    hpc_spot_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layout_keeps_to_the_columns),
                                       cmocka_unit_test(layout_of_lines_is_final),
                                       cmocka_unit_test(no_line_passes_column_72)};
    return cmocka_run_group_tests_name("complete/card", tests, NULL, NULL);
}
