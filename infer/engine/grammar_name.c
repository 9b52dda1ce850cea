/*
 * grammar_name.c: restricts the identifiers of an argument to a set of names.
 *
 * A lexer runs in parallel with the automaton for lists and expressions. It distinguishes names,
 * which must come from the set; members after '.' and '->' and numbers, which are free; and all
 * other bytes. The kind of entity that a name refers to is not known here.
 */
#include "infer/engine/grammar_openmp.h"

#include <string.h>

/* The last part of the text. OPERAND: has members; CONSTANT: has none; MINUS: of an arrow; OF:
 * requires a member. */
enum mode { NOTHING, NAME, MEMBER, NUMBER, OPERAND, CONSTANT, MINUS, OF };

/* The first of the rows [lo, hi) with a byte of at least c after the text so far. */
static uint16_t row_from(const grammar_spelling *s, const hpc_grammar_rule *r, int c)
{
    uint16_t lo = s->lo, hi = s->hi;

    while (lo < hi) {
        uint16_t mid = (uint16_t)(lo + (hi - lo) / 2);
        if ((uint8_t)r->names[mid][s->at] < c)
            lo = (uint16_t)(mid + 1);
        else
            hi = mid;
    }
    return lo;
}

static bool narrow(grammar_spelling *s, const hpc_grammar_rule *r, uint8_t c)
{
    uint16_t lo = row_from(s, r, c), hi = row_from(s, r, c + 1);

    s->lo = lo, s->hi = hi;
    s->at++;
    return lo < hi;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_in_number(uint8_t c)
{
    return is_digit(c) || memchr("abcdefABCDEFxXpPuUlL", c, 20);
}

static bool step_word(grammar_spelling *s, const hpc_grammar_rule *r, uint8_t c)
{
    switch (s->mode) {
    case NAME: return narrow(s, r, c);
    case MEMBER: return true;
    case NUMBER: return is_in_number(c);
    case OF: s->mode = MEMBER; return !is_digit(c);
    default:
        s->mode = is_digit(c) ? NUMBER : NAME;
        if (s->mode == NUMBER) return true;
        s->hi = (uint16_t)r->names_n;
        return narrow(s, r, c);
    }
}

/* The mode after a word, or without one. */
static uint16_t mode_behind(uint16_t mode, uint8_t c)
{
    bool has_members = mode == NAME || mode == MEMBER || mode == OPERAND;

    switch (c) {
    case ' ':
    case '\t':
        if (mode == NUMBER) return CONSTANT;
        if (mode == MINUS) return NOTHING;
        return has_members ? OPERAND : mode;
    case '.':
        if (mode == NUMBER) return NUMBER;
        return has_members ? OF : NOTHING;
    case '-': return has_members ? MINUS : NOTHING;
    case '>': return mode == MINUS ? OF : NOTHING;
    case '"':
    case '\'': return CONSTANT;
    case ')':
    case ']': return OPERAND;
    default: return NOTHING;
    }
}

bool openmp_name_is_whole(const grammar_directive *d)
{
    const grammar_spelling *s = &d->spelling;

    return s->mode != NAME || d->rule->names[s->lo][s->at] == 0;
}

bool openmp_name_step(grammar_directive *d, uint8_t c)
{
    if (grammar_class(c) == BYTE_WORD) return step_word(&d->spelling, d->rule, c);
    if (!openmp_name_is_whole(d)) return false;
    d->spelling = (grammar_spelling){.mode = mode_behind(d->spelling.mode, c)};
    return true;
}

uint32_t openmp_name_any_of(const grammar_directive *d)
{
    return d->spelling.mode == MEMBER ? BYTE_WORD : 0;
}
