/*
 * pack.c: the packs of a repository: mapping them and checking them without reading
 * their objects.
 *
 * libgit2 silently skips a pack with a damaged index or header, so that its objects
 * seem absent. Objects in a pack are checked when they are read. Packs that appear
 * later are not found; deleted packs stay usable while they are mapped.
 */
#include <string.h>
#include <sys/mman.h>

#include "runtime/git/priv.h"

enum { MOST_PACKS = 4096, TOUCHED_BYTES = 256 << 20 };

static uint32_t big32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* NULL: as it should be; otherwise what is wrong. */
static const char *index_fault(git_pack *p)
{
    const hpc_file_view *v = &p->index;
    static const uint8_t magic[8] = {0xff, 't', 'O', 'c', 0, 0, 0, 2};
    bool second = v->bytes >= sizeof magic && memcmp(v->data, magic, 4) == 0;
    size_t table = second ? 8 : 0;
    if (second && memcmp(v->data, magic, sizeof magic) != 0) return "is of an unknown version";
    if (v->bytes < table + 1024 + 40) return "is truncated";
    uint32_t last = 0;
    for (size_t k = 0; k < 256; k++) {
        uint32_t n = big32(v->data + table + 4 * k);
        if (n < last) return "is damaged: its counts go down";
        last = n;
    }
    p->objects = last;
    p->stride = second ? GIT_STRIDE : GIT_OLD_STRIDE;
    p->fanout = v->data + table;
    p->ids = p->fanout + 1024 + (second ? 0 : 4);
    uint64_t least = table + 1024 + 40 + (uint64_t)last * (second ? 28 : 24);
    uint64_t most = least + (second ? (uint64_t)last * 8 : 0); /* offsets above 2 GiB */
    if (v->bytes < least) return "is truncated";
    return v->bytes > most ? "is longer than its objects" : NULL;
}

static const char *pack_fault(const git_pack *p)
{
    const hpc_file_view *pack = &p->file, *index = &p->index;
    if (pack->bytes < 32) return "is truncated";
    if (memcmp(pack->data, "PACK", 4) != 0) return "is not a pack";
    if (big32(pack->data + 4) < 2 || big32(pack->data + 4) > 3) return "is of an unknown version";
    if (big32(pack->data + 8) != p->objects)
        return "has a different number of objects from its index";
    if (memcmp(pack->data + pack->bytes - 20, index->data + index->bytes - 40, 20) != 0)
        return "does not end where its index ends: truncated or damaged";
    return NULL;
}

/* 1: both are open; 0: one does not exist. A pack that a repack has just removed loses nothing,
 * because its objects are in another pack. */
static int open_both(hpc_file_view *index, hpc_file_view *pack, const char *index_path,
                     const char *pack_path)
{
    bool there = hpc_file_exists(index_path) && hpc_file_exists(pack_path);
    if (!there) return 0;
    int rc = hpc_file_open(index, index_path);
    if (rc >= 0) rc = hpc_file_open(pack, pack_path);
    if (rc >= 0) return 1;
    if (rc != HPC_E_IO || (hpc_file_exists(index_path) && hpc_file_exists(pack_path))) return rc;
    hpc_error_clear();
    return 0;
}

/* Into the next item. */
static int add_pack(git_packs *s, const char *path, size_t stem, const char *shown)
{
    git_pack p = {0};
    hpc_buf name = {0};
    int rc = HPC_OK;
    TRY(hpc_grow(&s->item, &s->cap, s->n + 1, sizeof *s->item));
    TRY(hpc_buf_printf(&name, "%.*s.pack", (int)stem, path));
    rc = open_both(&p.index, &p.file, path, name.data);
    if (rc <= 0) goto out;
    rc = HPC_OK;
    const char *at = path, *fault = index_fault(&p);
    if (!fault) {
        at = name.data;
        fault = pack_fault(&p);
    }
    if (fault)
        rc = hpc_fail(HPC_E_FORMAT, SHOWN ": %.160s %s; run `git fsck` for details", shown,
                      strrchr(at, '/') + 1, fault);
    else if (s->n < MOST_PACKS) {
        s->item[s->n++] = p;
        p = (git_pack){0};
    }
out:
    hpc_file_close(&p.file);
    hpc_file_close(&p.index);
    hpc_buf_release(&name);
    return rc;
}

/* Names in objects/pack; none when there is no such folder. */
static int list_packs(hpc_buf *names, int64_t *n, hpc_buf *folder, const char *objects)
{
    *n = 0;
    int rc = hpc_buf_printf(folder, "%s/pack", objects);
    if (rc < 0 || !hpc_file_exists(folder->data)) return rc;
    return hpc_file_list(names, n, folder->data);
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), e = strlen(end);
    return n > e && strcmp(name + n - e, end) == 0;
}

static int add_folder(git_packs *s, const char *objects, const char *shown)
{
    hpc_buf names = {0}, folder = {0}, path = {0};
    int64_t n;
    int rc;
    TRY(list_packs(&names, &n, &folder, objects));
    const char *name = names.data;
    for (int64_t k = 0; k < n; k++, name += strlen(name) + 1) {
        if (!ends_with(name, ".idx")) continue;
        path.n = 0;
        TRY(hpc_buf_printf(&path, "%s/%s", folder.data, name));
        TRY(add_pack(s, path.data, path.n - 4, shown));
    }
out:
    hpc_buf_release(&names);
    hpc_buf_release(&folder);
    hpc_buf_release(&path);
    return rc;
}

int git_packs_open(git_packs **out, const hpc_git *g)
{
    git_packs *s = hpc_alloc(1, sizeof *s);
    *out = s;
    if (!s) return HPC_E_NOMEM;
    s->users = 1;
    for (int k = 0; k < g->folders_n; k++) {
        int rc = add_folder(s, g->folder[k], g->path);
        if (rc < 0) return rc;
    }
    return HPC_OK;
}

git_packs *git_packs_share(git_packs *s)
{
    __atomic_add_fetch(&s->users, 1, __ATOMIC_RELAXED);
    return s;
}

void git_packs_close(git_packs *s)
{
    if (!s || __atomic_sub_fetch(&s->users, 1, __ATOMIC_ACQ_REL) > 0) return;
    for (int64_t k = 0; k < s->n; k++) {
        hpc_file_close(&s->item[k].file);
        hpc_file_close(&s->item[k].index);
    }
    hpc_free(s->item);
    hpc_free(s);
}

void git_packs_touch(git_packs *s, size_t bytes)
{
    if (__atomic_add_fetch(&s->touched, bytes, __ATOMIC_RELAXED) < TOUCHED_BYTES) return;
    __atomic_store_n(&s->touched, 0, __ATOMIC_RELAXED);
    /* It comes back when it is looked at, also while another thread does. */
    for (int64_t k = 0; k < s->n; k++)
        madvise((void *)(uintptr_t)s->item[k].file.data, s->item[k].file.bytes, MADV_DONTNEED);
}

int git_has_promised(bool *out, const char *objects)
{
    hpc_buf names = {0}, folder = {0};
    int64_t n;
    int rc;
    *out = false;
    TRY(list_packs(&names, &n, &folder, objects));
    const char *name = names.data;
    for (int64_t k = 0; k < n && !*out; k++, name += strlen(name) + 1)
        *out = ends_with(name, ".promisor");
out:
    hpc_buf_release(&names);
    hpc_buf_release(&folder);
    return rc;
}
