/*
 * edit.c: inserts and removes text within lines. It adds and removes no line, so positions that
 * compilers and debuggers report for the new text hold for the old one.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/verify/priv.h"

int edits_add(edits *e, size_t at, size_t drop, const char *text)
{
    if (!text) return HPC_E_NOMEM;
    int rc = hpc_grow(&e->item, &e->cap, e->n + 1, sizeof *e->item);
    if (rc < 0) return rc;
    e->item[e->n] = (edit){.at = at, .drop = drop, .text = text, .order = e->order++};
    e->n++;
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const edit *p = a, *q = b;
    if (p->at != q->at) return p->at < q->at ? -1 : 1;
    return p->order < q->order ? -1 : p->order > q->order;
}

int edits_apply(hpc_buf *out, edits *e, const char *text, size_t n)
{
    size_t at = 0;
    if (e->n) qsort(e->item, (size_t)e->n, sizeof *e->item, by_place);
    for (int64_t k = 0; k < e->n; k++) {
        const edit *d = &e->item[k];
        if (d->at > n || d->drop > n - d->at) continue;
        if (d->at > at) hpc_buf_add(out, text + at, d->at - at);
        if (d->at > at) at = d->at;
        hpc_buf_text(out, d->text);
        for (; at < d->at + d->drop; at++)
            if (text[at] == '\n') hpc_buf_add(out, "\n", 1);
    }
    hpc_buf_add(out, text + at, n - at);
    return out->failed;
}

void edits_release(edits *e)
{
    hpc_free(e->item);
    e->item = NULL;
    e->n = e->cap = 0;
}

/* Where the line that ends before `at` begins. */
static size_t line_before(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] != '\n') at--;
    return at;
}

/* True if the line that ends at `end` continues in the next. */
static bool goes_on(const char *text, size_t end)
{
    while (end > 0 && (text[end - 1] == '\r' || text[end - 1] == ' ')) end--;
    return end > 0 && text[end - 1] == '\\';
}

int edits_drop_pragmas(edits *e, const char *text, size_t at)
{
    size_t begin = line_before(text, at);
    if (strspn(text + begin, " \t") < at - begin) return 0; /* something else stands before it */
    while (begin > 0) {
        size_t end = begin - 1, from = line_before(text, end);
        while (from > 0 && goes_on(text, from - 1)) from = line_before(text, from - 1);
        size_t word = from + strspn(text + from, " \t\r");
        if (word >= end || strncmp(text + word, "//", 2) == 0) {
            begin = from;
            continue;
        }
        if (text[word] != '#') return 0;
        word++;
        word += strspn(text + word, " \t");
        if (strncmp(text + word, "pragma", 6) != 0) return 0;
        int rc = edits_add(e, from, end - from, "");
        if (rc < 0) return rc;
        begin = from;
    }
    return 0;
}

int edits_direct(edits *e, const char *text, const hpc_pragma_loop *loop)
{
    hpc_buf b = {0};
    const char *d = loop->pragma;
    if (!d || directive_of(loop) != d || strncmp(d, "#pragma ", 8) != 0) return 0;
    int rc = edits_drop_pragmas(e, text, loop->at);
    if (rc < 0) return rc;
    hpc_buf_text(&b, "_Pragma(\"");
    for (const char *p = d + 8; *p; p++) {
        if (*p == '"' || *p == '\\') hpc_buf_add(&b, "\\", 1);
        hpc_buf_add(&b, p, 1);
    }
    rc = hpc_buf_text(&b, "\") ");
    const char *kept = rc < 0 ? NULL : hpc_arena_text(e->arena, "%s", b.data);
    hpc_buf_release(&b);
    return kept ? edits_add(e, loop->at, 0, kept) : HPC_E_NOMEM;
}
