/*
 * The table of hpccoder-microhttpd.so over libmicrohttpd: connections that the caller accepted,
 * requests, and answers at once or as a stream.
 */
#include <microhttpd.h>
#include <stdlib.h>
#include <strings.h>

#include "infer/serve/microhttpd/table.h"

struct hpc_httpd {
    struct MHD_Daemon *daemon;
    const hpc_httpd_calls *calls;
    void *user;
};

struct hpc_httpd_exchange {
    hpc_httpd *owner;
    struct MHD_Connection *connection;
    void *request;
    bool answered;
};

static int descriptor_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    return i ? i->connect_fd : -1;
}

/* ---- what the library calls ----------------------------------------------------------------- */

static enum MHD_Result handle(void *user, struct MHD_Connection *c, const char *path,
                              const char *method, const char *version, const char *data, size_t *n,
                              void **state)
{
    hpc_httpd *d = user;
    hpc_httpd_exchange *x = *state;
    (void)version;
    if (!x) {
        x = calloc(1, sizeof *x);
        if (!x) return MHD_NO;
        *x = (hpc_httpd_exchange){.owner = d, .connection = c};
        *state = x;
        x->request = d->calls->begin(d->user, x, method, path);
        return x->request ? MHD_YES : MHD_NO;
    }
    if (*n > 0) {
        if (!x->answered) d->calls->body(x->request, data, *n);
        *n = 0;
        return MHD_YES;
    }
    return x->answered || d->calls->complete(x->request) ? MHD_YES : MHD_NO;
}

static void completed(void *user, struct MHD_Connection *c, void **state,
                      enum MHD_RequestTerminationCode how)
{
    hpc_httpd *d = user;
    hpc_httpd_exchange *x = *state;
    (void)c, (void)how;
    if (!x) return;
    if (x->request) d->calls->ended(x->request);
    free(x);
    *state = NULL;
}

static void connection(void *user, struct MHD_Connection *c, void **state,
                       enum MHD_ConnectionNotificationCode what)
{
    hpc_httpd *d = user;
    (void)state;
    d->calls->connection(d->user, descriptor_of(c), what == MHD_CONNECTION_NOTIFY_STARTED);
}

static ssize_t more(void *user, uint64_t at, char *to, size_t capacity)
{
    hpc_httpd_exchange *x = user;
    (void)at;
    const ssize_t n = x->owner->calls->more(x->request, to, capacity);
    if (n == HPC_HTTPD_END) return MHD_CONTENT_READER_END_OF_STREAM;
    return n < 0 ? MHD_CONTENT_READER_END_WITH_ERROR : n;
}

/* ---- the table ------------------------------------------------------------------------------ */

static hpc_httpd *open_daemon(const hpc_httpd_options *o)
{
    hpc_httpd *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->calls = o->calls;
    d->user = o->user;
    d->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
            MHD_USE_ITC,
        0, NULL, NULL, handle, d, MHD_OPTION_CONNECTION_LIMIT, o->connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, o->header_bytes, MHD_OPTION_CONNECTION_TIMEOUT,
        o->idle_seconds, MHD_OPTION_NOTIFY_COMPLETED, completed, d, MHD_OPTION_NOTIFY_CONNECTION,
        connection, d, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (d->daemon) return d;
    free(d);
    return NULL;
}

static void close_daemon(hpc_httpd *d)
{
    if (!d) return;
    MHD_stop_daemon(d->daemon);
    free(d);
}

static bool add(hpc_httpd *d, int fd, const struct sockaddr *address, socklen_t bytes)
{
    return MHD_add_connection(d->daemon, fd, address, bytes) == MHD_YES;
}

static int descriptor(const hpc_httpd_exchange *x)
{
    return descriptor_of(x->connection);
}

static const char *header(const hpc_httpd_exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

typedef struct counting {
    const char *name;
    int n;
} counting;

static enum MHD_Result count_header(void *user, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    counting *c = user;
    (void)kind, (void)value;
    c->n += strcasecmp(name, c->name) == 0;
    return MHD_YES;
}

static int header_count(const hpc_httpd_exchange *x, const char *name)
{
    counting c = {.name = name};
    MHD_get_connection_values(x->connection, MHD_HEADER_KIND, count_header, &c);
    return c.n;
}

static bool queue(hpc_httpd_exchange *x, unsigned status, const hpc_httpd_header *h,
                  struct MHD_Response *r)
{
    if (!r) return false;
    for (; h && h->name; h++) MHD_add_response_header(r, h->name, h->value);
    x->answered = MHD_queue_response(x->connection, status, r) == MHD_YES;
    MHD_destroy_response(r);
    return x->answered;
}

static bool answer(hpc_httpd_exchange *x, unsigned status, const hpc_httpd_header *h,
                   const void *data, size_t n)
{
    return queue(x, status, h,
                 MHD_create_response_from_buffer(n, (void *)data, MHD_RESPMEM_MUST_COPY));
}

static bool stream(hpc_httpd_exchange *x, unsigned status, const hpc_httpd_header *h)
{
    return queue(x, status, h,
                 MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, more, x, NULL));
}

static void hold(hpc_httpd_exchange *x)
{
    MHD_suspend_connection(x->connection);
}

static void wake(hpc_httpd_exchange *x)
{
    MHD_resume_connection(x->connection);
}

const hpc_httpd_table hpc_httpd_functions = {.version = HPC_HTTPD_VERSION,
                                             .open = open_daemon,
                                             .close = close_daemon,
                                             .add = add,
                                             .descriptor = descriptor,
                                             .header = header,
                                             .header_count = header_count,
                                             .answer = answer,
                                             .stream = stream,
                                             .hold = hold,
                                             .wake = wake};
