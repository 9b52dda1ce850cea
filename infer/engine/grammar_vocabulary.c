/*
 * grammar_vocabulary.c: the bytes of all tokens as a tree, and its traversal.
 *
 * Tokens are sorted by their bytes, so tokens with a common prefix are neighbours. The tree is one
 * list of nodes in preorder, and the tokens below a node form one range. A traversal walks the list
 * and skips the subtree of a byte that is rejected.
 */
#include "infer/engine/grammar_priv.h"

#include <stdlib.h>
#include <string.h>

#include "infer/engine/text.h"

enum { NORMAL = 1, USER = 4, BYTE = 6 };            /* kinds of pieces that are text */
enum { PIECE_MOST = 1024, BYTES_MOST = INT32_MAX }; /* of a token; of all */
typedef enum whose { ALL, THOSE_THAT_KEEP, THOSE_THAT_LOSE } whose; /* blanks */

uint32_t grammar_class(uint8_t c)
{
    static const char operators[] = "!%&+-.<=>?^|~", strange[] = "#$@`";

    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_')
        return BYTE_WORD;
    if (c >= 0x80) return BYTE_HIGH;
    if (c < ' ' || c == 0x7f) return c == '\n' ? BYTE_LINE : BYTE_CONTROL;
    if (memchr(operators, c, sizeof operators - 1)) return BYTE_OPERATOR;
    if (memchr(strange, c, sizeof strange - 1)) return BYTE_STRANGE;
    switch (c) {
    case ' ': return BYTE_BLANK;
    case '"': return BYTE_QUOTE;
    case '\'': return BYTE_TICK;
    case '\\': return BYTE_BACKSLASH;
    case '/': return BYTE_SLASH;
    case ',': return BYTE_COMMA;
    case ':': return BYTE_COLON;
    case ';': return BYTE_SEMICOLON;
    case '*': return BYTE_STAR;
    default: return c == '(' || c == '[' || c == '{' ? BYTE_OPEN : BYTE_CLOSE;
    }
}

/* ---- what tokens stand for ------------------------------------------------------------------- */

/* Adds a token's text after other text, and detects whether it loses a blank at the beginning. */
static int add_piece(hpc_vocabulary *v, const hpc_tokenizer *t, hpc_text *text, hpc_buf *alone,
                     int32_t id)
{
    size_t at = v->bytes.n;
    bool stopped;
    int rc;

    alone->n = 0;
    TRY(hpc_text_push(text, id, &v->bytes, &stopped));
    TRY(hpc_text_end(text, &v->bytes));
    TRY(hpc_tokenizer_decode(alone, t, &id, 1, true));
    size_t n = v->bytes.n - at;
    if (v->bytes.n > BYTES_MOST)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "a tokenizer with more than %d bytes of text", BYTES_MOST));
    if (n == 0 || n > PIECE_MOST) {
        v->bytes.n = at;
        return HPC_OK;
    }
    v->piece[id] = (vocabulary_piece){.at = (uint32_t)at, .n = (uint32_t)n};
    v->loses[id] = alone->n + 1 == n;
    v->any_loses |= v->loses[id];
    v->longest = n > v->longest ? n : v->longest;
    v->text_n++;
out:
    return rc;
}

static int read_pieces(hpc_vocabulary *v, const hpc_tokenizer *t)
{
    int64_t n = hpc_tokenizer_n(t) < v->n ? hpc_tokenizer_n(t) : v->n;
    hpc_text *text = NULL;
    hpc_buf alone = {0};
    float score;
    int rc;

    TRY(hpc_text_create(&text, t, NULL, false));
    for (int32_t id = 0; id < n; id++) {
        int type = hpc_tokenizer_piece_type(&score, t, id);
        if (type == NORMAL || type == USER || type == BYTE) TRY(add_piece(v, t, text, &alone, id));
    }
out:
    hpc_buf_release(&alone);
    hpc_text_free(text);
    return rc;
}

