/*
 * secrets_value.c: recognises values that look random and are assigned to the name of a secret: in
 * code (`password = "..."`), strings and comments (`Password=...;`, `export TOKEN=...`).
 *
 * It does not find a secret that looks like an ordinary word or has no such name.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "corpus/secrets.h"

enum {
    VALUE_LEAST = 8,
    VALUE_MOST = 512,
    KEY_LEAST = 16, /* characters from which letters and digits alone are judged by entropy */
    NAME_MOST = 64,
    PARAMETER_MOST = 32,
    SEPARATORS_MOST = 24 /* characters between a name and its value */
};

/* ---- names ----------------------------------------------------------------------------- */

static const struct {
    const char *word;
    size_t head; /* offset of the three bytes by which secrets.c finds it */
    bool whole;  /* no letters around it: "db_pass", but not "bypass" */
} names[] = {
    {"password", 2, false},    {"passwd", 2, false},
    {"passphrase", 2, false},  {"pass", 1, true},
    {"pwd", 0, false},         {"secret", 2, false},
    {"credential", 0, false},  {"token", 0, false},
    {"bearer", 0, false},      {"api_key", 2, false},
    {"api-key", 2, false},     {"apikey", 1, false},
    {"access_key", 5, false},  {"access-key", 5, false},
    {"accesskey", 5, false},   {"account_key", 6, false},
    {"accountkey", 5, false},  {"auth_key", 3, false},
    {"client_key", 5, false},  {"private_key", 6, false},
    {"service_key", 6, false}, {"encryption_key", 9, false},
    {"signing_key", 6, false}, {"license_key", 6, false},
};

static bool is_name(char c)
{
    return secrets_is_alnum(c) || c == '_';
}

size_t secrets_name_end(const char *text, size_t n, size_t at)
{
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const char *word = names[k].word;
        size_t head = names[k].head, lo = at - head;
        if (at < head || (text[at] | 32) != word[head] || (text[lo] | 32) != word[0]) continue;
        size_t length = strlen(word);
        if (n - lo < length || strncasecmp(text + lo, word, length) != 0) continue;
        size_t end = lo + length;
        if (names[k].whole &&
            ((lo > 0 && secrets_is_alnum(text[lo - 1])) || (end < n && is_name(text[end]))))
            continue;
        while (end < n && is_name(text[end])) end++;
        return end;
    }
    return 0;
}

/* ---- what random values look like ------------------------------------------------------- */

typedef enum kind { LOWER, UPPER, DIGIT, SIGN, KINDS } kind;

typedef struct profile {
    size_t count[KINDS];
    size_t separators; /* signs that join words */
    size_t kinds;      /* with a character; without digits, with two */
    size_t changes;    /* of the kind, from one character to the next */
    size_t ascending;  /* characters that follow their predecessor in the alphabet */
    size_t longest;    /* run of lower case */
    bool words;        /* between separators: mostly runs of three or more letters */
    bool key, printed; /* only characters of base64 and its relatives; printable ones */
    double bits;       /* of entropy, for each character */
} profile;

static kind kind_of(char c)
{
    return secrets_is_lower(c)   ? LOWER
           : secrets_is_upper(c) ? UPPER
           : secrets_is_digit(c) ? DIGIT
                                 : SIGN;
}

static bool is_key(char c)
{
    return is_name(c) || c == '-' || c == '+' || c == '/' || c == '=';
}

static double entropy(const char *s, size_t n)
{
    int count[256] = {0};
    double bits = 0;
    for (size_t k = 0; k < n; k++) count[(unsigned char)s[k]]++;
    for (int c = 0; c < 256; c++)
        if (count[c]) bits -= count[c] / (double)n * log2(count[c] / (double)n);
    return bits;
}

