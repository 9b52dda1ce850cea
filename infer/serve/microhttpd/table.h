/*
 * A C table over libmicrohttpd, in a shared object of its own (hpccoder-microhttpd.so), so that
 * only `hpccoder serve` needs the library. It calls nothing of ours except the functions that it
 * is given.
 *
 * The library frames HTTP. The caller accepts connections and decides about requests.
 */
#ifndef HPC_SERVE_MICROHTTPD_TABLE_H
#define HPC_SERVE_MICROHTTPD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HPC_HTTPD_VERSION = 1, HPC_HTTPD_HEADERS = 8 };

typedef struct hpc_httpd hpc_httpd;                   /* the library's thread */
typedef struct hpc_httpd_exchange hpc_httpd_exchange; /* a request and its answer */

typedef struct hpc_httpd_header {
    const char *name, *value;
} hpc_httpd_header;

/* Results of `more` that are not a number of bytes. */
enum { HPC_HTTPD_WAIT = 0, HPC_HTTPD_END = -1, HPC_HTTPD_ABORT = -2 };

/* The library's thread calls these. None of them may block. */
typedef struct hpc_httpd_calls {
    /* A connection begins, or has ended and its descriptor will be closed. */
    void (*connection)(void *user, int fd, bool begins);
    /* The headers of a request are complete. Returns the request that the other functions get;
     * NULL drops the connection. It may answer. */
    void *(*begin)(void *user, hpc_httpd_exchange *x, const char *method, const char *path);
    void (*body)(void *request, const char *data, size_t n);
    /* The body is complete. It answers, or holds the exchange; after `wake` it is called again.
     * False drops the connection. */
    bool (*complete)(void *request);
    /* The next bytes of a streamed answer, or HPC_HTTPD_WAIT, END or ABORT. Before it returns WAIT
     * it holds the exchange. */
    ssize_t (*more)(void *request, char *to, size_t capacity);
    /* The last call for a request. */
    void (*ended)(void *request);
} hpc_httpd_calls;

typedef struct hpc_httpd_options {
    const hpc_httpd_calls *calls;
    void *user;
    unsigned connections;
    size_t header_bytes;   /* of a connection: more headers are answered with 431 */
    unsigned idle_seconds; /* a connection without traffic is closed after these */
} hpc_httpd_options;

typedef struct hpc_httpd_table {
    int version;                                    /* HPC_HTTPD_VERSION */
    hpc_httpd *(*open)(const hpc_httpd_options *o); /* NULL: it cannot start */
    /* No exchange may be on hold. */
    void (*close)(hpc_httpd *d);
    /* Serves an accepted connection and closes it in the end, also if this fails. */
    bool (*add)(hpc_httpd *d, int fd, const struct sockaddr *address, socklen_t bytes);
    int (*descriptor)(const hpc_httpd_exchange *x);
    const char *(*header)(const hpc_httpd_exchange *x, const char *name); /* NULL: absent */
    int (*header_count)(const hpc_httpd_exchange *x, const char *name);
    /* The whole answer, copied; or the start of one that `more` streams. The library's thread. */
    bool (*answer)(hpc_httpd_exchange *x, unsigned status, const hpc_httpd_header *header,
                   const void *data, size_t n);
    bool (*stream)(hpc_httpd_exchange *x, unsigned status, const hpc_httpd_header *header);
    void (*hold)(hpc_httpd_exchange *x); /* the library's thread */
    void (*wake)(hpc_httpd_exchange *x); /* any thread, once after each hold */
} hpc_httpd_table;

/* The one symbol of the shared object. */
#define HPC_HTTPD_SYMBOL "hpc_httpd_functions"
extern __attribute__((visibility("default"))) const hpc_httpd_table hpc_httpd_functions;

#ifdef __cplusplus
}
#endif
#endif
