/*
 * Tests of grammars and JSON schemas: of answers, and which values a schema accepts.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "infer/engine/gbnf.h"
#include "infer/serve/api_schema.h"
#include "tests/serve/served.h"
#include "tests/support/expect.h"

/* ---- schemas -------------------------------------------------------------------------------- */

static hpc_gbnf *compile(const char *text)
{
    hpc_buf grammar = {0};
    hpc_json *schema;
    hpc_gbnf *g;
    test_ok(hpc_json_parse(&schema, text, strlen(text), "schema"));
    test_ok(api_schema_grammar(&grammar, schema));
    test_ok(hpc_gbnf_parse(&g, grammar.data, grammar.n));
    hpc_json_free(schema);
    hpc_buf_release(&grammar);
    return g;
}

static bool accepts(hpc_gbnf *g, const char *text)
{
    int32_t state = hpc_gbnf_start(g);
    for (; *text && state >= 0; text++) state = hpc_gbnf_step(g, state, (uint8_t)*text);
    return hpc_gbnf_may_end(g, state);
}

static void schemas_accept_their_values(void **state)
{
    static const struct {
        const char *schema, *good[5], *bad[5];
    } cases[] = {
        {"{}", {"1", "\"a\"", "[1, {}]", "{\"a\": [true]}", "null"}, {"", "a", "[1,]", "{1:2}"}},
        {"{\"type\":\"string\"}",
         {"\"\"", "\"a\\n\\u00e9\"", "\"\u00e9\""},
         {"\"", "\"\n\"", "\"\\q\"", "1"}},
        {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}",
         {"\"ab\"", "\"ab\\n\"", "\"\u00e9\u00e9\u00e9\""},
         {"\"a\"", "\"abcd\""}},
        {"{\"type\":\"integer\"}", {"0", "-12", "7"}, {"01", "1.5", "-", "+1"}},
        {"{\"type\":[\"number\",\"null\"]}", {"1.5e-3", "null", "-0.1"}, {"1.", "nul", "true"}},
        {"{\"enum\":[\"a\\\"b\",1,{\"x\":null}]}",
         {"\"a\\\"b\"", "1", "{\"x\":null}"},
         {"\"a\"", "2"}},
        {"{\"anyOf\":[{\"const\":true},{\"type\":\"array\",\"items\":{\"type\":\"integer\"},"
         "\"minItems\":1,\"maxItems\":2}]}",
         {"true", "[1]", "[1, 2]"},
         {"false", "[]", "[1,2,3]", "[true]"}},
        {"{\"items\":[{\"type\":\"integer\"},{\"type\":\"boolean\"}]}",
         {"[1,true]", "[ 1, false ]"},
         {"[1]", "[true,1]"}},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":"
         "\"boolean\"},\"c\":{\"const\":1}},\"required\":[\"b\"],\"additionalProperties\":false}",
         {"{\"b\":true}", "{\"a\": 1, \"b\": true}", "{\"a\":1,\"b\":false,\"c\":1}",
          "{ \"b\": true, \"c\": 1 }"},
         {"{}", "{\"a\":1}", "{\"b\":true,\"a\":1}", "{\"b\":true,}", "{,\"b\":true}"}},
        {"{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}}",
         {"{}", "{\"x\":1}", "{\"x\":1, \"y\":2}"},
         {"{\"x\":true}"}},
        {"{\"$defs\":{\"tree\":{\"type\":\"object\",\"properties\":{\"of\":{\"type\":\"array\","
         "\"items\":{\"$ref\":\"#/$defs/tree\"}}},\"required\":[\"of\"]}},"
         "\"$ref\":\"#/$defs/tree\"}",
         {"{\"of\":[]}", "{\"of\":[{\"of\":[]},{\"of\":[]}]}"},
         {"{}", "{\"of\":[1]}"}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hpc_gbnf *g = compile(cases[k].schema);
        for (int i = 0; i < 5; i++) {
            const char *good = cases[k].good[i], *bad = cases[k].bad[i];
            if (good && !accepts(g, good)) fail_msg("%s rejects %s", cases[k].schema, good);
            if (bad && accepts(g, bad)) fail_msg("%s accepts %s", cases[k].schema, bad);
        }
        hpc_gbnf_free(g);
    }
}

