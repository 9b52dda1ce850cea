/*
 * The HTTP server: it accepts connections, hands them to the library, and watches them for clients
 * that leave or are too slow. A connection on hold is watched here alone: the library does not poll
 * it.
 */
#include "infer/serve/http.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "infer/serve/http_priv.h"

enum { TICK_MS = 100, EVENTS = 32, IDLE_SECONDS = 120, DROP_BLOCKS = 64, ACCEPT_MOST = 8 };

/* ---- connections ---------------------------------------------------------------------------- */

http_connection *http_connection_of(hpc_http *h, int fd)
{
    for (int k = 0; k < h->o.connections; k++)
        if (h->connection[k].id != 0 && h->connection[k].fd == fd) return &h->connection[k];
    return NULL;
}

int64_t http_receive_by(const hpc_http *h, const http_connection *c)
{
    return hpc_clock_ns() + (int64_t)((c->half ? h->o.half_seconds : h->o.receive_seconds) * 1e9);
}

void http_turn_away(int fd, int status, const char *reason, const char *text)
{
    char block[4096];
    hpc_buf out = {0}, json = {0};
    hpc_json_out w = {.buf = &json};
    hpc_json_open(&w, NULL, '{');
    hpc_json_open(&w, "error", '{');
    hpc_json_put_int(&w, "code", status);
    hpc_json_put_text(&w, "message", text);
    hpc_json_put_text(&w, "type", http_type_of_error(status));
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    /* Unread bytes would reset the connection before the answer is read. A client that sends for
     * ever may not hold this thread. */
    for (int k = 0; k < DROP_BLOCKS && recv(fd, block, sizeof block, MSG_DONTWAIT) > 0; k++)
        continue;
    hpc_buf_printf(&out,
                   "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nConnection: close\r\n%s"
                   "Content-Length: %zu\r\n\r\n%s",
                   status, reason, status == 503 ? "Retry-After: 1\r\n" : "", json.n,
                   json.data ? json.data : "");
    if (out.failed >= 0) (void)!send(fd, out.data, out.n, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    hpc_buf_release(&out);
    hpc_buf_release(&json);
}

static bool is_of_this_user(int fd, const hpc_listener *l)
{
    hpc_peer p;
    if (!l->local && !l->loopback) return true; /* the token decides */
    hpc_peer_find(&p, fd);
    /* The kernel names uid 0 for a socket that its process has closed. */
    return p.known && p.attached && p.uid == geteuid();
}

/* With the lock. NULL: all are in use. */
static http_connection *enter(hpc_http *h, int fd, const hpc_listener *l,
                              const struct sockaddr_storage *address, socklen_t n)
{
    for (int k = 0; k < h->o.connections; k++) {
        http_connection *c = &h->connection[k];
        if (c->id != 0) continue;
        *c = (http_connection){.id = ++h->ids,
                               .fd = fd,
                               .local = l->local,
                               .loopback = l->loopback,
                               .waits = true,
                               .address = *address,
                               .address_bytes = n,
                               .receive_by_ns =
                                   hpc_clock_ns() + (int64_t)(h->o.receive_seconds * 1e9)};
        return c;
    }
    return NULL;
}

static void admit_connection(hpc_http *h, int fd, const hpc_listener *l,
                             const struct sockaddr_storage *address, socklen_t n)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET};
    if (!is_of_this_user(fd, l)) {
        http_turn_away(fd, 403, "Forbidden", "the server is of another user");
        close(fd);
        return;
    }
    pthread_mutex_lock(&h->lock);
    const http_connection *c = enter(h, fd, l, address, n);
    e.data.u64 = c ? c->id : 0;
    pthread_mutex_unlock(&h->lock);
    if (!c) {
        http_turn_away(fd, 503, "Service Unavailable", "too many connections");
        close(fd);
        return;
    }
    epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &e);
}

static void watch_listeners(hpc_http *h, uint32_t events)
{
    for (int k = 0; k < 2; k++) {
        struct epoll_event e = {.events = events, .data.u64 = UINT64_MAX - (uint64_t)k};
        if (h->listener[k].fd >= 0) epoll_ctl(h->epoll, EPOLL_CTL_MOD, h->listener[k].fd, &e);
    }
}

/* Without descriptors or memory, clients wait: the listener stays ready, and would be asked again
 * at once. */
static void stop_accepting(hpc_http *h)
{
    h->accept_ns = hpc_clock_ns() + TICK_MS * INT64_C(1000000);
    watch_listeners(h, 0);
}

static void accept_again(hpc_http *h)
{
    if (h->accept_ns == 0 || hpc_clock_ns() < h->accept_ns) return;
    h->accept_ns = 0;
    watch_listeners(h, EPOLLIN);
}

