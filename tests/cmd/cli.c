/*
 * Tests of the command line: help, versions, one-line errors with the right exit code, and the
 * commands info, plan show and bench step.
 */
/* tsan: left out, other tests start the same threads. */
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
#include "tests/support/expect.h"
#include "tests/support/folder.h"
#include "tests/support/shell.h"

static hpc_test_outcome o; /* of the last command */

static void wants(const char *words, int code)
{
    hpc_test_command(&o, words);
    if (o.code != code) print_error("hpccoder %s: exit code %d\n%s%s", words, o.code, o.out, o.err);
    assert_int_equal(o.code, code);
}

/* One line on stderr, nothing on stdout, exit code 2, and these words in it. */
static void refuses(const char *words, const char *part)
{
    wants(words, 2);
    size_t n = strlen(o.err);
    if (!strstr(o.err, part)) print_error("hpccoder %s: %s", words, o.err);
    assert_non_null(strstr(o.err, part));
    assert_ptr_equal(strchr(o.err, '\n'), o.err + n - 1);
    assert_int_equal(o.out[0], 0);
}

static void helps(void **state)
{
    (void)state;
    wants("--help", 0);
    assert_non_null(strstr(o.out, "usage: hpccoder COMMAND"));
    assert_non_null(strstr(o.out, "bench op"));
    wants("--version", 0);
    assert_int_equal(strncmp(o.out, "hpccoder ", 9), 0);
    const char *const commands[] = {"info", "plan show", "bench op", "bench step", "report"};
    for (int k = 0; k < 5; k++) {
        char words[64];
        snprintf(words, sizeof words, "%s --help", commands[k]);
        wants(words, 0);
        assert_non_null(strstr(o.out, commands[k]));
        assert_int_equal(o.err[0], 0);
    }
}

/* Help of one option of a command, white space reduced to single blanks; "": none. */
static void told_of(char out[512], const char *command, const char *option)
{
    char words[96];
    size_t n = 0;
    snprintf(words, sizeof words, "%s --help", command);
    wants(words, 0);
    snprintf(words, sizeof words, "--%s ", option);
    out[0] = '\0';
    const char *p = strstr(strstr(o.out, "\nOptions:\n"), words);
    if (!p) return;
    while (p[-1] != '\n') p--;
    for (bool first = true; *p && *p != '\n'; first = false)
    { /* lines of it are far to the right */
        if (!first && strspn(p, " ") < 10) break;
        for (; *p && *p != '\n'; p++)
            if (*p != ' ' || (n > 0 && out[n - 1] != ' ')) out[n++] = *p;
        out[n++] = ' ';
        p += *p == '\n';
        assert_true(n < 500);
    }
    out[n] = '\0';
}

/* An option that several commands have is the same for all: letter, argument, limits and words. */
static void options_are_shared(void **state)
{
    static const char *const options[] = {"threads", "resume", "json", "quiet"};
    static const int least[] = {9, 2, 11, 5}; /* commands that have it, at least */
    char list[8192], first[512], other[512], name[32];
    (void)state;
    wants("--help", 0);
    snprintf(list, sizeof list, "%.8000s", o.out);
    for (int k = 0; k < 4; k++) {
        int n = 0;
        for (const char *p = list; (p = strstr(p, "\n  ")); p++) {
            if (p[3] == ' ') continue; /* a summary's second line */
            snprintf(name, sizeof name, "%.16s", p + 3);
            while (name[strlen(name) - 1] == ' ') name[strlen(name) - 1] = '\0';
            told_of(n ? other : first, name, options[k]);
            if (n > 0 && other[0]) assert_string_equal(other, first);
            n += n ? other[0] != '\0' : first[0] != '\0';
        }
        if (n < least[k]) fail_msg("--%s: %d commands: %s", options[k], n, first);
    }
}

static int longest_line(const char *text)
{
    int longest = 0;
    for (const char *p = text; *p; p += strcspn(p, "\n") + (strchr(p, '\n') != NULL))
        if ((int)strcspn(p, "\n") > longest) longest = (int)strcspn(p, "\n");
    return longest;
}

