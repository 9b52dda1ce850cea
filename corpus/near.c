/*
 * near.c: finds near-duplicates incrementally.
 *
 * Two items are near if the estimated Jaccard similarity of their 5-token shingles is at least
 * NEAR. NEAR is chosen for the error of the estimate: of pairs with similarity 0.5 one in three
 * million is accepted, and of pairs with 0.85 one in thirty thousand is rejected. So texts need
 * not be compared.
 *
 * A dropped item that is at least SAME similar to an indexed one is not indexed: its neighbours
 * are also close to the indexed one, since 1 - J is a metric and NEAR leaves a margin below 0.85.
 * This keeps hundreds of versions of a file cheap.
 *
 * Each item is compared with at most NEAR_BUCKET others per band. Among thousands of half-similar
 * items some pairs near the threshold are missed.
 */
#include <string.h>

#include "corpus/near.h"

#define NEAR 0.7225
#define SAME 0.97

enum { BLOCK = 4096, SEEN = 4096, MOST = NEAR_BANDS * NEAR_BUCKET };

typedef struct entry {
    uint32_t shingles, slot;
} entry;

/* What remains of every item, indexed or not. */
typedef struct slot {
    uint64_t whole; /* hash of the signature */
    uint32_t item, parent;
    uint32_t original; /* a slot, its own when the item was kept */
} __attribute__((packed, aligned(4))) slot;

typedef struct block {
    near_lanes lanes[BLOCK];
    entry entry[BLOCK];
} block;

typedef struct candidate {
    uint32_t id;
    double estimate;
} candidate;

struct corpus_near {
    uint32_t *slot_of; /* by item: its slot + 1, or 0 */
    int64_t items_cap;
    slot *slots; /* by order of adding */
    int64_t slots_n, slots_cap;
    near_table twins; /* slots by signature, nearly always one for each */
    block **blocks;   /* indexed items, in order */
    int64_t blocks_cap;
    uint32_t entries_n;
    near_table table[NEAR_BANDS];
    /* of the item being added */
    near_lanes lanes;
    near_bucket bucket[NEAR_BANDS], twin;
    candidate candidates[MOST];
    uint32_t candidates_n; /* in the end, those that are close */
    uint32_t turn;         /* never 0: current mark in `seen` */
    uint64_t seen[SEEN];
};

/* ---- comparing two signatures ----------------------------------------------------- */

typedef uint8_t vector __attribute__((vector_size(16)));

static int sum_of(vector v)
{
    uint8_t byte[sizeof v];
    int sum = 0;
    memcpy(byte, &v, sizeof v);
    for (size_t i = 0; i < sizeof byte; i++) sum += byte[i];
    return sum;
}

/* Lanes that are not copied and equal; not copied in both items; not copied in one of them at
 * least. */
typedef struct agreement {
    int same, both, either;
} agreement;

static agreement compare(const near_lanes *a, const near_lanes *b)
{
    vector same = {0}, one = {0}, two = {0};
    for (size_t i = 0; i < CORPUS_LANES; i += sizeof(vector)) {
        vector x, y;
        memcpy(&x, &a->lane[i], sizeof x);
        memcpy(&y, &b->lane[i], sizeof y);
        same += (vector)(x == y) & ((x >> 7) ^ 1);
        one += (x | y) >> 7;
        two += (x & y) >> 7;
    }
    return (agreement){sum_of(same), CORPUS_LANES - sum_of(one), CORPUS_LANES - sum_of(two)};
}

/* Lanes of different shingles agree by chance in one of 128. */
static double estimate(const agreement *g)
{
    double chance = 1.0 / 128;
    double e = (g->same - chance * g->both) / (g->either - chance * g->both);
    return e < 0 ? 0 : e;
}

/* Returns 0 for pairs whose sizes rule out a match; sizes are estimates. */
static double compare_with(const near_lanes *a, uint32_t a_shingles, const near_lanes *b,
                           uint32_t b_shingles)
{
    double small = a_shingles < b_shingles ? a_shingles : b_shingles;
    double large = a_shingles < b_shingles ? b_shingles : a_shingles;
    if (small < 0.65 * large) return 0;
    agreement g = compare(a, b);
    return estimate(&g);
}

/* ---- storage ------------------------------------------------------------------------ */

int corpus_near_create(corpus_near **out, int64_t expected)
{
    int rc = HPC_E_NOMEM;
    corpus_near *x = hpc_alloc(1, sizeof *x);
    *out = NULL;
    if (!x) goto out;
    if (expected < 1024) expected = 1024;
    TRY(corpus_near_table_reserve(&x->twins, (uint64_t)expected + (uint64_t)expected / 3));
    for (int b = 0; b < NEAR_BANDS; b++)
        TRY(corpus_near_table_reserve(&x->table[b], (uint64_t)expected + (uint64_t)expected / 3));
    *out = x;
    return HPC_OK;
out:
    corpus_near_free(x);
    return rc;
}

