/*
 * pages.h: which pages of the cache hold whose past.
 *
 * A full page is known by all tokens up to its end: a sequence that begins with the
 * same ones takes it over, whoever computed it, now or later. Pages that nobody
 * holds stay known until their memory is wanted: the longest unused go first, and of a
 * text its end before its beginning. Nothing here touches the cache itself.
 */
#ifndef HPC_PAGES_H
#define HPC_PAGES_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_pages hpc_pages; /* one thread at a time */

/* A sequence's hold on its past; zero at first. `page` is the row of the page table. */
typedef struct hpc_past {
    int32_t *page;
    int64_t page_n, page_cap;
    int64_t known_n; /* of these, from the first on, so many are full and known */
} hpc_past;

typedef struct hpc_pages_count {
    int64_t held;  /* by somebody */
    int64_t idle;  /* known and held by nobody */
    int64_t empty; /* neither */
} hpc_pages_count;

int hpc_pages_create(hpc_pages **out, int64_t pages, int64_t page_tokens);
void hpc_pages_free(hpc_pages *p); /* when nothing is held */
hpc_pages_count hpc_pages_count_of(const hpc_pages *p);

/* Takes over what is known of token[0..n-1] into an empty past; *found: tokens that need not be
 * computed, whole pages of them. */
int hpc_pages_begin(hpc_pages *p, hpc_past *past, const int32_t *token, int64_t n, int64_t *found);
/* Tokens of token[0..n-1] that hpc_pages_begin would find. */
int64_t hpc_pages_known(const hpc_pages *p, const int32_t *token, int64_t n);
/* Tokens of the first text, in page order from *at on, that is known and is not the beginning of a
 * longer known one; they go to token[0..cap-1] if they fit. Moves *at after it. 0: no more. */
int64_t hpc_pages_text(int32_t *token, int64_t cap, const hpc_pages *p, int64_t *at);
/* Pages for so many tokens in all. HPC_E_STATE when others hold too many: nothing has changed, and
 * it may be tried again. */
int hpc_pages_reserve(hpc_pages *p, hpc_past *past, int64_t tokens);
/* token[0..n-1], all from the sequence's first on, are in the cache: what is full of them becomes
 * known. Where another has become known by the same tokens meanwhile, it is held in place of the
 * sequence's own. */
void hpc_pages_settle(hpc_pages *p, hpc_past *past, const int32_t *token, int64_t n);
/* Gives up what lies behind so many tokens, of those that its pages hold: they were guessed wrong,
 * or have been edited. A page that is cut must not be written to while others may hold it: it is
 * given up as a whole, and *left says what remains of the past. */
void hpc_pages_cut(hpc_pages *p, hpc_past *past, int64_t tokens, int64_t *left);
/* All of it; the past is empty then, and has no memory. */
void hpc_pages_end(hpc_pages *p, hpc_past *past);

#ifdef __cplusplus
}
#endif
#endif
