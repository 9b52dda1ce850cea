/*
 * lex_fortran.c: the lexer of Fortran, free and fixed form. It classifies each line
 * (fortran_line.c), then finds its tokens. A statement may continue across lines, comments and
 * preprocessor lines. Blanks also end names in fixed form, although the standard allows them
 * anywhere, and nothing is cut off at column 72 except sequence numbers. "(/" is two tokens, so
 * that parentheses match.
 */
#include "runtime/source/window.h"

typedef struct lexer {
    const uint8_t *text, *p, *end;
    const uint8_t *sequence; /* of this line: where a sequence number may begin, or NULL */
    hpc_tokens *out;
    hpc_token *t, *limit;
    uint32_t line;
    unsigned flags;
    hpc_sentinel directive; /* open on this line; NONE: none */
    bool fixed;
    bool pending;           /* a statement has begun and not ended */
    bool ampersand;         /* the line of code or directive before ended in '&' */
    const uint8_t *seen_at; /* the line that was looked at last, */
    hpc_fortran_line seen;  /* and what it is */
    hpc_late late;
    hpc_window window;
} lexer;

/* The line that begins at p; the next call overwrites it. */
static const hpc_fortran_line *line_at(lexer *x, const uint8_t *p)
{
    if (x->seen_at != p) x->seen = hpc_fortran_line_at(p, x->end, x->fixed);
    x->seen_at = p;
    return &x->seen;
}

static void put(lexer *x, const uint8_t *p, const uint8_t *q, int kind)
{
    bool exact = kind == HPC_TOKEN_STRING || kind == HPC_TOKEN_COMMENT;
    size_t n = (size_t)(q - p);
    if (!exact) x->late.item[x->late.n++] = x->t;
    *x->t++ = (hpc_token){
        .at = (uint32_t)(p - x->text),
        .n = (uint32_t)n,
        .line = x->line,
        .hash = exact ? hpc_hash_quick(p, n, x->end) : 0,
        .kind = (uint8_t)kind,
        .flags = (uint8_t)x->flags,
    };
    x->flags &= HPC_TOKEN_IN_DIRECTIVE;
}

/* To the end of the line. */
static void put_comment(lexer *x, const uint8_t *p)
{
    x->p = hpc_trim_return(p, hpc_scan_line(p, x->end));
    put(x, p, x->p, HPC_TOKEN_COMMENT);
}

static int room(lexer *x)
{
    if (x->late.n > HPC_LATE || x->t > x->limit) hpc_late_hash(&x->late, x->text, x->end, true);
    return x->t > x->limit ? hpc_lex_grow(x->out, &x->t, &x->limit) : HPC_OK;
}

static void end_directive(lexer *x)
{
    x->flags = HPC_TOKEN_IN_DIRECTIVE;
    put(x, x->p, x->p, HPC_TOKEN_END_DIRECTIVE);
    x->flags = 0;
    x->directive = HPC_SENTINEL_NONE;
}

static uint32_t lines_between(const uint8_t *p, const uint8_t *q)
{
    uint32_t n = 0;
    while (p < q && (p = memchr(p, '\n', (size_t)(q - p)))) n++, p++;
    return n;
}

/* ---- tokens ------------------------------------------------------------------------- */

/* Position after the digits, point and exponent of a number. In "1.eq.2" the point belongs to the
 * operator. */
static const uint8_t *number_end(const uint8_t *p, const uint8_t *end)
{
    while (p < end && hpc_byte_is_digit(*p)) p++;
    if (p < end && *p == '.') {
        const uint8_t *q = hpc_name_end(p + 1, end);
        bool word = q > p + 1 && !hpc_byte_is_digit(p[1]) && p[1] != '_';
        bool exponent = word && q > p + 2 && hpc_byte_is_digit(p[2]) && memchr("eEdDqQ", p[1], 6);
        bool dotted = word && !exponent && q < end && *q == '.';
        if (dotted) return p;
        for (p++; p < end && hpc_byte_is_digit(*p);) p++;
    }
    if (p < end && memchr("eEdDqQ", *p, 6)) {
        const uint8_t *q = p + 1;
        if (q < end && (*q == '+' || *q == '-')) q++;
        if (q < end && hpc_byte_is_digit(*q))
            for (p = q; p < end && hpc_byte_is_digit(*p);) p++;
    }
    return p < end && *p == '_' ? hpc_name_end(p, end) : p;
}

