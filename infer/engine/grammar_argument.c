/*
 * grammar_argument.c: the argument of a clause in its parentheses, byte by byte.
 *
 * Before a colon, "map(to" may be the beginning of a modifier or of a list. Both are tracked, and a
 * byte is rejected if neither accepts it. Expressions are tokens and balanced brackets; apart from
 * the names in them (grammar_name.c), their meaning is not checked.
 */
#include "infer/engine/grammar_openmp.h"

#include <string.h>

enum part { OPEN, COLON, BODY, TAIL }; /* head, or none; after its possible colon */
enum head { NO_HEAD, HEAD, HEAD_WORD, HEAD_BLANK, HEAD_ARGUMENT, HEAD_CALLED, HEAD_MEMBER };
enum item { WANTED, NAME, BEHIND, QUALIFIED, ARROW, MEMBER };
/* kind of the last token of an expression; NOTHING: none yet */
enum solid { NOTHING, OPERAND, STAR, COLONS, OPENER, OPERATOR };
enum { NEST_MOST = 32, QUESTIONS_MOST = 15 };

/* ---- rows that begin with what has come ------------------------------------------------------ */

static const char *text_of(const openmp_rows *rows, unsigned k)
{
    return *(const char *const *)((const char *)rows->row + k * rows->row_bytes);
}

grammar_phrase openmp_phrase_begin(const openmp_rows *rows)
{
    return (grammar_phrase){.hi = rows->n};
}

static bool narrow(grammar_phrase *p, const openmp_rows *rows, char c)
{
    while (p->lo < p->hi && text_of(rows, p->lo)[p->at] != c) p->lo++;
    while (p->hi > p->lo && text_of(rows, p->hi - 1)[p->at] != c) p->hi--;
    p->at++;
    return p->lo < p->hi;
}

bool openmp_phrase_step(grammar_phrase *p, const openmp_rows *rows, uint8_t byte)
{
    bool there = byte != 0 && byte != ' ';

    if (there && p->gap) there = narrow(p, rows, ' ');
    p->gap = 0;
    if (!there || !narrow(p, rows, (char)byte)) *p = (grammar_phrase){0};
    return p->lo < p->hi;
}

bool openmp_phrase_is_whole(const grammar_phrase *p, const openmp_rows *rows)
{
    return p->lo < p->hi && text_of(rows, p->lo)[p->at] == 0;
}

static const openmp_form *form_of(const grammar_directive *d)
{
    return &openmp_forms[d->form];
}

static openmp_rows rows_of(const openmp_words *w)
{
    return (openmp_rows){w->word, sizeof *w->word, w->n};
}

static openmp_rows head_rows(const grammar_directive *d)
{
    return rows_of(&form_of(d)->head);
}

static const openmp_words *choice_words(const grammar_directive *d)
{
    return d->part == TAIL ? &form_of(d)->tail_words : &form_of(d)->words;
}

