/*
 * fuse.c: building a binary fuse filter (Graf and Lemire 2022): a set of 64-bit keys in 18 bits
 * each, for the shingles of the sketch. sketch.h has the look-up.
 *
 * The same keys give the same slots on every machine: no random seed, no floating-point function.
 */
#include <string.h>

#include "corpus/sketch.h"

enum { TRIES = 200, LOG2_MOST = 18, TO_PEEL = 1 };

typedef struct peeled {
    uint64_t hash_key; /* the key */
    uint64_t at;       /* the place that it alone has */
} peeled;

typedef struct builder {
    uint32_t *degree; /* of each place: how many keys have it */
    uint64_t *keys;   /* of each place: all of these, added by exclusive or */
    uint64_t *queue;  /* places with one key */
    peeled *order;
    uint64_t slots, queue_n, order_n;
} builder;

uint64_t corpus_fuse_slots(const corpus_fuse *f)
{
    if (f->segments == 0) return 0;
    if (f->segment_log2 > LOG2_MOST || f->segments > UINT32_MAX - 2) return 0;
    return ((uint64_t)f->segments + 2) << f->segment_log2;
}

/* A segment of about n^(1/log2(3.33)), as the authors measured; more room at every further try, so
 * that few keys, which need more than 1.125 places each, get it. */
static void choose_shape(corpus_fuse *f, uint64_t n, int try)
{
    double left = (double)n * 14.98; /* 3.33^2.25 */
    f->segment_log2 = 0;
    for (; left >= 3.33 && f->segment_log2 < LOG2_MOST; left /= 3.33) f->segment_log2++;
    if (f->segment_log2 < 2) f->segment_log2 = 2;
    uint64_t room = n + n / 8 + n / 64 * (uint64_t)(try / 4) + 4 * (uint64_t)try;
    uint64_t segment = UINT64_C(1) << f->segment_log2;
    uint64_t segments = (room + segment - 1) / segment;
    f->segments = segments > 3 ? (uint32_t)(segments - 2) : 1;
    f->seed = corpus_mix((uint64_t)try + 1);
}

static void put_key(builder *b, const corpus_fuse *f, uint64_t key)
{
    corpus_place p = corpus_fuse_place(f, key);
    for (int k = 0; k < 3; k++) {
        b->degree[p.at[k]]++;
        b->keys[p.at[k]] ^= key;
    }
}

static void take_key(builder *b, const corpus_fuse *f, uint64_t key)
{
    corpus_place p = corpus_fuse_place(f, key);
    for (int k = 0; k < 3; k++) {
        b->keys[p.at[k]] ^= key;
        if (--b->degree[p.at[k]] == TO_PEEL) b->queue[b->queue_n++] = p.at[k];
    }
}

/* Takes away one key after the other that has a place of its own. True when none is left. */
static bool peel(builder *b, const corpus_fuse *f, const uint64_t *keys, uint64_t n)
{
    memset(b->degree, 0, b->slots * sizeof *b->degree);
    memset(b->keys, 0, b->slots * sizeof *b->keys);
    b->queue_n = b->order_n = 0;
    for (uint64_t i = 0; i < n; i++) put_key(b, f, keys[i]);
    for (uint64_t i = 0; i < b->slots; i++)
        if (b->degree[i] == TO_PEEL) b->queue[b->queue_n++] = i;
    while (b->queue_n > 0) {
        uint64_t at = b->queue[--b->queue_n];
        if (b->degree[at] != TO_PEEL) continue;
        b->order[b->order_n++] = (peeled){b->keys[at], at};
        take_key(b, f, b->keys[at]);
    }
    return b->order_n == n;
}

/* In the opposite order, so that a key's own place is set after its other two. */
static int assign(hpc_buf *out, const corpus_fuse *f, const builder *b)
{
    corpus_fuse filled = *f;
    uint8_t *slots = hpc_alloc(b->slots, 2);
    if (!slots) return HPC_E_NOMEM;
    filled.slots = slots;
    for (uint64_t i = b->order_n; i-- > 0;) {
        const peeled *o = &b->order[i];
        corpus_place p = corpus_fuse_place(f, o->hash_key);
        uint16_t value = p.print;
        for (int k = 0; k < 3; k++) value ^= corpus_fuse_slot(&filled, p.at[k]);
        value ^= corpus_fuse_slot(&filled, o->at);
        slots[2 * o->at] = (uint8_t)value;
        slots[2 * o->at + 1] = (uint8_t)(value >> 8);
    }
    int rc = hpc_buf_add(out, slots, 2 * b->slots);
    hpc_free(slots);
    return rc;
}

static void release(builder *b)
{
    hpc_free(b->degree);
    hpc_free(b->keys);
    hpc_free(b->queue);
    hpc_free(b->order);
    *b = (builder){0};
}

/* The queue holds a place at most once: its degree reaches one by falling only once. */
static int reserve(builder *b, uint64_t slots, uint64_t n)
{
    release(b);
    b->slots = slots;
    b->degree = hpc_alloc(slots, sizeof *b->degree);
    b->keys = hpc_alloc(slots, sizeof *b->keys);
    b->queue = hpc_alloc(slots, sizeof *b->queue);
    b->order = hpc_alloc(n, sizeof *b->order);
    return b->degree && b->keys && b->queue && b->order ? HPC_OK : HPC_E_NOMEM;
}

int corpus_fuse_build(corpus_fuse *f, hpc_buf *out, const uint64_t *keys, int64_t n)
{
    int rc = HPC_OK;
    builder b = {0};
    *f = (corpus_fuse){.slots = f->slots};
    for (int try = 0; n > 0; try++) {
        if (try == TRIES) {
            rc = hpc_fail(HPC_E_STATE, "no filter found for %lld keys: are they distinct?",
                          (long long)n);
            goto out;
        }
        choose_shape(f, (uint64_t)n, try);
        if (!b.keys || corpus_fuse_slots(f) != b.slots)
            TRY(reserve(&b, corpus_fuse_slots(f), (uint64_t)n));
        if (!peel(&b, f, keys, (uint64_t)n)) continue;
        TRY(assign(out, f, &b));
        break;
    }
out:
    release(&b);
    return rc;
}
