/*
 * Framing of JSON-RPC messages: headers, limits, and writes that other threads do not split.
 */
#include "infer/serve/rpc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

void hpc_rpc_open(hpc_rpc *r, int in, int out)
{
    *r = (hpc_rpc){.in = in, .out = out};
    pthread_mutex_init(&r->writing, NULL);
}

void hpc_rpc_close(hpc_rpc *r)
{
    hpc_buf_release(&r->buffer);
    pthread_mutex_destroy(&r->writing);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* More bytes; 0: the end of input. */
static int fill(hpc_rpc *r)
{
    char block[1 << 16];
    ssize_t n;
    if (r->at > 0) {
        memmove(r->buffer.data, r->buffer.data + r->at, r->buffer.n - r->at);
        r->buffer.n -= r->at;
        r->at = 0;
    }
    do n = read(r->in, block, sizeof block);
    while (n < 0 && errno == EINTR);
    if (n < 0) return hpc_fail_os(HPC_E_IO, "cannot read a message");
    if (n == 0) return 0;
    int rc = hpc_buf_add(&r->buffer, block, (size_t)n);
    return rc < 0 ? rc : 1;
}

/* Bytes of the headers with the blank line; 0: there is no end yet. */
static size_t header_length(const hpc_rpc *r)
{
    const char *p = r->buffer.data ? r->buffer.data + r->at : "";
    size_t n = r->buffer.n - r->at;
    const char *end = n >= 4 ? memmem(p, n, "\r\n\r\n", 4) : NULL;
    return end ? (size_t)(end - p) + 4 : 0;
}

static int content_length(size_t *out, const char *p, size_t n)
{
    static const char name[] = "Content-Length:";
    bool found = false;
    for (const char *line = p, *end = p + n - 2; line < end;) {
        const char *stop = memmem(line, (size_t)(p + n - line), "\r\n", 2);
        if ((size_t)(stop - line) >= sizeof name - 1 &&
            strncasecmp(line, name, sizeof name - 1) == 0) {
            char *rest;
            unsigned long long value = strtoull(line + sizeof name - 1, &rest, 10);
            while (*rest == ' ') rest++;
            if (rest != stop || found || value > HPC_RPC_BODY_MOST)
                return hpc_fail(HPC_E_FORMAT, "bad Content-Length \"%.*s\" (at most %d)",
                                (int)(stop - line), line, HPC_RPC_BODY_MOST);
            *out = (size_t)value;
            found = true;
        }
        line = stop + 2;
    }
    return found ? HPC_OK : hpc_fail(HPC_E_FORMAT, "a message has no Content-Length header");
}

int hpc_rpc_read(hpc_buf *body, hpc_rpc *r)
{
    size_t head, length = 0;
    int rc;
    body->n = 0;
    while ((head = header_length(r)) == 0) {
        if (r->buffer.n - r->at > HPC_RPC_HEADER_MOST)
            return hpc_fail(HPC_E_FORMAT, "the headers of a message exceed %d bytes",
                            HPC_RPC_HEADER_MOST);
        rc = fill(r);
        if (rc < 0) return rc;
        if (rc == 0 && r->buffer.n == r->at) return 0;
        if (rc == 0) return hpc_fail(HPC_E_FORMAT, "the input ends within a message's headers");
    }
    rc = content_length(&length, r->buffer.data + r->at, head);
    if (rc < 0) return rc;
    while (r->buffer.n - r->at < head + length) {
        rc = fill(r);
        if (rc < 0) return rc;
        if (rc == 0) return hpc_fail(HPC_E_FORMAT, "the input ends within a message");
    }
    rc = hpc_buf_add(body, r->buffer.data + r->at + head, length);
    r->at += head + length;
    return rc < 0 ? rc : 1;
}

/* Brackets that are open at once at most, strings left out. */
static int64_t depth_of(const hpc_buf *body)
{
    int64_t depth = 0, most = 0;
    bool quoted = false;
    for (size_t k = 0; k < body->n; k++) {
        char c = body->data[k];
        if (quoted && c == '\\')
            k++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '['))
            most = ++depth > most ? depth : most;
        else if (!quoted && (c == '}' || c == ']'))
            depth--;
    }
    return most;
}

int hpc_rpc_parse(hpc_json **out, const hpc_buf *body)
{
    *out = NULL;
    if (depth_of(body) > HPC_RPC_DEPTH_MOST)
        return hpc_fail(HPC_E_FORMAT, "a message is nested more than %d deep", HPC_RPC_DEPTH_MOST);
    return hpc_json_parse(out, body->n > 0 ? body->data : "", body->n, "JSON");
}

/* ---- writing -------------------------------------------------------------------------------- */

static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return hpc_fail_os(HPC_E_IO, "cannot write a message");
        p += k;
        n -= (size_t)k;
    }
    return HPC_OK;
}

int hpc_rpc_write(hpc_rpc *r, const hpc_buf *body)
{
    hpc_buf all = {0};
    int rc;
    TRY(hpc_buf_printf(&all, "Content-Length: %zu\r\n\r\n", body->n));
    TRY(hpc_buf_add(&all, body->data, body->n));
    pthread_mutex_lock(&r->writing);
    rc = write_all(r->out, all.data, all.n);
    pthread_mutex_unlock(&r->writing);
out:
    hpc_buf_release(&all);
    return rc;
}
