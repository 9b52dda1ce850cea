/*
 * Tests of examples/ci: the commands of the workflow, the CI job and the hook, run on a test
 * repository by a shell with the options that their runners use.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/perf/model.h"

#include <limits.h>
#include <unistd.h>

#include "tests/support/command.h"

/* A repository "r" with tags first, same and loops; the program on the PATH, with a model; gh and
 * curl that tell what they were asked. Variables for scripts: $ci. */
static char setting[2048];

static void begin(place *p)
{
    char program[PATH_MAX], here[PATH_MAX], text[2048];
    assert_non_null(getcwd(here, sizeof here));
    hpc_test_built(program, "hpccoder");
    script(p, "new r");
    put(p, "r/step.c", PLAIN, strlen(PLAIN));
    script(p, "cd r; save first; git tag first");
    put(p, "r/step.c", RENAMES, strlen(RENAMES));
    script(p, "cd r; save same; git tag same");
    put(p, "r/step.c", LOOPS, strlen(LOOPS));
    script(p, "cd r; save loops; git tag loops; mkdir ../bin ../tmp");
    int n = snprintf(text, sizeof text, "#!/bin/sh\nexec '%s' \"$@\" --model %.63s/m\n", program,
                     models()->root);
    put(p, "bin/hpccoder", text, (size_t)n);
    n = snprintf(text, sizeof text,
                 "#!/bin/sh\necho \"$(basename \"$0\") $*\" >> %.63s/asked\n"
                 "case $* in *--edit-last*) exit 1;; esac\n",
                 p->root);
    put(p, "bin/gh", text, (size_t)n);
    put(p, "bin/curl", text, (size_t)n);
    snprintf(setting, sizeof setting,
             "chmod +x bin/*; ci='%.900s/examples/ci'; steps='%.900s/tests/cmd/steps.awk'; "
             "export PATH=\"$PWD/bin:$PATH\"; ",
             here, here);
}

static void script_of(place *p, const char *text)
{
    hpc_buf all = {0};
    assert_int_equal(hpc_buf_printf(&all, "%s%s", setting, text), 0);
    script(p, all.data);
    hpc_buf_release(&all);
}

static void file_has(place *p, const char *name, const char *part)
{
    char *text = text_of(p, name);
    hpc_test_says(text ? text : "", part);
    hpc_free(text);
}

/* The steps of the workflow as `bash -e` runs each, in files 1 to 4 of "tmp/steps". */
#define WORKFLOW                                                                                   \
    "mkdir -p tmp/steps; awk -v key=run -v out=tmp/steps -f \"$steps\" \"$ci/github-perf.yml\"; "  \
    "[ \"$(ls tmp/steps | tr '\\n' ' ')\" = '1 2 3 4 ' ]; "                                        \
    "export RUNNER_TEMP=\"$PWD/tmp\" GITHUB_PATH=\"$PWD/paths\" "                                  \
    "GITHUB_STEP_SUMMARY=\"$PWD/tmp/summary\" "                                                    \
    "PULL=https://example.org/pull/7 HPCCODER_SOURCE=/nowhere; cd r; "                             \
    "step() { bash -e ../tmp/steps/$1; }; "

static void test_workflow(void **state)
{
    place *p = *state;
    begin(p);
    script_of(p,
              WORKFLOW "export FAIL_ON=2 BASE=$(git rev-parse first) HEAD=$(git rev-parse loops); "
                       "step 1; step 2; step 3; step 4 > ../annotations");
    file_has(p, "tmp/summary", "### Performance: :warning: it may run slower");
    file_has(p, "annotations", "::warning file=step.c,line=");
    file_has(p, "asked", "gh pr comment https://example.org/pull/7 --edit-last --body-file ");
    file_has(p, "asked", "/tmp/perf.md\ngh pr comment https://example.org/pull/7 --body-file ");
    /* where it is to fail, the summary is written, and the last step fails */
    script_of(p, WORKFLOW
              "rm $GITHUB_STEP_SUMMARY; "
              "export FAIL_ON=0.5 BASE=$(git rev-parse first) HEAD=$(git rev-parse loops); "
              "step 1; step 2; code=0; step 4 > ../annotations || code=$?; [ $code = 1 ]");
    file_has(p, "tmp/summary", "### Performance: :x: it probably runs slower");
    file_has(p, "annotations", "::error file=step.c");
    /* what cannot be read is no summary */
    script_of(p, WORKFLOW "export FAIL_ON=0.5 BASE=nowhere HEAD=loops; code=0; "
                          "step 2 || code=$?; [ $code != 0 ]");
}

