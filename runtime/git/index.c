/*
 * index.c: reads the paths in a repository's index. libgit2 creates an object for every entry and
 * hashes the file, which takes 100 times as long. Only paths are read, and the checksum is not
 * verified. The content is untrusted.
 */
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "runtime/git/priv.h"

enum { HEADER = 12, MODE_AT = 24, FLAGS_AT = 60, NAME_AT = 62, EXTENDED = 0x4000 };
static const size_t paths_most = (size_t)256 << 20;

typedef struct reader {
    const uint8_t *data;
    size_t n, at;
    uint32_t version, entries;
    char path[GIT_PATH_BYTES + 1];
    size_t path_n;
} reader;

void hpc_git_index_release(hpc_git_index *i)
{
    hpc_buf_release(&i->paths);
    *i = (hpc_git_index){0};
}

static uint32_t number(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool read_header(reader *r)
{
    if (r->n < HEADER || memcmp(r->data, "DIRC", 4) != 0) return false;
    r->version = number(r->data + 4);
    r->entries = number(r->data + 8);
    r->at = HEADER;
    return r->version >= 2 && r->version <= 4;
}

/* How many bytes of the path before are not of this one: in sevens of bits, as offsets of deltas
 * are. */
static bool read_cut(size_t *cut, reader *r)
{
    size_t v = 0;
    for (int k = 0; k < 4; k++) {
        if (r->at >= r->n) return false;
        uint8_t byte = r->data[r->at++];
        v = (v << 7) + (byte & 0x7f);
        *cut = v;
        if (!(byte & 0x80)) return true;
        v++;
    }
    return false;
}

/* The name at r->at, of an entry that begins at `begin`. */
static bool read_name(reader *r, size_t begin)
{
    size_t cut = r->path_n;
    if (r->version == 4 && (!read_cut(&cut, r) || cut > r->path_n)) return false;
    size_t kept = r->path_n - cut;
    const uint8_t *name = r->data + r->at;
    const uint8_t *end = r->at < r->n ? memchr(name, 0, r->n - r->at) : NULL;
    if (!end || kept + (size_t)(end - name) > GIT_PATH_BYTES) return false;
    memcpy(r->path + kept, name, (size_t)(end - name) + 1);
    r->path_n = kept + (size_t)(end - name);
    r->at += (size_t)(end - name);
    r->at += r->version == 4 ? 1 : 8 - (r->at - begin) % 8;
    return r->at <= r->n;
}

static bool next_entry(uint32_t *mode, reader *r)
{
    size_t begin = r->at;
    if (r->n - begin < NAME_AT) return false;
    *mode = number(r->data + begin + MODE_AT);
    r->at += NAME_AT;
    if (r->version >= 3 && (r->data[begin + FLAGS_AT] & EXTENDED >> 8)) r->at += 2;
    return r->at <= r->n && read_name(r, begin);
}

/* A path stays in the work tree and out of what git keeps for itself. */
static bool stays_inside(const char *path)
{
    for (const char *part = path;; part++) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.')) return false;
        if (n == 2 && part[0] == '.' && part[1] == '.') return false;
        if (n == 4 && strncasecmp(part, ".git", 4) == 0) return false;
        part += n;
        if (*part == '\0') return true;
    }
}

static int read_entries(hpc_git_index *out, reader *r)
{
    size_t last = SIZE_MAX; /* where the path before begins: stages of a conflict share one */
    for (uint32_t k = 0; k < r->entries; k++) {
        uint32_t mode;
        if (!next_entry(&mode, r)) return HPC_GIT_CORRUPT;
        if ((mode & 0170000) != 0100000 || !stays_inside(r->path)) continue;
        if (last != SIZE_MAX && strcmp(out->paths.data + last, r->path) == 0) continue;
        if (out->paths.n + r->path_n >= paths_most) return HPC_GIT_TOO_LARGE;
        last = out->paths.n;
        int rc = hpc_buf_add(&out->paths, r->path, r->path_n + 1);
        if (rc < 0) return rc;
        out->n++;
    }
    return HPC_GIT_READ;
}

static void clear(hpc_git_index *out)
{
    out->n = 0;
    out->paths.n = 0;
    out->paths.failed = 0;
    memset(out->stamp, 0, sizeof out->stamp);
}

/* Git writes a new file and renames it, so what is mapped does not shrink. */
static int read_file(hpc_git_index *out, const char *path)
{
    hpc_file_view view;
    reader r = {0};
    int rc = hpc_file_open(&view, path);
    if (rc < 0) return rc;
    r.data = view.data;
    r.n = view.bytes;
    rc = read_header(&r) ? read_entries(out, &r) : HPC_GIT_CORRUPT;
    hpc_file_close(&view);
    return rc;
}

int hpc_git_read_index(hpc_git_index *out, hpc_git *g)
{
    hpc_buf path = {0};
    struct stat st;
    int rc;
    TRY(hpc_buf_printf(&path, "%sindex", g->lib.repository_path(g->repository)));
    bool there = stat(path.data, &st) == 0 && S_ISREG(st.st_mode);
    const uint64_t stamp[3] = {
        there ? (uint64_t)st.st_ino : 0, there ? (uint64_t)st.st_size : 0,
        there ? (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec : 0};
    rc = there ? HPC_GIT_READ : HPC_GIT_ABSENT;
    if (there && memcmp(stamp, out->stamp, sizeof stamp) == 0) goto out;
    clear(out);
    out->version++;
    if (there) rc = read_file(out, path.data);
    if (rc != HPC_GIT_READ)
        clear(out);
    else
        memcpy(out->stamp, stamp, sizeof stamp);
out:
    hpc_buf_release(&path);
    return rc;
}
