/*
 * context_chunk.c: cuts a file into chunks of context: functions with the comment before them,
 * pieces of long functions, and groups of declarations. Lists the names in each.
 *
 * Comments at the top of a file are omitted. Short chunks are joined with the next one.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "infer/complete/context_priv.h"

enum {
    LINES_FEW = 12,  /* so many go together */
    LINES_MOST = 64, /* of a chunk */
    LINES_CUT = 32,  /* of declarations without a blank line, and the least of a piece */
    NOTHING = 0,
    PART = 1, /* something begins that may stand alone */
    ENDS = 2  /* and is not joined to what stands before it */
};

typedef struct cutter {
    context_file *f;
    context_scratch *s;
    const context_words *w;
    int64_t first; /* line after the comments at the top */
} cutter;

/* ---- lines -------------------------------------------------------------------------------- */

static int find_lines(cutter *x)
{
    context_scratch *s = x->s;
    const hpc_buf *text = &x->f->text;
    int rc = HPC_OK;
    s->line_n = 0;
    for (size_t at = 0; at < text->n;) {
        TRY(hpc_grow(&s->line, &s->line_cap, s->line_n + 2, sizeof *s->line));
        s->line[s->line_n++] = (uint32_t)at;
        const char *end = memchr(text->data + at, '\n', text->n - at);
        at = end ? (size_t)(end - text->data) + 1 : text->n;
        s->line[s->line_n] = (uint32_t)at;
    }
    TRY(hpc_grow(&s->breaks, &s->breaks_cap, s->line_n + 1, 1));
    memset(s->breaks, NOTHING, (size_t)s->line_n + 1);
out:
    return rc;
}

