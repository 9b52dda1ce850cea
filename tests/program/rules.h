/*
 * rules.h: programs of one instruction, whose result types and errors are compared with texts.
 */
#ifndef HPC_TESTS_PROGRAM_RULES_H
#define HPC_TESTS_PROGRAM_RULES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "runtime/program/op/op.h"
#include "tests/support/expect.h"

#define EXTENTS(...)                                                                               \
    sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[])                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define REAL(p, ...)     input(p, HPC_F32, EXTENTS(__VA_ARGS__))
#define BF16(p, ...)     input(p, HPC_BF16, EXTENTS(__VA_ARGS__))
#define F64(p, ...)      input(p, HPC_F64, EXTENTS(__VA_ARGS__))
#define INDEX(p, ...)    input(p, HPC_I32, EXTENTS(__VA_ARGS__))
#define STATE(p, ...)    state(p, HPC_F32, EXTENTS(__VA_ARGS__))
#define SCALAR(p, dtype) input(p, dtype, 0, NULL)

static inline hpc_program *begin(void)
{
    hpc_error_clear();
    hpc_program *p = hpc_program_create();
    assert_non_null(p);
    assert_int_equal(hpc_program_segment(p, HPC_FORWARD, 0), 0);
    return p;
}

static inline hpc_value input(hpc_program *p, hpc_dtype dtype, size_t rank, const int64_t *extent)
{
    char name[16];
    snprintf(name, sizeof name, "i%lld", (long long)p->value_n);
    return hpc_program_input(p, name, hpc_type_of(dtype, (int)rank, extent));
}

static inline hpc_value state(hpc_program *p, hpc_dtype dtype, size_t rank, const int64_t *extent)
{
    char name[16];
    snprintf(name, sizeof name, "s%lld", (long long)p->value_n);
    return hpc_program_state(p, name, hpc_type_of(dtype, (int)rank, extent), false);
}

static inline hpc_value ragged(hpc_program *p, hpc_value v, int dim, hpc_value count)
{
    p->value[v].type = hpc_type_ragged(p->value[v].type, dim, count);
    return v;
}

static inline void makes(hpc_program *p, hpc_value v, const char *type)
{
    char text[128];
    if (hpc_program_status(p) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_true(v >= 0);
    assert_string_equal(hpc_type_text(text, &p->value[v].type), type);
}

/* Asserts the message after the position, and frees the program. */
static inline void refuses(hpc_program *p, int code, const char *text)
{
    assert_int_equal(hpc_program_status(p), code);
    const char *at = strstr(hpc_error_get()->text, "): ");
    assert_non_null(at);
    assert_string_equal(at + 3, text);
    hpc_error_clear();
    hpc_program_free(p);
}

static inline void ends(hpc_program *p)
{
    test_ok(hpc_program_check(p));
    hpc_program_free(p);
}

static inline hpc_value output(const hpc_program *p, int64_t insn, int k)
{
    return p->segment[0].insn[insn].operand[k];
}

#endif
