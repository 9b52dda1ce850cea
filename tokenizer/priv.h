/*
 * priv.h: what the files of the tokenizer share and nobody else sees: the handle, the merging of
 * pairs, and the cache of words, which both families use.
 */
#ifndef HPC_TOKENIZER_PRIV_H
#define HPC_TOKENIZER_PRIV_H

#include "tokenizer/tokenizer.h"

/* ---- the handle (tokenizer.c) ---------------------------------------------------------- */
typedef enum piece_kind {
    PIECE_NORMAL,
    PIECE_UNKNOWN,
    PIECE_CONTROL, /* a special token: matched in text only with HPC_ENCODE_SPECIALS */
    PIECE_USER,    /* always matched in text, before any merging: by the family's encode */
    PIECE_BYTE,    /* one raw byte, as a fallback */
    PIECE_UNUSED
} piece_kind;
typedef struct tokenizer_piece {
    const char *text; /* NULL: no piece has this id */
    uint32_t n;
    float score;
    uint8_t kind;
} tokenizer_piece;

typedef struct tokenizer_family {
    const char *kind;
    /* Appends the ids of plain text (no special tokens, no begin and end). first: the text begins
     * here, so a dummy prefix or the like applies. */
    int (*encode)(hpc_ids *ids, const hpc_tokenizer *t, hpc_tokenizer_scratch *s, const char *text,
                  size_t n, bool first);
    /* When not NULL, called instead of `encode` and of any search for special tokens: it finds
     * them by itself, as flags (HPC_ENCODE_SPECIALS, HPC_ENCODE_INNER) say. `cut` then holds for
     * texts with special tokens as well. */
    int (*encode_marked)(hpc_ids *ids, const hpc_tokenizer *t, hpc_tokenizer_scratch *s,
                         const char *text, size_t n, unsigned flags);
    /* Where a text that begins with text[0..n) may be cut, whatever follows: encoding the two parts
     * one after the other gives the ids of the whole. true: the first place at or after lo, lo > 0,
     * that is cheap to find, below n. false: none in what is there; with more text, look from *at.
     */
    bool (*cut)(size_t *at, const hpc_tokenizer *t, const char *text, size_t n, size_t lo);
    /* The id of a piece that t->index does not have, or -1; NULL: there are none. */
    int32_t (*find)(const hpc_tokenizer *t, const char *piece, size_t n);
    /* Appends the bytes of one id's piece; first: nothing came out before it. 1: what follows is
     * not first any more, although this gave nothing. */
    int (*decode)(hpc_buf *out, const hpc_tokenizer *t, int32_t id, bool first);
    /* What the family keeps in a scratch; both may be NULL. */
    int (*scratch_create)(void **out, const hpc_tokenizer *t);
    void (*scratch_free)(void *state);
    void (*release)(hpc_tokenizer *t); /* of `state` */
} tokenizer_family;

struct hpc_tokenizer {
    const tokenizer_family *family;
    hpc_arena *arena; /* pieces and their texts */
    tokenizer_piece *piece;
    int64_t n;
    hpc_map *index; /* piece text to id, before family->find is asked */
    hpc_hash128 hash;
    hpc_tokenizer_special special;
    void *state; /* the family's */
};

/* ---- pairs (merge.c) --------------------------------------------------------------------
 * Symbols are non-negative numbers: ids of pieces, or numbers above them for what has no piece. */
typedef struct tokenizer_merges tokenizer_merges;
int tokenizer_merges_create(tokenizer_merges **out, int64_t expected);
void tokenizer_merges_free(tokenizer_merges *m);
/* Of equal pairs the least rank stays. */
int tokenizer_merges_add(tokenizer_merges *m, int32_t left, int32_t right, int32_t rank,
                         int32_t merged);
int64_t tokenizer_merges_n(const tokenizer_merges *m); /* pairs */
/* Merges in place, always the pair of least rank, of equals the leftmost, until none is left.
 * Linear to n log n. frozen symbols (below 0) are never merged and are left as they are. */
int tokenizer_merge(int32_t *symbol, int64_t *n, const tokenizer_merges *m,
                    hpc_tokenizer_scratch *s);
