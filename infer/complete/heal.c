/*
 * heal.c: token healing at the cursor.
 *
 * After "i+", a model with a token "++)" is unlikely to write "+)", because training text never
 * split it there. If the last bytes of the line are a prefix of a longer token, the tokens that
 * hold these bytes are removed from the prompt. The model then chooses among the tokens that spell
 * the same bytes (`owed` of hpc_grammar_options).
 */
#include <string.h>

#include "infer/complete/priv.h"

enum { HEAL_TOKENS = 3, HEAL_BYTES = 64 };

/* A token starts anyway after the end of a statement or block, and after an indentation. */
bool complete_heal_may(const char *text, size_t n)
{
    bool blank = n > 1 && text[n - 1] == ' ' && !complete_is_blank(text + n - 2, 1);
    return n > 0 && (blank || !strchr(" \t\n\r\f\v;{}", text[n - 1]));
}

static bool begins_character(const char *text, size_t at)
{
    return ((uint8_t)text[at] & 0xc0) != 0x80;
}

int64_t complete_heal(size_t *owed, const hpc_vocabulary *v, const char *text, size_t n,
                      const int32_t *id, int64_t id_n)
{
    size_t begin[HEAL_TOKENS + 1] = {n}, m, from = complete_line_begin(text, n);
    int64_t known = 0, taken = 1;

    *owed = 0;
    while (complete_heal_may(text, n) && known < HEAL_TOKENS && known < id_n) {
        const char *t = hpc_vocabulary_text(v, id[id_n - 1 - known], &m);
        size_t end = begin[known];
        if (!t || m > end || n - (end - m) > HEAL_BYTES || memcmp(t, text + end - m, m) != 0) break;
        begin[++known] = end - m;
    }
    if (from < begin[known]) from = begin[known];
    while (from < n && !hpc_vocabulary_goes_on(v, text + from, n - from)) from++;
    if (from == n) return 0;
    while (taken <= known && (begin[taken] > from || !begins_character(text, begin[taken])))
        taken++;
    if (taken > known) return 0;
    *owed = n - begin[taken];
    return taken;
}
