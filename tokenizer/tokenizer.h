/*
 * tokenizer.h: encodes text to token ids and decodes it.
 *
 * Two families share one handle: SentencePiece BPE (tokenizer.model: ours, Llama, CodeLlama) and
 * byte-level BPE (tokenizer.json: GPT-2, StarCoder2, DeepSeek-Coder, Qwen2.5). The encoder is our
 * own; the SentencePiece library trains, and is the reference in tests. A handle is read-only
 * after opening. Any number of threads may use it, each with its own scratch. Files are untrusted;
 * limits are stated where they are checked.
 */
#ifndef HPC_TOKENIZER_H
#define HPC_TOKENIZER_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_tokenizer hpc_tokenizer;
/* Opens a tokenizer.model, a tokenizer.json, or a model directory with one of them; the .model is
 * preferred, because a .json next to it is a conversion. An unsupported construct in a
 * tokenizer.json is an error that names it. */
int hpc_tokenizer_open(hpc_tokenizer **out, const char *path);
/* Opens a tokenizer from memory; `name` is for messages. */
int hpc_tokenizer_open_model(hpc_tokenizer **out, const void *data, size_t n, const char *name);
int hpc_tokenizer_open_json(hpc_tokenizer **out, const void *data, size_t n, const char *name);
/* Appends a prepared form of a tokenizer.json that opens about ten times faster, as
 * the same tokenizer with the same hash. For our own files, which hold both. Opening
 * checks it like a file. */
int hpc_tokenizer_prepare(hpc_buf *out, const void *json, size_t n, const char *name);
int hpc_tokenizer_open_prepared(hpc_tokenizer **out, const void *data, size_t n, const char *name);
void hpc_tokenizer_close(hpc_tokenizer *t);

int64_t hpc_tokenizer_n(const hpc_tokenizer *t);        /* ids are 0 .. n-1 */
hpc_hash128 hpc_tokenizer_hash(const hpc_tokenizer *t); /* of the file's content */
const char *hpc_tokenizer_kind(const hpc_tokenizer *t); /* "sentencepiece", "byte-level" */
/* The piece as spelled in the file, *n bytes; NULL: no piece has this id. */
const char *hpc_tokenizer_piece(const hpc_tokenizer *t, int32_t id, size_t *n);
/* Type of a piece, numbered as in SentencePiece and GGUF: 1 normal, 2 unknown, 3 control, 4
 * user-defined, 5 unused, 6 byte; 0: no piece has this id. *score: SentencePiece's, else 0. */
int hpc_tokenizer_piece_type(float *score, const hpc_tokenizer *t, int32_t id);
int32_t hpc_tokenizer_find(const hpc_tokenizer *t, const char *piece); /* -1: none */
typedef struct hpc_tokenizer_special {
    int32_t unknown, begin, end, pad; /* -1: none */
    bool add_begin, add_end;          /* the file adds them around a text by default */
    /* SentencePiece: adds a blank before each text; changes other characters. */
    bool dummy_prefix, normalises;
} hpc_tokenizer_special;
hpc_tokenizer_special hpc_tokenizer_specials(const hpc_tokenizer *t);
/* Control tokens for the structure of a prompt, whatever the model calls them. */
typedef enum hpc_special {
    HPC_SPECIAL_FIM_PREFIX,
    HPC_SPECIAL_FIM_SUFFIX,
    HPC_SPECIAL_FIM_MIDDLE,
    HPC_SPECIAL_FIM_PAD,
    HPC_SPECIAL_FIM_END,    /* after the middle, if not END */
    HPC_SPECIAL_FILE,       /* before a path and the file's text */
    HPC_SPECIAL_REPOSITORY, /* before a repository name */
    HPC_SPECIAL_END,        /* end of text: a piece of a known name, or the file's end token */
    HPC_SPECIAL_N
} hpc_special;
/* The model's name of a special token, or else the first known name; *id is -1 if it has none. */
const char *hpc_tokenizer_special_name(const hpc_tokenizer *t, hpc_special s, int32_t *id);
/* Sets a special token, whatever its name. Call before the handle is used. An id without a piece is
 * HPC_E_ARG. */
