/*
 * Recall of corpus/secrets.c on generated secrets: kinds documented by public secret scanners, at
 * typical places in source files, with a minimum for each kind.
 *
 * With files as arguments it prints what is masked in them, to count false positives.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus/priv.h"

enum { EACH = 30, WINDOW = 8 /* characters of a secret that must not be left together */ };

static const char lower[] = "abcdefghijklmnopqrstuvwxyz", upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char digits[] = "0123456789", signs[] = "!#$%&*+-.=?@^_~";

/* ---- generation ------------------------------------------------------------------------ */

typedef struct source { /* of random numbers: splitmix64 */
    uint64_t state;
} source;

static uint64_t draw(source *r, uint64_t below)
{
    uint64_t x = r->state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return (x ^ x >> 31) % below;
}

/* a letters and digits, u upper case, digits, 2 base32, l lower case, digits, d digits, x
 * hexadecimal, w a - _, k base64, p printable. */
static char draw_of(source *r, char class)
{
    char all[128];
    const char *more = "";
    switch (class) {
    case 'a': snprintf(all, sizeof all, "%s%s%s", lower, upper, digits); break;
    case 'u': snprintf(all, sizeof all, "%s%s", upper, digits); break;
    case '2': snprintf(all, sizeof all, "%s234567", upper); break;
    case 'l': snprintf(all, sizeof all, "%s%s", lower, digits); break;
    case 'd': snprintf(all, sizeof all, "%s", digits); break;
    case 'x': snprintf(all, sizeof all, "%sabcdef", digits); break;
    case 'w': more = "-_"; break;
    case 'k': more = "+/"; break;
    case 'p': more = signs; break;
    default: fail_msg("no class %c", class);
    }
    if (*more) snprintf(all, sizeof all, "%s%s%s%s", lower, upper, digits, more);
    return all[draw(r, strlen(all))];
}

/* "AKIA{u16}" is text and counts of characters of a class; {p12-24} draws the count too. Only what
 * lies between two '|' is the secret, if there are any. */
static void generate(hpc_buf *out, hpc_buf *secret, source *r, const char *pattern)
{
    bool marked = strchr(pattern, '|') != NULL, inside = !marked;
    out->n = secret->n = 0;
    for (const char *p = pattern; *p; p++) {
        if (*p == '|') {
            inside = !inside;
            continue;
        }
        char class = 0, *end;
        uint64_t n = 1;
        if (*p == '{') {
            class = p[1];
            n = strtoull(p + 2, &end, 10);
            if (*end == '-') n += draw(r, strtoull(end + 1, &end, 10) - n + 1);
        }
        for (uint64_t k = 0; k < n; k++) {
            char c = class ? draw_of(r, class) : *p;
            hpc_buf_add(out, &c, 1);
            if (inside) hpc_buf_add(secret, &c, 1);
        }
        if (class) p = end;
    }
    hpc_buf_add(out, "", 1);
    hpc_buf_add(secret, "", 1);
}

/* ---- kinds -------------------------------------------------------------------------------- */

/* Where a secret with a shape of its own stands. */
static const char *const anywhere[] = {
    "const char *value = \"%s\";\n",
    "/* see %s for this */\n",
    "// %s\n",
    "#define VALUE \"%s\"\n",
    "call(a, \"%s\", n);\n",
    "puts(\"run with %s now\\n\");\n",
    "char url[] = \"https://host.net/x?k=%s&n=1\";\n",
    "      call f('%s')\n",
    NULL,
};

/* Where a secret is assigned to a name. */
static const char *const quoted[] = {
    "static const char *%s = \"%s\";\n",
    "char %s[] = \"%s\";\n",
    "char %s[64] = \"%s\";\n",
    "cfg[\"%s\"] = \"%s\";\n",
    "setenv(\"%s\", \"%s\", 1);\n",
    "#define %s \"%s\"\n",
    "conf c = {.%s = \"%s\"};\n",
    "std::string %s{\"%s\"};\n",
    "if (strcmp(%s, \"%s\") == 0) run();\n",
    "const char *j = \"{\\\"%s\\\": \\\"%s\\\", \\\"n\\\": 1}\";\n",
    "const char *y = \"user: x\\n%s: '%s'\\n\";\n",
    NULL,
};
static const char *const unquoted[] = {
    "// %s=%s\n",
    "/* %s: %s */\n",
    "system(\"export %s=%s && run\");\n",
    "const char *c = \"Server=db;User Id=sa;%s=%s;Encrypt=yes\";\n",
    "const char *u = \"https://host.net/?%s=%s&n=1\";\n",
    NULL,
};

