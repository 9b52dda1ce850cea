/*
 * pragma.c: interprets the words of an OpenMP or OpenACC directive, and formats a directive.
 * pragma_find.c finds directives in a text. Clauses are not validated, only spaced.
 */
#include "runtime/source/nest.h"

/* ---- the names of directives ------------------------------------------------------ */

enum {
    JOINS = 1,    /* may follow other words of a name */
    ANY_NEXT = 2, /* any word after it belongs to the name */
    BEHIND = 4,   /* may follow target, enter and exit */
    ALONE = 8,    /* of the kinds below, whichever comes first decides */
    DATA = 16,
    CLOSE = 32,
    ATOMIC = 64,
    REGION = 128,
    BLOCK = 256,
    CHOICE = 512
};

typedef struct directive_word {
    const char *name;
    uint32_t bit;
    unsigned is;
} directive_word;

/* Where one begins like another, the longer stands first, so that "endparalleldo" splits. */
static const directive_word known[] = {
    {"parallel", HPC_OMP_PARALLEL, JOINS | BLOCK},
    {"for", HPC_OMP_FOR, JOINS},
    {"do", HPC_OMP_FOR, JOINS},
    {"simd", HPC_OMP_SIMD, JOINS},
    {"target", HPC_OMP_TARGET, JOINS | BLOCK},
    {"teams", HPC_OMP_TEAMS, JOINS | BLOCK},
    {"distribute", HPC_OMP_DISTRIBUTE, JOINS},
    {"taskloop", HPC_OMP_TASKLOOP, JOINS},
    {"loop", HPC_OMP_LOOP, JOINS},
    {"sections", HPC_OMP_SECTIONS, JOINS | REGION},
    {"kernels", HPC_ACC_KERNELS, JOINS | BLOCK},
    {"masked", HPC_OMP_MASKED, JOINS},
    {"master", HPC_OMP_MASKED, JOINS},
    {"workshare", HPC_OMP_OTHER, JOINS | REGION},
    {"tile", HPC_OMP_TILE_UNROLL, 0},
    {"unroll", HPC_OMP_TILE_UNROLL, 0},
    {"reverse", HPC_OMP_TILE_UNROLL, 0},
    {"interchange", HPC_OMP_TILE_UNROLL, 0},
    {"stripe", HPC_OMP_TILE_UNROLL, 0},
    {"fuse", HPC_OMP_TILE_UNROLL, 0},
    {"end", HPC_OMP_OTHER, ANY_NEXT | CLOSE},
    {"data", HPC_OMP_OTHER, BEHIND | DATA},
    {"host_data", HPC_OMP_OTHER, DATA},
    {"serial", HPC_OMP_OTHER, JOINS | BLOCK},
    {"metadirective", HPC_OMP_OTHER, CHOICE},
    {"single", HPC_OMP_OTHER, REGION},
    {"critical", HPC_OMP_OTHER, REGION},
    {"taskgroup", HPC_OMP_OTHER, REGION},
    {"task", HPC_OMP_OTHER, REGION},
    {"ordered", HPC_OMP_OTHER, REGION},
    {"scope", HPC_OMP_OTHER, REGION},
    {"atomic", HPC_OMP_OTHER, ATOMIC},
    {"declare", HPC_OMP_OTHER, ANY_NEXT | ALONE},
    {"begin", HPC_OMP_OTHER, ANY_NEXT | ALONE},
    {"cancel", HPC_OMP_OTHER, ANY_NEXT | ALONE},
    {"cancellation", HPC_OMP_OTHER, ANY_NEXT | ALONE},
    {"point", HPC_OMP_OTHER, ALONE},
    {"enter", HPC_OMP_OTHER, BEHIND | ALONE},
    {"exit", HPC_OMP_OTHER, BEHIND | ALONE},
    {"update", HPC_OMP_OTHER, BEHIND | ALONE},
};

static bool same(const char *p, const char *name, size_t n, bool fold)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t c = (uint8_t)p[i];
        if ((fold ? hpc_byte_lower(c) : c) != (uint8_t)name[i]) return false;
    }
    return true;
}

