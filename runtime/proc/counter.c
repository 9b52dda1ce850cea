/*
 * counter.c: hardware and kernel event counters of a child process.
 *
 * The counter is opened, inherited, on the thread that forks. In its children it starts
 * at exec; their counts are added to it when they end.
 */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/proc/priv.h"

int proc_counter_open(hpc_counter c)
{
    struct perf_event_attr a;
    if (c == HPC_COUNTER_NONE) return -1;
    memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.type = c == HPC_COUNTER_FAULTS ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE;
    a.config = c == HPC_COUNTER_FAULTS ? (uint64_t)PERF_COUNT_SW_PAGE_FAULTS
                                       : (uint64_t)PERF_COUNT_HW_INSTRUCTIONS;
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    a.disabled = a.inherit = a.enable_on_exec = 1;
    a.exclude_kernel = a.exclude_hv = 1;
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
}

/* Where more is counted than the processor has counters for, each has its turn, and the rest is
 * taken to be like it. */
int64_t proc_counter_read(int fd)
{
    struct {
        uint64_t value, enabled, running;
    } got;
    if (fd < 0 || read(fd, &got, sizeof got) != (ssize_t)sizeof got || got.running == 0) return -1;
    if (got.running >= got.enabled) return (int64_t)got.value;
    return (int64_t)((double)got.value * ((double)got.enabled / (double)got.running));
}

bool hpc_proc_counts(hpc_counter c)
{
    int fd = proc_counter_open(c);
    if (fd < 0) return false;
    proc_close(&fd);
    return true;
}
