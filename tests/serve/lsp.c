/*
 * Tests of the language server: life cycle, superseding, cancellation, and broken models.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <time.h>

#include "runtime/source/passage.h"
#include "tests/serve/client.h"
#include "tests/source/check.h"
#include "tests/support/sanitized.h"
#include "tests/support/chain.h"
#include "tests/support/folder.h"

#define URI      "file:///tmp/f.c"
#define DOCUMENT "\"textDocument\":{\"uri\":\"" URI "\"}"
#define SHUTDOWN "{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"shutdown\"}"
#define EXIT     "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}"

static const hpc_test_phrase phrases[] = {
    {"    a += 1;\n", {2}}, {"    return a;\n", {3}}, {"}\n", {HPC_CHAIN_END}}};

static char model[PATH_MAX];

static hpc_lsp_options with_model(void **state, int slow_ms)
{
    hpc_test_chain(hpc_test_path(model, *state, "model"), phrases, 3);
    return (hpc_lsp_options){.completes = true,
                             .engine = {.model = model,
                                        .threads = 1,
                                        .weights = HPC_DTYPE_N,
                                        .cache_tokens = 1024,
                                        .requests = 1},
                             .completion_tokens = 64,
                             .completion_seconds = 60,
                             .slow_ms = slow_ms};
}

static void begin_inline(char out[512], int id)
{
    snprintf(out, 512,
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"textDocument/inlineCompletion\","
             "\"params\":{" DOCUMENT ",\"position\":{\"line\":2,\"character\":0}}}",
             id);
}

static int64_t id_of(const hpc_json *answer)
{
    int64_t id;
    test_ok(hpc_json_int(&id, hpc_json_get(answer, "id"), "id"));
    return id;
}

static bool is_null(const hpc_json *answer)
{
    return hpc_json_kind_of(hpc_json_get(answer, "result")) == HPC_JSON_NULL &&
           !hpc_json_get(answer, "error");
}

/* ---- life cycle ----------------------------------------------------------------------------- */

static void requests_need_initialize(void **state)
{
    lsp_client c;
    (void)state;
    client_open(&c, &(hpc_lsp_options){0});
    assert_non_null(
        strstr(client_ask(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"textDocument/hover\"}"),
               "-32002"));
    client_begin(&c, "{}");
    assert_non_null(strstr(
        client_ask(&c, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\"}"), "twice"));
    assert_non_null(
        strstr(client_ask(&c, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"x/y\"}"), "-32601"));
    assert_non_null(strstr(client_ask(&c, "{\"jsonrpc\":"), "-32700"));
    assert_non_null(strstr(client_ask(&c, "[1]"), "-32600"));
    assert_non_null(strstr(client_ask(&c, SHUTDOWN), "\"result\":null"));
    assert_non_null(
        strstr(client_ask(&c, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"x/y\"}"), "-32600"));
    client_send(&c, EXIT);
    assert_int_equal(client_close(&c), 0);
}

static void end_without_shutdown_is_1(void **state)
{
    lsp_client c;
    (void)state;
    client_open(&c, &(hpc_lsp_options){0});
    client_begin(&c, "{}");
    assert_int_equal(client_close(&c), 1);
}

/* ---- completions ---------------------------------------------------------------------------- */

/* 20 requests at 30 ms, each of which takes half a second at least: one answer, 19 times null. */
static void newer_requests_supersede_older_ones(void **state)
{
    const hpc_lsp_options o = with_model(state, 500);
    const struct timespec gap = {0, 30 * 1000000};
    char text[512];
    int nulls = 0;
    lsp_client c;
    client_open(&c, &o);
    client_begin(&c, "{}");
    client_open_document(&c, URI, "int f(int a)\n{\n");
    begin_inline(text, 100);
    assert_non_null(strstr(client_ask(&c, text), "return a;")); /* the model is loaded */
    for (int k = 1; k <= 20; k++) {
        begin_inline(text, k);
        client_send(&c, text);
        nanosleep(&gap, NULL);
    }
    for (int k = 1; k <= 20; k++) {
        hpc_json *answer = client_answer(&c);
        assert_int_equal(is_null(answer), id_of(answer) < 20);
        nulls += is_null(answer);
        hpc_json_free(answer);
    }
    assert_int_equal(nulls, 19);
    client_ask(&c, SHUTDOWN);
    assert_int_equal(client_close(&c), 0);
}

