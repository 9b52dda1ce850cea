/*
 * Tests of corpus/pack_scan.c and pack_order.c: dependencies of files, and their order.
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

#include "corpus/pack.h"
#include "tests/support/fault.h"

/* ---- scanning ---- */

/* Records are shown with a blank in place of their NUL. */
static void scans(const char *text, hpc_language l, const char *expected)
{
    hpc_buf b = {0};
    assert_int_equal(pack_scan(&b, text, strlen(text), l), 0);
    for (size_t k = 0; k < b.n; k++)
        if (!b.data[k]) b.data[k] = ' ';
    assert_string_equal(b.n ? b.data : "", expected);
    hpc_buf_release(&b);
}

static void test_includes(void **state)
{
    (void)state;
    scans("#include \"a.h\"\n  # \tinclude\"b/c.hpp\" // x\r\n#include <math.h>\n"
          "#include <RAJA/x.hpp>\n#include\n#include \"\n#include \"\"\n#includes \"d.h\"\n"
          "#include \"e.h",
          HPC_LANGUAGE_CPP, "ia.h ib/c.hpp iRAJA/x.hpp ");
    scans("use m\ninclude 'x'\n", HPC_LANGUAGE_C, "");
    scans("", HPC_LANGUAGE_C, "");
    scans("#include \"last.h\"", HPC_LANGUAGE_C, "ilast.h ");
}

static void test_modules(void **state)
{
    (void)state;
    scans("module Fields\n  use, intrinsic :: ISO_C_binding, only: c_int\n  USE mesh\n"
          "  use :: grid, only: n\n  user = 3\n  use, bad\n"
          "end module fields\nmodule procedure p\nmodule function f(x)\n"
          "submodule (parent:child) s\nmodule x ! why\n"
          "include 'sizes.inc'\n#include \"config.h\"\nINCLUDE \"b.inc\"\n",
          HPC_LANGUAGE_FORTRAN,
          "mfields uiso_c_binding umesh ugrid uparent mx isizes.inc iconfig.h ib.inc ");
}

static void test_scanning_is_bounded(void **state)
{
    (void)state;
    hpc_buf text = {0}, out = {0};
    for (int k = 0; k < 20000; k++) hpc_buf_text(&text, "#include \"a.h\"\n");
    assert_int_equal(pack_scan(&out, text.data, text.n, HPC_LANGUAGE_C), 0);
    assert_int_equal(out.n, 4096 * 5);
    out.n = text.n = 0;
    hpc_buf_text(&text, "#include \"");
    for (int k = 0; k < 201; k++) hpc_buf_text(&text, "x");
    hpc_buf_text(&text, "\"");
    assert_int_equal(pack_scan(&out, text.data, text.n, HPC_LANGUAGE_C), 0);
    assert_int_equal(out.n, 0);
    hpc_buf_release(&text);
    hpc_buf_release(&out);
}

/* ---- ordering ---- */

typedef struct file {
    const char *path, *records; /* separated by blanks */
} file;
enum { MOST = 16 };

static int order(int64_t *out, const file *f, int n)
{
    const char *paths[MOST];
    hpc_buf records[MOST] = {0};
    int rc = HPC_OK;
    for (int k = 0; k < n; k++) {
        paths[k] = f[k].path;
        TRY(hpc_buf_text(&records[k], f[k].records));
        for (size_t i = 0; i < records[k].n; i++)
            if (records[k].data[i] == ' ') records[k].data[i] = '\0';
    }
    TRY(pack_order(out, n, paths, records));
out:
    for (int k = 0; k < n; k++) hpc_buf_release(&records[k]);
    return rc;
}

