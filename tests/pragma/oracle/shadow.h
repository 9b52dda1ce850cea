/*
 * shadow.h: between shadow.c and inputs.c.
 */
#ifndef HPC_TESTS_PRAGMA_SHADOW_H
#define HPC_TESTS_PRAGMA_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Absent in a program that others watch (inputs.c, watch). */
__attribute__((weak)) void shadow_start(int loop);
__attribute__((weak)) void shadow_print(int out);
void shadow_access(const void *at, size_t bytes, bool writes, uintptr_t pc);
bool shadow_on_stack(uintptr_t at);
void shadow_check(const void *at, size_t bytes); /* leaves the run if it is no one's memory */

#endif
