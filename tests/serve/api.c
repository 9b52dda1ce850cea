/*
 * Tests of the protocols of the server, with the model that ships and plain sockets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "infer/serve/api.h"
#include "tests/serve/web.h"

#define PILOT  "pilot/pilot.gguf"
#define PREFIX "#include <stdio.h>\\nint sum(int n, const int *x)\\n{\\n    int s = 0;\\n"
#define SUFFIX "\\n    return s;\\n}\\n"

typedef struct fixture {
    web w;
    hpc_api *a;
    hpc_buf log;
    pthread_mutex_t lock;
    char reply[WEB_REPLY];
} fixture;

static void take_log(void *user, const char *line)
{
    fixture *f = user;
    pthread_mutex_lock(&f->lock);
    hpc_buf_printf(&f->log, "%s\n", line);
    pthread_mutex_unlock(&f->lock);
}

/* Both the API and the log get `user`: handlers are wrapped. */
static void handle(void *user, hpc_http_request *r)
{
    hpc_api_handle(((fixture *)user)->a, r);
}

static void gone(void *user, hpc_http_request *r)
{
    hpc_api_gone(((fixture *)user)->a, r);
}

static fixture *open_fixture(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    hpc_api_options o = HPC_API_DEFAULTS;
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

static void close_fixture(fixture *f)
{
    web_close(&f->w);
    hpc_api_close(f->a);
    hpc_buf_release(&f->log);
    free(f);
}

static const char *ask(fixture *f, int status, const char *line, const char *body)
{
    const int found = web_ask(f->reply, &f->w, line, body);
    if (found != status) print_message("%s\n", f->reply);
    assert_int_equal(found, status);
    const char *text = strstr(f->reply, "\r\n\r\n");
    assert_non_null(text);
    return text + 4;
}

/* A text of an answer; the caller frees it. */
static char *text_of(const char *json, const char *list, const char *key)
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

/* ---- llama.cpp ------------------------------------------------------------------------------ */

static void infill_answers_as_llama_vim_expects(void **state)
{
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    const char *text =
        ask(f, 200, "POST /infill",
            "{\"id_slot\":0,\"input_prefix\":\"" PREFIX "\",\"input_suffix\":\"" SUFFIX
            "\",\"input_extra\":[{\"text\":\"int a;\",\"time\":1,\"filename\":\"a.c\"}],"
            "\"prompt\":\"    for (int i\",\"n_predict\":16,\"stop\":[],\"n_indent\":4,"
            "\"top_k\":40,\"top_p\":0.9,\"samplers\":[\"top_k\",\"top_p\",\"infill\"],"
            "\"stream\":false,\"cache_prompt\":true,\"t_max_prompt_ms\":500,"
            "\"t_max_predict_ms\":1000,\"response_fields\":[\"content\",\"timings/prompt_n\","
            "\"timings/predicted_per_second\",\"truncated\",\"tokens_cached\"]}");
    assert_int_equal(strncmp(text, "{\"content\":\"", 12), 0); /* the plugin's first check */
    assert_null(strchr(text, '\n'));
    assert_non_null(strstr(text, "\"timings/prompt_n\":"));
    assert_non_null(strstr(text, "\"timings/predicted_per_second\":"));
    assert_non_null(strstr(text, "\"truncated\":false"));
    assert_non_null(strstr(text, "\"tokens_cached\":"));
    assert_null(strstr(text, "\"stop\""));
    text = ask(f, 200, "POST /infill",
               "{\"input_prefix\":\"\",\"input_suffix\":\"\",\"prompt\":\"\",\"n_predict\":0,"
               "\"samplers\":[],\"input_extra\":[{\"text\":\"int a;\"}],"
               "\"response_fields\":[\"\"]}");
    assert_string_equal(text, "{}");
    close_fixture(f);
}

static void infill_ends_at_a_stop_string(void **state)
{
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    char *whole = text_of(ask(f, 200, "POST /infill",
                              "{\"input_prefix\":\"" PREFIX "\",\"input_suffix\":\"" SUFFIX
                              "\",\"prompt\":\"    for (int i\",\"n_predict\":64}"),
                          NULL, "content");
    char *cut = text_of(ask(f, 200, "POST /infill",
                            "{\"input_prefix\":\"" PREFIX "\",\"input_suffix\":\"" SUFFIX
                            "\",\"prompt\":\"    for (int i\",\"n_predict\":64,\"stop\":[\";\"]}"),
                        NULL, "content");
    assert_non_null(strchr(whole, ';'));
    assert_int_equal(strlen(cut), strchr(whole, ';') - whole);
    assert_int_equal(strncmp(cut, whole, strlen(cut)), 0);
    free(whole);
    free(cut);
    close_fixture(f);
}

static void rejects_invalid_requests(void **state)
{
    static const char *const bodies[] = {
        "{",
        "[]",
        "{\"input_prefix\":1}",
        "{\"input_extra\":\"a\"}",
        "{\"input_extra\":[1]}",
        "{\"input_extra\":[{\"filename\":\"a.c\"}]}",
        "{\"input_extra\":[{\"text\":\"a\",\"filename\":1}]}",
        "{\"input_prefix\":\"\\u0000\"}",
        "{\"input_prefix\":\"\xff\"}",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["};
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++)
        assert_non_null(strstr(ask(f, 400, "POST /infill", bodies[k]), "\"message\""));
    ask(f, 400, "POST /completion", "{\"n_predict\":1}");
    ask(f, 400, "POST /completion", "{\"prompt\":[99999999]}");
    ask(f, 404, "GET /none", "");
    ask(f, 405, "GET /infill", "");
    close_fixture(f);
}

static void tokens_and_text_give_the_same_completion(void **state)
{
    WEB_NEEDS_LIBRARY();
    char body[4096];
    fixture *f = open_fixture(state);
    char *text = text_of(ask(f, 200, "POST /completion",
                             "{\"prompt\":\"int main(\",\"n_predict\":8,\"temperature\":0}"),
                         NULL, "content");
    const char *tokens =
        ask(f, 200, "POST /tokenize", "{\"content\":\"int main(\",\"add_special\":true}");
    assert_non_null(strstr(tokens, "{\"tokens\":["));
    snprintf(body, sizeof body, "{\"prompt\":%.*s,\"n_predict\":8,\"temperature\":0}",
             (int)strlen(tokens) - 11, tokens + 10);
    char *same = text_of(ask(f, 200, "POST /completion", body), NULL, "content");
    assert_string_equal(text, same);
    free(text);
    free(same);
    ask(f, 400, "POST /detokenize", "{\"tokens\":[-1]}");
    close_fixture(f);
}

/* ---- streams -------------------------------------------------------------------------------- */

/* The texts of `data:` events together. */
static void join_events(char *out, const char *stream, const char *list, const char *key)
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

static void streams_equal_whole_answers(void **state)
{
    static const struct {
        const char *line, *body, *list, *key;
    } cases[] = {{"POST /completion", "\"prompt\":\"int main(\",\"n_predict\":24,\"seed\":3", NULL,
                  "content"},
                 {"POST /v1/completions", "\"prompt\":\"int main(\",\"max_tokens\":24,\"seed\":3",
                  "choices", "text"}};
    char body[1024], joined[4096];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        snprintf(body, sizeof body, "{%s}", cases[k].body);
        char *whole = text_of(ask(f, 200, cases[k].line, body), cases[k].list, cases[k].key);
        assert_true(whole[0] != '\0');
        snprintf(body, sizeof body, "{%s,\"stream\":true}", cases[k].body);
        /* HTTP/1.0 has no chunks in between. */
        int fd = web_connect(&f->w);
        char head[256];
        snprintf(head, sizeof head, "%s HTTP/1.0\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n",
                 cases[k].line, strlen(body));
        web_say(fd, head);
        web_say(fd, body);
        web_read(f->reply, fd, NULL);
        close(fd);
        assert_non_null(strstr(f->reply, "text/event-stream"));
        join_events(joined, f->reply, cases[k].list, cases[k].key);
        assert_string_equal(joined, whole);
        assert_int_equal(strstr(f->reply, "data: [DONE]\n\n") != NULL, cases[k].list != NULL);
        free(whole);
    }
    close_fixture(f);
}

/* ---- other protocols ------------------------------------------------------------------------ */

static void all_protocols_give_the_same_completion(void **state)
{
    static const struct {
        const char *line, *body, *list, *key;
    } cases[] = {
        {"POST /v1/completions",
         "{\"prompt\":\"" PREFIX "    for (int i\",\"suffix\":\"" SUFFIX "\",\"max_tokens\":24}",
         "choices", "text"},
        {"POST /v1/completions",
         "{\"prompt\":\"<|fim_prefix|>" PREFIX "    for (int i<|fim_suffix|>" SUFFIX
         "<|fim_middle|>\",\"max_tokens\":24}",
         "choices", "text"},
        {"POST /v1/completions",
         "{\"prompt\":\"<fim_suffix>" SUFFIX "<fim_prefix>" PREFIX "    for (int i<fim_middle>\","
         "\"max_tokens\":24}",
         "choices", "text"},
        {"POST /v1/completions",
         "{\"language\":\"c\",\"segments\":{\"prefix\":\"" PREFIX
         "    for (int i\",\"suffix\":\"" SUFFIX "\"},\"max_tokens\":24}",
         "choices", "text"},
        {"POST /api/generate",
         "{\"model\":\"m\",\"prompt\":\"" PREFIX "    for (int i\",\"suffix\":\"" SUFFIX
         "\",\"stream\":false,\"options\":{\"num_predict\":24}}",
         NULL, "response"}};
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    char *first = text_of(ask(f, 200, "POST /infill",
                              "{\"input_prefix\":\"" PREFIX "\",\"prompt\":\"    for (int i\","
                              "\"input_suffix\":\"" SUFFIX "\",\"n_predict\":24}"),
                          NULL, "content");
    assert_true(first[0] != '\0');
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *text =
            text_of(ask(f, 200, cases[k].line, cases[k].body), cases[k].list, cases[k].key);
        assert_string_equal(text, first);
        free(text);
    }
    free(first);
    assert_non_null(strstr(ask(f, 200, "POST /fim/completions",
                               "{\"prompt\":\"int main(\",\"suffix\":\"\",\"max_tokens\":4}"),
                           "\"message\":{\"role\":\"assistant\""));
    close_fixture(f);
}

