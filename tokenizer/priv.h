/*
 * priv.h: internals of the tokenizer: the handle, merging, the word cache, matching and splitting.
 */
#ifndef HPC_TOKENIZER_PRIV_H
#define HPC_TOKENIZER_PRIV_H

#include "tokenizer/tokenizer.h"

/* ---- the handle (tokenizer.c) ---------------------------------------------------------- */
typedef enum piece_kind {
    PIECE_NORMAL,
    PIECE_UNKNOWN,
    PIECE_CONTROL, /* special token: matched in text only with HPC_ENCODE_SPECIALS */
    PIECE_USER,    /* always matched in text, before merging, by the family's encode */
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
    /* Appends the ids of plain text, without special, begin or end tokens. first: start of the
     * text, where a dummy prefix applies. */
    int (*encode)(hpc_ids *ids, const hpc_tokenizer *t, hpc_tokenizer_scratch *s, const char *text,
                  size_t n, bool first);
    /* If not NULL, called instead of `encode` with the whole text: it finds special tokens itself,
     * as flags (HPC_ENCODE_SPECIALS, HPC_ENCODE_INNER) require. Then `cut` also holds for texts
     * with special tokens. */
    int (*encode_marked)(hpc_ids *ids, const hpc_tokenizer *t, hpc_tokenizer_scratch *s,
                         const char *text, size_t n, unsigned flags);
    /* Finds a position where a text that begins with text[0..n) may be cut, whatever follows:
     * encoding both parts separately gives the ids of the whole. true: *at is a cut in [lo, n), lo
     * > 0. false: none found; with more text, continue from *at. */
    bool (*cut)(size_t *at, const hpc_tokenizer *t, const char *text, size_t n, size_t lo);
    /* Finds a piece that is not in t->index, or -1. NULL: no such pieces. */
    int32_t (*find)(const hpc_tokenizer *t, const char *piece, size_t n);
    /* Appends the bytes of one id. first: there was no output before. Returns 1 if the next id is
     * not `first` although this one gave no output. */
    int (*decode)(hpc_buf *out, const hpc_tokenizer *t, int32_t id, bool first);
    /* Per-family state in a scratch; both may be NULL. */
    int (*scratch_create)(void **out, const hpc_tokenizer *t);
    void (*scratch_free)(void *state);
    void (*release)(hpc_tokenizer *t); /* releases `state` */
} tokenizer_family;

struct hpc_tokenizer {
    const tokenizer_family *family;
    hpc_arena *arena; /* pieces and their texts */
    tokenizer_piece *piece;
    int64_t n;
    hpc_map *index; /* piece text to id; family->find is the fallback */
    hpc_hash128 hash;
    hpc_tokenizer_special special;
    struct {
        const char *name; /* NULL: not set */
        int32_t id;
    } mark[HPC_SPECIAL_N];
    void *state; /* the family's */
};

/* ---- merging of pairs (merge.c) -------------------------------------------------------------- */
/* Symbols are non-negative numbers: ids of pieces, or larger numbers for strings
 * without a piece. */
typedef struct tokenizer_merges tokenizer_merges;
int tokenizer_merges_create(tokenizer_merges **out, int64_t expected);
void tokenizer_merges_free(tokenizer_merges *m);
/* Of equal pairs, the lowest rank is kept. */
int tokenizer_merges_add(tokenizer_merges *m, int32_t left, int32_t right, int32_t rank,
                         int32_t merged);
int64_t tokenizer_merges_n(const tokenizer_merges *m); /* number of pairs */
/* Merges in place: always the pair of lowest rank, and the leftmost of equals. Linear to n log n.
 * Frozen symbols (below 0) are kept unmerged. */
int tokenizer_merge(int32_t *symbol, int64_t *n, const tokenizer_merges *m,
                    hpc_tokenizer_scratch *s);
/* Like tokenizer_merge; last[x] becomes the last candidate pair for symbol x. */
typedef struct tokenizer_pair {
    int32_t left, right;
} tokenizer_pair;
int tokenizer_merge_tracked(int32_t *symbol, int64_t *n, const tokenizer_merges *m,
                            hpc_tokenizer_scratch *s, tokenizer_pair *last);

/* ---- word cache (cache.c) -------------------------------------------------------------------- */
/* Maps the bytes of a word to its ids. Bounded; evicts old entries. */
typedef struct tokenizer_cache tokenizer_cache;
int tokenizer_cache_create(tokenizer_cache **out);
void tokenizer_cache_free(tokenizer_cache *c);
/* The ids, or NULL if the word is not cached. */
const int32_t *tokenizer_cache_get(int64_t *n, tokenizer_cache *c, const char *word, size_t bytes);
void tokenizer_cache_put(tokenizer_cache *c, const char *word, size_t bytes, const int32_t *id,
                         int64_t n);

/* ---- matching words in text (match.c) -------------------------------------------------------- */
typedef struct tokenizer_matcher tokenizer_matcher;
int tokenizer_matcher_create(tokenizer_matcher **out);
void tokenizer_matcher_free(tokenizer_matcher *m);
/* Adds a word, not empty; of equal words, the last is kept. */
int tokenizer_matcher_add(tokenizer_matcher *m, const char *word, size_t n, int32_t id);
/* Length of the longest word that starts at text[at]; 0: none. */
size_t tokenizer_matcher_at(int32_t *id, const tokenizer_matcher *m, const char *text, size_t n,
                            size_t at);
