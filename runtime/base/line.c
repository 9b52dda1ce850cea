/*
 * Untrusted text as one line of valid UTF-8, for terminals, pages and JSON.
 */
#include <string.h>

#include "runtime/base/base.h"

/* Decodes one UTF-8 character and counts its bytes; an invalid byte becomes '?'. */
static uint32_t decode(int *bytes, const unsigned char *p)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc0 ? 2 : 0;
    uint32_t c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));
    *bytes = 1;
    for (int k = 1; k < n; k++) {
        if ((p[k] & 0xc0) != 0x80) return '?';
        c = c << 6 | (p[k] & 0x3f);
    }
    if (n == 0 || c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return '?';
    *bytes = n;
    return c;
}

static bool is_blank(uint32_t c)
{
    return c <= ' ' || (c >= 0x7f && c < 0xa0);
}

/* Characters that change the writing direction, break lines or have no width. */
static bool is_invisible(uint32_t c)
{
    return (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0x061c || c == 0xfeff;
}

const char *hpc_arena_line(hpc_arena *a, const char *text, size_t most)
{
    const unsigned char *p = (const unsigned char *)text;
    char *out = hpc_arena_alloc(a, most + 8, 1);
    size_t n = 0;
    bool blank = false;
    if (!out) return NULL;
    for (int bytes; *p; p += bytes) {
        uint32_t c = decode(&bytes, p);
        blank = blank || is_blank(c);
        if (is_blank(c) || is_invisible(c)) continue;
        if (n + (size_t)bytes + blank > most) return strcat(out, "...");
        if (blank && n > 0) out[n++] = ' ';
        blank = false;
        if (bytes == 1)
            out[n++] = (char)c;
        else
            for (int k = 0; k < bytes; k++) out[n++] = (char)p[k];
    }
    return out;
}
