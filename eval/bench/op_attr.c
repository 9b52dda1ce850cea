/*
 * op_attr.c: attributes of an op from text, by the fields in its row of the op table. The shape
 * rule, not this file, rejects values that make no sense.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/bench/priv.h"

static void list_fields(char *out, size_t size, const hpc_op *op)
{
    size_t n = 0;
    snprintf(out, size, "none");
    for (const hpc_field *f = op->field; f && f->name && n < size; f++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", f == op->field ? "" : ", ", f->name);
}

static const hpc_field *find_field(const hpc_op *op, const char *name, size_t n)
{
    for (const hpc_field *f = op->field; f && f->name; f++)
        if (strlen(f->name) == n && memcmp(f->name, name, n) == 0) return f;
    return NULL;
}

static int misfit(const hpc_op *op, const hpc_field *f, const char *value, const char *wanted)
{
    return hpc_fail(HPC_E_ARG, "attribute %s of %s is '%s'; expected %s", f->name, op->sig.name,
                    value, wanted);
}

static int set_flag(void *at, const hpc_op *op, const hpc_field *f, const char *value)
{
    bool yes = strcmp(value, "true") == 0;
    if (!yes && strcmp(value, "false") != 0) return misfit(op, f, value, "true or false");
    *(bool *)at = yes;
    return HPC_OK;
}

static int set_name(void *at, const hpc_op *op, const hpc_field *f, const char *value)
{
    char known[160] = "one of";
    size_t n = strlen(known);
    for (int k = 0; f->names[k]; k++) {
        if (strcmp(f->names[k], value) == 0) {
            *(int *)at = k;
            return HPC_OK;
        }
        if (n < sizeof known)
            n += (size_t)snprintf(known + n, sizeof known - n, "%s %s", k ? "," : "", f->names[k]);
    }
    return misfit(op, f, value, known);
}

static int set_number(void *at, const hpc_op *op, const hpc_field *f, const char *value)
{
    char *end;
    errno = 0;
    if (f->kind == HPC_FIELD_REAL) {
        double x = strtod(value, &end);
        if (end == value || *end || errno) return misfit(op, f, value, "a number");
        *(double *)at = x;
        return HPC_OK;
    }
    long long n = strtoll(value, &end, 10);
    bool fits = f->kind == HPC_FIELD_I64 || (n >= INT32_MIN && n <= INT32_MAX);
    if (end == value || *end || errno || !fits) return misfit(op, f, value, "an integer");
    if (f->kind == HPC_FIELD_I64)
        *(int64_t *)at = n;
    else
        *(int *)at = (int)n;
    return HPC_OK;
}

int hpc_bench_attr_set(void *attr, const hpc_op *op, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : strlen(text);
    const hpc_field *f = find_field(op, text, n);
    if (!f) {
        char known[160];
        list_fields(known, sizeof known, op);
        return hpc_fail(HPC_E_ARG, "%s has no attribute '%.*s'; it has %s", op->sig.name, (int)n,
                        text, known);
    }
    void *at = (char *)attr + f->offset;
    if (f->kind == HPC_FIELD_BOOL) return set_flag(at, op, f, equals ? equals + 1 : "true");
    const char *value = equals ? equals + 1 : "";
    return f->kind == HPC_FIELD_NAME ? set_name(at, op, f, value) : set_number(at, op, f, value);
}

int hpc_bench_attr_texts(void *attr, const hpc_op *op, const char *words)
{
    char word[BENCH_TEXT];
    for (const char *at = words; at && *at;) {
        size_t n = strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        int rc = hpc_bench_attr_set(attr, op, word);
        if (rc < 0) return rc;
        at += n + strspn(at + n, " ");
    }
    return HPC_OK;
}
