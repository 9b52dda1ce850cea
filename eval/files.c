/*
 * Source files of a test set: the walk through folders, the choice by a seed, and their groups.
 */
#include <stdlib.h>
#include <string.h>

#include "eval/sets.h"

enum { FILE_MOST = 4 << 20, DEPTH_MOST = 32 };

typedef struct path_list {
    const char **item;
    int64_t n, cap;
} path_list;

static int put_path(path_list *l, const char *path)
{
    int rc = path ? hpc_grow(&l->item, &l->cap, l->n + 1, sizeof(*l->item)) : HPC_E_NOMEM;

    if (rc >= 0) l->item[l->n++] = path;
    return rc;
}

static int walk(path_list *l, hpc_arena *a, const char *folder, int depth)
{
    hpc_buf names = {0};
    int64_t n = 0;
    int rc;

    if (depth > DEPTH_MOST) return HPC_OK;
    TRY(hpc_file_list(&names, &n, folder));
    for (const char *name = names.data; n > 0; n--, name += strlen(name) + 1) {
        size_t length = strlen(name);
        bool is_folder = name[length - 1] == '/';
        if (name[0] == '.') continue;
        if (!is_folder && hpc_language_of_path(name) == HPC_LANGUAGE_NONE) continue;
        const char *path =
            hpc_arena_text(a, "%s/%.*s", folder, (int)(length - (is_folder ? 1 : 0)), name);
        if (!path) TRY(HPC_E_NOMEM);
        TRY(is_folder ? walk(l, a, path, depth + 1) : put_path(l, path));
    }
out:
    hpc_buf_release(&names);
    return rc;
}

/* A folder lists; everything else is a file. */
static int put_argument(path_list *l, hpc_arena *a, const char *path)
{
    size_t n = strlen(path);
    hpc_buf names = {0};
    int64_t count;

    if (!hpc_file_exists(path)) return hpc_fail(HPC_E_ARG, "%s: no such file or folder", path);
    while (n > 1 && path[n - 1] == '/') n--;
    const char *kept = hpc_arena_text(a, "%.*s", (int)n, path);
    if (!kept) return HPC_E_NOMEM;
    int rc = hpc_file_list(&names, &count, kept);
    hpc_buf_release(&names);
    if (rc >= 0) return walk(l, a, kept, 0);
    hpc_error_clear();
    return put_path(l, kept);
}

/* ---- choice ---------------------------------------------------------------------------------- */

typedef struct ranked {
    uint64_t rank;
    const char *path;
} ranked;

static int by_rank(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : strcmp(x->path, y->path);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Orders the paths by rank, so that the first files that can be read are the choice. */
static int rank(path_list *l, uint64_t seed)
{
    ranked *all = hpc_alloc((size_t)l->n + 1, sizeof(*all));

    if (!all) return HPC_E_NOMEM;
    for (int64_t k = 0; k < l->n; k++)
        all[k] = (ranked){hpc_hash(l->item[k], strlen(l->item[k]), seed), l->item[k]};
    qsort(all, (size_t)l->n, sizeof(*all), by_rank);
    for (int64_t k = 0; k < l->n; k++) l->item[k] = all[k].path;
    hpc_free(all);
    return HPC_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void cut(hpc_buf *text, int64_t bytes)
{
    if (bytes <= 0 || text->n <= (size_t)bytes) return;
    size_t n = (size_t)bytes;
    while (n > 0 && text->data[n - 1] != '\n') n--;
    text->n = n > 0 ? n : (size_t)bytes;
    text->data[text->n] = '\0';
}

static int classify(hpc_eval_file *f)
{
    hpc_tokens t = {0};
    int rc;

    f->language = hpc_language_of(f->path, f->text.data, f->text.n);
    bool fixed = hpc_language_fixed_form(f->path, f->text.data, f->text.n);
    TRY(hpc_lex(&t, f->text.data, f->text.n, f->language, fixed));
    f->parallel = hpc_parallel_of(&t, f->text.data, f->language);
out:
    hpc_tokens_release(&t);
    return rc;
}

/* Skips empty files, files with NUL bytes, and with `whole` files that are too long. */
static int read_file(hpc_eval_files *out, const char *path, const hpc_eval_files_options *o)
{
    hpc_eval_file f = {.path = path};
    int rc;

    TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof(*out->item)));
    TRY(hpc_file_read(&f.text, path, FILE_MOST));
    bool is_long = o->bytes > 0 && f.text.n > (size_t)o->bytes;
    if (f.text.n == 0 || memchr(f.text.data, 0, f.text.n) || (o->whole && is_long)) goto out;
    cut(&f.text, o->bytes);
    TRY(classify(&f));
    out->item[out->n++] = f;
    return HPC_OK;
out:
    hpc_buf_release(&f.text);
    return rc;
}

static int by_file(const void *a, const void *b)
{
    const hpc_eval_file *x = a, *y = b;
    return strcmp(x->path, y->path);
}

int hpc_eval_files_read(hpc_eval_files *out, const hpc_eval_files_options *o)
{
    path_list l = {0};
    int rc = HPC_OK;

    *out = (hpc_eval_files){.arena = hpc_arena_create(0)};
    if (!out->arena) return HPC_E_NOMEM;
    for (int64_t k = 0; k < o->path_n; k++) TRY(put_argument(&l, out->arena, o->path[k]));
    if (l.n > 1) qsort(l.item, (size_t)l.n, sizeof(*l.item), by_path);
    if (o->most > 0) TRY(rank(&l, o->seed));
    for (int64_t k = 0; k < l.n && !(o->most > 0 && out->n >= o->most); k++)
        TRY(read_file(out, l.item[k], o));
    if (out->n == 0)
        TRY(hpc_fail(HPC_E_ARG, "no source files of C, C++, CUDA, HIP, OpenCL or Fortran in %s",
                     o->path_n > 0 ? o->path[0] : "the arguments"));
    qsort(out->item, (size_t)out->n, sizeof(*out->item), by_file);
out:
    hpc_free(l.item);
    return rc;
}

void hpc_eval_files_release(hpc_eval_files *f)
{
    for (int64_t k = 0; k < f->n; k++) hpc_buf_release(&f->item[k].text);
    hpc_free(f->item);
    hpc_arena_free(f->arena);
    *f = (hpc_eval_files){0};
}

void hpc_eval_put_groups(hpc_json_out *w, const hpc_eval_file *f)
{
    hpc_json_open(w, "group", '{');
    hpc_json_put_text(w, "language", hpc_language_name(f->language));
    hpc_json_open(w, "parallel", '[');
    for (int k = 0; k < HPC_PARALLEL_N; k++)
        if (f->parallel >> k & 1) hpc_json_put_text(w, NULL, hpc_parallel_name(k));
    if (f->parallel == 0) hpc_json_put_text(w, NULL, "serial");
    hpc_json_close(w, ']');
}
