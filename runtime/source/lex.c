/*
 * lex.c: the lexer of C and its family, and the entry to both lexers.
 *
 * One pass, one token after the other, no look at what a token means but for
 * directives, header names and the launch brackets of CUDA and HIP. Nothing is
 * expanded and no branch of an #if is left out.
 */
#include "runtime/source/priv.h"

/* Flags of the loop alone, never stored. */
enum {
    HEADER_NEXT = 0x100, /* behind "#include": a '<' opens a header name */
    LAUNCHING = 0x200    /* behind a "<<<" */
};

/* What the rare bytes need. The loop keeps its own copies of t, line and flags in registers. */
typedef struct lexer {
    const uint8_t *text, *end;
    hpc_token *first, *t; /* the tokens of this text, and behind the last one */
    uint32_t line;
    unsigned flags;
    int kind; /* of the token found, or NOTHING */
    bool launches;
} lexer;
enum { NOTHING = -1 };

void hpc_tokens_release(hpc_tokens *t)
{
    hpc_free(t->item);
    *t = (hpc_tokens){0};
}

int hpc_lex_grow(hpc_tokens *out, hpc_token **t, hpc_token **limit)
{
    if (*t) out->n = *t - out->item;
    int rc = hpc_grow(&out->item, &out->cap, out->n + 2 * HPC_LEX_ROOM, sizeof *out->item);
    if (rc < 0) return rc;
    *t = out->item + out->n;
    *limit = out->item + out->cap - HPC_LEX_ROOM;
    return HPC_OK;
}

static inline hpc_token *put(hpc_token *t, const lexer *x, const uint8_t *p, const uint8_t *q,
                             uint32_t line, int kind, unsigned flags)
{
    t->at = (uint32_t)(p - x->text);
    t->n = (uint32_t)(q - p);
    t->line = line;
    t->hash = hpc_hash_quick(p, t->n, x->end);
    t->kind = (uint8_t)kind;
    t->flags = (uint8_t)flags;
    return t + 1;
}

/* Whether a '#' here opens a directive: nothing but comments stands before it on its line. */
static bool first_but_comments(const lexer *x)
{
    const hpc_token *t = x->t;
    for (unsigned flags = x->flags; !(flags & HPC_TOKEN_FIRST_ON_LINE); flags = t->flags)
        if (t == x->first || (--t)->kind != HPC_TOKEN_COMMENT) return false;
    return true;
}

/* Whether [p, q) is a word after which "<x.h>" is a header. */
static bool takes_header(const uint8_t *p, const uint8_t *q)
{
    static const char *const words[] = {"include", "include_next", "import"};
    size_t n = (size_t)(q - p);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (n == strlen(words[i]) && memcmp(p, words[i], n) == 0) return true;
    return false;
}

static hpc_span directive_or_operator(lexer *x, const uint8_t *p)
{
    if ((x->flags & HPC_TOKEN_IN_DIRECTIVE) || !first_but_comments(x)) {
        x->kind = HPC_TOKEN_PUNCT;
        return (hpc_span){hpc_scan_operator(p, x->end), 0, false};
    }
    unsigned in = HPC_TOKEN_IN_DIRECTIVE;
    x->t = put(x->t, x, p, p + 1, x->line, HPC_TOKEN_SENTINEL, x->flags | in);
    x->flags = (x->flags & LAUNCHING) | in;
    x->kind = NOTHING;
    const uint8_t *name = hpc_scan_blanks(p + 1, x->end), *q = hpc_name_end(name, x->end);
    if (!takes_header(name, q)) return (hpc_span){p + 1, 0, false};
    x->t = put(x->t, x, name, q, x->line, HPC_TOKEN_NAME, in);
    x->flags |= HEADER_NEXT;
    return (hpc_span){q, 0, false};
}

/* "<x.h>", "<<<", ">>>" behind it, or an operator. */
static hpc_span angle(lexer *x, const uint8_t *p)
{
    hpc_span s = {NULL, 0, false};
    x->kind = HPC_TOKEN_PUNCT;
    if (*p == '<' && (x->flags & HEADER_NEXT)) {
        s.end = memchr(p, '>', (size_t)(hpc_scan_line(p, x->end) - p));
        if (s.end) {
            x->kind = HPC_TOKEN_STRING;
            s.end++;
            return s;
        }
    }
    /* ">>>" also closes three template lists, so it is one token only behind a "<<<". */
    bool open = x->flags & LAUNCHING;
    if (x->launches && (*p == '<' || open) && x->end - p > 2 && p[1] == *p && p[2] == *p) {
        x->flags = *p == '<' ? x->flags | LAUNCHING : x->flags & ~(unsigned)LAUNCHING;
        s.end = p + 3;
        return s;
    }
    s.end = hpc_scan_operator(p, x->end);
    return s;
}

