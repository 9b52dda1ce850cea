/*
 * map.c: a hash table from byte strings to 64-bit values.
 *
 * Entries are stored in insertion order. An open-addressed table of slots with linear
 * probing points at them. A slot holds part of the hash, so a probe reads an entry only
 * if it probably matches. Keys cannot be removed. The hash is not keyed: it does not
 * resist keys that are chosen to collide.
 */
#include "runtime/base/base.h"

#include <string.h>

enum { LEAST_SLOTS = 16, KEY_BLOCK_BYTES = 4096 };

typedef struct entry {
    const void *key; /* in map->keys */
    size_t bytes;
    uint64_t hash, value;
} entry;

typedef struct slot {
    uint32_t tag;    /* upper half of the hash */
    uint32_t number; /* of the entry, from 1; 0: empty */
} slot;

struct hpc_map {
    hpc_arena *keys;
    entry *entries;
    int64_t n, cap;
    slot *slots;
    uint64_t slots_n; /* a power of two, or 0; at most three quarters in use */
};

static uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 29;
    h *= 0x9fb21c651e98df25u;
    return h ^ h >> 32;
}

static uint64_t hash_of(const void *key, size_t bytes)
{
    const unsigned char *p = key;
    uint64_t h = 0x9e3779b97f4a7c15u ^ bytes, word;
    size_t left = bytes;
    for (; left >= sizeof word; left -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        h = mix(h ^ word);
    }
    word = 0;
    if (left > 0) memcpy(&word, p, left);
    return mix(h ^ word);
}

hpc_map *hpc_map_create(void)
{
    hpc_map *m = hpc_alloc(1, sizeof *m);
    if (!m) return NULL;
    m->keys = hpc_arena_create(KEY_BLOCK_BYTES);
    if (m->keys) return m;
    hpc_free(m);
    return NULL;
}

void hpc_map_free(hpc_map *m)
{
    if (!m) return;
    hpc_arena_free(m->keys);
    hpc_free(m->entries);
    hpc_free(m->slots);
    hpc_free(m);
}

static entry *find(const hpc_map *m, uint64_t hash, const void *key, size_t bytes)
{
    if (m->slots_n == 0) return NULL;
    uint64_t mask = m->slots_n - 1;
    for (uint64_t i = hash & mask; m->slots[i].number != 0; i = (i + 1) & mask) {
        if (m->slots[i].tag != hash >> 32) continue;
        entry *e = &m->entries[m->slots[i].number - 1];
        if (e->hash == hash && e->bytes == bytes && (!bytes || memcmp(e->key, key, bytes) == 0))
            return e;
    }
    return NULL;
}

static void occupy(slot *slots, uint64_t slots_n, uint64_t hash, int64_t number)
{
    uint64_t mask = slots_n - 1, i = hash & mask;
    while (slots[i].number != 0) i = (i + 1) & mask;
    slots[i] = (slot){(uint32_t)(hash >> 32), (uint32_t)number};
}

/* Reserves capacity for one more entry; does not change the contents. */
static int make_room(hpc_map *m)
{
    if (m->n >= UINT32_MAX - 1)
        return hpc_fail(HPC_E_NOMEM, "a map holds at most %u keys; split it", UINT32_MAX - 1);
    int rc = hpc_grow(&m->entries, &m->cap, m->n + 1, sizeof *m->entries);
    if (rc < 0 || (uint64_t)m->n + 1 <= m->slots_n / 4 * 3) return rc;

    uint64_t slots_n = m->slots_n > 0 ? 2 * m->slots_n : LEAST_SLOTS;
    slot *slots = hpc_alloc(slots_n, sizeof *slots);
    if (!slots) return HPC_E_NOMEM;
    for (int64_t i = 0; i < m->n; i++) occupy(slots, slots_n, m->entries[i].hash, i + 1);
    hpc_free(m->slots);
    m->slots = slots;
    m->slots_n = slots_n;
    return HPC_OK;
}

int hpc_map_put(hpc_map *m, const void *key, size_t bytes, uint64_t value)
{
    uint64_t hash = hash_of(key, bytes);
    entry *e = find(m, hash, key, bytes);
    if (e) {
        e->value = value;
        return HPC_OK;
    }
    int rc = make_room(m);
    if (rc < 0) return rc;
    void *copy = hpc_arena_alloc(m->keys, bytes, 1);
    if (!copy) return HPC_E_NOMEM;
    if (bytes > 0) memcpy(copy, key, bytes);
    m->entries[m->n] = (entry){copy, bytes, hash, value};
    m->n++;
    occupy(m->slots, m->slots_n, hash, m->n);
    return HPC_OK;
}

bool hpc_map_get(const hpc_map *m, const void *key, size_t bytes, uint64_t *value)
{
    const entry *e = find(m, hash_of(key, bytes), key, bytes);
    if (e && value) *value = e->value;
    return e != NULL;
}

int64_t hpc_map_n(const hpc_map *m)
{
    return m->n;
}

const void *hpc_map_at(const hpc_map *m, int64_t i, size_t *bytes, uint64_t *value)
{
    if (i < 0 || i >= m->n) return NULL;
    if (bytes) *bytes = m->entries[i].bytes;
    if (value) *value = m->entries[i].value;
    return m->entries[i].key;
}
