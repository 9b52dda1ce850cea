/*
 * repeat.c: finds where a completion begins to repeat the text after the cursor.
 *
 * Lines are compared with the lines that follow, and the end of the last line with the rest of the
 * cursor's own line. A line that has only brackets is no evidence here: stop.c handles brackets
 * that close a block which was open at the cursor.
 */
#include <ctype.h>
#include <string.h>

#include "infer/complete/priv.h"

enum {
    TELLS = 3,   /* letters and digits of what can be a repetition, */
    CERTAIN = 12 /* and of what is one, whatever comes next */
};

typedef struct line {
    const char *text; /* without the blanks around it */
    size_t n;
} line;

static line trim(const char *text, size_t n)
{
    while (n > 0 && isspace((uint8_t)text[n - 1])) n--;
    while (n > 0 && isspace((uint8_t)*text)) {
        text++;
        n--;
    }
    return (line){text, n};
}

/* The next line from *at on that is not blank; moves *at after it. *whole: it ends with a line
 * feed. */
static bool next_line(line *out, bool *whole, const char *text, size_t n, size_t *at)
{
    while (*at < n) {
        size_t end = complete_line_end(text, n, *at);
        *out = trim(text + *at, end - *at);
        *whole = end < n;
        *at = end + 1;
        if (out->n > 0) return true;
    }
    *at = n;
    return false;
}

static size_t telling(line l)
{
    size_t count = 0;
    for (size_t k = 0; k < l.n; k++) count += isalnum((uint8_t)l.text[k]) != 0;
    return count;
}

static bool same(line a, line b)
{
    return a.n == b.n && memcmp(a.text, b.text, a.n) == 0;
}

/* ---- lines ------------------------------------------------------------------------------- */

/* True if all lines from `at` on equal those of the suffix, as far as they go. *certain: too many
 * to be a coincidence. The last line may still grow. */
static bool repeats(bool *certain, const char *text, size_t n, size_t at, const char *suffix,
                    size_t suffix_n, bool last)
{
    size_t told = 0, whole_told = 0, lines = 0, there = 0;
    line mine, theirs;
    bool whole, theirs_whole;
    *certain = false;
    while (next_line(&mine, &whole, text, n, &at)) {
        if (!next_line(&theirs, &theirs_whole, suffix, suffix_n, &there)) return false;
        bool begun = theirs.n > mine.n && memcmp(mine.text, theirs.text, mine.n) == 0;
        bool grows = !whole && begun && (!last || lines > 0);
        if (!same(mine, theirs) && !grows) return false;
        if (lines == 0 && telling(theirs) == 0) return false;
        told += telling(mine);
        if (whole) whole_told += telling(mine);
        lines++;
    }
    *certain = whole_told >= CERTAIN;
    return lines > 0 && (told >= TELLS || !last);
}

static bool place_begins_line(const hpc_spot *d)
{
    size_t begin = complete_line_begin(d->text.data, d->at);
    return complete_is_blank(d->text.data + begin, d->at - begin);
}

/* ---- the rest of the line -------------------------------------------------------------------- */

/* Brackets of text[0..n) that are open or closed too often; strings are not looked at. */
static int64_t balance(const char *text, size_t n)
{
    int64_t open = 0;
    for (size_t k = 0; k < n; k++) {
        if (text[k] && strchr("([{", text[k])) open++;
        if (text[k] && strchr(")]}", text[k])) open--;
    }
    return open;
}

/* All of the rest, marks alone, or more than a single name or mark, as whole words. */
static bool overlap_tells(line rest, size_t k)
{
    line part = trim(rest.text, k);
    bool cut = k < rest.n && isalnum((uint8_t)rest.text[k]) && isalnum((uint8_t)rest.text[k - 1]);
    return k == rest.n || telling(part) == 0 || (telling(part) < part.n && !cut);
}

static size_t end_before_rest(const char *text, size_t n, line rest)
{
    line all = trim(text, n);
    size_t end = (size_t)(all.text - text) + all.n;
    for (size_t k = rest.n < all.n ? rest.n : all.n; k > 0; k--) {
        if (memcmp(text + end - k, rest.text, k) != 0 || !overlap_tells(rest, k)) continue;
        if (balance(text, end - k) == 0) return end - k;
    }
    return n;
}

void complete_repeat_find(size_t *end, bool *over, const hpc_spot *d, const char *text, size_t n,
                          bool last)
{
    const char *suffix = d->text.data + d->at;
    size_t suffix_n = d->text.n - d->at, rest_n = complete_line_end(suffix, suffix_n, 0);
    line rest = trim(suffix, rest_n);
    *end = n;
    *over = false;
    if (rest.n > 0) {
        if (last) *end = end_before_rest(text, n, rest);
        return;
    }
    size_t at = place_begins_line(d) ? 0 : complete_line_end(text, n, 0) + 1;
    while (at < n) {
        if (repeats(over, text, n, at, suffix, suffix_n, last)) {
            *end = at > 0 ? at - 1 : 0;
            return;
        }
        at = complete_line_end(text, n, at) + 1;
    }
}
