/*
 * buf.c: a growing byte string.
 *
 * The capacity always includes one byte for the terminating NUL. Bytes can only be
 * appended, not inserted or removed.
 */
#include "runtime/base/base.h"

#include <stdio.h>
#include <string.h>

static int failure(hpc_buf *b, int code)
{
    b->failed = code;
    return code;
}

/* Room for n more bytes and the NUL. A text with a hole would be worse than a short one, so
 * after one failure every append fails. */
static int reserve(hpc_buf *b, size_t n)
{
    if (b->failed) return hpc_fail(b->failed, "an earlier part of this text could not be added");
    int64_t cap = (int64_t)b->cap;
    if (n > (size_t)PTRDIFF_MAX - 1 - b->n)
        return failure(
            b, hpc_fail(HPC_E_NOMEM, "out of memory for a text of %zu and %zu bytes", b->n, n));
    int rc = hpc_grow(&b->data, &cap, (int64_t)(b->n + n + 1), 1);
    if (rc < 0) return failure(b, rc);
    b->cap = (size_t)cap;
    return HPC_OK;
}

int hpc_buf_add(hpc_buf *b, const void *data, size_t n)
{
    int rc = reserve(b, n);
    if (rc < 0) return rc;
    if (n > 0) memcpy(b->data + b->n, data, n);
    b->n += n;
    b->data[b->n] = '\0';
    return HPC_OK;
}

int hpc_buf_text(hpc_buf *b, const char *text)
{
    return hpc_buf_add(b, text, strlen(text));
}

int hpc_buf_printf(hpc_buf *b, const char *format, ...)
{
    int rc = reserve(b, 0);
    if (rc < 0) return rc;
    size_t room = b->cap - b->n;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(b->data + b->n, room, format, args);
    va_end(args);
    if (n < 0) rc = failure(b, hpc_fail(HPC_E_ARG, "cannot format text by \"%s\"", format));
    if (n >= 0 && (size_t)n >= room) rc = reserve(b, (size_t)n);
    if (rc < 0) {
        b->data[b->n] = '\0';
        return rc;
    }
    if ((size_t)n >= room) {
        va_start(args, format);
        vsnprintf(b->data + b->n, (size_t)n + 1, format, args);
        va_end(args);
    }
    b->n += (size_t)n;
    return HPC_OK;
}

void hpc_buf_release(hpc_buf *b)
{
    hpc_free(b->data);
    *b = (hpc_buf){0};
}
