/*
 * passage.c: the windows of 50 code tokens by which a text is recognised, and which of them count.
 *
 * A window counts when it has at least LEAST distinct names. The others say nothing about where
 * they come from: tables of numbers, initialisers, lists of includes, closing braces, switches over
 * consecutive cases. The rule is the same when a sketch is made and when a text is held against
 * it, and both counts leave them out.
 */
#include <string.h>

#include "corpus/sketch.h"

enum {
    LEAST = 5,
    WIDTH = CORPUS_HELD_OUT_SHINGLE,
    NO_NAME = CORPUS_PASSAGE_NAMES /* the place of what is no name */
};

void corpus_passage_start(corpus_passage *p)
{
    memset(p, 0, sizeof *p);
    p->top = 1;
    for (int i = 0; i < WIDTH; i++) p->top *= CORPUS_ROLL_BASE;
    for (int i = 0; i < WIDTH; i++) p->name[i] = NO_NAME;
    for (int i = 0; i <= CORPUS_PASSAGE_NAMES; i++) p->last[i] = -WIDTH - 1;
}

/* The next code tokens, behind the WIDTH before them; how many there are. */
static int take(corpus_passage *p, const hpc_tokens *t, int64_t *at)
{
    int n = 0;
    int64_t i = *at;
    for (; i < t->n && n < CORPUS_PASSAGE_MOST; i++) {
        const hpc_token *k = &t->item[i];
        unsigned other = -(unsigned)(k->kind != HPC_TOKEN_NAME); /* a branch would be a guess */
        p->hash[WIDTH + n] = k->hash;
        p->name[WIDTH + n] =
            (uint16_t)((k->hash % CORPUS_PASSAGE_NAMES & ~other) | (NO_NAME & other));
        n += corpus_is_code(k);
    }
    *at = i;
    return n;
}

/* Names that share a place pass for one; the same ones do in every text. A name is counted as long
 * as the last of its kind is in the window, so that a token costs the same in every text. */
int corpus_passage_next(uint64_t key[CORPUS_PASSAGE_MOST], corpus_passage *p, const hpc_tokens *t,
                        int64_t *at)
{
    int n = take(p, t, at), keys = 0;
    uint64_t sum = p->sum, stream = p->stream;
    int64_t distinct = p->distinct, now = p->n;
    for (int i = 0; i < n; i++, now++) {
        uint32_t in = p->hash[WIDTH + i];
        uint16_t name = p->name[WIDTH + i], old = p->name[i];
        distinct -= (old != NO_NAME) & (p->last[old] == now - WIDTH);
        distinct += (name != NO_NAME) & (p->last[name] <= now - WIDTH);
        p->last[name] = now;
        stream = (stream ^ in) * CORPUS_ROLL_BASE;
        stream ^= stream >> 29;
        sum = sum * CORPUS_ROLL_BASE + in - p->hash[i] * p->top;
        key[keys] = sum;
        keys += (now >= WIDTH - 1) & (distinct >= LEAST);
    }
    for (int k = 0; k < keys; k++) key[k] = corpus_mix(key[k]);
    p->sum = sum;
    p->stream = stream;
    p->distinct = distinct;
    p->n = now;
    memmove(p->hash, p->hash + n, WIDTH * sizeof *p->hash);
    memmove(p->name, p->name + n, WIDTH * sizeof *p->name);
    return keys;
}

uint64_t corpus_passage_stream(const corpus_passage *p)
{
    return corpus_mix(p->stream + (uint64_t)p->n);
}
