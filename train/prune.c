/*
 * prune.c: selects masks of a model's matrices by magnitude.
 *
 * The smallest kept magnitude is found by counting. The bits of a positive f32 are ordered like
 * its value, so the upper halves are counted first, then the lower halves within the right upper
 * half. It sorts nothing and holds one tensor in memory.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/prune.h"

enum { HALF = 1 << 16 };

/* ---- what may be ---------------------------------------------------------------------------- */

int hpc_prune_check(const hpc_prune_config *c, const hpc_optimizer_config *o,
                    const hpc_model_config *m, const hpc_parallel *q)
{
    if (!c->asked) return HPC_OK;
    if (!(c->sparsity >= 0 && c->sparsity < 1))
        return hpc_fail(HPC_E_ARG, "prune=%g must be in [0, 1)", c->sparsity);
    if (c->early_bird && c->every < 1)
        return hpc_fail(HPC_E_ARG, "prune-every=%lld must be at least 1", (long long)c->every);
    if (o->kind == HPC_OPT_SOAP)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "prune: the moments of soap belong to whole matrices in another basis and "
                        "cannot be pruned; choose another --optimizer");
    if (m->experts > 0)
        return hpc_fail(HPC_E_UNSUPPORTED, "prune: models with experts are not pruned");
    if (m->adapter.rank > 0)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "prune: with adapters (lora-rank) the matrices are not trained");
    if (q->zero > 1)
        return hpc_fail(
            HPC_E_UNSUPPORTED,
            "zero=%d: ranks can only shard the optimizer's state of a pruned model: use zero=1",
            q->zero);
    return HPC_OK;
}

int64_t hpc_prune_kept(double sparsity, int64_t n)
{
    return n - llround(sparsity * (double)n);
}

/* ---- masks ---------------------------------------------------------------------------------- */

static bool is_pruned(const hpc_model_tensor *t)
{
    return t->role == HPC_ROLE_MATRIX && t->block >= 0 && t->trainable && t->adapter == 0;
}

/* bits: allocate the bits of the masks. */
static int create(hpc_masks **out, const hpc_model_config *c, bool bits)
{
    hpc_model_tensor *tensor = NULL;
    hpc_masks *m = hpc_alloc(1, sizeof *m);
    int64_t n = 0;
    int rc = m ? HPC_OK : HPC_E_NOMEM;
    *out = NULL;
    if (rc < 0) return rc;
    TRY(hpc_model_tensors(&tensor, &n, c));
    m->mask = hpc_alloc((size_t)n + 1, sizeof *m->mask);
    if (!m->mask) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < n; k++) {
        if (!is_pruned(&tensor[k])) continue;
        hpc_mask *x = &m->mask[m->mask_n++];
        snprintf(x->name, sizeof x->name, "%s", tensor[k].name);
        x->n = tensor[k].extent[0] * tensor[k].extent[1];
        if (x->n > INT32_MAX)
            TRY(hpc_fail(HPC_E_UNSUPPORTED,
                         "prune: %s has %lld elements, more than an index of 32 bits counts",
                         x->name, (long long)x->n));
        if (bits) x->bits = hpc_alloc((size_t)x->n / 8 + 1, 1);
        if (bits && !x->bits) TRY(HPC_E_NOMEM);
        m->n += x->n;
    }
    *out = m;
    m = NULL;
out:
    hpc_free(tensor);
    hpc_masks_free(m);
    return rc;
}

int hpc_masks_create(hpc_masks **out, const hpc_model_config *c)
{
    return create(out, c, true);
}

void hpc_masks_free(hpc_masks *m)
{
    if (!m) return;
    for (int64_t k = 0; m->mask && k < m->mask_n; k++) hpc_free(m->mask[k].bits);
    hpc_free(m->mask);
    hpc_free(m);
}

