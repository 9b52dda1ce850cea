/*
 * Tests of `hpccoder lsp` with Neovim 0.11, Emacs with eglot, Vim with ALE, and the extension for
 * VS Code in Node.js, where installed.
 * Fixes that an editor applies give the same bytes as `hpccoder pragma --fix`.
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

#include "config.h"
#include "runtime/base/base.h"
#include "tests/source/check.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

#define CODE                                                                                       \
    "/* \xc3\xa9\xf0\x9f\x98\x80 */ double dot(int n, const double *x, const double *y)\n{\n"      \
    "    double sum = 0.0;\n"                                                                      \
    "    /* \xf0\x9f\x98\x80 */ for (int i = 0; i < n; i++)\n        sum += x[i] * y[i];\n"        \
    "    return sum;\n}\n\n/* the sum of x */\ndouble total(int n, const double *x)\n{\n"          \
    "    double sum = 0.0;\n"

static char output[1 << 16];

/* Runs a shell command; its output, both streams, is in `output`. Returns the exit status. */
static int shell(const char *command)
{
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(output, 1, sizeof output - 1, f);
    output[n] = '\0';
    return pclose(f);
}

static void need(const char *test, const char *what)
{
    if (shell(test) == 0) return;
    print_message("SKIP: %s is not installed\n", what);
    skip();
}

static void save(void **state, const char *name)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, name), CODE, sizeof CODE - 1));
}

/* The command leaves the same bytes. */
static void is_fixed(void **state, const char *name)
{
    char path[PATH_MAX], words[PATH_MAX];
    hpc_test_outcome o;
    hpc_buf edited = {0}, fixed = {0};
    test_ok(hpc_file_read(&edited, hpc_test_path(path, *state, name), 1 << 20));
    save(state, name);
    snprintf(words, sizeof words, "pragma @%s --fix -q", name);
    hpc_test_command_in(&o, ((const hpc_test_folder *)*state)->root, words);
    assert_int_equal(o.code, 2); /* the function at its end is still open */
    test_ok(hpc_file_read(&fixed, path, 1 << 20));
    assert_non_null(strstr(fixed.data, "#pragma omp"));
    assert_string_equal(edited.data, fixed.data);
    hpc_buf_release(&edited);
    hpc_buf_release(&fixed);
}

static void run(void **state, const char *format, const char *name)
{
    char program[PATH_MAX], path[PATH_MAX], command[4 * PATH_MAX];
    hpc_test_built(program, "hpccoder");
    hpc_test_path(path, *state, name);
    snprintf(command, sizeof command, format, program, path);
    int status = shell(command);
    if (status != 0) fail_msg("%s: status %d: %s", command, status, output);
}

static void neovim_shows_accepts_and_fixes(void **state)
{
    NEED_LIBRARY;
    need("nvim --headless -u NONE -c 'if has(\"nvim-0.11\") | qa | else | cq | endif' 2>&1",
         "Neovim 0.11");
    save(state, "f.c");
    run(state,
        "nvim --headless -u NONE -l tests/editors/nvim.lua '%s' \"$PWD/editors/nvim\" '%s' 2>&1 "
        "</dev/null",
        "f.c");
    hpc_test_says(output, "diagnostic: this loop can run in parallel: #pragma omp parallel for");
    hpc_test_says(output, "shown: 1");
    hpc_test_says(output, "accepted: as shown");
    is_fixed(state, "f.c");
}

/* A function of HEAD, and the same with a scan of a string in its loop. */
#define REPOSITORY                                                                                 \
    "cd '%s' && git init -q . && printf '%%b' 'int f(int n, char *s)\\n{\\n    int a = 0;\\n"      \
    "    for (int i = 0; i < n; i++)\\n        a += s[i];\\n    return a;\\n}\\n' >p.c && git "    \
    "add . "                                                                                       \
    "&& git -c user.name=a -c user.email=a@example.org commit -q -m first && "                     \
    "sed -i 's/a += s/a += strlen(s) * s/' p.c 2>&1"

static void neovim_shows_hints_on_performance(void **state)
{
    char command[2048];
    NEED_LIBRARY;
    need("nvim --headless -u NONE -c 'if has(\"nvim-0.11\") | qa | else | cq | endif' 2>&1",
         "Neovim 0.11");
    snprintf(command, sizeof command, REPOSITORY, ((const hpc_test_folder *)*state)->root);
    assert_int_equal(shell(command), 0);
    run(state,
        "nvim --headless -u NONE -l tests/editors/perf.lua '%s' \"$PWD/editors/nvim\" '%s' 2>&1 "
        "</dev/null",
        "p.c");
    hpc_test_says(output, "progress: begin");
    hpc_test_says(output, "hint: line 1, severity 3: probably slower than HEAD (");
    hpc_test_says(output, "linear scan 'strlen' added in a loop");
    hpc_test_says(output, "moved");
}

