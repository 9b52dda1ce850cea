/*
 * error.c: the error record of each thread, and the report of broken contracts.
 *
 * It never allocates, so that it can report HPC_E_NOMEM. Control characters in file
 * names and keys are replaced, so that every message stays on one line. It prints
 * broken contracts only.
 */
#include "runtime/base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local hpc_error record;

/* Copies what fits and ends in "..." what does not; control characters become spaces. */
static void put_line(char *out, size_t cap, const char *text)
{
    size_t n = strlen(text), kept = n < cap ? n : cap - 1;
    for (size_t i = 0; i < kept; i++) {
        unsigned char c = (unsigned char)text[i];
        out[i] = c < 0x20 || c == 0x7f ? ' ' : (char)c;
    }
    out[kept] = '\0';
    if (kept == n || cap < 4) return;
    size_t cut = kept - 3;
    /* A UTF-8 character is dropped whole: step back over its continuation bytes. */
    while (cut > 0 && ((unsigned char)out[cut] & 0xc0) == 0x80) cut--;
    memcpy(out + cut, "...", 4);
}

static void format_line(char *out, size_t cap, const char *format, va_list args)
{
    char text[2 * sizeof record.text];
    if (vsnprintf(text, sizeof text, format, args) < 0) put_line(text, sizeof text, format);
    put_line(out, cap, text);
}

int hpc_error_set(const char *file, int line, int code, int os, const char *format, ...)
{
    hpc_assert(code < 0);
    if (record.code != HPC_OK) return code;

    char reason[128] = "", unknown[64];
    if (os != 0) {
        const char *text = strerror_r(os, unknown, sizeof unknown);
        snprintf(reason, sizeof reason, ": %s", text);
    }
    size_t room = sizeof record.text - strlen(reason);
    va_list args;
    va_start(args, format);
    format_line(record.text, room, format, args);
    va_end(args);
    strcat(record.text, reason);
    record.code = code;
    record.os = os;
    record.line = line;
    record.file = file;
    return code;
}

int hpc_error_where(const char *format, ...)
{
    if (record.code == HPC_OK) return HPC_OK;
    char prefix[sizeof record.text], whole[2 * sizeof record.text + 2];
    va_list args;
    va_start(args, format);
    format_line(prefix, sizeof prefix, format, args);
    va_end(args);
    snprintf(whole, sizeof whole, "%s: %s", prefix, record.text);
    put_line(record.text, sizeof record.text, whole);
    return record.code;
}

const hpc_error *hpc_error_get(void)
{
    return &record;
}

void hpc_error_clear(void)
{
    record = (hpc_error){0};
}

int hpc_error_adopt(const hpc_error *from)
{
    int code = from->code;
    if (record.code == HPC_OK) record = *from;
    return code;
}

const char *hpc_error_name(int code)
{
    switch (code) {
    case HPC_OK: return "no error";
    case HPC_E_ARG: return "bad usage";
    case HPC_E_FORMAT: return "bad format";
    case HPC_E_SHAPE: return "bad shape";
    case HPC_E_UNSUPPORTED: return "unsupported";
    case HPC_E_NOMEM: return "out of memory";
    case HPC_E_IO: return "input or output failed";
    case HPC_E_STATE: return "called out of order";
    case HPC_E_FAULT: return "device rule broken";
    case HPC_E_ABORTED: return "aborted";
    default: return "unknown error";
    }
}

void hpc_assert_failed(const char *cond, const char *file, int line)
{
    fprintf(stderr, "%s:%d: broken contract: %s\n", file, line, cond);
    abort();
}
