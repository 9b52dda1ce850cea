/*
 * Files of the working tree as a change: HEAD or another commit is the base, and the same commit
 * with these files is the head. Filters of git (line ends, keywords) are not applied.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/perf/change_priv.h"
#include "runtime/base/bytes.h"

/* An id that no git object of this repository has in practice: a 128-bit hash and a mark. */
static void id_of(hpc_git_id *out, const hpc_perf_text *f)
{
    memset(out, 0xff, sizeof *out);
    hpc_put_hash(out->byte, hpc_hash_wide(f->text, f->n));
}

static int by_path(const void *a, const void *b)
{
    const perf_work_file *x = a, *y = b;
    return strcmp(x->file->path, y->file->path);
}

int hpc_perf_reader_set_work(hpc_perf_reader *r, const hpc_perf_text *file, int64_t n)
{
    r->work = hpc_alloc((size_t)n + 1, sizeof *r->work);
    if (!r->work) return HPC_E_NOMEM;
    for (r->work_n = 0; r->work_n < n; r->work_n++) {
        perf_work_file *w = &r->work[r->work_n];
        w->file = &file[r->work_n];
        if (w->file->text) id_of(&w->id, w->file);
    }
    qsort(r->work, (size_t)n, sizeof *r->work, by_path);
    return HPC_OK;
}

const hpc_perf_text *perf_work_find(const hpc_perf_reader *r, const hpc_git_id *id)
{
    for (int64_t k = 0; k < r->work_n; k++)
        if (r->work[k].file->text && memcmp(&r->work[k].id, id, sizeof *id) == 0)
            return r->work[k].file;
    return NULL;
}

static perf_work_file *find_path(const hpc_perf_reader *r, const char *path)
{
    for (int64_t k = 0; k < r->work_n; k++)
        if (strcmp(r->work[k].file->path, path) == 0) return &r->work[k];
    return NULL;
}

static bool is_of_work(const char *path, void *user)
{
    return find_path(user, path) != NULL;
}

/* Sets `base` of the files that the commit contains. */
static int find_bases(hpc_perf_reader *r, const hpc_git_id *base)
{
    const hpc_git_id none = {0};
    int rc;
    TRY(hpc_git_diff(&r->diff, r->git, &none, base, is_of_work, r, r->work_n + 1));
    if (rc != HPC_GIT_READ) return rc;
    for (int64_t k = 0; k < r->work_n; k++) r->work[k].base = none;
    for (int64_t k = 0; k < r->diff.n; k++)
        find_path(r, r->diff.paths.data + r->diff.item[k].path)->base = r->diff.item[k].head;
    rc = HPC_GIT_READ;
out:
    return rc;
}

/* The file has the same bytes in the commit. */
static int is_same(bool *out, hpc_perf_reader *r, const perf_work_file *w)
{
    const hpc_perf_text *f = w->file;
    size_t bytes = 0;
    *out = false;
    if (!f->text || f->n > r->limits.file_bytes) return HPC_OK;
    int rc = hpc_git_read(&r->scratch, &bytes, r->git, &w->base, r->limits.file_bytes);
    if (rc != HPC_GIT_READ) return rc < 0 ? rc : HPC_OK;
    *out = r->scratch.n == f->n && (f->n == 0 || memcmp(r->scratch.data, f->text, f->n) == 0);
    return HPC_OK;
}

int perf_work_diff(hpc_perf_reader *r, const hpc_git_id *base,
                   bool (*want)(const char *path, void *user), void *user)
{
    const hpc_git_id none = {0};
    hpc_git_changes *d = &r->diff;
    bool same;
    int rc;
    TRY(find_bases(r, base));
    if (rc != HPC_GIT_READ) return rc;
    d->n = 0;
    d->paths.n = 0;
    for (int64_t k = 0; k < r->work_n; k++) {
        const perf_work_file *w = &r->work[k];
        bool is_new = memcmp(&w->base, &none, sizeof none) == 0;
        if (is_new && !w->file->text)
            TRY(hpc_fail(HPC_E_ARG, "%s: neither in the commit nor in the working tree",
                         w->file->path));
        same = false;
        if (!is_new) TRY(is_same(&same, r, w));
        if (same || !want(w->file->path, user)) continue;
        TRY(hpc_grow(&d->item, &d->cap, d->n + 1, sizeof *d->item));
        d->item[d->n++] =
            (hpc_git_change){.base = w->base, .head = w->id, .path = (uint32_t)d->paths.n};
        TRY(hpc_buf_add(&d->paths, w->file->path, strlen(w->file->path) + 1));
    }
    rc = HPC_GIT_READ;
out:
    return rc;
}
