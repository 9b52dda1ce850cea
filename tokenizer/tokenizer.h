/*
 * tokenizer.h: text to token ids and back.
 *
 * Two families behind one handle: SentencePiece BPE (tokenizer.model: ours, Llama, CodeLlama) and
 * byte-level BPE (tokenizer.json: GPT-2, StarCoder2, DeepSeek-Coder, Qwen2.5). The encoder is our
 * own; the SentencePiece library trains, and is the oracle of the tests. A handle is read-only
 * after opening and may be used by any number of threads, each with a scratch of its own.
 * Files are untrusted; limits are stated where they are checked.
 */
#ifndef HPC_TOKENIZER_H
#define HPC_TOKENIZER_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_tokenizer hpc_tokenizer;
/* A tokenizer.model, a tokenizer.json, or a model directory that holds one of them (the .model is
 * asked first: a .json beside it is a conversion). Names the construct when a tokenizer.json asks
 * for one that we do not have. */
int hpc_tokenizer_open(hpc_tokenizer **out, const char *path);
/* The same of bytes already read; `name` for messages. */
int hpc_tokenizer_open_model(hpc_tokenizer **out, const void *data, size_t n, const char *name);
int hpc_tokenizer_open_json(hpc_tokenizer **out, const void *data, size_t n, const char *name);
/* Appends the form of a tokenizer.json that opens in a tenth of the time, as the same tokenizer
 * with the same hash: for files of ours that hold both. It is checked like a file. */
int hpc_tokenizer_prepare(hpc_buf *out, const void *json, size_t n, const char *name);
int hpc_tokenizer_open_prepared(hpc_tokenizer **out, const void *data, size_t n, const char *name);
void hpc_tokenizer_close(hpc_tokenizer *t);

int64_t hpc_tokenizer_n(const hpc_tokenizer *t);        /* ids are 0 .. n-1 */
hpc_hash128 hpc_tokenizer_hash(const hpc_tokenizer *t); /* of the file's content */
const char *hpc_tokenizer_kind(const hpc_tokenizer *t); /* "sentencepiece", "byte-level" */
/* The piece as the file spells it, *n bytes; NULL for an id without one. */
const char *hpc_tokenizer_piece(const hpc_tokenizer *t, int32_t id, size_t *n);
/* What kind of piece it is, as SentencePiece and GGUF number them: 1 normal, 2 unknown, 3 control,
 * 4 user-defined, 5 unused, 6 byte; 0: no piece has this id. *score: SentencePiece's, else 0. */
int hpc_tokenizer_piece_type(float *score, const hpc_tokenizer *t, int32_t id);
int32_t hpc_tokenizer_find(const hpc_tokenizer *t, const char *piece); /* -1 when there is none */
typedef struct hpc_tokenizer_special {
    int32_t unknown, begin, end, pad; /* -1: none */
    bool add_begin, add_end;          /* the file wants them around a text by default */
    bool dummy_prefix, normalises;    /* SentencePiece: a blank goes before every text; other
                                       * characters of it are changed as well */
} hpc_tokenizer_special;
hpc_tokenizer_special hpc_tokenizer_specials(const hpc_tokenizer *t);
/* Pieces that say how a text is put together, whatever name the model has for them. */
typedef enum hpc_special {
    HPC_SPECIAL_FIM_PREFIX,
    HPC_SPECIAL_FIM_SUFFIX,
    HPC_SPECIAL_FIM_MIDDLE,
    HPC_SPECIAL_FIM_PAD,
    HPC_SPECIAL_FIM_END,    /* behind the middle, where that is not END */
    HPC_SPECIAL_FILE,       /* a path follows, and its text */
    HPC_SPECIAL_REPOSITORY, /* a name follows */
    HPC_SPECIAL_END,        /* of a text: a piece of a known name, or the file's end token */
    HPC_SPECIAL_N
} hpc_special;
/* Its name there, or the first that was looked for; *id is -1 when there is none. */
const char *hpc_tokenizer_special_name(const hpc_tokenizer *t, hpc_special s, int32_t *id);
/* Where somebody else knows better: begin, end, pad, add_begin and add_end, before the handle is
 * used. An id without a piece is HPC_E_ARG. */
int hpc_tokenizer_set_specials(hpc_tokenizer *t, const hpc_tokenizer_special *s);
/* Appends a SentencePiece model of ours as a tokenizer.json that gives the same ids elsewhere. */
int hpc_tokenizer_write_json(hpc_buf *out, const hpc_tokenizer *t);

/* ---- files out of pieces ------------------------------------------------------------
 * What containers of others say of a tokenizer (GGUF), as a file that opens here and elsewhere. */
