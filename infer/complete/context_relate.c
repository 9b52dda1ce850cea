/*
 * context_relate.c: finds the files that are related to a file, with a weight for each. Each kind
 * of relation has a weight w, and all relations of a file together weigh 1 - (1 - w1)(1 - w2)...,
 * as for independent evidence. Relations are searched in order of decreasing weight, until enough
 * files have been examined.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/complete/context_priv.h"

static const double weight_included = 0.8, weight_included_twice = 0.5, weight_stem = 0.8,
                    weight_far_stem = 0.4, weight_changed = 0.7, weight_shared = 0.5,
                    weight_folder = 0.3, weight_near = 0.1;
enum {
    INCLUDED_MOST = 96, /* files; of each relation */
    RESOLVED_MOST = 2048,
    CHANGED_MOST = 48,
    FOLDER_MOST = 64,
    STEMS_MOST = 8, /* names of more files are no evidence */
    HALF_LIFE = 64, /* number of commits after which a common commit has half the weight */
    DISTANCES = 64,
    ALIKE = 64, /* bytes of a name that are compared */
    NEAR_MOST = 4 * CONTEXT_FILES
};

/* ---- candidates --------------------------------------------------------------------------- */

static int add(context_related *r, context_candidate **out, const char *path, double weight)
{
    uint64_t at;
    int rc = HPC_OK;
    if (out) *out = NULL;
    if (strcmp(path, r->path) == 0) return rc;
    if (!hpc_map_get(r->by_path, path, strlen(path), &at)) {
        char *own = hpc_arena_text(r->c->arena, "%s", path);
        TRY(own ? 0 : HPC_E_NOMEM);
        TRY(hpc_grow(&r->item, &r->cap, r->n + 1, sizeof *r->item));
        TRY(hpc_map_put(r->by_path, path, strlen(path), (uint64_t)r->n));
        at = (uint64_t)r->n;
        r->item[r->n++] = (context_candidate){.path = own, .unlike = 1};
    }
    r->item[at].unlike *= 1 - weight;
    if (out) *out = &r->item[at];
out:
    return rc;
}

/* Looks into a candidate if there is room for that. */
static int look(context_related *r, context_candidate *x)
{
    int rc = HPC_OK;
    if (x->file || r->looked_n >= CONTEXT_FILES || r->looked_bytes >= CONTEXT_BYTES) return rc;
    TRY(context_file_get(&x->file, r->c, x->path));
    if (!x->file) return rc;
    r->looked_n++;
    r->looked_bytes += x->file->text.n;
out:
    return rc;
}

static int add_and_look(context_related *r, const char *path, double weight)
{
    context_candidate *x;
    int rc = add(r, &x, path, weight);
    return rc < 0 || !x ? rc : look(r, x);
}

/* ---- what is included --------------------------------------------------------------------- */

/* Files on disk in the file's own folder come after those of the index. */
static const char *ending_in_folder(const context_list *l, const char *name)
{
    const char *path = l->folder.data;
    for (int64_t k = 0; k < l->folder_n; k++, path += strlen(path) + 1)
        if (strcmp(context_name_of(path), name) == 0) return path;
    return NULL;
}

/* A module `m` lies in m.f90, m_mod.f90, mod_m.f90 or the like. */
static const char *guess_module(const context_list *l, const char *module, const char *from)
{
    static const char *const forms[] = {"%s",        "%s_mod", "mod_%s",   "%s_m",
                                        "%s_module", "m_%s",   "module_%s"};
    const char *best = NULL;
    for (size_t k = 0; !best && k < sizeof forms / sizeof *forms; k++) {
        char name[600];
        const char *mark = strstr(forms[k], "%s");
        int n = snprintf(name, sizeof name, "%.*s%.500s%s", (int)(mark - forms[k]), forms[k],
                         module, mark + 2);
        uint32_t stem = context_stem(name);
        if (n <= 0) continue;
        for (int32_t i = context_list_first(l, stem); i >= 0; i = l->next[i]) {
            if (context_stem(l->path[i]) != stem ||
                hpc_language_of_path(l->path[i]) != HPC_LANGUAGE_FORTRAN)
                continue;
            if (!best || context_distance(from, l->path[i]) < context_distance(from, best))
                best = l->path[i];
        }
    }
    return best;
}