/* True if its identifiers are restricted. */
static bool is_spelled(const grammar_directive *d)
{
    return d->rule && d->body != BODY_CHOICE && d->body != BODY_ANYTHING && !form_of(d)->made_up;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static bool is_letter(uint8_t c)
{
    return grammar_class(c) == BYTE_WORD && (c < '0' || c > '9');
}

static bool is_word(uint8_t c)
{
    return grammar_class(c) == BYTE_WORD;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

/* ---- within brackets ------------------------------------------------------------------------- */

static unsigned bracket_kind(uint8_t c)
{
    return c == '(' || c == ')' ? 1 : c == '[' || c == ']' ? 2 : 3;
}

static bool open_bracket(grammar_directive *d, uint8_t c)
{
    if (d->nested == NEST_MOST || (c == '{' && d->body != BODY_ANYTHING)) return false;
    d->nest = d->nest << 2 | bracket_kind(c);
    d->nested++;
    d->solid = OPENER;
    d->slash = 0;
    return true;
}

/* Not allowed after an operator; (int *), a[:] and f() are accepted. */
static bool close_bracket(grammar_directive *d, uint8_t c)
{
    bool fits = d->solid == OPERAND || (d->solid == STAR && c == ')') ||
                (d->solid == COLONS && c == ']') || (d->solid == OPENER && c != ']');

    if ((d->nest & 3) != bracket_kind(c) || !fits) return false;
    d->nest >>= 2;
    d->nested--;
    d->solid = OPERAND;
    d->slash = 0;
    if (d->nested > 0) return true;
    if (d->head == HEAD_ARGUMENT) d->head = HEAD_CALLED;
    d->item = BEHIND;
    return true;
}

static bool step_quoted(grammar_directive *d, uint8_t c)
{
    if (d->escape) { /* of a string; of a line, or of \r\n there */
        d->escape = c == '\r';
        return c >= ' ' || c == '\n' || c == '\r';
    }
    if (c == '\\') {
        d->escape = 1;
        return true;
    }
    if (c == d->quote) {
        d->quote = 0;
        d->solid = OPERAND;
    }
    return c >= ' ' || c == '\t';
}

/* What may stand anywhere in an expression. Comments would hide what closes it. */
static bool step_token(grammar_directive *d, uint8_t c)
{
    bool slash = d->slash;

    d->slash = 0;
    if (is_blank(c)) return true;
    switch (grammar_class(c)) {
    case BYTE_WORD: d->solid = OPERAND; return true;
    case BYTE_QUOTE:
    case BYTE_TICK: d->quote = c; return true;
    case BYTE_OPERATOR:
        if (c != '.') d->solid = c == '&' ? STAR : OPERATOR;
        return true;
    case BYTE_STAR: d->solid = STAR; return !slash;
    case BYTE_SLASH:
        d->solid = OPERATOR;
        d->slash = 1;
        return !slash;
    case BYTE_COMMA: d->solid = OPERATOR; return true;
    case BYTE_COLON: d->solid = COLONS; return true;
    default: return false;
    }
}

static bool step_nested(grammar_directive *d, uint8_t c)
{
    uint32_t class = grammar_class(c);

    if (is_spelled(d) && !openmp_name_step(d, c)) return false;
    if (class == BYTE_OPEN) return open_bracket(d, c);
    if (class == BYTE_CLOSE) return close_bracket(d, c);
    return step_token(d, c);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static bool step_body(grammar_directive *d, uint8_t c);

static void begin_body(grammar_directive *d, uint8_t part, uint8_t body)
{
    d->part = part;
    d->body = body;
    d->item = WANTED;
    d->solid = NOTHING;
    d->slash = d->colon = d->questions = 0;
    d->word = (grammar_phrase){0};
    d->spelling = (grammar_spelling){0};
    if (body == BODY_CHOICE) {
        openmp_rows rows = rows_of(choice_words(d));
        d->word = openmp_phrase_begin(&rows);
    }
}

static void end_head(grammar_directive *d)
{
    d->head = NO_HEAD;
    d->name = (grammar_phrase){0};
    d->identifier = 0;
}

static bool begin_tail(grammar_directive *d)
{
    const openmp_form *f = form_of(d);

    if (d->part == TAIL || f->tail == BODY_NONE) return false;
    end_head(d);
    begin_body(d, TAIL, f->tail);
    return true;
}

static bool tail_behind_colon(grammar_directive *d, uint8_t c)
{
    return !form_of(d)->tail_comma && begin_tail(d) && step_body(d, c);
}

static bool begin_name(grammar_directive *d, uint8_t c)
{
    if (!is_letter(c)) return false;
    d->item = NAME;
    return true;
}

static bool behind_name(grammar_directive *d, uint8_t c)
{
    d->item = BEHIND;
    if (is_blank(c)) return true;
    if (c == ',') d->item = WANTED;
    if (c == ':') d->item = QUALIFIED;
    if (c == ',') return !form_of(d)->single;
    if (c == ':' || d->body == BODY_NAMES) return c == ':';
    if (c == '.') d->item = MEMBER;
    if (c == '-') d->item = ARROW;
    return c == '[' ? open_bracket(d, c) : c == '.' || c == '-';
}

static bool step_list(grammar_directive *d, uint8_t c)
{
    switch (d->item) {
    case WANTED:
        if (is_blank(c)) return true;
        if (d->body == BODY_PLACES && c == '*') return true;
        if (d->body == BODY_PLACES && c == '(') return open_bracket(d, c);
        return begin_name(d, c);
    case NAME: return is_word(c) || behind_name(d, c);
    case BEHIND: return behind_name(d, c);
    case ARROW: d->item = MEMBER; return c == '>';
    case MEMBER: return is_blank(c) || begin_name(d, c);
    default: /* QUALIFIED */ d->item = MEMBER; return c == ':' || tail_behind_colon(d, c);
    }
}

static bool step_expression(grammar_directive *d, uint8_t c);

/* The colon before c was one of a ::, of a ?:, or the tail's. */
static bool resolve_colon(grammar_directive *d, uint8_t c)
{
    bool behind_operand = d->colon == 2;

    d->colon = 0;
    if (c == ':') return true;
    if (!behind_operand) return false;
    if (d->questions == 0) return tail_behind_colon(d, c);
    d->questions--;
    return step_expression(d, c);
}

static bool step_expression(grammar_directive *d, uint8_t c)
{
    if (d->colon) return resolve_colon(d, c);
    switch (c) {
    case '[':
        if (d->solid != OPERAND) return false;
        return open_bracket(d, c);
    case '(': return open_bracket(d, c);
    case ',':
        if (d->body != BODY_EXPRESSIONS || d->solid != OPERAND || d->questions) return false;
        d->solid = NOTHING;
        d->slash = 0;
        return true;
    case ':':
        d->colon = d->solid == OPERAND ? 2 : 1;
        d->solid = COLONS;
        d->slash = 0;
        return true;
    case '?':
        if (d->solid != OPERAND || d->questions == QUESTIONS_MOST) return false;
        d->questions++;
        return step_token(d, c);
    case '/':
    case '%':
    case '<':
    case '>':
    case '=':
    case '|':
    case '^': return d->solid == OPERAND || d->solid >= STAR ? step_token(d, c) : false;
    default: return step_token(d, c);
    }
}

static bool step_choice(grammar_directive *d, uint8_t c)
{
    const openmp_form *f = form_of(d);
    openmp_rows rows = rows_of(choice_words(d));

    if (is_blank(c)) {
        if (d->item == NAME) d->item = BEHIND;
        return d->item == WANTED || openmp_phrase_is_whole(&d->word, &rows);
    }
    if (c == ',' || c == ':')
        return f->tail_comma == (c == ',') && openmp_phrase_is_whole(&d->word, &rows) &&
               (choice_words(d)->word[d->word.lo].flags & WORD_ARGUMENT) && begin_tail(d);
    if (d->item == BEHIND) return false;
    d->item = NAME;
    return openmp_phrase_step(&d->word, &rows, c);
}

static bool step_body(grammar_directive *d, uint8_t c)
{
    if (is_spelled(d) && !openmp_name_step(d, c)) return false;
    switch (d->body) {
    case BODY_NAMES:
    case BODY_PLACES: return step_list(d, c);
    case BODY_EXPRESSION:
    case BODY_EXPRESSIONS: return step_expression(d, c);
    case BODY_CHOICE: return step_choice(d, c);
    case BODY_ANYTHING:
        return grammar_class(c) == BYTE_OPEN ? open_bracket(d, c) : step_token(d, c);
    default: return false;
    }
}

static bool body_is_whole(const grammar_directive *d)
{
    openmp_rows rows;

    if (is_spelled(d) && !openmp_name_is_whole(d)) return false;
    switch (d->body) {
    case BODY_NAMES:
    case BODY_PLACES: return d->item == NAME || d->item == BEHIND;
    case BODY_EXPRESSION:
    case BODY_EXPRESSIONS: return d->solid == OPERAND && !d->colon && !d->questions;
    case BODY_ANYTHING: return d->solid == OPERAND;
    case BODY_CHOICE:
        rows = rows_of(choice_words(d));
        return openmp_phrase_is_whole(&d->word, &rows);
    default: return false;
    }
}

/* ---- heads ----------------------------------------------------------------------------------- */

static bool is_in_name(const char *name, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = strstr(name, word); at; at = strstr(at + 1, word))
        if ((at == name || at[-1] == ' ') && (at[n] == 0 || at[n] == ' ')) return true;
    return false;
}

/* An unknown word is not a variable either. */
static bool takes_any_head(const grammar_directive *d)
{
    return form_of(d)->head_any && (!d->rule || form_of(d)->body == BODY_ANYTHING);
}

static bool fits(const grammar_directive *d, uint8_t row)
{
    const openmp_form *f = form_of(d);
    return !f->head_named ||
           is_in_name(openmp_directives[d->directive].text, f->head.word[row].text);
}

/* Of the rows that begin with what has come, those at both ends fit. */
static bool step_head_phrase(grammar_directive *d, grammar_phrase *p, uint8_t c)
{
    openmp_rows rows = head_rows(d);

    openmp_phrase_step(p, &rows, c);
    while (p->lo < p->hi && !fits(d, p->lo)) p->lo++;
    while (p->hi > p->lo && !fits(d, (uint8_t)(p->hi - 1))) p->hi--;
    if (p->lo == p->hi) *p = (grammar_phrase){0};
    return p->lo < p->hi;
}

/* Of the word that has come. One that is known is no other identifier. */
static uint8_t head_flags(const grammar_directive *d)
{
    openmp_rows rows = head_rows(d);

    if (d->head == HEAD_CALLED) return d->flags;
    if (d->head != HEAD_WORD && d->head != HEAD_BLANK) return 0;
    if (!openmp_phrase_is_whole(&d->name, &rows)) return d->identifier ? WORD_LAST : 0;
    return form_of(d)->head.word[d->name.lo].flags;
}

static bool begin_head_word(grammar_directive *d, uint8_t c)
{
    openmp_rows rows = head_rows(d);

    d->name = openmp_phrase_begin(&rows);
    d->identifier = takes_any_head(d) && is_letter(c);
    d->head = HEAD_WORD;
    return step_head_phrase(d, &d->name, c) || d->identifier;
}

static bool go_on_with_head_word(grammar_directive *d, uint8_t c)
{
    d->identifier = d->identifier && is_word(c);
    return step_head_phrase(d, &d->name, c) || d->identifier;
}

/* After a word and optional blanks: another word of the same phrase, or another phrase. */
static bool head_word_again(grammar_directive *d, uint8_t c, uint8_t flags)
{
    grammar_phrase longer = d->name;

    longer.gap = 1;
    if (d->head == HEAD_BLANK && step_head_phrase(d, &longer, c)) {
        d->name = longer;
        d->identifier = 0;
        d->head = HEAD_WORD;
        return true;
    }
    return (flags & WORD_BEFORE) && begin_head_word(d, c);
}

static bool behind_head_word(grammar_directive *d, uint8_t c)
{
    uint8_t flags = head_flags(d);

    switch (c) {
    case ',':
        d->head = HEAD;
        d->name = (grammar_phrase){0};
        return flags & WORD_BEFORE;
    case ':':
        d->flags = flags;
        d->part = COLON;
        return flags & WORD_LAST;
    case '(':
        if (!(flags & WORD_ARGUMENT)) return false;
        begin_body(d, OPEN, BODY_NONE);
        d->flags = flags;
        d->head = HEAD_ARGUMENT;
        return open_bracket(d, c);
    default: return head_word_again(d, c, flags);
    }
}

static bool goes_on_with_blank(const grammar_directive *d)
{
    openmp_rows rows = head_rows(d);
    grammar_phrase p = d->name;

    return narrow(&p, &rows, ' ');
}

static bool step_head(grammar_directive *d, uint8_t c)
{
    bool ends = is_blank(c) || c == ',' || c == ':' || c == '(';

    switch (d->head) {
    case HEAD: return is_blank(c) || begin_head_word(d, c);
    case HEAD_MEMBER:
        d->name = (grammar_phrase){0};
        d->identifier = 1;
        if (!is_blank(c)) d->head = HEAD_WORD;
        return is_blank(c) || is_letter(c);
    case HEAD_WORD:
        if (!ends) return go_on_with_head_word(d, c);
        if (!is_blank(c)) return behind_head_word(d, c);
        d->head = HEAD_BLANK;
        return head_flags(d) || goes_on_with_blank(d);
    case HEAD_BLANK:
    case HEAD_CALLED: return is_blank(c) || behind_head_word(d, c);
    default: return false;
    }
}

/* ---- the argument ---------------------------------------------------------------------------- */

void openmp_argument_begin(grammar_directive *d, uint8_t form)
{
    d->form = form;
    const openmp_form *f = form_of(d);
    d->head = f->head.n > 0 ? HEAD : NO_HEAD;
    d->name = (grammar_phrase){0};
    d->flags = d->identifier = 0;
    begin_body(d, OPEN, f->head_must ? BODY_NONE : f->body);
}

static bool is_whole(const grammar_directive *d)
{
    if (d->part == COLON) return d->flags & WORD_EMPTY;
    if (d->part == OPEN && head_flags(d) & WORD_ALONE) return true;
    if (d->part == BODY && d->flags & WORD_EMPTY && d->solid == NOTHING) return true;
    return body_is_whole(d);
}

static bool close_argument(grammar_directive *d)
{
    if (!is_whole(d)) return false;
    end_head(d);
    begin_body(d, OPEN, BODY_NONE);
    d->form = d->flags = 0;
    return true;
}

/* The head's colon precedes c. But :: is one token, and the name before it is qualified. If the
 * first colon is accepted in the body, so is the second. */
static bool behind_colon(grammar_directive *d, uint8_t c)
{
    bool names = takes_any_head(d);

    if (c != ':') {
        end_head(d);
        begin_body(d, BODY, d->flags & WORD_VECTOR ? BODY_EXPRESSIONS : form_of(d)->body);
        return step_body(d, c);
    }
    if (!names) end_head(d);
    d->part = OPEN;
    d->flags = 0;
    if (names) d->head = HEAD_MEMBER;
    if (d->body && step_body(d, c)) return true;
    begin_body(d, OPEN, BODY_NONE);
    return names;
}

bool openmp_argument_step(grammar_directive *d, uint8_t c, bool *closed)
{
    *closed = false;
    if (d->quote) return step_quoted(d, c);
    if (d->nested > 0) return step_nested(d, c);
    if (c == ')') {
        *closed = close_argument(d);
        return *closed;
    }
    if (d->part == COLON) return behind_colon(d, c);
    if (d->part != OPEN || !d->head) return step_body(d, c);

    grammar_directive body = *d;
    bool in_body = d->body && step_body(&body, c), in_head = step_head(d, c);
    if (in_body && !in_head) {
        *d = body;
        if (d->part == OPEN) end_head(d);
        return true;
    }
    if (in_body && d->head != HEAD_ARGUMENT) {
        d->body = body.body, d->item = body.item, d->word = body.word, d->solid = body.solid;
        d->slash = body.slash, d->colon = body.colon, d->questions = body.questions;
        d->spelling = body.spelling;
        hpc_assert(body.part == OPEN && body.nested == 0 && body.quote == 0);
    } else if (in_head && d->head != HEAD_ARGUMENT) {
        begin_body(d, d->part, BODY_NONE);
    }
    return in_head;
}

/* What any mix of bytes does not get out of. */
uint32_t openmp_argument_any_of(const grammar_directive *d)
{
    const uint32_t expression = BYTE_WORD | BYTE_BLANK;

    if (d->escape) return 0;
    if (d->quote)
        return BYTE_ANY & ~(uint32_t)(BYTE_BACKSLASH | BYTE_CONTROL | BYTE_LINE |
                                      (d->quote == '"' ? BYTE_QUOTE : BYTE_TICK));
    if (d->nested > 0 && is_spelled(d)) return openmp_name_any_of(d);
    if (d->nested > 0)
        return d->slash ? expression
                        : expression | BYTE_OPERATOR | BYTE_STAR | BYTE_COMMA | BYTE_COLON;
    if (d->part == COLON) return 0;
    if (d->head == HEAD_WORD && d->identifier) return BYTE_WORD;
    if (is_spelled(d)) return openmp_name_any_of(d);
    switch (d->body) {
    case BODY_NAMES:
    case BODY_PLACES: return d->item == NAME ? BYTE_WORD : 0;
    case BODY_EXPRESSION:
    case BODY_EXPRESSIONS: return d->colon ? 0 : expression;
    case BODY_ANYTHING: return expression;
    default: return 0;
    }
}