/* Whether [p, p + n) before a quote belongs to it: L, u, U or u8, and R for a raw string. */
static bool string_prefix(bool *raw, const uint8_t *p, size_t n)
{
    *raw = n > 0 && p[n - 1] == 'R';
    n -= *raw;
    return n == 0 || (n == 1 && (p[0] == 'L' || p[0] == 'u' || p[0] == 'U')) ||
           (n == 2 && p[0] == 'u' && p[1] == '8');
}

/* A string or a character from its quote at p. *start: where its prefix, until now taken for a
 * name, begins. */
static hpc_span quoted(lexer *x, const uint8_t **start, const uint8_t *p)
{
    const hpc_token *last = x->t - 1;
    hpc_span s = {NULL, 0, true};
    bool raw = false;
    x->kind = *p == '"' ? HPC_TOKEN_STRING : HPC_TOKEN_CHARACTER;
    if (x->t > x->first && last->kind == HPC_TOKEN_NAME && x->text + last->at + last->n == p &&
        string_prefix(&raw, x->text + last->at, last->n))
    {
        if (raw && *p == '"') s = hpc_scan_raw_string(p, x->end);
        if (s.end || !raw) {
            x->t--;
            x->flags |= last->flags;
            *start = x->text + last->at;
        }
    }
    if (!s.end) s = hpc_scan_string(p, x->end);
    if (s.open) x->flags |= HPC_TOKEN_UNTERMINATED;
    return s;
}

/* The hash of a spelling with its splices taken out. */
static uint32_t hash_joined(const uint8_t *p, const uint8_t *q)
{
    uint8_t block[16] = {0};
    size_t n = 0;
    uint64_t hash = 0;
    while (p < q) {
        const uint8_t *spliced = *p == '\\' ? hpc_scan_splice(p, q) : NULL;
        if (spliced) {
            p = spliced;
            continue;
        }
        if (n > 0 && n % 16 == 0) {
            hash = hpc_hash_block(hash, hpc_block_load(block));
            memset(block, 0, sizeof block);
        }
        block[n++ % 16] = *p++;
    }
    return hpc_hash_finish(hpc_hash_block(hash, hpc_block_load(block)), n);
}

/* Behind the splice at p that ends at q: goes on with the name or number that it cut in two. */
static hpc_span join(lexer *x, const uint8_t *p, const uint8_t *q)
{
    hpc_token *last = x->t - 1;
    hpc_span s = {q, 1, false};
    if (x->t == x->first || x->text + last->at + last->n != p) return s;
    bool number = last->kind == HPC_TOKEN_NUMBER;
    if (!number && last->kind != HPC_TOKEN_NAME) return s;

    const uint8_t *stop = p;
    while (s.end < x->end && hpc_byte_in_name(*s.end)) {
        stop = number ? hpc_scan_number(s.end, x->end) : hpc_name_end(s.end, x->end);
        const uint8_t *next = NULL;
        if (stop < x->end && *stop == '\\') next = hpc_scan_splice(stop, x->end);
        s.end = next ? next : stop;
        s.lines += next != NULL;
        if (!next) break;
    }
    if (stop == p) return s;
    last->n = (uint32_t)(stop - x->text) - last->at;
    last->hash = hash_joined(x->text + last->at, stop);
    return s;
}

static hpc_span backslash(lexer *x, const uint8_t *p)
{
    const uint8_t *spliced = hpc_scan_splice(p, x->end);
    x->kind = spliced ? NOTHING : HPC_TOKEN_PUNCT;
    return spliced ? join(x, p, spliced) : (hpc_span){p + 1, 0, false};
}

static hpc_span slash(lexer *x, const uint8_t *p)
{
    uint8_t next = x->end - p > 1 ? p[1] : 0;
    hpc_span s = {p + 1 + (next == '='), 0, false};
    x->kind = next == '/' || next == '*' ? HPC_TOKEN_COMMENT : HPC_TOKEN_PUNCT;
    if (next == '/') s = hpc_scan_line_comment(p, x->end);
    if (next == '*') s = hpc_scan_block_comment(p, x->end);
    if (s.open) x->flags |= HPC_TOKEN_UNTERMINATED;
    return s;
}

