/*
 * checkpoint_read.c: reads boxes of tensors from a checkpoint, single-file or sharded.
 *
 * Of a sharded one it opens only the files, and reads only the parts, that a box intersects. It
 * checks the hash of each part first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/checkpoint_priv.h"

struct checkpoint_state {
    char folder[CHECKPOINT_PATH];
    hpc_safetensors *whole; /* NULL: it is in many files */
    checkpoint_index index;
    hpc_file_view *view; /* by file; data NULL: not opened yet */
};

/* ---- boxes ------------------------------------------------------------------------------------
 */

typedef struct box {
    int rank;
    const int64_t *first, *extent;
} box;

static int64_t elements_of(const box *b)
{
    int64_t n = 1;
    for (int d = 0; d < b->rank; d++) n *= b->extent[d];
    return n;
}

/* Offset in a box of an element, by its position in the whole. */
static size_t place_in(const box *b, const int64_t *at)
{
    int64_t n = 0;
    for (int d = 0; d < b->rank; d++) n = n * b->extent[d] + at[d] - b->first[d];
    return (size_t)n;
}

/* What both have, to out; its elements. */
static int64_t copy_common(uint8_t *out, const box *to, const uint8_t *data, const box *from,
                           size_t element)
{
    int64_t lo[HPC_RANK_MAX] = {0}, hi[HPC_RANK_MAX] = {0}, at[HPC_RANK_MAX] = {0}, n = 1;
    int last = to->rank - 1;
    hpc_assert(to->rank == from->rank && last >= -1 && last < HPC_RANK_MAX);
    for (int d = 0; d <= last; d++) {
        int64_t a = to->first[d] + to->extent[d], b = from->first[d] + from->extent[d];
        at[d] = lo[d] = to->first[d] > from->first[d] ? to->first[d] : from->first[d];
        hi[d] = a < b ? a : b;
        if (lo[d] >= hi[d]) return 0;
        n *= hi[d] - lo[d];
    }
    size_t run = element * (size_t)(last < 0 ? 1 : hi[last] - lo[last]);
    for (;;) {
        memcpy(out + place_in(to, at) * element, data + place_in(from, at) * element, run);
        int d = last - 1;
        while (d >= 0 && ++at[d] == hi[d]) at[d] = lo[d], d--;
        if (d < 0) return n;
    }
}

/* ---- files ------------------------------------------------------------------------------------
 */

/* Reports the run, step and saving that a file names, if it is another; else false. */
static bool is_of_another(const checkpoint_state *s, const hpc_safetensors *file, const char *path)
{
    const char *run = hpc_safetensors_says(file, "run");
    const char *step = hpc_safetensors_says(file, "step");
    const char *save = hpc_safetensors_says(file, "save");
    if (!run || !step || !save) return false;
    if (strtoull(run, NULL, 16) != s->index.run)
        hpc_fail(HPC_E_FORMAT, "%s is a shard of another run: restore the shard of this run", path);
    else if (strtoll(step, NULL, 10) != s->index.step)
        hpc_fail(HPC_E_FORMAT, "%s is a shard of step %.20s: restore the shard of step %lld", path,
                 step, (long long)s->index.step);
    else if (strcmp(save, s->index.save) != 0)
        hpc_fail(HPC_E_FORMAT,
                 "%s comes from another save of this step (%.20s): restore the shard of %s", path,
                 save, s->index.save);
    else
        return false;
    return true;
}

/* Reports a file that is not the saved one: the run or step that it belongs to, if it names one. */
static int not_ours(const checkpoint_state *s, const char *path, const char *why)
{
    hpc_safetensors *file = NULL;
    bool told = hpc_safetensors_open(&file, path) >= 0 && is_of_another(s, file, path);
    hpc_safetensors_close(file);
    if (told) return HPC_E_FORMAT;
    hpc_error_clear();
    return hpc_fail(HPC_E_FORMAT, "%s is damaged: %s", path, why);
}