/* The word that p[0..n) is, or with `split` begins with; NULL when none. */
static const directive_word *find(const char *p, size_t n, bool fold, bool split)
{
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        size_t m = strlen(known[k].name);
        if ((split ? m <= n : m == n) && same(p, known[k].name, m, fold)) return &known[k];
    }
    return NULL;
}

typedef struct name_state {
    uint32_t words;
    unsigned is, last; /* of all words so far, of the one before */
    int n;
} name_state;

static bool takes(name_state *s, const directive_word *w)
{
    bool behind = (w->is & BEHIND) && ((s->words & HPC_OMP_TARGET) || (s->last & BEHIND));
    bool fits = s->n == 0 || (s->is & ANY_NEXT) || behind || (w->is & JOINS);
    if (!fits) return false;
    s->words |= w->bit;
    s->is |= w->is;
    s->last = w->is;
    s->n++;
    return true;
}

/* Words of Fortran written as one, "endparalleldo"; leaves *s unchanged otherwise. */
static bool takes_glued(name_state *s, const char *p, size_t n)
{
    name_state now = *s;
    while (n > 0) {
        const directive_word *w = find(p, n, true, true);
        if (!w || !takes(&now, w)) return false;
        p += strlen(w->name);
        n -= strlen(w->name);
    }
    *s = now;
    return true;
}

/* True for tokens that are not written outside parentheses: commas between clauses, continuations
 * that lead nowhere, and bytes that would end the line. */
static bool is_silent(const hpc_token *t, const char *text, bool fortran)
{
    if (!hpc_token_is_code(t) || t->n == 0) return true;
    char c = text[t->at];
    return t->kind == HPC_TOKEN_PUNCT && t->n == 1 &&
           (c == ',' || c == '\0' || c == '\n' || c == '\r' || (fortran && c == '&'));
}

/* Reads the name that begins at token `first`; returns the index after it. */
static int64_t read_name(name_state *s, const hpc_token *item, int64_t first, int64_t last,
                         const char *text, bool fortran)
{
    int64_t k = first;
    *s = (name_state){0};
    for (; k < last; k++) {
        if (is_silent(&item[k], text, fortran)) continue;
        const char *p = text + item[k].at;
        size_t n = item[k].n;
        if (item[k].kind != HPC_TOKEN_NAME) break;
        const directive_word *w = find(p, n, fortran, false);
        bool taken = w ? takes(s, w) : fortran && takes_glued(s, p, n);
        if (!taken) break;
    }
    return k;
}

static bool is_word(const hpc_token *t, const char *text, const char *word)
{
    size_t n = strlen(word);
    return t->kind == HPC_TOKEN_NAME && t->n == n && same(text + t->at, word, n, true);
}

static hpc_pragma_kind kind_of(const name_state *s, bool waits)
{
    enum {
        FOR_LOOPS = HPC_OMP_FOR | HPC_OMP_SIMD | HPC_OMP_DISTRIBUTE | HPC_OMP_TASKLOOP |
                    HPC_OMP_LOOP | HPC_OMP_TILE_UNROLL
    };
    if (s->is & CLOSE) return HPC_PRAGMA_CLOSE;
    if (s->is & ALONE) return HPC_PRAGMA_ALONE;
    if (s->is & DATA) return HPC_PRAGMA_DATA;
    if (s->is & ATOMIC) return HPC_PRAGMA_ATOMIC;
    if (s->is & REGION) return waits ? HPC_PRAGMA_ALONE : HPC_PRAGMA_REGION;
    if (s->words & FOR_LOOPS || s->is & CHOICE) return HPC_PRAGMA_LOOP;
    if (s->is & BLOCK) return HPC_PRAGMA_BLOCK;
    return s->words & HPC_OMP_MASKED ? HPC_PRAGMA_REGION : HPC_PRAGMA_ALONE;
}

hpc_pragma_kind hpc_pragma_read(uint32_t *words, hpc_directive_api api, const hpc_token *item,
                                int64_t first, int64_t last, const char *text, bool fortran)
{
    name_state s;
    int64_t k = read_name(&s, item, first, last, text, fortran);
    /* "ordered depend(...)" orders iterations and holds no block. */
    bool waits =
        k < last && (is_word(&item[k], text, "depend") || is_word(&item[k], text, "doacross"));
    *words = s.words ? s.words : HPC_OMP_OTHER;
    if (api == HPC_DIRECTIVE_ACC && s.n == 0) return HPC_PRAGMA_ALONE;
    return kind_of(&s, waits);
}

