/*
 * served.h: a server of the protocols with the model that ships, and requests to it.
 */
#ifndef HPC_TESTS_SERVE_SERVED_H
#define HPC_TESTS_SERVE_SERVED_H

#include <stdlib.h>

#include "infer/serve/api.h"
#include "tests/serve/web.h"

#define PILOT  "share/pilot.gguf"
#define PREFIX "#include <stdio.h>\\nint sum(int n, const int *x)\\n{\\n    int s = 0;\\n"
#define SUFFIX "\\n    return s;\\n}\\n"

typedef struct fixture {
    web w;
    hpc_api *a;
    hpc_buf log;
    pthread_mutex_t lock;
    char reply[WEB_REPLY];
} fixture;

static inline void take_log(void *user, const char *line)
{
    fixture *f = user;
    pthread_mutex_lock(&f->lock);
    hpc_buf_printf(&f->log, "%s\n", line);
    pthread_mutex_unlock(&f->lock);
}

static inline bool is_logged(fixture *f, const char *text)
{
    pthread_mutex_lock(&f->lock);
    const bool found = f->log.data && strstr(f->log.data, text);
    pthread_mutex_unlock(&f->lock);
    return found;
}

/* Both the API and the log get `user`: handlers are wrapped. */
static inline void handle(void *user, hpc_http_request *r)
{
    hpc_api_handle(((fixture *)user)->a, r);
}

static inline void gone(void *user, hpc_http_request *r)
{
    hpc_api_gone(((fixture *)user)->a, r);
}

/* o: its model, scheduler and version are set here. */
static inline fixture *open_fixture_with(void **state, hpc_api_options o)
{
    fixture *f = calloc(1, sizeof *f);
    f->w.o = (hpc_http_options)HPC_HTTP_DEFAULTS;
    pthread_mutex_init(&f->lock, NULL);
    o.version = "test";
    o.model_name = "pilot";
    o.scheduler.engine = (hpc_engine_options){.model = PILOT,
                                              .threads = 1,
                                              .weights = HPC_DTYPE_N,
                                              .cache_tokens = 8192,
                                              .requests = 4,
                                              .guess = 11};
    test_ok(hpc_api_open(&f->a, &o));
    f->w.o.handle = handle;
    f->w.o.gone = gone;
    f->w.o.log = take_log;
    f->w.o.user = f;
    web_open(&f->w, *state);
    return f;
}

static inline fixture *open_fixture(void **state)
{
    return open_fixture_with(state, (hpc_api_options)HPC_API_DEFAULTS);
}

static inline void close_fixture(fixture *f)
{
    web_close(&f->w);
    hpc_api_close(f->a);
    hpc_buf_release(&f->log);
    free(f);
}

static inline const char *ask(fixture *f, int status, const char *line, const char *body)
{
    const int found = web_ask(f->reply, &f->w, line, body);
    if (found != status) print_message("%s\n", f->reply);
    assert_int_equal(found, status);
    const char *text = strstr(f->reply, "\r\n\r\n");
    assert_non_null(text);
    return text + 4;
}

/* A text of an answer; the caller frees it. */
static inline char *text_of(const char *json, const char *list, const char *key)
{
    hpc_json *root;
    const char *text;
    test_ok(hpc_json_parse(&root, json, strlen(json), "answer"));
    const hpc_json *o = list ? hpc_json_at(hpc_json_get(root, list), 0) : root;
    test_ok(hpc_json_text(&text, hpc_json_get(o, key), key));
    char *copy = strdup(text);
    hpc_json_free(root);
    return copy;
}

/* The texts of `data:` events together. */
static inline void join_events(char *out, const char *stream, const char *list, const char *key)
{
    out[0] = '\0';
    for (const char *at = stream; (at = strstr(at, "data: {"));) {
        const char *end = strstr(at, "\n\n");
        assert_non_null(end);
        hpc_json *root;
        const char *text = "";
        test_ok(hpc_json_parse(&root, at + 6, (size_t)(end - at - 6), "event"));
        const hpc_json *o = list ? hpc_json_at(hpc_json_get(root, list), 0) : root;
        if (hpc_json_kind_of(hpc_json_get(o, key)) == HPC_JSON_TEXT)
            test_ok(hpc_json_text(&text, hpc_json_get(o, key), key));
        strcat(out, text);
        hpc_json_free(root);
        at = end;
    }
}

/* A streamed answer; HTTP/1.0 has no chunks in between. */
static inline const char *ask_stream(fixture *f, const char *line, const char *body)
{
    char head[256];
    int fd = web_connect(&f->w);
    snprintf(head, sizeof head, "%s HTTP/1.0\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n",
             line, strlen(body));
    web_say(fd, head);
    web_say(fd, body);
    web_read(f->reply, fd, NULL);
    close(fd);
    return f->reply;
}

#endif
