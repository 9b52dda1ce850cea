/*
 * Tests of the protocols of the server, with the model that ships and plain sockets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "model/files.h"
#include "tests/serve/served.h"

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
    assert_non_null(strstr(ask(f, 404, "GET /none", ""), "unknown path; docs/serving.md"));
    assert_non_null(strstr(ask(f, 405, "GET /infill", ""), "needs the method POST"));
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
    assert_non_null(strstr(ask(f, 501, "POST /v1/embeddings", "{\"input\":\"a\"}"),
                           "\"type\":\"not_supported_error\""));
    ask(f, 501, "POST /embedding", "{\"content\":\"a\"}");
    ask(f, 400, "POST /detokenize", "{\"tokens\":[-1]}");
    close_fixture(f);
}

/* ---- streams -------------------------------------------------------------------------------- */

#define NESTED                                                                                     \
    "\"input_prefix\":\"double dot(int n, const double *x)\\n{\\n    double s = 0;\\n    for "     \
    "(int\","                                                                                      \
    "\"input_suffix\":\"\\n\",\"n_predict\":80"

static int pieces(const char *stream)
{
    int n = 0;
    for (const char *at = stream; (at = strstr(at, "\"content\":\"")); at++) n += at[11] != '"';
    return n;
}

static void streams_at_a_position_come_in_lines(void **state)
{
    char joined[4096];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    const char *text = ask_stream(f, "POST /infill", "{" NESTED ",\"stream\":true}");
    join_events(joined, text, NULL, "content");
    int lines = 1;
    for (const char *at = joined; (at = strchr(at, '\n')); at++) lines++;
    assert_in_range(lines, 3, 40);
    assert_int_equal(pieces(text), lines);
    text = ask_stream(f, "POST /infill", "{" NESTED ",\"stream\":true,\"n_cmpl\":2}");
    assert_int_equal(pieces(text), 2);
    /* The model repeats itself here, and the rules sample again. */
    text = ask_stream(f, "POST /infill",
                      "{\"input_prefix\":\"int sum(int n, const int *x)\\n{\\n    int s = 0;\\n\","
                      "\"input_suffix\":\"\\n\",\"n_predict\":64,\"stream\":true}");
    assert_true(pieces(text) > 1);
    close_fixture(f);
}

#define LOOP                                                                                       \
    "\"input_prefix\":\"" PREFIX "\",\"input_suffix\":\"" SUFFIX                                   \
    "\",\"prompt\":\"    for (int i\",\"n_predict\":64"

