/*
 * Tests of runtime/base/options*.c: parsing and its messages, and conversion of structs from and
 * to JSON. options_text.c tests the generated texts.
 */
/* tsan: left out, starts no thread. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/options.h"
#include "tests/support/fault.h"

typedef struct opts {
    bool json, cache, quiet;
    int64_t n, seed, digit;
    double temperature, rate;
    const char *out, *format;
    hpc_texts db, set;
} opts;

static const char *const formats[] = {"text", "json", "sarif", NULL};

static const hpc_option second_part[] = {
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(opts, out),
     .argument = "FILE"},
    {.name = "format",
     .letter = 'f',
     .kind = HPC_CHOICE,
     .offset = offsetof(opts, format),
     .fallback = "text",
     .choices = formats},
    {.name = "db", .kind = HPC_TEXTS, .offset = offsetof(opts, db), .argument = "FILE"},
    {.name = "set",
     .letter = 's',
     .kind = HPC_TEXTS,
     .offset = offsetof(opts, set),
     .fallback = "a=1",
     .argument = "KEY=VALUE"},
    {.name = "cache", .kind = HPC_FLAG, .offset = offsetof(opts, cache), .fallback = "true"},
    {.name = "json", .letter = 'j', .kind = HPC_FLAG, .offset = offsetof(opts, json)},
    {.name = "quiet", .letter = 'q', .kind = HPC_FLAG, .offset = offsetof(opts, quiet)},
    {0},
};

/* One table in two parts. */
static const hpc_option table[] = {
    {.name = "max-tokens",
     .letter = 'n',
     .kind = HPC_INT,
     .offset = offsetof(opts, n),
     .fallback = "64",
     .argument = "N",
     .least = 1,
     .most = 4096},
    {.name = "seed", .kind = HPC_INT, .offset = offsetof(opts, seed)},
    {.name = "temperature",
     .letter = 't',
     .kind = HPC_REAL,
     .offset = offsetof(opts, temperature),
     .fallback = "0.8",
     .argument = "T",
     .least = 0,
     .most = INFINITY},
    {.name = "rate", .kind = HPC_REAL, .offset = offsetof(opts, rate), .least = -1, .most = 0.5},
    {.more = second_part},
};

static const hpc_command command = {
    .name = "bench op", .summary = "measure ops", .options = table, .options_bytes = sizeof(opts)};

enum { ARGS_MAX = 24 };

typedef struct fixture {
    hpc_arena *arena;
    opts o;
    char *argv[ARGS_MAX];
    int argc, rest;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    hpc_error_clear();
    hpc_test_fault_reset();
    f->arena = hpc_arena_create(0);
    *state = f;
    return f->arena ? 0 : -1;
}

static int teardown(void **state)
{
    fixture *f = *state;
    hpc_arena_free(f->arena);
    free(f);
    return 0;
}

/* Parses the words after the command's name, up to a NULL. */
static int parse(fixture *f, const hpc_command *c, ...)
{
    va_list args;
    memset(f->argv, 0, sizeof f->argv);
    f->argv[0] = (char *)"op";
    f->argc = 1;
    va_start(args, c);
    char *word;
    while ((word = va_arg(args, char *)) != NULL) f->argv[f->argc++] = word;
    va_end(args);
    memset(&f->o, 0x5A, sizeof f->o); /* whatever the caller left there */
    return hpc_options_parse(&f->o, c, f->arena, f->argc, f->argv, &f->rest);
}
#define PARSE(...) parse(f, &command, __VA_ARGS__, (char *)NULL)

static void assert_error(int rc, int code, const char *text)
{
    assert_int_equal(rc, code);
    assert_int_equal(hpc_error_get()->code, code);
    assert_string_equal(hpc_error_get()->text, text);
    hpc_error_clear();
}
#define REFUSED(text, ...) assert_error(PARSE(__VA_ARGS__), HPC_E_ARG, text)

static void assert_texts(const hpc_texts *t, const char *joined)
{
    char all[200] = "";
    for (int64_t i = 0; i < t->n; i++) {
        strcat(all, t->item[i]);
        strcat(all, ",");
    }
    assert_string_equal(all, joined);
}

