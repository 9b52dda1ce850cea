/*
 * grammar_brackets.c: brackets of C, C++ and CUDA, byte by byte.
 *
 * It lexes only enough to tell brackets from bytes in comments, strings and characters. The text
 * before the cursor takes the same steps but is never rejected: an unmatched closer closes what it
 * can. A literal without its end ends with the line, as in #error don't.
 *
 * A semicolon occurs in the parentheses of a `for`, and in C++ in those of an `if` or a `switch`.
 * In other parentheses it means that their closer is missing or stands in a branch that is not
 * taken. Few macros take a semicolon as an argument.
 *
 * A macro may open a bracket that another macro closes, so brackets in a directive do not count for
 * the surrounding text. They must balance among themselves, since "#define SQUARE(x) ((x) * (x)"
 * and a pragma with an unmatched closer are errors; open ones are forgotten at the end of the line.
 * A macro that consists of a closer is rejected, because most closers there are mistakes.
 */
#include "infer/engine/grammar_priv.h"

#include <string.h>

enum { CODE, LINE_COMMENT, BLOCK_COMMENT, STRING, CHARACTER, DELIMITER, RAW };
/* Kind of the word that ends here, as far as it changes the meaning of a quote after it. */
enum { NO_WORD, SOME_WORD, NUMBER, SMALL_U, U8, PREFIX, RAW_PREFIX };

/* Kinds of open brackets. A parenthesis that may hold semicolons is 0, as what is not open. */
enum { HEADED, ROUND, SQUARE, CURLY };

static void go(grammar_brackets *b, uint8_t mode)
{
    b->mode = mode;
    b->word = b->slash = b->star = b->escape = b->at = 0;
    if (mode != RAW) {
        memset(b->delimiter, 0, sizeof b->delimiter);
        b->delimiter_n = 0;
    }
    if (mode == CODE) b->begun_mode = 0;
}

/* ---- brackets -------------------------------------------------------------------------------- */

static unsigned kind_of(uint8_t c)
{
    return c == '(' || c == ')' ? ROUND : c == '[' || c == ']' ? SQUARE : CURLY;
}

static void set(grammar_brackets *b, unsigned at, unsigned kind)
{
    unsigned shift = at % 4 * 2;
    b->open[at / 4] = (uint8_t)((b->open[at / 4] & ~(3u << shift)) | kind << shift);
}

static unsigned get(const grammar_brackets *b, unsigned at)
{
    return b->open[at / 4] >> at % 4 * 2 & 3;
}

static void forget_above(grammar_brackets *b, unsigned depth)
{
    while (b->depth > depth) set(b, --b->depth, 0);
    if (b->depth < b->low) b->low = b->depth;
}

/* Of the text before, the outermost bracket makes room. */
static void drop_outermost(grammar_brackets *b)
{
    for (unsigned at = 1; at < BRACKETS_MOST; at++) set(b, at - 1, get(b, at));
    b->depth--;
    if (b->outside > 0) b->outside--;
}

static bool open_bracket(grammar_brackets *b, unsigned kind)
{
    if (b->depth == BRACKETS_MOST) {
        if (!b->tolerant) return false;
        drop_outermost(b);
    }
    set(b, b->depth++, kind);
    return true;
}

/* True if c closes the bracket below `at`. */
static bool closes(const grammar_brackets *b, unsigned at, uint8_t c)
{
    unsigned kind = get(b, at - 1);
    return kind == kind_of(c) || (kind == HEADED && c == ')');
}

static bool close_bracket(grammar_brackets *b, uint8_t c)
{
    unsigned floor = b->directive ? b->outside : b->floor, at = b->depth;

    if (b->tolerant)
        while (at > floor && !closes(b, at, c)) at--;
    if (at <= floor || !closes(b, at, c)) return b->tolerant;
    forget_above(b, at - 1);
    return true;
}

/* True if the innermost bracket may not contain a semicolon. */
static bool holds_none(const grammar_brackets *b)
{
    unsigned kind = b->depth > 0 ? get(b, b->depth - 1) : CURLY;
    return b->depth > (b->directive ? b->outside : 0) && (kind == ROUND || kind == SQUARE);
}

/* Where some of what the text before left open has been closed, what is next there may be its
 * mistake. */
static bool semicolon(grammar_brackets *b)
{
    bool before = b->low < b->home && b->depth <= b->low;

    if (!b->tolerant) return before || !holds_none(b);
    while (holds_none(b)) forget_above(b, b->depth - 1);
    return true;
}

