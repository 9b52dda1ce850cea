/*
 * Requests as llama.vim writes them, with Vim's and Neovim's json_encode, and the checks that the
 * plugin makes of the bytes of an answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/serve/served.h"

#define FIELDS                                                                                     \
    "\"response_fields\": [\"content\", \"timings/prompt_n\", \"timings/prompt_ms\", "             \
    "\"timings/prompt_per_token_ms\", \"timings/prompt_per_second\", \"timings/predicted_n\", "    \
    "\"timings/predicted_ms\", \"timings/predicted_per_token_ms\", "                               \
    "\"timings/predicted_per_second\", \"truncated\", \"tokens_cached\"]"
#define CHUNK                                                                                      \
    "{\"text\": \"double dot(int n, const double *x, const double *y)\\n{\\n    double s = 0;\\n"  \
    "    for (int i = 0; i < n; i++) s += x[i] * y[i];\\n    return s;\\n}\\n\", "                 \
    "\"time\": [142, 681932], \"filename\": \"src/dot.c\"}"
/* prefix, extra, middle, suffix, most, indent, milliseconds */
#define FORMAT                                                                                     \
    "{\"id_slot\": 0, \"input_prefix\": \"%s\", \"input_suffix\": \"%s\", \"input_extra\": [%s], " \
    "\"prompt\": \"%s\", \"n_predict\": %d, \"stop\": [], \"n_indent\": %d, \"top_k\": 40, "       \
    "\"top_p\": 0.9, \"samplers\": [\"top_k\", \"top_p\", \"infill\"], \"stream\": false, "        \
    "\"cache_prompt\": true, \"t_max_prompt_ms\": 500, \"t_max_predict_ms\": %d, "                 \
    "\"model\": \"\", " FIELDS "}"
#define WARM                                                                                       \
    "{\"id_slot\": 0, \"input_prefix\": \"\", \"input_suffix\": \"\", \"input_extra\": [" CHUNK    \
    "], \"prompt\": \"\", \"n_predict\": 0, \"temperature\": 0.0, \"samplers\": [], "              \
    "\"stream\": false, \"cache_prompt\": true, \"t_max_prompt_ms\": 1, \"t_max_predict_ms\": 1, " \
    "\"response_fields\": [\"\"], \"model\": \"\"}"

/* The plugin looks at the raw bytes before it decodes them, and Vim gets them line by line. */
static void has_form_of_plugin(const char *raw)
{
    static const char *const flat[] = {"timings/prompt_n",
                                       "timings/prompt_ms",
                                       "timings/prompt_per_token_ms",
                                       "timings/prompt_per_second",
                                       "timings/predicted_n",
                                       "timings/predicted_ms",
                                       "timings/predicted_per_token_ms",
                                       "timings/predicted_per_second",
                                       "truncated",
                                       "tokens_cached"};
    hpc_json *root;
    assert_int_equal(raw[0], '{');                            /* ^\s*{ */
    assert_int_equal(strncmp(raw, "{\"content\":\"", 12), 0); /* "content"\s*:" */
    assert_null(strchr(raw, '\n'));
    test_ok(hpc_json_parse(&root, raw, strlen(raw), "answer"));
    assert_int_equal(hpc_json_n(root), 11);
    for (size_t k = 0; k < sizeof flat / sizeof *flat; k++)
        assert_non_null(hpc_json_get(root, flat[k]));
    hpc_json_free(root);
}

static int64_t number_of(const char *raw, const char *key)
{
    hpc_json *root;
    int64_t value;
    test_ok(hpc_json_parse(&root, raw, strlen(raw), "answer"));
    test_ok(hpc_json_int(&value, hpc_json_get(root, key), key));
    hpc_json_free(root);
    return value;
}

static void answers_have_the_bytes_that_the_plugin_looks_for(void **state)
{
    static const struct {
        const char *prefix, *suffix, *extra, *middle;
        int most, indent, ms;
    } cases[] = {
        {PREFIX, SUFFIX, "", "    for (int i", 128, 4, 250},
        {PREFIX, SUFFIX, CHUNK, "    for (int i", 128, 4, 1000},
        {PREFIX, SUFFIX, CHUNK, "", 128, 0, 250}, /* a blank line starts at its beginning */
        {"\\n", "\\n\\n", "", "", 128, 0, 250},   /* an empty buffer */
        {"/* \xc3\xa9\xf0\x9f\x98\x80 \\\"q\\\" \\\\ */\\n", "\\n", "", "int \\t", 32, 0, 250},
        {PREFIX, "); /* end */\\n}\\n", CHUNK "," CHUNK, "    printf(\\\"%d\\\\n\\\", ", 128, 4,
         250},
    };
    char body[4096];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        snprintf(body, sizeof body, FORMAT, cases[k].prefix, cases[k].suffix, cases[k].extra,
                 cases[k].middle, cases[k].most, cases[k].indent, cases[k].ms);
        has_form_of_plugin(ask(f, 200, "POST /infill", body));
    }
    close_fixture(f);
}

static void warm_up_computes_the_prompt_and_answers_nothing(void **state)
{
    char body[4096];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    assert_string_equal(ask(f, 200, "POST /infill", WARM), "{}");
    snprintf(body, sizeof body, FORMAT, PREFIX, SUFFIX, CHUNK, "    for (int i", 16, 4, 1000);
    const char *raw = ask(f, 200, "POST /infill", body);
    /* The chunk, which is most of the prompt, was in the cache. */
    const int64_t computed = number_of(raw, "timings/prompt_n");
    const int64_t cached = number_of(raw, "tokens_cached") - number_of(raw, "timings/predicted_n");
    assert_true(2 * computed < cached);
    close_fixture(f);
}

static void equal_requests_get_equal_answers(void **state)
{
    char body[4096];
    WEB_NEEDS_LIBRARY();
    fixture *f = open_fixture(state);
    /* The plugin keys its own cache by the text, so equal requests need equal answers. */
    snprintf(body, sizeof body, FORMAT, PREFIX, SUFFIX, "", "    for (int i", 128, 4, 5000);
    char *first = text_of(ask(f, 200, "POST /infill", body), NULL, "content");
    char *second = text_of(ask(f, 200, "POST /infill", body), NULL, "content");
    assert_true(first[0] != '\0');
    assert_string_equal(first, second);
    free(first);
    free(second);
    close_fixture(f);
}

#define WITH_FOLDER(f)                                                                             \
    cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(answers_have_the_bytes_that_the_plugin_looks_for),
        WITH_FOLDER(warm_up_computes_the_prompt_and_answers_nothing),
        WITH_FOLDER(equal_requests_get_equal_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
