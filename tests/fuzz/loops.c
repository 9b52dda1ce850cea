/*
 * loops.c: fuzz target: any bytes as source code of every language: lexer, functions, loops,
 * directives and rendered samples.
 *
 * The first byte selects the language; the rest is the text.
 */
#include "tests/fuzz/loops_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const hpc_language languages[] = {HPC_LANGUAGE_C,    HPC_LANGUAGE_CPP,
                                             HPC_LANGUAGE_CUDA, HPC_LANGUAGE_FORTRAN,
                                             HPC_LANGUAGE_HIP,  HPC_LANGUAGE_FORTRAN};
    static const char *const paths[] = {"a.h", "a.inc", "a.f", "a.cpp", "Makefile"};
    if (n == 0) return 0;
    unsigned which = *data++ % 6;
    const char *text = (const char *)data;
    for (int k = 0; k < 5; k++) {
        hpc_language_of(paths[k], text, n - 1);
        hpc_language_fixed_form(paths[k], text, n - 1);
    }
    loops_check_all(text, n - 1, languages[which], which == 5);
    return 0;
}