typedef struct hpc_tokenizer_given {
    const char *text; /* ended by NUL */
    float score;      /* of SentencePiece's */
    int type;         /* as hpc_tokenizer_piece_type numbers them, 1 to 6 */
} hpc_tokenizer_given;
typedef enum hpc_tokenizer_step_kind { /* what is done to text before merging */
                                       HPC_STEP_END,
                                       HPC_STEP_SPLIT,  /* matches of `regex` are cut out */
                                       HPC_STEP_DIGITS, /* each digit is */
                                       HPC_STEP_WORDS,  /* GPT-2's words; the last step */
                                       HPC_STEP_BYTES   /* no more than that; the last step */
} hpc_tokenizer_step_kind;
typedef struct hpc_tokenizer_step {
    int kind;
    const char *regex;
} hpc_tokenizer_step;
typedef struct hpc_tokenizer_pieces {
    const char *name; /* of the container, for messages */
    const hpc_tokenizer_given *piece;
    int64_t n;
    hpc_tokenizer_special special;  /* dummy_prefix: of SentencePiece; normalises: not looked at */
    const hpc_tokenizer_step *step; /* of byte-level ones: up to HPC_STEP_END, */
    bool whole_words;               /* whether a word that is a piece needs no merges, */
    const char *const *merge;       /* and "LEFT RIGHT", the first before the others */
    int64_t merges_n;
} hpc_tokenizer_pieces;
/* Appends a tokenizer.model of BPE that normalises nothing: with bytes as a fallback where there
 * are pieces of bytes; blanks of user-defined pieces are written as such files have them, unused
 * pieces at the end are left out. Where no piece is unknown, special.unknown becomes it. */
int hpc_tokenizer_make_model(hpc_buf *out, const hpc_tokenizer_pieces *p);
/* Appends a tokenizer.json of byte-level BPE: unknown, control and user-defined pieces are added
 * tokens, unused ones are left out. */
int hpc_tokenizer_make_json(hpc_buf *out, const hpc_tokenizer_pieces *p);

/* ---- encoding --------------------------------------------------------------------
 * Any bytes are accepted: what is not UTF-8 goes through byte pieces. Decoding what was encoded
 * gives the same bytes for every valid UTF-8 text, except with imported models whose normaliser
 * changes text (a dummy prefix is taken off again). Same ids for any scratch and any number of
 * workers. Ids equal those of the library that the file belongs to. */
typedef struct hpc_ids {
    int32_t *id;
    int64_t n, cap;
} hpc_ids; /* zero to begin with; hpc_free(id) at the end */
typedef struct hpc_tokenizer_scratch hpc_tokenizer_scratch; /* caches, a few MiB */
int hpc_tokenizer_scratch_create(hpc_tokenizer_scratch **out, const hpc_tokenizer *t);
void hpc_tokenizer_scratch_free(hpc_tokenizer_scratch *s);
enum {
    HPC_ENCODE_SPECIALS = 1, /* special tokens spelled in the text become their ids (as the
                              * libraries do); without it they are text like any other */
    HPC_ENCODE_BEGIN = 2,    /* with the file's own begin token, */
    HPC_ENCODE_END = 4,      /* and end token */
    HPC_ENCODE_INNER = 8     /* not the start of a text: no dummy prefix */
};
/* Appends to ids. */
int hpc_tokenizer_encode(hpc_ids *ids, const hpc_tokenizer *t, hpc_tokenizer_scratch *s,
                         const char *text, size_t n, unsigned flags);
/* One long text on every worker of a pool, as it comes: the same ids, part after part. In memory
 * are a few parts for each worker, of 128 KiB of text and up to the next place where it can be cut;
 * a tokenizer that normalises needs the whole text. A callback that returns less than 0 ends it
 * with that code. */
typedef struct hpc_tokenizer_stream {
    /* Fills to[0..room) with what comes next, less only at the end. Any worker, one at a time. */
    int (*read)(size_t *n, char *to, size_t room, void *user);
    /* Appends what is made of the ids of a part, whatever that is. Any worker, several at once;
     * NULL: nothing is made. */
    int (*format)(hpc_buf *made, const int32_t *id, int64_t n, void *user);
    /* Takes the parts in order. The calling thread. */
    int (*write)(const hpc_ids *ids, const hpc_buf *made, void *user);
    void *user;
} hpc_tokenizer_stream;
int hpc_tokenizer_encode_stream(const hpc_tokenizer *t, hpc_pool *pool, unsigned flags,
                                const hpc_tokenizer_stream *stream);
/* Appends. An id out of range is HPC_E_ARG. skip_specials leaves control tokens out. */
int hpc_tokenizer_decode(hpc_buf *out, const hpc_tokenizer *t, const int32_t *id, int64_t n,
                         bool skip_specials);

/* ---- training ---------------------------------------------------------------------- */
typedef struct hpc_tokenizer_text { /* gives texts one after the other, the same each time */
    /* 1: *text and *n are the next one, valid until the next call; 0: no more; negative: failed */
    int (*next)(const char **text, size_t *n, void *user);
    void *user;
} hpc_tokenizer_text;
typedef struct hpc_tokenizer_train_options {
    int64_t vocabulary;        /* pieces in all */
    int64_t bytes;             /* of text used at most: the first so many; 0: all */
    int threads;               /* does not change the result */
    const char *const *marks;  /* control tokens, NULL-terminated */
    const char *const *pieces; /* always one piece, NULL-terminated; NULL: indentation runs and
                                * common words of HPC codes */
    const char *library;       /* folder of hpccoder-spm.so */
    void (*progress)(const char *line, void *user); /* what the library reports; NULL */
    void *user;
} hpc_tokenizer_train_options;
#define HPC_TOKENIZER_TRAIN_DEFAULTS                                                               \
    {                                                                                              \
        .vocabulary = 32768, .threads = 1                                                          \
    }
/* SentencePiece BPE with byte fallback, digits split, identity normalisation; *model is the bytes
 * of a tokenizer.model. HPC_E_UNSUPPORTED when hpccoder-spm.so is not there. */
int hpc_tokenizer_train(hpc_buf *model, const hpc_tokenizer_text *from,
                        const hpc_tokenizer_train_options *options);

#ifdef __cplusplus
}
#endif
#endif
