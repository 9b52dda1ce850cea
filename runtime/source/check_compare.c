/*
 * check_compare.c: finds the errors of a text that another filling of its gap did not
 * have.
 *
 * It compares message texts exactly: libclang gives equal messages for equal causes.
 */
#include <string.h>

#include "runtime/source/check_priv.h"

static bool same_message(const check_issues *a, const check_issue *x, const check_issues *b,
                         const check_issue *y)
{
    return x->text_n == y->text_n && ((x->flags ^ y->flags) & CHECK_PARSE) == 0 &&
           memcmp(a->text.data + x->text_at, b->text.data + y->text_at, x->text_n) == 0;
}

/* Where a byte of `before` is now; false where the filling has taken its place. */
static bool moved_to(size_t *at, const check_version *now, const check_version *before,
                     const check_issue *i)
{
    *at = i->at;
    if (i->at < before->lo) return true;
    if (i->at < before->lo + before->mid_n) return false;
    *at = i->at - before->mid_n + now->mid_n;
    return true;
}

/* The same error in the same place, or in the same header. */
static bool is_same(const check_version *now, const check_issue *x, const check_version *before,
                    const check_issue *y)
{
    size_t at;
    if (((x->flags ^ y->flags) & CHECK_INSIDE) != 0) return false;
    if ((x->flags & CHECK_INSIDE) != 0 && (!moved_to(&at, now, before, y) || at != x->at))
        return false;
    return same_message(now->issues, x, before->issues, y);
}

/* libclang reports an undeclared function once, at its first call, which may now be earlier. */
static bool is_moved(const check_version *now, const check_issue *x, const check_version *before,
                     const check_issue *y)
{
    return (x->flags & CHECK_PARSE) == 0 && same_message(now->issues, x, before->issues, y);
}

/* The line around a byte, without surrounding blanks. */
static const char *line_around(const char *text, size_t n, size_t at, size_t *line_n)
{
    size_t lo = at < n ? at : n, hi = lo;
    while (lo > 0 && text[lo - 1] != '\n') lo--;
    while (hi < n && text[hi] != '\n') hi++;
    while (lo < hi && (text[lo] == ' ' || text[lo] == '\t')) lo++;
    while (lo < hi && (text[hi - 1] == ' ' || text[hi - 1] == '\t' || text[hi - 1] == '\r')) hi--;
    *line_n = hi - lo;
    return text + lo;
}

/* Both on lines that read the same, in the parser's eyes. */
static bool is_same_line(const check_version *now, const check_issue *x,
                         const check_version *before, const check_issue *y)
{
    const uint32_t both = CHECK_PARSE | CHECK_INSIDE;
    size_t n, m;
    if ((x->flags & y->flags & both) != both) return false;
    const char *a = line_around(now->text, now->n, x->at, &n);
    const char *b = line_around(before->text, before->n, y->at, &m);
    return n == m && n > 0 && memcmp(a, b, n) == 0;
}

typedef bool (*relation)(const check_version *now, const check_issue *x,
                         const check_version *before, const check_issue *y);

/* Pairs off issues; `once`: one of `before` accounts for only one of `now`. Both lists are in text
 * order, so the search for the next pair starts after the last one. */
static void pair_off(uint8_t *fresh, uint8_t *used, const check_version *now,
                     const check_version *before, relation related, bool once)
{
    const int64_t n = before->issues->n;
    int64_t last = 0;
    for (int64_t i = 0; i < now->issues->n; i++) {
        for (int64_t m = 0; m < n && fresh[i]; m++) {
            const int64_t k = (last + m) % n;
            if ((once && used[k]) ||
                !related(now, &now->issues->item[i], before, &before->issues->item[k]))
                continue;
            fresh[i] = 0;
            used[k] = 1;
            last = k;
        }
    }
}

void check_compare(uint8_t *fresh, uint8_t *used, const check_version *now,
                   const check_version *before, bool strict)
{
    memset(used, 0, (size_t)before->issues->n);
    pair_off(fresh, used, now, before, is_same, true);
    pair_off(fresh, used, now, before, is_moved, true);
    if (!strict) pair_off(fresh, used, now, before, is_same_line, false);
}
