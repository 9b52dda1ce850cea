/*
 * Tests of performance hints in the language server: on save, moved with edits, and cancelled.
 */
#include "tests/git/repository.h"

#include <limits.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/serve/client.h"
#include "tests/source/check.h"
#include "tests/support/sanitized.h"

#define SHUTDOWN "{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"shutdown\"}"
#define HEAD                                                                                       \
    "#include <string.h>\nint same(int a) { return a + 1; }\n"                                     \
    "double step(int n, double *x, const double *y)\n{\n    double s = 0;\n"
#define LINEAR                                                                                     \
    "    for (int i = 0; i < n; i++) s += x[i];\n    double k = 1 / s;\n"                          \
    "    for (int i = 0; i < n; i++) x[i] = y[i] * k;\n    return s;\n}\n"
#define QUADRATIC                                                                                  \
    "    for (int i = 0; i < n; i++) {\n        s = 0;\n"                                          \
    "        for (int j = 0; j < n; j++) s += x[j];\n"                                             \
    "        x[i] = y[i] / s + strlen((char *)y);\n    }\n    return s;\n}\n"
enum { STEP_LINE = 2 }; /* from 0 */

static char uri[PATH_MAX], program[PATH_MAX];

static void put_text(place *p, const char *name, const char *text)
{
    test_ok(hpc_file_save(in(p, name), text, strlen(text)));
}

/* A repository whose HEAD has the linear function, and whose working tree the quadratic one. */
static void begin(place *p)
{
    script(p, "new r");
    put_text(p, "r/a.c", HEAD LINEAR);
    script(p, "cd r; save first");
    put_text(p, "r/a.c", HEAD QUADRATIC);
    snprintf(uri, sizeof uri, "file://%s", in(p, "r/a.c"));
    hpc_test_built(program, "hpccoder");
}

static void notify(lsp_client *c, const char *method, const char *more)
{
    char text[PATH_MAX + 512];
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/%s\",\"params\":{"
             "\"textDocument\":{\"uri\":\"%s\",\"version\":2}%s}}",
             method, uri, more);
    client_send(c, text);
}

static void start(lsp_client *c, const hpc_lsp_options *o, const char *capabilities)
{
    client_open(c, o);
    client_begin_with(c, capabilities, "{\"perf\":{\"c\":true}}");
    client_open_document(c, uri, HEAD QUADRATIC);
}

static void end(lsp_client *c)
{
    client_ask(c, SHUTDOWN);
    assert_int_equal(client_close(c), 0);
}

/* The line of the first diagnostic with this code in the next publication that has one. */
static int64_t await_line(lsp_client *c, const char *code)
{
    int64_t line = -1;
    while (line < 0) {
        hpc_json *root = client_await(c, "textDocument/publishDiagnostics");
        const hpc_json *all = hpc_json_get(hpc_json_get(root, "params"), "diagnostics");
        for (int64_t k = 0; k < hpc_json_n(all) && line < 0; k++) {
            const hpc_json *d = hpc_json_at(all, k);
            const char *name;
            const hpc_json *begin = hpc_json_get(hpc_json_get(d, "range"), "start");
            test_ok(hpc_json_text(&name, hpc_json_get(d, "code"), "code"));
            if (strcmp(name, code) == 0)
                test_ok(hpc_json_int(&line, hpc_json_get(begin, "line"), "line"));
        }
        hpc_json_free(root);
    }
    return line;
}

static void saved_changes_get_hints_with_reasons(void **state)
{
    lsp_client c;
    begin(*state);
    start(&c, &(hpc_lsp_options){.program = program}, "{}");
    notify(&c, "didSave", "");
    assert_int_equal(await_line(&c, "slower"), STEP_LINE);
    hpc_test_says(c.body.data, "probably slower than HEAD (");
    hpc_test_says(c.body.data, "linear scan 'strlen' added in a loop");
    hpc_test_says(c.body.data, "\"severity\":3");
    hpc_test_says(c.body.data, "\"relatedInformation\":[{\"location\":{\"uri\":\"file://");
    assert_null(strstr(c.body.data, "'same'"));
    notify(&c, "didChange",
           ",\"contentChanges\":[{\"range\":{\"start\":{\"line\":2,\"character\":0},"
           "\"end\":{\"line\":2,\"character\":0}},\"text\":\"\\n\"}]");
    assert_int_equal(await_line(&c, "slower"), STEP_LINE + 1);
    notify(&c, "didClose", "");
    hpc_json_free(client_await(&c, "textDocument/publishDiagnostics"));
    hpc_test_says(c.body.data, "\"diagnostics\":[]");
    end(&c);
}

static void hints_move_with_edits_beside_the_verdicts(void **state)
{
    if (HPC_TEST_TSAN) {
        print_message("SKIP: libclang does not run under the thread sanitizer\n");
        skip();
    }
    NEED_LIBRARY;
    lsp_client c;
    hpc_checker *checker = NULL;
    char path[PATH_MAX];
    begin(*state);
    hpc_checker_options o = HPC_CHECKER_DEFAULTS;
    o.program = hpc_test_built(path, "hpccoder-clang");
    test_ok(hpc_checker_open(&checker, &o));
    start(&c, &(hpc_lsp_options){.program = program, .checker = checker}, "{}");
    notify(&c, "didSave", "");
    assert_int_equal(await_line(&c, "slower"), STEP_LINE);
    hpc_test_says(c.body.data, "\"code\":\"unknown\"");
    notify(&c, "didChange",
           ",\"contentChanges\":[{\"range\":{\"start\":{\"line\":0,\"character\":0},"
           "\"end\":{\"line\":0,\"character\":0}},\"text\":\"// a\\n// b\\n\"}]");
    int64_t line = STEP_LINE; /* publications of the unchanged text may come first */
    while (line == STEP_LINE) line = await_line(&c, "slower");
    assert_int_equal(line, STEP_LINE + 2);
    hpc_test_says(c.body.data, "\"code\":\"unknown\"");
    end(&c);
    hpc_checker_close(checker);
}

