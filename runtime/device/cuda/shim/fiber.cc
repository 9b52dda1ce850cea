/*
 * fiber.cc: switching of stacks: on x86-64 by a few instructions, elsewhere by ucontext.
 */
#include "runtime/device/cuda/shim/fiber.h"

#include <stdint.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
enum { STACK_BYTES = 256 << 10 };
#else
enum { STACK_BYTES = 64 << 10 };
#endif

bool hpc_shim_fiber_init(shim_fiber *f)
{
    void *p = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    f->stack = p == MAP_FAILED ? nullptr : p;
    f->bytes = STACK_BYTES;
    f->fake = nullptr;
    return f->stack != nullptr;
}

void hpc_shim_fiber_release(shim_fiber *f)
{
    if (f->stack) munmap(f->stack, f->bytes);
    f->stack = nullptr;
}

/* The sanitizer is given the bounds of the stack that is left, which matters for the thread's own.
 */
static void arrived(shim_fiber *self)
{
#if defined(__SANITIZE_ADDRESS__)
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(self->fake, &bottom, &bytes);
    if (!self->from->stack) {
        self->from->user = (void *)(uintptr_t)bottom;
        self->from->bytes = bytes;
    }
#else
    (void)self;
#endif
}

#if defined(__x86_64__)
extern "C" void *hpc_shim_swap(void **save, void *load, void *value)
    __attribute__((visibility("hidden")));
__asm__(".text\n"
        ".hidden hpc_shim_swap\n"
        ".globl hpc_shim_swap\n"
        ".type hpc_shim_swap, @function\n"
        "hpc_shim_swap:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n"
        "    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    movq %rdx, %rax\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n"
        "    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size hpc_shim_swap, .-hpc_shim_swap\n"
        /* The first arrival: the value is the fiber, and the stack is aligned as before a call. */
        ".hidden hpc_shim_begin\n"
        ".globl hpc_shim_begin\n"
        "hpc_shim_begin:\n"
        "    movq %rax, %rdi\n"
        "    call hpc_shim_enter\n"
        "    ud2\n");
extern "C" void hpc_shim_begin(void) __attribute__((visibility("hidden")));

extern "C" __attribute__((visibility("hidden"), used)) void hpc_shim_enter(shim_fiber *self)
{
    arrived(self);
    self->run(self->user);
}

void hpc_shim_fiber_start(shim_fiber *f, shim_main *run, void *user)
{
    void **top = (void **)((char *)f->stack + f->bytes);
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(f->stack, f->bytes); /* frames that were never left */
#endif
    f->run = run;
    f->user = user;
    f->fake = nullptr;
    *--top = nullptr;
    *--top = nullptr;
    *--top = (void *)(uintptr_t)hpc_shim_begin;
    top -= 6;
    for (int k = 0; k < 6; k++) top[k] = nullptr;
    f->top = top;
}

static void swap(shim_fiber *from, shim_fiber *to)
{
    to->from = from;
    hpc_shim_swap(&from->top, to->top, to);
    arrived(from);
}
#else
static void enter(unsigned low, unsigned high)
{
    shim_fiber *self = (shim_fiber *)((uintptr_t)high << 16 << 16 | low);
    arrived(self);
    self->run(self->user);
}

void hpc_shim_fiber_start(shim_fiber *f, shim_main *run, void *user)
{
    const uintptr_t self = (uintptr_t)f;
    f->run = run;
    f->user = user;
    f->fake = nullptr;
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = f->bytes;
    f->context.uc_link = nullptr;
    makecontext(&f->context, (void (*)(void))enter, 2, (unsigned)self,
                (unsigned)(self >> 16 >> 16));
}

static void swap(shim_fiber *from, shim_fiber *to)
{
    to->from = from;
    swapcontext(&from->context, &to->context);
    arrived(from);
}
#endif

void hpc_shim_fiber_switch(shim_fiber *from, shim_fiber *to, bool last)
{
#if defined(__SANITIZE_ADDRESS__)
    const void *bottom = to->stack ? to->stack : to->user;
    __sanitizer_start_switch_fiber(last ? nullptr : &from->fake, bottom, to->bytes);
#else
    (void)last;
#endif
    swap(from, to);
}
