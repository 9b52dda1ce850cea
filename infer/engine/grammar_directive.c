/*
 * grammar_directive.c: one OpenMP directive, byte by byte: its name, then clauses.
 *
 * A word after "parallel for" may continue the name (simd) or be a clause (shared). Both are
 * tracked until one remains. The state has the clauses that may still occur, so a byte is rejected
 * as soon as no allowed word has it. Conflicts between clauses, and variables that are named twice,
 * are not detected.
 */
#include "infer/engine/grammar_openmp.h"

#include <string.h>

enum phase { INDENT, SENTINEL, WORD, BETWEEN, ARGUMENT, RETURN, DONE };
/* The last element between words. PART: of a name that may continue. */
enum last { NOTHING, PART, NAME, CLAUSE, CLOSED, COMMA };

static const openmp_word sentinels[] = {{"pragma omp", 0}};
static const openmp_rows sentinel_rows = {sentinels, sizeof *sentinels, 1};

static openmp_rows directive_rows(void)
{
    return (openmp_rows){openmp_directives, sizeof *openmp_directives, openmp_directive_n};
}

static openmp_rows clause_rows(void)
{
    return (openmp_rows){openmp_clauses, sizeof *openmp_clauses, openmp_clause_n};
}

/* ---- which clauses may come ------------------------------------------------------------------ */

static bool is_open(const grammar_directive *d, unsigned clause)
{
    return d->open[clause / 64] >> clause % 64 & 1;
}

static void spend(grammar_directive *d, unsigned clause)
{
    d->open[clause / 64] &= ~((uint64_t)1 << clause % 64);
}

/* Of the clauses that begin with what has come, those at both ends may come. */
static bool trim(grammar_directive *d)
{
    grammar_phrase *p = &d->word;

    while (p->lo < p->hi && !is_open(d, p->lo)) p->lo++;
    while (p->hi > p->lo && !is_open(d, p->hi - 1u)) p->hi--;
    if (p->lo == p->hi) *p = (grammar_phrase){0};
    return p->lo < p->hi;
}

static void take_clause(grammar_directive *d, uint8_t k)
{
    const openmp_directive *of = &openmp_directives[d->directive];
    uint8_t group = openmp_clauses[k].group;
    bool is_if = openmp_clauses[k].form == OPENMP_IF;

    d->clause = k;
    for (unsigned i = 0; i < sizeof of->needs && of->needs[i]; i++)
        if (of->needs[i] == k + 1 || of->needs[i] == OPENMP_ANY_CLAUSE) d->met = 1;
    for (unsigned c = 0; group && c < openmp_clause_n; c++)
        if (openmp_clauses[c].group == group) spend(d, c);
    d->ifs += is_if;
    if (openmp_clause_most(d->directive, k) <= (is_if ? d->ifs : 1)) spend(d, k);
}

