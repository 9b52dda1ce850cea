/*
 * Tests of infer/perf/change.c, match.c, lines.c and cache.c: files and functions that a commit
 * changed, line by line, and changes that cannot be analysed.
 */
/* tsan: left out, starts no thread. */
#include "tests/perf/history.h"

/* "path: base name -> name @base lines -> head lines [edits]" a line for each function. */
static void describe(hpc_buf *out, const history *h)
{
    static const char *const states[] = {"new", "gone", "changed"};
    const hpc_perf_change *c = &h->change;
    out->n = 0;
    hpc_buf_text(out, "");
    for (int64_t k = 0; k < c->n; k++) {
        const hpc_perf_function *f = &c->function[k];
        hpc_buf_printf(out, "%s: %s", name_of(h, c->file[f->file].path), states[f->state]);
        if (f->base_file != f->file)
            hpc_buf_printf(out, " from %s", name_of(h, c->file[f->base_file].path));
        hpc_buf_printf(out, " '%s'", name_of(h, f->name));
        if (strcmp(name_of(h, f->name), name_of(h, f->base_name)) != 0)
            hpc_buf_printf(out, " was '%s'", name_of(h, f->base_name));
        if (f->same_code) hpc_buf_text(out, " alike");
        if (f->base.source) hpc_buf_printf(out, " %u-%u", f->base.line, f->base.end_line);
        if (f->head.source) hpc_buf_printf(out, " > %u-%u", f->head.line, f->head.end_line);
        hpc_buf_printf(out, " -%d +%d", (int)f->lines_removed, (int)f->lines_added);
        for (int64_t i = f->first; i < f->first + f->edits_n; i++)
            hpc_buf_printf(out, " [%u,%u>%u,%u]", c->edit[i].base_line, c->edit[i].base_n,
                           c->edit[i].head_line, c->edit[i].head_n);
        hpc_buf_text(out, "\n");
    }
    assert_int_equal(out->failed, 0);
}

static void expect(history *h, int from, int to, const char *expected)
{
    hpc_buf text = {0};
    look(h, from, to);
    describe(&text, h);
    assert_string_equal(text.data, expected);
    hpc_buf_release(&text);
}

static const char two[] = "int f(int n)\n{\n    n++;\n    return n;\n}\n\nstatic int g;\n\n"
                          "int k(int n)\n{\n    return n * 2;\n}\n";

static void test_functions(void **state)
{
    history h = {.p = *state};
    commit_from(&h, 0);
    with(&h, "a.c", two);
    commit_from(&h, 1); /* 2: a line more, a line other, one outside */
    with(&h, "a.c",
         "int f(int n)\n{\n    n++;\n    n++;\n    return n;\n}\n\nstatic long g;\n\nint k(int n)\n"
         "{\n    return n * 3;\n}\n");
    commit_from(&h, 1); /* 3: a comment */
    with(&h, "a.c",
         "int f(int n)\n{\n    n++; // more\n    return n;\n}\n\nstatic int g;\n\n"
         "int k(int n)\n{\n    return n * 2;\n}\n");
    commit_from(&h, 1); /* 4: k has another name, and is before f */
    with(&h, "a.c",
         "static int g;\n\nint twice(int n)\n{\n    return n * 2;\n}\n\n"
         "int f(int n)\n{\n    n++;\n    return n;\n}\n");
    commit_from(&h, 1); /* 5: k in another file, changed; f merely moved */
    with(&h, "a.c", "static int g;\n");
    with(&h, "b.c",
         "int k(int n)\n{\n    return n * 4;\n}\nint f(int n)\n{\n    n++;\n    return n;\n}\n");
    history_open(&h, NULL);
    expect(&h, 1, 2,
           "a.c: changed 'f' 1-5 > 1-6 -0 +1 [4,0>4,1]\n"
           "a.c: changed 'k' 9-12 > 10-13 -1 +1 [11,1>12,1]\n"
           "a.c: changed '' 1-12 > 1-13 -1 +1 [7,1>8,1]\n");
    expect(&h, 1, 3, "a.c: changed 'f' alike 1-5 > 1-5 -1 +1 [3,1>3,1]\n");
    expect(&h, 1, 4,
           "a.c: changed 'twice' was 'k' 9-12 > 3-6 -1 +1 [9,1>3,1]\n"
           "a.c: changed '' alike 1-12 > 1-12 -1 +1 [6,1>1,0] [8,0>2,1]\n");
    expect(&h, 1, 5,
           "a.c: changed '' alike 1-12 > 1-1 -2 +0 [6,1>1,0] [8,1>2,0]\n"
           "b.c: changed from a.c 'k' 9-12 > 1-4 -1 +1 [11,1>3,1]\n"
           "b.c: new '' > 1-9 -0 +0\n");
    expect(&h, 1, 1, "");
    assert_int_equal(h.change.files_n, 0);
    expect(&h, 0, 1,
           "a.c: new 'f' > 1-5 -0 +5\na.c: new 'k' > 9-12 -0 +4\na.c: new '' > 1-12 -0 +3\n");
    history_close(&h);
}

