/*
 * lex.c: the lexer of C and its family, and the entry point of both lexers. It makes one pass and
 * interprets only directives, header names and the launch brackets of CUDA and HIP. Nothing is
 * expanded, and all branches of an #if are included. Names and operators are found in windows of 64
 * bytes (window.c) without a branch on their kind; rare() and scan.c handle everything else.
 */
#include "runtime/source/window.h"

/* A flag of the loop alone, never stored: after a "<<<". */
enum { LAUNCHING = 0x100 };

typedef struct lexer {
    const uint8_t *text, *end;
    hpc_token *first, *t; /* the tokens of this text, and the position after the last */
    uint32_t line;
    unsigned flags;
    bool launches;
    hpc_late late;
    hpc_window window;
} lexer;

int64_t hpc_token_at(const hpc_tokens *t, size_t at)
{
    int64_t lo = 0, hi = t->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (t->item[mid].at < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

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

static void put(lexer *x, const uint8_t *p, size_t n, uint32_t hash, int kind)
{
    *x->t++ = (hpc_token){.at = (uint32_t)(p - x->text),
                          .n = (uint32_t)n,
                          .line = x->line,
                          .hash = hash,
                          .kind = (uint8_t)kind,
                          .flags = (uint8_t)x->flags};
    x->flags &= HPC_TOKEN_IN_DIRECTIVE | LAUNCHING;
}

/* Adds the token [p, s.end) with the properties of the span; returns its end. */
static const uint8_t *put_span(lexer *x, const uint8_t *p, hpc_span s, int kind)
{
    size_t n = (size_t)(s.end - p);
    if (s.open) x->flags |= HPC_TOKEN_UNTERMINATED;
    put(x, p, n, hpc_hash_quick(p, n, x->end), kind);
    x->line += s.lines;
    return s.end;
}

static const uint8_t *put_to(lexer *x, const uint8_t *p, const uint8_t *end, int kind)
{
    return put_span(x, p, (hpc_span){end, 0, false}, kind);
}

static void hash_late(lexer *x)
{
    hpc_late_hash(&x->late, x->text, x->end, false);
}

/* True if a '#' here opens a directive: only comments precede it on its line. */
static bool first_but_comments(const lexer *x)
{
    const hpc_token *t = x->t;
    for (unsigned flags = x->flags; !(flags & HPC_TOKEN_FIRST_ON_LINE); flags = t->flags)
        if (t == x->first || (--t)->kind != HPC_TOKEN_COMMENT) return false;
    return true;
}

/* True if [p, p + n) is a word after which "<x.h>" is a header. */
static bool takes_header(const uint8_t *p, size_t n)
{
    return (n == 7 && memcmp(p, "include", 7) == 0) || (n == 6 && memcmp(p, "import", 6) == 0) ||
           (n == 12 && memcmp(p, "include_next", 12) == 0);
}

static hpc_span join(lexer *x, const uint8_t *p, const uint8_t *q);

/* After an "include" that ends at p: adds the "<x.h>", if there is one. */
static const uint8_t *header(lexer *x, const uint8_t *p)
{
    for (;;) {
        p = hpc_scan_blanks(p, x->end);
        const uint8_t *spliced = p < x->end && *p == '\\' ? hpc_scan_splice(p, x->end) : NULL;
        if (!spliced) break;
        hpc_span s = join(x, p, spliced);
        x->line += s.lines;
        p = s.end;
    }
    if (p == x->end || *p != '<') return p;
    const uint8_t *q = memchr(p, '>', (size_t)(hpc_scan_line(p, x->end) - p));
    return q ? put_to(x, p, q + 1, HPC_TOKEN_STRING) : p;
}

/* The '#' of a directive, with an include's name and header; or an operator. */
static const uint8_t *number_sign(lexer *x, const uint8_t *p)
{
    if ((x->flags & HPC_TOKEN_IN_DIRECTIVE) || !first_but_comments(x))
        return put_to(x, p, hpc_scan_operator(p, x->end), HPC_TOKEN_PUNCT);
    x->flags |= HPC_TOKEN_IN_DIRECTIVE;
    put(x, p, 1, hpc_opening.hash['#'], HPC_TOKEN_SENTINEL);
    const uint8_t *name = hpc_scan_blanks(p + 1, x->end);
    if (name == x->end || *name != 'i') return p + 1;
    const uint8_t *q = hpc_name_end(name, x->end);
    if (!takes_header(name, (size_t)(q - name))) return p + 1;
    return header(x, put_to(x, name, q, HPC_TOKEN_NAME));
}

/* "<<<", a ">>>" after it, or an operator: ">>>" also closes three template lists. */
static const uint8_t *angle(lexer *x, const uint8_t *p)
{
    bool open = x->flags & LAUNCHING;
    if (!((*p == '<' || open) && x->end - p > 2 && p[1] == *p && p[2] == *p))
        return put_to(x, p, hpc_scan_operator(p, x->end), HPC_TOKEN_PUNCT);
    x->flags = *p == '<' ? x->flags | LAUNCHING : x->flags & ~(unsigned)LAUNCHING;
    return put_to(x, p, p + 3, HPC_TOKEN_PUNCT);
}

/* True if [p, p + n) is a prefix of the string that follows: L, u, U or u8, and R for a raw
 * string. */
static bool string_prefix(bool *raw, const uint8_t *p, size_t n)
{
    *raw = n > 0 && p[n - 1] == 'R';
    n -= *raw;
    return n == 0 || (n == 1 && (p[0] == 'L' || p[0] == 'u' || p[0] == 'U')) ||
           (n == 2 && p[0] == 'u' && p[1] == '8');
}

/* A string or a character from its quote at p, with a prefix that was taken for a name. */
static const uint8_t *quoted(lexer *x, const uint8_t *p)
{
    const hpc_token *last = x->t - 1;
    const uint8_t *start = p;
    hpc_span s = {NULL, 0, true};
    bool raw = false;
    if (x->t > x->first && last->kind == HPC_TOKEN_NAME && x->text + last->at + last->n == p &&
        string_prefix(&raw, x->text + last->at, last->n))
    {
        if (raw && *p == '"') s = hpc_scan_raw_string(p, x->end);
        if (s.end || !raw) {
            x->t--;
            x->late.n -= x->late.n > 0; /* it was a name */
            x->flags |= last->flags;
            start = x->text + last->at;
        }
    }
    if (!s.end) s = hpc_scan_string(p, x->end);
    return put_span(x, start, s, *p == '"' ? HPC_TOKEN_STRING : HPC_TOKEN_CHARACTER);
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

/* After a splice from p to q: continues the name or number that it cut in two. */
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
    hash_late(x);
    last->n = (uint32_t)(stop - x->text) - last->at;
    last->hash = hash_joined(x->text + last->at, stop);
    return s;
}

static const uint8_t *backslash(lexer *x, const uint8_t *p)
{
    const uint8_t *spliced = hpc_scan_splice(p, x->end);
    if (!spliced) return put_to(x, p, p + 1, HPC_TOKEN_PUNCT);
    hpc_span s = join(x, p, spliced);
    x->line += s.lines;
    return s.end;
}

/* A comment. */
static const uint8_t *slash(lexer *x, const uint8_t *p)
{
    hpc_span s = p[1] == '/' ? hpc_scan_line_comment(p, x->end) : hpc_scan_block_comment(p, x->end);
    return put_span(x, p, s, HPC_TOKEN_COMMENT);
}

/* An empty token, if a directive ends at p. */
static void end_directive(lexer *x, const uint8_t *p)
{
    if (!(x->flags & HPC_TOKEN_IN_DIRECTIVE)) return;
    x->flags = (x->flags & LAUNCHING) | HPC_TOKEN_IN_DIRECTIVE;
    put(x, p, 0, HPC_HASH_EMPTY, HPC_TOKEN_END_DIRECTIVE);
}

/* ---- bytes side by side --------------------------------------------------------------- */

/* What a byte begins, alone and with the bytes after it. If the first byte and the second share a
 * bit, they form one operator; a third byte with this bit belongs to it. */
enum {
    EQUAL = 1 << 0,
    PLUS = 1 << 1,
    MINUS = 1 << 2,
    AND = 1 << 3,
    OR = 1 << 4,
    COLON = 1 << 5,
    ARROW = 1 << 6,   /* -> and ->* */
    MEMBER = 1 << 7,  /* .* */
    LESS = 1 << 8,    /* << and <<= */
    GREATER = 1 << 9, /* >> and >>= */
    ORDER = 1 << 10,  /* <= and <=> */
    /* No operators but rare(): */
    NUMBER = 1 << 11, /* continues after digits and letters, or begins with a point; "..." */
    COMMENT = 1 << 12,
    SPECIAL = 1 << 13, /* whatever follows */
    RARE = NUMBER | COMMENT | SPECIAL
};

/* clang-format off */
static const struct {
    uint32_t first[256], second[256], third[256];
} meeting = {
    .first = {
        ['0' ... '9'] = NUMBER,
        ['+'] = EQUAL | PLUS, ['-'] = EQUAL | MINUS | ARROW, ['*'] = EQUAL,
        ['/'] = EQUAL | COMMENT, ['%'] = EQUAL, ['^'] = EQUAL, ['!'] = EQUAL, ['&'] = EQUAL | AND,
        ['|'] = EQUAL | OR, ['='] = EQUAL, [':'] = COLON, ['.'] = NUMBER | MEMBER,
        ['<'] = LESS | ORDER, ['>'] = EQUAL | GREATER, ['\''] = SPECIAL, ['\n'] = SPECIAL,
        ['"'] = SPECIAL, ['#'] = SPECIAL, ['\\'] = SPECIAL,
    },
    .second = {
        ['0' ... '9'] = NUMBER, ['.'] = NUMBER, ['\''] = NUMBER,
        ['+'] = NUMBER | PLUS, ['-'] = NUMBER | MINUS, ['*'] = MEMBER | COMMENT, ['/'] = COMMENT,
        ['&'] = AND, ['|'] = OR, [':'] = COLON, ['='] = EQUAL | ORDER, ['<'] = LESS,
        ['>'] = GREATER | ARROW,
    },
    .third = {['*'] = ARROW, ['='] = LESS | GREATER, ['>'] = ORDER},
};
/* clang-format on */

/* What begins at p and is neither blank nor a line feed nor, when short, a name. */
static const uint8_t *rare(lexer *x, const uint8_t *p)
{
    switch (hpc_byte_class[*p]) {
    case HPC_CLASS_NEWLINE:
        end_directive(x, p);
        x->flags = (x->flags & LAUNCHING) | HPC_TOKEN_FIRST_ON_LINE;
        x->line++;
        return p + 1;
    case HPC_CLASS_NAME: return put_to(x, p, hpc_name_end(p, x->end), HPC_TOKEN_NAME);
    case HPC_CLASS_SLASH: return slash(x, p);
    case HPC_CLASS_QUOTE:
    case HPC_CLASS_APOSTROPHE: return quoted(x, p);
    case HPC_CLASS_LESS:
    case HPC_CLASS_GREATER: return angle(x, p);
    case HPC_CLASS_HASH: return number_sign(x, p);
    case HPC_CLASS_BACKSLASH: return backslash(x, p);
    case HPC_CLASS_DOT:
        if (!hpc_byte_is_digit(p[1]))
            return put_to(x, p, hpc_scan_operator(p, x->end), HPC_TOKEN_PUNCT);
        /* fall through */
    default: return put_to(x, p, hpc_scan_number(p, x->end), HPC_TOKEN_NUMBER);
    }
}

/* The tokens that begin in the window; returns where the next one opens. */
static inline __attribute__((always_inline)) const uint8_t *lex_window(lexer *x)
{
    const hpc_window *const w = &x->window;
    const uint8_t *const bytes = w->bytes;
    const uint64_t after = w->breaks >> 1;
    const uint32_t at = (uint32_t)(w->at - x->text);
    const unsigned look = RARE | (x->launches ? LESS | GREATER : 0); /* "<<<" begins with "<<" */
    size_t next = w->n;
    hpc_token *t = x->t, **late = x->late.item + x->late.n;
    uint32_t line = x->line;
    unsigned flags = x->flags;
    for (uint64_t starts = w->starts; starts;) {
        unsigned i = (unsigned)__builtin_ctzll(starts);
        unsigned n = (unsigned)__builtin_ctzll(after >> i) + 1;
        uint8_t c = bytes[i];
        unsigned meet = meeting.first[c] & (meeting.second[bytes[i + n]] | SPECIAL);
        t->at = at + i;
        t->n = n;
        t->line = line;
        starts &= starts - 1;
        if (__builtin_expect(meet != 0, 0)) {
            if (meet & look) {
                if (c == '\n' && !(flags & HPC_TOKEN_IN_DIRECTIVE)) {
                    flags |= HPC_TOKEN_FIRST_ON_LINE;
                    line++;
                    continue;
                }
                x->t = t;
                x->late.n = (uint32_t)(late - x->late.item);
                x->line = line;
                x->flags = flags;
                size_t q = (size_t)(rare(x, w->at + i) - w->at);
                t = x->t;
                late = x->late.item + x->late.n;
                line = x->line;
                flags = x->flags;
                if (q < w->n) {
                    starts = hpc_window_from(w, q);
                    continue;
                }
                next = q;
                break;
            }
            bool three = meet & meeting.third[bytes[i + 2]];
            t->n = 2 + three;
            starts &= starts - 1;
            if (three) starts &= starts - 1;
            if (i + t->n > next) next = i + t->n;
            *late++ = t;
        }
        *late = t;
        late += hpc_opening.late[c];
        t->hash = hpc_opening.hash[c];
        t->kind = hpc_opening.kind[c];
        t->flags = (uint8_t)flags;
        t++;
        flags &= HPC_TOKEN_IN_DIRECTIVE | LAUNCHING;
    }
    x->t = t;
    x->late.n = (uint32_t)(late - x->late.item);
    x->line = line;
    x->flags = flags;
    return w->at + next;
}

static inline __attribute__((always_inline)) int lex_text(hpc_tokens *out, lexer *x)
{
    const uint8_t *p = x->text;
    hpc_token *limit = NULL;
    int rc = hpc_lex_grow(out, &x->t, &limit);
    if (x->end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3; /* a byte order mark */
    while (rc == HPC_OK && p < x->end) {
        if (x->late.n > HPC_LATE || x->t > limit) hash_late(x);
        if (x->t > limit && (rc = hpc_lex_grow(out, &x->t, &limit)) < 0) break;
        x->first = out->item;
        hpc_window_open(&x->window, p, x->end);
        p = x->window.n > 0 ? lex_window(x) : rare(x, p);
    }
    if (rc < 0) return rc;
    end_directive(x, p);
    hash_late(x);
    out->n = x->t - out->item;
    return HPC_OK;
}

#ifdef __x86_64__
/* Its shifts by a variable and steps over bits are one instruction each. */
__attribute__((target("bmi,bmi2"))) static int lex_text_bmi2(hpc_tokens *out, lexer *x)
{
    return lex_text(out, x);
}
#endif

static int lex_c(hpc_tokens *out, lexer *x)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"))
        return lex_text_bmi2(out, x);
#endif
    return lex_text(out, x);
}

int hpc_lex(hpc_tokens *out, const char *text, size_t n, hpc_language l, bool fixed)
{
    out->n = 0;
    if (n >= UINT32_MAX)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "a text of %zu bytes is too long to be lexed; the limit is 4 GiB", n);
    if (n == 0) return HPC_OK;
    lexer x;
    x.text = (const uint8_t *)text;
    x.end = x.text + n;
    x.first = x.t = NULL;
    x.line = 1;
    x.flags = HPC_TOKEN_FIRST_ON_LINE;
    x.late.n = 0;
    x.launches = l == HPC_LANGUAGE_CUDA || l == HPC_LANGUAGE_HIP;
    if (l == HPC_LANGUAGE_FORTRAN) return hpc_lex_fortran(out, x.text, x.end, fixed);
    return lex_c(out, &x);
}
