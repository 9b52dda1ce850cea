/*
 * diff.c: finds the files that differ between two commits by comparing trees. Folders of equal id
 * are skipped. Renames are not detected: a moved file disappears at one path and appears at
 * another.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/git/priv.h"

enum { FOLDERS_MOST = 1 << 20, DEPTH_MOST = 256, NAMES_MOST = 1 << 22 };

typedef struct entry { /* of one tree */
    git_name name;
    bool folder, file, module;
} entry;
typedef struct tree {
    git_raw object;
    bool loaded;   /* object is there, to be released */
    size_t at;     /* position after this entry */
    git_name name; /* this entry */
    entry *item;   /* the entries that are kept */
    int64_t n, cap;
} tree;
typedef struct folder {    /* that differs, still to look into */
    hpc_git_id base, head; /* zero: not there */
    size_t path;           /* in `paths`, with the slash; "" is the root */
    int depth;
} folder;
typedef struct diff {
    hpc_git *g;
    hpc_git_changes *out;
    bool (*want)(const char *path, void *user);
    void *user;
    int64_t most;
    size_t read; /* bytes of trees */
    folder *folder;
    int64_t n, cap, next;
    hpc_buf paths, path; /* of folders; scratch */
    tree base, head;
    char why[200];
} diff;

static const hpc_git_id zero;

static bool is_zero(const hpc_git_id *id)
{
    return memcmp(id, &zero, sizeof zero) == 0;
}

bool hpc_git_id_parse(hpc_git_id *out, const char *text)
{
    char line[48];
    size_t n = strnlen(text, 41), at = 0;
    if (n != 40) return false;
    memcpy(line, text, n);
    line[n] = '\n';
    return git_header_id(out, line, n + 1, &at, "");
}

void hpc_git_changes_release(hpc_git_changes *c)
{
    hpc_free(c->item);
    hpc_buf_release(&c->paths);
    *c = (hpc_git_changes){0};
}

/* ---- trees ------------------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name.name, ((const entry *)b)->name.name);
}

static void drop_tree(tree *t)
{
    if (t->loaded) git_raw_release(&t->object);
    t->loaded = false;
    t->n = 0;
}

static int open_tree(tree *t, diff *d, const hpc_git_id *id)
{
    drop_tree(t);
    if (is_zero(id)) return HPC_GIT_READ;
    int rc = git_get(&t->object, d->g, id, GIT_OBJECT_TREE, GIT_META_BYTES, d->why);
    t->loaded = rc == HPC_GIT_READ;
    if (t->loaded) d->read += t->object.n;
    t->at = 0;
    return rc;
}

/* 1: t->name is the next entry; 0: end of the tree. */
static int next_name(tree *t, diff *d)
{
    int rc = t->loaded ? git_tree_next(&t->name, t->object.data, t->object.n, &t->at) : 0;
    if (rc < 0) snprintf(d->why, sizeof d->why, "a tree is malformed");
    return rc < 0 ? HPC_GIT_CORRUPT : rc;
}

static int keep_name(tree *t)
{
    int rc = hpc_grow(&t->item, &t->cap, t->n + 1, sizeof *t->item);
    if (rc < 0) return rc;
    uint32_t kind = t->name.mode & 0170000;
    t->item[t->n++] = (entry){.name = t->name,
                              .folder = kind == 0040000,
                              .file = kind == 0100000,
                              .module = kind == 0160000};
    return HPC_OK;
}

/* As git puts them: folders as if their names ended in a slash. */
static int order_names(const git_name *a, const git_name *b)
{
    size_t n = a->n < b->n ? a->n : b->n;
    int order = memcmp(a->name, b->name, n);
    if (order != 0) return order;
    unsigned char x = a->n > n ? (unsigned char)a->name[n] : a->mode == 0040000 ? '/' : 0;
    unsigned char y = b->n > n ? (unsigned char)b->name[n] : b->mode == 0040000 ? '/' : 0;
    return (int)x - (int)y;
}

static bool same_entry(const git_name *a, const git_name *b)
{
    return a->n == b->n && a->mode == b->mode && memcmp(a->id, b->id, 20) == 0 &&
           memcmp(a->name, b->name, a->n) == 0;
}