int hpc_tokenizer_set_mark(hpc_tokenizer *t, hpc_special s, int32_t id);
/* Order of a prompt for filling in the middle: the marks P, S and M, the text before the cursor and
 * the text after it. The order follows from the name of the prefix mark. */
typedef enum hpc_fim_order {
    HPC_FIM_NONE,         /* the model has no such marks */
    HPC_FIM_PREFIX_FIRST, /* P before S after M */
    HPC_FIM_MIDDLE_LAST,  /* P S after M before: also learned by models of that order */
    HPC_FIM_SUFFIX_FIRST  /* S after P before M, where M may be absent */
} hpc_fim_order;
hpc_fim_order hpc_tokenizer_fim_order(const hpc_tokenizer *t);
/* Overrides begin, end, pad, add_begin and add_end. Call before the handle is used. An id without a
 * piece is HPC_E_ARG. */
int hpc_tokenizer_set_specials(hpc_tokenizer *t, const hpc_tokenizer_special *s);
/* Appends our own SentencePiece model as a tokenizer.json that gives the same ids in other
 * programs. */
int hpc_tokenizer_write_json(hpc_buf *out, const hpc_tokenizer *t);

/* ---- files from pieces ----------------------------------------------------------------------- */
/* Builds a tokenizer file from the pieces that another container (GGUF) describes. */
typedef struct hpc_tokenizer_given {
    const char *text; /* NUL-terminated */
    float score;      /* for SentencePiece */
    int type;         /* 1 to 6, as in hpc_tokenizer_piece_type */
} hpc_tokenizer_given;
typedef enum hpc_tokenizer_step_kind { /* steps before merging */
                                       HPC_STEP_END,
                                       HPC_STEP_SPLIT,  /* isolate matches of `regex` */
                                       HPC_STEP_DIGITS, /* isolate each digit */
                                       HPC_STEP_WORDS,  /* GPT-2's words; last step */
                                       HPC_STEP_BYTES   /* bytes only; last step */
} hpc_tokenizer_step_kind;
typedef struct hpc_tokenizer_step {
    int kind;
    const char *regex;
} hpc_tokenizer_step;
typedef struct hpc_tokenizer_pieces {
    const char *name; /* container name, for messages */
    const hpc_tokenizer_given *piece;
    int64_t n;
    hpc_tokenizer_special special;  /* dummy_prefix: SentencePiece only; normalises: ignored */
    const hpc_tokenizer_step *step; /* byte-level: steps up to HPC_STEP_END */
    bool whole_words;               /* byte-level: a word in the vocabulary needs no merges */
    const char *const *merge;       /* byte-level: "LEFT RIGHT", in order of priority */
    int64_t merges_n;
} hpc_tokenizer_pieces;
/* Appends a BPE tokenizer.model without normalisation. It has byte fallback if there are byte
 * pieces. Blanks of user-defined pieces become U+2581; unused pieces at the end are omitted. If no
 * piece is unknown, special.unknown is. */
int hpc_tokenizer_make_model(hpc_buf *out, const hpc_tokenizer_pieces *p);
/* Appends a byte-level BPE tokenizer.json. Unknown, control and user-defined pieces become added
 * tokens; unused pieces are omitted. */
int hpc_tokenizer_make_json(hpc_buf *out, const hpc_tokenizer_pieces *p);

/* ---- encoding -------------------------------------------------------------------------------- */
/* Any bytes are accepted; bytes that are not UTF-8 become byte pieces. Decoding the ids of valid
 * UTF-8 text gives the same bytes, except for imported models with a normaliser that changes text;
 * a dummy prefix is removed. Ids do not depend on the scratch or the number of workers. They equal
 * those of the library that the file format belongs to. */
