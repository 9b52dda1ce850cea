/*
 * Tests of the rendering of chat templates. The fixture has the texts of jinja2; more cases come
 * from tests/template/compare.py, in the file $HPC_TEMPLATE_CASES.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "infer/template/template.h"
#include "tests/support/expect.h"
#include "tests/support/sanitized.h"

#define FIXTURE "tests/fixtures/templates.json"

enum { VARIABLES_MOST = 16 };

static int render(hpc_template_output *out, const char *text, const hpc_json *variables)
{
    hpc_template_variable v[VARIABLES_MOST];
    hpc_template_input in = {.variable = v, .now = (int64_t)time(NULL)};
    hpc_template *t = NULL;
    int rc;
    for (in.n = 0; in.n < hpc_json_n(variables); in.n++) {
        assert_in_range(in.n, 0, VARIABLES_MOST - 1);
        v[in.n].name = hpc_json_key(variables, in.n, &v[in.n].value);
        v[in.n].foreign = strcmp(v[in.n].name, "messages") == 0;
    }
    TRY(hpc_template_parse(&t, text, strlen(text)));
    TRY(hpc_template_render(out, t, &in));
    TRY(hpc_buf_text(&out->text, ""));
out:
    hpc_template_free(t);
    return rc;
}

static const char *word(const hpc_json *o, const char *key)
{
    const char *text = NULL;
    const hpc_json *v = hpc_json_get(o, key);
    if (hpc_json_kind_of(v) == HPC_JSON_TEXT) test_ok(hpc_json_text(&text, v, key));
    return text;
}

/* What became of a case: a text that jinja2 rejects must be rejected. */
static const char *judge(char detail[600], const hpc_json *one, const hpc_json *variables)
{
    const hpc_json *own = hpc_json_get(one, "variables");
    const char *expected = word(one, "expected"), *template = word(one, "template");
    hpc_template_output out = {0};
    const char *result = "EQUAL";
    const int rc = render(&out, template, own ? own : variables);
    const char *text = out.text.data ? out.text.data : "";
    detail[0] = '\0';
    if (rc < 0) {
        snprintf(detail, 600, "%s", hpc_error_get()->text);
        result = rc == HPC_E_UNSUPPORTED ? "UNSUPPORTED" : expected ? "WRONG" : "REJECTED";
    } else if (!expected || strcmp(text, expected) != 0) {
        size_t at = 0;
        while (expected && text[at] && text[at] == expected[at]) at++;
        snprintf(detail, 600, "at byte %zu: <<%.60s>>, expected <<%.60s>>", at, text + at,
                 expected ? expected + at : word(one, "error"));
        result = "WRONG";
    }
    assert_true(rc < 0 || out.text.n == out.foreign.n);
    hpc_error_clear();
    hpc_template_output_release(&out);
    return result;
}

static void run_cases(const char *path, bool report)
{
    char detail[600];
    hpc_json *root;
    int64_t wrong = 0;
    test_ok(hpc_json_read(&root, path));
    const hpc_json *cases = hpc_json_get(root, "cases");
    assert_true(hpc_json_n(cases) > 0);
    for (int64_t k = 0; k < hpc_json_n(cases); k++) {
        const hpc_json *one = hpc_json_at(cases, k);
        const char *result = judge(detail, one, hpc_json_get(root, "variables"));
        const bool bad = strcmp(result, "WRONG") == 0 || strcmp(result, "UNSUPPORTED") == 0;
        if (report || bad)
            print_message("CASE %s %s %s\n", result,
                          word(one, word(one, "name") ? "name" : "template"), detail);
        wrong += bad;
    }
    hpc_json_free(root);
    if (!report) assert_int_equal(wrong, 0);
}

static void renders_what_jinja2_renders(void **state)
{
    (void)state;
    run_cases(FIXTURE, false);
}

static void renders_given_templates_as_transformers(void **state)
{
    const char *path = getenv("HPC_TEMPLATE_CASES");
    (void)state;
    if (!path) {
        print_message("SKIP: $HPC_TEMPLATE_CASES is not set (tests/template/compare.py)\n");
        skip();
    }
    run_cases(path, getenv("HPC_TEMPLATE_REPORT") != NULL);
}

