/*
 * passage_priv.h: shared by passage search and index building: the file format and the windows.
 */
#ifndef HPC_PASSAGE_PRIV_H
#define HPC_PASSAGE_PRIV_H

#include "runtime/base/bytes.h"
#include "runtime/base/fuse.h"
#include "runtime/source/passage.h"

/* ---- the file: all numbers little-endian ------------------------------------------------------
 *
 * Header; "repository TAB licence LF" of each source, padded with zeros to a multiple of eight; the
 * sets of several sources; the slots; and the XXH3-128 of everything before it. A set is four
 * 16-bit numbers, NO_SOURCE in unused places. The value of a key is the number of a source, then of
 * a set, then COMMON; larger values are invalid. */
#define PASSAGE_MAGIC "HPCPASSG"
enum {
    PASSAGE_VERSION = 2,    /* 1: PASSAGE_BITS is in bytes */
    PASSAGE_AT_VERSION = 8, /* 32 bits, then 32 of zero; all others 64 */
    PASSAGE_AT_LEXER = 16,  /* hpc_lexer_hash() of the program that wrote it */
    PASSAGE_AT_COUNTS = 24,
    PASSAGE_COUNTS = 7,
    PASSAGE_AT_MAP = PASSAGE_AT_COUNTS + 8 * PASSAGE_COUNTS, /* seed, log2 of a segment, segments */
    PASSAGE_HEADER = PASSAGE_AT_MAP + 24,
    PASSAGE_HASH = 16,
    PASSAGE_NO_SOURCE = 0xffff
};
enum {
    PASSAGE_TEXT_BYTES, /* of the names, with their padding */
    PASSAGE_SOURCES_N,
    PASSAGE_SETS_N,
    PASSAGE_BITS, /* of a slot */
    PASSAGE_TOKENS_N,
    PASSAGE_WINDOWS_N,
    PASSAGE_COMMON_N
};

/* ---- windows ------------------------------------------------------------------------------------
 * Keys of all windows of a text, one after the other. */
typedef struct passage_code { /* its code tokens; zero to begin with */
    uint32_t *hash;
    uint32_t *item; /* which tokens of the text they are */
    int64_t n, cap, item_cap;
} passage_code;
int passage_code_of(passage_code *out, const hpc_tokens *t, int64_t lo, int64_t hi);
void passage_code_release(passage_code *c);
int64_t passage_windows(const passage_code *c); /* how many there are */
/* On entry, *sum is that of window at - 1; ignored for window 0. Never returns 0. */
uint64_t passage_key(uint64_t *sum, const passage_code *c, int64_t at);

#endif
