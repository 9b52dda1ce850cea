/*
 * Tests of the HTTP server: admission, limits, clients that leave, and the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/serve/web.h"

/* /now is answered at once, /later when `release` is set, /stream in pieces until the client
 * leaves. */
typedef struct fixture {
    web w;
    pthread_mutex_t lock;
    pthread_cond_t change;
    hpc_http_request *waiting;
    int gone;
    char reply[WEB_REPLY];
} fixture;

static void handle(void *user, hpc_http_request *r)
{
    fixture *f = user;
    hpc_buf out = {0};
    if (strcmp(hpc_http_path(r), "/now") == 0) {
        hpc_buf_printf(&out, "%zu", hpc_http_body(r)->n);
        hpc_http_answer(r, 200, "text/plain", &out);
        hpc_buf_release(&out);
        return;
    }
    hpc_http_keep(r);
    if (strcmp(hpc_http_path(r), "/stream") == 0) {
        hpc_http_begin(r, "text/event-stream");
        hpc_http_add(r, "first", 5);
    }
    pthread_mutex_lock(&f->lock);
    f->waiting = r;
    pthread_cond_broadcast(&f->change);
    pthread_mutex_unlock(&f->lock);
}

static void gone(void *user, hpc_http_request *r)
{
    fixture *f = user;
    pthread_mutex_lock(&f->lock);
    assert_ptr_equal(r, f->waiting);
    f->gone++;
    pthread_cond_broadcast(&f->change);
    pthread_mutex_unlock(&f->lock);
}

static hpc_http_request *wait_for_request(fixture *f)
{
    pthread_mutex_lock(&f->lock);
    while (!f->waiting) pthread_cond_wait(&f->change, &f->lock);
    hpc_http_request *r = f->waiting;
    pthread_mutex_unlock(&f->lock);
    return r;
}

static void wait_until_gone(fixture *f)
{
    pthread_mutex_lock(&f->lock);
    while (f->gone == 0) pthread_cond_wait(&f->change, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

static fixture *open_fixture(void **state, hpc_http_options o)
{
    fixture *f = calloc(1, sizeof *f);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->change, NULL);
    o.handle = handle;
    o.gone = gone;
    o.user = f;
    f->w.o = o;
    web_open(&f->w, *state);
    return f;
}

static void close_fixture(fixture *f)
{
    if (f->waiting) {
        hpc_http_end(f->waiting);
        hpc_http_release(f->waiting);
    }
    web_close(&f->w);
    free(f);
}

static const hpc_http_options defaults = HPC_HTTP_DEFAULTS;
#define LOCAL "Host: localhost\r\n"

/* ---- admission ------------------------------------------------------------------------------ */

static void serves_its_user_on_both_sockets(void **state)
{
    struct stat s;
    char host[64];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state, defaults);
    assert_int_equal(stat(f->w.path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
    assert_int_equal(web_ask(f->reply, &f->w, "POST /now", "12345"), 200);
    assert_non_null(strstr(f->reply, "\r\n\r\n5"));
    snprintf(host, sizeof host, "Host: 127.0.0.1:%d\r\n", hpc_http_port(f->w.h));
    assert_int_equal(
        web_ask_on(f->reply, web_connect_tcp(hpc_http_port(f->w.h)), "GET /now", host, ""), 200);
    close_fixture(f);
}

static void rejects_foreign_host_and_origin(void **state)
{
    static const char *const bad[] = {"Host: evil.example\r\n",
                                      "Host: localhost.evil.example\r\n",
                                      "Host: localhost:\r\n",
                                      "Host: localhost:80.evil.example\r\n",
                                      "Host: 127.0.0.1.evil.example\r\n",
                                      "Host: 127.0.0.2\r\n"};
    char headers[200];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state, defaults);
    const int port = hpc_http_port(f->w.h);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_int_equal(web_ask_on(f->reply, web_connect_tcp(port), "GET /now", bad[k], ""), 403);
    assert_non_null(strstr(f->reply, "the numeric address of the server"));
    assert_int_equal(web_ask_on(f->reply, web_connect(&f->w), "GET /now",
                                LOCAL "Origin: https://evil.example\r\n", ""),
                     403);
    assert_null(strstr(f->reply, "Access-Control"));
    assert_int_equal(
        web_ask_on(f->reply, web_connect(&f->w), "GET /now", LOCAL "Origin: null\r\n", ""), 403);
    snprintf(headers, sizeof headers, "Host: localhost:%d\r\nOrigin: http://localhost:%d\r\n", port,
             port);
    assert_int_equal(web_ask_on(f->reply, web_connect_tcp(port), "GET /now", headers, ""), 200);
    assert_int_equal(web_ask_on(f->reply, web_connect_tcp(port), "GET /now",
                                "Host: localhost:9000\r\nOrigin: http://localhost:9001\r\n", ""),
                     403);
    assert_int_equal(web_ask_on(f->reply, web_connect(&f->w), "GET /now", "", ""), 400);
    close_fixture(f);
}

/* As through ssh -L 9000:127.0.0.1:8012. */
static void names_of_this_machine_may_have_another_port(void **state)
{
    static const char *const good[] = {"Host: localhost:9000\r\n", "Host: localhost\r\n",
                                       "Host: 127.0.0.1:1\r\n", "Host: [::1]:9000\r\n",
                                       "Host: localhost:9000\r\nOrigin: http://localhost:9000\r\n"};
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state, defaults);
    for (size_t k = 0; k < sizeof good / sizeof *good; k++)
        assert_int_equal(
            web_ask_on(f->reply, web_connect_tcp(hpc_http_port(f->w.h)), "GET /now", good[k], ""),
            200);
    close_fixture(f);
}

