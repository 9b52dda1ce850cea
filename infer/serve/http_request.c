/*
 * Requests of the HTTP server: from headers to the last byte of the answer. The library's thread
 * receives and sends; any thread may answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/serve/http_priv.h"

enum { OUT_MOST = 16 << 20, DISCARD_MOST = 64 << 20 };

/* ---- references ----------------------------------------------------------------------------- */

void hpc_http_keep(hpc_http_request *r)
{
    __atomic_add_fetch(&r->references, 1, __ATOMIC_RELAXED);
}

void hpc_http_release(hpc_http_request *r)
{
    if (__atomic_sub_fetch(&r->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    hpc_buf_release(&r->body);
    hpc_buf_release(&r->out);
    pthread_mutex_destroy(&r->lock);
    hpc_free(r);
}

const char *hpc_http_method(const hpc_http_request *r)
{
    return r->method;
}

const char *hpc_http_path(const hpc_http_request *r)
{
    return r->path;
}

const hpc_buf *hpc_http_body(const hpc_http_request *r)
{
    return &r->body;
}

uint64_t hpc_http_client(const hpc_http_request *r)
{
    return r->connection;
}

bool hpc_http_is_gone(hpc_http_request *r)
{
    return __atomic_load_n(&r->gone, __ATOMIC_ACQUIRE);
}

void hpc_http_label(hpc_http_request *r, const char *label)
{
    r->label = label;
}

void hpc_http_set_user(hpc_http_request *r, void *user)
{
    __atomic_store_n(&r->user, user, __ATOMIC_RELEASE);
}

void *hpc_http_user(hpc_http_request *r)
{
    return __atomic_load_n(&r->user, __ATOMIC_ACQUIRE);
}

/* ---- answers; any thread -------------------------------------------------------------------- */

/* With the request's lock. */
static void wake(hpc_http_request *r)
{
    if (!r->held) return;
    r->held = false;
    r->h->library->wake(r->x);
}

void hpc_http_header(hpc_http_request *r, const char *name, const char *value)
{
    pthread_mutex_lock(&r->lock);
    r->header = name;
    snprintf(r->header_value, sizeof r->header_value, "%s", value);
    pthread_mutex_unlock(&r->lock);
}

void hpc_http_answer(hpc_http_request *r, int status, const char *type, const hpc_buf *body)
{
    pthread_mutex_lock(&r->lock);
    if (!r->ready && !r->streams) {
        r->status = status;
        r->type = type;
        if (body && body->n > 0) hpc_buf_add(&r->out, body->data, body->n);
        if (r->out.failed < 0 || (body && body->failed < 0)) r->status = 500;
        r->ready = r->ended = true;
        wake(r);
    }
    pthread_mutex_unlock(&r->lock);
}

void hpc_http_begin(hpc_http_request *r, const char *type)
{
    pthread_mutex_lock(&r->lock);
    if (!r->ready && !r->streams) {
        r->status = 200;
        r->type = type;
        r->streams = true;
        wake(r);
    }
    pthread_mutex_unlock(&r->lock);
}

/* A client that does not read its answer counts as gone. */
void hpc_http_add(hpc_http_request *r, const void *data, size_t n)
{
    pthread_mutex_lock(&r->lock);
    if (!r->gone) hpc_buf_add(&r->out, data, n);
    if (r->out.failed < 0 || r->out.n - r->sent > OUT_MOST)
        __atomic_store_n(&r->gone, true, __ATOMIC_RELEASE);
    wake(r);
    pthread_mutex_unlock(&r->lock);
}

void hpc_http_end(hpc_http_request *r)
{
    pthread_mutex_lock(&r->lock);
    r->ended = true;
    wake(r);
    pthread_mutex_unlock(&r->lock);
}

const char *http_type_of_error(int status)
{
    switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 409: return "conflict_error";
    case 500: return "server_error";
    case 501: return "not_supported_error";
    case 503: return "unavailable_error";
    default: return "invalid_request_error";
    }
}

void hpc_http_error(hpc_http_request *r, int status, const char *text)
{
    hpc_buf out = {0};
    hpc_json_out w = {.buf = &out};
    hpc_json_open(&w, NULL, '{');
    hpc_json_open(&w, "error", '{');
    hpc_json_put_int(&w, "code", status);
    hpc_json_put_text(&w, "message", text);
    hpc_json_put_text(&w, "type", http_type_of_error(status));
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    pthread_mutex_lock(&r->lock);
    const bool streams = r->streams, events = streams && strcmp(r->type, HPC_HTTP_EVENTS) == 0;
    pthread_mutex_unlock(&r->lock);
    if (streams && out.failed >= 0) {
        hpc_buf last = {0};
        hpc_buf_printf(&last, events ? "data: %s\n\n" : "%s\n", out.data);
        if (last.failed >= 0) hpc_http_add(r, last.data, last.n); /* as one chunk */
        hpc_buf_release(&last);
        hpc_http_end(r);
    } else {
        hpc_http_answer(r, status, HPC_HTTP_JSON, &out);
    }
    hpc_buf_release(&out);
}

/* ---- receiving; the library's thread -------------------------------------------------------- */

static void reject(hpc_http_request *r, int status, const char *why)
{
    if (r->reject != 0) return;
    r->reject = status;
    r->why = why;
    hpc_buf_release(&r->body);
}

/* Without the connection's lock: it is of this thread until `connection` ends it. */
static void admit(hpc_http_request *r, const http_connection *c)
{
    const hpc_http *h = r->h;
    const char *why, *length = h->library->header(r->x, "Content-Length");
    const int status = http_admit(&why, h, r->x, c, r->path);
    if (__atomic_load_n(&h->draining, __ATOMIC_ACQUIRE)) reject(r, 503, "the server is stopping");
    if (status != 0) reject(r, status, why);
    if (length && strtoull(length, NULL, 10) > h->o.body_bytes)
        reject(r, 413, "the request is too large");
}

static bool answer_now(hpc_http_request *r);

/* A client that asks first gets its error before it sends a body, and so does one with a body that
 * is too long to be read and dropped. */
static bool is_answered_early(const hpc_http_request *r)
{
    const hpc_http *h = r->h;
    const char *length = h->library->header(r->x, "Content-Length");
    return h->library->header(r->x, "Expect") ||
           (length && strtoull(length, NULL, 10) > DISCARD_MOST);
}

static void *begin(void *user, hpc_httpd_exchange *x, const char *method, const char *path)
{
    hpc_http *h = user;
    hpc_http_request *r = hpc_alloc(1, sizeof *r);
    http_connection c = {.id = 0};
    if (!r) {
        hpc_error_clear();
        return NULL;
    }
    *r = (hpc_http_request){.h = h, .references = 1, .x = x, .label = "other"};
    pthread_mutex_init(&r->lock, NULL);
    r->start_ns = hpc_clock_ns();
    snprintf(r->method, sizeof r->method, "%s", method);
    snprintf(r->path, sizeof r->path, "%s", path);
    pthread_mutex_lock(&h->lock);
    http_connection *own = http_connection_of(h, h->library->descriptor(x));
    if (own) {
        own->request = r;
        own->begun = true;
        own->receive_by_ns = http_receive_by(h, own);
        c = *own;
    }
    h->active++;
    pthread_mutex_unlock(&h->lock);
    r->connection = c.id;
    admit(r, &c);
    if (strlen(method) >= sizeof r->method) reject(r, 405, "the method is not served");
    if (strlen(path) >= sizeof r->path)
        reject(r, 404, "unknown path; docs/serving.md lists the paths");
    if (r->reject != 0 && is_answered_early(r)) answer_now(r);
    return r;
}

static void body(void *request, const char *data, size_t n)
{
    hpc_http_request *r = request;
    if (r->reject != 0) return;
    if (r->body.n + n > r->h->o.body_bytes)
        reject(r, 413, "the request is too large");
    else if (hpc_buf_add(&r->body, data, n) < 0)
        reject(r, 503, "the server is out of memory");
    hpc_error_clear();
}

/* ---- sending; the library's thread ---------------------------------------------------------- */

/* Without the request's lock, which the library's reader takes under its own. The answer is
 * complete, or has begun: its headers stay. */
static bool send_answer(hpc_http_request *r)
{
    hpc_httpd_header header[HPC_HTTPD_HEADERS] = {{"Content-Type", r->type},
                                                  {"Cache-Control", "no-store"},
                                                  {"X-Content-Type-Options", "nosniff"}};
    int n = 3;
    if (r->status == 503) header[n++] = (hpc_httpd_header){"Retry-After", "1"};
    if (r->status == 401) header[n++] = (hpc_httpd_header){"WWW-Authenticate", "Bearer"};
    if (r->header) header[n++] = (hpc_httpd_header){r->header, r->header_value};
    if (r->streams) return r->h->library->stream(r->x, (unsigned)r->status, header);
    r->sent = r->out.n;
    return r->h->library->answer(r->x, (unsigned)r->status, header, r->out.data, r->out.n);
}

static bool answer_now(hpc_http_request *r)
{
    hpc_http_error(r, r->reject, r->why);
    return send_answer(r);
}

static void received(hpc_http_request *r)
{
    hpc_http *h = r->h;
    pthread_mutex_lock(&h->lock);
    http_connection *c = http_connection_of(h, h->library->descriptor(r->x));
    if (c) c->receive_by_ns = 0;
    pthread_mutex_unlock(&h->lock);
    r->handled = true;
    if (r->reject != 0)
        hpc_http_error(r, r->reject, r->why);
    else
        h->o.handle(h->o.user, r);
}

static bool complete(void *request)
{
    hpc_http_request *r = request;
    if (!r->handled) received(r);
    pthread_mutex_lock(&r->lock);
    const bool alive = !r->gone, answered = r->ready || r->streams;
    if (alive && !answered) {
        r->held = true;
        r->h->library->hold(r->x);
    }
    pthread_mutex_unlock(&r->lock);
    return alive && answered ? send_answer(r) : alive;
}

static ssize_t more(void *request, char *to, size_t capacity)
{
    hpc_http_request *r = request;
    ssize_t n = HPC_HTTPD_WAIT;
    pthread_mutex_lock(&r->lock);
    if (r->gone) {
        n = HPC_HTTPD_ABORT;
    } else if (r->out.n > r->sent) {
        n = (ssize_t)(r->out.n - r->sent < capacity ? r->out.n - r->sent : capacity);
        memcpy(to, r->out.data + r->sent, (size_t)n);
        r->sent += (size_t)n;
        if (r->sent == r->out.n) {
            r->sent_before += r->sent;
            r->sent = r->out.n = 0;
        }
    } else if (r->ended) {
        n = HPC_HTTPD_END;
    } else {
        r->held = true;
        r->h->library->hold(r->x);
    }
    pthread_mutex_unlock(&r->lock);
    return n;
}

/* ---- its end -------------------------------------------------------------------------------- */

/* Reports once that the client left, if the answer is still computed. */
static void report_leave(hpc_http_request *r)
{
    pthread_mutex_lock(&r->lock);
    const bool report = r->handled && r->reject == 0 && !r->reported && !r->ended;
    r->reported = r->reported || report;
    __atomic_store_n(&r->gone, true, __ATOMIC_RELEASE);
    if (r->x) wake(r);
    pthread_mutex_unlock(&r->lock);
    if (report) r->h->o.gone(r->h->o.user, r);
}

void http_request_leave(hpc_http_request *r)
{
    report_leave(r);
}

/* Sizes, times and a hash of the connection: nothing that the client wrote. */
static void write_log(hpc_http_request *r)
{
    const hpc_http *h = r->h;
    const uint64_t id = hpc_hash(&r->connection, sizeof r->connection, h->seed);
    char line[256];
    if (!h->o.log) return;
    pthread_mutex_lock(&r->lock);
    snprintf(line, sizeof line, "%08x %s %d received=%zu sent=%zu ms=%.1f%s",
             (unsigned)(id & 0xffffffffu), r->label, r->status, r->body.n, r->sent_before + r->sent,
             (double)(hpc_clock_ns() - r->start_ns) * 1e-6, r->ended ? "" : " client-left");
    pthread_mutex_unlock(&r->lock);
    h->o.log(h->o.user, line);
}

static void ended(void *request)
{
    hpc_http_request *r = request;
    hpc_http *h = r->h;
    pthread_mutex_lock(&r->lock);
    r->held = false;
    pthread_mutex_unlock(&r->lock);
    write_log(r);
    pthread_mutex_lock(&h->lock);
    for (int k = 0; k < h->o.connections; k++) {
        http_connection *c = &h->connection[k];
        if (c->request != r) continue;
        c->request = NULL;
        if (c->half) c->receive_by_ns = http_receive_by(h, c);
    }
    pthread_mutex_unlock(&h->lock);
    pthread_mutex_lock(&r->lock);
    r->x = NULL;
    pthread_mutex_unlock(&r->lock);
    report_leave(r);
    pthread_mutex_lock(&h->lock);
    h->active--;
    h->quiet_ns = hpc_clock_ns();
    pthread_mutex_unlock(&h->lock);
    hpc_http_release(r);
}

static void connection(void *user, int fd, bool begins)
{
    hpc_http *h = user;
    if (begins) return;
    pthread_mutex_lock(&h->lock);
    http_connection *c = http_connection_of(h, fd);
    if (c) *c = (http_connection){.fd = -1};
    pthread_mutex_unlock(&h->lock);
}

const hpc_httpd_calls http_calls = {.connection = connection,
                                    .begin = begin,
                                    .body = body,
                                    .complete = complete,
                                    .more = more,
                                    .ended = ended};
