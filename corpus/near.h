/*
 * near.h: what near.c (which items are alike) and near_table.c (where candidates are found) have
 * in common.
 */
#ifndef HPC_CORPUS_NEAR_H
#define HPC_CORPUS_NEAR_H

#include "corpus/shingle.h"

/* A lane in a byte: seven bits of its hash, and in the top bit whether it is a copy. */
typedef struct near_lanes {
    uint8_t lane[CORPUS_LANES];
} near_lanes;

/* 21 bands of 6 lanes: a pair of similarity s shares one with probability 1 - (1 - s^6)^21, which
 * is 0.99995 at 0.85, 0.93 at 0.7 and 0.00002 at 0.1. */
enum { NEAR_BANDS = 21, NEAR_ROWS = 6 };
uint64_t corpus_near_key(const near_lanes *s, int band);

/* A hash table of ids, one for each band: by open addressing, with a byte of each key apart so that
 * a probe reads one cache line. Entries of one key are a bucket; it holds at most NEAR_BUCKET. */
enum { NEAR_BUCKET = 64, NEAR_OLDEST = 32 };
typedef struct near_table {
    uint8_t *tag; /* 0: empty */
    uint32_t *id;
    uint64_t size, n;
} near_table;

/* Where a key's bucket lies: ids of its entries, and where the next one goes. */
typedef struct near_bucket {
    uint32_t id[NEAR_BUCKET];
    uint32_t n;
    uint64_t next; /* the free place, or the entry that gives way when the bucket is full */
    uint8_t tag;
} near_bucket;

int corpus_near_table_reserve(near_table *t,
                              uint64_t size); /* of an empty one; frees what it had */
void corpus_near_table_release(near_table *t);
bool corpus_near_table_full(const near_table *t); /* it must grow before the next insertion */
void corpus_near_table_prefetch(const near_table *t, uint64_t key);
void corpus_near_table_find(near_bucket *out, const near_table *t, uint64_t key, uint32_t chance);
void corpus_near_table_put(near_table *t, const near_bucket *b, uint32_t id);

#endif