/* What an include of the file `from` means; false: nothing here. */
static bool resolve(char out[PATH_MAX], const context_related *r, const context_file *f,
                    const context_include *i, const char *from)
{
    const context_list *l = &r->c->list;
    const char *name = f->names.data + i->at, *found = NULL;
    char where[PATH_MAX];
    uint64_t stamp[2];
    if (i->kind == CONTEXT_MODULE) {
        found = guess_module(l, name, from);
    } else {
        if (hpc_language_of_path(name) == HPC_LANGUAGE_NONE) return false;
        if (context_join(out, from, name) && context_reach(where, stamp, r->c->root, out))
            return true;
        found = context_list_ending(l, name, from);
        if (!found) found = ending_in_folder(l, name);
    }
    if (!found || strlen(found) >= PATH_MAX) return false;
    memcpy(out, found, strlen(found) + 1);
    return true;
}

static int add_includes(context_related *r, const context_file *f, const char *from, double weight)
{
    char path[PATH_MAX];
    int rc = HPC_OK;
    for (int64_t k = 0; k < f->include_n && r->n < INCLUDED_MOST; k++) {
        if (r->resolved_n++ >= RESOLVED_MOST) break;
        if (resolve(path, r, f, &f->include[k], from)) TRY(add_and_look(r, path, weight));
    }
out:
    return rc;
}

static int add_included(context_related *r)
{
    int rc;
    TRY(add_includes(r, r->own, r->path, weight_included));
    int64_t direct = r->n;
    for (int64_t k = 0; k < direct; k++) {
        const context_candidate x = r->item[k]; /* a copy: the array grows */
        if (x.file) TRY(add_includes(r, x.file, x.path, weight_included_twice));
    }
out:
    return rc;
}

/* ---- what is called alike ----------------------------------------------------------------- */

static bool in_folder_of(const char *path, const char *other)
{
    size_t n = (size_t)(context_name_of(other) - other);
    return (size_t)(context_name_of(path) - path) == n && memcmp(path, other, n) == 0;
}

static int add_stems(context_related *r)
{
    const context_list *l = &r->c->list;
    uint32_t stem = context_stem(r->path);
    const char *far[STEMS_MOST];
    int64_t far_n = 0;
    int rc = HPC_OK;
    for (int32_t k = context_list_first(l, stem); k >= 0; k = l->next[k]) {
        if (context_stem(l->path[k]) != stem) continue;
        if (in_folder_of(l->path[k], r->path))
            TRY(add_and_look(r, l->path[k], weight_stem));
        else if (far_n++ < STEMS_MOST)
            far[far_n - 1] = l->path[k];
    }
    for (int64_t k = 0; far_n <= STEMS_MOST && k < far_n; k++)
        TRY(add_and_look(r, far[k], weight_far_stem));
out:
    return rc;
}

/* ---- what was changed together ------------------------------------------------------------ */

typedef struct changed {
    const char *path;
    double weight;
} changed;

