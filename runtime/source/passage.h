/*
 * passage.h: attribution of code: an index of the code of known sources, stored as hashes, and the
 * search for its passages in a text.
 *
 * Comments, white space and line ends do not count. Of each known text's code tokens, every fourth
 * window of 17 is kept as a key of a fuse.h map. Its value is the set of sources that contain this
 * window anywhere. A run of 40 tokens contains six kept windows, four tokens apart, wherever it
 * begins. It is found if all six are in the map and one source has all of them.
 *
 * So every repeated run of 40 is found, except two kinds that do not identify a source. The first
 * has fewer than three distinct names. The second has more than four common windows: windows in
 * three or more repositories, or under too many licences. Many runs of 37 to 39 tokens are found,
 * and a few per cent of runs of 33 to 36, because a hash may match by accident.
 *
 * The file holds hashes and the names of sources, no other text. Readers treat it as untrusted.
 */
#ifndef HPC_PASSAGE_H
#define HPC_PASSAGE_H

#include "runtime/source/source.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HPC_PASSAGE_TOKENS = 40, /* every run of this length is found */
    HPC_PASSAGE_WINDOW = 17,
    HPC_PASSAGE_STRIDE = 4,
    HPC_PASSAGE_SPAN = 37,         /* tokens that its windows cover */
    HPC_PASSAGE_SOURCES = 4,       /* of a window, in at most two repositories; else it is common */
    HPC_PASSAGE_SOURCES_MOST = 256 /* of a file */
};

/* ---- search -------------------------------------------------------------------------------- */
typedef struct hpc_passages hpc_passages; /* read-only: any number of threads */
int hpc_passages_open(hpc_passages **out, const char *path);
/* Opens an index in memory, borrowed until it is closed; `name` is used in messages. */
int hpc_passages_parse(hpc_passages **out, const uint8_t *data, size_t n, const char *name);
void hpc_passages_close(hpc_passages *p);

typedef struct hpc_source { /* a repository, and a licence of some of its code */
    const char *repository, *licence;
} hpc_source;
const hpc_source *hpc_passages_source(const hpc_passages *p, int64_t i); /* lives as long as p */
typedef struct hpc_passages_facts {
    int64_t bytes, sources_n, sets_n;      /* sets: distinct sets of sources of a window */
    int64_t tokens_n, windows_n, common_n; /* read; distinct ones kept; of these, common ones */
} hpc_passages_facts;
void hpc_passages_describe(hpc_passages_facts *out, const hpc_passages *p);

typedef struct hpc_passage {
    int64_t first, last; /* tokens [first, last) of the text, including those that are not code */
    int64_t tokens;      /* code tokens, at least; up to three more at either end may match */
    int32_t source[HPC_PASSAGE_SOURCES]; /* sources that contain the whole passage; ascending */
    int32_t sources_n;
} hpc_passage;
typedef struct hpc_passage_list {
    hpc_passage *item;
    int64_t n, cap;
} hpc_passage_list; /* zero to begin with; reused by the next call */
/* Finds passages in tokens [lo, hi) of a text, in order of `first`. Passages of different sources
 * may overlap. */
int hpc_passages_find(hpc_passage_list *out, const hpc_passages *p, const hpc_tokens *t, int64_t lo,
                      int64_t hi);
void hpc_passage_list_release(hpc_passage_list *l);

/* ---- building an index (passage_make.c) ------------------------------------------------------ */
/* Two rounds over the same texts: `pick` selects windows, then `learn` records their sources. The
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