/* Overloads are distinguished by their contents, not by order. */
static void test_overloads(void **state)
{
    history h = {.p = *state};
    const char *one = "void put(int x)\n{\n    stream.write(&x, sizeof x);\n    count += 1;\n}\n";
    const char *other = "void put(const char *s)\n{\n    while (*s) letter(*s++);\n    end();\n}\n";
    char text[512];
    snprintf(text, sizeof text, "%s%s", one, other);
    commit_from(&h, 0);
    with(&h, "a.cpp", text);
    snprintf(text, sizeof text, "%s%s%s",
             "void put(const char *s)\n{\n    while (*s) letter(*s++);\n"
             "    done();\n}\n",
             "void put(int x)\n{\n    stream.write(&x, sizeof x);\n"
             "    count += 2;\n}\n",
             "void put(Cell c)\n{\n    cells[c.x][c.y] = c;\n}\n");
    commit_from(&h, 1);
    with(&h, "a.cpp", text);
    history_open(&h, NULL);
    expect(&h, 1, 2,
           "a.cpp: changed 'put' 6-10 > 1-5 -1 +1 [9,1>4,1]\n"
           "a.cpp: changed 'put' 1-5 > 6-10 -1 +1 [4,1>9,1]\n"
           "a.cpp: new 'put' > 11-14 -0 +4\n");
    history_close(&h);
}

static void test_languages(void **state)
{
    history h = {.p = *state};
    commit_from(&h, 0);
    with(&h, "m.f90",
         "module m\ncontains\nsubroutine s(x)\n  real x\n  x = 1\ncontains\n  function g(y)\n"
         "    g = y\n  end function\nend subroutine\nend module\n");
    with(&h, "a.hpp",
         "namespace n {\ntemplate <class T> struct A {\n  T get() const { return v; }\n"
         "  A &operator+=(T x) { v += x; return *this; }\n  T v;\n};\n}\n");
    with(&h, "k.cu", "__global__ void k(float *x)\n{\n    x[0] = 1;\n}\n");
    with(&h, "m.h", "#define TWICE(x) (2 * (x))\n");
    commit_from(&h, 1);
    with(&h, "m.f90",
         "module m\ncontains\nsubroutine s(x)\n  real x\n  x = 1\ncontains\n  function g(y)\n"
         "    g = y + 1\n  end function\nend subroutine\nend module\n");
    with(&h, "a.hpp",
         "namespace n {\ntemplate <class T> struct A {\n  T get() const { return v; }\n"
         "  A &operator+=(T x) { v += 2 * x; return *this; }\n  T v;\n};\n}\n");
    with(&h, "k.cu", "__global__ void k(float *x)\n{\n    x[0] = 2;\n}\n");
    with(&h, "m.h", "#define TWICE(x) ((x) + (x))\n");
    history_open(&h, NULL);
    expect(&h, 1, 2,
           "a.hpp: changed 'operator+=' 4-4 > 4-4 -1 +1 [4,1>4,1]\n"
           "k.cu: changed 'k' 1-4 > 1-4 -1 +1 [3,1>3,1]\n"
           "m.f90: changed 'g' 7-9 > 7-9 -1 +1 [8,1>8,1]\n"
           "m.h: changed '' 1-1 > 1-1 -1 +1 [1,1>1,1]\n");
    history_close(&h);
}

