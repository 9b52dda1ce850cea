/*
 * utf8.c: decodes one UTF-8 character strictly: no overlong forms, no surrogates, nothing above
 * U+10FFFF.
 */
#include "tokenizer/priv.h"

static bool continues(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

int tokenizer_utf8(const char *text, size_t n, uint32_t *code_point)
{
    const unsigned char *s = (const unsigned char *)text;
    uint32_t c = s[0];
    if (c < 0x80) {
        *code_point = c;
        return 1;
    }
    if (c < 0xC2) return 0; /* a continuation, or an overlong pair */
    if (c < 0xE0) {
        if (n < 2 || !continues(s[1])) return 0;
        *code_point = (c & 0x1F) << 6 | (s[1] & 0x3F);
        return 2;
    }
    if (c < 0xF0) {
        if (n < 3 || !continues(s[1]) || !continues(s[2])) return 0;
        c = (c & 0x0F) << 12 | (uint32_t)(s[1] & 0x3F) << 6 | (s[2] & 0x3F);
        if (c < 0x800 || (c >= 0xD800 && c < 0xE000)) return 0;
        *code_point = c;
        return 3;
    }
    if (c >= 0xF5 || n < 4 || !continues(s[1]) || !continues(s[2]) || !continues(s[3])) return 0;
    c = (c & 0x07) << 18 | (uint32_t)(s[1] & 0x3F) << 12 | (uint32_t)(s[2] & 0x3F) << 6 |
        (s[3] & 0x3F);
    if (c < 0x10000 || c > 0x10FFFF) return 0;
    *code_point = c;
    return 4;
}
