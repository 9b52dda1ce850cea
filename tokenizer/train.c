/*
 * train.c: prepares text for the SentencePiece library, which trains, and sets its options.
 *
 * The library only needs words (text up to the next blank) and their counts. They are counted here
 * in one pass, after removing fixed pieces and characters that no learned piece may contain:
 * digits, control characters, invalid UTF-8. Memory and time of the library then depend on the
 * number of distinct words, not on the size of the text.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/priv.h"
#include "tokenizer/sentencepiece/spm.h"

enum {
    WORD_MOST = 512,       /* bytes; longer ones are cut */
    WORDS_MOST = 1 << 22,  /* different words kept while counting, */
    HANDED_MOST = 300000,  /* and handed over: the most frequent. The rest is rare and changes
                            * little, but the library's time and memory grow with their number */
    PIECE_CHARS_MOST = 32, /* of a learned piece */
    NESTED_MOST = 60,      /* the library has room for 64 pieces that begin alike */
    LIST_MOST = 4096       /* marks, and pieces */
};

/* ---- counting words --------------------------------------------------------------------- */

typedef struct counting {
    hpc_map *words; /* to their counts */
    tokenizer_matcher *pieces;
    uint64_t floor; /* words seen no more often are forgotten when there are too many */
} counting;

static int by_count(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/* Keeps at most half of the words: the frequent ones. */
static int forget(counting *c)
{
    int rc = HPC_OK;
    int64_t n = hpc_map_n(c->words);
    hpc_map *kept = hpc_map_create();
    uint64_t *count = hpc_alloc((size_t)n, sizeof *count), value;
    size_t bytes;
    if (!kept || !count) TRY(HPC_E_NOMEM);
    for (int64_t i = 0; i < n; i++) hpc_map_at(c->words, i, NULL, &count[i]);
    qsort(count, (size_t)n, sizeof *count, by_count);
    c->floor = count[n / 2];
    for (int64_t i = 0; i < n; i++) {
        const void *word = hpc_map_at(c->words, i, &bytes, &value);
        if (value > c->floor) TRY(hpc_map_put(kept, word, bytes, value));
    }
    hpc_map_free(c->words);
    c->words = kept;
    kept = NULL;
out:
    hpc_map_free(kept);
    hpc_free(count);
    return rc;
}

static int count_word(counting *c, const char *word, size_t n)
{
    uint64_t count = 0;
    if (n == 0) return HPC_OK;
    hpc_map_get(c->words, word, n, &count);
    int rc = hpc_map_put(c->words, word, n, count + 1);
    if (rc < 0 || hpc_map_n(c->words) <= WORDS_MOST) return rc;
    return forget(c);
}

/* Characters that the library keeps for itself or cannot have in a piece. */
static bool excluded(uint32_t point)
{
    return (point < 0x20 && point != '\n' && point != '\r') || (point >= '0' && point <= '9') ||
           point == 0x2581 || point == 0x2585 || point == 0xFFFD || (point & 0xFFFE) == 0xFFFE ||
           (point >= 0xFDD0 && point <= 0xFDEF) || (point >= 0x7F && point < 0xA0);
}

/* A word is a run of blanks and the following text. */
static int count_text(counting *c, const char *text, size_t n)
{
    int rc = HPC_OK;
    size_t begun = 0, at = 0;
    uint32_t point;
    int32_t id;
    while (at < n) {
        size_t skip = tokenizer_matcher_at(&id, c->pieces, text, n, at);
        int length = skip > 0 ? 0 : tokenizer_utf8(text + at, n - at, &point);
        if (skip == 0 && (length == 0 || excluded(point))) skip = length > 0 ? (size_t)length : 1;
        bool begins = text[at] == ' ' && at > begun && text[at - 1] != ' ';
        if (skip > 0 || begins || at - begun >= WORD_MOST) {
            TRY(count_word(c, text + begun, at - begun));
            begun = at + skip;
        }
        at += skip > 0 ? skip : (size_t)length;
    }
    TRY(count_word(c, text + begun, n - begun));
out:
    return rc;
}

static int count_all(counting *c, const hpc_tokenizer_text *from,
                     const hpc_tokenizer_train_options *o)
{
    int64_t left = o->bytes > 0 ? o->bytes : INT64_MAX;
    const char *text;
    size_t n;
    int rc = HPC_OK;
    while (left > 0 && (rc = from->next(&text, &n, from->user)) > 0) {
        if ((uint64_t)n > (uint64_t)left) n = (size_t)left;
        left -= (int64_t)n;
        TRY(count_text(c, text, n));
    }
    if (rc < 0) goto out;
    rc = HPC_OK;
    if (hpc_map_n(c->words) == 0)
        TRY(hpc_fail(
            HPC_E_ARG,
            "there is no text to train a tokenizer on: the files are empty, or the corpus has no "
            "training files"));
out:
    return rc;
}

/* ---- handing them over -------------------------------------------------------------------- */

typedef struct word {
    const char *text;
    size_t n;
    uint64_t count;
} word;

typedef struct handing {
    word *item;
    int64_t n, at;
    const hpc_tokenizer_train_options *options;
} handing;

/* The order decides nothing but must be the same each time. */
static int frequent_first(const void *a, const void *b)
{
    const word *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    int order = memcmp(x->text, y->text, x->n < y->n ? x->n : y->n);
    return order != 0 ? order : (x->n > y->n) - (x->n < y->n);
}

static int sort_words(handing *h, const counting *c)
{
    h->n = hpc_map_n(c->words);
    h->item = hpc_alloc((size_t)h->n, sizeof *h->item);
    if (!h->item) return HPC_E_NOMEM;
    for (int64_t i = 0; i < h->n; i++)
        h->item[i].text = hpc_map_at(c->words, i, &h->item[i].n, &h->item[i].count);
    qsort(h->item, (size_t)h->n, sizeof *h->item, frequent_first);
    if (h->n > HANDED_MOST) h->n = HANDED_MOST;
    return HPC_OK;
}

static int next_word(const char **text, size_t *n, int64_t *count, void *user)
{
    handing *h = user;
    if (h->at == h->n) return 0;
    const word *w = &h->item[h->at++];
    *text = w->text;
    *n = w->n;
    *count = (int64_t)w->count;
    return 1;
}

static void pass_line(const char *line, void *user)
{
    const handing *h = user;
    if (h->options->progress) h->options->progress(line, h->options->user);
}

/* ---- options -------------------------------------------------------------------------------- */

/* Appends one value of a list: quoted, blanks as the library spells them. */
static void add_value(hpc_buf *out, const char *value)
{
    hpc_buf_text(out, out->n > 0 ? ",\"" : "\"");
    for (; *value; value++) {
        if (*value == ' ')
            hpc_buf_text(out, "\xE2\x96\x81");
        else if (*value == '"')
            hpc_buf_text(out, "\"\"");
        else
            hpc_buf_add(out, value, 1);
    }
    hpc_buf_text(out, "\"");
}

static int check_value(const char *what, const char *value)
{
    uint32_t point;
    size_t n = strlen(value);
    if (n == 0 || n > 256)
        return hpc_fail(HPC_E_ARG, "a %s of %zu bytes: expected 1 to 256", what, n);
    for (size_t i = 0; i < n;) {
        int length = tokenizer_utf8(value + i, n - i, &point);
        if (length == 0 || point == 0x2581)
            return hpc_fail(HPC_E_ARG, "%s '%s' is not UTF-8 or contains U+2581", what, value);
        i += (size_t)length;
    }
    return HPC_OK;
}

static int check_nested(const char *const *list, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int nested = 0;
        for (int64_t k = 0; k < n; k++) nested += strncmp(list[i], list[k], strlen(list[k])) == 0;
        if (nested > NESTED_MOST)
            return hpc_fail(HPC_E_ARG, "more than %d tokens are prefixes of '%s'", NESTED_MOST,
                            list[i]);
    }
    return HPC_OK;
}

