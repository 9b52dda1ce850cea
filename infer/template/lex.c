/*
 * lex.c: Jinja's tokens, with trim_blocks and lstrip_blocks on, as transformers sets them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "infer/template/parse_priv.h"

typedef struct lexer {
    tpl_tokens *out;
    const char *s;
    size_t n, at;
    int line;
} lexer;

static int fail(const lexer *l, int code, const char *what)
{
    return hpc_fail(code, "chat template, line %d: %s", l->line, what);
}

static bool sees(const lexer *l, size_t at, const char *word)
{
    const size_t n = strlen(word);
    return at <= l->n && l->n - at >= n && memcmp(l->s + at, word, n) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

static void skip_to(lexer *l, size_t to)
{
    for (; l->at < to; l->at++) l->line += l->s[l->at] == '\n';
}

static size_t after_blanks(const lexer *l, size_t at)
{
    uint32_t code;
    size_t k;
    while (at < l->n && (k = tpl_next(&code, l->s, l->n, at)) > 0 && tpl_is_space(code)) at += k;
    return at;
}

static int add(lexer *l, tpl_token t)
{
    int rc = hpc_grow(&l->out->item, &l->out->cap, l->out->n + 1, sizeof t);
    if (rc < 0) return rc;
    t.line = l->line;
    l->out->item[l->out->n++] = t;
    return HPC_OK;
}

/* ---- text between the marks ----------------------------------------------------------------- */

/* The text from l->at to `end`, where a mark with this sign begins. line_start: l->at is the start
 * of a line. block: lstrip_blocks applies. */
static int add_data(lexer *l, size_t end, char sign, bool block, bool line_start)
{
    const tpl_text text = {.data = l->s + l->at, .n = end - l->at};
    size_t from, to = end;
    int rc = HPC_OK;
    if (sign == '-') {
        tpl_trim(&from, &to, &text, NULL, 2);
        to += l->at;
    } else if (sign != '+' && block) {
        size_t line = end;
        while (line > l->at && l->s[line - 1] != '\n') line--;
        const bool starts = line > l->at || line_start;
        if (starts && after_blanks(l, line) >= end) to = line;
    }
    if (to > l->at)
        rc = add(l, (tpl_token){.kind = TPL_T_DATA, .data = l->s + l->at, .n = to - l->at});
    skip_to(l, end);
    return rc;
}

/* The bytes of `-%}` and the blanks after it, of `+%}`, or of `%}` and one newline; 0: another
 * text. */
static size_t block_end(const lexer *l, size_t at, const char *mark)
{
    if (at < l->n && l->s[at] == '-' && sees(l, at + 1, mark)) return after_blanks(l, at + 3) - at;
    if (at < l->n && l->s[at] == '+' && sees(l, at + 1, mark)) return 3;
    if (!sees(l, at, mark)) return 0;
    return 2 + (size_t)(at + 2 < l->n && l->s[at + 2] == '\n');
}

/* Jinja accepts a comment that begins at the end of the text. */
static int skip_comment(lexer *l)
{
    const size_t from = l->at + 2;
    if (from == l->n || (from + 1 == l->n && strchr("+-", l->s[from]))) {
        skip_to(l, l->n);
        return HPC_OK;
    }
    for (size_t at = l->at + 2; at < l->n; at++) {
        const size_t n = block_end(l, at, "#}");
        if (n == 0) continue;
        skip_to(l, at + n);
        return HPC_OK;
    }
    return fail(l, HPC_E_FORMAT, "a comment has no end");
}

/* Bytes of a `{% NAME %}` at `at`, up to the word; 0: it is another block. */
static size_t named_block(const lexer *l, size_t at, const char *name)
{
    if (!sees(l, at, "{%")) return 0;
    size_t k = at + 2;
    if (k < l->n && (l->s[k] == '-' || l->s[k] == '+')) k++;
    k = after_blanks(l, k);
    if (!sees(l, k, name)) return 0;
    k = after_blanks(l, k + strlen(name));
    return block_end(l, k, "%}") > 0 ? k - at : 0;
}

static int add_raw(lexer *l, size_t head)
{
    size_t at = l->at + head;
    at = l->s[at] == '-' ? after_blanks(l, at + 3) : at + 2;
    skip_to(l, at);
    for (size_t end = at; end < l->n; end++) {
        const size_t k = named_block(l, end, "endraw");
        if (k == 0) continue;
        const char sign = l->s[end + 2];
        int rc = add_data(l, end, sign, true, false);
        if (rc >= 0) skip_to(l, end + k + block_end(l, end + k, "%}"));
        return rc;
    }
    return fail(l, HPC_E_FORMAT, "{% raw %} has no {% endraw %}");
}