/* ---- the tree -------------------------------------------------------------------------------- */

typedef struct sorted {
    const uint8_t *bytes;
    uint32_t n;
    int32_t id;
} sorted;

static int compare(const void *a, const void *b)
{
    const sorted *x = a, *y = b;
    int order = memcmp(x->bytes, y->bytes, x->n < y->n ? x->n : y->n);

    if (order != 0) return order;
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

static uint32_t alike(const sorted *x, const sorted *y)
{
    uint32_t n = 0;

    while (n < x->n && n < y->n && x->bytes[n] == y->bytes[n]) n++;
    return n;
}

/* Nodes of the way to the token before are closed down to `depth`. */
static void close_nodes(hpc_vocabulary *v, const uint32_t *way, uint32_t from, uint32_t depth)
{
    for (uint32_t d = from; d > depth; d--) {
        vocabulary_node *x = &v->node[way[d]];
        x->next = (uint32_t)v->node_n;
        if (d > 1) v->node[way[d - 1]].classes |= x->classes;
    }
}

static void fill_tree(hpc_vocabulary *v, const sorted *list)
{
    uint32_t way[PIECE_MOST + 1], depth = 0;

    v->node_n = 0;
    for (int64_t k = 0; k < v->text_n; k++) {
        uint32_t common = k > 0 ? alike(&list[k - 1], &list[k]) : 0;
        close_nodes(v, way, depth, common);
        for (depth = common; depth < list[k].n;) {
            uint8_t byte = list[k].bytes[depth++];
            way[depth] = (uint32_t)v->node_n;
            v->node[v->node_n++] = (vocabulary_node){.first = (uint32_t)k,
                                                     .classes = grammar_class(byte),
                                                     .depth = (uint16_t)depth,
                                                     .byte = byte};
        }
        v->id[k] = list[k].id;
    }
    close_nodes(v, way, depth, 0);
    v->node[v->node_n] = (vocabulary_node){.first = (uint32_t)v->text_n};
}

static int make_tree(hpc_vocabulary *v)
{
    sorted *list = hpc_alloc((size_t)v->text_n + 1, sizeof *list);
    int64_t k = 0;
    size_t nodes = 0;
    int rc = HPC_OK;

    if (!list) return HPC_E_NOMEM;
    for (int64_t id = 0; id < v->n; id++) {
        const vocabulary_piece *p = &v->piece[id];
        if (p->n > 0)
            list[k++] = (sorted){(const uint8_t *)v->bytes.data + p->at, p->n, (int32_t)id};
    }
    qsort(list, (size_t)v->text_n, sizeof *list, compare);
    for (k = 0; k < v->text_n; k++)
        nodes += list[k].n - (k > 0 ? alike(&list[k - 1], &list[k]) : 0);
    v->node = hpc_alloc(nodes + 1, sizeof *v->node);
    v->id = hpc_alloc((size_t)v->text_n + 1, sizeof *v->id);
    if (v->node && v->id)
        fill_tree(v, list);
    else
        rc = HPC_E_NOMEM;
    hpc_free(list);
    return rc;
}

/* ---- memory ---------------------------------------------------------------------------------- */

int hpc_vocabulary_create(hpc_vocabulary **out, const hpc_tokenizer *t, int64_t n)
{
    hpc_vocabulary *v;
    int rc;

    *out = NULL;
    if (n < 0 || n > INT32_MAX)
        return hpc_fail(HPC_E_ARG, "a vocabulary of %lld tokens", (long long)n);
    v = hpc_alloc(1, sizeof *v);
    if (!v) return HPC_E_NOMEM;
    v->n = n > 0 ? n : hpc_tokenizer_n(t);
    v->piece = hpc_alloc((size_t)v->n, sizeof *v->piece);
    v->loses = hpc_alloc((size_t)v->n, sizeof *v->loses);
    if (!v->piece || !v->loses) TRY(HPC_E_NOMEM);
    TRY(read_pieces(v, t));
    TRY(make_tree(v));
    *out = v;
    return HPC_OK;
out:
    hpc_vocabulary_free(v);
    return rc;
}

void hpc_vocabulary_free(hpc_vocabulary *v)
{
    if (!v) return;
    hpc_buf_release(&v->bytes);
    hpc_free(v->piece);
    hpc_free(v->loses);
    hpc_free(v->id);
    hpc_free(v->node);
    hpc_free(v);
}

/* ---- what is in it --------------------------------------------------------------------------- */

const char *hpc_vocabulary_text(const hpc_vocabulary *v, int32_t token, size_t *n)
{
    *n = token >= 0 && token < v->n ? v->piece[token].n : 0;
    return *n > 0 ? v->bytes.data + v->piece[token].at : NULL;
}

bool hpc_vocabulary_goes_on(const hpc_vocabulary *v, const char *text, size_t n)
{
    uint32_t i = 0, end = (uint32_t)v->node_n;

    for (size_t k = 0; k < n; k++) {
        while (i < end && v->node[i].byte != (uint8_t)text[k]) i = v->node[i].next;
        if (i >= end) return false;
        end = v->node[i++].next;
    }
    return i < end;
}

/* ---- the way through it ---------------------------------------------------------------------- */

static void mark(grammar_walk *w, uint32_t from, uint32_t to, whose those)
{
    const int32_t *id = w->v->id;

    if (those == ALL) {
        for (uint32_t k = from; k < to; k++) w->bits[id[k] / 32] |= 1u << id[k] % 32;
        return;
    }
    for (uint32_t k = from; k < to; k++)
        if (w->v->loses[id[k]] == (those == THOSE_THAT_LOSE))
            w->bits[id[k] / 32] |= 1u << id[k] % 32;
}

/* As if all owed bytes up to this depth had been spelled. */
static uint32_t any_of(const grammar_walk *w, int depth)
{
    return (size_t)depth < w->owed_n ? 0 : w->kind->any_of(&w->state[depth], w->v->longest);
}

static bool step(grammar_walk *w, int depth, uint8_t byte)
{
    w->state[depth] = w->state[depth - 1];
    if ((size_t)depth <= w->owed_n) return byte == (uint8_t)w->owed[depth - 1];
    w->steps++;
    return w->kind->step(&w->state[depth], byte);
}

/* Nodes [from, to), where those of depth `above` have been passed. */
static void walk(grammar_walk *w, uint32_t from, uint32_t to, int above, whose those)
{
    w->any_of[0] = any_of(w, 0);
    for (uint32_t i = from; i < to;) {
        const vocabulary_node *x = &w->v->node[i];
        int depth = x->depth - above;
        if ((x->classes & ~w->any_of[depth - 1]) == 0) {
            mark(w, x->first, w->v->node[x->next].first, those);
            i = x->next;
            continue;
        }
        if (!step(w, depth, x->byte)) {
            i = x->next;
            continue;
        }
        mark(w, x->first, x[1].first, those);
        if (x->next > ++i) w->any_of[depth] = any_of(w, depth);
    }
}

void grammar_walk_all(grammar_walk *w)
{
    walk(w, 0, (uint32_t)w->v->node_n, 0, ALL);
}

/* Tokens that lose a blank are looked up without it. The blank alone is allowed once; it adds
 * nothing. */
void grammar_walk_begin(grammar_walk *w)
{
    const vocabulary_node *node = w->v->node;
    uint32_t blank = 0, n = (uint32_t)w->v->node_n;

    if (!w->v->any_loses) {
        grammar_walk_all(w);
        return;
    }
    walk(w, 0, n, 0, THOSE_THAT_KEEP);
    while (blank < n && node[blank].byte != ' ') blank = node[blank].next;
    hpc_assert(blank < n);
    mark(w, node[blank].first, node[blank + 1].first, THOSE_THAT_LOSE);
    walk(w, blank + 1, node[blank].next, 1, THOSE_THAT_LOSE);
}
