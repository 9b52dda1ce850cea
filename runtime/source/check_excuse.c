/*
 * check_excuse.c: parser errors that follow from an undeclared name.
 *
 * After such a name the parser may misread the rest of the statement and a block that
 * it opens: FOREACH(x) { ... } is a loop only if a header defines it as one. Errors
 * there are therefore not counted. Bracket matching does not need the parser
 * (check_bracket.c).
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/source/check_priv.h"

/* An open scope: the text itself, or a bracket in it. */
typedef struct frame {
    bool lost;     /* the statement that opens it has an unknown name */
    bool unknown;  /* the current statement has an unknown name */
    bool argument; /* of a call that may be a macro's: types are allowed here */
    bool macro;    /* of a call of an undeclared name */
    bool shouted;  /* of a call of a name in capitals */
    char bracket;
} frame;

typedef struct walk {
    const check_version *v;
    const hpc_tokens *t;
    const hpc_map *known;
    uint8_t *unknown; /* by token: 1 for an undeclared name */
    hpc_map *calls;   /* undeclared functions; libclang reports each once for all calls */
    frame *item;
    int64_t n, cap;
    bool name, call, shouted; /* the last token was a name; one of `calls`; all in capitals */
} walk;

static char byte_of(const walk *w, int64_t i)
{
    const hpc_token *k = &w->t->item[i];
    return k->kind == HPC_TOKEN_PUNCT && k->n == 1 ? w->v->text[k->at] : '\0';
}

static int64_t next_code(const walk *w, int64_t i)
{
    for (i++; i < w->t->n; i++)
        if (hpc_token_is_code(&w->t->item[i]) && !(w->t->item[i].flags & HPC_TOKEN_IN_DIRECTIVE))
            break;
    return i;
}

/* A call followed by a block is a macro. So is a call in capitals followed by a name; after other
 * names, that is a missing semicolon. */
static bool goes_on_oddly(const walk *w, int64_t close, bool shouted)
{
    int64_t next = next_code(w, close);
    if (next == w->t->n) return false;
    return byte_of(w, next) == '{' || (shouted && w->t->item[next].kind == HPC_TOKEN_NAME);
}

static int open_bracket(walk *w, char c)
{
    int rc = hpc_grow(&w->item, &w->cap, w->n + 1, sizeof *w->item);
    if (rc < 0) return rc;
    const frame *top = &w->item[w->n - 1];
    w->item[w->n] = (frame){.lost = top->lost || top->unknown || (c == '(' && w->shouted),
                            .argument = c == '(' && (w->name || top->argument),
                            .macro = c == '(' && w->call,
                            .shouted = w->shouted,
                            .bracket = c};
    w->n++;
    return HPC_OK;
}

static void close_bracket(walk *w, char c, int64_t token)
{
    const char open = c == ')' ? '(' : c == ']' ? '[' : '{';
    int64_t k = w->n - 1;
    while (k > 0 && w->item[k].bracket != open) k--;
    if (k == 0) return;
    const frame closed = w->item[k];
    w->n = k;
    frame *top = &w->item[k - 1];
    if ((closed.macro || closed.shouted) && goes_on_oddly(w, token, closed.shouted))
        top->unknown = true;
    /* A block ends its statement, unless it is part of an expression. */
    if (c == '}' && top->bracket != '(' && top->bracket != '[') top->unknown = false;
}

static int pass(walk *w, int64_t i)
{
    const hpc_token *k = &w->t->item[i];
    if (!hpc_token_is_code(k) || (k->flags & HPC_TOKEN_IN_DIRECTIVE)) return HPC_OK;
    int rc = HPC_OK;
    const char c = byte_of(w, i);
    if (w->unknown[i]) w->item[w->n - 1].unknown = true;
    if (c && strchr("([{", c)) rc = open_bracket(w, c);
    if (c && strchr(")]}", c)) close_bracket(w, c, i);
    if (c == ';' && w->item[w->n - 1].bracket != '(') w->item[w->n - 1].unknown = false;
    w->name = k->kind == HPC_TOKEN_NAME;
    w->call = w->name && hpc_map_get(w->calls, w->v->text + k->at, k->n, NULL);
    w->shouted = w->name && check_is_shouted(w->v->text + k->at, k->n);
    return rc;
}

