/*
 * find.c: whether a text has a short word in it, when it nearly never has.
 *
 * The C library's search prepares itself for each word, which for a few kilobytes of text takes
 * longer than looking for the word's first and last byte sixteen places at a time.
 */
#include <string.h>

#include "corpus/priv.h"

typedef uint8_t vector __attribute__((vector_size(16)));

static vector load(const char *p)
{
    vector v;
    memcpy(&v, p, sizeof v);
    return v;
}

static bool any(vector v)
{
    uint64_t half[2];
    memcpy(half, &v, sizeof half);
    return (half[0] | half[1]) != 0;
}

static const char *at_one_of(const char *p, size_t n, const char *word, size_t m)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] == word[0] && memcmp(p + i, word, m) == 0) return p + i;
    return NULL;
}

const char *corpus_find(const char *text, size_t n, const char *word)
{
    size_t m = strlen(word), step = sizeof(vector);
    hpc_assert(m > 0);
    if (n < m) return NULL;
    size_t places = n - m + 1, i = 0;
    vector first = (vector){0} + (uint8_t)word[0], last = (vector){0} + (uint8_t)word[m - 1];
    for (; places - i >= step; i += step) {
        if (!any((vector)(load(text + i) == first) & (vector)(load(text + i + m - 1) == last)))
            continue;
        const char *found = at_one_of(text + i, step, word, m);
        if (found) return found;
    }
    return at_one_of(text + i, places - i, word, m);
}