static void cancelled_requests_say_so(void **state)
{
    const hpc_lsp_options o = with_model(state, 200);
    char text[512];
    lsp_client c;
    client_open(&c, &o);
    client_begin(&c, "{}");
    client_open_document(&c, URI, "int f(int a)\n{\n");
    begin_inline(text, 1);
    client_send(&c, text);
    client_send(&c, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":1}}");
    hpc_json_free(client_answer(&c));
    assert_non_null(strstr(c.body.data, "-32800"));
    begin_inline(text, 2); /* and the next one is served */
    assert_non_null(strstr(client_ask(&c, text), "return a;"));
    client_ask(&c, SHUTDOWN);
    assert_int_equal(client_close(&c), 0);
}

static void completion_items_contain_the_name_before_the_cursor(void **state)
{
    const hpc_lsp_options o = with_model(state, 0);
    lsp_client c;
    client_open(&c, &o);
    client_begin(&c, "{}");
    client_open_document(&c, URI, "/* \xf0\x9f\x98\x80 */ int f(int a)\n{\n    a");
    client_ask(
        &c,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"textDocument/completion\",\"params\":{" DOCUMENT
        ",\"position\":{\"line\":2,\"character\":5}}}");
    assert_non_null(strstr(c.body.data, "\"range\":{\"start\":{\"line\":2,\"character\":4}"));
    assert_non_null(strstr(c.body.data, "\"newText\":\"a"));
    client_ask(&c, SHUTDOWN);
    assert_int_equal(client_close(&c), 0);
}

/* ---- attribution ---------------------------------------------------------------------------- */

#define LINE(k) "    a" #k "[i] = b" #k "[i] + c" #k ";\n"
#define KNOWN                                                                                      \
    LINE(1)                                                                                        \
    LINE(2) LINE(3) LINE(4) LINE(5) LINE(6) LINE(7) LINE(8) LINE(9) LINE(10) LINE(11) LINE(12)

/* An index that has the text. */
static void save_passages(const char *path, const char *text)
{
    hpc_passage_maker *m = NULL;
    hpc_tokens t = {0};
    hpc_buf file = {0};
    test_ok(hpc_lex(&t, text, strlen(text), HPC_LANGUAGE_C, false));
    test_ok(hpc_passage_maker_create(&m));
    test_ok(hpc_passage_maker_pick(m, &t));
    test_ok(hpc_passage_maker_learn(m, "a/one", "MIT", &t));
    test_ok(hpc_passage_maker_finish(&file, m));
    test_ok(hpc_file_save(path, file.data, file.n));
    hpc_passage_maker_free(m);
    hpc_tokens_release(&t);
    hpc_buf_release(&file);
}

static void copied_code_is_attributed_in_the_item(void **state)
{
    static const hpc_test_phrase known[] = {{KNOWN, {2}}, {"}\n", {HPC_CHAIN_END}}};
    hpc_lsp_options o = with_model(state, 0);
    char path[PATH_MAX], text[512];
    lsp_client c;
    hpc_test_chain(hpc_test_path(model, *state, "copying"), known, 2);
    save_passages(hpc_test_path(path, *state, "known.passages"), KNOWN);
    o.passages = path;
    client_open(&c, &o);
    client_begin(&c, "{}");
    client_open_document(&c, URI, "void f(int i)\n{\n");
    begin_inline(text, 1);
    assert_non_null(strstr(client_ask(&c, text), "\"attribution\":\"repeats 14"));
    assert_non_null(strstr(c.body.data, " tokens of a/one (MIT)\""));
    assert_non_null(strstr(c.note, "window/showMessage"));
    client_ask(&c, SHUTDOWN);
    assert_int_equal(client_close(&c), 0);
}

static void model_that_cannot_be_loaded_is_reported_once(void **state)
{
    hpc_lsp_options o = with_model(state, 0);
    char text[512];
    lsp_client c;
    o.engine.model = "/no/such/model.gguf";
    client_open(&c, &o);
    client_begin(&c, "{}");
    client_open_document(&c, URI, "int f(int a)\n{\n");
    for (int k = 1; k <= 3; k++) {
        begin_inline(text, k);
        assert_non_null(strstr(client_ask(&c, text), "\"result\":null"));
    }
    assert_int_equal(c.notes, 1);
    assert_non_null(strstr(c.note, "/no/such/model.gguf"));
    client_ask(&c, SHUTDOWN);
    assert_int_equal(client_close(&c), 0);
}