hpc_directive_api hpc_pragma_api(const hpc_token *t, const char *text, bool fortran)
{
    if (t->kind != HPC_TOKEN_NAME || t->n != 3) return HPC_DIRECTIVE_NONE;
    if (same(text + t->at, "omp", 3, fortran)) return HPC_DIRECTIVE_OMP;
    return same(text + t->at, "acc", 3, fortran) ? HPC_DIRECTIVE_ACC : HPC_DIRECTIVE_NONE;
}

/* ---- what a _Pragma's strings say ---------------------------------------------------- */

/* The characters of one string without prefix, quotes and escapes. */
static void unquote(hpc_buf *out, const char *p, size_t n)
{
    const char *end = p + n, *quote = memchr(p, '"', n);
    if (!quote) return;
    bool raw = quote > p && quote[-1] == 'R';
    p = quote + 1;
    if (end > p && end[-1] == '"') end--;
    if (raw) {
        const char *open = memchr(p, '(', (size_t)(end - p));
        size_t tail = open ? (size_t)(open - p) + 1 : 0; /* ")" and the delimiter */
        if (open && (size_t)(end - open) > tail)
            hpc_buf_add(out, open + 1, (size_t)(end - open) - 1 - tail);
        return;
    }
    for (; p < end; p++) {
        if (*p == '\\' && p + 1 < end) p++;
        hpc_buf_add(out, p, 1);
    }
}

int hpc_pragma_unquote(hpc_tokens *words, hpc_buf *string, const hpc_token *item, int64_t first,
                       int64_t last, const char *text)
{
    string->n = 0;
    for (int64_t k = first; k < last; k++)
        if (item[k].kind == HPC_TOKEN_STRING) unquote(string, text + item[k].at, item[k].n);
    if (string->failed) return string->failed;
    return hpc_lex(words, string->n > 0 ? string->data : "", string->n, HPC_LANGUAGE_CPP, false);
}

/* ---- writing --------------------------------------------------------------------------- */

typedef struct writer {
    hpc_buf *out;
    const char *text;
    bool fortran;
    int64_t depth;     /* of parentheses */
    bool have;         /* something is written: */
    uint8_t last;      /* its last byte */
    uint8_t last_kind; /* its kind */
    bool dotted;       /* it begins with a point: ".and." */
    bool comma, open;  /* it is a comma; an opening bracket */
} writer;

static bool wordlike(uint8_t kind)
{
    return kind != HPC_TOKEN_PUNCT;
}

/* True if a and b together would read as one operator, or begin a comment. */
static bool sticks(uint8_t a, uint8_t b)
{
    switch (b) {
    case '=': return a && strchr("+-*/%&|^=!<>", a) != NULL;
    case '>': return a && strchr(">-=%:", a) != NULL;
    case '<': return a == '<';
    case ':': return a == ':' || a == '<' || a == '%';
    case '*': return a == '*' || a == '/' || a == '.' || a == '>';
    case '%': return a == '<';
    case '/': return a == '/' || a == '(';
    case ')': return a == '/';
    case '.': return a == '.';
    case '+':
    case '-':
    case '&':
    case '|':
    case '#': return a == b;
    default: return false;
    }
}

/* What a token may touch. */
static bool gap(const writer *w, const hpc_token *t, uint8_t c, bool bracket)
{
    if (!w->have) return true; /* after "#pragma omp" */
    bool name_before = wordlike(w->last_kind), name_now = wordlike(t->kind);
    if (name_before && name_now) return true;
    bool sticky = !name_before && !name_now && sticks(w->last, c);
    if (w->fortran && (w->dotted || (t->kind == HPC_TOKEN_PUNCT && c == '.'))) return true;
    if (w->depth == 0) return !bracket || sticky;
    if (w->comma) return true;
    /* "1 .x", "1e +2": the number would continue; "1 'x'" likewise. */
    if (w->last_kind == HPC_TOKEN_NUMBER && (c == '.' || c == '+' || c == '-'))
        return c == '.' || w->last == 'e' || w->last == 'E' || w->last == 'p' || w->last == 'P';
    if (t->kind == HPC_TOKEN_NUMBER && w->last == '.') return true;
    return sticky;
}