static profile profile_of(const char *s, size_t n)
{
    profile p = {.key = true, .printed = true, .bits = entropy(s, n)};
    size_t run = 0, words[KINDS] = {0};
    for (size_t k = 0; k < n; k++) {
        kind now = kind_of(s[k]);
        p.count[now]++;
        p.separators += memchr("-_.:=/,", s[k], 7) != NULL;
        p.key &= is_key(s[k]);
        p.printed &= s[k] > ' ' && s[k] < 0x7f;
        bool same = k > 0 && now == kind_of(s[k - 1]);
        p.changes += k > 0 && !same;
        p.ascending += k > 0 && s[k] == s[k - 1] + 1;
        run = same ? run + 1 : 1;
        if (now == LOWER && run > p.longest) p.longest = run;
        words[now] += run == 3 ? 3 : run > 3;
    }
    p.words = p.separators > 0 && (words[LOWER] * 2 >= n || words[UPPER] * 2 >= n ||
                                   (words[LOWER] + words[UPPER]) * 5 >= n * 3);
    for (int k = 0; k < KINDS; k++) {
        size_t of_kind = p.count[k] - (k == SIGN ? p.separators : 0);
        p.kinds += of_kind > (p.count[DIGIT] == 0);
    }
    return p;
}

/* Formats, variables, addresses, paths and code are placeholders, not secrets. */
static bool stands_for_another(const char *s, size_t n)
{
    static const char *const marks[] = {"://", "${",  "$(",  "{{",  "{}",  "***", "...", "->",
                                        "::",  "()",  "<",   ">",   "%s",  "%d",  "%x",  "%u",
                                        "%l",  "%02", "%04", "%08", "\\n", "\\x"};
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++)
        if (memmem(s, n, marks[k], strlen(marks[k]))) return true;
    size_t name = s[0] == '$' ? 1 : 0;
    while (name > 0 && name < n && is_name(s[name])) name++;
    return name == n || s[0] == '.' || (s[0] == '0' && (s[1] | 32) == 'x');
}

/* Letters and digits, as of keys in hexadecimal and base64: long, and with the entropy of random
 * ones. "x86_64-linux-gnu" is words between separators. */
static bool is_random_key(const profile *p, size_t n)
{
    size_t letters = p->count[LOWER] + p->count[UPPER];
    if (n < KEY_LEAST || p->count[DIGIT] < 2 || letters < 2 || p->bits <= 3.2) return false;
    return !p->words;
}

/* Three of four kinds, or upper and lower case alone in similar shares, which change often, as in
 * "xK9#mQ2$vL8p", "k7Gq2xZ9" and "bTzRQwhLkP". */
static bool is_random_mix(const profile *p, const char *s, size_t n)
{
    bool cases = n > VALUE_LEAST + 1 && p->count[LOWER] * 4 >= n && p->count[UPPER] * 4 >= n;
    if (p->words || s[0] == '/') return false;
    return (p->kinds >= 3 || cases) && p->longest <= 6 && p->changes * 5 >= (n - 1) * 2;
}

/* Without quotes it may be code: "sha256(Body1)[0:16]". */
static bool is_code(const char *s, size_t n)
{
    return memchr(s, '(', n) || memchr(s, '[', n) || memchr(s, '{', n);
}

/* A value in quotes, one without, and one without after "password=", for which letters with digits
 * are enough. */
typedef enum form { QUOTED, BARE, PASSWORD } form;

static bool is_secret(const char *s, size_t n, form f)
{
    if (n < VALUE_LEAST || n > VALUE_MOST) return false;
    profile p = profile_of(s, n);
    size_t letters = p.count[LOWER] + p.count[UPPER];
    if (!p.printed || p.ascending * 2 > n || stands_for_another(s, n)) return false;
    if (p.key && is_random_key(&p, n)) return true;
    if (f == PASSWORD && p.count[DIGIT] > 0 && letters > 0 && p.count[SIGN] == 0) return true;
    bool words = f != QUOTED && (p.count[LOWER] == 0 || p.count[UPPER] == 0 || is_code(s, n));
    return !words && is_random_mix(&p, s, n);
}

/* ---- from a name to its value -------------------------------------------------------------- */

typedef struct cursor {
    const char *text;
    size_t at, n;
    char last;     /* separator: '=', ':', ',' or '('; 0: none so far */
    char quote;    /* that opens the value; 0: none */
    bool escaped;  /* the quote */
    bool adjacent; /* nothing but the closing quote of the name was passed */
} cursor;

