/*
 * Tests of the HTTP server: limits, clients that leave, and the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/serve/handled.h"

/* ---- limits --------------------------------------------------------------------------------- */

static void limits_have_their_status(void **state)
{
    hpc_http_options o = defaults;
    char head[64], *large = malloc(5000);
    WEB_NEEDS_LIBRARY();
    o.body_bytes = 1000;
    o.header_bytes = 4096;
    fixture *f = open_fixture(state, o);
    memset(large, 'a', 4999);
    large[4999] = '\0';
    assert_int_equal(web_ask(f->reply, &f->w, "POST /now", large), 413);
    int fd = web_connect(&f->w);
    web_say(fd, "POST /now HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    snprintf(head, sizeof head, "%x\r\n", 4999);
    web_say(fd, head);
    web_send(fd, large, 4999);
    web_say(fd, "\r\n0\r\n\r\n");
    assert_int_equal(web_status(web_read(f->reply, fd, "\r\n\r\n")), 413);
    close(fd);
    fd = web_connect(&f->w);
    web_say(fd, "GET /now HTTP/1.1\r\nHost: localhost\r\nX: ");
    web_send(fd, large, 4999);
    web_say(fd, "\r\n\r\n");
    assert_int_equal(web_status(web_read(f->reply, fd, NULL)), 431);
    close(fd);
    fd = web_connect(&f->w);
    web_say(fd, "POST /now HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n");
    assert_int_equal(web_status(web_read(f->reply, fd, NULL)), 400);
    close(fd);
    free(large);
    close_fixture(f);
}

static void slow_requests_get_408(void **state)
{
    static const char body[] = "POST /now HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Length: 10\r\n\r\nabc";
    static const char *const parts[] = {"", "POST /now HT", body};
    hpc_http_options o = defaults;
    WEB_NEEDS_LIBRARY();
    o.receive_seconds = 0.1;
    fixture *f = open_fixture(state, o);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        int fd = web_connect(&f->w);
        web_say(fd, parts[k]);
        assert_int_equal(web_status(web_read(f->reply, fd, NULL)), 408);
        close(fd);
    }
    close_fixture(f);
}

static void nonsense_gets_400(void **state)
{
    static const char *const parts[] = {
        "GARBAGE\r\n\r\n",
        "GET\r\n\r\n",
        "\r\n\r\n\r\n/health\r\n",
        "\x16\x03\x01\x02 \x01",
        "GET /health\r\n\r\n",
        "GET /health FOO/1.1\r\n" LOCAL "\r\n",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state, defaults);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        int fd = web_connect(&f->w);
        web_say(fd, parts[k]);
        assert_int_equal(web_status(web_read(f->reply, fd, NULL)), 400);
        close(fd);
    }
    /* Empty lines and a request in pieces are fine. */
    int fd = web_connect(&f->w);
    web_say(fd, "\r\nG");
    poll(NULL, 0, 20);
    web_say(fd, "ET /now HTTP/1.1\r\nConnection: close\r\n" LOCAL "\r\n");
    assert_int_equal(web_status(web_read(f->reply, fd, NULL)), 200);
    close(fd);
    /* A client that disconnects without a request frees its connection. The server may need a
     * moment to see that, and rejects others with 503 until then. */
    for (int k = 0; k < 100; k++) close(web_connect(&f->w));
    int status = web_ask(f->reply, &f->w, "GET /now", "");
    for (int k = 0; k < 1000 && status == 503; k++) {
        poll(NULL, 0, 10);
        status = web_ask(f->reply, &f->w, "GET /now", "");
    }
    assert_int_equal(status, 200);
    close_fixture(f);
}

static void connections_beyond_the_limit_get_503(void **state)
{
    hpc_http_options o = defaults;
    WEB_NEEDS_LIBRARY();
    o.connections = 1;
    fixture *f = open_fixture(state, o);
    int first = web_connect(&f->w);
    web_say(first, "GET /later HTTP/1.1\r\n" LOCAL "\r\n");
    wait_for_request(f);
    int second = web_connect(&f->w);
    assert_int_equal(web_status(web_read(f->reply, second, NULL)), 503);
    assert_non_null(strstr(f->reply, "Retry-After"));
    close(first);
    close(second);
    close_fixture(f);
}