/* ---- code ------------------------------------------------------------------------------------ */

static bool is_word(uint8_t c)
{
    return c >= 0x80 || grammar_class(c) == BYTE_WORD;
}

static uint8_t word_with(uint8_t word, uint8_t c)
{
    switch (word) {
    case NO_WORD:
        if (c >= '0' && c <= '9') return NUMBER;
        if (c == 'R') return RAW_PREFIX;
        return c == 'u' ? SMALL_U : c == 'U' || c == 'L' ? PREFIX : SOME_WORD;
    case NUMBER: return NUMBER;
    case SMALL_U: return c == '8' ? U8 : c == 'R' ? RAW_PREFIX : SOME_WORD;
    case U8:
    case PREFIX: return c == 'R' ? RAW_PREFIX : SOME_WORD;
    default: return SOME_WORD;
    }
}

/* The word that ends here, or ended before blanks, if it precedes a parenthesis with semicolons:
 * the first n letters of `heads[w - 1]`. A `for` may begin after '_', as in cilk_for. `constexpr`
 * counts only after `if`. */
enum { NO_HEAD, NEW_HEAD, LATER_HEAD, OTHER_HEAD, HEAD_LETTERS = 16 };
static const char *const heads[] = {"for", "if", "switch", "constexpr"};

static uint8_t head_with(uint8_t head, uint8_t c)
{
    unsigned w = head / HEAD_LETTERS, n = head % HEAD_LETTERS;

    if (c == '_') return LATER_HEAD;
    if (w > 0) return (uint8_t)heads[w - 1][n] == c ? head + 1 : OTHER_HEAD;
    if (head == OTHER_HEAD) return OTHER_HEAD;
    for (w = 0; w < (head == LATER_HEAD ? 1 : sizeof heads / sizeof *heads); w++)
        if ((uint8_t)heads[w][0] == c) return (uint8_t)((w + 1) * HEAD_LETTERS + 1);
    return OTHER_HEAD;
}

static bool is_head(uint8_t head)
{
    unsigned w = head / HEAD_LETTERS, n = head % HEAD_LETTERS;
    return w > 0 && heads[w - 1][n] == '\0';
}

static bool end_line(grammar_brackets *b)
{
    go(b, CODE);
    b->line_start = 1;
    if (b->directive || !is_head(b->head)) b->head = NO_HEAD;
    if (!b->directive) return true;
    forget_above(b, b->outside);
    if (b->begun_directive) b->home = b->outside;
    b->directive = b->begun_directive = 0;
    b->outside = 0;
    return true;
}

static void begin_directive(grammar_brackets *b)
{
    b->directive = 1;
    b->outside = b->depth;
    b->line_start = 0;
}

/* A byte outside words, blanks and comments. */
static bool step_other(grammar_brackets *b, uint8_t c)
{
    uint8_t word = b->word, head = b->head;

    b->word = NO_WORD;
    b->head = NO_HEAD;
    if (c == '#' && b->line_start && !b->directive) {
        begin_directive(b);
        return true;
    }
    if (c != '/') b->line_start = 0;
    switch (c) {
    case '/':
        b->slash = 1;
        b->head = is_head(head) ? head : NO_HEAD; /* a comment may follow */
        return true;
    case ';': return semicolon(b);
    case '"': go(b, word == RAW_PREFIX ? DELIMITER : STRING); return true;
    case '\'':
        if (word == NUMBER)
            b->word = NUMBER; /* 1'000'000 */
        else
            go(b, CHARACTER);
        return true;
    case '(': return open_bracket(b, is_head(head) ? HEADED : ROUND);
    case '[':
    case '{': return open_bracket(b, kind_of(c));
    case ')':
    case ']':
    case '}': return close_bracket(b, c);
    default: return true;
    }
}

static bool step_code(grammar_brackets *b, uint8_t c)
{
    bool slash = b->slash;

    b->slash = 0;
    if (slash && (c == '/' || c == '*')) {
        go(b, c == '/' ? LINE_COMMENT : BLOCK_COMMENT);
        return true;
    }
    if (slash) b->line_start = 0;
    if (c == '\n') return end_line(b);
    if (c == '\\') {
        b->escape = 1;
        return true;
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        b->word = NO_WORD;
        if (!is_head(b->head)) b->head = NO_HEAD;
        return true;
    }
    if (!is_word(c)) return step_other(b, c);
    b->head = head_with(b->word == NO_WORD ? NEW_HEAD : b->head, c);
    b->word = word_with(b->word, c);
    b->line_start = 0;
    return true;
}

