/*
 * Fuzz target: any bytes as what a client sends to the HTTP server. Each request in them gets an
 * answer, and the server serves the next client. Needs hpccoder-microhttpd.so next to the folder of
 * the program.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "infer/serve/http.h"
#include "infer/serve/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct server {
    hpc_http *h;
    pthread_t thread;
    char library[PATH_MAX], path[108];
} server;

/* As the protocols do: a JSON body is parsed, and some answers are streams. */
static void handle(void *user, hpc_http_request *r)
{
    hpc_json *root = NULL;
    hpc_buf out = {0};
    (void)user;
    if (hpc_rpc_parse(&root, hpc_http_body(r)) < 0) {
        hpc_http_error(r, 400, "not JSON");
    } else if (strcmp(hpc_http_path(r), "/stream") == 0) {
        hpc_http_begin(r, HPC_HTTP_EVENTS);
        hpc_http_add(r, "data: {}\n\n", 10);
        hpc_http_end(r);
    } else {
        hpc_buf_text(&out, "{}");
        hpc_http_answer(r, 200, HPC_HTTP_JSON, &out);
    }
    hpc_error_clear();
    hpc_buf_release(&out);
    hpc_json_free(root);
}

static void gone(void *user, hpc_http_request *r)
{
    (void)user, (void)r;
}

static void *run(void *user)
{
    static const int never = 0;
    hpc_http_serve(((server *)user)->h, &never);
    return NULL;
}

static server *open_server(void)
{
    server *s = calloc(1, sizeof *s);
    if (!s || readlink("/proc/self/exe", s->library, sizeof s->library - 64) < 0) abort();
    for (int k = 0; k < 3; k++) *strrchr(s->library, '/') = '\0'; /* tests/fuzz/http */
    strcat(s->library, "/hpccoder-microhttpd.so");
    snprintf(s->path, sizeof s->path, "/tmp/hpccoder-fuzz-%d", getpid());
    hpc_http_options o = HPC_HTTP_DEFAULTS;
    o.library = s->library;
    o.unix_path = s->path;
    o.token = "secret-token";
    o.half_seconds = 0.01;
    o.body_bytes = 4096;
    o.header_bytes = 8192;
    o.handle = handle;
    o.gone = gone;
    if (hpc_http_open(&s->h, &o) < 0) {
        fprintf(stderr, "%s\n", hpc_error_get()->text);
        exit(1);
    }
    if (pthread_create(&s->thread, NULL, run, s) != 0) abort();
    return s;
}

static int dial(const server *s)
{
    const struct timeval limit = {.tv_sec = 5};
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    strcpy(a.sun_path, s->path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) < 0) abort();
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

/* Bytes that came before the server closed the connection; -1: it did not. */
static ssize_t read_all(int fd, char *to, size_t most)
{
    size_t n = 0;
    for (;;) {
        ssize_t k = recv(fd, to + n, most - n, 0);
        if (k < 0 && errno == EINTR) continue; /* libFuzzer's clock */
        if (k < 0) return errno == ECONNRESET ? (ssize_t)n : -1;
        if (k == 0) return (ssize_t)n;
        if ((n += (size_t)k) == most) n = 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char whole[] = "GET /now HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                "X-Api-Key: secret-token\r\nContent-Length: 2\r\n\r\n{}";
    static server *s;
    char answer[1 << 14];
    if (!s) s = open_server();
    int fd = dial(s);
    for (size_t at = 0, n; at < size; at += n) { /* in two parts */
        n = at == 0 && size > 1 ? size / 2 : size - at;
        if (send(fd, data + at, n, MSG_NOSIGNAL) < 0) break;
    }
    shutdown(fd, SHUT_WR);
    if (read_all(fd, answer, sizeof answer) < 0) abort();
    close(fd);
    fd = dial(s);
    if (send(fd, whole, sizeof whole - 1, MSG_NOSIGNAL) < 0) abort();
    if (read_all(fd, answer, sizeof answer) < 12 || memcmp(answer, "HTTP/1.1 200", 12) != 0)
        abort();
    close(fd);
    return 0;
}
