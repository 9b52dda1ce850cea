/*
 * pragma_fix.c: a file with the directives that its loops get, and that as a patch.
 *
 * A directive has a line of its own above the loop's, with its indentation and line end; where
 * something else stands before the loop on its line, the line is cut in two. Nothing else changes.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cmd/pragma.h"

enum { CONTEXT = 3 };

void pragma_changes_release(pragma_changes *c)
{
    hpc_free(c->item);
    hpc_buf_release(&c->text);
    *c = (pragma_changes){0};
}

size_t pragma_line_begin(const hpc_buf *text, size_t at)
{
    while (at > 0 && text->data[at - 1] != '\n') at--;
    return at;
}

size_t pragma_line_end(const hpc_buf *text, size_t at)
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
    size_t k = end ? (size_t)(end - text->data) : pragma_line_begin(text, at);
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

/* All directives of the line of loop *i; *i: the first loop of another line. */
static int change_line(pragma_changes *c, const pragma_file *f, int64_t *i)
{
    const hpc_buf *text = &f->text;
    int rc;
    TRY(hpc_grow(&c->item, &c->cap, c->n + 1, sizeof *c->item));
    size_t begin = pragma_line_begin(text, f->loops.item[*i].at), from = begin;
    size_t end = from;
    while (end < text->n && text->data[end++] != '\n') continue;
    pragma_change *x = &c->item[c->n++];
    *x = (pragma_change){.at = begin, .end = end, .line = f->loops.item[*i].line, .to = c->text.n};
    for (; *i < f->loops.n && f->loops.item[*i].at < end; ++*i) {
        if (!f->note[*i].put) continue;
        size_t at = f->loops.item[*i].at;
        put_directive(&c->text, text, begin, from, at, f->note[*i].directive);
        c->directives_n++;
        from = at;
    }
    TRY(hpc_buf_add(&c->text, text->data + from, end - from));
    x->to_n = c->text.n - x->to;
out:
    return rc;
}

int pragma_changes_find(pragma_changes *out, const pragma_file *f)
{
    int rc = HPC_OK;
    for (int64_t i = 0; i < f->loops.n;)
        if (f->note[i].put)
            TRY(change_line(out, f, &i));
        else
            i++;
out:
    return rc;
}

int pragma_changes_apply(hpc_buf *out, const pragma_changes *c, const pragma_file *f)
{
    size_t at = 0;
    for (int64_t i = 0; i < c->n; i++) {
        hpc_buf_add(out, f->text.data + at, c->item[i].at - at);
        hpc_buf_add(out, c->text.data + c->item[i].to, c->item[i].to_n);
        at = c->item[i].end;
    }
    return hpc_buf_add(out, f->text.data + at, f->text.n - at);
}

/* ---- the patch --------------------------------------------------------------------------------
 */

typedef struct hunk {
    const pragma_file *f;
    hpc_buf body;
    uint32_t from, old_n, new_n; /* lines */
} hunk;

/* Lines of a text with a mark before each. */
static uint32_t put_lines(hpc_buf *out, char mark, const char *p, size_t n)
{
    uint32_t lines = 0;
    for (const char *end = p + n; p < end; lines++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t length = stop ? (size_t)(stop - p) + 1 : (size_t)(end - p);
        hpc_buf_add(out, &mark, 1);
        hpc_buf_add(out, p, length);
        if (!stop) hpc_buf_text(out, "\n\\ No newline at end of file\n");
        p += length;
    }
    return lines;
}

/* As many lines as there are, `most` at most, from a byte on; returns the byte behind them. */
static size_t put_context(hunk *h, size_t at, uint32_t most)
{
    const hpc_buf *text = &h->f->text;
    size_t end = at;
    for (uint32_t k = 0; k < most && end < text->n; k++)
        while (end < text->n && text->data[end++] != '\n') continue;
    uint32_t n = put_lines(&h->body, ' ', text->data + at, end - at);
    h->old_n += n;
    h->new_n += n;
    return end;
}