static int64_t line_of(const context_scratch *s, uint32_t at)
{
    int64_t low = 0, high = s->line_n - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (s->line[middle] <= at)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static bool is_blank(const cutter *x, int64_t line)
{
    const context_scratch *s = x->s;
    const char *text = x->f->text.data;
    for (uint32_t k = s->line[line]; k < s->line[line + 1]; k++)
        if (!strchr(" \t\r\n\f\v", text[k]) || text[k] == '\0') return false;
    return true;
}

/* True if a chunk can end before a line: the previous line ends a construct. */
static bool ends_something(const cutter *x, int64_t line)
{
    const char *text = x->f->text.data;
    uint32_t k = x->s->line[line], begin = x->s->line[line - 1];
    while (k > begin && strchr(" \t\r\n\f\v", text[k - 1])) k--;
    return k == begin || strchr(";},", text[k - 1]) != NULL;
}

/* ---- where something begins --------------------------------------------------------------- */

/* The line at which the comments directly above a function begin, from `least` on. */
static int64_t above(const cutter *x, uint32_t at, int64_t least)
{
    const context_scratch *s = x->s;
    int64_t line = line_of(s, at), k = hpc_token_at(&s->tokens, at);
    while (k > 0 && s->tokens.item[k - 1].kind == HPC_TOKEN_COMMENT) {
        const hpc_token *c = &s->tokens.item[--k];
        int64_t from = line_of(s, c->at), to = line_of(s, c->at + c->n - 1);
        bool first = k == 0 || line_of(s, s->tokens.item[k - 1].at) < from;
        if (to + 1 < line || from < least || !first) break;
        line = from;
    }
    return line < least ? least : line;
}

/* Comments at the top tell of licences and of the file as a whole, but for those that stand
 * directly above what comes first. */
static int64_t first_behind_top(const cutter *x)
{
    const hpc_tokens *t = &x->s->tokens;
    int64_t k = 0;
    while (k < t->n && t->item[k].kind == HPC_TOKEN_COMMENT) k++;
    if (k == 0) return 0;
    if (k == t->n) return x->s->line_n;
    int64_t line = above(x, t->item[k].at, 0);
    return line > line_of(x->s, t->item[0].at) ? line : line_of(x->s, t->item[k].at);
}

/* Lines [from, to) between functions. */
static void break_declarations(const cutter *x, int64_t from, int64_t to)
{
    int64_t last = from;
    for (int64_t k = from + 1; k < to; k++) {
        bool blank = is_blank(x, k - 1) && !is_blank(x, k);
        bool long_one = k - last >= LINES_CUT && (ends_something(x, k) || k - last >= LINES_MOST);
        if (!blank && !long_one) continue;
        x->s->breaks[k] = PART;
        last = k;
    }
}

static void break_function(const cutter *x, int64_t from, int64_t to)
{
    int64_t last = from;
    x->s->breaks[from] |= PART;
    for (int64_t k = from + 1; k < to && to - last > LINES_MOST; k++) {
        bool blank = k - last >= LINES_CUT && is_blank(x, k - 1);
        if (!blank && k - last < LINES_MOST) continue;
        x->s->breaks[k] = PART | ENDS;
        last = k;
    }
}

static void find_breaks(cutter *x)
{
    context_scratch *s = x->s;
    const hpc_functions *f = &s->functions;
    int64_t at = x->first = first_behind_top(x);
    for (int64_t k = 0; k < f->n; k++) {
        int64_t end = line_of(s, f->item[k].end > 0 ? f->item[k].end - 1 : 0) + 1;
        if (end <= at) continue; /* in one that has been seen, or in its last line */
        int64_t from = above(x, f->item[k].at, at);
        if (from > at) break_declarations(x, at, from);
        break_function(x, from, end);
        if (end < s->line_n) s->breaks[end] |= PART;
        at = end;
    }
    if (at < s->line_n) break_declarations(x, at, s->line_n);
}

/* ---- names -------------------------------------------------------------------------------- */

typedef struct reader { /* of tokens, one after the other */
    cutter *x;
    int64_t k, function; /* the next token, and the first function with its name at or after it */
    uint32_t inside;     /* end of the functions with names before it */
    int depth;           /* of parentheses */
} reader;

static char byte_of(const cutter *x, int64_t k)
{
    return x->f->text.data[x->s->tokens.item[k].at];
}

static bool is_word(const cutter *x, int64_t k, const char *const *words)
{
    const hpc_token *t = &x->s->tokens.item[k];
    for (; *words; words++)
        if (t->n == strlen(*words) && strncasecmp(x->f->text.data + t->at, *words, t->n) == 0)
            return true;
    return false;
}

/* Among declarations, from the tokens before and after a name. */
static bool is_declared(const reader *r)
{
    static const char *const kinds[] = {"struct",  "class",     "union", "enum",
                                        "concept", "namespace", NULL};
    static const char *const units[] = {"subroutine", "function",  "module", "type",
                                        "program",    "interface", "::",     NULL};
    const cutter *x = r->x;
    const hpc_tokens *t = &x->s->tokens;
    char next = r->k + 1 < t->n ? byte_of(x, r->k + 1) : ';';
    if (next == '\0') return false;
    if (r->k > 0 && is_word(x, r->k - 1, kinds)) return strchr("{:;=", next) != NULL;
    if (r->k > 0 && x->f->language == HPC_LANGUAGE_FORTRAN && is_word(x, r->k - 1, units))
        return true;
    bool typed = r->k > 0 && (t->item[r->k - 1].kind == HPC_TOKEN_NAME ||
                              strchr("*&>,{:~", byte_of(x, r->k - 1)));
    return typed && strchr("(;=[,}", next) != NULL; /* and no use of it: x = f(y) */
}

/* Names of functions are defined at their own position; the rest of a function declares nothing. */
static bool is_defined(reader *r, const hpc_token *t)
{
    static const char *const define[] = {"define", NULL};
    const hpc_functions *f = &r->x->s->functions;
    for (; r->function < f->n; r->function++) {
        const hpc_function *g = &f->item[r->function];
        if (t->at < g->name_at + g->name_n) break;
        if (g->end > r->inside) r->inside = g->end;
    }
    const hpc_function *next = r->function < f->n ? &f->item[r->function] : NULL;
    if (next && t->at + t->n == next->name_at + next->name_n) return true;
    if (t->at < r->inside) return false;
    if (t->flags & HPC_TOKEN_IN_DIRECTIVE) return r->k > 0 && is_word(r->x, r->k - 1, define);
    return r->depth == 0 && is_declared(r);
}

static int order_names(const void *a, const void *b)
{
    const context_name *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (int)y->defined - (int)x->defined;
}

/* Each name once, as defined if it is anywhere. */
static void sort_names(context_file *f, context_chunk *c)
{
    int64_t n = f->name_n - c->name, kept = 0;
    context_name *name = n > 0 ? f->name + c->name : NULL;
    if (n > 1) qsort(name, (size_t)n, sizeof *name, order_names);
    for (int64_t k = 0; k < n; k++)
        if (kept == 0 || name[kept - 1].hash != name[k].hash) name[kept++] = name[k];
    c->name_n = (uint32_t)kept;
    f->name_n = c->name + kept;
}

static int add_name(reader *r, const hpc_token *t)
{
    context_file *f = r->x->f;
    if (t->n < 2 || context_words_has(r->x->w, t->hash)) return HPC_OK;
    int rc = hpc_grow(&f->name, &f->name_cap, f->name_n + 1, sizeof *f->name);
    if (rc >= 0)
        f->name[f->name_n++] = (context_name){.hash = t->hash, .defined = is_defined(r, t)};
    return rc;
}

static int read_names(reader *r, context_chunk *c)
{
    const hpc_tokens *t = &r->x->s->tokens;
    int rc = HPC_OK;
    c->name = (uint32_t)r->x->f->name_n;
    for (; r->k < t->n && t->item[r->k].at < c->at + c->n; r->k++) {
        const hpc_token *k = &t->item[r->k];
        char byte = byte_of(r->x, r->k);
        if (k->kind == HPC_TOKEN_NEWLINE || (k->kind == HPC_TOKEN_PUNCT && byte == ';'))
            r->depth = 0;
        else if (k->kind == HPC_TOKEN_PUNCT && (byte == '(' || byte == ')'))
            r->depth += byte == '(' ? 1 : r->depth > 0 ? -1 : 0;
        else if (k->kind == HPC_TOKEN_NAME && k->at >= c->at)
            TRY(add_name(r, k));
    }
    sort_names(r->x->f, c);
out:
    return rc;
}

/* ---- chunks ------------------------------------------------------------------------------- */

static int add_chunk(reader *r, int64_t from, int64_t to)
{
    context_file *f = r->x->f;
    const uint32_t *line = r->x->s->line;
    int rc = HPC_OK;
    while (from < to && is_blank(r->x, from)) from++;
    while (from < to && is_blank(r->x, to - 1)) to--;
    context_chunk c = {.at = line[from], .n = line[to] - line[from], .line = (uint32_t)from + 1};
    if (from == to) return rc;
    TRY(read_names(r, &c));
    if (c.name_n == 0) goto out;
    c.hash = hpc_hash_wide(f->text.data + c.at, c.n);
    TRY(hpc_grow(&f->chunk, &f->chunk_cap, f->chunk_n + 1, sizeof *f->chunk));
    f->chunk[f->chunk_n++] = c;
out:
    return rc;
}

int context_chunks_find(context_file *f, context_scratch *s, const context_words *w)
{
    cutter x = {.f = f, .s = s, .w = w};
    reader r = {.x = &x};
    int rc;
    TRY(find_lines(&x));
    if (s->line_n == 0) goto out;
    find_breaks(&x);
    int64_t from = x.first, part = x.first; /* of the chunk, and of its last part */
    for (int64_t k = x.first + 1; k <= s->line_n; k++) {
        if (k < s->line_n && s->breaks[k] == NOTHING) continue;
        bool joins = k - from <= LINES_FEW && !(s->breaks[part] & ENDS);
        if (!joins && part > from) {
            TRY(add_chunk(&r, from, part));
            from = part;
        }
        part = k;
    }
    if (from < s->line_n) TRY(add_chunk(&r, from, s->line_n));
out:
    return rc;
}