static void streams_equal_whole_answers(void **state)
{
    static const struct {
        const char *line, *body, *list, *key;
    } cases[] = {{"POST /infill", LOOP, NULL, "content"},
                 {"POST /infill", LOOP ",\"stop\":[\"s;\\n\",\";\\n    r\"]", NULL, "content"},
                 {"POST /infill", LOOP ",\"n_indent\":5", NULL, "content"},
                 {"POST /completion", "\"prompt\":\"int main(\",\"n_predict\":24,\"seed\":3", NULL,
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
        ask_stream(f, cases[k].line, body);
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
    assert_non_null(strstr(ask(f, 200, "POST /api/generate", "{\"model\":\"m\",\"stream\":false}"),
                           "\"done\":true,\"done_reason\":\"load\""));
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
    assert_non_null(strstr(ask(f, 200, "POST /api/show", "{}"),
                           "\"template\":\"<fim_prefix>{{ .Prompt }}<fim_suffix>{{ .Suffix }}"
                           "<fim_middle>\""));
    assert_non_null(strstr(ask(f, 200, "GET /api/tags", ""), "\"name\":\"pilot\""));
    assert_non_null(strstr(ask(f, 200, "GET /api/version", ""), "\"version\""));
    assert_non_null(strstr(ask(f, 200, "GET /v1/health", ""), "\"git_describe\""));
    ask(f, 200, "POST /v1/events", "{}");
    close_fixture(f);
}

static void facts_are_those_of_the_model(void **state)
{
    hpc_model_files *files;
    char expected[160];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    test_ok(hpc_model_files_open(&files, PILOT));
    const hpc_model_config *c = hpc_model_files_config(files);
    const char *text = ask(f, 200, "POST /api/show", "{}");
    snprintf(expected, sizeof expected,
             "\"general.architecture\":\"%s\",\"general.parameter_count\":%lld,", c->family,
             (long long)hpc_model_config_params(c));
    assert_non_null(strstr(text, expected));
    snprintf(expected, sizeof expected, "\"%s.context_length\":%lld", c->family,
             (long long)c->positions);
    assert_non_null(strstr(text, expected));
    assert_null(strstr(text, ":\"\"")); /* no empty values */
    text = ask(f, 200, "GET /v1/health", "");
    assert_non_null(strstr(text, "\"git_describe\":\"test\""));
    assert_null(strstr(text, ":\"\""));
    text = ask(f, 200, "GET /api/tags", "");
    snprintf(expected, sizeof expected, "\"family\":\"%s\"", c->family);
    assert_non_null(strstr(text, expected));
    assert_null(strstr(text, "\"size\":0"));
    hpc_model_files_close(files);
    close_fixture(f);
}

static void names_and_hidden_paths_are_options(void **state)
{
    hpc_api_options o = HPC_API_DEFAULTS;
    WEB_NEEDS_LIBRARY();
    o.aliases = "b,a";
    o.tags = "fim";
    o.no_slots = o.no_metrics = true;
    o.predict = 3;
    fixture *f = open_fixture_with(state, o);
    const char *text = ask(f, 200, "GET /v1/models", "");
    assert_non_null(strstr(text, "\"aliases\":[\"b\",\"a\"],\"tags\":[\"fim\"]"));
    ask(f, 200, "GET /v1/models/b", "");
    ask(f, 404, "GET /v1/models/c", "");
    ask(f, 501, "GET /slots", "");
    ask(f, 501, "GET /metrics", "");
    text = ask(f, 200, "POST /completion", "{\"prompt\":\"int main(\",\"ignore_eos\":true}");
    assert_non_null(strstr(text, "\"tokens_predicted\":3"));
    close_fixture(f);
}

static void metrics_count_tokens_of_answers(void **state)
{
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    for (int k = 0; k < 2; k++)
        ask(f, 200, "POST /completion",
            "{\"prompt\":\"int sum(int n, const int *x) { int s = 0; for (int k = 0; k < n; k++) s "
            "+= x[k]; return s; }\",\"n_predict\":8,"
            "\"ignore_eos\":true}");
    const char *text = ask(f, 200, "GET /metrics", "");
    assert_non_null(strstr(text, "llamacpp:tokens_predicted_total 16\n"));
    assert_non_null(strstr(text, "# TYPE llamacpp:n_busy_slots_per_decode gauge\n"));
    assert_non_null(strstr(text, "llamacpp:n_busy_slots_per_decode 1\n"));
    assert_null(strstr(text, "prompt_tokens_cached_total 0\n"));
    assert_non_null(strstr(f->reply, "Process-Start-Time-Unix: "));
    close_fixture(f);
}

static void pieces_of_characters_are_bytes(void **state)
{
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    const char *text = ask(f, 200, "POST /tokenize",
                           "{\"content\":\"int \xf0\x9f\xa4\x97\",\"with_pieces\":true}");
    assert_non_null(strstr(text, "\"piece\":\"int\""));
    assert_non_null(strstr(text, "\"piece\":[240]"));
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
    assert_true(is_logged(f, "client-left"));
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
    assert_false(is_logged(f, "zebra"));
    assert_true(is_logged(f, "/completion 200 received="));
    close_fixture(f);
}

static fixture *open_slow(char path[PATH_MAX], void **state, hpc_api_options o)
{
    o.tool = (hpc_tool_options){.program = hpc_test_path(path, *state, "slow"),
                                .scratch = ((hpc_test_folder *)*state)->root};
    test_ok(hpc_file_save(path, "#!/bin/sh\nexec sleep 60\n", 24));
    assert_int_equal(chmod(path, 0700), 0);
    return open_fixture_with(state, o);
}

/* Sends a request, and returns when the server has it. */
static int begin_request(const fixture *f, const char *path, const char *body)
{
    char head[128];
    const int fd = web_connect(&f->w);
    snprintf(
        head, sizeof head,
        "POST %s HTTP/1.1\r\nConnection: close\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n",
        path, strlen(body));
    web_say(fd, head);
    web_say(fd, body);
    poll(NULL, 0, 300);
    return fd;
}

/* A command for a client that left ends, and does not delay the end of the server. */
static void commands_end_with_their_client(void **state)
{
    char path[PATH_MAX];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_slow(path, state, (hpc_api_options)HPC_API_DEFAULTS);
    close(begin_request(f, "/v1/pragma", "{\"path\":\"a.c\"}"));
    const int64_t from = hpc_clock_ns();
    close_fixture(f);
    assert_true(hpc_clock_ns() - from < INT64_C(8000000000)); /* less than a drain */
}

static void waiting_request_of_a_client_that_left_frees_its_place(void **state)
{
    static const char text[] = "{\"content\":\"int\"}";
    char path[PATH_MAX];
    hpc_api_options o = HPC_API_DEFAULTS;
    WEB_NEEDS_LIBRARY();
    o.workers = o.queue = 1;
    fixture *f = open_slow(path, state, o);
    const int slow = begin_request(f, "/v1/pragma", "{\"path\":\"a.c\"}");
    close(begin_request(f, "/tokenize", text));
    poll(NULL, 0, 300);
    const int last = begin_request(f, "/tokenize", text);
    close(slow);
    assert_int_equal(web_status(web_read(f->reply, last, NULL)), 200);
    close(last);
    close_fixture(f);
}

#define WITH_FOLDER(f)                                                                             \
    cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(commands_end_with_their_client),
        WITH_FOLDER(waiting_request_of_a_client_that_left_frees_its_place),
        WITH_FOLDER(infill_answers_as_llama_vim_expects),
        WITH_FOLDER(infill_ends_at_a_stop_string),
        WITH_FOLDER(rejects_invalid_requests),
        WITH_FOLDER(tokens_and_text_give_the_same_completion),
        WITH_FOLDER(streams_at_a_position_come_in_lines),
        WITH_FOLDER(streams_equal_whole_answers),
        WITH_FOLDER(all_protocols_give_the_same_completion),
        WITH_FOLDER(facts_have_the_keys_that_clients_read),
        WITH_FOLDER(facts_are_those_of_the_model),
        WITH_FOLDER(names_and_hidden_paths_are_options),
        WITH_FOLDER(metrics_count_tokens_of_answers),
        WITH_FOLDER(pieces_of_characters_are_bytes),
        WITH_FOLDER(leaving_clients_free_their_slots),
        WITH_FOLDER(neither_log_nor_metrics_contain_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
