/*
 * device_link.h: a link for the memory of mock devices, for tests. Like NCCL's it issues
 * operations in the device's queues, groups messages until it is flushed, and depends on the
 * caller for all order; the mock reports accesses without order.
 */
#ifndef HPC_TESTS_SUPPORT_DEVICE_LINK_H
#define HPC_TESTS_SUPPORT_DEVICE_LINK_H

#include "runtime/link/link.h"

/* `host` is borrowed; it carries the data. */
int hpc_test_device_link(hpc_link **out, hpc_link *host);

#endif