/* A server on all addresses: each client names the one that it reached. */
static void wildcard_address_serves_the_address_that_was_reached(void **state)
{
    web w = {.o = defaults};
    char *reply = malloc(WEB_REPLY);
    struct sockaddr_in a = {.sin_family = AF_INET};
    static const struct {
        const char *headers;
        int status;
    } cases[] = {{"Host: 127.0.0.2:9\r\n", 200},
                 {"Host: 127.0.0.3:9\r\n", 403},
                 {"Host: node17:9\r\n", 403},
                 {"Host: 0.0.0.0:9\r\n", 403}};
    WEB_NEEDS_LIBRARY();
    (void)state;
    w.o.library = hpc_test_built(w.library, "hpccoder-microhttpd.so");
    w.o.address = "0.0.0.0";
    w.o.token = "secret-token";
    w.o.handle = handle;
    test_ok(hpc_http_open(&w.h, &w.o));
    assert_int_equal(pthread_create(&w.thread, NULL, web_run, &w), 0);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char headers[160];
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        a.sin_port = htons((uint16_t)hpc_http_port(w.h));
        inet_pton(AF_INET, "127.0.0.2", &a.sin_addr);
        assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
        snprintf(headers, sizeof headers, "%sAuthorization: Bearer secret-token\r\n",
                 cases[k].headers);
        assert_int_equal(web_ask_on(reply, fd, "GET /now", headers, ""), cases[k].status);
    }
    web_close(&w);
    free(reply);
}

static void requires_the_token(void **state)
{
    hpc_http_options o = defaults;
    WEB_NEEDS_LIBRARY();
    o.token = "secret-token";
    fixture *f = open_fixture(state, o);
    static const struct {
        const char *headers;
        int status;
    } cases[] = {{LOCAL, 401},
                 {LOCAL "Authorization: Bearer secret-tokem\r\n", 401},
                 {LOCAL "Authorization: Bearer secret-token1\r\n", 401},
                 {LOCAL "Authorization: Bearer \r\n", 401},
                 {LOCAL "Authorization: Basic secret-token\r\n", 401},
                 {LOCAL "Authorization: Bearer secret-token\r\n", 200},
                 {LOCAL "X-Api-Key: secret-token\r\n", 200}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        assert_int_equal(web_ask_on(f->reply, web_connect(&f->w), "GET /now", cases[k].headers, ""),
                         cases[k].status);
    close_fixture(f);
}

static void token_file_must_be_private(void **state)
{
    char path[PATH_MAX];
    hpc_buf token = {0};
    hpc_test_path(path, *state, "token");
    test_ok(hpc_file_save(path, "secret-token\n", 13));
    assert_int_equal(chmod(path, 0640), 0);
    test_fails(hpc_http_read_token(&token, path), HPC_E_ARG, "chmod 600");
    assert_int_equal(chmod(path, 0600), 0);
    test_ok(hpc_http_read_token(&token, path));
    assert_string_equal(token.data, "secret-token");
    hpc_buf_release(&token);
    test_ok(hpc_file_save(path, "short\n", 6));
    assert_int_equal(chmod(path, 0600), 0);
    test_fails(hpc_http_read_token(&token, path), HPC_E_ARG, "at least");
    hpc_buf_release(&token);
}

enum { OPEN = 1, OPEN_TCP, OPEN_WITHOUT_MODE, NO_OTHER_USER };

static bool is_refused(char reply[WEB_REPLY], int fd, const char *host)
{
    return web_ask_on(reply, fd, "GET /now", host, "") == 403 &&
           strstr(reply, "the server is of another user");
}

/* 0: both sockets rejected it; the Unix socket also where its mode would not (others: the path of
 * one that all may connect to). */
static int try_as_another_user(const fixture *f, const char *others)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char *reply = malloc(WEB_REPLY), host[64];
    int local = socket(AF_UNIX, SOCK_STREAM, 0), port = hpc_http_port(f->w.h);
    if (setgid(65534) != 0 || setuid(65534) != 0) return NO_OTHER_USER;
    strcpy(a.sun_path, f->w.path);
    if (connect(local, (struct sockaddr *)&a, sizeof a) == 0) return OPEN;
    strcpy(a.sun_path, others);
    if (connect(local, (struct sockaddr *)&a, sizeof a) < 0) return NO_OTHER_USER;
    if (!is_refused(reply, local, LOCAL)) return OPEN_WITHOUT_MODE;
    snprintf(host, sizeof host, "Host: 127.0.0.1:%d\r\n", port);
    return is_refused(reply, web_connect_tcp(port), host) ? 0 : OPEN_TCP;
}

