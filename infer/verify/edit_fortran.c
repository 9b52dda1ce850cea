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
    bool ends = stop - p > 3 && strncasecmp(p, "end", 3) == 0 && !isalnum((unsigned char)p[3]);
    return ends ? LINE_END_DIRECTIVE : LINE_DIRECTIVE;
}

/* Empties a line. */
static int drop_line(edits *e, size_t begin, size_t end)
{
    return edits_add(e, begin, end - begin, "");
}

int edits_drop_fortran(edits *e, const hpc_verify_file *f, const hpc_pragma_loop *loop)
{
    const char *text = f->text;
    size_t end = fortran_line_begin(text, loop->at);
    int rc = 0;
    if (!loop->existing) return 0;
    for (size_t begin; end > 0; end = begin) {
        begin = fortran_line_begin(text, end - 1);
        line_kind k = kind_of(text, begin, end, f->fixed_form);
        if (k == LINE_CODE || k == LINE_END_DIRECTIVE) break;
        if (k == LINE_DIRECTIVE) TRY(drop_line(e, begin, end));
    }
    for (size_t begin = fortran_line_after(text, f->n, loop->end); begin < f->n; begin = end) {
        end = fortran_line_after(text, f->n, begin);
        line_kind k = kind_of(text, begin, end, f->fixed_form);
        if (k == LINE_END_DIRECTIVE) TRY(drop_line(e, begin, end));
        if (k != LINE_COMMENT) break;
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
