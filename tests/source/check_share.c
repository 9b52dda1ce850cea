/*
 * Tests of runtime/source/check_share.c: files that share a preamble, and the resulting calls of
 * libclang. A table of counting functions replaces libclang.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/source/check_share.h"
#include "tests/support/expect.h"

struct hpc_clang_unit {
    int number;
};

static struct {
    int opened, closed, parsed, suspended;
    int parse_rc;
    bool errors;
    char text[4096]; /* of the last open or parse */
} seen;

static int fake_open(hpc_clang_unit **out, hpc_clang_kept **kept, const hpc_clang_text *texts,
                     size_t texts_n, const char *const *flags, bool bodies, bool again,
                     char error[HPC_CLANG_ERROR_BYTES])
{
    (void)kept;
    (void)flags;
    (void)error;
    assert_true(bodies && again);
    assert_int_equal(texts_n, 3);
    snprintf(seen.text, sizeof seen.text, "%.*s", (int)texts[0].n, texts[0].text);
    *out = calloc(1, sizeof **out);
    (*out)->number = ++seen.opened;
    return 0;
}

static int fake_parse(hpc_clang_unit *u, const hpc_clang_text *texts, size_t texts_n, size_t own,
                      char error[HPC_CLANG_ERROR_BYTES])
{
    (void)u;
    (void)error;
    assert_int_equal(texts_n, 3);
    assert_int_equal(own, 1);
    assert_int_equal(texts[2].n, 0);
    snprintf(seen.text, sizeof seen.text, "%.*s", (int)texts[0].n, texts[0].text);
    seen.parsed++;
    return seen.parse_rc;
}

static void fake_issues(const hpc_clang_unit *u,
                        bool (*report)(const hpc_clang_issue *issue, void *user), void *user)
{
    (void)u;
    if (seen.errors) report(&(hpc_clang_issue){.text = "no such header"}, user);
}

static void fake_suspend(hpc_clang_unit *u)
{
    (void)u;
    seen.suspended++;
}

static void fake_close(hpc_clang_unit *u)
{
    seen.closed += u != NULL;
    free(u);
}

static const hpc_clang table = {.open = fake_open,
                                .parse = fake_parse,
                                .issues = fake_issues,
                                .suspend = fake_suspend,
                                .close = fake_close};

static check_headers headers_of(const char *text)
{
    hpc_checker checker = {.missing = hpc_map_create()};
    hpc_check_file f = {.c = &checker, .language = HPC_LANGUAGE_CPP, .path = "/here/a.cpp"};
    check_headers out;
    f.text = text;
    f.n = strlen(text);
    test_ok(check_headers_find(&out, &f));
    hpc_map_free(checker.missing);
    return out;
}

static int64_t open_with(check_share *s, const char *headers, const char *path, const char *flag,
                         bool reopened)
{
    const char *flags[] = {flag, NULL};
    const hpc_clang_text item[] = {{path, "int x;", 6}, {"/names.h", "typedef int T;", 14}};
    const check_headers set = headers_of(headers);
    return check_share_open(s, &set, reopened, &(check_texts){item, 2, flags});
}

#define HEAVY "#include <iostream>\n#include <cmath>\n"

static void release(check_share *s)
{
    for (int64_t k = 0; k < s->n; k++) fake_close(s->item[k].unit);
    hpc_free(s->item);
    hpc_free(s->seen);
    hpc_buf_release(&s->main);
    assert_int_equal(seen.opened, seen.closed);
}

static void second_file_with_the_same_headers_shares_them(void **state)
{
    check_share s;
    (void)state;
    memset(&seen, 0, sizeof seen);
    check_share_init(&s, &table, "/lib");
    assert_int_equal(open_with(&s, HEAVY, "/a.cpp", "-w", false), -1);
    const int64_t k = open_with(&s, HEAVY, "/b.cpp", "-w", false);
    assert_int_equal(k, 0);
    assert_string_equal(seen.text, "#include <cmath>\n#include <iostream>\n;\ntypedef int T;\n"
                                   "#include \"/b.cpp\"\n");
    assert_non_null(check_share_unit(&s, k));
    check_share_close(&s, k);
    assert_int_equal(open_with(&s, HEAVY "#include <map>\n", "/c.cpp", "-w", false), 0);
    assert_int_equal(seen.opened, 1);
    assert_int_equal(seen.parsed, 2);
    assert_int_equal(seen.suspended, 1);
    release(&s);
}

