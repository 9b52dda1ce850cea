/*
 * loops.c: see loops.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/loops.h"

static void works(int rc)
{
    if (rc < 0) print_error("%s\n", hpc_error_get()->text);
    assert_true(rc >= 0);
}

void hpc_test_source_open(hpc_test_source *s, const char *path, const char *text, size_t n)
{
    *s = (hpc_test_source){.path = path, .text = text, .n = n};
    s->language = hpc_language_of(path, text, n);
    works(hpc_lex(&s->t, text, n, s->language, hpc_language_fixed_form(path, text, n)));
    works(hpc_functions_find(&s->f, &s->t, text, s->language));
    works(hpc_loops_find(&s->l, &s->t, text, s->language, &s->f));
}

void hpc_test_source_close(hpc_test_source *s)
{
    hpc_tokens_release(&s->t);
    hpc_functions_release(&s->f);
    hpc_loops_release(&s->l);
}

void hpc_test_source_describe(hpc_buf *out, const hpc_test_source *s)
{
    for (int64_t i = 0; i < s->l.n; i++) {
        const hpc_loop *l = &s->l.item[i];
        hpc_buf_printf(out, "%u-%u %d%s%s%s%s", l->line, l->end_line, l->depth,
                       l->braced ? " b" : "", l->concurrent ? " c" : "", l->in_parallel ? " p" : "",
                       l->complete ? "" : " !");
        for (int32_t k = 0; k < l->pragmas_n; k++) {
            int64_t p = l->pragma + k;
            hpc_buf_text(out, s->l.pragma[p].alternative ? " or {" : " {");
            works(hpc_pragma_text(out, &s->l, p, &s->t, s->text, s->language));
            hpc_buf_text(out, "}");
        }
        hpc_buf_text(out, "\n");
    }
}

void hpc_test_source_is(const char *path, const char *text, const char *expected)
{
    hpc_test_source s;
    hpc_buf got = {0};
    hpc_test_source_open(&s, path, text, strlen(text));
    hpc_test_source_describe(&got, &s);
    const char *is = got.n > 0 ? got.data : "";
    if (strcmp(is, expected) != 0) print_error("%s\n", text);
    assert_string_equal(is, expected);
    hpc_buf_release(&got);
    hpc_test_source_close(&s);
}
