/*
 * Tests of runtime/source/check_words.c and check_flags.c: splitting commands, paths, flags that
 * are kept, and the entry of compile_commands.json for a file.
 */
/* tsan: left out, starts no thread. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/source/check_priv.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"

#define OK(expr)                                                                                   \
    do {                                                                                           \
        if ((expr) < 0) fail_msg("%s: %s", #expr, hpc_error_get()->text);                          \
    } while (0)

static void joined(char out[4096], const char *const *item, int64_t n)
{
    size_t at = 0;
    out[0] = '\0';
    for (int64_t i = 0; i < n; i++)
        at += (size_t)snprintf(out + at, 4096 - at, "%s%s", i > 0 ? "|" : "", item[i]);
}

static void expect_error(int rc, int code, const char *text)
{
    assert_int_equal(rc, code);
    if (!strstr(hpc_error_get()->text, text))
        fail_msg("\"%s\" does not say: %s", hpc_error_get()->text, text);
    hpc_error_clear();
}

/* ---- words and paths ------------------------------------------------------------------------ */

static void words_of_a_command(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"  \t\n ", ""},
        {"cc", "cc"},
        {" cc  -c\tx.c \n", "cc|-c|x.c"},
        {"cc '-DA=a b' \"-DB=c d\"", "cc|-DA=a b|-DB=c d"},
        {"-DS=\\\"x\\\"", "-DS=\"x\""},
        {"\"-DS=\\\"a\\\\b\\\"\"", "-DS=\"a\\b\""},
        {"'-DS=\"\\n\"'", "-DS=\"\\n\""},
        {"\"\\n\\$x\\`\"", "\\n$x`"},
        {"a\\ b c\\\nd", "a b|cd"},
        {"a\"b\"'c'd", "abcd"},
        {"'' x \"\"", "|x|"},
        {"$(rm) `x` ; | & > < * ~ $HOME", "$(rm)|`x`|;|||&|>|<|*|~|$HOME"},
        {"a\\", "a\\"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hpc_arena *a = hpc_arena_create(0);
        const char **word;
        int64_t n;
        char text[4096];
        OK(check_words(&word, &n, a, cases[k][0]));
        joined(text, word, n);
        assert_string_equal(text, cases[k][1]);
        hpc_arena_free(a);
    }
}

static void quotes_that_stay_open(void **state)
{
    (void)state;
    static const char *const cases[] = {"cc 'x", "cc \"x", "\"\\\"", "a'b'c'"};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hpc_arena *a = hpc_arena_create(0);
        const char **word;
        int64_t n;
        expect_error(check_words(&word, &n, a, cases[k]), HPC_E_FORMAT, "a quote is not closed");
        hpc_arena_free(a);
    }
}

static void paths_without_dots(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"/a", "b.c", "/a/b.c"},    {"/a", "/b/c", "/b/c"}, {"/a/b", "../c/./d", "/a/c/d"},
        {"/a", "../../../x", "/x"}, {"/", ".", "/"},        {"/a//b/", "c//d", "/a/b/c/d"},
        {"/a", "...", "/a/..."},    {"/a", "b/..", "/a"},   {"/a/b", "..x/.y", "/a/b/..x/.y"},
    };
    hpc_arena *a = hpc_arena_create(0);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        assert_string_equal(check_path(a, cases[k][0], cases[k][1]), cases[k][2]);
    hpc_arena_free(a);
}

/* ---- a list --------------------------------------------------------------------------------- */

static void given(const char *words, const char *folder, const char *expected)
{
    hpc_arena *a = hpc_arena_create(0);
    hpc_check_flags f;
    const char **word;
    int64_t n;
    char text[4096];
    OK(check_words(&word, &n, a, words));
    const char **list = hpc_arena_alloc(a, (size_t)n + 1, sizeof *list);
    for (int64_t i = 0; i < n; i++) list[i] = word[i];
    OK(hpc_check_flags_given(&f, list, folder));
    joined(text, f.item, f.n);
    assert_string_equal(text, expected);
    assert_null(f.item[f.n]);
    assert_null(f.from);
    hpc_check_flags_release(&f);
    hpc_arena_free(a);
}

static void flags_that_are_kept(void **state)
{
    (void)state;
    given("-Iinc -I /abs -I../up", "/p/q", "-I/p/q/inc|-I/abs|-I/p/up");
    given("-isystem sys -iquotehere -idirafter a", "/p",
          "-isystem|/p/sys|-iquote|/p/here|-idirafter|/p/a");
    given("-DA -DB=1 -D C=2 -UD -U E", "/p", "-DA|-DB=1|-DC=2|-UD|-UE");
    given("-std=c++17 -ansi -O2 -march=native -mavx2 -mno-avx512f -mfma -pthread", "/p",
          "-std=c++17|-ansi|-O2|-march=native|-mavx2|-mno-avx512f|-mfma|-pthread");
    given("-fopenmp -qopenmp -mp", "/p", "-fopenmp|-fopenmp-version=51");
    given("-fiopenmp", "/p", "-fopenmp|-fopenmp-version=51");
    given("--sysroot=root --sysroot other -isysroot x", "/p",
          "--sysroot=/p/root|--sysroot=/p/other|-isysroot|/p/x");
    given("-include no/such.h -fno-rtti -fno-exceptions", "/p",
          "-include|no/such.h|-fno-rtti|-fno-exceptions");
    given("-target aarch64-linux-gnu --target=x86_64-linux-gnu", "/p",
          "-target|aarch64-linux-gnu|--target=x86_64-linux-gnu");
    given("-Xcompiler -fopenmp -gencode arch=compute_80,code=sm_80 -x cu k.cu", "/p",
          "-fopenmp|-fopenmp-version=51");
    given("", "/p", "");
}