static void help_fits_the_columns_of_the_environment(void **state)
{
    (void)state;
    setenv("COLUMNS", "70", 1);
    wants("complete --help", 0);
    char *examples = strstr(o.out, "\nExamples:"); /* commands are not wrapped */
    assert_non_null(examples);
    *examples = '\0';
    assert_in_range(longest_line(o.out), 60, 69);
    setenv("COLUMNS", "100", 1);
    wants("complete --help", 0);
    assert_in_range(longest_line(o.out), 90, 99);
    setenv("COLUMNS", "60", 1);
    wants("--help", 0);
    *strstr(o.out, "\n\n`") = '\0';
    assert_in_range(longest_line(o.out), 50, 59);
    unsetenv("COLUMNS");
}

static void unknown_commands_suggest_the_nearest(void **state)
{
    (void)state;
    refuses("complet", "unknown command 'complet', did you mean 'complete'?");
    refuses("prgma x.c", "unknown command 'prgma', did you mean 'pragma'?");
    refuses("plan shwo", "unknown command 'plan shwo', did you mean 'plan show'?");
    refuses("corpsu stats x", "unknown command 'corpsu stats', did you mean 'corpus stats'?");
    refuses("corpsu", "unknown command 'corpsu', did you mean 'corpus'?");
    refuses("harvest x", "unknown command 'harvest', did you mean 'corpus harvest'?");
    refuses("plan --json", "'plan' needs a second word: plan show, plan check, plan simulate");
    refuses("plan nothing", "'plan' needs a second word: plan show");
    refuses("nothing", "unknown command 'nothing'; hpccoder --help lists the commands");
    refuses("--verison", "unknown option --verison, did you mean --version?");
    refuses("--json info", "option --json without a command");
}

static void help_names_a_command(void **state)
{
    static const char *const named[] = {"complete", "corpus pack"};
    static char first[sizeof o.out];
    char words[64];
    (void)state;
    for (int k = 0; k < 2; k++) {
        snprintf(words, sizeof words, "%s --help", named[k]);
        wants(words, 0);
        strcpy(first, o.out);
        snprintf(words, sizeof words, "help %s", named[k]);
        wants(words, 0);
        assert_string_equal(o.out, first);
    }
    refuses("help complte", "unknown command 'complte', did you mean 'complete'?");
    refuses("help corpus", "'corpus' needs a second word: corpus harvest");
}

/* Main jobs come first, each followed by its example; every command appears once. */
static void usage_starts_with_the_main_jobs(void **state)
{
    static const char *const jobs[] = {"complete",       "pragma", "perf predict",
                                       "corpus harvest", "train",  "import"};
    char text[64], *at;
    (void)state;
    wants("--help", 0);
    at = strstr(o.out, "\nMain jobs");
    assert_non_null(at);
    for (int k = 0; k < 6; k++) {
        snprintf(text, sizeof text, "\n  %-16s  ", jobs[k]);
        char *name = strstr(at, text);
        assert_true(name && name > at);
        snprintf(text, sizeof text, "\n      hpccoder %s ", jobs[k]);
        at = strstr(name, text);
        assert_non_null(at);
    }
    assert_true(strstr(o.out, "\n  perf collect ") > at);
    assert_non_null(strstr(at, "\n\nPerformance histories:\n"));
    assert_null(strstr(at, "\n  pragma "));
}

static void errors_are_one_line(void **state)
{
    (void)state;
    refuses("info --jsn", "json");
    refuses("info extra", "unexpected argument 'extra'");
    refuses("plan show --hidden 0", "--hidden");
    refuses("plan show --heads 3 --kv-heads 1", "hidden=128 is not a multiple of heads=3");
    refuses("plan show --kv-heads 3", "heads=4 is not a multiple of kv-heads=3");
    refuses("plan show --grid data=3", "6 and 9 are the nearest that work");
    refuses("plan show --grid date=2", "date");
    refuses("plan show --grid pipe=3", "use at most 2 stages");
    refuses("plan show --grid expert=2", "expert=2: the model has no experts to divide; use data");
    refuses("plan", "'plan' needs a second word: plan show");
    refuses("plan show --grid data=2 --rank 2", "the grid has 2 ranks");
    refuses("plan show --backend cude", "cude");
    refuses("plan show --isa mmx", "mmx");
    refuses("bench step --steps many", "many");
}

