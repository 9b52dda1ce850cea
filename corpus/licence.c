/*
 * licence.c: detects the licence of a file or repository from SPDX tags, licence texts and header
 * comments, and checks whether an expression is allowed.
 *
 * An unrecognised licence is "", which only "all" allows.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "corpus/priv.h"

enum {
    WORDS_BYTES = 6144,  /* normalised words to search */
    HEADER_BYTES = 8192, /* where a file's own licence is looked for */
    NESTING = 16         /* of parentheses in an expression */
};

/* ---- names ------------------------------------------------------------------------ */

static const struct {
    const char *name;
    bool permissive;
} known[] = {
    {"MIT", true},
    {"MIT-0", true},
    {"BSD-2-Clause", true},
    {"BSD-3-Clause", true},
    {"BSD-1-Clause", true},
    {"BSD-4-Clause", true},
    {"0BSD", true},
    {"BSD-3-Clause-Clear", true},
    {"BSD-3-Clause-LBNL", true},
    {"BSD-3-Clause-Open-MPI", true},
    {"BSD-2-Clause-Patent", true},
    {"Apache-2.0", true},
    {"ISC", true},
    {"Zlib", true},
    {"BSL-1.0", true},
    {"NCSA", true},
    {"UPL-1.0", true},
    {"CC0-1.0", true},
    {"Unlicense", true},
    {"HPND", true},
    {"X11", true},
    {"PostgreSQL", true},
    {"WTFPL", true},
    {"CECILL-B", true},
    {"LicenseRef-Public-Domain", true},
    {"GPL-2.0-only", false},
    {"GPL-2.0-or-later", false},
    {"GPL-3.0-only", false},
    {"GPL-3.0-or-later", false},
    {"LGPL-2.0-only", false},
    {"LGPL-2.0-or-later", false},
    {"LGPL-2.1-only", false},
    {"LGPL-2.1-or-later", false},
    {"LGPL-3.0-only", false},
    {"LGPL-3.0-or-later", false},
    {"AGPL-3.0-only", false},
    {"AGPL-3.0-or-later", false},
    {"MPL-1.1", false},
    {"MPL-2.0", false},
    {"EPL-1.0", false},
    {"EPL-2.0", false},
    {"CDDL-1.0", false},
    {"CECILL-C", false},
    {"CECILL-2.1", false},
    {"Artistic-2.0", false},
    {"CC-BY-4.0", false},
    {"CC-BY-SA-4.0", false},
    {"CC-BY-NC-4.0", false},
    {"Intel", true},
    {"LicenseRef-Proprietary", false},
    {"LicenseRef-STREAM", false}, /* restricts publication of results */
};

/* Spellings that are common in SPDX tags and are not, or no longer, SPDX names. */
static const struct {
    const char *spelling, *name;
} aliases[] = {
    {"BSD-3", "BSD-3-Clause"},
    {"BSD-2", "BSD-2-Clause"},
    {"BSD", "BSD-3-Clause"},
    {"BSD3", "BSD-3-Clause"},
    {"Apache2", "Apache-2.0"},
    {"Apache-2", "Apache-2.0"},
    {"GPL-2.0", "GPL-2.0-only"},
    {"GPL-2.0+", "GPL-2.0-or-later"},
    {"GPL-3.0", "GPL-3.0-only"},
    {"GPL-3.0+", "GPL-3.0-or-later"},
    {"LGPL-2.1", "LGPL-2.1-only"},
    {"LGPL-2.1+", "LGPL-2.1-or-later"},
    {"LGPL-2.0", "LGPL-2.0-only"},
    {"LGPL-2.0+", "LGPL-2.0-or-later"},
    {"LGPL-3.0", "LGPL-3.0-only"},
    {"LGPL-3.0+", "LGPL-3.0-or-later"},
    {"AGPL-3.0", "AGPL-3.0-only"},
    {"Boost-1.0", "BSL-1.0"},
    {"Public-Domain", "LicenseRef-Public-Domain"},
};

/* The index in `known` of n bytes at name, or -1. */
static int find_known(const char *name, size_t n)
{
    for (size_t k = 0; k < sizeof aliases / sizeof *aliases; k++)
        if (strncasecmp(aliases[k].spelling, name, n) == 0 && !aliases[k].spelling[n]) {
            name = aliases[k].name;
            n = strlen(name);
            break;
        }
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strncasecmp(known[k].name, name, n) == 0 && !known[k].name[n]) return (int)k;
    return -1;
}

