/*
 * spot.c: converts a file's bytes to text, and text to the file's bytes.
 *
 * Only inserted text is converted; the bytes around it stay unchanged, even if they are not valid.
 * UTF-16 is rejected.
 */
#include <string.h>

#include "infer/complete/complete.h"

enum { MOST = 64 << 20 };

/* ---- bytes to text ----------------------------------------------------------------------- */

/* Bytes of the character at p; 0: not UTF-8. */
static size_t character(const uint8_t *p, size_t n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t k = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (k < 2) return k;
    if (p[0] > 0xf4 || k > n) return 0;
    uint32_t point = p[0] & (0x7fu >> k);
    for (size_t i = 1; i < k; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        point = point << 6 | (p[i] & 0x3fu);
    }
    bool surrogate = point >= 0xd800 && point < 0xe000;
    return point < least[k] || point > 0x10ffff || surrogate ? 0 : k;
}

static bool is_utf8(const char *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        size_t k = character((const uint8_t *)bytes + at, n - at);
        if (k == 0) return false;
        at += k;
    }
    return true;
}

static int check(const char *path, const char *bytes, size_t n)
{
    const char *nul = n ? memchr(bytes, 0, n) : NULL;
    if (n > MOST)
        return hpc_fail(HPC_E_FORMAT, "%s: %zu bytes exceed the limit of %d for a source file",
                        path, n, MOST);
    if (n >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0))
        return hpc_fail(HPC_E_FORMAT, "%s: UTF-16 text: convert it to UTF-8 first", path);
    if (nul)
        return hpc_fail(HPC_E_FORMAT, "%s: not text: byte %zu is NUL", path, (size_t)(nul - bytes));
    return HPC_OK;
}

/* Converts byte *at of the file and moves *at after it. Carriage returns before line feeds are
 * dropped; a byte of Latin-1 becomes two. */
static size_t convert(char to[2], const hpc_spot *d, const char *bytes, size_t n, size_t *at)
{
    uint8_t c = (uint8_t)bytes[(*at)++];
    if (c == '\r' && *at < n && bytes[*at] == '\n') c = (uint8_t)bytes[(*at)++];
    if (c < 0x80 || !d->latin1) {
        to[0] = (char)c;
        return 1;
    }
    to[0] = (char)(0xc0 | c >> 6);
    to[1] = (char)(0x80 | (c & 0x3f));
    return 2;
}

static int make_text(hpc_spot *d, const char *bytes, size_t n, size_t begin)
{
    int64_t feeds = 0, returns = 0;
    char to[2];
    for (size_t k = 0; k < n; k++) {
        feeds += bytes[k] == '\n';
        returns += bytes[k] == '\n' && k > 0 && bytes[k - 1] == '\r';
    }
    d->crlf = returns > 0 && 2 * returns >= feeds;
    d->latin1 = !is_utf8(bytes, n);
    d->text.data = hpc_alloc(2 * n + 1, 1);
    if (!d->text.data) return HPC_E_NOMEM;
    d->text.cap = 2 * n + 1;
    for (size_t at = begin; at < n;) {
        size_t k = convert(to, d, bytes, n, &at);
        memcpy(d->text.data + d->text.n, to, k);
        d->text.n += k;
    }
    return HPC_OK;
}

/* ---- the place --------------------------------------------------------------------------- */

static size_t line_end(const hpc_buf *t, size_t at)
{
    const char *end = at < t->n ? memchr(t->data + at, '\n', t->n - at) : NULL;
    return end ? (size_t)(end - t->data) : t->n;
}

static int64_t characters(const char *text, size_t n)
{
    int64_t count = 0;
    for (size_t k = 0; k < n; k++) count += ((uint8_t)text[k] & 0xc0) != 0x80;
    return count;
}

static size_t behind_characters(const char *text, size_t n, int64_t count)
{
    size_t at = 0;
    for (; count > 0 && at < n; count--)
        for (at++; at < n && ((uint8_t)text[at] & 0xc0) == 0x80;) at++;
    return at;
}