static void assert_rest(const fixture *f, const char *joined)
{
    char all[200] = "";
    for (int i = 0; i < f->rest; i++) {
        strcat(all, f->argv[i]);
        strcat(all, ",");
    }
    assert_string_equal(all, joined);
}

/* ---- parsing ---- */

static void test_defaults(void **state)
{
    fixture *f = *state;
    assert_int_equal(parse(f, &command, (char *)NULL), 0);
    assert_int_equal(f->o.n, 64);
    assert_int_equal(f->o.seed, 0);
    assert_true(f->o.temperature == 0.8);
    assert_null(f->o.out);
    assert_ptr_equal(f->o.format, formats[0]);
    assert_int_equal(f->o.db.n, 0);
    assert_texts(&f->o.set, "a=1,");
    assert_true(f->o.cache && !f->o.json && !f->o.quiet);
    assert_int_equal(f->rest, 0);
    assert_int_equal(hpc_options_parse(&f->o, &command, f->arena, 0, f->argv, &f->rest), 0);
}

static void test_long_options(void **state)
{
    fixture *f = *state;
    assert_int_equal(PARSE("--max-tokens", "7", "--temperature=1.5e-1", "--out=", "--format",
                           "sarif", "--no-cache", "--json", "--rate=-.5"),
                     0);
    assert_int_equal(f->o.n, 7);
    assert_true(f->o.temperature == 0.15);
    assert_string_equal(f->o.out, "");
    assert_ptr_equal(f->o.format, formats[2]);
    assert_true(!f->o.cache && f->o.json);
    assert_true(f->o.rate == -0.5);
    assert_int_equal(PARSE("--out=a=b", "--max-tokens=1", "--max-tokens=4096"), 0);
    assert_string_equal(f->o.out, "a=b");
    assert_int_equal(f->o.n, 4096); /* the last one counts */
    assert_int_equal(PARSE("--json", "--no-json"), 0);
    assert_false(f->o.json);
}

static void test_short_options(void **state)
{
    fixture *f = *state;
    assert_int_equal(PARSE("-jq", "-n5", "-t", "2", "-fjson", "-o", "x y"), 0);
    assert_true(f->o.json && f->o.quiet);
    assert_int_equal(f->o.n, 5);
    assert_true(f->o.temperature == 2.0);
    assert_ptr_equal(f->o.format, formats[1]);
    assert_string_equal(f->o.out, "x y");
    assert_int_equal(PARSE("-jqn", "9"), 0);
    assert_int_equal(f->o.n, 9);
    assert_int_equal(PARSE("-o-j"), 0);
    assert_string_equal(f->o.out, "-j");
    assert_false(f->o.json);
}

static void test_positionals_mix(void **state)
{
    fixture *f = *state;
    assert_int_equal(PARSE("a.c", "--json", "b.c", "-", "-n", "3", "--", "--json", "-x", "--"), 0);
    assert_rest(f, "a.c,b.c,-,--json,-x,--,");
    assert_int_equal(PARSE("--"), 0);
    assert_int_equal(f->rest, 0);
    /* what follows may be another program's */
    hpc_command passes = command;
    passes.flags = true;
    assert_int_equal(parse(f, &passes, "a.c", "--json", "--", "--json", "-x", "--", (char *)NULL),
                     0);
    assert_rest(f, "a.c,--,--json,-x,--,");
    assert_error(
        parse(f, &passes, "a.c", "-DN=3", (char *)NULL), HPC_E_ARG,
        "unknown option -DN=3: compiler options come after --, as in hpccoder bench op ... "
        "-- -DN=3");
}

static void test_negative_numbers(void **state)
{
    fixture *f = *state;
    assert_int_equal(PARSE("--seed", "-5", "-7", "-.5", "--rate", "-1", "-1e3"), 0);
    assert_int_equal(f->o.seed, -5);
    assert_true(f->o.rate == -1.0);
    assert_rest(f, "-7,-.5,-1e3,");
    assert_int_equal(PARSE("--seed=-9223372036854775808"), 0);
    assert_true(f->o.seed == INT64_MIN);
    assert_int_equal(PARSE("--out", "-3"), 0);
    assert_string_equal(f->o.out, "-3");
}

