/*
 * spm_normalise.c: the library's normalisation, for imported models: compiled rules (a
 * double-array trie with replacements) and squeezing of blanks. Our own models need neither.
 *
 * Unlike the library, it keeps invalid bytes.
 */
#include <string.h>

#include "tokenizer/spm.h"

/* ---- rules --------------------------------------------------------------------------- */

int spm_rules_read(spm_rules *out, const char *data, size_t n, const char *name)
{
    const uint8_t *p = (const uint8_t *)data;
    *out = (spm_rules){0};
    if (n == 0) return HPC_OK;
    size_t bytes =
        n < 4 ? n : (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
    if (n <= 4 || bytes >= n - 4 || bytes % 4 != 0)
        return hpc_fail(HPC_E_FORMAT, "%s: the precompiled_charsmap is damaged", name);
    *out = (spm_rules){
        .trie = p + 4, .units = bytes / 4, .text = data + 4 + bytes, .text_n = n - 4 - bytes};
    return HPC_OK;
}

/* A unit: bits 0-7 the label, 8 whether a value hangs below, 9 whether the offset in 10-31 is in
 * units of 256; bit 31 marks a value, which then fills the other bits. */
static uint32_t unit_at(const spm_rules *r, size_t at)
{
    const uint8_t *p = r->trie + 4 * at;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

/* Length of the longest prefix with a rule; 0: no rule. */
static size_t rule_at(size_t *value, const spm_rules *r, const char *text, size_t n)
{
    size_t longest = 0, at;
    if (r->units == 0) return 0;
    at = offset_of(unit_at(r, 0));
    for (size_t i = 0; i < n; i++) {
        at ^= (unsigned char)text[i];
        if (at >= r->units) break;
        uint32_t unit = unit_at(r, at);
        if ((unit & (1u << 31 | 0xFF)) != (unsigned char)text[i]) break;
        at ^= offset_of(unit);
        if (at >= r->units) break;
        if (!(unit >> 8 & 1)) continue;
        longest = i + 1;
        *value = unit_at(r, at) & 0x7FFFFFFF;
    }
    return longest;
}

/* ---- the whole ------------------------------------------------------------------------- */

bool spm_normalises(const spm_state *m)
{
    return m->rules.units > 0 || m->file->squeeze_blanks;
}

/* Replacement for the text at text[0]; returns the number of bytes replaced. */
static size_t step(const char **to, size_t *to_n, const spm_state *m, const char *text, size_t n)
{
    int32_t id;
    uint32_t point;
    size_t value = 0;
    *to = text;
    *to_n = tokenizer_matcher_at(&id, m->marked, text, n, 0);
    if (*to_n > 0) return *to_n;
    size_t taken = rule_at(&value, &m->rules, text, n);
    if (taken > 0) {
        *to = value < m->rules.text_n ? m->rules.text + value : "";
        *to_n = value < m->rules.text_n ? strnlen(*to, m->rules.text_n - value) : 0;
        return taken;
    }
    int length = tokenizer_utf8(text, n, &point);
    *to_n = length > 0 ? (size_t)length : 1;
    return *to_n;
}

int spm_normalise(hpc_buf *out, const spm_state *m, const char *text, size_t n, bool first)
{
    bool squeeze = m->file->squeeze_blanks, after_blank = squeeze;
    const char *to;
    size_t to_n;
    out->n = 0;
    while (squeeze && n > 0) {
        size_t taken = step(&to, &to_n, m, text, n);
        if (to_n != 1 || *to != ' ') break;
        text += taken;
        n -= taken;
    }
    if (n == 0) return HPC_OK;
    if (first && m->file->dummy_prefix) hpc_buf_add(out, " ", 1);
    while (n > 0) {
        size_t taken = step(&to, &to_n, m, text, n);
        while (after_blank && to_n > 0 && *to == ' ') {
            to++;
            to_n--;
        }
        if (to_n > 0) {
            hpc_buf_add(out, to, to_n);
            after_blank = squeeze && to[to_n - 1] == ' ';
        }
        text += taken;
        n -= taken;
    }
    while (squeeze && out->n > 0 && out->data[out->n - 1] == ' ') out->n--;
    return out->failed;
}