/* To text for the library, into m unless that is NULL, and into `seen`. */
static int read_list(hpc_buf *out, tokenizer_matcher *m, hpc_map *seen, int64_t *n,
                     const char *what, const char *const *list)
{
    int rc = HPC_OK;
    for (*n = 0; list && list[*n]; ++*n) {
        if (*n >= LIST_MOST) TRY(hpc_fail(HPC_E_ARG, "more than %d %ss", LIST_MOST, what));
        TRY(check_value(what, list[*n]));
        if (hpc_map_get(seen, list[*n], strlen(list[*n]), NULL))
            TRY(hpc_fail(HPC_E_ARG, "%s '%s' occurs twice", what, list[*n]));
        TRY(hpc_map_put(seen, list[*n], strlen(list[*n]), 1));
        add_value(out, list[*n]);
        if (m) TRY(tokenizer_matcher_add(m, list[*n], strlen(list[*n]), 0));
    }
    TRY(check_nested(list, *n));
    TRY(out->failed);
out:
    return rc;
}

static const char ascii[] = "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
                            "abcdefghijklmnopqrstuvwxyz{|}~\xE2\x96\x81";

enum { VOCABULARY_LEAST_FREE = 64, VOCABULARY_MOST = 1 << 20 };

static int check_vocabulary(int64_t vocabulary, int64_t marks_n, int64_t pieces_n)
{
    int64_t least = 3 + 256 + marks_n + pieces_n + 95 + VOCABULARY_LEAST_FREE;
    if (vocabulary >= least && vocabulary <= VOCABULARY_MOST) return HPC_OK;
    return hpc_fail(HPC_E_ARG,
                    "a vocabulary of %lld tokens: bytes, marks and fixed tokens alone need %lld; "
                    "the maximum is %d",
                    (long long)vocabulary, (long long)least, VOCABULARY_MOST);
}