/* ---- types where a value is expected ------------------------------------------------------------
 */

static bool is_of_type(const walk *w, int64_t i)
{
    static const char words[] = " void char short int long float double signed unsigned struct * ";
    if (i < 0 || i >= w->t->n) return false;
    const hpc_token *k = &w->t->item[i];
    const char *text = w->v->text + k->at;
    uint64_t what = 0;
    if (hpc_map_get(w->known, text, k->n, &what)) return what == CHECK_NAME_TYPE;
    const char *at = memmem(words, sizeof words - 1, text, k->n);
    return at && at[-1] == ' ' && at[k->n] == ' ';
}

/* At token i, which the error is at or before. */
static bool is_excused(const walk *w, int64_t i)
{
    const frame *top = &w->item[w->n - 1];
    if (top->lost || top->unknown) return true;
    return top->argument && (is_of_type(w, i) || is_of_type(w, i - 1));
}

/* ---- all issues ---------------------------------------------------------------------------------
 */

static int note_names(walk *w)
{
    const check_issues *s = w->v->issues;
    int rc = HPC_OK;
    for (int64_t k = 0; k < s->n; k++) {
        size_t n;
        bool call;
        const char *name = check_unknown_name(&n, &call, s, &s->item[k]);
        if (!name || !(s->item[k].flags & CHECK_INSIDE)) continue;
        int64_t i = hpc_token_at(w->t, s->item[k].at);
        if (call && n > 0) TRY(hpc_map_put(w->calls, name, n, 1));
        if (!call && i < w->t->n) w->unknown[i] = 1;
    }
out:
    return rc;
}

typedef struct suspect {
    size_t at;
    int64_t issue;
} suspect;

static int by_place(const void *a, const void *b)
{
    const suspect *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* The fresh issues of the parser in the file, in its order. */
static int collect(suspect **out, int64_t *n, const uint8_t *fresh, const check_issues *s)
{
    const uint32_t both = CHECK_PARSE | CHECK_INSIDE;
    *n = 0;
    *out = hpc_alloc((size_t)s->n + 1, sizeof **out);
    if (!*out) return HPC_E_NOMEM;
    for (int64_t k = 0; k < s->n; k++)
        if (fresh[k] && (s->item[k].flags & both) == both)
            (*out)[(*n)++] = (suspect){.at = s->item[k].at, .issue = k};
    qsort(*out, (size_t)*n, sizeof **out, by_place);
    return HPC_OK;
}

int check_excuse(uint8_t *fresh, const check_version *v, const hpc_tokens *t, const hpc_map *known)
{
    walk w = {.v = v, .t = t, .known = known, .n = 1};
    suspect *list = NULL;
    int64_t n = 0, done = 0;
    int rc;
    TRY(collect(&list, &n, fresh, v->issues));
    w.unknown = hpc_alloc((size_t)t->n + 1, 1);
    w.calls = hpc_map_create();
    if (!w.unknown || !w.calls) TRY(HPC_E_NOMEM);
    TRY(hpc_grow(&w.item, &w.cap, 1, sizeof *w.item));
    TRY(note_names(&w));
    for (int64_t i = 0; i <= t->n && done < n; i++) {
        for (; done < n && (i == t->n || list[done].at <= t->item[i].at); done++)
            if (is_excused(&w, i)) fresh[list[done].issue] = 0;
        if (i < t->n) TRY(pass(&w, i));
    }
out:
    hpc_free(list);
    hpc_free(w.unknown);
    hpc_map_free(w.calls);
    hpc_free(w.item);
    return rc;
}
