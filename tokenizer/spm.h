/*
 * spm.h: the SentencePiece family: shared by the files that read, prepare, normalise and encode.
 *
 * Texts of pieces are stored as they appear in text: with blanks where the file has U+2581. So
 * text is encoded unchanged, and a U+2581 in it is an ordinary character that no piece contains.
 */
#ifndef HPC_TOKENIZER_SPM_H
#define HPC_TOKENIZER_SPM_H

#include "tokenizer/priv.h"

/* A compiled normaliser: maps prefixes of text to replacements. Borrows from the arena. */
typedef struct spm_rules {
    const uint8_t *trie; /* units of 4 bytes, little-endian */
    size_t units;
    const char *text; /* NUL-terminated replacements */
    size_t text_n;
} spm_rules;

/* ---- the file (model.c) ---------------------------------------------------------------------- */
typedef struct spm_file {
    tokenizer_piece *piece;
    int64_t n;
    int64_t model_type;
    bool byte_fallback, suffix_blanks;                /* from the trainer spec */
    bool dummy_prefix, squeeze_blanks, escape_blanks; /* from the normaliser spec */
    const char *unknown_text;                         /* text that an unknown piece decodes to */
    const char *begin, *end, *pad;                    /* names of these pieces */
    const char *rules, *back_rules;                   /* compiled normalisers */
    size_t rules_n, back_rules_n;
} spm_file;

/* ---- preparation (spm_prepare.c) ------------------------------------------------------------- */
/* A symbol below the number of pieces is a piece. A symbol above it is a character that occurs in a
 * piece but is not a piece. Frozen symbols: -1 - code point for characters in no piece, -1 -
 * SPM_RAW - byte for bytes that are not UTF-8, -1 - SPM_USER - id for PIECE_USER. */
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
    spm_text *symbol; /* bytes of each symbol, pieces and characters */
    int64_t symbols_n;
    int32_t ascii[128]; /* symbol of an ASCII character, or frozen */
    hpc_map *character; /* other characters: code point to symbol */
    spm_parts *parts;   /* symbols that can take part in a merge */
    tokenizer_merges *merges;
    tokenizer_matcher *user;   /* PIECE_USER */
    tokenizer_matcher *marked; /* PIECE_USER as spelled in the file, without normalisation */
    int32_t byte[256];         /* id of each byte; the unknown piece if there are no byte pieces */
    uint64_t joined[65536 / 64]; /* byte pairs at a character boundary inside some piece */
    spm_rules rules;
    bool any_unused;
} spm_state;
int spm_prepare(hpc_tokenizer *t, const spm_file *file, const char *name);
int32_t spm_find(const hpc_tokenizer *t, const char *piece, size_t n); /* family->find */
void spm_release(hpc_tokenizer *t);

/* ---- symbols by text (spm_parts.c) ----------------------------------------------------------- */
int spm_parts_create(spm_parts **out, const spm_state *m); /* borrows m->symbol */
void spm_parts_free(spm_parts *p);
/* Adds the text of m->symbol[symbol] if it is new; *there is the symbol that has this text. */
int spm_parts_add(int32_t *there, spm_parts *p, int32_t symbol);
int32_t spm_parts_get(const spm_parts *p, const char *text, size_t n); /* -1: no symbol */
/* Looks up text[from..to) by hashes; first fill hash[0..n], n <= SPM_PIECE_MOST. */
void spm_parts_hash(uint64_t *hash, const char *text, size_t n);
int32_t spm_parts_find(const spm_parts *p, const uint64_t *hash, const char *text, size_t from,
                       size_t to);

/* ---- normalisation (spm_normalise.c) --------------------------------------------------------- */
int spm_rules_read(spm_rules *out, const char *data, size_t n, const char *name);
/* Does encoding need a normalised copy of the text? */
bool spm_normalises(const spm_state *m);
/* Replaces the contents of *out. */
int spm_normalise(hpc_buf *out, const spm_state *m, const char *text, size_t n, bool first);

/* ---- encoding (spm_encode.c) ----------------------------------------------------------------- */
extern const tokenizer_family tokenizer_spm;

#endif
