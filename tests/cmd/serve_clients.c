/*
 * Clients of `hpccoder serve` that others wrote, where this machine has them: the Python packages
 * of OpenAI and Ollama, llama.cpp's tests of its server (their folder in HPC_LLAMA_SERVER_TESTS, a
 * text model in HPC_TEXT_MODEL) and the plugin llama.vim (its folder in HPC_LLAMA_VIM).
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

#include "tests/serve/web.h"

/* Runs a script whose last line is "N passed, N failed". Without a check it skips. */
static void run(const char *format)
{
    char program[PATH_MAX], command[2 * PATH_MAX];
    static char output[1 << 16];
    snprintf(command, sizeof command, format, hpc_test_built(program, "hpccoder"));
    FILE *f = popen(command, "r");
    assert_non_null(f);
    output[fread(output, 1, sizeof output - 1, f)] = '\0';
    const int status = pclose(f);
    print_message("%s", output);
    if (status != 0) fail_msg("%s: status %d", command, status);
    if (!strstr(output, " passed, 0 failed") || strncmp(output, "0 passed", 8) == 0 ||
        strstr(output, "\n0 passed"))
        skip();
}

static void python_clients_work(void **state)
{
    (void)state;
    WEB_NEEDS_LIBRARY();
    run("${PYTHON:-python3} tests/serve/clients.py '%s' 2>&1");
}

static void tests_of_llama_server_pass(void **state)
{
    (void)state;
    WEB_NEEDS_LIBRARY();
    run("HPCCODER='%s' sh tests/serve/llama_server.sh \"${HPC_LLAMA_SERVER_TESTS:-}\" "
        "\"${HPC_TEXT_MODEL:-}\" 2>&1");
}

static void llama_vim_shows_and_accepts(void **state)
{
    (void)state;
    WEB_NEEDS_LIBRARY();
    run("HPCCODER='%s' sh tests/serve/llama_vim.sh \"${HPC_LLAMA_VIM:-}\" 2>&1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(python_clients_work),
                                       cmocka_unit_test(tests_of_llama_server_pass),
                                       cmocka_unit_test(llama_vim_shows_and_accepts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