/* Without a model in the data folder of the user, it is the one that comes with the program. */
static void the_installed_model_is_the_default(void **state)
{
    char path[PATH_MAX], pilot[PATH_MAX], folder[PATH_MAX];
    const hpc_test_folder *f = *state;
    assert_non_null(realpath("share/pilot.gguf", pilot));
    setenv("XDG_DATA_HOME", f->root, 1);
    wants("info --json", 0);
    assert_non_null(strstr(o.out, "/pilot.gguf\""));
    test_ok(hpc_file_mkdir(hpc_test_path(folder, f, "hpccoder")));
    test_ok(hpc_file_mkdir(hpc_test_path(folder, f, "hpccoder/models")));
    assert_int_equal(symlink(pilot, hpc_test_path(path, f, "hpccoder/models/hpc-135m.packed")), 0);
    wants("info", 0);
    assert_non_null(strstr(o.out, "hpc-135m.packed\n"));
    wants("info --json", 0);
    assert_non_null(strstr(o.out, path));
    setenv("HPCCODER_MODEL", "share/pilot.gguf", 1);
    wants("info --json", 0);
    assert_non_null(strstr(o.out, "\"model\": \"share/pilot.gguf\""));
    unsetenv("HPCCODER_MODEL");
    unsetenv("XDG_DATA_HOME");
}

static void info_reports(void **state)
{
    (void)state;
    hpc_json *root = NULL;
    const char *text = NULL;
    wants("info", 0);
    hpc_test_says_row(o.out, "\ndevice cuda ");
    hpc_test_says_row(o.out, "\ndevice mock:1 yes: ");
    wants("info --json", 0);
    assert_int_equal(hpc_json_parse(&root, o.out, strlen(o.out), "stdout"), 0);
    assert_int_equal(hpc_json_text(&text, hpc_json_get(root, "version"), "version"), 0);
    assert_true(hpc_json_n(hpc_json_get(root, "backends")) >= 2);
    assert_true(hpc_json_n(hpc_json_get(root, "devices")) >= 3);
    assert_true(hpc_json_n(hpc_json_get(root, "isas")) >= 1);
    hpc_json_free(root);
}

/* A copy of the program without its shared objects, and no other programs. */
static void info_names_missing_features_and_their_packages(void **state)
{
    const hpc_test_folder *f = *state;
    char program[PATH_MAX];
    hpc_test_built(program, "hpccoder");
    int rc = hpc_test_shell("cp '%s' '%s' && PATH='%s' '%s/hpccoder' info", program, f->root,
                            f->root, f->root);
    if (rc != 0) fail_msg("%s", hpc_test_shown());
    hpc_test_says_row(hpc_test_shown(),
                      "\ntokenizer train no: this build has no hpccoder-spm.so; install "
                      "libsentencepiece-dev and run `make`");
    hpc_test_says_row(hpc_test_shown(),
                      "\nplots no: program gnuplot is not in PATH; install gnuplot-nox\n");
    rc = hpc_test_shell("printf x >'%s/hpccoder-spm.so' && '%s/hpccoder' info", f->root, f->root);
    if (rc != 0) fail_msg("%s", hpc_test_shown());
    hpc_test_says(hpc_test_shown(),
                  "hpccoder-spm.so: file too short; install libsentencepiece-dev");
}

static void plans_are_shown(void **state)
{
    (void)state;
    wants("plan show --layers 1 --threads 2", 0);
    assert_non_null(strstr(o.out, "model.layers.0.self_attn.q_proj.weight : f32[128,128]"));
    assert_non_null(strstr(o.out, "| barrier"));
    assert_non_null(strstr(o.out, " instructions "));
    assert_null(strstr(o.out, "all_reduce"));
    wants("plan show --layers 1 --grid data=2 --rank 1 --backend mock", 0);
    assert_non_null(strstr(o.out, "all_reduce"));
    assert_non_null(strstr(o.out, "f32[256,128]{data:0}"));
    wants("plan show --offload-bucket 4096 --grid data=2 --json", 0);
    assert_non_null(strstr(o.out, "\"offload_bucket\":4096"));
    refuses("plan show --offload-bucket 1 --json", "use buckets of at least ");
}

