/*
 * An HTTP server for one user: it listens, admits connections and requests, and notices clients
 * that leave. Protocols are in api.h.
 *
 * A connection is admitted if this user holds its other end: by SO_PEERCRED on a Unix socket, by
 * sock_diag on a loopback address. Requests need an allowed Host, no foreign Origin, and the token
 * where one is set. Nothing is logged of what a request contains.
 */
#ifndef HPC_SERVE_HTTP_H
#define HPC_SERVE_HTTP_H

#include "infer/serve/socket.h"

typedef struct hpc_http hpc_http;
typedef struct hpc_http_request hpc_http_request;

typedef struct hpc_http_options {
    const char *library;   /* path of hpccoder-microhttpd.so */
    const char *unix_path; /* NULL: no Unix socket */
    const char *address;   /* numeric; NULL: no TCP */
    int port;              /* 0: any, which hpc_http_port names */
    const char *token;     /* NULL: none. TCP beyond loopback needs one */
    int connections;
    size_t body_bytes, header_bytes;
    double receive_seconds; /* in which a request has to be complete: else 408 */
    double half_seconds;    /* the same after the client closed its sending side: else 400 */
    double idle_seconds;    /* without a request, after which hpc_http_serve ends; 0: never */
    double drain_seconds;   /* that requests have to end after a stop; then they are cancelled */
    /* The server's thread calls these; they may not block. */
    void (*handle)(void *user, hpc_http_request *r); /* a complete request; it may answer later */
    void (*gone)(void *user, hpc_http_request *r);   /* its client left before the answer's end */
    void (*log)(void *user, const char *line);       /* NULL: no log */
    void *user;
} hpc_http_options;
#define HPC_HTTP_DEFAULTS                                                                          \
    {                                                                                              \
        .connections = 64, .body_bytes = 8 << 20, .header_bytes = 64 << 10, .receive_seconds = 30, \
        .half_seconds = 1, .drain_seconds = 10                                                     \
    }

/* HPC_E_UNSUPPORTED: hpccoder-microhttpd.so is missing. */
int hpc_http_open(hpc_http **out, const hpc_http_options *o);
/* Serves until *stop is not 0, or the server was idle for too long. Then it accepts no more
 * requests, and waits for those that run. */
int hpc_http_serve(hpc_http *h, const int *stop);
void hpc_http_close(hpc_http *h);
int hpc_http_port(const hpc_http *h); /* of TCP; 0: none */
/* Checks that a file holds a token and that only this user can read it. */
int hpc_http_read_token(hpc_buf *out, const char *path);

/* ---- a request; any thread that has a reference ---- */
void hpc_http_keep(hpc_http_request *r);
void hpc_http_release(hpc_http_request *r);
const char *hpc_http_method(const hpc_http_request *r);
const char *hpc_http_path(const hpc_http_request *r); /* without its query */
const hpc_buf *hpc_http_body(const hpc_http_request *r);
uint64_t hpc_http_client(const hpc_http_request *r); /* a number of the connection */
bool hpc_http_is_gone(hpc_http_request *r);
/* The name of the request in the log; a static string. */
void hpc_http_label(hpc_http_request *r, const char *label);
void hpc_http_set_user(hpc_http_request *r, void *user);
void *hpc_http_user(hpc_http_request *r);

/* One more header of the answer, before it begins. `name` is a static string; a copy of `value` is
 * kept. */
void hpc_http_header(hpc_http_request *r, const char *name, const char *value);
/* The answer: whole, or begun, added to and ended. `type`: of the content, a static string. */
void hpc_http_answer(hpc_http_request *r, int status, const char *type, const hpc_buf *body);
void hpc_http_begin(hpc_http_request *r, const char *type);
void hpc_http_add(hpc_http_request *r, const void *data, size_t n);
void hpc_http_end(hpc_http_request *r);
/* {"error":{"code":STATUS,"message":TEXT,"type":...}}; in an answer that has begun, as its last
 * event or line. */
void hpc_http_error(hpc_http_request *r, int status, const char *text);
#define HPC_HTTP_JSON   "application/json; charset=utf-8"
#define HPC_HTTP_EVENTS "text/event-stream"

#endif
