/*
 * flang.h: the libraries of LLVM's flang as the function table of clang.h, which the program
 * hpccoder-flang (main.c) serves.
 *
 * Debian's libflang-19-dev has static libraries with a C++ interface only, so this folder is C++
 * and the program is about 110 MB. Like libclang, flang may crash on a malicious text, and runs in
 * a process that may be lost. Dumps of `flang-new -fc1` or of gfortran would need no library, but
 * their trees have no positions.
 */
#ifndef HPC_SOURCE_FLANG_FLANG_H
#define HPC_SOURCE_FLANG_FLANG_H

#include "runtime/source/clang/clang.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Texts other than the first are ignored. Flags: -I, -D, -ffixed-form, -ffree-form; others are
 * ignored. A module comes from the sources in the file's folder or in those of -I. */
extern const hpc_clang hpc_flang_table;

#ifdef __cplusplus
}
#endif
#endif