void corpus_near_free(corpus_near *x)
{
    if (!x) return;
    for (int64_t i = 0; i < x->blocks_cap; i++) hpc_free(x->blocks[i]);
    hpc_free(x->blocks);
    for (int b = 0; b < NEAR_BANDS; b++) corpus_near_table_release(&x->table[b]);
    corpus_near_table_release(&x->twins);
    hpc_free(x->slot_of);
    hpc_free(x->slots);
    hpc_free(x);
}

static near_lanes *lanes_of(const corpus_near *x, uint32_t id)
{
    return &x->blocks[id / BLOCK]->lanes[id % BLOCK];
}

static entry *entry_of(const corpus_near *x, uint32_t id)
{
    return &x->blocks[id / BLOCK]->entry[id % BLOCK];
}

static uint32_t chance_of(uint32_t id)
{
    return (uint32_t)(hpc_mix(id + 1u) >> 40);
}

/* Grows a table by half and rebuilds it from the signatures: keys are not stored. */
static int grow_table(corpus_near *x, int band)
{
    near_bucket b;
    near_table *t = &x->table[band];
    int rc = corpus_near_table_reserve(t, t->size + t->size / 2);
    for (uint32_t id = 0; rc == HPC_OK && id < x->entries_n; id++) {
        corpus_near_table_find(&b, t, corpus_near_key(lanes_of(x, id), band), chance_of(id));
        corpus_near_table_put(t, &b, id);
    }
    return rc;
}

static int grow_twins(corpus_near *x)
{
    near_bucket b;
    near_table *t = &x->twins;
    int rc = corpus_near_table_reserve(t, t->size + t->size / 2);
    for (int64_t i = 0; rc == HPC_OK && i < x->slots_n; i++) {
        corpus_near_table_find(&b, t, x->slots[i].whole, 0);
        corpus_near_table_put(t, &b, (uint32_t)i);
    }
    return rc;
}

/* Reserves memory for one more item, so that nothing can fail between the first change and the
 * last. */
static int make_room(corpus_near *x, int64_t item)
{
    int rc = HPC_OK;
    if (x->turn == UINT32_MAX || x->slots_n == UINT32_MAX - 1 || item < 0 || item >= UINT32_MAX)
        return hpc_fail(HPC_E_UNSUPPORTED, "item %lld: at most 2^32 - 2 items can be compared",
                        (long long)item);
    TRY(hpc_grow(&x->slot_of, &x->items_cap, item + 1, sizeof *x->slot_of));
    if (x->slot_of[item])
        return hpc_fail(HPC_E_STATE, "item %lld was compared before", (long long)item);
    TRY(hpc_grow(&x->slots, &x->slots_cap, x->slots_n + 1, sizeof *x->slots));
    int64_t last = x->entries_n / BLOCK;
    TRY(hpc_grow(&x->blocks, &x->blocks_cap, last + 1, sizeof *x->blocks));
    if (!x->blocks[last]) x->blocks[last] = hpc_alloc_aligned(1, sizeof(block), 64);
    if (!x->blocks[last]) return HPC_E_NOMEM;
    if (corpus_near_table_full(&x->twins)) TRY(grow_twins(x));
    for (int b = 0; b < NEAR_BANDS; b++)
        if (corpus_near_table_full(&x->table[b])) TRY(grow_table(x, b));
out:
    return rc;
}

/* ---- components --------------------------------------------------------------------- */

static uint32_t find_root(corpus_near *x, uint32_t at)
{
    slot *s = x->slots;
    for (; s[at].parent != at; at = s[at].parent) s[at].parent = s[s[at].parent].parent;
    return at;
}

/* The root is the smallest item, which names the component. */
static void join(corpus_near *x, uint32_t a, uint32_t b)
{
    a = find_root(x, a);
    b = find_root(x, b);
    if (x->slots[a].item < x->slots[b].item)
        x->slots[b].parent = a;
    else
        x->slots[a].parent = b;
}

int64_t corpus_near_component(const corpus_near *x, int64_t item)
{
    if (item < 0 || item >= x->items_cap || !x->slot_of[item]) return item;
    uint32_t at = x->slot_of[item] - 1;
    while (x->slots[at].parent != at) at = x->slots[at].parent;
    return x->slots[at].item;
}

/* ---- adding -------------------------------------------------------------------------- */