static void accept_all(hpc_http *h, const hpc_listener *l)
{
    for (int k = 0; k < ACCEPT_MOST; k++) { /* then clients that left free theirs */
        struct sockaddr_storage a = {0};
        socklen_t n = sizeof a;
        int fd = accept4(l->fd, (struct sockaddr *)&a, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (fd < 0 && errno != EAGAIN && errno != EWOULDBLOCK) stop_accepting(h);
        if (fd < 0) return;
        admit_connection(h, fd, l, &a, n);
    }
}

/* ---- clients that leave --------------------------------------------------------------------- */

/* A client that has only closed its sending side still waits for its answer. */
static bool has_left(const http_connection *c, uint32_t events)
{
    hpc_peer p;
    if (events & (EPOLLHUP | EPOLLERR)) return true;
    if (c->local) return false;
    if (!c->loopback) return true;
    hpc_peer_find(&p, c->fd);
    return !p.known || !p.attached;
}

/* The library does not notice the end of a request that is incomplete. */
static void note_half(const hpc_http *h, http_connection *c)
{
    const bool receives = !c->request || c->receive_by_ns != 0;
    c->half = true;
    if (receives) c->receive_by_ns = http_receive_by(h, c);
}

static void notice(hpc_http *h, uint64_t id, uint32_t events)
{
    hpc_http_request *r = NULL;
    if (http_first_look(h, id, events)) return;
    pthread_mutex_lock(&h->lock);
    for (int k = 0; k < h->o.connections; k++) {
        http_connection *c = &h->connection[k];
        if (c->id != id) continue;
        if (events & EPOLLRDHUP) note_half(h, c);
        if (!c->request || !has_left(c, events)) continue;
        r = c->request;
        hpc_http_keep(r);
    }
    pthread_mutex_unlock(&h->lock);
    if (!r) return;
    http_request_leave(r);
    hpc_http_release(r);
}

#define EMPTY "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

/* With the lock. The library closes the connection when it sees that the descriptor was shut down.
 * It misses that if it has just begun to read, so the call is repeated until it has seen it. */
static void end_connection(http_connection *c, int64_t now)
{
    static const char slow[] = "HTTP/1.1 408 Request Timeout" EMPTY;
    static const char part[] = "HTTP/1.1 400 Bad Request" EMPTY;
    const char *text = c->half ? part : slow;
    /* A client that has its last answer wants no other. */
    const bool wants = !c->half || !c->begun || c->request;
    if (!c->ended && wants) (void)!send(c->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(c->fd, SHUT_RDWR);
    c->ended = true;
    c->receive_by_ns = now + TICK_MS * INT64_C(1000000);
    if (!c->waits) return;
    close(c->fd);
    *c = (http_connection){.fd = -1};
}

static void end_slow(hpc_http *h)
{
    const int64_t now = hpc_clock_ns();
    pthread_mutex_lock(&h->lock);
    for (int k = 0; k < h->o.connections; k++) {
        http_connection *c = &h->connection[k];
        if (c->id != 0 && c->receive_by_ns != 0 && c->receive_by_ns <= now) end_connection(c, now);
    }
    pthread_mutex_unlock(&h->lock);
}

/* ---- serving -------------------------------------------------------------------------------- */

static void step(hpc_http *h)
{
    struct epoll_event event[EVENTS];
    accept_again(h);
    const int n = epoll_wait(h->epoll, event, EVENTS, TICK_MS);
    for (int k = 0; k < n; k++) {
        const uint64_t id = event[k].data.u64;
        if (id >= UINT64_MAX - 1)
            accept_all(h, &h->listener[UINT64_MAX - id]);
        else
            notice(h, id, event[k].events);
    }
    end_slow(h);
}

static int64_t active(hpc_http *h, int64_t *quiet_ns)
{
    pthread_mutex_lock(&h->lock);
    const int64_t n = h->active;
    *quiet_ns = hpc_clock_ns() - h->quiet_ns;
    pthread_mutex_unlock(&h->lock);
    return n;
}

static bool is_idle(hpc_http *h)
{
    int64_t quiet_ns;
    return h->o.idle_seconds > 0 && active(h, &quiet_ns) == 0 &&
           (double)quiet_ns > h->o.idle_seconds * 1e9;
}

static void cancel_all(hpc_http *h)
{
    for (int k = 0; k < h->o.connections; k++) {
        pthread_mutex_lock(&h->lock);
        hpc_http_request *r = h->connection[k].id != 0 ? h->connection[k].request : NULL;
        if (r) hpc_http_keep(r);
        /* The library waits for a client that does not send its body, or does not read. */
        if (r) shutdown(h->connection[k].fd, SHUT_RDWR);
        pthread_mutex_unlock(&h->lock);
        if (!r) continue;
        http_request_leave(r);
        hpc_http_release(r);
    }
}

static void drain(hpc_http *h)
{
    const int64_t until = hpc_clock_ns() + (int64_t)(h->o.drain_seconds * 1e9);
    int64_t quiet_ns;
    __atomic_store_n(&h->draining, true, __ATOMIC_RELEASE);
    for (int k = 0; k < 2; k++) hpc_listener_close(&h->listener[k]);
    while (active(h, &quiet_ns) > 0 && hpc_clock_ns() < until) step(h);
    while (active(h, &quiet_ns) > 0) {
        cancel_all(h);
        step(h);
    }
}

int hpc_http_serve(hpc_http *h, const int *stop)
{
    while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE) && !is_idle(h)) step(h);
    drain(h);
    return HPC_OK;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int open_library(hpc_http *h, const char *path)
{
    void *handle = path && path[0] ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
    h->library = handle ? dlsym(handle, HPC_HTTPD_SYMBOL) : NULL;
    if (h->library && h->library->version == HPC_HTTPD_VERSION) return HPC_OK;
    if (h->library) return hpc_fail(HPC_E_UNSUPPORTED, "%s has another version; rebuild it", path);
    if (!path || !path[0])
        return hpc_fail(HPC_E_UNSUPPORTED, "hpccoder-microhttpd.so is missing: install "
                                           "libmicrohttpd-dev and rebuild");
    return hpc_fail(HPC_E_UNSUPPORTED, "%s cannot be opened: %s", path,
                    handle ? "its function table is missing" : dlerror());
}

static int watch_listener(hpc_http *h, int k)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = UINT64_MAX - (uint64_t)k};
    if (h->listener[k].fd < 0) return HPC_OK;
    return epoll_ctl(h->epoll, EPOLL_CTL_ADD, h->listener[k].fd, &e) == 0
               ? HPC_OK
               : hpc_fail_os(HPC_E_IO, "cannot watch a socket");
}

