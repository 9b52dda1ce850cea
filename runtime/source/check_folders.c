/*
 * check_folders.c: the root of the tree around a file, and the folders there of headers that the
 * file includes.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/source/check_priv.h"

enum {
    FOLDERS_MOST = 2000,
    DEPTH_MOST = 8,
    ABOVE_MOST = 12,
    HEADERS_MOST = 400,
    HEADER_BYTES = 1 << 20
};

typedef struct searching {
    hpc_arena *arena;
    const char *root; /* of the tree */
    const char *folder[FOLDERS_MOST];
    int64_t folders_n;
    const char *todo[HEADERS_MOST]; /* files whose includes are looked up */
    int64_t todo_n, done_n;
    const char *kept[HEADERS_MOST]; /* folders */
    int64_t kept_n;
    int rc;
} searching;

/* ---- the tree -------------------------------------------------------------------------------- */

static bool has_file(const char *folder, const char *name)
{
    char path[PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n < (int)sizeof path && hpc_file_exists(path);
}

static void cut_name(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash) *slash = '\0';
}

void hpc_check_tree_root(char *out, const char *file)
{
    static const char *const builds[] = {"CMakeLists.txt", "Makefile", "configure", "meson.build"};
    char at[PATH_MAX];
    snprintf(out, PATH_MAX, "%s", file);
    cut_name(out);
    snprintf(at, sizeof at, "%s", out);
    for (int k = 0; k < ABOVE_MOST && *at; k++, cut_name(at)) {
        bool is = has_file(at, ".git/HEAD");
        const bool last = is;
        for (size_t b = 0; b < sizeof builds / sizeof *builds && !is; b++)
            is = has_file(at, builds[b]);
        if (is) snprintf(out, PATH_MAX, "%s", at);
        if (last) return;
    }
}

static void add_folders(searching *s, const char *folder, int depth)
{
    hpc_buf names = {0};
    int64_t n = 0;
    if (s->rc < 0 || depth > DEPTH_MOST || s->folders_n == FOLDERS_MOST) return;
    if (hpc_file_list(&names, &n, folder) < 0) {
        hpc_error_clear(); /* a folder that cannot be read has no headers */
        hpc_buf_release(&names);
        return;
    }
    s->folder[s->folders_n++] = folder;
    const char *name = names.data;
    for (int64_t i = 0; i < n && s->rc >= 0; i++, name += strlen(name) + 1) {
        const size_t k = strlen(name);
        if (name[0] == '.' || k == 0 || name[k - 1] != '/') continue;
        const char *path = hpc_arena_text(s->arena, "%s/%.*s", folder, (int)k - 1, name);
        if (!path) s->rc = HPC_E_NOMEM;
        if (path) add_folders(s, path, depth + 1);
    }
    hpc_buf_release(&names);
}

/* ---- headers --------------------------------------------------------------------------------- */

static int64_t common(const char *a, const char *b)
{
    int64_t n = 0;
    while (a[n] && a[n] == b[n]) n++;
    return n;
}

/* True if a path below the root leads out of the tree by its "..". */
static bool is_outside(const char *root, const char *path)
{
    int depth = 0;
    for (const char *p = path + strlen(root); *p && depth >= 0;) {
        p += strspn(p, "/");
        const size_t n = strcspn(p, "/");
        if (n == 2 && strncmp(p, "..", 2) == 0)
            depth--;
        else
            depth += n > 0 && !(n == 1 && *p == '.');
        p += n;
    }
    return depth < 0;
}

static bool is_in(char out[PATH_MAX], const searching *s, const char *folder, const char *header,
                  size_t n)
{
    const int k = snprintf(out, PATH_MAX, "%s/%.*s", folder, (int)n, header);
    return k < PATH_MAX && !is_outside(s->root, out) && hpc_file_exists(out);
}

static void add_header(searching *s, const char *path)
{
    for (int64_t k = 0; k < s->todo_n; k++)
        if (strcmp(s->todo[k], path) == 0) return;
    if (s->todo_n == HEADERS_MOST) return;
    const char *kept = hpc_arena_text(s->arena, "%s", path);
    if (kept)
        s->todo[s->todo_n++] = kept;
    else
        s->rc = HPC_E_NOMEM;
}

