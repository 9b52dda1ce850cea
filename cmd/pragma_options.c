/*
 * pragma_options.c: the option table of `hpccoder pragma`.
 */
#include "cmd/pragma.h"

static const char *const formats[] = {"text", "json", "sarif", NULL};
const hpc_option pragma_option_table[] = {
    {.name = "at",
     .kind = HPC_INT,
     .offset = offsetof(pragma_options, at),
     .fallback = "0",
     .argument = "LINE",
     .most = 4e9,
     .help = "Only the loops around this line, from 1; 0: all of the file."},
    {.name = "diff",
     .kind = HPC_FLAG,
     .offset = offsetof(pragma_options, diff),
     .help = "Print what --fix would change, for `git apply`."},
    {.name = "fix",
     .kind = HPC_FLAG,
     .offset = offsetof(pragma_options, fix),
     .help = "Put the directives into the files, each file whole or not at all."},
    {.name = "check",
     .kind = HPC_FLAG,
     .offset = offsetof(pragma_options, check),
     .help = "Tell only of directives that are there and wrong; exit status 1 if there are any."},
    {.name = "guard",
     .kind = HPC_FLAG,
     .offset = offsetof(pragma_options, guard),
     .help = "Propose loops that are parallel under assumptions with an if clause that tests them, "
             "so that they run serially where these do not hold."},
    {.name = "conditional",
     .kind = HPC_FLAG,
     .offset = offsetof(pragma_options, conditional),
     .help = "Take what these loops assume for granted: --fix and --diff put their directives in "
             "as well."},
    {.name = "default-none",
     .kind = HPC_FLAG,
     .offset = offsetof(pragma_options, default_none),
     .help = "Propose default(none), with what is shared."},
    {.name = "format",
     .kind = HPC_CHOICE,
     .offset = offsetof(pragma_options, format),
     .fallback = "text",
     .argument = "FORMAT",
     .choices = formats,
     .help = "How results are told: as text, JSON or SARIF 2.1.0."},
    {.name = "database",
     .letter = 'p',
     .kind = HPC_TEXT,
     .offset = offsetof(pragma_options, database),
     .argument = "DIR|FILE|none",
     .help = "The compile_commands.json that has the files' flags; without it the one in the "
             "file's folder, in a folder above, or in a `build` in one of these. Or give flags "
             "behind \"--\"."},
    HPC_CMD_JSON(pragma_options),
    HPC_CMD_QUIET(pragma_options),
    {.name = NULL},
};
