/*
 * Listening sockets of the server, and the user at the other end of a connection.
 */
#ifndef HPC_SERVE_SOCKET_H
#define HPC_SERVE_SOCKET_H

#include <limits.h>

#include "runtime/base/base.h"

typedef struct hpc_listener {
    int fd, lock; /* -1: none */
    bool local;   /* a Unix socket */
    bool loopback;
    int port;
    char path[PATH_MAX]; /* of a Unix socket; removed by hpc_listener_close */
} hpc_listener;
#define HPC_LISTENER_NONE                                                                          \
    {                                                                                              \
        .fd = -1, .lock = -1                                                                       \
    }

/* A Unix socket with mode 0600. A socket that a killed server left is replaced. HPC_E_ARG: another
 * server listens there, or the path is not a socket of this user. */
int hpc_listen_unix(hpc_listener *out, const char *path);
/* A TCP socket on a numeric address; port 0: any free port, which out->port names. */
int hpc_listen_tcp(hpc_listener *out, const char *address, int port);
void hpc_listener_close(hpc_listener *l);
/* "ADDR:PORT", "[ADDR]:PORT" or ":PORT" or "PORT" on 127.0.0.1. */
int hpc_address_parse(char address[64], int *port, const char *text);

/* ---- the other end ---- */
typedef struct hpc_peer {
    bool known;    /* the kernel knows the socket at the other end */
    unsigned uid;  /* of the process that opened it */
    bool attached; /* a process still has it open */
} hpc_peer;
/* Works for Unix sockets, and for loopback connections by sock_diag. Other peers are unknown. */
void hpc_peer_find(hpc_peer *out, int fd);

#endif
