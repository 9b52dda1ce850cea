/*
 * check.c: tests of the documentation tools: check.py rejects each fault planted in two small
 * pages and accepts this repository's pages; render.py makes a self-contained site.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/shell.h"

/* A repository of the fixture's two pages, with the Makefile's targets. */
static int setup(void **state)
{
    hpc_test_folder_setup(state);
    const hpc_test_folder *f = *state;
    int rc = hpc_test_shell(
        "cp -R tests/docs/site/. '%s' && cd '%s' && printf 'check: ## test\\n' >Makefile && "
        "git init -q . && git add -A && "
        "git -c user.name=A -c user.email=a@example.org commit -qm 'Add pages'",
        f->root, f->root);
    if (rc != 0) fail_msg("%s", hpc_test_shown());
    return 0;
}

static int check(const hpc_test_folder *f, const char *options)
{
    char here[PATH_MAX], program[PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    return hpc_test_shell("cd '%s' && python3 '%s/tests/docs/check.py' --program '%s' %s", f->root,
                          here, hpc_test_built(program, "hpccoder"), options);
}

static void says(const char *part)
{
    hpc_test_says(hpc_test_shown(), part);
}

/* Edits a page by a sed script; the check then fails with this text, and passes when undone. */
static void planted(const hpc_test_folder *f, const char *page, const char *edit, const char *part)
{
    assert_int_equal(
        hpc_test_shell("cd '%s' && sed -i '%s' %s && ! git diff --quiet", f->root, edit, page), 0);
    int rc = check(f, "");
    if (rc != 1) fail_msg("%s: exit status %d\n%s", edit, rc, hpc_test_shown());
    says(part);
    says(", 1 faults");
    assert_int_equal(hpc_test_shell("cd '%s' && git checkout -q .", f->root), 0);
}

static void accepts_right_pages(void **state)
{
    hpc_test_need("python3");
    int rc = check(*state, "");
    if (rc != 0) fail_msg("exit status %d\n%s", rc, hpc_test_shown());
    says("docs-check: 2 pages, 3 links, 4 names, 4 commands run, 0 blocks left out, 0 faults");
}

static void rejects_dead_links(void **state)
{
    hpc_test_need("python3");
    planted(*state, "docs/usage.md", "s/README.md/READ.md/",
            "docs/usage.md:5: link ../READ.md: the repository has no READ.md");
    planted(*state, "README.md", "s/#two-lines/#three-lines/",
            "README.md:3: link docs/usage.md#three-lines: no heading of docs/usage.md has this");
    planted(*state, "docs/usage.md", "s/picture.svg/drawing.svg/",
            "docs/usage.md:7: link drawing.svg: the repository has no docs/drawing.svg");
    planted(*state, "docs/usage.md", "s,`docs/usage.md`,`docs/use.md`,",
            "docs/usage.md:5: the repository has no docs/use.md");
}

static void rejects_options_and_commands_that_help_does_not_list(void **state)
{
    hpc_test_need("python3");
    planted(*state, "README.md", "s/--fix/--fixed/",
            "README.md:3: hpccoder pragma has no option --fixed");
    planted(*state, "docs/usage.md", "s/--json/--jason/",
            "docs/usage.md:5: no command of hpccoder has an option --jason");
    planted(*state, "README.md", "s/--data/--datum/",
            "README.md:23: hpccoder train has no option --datum");
    planted(*state, "README.md", "s/hpccoder train/hpccoder teach/",
            "README.md:23: hpccoder has no command 'teach'");
    planted(*state, "README.md", "s/make check/make chek/",
            "README.md:3: make has no target 'chek'");
}

static void rejects_options_in_examples_that_help_does_not_list(void **state)
{
    const hpc_test_folder *f = *state;
    char here[PATH_MAX];
    hpc_test_need("python3");
    assert_non_null(getcwd(here, sizeof here));
    int rc = hpc_test_shell(
        "cd '%s' && printf '# Page\\n' >README.md && rm -r docs && mkdir bin && cat >bin/hpccoder "
        "<<'END'\n"
        "#!/bin/sh\n"
        "[ $1 = sort ] || { echo '  sort  Sort lines.'; exit; }\n"
        "printf '%%s\\n' '  -r, --reverse  From last to first.' '  hpccoder sort --revers'\n"
        "END\n"
        "chmod +x bin/hpccoder && python3 '%s/tests/docs/check.py' --program bin/hpccoder",
        f->root, here);
    assert_int_equal(rc, 1);
    says("hpccoder sort --help:1: hpccoder sort has no option --revers\n");
}

static void rejects_stale_output(void **state)
{
    hpc_test_need("python3");
    planted(*state, "README.md", "s/^third$/fourth/", "README.md:6: stale output: the page has");
    planted(*state, "README.md", "s/^a-b$/a-b-c/", "README.md:10: stale output: the page has");
    planted(*state, "README.md", "s/^first$/&\\nfirst/", "README.md:6: stale output");
    planted(*state, "README.md", "14s/second word/second name/", "README.md:13: stale output");
}

static void rejects_commands_that_fail(void **state)
{
    hpc_test_need("python3");
    planted(*state, "README.md", "s/-s lines/-s line/", "README.md:18: exit status 1");
}

/* A block of varying output may show prompts and output: its commands are run, one by one. */
static void runs_the_commands_of_a_session_that_varies(void **state)
{
    hpc_test_need("python3");
    planted(*state, "docs/usage.md", "$a ```sh vary\\n$ date +%s\\n1790000000\\n$ false\\n```",
            "docs/usage.md:11: exit status 1");
}

static void output_that_varies_keeps_its_words(void **state)
{
    hpc_test_need("python3");
    planted(*state, "docs/usage.md",
            "$a ```sh vary\\n$ echo 7 files in 1.5 s, 3.0 KiB\\n12 files in 20 ms, 512 B\\n"
            "$ echo 7 files in 1.5 s\\n12 lines in 20 ms\\n```",
            "docs/usage.md:11: stale output: the page has");
}

/* Each page starts without the files and repositories that the page before it made. */
static void pages_start_in_a_clean_copy(void **state)
{
    const hpc_test_folder *f = *state;
    hpc_test_need("python3");
    int rc = hpc_test_shell(
        "cd '%s' && for page in README docs/usage; do "
        "printf '\\n```sh vary\\nmkdir new && git -C new init && git config user.name\\n```\\n' "
        ">>$page.md; done",
        f->root);
    assert_int_equal(rc, 0);
    rc = check(f, "");
    if (rc != 0) fail_msg("exit status %d\n%s", rc, hpc_test_shown());
}

static void rejects_fences_of_another_kind(void **state)
{
    hpc_test_need("python3");
    planted(*state, "README.md", "s/sh vary/sh varies/",
            "README.md:17: 'sh varies': a shell block is sh, sh vary, sh machine, sh norun");
    planted(*state, "docs/usage.md", "$a ```\\n$ true\\n```",
            "docs/usage.md:8: a block with '$ COMMAND' is sh");
    planted(*state, "README.md", "s/sh norun/sh/", "README.md:22: a transcript begins with");
}

static void quick_check_leaves_out_what_takes_longer(void **state)
{
    const hpc_test_folder *f = *state;
    hpc_test_need("python3");
    assert_int_equal(
        hpc_test_shell("cd '%s' && sed -i 's/^test/sleep 60; test/' README.md", f->root), 0);
    assert_int_equal(check(f, "--quick 4"), 0);
    says("3 commands run, 1 blocks left out, 0 faults");
}

/* The pages of this repository: links, options, and the blocks that run within 20 s. */
static void pages_of_the_repository_are_right(void **state)
{
    char program[PATH_MAX];
    (void)state;
    hpc_test_need("python3");
    if (getenv("HPC_DOCS_CHECK")) {
        print_message("SKIP: a command of the documentation runs this\n");
        skip();
    }
    int rc = hpc_test_shell("python3 tests/docs/check.py --program '%s' --quick 20",
                            hpc_test_built(program, "hpccoder"));
    if (rc != 0) fail_msg("exit status %d\n%s", rc, hpc_test_shown());
}

static void site_has_no_script_and_loads_nothing_from_elsewhere(void **state)
{
    const hpc_test_folder *f = *state;
    hpc_test_need("python3");
    hpc_test_need("cmark-gfm");
    int rc = hpc_test_shell(
        "python3 docs/render.py --out '%s/site' $(ls README.md docs/*.md) CONTRIBUTING.md",
        f->root);
    if (rc != 0) fail_msg("%s", hpc_test_shown());
    assert_int_equal(hpc_test_shell("cd '%s/site' && ls *.html | wc -l", f->root), 0);
    assert_true(atoi(hpc_test_shown()) >= 2);
    assert_int_equal(
        hpc_test_shell("cd '%s/site' && grep -nE '<script|<iframe|(src|srcset)=\"[a-z]+:|"
                       "url\\(|@import|<link [^>]*href=\"[a-z]+:' *.html *.css",
                       f->root),
        1);
}

static void site_keeps_anchors_links_and_pictures(void **state)
{
    const hpc_test_folder *f = *state;
    char here[PATH_MAX];
    hpc_test_need("python3");
    hpc_test_need("cmark-gfm");
    assert_non_null(getcwd(here, sizeof here));
    int rc = hpc_test_shell(
        "cd '%s' && python3 '%s/docs/render.py' --out site README.md docs/usage.md && "
        "cat site/index.html site/usage.html && ls site",
        f->root, here);
    if (rc != 0) fail_msg("%s", hpc_test_shown());
    says("<a href=\"usage.html#two-lines\">usage page</a>");
    says("<h2 id=\"two-lines\">Two lines");
    says("<a href=\"index.html\">the other page</a>");
    says("<img src=\"picture.svg\"");
    says("\npicture.svg\n");
    says("<a href=\"usage.html\" aria-current=\"page\">Usage</a>");
}

static void make_help_groups_all_targets(void **state)
{
    (void)state;
    int rc = hpc_test_shell("awk -f docs/help.awk Makefile docs/docs.mk tests/tests.mk");
    if (rc != 0) fail_msg("%s", hpc_test_shown());
    static const char *const lines[] = {
        "Build and install:\n  all ",  "\n\nTest:\n  tests ", "\n\nStyle:\n  lint ",
        "\n\nDocumentation:\n  docs ", "\n  asan tsan ",      "\n  docs-check "};
    for (int k = 0; k < 6; k++) says(lines[k]);
    rc = hpc_test_shell("printf 'x: ## other: text\\n' | awk -f docs/help.awk");
    assert_int_equal(rc, 1);
    says("group 'other' is not one of docs/help.awk");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(accepts_right_pages, setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(rejects_dead_links, setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(rejects_options_and_commands_that_help_does_not_list, setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(rejects_options_in_examples_that_help_does_not_list, setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(rejects_stale_output, setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(rejects_commands_that_fail, setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(output_that_varies_keeps_its_words, setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(runs_the_commands_of_a_session_that_varies, setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(pages_start_in_a_clean_copy, setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(rejects_fences_of_another_kind, setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(quick_check_leaves_out_what_takes_longer, setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test(pages_of_the_repository_are_right),
        cmocka_unit_test(make_help_groups_all_targets),
        cmocka_unit_test_setup_teardown(site_has_no_script_and_loads_nothing_from_elsewhere, setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(site_keeps_anchors_links_and_pictures, setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
