/*
 * plan.c: the plan of a repository: a list of files, fixed before any of them is read, so that an
 * interrupted harvest resumes with the same list even if branches have moved.
 *
 * A plan does not contain the repository's path. It is untrusted when read.
 */
#include <string.h>
#include <zstd.h>

#include "corpus/chunk.h"
#include "corpus/harvest.h"

/*
 *   header   magic, version, size unpacked, hash of what is unpacked
 *   zstd     FACTS bytes, ENTRY bytes for each file, paths, licences (folder and expression, each
 *            NUL-terminated)
 */
enum { VERSION = 1, HEADER = 40, FACTS = 96, ENTRY = 28, LEVEL = 3 };
#define MAGIC "HPCPLAN"
static const size_t most = (size_t)1 << 33; /* unpacked: 100 million files */

void corpus_plan_release(corpus_plan *p)
{
    hpc_free(p->entry);
    hpc_buf_release(&p->paths);
    hpc_map_free(p->licences);
    hpc_buf_release(&p->expressions);
    *p = (corpus_plan){0};
}

int corpus_plan_path(hpc_buf *out, const corpus_harvest *h, const corpus_source *s)
{
    int rc = corpus_chunk_path(out, h->options->folder, s->name, -1);
    return rc < 0 ? rc : hpc_buf_text(out, "/plan");
}

int64_t corpus_plan_chunks(const corpus_plan *p)
{
    return (p->n + CORPUS_CHUNK_FILES - 1) / CORPUS_CHUNK_FILES;
}

void corpus_plan_range(int64_t *lo, int64_t *hi, const corpus_plan *p, int64_t chunk)
{
    *lo = chunk * CORPUS_CHUNK_FILES;
    *hi = *lo + CORPUS_CHUNK_FILES < p->n ? *lo + CORPUS_CHUNK_FILES : p->n;
}

const char *corpus_plan_entry_path(const corpus_plan *p, int64_t entry)
{
    return p->paths.data + p->entry[entry].path;
}

/* Offset of the nearest folder's expression; false: no folder around the path has one. */
static bool find_expression(uint64_t *at, const corpus_plan *p, const char *path)
{
    for (size_t n = strlen(path) + 1; n-- > 0;)
        if ((n == 0 || path[n - 1] == '/') && hpc_map_get(p->licences, path, n, at)) return true;
    return false;
}

const char *corpus_plan_licence(const corpus_plan *p, const char *path)
{
    uint64_t at = 0;
    return find_expression(&at, p, path) ? p->expressions.data + at : "";
}

bool corpus_plan_licence_is_unknown(const corpus_plan *p, const char *path)
{
    uint64_t at = 0;
    return find_expression(&at, p, path) && p->expressions.data[at] == '\0';
}

hpc_hash128 corpus_plan_key(const corpus_plan *p, const corpus_harvest *h, const corpus_source *s,
                            int64_t chunk)
{
    uint8_t all[56];
    hpc_put_hash(all, p->hash);
    hpc_put_hash(all + 16, hpc_hash_wide(h->settings.data, h->settings.n));
    hpc_put_hash(all + 32, hpc_hash_wide(s->name, strlen(s->name)));
    hpc_put64(all + 48, (uint64_t)chunk);
    return hpc_hash_wide(all, sizeof all);
}

/* ---- making ------------------------------------------------------------------------- */

static bool want_path(const char *path, void *user)
{
    (void)user;
    return hpc_language_of_path(path) != HPC_LANGUAGE_NONE;
}

typedef struct listing {
    hpc_progress *progress;
    int64_t commits_n;
} listing;

static void show_commits(int64_t commits, void *user)
{
    listing *l = user;
    l->commits_n = commits;
    hpc_progress_update(l->progress, commits, NULL);
}

static int list_blobs(hpc_git_list *out, const corpus_harvest *h, const char *name, hpc_git *g)
{
    listing l = {.progress = h->options->history ? h->options->progress : NULL};
    hpc_git_list_options options = {.history = h->options->history,
                                    .want = want_path,
                                    .progress = l.progress ? show_commits : NULL,
                                    .user = &l,
                                    .stop = h->options->stop};
    if (l.progress) hpc_progress_start(l.progress, name, "commits", 0);
    int rc = hpc_git_list_blobs(out, g, h->pool, &options);
    if (l.progress) hpc_progress_end(l.progress, l.commits_n);
    return rc;
}

void corpus_plan_tell_missing(const corpus_plan *p, const corpus_harvest *h, const char *name,
                              const char *first)
{
    if (p->missing_n > 0)
        corpus_harvest_warn(
            h, "%s: %lld of its commits and folders cannot be read%s; the rest is harvested%s%s",
            name, (long long)p->missing_n, p->partial ? " (a partial clone)" : "",
            first ? "; the first: " : "", first ? first : "");
}

