/*
 * shadow.h: interface between shadow.c and inputs.c.
 */
#ifndef HPC_TESTS_PRAGMA_SHADOW_H
#define HPC_TESTS_PRAGMA_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Missing in a program that another tool watches (inputs.c, watch). */
__attribute__((weak)) void shadow_start(int loop);
__attribute__((weak)) void shadow_print(int out);
void shadow_access(const void *at, size_t bytes, bool writes, uintptr_t pc);
bool shadow_on_stack(uintptr_t at);
void shadow_check(const void *at, size_t bytes); /* ends the run if the memory is not allocated */

#endif
