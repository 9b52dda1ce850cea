/*
 * plan_licence.c: finds the licence of each folder of a repository from licence files in HEAD.
 *
 * Older versions of a file get the licence in HEAD.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "corpus/harvest.h"

enum { LICENCE_BYTES = 1 << 20 };

/* Every folder that holds an entry of HEAD, and those around it, as "a/b/"; "" is the root. */
static int find_folders(hpc_map *folders, const corpus_plan *p)
{
    int rc = HPC_OK;
    TRY(hpc_map_put(folders, "", 0, 0));
    for (int64_t k = 0; k < p->n; k++) {
        const char *path = corpus_plan_entry_path(p, k);
        if (!p->entry[k].head) continue;
        for (size_t n = strlen(path); n > 0; n--) {
            if (path[n - 1] != '/') continue;
            if (hpc_map_get(folders, path, n, NULL)) break; /* and so those around it */
            TRY(hpc_map_put(folders, path, n, 0));
        }
    }
out:
    return rc;
}

/* Folders are not licence files, whatever their name. */
static int rank_of(const char *name)
{
    return name[strlen(name) - 1] == '/' ? -1 : corpus_licence_file_rank(name);
}

/* "LICENSE-MIT" next to "LICENSE-APACHE" offers a choice. Other files of equal rank may each cover
 * a part, so all are required. */
static bool is_choice(const char *name)
{
    static const char *const names[] = {"LICENSE-MIT", "LICENSE-APACHE", "LICENCE-MIT",
                                        "LICENCE-APACHE"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strncmp(name, names[k], strlen(names[k])) == 0) return true;
    return false;
}

/* False when it does not fit. */
static bool join(char out[CORPUS_LICENCE], const char *more, bool choice)
{
    char both[2 * CORPUS_LICENCE + 16];
    if (!out[0] || strcmp(out, more) == 0) {
        strcpy(out, more);
        return true;
    }
    bool a = !choice && strstr(out, " OR ") && out[0] != '(', b = !choice && strstr(more, " OR ");
    int n = snprintf(both, sizeof both, "%s%s%s %s %s%s%s", a ? "(" : "", out, a ? ")" : "",
                     choice ? "OR" : "AND", b ? "(" : "", more, b ? ")" : "");
    if (n >= CORPUS_LICENCE) return false;
    memcpy(out, both, (size_t)n + 1);
    return true;
}

static int read_licence(char out[CORPUS_LICENCE], hpc_git *g, hpc_buf *text, const char *folder,
                        const char *name)
{
    hpc_buf path = {0};
    int rc = HPC_OK;
    out[0] = '\0';
    TRY(hpc_buf_printf(&path, "%s%s", folder, name));
    TRY(hpc_git_read_path(text, g, path.data, LICENCE_BYTES));
    if (rc == HPC_GIT_READ) corpus_licence_of_text(out, text->data ? text->data : "", text->n);
    rc = HPC_OK;
out:
    hpc_buf_release(&path);
    return rc;
}

typedef struct folder_search {
    hpc_git *g;
    hpc_buf names, text;
    hpc_buf unknown; /* the first licence file that is not recognised */
    int64_t n;
    int64_t unknown_n; /* folders with such a file */
} folder_search;

/* Expression of the files of one rank; "": none is recognised. */
static int licence_of_rank(char out[CORPUS_LICENCE], folder_search *f, const char *folder, int rank)
{
    char one[CORPUS_LICENCE];
    bool fits = true, choice = true;
    int rc = HPC_OK;
    const char *name = f->names.data;
    out[0] = '\0';
    for (int64_t k = 0; k < f->n; k++, name += strlen(name) + 1)
        if (rank_of(name) == rank) choice = choice && is_choice(name);
    name = f->names.data;
    for (int64_t k = 0; k < f->n && fits; k++, name += strlen(name) + 1) {
        if (rank_of(name) != rank) continue;
        TRY(read_licence(one, f->g, &f->text, folder, name));
        if (one[0]) fits = join(out, one, choice);
    }
    if (!fits) out[0] = '\0'; /* too many: unknown */
out:
    return rc;
}

