/* State of the HTTP server, its connections and requests: private to infer/serve. */
#ifndef HPC_SERVE_HTTP_PRIV_H
#define HPC_SERVE_HTTP_PRIV_H

#include <pthread.h>

#include "infer/serve/http.h"
#include "infer/serve/microhttpd/table.h"

typedef struct http_connection {
    uint64_t id; /* 0: free */
    int fd;
    bool local;    /* a Unix socket */
    bool loopback; /* its other end is of this kernel */
    bool begun;    /* a request has been received */
    bool half;     /* the client sends no more */
    bool ended;    /* shut down: the library has to notice it */
    bool waits;    /* for the first word; the library does not have it yet */
    struct sockaddr_storage address;
    socklen_t address_bytes;
    int64_t receive_by_ns;     /* when its first request has to be complete; 0: no limit */
    hpc_http_request *request; /* the one in progress */
} http_connection;

struct hpc_http {
    hpc_http_options o;
    const hpc_httpd_table *library;
    hpc_httpd *daemon;
    hpc_listener listener[2]; /* Unix, TCP */
    int port; /* of TCP; the library's thread reads it while a stop closes the listeners */
    int epoll;
    uint64_t seed; /* of hashed ids in the log */
    pthread_mutex_t lock;
    http_connection *connection; /* [o.connections] */
    uint64_t ids;
    int64_t active;   /* requests between begin and end */
    int64_t quiet_ns; /* the end of the last request */
    bool draining;
    int64_t accept_ns; /* connections are not accepted before that; 0: they are */
};

struct hpc_http_request {
    hpc_http *h;
    int references;
    pthread_mutex_t lock;
    hpc_httpd_exchange *x; /* NULL: ended */
    uint64_t connection;
    char method[8], path[96];
    const char *label;
    hpc_buf body;
    int reject; /* a status; 0: none */
    const char *why;
    int64_t start_ns;
    void *user;
    bool handled; /* given to the protocol */
    bool held;    /* the library waits for wake */
    bool gone;    /* the client left, or the server cancels */
    bool reported;
    /* the answer */
    bool ready, streams, ended;
    int status;
    const char *type;
    const char *header; /* one more; NULL: none */
    char header_value[48];
    hpc_buf out;
    size_t sent, sent_before; /* of out; and bytes that left it */
};

/* ---- requests (http_request.c): what the library calls ---- */
extern const hpc_httpd_calls http_calls;
void http_request_leave(hpc_http_request *r); /* its client left */
const char *http_type_of_error(int status);

/* ---- connections (http.c) ---- */
/* When the request that is received has to be complete. With the lock. */
int64_t http_receive_by(const hpc_http *h, const http_connection *c);
http_connection *http_connection_of(hpc_http *h, int fd); /* with the lock */
/* Answers a connection that the library never gets. Best effort: it does not wait. */
void http_turn_away(int fd, int status, const char *reason, const char *text);

/* ---- first words (http_first.c) ---- */
/* Gives a connection that waits to the library once its request begins with a method; answers
 * others with 400. True: it waited. */
bool http_first_look(hpc_http *h, uint64_t id, uint32_t events);

/* ---- admission (admit.c) ---- */
/* A status and *why, or 0. */
int http_admit(const char **why, const hpc_http *h, const hpc_httpd_exchange *x,
               const http_connection *c, const char *path);

#endif
