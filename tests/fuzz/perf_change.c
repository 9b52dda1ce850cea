/*
 * perf_change.c: fuzz target: two versions of two files with any text, and infer/perf's functions,
 * features and reasons for the change.
 *
 * It replaces the repository: calls of infer/perf to git are answered from the input. The first
 * byte names the files. Versions follow, separated by bytes 0xff: the first file before and after,
 * the second before and after. An empty version is a missing file.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/perf/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { FILES = 2, REASONS = 20 };

typedef struct version {
    const uint8_t *text;
    size_t n;
} version;

struct hpc_git {
    const char *path[FILES];
    version side[2][FILES]; /* base, head */
};

static const char *const names[] = {"a.c",         "b.cpp", "c.f90",     "d.f",
                                    "e.cu",        "f.h",   "Makefile",  "CMakeLists.txt",
                                    "make.inc",    "g.hpp", "tests/a.c", "configure.ac",
                                    "meson.build", "h.F90", "setup.py",  "dir/b.cpp"};

/* Of a text: its hash, as the same text is the same blob; of none: zero. */
static hpc_git_id id_of(const version *v)
{
    hpc_git_id id = {{0}};
    uint64_t hash = hpc_hash(v->text, v->n, 0);
    if (v->n == 0) return id;
    memcpy(id.byte, &hash, sizeof hash);
    id.byte[sizeof hash] = 1;
    return id;
}

int hpc_git_diff(hpc_git_changes *out, hpc_git *g, const hpc_git_id *base, const hpc_git_id *head,
                 bool (*want)(const char *path, void *user), void *user, int64_t most)
{
    int from = base->byte[0], to = head->byte[0];
    int rc = HPC_OK;
    out->n = 0;
    out->paths.n = 0;
    hpc_assert(most >= FILES);
    for (int k = 0; k < FILES; k++) {
        hpc_git_change c = {.base = id_of(&g->side[from][k]), .head = id_of(&g->side[to][k])};
        if (memcmp(&c.base, &c.head, sizeof c.base) == 0 || !want(g->path[k], user)) continue;
        TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
        c.path = (uint32_t)out->paths.n;
        TRY(hpc_buf_add(&out->paths, g->path[k], strlen(g->path[k]) + 1));
        out->item[out->n++] = c;
    }
    rc = HPC_GIT_READ;
out:
    return rc;
}

void hpc_git_changes_release(hpc_git_changes *c)
{
    hpc_free(c->item);
    hpc_buf_release(&c->paths);
}

int hpc_git_read(hpc_buf *out, size_t *bytes, hpc_git *g, const hpc_git_id *id, size_t limit)
{
    const version *v = &g->side[0][0];
    hpc_git_id of = id_of(v);
    for (int k = 1; memcmp(&of, id, sizeof of) != 0; k++) {
        hpc_assert(k < 2 * FILES);
        v = &g->side[k / FILES][k % FILES];
        of = id_of(v);
    }
    *bytes = v->n;
    out->n = 0;
    if (v->n > limit) return HPC_GIT_TOO_LARGE;
    int rc = hpc_buf_add(out, v->text, v->n);
    return rc < 0 ? rc : HPC_GIT_READ;
}

static void cut(hpc_git *g, const uint8_t *data, size_t n)
{
    unsigned second = data[0] / 16, first = data[0] % 16;
    const uint8_t *at = data + 1, *end = data + n;
    g->path[0] = names[first];
    g->path[1] = names[second == first ? (second + 1) % 16 : second];
    for (int k = 0; k < 2 * FILES && at < end; k++) {
        const uint8_t *next = memchr(at, 0xff, (size_t)(end - at));
        if (!next) next = end;
        g->side[k % 2][k / 2] = (version){at, (size_t)(next - at)};
        at = next < end ? next + 1 : end;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const hpc_git_id base = {{0}}, head = {{1}};
    hpc_git g = {.path = {NULL}};
    hpc_perf_reader *reader = NULL;
    hpc_perf_scanner *scanner = NULL;
    hpc_perf_change change = {0};
    hpc_perf_features features = {0};
    hpc_perf_reasons reasons = {0};
    if (n == 0) return 0;
    cut(&g, data, n);
    hpc_assert(hpc_perf_reader_create(&reader, &g, NULL) == HPC_OK);
    hpc_assert(hpc_perf_scanner_create(&scanner) == HPC_OK);
    for (int k = 0; k < 2; k++) { /* there, and back again, from what is kept by then */
        hpc_assert(hpc_perf_change_read(&change, reader, k ? &head : &base, k ? &base : &head) ==
                   HPC_GIT_READ);
        hpc_assert(hpc_perf_features_find(&features, scanner, &change) == HPC_OK);
        for (int64_t f = -1; f < change.n; f++) {
            hpc_assert(hpc_perf_reasons_find(&reasons, &features, f, NULL, REASONS) == HPC_OK);
            check_answer(&change, &features, &reasons, REASONS);
        }
    }
    hpc_perf_reasons_release(&reasons);
    hpc_perf_features_release(&features);
    hpc_perf_change_release(&change);
    hpc_perf_scanner_free(scanner);
    hpc_perf_reader_free(reader);
    hpc_error_clear();
    return 0;
}
