/*
 * cores.h: processors that the server may use.
 */
#ifndef HPC_SERVE_CORES_H
#define HPC_SERVE_CORES_H

#include "runtime/base/base.h"

/* What affinity and the CPU quota of the control group allow, at least 1. */
int serve_cores(void);
/* Processors that "QUOTA PERIOD", as in cpu.max, allows; 0: no limit. */
double serve_quota_of(const char *text);

#endif
