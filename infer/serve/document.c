/*
 * Documents of an editor: positions in UTF-8 and UTF-16 units, edits, and paths of URIs.
 */
#include "infer/serve/document.h"

#include <stdlib.h>
#include <string.h>

/* ---- positions ------------------------------------------------------------------------------ */

/* Bytes of the line end at `at`; 0: none is there. */
static size_t line_feed(const hpc_buf *text, size_t at)
{
    if (at >= text->n) return 0;
    if (text->data[at] == '\n') return 1;
    if (text->data[at] != '\r') return 0;
    return at + 1 < text->n && text->data[at + 1] == '\n' ? 2 : 1;
}

/* Bytes of the character at `at`; 1 for a byte that is not UTF-8. */
static size_t character_bytes(const hpc_buf *text, size_t at)
{
    uint8_t c = (uint8_t)text->data[at];
    size_t n = c < 0xc2 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 1;
    if (at + n > text->n) return 1;
    for (size_t k = 1; k < n; k++)
        if (((uint8_t)text->data[at + k] & 0xc0) != 0x80) return 1;
    return n;
}

static int64_t units(size_t bytes, hpc_position_unit unit)
{
    if (unit == HPC_UNIT_UTF8) return (int64_t)bytes;
    return bytes == 4 ? 2 : 1;
}

size_t hpc_text_offset(const hpc_buf *text, hpc_text_position p, hpc_position_unit unit)
{
    size_t at = 0;
    for (int64_t line = 0; line < p.line; line++) {
        while (at < text->n && line_feed(text, at) == 0) at++;
        if (at >= text->n) return text->n;
        at += line_feed(text, at);
    }
    for (int64_t k = 0; at < text->n && line_feed(text, at) == 0;) {
        size_t bytes = character_bytes(text, at);
        k += units(bytes, unit);
        if (k > p.character) break;
        at += bytes;
    }
    return at;
}

hpc_text_position hpc_text_position_of(const hpc_buf *text, size_t at, hpc_position_unit unit)
{
    hpc_text_position p = {0};
    size_t begin = 0;
    if (at > text->n) at = text->n;
    for (size_t k = 0; k < at;) {
        size_t feed = line_feed(text, k);
        if (feed > 0 && k + feed > at) break; /* between CR and LF */
        k += feed > 0 ? feed : 1;
        if (feed == 0) continue;
        p.line++;
        begin = k;
    }
    while (begin < at && line_feed(text, begin) == 0) {
        size_t bytes = character_bytes(text, begin);
        if (begin + bytes > at) break;
        p.character += units(bytes, unit);
        begin += bytes;
    }
    return p;
}

/* ---- URIs ----------------------------------------------------------------------------------- */

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int hpc_uri_path(char **out, const char *uri)
{
    static const char scheme[] = "file://";
    *out = NULL;
    if (strncmp(uri, scheme, sizeof scheme - 1) != 0) return HPC_OK;
    const char *p = uri + sizeof scheme - 1;
    if (strncmp(p, "localhost/", 10) == 0) p += 9;
    if (*p != '/') return HPC_OK; /* of another host */
    char *path = hpc_alloc(strlen(p) + 1, 1), *to = path;
    if (!path) return HPC_E_NOMEM;
    while (*p && *p != '?' && *p != '#') {
        int high = *p == '%' ? hex(p[1]) : -1, low = high >= 0 ? hex(p[2]) : -1;
        *to++ = low >= 0 ? (char)(high << 4 | low) : *p;
        p += low >= 0 ? 3 : 1;
    }
    *to = '\0';
    *out = path;
    return HPC_OK;
}

/* ---- documents ------------------------------------------------------------------------------ */

static void release(hpc_document *d)
{
    hpc_free(d->uri);
    hpc_free(d->path);
    hpc_buf_release(&d->text);
}

static char *copy(const char *text)
{
    size_t n = strlen(text) + 1;
    char *to = hpc_alloc(n, 1);
    return to ? memcpy(to, text, n) : NULL;
}

hpc_document *hpc_documents_find(const hpc_documents *d, const char *uri)
{
    for (int64_t k = 0; k < d->n; k++)
        if (strcmp(d->item[k].uri, uri) == 0) return &d->item[k];
    return NULL;
}

int hpc_documents_put(hpc_documents *d, const char *uri, int64_t version, const char *text,
                      size_t n)
{
    hpc_document made = {.uri = copy(uri), .version = version};
    int rc = made.uri ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0) return rc;
    TRY(hpc_uri_path(&made.path, uri));
    TRY(hpc_buf_add(&made.text, text, n));
    TRY(hpc_buf_text(&made.text, "")); /* an empty one has data */
    TRY(hpc_grow(&d->item, &d->cap, d->n + 1, sizeof *d->item));
    hpc_documents_close(d, uri);
    d->item[d->n++] = made;
    made = (hpc_document){0};
out:
    release(&made);
    return rc;
}

void hpc_documents_close(hpc_documents *d, const char *uri)
{
    hpc_document *x = hpc_documents_find(d, uri);
    if (!x) return;
    release(x);
    *x = d->item[--d->n];
}

void hpc_documents_release(hpc_documents *d)
{
    for (int64_t k = 0; k < d->n; k++) release(&d->item[k]);
    hpc_free(d->item);
    *d = (hpc_documents){0};
}

int hpc_document_edit(hpc_document *d, size_t begin, size_t end, const char *text, size_t n)
{
    hpc_buf all = {0};
    int rc;
    if (end < begin || end > d->text.n)
        return hpc_fail(HPC_E_ARG, "%s: an edit ends before it begins", d->uri);
    TRY(hpc_buf_add(&all, d->text.data, begin));
    TRY(hpc_buf_add(&all, text, n));
    TRY(hpc_buf_add(&all, d->text.data + end, d->text.n - end));
    TRY(hpc_buf_text(&all, ""));
    hpc_buf_release(&d->text);
    d->text = all;
    all = (hpc_buf){0};
out:
    hpc_buf_release(&all);
    return rc;
}
