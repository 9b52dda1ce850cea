/*
 * info.c: `hpccoder info`: the features of this build and of this machine.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/compiler.h"
#include "cmd/terminal.h"
#include "runtime/proc/proc.h"

typedef struct info_options {
    bool json;
} info_options;

typedef struct fact {
    const char *key;
    bool have;
} fact;

/* Libraries found when this program was built. */
static const fact facts[] = {
    {"cuda", HPC_HAVE_CUDA},
    {"dnnl", HPC_HAVE_DNNL},
    {"openblas", HPC_HAVE_OPENBLAS},
};
enum { FACT_N = sizeof facts / sizeof *facts };

/* A feature provided by a shared object next to this program, by a program in PATH, or by the
 * checker of code. */
typedef struct feature {
    const char *name;
    const char *object, *program; /* at most one; neither: the checker. An object without ".so" is
                                     a program next to this one */
    const char *package;          /* Debian's, to build the object or to run the program */
} feature;

static const feature features[] = {
    {"pragma and code checks", NULL, NULL, NULL},
    {"pragma for Fortran", "hpccoder-flang", NULL, "libflang-19-dev and llvm-19-dev"},
    {"tokenizer train", "hpccoder-spm.so", NULL, "libsentencepiece-dev"},
    {"train with mpirun", "hpccoder-mpi.so", NULL, "libopenmpi-dev and openmpi-bin"},
    {"baselines of bench op", "hpccoder-peer.so", NULL, "libdnnl-dev and libopenblas-dev"},
    {"serve", "hpccoder-microhttpd.so", NULL, "libmicrohttpd-dev"},
    {"plots", NULL, "gnuplot", "gnuplot-nox"},
    {"sandbox for --verify run", NULL, "bwrap", "bubblewrap"},
    {"metrics of valgrind", NULL, "valgrind", "valgrind"},
};
enum { FEATURE_N = sizeof features / sizeof *features };

static const char *const compiler =
#if defined(__clang__)
    "clang " __clang_version__;
#else
    "gcc " __VERSION__;
#endif

enum { DEVICES_MOST = 64 };

static void put_devices_json(hpc_json_out *w)
{
    hpc_device_entry all[DEVICES_MOST];
    int n = hpc_device_list(all, DEVICES_MOST);
    hpc_json_open(w, "devices", '[');
    for (int k = 0; k < n; k++) {
        hpc_json_open(w, NULL, '{');
        hpc_json_put_text(w, "name", all[k].name);
        hpc_json_put_bool(w, "usable", all[k].usable);
        hpc_json_put_text(w, "about", all[k].about);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
}

static void put_devices(hpc_table *t)
{
    hpc_device_entry all[DEVICES_MOST];
    int n = hpc_device_list(all, DEVICES_MOST);
    for (int k = 0; k < n; k++) {
        hpc_table_cell(t, "device %s", all[k].name);
        hpc_table_cell(t, "%s: %s", all[k].usable ? "yes" : "no", all[k].about);
    }
}

static void put_json(hpc_buf *out, int threads, const char *model)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "version", HPC_VERSION);
    hpc_json_put_text(&w, "compiler", compiler);
    hpc_json_put_int(&w, "threads", threads);
    hpc_json_put_text(&w, "model", model);
    hpc_json_open(&w, "backends", '[');
    for (const char *const *b = hpc_device_backends(); *b; b++) hpc_json_put_text(&w, NULL, *b);
    hpc_json_close(&w, ']');
    put_devices_json(&w);
    hpc_json_open(&w, "isas", '[');
    for (const char *const *i = hpc_device_isas(); *i; i++) hpc_json_put_text(&w, NULL, *i);
    hpc_json_close(&w, ']');
    hpc_json_open(&w, "build", '{');
    for (int k = 0; k < FACT_N; k++) hpc_json_put_bool(&w, facts[k].key, facts[k].have);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static int put_list(hpc_table *t, const char *title, const char *const *item)
{
    hpc_buf text = {0};
    int rc = HPC_OK;
    for (int k = 0; item[k]; k++) TRY(hpc_buf_printf(&text, k ? " %s" : "%s", item[k]));
    hpc_table_cell(t, "%s", title);
    hpc_table_cell(t, "%s", text.n ? text.data : "none");
out:
    hpc_buf_release(&text);
    return rc;
}

