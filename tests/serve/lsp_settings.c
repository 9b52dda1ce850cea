/*
 * Tests of the settings of the language server and of its progress reports.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>

#include "tests/serve/client.h"
#include "tests/support/chain.h"
#include "tests/support/folder.h"

#define C_URI    "file:///tmp/f.c"
#define CPP_URI  "file:///tmp/f.cpp"
#define SHUTDOWN "{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"shutdown\"}"
#define CHANGE(settings)                                                                           \
    "{\"jsonrpc\":\"2.0\",\"method\":\"workspace/didChangeConfiguration\",\"params\":{"            \
    "\"settings\":" settings "}}"
#define PULLS "{\"workspace\":{\"configuration\":true}}"

static const hpc_test_phrase phrases[] = {
    {"    a += 1;\n", {2}}, {"    return a;\n", {3}}, {"}\n", {HPC_CHAIN_END}}};

static char model[PATH_MAX];

static void start_slow(lsp_client *c, void **state, const char *capabilities, const char *options,
                       int slow_ms)
{
    hpc_test_chain(hpc_test_path(model, *state, "model"), phrases, 3);
    const hpc_lsp_options o = {.completes = true,
                               .engine = {.model = model,
                                          .threads = 1,
                                          .weights = HPC_DTYPE_N,
                                          .cache_tokens = 1024,
                                          .requests = 1},
                               .completion_tokens = 64,
                               .completion_seconds = 60,
                               .slow_ms = slow_ms};
    client_open(c, &o);
    client_begin_with(c, capabilities, options);
    client_open_document(c, C_URI, "int f(int a)\n{\n");
    client_open_document(c, CPP_URI, "int f(int a)\n{\n");
}

static void start(lsp_client *c, void **state, const char *capabilities, const char *options)
{
    start_slow(c, state, capabilities, options, 0);
}

static void end(lsp_client *c)
{
    client_ask(c, SHUTDOWN);
    assert_int_equal(client_close(c), 0);
}

/* Asks for a completion at the end of the document. */
static const char *complete(lsp_client *c, const char *uri)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"textDocument/inlineCompletion\","
             "\"params\":{\"textDocument\":{\"uri\":\"%s\"},"
             "\"position\":{\"line\":2,\"character\":0}}}",
             uri);
    return client_ask(c, text);
}

static bool completes(lsp_client *c, const char *uri)
{
    return strstr(complete(c, uri), "a += 1;") != NULL;
}

static void unknown_keys_and_wrong_values_are_reported_once(void **state)
{
    lsp_client c;
    start(&c, state, "{}", "{\"colour\":1,\"threads\":\"many\",\"completion\":{\"cobol\":true}}");
    client_send(&c, CHANGE("{\"hpccoder\":{\"colour\":2,\"threads\":-1}}"));
    assert_true(completes(&c, C_URI));
    assert_int_equal(c.notes, 3); /* colour, threads, completion.cobol */
    client_send(&c, CHANGE("{\"seconds\":0}"));
    assert_true(completes(&c, C_URI));
    assert_int_equal(c.notes, 4);
    assert_non_null(strstr(c.note, "\\\"seconds\\\" is ignored: expected a number from 0.01"));
    end(&c);
}

static void completions_can_be_disabled_by_language(void **state)
{
    lsp_client c;
    start(&c, state, "{}", "{\"completion\":{\"*\":false,\"cpp\":true}}");
    assert_false(completes(&c, C_URI));
    assert_true(completes(&c, CPP_URI));
    client_send(&c, CHANGE("{\"hpccoder\":{\"completion\":true}}"));
    assert_true(completes(&c, C_URI));
    client_send(&c, CHANGE("{\"hpccoder\":{\"completion\":false}}"));
    assert_false(completes(&c, CPP_URI));
    end(&c);
}