static void take_name(grammar_directive *d, uint8_t k)
{
    d->directive = k;
    d->met = openmp_directives[k].needs[0] == 0;
    openmp_clauses_of(d->open, k);
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool begin_word(grammar_directive *d, uint8_t c)
{
    bool name = d->last <= NAME, clause = d->last >= NAME;
    openmp_rows names = directive_rows(), clauses = clause_rows();

    if (d->last == NOTHING) d->name = openmp_phrase_begin(&names);
    d->name.gap = d->last == PART || d->last == NAME;
    name = name && openmp_phrase_step(&d->name, &names, c);
    if (!name) d->name = (grammar_phrase){0};
    d->word = openmp_phrase_begin(&clauses);
    clause = clause && openmp_phrase_step(&d->word, &clauses, c) && trim(d);
    if (!clause) d->word = (grammar_phrase){0};
    d->phase = WORD;
    return name || clause;
}

static bool go_on_with_word(grammar_directive *d, uint8_t c)
{
    openmp_rows names = directive_rows(), clauses = clause_rows();
    bool name = openmp_phrase_step(&d->name, &names, c);
    bool clause = openmp_phrase_step(&d->word, &clauses, c) && trim(d);

    return name || clause;
}

/* c is of no word: it ends one. */
static bool end_word(grammar_directive *d)
{
    openmp_rows names = directive_rows(), clauses = clause_rows();
    grammar_phrase longer = d->name;
    uint8_t name = d->name.lo, clause = d->word.lo;
    bool is_name = openmp_phrase_is_whole(&d->name, &names);
    bool is_clause = openmp_phrase_is_whole(&d->word, &clauses);

    d->phase = BETWEEN;
    d->word = (grammar_phrase){0};
    if (is_name) {
        take_name(d, name);
        d->last = NAME;
        return true;
    }
    while (longer.lo < longer.hi && openmp_directives[longer.lo].text[longer.at] != ' ')
        longer.lo++;
    d->name = longer.lo < longer.hi ? longer : (grammar_phrase){0};
    d->last = PART;
    if (d->name.hi > 0) return true;
    if (is_clause) take_clause(d, clause);
    d->last = CLAUSE;
    return is_clause;
}

/* ---- between words --------------------------------------------------------------------------- */

/* Of the name or the clause that came last. */
static uint8_t form_of_last(const grammar_directive *d)
{
    if (d->last == NAME) return openmp_directives[d->directive].form;
    return d->last == CLAUSE ? openmp_clauses[d->clause].form : OPENMP_NO_FORM;
}

static bool lacks_argument(const grammar_directive *d)
{
    uint8_t form = form_of_last(d);

    return form != OPENMP_NO_FORM && !openmp_forms[form].optional;
}

static bool may_end_line(const grammar_directive *d)
{
    return (d->last == NAME || d->last == CLAUSE || d->last == CLOSED) && d->met &&
           !lacks_argument(d);
}

static bool step_between(grammar_directive *d, uint8_t c)
{
    uint8_t form = form_of_last(d);

    switch (c) {
    case ' ':
    case '\t': return true;
    case '\r': d->phase = RETURN; return may_end_line(d);
    case '\n': d->phase = DONE; return may_end_line(d);
    case ',':
        if (d->last < NAME || d->last == COMMA || lacks_argument(d)) return false;
        d->last = COMMA;
        d->name = (grammar_phrase){0};
        return d->open[0] || d->open[1];
    case '(':
        d->phase = ARGUMENT;
        if (form != OPENMP_NO_FORM) openmp_argument_begin(d, form);
        return form != OPENMP_NO_FORM;
    default: return !lacks_argument(d) && begin_word(d, c);
    }
}

/* ---- the line -------------------------------------------------------------------------------- */

static bool step_sentinel(grammar_directive *d, uint8_t c)
{
    if (c == ' ' || c == '\t') {
        d->name.gap = d->name.at > 0;
        return true;
    }
    if (!d->name.gap || !openmp_phrase_is_whole(&d->name, &sentinel_rows))
        return openmp_phrase_step(&d->name, &sentinel_rows, c);
    d->name = (grammar_phrase){0};
    d->phase = BETWEEN;
    d->last = NOTHING;
    return step_between(d, c);
}

static bool step_argument(grammar_directive *d, uint8_t c)
{
    bool closed;

    if (!openmp_argument_step(d, c, &closed)) return false;
    if (!closed) return true;
    d->phase = BETWEEN;
    d->last = CLOSED;
    return true;
}

static bool is_word(uint8_t c)
{
    return grammar_class(c) == BYTE_WORD;
}

static bool step(grammar_state *s, uint8_t c)
{
    grammar_directive *d = &s->directive;

    if (d->escape && !d->quote) { /* a continued line: as if it had not ended */
        d->escape = c == '\r';
        return c == '\r' || c == '\n';
    }
    if (c == '\\' && !d->quote && d->phase != INDENT && d->phase < RETURN) {
        d->escape = 1;
        return true;
    }
    switch (d->phase) {
    case INDENT:
        if (c == '#') {
            d->phase = SENTINEL;
            d->name = openmp_phrase_begin(&sentinel_rows);
        }
        return c == '#' || c == ' ' || c == '\t';
    case SENTINEL: return step_sentinel(d, c);
    case WORD:
        if (is_word(c)) return go_on_with_word(d, c);
        return end_word(d) && step_between(d, c);
    case BETWEEN: return step_between(d, c);
    case ARGUMENT: return step_argument(d, c);
    case RETURN: d->phase = DONE; return c == '\n';
    default: return false;
    }
}

/* Start of the last line of the text, including the lines that it continues. */
static size_t last_line(const char *text, size_t n)
{
    size_t at = n;

    while (at > 0) {
        if (text[at - 1] == '\n') {
            size_t end = at - 1;
            if (end > 0 && text[end - 1] == '\r') end--;
            if (end == 0 || text[end - 1] != '\\') break;
        }
        at--;
    }
    return at;
}

static size_t start(grammar_state *s, const hpc_grammar_rule *r, const char *prefix, size_t n)
{
    size_t at = last_line(prefix, n);

    hpc_assert(!r->names || (r->names_n > 0 && r->names_n <= UINT16_MAX));
    s->directive.bare = r->bare;
    s->directive.rule = r->names ? r : NULL;
    return at + grammar_step_all(s, &grammar_directive_kind, prefix + at, n - at);
}

static bool may_end(const grammar_state *s)
{
    grammar_state end = *s;

    if (s->directive.phase == DONE) return true;
    return s->directive.bare && s->directive.phase != RETURN && step(&end, '\n') &&
           end.directive.phase == DONE;
}

static uint32_t any_of(const grammar_state *s, size_t most)
{
    (void)most;
    return s->directive.phase == ARGUMENT ? openmp_argument_any_of(&s->directive) : 0;
}

const grammar_kind grammar_directive_kind = {
    .name = "line of OpenMP", .start = start, .step = step, .may_end = may_end, .any_of = any_of};
