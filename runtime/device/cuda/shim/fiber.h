/*
 * fiber.h: stacks that switch among each other within one thread, known to the address sanitizer.
 */
#ifndef HPC_SHIM_FIBER_H
#define HPC_SHIM_FIBER_H

#include <stddef.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

typedef void shim_main(void *user);

struct shim_fiber {
    void *stack; /* NULL: of the thread itself */
    size_t bytes;
#if defined(__x86_64__)
    void *top; /* saved stack pointer */
#else
    ucontext_t context;
#endif
    void
        *fake; /* of the address sanitizer, which ends with the last switch: no local may be used */
    shim_fiber *from; /* that switched to this one */
    shim_main *run;
    void *user;
};

/* A stack, once; false: no memory. */
bool hpc_shim_fiber_init(shim_fiber *f);
void hpc_shim_fiber_release(shim_fiber *f);
/* The next switch to f calls run(user), which never returns. */
void hpc_shim_fiber_start(shim_fiber *f, shim_main *run, void *user);
/* last: the running fiber is not switched to again before it is started. */
void hpc_shim_fiber_switch(shim_fiber *from, shim_fiber *to, bool last);

#endif