static bool is_quote(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

/* A quote closes the name when it follows at once, and else opens the value. */
static bool pass_quote(cursor *c)
{
    bool escaped = c->text[c->at] == '\\';
    c->at += escaped;
    char quote = c->text[c->at++];
    if (c->adjacent) {
        c->adjacent = false;
        return true;
    }
    c->quote = quote;
    c->escaped = escaped;
    return false;
}

/* Skips "[8]" and "[]" of a declaration, or "]" of a subscript whose string was the name. */
static void pass_bracket(cursor *c)
{
    const char *from = c->text + c->at;
    size_t most = c->n - c->at < SEPARATORS_MOST ? c->n - c->at : SEPARATORS_MOST;
    const char *close = *from == '[' ? memchr(from, ']', most) : NULL;
    c->at += close ? (size_t)(close - from) + 1 : 1;
}

/* Moves to the first character of the value; false: none. */
static bool find_value(cursor *c)
{
    size_t stop = c->n - c->at < SEPARATORS_MOST ? c->n : c->at + SEPARATORS_MOST;
    while (c->at < stop) {
        char x = c->text[c->at], next = c->at + 1 < c->n ? c->text[c->at + 1] : '\0';
        if (is_quote(x) || (x == '\\' && is_quote(next))) {
            if (!pass_quote(c)) return true;
            continue;
        }
        c->adjacent = false;
        if (x == ':' && next == ':') return false; /* a name of C++ */
        if (x == '[' || x == ']') {
            pass_bracket(c);
        } else if (memchr("=:,(", x, 4)) {
            c->last = x;
            c->at++;
        } else if (memchr(" \t\r\n){!*", x, 8)) {
            c->at++;
        } else if (memchr("LuUR", x, 4) && next == '"') {
            c->at++;
        } else {
            return true;
        }
    }
    return false;
}

static size_t end_of_string(const cursor *c)
{
    size_t end = c->at;
    for (; end < c->n && end - c->at <= VALUE_MOST; end++) {
        char x = c->text[end];
        if (x == '\n' || x == c->quote) break;
        if (x != '\\') continue;
        if (c->escaped) break;
        end++;
    }
    return end < c->n ? end : c->n;
}

/* "&name=" begins the next parameter of an address. */
static bool begins_parameter(const char *s, const char *end)
{
    const char *most = end - s > PARAMETER_MOST ? s + PARAMETER_MOST : end;
    if (*s != '&') return false;
    for (s++; s < most && is_name(*s); s++) continue;
    return s < most && *s == '=';
}

static size_t end_of_word(const cursor *c, size_t limit)
{
    size_t end = c->at;
    if (limit - end > VALUE_MOST)
        limit = end + VALUE_MOST + 1; /* enough to see that it is longer */
    while (end < limit && !memchr(" \t\r\n\"'`;,\\", c->text[end], 10) &&
           !begins_parameter(c->text + end, c->text + limit))
        end++;
    while (end > c->at && memchr(")]}.>", c->text[end - 1], 5)) end--;
    return end;
}

/* True if the name that ends at `end` contains the word, in any case. */
static bool name_has(const char *text, size_t end, const char *word)
{
    size_t n = strlen(word), lo = end;
    while (lo > 0 && end - lo < NAME_MOST && is_name(text[lo - 1])) lo--;
    for (; lo + n <= end; lo++)
        if (strncasecmp(text + lo, word, n) == 0) return true;
    return false;
}

bool secrets_value(size_t *lo, size_t *hi, const char *text, size_t n, size_t end, size_t limit)
{
    cursor c = {.text = text, .at = end, .n = n, .adjacent = true};
    bool bearer = end >= 6 && strncasecmp(text + end - 6, "bearer", 6) == 0;
    if (!find_value(&c)) return false;
    if (c.last == '(' && name_has(text, end, "token")) return false; /* a call: lex_token("+=") */
    *lo = c.at;
    if (c.quote) {
        *hi = end_of_string(&c);
        return is_secret(text + *lo, *hi - *lo, QUOTED);
    }
    if (c.at >= limit || (c.last != '=' && c.last != ':' && !bearer)) return false;
    *hi = end_of_word(&c, limit);
    bool password = name_has(text, end, "pass") || name_has(text, end, "pwd");
    form f = c.last == '=' && password ? PASSWORD : BARE;
    return is_secret(text + *lo, *hi - *lo, f);
}
