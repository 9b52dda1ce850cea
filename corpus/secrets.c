/*
 * secrets.c: keys, tokens, passwords and e-mail addresses are replaced by fixed
 * words before a text is kept.
 *
 * It knows the shapes of common credentials, and strings that look random and are
 * given to a variable called password, token or the like. A secret that looks like
 * an ordinary word cannot be found, and none is tried out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "corpus/priv.h"

static const char email_word[] = "email@example.com", secret_word[] = "SECRET_REMOVED";

typedef struct edit {
    size_t lo, hi; /* bytes of the text, which become `word` */
    const char *word;
} edit;

typedef struct masking {
    hpc_buf edits; /* as they are found: the searches go over a token one after the other */
    const char *text;
    bool in_key; /* between BEGIN and END of a private key */
} masking;

static int replace(masking *m, size_t lo, size_t hi, const char *word)
{
    edit e = {.lo = lo, .hi = hi, .word = word};
    return hpc_buf_add(&m->edits, &e, sizeof e);
}

static int compare_edits(const void *a, const void *b)
{
    const edit *x = a, *y = b;
    if (x->lo != y->lo) return x->lo < y->lo ? -1 : 1;
    return x->hi > y->hi ? -1 : x->hi < y->hi; /* the longer first */
}

/* Of edits that overlap the first one stays, stretched over all of them. */
static int apply(hpc_buf *out, int64_t *applied, edit *e, size_t edits_n, const char *text,
                 size_t n)
{
    size_t copied = 0;
    int rc = 0;
    qsort(e, edits_n, sizeof *e, compare_edits);
    for (size_t k = 0; k < edits_n && rc == 0; k++) {
        size_t hi = e[k].hi;
        const edit *first = &e[k];
        while (k + 1 < edits_n && e[k + 1].lo < hi) {
            k++;
            if (e[k].hi > hi) hi = e[k].hi;
        }
        rc = hpc_buf_add(out, text + copied, first->lo - copied);
        if (rc == 0) rc = hpc_buf_text(out, first->word);
        copied = hi;
        ++*applied;
    }
    return rc < 0 ? rc : hpc_buf_add(out, text + copied, n - copied);
}

/* ---- classes of characters ------------------------------------------------------- */

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_local(char c) /* of an address, before the @ */
{
    return is_alnum(c) || c == '.' || c == '_' || c == '%' || c == '+' || c == '-';
}

static bool is_host(char c)
{
    return is_alnum(c) || c == '.' || c == '-';
}

static bool is_key(char c) /* of keys in base64 and its relatives */
{
    return is_alnum(c) || c == '_' || c == '-' || c == '+' || c == '/' || c == '=';
}

/* Letters, digits, '_' and '-', as a set of bits: the one question asked all over a text. */
static bool is_word(char c)
{
    static const uint64_t set[4] = {0x03ff200000000000, 0x07fffffe87fffffe};
    unsigned char at = (unsigned char)c;
    return set[at >> 6] >> (at & 63) & 1;
}

static size_t run(const char *s, size_t lo, size_t hi, bool (*is)(char))
{
    size_t at = lo;
    while (at < hi && is(s[at])) at++;
    return at - lo;
}

/* ---- e-mail addresses and passwords in URLs ---------------------------------------- */

/* The length of a host name with a top-level domain of letters, or 0. */
static size_t host_name(const char *s, size_t lo, size_t hi)
{
    size_t n = run(s, lo, hi, is_host);
    while (n > 0 && (s[lo + n - 1] == '.' || s[lo + n - 1] == '-')) n--;
    size_t dot = n;
    while (dot > 0 && s[lo + dot - 1] != '.') dot--;
    if (dot < 2 || n - dot < 2) return 0;
    for (size_t k = dot; k < n; k++)
        if (s[lo + k] >= '0' && s[lo + k] <= '9') return 0;
    return n;
}

static bool is_example(const char *host, size_t n)
{
    return (n == 11 &&
            (strncasecmp(host, "example.com", n) == 0 || strncasecmp(host, "example.org", n) == 0));
}

/* "//user:password@": the start of user, or `at` itself. */
static size_t user_info(const char *s, size_t lo, size_t at)
{
    size_t p = at;
    bool colon = false;
    while (p > lo && at - p < 256 && s[p - 1] != '/' && s[p - 1] != ' ' && s[p - 1] != '"' &&
           s[p - 1] != '\n')
        colon |= s[--p] == ':';
    return colon && p >= lo + 3 && memcmp(s + p - 3, "://", 3) == 0 ? p : at;
}