static void tell(const corpus_plan *p, const corpus_harvest *h, const char *name,
                 const hpc_git_list *list)
{
    const hpc_git_id none = {{0}};
    if (p->empty)
        corpus_harvest_warn(h, "%s: the repository is empty", name);
    else if (!h->options->history && memcmp(&p->head, &none, sizeof none) == 0)
        corpus_harvest_warn(h, "%s: HEAD names no commit; there is nothing to harvest", name);
    if (p->shallow && h->options->history)
        corpus_harvest_warn(h, "%s: shallow clone, its history is incomplete", name);
    corpus_plan_tell_missing(p, h, name, list->first_miss.data);
}

int corpus_plan_make(corpus_plan *out, const corpus_harvest *h, const corpus_source *s, hpc_git *g)
{
    hpc_git_facts facts;
    hpc_git_list list = {0};
    int rc = HPC_OK;
    TRY(hpc_git_describe(&facts, g));
    TRY(list_blobs(&list, h, s->name, g));
    if (rc == HPC_GIT_STOPPED) goto out;
    *out = (corpus_plan){.head = facts.head,
                         .refs = h->options->history ? facts.refs : 0,
                         .empty = facts.empty,
                         .shallow = facts.shallow,
                         .partial = facts.partial,
                         .links_n = list.links_n,
                         .other_n = list.other_n,
                         .commits_n = list.commits_n,
                         .missing_n = list.missing_n,
                         .entry = list.entry,
                         .n = list.n,
                         .paths = list.paths};
    list.entry = NULL;
    list.paths = (hpc_buf){0};
    if (!(out->licences = hpc_map_create())) TRY(HPC_E_NOMEM);
    TRY(hpc_buf_add(&out->expressions, "", 1));
    if (!h->sketch || !corpus_sketch_repository(h->sketch, s->name))
        TRY(corpus_plan_find_licences(out, h, s->name, g));
    if (rc == HPC_OK) tell(out, h, s->name, &list);
out:
    hpc_git_list_release(&list);
    if (rc != HPC_OK) corpus_plan_release(out);
    return rc;
}

/* ---- saving -------------------------------------------------------------------------- */

static void put_facts(uint8_t facts[FACTS], const corpus_plan *p)
{
    memset(facts, 0, FACTS);
    memcpy(facts, p->head.byte, sizeof p->head.byte);
    hpc_put32(facts + 20, (uint32_t)(p->empty | p->shallow << 1 | p->partial << 2));
    hpc_put64(facts + 24, p->refs);
    hpc_put64(facts + 32, (uint64_t)p->links_n);
    hpc_put64(facts + 40, (uint64_t)p->other_n);
    hpc_put64(facts + 48, (uint64_t)p->commits_n);
    hpc_put64(facts + 56, (uint64_t)p->missing_n);
    hpc_put64(facts + 64, (uint64_t)p->n);
    hpc_put64(facts + 72, p->paths.n);
    hpc_put64(facts + 80, (uint64_t)hpc_map_n(p->licences));
}

static int put_all(hpc_buf *out, const corpus_plan *p)
{
    uint8_t facts[FACTS], row[ENTRY];
    int rc = HPC_OK;
    put_facts(facts, p);
    TRY(hpc_buf_add(out, facts, sizeof facts));
    for (int64_t k = 0; k < p->n; k++) {
        memcpy(row, p->entry[k].id.byte, 20);
        hpc_put32(row + 20, p->entry[k].path);
        hpc_put32(row + 24, p->entry[k].head);
        TRY(hpc_buf_add(out, row, sizeof row));
    }
    TRY(hpc_buf_add(out, p->paths.data, p->paths.n));
    for (int64_t k = 0; k < hpc_map_n(p->licences); k++) {
        size_t n = 0;
        uint64_t at = 0;
        const char *folder = hpc_map_at(p->licences, k, &n, &at);
        TRY(hpc_buf_add(out, folder, n));
        TRY(hpc_buf_add(out, "", 1));
        const char *expression = p->expressions.data + at;
        TRY(hpc_buf_add(out, expression, strlen(expression) + 1));
    }
out:
    return rc;
}

int corpus_plan_save(corpus_plan *p, const char *path)
{
    hpc_buf all = {0}, packed = {0};
    int rc = HPC_OK;
    TRY(put_all(&all, p));
    p->hash = hpc_hash_wide(all.data, all.n);
    TRY(corpus_reserve(&packed, HEADER + ZSTD_compressBound(all.n)));
    uint8_t *header = (uint8_t *)packed.data;
    size_t n = ZSTD_compress(packed.data + HEADER, packed.cap - HEADER, all.data, all.n, LEVEL);
    if (ZSTD_isError(n)) TRY(hpc_fail(HPC_E_NOMEM, "zstd: %s", ZSTD_getErrorName(n)));
    memset(header, 0, HEADER);
    memcpy(header, MAGIC, sizeof MAGIC);
    hpc_put32(header + 8, VERSION);
    hpc_put64(header + 16, all.n);
    hpc_put_hash(header + 24, p->hash);
    TRY(hpc_file_save(path, packed.data, HEADER + n));
out:
    hpc_buf_release(&all);
    hpc_buf_release(&packed);
    return rc;
}