/* The most probable completion uses an unknown name. */
static void completions_that_do_not_compile_are_replaced(void **state)
{
    static const hpc_test_phrase either[] = {{"    a += ", {2, 3}},
                                             {"zz;\n", {4}},
                                             {"1;\n", {4}},
                                             {"    return a;\n", {5}},
                                             {"}\n", {HPC_CHAIN_END}}};
    if (HPC_TEST_TSAN) {
        print_message("SKIP: libclang does not run under the thread sanitizer\n");
        skip();
    }
    NEED_LIBRARY;
    hpc_checker_options checking = HPC_CHECKER_DEFAULTS;
    hpc_lsp_options o = with_model(state, 0);
    char text[512], program[PATH_MAX];
    hpc_test_chain(hpc_test_path(model, *state, "either"), either, 5);
    checking.program = hpc_test_built(program, "hpccoder-clang");
    o.engine.requests = 4;
    for (int checked = 0; checked < 2; checked++) {
        hpc_checker *checker = NULL;
        lsp_client c;
        if (checked) test_ok(hpc_checker_open(&checker, &checking));
        o.completion_checker = checker;
        client_open(&c, &o);
        client_begin(&c, "{}");
        client_open_document(&c, URI, "int f(int a)\n{\n");
        begin_inline(text, 1);
        assert_non_null(strstr(client_ask(&c, text), checked ? "a += 1;" : "a += zz;"));
        client_ask(&c, SHUTDOWN);
        assert_int_equal(client_close(&c), 0);
        hpc_checker_close(checker);
    }
}

/* The same long prompt in two sessions: the first leaves files, and both give the same answer. */
static void cache_folder_keeps_prompts_between_sessions(void **state)
{
    hpc_lsp_options o = with_model(state, 0);
    char text[512], cache[PATH_MAX], document[1024], first[4096];
    int n = snprintf(document, sizeof document, "int f(int a)\n{\n//");
    memset(document + n, '-', 400);
    document[n + 400] = '\0';
    strcat(document, "\n");
    o.cache_folder = hpc_test_path(cache, *state, "cache");
    o.engine.cache_tokens = 1024;
    for (int session = 0; session < 2; session++) {
        lsp_client c;
        client_open(&c, &o);
        client_begin(&c, "{}");
        client_open_document(&c, URI, document);
        begin_inline(text, 1);
        *strstr(text, "\"line\":2") = '\0';
        strcat(text, "\"line\":3,\"character\":0}}}");
        assert_non_null(strstr(client_ask(&c, text), "return a;"));
        if (session == 1) assert_string_equal(c.body.data, first);
        snprintf(first, sizeof first, "%s", c.body.data);
        client_ask(&c, SHUTDOWN);
        assert_int_equal(client_close(&c), 0);
        assert_true(hpc_test_entries(cache) > 0);
    }
}

static int64_t cpu_ns(void)
{
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* With the model loaded, all threads wait without polling: at most 0.1 % of a CPU. */
static void idle_server_uses_no_cpu(void **state)
{
    const hpc_lsp_options o = with_model(state, 0);
    const struct timespec settle = {0, 300 * 1000000}, rest = {2, 0};
    char text[512];
    lsp_client c;
    if (HPC_TEST_TSAN) {
        print_message("SKIP: the thread sanitizer has a thread of its own, which works\n");
        skip();
    }
    client_open(&c, &o);
    client_begin(&c, "{}");
    client_open_document(&c, URI, "int f(int a)\n{\n");
    begin_inline(text, 1);
    assert_non_null(strstr(client_ask(&c, text), "return a;"));
    nanosleep(&settle, NULL);
    const int64_t before = cpu_ns();
    nanosleep(&rest, NULL);
    assert_in_range(cpu_ns() - before, 0, 2000000);
    client_ask(&c, SHUTDOWN);
    assert_int_equal(client_close(&c), 0);
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_need_initialize),
        TEST(end_without_shutdown_is_1),
        TEST(newer_requests_supersede_older_ones),
        TEST(cancelled_requests_say_so),
        TEST(completion_items_contain_the_name_before_the_cursor),
        TEST(completions_that_do_not_compile_are_replaced),
        TEST(cache_folder_keeps_prompts_between_sessions),
        TEST(idle_server_uses_no_cpu),
        TEST(copied_code_is_attributed_in_the_item),
        TEST(model_that_cannot_be_loaded_is_reported_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