/* Finds a header that the file at `from` includes: in the folder of that file, or in the nearest
 * one. */
static void find_header(searching *s, const char *from, const char *header, size_t n)
{
    char path[PATH_MAX], own[PATH_MAX];
    int64_t best = -1;
    snprintf(own, sizeof own, "%s", from);
    cut_name(own);
    if (is_in(path, s, own, header, n)) {
        add_header(s, path);
        return;
    }
    for (int64_t k = 0; k < s->folders_n; k++) {
        if (!is_in(path, s, s->folder[k], header, n)) continue;
        if (best < 0 || common(s->folder[k], from) > common(s->folder[best], from)) best = k;
    }
    if (best < 0 || !is_in(path, s, s->folder[best], header, n)) return;
    add_header(s, path);
    for (int64_t k = 0; k < s->kept_n; k++)
        if (s->kept[k] == s->folder[best]) return;
    if (s->kept_n < HEADERS_MOST) s->kept[s->kept_n++] = s->folder[best];
}

static void find_includes(searching *s, const char *from, const char *text)
{
    static const char word[] = "include";
    for (const char *p = text; p && s->rc >= 0; p = strchr(p, '\n')) {
        p += strspn(p, " \t\r\n");
        if (*p != '#') continue;
        p += 1 + strspn(p + 1, " \t");
        if (strncmp(p, word, sizeof word - 1) != 0) continue;
        p += sizeof word - 1;
        p += strspn(p, " \t");
        if (*p != '"' && *p != '<') continue;
        const char *end = strpbrk(p + 1, "\">\n");
        if (end && *end != '\n') find_header(s, from, p + 1, (size_t)(end - p - 1));
    }
}

/* ---- flags ----------------------------------------------------------------------------------- */

static int add_flags(hpc_check_flags *out, const hpc_check_flags *known, const searching *s)
{
    out->arena = hpc_arena_create(0);
    if (!out->arena) return HPC_E_NOMEM;
    out->item = hpc_arena_alloc(out->arena, (size_t)(known->n + s->kept_n) + 1, sizeof *out->item);
    if (!out->item) return HPC_E_NOMEM;
    for (int64_t k = 0; k < known->n + s->kept_n; k++) {
        const bool old = k < known->n;
        out->item[k] = hpc_arena_text(out->arena, "%s%s", old ? "" : "-idirafter",
                                      old ? known->item[k] : s->kept[k - known->n]);
        if (!out->item[k]) return HPC_E_NOMEM;
        out->n++;
    }
    out->item[out->n] = NULL;
    out->from = known->from ? hpc_arena_text(out->arena, "%s", known->from) : NULL;
    out->exact = known->exact;
    return known->from && !out->from ? HPC_E_NOMEM : HPC_OK;
}

int hpc_check_flags_search(hpc_check_flags *out, const hpc_check_flags *known, const char *path,
                           const char *text)
{
    char file[PATH_MAX], root[PATH_MAX];
    int rc = HPC_OK;
    *out = (hpc_check_flags){0};
    if (!realpath(path, file)) return HPC_OK;
    searching *s = hpc_alloc(1, sizeof *s);
    if (!s) return HPC_E_NOMEM;
    s->arena = hpc_arena_create(0);
    if (!s->arena) TRY(HPC_E_NOMEM);
    hpc_check_tree_root(root, file);
    s->root = root;
    add_folders(s, root, 0);
    find_includes(s, file, text);
    for (; s->done_n < s->todo_n && s->rc >= 0; s->done_n++) {
        hpc_buf more = {0};
        if (check_read_header(&more, s->todo[s->done_n], HEADER_BYTES) < 0)
            hpc_error_clear();
        else if (hpc_buf_add(&more, "", 1) >= 0)
            find_includes(s, s->todo[s->done_n], more.data);
        hpc_buf_release(&more);
    }
    TRY(s->rc);
    if (s->kept_n > 0) TRY(add_flags(out, known, s));
out:
    if (s) hpc_arena_free(s->arena);
    hpc_free(s);
    if (rc < 0) hpc_check_flags_release(out);
    return rc;
}
