/*
 * Events of a scan in all languages: how often they run, calls of MPI, and recursion.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "infer/perf/scan.h"

int perf_event_add(perf_scan *x, hpc_perf_event_kind kind, int64_t i)
{
    const hpc_token *t = perf_token(x, i);
    int32_t depth = x->open_n < PERF_DEPTH ? x->open_n : PERF_DEPTH;
    double times = 1;
    int rc = hpc_grow(&x->event, &x->events_cap, x->events_n + 1, sizeof *x->event);
    if (rc < 0) return rc;
    for (int32_t k = 0; k < x->open_n; k++) times *= x->region[x->open[k]].trips;
    for (int32_t k = 0; k < x->guards_n; k++) times *= x->guard[k].share;
    x->event[x->events_n++] = (hpc_perf_event){
        .line = t->line,
        .at = t->at,
        .n = t->n,
        .name = t->hash,
        .times = (float)fmin(times, 1e30),
        .kind = (uint8_t)kind,
        .depth = (uint8_t)depth,
        .inner = x->open_n > 0 && x->region[x->open[x->open_n - 1]].inner,
    };
    return HPC_OK;
}

static int message_kind(const char *name, size_t n)
{
    static const char *const cheap[] = {"MPI_Comm_", "MPI_Wtime", "MPI_Init", "MPI_Finalize",
                                        "MPI_Type_", "MPI_Abort", "MPI_Op_",  "MPI_Info_"};
    static const char *const all[] = {"Allreduce", "Reduce", "Bcast",     "Alltoall",
                                      "Allgather", "Gather", "Scatter",   "Barrier",
                                      "Scan",      "Exscan", "Iallreduce"};
    for (size_t k = 0; k < sizeof cheap / sizeof *cheap; k++) {
        size_t m = strlen(cheap[k]);
        if (n >= m && strncasecmp(name, cheap[k], m) == 0) return -1;
    }
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        size_t m = strlen(all[k]);
        if (n >= m + 4 && strncasecmp(name + 4, all[k], m) == 0) return HPC_PERF_COLLECTIVE;
    }
    return HPC_PERF_MESSAGE;
}

int perf_scan_message(const perf_scan *x, int64_t i)
{
    const hpc_token *t = perf_token(x, i);
    const char *name = x->s->text.data + t->at;
    if (t->n < 6 || strncasecmp(name, "MPI_", 4) != 0 || !PERF_IS(x, i + 1, "(")) return -1;
    return message_kind(name, t->n);
}

bool perf_scan_is_itself(const perf_scan *x, int64_t i)
{
    if (x->function < 0) return false;
    const hpc_function *f = &x->s->f.item[x->function];
    const hpc_token *t = perf_token(x, i);
    const char *text = x->s->text.data;
    if (x->fortran)
        return f->name_n == t->n && strncasecmp(text + f->name_at, text + t->at, t->n) == 0;
    return f->name_n == t->n && memcmp(text + f->name_at, text + t->at, t->n) == 0;
}