/* ---- errors and limits ---------------------------------------------------------------------- */

static void assert_fails(const char *text, int code, const char *message)
{
    hpc_template_output out = {0};
    const int rc = render(&out, text, NULL);
    if (rc != code || !strstr(hpc_error_get()->text, message))
        print_message("%.60s: %d: %s\n", text, rc, hpc_error_get()->text);
    assert_int_equal(rc, code);
    assert_non_null(strstr(hpc_error_get()->text, message));
    hpc_error_clear();
    hpc_template_output_release(&out);
}

static void names_unsupported_constructs_with_their_line(void **state)
{
    (void)state;
    assert_fails("a\n{% block x %}{% endblock %}", HPC_E_UNSUPPORTED, "line 2: {% block %}");
    assert_fails("{% include 'x' %}", HPC_E_UNSUPPORTED, "line 1: {% include %}");
    assert_fails("\n\n{{ 'a' | wordwrap }}", HPC_E_UNSUPPORTED, "line 3: the filter 'wordwrap'");
    assert_fails("{{ 'a' is escaped }}", HPC_E_UNSUPPORTED, "the test 'escaped'");
    assert_fails("{{ 'a'.zfill(3) }}", HPC_E_UNSUPPORTED, "the string method 'zfill'");
    assert_fails("{{ cycler }}", HPC_E_UNSUPPORTED, "'cycler'");
    assert_fails("{% for a in b recursive %}{% endfor %}", HPC_E_UNSUPPORTED, "recursive");
    assert_fails("{{ f(*a) }}", HPC_E_UNSUPPORTED, "'*' in arguments");
}

static void reports_errors_of_the_template(void **state)
{
    (void)state;
    assert_fails("{{ raise_exception('roles must alternate') }}", HPC_E_ARG,
                 "roles must alternate");
    assert_fails("a\n{{ a.b }}", HPC_E_ARG, "line 2: 'a' is undefined");
    assert_fails("{{ 1 + 'a' }}", HPC_E_ARG, "unsupported operand types");
    assert_fails("{{ (1 }}", HPC_E_FORMAT, "line 1");
    assert_fails("{% if a %}", HPC_E_FORMAT, "is missing");
    assert_fails("{% endif %}", HPC_E_FORMAT, "{% endif %} has no beginning");
    assert_fails("{{ 'a }}", HPC_E_FORMAT, "a string has no end");
    assert_fails("{{", HPC_E_FORMAT, "an expression has no end");
    assert_fails("{# ", HPC_E_FORMAT, "a comment has no end");
    assert_fails("\xff", HPC_E_FORMAT, "not UTF-8");
    assert_fails("{{ [].append(1) }}", HPC_E_ARG, "unsafe");
}

static void limits_steps_depth_memory_and_output(void **state)
{
    char deep[1200];
    (void)state;
    assert_fails("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", HPC_E_ARG, "nested more than");
    assert_fails("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
                 HPC_E_ARG, "more than");
    assert_fails("{{ range(100001) }}", HPC_E_ARG, "range");
    assert_fails("{{ 'abcdefgh' * 900000000 }}", HPC_E_ARG, "more than");
    assert_fails("{% set n = namespace(s='abcdefgh') %}{% for k in range(60) %}"
                 "{% set n.s = n.s + n.s %}{% endfor %}",
                 HPC_E_ARG, "more than");
    assert_fails("{% set n = namespace(s=[]) %}{% for k in range(5000) %}{% set n.s = [n.s] %}"
                 "{% endfor %}{{ n.s }}",
                 HPC_E_ARG, "nested more than");
    assert_fails("{% set n = namespace(s=[1]) %}{% for k in range(60) %}{% set n.s = n.s + n.s %}"
                 "{% endfor %}",
                 HPC_E_ARG, "more than");
    memset(deep, '(', sizeof deep);
    memcpy(deep, "{{", 2);
    strcpy(deep + 1000, "1");
    assert_fails(deep, HPC_E_FORMAT, "");
    for (size_t k = 0; k < 1000; k += 5) memcpy(deep + k, "{{-1*", 5);
    for (size_t k = 5; k < 1000; k++) deep[k] = '-';
    strcpy(deep + 1000, "1}}");
    assert_fails(deep, HPC_E_FORMAT, "nested more than");
}

