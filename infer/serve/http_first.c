/*
 * The first word of a connection. The library closes a connection without an answer if its request
 * line has no blank, so the method is checked before the library gets the connection.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "infer/serve/http_priv.h"

enum { METHOD_MOST = 64 };

typedef enum first_word { WORD_PART, WORD_WHOLE, WORD_BAD } first_word;

static bool is_of_method(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c && strchr("-_.!#$%&'*+^`|~", c)) || (c >= '0' && c <= '9');
}

/* Empty lines before a request are ignored. */
static first_word judge(const char *text, size_t n)
{
    size_t from = 0;
    while (from < n && (text[from] == '\r' || text[from] == '\n')) from++;
    size_t at = from;
    while (at < n && is_of_method(text[at])) at++;
    if (at == n) return at < METHOD_MOST ? WORD_PART : WORD_BAD;
    return at > from && text[at] == ' ' ? WORD_WHOLE : WORD_BAD;
}

static bool find_waiting(http_connection *out, hpc_http *h, uint64_t id)
{
    bool found = false;
    pthread_mutex_lock(&h->lock);
    for (int k = 0; k < h->o.connections && !found; k++) {
        found = h->connection[k].id == id && h->connection[k].waits;
        if (found) *out = h->connection[k];
    }
    pthread_mutex_unlock(&h->lock);
    return found;
}

/* drop: it is free again. Else it belongs to the library. */
static void stop_waiting(hpc_http *h, int fd, bool drop)
{
    pthread_mutex_lock(&h->lock);
    http_connection *c = http_connection_of(h, fd);
    if (c && drop)
        *c = (http_connection){.fd = -1};
    else if (c)
        c->waits = false;
    pthread_mutex_unlock(&h->lock);
}

static void drop(hpc_http *h, int fd)
{
    stop_waiting(h, fd, true);
    close(fd);
}

static void hand_over(hpc_http *h, const http_connection *c)
{
    struct epoll_event e = {.events = EPOLLRDHUP | EPOLLET, .data.u64 = c->id};
    epoll_ctl(h->epoll, EPOLL_CTL_MOD, c->fd, &e);
    stop_waiting(h, c->fd, false);
    if (!h->library->add(h->daemon, c->fd, (const struct sockaddr *)&c->address, c->address_bytes))
        stop_waiting(h, c->fd, true); /* the library has closed it */
}

bool http_first_look(hpc_http *h, uint64_t id, uint32_t events)
{
    http_connection c;
    char text[METHOD_MOST];
    if (!find_waiting(&c, h, id)) return false;
    const ssize_t n = recv(c.fd, text, sizeof text, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n <= 0) {
        drop(h, c.fd);
        return true;
    }
    const first_word word = judge(text, (size_t)n);
    const bool ended = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    if (word == WORD_WHOLE) {
        hand_over(h, &c);
    } else if (word == WORD_BAD || ended) {
        http_turn_away(c.fd, 400, "Bad Request", "the request line is not HTTP");
        drop(h, c.fd);
    }
    return true;
}
