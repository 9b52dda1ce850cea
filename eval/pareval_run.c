/*
 * Builds a candidate with ParEval's driver and runs it, both in the sandbox.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "eval/pareval.h"

enum { FOLDER = 512, PATH = 1024, COUNT = 24 };

/* How a model is built and run, as ParEval's drivers/cpp/cpp_driver_wrapper.py has it. */
typedef struct target {
    const char *model, *compiler, *macro, *driver, *source;
    bool openmp, mpi, kokkos;
} target;

static const target targets[] = {
    {"serial", "g++", "-DUSE_SERIAL", "serial-driver.cc", "cpu.cc", false, false, false},
    {"omp", "g++", "-DUSE_OMP", "omp-driver.cc", "cpu.cc", true, false, false},
    {"mpi", "mpicxx", "-DUSE_MPI", "mpi-driver.cc", "cpu.cc", false, true, false},
    {"mpi+omp", "mpicxx", "-DUSE_MPI", "mpi-omp-driver.cc", "cpu.cc", true, true, false},
    {"kokkos", "g++", "-DUSE_KOKKOS", "kokkos-driver.cc", "kokkos.cc", false, false, true},
};

static const target *target_of(const char *model)
{
    for (size_t k = 0; k < sizeof targets / sizeof *targets; k++)
        if (strcmp(targets[k].model, model) == 0) return &targets[k];
    return NULL;
}

/* The prompt with NO_INLINE after the first word of its last line, then the candidate. */
static int write_source(const char *folder, const hpc_pareval_task *t, const char *text)
{
    const char *last = strrchr(t->prompt, '\n');
    hpc_buf out = {0};
    char path[PATH];
    int rc;

    last = last ? last + 1 : t->prompt;
    size_t head = (size_t)(last - t->prompt) + strcspn(last, " ");
    TRY(hpc_buf_add(&out, t->prompt, head));
    TRY(hpc_buf_printf(&out, " NO_INLINE%s\n", t->prompt + head));
    TRY(hpc_buf_text(&out, text));
    TRY(hpc_buf_text(&out, "\n"));
    snprintf(path, sizeof path, "%s/generated-code.hpp", folder);
    TRY(hpc_file_save(path, out.data, out.n));
    if (chmod(path, 0644) != 0) rc = hpc_fail(HPC_E_IO, "cannot change the mode of %s", path);
out:
    hpc_buf_release(&out);
    return rc;
}

/* The first line with "error", or the first line. */
static void explain(char out[200], const hpc_proc_result *r)
{
    const char *text = r->err.n > 0 ? r->err.data : "", *at = strstr(text, "error");

    if (r->timed_out) {
        snprintf(out, 200, "time limit");
        return;
    }
    while (at && at > text && at[-1] != '\n') at--;
    if (!at) at = text;
    const char *name = strstr(at, "generated-code.hpp"); /* without the scratch folder */
    if (name && (size_t)(name - at) < strcspn(at, "\n")) at = name;
    if (*at)
        snprintf(out, 200, "%.*s", (int)strcspn(at, "\n"), at);
    else if (r->signal)
        snprintf(out, 200, "signal %d", r->signal);
    else
        snprintf(out, 200, "exit status %d", r->status);
}

/* Kokkos may have been built for OpenMP or for threads, and in lib or in lib64. */
static void put_kokkos(const char **argv, char text[3][PATH], const char *drivers)
{
    static const char *const folder[] = {"-I%s/kokkos/include", "-L%s/kokkos/lib",
                                         "-L%s/kokkos/lib64"};
    static const char *const flag[] = {"-fopenmp", "-pthread", "-lkokkoscore", "-ldl"};

    for (size_t k = 0; k < sizeof folder / sizeof *folder; k++) {
        snprintf(text[k], PATH, folder[k], drivers);
        *argv++ = text[k];
    }
    for (size_t k = 0; k < sizeof flag / sizeof *flag; k++) *argv++ = flag[k];
}

