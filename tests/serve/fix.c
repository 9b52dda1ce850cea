/*
 * Tests of fixes by the language server: they leave the bytes that `hpccoder pragma --fix` leaves.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>

#include "infer/serve/document.h"
#include "tests/serve/client.h"
#include "tests/source/check.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"

#define SHUTDOWN "{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"shutdown\"}"

typedef struct document_case {
    const char *name, *directive; /* of the file, and one that the fix inserts */
    const char *text;
} document_case;

static const document_case c_loops = {
    "f.c", "#pragma omp",
    "/* \xc3\xa9\xf0\x9f\x98\x80 */ double sum(int n, const double *x)\n{\n"
    "    double s = 0;\n    /* \xf0\x9f\x98\x80 */ for (int i = 0; i < n; i++)\n"
    "        s += x[i];\n    return s;\n}\r\n"
    "void set(int n, double *x)\n{\n    for (int i = 0; i < n; i++) x[i] = 1;\n}\n"};
static const document_case free_form = {
    "f.f90", "  !$omp parallel do reduction(+:s)",
    "! \xc3\xa9\xf0\x9f\x98\x80\nsubroutine f(a, s)\n  real(8) :: a(1000000), s\n"
    "  integer :: i\n  do i = 1, 1000000\n    s = s + a(i) ! \xf0\x9f\x98\x80\n  end do\n"
    "end subroutine\n"};
static const document_case fixed_form = {
    "f.f", "\n!$omp parallel do\n",
    "C     \xc3\xa9\n      subroutine f(a)\n      real a(1000000)\n"
    "      do 10 i = 1, 1000000\n   10 a(i) = 0\n      end\n"};

static hpc_text_position position(const hpc_json *v, const char *key)
{
    hpc_text_position p;
    const hpc_json *x = hpc_json_get(v, key);
    test_ok(hpc_json_int(&p.line, hpc_json_get(x, "line"), "line"));
    test_ok(hpc_json_int(&p.character, hpc_json_get(x, "character"), "character"));
    return p;
}

/* Applies the edits of the last action: those at the end of the file first. */
static void apply(hpc_document *d, const hpc_json *answer, hpc_position_unit unit, const char *uri)
{
    const hpc_json *actions = hpc_json_get(answer, "result");
    const hpc_json *action = hpc_json_at(actions, hpc_json_n(actions) - 1);
    const hpc_json *changes = hpc_json_get(hpc_json_get(action, "edit"), "changes");
    const hpc_json *edits = hpc_json_get(changes, uri);
    assert_true(hpc_json_n(edits) > 0);
    for (int64_t k = hpc_json_n(edits) - 1; k >= 0; k--) {
        const hpc_json *e = hpc_json_at(edits, k), *range = hpc_json_get(e, "range");
        const char *text;
        test_ok(hpc_json_text(&text, hpc_json_get(e, "newText"), "newText"));
        test_ok(hpc_document_edit(d, hpc_text_offset(&d->text, position(range, "start"), unit),
                                  hpc_text_offset(&d->text, position(range, "end"), unit), text,
                                  strlen(text)));
    }
}

static void fixes_equal(void **state, const document_case *of)
{
    static const char *const capabilities[] = {
        "{\"general\":{\"positionEncodings\":[\"utf-16\",\"utf-8\"]}}", "{}"};
    char path[PATH_MAX], program[PATH_MAX], fortran[PATH_MAX], uri[64], command[64], ask[512];
    hpc_checker_options checking = HPC_CHECKER_DEFAULTS;
    hpc_test_outcome out;
    hpc_buf fixed = {0};
    snprintf(uri, sizeof uri, "file:///tmp/%s", of->name);
    snprintf(command, sizeof command, "pragma @%s --fix -q", of->name);
    snprintf(ask, sizeof ask,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"textDocument/codeAction\",\"params\":{"
             "\"textDocument\":{\"uri\":\"%s\"},\"range\":{\"start\":{\"line\":0,\"character\":0},"
             "\"end\":{\"line\":0,\"character\":0}},\"context\":{\"diagnostics\":[],"
             "\"only\":[\"source.fixAll\"]}}}",
             uri);
    test_ok(hpc_file_save(hpc_test_path(path, *state, of->name), of->text, strlen(of->text)));
    hpc_test_command_in(&out, ((const hpc_test_folder *)*state)->root, command);
    assert_int_equal(out.code, 0);
    test_ok(hpc_file_read(&fixed, path, 1 << 20));
    assert_non_null(strstr(fixed.data, of->directive));
    checking.program = hpc_test_built(program, "hpccoder-clang");
    checking.fortran = hpc_test_built(fortran, "hpccoder-flang");
    for (int unit = 0; unit < 2; unit++) {
        hpc_lsp_options o = {0};
        hpc_documents d = {0};
        hpc_checker *checker;
        lsp_client c;
        test_ok(hpc_checker_open(&checker, &checking));
        o.checker = checker;
        client_open(&c, &o);
        client_begin(&c, capabilities[unit]);
        client_open_document(&c, uri, of->text);
        test_ok(hpc_documents_put(&d, uri, 1, of->text, strlen(of->text)));
        client_send(&c, ask);
        hpc_json *answer = client_answer(&c);
        apply(hpc_documents_find(&d, uri), answer, unit == 0 ? HPC_UNIT_UTF8 : HPC_UNIT_UTF16, uri);
        assert_string_equal(hpc_documents_find(&d, uri)->text.data, fixed.data);
        hpc_json_free(answer);
        client_ask(&c, SHUTDOWN);
        assert_int_equal(client_close(&c), 0);
        hpc_checker_close(checker);
        hpc_documents_release(&d);
    }
    hpc_buf_release(&fixed);
}

static void fixes_equal_those_of_the_command(void **state)
{
    NEED_LIBRARY;
    fixes_equal(state, &c_loops);
}

static void fixes_of_fortran_equal_those_of_the_command(void **state)
{
    NEED_FLANG;
    fixes_equal(state, &free_form);
    fixes_equal(state, &fixed_form);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fixes_equal_those_of_the_command, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(fixes_of_fortran_equal_those_of_the_command,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
