/*
 * split_words.c: hand-written splitters for the patterns of GPT-2, of Qwen2.5 and Llama 3, and of
 * DeepSeek V3. They give the same words as PCRE2, several times faster.
 *
 * Text is valid UTF-8. split_runs.c has the simpler patterns and the list of all.
 */
#include <string.h>

#include "tokenizer/split.h"

/* End of a run of characters that are in the class, or are not (wanted false). */
static size_t run_of(const split_step *s, const char *text, size_t n, size_t at, unsigned class,
                     bool wanted)
{
    size_t bytes;
    while (at < n && !!(class_at(s, text, at, &bytes) & class) == wanted) at += bytes;
    return at;
}

/* \s*[\r\n]+ (where `lines`), \s+(?!\S), \s+ in this order, at a space. */
static size_t spaces(const split_step *s, const char *text, size_t n, size_t at, bool lines)
{
    size_t end = at, last = at, line = 0, bytes;
    while (end < n && class_at(s, text, end, &bytes) & UNI_SPACE) {
        last = end;
        end += bytes;
        if (text[last] == '\r' || text[last] == '\n') line = end;
    }
    if (lines && line > 0) return line;
    return end < n && last > at ? last : end; /* the last one belongs to the next word */
}

/* Position after 's 't 're 've 'm 'll 'd at the apostrophe `at`; 0: none. `fold`: also in capitals,
 * and with U+017F, another small s. */
static size_t contraction(const char *text, size_t n, size_t at, bool fold)
{
    char a = at + 1 < n ? text[at + 1] : 0, b = at + 2 < n ? text[at + 2] : 0;
    if (fold && a == '\xc5' && b == '\xbf') return at + 3;
    if (fold && a >= 'A' && a <= 'Z') a = (char)(a | 32);
    if (fold && b >= 'A' && b <= 'Z') b = (char)(b | 32);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return at + 2;
    if ((a == 'r' || a == 'v') && b == 'e') return at + 3;
    if (a == 'l' && b == 'l') return at + 3;
    return 0;
}

int split_gpt2(size_t *begin, size_t *end, const split_step *s, const char *text, size_t n,
               size_t at, void *work)
{
    (void)work;
    if (at >= n) return 0;
    *begin = at;
    if (text[at] == '\'' && (*end = contraction(text, n, at, false)) > 0) return 1;
    size_t first = at + (text[at] == ' '), bytes;
    unsigned class = first < n ? class_at(s, text, first, &bytes) : UNI_SPACE;
    if (class & UNI_SPACE) {
        *end = spaces(s, text, n, at, false);
    } else if (class & UNI_LETTER) {
        *end = run_of(s, text, n, first, UNI_LETTER, true);
    } else if (class & UNI_NUMBER) {
        *end = run_of(s, text, n, first, UNI_NUMBER, true);
    } else {
        *end = run_of(s, text, n, first, UNI_SPACE | UNI_LETTER | UNI_NUMBER, false);
    }
    return 1;
}

static size_t numbers(const split_step *s, const char *text, size_t n, size_t at)
{
    size_t bytes;
    for (int64_t i = 0; at < n && (s->most == 0 || i < s->most); i++) {
        if (!(class_at(s, text, at, &bytes) & UNI_NUMBER)) break;
        at += bytes;
    }
    return at;
}

static size_t lines(const char *text, size_t n, size_t at)
{
    while (at < n && (text[at] == '\r' || text[at] == '\n')) at++;
    return at;
}

int split_qwen(size_t *begin, size_t *end, const split_step *s, const char *text, size_t n,
               size_t at, void *work)
{
    const unsigned word = UNI_SPACE | UNI_LETTER | UNI_NUMBER;
    size_t bytes, next_bytes;
    (void)work;
    if (at >= n) return 0;
    *begin = at;
    if (text[at] == '\'' && (*end = contraction(text, n, at, true)) > 0) return 1;
    unsigned class = class_at(s, text, at, &bytes);
    if (class & UNI_LETTER) {
        *end = run_of(s, text, n, at, UNI_LETTER, true);
        return 1;
    }
    if (class & UNI_NUMBER) {
        *end = numbers(s, text, n, at);
        return 1;
    }
    unsigned next = at + bytes < n ? class_at(s, text, at + bytes, &next_bytes) : UNI_SPACE;
    if (next & UNI_LETTER && text[at] != '\r' && text[at] != '\n') {
        *end = run_of(s, text, n, at + bytes, UNI_LETTER, true);
    } else if (!(class & UNI_SPACE) || (text[at] == ' ' && !(next & word))) {
        *end = lines(text, n, run_of(s, text, n, at + (text[at] == ' '), word, false));
    } else {
        *end = spaces(s, text, n, at, true);
    }
    return 1;
}

static bool ascii_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Where a match begins at `at`: its end, else 0. */
static size_t deepseek_at(const split_step *s, const char *text, size_t n, size_t at)
{
    const unsigned letters = UNI_LETTER | UNI_MARK, signs = UNI_PUNCT | UNI_SYMBOL;
    size_t bytes, next_bytes;
    unsigned class = class_at(s, text, at, &bytes);
    bool line = text[at] == '\r' || text[at] == '\n';
    if (class & signs && (uint8_t)text[at] < 0x80 && at + 1 < n && ascii_letter(text[at + 1])) {
        size_t end = at + 2;
        while (end < n && ascii_letter(text[end])) end++;
        return end;
    }
    if (class & letters) return run_of(s, text, n, at, letters, true);
    unsigned next = at + bytes < n ? class_at(s, text, at + bytes, &next_bytes) : 0;
    if (!line && !(class & signs) && next & letters) {
        return run_of(s, text, n, at + bytes, letters, true);
    }
    if (class & signs || (text[at] == ' ' && next & signs)) {
        return lines(text, n, run_of(s, text, n, at + (text[at] == ' '), signs, true));
    }
    return class & UNI_SPACE ? spaces(s, text, n, at, true) : 0;
}

/* Unlike the other two it leaves some characters out: numbers and controls. */
int split_deepseek(size_t *begin, size_t *end, const split_step *s, const char *text, size_t n,
                   size_t at, void *work)
{
    size_t bytes;
    (void)work;
    for (; at < n; at += bytes) {
        *begin = at;
        *end = deepseek_at(s, text, n, at);
        if (*end > 0) return 1;
        tokenizer_point(text + at, &bytes);
    }
    return 0;
}
