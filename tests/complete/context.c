/*
 * Tests of infer/complete/context*.c: each relation between files, ranking, and determinism.
 *
 * For each relation another file has the same text without the relation. Of equal texts only the
 * best is returned, and of equal scores the smallest path comes first. So the files to be found
 * are in zz/, the others in aa/.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/complete/asking.h"

/* ---- relations ---------------------------------------------------------------------------- */

static void what_is_included(void **state)
{
    place *p = *state;
    static const char first[] = "int first_thing(int a);\n",
                      second[] = "int second_thing(int a);\n";
    script(p, "new r");
    file(p, "r/lib/aa/one.h", first);
    file(p, "r/lib/aa/two.h", second);
    file(p, "r/lib/zz/one.h", "#include \"two.h\"\n\nint first_thing(int a);\n");
    file(p, "r/lib/zz/two.h", second);
    file(p, "r/src/near.h", "int near_thing(int a);\n");
    script(p, "cd r; save");
    /* the included function occurs twice: in one.h of zz it follows an include */
    finds(p, "r/src/a.c", "#include <zz/one.h>\nint f(int a)\n{\n    return first_thing(a)@;\n}\n",
          "lib/zz/one.h:1 lib/aa/one.h:1");
    finds(p, "r/src/a.c", "#include <zz/one.h>\nint f(int a)\n{\n    return second_thing(a)@;\n}\n",
          "lib/zz/two.h:1");
    finds(p, "r/src/a.c", "int f(int a)\n{\n    return second_thing(a)@;\n}\n", "lib/aa/two.h:1");
    finds(p, "r/src/a.c", "#include \"near.h\"\nint f(int a)\n{\n    return near_thing(a)@;\n}\n",
          "src/near.h:1");
    finds(p, "r/src/a.c", "#include \"../lib/zz/two.h\"\nint f = second_thing(@);\n",
          "lib/zz/two.h:1");
}

static void what_is_called_alike(void **state)
{
    place *p = *state;
    static const char text[] = "int a_thing(int a);\n";
    script(p, "new r");
    file(p, "r/lib/aa/b.h", text);
    file(p, "r/lib/zz/A.h", text);
    file(p, "r/src/aa.h", "int other_thing(int a);\n");
    file(p, "r/src/zz.hpp", "int other_thing(int a);\n");
    script(p, "cd r; save");
    finds(p, "r/src/a.c", "int f = a_thing(@);\n", "lib/zz/A.h:1");
    finds(p, "r/src/zz.c", "int f = other_thing(@);\n", "src/zz.hpp:1");
}

static void what_was_changed_together(void **state)
{
    place *p = *state;
    static const char text[] = "int a_thing(int a)\n{\n    return a;\n}\n";
    script(p, "new r; echo > first; save");
    file(p, "r/lib/aa/c.c", text);
    script(p, "cd r; save");
    file(p, "r/lib/zz/c.c", text);
    file(p, "r/src/a.c", "int old;\n");
    script(p, "cd r; save");
    finds(p, "r/src/a.c", "int f = a_thing(@);\n", "lib/zz/c.c:1");
    /* a commit with many files relates none of them */
    script(p, "new s; for k in $(seq 40); do mkdir -p lib/zz src; echo > lib/zz/n$k; done");
    file(p, "s/lib/aa/c.c", text);
    script(p, "cd s; echo > first; git add first; git commit -q -m m");
    file(p, "s/lib/zz/c.c", text);
    file(p, "s/src/a.c", "int old;\n");
    script(p, "cd s; save");
    finds(p, "s/src/a.c", "int f = a_thing(@);\n", "lib/aa/c.c:1");
}

/* Newer commits, and smaller ones, say more. */
static void weights_of_changes(void **state)
{
    place *p = *state;
    static const char text[] = "int a_thing(int a)\n{\n    return a;\n}\n";
    script(p, "new r; echo > first; save");
    file(p, "r/src/a.c", "int one;\n");
    file(p, "r/lib/aa/c.c", text);
    script(p, "cd r; save; for k in $(seq 70); do echo $k > first; save; done");
    file(p, "r/src/a.c", "int two;\n");
    file(p, "r/lib/zz/c.c", text);
    script(p, "cd r; save");
    finds(p, "r/src/a.c", "int f = a_thing(@);\n", "lib/zz/c.c:1");
    script(p, "new s; echo > first; save");
    file(p, "s/src/a.c", "int one;\n");
    file(p, "s/lib/zz/c.c", text);
    script(p, "cd s; save");
    file(p, "s/src/a.c", "int two;\n");
    file(p, "s/lib/aa/c.c", text);
    script(p, "cd s; for k in $(seq 9); do echo > n$k; done; save");
    finds(p, "s/src/a.c", "int f = a_thing(@);\n", "lib/zz/c.c:1");
}

