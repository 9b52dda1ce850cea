/*
 * Tests of `hpccoder perf collect` as a user runs it.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/git/repository.h"

#include "tests/support/command.h"

#define LINE                                                                                       \
    "new r; for k in 1 2 3; do echo \"echo took $k.5 s\" > bench; "                                \
    "export GIT_COMMITTER_DATE=\"170000000$k +0000\"; save; done; "

static void expect(place *p, const char *words, int code, const char *out, const char *err)
{
    hpc_test_outcome o;
    char all[HPC_TEST_WORDS];
    snprintf(all, sizeof all, "perf collect %s", words);
    hpc_test_command_in(&o, p->root, all);
    if (o.code != code)
        fail_msg("%s: exit code %d, not %d: %s%s", words, o.code, code, o.out, o.err);
    if (out) hpc_test_says_row(o.out, out);
    if (err) hpc_test_says(o.err, err);
}

static void collects(void **state)
{
    place *p = *state;
    script(p, LINE);
    expect(p, "--repo @r --run ./go --build @build --metric time --db @h.db -n 1", 2,
           "that do not build 3\n", "the build: hpccoder: it exited with status 127: sh: 1: ");
    script(p, "printf '#!/bin/sh\\ncp bench go; chmod +x go\\n' > build; chmod +x build");
    expect(p, "--repo @r --run ./go --build @build --metric time --db @h.db -n 1 --retry", 0,
           "measured now 3\n", "3 of 3 commits");
    expect(p, "--repo @r --run ./go --build @build --metric time --db @h.db -n 1 --json -q", 0,
           "\"there\": 3", "");
    expect(p,
           "--repo @r --run ./go --build @build --metric t=took.(.*).s --db @h.db -n 1 --json "
           "--range HEAD~1..",
           0, "\"measured\": 2", NULL);
}

static void wrong_usage_is_said(void **state)
{
    static const struct {
        const char *words, *err;
    } cases[] = {
        {"--repo @r --db @h.db", "--run CMD is missing"},
        {"--repo @r --run x", "--db FILE is missing"},
        {"--repo @r --run x --db @h.db --range a...b", "two dots, as in v1..HEAD"},
        {"--repo @r --run x --db @h.db --range HEAD~9..", "is beyond the start of the history"},
        {"--repo @r --run x --db @h.db --range HEAD..HEAD", "has no commits"},
        {"--repo @r --run x --db @h.db --metric speed", "unknown metric 'speed'"},
        {"--repo @r --run x --db @h.db -m time -m time", "time is given twice"},
        {"--repo @r --run x --db @h.db --env NOBODY_SET_THIS", "the variable is not set"},
        {"--repo @none --run x --db @h.db", "none"},
        {"--repo @r --run x --db @text", "file is not a database"},
        {"--repo @r --run nobody --db @n.db -n 1",
         "none of 3 commits could be measured: 0 do not build, 3 do not run"},
        {"--repo @r --run x --db @h.db more", "unexpected argument 'more'"}};
    place *p = *state;
    script(p, LINE "cd ..; echo text > text");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        expect(p, cases[k].words, 2, NULL, cases[k].err);
    script(p, "[ ! -e text.work ]; [ ! -e h.db ] || ! grep -q . h.db");
}

static void histories_are_not_mixed(void **state)
{
    place *p = *state;
    script(p, LINE "cd ..; new s; echo 'echo took 4.5 s' > bench; save; cd ..; "
                   "printf '#!/bin/sh\\ncp bench go; chmod +x go\\n' > build; chmod +x build");
    expect(p, "--repo @r --run ./go --build @build -m time --db @h.db -n 1", 0, NULL, NULL);
    script(p, "cp h.db before");
    expect(
        p, "--repo @s --run ./go --build @build -m time --db @h.db -n 1", 2, "",
        "h.db is the history of another repository: none of its 3 commits is in this repository");
    script(p, "cmp h.db before");
    /* Without a measurement nothing is recorded. */
    expect(p, "--repo @r --run nobody -m time --db @n.db -n 1", 2, NULL, NULL);
    expect(p, "--repo @s --run ./go --build @build -m time --db @n.db -n 1", 0, NULL, NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {TEST(collects), TEST(wrong_usage_is_said),
                                       TEST(histories_are_not_mixed)};
    return cmocka_run_group_tests_name("cmd/perf_collect", tests, NULL, NULL);
}