static int listen_all(hpc_http *h)
{
    const hpc_http_options *o = &h->o;
    int rc = HPC_OK;
    if (o->unix_path) TRY(hpc_listen_unix(&h->listener[0], o->unix_path));
    if (o->address) TRY(hpc_listen_tcp(&h->listener[1], o->address, o->port));
    if (o->address && !h->listener[1].loopback && !o->token)
        TRY(hpc_fail(HPC_E_ARG,
                     "--http %s: other machines reach this address: protect it with --token-file",
                     o->address));
    h->port = h->listener[1].port;
    for (int k = 0; k < 2; k++) TRY(watch_listener(h, k));
out:
    return rc;
}

int hpc_http_open(hpc_http **out, const hpc_http_options *o)
{
    hpc_http *h = hpc_alloc(1, sizeof *h);
    int rc;
    *out = NULL;
    if (!h) return HPC_E_NOMEM;
    *h = (hpc_http){.o = *o, .epoll = -1, .quiet_ns = hpc_clock_ns()};
    pthread_mutex_init(&h->lock, NULL);
    for (int k = 0; k < 2; k++) h->listener[k] = (hpc_listener)HPC_LISTENER_NONE;
    if (getrandom(&h->seed, sizeof h->seed, 0) != sizeof h->seed)
        TRY(hpc_fail_os(HPC_E_IO, "no random numbers"));
    TRY(open_library(h, o->library));
    hpc_assert(h->library);
    h->connection = hpc_alloc((size_t)o->connections, sizeof *h->connection);
    if (!h->connection) TRY(HPC_E_NOMEM);
    h->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (h->epoll < 0) TRY(hpc_fail_os(HPC_E_IO, "cannot watch sockets"));
    const hpc_httpd_options with = {.calls = &http_calls,
                                    .user = h,
                                    .connections = (unsigned)o->connections,
                                    .header_bytes = o->header_bytes,
                                    .idle_seconds = IDLE_SECONDS};
    h->daemon = h->library->open(&with);
    if (!h->daemon) TRY(hpc_fail(HPC_E_IO, "libmicrohttpd cannot start its thread"));
    TRY(listen_all(h));
    *out = h;
    return HPC_OK;
out:
    hpc_http_close(h);
    return rc;
}

void hpc_http_close(hpc_http *h)
{
    if (!h) return;
    for (int k = 0; k < 2; k++) hpc_listener_close(&h->listener[k]);
    if (h->daemon) h->library->close(h->daemon);
    for (int k = 0; h->connection && k < h->o.connections; k++)
        if (h->connection[k].id != 0 && h->connection[k].waits) close(h->connection[k].fd);
    if (h->epoll >= 0) close(h->epoll);
    pthread_mutex_destroy(&h->lock);
    hpc_free(h->connection);
    hpc_free(h);
}

int hpc_http_port(const hpc_http *h)
{
    return h->port;
}
