/*
 * JSON-RPC messages over a pair of file descriptors, framed by Content-Length headers as in the
 * Language Server Protocol.
 */
#ifndef HPC_SERVE_RPC_H
#define HPC_SERVE_RPC_H

#include <pthread.h>

#include "runtime/base/base.h"

typedef struct hpc_rpc {
    int in, out; /* not closed by hpc_rpc_close */
    hpc_buf buffer;
    size_t at; /* bytes of it that have been read */
    pthread_mutex_t writing;
} hpc_rpc;

enum { HPC_RPC_BODY_MOST = 64 << 20, HPC_RPC_HEADER_MOST = 8192, HPC_RPC_DEPTH_MOST = 64 };

void hpc_rpc_open(hpc_rpc *r, int in, int out);
void hpc_rpc_close(hpc_rpc *r);
/* The next message into body. 1: there is one; 0: end of input between messages; HPC_E_FORMAT:
 * bad framing, after which the stream cannot be read on; HPC_E_IO. */
int hpc_rpc_read(hpc_buf *body, hpc_rpc *r);
/* Parses a message. HPC_E_FORMAT: it is not JSON, or nested too deep; then *out is NULL, and later
 * messages can be read. */
int hpc_rpc_parse(hpc_json **out, const hpc_buf *body);
/* One message. Threads may write concurrently. HPC_E_IO: the reader is gone. */
int hpc_rpc_write(hpc_rpc *r, const hpc_buf *body);

#endif