/* The same, and last[x] becomes the pair that was a candidate for x the last time. */
typedef struct tokenizer_pair {
    int32_t left, right;
} tokenizer_pair;
int tokenizer_merge_tracked(int32_t *symbol, int64_t *n, const tokenizer_merges *m,
                            hpc_tokenizer_scratch *s, tokenizer_pair *last);

/* ---- words already seen (cache.c) ---------------------------------------------------------
 * From the bytes of a word to its ids. Bounded; forgets by itself. */
typedef struct tokenizer_cache tokenizer_cache;
int tokenizer_cache_create(tokenizer_cache **out);
void tokenizer_cache_free(tokenizer_cache *c);
/* The ids, or NULL when the word is not there. */
const int32_t *tokenizer_cache_get(int64_t *n, tokenizer_cache *c, const char *word, size_t bytes);
void tokenizer_cache_put(tokenizer_cache *c, const char *word, size_t bytes, const int32_t *id,
                         int64_t n);

/* ---- words that are looked for in text (match.c) -------------------------------------------- */
typedef struct tokenizer_matcher tokenizer_matcher;
int tokenizer_matcher_create(tokenizer_matcher **out);
void tokenizer_matcher_free(tokenizer_matcher *m);
/* Not empty; of equal words the last stays. */
int tokenizer_matcher_add(tokenizer_matcher *m, const char *word, size_t n, int32_t id);
int64_t tokenizer_matcher_n(const tokenizer_matcher *m); /* words */
/* Length of the longest word that begins at text[at], 0 when none does. */
size_t tokenizer_matcher_at(int32_t *id, const tokenizer_matcher *m, const char *text, size_t n,
                            size_t at);
/* The first place at or after `at` where a word begins, or n. */
size_t tokenizer_matcher_find(const tokenizer_matcher *m, const char *text, size_t n, size_t at);
size_t tokenizer_matcher_longest(const tokenizer_matcher *m); /* bytes; 0 without words */
/* Whether some word begins before p and ends behind it. */
bool tokenizer_matcher_spans(const tokenizer_matcher *m, const char *text, size_t n, size_t p);

struct hpc_tokenizer_scratch {
    const hpc_tokenizer *tokenizer;
    tokenizer_matcher *controls; /* PIECE_CONTROL, of tokenizer.c */
    tokenizer_cache *cache;
    hpc_ids symbols; /* of the word being merged */
    hpc_buf heap;    /* of merge.c */
    void *state;     /* the family's */
};

/* ---- what is always one piece (words.c): NULL-terminated, in the arena; NULL: no memory ----- */
const char *const *tokenizer_default_pieces(hpc_arena *a);

/* ---- other files -------------------------------------------------------------------------- */
int tokenizer_check_flags(unsigned flags); /* of hpc_tokenizer_encode */
/* Appends one id. */
int tokenizer_ids_add(hpc_ids *ids, int32_t id);
int tokenizer_ids_append(hpc_ids *ids, const int32_t *id, int64_t n);
/* Length of the UTF-8 character at text[0..n), n > 0; 0 when it is not valid there. */
int tokenizer_utf8(const char *text, size_t n, uint32_t *code_point);