/* Each of these was many minutes of work for few steps. */
static void counts_all_work_as_steps(void **state)
{
    static const char *const bodies[] = {"{{ 0.5 in l }}",
                                         "{{ l == k }}",
                                         "{{ s == t }}",
                                         "{{ s[0] }}",
                                         "{{ ''.join(e) }}",
                                         "{{ l | select('string') | first }}",
                                         "{{ s.strip('bcdefghijklmnopqrstuvwxyza') }}",
                                         "{{ s.rfind(h) }}",
                                         "{{ 'x' in l }}"};
    char text[1000];
    hpc_buf names = {0};
    (void)state;
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        const int64_t from = hpc_clock_ns();
        snprintf(text, sizeof text,
                 "{%% set l = range(100000) %%}{%% set k = range(100000) %%}"
                 "{%% set e = ('a' * 100000) | map('replace', 'a', '') | list %%}"
                 "{%% set s = 'a' * 1000000 %%}{%% set t = 'aa' * 500000 %%}"
                 "{%% set h = 'a' * 500000 %%}"
                 "{%% for i in range(1000) %%}{%% for j in range(1000) %%}%s{%% endfor %%}"
                 "{%% endfor %%}",
                 bodies[k]);
        assert_fails(text, HPC_E_ARG, "more than");
        if (!HPC_TEST_TSAN) assert_true(hpc_clock_ns() - from < INT64_C(20000000000));
    }
    for (int k = 0; k < 20000; k++) hpc_buf_printf(&names, "{%% set a%d = 1 %%}", k);
    hpc_buf_text(&names, "{% for i in range(100000) %}{% for j in range(20) %}{{ a0 }}{% endfor %}"
                         "{% endfor %}");
    assert_fails(names.data, HPC_E_ARG, "steps");
    hpc_buf_release(&names);
}

static void numbers_stay_within_64_bits(void **state)
{
    (void)state;
    assert_fails("{{ '99999999999999999999' | int }}", HPC_E_UNSUPPORTED, "64 bits");
    assert_fails("{{ '99999999999999999999.5' | int }}", HPC_E_UNSUPPORTED, "64 bits");
    assert_fails("{{ (-9223372036854775807 - 1) | abs }}", HPC_E_UNSUPPORTED, "64 bits");
    assert_fails("{% set a = %}", HPC_E_FORMAT, "an expression is missing");
}

static void marks_the_bytes_that_come_from_messages(void **state)
{
    static const char text[] =
        "{% for m in messages %}{{ '<|' + m.role + '|>' + (m.content | trim)[1:] }}!{% endfor %}";
    static const char variables[] =
        "{\"messages\": [{\"role\": \"user\", \"content\": \" <|a|> \"}]}";
    hpc_template_variable v = {.name = "messages", .foreign = true};
    static const char *const roles[] = {"user", NULL};
    const hpc_template_input in = {.variable = &v, .n = 1, .known = roles};
    hpc_template_output out = {0};
    hpc_template *t;
    hpc_json *root;
    (void)state;
    test_ok(hpc_json_parse(&root, variables, strlen(variables), "variables"));
    v.value = hpc_json_get(root, "messages");
    test_ok(hpc_template_parse(&t, text, strlen(text)));
    test_ok(hpc_template_render(&out, t, &in));
    assert_int_equal(out.text.n, 13);
    assert_memory_equal(out.text.data, "<|user|>|a|>!", 13);
    assert_memory_equal(out.foreign.data, "\0\0\0\0\0\0\0\0\1\1\1\1\0", 13);
    hpc_template_output_release(&out);
    hpc_template_free(t);
    hpc_json_free(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renders_what_jinja2_renders),
        cmocka_unit_test(renders_given_templates_as_transformers),
        cmocka_unit_test(names_unsupported_constructs_with_their_line),
        cmocka_unit_test(reports_errors_of_the_template),
        cmocka_unit_test(limits_steps_depth_memory_and_output),
        cmocka_unit_test(counts_all_work_as_steps),
        cmocka_unit_test(numbers_stay_within_64_bits),
        cmocka_unit_test(marks_the_bytes_that_come_from_messages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
