/*
 * analyzer.h: included before every file by clang-tidy only. It shows the analyzer, which sees one
 * file at a time, that hpc_fail returns its code, so that it skips paths on which a failed
 * function succeeds.
 */
#ifndef HPC_LINT_ANALYZER_H
#define HPC_LINT_ANALYZER_H

#include "runtime/base/base.h"

#undef hpc_fail
#undef hpc_fail_os
#define hpc_fail(code, ...) (hpc_error_set(__FILE__, __LINE__, (code), 0, __VA_ARGS__), (code))
#define hpc_fail_os(code, ...)                                                                     \
    (hpc_error_set(__FILE__, __LINE__, (code), errno, __VA_ARGS__), (code))

#endif
