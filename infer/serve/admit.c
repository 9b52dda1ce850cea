/*
 * Admission of requests: the Host allow-list, foreign origins, the token, and the token's file.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "infer/serve/http_priv.h"

enum { TOKEN_BYTES = 4096, TOKEN_LEAST = 8 };

/* ---- host and origin ------------------------------------------------------------------------ */

/* NAME or NAME:PORT, with any port: it may be forwarded from another one. */
static bool is_host(const char *text, const char *name)
{
    const size_t n = strlen(name);
    if (strncasecmp(text, name, n) != 0) return false;
    const char *port = text + n;
    if (port[0] == ':' && port[1]) port += 1 + strspn(port + 1, "0123456789");
    return *port == '\0';
}

/* The numeric address that the client reached; "" on a Unix socket. */
static void own_address(char out[80], const http_connection *c)
{
    struct sockaddr_storage a = {0};
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a;
    socklen_t bytes = sizeof a;
    char text[INET6_ADDRSTRLEN];
    out[0] = '\0';
    if (c->local || getsockname(c->fd, (struct sockaddr *)&a, &bytes) < 0) return;
    const bool is_v6 = a.ss_family == AF_INET6;
    const void *from = is_v6 ? (const void *)&v6->sin6_addr : &v4->sin_addr;
    if (inet_ntop(a.ss_family, from, text, sizeof text))
        snprintf(out, 80, is_v6 ? "[%s]" : "%s", text);
}

/* A page can give its own name any address, but not the name of this machine and not a number. */
static bool is_allowed_host(const http_connection *c, const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    char own[80];
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (is_host(host, names[k])) return true;
    own_address(own, c);
    return own[0] && is_host(host, own);
}

/* A page of this server, reached under the same name and port. */
static bool is_own_origin(const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    return strncasecmp(origin, scheme, sizeof scheme - 1) == 0 &&
           strcasecmp(origin + sizeof scheme - 1, host) == 0;
}

/* ---- token ---------------------------------------------------------------------------------- */

/* Takes as long for every text of the same length. */
static bool equals(const char *given, const char *token)
{
    const size_t n = strlen(token), given_n = strlen(given);
    unsigned char differ = given_n != n;
    for (size_t k = 0; k < given_n; k++)
        differ |= (unsigned char)(given[k] ^ token[n > 0 ? k % n : 0]);
    return differ == 0;
}

static bool has_token(const hpc_http *h, const hpc_httpd_exchange *x)
{
    static const char scheme[] = "Bearer ";
    const char *bearer = h->library->header(x, "Authorization");
    const char *key = h->library->header(x, "X-Api-Key");
    if (bearer && strncasecmp(bearer, scheme, sizeof scheme - 1) == 0)
        return equals(bearer + sizeof scheme - 1, h->o.token);
    return key && equals(key, h->o.token);
}

int hpc_http_read_token(hpc_buf *out, const char *path)
{
    struct stat s;
    int rc;
    if (stat(path, &s) < 0) return hpc_fail_os(HPC_E_ARG, "--token-file %s", path);
    if (!S_ISREG(s.st_mode) || s.st_uid != geteuid() || (s.st_mode & 077) != 0)
        return hpc_fail(HPC_E_ARG,
                        "--token-file %s: others could read the token; chmod 600 a file of yours",
                        path);
    TRY(hpc_file_read(out, path, TOKEN_BYTES));
    while (out->n > 0 && strchr("\r\n \t", out->data[out->n - 1])) out->data[--out->n] = '\0';
    if (out->n < TOKEN_LEAST || strlen(out->data) != out->n || strpbrk(out->data, "\r\n"))
        TRY(hpc_fail(HPC_E_ARG, "--token-file %s: expected one line of at least %d characters",
                     path, TOKEN_LEAST));
out:
    return rc;
}

/* ---- together ------------------------------------------------------------------------------- */

int http_admit(const char **why, const hpc_http *h, const hpc_httpd_exchange *x,
               const http_connection *c, const char *path)
{
    const char *host = h->library->header(x, "Host");
    const char *origin = h->library->header(x, "Origin");
    *why = "the request needs one Host header";
    if (!host || h->library->header_count(x, "Host") != 1) return 400;
    *why = "this Host is not served: use localhost, or the numeric address of the server";
    if (!is_allowed_host(c, host)) return 403;
    *why = "requests of web pages are not served";
    if (origin && !is_own_origin(origin, host)) return 403;
    *why = "the token is missing or wrong: send Authorization: Bearer TOKEN";
    if (h->o.token && strcmp(path, "/health") != 0 && !has_token(h, x)) return 401;
    return 0;
}
