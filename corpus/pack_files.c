/*
 * pack_files.c: loads the rows of the corpus that are packed, with the members that packing needs.
 */
#include <inttypes.h>
#include <string.h>

#include "corpus/pack.h"

enum { STREAM = 0x5368 }; /* of random numbers */

static int add_repository(pack_files *f, const char *name)
{
    int64_t k = f->repositories_n;
    int rc = HPC_OK;
    TRY(hpc_grow(&f->first, &f->first_cap, k + 2, sizeof *f->first));
    TRY(hpc_grow(&f->name, &f->name_cap, k + 1, sizeof *f->name));
    f->first[k] = f->n;
    f->name[k] = f->names.n;
    TRY(hpc_buf_add(&f->names, name, strlen(name) + 1));
    f->repositories_n++;
out:
    return rc;
}

/* Checks the order of rows, which all later steps depend on. */
static int order_check(const pack_files *f, const hpc_corpus_file *row, bool same)
{
    const pack_file *last = &f->item[f->n - 1];
    int paths = strcmp(f->paths.data + last->path, row->path);
    int names = strcmp(f->names.data + f->name[f->repositories_n - 1], row->repository);
    if (row->id > last->id && names <= 0 && (!same || paths <= 0)) return HPC_OK;
    return hpc_fail(HPC_E_FORMAT,
                    "the corpus is damaged: file %" PRId64 " (%.80s:%.120s) is out of "
                    "order; harvest it again",
                    row->id, row->repository, row->path);
}

static int add(pack_files *f, const hpc_corpus_file *row)
{
    int64_t last = f->repositories_n - 1;
    bool same = last >= 0 && strcmp(f->names.data + f->name[last], row->repository) == 0;
    int rc = HPC_OK;
    if (f->n > 0) TRY(order_check(f, row, same));
    if (!same) TRY(add_repository(f, row->repository));
    TRY(hpc_grow(&f->item, &f->cap, f->n + 1, sizeof *f->item));
    f->item[f->n] = (pack_file){.id = row->id,
                                .chunk = row->chunk,
                                .slot = row->slot,
                                .path = f->paths.n,
                                .repository = (int32_t)(f->repositories_n - 1),
                                .stored_bytes = (uint32_t)row->stored_bytes,
                                .git_id = row->git_id,
                                .language = (uint8_t)row->language,
                                .fixed = row->fixed};
    TRY(hpc_buf_add(&f->paths, row->path, strlen(row->path) + 1));
    f->first[f->repositories_n] = ++f->n;
out:
    return rc;
}

static bool drawn(const hpc_corpus_file *row, const pack_share *share)
{
    uint32_t bits = hpc_random_bits((uint64_t)share->seed, STREAM, 0, (uint64_t)row->component);
    double draw = (double)hpc_random_uniform(bits);
    return draw >= share->from && draw < share->to;
}

int pack_files_load(pack_files *out, hpc_corpus *c, const hpc_corpus_filter *filter,
                    const pack_share *share)
{
    hpc_corpus_file row;
    int rc = HPC_OK;
    *out = (pack_files){0};
    TRY(hpc_corpus_select(c, filter));
    for (;;) {
        TRY(hpc_corpus_next(&row, c));
        if (rc == 0) break;
        if (row.slot >= 0 && drawn(&row, share)) TRY(add(out, &row));
    }
out:
    if (rc < 0) pack_files_release(out);
    return rc;
}

void pack_files_release(pack_files *f)
{
    hpc_free(f->item);
    hpc_free(f->first);
    hpc_free(f->name);
    hpc_buf_release(&f->paths);
    hpc_buf_release(&f->names);
    *f = (pack_files){0};
}

const char *pack_files_path(const pack_files *f, int64_t i)
{
    return f->paths.data + f->item[i].path;
}

const char *pack_files_repository(const pack_files *f, int64_t i)
{
    return f->names.data + f->name[f->item[i].repository];
}

int64_t pack_files_find(const pack_files *f, int64_t id)
{
    int64_t lo = 0, hi = f->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (f->item[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < f->n && f->item[lo].id == id ? lo : -1;
}

int pack_files_read(hpc_buf *out, hpc_corpus *c, const pack_files *f, int64_t i)
{
    const pack_file *p = &f->item[i];
    const hpc_corpus_file row = {.id = p->id,
                                 .repository = pack_files_repository(f, i),
                                 .path = pack_files_path(f, i),
                                 .git_id = p->git_id,
                                 .stored_bytes = p->stored_bytes,
                                 .language = (hpc_language)p->language,
                                 .chunk = p->chunk,
                                 .slot = p->slot};
    return hpc_corpus_read(out, c, &row);
}