/* A program that waits for a minute when it is started for the first time. */
static void put_slow_program(place *p)
{
    hpc_buf text = {0};
    hpc_buf_printf(&text, "#!/bin/sh\n[ -e '%s/once' ] || { touch '%s/once'; exec sleep 60; }\n",
                   p->root, p->root);
    hpc_buf_printf(&text, "exec '%s' \"$@\"\n", program);
    put_text(p, "slow", text.data);
    hpc_buf_release(&text);
    snprintf(program, sizeof program, "%s", in(p, "slow"));
    assert_int_equal(chmod(program, 0700), 0);
}

static void await_file(const char *path)
{
    const struct timespec pause = {0, 10 * 1000000};
    for (int k = 0; k < 3000 && !hpc_file_exists(path); k++) nanosleep(&pause, NULL);
    assert_true(hpc_file_exists(path));
}

static void next_save_ends_the_analysis_that_runs(void **state)
{
    lsp_client c;
    begin(*state);
    put_slow_program(*state);
    const int64_t began = hpc_clock_ns();
    start(&c, &(hpc_lsp_options){.program = program}, "{}");
    notify(&c, "didSave", "");
    await_file(in(*state, "once"));
    notify(&c, "didSave", "");
    assert_int_equal(await_line(&c, "slower"), STEP_LINE);
    assert_true(hpc_clock_ns() - began < 50 * (int64_t)1000000000);
    end(&c);
}

/* The first analysis waits until `go` exists. */
static void edits_made_while_hints_are_computed_move_them(void **state)
{
    lsp_client c;
    hpc_buf text = {0};
    begin(*state);
    hpc_buf_printf(&text,
                   "#!/bin/sh\ntouch '%s/begun'\nwhile [ ! -e '%s/go' ]; do sleep 0.05; done\n"
                   "exec '%s' \"$@\"\n",
                   ((place *)*state)->root, ((place *)*state)->root, program);
    put_text(*state, "slow", text.data);
    hpc_buf_release(&text);
    snprintf(program, sizeof program, "%s", in(*state, "slow"));
    assert_int_equal(chmod(program, 0700), 0);
    start(&c, &(hpc_lsp_options){.program = program}, "{}");
    notify(&c, "didSave", "");
    await_file(in(*state, "begun"));
    notify(&c, "didChange",
           ",\"contentChanges\":[{\"range\":{\"start\":{\"line\":1,\"character\":0},"
           "\"end\":{\"line\":1,\"character\":0}},\"text\":\"// a\\n\\n\"}]");
    client_ask(&c, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"none\"}"); /* it was read */
    put_text(*state, "go", "");
    assert_int_equal(await_line(&c, "slower"), STEP_LINE + 2);
    end(&c);
}

/* By its progress report, or as the document is closed. */
static void end_analysis(void **state, bool closes)
{
    lsp_client c;
    char answer[512];
    const char *token;
    begin(*state);
    put_slow_program(*state);
    const int64_t began = hpc_clock_ns();
    start(&c, &(hpc_lsp_options){.program = program}, "{\"window\":{\"workDoneProgress\":true}}");
    notify(&c, "didSave", "");
    hpc_json *asked = client_await(&c, "window/workDoneProgress/create");
    test_ok(hpc_json_text(&token, hpc_json_get(hpc_json_get(asked, "params"), "token"), "token"));
    snprintf(answer, sizeof answer, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":null}", token);
    client_send(&c, answer);
    hpc_json_free(client_await(&c, "$/progress"));
    hpc_test_says(c.body.data, "\"kind\":\"begin\"");
    hpc_test_says(c.body.data, "\"cancellable\":true");
    await_file(in(*state, "once"));
    snprintf(answer, sizeof answer,
             "{\"jsonrpc\":\"2.0\",\"method\":\"window/workDoneProgress/cancel\",\"params\":{"
             "\"token\":\"%s\"}}",
             token);
    if (closes)
        notify(&c, "didClose", "");
    else
        client_send(&c, answer);
    hpc_json_free(asked);
    hpc_json_free(client_await(&c, "$/progress"));
    hpc_test_says(c.body.data, "\"kind\":\"end\"");
    assert_true(hpc_clock_ns() - began < 50 * (int64_t)1000000000);
    end(&c);
}

static void user_can_cancel_the_analysis(void **state)
{
    end_analysis(state, false);
}

static void closed_document_ends_the_analysis(void **state)
{
    end_analysis(state, true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(saved_changes_get_hints_with_reasons),
        TEST(hints_move_with_edits_beside_the_verdicts),
        TEST(next_save_ends_the_analysis_that_runs),
        TEST(edits_made_while_hints_are_computed_move_them),
        TEST(user_can_cancel_the_analysis),
        TEST(closed_document_ends_the_analysis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
