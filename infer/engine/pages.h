/*
 * pages.h: the pages of the KV cache, and the sequences that hold them.
 *
 * A full page is identified by all tokens up to its end. A sequence with the same beginning shares
 * the page, whichever sequence computed it. Pages that no sequence holds stay known until their
 * memory is needed. The least recently used go first, and the end of a text before its beginning.
 * These functions do not access the cache itself.
 */
#ifndef HPC_PAGES_H
#define HPC_PAGES_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_pages hpc_pages; /* one thread at a time */

/* The pages of one sequence; initially zero. `page` is its row of the page table. */
typedef struct hpc_past {
    int32_t *page;
    int64_t page_n, page_cap;
    int64_t known_n; /* the first known_n pages are full and known */
} hpc_past;

typedef struct hpc_pages_count {
    int64_t held;  /* by a sequence */
    int64_t idle;  /* known, and held by no sequence */
    int64_t empty; /* neither */
} hpc_pages_count;

int hpc_pages_create(hpc_pages **out, int64_t pages, int64_t page_tokens);
void hpc_pages_free(hpc_pages *p); /* no page may be held */
hpc_pages_count hpc_pages_count_of(const hpc_pages *p);

/* Adds the known pages of token[0..n-1] to an empty past. *found: the tokens in them, which need
 * not be computed. */
int hpc_pages_begin(hpc_pages *p, hpc_past *past, const int32_t *token, int64_t n, int64_t *found);
/* Tokens of token[0..n-1] that hpc_pages_begin would find. */
int64_t hpc_pages_known(const hpc_pages *p, const int32_t *token, int64_t n);
/* Tokens of the first text, in page order from *at on, that is known and is not the beginning of a
 * longer known one; they go to token[0..cap-1] if they fit. Moves *at after it. 0: no more. */
int64_t hpc_pages_text(int32_t *token, int64_t cap, const hpc_pages *p, int64_t *at);
/* Reserves pages for `tokens` tokens in all. HPC_E_STATE: other sequences hold too many pages;
 * nothing has changed, and a later attempt may succeed. */
int hpc_pages_reserve(hpc_pages *p, hpc_past *past, int64_t tokens);
/* Declares that token[0..n-1], from the sequence's first token on, are in the cache: full pages
 * become known. If a page with the same tokens is already known, it replaces the sequence's own. */
void hpc_pages_settle(hpc_pages *p, hpc_past *past, const int32_t *token, int64_t n);
/* Releases the pages after the first `tokens` tokens, for rejected drafts and edited text. A page
 * that others may hold must not be written, so a page that is cut is released as a whole. *left:
 * the tokens that remain. */
void hpc_pages_cut(hpc_pages *p, hpc_past *past, int64_t tokens, int64_t *left);
/* Releases all pages; the past is then empty and holds no memory. */
void hpc_pages_end(hpc_pages *p, hpc_past *past);

#ifdef __cplusplus
}
#endif
#endif