static const uint8_t *operator_end(const uint8_t *p, const uint8_t *end)
{
    uint8_t next = end - p > 1 ? p[1] : 0;
    switch (*p) {
    case '*': return p + 1 + (next == '*');
    case '/': return p + 1 + (next == '/' || next == '=');
    case '=': return p + 1 + (next == '=' || next == '>');
    case '<':
    case '>': return p + 1 + (next == '=');
    case ':': return p + 1 + (next == ':');
    case '.': {
        const uint8_t *q = hpc_name_end(p + 1, end);
        return q > p + 1 && q < end && *q == '.' ? q + 1 : p + 1;
    }
    default: return p + 1;
    }
}

/* Where a string that reaches the line feed at p continues, or NULL. */
static const uint8_t *string_goes_on(const lexer *x, const uint8_t *start, const uint8_t *p)
{
    const uint8_t *last = p;
    while (last > start && hpc_byte_is_blank(last[-1])) last--;
    bool ampersand = last > start && last[-1] == '&';
    if (x->directive || p == x->end || (!x->fixed && !ampersand)) return NULL;
    for (p++; p < x->end;) {
        hpc_fortran_line l = hpc_fortran_line_at(p, x->end, x->fixed);
        if (l.kind == HPC_LINE_CODE) return l.continues || !x->fixed ? l.body : NULL;
        if (l.kind != HPC_LINE_COMMENT && l.kind != HPC_LINE_BLANK) return NULL;
        p = hpc_scan_line(p, x->end);
        if (p < x->end) p++;
    }
    return NULL;
}

static const uint8_t *string_end(lexer *x, const uint8_t *p)
{
    const uint8_t quote = *p, *start = p + 1;
    for (const uint8_t *q = start; (q = hpc_scan_string_stop(q, x->end, quote)) < x->end; q++) {
        if (*q == quote) {
            if (x->end - q < 2 || q[1] != quote) return q + 1;
            q++;
        } else if (*q == '\n') {
            const uint8_t *next = string_goes_on(x, start, q);
            if (!next) {
                x->flags |= HPC_TOKEN_UNTERMINATED;
                return hpc_trim_return(start, q);
            }
            start = next;
            q = next - 1;
        }
    }
    x->flags |= HPC_TOKEN_UNTERMINATED;
    return x->end;
}

/* A string, with the letter before it of a bit pattern like z'ff' or a kind like k_'x'. */
static void put_string(lexer *x)
{
    const uint8_t *p = x->p, *start = p;
    if (x->t > x->out->item && x->t[-1].kind == HPC_TOKEN_NAME) {
        const hpc_token *last = x->t - 1;
        const uint8_t *q = x->text + last->at;
        bool prefix = last->n == 1 ? memchr("bBoOzZxX", *q, 8) != NULL : q[last->n - 1] == '_';
        if (q + last->n == p && prefix) {
            start = q;
            x->flags |= last->flags;
            x->t--;
            x->late.n -= x->late.n > 0; /* it was a name */
        }
    }
    const uint8_t *q = string_end(x, p);
    put(x, start, q, HPC_TOKEN_STRING);
    x->line += lines_between(p, q);
    x->p = q;
}

/* True if only blanks and a comment follow on this line. */
static bool ends_line(const uint8_t *p, const uint8_t *end)
{
    p = hpc_scan_blanks(p, end);
    return p == end || *p == '\n' || *p == '!';
}

static void put_other(lexer *x, const uint8_t *p)
{
    uint8_t c = *p;
    if (c == '&' && ends_line(p + 1, x->end)) {
        x->ampersand = true;
        x->p = p + 1;
        return;
    }
    x->p = operator_end(p, x->end);
    if (c == ';' && !x->directive) {
        put(x, p, x->p, HPC_TOKEN_NEWLINE);
        x->pending = false;
        return;
    }
    put(x, p, x->p, HPC_TOKEN_PUNCT);
    x->pending |= !x->directive;
}

static void put_number(lexer *x, const uint8_t *p)
{
    bool label = !x->pending && !x->directive && hpc_byte_is_digit(*p);
    x->p = number_end(p, x->end);
    put(x, p, x->p, label ? HPC_TOKEN_LABEL : HPC_TOKEN_NUMBER);
    x->pending |= !x->directive;
}

