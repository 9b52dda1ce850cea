/*
 * Tests of holes, of the ends of answers, and of the HTTP client with a server of canned answers.
 */
/* tsan: left out, the server thread of the test shares nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "eval/ask.h"
#include "eval/hole.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"

/* ---- ends ------------------------------------------------------------------------------------ */

typedef struct cut_case {
    hpc_complete_stop stop;
    const char *text; /* '@': where it is cut; none: it does not end */
} cut_case;

static const cut_case cuts[] = {
    {HPC_STOP_LINE, "x = 1;@\ny = 2;"},
    {HPC_STOP_LINE, "x = 1;@"},
    {HPC_STOP_BLOCK, " f(); }@ g(); }"},
    {HPC_STOP_BLOCK, "if (a) { b(); }\n}@\nint c;"},
    {HPC_STOP_FUNCTION, "puts(\"}\"); /* } */ char c = '}';\n}@\n"},
    {HPC_STOP_FUNCTION, "while (1) {\n"},
};

static void answers_end_with_their_line_or_brace(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        const char *mark = strchr(cuts[k].text, '@');
        char text[128];
        size_t n, want = mark ? (size_t)(mark - cuts[k].text) : strlen(cuts[k].text);
        bool ended;
        snprintf(text, sizeof text, "%.*s%s", (int)want, cuts[k].text, mark ? mark + 1 : "");
        test_ok(hpc_eval_cut(&n, &ended, text, strlen(text), cuts[k].stop, HPC_LANGUAGE_C));
        assert_int_equal(n, want);
        assert_int_equal(ended, mark != NULL);
    }
}

/* ---- holes ----------------------------------------------------------------------------------- */

static const char source[] = "#include <a.h>\n"
                             "int f(int a)\n"
                             "{\n"
                             "    int b = a + 1;\n"
                             "    if (b > 3) {\n"
                             "        b = 2;\n"
                             "    }\n"
                             "    return b;\n"
                             "}\n";

static void check_hole(const hpc_eval_hole *h)
{
    char text[256];
    snprintf(text, sizeof text, "%.*s", (int)(h->hi - h->lo), h->file->text.data + h->lo);
    if (h->kind == HPC_STOP_LINE) {
        assert_null(strchr(text, '\n'));
        assert_true(h->line >= 4 && h->line <= 8);
    } else {
        assert_int_equal(text[strlen(text) - 1], '}');
    }
    if (h->kind == HPC_STOP_FUNCTION) assert_int_equal(h->line, 3);
}

static void holes_lie_in_functions_and_repeat(void **state)
{
    char path[PATH_MAX];
    const char *argument = path;
    const hpc_eval_files_options o = {.path = &argument, .path_n = 1, .seed = 1};
    hpc_eval_files files;
    hpc_test_path(path, *state, "a.c");
    test_ok(hpc_file_save(path, source, sizeof source - 1));
    test_ok(hpc_eval_files_read(&files, &o));
    for (int k = 0; k < 30; k++) {
        hpc_eval_hole h, again;
        test_ok(hpc_eval_hole_draw(&h, &files, k, (hpc_complete_stop)(k % 3), 1));
        test_ok(hpc_eval_hole_draw(&again, &files, k, (hpc_complete_stop)(k % 3), 1));
        assert_true(h.lo == again.lo && h.hi == again.hi);
        check_hole(&h);
    }
    hpc_eval_files_release(&files);
}

/* ---- the client ------------------------------------------------------------------------------ */

typedef struct server {
    int fd;
    char url[64];
    const char *answer;
    char request[4096];
    pthread_t thread;
} server;

static void *serve(void *user)
{
    server *s = user;
    int fd = accept(s->fd, NULL, NULL);
    size_t n = 0;
    while (!strstr(s->request, "\"end\"}")) {
        ssize_t got = recv(fd, s->request + n, sizeof s->request - 1 - n, 0);
        if (got <= 0) break;
        s->request[n += (size_t)got] = '\0';
    }
    for (const char *at = s->answer; *at; at++) /* in pieces of one byte */
        if (send(fd, at, 1, MSG_NOSIGNAL) != 1) break;
    close(fd);
    return NULL;
}

static void start(server *s, const char *answer)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    *s = (server){.fd = socket(AF_INET, SOCK_STREAM, 0), .answer = answer};
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s->fd, 1), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &n), 0);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d/api/", ntohs(a.sin_port));
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void finish(server *s)
{
    pthread_join(s->thread, NULL);
    close(s->fd);
}

static int post(hpc_buf *out, server *s, const char *answer)
{
    hpc_buf body = {0};
    start(s, answer);
    hpc_buf_text(&body, "{\"a\":\"end\"}");
    int rc = hpc_eval_post(out, s->url, "/infill", &body);
    hpc_buf_release(&body);
    finish(s);
    return rc;
}

static void bodies_of_three_kinds_are_read(void **state)
{
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\nhello",
    };
    (void)state;
    for (int k = 0; k < 3; k++) {
        hpc_buf out = {0};
        server s;
        test_ok(post(&out, &s, answers[k]));
        assert_string_equal(out.data, "hello");
        assert_non_null(strstr(s.request, "POST /api/infill HTTP/1.1\r\nHost: 127.0.0.1:"));
        hpc_buf_release(&out);
    }
}

static void failures_name_the_server(void **state)
{
    hpc_buf out = {0};
    server s;
    (void)state;
    test_fails(post(&out, &s, "HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nno such"),
               HPC_E_IO, "/infill answered 404 Not Found: no such");
    test_fails(post(&out, &s, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"), HPC_E_IO,
               "not a complete HTTP message");
    test_fails(hpc_eval_post(&out, s.url, "/infill", &out), HPC_E_IO, "is the server running?");
    test_fails(hpc_eval_post(&out, "https://a", "/", &out), HPC_E_ARG, "expected a URL such as");
    test_fails(hpc_eval_post(&out, "http://:80", "/", &out), HPC_E_ARG, "expected a URL such as");
    hpc_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_end_with_their_line_or_brace),
        cmocka_unit_test_setup_teardown(holes_lie_in_functions_and_repeat, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test(bodies_of_three_kinds_are_read),
        cmocka_unit_test(failures_name_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
