/*
 * Tests of the sandbox for generated code: hostile programs are contained.
 */
/* tsan: left out, the code has no threads. */
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

#include "eval/box.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"

typedef struct box_test {
    hpc_eval_box *box;
    char folder[PATH_MAX];
    hpc_proc_result r;
} box_test;

/* Skips the test where no sandbox can be created. */
static void open_box(box_test *t)
{
    *t = (box_test){0};
    if (hpc_eval_box_open(&t->box, "/tmp", false) < 0) {
        print_message("SKIP: %s\n", hpc_error_get()->text);
        hpc_error_clear();
        skip();
    }
    snprintf(t->folder, sizeof t->folder, "%s", hpc_eval_box_folder(t->box));
}

static void run_shell(box_test *t, const char *script, double seconds)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    const hpc_eval_command c = {.argv = argv, .folder = t->folder, .writes = false};
    hpc_eval_limits limits = HPC_EVAL_LIMITS_DEFAULTS;
    limits.seconds = seconds;
    limits.processes = 32;
    limits.space_bytes = 8 << 20;
    limits.file_bytes = 4 << 20;
    hpc_proc_release(&t->r);
    test_ok(hpc_eval_box_run(&t->r, t->box, &c, &limits));
}

static void close_box(box_test *t)
{
    hpc_proc_release(&t->r);
    hpc_eval_box_close(t->box);
    assert_int_not_equal(access(t->folder, F_OK), 0); /* the scratch folder is gone */
}

static const char *out_of(const box_test *t)
{
    return t->r.out.n > 0 ? t->r.out.data : "";
}

static void fork_bomb_reaches_its_limit(void **state)
{
    box_test t;
    (void)state;
    open_box(&t);
    run_shell(
        &t, "n=0; while [ $n -lt 200 ]; do sleep 60 & n=$((n + 1)); done 2>/dev/null; echo $n", 20);
    assert_true(!strstr(out_of(&t), "200"));
    run_shell(&t, "f() { f | f & }; f 2>/dev/null; sleep 60", 2);
    assert_true(t.r.seconds < 10);
    close_box(&t);
}

static void disk_filler_finds_little_space(void **state)
{
    box_test t;
    (void)state;
    open_box(&t);
    run_shell(&t,
              "for d in . /tmp /dev/shm /dev / /var /proc; do for k in 1 2 3 4 5 6; do head -c "
              "3000000 /dev/zero >$d/fill$k; done; done 2>/dev/null; du -sk /tmp /dev/shm / "
              "2>/dev/null | awk '$1 > 9000 && $2 != \"/\" { print \"too much\" }'; "
              "ls /fill1 /dev/fill1 /var/fill1 2>/dev/null",
              30);
    assert_string_equal(out_of(&t), "");
    run_shell(&t, "head -c 6000000 /dev/zero >/tmp/one || echo limited", 10);
    assert_true(t.r.status != 0 || t.r.signal != 0 || strstr(out_of(&t), "limited"));
    close_box(&t);
}

static void parent_killer_ends_only_itself(void **state)
{
    char script[200];
    box_test t;
    (void)state;
    open_box(&t);
    snprintf(script, sizeof script,
             "kill -9 $PPID; kill -9 %ld; kill -9 1; kill -9 -1; echo alive; sleep 30",
             (long)getpid());
    run_shell(&t, script, 5);
    assert_true(t.r.seconds < 10); /* and this process is alive */
    close_box(&t);
}

static void home_reader_finds_no_home(void **state)
{
    char script[2 * PATH_MAX + 300], secret[PATH_MAX], here[PATH_MAX];
    box_test t;
    open_box(&t);
    hpc_test_path(secret, *state, "secret");
    test_ok(hpc_file_save(secret, "password", 8));
    assert_non_null(getcwd(here, sizeof here));
    snprintf(script, sizeof script,
             "cat %s %s/Makefile 2>/dev/null; ls -d ~root /h*me 2>/dev/null; echo done", secret,
             here);
    run_shell(&t, script, 10);
    assert_string_equal(out_of(&t), "done\n");
    close_box(&t);
}

static void network_is_absent(void **state)
{
    box_test t;
    (void)state;
    open_box(&t);
    run_shell(&t, "grep -c : /proc/net/dev", 10);
    assert_string_equal(out_of(&t), "1\n"); /* the loopback device */
    close_box(&t);
}

static void endless_output_is_cut(void **state)
{
    box_test t;
    (void)state;
    open_box(&t);
    run_shell(&t, "yes", 2);
    assert_true(t.r.timed_out && t.r.cut);
    assert_true(t.r.out.n <= 64 << 10);
    close_box(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fork_bomb_reaches_its_limit),
        cmocka_unit_test(disk_filler_finds_little_space),
        cmocka_unit_test(parent_killer_ends_only_itself),
        cmocka_unit_test_setup_teardown(home_reader_finds_no_home, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test(network_is_absent),
        cmocka_unit_test(endless_output_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