static void flags_that_are_dropped(void **state)
{
    (void)state;
    given("-c x.c -o x.o -MD -MF x.d -MT x -MMD -MP -Wall -Werror -g -fPIC", "/p", "");
    given("-fplugin=/evil.so -load /evil.so -fpass-plugin=/evil.so -specs=/evil -B/evil", "/p", "");
    given("-Xclang -load -Xclang /evil.so -Xclang -plugin -Xclang -DX", "/p", "");
    given("-mllvm -load=/evil.so -Xlinker -I/x -Xpreprocessor -DX -Xassembler -DX", "/p", "");
    given("@/evil.rsp --config=/evil -save-temps -fmodules -fmodules-cache-path=/x", "/p", "");
    given("-include-pch /evil.pch -ftime-trace=/x -fdump-record-layouts -emit-llvm -E", "/p", "");
    given("-fprofile-instr-generate=/x -frecord-command-line -dependency-file /x", "/p", "");
    given("-o -I/taken -MF -DTAKEN -x -DTAKEN", "/p", "");
    given("-targets -I", "/p", "");
}

/* ---- compile_commands.json ------------------------------------------------------------------ */

static void put(const hpc_test_folder *f, const char *text)
{
    char path[PATH_MAX];
    OK(hpc_file_save(hpc_test_path(path, f, "compile_commands.json"), text, strlen(text)));
}

static void find(const hpc_test_folder *f, const char *path, const char *from, bool exact,
                 const char *expected)
{
    hpc_check_flags flags;
    char text[4096];
    OK(hpc_check_flags_find(&flags, f->root, path));
    joined(text, flags.item, flags.n);
    assert_string_equal(text, expected);
    if (from)
        assert_string_equal(flags.from, from);
    else
        assert_null(flags.from);
    assert_int_equal(flags.exact, exact);
    hpc_check_flags_release(&flags);
}

static void both_forms(void **state)
{
    const hpc_test_folder *f = *state;
    put(f, "[{\"directory\":\"/b\",\"file\":\"../s/a.c\","
           "\"arguments\":[\"cc\",\"-Iinc\",\"-DN=a b\",\"-c\",\"../s/a.c\"]},"
           "{\"directory\":\"/b\",\"file\":\"/s/b.c\","
           "\"command\":\"/usr/bin/cc -Iinc '-DN=c d' -DS=\\\\\\\"x\\\\\\\" -o b.o -c /s/b.c\"}]");
    find(f, "/s/a.c", "/s/a.c", true, "-I/b/inc|-DN=a b");
    find(f, "/s/./t/../b.c", "/s/b.c", true, "-I/b/inc|-DN=c d|-DS=\"x\"");
    hpc_check_flags flags;
    char path[PATH_MAX];
    OK(hpc_check_flags_find(&flags, hpc_test_path(path, f, "compile_commands.json"), "/s/a.c"));
    assert_int_equal(flags.n, 2);
    hpc_check_flags_release(&flags);
}

static void the_nearest_entry(void **state)
{
    const hpc_test_folder *f = *state;
    put(f, "[{\"directory\":\"/p\",\"file\":\"lib/x.c\",\"command\":\"cc -DX\"},"
           "{\"directory\":\"/p\",\"file\":\"lib/deep/y.cpp\",\"command\":\"c++ -DY\"},"
           "{\"directory\":\"/p\",\"file\":\"app/z.c\",\"command\":\"cc -DZ\"},"
           "{\"directory\":\"/p\",\"file\":\"app/x.c\",\"command\":\"cc -DX2\"},"
           "{\"directory\":\"/p\",\"file\":\"app/z.c\",\"command\":\"cc -DAGAIN\"}]");
    find(f, "/p/app/z.c", "/p/app/z.c", true, "-DZ");             /* the first of two */
    find(f, "/p/include/z.h", "/p/app/z.c", false, "-DZ");        /* the stem */
    find(f, "/p/app/x.h", "/p/app/x.c", false, "-DX2");           /* the nearer of two */
    find(f, "/p/app/new.c", "/p/app/z.c", false, "-DZ");          /* the folder */
    find(f, "/p/app/new.cpp", "/p/lib/deep/y.cpp", false, "-DY"); /* the language */
    find(f, "/p/lib/deep/new.hpp", "/p/lib/deep/y.cpp", false, "-DY");
    find(f, "/p/lib/deep/new.h", "/p/lib/deep/y.cpp", false, "-DY");
    find(f, "/elsewhere/new.c", "/p/lib/x.c", false, "-DX");
    put(f, "[]");
    find(f, "/p/app/z.c", NULL, false, "");
}