static void keywords_that_are_not_supported_are_named(void **state)
{
    static const struct {
        const char *schema, *text;
        int code;
    } cases[] = {{"{\"pattern\":\"a\"}", "\"pattern\"", HPC_E_UNSUPPORTED},
                 {"{\"items\":{\"minimum\":3}}", "\"minimum\"", HPC_E_UNSUPPORTED},
                 {"{\"enum\":[1],\"minItems\":1}", "\"enum\" with", HPC_E_UNSUPPORTED},
                 {"{\"properties\":{\"a\":{}},\"additionalProperties\":true}",
                  "\"additionalProperties\"", HPC_E_UNSUPPORTED},
                 {"{\"type\":7}", "\"type\"", HPC_E_ARG},
                 {"{\"minItems\":-1}", "\"minItems\"", HPC_E_ARG},
                 {"{\"maxLength\":99999}", "\"maxLength\"", HPC_E_ARG},
                 {"{\"enum\":[]}", "\"enum\"", HPC_E_ARG},
                 {"{\"$ref\":\"http://a/b\"}", "\"$ref\"", HPC_E_ARG},
                 {"[1]", "an object", HPC_E_ARG}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hpc_buf grammar = {0};
        hpc_json *schema;
        test_ok(hpc_json_parse(&schema, cases[k].schema, strlen(cases[k].schema), "schema"));
        test_fails(api_schema_grammar(&grammar, schema), cases[k].code, cases[k].text);
        hpc_json_free(schema);
        hpc_buf_release(&grammar);
    }
}

/* ---- answers -------------------------------------------------------------------------------- */

static void answers_follow_the_grammar(void **state)
{
    static const struct {
        const char *line, *body, *list, *key, *text;
    } cases[] = {
        {"POST /completion", "\"prompt\":\"int main(\",\"grammar\":\"root ::= \\\"a\\\"{5}\"", NULL,
         "content", "aaaaa"},
        {"POST /completion",
         "\"prompt\":\"int main(\",\"json_schema\":{\"const\":\"x y\"},\"ignore_eos\":true", NULL,
         "content", "\"x y\""},
        {"POST /v1/completions",
         "\"prompt\":\"int main(\",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{"
         "\"name\":\"n\",\"schema\":{\"const\":[1,2]}}}",
         "choices", "text", "[1,2]"},
        {"POST /api/generate",
         "\"prompt\":\"int main(\",\"stream\":false,\"format\":{\"const\":\"\u00e9\"}", NULL,
         "response", "\"\u00e9\""}};
    char body[512];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        snprintf(body, sizeof body, "{%s,\"n_predict\":60}", cases[k].body);
        char *text = text_of(ask(f, 200, cases[k].line, body), cases[k].list, cases[k].key);
        assert_string_equal(text, cases[k].text);
        free(text);
    }
    close_fixture(f);
}

/* Several answers share one grammar. */
static void answers_of_a_request_share_the_grammar(void **state)
{
    char joined[4096];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    const char *text = ask(f, 200, "POST /completion",
                           "{\"prompt\":[\"int a\",\"int b\"],\"n\":2,\"n_predict\":12,"
                           "\"temperature\":1,\"grammar\":\"root ::= [0-9]+\","
                           "\"response_fields\":[\"content\"]}");
    hpc_json *list;
    test_ok(hpc_json_parse(&list, text, strlen(text), "answer"));
    assert_int_equal(hpc_json_n(list), 4);
    for (int k = 0; k < 4; k++) {
        const char *digits;
        test_ok(hpc_json_text(&digits, hpc_json_get(hpc_json_at(list, k), "content"), ""));
        assert_true(*digits && strspn(digits, "0123456789") == strlen(digits));
    }
    hpc_json_free(list);
    join_events(
        joined,
        ask_stream(f, "POST /completion",
                   "{\"prompt\":\"{\",\"stream\":true,\"n_predict\":200,"
                   "\"response_format\":{\"type\":\"json_object\",\"schema\":{\"type\":"
                   "\"object\",\"properties\":{\"n\":{\"enum\":[1,2]}},\"required\":[\"n\"]}}}"),
        NULL, "content");
    hpc_json *value;
    test_ok(hpc_json_parse(&value, joined, strlen(joined), "answer"));
    assert_int_equal(hpc_json_kind_of(hpc_json_get(value, "n")), HPC_JSON_INT);
    hpc_json_free(value);
    close_fixture(f);
}

#define WITH_FOLDER(f)                                                                             \
    cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(schemas_accept_their_values),
                                       cmocka_unit_test(keywords_that_are_not_supported_are_named),
                                       WITH_FOLDER(answers_follow_the_grammar),
                                       WITH_FOLDER(answers_of_a_request_share_the_grammar)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
