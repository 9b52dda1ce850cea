/*
 * priv.h: internals of the scanners: classes of bytes, ends of names and blanks, the
 * hash of a spelling, and scanners of comments and strings.
 *
 * Every function takes the end of the text and never reads at or after it.
 */
#ifndef HPC_SOURCE_PRIV_H
#define HPC_SOURCE_PRIV_H

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "runtime/source/source.h"

/* ---- classes of bytes (token.c) --------------------------------------------- */
enum {
    HPC_CLASS_UNKNOWN, /* a token of one byte, like SOLO */
    HPC_CLASS_BLANK,   /* not the line feed */
    HPC_CLASS_NEWLINE,
    HPC_CLASS_NAME, /* letters, '_', '$' and all of UTF-8 beyond ASCII */
    HPC_CLASS_DIGIT,
    HPC_CLASS_SOLO, /* never part of a longer operator */
    HPC_CLASS_OPERATOR,
    HPC_CLASS_DOT,
    HPC_CLASS_SLASH,
    HPC_CLASS_QUOTE,
    HPC_CLASS_APOSTROPHE,
    HPC_CLASS_HASH,
    HPC_CLASS_LESS,
    HPC_CLASS_GREATER,
    HPC_CLASS_BACKSLASH,
    HPC_CLASS_BANG
};
extern const uint8_t hpc_byte_class[256];

static inline bool hpc_byte_in_name(uint8_t c)
{
    return hpc_byte_class[c] == HPC_CLASS_NAME || hpc_byte_class[c] == HPC_CLASS_DIGIT;
}

static inline bool hpc_byte_is_blank(uint8_t c)
{
    return hpc_byte_class[c] == HPC_CLASS_BLANK;
}

static inline bool hpc_byte_is_digit(uint8_t c)
{
    return hpc_byte_class[c] == HPC_CLASS_DIGIT;
}

static inline uint8_t hpc_byte_lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

/* The first byte at or after p that cannot be in a name. */
static inline const uint8_t *hpc_name_end(const uint8_t *p, const uint8_t *end)
{
#if defined(__SSE2__)
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)p);
        __m128i low = _mm_or_si128(v, _mm_set1_epi8(0x20));
        __m128i letter = _mm_and_si128(_mm_cmpgt_epi8(low, _mm_set1_epi8('a' - 1)),
                                       _mm_cmplt_epi8(low, _mm_set1_epi8('z' + 1)));
        __m128i digit = _mm_and_si128(_mm_cmpgt_epi8(v, _mm_set1_epi8('0' - 1)),
                                      _mm_cmplt_epi8(v, _mm_set1_epi8('9' + 1)));
        __m128i mark = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('_')),
                                    _mm_cmpeq_epi8(v, _mm_set1_epi8('$')));
        __m128i in = _mm_or_si128(_mm_or_si128(letter, digit), _mm_or_si128(mark, v));
        unsigned out = ~(unsigned)_mm_movemask_epi8(in) & 0xffffu;
        if (out) return p + __builtin_ctz(out);
        p += 16;
    }
#endif
    while (p < end && hpc_byte_in_name(*p)) p++;
    return p;
}

/* The first byte at or after p that is neither a space nor a tab. */
static inline const uint8_t *hpc_blanks_end(const uint8_t *p, const uint8_t *end)
{
#if defined(__SSE2__)
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)p);
        __m128i in = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(' ')),
                                  _mm_cmpeq_epi8(v, _mm_set1_epi8('\t')));
        unsigned out = ~(unsigned)_mm_movemask_epi8(in) & 0xffffu;
        if (out) return p + __builtin_ctz(out);
        p += 16;
    }
#endif
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    return p;
}

/* ---- the hash of a spelling ----------------------------------------------------
 * Blocks of 16 bytes, little endian, the last one padded with zeros; the length comes in at the
 * end. Up to 16 bytes take no branch. It is the same on every machine; not for secrets. */
