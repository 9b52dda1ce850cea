/*
 * Tests of cmd/terminal.c through the program: colours appear on terminals only, and only if the
 * user has not turned them off; tables fit the terminal.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/base.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/shell.h"
#include "tests/support/terminal.h"

#define RED    "\x1b[31m"
#define GREEN  "\x1b[32m"
#define YELLOW "\x1b[33m"
#define END    "\x1b[0m"

typedef struct fixture {
    hpc_test_folder *folder;
    hpc_test_outcome o;
    char shown[HPC_TEST_OUT];
} fixture;

static void by_default(void)
{
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
}

static int setup(void **state)
{
    fixture *f = hpc_alloc(1, sizeof *f);
    void *folder = NULL;
    assert_non_null(f);
    hpc_test_folder_setup(&folder);
    f->folder = folder;
    by_default();
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    void *folder = f->folder;
    hpc_free(f);
    return hpc_test_folder_teardown(&folder);
}

static void write_file(const fixture *f, const char *name, const char *text)
{
    char path[PATH_MAX];
    assert_int_equal(hpc_file_save(hpc_test_path(path, f->folder, name), text, strlen(text)), 0);
}

static const char *on_terminal(fixture *f, int code, int columns, const char *words)
{
    int got = hpc_test_terminal(f->shown, sizeof f->shown, columns, f->folder->root, words);
    if (got != code) fail_msg("%s: exit code %d: %s", words, got, f->shown);
    return f->shown;
}

/* ---- colours -------------------------------------------------------------------------------- */

static const char loops[] = "void scale(int n, double *y)\n"
                            "{\n"
                            "    for (int i = 0; i < n; i++) y[i] *= 2;\n"
                            "    for (int i = 1; i < n; i++) y[i] += y[i - 1];\n"
                            "}\n";

static void verdicts_and_added_lines_have_colours(void **state)
{
    fixture *f = *state;
    write_file(f, "a.c", loops);
    hpc_test_says(on_terminal(f, 0, 80, "pragma @a.c"), "a.c:3: " GREEN "parallel" END "\n");
    hpc_test_says(f->shown, "a.c:4: " RED "unsafe" END "\n");
    hpc_test_says(on_terminal(f, 0, 80, "pragma @a.c --diff"),
                  "\n" GREEN "+    #pragma omp parallel for if(");
    hpc_test_says(f->shown, ")" END "\n     for (int i = 0");
}

static void errors_and_warnings_have_colours(void **state)
{
    fixture *f = *state;
    hpc_test_says(on_terminal(f, 2, 80, "nonsense"), RED "hpccoder:" END " unknown command");
    write_file(f, "a.c", "#include <none.h>\n");
    hpc_test_says(on_terminal(f, 2, 80, "pragma @a.c"), YELLOW "hpccoder pragma:" END " ");
}

static void no_colours(fixture *f, int code, const char *words)
{
    hpc_test_command_in(&f->o, f->folder->root, words);
    assert_int_equal(f->o.code, code);
    assert_null(strchr(f->o.out, '\x1b'));
    assert_null(strchr(f->o.err, '\x1b'));
    static const char *const off[][2] = {{"NO_COLOR", "1"}, {"TERM", "dumb"}, {"TERM", ""}};
    for (size_t k = 0; k < sizeof off / sizeof *off; k++) {
        setenv(off[k][0], off[k][1], 1);
        assert_null(strchr(on_terminal(f, code, 80, words), '\x1b'));
        by_default();
    }
}

static void pipes_and_dumb_terminals_have_no_colours(void **state)
{
    fixture *f = *state;
    write_file(f, "a.c", loops);
    no_colours(f, 0, "pragma @a.c");
    no_colours(f, 0, "pragma @a.c --diff");
    no_colours(f, 2, "nonsense");
}

static void empty_no_color_does_not_count(void **state)
{
    fixture *f = *state;
    setenv("NO_COLOR", "", 1);
    hpc_test_says(on_terminal(f, 2, 80, "nonsense"), RED);
}

static void json_has_no_colours(void **state)
{
    fixture *f = *state;
    write_file(f, "a.c", loops);
    assert_null(strchr(on_terminal(f, 0, 80, "pragma @a.c --format json"), '\x1b'));
    assert_null(strchr(on_terminal(f, 0, 80, "pragma @a.c --format sarif"), '\x1b'));
    assert_null(strchr(on_terminal(f, 0, 80, "info --json"), '\x1b'));
}

/* ---- widths --------------------------------------------------------------------------------- */

/* Columns of a line, after what a progress bar has drawn on it; escape sequences have none. */
static int width_of(const char *line, size_t n)
{
    int width = 0;
    for (size_t k = 0; k < n; k++) {
        if (line[k] == '\x1b')
            while (k + 1 < n && line[k] != 'm' && line[k] != 'K') k++;
        else if (line[k] == '\r')
            width = 0;
        else
            width += ((unsigned char)line[k] & 0xC0) != 0x80;
    }
    return width;
}