static void is_ordered(const file *f, int n, const char *expected)
{
    int64_t at[MOST];
    char text[256] = "";
    assert_int_equal(order(at, f, n), 0);
    for (int k = 0; k < n; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s ", f[at[k]].path);
    assert_string_equal(text, expected);
}

static void test_dependencies_come_first(void **state)
{
    (void)state;
    const file plain[] = {{"a.c", ""}, {"b.c", ""}, {"c.c", ""}};
    is_ordered(plain, 3, "a.c b.c c.c ");
    const file chain[] = {{"a.c", "ib.h "}, {"b.h", "ic.h "}, {"c.h", ""}, {"d.c", "ic.h "}};
    is_ordered(chain, 4, "c.h b.h a.c d.c ");
    const file cycle[] = {{"a.h", "ib.h "}, {"b.h", "ic.h "}, {"c.h", "ia.h "}, {"d.h", "id.h "}};
    is_ordered(cycle, 4, "c.h b.h a.h d.h ");
    const file fortran[] = {
        {"a.f90", "ufields ugrid "}, {"b.f90", "mgrid "}, {"c.f90", "mfields ugrid "}};
    is_ordered(fortran, 3, "b.f90 c.f90 a.f90 ");
    const file unknown[] = {{"a.c", "istdio.h umissing "}, {"b.c", "i../../../b.c i/ i.. "}};
    is_ordered(unknown, 2, "a.c b.c ");
}

/* Of files of one name the one meant by the path, then the one nearest to who asks. */
static void test_which_file_is_meant(void **state)
{
    (void)state;
    const file relative[] = {
        {"a/x.c", "i../b/y.h "}, {"a/y.h", ""}, {"b/y.h", ""}, {"c/b/y.h", ""}};
    is_ordered(relative, 4, "b/y.h a/x.c a/y.h c/b/y.h ");
    const file suffix[] = {{"a/x.c", "ilib/y.h "}, {"b/xlib/y.h", ""}, {"z/lib/y.h", ""}};
    is_ordered(suffix, 3, "z/lib/y.h a/x.c b/xlib/y.h ");
    const file nearest[] = {
        {"a/inc/y.h", ""}, {"b/src/deep/x.c", "iy.h "}, {"b/src/y/y.h", ""}, {"c/y.h", ""}};
    is_ordered(nearest, 4, "a/inc/y.h b/src/y/y.h b/src/deep/x.c c/y.h ");
    const file before[] = {{"b/a/y.h", ""}, {"b/x.c", "iy.h "}, {"c/y.h", ""}};
    is_ordered(before, 3, "b/a/y.h b/x.c c/y.h ");
}

/* Versions of a file stay together, and what any of them asks for comes first. */
static void test_versions_stay_together(void **state)
{
    (void)state;
    const file f[] = {{"a.c", "ib.h "}, {"a.c", "ic.h "}, {"b.h", ""}, {"c.h", ""}, {"c.h", ""}};
    int64_t at[5];
    const int64_t expected[] = {2, 3, 4, 0, 1};
    assert_int_equal(order(at, f, 5), 0);
    assert_memory_equal(at, expected, sizeof at);
}

/* Any graph: a permutation, and an edge goes backward only inside a cycle. */
static void test_random_graphs(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 300; seed++) {
        char path[MOST][16], records[MOST][128];
        file f[MOST];
        int64_t at[MOST], place[MOST];
        bool reach[MOST][MOST] = {{false}};
        for (uint32_t k = 0; k < MOST; k++) {
            snprintf(path[k], sizeof path[k], "f%02u.h", k);
            records[k][0] = '\0';
            for (uint32_t j = 0; j < MOST; j++) {
                if (hpc_random_bits(seed, k, j, 0) % 8 != 0 || strlen(records[k]) > 100) continue;
                snprintf(records[k] + strlen(records[k]), 16, "if%02u.h ", j);
                reach[k][j] = true;
            }
            f[k] = (file){path[k], records[k]};
        }
        bool edge[MOST][MOST];
        memcpy(edge, reach, sizeof edge);
        for (int m = 0; m < MOST; m++)
            for (int i = 0; i < MOST; i++)
                for (int j = 0; j < MOST; j++) reach[i][j] |= reach[i][m] && reach[m][j];
        assert_int_equal(order(at, f, MOST), 0);
        memset(place, -1, sizeof place);
        for (int k = 0; k < MOST; k++) place[at[k]] = k;
        for (int i = 0; i < MOST; i++) {
            assert_true(place[i] >= 0);
            for (int j = 0; j < MOST; j++)
                if (edge[i][j] && i != j && !reach[j][i]) assert_true(place[j] < place[i]);
        }
    }
}

/* A chain as long as a stack would not bear, and thousands of files of one name. */
static void test_many_files(void **state)
{
    (void)state;
    enum { N = 20000 };
    char(*name)[32] = calloc(N, sizeof *name);
    const char **paths = calloc(N, sizeof *paths);
    hpc_buf *records = calloc(N, sizeof *records);
    int64_t *at = calloc(N, sizeof *at);
    for (int same = 0; same < 2; same++) {
        for (int k = 0; k < N; k++) {
            snprintf(name[k], sizeof name[k], same ? "d%05d/x.h" : "f%05d.h", k);
            paths[k] = name[k];
            records[k].n = 0;
            if (same)
                hpc_buf_add(&records[k], "iz/x.h", 7);
            else if (k + 1 < N)
                hpc_buf_printf(&records[k], "if%05d.h", k + 1), records[k].n++;
        }
        assert_int_equal(pack_order(at, N, paths, records), 0);
        for (int k = 0; k < N; k++) assert_int_equal(at[k], same ? k : N - 1 - k);
    }
    for (int k = 0; k < N; k++) hpc_buf_release(&records[k]);
    free(records);
    free(paths);
    free(name);
    free(at);
}

static int order_body(void *user)
{
    const file f[] = {{"a.c", "ib.h "}, {"a.c", "ic.h "}, {"b.h", "mx "}, {"c.h", "ux "}};
    int64_t at[4];
    (void)user;
    return order(at, f, 4);
}

static void test_every_allocation_fails(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(order_body, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_includes),
        cmocka_unit_test(test_modules),
        cmocka_unit_test(test_scanning_is_bounded),
        cmocka_unit_test(test_dependencies_come_first),
        cmocka_unit_test(test_which_file_is_meant),
        cmocka_unit_test(test_versions_stay_together),
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_many_files),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests_name("corpus/pack_order", tests, NULL, NULL);
}
