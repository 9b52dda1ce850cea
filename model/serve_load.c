/*
 * serve_load.c: loads parameters from files into the state of the inference program, in its types
 * and layouts.
 *
 * Rows are converted a few at a time, while they are in cache; no tensor-sized buffer is used.
 * Workers take chunks of 1 MiB from a shared counter, so a slow core does not delay the others.
 * The result does not depend on which worker takes a chunk.
 */
#include <string.h>

#include "model/priv.h"

enum { PANEL = 16, PIECE = 1 << 14 /* elements at a time, or a panel's */, CHUNK = 1 << 20 };

/* A tensor and its destination. */
typedef struct place {
    model_source from;
    const hpc_type *type;
    uint8_t *to;
    bool alike; /* already stored in the destination type, row by row */
    int64_t chunk_rows, chunks;
    int64_t first; /* row that lies at `to` */
    int64_t rows;  /* that planes at `to` have */
} place;

typedef struct scratch {
    float *x;      /* rows in f32, if types differ */
    uint8_t *rows; /* rows in the destination type */
} scratch;

/* ---- rows ------------------------------------------------------------------------------------ */

static size_t row_bytes(const place *p)
{
    const hpc_dtype_info *info = hpc_dtype_get((hpc_dtype)p->type->dtype);
    return (size_t)(p->from.cols / info->block) * info->block_bytes;
}

/* Rows per step: one panel, or enough to amortise a call. Vectors are one row of the program. */
static int64_t step_of(const place *p)
{
    if (p->type->pack == HPC_PANEL16) return PANEL;
    return p->from.cols < PIECE ? PIECE / p->from.cols : 1;
}

static int find(place *out, const hpc_weights *w, const hpc_model_tensor *t, const hpc_type *type,
                void *to)
{
    int rc = model_source_of(&out->from, w, t);
    out->type = type;
    out->to = to;
    out->first = 0;
    if (rc < 0) return rc;
    bool by_rows = t->rank == 2 && !out->from.s.transposed && !out->from.delta;
    out->alike = by_rows && out->from.t.dtype == type->dtype;
    out->chunk_rows = CHUNK / (int64_t)row_bytes(out) / step_of(out) * step_of(out);
    if (out->chunk_rows == 0) out->chunk_rows = step_of(out);
    out->chunks = (out->from.rows + out->chunk_rows - 1) / out->chunk_rows;
    return rc;
}

/* Elements per step. */
static size_t step_most(const place *p)
{
    return (size_t)(step_of(p) * p->from.cols);
}

/* Plain rows: in the file, or converted into `direct` or the scratch buffer. */
static const void *plain_rows(const place *p, const scratch *s, void *direct, int64_t r, int64_t n)
{
    const void *there = p->alike ? model_source_rows(&p->from, r, n) : NULL;
    if (there) return there;
    void *out = direct ? direct : s->rows;
    if (p->alike) {
        model_source_copy(out, &p->from, r, n);
    } else {
        model_source_read(s->x, &p->from, r, n);
        hpc_from_f32(out, (hpc_dtype)p->type->dtype, s->x, n * p->from.cols);
    }
    return out;
}

static int move_rows(const place *p, const scratch *s, int64_t r, int64_t n)
{
    int rc = model_source_check(&p->from, r, n);
    if (rc < 0) return rc;
    const hpc_dtype d = (hpc_dtype)p->type->dtype;
    uint8_t *to = p->to + (size_t)(r - p->first) * row_bytes(p);
    const void *rows = plain_rows(p, s, p->type->pack == HPC_PLAIN ? to : NULL, r, n);
    if (p->type->pack == HPC_PANEL16)
        hpc_panel16(to, rows, d, n, p->from.cols);
    else if (p->type->pack == HPC_PLANES)
        hpc_planes(p->to, p->rows, r - p->first, rows, d, n, p->from.cols);
    else if (rows != to)
        memcpy(to, rows, (size_t)n * row_bytes(p));
    return HPC_OK;
}

