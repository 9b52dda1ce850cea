/*
 * scan.c: finds the ends of comments, strings, numbers and operators in C and its family. Comments
 * and strings are long, so they are scanned 16 bytes at a time if the machine supports it. lex.c
 * handles directives, prefixes and the meaning of tokens; lex_fortran.c handles Fortran. Digraphs
 * and trigraphs are not recognized.
 */
#include "runtime/source/priv.h"

const uint8_t *hpc_scan_blanks(const uint8_t *p, const uint8_t *end)
{
    while (p < end && hpc_byte_is_blank(*p)) p++;
    return p;
}

const uint8_t *hpc_scan_line(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *q = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return q ? q : end;
}

const uint8_t *hpc_trim_return(const uint8_t *p, const uint8_t *q)
{
    return q > p && q[-1] == '\r' ? q - 1 : q;
}

const uint8_t *hpc_scan_splice(const uint8_t *p, const uint8_t *end)
{
    p = hpc_scan_blanks(p + 1, end);
    return p < end && *p == '\n' ? p + 1 : NULL;
}

static uint32_t count_lines(const uint8_t *p, const uint8_t *end)
{
    uint32_t n = 0;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) n++, p++;
    return n;
}

#if defined(__SSE2__)
static inline uint32_t bits(unsigned mask)
{
    uint32_t n = 0;
    for (; mask; mask &= mask - 1) n++; /* few: most blocks hold no line feed */
    return n;
}

static inline unsigned equal(__m128i v, char c)
{
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(c)));
}
#endif

hpc_span hpc_scan_block_comment(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *q = p + 2;
    uint32_t lines = 0;
#if defined(__SSE2__)
    for (; end - q >= 17; q += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)q);
        __m128i next = _mm_loadu_si128((const __m128i *)(q + 1));
        unsigned feeds = equal(v, '\n'), close = equal(v, '*') & equal(next, '/');
        if (close) {
            lines += bits(feeds & ((close & -close) - 1));
            return (hpc_span){q + __builtin_ctz(close) + 2, lines, false};
        }
        lines += bits(feeds);
    }
#endif
    for (; end - q >= 2; q++) {
        if (q[0] == '*' && q[1] == '/') return (hpc_span){q + 2, lines, false};
        lines += *q == '\n';
    }
    lines += q < end && *q == '\n';
    return (hpc_span){end, lines, true};
}

hpc_span hpc_scan_line_comment(const uint8_t *p, const uint8_t *end)
{
    uint32_t lines = 0;
    for (const uint8_t *q = p;;) {
        const uint8_t *feed = hpc_scan_line(q, end), *last = feed;
        while (last > q && hpc_byte_is_blank(last[-1])) last--;
        if (feed == end || last == q || last[-1] != '\\')
            return (hpc_span){hpc_trim_return(p, feed), lines, false};
        lines++;
        q = feed + 1;
    }
}

const uint8_t *hpc_scan_string_stop(const uint8_t *p, const uint8_t *end, uint8_t quote)
{
#if defined(__SSE2__)
    for (; end - p >= 16; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)p);
        unsigned stop = equal(v, (char)quote) | equal(v, '\\') | equal(v, '\n');
        if (stop) return p + __builtin_ctz(stop);
    }
#endif
    while (p < end && *p != quote && *p != '\\' && *p != '\n') p++;
    return p;
}

hpc_span hpc_scan_string(const uint8_t *p, const uint8_t *end)
{
    uint32_t lines = 0;
    const uint8_t quote = *p, *q = p + 1;
    for (;;) {
        q = hpc_scan_string_stop(q, end, quote);
        if (q == end) return (hpc_span){end, lines, true};
        if (*q == quote) return (hpc_span){q + 1, lines, false};
        if (*q == '\n') return (hpc_span){hpc_trim_return(p + 1, q), lines, true};
        const uint8_t *spliced = hpc_scan_splice(q, end);
        lines += spliced != NULL;
        q = spliced ? spliced : end - q > 2 ? q + 2 : end;
    }
}

hpc_span hpc_scan_raw_string(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *name = p + 1, *q = name;
    while (q < end && q - name < 17 && *q > ' ' && *q != '(' && *q != ')' && *q != '\\' &&
           *q != '"')
        q++;
    size_t n = (size_t)(q - name);
    if (q == end || *q != '(' || n > 16) return (hpc_span){NULL, 0, true};

    while ((q = memchr(q, ')', (size_t)(end - q)))) {
        q++;
        if ((size_t)(end - q) > n && q[n] == '"' && memcmp(q, name, n) == 0)
            return (hpc_span){q + n + 1, count_lines(p, q), false};
    }
    return (hpc_span){end, count_lines(p, end), true};
}

/* What the standard calls a preprocessing number, but an 'e' of a hexadecimal one is a digit. */
const uint8_t *hpc_scan_number(const uint8_t *p, const uint8_t *end)
{
    bool hex = end - p >= 2 && p[0] == '0' && (p[1] | 0x20) == 'x';
    uint8_t exponent = hex ? 'p' : 'e';
    while (p < end) {
        uint8_t c = *p;
        if (hpc_byte_in_name(c)) {
            p++;
            if ((c | 0x20) == exponent && p < end && (*p == '+' || *p == '-')) p++;
        } else if (c == '.') {
            p++;
        } else if (c == '\'' && end - p >= 2 && hpc_byte_in_name(p[1])) {
            p += 2;
        } else {
            break;
        }
    }
    return p;
}

const uint8_t *hpc_scan_operator(const uint8_t *p, const uint8_t *end)
{
    uint8_t c = p[0], next = end - p > 1 ? p[1] : 0, third = end - p > 2 ? p[2] : 0;
    switch (c) {
    case '+':
    case '&':
    case '|': return p + 1 + (next == c || next == '=');
    case '-':
        if (next == '>') return p + 2 + (third == '*');
        return p + 1 + (next == '-' || next == '=');
    case '*':
    case '%':
    case '^':
    case '=':
    case '/':
    case '!': return p + 1 + (next == '=');
    case ':': return p + 1 + (next == ':');
    case '#': return p + 1 + (next == '#');
    case '.':
        if (next == '.' && third == '.') return p + 3;
        return p + 1 + (next == '*');
    case '<':
        if (next == '=') return p + 2 + (third == '>');
        return next == '<' ? p + 2 + (third == '=') : p + 1;
    case '>':
        if (next == '=') return p + 2;
        return next == '>' ? p + 2 + (third == '=') : p + 1;
    default: return p + 1;
    }
}
