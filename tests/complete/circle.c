/*
 * Tests of infer/complete/circle.c: repetitive texts, and texts that only resemble them.
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

/* '~': where the text begins to repeat; absent: it does not. */
static const char *const examples[] = {
    "abc = 1;~\nabc = 1;\nabc = 1;\nb",
    "a = 1;\na = 1;\na = 1;\nb",
    "x();\n  foo(a);\n\n  bar(b);~\n  foo(a);\n  bar(b);\n  foo(a);\n\n  bar(b);\nc",
    "a1();\na2();\na3();\na4();~\na1();\na2();\na3();\na4();\na1();\na2();\na3();\na4();\n",
    "foo(a);\nfoo(a);\nbar(b);\nfoo(a);\nfoo(a);\nc();\n",
    "    }\n    }\n    }\n  }\n",
    "1.0, 2.0,\n1.0, 2.0,\n1.0, 2.0,\n1.0, 2.0,\n",
    "x = 0;~\ny = x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i] + x[i]",
    "int zero[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};\n",
    "/* ---------------------------------------------------------------------------- */\n",
    "abc = zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz;\n",
    "~zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
    "case 1: f();\n  break;\ncase 2: g();\n  break;\ncase 3: h();\n  break;\n",
};
enum { N = sizeof examples / sizeof *examples };

static size_t whole(char *text, size_t room, const char *example)
{
    const char *mark = strchr(example, '~');
    size_t end = mark ? (size_t)(mark - example) : strlen(example);
    snprintf(text, room, "%.*s%s", (int)end, example, mark ? mark + 1 : "");
    return end;
}

static void test_circles(void **state)
{
    (void)state;
    for (int k = 0; k < N; k++) {
        char text[512];
        size_t expected = whole(text, sizeof text, examples[k]), end;
        bool over;
        complete_circle_find(&end, &over, text, strlen(text), true);
        if (end != expected) print_error("%s\n", examples[k]);
        assert_int_equal(end, expected);
        assert_int_equal(over, expected < strlen(text));
    }
}

/* Byte by byte: lines that were said to be none of a circle stay so, and it is over at its place.
 */
static void test_byte_by_byte(void **state)
{
    (void)state;
    for (int k = 0; k < N; k++) {
        char text[512];
        size_t expected = whole(text, sizeof text, examples[k]), end = 0, sure = 0;
        bool over = false;
        for (size_t n = 0; n <= strlen(text) && !over; n++) {
            complete_circle_find(&end, &over, text, n, false);
            assert_true(end <= n && end >= sure);
            for (size_t at = sure; at < end; at++)
                if (text[at] == '\n' && at > 0 && text[at - 1] != '\n') sure = at;
        }
        assert_int_equal(over, expected < strlen(text));
        if (over) assert_int_equal(end, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_circles),
        cmocka_unit_test(test_byte_by_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