static void what_includes_the_same(void **state)
{
    place *p = *state;
#define USER "\nint a_thing(int a)\n{\n    return a;\n}\n"
    script(p, "new r; mkdir src");
    file(p, "r/lib/rare.h", "int rare;\n");
    file(p, "r/lib/often.h", "int often;\n");
    file(p, "r/lib/aa/c.c", "#include \"often.h\"\n" USER);
    file(p, "r/lib/zz/c.c", "#include \"rare.h\"\n" USER);
    file(p, "r/lib/bb/d.c", "#include \"often.h\"\n");
    script(p, "cd r; save");
    finds(p, "r/src/a.c", "#include \"rare.h\"\n#include \"often.h\"\nint f = a_thing(@);\n",
          "lib/zz/c.c:1 lib/aa/c.c:1");
    finds(p, "r/src/a.c", "int f = a_thing(@);\n", "lib/aa/c.c:1 lib/zz/c.c:1");
}

/* Modules by what files are called, and by what they say. */
static void modules_of_fortran(void **state)
{
    place *p = *state;
    static const char inner[] = "contains\n  subroutine Advance(x)\n    real :: x\n    x = x + 1\n"
                                "  end subroutine\nend module\n";
    char text[512];
    script(p, "new r; mkdir src");
    snprintf(text, sizeof text, "module wind\n%s", inner);
    file(p, "r/aa/any.f90", text);
    snprintf(text, sizeof text, "module Mesh\n%s", inner);
    file(p, "r/zz/said.f90", text);
    snprintf(text, sizeof text, "module tide\n%s", inner);
    file(p, "r/zz/mod_tide.F90", text);
    file(p, "r/zz/part.inc", "      subroutine advance(y)\n      real y\n      end\n");
    script(p, "cd r; save");
    finds(p, "r/src/a.f90", "program a\n  use mesh, only: advance\n  call ADVANCE(@)\nend\n",
          "zz/said.f90:1");
    finds(p, "r/src/a.f90", "program a\n  use, non_intrinsic :: tide\n  call advance(@)\nend\n",
          "zz/mod_tide.F90:1");
    finds(p, "r/src/a.f90", "program a\n  include 'part.inc'\n  call advance(@)\nend\n",
          "zz/part.inc:1 aa/any.f90:1 zz/mod_tide.F90:1 zz/said.f90:1");
}

/* ---- what comes first --------------------------------------------------------------------- */

static void what_is_called_comes_first(void **state)
{
    place *p = *state;
    script(p, "new r");
    file(p, "r/mesh.h",
         "/* Licence: anything. */\n#pragma once\n\n"
         "typedef struct mesh_cell {\n    double mass;\n    double speed[3];\n    int next;\n"
         "    int flags;\n    int owner;\n} mesh_cell;\n\n"
         "/* Moves all cells by a time. */\n"
         "int mesh_advance(mesh_cell *cell, int n, double dt);\n"
         "int mesh_swap_one(mesh_cell *cell);\nint mesh_swap_two(mesh_cell *cell);\n"
         "int mesh_swap_three(mesh_cell *cell);\nint mesh_swap_four(mesh_cell *cell);\n\n"
         "int tree_build(int n);\nint tree_drop(int n);\nint tree_count(int n);\n"
         "int tree_find(int n);\nint tree_next(int n);\nint tree_last(int n);\n");
    file(p, "r/other.c",
         "#include \"mesh.h\"\n\nint run_all(mesh_cell *cell, int n)\n{\n"
         "    int done = tree_count(n);\n    while (done < n)\n"
         "        done += mesh_advance(cell, n, cell->mass);\n    return done;\n}\n");
    file(p, "r/short.c", "int one(void)\n{\n    return tree_count(1);\n}\n");
    script(p, "cd r; save");
    finds(p, "r/a.c",
          "#include \"mesh.h\"\n\nstatic int steps(mesh_cell *cell, int n)\n{\n"
          "    return mesh_advance(cell, n, @);\n}\n",
          "mesh.h:12 other.c:1 mesh.h:2");
    /* other files' definitions of the file's own names do not count; keywords are not names */
    finds(p, "r/a.c", "int f = tree_count(@);\n", "mesh.h:19 short.c:1 other.c:1");
    finds(p, "r/a.c", "int tree_count(int n)\n{\n    return n@;\n}\n",
          "short.c:1 mesh.h:19 other.c:1");
    finds(p, "r/a.c", "static const double value = @;\nstruct { int double_; };\n", "");
}