/* A table with a digit as a letter means the option, not the number. */
static void test_digit_letters(void **state)
{
    fixture *f = *state;
    static const hpc_option digits[] = {
        {.name = "one", .letter = '1', .kind = HPC_FLAG, .offset = offsetof(opts, json)},
        {.name = "depth", .letter = 'd', .kind = HPC_INT, .offset = offsetof(opts, digit)},
        {0},
    };
    static const hpc_command c = {.name = "x", .options = digits, .options_bytes = sizeof(opts)};
    assert_int_equal(parse(f, &c, "-1", "-2", "-d", "-1", (char *)NULL), 0);
    assert_true(f->o.json);
    assert_int_equal(f->o.digit, -1);
    assert_rest(f, "-2,");
}

static void test_repeated_texts(void **state)
{
    fixture *f = *state;
    assert_int_equal(PARSE("--db", "1", "--db=2", "-sb=2", "--db=3", "--db=4", "--db=5"), 0);
    assert_texts(&f->o.db, "1,2,3,4,5,");
    assert_texts(&f->o.set, "b=2,"); /* a given list replaces the default */
}

static void test_help(void **state)
{
    fixture *f = *state;
    assert_int_equal(PARSE("a", "--help", "--nonsense"), 1);
    assert_int_equal(f->rest, 0);
    assert_int_equal(PARSE("-h"), 1);
    assert_int_equal(PARSE("-jh"), 1);
    assert_int_equal(PARSE("--", "--help"), 0);
    assert_rest(f, "--help,");
    REFUSED("option --help takes no value", "--help=1");
}

static void test_no_table(void **state)
{
    fixture *f = *state;
    static const hpc_command none = {.name = "none"};
    assert_int_equal(parse(f, &none, "x", (char *)NULL), 0);
    assert_rest(f, "x,");
    assert_error(parse(f, &none, "--x", (char *)NULL), HPC_E_ARG, "unknown option --x, see --help");
}

static void test_unknown_options(void **state)
{
    fixture *f = *state;
    REFUSED("unknown option --max-token, did you mean --max-tokens?", "--max-token", "5");
    REFUSED("unknown option --max, did you mean --max-tokens?", "--max=5"); /* no abbreviations */
    REFUSED("unknown option --josn, did you mean --json?", "--josn");
    REFUSED("unknown option --no-chache, did you mean --no-cache?", "--no-chache");
    REFUSED("unknown option --no-seed, see --help", "--no-seed");
    REFUSED("unknown option --wholly-different, see --help", "--wholly-different");
    REFUSED("unknown option --, see --help", "--=x");
    REFUSED("unknown option --JSON, see --help", "--JSON");
    REFUSED("unknown option -x, see --help", "-x");
    REFUSED("unknown option -x in '-jx', see --help", "-jx");
    REFUSED("unknown option -quite, did you mean --quiet?", "-quite");
    REFUSED("unknown option --two lines, see --help", "--two\nlines");
}

static void test_long_unknown_option_is_cut(void **state)
{
    fixture *f = *state;
    char word[5000] = "--";
    memset(word + 2, 'y', sizeof word - 3);
    word[sizeof word - 1] = '\0';
    assert_int_equal(PARSE(word), HPC_E_ARG);
    assert_true(strlen(hpc_error_get()->text) < 120);
    hpc_error_clear();
    word[1] = 'y';
    assert_int_equal(PARSE(word), HPC_E_ARG);
    assert_true(strlen(hpc_error_get()->text) < 120);
}

static void test_missing_values(void **state)
{
    fixture *f = *state;
    REFUSED("option --max-tokens needs a value: N", "--max-tokens");
    REFUSED("option --format needs a value: text|json|sarif", "-f");
    REFUSED("option --out needs a value: FILE; write --out=--json if this is the value", "--out",
            "--json");
    REFUSED("option --out needs a value: FILE; write --out=-- if this is the value", "-o", "--",
            "x");
    REFUSED("option --seed needs a value: N; write --seed=-q if this is the value", "--seed", "-q");
    REFUSED("option --json takes no value", "--json=true");
    REFUSED("argument 2 is empty, see --help", "a.c", "--json", "");
    REFUSED("option --no-json takes no value", "--no-json=1");
}