/* ---- the words of licences ----------------------------------------------------------- */

typedef struct phrase {
    const char *words;
    const char *name; /* NULL: depends on the rest of the text */
} phrase;

/* By the letter that they begin with; the first that occurs in a text decides. Lower case, one
 * blank between words, no punctuation. */
static const phrase phrases[] = {
    {"altered source versions must be plainly marked", "Zlib"},
    {"apache license version 2 0", "Apache-2.0"},
    {"apache 2 0 license", "Apache-2.0"},
    {"apache license 2 0", "Apache-2.0"},
    {"boost software license", "BSL-1.0"},
    {"bsd 2 clause", "BSD-2-Clause"},
    {"bsd 3 clause", "BSD-3-Clause"},
    {"2 clause bsd", "BSD-2-Clause"},
    {"3 clause bsd", "BSD-3-Clause"},
    {"cc0 1 0 universal", "CC0-1.0"},
    {"cecill b", "CECILL-B"},
    {"cecill c", "CECILL-C"},
    {"cecill license", "CECILL-2.1"},
    {"common development and distribution license", "CDDL-1.0"},
    {"creative commons attribution noncommercial", "CC-BY-NC-4.0"},
    {"eclipse public license v 1", "EPL-1.0"},
    {"eclipse public license", "EPL-2.0"},
    {"end user license agreement", "LicenseRef-Proprietary"},
    {"gnu affero general public license", "AGPL"},
    {"gnu general public license", "GPL"},
    {"gnu gpl", "GPL"},
    {"gnu lesser general public license", "LGPL"},
    {"gnu library general public license", "LGPL"},
    {"mit license", "MIT"},
    {"modified bsd license", "BSD-3-Clause"},
    {"mozilla public license", "MPL-2.0"},
    {"new bsd license", "BSD-3-Clause"},
    {"permission is hereby granted free of charge to any person obtaining a copy", NULL},
    {"permission is hereby granted without written agreement", "HPND"},
    {"permission to use copy modify and or distribute this software for any purpose with or "
     "without fee is hereby granted",
     "ISC"},
    {"permission to use copy modify and distribute this software for any purpose with or without "
     "fee is hereby granted",
     "ISC"},
    {"permission to use copy modify and distribute this software and its documentation", "HPND"},
    {"redistribution and use in source and binary forms", NULL},
    {"simplified bsd", "BSD-2-Clause"},
    {"strictly prohibited", "LicenseRef-Proprietary"},
    {"this is free and unencumbered software released into the public domain", "Unlicense"},
    {"this software is in the public domain", "LicenseRef-Public-Domain"},
    {"subject to the publication restrictions", "LicenseRef-STREAM"},
    {"universal permissive license", "UPL-1.0"},
    {"university of illinois ncsa open source license", "NCSA"},
    {"university of illinois open source license", "NCSA"},
};

/* Letters and digits in lower case, one blank between words. Comment marks vanish by that. */
static size_t normalise(char *out, size_t cap, size_t used, const char *text, size_t n)
{
    bool in_word = used > 0 && out[used - 1] != ' ';
    for (size_t k = 0; k < n && used + 1 < cap; k++) {
        unsigned char c = (unsigned char)text[k], lower = c | 32; /* digits have that bit */
        bool kept = ((unsigned char)(lower - 'a') < 26) | ((unsigned char)(c - '0') < 10);
        out[used] = (char)(kept ? lower : ' ');
        used += kept | in_word;
        in_word = kept;
    }
    out[used] = '\0';
    return used;
}

static bool begins(const char *words, const char *start)
{
    size_t n = strlen(start);
    return strncmp(words, start, n) == 0 && !isalnum((unsigned char)words[n]);
}

static const phrase *first_phrase(const char *words)
{
    bool at_word = true;
    for (const char *p = words; *p; at_word = *p++ == ' ') {
        if (!at_word) continue;
        for (size_t k = 0; k < sizeof phrases / sizeof *phrases; k++)
            if (phrases[k].words[0] == *p && begins(p, phrases[k].words)) return &phrases[k];
    }
    return NULL;
}

