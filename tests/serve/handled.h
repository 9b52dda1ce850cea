/*
 * handled.h: an HTTP server whose handler is in the test.
 */
#ifndef HPC_TESTS_SERVE_HANDLED_H
#define HPC_TESTS_SERVE_HANDLED_H

#include <stdlib.h>

#include "tests/serve/web.h"

/* /now is answered at once, /later when `release` is set, /stream in pieces until the client
 * leaves. */
typedef struct fixture {
    web w;
    pthread_mutex_t lock;
    pthread_cond_t change;
    hpc_http_request *waiting;
    int gone;
    char reply[WEB_REPLY];
} fixture;

static inline void handle(void *user, hpc_http_request *r)
{
    fixture *f = user;
    hpc_buf out = {0};
    if (strcmp(hpc_http_path(r), "/now") == 0) {
        hpc_buf_printf(&out, "%zu", hpc_http_body(r)->n);
        hpc_http_answer(r, 200, "text/plain", &out);
        hpc_buf_release(&out);
        return;
    }
    hpc_http_keep(r);
    if (strcmp(hpc_http_path(r), "/stream") == 0) {
        hpc_http_begin(r, "text/event-stream");
        hpc_http_add(r, "first", 5);
    }
    pthread_mutex_lock(&f->lock);
    f->waiting = r;
    pthread_cond_broadcast(&f->change);
    pthread_mutex_unlock(&f->lock);
}

static inline void gone(void *user, hpc_http_request *r)
{
    fixture *f = user;
    pthread_mutex_lock(&f->lock);
    assert_ptr_equal(r, f->waiting);
    f->gone++;
    pthread_cond_broadcast(&f->change);
    pthread_mutex_unlock(&f->lock);
}

static inline hpc_http_request *wait_for_request(fixture *f)
{
    pthread_mutex_lock(&f->lock);
    while (!f->waiting) pthread_cond_wait(&f->change, &f->lock);
    hpc_http_request *r = f->waiting;
    pthread_mutex_unlock(&f->lock);
    return r;
}

static inline void wait_until_gone(fixture *f)
{
    pthread_mutex_lock(&f->lock);
    while (f->gone == 0) pthread_cond_wait(&f->change, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

static inline fixture *open_fixture(void **state, hpc_http_options o)
{
    fixture *f = calloc(1, sizeof *f);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->change, NULL);
    o.handle = handle;
    o.gone = gone;
    o.user = f;
    f->w.o = o;
    web_open(&f->w, *state);
    return f;
}

static inline void close_fixture(fixture *f)
{
    if (f->waiting) {
        hpc_http_end(f->waiting);
        hpc_http_release(f->waiting);
    }
    web_close(&f->w);
    free(f);
}

static const hpc_http_options defaults = HPC_HTTP_DEFAULTS;
#define LOCAL "Host: localhost\r\n"

#define WITH_FOLDER(f)                                                                             \
    cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

#endif