/* What begins at p and is neither blank nor a line feed. */
static void put_token(lexer *x, const uint8_t *p)
{
    switch (hpc_byte_class[*p]) {
    case HPC_CLASS_BANG: put_comment(x, p); return;
    case HPC_CLASS_NAME:
        x->p = hpc_name_end(p, x->end);
        put(x, p, x->p, HPC_TOKEN_NAME);
        x->pending |= !x->directive;
        return;
    case HPC_CLASS_DIGIT: put_number(x, p); return;
    case HPC_CLASS_QUOTE:
    case HPC_CLASS_APOSTROPHE:
        x->p = p;
        put_string(x);
        x->pending |= !x->directive;
        return;
    case HPC_CLASS_DOT:
        if (x->end - p > 1 && hpc_byte_is_digit(p[1])) {
            put_number(x, p);
            return;
        } /* fall through */
    default: put_other(x, p);
    }
}

enum { CARD = 72 }; /* columns of a punched card that are no sequence number */

/* True if one word in columns 73 to 80, after a blank, ends the line at p. */
static bool is_numbered(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *q = hpc_trim_return(p, hpc_scan_line(p, end)), *word = p + CARD;
    while (q > p && q[-1] == ' ') q--;
    return q - p > CARD && q - p <= 80 && !memchr(p, '\t', CARD) && hpc_name_end(word, q) == q;
}

/* ---- bytes side by side ------------------------------------------------------------- */

/* Where a bit of the first byte is one of the second too, they are one operator. */
enum {
    EQUAL = 1 << 0,
    POWER = 1 << 1,
    CONCAT = 1 << 2,
    ARROW = 1 << 3,
    COLON = 1 << 4,
    NUMBER = 1 << 5, /* longer than a digit, or ".word." */
    SPECIAL = 1 << 6,
    RARE = NUMBER | SPECIAL
};
/* clang-format off */
static const struct {
    uint32_t first[256], second[256];
} meeting = {
    .first = {
        ['0' ... '9'] = NUMBER, ['.'] = NUMBER,
        ['/'] = CONCAT | EQUAL, ['='] = EQUAL | ARROW, ['<'] = EQUAL, ['>'] = EQUAL,
        ['*'] = POWER, [':'] = COLON,
        ['\n'] = SPECIAL, ['!'] = SPECIAL, ['&'] = SPECIAL, [';'] = SPECIAL, ['"'] = SPECIAL,
        ['\''] = SPECIAL,
    },
    .second = {
        ['0' ... '9'] = NUMBER, ['.'] = NUMBER, ['A' ... 'Z'] = NUMBER, ['a' ... 'z'] = NUMBER,
        ['_'] = NUMBER, ['$'] = NUMBER, [128 ... 255] = NUMBER,
        ['/'] = CONCAT, ['='] = EQUAL, ['>'] = ARROW, ['*'] = POWER, [':'] = COLON,
    },
};
/* clang-format on */

/* The tokens from x->p on, up to the end of the line, of the window or a sequence number. */
static inline __attribute__((always_inline)) void put_window(lexer *x)
{
    const hpc_window *const w = &x->window;
    const uint8_t *const bytes = w->bytes;
    const uint64_t after = w->breaks >> 1;
    const uint32_t at = (uint32_t)(w->at - x->text);
    const bool numbered = x->sequence && x->sequence >= x->p && x->sequence < w->at + w->n;
    const size_t stop = numbered ? (size_t)(x->sequence - w->at) : w->n;
    const uint64_t use = (UINT64_C(1) << stop) - 1;
    size_t next = stop;
    hpc_token *t = x->t, **late = x->late.item + x->late.n;
    uint32_t line = x->line;
    unsigned flags = x->flags, alone = x->pending || x->directive ? SPECIAL : SPECIAL | NUMBER;
    for (uint64_t starts = hpc_window_from(w, (size_t)(x->p - w->at)) & use; starts;) {
        unsigned i = (unsigned)__builtin_ctzll(starts);
        uint8_t c = bytes[i];
        unsigned meet = meeting.first[c] & (meeting.second[bytes[i + 1]] | alone);
        t->at = at + i;
        t->n = (uint32_t)__builtin_ctzll(after >> i) + 1;
        t->line = line;
        starts &= starts - 1;
        if (__builtin_expect(meet != 0, 0)) {
            if (c == '\n') {
                next = i;
                break;
            }
            if (meet & RARE) {
                x->t = t;
                x->late.n = (uint32_t)(late - x->late.item);
                x->flags = flags;
                x->pending |= alone == SPECIAL && !x->directive;
                put_token(x, w->at + i);
                t = x->t;
                late = x->late.item + x->late.n;
                line = x->line;
                flags = x->flags;
                alone = x->pending || x->directive ? SPECIAL : SPECIAL | NUMBER;
                size_t q = (size_t)(x->p - w->at);
                if (q < stop) {
                    starts = hpc_window_from(w, q) & use;
                    continue;
                }
                next = q;
                break;
            }
            t->n = 2;
            starts &= starts - 1;
            if (i + 2 > next) next = i + 2;
            *late++ = t;
        }
        *late = t;
        late += hpc_opening.late[c];
        t->hash = hpc_opening.hash[c];
        t->kind = hpc_opening.kind[c];
        t->flags = (uint8_t)flags;
        t++;
        flags &= HPC_TOKEN_IN_DIRECTIVE;
        alone = SPECIAL;
    }
    x->t = t;
    x->late.n = (uint32_t)(late - x->late.item);
    x->flags = flags;
    x->pending |= alone == SPECIAL && !x->directive;
    x->p = w->at + next;
}

