/*
 * Tests of runtime/base/ordered.c and cmd/pragma.c: many files on several workers with results in
 * order, Ctrl-C, and files that crash libclang.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/ordered.h"
#include "tests/source/check.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

static hpc_test_outcome o, other;

enum { FILES_N = 12 };

static const char *root_of(void **state)
{
    return ((const hpc_test_folder *)*state)->root;
}

static void write_text(void **state, const char *name, const char *text)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, name), text, strlen(text)));
}

/* "@f0.cpp @f1.cpp ...", of which each has one loop that is parallel. */
static void write_files(void **state, hpc_buf *names, int n)
{
    for (int k = 0; k < n; k++) {
        char name[32], text[256];
        snprintf(name, sizeof name, "f%d.cpp", k);
        snprintf(text, sizeof text,
                 "#include <cmath>\n#include <vector>\nvoid f%d(std::vector<double> &v)\n{\n"
                 "    double a[%d];\n    for (int i = 0; i < %d; i++) a[i] = std::sqrt(i);\n"
                 "    v[0] = a[1];\n}\n",
                 k, 100000 + k, 100000 + k);
        write_text(state, name, text);
        test_ok(hpc_buf_printf(names, " @%s", name));
    }
}

static void run(hpc_test_outcome *out, void **state, int code, const char *words)
{
    hpc_test_command_in(out, root_of(state), words);
    if (out->code != code) fail_msg("%s: exit code %d: %s", words, out->code, out->err);
}

static int64_t list_n(const char *text)
{
    hpc_json *root = NULL;
    test_ok(hpc_json_parse(&root, text, strlen(text), "out"));
    const int64_t n = hpc_json_n(root);
    hpc_json_free(root);
    return n;
}

/* ---- results ----------------------------------------------------------------------------------
 */

static void results_do_not_depend_on_workers(void **state)
{
    static const char *const formats[] = {"--json", "--format sarif", "--format text", "--diff"};
    hpc_buf names = {0};
    char words[HPC_TEST_WORDS];
    NEED_LIBRARY;
    write_files(state, &names, FILES_N);
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        snprintf(words, sizeof words, "pragma %s -j 1%s", formats[k], names.data);
        run(&o, state, 0, words);
        snprintf(words, sizeof words, "pragma %s -j 3%s", formats[k], names.data);
        run(&other, state, 0, words);
        assert_string_equal(o.out, other.out);
        if (k == 0) assert_int_equal(list_n(o.out), FILES_N);
    }
    hpc_buf_release(&names);
}

static void a_crash_costs_one_file_and_is_named(void **state)
{
    hpc_json *root = NULL;
    hpc_buf names = {0};
    NEED_LIBRARY;
    write_files(state, &names, 3);
    write_text(state, "f1.cpp", "#pragma clang __debug crash\nvoid f() { for (;;) {} }\n");
    hpc_test_command_in(&o, root_of(state), "pragma --json -j 2 @f0.cpp @f1.cpp @f2.cpp");
    hpc_test_says(o.err, "f1.cpp cannot be checked: libclang was killed by signal ");
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "out"));
    assert_int_equal(hpc_json_n(root), 3);
    for (int k = 0; k < 3; k++) {
        const char *verdict;
        const hpc_json *loops = hpc_json_get(hpc_json_at(root, k), "loops");
        assert_int_equal(hpc_json_n(loops), 1);
        test_ok(hpc_json_text(&verdict, hpc_json_get(hpc_json_at(loops, 0), "verdict"), "verdict"));
        assert_string_equal(verdict, k == 1 ? "unknown" : "parallel");
    }
    hpc_json_free(root);
    hpc_buf_release(&names);
}

static void fix_sees_what_it_did_to_a_file_named_twice(void **state)
{
    hpc_buf names = {0};
    NEED_LIBRARY;
    write_files(state, &names, 1);
    run(&o, state, 0, "pragma --fix -j 4 @f0.cpp @f0.cpp");
    hpc_test_says(o.out, "1 directive inserted");
    hpc_buf_release(&names);
}

static void from_skips_files(void **state)
{
    hpc_buf names = {0};
    NEED_LIBRARY;
    write_files(state, &names, 3);
    run(&o, state, 0, "pragma --json --from @f1.cpp @f0.cpp @f1.cpp @f2.cpp");
    assert_int_equal(list_n(o.out), 2);
    assert_null(strstr(o.out, "f0.cpp"));
    hpc_test_refuses(&o, root_of(state), "pragma --from @g.cpp @f0.cpp",
                     "g.cpp: none of the files has this name");
    hpc_buf_release(&names);
}

/* ---- Ctrl-C -----------------------------------------------------------------------------------
 */

/* Starts the program; its output comes from *out and *err. */
static pid_t start(char *words, int *out, int *err)
{
    char program[PATH_MAX], *argv[HPC_TEST_ARGS];
    int ends[2][2];
    hpc_test_built(program, "hpccoder");
    hpc_test_split(argv, words);
    for (int k = 0; k < 2; k++) assert_int_equal(pipe(ends[k]), 0);
    const pid_t child = fork();
    if (child == 0) {
        for (int k = 0; k < 2; k++) {
            dup2(ends[k][1], k + 1);
            close(ends[k][0]);
        }
        execv(program, argv);
        _exit(127);
    }
    for (int k = 0; k < 2; k++) close(ends[k][1]);
    *out = ends[0][0];
    *err = ends[1][0];
    return child;
}