static const struct {
    const char *kind;
    const char *pattern[4];
    const char *name[6]; /* NULL: it has a shape of its own */
    const char *const *places;
    int floor; /* of EACH */
} kinds[] = {
    {"AWS access key id", {"AKIA{216}", "ASIA{216}", "ABIA{216}"}, {NULL}, anywhere, 30},
    {"AWS secret key", {"{k40}"}, {"aws_secret_access_key", "AWS_SECRET_KEY"}, quoted, 30},
    {"AWS secret key, bare", {"{k40}"}, {"aws_secret_access_key"}, unquoted, 30},
    {"Azure AD client secret", {"{a3}{d1}Q~{w32}"}, {NULL}, anywhere, 30},
    {"Azure storage key", {"{k86}=="}, {"AccountKey"}, unquoted, 30},
    {"password in URL", {"https://{l8}:|{a14}|@db.host.org/x"}, {NULL}, anywhere, 30},
    {"Discord bot token", {"M{a23}.{w6}.{w27}", "N{a23}.{w6}.{w38}"}, {NULL}, anywhere, 30},
    {"GitHub token", {"ghp_{a36}", "gho_{a36}", "ghs_{a36}", "ghr_{a36}"}, {NULL}, anywhere, 30},
    {"GitHub fine-grained token", {"github_pat_{a22}_{a59}"}, {NULL}, anywhere, 30},
    {"GitLab token",
     {"glpat-{w20}", "gldt-{w20}", "glrt-{w20}", "glptt-{x40}"},
     {NULL},
     anywhere,
     30},
    {"Google API key", {"AIza{w35}"}, {NULL}, anywhere, 30},
    {"Google OAuth secret", {"GOCSPX-{w28}"}, {NULL}, anywhere, 30},
    {"Hugging Face token", {"hf_{a34}"}, {NULL}, anywhere, 30},
    {"JSON web token",
     {"eyJhbGciOiJI{a20}.eyJ{w60}.{w43}", "eyJ0eXAi{a24}.eyJ{w60}.{w43}"},
     {NULL},
     anywhere,
     30},
    {"Mailgun key", {"key-{x32}"}, {NULL}, anywhere, 30},
    {"Heroku key",
     {"{x8}-{x4}-4{x3}-9{x3}-{x12}"},
     {"heroku_api_key", "HEROKU_API_KEY"},
     quoted,
     30},
    {"Mailchimp key", {"{x32}-us{d2}"}, {NULL}, anywhere, 30},
    {"npm token", {"npm_{a36}"}, {NULL}, anywhere, 30},
    {"OpenAI key", {"sk-{a20}T3BlbkFJ{a20}", "sk-proj-{w74}T3BlbkFJ{w74}"}, {NULL}, anywhere, 30},
    {"Anthropic key", {"sk-ant-api03-{w93}AA"}, {NULL}, anywhere, 30},
    {"private key",
     {"-----BEGIN RSA PRIVATE KEY-----\\n|{k64}|\\n-----END RSA PRIVATE KEY-----"},
     {NULL},
     anywhere,
     30},
    {"PyPI token", {"pypi-AgEIcHlwaS5vcmc{w80}"}, {NULL}, anywhere, 30},
    {"SendGrid key", {"SG.{w22}.{w43}"}, {NULL}, anywhere, 30},
    {"Slack token",
     {"xoxb-{d12}-{d12}-{a24}", "xoxp-{d12}-{d12}-{d12}-{x32}", "xapp-1-{u11}-{d13}-{x64}"},
     {NULL},
     anywhere,
     30},
    {"Slack webhook",
     {"https://hooks.slack.com/services/|T{u8}/B{u10}/{a24}|"},
     {NULL},
     anywhere,
     30},
    {"Square token", {"sq0csp-{w43}", "sq0atp-{w22}"}, {NULL}, anywhere, 30},
    {"Stripe key", {"sk_live_{a24}", "rk_live_{a24}", "sk_test_{a24}"}, {NULL}, anywhere, 30},
    {"Telegram bot token", {"{d9}:AA{w33}", "{d10}:AA{w33}"}, {NULL}, anywhere, 30},
    {"Twilio key", {"SK{x32}", "AC{x32}"}, {NULL}, anywhere, 30},
    {"DigitalOcean token", {"dop_v1_{x64}"}, {NULL}, anywhere, 30},
    {"Databricks token", {"dapi{x32}"}, {NULL}, anywhere, 30},
    {"Shopify token", {"shpat_{x32}", "shpss_{x32}"}, {NULL}, anywhere, 30},
    {"Vault token", {"hvs.{w92}"}, {NULL}, anywhere, 30},
    {"Artifactory key", {"AKCp{a69}"}, {NULL}, anywhere, 30},
    {"hexadecimal key",
     {"{x32}", "{x40}", "{x64}"},
     {"api_key", "API_KEY", "apikey", "auth_key", "ENCRYPTION_KEY", "signing_key"},
     quoted,
     30},
    {"hexadecimal key, bare", {"{x32}", "{x40}"}, {"api_key", "X-API-Key", "token"}, unquoted, 30},
    {"base64 token", {"{k32}", "{w43}", "{l32}"}, {"auth_token", "client_secret"}, quoted, 30},
    {"bearer token",
     {"{w43}", "{a32}"},
     {"Authorization: Bearer"},
     (const char *const[]){"const char *h = \"%s %s\";\n", "// curl -H '%s %s'\n", NULL},
     29},
    {"password",
     {"{p12-24}"},
     {"password", "db_passwd", "userPwd", "passphrase", "DB_PASS"},
     quoted,
     28},
    {"password, bare", {"{p12-24}"}, {"Password", "DB_PASSWORD", "Pwd"}, unquoted, 28},
    {"password of letters and digits", {"{a12}"}, {"Password", "DB_PASSWORD"}, unquoted, 27},
    {"short password", {"{p8-11}"}, {"password", "PASSWORD"}, quoted, 28},
};
enum { KINDS_N = sizeof kinds / sizeof *kinds };