static int order_changed(const void *a, const void *b)
{
    const changed *x = a, *y = b;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* A commit of few files says more, and one long ago says less. */
static double weight_of(const hpc_git_commit *c)
{
    return c->path_n < 2 ? 0 : exp2(-(double)c->age / HALF_LIFE) / sqrt((double)c->path_n - 1);
}

static bool has_path(const hpc_git_commits *c, const hpc_git_commit *commit, const char *path)
{
    for (int64_t k = 0; k < commit->path_n; k++)
        if (strcmp(c->paths.data + c->path[commit->first + k], path) == 0) return true;
    return false;
}

/* `unlike` of each path that was changed with this one, by path. */
static int gather_changed(hpc_map *unlike, const context_related *r)
{
    const hpc_git_commits *c = &r->c->commits;
    int rc = HPC_OK;
    for (int64_t k = 0; k < c->n; k++) {
        const hpc_git_commit *commit = &c->item[k];
        if (!has_path(c, commit, r->path)) continue;
        for (int64_t i = 0; i < commit->path_n; i++) {
            const char *path = c->paths.data + c->path[commit->first + i];
            uint64_t bits;
            double value = 1;
            if (hpc_map_get(unlike, path, strlen(path), &bits)) memcpy(&value, &bits, sizeof bits);
            value *= 1 - weight_of(commit);
            memcpy(&bits, &value, sizeof bits);
            TRY(hpc_map_put(unlike, path, strlen(path), bits));
        }
    }
out:
    return rc;
}

static int add_changed(context_related *r)
{
    hpc_map *unlike = hpc_map_create();
    changed *all = NULL;
    int64_t n = 0, most = unlike ? CHANGED_MOST : 0;
    int rc = unlike ? HPC_OK : HPC_E_NOMEM;
    TRY(rc);
    TRY(gather_changed(unlike, r));
    all = hpc_alloc((size_t)hpc_map_n(unlike) + 1, sizeof *all);
    TRY(all ? 0 : HPC_E_NOMEM);
    for (int64_t k = 0; k < hpc_map_n(unlike); k++) {
        size_t bytes;
        uint64_t bits;
        double value;
        const char *path = hpc_map_at(unlike, k, &bytes, &bits);
        memcpy(&value, &bits, sizeof value);
        path = hpc_arena_text(r->c->arena, "%.*s", (int)bytes, path);
        TRY(path ? 0 : HPC_E_NOMEM);
        if (hpc_language_of_path(path) != HPC_LANGUAGE_NONE)
            all[n++] = (changed){.path = path, .weight = 1 - value};
    }
    qsort(all, (size_t)n, sizeof *all, order_changed);
    for (int64_t k = 0; k < n && k < most; k++)
        TRY(add_and_look(r, all[k].path, weight_changed * all[k].weight));
out:
    hpc_free(all);
    hpc_map_free(unlike);
    return rc;
}

/* ---- what lies near by -------------------------------------------------------------------- */

typedef struct near_one {
    const char *path;
    int rank; /* folders between, then how little of its name is as that of the file */
} near_one;

static int order_near(const void *a, const void *b)
{
    const near_one *x = a, *y = b;
    return x->rank != y->rank ? x->rank - y->rank : strcmp(x->path, y->path);
}

static near_one near_of(const context_related *r, const char *path)
{
    const char *a = context_name_of(r->path), *b = context_name_of(path);
    int distance = context_distance(r->path, path), alike = 0;
    while (alike < ALIKE - 1 && a[alike] && a[alike] == b[alike]) alike++;
    if (distance >= DISTANCES) distance = DISTANCES - 1;
    return (near_one){.path = path, .rank = distance * ALIKE + ALIKE - 1 - alike};
}

static bool same_family(const context_related *r, hpc_language l)
{
    return (l == HPC_LANGUAGE_FORTRAN) == (r->own->language == HPC_LANGUAGE_FORTRAN);
}

/* The rank up to which there are enough, so that not all of a large repository is sorted; *n: how
 * many there are before it. */
static int reach_of(int64_t *n, const near_one *all, int64_t all_n)
{
    int64_t count[DISTANCES * ALIKE] = {0};
    int rank = 0;
    *n = 0;
    for (int64_t k = 0; k < all_n; k++) count[all[k].rank]++;
    while (rank < DISTANCES * ALIKE - 1 && *n + count[rank] < NEAR_MOST) *n += count[rank++];
    return rank;
}

/* The nearest first. The index is in order of path, so of equal ranks the first ones remain. */
static int gather_near(near_one **out, int64_t *n, const context_related *r)
{
    const context_list *l = &r->c->list;
    const char *path = l->folder.data;
    int64_t all = 0, room, before;
    near_one *x = hpc_alloc((size_t)(l->n + l->folder_n) + 1, sizeof *x);
    *out = x;
    *n = 0;
    if (!x) return HPC_E_NOMEM;
    for (int64_t k = 0; k < l->n; k++)
        if (same_family(r, l->language[k])) x[all++] = near_of(r, l->path[k]);
    for (int64_t k = 0; k < l->folder_n; k++, path += strlen(path) + 1)
        if (same_family(r, hpc_language_of_path(path))) x[all++] = near_of(r, path);
    int reach = reach_of(&before, x, all);
    room = NEAR_MOST - before;
    for (int64_t k = 0; k < all; k++)
        if (x[k].rank < reach || (x[k].rank == reach && room-- > 0)) x[(*n)++] = x[k];
    if (*n > 1) qsort(x, (size_t)*n, sizeof *x, order_near);
    return HPC_OK;
}

/* Files that are in the index and on disk occur twice, adjacent to each other. */
static int add_near(context_related *r)
{
    near_one *all = NULL;
    int64_t n = 0, folder = 0;
    int rc;
    TRY(gather_near(&all, &n, r));
    for (int64_t k = 0; k < n && r->looked_n < CONTEXT_FILES; k++) {
        bool here = all[k].rank < ALIKE;
        if (k > 0 && strcmp(all[k].path, all[k - 1].path) == 0) continue;
        if (here && folder++ >= FOLDER_MOST) continue;
        TRY(add_and_look(r, all[k].path, here ? weight_folder : weight_near));
    }
out:
    hpc_free(all);
    return rc;
}

/* ---- what the files themselves say -------------------------------------------------------- */

static bool includes_key(const context_file *f, uint32_t key)
{
    for (int64_t k = 0; k < f->include_n; k++)
        if (f->include[k].key == key) return true;
    return false;
}

/* Headers that few include say more about who else does. */
static int weigh_shared(context_related *r)
{
    const context_file *own = r->own;
    double sum = 0, *rare = hpc_alloc((size_t)own->include_n + 1, sizeof *rare);
    if (!rare) return HPC_E_NOMEM;
    for (int64_t k = 0; k < own->include_n; k++) {
        int64_t n = 1;
        for (int64_t i = 0; i < r->n; i++)
            n += r->item[i].file && includes_key(r->item[i].file, own->include[k].key);
        rare[k] = log(1 + (double)(r->looked_n + 1) / (double)n);
        sum += rare[k];
    }
    for (int64_t i = 0; i < r->n && sum > 0; i++) {
        double shared = 0;
        for (int64_t k = 0; r->item[i].file && k < own->include_n; k++)
            if (includes_key(r->item[i].file, own->include[k].key)) shared += rare[k];
        r->item[i].unlike *= 1 - weight_shared * shared / sum;
    }
    hpc_free(rare);
    return HPC_OK;
}

static void weigh_modules(context_related *r)
{
    for (int64_t i = 0; i < r->n; i++) {
        const context_file *f = r->item[i].file;
        for (int64_t k = 0; f && k < f->module_n; k++)
            for (int64_t u = 0; u < r->own->include_n; u++) {
                const context_include *x = &r->own->include[u];
                if (x->kind == CONTEXT_MODULE && x->key == f->module[k])
                    r->item[i].unlike *= 1 - weight_included;
            }
    }
}

int context_relate(context_related *r, hpc_context *c, const char *path, const context_file *own)
{
    int rc;
    *r = (context_related){.c = c, .path = path, .own = own, .by_path = hpc_map_create()};
    TRY(r->by_path ? 0 : HPC_E_NOMEM);
    TRY(add_included(r));
    TRY(add_stems(r));
    TRY(add_changed(r));
    TRY(add_near(r));
    TRY(weigh_shared(r));
    weigh_modules(r);
out:
    return rc;
}

void context_related_release(context_related *r)
{
    hpc_free(r->item);
    hpc_map_free(r->by_path);
    *r = (context_related){0};
}