static int times(const char *part)
{
    int n = 0;
    for (const char *at = o.out; (at = strstr(at, part)); at++) n++;
    return n;
}

static void plans_recompute(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        int attention, norm;
    } want[] = {{"", 3, 7},
                {" --recompute none", 3, 7},
                {" --recompute selective", 3, 13},
                {" --recompute block", 6, 13},
                {" --recompute block --recompute-blocks 2", 5, 11}};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        char words[96];
        snprintf(words, sizeof words, "plan show --layers 3%s", want[k].options);
        wants(words, 0);
        assert_int_equal(times("= attention("), want[k].attention);
        assert_int_equal(times("= norm("), want[k].norm);
    }
    refuses("plan show --recompute all", "none, selective, block");
}

static double number(const hpc_json *root, const char *key)
{
    double x = 0;
    assert_int_equal(hpc_json_real(&x, hpc_json_get(root, key), key), 0);
    return x;
}

/* The loss of the first and of the last step. */
static void a_small_model_learns(void **state)
{
    (void)state;
    double loss[2] = {0, 0};
    int lines = 0;
    wants("bench step --steps 12 --hidden 32 --heads 2 --kv-heads 1 --ffn 64 --layers 1 --json", 0);
    for (char *line = strtok(o.out, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        hpc_json *root = NULL;
        assert_int_equal(hpc_json_parse(&root, line, strlen(line), "stdout"), 0);
        loss[lines ? 1 : 0] = number(root, "loss");
        assert_true(number(root, "step_ms") > 0 && number(root, "tokens_per_s") > 0);
        hpc_json_free(root);
    }
    assert_int_equal(lines, 12);
    assert_true(loss[0] > 5 && loss[1] < loss[0] - 1);
}

/* A page for each command that --help lists, and one for all of them. */
static void manuals_and_completion(void **state)
{
    (void)state;
    char dir[] = "/tmp/hpc-cli-XXXXXX", words[64], path[300];
    hpc_buf names = {0};
    int64_t n = 0, pages = 1;
    wants("--help", 0);
    for (const char *p = o.out; (p = strstr(p, "\n  ")); p++) pages += p[3] != ' ';
    assert_non_null(mkdtemp(dir));
    snprintf(words, sizeof words, "--man-pages %s", dir);
    wants(words, 0);
    snprintf(path, sizeof path, "%s/man1", dir);
    assert_int_equal(hpc_file_list(&names, &n, path), 0);
    assert_int_equal(n, pages);
    assert_true(n > 10);
    for (const char *name = names.data; n-- > 0; name += strlen(name) + 1) {
        assert_int_equal(strncmp(name, "hpccoder", 8), 0);
        snprintf(path, sizeof path, "%s/man1/%s", dir, name);
        assert_int_equal(unlink(path), 0);
    }
    snprintf(path, sizeof path, "%s/man1", dir);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(dir), 0);
    hpc_buf_release(&names);
    wants("--completion bash", 0);
    assert_non_null(strstr(o.out, "complete "));
    refuses("--completion fish", "only bash is supported");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(helps),
        cmocka_unit_test(options_are_shared),
        cmocka_unit_test(help_fits_the_columns_of_the_environment),
        cmocka_unit_test(errors_are_one_line),
        cmocka_unit_test(unknown_commands_suggest_the_nearest),
        cmocka_unit_test(help_names_a_command),
        cmocka_unit_test(usage_starts_with_the_main_jobs),
        cmocka_unit_test(info_reports),
        cmocka_unit_test_setup_teardown(the_installed_model_is_the_default, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(info_names_missing_features_and_their_packages,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test(plans_are_shown),
        cmocka_unit_test(plans_recompute),
        cmocka_unit_test(a_small_model_learns),
        cmocka_unit_test(manuals_and_completion),
    };
    unsetenv("COLUMNS");
    return cmocka_run_group_tests_name("cmd/cli", tests, NULL, NULL);
}