/* The spelling on one line: splices taken out, other line ends and blanks as blanks. */
static void spell(const writer *w, const hpc_token *t)
{
    const uint8_t *p = (const uint8_t *)w->text + t->at, *end = p + t->n;
    bool fold = w->fortran && t->kind != HPC_TOKEN_STRING && t->kind != HPC_TOKEN_CHARACTER;
    while (p < end) {
        const uint8_t *behind = *p == '\\' ? hpc_scan_splice(p, end) : NULL;
        if (behind) {
            p = behind;
            continue;
        }
        uint8_t c = fold ? hpc_byte_lower(*p) : *p;
        if (c == '\n' || c == '\r' || c == '\0') c = ' ';
        hpc_buf_add(w->out, &c, 1);
        p++;
    }
}

static void write_token(writer *w, const hpc_token *t)
{
    uint8_t c = t->n > 0 ? (uint8_t)w->text[t->at] : 0;
    bool punct = t->kind == HPC_TOKEN_PUNCT && t->n == 1;
    if (is_silent(t, w->text, w->fortran) && !(punct && c == ',' && w->depth > 0)) return;
    bool opens = punct && (c == '(' || c == '[' || c == '{');
    bool closes = punct && (c == ')' || c == ']' || c == '}');
    if (closes && w->depth > 0) w->depth--;
    bool tight = closes || opens || (punct && (c == ',' || c == ';'));
    if (gap(w, t, c, tight || w->open)) hpc_buf_text(w->out, " ");
    if (opens) w->depth++;
    spell(w, t);
    w->have = true;
    w->last = (uint8_t)w->text[t->at + t->n - 1];
    w->last_kind = t->kind;
    w->dotted = t->kind == HPC_TOKEN_PUNCT && c == '.';
    w->comma = punct && c == ',';
    w->open = opens;
}

static void write_tokens(writer *w, const hpc_token *item, int64_t first, int64_t last)
{
    name_state s;
    int64_t clauses = read_name(&s, item, first, last, w->text, w->fortran);
    for (int64_t k = first; k < last; k++) {
        hpc_token t = item[k];
        /* Words of Fortran written as one are parted. */
        while (k < clauses && w->fortran && t.kind == HPC_TOKEN_NAME) {
            const directive_word *d = find(w->text + t.at, t.n, true, false);
            if (d || !(d = find(w->text + t.at, t.n, true, true))) break;
            hpc_token part = t;
            part.n = (uint32_t)strlen(d->name);
            write_token(w, &part);
            t.at += part.n;
            t.n -= part.n;
        }
        write_token(w, &t);
        if (t.flags & HPC_TOKEN_UNTERMINATED) break; /* on one line it would take in the rest */
    }
}

int hpc_pragma_text(hpc_buf *out, const hpc_loops *l, int64_t pragma, const hpc_tokens *t,
                    const char *text, hpc_language lang)
{
    const hpc_pragma *p = &l->pragma[pragma];
    writer w = {.out = out, .text = text, .fortran = lang == HPC_LANGUAGE_FORTRAN};
    bool quoted = !w.fortran && p->first < p->last && t->item[p->first].kind == HPC_TOKEN_STRING &&
                  text[p->at] == '_';
    hpc_tokens words = {0};
    hpc_buf string = {0};
    int rc = HPC_OK;
    hpc_buf_printf(out, "%s%s", w.fortran ? "!$" : "#pragma ",
                   p->api == HPC_DIRECTIVE_ACC ? "acc" : "omp");
    if (quoted) {
        TRY(hpc_pragma_unquote(&words, &string, t->item, p->first, p->last, text));
        w.text = string.n > 0 ? string.data : "";
        write_tokens(&w, words.item, 1, words.n);
    } else {
        write_tokens(&w, t->item, p->first, p->last);
    }
    rc = out->failed;
out:
    hpc_tokens_release(&words);
    hpc_buf_release(&string);
    return rc;
}
