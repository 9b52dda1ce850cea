/*
 * pragma_diff.c: the edits of `hpccoder pragma` as a patch.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cmd/pragma.h"
#include "cmd/terminal.h"

enum { CONTEXT = 3 };

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
    terminal_style style = mark == '+' ? STYLE_GOOD : mark == '-' ? STYLE_BAD : STYLE_NONE;
    for (const char *end = p + n; p < end; lines++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t length = (size_t)((stop ? stop : end) - p);
        hpc_buf_printf(out, "%s%c", terminal_begin(stdout, style), mark);
        hpc_buf_add(out, p, length);
        hpc_buf_printf(out, "%s\n", terminal_end(stdout, style));
        if (!stop) hpc_buf_text(out, "\\ No newline at end of file\n");
        p += length + (stop != NULL);
    }
    return lines;
}

/* Adds at most `most` lines of context from byte `at` on; returns the first byte after them. */
static size_t put_context(hunk *h, size_t at, uint32_t most)
{
    const hpc_buf *text = &h->f->d.text;
    size_t end = at;
    for (uint32_t k = 0; k < most && end < text->n; k++)
        while (end < text->n && text->data[end++] != '\n') continue;
    uint32_t n = put_lines(&h->body, ' ', text->data + at, end - at);
    h->old_n += n;
    h->new_n += n;
    return end;
}

/* A line that the edit keeps becomes context. */
static void put_change(hunk *h, const hpc_directive_edits *c, const hpc_directive_edit *x)
{
    const char *old = h->f->d.text.data + x->at, *to = c->text.data + x->to;
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
    for (; k < *n && at > least; k++) at = hpc_line_begin(text, at - 1);
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

int pragma_diff(hpc_buf *out, const hpc_directive_edits *c, const pragma_file *f)
{
    hunk h = {.f = f};
    size_t done = 0; /* of the old text */
    int64_t shift = 0;
    if (c->n == 0) return HPC_OK;
    put_path(out, "---", "a", shown(f->d.path));
    put_path(out, "+++", "b", shown(f->d.path));
    for (int64_t i = 0; i < c->n; i++) {
        const hpc_directive_edit *x = &c->item[i];
        bool first = i == 0 || x->line > c->item[i - 1].line + 2 * CONTEXT;
        if (first) {
            if (i > 0) {
                put_context(&h, done, CONTEXT);
                end_hunk(out, &h, &shift);
            }
            uint32_t lines = CONTEXT;
            size_t from = back(&f->d.text, x->at, &lines, done);
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
