/*
 * Tests of `hpccoder serve` as a process: its addresses, its end, and its errors.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/serve/web.h"

typedef struct process {
    pid_t id;
    char program[PATH_MAX], path[PATH_MAX], line[PATH_MAX + 32];
} process;

/* Started, and listening. */
static void start_with(process *p, const hpc_test_folder *f, const char *template)
{
    int out[2];
    size_t n = 0;
    hpc_test_built(p->program, "hpccoder");
    hpc_test_path(p->path, f, "s");
    assert_int_equal(pipe(out), 0);
    p->id = fork();
    if (p->id == 0) {
        dup2(out[1], STDOUT_FILENO);
        close(out[0]);
        execl(p->program, p->program, "serve", "--unix", p->path, "-j", "1", "-q",
              template ? "--chat-template" : NULL, template, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    while (n + 1 < sizeof p->line && read(out[0], p->line + n, 1) == 1 && p->line[n] != '\n') n++;
    p->line[n] = '\0';
    close(out[0]);
}

static void start(process *p, const hpc_test_folder *f)
{
    start_with(p, f, NULL);
}

/* The exit status, or minus the signal. */
static int end(const process *p, int signal_number)
{
    int status;
    kill(p->id, signal_number);
    assert_int_equal(waitpid(p->id, &status, 0), p->id);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int health(const process *p)
{
    web w = {.h = NULL};
    char *reply = malloc(WEB_REPLY);
    strcpy(w.path, p->path);
    int status = web_ask(reply, &w, "GET /health", "");
    free(reply);
    return status;
}

static void killed_server_does_not_block_the_next(void **state)
{
    process p;
    char expected[PATH_MAX + 32];
    WEB_NEEDS_LIBRARY();
    start(&p, *state);
    snprintf(expected, sizeof expected, "listening on %s", p.path);
    assert_string_equal(p.line, expected);
    assert_int_equal(health(&p), 200);
    assert_int_equal(end(&p, SIGKILL), -SIGKILL);
    assert_true(hpc_file_exists(p.path));
    start(&p, *state);
    assert_int_equal(health(&p), 200);
    assert_int_equal(end(&p, SIGTERM), 0);
    assert_false(hpc_file_exists(p.path));
}

/* A stream that runs at the signal comes to its end. */
static void term_waits_for_running_requests(void **state)
{
    static const char body[] = "{\"prompt\":\"int main(\",\"n_predict\":600,\"ignore_eos\":true,"
                               "\"temperature\":0,\"stream\":true}";
    char head[256], *reply = malloc(WEB_REPLY), *rest = malloc(4 * WEB_REPLY);
    process p;
    web w = {.h = NULL};
    WEB_NEEDS_LIBRARY();
    start(&p, *state);
    strcpy(w.path, p.path);
    int fd = web_connect(&w);
    snprintf(head, sizeof head,
             "POST /completion HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
             "Content-Length: %zu\r\n\r\n",
             sizeof body - 1);
    web_say(fd, head);
    web_say(fd, body);
    web_read(reply, fd, "\"content\"");
    assert_int_equal(web_status(reply), 200);
    kill(p.id, SIGTERM);
    size_t n = 0; /* the last bytes are kept */
    for (ssize_t k; (k = recv(fd, rest + n, 2 * WEB_REPLY, 0)) > 0;) {
        n += (size_t)k;
        if (n < 2 * WEB_REPLY) continue;
        memmove(rest, rest + n - WEB_REPLY, WEB_REPLY);
        n = WEB_REPLY;
    }
    rest[n] = '\0';
    close(fd);
    assert_non_null(strstr(rest, "\"tokens_predicted\":600"));
    assert_non_null(strstr(rest, "\"stop\":true"));
    assert_int_equal(end(&p, 0), 0);
    assert_false(hpc_file_exists(p.path));
    free(reply);
    free(rest);
}

static void second_server_is_rejected_in_one_line(void **state)
{
    hpc_test_folder *f = *state;
    hpc_test_outcome *o = malloc(sizeof *o);
    process p;
    WEB_NEEDS_LIBRARY();
    start(&p, f);
    hpc_test_refuses(o, f->root, "serve --unix @s", "another server listens there");
    assert_int_equal(health(&p), 200);
    assert_int_equal(end(&p, SIGTERM), 0);
    free(o);
}

static void given_template_renders_chats(void **state)
{
    static const char text[] = "{% for m in messages %}<{{ m.content }}>{% endfor %}";
    char path[PATH_MAX];
    process p;
    web w = {.h = NULL};
    char *reply = malloc(WEB_REPLY);
    WEB_NEEDS_LIBRARY();
    test_ok(hpc_file_save(hpc_test_path(path, *state, "chat.jinja"), text, sizeof text - 1));
    start_with(&p, *state, path);
    strcpy(w.path, p.path);
    assert_int_equal(web_ask(reply, &w, "POST /apply-template",
                             "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}"),
                     200);
    assert_non_null(strstr(reply, "{\"prompt\":\"<a>\"}"));
    assert_int_equal(end(&p, SIGTERM), 0);
    free(reply);
}

static void wrong_options_are_rejected_in_one_line(void **state)
{
    hpc_test_folder *f = *state;
    hpc_test_outcome *o = malloc(sizeof *o);
    char path[PATH_MAX];
    WEB_NEEDS_LIBRARY();
    hpc_test_refuses(o, f->root, "serve --unix none", "--http");
    hpc_test_refuses(o, f->root, "serve --http 127.0.0.1:0x", "ADDR:PORT");
    hpc_test_refuses(o, f->root, "serve --http example.org:1", "numeric address");
    hpc_test_refuses(o, f->root, "serve --http 0.0.0.0:0", "--token-file");
    hpc_test_refuses(o, f->root, "serve --unix @none/s", "cannot create files in its folder");
    hpc_test_refuses(o, f->root, "serve --unix @s --model @none", "none");
    hpc_test_refuses(o, f->root, "serve --unix @s --disable all", "--disable all");
    hpc_test_refuses(o, f->root, "serve --unix @s --token-file @none", "--token-file");
    test_ok(hpc_file_save(hpc_test_path(path, f, "token"), "secret-token\n", 13));
    assert_int_equal(chmod(path, 0644), 0);
    hpc_test_refuses(o, f->root, "serve --unix @s --token-file @token", "chmod 600");
    hpc_test_refuses(o, f->root, "serve --unix @s --chat-template @none", "--chat-template");
    test_ok(hpc_file_save(hpc_test_path(path, f, "bad"), "{% if %}", 8));
    hpc_test_refuses(o, f->root, "serve --unix @s --chat-template @bad", "line 1");
    hpc_test_refuses(o, f->root, "serve --unix @bad", "not a socket of this user");
    assert_int_equal(hpc_test_entries(f->root), 2); /* no lock is left */
    free(o);
}

static void idle_server_exits(void **state)
{
    hpc_test_folder *f = *state;
    hpc_test_outcome *o = malloc(sizeof *o);
    WEB_NEEDS_LIBRARY();
    hpc_test_command_in(o, f->root, "serve --unix @s -j 1 --idle-exit 0.2");
    assert_int_equal(o->code, 0);
    assert_int_equal(hpc_test_entries(f->root), 0);
    free(o);
}

#define WITH_FOLDER(f)                                                                             \
    cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_FOLDER(killed_server_does_not_block_the_next),
                                       WITH_FOLDER(term_waits_for_running_requests),
                                       WITH_FOLDER(second_server_is_rejected_in_one_line),
                                       WITH_FOLDER(given_template_renders_chats),
                                       WITH_FOLDER(wrong_options_are_rejected_in_one_line),
                                       WITH_FOLDER(idle_server_exits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
