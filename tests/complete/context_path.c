/*
 * Tests of infer/complete/context_path.c, and of contexts without a repository or with an unusual,
 * small or damaged one: excluded files, and files that are still found.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/complete/asking.h"

/* ---- what is held back -------------------------------------------------------------------- */

/* All files contain `secret_thing`; none may be returned. */
static void nothing_outside_is_read(void **state)
{
    place *p = *state;
    static const char secret[] = "int secret_thing(int a);\n";
    char text[1024];
    file(p, "outside/secret.h", secret);
    script(p, "new r; mkdir src; ln -s ../../outside/secret.h src/link.h; ln -s ../outside folder; "
              "ln -s /dev/zero src/zero.h; mkfifo src/pipe.h; mkdir src/dir.h; save");
    file(p, "r/.git/secret.h", secret);
    file(p, "r/.gitx/ok.h", "int open_thing(int a);\n");
    script(p, "cd r; ln -s .git hidden; ln -s .gitx/ok.h inside.h");
    snprintf(text, sizeof text,
             "#include \"link.h\"\n#include \"../folder/secret.h\"\n#include \"zero.h\"\n"
             "#include \"pipe.h\"\n#include \"dir.h\"\n#include \"../../outside/secret.h\"\n"
             "#include \"%s/outside/secret.h\"\n#include <outside/secret.h>\n#include \"\"\n"
             "#include \"../.git/secret.h\"\n#include \"../hidden/secret.h\"\n#include \"..\"\n"
             "#include \"../src/../../outside/secret.h\"\n#include \"../inside.h\"\n"
             "int f = secret_thing(open_thing(@));\n",
             p->root);
    finds(p, "r/src/a.c", text, "inside.h:1");
    /* what the file itself is linked to is where it lies by its name */
    script(p, "ln -s ../outside/secret.h r/src/own.c");
    finds(p, "r/src/own.c", "int f = secret_thing(@);\n", "");
}

/* An index may say anything. */
static void indexes_are_not_believed(void **state)
{
    place *p = *state;
    hpc_buf index = {0};
    static const char *const paths[] = {"../outside/secret.h", "folder/secret.h", "gone.h"};
    file(p, "outside/secret.h", "int secret_thing(int a);\n");
    script(p, "new r; ln -s ../outside folder");
    hpc_buf_add(&index, "DIRC\0\0\0\2\0\0\0\3", 12);
    for (int k = 0; k < 3; k++) {
        uint8_t head[62] = {[26] = 0x81};
        size_t begin = index.n;
        hpc_buf_add(&index, head, sizeof head);
        hpc_buf_add(&index, paths[k], strlen(paths[k]) + 1);
        while ((index.n - begin) % 8) hpc_buf_add(&index, "", 1);
    }
    put(p, "r/.git/index", index.data, index.n);
    finds(p, "r/a.c", "#include \"secret.h\"\n#include \"gone.h\"\nint f = secret_thing(@);\n", "");
    put(p, "r/.git/index", index.data, 50);
    file(p, "r/b.h", "int b_thing(int a);\n");
    finds(p, "r/a.c", "int f = b_thing(@);\n", "b.h:1");
    hpc_buf_release(&index);
}

static void large_and_binary_files(void **state)
{
    place *p = *state;
    char *large = malloc(600 << 10);
    static const char line[] = "int large_thing(int a);\n",
                      binary[] = "int binary_thing(int a);\n\0";
    script(p, "new r");
    for (size_t k = 0; k < 600 << 10; k++) large[k] = line[k % (sizeof line - 1)];
    put(p, "r/large.h", large, 600 << 10);
    put(p, "r/binary.h", binary, sizeof binary);
    put(p, "r/fits.h", large, 480 << 10);
    put(p, "r/latin.h", "int latin_thing; // \xe9\r\n", 23);
    file(p, "r/empty.h", "");
    file(p, "r/text.md", "large_thing(int a)\n");
    script(p, "cd r; save");
    finds(p, "r/a.c",
          "#include \"large.h\"\n#include \"binary.h\"\n#include \"text.md\"\n"
          "#include \"empty.h\"\nint f = binary_thing(@);\n",
          "");
    finds(p, "r/a.c", "int f = large_thing(@);\n", "fits.h:1");
    hpc_context *c = context_of(p, "r/a.c");
    hpc_context_parts parts;
    hpc_spot d = place_in("a.c", "int f = latin_thing(@);\n");
    test_ok(hpc_context_find(&parts, c, in(p, "r/a.c"), &d, &usual));
    assert_int_equal(parts.n, 1);
    assert_int_equal(parts.snippet[0].n, 23); /* as UTF-8 with line feeds */
    assert_memory_equal(parts.snippet[0].text, "int latin_thing; // \xc3\xa9\n", 23);
    hpc_spot_close(&d);
    hpc_context_close(c);
    free(large);
}

