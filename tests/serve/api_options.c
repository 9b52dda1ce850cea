/*
 * Tests of the options of requests: types, values that are not served, and what each option does to
 * the answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/serve/served.h"

#define INFILL                                                                                     \
    "\"input_prefix\":\"" PREFIX "\",\"prompt\":\"    for (int i\",\"input_suffix\":\"" SUFFIX "\""

/* ---- errors --------------------------------------------------------------------------------- */

static void errors_name_the_key(void **state)
{
    static const struct {
        const char *options, *key;
        int status;
    } cases[] = {
        {"\"temperature\":\"x\"", "\\\"temperature\\\"", 400},
        {"\"n_predict\":1.5", "\\\"n_predict\\\"", 400},
        {"\"n_predict\":-2", "\\\"n_predict\\\"", 400},
        {"\"stream\":1", "\\\"stream\\\"", 400},
        {"\"stop\":[1]", "\\\"stop\\\"", 400},
        {"\"stop\":7", "\\\"stop\\\"", 400},
        {"\"logit_bias\":3", "\\\"logit_bias\\\"", 400},
        {"\"logit_bias\":[[1]]", "\\\"logit_bias\\\"", 400},
        {"\"samplers\":[\"none\"]", "'none'", 400},
        {"\"samplers\":\"kz\"", "'z'", 400},
        {"\"n\":0", "\\\"n\\\"", 400},
        {"\"n\":17", "17 answers", 400},
        {"\"id_slot\":\"a\"", "\\\"id_slot\\\"", 400},
        {"\"document\":1", "\\\"document\\\"", 400},
        {"\"presence_penalty\":0.5", "\\\"presence_penalty\\\"", 400},
        {"\"mirostat\":2", "\\\"mirostat\\\"", 400},
        {"\"grammar\":\"root ::= x\"", "line 1: the rule x is not defined", 400},
        {"\"grammar\":7", "\\\"grammar\\\"", 400},
        {"\"grammar\":\"root ::= \\\"a\\\"\",\"json_schema\":{}", "exclude each other", 400},
        {"\"json_schema\":{\"pattern\":\"a\"}", "\\\"pattern\\\"", 501},
        {"\"json_schema\":{\"type\":\"hiccup\"}", "\\\"type\\\"", 400},
        {"\"response_format\":{\"type\":\"sound\"}", "\\\"response_format\\\"", 400},
        {"\"response_format\":{\"type\":\"json_schema\"}", "has no schema", 400},
        {"\"lora\":[{\"id\":0}]", "\\\"lora\\\"", 501},
        {"\"echo\":true", "\\\"echo\\\"", 501}};
    char body[256];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        snprintf(body, sizeof body, "{\"prompt\":\"int\",%s}", cases[k].options);
        assert_non_null(strstr(ask(f, cases[k].status, "POST /completion", body), cases[k].key));
    }
    assert_non_null(strstr(ask(f, 501, "POST /infill", "{" INFILL ",\"n_probs\":2}"), "n_probs"));
    assert_non_null(strstr(ask(f, 501, "POST /infill", "{" INFILL ",\"logit_bias\":{\"1\":-1}}"),
                           "logit_bias"));
    assert_non_null(strstr(
        ask(f, 400, "POST /api/generate", "{\"prompt\":\"a\",\"format\":\"xml\"}"), "format"));
    assert_non_null(strstr(ask(f, 501, "POST /infill", "{" INFILL ",\"json_schema\":{}}"),
                           "not supported at a position"));
    assert_non_null(strstr(ask(f, 501, "POST /completion",
                               "{\"prompt\":{\"prompt_string\":\"a\",\"multimodal_data\":\"b\"}}"),
                           "multimodal_data"));
    close_fixture(f);
}

static void values_without_effect_are_accepted(void **state)
{
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    ask(f, 200, "POST /completion",
        "{\"prompt\":\"int\",\"n_predict\":1,\"presence_penalty\":0.0,\"typical_p\":1,"
        "\"top_n_sigma\":-1,\"grammar\":\"\",\"json_schema\":null,\"lora\":[],\"echo\":false,"
        "\"response_format\":{\"type\":\"text\"},\"stop\":null,\"temperature\":null,\"seed\":7.0,"
        "\"unheard_of\":[1]}");
    close_fixture(f);
}

