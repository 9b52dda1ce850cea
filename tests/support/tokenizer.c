/*
 * tokenizer.c: see tokenizer.h.
 */
#include "tests/support/tokenizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define BYTE_LEVEL "tests/fixtures/byte_level/"

hpc_tokenizer *hpc_test_tokenizer(const char *fixture, const char *const *more)
{
    hpc_buf text = {0}, path = {0};
    hpc_tokenizer *t = NULL;
    hpc_buf_printf(&path, BYTE_LEVEL "%s", fixture);
    assert_int_equal(hpc_file_read(&text, path.data, 1 << 20), 0);
    const char *at = strstr(text.data, "\"added_tokens\":[");
    assert_non_null(at);
    at += strlen("\"added_tokens\":[");
    hpc_buf edited = {0};
    hpc_buf_add(&edited, text.data, (size_t)(at - text.data));
    for (int k = 0; more[k]; k++)
        hpc_buf_printf(&edited,
                       "{\"id\":%d,\"content\":\"%s\",\"single_word\":false,\"lstrip\":false,"
                       "\"rstrip\":false,\"normalized\":false,\"special\":true},",
                       5000 + k, more[k]);
    hpc_buf_text(&edited, at);
    if (hpc_tokenizer_open_json(&t, edited.data, edited.n, fixture) < 0)
        fail_msg("%s", hpc_error_get()->text);
    hpc_buf_release(&edited);
    hpc_buf_release(&text);
    hpc_buf_release(&path);
    return t;
}
