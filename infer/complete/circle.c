/*
 * circle.c: finds where a completion begins to loop. The same few lines three times in a row, or
 * the same few bytes of a line many times, mean that the model repeats itself. Rows of numbers and
 * of punctuation do not.
 */
#include <ctype.h>
#include <string.h>

#include "infer/complete/priv.h"

enum {
    LINES = 4,  /* of a circle, at most */
    TIMES = 3,  /* that it has come when it is over */
    TELLS = 3,  /* letters and digits of a circle */
    BYTES = 32, /* of a circle within a line, at most */
    ROUNDS = 6, /* of it, and */
    LONG = 48   /* bytes of them all, at the least */
};

/* Lines with something on them, of which only the last so many are looked at. */
enum { SEEN = LINES * TIMES };
typedef struct lines {
    size_t at[SEEN], end[SEEN];
    int64_t n; /* in all */
} lines;

static size_t at_of(const lines *l, int64_t i)
{
    return l->at[i % SEEN];
}

static size_t end_of(const lines *l, int64_t i)
{
    return l->end[i % SEEN];
}

static bool same(const lines *l, const char *text, int64_t i, int64_t k)
{
    size_t n = end_of(l, i) - at_of(l, i);
    return end_of(l, k) - at_of(l, k) == n &&
           memcmp(text + at_of(l, i), text + at_of(l, k), n) == 0;
}

static bool tells(const char *text, size_t n, int64_t least)
{
    int64_t count = 0, letters = 0;
    for (size_t k = 0; k < n; k++) {
        count += isalnum((uint8_t)text[k]) != 0;
        letters += isalpha((uint8_t)text[k]) != 0;
    }
    return count >= least && letters > 0;
}

/* Number of last lines, beyond a period of k, that equal the line k before. */
static int64_t repeated(const lines *l, const char *text, int64_t k)
{
    int64_t seen = l->n < SEEN ? l->n : SEEN, m = 0;
    while (m + k < seen && same(l, text, l->n - 1 - m, l->n - 1 - m - k)) m++;
    return m;
}

static void see_circles(size_t *end, bool *over, const lines *l, const char *text, bool last)
{
    for (int64_t k = 1; k <= LINES; k++) {
        int64_t m = repeated(l, text, k), first = l->n - m - k;
        if (m == 0 ||
            !tells(text + at_of(l, first), end_of(l, first + k - 1) - at_of(l, first), TELLS))
            continue;
        bool round = m >= (TIMES - 1) * k;
        if ((round || !last) && end_of(l, first + k - 1) < *end) *end = end_of(l, first + k - 1);
        *over = *over || round;
    }
}

/* True if text[0..n) ends with many repetitions of the same few bytes. */
static bool circles_in_line(const char *text, size_t n)
{
    for (size_t p = 1; p <= BYTES; p++) {
        size_t rounds = p * ROUNDS > LONG ? p * ROUNDS : LONG;
        if (n < rounds || !tells(text + n - p, p, 1)) continue;
        if (memcmp(text + n - rounds, text + n - rounds + p, rounds - p) == 0) return true;
    }
    return false;
}

void complete_circle_find(size_t *end, bool *over, const char *text, size_t n, bool last)
{
    lines l = {0};
    size_t at = 0;
    *end = n;
    *over = false;
    for (; at < n && !*over; at++) {
        size_t line_end = complete_line_end(text, n, at);
        if (circles_in_line(text + at, line_end - at)) {
            *end = at > 0 ? at - 1 : 0;
            *over = true;
            return;
        }
        if (line_end == n) break;
        if (!complete_is_blank(text + at, line_end - at)) {
            l.at[l.n % SEEN] = at;
            l.end[l.n++ % SEEN] = line_end;
            *end = n;
            see_circles(end, over, &l, text, last);
        }
        at = line_end;
    }
}