static void test_bad_values(void **state)
{
    fixture *f = *state;
#define INT_MUST " is not allowed, it must be an integer from 1 to 4096"
    REFUSED("option --max-tokens: 'abc'" INT_MUST, "--max-tokens", "abc");
    REFUSED("option --max-tokens: '0'" INT_MUST, "-n", "0");
    REFUSED("option --max-tokens: '4097'" INT_MUST, "-n4097");
    REFUSED("option --max-tokens: ''" INT_MUST, "--max-tokens=");
    REFUSED("option --max-tokens: ' 5'" INT_MUST, "--max-tokens= 5");
    REFUSED("option --max-tokens: '5x'" INT_MUST, "-n5x");
    REFUSED("option --max-tokens: '0x10'" INT_MUST, "-n0x10");
    REFUSED("option --max-tokens: '1.5'" INT_MUST, "-n1.5");
    REFUSED("option --max-tokens: '-'" INT_MUST, "-n", "-");
    REFUSED("option --max-tokens: '=5'" INT_MUST, "-n=5");
#undef INT_MUST
    REFUSED("option --seed: '9223372036854775808' is not allowed, it must be an integer",
            "--seed=9223372036854775808");
    REFUSED("option --temperature: '-0.1' is not allowed, it must be a number of at least 0",
            "--temperature=-0.1");
    REFUSED("option --rate: '0.51' is not allowed, it must be a number from -1 to 0.5",
            "--rate=0.51");
    REFUSED("option --temperature: 'inf' is not allowed, it must be a number of at least 0",
            "-tinf");
    REFUSED("option --temperature: 'nan' is not allowed, it must be a number of at least 0",
            "-tnan");
    REFUSED("option --temperature: '1e999' is not allowed, it must be a number of at least 0",
            "-t1e999");
    REFUSED("option --temperature: '0x1p3' is not allowed, it must be a number of at least 0",
            "-t0x1p3");
    REFUSED("option --format: 'xml' is not allowed, it must be one of text, json, sarif",
            "--format", "xml");
    REFUSED("option --format: 'js' is not allowed, it must be one of text, json, sarif", "-fjs");
}

static void test_bad_default_is_named(void **state)
{
    fixture *f = *state;
    static const hpc_option bad[] = {
        {.name = "on", .kind = HPC_FLAG, .offset = offsetof(opts, json), .fallback = "yes"}, {0}};
    static const hpc_command c = {.name = "x", .options = bad, .options_bytes = sizeof(opts)};
    assert_error(parse(f, &c, (char *)NULL), HPC_E_ARG,
                 "default of --on: 'yes' is not allowed, it must be true or false");
}

static int parse_body(void *user)
{
    (void)user;
    opts o;
    int rest, rc = HPC_E_NOMEM;
    char *argv[] = {(char *)"op", (char *)"--db=1", (char *)"--db=2", (char *)"--db=3"};
    hpc_arena *a = hpc_arena_create(64);
    if (a) rc = hpc_options_parse(&o, &command, a, 4, argv, &rest);
    hpc_arena_free(a);
    return rc;
}

static void test_parse_without_memory(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(parse_body, NULL) >= 3);
}

/* ---- JSON ---- */

static int load(fixture *f, const char *json)
{
    hpc_json *root;
    assert_int_equal(hpc_json_parse(&root, json, strlen(json), "t"), 0);
    int rc = hpc_options_load(&f->o, &command, f->arena, root);
    hpc_json_free(root); /* loaded values outlive it */
    return rc;
}
#define NOT_LOADED(code, text, json) assert_error(load(f, json), code, text)