static int64_t cpu_ns(void)
{
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The client waits, and the server does not ask again and again. */
static void server_without_descriptors_waits(void **state)
{
    const struct timespec pause = {0, 500 * 1000000L};
    struct rlimit before, few;
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state, defaults);
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    strcpy(a.sun_path, f->w.path);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), least = dup(fd);
    close(least); /* the next descriptor is this one */
    few = (struct rlimit){.rlim_cur = (rlim_t)least, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    const int64_t begin = cpu_ns();
    nanosleep(&pause, NULL);
    const int64_t used = cpu_ns() - begin;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(used < 100 * (int64_t)1000000);
    assert_int_equal(web_ask_on(f->reply, fd, "GET /now", LOCAL, ""), 200);
    close_fixture(f);
}

/* ---- clients that leave --------------------------------------------------------------------- */

static void notices_clients_that_leave(void **state)
{
    static const char *const paths[] = {"/later", "/stream"};
    WEB_NEEDS_LIBRARY();
    for (int k = 0; k < 4; k++) {
        fixture *f = open_fixture(state, defaults);
        char head[160];
        int port = hpc_http_port(f->w.h), fd = k < 2 ? web_connect(&f->w) : web_connect_tcp(port);
        snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: localhost:%d\r\n\r\n", paths[k % 2],
                 port);
        web_say(fd, head);
        hpc_http_request *r = wait_for_request(f);
        if (k % 2 == 1) web_read(f->reply, fd, "first");
        assert_false(hpc_http_is_gone(r));
        close(fd);
        wait_until_gone(f);
        assert_true(hpc_http_is_gone(r));
        close_fixture(f);
    }
}

static void client_that_does_not_read_is_gone(void **state)
{
    static char piece[1 << 20];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state, defaults);
    int fd = web_connect(&f->w), n = 0;
    web_say(fd, "GET /stream HTTP/1.1\r\n" LOCAL "\r\n");
    hpc_http_request *r = wait_for_request(f);
    for (; !hpc_http_is_gone(r) && n < 64; n++) hpc_http_add(r, piece, sizeof piece);
    assert_in_range(n, 16, 40);
    close(fd);
    wait_until_gone(f);
    close_fixture(f);
}

static void half_closed_clients_get_their_answer(void **state)
{
    WEB_NEEDS_LIBRARY();
    for (int k = 0; k < 2; k++) {
        fixture *f = open_fixture(state, defaults);
        char head[160];
        const hpc_buf text = {.data = "done", .n = 4};
        int port = hpc_http_port(f->w.h), fd = k == 0 ? web_connect(&f->w) : web_connect_tcp(port);
        snprintf(head, sizeof head,
                 "GET /later HTTP/1.1\r\nConnection: close\r\nHost: localhost:%d\r\n\r\n", port);
        web_say(fd, head);
        hpc_http_request *r = wait_for_request(f);
        shutdown(fd, SHUT_WR);
        /* Two more requests pass the thread that watches connections. */
        web_ask(f->reply, &f->w, "GET /now", "");
        web_ask(f->reply, &f->w, "GET /now", "");
        hpc_http_answer(r, 200, "text/plain", &text);
        assert_int_equal(web_status(web_read(f->reply, fd, NULL)), 200);
        assert_non_null(strstr(f->reply, "done"));
        assert_int_equal(f->gone, 0);
        close(fd);
        close_fixture(f);
    }
}

/* The rest of a request cannot come. */
static void half_closed_clients_with_a_part_are_not_kept(void **state)
{
    static const struct {
        const char *text;
        int status;
    } cases[] = {{"POST ", 400},
                 {"GET /now HTTP/1.1\r\nHost: local", 400},
                 {"POST /now HTTP/1.1\r\n" LOCAL "Content-Length: 9\r\n\r\n{}", 400},
                 {"GET /now HTTP/1.1\r\n" LOCAL "\r\n", 200},
                 {"GET /now HTTP/1.1\r\n" LOCAL "\r\nGET /now HTT", 200}};
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state, defaults);
    const int64_t begin = hpc_clock_ns();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int fd = web_connect(&f->w);
        web_say(fd, cases[k].text);
        shutdown(fd, SHUT_WR);
        /* The library closes the connection without an answer if it sees the end itself. */
        const int status = web_status(web_read(f->reply, fd, NULL));
        assert_true(status == cases[k].status || (status == 0 && cases[k].status == 400));
        assert_true(!f->reply[0] || !strstr(f->reply + 1, "HTTP/1.1 4"));
        close(fd);
    }
    assert_true(hpc_clock_ns() - begin < 20 * (int64_t)1000000000);
    close_fixture(f);
}

/* ---- life cycle ----------------------------------------------------------------------------- */