/* A file that was renamed is one file, whether it was changed or not. */
static void test_renames(void **state)
{
    history h = {.p = *state};
    const char *changed = "int f(int n)\n{\n    n--;\n    return n;\n}\n\nstatic int g;\n\n"
                          "int k(int n)\n{\n    return n * 2;\n}\n";
    commit_from(&h, 0);
    with(&h, "old/a.c", two);
    with(&h, "old/Makefile", "all: a b c d e f g h\n\tcc -O2 -o x a.c b.c c.c d.c -lm\n");
    commit_from(&h, 1);
    without(&h, "old/a.c");
    with(&h, "new/b.c", changed);
    without(&h, "old/Makefile");
    with(&h, "new/Makefile", "all: a b c d e f g h\n\tcc -O3 -o x a.c b.c c.c d.c -lm\n");
    commit_from(&h, 1);
    without(&h, "old/a.c");
    with(&h, "c.c", two);
    commit_from(&h, 1);
    without(&h, "old/a.c");
    with(&h, "c.c", "double other(double x) { return x * x + 1; }\n");
    history_open(&h, NULL);
    expect(&h, 1, 2,
           "new/Makefile: changed '' 1-2 > 1-2 -1 +1 [2,1>2,1]\n"
           "new/b.c: changed 'f' 1-5 > 1-5 -1 +1 [3,1>3,1]\n");
    assert_int_equal(h.change.files_n, 2);
    assert_string_equal(name_of(&h, h.change.file[1].base_path), "old/a.c");
    assert_int_equal(h.change.file[1].state, HPC_PERF_MODIFIED);
    expect(&h, 1, 3, "");
    assert_int_equal(h.change.files_n, 1);
    assert_string_equal(name_of(&h, h.change.file[0].path), "c.c");
    assert_true(value_of(&h.features.commit, "no_effect") == 1);
    look(&h, 1, 4);
    assert_int_equal(h.change.files_n, 2);
    assert_int_equal(h.change.file[0].state, HPC_PERF_ADDED);
    assert_int_equal(h.change.file[1].state, HPC_PERF_DELETED);
    assert_true(value_of(&h.features.commit, "functions_removed") > 0);
    history_close(&h);
}

/* A merge against its first parent is what came from the other side. */
static void test_merges(void **state)
{
    history h = {.p = *state};
    commit_from(&h, 0);
    with(&h, "a.c", "int f(void) { return 1; }\n");
    with(&h, "b.c", "int g(void) { return 1; }\n");
    commit_from(&h, 1);
    with(&h, "a.c", "int f(void) { return 2; }\n");
    commit_from(&h, 1);
    with(&h, "b.c", "int g(void) { return 3; }\n");
    commit_from(&h, 2);
    hpc_buf_text(&h.stream, "merge :3\n");
    with(&h, "b.c", "int g(void) { return 3; }\n");
    history_open(&h, NULL);
    expect(&h, 2, 4, "b.c: changed 'g' 1-1 > 1-1 -1 +1 [1,1>1,1]\n");
    expect(&h, 3, 4, "a.c: changed 'f' 1-1 > 1-1 -1 +1 [1,1>1,1]\n");
    history_close(&h);
}

static const char *skip_of(const history *h, const char *path)
{
    for (int64_t k = 0; k < h->change.files_n; k++)
        if (strcmp(name_of(h, h->change.file[k].path), path) == 0)
            return hpc_perf_skip_name(h->change.file[k].skip);
    return NULL;
}

