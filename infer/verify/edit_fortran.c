/*
 * edit_fortran.c: directives of Fortran before loops. A directive has lines of its own; a line
 * marker after them keeps the numbers of the lines that follow.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "infer/verify/priv.h"

int fortran_mark(hpc_buf *b, uint32_t line)
{
    return hpc_buf_printf(b, "# %u\n", line);
}

size_t fortran_line_begin(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] != '\n') at--;
    return at;
}

size_t fortran_line_after(const char *text, size_t n, size_t at)
{
    const char *end = at < n ? memchr(text + at, '\n', n - at) : NULL;
    return end ? (size_t)(end + 1 - text) : n;
}

typedef enum line_kind { LINE_CODE, LINE_COMMENT, LINE_DIRECTIVE, LINE_END_DIRECTIVE } line_kind;

static line_kind kind_of(const char *text, size_t begin, size_t end, bool fixed)
{
    const char *p = text + begin, *stop = text + end;
    bool in_column_1 = fixed && p < stop && strchr("cC*", *p);
    if (!in_column_1) p += strspn(p, " \t");
    if (p >= stop || *p == '\n' || *p == '\r') return LINE_COMMENT;
    if (!in_column_1 && *p != '!') return *p == '#' && p == text + begin ? LINE_COMMENT : LINE_CODE;
    if (stop - p < 5 || strncasecmp(p + 1, "$omp", 4) != 0) return LINE_COMMENT;
    for (p += 5; p < stop && (*p == ' ' || *p == '&'); p++) continue;
    bool ends = stop - p > 3 && strncasecmp(p, "end", 3) == 0;
    return ends ? LINE_END_DIRECTIVE : LINE_DIRECTIVE;
}

typedef struct span {
    size_t begin, end;
} span;

/* True if a directive has one of the words before its clauses; blanks between words are optional.
 */
static bool has_word(const char *text, span d, const char *const *words)
{
    for (size_t i = d.begin; i < d.end && text[i] != '('; i++)
        for (size_t k = 0; words[k]; k++)
            if (strncasecmp(text + i, words[k], strlen(words[k])) == 0) return true;
    return false;
}

static const char *const of_loops[] = {"do", "simd", "taskloop", "distribute", "loop", NULL};
static const char *const of_regions[] = {"parallel", NULL};

/* True if a line of a directive continues the one before it. */
static bool continues(const char *text, size_t begin, bool fixed)
{
    const char *p = text + begin + strspn(text + begin, fixed ? "" : " \t");
    if (fixed) return p[5] != ' ' && p[5] != '0' && p[5] != '\t' && p[5] != '\n';
    if (p[5] == '&') return true;
    size_t last = begin > 0 ? begin - 1 : 0;
    while (last > 0 && text[last - 1] != '\n' && isspace((unsigned char)text[last - 1])) last--;
    if (last == 0 || text[last - 1] != '&') return false;
    const size_t above = fortran_line_begin(text, last - 1);
    return kind_of(text, above, begin, false) == LINE_DIRECTIVE;
}

/* The directive above a line, with its continuation; false: other code is there. */
static bool directive_above(span *d, const hpc_verify_file *f, size_t line)
{
    size_t begin;
    *d = (span){0};
    for (size_t end = line; end > 0; end = begin) {
        begin = fortran_line_begin(f->text, end - 1);
        const line_kind k = kind_of(f->text, begin, end, f->fixed_form);
        if (k == LINE_CODE || k == LINE_END_DIRECTIVE) return false;
        if (k == LINE_COMMENT) continue;
        if (d->end == 0) d->end = end;
        d->begin = begin;
        if (!continues(f->text, begin, f->fixed_form)) return true;
    }
    return false;
}

/* The directive after a line that ends a construct. */
static bool end_below(span *d, const hpc_verify_file *f, size_t line)
{
    for (size_t begin = line; begin < f->n; begin = d->end) {
        *d = (span){begin, fortran_line_after(f->text, f->n, begin)};
        const line_kind k = kind_of(f->text, begin, d->end, f->fixed_form);
        if (k != LINE_COMMENT) return k == LINE_END_DIRECTIVE;
    }
    return false;
}

/* Empties lines. */
static int drop_lines(edits *e, const hpc_verify_file *f, span d)
{
    int rc = 0;
    for (size_t next; d.begin < d.end && rc == 0; d.begin = next) {
        next = fortran_line_after(f->text, f->n, d.begin);
        rc = edits_add(e, d.begin, next - d.begin, "");
    }
    return rc;
}

int edits_drop_fortran(edits *e, const hpc_verify_file *f, const hpc_pragma_loop *loop)
{
    size_t after = fortran_line_after(f->text, f->n, loop->end);
    span d, last, region, region_end;
    int rc = 0;
    if (!loop->existing || !directive_above(&d, f, fortran_line_begin(f->text, loop->at)) ||
        !has_word(f->text, d, of_loops))
        return 0;
    TRY(drop_lines(e, f, d));
    if (end_below(&last, f, after) && has_word(f->text, last, of_loops)) {
        TRY(drop_lines(e, f, last));
        after = last.end;
    }
    if (!has_word(f->text, d, of_regions) && directive_above(&region, f, d.begin) &&
        has_word(f->text, region, of_regions) && !has_word(f->text, region, of_loops) &&
        end_below(&region_end, f, after) && has_word(f->text, region_end, of_regions))
    {
        TRY(drop_lines(e, f, region)); /* it has no other loop */
        TRY(drop_lines(e, f, region_end));
    }
out:
    return rc;
}

int edits_direct_fortran(edits *e, const hpc_verify_file *f, const hpc_pragma_loop *loop)
{
    const char *d = loop->pragma;
    const size_t begin = fortran_line_begin(f->text, loop->at);
    hpc_buf b = {0};
    if (!d || directive_of(loop) != d || strncmp(d, "!$omp ", 6) != 0 || loop->fixed) return 0;
    int rc = edits_drop_fortran(e, f, loop);
    if (rc < 0) return rc;
    hpc_pragma_lines(&b, f->text + begin, loop->at - begin, d, f->fixed_form, "\n");
    rc = fortran_mark(&b, loop->line);
    const char *kept = rc < 0 ? NULL : hpc_arena_text(e->arena, "%s", b.data);
    hpc_buf_release(&b);
    return kept ? edits_add(e, begin, 0, kept) : HPC_E_NOMEM;
}