/* Nanoseconds of such limits exceed 64 bits. */
static void huge_time_limits_do_not_end_answers(void **state)
{
    static const char *const lines[] = {"POST /infill", "POST /completion"};
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    for (int k = 0; k < 2; k++) {
        char body[512];
        snprintf(body, sizeof body,
                 "{%s,\"n_predict\":8,\"ignore_eos\":%s,\"t_max_prompt_ms\":9223372036855,"
                 "\"t_max_predict_ms\":18446744073709}",
                 k == 0 ? INFILL : "\"prompt\":\"int main(\"", k == 0 ? "false" : "true");
        const char *answer = ask(f, 200, lines[k], body);
        assert_null(strstr(answer, "\"content\":\"\""));
        if (k == 1) assert_non_null(strstr(answer, "\"tokens_predicted\":8"));
    }
    close_fixture(f);
}

static void seeds_have_64_bits(void **state)
{
    static const char *const seeds[] = {"4294967295", "9007199254740993", "9223372036854775807"};
    char body[160], expected[64];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    for (size_t k = 0; k < sizeof seeds / sizeof *seeds; k++) {
        snprintf(body, sizeof body, "{\"prompt\":\"int\",\"n_predict\":1,\"seed\":%s}", seeds[k]);
        snprintf(expected, sizeof expected, "\"seed\":%s,", seeds[k]);
        assert_non_null(strstr(ask(f, 200, "POST /completion", body), expected));
    }
    const char *text = ask(f, 200, "POST /completion",
                           "{\"prompt\":\"int\",\"n_predict\":1,\"seed\":18446744073709551615}");
    assert_null(strstr(text, "\"seed\":0,"));
    assert_null(strstr(text, "\"seed\":-"));
    close_fixture(f);
}

static void biases_have_a_limit(void **state)
{
    hpc_buf body = {0};
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    hpc_buf_text(&body, "{\"prompt\":\"int\",\"n_predict\":1,\"logit_bias\":[[1,0]");
    for (int k = 0; k < 1 << 16; k++) hpc_buf_text(&body, ",[1,0]");
    hpc_buf_text(&body, "]}");
    assert_non_null(strstr(ask(f, 400, "POST /completion", body.data), "logit_bias"));
    hpc_buf_release(&body);
    close_fixture(f);
}

static void long_prompt_names_both_sizes(void **state)
{
    hpc_api_options o = HPC_API_DEFAULTS;
    WEB_NEEDS_LIBRARY();
    o.context = 64;
    fixture *f = open_fixture_with(state, o);
    char body[1024] = "{\"prompt\":\"";
    for (int k = 0; k < 100; k++) strcat(body, "a; ");
    strcat(body, "\"}");
    const char *text = ask(f, 400, "POST /completion", body);
    assert_non_null(strstr(text, "\"type\":\"exceed_context_size_error\""));
    assert_non_null(strstr(text, "\"n_prompt_tokens\":"));
    assert_non_null(strstr(text, "\"n_ctx\":64"));
    close_fixture(f);
}

/* ---- text ----------------------------------------------------------------------------------- */

static void stopping_word_is_the_one_that_came(void **state)
{
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    const char *text = ask(f, 200, "POST /completion",
                           "{\"prompt\":\"int main(\",\"temperature\":0,\"n_predict\":40,"
                           "\"stop\":[\"zz\",\")\",\"yy\"]}");
    assert_non_null(strstr(text, "\"stop_type\":\"word\",\"stopping_word\":\")\""));
    text = ask(f, 200, "POST /infill", "{" INFILL ",\"n_predict\":64,\"stop\":[\"zz\",\";\"]}");
    assert_non_null(strstr(text, "\"stop_type\":\"word\",\"stopping_word\":\";\""));
    close_fixture(f);
}