static int build(hpc_pareval_verdict *out, const hpc_pareval_runner *r, const hpc_pareval_task *t,
                 const target *x, const char *folder)
{
    char include[2][PATH], kokkos[3][PATH], size[64], driver[PATH], source[PATH], here[PATH];
    const char *argv[COUNT] = {x->compiler, "-std=c++17", "-O3", x->macro};
    hpc_eval_limits limits = HPC_EVAL_LIMITS_DEFAULTS;
    const hpc_eval_command c = {
        .argv = argv, .folder = folder, .writes = true, .readable = r->drivers, .stop = r->stop};
    hpc_proc_result p = {0};
    int n = 4, rc;

    snprintf(include[0], PATH, "-I%s", r->drivers);
    snprintf(include[1], PATH, "-I%s/models", r->drivers);
    snprintf(here, PATH, "-I%s", folder);
    snprintf(size, sizeof size, "-DDRIVER_PROBLEM_SIZE=%s", t->size);
    snprintf(driver, PATH, "%s/models/%s", r->drivers, x->driver);
    snprintf(source, PATH, "%s/benchmarks/%s/%s/%s", r->drivers, t->type, t->name, x->source);
    if (x->openmp) argv[n++] = "-fopenmp";
    argv[n++] = include[0], argv[n++] = include[1], argv[n++] = here, argv[n++] = size;
    argv[n++] = driver, argv[n++] = source, argv[n++] = "-o", argv[n++] = "a.out";
    if (x->kokkos) put_kokkos(argv + n, kokkos, r->drivers);
    limits.seconds = r->build_seconds;
    TRY(hpc_eval_box_run(&p, r->box, &c, &limits));
    out->built = p.status == 0 && !p.timed_out;
    if (!out->built) explain(out->why, &p);
out:
    hpc_proc_release(&p);
    return rc;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static double number_after(const char *text, const char *label)
{
    const char *at = strstr(text, label);
    return at ? strtod(at + strlen(label), NULL) : NAN;
}

/* mpi+omp: two ranks if there are two resources, and as many threads as remain for each. */
static int put_launch(const char **argv, char number[2][48], const target *x, const char *program,
                      int64_t resources)
{
    int64_t ranks = !x->mpi ? 1 : !x->openmp ? resources : resources > 1 ? 2 : 1;
    int64_t threads = resources / ranks;
    int n = 0;

    snprintf(number[0], 48, "%lld", (long long)ranks);
    snprintf(number[1], 48, "%s%lld", x->kokkos ? "--kokkos-num-threads=" : "", (long long)threads);
    if (x->mpi) {
        static const char *const launch[] = {"mpirun", "--oversubscribe", "--bind-to", "none",
                                             "-n"};
        for (size_t k = 0; k < sizeof launch / sizeof *launch; k++) argv[n++] = launch[k];
        argv[n++] = number[0];
    }
    argv[n++] = program;
    if (x->openmp || x->kokkos) argv[n++] = number[1];
    argv[n] = NULL;
    return n;
}

static void read_output(hpc_pareval_verdict *out, const hpc_proc_result *p)
{
    const char *text = p->out.n > 0 ? p->out.data : "";

    out->ran = p->status == 0 && !p->timed_out;
    out->valid = out->ran && strstr(text, "Validation: PASS") != NULL;
    out->seconds = number_after(text, "Time:");
    out->best = number_after(text, "BestSequential:");
    if (!out->ran)
        explain(out->why, p);
    else if (!out->valid)
        snprintf(out->why, sizeof out->why, "wrong result");
}

static int run(hpc_pareval_verdict *out, const hpc_pareval_runner *r, const target *x,
               const char *folder)
{
    char program[PATH], number[2][48];
    const char *argv[COUNT];
    hpc_eval_limits limits = HPC_EVAL_LIMITS_DEFAULTS;
    const hpc_eval_command c = {.argv = argv, .folder = folder, .stop = r->stop};
    hpc_proc_result p = {0};
    int rc;

    snprintf(program, sizeof program, "%s/a.out", folder);
    put_launch(argv, number, x, program, r->resources);
    limits.seconds = r->run_seconds;
    TRY(hpc_eval_box_run(&p, r->box, &c, &limits));
    read_output(out, &p);
out:
    hpc_proc_release(&p);
    return rc;
}

/* ParEval asks that the text uses its model of parallelism. */
static const char *missing_word(const target *x, const char *text)
{
    if (x->openmp && !strstr(text, "#pragma omp")) return "no OpenMP directive";
    if (x->mpi && !strstr(text, "MPI_") && !strstr(text, "MPI.")) return "no call of MPI";
    return NULL;
}

int hpc_pareval_judge(hpc_pareval_verdict *out, const hpc_pareval_runner *r,
                      const hpc_pareval_task *t, const char *text)
{
    const target *x = target_of(t->model);
    char folder[FOLDER];
    int rc;

    *out = (hpc_pareval_verdict){.seconds = NAN, .best = NAN};
    if (!x) return hpc_fail(HPC_E_UNSUPPORTED, "%s is not built here", t->model);
    snprintf(folder, sizeof folder, "%s/candidate", hpc_eval_box_folder(r->box));
    TRY(hpc_eval_box_mkdir(folder));
    TRY(write_source(folder, t, text));
    TRY(build(out, r, t, x, folder));
    if (out->built) TRY(run(out, r, x, folder));
    if (out->valid && missing_word(x, text)) {
        out->valid = false;
        snprintf(out->why, sizeof out->why, "%s", missing_word(x, text));
    }
out:
    return rc;
}
