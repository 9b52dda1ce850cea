/*
 * list.c: merges the findings of a walk's workers into one ordered list. The assignment of findings
 * to workers is random, so the result must not depend on it: paths are sorted by bytes, blobs by
 * path and id.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/git/priv.h"

typedef struct place { /* a path that a worker found */
    const char *path;
    uint32_t *rank; /* where to write its number among all paths */
} place;

static int order_places(const void *a, const void *b)
{
    return strcmp(((const place *)a)->path, ((const place *)b)->path);
}

/* By id; of one blob, the entry that will stand for it first. */
static int order_ids(const void *x, const void *y)
{
    const hpc_git_entry *a = x, *b = y;
    int order = memcmp(a->id.byte, b->id.byte, sizeof a->id.byte);
    if (order) return order;
    if (a->head != b->head) return a->head ? -1 : 1;
    return (a->path > b->path) - (a->path < b->path);
}

/* rank[k] of every path of every worker, in the order of bytes; the paths themselves, in that
 * order, go to out->paths, their offsets to *offset. */
static int rank_paths(hpc_git_list *out, uint32_t **offset, int64_t *distinct, uint32_t *rank,
                      const git_found *found, int workers)
{
    int64_t n = 0;
    int rc = HPC_OK;
    for (int w = 0; w < workers; w++) n += found[w].paths_n;
    place *p = hpc_alloc((size_t)n + 1, sizeof *p);
    *offset = hpc_alloc((size_t)n + 1, sizeof **offset);
    *distinct = 0;
    TRY(p && *offset ? 0 : HPC_E_NOMEM);
    n = 0;
    for (int w = 0; w < workers; w++)
        for (int64_t k = 0; k < found[w].paths_n; k++, n++)
            p[n] = (place){found[w].paths.data + found[w].at[k], &rank[n]};
    qsort(p, (size_t)n, sizeof *p, order_places);
    for (int64_t k = 0; k < n; k++) {
        if (k == 0 || strcmp(p[k].path, p[k - 1].path) != 0) {
            if (out->paths.n > UINT32_MAX - GIT_PATH_BYTES) {
                rc = hpc_fail(HPC_E_UNSUPPORTED, "paths of more than 4 GiB in one repository");
                goto out;
            }
            (*offset)[(*distinct)++] = (uint32_t)out->paths.n;
            TRY(hpc_buf_add(&out->paths, p[k].path, strlen(p[k].path) + 1));
        }
        *p[k].rank = (uint32_t)(*distinct - 1);
    }
out:
    hpc_free(p);
    return rc;
}

/* All entries, their paths as ranks; the workers' own are freed on the way. */
static int join(hpc_git_list *out, git_found *found, int workers, const uint32_t *rank)
{
    int64_t n = 0, first = 0;
    for (int w = 0; w < workers; w++) n += found[w].n;
    int rc = hpc_grow(&out->entry, &out->cap, n, sizeof *out->entry);
    if (rc < 0) return rc;
    for (int w = 0; w < workers; w++) {
        git_found *f = &found[w];
        for (int64_t k = 0; k < f->n; k++) {
            hpc_git_entry *e = &out->entry[out->n++];
            *e = f->entry[k];
            e->path = rank[first + e->path];
        }
        first += f->paths_n;
        hpc_free(f->entry);
        f->entry = NULL;
    }
    return HPC_OK;
}

static void one_for_each_blob(hpc_git_list *l)
{
    int64_t kept = 0;
    if (l->n > 1) qsort(l->entry, (size_t)l->n, sizeof *l->entry, order_ids);
    for (int64_t k = 0; k < l->n; k++)
        if (k == 0 || memcmp(l->entry[k].id.byte, l->entry[k - 1].id.byte, 20) != 0)
            l->entry[kept++] = l->entry[k];
    l->n = kept;
}

/* From the order of ids to that of (path, id), by counting; then ranks become offsets. */
static int sort_by_path(hpc_git_list *l, const uint32_t *offset, int64_t paths_n)
{
    int rc = HPC_OK;
    int64_t *start = hpc_alloc((size_t)paths_n + 1, sizeof *start);
    hpc_git_entry *sorted = hpc_alloc((size_t)l->n + 1, sizeof *sorted);
    TRY(start && sorted ? 0 : HPC_E_NOMEM);
    for (int64_t k = 0; k < l->n; k++) start[l->entry[k].path + 1]++;
    for (int64_t k = 0; k < paths_n; k++) start[k + 1] += start[k];
    for (int64_t k = 0; k < l->n; k++) {
        hpc_git_entry *e = &sorted[start[l->entry[k].path]++];
        *e = l->entry[k];
        e->path = offset[e->path];
    }
    hpc_free(l->entry);
    l->entry = sorted;
    l->cap = l->n + 1;
    sorted = NULL;
out:
    hpc_free(start);
    hpc_free(sorted);
    return rc;
}

static int add_counts(hpc_git_list *out, git_found *found, int workers)
{
    const hpc_buf *least = NULL;
    for (int w = 0; w < workers; w++) {
        const git_found *f = &found[w];
        out->links_n += f->links_n;
        out->other_n += f->other_n;
        out->commits_n += f->commits_n;
        out->missing_n += f->missing_n;
        if (f->first_miss.n > 0 && (!least || strcmp(f->first_miss.data, least->data) < 0))
            least = &f->first_miss;
    }
    return hpc_buf_text(&out->first_miss, least ? least->data : "");
}

int hpc_git_list_blobs(hpc_git_list *out, hpc_git *g, hpc_pool *pool,
                       const hpc_git_list_options *options)
{
    int workers = hpc_pool_n(pool);
    uint32_t *rank = NULL, *offset = NULL;
    int64_t paths_n = 0, distinct = 0;
    int rc;
    memset(out, 0, sizeof *out);
    git_found *found = hpc_alloc((size_t)workers, sizeof *found);
    TRY(found ? 0 : HPC_E_NOMEM);
    TRY(git_walk(found, g, pool, options));
    if (rc == HPC_GIT_STOPPED) goto out;
    for (int w = 0; w < workers; w++) paths_n += found[w].paths_n;
    rank = hpc_alloc((size_t)paths_n + 1, sizeof *rank);
    TRY(rank ? 0 : HPC_E_NOMEM);
    TRY(rank_paths(out, &offset, &distinct, rank, found, workers));
    TRY(join(out, found, workers, rank));
    TRY(add_counts(out, found, workers));
    one_for_each_blob(out);
    TRY(sort_by_path(out, offset, distinct));
out:
    for (int w = 0; found && w < workers; w++) git_found_release(&found[w]);
    hpc_free(found);
    hpc_free(rank);
    hpc_free(offset);
    if (rc < 0) {
        hpc_error_where(SHOWN, g->path);
        hpc_git_list_release(out);
    }
    return rc;
}

void hpc_git_list_release(hpc_git_list *l)
{
    hpc_free(l->entry);
    hpc_buf_release(&l->paths);
    hpc_buf_release(&l->first_miss);
    memset(l, 0, sizeof *l);
}