static int open_file(hpc_file_view **out, checkpoint_state *s, int file)
{
    const checkpoint_file *f = &s->index.file[file];
    char path[CHECKPOINT_PATH], why[96];
    hpc_file_view *v = *out = &s->view[file];
    int rc = checkpoint_path(path, s->folder, f->name);
    if (rc < 0 || v->data) return rc;
    if (!hpc_file_exists(path))
        return hpc_fail(HPC_E_FORMAT, "%s is missing, one of its %lld shards: restore it", path,
                        (long long)s->index.file_n);
    rc = hpc_file_open(v, path);
    if (rc < 0 || v->bytes == f->bytes) return rc;
    snprintf(why, sizeof why, "it has %zu bytes, not %" PRIu64, v->bytes, f->bytes);
    return not_ours(s, path, why);
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static bool touches(const checkpoint_part *p, const box *b)
{
    for (int d = 0; d < b->rank; d++)
        if (p->first[d] >= b->first[d] + b->extent[d] || b->first[d] >= p->first[d] + p->extent[d])
            return false;
    return true;
}

static int check_part(const uint8_t **out, checkpoint_state *s, const checkpoint_part *p)
{
    char path[CHECKPOINT_PATH], why[200];
    hpc_file_view *v;
    int rc;
    TRY(open_file(&v, s, p->file));
    const uint8_t *data = *out = v->data + p->at;
    hpc_hash128 h = hpc_hash_wide(data, p->bytes);
    if (h.low != p->hash.low || h.high != p->hash.high) {
        TRY(checkpoint_path(path, s->folder, s->index.file[p->file].name));
        snprintf(why, sizeof why,
                 "bytes %" PRIu64 " to %" PRIu64 ", of %.100s, differ from the saved ones", p->at,
                 p->at + p->bytes, s->index.tensor[p->tensor].name);
        TRY(not_ours(s, path, why));
    }
out:
    return rc;
}

static int read_part(int64_t *read, uint8_t *out, checkpoint_state *s, const checkpoint_part *p,
                     const box *b, size_t element)
{
    const box from = {p->rank, p->first, p->extent};
    const uint8_t *data;
    int rc = check_part(&data, s, p);
    if (rc < 0) return rc;
    *read += copy_common(out, b, data, &from, element);
    hpc_file_drop(&s->view[p->file], data, p->bytes);
    return rc;
}

/* That parts cover their tensors is seen where they are read. */
int checkpoint_state_check(checkpoint_state *s)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < s->index.part_n; k++) {
        const checkpoint_part *p = &s->index.part[k];
        const uint8_t *data;
        TRY(check_part(&data, s, p));
        hpc_file_drop(&s->view[p->file], data, p->bytes);
    }
out:
    return rc;
}

static int read_parts(uint8_t *out, checkpoint_state *s, const checkpoint_tensor *t, const box *b)
{
    const size_t element = hpc_dtype_get(t->dtype)->block_bytes;
    int64_t read = 0;
    int rc = HPC_OK;
    for (int64_t k = t->part; k < t->part + t->part_n; k++)
        if (touches(&s->index.part[k], b))
            TRY(read_part(&read, out, s, &s->index.part[k], b, element));
    if (read != elements_of(b))
        TRY(hpc_fail(HPC_E_FORMAT, "%s: the index does not cover all of %.100s", s->folder,
                     t->name));
out:
    return rc;
}

static const checkpoint_tensor *tensor_of(const checkpoint_state *s, const char *name)
{
    uint64_t k;
    if (!hpc_map_get(s->index.by_name, name, strlen(name), &k)) return NULL;
    return &s->index.tensor[k];
}

int checkpoint_state_read(void *out, checkpoint_state *s, const char *name, const int64_t *first,
                          const int64_t *extent)
{
    static const int64_t origin[HPC_RANK_MAX];
    box b = {.first = first, .extent = extent};
    hpc_stored_tensor x;
    if (!s->whole) {
        const checkpoint_tensor *t = tensor_of(s, name);
        hpc_assert(t);
        b.rank = t->rank;
        return read_parts(out, s, t, &b);
    }
    int rc = hpc_safetensors_find(&x, s->whole, name);
    if (rc < 0) return rc;
    const box all = {x.rank, origin, x.extent};
    b.rank = x.rank;
    copy_common(out, &b, x.data, &all, hpc_dtype_get(x.dtype)->block_bytes);
    return HPC_OK;
}

