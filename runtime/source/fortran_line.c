/*
 * fortran_line.c: classifies a line of Fortran as code, comment, directive, blank or preprocessor
 * line, and detects whether it continues the previous line. lex_fortran.c finds its tokens.
 */
#include "runtime/source/priv.h"

static bool at_end(const uint8_t *p, const uint8_t *end)
{
    return p >= end || *p == '\n' || *p == '\r';
}

static bool blank_or_end(const uint8_t *p, const uint8_t *end)
{
    return at_end(p, end) || hpc_byte_is_blank(*p);
}

/* A comment, or the directive in it: "$omp", "$acc" or "$" after its first byte. */
static hpc_fortran_line comment_or_directive(const uint8_t *p, const uint8_t *mark,
                                             const uint8_t *end, bool fixed)
{
    hpc_fortran_line l = {.kind = HPC_LINE_COMMENT, .mark = mark, .body = mark};
    if (end - mark < 3 || mark[1] != '$') return l;
    bool in_columns = fixed && p == mark;
    char api[3] = {0};
    for (int i = 0; i < 3 && end - mark >= 5; i++) api[i] = (char)hpc_byte_lower(mark[2 + i]);
    if (memcmp(api, "omp", 3) == 0) l.sentinel = HPC_SENTINEL_OMP;
    if (memcmp(api, "acc", 3) == 0) l.sentinel = HPC_SENTINEL_ACC;
    l.mark_n = l.sentinel ? 5 : 2;
    l.body = mark + l.mark_n;
    if (l.sentinel) {
        /* In column 6 a digit or '$' continues the directive. Letters make another sentinel. */
        bool named = !at_end(l.body, end) && hpc_byte_in_name(*l.body);
        bool marks = named && (hpc_byte_is_digit(*l.body) || *l.body == '$');
        if (named && !(marks && in_columns)) return l;
    } else {
        if (at_end(l.body, end) || !(hpc_byte_is_blank(*l.body) || *l.body == '&')) return l;
        l.sentinel = HPC_SENTINEL_IF_OPENMP;
    }
    l.kind = HPC_LINE_DIRECTIVE;
    const uint8_t *column_6 = p + 5;
    bool blanks = l.mark_n == 5 || (end - p > 5 && memcmp(p + 2, "   ", 3) == 0);
    if (in_columns && blanks && !blank_or_end(column_6, end)) {
        l.continues = *column_6 != '0';
        l.body = column_6 + 1;
        return l;
    }
    const uint8_t *q = hpc_scan_blanks(l.body, end);
    if (q < end && *q == '&') {
        l.continues = true;
        l.body = q + 1;
    }
    return l;
}

/* The first byte of a comment line in fixed form. A 'd' marks lines for debugging; where a word
 * follows it, this is free form after all. */
static bool is_comment_column(const uint8_t *p, const uint8_t *end)
{
    if (*p == 'c' || *p == 'C' || *p == '*') return true;
    return (*p == 'd' || *p == 'D') && blank_or_end(p + 1, end);
}

/* Where blanks lead to the first byte at `code`. */
static hpc_fortran_line fixed_code(const uint8_t *p, const uint8_t *code, const uint8_t *end)
{
    hpc_fortran_line l = {.kind = HPC_LINE_CODE, .mark = code, .body = code};
    if (code - p > 5 && memcmp(p, "      ", 6) == 0) return l;
    int i = 0;
    while (i < 5 && p + i < end && (p[i] == ' ' || hpc_byte_is_digit(p[i]))) i++;
    if (p + i < end && p[i] == '\t') { /* a tab leads to column 7, a digit after it continues */
        const uint8_t *q = p + i + 1;
        if (i == 0 && q < end && *q >= '1' && *q <= '9') {
            l.continues = true;
            l.body = q + 1;
        }
        return l;
    }
    if (i < 5 || blank_or_end(p + 5, end)) return l;
    bool unlabelled = memcmp(p, "     ", 5) == 0;
    l.continues = p[5] != '0' && unlabelled;
    if (unlabelled) l.body = p + 6;
    return l;
}

hpc_fortran_line hpc_fortran_line_at(const uint8_t *p, const uint8_t *end, bool fixed)
{
    if (fixed && p < end && is_comment_column(p, end)) return comment_or_directive(p, p, end, true);
    const uint8_t *code = hpc_blanks_end(p, end);
    if (code < end && hpc_byte_is_blank(*code)) code = hpc_scan_blanks(code, end);
    if (code < end && *code == '!' && !(fixed && code == p + 5))
        return comment_or_directive(p, code, end, fixed);
    hpc_fortran_line l = {.kind = HPC_LINE_CODE, .mark = code, .body = code};
    if (at_end(code, end)) {
        l.kind = HPC_LINE_BLANK;
    } else if (*code == '#' && (!fixed || code == p)) {
        l.kind = HPC_LINE_PREPROCESSOR;
    } else if (fixed) {
        l = fixed_code(p, code, end);
    } else if (*code == '&') {
        l.continues = true;
        l.body = code + 1;
    }
    return l;
}