/* First position at or after `at` where a word starts, or n. */
size_t tokenizer_matcher_find(const tokenizer_matcher *m, const char *text, size_t n, size_t at);
size_t tokenizer_matcher_longest(const tokenizer_matcher *m); /* in bytes; 0 without words */
/* Does a word start before p and end after it? */
bool tokenizer_matcher_spans(const tokenizer_matcher *m, const char *text, size_t n, size_t p);

struct hpc_tokenizer_scratch {
    const hpc_tokenizer *tokenizer;
    tokenizer_matcher *controls; /* PIECE_CONTROL tokens, used by tokenizer.c */
    tokenizer_cache *cache;
    hpc_ids symbols; /* symbols of the word being merged */
    hpc_buf heap;    /* heap of merge.c */
    void *state;     /* the family's */
};

/* ---- fixed pieces (words.c) ------------------------------------------------------------------ */
/* Pieces that are never split, NULL-terminated, in the arena; NULL: out of memory. */
const char *const *tokenizer_default_pieces(hpc_arena *a);

/* ---- other files -------------------------------------------------------------------------- */
int tokenizer_check_flags(unsigned flags); /* of hpc_tokenizer_encode */
/* Appends one id. */
int tokenizer_ids_add(hpc_ids *ids, int32_t id);
int tokenizer_ids_append(hpc_ids *ids, const int32_t *id, int64_t n);
/* Length of the UTF-8 character at text[0..n), n > 0; 0: invalid. */
int tokenizer_utf8(const char *text, size_t n, uint32_t *code_point);

/* ---- Unicode (unicode.c, nfc.c; make_unicode.py writes the table) ---------------------------- */
enum { /* properties of a code point, a bit set */
       UNI_LETTER = 1,
       UNI_NUMBER = 2,
       UNI_SPACE = 4,
       UNI_MARK = 8,
       UNI_PUNCT = 16,
       UNI_SYMBOL = 32,
       UNI_WORD = 64,        /* word character, for added tokens with single_word */
       UNI_NFC = 128,        /* may change, or change its neighbours, under NFC */
       UNI_OLD_PUNCT = 256,  /* punctuation for the pre-tokenizer Punctuation */
       UNI_NEW_NUMBER = 512, /* number for Digits; both use another Unicode version */
       UNI_SETS = 1024
};
typedef struct tokenizer_unicode {
    uint16_t *block; /* by block of 256 code points: index of its cells / 256 */
    uint16_t *cell;
} tokenizer_unicode;
int tokenizer_unicode_init(tokenizer_unicode *u, hpc_arena *arena);
static inline unsigned tokenizer_class(const tokenizer_unicode *u, uint32_t point)
{
    return u->cell[((size_t)u->block[point >> 8] << 8) + (point & 255)];
}
/* Decodes the character at text[0..), valid UTF-8; *bytes is its length. */
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
/* Length of the longest prefix that is valid UTF-8. */
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
/* Finds the next match in text[at..n), which may be empty. Returns 1 with *begin and
 * *end, or 0: none. All of text[0..n) is valid UTF-8 and may be read. `work` belongs
 * to a tokenizer_split_work. */
typedef int (*split_find)(size_t *begin, size_t *end, const split_step *s, const char *text,
                          size_t n, size_t at, void *work);
struct split_step {
    split_find find;
    const tokenizer_unicode *unicode;
    split_behaviour behaviour;
    bool invert;      /* the matches are the text between matches */
    unsigned class;   /* hand-written splitters: UNI_... to match */
    int64_t most;     /* longest run; 0: any */
    void *code;       /* of pattern.c */
    bool keeps, cuts; /* see tokenizer_split_cut */
};
enum { SPLIT_STEPS_MAX = 16, SPLIT_PATTERN_MAX = 16384 };
typedef struct tokenizer_split {
    split_step step[SPLIT_STEPS_MAX];
    int n;
    const tokenizer_unicode *unicode;
    bool known; /* use a hand-written splitter for a known pattern */
} tokenizer_split;
/* Adds a step for a regular expression or a literal text; `where` for messages. */
int tokenizer_split_regex(tokenizer_split *s, const char *pattern, split_behaviour behaviour,
                          bool invert, const char *where);
int tokenizer_split_literal(tokenizer_split *s, const char *text, split_behaviour behaviour,
                            bool invert, const char *where);
/* Adds a step that matches single characters of a class. */
int tokenizer_split_class(tokenizer_split *s, unsigned class, split_behaviour behaviour,
                          const char *where);
void tokenizer_split_release(tokenizer_split *s);
typedef struct tokenizer_split_work tokenizer_split_work; /* for one thread */
int tokenizer_split_work_create(tokenizer_split_work **out, const tokenizer_split *s);
void tokenizer_split_work_free(tokenizer_split_work *w);
/* Calls word() for each piece in order; pieces are not empty. Stops at an error. */
int tokenizer_split_run(const tokenizer_split *s, tokenizer_split_work *w, const char *text,
                        size_t n, int (*word)(void *user, const char *text, size_t n), void *user);
/* Can text be cut without changing pieces (1) after a newline between two printing ASCII
 * characters, and (2) between an ASCII letter or digit and a line end? Every step up to the first
 * that always splits there (`cuts`) must split both parts like the whole (`keeps`). */
bool tokenizer_split_cut(const tokenizer_split *s);
/* pattern.c: PCRE2 code of a step; tokenizer_split_known selects a hand-written splitter for a
 * pattern if there is one. */
int tokenizer_pattern_compile(split_step *s, const char *pattern, bool literal, const char *where);
void tokenizer_pattern_release(split_step *s);
int tokenizer_pattern_work_create(void **out);
void tokenizer_pattern_work_free(void *work);
bool tokenizer_split_known(split_step *s, const char *pattern);

#endif
