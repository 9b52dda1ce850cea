/*
 * import.c: graphs from lists of edges in text files and from NumPy's array files.
 */
#include "model/graph/graph.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 1 << 30 };

/* ---- text ------------------------------------------------------------------------------ */

/* Reads one vertex number at *at and moves past it; -1: no number. */
static int64_t read_number(const char **at, const char *end)
{
    int64_t n = 0;
    const char *from;
    while (*at < end && (**at == ' ' || **at == '\t' || **at == ',')) ++*at;
    for (from = *at; *at < end && **at >= '0' && **at <= '9' && n < INT32_MAX; ++*at)
        n = n * 10 + (**at - '0');
    return *at > from ? n : -1;
}

/* Adds the edge of a line, if it has one. */
static int read_line(hpc_buf *out, int64_t *vertices, const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) at++;
    if (at == end || *at == '#') return HPC_OK;
    int64_t from = read_number(&at, end), to = read_number(&at, end);
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) at++;
    if (from < 0 || to < 0 || from >= INT32_MAX || to >= INT32_MAX || at < end)
        return hpc_fail(HPC_E_FORMAT, "expected two vertex numbers");
    if (from >= *vertices) *vertices = from + 1;
    if (to >= *vertices) *vertices = to + 1;
    return hpc_buf_add(out, (const int32_t[2]){(int32_t)from, (int32_t)to}, 2 * sizeof(int32_t));
}

int hpc_net_read_text(hpc_net *out, const char *path, int64_t vertices, const hpc_net_options *o)
{
    hpc_buf text = {0}, edges = {0};
    int64_t line = 1, seen = 0;
    int rc;
    *out = (hpc_net){0};
    TRY(hpc_file_read_text(&text, path, TEXT_MOST));
    const char *at = (const char *)text.data, *end = at ? at + text.n : at;
    for (; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        rc = read_line(&edges, &seen, at, stop);
        if (rc < 0) {
            hpc_error_where("%s:%lld", path, (long long)line);
            goto out;
        }
        at = stop + 1;
    }
    rc = hpc_net_of_edges(out, vertices ? vertices : seen,
                          (const int32_t(*)[2])(const void *)edges.data,
                          (int64_t)(edges.n / sizeof(int32_t[2])), o);
    if (rc < 0) hpc_error_where("%s", path);
out:
    hpc_buf_release(&edges);
    hpc_buf_release(&text);
    return rc;
}

/* ---- NumPy ------------------------------------------------------------------------------ */

static const uint8_t magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* The text after 'key': in the header's dictionary, or NULL. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at) return NULL;
    at += strlen(key);
    while (*at == ' ' || *at == ':') at++;
    return at;
}

static int parse_shape(hpc_npy *a, const char *at)
{
    if (!at || *at != '(') return hpc_fail(HPC_E_FORMAT, "its header has no shape");
    for (at++; *at && *at != ')';) {
        char *end;
        while (*at == ' ' || *at == ',') at++;
        if (*at == ')') break;
        long long n = strtoll(at, &end, 10);
        if (end == at || n < 0 || a->rank == 4)
            return hpc_fail(HPC_E_FORMAT, "its shape has more than 4 extents or bad ones");
        a->extent[a->rank++] = n;
        at = end;
    }
    return HPC_OK;
}

static int parse_header(hpc_npy *a, const char *header, size_t from)
{
    const char *type = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'");
    if (!type || type[0] != '\'' || strlen(type) < 5 || type[4] != '\'')
        return hpc_fail(HPC_E_FORMAT, "its elements are not plain numbers");
    memcpy(a->type, type + 1, 3);
    if (type[1] == '>') return hpc_fail(HPC_E_UNSUPPORTED, "its numbers are big-endian");
    if (!order || strncmp(order, "False", 5) != 0)
        return hpc_fail(HPC_E_UNSUPPORTED, "it is in Fortran order: save it in C order");
    int rc = parse_shape(a, value_of(header, "'shape'"));
    if (rc < 0) return rc;
    size_t bytes = (size_t)(type[3] - '0'), room = a->file.bytes - from;
    if (bytes < 1 || bytes > 8) return hpc_fail(HPC_E_FORMAT, "elements of type %s", a->type);
    for (int d = 0; d < a->rank; d++) {
        if (a->extent[d] && bytes > SIZE_MAX / 2 / (size_t)a->extent[d])
            return hpc_fail(HPC_E_FORMAT, "its shape is too large");
        bytes *= (size_t)a->extent[d];
    }
    if (bytes > room)
        return hpc_fail(HPC_E_FORMAT, "truncated: expected %zu bytes of data, found %zu", bytes,
                        room);
    a->data = a->file.data + from;
    return HPC_OK;
}

