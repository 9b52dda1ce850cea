/*
 * Edits that put the chosen directives into a file's text.
 */
#include <string.h>

#include "infer/pragma/directives.h"

void hpc_directive_edits_release(hpc_directive_edits *c)
{
    hpc_free(c->item);
    hpc_buf_release(&c->text);
    *c = (hpc_directive_edits){0};
}

size_t hpc_line_begin(const hpc_buf *text, size_t at)
{
    while (at > 0 && text->data[at - 1] != '\n') at--;
    return at;
}

size_t hpc_line_end(const hpc_buf *text, size_t at)
{
    while (at < text->n && text->data[at] != '\n') at++;
    return at > 0 && text->data[at - 1] == '\r' ? at - 1 : at;
}

/* ---- changes ----------------------------------------------------------------------------------
 */

/* How the line around a byte ends; the last line of a file, like the one before it. */
static const char *ending(const hpc_buf *text, size_t at)
{
    const char *end = memchr(text->data + at, '\n', text->n - at);
    size_t k = end ? (size_t)(end - text->data) : hpc_line_begin(text, at);
    if (!end && k > 0) k--;
    return k > 0 && text->data[k] == '\n' && text->data[k - 1] == '\r' ? "\r\n" : "\n";
}

static bool is_spliced(const hpc_buf *text, size_t begin)
{
    size_t k = begin;
    if (k == 0) return false;
    k--;
    if (k > 0 && text->data[k - 1] == '\r') k--;
    return k > 0 && text->data[k - 1] == '\\';
}

/* Text from `from` to the loop, and its directive. */
static void put_directive(hpc_buf *out, const hpc_buf *text, size_t begin, size_t from, size_t at,
                          const char *directive)
{
    const char *eol = ending(text, at);
    size_t indent = begin, code = at;
    while (indent < at && (text->data[indent] == ' ' || text->data[indent] == '\t')) indent++;
    while (code > from && (text->data[code - 1] == ' ' || text->data[code - 1] == '\t')) code--;
    bool alone = indent == at && from == begin;
    if (!alone) hpc_buf_add(out, text->data + from, code - from);
    if (!alone || is_spliced(text, begin)) hpc_buf_text(out, eol);
    for (int k = 0; k < 2; k++) {
        hpc_buf_add(out, text->data + begin, indent - begin);
        if (!alone) hpc_buf_text(out, text->data[begin] == '\t' ? "\t" : "    ");
        if (k == 0) hpc_buf_printf(out, "%s%s", directive, eol);
    }
}

/* All directives of the line of loop *i, or that of loop `only`; sets *i to the first loop of
 * another line. */
static int change_line(hpc_directive_edits *c, const hpc_directive_file *f, int64_t only,
                       int64_t *i)
{
    const hpc_buf *text = &f->text;
    int rc;
    TRY(hpc_grow(&c->item, &c->cap, c->n + 1, sizeof *c->item));
    size_t begin = hpc_line_begin(text, f->loops.item[*i].at), from = begin;
    size_t end = from;
    while (end < text->n && text->data[end++] != '\n') continue;
    hpc_directive_edit *x = &c->item[c->n++];
    *x = (hpc_directive_edit){
        .at = begin, .end = end, .line = f->loops.item[*i].line, .to = c->text.n};
    for (; *i < f->loops.n && f->loops.item[*i].at < end; ++*i) {
        if (!f->choice[*i].put || (only >= 0 && *i != only)) continue;
        size_t at = f->loops.item[*i].at;
        if (f->language == HPC_LANGUAGE_FORTRAN)
            hpc_pragma_lines(&c->text, text->data + begin, at - begin, f->choice[*i].directive,
                             hpc_language_fixed_form(f->path, text->data, text->n),
                             ending(text, at));
        else
            put_directive(&c->text, text, begin, from, at, f->choice[*i].directive);
        c->directives_n++;
        from = f->language == HPC_LANGUAGE_FORTRAN ? begin : at;
    }
    TRY(hpc_buf_add(&c->text, text->data + from, end - from));
    x->to_n = c->text.n - x->to;
out:
    return rc;
}

int hpc_directive_edits_find(hpc_directive_edits *out, const hpc_directive_file *f, int64_t only)
{
    int rc = HPC_OK;
    for (int64_t i = 0; i < f->loops.n;)
        if (f->choice[i].put && (only < 0 || i == only))
            TRY(change_line(out, f, only, &i));
        else
            i++;
out:
    return rc;
}

int hpc_directive_edits_apply(hpc_buf *out, const hpc_directive_edits *c, const hpc_buf *text)
{
    size_t at = 0;
    for (int64_t i = 0; i < c->n; i++) {
        hpc_buf_add(out, text->data + at, c->item[i].at - at);
        hpc_buf_add(out, c->text.data + c->item[i].to, c->item[i].to_n);
        at = c->item[i].end;
    }
    return hpc_buf_add(out, text->data + at, text->n - at);
}
