/*
 * Tests of `hpccoder complete --context`: context from other files, and none with `none`.
 */
/* tsan: left out, other tests start the same threads. */
#include <limits.h>

#include "tests/git/repository.h"
#include "tests/support/command.h"

static void repository(place *p)
{
    static const char mesh[] = "int mesh_advance(int cells, double dt);\n",
                      a[] = "#include \"mesh.h\"\n\nint steps(int n)\n{\n"
                            "    int done = mesh_advance(n, 1.0);\n    return \n}\n";
    script(p, "new r; git remote add origin https://git.example.org/owner/code.git; mkdir src");
    put(p, "r/src/mesh.h", mesh, sizeof mesh - 1);
    put(p, "r/src/a.c", a, sizeof a - 1);
    put(p, "r/a.c", a, sizeof a - 1);
    script(p, "cd r; save");
}

/* Exit code 0; what is said on standard error. */
static const char *said(hpc_test_outcome *o, place *p, const char *words)
{
    hpc_test_command_in(o, p->root, words);
    if (o->code != 0) fail_msg("%s", o->err);
    return o->err;
}

static int64_t prompt_tokens(const char *text)
{
    static const char before[] = "; prompt of ";
    const char *at = strstr(text, before);
    assert_non_null(at);
    return atoll(at + sizeof before - 1);
}

static void parts_are_named_and_shown(void **state)
{
    place *p = *state;
    hpc_test_outcome *o = malloc(sizeof *o);
    repository(p);
    said(o, p, "complete @r/src/a.c --at 6 -v -n 4 --stop line --context repository");
    hpc_test_says(o->err, "hpccoder complete: context src/mesh.h:1, 40 bytes\n");
    int64_t with = prompt_tokens(o->err);
    said(o, p, "complete @r/src/a.c --at 6 -v -n 4 --stop line --context none");
    assert_null(strstr(o->err, "context"));
    said(o, p, "complete @r/src/a.c --at 6 -v -n 4 --stop line"); /* the pilot takes too little */
    assert_null(strstr(o->err, "context"));
    assert_in_range(with - prompt_tokens(o->err), 10, 100);
    said(o, p, "complete @r/src/a.c --at 6 -n 4 --stop line --context repository");
    assert_null(strstr(o->err, "context"));
    /* by the name of what lies elsewhere */
    said(o, p,
         "complete @r/a.c --name @r/src/new.c --at 6 -v -n 4 --stop line --context repository");
    hpc_test_says(o->err, "hpccoder complete: context src/mesh.h:1, 40 bytes\n");
    said(o, p,
         "complete @r/a.c --name @nowhere/new.c --at 6 -v -n 4 --stop line --context repository");
    assert_null(strstr(o->err, "context"));
    free(o);
}

static void bad_requests(void **state)
{
    place *p = *state;
    hpc_test_outcome *o = malloc(sizeof *o);
    repository(p);
    hpc_test_refuses(o, p->root, "complete @r/a.c --context all", "--context");
    free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)
        TEST(parts_are_named_and_shown),
        TEST(bad_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
