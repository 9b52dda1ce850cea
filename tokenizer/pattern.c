/*
 * pattern.c: regular expressions of a tokenizer.json, run by PCRE2.
 *
 * The tokenizers library uses Oniguruma. Syntax with the same meaning in both is passed on, other
 * spellings are rewritten, and everything else is an error that names it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "tokenizer/priv.h"

/* Unicode white space. PCRE2's \s also has U+180E. */
#define SPACES                                                                                     \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"    \
    "\\x{205f}\\x{3000}"

typedef struct reader {
    const char *text;
    size_t n, at;
    hpc_buf out;
    const char *where;
} reader;

static int refuse(const reader *r, const char *what)
{
    return hpc_fail(HPC_E_UNSUPPORTED, "%.200s: character %zu of the pattern: %s is not supported",
                    r->where, r->at + 1, what);
}

static int copy(reader *r, size_t n)
{
    int rc = hpc_buf_add(&r->out, r->text + r->at, n);
    r->at += n;
    return rc;
}

static bool among(char c, const char *set)
{
    return c && strchr(set, c);
}

static size_t hex_digits(const reader *r, size_t at)
{
    size_t n = 0;
    while (at + n < r->n && among(r->text[at + n], "0123456789abcdefABCDEF")) n++;
    return n;
}

/* \p{...}: general categories mean the same everywhere; a script must not be PCRE2's set of
 * characters that are only used with it. */
static int property(reader *r)
{
    static const char *const categories[] = {
        "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl",
        "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk",
        "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Cs", "Co", "Cn", NULL};
    static const char *const scripts[] = {
        "Arabic", "Armenian", "Bengali",  "Cyrillic", "Georgian", "Greek", "Han",        "Hangul",
        "Hebrew", "Hiragana", "Katakana", "Latin",    "Tamil",    "Thai",  "Devanagari", NULL};
    size_t from = r->at + 3;
    const char *close = r->at + 2 < r->n && r->text[r->at + 2] == '{'
                            ? memchr(r->text + from, '}', r->n - from)
                            : NULL;
    if (!close) return refuse(r, "\\p without {}");
    bool not = from < r->n && r->text[from] == '^';
    from += not ;
    size_t length = (size_t)(close - (r->text + from));
    for (int list = 0; list < 2; list++) {
        for (const char *const *name = list ? scripts : categories; *name; name++) {
            if (strlen(*name) != length || memcmp(*name, r->text + from, length) != 0) continue;
            char letter = r->text[r->at + 1];
            r->at = from + length + 1;
            return hpc_buf_printf(&r->out, "\\%c{%s%s%s}", letter, not ? "^" : "",
                                  list ? "sc:" : "", *name);
        }
    }
    return refuse(r, "this class of characters");
}