static void facts_have_the_keys_that_clients_read(void **state)
{
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    assert_string_equal(ask(f, 200, "GET /health", ""), "{\"status\":\"ok\"}");
    assert_non_null(strstr(ask(f, 200, "GET /v1/models", ""), "\"owned_by\":\"llamacpp\""));
    assert_non_null(strstr(ask(f, 200, "GET /props", ""), "{\"n_ctx\":"));
    assert_non_null(strstr(ask(f, 200, "GET /slots", ""), "\"is_processing\":false"));
    assert_non_null(strstr(ask(f, 200, "GET /metrics", ""), "llamacpp:tokens_predicted_total 0"));
    assert_non_null(strstr(ask(f, 200, "POST /api/show", "{}"), ".Suffix"));
    assert_non_null(strstr(ask(f, 200, "GET /api/tags", ""), "\"name\":\"pilot\""));
    assert_non_null(strstr(ask(f, 200, "GET /api/version", ""), "\"version\""));
    assert_non_null(strstr(ask(f, 200, "GET /v1/health", ""), "\"git_describe\""));
    ask(f, 200, "POST /v1/events", "{}");
    close_fixture(f);
}

/* ---- clients that leave, and the log -------------------------------------------------------- */

static int64_t running(fixture *f)
{
    const char *text = ask(f, 200, "GET /slots", "");
    int64_t n = 0;
    while ((text = strstr(text, "\"is_processing\":true"))) n++, text++;
    return n;
}