static void rejects_another_user(void **state)
{
    int status;
    WEB_NEEDS_LIBRARY();
    if (geteuid() != 0) {
        print_message("SKIP: a second user needs root\n");
        skip();
    }
    fixture *f = open_fixture(state, defaults), *open = calloc(1, sizeof *open);
    open->w.o = defaults;
    chmod(((hpc_test_folder *)*state)->root, 0755); /* a socket's own mode has to suffice */
    open->w.o.library = hpc_test_built(open->w.library, "hpccoder-microhttpd.so");
    open->w.o.unix_path = hpc_test_path(open->w.path, *state, "open");
    open->w.o.handle = handle;
    test_ok(hpc_http_open(&open->w.h, &open->w.o));
    assert_int_equal(chmod(open->w.path, 0666), 0);
    assert_int_equal(pthread_create(&open->w.thread, NULL, web_run, &open->w), 0);
    pid_t child = fork();
    if (child == 0) _exit(try_as_another_user(f, open->w.path));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close_fixture(open);
    close_fixture(f);
}

/* Its request may be complete before the server accepts it. */
static int send_and_leave(int port)
{
    char head[160];
    if (setgid(65534) != 0 || setuid(65534) != 0) return NO_OTHER_USER;
    for (int k = 0; k < 50; k++) {
        int fd = web_connect_tcp(port);
        snprintf(head, sizeof head, "GET /later HTTP/1.1\r\nHost: localhost:%d\r\n\r\n", port);
        web_say(fd, head);
        close(fd);
    }
    return 0;
}

static void rejects_another_user_that_has_left(void **state)
{
    int status;
    (void)state;
    hpc_http_options o = defaults;
    WEB_NEEDS_LIBRARY();
    if (geteuid() != 0) {
        print_message("SKIP: a second user needs root\n");
        skip();
    }
    o.handle = handle;
    fixture *f = calloc(1, sizeof *f);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->change, NULL);
    o.gone = gone;
    o.user = f;
    o.library = hpc_test_built(f->w.library, "hpccoder-microhttpd.so");
    o.address = "127.0.0.1";
    test_ok(hpc_http_open(&f->w.h, &o));
    pid_t child = fork();
    if (child == 0) _exit(send_and_leave(hpc_http_port(f->w.h)));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(pthread_create(&f->w.thread, NULL, web_run, &f->w), 0);
    char host[64];
    snprintf(host, sizeof host, "Host: localhost:%d\r\n", hpc_http_port(f->w.h));
    assert_int_equal(
        web_ask_on(f->reply, web_connect_tcp(hpc_http_port(f->w.h)), "GET /now", host, ""), 200);
    assert_null(f->waiting);
    close_fixture(f);
}

static void address_of_other_machines_needs_a_token(void **state)
{
    char library[PATH_MAX];
    hpc_http_options o = defaults;
    hpc_http *h;
    (void)state;
    WEB_NEEDS_LIBRARY();
    o.library = hpc_test_built(library, "hpccoder-microhttpd.so");
    o.address = "0.0.0.0";
    test_fails(hpc_http_open(&h, &o), HPC_E_ARG, "--token-file");
}

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
    static const char *const parts[] = {"", "POST /now HT",
                                        "POST /now HTTP/1.1\r\nHost: localhost\r\n"
                                        "Content-Length: 10\r\n\r\nabc"};
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

#define WITH_FOLDER(f)                                                                             \
    cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(serves_its_user_on_both_sockets),
        WITH_FOLDER(rejects_foreign_host_and_origin),
        WITH_FOLDER(names_of_this_machine_may_have_another_port),
        WITH_FOLDER(wildcard_address_serves_the_address_that_was_reached),
        WITH_FOLDER(requires_the_token),
        WITH_FOLDER(token_file_must_be_private),
        WITH_FOLDER(rejects_another_user),
        WITH_FOLDER(rejects_another_user_that_has_left),
        WITH_FOLDER(address_of_other_machines_needs_a_token),
        WITH_FOLDER(limits_have_their_status),
        WITH_FOLDER(slow_requests_get_408),
        WITH_FOLDER(nonsense_gets_400),
        WITH_FOLDER(connections_beyond_the_limit_get_503),
        WITH_FOLDER(server_without_descriptors_waits),
        WITH_FOLDER(notices_clients_that_leave),
        WITH_FOLDER(half_closed_clients_get_their_answer),
        WITH_FOLDER(one_server_per_socket),
        WITH_FOLDER(stop_waits_for_running_requests),
        WITH_FOLDER(stop_waits_for_no_client),
        WITH_FOLDER(reads_addresses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