/* Loads two trees without the entries that they share, which are most. Trees that are not in git's
 * order keep more than necessary, which costs time and changes no result. The kept entries are
 * sorted by name alone. */
static int load_trees(diff *d, const folder *in)
{
    tree *a = &d->base, *b = &d->head;
    int rc = open_tree(a, d, &in->base);
    if (rc == HPC_GIT_READ) rc = open_tree(b, d, &in->head);
    if (rc != HPC_GIT_READ) return rc;
    int x = next_name(a, d), y = next_name(b, d);
    while (x == 1 || y == 1) {
        int order = x != 1 ? 1 : y != 1 ? -1 : order_names(&a->name, &b->name);
        bool same = order == 0 && same_entry(&a->name, &b->name);
        if (order <= 0 && !same) TRY(keep_name(a));
        if (order >= 0 && !same) TRY(keep_name(b));
        if (order <= 0) x = next_name(a, d);
        if (order >= 0) y = next_name(b, d);
    }
    if (x != 0 || y != 0) return HPC_GIT_CORRUPT;
    if (a->n > 1) qsort(a->item, (size_t)a->n, sizeof *a->item, compare_entries);
    if (b->n > 1) qsort(b->item, (size_t)b->n, sizeof *b->item, compare_entries);
    rc = HPC_GIT_READ;
out:
    return rc;
}

static int tree_of(hpc_git_id *out, diff *d, const hpc_git_id *commit)
{
    git_raw raw;
    size_t at = 0;
    *out = zero;
    if (is_zero(commit)) return HPC_GIT_READ; /* before the first commit there was nothing */
    int rc = git_get(&raw, d->g, commit, GIT_OBJECT_COMMIT, GIT_META_BYTES, d->why);
    if (rc != HPC_GIT_READ) return rc;
    if (!git_header_id(out, (const char *)raw.data, raw.n, &at, "tree ")) {
        snprintf(d->why, sizeof d->why, "a commit has no tree");
        rc = HPC_GIT_CORRUPT;
    }
    git_raw_release(&raw);
    return rc;
}

/* ---- one folder ----------------------------------------------------------------------- */

static void id_of(hpc_git_id *out, const entry *e)
{
    *out = zero;
    if (e) memcpy(out->byte, e->name.id, sizeof out->byte);
}

static int add_folder(diff *d, const folder *in, const char *name, const entry *a, const entry *b)
{
    folder f = {.path = d->paths.n, .depth = in->depth + 1};
    int rc = HPC_OK;
    if (f.depth > DEPTH_MOST || d->n >= FOLDERS_MOST)
        return hpc_fail(HPC_E_UNSUPPORTED, "folders are nested too deep, or too many");
    id_of(&f.base, a);
    id_of(&f.head, b);
    TRY(hpc_grow(&d->folder, &d->cap, d->n + 1, sizeof *d->folder));
    d->path.n = 0;
    TRY(hpc_buf_printf(&d->path, "%s%s/", d->paths.data + in->path, name));
    TRY(hpc_buf_add(&d->paths, d->path.data, d->path.n + 1));
    d->folder[d->n++] = f;
out:
    return rc;
}

static int add_file(diff *d, const folder *in, const char *name, const entry *a, const entry *b)
{
    hpc_git_changes *c = d->out;
    hpc_git_change change = {.path = (uint32_t)c->paths.n};
    int rc = HPC_OK;
    id_of(&change.base, a);
    id_of(&change.head, b);
    d->path.n = 0;
    TRY(hpc_buf_printf(&d->path, "%s%s", d->paths.data + in->path, name));
    if (d->want && !d->want(d->path.data, d->user)) goto out;
    if (c->n >= d->most || c->paths.n > NAMES_MOST * (size_t)64) return HPC_GIT_TOO_LARGE;
    TRY(hpc_grow(&c->item, &c->cap, c->n + 1, sizeof *c->item));
    TRY(hpc_buf_add(&c->paths, d->path.data, d->path.n + 1));
    c->item[c->n++] = change;
out:
    return rc;
}