/* What begins at p with a byte that is not common: sets x->kind, and may change t and flags. */
static hpc_span rare(lexer *x, const uint8_t **start, const uint8_t *p)
{
    switch (hpc_byte_class[*p]) {
    case HPC_CLASS_SLASH: return slash(x, p);
    case HPC_CLASS_QUOTE:
    case HPC_CLASS_APOSTROPHE: return quoted(x, start, p);
    case HPC_CLASS_LESS:
    case HPC_CLASS_GREATER: return angle(x, p);
    case HPC_CLASS_HASH: return directive_or_operator(x, p);
    default: return backslash(x, p);
    }
}

/* An empty token. */
static hpc_token *end_directive(hpc_token *t, const lexer *x, const uint8_t *p, uint32_t line)
{
    return put(t, x, p, p, line, HPC_TOKEN_END_DIRECTIVE, HPC_TOKEN_IN_DIRECTIVE);
}

static int lex_c(hpc_tokens *out, lexer *x)
{
    const uint8_t *p = x->text, *const end = x->end;
    hpc_token *t = NULL, *limit = NULL;
    uint32_t line = 1;
    unsigned flags = HPC_TOKEN_FIRST_ON_LINE;
    int rc = hpc_lex_grow(out, &t, &limit);
    if (rc < 0) return rc;
    if (end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3; /* a byte order mark */
    while (p < end) {
        if (t > limit && (rc = hpc_lex_grow(out, &t, &limit)) < 0) return rc;
        const uint8_t *start = p;
        int kind = HPC_TOKEN_PUNCT;
        uint32_t lines = 0;
        switch (hpc_byte_class[*p]) {
        case HPC_CLASS_BLANK: p = hpc_blanks_end(p + 1, end); continue;
        case HPC_CLASS_NEWLINE:
            if (flags & HPC_TOKEN_IN_DIRECTIVE) t = end_directive(t, x, p, line);
            flags = (flags & LAUNCHING) | HPC_TOKEN_FIRST_ON_LINE;
            line++;
            p++;
            continue;
        case HPC_CLASS_NAME:
            p = hpc_name_end(p, end);
            kind = HPC_TOKEN_NAME;
            break;
        case HPC_CLASS_UNKNOWN:
        case HPC_CLASS_SOLO: p++; break;
        case HPC_CLASS_BANG:
        case HPC_CLASS_OPERATOR: p = hpc_scan_operator(p, end); break;
        case HPC_CLASS_DOT:
            if (end - p < 2 || !hpc_byte_is_digit(p[1])) {
                p = hpc_scan_operator(p, end);
                break;
            } /* fall through */
        case HPC_CLASS_DIGIT:
            p = hpc_scan_number(p, end);
            kind = HPC_TOKEN_NUMBER;
            break;
        default: {
            x->first = out->item;
            x->t = t;
            x->line = line;
            x->flags = flags;
            hpc_span s = rare(x, &start, p);
            p = s.end;
            t = x->t;
            flags = x->flags;
            lines = s.lines;
            kind = x->kind;
        }
        }
        if (kind != NOTHING) {
            t = put(t, x, start, p, line, kind, flags);
            flags &= HPC_TOKEN_IN_DIRECTIVE | LAUNCHING;
        }
        line += lines;
    }
    if (flags & HPC_TOKEN_IN_DIRECTIVE) t = end_directive(t, x, p, line);
    out->n = t - out->item;
    return HPC_OK;
}

int hpc_lex(hpc_tokens *out, const char *text, size_t n, hpc_language l, bool fixed)
{
    out->n = 0;
    if (n >= UINT32_MAX)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "a text of %zu bytes is too long to be lexed; the limit is 4 GiB", n);
    if (n == 0) return HPC_OK;
    lexer x = {.text = (const uint8_t *)text, .end = (const uint8_t *)text + n};
    x.launches = l == HPC_LANGUAGE_CUDA || l == HPC_LANGUAGE_HIP;
    if (l == HPC_LANGUAGE_FORTRAN) return hpc_lex_fortran(out, x.text, x.end, fixed);
    return lex_c(out, &x);
}