static void chunks_are_short_and_whole(void **state)
{
    place *p = *state;
    hpc_buf text = {0};
    hpc_context_parts parts;
    hpc_context_options o = {.bytes = 1 << 20, .part_bytes = 1 << 20};
    script(p, "new r");
    hpc_buf_text(&text, "/* Licence,\n * of many lines. */\n\n");
    hpc_buf_text(&text, "// What it does.\nint long_one(int wanted)\n{\n");
    for (int k = 0; k < 200; k++) hpc_buf_printf(&text, "    wanted += work_%d();\n", k);
    hpc_buf_text(&text, "}\n\nint short_one(int wanted)\n{\n    return wanted;\n}\n\n");
    for (int k = 0; k < 100; k++) hpc_buf_printf(&text, "extern int wanted, value_%d;\n", k);
    file(p, "r/b.c", text.data);
    script(p, "cd r; save");
    hpc_context *c = context_of(p, "r/a.c");
    hpc_spot d = place_in("a.c", "int a = wanted;\nint b = @;\n");
    test_ok(hpc_context_find(&parts, c, in(p, "r/a.c"), &d, &o));
    bool seen[400] = {false};
    int64_t lines = 0;
    for (int64_t k = 0; k < parts.n; k++) {
        const hpc_snippet *s = &parts.snippet[k];
        int64_t here = 0;
        assert_null(strstr(s->text, "Licence"));
        assert_int_equal(s->text[s->n - 1], '\n');
        for (size_t i = 0; i < s->n; i++) {
            if (i == 0 || s->text[i - 1] == '\n') {
                assert_false(seen[parts.line[k] + here]);
                seen[parts.line[k] + here] = true;
            }
            here += s->text[i] == '\n';
        }
        assert_in_range(here, 1, 64);
        lines += here;
    }
    assert_true(seen[4] && seen[5]); /* the comment belongs to its function */
    assert_int_equal(lines, 204 + 4 + 100);
    hpc_spot_close(&d);
    hpc_context_close(c);
    hpc_buf_release(&text);
}

/* A shortened snippet keeps the line that it was chosen for. */
static void within_a_budget(void **state)
{
    place *p = *state;
    hpc_buf text = {0};
    hpc_context_parts parts;
    script(p, "new r");
    for (int k = 0; k < 20; k++) hpc_buf_printf(&text, "int thing_%02d(int a);\n", k);
    file(p, "r/b.h", text.data);
    file(p, "r/c.h", "int small_thing(int thing_17);\n");
    script(p, "cd r; save");
    hpc_context *c = context_of(p, "r/a.c");
    hpc_spot d = place_in("a.c", "#include \"b.h\"\nint b = thing_17(@);\n");
    const struct {
        size_t bytes, part_bytes;
        const char *expected;
    } cases[] = {
        {1000, 1000, "b.h:1 c.h:1"},
        {1000, 100, "b.h:18 c.h:1"},
        {1000, 22, "b.h:18"},
        {400, 1000, "c.h:1"},
        {40, 40, "b.h:18"},
        {1000, 20, ""},
        {0, 100, ""},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const hpc_context_options o = {cases[k].bytes, cases[k].part_bytes};
        size_t bytes = 0;
        test_ok(hpc_context_find(&parts, c, in(p, "r/a.c"), &d, &o));
        char *out = described(&parts);
        assert_string_equal(out, cases[k].expected);
        for (int64_t i = 0; i < parts.n; i++) {
            bytes += parts.snippet[i].n;
            assert_in_range(parts.snippet[i].n, 1, o.part_bytes);
        }
        assert_true(bytes <= o.bytes);
        hpc_free(out);
    }
    hpc_spot_close(&d);
    hpc_context_close(c);
    hpc_buf_release(&text);
}

