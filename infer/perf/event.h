/*
 * event.h: operations of a function that affect its run time, by kind, line and loop depth.
 */
#ifndef HPC_PERF_EVENT_H
#define HPC_PERF_EVENT_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hpc_perf_event_kind {
    HPC_PERF_LOOP, /* for, while, do; the body of parallel_for and similar calls */
    HPC_PERF_SAME_BOUND,
    HPC_PERF_CALL,
    HPC_PERF_ALLOCATE,
    HPC_PERF_FREE,
    HPC_PERF_COPY,      /* of a block of memory */
    HPC_PERF_BY_VALUE,  /* of an object: a parameter, an element in a loop over a container */
    HPC_PERF_REFERENCE, /* the same by reference */
    HPC_PERF_IO,
    HPC_PERF_LOCK,
    HPC_PERF_ATOMIC,
    HPC_PERF_MATH,
    HPC_PERF_INDIRECT, /* std::function, virtual, dynamic_cast */
    HPC_PERF_INSERT,   /* into a container */
    HPC_PERF_LOOKUP,
    HPC_PERF_SCAN, /* linear in a string or container: strlen, find, erase */
    HPC_PERF_SORT,
    HPC_PERF_MESSAGE,
    HPC_PERF_COLLECTIVE,
    HPC_PERF_SYNCHRONISE,
    HPC_PERF_LAUNCH,
    HPC_PERF_DIVIDE,
    HPC_PERF_ARITHMETIC,
    HPC_PERF_LOAD,
    HPC_PERF_STORE,
    HPC_PERF_STRIDED, /* not contiguous in the innermost loop */
    HPC_PERF_GATHER,
    HPC_PERF_BRANCH,
    HPC_PERF_EXIT, /* return, break, goto; not `return` at the end of a function */
    HPC_PERF_RECURSE,
    HPC_PERF_THROW,
    HPC_PERF_WAIT,
    HPC_PERF_THREAD_INDEX, /* an array indexed by the number of a thread */
    HPC_PERF_PADDING,
    HPC_PERF_PARALLEL,
    HPC_PERF_WORKSHARE,
    HPC_PERF_SIMD,
    HPC_PERF_COLLAPSE,
    HPC_PERF_DYNAMIC,
    HPC_PERF_STATIC,
    HPC_PERF_REDUCTION,
    HPC_PERF_SERIAL, /* critical, ordered, single, master */
    HPC_PERF_TARGET,
    HPC_PERF_UNROLL,
    HPC_PERF_NOWAIT,
    HPC_PERF_DOUBLE,
    HPC_PERF_SINGLE,
    HPC_PERF_HALF,
    HPC_PERF_WIDE,
    HPC_PERF_NARROW,
    HPC_PERF_INTEGER,
    HPC_PERF_CONST,
    HPC_PERF_RESTRICT,
    HPC_PERF_INLINE,
    HPC_PERF_NOINLINE,
    HPC_PERF_VOLATILE,
    HPC_PERF_FLAG_O0, /* in build files */
    HPC_PERF_FLAG_O1,
    HPC_PERF_FLAG_O2,
    HPC_PERF_FLAG_O3,
    HPC_PERF_FLAG_DEBUG, /* a build type or macro */
    HPC_PERF_FLAG_RELEASE,
    HPC_PERF_FLAG_SYMBOLS, /* -g */
    HPC_PERF_FLAG_SANITIZE,
    HPC_PERF_FLAG_PROFILE,
    HPC_PERF_FLAG_NDEBUG,
    HPC_PERF_FLAG_MACHINE, /* -march, -mavx2, ... */
    HPC_PERF_FLAG_FAST_MATH,
    HPC_PERF_FLAG_OPENMP,
    HPC_PERF_FLAG_LTO,
    HPC_PERF_FLAG_SLOW, /* -fno-inline, -fno-vectorize, ... */
    HPC_PERF_EVENTS
} hpc_perf_event_kind;

typedef struct hpc_perf_event {
    uint32_t line, at, n; /* its word in the text */
    uint32_t name;        /* its hash */
    float times;          /* executions per call; loops without a known count run 64 times */
    uint8_t kind, depth;  /* number of enclosing loops */
    bool inner;           /* in an innermost loop */
    bool touched;         /* its word was added or removed */
} hpc_perf_event;

#ifdef __cplusplus
}
#endif
#endif