/* ---- expressions ---------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) return out[0] = (char)c, 1;
    if (c < 0x800) return out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 63)), 2;
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        return out[2] = (char)(0x80 | (c & 63)), 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    return out[3] = (char)(0x80 | (c & 63)), 4;
}

/* A character as digits of this base. */
static int take_code(lexer *l, uint32_t *code, size_t *at, int digits, int base)
{
    char text[9] = "";
    char *end;
    for (int k = 0; k < digits && *at + (size_t)k < l->n; k++) text[k] = l->s[*at + (size_t)k];
    *code = (uint32_t)strtoul(text, &end, base);
    const int n = (int)(end - text);
    if (text[0] == '-' || text[0] == '+' || is_blank(text[0]) || (base == 16 && n != digits))
        return fail(l, HPC_E_FORMAT, "bad escape in a string");
    if (*code == 0 || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
        return fail(l, HPC_E_UNSUPPORTED, "a string has a NUL or half a surrogate pair");
    *at += (size_t)n;
    return HPC_OK;
}

static int take_escape(lexer *l, char *out, size_t *n, size_t *at)
{
    static const char from[] = "ntrfvab\\'\"", to[] = "\n\t\r\f\v\a\b\\'\"";
    const char c = l->s[*at];
    const char *known = strchr(from, c);
    uint32_t code;
    int rc = HPC_OK;
    if (c != '\0' && known) {
        out[(*n)++] = to[known - from];
        (*at)++;
    } else if (c == 'x' || c == 'u' || c == 'U') {
        (*at)++;
        TRY(take_code(l, &code, at, c == 'x' ? 2 : c == 'u' ? 4 : 8, 16));
        *n += put_utf8(out + *n, code);
    } else if (c >= '0' && c <= '7') {
        TRY(take_code(l, &code, at, 3, 8));
        *n += put_utf8(out + *n, code);
    } else if (c == 'N') {
        TRY(fail(l, HPC_E_UNSUPPORTED, "the escape \\N is not supported"));
    } else if (c == '\n') {
        (*at)++;
    } else {
        out[(*n)++] = '\\';
    }
out:
    return rc;
}

static int add_text(lexer *l)
{
    const char quote = l->s[l->at];
    size_t end = l->at + 1, n = 0;
    int rc = HPC_OK;
    while (end < l->n && l->s[end] != quote) end += l->s[end] == '\\' ? 2 : 1;
    if (end >= l->n) return fail(l, HPC_E_FORMAT, "a string has no end");
    char *text = hpc_arena_alloc(l->out->arena, end - l->at + 8, 1);
    if (!text) return HPC_E_NOMEM;
    for (size_t at = l->at + 1; at < end;) {
        if (l->s[at] != '\\') {
            text[n++] = l->s[at++];
            continue;
        }
        at++;
        TRY(take_escape(l, text, &n, &at));
    }
    TRY(add(l, (tpl_token){.kind = TPL_T_TEXT, .data = text, .n = n}));
    skip_to(l, end + 1);
out:
    return rc;
}

static int add_number(lexer *l)
{
    char text[64];
    size_t n = 0, at = l->at;
    bool real = false;
    for (; at < l->n && n < sizeof text - 1; at++) {
        const char c = l->s[at];
        const bool fraction = c == '.' && at + 1 < l->n && is_digit(l->s[at + 1]) && !real;
        if (c == '_') continue;
        if (!is_digit(c) && !fraction) break;
        real |= fraction;
        text[n++] = c;
    }
    if (at < l->n && (is_letter(l->s[at]) || n == sizeof text - 1))
        return fail(l, HPC_E_UNSUPPORTED, "a number with an exponent or another base");
    text[n] = '\0';
    l->at = at;
    errno = 0;
    const tpl_token t = {.kind = real ? TPL_T_REAL : TPL_T_INT,
                         .i = real ? 0 : strtoll(text, NULL, 10),
                         .r = strtod(text, NULL)};
    if (!real && errno == ERANGE) return fail(l, HPC_E_UNSUPPORTED, "an integer beyond 64 bits");
    return add(l, t);
}

static int add_word(lexer *l)
{
    static const struct {
        const char *text;
        int op;
    } words[] = {{"//", TPL_DIV}, {"**", TPL_POW}, {"==", TPL_EQ},
                 {"!=", TPL_NE},  {"<=", TPL_LE},  {">=", TPL_GE}};
    const char c = l->s[l->at];
    size_t end = l->at;
    if (is_letter(c)) {
        while (end < l->n && (is_letter(l->s[end]) || is_digit(l->s[end]))) end++;
        int rc = add(l, (tpl_token){.kind = TPL_T_NAME, .data = l->s + l->at, .n = end - l->at});
        l->at = end;
        return rc;
    }
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        if (!sees(l, l->at, words[k].text)) continue;
        l->at += 2;
        return add(l, (tpl_token){.kind = TPL_T_OP, .op = words[k].op});
    }
    if (c == '\0' || !strchr("+-*/%~[](){}<>=.:|,;", c))
        return fail(l, (uint8_t)c >= 0x80 ? HPC_E_UNSUPPORTED : HPC_E_FORMAT,
                    "an expression has a character that Jinja does not know");
    l->at++;
    return add(l, (tpl_token){.kind = TPL_T_OP, .op = c});
}