/* "GPL-2.0-or-later", from the family and the words about versions. */
static void gnu(char out[CORPUS_LICENCE], const char *family, const char *words)
{
    static const char *const versions[] = {"3 0", "3", "2 1", "2 0", "2"};
    const char *best = NULL, *version = strcmp(family, "LGPL") == 0 ? "2.1" : "2.0";
    if (strcmp(family, "AGPL") == 0) version = "3.0";
    for (const char *p = words; (p = strstr(p, "version ")); p += 8) {
        for (size_t k = 0; k < sizeof versions / sizeof *versions && !best; k++)
            if (begins(p + 8, versions[k])) best = versions[k];
        if (best) break;
    }
    if (!best && (strstr(words, "gplv3") || strstr(words, "gpl v3"))) best = "3";
    if (best) version = best[0] == '3' ? "3.0" : strcmp(best, "2 1") == 0 ? "2.1" : "2.0";
    if (strcmp(family, "GPL") == 0 && strcmp(version, "2.1") == 0) version = "2.0";
    bool later = strstr(words, "any later version") || strstr(words, "or later");
    snprintf(out, CORPUS_LICENCE, "%s-%s-%s", family, version, later ? "or-later" : "only");
}

static void by_words(char out[CORPUS_LICENCE], const char *words)
{
    const phrase *found = first_phrase(words);
    const char *name = found ? found->name : "";
    if (!name && found->words[0] == 'r') {
        bool three = strstr(words, "neither the name") || strstr(words, "endorse or promote") ||
                     strstr(words, "may not be used to endorse") ||
                     strstr(words, "not be used to promote");
        bool four = strstr(words, "all advertising materials");
        name = four ? "BSD-4-Clause" : three ? "BSD-3-Clause" : "BSD-2-Clause";
        if (strstr(words, "noncommercial") || strstr(words, "non commercial"))
            name = "LicenseRef-Proprietary";
    } else if (!name) {
        name = strstr(words, "neither the names of") ? "NCSA" : "MIT";
    }
    if (strcmp(name, "Apache-2.0") == 0 &&
        (strstr(words, "llvm exception") || strstr(words, "llvm exceptions")))
        name = "Apache-2.0 WITH LLVM-exception";
    if (strcmp(name, "GPL") == 0 || strcmp(name, "LGPL") == 0 || strcmp(name, "AGPL") == 0)
        gnu(out, name, words);
    else
        snprintf(out, CORPUS_LICENCE, "%s", name);
}

/* ---- SPDX tags -------------------------------------------------------------------------- */

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '.' || c == '+' || c == ':';
}

/* Appends a word; false when it does not fit. */
static bool append(char out[CORPUS_LICENCE], const char *word, size_t n, bool glued)
{
    size_t used = strlen(out);
    bool blank = used > 0 && !glued && out[used - 1] != '(';
    if (used + blank + n + 1 > CORPUS_LICENCE) return false;
    if (blank) out[used++] = ' ';
    memcpy(out + used, word, n);
    out[used + n] = '\0';
    return true;
}

/* The expression after a tag, in our spelling; "": it has an unknown word. */
static void spdx_expression(char out[CORPUS_LICENCE], const char *p, const char *end)
{
    static const char *const operators[] = {"AND", "OR", "WITH"};
    out[0] = '\0';
    for (;;) {
        while (p < end && (*p == ' ' || *p == '\t')) p++;
        const char *word = p;
        while (p < end && is_name(*p)) p++;
        size_t n = (size_t)(p - word);
        if (n == 0) {
            if (p >= end || (*p != '(' && *p != ')')) return;
            if (!append(out, p, 1, *p == ')')) break;
            p++;
            continue;
        }
        int k = find_known(word, n);
        const char *name = k >= 0 ? known[k].name : NULL;
        for (size_t o = 0; o < 3 && !name; o++)
            if (strncasecmp(operators[o], word, n) == 0 && !operators[o][n]) name = operators[o];
        if (!append(out, name ? name : word, name ? strlen(name) : n, false)) break;
    }
    out[0] = '\0';
}

