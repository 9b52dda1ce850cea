/*
 * Tests of corpus/secrets.c: texts that are masked, and texts that are not.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus/priv.h"
#include "tests/support/fault.h"

static int64_t mask(hpc_buf *out, const char *text)
{
    hpc_tokens t = {0};
    int64_t n = -1;
    assert_int_equal(hpc_lex(&t, text, strlen(text), HPC_LANGUAGE_C, false), 0);
    assert_int_equal(corpus_mask(out, &n, text, strlen(text), &t), 0);
    hpc_tokens_release(&t);
    return n;
}

/* expected NULL: nothing is masked. */
static void expect(const char *text, const char *expected)
{
    hpc_buf out = {0};
    int64_t n = mask(&out, text);
    if (expected) {
        assert_true(n > 0);
        assert_string_equal(out.data, expected);
    } else if (n != 0) {
        fail_msg("masked in: %s", text);
    }
    hpc_buf_release(&out);
}

/* Assembled here, so that no scanner takes this file for a leak. */
#define HUB                                                                                        \
    "ghp"                                                                                          \
    "_0123456789abcdefghijABCDEFGHIJ012345"
#define AMAZON                                                                                     \
    "AKIA"                                                                                         \
    "IOSFODNN7EXAMPLE"
#define MARK "-----"

static void test_addresses(void **state)
{
    (void)state;
    expect("/* by Jane Doe <jane.doe+hpc@cs.uni-x.edu>, 2019 */",
           "/* by Jane Doe <email@example.com>, 2019 */");
    expect("// a@b.org and c@d.co.uk.\n", "// email@example.com and email@example.com.\n");
    expect("puts(\"mail root@host.net\");", "puts(\"mail email@example.com\");");
    expect("// @param x the value; x@y, 3@4.5, @interface, a@1.2.3.4", NULL);
    expect("// someone@example.com", NULL);
    expect("int a = b @ c.de;", NULL);
    expect("#error ask jane@foo.org\n", "#error ask email@example.com\n");
    expect("#if 0\nit's bob@corp.com\n#endif\n", "#if 0\nit's email@example.com\n#endif\n");
}

static void test_credentials(void **state)
{
    (void)state;
    expect("char *k = \"" AMAZON "\";", "char *k = \"SECRET_REMOVED\";");
    expect("// token " HUB " of bob@x.org, then " AMAZON "\n",
           "// token SECRET_REMOVED of email@example.com, then SECRET_REMOVED\n");
    expect("// https://user:pass1word@host.org/x.git", "// https://SECRET_REMOVED@host.org/x.git");
    expect("const char *api_key = \"q8Zt3LmX0pVw7RbN2sKd\";",
           "const char *api_key = \"SECRET_REMOVED\";");
    expect("const char *password = \"please enter your password\";", NULL);
    expect("const char *colour = \"q8Zt3LmX0pVw7RbN2sKd\";", NULL);
    expect("// commit 0123456789abcdef0123456789abcdef01234567", NULL);
    expect("#define TOKEN " HUB "\n", "#define TOKEN SECRET_REMOVED\n");
    expect("f(\"deploy-" AMAZON "\", \"" AMAZON "-prod\", \"x_" HUB "\");",
           "f(\"deploy-SECRET_REMOVED\", \"SECRET_REMOVED-prod\", \"x_SECRET_REMOVED\");");
    expect("int AKIAIOSFODNN7EXAMPLEANDMORE1;", NULL);
    expect("int x" AMAZON ", a_0" HUB ";", NULL);
    expect("// task-force-of-many-words-and-more-words-and-more", NULL);
}

/* One of every shape: head, minimum number of characters after it, and end. */
static void test_shapes(void **state)
{
    static const struct {
        const char *head;
        int least;
        bool exactly;
    } shapes[] = {
        {"AKIA", 16, true},        {"ASIA", 16, true},      {"AIza", 35, true},
        {"ghp_", 36, false},       {"gho_", 36, false},     {"ghu_", 36, false},
        {"ghs_", 36, false},       {"ghr_", 36, false},     {"github_pat_", 22, false},
        {"glpat-", 20, false},     {"xoxb-", 20, false},    {"xoxp-", 20, false},
        {"xoxa-", 20, false},      {"xoxs-", 20, false},    {"sk-ant-", 20, false},
        {"sk-", 32, false},        {"sk_live_", 16, false}, {"rk_live_", 16, false},
        {"npm_", 36, true},        {"pypi-", 50, false},    {"hf_", 30, false},
        {"eyJhbGciOi", 20, false},
    };
    hpc_buf text = {0}, masked = {0};
    (void)state;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int blanks = 0; blanks < 80; blanks++)
            for (int n = shapes[k].least - 1; n <= shapes[k].least + 1; n++) {
                text.n = masked.n = 0;
                bool upper = k < 2; /* keys of AWS */
                hpc_buf_printf(&text, "//%*s%s%.*s1", blanks, "", shapes[k].head, n - 1,
                               upper ? "ABCDEFGHIJKLMNOPQ"
                                     : "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgHiJkLmNoPqRsTuVwXyZ");
                hpc_buf_printf(&masked, "//%*s%s", blanks, "", "SECRET_REMOVED");
                bool fits = shapes[k].exactly ? n == shapes[k].least : n >= shapes[k].least;
                expect(text.data, fits ? masked.data : NULL);
            }
    assert_int_equal(text.failed | masked.failed, 0);
    hpc_buf_release(&text);
    hpc_buf_release(&masked);
}