/* What stays of the line is no change, if it stays as it is. */
static void put_change(hunk *h, const pragma_changes *c, const pragma_change *x)
{
    const char *old = h->f->text.data + x->at, *to = c->text.data + x->to;
    size_t n = x->end - x->at;
    bool stays =
        x->to_n > n && memcmp(to + x->to_n - n, old, n) == 0 && to[x->to_n - n - 1] == '\n';
    if (!stays) h->old_n += put_lines(&h->body, '-', old, n);
    h->new_n += put_lines(&h->body, '+', to, stays ? x->to_n - n : x->to_n);
    if (stays) put_context(h, x->at, 1);
}

static void end_hunk(hpc_buf *out, hunk *h, int64_t *shift)
{
    hpc_buf_printf(out, "@@ -%u,%u +%lld,%u @@\n", h->from, h->old_n, (long long)h->from + *shift,
                   h->new_n);
    hpc_buf_add(out, h->body.data, h->body.n);
    *shift += (int64_t)h->new_n - h->old_n;
    h->body.n = h->old_n = h->new_n = 0;
}

/* The beginning of the line that is `*n` lines before one; fewer where there are no more. */
static size_t back(const hpc_buf *text, size_t at, uint32_t *n, size_t least)
{
    uint32_t k = 0;
    for (; k < *n && at > least; k++) at = pragma_line_begin(text, at - 1);
    *n = k;
    return at;
}

/* A path as git has it: in quotes, if it has bytes that would end it. */
static void put_path(hpc_buf *out, const char *mark, const char *side, const char *path)
{
    bool quote = false;
    for (const char *p = path; *p; p++)
        quote |= (unsigned char)*p < ' ' || *p == '"' || *p == '\\' || *p == 127;
    hpc_buf_printf(out, "%s %s%s/", mark, quote ? "\"" : "", side);
    for (const char *p = path; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 127)
            hpc_buf_printf(out, "\\%03o", (unsigned char)*p);
        else
            hpc_buf_printf(out, quote && (*p == '"' || *p == '\\') ? "\\%c" : "%c", *p);
    }
    hpc_buf_text(out, quote ? "\"\n" : strchr(path, ' ') ? "\t\n" : "\n");
}

/* As seen from the working folder; where it lies elsewhere, from the root. */
static const char *shown(const char *path)
{
    char here[PATH_MAX];
    while (strncmp(path, "./", 2) == 0) path += 2;
    if (*path != '/') return path;
    size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;
    if (n > 1 && strncmp(path, here, n) == 0 && path[n] == '/') path += n;
    return path + strspn(path, "/");
}

int pragma_changes_diff(hpc_buf *out, const pragma_changes *c, const pragma_file *f)
{
    hunk h = {.f = f};
    size_t done = 0; /* of the old text */
    int64_t shift = 0;
    if (c->n == 0) return HPC_OK;
    put_path(out, "---", "a", shown(f->path));
    put_path(out, "+++", "b", shown(f->path));
    for (int64_t i = 0; i < c->n; i++) {
        const pragma_change *x = &c->item[i];
        bool first = i == 0 || x->line > c->item[i - 1].line + 2 * CONTEXT;
        if (first) {
            if (i > 0) {
                put_context(&h, done, CONTEXT);
                end_hunk(out, &h, &shift);
            }
            uint32_t lines = CONTEXT;
            size_t from = back(&f->text, x->at, &lines, done);
            h.from = x->line - lines;
            put_context(&h, from, lines);
        } else {
            put_context(&h, done, x->line - c->item[i - 1].line - 1);
        }
        put_change(&h, c, x);
        done = x->end;
    }
    put_context(&h, done, CONTEXT);
    end_hunk(out, &h, &shift);
    int rc = h.body.failed < 0 ? h.body.failed : out->failed;
    hpc_buf_release(&h.body);
    return rc;
}
