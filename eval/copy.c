/*
 * Baseline that copies from the context: the token after the longest earlier match, weighted by the
 * success of matches of that length so far, and the text's own unigrams otherwise.
 */
#include <math.h>
#include <string.h>

#include "eval/sets.h"

enum { MATCH_MOST = 32, TRIES = 64 };

typedef struct copier {
    const int32_t *token;
    int64_t n, vocab, context;
    int64_t *latest;  /* [vocab]: last position of a token plus 1; 0: none */
    int64_t *earlier; /* [n]: the same token's position before this one plus 1 */
    int64_t *count;   /* [vocab] */
    int64_t types;
    int64_t hits[MATCH_MOST + 1], trials[MATCH_MOST + 1];
} copier;

/* Length of the common end of token[..a] and token[..b], both inclusive, a < b. */
static int64_t common_end(const copier *c, int64_t a, int64_t b)
{
    int64_t n = 0;

    while (n < MATCH_MOST && a - n >= 0 && c->token[a - n] == c->token[b - n]) n++;
    return n;
}

/* The longest earlier match of the text before k; its length, 0 without a match. */
static int64_t find_match(int64_t *next, const copier *c, int64_t k)
{
    int64_t best = 0, tries = 0;

    if (k == 0) return 0;
    for (int64_t at = c->earlier[k - 1]; at > 0 && tries < TRIES; at = c->earlier[at - 1], tries++)
    {
        if (k - at > c->context) break;
        int64_t n = common_end(c, at - 1, k - 1);
        if (n > best) best = n, *next = at;
        if (n == MATCH_MOST) break;
    }
    return best;
}

/* Unigrams of the text before k with a uniform escape (Witten-Bell). */
static double unigram(const copier *c, int64_t k, int32_t token)
{
    double escape = (double)(c->types > 0 ? c->types : 1);
    return ((double)c->count[token] + escape / (double)c->vocab) / ((double)k + escape);
}

static double probability(const copier *c, int64_t k, int64_t match, int64_t next)
{
    int32_t token = c->token[k];
    double own = unigram(c, k, token);

    if (match == 0) return own;
    int32_t copied = c->token[next];
    double right = ((double)c->hits[match] + 0.5) / ((double)c->trials[match] + 1);
    return token == copied ? right : (1 - right) * own / (1 - unigram(c, k, copied));
}

static void learn(copier *c, int64_t k, int64_t match, int64_t next)
{
    int32_t token = c->token[k];

    if (match > 0) {
        c->trials[match]++;
        c->hits[match] += c->token[next] == token;
    }
    c->types += c->count[token]++ == 0;
    c->earlier[k] = c->latest[token];
    c->latest[token] = k + 1;
}

int hpc_copy_text(double *bits, const int32_t *token, int64_t n, int64_t vocab, int64_t context)
{
    copier c = {.token = token, .n = n, .vocab = vocab, .context = context};
    int rc = HPC_OK;

    c.latest = hpc_alloc((size_t)vocab, sizeof(*c.latest));
    c.count = hpc_alloc((size_t)vocab, sizeof(*c.count));
    c.earlier = hpc_alloc((size_t)n + 1, sizeof(*c.earlier));
    if (!c.latest || !c.count || !c.earlier) rc = HPC_E_NOMEM;
    for (int64_t k = 0; k < n && rc >= 0; k++) {
        int64_t next = 0, match = find_match(&next, &c, k);
        bits[k] = -log2(probability(&c, k, match, next));
        learn(&c, k, match, next);
    }
    hpc_free(c.latest);
    hpc_free(c.count);
    hpc_free(c.earlier);
    return rc;
}