/* An item with the same signature, whose result also applies here; or -1. */
static int64_t find_twin(corpus_near *x, uint64_t whole)
{
    corpus_near_table_find(&x->twin, &x->twins, whole, 0);
    for (uint32_t i = 0; i < x->twin.n; i++)
        if (x->slots[x->twin.id[i]].whole == whole) return x->twin.id[i];
    return -1;
}

static void look_up(corpus_near *x, const corpus_signature *s)
{
    uint64_t key[NEAR_BANDS];
    for (int i = 0; i < CORPUS_LANES; i++)
        x->lanes.lane[i] = (uint8_t)((s->lane[i] >> 1 & 0x7f) | (s->lane[i] & 1) << 7);
    for (int b = 0; b < NEAR_BANDS; b++) {
        key[b] = corpus_near_key(&x->lanes, b);
        corpus_near_table_prefetch(&x->table[b], key[b]);
    }
    for (int b = 0; b < NEAR_BANDS; b++)
        corpus_near_table_find(&x->bucket[b], &x->table[b], key[b], chance_of(x->entries_n));
}

static bool is_kept(const corpus_near *x, uint32_t at)
{
    return x->slots[at].original == at;
}

static void add_candidate(corpus_near *x, uint32_t id)
{
    uint64_t mark = (uint64_t)x->turn << 32 | id;
    uint32_t at = (uint32_t)(hpc_mix(id) % SEEN);
    for (; x->seen[at] >> 32 == x->turn; at = (at + 1) % SEEN)
        if (x->seen[at] == mark) return;
    x->seen[at] = mark;
    __builtin_prefetch(&lanes_of(x, id)->lane[0]);
    __builtin_prefetch(&lanes_of(x, id)->lane[64]);
    x->candidates[x->candidates_n++].id = id;
}

static void find_close(corpus_near *x, uint32_t shingles)
{
    uint32_t kept = 0;
    x->candidates_n = 0;
    x->turn++;
    for (int b = 0; b < NEAR_BANDS; b++)
        for (uint32_t i = 0; i < x->bucket[b].n; i++) add_candidate(x, x->bucket[b].id[i]);
    for (uint32_t i = 0; i < x->candidates_n; i++) {
        uint32_t id = x->candidates[i].id;
        double e = compare_with(&x->lanes, shingles, lanes_of(x, id), entry_of(x, id)->shingles);
        x->candidates[kept] = (candidate){id, e};
        kept += e >= NEAR;
    }
    x->candidates_n = kept;
}

static void put_slot(corpus_near *x, int64_t item, uint64_t whole, uint32_t original)
{
    uint32_t at = (uint32_t)x->slots_n++;
    x->slot_of[item] = at + 1;
    x->slots[at] = (slot){whole, (uint32_t)item, at, original};
}

static void put_entry(corpus_near *x, uint32_t shingles)
{
    uint32_t id = x->entries_n++;
    *lanes_of(x, id) = x->lanes;
    *entry_of(x, id) = (entry){shingles, (uint32_t)x->slots_n - 1};
    for (int b = 0; b < NEAR_BANDS; b++) corpus_near_table_put(&x->table[b], &x->bucket[b], id);
}

/* Joins similar items; *original: the first kept one, if any. Returns true if the item need not be
 * indexed. */
static bool join_close(uint32_t *original, corpus_near *x, uint32_t at)
{
    bool no_news = false;
    for (uint32_t i = 0; i < x->candidates_n; i++) {
        const candidate *c = &x->candidates[i];
        uint32_t other = entry_of(x, c->id)->slot;
        join(x, at, other);
        if (is_kept(x, other) && other < *original) *original = other;
        no_news |= c->estimate >= SAME;
    }
    return no_news && *original != at;
}

int corpus_near_add(int64_t *original, corpus_near *x, int64_t item, const corpus_signature *s)
{
    int rc;
    uint64_t whole = hpc_hash(s->lane, sizeof s->lane, s->shingles);
    *original = -1;
    TRY(make_room(x, item));
    uint32_t at = (uint32_t)x->slots_n, first = at;
    int64_t twin = find_twin(x, whole);
    if (twin >= 0) {
        first = x->slots[twin].original;
        put_slot(x, item, whole, first);
        join(x, at, (uint32_t)twin);
    } else {
        look_up(x, s);
        find_close(x, s->shingles);
        put_slot(x, item, whole, at);
        corpus_near_table_put(&x->twins, &x->twin, at);
        if (!join_close(&first, x, at)) put_entry(x, s->shingles);
        x->slots[at].original = first;
    }
    if (first != at) *original = x->slots[first].item;
out:
    return rc;
}
