/*
 * byte_level.h: a byte-level tokenizer as json.c and prepared.c read it and byte_level.c runs it.
 */
#ifndef HPC_TOKENIZER_BYTE_LEVEL_H
#define HPC_TOKENIZER_BYTE_LEVEL_H

#include "tokenizer/priv.h"

typedef struct byte_added { /* an added token, looked for in text */
    int32_t id;
    bool special; /* only with HPC_ENCODE_SPECIALS; without it its place is passed over */
    bool single_word, lstrip, rstrip;
} byte_added;

typedef struct byte_text {
    const char *text;
    uint32_t n;
    bool made; /* of bytes: one itself, or by merging */
} byte_text;

enum { SPELLING_END = 0x144 }; /* above the last character that spells a byte */

typedef struct byte_level {
    tokenizer_unicode unicode;
    bool nfc;                      /* text is normalised to form C */
    tokenizer_matcher *raw, *late; /* added tokens before and after normalising, by index */
    byte_added *added;
    int64_t added_n;
    tokenizer_split split;
    bool prefix_space; /* a space before every text, and behind added tokens, that has none */
    bool whole_words;  /* a word that is a piece is that piece, whatever the merges say */
    bool fuse_unknown; /* of several unknown bytes in a row one unknown */
    bool cut;          /* byte_level_cut may look for places */
    int32_t unknown;   /* -1: none */
    int32_t byte_id[256];
    uint8_t spelled[256][2]; /* of a byte: its character in pieces, */
    uint8_t spelled_n[256];
    int16_t byte_of[SPELLING_END]; /* of a character: the byte, or -1 */
    tokenizer_merges *merges;
    byte_text *bytes; /* of an id: what it stands for */
} byte_level;

extern const tokenizer_family byte_level_family;
/* How bytes are spelled in pieces: printing characters for themselves, the others from U+0100. */
void byte_level_spell(byte_level *b);
/* The bytes of a spelled piece in `out`, which has room for n; false: not spelled so. */
bool byte_level_unspell(char *out, size_t *out_n, const byte_level *b, const char *piece, size_t n);

/* ---- reading (json.c, json_steps.c, prepared.c) -------------------------------------------- */
typedef struct json_merge { /* ids */
    int32_t left, right, merged;
} json_merge;
/* Pieces and merges that come as numbers: what a prepared form has beside a tokenizer.json without
 * them. Pieces by rising id; texts one behind the other. */
typedef struct json_given {
    const uint8_t *id, *length, *merge; /* four bytes each; three of them for a merge */
    const char *text;
    size_t text_n;
    int64_t pieces_n, merges_n;
} json_given;
typedef struct json_reader {
    hpc_tokenizer *t;
    byte_level *b;
    const hpc_json *root, *model;
    const json_given *given; /* NULL: model has them */
    const char *name;
    hpc_buf text; /* of what is put together to be looked up */
} json_reader;
int json_open(hpc_tokenizer **out, const void *data, size_t n, const json_given *given,
              hpc_hash128 hash, const char *name);
/* `spelled`: in the characters that stand for bytes. */
int json_add_piece(json_reader *r, int32_t id, const char *text, size_t n, uint8_t kind,
                   bool spelled);
/* The i-th, "a b" or ["a", "b"]: of r, t->index is looked at. */
int json_read_merge(json_merge *out, json_reader *r, const hpc_json *v, int64_t i);
int json_add_merge(json_reader *r, const json_merge *m, int64_t i);
int64_t json_given_most(const json_given *g); /* the greatest id; -1: there are no pieces */
int json_given_pieces(json_reader *r);
int json_given_merges(json_reader *r);
/* json_steps.c: normalizer, pre_tokenizer and decoder; and, once all pieces are known, the
 * post_processor. */
int json_read_steps(hpc_tokenizer *t, byte_level *b, const hpc_json *root, const char *name);
int json_read_template(hpc_tokenizer *t, const hpc_json *root, const char *name);
/* Refuses what is not in the list, NULL-terminated; `where` is file and path. */
int json_known_keys(const hpc_json *object, const char *const *keys, const char *where);
int json_flag(bool *out, const hpc_json *object, const char *key, const char *where);

#endif