/* Nothing of the pull request is run, no secret is used, only where it may does it comment. */
static void test_forks(void **state)
{
    place *p = *state;
    begin(p);
    script_of(p,
              "none() { if grep -n \"$@\"; then exit 1; fi; }; "
              "none 'secrets[.]' \"$ci/github-perf.yml\"; "
              "none 'pull_request_target' \"$ci/github-perf.yml\"; "
              "grep -q '^on: pull_request$' \"$ci/github-perf.yml\"; "
              "mkdir steps; awk -v key=run -v out=steps -f \"$steps\" \"$ci/github-perf.yml\"; "
              "none '[$]{{' steps/*; grep -q 'gh pr comment' steps/3; "
              "head -n 1 steps/3 | grep -q '^# if: github.event.pull_request.head.repo.full_name "
              "== github.repository$'");
}

#define JOB                                                                                        \
    "mkdir -p tmp/before tmp/job; "                                                                \
    "awk -v key=before_script -v out=tmp/before -f \"$steps\" \"$ci/gitlab-perf.yml\"; "           \
    "awk -v key=script -v out=tmp/job -f \"$steps\" \"$ci/gitlab-perf.yml\"; "                     \
    "[ \"$(ls tmp/job | tr '\\n' ' ')\" = '1 2 3 4 ' ]; cat tmp/before/* tmp/job/* > tmp/all; "    \
    "export CI_API_V4_URL=https://example.org/api CI_MERGE_REQUEST_PROJECT_ID=3 "                  \
    "CI_MERGE_REQUEST_IID=7; cd r; export CI_COMMIT_SHA=$(git rev-parse loops) "                   \
    "CI_MERGE_REQUEST_DIFF_BASE_SHA=$(git rev-parse first); "

static void test_job(void **state)
{
    place *p = *state;
    begin(p);
    script_of(p,
              JOB "export FAIL_ON=2; bash -e -o pipefail ../tmp/all > ../text; [ ! -e ../asked ]");
    file_has(p, "r/perf.md", "### Performance: :warning: it may run slower");
    file_has(p, "text", ": slower (");
    script_of(p, JOB "export FAIL_ON=2 PERF_TOKEN=t; bash -e -o pipefail ../tmp/all");
    file_has(p, "asked",
             "--header PRIVATE-TOKEN: t --form body=<perf.md "
             "https://example.org/api/projects/3/merge_requests/7/notes");
    script_of(p, JOB
              "export FAIL_ON=0.5; code=0; bash -e -o pipefail ../tmp/all > ../text || code=$?; "
              "[ $code = 1 ]");
    file_has(p, "text", "FAIL");
}

/* A bare repository that has "first", and the hook. */
#define HOOK                                                                                       \
    "git init -q --bare -b main b; cd r; git remote add origin ../b; "                             \
    "git push -q origin first:refs/heads/main; git fetch -q; "                                     \
    "cp \"$ci/pre-push\" .git/hooks/pre-push; chmod +x .git/hooks/pre-push; "                      \
    "pushed() { git -C ../b rev-parse --quiet --verify \"$1\" || true; }; "

static void test_hook(void **state)
{
    place *p = *state;
    begin(p);
    /* advisory, then not */
    script_of(p, HOOK "git push origin main 2> ../told; "
                      "[ \"$(pushed main)\" = \"$(git rev-parse loops)\" ]; "
                      "git push -q --no-verify -f origin first:main; "
                      "git config hpccoder.fail-on 0.5; code=0; "
                      "git push origin main 2> ../stopped || code=$?; [ $code != 0 ]; "
                      "[ \"$(pushed main)\" = \"$(git rev-parse first)\" ]; "
                      "git push -q origin same:main; "
                      "[ \"$(pushed main)\" = \"$(git rev-parse same)\" ]");
    file_has(p, "told", "refs/heads/main:\n");
    file_has(p, "told", ": slower (");
    file_has(p, "stopped", "FAIL");
    file_has(p, "stopped", "pre-push: not pushed; git push --no-verify does it");
    /* a new branch is compared with its fork point; a deleted one is ignored */
    script_of(p, "cd r; git config hpccoder.fail-on 0.5; code=0; "
                 "git push origin loops:refs/heads/new 2> ../new || code=$?; [ $code != 0 ]; "
                 "git push -q origin same:refs/heads/old; git push -q origin :old; "
                 "git commit -q --amend -m 'Loops, in any case' -m 'Perf-Ack: more exact'; "
                 "git push -q origin main:refs/heads/new");
    file_has(p, "new", ": slower (");
    file_has(p, "new", "step: code in an inner loop changed (step.c:8)");
    /* without the program, or a history that it can read, it does not stand in the way */
    script_of(p, "rm bin/hpccoder; cd r; git push -q -f origin loops:main 2> ../without");
    file_has(p, "without", "pre-push: so nothing is told of performance");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {TEST(test_workflow), TEST(test_forks), TEST(test_job),
                                       TEST(test_hook)};
    return cmocka_run_group_tests_name("cmd/perf_ci", tests, models_setup, models_teardown);
}
