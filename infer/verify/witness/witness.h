/*
 * witness.h: interface for instrumented loops. It is inserted at the start of every file of a
 * program with watched loops. The program is compiled with ThreadSanitizer's instrumentation and
 * linked with runtime.c instead of the sanitizer's library; runtime.c receives every access.
 *
 *     {if (hpc_witness_enter(0, HPC_WITNESS_FRAME)) {HPC_WITNESS_OBJECT(0, SHARED, s); ...}
 *     for (...) {hpc_witness_iteration(0, HPC_WITNESS_FRAME, (long long)i); ...}
 *     hpc_witness_leave(0, HPC_WITNESS_FRAME);}
 *
 * Loops are numbered from 0, names from 0 in each loop. Their texts are not passed.
 */
#ifndef HPC_WITNESS_H
#define HPC_WITNESS_H
#ifndef __ASSEMBLER__

#ifdef __cplusplus
#define HPC_WITNESS_ADDRESS(x) __builtin_addressof(x)
extern "C" {
#else
#define HPC_WITNESS_ADDRESS(x) &(x)
#endif

enum {
    HPC_WITNESS_SHARED,  /* one object for all iterations */
    HPC_WITNESS_PRIVATE, /* one per iteration: only a value from another iteration is a conflict */
    HPC_WITNESS_IGNORED, /* a reduction, or the loop's own variable */
    HPC_WITNESS_BASE,    /* address of an array, which gives it a name */
    HPC_WITNESS_HIDDEN   /* an array of the function that the compiler does not instrument */
};

/* End of the function's frame: memory below it belongs to one iteration, except for named
 * objects. */
#define HPC_WITNESS_FRAME __builtin_dwarf_cfa()
#define HPC_WITNESS_OBJECT(name, kind, x)                                                          \
    hpc_witness_name(name, HPC_WITNESS_##kind, (const volatile void *)HPC_WITNESS_ADDRESS(x),      \
                     sizeof(x), 0)
/* On the stack, clang instruments only variables whose own address escapes, not elements of
 * arrays. */
#ifdef __clang__
#define HPC_WITNESS_ARRAY(name, kind, x)                                                           \
    hpc_witness_name(name, HPC_WITNESS_HIDDEN, (const volatile void *)HPC_WITNESS_ADDRESS(x), 0, 0)
#else
#define HPC_WITNESS_ARRAY HPC_WITNESS_OBJECT
#endif
#define HPC_WITNESS_SECTION(name, kind, p, n)                                                      \
    hpc_witness_name(name, HPC_WITNESS_##kind, (const volatile void *)(p),                         \
                     (unsigned long)(n) * sizeof *(p), 0)
#define HPC_WITNESS_POINTER(name, p)                                                               \
    hpc_witness_name(name, HPC_WITNESS_BASE, (const volatile void *)(p), 0, sizeof *(p))

/* True if this loop is watched from here on: it was requested, and no other loop is being
 * watched. */
int hpc_witness_enter(int loop, void *frame);
void hpc_witness_name(int name, int kind, const volatile void *at, unsigned long bytes,
                      unsigned long element);
void hpc_witness_iteration(int loop, void *frame, long long value);
void hpc_witness_leave(int loop, void *frame);

#ifdef __cplusplus
}
#endif
#endif
#endif