/* Skipped changes are reported, and not taken for no change. */
static void test_skipped(void **state)
{
    history h = {.p = *state};
    hpc_perf_limits limits = HPC_PERF_LIMITS_DEFAULTS;
    hpc_buf large = {0};
    while (large.n < 5000) hpc_buf_text(&large, "int x;\n");
    commit_from(&h, 0);
    with(&h, "a.c", "int f(void) { return 1; }\n");
    commit_from(&h, 1);
    with_bytes(&h, "bytes.c", "int x;\0\1\2", 9);
    with_bytes(&h, "large.c", large.data, large.n);
    with(&h, "notes.txt", "1");
    with(&h, "mesh.dat", "1");
    with(&h, "a.c", "int f(void) { return 2; }\n");
    with(&h, "empty.c", "");
    commit_from(&h, 2);
    hpc_buf_printf(&h.stream, "M 160000 %040d lib\n", 7);
    commit_from(&h, 3);
    hpc_buf_printf(&h.stream, "M 160000 %040d lib\n", 8);
    hpc_buf_text(&h.stream, "M 120000 inline link.c\ndata 3\na.c\n");
    limits.file_bytes = 4096;
    history_open(&h, &limits);
    look(&h, 1, 2);
    assert_string_equal(skip_of(&h, "bytes.c"), "binary");
    assert_string_equal(skip_of(&h, "large.c"), "too large");
    assert_string_equal(skip_of(&h, "a.c"), "");
    assert_string_equal(skip_of(&h, "empty.c"), "");
    assert_null(skip_of(&h, "notes.txt"));
    assert_int_equal(h.change.skipped_n, 2);
    assert_int_equal(h.change.other_n, 2);
    assert_true(value_of(&h.features.commit, "skipped_files") > 1);
    assert_true(value_of(&h.features.commit, "other_files") > 1);
    assert_true(function_named(&h, "f") >= 0);
    look(&h, 2, 3);
    assert_int_equal(h.change.modules_n, 1);
    look(&h, 3, 4);
    assert_int_equal(h.change.modules_n, 1);
    assert_int_equal(h.change.files_n, 0);
    assert_true(value_of(&h.features.commit, "submodules") == 1);
    assert_true(value_of(&h.features.commit, "no_effect") == 0);
    history_close(&h);
    hpc_buf_release(&large);
}

/* All files of a change together; more files than are looked at; a commit that is not there. */
static void test_limits(void **state)
{
    history h = {.p = *state};
    hpc_perf_limits limits = HPC_PERF_LIMITS_DEFAULTS;
    commit_from(&h, 0);
    commit_from(&h, 1);
    for (int k = 0; k < 8; k++) {
        char path[16], text[1024];
        snprintf(path, sizeof path, "f%d.c", k);
        snprintf(text, sizeof text, "int f%d(void) { return 1; }\n%*s\n", k, 900, "");
        with(&h, path, text);
    }
    limits.change_bytes = 5000;
    limits.files = 8;
    history_open(&h, &limits);
    look(&h, 1, 2);
    assert_int_equal(h.change.files_n, 8);
    assert_int_equal(h.change.skipped_n, 3);
    assert_false(h.change.too_many);
    hpc_perf_reader_free(h.reader);
    limits.files = 7;
    assert_int_equal(hpc_perf_reader_create(&h.reader, h.git, &limits), 0);
    look(&h, 1, 2);
    assert_true(h.change.too_many);
    assert_int_equal(h.change.files_n, 0);
    assert_true(value_of(&h.features.commit, "no_effect") == 0);
    assert_int_equal(hpc_error_get()->code, 0);
    hpc_git_id none;
    assert_true(hpc_git_id_parse(&none, "0123456789abcdef0123456789abcdef01234567"));
    assert_int_equal(hpc_perf_change_read(&h.change, h.reader, &h.id[1], &none), HPC_GIT_ABSENT);
    assert_true(strlen(h.change.names.data) > 0);
    history_close(&h);
}

