/*
 * priv.h: the mock device: CPU kernels with memory that the host cannot access and
 * queues that run late.
 *
 * It reports rule violations as HPC_E_FAULT at the next fence, or crashes at once. It
 * detects a host dereference, a read of memory never written, and a value with memory
 * that now holds another one. It also detects a race between queues without a join,
 * outputs over inputs, and host buffers used before a fence.
 */
#ifndef HPC_MOCK_PRIV_H
#define HPC_MOCK_PRIV_H

#include "runtime/device/priv.h"

enum { GRANULE = HPC_ALIGN, ANY_VALUE = 0 };

/* What the mock knows of GRANULE bytes. Commands are numbered from 1 within their queue. */
typedef struct granule {
    uint32_t id; /* the value it holds, if `written` */
    bool written;
    uint8_t writer;            /* queue of the last write */
    int64_t write;             /* its number there; 0: before the last fence */
    int64_t read[HPC_QUEUE_N]; /* number of the last read since, by queue */
} granule;

typedef struct block { /* one allocation */
    uint8_t *device;   /* addresses without access */
    uint8_t *host;     /* the memory itself */
    size_t bytes;
    granule *granule;
} block;

typedef enum command_kind {
    COMMAND_LAUNCH,
    COMMAND_COPY,
    COMMAND_FILL,
    COMMAND_TRANSFER, /* of a link */
    COMMAND_RECORD,
    COMMAND_WAIT
} command_kind;

typedef struct command {
    command_kind kind;
    hpc_plan plan;
    size_t args; /* offset in args_store */
    void *workspace;
    const int32_t *guard;
    hpc_origin at;
    int event;
    int byte;  /* FILL */
    void *dst; /* COPY, FILL: already translated */
    const void *src;
    size_t bytes;
    int (*transfer)(void *user);
    void *user;
} command;

typedef struct queue {
    command *command;
    int64_t n, cap, at;
    int64_t number; /* commands ever enqueued */
    int64_t
        clock[HPC_QUEUE_N]; /* by queue: number of its commands that this queue is ordered after */
} queue;

typedef struct event {
    int64_t clock[HPC_QUEUE_N];
    bool reached;
    int64_t at; /* hpc_clock_ns, when it was reached */
} event;

typedef struct mock mock;
typedef struct mock_stream { /* what a link gets */
    mock *m;
    hpc_queue queue;
} mock_stream;

struct mock {
    hpc_device base;
    mock_stream stream[HPC_QUEUE_N];
    block *block;
    int64_t block_n, block_cap;
    queue queue[HPC_QUEUE_N];
    event *event;
    int64_t event_n, event_cap;
    bool recycle;  /* a fence has passed: the next event is number 0 */
    uint8_t *args; /* copies, for commands waiting */
    int64_t args_n, args_cap;
    hpc_barrier alone;
    void *own; /* what kernels have for themselves; the most that one asked for */
    size_t own_bytes;
    hpc_error fault; /* the first */
    hpc_fault noted; /* by kernels, in the device's record */
};

/* The block that holds [p, p+bytes), or NULL. */
block *hpc_mock_block(mock *m, const void *p, size_t bytes);
void *hpc_mock_host(mock *m, const void *p); /* NULL stays NULL */
/* Remembers the recorded error as the device's fault, if it is the first; clears the record. */
void hpc_mock_fault(mock *m);

/* check.c: rules, applied as commands are enqueued. q has its number already. */
int hpc_mock_check_launch(mock *m, hpc_queue q, const hpc_plan *p, const hpc_signature *s,
                          const void *args, const void *workspace, const int32_t *guard);
int hpc_mock_check_read(mock *m, hpc_queue q, const void *p, size_t bytes, uint32_t id,
                        const char *what);
int hpc_mock_check_write(mock *m, hpc_queue q, void *p, size_t bytes, uint32_t id,
                         const char *what);
void hpc_mock_forget_order(
    mock *m); /* after a fence everything is ordered after everything before it */

/* For links: enqueues transfer(user), which runs at a fence. It reads `send` and writes `recv`,
 * both in device memory and checked as a kernel's are; hpc_mock_host gives their addresses. */
typedef struct mock_transfer {
    const void *send;
    void *recv;
    size_t send_bytes, recv_bytes;
} mock_transfer;
int hpc_mock_transfer(mock_stream *s, const mock_transfer *list, int n, int (*run)(void *user),
                      void *user);

/* queue.c */
int hpc_mock_push(mock *m, hpc_queue q, const command *c);
int hpc_mock_run(mock *m);
void hpc_mock_drain(mock *m); /* runs all commands; a fault is kept for the fence */

#endif