static void one_server_per_socket(void **state)
{
    hpc_http_options o = defaults;
    char library[PATH_MAX], path[PATH_MAX];
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    hpc_http *second;
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state, defaults);
    o.library = hpc_test_built(library, "hpccoder-microhttpd.so");
    o.unix_path = f->w.path;
    test_fails(hpc_http_open(&second, &o), HPC_E_ARG, "another server");
    assert_int_equal(web_ask(f->reply, &f->w, "GET /now", ""), 200);
    close_fixture(f);
    /* The socket of a killed server. */
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    strcpy(a.sun_path, hpc_test_path(path, *state, "s"));
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    close(fd);
    o.unix_path = path;
    test_ok(hpc_http_open(&second, &o));
    hpc_http_close(second);
    /* A file is not replaced. */
    test_ok(hpc_file_save(path, "text", 4));
    test_fails(hpc_http_open(&second, &o), HPC_E_ARG, "not a socket");
    assert_true(hpc_file_exists(path));
}

static void *stop_later(void *user)
{
    fixture *f = user;
    const hpc_buf text = {.data = "done", .n = 4};
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    strcpy(a.sun_path, f->w.path);
    __atomic_store_n(&f->w.stop, 1, __ATOMIC_RELEASE);
    /* Once the socket is closed the server drains. */
    for (int fd = -1, open = 1; open;) {
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        open = connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
        close(fd);
        poll(NULL, 0, 1);
    }
    hpc_http_answer(f->waiting, 200, "text/plain", &text);
    return NULL;
}

static void stop_waits_for_running_requests(void **state)
{
    pthread_t stopper;
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state, defaults);
    int fd = web_connect(&f->w);
    web_say(fd, "GET /later HTTP/1.1\r\nConnection: close\r\n" LOCAL "\r\n");
    wait_for_request(f);
    assert_int_equal(pthread_create(&stopper, NULL, stop_later, f), 0);
    assert_int_equal(web_status(web_read(f->reply, fd, NULL)), 200);
    pthread_join(stopper, NULL);
    close(fd);
    close_fixture(f);
}

/* Neither one that does not send its body nor one that does not read its answer. */
static void stop_waits_for_no_client(void **state)
{
    static const char body[] = "POST /later HTTP/1.1\r\nContent-Length: 9\r\n" LOCAL "\r\n",
                      stream[] = "GET /stream HTTP/1.1\r\n" LOCAL "\r\n";
    hpc_http_options o = defaults;
    char *large = calloc(1, 8 << 20);
    WEB_NEEDS_LIBRARY();
    o.drain_seconds = 0.1;
    fixture *f = open_fixture(state, o);
    int slow = web_connect(&f->w), deaf = web_connect(&f->w);
    web_say(deaf, stream);
    hpc_http_request *r = wait_for_request(f);
    hpc_http_add(r, large, 8 << 20);
    web_say(slow, body);
    poll(NULL, 0, 100);
    const int64_t from = hpc_clock_ns();
    close_fixture(f);
    assert_true(hpc_clock_ns() - from < INT64_C(10000000000));
    close(slow);
    close(deaf);
    free(large);
}

static void reads_addresses(void **state)
{
    char address[64];
    int port;
    (void)state;
    test_ok(hpc_address_parse(address, &port, "127.0.0.1:8012"));
    assert_string_equal(address, "127.0.0.1");
    assert_int_equal(port, 8012);
    test_ok(hpc_address_parse(address, &port, "[::1]:80"));
    assert_string_equal(address, "::1");
    test_ok(hpc_address_parse(address, &port, ":9"));
    assert_string_equal(address, "127.0.0.1");
    test_fails(hpc_address_parse(address, &port, "127.0.0.1:99999"), HPC_E_ARG, "ADDR:PORT");
    test_fails(hpc_address_parse(address, &port, "127.0.0.1:"), HPC_E_ARG, "ADDR:PORT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_FOLDER(limits_have_their_status),
                                       WITH_FOLDER(slow_requests_get_408),
                                       WITH_FOLDER(nonsense_gets_400),
                                       WITH_FOLDER(connections_beyond_the_limit_get_503),
                                       WITH_FOLDER(server_without_descriptors_waits),
                                       WITH_FOLDER(notices_clients_that_leave),
                                       WITH_FOLDER(client_that_does_not_read_is_gone),
                                       WITH_FOLDER(half_closed_clients_get_their_answer),
                                       WITH_FOLDER(half_closed_clients_with_a_part_are_not_kept),
                                       WITH_FOLDER(one_server_per_socket),
                                       WITH_FOLDER(stop_waits_for_running_requests),
                                       WITH_FOLDER(stop_waits_for_no_client),
                                       WITH_FOLDER(reads_addresses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