/* The head of one commit is the base of the next and is read once; entries evicted from a small
 * cache are read again, with the same result. */
static void test_cache(void **state)
{
    enum { N = 40 };
    history h = {.p = *state};
    hpc_perf_limits limits = HPC_PERF_LIMITS_DEFAULTS;
    hpc_perf_vector first[N + 1];
    for (int k = 0; k <= N; k++) {
        char text[256];
        commit_from(&h, k);
        snprintf(text, sizeof text, "int f(int n) { for (;;) n = g(%d, n / %d); }\n", k, k % 3);
        with(&h, "a.c", text);
    }
    history_open(&h, NULL);
    for (int k = 1; k <= N; k++) {
        look(&h, k, k + 1);
        first[k] = h.features.commit;
    }
    int64_t read, kept;
    hpc_perf_reader_counts(&read, &kept, h.reader);
    assert_int_equal(read, N + 1);
    assert_int_equal(kept, N - 1);
    hpc_perf_reader_free(h.reader);
    limits.cache_bytes = 0;
    assert_int_equal(hpc_perf_reader_create(&h.reader, h.git, &limits), 0);
    for (int k = 1; k <= N; k++) {
        look(&h, k, k + 1);
        assert_memory_equal(&first[k], &h.features.commit, sizeof first[k]);
    }
    for (int k = N; k >= 1; k--) look(&h, k, N + 1);
    hpc_perf_reader_counts(&read, &kept, h.reader);
    assert_int_equal(read, N + 1 + N - 1);
    history_close(&h);
}

static int all_of_it(void *user)
{
    history *h = user;
    hpc_perf_reader *r = NULL;
    hpc_perf_scanner *s = NULL;
    hpc_perf_change c = {0};
    hpc_perf_features f = {0};
    hpc_perf_reasons why = {0};
    int rc = HPC_OK;
    TRY(hpc_perf_reader_create(&r, h->git, NULL));
    TRY(hpc_perf_scanner_create(&s));
    for (int k = 0; k < h->commits_n; k++) {
        TRY(hpc_perf_change_read(&c, r, &h->id[k], &h->id[k + 1]));
        TRY(hpc_perf_features_find(&f, s, &c));
        TRY(hpc_perf_reasons_find(&why, &f, -1, NULL, 10));
    }
out:
    hpc_perf_reasons_release(&why);
    hpc_perf_features_release(&f);
    hpc_perf_change_release(&c);
    hpc_perf_scanner_free(s);
    hpc_perf_reader_free(r);
    return rc;
}

static void test_without_memory(void **state)
{
    history h = {.p = *state};
    commit_from(&h, 0);
    with(&h, "a.c", two);
    with(&h, "m.f90",
         "subroutine s(x, n)\n  do i = 1, n\n    x(i) = 1\n  end do\nend subroutine\n");
    with(&h, "Makefile", "all: x\n\tcc -O2 x.c\n");
    commit_from(&h, 1);
    without(&h, "a.c");
    with(&h, "b.cpp",
         "int f(int m)\n{\n    m++;\n    return m;\n}\n\nstatic int g;\n\nint k(std::vector<int> "
         "n)\n"
         "{\n    for (auto x : n) while (x--) n[x] = 3;\n    return n * 3;\n}\n");
    with(&h, "m.f90",
         "subroutine s(x, n)\n  do i = 1, n\n    x(i) = 2\n  end do\nend subroutine\n");
    with(&h, "Makefile", "all: x\n\tcc -O0 x.c\n");
    history_open(&h, NULL);
    assert_true(hpc_test_each_alloc(all_of_it, &h) > 100);
    hpc_test_fault_reset();
    history_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_functions, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_overloads, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_languages, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_renames, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_merges, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_skipped, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_limits, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_cache, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_without_memory, place_setup, place_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
