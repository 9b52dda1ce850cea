/*
 * fuse.c: construction of a binary fuse filter (Graf and Lemire 2022). The look-up is in fuse.h.
 *
 * The same keys give the same slots on every machine: it uses no random seed and no
 * floating-point function.
 */
#include "runtime/base/fuse.h"

#include <string.h>

enum { TRIES = 200, LOG2_MOST = 18, TO_PEEL = 1 };

typedef struct peeled {
    uint64_t hash_key; /* the key */
    uint64_t at;       /* the place that it alone has */
    uint16_t value;
} peeled;

typedef struct builder {
    uint32_t *degree; /* of each place: how many keys have it */
    uint64_t *keys;   /* of each place: all of these, added by exclusive or */
    uint16_t *values; /* likewise; NULL: all are 0 */
    uint64_t *queue;  /* places with one key */
    peeled *order;
    uint64_t slots, queue_n, order_n;
} builder;

uint64_t hpc_fuse_slots(const hpc_fuse *f)
{
    if (f->segments == 0) return 0;
    if (f->segment_log2 > LOG2_MOST || f->segments > UINT32_MAX - 2) return 0;
    return ((uint64_t)f->segments + 2) << f->segment_log2;
}

uint64_t hpc_fuse_bytes(const hpc_fuse *f)
{
    return (hpc_fuse_slots(f) * f->bits + 7) / 8;
}

/* A segment of about n^(1/log2(3.33)), as the authors measured; more room at every further try, so
 * that few keys, which need more than 1.125 places each, get it. */
static void choose_shape(hpc_fuse *f, uint64_t n, int try)
{
    double left = (double)n * 14.98; /* 3.33^2.25 */
    f->segment_log2 = 0;
    for (; left >= 3.33 && f->segment_log2 < LOG2_MOST; left /= 3.33) f->segment_log2++;
    if (f->segment_log2 < 2) f->segment_log2 = 2;
    uint64_t room = n + n / 8 + n / 64 * (uint64_t)(try / 4) + 4 * (uint64_t)try;
    uint64_t segment = UINT64_C(1) << f->segment_log2;
    uint64_t segments = (room + segment - 1) / segment;
    f->segments = segments > 3 ? (uint32_t)(segments - 2) : 1;
    f->seed = hpc_mix((uint64_t)try + 1);
}

static void put_key(builder *b, const hpc_fuse *f, uint64_t key, uint16_t value)
{
    hpc_fuse_at p = hpc_fuse_place(f, key);
    for (int k = 0; k < 3; k++) {
        b->degree[p.at[k]]++;
        b->keys[p.at[k]] ^= key;
        if (b->values) b->values[p.at[k]] ^= value;
    }
}

static void take_key(builder *b, const hpc_fuse *f, uint64_t key, uint16_t value)
{
    hpc_fuse_at p = hpc_fuse_place(f, key);
    for (int k = 0; k < 3; k++) {
        b->keys[p.at[k]] ^= key;
        if (b->values) b->values[p.at[k]] ^= value;
        if (--b->degree[p.at[k]] == TO_PEEL) b->queue[b->queue_n++] = p.at[k];
    }
}

/* Takes away one key after the other that has a place of its own. True when none is left. */
static bool peel(builder *b, const hpc_fuse *f, const uint64_t *keys, const uint16_t *value,
                 uint64_t n)
{
    memset(b->degree, 0, b->slots * sizeof *b->degree);
    memset(b->keys, 0, b->slots * sizeof *b->keys);
    if (value) memset(b->values, 0, b->slots * sizeof *b->values);
    b->queue_n = b->order_n = 0;
    for (uint64_t i = 0; i < n; i++) put_key(b, f, keys[i], value ? value[i] : 0);
    for (uint64_t i = 0; i < b->slots; i++)
        if (b->degree[i] == TO_PEEL) b->queue[b->queue_n++] = i;
    while (b->queue_n > 0) {
        uint64_t at = b->queue[--b->queue_n];
        if (b->degree[at] != TO_PEEL) continue;
        peeled o = {b->keys[at], at, value ? b->values[at] : 0};
        b->order[b->order_n++] = o;
        take_key(b, f, o.hash_key, o.value);
    }
    return b->order_n == n;
}

/* A slot that is still 0. */
static void set_slot(uint8_t *slots, uint64_t at, uint32_t bits, uint32_t value)
{
    uint8_t *byte = slots + (at * bits >> 3);
    hpc_put32(byte, hpc_get32(byte) | value << (at * bits & 7));
}

/* In the opposite order, so that a key's own slot is set after its other two. */
static int assign(hpc_buf *out, const hpc_fuse *f, const builder *b)
{
    hpc_fuse filled = *f;
    uint8_t *slots = hpc_alloc(hpc_fuse_bytes(f) + HPC_FUSE_PAD, 1);
    if (!slots) return HPC_E_NOMEM;
    filled.slots = slots;
    for (uint64_t i = b->order_n; i-- > 0;) {
        const peeled *o = &b->order[i];
        hpc_fuse_at p = hpc_fuse_place(f, o->hash_key);
        uint32_t wanted = o->value & ((1u << f->bits) - 1);
        set_slot(slots, o->at, f->bits, hpc_fuse_value(&filled, &p) ^ wanted);
    }
    int rc = hpc_buf_add(out, slots, hpc_fuse_bytes(f));
    hpc_free(slots);
    return rc;
}

static void release(builder *b)
{
    hpc_free(b->degree);
    hpc_free(b->keys);
    hpc_free(b->values);
    hpc_free(b->queue);
    hpc_free(b->order);
    *b = (builder){0};
}

/* The queue holds a place at most once: its degree reaches one by falling only once. */
static int reserve(builder *b, uint64_t slots, uint64_t n, bool values)
{
    release(b);
    b->slots = slots;
    b->degree = hpc_alloc(slots, sizeof *b->degree);
    b->keys = hpc_alloc(slots, sizeof *b->keys);
    b->queue = hpc_alloc(slots, sizeof *b->queue);
    b->order = hpc_alloc(n, sizeof *b->order);
    if (values) b->values = hpc_alloc(slots, sizeof *b->values);
    bool all = b->degree && b->keys && b->queue && b->order && (b->values || !values);
    return all ? HPC_OK : HPC_E_NOMEM;
}

int hpc_fuse_build(hpc_fuse *f, hpc_buf *out, const uint64_t *keys, const uint16_t *value,
                   int64_t n, int bits)
{
    int rc = HPC_OK;
    hpc_assert(bits >= 1 && bits <= HPC_FUSE_BITS_MOST);
    builder b = {0};
    *f = (hpc_fuse){.slots = f->slots, .bits = (uint32_t)bits};
    for (int try = 0; n > 0; try++) {
        if (try == TRIES) {
            rc = hpc_fail(HPC_E_STATE, "no filter found for %lld keys: are they distinct?",
                          (long long)n);
            goto out;
        }
        choose_shape(f, (uint64_t)n, try);
        if (!b.keys || hpc_fuse_slots(f) != b.slots)
            TRY(reserve(&b, hpc_fuse_slots(f), (uint64_t)n, value != NULL));
        if (!peel(&b, f, keys, value, (uint64_t)n)) continue;
        TRY(assign(out, f, &b));
        break;
    }
out:
    release(&b);
    return rc;
}
