/*
 * info.c: what this build is and what this machine lets it do.
 */
#include "cmd/cmd.h"

typedef struct info_options {
    bool json;
} info_options;

typedef struct fact {
    const char *key, *name; /* for JSON, for people */
    bool have;
} fact;

/* What was found when this was built. */
static const fact facts[] = {
    {"cuda", "cuda toolkit (no backend yet)", HPC_HAVE_CUDA},
    {"dnnl", "dnnl (bench peer)", HPC_HAVE_DNNL},
    {"openblas", "openblas (bench peer)", HPC_HAVE_OPENBLAS},
};
enum { FACT_N = sizeof facts / sizeof *facts };

static const char *const compiler =
#if defined(__clang__)
    "clang " __clang_version__;
#else
    "gcc " __VERSION__;
#endif

static void put_json(hpc_buf *out, int threads)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "version", HPC_VERSION);
    hpc_json_put_text(&w, "compiler", compiler);
    hpc_json_put_int(&w, "threads", threads);
    hpc_json_open(&w, "backends", '[');
    for (const char *const *b = hpc_device_backends(); *b; b++) hpc_json_put_text(&w, NULL, *b);
    hpc_json_close(&w, ']');
    hpc_json_open(&w, "isas", '[');
    for (const char *const *i = hpc_device_isas(); *i; i++) hpc_json_put_text(&w, NULL, *i);
    hpc_json_close(&w, ']');
    hpc_json_open(&w, "build", '{');
    for (int k = 0; k < FACT_N; k++) hpc_json_put_bool(&w, facts[k].key, facts[k].have);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void put_list(hpc_buf *out, const char *title, const char *const *item)
{
    hpc_buf_printf(out, "%-30s", title);
    for (; *item; item++) hpc_buf_printf(out, " %s", *item);
    hpc_buf_text(out, "\n");
}

static void put_text(hpc_buf *out, int threads)
{
    hpc_buf_printf(out, "hpccoder %s, built with %s\n", HPC_VERSION, compiler);
    put_list(out, "backends", hpc_device_backends());
    put_list(out, "instruction sets", hpc_device_isas());
    hpc_buf_printf(out, "%-30s %d\n", "threads", threads);
    for (int k = 0; k < FACT_N; k++)
        hpc_buf_printf(out, "%-30s %s\n", facts[k].name, facts[k].have ? "yes" : "no");
}

static int run(void *options, int argc, char **argv)
{
    const info_options *o = options;
    hpc_device *d = NULL;
    hpc_buf out = {0};
    int rc = HPC_OK;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    TRY(hpc_device_open(&d, NULL));
    int threads = hpc_device_about(d).threads;
    if (o->json)
        put_json(&out, threads);
    else
        put_text(&out, threads);
    TRY(hpc_cmd_print(&out));
out:
    hpc_buf_release(&out);
    hpc_device_close(d);
    return rc;
}

static const hpc_option options[] = {
    HPC_CMD_JSON(info_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_info = {
    .name = "info",
    .summary = "Show the features of this build and this machine.",
    .arguments = "",
    .description =
        "Prints the version, the compiler, the available backends, the instruction sets that this "
        "CPU supports (best first), and the number of threads that this process may use.",
    .examples = "hpccoder info --json  # for scripts",
    .options = options,
    .options_bytes = sizeof(info_options),
    .run = run,
};