static void other_flags_and_other_headers_share_nothing(void **state)
{
    check_share s;
    (void)state;
    memset(&seen, 0, sizeof seen);
    check_share_init(&s, &table, "/lib");
    open_with(&s, HEAVY, "/a.cpp", "-w", false);
    assert_int_equal(open_with(&s, HEAVY, "/b.cpp", "-DN", false), -1);
    assert_int_equal(open_with(&s, "#include <map>\n", "/c.cpp", "-w", false), -1);
    assert_int_equal(open_with(&s, "", "/d.cpp", "-w", false), -1);
    assert_int_equal(open_with(&s, HEAVY, "/e\".cpp", "-w", false), -1);
    assert_int_equal(open_with(&s, HEAVY, "/f.cpp", "-w", true), -1); /* the same file as before */
    assert_int_equal(seen.opened, 0);
    release(&s);
}

static void a_preamble_serves_one_file_at_a_time(void **state)
{
    check_share s;
    (void)state;
    memset(&seen, 0, sizeof seen);
    check_share_init(&s, &table, "/lib");
    open_with(&s, HEAVY, "/a.cpp", "-w", false);
    assert_int_equal(open_with(&s, HEAVY, "/b.cpp", "-w", false), 0);
    assert_int_equal(open_with(&s, HEAVY, "/c.cpp", "-w", false), -1);
    release(&s);
}

static void headers_with_errors_are_not_shared(void **state)
{
    check_share s;
    (void)state;
    memset(&seen, 0, sizeof seen);
    check_share_init(&s, &table, "/lib");
    seen.errors = true;
    for (int k = 0; k < 5; k++) assert_int_equal(open_with(&s, HEAVY, "/a.cpp", "-w", false), -1);
    assert_int_equal(seen.opened, 1);
    assert_int_equal(seen.closed, 1);
    release(&s);
}

static void a_file_of_the_preamble_is_opened_alone(void **state)
{
    check_share s;
    (void)state;
    memset(&seen, 0, sizeof seen);
    check_share_init(&s, &table, "/lib");
    open_with(&s, HEAVY, "/a.cpp", "-w", false);
    seen.parse_rc = 1;
    assert_int_equal(open_with(&s, HEAVY, "/usr/include/c++/12/cmath", "-w", false), -1);
    assert_int_equal(seen.closed, 0);
    seen.parse_rc = -1;
    assert_int_equal(open_with(&s, HEAVY, "/b.cpp", "-w", false), -1);
    assert_int_equal(seen.closed, 1);
    release(&s);
}

static void old_preambles_make_room(void **state)
{
    check_share s;
    char flag[16];
    (void)state;
    memset(&seen, 0, sizeof seen);
    check_share_init(&s, &table, "/lib");
    for (int k = 0; k < 100; k++) {
        snprintf(flag, sizeof flag, "-D%d", k);
        open_with(&s, HEAVY, "/a.cpp", flag, false);
        const int64_t shared = open_with(&s, HEAVY, "/b.cpp", flag, false);
        assert_true(shared >= 0);
        check_share_close(&s, shared);
        assert_true(seen.opened - seen.closed <= 24);
    }
    release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_file_with_the_same_headers_shares_them),
        cmocka_unit_test(other_flags_and_other_headers_share_nothing),
        cmocka_unit_test(a_preamble_serves_one_file_at_a_time),
        cmocka_unit_test(headers_with_errors_are_not_shared),
        cmocka_unit_test(a_file_of_the_preamble_is_opened_alone),
        cmocka_unit_test(old_preambles_make_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