bool checkpoint_state_find(hpc_stored_tensor *out, const checkpoint_state *s, const char *name)
{
    if (s->whole) {
        bool found = hpc_safetensors_find(out, s->whole, name) >= 0;
        if (!found) hpc_error_clear();
        return found && out->rank <= HPC_RANK_MAX;
    }
    const checkpoint_tensor *t = tensor_of(s, name);
    if (!t) return false;
    *out = (hpc_stored_tensor){.name = t->name, .dtype = t->dtype, .rank = t->rank};
    memcpy(out->extent, t->extent, sizeof t->extent);
    return true;
}

int64_t checkpoint_state_n(const checkpoint_state *s)
{
    return s->whole ? hpc_safetensors_n(s->whole) : s->index.tensor_n;
}

void checkpoint_mask_name(char out[CHECKPOINT_MASK], const hpc_mask *m)
{
    snprintf(out, CHECKPOINT_MASK, "index.%s", m->name);
}

int64_t checkpoint_state_masks(const checkpoint_state *s)
{
    int64_t n = 0;
    for (int64_t k = 0; k < checkpoint_state_n(s); k++) {
        hpc_stored_tensor x = {0};
        bool there = !s->whole || hpc_safetensors_at(&x, s->whole, k) >= 0;
        n += there && strncmp(s->whole ? x.name : s->index.tensor[k].name, "index.", 6) == 0;
    }
    return n;
}

/* ---- opening ----------------------------------------------------------------------------------
 */

static int check_hash(const char *path, const hpc_json *record)
{
    char seen[CHECKPOINT_HASH];
    const char *hash;
    int rc;
    TRY(hpc_json_text(&hash, hpc_json_get(record, "hash"), "hash"));
    TRY(checkpoint_hash_file(seen, path));
    if (strcmp(seen, hash) != 0)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: its content differs from the saved content", path));
out:
    return rc;
}

static int open_whole(checkpoint_state *s, int64_t step, const hpc_json *record)
{
    char path[CHECKPOINT_PATH], name[CHECKPOINT_NAME];
    int rc;
    checkpoint_name(name, step, "safetensors");
    TRY(checkpoint_path(path, s->folder, name));
    TRY(check_hash(path, record));
    TRY(hpc_safetensors_open(&s->whole, path));
out:
    return rc;
}

static int open_index(checkpoint_state *s, int64_t step, const hpc_json *record)
{
    char path[CHECKPOINT_PATH];
    const char *name;
    int rc;
    TRY(hpc_json_text(&name, hpc_json_get(record, "index"), "index"));
    if (strchr(name, '/')) TRY(hpc_fail(HPC_E_FORMAT, "index: '%.60s' is not a file name", name));
    TRY(checkpoint_path(path, s->folder, name));
    TRY(check_hash(path, record));
    TRY(checkpoint_index_read(&s->index, path));
    if (s->index.step != step)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: says step %lld", path, (long long)s->index.step));
    s->view = hpc_alloc((size_t)s->index.file_n + 1, sizeof *s->view);
    if (!s->view) TRY(HPC_E_NOMEM);
out:
    return rc;
}

int checkpoint_state_open(checkpoint_state **out, const char *folder, int64_t step,
                          const hpc_json *record)
{
    checkpoint_state *s = hpc_alloc(1, sizeof *s);
    int rc = s ? HPC_OK : HPC_E_NOMEM;
    *out = NULL;
    TRY(rc);
    TRY(checkpoint_path(s->folder, folder, "."));
    s->folder[strlen(s->folder) - 2] = '\0';
    TRY(hpc_json_get(record, "index") ? open_index(s, step, record) : open_whole(s, step, record));
    *out = s;
    s = NULL;
out:
    checkpoint_state_close(s);
    return rc;
}

void checkpoint_state_close(checkpoint_state *s)
{
    if (!s) return;
    for (int64_t k = 0; s->view && k < s->index.file_n; k++) hpc_file_close(&s->view[k]);
    hpc_free(s->view);
    hpc_safetensors_close(s->whole);
    checkpoint_index_release(&s->index);
    hpc_free(s);
}