static int escape(reader *r, bool in_class)
{
    char c = r->at + 1 < r->n ? r->text[r->at + 1] : 0;
    size_t hex = hex_digits(r, r->at + 2);
    switch (c) {
    case 's': r->at += 2; return hpc_buf_text(&r->out, in_class ? SPACES : "[" SPACES "]");
    case 'S': r->at += 2; return hpc_buf_text(&r->out, in_class ? "\\S\\x{180e}" : "[^" SPACES "]");
    case 'v': r->at += 2; return hpc_buf_text(&r->out, "\\x{b}");
    case 'p':
    case 'P': return property(r);
    case 'u':
        if (hex < 4) return refuse(r, "\\u without four digits");
        r->at += 6;
        return hpc_buf_printf(&r->out, "\\x{%.4s}", r->text + r->at - 4);
    case 'x':
        if (hex >= 2 && r->text[r->at + 2] <= '7') return copy(r, 4);
        if (r->at + 2 < r->n && r->text[r->at + 2] == '{') {
            hex = hex_digits(r, r->at + 3);
            if (hex > 0 && hex <= 6 && r->at + 3 + hex < r->n && r->text[r->at + 3 + hex] == '}') {
                return copy(r, hex + 4);
            }
        }
        return refuse(r, "\\x of a byte that is not ASCII");
    default: break;
    }
    if (among(c, "nrtfaedD") || (!in_class && among(c, "Az"))) return copy(r, 2);
    if (among(c, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ")) return copy(r, 2);
    char what[16];
    snprintf(what, sizeof what, "\\%c", c > ' ' && c < 0x7f ? c : '?');
    return refuse(r, what);
}

static int class(reader *r)
{
    int rc = copy(r, r->at + 1 < r->n && r->text[r->at + 1] == '^' ? 2 : 1);
    if (rc == 0 && r->at < r->n && r->text[r->at] == ']')
        return refuse(r, "] as a first character");
    while (rc == 0 && r->at < r->n) {
        char c = r->text[r->at];
        if (c == ']') return copy(r, 1);
        if (c == '[') return refuse(r, "a class within a class");
        if (c == '&' && r->at + 1 < r->n && r->text[r->at + 1] == '&') return refuse(r, "&&");
        rc = c == '\\' ? escape(r, true) : copy(r, 1);
    }
    return rc < 0 ? rc : refuse(r, "a class without end");
}

static int group(reader *r)
{
    static const char *const kinds[] = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", NULL};
    const char *rest = r->text + r->at;
    if (strncmp(rest, "(*", 2) == 0) return refuse(r, "(*");
    if (strncmp(rest, "(?", 2) != 0) return copy(r, 1);
    for (const char *const *k = kinds; *k; k++) {
        if (strncmp(rest, *k, strlen(*k)) == 0) return copy(r, strlen(*k));
    }
    return refuse(r, "this kind of group");
}

/* {n}, {n,}, {n,m}. A following + repeats in Oniguruma but is possessive in PCRE2; a ? after {n}
 * makes it optional in Oniguruma, lazy in PCRE2. */
static int interval(reader *r)
{
    size_t at = r->at + 1, digits = at;
    while (at < r->n && among(r->text[at], "0123456789")) at++;
    bool comma = at < r->n && r->text[at] == ',';
    if (at == digits || at - digits > 5) return refuse(r, "{ that is not {n}, {n,} or {n,m}");
    if (comma) at++;
    while (comma && at < r->n && among(r->text[at], "0123456789")) at++;
    if (at >= r->n || r->text[at] != '}') return refuse(r, "{ that is not {n}, {n,} or {n,m}");
    char behind = at + 1 < r->n ? r->text[at + 1] : 0;
    if (behind == '+' || (behind == '?' && !comma)) return refuse(r, "}+ or {n}?");
    return copy(r, at + 1 - r->at);
}

static int rewrite(reader *r)
{
    int rc = 0;
    while (rc == 0 && r->at < r->n) {
        switch (r->text[r->at]) {
        case '\\': rc = escape(r, false); break;
        case '[': rc = class(r); break;
        case '(': rc = group(r); break;
        case '{': rc = interval(r); break;
        default: rc = copy(r, 1);
        }
    }
    return rc;
}

/* ---- PCRE2 --------------------------------------------------------------------------- */

/* PCRE2 reports some of its lacks of memory as something else, so *user, a bool, remembers. */
static void *take(size_t n, void *user)
{
    void *p = hpc_alloc(1, n);
    if (!p) *(bool *)user = true;
    return p;
}

static void give(void *p, void *user)
{
    (void)user;
    hpc_free(p);
}

typedef struct matching {
    pcre2_general_context *general;
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    bool lacked;
} matching;

/* Steps of backtracking for one match; no known pattern needs more than the length of a run. */
enum { STEPS_MOST = 50000000, STACK_LEAST = 32 << 10, STACK_MOST = 4 << 20 };

int tokenizer_pattern_work_create(void **out)
{
    int rc = HPC_E_NOMEM;
    *out = NULL;
    matching *m = hpc_alloc(1, sizeof *m);
    if (!m) return HPC_E_NOMEM;
    m->general = pcre2_general_context_create(take, give, &m->lacked);
    if (!m->general) goto out;
    m->data = pcre2_match_data_create(1, m->general);
    m->context = pcre2_match_context_create(m->general);
    if (!m->data || !m->context) goto out;
    /* NULL where PCRE2 was built without JIT: it then interprets. */
    m->stack = pcre2_jit_stack_create(STACK_LEAST, STACK_MOST, m->general);
    if (m->lacked) goto out;
    if (m->stack) pcre2_jit_stack_assign(m->context, NULL, m->stack);
    pcre2_set_match_limit(m->context, STEPS_MOST);
    *out = m;
    m = NULL;
    rc = 0;
out:
    tokenizer_pattern_work_free(m);
    return rc;
}

void tokenizer_pattern_work_free(void *work)
{
    matching *m = work;
    if (!m) return;
    pcre2_jit_stack_free(m->stack);
    pcre2_match_context_free(m->context);
    pcre2_match_data_free(m->data);
    pcre2_general_context_free(m->general);
    hpc_free(m);
}

static int find(size_t *begin, size_t *end, const split_step *s, const char *text, size_t n,
                size_t at, void *work)
{
    matching *m = work;
    int rc = pcre2_match(s->code, (PCRE2_SPTR)text, n, at, PCRE2_NO_UTF_CHECK, m->data, m->context);
    if (rc == PCRE2_ERROR_NOMATCH) return 0;
    if (rc == PCRE2_ERROR_NOMEMORY) return hpc_fail(HPC_E_NOMEM, "no memory to match a pattern");
    if (rc < 0) {
        PCRE2_UCHAR why[120];
        pcre2_get_error_message(rc, why, sizeof why);
        return hpc_fail(HPC_E_UNSUPPORTED, "the tokenizer's pattern cannot split this text: %s",
                        (const char *)why);
    }
    const PCRE2_SIZE *place = pcre2_get_ovector_pointer(m->data);
    *begin = place[0];
    *end = place[1];
    if (*begin > *end || *begin < at) { /* \K in a lookbehind; rejected at compile time */
        return hpc_fail(HPC_E_UNSUPPORTED, "the tokenizer's pattern matches backwards");
    }
    return 1;
}

static int compile(split_step *s, const char *text, size_t n, uint32_t options, const char *where)
{
    int rc = HPC_E_NOMEM, error = 0;
    bool lacked = false;
    size_t at = 0;
    pcre2_compile_context *context = NULL;
    pcre2_general_context *general = pcre2_general_context_create(take, give, &lacked);
    if (!general) goto out;
    context = pcre2_compile_context_create(general);
    if (!context) goto out;
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    s->code = pcre2_compile((PCRE2_SPTR)text, n, options, &error, &at, context);
    if (lacked) goto out;
    if (!s->code) {
        PCRE2_UCHAR why[120];
        pcre2_get_error_message(error, why, sizeof why);
        rc = hpc_fail(HPC_E_FORMAT, "%.200s: not a regular expression: %s", where,
                      (const char *)why);
        goto out;
    }
    pcre2_jit_compile(s->code, PCRE2_JIT_COMPLETE); /* without it the code is interpreted */
    if (lacked) goto out;
    s->find = find;
    rc = 0;
out:
    pcre2_compile_context_free(context);
    pcre2_general_context_free(general);
    if (rc < 0) tokenizer_pattern_release(s);
    return rc;
}

int tokenizer_pattern_compile(split_step *s, const char *pattern, bool literal, const char *where)
{
    int rc = 0;
    reader r = {.text = pattern, .n = strlen(pattern), .where = where};
    if (r.n == 0) return hpc_fail(HPC_E_FORMAT, "%.200s: the pattern is empty", where);
    if (r.n > SPLIT_PATTERN_MAX) {
        return hpc_fail(HPC_E_UNSUPPORTED, "%.200s: a pattern of %zu bytes, at most %d", where, r.n,
                        SPLIT_PATTERN_MAX);
    }
    if (literal) return compile(s, pattern, r.n, PCRE2_UTF | PCRE2_LITERAL, where);
    TRY(rewrite(&r));
    TRY(compile(s, r.out.data, r.out.n, PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, where));
out:
    hpc_buf_release(&r.out);
    return rc;
}

void tokenizer_pattern_release(split_step *s)
{
    pcre2_code_free(s->code);
    s->code = NULL;
}
