/*
 * shell.c: see shell.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/support/shell.h"

enum { SHOWN = 1 << 16, COMMAND = 1 << 14 };

static char shown[SHOWN];

int hpc_test_shell(const char *format, ...)
{
    char command[COMMAND];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(command + 2, sizeof command - 16, format, arguments);
    va_end(arguments);
    assert_in_range(n, 1, sizeof command - 17);
    memcpy(command, "{ ", 2);
    strcat(command, "\n} 2>&1");
    FILE *from = popen(command, "r");
    assert_non_null(from);
    size_t used = 0;
    for (size_t got; (got = fread(shown + used, 1, SHOWN - 1 - used, from)) > 0;) used += got;
    shown[used] = '\0';
    while (getc(from) != EOF) continue;
    int status = pclose(from);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const char *hpc_test_shown(void)
{
    return shown;
}

void hpc_test_need(const char *program)
{
    if (hpc_test_shell("command -v %s", program) == 0) return;
    print_message("SKIP: no %s\n", program);
    skip();
}
