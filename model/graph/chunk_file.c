/*
 * chunk_file.c: graphs in chunks as files. A header, a table (first vertices, edges of each chunk,
 * checksums), then for each interval its degrees and for each chunk its starts and indices, each
 * section aligned to 64 bytes. Little-endian; integers of 4 bytes except in header and table.
 */
#include "model/graph/graph.h"

#include <string.h>

enum { VERSION = 1, ALIGN = 64 };

static const char magic[8] = {'H', 'P', 'C', 'G', 'R', 'A', 'P', 'H'};

typedef struct header {
    char magic[8];
    int64_t version, vertices, edges, parts;
    uint64_t table, self; /* checksums of the table, and of the fields before this one */
} header;

/* The table of the file: first [parts+1], edges [parts parts], checks [parts (parts +
 * 1)]: of degrees, then of chunks. */
static size_t table_n(int64_t parts)
{
    return (size_t)(parts + 1 + parts * parts + parts * (parts + 1));
}

static size_t aligned(size_t at)
{
    return (at + ALIGN - 1) / ALIGN * ALIGN;
}

static int write_aligned(hpc_file_writer *w, const void *data, size_t bytes)
{
    static const char zeros[ALIGN];
    size_t at = hpc_file_written(w);
    int rc = hpc_file_write(w, zeros, aligned(at) - at);
    return rc < 0 ? rc : hpc_file_write(w, data, bytes);
}

static size_t starts_bytes(const hpc_net_chunks *c, int64_t p)
{
    return (size_t)(c->first[p + 1] - c->first[p] + 1) * sizeof(int32_t);
}

static size_t indices_bytes(const hpc_net_chunks *c, int64_t k)
{
    return (size_t)c->chunk[k].edges * sizeof(int32_t);
}

static uint64_t check_of(const hpc_net_chunks *c, int64_t p, int64_t q)
{
    const hpc_net_chunk *k = &c->chunk[p * c->parts + q];
    uint64_t starts = hpc_hash(k->start, starts_bytes(c, p), 0);
    return hpc_hash(k->index, indices_bytes(c, p * c->parts + q), starts);
}

static void fill_table(int64_t *table, const hpc_net_chunks *c)
{
    int64_t *at = table, parts = c->parts;
    memcpy(at, c->first, (size_t)(parts + 1) * sizeof *at);
    at += parts + 1;
    for (int64_t k = 0; k < parts * parts; k++) *at++ = c->chunk[k].edges;
    for (int64_t p = 0; p < parts; p++)
        *at++ = (int64_t)hpc_hash(c->degree[p], starts_bytes(c, p), 0);
    for (int64_t p = 0; p < parts; p++)
        for (int64_t q = 0; q < parts; q++) *at++ = (int64_t)check_of(c, p, q);
}

int hpc_net_chunks_save(const hpc_net_chunks *c, const char *path)
{
    hpc_file_writer *w = NULL;
    size_t bytes = table_n(c->parts) * sizeof(int64_t);
    int64_t *table = hpc_alloc(table_n(c->parts), sizeof *table);
    header h = {.version = VERSION, .vertices = c->vertices, .edges = c->edges, .parts = c->parts};
    int rc;
    if (!table) return hpc_fail(HPC_E_NOMEM, "no memory to save %s", path);
    memcpy(h.magic, magic, sizeof magic);
    fill_table(table, c);
    h.table = hpc_hash(table, bytes, 0);
    h.self = hpc_hash(&h, offsetof(header, self), 0);
    TRY(hpc_file_create(&w, path));
    TRY(hpc_file_write(w, &h, sizeof h));
    TRY(write_aligned(w, table, bytes));
    for (int64_t p = 0; p < c->parts; p++) TRY(write_aligned(w, c->degree[p], starts_bytes(c, p)));
    for (int64_t k = 0; k < c->parts * c->parts; k++) {
        TRY(write_aligned(w, c->chunk[k].start, starts_bytes(c, k / c->parts)));
        TRY(write_aligned(w, c->chunk[k].index, indices_bytes(c, k)));
    }
    TRY(hpc_file_commit(w));
out:
    hpc_file_close_writer(w);
    hpc_free(table);
    return rc;
}

/* ---- reading ------------------------------------------------------------------------------ */

static int check_header(header *h, const hpc_file_view *f)
{
    if (f->bytes < sizeof *h || memcmp(f->data, magic, sizeof magic) != 0)
        return hpc_fail(HPC_E_FORMAT, "not a file of graph chunks");
    memcpy(h, f->data, sizeof *h);
    if (h->version != VERSION)
        return hpc_fail(HPC_E_UNSUPPORTED, "version %lld; this build reads version %d",
                        (long long)h->version, VERSION);
    if (h->self != hpc_hash(h, offsetof(header, self), 0))
        return hpc_fail(HPC_E_FORMAT, "its header is damaged");
    if (h->parts < 1 || h->parts > 4096 || h->vertices < 0 || h->edges < 0 ||
        h->vertices >= INT32_MAX || h->edges >= INT32_MAX)
        return hpc_fail(HPC_E_FORMAT, "its extents are out of range");
    return HPC_OK;
}