/* Moves one chunk, then drops its file pages. */
static int move_chunk(const place *p, const scratch *s, int64_t chunk)
{
    int64_t step = step_of(p), first = chunk * p->chunk_rows, end = first + p->chunk_rows;
    if (end > p->from.rows) end = p->from.rows;
    int rc = HPC_OK;
    for (int64_t r = first; r < end; r += step)
        TRY(move_rows(p, s, r, end - r < step ? end - r : step));
    model_source_drop(&p->from, first, end - first);
out:
    return rc;
}

static void scratch_release(scratch *s)
{
    hpc_free(s->x);
    hpc_free(s->rows);
}

/* Allocates buffers for this many elements. */
static int scratch_create(scratch *s, size_t elements)
{
    s->x = hpc_alloc_aligned(elements, sizeof *s->x, HPC_ALIGN);
    s->rows = hpc_alloc_aligned(elements, sizeof(double), HPC_ALIGN); /* the largest type */
    return s->x && s->rows ? HPC_OK : HPC_E_NOMEM;
}

static int read_matrix(const place *p)
{
    scratch s = {0};
    int rc;
    TRY(scratch_create(&s, step_most(p)));
    for (int64_t k = 0; k < p->chunks; k++) TRY(move_chunk(p, &s, k));
out:
    scratch_release(&s);
    return rc;
}

/* Bytes of each matrix of a batch. */
static size_t entry_bytes(const hpc_type *type, const hpc_model_tensor *t)
{
    return hpc_type_bytes(type) / (size_t)model_tensor_entries(t);
}

/* Matrix e of a batch at `bytes`, the whole value's: its own memory, or rows of common planes. */
static int find_entry(place *out, const hpc_weights *w, const hpc_model_tensor *t,
                      const hpc_type *type, uint8_t *bytes, int64_t e)
{
    hpc_model_tensor one = model_tensor_entry(t, e);
    const bool planes = type->pack == HPC_PLANES;
    int rc = find(out, w, &one, type, planes ? bytes : bytes + (size_t)e * entry_bytes(type, t));
    if (rc < 0 || !planes) return rc;
    out->first = -e * out->from.rows;
    out->rows = model_tensor_entries(t) * out->from.rows;
    return rc;
}

int hpc_serve_read(void *bytes, const hpc_type *type, const hpc_weights *w,
                   const hpc_model_tensor *t)
{
    int rc = HPC_OK;
    for (int64_t e = 0; e < model_tensor_entries(t); e++) {
        place p;
        TRY(find_entry(&p, w, t, type, bytes, e));
        TRY(read_matrix(&p));
    }
out:
    return rc;
}

const void *hpc_serve_mapped(const hpc_weights *w, const hpc_model_tensor *t, hpc_dtype dtype)
{
    enum { ALIGNED = 32 };
    model_source s;
    if (t->batch == 0 || model_source_of(&s, w, t) < 0) {
        hpc_error_clear();
        return NULL;
    }
    bool same = s.s.rank == 3 && s.t.dtype == dtype && !s.delta && s.s.shift == 0;
    return same && (uintptr_t)s.t.data % ALIGNED == 0 ? s.t.data : NULL;
}

int hpc_serve_lend(hpc_lent **out, int64_t *n, const hpc_program *p, const hpc_weights *w,
                   const hpc_model_config *c)
{
    hpc_model_tensor *all = NULL;
    int64_t all_n = 0;
    int rc;
    *out = NULL;
    *n = 0;
    TRY(hpc_model_tensors(&all, &all_n, c));
    *out = hpc_alloc((size_t)all_n, sizeof **out);
    if (!*out) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < all_n; k++) {
        hpc_value v = hpc_program_find(p, all[k].name);
        const hpc_type *type = &p->value[v].type;
        if (type->rank != 3 || type->pack != HPC_PLAIN) continue;
        (*out)[(*n)++] = (hpc_lent){.state = v,
                                    .data = hpc_serve_mapped(w, &all[k], (hpc_dtype)type->dtype),
                                    .bytes = hpc_type_bytes(type)};
    }
out:
    hpc_free(all);
    return rc;
}

