/*
 * Tests of runtime/source/check_headers.c: standard headers that a file is known to include.
 */
/* tsan: left out, starts no thread. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/source/check_priv.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

static hpc_checker checker;

static void headers_are(void **state, hpc_language l, const char *text, const char *expected)
{
    char path[PATH_MAX], flag[PATH_MAX + 2];
    const hpc_test_folder *folder = *state;
    const char *flags[] = {flag, "-DGIVEN=1"};
    hpc_check_file f = {.c = &checker, .language = l, .text = text, .n = strlen(text)};
    hpc_buf out = {0};
    f.path = hpc_test_path(path, *state, "here.cpp");
    snprintf(flag, sizeof flag, "-I%s/include", folder->root);
    f.flags = flags;
    f.flags_n = 2;
    test_ok(check_headers_find(&f.headers, &f));
    test_ok(hpc_buf_text(&out, ""));
    test_ok(check_headers_text(&out, &f.headers));
    assert_string_equal(out.data, expected);
    hpc_buf_release(&out);
}

static void cpp_is(void **state, const char *text, const char *expected)
{
    headers_are(state, HPC_LANGUAGE_CPP, text, expected);
}

static void write_text(void **state, const char *name, const char *text)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, name), text, strlen(text)));
}

static void finds_headers_in_one_order(void **state)
{
    cpp_is(state, "// a\n#include <vector>\n/* b\n */ #  include \"map\"\n#include <stdio.h>\n",
           "#include <map>\n#include <vector>\n#include <stdio.h>\n");
    cpp_is(state, "", "");
    headers_are(state, HPC_LANGUAGE_C, "#include <stdio.h>\n", "");
}

static void stops_at_code(void **state)
{
    cpp_is(state, "#include <vector>\nint x;\n#include <map>\n", "#include <vector>\n");
    cpp_is(state, "#include <vector>\n#include <unknown.h>\n#include <map>\n",
           "#include <vector>\n");
    cpp_is(state, "#include <vector>\n#pragma pack(1)\n#include <map>\n", "#include <vector>\n");
    cpp_is(state, "#include <vector>\n#define GLOB \"/*\"\nint x; // */\n#include <map>\n",
           "#include <vector>\n");
}

static void stops_at_macros_that_headers_read(void **state)
{
    cpp_is(state, "#define N 3\n#include <vector>\n", "#include <vector>\n");
    cpp_is(state, "#define _GNU_SOURCE\n#include <vector>\n", "");
    cpp_is(state, "#define private public\n#include <vector>\n", "");
    cpp_is(state, "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n#include <vector>\n", "");
    cpp_is(state, "#ifndef _here_h\n#define _here_h\n#include <vector>\n#endif // _here_h\n",
           "#include <vector>\n");
}

static void enters_conditions_that_are_known(void **state)
{
    cpp_is(state, "#ifdef GIVEN\n#include <vector>\n#endif\n#include <map>\n",
           "#include <map>\n#include <vector>\n");
    cpp_is(state, "#ifdef OTHER\n#include <vector>\nint x;\n#endif\n#include <map>\n",
           "#include <map>\n");
    cpp_is(state, "#ifdef __OTHER\n#include <vector>\n#endif\n#include <map>\n", "");
    cpp_is(state, "#if OTHER > 2\nint x;\n#endif\n#include <map>\n", "");
    cpp_is(state, "#if OTHER > 2\n#error no\n#endif\n#include <map>\n", "#include <map>\n");
    cpp_is(state, "#ifdef OTHER\nint x;\n#else\nint y;\n#endif\n#include <map>\n", "");
}

static void reads_headers_of_the_project(void **state)
{
    write_text(state, "beside.h", "#pragma once\n#include <string>\n");
    write_text(state, "code.h", "#include <set>\nint x;\n");
    write_text(state, "include/found.h", "#include \"again.h\"\n#include <list>\n");
    write_text(state, "include/again.h", "#include <found.h>\n#include <deque>\n");
    write_text(state, "include/array", "#include <queue>\n");
    cpp_is(state, "#include \"beside.h\"\n#include <map>\n", "#include <map>\n#include <string>\n");
    cpp_is(state, "#include \"code.h\"\n#include <map>\n", "#include <set>\n");
    cpp_is(state, "#include <found.h>\n", "#include <deque>\n#include <list>\n");
    cpp_is(state, "#include <array>\n", "#include <queue>\n");
    cpp_is(state, "#include <beside.h>\n#include <map>\n", "");
}

/* Once libclang reports a missing header, it is ignored, or found next to the file. */
static void goes_on_after_missing_headers(void **state)
{
    write_text(state, "beside.h", "#pragma once\n#include <string>\n");
    hpc_check_file f = {.c = &checker};
    char flag[PATH_MAX + 2];
    const char *flags[] = {flag, "-DGIVEN=1"};
    snprintf(flag, sizeof flag, "-I%s/include", ((const hpc_test_folder *)*state)->root);
    f.flags = flags;
    f.flags_n = 2;
    test_ok(check_headers_add_missing(&f, "gone.h", 6));
    test_ok(check_headers_add_missing(&f, "beside.h", 8));
    cpp_is(state, "#include <gone.h>\n#include <map>\n", "#include <map>\n");
    cpp_is(state, "#include <beside.h>\n#include <map>\n", "#include <map>\n#include <string>\n");
}

static void compares_sets(void **state)
{
    const check_headers a = {{5, 0}}, b = {{7, 1}};
    (void)state;
    assert_true(check_headers_within(&a, &b));
    assert_false(check_headers_within(&b, &a));
    const check_headers c = check_headers_common(&a, &b);
    assert_memory_equal(&c, &a, sizeof c);
    assert_true(check_headers_ms(&b) > check_headers_ms(&a));
}

static int create(void **state)
{
    checker = (hpc_checker){.missing = hpc_map_create()};
    const int rc = hpc_test_folder_setup(state);
    if (rc == 0) {
        char path[PATH_MAX];
        test_ok(hpc_file_mkdir(hpc_test_path(path, *state, "include")));
    }
    return rc;
}

static int destroy(void **state)
{
    hpc_map_free(checker.missing);
    return hpc_test_folder_teardown(state);
}

#define EACH(f) cmocka_unit_test_setup_teardown(f, create, destroy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(finds_headers_in_one_order),
        EACH(stops_at_code),
        EACH(stops_at_macros_that_headers_read),
        EACH(enters_conditions_that_are_known),
        EACH(reads_headers_of_the_project),
        EACH(goes_on_after_missing_headers),
        EACH(compares_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