/* ---- loading -------------------------------------------------------------------------- */

static int damaged(const char *path)
{
    return hpc_fail(HPC_E_FORMAT, "%s is damaged; remove it and harvest again with --resume", path);
}

static int unpack(hpc_buf *out, const hpc_file_view *v, const char *path)
{
    const uint8_t *h = v->data;
    int rc = HPC_OK;
    if (v->bytes < HEADER || memcmp(h, MAGIC, sizeof MAGIC) != 0) return damaged(path);
    if (hpc_get32(h + 8) != VERSION)
        return hpc_fail(HPC_E_FORMAT, "%s has format version %u; this program knows version %d",
                        path, hpc_get32(h + 8), VERSION);
    uint64_t n = hpc_get64(h + 16);
    if (n < FACTS || n > most || ZSTD_getFrameContentSize(h + HEADER, v->bytes - HEADER) != n)
        return damaged(path);
    TRY(corpus_reserve(out, n));
    size_t got = ZSTD_decompress(out->data, n, h + HEADER, v->bytes - HEADER);
    if (ZSTD_isError(got) || got != n) TRY(damaged(path));
    out->n = n;
    if (!hpc_same_hash(hpc_hash_wide(out->data, n), hpc_get_hash(h + 24))) TRY(damaged(path));
out:
    return rc;
}

static int get_entries(corpus_plan *p, const uint8_t *at, const char *path)
{
    p->entry = hpc_alloc((size_t)p->n + 1, sizeof *p->entry);
    if (!p->entry) return HPC_E_NOMEM;
    for (int64_t k = 0; k < p->n; k++, at += ENTRY) {
        memcpy(p->entry[k].id.byte, at, 20);
        p->entry[k].path = hpc_get32(at + 20);
        p->entry[k].head = hpc_get32(at + 24);
        if (p->entry[k].path >= p->paths.n || p->entry[k].head > 1) return damaged(path);
    }
    return HPC_OK;
}

/* Pairs of strings in [at, end). */
static int get_licences(corpus_plan *p, uint64_t n, const char *at, const char *end,
                        const char *path)
{
    int rc = HPC_OK;
    if (!(p->licences = hpc_map_create())) return HPC_E_NOMEM;
    TRY(hpc_buf_add(&p->expressions, "", 1));
    for (uint64_t k = 0; k < n; k++) {
        size_t folder = strnlen(at, (size_t)(end - at));
        const char *expression = at + folder + 1;
        if (expression >= end) TRY(damaged(path));
        size_t bytes = strnlen(expression, (size_t)(end - expression));
        if (bytes >= CORPUS_LICENCE || bytes == (size_t)(end - expression)) TRY(damaged(path));
        TRY(hpc_map_put(p->licences, at, folder, p->expressions.n));
        TRY(hpc_buf_add(&p->expressions, expression, bytes + 1));
        at = expression + bytes + 1;
    }
    if (at != end) rc = damaged(path);
out:
    return rc;
}

static int get_all(corpus_plan *p, const hpc_buf *all, const char *path)
{
    const uint8_t *f = (const uint8_t *)all->data;
    uint64_t entries = hpc_get64(f + 64), paths = hpc_get64(f + 72);
    uint64_t left = all->n - FACTS;
    int rc = HPC_OK;
    memcpy(p->head.byte, f, 20);
    p->empty = hpc_get32(f + 20) & 1;
    p->shallow = hpc_get32(f + 20) >> 1 & 1;
    p->partial = hpc_get32(f + 20) >> 2 & 1;
    p->refs = hpc_get64(f + 24);
    p->links_n = (int64_t)hpc_get64(f + 32);
    p->other_n = (int64_t)hpc_get64(f + 40);
    p->commits_n = (int64_t)hpc_get64(f + 48);
    p->missing_n = (int64_t)hpc_get64(f + 56);
    if (entries > left / ENTRY || paths > left - entries * ENTRY || paths > UINT32_MAX)
        TRY(damaged(path));
    p->n = (int64_t)entries;
    const char *text = all->data + FACTS + entries * ENTRY;
    if (paths > 0 && text[paths - 1] != '\0') TRY(damaged(path));
    TRY(hpc_buf_add(&p->paths, text, paths));
    TRY(get_entries(p, f + FACTS, path));
    TRY(get_licences(p, hpc_get64(f + 80), text + paths, all->data + all->n, path));
    p->hash = hpc_hash_wide(all->data, all->n);
out:
    return rc;
}

int corpus_plan_load(corpus_plan *out, const char *path)
{
    hpc_file_view v = {0};
    hpc_buf all = {0};
    int rc = HPC_OK;
    *out = (corpus_plan){0};
    TRY(hpc_file_open(&v, path));
    TRY(unpack(&all, &v, path));
    TRY(get_all(out, &all, path));
out:
    hpc_file_close(&v);
    hpc_buf_release(&all);
    if (rc < 0) corpus_plan_release(out);
    return rc;
}