hpc_dtype hpc_serve_stored(const hpc_weights *w, const hpc_model_tensor *t)
{
    model_source s;
    hpc_model_tensor one = model_tensor_entry(t, 0);
    if (t->part == HPC_PART_ROUTER || t->part == HPC_PART_SHARED_SCALE) return HPC_F32;
    if (model_source_of(&s, w, &one) < 0) {
        hpc_error_clear();
        return HPC_F32;
    }
    if (s.delta && hpc_dtype_get(s.t.dtype)->quantised) return HPC_Q8_0; /* packed fast, and well */
    return s.s.transposed ? HPC_F32 : hpc_dtype_get(s.t.dtype)->held;
}

hpc_dtype hpc_serve_frozen(const hpc_weights *w, const hpc_model_tensor *t, hpc_dtype model)
{
    model_source s;
    hpc_model_tensor one = model_tensor_entry(t, 0);
    if (model_source_of(&s, w, &one) < 0) {
        hpc_error_clear();
        return model;
    }
    const hpc_dtype_info *stored = hpc_dtype_get(s.t.dtype);
    bool same = stored->held == s.t.dtype && !s.delta && !s.s.transposed;
    bool smaller = stored->block_bytes < (size_t)stored->block * hpc_dtype_get(model)->block_bytes;
    return same && smaller ? s.t.dtype : model;
}

hpc_dtype hpc_serve_choose(const hpc_weights *w, const hpc_model_tensor *t, hpc_dtype d)
{
    d = d == HPC_DTYPE_N ? hpc_serve_stored(w, t) : hpc_serve_dtype(t, d);
    if (t->extent[1] % hpc_dtype_get(d)->block) d = HPC_Q8_0;
    return t->extent[1] % hpc_dtype_get(d)->block ? HPC_F16 : d;
}

/* ---- all of them ----------------------------------------------------------------------------- */

typedef struct loading {
    hpc_exec *e;
    const hpc_program *p;
    const hpc_weights *w;
    place *place;
    int64_t n;
    scratch *scratch; /* by worker */
    int workers;
    int64_t next; /* chunk of all, by atomic built-ins */
} loading;

static int load_share(int worker, int workers, void *user)
{
    loading *l = user;
    int64_t before = 0; /* chunks of the tensors before k */
    (void)workers;
    for (int64_t k = 0;;) {
        int64_t at = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED);
        while (k < l->n && at >= before + l->place[k].chunks) before += l->place[k++].chunks;
        if (k == l->n) return HPC_OK;
        int rc = move_chunk(&l->place[k], &l->scratch[worker], at - before);
        if (rc < 0) return rc;
    }
}

static int load_in_place(loading *l, hpc_pool *pool)
{
    size_t most = 0;
    int rc = HPC_OK;
    l->workers = hpc_pool_n(pool);
    l->scratch = hpc_alloc((size_t)l->workers, sizeof *l->scratch);
    if (!l->scratch) return HPC_E_NOMEM;
    for (int64_t k = 0; k < l->n; k++)
        if (step_most(&l->place[k]) > most) most = step_most(&l->place[k]);
    for (int k = 0; k < l->workers; k++) TRY(scratch_create(&l->scratch[k], most));
    TRY(hpc_pool_run(pool, load_share, l));
out:
    for (int k = 0; k < l->workers; k++) scratch_release(&l->scratch[k]);
    hpc_free(l->scratch);
    return rc;
}

/* Writes a chunk of matrix e in planes: a piece of each plane of the whole value. */
static int write_planes(const loading *l, hpc_value v, const place *p, int64_t e, int64_t all)
{
    const hpc_dtype d = (hpc_dtype)p->type->dtype;
    const int64_t k = p->from.cols, first = e * p->from.rows + p->first;
    size_t from, to, bytes;
    int rc = HPC_OK;
    for (int i = 0; hpc_planes_part(&from, &bytes, d, i, p->rows, 0, p->rows, k); i++) {
        (void)hpc_planes_part(&to, &bytes, d, i, all, first, p->rows, k);
        TRY(hpc_exec_write_part(l->e, 0, v, to, p->to + from, bytes));
    }
out:
    return rc;
}