#ifdef __x86_64__
/* Its shifts by a variable and steps over bits are one instruction each. */
__attribute__((target("bmi,bmi2"))) static void put_window_bmi2(lexer *x)
{
    put_window(x);
}
#endif

static void put_window_best(lexer *x)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")) {
        put_window_bmi2(x);
        return;
    }
#endif
    put_window(x);
}

/* The tokens from x->p to the end of the line. */
static int put_tokens(lexer *x)
{
    while (x->p < x->end && *x->p != '\n') {
        int rc = room(x);
        if (rc < 0) return rc;
        if (x->p == x->sequence) {
            x->sequence = NULL;
            if (is_numbered(x->p - CARD, x->end)) {
                put_comment(x, x->p);
                continue;
            }
        }
        if ((size_t)(x->p - x->window.at) >= x->window.n) hpc_window_open(&x->window, x->p, x->end);
        if (x->window.n > 0) {
            put_window_best(x);
        } else {
            put_token(x, x->p);
        }
    }
    return HPC_OK;
}

/* ---- preprocessor lines --------------------------------------------------------------- */

static const uint8_t *header_end(const lexer *x, const uint8_t *p)
{
    const hpc_token *last = x->t - 1;
    bool include = last->kind == HPC_TOKEN_NAME && last->n == 7 &&
                   last[-1].kind == HPC_TOKEN_SENTINEL &&
                   memcmp(x->text + last->at, "include", 7) == 0;
    if (*p != '<' || !include) return NULL;
    const uint8_t *close = memchr(p, '>', (size_t)(hpc_scan_line(p, x->end) - p));
    return close ? close + 1 : NULL;
}

/* One token of C at x->p, which is not blank; a splice makes none. */
static void put_preprocessor_token(lexer *x)
{
    const uint8_t *p = x->p, *header = header_end(x, p);
    hpc_span s = {p, 0, false};
    int class = hpc_byte_class[*p], kind = HPC_TOKEN_PUNCT;
    if (class == HPC_CLASS_NAME) {
        kind = HPC_TOKEN_NAME;
        s.end = hpc_name_end(p, x->end);
    } else if (class == HPC_CLASS_DIGIT) {
        kind = HPC_TOKEN_NUMBER;
        s.end = hpc_scan_number(p, x->end);
    } else if (class == HPC_CLASS_QUOTE || class == HPC_CLASS_APOSTROPHE || header) {
        kind = HPC_TOKEN_STRING;
        if (header) s.end = header;
        if (!header) s = hpc_scan_string(p, x->end);
    } else if (*p == '/' && x->end - p > 1 && p[1] == '*') {
        kind = HPC_TOKEN_COMMENT;
        s = hpc_scan_block_comment(p, x->end);
    } else if (class == HPC_CLASS_BACKSLASH && hpc_scan_splice(p, x->end)) {
        x->p = hpc_scan_splice(p, x->end);
        x->line++;
        return;
    } else {
        s.end = hpc_scan_operator(p, x->end);
    }
    if (s.open) x->flags |= HPC_TOKEN_UNTERMINATED;
    put(x, p, s.end, kind);
    x->line += s.lines;
    x->p = s.end;
}

/* From its '#' to its end; the statement around it continues afterwards. */
static int put_preprocessor_line(lexer *x)
{
    int rc = HPC_OK;
    x->flags |= HPC_TOKEN_IN_DIRECTIVE;
    put(x, x->p, x->p + 1, HPC_TOKEN_SENTINEL);
    for (x->p++; x->p < x->end && *x->p != '\n';) {
        if ((rc = room(x)) < 0) return rc;
        if (hpc_byte_is_blank(*x->p)) {
            x->p++;
        } else {
            put_preprocessor_token(x);
        }
    }
    end_directive(x);
    return room(x);
}