static void test_load(void **state)
{
    fixture *f = *state;
    assert_int_equal(PARSE("--out=before", "--db=x", "--quiet"), 0);
    assert_int_equal(load(f, "{\"max-tokens\":12,\"temperature\":1,\"out\":\"a\\u00e9\","
                             "\"format\":\"json\",\"db\":[\"p\",\"q\",\"r\"],\"cache\":false,"
                             "\"json\":true,\"set\":[]}"),
                     0);
    assert_int_equal(f->o.n, 12);
    assert_true(f->o.temperature == 1.0);
    assert_string_equal(f->o.out, "a\xC3\xA9");
    assert_ptr_equal(f->o.format, formats[1]);
    assert_texts(&f->o.db, "p,q,r,");
    assert_texts(&f->o.set, "");
    assert_true(!f->o.cache && f->o.json && f->o.quiet); /* others stay as they were */
    assert_int_equal(load(f, "{\"out\":null,\"format\":null}"), 0);
    assert_null(f->o.out);
    assert_ptr_equal(f->o.format, formats[0]); /* the default */
    assert_int_equal(load(f, "{}"), 0);
}

static void test_load_refuses(void **state)
{
    fixture *f = *state;
    assert_int_equal(parse(f, &command, (char *)NULL), 0);
    NOT_LOADED(HPC_E_ARG, "unknown key 'max_tokens', did you mean 'max-tokens'?",
               "{\"max_tokens\":1}");
    NOT_LOADED(HPC_E_ARG, "unknown key 'zzzzzz', see --help: keys are the long options",
               "{\"zzzzzz\":1}");
    NOT_LOADED(HPC_E_ARG, "unknown key '', see --help: keys are the long options", "{\"\":1}");
    NOT_LOADED(HPC_E_FORMAT, "key 'max-tokens': expected an integer, found \"5\"",
               "{\"max-tokens\":\"5\"}");
    NOT_LOADED(HPC_E_FORMAT, "key 'max-tokens': expected an integer, found 5",
               "{\"max-tokens\":5.0}");
    NOT_LOADED(HPC_E_ARG,
               "key 'max-tokens': '5000' is not allowed, it must be an integer from 1 to 4096",
               "{\"max-tokens\":5000}");
    NOT_LOADED(HPC_E_ARG, "key 'rate': '0.75' is not allowed, it must be a number from -1 to 0.5",
               "{\"rate\":0.75}");
    NOT_LOADED(HPC_E_FORMAT, "key 'rate': expected a number, found null", "{\"rate\":null}");
    NOT_LOADED(HPC_E_FORMAT, "key 'json': expected true or false, found 1", "{\"json\":1}");
    NOT_LOADED(HPC_E_FORMAT, "key 'out': expected a text, found a list", "{\"out\":[\"x\"]}");
    NOT_LOADED(HPC_E_ARG, "key 'format': 'xml' is not allowed, it must be one of text, json, sarif",
               "{\"format\":\"xml\"}");
    NOT_LOADED(HPC_E_FORMAT, "key 'db': expected a list of texts, found \"x\"", "{\"db\":\"x\"}");
    NOT_LOADED(HPC_E_FORMAT, "key 'db': expected a text, found 2", "{\"db\":[\"x\",2]}");
    NOT_LOADED(HPC_E_FORMAT, "the configuration must be a JSON object of options", "[1]");
    assert_int_equal(f->o.n, 64);
}

static void test_record(void **state)
{
    fixture *f = *state;
    hpc_buf b = {0};
    assert_int_equal(PARSE("--db=x", "--db=\"y", "--seed=-1", "-j"), 0);
    assert_int_equal(hpc_options_record(&b, &command, &f->o), 0);
    assert_string_equal(b.data, "{\n"
                                "  \"max-tokens\": 64,\n"
                                "  \"seed\": -1,\n"
                                "  \"temperature\": 0.8,\n"
                                "  \"rate\": 0.0,\n"
                                "  \"out\": null,\n"
                                "  \"format\": \"text\",\n"
                                "  \"db\": [\n"
                                "    \"x\",\n"
                                "    \"\\\"y\"\n"
                                "  ],\n"
                                "  \"set\": [\n"
                                "    \"a=1\"\n"
                                "  ],\n"
                                "  \"cache\": true,\n"
                                "  \"json\": true,\n"
                                "  \"quiet\": false\n"
                                "}");
    hpc_buf_release(&b);
}