static void leaving_clients_free_their_slots(void **state)
{
    static const char *const streams[] = {"true", "false"};
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    for (int k = 0; k < 2; k++) {
        int fd[6];
        char body[200], head[160];
        snprintf(body, sizeof body,
                 "{\"prompt\":\"int main(\",\"n_predict\":900,\"ignore_eos\":true,\"stream\":%s}",
                 streams[k]);
        snprintf(head, sizeof head,
                 "POST /completion HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n",
                 strlen(body));
        for (int i = 0; i < 6; i++) { /* four run, two wait */
            fd[i] = web_connect(&f->w);
            web_say(fd[i], head);
            web_say(fd[i], body);
        }
        while (running(f) == 0) poll(NULL, 0, 1);
        for (int i = 0; i < 6; i++) close(fd[i]);
        while (running(f) > 0) poll(NULL, 0, 1); /* else: the time limit of tests */
    }
    assert_non_null(strstr(f->log.data, "client-left"));
    ask(f, 200, "POST /completion", "{\"prompt\":\"int main(\",\"n_predict\":4}");
    close_fixture(f);
}

static void neither_log_nor_metrics_contain_text(void **state)
{
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    ask(f, 200, "POST /completion", "{\"prompt\":\"int zebra_quagga(\",\"n_predict\":4}");
    ask(f, 404, "GET /zebra_quagga", "");
    assert_null(strstr(ask(f, 200, "GET /slots", ""), "zebra"));
    assert_null(strstr(ask(f, 200, "GET /metrics", ""), "zebra"));
    assert_null(strstr(f->log.data, "zebra"));
    assert_non_null(strstr(f->log.data, "/completion 200 received="));
    close_fixture(f);
}

#define WITH_FOLDER(f)                                                                             \
    cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_FOLDER(infill_answers_as_llama_vim_expects),
                                       WITH_FOLDER(infill_ends_at_a_stop_string),
                                       WITH_FOLDER(rejects_invalid_requests),
                                       WITH_FOLDER(tokens_and_text_give_the_same_completion),
                                       WITH_FOLDER(streams_equal_whole_answers),
                                       WITH_FOLDER(all_protocols_give_the_same_completion),
                                       WITH_FOLDER(facts_have_the_keys_that_clients_read),
                                       WITH_FOLDER(leaving_clients_free_their_slots),
                                       WITH_FOLDER(neither_log_nor_metrics_contain_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