/* The entries of one name, one of which may be NULL. */
static int compare_names(diff *d, const folder *in, const entry *a, const entry *b)
{
    int rc = HPC_OK;
    hpc_assert(a || b);
    const char *name = a ? a->name.name : b->name.name;
    if (a && b && a->folder == b->folder && a->file == b->file &&
        memcmp(a->name.id, b->name.id, 20) == 0)
        return rc;
    bool module = (a && a->module) || (b && b->module);
    d->out->modules_n += module;
    const entry *folders[] = {a && a->folder ? a : NULL, b && b->folder ? b : NULL};
    const entry *files[] = {a && a->file ? a : NULL, b && b->file ? b : NULL};
    if (folders[0] || folders[1]) TRY(add_folder(d, in, name, folders[0], folders[1]));
    if (files[0] || files[1]) rc = add_file(d, in, name, files[0], files[1]);
out:
    return rc;
}

static int look_into(diff *d, const folder *in)
{
    int64_t a = 0, b = 0;
    int rc = load_trees(d, in);
    if (rc != HPC_GIT_READ) return rc;
    while (a < d->base.n || b < d->head.n) {
        const entry *x = a < d->base.n ? &d->base.item[a] : NULL;
        const entry *y = b < d->head.n ? &d->head.item[b] : NULL;
        int order = !x ? 1 : !y ? -1 : strcmp(x->name.name, y->name.name);
        if (order > 0) x = NULL;
        if (order < 0) y = NULL;
        a += x != NULL;
        b += y != NULL;
        rc = compare_names(d, in, x, y);
        if (rc != HPC_OK) return rc;
    }
    return HPC_GIT_READ;
}

/* ---- the whole --------------------------------------------------------------------------- */

static int compare_changes(const void *a, const void *b, void *paths)
{
    const hpc_git_change *x = a, *y = b;
    return strcmp((const char *)paths + x->path, (const char *)paths + y->path);
}

static int run(diff *d, const hpc_git_id *base, const hpc_git_id *head)
{
    folder root = {0};
    int rc = tree_of(&root.base, d, base);
    if (rc == HPC_GIT_READ) rc = tree_of(&root.head, d, head);
    if (rc != HPC_GIT_READ) return rc;
    if (memcmp(&root.base, &root.head, sizeof root.base) == 0) return HPC_GIT_READ;
    TRY(hpc_grow(&d->folder, &d->cap, 1, sizeof *d->folder));
    TRY(hpc_buf_add(&d->paths, "", 1));
    d->folder[d->n++] = root;
    while (d->next < d->n) {
        const folder f = d->folder[d->next++]; /* a copy: the array grows */
        rc = look_into(d, &f);
        if (rc != HPC_GIT_READ) return rc;
    }
    hpc_git_changes *c = d->out;
    if (c->n > 1) qsort_r(c->item, (size_t)c->n, sizeof *c->item, compare_changes, c->paths.data);
    return HPC_GIT_READ;
out:
    return rc;
}

int git_compare(hpc_git_changes *out, size_t *read, hpc_git *g, const hpc_git_id *base,
                const hpc_git_id *head, bool (*want)(const char *path, void *user), void *user,
                int64_t most)
{
    diff d = {.g = g, .out = out, .want = want, .user = user, .most = most};
    out->n = out->modules_n = 0;
    out->paths.n = 0;
    out->paths.failed = 0;
    int rc = run(&d, base, head);
    *read += d.read;
    drop_tree(&d.base);
    drop_tree(&d.head);
    hpc_free(d.base.item);
    hpc_free(d.head.item);
    hpc_free(d.folder);
    hpc_buf_release(&d.paths);
    hpc_buf_release(&d.path);
    if (rc == HPC_GIT_READ) return rc;
    out->n = out->modules_n = 0;
    out->paths.n = 0;
    int text = rc > 0 ? hpc_buf_text(&out->paths, d.why) : 0;
    return text < 0 ? text : rc;
}

int hpc_git_diff(hpc_git_changes *out, hpc_git *g, const hpc_git_id *base, const hpc_git_id *head,
                 bool (*want)(const char *path, void *user), void *user, int64_t most)
{
    size_t read = 0;
    int rc = git_compare(out, &read, g, base, head, want, user, most);
    if (rc != HPC_GIT_TOO_LARGE) return rc;
    out->paths.n = 0;
    return hpc_fail(HPC_E_UNSUPPORTED, "more than %lld files differ, which is not supported",
                    (long long)most);
}