/* ---- where there is less ------------------------------------------------------------------ */

static void repository_is(place *p, const char *name, const char *repository, const char *path)
{
    hpc_context *c = context_of(p, name);
    hpc_context_parts parts;
    hpc_spot d = place_in("a.c", "@");
    test_ok(hpc_context_find(&parts, c, in(p, name), &d, &usual));
    if (repository)
        assert_string_equal(parts.repository, repository);
    else
        assert_null(parts.repository);
    if (path)
        assert_string_equal(parts.path, path);
    else
        assert_null(parts.path);
    assert_int_equal(parts.n, 0);
    hpc_spot_close(&d);
    hpc_context_close(c);
}

static void names_of_repositories(void **state)
{
    place *p = *state;
    script(p, "new some-name; mkdir -p a/b; cd ..; new other; git remote add origin "
              "https://git.example.org/owner/code.git; git init -q sub; mkdir ../alone; cd ..; "
              "ln -s some-name/a short");
    repository_is(p, "some-name/a/b/x.c", "some-name", "a/b/x.c");
    repository_is(p, "some-name/./a/../x.c", "some-name", "x.c");
    repository_is(p, "short/x.c", "some-name", "a/x.c");
    repository_is(p, "other/x.c", "owner/code", "x.c");
    repository_is(p, "other/sub/x.c", "sub", "x.c");
    repository_is(p, "alone/x.c", NULL, "x.c");
    repository_is(p, "nowhere/x.c", NULL, NULL);
    repository_is(p, "alone/", NULL, NULL);
    hpc_context *c = context_of(p, "some-name/x.c");
    assert_true(hpc_context_holds(c, in(p, "some-name/a/b/y.c")));
    assert_true(hpc_context_holds(c, in(p, "short/y.c")));
    assert_false(hpc_context_holds(c, in(p, "other/y.c")));
    assert_false(hpc_context_holds(c, in(p, "nowhere/y.c")));
    hpc_context_close(c);
}

static void without_history(void **state)
{
    place *p = *state;
    static const char text[] = "int thing(int a);\n",
                      ask[] = "#include \"b.h\"\nint f = thing(@);\n";
    script(p, "mkdir -p alone/deep; new r; mkdir src");
    file(p, "alone/b.h", text);
    file(p, "alone/deep/c.h", "int deep_thing(int a);\n");
    file(p, "c.h", "int upper_thing(int a);\n");
    finds(p, "alone/a.c", ask, "b.h:1");
    finds(p, "alone/a.c", "#include \"deep/c.h\"\nint f = deep_thing(@);\n", "deep/c.h:1");
    finds(p, "alone/a.c", "int f = deep_thing(@);\n", "");
    finds(p, "alone/a.c", "#include \"../c.h\"\nint f = upper_thing(@);\n", "");
    file(p, "r/src/b.h", text); /* not tracked, no commit */
    finds(p, "r/src/a.c", ask, "src/b.h:1");
    file(p, "r/lib/zz/b.h", text); /* added, no commit */
    script(p, "cd r; rm src/b.h; git add lib");
    finds(p, "r/src/a.c", ask, "lib/zz/b.h:1");
    script(p, "cd r; save; echo > n; save; rm lib/zz/b.h"); /* not on disk */
    finds(p, "r/src/a.c", ask, "");
    script(p, "cd r; git checkout -q lib; cd ..; git clone -q --depth 1 \"file://$PWD/r\" shallow; "
              "git -C r worktree add -q ../tree HEAD; mkdir shallow/src tree/src");
    finds(p, "shallow/src/a.c", ask, "lib/zz/b.h:1");
    finds(p, "tree/src/a.c", ask, "lib/zz/b.h:1");
    script(p, "echo broken > r/.git/HEAD; mkdir -p bad/.git; cp shallow/lib/zz/b.h bad");
    finds(p, "r/src/a.c", ask, "lib/zz/b.h:1");
    finds(p, "bad/a.c", ask, "b.h:1");
    assert_int_equal(hpc_error_get()->code, HPC_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)
        TEST(nothing_outside_is_read), TEST(indexes_are_not_believed), TEST(large_and_binary_files),
        TEST(names_of_repositories),   TEST(without_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