typedef struct hpc_block {
    uint64_t low, high;
} hpc_block;
extern const hpc_block hpc_block_mask[17]; /* the first n bytes */

static inline hpc_block hpc_block_load(const uint8_t *p)
{
    hpc_block b;
    memcpy(&b.low, p, 8);
    memcpy(&b.high, p + 8, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    b.low = __builtin_bswap64(b.low);
    b.high = __builtin_bswap64(b.high);
#endif
    return b;
}

static inline uint64_t hpc_hash_block(uint64_t x, hpc_block b)
{
    uint64_t high = (b.high ^ 0x8cb92ba72f3d8dd7u) * 0xd6e8feb86659fd93u;
    x = (x ^ b.low) * 0x9e3779b97f4a7c15u;
    return (x ^ x >> 32) + (high << 27 | high >> 37);
}

static inline uint32_t hpc_hash_finish(uint64_t x, size_t n)
{
    x ^= (uint64_t)n * 0xff51afd7ed558ccdu;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return (uint32_t)(x >> 32);
}

/* Of [p, p + n) in a text that ends at `end`; the second folds ASCII to lower case. */
uint32_t hpc_hash_spelling(const uint8_t *p, size_t n, const uint8_t *end);
uint32_t hpc_hash_folded(const uint8_t *p, size_t n, const uint8_t *end);

/* hpc_hash_spelling where n <= 16 and 16 bytes may be read. */
static inline uint32_t hpc_hash_short(const uint8_t *p, size_t n)
{
    hpc_block b = hpc_block_load(p);
    b.low &= hpc_block_mask[n].low;
    b.high &= hpc_block_mask[n].high;
    return hpc_hash_finish(hpc_hash_block(0, b), n);
}

/* hpc_hash_spelling, with its common case in line. */
static inline uint32_t hpc_hash_quick(const uint8_t *p, size_t n, const uint8_t *end)
{
    return n > 16 || end - p < 16 ? hpc_hash_spelling(p, n, end) : hpc_hash_short(p, n);
}

enum { HPC_HASH_EMPTY = 0x0cb6819e }; /* hpc_token_hash("", 0) */
/* Token properties by first byte: most tokens are names or a single byte. */
typedef struct hpc_openings {
    uint32_t hash[256]; /* of this byte alone, unless it is late */
    uint8_t kind[256];
    uint8_t late[256]; /* 1: to be hashed later */
} hpc_openings;
extern const hpc_openings hpc_opening;

/* Tokens that have no hash yet. A lexer counts them without a branch, because the branch would be
 * hard to predict, and hashes many at a time. */
enum { HPC_LEX_ROOM = 72 }; /* free tokens that a step of a lexer may count on */
enum { HPC_LATE = 256 };
typedef struct hpc_late {
    hpc_token *item[HPC_LATE + HPC_LEX_ROOM];
    uint32_t n;
} hpc_late;
/* All of them, in a text that ends at `end`; fold: in lower case. None is left. */
void hpc_late_hash(hpc_late *l, const uint8_t *text, const uint8_t *end, bool fold);

/* True if a token has this spelling; case matters. */
static inline bool hpc_token_is(const hpc_token *t, const char *text, const char *word, size_t n)
{
    return t->n == n && memcmp(text + t->at, word, n) == 0;
}

/* ---- scanners (scan.c) ------------------------------------------------------------
 * Each returns the end of what begins at p, and what it met on the way. */
typedef struct hpc_span {
    const uint8_t *end;
    uint32_t lines; /* line feeds inside */
    bool open;      /* the text or the line ended first */
} hpc_span;
/* A backslash and a line end, blanks between them allowed: their end, or NULL. */
const uint8_t *hpc_scan_splice(const uint8_t *p, const uint8_t *end);
hpc_span hpc_scan_block_comment(const uint8_t *p, const uint8_t *end);
hpc_span hpc_scan_line_comment(const uint8_t *p, const uint8_t *end);
/* From the opening quote; escapes and splices inside. */
hpc_span hpc_scan_string(const uint8_t *p, const uint8_t *end);
/* The next byte of a string that needs a look: the quote, a backslash or a line feed. */
const uint8_t *hpc_scan_string_stop(const uint8_t *p, const uint8_t *end, uint8_t quote);
/* From the quote after an R; end NULL if it does not begin a raw string. */
hpc_span hpc_scan_raw_string(const uint8_t *p, const uint8_t *end);
const uint8_t *hpc_scan_number(const uint8_t *p, const uint8_t *end); /* C and its family */
/* The longest operator of C and its family that begins at p. */
const uint8_t *hpc_scan_operator(const uint8_t *p, const uint8_t *end);
/* The end of the blanks at p, on this line. */
const uint8_t *hpc_scan_blanks(const uint8_t *p, const uint8_t *end);
/* The line feed that ends this line, or the end of the text. */
const uint8_t *hpc_scan_line(const uint8_t *p, const uint8_t *end);
/* [p, q) without a carriage return before its end. */
const uint8_t *hpc_trim_return(const uint8_t *p, const uint8_t *q);

/* ---- languages (language.c, language_fortran.c) -------------------------------------- */
const char *hpc_path_extension(const char *path); /* without its dot; "" if absent */
/* Of a ".h" or ".inc": Fortran, C (and its family), or NONE. */
hpc_language hpc_language_of_shared(const uint8_t *p, const uint8_t *end, bool header);

/* ---- lines of Fortran (fortran_line.c) ------------------------------------------------ */
typedef enum hpc_line_kind {
    HPC_LINE_BLANK,
    HPC_LINE_COMMENT,
    HPC_LINE_PREPROCESSOR,
    HPC_LINE_DIRECTIVE,
    HPC_LINE_CODE
} hpc_line_kind;
typedef enum hpc_sentinel {
    HPC_SENTINEL_NONE,
    HPC_SENTINEL_OMP,
    HPC_SENTINEL_ACC,
    HPC_SENTINEL_IF_OPENMP /* "!$": code for compilers that know OpenMP */
} hpc_sentinel;
typedef struct hpc_fortran_line {
    hpc_line_kind kind;
    hpc_sentinel sentinel;
    const uint8_t *mark; /* its first byte that is not blank */
    uint32_t mark_n;     /* of the sentinel */
    const uint8_t *body; /* its first token: after sentinel and continuation mark */
    bool continues;      /* it bears the mark of a continuation line */
} hpc_fortran_line;
/* Of the line that begins at p. */
hpc_fortran_line hpc_fortran_line_at(const uint8_t *p, const uint8_t *end, bool fixed);

/* ---- functions (function.c, function_fortran.c, branch.c) ------------------------------ */
int hpc_functions_fortran(hpc_functions *out, const hpc_tokens *t, const char *text);
/* The branches of #if. All are walked, but where the first one leaves more or fewer braces open
 * than it found, the others would do the same again, and are skipped; so is "#if 0". */
typedef struct hpc_branch {
    int64_t state;                 /* at the #if */
    bool outer_skip, skip, unseen; /* around it; now; no branch of it has been walked yet */
} hpc_branch;
typedef struct hpc_branches {
    hpc_branch *item;
    int64_t n, cap;
} hpc_branches; /* zero to begin with; freed by hpc_free(item) */
/* Handles the directive with its sentinel at token i; `state` represents the open statements.
 * *skip: the tokens after it are skipped. */
int hpc_branch_at(bool *skip, hpc_branches *b, const hpc_tokens *t, const char *text, int64_t i,
                  int64_t state);

/* ---- lexers (lex.c, lex_fortran.c) ------------------------------------------------ */
/* Moves *t, *limit to where they are in a larger array. */
int hpc_lex_grow(hpc_tokens *out, hpc_token **t, hpc_token **limit);
int hpc_lex_fortran(hpc_tokens *out, const uint8_t *text, const uint8_t *end, bool fixed);

#endif
