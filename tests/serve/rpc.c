/*
 * Tests of infer/serve/rpc.c: framing of messages: complete, in pieces, and broken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "infer/serve/rpc.h"
#include "tests/support/expect.h"

/* Reads a stream, which is at most a pipe's capacity. Returns what the last read returned. */
static int read_all(const char *stream, int *messages, hpc_buf *last)
{
    int ends[2], rc;
    hpc_rpc r;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], stream, strlen(stream)), strlen(stream));
    close(ends[1]);
    hpc_rpc_open(&r, ends[0], -1);
    *messages = 0;
    while ((rc = hpc_rpc_read(last, &r)) > 0) ++*messages;
    hpc_rpc_close(&r);
    close(ends[0]);
    return rc;
}

static void messages_are_read_in_turn(void **state)
{
    hpc_buf body = {0};
    int n;
    (void)state;
    assert_int_equal(read_all("Content-Length: 2\r\n\r\n{}content-length:3\r\n"
                              "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n[1]",
                              &n, &body),
                     0);
    assert_int_equal(n, 2);
    assert_int_equal(read_all("", &n, &body), 0);
    assert_int_equal(n, 0);
    hpc_buf_release(&body);
}

static void broken_framing_is_named(void **state)
{
    static const char *const bad[][2] = {
        {"Content-Length: x\r\n\r\n{}", "Content-Length"},
        {"Content-Length: -1\r\n\r\n{}", "Content-Length"},
        {"Content-Length: 99999999999\r\n\r\n{}", "Content-Length"},
        {"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", "Content-Length"},
        {"X: 2\r\n\r\n{}", "no Content-Length"},
        {"Content-Length: 5\r\n\r\n{}", "ends within a message"},
        {"Content-Len", "ends within a message's headers"}};
    hpc_buf body = {0};
    int n;
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(read_all(bad[k][0], &n, &body), HPC_E_FORMAT);
        if (!strstr(hpc_error_get()->text, bad[k][1])) print_error("%s\n", hpc_error_get()->text);
        assert_non_null(strstr(hpc_error_get()->text, bad[k][1]));
        hpc_error_clear();
    }
    hpc_buf_release(&body);
}

static void headers_have_a_limit(void **state)
{
    hpc_buf stream = {0}, body = {0};
    int n;
    (void)state;
    for (int k = 0; k < 2 * HPC_RPC_HEADER_MOST; k++) hpc_buf_text(&stream, "a");
    assert_int_equal(read_all(stream.data, &n, &body), HPC_E_FORMAT);
    hpc_error_clear();
    hpc_buf_release(&stream);
    hpc_buf_release(&body);
}

static void deep_nesting_is_refused(void **state)
{
    hpc_buf body = {0};
    hpc_json *root;
    (void)state;
    for (int k = 0; k < HPC_RPC_DEPTH_MOST; k++) hpc_buf_text(&body, "[");
    for (int k = 0; k < HPC_RPC_DEPTH_MOST; k++) hpc_buf_text(&body, "]");
    test_ok(hpc_rpc_parse(&root, &body));
    hpc_json_free(root);
    body.n = 0;
    for (int k = 0; k < 100000; k++) hpc_buf_text(&body, "[");
    assert_int_equal(hpc_rpc_parse(&root, &body), HPC_E_FORMAT);
    assert_null(root);
    hpc_error_clear();
    hpc_buf_release(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_read_in_turn),
        cmocka_unit_test(broken_framing_is_named),
        cmocka_unit_test(headers_have_a_limit),
        cmocka_unit_test(deep_nesting_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