/* ---- lines ------------------------------------------------------------------------------- */

/* True if the first two bytes show that the line at p is a comment, as for most in fixed form. */
static inline bool plain_comment(const lexer *x, const uint8_t *p)
{
    return x->fixed && x->end - p > 1 && p[1] != '$' &&
           (*p == 'C' || *p == 'c' || *p == '*' || *p == '!');
}

/* True if the directive or statement of the line that ends at p continues after it. */
static bool goes_on(lexer *x, const uint8_t *p)
{
    for (; p < x->end; p = hpc_scan_line(p + 1, x->end)) {
        if (plain_comment(x, p + 1)) continue;
        const hpc_fortran_line *l = line_at(x, p + 1);
        bool marked = l->continues || x->ampersand;
        if (l->kind == HPC_LINE_CODE) return !x->directive && (x->fixed ? marked : x->ampersand);
        if (l->kind == HPC_LINE_DIRECTIVE)
            return marked && l->sentinel == (x->directive ? x->directive : HPC_SENTINEL_IF_OPENMP);
        if (l->kind == HPC_LINE_PREPROCESSOR && x->directive) return false;
    }
    return false;
}

/* At a line feed or the end of the text. */
static int end_line(lexer *x)
{
    int rc = room(x);
    if (rc < 0) return rc;
    if (x->directive && !goes_on(x, x->p)) end_directive(x);
    bool could = x->fixed || x->ampersand;
    if (!x->directive && x->pending && !(could && goes_on(x, x->p))) {
        x->flags = 0;
        put(x, x->p, x->p + (x->p < x->end), HPC_TOKEN_NEWLINE);
        x->pending = false;
    }
    return HPC_OK;
}

static int put_line(lexer *x)
{
    int rc = room(x);
    if (rc < 0) return rc;
    x->flags = HPC_TOKEN_FIRST_ON_LINE | (x->directive ? HPC_TOKEN_IN_DIRECTIVE : 0);
    if (plain_comment(x, x->p)) {
        put_comment(x, x->p);
        return HPC_OK;
    }
    const hpc_fortran_line *l = line_at(x, x->p);
    x->sequence = NULL;
    switch (l->kind) {
    case HPC_LINE_BLANK: x->p = hpc_scan_line(x->p, x->end); return HPC_OK;
    case HPC_LINE_COMMENT: put_comment(x, l->mark); return HPC_OK;
    case HPC_LINE_PREPROCESSOR: x->p = l->mark; return put_preprocessor_line(x);
    case HPC_LINE_DIRECTIVE:
        x->flags |= HPC_TOKEN_IN_DIRECTIVE;
        if (x->directive == l->sentinel && (l->continues || x->ampersand)) {
            x->flags = HPC_TOKEN_IN_DIRECTIVE;
        } else {
            put(x, l->mark, l->mark + l->mark_n, HPC_TOKEN_SENTINEL);
        }
        x->directive = l->sentinel;
        break;
    default:
        if (x->pending) x->flags = 0;
        if (x->fixed && x->end - x->p > CARD && x->p[CARD - 1] == ' ') x->sequence = x->p + CARD;
        break;
    }
    x->p = l->body;
    x->ampersand = false;
    rc = put_tokens(x);
    return rc < 0 ? rc : end_line(x);
}

int hpc_lex_fortran(hpc_tokens *out, const uint8_t *text, const uint8_t *end, bool fixed)
{
    lexer x;
    memset(&x, 0, offsetof(lexer, late));
    x.text = x.p = x.window.at = text;
    x.end = end;
    x.out = out;
    x.line = 1;
    x.fixed = fixed;
    x.late.n = x.window.n = 0;
    int rc = hpc_lex_grow(out, &x.t, &x.limit);
    if (end - text >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) x.p += 3; /* byte order mark */
    while (rc == HPC_OK && x.p < end) {
        rc = put_line(&x);
        if (x.p < end && *x.p != '\n') x.p = hpc_scan_blanks(x.p, end);
        if (x.p < end && *x.p == '\n') {
            x.p++;
            x.line++;
        }
    }
    if (rc == HPC_OK) rc = room(&x);
    if (rc < 0) return rc;
    if (x.directive) end_directive(&x);
    if (x.pending) end_line(&x);
    hpc_late_hash(&x.late, text, end, true);
    out->n = x.t - out->item;
    return HPC_OK;
}