int hpc_masks_copy(hpc_masks **out, const hpc_masks *m)
{
    hpc_masks *c = hpc_alloc(1, sizeof *c);
    int rc = c ? HPC_OK : HPC_E_NOMEM;
    *out = NULL;
    if (rc < 0) return rc;
    c->n = m->n;
    c->kept = m->kept;
    c->mask = hpc_alloc((size_t)m->mask_n + 1, sizeof *c->mask);
    if (!c->mask) TRY(HPC_E_NOMEM);
    for (; c->mask_n < m->mask_n; c->mask_n++) {
        const hpc_mask *from = &m->mask[c->mask_n];
        uint8_t *bits = hpc_alloc((size_t)from->n / 8 + 1, 1);
        if (!bits) TRY(HPC_E_NOMEM);
        memcpy(bits, from->bits, (size_t)from->n / 8 + 1);
        c->mask[c->mask_n] = *from;
        c->mask[c->mask_n].bits = bits;
    }
    *out = c;
    c = NULL;
out:
    hpc_masks_free(c);
    return rc;
}

const hpc_mask *hpc_masks_find(const hpc_masks *m, const char *name)
{
    for (int64_t k = 0; m && k < m->mask_n; k++)
        if (strcmp(m->mask[k].name, name) == 0) return &m->mask[k];
    return NULL;
}

static bool is_kept(const hpc_mask *m, int64_t i)
{
    return m->bits[i / 8] >> (i % 8) & 1;
}

static void keep(hpc_mask *m, int64_t i)
{
    m->bits[i / 8] |= (uint8_t)(1u << (i % 8));
    m->kept++;
}

static void clear(hpc_mask *m)
{
    memset(m->bits, 0, (size_t)m->n / 8 + 1);
    m->kept = 0;
}

static void count(hpc_masks *m)
{
    m->kept = 0;
    for (int64_t k = 0; k < m->mask_n; k++) m->kept += m->mask[k].kept;
}

int hpc_masks_assume(hpc_masks **out, const hpc_model_config *c, const hpc_prune_config *o)
{
    int rc = create(out, c, false);
    if (rc < 0) return rc;
    for (int64_t k = 0; k < (*out)->mask_n; k++)
        (*out)->mask[k].kept = hpc_prune_kept(o->sparsity, (*out)->mask[k].n);
    count(*out);
    return HPC_OK;
}

double hpc_masks_distance(const hpc_masks *a, const hpc_masks *b)
{
    int64_t differ = 0, most = a->kept + b->kept;
    for (int64_t k = 0; k < a->mask_n; k++)
        for (int64_t i = 0; i < a->mask[k].n / 8 + 1; i++)
            differ += __builtin_popcount((unsigned)(a->mask[k].bits[i] ^ b->mask[k].bits[i]));
    return most > 0 ? (double)differ / (double)most : 0;
}

void hpc_mask_list(int32_t *out, const hpc_mask *m)
{
    int64_t n = 0;
    for (int64_t i = 0; i < m->n; i++)
        if (is_kept(m, i)) out[n++] = (int32_t)i;
}

int hpc_mask_set(hpc_mask *m, const int32_t *list, int64_t n)
{
    int32_t last = -1;
    clear(m);
    for (int64_t i = 0; i < n; i++) {
        if (list[i] <= last || list[i] >= m->n)
            return hpc_fail(HPC_E_FORMAT, "index.%s does not ascend within its %lld elements",
                            m->name, (long long)m->n);
        keep(m, last = list[i]);
    }
    return HPC_OK;
}

/* Of parts that are numbered row by row, the one that begins at (r0, c0). */
static int64_t share_of(const hpc_mask *m, const hpc_type *local, int64_t cols, int64_t r0,
                        int64_t c0)
{
    int64_t parts = m->n / (local->extent[0] * local->extent[1]);
    int64_t part = r0 / local->extent[0] * (cols / local->extent[1]) + c0 / local->extent[1];
    return m->kept / parts + (part < m->kept % parts);
}