/* Each word for a secret, in both cases, at any distance from the start of the text. */
static void test_names(void **state)
{
    static const char *const names[] = {"password", "passwd",     "secret", "api_key",
                                        "apikey",   "access_key", "token",  "credential"};
    hpc_buf text = {0}, masked = {0};
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (int blanks = 0; blanks < 160; blanks++) {
            text.n = masked.n = 0;
            hpc_buf_printf(&text, "%*sx%s[] = \"q8Zt3LmX0pVw7RbN2sKd\"", blanks / 2, "", names[k]);
            hpc_buf_printf(&masked, "%*sx%s[] = \"SECRET_REMOVED\"", blanks / 2, "", names[k]);
            for (size_t i = 0; blanks % 2 && i < strlen(names[k]); i++)
                for (hpc_buf *b = &text; b; b = b == &text ? &masked : NULL)
                    b->data[(size_t)blanks / 2 + 1 + i] ^= names[k][i] == '_' ? 0 : 32;
            expect(text.data, masked.data);
        }
    expect("passwor d = \"q8Zt3LmX0pVw7RbN2sKd\"", NULL);
    assert_int_equal(text.failed | masked.failed, 0);
    hpc_buf_release(&text);
    hpc_buf_release(&masked);
}

/* A prefix or a name after each other: reading on from each to the end takes quadratic time. */
static void test_chain(void **state)
{
    static const char *const links[] = {
        "sk-", "eyJ-", "a/", "M.", "password=", "password&", "password[", "", "Bearer "};
    hpc_buf text = {0};
    (void)state;
    for (size_t k = 0; k < sizeof links / sizeof *links; k++) {
        text.n = 0;
        hpc_buf_text(&text, "// ");
        while (text.n < 1 << 19) hpc_buf_text(&text, *links[k] ? links[k] : "password");
        expect(text.data, NULL);
    }
    assert_int_equal(text.failed, 0);
    hpc_buf_release(&text);
}

static void test_private_keys(void **state)
{
    hpc_buf out = {0};
    (void)state;
    static const char text[] = "static const char *key =\n"
                               "  \"" MARK "BEGIN RSA PRIVATE KEY" MARK "\\n\"\n"
                               "  \"MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy\\n\"\n"
                               "  \"hQ4Rt7AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\\n\"\n"
                               "  \"" MARK "END RSA PRIVATE KEY" MARK "\";\n"
                               "static const char *name = \"averyveryverylongordinaryname\";\n";
    assert_int_equal(mask(&out, text), 2);
    assert_null(strstr(out.data, "MIIE"));
    assert_null(strstr(out.data, "hQ4R"));
    assert_non_null(strstr(out.data, "averyveryverylongordinaryname"));
    hpc_buf_release(&out);
    expect("// " MARK "BEGIN PRIVATE KEY" MARK " 0123456789abcdefg " MARK "END PRIVATE KEY" MARK
           " 0123456789abcdefg " MARK "BEGIN EC PRIVATE KEY" MARK " 0123456789abcdefg",
           "// " MARK "BEGIN PRIVATE KEY" MARK " SECRET_REMOVED " MARK "END PRIVATE KEY" MARK
           " 0123456789abcdefg " MARK "BEGIN EC PRIVATE KEY" MARK " SECRET_REMOVED");
    expect("// the line says PRIVATE KEY----- and then 0123456789abcdefghijklmnop", NULL);
}

/* Line numbers stay, and masking what is masked changes nothing. */
static void test_stable(void **state)
{
    static const char text[] = "/* a@b.org\n * " HUB "\n */\nint x; // c@d.net\n";
    hpc_buf once = {0}, twice = {0};
    size_t before = 0, after = 0;
    (void)state;
    assert_int_equal(mask(&once, text), 3);
    for (const char *p = text; *p; p++) before += *p == '\n';
    for (size_t k = 0; k < once.n; k++) after += once.data[k] == '\n';
    assert_int_equal(before, after);
    assert_int_equal(mask(&twice, once.data), 0);
    hpc_buf_release(&once);
    hpc_buf_release(&twice);
}

static int mask_body(void *user)
{
    static const char text[] = "// a@b.org and " HUB "\n";
    hpc_buf out = {0};
    int64_t n = 0;
    int rc = corpus_mask(&out, &n, text, sizeof text - 1, user);
    hpc_buf_release(&out);
    return rc;
}

static void test_each_alloc(void **state)
{
    static const char text[] = "// a@b.org and " HUB "\n";
    hpc_tokens t = {0};
    (void)state;
    assert_int_equal(hpc_lex(&t, text, sizeof text - 1, HPC_LANGUAGE_C, false), 0);
    assert_true(hpc_test_each_alloc(mask_body, &t) > 0);
    hpc_test_fault_reset();
    hpc_tokens_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses), cmocka_unit_test(test_credentials),
        cmocka_unit_test(test_shapes),    cmocka_unit_test(test_names),
        cmocka_unit_test(test_chain),     cmocka_unit_test(test_private_keys),
        cmocka_unit_test(test_stable),    cmocka_unit_test(test_each_alloc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
