/*
 * A server in the same process and plain sockets as its clients.
 */
#ifndef HPC_TESTS_SERVE_WEB_H
#define HPC_TESTS_SERVE_WEB_H

#include <arpa/inet.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "infer/serve/http.h"
#include "tests/support/command.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"

#define WEB_NEEDS_LIBRARY()                                                                        \
    do {                                                                                           \
        char built[PATH_MAX];                                                                      \
        if (!hpc_file_exists(hpc_test_built(built, "hpccoder-microhttpd.so"))) {                   \
            print_message("SKIP: hpccoder-microhttpd.so was not built (libmicrohttpd-dev)\n");     \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

enum { WEB_REPLY = 1 << 16 };

typedef struct web {
    hpc_http_options o;
    hpc_http *h;
    pthread_t thread;
    int stop;
    char library[PATH_MAX], path[PATH_MAX];
} web;

static inline void *web_run(void *user)
{
    web *w = user;
    test_ok(hpc_http_serve(w->h, &w->stop));
    return NULL;
}

/* w->o: set before. A Unix socket in the test's folder, and any port of 127.0.0.1. */
static inline void web_open(web *w, const hpc_test_folder *f)
{
    w->stop = 0;
    w->o.library = hpc_test_built(w->library, "hpccoder-microhttpd.so");
    w->o.unix_path = hpc_test_path(w->path, f, "s");
    w->o.address = "127.0.0.1";
    test_ok(hpc_http_open(&w->h, &w->o));
    assert_int_equal(pthread_create(&w->thread, NULL, web_run, w), 0);
}

static inline void web_close(web *w)
{
    __atomic_store_n(&w->stop, 1, __ATOMIC_RELEASE);
    pthread_join(w->thread, NULL);
    hpc_http_close(w->h);
}

static inline int web_connect(const web *w)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    strcpy(a.sun_path, w->path);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static inline int web_connect_tcp(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

/* A server that has answered may have closed the connection already. */
static inline void web_send(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t k = send(fd, text, n, MSG_NOSIGNAL);
        if (k <= 0) return;
        text += k;
        n -= (size_t)k;
    }
}

static inline void web_say(int fd, const char *text)
{
    web_send(fd, text, strlen(text));
}

/* Until the server closes the connection, or the reply contains `last`. */
static inline const char *web_read(char reply[WEB_REPLY], int fd, const char *last)
{
    size_t n = 0;
    for (;;) {
        ssize_t k = n < WEB_REPLY - 1 ? recv(fd, reply + n, WEB_REPLY - 1 - n, 0) : 0;
        n += k > 0 ? (size_t)k : 0;
        reply[n] = '\0';
        if (k <= 0 || (last && strstr(reply, last))) return reply;
    }
}

static inline int web_status(const char *reply)
{
    int status = 0;
    sscanf(reply, "HTTP/1.1 %d", &status);
    return status;
}

/* One request on a connection of its own; `headers` end with CRLF each. Returns the status. */
static inline int web_ask_on(char reply[WEB_REPLY], int fd, const char *line, const char *headers,
                             const char *body)
{
    char head[1024];
    snprintf(head, sizeof head, "%s HTTP/1.1\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n",
             line, strlen(body), headers);
    web_say(fd, head);
    web_say(fd, body);
    web_read(reply, fd, NULL);
    close(fd);
    return web_status(reply);
}

static inline int web_ask(char reply[WEB_REPLY], const web *w, const char *line, const char *body)
{
    return web_ask_on(reply, web_connect(w), line, "Host: localhost\r\n", body);
}

#endif