int64_t hpc_mask_part(int32_t *index, const hpc_mask *m, const hpc_type *local,
                      const hpc_type *whole, const hpc_grid_shape *s, const int *coord)
{
    int64_t rows = local->extent[0], cols = local->extent[1], n = 0;
    int64_t r0 = hpc_type_first(local, 0, s, coord), c0 = hpc_type_first(local, 1, s, coord);
    hpc_assert(m->bits || !index);
    if (!m->bits) return share_of(m, local, whole->extent[1], r0, c0);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) {
            if (!is_kept(m, (r0 + r) * whole->extent[1] + c0 + c)) continue;
            if (index) index[n] = (int32_t)(r * cols + c);
            n++;
        }
    return n;
}

/* ---- by magnitude ---------------------------------------------------------------------------- */

/* Some of the masks, chosen together. */
typedef struct choice {
    hpc_mask *mask;
    int64_t mask_n, kept;
    hpc_masks_read *read;
    void *user;
    float *room;
    int64_t *seen; /* by half of the bits */
} choice;

static uint32_t magnitude(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u & 0x7fffffff;
}

/* Counts magnitudes by the lower half of their bits for upper half `upper`, or by the upper half if
 * `upper` is negative. *half: the value above which fewer than *kept lie; *kept becomes the number
 * to keep at it. */
static int find_half(int32_t *half, int64_t *kept, const choice *c, int32_t upper)
{
    int rc = HPC_OK;
    memset(c->seen, 0, HALF * sizeof *c->seen);
    for (int64_t k = 0; k < c->mask_n; k++) {
        TRY(c->read(c->room, &c->mask[k], c->user));
        for (int64_t i = 0; i < c->mask[k].n; i++) {
            uint32_t u = magnitude(c->room[i]);
            if (upper < 0)
                c->seen[u >> 16]++;
            else if (u >> 16 == (uint32_t)upper)
                c->seen[u & (HALF - 1)]++;
        }
    }
    *half = HALF - 1;
    while (*half > 0 && *kept > c->seen[*half]) *kept -= c->seen[(*half)--];
out:
    return rc;
}

static int choose(const choice *c)
{
    int32_t upper, lower;
    int64_t ties = c->kept;
    int rc;
    TRY(find_half(&upper, &ties, c, -1));
    TRY(find_half(&lower, &ties, c, upper));
    uint32_t least = (uint32_t)upper << 16 | (uint32_t)lower;
    for (int64_t k = 0; k < c->mask_n; k++) {
        TRY(c->read(c->room, &c->mask[k], c->user));
        clear(&c->mask[k]);
        for (int64_t i = 0; i < c->mask[k].n; i++) {
            uint32_t u = magnitude(c->room[i]);
            if (u > least || (u == least && ties-- > 0)) keep(&c->mask[k], i);
        }
    }
out:
    return rc;
}

int hpc_masks_choose(hpc_masks *m, const hpc_prune_config *c, hpc_masks_read *read, void *user)
{
    choice all = {.mask = m->mask,
                  .mask_n = m->mask_n,
                  .kept = hpc_prune_kept(c->sparsity, m->n),
                  .read = read,
                  .user = user};
    int64_t most = 1;
    int rc = HPC_OK;
    for (int64_t k = 0; k < m->mask_n; k++)
        if (m->mask[k].n > most) most = m->mask[k].n;
    all.room = hpc_alloc((size_t)most, sizeof *all.room);
    all.seen = hpc_alloc(HALF, sizeof *all.seen);
    if (!all.room || !all.seen) TRY(HPC_E_NOMEM);
    if (!c->each) TRY(choose(&all));
    for (int64_t k = 0; c->each && k < m->mask_n; k++) {
        choice one = all;
        one.mask = &m->mask[k], one.mask_n = 1;
        one.kept = hpc_prune_kept(c->sparsity, m->mask[k].n);
        TRY(choose(&one));
    }
    count(m);
out:
    hpc_free(all.room);
    hpc_free(all.seen);
    return rc;
}
