/*
 * pragma_many.c: the analysis of many files on several workers; results appear in order.
 */
#include <string.h>
#include <sys/stat.h>

#include "cmd/pragma.h"
#include "runtime/base/ordered.h"

enum { WINDOW = 256, PROGRESS_FILES = 10 };
#define PROGRESS_NS INT64_C(2000000000)

typedef struct run_of_files {
    pragma_judging *all, *worker; /* the counts; by worker */
    char **path;
    pragma_file *file;
    int64_t n;
    hpc_buf out;
    hpc_json_out json;
    hpc_progress progress;
    int64_t start_ns;
    bool silent; /* no progress */
} run_of_files;

static void release_file(pragma_file *f)
{
    hpc_directive_file_release(&f->d);
    hpc_buf_release(&f->d.text);
    hpc_buf_release(&f->warnings);
    *f = (pragma_file){0};
}

static int judge_one(int64_t k, int worker, void *user)
{
    run_of_files *r = user;
    return pragma_judge(&r->file[k], &r->worker[worker], r->path[k]);
}

/* JSON is printed file by file: an element of the list that is open. */
static int end_one(int64_t k, void *user)
{
    run_of_files *r = user;
    int rc;
    if (r->progress.label) hpc_progress_clear(&r->progress); /* results begin on an empty line */
    TRY(pragma_print_file(&r->file[k], r->all));
    if (r->all->json) {
        pragma_put_json(&r->json, &r->file[k]);
        TRY(hpc_cmd_print(&r->out));
    }
    if (!r->all->sarif) release_file(&r->file[k]);
out:
    return rc;
}

/* Shown once several files take a while. */
static void show_progress(int64_t done, void *user)
{
    run_of_files *r = user;
    if (r->silent || hpc_clock_ns() - r->start_ns < PROGRESS_NS) return;
    if (!r->progress.label) {
        hpc_progress_start(&r->progress, "pragma", "files", r->n);
        r->progress.start_ns = r->start_ns;
    }
    hpc_progress_update(&r->progress, done, NULL);
}

static int print_end(run_of_files *r, int64_t done)
{
    if (r->progress.label) hpc_progress_end(&r->progress, done);
    if (r->all->sarif) {
        hpc_json_out w = {.buf = &r->out, .indent = 2};
        pragma_put_sarif(&w, r->file, done);
    } else if (r->all->json) {
        hpc_json_close(&r->json, ']');
    } else {
        return HPC_OK;
    }
    hpc_buf_text(&r->out, "\n");
    return hpc_cmd_print(&r->out);
}

/* *out: a file is named twice. With --fix, the second analysis must read the result of the first.
 */
static int has_twins(bool *out, char **path, int64_t n)
{
    hpc_map *seen = hpc_map_create();
    uint64_t value;
    int rc = seen ? HPC_OK : HPC_E_NOMEM;
    *out = false;
    for (int64_t k = 0; k < n && rc >= 0; k++) {
        struct stat st;
        if (stat(path[k], &st) < 0) continue;
        const uint64_t key[2] = {st.st_dev, st.st_ino};
        *out |= hpc_map_get(seen, key, sizeof key, &value);
        rc = hpc_map_put(seen, key, sizeof key, 1);
    }
    hpc_map_free(seen);
    return rc;
}

static int judge_all(run_of_files *r, const int *stop)
{
    const pragma_options *o = r->all->o;
    int64_t done = 0;
    bool twins = false;
    int rc = HPC_OK, workers = 0;
    if (o->fix) TRY(has_twins(&twins, r->path, r->n));
    const bool alone = twins || strcmp(o->verify, "run") == 0;
    const int threads = alone ? 1 : hpc_cmd_threads(o->threads);
    workers = threads < r->n ? threads : (int)r->n;
    r->json = (hpc_json_out){.buf = &r->out, .indent = 2};
    r->file = hpc_alloc((size_t)r->n, sizeof *r->file);
    r->worker = hpc_alloc((size_t)workers, sizeof *r->worker);
    if (!r->file || !r->worker) TRY(HPC_E_NOMEM);
    for (int k = 0; k < workers; k++) r->worker[k] = *r->all;
    if (r->all->json) hpc_json_open(&r->json, NULL, '[');
    TRY(hpc_ordered_run(&done, &(hpc_ordered_options){.n = r->n,
                                                      .workers = workers,
                                                      .window = alone ? 1 : WINDOW,
                                                      .stop = stop,
                                                      .work = judge_one,
                                                      .emit = end_one,
                                                      .look = show_progress,
                                                      .user = r}));
    TRY(print_end(r, done));
    if (done < r->n) {
        fprintf(stderr,
                "hpccoder pragma: stopped after %lld of %lld files; continue with the same command "
                "and --from %s\n",
                (long long)done, (long long)r->n, r->path[done]);
        r->all->worst = EXIT_FAILURE_INTERNAL;
    }
out:
    for (int64_t k = 0; r->file && k < r->n; k++) release_file(&r->file[k]);
    for (int k = 0; r->worker && k < workers; k++) hpc_checker_close(r->worker[k].checker);
    hpc_free(r->worker);
    hpc_free(r->file);
    hpc_buf_release(&r->out);
    return rc;
}

int pragma_judge_all(pragma_judging *j, char **path, int64_t n, const int *stop)
{
    run_of_files r = {.all = j, .path = path, .n = n, .start_ns = hpc_clock_ns()};
    hpc_cmd_progress(&r.progress, j->o->quiet);
    r.silent = j->o->quiet || n < (r.progress.terminal ? 2 : PROGRESS_FILES);
    return judge_all(&r, stop);
}