static void minimum_indentation_ends_the_text(void **state)
{
    static const char body[] = "{\"prompt\":\"int sum(int n)\\n{\\n    int s = 0;\\n    return\","
                               "\"temperature\":0,\"n_predict\":200,\"n_indent\":%d%s}";
    char text[512], joined[8192];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    snprintf(text, sizeof text, body, 0, "");
    char *whole = text_of(ask(f, 200, "POST /completion", text), NULL, "content");
    snprintf(text, sizeof text, body, 4, "");
    char *cut = text_of(ask(f, 200, "POST /completion", text), NULL, "content");
    const size_t n = strlen(cut);
    assert_in_range(n, 1, strlen(whole) - 1);
    assert_memory_equal(cut, whole, n);
    /* Each line that is not blank is indented, and the next one is not. */
    for (const char *at = strchr(cut, '\n'); at; at = strchr(at + 1, '\n'))
        assert_true(strspn(at + 1, " \t") >= 4 || at[1] == '\n' || at[1] == '\0');
    const char *next = whole + n + strspn(whole + n, "\n");
    assert_true(strspn(next, " \t") < 4);
    snprintf(text, sizeof text, body, 4, ",\"stream\":true");
    join_events(joined, ask_stream(f, "POST /completion", text), NULL, "content");
    assert_string_equal(joined, cut);
    free(whole);
    free(cut);
    close_fixture(f);
}

static void list_of_prompts_gets_an_answer_each(void **state)
{
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    const char *text = ask(f, 200, "POST /completion",
                           "{\"prompt\":[\"int main(\",\"int main(\",\"double\"],\"n_predict\":6,"
                           "\"temperature\":0,\"response_fields\":[\"content\",\"prompt\"]}");
    hpc_json *list;
    const char *content[3], *prompt;
    test_ok(hpc_json_parse(&list, text, strlen(text), "answer"));
    assert_int_equal(hpc_json_n(list), 3);
    for (int k = 0; k < 3; k++)
        test_ok(hpc_json_text(&content[k], hpc_json_get(hpc_json_at(list, k), "content"), ""));
    test_ok(hpc_json_text(&prompt, hpc_json_get(hpc_json_at(list, 2), "prompt"), ""));
    assert_string_equal(content[0], content[1]);
    assert_non_null(strstr(prompt, "double"));
    char *alone = text_of(ask(f, 200, "POST /completion",
                              "{\"prompt\":\"double\",\"n_predict\":6,\"temperature\":0}"),
                          NULL, "content");
    assert_string_equal(content[2], alone);
    free(alone);
    hpc_json_free(list);
    close_fixture(f);
}

/* ---- tokens --------------------------------------------------------------------------------- */

static void samplers_outside_the_list_are_off(void **state)
{
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    char *greedy = text_of(ask(f, 200, "POST /completion",
                               "{\"prompt\":\"int main(\",\"n_predict\":12,\"temperature\":0}"),
                           NULL, "content");
    char *one = text_of(ask(f, 200, "POST /completion",
                            "{\"prompt\":\"int main(\",\"n_predict\":12,\"temperature\":5,"
                            "\"top_k\":1,\"samplers\":[\"top_k\"]}"),
                        NULL, "content");
    assert_string_equal(one, greedy);
    const char *text = ask(f, 200, "POST /completion",
                           "{\"prompt\":\"int main(\",\"n_predict\":1,\"top_k\":1,\"top_p\":0.1,"
                           "\"samplers\":\"kt\"}");
    assert_non_null(strstr(text, "\"top_k\":1,\"top_p\":1.0,\"min_p\":0.0"));
    assert_non_null(strstr(text, "\"samplers\":[\"temperature\",\"top_k\"]"));
    free(greedy);
    free(one);
    close_fixture(f);
}

static void ignored_end_excludes_its_tokens(void **state)
{
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    const char *text = ask(f, 200, "POST /completion",
                           "{\"prompt\":\"int main(void) { return 0; }\",\"n_predict\":300,"
                           "\"temperature\":0,\"ignore_eos\":true}");
    assert_non_null(strstr(text, "\"logit_bias\":[{\"bias\":null,\"token\":"));
    assert_non_null(strstr(text, "\"tokens_predicted\":300"));
    close_fixture(f);
}