/* Where the line begins; SIZE_MAX when there are only *lines. */
static size_t line_begin(const hpc_buf *t, int64_t line, int64_t *lines)
{
    size_t at = 0;
    for (*lines = 1; *lines < line; ++*lines) {
        size_t end = line_end(t, at);
        if (end >= t->n) return SIZE_MAX;
        at = end + 1;
    }
    return at;
}

static int find_place(hpc_spot *d, const char *path, hpc_position p)
{
    const hpc_buf *t = &d->text;
    int64_t lines;
    if (p.line < 0 || p.col < 0)
        return hpc_fail(HPC_E_ARG, "%s:%lld:%lld: lines and columns count from 1", path,
                        (long long)p.line, (long long)p.col);
    size_t from = line_begin(t, p.line > 0 ? p.line : INT64_MAX, &lines);
    if (p.line == 0) from = line_begin(t, lines, &p.line);
    if (from == SIZE_MAX) {
        lines -= lines > 1 && t->data[t->n - 1] == '\n'; /* a last line feed begins no line */
        return hpc_fail(HPC_E_ARG, "%s:%lld: the file has only %lld line%s", path,
                        (long long)p.line, (long long)lines, lines == 1 ? "" : "s");
    }
    size_t n = line_end(t, from) - from;
    int64_t width = characters(t->data + from, n);
    if (p.col > width + 1)
        return hpc_fail(HPC_E_ARG, "%s:%lld:%lld: the line has only %lld column%s", path,
                        (long long)p.line, (long long)p.col, (long long)(width + 1),
                        width == 0 ? "" : "s");
    d->line = p.line;
    d->col = p.col > 0 ? p.col : width + 1;
    d->at = from + behind_characters(t->data + from, n, d->col - 1);
    return HPC_OK;
}

static size_t raw_place(const hpc_spot *d, const char *bytes, size_t n, size_t begin)
{
    size_t raw = begin;
    char to[2];
    for (size_t made = 0; made < d->at;) made += convert(to, d, bytes, n, &raw);
    return raw;
}

int hpc_spot_open(hpc_spot *out, const char *path, const char *bytes, size_t n, hpc_position place)
{
    hpc_spot d = {0};
    size_t begin = n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* the mark of UTF-8 */
    int rc;
    *out = d;
    TRY(check(path, bytes, n));
    TRY(make_text(&d, bytes, n, begin));
    TRY(find_place(&d, path, place));
    d.raw_at = raw_place(&d, bytes, n, begin);
    d.language = hpc_language_of(path, d.text.data, d.text.n);
    d.fixed = hpc_language_fixed_form(path, d.text.data, d.text.n);
    *out = d;
    d.text = (hpc_buf){0};
out:
    hpc_buf_release(&d.text);
    return rc;
}

void hpc_spot_close(hpc_spot *d)
{
    hpc_buf_release(&d->text);
    *d = (hpc_spot){0};
}

/* ---- text to bytes --------------------------------------------------------------------------- */

int hpc_spot_spell(hpc_buf *out, const hpc_spot *d, const char *text, size_t n)
{
    for (size_t at = 0; at < n;) {
        const uint8_t *p = (const uint8_t *)text + at;
        size_t k = character(p, n - at);
        char latin = k == 2 ? (char)(p[0] << 6 | (p[1] & 0x3f)) : 0;
        if (p[0] == '\n' && d->crlf) hpc_buf_text(out, "\r");
        if (!d->latin1 || k < 2) {
            hpc_buf_add(out, p, k ? k : 1);
        } else {
            if (k > 2 || p[0] > 0xc3)
                return hpc_fail(
                    HPC_E_UNSUPPORTED,
                    "the file is in Latin-1, which has no \"%.*s\": convert it to UTF-8", (int)k,
                    text + at);
            hpc_buf_add(out, &latin, 1);
        }
        at += k ? k : 1;
    }
    return out->failed;
}
