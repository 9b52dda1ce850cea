/*
 * set.c: a concurrent set of 128-bit keys. Keys are uniform (hashes and ids), so their bits select
 * the shard and the slot. Keys cannot be removed or listed.
 */
#include "runtime/git/priv.h"

enum { SHARDS = 64, FIRST_SLOTS = 256 };
/* Of all shards, 33 million keys: a gigabyte of memory at worst. */
enum { SHARD_MOST = 1 << 19 };

typedef struct shard {
    pthread_mutex_t lock;
    git_key *slot; /* all zero: free */
    uint64_t slots_n, n;
    char pad[24]; /* to a cache line and more: neighbours are locked by others */
} shard;

struct git_set {
    int made; /* locks to destroy */
    shard shard[SHARDS];
};

git_set *git_set_create(void)
{
    git_set *s = hpc_alloc(1, sizeof *s);
    if (!s) return NULL;
    for (; s->made < SHARDS; s->made++) {
        if (pthread_mutex_init(&s->shard[s->made].lock, NULL) == 0) continue;
        hpc_fail(HPC_E_NOMEM, "cannot create a lock");
        git_set_free(s);
        return NULL;
    }
    return s;
}

void git_set_free(git_set *s)
{
    if (!s) return;
    for (int k = 0; k < s->made; k++) {
        pthread_mutex_destroy(&s->shard[k].lock);
        hpc_free(s->shard[k].slot);
    }
    hpc_free(s);
}

/* The slot of the key, or the free one where it belongs. */
static git_key *find(const shard *h, git_key k)
{
    uint64_t mask = h->slots_n - 1, at = k.b & mask;
    while ((h->slot[at].a | h->slot[at].b) != 0 && (h->slot[at].a != k.a || h->slot[at].b != k.b))
        at = (at + 1) & mask;
    return &h->slot[at];
}

static int grow(shard *h)
{
    shard bigger = *h;
    bigger.slots_n = h->slots_n ? h->slots_n * 2 : FIRST_SLOTS;
    bigger.slot = hpc_alloc(bigger.slots_n, sizeof *bigger.slot);
    if (!bigger.slot) return HPC_E_NOMEM;
    for (uint64_t k = 0; k < h->slots_n; k++)
        if ((h->slot[k].a | h->slot[k].b) != 0) *find(&bigger, h->slot[k]) = h->slot[k];
    hpc_free(h->slot);
    h->slot = bigger.slot;
    h->slots_n = bigger.slots_n;
    return HPC_OK;
}

static int add(shard *h, git_key k)
{
    if (h->n >= h->slots_n / 4 * 3) {
        if (h->n >= SHARD_MOST)
            return hpc_fail(HPC_E_UNSUPPORTED,
                            "has more than %d million trees and files, which is not supported",
                            SHARD_MOST / 1000000 * SHARDS);
        int rc = grow(h);
        if (rc < 0) return rc;
    }
    git_key *slot = find(h, k);
    if ((slot->a | slot->b) != 0) return 0;
    *slot = k;
    h->n++;
    return 1;
}

int git_set_add(git_set *s, git_key k)
{
    if ((k.a | k.b) == 0) k.a = 1; /* zero means free */
    shard *h = &s->shard[k.a % SHARDS];
    pthread_mutex_lock(&h->lock);
    int rc = add(h, k);
    pthread_mutex_unlock(&h->lock);
    return rc;
}
