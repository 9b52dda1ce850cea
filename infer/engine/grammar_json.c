/*
 * grammar_json.c: one JSON value, byte by byte.
 *
 * The value ends with its last byte: no blanks may follow, so the text ends when the value is
 * complete. Keys are not remembered, so duplicate keys are accepted.
 */
#include "infer/engine/grammar_priv.h"

#include <string.h>

enum { LEVELS = 64, DIGITS = 18, EXPONENT_DIGITS = 2 };
enum {
    VALUE,          /* wanted */
    VALUE_OR_CLOSE, /* after [ */
    KEY_OR_CLOSE,   /* after { */
    KEY,            /* wanted */
    COLON,          /* wanted */
    MORE,           /* after a value: a comma, or the end of its list or object */
    STRING,
    ESCAPE,   /* after a backslash */
    HEX,      /* of \u */
    SECOND,   /* half of a pair: its backslash */
    SECOND_U, /* and its u */
    MINUS,    /* and no digit yet */
    ZERO,     /* no digit may follow */
    WHOLE,    /* digits before the point */
    POINT,    /* and no digit yet */
    FRACTION, /* digits */
    E,        /* and no sign or digit yet */
    SIGN,     /* and no digit yet */
    EXPONENT, /* digits */
    WORD,     /* true, false, null */
    OVER
};

