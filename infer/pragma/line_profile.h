/*
 * line_profile.h: the time of source lines, as a profiler measured it, and the share of each loop.
 */
#ifndef HPC_PRAGMA_LINE_PROFILE_H
#define HPC_PRAGMA_LINE_PROFILE_H

#include "infer/pragma/pragma.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_line_time {
    const char *file; /* as the profiler names it */
    uint32_t line;
    double time; /* in any unit */
} hpc_line_time;
typedef struct hpc_line_profile {
    hpc_arena *arena;
    hpc_line_time *item;
    int64_t n, cap;
    double total;
} hpc_line_profile; /* initially zero */

/* Reads lines with a place FILE:LINE and a number, in any order: "heat.c:31 2.5", or the report of
 * perf by srcline, "42.10%  heat.c:31". Other lines are ignored. HPC_E_FORMAT: no line has this
 * form. Release is valid after a failure. */
int hpc_line_profile_read(hpc_line_profile *out, const char *path);
void hpc_line_profile_release(hpc_line_profile *p);
/* Sets the share of each loop of a file. */
void hpc_line_profile_rate(const hpc_line_profile *p, hpc_pragma_loops *l, const char *path);

#ifdef __cplusplus
}
#endif
#endif
