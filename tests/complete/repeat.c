/*
 * Tests of infer/complete/repeat.c: completions that repeat the text after the cursor.
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

typedef struct example {
    const char *file, *text; /* '~': where it begins to repeat; none: nowhere */
} example;

static const example examples[] = {
    /* lines */
    {"a\n@\nreturn sum;\n}\n", "b\nc~\nreturn sum;"},
    {"a\n@\nreturn sum;\n}\n", "b\nc~\n  return sum;\n}\n"},
    {"a\n@\n\n   return sum;\n}\n", "b~\n\nreturn sum;\n"},
    {"a\n@\nreturn sum;\n}\n", "~return sum;\n}"},
    {"a\n@\nreturn sum;\n", "return sums;\nb"},
    {"a\n@\nreturn sum;\n", "return sum;\nb();\n"},
    {"a\n@\n}\n", "if (x) {\n  b();\n}"},
    {"a\n@\nfor (;;) {\n}\n", "x = 1;~\nfor (;;) {\n}"},
    {"a\n@\ni++;\nj++;\n", "i++;\nk++;"},
    {"a\n@\nx;\n", "b;\nx;"}, /* too little to tell */
    {"int f(@\n", "int a)"},
    {"a\n@", "b\nc"},
    /* the rest of the line */
    {"x = f(@, b);\n", "a~, b)"},
    {"x = @; // one\n", "a + 1~;"},
    {"x = f(@);\n", "g(a)"},
    {"x = f(@);\n", "g(a)~);"},
    {"for (@; i < n; i++) {\n", "int i = 0~; i < n; i++) {"},
    {"call s(@, n)\n", "a(1, n)~, n)"},
    {"x = @y;\n", "y + "},
    {"x = @y;\n", "x + y"},
    {"x = @yes + 1;\n", "a + yes"},
    {"x = @yes + 1;\n", "a~yes +"},
};
enum { N = sizeof examples / sizeof *examples };

static void test_where_it_repeats(void **state)
{
    (void)state;
    for (int k = 0; k < N; k++) {
        hpc_spot d = place_in("a.c", examples[k].file);
        const char *mark = strchr(examples[k].text, '~');
        char text[256];
        size_t end, expected = mark ? (size_t)(mark - examples[k].text) : strlen(examples[k].text);
        bool over;
        snprintf(text, sizeof text, "%.*s%s", (int)expected, examples[k].text,
                 mark ? mark + 1 : "");
        complete_repeat_find(&end, &over, &d, text, strlen(text), true);
        if (end != expected) print_error("%s\n%s\n", examples[k].file, text);
        assert_int_equal(end, expected);
        hpc_spot_close(&d);
    }
}

/* While streaming: a possible repetition is held back; a certain one ends the text; text once
 * released stays released. */
static void test_byte_by_byte(void **state)
{
    (void)state;
    for (int k = 0; k < N; k++) {
        hpc_spot d = place_in("a.c", examples[k].file);
        const char *mark = strchr(examples[k].text, '~');
        size_t end, sure = 0,
                    expected = mark ? (size_t)(mark - examples[k].text) : strlen(examples[k].text);
        char text[256];
        bool over;
        snprintf(text, sizeof text, "%.*s%s", (int)expected, examples[k].text,
                 mark ? mark + 1 : "");
        for (size_t n = 0; n <= strlen(text); n++) {
            complete_repeat_find(&end, &over, &d, text, n, false);
            assert_true(end <= n && end >= sure);
            if (over) assert_int_equal(end, expected);
            for (size_t at = sure; at < end; at++)
                if (text[at] == '\n' && at > 0 && text[at - 1] != '\n') sure = at;
        }
        assert_true(sure <= expected);
        hpc_spot_close(&d);
    }
}

static void test_certain(void **state)
{
    (void)state;
    hpc_spot d = place_in("a.c", "a\n@\n  sum += x[i] * y[i];\n}\n");
    size_t end;
    bool over;
    complete_repeat_find(&end, &over, &d, "b;\nsum += x[i]", 14, false);
    assert_int_equal(end, 2);
    assert_false(over);
    complete_repeat_find(&end, &over, &d, "b;\nsum += x[i] * y[i];\n", 23, false);
    assert_int_equal(end, 2);
    assert_false(over); /* nine letters and digits: may be by chance */
    complete_repeat_find(&end, &over, &d, "b;\nsum += x[i] * y[i];\n}\nint c", 30, false);
    assert_int_equal(end, 30);
    hpc_spot_close(&d);
    d = place_in("a.c", "a\n@\n  MPI_Barrier(MPI_COMM_WORLD);\n}\n");
    complete_repeat_find(&end, &over, &d, "b;\nMPI_Barrier(MPI_COMM_WORLD);\n", 32, false);
    assert_int_equal(end, 2);
    assert_true(over);
    hpc_spot_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_it_repeats),
        cmocka_unit_test(test_byte_by_byte),
        cmocka_unit_test(test_certain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
