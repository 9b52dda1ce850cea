/*
 * check.h: for tests of code checks: a checker for this build, files with a gap, and good and bad
 * fillings.
 */
#ifndef HPC_TESTS_SOURCE_CHECK_H
#define HPC_TESTS_SOURCE_CHECK_H

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/source/check.h"
#include "tests/support/command.h"

#define OK(expr)                                                                                   \
    do {                                                                                           \
        if ((expr) < 0) fail_msg("%s: %s", #expr, hpc_error_get()->text);                          \
    } while (0)

static inline bool is_built(void)
{
    char path[PATH_MAX];
    return hpc_file_exists(hpc_test_built(path, "hpccoder-clang"));
}

#define NEED_LIBRARY                                                                               \
    do {                                                                                           \
        if (!is_built()) {                                                                         \
            print_message("SKIP: hpccoder-clang was not built (libclang-19-dev)\n");               \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

#define NEED_FLANG                                                                                 \
    do {                                                                                           \
        char flang[PATH_MAX];                                                                      \
        if (!is_built() || !hpc_file_exists(hpc_test_built(flang, "hpccoder-flang"))) {            \
            print_message("SKIP: hpccoder-flang was not built (libflang-19-dev, llvm-19-dev)\n");  \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

enum { PATIENCE = 300 }; /* seconds; generous, for a busy machine */

static inline hpc_checker *open_checker(double seconds)
{
    char program[PATH_MAX], fortran[PATH_MAX];
    hpc_checker_options o = HPC_CHECKER_DEFAULTS;
    hpc_checker *c;
    o.program = hpc_test_built(program, "hpccoder-clang");
    o.fortran = hpc_test_built(fortran, "hpccoder-flang");
    o.open_seconds = PATIENCE;
    o.check_seconds = seconds > 0 ? seconds : PATIENCE;
    OK(hpc_checker_open(&c, &o));
    return c;
}

/* A file with '@' at its gap. */
static inline hpc_check_file *open_flags(hpc_checker *c, hpc_language l, const char *text,
                                         const hpc_check_flags *flags)
{
    static const char *const names[HPC_LANGUAGE_N] = {[HPC_LANGUAGE_C] = "here.c",
                                                      [HPC_LANGUAGE_CPP] = "here.cpp",
                                                      [HPC_LANGUAGE_CUDA] = "here.cu",
                                                      [HPC_LANGUAGE_HIP] = "here.hip"};
    hpc_check_file *f;
    const char *gap = strchr(text, '@');
    assert_non_null(gap);
    const size_t lo = (size_t)(gap - text);
    OK(hpc_check_file_open(&f, c,
                           &(hpc_check_source){.path = names[l],
                                               .text = text,
                                               .n = strlen(text),
                                               .lo = lo,
                                               .hi = lo + 1,
                                               .language = l,
                                               .flags = flags}));
    return f;
}

static inline hpc_check_file *open_text(hpc_checker *c, hpc_language l, const char *text)
{
    return open_flags(c, l, text, NULL);
}

static inline hpc_check check(hpc_check_file *f, const char *candidate)
{
    hpc_check out;
    OK(hpc_check_text(&out, f, candidate, strlen(candidate)));
    return out;
}

static inline void good(hpc_check_file *f, const char *candidate)
{
    hpc_check out = check(f, candidate);
    if (out.verdict != HPC_CHECK_GOOD)
        fail_msg("\"%s\" is refused: %u:%u: %s", candidate, out.line, out.column, out.text);
    assert_string_equal(out.text, "");
    assert_int_equal(out.parse, 0);
}

static inline hpc_check bad(hpc_check_file *f, const char *candidate, const char *message)
{
    hpc_check out = check(f, candidate);
    if (out.verdict != HPC_CHECK_BAD) fail_msg("\"%s\" is not refused", candidate);
    if (!strstr(out.text, message))
        fail_msg("\"%s\": \"%s\" does not say: %s", candidate, out.text, message);
    return out;
}

#endif
