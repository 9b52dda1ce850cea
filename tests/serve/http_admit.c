/*
 * Tests of the HTTP server: who is served.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/serve/handled.h"

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
        WITH_FOLDER(address_of_other_machines_needs_a_token)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
