/*
 * client.h: a client of the language server in the same process; the server runs in a thread on
 * pipes.
 */
#ifndef HPC_TESTS_SERVE_CLIENT_H
#define HPC_TESTS_SERVE_CLIENT_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "infer/serve/lsp.h"
#include "infer/serve/rpc.h"
#include "tests/support/expect.h"

typedef struct lsp_client {
    hpc_lsp_options o;
    int ends[4]; /* server reads 0, client writes 1; client reads 2, server writes 3 */
    hpc_rpc rpc;
    pthread_t thread;
    int code;
    hpc_buf body;
    int notes;       /* notifications received */
    char note[4096]; /* the last one */
} lsp_client;

static inline void *serve(void *user)
{
    lsp_client *c = user;
    c->code = hpc_lsp_serve(&c->o);
    close(c->ends[3]);
    return NULL;
}

static inline void client_open(lsp_client *c, const hpc_lsp_options *o)
{
    *c = (lsp_client){.o = *o};
    assert_int_equal(pipe(c->ends), 0);
    assert_int_equal(pipe(c->ends + 2), 0);
    c->o.in = c->ends[0];
    c->o.out = c->ends[3];
    c->o.version = "test";
    hpc_rpc_open(&c->rpc, c->ends[2], c->ends[1]);
    assert_int_equal(pthread_create(&c->thread, NULL, serve, c), 0);
}

static inline void client_send(lsp_client *c, const char *message)
{
    hpc_buf b = {0};
    hpc_buf_text(&b, message);
    test_ok(hpc_rpc_write(&c->rpc, &b));
    hpc_buf_release(&b);
}

/* Receives the next response, which the caller frees; counts notifications before it. */
static inline hpc_json *client_answer(lsp_client *c)
{
    hpc_json *root;
    for (;;) {
        assert_int_equal(hpc_rpc_read(&c->body, &c->rpc), 1);
        test_ok(hpc_rpc_parse(&root, &c->body));
        if (!hpc_json_get(root, "method")) return root;
        c->notes++;
        snprintf(c->note, sizeof c->note, "%.*s", (int)c->body.n, c->body.data);
        hpc_json_free(root);
    }
}

/* Receives up to the next notification or request with that method, which the caller frees. Answers
 * before it are dropped. */
static inline hpc_json *client_await(lsp_client *c, const char *method)
{
    hpc_json *root;
    const char *name;
    for (;;) {
        assert_int_equal(hpc_rpc_read(&c->body, &c->rpc), 1);
        test_ok(hpc_rpc_parse(&root, &c->body));
        const hpc_json *v = hpc_json_get(root, "method");
        if (v && hpc_json_text(&name, v, "method") >= 0 && strcmp(name, method) == 0) return root;
        hpc_json_free(root);
    }
}

/* Sends a request and returns its response as text, valid until the next call. */
static inline const char *client_ask(lsp_client *c, const char *message)
{
    client_send(c, message);
    hpc_json_free(client_answer(c));
    return c->body.data;
}

/* options: the client's initializationOptions, a JSON value. */
static inline void client_begin_with(lsp_client *c, const char *capabilities, const char *options)
{
    char text[1024];
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
             "\"capabilities\":%s,\"initializationOptions\":%s}}",
             capabilities, options);
    assert_non_null(strstr(client_ask(c, text), "\"capabilities\""));
    client_send(c, "{\"jsonrpc\":\"2.0\",\"method\":\"initialized\",\"params\":{}}");
}

static inline void client_begin(lsp_client *c, const char *capabilities)
{
    client_begin_with(c, capabilities, "null");
}

static inline void client_open_document(lsp_client *c, const char *uri, const char *text)
{
    hpc_buf b = {0};
    hpc_json_out w = {.buf = &b};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "jsonrpc", "2.0");
    hpc_json_put_text(&w, "method", "textDocument/didOpen");
    hpc_json_open(&w, "params", '{');
    hpc_json_open(&w, "textDocument", '{');
    hpc_json_put_text(&w, "uri", uri);
    hpc_json_put_int(&w, "version", 1);
    hpc_json_put_text(&w, "text", text);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    client_send(c, b.data);
    hpc_buf_release(&b);
}

/* Closes the client; returns the server's return value. */
static inline int client_close(lsp_client *c)
{
    close(c->ends[1]);
    pthread_join(c->thread, NULL);
    close(c->ends[0]);
    close(c->ends[2]);
    hpc_rpc_close(&c->rpc);
    hpc_buf_release(&c->body);
    return c->code;
}

#endif
