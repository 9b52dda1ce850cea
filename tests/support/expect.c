/*
 * expect.c: see expect.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/expect.h"

void hpc_test_ok(int rc, const char *expr, const char *file, int line)
{
    if (rc >= 0) return;
    print_error("%s:%d: %s: %s\n", file, line, expr, hpc_error_get()->text);
    _assert_true(0, expr, file, line);
}

void hpc_test_fails(int rc, int code, const char *part, const char *file, int line)
{
    const char *text = hpc_error_get()->text;
    bool right = rc == code && strstr(text, part);
    if (!right)
        print_error("%s:%d: code %d, text '%s'; wanted %d, '%s'\n", file, line, rc, text, code,
                    part);
    hpc_error_clear();
    _assert_true(right, part, file, line);
}

hpc_json *hpc_test_json(const char *path)
{
    hpc_buf text = {0};
    hpc_json *root = NULL;
    test_ok(hpc_file_read_text(&text, path, 1 << 24));
    test_ok(hpc_json_parse(&root, text.data, text.n, path));
    hpc_buf_release(&text);
    return root;
}
