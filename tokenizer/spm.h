/*
 * spm.h: the SentencePiece family, shared by the files that read, prepare, normalise and encode.
 * Nobody else includes it.
 *
 * Texts of pieces are kept as they appear in text, with blanks where the file has U+2581. So text
 * is encoded as it is, and a U+2581 in it is a character like any other, in no piece.
 */
#ifndef HPC_TOKENIZER_SPM_H
#define HPC_TOKENIZER_SPM_H

#include "tokenizer/priv.h"

/* A compiled normaliser: rules from prefixes of text to replacements, borrowed from the arena. */
typedef struct spm_rules {
    const uint8_t *trie; /* units of 4 bytes, little-endian */
    size_t units;
    const char *text; /* replacements, ended by NUL */
    size_t text_n;
} spm_rules;

/* ---- model.c: what the file says -------------------------------------------------- */
typedef struct spm_file {
    tokenizer_piece *piece;
    int64_t n;
    int64_t model_type;
    bool byte_fallback, suffix_blanks;                /* of the trainer's part */
    bool dummy_prefix, squeeze_blanks, escape_blanks; /* of the normaliser's part */
    const char *unknown_text;                         /* what an unknown piece decodes to */
    const char *begin, *end, *pad;                    /* names of these pieces */
    const char *rules, *back_rules;                   /* compiled normalisers */
    size_t rules_n, back_rules_n;
} spm_file;

/* ---- spm_prepare.c ------------------------------------------------------------------ */
/* A symbol below the number of pieces is a piece; one above it is a character that is in some
 * piece and is none itself. Characters in no piece are frozen: -1 - code point, and bytes that are
 * not UTF-8: -1 - SPM_RAW - byte; PIECE_USER: -1 - SPM_USER - id. */
enum {
    SPM_RAW = 0x110000,
    SPM_USER = SPM_RAW + 256,
    SPM_PIECES_MOST = 1 << 24,
    SPM_PIECE_MOST = 1024
};
typedef struct spm_text {
    const char *text;
    uint32_t n;
} spm_text;
typedef struct spm_parts spm_parts;
typedef struct spm_state {
    const spm_file *file;
    int64_t pieces_n;
    spm_text *symbol; /* bytes of each, pieces and characters */
    int64_t symbols_n;
    int32_t ascii[128]; /* symbol of a character, or frozen */
    hpc_map *character; /* of the others: code point to symbol */
    spm_parts *parts;   /* what may take part in a merge, pieces and characters */
    tokenizer_merges *merges;
    tokenizer_matcher *user;     /* PIECE_USER */
    tokenizer_matcher *marked;   /* the same as the file spells them: not normalised */
    int32_t byte[256];           /* id of each byte; the unknown piece when there are none */
    uint64_t joined[65536 / 64]; /* byte pairs at a boundary of characters inside some piece */
    spm_rules rules;
    bool any_unused;
} spm_state;
int spm_prepare(hpc_tokenizer *t, const spm_file *file, const char *name);
int32_t spm_find(const hpc_tokenizer *t, const char *piece, size_t n); /* family->find */
void spm_release(hpc_tokenizer *t);

/* ---- spm_parts.c: symbols by their texts ----------------------------------------------------- */
int spm_parts_create(spm_parts **out, const spm_state *m); /* borrows m->symbol */
void spm_parts_free(spm_parts *p);
/* Adds the text of m->symbol[symbol] unless it is there; *there is the symbol that has it now. */
int spm_parts_add(int32_t *there, spm_parts *p, int32_t symbol);
int32_t spm_parts_get(const spm_parts *p, const char *text, size_t n); /* -1: no symbol */
/* The same of text[from..to), n <= SPM_PIECE_MOST, once hash[0..n] has been filled. */
void spm_parts_hash(uint64_t *hash, const char *text, size_t n);
int32_t spm_parts_find(const spm_parts *p, const uint64_t *hash, const char *text, size_t from,
                       size_t to);

/* ---- spm_normalise.c ------------------------------------------------------------------ */
int spm_rules_read(spm_rules *out, const char *data, size_t n, const char *name);
/* Whether encoding needs a normalised copy of the text. */
bool spm_normalises(const spm_state *m);
/* Replaces *out. */
int spm_normalise(hpc_buf *out, const spm_state *m, const char *text, size_t n, bool first);

/* ---- spm_encode.c ------------------------------------------------------------------- */
extern const tokenizer_family tokenizer_spm;

#endif
