/*
 * gpu.c: tools/gpu.sh on a machine without a GPU: every stage runs at tiny shapes or states why it
 * is skipped, and tools/gpu_table.py makes the table of docs/gpu.md from the results.
 */
/* tsan: left out, the stages run programs that have tests of their own. */
/* asan: left out, the stages run programs that have tests of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"
#include "tests/support/shell.h"

static void read_stages(hpc_buf *out, const char *path)
{
    test_ok(hpc_file_read_text(out, path, 1 << 20));
}

/* The result of a stage. */
static void check_stage(const hpc_buf *lines, const char *name, const char *device,
                        const char *result)
{
    char head[128], want[64];
    snprintf(head, sizeof head, "{\"stage\": \"%s\", \"device\": \"%s\", ", name, device);
    snprintf(want, sizeof want, "\"result\": \"%s\"", result);
    const char *at = strstr((const char *)lines->data, head);
    if (!at) fail_msg("no stage %s", name);
    const char *end = strchr(at, '\n'), *found = strstr(at, want);
    if (!found || found > end) fail_msg("stage %s: %.*s", name, (int)(end - at), at);
}

static void rehearse(void **state, const char *device)
{
    static const char *const measured[] = {
        "ceiling-copy",   "ceiling-product", "ceiling-launch",   "bench-norm",       "bench-glu",
        "step-graphs-on", "step-graphs-off", "decode-graphs-on", "decode-graphs-off"};
    char file[PATH_MAX], build[PATH_MAX];
    hpc_buf lines = {0};
    hpc_test_path(file, *state, device);
    hpc_test_built(build, "");
    assert_int_equal(
        hpc_test_shell("sh tools/gpu.sh --device %s --part bench %s %s", device, file, build), 0);
    read_stages(&lines, file);
    for (size_t k = 0; k < sizeof measured / sizeof *measured; k++)
        check_stage(&lines, measured[k], device, "ok");
    check_stage(&lines, "torch-step", device, "skipped");
    hpc_buf_release(&lines);
}

static void benchmarks_run_at_tiny_shapes(void **state)
{
    rehearse(state, "mock");
    if (getenv("HPC_TEST_LONG")) rehearse(state, "cuda-shim");
}

static void tests_run_or_state_what_is_missing(void **state)
{
    char file[PATH_MAX], build[PATH_MAX];
    hpc_buf lines = {0};
    hpc_test_path(file, *state, "check");
    hpc_test_built(build, "");
    assert_int_equal(hpc_test_shell("mkdir -p %s/tests/cuda && "
                                    "sh tools/gpu.sh --device cuda-shim --part check %s %s",
                                    ((const hpc_test_folder *)*state)->root, file,
                                    ((const hpc_test_folder *)*state)->root),
                     0);
    read_stages(&lines, file);
    check_stage(&lines, "cuda-graphs", "cuda-shim", "skipped");
    check_stage(&lines, "parity-train", "cuda-shim", "skipped");
    check_stage(&lines, "racecheck-pick", "cuda-shim", "skipped");
    assert_non_null(strstr((const char *)lines.data, "tests/cuda/graphs was not built"));
    hpc_buf_release(&lines);
}

/* A line of a card fills its row; other devices fill none. */
static void the_table_has_what_ran_on_a_card(void **state)
{
    static const char card[] =
        "{\"stage\": \"ceiling-copy\", \"device\": \"cuda\", \"date\": \"2026-01-02T03:04:05Z\", "
        "\"result\": \"ok\", \"exit\": 0, \"seconds\": 1, \"output\": \"{\\\"gbs\\\": 3000.5}\"}\n"
        "{\"stage\": \"ops-norm\", \"device\": \"cuda-shim\", \"date\": \"2026-01-02T03:04:05Z\", "
        "\"result\": \"ok\", \"exit\": 0, \"seconds\": 1, \"output\": \"\"}\n"
        "{\"stage\": \"memcheck-norm\", \"device\": \"cuda\", \"date\": \"2026-01-02T03:04:05Z\", "
        "\"result\": \"failed\", \"exit\": 9, \"seconds\": 1, \"output\": \"\"}\n";
    char file[PATH_MAX], page[PATH_MAX];
    hpc_buf text = {0};
    hpc_test_need("python3");
    hpc_test_path(file, *state, "card.json");
    hpc_test_path(page, *state, "gpu.md");
    test_ok(hpc_file_save(file, card, sizeof card - 1));
    assert_int_equal(hpc_test_shell("cp docs/gpu.md %s && chmod u+w %s && "
                                    "python3 tools/gpu_table.py %s --write %s",
                                    page, page, file, page),
                     0);
    test_ok(hpc_file_read_text(&text, page, 1 << 20));
    const char *all = (const char *)text.data;
    hpc_test_says(all, "| copy | ok | 3000 GB/s | 2026-01-02 |");
    hpc_test_says(all, "| tests/ops | not run | | |");
    hpc_test_says(all, "| memcheck | failed: memcheck-norm | | 2026-01-02 |");
    hpc_test_says(all, "## What has never run");
    hpc_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(benchmarks_run_at_tiny_shapes, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(tests_run_or_state_what_is_missing, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(the_table_has_what_ran_on_a_card, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests_name("cuda/gpu", tests, NULL, NULL);
}
