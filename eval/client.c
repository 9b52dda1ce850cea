/*
 * A client of HTTP/1.1 for one request per connection: bodies with a length, in chunks, or up to
 * the end of the connection. No TLS, no redirections.
 */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "eval/ask.h"

enum { HOST = 256, SECONDS = 900, ANSWER_MOST = 64 << 20 };

typedef struct address {
    char host[HOST], port[8], prefix[HOST];
} address;

static bool copy(char *out, size_t size, const char *from, size_t n)
{
    if (n >= size) return false;
    memcpy(out, from, n);
    out[n] = '\0';
    return true;
}

static int parse_url(address *out, const char *url)
{
    static const char scheme[] = "http://";
    const char *at = url + sizeof scheme - 1, *end, *port;

    *out = (address){.port = "80"};
    if (strncmp(url, scheme, sizeof scheme - 1) != 0) goto bad;
    end = at + strcspn(at, "/");
    if (*at == '[') { /* [::1]:8080 */
        const char *close = memchr(at, ']', (size_t)(end - at));
        if (!close || !copy(out->host, HOST, at + 1, (size_t)(close - at - 1))) goto bad;
        port = close + 1;
    } else {
        port = memchr(at, ':', (size_t)(end - at));
        if (!port) port = end;
        if (port == at || !copy(out->host, HOST, at, (size_t)(port - at))) goto bad;
    }
    if (port < end && *port != ':') goto bad;
    if (port < end && !copy(out->port, sizeof out->port, port + 1, (size_t)(end - port - 1)))
        goto bad;
    size_t n = strlen(end);
    while (n > 0 && end[n - 1] == '/') n--;
    if (copy(out->prefix, HOST, end, n)) return HPC_OK;
bad:
    return hpc_fail(HPC_E_ARG, "%s: expected a URL such as http://127.0.0.1:8080", url);
}

static int open_connection(int *fd, const address *to, const char *url)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const struct timeval limit = {.tv_sec = SECONDS};
    struct addrinfo *found = NULL;
    int code = getaddrinfo(to->host, to->port, &hints, &found);

    *fd = -1;
    if (code != 0)
        return hpc_fail(HPC_E_IO, "%s: cannot find the host: %s", url, gai_strerror(code));
    errno = 0;
    for (struct addrinfo *a = found; a && *fd < 0; a = a->ai_next) {
        *fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (*fd >= 0 && connect(*fd, a->ai_addr, a->ai_addrlen) != 0) {
            int kept = errno;
            close(*fd);
            *fd = -1;
            errno = kept;
        }
    }
    freeaddrinfo(found);
    if (*fd < 0) return hpc_fail_os(HPC_E_IO, "%s: cannot connect; is the server running?", url);
    (void)setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void)setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return HPC_OK;
}

static int send_all(int fd, const hpc_buf *text, const char *url)
{
    for (size_t at = 0; at < text->n;) {
        ssize_t n = send(fd, text->data + at, text->n - at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return hpc_fail_os(HPC_E_IO, "%s: cannot send the request", url);
        at += (size_t)n;
    }
    return HPC_OK;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The value of a header, NUL-terminated by its line end; NULL: none. */
static const char *header(const char *head, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = strstr(head, "\r\n"); at && at[2] != '\r'; at = strstr(at + 2, "\r\n"))
        if (strncasecmp(at + 2, name, n) == 0 && at[2 + n] == ':') {
            at += 3 + n;
            return at + strspn(at, " \t");
        }
    return NULL;
}

/* Decodes chunks. 1: the last one is there; 0: more bytes are needed; -1: malformed. */
static int read_chunks(hpc_buf *out, const char *body, size_t n)
{
    const char *at = body, *end = body + n;

    out->n = 0;
    for (;;) {
        const char *line = memmem(at, (size_t)(end - at), "\r\n", 2);
        if (!line) return 0;
        char *stop;
        unsigned long long size = strtoull(at, &stop, 16);
        if (stop == at || size > ANSWER_MOST) return -1;
        at = line + 2;
        if (size == 0) return 1;
        if ((size_t)(end - at) < size + 2) return 0;
        if (hpc_buf_add(out, at, size) < 0) return -1;
        at += size + 2;
    }
}

/* 1: the body of the answer is complete, in `out`; 0: read more. ended: of the connection. */
static int take_body(hpc_buf *out, const hpc_buf *raw, bool ended)
{
    const char *split = raw->n > 0 ? strstr(raw->data, "\r\n\r\n") : NULL, *value;
    size_t at = split ? (size_t)(split - raw->data) + 4 : 0;

    if (!split) return 0;
    value = header(raw->data, "Transfer-Encoding");
    if (value && value < split && strncasecmp(value, "chunked", 7) == 0)
        return read_chunks(out, raw->data + at, raw->n - at);
    value = header(raw->data, "Content-Length");
    size_t n = raw->n - at;
    if (value && value < split) {
        size_t want = (size_t)strtoull(value, NULL, 10);
        if (n < want) return 0;
        n = want;
    } else if (!ended) {
        return 0;
    }
    out->n = 0;
    return n == 0 || hpc_buf_add(out, raw->data + at, n) >= 0 ? 1 : -1;
}

static int receive(hpc_buf *body, hpc_buf *raw, int fd, const char *url)
{
    char part[1 << 14];

    for (;;) {
        ssize_t n = recv(fd, part, sizeof part, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return hpc_fail_os(HPC_E_IO, "%s: no answer", url);
        if (n > 0 && hpc_buf_add(raw, part, (size_t)n) < 0) return HPC_E_NOMEM;
        int found = take_body(body, raw, n == 0);
        if (found > 0) return HPC_OK;
        if (found < 0 || n == 0 || raw->n > ANSWER_MOST)
            return hpc_fail(HPC_E_IO, "%s: the answer is not a complete HTTP message", url);
    }
}

static int check_status(const hpc_buf *raw, const hpc_buf *body, const char *url, const char *path)
{
    const char *code = raw->n > 12 ? raw->data + 9 : "";

    if (strncmp(raw->data, "HTTP/1.", 7) == 0 && strncmp(code, "200", 3) == 0) return HPC_OK;
    return hpc_fail(HPC_E_IO, "%s%s answered %.*s: %.*s", url, path, (int)strcspn(code, "\r\n"),
                    code, body->n > 0 ? (int)strcspn(body->data, "\r\n") : 0,
                    body->n > 0 ? body->data : "");
}

int hpc_eval_post(hpc_buf *out, const char *url, const char *path, const hpc_buf *body)
{
    hpc_buf request = {0}, raw = {0}, answer = {0};
    address to;
    int fd = -1, rc;

    TRY(parse_url(&to, url));
    TRY(open_connection(&fd, &to, url));
    hpc_buf_printf(&request,
                   "POST %s%s HTTP/1.1\r\nHost: %s:%s\r\nContent-Type: application/json\r\n"
                   "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                   to.prefix, path, to.host, to.port, body->n);
    TRY(hpc_buf_add(&request, body->data, body->n));
    TRY(send_all(fd, &request, url));
    TRY(receive(&answer, &raw, fd, url));
    TRY(check_status(&raw, &answer, url, path));
    if (answer.n > 0) TRY(hpc_buf_add(out, answer.data, answer.n));
out:
    if (fd >= 0) close(fd);
    hpc_buf_release(&request);
    hpc_buf_release(&raw);
    hpc_buf_release(&answer);
    return rc;
}
