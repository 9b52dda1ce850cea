/*
 * passage.h: where a run of code comes from: the code of known sources as a file of hashes, and
 * texts held against it.
 *
 * Of the code tokens of each known text (comments, white space and line ends do not matter) every
 * fourth window of 17 is kept, as a key of a fuse.h map whose value is the set of sources that have
 * this window anywhere. A run of 40 tokens holds six kept windows four apart, wherever it begins:
 * it is found if all six are there and one source has them all. So no repeated run of 40 is missed,
 * but for two kinds that say nothing about where they come from: those with fewer than three
 * distinct names, and those of which more than four windows are common: in three repositories or
 * more, or under too many licences. Of runs of 37 to 39 tokens many are found as well, of 33 to 36
 * a few in a hundred, where a window is found by an accident. A file of passages holds no text but
 * the names of sources. It is untrusted when read.
 */
#ifndef HPC_PASSAGE_H
#define HPC_PASSAGE_H

#include "runtime/source/source.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HPC_PASSAGE_TOKENS = 40, /* a run of so many is found */
    HPC_PASSAGE_WINDOW = 17,
    HPC_PASSAGE_STRIDE = 4,
    HPC_PASSAGE_SPAN = 37,   /* tokens that its windows cover */
    HPC_PASSAGE_SOURCES = 4, /* of a window, in at most two repositories; with more it is common */
    HPC_PASSAGE_SOURCES_MOST = 256 /* of a file */
};

/* ---- finding ------------------------------------------------------------------------------- */
typedef struct hpc_passages hpc_passages; /* read-only: any number of threads */
int hpc_passages_open(hpc_passages **out, const char *path);
/* The same of bytes, which are borrowed as long as it is open; `name` for messages. */
int hpc_passages_parse(hpc_passages **out, const uint8_t *data, size_t n, const char *name);
void hpc_passages_close(hpc_passages *p);

typedef struct hpc_source { /* a repository, and a licence under which some of it is */
    const char *repository, *licence;
} hpc_source;
const hpc_source *hpc_passages_source(const hpc_passages *p, int64_t i); /* lives as long as p */
typedef struct hpc_passages_facts {
    int64_t bytes, sources_n, sets_n;      /* sets: of sources that windows have together */
    int64_t tokens_n, windows_n, common_n; /* read; distinct ones kept; of these, common ones */
} hpc_passages_facts;
void hpc_passages_describe(hpc_passages_facts *out, const hpc_passages *p);

typedef struct hpc_passage {
    int64_t first, last; /* tokens of the text, those that are no code among them: [first, last) */
    int64_t tokens;      /* of code, that are sure: up to three more may repeat at either end */
    int32_t source[HPC_PASSAGE_SOURCES]; /* who has it, each alone; ascending */
    int32_t sources_n;
} hpc_passage;
typedef struct hpc_passage_list {
    hpc_passage *item;
    int64_t n, cap;
} hpc_passage_list; /* zero to begin with; reused by the next call */
/* In tokens [lo, hi) of a text, in order of `first`; they may overlap where sources differ. */
int hpc_passages_find(hpc_passage_list *out, const hpc_passages *p, const hpc_tokens *t, int64_t lo,
                      int64_t hi);
void hpc_passage_list_release(hpc_passage_list *l);

/* ---- making (passage_make.c) ------------------------------------------------------------------
 */
/* In two rounds over the same texts: the first picks windows, the second learns who has them. The
 * same texts in the same order give the same bytes. */
typedef struct hpc_passage_maker hpc_passage_maker;
int hpc_passage_maker_create(hpc_passage_maker **out);
void hpc_passage_maker_free(hpc_passage_maker *m);
int hpc_passage_maker_pick(hpc_passage_maker *m, const hpc_tokens *t);
/* HPC_E_UNSUPPORTED: more than HPC_PASSAGE_SOURCES_MOST sources. */
int hpc_passage_maker_learn(hpc_passage_maker *m, const char *repository, const char *licence,
                            const hpc_tokens *t);
int hpc_passage_maker_finish(hpc_buf *out, hpc_passage_maker *m); /* appends the file */

#ifdef __cplusplus
}
#endif
#endif