/* ---- again and again ---------------------------------------------------------------------- */

#define STEPS                                                                                      \
    "#include \"b.h\"\n\nint f(int n)\n{\n    int sum = thing_one(n);\n    sum += thing_two(n);\n"

static void typing_changes_nothing(void **state)
{
    place *p = *state;
    static const char *const typed[] = {STEPS "    @\n}\n",
                                        STEPS "    r@\n}\n",
                                        STEPS "    return@\n}\n",
                                        STEPS "    return th@\n}\n",
                                        STEPS "    return thing_t@\n}\n",
                                        STEPS "    return thing_three@\n}\n",
                                        STEPS "\n    // why: \n    @\n}\n"};
    script(p, "new r");
    file(p, "r/b.h", "int thing_one(int a);\n");
    file(p, "r/c.h", "int thing_three(int a);\n");
    file(p, "r/d.c", "int g(void)\n{\n    return thing_two(thing_one(1));\n}\n");
    script(p, "cd r; save");
    hpc_context *c = context_of(p, "r/a.c");
    for (size_t k = 0; k < sizeof typed / sizeof *typed; k++) {
        char *out = asked(c, p, "r/a.c", typed[k], &usual);
        assert_string_equal(out, "b.h:1 d.c:1");
        hpc_free(out);
    }
    char *out = asked(c, p, "r/a.c", STEPS "    return thing_three(@\n}\n", &usual);
    assert_string_equal(out, "b.h:1 c.h:1 d.c:1");
    hpc_free(out);
    hpc_context_close(c);
}

static void only_what_changed_is_read_again(void **state)
{
    place *p = *state;
    hpc_context_parts parts;
    script(p, "new r");
    file(p, "r/b.h", "int thing(int a);\n");
    file(p, "r/c.h", "int other(int a);\n");
    script(p, "cd r; save");
    hpc_context *c = context_of(p, "r/a.c");
    hpc_spot d = place_in("a.c", "int f = thing(@);\n");
    test_ok(hpc_context_find(&parts, c, in(p, "r/a.c"), &d, &usual));
    assert_int_equal(parts.n, 1);
    assert_int_equal(parts.files_n, 2);
    assert_int_equal(parts.read_n, 2);
    test_ok(hpc_context_find(&parts, c, in(p, "r/a.c"), &d, &usual));
    assert_int_equal(parts.n, 1);
    assert_int_equal(parts.read_n, 0);
    file(p, "r/c.h", "int thing(float a);\n");
    file(p, "r/new.h", "int thing(double a);\n"); /* not tracked */
    test_ok(hpc_context_find(&parts, c, in(p, "r/a.c"), &d, &usual));
    assert_int_equal(parts.n, 3);
    assert_int_equal(parts.read_n, 2);
    script(p, "rm r/b.h");
    test_ok(hpc_context_find(&parts, c, in(p, "r/a.c"), &d, &usual));
    assert_int_equal(parts.n, 2);
    /* another file of the repository */
    script(p, "mkdir r/src");
    test_ok(hpc_context_find(&parts, c, in(p, "r/src/x.c"), &d, &usual));
    assert_string_equal(parts.path, "src/x.c");
    assert_int_equal(parts.n, 1); /* new.h is in no index, and in another folder */
    test_ok(hpc_context_find(&parts, c, in(p, "elsewhere.c"), &d, &usual));
    assert_int_equal(parts.n, 0);
    hpc_spot_close(&d);
    hpc_context_close(c);
}

static void history_goes_on(void **state)
{
    place *p = *state;
    static const char text[] = "int thing(int a);\n";
    script(p, "new r; mkdir src; echo > first; save");
    file(p, "r/lib/aa/c.h", text);
    file(p, "r/lib/zz/c.h", text);
    script(p, "cd r; save");
    hpc_context *c = context_of(p, "r/src/a.c");
    char *out = asked(c, p, "r/src/a.c", "int f = thing(@);\n", &usual);
    assert_string_equal(out, "lib/aa/c.h:1");
    hpc_free(out);
    script(p, "cd r; echo > src/a.c; echo >> lib/zz/c.h; save");
    file(p, "r/lib/zz/c.h", text);
    out = asked(c, p, "r/src/a.c", "int f = thing(@);\n", &usual);
    assert_string_equal(out, "lib/zz/c.h:1");
    hpc_free(out);
    hpc_context_close(c);
}