static void test_record_loads_again(void **state)
{
    fixture *f = *state;
    hpc_buf once = {0}, twice = {0};
    assert_int_equal(PARSE("--out=o", "--db=1", "--db=2", "-t0.1", "--no-cache", "-fsarif"), 0);
    assert_int_equal(hpc_options_record(&once, &command, &f->o), 0);
    assert_int_equal(parse(f, &command, (char *)NULL), 0);
    assert_int_equal(load(f, once.data), 0);
    assert_int_equal(hpc_options_record(&twice, &command, &f->o), 0);
    assert_string_equal(once.data, twice.data);
    hpc_buf_release(&once);
    hpc_buf_release(&twice);
}

/* An option that was renamed: scripts, configurations and records keep working. */
static void former_name_is_accepted_and_recorded(void **state)
{
    static const hpc_option renamed[] = {
        {.name = "normalize", .former = "even", .kind = HPC_FLAG, .offset = offsetof(opts, json)},
        {.name = "limit", .former = "most", .kind = HPC_INT, .offset = offsetof(opts, n)},
        {0},
    };
    static const hpc_command c = {
        .name = "op", .summary = "", .options = renamed, .options_bytes = sizeof(opts)};
    fixture *f = *state;
    hpc_buf once = {0}, twice = {0}, help = {0};
    assert_int_equal(parse(f, &c, "--even", "--most=3", (char *)NULL), 0);
    assert_true(f->o.json);
    assert_int_equal(f->o.n, 3);
    assert_int_equal(hpc_options_record(&once, &c, &f->o), 0);
    assert_string_equal(once.data, "{\n  \"even\": true,\n  \"most\": 3\n}");
    assert_int_equal(parse(f, &c, "--normalize", "--limit", "3", (char *)NULL), 0);
    assert_int_equal(hpc_options_record(&twice, &c, &f->o), 0);
    assert_string_equal(once.data, twice.data);
    assert_error(parse(f, &c, "--most", "x", (char *)NULL), HPC_E_ARG,
                 "option --limit: 'x' is not allowed, it must be an integer");
    assert_int_equal(hpc_options_help(&help, &c, "hpccoder", 80), 0);
    assert_null(strstr(help.data, "--even"));
    assert_non_null(strstr(help.data, "--normalize"));
    hpc_buf_release(&once);
    hpc_buf_release(&twice);
    hpc_buf_release(&help);
}

static int load_body(void *user)
{
    fixture *f = user;
    hpc_json *root = NULL;
    hpc_buf b = {0};
    static const char json[] = "{\"out\":\"x\",\"db\":[\"1\",\"2\",\"3\",\"4\",\"5\"]}";
    hpc_arena *a = hpc_arena_create(32);
    int rc = a ? hpc_json_parse(&root, json, strlen(json), "t") : HPC_E_NOMEM;
    if (rc == 0) rc = hpc_options_load(&f->o, &command, a, root);
    if (rc == 0) rc = hpc_options_record(&b, &command, &f->o);
    hpc_buf_release(&b);
    hpc_json_free(root);
    hpc_arena_free(a);
    return rc;
}

static void test_load_and_record_without_memory(void **state)
{
    fixture *f = *state;
    assert_int_equal(parse(f, &command, (char *)NULL), 0);
    assert_true(hpc_test_each_alloc(load_body, f) >= 5);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_defaults),
        CASE(test_long_options),
        CASE(test_short_options),
        CASE(test_positionals_mix),
        CASE(test_negative_numbers),
        CASE(test_digit_letters),
        CASE(test_repeated_texts),
        CASE(test_help),
        CASE(test_no_table),
        CASE(test_unknown_options),
        CASE(test_long_unknown_option_is_cut),
        CASE(test_missing_values),
        CASE(test_bad_values),
        CASE(test_bad_default_is_named),
        CASE(test_parse_without_memory),
        CASE(test_load),
        CASE(test_load_refuses),
        CASE(test_record),
        CASE(test_record_loads_again),
        CASE(former_name_is_accepted_and_recorded),
        CASE(test_load_and_record_without_memory),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
