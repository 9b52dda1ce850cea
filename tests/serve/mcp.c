/*
 * Tests of the MCP server on pipes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "infer/serve/mcp.h"
#include "tests/support/command.h"
#include "tests/support/expect.h"
#include "tests/support/sanitized.h"

typedef struct fixture {
    hpc_mcp_options o;
    int ends[4]; /* server reads 0, client writes 1; client reads 2, server writes 3 */
    pthread_t thread;
    char program[PATH_MAX], line[1 << 16];
} fixture;

static void *serve(void *user)
{
    fixture *f = user;
    test_ok(hpc_mcp_serve(&f->o));
    close(f->ends[3]);
    return NULL;
}

static void open_fixture(fixture *f)
{
    *f = (fixture){0};
    assert_int_equal(pipe(f->ends), 0);
    assert_int_equal(pipe(f->ends + 2), 0);
    f->o = (hpc_mcp_options){.in = f->ends[0],
                             .out = f->ends[3],
                             .version = "test",
                             .tool = {.program = hpc_test_built(f->program, "hpccoder"),
                                      .seconds = 60,
                                      .scratch = "build"}};
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
}

static void close_fixture(fixture *f)
{
    close(f->ends[1]);
    pthread_join(f->thread, NULL);
    close(f->ends[0]);
    close(f->ends[2]);
}

static void send_line(const fixture *f, const char *text)
{
    assert_int_equal(write(f->ends[1], text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(write(f->ends[1], "\n", 1), 1);
}

static const char *ask(fixture *f, const char *text)
{
    size_t n = 0;
    send_line(f, text);
    while (n + 1 < sizeof f->line && read(f->ends[2], f->line + n, 1) == 1 && f->line[n] != '\n')
        n++;
    f->line[n] = '\0';
    return f->line;
}

static void answers_the_revision_of_the_client(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f);
#define INITIALIZE(v)                                                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"" v "\",\"capabilities\":{}}}"
    assert_non_null(
        strstr(ask(&f, INITIALIZE("2025-06-18")), "\"protocolVersion\":\"2025-06-18\""));
    assert_non_null(
        strstr(ask(&f, INITIALIZE("2025-11-25")), "\"protocolVersion\":\"2025-11-25\""));
    assert_non_null(
        strstr(ask(&f, INITIALIZE("1999-01-01")), "\"protocolVersion\":\"2025-11-25\""));
    send_line(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    assert_string_equal(ask(&f, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}"),
                        "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}");
    close_fixture(&f);
}

static void errors_leave_the_server_running(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f);
    assert_non_null(strstr(ask(&f, "{"), "-32700"));
    assert_non_null(strstr(ask(&f, "[]"), "-32600"));
    assert_non_null(strstr(ask(&f, "{\"id\":1,\"method\":\"x\"}"), "-32601"));
    assert_non_null(strstr(ask(&f, "{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                                   "\"rm\"}}"),
                           "-32602"));
    assert_non_null(strstr(ask(&f, "{\"id\":1,\"method\":\"ping\"}"), "\"result\":{}"));
    close_fixture(&f);
}

static void lists_tools_with_schemas(void **state)
{
    static const char *const names[] = {"complete", "pragma", "perf_predict"};
    fixture f;
    hpc_json *root;
    (void)state;
    open_fixture(&f);
    const char *text = ask(&f, "{\"id\":1,\"method\":\"tools/list\"}");
    test_ok(hpc_json_parse(&root, text, strlen(text), "answer"));
    const hpc_json *list = hpc_json_get(hpc_json_get(root, "result"), "tools");
    assert_int_equal(hpc_json_n(list), 3);
    for (int k = 0; k < 3; k++) {
        const hpc_json *tool = hpc_json_at(list, k);
        const char *name, *type;
        test_ok(hpc_json_text(&name, hpc_json_get(tool, "name"), "name"));
        assert_string_equal(name, names[k]);
        test_ok(hpc_json_text(&type, hpc_json_get(hpc_json_get(tool, "inputSchema"), "type"), ""));
        assert_string_equal(type, "object");
    }
    hpc_json_free(root);
    close_fixture(&f);
}

static void calls_run_the_commands(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f);
#define CALL(name, arguments)                                                                      \
    "{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"" name                             \
    "\",\"arguments\":{" arguments "}}}"
    const char *text;
    if (!HPC_TEST_TSAN) { /* the command alone takes a minute under it */
        text = ask(&f, CALL("complete", "\"path\":\"a.c\",\"text\":\"int main(\","
                                        "\"max_tokens\":8"));
        assert_non_null(strstr(text, "\"isError\":false"));
        assert_non_null(strstr(text, "\"structuredContent\":{"));
        assert_non_null(strstr(text, "\"completions\":["));
    }
    text = ask(&f, CALL("pragma", "\"path\":\"/none.c\""));
    assert_non_null(strstr(text, "\"isError\":true"));
    assert_non_null(strstr(text, "/none.c"));
    text = ask(&f, CALL("complete", "\"path\":1"));
    assert_non_null(strstr(text, "\"isError\":true"));
    assert_non_null(strstr(text, "must be a text"));
    text = ask(&f, CALL("pragma", ""));
    assert_non_null(strstr(text, "\\\"path\\\" is missing"));
    text = ask(&f, CALL("pragma", "\"path\":\"a.c\",\"file\":\"a.c\""));
    assert_non_null(strstr(text, "\"code\":-32602"));
    assert_non_null(strstr(text, "unknown argument \\\"file\\\""));
    text = ask(&f, "{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"pragma\","
                   "\"arguments\":[]}}");
    assert_non_null(strstr(text, "\"code\":-32602"));
    assert_non_null(strstr(ask(&f, "{none"), "JSON:1:"));
    text = ask(&f, CALL("none", ""));
    assert_non_null(strstr(text, "unknown tool; tools/list names the tools"));
    text = ask(&f, CALL("perf_predict", "\"repository\":\".\",\"range\":\"--help\""));
    assert_non_null(strstr(text, "BASE..HEAD"));
    close_fixture(&f);
}

static void pragma_judges_text_under_its_own_name(void **state)
{
    fixture f;
    char library[PATH_MAX];
    (void)state;
    if (HPC_TEST_TSAN) {
        print_message("SKIP: libclang does not run under the thread sanitizer\n");
        skip();
    }
    if (!hpc_file_exists(hpc_test_built(library, "hpccoder-clang"))) {
        print_message("SKIP: hpccoder-clang was not built (libclang-19-dev)\n");
        skip();
    }
    open_fixture(&f);
    const char *text =
        ask(&f, CALL("pragma", "\"path\":\"src/a.c\",\"text\":\"void f(int n, float *x)\\n{\\n"
                               "    for (int i = 0; i < n; i++) x[i] = 0;\\n}\\n\""));
    assert_non_null(strstr(text, "\\\"file\\\": \\\"src/a.c\\\""));
    assert_non_null(strstr(text, "\\\"verdict\\\": \\\"parallel\\\""));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_the_revision_of_the_client),
                                       cmocka_unit_test(errors_leave_the_server_running),
                                       cmocka_unit_test(lists_tools_with_schemas),
                                       cmocka_unit_test(calls_run_the_commands),
                                       cmocka_unit_test(pragma_judges_text_under_its_own_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