/* More than is looked into: the nearest ones are, and of those the first. */
static void many_files(void **state)
{
    place *p = *state;
    hpc_context_parts parts;
    script(p, "new r; mkdir -p far/away src; for k in $(seq 1000 1399); do "
              "echo 'int thing(int a);' > far/away/f$k.h; done; "
              "echo 'int thing(int b);' > far/b.h; save");
    hpc_context *c = context_of(p, "r/src/a.c");
    hpc_spot d = place_in("a.c", "int f = thing(@);\n");
    test_ok(hpc_context_find(&parts, c, in(p, "r/src/a.c"), &d, &usual));
    assert_int_equal(parts.files_n, 192);
    assert_int_equal(parts.read_n, 192);
    char *out = described(&parts);
    assert_string_equal(out, "far/away/f1000.h:1 far/b.h:1");
    hpc_free(out);
    hpc_spot_close(&d);
    hpc_context_close(c);
}

static int64_t read_for(hpc_context *c, place *p, const char *name)
{
    hpc_context_parts parts;
    hpc_spot d = place_in("a.c", "int f = thing(@);\n");
    test_ok(hpc_context_find(&parts, c, in(p, name), &d, &usual));
    assert_int_equal(parts.n, 1); /* all files say the same */
    hpc_spot_close(&d);
    return parts.read_n;
}

/* Eight MiB are read for an answer, and of 32 MiB of them the oldest go. */
static void not_everything_is_kept(void **state)
{
    place *p = *state;
    script(p, "new r; awk 'BEGIN { for (k = 0; k < 26016; k++) print \"int thing(int a);\" }' > h; "
              "for d in 0 1 2 3 4; do mkdir d$d; for k in $(seq 10 29); do ln h d$d/f$k.h; done; "
              "done; rm h; git add .");
    hpc_context *c = context_of(p, "r/d0/a.c");
    const int64_t files = ((8 << 20) - 1) / (26016 * 18) + 1;
    for (int k = 0; k < 5; k++) {
        char name[32];
        snprintf(name, sizeof name, "r/d%d/a.c", k);
        assert_int_equal(read_for(c, p, name), files);
        assert_int_equal(read_for(c, p, name), 0);
    }
    assert_int_equal(read_for(c, p, "r/d0/a.c"), files);
    assert_int_equal(read_for(c, p, "r/d4/a.c"), 0);
    hpc_context_close(c);
}

/* ---- memory ------------------------------------------------------------------------------- */

static int all_of_it(void *user)
{
    place *p = user;
    hpc_context *c = NULL;
    hpc_context_parts parts = {0};
    hpc_spot d = {0};
    char path[256];
    static const char text[] = "#include \"b.h\"\nint f = thing(other(1));\n";
    snprintf(path, sizeof path, "%s/r/src/a.c", p->root);
    int rc = hpc_context_open(&c, path);
    if (rc < 0) assert_null(c);
    if (rc >= 0) rc = hpc_spot_open(&d, path, text, sizeof text - 1, (hpc_position){2, 24});
    if (rc >= 0) rc = hpc_context_find(&parts, c, path, &d, &usual);
    if (rc >= 0) rc = hpc_context_find(&parts, c, path, &d, &usual);
    assert_int_equal(parts.n, rc >= 0 ? 2 : 0);
    hpc_spot_close(&d);
    hpc_context_close(c);
    return rc;
}

static void each_allocation_fails(void **state)
{
    place *p = *state;
    script(p, "new r; echo > first; save");
    file(p, "r/lib/b.h", "#include \"c.h\"\nint thing(int a);\n");
    file(p, "r/lib/c.h", "int other(int \xe9);\n");
    file(p, "r/src/a.c", "int old;\n");
    script(p, "cd r; save");
    assert_true(hpc_test_each_alloc(all_of_it, p) >= 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)
        TEST(what_is_included),
        TEST(what_is_called_alike),
        TEST(what_was_changed_together),
        TEST(weights_of_changes),
        TEST(what_includes_the_same),
        TEST(modules_of_fortran),
        TEST(what_is_called_comes_first),
        TEST(chunks_are_short_and_whole),
        TEST(within_a_budget),
        TEST(typing_changes_nothing),
        TEST(only_what_changed_is_read_again),
        TEST(history_goes_on),
        TEST(many_files),
        TEST(not_everything_is_kept),
        TEST(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