/* Loads matrix e of a batch through the executor's ring, a chunk at a time, if the host cannot
 * write device memory. */
static int load_one(const loading *l, hpc_value v, const hpc_model_tensor *t, int64_t e)
{
    const hpc_type *type = &l->p->value[v].type;
    const hpc_model_tensor one = model_tensor_entry(t, e);
    const size_t all = entry_bytes(type, t), base = (size_t)e * all;
    scratch s = {0};
    place p = {0};
    int rc;
    TRY(find(&p, l->w, &one, type, NULL));
    TRY(scratch_create(&s, step_most(&p)));
    size_t chunk = (size_t)p.chunk_rows * row_bytes(&p);
    p.to = hpc_alloc_aligned(chunk, 1, HPC_ALIGN);
    if (!p.to) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < p.chunks; k++) {
        const size_t at = (size_t)k * chunk, bytes = all - at < chunk ? all - at : chunk;
        p.first = k * p.chunk_rows;
        p.rows = p.from.rows - p.first < p.chunk_rows ? p.from.rows - p.first : p.chunk_rows;
        TRY(move_chunk(&p, &s, k));
        TRY(type->pack == HPC_PLANES
                ? write_planes(l, v, &p, e, model_tensor_entries(t) * p.from.rows)
                : hpc_exec_write_part(l->e, 0, v, base + at, p.to, bytes));
    }
out:
    scratch_release(&s);
    hpc_free(p.to);
    return rc;
}

/* Loads a tensor into the state of its name: now, or later by all workers. */
static int add(loading *l, const hpc_model_tensor *t)
{
    hpc_value v = hpc_program_find(l->p, t->name);
    const hpc_type *type = &l->p->value[v].type;
    uint8_t *to = hpc_exec_address(l->e, 0, v);
    int rc = HPC_OK;
    if (to && type->rank == 3 && type->pack == HPC_PLAIN &&
        to == hpc_serve_mapped(l->w, t, type->dtype))
        return HPC_OK;
    for (int64_t e = 0; e < model_tensor_entries(t); e++)
        TRY(to ? find_entry(&l->place[l->n++], l->w, t, type, to, e) : load_one(l, v, t, e));
out:
    return rc;
}

int hpc_serve_frequencies(hpc_exec *e, const hpc_program *p, const hpc_model_config *c)
{
    hpc_value v = hpc_program_find(p, "rope.freq"), local = hpc_program_find(p, "rope.local_freq");
    int64_t n = hpc_rope_frequencies_n(c);
    int rc = HPC_OK;
    if (n == 0) return HPC_OK;
    float *x = hpc_alloc((size_t)n, sizeof *x);
    if (!x) return HPC_E_NOMEM;
    hpc_rope_frequencies(x, c);
    TRY(hpc_exec_write(e, 0, v, x, (size_t)n * sizeof *x));
    if (local < 0) goto out;
    hpc_rope_local_frequencies(x, c);
    TRY(hpc_exec_write(e, 0, local, x, (size_t)n * sizeof *x));
out:
    hpc_free(x);
    return rc;
}

int hpc_serve_load(hpc_exec *e, const hpc_program *p, const hpc_device *d, const hpc_weights *w,
                   const hpc_model_config *c)
{
    loading l = {.e = e, .p = p, .w = w};
    hpc_model_tensor *list = NULL;
    int64_t n = 0, places = 0;
    int rc;
    TRY(hpc_model_tensors(&list, &n, c));
    for (int64_t k = 0; k < n; k++) places += model_tensor_entries(&list[k]);
    l.place = hpc_alloc((size_t)places, sizeof *l.place);
    if (!l.place) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < n; k++) TRY(add(&l, &list[k]));
    if (l.n > 0) TRY(load_in_place(&l, hpc_device_pool(d)));
    TRY(hpc_serve_frequencies(e, p, c));
out:
    hpc_free(l.place);
    hpc_free(list);
    return rc;
}
