/*
 * pieces.c: converts a model's tensors to a family's stored tensors: names, fusion, transposition,
 * pairing of rotary rows, merged adapters, and narrow or block types.
 *
 * It holds one stored tensor in memory. It does not depend on the container.
 */
#include <math.h>
#include <string.h>

#include "model/priv.h"

/* ---- what there is to write ----------------------------------------------------------------- */

static int add_piece(model_pieces *v, const hpc_model_tensor *t)
{
    model_stored s;
    int rc = model_stored_of(&s, v->f, v->c, t);
    if (rc < 0) return rc;
    for (int64_t k = v->n; k-- > 0 && s.slots > 1;)
        if (strcmp(v->piece[k].s.name, s.name) == 0) {
            v->piece[k].t[s.slot] = *t;
            return HPC_OK;
        }
    v->piece[v->n].s = s;
    v->piece[v->n++].t[s.slot] = *t;
    return HPC_OK;
}

/* Matrices of a batch are pieces of their own, unless the family stacks them. */
static int add_pieces(model_pieces *v, const hpc_model_tensor *t)
{
    const char *name = v->f->part[t->part];
    bool apart = t->batch > 0 && name && strchr(name, '%');
    int rc = HPC_OK;
    if (!apart) return add_piece(v, t);
    for (int64_t e = 0; e < t->batch; e++) {
        hpc_model_tensor one = model_tensor_entry(t, e);
        TRY(add_piece(v, &one));
    }
out:
    return rc;
}

static int64_t elements(const hpc_stored_tensor *l)
{
    int64_t n = 1;
    for (int k = 0; k < l->rank; k++) n *= l->extent[k];
    return n;
}

void model_pieces_type(model_pieces *v, int64_t i, hpc_dtype dtype)
{
    const hpc_dtype_info *info = hpc_dtype_get(dtype);
    hpc_stored_tensor *l = &v->list[i];
    l->dtype = dtype;
    l->bytes = (size_t)(elements(l) / info->block) * info->block_bytes;
}

int model_pieces_plan(model_pieces *v, hpc_dtype dtype)
{
    hpc_model_tensor *all = NULL;
    int64_t all_n = 0, most = 0;
    int rc = HPC_OK;
    TRY(hpc_model_tensors(&all, &all_n, v->c));
    for (int64_t k = 0; k < all_n; k++) most += model_tensor_entries(&all[k]);
    v->piece = hpc_alloc((size_t)most, sizeof *v->piece);
    v->list = hpc_alloc((size_t)most, sizeof *v->list);
    if (!v->piece || !v->list) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < all_n; k++)
        if (!all[k].adapter) TRY(add_pieces(v, &all[k]));
    for (int64_t k = 0; k < v->n; k++) {
        const model_stored *s = &v->piece[k].s;
        v->list[k] = (hpc_stored_tensor){.name = s->name, .rank = s->rank};
        for (int i = 0; i < s->rank; i++) v->list[k].extent[i] = s->extent[i];
        model_pieces_type(v, k, dtype);
    }
out:
    hpc_free(all);
    return rc;
}

void model_pieces_release(model_pieces *v)
{
    hpc_free(v->piece);
    hpc_free(v->list);
    for (size_t k = 0; k < sizeof v->batch / sizeof *v->batch; k++) hpc_free(v->batch[k].data);
}

/* ---- numbers -------------------------------------------------------------------------------- */

int model_batch_read(float *out, model_batch *b, const hpc_model_tensor *t,
                     int (*read)(float *out, const hpc_model_tensor *t, void *user), void *user)
{
    hpc_model_tensor all = *t;
    size_t n = (size_t)model_tensor_n(t);
    int rc = HPC_OK;
    if (!t->entry) return read(out, t, user);
    all.entry = 0;
    if (!b->data || strcmp(b->name, t->name) != 0) {
        hpc_free(b->data);
        b->data = hpc_alloc((size_t)model_tensor_n(&all), sizeof *b->data);
        if (!b->data) return HPC_E_NOMEM;
        b->name[0] = '\0';
        TRY(read(b->data, &all, user));
        memcpy(b->name, t->name, sizeof b->name);
    }
    memcpy(out, b->data + (size_t)(t->entry - 1) * n, n * sizeof *out);
out:
    return rc;
}

static int read_one(float *out, model_pieces *v, const hpc_model_tensor *t)
{
    return model_batch_read(out, &v->batch[t->adapter], t, v->read, v->user);
}

/* w += (alpha / rank) B A, of a single matrix. */
static int merge_one(float *w, model_pieces *v, const hpc_model_tensor *ta,
                     const hpc_model_tensor *tb)
{
    int64_t rank = ta->extent[0], rows = tb->extent[0], cols = ta->extent[1];
    float scale = (float)(v->c->adapter.alpha / (double)rank);
    float *a = hpc_alloc((size_t)model_tensor_n(ta), sizeof *a);
    float *b = hpc_alloc((size_t)model_tensor_n(tb), sizeof *b);
    int rc = a && b ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0) goto out;
    TRY(read_one(a, v, ta));
    TRY(read_one(b, v, tb));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < rank; i++) {
            float by = scale * b[r * rank + i];
            for (int64_t k = 0; k < cols; k++) w[r * cols + k] += by * a[i * cols + k];
        }
out:
    hpc_free(a);
    hpc_free(b);
    return rc;
}