/* ---- comments and literals ------------------------------------------------------------------- */

static bool step_comment(grammar_brackets *b, uint8_t c)
{
    if (b->mode == LINE_COMMENT) {
        if (c == '\n') return end_line(b);
        b->escape = c == '\\';
        return true;
    }
    if (b->star && c == '/')
        go(b, CODE);
    else
        b->star = c == '*';
    return true;
}

static bool step_literal(grammar_brackets *b, uint8_t c)
{
    if (c == '\n') return end_line(b);
    if (c == (b->mode == STRING ? '"' : '\''))
        go(b, CODE);
    else
        b->escape = c == '\\';
    return true;
}

/* Between R" and its bracket; what cannot be a delimiter makes it a string like any other. */
static bool step_delimiter(grammar_brackets *b, uint8_t c)
{
    if (c == '(') {
        b->mode = RAW;
        return true;
    }
    if (c == ' ' || c == ')' || c == '\\' || c == '"' || c < ' ' ||
        b->delimiter_n == BRACKETS_DELIMITER)
    {
        go(b, STRING);
        return step_literal(b, c);
    }
    b->delimiter[b->delimiter_n++] = c;
    return true;
}

/* b->at: how much of the end, ) delimiter ", has come. */
static bool step_raw(grammar_brackets *b, uint8_t c)
{
    if (b->at > 0 && b->at <= b->delimiter_n && c == b->delimiter[b->at - 1])
        b->at++;
    else if (b->at == b->delimiter_n + 1 && c == '"')
        go(b, CODE);
    else
        b->at = c == ')';
    return true;
}

/* ---- the automaton --------------------------------------------------------------------------- */

/* What a backslash does: in literals it takes any byte with it, elsewhere the end of a line. True:
 * the byte is done with. */
static bool escaped(grammar_brackets *b, uint8_t c)
{
    if (!b->escape || c == '\r') return b->escape;
    b->escape = 0;
    return c == '\n' || b->mode == STRING || b->mode == CHARACTER;
}

static bool step(grammar_state *s, uint8_t c)
{
    grammar_brackets *b = &s->brackets;

    if (escaped(b, c)) return true;
    switch (b->mode) {
    case CODE: return step_code(b, c);
    case LINE_COMMENT:
    case BLOCK_COMMENT: return step_comment(b, c);
    case STRING:
    case CHARACTER: return step_literal(b, c);
    case DELIMITER: return step_delimiter(b, c);
    default: return step_raw(b, c);
    }
}

static size_t start(grammar_state *s, const hpc_grammar_rule *r, const char *prefix, size_t n)
{
    grammar_brackets *b = &s->brackets;
    unsigned open;

    b->tolerant = b->line_start = 1;
    for (size_t i = 0; i < n; i++) (void)step(s, (uint8_t)prefix[i]);
    b->tolerant = 0;
    b->balanced = r->balanced;
    b->begun_mode = b->mode != CODE;
    b->begun_directive = b->directive;
    b->home = b->low = b->depth;
    open = b->directive ? b->outside : b->depth;
    b->floor = r->closers < 0 || r->closers > open ? 0 : (uint16_t)(open - r->closers);
    return n;
}

static bool may_end(const grammar_state *s)
{
    const grammar_brackets *b = &s->brackets;

    if (!b->balanced) return true;
    return b->depth == b->home && !b->escape && (b->mode == CODE || b->begun_mode) &&
           (!b->directive || b->begun_directive);
}

/* Only closers, semicolons and too many openers are ever rejected; some modes never see their
 * end. */
static uint32_t any_of(const grammar_state *s, size_t most)
{
    const grammar_brackets *b = &s->brackets;
    uint32_t refused = BYTE_CLOSE | BYTE_SEMICOLON;

    if (b->depth + most > BRACKETS_MOST) refused |= BYTE_OPEN;
    switch (b->mode) {
    case LINE_COMMENT: refused = BYTE_LINE; break;
    case BLOCK_COMMENT: refused = BYTE_SLASH; break;
    case STRING: refused = BYTE_QUOTE | BYTE_LINE; break;
    case CHARACTER: refused = BYTE_TICK | BYTE_LINE; break;
    case RAW: refused = BYTE_QUOTE; break;
    default: break;
    }
    return BYTE_ANY & ~refused;
}

const grammar_kind grammar_brackets_kind = {.name = "text of balanced brackets",
                                            .start = start,
                                            .step = step,
                                            .may_end = may_end,
                                            .any_of = any_of};