/* ---- training ------------------------------------------------------------------------------- */

static int open_library(void **handle, const hpc_spm **table, const char *folder)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/hpccoder-spm.so", folder ? folder : ".");
    *handle = n < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    *table = *handle ? dlsym(*handle, HPC_SPM_SYMBOL) : NULL;
    if (*table && (*table)->version == HPC_SPM_VERSION) return HPC_OK;
    if (*table) return hpc_fail(HPC_E_UNSUPPORTED, "%s has another version; rebuild both", path);
    return hpc_fail(HPC_E_UNSUPPORTED,
                    "training needs %s: install libsentencepiece-dev and run `make` again: %s",
                    path, *handle ? "its function table is missing" : dlerror());
}

static int run_library(hpc_buf *model, const hpc_spm *table, handing *h, const char *marks,
                       const char *pieces, const hpc_tokenizer_train_options *o)
{
    char vocabulary[24], length[24], error[HPC_SPM_ERROR_BYTES] = "", *data = NULL;
    size_t n = 0;
    snprintf(vocabulary, sizeof vocabulary, "%lld", (long long)o->vocabulary);
    snprintf(length, sizeof length, "%d", PIECE_CHARS_MOST);
    /* All of this, the number of threads too, is written into the model. */
    const char *options[] = {"model_type",
                             "bpe",
                             "input_format",
                             "tsv",
                             "vocab_size",
                             vocabulary,
                             "hard_vocab_limit",
                             "false",
                             "byte_fallback",
                             "true",
                             "split_digits",
                             "true",
                             "split_by_unicode_script",
                             "false",
                             "split_by_number",
                             "false",
                             "split_by_whitespace",
                             "true",
                             "allow_whitespace_only_pieces",
                             "true",
                             "normalization_rule_name",
                             "identity",
                             "remove_extra_whitespaces",
                             "false",
                             "add_dummy_prefix",
                             "false",
                             "character_coverage",
                             "0.9999",
                             "required_chars",
                             ascii,
                             "max_sentencepiece_length",
                             length,
                             "max_sentence_length",
                             "4192",
                             "input_sentence_size",
                             "0",
                             "num_threads",
                             "1",
                             "unk_id",
                             "0",
                             "bos_id",
                             "1",
                             "eos_id",
                             "2",
                             "pad_id",
                             "-1",
                             "control_symbols",
                             marks,
                             "user_defined_symbols",
                             pieces,
                             NULL};
    hpc_spm_train train = {.options = options, .next = next_word, .log = pass_line, .user = h};
    int rc = table->train(&data, &n, &train, error);
    if (rc != 0) return hpc_fail(HPC_E_ARG, "the SentencePiece library cannot train: %s", error);
    rc = hpc_buf_add(model, data, n);
    table->release(data);
    return rc;
}

int hpc_tokenizer_train(hpc_buf *model, const hpc_tokenizer_text *from,
                        const hpc_tokenizer_train_options *options)
{
    int rc = HPC_OK;
    int64_t marks_n = 0, pieces_n = 0;
    hpc_buf marks = {0}, pieces = {0};
    counting c = {0};
    handing h = {.options = options};
    void *library = NULL;
    const hpc_spm *table = NULL;
    const char *const *list = options->pieces;
    hpc_arena *a = hpc_arena_create(0);
    hpc_map *seen = hpc_map_create();
    c.words = hpc_map_create();
    if (!a || !seen || !c.words) TRY(HPC_E_NOMEM);
    TRY(open_library(&library, &table, options->library));
    TRY(tokenizer_matcher_create(&c.pieces));
    if (!list) list = tokenizer_default_pieces(a);
    if (!list) TRY(HPC_E_NOMEM);
    TRY(read_list(&marks, NULL, seen, &marks_n, "mark", options->marks));
    TRY(read_list(&pieces, c.pieces, seen, &pieces_n, "piece", list));
    TRY(check_vocabulary(options->vocabulary, marks_n, pieces_n));
    TRY(count_all(&c, from, options));
    TRY(sort_words(&h, &c));
    TRY(run_library(model, table, &h, marks.data ? marks.data : "", pieces.data ? pieces.data : "",
                    options));
out:
    hpc_buf_release(&marks);
    hpc_buf_release(&pieces);
    hpc_free(h.item);
    hpc_map_free(seen);
    hpc_map_free(c.words);
    tokenizer_matcher_free(c.pieces);
    hpc_arena_free(a);
    if (library) dlclose(library);
    return rc;
}