static void answer_configuration(lsp_client *c, const char *value)
{
    char text[256];
    hpc_json *asked = client_await(c, "workspace/configuration");
    hpc_json_free(asked);
    assert_non_null(strstr(c->body.data, "\"section\":\"hpccoder\""));
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":\"configuration\",\"result\":[%s]}",
             value);
    client_send(c, text);
}

static void configuration_is_read_from_the_client(void **state)
{
    lsp_client c;
    start(&c, state, PULLS, "{}");
    answer_configuration(&c, "{\"completion\":false}");
    assert_false(completes(&c, C_URI));
    client_send(&c, CHANGE("null"));
    answer_configuration(&c, "{\"completion\":true,\"maxTokens\":3}");
    assert_true(completes(&c, C_URI));
    client_send(&c, CHANGE("{}"));
    answer_configuration(&c, "null");
    assert_true(completes(&c, C_URI));
    end(&c);
}

static void model_and_threads_can_change(void **state)
{
    lsp_client c;
    char text[PATH_MAX + 256];
    start(&c, state, "{}", "{\"model\":\"/no/such/model.gguf\"}");
    assert_false(completes(&c, C_URI));
    assert_false(completes(&c, C_URI));
    assert_int_equal(c.notes, 1);
    snprintf(text, sizeof text, CHANGE("{\"hpccoder\":{\"model\":\"%s\",\"threads\":2}}"), model);
    client_send(&c, text);
    assert_true(completes(&c, C_URI));
    client_send(&c, CHANGE("{\"hpccoder\":{\"maxTokens\":200,\"threads\":0}}"));
    assert_true(completes(&c, C_URI));
    assert_int_equal(c.notes, 1);
    end(&c);
}

/* Accepts the next report of progress; its token. */
static const char *accept_progress(lsp_client *c)
{
    static char name[64];
    char answer[256];
    const char *token;
    hpc_json *asked = client_await(c, "window/workDoneProgress/create");
    test_ok(hpc_json_text(&token, hpc_json_get(hpc_json_get(asked, "params"), "token"), "token"));
    snprintf(name, sizeof name, "%s", token);
    snprintf(answer, sizeof answer, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":null}", token);
    client_send(c, answer);
    hpc_json_free(asked);
    return name;
}

static void ask_once(lsp_client *c)
{
    client_send(c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"textDocument/inlineCompletion\","
                   "\"params\":{\"textDocument\":{\"uri\":\"" C_URI "\"},"
                   "\"position\":{\"line\":2,\"character\":0}}}");
}

static void loading_the_model_reports_progress(void **state)
{
    lsp_client c;
    start(&c, state, "{\"window\":{\"workDoneProgress\":true}}", "{}");
    ask_once(&c);
    accept_progress(&c);
    hpc_json_free(client_answer(&c)); /* the model may be loaded before the token is accepted */
    assert_non_null(strstr(c.body.data, "a += 1;"));
    if (c.notes > 0) assert_non_null(strstr(c.note, "hpccoder-progress-"));
    end(&c);
}

static void user_can_cancel_a_long_prompt(void **state)
{
    lsp_client c;
    char cancel[256];
    start_slow(&c, state, "{\"window\":{\"workDoneProgress\":true}}", "{}", 1500);
    ask_once(&c);
    accept_progress(&c); /* of loading */
    const char *token = accept_progress(&c);
    snprintf(cancel, sizeof cancel,
             "{\"jsonrpc\":\"2.0\",\"method\":\"window/workDoneProgress/cancel\",\"params\":{"
             "\"token\":\"%s\"}}",
             token);
    client_send(&c, cancel);
    hpc_json_free(client_answer(&c));
    assert_non_null(strstr(c.body.data, "-32800"));
    end(&c);
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unknown_keys_and_wrong_values_are_reported_once),
        TEST(completions_can_be_disabled_by_language),
        TEST(configuration_is_read_from_the_client),
        TEST(model_and_threads_can_change),
        TEST(loading_the_model_reports_progress),
        TEST(user_can_cancel_a_long_prompt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
