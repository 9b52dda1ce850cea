/*
 * check_wire.c: the messages between the checker and the libclang process, byte for byte. A message
 * is its length followed by its bytes. Either side may disappear at any moment. Messages from the
 * process are untrusted, because libclang has parsed untrusted text in it: all lengths are checked.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "runtime/source/check_priv.h"

enum { MESSAGE_MOST = 256 << 20, PART_BYTES = 1 << 16 };

/* ---- numbers and bytes ---------------------------------------------------------------------- */

void check_put(hpc_buf *b, uint64_t value)
{
    hpc_buf_add(b, &value, sizeof value); /* both are the same program */
}

void check_put_bytes(hpc_buf *b, const void *data, size_t n)
{
    check_put(b, n);
    hpc_buf_add(b, data, n);
    hpc_buf_add(b, "", 1);
}

uint64_t check_get(check_reader *r)
{
    uint64_t value = 0;
    if (r->failed || (size_t)(r->end - r->at) < sizeof value) {
        r->failed = true;
        return 0;
    }
    memcpy(&value, r->at, sizeof value);
    r->at += sizeof value;
    return value;
}

const char *check_get_bytes(check_reader *r, size_t *n)
{
    uint64_t length = check_get(r);
    *n = 0;
    if (r->failed || length >= (size_t)(r->end - r->at) || r->at[length] != '\0') {
        r->failed = true;
        return "";
    }
    const char *data = (const char *)r->at;
    r->at += length + 1;
    *n = (size_t)length;
    return data;
}

/* ---- issues --------------------------------------------------------------------------------- */

void check_issues_release(check_issues *s)
{
    hpc_free(s->item);
    hpc_buf_release(&s->text);
    *s = (check_issues){0};
}

void check_put_issues(hpc_buf *b, const check_issues *s)
{
    check_put(b, s->cut);
    check_put(b, (uint64_t)s->n);
    for (int64_t i = 0; i < s->n; i++) {
        const check_issue *k = &s->item[i];
        check_put(b, k->flags);
        check_put(b, k->line);
        check_put(b, k->column);
        check_put(b, k->at);
        check_put_bytes(b, s->text.data + k->text_at, k->text_n);
        check_put_bytes(b, s->text.data + k->header_at, k->header_n);
        check_put(b, k->header_line);
    }
}

static int get_text(uint32_t *at, uint32_t *n, hpc_buf *out, check_reader *r)
{
    size_t bytes;
    const char *text = check_get_bytes(r, &bytes);
    *at = (uint32_t)out->n;
    *n = (uint32_t)(bytes > CHECK_MESSAGE_MOST ? CHECK_MESSAGE_MOST : bytes);
    return hpc_buf_add(out, text, *n);
}

static int get_issue(check_issues *out, check_reader *r)
{
    int rc;
    check_issue *k = &out->item[out->n];
    k->flags = (uint32_t)check_get(r);
    k->line = (uint32_t)check_get(r);
    k->column = (uint32_t)check_get(r);
    k->at = (uint32_t)check_get(r);
    TRY(get_text(&k->text_at, &k->text_n, &out->text, r));
    TRY(get_text(&k->header_at, &k->header_n, &out->text, r));
    k->header_line = (uint32_t)check_get(r);
    if (!r->failed) out->n++;
out:
    return rc;
}

int check_get_issues(check_issues *out, check_reader *r)
{
    int rc = HPC_OK;
    out->n = 0;
    out->text.n = 0;
    out->cut = check_get(r) != 0;
    uint64_t n = check_get(r);
    if (n > CHECK_ISSUES_MOST) r->failed = true;
    for (uint64_t i = 0; i < n && !r->failed; i++) {
        TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
        TRY(get_issue(out, r));
    }
    if (r->failed) rc = hpc_fail(HPC_E_FORMAT, "the process of libclang sent an invalid answer");
out:
    return rc;
}

/* ---- messages ------------------------------------------------------------------------------- */

/* 0 when the socket is ready, else 1. */
static int wait_for(int fd, short what, int64_t until)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = what};
        int64_t left = until ? (until - hpc_clock_ns()) / 1000000 + 1 : -1;
        if (until && left <= 0) return 1;
        int n = poll(&p, 1, left > 1 << 30 ? 1 << 30 : (int)left);
        if (n > 0) return 0;
        if (n < 0 && errno != EINTR) return 1;
    }
}

/* True if the call is to be repeated. */
static bool again(void)
{
    return errno == EINTR || errno == EAGAIN;
}

static int send_all(int fd, const void *data, size_t n, int64_t until)
{
    for (const char *p = data; n > 0;) {
        if (wait_for(fd, POLLOUT, until)) return 1;
        ssize_t done = send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && !again()) return 1;
        if (done < 0) continue;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

static int receive_all(int fd, void *data, size_t n, int64_t until)
{
    for (char *p = data; n > 0;) {
        if (wait_for(fd, POLLIN, until)) return 1;
        ssize_t done = recv(fd, p, n, MSG_DONTWAIT);
        if (done == 0 || (done < 0 && !again())) return 1;
        if (done < 0) continue;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

int check_send(int fd, const hpc_buf *b, int64_t until)
{
    if (b->failed) return b->failed;
    if (b->n > MESSAGE_MOST) return hpc_fail(HPC_E_ARG, "%zu bytes are too many to check", b->n);
    uint64_t n = b->n;
    return send_all(fd, &n, sizeof n, until) || send_all(fd, b->data, b->n, until);
}

int check_receive(hpc_buf *b, int fd, int64_t until)
{
    char part[PART_BYTES];
    uint64_t n;
    int rc = HPC_OK;
    b->n = 0;
    if (receive_all(fd, &n, sizeof n, until)) return 1;
    if (n > MESSAGE_MOST) return 1;
    while (b->n < n) {
        size_t left = (size_t)n - b->n, take = left < sizeof part ? left : sizeof part;
        if (receive_all(fd, part, take, until)) return 1;
        TRY(hpc_buf_add(b, part, take));
    }
out:
    return rc;
}
