/*
 * main.c: runs the subcommand that argv names, and turns its result into an exit code.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/terminal.h"

int hpc_cmd_exit_code(int rc)
{
    switch (rc) {
    case HPC_E_ARG:
    case HPC_E_FORMAT:
    case HPC_E_SHAPE:
    case HPC_E_UNSUPPORTED: return EXIT_BAD_INPUT;
    default: return EXIT_FAILURE_INTERNAL;
    }
}

int hpc_cmd_print(hpc_buf *text)
{
    int rc = text->failed ? HPC_E_NOMEM : HPC_OK;
    if (rc == HPC_OK &&
        ((text->n > 0 && fwrite(text->data, 1, text->n, stdout) != text->n) || fflush(stdout) != 0))
        rc = hpc_fail(HPC_E_IO, HPC_CMD_CANNOT_WRITE);
    hpc_buf_release(text);
    return rc;
}

int hpc_cmd_print_report(hpc_buf *text, const char *done, const char *where)
{
    int rc = hpc_cmd_print(text);
    return rc < 0 ? hpc_error_where("%s %s, only this report is lost", done, where) : rc;
}

const char *hpc_cmd_bytes(char out[32], double bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t k = 0;
    for (; bytes >= 1024 && k + 1 < sizeof unit / sizeof *unit; k++) bytes /= 1024;
    snprintf(out, 32, k ? "%.1f %s" : "%.0f %s", bytes, unit[k]);
    return out;
}

/* A path that leads nowhere is bad input; a full or failing disk is not. */
static bool is_of_the_path(int os)
{
    return os == ENOENT || os == EEXIST || os == ENOTDIR || os == EISDIR || os == EACCES ||
           os == EROFS || os == ELOOP || os == ENAMETOOLONG;
}

int hpc_cmd_failed(const char *command, int rc)
{
    const hpc_error *e = hpc_error_get();
    fprintf(stderr, "%shpccoder%s%s:%s %s\n", terminal_begin(stderr, STYLE_BAD), command ? " " : "",
            command ? command : "", terminal_end(stderr, STYLE_BAD),
            e->code ? e->text : hpc_error_name(rc));
    return rc == HPC_E_IO && is_of_the_path(e->os) ? EXIT_BAD_INPUT : hpc_cmd_exit_code(rc);
}

static int show_version(void)
{
    bool written = printf("hpccoder %s\n", HPC_VERSION) > 0 && fflush(stdout) == 0;
    return written ? EXIT_DONE : hpc_cmd_failed(NULL, hpc_fail(HPC_E_IO, HPC_CMD_CANNOT_WRITE));
}

/* Finds a command by one or two words; *words: how many matched. */
static const hpc_command *find_command(int argc, char **argv, int *words)
{
    char two[64];
    for (int k = 0; hpc_commands[k] && argc > 1; k++) {
        snprintf(two, sizeof two, "%s %s", argv[1], argc > 2 ? argv[2] : "");
        *words = strcmp(hpc_commands[k]->name, argv[1]) == 0 ? 1 : 2;
        if (*words == 1 || strcmp(hpc_commands[k]->name, two) == 0) return hpc_commands[k];
    }
    return NULL;
}

static int show_help(const hpc_command *c)
{
    hpc_buf text = {0};
    int rc = hpc_options_help(&text, c, "hpccoder", hpc_cmd_columns());
    if (rc < 0) hpc_buf_release(&text);
    return rc < 0 ? rc : hpc_cmd_print(&text);
}

static int run_command(const hpc_command *c, int argc, char **argv)
{
    int rc = HPC_E_NOMEM, rest = 0;
    hpc_arena *a = hpc_arena_create(0);
    void *options = hpc_alloc(1, c->options_bytes ? c->options_bytes : 1);
    if (!a || !options) goto out;
    TRY(hpc_options_parse(options, c, a, argc, argv, &rest));
    rc = rc == 1 ? show_help(c) : c->run(options, rest, argv);
out:
    if (rc < 0) rc = hpc_cmd_failed(c->name, rc);
    hpc_free(options);
    hpc_arena_free(a);
    return rc;
}

static int show_completion(const char *shell)
{
    hpc_buf text = {0};
    if (strcmp(shell, "bash") != 0)
        return hpc_fail(HPC_E_ARG, "--completion %s: only bash is supported", shell);
    int rc = hpc_options_completion(&text, hpc_commands, "hpccoder");
    if (rc < 0) hpc_buf_release(&text);
    return rc < 0 ? rc : hpc_cmd_print(&text);
}

int main(int argc, char **argv)
{
    int words = 0;
    signal(SIGXFSZ, SIG_IGN); /* exceeding a limit on file size is reported like any other error */
    if (argc < 2) return hpc_cmd_usage(stderr);
    bool help = strcmp(argv[1], "help") == 0;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || (help && argc == 2))
        return hpc_cmd_usage(stdout);
    if (help) {
        argc--;
        argv++;
    }
    if (strcmp(argv[1], "--version") == 0) return show_version();
    int rc = HPC_OK;
    if (strcmp(argv[1], "--completion") == 0)
        rc = show_completion(argc > 2 ? argv[2] : "bash");
    else if (strcmp(argv[1], "--man-pages") == 0)
        rc = hpc_cmd_write_manuals(argc > 2 ? argv[2] : ".");
    else {
        const hpc_command *c = find_command(argc, argv, &words);
        if (c && help) return (rc = show_help(c)) < 0 ? hpc_cmd_failed(NULL, rc) : EXIT_DONE;
        if (c) return run_command(c, argc - words, argv + words);
        rc = hpc_cmd_unknown(argv[1], argc > 2 ? argv[2] : "");
    }
    return rc < 0 ? hpc_cmd_failed(NULL, rc) : EXIT_DONE;
}