static int mask_at(masking *m, size_t lo, size_t hi)
{
    const char *s = m->text;
    for (size_t from = lo;;) {
        const char *found = memchr(s + from, '@', hi - from);
        if (!found) return 0;
        size_t at = (size_t)(found - s), begin = at;
        from = at + 1;
        int rc = 0;
        size_t info = user_info(s, lo, at);
        if (info < at) {
            rc = replace(m, info, at, secret_word);
        } else {
            while (begin > lo && is_local(s[begin - 1])) begin--;
            while (begin < at && s[begin] == '.') begin++;
            size_t host = host_name(s, from, hi);
            if (begin < at && host > 0 && !is_example(s + from, host))
                rc = replace(m, begin, from + host, email_word);
        }
        if (rc < 0) return rc;
    }
}

enum { CREDENTIAL_LEAST = 20 }; /* of characters, the head among them */

/* ---- credentials by their shape -------------------------------------------------------- */

static const struct {
    const char *head;
    size_t least, most; /* characters behind the head */
} credentials[] = {
    {"AKIA", 16, 16},         {"ASIA", 16, 16},         {"AIza", 35, 35},     {"ghp_", 36, 255},
    {"gho_", 36, 255},        {"ghu_", 36, 255},        {"ghs_", 36, 255},    {"ghr_", 36, 255},
    {"github_pat_", 22, 255}, {"glpat-", 20, 255},      {"xoxb-", 20, 255},   {"xoxp-", 20, 255},
    {"xoxa-", 20, 255},       {"xoxs-", 20, 255},       {"sk-ant-", 20, 255}, {"sk-", 32, 255},
    {"sk_live_", 16, 255},    {"rk_live_", 16, 255},    {"npm_", 36, 36},     {"pypi-", 50, 255},
    {"hf_", 30, 255},         {"eyJhbGciOi", 20, 4096},
};

static bool is_token(char c) /* JWTs have dots */
{
    return is_word(c) || c == '.';
}

/* Those of a fixed length have letters and digits only, and end where these do. */
static size_t credential_run(const char *s, size_t at, size_t hi, size_t least, size_t most)
{
    return run(s, at, hi, least == most ? is_alnum : most > 255 ? is_token : is_word);
}

/* The first two characters of all heads: nearly every word is told by them to have none. */
static bool begins_like_one(const char *s)
{
    static const char pairs[] = "AKASAIghgiglxoskrknppyhfey";
    for (size_t k = 0; k + 1 < sizeof pairs; k += 2)
        if (s[0] == pairs[k] && s[1] == pairs[k + 1]) return true;
    return false;
}

static size_t credential(const char *s, size_t at, size_t hi)
{
    if (hi - at < CREDENTIAL_LEAST || !begins_like_one(s + at)) return 0;
    for (size_t k = 0; k < sizeof credentials / sizeof *credentials; k++) {
        size_t head = strlen(credentials[k].head), digits = 0;
        if (hi - at < head || memcmp(s + at, credentials[k].head, head) != 0) continue;
        size_t n = credential_run(s, at + head, hi, credentials[k].least, credentials[k].most);
        for (size_t i = at + head; i < at + head + n; i++) digits += s[i] >= '0' && s[i] <= '9';
        if (n >= credentials[k].least && n <= credentials[k].most && digits > 0) return head + n;
    }
    return 0;
}

/* The start of the next word of at least CREDENTIAL_LEAST characters in [at, hi), or hi. Such a
 * word covers one of any CREDENTIAL_LEAST places in a row, so most bytes are never looked at. */
static size_t next_long_word(const char *s, size_t at, size_t hi)
{
    while (hi - at >= CREDENTIAL_LEAST) {
        size_t p = at + CREDENTIAL_LEAST;
        while (p > at && is_word(s[p - 1])) p--;
        if (p == at) return at;
        at = p;
    }
    return hi;
}