/* Merges the adapters of t: of all matrices of a batch, or of the one that t describes. */
static int merge(float *w, model_pieces *v, const hpc_model_tensor *t)
{
    hpc_model_tensor ta, tb;
    int64_t first = t->entry ? t->entry - 1 : 0, n = model_tensor_entries(t);
    int rc = HPC_OK;
    if (!model_tensor_at(&ta, v->c, t->part, t->block, 1) ||
        !model_tensor_at(&tb, v->c, t->part, t->block, 2))
        return HPC_OK;
    for (int64_t e = 0; e < n; e++) {
        hpc_model_tensor a = model_tensor_entry(&ta, first + e);
        hpc_model_tensor b = model_tensor_entry(&tb, first + e);
        TRY(merge_one(w + e * (model_tensor_n(t) / n), v, &a, &b));
    }
out:
    return rc;
}

/* Adds the changes of the rows of trained tokens. */
static int merge_rows(float *w, const model_pieces *v, const hpc_model_tensor *t)
{
    hpc_model_tensor rows;
    float *x = NULL;
    int rc = HPC_OK;
    if (!model_tensor_at(&rows, v->c, t->part, t->block, 3)) return HPC_OK;
    x = hpc_alloc((size_t)model_tensor_n(&rows), sizeof *x);
    if (!x) TRY(HPC_E_NOMEM);
    TRY(v->read(x, &rows, v->user));
    for (int64_t r = 0; r < rows.extent[0]; r++)
        for (int64_t k = 0; k < rows.extent[1]; k++)
            w[v->c->adapter.token[r] * rows.extent[1] + k] += x[r * rows.extent[1] + k];
out:
    hpc_free(x);
    return rc;
}

/* Copies one of our tensors to its place in the stored tensor. */
static void put(float *stored, const model_stored *s, const float *ours, int64_t rows, int64_t cols)
{
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = model_stored_row(s, r);
        for (int64_t k = 0; k < cols; k++)
            stored[s->transposed ? k * s->total + at : at * cols + k] =
                ours[r * cols + k] - s->shift;
    }
}

static int64_t largest_of(const model_piece *p)
{
    int64_t most = 0;
    for (int slot = 0; slot < p->s.slots; slot++)
        if (model_tensor_n(&p->t[slot]) > most) most = model_tensor_n(&p->t[slot]);
    return most;
}

static int fill(float *stored, model_pieces *v, const model_piece *p)
{
    bool as_it_is = p->s.slots == 1 && !p->s.transposed && !p->s.paired && p->s.shift == 0;
    float *ours = as_it_is ? stored : hpc_alloc((size_t)largest_of(p), sizeof *ours);
    model_stored s;
    int rc = ours ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0) return rc;
    for (int slot = 0; slot < p->s.slots; slot++) {
        const hpc_model_tensor *t = &p->t[slot];
        TRY(read_one(ours, v, t));
        TRY(merge(ours, v, t));
        TRY(merge_rows(ours, v, t));
        if (as_it_is) continue;
        TRY(model_stored_of(&s, v->f, v->c, t));
        put(stored, &s, ours, t->extent[0], t->rank == 2 ? t->extent[1] : 1);
    }
out:
    if (!as_it_is) hpc_free(ours);
    return rc;
}

/* The least magnitude that is rounded to infinity, which for blocks is that of their f16 factors.
 */
static float too_much(hpc_dtype dtype)
{
    switch (dtype) {
    case HPC_F16: return 65520;
    case HPC_BF16: return 0x1.ffp127f;
    case HPC_Q8_0: return 65520.0f * 127;
    case HPC_Q4_0: return 65520.0f * 8;
    case HPC_Q6_K: return 65520.0f * 127;
    case HPC_Q4_K: return 65520.0f * 63;
    default: return INFINITY;
    }
}

/* Fails if a finite value would become infinite, or if a block type would hold a value that is not
 * finite. */
static int check_range(const float *x, int64_t n, hpc_dtype dtype, const char *name)
{
    float most = too_much(dtype);
    bool blocks = hpc_dtype_get(dtype)->quantised;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i]) ? fabsf(x[i]) >= most : blocks)
            return hpc_fail(HPC_E_ARG, "tensor %s: %g exceeds the range of %s", name, (double)x[i],
                            hpc_dtype_get(dtype)->name);
    return HPC_OK;
}

static int write_numbers(hpc_file_writer *w, const float *x, int64_t n, hpc_dtype dtype)
{
    enum { SOME = 1 << 16 }; /* whole blocks of every type */
    const hpc_dtype_info *info = hpc_dtype_get(dtype);
    int rc = HPC_OK;
    if (dtype == HPC_F32) return hpc_file_write(w, x, (size_t)n * sizeof *x);
    void *some = hpc_alloc((size_t)(SOME / info->block), info->block_bytes);
    if (!some) return HPC_E_NOMEM;
    for (int64_t i = 0; i < n; i += SOME) {
        int64_t m = n - i < SOME ? n - i : SOME;
        hpc_from_f32(some, dtype, x + i, m);
        TRY(hpc_file_write(w, some, (size_t)(m / info->block) * info->block_bytes));
    }
out:
    hpc_free(some);
    return rc;
}

int model_pieces_write(hpc_file_writer *w, model_pieces *v, int64_t i)
{
    const hpc_stored_tensor *l = &v->list[i];
    int64_t n = elements(l);
    float *stored = hpc_alloc((size_t)n, sizeof *stored);
    int rc = stored ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0) return rc;
    TRY(fill(stored, v, &v->piece[i]));
    TRY(check_range(stored, n, l->dtype, l->name));
    TRY(write_numbers(w, stored, n, l->dtype));
out:
    hpc_free(stored);
    return rc;
}