typedef struct hpc_ids {
    int32_t *id;
    int64_t n, cap;
} hpc_ids; /* initialise with zeros; release with hpc_free(id) */
typedef struct hpc_tokenizer_scratch hpc_tokenizer_scratch; /* caches, a few MiB */
int hpc_tokenizer_scratch_create(hpc_tokenizer_scratch **out, const hpc_tokenizer *t);
void hpc_tokenizer_scratch_free(hpc_tokenizer_scratch *s);
enum {
    HPC_ENCODE_SPECIALS = 1, /* special tokens in the text get their ids; else plain text */
    HPC_ENCODE_BEGIN = 2,    /* add the file's begin token */
    HPC_ENCODE_END = 4,      /* add its end token */
    HPC_ENCODE_INNER = 8     /* not the start of a text: no dummy prefix */
};
/* Appends to ids. */
int hpc_tokenizer_encode(hpc_ids *ids, const hpc_tokenizer *t, hpc_tokenizer_scratch *s,
                         const char *text, size_t n, unsigned flags);
/* Encodes one long text on all workers of a pool, part by part, with the same ids as
 * hpc_tokenizer_encode. Memory holds a few parts per worker; a part has 128 KiB of text and extends
 * to the next possible cut. A tokenizer that normalises holds the whole text. A negative return
 * value of a callback stops with that code. */
typedef struct hpc_tokenizer_stream {
    /* Fills to[0..room); less only at the end. Called by any worker, one at a time. */
    int (*read)(size_t *n, char *to, size_t room, void *user);
    /* Appends the output for the ids of a part. Called by several workers at once.
     * NULL: no output. */
    int (*format)(hpc_buf *made, const int32_t *id, int64_t n, void *user);
    /* Receives the parts in order, on the calling thread. */
    int (*write)(const hpc_ids *ids, const hpc_buf *made, void *user);
    void *user;
} hpc_tokenizer_stream;
int hpc_tokenizer_encode_stream(const hpc_tokenizer *t, hpc_pool *pool, unsigned flags,
                                const hpc_tokenizer_stream *stream);
/* Appends the text of n ids. An id out of range is HPC_E_ARG. skip_specials omits
 * control tokens. */
int hpc_tokenizer_decode(hpc_buf *out, const hpc_tokenizer *t, const int32_t *id, int64_t n,
                         bool skip_specials);

/* ---- training ---------------------------------------------------------------------- */
typedef struct hpc_tokenizer_text { /* an iterator that gives the same texts in each pass */
    /* Returns 1 with the next text, valid until the next call; 0: end; negative: error. */
    int (*next)(const char **text, size_t *n, void *user);
    void *user;
} hpc_tokenizer_text;
typedef struct hpc_tokenizer_train_options {
    int64_t vocabulary;        /* total number of pieces */
    int64_t bytes;             /* use only this many bytes of text; 0: all */
    int threads;               /* does not change the result */
    const char *const *marks;  /* control tokens, NULL-terminated */
    const char *const *pieces; /* fixed pieces, NULL-terminated; NULL: indentation runs and common
                                  words of HPC code */
    const char *library;       /* folder of hpccoder-spm.so */
    void (*progress)(const char *line, void *user); /* messages of the library; may be NULL */
    void *user;
} hpc_tokenizer_train_options;
#define HPC_TOKENIZER_TRAIN_DEFAULTS                                                               \
    {                                                                                              \
        .vocabulary = 32768, .threads = 1                                                          \
    }
/* Trains SentencePiece BPE with byte fallback, split digits and no normalisation; *model receives a
 * tokenizer.model. HPC_E_UNSUPPORTED: hpccoder-spm.so is missing. */
int hpc_tokenizer_train(hpc_buf *model, const hpc_tokenizer_text *from,
                        const hpc_tokenizer_train_options *options);

#ifdef __cplusplus
}
#endif
#endif
