/*
 * Tests of corpus/secrets*.c: which share of generated secrets is masked, for each kind that secret
 * scanners know.
 *
 * Run with files as arguments it prints what is masked in them besides addresses, one line each:
 * FILE:LINE and the bytes. Of code without secrets each is a false positive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/priv.h"

enum { EACH = 34 }; /* of 30 kinds: 1,020 */

/* ---- generating ------------------------------------------------------------------------------ */

static const char alnum[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
static const char hex[] = "0123456789abcdef", digit[] = "0123456789";
static const char punctuated[] = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789#$!^*@";

typedef enum context { SHAPED, ASSIGNED, CONNECTION } context;
typedef struct part {
    const char *text, *from; /* a text, or n random characters of an alphabet */
    int n;
} part;
typedef struct kind {
    const char *name;
    context where;
    part part[6];
} kind;

/* Heads are written in two parts, so that no scanner takes this file for a leak. */
static const kind kinds[] = {
    {"AWS access key", SHAPED, {{.text = "AK"}, {.text = "IA"}, {.from = base32, .n = 16}}},
    {"AWS secret key", ASSIGNED, {{.from = base64, .n = 40}}},
    {"GitHub token", SHAPED, {{.text = "gh"}, {.text = "p_"}, {.from = alnum, .n = 36}}},
    {"GitHub fine-grained token",
     SHAPED,
     {{.text = "github_"},
      {.text = "pat_"},
      {.from = alnum, .n = 22},
      {.text = "_"},
      {.from = alnum, .n = 59}}},
    {"GitLab token", SHAPED, {{.text = "gl"}, {.text = "pat-"}, {.from = word, .n = 20}}},
    {"Slack bot token",
     SHAPED,
     {{.text = "xo"},
      {.text = "xb-"},
      {.from = digit, .n = 12},
      {.text = "-"},
      {.from = alnum, .n = 24}}},
    {"Slack webhook",
     SHAPED,
     {{.text = "https://hooks.slack"},
      {.text = ".com/services/T0"},
      {.from = base32, .n = 8},
      {.text = "/B0"},
      {.from = base32, .n = 8},
      {.text = "/x7dK2mQ9pLw4Rz8TvYb3Nc6H"}}},
    {"Google API key", SHAPED, {{.text = "AI"}, {.text = "za"}, {.from = word, .n = 35}}},
    {"Stripe key", SHAPED, {{.text = "sk_"}, {.text = "live_"}, {.from = alnum, .n = 24}}},
    {"Twilio key", SHAPED, {{.text = "S"}, {.text = "K"}, {.from = hex, .n = 32}}},
    {"SendGrid key",
     SHAPED,
     {{.text = "S"},
      {.text = "G."},
      {.from = word, .n = 22},
      {.text = "."},
      {.from = word, .n = 43}}},
    {"Mailgun key", SHAPED, {{.text = "ke"}, {.text = "y-"}, {.from = hex, .n = 32}}},
    {"Mailchimp key", SHAPED, {{.from = hex, .n = 32}, {.text = "-us"}, {.from = digit, .n = 2}}},
    {"npm token", SHAPED, {{.text = "np"}, {.text = "m_"}, {.from = alnum, .n = 36}}},
    {"PyPI token", SHAPED, {{.text = "py"}, {.text = "pi-AgEI"}, {.from = word, .n = 90}}},
    {"JSON web token",
     SHAPED,
     {{.text = "eyJh"},
      {.text = "bGciOiJIUzI1NiJ9."},
      {.text = "eyJzdWIi"},
      {.from = word, .n = 40},
      {.text = "."},
      {.from = word, .n = 43}}},
    {"Azure storage key",
     CONNECTION,
     {{.text = "AccountName=files;AccountKey="}, {.from = base64, .n = 86}, {.text = "=="}}},
    {"password in a URL",
     SHAPED,
     {{.text = "postgres://admin:"}, {.from = alnum, .n = 14}, {.text = "@db.host.net/x"}}},
    {"Heroku key",
     ASSIGNED,
     {{.from = hex, .n = 8}, {.text = "-4f3a-4b1c-9d2e-"}, {.from = hex, .n = 12}}},
    {"Discord bot token",
     SHAPED,
     {{.text = "MT"},
      {.from = alnum, .n = 24},
      {.text = "."},
      {.from = word, .n = 6},
      {.text = "."},
      {.from = word, .n = 38}}},
    {"Telegram bot token",
     SHAPED,
     {{.from = digit, .n = 10}, {.text = ":A"}, {.text = "A"}, {.from = word, .n = 33}}},
    {"OpenAI key",
     SHAPED,
     {{.text = "s"},
      {.text = "k-proj-"},
      {.from = alnum, .n = 40},
      {.text = "T3Blbk"},
      {.text = "FJ"},
      {.from = alnum, .n = 40}}},
    {"Anthropic key", SHAPED, {{.text = "sk-"}, {.text = "ant-api03-"}, {.from = word, .n = 80}}},
    {"Hugging Face token", SHAPED, {{.text = "h"}, {.text = "f_"}, {.from = alnum, .n = 34}}},
    {"DigitalOcean token", SHAPED, {{.text = "do"}, {.text = "p_v1_"}, {.from = hex, .n = 64}}},
    {"Shopify token", SHAPED, {{.text = "shp"}, {.text = "at_"}, {.from = hex, .n = 32}}},
    {"Databricks token", SHAPED, {{.text = "da"}, {.text = "pi"}, {.from = hex, .n = 32}}},
    {"password with punctuation", ASSIGNED, {{.from = punctuated, .n = 16}}},
    {"password in a connection",
     CONNECTION,
     {{.text = "Server=db;User=x;Password="}, {.from = alnum, .n = 12}, {.text = ";"}}},
    {"password in a command",
     CONNECTION,
     {{.text = "export DB_PASSWORD="}, {.from = alnum, .n = 12}, {.text = " && ./run"}}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct source { /* of random numbers */
    uint32_t seed, at, block[4];
} source;

static uint32_t draw(source *r, uint32_t n)
{
    if (r->at % 4 == 0) hpc_random_block(r->block, r->seed, 11, 0, r->at / 4);
    return r->block[r->at++ % 4] % n;
}

/* Appends the secret; *lo and *n: its random characters. */
static void add_secret(hpc_buf *out, size_t *lo, size_t *n, const kind *k, source *r)
{
    *n = 0;
    for (int i = 0; i < 6 && (k->part[i].text || k->part[i].from); i++) {
        const part *p = &k->part[i];
        if (p->text) hpc_buf_text(out, p->text);
        if (p->from && *n == 0) *lo = out->n, *n = (size_t)p->n;
        for (int c = 0; p->from && c < p->n; c++) {
            char one = p->from[draw(r, (uint32_t)strlen(p->from))];
            hpc_buf_add(out, &one, 1);
        }
    }
}

/* As it stands in code. */
static void add_code(hpc_buf *out, size_t *lo, size_t *n, const kind *k, source *r, int form)
{
    static const char *const shaped[][2] = {{"const char *x = \"", "\";\n"},
                                            {"// see ", " there\n"},
                                            {"#define X \"", "\"\n"},
                                            {"send(\"Authorization: Bearer ", "\");\n"},
                                            {"puts(\"{\\\"id\\\": \\\"", "\\\"}\");\n"}};
    static const char *const assigned[][2] = {{"const char *password = \"", "\";\n"},
                                              {"std::string api_key(\"", "\");\n"},
                                              {"#define CLIENT_SECRET \"", "\"\n"},
                                              {"map[\"access_key\"] = \"", "\";\n"},
                                              {"{\"auth_token\", \"", "\"},\n"}};
    static const char *const quoted[][2] = {{"run(\"", "\");\n"}, {"const char *c = \"", "\";\n"}};
    const char *const *around = k->where == SHAPED     ? shaped[form % 5]
                                : k->where == ASSIGNED ? assigned[form % 5]
                                                       : quoted[form % 2];
    bool list = k->where == SHAPED && strcmp(k->name, "Mailchimp key") == 0;
    bool bot = strcmp(k->name, "Discord bot token") == 0;
    if (list || bot) around = shaped[0]; /* known where they are a whole string */
    hpc_buf_text(out, "int before;\n");
    hpc_buf_text(out, around[0]);
    add_secret(out, lo, n, k, r);
    hpc_buf_text(out, around[1]);
    assert_int_equal(out->failed, 0);
}

static void mask(hpc_buf *out, int64_t *n, const hpc_buf *text)
{
    hpc_tokens t = {0};
    assert_int_equal(hpc_lex(&t, text->data, text->n, HPC_LANGUAGE_CPP, false), 0);
    assert_int_equal(corpus_mask(out, n, text->data, text->n, &t), 0);
    hpc_tokens_release(&t);
}

/* None of its random characters is left, but for fewer than six in a row. */
static bool is_masked(const hpc_buf *text, size_t lo, size_t n, const hpc_buf *out, int64_t masked)
{
    for (size_t k = 0; masked > 0 && k + 6 <= n; k++)
        if (memmem(out->data, out->n, text->data + lo + k, 6)) return false;
    return masked > 0;
}

static void most_secrets_of_each_kind_are_masked(void **state)
{
    int all = 0;
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        int found = 0;
        for (int i = 0; i < EACH; i++) {
            source r = {.seed = (uint32_t)(1000 * k + i)};
            hpc_buf text = {0}, out = {0};
            size_t lo = 0, n = 0;
            int64_t masked = 0;
            add_code(&text, &lo, &n, &kinds[k], &r, i);
            mask(&out, &masked, &text);
            found += is_masked(&text, lo, n, &out, masked);
            hpc_buf_release(&text);
            hpc_buf_release(&out);
        }
        print_message("%-28s %2d of %d\n", kinds[k].name, found, EACH);
        assert_true(10 * found >= 9 * EACH);
        all += found;
    }
    print_message("%d of %d secrets of %d kinds\n", all, KINDS * EACH, KINDS);
    assert_true(100 * all >= 97 * KINDS * EACH);
}

/* What code has, and no secret. */
static void ordinary_code_stays(void **state)
{
    static const char *const codes[] = {
        "const char *password = \"please enter your password\";\n",
        "printf(\"password=%s token: %d\\n\", p, t);\n",
        "// token: the next token of the stream, access_key: as in the header\n",
        "const char *secret_name = \"client_secret_name\";\n",
        "if (token == \"operator++\") next();\n",
        "f(\"token\", \"HTTP/1.1 200 OK\");\n",
        "#define TOKEN_FORMAT \"%08x-%04x\"\n",
        "const char *passwd_file = \"/etc/passwd\";\n",
        "set(\"api_key\", \"YOUR_API_KEY_HERE\");\n",
        "x = \"Password=<password>;\";\n",
        "const char *tokenizer = \"tokenizer.model\";\n",
        "// key-value-pair-of-many-words-that-goes-on-and-on-for-long\n",
        "log(\"password: required, token: optional\");\n",
        "run(\"hpccoder corpus pack --tokenizer tok --out shards\");\n"};
    (void)state;
    for (size_t k = 0; k < sizeof codes / sizeof *codes; k++) {
        hpc_buf text = {0}, out = {0};
        int64_t masked = 0;
        hpc_buf_text(&text, codes[k]);
        mask(&out, &masked, &text);
        if (masked) fail_msg("masked: %s", codes[k]);
        hpc_buf_release(&text);
        hpc_buf_release(&out);
    }
}

/* ---- false positives of files ------------------------------------------------------------------
 */

static int show_masked(const char *path)
{
    hpc_buf text = {0}, out = {0};
    hpc_tokens t = {0};
    int64_t masked = 0, line = 1;
    int shown = 0;
    if (hpc_file_read(&text, path, 1 << 24) < 0) return 0;
    if (hpc_lex(&t, text.data, text.n, HPC_LANGUAGE_CPP, false) >= 0)
        corpus_mask(&out, &masked, text.data, text.n, &t);
    static const char removed[] = "SECRET_REMOVED";
    const char *p = out.data, *end = out.data + out.n;
    for (; masked > 0 && p < end && (p = memmem(p, (size_t)(end - p), removed, 14)); p++) {
        line = 1;
        for (const char *c = out.data; c < p; c++) line += *c == '\n';
        const char *from = p, *to = p;
        while (from > out.data && from[-1] != '\n') from--;
        while (to < end && *to != '\n') to++;
        printf("%s:%lld: %.*s\n", path, (long long)line, (int)(to - from), from);
        shown++;
    }
    hpc_tokens_release(&t);
    hpc_buf_release(&text);
    hpc_buf_release(&out);
    return shown;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(most_secrets_of_each_kind_are_masked),
        cmocka_unit_test(ordinary_code_stays),
    };
    int shown = 0;
    for (int k = 1; k < argc; k++) shown += show_masked(argv[k]);
    if (argc > 1) return printf("%d in %d files\n", shown, argc - 1) < 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