static void biases_name_tokens_by_number_or_text(void **state)
{
    static const char *const biases[] = {"[[\" int\",false]]", "{\" int\":-100}"};
    char body[256];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    char *whole = text_of(ask(f, 200, "POST /completion",
                              "{\"prompt\":\"int main(\",\"n_predict\":12,\"temperature\":0}"),
                          NULL, "content");
    assert_int_equal(strncmp(whole, " int", 4), 0);
    for (int k = 0; k < 2; k++) {
        snprintf(body, sizeof body,
                 "{\"prompt\":\"int main(\",\"n_predict\":12,\"temperature\":0,\"logit_bias\":%s}",
                 biases[k]);
        char *text = text_of(ask(f, 200, "POST /completion", body), NULL, "content");
        assert_null(strstr(text, " int"));
        free(text);
    }
    free(whole);
    close_fixture(f);
}

/* The tokens in an object's list, decoded. */
static char *decode_tokens(fixture *f, const char *answer)
{
    char body[4096];
    const char *from = strstr(answer, "\"tokens\":["), *to = from ? strchr(from, ']') : NULL;
    assert_non_null(to);
    snprintf(body, sizeof body, "{%.*s]}", (int)(to - from), from);
    return text_of(ask(f, 200, "POST /detokenize", body), NULL, "content");
}

static void returned_tokens_spell_the_text(void **state)
{
    static const struct {
        const char *line, *body;
    } cases[] = {{"POST /infill", "{" INFILL ",\"n_predict\":64,\"return_tokens\":true}"},
                 {"POST /completion", "{\"prompt\":\"int main(\",\"n_predict\":24,"
                                      "\"return_tokens\":true}"}};
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *answer = strdup(ask(f, 200, cases[k].line, cases[k].body));
        char *text = text_of(answer, NULL, "content"), *spelled = decode_tokens(f, answer);
        assert_true(text[0] != '\0');
        assert_string_equal(spelled, text);
        free(answer);
        free(text);
        free(spelled);
    }
    close_fixture(f);
}

static void streams_have_one_event_per_token_with_probabilities(void **state)
{
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    const char *text = ask_stream(f, "POST /completion",
                                  "{\"prompt\":\"int main(\",\"n_predict\":5,\"n_probs\":3,"
                                  "\"temperature\":0,\"stream\":true}");
    int n = 0;
    for (const char *at = text; (at = strstr(at, "\"completion_probabilities\":[{")); at++) n++;
    assert_int_equal(n, 5);
    close_fixture(f);
}

/* ---- slots, progress and documents ---------------------------------------------------------- */

static void answers_name_the_slot_that_made_them(void **state)
{
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    const char *text = ask(f, 200, "POST /completion",
                           "{\"prompt\":[\"int a\",\"int b\",\"int c\"],\"n_predict\":40,"
                           "\"ignore_eos\":true,\"response_fields\":[\"id_slot\"]}");
    assert_string_equal(text, "[{\"id_slot\":0},{\"id_slot\":1},{\"id_slot\":2}]");
    assert_non_null(
        strstr(ask(f, 200, "POST /infill", "{" INFILL ",\"id_slot\":3}"), "\"id_slot\":0"));
    close_fixture(f);
}

static void progress_of_the_prompt_is_streamed(void **state)
{
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    for (int k = 0; k < 2; k++) {
        const char *text = ask_stream(f, "POST /completion",
                                      "{\"prompt\":\"int sum(int n, const int *x) { int s = 0;\","
                                      "\"n_predict\":2,\"stream\":true,\"return_progress\":true,"
                                      "\"timings_per_token\":true}");
        const char *first = strstr(text, "\"prompt_progress\":{\"total\":");
        long total, cache, processed;
        assert_non_null(first);
        assert_int_equal(
            sscanf(first + 27, "%ld,\"cache\":%ld,\"processed\":%ld", &total, &cache, &processed),
            3);
        assert_true(total > 0);
        assert_int_equal(cache, processed);
        if (k == 0) assert_int_equal(cache, 0);
        const char *last = strstr(first + 1, "\"prompt_progress\":{\"total\":");
        assert_non_null(last);
        for (const char *at; (at = strstr(last + 1, "\"prompt_progress\":{\"total\":"));) last = at;
        assert_int_equal(
            sscanf(last + 27, "%ld,\"cache\":%ld,\"processed\":%ld", &total, &cache, &processed),
            3);
        assert_int_equal(processed, total);
    }
    close_fixture(f);
}