static void folders_of_entries(void **state)
{
    const hpc_test_folder *f = *state;
    char expected[PATH_MAX], path[PATH_MAX];
    put(f, "[{\"directory\":\"sub\",\"file\":\"a.c\",\"command\":\"cc -I.\"},"
           "{\"file\":\"b.c\",\"command\":\"cc -I.\"}]");
    snprintf(expected, sizeof expected, "-I%.200s/sub", f->root);
    hpc_test_path(path, f, "sub/a.c");
    find(f, path, path, true, expected);
    snprintf(expected, sizeof expected, "-I%.200s", f->root);
    hpc_test_path(path, f, "b.c");
    find(f, path, path, true, expected);
}

static void bad_databases(void **state)
{
    const hpc_test_folder *f = *state;
    static const char *const cases[][2] = {
        {"{", "compile_commands.json:1:"},
        {"{}", "is not a list of commands"},
        {"[1]", "entry 1: is not an object"},
        {"[{\"directory\":\"/\",\"command\":\"cc\"}]", "entry 1: file"},
        {"[{\"file\":\"a.c\",\"directory\":3,\"command\":\"cc\"}]", "entry 1: directory"},
        {"[{\"file\":7,\"directory\":\"/\"}]", "entry 1: file"},
        {"[{\"file\":\"q.c\",\"directory\":\"/\",\"command\":\"cc\"},{\"file\":\"a.c\","
         "\"directory\":\"/\",\"command\":\"cc 'x\"}]",
         "entry 2: a quote is not closed"},
        {"[{\"file\":\"a.c\",\"directory\":\"/\"}]", "entry 1: command"},
        {"[{\"file\":\"a.c\",\"directory\":\"/\",\"arguments\":\"cc\"}]",
         "entry 1: arguments is not a list"},
        {"[{\"file\":\"a.c\",\"directory\":\"/\",\"arguments\":[\"cc\",{}]}]",
         "entry 1: arguments"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hpc_check_flags flags;
        put(f, cases[k][0]);
        expect_error(hpc_check_flags_find(&flags, f->root, "/a.c"), HPC_E_FORMAT, cases[k][1]);
        assert_null(flags.arena);
    }
    hpc_check_flags flags;
    expect_error(hpc_check_flags_find(&flags, "/no/such", "/a.c"), HPC_E_IO, "/no/such");
}

/* An entry may request anything; the flags that are kept can only read. */
static void a_hostile_database(void **state)
{
    const hpc_test_folder *f = *state;
    put(f, "[{\"directory\":\"/d\",\"file\":\"a.c\",\"arguments\":[\"rm\",\"-rf\",\"/\","
           "\"-fplugin=./x.so\",\"-Xclang\",\"-load\",\"-Xclang\",\"./x.so\",\"@args\","
           "\"-o\",\"/etc/passwd\",\"-MF\",\"/etc/shadow\",\"-wrapper\",\"sh\",\"-B\",\".\","
           "\"-DOK\",\"-D\"]}]");
    find(f, "/d/a.c", "/d/a.c", true, "-DOK");
    put(f, "[{\"directory\":\"/d\",\"file\":\"a.c\",\"arguments\":[]},"
           "{\"directory\":\"/d\",\"file\":\"b.c\",\"command\":\"\"}]");
    find(f, "/d/a.c", "/d/a.c", true, "");
    find(f, "/d/b.c", "/d/b.c", true, "");
}

static int find_once(void *user)
{
    const hpc_test_folder *f = user;
    hpc_check_flags flags;
    int rc = hpc_check_flags_find(&flags, f->root, "/p/include/a.h");
    if (rc == HPC_OK) assert_int_equal(flags.n, 4);
    hpc_check_flags_release(&flags);
    return rc;
}

static int given_once(void *user)
{
    (void)user;
    static const char *const list[] = {"-I", "x", "-isystem", "y", "-fopenmp", "-DN", NULL};
    hpc_check_flags flags;
    int rc = hpc_check_flags_given(&flags, list, "folder");
    if (rc == HPC_OK) assert_int_equal(flags.n, 6);
    hpc_check_flags_release(&flags);
    return rc;
}

static void each_allocation(void **state)
{
    put(*state, "[{\"directory\":\"/p\",\"file\":\"a.c\",\"command\":\"cc -Ix -fopenmp -DN\"}]");
    assert_true(hpc_test_each_alloc(find_once, *state) > 4);
    assert_true(hpc_test_each_alloc(given_once, NULL) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_a_command),
        cmocka_unit_test(quotes_that_stay_open),
        cmocka_unit_test(paths_without_dots),
        cmocka_unit_test(flags_that_are_kept),
        cmocka_unit_test(flags_that_are_dropped),
        cmocka_unit_test_setup_teardown(both_forms, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(the_nearest_entry, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(folders_of_entries, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(bad_databases, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(a_hostile_database, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(each_allocation, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
