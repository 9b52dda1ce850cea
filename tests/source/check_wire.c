/*
 * Tests of runtime/source/check_wire.c: messages that are truncated, inconsistent, in pieces, or
 * missing.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/source/check_priv.h"

/* Two issues, as the other process sends them. */
static hpc_buf two_issues(void)
{
    static const char text[] = "onetwo!a.h";
    hpc_buf b = {0};
    check_issue item[] = {{CHECK_PARSE, 1, 2, 3, 0, 3, 7, 3, 8},
                          {CHECK_INSIDE, 4, 5, 6, 3, 4, 0, 0, 0}};
    check_issues s = {.item = item, .n = 2, .cut = true};
    assert_int_equal(hpc_buf_text(&s.text, text), 0);
    check_put_issues(&b, &s);
    hpc_buf_release(&s.text);
    assert_int_equal(b.failed, 0);
    return b;
}

static int read_issues(check_issues *out, const char *data, size_t n)
{
    check_reader r = {.at = (const uint8_t *)data};
    r.end = r.at + n;
    return check_get_issues(out, &r);
}

static void issues_come_back(void **state)
{
    (void)state;
    hpc_buf b = two_issues();
    check_issues s = {0};
    for (int k = 0; k < 2; k++) { /* the second takes the first one's place */
        assert_int_equal(read_issues(&s, b.data, b.n), 0);
        assert_int_equal(s.n, 2);
        assert_true(s.cut);
        assert_int_equal(s.item[0].flags, CHECK_PARSE);
        assert_int_equal(s.item[0].header_line, 8);
        assert_memory_equal(s.text.data + s.item[0].header_at, "a.h", 3);
        assert_int_equal(s.item[1].header_n, 0);
        assert_int_equal(s.item[1].column, 5);
        assert_int_equal(s.item[1].at, 6);
        assert_int_equal(s.item[1].text_n, 4);
        assert_memory_equal(s.text.data + s.item[1].text_at, "two!", 4);
    }
    check_issues_release(&s);
    hpc_buf_release(&b);
}

static void nothing_is_believed(void **state)
{
    (void)state;
    hpc_buf b = two_issues();
    check_issues s = {0};
    for (size_t n = 0; n < b.n; n++) { /* in memory of just this size */
        char *part = malloc(n + (n == 0));
        assert_non_null(part);
        memcpy(part, b.data, n);
        assert_int_equal(read_issues(&s, part, n), HPC_E_FORMAT);
        hpc_error_clear();
        free(part);
    }
    const uint64_t lies[] = {UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 40, 3};
    for (size_t k = 0; k < sizeof lies / sizeof *lies; k++) {
        char *copy = malloc(b.n);
        assert_non_null(copy);
        memcpy(copy, b.data, b.n);
        memcpy(copy + 8, &lies[k], 8); /* how many issues */
        assert_int_equal(read_issues(&s, copy, b.n), HPC_E_FORMAT);
        hpc_error_clear();
        memcpy(copy, b.data, b.n);
        memcpy(copy + 48, &lies[k], 8); /* how long the first message is */
        assert_int_equal(read_issues(&s, copy, b.n), lies[k] == 3 ? 0 : HPC_E_FORMAT);
        hpc_error_clear();
        free(copy);
    }
    check_issues_release(&s);
    hpc_buf_release(&b);
}

static void messages_over_a_socket(void **state)
{
    (void)state;
    int ends[2];
    hpc_buf b = {0}, got = {0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(check_send(ends[0], &b, 0), 0); /* empty */
    assert_int_equal(check_receive(&got, ends[1], 0), 0);
    assert_int_equal(got.n, 0);
    for (int k = 0; k < 3000; k++) hpc_buf_printf(&b, "%d,", k);
    assert_int_equal(check_send(ends[0], &b, 0), 0);
    assert_int_equal(check_receive(&got, ends[1], 0), 0);
    assert_int_equal(got.n, b.n);
    assert_memory_equal(got.data, b.data, b.n);
    assert_int_equal(check_receive(&got, ends[1], hpc_clock_ns() + 20000000), 1); /* none comes */
    const uint64_t huge = UINT64_C(1) << 40;
    assert_int_equal(write(ends[0], &huge, 8), 8);
    assert_int_equal(check_receive(&got, ends[1], 0), 1);
    close(ends[0]);
    assert_int_equal(check_receive(&got, ends[1], 0), 1);
    assert_int_equal(check_send(ends[1], &b, 0), 1); /* and no SIGPIPE */
    close(ends[1]);
    hpc_buf_release(&b);
    hpc_buf_release(&got);
}

/* A reader that takes nothing fills the socket. */
static void a_full_socket(void **state)
{
    (void)state;
    int ends[2];
    hpc_buf b = {0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    for (int k = 0; k < 1 << 20; k++) hpc_buf_text(&b, "0123456789abcdef");
    assert_int_equal(b.failed, 0);
    assert_int_equal(check_send(ends[0], &b, hpc_clock_ns() + 50000000), 1);
    close(ends[0]);
    close(ends[1]);
    hpc_buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(issues_come_back),
        cmocka_unit_test(nothing_is_believed),
        cmocka_unit_test(messages_over_a_socket),
        cmocka_unit_test(a_full_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
