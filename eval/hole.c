/*
 * Holes in source files for fill-in-the-middle: a line, the rest of a block, or the body of a
 * function, chosen by a seed.
 */
#include <string.h>

#include "eval/hole.h"

enum { TRIES = 40, HOLE_MOST = 4000, LINE_TOKENS = 3 };

typedef struct span {
    size_t lo, hi;
} span;
typedef struct spans {
    span *item;
    int64_t n, cap;
} spans;

const char *const hpc_eval_hole_names[] = {"line", "block", "function", NULL};

static int put(spans *s, size_t lo, size_t hi)
{
    int rc = HPC_OK;

    if (hi <= lo || hi - lo > HOLE_MOST) return HPC_OK;
    TRY(hpc_grow(&s->item, &s->cap, s->n + 1, sizeof(*s->item)));
    s->item[s->n++] = (span){lo, hi};
out:
    return rc;
}

static bool is_braced(hpc_language l)
{
    return l != HPC_LANGUAGE_FORTRAN && l != HPC_LANGUAGE_NONE;
}

static bool is_in_function(const hpc_functions *f, size_t at)
{
    for (int64_t k = 0; k < f->n; k++)
        if (at > f->item[k].body_at && at < f->item[k].end) return true;
    return false;
}

/* Lines of functions with a few tokens of code, from the first character to the last. */
static int find_lines(spans *out, const hpc_tokens *t, const hpc_functions *f)
{
    int rc = HPC_OK;

    for (int64_t k = 0; k < t->n;) {
        uint32_t line = t->item[k].line;
        int64_t code = 0, last = k, first = k;
        bool directive = false;
        for (; k < t->n && t->item[k].line == line; k++) {
            if (!hpc_token_is_code(&t->item[k])) continue;
            directive = directive || (t->item[k].flags & HPC_TOKEN_IN_DIRECTIVE);
            if (code++ == 0) first = k;
            last = k;
        }
        if (code < LINE_TOKENS || directive || !is_in_function(f, t->item[first].at)) continue;
        TRY(put(out, t->item[first].at, t->item[last].at + t->item[last].n));
    }
out:
    return rc;
}

/* From after each '{' within functions to after its '}'. */
static int find_blocks(spans *out, const char *text, const hpc_tokens *t, const hpc_functions *f)
{
    size_t open[64];
    int64_t depth = 0;
    int rc = HPC_OK;

    for (int64_t k = 0; k < t->n; k++) {
        const hpc_token *x = &t->item[k];
        if (x->kind != HPC_TOKEN_PUNCT || x->n != 1 || (x->flags & HPC_TOKEN_IN_DIRECTIVE))
            continue;
        if (text[x->at] == '{') {
            if (depth < 64) open[depth] = x->at + 1;
            depth++;
        } else if (text[x->at] == '}' && depth > 0) {
            depth--;
            if (depth < 64 && is_in_function(f, open[depth]) &&
                memchr(text + open[depth], '\n', x->at - open[depth]))
                TRY(put(out, open[depth], x->at + 1));
        }
    }
out:
    return rc;
}

static int find_bodies(spans *out, const hpc_functions *f)
{
    int rc = HPC_OK;

    for (int64_t k = 0; k < f->n; k++) TRY(put(out, f->item[k].body_at + 1, f->item[k].end));
out:
    return rc;
}

static int find_spans(spans *out, const hpc_eval_file *f, hpc_complete_stop kind)
{
    bool fixed = hpc_language_fixed_form(f->path, f->text.data, f->text.n);
    hpc_tokens t = {0};
    hpc_functions functions = {0};
    int rc;

    TRY(hpc_lex(&t, f->text.data, f->text.n, f->language, fixed));
    TRY(hpc_functions_find(&functions, &t, f->text.data, f->language));
    if (kind == HPC_STOP_LINE) TRY(find_lines(out, &t, &functions));
    if (kind == HPC_STOP_BLOCK && is_braced(f->language))
        TRY(find_blocks(out, f->text.data, &t, &functions));
    if (kind == HPC_STOP_FUNCTION && is_braced(f->language)) TRY(find_bodies(out, &functions));
out:
    hpc_tokens_release(&t);
    hpc_functions_release(&functions);
    return rc;
}

static int64_t below(uint64_t seed, int64_t hole, int64_t draw, int64_t n)
{
    uint32_t bits = hpc_random_bits(seed, 0x686f6c65u, (uint32_t)draw, (uint64_t)hole);
    return (int64_t)(((uint64_t)bits * (uint64_t)n) >> 32);
}

int hpc_eval_hole_draw(hpc_eval_hole *out, const hpc_eval_files *files, int64_t number,
                       hpc_complete_stop kind, uint64_t seed)
{
    spans s = {0};
    int rc = HPC_OK;

    *out = (hpc_eval_hole){.kind = kind};
    for (int64_t k = 0; k < TRIES && !out->file; k++) {
        const hpc_eval_file *f = &files->item[below(seed, number, 2 * k, files->n)];
        s.n = 0;
        TRY(find_spans(&s, f, kind));
        if (s.n == 0) continue;
        span x = s.item[below(seed, number, 2 * k + 1, s.n)];
        *out = (hpc_eval_hole){.file = f, .kind = kind, .lo = x.lo, .hi = x.hi, .line = 1};
        for (size_t i = 0; i < x.lo; i++) out->line += f->text.data[i] == '\n';
    }
out:
    hpc_free(s.item);
    return rc;
}