/* "(MIT OR ISC)" equals "MIT OR ISC". */
static void strip_parentheses(char out[CORPUS_LICENCE])
{
    for (size_t n = strlen(out); n > 1 && out[0] == '(' && out[n - 1] == ')'; n = strlen(out)) {
        int depth = 0;
        for (size_t k = 0; k + 1 < n; k++) {
            depth += (out[k] == '(') - (out[k] == ')');
            if (depth == 0) return; /* the first one is closed before the end */
        }
        memmove(out, out + 1, n - 2);
        out[n - 2] = '\0';
    }
}

static bool spdx_tag(char out[CORPUS_LICENCE], const char *text, size_t n)
{
    static const char tag[] = "SPDX-License-Identifier:";
    const char *p = corpus_find(text, n, tag);
    if (!p) return false;
    const char *end = memchr(p, '\n', n - (size_t)(p - text));
    spdx_expression(out, p + sizeof tag - 1, end ? end : text + n);
    strip_parentheses(out);
    return out[0] != '\0';
}

/* ---- files ---------------------------------------------------------------------------------- */

/* A quick filter: these stems occur in all comments about licences. */
static bool mentions(const char *s, size_t n)
{
    static const char *const stems[] = {"icens", "ICENS", "ermission", "edistribution",
                                        "ublic domain"};
    static const char *const heads[] = {"ice", "ICE", "erm", "edi", "ubl"};
    corpus_heads h;
    corpus_heads_init(&h, heads, sizeof heads / sizeof *heads);
    for (size_t at = 0; (at = corpus_heads_next(&h, s, n, at)) < n; at++)
        for (size_t k = 0; k < sizeof stems / sizeof *stems; k++) {
            size_t m = strlen(stems[k]);
            if (n - at >= m && memcmp(s + at, stems[k], m) == 0) return true;
        }
    return false;
}

/* The tokens that begin in the header. */
static int64_t header_tokens(const hpc_tokens *t)
{
    int64_t lo = 0, hi = t->n;
    while (lo < hi) {
        int64_t k = lo + (hi - lo) / 2;
        if (t->item[k].at < HEADER_BYTES)
            lo = k + 1;
        else
            hi = k;
    }
    return lo;
}

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

void corpus_licence_of_file(char out[CORPUS_LICENCE], const char *text, const hpc_tokens *t)
{
    char words[WORDS_BYTES];
    size_t used = 0;
    int64_t tokens_n = header_tokens(t);
    out[0] = words[0] = '\0';
    const hpc_token *last = tokens_n > 0 ? &t->item[tokens_n - 1] : NULL;
    if (!last || !mentions(text, last->at + least_of(last->n, HEADER_BYTES))) return;
    for (int64_t k = 0; k < tokens_n; k++) {
        const hpc_token *c = &t->item[k];
        if (c->kind != HPC_TOKEN_COMMENT) continue;
        size_t n = least_of(c->n, HEADER_BYTES);
        if (spdx_tag(out, text + c->at, n)) return;
        used = normalise(words, sizeof words, used, text + c->at, n);
        used = normalise(words, sizeof words, used, " ", 1);
    }
    by_words(out, words);
}

/* ---- files of licences ---------------------------------------------------------------------- */

/* True for "LICENSE.txt", "COPYING.LESSER", "LICENSE.BSD", "LICENSE-2.0", not for "licence.c". */
static bool is_text_ending(const char *ending)
{
    static const char *const endings[] = {
        "txt",  "text",   "md",      "markdown",  "rst",  "adoc",   "html",    "htm",
        "lib",  "lesser", "library", "mit",       "bsd",  "apache", "gpl",     "lgpl",
        "agpl", "boost",  "isc",     "zlib",      "mpl",  "gplv2",  "gplv3",   "lgplv2",
        "libs", "lgplv3", "runtime", "exception", "orig", "main",   "addendum"};
    if (ending[strspn(ending, "0123456789")] == '\0') return true;
    if (find_known(ending, strlen(ending)) >= 0) return true;
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++)
        if (strcasecmp(ending, endings[k]) == 0) return true;
    return false;
}

