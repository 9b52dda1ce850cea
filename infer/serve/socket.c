/*
 * Listening sockets: a Unix socket that survives neither its server nor a second one, and TCP.
 */
#include "infer/serve/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 64 };

/* ---- Unix sockets --------------------------------------------------------------------------- */

static int local_address(struct sockaddr_un *out, const char *path)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof out->sun_path)
        return hpc_fail(HPC_E_ARG, "%s: the path of a Unix socket has at most %zu bytes", path,
                        sizeof out->sun_path - 1);
    strcpy(out->sun_path, path);
    return HPC_OK;
}

static bool answers(const struct sockaddr_un *a)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool live = fd >= 0 && (connect(fd, (const struct sockaddr *)a, sizeof *a) == 0 ||
                            errno == EAGAIN || errno == EINPROGRESS);
    if (fd >= 0) close(fd);
    return live;
}

/* Removes the socket of an ended server. */
static int remove_stale(const struct sockaddr_un *a)
{
    struct stat s;
    if (lstat(a->sun_path, &s) < 0) return HPC_OK;
    if (!S_ISSOCK(s.st_mode) || s.st_uid != geteuid())
        return hpc_fail(HPC_E_ARG, "%s: not a socket of this user; name another path with --unix",
                        a->sun_path);
    if (answers(a))
        return hpc_fail(HPC_E_ARG,
                        "%s: another server listens there; stop it, or name another path with "
                        "--unix",
                        a->sun_path);
    if (unlink(a->sun_path) < 0 && errno != ENOENT)
        return hpc_fail_os(HPC_E_IO, "%s: cannot remove the socket of an ended server",
                           a->sun_path);
    return HPC_OK;
}

/* The mode of the descriptor becomes the mode of the path: there is no moment at which others can
 * connect. */
static int bind_local(hpc_listener *l, const struct sockaddr_un *a)
{
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0 || fchmod(l->fd, 0600) < 0)
        return hpc_fail_os(HPC_E_IO, "cannot create a Unix socket");
    if (bind(l->fd, (const struct sockaddr *)a, sizeof *a) < 0)
        return hpc_fail_os(HPC_E_IO, "%s: cannot create the socket", a->sun_path);
    strcpy(l->path, a->sun_path);
    if (listen(l->fd, BACKLOG) < 0) return hpc_fail_os(HPC_E_IO, "%s: cannot listen", a->sun_path);
    return HPC_OK;
}

static int check_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    const int n = !slash || slash == path ? 1 : (int)(slash - path);
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", n, slash ? path : ".");
    if (access(folder, W_OK | X_OK) < 0)
        return hpc_fail_os(HPC_E_ARG, "--unix %s: cannot create files in its folder", path);
    return HPC_OK;
}

/* The lock decides between two servers that start at the same time. */
int hpc_listen_unix(hpc_listener *out, const char *path)
{
    hpc_listener l = HPC_LISTENER_NONE;
    struct sockaddr_un a;
    char lock[PATH_MAX + 8];
    int rc;
    *out = l;
    l.local = true;
    TRY(local_address(&a, path));
    TRY(check_folder(path));
    snprintf(lock, sizeof lock, "%s.lock", path);
    TRY(hpc_file_lock(&l.lock, lock, false));
    if (l.lock < 0)
        TRY(hpc_fail(HPC_E_ARG,
                     "%s: another server listens there; stop it, or name another path with "
                     "--unix",
                     path));
    TRY(remove_stale(&a));
    TRY(bind_local(&l, &a));
    *out = l;
    return HPC_OK;
out:
    if (l.lock >= 0 && !l.path[0]) unlink(lock); /* hpc_listener_close does with a path */
    hpc_listener_close(&l);
    return rc;
}

/* ---- TCP ------------------------------------------------------------------------------------ */

static int number_of_port(int *out, const char *text, const char *all)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (end == text || *end || n < 0 || n > 65535)
        return hpc_fail(HPC_E_ARG, "--http %s: expected ADDR:PORT", all);
    *out = (int)n;
    return HPC_OK;
}

int hpc_address_parse(char address[64], int *port, const char *text)
{
    const char *colon = strrchr(text, ':'), *from = text;
    size_t n = colon ? (size_t)(colon - text) : 0;
    if (n > 2 && text[0] == '[' && colon[-1] == ']') {
        from++;
        n -= 2;
    }
    if (n >= 64) return hpc_fail(HPC_E_ARG, "--http %s: expected ADDR:PORT", text);
    snprintf(address, 64, "%.*s", n > 0 ? (int)n : 9, n > 0 ? from : "127.0.0.1");
    if (strcmp(address, "localhost") == 0) strcpy(address, "127.0.0.1");
    return number_of_port(port, colon ? colon + 1 : text, text);
}

/* Bytes of the address; 0: not numeric. */
static socklen_t numeric(struct sockaddr_storage *a, const char *address, int port)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)a;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)a;
    memset(a, 0, sizeof *a);
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        return sizeof *v4;
    }
    if (inet_pton(AF_INET6, address, &v6->sin6_addr) != 1) return 0;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)port);
    return sizeof *v6;
}

static bool is_loopback(const struct sockaddr_storage *a)
{
    if (a->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static int bind_tcp(hpc_listener *l, const char *address, int port)
{
    struct sockaddr_storage a;
    socklen_t n = numeric(&a, address, port), bound = sizeof a;
    const int on = 1;
    if (n == 0)
        return hpc_fail(HPC_E_ARG, "--http %s: expected a numeric address such as 127.0.0.1:8012",
                        address);
    l->loopback = is_loopback(&a);
    l->fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0) return hpc_fail_os(HPC_E_IO, "cannot create a TCP socket");
    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a.ss_family == AF_INET6) setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(l->fd, (const struct sockaddr *)&a, n) < 0 || listen(l->fd, BACKLOG) < 0) {
        if (errno == EADDRINUSE || errno == EACCES || errno == EADDRNOTAVAIL)
            return hpc_fail_os(HPC_E_ARG, "--http %s:%d: cannot listen; name another port", address,
                               port);
        return hpc_fail_os(HPC_E_IO, "--http %s:%d: cannot listen", address, port);
    }
    if (getsockname(l->fd, (struct sockaddr *)&a, &bound) < 0)
        return hpc_fail_os(HPC_E_IO, "--http %s:%d: cannot listen", address, port);
    l->port = ntohs(a.ss_family == AF_INET ? ((struct sockaddr_in *)&a)->sin_port
                                           : ((struct sockaddr_in6 *)&a)->sin6_port);
    return HPC_OK;
}

int hpc_listen_tcp(hpc_listener *out, const char *address, int port)
{
    hpc_listener l = HPC_LISTENER_NONE;
    *out = l;
    int rc = bind_tcp(&l, address, port);
    if (rc < 0)
        hpc_listener_close(&l);
    else
        *out = l;
    return rc;
}

void hpc_listener_close(hpc_listener *l)
{
    char lock[PATH_MAX + 8];
    if (l->fd >= 0) close(l->fd);
    if (l->path[0]) {
        unlink(l->path);
        snprintf(lock, sizeof lock, "%s.lock", l->path);
        unlink(lock);
    }
    hpc_file_unlock(l->lock);
    *l = (hpc_listener)HPC_LISTENER_NONE;
}