static int64_t count(const char *const *list, int64_t most)
{
    int64_t n = 0;
    while (n < most && list[n]) n++;
    return n;
}

/* ---- masking ------------------------------------------------------------------------------ */

static void mask(hpc_buf *out, const char *text, size_t n)
{
    hpc_tokens t = {0};
    int64_t masked = 0;
    assert_int_equal(hpc_lex(&t, text, n, HPC_LANGUAGE_C, false), 0);
    assert_int_equal(corpus_mask(out, &masked, text, n, &t), 0);
    if (masked == 0) {
        out->n = 0;
        assert_int_equal(hpc_buf_add(out, text, n), 0);
    }
    hpc_tokens_release(&t);
}

/* True if the text still has WINDOW characters of the secret together. */
static bool has_part(const char *text, const char *secret)
{
    size_t n = strlen(secret), window = n < WINDOW ? n : WINDOW;
    for (size_t k = 0; k + window <= n; k++)
        if (memmem(text, strlen(text), secret + k, window)) return true;
    return false;
}

static bool is_masked(source *r, int k)
{
    hpc_buf value = {0}, secret = {0}, text = {0}, out = {0};
    int64_t places = count(kinds[k].places, 99), names = count(kinds[k].name, 6);
    const char *place = kinds[k].places[draw(r, (uint64_t)places)];
    generate(&value, &secret, r, kinds[k].pattern[draw(r, (uint64_t)count(kinds[k].pattern, 4))]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (names > 0)
        hpc_buf_printf(&text, place, kinds[k].name[draw(r, (uint64_t)names)], value.data);
    else
        hpc_buf_printf(&text, place, value.data);
#pragma GCC diagnostic pop
    mask(&out, text.data, text.n);
    bool gone = !has_part(out.data, secret.data);
    if (!gone) print_message("missed: %s", text.data);
    hpc_buf_release(&value);
    hpc_buf_release(&secret);
    hpc_buf_release(&text);
    hpc_buf_release(&out);
    return gone;
}

static void test_recall_of_each_kind(void **state)
{
    int found = 0, low = 0;
    (void)state;
    for (int k = 0; k < KINDS_N; k++) {
        source r = {.state = (uint64_t)k << 32};
        int n = 0;
        for (int i = 0; i < EACH; i++) n += is_masked(&r, k);
        print_message("%-28s %3d of %d, at least %d\n", kinds[k].kind, n, EACH, kinds[k].floor);
        low += n < kinds[k].floor;
        found += n;
    }
    print_message("%-28s %3d of %d\n", "all", found, KINDS_N * EACH);
    assert_int_equal(low, 0);
}

static void test_leaves_code_alone(void **state)
{
    static const char *const codes[] = {
        "const char *password = \"please enter your password\";\n",
        "printf(\"password=%s token: %d\\n\", p, t);\n",
        "printf(\"token=%08lx-%04x\\n\", a, b);\n",
        "// token: the next token of the stream, access_key: as in the header\n",
        "// Auth_Token = SHA256(M1_body)[0:16]\n",
        "/* @password: 0-to-256-unicode-char Password (IN; UTF-8) */\n",
        "/* b64_crc32 = crc32(\"token_marker:chip:ver:b64_blocks:b64_cerr:\") */\n",
        "const char *bypass = \"x9Kf2mQ7\", *pass_name = \"gvn2-Loop\";\n",
        "f(\"ov::frontend::pass::FuseToSDPA\");\n",
        "const char *secret_name = \"client_secret_name\";\n",
        "const char *s = c->access_key ? \"netAccessKey\" : \"C-sign-key\";\n",
        "if (token == \"operator++\") next();\n",
        "#define SN_Token_A3 \"setAttr-Token-B0Prime\"\n",
        "#define MASTER_SECRET \"\\x6d\\x61\\x73\\x74\\x65\\x72\"\n",
        "if (strcmp(token, \"FORMAT=32-bit_rle_rgbe\") == 0) n = 1;\n",
        "f(token, // tokens\n  \"(IMGIMG)((A|B|C|D|E){1,4})Z\");\n",
        "if (tokenizer_pre == \"jina-v1-en\") n = 1;\n",
        "tokens(\"x---y&&!z||~w%=2\", \"^N<x> P<--> P<->\");\n",
        "token = get_token2(Lexer_a1, &x[3]);\n",
        "f(\"token\", \"HTTP/1.1 200 OK\");\n",
        "#define TOKEN_FORMAT \"%08x-%04x\"\n",
        "const char *passwd_file = \"/etc/passwd\";\n",
        "const char *token_url = \"https://accounts.host.com/o/oauth2/v4/token\";\n",
        "const char *token_chars = \"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123\";\n",
        "const char *token_target = \"x86_64-unknown-linux-gnu-v12\";\n",
        "set(\"api_key\", \"YOUR_API_KEY_HERE\");\n",
        "setopt(curl, OPT_USERPWD, \"keyId:SecretKey\");\n",
        "x = \"Password=<password>;\";\n",
        "x = \"export TOKEN=$GITHUB_TOKEN_2\";\n",
        "const char *tokenizer = \"tokenizer.model\";\n",
        "// key-value-pair-of-many-words-that-goes-on-and-on-for-long\n",
        "log(\"password: required, token: optional\");\n",
        "run(\"hpccoder corpus pack --tokenizer tok --out shards\");\n"};
    hpc_buf out = {0};
    (void)state;
    for (size_t k = 0; k < sizeof codes / sizeof *codes; k++) {
        mask(&out, codes[k], strlen(codes[k]));
        assert_int_equal(hpc_buf_add(&out, "", 1), 0);
        assert_string_equal(out.data, codes[k]);
    }
    hpc_buf_release(&out);
}

/* ---- false positives ------------------------------------------------------------------------ */

static void print_masked(const char *path)
{
    hpc_buf text = {0}, out = {0};
    hpc_tokens t = {0};
    int64_t masked = 0;
    assert_int_equal(hpc_file_read(&text, path, 1 << 26), 0);
    hpc_language language = hpc_language_of(path, text.data, text.n);
    assert_int_equal(hpc_lex(&t, text.data, text.n, language, false), 0);
    assert_int_equal(corpus_mask(&out, &masked, text.data, text.n, &t), 0);
    const char *a = text.data, *b = masked > 0 ? out.data : a;
    while (masked > 0 && *a) { /* line by line: masking keeps the lines */
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        if (memmem(b, m, "SECRET_REMOVED", 14)) printf("%s: %.*s\n", path, (int)n, a);
        a += n + (a[n] == '\n');
        b += m + (b[m] == '\n');
    }
    hpc_buf_release(&text);
    hpc_buf_release(&out);
    hpc_tokens_release(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_recall_of_each_kind),
                                       cmocka_unit_test(test_leaves_code_alone)};
    for (int k = 1; k < argc; k++) print_masked(argv[k]);
    if (argc > 1) fprintf(stderr, "%d files\n", argc - 1);
    return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
