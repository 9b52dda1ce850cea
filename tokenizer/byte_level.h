/*
 * byte_level.h: a byte-level tokenizer: read by json.c and prepared.c, run by byte_level.c.
 */
#ifndef HPC_TOKENIZER_BYTE_LEVEL_H
#define HPC_TOKENIZER_BYTE_LEVEL_H

#include "tokenizer/priv.h"

typedef struct byte_added { /* an added token, matched in text */
    int32_t id;
    bool special; /* only with HPC_ENCODE_SPECIALS; else it still hides tokens it overlaps */
    bool single_word, lstrip, rstrip;
} byte_added;

typedef struct byte_text {
    const char *text;
    uint32_t n;
    bool made; /* a byte or a result of merging */
} byte_text;

enum { SPELLING_END = 0x144 }; /* after the last character that spells a byte */

typedef struct byte_level {
    tokenizer_unicode unicode;
    bool nfc;                      /* text is normalised to form C */
    tokenizer_matcher *raw, *late; /* added tokens by index, before and after normalising */
    byte_added *added;
    int64_t added_n;
    tokenizer_split split;
    bool prefix_space; /* add a space before each text, and after added tokens, unless it has one */
    bool whole_words;  /* a word in the vocabulary is one token, without merging */
    bool fuse_unknown; /* one unknown token for a run of unknown bytes */
    bool cut;          /* byte_level_cut may search for cuts */
    int32_t unknown;   /* -1: none */
    int32_t byte_id[256];
    uint8_t spelled[256][2]; /* by byte: its character in pieces */
    uint8_t spelled_n[256];
    int16_t byte_of[SPELLING_END]; /* by character: its byte, or -1 */
    tokenizer_merges *merges;
    byte_text *bytes; /* by id: its bytes */
} byte_level;

extern const tokenizer_family byte_level_family;
/* Fills in the spelling of bytes: printing characters as themselves, the others from U+0100. */
void byte_level_spell(byte_level *b);
/* Decodes a piece's spelling to `out`, which has capacity n; false: invalid spelling. */
bool byte_level_unspell(char *out, size_t *out_n, const byte_level *b, const char *piece, size_t n);

/* ---- reading (json.c, json_steps.c, prepared.c) -------------------------------------------- */
typedef struct json_merge { /* ids */
    int32_t left, right, merged;
} json_merge;
/* Pieces and merges of a prepared form, in binary; its tokenizer.json omits them. Pieces are sorted
 * by id; their texts are contiguous. */
typedef struct json_given {
    const uint8_t *id, *length, *merge; /* four bytes each; three such numbers per merge */
    const char *text;
    size_t text_n;
    int64_t pieces_n, merges_n;
} json_given;
typedef struct json_reader {
    hpc_tokenizer *t;
    byte_level *b;
    const hpc_json *root, *model;
    const json_given *given; /* NULL: `model` contains them */
    const char *name;
    hpc_buf text; /* buffer for strings to look up */
} json_reader;
int json_open(hpc_tokenizer **out, const void *data, size_t n, const json_given *given,
              hpc_hash128 hash, const char *name);
/* `spelled`: in the characters that stand for bytes. */
int json_add_piece(json_reader *r, int32_t id, const char *text, size_t n, uint8_t kind,
                   bool spelled);
/* Reads merge i, "a b" or ["a", "b"]; needs r->t->index only. */
int json_read_merge(json_merge *out, json_reader *r, const hpc_json *v, int64_t i);
int json_add_merge(json_reader *r, const json_merge *m, int64_t i);
int64_t json_given_most(const json_given *g); /* largest id; -1: no pieces */
int json_given_pieces(json_reader *r);
int json_given_merges(json_reader *r);
/* json_steps.c: read normalizer, pre_tokenizer and decoder; and post_processor, once all pieces are
 * known. */
int json_read_steps(hpc_tokenizer *t, byte_level *b, const hpc_json *root, const char *name);
int json_read_template(hpc_tokenizer *t, const hpc_json *root, const char *name);
/* Fails for keys that are not in the NULL-terminated list; `where` names file and path. */
int json_known_keys(const hpc_json *object, const char *const *keys, const char *where);
int json_flag(bool *out, const hpc_json *object, const char *key, const char *where);

#endif