/* Opening the object finds libraries that are missing at run time. */
static void put_object(hpc_table *t, const feature *f)
{
    char path[PATH_MAX];
    if (hpc_cmd_find(path, f->object) < 0 || !path[0]) {
        hpc_error_clear();
        hpc_table_cell(t, "no: this build has no %s; install %s and run `make`", f->object,
                       f->package);
        return;
    }
    const bool is_program = !strstr(f->object, ".so");
    void *object = is_program ? NULL : dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    const char *error = object || is_program ? NULL : dlerror();
    if (object) dlclose(object);
    if (error)
        hpc_table_cell(t, "no: %s; install %s", error, f->package);
    else
        hpc_table_cell(t, "yes");
}

/* Its error names the package. */
static void put_checker(hpc_table *t)
{
    hpc_checker *c;
    if (hpc_cmd_open_checker(&c) == HPC_OK)
        hpc_table_cell(t, "yes");
    else
        hpc_table_cell(t, "no: %s", hpc_error_get()->text);
    hpc_error_clear();
    hpc_checker_close(c);
}

static void put_feature(hpc_table *t, const feature *f)
{
    hpc_table_cell(t, "%s", f->name);
    if (f->object)
        put_object(t, f);
    else if (!f->program)
        put_checker(t);
    else if (hpc_proc_exists(f->program))
        hpc_table_cell(t, "yes");
    else
        hpc_table_cell(t, "no: program %s is not in PATH; install %s", f->program, f->package);
}

static int put_text(hpc_buf *out, int threads, const char *model)
{
    static const hpc_column columns[] = {{.title = NULL}, {.fit = HPC_FIT_WRAP, .least = 20}};
    hpc_table t = {.column = columns, .columns = 2};
    const char *name = strrchr(model, '/'); /* a path would not fit */
    int rc = HPC_OK;
    hpc_buf_printf(out, "hpccoder %s, built with %s\n", HPC_VERSION, compiler);
    put_devices(&t);
    TRY(put_list(&t, "instruction sets", hpc_device_isas()));
    hpc_table_cell(&t, "threads");
    hpc_table_cell(&t, "%d", threads);
    hpc_table_cell(&t, "default model");
    hpc_table_cell(&t, "%s", name && name[1] ? name + 1 : model);
    for (int k = 0; k < FEATURE_N; k++) put_feature(&t, &features[k]);
out:
    if (rc < 0) hpc_buf_release(&t.text);
    return rc < 0 ? rc : hpc_table_print(out, &t, hpc_cmd_table_columns());
}

static int run(void *options, int argc, char **argv)
{
    const info_options *o = options;
    hpc_device *d = NULL;
    hpc_buf out = {0};
    char model[PATH_MAX] = "";
    int rc = HPC_OK;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    TRY(hpc_device_open(&d, NULL));
    int threads = hpc_device_about(d).threads;
    if (hpc_cmd_find_model(model, getenv("HPCCODER_MODEL"), HPC_CMD_PILOT) < 0) {
        hpc_error_clear();
        snprintf(model, sizeof model, "none: name one with --model");
    }
    if (o->json)
        put_json(&out, threads, model);
    else
        TRY(put_text(&out, threads, model));
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
        "Prints the version, the compiler, the devices for --device with the reason where one is "
        "not usable, the instruction sets that this "
        "CPU supports (best first), and the number of threads that this process may use. Then "
        "lists each optional feature: yes, or why it is not available and which Debian package "
        "enables it. The metrics of valgrind are `cost` and `instructions` of `perf collect`.",
    .examples = "hpccoder info --json  # for scripts",
    .options = options,
    .options_bytes = sizeof(info_options),
    .run = run,
};
