/*
 * witness.h: what an instrumented loop calls. It is put in front of every file of a program whose
 * serial loops are watched; the program is compiled with the thread sanitizer's instrumentation and
 * linked with runtime.c, which receives every access, in the place of the sanitizer's library.
 *
 *     {if (hpc_witness_enter(0, HPC_WITNESS_FRAME)) {HPC_WITNESS_OBJECT(0, SHARED, s); ...}
 *     for (...) {hpc_witness_iteration(0, HPC_WITNESS_FRAME, (long long)i); ...}
 *     hpc_witness_leave(0, HPC_WITNESS_FRAME);}
 *
 * Loops are numbered from 0, names from 0 in each loop; their texts stay with whoever inserted
 * them.
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
    HPC_WITNESS_SHARED,  /* one for all iterations */
    HPC_WITNESS_PRIVATE, /* one for each: only a value that comes from another iteration counts */
    HPC_WITNESS_IGNORED, /* a reduction, the loop's own variable */
    HPC_WITNESS_BASE,    /* where an array begins, for its name */
    HPC_WITNESS_HIDDEN   /* an array of the function that the compiler does not instrument */
};

/* Where the function's frame ends: all below is of one iteration, but for the objects named. */
#define HPC_WITNESS_FRAME __builtin_dwarf_cfa()
#define HPC_WITNESS_OBJECT(name, kind, x)                                                          \
    hpc_witness_name(name, HPC_WITNESS_##kind, (const volatile void *)HPC_WITNESS_ADDRESS(x),      \
                     sizeof(x), 0)
/* What clang instruments on the stack are variables whose own address is given away: elements of
 * arrays are not. */
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

/* Whether this loop is watched from here on: it is asked for, and no other is being watched. */
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