static bool is_message(const char *line)
{
    return strstr(line, "hpccoder ") == line || strncmp(line, YELLOW, strlen(YELLOW)) == 0;
}

static void fits(fixture *f, const char *words)
{
    for (int columns = 60; columns <= 80; columns += 20) {
        on_terminal(f, 0, columns, words);
        for (const char *p = f->shown; *p;) {
            size_t n = strcspn(p, "\n");
            if (width_of(p, n) >= columns && !is_message(p))
                fail_msg("%s at %d columns: %.*s", words, columns, (int)n, p);
            p += n + (p[n] == '\n');
        }
    }
}

static void tables_of_this_machine_fit(void **state)
{
    fixture *f = *state;
    fits(f, "info");
    fits(f, "bench op --op rope --shape 8,4,64 --seconds 0.001");
    fits(f, "bench step --steps 2 --hidden 32 --ffn 64 --split");
    fits(f, "bench link --most 64");
    fits(f, "bench optimizer --rounds 1 --hidden 32 --ffn 64 --optimizer adamw");
    fits(f, "bench decode --shape 5m --prompt 8 --tokens 2 --turns 1");
    fits(f, "plan check --grid data=2,row=2");
    fits(f, "plan simulate --machine a100-selene --shape gpt-5b --dtype bf16 --grid row=2,col=2 "
            "--sequences 4 --recompute block");
    fits(f, "plan simulate --machine a100-selene --shape gpt-5b --dtype bf16 --zero 1 --recompute "
            "block --sequences 256 --length 2048 --best 8 --top 4");
}

/* Three commits of a program, with subjects of ordinary length. */
static void make_repository(const fixture *f)
{
    int rc = hpc_test_shell(
        "cp -R examples '%s/r' && cp LICENSE '%s/r' && cd '%s/r' && git init -q -b main && "
        "for k in 1 2 3; do echo \"/* $k */\" >>heat.c && git add -A && "
        "git -c user.name=A -c user.email=a@example.org commit -qm \"Change part $k of the program "
        "and describe it in a line\" || exit 1; done",
        f->folder->root, f->folder->root, f->folder->root);
    if (rc != 0) fail_msg("%s", hpc_test_shown());
}

static void tables_of_corpora_and_runs_fit(void **state)
{
    fixture *f = *state;
    make_repository(f);
    fits(f, "corpus harvest @r --out @c --held-out none --resume");
    fits(f, "corpus stats @c");
    fits(f, "corpus loops @r/heat.c @r/histogram.c");
    fits(f, "corpus loops @c --out @l");
    on_terminal(f, 0, 80, "tokenizer train @c --vocab 800 --out @tok");
    fits(f, "corpus pack @c --tokenizer @tok --out @shards --resume");
    on_terminal(f, 0, 80,
                "train --data @shards --tokenizer @tok --hidden 32 --layers 1 --heads 2 --ffn 64 "
                "--length 32 --steps 3 --warmup 1 --out @a-run-with-a-long-name");
    fits(f, "report @a-run-with-a-long-name");
}

static void tables_of_histories_fit(void **state)
{
    fixture *f = *state;
    make_repository(f);
    fits(f, "perf collect --repo @r --run true --build true -m time -n 1 --db @h.db");
    fits(f, "perf report --db @h.db --repo @r");
}

/* A dumb terminal cannot redraw a line. */
static void bars_are_drawn_where_lines_can_be_redrawn(void **state)
{
    fixture *f = *state;
    const char *words = "bench decode --shape 5m --prompt 8 --tokens 2 --turns 1";
    hpc_test_says(on_terminal(f, 0, 80, words),
                  "\r\x1b[Kbench decode [............]   0% 0/2 turns");
    setenv("TERM", "dumb", 1);
    assert_null(strchr(on_terminal(f, 0, 80, words), '\x1b'));
}

static void pipes_get_whole_tables(void **state)
{
    fixture *f = *state;
    hpc_test_command(&f->o, "bench op --op rope --shape 8,4,64 --seconds 0.001");
    assert_int_equal(f->o.code, 0);
    const char *head = strstr(f->o.out, "\nop ");
    assert_non_null(head);
    assert_in_range(strcspn(head + 1, "\n"), 80, 200);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(verdicts_and_added_lines_have_colours),
        TEST(errors_and_warnings_have_colours),
        TEST(pipes_and_dumb_terminals_have_no_colours),
        TEST(empty_no_color_does_not_count),
        TEST(json_has_no_colours),
        TEST(tables_of_this_machine_fit),
        TEST(tables_of_corpora_and_runs_fit),
        TEST(tables_of_histories_fit),
        TEST(bars_are_drawn_where_lines_can_be_redrawn),
        TEST(pipes_get_whole_tables),
    };
    return cmocka_run_group_tests_name("cmd/terminal", tests, NULL, NULL);
}