/* The next section of the file, or an error. */
static int section(const void **out, size_t *at, const hpc_file_view *f, size_t bytes)
{
    *at = aligned(*at);
    if (*at > f->bytes || bytes > f->bytes - *at)
        return hpc_fail(HPC_E_FORMAT, "truncated: %zu bytes end within a section of %zu at %zu",
                        f->bytes, bytes, *at);
    *out = f->data + *at;
    *at += bytes;
    return HPC_OK;
}

static int read_table(hpc_net_chunks *c, const int64_t *table)
{
    int64_t parts = c->parts, edges = 0;
    memcpy(c->first, table, (size_t)(parts + 1) * sizeof *table);
    for (int64_t p = 0; p < parts; p++)
        if (c->first[p] > c->first[p + 1] || c->first[p] < 0)
            return hpc_fail(HPC_E_FORMAT, "interval %lld ends before it begins", (long long)p);
    for (int64_t k = 0; k < parts * parts; k++) {
        c->chunk[k].edges = table[parts + 1 + k];
        if (c->chunk[k].edges < 0 || c->chunk[k].edges > c->edges)
            return hpc_fail(HPC_E_FORMAT, "chunk %lld has a bad number of edges", (long long)k);
        edges += c->chunk[k].edges;
        c->most_edges = c->chunk[k].edges > c->most_edges ? c->chunk[k].edges : c->most_edges;
    }
    if (c->first[0] != 0 || c->first[parts] != c->vertices || edges != c->edges)
        return hpc_fail(HPC_E_FORMAT, "its chunks do not add up to the graph");
    return HPC_OK;
}

static int read_sections(hpc_net_chunks *c, size_t at)
{
    int rc = HPC_OK;
    for (int64_t p = 0; p < c->parts; p++) {
        const void *data;
        int64_t rows = c->first[p + 1] - c->first[p];
        c->rows = rows > c->rows ? rows : c->rows;
        TRY(section(&data, &at, &c->file, starts_bytes(c, p)));
        c->degree[p] = data;
        if ((uint64_t)((int64_t *)c->checks)[p] != hpc_hash(data, starts_bytes(c, p), 0)) {
            rc = hpc_fail(HPC_E_FORMAT, "the degrees of interval %lld are damaged", (long long)p);
            goto out;
        }
    }
    for (int64_t k = 0; k < c->parts * c->parts; k++) {
        const void *start, *index;
        TRY(section(&start, &at, &c->file, starts_bytes(c, k / c->parts)));
        TRY(section(&index, &at, &c->file, indices_bytes(c, k)));
        c->chunk[k].start = start;
        c->chunk[k].index = index;
    }
out:
    return rc;
}

static int read_all(hpc_net_chunks *c)
{
    header h;
    const void *table = NULL;
    size_t at = sizeof h;
    int rc;
    TRY(check_header(&h, &c->file));
    c->vertices = h.vertices, c->edges = h.edges, c->parts = h.parts;
    size_t parts = (size_t)h.parts, bytes = table_n(h.parts) * sizeof(int64_t);
    TRY(section(&table, &at, &c->file, bytes));
    if (h.table != hpc_hash(table, bytes, 0)) return hpc_fail(HPC_E_FORMAT, "its table is damaged");
    c->first = hpc_alloc(parts + 1, sizeof *c->first);
    c->degree = hpc_alloc(parts, sizeof *c->degree);
    c->chunk = hpc_alloc(parts * parts, sizeof *c->chunk);
    c->checks = hpc_alloc(parts * (parts + 1), sizeof(int64_t));
    if (!c->first || !c->degree || !c->chunk || !c->checks)
        return hpc_fail(HPC_E_NOMEM, "no memory for its table");
    memcpy(c->checks, (const int64_t *)table + parts + 1 + parts * parts,
           parts * (parts + 1) * sizeof(int64_t));
    TRY(read_table(c, table));
    TRY(read_sections(c, at));
out:
    return rc;
}

int hpc_net_chunks_open(hpc_net_chunks *out, const char *path)
{
    *out = (hpc_net_chunks){0};
    int rc = hpc_file_open(&out->file, path);
    if (rc < 0) return rc;
    rc = read_all(out);
    if (rc < 0) {
        hpc_error_where("%s", path);
        hpc_net_chunks_close(out);
    }
    return rc;
}

int hpc_net_chunk_check(const hpc_net_chunks *c, int64_t to, int64_t from)
{
    if (!c->checks) return HPC_OK;
    int64_t k = to * c->parts + from;
    if ((uint64_t)((const int64_t *)c->checks)[c->parts + k] == check_of(c, to, from))
        return HPC_OK;
    return hpc_fail(HPC_E_FORMAT, "chunk (%lld, %lld) of the graph is damaged", (long long)to,
                    (long long)from);
}