/* ---- Unicode (unicode.c, nfc.c; make_unicode.py writes the table) ---------------------------- */
enum { /* what a code point is: a set */
       UNI_LETTER = 1,
       UNI_NUMBER = 2,
       UNI_SPACE = 4,
       UNI_MARK = 8,
       UNI_PUNCT = 16,
       UNI_SYMBOL = 32,
       UNI_WORD = 64,        /* part of a word, where an added token wants to be a single one */
       UNI_NFC = 128,        /* may change, or change its neighbours, under NFC */
       UNI_OLD_PUNCT = 256,  /* what the pre-tokenizer Punctuation takes for punctuation, */
       UNI_NEW_NUMBER = 512, /* and Digits for numbers: both know another Unicode */
       UNI_SETS = 1024
};
typedef struct tokenizer_unicode {
    uint16_t *block; /* of 256 code points: where its cells begin, in units of 256 */
    uint16_t *cell;
} tokenizer_unicode;
int tokenizer_unicode_init(tokenizer_unicode *u, hpc_arena *arena);
static inline unsigned tokenizer_class(const tokenizer_unicode *u, uint32_t point)
{
    return u->cell[((size_t)u->block[point >> 8] << 8) + (point & 255)];
}
/* The character at text[0..) of valid UTF-8; *bytes is its length. */
static inline uint32_t tokenizer_point(const char *text, size_t *bytes)
{
    const uint8_t *p = (const uint8_t *)text;
    if (p[0] < 0x80) return *bytes = 1, p[0];
    if (p[0] < 0xe0) return *bytes = 2, (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
    if (p[0] < 0xf0) {
        return *bytes = 3, (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    }
    *bytes = 4;
    return (p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
}
/* Bytes of text that are valid UTF-8. */
size_t tokenizer_valid(const char *text, size_t n);

/* Normalises valid UTF-8 to form C. *out stays NULL if the text is in that form; otherwise it is
 * the data of `keep`. `points` is work space. Both buffers are overwritten and never shrink. */
int tokenizer_nfc_apply(const char **out, size_t *out_n, const tokenizer_unicode *u,
                        const char *text, size_t n, hpc_buf *keep, hpc_buf *points);
extern const uint32_t tokenizer_unicode_runs[];
extern const int tokenizer_unicode_runs_n;

/* ---- splitting into words (pretokenize.c, pattern.c, split_words.c, split_runs.c) ----------- */
typedef enum split_behaviour {
    SPLIT_ISOLATED,
    SPLIT_REMOVED,
    SPLIT_CONTIGUOUS,
    SPLIT_MERGED_PREVIOUS,
    SPLIT_MERGED_NEXT
} split_behaviour;
typedef struct split_step split_step;
/* The next match in text[at..n), which may be empty: 1, its place in *begin and *end; 0: none. All
 * of text[0..n) is valid UTF-8 and may be looked at. `work` is a tokenizer_split_work's. */
typedef int (*split_find)(size_t *begin, size_t *end, const split_step *s, const char *text,
                          size_t n, size_t at, void *work);
struct split_step {
    split_find find;
    const tokenizer_unicode *unicode;
    split_behaviour behaviour;
    bool invert;      /* the matches are what lies between */
    unsigned class;   /* the hand-written ones: UNI_... wanted, */
    int64_t most;     /* longest run, 0: any */
    void *code;       /* of pattern.c */
    bool keeps, cuts; /* see tokenizer_split_cut */
};
enum { SPLIT_STEPS_MAX = 16, SPLIT_PATTERN_MAX = 16384 };
typedef struct tokenizer_split {
    split_step step[SPLIT_STEPS_MAX];
    int n;
    const tokenizer_unicode *unicode;
    bool known; /* use the hand-written splitters where a pattern is one of theirs */
} tokenizer_split;
/* Adds a step of a regular expression or of a literal text; `where` for messages. */
int tokenizer_split_regex(tokenizer_split *s, const char *pattern, split_behaviour behaviour,
                          bool invert, const char *where);
int tokenizer_split_literal(tokenizer_split *s, const char *text, split_behaviour behaviour,
                            bool invert, const char *where);
/* A step that matches single characters of a class. */
int tokenizer_split_class(tokenizer_split *s, unsigned class, split_behaviour behaviour,
                          const char *where);
void tokenizer_split_release(tokenizer_split *s);
typedef struct tokenizer_split_work tokenizer_split_work; /* of one thread */
int tokenizer_split_work_create(tokenizer_split_work **out, const tokenizer_split *s);
void tokenizer_split_work_free(tokenizer_split_work *w);
/* Calls word() for each piece in order, none of them empty; stops at a failure. */
int tokenizer_split_run(const tokenizer_split *s, tokenizer_split_work *w, const char *text,
                        size_t n, int (*word)(void *user, const char *text, size_t n), void *user);
/* Whether no piece changes when text is cut (1) behind a newline that stands between two printing
 * ASCII characters, or (2) between an ASCII letter or digit and a line end. Every step up to the
 * first that always has a boundary there (`cuts`) must split both parts as it splits the whole
 * (`keeps`). */
bool tokenizer_split_cut(const tokenizer_split *s);
/* pattern.c: a step's PCRE2 code; and the hand-written equal of a pattern: whether there is one. */
int tokenizer_pattern_compile(split_step *s, const char *pattern, bool literal, const char *where);
void tokenizer_pattern_release(split_step *s);
int tokenizer_pattern_work_create(void **out);
void tokenizer_pattern_work_free(void *work);
bool tokenizer_split_known(split_step *s, const char *pattern);

#endif