/* Uses the best rank with a known licence. */
static int licence_of_folder(char out[CORPUS_LICENCE], folder_search *f, const char *folder)
{
    int rc = HPC_OK, rank = -1;
    out[0] = '\0';
    for (;;) {
        int next = -1;
        const char *name = f->names.data;
        for (int64_t k = 0; k < f->n; k++, name += strlen(name) + 1) {
            int r = rank_of(name);
            if (r > rank && (next < 0 || r < next)) next = r;
        }
        if (next < 0) return HPC_OK;
        TRY(licence_of_rank(out, f, folder, next));
        if (out[0]) return HPC_OK;
        rank = next;
    }
out:
    return rc;
}

/* The first file of the folder that is named like a licence, or NULL. COPYRIGHT may list the
 * holders alone. */
static const char *licence_file(const folder_search *f)
{
    const char *name = f->names.data;
    for (int64_t k = 0; k < f->n; k++, name += strlen(name) + 1)
        if (rank_of(name) >= 0 && strncasecmp(name, "COPYRIGHT", 9) != 0) return name;
    return NULL;
}

/* A text that is not recognised makes the licence of its folder unknown: that of the folder around
 * it does not hold there. */
static int find_licence(corpus_plan *p, folder_search *f, const char *folder, size_t n)
{
    char bare[4096], with_slash[4096], expression[CORPUS_LICENCE];
    int rc = HPC_OK;
    if (n >= sizeof bare) return HPC_OK; /* no file system could hold it either */
    snprintf(with_slash, sizeof with_slash, "%.*s", (int)n, folder);
    snprintf(bare, sizeof bare, "%.*s", n > 0 ? (int)n - 1 : 0, folder);
    TRY(hpc_git_list_folder(&f->names, &f->n, f->g, bare));
    if (rc != HPC_GIT_READ) return HPC_OK; /* an unreadable file gives no licence */
    TRY(licence_of_folder(expression, f, with_slash));
    const char *unknown = expression[0] ? NULL : licence_file(f);
    if (!expression[0] && !unknown) return HPC_OK;
    if (unknown && f->unknown_n++ == 0)
        TRY(hpc_buf_printf(&f->unknown, "%s%s", with_slash, unknown));
    TRY(hpc_map_put(p->licences, folder, n, unknown ? 0 : p->expressions.n));
    if (!unknown) TRY(hpc_buf_add(&p->expressions, expression, strlen(expression) + 1));
out:
    return rc;
}

static void warn_of_unknown(const corpus_plan *p, const folder_search *f, const corpus_harvest *h,
                            const char *repository)
{
    int64_t below = 0;
    if (f->unknown_n == 0) return;
    for (int64_t k = 0; k < p->n; k++)
        below += corpus_plan_licence_is_unknown(p, corpus_plan_entry_path(p, k));
    corpus_harvest_warn(h,
                        "%s: %lld licence file%s not recognised; the first: %s; source files below "
                        "that count as unlicensed unless they state a licence: %lld",
                        repository, (long long)f->unknown_n, f->unknown_n == 1 ? " is" : "s are",
                        f->unknown.data, (long long)below);
}

int corpus_plan_find_licences(corpus_plan *p, const corpus_harvest *h, const char *name, hpc_git *g)
{
    folder_search f = {.g = g};
    int rc = HPC_OK;
    hpc_map *folders = hpc_map_create();
    if (!folders) TRY(HPC_E_NOMEM);
    TRY(find_folders(folders, p));
    for (int64_t k = 0; k < hpc_map_n(folders); k++) {
        size_t n = 0;
        uint64_t unused = 0;
        const char *folder = hpc_map_at(folders, k, &n, &unused);
        if (corpus_harvest_stopped(h)) {
            rc = HPC_GIT_STOPPED;
            break;
        }
        TRY(find_licence(p, &f, folder, n));
    }
    if (rc == HPC_OK) warn_of_unknown(p, &f, h, name);
out:
    hpc_map_free(folders);
    hpc_buf_release(&f.names);
    hpc_buf_release(&f.text);
    hpc_buf_release(&f.unknown);
    return rc;
}
