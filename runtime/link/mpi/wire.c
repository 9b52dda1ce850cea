/*
 * wire.c: the table of hpccoder-mpi.so over MPI: point-to-point messages as bytes, on a
 * separate communicator.
 *
 * The link uses no MPI collective, because MPI guarantees neither the order of a sum
 * nor the rounding of 16-bit types. MPI's collectives serve only as baselines.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(OPEN_MPI) && OPEN_MPI
#include <mpi-ext.h>
#endif

#include "runtime/link/mpi/wire.h"

_Static_assert(sizeof(MPI_Request) <= sizeof(hpc_wire_request), "a request fits");

typedef struct mpi_wire {
    MPI_Comm comm, measured; /* measured: of peer, so that its messages keep apart */
    bool started;            /* by us */
} mpi_wire;

static void say(void *self, int code, char out[HPC_WIRE_TEXT])
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    (void)self;
    if (MPI_Error_string(code, text, &n) != MPI_SUCCESS)
        snprintf(out, HPC_WIRE_TEXT, "error %d of MPI", code);
    else
        snprintf(out, HPC_WIRE_TEXT, "%.*s", HPC_WIRE_TEXT - 1, text);
}

/* ---- opening and closing --------------------------------------------------- */
static const char *level_name(int level)
{
    return level == MPI_THREAD_SINGLE       ? "SINGLE"
           : level == MPI_THREAD_FUNNELED   ? "FUNNELED"
           : level == MPI_THREAD_SERIALIZED ? "SERIALIZED"
                                            : "MULTIPLE";
}

static int start(mpi_wire *w, char why[HPC_WIRE_TEXT])
{
    int up = 0, down = 0, level = MPI_THREAD_SINGLE, rc;
    MPI_Initialized(&up);
    MPI_Finalized(&down);
    if (down) {
        snprintf(why, HPC_WIRE_TEXT, "MPI was finalized in this process and cannot start again");
        return MPI_ERR_OTHER;
    }
    rc = up ? MPI_Query_thread(&level) : MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    if (rc != MPI_SUCCESS) {
        say(w, rc, why);
        return rc;
    }
    w->started = !up;
    if (level >= MPI_THREAD_SERIALIZED) return MPI_SUCCESS;
    snprintf(why, HPC_WIRE_TEXT,
             "MPI gives threads the level %s, but SERIALIZED is needed: a thread of ours makes "
             "progress",
             level_name(level));
    return MPI_ERR_OTHER;
}

static void close_wire(void *self, bool orderly)
{
    mpi_wire *w = self;
    if (orderly && w->comm != MPI_COMM_NULL) MPI_Comm_free(&w->comm);
    if (orderly && w->measured != MPI_COMM_NULL) MPI_Comm_free(&w->measured);
    if (orderly && w->started) MPI_Finalize();
    free(w);
}

static void describe(hpc_wire_info *info, MPI_Comm comm)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = 0, found = 0, *most = NULL;
    MPI_Comm_rank(comm, &info->rank);
    MPI_Comm_size(comm, &info->size);
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &most, &found);
    info->tag_most = found ? *most : 32767; /* what the standard promises */
    MPI_Get_library_version(text, &n);
    text[strcspn(text, ",\n")] = '\0';
    snprintf(info->library, sizeof info->library, "%.*s", HPC_WIRE_TEXT - 1, text);
#if defined(MPIX_CUDA_AWARE_SUPPORT)
    info->device_pointers = MPIX_Query_cuda_support() == 1;
#endif
}

static int open_wire(void **self, hpc_wire_info *info, char why[HPC_WIRE_TEXT])
{
    mpi_wire *w = calloc(1, sizeof *w);
    if (!w) {
        snprintf(why, HPC_WIRE_TEXT, "out of memory");
        return MPI_ERR_NO_MEM;
    }
    w->comm = w->measured = MPI_COMM_NULL;
    *info = (hpc_wire_info){0};
    int rc = start(w, why);
    if (rc == MPI_SUCCESS) {
        rc = MPI_Comm_dup(MPI_COMM_WORLD, &w->comm);
        if (rc == MPI_SUCCESS) rc = MPI_Comm_dup(MPI_COMM_WORLD, &w->measured);
        if (rc == MPI_SUCCESS) rc = MPI_Comm_set_errhandler(w->comm, MPI_ERRORS_RETURN);
        if (rc == MPI_SUCCESS) rc = MPI_Comm_set_errhandler(w->measured, MPI_ERRORS_RETURN);
        if (rc != MPI_SUCCESS) say(w, rc, why);
    }
    if (rc != MPI_SUCCESS) {
        close_wire(w, w->started);
        return rc;
    }
    describe(info, w->comm);
    *self = w;
    return MPI_SUCCESS;
}

/* ---- messages -------------------------------------------------------------- */
static MPI_Request load(const hpc_wire_request *q)
{
    MPI_Request r;
    memcpy(&r, q, sizeof r);
    return r;
}

static void store(hpc_wire_request *q, MPI_Request r)
{
    memcpy(q, &r, sizeof r);
}

static int send(void *self, hpc_wire_request *q, const void *data, size_t bytes, int to, int tag)
{
    mpi_wire *w = self;
    MPI_Request r = MPI_REQUEST_NULL;
    int rc = MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, w->comm, &r);
    store(q, r);
    return rc;
}

static int receive(void *self, hpc_wire_request *q, void *data, size_t bytes, int from, int tag)
{
    mpi_wire *w = self;
    MPI_Request r = MPI_REQUEST_NULL;
    int rc = MPI_Irecv(data, (int)bytes, MPI_BYTE, from == HPC_WIRE_ANY ? MPI_ANY_SOURCE : from,
                       tag, w->comm, &r);
    store(q, r);
    return rc;
}

static int test(void *self, hpc_wire_request *q, bool *done)
{
    MPI_Request r = load(q);
    int flag = 0;
    (void)self;
    int rc = MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    store(q, r);
    *done = flag != 0;
    return rc;
}

static int cancel(void *self, hpc_wire_request *q)
{
    MPI_Request r = load(q);
    (void)self;
    return r == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Cancel(&r);
}

/* ---- for comparison -------------------------------------------------------- */
static int peer(void *self, hpc_wire_peer what, float *recv, const float *values, int n)
{
    mpi_wire *w = self;
    if (what == HPC_WIRE_SUM)
        return MPI_Allreduce(values, recv, n, MPI_FLOAT, MPI_SUM, w->measured);
    if (what == HPC_WIRE_GATHER)
        return MPI_Allgather(values, n, MPI_FLOAT, recv, n, MPI_FLOAT, w->measured);
    return MPI_Reduce_scatter_block(values, recv, n, MPI_FLOAT, MPI_SUM, w->measured);
}

extern __attribute__((visibility("default"))) const hpc_wire hpc_wire_mpi;
const hpc_wire hpc_wire_mpi = {
    .version = HPC_WIRE_VERSION,
    .open = open_wire,
    .send = send,
    .recv = receive,
    .test = test,
    .cancel = cancel,
    .peer = peer,
    .text = say,
    .close = close_wire,
};
