/*
 * Change between two commits: its files and functions, in order.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/perf/change_priv.h"

void hpc_perf_change_release(hpc_perf_change *c)
{
    hpc_free(c->file);
    hpc_free(c->function);
    hpc_free(c->edit);
    hpc_buf_release(&c->names);
    *c = (hpc_perf_change){0};
}

int hpc_perf_reader_create(hpc_perf_reader **out, hpc_git *g, const hpc_perf_limits *limits)
{
    static const hpc_perf_limits usual = HPC_PERF_LIMITS_DEFAULTS;
    hpc_perf_reader *r = hpc_alloc(1, sizeof *r);
    *out = r;
    if (!r) return HPC_E_NOMEM;
    r->git = g;
    r->limits = limits ? *limits : usual;
    return HPC_OK;
}

void hpc_perf_reader_free(hpc_perf_reader *r)
{
    if (!r) return;
    perf_cache_free(r);
    hpc_free(r->work);
    hpc_git_changes_release(&r->diff);
    hpc_buf_release(&r->scratch);
    hpc_edits_release(&r->edits);
    hpc_free(r);
}

void hpc_perf_reader_counts(int64_t *read, int64_t *kept, const hpc_perf_reader *r)
{
    *read = r->read_n;
    *kept = r->kept_n;
}

void hpc_perf_reader_set_program(hpc_perf_reader *r, const hpc_perf_program *p)
{
    r->leaves_aside = true;
    r->program = p;
}

typedef struct filter {
    const hpc_perf_reader *r;
    hpc_perf_change *out;
} filter;

static bool wanted(const char *path, void *user)
{
    const filter *f = user;
    bool other = hpc_perf_kind_of_path(path) == HPC_PERF_OTHER;
    bool aside = f->r->leaves_aside && !hpc_perf_program_has(f->r->program, path);
    f->out->other_n += other;
    f->out->aside_n += aside;
    f->out->other_aside_n += other && aside;
    return !other && !aside;
}

static void clear(hpc_perf_change *c)
{
    c->files_n = c->n = c->edits_n = 0;
    c->names.n = 0;
    c->names.failed = 0;
    c->skipped_n = c->other_n = c->modules_n = 0;
    c->aside_n = c->other_aside_n = 0;
    c->too_many = false;
}

static int by_place(const void *a, const void *b)
{
    const hpc_perf_function *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    bool out_x = x->head.source ? x->head.function < 0 : x->base.function < 0;
    bool out_y = y->head.source ? y->head.function < 0 : y->base.function < 0;
    if (out_x != out_y) return out_x ? 1 : -1;
    uint32_t at_x = x->head.source ? x->head.at : x->base.at;
    uint32_t at_y = y->head.source ? y->head.at : y->base.at;
    if (at_x != at_y) return at_x < at_y ? -1 : 1;
    if (x->state != y->state) return x->state < y->state ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

int hpc_perf_change_read(hpc_perf_change *out, hpc_perf_reader *r, const hpc_git_id *base,
                         const hpc_git_id *head)
{
    int rc = HPC_OK;
    clear(out);
    out->base = *base;
    out->head = *head;
    perf_cache_trim(r);
    r->change++;
    r->change_bytes = 0;
    filter f = {r, out};
    if (r->work && memcmp(head, &(hpc_git_id){0}, sizeof *head) == 0)
        rc = perf_work_diff(r, base, wanted, &f);
    else
        rc = hpc_git_diff(&r->diff, r->git, base, head, wanted, &f, r->limits.files);
    if (rc == HPC_E_UNSUPPORTED) {
        hpc_error_clear(); /* no failure: nothing can be said of it */
        out->too_many = true;
        return HPC_GIT_READ;
    }
    TRY(rc);
    if (rc != HPC_GIT_READ) {
        int outcome = rc;
        TRY(hpc_buf_add(&out->names, r->diff.paths.data, r->diff.paths.n));
        return outcome;
    }
    out->modules_n = r->diff.modules_n;
    TRY(perf_match_files(out, r));
    TRY(perf_match_functions(out, r));
    if (out->n > 1) qsort(out->function, (size_t)out->n, sizeof *out->function, by_place);
    rc = HPC_GIT_READ;
out:
    if (rc < 0) clear(out);
    return rc;
}