int corpus_licence_file_rank(const char *name)
{
    static const char *const stems[] = {"LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "UNLICENSE"};
    const char *dot = strrchr(name, '.');
    if (dot && !is_text_ending(dot + 1)) return -1;
    for (size_t k = 0; k < sizeof stems / sizeof *stems; k++) {
        size_t n = strlen(stems[k]);
        if (strncasecmp(name, stems[k], n) != 0) continue;
        if (!name[n]) return (int)(4 * k);
        if (name[n] == '.') return (int)(4 * k + 1);
        if (name[n] == '-' || name[n] == '_') return (int)(4 * k + 2);
    }
    return -1;
}

/* A script or a source without an ending may be called like a licence: it has lines of code. */
static bool is_code(const char *text, size_t n)
{
    int64_t lines = 0, code = 0;
    for (size_t at = 0; at < n;) {
        const char *feed = memchr(text + at, '\n', n - at);
        size_t end = feed ? (size_t)(feed - text) : n, last = end;
        while (last > at && isspace((unsigned char)text[last - 1])) last--;
        if (last > at) {
            lines++;
            code += strchr("{};", text[last - 1]) != NULL || text[at] == '#';
        }
        at = end + 1;
    }
    return memchr(text, '\0', n) || 5 * code > lines;
}

void corpus_licence_of_text(char out[CORPUS_LICENCE], const char *text, size_t n)
{
    char words[WORDS_BYTES];
    out[0] = '\0';
    if (is_code(text, n)) return;
    if (spdx_tag(out, text, n)) return;
    normalise(words, sizeof words, 0, text, n);
    by_words(out, words);
}

/* ---- expressions ---------------------------------------------------------------------------- */

static bool listed(const char *name, size_t n, const char *allowed)
{
    if (strcmp(allowed, "all") == 0) return true;
    int k = find_known(name, n);
    if (strcmp(allowed, "permissive") == 0) return k >= 0 && known[k].permissive;
    for (const char *p = allowed; *p;) {
        size_t m = strcspn(p, ",");
        int other = find_known(p, m);
        if (k >= 0 ? other == k : (m == n && strncasecmp(p, name, n) == 0)) return true;
        p += m + (p[m] == ',');
    }
    return false;
}

typedef struct parser {
    const char *p, *allowed;
    int depth;
    bool failed;
} parser;

static bool any_of(parser *x);

static bool word_is(const parser *x, const char *word)
{
    size_t n = strlen(word);
    return strncmp(x->p, word, n) == 0 && !is_name(x->p[n]);
}

static void skip(parser *x, size_t n)
{
    x->p += n;
    while (*x->p == ' ') x->p++;
}

static bool one(parser *x)
{
    bool ok = false;
    if (*x->p == '(' && x->depth < NESTING) {
        x->depth++;
        skip(x, 1);
        ok = any_of(x);
        if (*x->p != ')')
            x->failed = true;
        else
            skip(x, 1);
        x->depth--;
        return ok;
    }
    size_t n = 0;
    while (is_name(x->p[n])) n++;
    if (n == 0) x->failed = true;
    ok = listed(x->p, n, x->allowed);
    skip(x, n);
    if (word_is(x, "WITH")) { /* exceptions only ever allow more */
        skip(x, 4);
        n = 0;
        while (is_name(x->p[n])) n++;
        skip(x, n);
    }
    return ok;
}

static bool all_of(parser *x)
{
    bool ok = one(x);
    while (!x->failed && word_is(x, "AND")) {
        skip(x, 3);
        bool right = one(x);
        ok = ok && right;
    }
    return ok;
}

static bool any_of(parser *x)
{
    bool ok = all_of(x);
    while (!x->failed && word_is(x, "OR")) {
        skip(x, 2);
        bool right = all_of(x);
        ok = ok || right;
    }
    return ok;
}

bool corpus_licence_allowed(const char *expression, const char *allowed)
{
    if (strcmp(allowed, "all") == 0) return true;
    parser x = {.p = expression, .allowed = allowed};
    if (!*expression) return false;
    bool ok = any_of(&x);
    return ok && !x.failed && *x.p == '\0';
}

int corpus_licence_check_list(const char *allowed)
{
    if (strcmp(allowed, "all") == 0 || strcmp(allowed, "permissive") == 0) return 0;
    for (const char *p = allowed;;) {
        size_t n = strcspn(p, ",");
        if (n == 0 || find_known(p, n) < 0)
            return hpc_fail(HPC_E_ARG,
                            "unknown licence '%.*s'; use permissive, all, or SPDX names separated "
                            "by commas, such as MIT,BSD-3-Clause",
                            n < 60 ? (int)n : 60, p);
        if (!p[n]) return 0;
        p += n + 1;
    }
}
