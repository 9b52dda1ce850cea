/*
 * clock.c: the monotonic clock, for progress and measurements. No computed result may
 * depend on it.
 */
#include "runtime/base/base.h"

#include <time.h>

int64_t hpc_clock_ns(void)
{
    struct timespec t;
    int rc = clock_gettime(CLOCK_MONOTONIC, &t);
    hpc_assert(rc == 0);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