/* Up to and with the mark that ends the expression. */
static int add_expression(lexer *l, bool block)
{
    int64_t open = 0;
    int rc = HPC_OK;
    for (;;) {
        skip_to(l, after_blanks(l, l->at));
        if (l->at >= l->n) TRY(fail(l, HPC_E_FORMAT, "an expression has no end"));
        size_t n = 0;
        if (open == 0 && block)
            n = block_end(l, l->at, "%}");
        else if (open == 0)
            n = sees(l, l->at, "}}")    ? 2
                : sees(l, l->at, "-}}") ? after_blanks(l, l->at + 3) - l->at
                                        : 0;
        if (n > 0) {
            TRY(add(l, (tpl_token){.kind = block ? TPL_T_BLOCK_END : TPL_T_PRINT_END}));
            skip_to(l, l->at + n);
            return HPC_OK;
        }
        const char c = l->s[l->at];
        open += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        if (open < 0) TRY(fail(l, HPC_E_FORMAT, "a bracket is closed that was not opened"));
        TRY(c == '\'' || c == '"' ? add_text(l) : is_digit(c) ? add_number(l) : add_word(l));
    }
out:
    return rc;
}

/* ---- the template --------------------------------------------------------------------------- */

static int lex_mark(lexer *l, size_t at, bool line_start)
{
    const char kind = l->s[at + 1];
    const char sign = at + 2 < l->n ? l->s[at + 2] : '\0';
    const size_t raw = named_block(l, at, "raw");
    int rc = HPC_OK;
    TRY(add_data(l, at, sign, kind != '{', line_start));
    if (raw > 0) {
        TRY(add_raw(l, raw));
    } else if (kind == '#') {
        TRY(skip_comment(l));
    } else {
        const bool block = kind == '%';
        TRY(add(l, (tpl_token){.kind = block ? TPL_T_BLOCK_BEGIN : TPL_T_PRINT_BEGIN}));
        l->at += 2 + (size_t)(sign == '-' || sign == '+');
        TRY(add_expression(l, block));
    }
out:
    return rc;
}

/* Newlines become LF, and one at the end is dropped. */
static char *normalise(size_t *out, hpc_arena *arena, const char *text, size_t n)
{
    char *s = hpc_arena_alloc(arena, n + 1, 1);
    size_t k = 0;
    if (!s) return NULL;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\r' && i + 1 < n && text[i + 1] == '\n') continue;
        s[k++] = text[i] == '\r' ? '\n' : text[i];
    }
    *out = k - (size_t)(k > 0 && s[k - 1] == '\n');
    return s;
}

int tpl_lex(tpl_tokens *out, const char *text, size_t n)
{
    lexer l = {.out = out, .line = 1};
    int rc = HPC_OK;
    if (n > TPL_SOURCE_MOST)
        return hpc_fail(HPC_E_FORMAT, "the chat template has %zu bytes; at most %d", n,
                        TPL_SOURCE_MOST);
    if (!(l.s = normalise(&l.n, out->arena, text, n))) return HPC_E_NOMEM;
    uint32_t code;
    for (size_t at = 0, k; at < l.n; at += k)
        if ((k = tpl_next(&code, l.s, l.n, at)) == 0 || code == 0)
            return hpc_fail(HPC_E_FORMAT, "the chat template is not UTF-8 text");
    while (l.at < l.n) {
        const bool line_start = l.at == 0 || l.s[l.at - 1] == '\n';
        size_t at = l.at;
        while (at < l.n && !sees(&l, at, "{%") && !sees(&l, at, "{{") && !sees(&l, at, "{#")) at++;
        if (at < l.n)
            TRY(lex_mark(&l, at, line_start));
        else
            TRY(add_data(&l, l.n, '\0', false, false));
    }
    TRY(add(&l, (tpl_token){.kind = TPL_T_END}));
out:
    return rc;
}