static bool go(grammar_json *j, uint8_t mode)
{
    j->mode = mode;
    return true;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool end_value(grammar_json *j)
{
    j->digits = j->word = 0;
    return go(j, j->depth > 0 ? MORE : OVER);
}

static bool open_level(grammar_json *j, bool object)
{
    if (j->depth == LEVELS) return false;
    j->objects |= (uint64_t)object << j->depth++;
    return go(j, object ? KEY_OR_CLOSE : VALUE_OR_CLOSE);
}

static bool in_object(const grammar_json *j)
{
    return j->objects >> (j->depth - 1) & 1;
}

static bool close_level(grammar_json *j, uint8_t c)
{
    if (c != (in_object(j) ? '}' : ']')) return false;
    j->depth--;
    j->objects &= ~((uint64_t)1 << j->depth);
    return end_value(j);
}

static const char *const words[] = {"true", "false", "null"};

static bool begin_value(grammar_json *j, uint8_t c)
{
    if (c == '{' || c == '[') return open_level(j, c == '{');
    if (c == '"') return go(j, STRING);
    if (c == '-') return go(j, MINUS);
    if (is_digit(c)) {
        j->digits = c != '0';
        return go(j, c == '0' ? ZERO : WHOLE);
    }
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (c == (uint8_t)words[k][0]) {
            j->word = (uint8_t)k;
            j->digits = 1; /* letters of it */
            return go(j, WORD);
        }
    return false;
}

static bool step_word(grammar_json *j, uint8_t c)
{
    const char *word = words[j->word];

    if (c != (uint8_t)word[j->digits]) return false;
    return word[++j->digits] ? true : end_value(j);
}

/* After a value in a list or an object. */
static bool step_more(grammar_json *j, uint8_t c)
{
    if (c != ',') return close_level(j, c);
    return go(j, in_object(j) ? KEY : VALUE);
}

/* ---- strings --------------------------------------------------------------------------------- */

static bool end_string(grammar_json *j)
{
    if (!j->key) return end_value(j);
    j->key = 0;
    return go(j, COLON);
}

/* Sets the number of continuation bytes of a character and the range of the next one: overlong
 * forms, surrogates and code points above U+10FFFF are excluded. */
static bool begin_character(grammar_json *j, uint8_t c)
{
    if (c < 0xc2 || c > 0xf4) return false;
    j->more = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    j->lo = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    j->hi = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    return true;
}

static bool step_character(grammar_json *j, uint8_t c)
{
    if (c < j->lo || c > j->hi) return false;
    j->more--;
    j->lo = j->more ? 0x80 : 0;
    j->hi = j->more ? 0xbf : 0;
    return true;
}

static bool step_string(grammar_json *j, uint8_t c)
{
    if (j->more) return step_character(j, c);
    if (c >= 0x80) return begin_character(j, c);
    if (c == '"') return end_string(j);
    if (c == '\\') return go(j, ESCAPE);
    return c >= ' ';
}

static bool step_escape(grammar_json *j, uint8_t c)
{
    if (c == 'u') return go(j, HEX);
    return c && strchr("\"\\/bfnrt", c) ? go(j, STRING) : false;
}

static bool is_high(uint16_t unit)
{
    return unit >= 0xd800 && unit < 0xdc00;
}

/* j->unit holds the digits so far; after the first half of a pair, j->word is 1. */
static bool end_hex(grammar_json *j)
{
    uint16_t unit = j->unit;

    j->unit = 0;
    j->digits = 0;
    j->word = is_high(unit);
    return unit != 0 && go(j, j->word ? SECOND : STRING);
}

/* A second half follows its first half directly. A digit after which neither is possible is
 * rejected at once, to avoid a dead end. */
static bool step_hex(grammar_json *j, uint8_t c)
{
    uint8_t lower = c | 0x20;
    bool letter = lower >= 'a' && lower <= 'f';

    if (!is_digit(c) && !letter) return false;
    j->unit = (uint16_t)(j->unit << 4 | (letter ? lower - 'a' + 10 : c - '0'));
    j->digits++;
    if (j->digits == 1 && j->word && j->unit != 0xd) return false;
    if (j->digits == 2 && (j->unit >= 0xdc && j->unit < 0xe0) != j->word) return false;
    return j->digits == 4 ? end_hex(j) : true;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool step(grammar_state *s, uint8_t c);

static bool more_digits(grammar_json *j, uint8_t mode, uint8_t most)
{
    return j->digits++ < most && go(j, mode);
}

/* What follows a whole part, a fraction or an exponent; else the number has ended before c. */
static bool behind_digits(grammar_state *s, uint8_t c)
{
    grammar_json *j = &s->json;
    uint8_t mode = j->mode;

    j->digits = 0;
    if (c == '.' && (mode == ZERO || mode == WHOLE)) return go(j, POINT);
    if ((c == 'e' || c == 'E') && mode != EXPONENT) return go(j, E);
    return end_value(j) && step(s, c);
}

static bool step_number(grammar_state *s, uint8_t c)
{
    grammar_json *j = &s->json;
    bool digit = is_digit(c);

    switch (j->mode) {
    case MINUS: return digit && begin_value(j, c);
    case ZERO: return !digit && behind_digits(s, c);
    case WHOLE: return digit ? more_digits(j, WHOLE, DIGITS) : behind_digits(s, c);
    case POINT: return digit && more_digits(j, FRACTION, DIGITS);
    case FRACTION: return digit ? more_digits(j, FRACTION, DIGITS) : behind_digits(s, c);
    case E:
        if (c == '+' || c == '-') return go(j, SIGN);
        return digit && more_digits(j, EXPONENT, EXPONENT_DIGITS);
    case SIGN: return digit && more_digits(j, EXPONENT, EXPONENT_DIGITS);
    default: return digit ? more_digits(j, EXPONENT, EXPONENT_DIGITS) : behind_digits(s, c);
    }
}

/* ---- the automaton --------------------------------------------------------------------------- */

static bool step_key(grammar_json *j, uint8_t c)
{
    if (c != '"') return false;
    j->key = 1;
    return go(j, STRING);
}

static bool step(grammar_state *s, uint8_t c)
{
    grammar_json *j = &s->json;

    if (j->mode <= MORE && is_space(c)) return true;
    switch (j->mode) {
    case VALUE: return begin_value(j, c);
    case VALUE_OR_CLOSE: return c == ']' ? close_level(j, c) : begin_value(j, c);
    case KEY_OR_CLOSE: return c == '}' ? close_level(j, c) : step_key(j, c);
    case KEY: return step_key(j, c);
    case COLON: return c == ':' && go(j, VALUE);
    case MORE: return step_more(j, c);
    case STRING: return step_string(j, c);
    case ESCAPE: return step_escape(j, c);
    case HEX: return step_hex(j, c);
    case SECOND: return c == '\\' && go(j, SECOND_U);
    case SECOND_U: return c == 'u' && go(j, HEX);
    case WORD: return step_word(j, c);
    case OVER: return false;
    default: return step_number(s, c);
    }
}

static size_t start(grammar_state *s, const hpc_grammar_rule *r, const char *prefix, size_t n)
{
    (void)r;
    s->json.mode = VALUE;
    return grammar_step_all(s, &grammar_json_kind, prefix, n);
}

static bool may_end(const grammar_state *s)
{
    uint8_t mode = s->json.mode;
    bool number = mode == ZERO || mode == WHOLE || mode == FRACTION || mode == EXPONENT;

    return mode == OVER || (number && s->json.depth == 0);
}

static uint32_t any_of(const grammar_state *s, size_t most)
{
    (void)most;
    if (s->json.mode != STRING || s->json.more) return 0;
    return BYTE_ANY &
           ~(uint32_t)(BYTE_LINE | BYTE_CONTROL | BYTE_QUOTE | BYTE_BACKSLASH | BYTE_HIGH);
}

const grammar_kind grammar_json_kind = {
    .name = "JSON value", .start = start, .step = step, .may_end = may_end, .any_of = any_of};
