/*
 * split_runs.c: hand-written splitters for patterns that match runs of one class (line ends,
 * numbers, words or punctuation with a preceding space, East Asian text), and the list of all
 * hand-written patterns. pattern.c runs other patterns with PCRE2.
 */
#include <string.h>

#include "tokenizer/split.h"

/* Where, at or after `at`, a byte is not ASCII. */
static size_t skip_ascii(const char *text, size_t n, size_t at)
{
    uint64_t eight;
    while (n - at >= sizeof eight) {
        memcpy(&eight, text + at, sizeof eight);
        if (eight & 0x8080808080808080u) break;
        at += sizeof eight;
    }
    while (at < n && (uint8_t)text[at] < 0x80) at++;
    return at;
}

static int find_line_end(size_t *begin, size_t *end, const split_step *s, const char *text,
                         size_t n, size_t at, void *work)
{
    (void)s;
    (void)work;
    while (at < n && text[at] != '\r' && text[at] != '\n') at++;
    if (at == n) return 0;
    *begin = at;
    *end = at + 1;
    return 1;
}

static int find_run(size_t *begin, size_t *end, const split_step *s, const char *text, size_t n,
                    size_t at, void *work)
{
    size_t bytes = 0;
    (void)work;
    while (at < n && !(class_at(s, text, at, &bytes) & s->class)) at += bytes;
    if (at == n) return 0;
    *begin = at;
    for (int64_t i = 0; at < n && (s->most == 0 || i < s->most); i++) {
        if (!(class_at(s, text, at, &bytes) & s->class)) break;
        at += bytes;
    }
    *end = at;
    return 1;
}

/* \s?X+ : of several spaces the last. */
static int find_spaced_run(size_t *begin, size_t *end, const split_step *s, const char *text,
                           size_t n, size_t at, void *work)
{
    size_t bytes = 0, from = at, last = at;
    unsigned before = 0, class = 0;
    for (; at < n; at += bytes) {
        class = class_at(s, text, at, &bytes);
        if (class & s->class) break;
        before = class;
        last = at;
    }
    if (at == n) return 0;
    *begin = at > from && before & UNI_SPACE ? last : at;
    find_run(&from, end, s, text, n, at, work);
    return 1;
}

/* [一-龥ࠀ-一가-퟿]+ */
static bool east_asian(uint32_t c)
{
    return (c >= 0x800 && c <= 0x9fa5) || (c >= 0xac00 && c <= 0xd7ff);
}

/* [一-龥぀-ゟ゠-ヿ]+ */
static bool han_or_kana(uint32_t c)
{
    return (c >= 0x4e00 && c <= 0x9fa5) || (c >= 0x3040 && c <= 0x30ff);
}

static int find_points(size_t *begin, size_t *end, const char *text, size_t n, size_t at,
                       bool (*wanted)(uint32_t))
{
    size_t bytes;
    for (;;) {
        at = skip_ascii(text, n, at);
        if (at == n) return 0;
        if (wanted(tokenizer_point(text + at, &bytes))) break;
        at += bytes;
    }
    *begin = at;
    while (at < n && wanted(tokenizer_point(text + at, &bytes))) at += bytes;
    *end = at;
    return 1;
}

static int find_east_asian(size_t *begin, size_t *end, const split_step *s, const char *text,
                           size_t n, size_t at, void *work)
{
    (void)s;
    (void)work;
    return find_points(begin, end, text, n, at, east_asian);
}

static int find_han_or_kana(size_t *begin, size_t *end, const split_step *s, const char *text,
                            size_t n, size_t at, void *work)
{
    (void)s;
    (void)work;
    return find_points(begin, end, text, n, at, han_or_kana);
}

#define QWEN_BEGIN "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define QWEN_END   "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* keeps, cuts: see tokenizer_split_cut. Patterns for whole texts look ahead only in \s+(?!\S). None
 * of their matches starts with a newline and continues with a character other than a space. A match
 * may join a line end with preceding punctuation, never with letters or numbers. Runs of non-space
 * characters do not touch such a position; \s?X+ does. */
static const struct {
    const char *pattern;
    split_find find;
    int64_t most;
    unsigned class;
    bool keeps, cuts;
} known[] = {
    {.pattern = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|"
                "\\s+",
     .find = split_gpt2,
     .keeps = true,
     .cuts = true},
    {.pattern = QWEN_BEGIN "\\p{N}" QWEN_END,
     .find = split_qwen,
     .most = 1,
     .keeps = true,
     .cuts = true},
    {.pattern = QWEN_BEGIN "\\p{N}{1,3}" QWEN_END,
     .find = split_qwen,
     .most = 3,
     .keeps = true,
     .cuts = true},
    {.pattern = QWEN_BEGIN "\\p{N}+" QWEN_END, .find = split_qwen, .keeps = true, .cuts = true},
    {.pattern = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
                "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|"
                "\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
     .find = split_deepseek,
     .keeps = true,
     .cuts = true},
    {.pattern = "[\r\n]", .find = find_line_end, .keeps = true, .cuts = true},
    {.pattern = "\\s?\\p{L}+", .find = find_spaced_run, .class = UNI_LETTER},
    {.pattern = "\\s?\\p{P}+", .find = find_spaced_run, .class = UNI_PUNCT},
    {.pattern = "\\p{N}", .find = find_run, .class = UNI_NUMBER, .most = 1, .keeps = true},
    {.pattern = "\\p{N}+", .find = find_run, .class = UNI_NUMBER, .keeps = true},
    {.pattern = "\\p{N}{1,3}", .find = find_run, .class = UNI_NUMBER, .most = 3, .keeps = true},
    {.pattern = "[一-龥ࠀ-一가-\xed\x9f\xbf]+", .find = find_east_asian, .keeps = true},
    {.pattern = "[一-龥\u3040-ゟ゠-ヿ]+", .find = find_han_or_kana, .keeps = true},
};

bool tokenizer_split_known(split_step *s, const char *pattern)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].pattern, pattern) != 0) continue;
        s->find = known[i].find;
        s->class = known[i].class;
        s->most = known[i].most;
        s->keeps = known[i].keeps;
        s->cuts = known[i].cuts;
        return true;
    }
    return false;
}
