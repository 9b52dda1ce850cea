/*
 * near.h: shared by near.c (near-duplicates) and near_table.c (candidates).
 */
#ifndef HPC_CORPUS_NEAR_H
#define HPC_CORPUS_NEAR_H

#include "corpus/shingle.h"

/* Each lane in a byte: seven bits of its hash; the top bit marks a copied lane. */
typedef struct near_lanes {
    uint8_t lane[CORPUS_LANES];
} near_lanes;

/* 21 bands of 6 lanes. A pair with similarity s shares a band with probability 1 - (1 - s^6)^21:
 * 0.99995 at 0.85, 0.93 at 0.7, 0.00002 at 0.1. */
enum { NEAR_BANDS = 21, NEAR_ROWS = 6 };
uint64_t corpus_near_key(const near_lanes *s, int band);

/* A hash table of ids, one per band. Open addressing, with one byte of each key in a
 * separate array, so a probe reads one cache line. The entries of a key are a bucket
 * of at most NEAR_BUCKET. */
enum { NEAR_BUCKET = 64, NEAR_OLDEST = 32 };
typedef struct near_table {
    uint8_t *tag; /* 0: empty */
    uint32_t *id;
    uint64_t size, n;
} near_table;

/* A key's bucket: the ids of its entries, and the insertion position. */
typedef struct near_bucket {
    uint32_t id[NEAR_BUCKET];
    uint32_t n;
    uint64_t next; /* a free position, or the entry to replace if the bucket is full */
    uint8_t tag;
} near_bucket;

/* Allocates an empty table; frees the old one. */
int corpus_near_table_reserve(near_table *t, uint64_t size);
void corpus_near_table_release(near_table *t);
bool corpus_near_table_full(const near_table *t); /* it must grow before the next insertion */
void corpus_near_table_prefetch(const near_table *t, uint64_t key);
void corpus_near_table_find(near_bucket *out, const near_table *t, uint64_t key, uint32_t chance);
void corpus_near_table_put(near_table *t, const near_bucket *b, uint32_t id);

#endif
