/*
 * The user at the other end of a connection: SO_PEERCRED of Unix sockets, and sock_diag(7) for
 * loopback connections, whose other end is a socket of this kernel.
 */
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "infer/serve/socket.h"

typedef struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
} question;

static void put_end(__be32 address[4], __be16 *port, const struct sockaddr_storage *a)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)a;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)a;
    if (a->ss_family == AF_INET) {
        memcpy(address, &v4->sin_addr, sizeof v4->sin_addr);
        *port = v4->sin_port;
    } else {
        memcpy(address, &v6->sin6_addr, sizeof v6->sin6_addr);
        memcpy(port, &v6->sin6_port, sizeof *port);
    }
}

/* The socket whose own end is `from` and whose other end is `to`. */
static question ask_for(const struct sockaddr_storage *from, const struct sockaddr_storage *to)
{
    question q = {.head = {.nlmsg_len = sizeof q,
                           .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                           .nlmsg_flags = NLM_F_REQUEST},
                  .body = {.sdiag_family = (uint8_t)from->ss_family,
                           .sdiag_protocol = IPPROTO_TCP,
                           .idiag_states = ~0u,
                           .id = {.idiag_cookie = {~0u, ~0u}}}};
    put_end(q.body.id.idiag_src, &q.body.id.idiag_sport, from);
    put_end(q.body.id.idiag_dst, &q.body.id.idiag_dport, to);
    return q;
}

static void ask_kernel(hpc_peer *out, const question *q)
{
    union {
        struct nlmsghdr head;
        char bytes[2048];
    } answer;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0) return;
    ssize_t n = send(fd, q, sizeof *q, 0) == sizeof *q ? recv(fd, &answer, sizeof answer, 0) : -1;
    close(fd);
    if (n < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) ||
        answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return;
    const struct inet_diag_msg *m = NLMSG_DATA(&answer.head);
    if (m->id.idiag_dport != q->body.id.idiag_dport) return; /* a listener on the same port */
    *out = (hpc_peer){.known = true, .uid = m->idiag_uid, .attached = m->idiag_inode != 0};
}

void hpc_peer_find(hpc_peer *out, int fd)
{
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t here_n = sizeof here, there_n = sizeof there;
    struct ucred c;
    socklen_t n = sizeof c;
    *out = (hpc_peer){0};
    if (getsockname(fd, (struct sockaddr *)&here, &here_n) < 0 ||
        getpeername(fd, (struct sockaddr *)&there, &there_n) < 0)
        return;
    if (here.ss_family == AF_UNIX) {
        out->known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n) == 0;
        out->uid = c.uid;
        out->attached = out->known;
        return;
    }
    const question q = ask_for(&there, &here);
    ask_kernel(out, &q);
}
