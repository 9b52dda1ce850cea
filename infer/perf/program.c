/*
 * Files that a measured program does not contain: tests, documents, examples, by their paths, and
 * sources that no target of its build compiles.
 *
 * Names are compared word by word, so that "unit-tests" and "test_data" are tests, "latest.c" is
 * not.
 */
#include <string.h>
#include <strings.h>

#include "infer/perf/change_priv.h"
#include "runtime/base/path.h"

/* ---- by path -------------------------------------------------------------------------------- */

static size_t word_length(const char *at, const char *end)
{
    const char *p = at;
    while (p < end && !strchr("_-.", *p)) p++;
    return (size_t)(p - at);
}

/* "tests", "unit-tests", "test_data", ".github" */
static bool is_folder_aside(const char *at, const char *end)
{
    static const char *const words[] = {
        "test",       "tests",    "testing",  "testsuite", "testsuites",
        "testcases",  "testdata", "unittest", "unittests", "gtest",
        "googletest", "mocks",    "doc",      "docs",      "documentation",
        "documents",  "manual",   "example",  "examples",  "tutorial",
        "tutorials",  "sample",   "samples",  "demo",      "demos",
        "fuzz",       "fuzzing",  "fuzzer",   "fuzzers",   "github",
        "gitlab",     "circleci", NULL};
    for (size_t n; at < end; at += n + 1) {
        n = word_length(at, end);
        if (perf_is_one_of(at, n, words)) return true;
    }
    return false;
}

/* "test.c", "test_x.c", "x_tests.cpp", "example.c"; but not "x_example.c". */
static bool is_file_aside(const char *name)
{
    static const char *const first[] = {"test",    "tests",    "unittest", "fuzz", "fuzzer",
                                        "example", "examples", "demo",     NULL};
    static const char *const last[] = {"test", "tests", "unittest", "unittests", "fuzzer", NULL};
    const char *end = strrchr(name, '.'), *word;
    if (!end || end == name) end = name + strlen(name);
    for (word = end; word > name && !strchr("_-", word[-1]);) word--;
    return perf_is_one_of(name, word_length(name, end), first) ||
           perf_is_one_of(word, (size_t)(end - word), last);
}

static bool has_word(const char *path, const char *word)
{
    size_t n = strlen(word);
    for (; *path; path++)
        if (strncasecmp(path, word, n) == 0) return true;
    return false;
}

/* Benchmarks often lie among the tests, and are what is measured. */
static bool is_benchmark(const char *path)
{
    return has_word(path, "bench") || has_word(path, "speed");
}

/* Prose, licences, settings of editors and of servers that build: no compiler reads them. */
static bool is_document(const char *name)
{
    static const char *const ends[] = {"md",  "markdown", "rst",   "adoc", "texi", "tex",
                                       "pod", "html",     "yml",   "yaml", "1",    "3",
                                       "pdf", "css",      "ipynb", NULL};
    static const char *const starts[] = {
        "README",        "LICENSE",       "LICENCE",  "COPYING", "AUTHORS",  "CONTRIBUT",
        "CHANGE",        "NEWS",          "INSTALL",  "THANKS",  "SECURITY", ".git",
        ".clang-format", ".editorconfig", ".mailmap", ".travis", NULL};
    const char *dot = strrchr(name, '.');
    if (dot && perf_is_one_of(dot + 1, strlen(dot + 1), ends)) return true;
    for (const char *const *s = starts; *s; s++)
        if (strncasecmp(name, *s, strlen(*s)) == 0) return true;
    return false;
}

static bool is_aside(const char *path)
{
    const char *name = path, *slash;
    bool folder = false;
    for (; (slash = strchr(name, '/')) != NULL; name = slash + 1)
        folder = folder || is_folder_aside(name, slash);
    if (hpc_perf_kind_of_path(path) == HPC_PERF_OTHER && is_document(name)) return true;
    return !is_benchmark(path) && (folder || is_file_aside(name));
}

/* ---- by build ------------------------------------------------------------------------------- */

static bool is_compiled_file(const char *path)
{
    static const char *const ends[] = {"c", "cc", "cpp", "cxx", "c++", "cu", "hip", NULL};
    const char *dot = strrchr(path, '.');
    return dot && perf_is_one_of(dot + 1, strlen(dot + 1), ends);
}

/* Paths of a build are absolute; those of a repository begin at its root. */
static bool is_built(const hpc_perf_program *p, const char *path)
{
    for (int64_t k = 0; k < p->built_n; k++)
        if (hpc_path_ends(p->built[k], path)) return true;
    return false;
}

static bool is_named(const hpc_perf_program *p, const char *path)
{
    for (int64_t k = 0; k < p->part_n; k++) {
        size_t n = strlen(p->part[k]);
        while (n > 0 && p->part[k][n - 1] == '/') n--;
        if (strncmp(path, p->part[k], n) == 0 && (path[n] == '/' || path[n] == '\0')) return true;
    }
    return false;
}

bool hpc_perf_program_has(const hpc_perf_program *p, const char *path)
{
    if (p && is_named(p, path)) return true;
    if (p && p->built_n > 0 && is_compiled_file(path)) return is_built(p, path);
    return !is_aside(path);
}