static void emacs_completes_and_fixes(void **state)
{
    NEED_LIBRARY;
    need("emacs --batch --eval \"(require 'eglot)\" 2>&1", "Emacs with eglot");
    save(state, "e.c");
    run(state,
        "emacs --batch -l tests/editors/emacs.el '%s' \"$PWD/editors/emacs\" '%s' 2>&1 </dev/null",
        "e.c");
    hpc_test_says(output, "this loop can run in parallel: #pragma omp parallel for");
    hpc_test_says(output, "accepted: as offered");
    is_fixed(state, "e.c");
}

static void vim_shows_accepts_and_fixes(void **state)
{
    NEED_LIBRARY;
    need("env -u VIMRUNTIME vim -N -u NONE -i NONE -es -c 'packadd! ale' -c 'call ale#Queue(0)' -c "
         "'qall!' 2>&1 "
         "</dev/null",
         "Vim with ALE");
    save(state, "v.c");
    run(state,
        "PROGRAM='%s' RUNTIME=\"$PWD/editors/vim\" FILE='%s' RESULT=/dev/stdout "
        "env -u VIMRUNTIME vim -N -u NONE -i NONE -es -S tests/editors/ale.vim 2>&1 </dev/null",
        "v.c");
    hpc_test_says(output, "this loop can run in parallel: #pragma omp parallel for");
    hpc_test_says(output, "accepted: as shown");
    assert_null(strstr(output, "shown: 0 texts"));
    is_fixed(state, "v.c");
}

static void vscode_shows_accepts_and_fixes(void **state)
{
    NEED_LIBRARY;
    need("node -e 'process.exit(parseInt(process.version.slice(1)) < 16 ? 1 : 0)' 2>&1",
         "Node.js 16");
    save(state, "c.c");
    run(state, "node tests/editors/vscode.js '%s' editors/vscode '%s' 2>&1 </dev/null", "c.c");
    hpc_test_says(output, "diagnostic: this loop can run in parallel: #pragma omp parallel for");
    hpc_test_says(output, "(severity 2, 1 related)");
    hpc_test_says(output, "hover: **hpccoder: parallel**");
    hpc_test_says(output, "accepted: as shown");
    hpc_test_says(output, "progress: hpccoder: loading the model");
    hpc_test_says(output, "disabled: 0 suggestions");
    hpc_test_says(output, "logged: 0: ");
    hpc_test_says(output, "errors: 1: hpccoder: the server ended: ");
    is_fixed(state, "c.c");
}

static void vscode_extension_is_packed_with_its_manifest(void **state)
{
    need("python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>&1", "Python 3.9");
    run(state, "PROGRAM='%s'; python3 editors/vscode/pack.py '%s' 2>&1", "h.vsix");
    run(state, "PROGRAM='%s'; python3 tests/editors/vsix.py '%s' editors/vscode 2>&1", "h.vsix");
    hpc_test_says(output, "6 entries");
}

/* The unit and the module file name the installed program. */
static void installation_has_editor_and_service_files(void **state)
{
    need("make --version", "make");
    run(state,
        "D='%s'; O='%s'; env -u MAKEFLAGS -u MAKELEVEL make B=${D%%/hpccoder} DESTDIR=$O "
        "PREFIX=/opt/h install-editors install-service >$O.log 2>&1 || { cat $O.log; exit 1; }; "
        "cd $O/opt/h && ls share/hpccoder/editors && grep -h ^ExecStart= lib/systemd/user/* && "
        "grep -r '^set root' share/hpccoder/modulefiles && "
        "grep -c -a extension.js share/hpccoder/editors/vscode/hpccoder.vsix",
        "root");
    hpc_test_says(output, "emacs\nnvim\nvim\nvscode\n");
    hpc_test_says(output, "ExecStart=/opt/h/bin/hpccoder serve --unix %t/hpccoder.sock");
    hpc_test_says(output, "modulefiles/hpccoder/" HPC_VERSION ":set root /opt/h\n");
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(neovim_shows_accepts_and_fixes),
        TEST(neovim_shows_hints_on_performance),
        TEST(emacs_completes_and_fixes),
        TEST(vim_shows_accepts_and_fixes),
        TEST(vscode_shows_accepts_and_fixes),
        TEST(vscode_extension_is_packed_with_its_manifest),
        TEST(installation_has_editor_and_service_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