/* A head may also stand behind a prefix: "deploy-AKIA...", "x_ghp_...". */
static int mask_credentials(masking *m, size_t lo, size_t hi)
{
    const char *s = m->text;
    for (size_t at = next_long_word(s, lo, hi); at < hi; at = next_long_word(s, at, hi)) {
        size_t end = at + run(s, at, hi, is_word);
        for (bool starts = true; at < end; starts = s[at] == '-' || s[at] == '_', at++) {
            size_t n = starts ? credential(s, at, hi) : 0;
            if (n == 0) continue;
            int rc = replace(m, at, at + n, secret_word);
            if (rc < 0) return rc;
            at += n - 1;
        }
    }
    return 0;
}

/* ---- private keys: lines of base64 between BEGIN and END, in one token or in several ------- */

static const char key_begins[] = "PRIVATE KEY-----";

static int mask_key_block(masking *m, size_t lo, size_t hi)
{
    const char *s = m->text;
    size_t at = lo;
    while (at < hi) {
        if (!m->in_key) {
            const char *p = memmem(s + at, hi - at, key_begins, sizeof key_begins - 1);
            if (!p) return 0;
            size_t back = (size_t)(p - s) - at;
            at = (size_t)(p - s) + sizeof key_begins - 1;
            m->in_key = back >= 11 && memmem(p - (back < 32 ? back : 32), back < 32 ? back : 32,
                                             "-----BEGIN ", 11) != NULL;
            continue;
        }
        size_t n = run(s, at, hi, is_key);
        if (n >= 8 && memcmp(s + at, "-----END", 8) == 0) {
            m->in_key = false;
        } else if (n >= 16) {
            int rc = replace(m, at, at + n, secret_word);
            if (rc < 0) return rc;
        }
        at += n ? n : 1;
    }
    return 0;
}

/* ---- a variable called password that is given a string --------------------------------------- */

static bool names_secret(const char *s, size_t n)
{
    static const char *const words[] = {"password", "passwd",     "secret", "api_key",
                                        "apikey",   "access_key", "token",  "credential"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        size_t m = strlen(words[k]);
        for (size_t i = 0; i + m <= n; i++)
            if (strncasecmp(s + i, words[k], m) == 0) return true;
    }
    return false;
}

/* Letters and digits mixed, without blanks, and spread like random ones. */
static bool looks_random(const char *s, size_t n)
{
    int count[256] = {0};
    size_t digits = 0, letters = 0;
    double bits = 0;
    if (n < 16 || n > 512) return false;
    for (size_t k = 0; k < n; k++) {
        if (!is_key(s[k])) return false;
        bool digit = s[k] >= '0' && s[k] <= '9';
        digits += digit;
        letters += !digit;
        count[(unsigned char)s[k]]++;
    }
    for (int c = 0; c < 256; c++)
        if (count[c]) bits -= count[c] / (double)n * log2(count[c] / (double)n);
    return digits > 1 && letters > 1 && bits > 3.2;
}

static int mask_assigned(masking *m, const hpc_tokens *t, int64_t string)
{
    const hpc_token *v = &t->item[string];
    int64_t k = string - 1;
    for (int back = 0; k >= 0 && back < 4; k--, back++) {
        const hpc_token *x = &t->item[k];
        if (x->kind == HPC_TOKEN_NAME) break;
        if (x->kind != HPC_TOKEN_PUNCT) return 0;
    }
    if (k < 0 || t->item[k].kind != HPC_TOKEN_NAME || v->n < 2) return 0;
    const char *inside = m->text + v->at + 1;
    if (!names_secret(m->text + t->item[k].at, t->item[k].n) || !looks_random(inside, v->n - 2))
        return 0;
    return replace(m, v->at + 1, v->at + v->n - 1, secret_word);
}

int corpus_mask(hpc_buf *out, int64_t *n_masked, const char *text, size_t n, const hpc_tokens *t)
{
    masking m = {.text = text};
    int rc = 0;
    out->n = 0;
    *n_masked = 0;
    if (corpus_find(text, n, key_begins)) TRY(mask_key_block(&m, 0, n));
    TRY(mask_credentials(&m, 0, n));
    TRY(mask_at(&m, 0, n));
    for (int64_t k = 0; k < t->n; k++)
        if (t->item[k].kind == HPC_TOKEN_STRING && t->item[k].n >= 18) TRY(mask_assigned(&m, t, k));
    if (m.edits.n)
        TRY(apply(out, n_masked, (edit *)(void *)m.edits.data, m.edits.n / sizeof(edit), text, n));
out:
    hpc_buf_release(&m.edits);
    return rc;
}
