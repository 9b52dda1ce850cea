/*
 * Files that a measured program does not contain: tests, documents, examples, by their paths, and
 * sources that no target of its build compiles.
 */
#include <string.h>
#include <strings.h>

#include "infer/perf/priv.h"

/* ---- by path -------------------------------------------------------------------------------- */

bool perf_is_one_of(const char *word, size_t n, const char *const *list)
{
    for (; *list; list++)
        if (strlen(*list) == n && strncasecmp(word, *list, n) == 0) return true;
    return false;
}

static bool is_folder_aside(const char *name, size_t n)
{
    static const char *const names[] = {
        "test",       "tests",      "testing",  "unittest", "unittests", "unit_test",
        "unit_tests", "unit-test",  "gtest",    "doc",      "docs",      "documentation",
        "documents",  "example",    "examples", "tutorial", "tutorials", "sample",
        "samples",    ".github",    "fuzz",     "fuzzing",  "fuzzer",    "fuzzers",
        "testsuite",  "test-suite", NULL};
    return perf_is_one_of(name, n, names);
}

/* "test_x.c", "x_test.c", "x_tests.cpp", "x_unittest.cc", "test.c" */
static bool is_file_aside(const char *name)
{
    static const char *const ends[] = {"test", "tests", "unittest", "unittests", NULL};
    const char *dot = strrchr(name, '.');
    size_t n = dot ? (size_t)(dot - name) : strlen(name), last = n;
    while (last > 0 && name[last - 1] != '_' && name[last - 1] != '-') last--;
    bool first = n > 5 && strncasecmp(name, "test", 4) == 0 && (name[4] == '_' || name[4] == '-');
    return first || perf_is_one_of(name + last, n - last, ends);
}

static bool is_aside(const char *path)
{
    const char *name = path, *slash;
    for (; (slash = strchr(name, '/')) != NULL; name = slash + 1)
        if (is_folder_aside(name, (size_t)(slash - name))) return true;
    return is_file_aside(name);
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
    size_t n = strlen(path);
    for (int64_t k = 0; k < p->built_n; k++) {
        size_t all = strlen(p->built[k]);
        if (all >= n && strcmp(p->built[k] + all - n, path) == 0 &&
            (all == n || p->built[k][all - n - 1] == '/'))
            return true;
    }
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
