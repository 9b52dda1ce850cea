/*
 * manual.c: prints a man page for each command from its option table.
 */
#include <string.h>

#include "cmd/cmd.h"

static int write_page(const hpc_command *c, const char *dir)
{
    hpc_buf page = {0}, path = {0};
    int rc = HPC_OK;
    hpc_buf_printf(&path, "%s/man1/hpccoder-%s.1", dir, c->name);
    for (char *s = path.data ? strchr(path.data + strlen(dir), ' ') : NULL; s; s = strchr(s, ' '))
        *s = '-';
    TRY(hpc_options_man(&page, c, "hpccoder", HPC_VERSION));
    if (page.failed || path.failed) TRY(HPC_E_NOMEM);
    TRY(hpc_file_save(path.data, page.data, page.n));
out:
    hpc_buf_release(&page);
    hpc_buf_release(&path);
    return rc;
}

/* The page of the program itself: a list of the others. */
static int write_index(const char *dir)
{
    hpc_buf page = {0}, path = {0};
    int rc = HPC_OK;
    hpc_buf_printf(&path, "%s/man1/hpccoder.1", dir);
    hpc_buf_printf(&page,
                   ".TH HPCCODER 1 \"\" \"hpccoder %s\" \"User Commands\"\n"
                   ".SH NAME\nhpccoder \\- a toolkit for HPC programmers\n"
                   ".SH SYNOPSIS\n.B hpccoder\n.I COMMAND\n[OPTIONS]\n.SH COMMANDS\n",
                   HPC_VERSION);
    for (int k = 0; hpc_commands[k]; k++)
        hpc_buf_printf(&page, ".TP\n.B %s\n%s\n", hpc_commands[k]->name, hpc_commands[k]->summary);
    hpc_buf_text(&page,
                 ".SH EXIT STATUS\n.TP\n.B 0\nDone, nothing to report.\n.TP\n.B 1\nDone, with "
                 "findings.\n.TP\n.B 2\nBad usage or bad input.\n.TP\n.B 3\nA resource or "
                 "internal failure.\n");
    if (page.failed || path.failed) TRY(HPC_E_NOMEM);
    TRY(hpc_file_save(path.data, page.data, page.n));
out:
    hpc_buf_release(&page);
    hpc_buf_release(&path);
    return rc;
}

int hpc_cmd_write_manuals(const char *dir)
{
    hpc_buf folder = {0};
    int rc = HPC_OK;
    TRY(hpc_buf_printf(&folder, "%s/man1", dir));
    TRY(hpc_file_mkdir(folder.data));
    for (int k = 0; hpc_commands[k]; k++) TRY(write_page(hpc_commands[k], dir));
    TRY(write_index(dir));
out:
    hpc_buf_release(&folder);
    return rc;
}