static void read_rest(hpc_buf *b, int fd)
{
    char part[4096];
    for (ssize_t n = read(fd, part, sizeof part); n > 0; n = read(fd, part, sizeof part))
        test_ok(hpc_buf_add(b, part, (size_t)n));
    close(fd);
}

static void ctrl_c_leaves_valid_json_and_says_how_to_continue(void **state)
{
    hpc_buf names = {0}, out = {0}, err = {0};
    char words[HPC_TEST_WORDS], filled[HPC_TEST_WORDS], part[64];
    int fd[2], status = 0;
    NEED_LIBRARY;
    write_files(state, &names, FILES_N);
    snprintf(words, sizeof words, "pragma --json -j 1%s", names.data);
    const pid_t child = start(hpc_test_in(filled, root_of(state), words), &fd[0], &fd[1]);
    const ssize_t n = read(fd[0], part, sizeof part); /* the first file is done, others are not */
    assert_true(n > 0);
    assert_int_equal(kill(child, SIGINT), 0);
    test_ok(hpc_buf_add(&out, part, (size_t)n));
    read_rest(&out, fd[0]);
    read_rest(&err, fd[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    const int64_t done = list_n(out.data);
    assert_true(done >= 1 && done < FILES_N);
    snprintf(words, sizeof words, "stopped after %d of %d files", (int)done, FILES_N);
    hpc_test_says(err.data, words);
    snprintf(words, sizeof words, "--from %s/f%d.cpp\n", root_of(state), (int)done);
    hpc_test_says(err.data, words);
    hpc_buf_release(&names);
    hpc_buf_release(&out);
    hpc_buf_release(&err);
}

/* ---- the queue --------------------------------------------------------------------------------
 */

typedef struct items {
    int begun[64], emitted; /* by atomic built-ins; in order */
    int stop, stop_at, fail_at;
    int64_t most_ahead;
} items;

static int work(int64_t k, int worker, void *user)
{
    items *x = user;
    assert_in_range(worker, 0, 3);
    __atomic_fetch_add(&x->begun[k], 1, __ATOMIC_ACQ_REL);
    usleep(k % 3 == 0 ? 3000 : 200);
    return k == x->fail_at ? hpc_fail(HPC_E_IO, "item %d", (int)k) : HPC_OK;
}

static int emit(int64_t k, void *user)
{
    items *x = user;
    int begun = 0;
    assert_int_equal(k, x->emitted);
    for (int i = 0; i < 64; i++) begun += __atomic_load_n(&x->begun[i], __ATOMIC_ACQUIRE);
    if (begun - k > x->most_ahead) x->most_ahead = begun - k;
    x->emitted++;
    if (k == x->stop_at) __atomic_store_n(&x->stop, 1, __ATOMIC_RELEASE);
    return HPC_OK;
}

static int each(int64_t *emitted, items *x, int64_t window)
{
    return hpc_ordered_run(emitted, &(hpc_ordered_options){.n = 64,
                                                           .workers = 4,
                                                           .window = window,
                                                           .stop = &x->stop,
                                                           .work = work,
                                                           .emit = emit,
                                                           .user = x});
}

static void items_are_emitted_in_order_within_the_window(void **state)
{
    items x = {.stop_at = -1, .fail_at = -1}, one = x;
    int64_t emitted;
    (void)state;
    test_ok(each(&emitted, &x, 7));
    assert_int_equal(emitted, 64);
    assert_in_range(x.most_ahead, 1, 7);
    test_ok(each(&emitted, &one, 1));
    assert_int_equal(one.most_ahead, 1);
}

static void a_stop_keeps_what_was_begun(void **state)
{
    items x = {.stop_at = 9, .fail_at = -1};
    int64_t emitted;
    int begun = 0;
    (void)state;
    test_ok(each(&emitted, &x, 16));
    for (int i = 0; i < 64; i++) begun += x.begun[i];
    assert_int_equal(emitted, begun);
    assert_in_range(emitted, 10, 40);
}

static void a_failure_is_the_callers(void **state)
{
    items x = {.stop_at = -1, .fail_at = 20};
    int64_t emitted;
    (void)state;
    assert_int_equal(each(&emitted, &x, 16), HPC_E_IO);
    assert_string_equal(hpc_error_get()->text, "item 20");
    assert_true(emitted <= 20);
    hpc_error_clear();
}

#define EACH(f) cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {EACH(results_do_not_depend_on_workers),
                                       EACH(a_crash_costs_one_file_and_is_named),
                                       EACH(fix_sees_what_it_did_to_a_file_named_twice),
                                       EACH(from_skips_files),
                                       EACH(ctrl_c_leaves_valid_json_and_says_how_to_continue),
                                       EACH(items_are_emitted_in_order_within_the_window),
                                       EACH(a_stop_keeps_what_was_begun),
                                       EACH(a_failure_is_the_callers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
