/*
 * Segments of KV caches in files. The index in memory is read from the names and times of the
 * files; their content is checked when it is used.
 */
#include "infer/serve/kv_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VERSION = 1, NAME_BYTES = 64, PATH_BYTES = 4096 };
static const char MAGIC[8] = "HPCKV\r\n";

typedef struct header { /* then the segment's tokens, then its data */
    char magic[8];
    uint32_t version, segment;
    int64_t n; /* tokens up to its end */
    uint64_t data_bytes;
    hpc_hash128 key, check; /* check: of all that follows */
} header;

typedef struct entry {
    hpc_hash128 key;
    int64_t n; /* tokens up to its end */
    int64_t bytes;
    int64_t used; /* at opening the minute of the last use, then later than all before */
} entry;

struct hpc_kv_store {
    hpc_kv_store_options o;
    char *folder;
    entry *entry;
    int64_t n, cap, bytes, now;
};

/* ---- names ---------------------------------------------------------------------------------- */

static hpc_hash128 key_of(const hpc_kv_store *s, const int32_t *token, int64_t n)
{
    hpc_hash128 h[2] = {s->o.identity, hpc_hash_wide(token, (size_t)n * sizeof *token)};
    return hpc_hash_wide(h, sizeof h);
}

static bool same(hpc_hash128 a, hpc_hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

static void name_of(char name[NAME_BYTES], const entry *e)
{
    snprintf(name, NAME_BYTES, "%016llx%016llx-%lld.kv", (unsigned long long)e->key.high,
             (unsigned long long)e->key.low, (long long)e->n);
}

static int path_of(char path[PATH_BYTES], const hpc_kv_store *s, const char *name)
{
    int n = snprintf(path, PATH_BYTES, "%s/%s", s->folder, name);
    return n < PATH_BYTES ? HPC_OK : hpc_fail(HPC_E_ARG, "the path of the KV cache is too long");
}

/* A name that name_of would give. */
static bool read_name(entry *e, const char *name)
{
    unsigned long long high, low;
    long long n;
    char again[NAME_BYTES];
    if (sscanf(name, "%16llx%16llx-%lld.kv", &high, &low, &n) != 3) return false;
    *e = (entry){.key = {.low = low, .high = high}, .n = n};
    name_of(again, e);
    return strcmp(again, name) == 0;
}

/* ---- the index ------------------------------------------------------------------------------ */

/* Names of files give both, so that a file with another number of tokens is not taken. */
static entry *find(const hpc_kv_store *s, hpc_hash128 key, int64_t n)
{
    for (int64_t k = 0; k < s->n; k++)
        if (same(s->entry[k].key, key) && s->entry[k].n == n) return &s->entry[k];
    return NULL;
}

/* A file that cannot be removed is forgotten: another process may have removed it. */
static void drop(hpc_kv_store *s, entry *e)
{
    char name[NAME_BYTES], path[PATH_BYTES];
    name_of(name, e);
    if (path_of(path, s, name) < 0 || hpc_file_remove(path) < 0) hpc_error_clear();
    s->bytes -= e->bytes;
    *e = s->entry[--s->n];
}

/* The least recently used; of those used together the one with the longest prefix, so that what
 * remains can be found. */
static entry *least_used(const hpc_kv_store *s)
{
    entry *best = NULL;
    for (int64_t k = 0; k < s->n; k++) {
        entry *e = &s->entry[k];
        if (!best || e->used < best->used || (e->used == best->used && e->n > best->n)) best = e;
    }
    return best;
}

static void make_room(hpc_kv_store *s, int64_t bytes)
{
    while (s->n > 0 && s->bytes + bytes > s->o.bytes) drop(s, least_used(s));
}

static int add(hpc_kv_store *s, const entry *e)
{
    int rc = hpc_grow(&s->entry, &s->cap, s->n + 1, sizeof *s->entry);
    if (rc < 0) return rc;
    s->entry[s->n++] = *e;
    s->bytes += e->bytes;
    return HPC_OK;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* Segments of a text that were used within a minute go together. */
static const int64_t MINUTE_NS = 60000000000, SECOND_NS = 1000000000;

static int add_file(hpc_kv_store *s, const char *name, int64_t now_s)
{
    char path[PATH_BYTES];
    hpc_file_view v;
    entry e;
    int rc;
    if (!read_name(&e, name)) return HPC_OK;
    TRY(path_of(path, s, name));
    if (hpc_file_open(&v, path) < 0) { /* another process has removed it */
        hpc_error_clear();
        return HPC_OK;
    }
    e.bytes = (int64_t)v.bytes;
    e.used = v.changed_ns / MINUTE_NS;
    bool expired = now_s - v.changed_ns / SECOND_NS > s->o.expire_s;
    hpc_file_close(&v);
    if (expired) return hpc_file_remove(path);
    rc = add(s, &e);
out:
    return rc;
}

static int read_folder(hpc_kv_store *s)
{
    hpc_buf names = {0};
    const int64_t now_s = time(NULL);
    int64_t n;
    int rc;
    TRY(hpc_file_mkdir_private(s->folder));
    TRY(hpc_file_sweep(s->folder));
    TRY(hpc_file_list(&names, &n, s->folder));
    const char *name = names.data;
    for (int64_t k = 0; k < n; k++, name += strlen(name) + 1) TRY(add_file(s, name, now_s));
    for (int64_t k = 0; k < s->n; k++)
        if (s->entry[k].used >= s->now) s->now = s->entry[k].used + 1;
    make_room(s, 0);
out:
    hpc_buf_release(&names);
    return rc;
}

int hpc_kv_store_open(hpc_kv_store **out, const hpc_kv_store_options *o)
{
    hpc_kv_store *s = hpc_alloc(1, sizeof *s);
    size_t n = strlen(o->folder) + 1;
    int rc;
    *out = NULL;
    if (!s) return HPC_E_NOMEM;
    hpc_assert(o->segment > 0);
    s->o = *o;
    s->folder = hpc_alloc(n, 1);
    if (!s->folder) TRY(HPC_E_NOMEM);
    memcpy(s->folder, o->folder, n);
    TRY(read_folder(s));
    *out = s;
    s = NULL;
out:
    hpc_kv_store_close(s);
    return rc;
}

void hpc_kv_store_close(hpc_kv_store *s)
{
    if (!s) return;
    hpc_free(s->entry);
    hpc_free(s->folder);
    hpc_free(s);
}

int64_t hpc_kv_store_files(const hpc_kv_store *s)
{
    return s->n;
}

int64_t hpc_kv_store_bytes(const hpc_kv_store *s)
{
    return s->bytes;
}

/* ---- segments ------------------------------------------------------------------------------- */

bool hpc_kv_store_has(const hpc_kv_store *s, const int32_t *token, int64_t n)
{
    return find(s, key_of(s, token, n), n) != NULL;
}

static bool is_valid(const hpc_kv_store *s, const entry *e, const hpc_buf *file,
                     const int32_t *token)
{
    size_t own = (size_t)s->o.segment * sizeof *token;
    header h;
    if (file->n < sizeof h + own) return false;
    memcpy(&h, file->data, sizeof h);
    return memcmp(h.magic, MAGIC, sizeof MAGIC) == 0 && h.version == VERSION &&
           h.segment == s->o.segment && h.n == e->n && same(h.key, e->key) &&
           h.data_bytes == file->n - sizeof h - own &&
           same(h.check, hpc_hash_wide(file->data + sizeof h, file->n - sizeof h)) &&
           memcmp(file->data + sizeof h, token + e->n - s->o.segment, own) == 0;
}

/* Uses of segments of one text keep their order by giving the same time to all. */
static void note_use(hpc_kv_store *s, entry *e, const char *path, int64_t n)
{
    if (n == s->o.segment) s->now++;
    e->used = s->now;
    if (hpc_file_touch(path) < 0) hpc_error_clear();
}

int hpc_kv_store_get(hpc_buf *out, bool *found, hpc_kv_store *s, const int32_t *token, int64_t n)
{
    entry *e = find(s, key_of(s, token, n), n);
    char name[NAME_BYTES], path[PATH_BYTES];
    size_t head = sizeof(header) + (size_t)s->o.segment * sizeof *token;
    int rc = HPC_OK;
    *found = false;
    out->n = 0;
    if (!e) return HPC_OK;
    name_of(name, e);
    TRY(path_of(path, s, name));
    if (hpc_file_read(out, path, (size_t)e->bytes) < 0) {
        hpc_error_clear();
        out->n = 0;
    }
    if (!is_valid(s, e, out, token)) {
        drop(s, e);
        out->n = 0;
        return HPC_OK;
    }
    note_use(s, e, path, n);
    out->n -= head;
    memmove(out->data, out->data + head, out->n);
    *found = true;
out:
    return rc;
}

static int write_file(const hpc_kv_store *s, const entry *e, const char *path, const int32_t *token,
                      const void *data, size_t bytes)
{
    size_t own = (size_t)s->o.segment * sizeof *token;
    header h = {.version = VERSION,
                .segment = (uint32_t)s->o.segment,
                .n = e->n,
                .data_bytes = bytes,
                .key = e->key};
    hpc_buf b = {0};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    hpc_buf_add(&b, &h, sizeof h);
    hpc_buf_add(&b, token + e->n - s->o.segment, own);
    int rc = hpc_buf_add(&b, data, bytes);
    if (rc >= 0) {
        h.check = hpc_hash_wide(b.data + sizeof h, b.n - sizeof h);
        memcpy(b.data, &h, sizeof h);
        rc = hpc_file_save_private(path, b.data, b.n);
    }
    hpc_buf_release(&b);
    return rc;
}

int hpc_kv_store_put(hpc_kv_store *s, const int32_t *token, int64_t n, const void *data,
                     size_t bytes)
{
    char name[NAME_BYTES], path[PATH_BYTES];
    entry e = {.key = key_of(s, token, n), .n = n};
    int rc;
    hpc_assert(n > 0 && n % s->o.segment == 0);
    e.bytes = (int64_t)(sizeof(header) + (size_t)s->o.segment * sizeof *token + bytes);
    if (find(s, e.key, n) || e.bytes > s->o.bytes) return HPC_OK;
    if (n == s->o.segment) s->now++;
    e.used = s->now;
    name_of(name, &e);
    TRY(path_of(path, s, name));
    make_room(s, e.bytes);
    TRY(write_file(s, &e, path, token, data, bytes));
    rc = add(s, &e);
out:
    return rc;
}