int hpc_npy_open(hpc_npy *out, const char *path)
{
    char header[4096];
    size_t from, n;
    int rc;
    *out = (hpc_npy){0};
    TRY(hpc_file_open(&out->file, path));
    const uint8_t *f = out->file.data;
    if (out->file.bytes < 12 || memcmp(f, magic, sizeof magic) != 0) {
        rc = hpc_fail(HPC_E_FORMAT, "%s: not an array file of NumPy", path);
        goto out;
    }
    from = f[6] == 1 ? 10 : 12;
    n = f[8] + 256u * f[9] + (f[6] == 1 ? 0 : 65536u * (f[10] + 256u * f[11]));
    if (f[6] < 1 || f[6] > 2 || n >= sizeof header || from + n > out->file.bytes) {
        rc = hpc_fail(HPC_E_FORMAT, "%s: version %d or header of %zu bytes is not supported", path,
                      f[6], n);
        goto out;
    }
    memcpy(header, f + from, n);
    header[n] = '\0';
    rc = parse_header(out, header, from + n);
    if (rc < 0) hpc_error_where("%s", path);
out:
    if (rc < 0) hpc_npy_close(out);
    return rc;
}

void hpc_npy_close(hpc_npy *a)
{
    hpc_file_close(&a->file);
    *a = (hpc_npy){0};
}

static int64_t integer_at(const hpc_npy *a, int64_t i)
{
    int64_t wide;
    int32_t narrow;
    if (a->type[2] == '8') {
        memcpy(&wide, (const char *)a->data + 8 * i, 8);
        return wide;
    }
    memcpy(&narrow, (const char *)a->data + 4 * i, 4);
    return narrow;
}

int hpc_net_read_npy(hpc_net *out, const char *path, int64_t vertices, const hpc_net_options *o)
{
    hpc_npy a;
    int32_t(*edge)[2] = NULL;
    int64_t seen = 0;
    *out = (hpc_net){0};
    int rc = hpc_npy_open(&a, path);
    if (rc < 0) return rc;
    if (a.rank != 2 || a.extent[0] != 2 ||
        (strcmp(a.type, "<i8") != 0 && strcmp(a.type, "<i4") != 0)) {
        rc = hpc_fail(HPC_E_FORMAT, "%s: edges are i4 or i8 of shape (2, edges)", path);
        goto out;
    }
    int64_t n = a.extent[1];
    edge = hpc_alloc((size_t)n + 1, sizeof *edge);
    if (!edge) {
        rc = hpc_fail(HPC_E_NOMEM, "no memory for %lld edges", (long long)n);
        goto out;
    }
    for (int64_t k = 0; k < 2 * n; k++) {
        int64_t v = integer_at(&a, k);
        if (v < 0 || v >= (vertices ? vertices : INT32_MAX - 1)) {
            rc = hpc_fail(HPC_E_FORMAT, "%s: edge %lld: vertex %lld is out of range", path,
                          (long long)(k % n), (long long)v);
            goto out;
        }
        edge[k % n][k / n] = (int32_t)v;
        seen = v >= seen ? v + 1 : seen;
    }
    TRY(hpc_net_of_edges(out, vertices ? vertices : seen, (const int32_t(*)[2])edge, n, o));
out:
    hpc_free(edge);
    hpc_npy_close(&a);
    return rc;
}
