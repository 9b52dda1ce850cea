/*
 * mcp.c: `hpccoder mcp`: our commands as tools of the Model Context Protocol.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "infer/serve/mcp.h"

typedef struct mcp_options {
    const char *model, *device;
    double seconds;
} mcp_options;

static const hpc_option option_table[] = {
    {.name = "model",
     .letter = 'm',
     .kind = HPC_TEXT,
     .offset = offsetof(mcp_options, model),
     .argument = "DIR|FILE.gguf|FILE.packed",
     .help = "Model for completions. Default: $HPCCODER_MODEL, then the model that is installed."},
    HPC_CMD_DEVICE(mcp_options, NULL),
    {.name = "seconds",
     .kind = HPC_REAL,
     .offset = offsetof(mcp_options, seconds),
     .fallback = "120",
     .argument = "S",
     .least = 1,
     .most = 3600,
     .help = "Time limit of a tool call."},
    {.name = NULL}};

static int run(void *options, int argc, char **argv)
{
    const mcp_options *o = options;
    hpc_mcp_options s = {.in = STDIN_FILENO,
                         .out = STDOUT_FILENO,
                         .version = HPC_VERSION,
                         .tool = {.program = "/proc/self/exe",
                                  .model = o->model ? o->model : getenv("HPCCODER_MODEL"),
                                  .device = o->device,
                                  .seconds = o->seconds,
                                  .scratch = hpc_cmd_scratch()}};
    char program[PATH_MAX];
    if (argc > 0) return hpc_fail(HPC_E_ARG, "%s: mcp takes no arguments", argv[0]);
    int rc = hpc_device_choose(&(hpc_device_options){0}, o->device);
    if (rc < 0) return rc;
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n < 0) return hpc_fail_os(HPC_E_IO, "cannot find the path of this program");
    program[n] = '\0';
    s.tool.program = program;
    return hpc_mcp_serve(&s);
}

const hpc_command hpc_cmd_mcp = {
    .name = "mcp",
    .summary = "Offer completion, directives and predictions as tools to an assistant.",
    .description =
        "A Model Context Protocol server (2025-06-18 and 2025-11-25) on standard input and output: "
        "one JSON message per line. It has three tools. `complete` completes code at a position, "
        "`pragma` judges the loops of a file, and `perf_predict` predicts whether commits make a "
        "program slower. Each runs the command of that name, and its result is what the command "
        "prints with --json. Calls run one after the other. No file is changed. docs/serving.md "
        "shows messages to try by hand.",
    .examples = "hpccoder mcp --seconds 60",
    .options = option_table,
    .options_bytes = sizeof(mcp_options),
    .run = run,
};