static int64_t running(fixture *f)
{
    const char *text = ask(f, 200, "GET /slots", "");
    int64_t n = 0;
    while ((text = strstr(text, "\"is_processing\":true"))) n++, text++;
    return n;
}

/* A long request on a connection of its own. */
static int begin_long(fixture *f, const char *line, const char *body)
{
    char head[160];
    int fd = web_connect(&f->w);
    snprintf(
        head, sizeof head,
        "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
        line, strlen(body));
    web_say(fd, head);
    web_say(fd, body);
    while (running(f) == 0) poll(NULL, 0, 1);
    return fd;
}

static void newer_request_for_a_document_replaces_the_older(void **state)
{
    static const struct {
        const char *line, *body, *document;
        int status;
    } cases[] = {
        {"/completion", "\"prompt\":\"int main(\",\"n_predict\":900,\"ignore_eos\":true", "a.c",
         409},
        {"/completion", "\"prompt\":\"int main(\",\"n_predict\":900,\"ignore_eos\":true", "b.c",
         200},
        {"/infill", INFILL ",\"n_cmpl\":16,\"temperature\":1,\"n_predict\":400", "a.c", 409}};
    char body[512];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        snprintf(body, sizeof body, "{%s,\"document\":\"a.c\"}", cases[k].body);
        int fd = begin_long(f, cases[k].line, body);
        snprintf(body, sizeof body, "{" INFILL ",\"n_predict\":4,\"document\":\"%s\"}",
                 cases[k].document);
        ask(f, 200, "POST /infill", body);
        assert_int_equal(web_status(web_read(f->reply, fd, NULL)), cases[k].status);
        close(fd);
    }
    close_fixture(f);
}

static void stream_that_is_replaced_ends_with_an_error(void **state)
{
    static const char *const cases[][2] = {{"/v1/completions", "data: {\"error\":{\"code\":409,"},
                                           {"/api/generate", "\n{\"error\":{\"code\":409,"}};
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int fd =
            begin_long(f, cases[k][0],
                       "{\"prompt\":\"int main(\",\"max_tokens\":900,\"ignore_eos\":true,"
                       "\"options\":{\"num_predict\":900},\"stream\":true,\"document\":\"a.c\"}");
        assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 60000), 1);
        ask(f, 200, "POST /infill", "{" INFILL ",\"n_predict\":4,\"document\":\"a.c\"}");
        assert_int_equal(web_status(web_read(f->reply, fd, NULL)), 200);
        if (!strstr(f->reply, cases[k][1])) print_error("%s\n", f->reply);
        assert_non_null(strstr(f->reply, cases[k][1]));
        assert_null(strstr(f->reply, "[DONE]"));
        close(fd);
    }
    close_fixture(f);
}

#define WITH_FOLDER(f)                                                                             \
    cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(errors_name_the_key),
        WITH_FOLDER(values_without_effect_are_accepted),
        WITH_FOLDER(huge_time_limits_do_not_end_answers),
        WITH_FOLDER(seeds_have_64_bits),
        WITH_FOLDER(biases_have_a_limit),
        WITH_FOLDER(long_prompt_names_both_sizes),
        WITH_FOLDER(stopping_word_is_the_one_that_came),
        WITH_FOLDER(minimum_indentation_ends_the_text),
        WITH_FOLDER(list_of_prompts_gets_an_answer_each),
        WITH_FOLDER(samplers_outside_the_list_are_off),
        WITH_FOLDER(ignored_end_excludes_its_tokens),
        WITH_FOLDER(biases_name_tokens_by_number_or_text),
        WITH_FOLDER(returned_tokens_spell_the_text),
        WITH_FOLDER(streams_have_one_event_per_token_with_probabilities),
        WITH_FOLDER(answers_name_the_slot_that_made_them),
        WITH_FOLDER(progress_of_the_prompt_is_streamed),
        WITH_FOLDER(newer_request_for_a_document_replaces_the_older),
        WITH_FOLDER(stream_that_is_replaced_ends_with_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
